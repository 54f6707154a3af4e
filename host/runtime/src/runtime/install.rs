//! Installing packages into the data folder, and removing them, while everything runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use homeagent_package::File;
use homeagent_types::CallError;
use homeagent_types::ports::{Haste, PluginStatus, Removed};

use super::{Inner, refused};
use crate::PackageError;
use crate::files::scratch_folders;
use crate::package::files::{self, PackageFiles};
use crate::package::{self, Origin};

/// From where a package is installed.
#[derive(Clone)]
enum Source {
    Folder(PathBuf),
    /// An archive, which was read.
    Archive(PathBuf, Arc<Vec<File>>),
}

impl Source {
    /// Looks at what lies there; the name of the package.
    fn open(from: PathBuf) -> Result<(String, Self), PackageError> {
        if from.is_file() {
            let (manifest, files) = files::unpack(&from)?;
            return Ok((manifest.name, Self::Archive(from, Arc::new(files))));
        }
        let manifest = Origin::Installed(from.clone()).manifest()?;
        Ok((manifest.name, Self::Folder(from)))
    }

    fn path(&self) -> &Path {
        match self {
            Source::Folder(path) | Source::Archive(path, _) => path,
        }
    }

    /// Puts a copy of the package, and nothing else, into a new folder.
    fn copy(&self, to: &Path) -> Result<(), PackageError> {
        match self {
            Source::Folder(from) => PackageFiles::read(from)?.write(to),
            Source::Archive(from, files) => {
                files::write(files, to)?;
                match PackageFiles::read(to)?.beside(to) {
                    None => Ok(()),
                    Some(extra) => {
                        let reason = format!("{extra} is in it, which is no part of a package");
                        Err(PackageError::Archive { path: from.clone(), reason })
                    }
                }
            }
        }
    }
}

/// Folders that an installation makes beside the packages. They begin with a dot, so that nobody takes them for packages.
enum Beside {
    /// The package that is to be put in its place.
    Staged,
    /// The package that was in that place.
    Before,
    /// A package that is being deleted.
    Removed,
}

impl Beside {
    const ALL: [Self; 3] = [Self::Staged, Self::Before, Self::Removed];

    fn ending(&self) -> &'static str {
        match self {
            Beside::Staged => ".staged",
            Beside::Before => ".before",
            Beside::Removed => ".removed",
        }
    }

    fn of(&self, place: &Path) -> PathBuf {
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        place.with_file_name(format!(".{name}{}", self.ending()))
    }
}

impl Inner {
    /// Copies a package, a folder or an archive, into the data folder and loads it.
    pub(super) async fn install(&self, from: &Path) -> Result<PluginStatus, CallError> {
        if !from.is_absolute() {
            let from = from.display();
            return Err(CallError::Invalid(format!("{from} is no absolute path; the daemon has a folder of its own")));
        }
        let path = from.to_owned();
        let opened = tokio::task::spawn_blocking(move || Source::open(path)).await;
        let opened = opened.map_err(|lost| CallError::Other(lost.to_string()))?;
        let (name, source) = opened.map_err(|error| refused(&error))?;
        let _turn = self.turn(&name).await;
        let place = match self.packages().remove(&name) {
            // One that is broken is to be replaced, but a folder without a manifest never was a package.
            Some(Origin::Installed(folder)) if folder.join("plugin.toml").exists() => only_a_package(folder, &name)?,
            _ => self.free_place(&name)?,
        };
        if fs::canonicalize(from).is_ok_and(|from| fs::canonicalize(&place).is_ok_and(|place| place == from)) {
            return Err(CallError::Invalid(format!("{name} is installed there; waiter plugin reload {name} loads it")));
        }
        let before = self.status(&name).ok().and_then(|status| status.publisher);
        self.put(source, &place, &name).await?;
        let status = self.status(&name)?;
        let publisher = status.publisher.as_deref().unwrap_or("nobody");
        tracing::info!(plugin = %name, from = %from.display(), publisher, "installed");
        if let Some(before) = before.filter(|before| status.publisher.as_ref() != Some(before)) {
            tracing::warn!(plugin = %name, before, publisher, "the package is by somebody else than the one before");
        }
        Ok(status)
    }

