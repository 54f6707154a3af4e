//! The runtime with real components: what a guest does, and what its caller and the others see of it.

mod calls;
mod connections;
mod greeters;
mod house;
mod install;
mod languages;
mod packages;
mod reload;
mod signed;
mod swap;
mod watch;
