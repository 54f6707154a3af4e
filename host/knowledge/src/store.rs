//! The files and their index together.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use homeagent_settings::{DatabaseError, Settings};
use tokio::sync::{Notify, watch};

use crate::chunk::{Sizes, chunks};
use crate::decode::decode;
use crate::folder::{Folder, Raw, Stamp};
use crate::index::{Index, NewBase, NewChunk};
use crate::matrix::Matrix;
use crate::{Error, Name, front};
use homeagent_types::knowledge::{Indexing, Status};

/// What all parts of the knowledge base work on.
pub(crate) struct Store {
    pub(crate) folder: Folder,
    pub(crate) index: Index,
    pub(crate) settings: Settings,
    matrix: RwLock<Matrix>,
    /// There are passages that have no vector.
    pub(crate) unembedded: Notify,
    indexing: Mutex<Option<Indexing>>,
    /// What is wrong now, and was said in the log.
    problem: Mutex<Option<String>>,
    /// How often the index has changed.
    pub(crate) changes: watch::Sender<u64>,
    /// There is a base.
    any: AtomicBool,
    /// One of them was made of a page of the web.
    foreign: AtomicBool,
}

impl Store {
    pub(crate) fn new(folder: Folder, index: Index, settings: Settings) -> Self {
        Self {
            folder,
            index,
            settings,
            matrix: RwLock::default(),
            unembedded: Notify::new(),
            indexing: Mutex::default(),
            problem: Mutex::default(),
            changes: watch::Sender::new(0),
            any: AtomicBool::new(false),
            foreign: AtomicBool::new(false),
        }
    }

    /// How many bytes a text may have.
    pub(crate) fn most(&self) -> u64 {
        let mib = self.settings.integer("core.knowledge.file_mib").unwrap_or(16);
        mib.unsigned_abs() << 20
    }

    /// Whether there are bases, and whether one of them was made of a page of the web.
    pub(crate) fn sources(&self) -> (bool, bool) {
        (self.any.load(Ordering::Relaxed), self.foreign.load(Ordering::Relaxed))
    }

    /// Finds out the same.
    pub(crate) fn settle_sources(&self) {
        // Where the index can't be read, nothing can be found in it either.
        let bases = self.index.bases().unwrap_or_default();
        self.any.store(!bases.is_empty(), Ordering::Relaxed);
        let is_foreign = bases.iter().any(|base| base.source.as_deref().is_some_and(front::is_page));
        self.foreign.store(is_foreign, Ordering::Relaxed);
    }

