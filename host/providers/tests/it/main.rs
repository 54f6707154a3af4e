//! Tests of the providers: parts by themselves, then everything against a vendor that runs in the test.

mod assembler;
mod chain;
mod corpora;
mod costs;
mod course;
mod discovery;
mod embedding;
mod failures;
mod framing;
mod gates;
mod halves;
mod listing;
mod marked;
mod media;
mod mind;
mod senses;
mod tariffs;
mod transport;
mod turns;
mod vendor;
mod window;
mod world;

use homeagent_test_adapters as native;
use homeagent_test_vendors::log;
