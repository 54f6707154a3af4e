//! For the tests of adapters: short ways to write a window, and to read what comes of an answer.

use homeagent_sdk::adapter::{
    AssistantMessage, ContentPart, Delta, EmbeddingPurpose, EmbeddingRequest, Embeddings, Failure, HttpRequest,
    HttpResponse, Media, Message, ModelInfo, ModelRequest, Opaque, StreamEvent, ToolCall, ToolChoice, ToolMessage,
    ToolSpec,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use crate::reader::Reading;

/// A streamed request that says nothing but the model and the window.
pub fn request(model: &str, messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: model.to_owned(),
        messages,
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        temperature: None,
        max_tokens: None,
        thinking: None,
        stream: true,
        options: Vec::new(),
    }
}

/// Options by name.
pub fn options(options: &[(&str, &str)]) -> Vec<(String, String)> {
    options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// A text.
pub fn text(text: &str) -> ContentPart {
    ContentPart::Text(text.to_owned())
}

/// Three bytes that say they are of this type.
pub fn media(mime: &str) -> Media {
    Media { mime: mime.to_owned(), name: None, data: vec![1, 2, 3], url: None }
}

/// The same as a file that has a name.
pub fn named(mime: &str, name: &str) -> Media {
    Media { name: Some(name.to_owned()), ..media(mime) }
}

/// A picture.
pub fn picture() -> ContentPart {
    ContentPart::Image(media("image/png"))
}

/// A picture that the vendor has to fetch.
pub fn distant_picture() -> ContentPart {
    let url = Some("https://example.org/tea.png".to_owned());
    ContentPart::Image(Media { mime: "image/png".to_owned(), name: None, data: Vec::new(), url })
}

/// Rules.
pub fn system(words: &str) -> Message {
    Message::System(words.to_owned())
}

/// Something a person says.
pub fn user(words: &str) -> Message {
    Message::User(vec![text(words)])
}

/// Something the model said: a text, what it thought, and calls by id, name and arguments.
pub fn assistant(words: &str, reasoning: &str, calls: &[(&str, &str, &str)]) -> Message {
    let call = |(id, name, arguments): &(&str, &str, &str)| ToolCall {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    Message::Assistant(AssistantMessage {
        text: words.to_owned(),
        reasoning: reasoning.to_owned(),
        tool_calls: calls.iter().map(call).collect(),
        opaque: Vec::new(),
    })
}

/// What a tool answered.
pub fn result(call: &str, name: &str, content: Vec<ContentPart>) -> Message {
    Message::Tool(ToolMessage { call: call.to_owned(), name: name.to_owned(), content, failed: false })
}

/// A tool with the schema of its arguments.
pub fn tool(name: &str, parameters: &Value) -> ToolSpec {
    let description = format!("Does {name}.");
    ToolSpec { name: name.to_owned(), description, parameters: parameters.to_string() }
}

/// A window in which another vendor's model has called two tools side by side, and the turn goes on.
pub fn foreign_history() -> Vec<Message> {
    vec![
        system("You are kind."),
        user("Is there tea?"),
        assistant(
            "I look.",
            "another's thoughts",
            &[("call:1|a", "look", "{\"where\":\"pot\"}"), ("call:2|b", "ask", "oops")],
        ),
        result("call:1|a", "look", vec![text("half full"), picture()]),
        Message::Tool(ToolMessage {
            call: "call:2|b".to_owned(),
            name: "ask".to_owned(),
            content: Vec::new(),
            failed: true,
        }),
        system("It is Monday."),
    ]
}

/// The body of a request.
///
/// # Panics
///
/// It is not JSON.
pub fn body(request: &HttpRequest) -> Value {
    serde_json::from_slice(&request.body).expect("the body is JSON")
}

/// A whole answer.
pub fn response(status: u16, body: &str) -> HttpResponse {
    HttpResponse { status, headers: Vec::new(), body: body.as_bytes().to_vec() }
}

/// Events without a name.
pub fn events(data: &[&str]) -> Vec<StreamEvent> {
    data.iter().map(|data| StreamEvent { event: String::new(), data: (*data).to_owned() }).collect()
}

/// Each delta as one line.
pub fn lines(deltas: Vec<Delta>) -> Vec<String> {
    let line = |delta: Delta| match delta {
        Delta::Text(text) => format!("text {text}"),
        Delta::Reasoning(text) => format!("reasoning {text}"),
        Delta::ToolCall(call) => {
            let index = call.index.map_or("-".to_owned(), |index| index.to_string());
            let (id, name) = (call.id.unwrap_or("-".to_owned()), call.name.unwrap_or("-".to_owned()));
            format!("call {index} {id} {name} {}", call.arguments)
        }
        Delta::Usage(usage) => format!("usage {} {} {:?}", usage.input, usage.output, usage.cached),
        Delta::Finish(reason) => format!("finish {reason:?}"),
        Delta::Opaque(blob) => format!("opaque {} {}", blob.kind, blob.value),
        Delta::Error(failure) => format!("error {:?}: {}", failure.class, failure.message),
    };
    let short = |line: String| line.replace("FinishReason::", "").replace("FailureClass::", "");
    deltas.into_iter().map(|delta| short(line(delta))).collect()
}

/// Each model as one line: its id, window, longest answer, name for people, and what else is said of it. Why there is no
/// list is a line, too.
pub fn model_lines(models: Result<Vec<ModelInfo>, Failure>) -> Vec<String> {
    let number = |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
    let line = |model: ModelInfo| {
        let title = model.display_name.map_or(String::new(), |title| format!(" ({title})"));
        let meta: String = model.meta.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        format!("{} {} {}{title}{meta}", model.id, number(model.context_window), number(model.max_output))
    };
    match models {
        Ok(models) => models.into_iter().map(line).collect(),
        Err(failure) => vec![failure_line(&failure)],
    }
}

/// Vectors and what they cost, or why there are none, as one line.
pub fn vector_line(vectors: Result<Embeddings, Failure>) -> String {
    match vectors {
        Ok(Embeddings { vectors, usage }) => format!("{vectors:?} {:?}", usage.map(|usage| usage.input)),
        Err(failure) => failure_line(&failure),
    }
}

fn failure_line(failure: &Failure) -> String {
    format!("error {:?}: {}", failure.class, failure.message).replace("FailureClass::", "")
}

/// A request for vectors of two texts.
pub fn embedding_request(model: &str, purpose: EmbeddingPurpose) -> EmbeddingRequest {
    let texts = vec!["one".to_owned(), "two".to_owned()];
    EmbeddingRequest { model: model.to_owned(), texts, purpose, dimensions: Some(2), options: Vec::new() }
}

/// Gives what reads whole documents - lists of models, vectors - JSON and texts of all kinds.
///
/// # Panics
///
/// It does.
pub fn reads_anything(read: impl Fn(HttpResponse), names: &'static [&'static str]) {
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&(json_like(names, &["m", "1e40", "NaN"]), ".{0,40}"), |(value, garbage)| {
        read(response(200, &value.to_string()));
        read(response(200, &garbage));
        Ok(())
    });
    outcome.expect("no panic");
}

