//! The file on the disk.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::CuratedError;
use crate::durable;

/// More than this nobody writes by hand.
const LARGEST: u64 = 1 << 20;

pub(super) fn read(path: &Path) -> Result<String, CuratedError> {
    let failed = |source| CuratedError::File { path: path.to_path_buf(), doing: "read", source };
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(failed(error)),
    };
    if bytes.len() as u64 > LARGEST {
        return Err(failed(io::Error::other("it is larger than 1 MiB")));
    }
    String::from_utf8(bytes).map_err(|_| CuratedError::NoText(path.to_path_buf()))
}

/// Puts a text into the place of the one that was read. After a kill at any moment the file is the old or the new one. False:
/// somebody has saved another meanwhile, and that stays.
pub(super) fn write(path: &Path, before: &str, text: &str) -> Result<bool, CuratedError> {
    let failed = |source| CuratedError::File { path: path.to_path_buf(), doing: "written", source };
    durable::replace_unchanged(&place(path), before.as_bytes(), text.as_bytes()).map_err(failed)
}

/// Removes what a death in the middle of a write has left beside the file, where `is_to_go` says so of its text.
pub(super) fn clear(path: &Path, is_to_go: impl Fn(&str) -> bool) -> Result<(), CuratedError> {
    let left = durable::unfinished(&place(path));
    match fs::read(&left) {
        Ok(bytes) if is_to_go(&String::from_utf8_lossy(&bytes)) => {
            durable::remove(&left).map_err(|source| CuratedError::File { path: left, doing: "removed", source })
        }
        _ => Ok(()),
    }
}

/// Where the owner has put a link, what it leads to is written.
fn place(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}
