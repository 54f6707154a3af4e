//! The traits at which the parts of the host meet.

use std::collections::BTreeSet;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use utoipa::ToSchema;

use crate::embedding::{EmbedderStatus, Embedders, EmbeddingTrial, InstalledModel};
use crate::knowledge;
use crate::lines::{SourceChoice, SourceOrder, VectorRequest, Vectors};
use crate::memory::{
    Advice, Advised, MemoryExported, MemoryFile, MemoryForget, MemoryForgotten, MemoryGraph, MemoryHit, MemoryImported,
    MemoryOfRun, MemoryPlace, MemoryQuery, MemoryState,
};
use crate::model::{
    AdapterDescriptor, Completion, EmbeddingRequest, Embeddings, Failure, HttpRequest, HttpResponse, ModelDelta,
    ModelInfo, ModelRequest, Prompt, Rehearsed, SourceLine, StreamEvent,
};
use crate::recollection::{KnowledgeBase, KnowledgePassage, KnownPerson, Remembered};
use crate::stage::{Patch, StageContext};
use crate::{
    Accepted, CallError, Cause, Errand, MediaKind, Meta, Offers, Output, OutputDelta, Principal, Receipt, Recording,
    Role, RouteRequest, RouteResponse, Submission, ToolDefinition, ToolOutput,
};

/// The live plugins, as the agent sees them. Implemented by the runtime.
#[async_trait]
pub trait Plugins: Send + Sync {
    /// What they offer now. Cheap: a shared snapshot.
    fn offers(&self) -> Arc<Offers>;

    /// Runs a tool of a plugin; `cause.deadline_ms` bounds it.
    async fn call_tool(&self, plugin: &str, name: &str, args: String, cause: Cause) -> Result<ToolOutput, CallError>;

    /// Runs a plugin's stage handler; `context.cause.deadline_ms` bounds it.
    async fn run_stage(&self, plugin: &str, context: StageContext) -> Result<Vec<Patch>, CallError>;

    /// Sends a message through a plugin's channel; `cause.deadline_ms` bounds it.
    async fn deliver(&self, plugin: &str, output: Output, cause: Cause) -> Result<Receipt, CallError>;

    /// Shows pieces of an answer. Never waits; pieces may be dropped when the channel is slow.
    fn show(&self, plugin: &str, deltas: Vec<OutputDelta>);

    /// Reads a plugin's package anew and puts its code in the place of what runs.
    async fn reload_plugin(&self, plugin: &str) -> Result<PluginStatus, CallError>;

    /// Publishes an event of the host's own. Never waits.
    fn publish(&self, topic: &str, payload: serde_json::Value, cause: Cause);
}

/// The agent, as its inputs' carriers see it. Implemented by the agent, handed to the runtime and the gateway.
#[async_trait]
pub trait Mind: Send + Sync {
    /// Queues an input; returns when it is in the journal. `attested` is the principal a connection vouches for; without
    /// it the role comes from the owner's bindings of `source` and the submission's user.
    async fn submit(
        &self,
        source: &str,
        attested: Option<Principal>,
        submission: Submission,
    ) -> Result<Accepted, CallError>;

    /// Hands over an input that does not wait for the turn that runs.
    async fn interrupt(
        &self,
        source: &str,
        attested: Option<Principal>,
        submission: Submission,
    ) -> Result<Accepted, CallError>;

    /// Queues an input in the name of whoever set a timer of `source`; returns when it is in the journal.
    async fn errand(&self, source: &str, errand: Errand) -> Result<Accepted, CallError>;

    /// What somebody may do now who was known before: at most what they might then.
    fn standing(&self, who: &Principal) -> Role;

    /// Ends the turn that runs in the submission's conversation. False: none was running.
    async fn stop(&self, source: &str, attested: Option<Principal>, submission: Submission) -> Result<bool, CallError>;

    /// Calls any tool in the name of a plugin.
    async fn call_tool(&self, caller: &str, name: &str, args: String, cause: Cause) -> Result<ToolOutput, CallError>;
}

