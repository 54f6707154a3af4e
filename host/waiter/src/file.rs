//! Reading a file for one request.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::failure::Failure;

/// What is in a file, as far as the daemon takes it: of more than `most` bytes nothing is sent, and nothing more is read.
pub(crate) fn bytes(file: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let unreadable = |error| Failure::Failed(format!("{} can't be read: {error}", file.display()));
    let mut bytes = Vec::new();
    let mut read = File::open(file).map_err(unreadable)?.take(most.saturating_add(1));
    read.read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > most) {
        let file = file.display();
        let sentence =
            format!("{file} holds more than the {most} bytes that the daemon takes at once; nothing was sent");
        return Err(Failure::Failed(sentence));
    }
    Ok(bytes)
}

/// The same of a text.
pub(crate) fn text(file: &Path, most: u64) -> Result<String, Failure> {
    String::from_utf8(bytes(file, most)?)
        .map_err(|error| Failure::Failed(format!("{} can't be read: {error}", file.display())))
}
