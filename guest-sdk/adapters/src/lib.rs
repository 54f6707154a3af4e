//! What LLM adapters share, whatever their vendor.
//!
//! An adapter writes a request ([`content`], [`options`], [`schema`]) and reads an answer: its [`Protocol`] takes one JSON
//! document after another and says through an [`Answer`] what is in them; [`Reader`] does the rest. [`errors`] knows what
//! vendors' errors mean, and [`completions`] is the protocol that most of them speak. [`listing`] reads lists of models,
//! [`embeddings`] vectors.

pub mod completions;
pub mod content;
pub mod embeddings;
pub mod errors;
pub mod lenient;
pub mod listing;
pub mod options;
pub mod reader;
pub mod schema;
pub mod script;
#[cfg(feature = "testing")]
pub mod testing;

pub use self::options::Options;
pub use self::reader::{Answer, Protocol, Reader, Reading};