/// A part of the host that offers tools of its own to the agent, such as the memory.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// What people call the part, where it has to be told from others.
    fn name(&self) -> &str {
        "host"
    }

    /// Its tools as they are now: only those whose subject is there. Cheap.
    fn tools(&self) -> Vec<ToolDefinition>;

    /// Runs one. `arguments` have passed the tool's schema; `cause` says for whom, and who reads what comes of it. A
    /// result in which others' words stand is [marked](ToolOutput::mark_foreign).
    async fn call(&self, name: &str, arguments: serde_json::Value, cause: &Cause) -> Result<ToolOutput, CallError>;
}

/// The knowledge base, as whoever looks after it sees it. Implemented by the knowledge base.
#[async_trait]
pub trait KnowledgeAdmin: Send + Sync {
    /// All bases, and how their index is.
    async fn list(&self) -> Result<knowledge::Listing, CallError>;

    /// A base with its headings.
    async fn show(&self, base: &str) -> Result<knowledge::Outline, CallError>;

    /// What stands below a heading of a base.
    async fn section(&self, base: &str, heading: &str) -> Result<knowledge::SectionText, CallError>;

    /// Finds passages, the best first.
    async fn search(&self, query: knowledge::Query) -> Result<knowledge::Found, CallError>;

    /// Makes a base, or a part of one, of a file. `file` is its name; a base is called as the file where it has no `base`.
    async fn import(
        &self,
        file: &str,
        bytes: Vec<u8>,
        base: Option<&str>,
        how: knowledge::Import,
    ) -> Result<knowledge::Changed, CallError>;

    /// Removes a base with its text; the name it had.
    async fn remove(&self, base: &str) -> Result<String, CallError>;

    /// Indexes one base anew, or all.
    async fn reindex(&self, base: Option<&str>) -> Result<knowledge::Status, CallError>;

    /// How many bytes a file may have that is imported.
    fn largest_file(&self) -> u64;
}

/// What the agent remembers, as plugins reach it. Implemented where the memory and the knowledge base are put together.
///
/// `cause` is the call for which something is asked: what is shown is what all may know who read what comes of it. Without
/// one it is what the owner may know in private.
#[async_trait]
pub trait PluginMemory: Send + Sync {
    /// What fits a question best, best first.
    async fn recall(&self, question: String, limit: usize, cause: Option<&Cause>)
    -> Result<Vec<Remembered>, CallError>;

    /// Keeps a text that a plugin tells; answers with its name in the memory.
    async fn note(&self, plugin: &str, text: String, cause: Option<&Cause>) -> Result<String, CallError>;

    /// What of the knowledge base, or of one base of it, fits a question best, best first.
    async fn search_knowledge(
        &self,
        question: String,
        base: Option<String>,
        limit: usize,
        cause: Option<&Cause>,
    ) -> Result<Vec<KnowledgePassage>, CallError>;

    /// The bases that may be shown, by name.
    async fn bases(&self, cause: Option<&Cause>) -> Result<Vec<KnowledgeBase>, CallError>;

    /// Adds a text to the end of a base, which is made where there is none of this name.
    async fn append_knowledge(&self, base: &str, text: String) -> Result<(), CallError>;

    /// The people of this name, all where it is empty.
    async fn people(&self, name: &str, cause: Option<&Cause>) -> Result<Vec<KnownPerson>, CallError>;
}

/// What is asked of the sources, and for whom. There is no other way to a model: turns of all kinds, plugins and the
/// memory's work alike come through it.
#[derive(Clone, Copy, Debug)]
pub struct LineRequest<'a> {
    /// The sources that are asked.
    pub line: SourceLine,
    /// What they are asked.
    pub prompt: &'a Prompt,
    /// For whom: the turn, conversation and principal it is for, and the plugins it came through.
    pub cause: &'a Cause,
}

