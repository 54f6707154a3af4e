//! Vectors of passages, entities and documents: kept in SQLite as 8-bit integers, and scanned in memory.

mod packed;
mod signs;
mod store;
mod vectoriser;

pub(crate) use store::delete;
pub use store::{Kind, Nearest, Vectors};
pub use vectoriser::{Progress, TextSource, Vectoriser};
