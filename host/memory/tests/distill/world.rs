//! A home with a journal, a graph and a distiller, and somebody who judges as a test says.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use homeagent_journal::{EventKind, Journal, NewEvent};
use homeagent_language::embed::{EmbedError, Embedder, ModelIdentity, Purpose};
use homeagent_memory::Audiences;
use homeagent_memory::distill::{ColdDocument, ColdDocuments, Distiller, Judge, JudgeError, Parts, Question};
use homeagent_memory::graph::{Graph, NameVectors};
use homeagent_memory::vectors::{Vectoriser, Vectors};
use homeagent_settings::{Bindings, Database, Secrets, Settings};
use homeagent_types::model::{ContentPart, Message};
use homeagent_types::{Audience, Conversation, Principal, Role, Viewer};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Answers what it was given to answer, and keeps what it was asked.
#[derive(Default)]
pub(crate) struct Answering {
    pub(crate) answers: Mutex<Vec<Option<String>>>,
    pub(crate) asked: Mutex<Vec<Question>>,
}

#[async_trait]
impl Judge for Answering {
    async fn ask(&self, question: &Question) -> Result<Option<String>, JudgeError> {
        self.asked.lock().expect("not poisoned").push(question.clone());
        self.answers
            .lock()
            .expect("not poisoned")
            .pop()
            .ok_or_else(|| JudgeError::Unavailable("no answer is left".into()))
    }
}

/// Documents that are cold until they are distilled.
#[derive(Default)]
pub(crate) struct Shelf(pub(crate) Mutex<Vec<ColdDocument>>);

impl ColdDocuments for Shelf {
    fn cold(&self, _now_ms: i64, limit: usize) -> Result<Vec<ColdDocument>, String> {
        Ok(self.0.lock().expect("not poisoned").iter().take(limit).cloned().collect())
    }

    fn distilled(&self, id: &str, _now_ms: i64) -> Result<(), String> {
        self.0.lock().expect("not poisoned").retain(|document| document.id != id);
        Ok(())
    }
}

pub(crate) struct World {
    pub(crate) home: tempfile::TempDir,
    pub(crate) journal: Journal,
    pub(crate) graph: Graph,
    pub(crate) settings: Settings,
    pub(crate) judge: Arc<Answering>,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) distiller: Distiller,
    vectors: Vectors,
    embedder: watch::Sender<Option<Arc<dyn Embedder>>>,
}

/// Knows what a few names mean in two languages: each is a direction of its own, and all are a little alike.
struct Dictionary(ModelIdentity);

#[async_trait]
impl Embedder for Dictionary {
    fn identity(&self) -> &ModelIdentity {
        &self.0
    }

    async fn embed(&self, _: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let meaning = |text: &String| {
            let means = |words: &[&str]| if words.iter().any(|word| text.contains(word)) { 1.0 } else { 0.0 };
            vec![0.1, means(&["grandma Liu", "刘奶奶"]), means(&["room", "房间"]), means(&["tomato", "番茄", "西红柿"])]
        };
        Ok(texts.iter().map(meaning).collect())
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::at(tempfile::tempdir().expect("a folder"))
    }

    /// Opens what is in the folder.
    pub(crate) fn at(home: tempfile::TempDir) -> Self {
        let main = Database::open(home.path().join("homeagent.db")).expect("a database");
        let memory = Database::open(home.path().join("memory.db")).expect("a database");
        let journal = Journal::open(&main).expect("a journal");
        let secrets = Secrets::open(&main, home.path()).expect("secrets");
        let settings = Settings::open(&main, &secrets).expect("settings");
        let audiences = Audiences::open(&memory, Bindings::open(&main).expect("bindings")).expect("audiences");
        let graph = Graph::open(&memory, audiences).expect("a graph");
        let vectors = Vectors::open(&memory).expect("vectors");
        graph.set_vectors(vectors.clone());
        let embedder = watch::Sender::new(None);
        let (judge, shelf) = (Arc::<Answering>::default(), Arc::<Shelf>::default());
        let distiller = Distiller::open(Parts {
            database: memory,
            journal: journal.clone(),
            settings: settings.clone(),
            graph: graph.clone(),
            names: Some(NameVectors::new(graph.clone(), vectors.clone(), embedder.subscribe())),
            documents: Some(shelf.clone()),
            judge: Some(judge.clone()),
        });
        let distiller = distiller.expect("a distiller");
        Self { home, journal, graph, settings, judge, shelf, distiller, vectors, embedder }
    }

    /// Has a model make vectors of all names, as another version of it each time it is called with another digest.
    pub(crate) async fn make_vectors(&self, digest: &str) {
        let identity = ModelIdentity {
            name: "dictionary".to_owned(),
            kind: "static".to_owned(),
            digest: digest.to_owned(),
            dimensions: 4,
            pooling: "mean".to_owned(),
            query_prefix: String::new(),
            passage_prefix: String::new(),
            normalised: false,
        };
        self.embedder.send_replace(Some(Arc::new(Dictionary(identity))));
        let vectoriser = Vectoriser::new(Arc::new(self.graph.clone()), self.vectors.clone(), self.embedder.subscribe());
        let (mut progress, stop) = (vectoriser.progress(), CancellationToken::new());
        let work = tokio::spawn(vectoriser.run(stop.clone()));
        progress.wait_for(|progress| progress.complete).await.expect("it works");
        stop.cancel();
        work.await.expect("it ended");
    }

    /// 小李 says something in private, in a run if it is named.
    pub(crate) async fn say(&self, text: &str) {
        self.say_in(text, &Conversation::person("qq", "1"), None, false).await;
    }

    pub(crate) async fn say_in(&self, text: &str, conversation: &Conversation, run: Option<&str>, foreign: bool) {
        let session = self.journal.current_session(&conversation.to_string()).await.expect("a session");
        let speaker = Principal {
            namespace: "qq".into(),
            user: "1".into(),
            role: Role::Member,
            display_name: Some("小李".into()),
            attested: true,
        };
        let message = Message::User(vec![ContentPart::Text(text.to_owned())]);
        let event = NewEvent {
            session,
            run: run.map(str::to_owned),
            conversation: conversation.to_string(),
            kind: EventKind::UserMessageAdded,
            audience: conversation.audience().to_string(),
            payload: json!({ "message": message, "speaker": speaker, "foreign": foreign }),
        };
        self.journal.append(event).await.expect("appended");
    }

    /// Everything that is known and holds, as short sentences, sorted; in the sight of a viewer.
    pub(crate) fn known(&self, viewer: &Viewer) -> Vec<String> {
        let names = self.graph.name_rows(0, 1000).expect("names");
        let mut known: Vec<String> = Vec::new();
        for name in names {
            let relations = self.graph.relations_of(name.entity, 100, viewer).expect("relations");
            known.extend(
                relations.iter().filter(|relation| relation.is_current()).map(|relation| relation.text.clone()),
            );
        }
        known.sort();
        known.dedup();
        known
    }

    pub(crate) fn li(&self) -> Viewer {
        Viewer::Only([Audience::Person("qq:1".to_owned())].into())
    }

    pub(crate) fn answer(&self, answer: &str) {
        self.judge.answers.lock().expect("not poisoned").push(Some(answer.to_owned()));
    }
}