/// A model, whatever source serves it. Implemented by the providers.
#[async_trait]
pub trait Models: Send + Sync {
    /// Asks a line. Pieces go to `pieces` as they arrive; when a source fails after it has shown some,
    /// [`Progress::restart`] is called before the next source begins. Dropping the future cancels the call down to its
    /// socket.
    async fn complete(&self, request: LineRequest<'_>, pieces: &dyn Progress) -> Result<Completion, ModelsFailure>;

    /// Which kinds of media the sources take in, as they are configured now.
    fn sight(&self) -> Sight {
        Sight::default()
    }

    /// Asks the first source of the main and then of the auxiliary line that takes in media of this kind; the rest is as
    /// for [`Models::complete`].
    async fn look(
        &self,
        request: LineRequest<'_>,
        kind: MediaKind,
        pieces: &dyn Progress,
    ) -> Result<Completion, ModelsFailure> {
        let _ = kind;
        self.complete(request, pieces).await
    }

    /// Has the embedding line make vectors of texts: all by one source, whose model they name.
    async fn embed(&self, _: VectorRequest<'_>) -> Result<Vectors, ModelsFailure> {
        let sentence = "There is nothing here that makes vectors.".to_owned();
        Err(ModelsFailure { sentence, tried: Vec::new(), partial: None })
    }

    /// The sources one can choose among, in the order in which they are tried; `None` where there is no choice.
    fn choices(&self) -> Option<Vec<SourceChoice>> {
        None
    }

    /// Whether there is a choice.
    fn has_choices(&self) -> bool {
        false
    }

    /// Changes a source, from the next call on. Only for its owner.
    async fn choose(&self, _: SourceOrder) -> Result<SourceChoice, CallError> {
        Err(CallError::NotFound("there is no choice of sources".to_owned()))
    }
}

/// The models that make vectors on this machine. Implemented beside the embedders.
#[async_trait]
pub trait EmbeddingModels: Send + Sync {
    /// What is used, what else is there, and what can be had.
    async fn list(&self) -> Embedders;

    /// Puts a model into the folder of models: one that lies elsewhere on this machine, by its absolute path, or one that
    /// can be had, by its name. It is tried before it is there.
    async fn install(&self, from: &str) -> Result<InstalledModel, CallError>;

    /// Has vectors made by this one from now on; by the best there is without a name.
    async fn choose(&self, name: Option<&str>) -> Result<EmbedderStatus, CallError>;

    /// Makes vectors of a question and, where there is one, of what might answer it.
    async fn try_texts(&self, question: String, answer: Option<String>) -> Result<EmbeddingTrial, CallError>;
}

/// Which kinds of media sources take in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// Those that the first source of the main line takes in.
    pub first: BTreeSet<MediaKind>,
    /// Those that any source of the main or the auxiliary line takes in.
    pub any: BTreeSet<MediaKind>,
}

/// Receives the pieces of an answer while it is written.
pub trait Progress: Send + Sync {
    /// The next piece.
    fn piece(&self, delta: &ModelDelta);

    /// What was shown is void: another source begins afresh.
    fn restart(&self);
}

/// No source could answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct ModelsFailure {
    /// What to tell the user.
    pub sentence: String,
    /// The last failure of each source that was tried, with the source's name.
    pub tried: Vec<(String, Failure)>,
    /// The completion that broke half-way, when there is one: the part shown stays, marked as unfinished.
    pub partial: Option<Box<Completion>>,
}

/// The LLM adapters at hand. Implemented by the runtime.
#[async_trait]
pub trait Adapters: Send + Sync {
    /// What the adapter of this name says of itself.
    fn descriptor(&self, name: &str) -> Option<AdapterDescriptor>;

    /// The names of all adapters, sorted.
    fn names(&self) -> Vec<String>;

    /// A fresh instance for one model call.
    async fn open(&self, name: &str) -> Result<Box<dyn AdapterSession>, CallError>;
}

/// One adapter instance, serving one model call. See `wit/adapter`.
#[async_trait]
pub trait AdapterSession: Send {
    /// Turns the request into HTTP.
    async fn build_request(&mut self, request: &ModelRequest) -> Result<HttpRequest, CallError>;

    /// Reads a whole answer.
    async fn parse_response(&mut self, response: HttpResponse) -> Result<Vec<ModelDelta>, CallError>;

    /// Says what a non-2xx answer means.
    async fn classify_error(&mut self, response: HttpResponse) -> Result<Failure, CallError>;

    /// Reads the next events of a stream.
    async fn step(&mut self, events: Vec<StreamEvent>) -> Result<Vec<ModelDelta>, CallError>;

    /// The stream has ended.
    async fn end(&mut self) -> Result<Vec<ModelDelta>, CallError>;

