//! The knowledge base as its users see it.

use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use homeagent_language::embed::int8::{Quantised, quantise_direction};
use homeagent_language::embed::{CurrentEmbedder, Purpose};
use homeagent_settings::Settings;
use homeagent_types::Cause;
use notify::RecommendedWatcher;
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;

use crate::chunk::Lines;
use crate::decode::decode;
use crate::folder::Folder;
use crate::follow::{self, Job};
use crate::index::{BaseRow, Index, version};
use crate::search::{Question, search};
use crate::store::Store;
use crate::{Circle, Edit, Error, Name, embedding, front, import, section};
use homeagent_types::knowledge::{Base, Changed, Found, Import, Listing, Outline, OutlineHeading, SectionText, Status};

/// How many bases there may be.
const MOST_BASES: usize = 1000;

/// How long a question may be, in characters; what is beyond is not looked for.
const LONGEST_QUESTION: usize = 2000;

/// How long the model may take for a question's vector. Then words alone are looked for.
const QUESTION_PATIENCE: Duration = Duration::from_secs(3);

/// How long a change waits until it is found, too.
const INDEX_PATIENCE: Duration = Duration::from_secs(20);

/// How much of a section is given, in bytes.
const LONGEST_SECTION: usize = 16 * 1024;

/// What the knowledge base works with.
pub struct Parts {
    /// The home folder. The bases are in `knowledge` in it, their index is `knowledge.db`.
    pub home: PathBuf,
    /// The settings.
    pub settings: Settings,
    /// Who makes vectors.
    pub embedder: CurrentEmbedder,
}

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The question.
    pub text: String,
    /// Who reads what is found.
    pub circle: Circle,
    /// Only in this base.
    pub base: Option<String>,
    /// How many passages at most.
    pub limit: usize,
}

/// The knowledge base. Dropping it ends it.
pub struct Knowledge {
    pub(crate) store: Arc<Store>,
    embedder: CurrentEmbedder,
    jobs: Sender<Job>,
    follower: Mutex<Option<JoinHandle<()>>>,
    watcher: Mutex<Option<RecommendedWatcher>>,
    embedding: AbortHandle,
}

impl Drop for Knowledge {
    fn drop(&mut self) {
        self.embedding.abort();
        let _ = self.jobs.send(Job::Stop);
    }
}

impl Knowledge {
    /// Opens the index and begins to follow the files. What they hold is found as soon as it is read, which happens
    /// beside everything else. To be called in a tokio runtime.
    ///
    /// # Errors
    ///
    /// The folder or the index can't be made or opened.
    pub fn open(parts: Parts) -> Result<Arc<Self>, Error> {
        let Parts { home, settings, embedder } = parts;
        let folder = Folder::new(home.join("knowledge"));
        let root = folder.root().to_path_buf();
        folder.make().map_err(Error::disk(format!("making {}", root.display())))?;
        let store = Arc::new(Store::new(folder, Index::open(&home)?, settings));
        store.settle_sources();
        let (jobs, work) = channel();
        let watcher = follow::watch(&root, jobs.clone()).map_err(|error| {
            tracing::warn!(%error, "changes of the knowledge base are not told by the system; they are looked for each minute");
        });
        let followed = Arc::clone(&store);
        let follower = std::thread::Builder::new()
            .name("knowledge".to_owned())
            .spawn(move || follow::run(&followed, &work))
            .map_err(Error::disk("starting the thread of the knowledge base"))?;
        let embedding = tokio::spawn(embedding::run(Arc::clone(&store), embedder.clone())).abort_handle();
        let follower = Mutex::new(Some(follower));
        Ok(Arc::new(Self { store, embedder, jobs, follower, watcher: Mutex::new(watcher.ok()), embedding }))
    }

    /// Ends following and embedding. What was begun is finished.
    pub async fn close(&self) {
        self.embedding.abort();
        drop(self.watcher.lock().unwrap_or_else(PoisonError::into_inner).take());
        let _ = self.jobs.send(Job::Stop);
        let follower = self.follower.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(follower) = follower {
            let store = Arc::clone(&self.store);
            let ending = move || {
                // A thread that panicked has said so in the log.
                let _ = follower.join();
                store.index.settle()
            };
            if let Ok(Err(error)) = tokio::task::spawn_blocking(ending).await {
                tracing::warn!(%error, "closing the index of the knowledge base");
            }
        }
    }

