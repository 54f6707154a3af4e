//! A plugin's own folder, below the daemon's.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use homeagent_types::CallError;

use super::failed;

/// What plugins call it.
pub(crate) const SCRATCH: &str = "data";
/// The folder of all of them.
const FOLDER: &str = "plugins-data";
/// The most files and folders in one.
const MOST_ENTRIES: u64 = 10_000;
/// Folders in folders are not counted deeper than guests' paths go.
const DEEPEST: usize = 65;

/// The folders of a plugin of this name, of whichever author.
pub(crate) fn scratch_folders(home: &Path, plugin: &str) -> std::io::Result<Vec<PathBuf>> {
    let of_authors = format!("{plugin}@");
    let own = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == plugin || name.starts_with(&of_authors)
    };
    match std::fs::read_dir(home.join(FOLDER)) {
        Ok(entries) => Ok(entries.filter_map(Result::ok).map(|entry| entry.path()).filter(own).collect()),
        // It is made with the first of them.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

pub(super) fn open(home: &Path, plugin: &str) -> Result<Dir, CallError> {
    let path = home.join(FOLDER).join(plugin);
    let lost = |error: std::io::Error| failed("data", &error);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(lost)?;
    let home = Dir::open_ambient_dir(home, ambient_authority()).map_err(lost)?;
    home.open_dir_nofollow(FOLDER).and_then(|all| all.open_dir_nofollow(plugin)).map_err(lost)
}

/// What is in a plugin's own folder.
#[derive(Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) bytes: u64,
    entries: u64,
}

impl Usage {
    /// Counts it; no further than it may go.
    pub(super) fn of(dir: &Dir) -> Result<Self, CallError> {
        let mut usage = Self::default();
        usage.add(dir, 0).map_err(|error| failed("data", &error))?;
        Ok(usage)
    }

    fn add(&mut self, dir: &Dir, depth: usize) -> std::io::Result<()> {
        for entry in dir.entries()? {
            let entry = entry?;
            self.entries += 1;
            if self.entries > MOST_ENTRIES || depth > DEEPEST {
                self.entries = self.entries.max(MOST_ENTRIES + 1);
                return Ok(());
            }
            // A program that still runs may take things away meanwhile.
            let Ok(about) = entry.metadata() else { continue };
            self.bytes = self.bytes.saturating_add(about.len());
            if about.is_dir()
                && let Ok(inner) = dir.open_dir_nofollow(entry.file_name())
            {
                self.add(&inner, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Fails where so many bytes more, and perhaps an entry, would be too much.
    pub(super) fn check(self, more: u64, most: u64, is_entry: bool) -> Result<(), CallError> {
        if is_entry && self.entries >= MOST_ENTRIES {
            return Err(CallError::Conflict(format!(
                "data holds {MOST_ENTRIES} files and folders and may hold no more"
            )));
        }
        let bytes = self.bytes.saturating_add(more);
        if more > 0 && bytes > most {
            return Err(CallError::Conflict(format!(
                "data would hold {bytes} bytes and may hold {most}; remove some, or have the owner allow more: waiter \
                 settings set core.plugin.data_mib"
            )));
        }
        Ok(())
    }
}