    /// The request for the vendor's models; `invalid` where it lists none.
    async fn build_models_request(&mut self, options: &Meta) -> Result<HttpRequest, CallError>;

    /// Reads the list of models.
    async fn parse_models(&mut self, response: HttpResponse) -> Result<Result<Vec<ModelInfo>, Failure>, CallError>;

    /// The request for vectors; `invalid` where there is none.
    async fn build_embedding_request(&mut self, request: &EmbeddingRequest) -> Result<HttpRequest, CallError>;

    /// Reads vectors.
    async fn parse_embeddings(&mut self, response: HttpResponse) -> Result<Result<Embeddings, Failure>, CallError>;

    /// The whole answer of an offline adapter.
    async fn rehearse(&mut self, request: &ModelRequest) -> Result<Vec<Rehearsed>, CallError>;
}

/// A frame of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
}

/// What a slot does with a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToPeer {
    /// Send this.
    Frame(Frame),
    /// Close it and tell the reason.
    Close(String),
    /// The slot has given the connection up, for this reason; nothing comes after it.
    GivenUp(String),
}

/// A connection that the host holds for a slot. The slot's side stays where it is when the instance is replaced.
#[async_trait]
pub trait Connection: Send + Sync {
    /// Hands a frame to the slot. Waits while the slot's queue is full; an error says why the connection has to go.
    /// What the slot wants done is to be read meanwhile: it may wait for that before it reads on.
    async fn receive(&self, frame: Frame) -> Result<(), CallError>;

    /// What the slot wants done next; `None` when the slot is gone. Cancel-safe.
    async fn next(&self) -> Option<ToPeer>;

    /// Tells the slot that the other side is gone. Dropping does the same with a general reason.
    async fn closed(self: Box<Self>, reason: String);
}

/// A path that a plugin serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedPath {
    /// The plugin.
    pub plugin: String,
    /// The listener whose connections are made there, or the route's name.
    pub listener: String,
    /// What is spoken there.
    pub speaks: Speaks,
    /// The key of the secret that clients have to bring; while it is not set, as where there is none, only clients of this
    /// machine may connect.
    pub token: Option<String>,
    /// The key of the setting that holds an address of its own, where it has one.
    pub address: Option<String>,
}

/// What is spoken at a path of a plugin's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// WebSocket, with these sub-protocols, the preferred first.
    WebSocket {
        /// Their names.
        protocols: Vec<String>,
    },
    /// HTTP.
    Http {
        /// The methods that are taken.
        methods: Vec<String>,
    },
}

/// What came of an address of a plugin's own.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, ToSchema)]
pub struct OwnAddress {
    /// The setting that holds it.
    pub setting: String,
    /// The address that is listened on, with the port that the system chose where that is left to it; none where nobody
    /// listens.
    pub bound: Option<String>,
    /// Why nobody listens.
    pub problem: Option<String>,
}

/// What came of a unix socket of a plugin's own.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, ToSchema)]
pub struct OwnSocket {
    /// The listener whose connections are made there.
    pub listener: String,
    /// The socket's file.
    pub path: String,
    /// Why nobody listens.
    pub problem: Option<String>,
}

/// The listeners that slots asked the host to hold. Implemented by the runtime.
#[async_trait]
pub trait Listeners: Send + Sync {
    /// Who serves this path, if anybody does.
    fn served(&self, path: &str) -> Option<ServedPath>;

    /// Has a plugin answer a request at a route of its own.
    async fn answer(&self, plugin: &str, request: RouteRequest) -> Result<RouteResponse, CallError>;

    /// The plugins that may serve paths at addresses of their own, each with the key of the setting that holds one.
    fn own_addresses(&self) -> Vec<(String, String)>;

    /// Notes what came of all plugins' own addresses, for their status.
    fn note_addresses(&self, addresses: std::collections::BTreeMap<String, Vec<OwnAddress>>);

    /// Comes when what plugins serve may be something else than at the call of this. Keeps nothing of the plugins.
    fn changed(&self) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Opens a connection on the listener of this name. `attested` is whom the connection vouches for. Fails with
    /// `not-found` when no plugin holds the listener.
    async fn connect(
        &self,
        listener: &str,
        attested: Option<Principal>,
        meta: Meta,
    ) -> Result<Box<dyn Connection>, CallError>;
}

