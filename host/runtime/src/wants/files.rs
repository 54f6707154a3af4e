//! `[wants.files]`: the folders that a package wants to use.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::Deserialize;

use super::Want;
use crate::files::{SCRATCH, SYSTEM};

const MOST_FOLDERS: usize = 32;

/// The folders, by what the plugin calls them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilesWant {
    #[serde(default)]
    pub(crate) folders: BTreeMap<String, FolderWant>,
}

/// A folder of the owner's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FolderWant {
    /// An absolute path, or one that begins with `~`.
    pub(crate) path: String,
    /// Whether files in it may be changed.
    #[serde(default)]
    pub(crate) write: bool,
}

impl Want for FilesWant {
    const CAPABILITY: &'static str = "files";

    fn check(&self) -> Result<(), String> {
        if self.folders.len() > MOST_FOLDERS {
            return Err(format!("it names {} folders; {MOST_FOLDERS} are the most", self.folders.len()));
        }
        self.folders.iter().try_for_each(|(name, folder)| check_folder(name, &folder.path))
    }
}

fn check_folder(name: &str, path: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err(format!("the folder {name:?} must be called by 1 to 64 of the letters a-z, digits, - and _"));
    }
    if name == SCRATCH {
        return Err(format!("{SCRATCH} is the plugin's own folder, which is always there; call it otherwise"));
    }
    let below_user = path == "~" || path.starts_with("~/");
    if !(path.starts_with('/') || below_user) || path.len() > 4096 || path.contains('\0') {
        return Err(format!("path = {path:?} must be absolute, or begin with ~/"));
    }
    if Path::new(path).components().any(|part| part == Component::ParentDir) {
        return Err(format!("path = {path:?} must not have .. in it"));
    }
    if SYSTEM.iter().any(|system| Path::new(path).starts_with(system)) {
        return Err(format!("path = {path:?} lies in one of {}, which no plugin may use", SYSTEM.join(", ")));
    }
    Ok(())
}
