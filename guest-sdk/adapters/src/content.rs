//! Writing what was said: parts of messages, calls and their results.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use homeagent_sdk::adapter::{
    ContentPart, HttpRequest, Media, Message, ModelRequest, ToolChoice, ToolMessage, ToolSpec,
};
use serde_json::{Map, Value, json};

/// What stands before pictures and sounds of tools' results, where these have to follow the results.
pub const FROM_RESULTS: &str = "[from the tools' results]";

/// A part as text; in the place of a medium stands what it was.
#[must_use]
pub fn as_text(part: &ContentPart) -> String {
    match part {
        ContentPart::Text(text) => text.clone(),
        ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::Other(media) => {
            format!("[{} that this model can't take in]", media.mime)
        }
    }
}

/// The bytes of a medium in Base64.
#[must_use]
pub fn base64(media: &Media) -> String {
    STANDARD.encode(&media.data)
}

/// Where a medium is to be had: its own address, or its bytes in a `data:` URL.
#[must_use]
pub fn address(media: &Media) -> String {
    match &media.url {
        Some(url) if media.data.is_empty() => url.clone(),
        _ => format!("data:{};base64,{}", media.mime, base64(media)),
    }
}

/// The longest name of a file that is told, in characters.
const LONGEST_NAME: usize = 120;

/// The name of a document, for vendors that want one: its own, without folders, without what breaks lines and without
/// what looks like a note. A PDF's ends with `.pdf`, by which some vendors tell what it is.
#[must_use]
pub fn file_name(media: &Media) -> String {
    let name = media.name.as_deref().unwrap_or_default();
    let own = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let own: String = own.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    let own = no_note(own.trim());
    let named = if own.is_empty() { "document" } else { &own };
    let ends = || named.to_ascii_lowercase().ends_with(".pdf");
    if media.mime == "application/pdf" && !ends() { format!("{named}.pdf") } else { named.to_owned() }
}

/// The arguments of a call as an object. Vendors refuse a history with others, so a model's slip is wrapped in one.
#[must_use]
pub fn arguments(text: &str) -> Map<String, Value> {
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(arguments) => arguments,
        Err(_) if text.trim().is_empty() => Map::new(),
        Err(_) => Map::from_iter([("not_json".to_owned(), json!(text))]),
    }
}

/// The text of a tool's result without the parts that are shown in another way. It is never empty: where there is
/// nothing to say, it says so.
pub fn result_text(message: &ToolMessage, is_shown: impl Fn(&ContentPart) -> bool) -> String {
    let parts = message.content.iter().filter(|part| !is_shown(part));
    let texts: Vec<String> = parts.map(as_text).collect();
    let text = texts.join("\n");
    if !text.is_empty() {
        return text;
    }
    match (message.failed, message.content.is_empty()) {
        (true, _) => "the tool failed and gave no reason",
        (false, true) => "done",
        (false, false) => "see the next message",
    }
    .to_owned()
}

/// What a note begins with.
const NOTE: &str = "[system]";

/// How rules are told that do not stand at the beginning, where the vendor takes rules there alone.
#[must_use]
pub fn note(text: &str) -> String {
    format!("{NOTE} {text}")
}

/// What people and tools write, for vendors whose models are told notes: it must not look like one.
#[must_use]
pub fn no_note(text: &str) -> String {
    text.replace(NOTE, "(system)")
}

/// The choice of a tool in words, for models that can't be made to call one. Nothing, where the choice is the model's.
#[must_use]
pub fn must_call(choice: &ToolChoice) -> Option<String> {
    match choice {
        ToolChoice::Named(name) => Some(format!("Answer with a call of the tool `{name}`.")),
        ToolChoice::Required => Some("Answer with a call of a tool.".to_owned()),
        ToolChoice::Auto | ToolChoice::None => None,
    }
}

/// The tools to offer where a vendor knows no choice of tools: what may not be called is left out.
pub fn offered(request: &ModelRequest) -> impl Iterator<Item = &ToolSpec> {
    request.tools.iter().filter(|tool| match &request.tool_choice {
        ToolChoice::Auto | ToolChoice::Required => true,
        ToolChoice::None => false,
        ToolChoice::Named(name) => tool.name == *name,
    })
}

/// Where the turn under way begins: the last thing that a person said. Interrupts, which come between the results of tools
/// and the next answer, do not count.
#[must_use]
pub fn turn_start(messages: &[Message]) -> Option<usize> {
    let begins = |place: usize| {
        let after_result = messages[..place].iter().rev().find(|message| !matches!(message, Message::System(_)));
        matches!(messages[place], Message::User(_)) && !matches!(after_result, Some(Message::Tool(_)))
    };
    (0..messages.len()).rev().find(|place| begins(*place))
}

/// Posts JSON and says what is to come back.
#[must_use]
pub fn post(path: &str, body: Map<String, Value>, request: &ModelRequest) -> HttpRequest {
    let mut post = HttpRequest::post_json(path, Value::Object(body).to_string());
    let accept = if request.stream { "text/event-stream" } else { "application/json" };
    post.headers.push(("accept".to_owned(), accept.to_owned()));
    post
}