    /// Tells of each change of the index, from now on: a count that goes up.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.store.changes.subscribe()
    }

    /// The circle of all who read what comes of a call.
    #[must_use]
    pub fn circle_of(&self, cause: &Cause) -> Circle {
        let groups_are_home = self.store.settings.text("core.knowledge.in_groups").is_ok_and(|word| word == "members");
        Circle::of(cause, groups_are_home)
    }

    /// The passages that fit a question best, of the bases that `ask.circle` may read.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] where there is no such base, [`Error::Empty`] without a question, and what the index answers.
    pub async fn search(&self, ask: Ask) -> Result<Found, Error> {
        let text: String = ask.text.chars().take(LONGEST_QUESTION).collect();
        if text.trim().is_empty() {
            return Err(Error::Empty);
        }
        let (vector, mut note) = self.vector(&text).await;
        let passages = self
            .on_disk(move |store| {
                let mut bases = visible(store, ask.circle)?;
                if let Some(name) = &ask.base {
                    let base = find(bases, name)?;
                    bases = vec![base];
                }
                let question = Question { text: &text, vector: vector.as_ref(), bases: &bases, limit: ask.limit };
                Ok(search(&store.index, &store.vectors(), &question)?)
            })
            .await?;
        if let Some(indexing) = self.store.indexing() {
            note = Some(format!("\"{}\" is being indexed now; what is new in it may be missing", indexing.base));
        }
        Ok(Found { passages, note })
    }

    /// A question's vector of the model whose vectors are kept, or why there is none.
    async fn vector(&self, text: &str) -> (Option<Quantised>, Option<String>) {
        let embedder = self.embedder.borrow().clone();
        let by_words = |why: &str| (None, Some(format!("{why}; passages were found by their words alone")));
        let Some(embedder) = embedder else { return by_words("there is no model for vectors yet") };
        if self.store.vectors().model() != Some(&embedder.identity().to_string()) {
            return by_words("the vectors are being made");
        }
        let asked = embedder.embed(Purpose::Query, vec![text.to_owned()]);
        match tokio::time::timeout(QUESTION_PATIENCE, asked).await {
            Ok(Ok(vectors)) => (vectors.first().map(|vector| quantise_direction(vector)), None),
            Ok(Err(error)) => by_words(&format!("the model failed ({error})")),
            Err(_) => by_words("the model is busy"),
        }
    }

    /// The bases that somebody may see.
    ///
    /// # Errors
    ///
    /// What the index answers.
    pub async fn list(&self, circle: Circle) -> Result<Listing, Error> {
        let model = self.model();
        self.on_disk(move |store| {
            let counts = store.index.counts_by_base(model.as_deref())?;
            let bases = visible(store, circle)?;
            let bases = bases.iter().map(|row| told(row, counts.get(&row.id).copied().unwrap_or_default())).collect();
            Ok(Listing { bases, status: store.status(model.as_deref())? })
        })
        .await
    }

    /// How the index is.
    ///
    /// # Errors
    ///
    /// What the index answers.
    pub async fn status(&self) -> Result<Status, Error> {
        let model = self.model();
        self.on_disk(move |store| store.status(model.as_deref())).await
    }

    /// A base with its headings.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`], and what the disk and the index answer.
    pub async fn outline(&self, name: &str, circle: Circle) -> Result<Outline, Error> {
        let (name, model) = (name.to_owned(), self.model());
        self.on_disk(move |store| {
            let row = find(visible(store, circle)?, &name)?;
            let text = text(store, &row.name)?;
            let mut lines = Lines::of(&text);
            let headings = section::of_body(&text).into_iter().map(|heading| OutlineHeading {
                level: heading.level,
                line: lines.of_byte(heading.range.start),
                title: heading.title,
            });
            let headings = headings.collect();
            let path = store.folder.path(&row.name).display().to_string();
            let counts = store.index.counts(Some(row.id), model.as_deref())?;
            Ok(Outline { base: told(&row, counts), path, headings })
        })
        .await
    }

    /// What stands below a heading of a base; of a long section its beginning.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`], [`Error::NoHeading`], [`Error::Ambiguous`], and what the disk and the index answer.
    pub async fn section(&self, name: &str, heading: &str, circle: Circle) -> Result<SectionText, Error> {
        let (name, heading) = (name.to_owned(), heading.to_owned());
        self.on_disk(move |store| {
            let row = find(visible(store, circle)?, &name)?;
            let text = text(store, &row.name)?;
            let found = section::find(&row.name, &text, &heading)?;
            let part = text.get(found.whole.clone()).unwrap_or_default().trim_end();
            let cut = part.get(..part.floor_char_boundary(LONGEST_SECTION)).unwrap_or(part);
            let mut lines = Lines::of(&text);
            Ok(SectionText {
                base: row.name.to_string(),
                first_line: lines.of_byte(found.whole.start),
                last_line: lines.of_byte(found.whole.start + cut.len()),
                text: cut.to_owned(),
                cut: cut.len() < part.len(),
                version: row.version(),
            })
        })
        .await
    }

    /// Makes a base. When this returns it is on the disk, and as a rule found.
    ///
    /// # Errors
    ///
    /// [`Error::BadName`], [`Error::Exists`], [`Error::TooMany`], [`Error::TooLarge`], [`Error::Empty`], and what the disk
    /// and the index answer.
    pub async fn create(&self, name: &str, text: &str, circle: Circle) -> Result<Changed, Error> {
        if text.trim().is_empty() {
            return Err(Error::Empty);
        }
        let name = Name::parse(name)?;
        let whole = format!("{}{}\n", front::write(circle, None, None), text.trim_end());
        let made = name.clone();
        self.on_disk(move |store| {
            check_new(store, &made)?;
            check_size(store, whole.len())?;
            store.folder.create(&made, whole.as_bytes())
        })
        .await?;
        self.changed(name, false, Vec::new()).await
    }

    /// Changes a base that whoever asks may see. `version` is that of the text which the change was made for, where one was
    /// read. The text before stays beside it, in `content.md.previous`.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`], [`Error::Changed`] where somebody else has changed it, [`Error::NoHeading`],
    /// [`Error::Ambiguous`], [`Error::TooLarge`], [`Error::Empty`], and what the disk and the index answer.
    pub async fn update(
        &self,
        name: &str,
        edit: Edit,
        version: Option<&str>,
        circle: Circle,
    ) -> Result<Changed, Error> {
        let (name, expected) = (name.to_owned(), version.map(str::to_owned));
        let (name, unchanged) = self
            .on_disk(move |store| {
                let name = find(visible(store, circle)?, &name)?.name;
                let unchanged = rewrite(store, &name, expected.as_deref(), |text| section::apply(&name, text, &edit))?;
                Ok((name, unchanged))
            })
            .await?;
        self.changed(name, unchanged, Vec::new()).await
    }

    /// Makes a base, or a part of one, of a file. `file` is its name, `name` the base's, where it is not to be called as
    /// the file.
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`], and as for [`Knowledge::create`] and [`Knowledge::update`].
    pub async fn import(&self, file: &str, bytes: Vec<u8>, name: Option<&str>, how: Import) -> Result<Changed, Error> {
        let name = name.map_or_else(|| Name::of_file(file), Name::parse)?;
        let file = file.to_owned();
        let (name, unchanged, notes) = self.on_disk(move |store| take(store, &file, &bytes, name, how)).await?;
        self.changed(name, unchanged, notes).await
    }

    /// Removes a base with its text, the one before it, and all that the index has of it.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`], and what the disk and the index answer.
    pub async fn remove(&self, name: &str) -> Result<String, Error> {
        let name = name.to_owned();
        let name = self
            .on_disk(move |store| {
                let name = on_disk_name(store, &name)?;
                store.folder.remove(&name)?;
                Ok(name)
            })
            .await?;
        self.indexed(name.clone()).await?;
        Ok(name.to_string())
    }

    /// Cuts and indexes one base anew, or all, and makes their vectors anew.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`], and what the disk and the index answer.
    pub async fn reindex(&self, name: Option<&str>) -> Result<Status, Error> {
        let name = match name.map(str::to_owned) {
            Some(name) => Some(self.on_disk(move |store| on_disk_name(store, &name)).await?),
            None => None,
        };
        let (reply, done) = oneshot::channel();
        self.jobs.send(Job::Anew(name, reply)).map_err(|_| Error::Closed)?;
        done.await.map_err(|_| Error::Closed)??;
        self.status().await
    }

    /// Waits until a base that was changed is indexed, but not for long; how it is then.
    async fn changed(&self, name: Name, unchanged: bool, mut notes: Vec<String>) -> Result<Changed, Error> {
        match tokio::time::timeout(INDEX_PATIENCE, self.indexed(name.clone())).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => notes.push(format!("it is written, but not found yet: {error}")),
            Err(_) => notes.push("it is written, and being indexed".to_owned()),
        }
        let model = self.model();
        let base = self
            .on_disk(move |store| {
                let row = store.index.bases()?.into_iter().find(|row| row.name == name);
                match row {
                    Some(row) => Ok(told(&row, store.index.counts(Some(row.id), model.as_deref())?)),
                    None => unindexed(store, &name),
                }
            })
            .await?;
        Ok(Changed { base, unchanged, notes })
    }

    async fn indexed(&self, name: Name) -> Result<(), Error> {
        let (reply, done) = oneshot::channel();
        self.jobs.send(Job::Index(name, reply)).map_err(|_| Error::Closed)?;
        done.await.map_err(|_| Error::Closed)?
    }

    fn model(&self) -> Option<String> {
        self.embedder.borrow().as_ref().map(|embedder| embedder.identity().to_string())
    }

    /// Does work that waits for the disk where it holds up nobody.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let store = Arc::clone(&self.store);
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&store);
            if let Err(Error::Index(error)) = &done
                && store.begin_anew(error)
            {
                return (done, true);
            }
            (done, false)
        });
        let (done, anew) = done.await.map_err(|_| Error::Closed)?;
        if anew {
            // All is read again.
            let _ = self.jobs.send(Job::Look);
        }
        done
    }
}

