//! Loads packages whose files change.
//!
//! Editors and compilers write in place, truncate first, or rename over; so a folder counts as changed only when nothing
//! in it has happened for a while, and what was read counts only when the files did not change under the reader.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use homeagent_package::PublicKey;
use homeagent_types::ports::Haste;
use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::{Inner, read};
use crate::PackageError;
use crate::package::{Origin, Package};

/// How long nothing may happen in a folder before it is read.
const QUIET: Duration = Duration::from_millis(200);
/// When a plugin that was busy is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// Looks until it is dropped.
pub(super) struct Watch {
    _task: AbortOnDropHandle<()>,
    _watcher: RecommendedWatcher,
}

/// Folders in which something happened.
#[derive(Default)]
struct Changed {
    folders: Mutex<BTreeSet<PathBuf>>,
    arrived: Notify,
}

impl Changed {
    fn add(&self, folder: PathBuf) {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner).insert(folder);
        self.arrived.notify_one();
    }

    fn take(&self) -> BTreeSet<PathBuf> {
        std::mem::take(&mut *self.folders.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Watch {
    /// Begins to look at the folder of installed packages, which is made where there is none.
    pub(super) fn start(inner: &Arc<Inner>) -> notify::Result<Self> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&inner.plugins);
        made.map_err(notify::Error::io)?;
        let plugins = fs::canonicalize(&inner.plugins).map_err(notify::Error::io)?;
        let changed = Arc::new(Changed::default());
        let (told, root, named) = (Arc::clone(&changed), plugins.clone(), inner.plugins.clone());
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| match event {
            Ok(event) if writes(event.kind) => {
                for path in &event.paths {
                    if let Some(folder) = package_of(&root, path) {
                        told.add(named.join(folder));
                    }
                }
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "a change of a package may have been missed"),
        })?;
        watcher.watch(&plugins, RecursiveMode::Recursive)?;
        let task = tokio::spawn(run(Arc::downgrade(inner), changed));
        Ok(Self { _task: AbortOnDropHandle::new(task), _watcher: watcher })
    }
}

