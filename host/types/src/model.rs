//! What goes to a model and what comes back, whatever the vendor. Mirrors `homeagent:adapter`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{MediaKind, Meta, ToolCall};

/// Where the host puts the key of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyPlacement {
    /// The vendor wants none.
    None,
    /// `Authorization: Bearer <key>`.
    Bearer,
    /// A header of this name.
    Header(String),
    /// A query parameter of this name.
    Query(String),
}

/// How a streamed answer is cut into events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// One JSON document a line.
    Ndjson,
}

/// What an adapter says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdapterDescriptor {
    /// The adapter's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// One line for people.
    pub summary: String,
    /// Where the vendor's service is, when the source does not say.
    pub default_base_url: Option<String>,
    /// The model, when the source does not say.
    pub default_model: Option<String>,
    /// Where the key goes.
    pub key: KeyPlacement,
    /// How a streamed answer is cut.
    pub framing: Framing,
    /// Names of what it can do: `tools`, `images`, `audio`, `streaming`, `reasoning`, `embeddings`, `model-listing`.
    pub features: Vec<String>,
    /// Answers by itself, without a network.
    pub offline: bool,
    /// Additions by name.
    pub meta: Meta,
}

impl AdapterDescriptor {
    /// Whether it can do what this feature's name says.
    pub fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|name| name == feature)
    }
}

/// The bytes of a medium for a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelMedia {
    /// The media type.
    pub mime: String,
    /// The name of the file, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The bytes; empty where `url` is given.
    pub data: Vec<u8>,
    /// An address the vendor can fetch.
    pub url: Option<String>,
}

/// What the address of a medium in the host's own store begins with, in the place of a scheme.
const STORED: &str = "media:";

impl ModelMedia {
    /// A medium in the host's own store. Its bytes are put in when it is known which source is asked.
    #[must_use]
    pub fn stored(mime: &str, name: Option<String>, address: &str) -> Self {
        Self { mime: mime.to_owned(), name, data: Vec::new(), url: Some(format!("{STORED}{address}")) }
    }

    /// The address in the host's own store, where the bytes are still there.
    #[must_use]
    pub fn in_store(&self) -> Option<&str> {
        self.url.as_deref().filter(|_| self.data.is_empty()).and_then(|url| url.strip_prefix(STORED))
    }
}

impl ContentPart {
    /// The part that shows a medium.
    #[must_use]
    pub fn medium(medium: ModelMedia) -> Self {
        match MediaKind::of(&medium.mime) {
            MediaKind::Image => Self::Image(medium),
            MediaKind::Audio => Self::Audio(medium),
            MediaKind::Video | MediaKind::File => Self::Other(medium),
        }
    }

    /// The medium that it shows; nothing for a text.
    #[must_use]
    pub fn as_medium(&self) -> Option<&ModelMedia> {
        match self {
            Self::Text(_) => None,
            Self::Image(medium) | Self::Audio(medium) | Self::Other(medium) => Some(medium),
        }
    }
}

/// A part of what somebody says to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContentPart {
    /// Text.
    Text(String),
    /// A picture.
    Image(ModelMedia),
    /// A sound.
    Audio(ModelMedia),
    /// Anything else.
    Other(ModelMedia),
}

/// Something of a vendor's own that must be sent back as it came, to the adapter and model that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    /// The adapter that made it. The host sets it.
    #[serde(default)]
    pub adapter: String,
    /// The model it was made with. The host sets it.
    #[serde(default)]
    pub model: String,
    /// What it is, in the adapter's words.
    pub kind: String,
    /// The blob.
    pub value: String,
}

/// One message of the window handed to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// Rules.
    System(String),
    /// What somebody said.
    User(Vec<ContentPart>),
    /// What the model said.
    Assistant {
        /// Its text.
        text: String,
        /// What it thought.
        reasoning: String,
        /// The tools it called.
        tool_calls: Vec<ToolCall>,
        /// The vendor's own.
        opaque: Vec<Opaque>,
    },
    /// What a tool answered.
    Tool {
        /// The id of the call.
        call: String,
        /// The tool's name.
        name: String,
        /// The result.
        content: Vec<ContentPart>,
        /// The tool did not succeed.
        failed: bool,
    },
}

