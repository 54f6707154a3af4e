//! Where words still stand: files of the home folder, whosever they are.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use homeagent_types::CallError;

use super::plan::Plan;
use crate::memory::Memory;

/// How much of a file is looked at in one piece, in bytes.
const PIECE: usize = 1 << 20;

/// Folders of the home in which nothing is kept that anybody said: a model's vocabulary has most words.
const NOT_SAID: [&str; 2] = ["cache", "models"];

/// The databases that this process uses.
const DATABASES: [&str; 3] = ["homeagent.db", "memory.db", "knowledge.db"];

/// How many texts are looked for at most: each is a pass over all bytes.
const TEXTS: usize = 64;

impl Memory {
    /// The files of the home folder that hold any of the texts, as they are spelt in the journal, by their paths in it.
    pub(super) async fn left(&self, plan: &Plan) -> Result<Vec<String>, CallError> {
        let account = plan.account.iter().flat_map(|account| account.spelt());
        let spelt = account.chain(plan.spelt.iter().cloned());
        let texts: Vec<Vec<u8>> = spelt.take(TEXTS).map(String::into_bytes).collect();
        let home = self.home().to_owned();
        super::blocking(move || holding(&home, &texts)).await
    }
}

fn holding(home: &Path, texts: &[Vec<u8>]) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for file in fs::read_dir(&folder)? {
            let file = file?;
            let (path, kind) = (file.path(), file.file_type()?);
            if kind.is_dir() {
                let is_said = folder != home || !NOT_SAID.iter().any(|name| file.file_name() == *name);
                folders.extend(is_said.then_some(path));
            } else if kind.is_file() && !texts.is_empty() && holds(&path, texts).unwrap_or(false) {
                found.push(path);
            }
        }
    }
    let mut names: Vec<String> =
        found.iter().map(|path: &PathBuf| path.strip_prefix(home).unwrap_or(path).display().to_string()).collect();
    names.sort();
    Ok(names)
}

fn holds(path: &Path, texts: &[Vec<u8>]) -> io::Result<bool> {
    let overlap = texts.iter().map(Vec::len).max().unwrap_or(0);
    let file = opened(path)?;
    let (mut piece, mut place): (Vec<u8>, u64) = (Vec::new(), 0);
    loop {
        piece = piece.split_off(piece.len().saturating_sub(overlap));
        let kept = piece.len();
        piece.resize(kept + PIECE, 0);
        let read = match file.read_at(&mut piece[kept..], place) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Ok(0) => return Ok(false),
            read => read?,
        };
        place += read as u64;
        piece.truncate(kept + read);
        if texts.iter().any(|text| stands_in(&piece, text)) {
            return Ok(true);
        }
    }
}

/// Opens a file to read. One that SQLite may be using stays open for ever: when a process closes a file, it loses all locks
/// that it holds on it, SQLite's too, and another program that looks at the database would then remove its write-ahead log
/// with all that is not in the database yet.
fn opened(path: &Path) -> io::Result<Arc<File>> {
    if !is_of_database(path) {
        return File::open(path).map(Arc::new);
    }
    let key = |about: &fs::Metadata| (about.dev(), about.ino());
    let mut kept = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let wanted = key(&fs::metadata(path)?);
    if let Some(file) = kept.get(&wanted) {
        return Ok(Arc::clone(file));
    }
    let file = Arc::new(File::open(path)?);
    kept.insert(key(&file.metadata()?), Arc::clone(&file));
    Ok(file)
}

/// The files that stay open, by device and number. A daemon has a few.
static OPEN: Mutex<BTreeMap<(u64, u64), Arc<File>>> = Mutex::new(BTreeMap::new());

/// Whether a file is a database, or lies beside one, by its name.
fn is_of_database(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    DATABASES
        .iter()
        .any(|database| name.strip_prefix(database).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')))
}

fn stands_in(bytes: &[u8], text: &[u8]) -> bool {
    let Some(first) = text.first() else { return false };
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| byte == first) {
        rest = rest.get(at..).unwrap_or_default();
        if rest.starts_with(text) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_in_which_words_stand_that_were_said_also_across_pieces() {
        let home = tempfile::tempdir().expect("a folder");
        let put = |path: &str, bytes: &[u8]| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            fs::write(path, bytes).expect("written");
        };
        put("models/e5/tokenizer.json", "团子".as_bytes());
        put("cache/code", "团子".as_bytes());
        put("backups/models/may.db", "团子".as_bytes());
        put("logs/long", &[vec![b'x'; PIECE - 2], "团子".as_bytes().to_vec()].concat());
        put("logs/other", "丸子".as_bytes());
        let found = holding(home.path(), &["团子".as_bytes().to_vec()]).expect("looked");
        assert_eq!(found, ["backups/models/may.db", "logs/long"]);
    }
}
