//! Keeps the index as the files are: looks through them at the start and every minute, and at once at what the system says
//! has changed. One thread does it all, so that two changes of a file are never indexed out of order.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::oneshot;

use crate::store::Store;
use crate::{Error, Name};

/// How long nothing may happen to a file before it is read: editors write in several steps.
const QUIET: Duration = Duration::from_millis(300);
/// How long a file that changes all the time waits at most.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often all files are looked at, whatever was told of them.
const ROUND: Duration = Duration::from_secs(60);

/// Something for the thread to do.
pub(crate) enum Job {
    /// The file of this base may have changed.
    Changed(Name),
    /// Something changed, and it is not known what.
    Look,
    /// Index this base now.
    Index(Name, oneshot::Sender<Result<(), Error>>),
    /// Index this base, or all, from the beginning.
    Anew(Option<Name>, oneshot::Sender<Result<(), Error>>),
    /// End.
    Stop,
}

/// Says what changes in the folder, until it is dropped.
pub(crate) fn watch(root: &Path, jobs: Sender<Job>) -> notify::Result<RecommendedWatcher> {
    let root = std::fs::canonicalize(root).map_err(notify::Error::io)?;
    let below = root.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Where nobody takes a job any more, nothing has to be told.
        match event {
            Ok(event) if writes(event.kind) => {
                for path in &event.paths {
                    let _ = jobs.send(base_of(&below, path).map_or(Job::Look, Job::Changed));
                }
            }
            Ok(_) => {}
            Err(_) => drop(jobs.send(Job::Look)),
        }
    })?;
    watcher.watch(&root, RecursiveMode::Recursive)?;
    Ok(watcher)
}

/// Whether such an event can mean another text. Reading is none.
fn writes(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

fn base_of(root: &Path, path: &Path) -> Option<Name> {
    let first = path.strip_prefix(root).ok()?.components().next()?;
    Name::parse(first.as_os_str().to_str()?).ok()
}

/// A file that is to be read: since when, and when.
struct Due {
    since: Instant,
    at: Instant,
}

/// Works until it is told to stop, or nobody is left who could.
pub(crate) fn run(store: &Arc<Store>, jobs: &Receiver<Job>) {
    let mut due: BTreeMap<Name, Due> = BTreeMap::new();
    store.look_for_damage();
    look(store, &mut due);
    let mut next_round = Instant::now() + ROUND;
    loop {
        let next = due.values().map(|due| due.at).min().unwrap_or(next_round).min(next_round);
        match jobs.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(Job::Changed(name)) => expect(&mut due, name),
            Ok(Job::Look) => look(store, &mut due),
            Ok(Job::Index(name, reply)) => {
                due.remove(&name);
                let _ = reply.send(store.index(&name));
            }
            Ok(Job::Anew(name, reply)) => {
                let doubted = store.doubt(name.as_ref());
                look(store, &mut due);
                let done =
                    doubted.and_then(|()| std::mem::take(&mut due).into_keys().try_for_each(|name| store.index(&name)));
                let _ = reply.send(done);
            }
            Ok(Job::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = Instant::now();
        if now >= next_round {
            look(store, &mut due);
            next_round = now + ROUND;
        }
        let ready: Vec<Name> = due.extract_if(.., |_, due| due.at <= now).map(|(name, _)| name).collect();
        for name in ready {
            index(store, &name, &mut due);
        }
    }
}

fn expect(due: &mut BTreeMap<Name, Due>, name: Name) {
    let now = Instant::now();
    let since = due.get(&name).map_or(now, |due| due.since);
    due.insert(name, Due { since, at: (now + QUIET).min(since + PATIENCE) });
}

/// Finds out what has to be read: what is new, what looks other than before, and what is gone.
fn look(store: &Arc<Store>, due: &mut BTreeMap<Name, Due>) {
    let looked = store.folder.list().map_err(Error::disk("listing the folder of the knowledge base"));
    let compared = looked.and_then(|there| {
        let known = store.index.bases()?;
        let known: HashMap<_, _> = known.into_iter().map(|base| (base.name, base.stamp)).collect();
        let changed = there.iter().filter(|(name, stamp)| known.get(name) != Some(stamp)).map(|(name, _)| name.clone());
        let gone = known.keys().filter(|name| there.binary_search_by(|(there, _)| there.cmp(name)).is_err()).cloned();
        Ok(changed.chain(gone).collect::<Vec<_>>())
    });
    match compared {
        Ok(names) => {
            let now = Instant::now();
            due.extend(names.into_iter().map(|name| (name, Due { since: now, at: now })));
        }
        Err(error) => store.note(&error),
    }
}

/// Indexes a base. What was wrong is told where it is looked for; after damage of the index all is read again.
fn index(store: &Arc<Store>, name: &Name, due: &mut BTreeMap<Name, Due>) {
    if let Err(error) = store.index(name) {
        if let Error::Index(inner) = &error
            && store.begin_anew(inner)
        {
            look(store, due);
            return;
        }
        store.note(&error);
    }
}
