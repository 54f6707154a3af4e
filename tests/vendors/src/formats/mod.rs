//! The formats in which vendors speak.

mod anthropic;
mod completions;
mod dashscope;
mod gemini;
mod ollama;
mod responses;

use serde_json::Value;

use crate::asked::Asked;
use crate::said::Said;
use crate::wire::Request;

/// A vendor's format; the vendors of one that differ in their rules and errors count as several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Chat completions, as OpenAI has them.
    OpenAi,
    /// Chat completions with the rules of DeepSeek.
    DeepSeek,
    /// Chat completions with the errors of Zhipu.
    Zhipu,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
    /// Ollama's own protocol: a line of JSON for each piece.
    Ollama,
    /// DashScope's own protocol.
    DashScope,
}

/// An error that a vendor answers with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The key is missing or wrong; this is what there was.
    Key(String),
    Money,
    KeyMayNot,
    Region,
    /// Whether it says when to come back.
    RateLimited(bool),
    Broken,
    Overloaded,
    NoModel,
    TooLong,
    Filtered,
    /// The request is wrong.
    Request(String),
}

/// Why a request is refused.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) trouble: Trouble,
    pub(crate) why: String,
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Refused { trouble: Trouble::Request(why.clone()), why }
    }
}

/// An event of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// Empty where the format has no names.
    pub(crate) name: &'static str,
    pub(crate) data: String,
    /// It says nothing new when it comes twice.
    pub(crate) again: bool,
    /// It is a piece of the text.
    pub(crate) text: bool,
}

impl Event {
    /// An event without a name.
    pub(crate) fn plain(data: &Value) -> Self {
        Event { name: "", data: data.to_string(), again: false, text: false }
    }

    pub(crate) fn named(self, name: &'static str) -> Self {
        Event { name, ..self }
    }

    pub(crate) fn again(self) -> Self {
        Event { again: true, ..self }
    }

    pub(crate) fn text(self) -> Self {
        Event { text: true, ..self }
    }
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 8] = [
        Format::OpenAi,
        Format::DeepSeek,
        Format::Zhipu,
        Format::Responses,
        Format::Anthropic,
        Format::Gemini,
        Format::Ollama,
        Format::DashScope,
    ];

    /// The adapter that speaks it.
    #[must_use]
    pub fn adapter(self) -> &'static str {
        match self {
            Format::OpenAi => "openai",
            Format::DeepSeek => "deepseek",
            Format::Zhipu => "zhipu",
            Format::Responses => "openai-responses",
            Format::Anthropic => "anthropic",
            Format::Gemini => "gemini",
            Format::Ollama => "ollama",
            Format::DashScope => "qwen",
        }
    }

    /// A model of the vendor's.
    #[must_use]
    pub fn model(self) -> &'static str {
        match self {
            Format::OpenAi => "gpt-4.1-mini",
            Format::DeepSeek => "deepseek-v4-flash",
            Format::Zhipu => "glm-4.7-flash",
            Format::Responses => "gpt-5-mini",
            Format::Anthropic => "claude-sonnet-4-6",
            Format::Gemini => "gemini-3-flash",
            Format::Ollama => "qwen3:8b",
            Format::DashScope => "qwen-plus",
        }
    }

    /// Where the API begins.
    pub(crate) fn base(self) -> &'static str {
        match self {
            Format::OpenAi | Format::Responses | Format::Anthropic => "/v1",
            Format::DeepSeek | Format::Ollama => "",
            Format::Zhipu => "/api/paas/v4",
            Format::Gemini => "/v1beta",
            Format::DashScope => "/api/v1",
        }
    }

    /// Reads a request as the vendor would.
    pub(crate) fn read(self, request: &Request, key: &str) -> Result<Asked, Refused> {
        if request.method != "POST" {
            return Err(format!("{} is no method here", request.method).into());
        }
        if request.header("content-type").is_none_or(|kind| !kind.starts_with("application/json")) {
            return Err("the content type is not application/json".to_owned().into());
        }
        let body = serde_json::from_slice(&request.body).map_err(|error| format!("the body is not JSON: {error}"))?;
        let read = match self {
            Format::OpenAi | Format::DeepSeek | Format::Zhipu => completions::read,
            Format::Responses => responses::read,
            Format::Anthropic => anthropic::read,
            Format::Gemini => gemini::read,
            Format::Ollama => ollama::read,
            Format::DashScope => dashscope::read,
        };
        read(self, request, key, &body)
    }

    /// What was said, as a stream.
    pub(crate) fn events(self, said: &Said) -> Vec<Event> {
        match self {
            Format::OpenAi | Format::DeepSeek | Format::Zhipu => completions::events(self, said),
            Format::Responses => responses::events(said),
            Format::Anthropic => anthropic::events(said),
            Format::Gemini => gemini::events(said),
            Format::Ollama => ollama::events(said),
            Format::DashScope => dashscope::events(said),
        }
    }

    /// What was said, as a whole.
    pub(crate) fn whole(self, said: &Said) -> Value {
        match self {
            Format::OpenAi | Format::DeepSeek | Format::Zhipu => completions::whole(self, said),
            Format::Responses => responses::whole(said),
            Format::Anthropic => anthropic::whole(said),
            Format::Gemini => gemini::whole(said),
            Format::Ollama => ollama::whole(said),
            Format::DashScope => dashscope::whole(said),
        }
    }

    /// The status and the body of an error.
    pub(crate) fn error(self, trouble: &Trouble) -> (u16, Value) {
        match self {
            Format::OpenAi | Format::Responses => completions::openai_error(trouble),
            Format::DeepSeek => completions::deepseek_error(trouble),
            Format::Zhipu => completions::zhipu_error(trouble),
            Format::Anthropic => anthropic::error(trouble),
            Format::Gemini => gemini::error(trouble),
            Format::Ollama => ollama::error(trouble),
            Format::DashScope => dashscope::error(trouble),
        }
    }

    /// An error in a stream that has begun.
    pub(crate) fn error_event(self) -> Event {
        let event = Event::plain(&self.error(&Trouble::Overloaded).1);
        match self {
            Format::Anthropic | Format::DashScope => event.named("error"),
            Format::Responses => responses::error_event(),
            _ => event,
        }
    }

    /// An event as it stands in the stream.
    pub(crate) fn framed(self, event: &Event) -> String {
        let Event { name, data, .. } = event;
        match self {
            Format::Ollama => format!("{data}\n"),
            Format::DashScope => {
                let (name, status) = if *name == "error" { (*name, 500) } else { ("result", 200) };
                format!("id:1\nevent:{name}\n:HTTP_STATUS/{status}\ndata:{data}\n\n")
            }
            _ if name.is_empty() => format!("data: {data}\n\n"),
            _ => format!("event: {name}\ndata: {data}\n\n"),
        }
    }

    /// Whether an answer says where it ends, so that nothing after that belongs to it.
    pub(crate) fn says_the_end(self) -> bool {
        !matches!(self, Format::Gemini | Format::DashScope)
    }

    /// What says that the vendor is alive, and nothing else.
    pub(crate) fn keep_alive(self) -> &'static str {
        match self {
            Format::Anthropic => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
            Format::Ollama => "\n",
            _ => ": keep-alive\n\n",
        }
    }

    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Format::Ollama => "application/x-ndjson",
            Format::OpenAi | Format::Responses | Format::Anthropic => "text/event-stream; charset=utf-8",
            _ => "text/event-stream",
        }
    }
}

