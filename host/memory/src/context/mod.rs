//! The context: what of a conversation stands before the model. Above a limit, what bears least on what is being said
//! leaves it for the documents; the journal keeps everything.

mod choose;
mod entry;
mod explain;
mod file;
mod forget;
mod known;
mod relevance;
mod saver;
mod service;
mod session_search;
#[cfg(test)]
mod tests_support;
mod window;

pub use choose::{Budget, Candidate, PROTECTED, Verdict, choose};
pub use entry::{AT, CLEANER, Entry, FOREIGN, NO_MEMORY, NUMBER, numbered};
pub use explain::{Choice, Chosen, Explanation, Occasion};
pub(crate) use known::mean;
pub use relevance::{Features, Score, cosine, score, texts_of};
pub(crate) use service::now_ms;
pub use service::{Most, OpenError, Parts, RelevanceContext};
pub use session_search::SessionTools;
pub use window::{NO_RESULT, Window, tool_message};
