//! Tests of the providers: parts by themselves, then everything against a vendor that runs in the test.

mod assembler;
mod chain;
mod corpora;
mod failures;
mod framing;
mod transport;
mod vendor;
mod world;

use homeagent_test_adapters as native;
use homeagent_test_vendors::log;