/// Whether such an event can mean other bytes. Reading is none: else reading a package would seem a change of it.
fn writes(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

/// The name of the package's folder that a path below the root lies in.
fn package_of(root: &Path, path: &Path) -> Option<PathBuf> {
    let first = path.strip_prefix(root).ok()?.components().next()?;
    let name = first.as_os_str();
    (!name.to_string_lossy().starts_with('.')).then(|| PathBuf::from(name))
}

/// What a folder held when it was last looked at, whether it could be loaded or not.
type Tried = Arc<Mutex<BTreeMap<PathBuf, Seen>>>;

#[derive(PartialEq)]
struct Seen {
    digest: String,
    publisher: Option<PublicKey>,
    manifest: crate::Manifest,
}

async fn run(inner: Weak<Inner>, changed: Arc<Changed>) {
    let mut due: BTreeMap<PathBuf, Instant> = BTreeMap::new();
    let tried = Tried::default();
    loop {
        let next = due.values().min().copied();
        tokio::select! {
            () = changed.arrived.notified() => {
                let at = Instant::now() + QUIET;
                due.extend(changed.take().into_iter().map(|folder| (folder, at)));
            }
            () = async { tokio::time::sleep_until(next.unwrap_or_else(Instant::now)).await }, if next.is_some() => {
                let now = Instant::now();
                let ready: Vec<PathBuf> = due.extract_if(.., |_, at| *at <= now).map(|(folder, _)| folder).collect();
                for folder in ready {
                    let (inner, changed, tried) = (Weak::clone(&inner), Arc::clone(&changed), Arc::clone(&tried));
                    // Beside this loop: a plugin that is slow to start holds up no other.
                    tokio::spawn(async move {
                        let Some(inner) = inner.upgrade() else { return };
                        if inner.notice(&folder, &tried).await == Noticed::Busy {
                            drop(inner);
                            tokio::time::sleep(AGAIN).await;
                            changed.add(folder);
                        }
                    });
                }
            }
        }
    }
}

/// What came of looking at a folder.
#[derive(PartialEq)]
enum Noticed {
    Done,
    /// What runs can't be replaced now.
    Busy,
}

impl Inner {
    /// Loads the package in a folder, where that makes a difference.
    async fn notice(&self, folder: &Path, tried: &Tried) -> Noticed {
        if !self.services.settings.boolean("core.plugin.watch").unwrap_or(true) {
            return Noticed::Done;
        }
        let Some((name, origin)) = self.package_in(folder) else { return Noticed::Done };
        let _turn = self.turn(&name).await;
        let before = written(folder);
        let package = read(&origin).await;
        if before != written(folder) {
            // It is being written; that is told, too, and it is looked at again then.
            return Noticed::Done;
        }
        let package = match package {
            Ok(package) => package,
            Err(_) if self.is_off(&name) => return Noticed::Done,
            Err(error) => {
                self.report(&name, &origin, &error);
                return Noticed::Done;
            }
        };
        if self.is_off(&name) {
            return Noticed::Done;
        }
        let (digest, publisher) = (package.digest.clone(), package.publisher);
        let seen = Seen { digest, publisher, manifest: package.manifest.clone() };
        let know = |seen| tried.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned(), seen);
        if self.runs(&package) {
            know(seen);
            return Noticed::Done;
        }
        // Code that was taken back, or never ran, fails again.
        if tried.lock().unwrap_or_else(PoisonError::into_inner).get(folder) == Some(&seen) {
            return Noticed::Done;
        }
        tracing::info!(plugin = %name, folder = %folder.display(), "the package has changed");
        let loaded = self.counted(&name, self.run(package, Haste::default())).await;
        if let Err(error) = &loaded {
            self.report(&name, &origin, error);
        }
        if matches!(loaded, Err(PackageError::Busy { .. })) {
            return Noticed::Busy;
        }
        know(seen);
        Noticed::Done
    }

    /// The package that counts and lies in this folder. A package that is half laid there is none.
    fn package_in(&self, folder: &Path) -> Option<(String, Origin)> {
        if !folder.join("plugin.toml").exists() {
            return None;
        }
        let (name, origin) = self.packages().into_iter().find(|(_, origin)| origin.folder() == Some(folder))?;
        // A manifest that can't be read says no name; the plugin that runs from the folder is the one.
        let place = folder.display().to_string();
        let running = self.list().into_iter().find(|plugin| plugin.folder.as_ref() == Some(&place));
        Some((running.map_or(name, |plugin| plugin.name), origin))
    }

    fn runs(&self, package: &Package) -> bool {
        let name = &package.manifest.name;
        match self.slot(name) {
            Some(slot) => slot.package().is_as(package),
            None => {
                let running = self.adapters.package(name).or_else(|| self.interpreters.package(name));
                running.is_some_and(|running| running.is_as(package))
            }
        }
    }

    /// Whether the owner has switched the plugin off.
    fn is_off(&self, name: &str) -> bool {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        self.slot(name).is_none() && idle.get(name).is_some_and(|status| status.state == "unloaded")
    }

    /// Says why a package was not loaded: of a plugin that runs as its last failure, of another as its state.
    fn report(&self, name: &str, origin: &Origin, error: &PackageError) {
        let running = self.slot(name).map(|slot| Arc::clone(&slot.core)).or_else(|| self.adapters.core(name));
        match running {
            Some(core) => {
                tracing::warn!(plugin = %name, %error, "the changed package was not loaded; what ran runs on");
                core.note_error(format!("the changed package was not loaded, what ran runs on: {error}"));
                self.services.changed(name);
            }
            None => self.refuse(name, origin, error),
        }
    }
}

/// The sizes and times of the files in a folder.
fn written(folder: &Path) -> BTreeMap<PathBuf, (u64, Option<SystemTime>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let about = entries.filter_map(|entry| {
        let about = entry.metadata().ok()?;
        Some((entry.path(), (about.len(), about.modified().ok())))
    });
    about.collect()
}
