//! What is known of the models that make vectors.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The embedder in use, and why it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EmbedderStatus {
    /// `loading`, `ready`, or `without` where there is none.
    pub state: String,
    /// The name of what is used, or is being loaded.
    pub name: String,
    /// What made the vectors: `onnx`, `tract`, `source`, `static` or `tf-idf`; none while nothing is loaded.
    pub kind: Option<String>,
    /// How long the vectors are.
    pub dimensions: Option<usize>,
    /// Why it and no other.
    pub why: String,
    /// Why what would be better is not used.
    pub complaint: Option<String>,
    /// The library that runs sentence models, with its version.
    pub runtime: Option<String>,
    /// How many texts a sentence model embeds at one time.
    pub sessions: usize,
}

/// The embedders there are, and those that can be had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Embedders {
    /// What is used.
    pub status: EmbedderStatus,
    /// All there are, the best first.
    pub embedders: Vec<EmbedderListing>,
    /// Models that can be installed by their names, from the Internet.
    pub offered: Vec<OfferedModel>,
}

/// An embedder that could be used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EmbedderListing {
    /// The name by which it is chosen.
    pub name: String,
    /// What it is, in words.
    pub what: String,
    /// Where it lies; none for what needs no file.
    pub path: Option<String>,
    /// The size of its files.
    pub bytes: Option<u64>,
    /// Whether it is the one in use.
    pub used: bool,
}

/// A model that can be had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OfferedModel {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// Where it is fetched from.
    pub url: String,
}

/// A model that was put into the folder of models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InstalledModel {
    /// Its name.
    pub name: String,
    /// Where it lies now.
    pub path: String,
    /// How long its vectors are; none where it was not opened yet.
    pub dimensions: Option<usize>,
    /// Its files.
    pub files: Vec<InstalledFile>,
}

/// A file of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InstalledFile {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// What came of making vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EmbeddingTrial {
    /// Whose vectors they are.
    pub name: String,
    /// What made them.
    pub kind: String,
    /// How long they are.
    pub dimensions: usize,
    /// How long each text took, in milliseconds.
    pub took_ms: Vec<f64>,
    /// The cosine of question and answer, where there are both.
    pub similarity: Option<f64>,
}
