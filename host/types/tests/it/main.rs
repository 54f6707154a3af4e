//! Tests of what the neutral vocabulary computes.

mod fit;
mod tokens;
