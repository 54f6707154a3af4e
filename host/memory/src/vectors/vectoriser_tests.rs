//! What whoever looks at the vectors of texts notices, whatever happens while they are made.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::mpsc;

use super::*;

/// Texts in memory.
#[derive(Default)]
struct Shelf {
    texts: Mutex<BTreeMap<i64, String>>,
    changed: Arc<Notify>,
    changed_from: AtomicI64,
}

impl Shelf {
    fn of(count: i64) -> Arc<Self> {
        let shelf = Self { changed_from: AtomicI64::new(i64::MAX), ..Self::default() };
        shelf.texts().extend((1..=count).map(|id| (id, format!("text {id}"))));
        Arc::new(shelf)
    }

    fn texts(&self) -> std::sync::MutexGuard<'_, BTreeMap<i64, String>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, id: i64, text: &str) {
        self.texts().insert(id, text.to_owned());
        self.changed.notify_waiters();
    }

    /// A text goes, and the one behind it is another then, as with passages.
    fn forget(&self, id: i64, vectors: &Vectors) {
        self.texts().remove(&id);
        self.texts().insert(id + 1, format!("text {} alone", id + 1));
        vectors.remove(Kind::Passage, &[id, id + 1]).expect("removed");
        self.changed_from.fetch_min(id + 1, Ordering::AcqRel);
        self.changed.notify_waiters();
    }
}

impl TextSource for Shelf {
    fn kind(&self) -> Kind {
        Kind::Passage
    }

    fn texts_after(&self, id: i64, limit: usize) -> Result<Vec<(i64, String)>, DatabaseError> {
        Ok(self.texts().range(id + 1..).take(limit).map(|(id, text)| (*id, text.clone())).collect())
    }

    fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    fn changed_from(&self) -> Option<i64> {
        let first = self.changed_from.swap(i64::MAX, Ordering::AcqRel);
        (first != i64::MAX).then_some(first)
    }
}

/// A model that says what it was asked, waits to be told to answer where it is to, and bears no text with "bad" in it.
struct Model {
    identity: ModelIdentity,
    asked: mpsc::UnboundedSender<Vec<String>>,
    answer: Option<Arc<Notify>>,
    away: bool,
}

#[async_trait]
impl Embedder for Model {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    async fn embed(&self, _: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        // Nobody may be listening any more.
        let _ = self.asked.send(texts.clone());
        if let Some(answer) = &self.answer {
            answer.notified().await;
        }
        if self.away || texts.iter().any(|text| text.contains("bad")) {
            return Err(EmbedError("it does not bear that".to_owned()));
        }
        Ok(texts.iter().map(|text| vec![text.len() as f32, 1.0]).collect())
    }
}

fn identity(name: &str) -> ModelIdentity {
    ModelIdentity {
        name: name.to_owned(),
        kind: "static".to_owned(),
        digest: String::new(),
        dimensions: 2,
        pooling: String::new(),
        query_prefix: String::new(),
        passage_prefix: String::new(),
        normalised: true,
    }
}

type Heard = mpsc::UnboundedReceiver<Vec<String>>;

fn model(name: &str, change: impl FnOnce(&mut Model)) -> (Arc<dyn Embedder>, Heard) {
    let (asked, heard) = mpsc::unbounded_channel();
    let mut model = Model { identity: identity(name), asked, answer: None, away: false };
    change(&mut model);
    (Arc::new(model), heard)
}

/// A vectoriser at work.
struct Work {
    vectors: Vectors,
    progress: watch::Receiver<Progress>,
    model: watch::Sender<Option<Arc<dyn Embedder>>>,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<()>,
    _home: tempfile::TempDir,
}

impl Work {
    fn begin(shelf: &Arc<Shelf>, first: Option<Arc<dyn Embedder>>) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let database = homeagent_settings::Database::open(home.path().join("memory.db")).expect("it opens");
        let vectors = Vectors::open(&database).expect("they open");
        let (model, embedder) = watch::channel(first);
        let vectoriser = Vectoriser::new(Arc::clone(shelf) as _, vectors.clone(), embedder);
        let (progress, stop) = (vectoriser.progress(), CancellationToken::new());
        let running = tokio::spawn(vectoriser.run(stop.clone()));
        Self { vectors, progress, model, stop, running, _home: home }
    }

    async fn until(&mut self, is_so: impl FnMut(&Progress) -> bool) -> Progress {
        self.progress.wait_for(is_so).await.expect("it works").clone()
    }

    /// Those that have a vector of a model.
    fn there(&self, name: &str, ids: std::ops::RangeInclusive<i64>) -> Vec<i64> {
        let ids: Vec<i64> = ids.collect();
        let missing = self.vectors.missing(Kind::Passage, &ids, &identity(name)).expect("read");
        ids.into_iter().filter(|id| !missing.contains(id)).collect()
    }
}

