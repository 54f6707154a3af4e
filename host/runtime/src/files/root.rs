//! A folder that was granted, open, and the way from it to what is in it.

use std::path::{Component, Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use homeagent_types::CallError;

use super::forbidden::Forbidden;
use super::path::GuestPath;
use super::scratch::{self, SCRATCH};
use super::{Kind, failed};
use crate::wants::files::{FilesWant, FolderWant};

/// How much may be written.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The largest file, in bytes.
    pub(crate) file: u64,
    /// All that is in a plugin's own folder, in bytes.
    pub(crate) scratch: u64,
    /// As much is left free on every disk, in bytes.
    pub(crate) reserve: u64,
}

/// A folder that a plugin may use.
pub(crate) struct Root {
    /// What the plugin calls it.
    pub(super) name: String,
    pub(super) dir: Dir,
    /// Why nothing in it may be changed, where that is so.
    shut: Option<String>,
    /// It is the plugin's own.
    pub(super) own: bool,
    forbidden: Forbidden,
}

impl Root {
    /// Opens a folder of the owner's.
    pub(crate) fn granted(home: &Path, name: &str, want: &FolderWant) -> Result<Self, CallError> {
        let forbidden = Forbidden::new(home)?;
        let path = expanded(&want.path)?;
        let place = format!("folder {} ({name})", path.display());
        // Whatever links the owner has on the way to it are the owner's.
        let path = std::fs::canonicalize(&path).map_err(|error| failed(&place, &error))?;
        let mut dir = Dir::open_ambient_dir("/", ambient_authority()).map_err(|error| failed("folder /", &error))?;
        for part in path.components() {
            if let Component::Normal(part) = part {
                let part = part.to_str().ok_or_else(|| CallError::Other(format!("{place} is not UTF-8")))?;
                dir = step(&dir, part, &place, &forbidden)?;
            }
        }
        let about = dir.dir_metadata().map_err(|error| failed(&place, &error))?;
        let shut = if forbidden.is_above_home(&about) {
            Some(format!("the daemon's own folder lies in {name}, so nothing in it may be changed"))
        } else if !want.write {
            Some(format!("{name} was granted for reading alone; plugin.toml asks for more with write = true"))
        } else {
            None
        };
        Ok(Self { name: name.to_owned(), dir, shut, own: false, forbidden })
    }

    /// Opens the plugin's own folder, and makes it where it is not there yet.
    pub(crate) fn own(home: &Path, plugin: &str) -> Result<Self, CallError> {
        let forbidden = Forbidden::new(home)?;
        let dir = scratch::open(home, plugin)?;
        Ok(Self { name: SCRATCH.to_owned(), dir, shut: None, own: true, forbidden })
    }

    /// The open folder itself.
    pub(crate) fn into_dir(self) -> Dir {
        self.dir
    }

    /// Fails where nothing may be changed.
    pub(crate) fn check_writable(&self) -> Result<(), CallError> {
        match &self.shut {
            Some(reason) => Err(CallError::Conflict(reason.clone())),
            None => Ok(()),
        }
    }

    /// The folder at the end of these names.
    pub(super) fn walk(&self, names: &[String]) -> Result<Dir, CallError> {
        let mut dir = self.dir.try_clone().map_err(|error| failed(&self.name, &error))?;
        for (depth, name) in names.iter().enumerate() {
            let place = self.place(&names[..=depth]);
            dir = step(&dir, name, &place, &self.forbidden)?;
        }
        Ok(dir)
    }

    /// The folder that the last name of a path lies in, that name, and what to call it.
    pub(super) fn parent<'a>(&self, path: &'a GuestPath) -> Result<(Dir, &'a str, String), CallError> {
        let (before, last) = path.split()?;
        Ok((self.walk(before)?, last, self.place(path.names())))
    }

    /// What these names are called in sentences.
    pub(super) fn place(&self, names: &[String]) -> String {
        let names: Vec<String> = names.iter().map(|name| name.escape_debug().to_string()).collect();
        if names.is_empty() { self.name.clone() } else { format!("{}/{}", self.name, names.join("/")) }
    }

    /// Fails for a folder in which no plugin has business, whatever leads there.
    pub(super) fn check_entry(&self, about: &cap_std::fs::Metadata) -> Result<(), CallError> {
        if about.is_dir() { self.forbidden.check(about) } else { Ok(()) }
    }
}

/// From an open folder into one in it.
fn step(dir: &Dir, name: &str, place: &str, forbidden: &Forbidden) -> Result<Dir, CallError> {
    let next = dir.open_dir_nofollow(name).map_err(|error| match dir.symlink_metadata(name) {
        Ok(about) if !about.is_dir() => {
            CallError::Conflict(format!("{place} is {}", Kind::of(&about.file_type()).words()))
        }
        _ => failed(place, &error),
    })?;
    forbidden.check(&next.dir_metadata().map_err(|error| failed(place, &error))?)?;
    Ok(next)
}

/// The folders of the owner's that a plugin may write to.
pub(crate) fn places_written_by(want: &FilesWant) -> Vec<PathBuf> {
    let written = want.folders.values().filter(|folder| folder.write);
    written.filter_map(|folder| expanded(&folder.path).ok()).collect()
}

/// A folder's path, with the user's own folder in the place of `~`.
fn expanded(path: &str) -> Result<PathBuf, CallError> {
    let Some(rest) = path.strip_prefix('~') else { return Ok(PathBuf::from(path)) };
    let user = std::env::home_dir()
        .filter(|home| home.is_absolute())
        .ok_or_else(|| CallError::Other(format!("{path} can't be found: the user has no home folder")))?;
    Ok(user.join(rest.trim_start_matches('/')))
}
