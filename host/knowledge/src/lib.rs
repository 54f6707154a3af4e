//! The knowledge base: `knowledge/<name>/content.md` in the home folder, plain texts that people edit, cut up and indexed
//! apart from the memory.
//!
//! [`Knowledge`] is what others use. The files count: the index, `knowledge.db`, is made from them and follows them. It
//! knows neither the memory nor the agent, whose tools it offers through a port.

mod admin;
mod chunk;
mod circle;
mod decode;
mod embedding;
mod error;
mod folder;
mod follow;
mod front;
mod import;
mod index;
mod knowledge;
mod matrix;
mod name;
mod search;
mod section;
mod store;
mod tools;

pub use circle::Circle;
pub use error::Error;
pub use homeagent_types::knowledge::Import;
pub use knowledge::{Ask, Knowledge, Parts};
pub use name::Name;
pub use section::Edit;
