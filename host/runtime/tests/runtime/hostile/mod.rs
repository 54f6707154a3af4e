//! Guests that mean harm: what they get, what their owner sees, and that the others go on.

mod files;
mod kv;
mod process;
mod timers;
