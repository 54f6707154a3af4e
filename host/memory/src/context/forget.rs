//! Forgetting in the contexts: those that are saved, and those that are on their way to the disk.

use std::io;
use std::{fs, path::PathBuf};

use homeagent_types::lenient;

use super::entry::Entry;
use super::file::{Files, Saved};
use super::service::RelevanceContext;
use crate::durable;

/// Changes a message; false: it stays as it is.
pub(crate) type Change<'a> = &'a dyn Fn(&mut Entry) -> bool;

impl Files {
    /// Has messages changed in all files. Files that can't be read go where `is_to_go` says so of their bytes. Returns how
    /// many files are others now, or gone.
    pub(super) fn change(
        &self,
        change: Change<'_>,
        is_to_go: &dyn Fn(&str) -> bool,
        dry_run: bool,
    ) -> io::Result<usize> {
        let files = match fs::read_dir(self.folder()) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        let paths: Vec<PathBuf> = files.map(|file| file.map(|file| file.path())).collect::<io::Result<_>>()?;
        let mut changed = 0;
        for path in paths {
            let _one_at_a_time = self.writing();
            let bytes = match fs::read(&path) {
                // It was being written when the folder was listed, and has its place by now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                read => read?,
            };
            match lenient::from_slice::<Saved>(&bytes) {
                Ok(mut saved) if path.extension().is_some_and(|ending| ending == "json") => {
                    let is_other = saved.entries.iter_mut().fold(false, |any, entry| change(entry) | any);
                    if is_other && !dry_run {
                        durable::replace(&path, &serde_json::to_vec(&saved)?)?;
                    }
                    changed += usize::from(is_other);
                }
                _ if is_to_go(&String::from_utf8_lossy(&bytes)) => {
                    if !dry_run {
                        durable::remove(&path)?;
                    }
                    changed += 1;
                }
                _ => {}
            }
        }
        Ok(changed)
    }
}

impl Files {
    /// Removes the files of conversations.
    fn remove(&self, is_to_go: &dyn Fn(&str) -> bool) -> io::Result<()> {
        let files = match fs::read_dir(self.folder()) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for file in files {
            let path = file?.path();
            let saved = lenient::from_slice::<Saved>(&fs::read(&path)?);
            if saved.is_ok_and(|saved| is_to_go(&saved.conversation)) {
                durable::remove(&path)?;
            }
        }
        Ok(())
    }
}

impl RelevanceContext {
    /// Removes the contexts of conversations, and which choices were made in them. Blocks; what waits to be saved should
    /// have been.
    pub(crate) fn forget_conversations(&self, is_to_go: &dyn Fn(&str) -> bool) -> io::Result<()> {
        self.forget_computed();
        self.saver().drop_conversations(is_to_go);
        self.choices().forget(is_to_go).map_err(io::Error::other)?;
        self.files().remove(is_to_go)
    }

    /// Has messages changed in all contexts, and forgets what was computed on their texts. Blocks; what waits to be saved
    /// should have been, by [`RelevanceContext::flush`].
    pub(crate) fn change(
        &self,
        change: Change<'_>,
        is_to_go: &dyn Fn(&str) -> bool,
        dry_run: bool,
    ) -> io::Result<usize> {
        if !dry_run {
            self.saver().change(change);
            self.forget_computed();
        }
        self.files().change(change, is_to_go, dry_run)
    }
}
