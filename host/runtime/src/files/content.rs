//! What can be done with what is in a folder.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::time::UNIX_EPOCH;

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, File, Metadata, MetadataExt as _, OpenOptions};
use homeagent_types::{CallError, Timestamp};

use super::path::GuestPath;
use super::root::{Limits, Root};
use super::scratch::Usage;
use super::{Kind, failed};

/// The most bytes that one call reads or writes.
const LARGEST_PIECE: usize = 4 << 20;
/// The most entries that one answer lists.
const MOST_LISTED: usize = 1_000;
/// A folder with more entries is not listed.
const MOST_ENTRIES: usize = 100_000;

/// What is known of a file or folder.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) kind: Kind,
    /// In bytes.
    pub(crate) size: u64,
    pub(crate) modified: Option<Timestamp>,
}

impl Root {
    /// At most `length` bytes from `offset` on.
    pub(crate) fn read(&self, path: &GuestPath, offset: u64, length: u64) -> Result<Vec<u8>, CallError> {
        let (dir, name, place) = self.parent(path)?;
        let mut file = open(&dir, name, &place, OpenOptions::new().read(true))?;
        let length = length.min(LARGEST_PIECE as u64);
        file.seek(SeekFrom::Start(offset)).map_err(|error| failed(&place, &error))?;
        let mut content = Vec::new();
        file.take(length).read_to_end(&mut content).map_err(|error| failed(&place, &error))?;
        Ok(content)
    }

    /// Puts a file there, in the place of one that is there.
    pub(crate) fn write(&self, path: &GuestPath, content: &[u8], limits: Limits) -> Result<(), CallError> {
        self.check_writable()?;
        check_piece(content)?;
        let (dir, name, place) = self.parent(path)?;
        let before = existing(&dir, name, &place)?;
        self.check_room(&dir, content, before.as_ref().map(Metadata::len), limits)?;
        let beside = format!(".{:016x}.part", random()?);
        let outcome = put(&dir, &beside, name, content, before.as_ref());
        if outcome.is_err() {
            // It may not even have been made.
            drop(dir.remove_file(&beside));
        }
        outcome.map_err(|error| failed(&place, &error))
    }

    /// Adds to the end of a file, which is made where there is none.
    pub(crate) fn append(&self, path: &GuestPath, content: &[u8], limits: Limits) -> Result<(), CallError> {
        self.check_writable()?;
        check_piece(content)?;
        let (dir, name, place) = self.parent(path)?;
        let before = existing(&dir, name, &place)?.map(|about| about.len());
        let size = before.unwrap_or(0).saturating_add(content.len() as u64);
        if size > limits.file {
            let most = limits.file;
            return Err(CallError::Conflict(format!("{place} would have {size} bytes and may have {most}")));
        }
        self.check_room(&dir, content, before.map(|_| 0), limits)?;
        let mut options = OpenOptions::new();
        options.append(true).create_new(before.is_none());
        let mut file = open(&dir, name, &place, &mut options)?;
        file.write_all(content).and_then(|()| file.sync_all()).map_err(|error| failed(&place, &error))?;
        if before.is_none() { sync(&dir).map_err(|error| failed(&place, &error)) } else { Ok(()) }
    }

    /// What is in a folder, by name; at most [`MOST_LISTED`] entries, those behind `after`, where that is given.
    pub(crate) fn list(&self, path: &GuestPath, after: Option<&str>) -> Result<Vec<(String, Kind)>, CallError> {
        let place = self.place(path.names());
        let dir = self.walk(path.names())?;
        // The first ones alone are kept: the system lists in no order.
        let mut first = BTreeMap::new();
        for (count, entry) in dir.entries().map_err(|error| failed(&place, &error))?.enumerate() {
            if count >= MOST_ENTRIES {
                return Err(CallError::Conflict(format!("{place} has more than {MOST_ENTRIES} entries")));
            }
            let entry = entry.map_err(|error| failed(&place, &error))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if after.is_some_and(|after| name.as_str() <= after) {
                continue;
            }
            // One that is gone again was never there.
            let Ok(kind) = entry.file_type().map(|kind| Kind::of(&kind)) else { continue };
            first.insert(name, kind);
            if first.len() > MOST_LISTED {
                first.pop_last();
            }
        }
        Ok(first.into_iter().collect())
    }

    pub(crate) fn stat(&self, path: &GuestPath) -> Result<About, CallError> {
        let about = if path.names().is_empty() {
            self.dir.dir_metadata().map_err(|error| failed(&self.name, &error))?
        } else {
            let (dir, name, place) = self.parent(path)?;
            dir.symlink_metadata(name).map_err(|error| failed(&place, &error))?
        };
        self.check_entry(&about)?;
        let modified = about.modified().ok().and_then(|at| at.into_std().duration_since(UNIX_EPOCH).ok());
        Ok(About {
            kind: Kind::of(&about.file_type()),
            size: if about.is_file() { about.len() } else { 0 },
            modified: modified.and_then(|since| Timestamp::try_from(since.as_millis()).ok()),
        })
    }

