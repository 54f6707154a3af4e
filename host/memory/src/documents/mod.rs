//! Documents: what left the context, and what was written down, each in a file of its own.

mod document;
mod find;
mod folder;
mod forget;
mod passages;
mod store;
mod table;
mod tools;
mod vector_file;
mod vectorise;

pub use document::{Consumed, Document, Kind};
pub use find::{Found, Summary};
pub use folder::Looked;
pub(crate) use forget::Fate;
pub use store::{DocumentError, Documents};
pub use table::Listed;
pub use tools::DocumentTools;
pub use vector_file::StoredVector;
pub use vectorise::DocumentVector;
