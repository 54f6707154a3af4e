//! Tests of the providers: parts by themselves, then everything against a vendor that runs in the test.

mod assembler;
mod chain;
mod corpora;
mod discovery;
mod failures;
mod framing;
mod listing;
mod log;
mod native;
mod transport;
mod vendor;
mod world;