impl Message {
    /// A user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Message::User(vec![ContentPart::Text(text.into())])
    }
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: serde_json::Value,
}

/// Whether the model is to call tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolChoice {
    /// As it sees fit.
    #[default]
    Auto,
    /// Not at all.
    None,
    /// At least one.
    Required,
    /// This one.
    Named(String),
}

/// What is asked of a model, before a source is chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// The window, oldest first: a valid sequence of calls and results.
    pub messages: Vec<Message>,
    /// The tools it may call, sorted by name.
    pub tools: Vec<ToolSpec>,
    /// Whether it is to call them.
    pub tool_choice: ToolChoice,
    /// The most tokens of the answer, where fewer are wanted than the source and the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// What an adapter turns into HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The vendor's name of the model.
    pub model: String,
    /// The window and tools.
    pub prompt: Prompt,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The most tokens of the answer.
    pub max_tokens: Option<u32>,
    /// Whether the model is to think first; as the vendor does by default, if it is not said.
    pub thinking: Option<bool>,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// The source's options.
    pub options: Meta,
}

/// An HTTP request without the base URL and the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest {
    /// `POST`, mostly.
    pub method: String,
    /// Appended to the source's base URL; begins with `/`, may carry a query.
    pub path: String,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// A whole HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// One event of a streamed answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamEvent {
    /// The event's name; empty where the framing has none.
    pub event: String,
    /// Its data.
    pub data: String,
}

/// What kind of failure a model call met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureClass {
    /// The key is wrong or missing.
    Auth,
    /// The key may not do this.
    Permission,
    /// No money is left.
    Unfunded,
    /// Too many requests.
    RateLimited,
    /// The vendor has trouble.
    Overloaded,
    /// The request is wrong.
    BadRequest,
    /// The prompt is too long for the model.
    ContextOverflow,
    /// A filter of the vendor's refused the prompt.
    ContentFilter,
    /// It took too long.
    Timeout,
    /// The connection failed.
    Network,
    /// The stream broke off.
    StreamEndedEarly,
    /// The answer is not what the vendor's protocol says.
    Protocol,
}

impl FailureClass {
    /// Every class.
    pub const ALL: [Self; 12] = [
        Self::Auth,
        Self::Permission,
        Self::Unfunded,
        Self::RateLimited,
        Self::Overloaded,
        Self::BadRequest,
        Self::ContextOverflow,
        Self::ContentFilter,
        Self::Timeout,
        Self::Network,
        Self::StreamEndedEarly,
        Self::Protocol,
    ];

    /// The name as in the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            FailureClass::Auth => "auth",
            FailureClass::Permission => "permission",
            FailureClass::Unfunded => "unfunded",
            FailureClass::RateLimited => "rate-limited",
            FailureClass::Overloaded => "overloaded",
            FailureClass::BadRequest => "bad-request",
            FailureClass::ContextOverflow => "context-overflow",
            FailureClass::ContentFilter => "content-filter",
            FailureClass::Timeout => "timeout",
            FailureClass::Network => "network",
            FailureClass::StreamEndedEarly => "stream-ended-early",
            FailureClass::Protocol => "protocol",
        }
    }
}

/// A failure of a model call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind it is.
    pub class: FailureClass,
    /// In words.
    pub message: String,
    /// When the vendor says to come back, in milliseconds from now.
    pub retry_after_ms: Option<u64>,
}

/// A piece of a tool call. [`AssistantAnswer`] says how pieces are joined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallDelta {
    /// The call's place, where the vendor gives one.
    pub index: Option<u32>,
    /// The call's id, where the vendor gives one.
    pub id: Option<String>,
    /// The tool's name, or a repetition of it.
    pub name: Option<String>,
    /// A piece of the arguments' JSON text.
    pub arguments: String,
}

