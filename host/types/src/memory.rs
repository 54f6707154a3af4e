//! The memory, as whoever looks after it sees it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What somebody looks for in the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryQuery {
    /// A question, or any text that what is looked for is about.
    pub text: String,
    /// How many are wanted at most.
    pub limit: usize,
    /// Also what others told in private; else what the owner may be told.
    pub everything: bool,
}

/// Something that was said or written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryPassage {
    /// What it is and where it stands: `said/7` is the event 7 of the journal.
    pub id: String,
    /// `said`, `answered`, `document` or `sentence`.
    pub kind: String,
    /// Where it was said.
    pub conversation: String,
    /// Before whom.
    pub audience: String,
    /// Who said it; empty: nobody, or the agent.
    pub speaker: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The words.
    pub text: String,
}

/// A passage that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryHit {
    /// The passage.
    #[serde(flatten)]
    pub passage: MemoryPassage,
    /// How well it answers, in comparison with the others of the same answer.
    pub score: f32,
    /// What the score is made of, each part as weighted; those that gave nothing are left out.
    pub parts: Vec<MemoryScore>,
}

/// A part of a score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryScore {
    /// `keyword`, `vector`, `neighbours`, `session`, `speaker`, `entity` or `time`.
    pub name: String,
    /// How much it gave.
    pub score: f32,
}

/// A passage with what was said around it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryPlace {
    /// What was said before, in the same conversation; oldest first.
    pub before: Vec<MemoryPassage>,
    /// The passage.
    pub passage: MemoryPassage,
    /// What was said after it.
    pub after: Vec<MemoryPassage>,
}

/// What of the memory a turn's model was shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryOfRun {
    /// The turn.
    pub run: String,
    /// The passages that were shown, in the order of time. One whose words were forgotten since has none.
    pub passages: Vec<MemoryShown>,
    /// Whether facts that are kept by hand were shown.
    pub curated: bool,
    /// Whether documents were summed up.
    pub documents: bool,
    /// Whether the names that the graph knows were shown.
    pub index: bool,
    /// How long all of it was, in characters.
    pub characters: u64,
    /// How long looking for it took, in milliseconds.
    pub took_ms: u64,
    /// What was left out, and why: a word each, such as `too-slow`.
    pub left_out: Vec<String>,
    /// What stayed in the conversation's window and what left it, where something was chosen.
    #[schema(value_type = Option<Object>)]
    pub window: Option<serde_json::Value>,
    /// Which tools were shown where there were too many, and why; nothing where all were.
    #[schema(value_type = Option<Object>)]
    pub tools: Option<serde_json::Value>,
}

/// A passage that was shown to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryShown {
    /// What it is and where it stands.
    pub id: String,
    /// When it was said, in milliseconds since 1970.
    pub at_ms: i64,
    /// Who said it; nothing: the agent.
    pub speaker: Option<String>,
    /// Whether others than the reader may have written it.
    pub foreign: bool,
    /// How well it fitted, in comparison with the others.
    pub score: f32,
    /// The words.
    pub text: String,
}

/// What the graph knows: of a name, or as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryGraph {
    /// How many relations there are that were not taken back, among what may be seen.
    pub relations: i64,
    /// What is known: all that is called so, or what is spoken of most.
    pub entities: Vec<MemoryEntity>,
}

/// Somebody or something that was spoken of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryEntity {
    /// What it is called.
    pub name: String,
    /// What kind of thing it is.
    pub kind: String,
    /// How often it was spoken of.
    pub mentions: i64,
    /// What else it is called, and a person's accounts.
    pub aliases: Vec<String>,
    /// What is known of it; nothing in a list of names.
    pub relations: Vec<MemoryRelation>,
}

/// Something that is known of an entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryRelation {
    /// Its number, by which it can be mended.
    pub id: i64,
    /// As a short sentence.
    pub text: String,
    /// Whether it holds now, as far as is known.
    pub current: bool,
    /// How sure it is, from 0 to 1.
    pub confidence: f32,
    /// In how many sentences it was said.
    pub mentions: i64,
    /// When it was last said, in milliseconds since 1970.
    pub last_at_ms: i64,
    /// Before whom.
    pub audience: String,
}