    /// Where a package goes that is not there yet. What lies there already is somebody else's.
    fn free_place(&self, name: &str) -> Result<PathBuf, CallError> {
        let place = self.plugins.join(name);
        if fs::symlink_metadata(&place).is_err() {
            return Ok(place);
        }
        let what = match Origin::Installed(place.clone()).manifest() {
            Ok(manifest) => format!("the plugin {}", manifest.name),
            Err(_) => "something that is no package".to_owned(),
        };
        let place = place.display();
        Err(CallError::Conflict(format!("{place} holds {what}; move it out of the way, then install {name} again")))
    }

    /// The plugin that runs from a folder.
    fn runs_from(&self, folder: &Path) -> Option<String> {
        let folder = folder.display().to_string();
        let running = self.slots.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        running
            .values()
            .map(|slot| slot.status())
            .find(|status| status.folder.as_ref() == Some(&folder))
            .map(|it| it.name)
    }

    /// The folder of an installed plugin; nothing where it is gone, or holds another one by now, and the plugin is still
    /// known.
    fn folder_of(&self, name: &str) -> Result<Option<PathBuf>, CallError> {
        let holds = |folder: &Path| match Origin::Installed(folder.to_owned()).manifest() {
            Ok(manifest) => manifest.name == name,
            Err(_) => folder.exists(),
        };
        let known = self.list().into_iter().find(|status| status.name == name);
        if let Some(folder) = known.and_then(|status| status.folder).map(PathBuf::from) {
            return Ok(Some(folder).filter(|folder| holds(folder)));
        }
        match self.find(name)? {
            Origin::Installed(folder) => Ok(Some(folder)),
            Origin::Bundled(_) => Err(CallError::Invalid(format!(
                "{name} came with homed and can't be removed; waiter plugin unload {name} stops it"
            ))),
        }
    }

    /// Puts a copy of a package into its place and loads it; on failure the place is as it was.
    async fn put(&self, from: Source, place: &Path, name: &str) -> Result<(), CallError> {
        let (staged, before) = (Beside::Staged.of(place), Beside::Before.of(place));
        let (source, target) = (from.clone(), staged.clone());
        // What is checked is the copy: what it was made of may change meanwhile.
        let copied = tokio::task::spawn_blocking(move || {
            delete(&target).map_err(|source| PackageError::Unwritable { path: target.clone(), source })?;
            source.copy(&target)?;
            Origin::Installed(target).read()
        });
        let checked = copied.await.map_err(|lost| CallError::Other(lost.to_string()))?;
        let fits = match &checked {
            Ok(package) if package.manifest.name == name => Ok(()),
            Ok(_) => {
                Err(CallError::Conflict(format!("{} changed while it was read; try again", from.path().display())))
            }
            Err(error) => Err(refused(error)),
        };
        let moved = fits.and_then(|()| exchange(&staged, place, &before).map_err(|error| not_written(place, &error)));
        if let Err(error) = moved {
            tidy(&staged);
            return Err(error);
        }
        let origin = Origin::Installed(place.to_owned());
        if let Err(error) = self.counted(name, self.load(&origin, Haste::default())).await {
            let back = delete(place).and_then(|()| if before.exists() { fs::rename(&before, place) } else { Ok(()) });
            if let Err(error) = back {
                tracing::error!(plugin = %name, %error, before = %before.display(), "the package before can't be put back");
            }
            return Err(refused(&error));
        }
        tidy(&before);
        Ok(())
    }