    /// Makes a folder; one that is there already is no error.
    pub(crate) fn make_folder(&self, path: &GuestPath, limits: Limits) -> Result<(), CallError> {
        self.check_writable()?;
        let (dir, name, place) = self.parent(path)?;
        match dir.symlink_metadata(name) {
            Ok(about) if about.is_dir() => return self.check_entry(&about),
            Ok(about) => {
                return Err(CallError::Conflict(format!("{place} is {}", Kind::of(&about.file_type()).words())));
            }
            Err(_) => self.check_room(&dir, &[], None, limits)?,
        }
        dir.create_dir(name).and_then(|()| sync(&dir)).map_err(|error| failed(&place, &error))
    }

    /// Removes a file, a link, or an empty folder.
    pub(crate) fn remove(&self, path: &GuestPath) -> Result<(), CallError> {
        self.check_writable()?;
        let (dir, name, place) = self.parent(path)?;
        let about = dir.symlink_metadata(name).map_err(|error| failed(&place, &error))?;
        self.check_entry(&about)?;
        let removed = if about.is_dir() { dir.remove_dir(name) } else { dir.remove_file_or_symlink(name) };
        removed.and_then(|()| sync(&dir)).map_err(|error| failed(&place, &error))
    }

    /// Moves something to another place in this folder; a file that is there is replaced.
    pub(crate) fn rename(&self, from: &GuestPath, to: &GuestPath) -> Result<(), CallError> {
        self.check_writable()?;
        let (source, name, place) = self.parent(from)?;
        let (target, new_name, new_place) = self.parent(to)?;
        let about = source.symlink_metadata(name).map_err(|error| failed(&place, &error))?;
        self.check_entry(&about)?;
        existing(&target, new_name, &new_place)?;
        let renamed = source.rename(name, &target, new_name);
        renamed.and_then(|()| sync(&target)).and_then(|()| sync(&source)).map_err(|error| failed(&place, &error))
    }

    /// Fails where the disk, or the plugin's own folder, would be too full with this content in the place of a file of
    /// `before` bytes, where there is one.
    fn check_room(&self, dir: &Dir, content: &[u8], before: Option<u64>, limits: Limits) -> Result<(), CallError> {
        let more = (content.len() as u64).saturating_sub(before.unwrap_or(0));
        let disk = rustix::fs::fstatvfs(dir).map_err(|error| failed(&self.name, &error.into()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free.saturating_sub(content.len() as u64) < limits.reserve {
            return Err(CallError::NotStored(format!(
                "the disk that holds {} has {} MiB left, of which plugins leave {} MiB alone \
                 (core.plugin.disk_reserve_mib); free some space",
                self.name,
                free >> 20,
                limits.reserve >> 20
            )));
        }
        if self.own { Usage::of(&self.dir)?.check(more, limits.scratch, before.is_none()) } else { Ok(()) }
    }
}

/// Opens a file, and nothing else: without following a link, and without waiting for whoever has the other end of a pipe.
fn open(dir: &Dir, name: &str, place: &str, options: &mut OpenOptions) -> Result<File, CallError> {
    // Looked at first, because some devices do things when they are opened.
    existing(dir, name, place)?;
    let file = dir.open_with(name, options.follow(FollowSymlinks::No).nonblock(true));
    let file = file.map_err(|error| failed(place, &error))?;
    let about = file.metadata().map_err(|error| failed(place, &error))?;
    if !about.is_file() {
        return Err(CallError::Conflict(format!("{place} is {}", Kind::of(&about.file_type()).words())));
    }
    if about.nlink() > 1 {
        let reason = "has several names (hard links), of which others may lie elsewhere; copy it";
        return Err(CallError::Conflict(format!("{place} {reason}")));
    }
    Ok(file)
}

/// The file of that name, where there is one; fails where there is something else.
fn existing(dir: &Dir, name: &str, place: &str) -> Result<Option<Metadata>, CallError> {
    match dir.symlink_metadata(name) {
        Ok(about) if about.is_file() => Ok(Some(about)),
        Ok(about) => Err(CallError::Conflict(format!("{place} is {}", Kind::of(&about.file_type()).words()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(place, &error)),
    }
}

fn put(dir: &Dir, beside: &str, name: &str, content: &[u8], before: Option<&Metadata>) -> std::io::Result<()> {
    let mut file = dir.open_with(beside, OpenOptions::new().write(true).create_new(true).follow(FollowSymlinks::No))?;
    if let Some(before) = before {
        file.set_permissions(before.permissions())?;
    }
    file.write_all(content)?;
    file.sync_all()?;
    dir.rename(beside, dir, name)?;
    sync(dir)
}

/// Has the names in a folder on the disk.
fn sync(dir: &Dir) -> std::io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    let folder = rustix::fs::openat(dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(rustix::fs::fsync(folder)?)
}

fn check_piece(content: &[u8]) -> Result<(), CallError> {
    if content.len() <= LARGEST_PIECE {
        return Ok(());
    }
    let length = content.len();
    Err(CallError::Invalid(format!("one call writes at most {LARGEST_PIECE} bytes; this one has {length}")))
}

fn random() -> Result<u64, CallError> {
    getrandom::u64().map_err(|error| CallError::Other(format!("the system has no random numbers: {error}")))
}
