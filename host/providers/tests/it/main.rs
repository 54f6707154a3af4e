//! Tests of the providers: parts by themselves, then everything against a vendor that runs in the test.

mod assembler;
mod chain;
mod corpora;
mod costs;
mod course;
mod embedding;
mod failures;
mod framing;
mod gates;
mod halves;
mod log;
mod marked;
mod mind;
mod native;
mod tariffs;
mod transport;
mod turns;
mod vendor;
mod world;
