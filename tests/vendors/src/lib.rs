//! Vendors of models that a test plays: each speaks one format over a real socket.
//!
//! A [`Vendor`] reads the request it gets as the vendor would - where the key is, which roles may follow each other,
//! whether each result has its call - and refuses a wrong one with the vendor's own error. To a good one it answers what a
//! [`Mind`] says, framed and in pieces, unless a [`Fault`] was ordered for this request.

mod asked;
mod fault;
mod formats;
pub mod log;
mod said;
mod vendor;
mod wire;

pub use self::asked::Asked;
pub use self::fault::Fault;
pub use self::formats::Format;
pub use self::said::{Call, End, Mind, Said};
pub use self::vendor::{KEY, MARK, Vendor};
pub use self::wire::{Answer, Ending, Request, read_request, send};
