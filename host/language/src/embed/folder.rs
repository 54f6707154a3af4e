//! A sentence model as a folder: `model.onnx`, the four files of its tokenizer, and `model.toml`, which says what the
//! others don't.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{EmbedError, ModelIdentity, Purpose};

/// The graph.
pub const GRAPH: &str = "model.onnx";
/// The tokenizer and what belongs to it.
pub const TOKENIZER_FILES: [&str; 4] =
    ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];
/// What the owner says of the model; it may be missing.
pub const CARD: &str = "model.toml";
/// The most tokens of a text where nobody says otherwise.
const MAX_LENGTH: usize = 512;
/// How many characters a token has at the most, on average over a text: what is beyond is cut off before it is tokenised.
const CHARACTERS_PER_TOKEN: usize = 16;

/// How the vectors of a text's tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first token's.
    Cls,
}

impl Pooling {
    fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
        }
    }
}

/// `model.toml`. What it leaves out is told by the model's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    pooling: Option<Pooling>,
    query_prefix: Option<String>,
    passage_prefix: Option<String>,
    normalise: Option<bool>,
    max_length: Option<usize>,
}

/// How a model is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// How the vectors of a text's tokens become one.
    pub pooling: Pooling,
    /// What is put before a query.
    pub query_prefix: String,
    /// What is put before a passage.
    pub passage_prefix: String,
    /// Whether vectors are brought to the length 1.
    pub normalise: bool,
    /// The most tokens of a text; the rest is cut off.
    pub max_length: usize,
}

impl Usage {
    /// What a family of models wants, by the model's name.
    fn of_family(name: &str) -> Self {
        let name = name.to_lowercase();
        let (pooling, query_prefix, passage_prefix) = if name.contains("e5") {
            (Pooling::Mean, "query: ", "passage: ")
        } else if name.contains("bge") && name.contains("zh") {
            (Pooling::Cls, "为这个句子生成表示以用于检索相关文章：", "")
        } else if name.contains("bge") {
            (Pooling::Cls, "", "")
        } else {
            (Pooling::Mean, "", "")
        };
        Self {
            pooling,
            query_prefix: query_prefix.to_owned(),
            passage_prefix: passage_prefix.to_owned(),
            normalise: true,
            max_length: MAX_LENGTH,
        }
    }

    fn with(self, card: Card) -> Self {
        Self {
            pooling: card.pooling.unwrap_or(self.pooling),
            query_prefix: card.query_prefix.unwrap_or(self.query_prefix),
            passage_prefix: card.passage_prefix.unwrap_or(self.passage_prefix),
            normalise: card.normalise.unwrap_or(self.normalise),
            max_length: card.max_length.unwrap_or(self.max_length),
        }
    }

    /// The text as the model is to see it: with its prefix, and not longer than the model could ever read.
    pub(super) fn prepare(&self, purpose: Purpose, text: &str) -> String {
        let prefix = match purpose {
            Purpose::Query => &self.query_prefix,
            Purpose::Passage => &self.passage_prefix,
        };
        let most = self.max_length.saturating_mul(CHARACTERS_PER_TOKEN);
        let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
        format!("{prefix}{}", &text[..end])
    }
}

/// A folder that holds a model, looked at but not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFolder {
    /// The model's name: the folder's.
    pub name: String,
    /// The folder.
    pub path: PathBuf,
    /// How the model is used.
    pub usage: Usage,
}

impl ModelFolder {
    /// Looks at a folder. The error says which file is missing or cannot be read.
    pub fn open(path: &Path) -> Result<Self, EmbedError> {
        let whole = path.canonicalize().map_err(|error| unreadable(path, &error))?;
        let name = whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        for file in std::iter::once(GRAPH).chain(TOKENIZER_FILES) {
            let file = path.join(file);
            if !file.is_file() {
                let message = format!(
                    "{} is missing: a model's folder holds {GRAPH}, {}.",
                    file.display(),
                    TOKENIZER_FILES.join(", ")
                );
                return Err(EmbedError(message));
            }
        }
        let usage = Usage::of_family(&name).with(card(&path.join(CARD))?);
        if usage.max_length == 0 {
            return Err(EmbedError(format!("{}: max_length must be 1 at least.", path.join(CARD).display())));
        }
        Ok(Self { name, path: path.to_owned(), usage })
    }

    /// The names of the models in a folder of models, sorted, each with its folder.
    pub fn all_in(models: &Path) -> Vec<Self> {
        let Ok(entries) = fs::read_dir(models) else { return Vec::new() };
        let folders = entries.filter_map(Result::ok).map(|entry| entry.path());
        let mut found: Vec<_> = folders.filter_map(|path| Self::open(&path).ok()).collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }

    /// Reads one of its files whole.
    pub(super) fn read(&self, file: &str) -> Result<Vec<u8>, EmbedError> {
        let path = self.path.join(file);
        fs::read(&path).map_err(|error| unreadable(&path, &error))
    }

    /// The SHA-256 over its files and over what of its use changes vectors without being named in an identity.
    pub(super) fn digest(&self) -> Result<String, EmbedError> {
        let mut whole = Sha256::new();
        for file in std::iter::once(GRAPH).chain(TOKENIZER_FILES) {
            let path = self.path.join(file);
            let mut sum = Sha256::new();
            let mut opened = fs::File::open(&path).map_err(|error| unreadable(&path, &error))?;
            io::copy(&mut opened, &mut sum).map_err(|error| unreadable(&path, &error))?;
            whole.update(sum.finalize());
        }
        whole.update(self.usage.max_length.to_le_bytes());
        Ok(whole.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Whose vectors they are that are made of it in this way.
    pub(super) fn identity(&self, kind: &str, dimensions: usize) -> Result<ModelIdentity, EmbedError> {
        Ok(ModelIdentity {
            name: self.name.clone(),
            kind: kind.to_owned(),
            digest: self.digest()?,
            dimensions,
            pooling: self.usage.pooling.name().to_owned(),
            query_prefix: self.usage.query_prefix.clone(),
            passage_prefix: self.usage.passage_prefix.clone(),
            normalised: self.usage.normalise,
        })
    }
}

fn card(path: &Path) -> Result<Card, EmbedError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Card::default()),
        Err(error) => return Err(unreadable(path, &error)),
    };
    toml::from_str(&text).map_err(|error| EmbedError(format!("{}: {error}", path.display())))
}

fn unreadable(path: &Path, error: &io::Error) -> EmbedError {
    EmbedError(format!("{} can't be read: {error}.", path.display()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that can't go on is to fail there")]
mod tests {
    use super::*;

    fn folder(name: &str, card: Option<&str>) -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(name);
        fs::create_dir(&path).unwrap();
        for file in std::iter::once(GRAPH).chain(TOKENIZER_FILES) {
            fs::write(path.join(file), file).unwrap();
        }
        if let Some(card) = card {
            fs::write(path.join(CARD), card).unwrap();
        }
        (home, path)
    }

    #[test]
    fn a_family_is_known_by_its_name_and_a_card_has_the_last_word() {
        let (_home, path) = folder("multilingual-e5-small", None);
        let usage = ModelFolder::open(&path).unwrap().usage;
        assert_eq!((usage.pooling, usage.query_prefix.as_str()), (Pooling::Mean, "query: "));

        let (_home, path) = folder("bge-small-zh-v1.5", Some("pooling = \"mean\"\nmax_length = 128\n"));
        let usage = ModelFolder::open(&path).unwrap().usage;
        assert_eq!((usage.pooling, usage.max_length, usage.normalise), (Pooling::Mean, 128, true));
    }

    #[test]
    fn what_is_missing_or_misspelt_is_named() {
        let (_home, path) = folder("some", None);
        fs::remove_file(path.join("tokenizer.json")).unwrap();
        let error = ModelFolder::open(&path).unwrap_err().to_string();
        assert!(error.contains("tokenizer.json is missing"), "{error}");

        let (_home, path) = folder("some", Some("poling = \"cls\"\n"));
        let error = ModelFolder::open(&path).unwrap_err().to_string();
        assert!(error.contains("model.toml") && error.contains("poling"), "{error}");
    }

    #[test]
    fn every_file_and_the_length_count_for_the_digest() {
        let (_home, path) = folder("some", None);
        let before = ModelFolder::open(&path).unwrap().digest().unwrap();
        fs::write(path.join("tokenizer.json"), "another").unwrap();
        let after = ModelFolder::open(&path).unwrap().digest().unwrap();
        fs::write(path.join(CARD), "max_length = 16").unwrap();
        let shorter = ModelFolder::open(&path).unwrap().digest().unwrap();
        assert!(before != after && after != shorter, "{before} {after} {shorter}");
    }

    #[test]
    fn a_huge_text_is_cut_at_a_character() {
        let usage = Usage { max_length: 2, ..Usage::of_family("e5") };
        let prepared = usage.prepare(Purpose::Query, &"汉".repeat(3_000_000));
        assert_eq!(prepared, format!("query: {}", "汉".repeat(32)));
    }
}
