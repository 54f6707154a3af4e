//! The gateway over real sockets, with everything behind it faked or real where it is small.

#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "tests")]

mod channel;
mod chat;
mod costs;
mod document;
mod doors;
mod events;
mod fakes;
mod house;
mod malformed;
mod media;
mod operations;
mod start;
