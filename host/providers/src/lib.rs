//! Model sources: how a prompt becomes an answer, whatever the vendor.
//!
//! [`Providers`] tries the sources of a line in order. For each call a fresh instance of the source's adapter makes the
//! HTTP request, [`transport`] sends it with the key put in, [`framing`] cuts the answer into events, the adapter turns
//! these into pieces, and the [`assembler`] joins the pieces. Adapters compute only; everything that touches the network
//! or a key is here. [`discovery`] finds what could be a source.

pub mod assembler;
mod case;
mod chain;
pub mod cost;
pub mod discovery;
pub mod framing;
mod meters;
mod replay;
pub mod transport;

pub use case::CaseAnswer;
pub use chain::{ListingError, Policy, Providers, REHEARSAL, SourceStanding, SourceState};
pub use cost::Costs;
pub use meters::describe as describe_metrics;
pub use replay::try_adapter;
