//! Compiled code, kept on disk.
//!
//! Compiled code is native code: whoever can put a file of their own in its place runs what they like in the daemon. So
//! each entry begins with a MAC over the rest, under a key that lies in the same 0700 folder, and is checked before the
//! engine sees the code. An entry that is damaged, foreign or of another engine is compiled anew.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hmac::{Hmac, Mac};
use sha2::Sha256;
use wasmtime::component::Component;

use crate::RuntimeError;
use crate::engine::ComponentEngine;

const MAC_LENGTH: usize = 32;
const KEY_LENGTH: usize = 32;

/// The folder of compiled code.
pub(crate) struct CodeCache {
    folder: PathBuf,
    key: [u8; KEY_LENGTH],
}

impl CodeCache {
    /// Opens the folder, making it and its key when they are not there.
    pub(crate) fn open(folder: PathBuf) -> Result<Self, RuntimeError> {
        let failed = |source| RuntimeError::Folder { path: folder.clone(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).map_err(failed)?;
        let key = read_or_make_key(&folder.join("key")).map_err(failed)?;
        Ok(Self { folder, key })
    }

    /// The compiled component, from the folder if it is there, else compiled and put there. Slow: seconds for a big
    /// component.
    pub(crate) fn compile(
        &self,
        engine: &ComponentEngine,
        digest: &str,
        bytes: &[u8],
    ) -> Result<Component, wasmtime::Error> {
        let path = self.folder.join(format!("{digest}-{}.cwasm", engine.compatibility));
        if let Some(component) = self.load(engine, &path) {
            return Ok(component);
        }
        let code = engine.engine.precompile_component(bytes)?;
        if let Err(error) = self.store(&path, &code) {
            tracing::warn!(path = %path.display(), %error, "compiled code can't be kept; it is compiled again next time");
        }
        deserialize(engine, &code)
    }

    fn load(&self, engine: &ComponentEngine, path: &Path) -> Option<Component> {
        let bytes = fs::read(path).ok()?;
        let checked = bytes.split_at_checked(MAC_LENGTH).filter(|(mac, code)| {
            let mut expected = self.mac(path);
            expected.update(code);
            expected.verify_slice(mac).is_ok()
        });
        let Some((_, code)) = checked else {
            tracing::warn!(path = %path.display(), "an entry of the code cache is damaged; compiling anew");
            return None;
        };
        deserialize(engine, code)
            .inspect_err(|error| tracing::warn!(path = %path.display(), %error, "compiled code does not load"))
            .ok()
    }

    /// Written beside and renamed, so that a crash leaves no half entry.
    fn store(&self, path: &Path, code: &[u8]) -> io::Result<()> {
        let mut mac = self.mac(path);
        mac.update(code);
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(&mac.finalize().into_bytes())?;
        file.write_all(code)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    }

    /// Begun with the entry's name, so that one entry can't stand in another's place.
    fn mac(&self, path: &Path) -> Hmac<Sha256> {
        let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(&self.key).expect("HMAC takes keys of any length");
        mac.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        mac
    }
}

#[allow(unsafe_code, reason = "the code was made by this engine: it was just compiled, or its MAC has been checked")]
fn deserialize(engine: &ComponentEngine, code: &[u8]) -> Result<Component, wasmtime::Error> {
    // SAFETY: see above; the engine itself checks that the code is of its own version and configuration.
    unsafe { Component::deserialize(&engine.engine, code) }
}

fn read_or_make_key(path: &Path) -> io::Result<[u8; KEY_LENGTH]> {
    let mut key = [0; KEY_LENGTH];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut key));
    if read.is_ok() {
        return Ok(key);
    }
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(&key)?;
    file.sync_all()?;
    Ok(key)
}
