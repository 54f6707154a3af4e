//! The file of a conversation's context: `context/<digits>.json` in the home folder.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homeagent_types::lenient;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::entry::Entry;
use crate::durable;

/// The version of the file's shape.
const VERSION: u32 = 1;

/// What is saved of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(crate) version: u32,
    pub(crate) conversation: String,
    pub(crate) session: String,
    pub(crate) entries: Vec<Entry>,
}

impl Saved {
    pub(crate) fn new(conversation: &str, session: &str, entries: Vec<Entry>) -> Self {
        Self { version: VERSION, conversation: conversation.to_owned(), session: session.to_owned(), entries }
    }

    /// The documents whose events came back and stand in it.
    pub(crate) fn returned(&self) -> Vec<String> {
        returned(&self.entries)
    }
}

/// The documents from which these came back.
pub(crate) fn returned<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<String> {
    let documents: BTreeSet<&String> = entries.into_iter().filter_map(|entry| entry.document.as_ref()).collect();
    documents.into_iter().cloned().collect()
}

/// Where the contexts' files are.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    /// Held while a file is written: who saves and who forgets would meet beside it.
    writing: Arc<Mutex<()>>,
}

impl Files {
    pub(crate) fn new(home: &Path) -> Self {
        Self { folder: home.join("context"), writing: Arc::default() }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file of a conversation. Its name says nothing about whose it is, and fits whatever a channel's ids are.
    pub(crate) fn path(&self, conversation: &str) -> PathBuf {
        let digest = Sha256::digest(conversation.as_bytes());
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.json"))
    }

    /// Reads what is saved of a conversation; nothing where there is none. A file that can't be read is set aside and
    /// said: the journal has all that was in it.
    pub(crate) fn read(&self, conversation: &str) -> Option<Saved> {
        let path = self.path(conversation);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "a context can't be read, and is rebuilt from the journal");
                return None;
            }
        };
        match lenient::from_slice::<Saved>(&bytes) {
            Ok(saved) if saved.version == VERSION && saved.conversation == conversation => return Some(saved),
            Ok(saved) => {
                tracing::warn!(version = saved.version, path = %path.display(), "a context's file is another's");
            }
            Err(error) => tracing::warn!(%error, path = %path.display(), "a context's file is damaged"),
        }
        match durable::set_aside(&path) {
            Ok(aside) => tracing::warn!(path = %aside.display(), "it is set aside, and rebuilt from the journal"),
            Err(error) => tracing::warn!(%error, path = %path.display(), "it can't be set aside"),
        }
        None
    }

    /// Writes what is saved of a conversation; when this returns it is on the disk.
    pub(crate) fn write(&self, saved: &Saved) -> io::Result<()> {
        durable::folder(&self.folder)?;
        let _one_at_a_time = self.writing();
        durable::replace(&self.path(&saved.conversation), &serde_json::to_vec(saved)?)
    }
}
