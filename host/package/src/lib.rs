//! A plugin's package as one file, and the signature of its publisher.
//!
//! [`pack`] makes an archive of a package's files and [`unpack`] reads it again; the same files make the same bytes, and
//! no other bytes are read. [`sign`] makes the file [`SIGNATURE`], which names every other file of a package with its
//! size and its SHA-256; [`verify`] says whose it is, or what is not as it was signed.
//!
//! What is in the files is not looked at here.

mod archive;
mod hexadecimal;
mod key;
mod signature;

pub use archive::{ArchiveError, LARGEST_ARCHIVE, MOST_FILES, pack, unpack};
pub use hexadecimal::hexadecimal;
pub use key::{BadKey, PublicKey, SigningKey};
pub use signature::{LARGEST_SIGNATURE, SignatureError, sign, verify};

/// The file that says what a package is. It is the first in an archive.
pub const MANIFEST: &str = "plugin.toml";
/// The file that holds the signature of a package. It is the last in an archive.
pub const SIGNATURE: &str = "plugin.sig";
/// The longest name of a file in a package, in bytes.
pub const LONGEST_NAME: usize = 100;

/// A file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name; all files of a package lie in one folder.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// Fails where a file of a package must not have this name, with the reason.
fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        Err("it is empty")
    } else if name.len() > LONGEST_NAME {
        Err("it has more than 100 bytes")
    } else if name.contains(['/', '\\']) {
        Err("it leads to another folder")
    } else if name.starts_with('.') {
        Err("it begins with a dot")
    } else if name.chars().any(char::is_control) {
        Err("it has a control character")
    } else {
        Ok(())
    }
}

/// Where a file stands among the others: the manifest first, the signature last, the rest by name.
fn rank(name: &str) -> (u8, &str) {
    match name {
        MANIFEST => (0, name),
        SIGNATURE => (2, name),
        _ => (1, name),
    }
}

/// The first name that stands there twice; two that differ in capitals alone count as one, as on some disks they are.
fn twice<'a>(names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = std::collections::BTreeSet::new();
    names.into_iter().find(|name| !seen.insert(name.to_lowercase()))
}
