//! Compiled code, kept on disk.
//!
//! Compiled code is native code: whoever can put a file of their own in its place runs what they like in the daemon. So
//! each entry begins with a MAC over the rest, under a key that lies in the same 0700 folder, and is checked before the
//! engine sees the code. An entry that is damaged, foreign or of another engine is compiled anew.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hmac::{Hmac, Mac};
use sha2::Sha256;
use wasmtime::component::Component;

use crate::RuntimeError;
use crate::compiler::Compiler;
use crate::engine::ComponentEngine;

const MAC_LENGTH: usize = 32;
const KEY_LENGTH: usize = 32;
/// As many entries are kept: those that were used last.
const MOST_KEPT: usize = 128;

/// The folder of compiled code.
pub(crate) struct CodeCache {
    folder: PathBuf,
    key: [u8; KEY_LENGTH],
    /// What compiles; without it this process does.
    compiler: Option<Compiler>,
}

impl CodeCache {
    /// Opens the folder, making it and its key when they are not there.
    pub(crate) fn open(folder: PathBuf, compiler: Option<Compiler>) -> Result<Self, RuntimeError> {
        let failed = |source| RuntimeError::Folder { path: folder.clone(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).map_err(failed)?;
        let key = read_or_make_key(&folder.join("key")).map_err(failed)?;
        Ok(Self { folder, key, compiler })
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
        let compiled = self.compiler.as_ref().and_then(|compiler| compiler.compile(bytes));
        let code = compiled.unwrap_or_else(|| engine.engine.precompile_component(bytes))?;
        if let Err(error) = self.store(&path, &code) {
            tracing::warn!(path = %path.display(), %error, "compiled code can't be kept; it is compiled again next time");
        }
        if let Err(error) = self.prune(&engine.compatibility) {
            tracing::warn!(folder = %self.folder.display(), %error, "old compiled code can't be deleted");
        }
        deserialize(engine, &code)
    }

    /// Deletes what nobody uses any more: code of other engines, what a crash left half written, and all but the newest
    /// entries.
    fn prune(&self, engine: &str) -> io::Result<()> {
        let (of_this, own) = (format!("-{engine}.cwasm"), format!(".{}.new", std::process::id()));
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(&of_this) {
                entries.push((entry.metadata()?.modified()?, entry.path()));
            } else if name.ends_with(".cwasm") || (name.ends_with(".new") && !name.ends_with(&own)) {
                fs::remove_file(entry.path())?;
            }
        }
        entries.sort_unstable_by(|one, other| other.cmp(one));
        entries.iter().skip(MOST_KEPT).try_for_each(|(_, path)| fs::remove_file(path))
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
        // Says when it was used last. Where that fails it only seems older than it is.
        drop(File::open(path).and_then(|file| file.set_modified(SystemTime::now())));
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_nobody_uses_any_more_is_deleted() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = CodeCache::open(folder.path().to_owned(), None).expect("a new cache");
        let place = |name: &str| folder.path().join(name);
        cache.store(&place("a-other.cwasm"), b"code").expect("it is stored");
        fs::write(place("a-this.1.new"), b"half").expect("a file");
        for age in (0_u64..).take(MOST_KEPT + 2) {
            let path = place(&format!("{age}-this.cwasm"));
            cache.store(&path, b"code").expect("it is stored");
            let used = SystemTime::now() - Duration::from_secs(60 * age);
            File::open(&path).and_then(|file| file.set_modified(used)).expect("its own file");
        }
        cache.prune("this").expect("its own folder");
        let kept = |name: &str| place(name).exists();
        assert!(!kept("a-other.cwasm") && !kept("a-this.1.new"));
        assert!(kept("key") && kept("0-this.cwasm") && kept(&format!("{}-this.cwasm", MOST_KEPT - 1)));
        assert!(!kept(&format!("{MOST_KEPT}-this.cwasm")), "one that was not used for longer than the others");
    }
}
