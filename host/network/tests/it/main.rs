//! The network as its users see it.

mod address;