/// Whether the request brings this key as a bearer.
fn bearer(request: &Request, key: &str) -> Result<(), Refused> {
    let brought = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    right_key(brought, key)
}

fn right_key(brought: Option<&str>, key: &str) -> Result<(), Refused> {
    if brought == Some(key) {
        return Ok(());
    }
    let why = if brought.is_some() { "the key is wrong" } else { "no key where this vendor looks for it" };
    Err(Refused { trouble: Trouble::Key(brought.unwrap_or_default().to_owned()), why: why.to_owned() })
}

fn right_path(request: &Request, wanted: &str) -> Result<(), Refused> {
    if request.path == wanted {
        return Ok(());
    }
    Err(Refused { trouble: Trouble::NoModel, why: format!("nothing is at {}", request.path) })
}

/// A field that has to be a text with something in it.
fn required<'a>(value: &'a Value, field: &str) -> Result<&'a str, String> {
    let text = value[field].as_str().filter(|text| !text.is_empty());
    text.ok_or_else(|| format!("`{field}` must be a text with something in it; it is {}", value[field]))
}

/// The items of a field that has to be a list with something in it.
fn listed<'a>(value: &'a Value, field: &str) -> Result<&'a [Value], String> {
    let list = value[field].as_array().filter(|list| !list.is_empty());
    list.map(Vec::as_slice).ok_or_else(|| format!("`{field}` must be a list with something in it"))
}

/// A tool's name, which vendors allow these characters only.
fn tool_name(tool: &Value) -> Result<String, String> {
    let name = required(tool, "name")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.len() > 64 || !name.chars().all(plain) {
        return Err(format!("{name:?} is no name for a tool"));
    }
    Ok(name.to_owned())
}

/// A schema has to be one of an object.
fn object_schema(schema: &Value) -> Result<(), String> {
    if schema["type"] == "object" {
        Ok(())
    } else {
        Err(format!("the parameters of a tool must be an object: {schema}"))
    }
}
