//! Sessions at work: threads of their own, one for each, which take from one queue.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use async_trait::async_trait;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::cache::{Cache, Key};
use super::session::{Session, check};
use super::{EmbedError, Embedder, ModelIdentity, Purpose};

/// How many texts of a purpose wait at the most; whoever has more waits until there is room.
const WAITING: usize = 256;
/// How many texts go into one run of the model.
const BATCH: usize = 16;
/// How many bytes of text go into one run, padded to the longest of them; one text alone may have more.
const BATCH_BYTES: usize = 8 << 10;

/// Makes a text what a model is to see.
pub(super) type Prepare = Box<dyn Fn(Purpose, &str) -> String + Send + Sync>;

/// Embeds by sessions of one model. Dropping it ends its threads after what they have at hand.
pub(super) struct Pool {
    identity: ModelIdentity,
    prepare: Prepare,
    cache: Cache,
    queue: Arc<Queue>,
    room: [Arc<Semaphore>; 2],
}

struct Queue {
    waiting: Mutex<Waiting>,
    news: Condvar,
    dimensions: usize,
}

/// What waits, by its purpose: queries go first, since somebody waits for their answer.
#[derive(Default)]
struct Waiting {
    queries: VecDeque<Job>,
    passages: VecDeque<Job>,
    closed: bool,
}

struct Job {
    text: String,
    reply: oneshot::Sender<Result<Vec<f32>, EmbedError>>,
    /// Its place in the queue, given back with the job.
    _room: OwnedSemaphorePermit,
}

impl Pool {
    /// Starts a thread for each session.
    pub(super) fn start(
        identity: ModelIdentity,
        prepare: Prepare,
        sessions: Vec<Box<dyn Session>>,
    ) -> Result<Self, EmbedError> {
        let dimensions = identity.dimensions;
        let queue = Arc::new(Queue { waiting: Mutex::default(), news: Condvar::new(), dimensions });
        let cache = Cache::new(&identity);
        let room = [(); 2].map(|()| Arc::new(Semaphore::new(WAITING)));
        let pool = Self { identity, prepare, cache, queue, room };
        for mut session in sessions {
            let queue = Arc::clone(&pool.queue);
            let started = thread::Builder::new().name("embed".to_owned()).spawn(move || {
                while let Some(batch) = queue.next() {
                    run(session.as_mut(), batch, queue.dimensions);
                }
            });
            started.map_err(|error| EmbedError(format!("No thread can be started for the model: {error}.")))?;
        }
        Ok(pool)
    }

    /// Queues one text, when there is room.
    async fn queue(&self, purpose: Purpose, text: &str) -> Result<Reply, EmbedError> {
        let text = (self.prepare)(purpose, text);
        let room = Arc::clone(&self.room[purpose as usize]).acquire_owned().await;
        let room = room.map_err(|_| gone())?;
        let (reply, answer) = oneshot::channel();
        let mut waiting = self.queue.lock();
        let line = match purpose {
            Purpose::Query => &mut waiting.queries,
            Purpose::Passage => &mut waiting.passages,
        };
        line.push_back(Job { text, reply, _room: room });
        drop(waiting);
        self.queue.news.notify_one();
        Ok(answer)
    }
}

type Reply = oneshot::Receiver<Result<Vec<f32>, EmbedError>>;

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.news.notify_all();
    }
}

#[async_trait]
impl Embedder for Pool {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    async fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts.len()];
        // Each text once, however often it is among them.
        let mut asked: Vec<(Key, Vec<usize>, Reply)> = Vec::new();
        let mut places: HashMap<Key, usize> = HashMap::new();
        for (place, text) in texts.iter().enumerate() {
            let key = self.cache.key(purpose, text);
            if let Some(at) = places.get(&key) {
                asked[*at].1.push(place);
            } else if let Some(vector) = self.cache.get(&key) {
                vectors[place] = Some(vector);
            } else {
                places.insert(key, asked.len());
                asked.push((key, vec![place], self.queue(purpose, text).await?));
            }
        }
        for (key, places, reply) in asked {
            let vector = reply.await.map_err(|_| gone())??;
            self.cache.put(key, vector.clone());
            for place in places {
                vectors[place] = Some(vector.clone());
            }
        }
        Ok(vectors.into_iter().flatten().collect())
    }
}

fn gone() -> EmbedError {
    EmbedError("The embedding model has ended.".to_owned())
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next texts for a session; none when the pool is gone and nothing waits.
    fn next(&self) -> Option<Vec<Job>> {
        let mut waiting = self.lock();
        loop {
            let batch = waiting.take();
            if !batch.is_empty() {
                return Some(batch);
            }
            if waiting.closed {
                return None;
            }
            waiting = self.news.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Waiting {
    /// Takes the first job that somebody still waits for, and others that are about as long: a short text that is padded
    /// to a long one takes the long one's time.
    fn take(&mut self) -> Vec<Job> {
        for line in [&mut self.queries, &mut self.passages] {
            line.retain(|job| !job.reply.is_closed());
            let Some(first) = line.pop_front() else { continue };
            let alike = |length: usize| length <= similar(first.text.len()) && first.text.len() <= similar(length);
            let mut longest = first.text.len();
            let chosen: Vec<usize> = (0..line.len())
                .filter(|at| alike(line[*at].text.len()))
                .scan(1, |count, at| {
                    longest = longest.max(line[at].text.len());
                    *count += 1;
                    (*count <= BATCH && *count * longest <= BATCH_BYTES).then_some(at)
                })
                .collect();
            let mut batch: Vec<Job> = chosen.into_iter().rev().filter_map(|at| line.remove(at)).collect();
            batch.push(first);
            batch.reverse();
            return batch;
        }
        Vec::new()
    }
}

/// The longest text that goes into one run with one of this length.
fn similar(length: usize) -> usize {
    length + length / 4 + 8
}

/// Runs a batch. Where it fails as a whole, each text is tried alone, so that one bad text costs only its own vector.
fn run(session: &mut dyn Session, batch: Vec<Job>, dimensions: usize) {
    let (texts, replies): (Vec<_>, Vec<_>) = batch.into_iter().map(|job| (job.text, (job.reply, job._room))).unzip();
    match encode(session, &texts, dimensions) {
        Ok(vectors) => {
            for ((reply, _), vector) in replies.into_iter().zip(vectors) {
                let _ = reply.send(Ok(vector));
            }
        }
        Err(_) if texts.len() > 1 => {
            for ((reply, _), text) in replies.into_iter().zip(texts) {
                let one = encode(session, &[text], dimensions);
                let _ = reply.send(one.map(|mut vectors| vectors.swap_remove(0)));
            }
        }
        Err(error) => {
            for (reply, _) in replies {
                let _ = reply.send(Err(error.clone()));
            }
        }
    }
}

fn encode(session: &mut dyn Session, texts: &[String], dimensions: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
    let made = catch_unwind(AssertUnwindSafe(|| session.encode(texts)));
    let vectors = made.unwrap_or_else(|_| Err(EmbedError("The embedding model failed within.".to_owned())))?;
    check(&vectors, texts.len(), dimensions)?;
    Ok(vectors)
}

#[cfg(test)]
mod tests;
