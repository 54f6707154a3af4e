//! A home with a journal, contexts and documents.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use homeagent_journal::{EventKind, Journal, NewEvent, RunStatus};
use homeagent_language::embed::{CurrentEmbedder, EmbedError, Embedder, ModelIdentity, Purpose};
use homeagent_memory::Audiences;
use homeagent_memory::context::{Entry, Most, Parts, RelevanceContext, Window};
use homeagent_memory::documents::Documents;
use homeagent_memory::vectors::Vectors;
use homeagent_settings::{Bindings, Database, Secrets, Settings};
use homeagent_types::model::{ContentPart, Message};
use homeagent_types::{Conversation, Role};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::watch;

pub(crate) struct Home {
    pub(crate) folder: PathBuf,
    pub(crate) journal: Journal,
    pub(crate) context: RelevanceContext,
    pub(crate) audiences: Audiences,
    pub(crate) settings: Settings,
    _kept: Option<TempDir>,
}

pub(crate) const ME: &str = "cli:me";

impl Home {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut home = Self::open(folder.path(), None).await;
        home._kept = Some(folder);
        home
    }

    /// A home in a folder that may have been lived in.
    pub(crate) async fn open(folder: &Path, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let database = Database::open(folder.join("homeagent.db")).expect("it opens");
        let secrets = Secrets::open(&database, folder).expect("they open");
        let settings = Settings::open(&database, &secrets).expect("they open");
        let bindings = Bindings::open(&database).expect("they open");
        let journal = Journal::open(&database).expect("it opens");
        journal.recover().await.expect("recovered");
        let memory = Database::open(folder.join("memory.db")).expect("it opens");
        let vectors = Vectors::open(&memory).expect("they open");
        let documents = Documents::open(folder, &memory, &vectors).expect("they open");
        let (_, embedder): (_, CurrentEmbedder) = watch::channel(embedder);
        let parts = Parts {
            home: folder.to_owned(),
            journal: journal.clone(),
            settings: settings.clone(),
            database: memory.clone(),
            documents,
            embedder,
        };
        let context = RelevanceContext::open(parts).expect("they open");
        let audiences = Audiences::open(&memory, bindings).expect("they open");
        Self { folder: folder.to_owned(), journal, context, audiences, settings, _kept: None }
    }

    /// The home as it would be found if the daemon died now.
    pub(crate) async fn after_a_death(&self) -> (TempDir, Home) {
        let copy = tempfile::tempdir().expect("a folder");
        copy_folder(&self.folder, copy.path());
        let home = Self::open(copy.path(), None).await;
        (copy, home)
    }

    pub(crate) fn most(&self) -> Most {
        Most::read(&self.settings).expect("they are declared")
    }

    /// A turn as the agent runs it; returns its run.
    pub(crate) async fn turn(&self, talk: &mut Talk, said: &str, answer: &str) -> String {
        let run = self.begin(talk, said).await;
        self.answer(talk, &run, answer).await;
        self.end(talk, &run).await;
        run
    }

    pub(crate) async fn begin(&self, talk: &mut Talk, said: &str) -> String {
        let conversation = talk.conversation.to_string();
        let started = self.journal.start_run(&conversation, "cli:me", &[]).await.expect("started");
        if talk.session != started.session {
            talk.session.clone_from(&started.session);
            talk.window = self.context.load(&conversation, &started.session).await.expect("loaded");
        }
        talk.number = 0;
        self.add(talk, &started.run, Message::user(said)).await;
        self.context.prune(&mut talk.window, &started.run, self.most()).await;
        started.run
    }

    pub(crate) async fn answer(&self, talk: &mut Talk, run: &str, answer: &str) {
        self.add(talk, run, assistant(answer)).await;
    }

    pub(crate) async fn end(&self, talk: &mut Talk, run: &str) {
        self.journal
            .finish_run(run, Vec::new(), RunStatus::Completed, Some("stop"), None, json!({}))
            .await
            .expect("finished");
        talk.window.close();
        self.context.save(&talk.conversation.to_string(), &talk.session, &talk.window);
    }

    /// A message goes into the journal and the window.
    pub(crate) async fn add(&self, talk: &mut Talk, run: &str, message: Message) {
        talk.number += 1;
        let kind = match &message {
            Message::Assistant { .. } => EventKind::AssistantMessageAdded,
            Message::Tool { .. } => EventKind::ToolResultRecorded,
            _ => EventKind::UserMessageAdded,
        };
        let event = NewEvent {
            session: talk.session.clone(),
            run: Some(run.to_owned()),
            conversation: talk.conversation.to_string(),
            kind,
            audience: talk.conversation.audience().to_string(),
            payload: json!({ "n": talk.number, "message": message }),
        };
        let seq = self.journal.append(event).await.expect("appended");
        let events = self.journal.run_events(run).await.expect("read");
        let event = events.iter().find(|event| event.seq == seq).expect("it is there");
        talk.window.push(Entry::of_event(event).expect("it is a message"));
    }

    /// What the context's file of a conversation holds, as JSON.
    pub(crate) fn file(&self) -> PathBuf {
        let mut files =
            std::fs::read_dir(self.folder.join("context")).expect("a folder").map(|file| file.expect("a file").path());
        files.find(|path| path.extension().is_some_and(|ending| ending == "json")).expect("a context is saved")
    }
}

/// A conversation as the agent holds it.
pub(crate) struct Talk {
    pub(crate) conversation: Conversation,
    pub(crate) session: String,
    pub(crate) window: Window,
    number: u64,
}

impl Talk {
    pub(crate) fn of(conversation: &str) -> Self {
        let conversation = Conversation::parse(conversation).expect("a conversation");
        Self { conversation, session: String::new(), window: Window::default(), number: 0 }
    }

    /// What people said in the window.
    pub(crate) fn said(&self) -> Vec<String> {
        said(&self.window)
    }
}

pub(crate) fn said(window: &Window) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User(parts) => match parts.first() {
            Some(ContentPart::Text(text)) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    window.messages().filter_map(text).collect()
}

pub(crate) fn assistant(text: &str) -> Message {
    Message::Assistant { text: text.to_owned(), reasoning: String::new(), tool_calls: Vec::new(), opaque: Vec::new() }
}

pub(crate) fn owner() -> homeagent_types::Principal {
    homeagent_types::Principal {
        namespace: "cli".to_owned(),
        user: "me".to_owned(),
        role: Role::Owner,
        display_name: None,
        attested: true,
    }
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            std::fs::create_dir_all(&target).expect("made");
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// An embedder that knows a few words, by which texts are near each other that share none.
pub(crate) struct Concepts {
    identity: ModelIdentity,
}

impl Concepts {
    pub(crate) fn embedder() -> Arc<dyn Embedder> {
        let identity = ModelIdentity {
            name: "concepts".to_owned(),
            kind: "static".to_owned(),
            digest: "1".to_owned(),
            dimensions: 3,
            pooling: "mean".to_owned(),
            query_prefix: String::new(),
            passage_prefix: String::new(),
            normalised: false,
        };
        Arc::new(Self { identity })
    }
}

#[async_trait]
impl Embedder for Concepts {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    async fn embed(&self, _: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let has = |text: &str, words: &[&str]| if words.iter().any(|word| text.contains(word)) { 1.0 } else { 0.0 };
        let vector = |text: &String| vec![has(text, &["猫", "kitten"]), has(text, &["房租", "landlord"]), 0.1];
        Ok(texts.iter().map(vector).collect())
    }
}
