//! The file on the disk.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

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

/// After a kill at any moment the file is the old or the new one.
pub(super) fn write(path: &Path, text: &str) -> Result<(), CuratedError> {
    // Where the owner has put a link, what it leads to is written.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let failed = |source| CuratedError::File { path: path.to_path_buf(), doing: "written", source };
    durable::replace(&place, text.as_bytes()).map_err(failed)
}
