//! The agent against plugins and models that the tests play themselves.

#![allow(clippy::unwrap_used, reason = "a test that can't go on is to fail there")]

mod arrears;
mod asking;
mod caches;
mod commands;
mod consolidation;
mod crashes;
mod documents;
mod errands;
mod fake;
mod forgetting;
mod home;
mod interrupts;
mod limits;
mod media;
mod memories;
mod outputs;
mod pairing;
mod queue;
mod recall;
mod records;
mod stages;
mod toolboxes;
mod tools;
mod turns;
mod windows;
