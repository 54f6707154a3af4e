//! Plugins that mean harm: what each brings on itself, what is said about it, and that its neighbours notice nothing.

mod bombs;
mod connect;
mod files;
mod floods;
mod http;
mod identity;
mod kv;
mod loops;
mod process;
mod secrets;
pub(crate) mod street;
mod timers;
