//! The runtime with real components: what a guest does, and what its caller and the others see of it.

mod calls;
mod connections;
mod fresh;
mod greeters;
mod hostile;
mod house;
mod install;
mod languages;
mod llm;
mod packages;
mod reload;
mod swap;
mod watch;