/// What a call cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// Tokens of the prompt, the cached part among them.
    pub input: u64,
    /// Tokens of the answer, thinking among them.
    pub output: u64,
    /// Tokens of the prompt that the vendor had cached, where it tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Tokens of the prompt that the vendor put into its cache, where it tells. They count as input, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_written: Option<u64>,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        // What vendors count is theirs; a wrong count must not end a turn.
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        let both = |before: Option<u64>, more: Option<u64>| match (before, more) {
            (None, None) => None,
            (before, more) => Some(before.unwrap_or(0).saturating_add(more.unwrap_or(0))),
        };
        self.cached = both(self.cached, more.cached);
        self.cache_written = both(self.cache_written, more.cache_written);
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It had said everything.
    Stop,
    /// It wants tools to run.
    ToolCalls,
    /// The most tokens were reached.
    Length,
    /// A filter of the vendor's cut it.
    #[serde(rename = "content-filter")]
    ContentFilter,
    /// The model refused.
    Refusal,
    /// The vendor paused a long turn.
    Pause,
    /// Another reason.
    Other,
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelDelta {
    /// A piece of the text.
    Text(String),
    /// A piece of what it thinks.
    Reasoning(String),
    /// A piece of a tool call.
    ToolCall(ToolCallDelta),
    /// What it cost so far; a later one replaces an earlier one.
    Usage(Usage),
    /// It ended.
    Finish(FinishReason),
    /// The vendor's own.
    Opaque(Opaque),
    /// It failed.
    Error(Failure),
}

/// What a source is asked for. Each line has an order of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SourceLine {
    /// The agent's own turns.
    Main,
    /// Work beside them: summaries, distillation.
    Auxiliary,
    /// Vectors.
    Embedding,
}

impl SourceLine {
    /// All lines.
    pub const ALL: [Self; 3] = [Self::Main, Self::Auxiliary, Self::Embedding];

    /// The line's name, as it is stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Auxiliary => "auxiliary",
            Self::Embedding => "embedding",
        }
    }

    /// The line of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|line| line.as_str() == name)
    }
}

/// A model that a vendor offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelInfo {
    /// As a source names it.
    pub id: String,
    /// The vendor's name for people.
    pub display_name: Option<String>,
    /// Tokens of prompt and answer together.
    pub context_window: Option<u32>,
    /// Tokens of the longest answer.
    pub max_output: Option<u32>,
    /// Additions by name.
    #[schema(value_type = Vec<(String, String)>)]
    pub meta: Meta,
}

/// What a text is embedded for; some models make another vector for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmbeddingPurpose {
    /// It is kept, to be found.
    Document,
    /// Others are looked for by it.
    Query,
}

/// What an adapter turns into a request for vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddingRequest {
    /// The vendor's name of the model.
    pub model: String,
    /// The texts.
    pub texts: Vec<String>,
    /// What they are embedded for.
    pub purpose: EmbeddingPurpose,
    /// The length of the vectors, where the model lets one choose.
    pub dimensions: Option<u32>,
    /// The source's options.
    pub options: Meta,
}

/// Vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Embeddings {
    /// One for each text, in the order of the texts.
    pub vectors: Vec<Vec<f32>>,
    /// What it cost, where the vendor tells.
    pub usage: Option<Usage>,
}

/// A piece of an answer made without a vendor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rehearsed {
    /// How long to wait before it, in milliseconds.
    pub pause_ms: u32,
    /// The piece.
    pub delta: ModelDelta,
}

/// A whole answer, put together from its pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssistantAnswer {
    /// The text.
    pub text: String,
    /// What it thought.
    pub reasoning: String,
    /// The calls, in the order in which they began; ids are unique within the answer.
    pub tool_calls: Vec<ToolCall>,
    /// The vendor's own.
    pub opaque: Vec<Opaque>,
    /// Why it stopped; `None` when the stream broke.
    pub finish: Option<FinishReason>,
    /// What it cost, where the vendor tells.
    pub usage: Option<Usage>,
    /// What went wrong; the pieces until then are kept.
    pub error: Option<Failure>,
}

/// An answer and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The source's name.
    pub source: String,
    /// The adapter's name.
    pub adapter: String,
    /// The model's name.
    pub model: String,
    /// The answer.
    pub answer: AssistantAnswer,
}
