#![allow(clippy::unwrap_used, reason = "a test that can't go on is to fail there")]

use std::fs;
use std::path::Path;

use homeagent_types::lines::{VectorRequest, Vectors};
use homeagent_types::model::Completion;
use homeagent_types::ports::{LineRequest, ModelsFailure, Progress};

use super::*;

struct Line;

#[async_trait]
impl Models for Line {
    async fn complete(&self, _: LineRequest<'_>, _: &dyn Progress) -> Result<Completion, ModelsFailure> {
        Err(ModelsFailure { sentence: "It only makes vectors.".to_owned(), tried: Vec::new(), partial: None })
    }

    async fn embed(&self, request: VectorRequest<'_>) -> Result<Vectors, ModelsFailure> {
        let vectors = vec![vec![1.0]; request.texts.len()];
        Ok(Vectors { source: "home".into(), model: "small".into(), dimensions: 1, vectors, usage: None })
    }
}

fn wishes(models: &Path) -> Wishes {
    Wishes { models: models.to_owned(), embedder: None, onnx_runtime: None, sessions: 1, source: false }
}

/// Waits until vectors of this kind are made.
async fn kind(manager: &Manager, kind: &str) -> Arc<dyn Embedder> {
    let mut current = manager.current();
    let there = |embedder: &Option<Arc<dyn Embedder>>| embedder.as_ref().is_some_and(|it| it.identity().kind == kind);
    let found = current.wait_for(there).await.unwrap().clone();
    found.unwrap()
}

#[tokio::test]
async fn an_empty_home_has_vectors_of_words_and_a_better_one_takes_their_place() {
    let home = tempfile::tempdir().unwrap();
    let (send, receive) = watch::channel(wishes(home.path()));
    let manager = Manager::start(receive, Some(Arc::new(Line)));
    assert!(manager.current().borrow().is_none(), "the start does not wait");
    kind(&manager, "tf-idf").await;

    fs::write(home.path().join("small.vec"), "cat 1 0\ndog 0 1\n").unwrap();
    manager.look_again();
    kind(&manager, "static").await;
    send.send_modify(|wishes| wishes.source = true);
    kind(&manager, "source").await;
    send.send_modify(|wishes| wishes.embedder = Some("tf-idf".to_owned()));
    let words = kind(&manager, "tf-idf").await;
    assert_eq!(words.embed(Purpose::Query, vec!["猫".to_owned()]).await.unwrap()[0].len(), words.identity().dimensions);
}

#[tokio::test]
async fn what_cannot_be_opened_is_said_in_one_sentence_and_the_next_one_is_used() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("small.vec"), "no vectors\n").unwrap();
    let (_send, receive) = watch::channel(Wishes { embedder: Some("small".to_owned()), ..wishes(home.path()) });
    let manager = Manager::start(receive, None);
    kind(&manager, "tf-idf").await;
    // The report follows the publication.
    while manager.status().state != State::Ready {
        tokio::task::yield_now().await;
    }
    let status = manager.status();
    assert_eq!(status.name, "tf-idf");
    let complaint = status.complaint.unwrap();
    assert!(complaint.starts_with("small is not used: ") && complaint.contains("small.vec"), "{complaint}");
}

#[tokio::test]
async fn a_name_that_nothing_has_is_said_with_those_there_are() {
    let home = tempfile::tempdir().unwrap();
    let (_send, receive) = watch::channel(Wishes { embedder: Some("big".to_owned()), ..wishes(home.path()) });
    let manager = Manager::start(receive, None);
    kind(&manager, "tf-idf").await;
    while manager.status().state != State::Ready {
        tokio::task::yield_now().await;
    }
    assert_eq!(manager.status().complaint.as_deref(), Some("There is no embedder \"big\"; there are: tf-idf."));
}

#[tokio::test]
async fn a_damaged_table_is_noticed_at_work_and_replaced() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("small.vec"), "cat 1 0\ndog 0 1\n").unwrap();
    let (_send, receive) = watch::channel(wishes(home.path()));
    let manager = Manager::start(receive, None);
    drop(kind(&manager, "static").await);

    // Another file under its name, as after a fault of the disk; the rows begin at byte 72.
    let table = home.path().join("small.vectors");
    let mut bytes = fs::read(&table).unwrap();
    bytes[72] ^= 0x10;
    fs::write(home.path().join("damaged"), bytes).unwrap();
    fs::rename(home.path().join("damaged"), &table).unwrap();
    let (_send, receive) = watch::channel(wishes(home.path()));
    let manager = Manager::start(receive, None);
    let broken = kind(&manager, "static").await;
    broken.embed(Purpose::Query, vec!["cat".to_owned()]).await.unwrap_err();
    let mut current = manager.current();
    current.wait_for(Option::is_none).await.unwrap();
    let whole = kind(&manager, "static").await;
    assert!(whole.embed(Purpose::Query, vec!["cat".to_owned()]).await.unwrap()[0][0] > 0.99);
}
