//! `waiter` as a program, against a real gateway with fakes behind it.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    dead_code,
    unreachable_pub,
    reason = "tests, and fakes shared with the gateway's"
)]

mod chat;
mod commands;
mod costs;
#[path = "../../../gateway/tests/it/fakes/mod.rs"]
mod fakes;
#[path = "../../../gateway/tests/it/house.rs"]
mod house;
mod knowledge;
mod program;
mod terminal;
