//! Tests of the adapter's reading and writing.

mod errors;
mod reading;
mod vectors;
mod writing;
