//! The key file, and encrypting with it.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::{Secret, SecretsError};

const FILE_NAME: &str = "secret.key";
const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;

/// The cipher; its copy of the key is overwritten when it is dropped.
pub(super) struct Key(XChaCha20Poly1305);

pub(super) fn path(home: &Path) -> PathBuf {
    home.join(FILE_NAME)
}

impl Key {
    /// Reads the key file, `None` where there is none.
    pub(super) fn read(home: &Path) -> Result<Option<Self>, SecretsError> {
        let path = path(home);
        let failed = |doing| {
            let path = path.clone();
            move |source| SecretsError::KeyFile { path, doing, source }
        };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("opening")(error)),
        };
        let metadata = file.metadata().map_err(failed("examining"))?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(SecretsError::KeyOpenToOthers { path, mode });
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(KEY_BYTES * 2));
        // Somebody else's big file in its place is not read to its end.
        file.take(KEY_BYTES as u64 * 2).read_to_end(&mut bytes).map_err(failed("reading"))?;
        match XChaCha20Poly1305::new_from_slice(&bytes) {
            Ok(cipher) => Ok(Some(Self(cipher))),
            Err(_) => {
                let found = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
                Err(SecretsError::KeyLength { path, found, expected: KEY_BYTES })
            }
        }
    }

    /// Makes a key file. It is complete on the disk before it has its name, so that no secret is ever encrypted with a
    /// key that a power cut could take away.
    pub(super) fn create(home: &Path) -> Result<Self, SecretsError> {
        let path = path(home);
        let mut bytes = Zeroizing::new([0_u8; KEY_BYTES]);
        getrandom::fill(bytes.as_mut()).map_err(|source| SecretsError::Randomness { source })?;
        let beside = home.join(format!("{FILE_NAME}.new"));
        let write = || {
            // What an interrupted attempt left behind.
            match fs::remove_file(&beside) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
            file.write_all(bytes.as_ref())?;
            file.sync_all()?;
            fs::rename(&beside, &path)?;
            File::open(home)?.sync_all()
        };
        write().map_err(|source| SecretsError::KeyFile { path: path.clone(), doing: "making", source })?;
        tracing::info!(path = %path.display(), "key file for secrets made");
        Ok(Self(XChaCha20Poly1305::new((&*bytes).into())))
    }

    /// The nonce and the encrypted text. `name` is bound to it: under another name it does not decrypt.
    pub(super) fn encrypt(&self, name: &str, secret: &Secret) -> Result<(Vec<u8>, Vec<u8>), SecretsError> {
        let mut nonce = [0_u8; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|source| SecretsError::Randomness { source })?;
        let payload = Payload { msg: secret.expose().as_bytes(), aad: name.as_bytes() };
        let sealed = self.0.encrypt(XNonce::from_slice(&nonce), payload);
        // The cipher refuses only texts of more than 256 GiB.
        let sealed = sealed.map_err(|_| SecretsError::NotDecrypted { name: name.to_owned() })?;
        Ok((nonce.to_vec(), sealed))
    }

    pub(super) fn decrypt(&self, name: &str, nonce: &[u8], sealed: &[u8]) -> Result<Secret, SecretsError> {
        let refused = || SecretsError::NotDecrypted { name: name.to_owned() };
        if nonce.len() != NONCE_BYTES {
            return Err(refused());
        }
        let payload = Payload { msg: sealed, aad: name.as_bytes() };
        let bytes = Zeroizing::new(self.0.decrypt(XNonce::from_slice(nonce), payload).map_err(|_| refused())?);
        let text = std::str::from_utf8(&bytes).map_err(|_| refused())?;
        Ok(Secret::from(text))
    }
}
