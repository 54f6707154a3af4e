//! What was said and written, as passages that are found by their words: kept in SQLite, with an FTS5 table fed with the
//! terms of [`homeagent_language::text`], and beside it in memory what ranking asks of each passage.

mod columns;
mod fed;
mod filter;
mod ids;
mod names;
mod passage;
mod pieces;
mod postings;
mod rows;
mod schema;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use columns::{Columns, Head, Slot};
pub(crate) use filter::Filter;
pub use passage::{Passage, PassageKind};
pub(crate) use postings::{Holds, PostingLists};
pub use store::Index;
