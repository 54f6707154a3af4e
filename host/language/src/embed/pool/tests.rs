#![allow(clippy::unwrap_used, reason = "a test that can't go on is to fail there")]

use std::sync::mpsc;

use super::*;

/// A model whose vectors say how long a text is, which tells what it was given, and waits for a word before each run.
struct Slow {
    seen: mpsc::Sender<Vec<String>>,
    go: Arc<Mutex<mpsc::Receiver<()>>>,
}

impl Session for Slow {
    fn encode(&mut self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.seen.send(texts.to_vec()).unwrap();
        let _ = self.go.lock().unwrap().recv();
        if texts.iter().any(|text| text.contains("panic")) {
            panic!("a text that the model does not bear");
        }
        Ok(texts.iter().map(|text| vec![text.len() as f32]).collect())
    }
}

fn pool() -> (Arc<Pool>, mpsc::Receiver<Vec<String>>, mpsc::Sender<()>) {
    let (seen, see) = mpsc::channel();
    let (say, go) = mpsc::channel();
    let identity = ModelIdentity {
        name: "slow".into(),
        kind: "test".into(),
        digest: String::new(),
        dimensions: 1,
        pooling: "mean".into(),
        query_prefix: String::new(),
        passage_prefix: String::new(),
        normalised: false,
    };
    let session = Slow { seen, go: Arc::new(Mutex::new(go)) };
    let pool = Pool::start(identity, Box::new(|_, text| text.to_owned()), vec![Box::new(session)]).unwrap();
    (Arc::new(pool), see, say)
}

fn embed(
    pool: &Arc<Pool>,
    purpose: Purpose,
    texts: &[&str],
) -> tokio::task::JoinHandle<Result<Vec<Vec<f32>>, EmbedError>> {
    let (pool, texts) = (Arc::clone(pool), texts.iter().map(|text| (*text).to_owned()).collect());
    tokio::spawn(async move { pool.embed(purpose, texts).await })
}

/// Waits until so many texts of a purpose wait.
async fn waiting(pool: &Pool, queries: usize, passages: usize) {
    loop {
        {
            let waiting = pool.queue.lock();
            if (waiting.queries.len(), waiting.passages.len()) == (queries, passages) {
                return;
            }
        }
        tokio::task::yield_now().await;
    }
}

/// Waits until the model has been given texts.
async fn begun(see: &mpsc::Receiver<Vec<String>>) -> Vec<String> {
    loop {
        match see.try_recv() {
            Ok(texts) => return texts,
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn queries_go_first_and_texts_of_one_length_together() {
    let (pool, see, say) = pool();
    let first = embed(&pool, Purpose::Passage, &["first"]);
    let taken = begun(&see).await;
    let long = "x".repeat(300);
    let passages = embed(&pool, Purpose::Passage, &["one", &long, "two"]);
    waiting(&pool, 0, 3).await;
    let query = embed(&pool, Purpose::Query, &["asked"]);
    waiting(&pool, 1, 3).await;
    drop(say);
    first.await.unwrap().unwrap();
    assert_eq!(query.await.unwrap().unwrap(), [[5.0]]);
    assert_eq!(passages.await.unwrap().unwrap(), [[3.0], [300.0], [3.0]]);
    let seen: Vec<Vec<String>> = std::iter::once(taken).chain(see.try_iter()).collect();
    assert_eq!(seen, [vec!["first".to_owned()], vec!["asked".into()], vec!["one".into(), "two".into()], vec![long]]);
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_is_not_made_and_what_is_known_neither() {
    let (pool, see, say) = pool();
    let first = embed(&pool, Purpose::Passage, &["first", "first"]);
    begun(&see).await;
    let given_up = embed(&pool, Purpose::Query, &["given up"]);
    waiting(&pool, 1, 0).await;
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());
    drop(say);
    assert_eq!(first.await.unwrap().unwrap(), [[5.0], [5.0]]);
    embed(&pool, Purpose::Passage, &["first", "last"]).await.unwrap().unwrap();
    let seen: Vec<String> = see.try_iter().flatten().collect();
    assert_eq!(seen, ["last"]);
}

#[tokio::test]
async fn a_text_that_the_model_does_not_bear_costs_only_its_own_vector() {
    let (pool, _see, say) = pool();
    drop(say);
    let bad = embed(&pool, Purpose::Passage, &["panic!"]);
    let good = embed(&pool, Purpose::Passage, &["plain!"]);
    assert!(bad.await.unwrap().is_err());
    assert_eq!(good.await.unwrap().unwrap(), [[6.0]]);
}

#[tokio::test]
async fn who_has_more_than_the_queue_holds_waits_and_gets_all() {
    let (pool, _see, say) = pool();
    let texts: Vec<String> = (0..3 * WAITING).map(|at| "y".repeat(at + 1)).collect();
    let all = {
        let (pool, texts) = (Arc::clone(&pool), texts.clone());
        tokio::spawn(async move { pool.embed(Purpose::Passage, texts).await })
    };
    while pool.room[Purpose::Passage as usize].available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(pool.queue.lock().passages.len() <= WAITING);
    drop(say);
    let made = all.await.unwrap().unwrap();
    assert!(made.iter().zip(&texts).all(|(vector, text)| vector[..] == [text.len() as f32]));
}
