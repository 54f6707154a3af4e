//! The knowledge base in a folder of its own.

#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "tests")]

mod faults;
mod following;
mod home;
mod importing;
mod kills;
mod searching;
#[path = "../../../memory/tests/faults/stage.rs"]
mod stage;
mod tools;
