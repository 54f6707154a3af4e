//! Between the contract's records and the host's own types, one module for each direction of use.

pub(crate) mod adapter;
mod incoming;
mod outgoing;

pub(crate) use incoming::{checked_descriptor, checked_tools, submission};
pub(crate) use outgoing::stage_context;
