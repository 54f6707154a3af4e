//! Vectors of single words, made once by others: the text formats of fastText and of ConceptNet Numberbatch, plain or
//! packed by gzip. A file is turned once into a table beside it, of which only the words that are looked up are read.

mod convert;
mod table;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use super::pool::Pool;
use super::{EmbedError, ModelIdentity};
use table::Table;
use words::WordSession;

/// The kind of the identities of its vectors.
pub(super) const KIND: &str = "static";
/// The endings of files of words and vectors.
const ENDINGS: [&str; 4] = [".vec", ".vec.gz", ".txt", ".txt.gz"];
/// The ending of the table that is made of one.
const TABLE: &str = ".vectors";
/// How many characters of a text are looked at.
const CHARACTERS: usize = 20_000;

/// Word vectors in the folder of models, looked at but not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticVectors {
    /// Their name: the file's, without its ending.
    pub name: String,
    /// The file of words and vectors; its table alone serves too.
    text: Option<PathBuf>,
    table: PathBuf,
}

impl StaticVectors {
    /// All in a folder of models, sorted by name.
    pub fn all_in(models: &Path) -> Vec<Self> {
        let Ok(entries) = fs::read_dir(models) else { return Vec::new() };
        let files = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_file());
        let mut found: Vec<Self> = files.filter_map(|path| Self::of(&path)).collect();
        found.sort_by(|one, other| (&one.name, one.text.is_none()).cmp(&(&other.name, other.text.is_none())));
        // A table whose text is there too is not another model.
        found.dedup_by(|one, other| one.name == other.name);
        found
    }

    /// The word vectors in a file, going by its name.
    pub fn of(path: &Path) -> Option<Self> {
        let file = path.file_name()?.to_str()?;
        let stem = |endings: &[&str]| endings.iter().find_map(|ending| file.strip_suffix(ending));
        let (name, text) = match stem(&[TABLE]) {
            Some(name) => (name, None),
            None => (stem(&ENDINGS)?, Some(path.to_owned())),
        };
        let plain = !name.is_empty() && !name.starts_with('.');
        plain.then(|| Self { name: name.to_owned(), text, table: path.with_file_name(format!("{name}{TABLE}")) })
    }

    /// The files that hold them.
    pub fn files(&self) -> Vec<&Path> {
        let table = Some(&self.table).filter(|table| table.is_file());
        self.text.iter().chain(table).map(PathBuf::as_path).collect()
    }

    /// Opens them; the table is made first where there is none, or it is another file's, or it is damaged. Slow: a large
    /// file takes minutes the first time.
    pub(super) fn open(&self) -> Result<Pool, EmbedError> {
        let table = self.table()?;
        let identity = ModelIdentity {
            name: self.name.clone(),
            kind: KIND.to_owned(),
            digest: table.digest().to_owned(),
            dimensions: table.dimensions(),
            pooling: "weighted-mean".to_owned(),
            query_prefix: String::new(),
            passage_prefix: String::new(),
            normalised: true,
        };
        let prepare = |_, text: &str| text.chars().take(CHARACTERS).collect();
        let session = WordSession::new(table, self.text.is_some().then(|| self.table.clone()));
        Pool::start(identity, Box::new(prepare), vec![Box::new(session)])
    }

    fn table(&self) -> Result<Table, EmbedError> {
        let Some(text) = &self.text else { return Table::open(&self.table) };
        let origin = convert::Origin::of(text)?;
        match Table::open(&self.table) {
            Ok(table) if table.origin() == origin => return Ok(table),
            Ok(_) => tracing::info!(file = %text.display(), "the word vectors have changed; their table is made anew"),
            Err(error) if self.table.exists() => tracing::warn!(%error, "the table of word vectors is made anew"),
            Err(_) => tracing::info!(file = %text.display(), "a table of the word vectors is made"),
        }
        convert::convert(text, origin, &self.table)?;
        Table::open(&self.table)
    }
}

#[cfg(test)]
mod tests;