/// The bases that a circle may read.
fn visible(store: &Store, circle: Circle) -> Result<Vec<BaseRow>, Error> {
    let mut bases = store.index.bases()?;
    bases.retain(|base| circle.may_read(base.circle));
    Ok(bases)
}

/// The base of this name; case and width do not count where that is clear.
fn find(bases: Vec<BaseRow>, name: &str) -> Result<BaseRow, Error> {
    let unknown = || Error::Unknown { name: name.chars().filter(|c| !c.is_control()).take(64).collect() };
    let wanted = Name::parse(name).map_err(|_| unknown())?;
    let folded = wanted.folded();
    let exact = bases.iter().position(|base| base.name == wanted);
    let place = exact.or_else(|| bases.iter().position(|base| base.name.folded() == folded));
    place.and_then(|place| bases.into_iter().nth(place)).ok_or_else(unknown)
}

/// The name of a base as its folder has it, whether it is indexed or not.
fn on_disk_name(store: &Store, name: &str) -> Result<Name, Error> {
    let there = store.folder.list().map_err(Error::disk("listing the folder of the knowledge base"))?;
    let wanted = Name::parse(name)?;
    let found = there.iter().find(|(there, _)| *there == wanted);
    let found = found.or_else(|| there.iter().find(|(there, _)| there.folded() == wanted.folded()));
    found.map(|(name, _)| name.clone()).ok_or_else(|| Error::Unknown { name: wanted.to_string() })
}

