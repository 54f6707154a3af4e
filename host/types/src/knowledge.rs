//! What the knowledge base tells of itself, to people and programs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is looked for in the knowledge base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The question.
    pub text: String,
    /// Only in the base of this name.
    pub base: Option<String>,
    /// For whom: what the owner, members or guests would be told.
    pub audience: Option<String>,
    /// How many passages at most.
    pub limit: usize,
}

/// What becomes of a file that is imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = KnowledgeImport)]
pub enum Import {
    /// A base that is not there yet.
    #[default]
    Create,
    /// A base, in the place of the one of its name.
    Replace,
    /// A section of a base, called as the file, in the place of the one that is called so.
    Join,
}

/// A base.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = KnowledgeBase)]
pub struct Base {
    /// Its name: that of its folder.
    pub name: String,
    /// Who sees it: `owner`, `members` or `everyone`.
    pub audience: String,
    /// What it calls itself.
    pub title: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// The file or page it was made of.
    pub source: Option<String>,
    /// The size of its text, in bytes.
    pub bytes: u64,
    /// When its text was written.
    pub changed_at: i64,
    /// Into how many passages it is cut.
    pub passages: u64,
    /// How many of those have vectors of the model in use.
    pub vectors: u64,
    /// What tells this text from others: the first digits of its SHA-256.
    pub version: String,
    /// Why it is not, or not wholly, found.
    pub problem: Option<String>,
}

/// How the index is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = KnowledgeStatus)]
pub struct Status {
    /// How many passages there are.
    pub passages: u64,
    /// How many of those have vectors of the model in use; the others are found by their words alone.
    pub vectors: u64,
    /// The model in use; none while there is none.
    pub model: Option<String>,
    /// The text that is being cut and indexed now.
    pub indexing: Option<Indexing>,
    /// What keeps the index from being what it should be.
    pub problem: Option<String>,
}

/// A text that is being indexed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = KnowledgeIndexing)]
pub struct Indexing {
    /// The base.
    pub base: String,
    /// How many passages are done.
    pub done: u64,
    /// How many there are.
    pub total: u64,
}

/// All bases that somebody may see.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = KnowledgeList)]
pub struct Listing {
    /// The bases, sorted by name.
    pub bases: Vec<Base>,
    /// How the index is.
    pub status: Status,
}

/// A heading of a base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = KnowledgeHeading)]
pub struct OutlineHeading {
    /// 1 to 6.
    pub level: u8,
    /// Its words.
    pub title: String,
    /// The line it stands at.
    pub line: u32,
}

/// A base with its headings.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = KnowledgeOutline)]
pub struct Outline {
    /// The base.
    #[serde(flatten)]
    pub base: Base,
    /// Its file.
    pub path: String,
    /// Its headings, in the order of the text.
    pub headings: Vec<OutlineHeading>,
}

/// What stands below a heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = KnowledgeSection)]
pub struct SectionText {
    /// The base.
    pub base: String,
    /// Its first line.
    pub first_line: u32,
    /// Its last line.
    pub last_line: u32,
    /// The text, with the heading.
    pub text: String,
    /// There is more of it than is given.
    pub cut: bool,
    /// The version of the base's text.
    pub version: String,
}

/// A passage that was found.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = KnowledgePassage)]
pub struct Passage {
    /// The base.
    pub base: String,
    /// The headings above it, the outermost first.
    pub headings: Vec<String>,
    /// The line of the base's text that it begins at.
    pub first_line: u32,
    /// The line it ends at.
    pub last_line: u32,
    /// The text.
    pub text: String,
    /// How well it fits, from 0 to 1: the sum of the parts, each weighted.
    pub score: f64,
    /// How well its words fit, against the best.
    pub keyword: f64,
    /// How near it is by its vector, against the nearest; 0 where there is none.
    pub vector: f64,
    /// The version of the base's text.
    pub version: String,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = KnowledgeFound)]
pub struct Found {
    /// The passages, the best first.
    pub passages: Vec<Passage>,
    /// What is to be known of how they were found.
    pub note: Option<String>,
}

/// What came of a change.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = KnowledgeChanged)]
pub struct Changed {
    /// The base as it is now.
    pub base: Base,
    /// Nothing was written, since the text is the same.
    pub unchanged: bool,
    /// What is to be known of what was read.
    pub notes: Vec<String>,
}
