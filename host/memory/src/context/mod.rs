//! The context: what of a conversation stands before the model.

mod choose;
mod entry;
mod window;

pub use choose::{Budget, Candidate, PROTECTED, Verdict, choose};
pub use entry::{AT, CLEANER, Entry, FOREIGN, NO_MEMORY, NUMBER, numbered};
pub use window::{NO_RESULT, Window, tool_message};