/// One slot, or a package that could not get one, for people to look at.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, ToSchema)]
pub struct PluginStatus {
    /// The slot's name.
    pub name: String,
    /// The package's version.
    pub version: String,
    /// One line about it.
    pub summary: String,
    /// `bundled` or `installed`.
    pub origin: String,
    /// The folder it was installed in; none for a bundled one.
    pub folder: Option<String>,
    /// `live`, `backing-off`, `failed`, `unloaded`, `refused`.
    pub state: String,
    /// Why it is in that state, when it is not `live`; else what is to be known of the code that runs, such as that a newer
    /// one was taken back.
    pub reason: Option<String>,
    /// The SHA-256 of the component, in hexadecimal digits.
    pub digest: String,
    /// The fingerprint of the key that signed the package; none for one that came with the daemon, or that is unsigned.
    pub publisher: Option<String>,
    /// Restarts since the slot was made.
    pub restarts: u64,
    /// Calls since the slot was made.
    pub calls: u64,
    /// Calls that wait for the instance to take them.
    pub waiting: usize,
    /// The last failure of a call, in words.
    pub last_error: Option<String>,
    /// Milliseconds since the instance began to serve.
    pub uptime_ms: u64,
    /// Capabilities that the package asks for and of which the user has granted something.
    pub granted: Vec<String>,
    /// Capabilities of which the package asks for more than the user has granted.
    pub missing: Vec<String>,
    /// All capabilities that the package asks for, with what it asks for and what it has.
    pub capabilities: Vec<CapabilityStatus>,
    /// Names of the tools it offers.
    pub tools: Vec<String>,
    /// Addresses of its own, apart from the daemon's, at which paths of it are served.
    #[serde(default)]
    pub addresses: Vec<OwnAddress>,
    /// Its unix sockets.
    #[serde(default)]
    pub sockets: Vec<OwnSocket>,
}

/// A capability that a package asks for.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, ToSchema)]
pub struct CapabilityStatus {
    /// The capability.
    pub name: String,
    /// `granted`; `partly`, where it asks for more than was granted; `missing`; `revoked`.
    pub state: String,
    /// What the package asks for: the details of its table in `plugin.toml`.
    #[schema(value_type = Object)]
    pub asked: serde_json::Map<String, serde_json::Value>,
    /// What it has of that; `null` when it has nothing.
    #[schema(value_type = Option<Object>)]
    pub granted: Option<serde_json::Map<String, serde_json::Value>>,
    /// Why it has less than it asks for, where there is more to say than that it was not granted.
    pub reason: Option<String>,
}

impl CapabilityStatus {
    /// Whether the package asks for more than it has.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.state != "granted"
    }
}

/// Where packages are looked for.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, ToSchema)]
pub struct PluginFolders {
    /// The folder of installed packages.
    pub folder: String,
    /// Why it can't be looked into.
    pub problem: Option<String>,
    /// What lies in it, sorted.
    pub entries: Vec<PluginFolder>,
}

/// Something in the folder of installed packages.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, ToSchema)]
pub struct PluginFolder {
    /// Its path.
    pub path: String,
    /// The plugin it holds, where its manifest says so.
    pub plugin: Option<String>,
    /// The plugin's state, or `refused`, `passed-over`, or `not-loaded`.
    pub state: String,
    /// Why, where there is something to say.
    pub reason: Option<String>,
}

/// What came of removing a plugin.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, ToSchema)]
pub struct Removed {
    /// The plugin's name.
    pub removed: String,
    /// The bundled plugin of this name, which runs now.
    pub bundled: Option<PluginStatus>,
}

/// How a replacement treats calls that are under way in the old code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Haste {
    /// How long they may take to end before the replacement is given up; `None` for 2 s.
    pub wait: Option<Duration>,
    /// When they take longer, let their callers go with `retryable` rather than give up the replacement.
    pub force: bool,
}

/// The plugins, as their keeper sees them. Implemented by the runtime.
#[async_trait]
pub trait PluginAdmin: Send + Sync {
    /// All slots and refused packages, sorted by name.
    fn list(&self) -> Vec<PluginStatus>;