    /// The text that is being indexed.
    pub(crate) fn indexing(&self) -> Option<Indexing> {
        self.indexing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Brings the index of a base up to what its file holds now. Blocks.
    pub(crate) fn index(&self, name: &Name) -> Result<(), Error> {
        let done = self.read_anew(name);
        self.settle_sources();
        self.tell_change();
        done
    }

    /// Tells that the index is another.
    pub(crate) fn tell_change(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn read_anew(&self, name: &Name) -> Result<(), Error> {
        let raw = match self.folder.read(name, self.most()) {
            Ok(Some(raw)) => raw,
            Ok(None) => {
                self.drop_vectors(&self.index.forget(name)?);
                return Ok(());
            }
            Err(error) => {
                // One that became too large is not what is in the index; of one that can't be read at the moment that is
                // not known.
                let stamp = match &error {
                    Error::TooLarge { .. } => self.stamp(name),
                    _ => None,
                };
                self.drop_vectors(&self.index.fail(name, &error.to_string(), stamp)?);
                return Ok(());
            }
        };
        let known = self.index.bases()?.into_iter().find(|base| base.name == *name);
        if known.is_some_and(|known| known.digest == Some(raw.digest) && known.problem.is_none()) {
            self.index.touch(name, raw.stamp)?;
        } else {
            let put = self.put(name, &raw);
            self.tell_progress(None);
            put?;
        }
        self.clear_problem();
        Ok(())
    }

    fn put(&self, name: &Name, raw: &Raw) -> Result<(), Error> {
        let decoded = decode(&raw.bytes, None);
        let (front, start) = front::read(&decoded.text);
        let text = decoded.text.get(start..).unwrap_or_default();
        // Lines are counted from the beginning of the file.
        let above = decoded.text.get(..start).unwrap_or_default();
        let above = u32::try_from(memchr::memchr_iter(b'\n', above.as_bytes()).count()).unwrap_or(u32::MAX);
        let cut = chunks(text, Sizes::USUAL).into_iter().map(|mut chunk| {
            let (first, last) = chunk.lines;
            chunk.lines = (first.saturating_add(above), last.saturating_add(above));
            let lead = chunk.lead.clone().and_then(|lead| text.get(lead));
            NewChunk { text: text.get(chunk.range.clone()).unwrap_or_default(), lead, chunk }
        });
        let cut: Vec<NewChunk<'_>> = cut.collect();
        let damaged = decoded.damaged.then(|| {
            "some of it is in no encoding that is known, and is not found; saving it as UTF-8 puts that right"
                .to_owned()
        });
        let problem = front.problem.clone().or(damaged);
        let base = NewBase { name, front: &front, stamp: raw.stamp, digest: &raw.digest, problem: problem.as_deref() };
        let total = cut.len() as u64;
        self.tell_progress(Some((name, 0, total)));
        let told = |done: usize| self.tell_progress(Some((name, done as u64, total)));
        let changes = self.index.put(&base, &cut, &told)?;
        self.drop_vectors(&changes.gone);
        tracing::info!(base = %name, passages = changes.all, new = changes.added, "a text of the knowledge base is indexed");
        if changes.added > 0 {
            self.unembedded.notify_one();
        }
        Ok(())
    }

    fn stamp(&self, name: &Name) -> Option<Stamp> {
        let there = self.folder.list().ok()?;
        there.into_iter().find(|(there, _)| there == name).map(|(_, stamp)| stamp)
    }

    /// Forgets what was indexed of a base, or of all.
    pub(crate) fn doubt(&self, name: Option<&Name>) -> Result<(), Error> {
        match self.index.doubt(name) {
            Err(error) if self.begin_anew(&error) => {}
            done => done?,
        }
        self.change_vectors(|matrix| {
            let kept = self.index.vectors(matrix.model().unwrap_or_default()).unwrap_or_default();
            matrix.keep_only(&kept.into_iter().map(|kept| kept.chunk).collect());
        });
        Ok(())
    }

    /// Sets a damaged index aside; whether it was one.
    pub(crate) fn begin_anew(&self, error: &DatabaseError) -> bool {
        match self.index.begin_anew(error) {
            Ok(false) => return false,
            Ok(true) => {}
            Err(error) => self.note(&error.into()),
        }
        self.change_vectors(|matrix| matrix.keep_only(&BTreeSet::new()));
        self.unembedded.notify_one();
        true
    }

    /// Reads the whole index once, and begins anew where it is damaged.
    pub(crate) fn look_for_damage(&self) {
        match self.index.damage() {
            Ok(None) => {}
            Ok(Some(words)) => drop(self.begin_anew(&self.index.damaged(words))),
            Err(error) => {
                if !self.begin_anew(&error) {
                    self.note(&error.into());
                }
            }
        }
    }

    /// Notes what is wrong. The log has it once, however often it is found.
    pub(crate) fn note(&self, error: &Error) {
        let sentence = error.to_string();
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if problem.as_ref() != Some(&sentence) {
            tracing::warn!(%error, "the knowledge base can't be kept up to date");
            *problem = Some(sentence);
        }
    }

    fn clear_problem(&self) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn tell_progress(&self, at: Option<(&Name, u64, u64)>) {
        let told = at.map(|(name, done, total)| Indexing { base: name.to_string(), done, total });
        *self.indexing.lock().unwrap_or_else(PoisonError::into_inner) = told;
    }

    /// How the index is. Blocks.
    pub(crate) fn status(&self, model: Option<&str>) -> Result<Status, Error> {
        let (passages, vectors) = self.index.counts(None, model)?;
        Ok(Status {
            passages,
            vectors,
            model: model.map(str::to_owned),
            indexing: self.indexing(),
            problem: self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        })
    }

    /// The vectors in memory.
    pub(crate) fn vectors(&self) -> RwLockReadGuard<'_, Matrix> {
        self.matrix.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change_vectors(&self, change: impl FnOnce(&mut Matrix)) {
        let mut matrix: RwLockWriteGuard<'_, Matrix> = self.matrix.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut matrix);
    }

    fn drop_vectors(&self, chunks: &[i64]) {
        if !chunks.is_empty() {
            self.change_vectors(|matrix| chunks.iter().for_each(|chunk| matrix.remove(*chunk)));
        }
    }
}
