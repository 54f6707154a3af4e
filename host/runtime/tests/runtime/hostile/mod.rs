//! Plugins that mean harm: what each brings on itself, what is said about it, and that its neighbours notice nothing.

mod bombs;
mod files;
mod floods;
mod identity;
mod kv;
mod loops;
mod process;
pub(crate) mod street;
mod timers;
