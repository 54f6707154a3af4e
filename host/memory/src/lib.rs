//! The memory: what was said and done, in three tiers (context, documents, graph), and the one way to recall from them.
//! It does not know turns, plugins or the network.

mod admin;
mod audience;
pub mod context;
pub mod distill;
pub mod documents;
mod durable;
mod follower;
pub mod graph;
pub mod index;
mod lenient;
mod memory;
pub mod nearness;
pub mod recall;
pub mod recollection;
pub mod said;
pub mod vectors;

pub use audience::Audiences;
pub use follower::Following;
pub use memory::{Memory, MemoryStatus, Parts};