fn check_new(store: &Store, name: &Name) -> Result<(), Error> {
    let there = store.folder.list().map_err(Error::disk("listing the folder of the knowledge base"))?;
    if let Some((there, _)) = there.iter().find(|(there, _)| there.folded() == name.folded()) {
        return Err(Error::Exists { name: there.to_string() });
    }
    if there.len() >= MOST_BASES {
        return Err(Error::TooMany { most: MOST_BASES });
    }
    Ok(())
}

fn check_size(store: &Store, bytes: usize) -> Result<(), Error> {
    let (bytes, most) = (bytes as u64, store.most());
    if bytes > most { Err(Error::TooLarge { bytes, most }) } else { Ok(()) }
}

/// The text of a base as it is in its file.
fn text(store: &Store, name: &Name) -> Result<String, Error> {
    let raw = store.folder.read(name, store.most())?.ok_or_else(|| Error::Unknown { name: name.to_string() })?;
    Ok(decode(&raw.bytes, None).text.into_owned())
}

/// Writes what comes of the text of a base, unless somebody writes another meanwhile. Whether it is the same as before.
fn rewrite(
    store: &Store,
    name: &Name,
    expected: Option<&str>,
    change: impl FnOnce(&str) -> Result<String, Error>,
) -> Result<bool, Error> {
    let raw = store.folder.read(name, store.most())?.ok_or_else(|| Error::Unknown { name: name.to_string() })?;
    if expected.is_some_and(|expected| expected != version(&raw.digest)) {
        return Err(Error::Changed { name: name.to_string() });
    }
    let decoded = decode(&raw.bytes, None);
    if decoded.damaged {
        let sentence = format!(
            "some of \"{name}\" is in no encoding that is known, and would be lost by a change; save it as UTF-8 first"
        );
        return Err(Error::Unreadable(sentence));
    }
    let changed = change(&decoded.text)?;
    if changed.as_bytes() == raw.bytes {
        return Ok(true);
    }
    check_size(store, changed.len())?;
    store.folder.replace(name, changed.as_bytes(), &raw.digest)?;
    Ok(false)
}

