//! Runs components.
//!
//! One engine compiles and runs them; each plugin sits in a slot that outlives its instances; every call has a deadline
//! that is kept from outside, and every failure of a guest is a value for its caller. This is the only crate that knows
//! the engine and the contract's bindings; the rest of the host meets it at the traits of `homeagent_types::ports`.

mod adapters;
mod bindings;
mod bus;
mod cache;
mod compiler;
mod convert;
mod engine;
mod error;
mod files;
mod grants;
mod host;
mod inspect;
mod instance;
mod local;
mod manifest;
mod meters;
mod package;
mod process;
mod processor;
mod registrations;
mod runtime;
mod script;
mod services;
mod slot;
mod stdio;
mod timers;
mod trial;
mod wants;

pub use compiler::{COMPILE, CompileError, compile};
pub use error::{PackageError, RuntimeError};
pub use manifest::{CAPABILITIES, Code, Limits, Manifest, is_capability};
pub use meters::describe as describe_metrics;
pub use package::Bundled;
pub use runtime::{Parts, Runtime};
pub use timers::Clock;
