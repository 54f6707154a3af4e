//! Tests of what the neutral vocabulary computes.

#![allow(clippy::unwrap_used, reason = "a test that can't go on is to fail there")]

mod fit;
mod tokens;
