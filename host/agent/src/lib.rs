//! The mind of `homed`: it takes inputs, runs turns and answers.
//!
//! An input is journaled, then waits in a queue; the scheduler starts one turn at a time for each conversation.
//! A turn passes seven stages at which plugins take part, asks the model, runs the tools it calls, and hands its
//! answer to a channel. Models, plugins, the journal and the settings come from outside, as traits and handles: this
//! crate knows no engine, no vendor and no network.

mod agent;
mod arrears;
mod choosing;
mod commands;
mod config;
mod consolidation;
mod core;
mod ending;
mod errands;
mod intake;
mod interrupt;
mod lifecycle;
mod loops;
mod media;
mod media_tools;
mod meters;
mod mind;
mod notices;
mod outputs;
mod pairing;
mod policy;
pub mod prompt;
mod pruning;
mod questions;
mod queue;
mod recall;
mod record;
mod result;
mod rights;
mod rounds;
mod scheduler;
mod schema;
mod sending;
mod sink;
mod snapshot;
mod stages;
mod switching;
mod toolloop;
mod tools;
mod turn;
mod watch;
mod window;

pub use agent::{ActiveRun, Agent, AgentStatus, Ask, Asked, Parts, StartError};
pub use lifecycle::Phase;
pub use meters::describe as describe_metrics;
pub use pairing::{PairingCode, PairingState, PairingStatus};
pub use policy::Policy;
pub use questions::Question;
pub use result::{TurnError, TurnEvent, TurnResult};
pub use tools::ToolListing;