    /// Where packages were looked for now, and what became of each that lies there. Reads the disk.
    fn folders(&self) -> PluginFolders;

    /// Copies a package from a folder or an archive into the data folder and loads it. One of its name that is installed
    /// is replaced, and stays when the new one can't be loaded.
    async fn install(&self, from: &Path) -> Result<PluginStatus, CallError>;

    /// Ends an installed plugin and deletes its package, its grants and what it kept; a bundled one of its name takes its
    /// place.
    async fn remove(&self, name: &str) -> Result<Removed, CallError>;

    /// Reads the package anew and puts its code in the place of what runs. On failure the old code goes on and the
    /// error says why; `conflict` when calls are under way that take too long.
    async fn reload(&self, name: &str, haste: Haste) -> Result<PluginStatus, CallError>;

    /// Starts a package that is not loaded.
    async fn load(&self, name: &str) -> Result<PluginStatus, CallError>;

    /// Stops a plugin and takes back what it offered.
    async fn unload(&self, name: &str) -> Result<(), CallError>;

    /// Gives a plugin a capability.
    async fn grant(&self, name: &str, capability: &str) -> Result<(), CallError>;

    /// Plays recordings to a channel, each on an instance of its own, which nobody else talks to, and tells the inputs that
    /// the channel made of each. `folder` is where its package lies, if it is not the one of that name that the daemon has.
    async fn try_channel(
        &self,
        name: &str,
        folder: Option<&Path>,
        recordings: Vec<Recording>,
    ) -> Result<Vec<Result<Vec<Submission>, CallError>>, CallError>;

    /// Takes a capability from a plugin; effective at its next call.
    async fn revoke(&self, name: &str, capability: &str) -> Result<(), CallError>;
}

/// What a text with somebody's name in it becomes; `None` for all others.
pub type Renamed = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What keeps people's names, and what they sent, beside the journal and the memory. Implemented by the daemon.
#[async_trait]
pub trait Forgets: Send + Sync {
    /// Gives a name another spelling wherever it is kept.
    async fn rename(&self, renamed: Renamed) -> Result<(), CallError>;

    /// Removes media of the store, by their addresses; one that is not there is removed.
    async fn remove_media(&self, addresses: Vec<String>) -> Result<(), CallError>;
}

/// The memory, as whoever looks after it sees it. Implemented by the memory.
#[async_trait]
pub trait MemoryAdmin: Send + Sync {
    /// Finds what was said and written, best first.
    async fn search(&self, query: MemoryQuery) -> Result<Vec<MemoryHit>, CallError>;

    /// A passage by its id, with so many before it and after it.
    async fn show(&self, id: &str, around: usize, everything: bool) -> Result<MemoryPlace, CallError>;

    /// What the graph knows of whatever is called so; without a name, what it knows of.
    async fn graph(&self, name: Option<&str>, everything: bool) -> Result<MemoryGraph, CallError>;

    /// What of the memory a turn's model was shown, and why.
    async fn explain(&self, run: &str, everything: bool) -> Result<MemoryOfRun, CallError>;

    /// How it is.
    async fn state(&self) -> Result<MemoryState, CallError>;

    /// Forgets for good, or says what would go.
    async fn forget(&self, wish: MemoryForget) -> Result<MemoryForgotten, CallError>;

    /// Makes every index anew from its source; recall goes on meanwhile.
    async fn reindex(&self) -> Result<MemoryState, CallError>;

    /// Writes what the memory knows beside the journal into a file.
    async fn export(self: Arc<Self>, file: MemoryFile) -> Result<MemoryExported, CallError>;

    /// Takes in what another memory has written.
    async fn import(self: Arc<Self>, file: MemoryFile) -> Result<MemoryImported, CallError>;
}

/// A model that the memory may ask. Implemented by the agent: it asks in a queue of its own, behind all people.
#[async_trait]
pub trait Adviser: Send + Sync {
    /// Asks once nobody else wants the agent, which may take long; whoever does cuts it off, and it is asked again later.
    ///
    /// # Errors
    ///
    /// [`CallError::Busy`] when it was cut off too often, [`CallError::NotLive`] while the agent stops, and what the
    /// sources say.
    async fn advise(&self, advice: Advice) -> Result<Advised, CallError>;
}
