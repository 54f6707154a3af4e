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
    /// Has messages changed in all files, and removes those of conversations that are gone. Files that can't be read go where
    /// `is_to_go` says so of their bytes. Returns how many files are others now, or gone.
    fn change(
        &self,
        is_gone: &dyn Fn(&str) -> bool,
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
                Ok(saved) if is_gone(&saved.conversation) => {
                    if !dry_run {
                        durable::remove(&path)?;
                    }
                    changed += 1;
                }
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

impl RelevanceContext {
    /// Takes words out of what is on its way to the disk, and takes no more from windows that are loaded already. To be
    /// followed by [`RelevanceContext::flush`] and [`RelevanceContext::change`].
    pub(crate) fn strike(&self, is_gone: &dyn Fn(&str) -> bool, change: Change<'_>) {
        self.saver().strike(is_gone, change);
        self.forget_computed();
    }

    /// Has messages changed in all saved contexts, but removes those of conversations that are gone, with which choices were
    /// made in them. Returns how many files are others now, or would be. Blocks.
    pub(crate) fn change(
        &self,
        is_gone: &dyn Fn(&str) -> bool,
        change: Change<'_>,
        is_to_go: &dyn Fn(&str) -> bool,
        dry_run: bool,
    ) -> io::Result<usize> {
        if !dry_run {
            self.choices().forget(is_gone).map_err(io::Error::other)?;
        }
        self.files().change(is_gone, change, is_to_go, dry_run)
    }
}