    /// Ends an installed plugin and deletes its package, its grants, and what it kept.
    pub(super) async fn remove(&self, name: &str) -> Result<Removed, CallError> {
        self.folder_of(name)?;
        let _turn = self.interrupt(name).await;
        // Again, for it may have been removed before it was this one's turn.
        let folder = self.folder_of(name)?;
        if let Some(folder) = &folder
            && let Some(other) = self.runs_from(folder).filter(|other| other != name)
        {
            let folder = folder.display();
            return Err(CallError::Conflict(format!(
                "{other} runs from {folder}; waiter plugin remove {other} ends it"
            )));
        }
        self.end(name).await;
        self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(name);
        // A later plugin of this name is another one, and nobody allowed it anything: before all else, so that no crash
        // leaves grants without their plugin.
        let (grants, plugin) = (self.services.grants.clone(), name.to_owned());
        let forgotten = tokio::task::spawn_blocking(move || grants.forget(&plugin)).await;
        let forgotten = forgotten.map_err(|lost| CallError::Other(lost.to_string()))?;
        forgotten.map_err(|error| CallError::NotStored(error.to_string()))?;
        self.forget_kept(name).await?;
        if let Some(folder) = &folder {
            // First out of its place, at once, so that half of it is never found there.
            let removed = Beside::Removed.of(folder);
            delete(&removed)
                .and_then(|()| fs::rename(folder, &removed))
                .map_err(|error| not_written(folder, &error))?;
            tidy(&removed);
        }
        tracing::info!(plugin = %name, folder = ?folder, "removed");
        let bundled = match self.packages().remove(name) {
            Some(origin) => {
                self.load(&origin, Haste::default()).await.map_err(|error| refused(&error))?;
                Some(self.status(name)?)
            }
            None => None,
        };
        self.services.changed(name);
        Ok(Removed { removed: name.to_owned(), bundled })
    }
}

impl Inner {
    /// Deletes what a plugin kept.
    pub(super) async fn forget_kept(&self, name: &str) -> Result<(), CallError> {
        let local = &self.services.local;
        // First: whoever sets one now has the board's turn before, and is forgotten on the disk as well.
        local.timers.forget(name).await?;
        let (data, home, plugin) = (local.data.clone(), local.home.clone(), name.to_owned());
        let forgotten = tokio::task::spawn_blocking(move || {
            data.forget(&plugin).map_err(|error| CallError::NotStored(error.to_string()))?;
            let folders = scratch_folders(&home, &plugin).map_err(|error| not_written(&home, &error))?;
            folders.iter().try_for_each(|folder| delete(folder).map_err(|error| not_written(folder, &error)))
        });
        forgotten.await.map_err(|lost| CallError::Other(lost.to_string()))?
    }
}

/// The folder again, if all that is in it is a package: the rest would be lost with it.
fn only_a_package(folder: PathBuf, name: &str) -> Result<PathBuf, CallError> {
    match package::not_installed(&folder) {
        None => Ok(folder),
        Some(other) => Err(CallError::Conflict(format!(
            "{} would be deleted with the package that is in that folder; move it away, then install {name} again",
            other.display()
        ))),
    }
}

/// Puts what was staged in the place of what is there, which is kept beside it.
fn exchange(staged: &Path, place: &Path, before: &Path) -> io::Result<()> {
    delete(before)?;
    if fs::symlink_metadata(place).is_ok() {
        fs::rename(place, before)?;
    }
    fs::rename(staged, place).inspect_err(|_| {
        // Nothing else can be done; the next start puts it back, too.
        drop(fs::rename(before, place));
    })
}

/// Puts back or deletes what an installation left that a crash ended.
pub(super) fn recover(plugins: &Path) {
    let Ok(entries) = fs::read_dir(plugins) else { return };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for kind in Beside::ALL {
            let Some(place) = name.strip_prefix('.').and_then(|name| name.strip_suffix(kind.ending())) else {
                continue;
            };
            let place = plugins.join(place);
            if matches!(kind, Beside::Before) && !place.exists() {
                tracing::warn!(folder = %place.display(), "an installation was cut off; the package before is put back");
                drop(fs::rename(&path, &place));
            }
            tidy(&path);
        }
    }
}

/// Deletes a folder, or the link that stands for one; nothing where there is none.
fn delete(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The same for what is in nobody's way: what can't be deleted now is at the next start.
fn tidy(path: &Path) {
    if let Err(error) = delete(path) {
        tracing::warn!(path = %path.display(), %error, "a folder is left over");
    }
}

fn not_written(place: &Path, error: &io::Error) -> CallError {
    CallError::NotStored(format!(
        "{} can't be written: {error}; check its owner and that the disk has room",
        place.display()
    ))
}
