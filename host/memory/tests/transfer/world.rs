//! A home in which things were said, written down and learnt.

use std::future::Future as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;

use homeagent_journal::{EventKind, Journal, JournalError, NewEvent, RunStatus, Seq};
use homeagent_language::embed::Embedder;
use homeagent_memory::context::{Entry, tool_message};
use homeagent_memory::curated::Curated;
use homeagent_memory::documents::{Document, DocumentError};
use homeagent_memory::graph::{Claim, Committed, EntityKind, GraphError, Node, Source};
use homeagent_memory::{Memory, Parts};
use homeagent_settings::{Bindings, Database, Secrets, Settings};
use homeagent_types::memory::{MemoryForget, MemoryForgotten, MemoryWhat};
use homeagent_types::model::Message;
use homeagent_types::{Audience, Principal, Role, ToolCall};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;

pub(crate) const ME: &str = "cli:me";

pub(crate) struct World {
    pub(crate) folder: PathBuf,
    pub(crate) journal: Journal,
    pub(crate) memory: Arc<Memory>,
    pub(crate) kept: Option<TempDir>,
    /// While it lives, there may come another.
    _model: watch::Sender<Option<Arc<dyn Embedder>>>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut world = Self::open(folder.path()).await;
        world.kept = Some(folder);
        world
    }

    pub(crate) async fn open(folder: &Path) -> Self {
        Self::with_model(folder, None).await
    }

    /// The same with what makes vectors.
    pub(crate) async fn with_model(folder: &Path, model: Option<Arc<dyn Embedder>>) -> Self {
        let database = Database::open(folder.join("homeagent.db")).expect("it opens");
        let secrets = Secrets::open(&database, folder).expect("they open");
        let settings = Settings::open(&database, &secrets).expect("they open");
        settings.set_text("core.memory.text_log", "true").expect("it is set");
        let bindings = Bindings::open(&database).expect("they open");
        let journal = Journal::open(&database).expect("it opens");
        let (model, embedder) = watch::channel(model);
        let home = folder.to_owned();
        let memory = Memory::open(Parts {
            home,
            journal: journal.clone(),
            settings,
            bindings,
            embedder,
            elsewhere: None,
            plugin_values: None,
        });
        let memory = memory.expect("it opens");
        memory.caught_up().await;
        Self { folder: folder.to_owned(), journal, memory, kept: None, _model: model }
    }

    /// A whole turn as the agent records it: the input, the prompt, a tool that is asked, the answer, and what was sent.
    /// Returns its run.
    pub(crate) async fn turn(&self, said: &str, answer: &str) -> String {
        let input = format!("in-{}", *self.journal.tip().borrow());
        let payload = json!({ "id": input, "text": said });
        let key = Some(("cli", input.as_str()));
        let accepted = self.journal.accept_input(ME, &input, key, payload, &format!("person:{ME}")).await;
        accepted.expect("accepted");
        let run = self.journal.start_run(ME, ME, std::slice::from_ref(&input)).await.expect("started").run;
        let call =
            ToolCall { id: "c1".to_owned(), name: "look_up".to_owned(), arguments: json!({ "q": said }).to_string() };
        let says = |text: &str, reasoning: &str, tool_calls: Vec<ToolCall>| Message::Assistant {
            text: text.to_owned(),
            reasoning: reasoning.to_owned(),
            tool_calls,
            opaque: Vec::new(),
        };
        let result = tool_message(&call, format!("found: {said}"), false);
        let events = [
            (EventKind::UserMessageAdded, json!({ "n": 1, "message": Message::user(said), "kind": "message" })),
            (EventKind::SystemPromptSnapshotted, json!({ "prompt": format!("Earlier: {said}") })),
            (EventKind::AssistantMessageAdded, json!({ "n": 2, "message": says("", said, vec![call.clone()]) })),
            (EventKind::ToolStarted, json!({ "call": "c1", "tool": "look_up", "args": said, "effect": "read" })),
            (EventKind::ToolResultRecorded, json!({ "n": 3, "message": result })),
            (EventKind::AssistantMessageAdded, json!({ "n": 4, "message": says(answer, "", Vec::new()) })),
            (EventKind::OutputQueued, json!({ "output_id": format!("out-{input}"), "text": answer })),
            (EventKind::OutputSent, json!({ "output_id": format!("out-{input}") })),
        ];
        for (kind, payload) in events {
            self.append_in(Some(&run), kind, payload).await.expect("appended");
        }
        let done = self.journal.finish_run(&run, Vec::new(), RunStatus::Completed, Some("stop"), None, json!({})).await;
        done.expect("finished");
        self.memory.caught_up().await;
        run
    }

    /// A turn is taken into a document; its id.
    pub(crate) async fn archive(&self, run: &str) -> String {
        let events = self.journal.run_events(run).await.expect("read");
        let exchange: Vec<Entry> = events.iter().filter_map(Entry::of_event).collect();
        let document = Document::of_exchanges(vec![exchange], now()).remove(0);
        self.memory.context().documents().put(&document, None).expect("written");
        document.id
    }

    /// Begins to forget, and leaves off where it waits for the so-manieth time; true: it was done before that.
    pub(crate) async fn forget_until(&self, what: MemoryWhat, waits: usize) -> bool {
        let wish = MemoryForget { what, dry_run: false, plugins: false };
        let mut forgetting = Box::pin(self.memory.forget(wish));
        let mut waited = 0;
        std::future::poll_fn(move |context| match forgetting.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(done.is_ok()),
            Poll::Pending => {
                waited += 1;
                if waited == waits { Poll::Ready(false) } else { Poll::Pending }
            }
        })
        .await
    }

    /// How many forgettings are not done.
    pub(crate) fn plans(&self) -> i64 {
        let database = Database::open(self.folder.join("memory.db")).expect("it opens");
        let sql = "SELECT count(*) FROM forgettings";
        database.read("counting", |connection| connection.query_row(sql, [], |row| row.get(0))).expect("counted")
    }

    async fn try_append(&self, kind: EventKind, payload: Value) -> Result<Seq, JournalError> {
        self.append_in(None, kind, payload).await
    }

    async fn append_in(&self, run: Option<&str>, kind: EventKind, payload: Value) -> Result<Seq, JournalError> {
        let event = NewEvent {
            session: self.journal.current_session(ME).await.expect("a session"),
            run: run.map(str::to_owned),
            conversation: ME.to_owned(),
            kind,
            audience: format!("person:{ME}"),
            payload,
        };
        self.journal.append(event).await
    }

    /// A person says something, and it can be found; its place.
    pub(crate) async fn say(&self, text: &str) -> Seq {
        let seq = self.append_said(text).await;
        self.memory.caught_up().await;
        seq
    }

    /// A person says something; its place.
    pub(crate) async fn append_said(&self, text: &str) -> Seq {
        self.try_say(text).await.expect("appended")
    }

    /// The same where the journal may refuse it.
    pub(crate) async fn try_say(&self, text: &str) -> Result<Seq, JournalError> {
        let who = Principal {
            namespace: "cli".into(),
            user: "me".into(),
            role: Role::Owner,
            display_name: Some("Mei".into()),
            attested: true,
        };
        let payload = json!({ "message": Message::user(text), "speaker": who, "kind": "message" });
        self.try_append(EventKind::UserMessageAdded, payload).await
    }

    /// The system prompt of a later turn tells of it.
    pub(crate) async fn prompt(&self, text: &str) -> Seq {
        let payload = json!({ "prompt": format!("Earlier: {text}") });
        self.try_append(EventKind::SystemPromptSnapshotted, payload).await.expect("appended")
    }

    pub(crate) fn note(&self, title: &str, text: &str) -> String {
        self.try_note(title, text).expect("written")
    }

    pub(crate) fn try_note(&self, title: &str, text: &str) -> Result<String, DocumentError> {
        let audience = Audience::Person(ME.to_owned());
        let note = Document::note(Some(title.to_owned()), text.to_owned(), ME.to_owned(), &audience, now());
        self.memory.context().documents().put(&note, None).map(|()| note.id)
    }

    /// The graph learns where somebody lives.
    pub(crate) fn learn(&self, who: &str, place: &str, seq: Seq) {
        self.try_learn(who, place, seq).expect("learnt");
    }

    pub(crate) fn try_learn(&self, who: &str, place: &str, seq: Seq) -> Result<Committed, GraphError> {
        let sentence = format!("{who} lives in {place}");
        let node = |name: &str, kind| Node::Named(name.to_owned(), kind);
        let (who, place) = (node(who, EntityKind::Person), node(place, EntityKind::Place));
        let claim = Claim { sentence: Some(sentence), ..Claim::new(who, "lives in", place) };
        let source = Source {
            audience: Audience::Person(ME.to_owned()),
            speaker: None,
            origin: format!("journal:{seq}"),
            at_ms: now(),
            undoable: false,
        };
        self.memory.graph().commit(&source, &[claim])
    }

    pub(crate) fn keep(&self, line: &str) {
        Curated::open(&self.folder).add(&Audience::Person(ME.to_owned()), line).expect("kept");
    }

    /// The window of the conversation is saved.
    pub(crate) async fn save_window(&self) {
        let session = self.journal.current_session(ME).await.expect("a session");
        let window = self.memory.context().load(ME, &session).await.expect("loaded");
        self.memory.context().save(ME, &session, &window);
        self.memory.context().flush().await;
    }

    pub(crate) async fn forget(&self, what: MemoryWhat, dry_run: bool) -> MemoryForgotten {
        self.memory.forget(MemoryForget { what, dry_run, plugins: false }).await.expect("forgotten")
    }

    /// The files in which a text stands, in capitals or not.
    pub(crate) fn holding(&self, text: &str) -> Vec<String> {
        let wanted = text.to_lowercase().into_bytes();
        let mut folders = vec![self.folder.clone()];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for file in std::fs::read_dir(folder).expect("read").map(|file| file.expect("read").path()) {
                if file.is_dir() {
                    folders.push(file);
                    continue;
                }
                let bytes = match std::fs::read(&file) {
                    // It was being written when the folder was listed, and has its place by now.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                    read => read.expect("read").to_ascii_lowercase(),
                };
                if bytes.windows(wanted.len()).any(|window| window == wanted) {
                    found.push(file.strip_prefix(&self.folder).expect("in it").display().to_string());
                }
            }
        }
        found.sort();
        found
    }

    /// The index is thrown away and made anew from the journal.
    pub(crate) async fn rebuilt(mut self) -> Self {
        self.memory.close().await;
        let kept = self.kept.take();
        let folder = self.folder.clone();
        drop(self);
        let memory = Database::open(folder.join("memory.db")).expect("it opens");
        memory
            .write("beginning anew", |transaction| {
                transaction.execute("DELETE FROM followers", [])?;
                transaction.execute("DELETE FROM distill_cursors", [])
            })
            .expect("written");
        drop(memory);
        let mut world = Self::open(&folder).await;
        world.kept = kept;
        world
    }
}

pub(crate) fn now() -> i64 {
    i64::try_from(homeagent_types::now()).expect("in time")
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}