/// The message that an answer becomes in the history. Calls without an id get their place as one.
pub fn kept(deltas: Vec<Delta>) -> Message {
    let mut message =
        AssistantMessage { text: String::new(), reasoning: String::new(), tool_calls: Vec::new(), opaque: Vec::new() };
    for delta in deltas {
        match delta {
            Delta::Text(text) => message.text.push_str(&text),
            Delta::Reasoning(text) => message.reasoning.push_str(&text),
            Delta::Opaque(Opaque { kind, value }) => message.opaque.push(Opaque { kind, value }),
            Delta::ToolCall(piece) => match (piece.name, message.tool_calls.last_mut()) {
                (None, Some(call)) => call.arguments.push_str(&piece.arguments),
                (name, _) => {
                    let id = piece.id.unwrap_or_else(|| format!("made{}", message.tool_calls.len()));
                    let name = name.unwrap_or_default();
                    message.tool_calls.push(ToolCall { id, name, arguments: piece.arguments });
                }
            },
            Delta::Usage(_) | Delta::Finish(_) | Delta::Error(_) => {}
        }
    }
    Message::Assistant(message)
}

/// JSON that looks a little like an answer: `names` are those of the protocol's fields, `words` of their values.
pub fn json_like(names: &'static [&'static str], words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(words).prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(names), inner), 0..6)
                .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

/// Gives a reader JSON and texts of all kinds.
///
/// # Panics
///
/// The reader does.
pub fn survives<R: Reading>(
    reader: impl Fn() -> R,
    classify: impl Fn(HttpResponse) -> Failure,
    names: &'static [&'static str],
    words: &'static [&'static str],
) {
    let values = prop::collection::vec(json_like(names, words), 1..6);
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&(values, 100u16..600, ".{0,40}"), |(values, status, garbage)| {
        let mut going_on = reader();
        for value in &values {
            for event in ["", "error"] {
                let event = StreamEvent { event: event.to_owned(), data: value.to_string() };
                going_on.step(std::slice::from_ref(&event));
                reader().step(&[event]);
            }
            let response = response(status, &value.to_string());
            reader().whole(&response);
            classify(response);
        }
        going_on.step(&events(&[&garbage]));
        going_on.end();
        classify(response(status, &garbage));
        Ok(())
    });
    outcome.expect("no panic");
}
