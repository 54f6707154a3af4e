//! The API token: a file in the data folder that whoever may read it proves to be the owner with.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

const FILE: &str = "api-token";
const BYTES: usize = 32;
/// A token somebody wrote by hand has to be hard to guess too.
const SHORTEST: usize = 20;

/// As much as is read of the file.
const LONGEST: u64 = 64 * 1024;

/// The digest of the token. Comparing digests tells a guesser nothing by the time it takes.
#[derive(Clone)]
pub(crate) struct Token([u8; 32]);

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file can't be made or read.
    #[error("{doing} the API token {path} failed: {source}; check that the data folder belongs to you", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file's content can't be a token.
    #[error(
        "the API token in {path} has to be one word of at least {SHORTEST} visible ASCII characters; remove the file, and \
         a new one is made at the next start",
        path = path.display()
    )]
    Unusable {
        /// The file.
        path: PathBuf,
    },
    /// The system has no randomness to give.
    #[error("the system gave no random bytes for an API token: {0}")]
    Randomness(getrandom::Error),
}

/// Whether two secrets are the same. Comparing digests tells a guesser nothing by the time it takes.
pub(crate) fn same(one: &str, other: &str) -> bool {
    Sha256::digest(one) == Sha256::digest(other)
}

impl Token {
    /// Reads the token of the data folder, making one where there is none. A file that others may read is closed to
    /// them.
    pub(crate) fn open(home: &Path) -> Result<Self, TokenError> {
        let path = home.join(FILE);
        let failed = |doing| {
            let path = path.clone();
            move |source| TokenError::File { path, doing, source }
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed("opening"))?;
        // Reading from a pipe, or a device, would never end.
        let kind = file.metadata().map_err(failed("opening"))?;
        if !kind.is_file() {
            return Err(failed("opening")(io::Error::other("it is not a file")));
        }
        close_to_others(&file, &path).map_err(failed("closing to others"))?;
        let mut text = String::new();
        match (&mut file).take(LONGEST).read_to_string(&mut text) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(TokenError::Unusable { path }),
            read => read.map_err(failed("reading"))?,
        };
        // An empty file is what a crash before the first write leaves behind.
        if text.trim().is_empty() {
            text = random()?;
            file.write_all(format!("{text}\n").as_bytes()).and_then(|()| file.sync_all()).map_err(failed("writing"))?;
        }
        let token = text.trim();
        if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Unusable { path });
        }
        Ok(Self(digest(token)))
    }

    /// Whether `given` is the token.
    pub(crate) fn matches(&self, given: &str) -> bool {
        digest(given) == self.0
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

fn random() -> Result<String, TokenError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(TokenError::Randomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn close_to_others(file: &File, path: &Path) -> io::Result<()> {
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "the API token was open to others; closing it");
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_closed_to_others_and_kept() {
        let home = tempfile::tempdir().expect("a folder");
        let token = Token::open(home.path()).expect("a new token");
        let path = home.path().join(FILE);
        let text = std::fs::read_to_string(&path).expect("the file");
        assert_eq!(text.trim().len(), 2 * BYTES);
        let mode = std::fs::metadata(&path).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(token.matches(text.trim()));
        assert!(!token.matches("") && !token.matches(&text));
        let again = Token::open(home.path()).expect("the same token");
        assert!(again.matches(text.trim()));
    }

    #[test]
    fn a_token_open_to_others_is_closed_and_a_weak_one_is_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join(FILE);
        std::fs::write(&path, "correct-horse-battery-staple\n").expect("write");
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("chmod");
        let token = Token::open(home.path()).expect("a usable token");
        assert!(token.matches("correct-horse-battery-staple"));
        let mode = std::fs::metadata(&path).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for unusable in [&b"1234\n"[..], &[0xff, 0xfe, 0x00]] {
            std::fs::write(&path, unusable).expect("write");
            assert!(matches!(Token::open(home.path()), Err(TokenError::Unusable { .. })));
            assert_eq!(std::fs::read(&path).expect("the file"), unusable, "it is left as it is");
        }
    }
}
