//! The runtime with real components: what a guest does, and what its caller and the others see of it.

mod adapters;
mod calls;
mod connections;
mod errands;
mod files;
mod fresh;
mod greeters;
mod hostile;
mod house;
mod install;
mod kv;
mod languages;
mod llm;
mod logged;
mod memory;
mod packages;
mod process;

mod reload;
mod requests;
mod signed;
mod streams;
mod swap;
mod timers;
mod unix;
mod watch;
mod wire;