/// How the memory is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryState {
    /// Up to which event the journal was read.
    pub reached: i64,
    /// The last event there is.
    pub tip: i64,
    /// How many passages can be found.
    pub passages: u64,
    /// The model that makes vectors; nothing while words alone decide.
    pub model: Option<String>,
    /// How many passages got a vector of it since the start.
    pub embedded: u64,
    /// Whether all have one.
    pub complete: bool,
    /// What is being made anew; nothing where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuilding: Option<MemoryRebuilding>,
    /// What went wrong last, if it did not go well since.
    pub problems: Vec<String>,
}

/// How far the indexes are made anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryRebuilding {
    /// What it is at: `terms`, `journal`, `passages`, `documents`, `graph`, `known`, in this order.
    #[schema(example = "journal")]
    pub part: String,
    /// How many are done; 0 where they are not counted.
    pub done: u64,
    /// Of how many; 0 where that is not known.
    pub of: u64,
}

/// Something that the memory asks a model about what it keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// What the model is to do, and in which form it answers.
    pub rules: String,
    /// What it is about.
    pub text: String,
    /// How long the answer may be, in tokens.
    pub most_tokens: u32,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advised {
    /// The answer.
    pub text: String,
    /// How many tokens it took, question and answer.
    pub tokens: u64,
}

/// What is to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MemoryWhat {
    /// A text, in capitals or not, wherever it stands.
    Text(String),
    /// A document, and what was said in it.
    Document(String),
    /// What was said in a stretch of time, both ends included.
    Time {
        /// From when, in milliseconds since 1970.
        from_ms: i64,
        /// Until when.
        to_ms: i64,
        /// Only in this conversation; without it, in all.
        #[serde(default)]
        conversation: Option<String>,
    },
    /// Somebody or something by name, or by number: all names of it, wherever they stand, and all that is known of it.
    Entity(String),
    /// All that a person's account, `namespace:user`, said and was told in private, and what is known of that person.
    Person(String),
}

/// A wish to forget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryForget {
    /// What.
    pub what: MemoryWhat,
    /// Only say what would go.
    #[serde(default)]
    pub dry_run: bool,
    /// Also what plugins keep under keys, where the words stand in it.
    #[serde(default)]
    pub plugins: bool,
}

/// What was forgotten, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryForgotten {
    /// Nothing was changed.
    pub dry_run: bool,
    /// Events of the journal from which words were taken.
    pub events: usize,
    /// Passages that are found no more, or as what is left of them.
    pub passages: usize,
    /// Documents that went or lost words.
    pub documents: usize,
    /// Files of contexts that lost words.
    pub contexts: usize,
    /// Names of the graph.
    pub names: usize,
    /// Sentences of the graph and values in it.
    pub sentences: usize,
    /// Lines of the list that is kept by hand.
    pub curated: usize,
    /// Lines of the text log.
    pub log_lines: usize,
    /// The first of them.
    pub samples: Vec<MemorySample>,
    /// What plugins keep, or kept, with the words in it.
    #[serde(default)]
    pub plugin_values: Vec<MemoryPluginValue>,
    /// It is forgotten too; else it stays.
    #[serde(default)]
    pub plugins: bool,
    /// Files of the home folder in which the words still stand, and that forgetting does not touch: what plugins keep, the
    /// knowledge base, logs, backups. In a dry run all files in which they stand.
    pub left: Vec<String>,
}

/// What a plugin keeps under a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryPluginValue {
    /// The plugin.
    pub plugin: String,
    /// The key.
    pub key: String,
}

/// A file of the daemon's machine that the memory is written to or read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryFile {
    /// Its whole path.
    pub path: String,
    /// When the memory is written: it may take the place of a file that is there.
    #[serde(default)]
    pub replace: bool,
}

/// What was exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryExported {
    /// The file.
    pub path: String,
    /// How many records there are in it, the header among them.
    pub records: usize,
    /// Its size.
    pub bytes: u64,
}

/// What an import came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryImported {
    /// Rows of the graph that were taken in.
    pub rows: usize,
    /// Documents that were not there.
    pub documents: usize,
    /// What was not taken, or not as it stands in the file: a sentence each.
    pub conflicts: Vec<String>,
}

/// Something that goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemorySample {
    /// `event`, `document`, `name`, `sentence` or `curated`.
    pub kind: String,
    /// Where it stands.
    pub id: String,
    /// The beginning of it.
    pub text: String,
}
