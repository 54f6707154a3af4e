//! The memory: what was said and done, in three tiers (context, documents, graph), and the one way to recall from them.
//! It does not know turns, plugins or the network.

mod admin;
mod audience;
pub mod context;
pub mod curated;
pub mod distill;
pub mod documents;
mod durable;
mod follower;
pub mod graph;
pub mod index;
pub mod known;
mod memory;
pub mod nearness;
mod own_model;
pub mod recall;
mod recollecting;
pub mod recollection;
mod reindexing;
pub mod said;
mod serving;
pub mod social;
pub mod textlog;
pub mod tools;
mod transfer;
pub mod vectors;
mod zone;

pub use audience::Audiences;
pub use follower::Following;
pub use memory::{Memory, MemoryStatus, OpenError, Parts};
pub use zone::zone;
