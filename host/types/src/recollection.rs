//! What plugins see of the memory, the knowledge base and the people the agent knows.

use crate::Timestamp;

/// Something remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct Remembered {
    /// Its name in the memory.
    pub id: String,
    /// What it is: `said`, `answered`, `document`, `sentence`.
    pub kind: String,
    /// Its words.
    pub text: String,
    /// Who said it.
    pub speaker: Option<String>,
    /// Where, in a conversation's text form.
    pub conversation: Option<String>,
    /// When.
    pub at: Timestamp,
    /// From 0 to 1; only good for comparing hits of one question.
    pub score: f64,
}

/// A passage of the knowledge base.
#[derive(Clone, Debug, PartialEq)]
pub struct KnowledgePassage {
    /// The base's name.
    pub base: String,
    /// The headings above it, outermost first.
    pub headings: Vec<String>,
    /// Its words.
    pub text: String,
    /// The line in the base's file on which it begins, counted from 1.
    pub line: u32,
    /// From 0 to 1; only good for comparing passages of one question.
    pub score: f64,
}

/// A base of the knowledge base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnowledgeBase {
    /// Its name.
    pub name: String,
    /// Bytes of its text.
    pub size: u64,
}

/// Somebody the agent knows of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownPerson {
    /// The name.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// Accounts, as `channel:user`.
    pub accounts: Vec<String>,
    /// What is said of them, by name.
    pub traits: Vec<(String, String)>,
    /// Others, by what they are to them.
    pub relations: Vec<(String, String)>,
}