#[tokio::test]
async fn every_text_gets_a_vector_and_so_does_each_that_comes_later() {
    let shelf = Shelf::of(70);
    let (model, _heard) = model("one", |_| ());
    let mut work = Work::begin(&shelf, Some(model));
    let progress = work.until(|progress| progress.complete).await;
    let expected =
        Progress { model: Some(identity("one").to_string()), embedded: 70, complete: true, ..Progress::default() };
    assert_eq!(progress, expected);
    assert_eq!(work.there("one", 1..=71), (1..=70).collect::<Vec<_>>());
    shelf.put(71, "one more");
    work.until(|progress| progress.embedded == 71).await;
    assert_eq!(work.there("one", 71..=71), [71]);
}

#[tokio::test]
async fn a_model_that_comes_in_the_middle_makes_all_vectors_anew() {
    let shelf = Shelf::of(70);
    let answer = Arc::<Notify>::default();
    let (first, mut heard) = model("one", |model| model.answer = Some(Arc::clone(&answer)));
    let mut work = Work::begin(&shelf, Some(first));
    heard.recv().await.expect("the first texts");
    answer.notify_one();
    heard.recv().await.expect("the next texts");
    assert!(!work.progress.borrow().complete);
    let (second, mut heard) = model("two", |_| ());
    work.model.send_replace(Some(second));
    answer.notify_one();
    let progress = work.until(|progress| progress.complete).await;
    assert_eq!((progress.model, progress.embedded), (Some(identity("two").to_string()), 70));
    assert_eq!(work.there("two", 1..=70).len(), 70);
    assert_eq!(
        work.vectors.count(Kind::Passage, &identity("one")).expect("counted"),
        0,
        "none is compared with another's"
    );
    assert_eq!(heard.recv().await.expect("texts").first().map(String::as_str), Some("text 1"));
}

#[tokio::test]
async fn a_text_that_the_model_does_not_bear_costs_only_its_own_vector() {
    let shelf = Shelf::of(3);
    shelf.put(2, "bad");
    let (model, _heard) = model("one", |_| ());
    let mut work = Work::begin(&shelf, Some(model));
    let progress = work.until(|progress| progress.complete).await;
    assert_eq!((progress.embedded, progress.refused, progress.error), (2, 1, None));
    assert_eq!(work.there("one", 1..=3), [1, 3]);
}

#[tokio::test]
async fn a_model_that_is_away_is_said_and_the_next_goes_on_at_once() {
    let shelf = Shelf::of(40);
    let (away, _heard) = model("one", |model| model.away = true);
    let mut work = Work::begin(&shelf, Some(away));
    let progress = work.until(|progress| progress.error.is_some()).await;
    assert!(!progress.complete && progress.embedded == 0, "{progress:?}");
    let (back, _heard) = model("one", |_| ());
    work.model.send_replace(Some(back));
    let progress = work.until(|progress| progress.complete).await;
    assert_eq!((progress.embedded, progress.error), (40, None));
}

#[tokio::test]
async fn what_is_forgotten_while_it_is_embedded_is_in_no_vector() {
    let shelf = Shelf::of(4);
    let answer = Arc::<Notify>::default();
    let (model, mut heard) = model("one", |model| model.answer = Some(Arc::clone(&answer)));
    let mut work = Work::begin(&shelf, Some(model));
    heard.recv().await.expect("all texts");
    shelf.forget(2, &work.vectors);
    answer.notify_one();
    let again = heard.recv().await.expect("what is another text now");
    assert_eq!(again, ["text 3 alone"], "its vector had the forgotten text in it");
    assert_eq!(work.there("one", 1..=4), [1, 4]);
    answer.notify_one();
    let progress = work.until(|progress| progress.complete && progress.embedded == 3).await;
    assert_eq!(progress.error, None);
    assert_eq!(work.there("one", 1..=4), [1, 3, 4]);
}

#[tokio::test]
async fn it_ends_when_it_is_told_to_however_long_the_model_takes() {
    let shelf = Shelf::of(1);
    let (model, mut heard) = model("one", |model| model.answer = Some(Arc::default()));
    let work = Work::begin(&shelf, Some(model));
    heard.recv().await.expect("the text");
    work.stop.cancel();
    work.running.await.expect("it ends");
}
