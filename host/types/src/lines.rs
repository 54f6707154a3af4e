//! What is asked of the lines of sources beside answers: vectors, and another choice.

use serde::{Deserialize, Serialize};

use crate::Cause;
use crate::model::{EmbeddingPurpose, SourceLine, Usage};

/// Texts of which vectors are wanted.
#[derive(Clone, Copy, Debug)]
pub struct VectorRequest<'a> {
    /// The texts.
    pub texts: &'a [String],
    /// What they are embedded for.
    pub purpose: EmbeddingPurpose,
    /// The only model whose vectors are of use: that of those they are compared with. Vectors of two models mean nothing to
    /// each other.
    pub model: Option<&'a str>,
    /// For whom.
    pub cause: &'a Cause,
}

/// Vectors, all of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// The source that made them.
    pub source: String,
    /// Its model.
    pub model: String,
    /// How long each is.
    pub dimensions: usize,
    /// One for each text, in the order of the texts.
    pub vectors: Vec<Vec<f32>>,
    /// What they cost together, where the vendor tells.
    pub usage: Option<Usage>,
}

/// A source, as one chooses among them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceChoice {
    /// Its name.
    pub source: String,
    /// What it is asked for.
    pub line: SourceLine,
    /// The model it asks for.
    pub model: String,
    /// How it stands, in a word: `ready`, `cooling-down`, `unfunded`, `disabled`, `switched-off`.
    pub standing: &'static str,
    /// Why, where there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its own temperature, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<String>,
    /// Whether it is told to think, where it is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
}

/// What is to be another of a source, effective at the next call.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct SourceOrder {
    /// The source.
    pub source: String,
    /// It is to be tried first in its line, and is switched on.
    #[serde(default)]
    pub first: bool,
    /// The model it is to ask for.
    #[serde(default)]
    pub model: Option<String>,
    /// The temperature it is to be asked with.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// Whether its model is to think first.
    #[serde(default)]
    pub thinking: Option<bool>,
}
