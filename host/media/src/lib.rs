//! Pictures, sounds, films and files: kept once, by what is in them.
//!
//! A [`Store`] keeps each medium in a file that is named by the SHA-256 of its bytes, its [`Address`]; whoever mentions a
//! medium keeps the address. What nobody has used for long goes, and so does what was used longest ago when there is no
//! room; what a turn holds ([`Hold`]) stays. What a medium is, is told by how it begins, not by who sent it.

mod address;
mod error;
mod fetch;
mod index;
mod kind;
mod limits;
mod links;
mod store;

pub use address::{Address, NoAddress};
pub use error::Error;
pub use index::Hold;
pub use kind::{is_shown, kind_of, served_as, sniff};
pub use limits::Limits;
pub use links::Reader;
pub use store::{Kept, Listed, Medium, Parts, Store};
