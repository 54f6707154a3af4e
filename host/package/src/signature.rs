//! The file [`SIGNATURE`]: a list of all other files of a package, signed.
//!
//! ```text
//! homeagent package 1
//! key <public key, 64 hexadecimal digits>
//! file <SHA-256, 64 hexadecimal digits> <size in bytes> <name>
//! ...
//! signature <of all lines above, 128 hexadecimal digits>
//! ```
//!
//! There is one way to write a list: the files in the order of an archive, one space between words, each line ended by a
//! line feed. What is written in another way is refused, however it is signed.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::hexadecimal::{self, hexadecimal};
use crate::{File, MOST_FILES, PublicKey, SIGNATURE, SigningKey, check_name, rank, twice};

/// The largest file that is read as a signature, in bytes: every file has a line.
pub const LARGEST_SIGNATURE: u64 = 256 + 200 * MOST_FILES as u64;

/// The first line: what is signed, and in which form. Nothing else that such a key signs begins like this.
const HEAD: &str = "homeagent package 1";

/// Why a package is not as its publisher signed it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The file is not a signature at all, or not in the form that it has to have.
    #[error("its {SIGNATURE} is not valid: {0}")]
    Malformed(String),
    /// The list was changed after it was signed, or somebody else signed it.
    #[error("its signature is broken: the list of files in {SIGNATURE} is not the one that was signed")]
    Broken,
    /// A file is listed twice.
    #[error("its {SIGNATURE} lists {0} twice")]
    Duplicate(String),
    /// A file is not there.
    #[error("{0} is missing, which was signed with the package")]
    Missing(String),
    /// A file was not signed.
    #[error("{0} is there, which was not signed with the package")]
    Extra(String),
    /// A file has other content.
    #[error("{0} was changed after the package was signed")]
    Changed(String),
}

/// Signs the files of a package; what comes out is the content of the file [`SIGNATURE`].
#[must_use]
pub fn sign(files: &[File], key: &SigningKey) -> Vec<u8> {
    let entries: Vec<Entry> = in_order(files).into_iter().map(Entry::of).collect();
    let mut text = statement(&key.public(), &entries);
    let signature = hexadecimal(&key.sign(text.as_bytes()));
    // Writing to a string does not fail.
    let _ = writeln!(text, "signature {signature}");
    text.into_bytes()
}

/// Checks that a package consists of the files that were signed, and says by whom. `files` are all of the package but the
/// signature itself.
///
/// # Errors
/// What is not as it was signed; see [`SignatureError`].
pub fn verify(files: &[File], signature: &[u8]) -> Result<PublicKey, SignatureError> {
    let (key, entries) = read(signature)?;
    for entry in &entries {
        let Some(file) = files.iter().find(|file| file.name == entry.name) else {
            return Err(SignatureError::Missing(entry.name.clone()));
        };
        if Entry::of(file) != *entry {
            return Err(SignatureError::Changed(entry.name.clone()));
        }
    }
    match files.iter().find(|file| !entries.iter().any(|entry| entry.name == file.name)) {
        Some(extra) => Err(SignatureError::Extra(extra.name.clone())),
        None => Ok(key),
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    digest: [u8; 32],
    size: u64,
    name: String,
}

impl Entry {
    fn of(file: &File) -> Self {
        Self { digest: Sha256::digest(&file.bytes).into(), size: file.bytes.len() as u64, name: file.name.clone() }
    }

    fn parse(line: &str) -> Option<Self> {
        let (digest, rest) = line.split_once(' ')?;
        let (size, name) = rest.split_once(' ')?;
        Some(Self { digest: hexadecimal::bytes(digest)?, size: size.parse().ok()?, name: name.to_owned() })
    }
}

fn in_order(files: &[File]) -> Vec<&File> {
    let mut files: Vec<&File> = files.iter().collect();
    files.sort_by(|a, b| rank(&a.name).cmp(&rank(&b.name)));
    files
}

/// What is signed.
fn statement(key: &PublicKey, entries: &[Entry]) -> String {
    let mut text = format!("{HEAD}\nkey {key}\n");
    for Entry { digest, size, name } in entries {
        // Writing to a string does not fail.
        let _ = writeln!(text, "file {} {size} {name}", hexadecimal(digest));
    }
    text
}

/// Reads a list that is well-formed and was signed.
fn read(signature: &[u8]) -> Result<(PublicKey, Vec<Entry>), SignatureError> {
    let malformed = |what: &str| SignatureError::Malformed(what.to_owned());
    if signature.len() as u64 > LARGEST_SIGNATURE {
        return Err(malformed("it is too large"));
    }
    let text = str::from_utf8(signature).map_err(|_| malformed("it is not UTF-8"))?;
    let at = text.rfind("\nsignature ").ok_or_else(|| malformed("it has no signature"))?;
    let (signed, last) = text.split_at(at + 1);
    let digits = last.strip_prefix("signature ").and_then(|last| last.strip_suffix('\n'));
    let signature: [u8; 64] =
        digits.and_then(hexadecimal::bytes).ok_or_else(|| malformed("its signature is not 128 hexadecimal digits"))?;
    let mut lines = signed.lines();
    if lines.next() != Some(HEAD) {
        return Err(malformed(&format!("it does not begin with {HEAD:?}; a newer HomeAgent may know more")));
    }
    let key = lines.next().and_then(|line| PublicKey::parse(line.strip_prefix("key ")?));
    let key = key.ok_or_else(|| malformed("its second line is not a key"))?;
    let mut entries = Vec::new();
    for (number, line) in lines.enumerate() {
        let entry = line.strip_prefix("file ").and_then(Entry::parse);
        entries.push(entry.ok_or_else(|| malformed(&format!("its line {} is not a file", number + 3)))?);
    }
    if !key.signed(signed.as_bytes(), &signature) {
        return Err(SignatureError::Broken);
    }
    if let Some(name) = twice(entries.iter().map(|entry| entry.name.as_str())) {
        return Err(SignatureError::Duplicate(name.to_owned()));
    }
    if let Some((entry, why)) = entries.iter().find_map(|it| check_name(&it.name).err().map(|why| (it, why))) {
        return Err(malformed(&format!("the name {:?}: {why}", entry.name)));
    }
    entries.sort_by(|a, b| rank(&a.name).cmp(&rank(&b.name)));
    if statement(&key, &entries) != signed {
        return Err(malformed("its files are not listed in the form in which they are signed"));
    }
    Ok((key, entries))
}