/// Makes a base, or a part of one, of a file.
fn take(store: &Store, file: &str, bytes: &[u8], name: Name, how: Import) -> Result<(Name, bool, Vec<String>), Error> {
    check_size(store, bytes.len())?;
    let mut imported = import::read(file, bytes)?;
    let there = match on_disk_name(store, name.as_str()) {
        Ok(there) => Some(there),
        Err(Error::Unknown { .. }) => None,
        Err(error) => return Err(error),
    };
    let unchanged = match (there.clone(), how) {
        (Some(there), Import::Join) => {
            rewrite(store, &there, None, |text| import::joined(&there, text, file, &imported))?
        }
        (Some(there), _) => {
            let circle = front::read(&text(store, &there)?).0.circle;
            // A new text of a file must not show others what the old one kept from them.
            imported.circle.get_or_insert(circle);
            let whole = import::whole(file, &imported);
            rewrite(store, &there, None, |text| match how {
                Import::Create if text != whole => Err(Error::Exists { name: there.to_string() }),
                _ => Ok(whole),
            })?
        }
        (None, _) => {
            let whole = match how {
                Import::Join => import::begun(&name, file, &imported)?,
                _ => import::whole(file, &imported),
            };
            check_new(store, &name)?;
            check_size(store, whole.len())?;
            store.folder.create(&name, whole.as_bytes())?;
            false
        }
    };
    Ok((there.unwrap_or(name), unchanged, imported.notes))
}

fn told(row: &BaseRow, (passages, vectors): (u64, u64)) -> Base {
    Base {
        name: row.name.to_string(),
        audience: row.circle.to_string(),
        title: row.title.clone(),
        description: row.description.clone(),
        source: row.source.clone(),
        bytes: row.stamp.bytes,
        changed_at: row.stamp.modified / 1_000_000,
        passages,
        vectors,
        version: row.version(),
        problem: row.problem.clone(),
    }
}

/// A base that is written, and not in the index yet.
fn unindexed(store: &Store, name: &Name) -> Result<Base, Error> {
    let raw = store.folder.read(name, store.most())?.ok_or_else(|| Error::Unknown { name: name.to_string() })?;
    let front = front::read(&decode(&raw.bytes, None).text).0;
    Ok(Base {
        name: name.to_string(),
        audience: front.circle.to_string(),
        title: front.title,
        description: front.description,
        source: front.source,
        bytes: raw.stamp.bytes,
        changed_at: raw.stamp.modified / 1_000_000,
        passages: 0,
        vectors: 0,
        version: version(&raw.digest),
        problem: None,
    })
}
