//! The contract's other records as scripts have them.

use std::collections::BTreeMap;

use homeagent_sdk::Error;
use homeagent_sdk::adapter::{
    Descriptor, EmbeddingPurpose, EmbeddingRequest, Embeddings, Features, Framing, HttpRequest, HttpResponse,
    KeyPlacement, ModelInfo, StreamEvent,
};
use homeagent_sdk::script::{Program, from_json, list};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::deltas::RawUsage;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDescriptor {
    #[serde(default)]
    summary: String,
    base_url: Option<String>,
    model: Option<String>,
    #[serde(default)]
    key: RawKey,
    #[serde(default)]
    framing: RawFraming,
    #[serde(default, deserialize_with = "list")]
    features: Vec<RawFeature>,
    /// The names of the functions that the script has.
    #[serde(default, deserialize_with = "list")]
    functions: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawKey {
    #[default]
    None,
    Bearer,
    Header(String),
    Query(String),
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawFraming {
    #[default]
    Sse,
    Ndjson,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawFeature {
    Tools,
    Images,
    Audio,
    Streaming,
    Reasoning,
    Embeddings,
    ModelListing,
}

/// What a script's functions can be called.
const FUNCTIONS: [&str; 9] = [
    "transform_request",
    "transform_response",
    "transform_stream_chunk",
    "transform_error",
    "end_of_stream",
    "transform_models_request",
    "transform_models",
    "transform_embedding_request",
    "transform_embeddings",
];

/// What the script says of its adapter. What its functions alone can do needs no mention: streaming, listing models,
/// embeddings.
pub(super) fn descriptor(program: &Program, told: Value) -> Result<Descriptor, Error> {
    let raw: RawDescriptor = from_json("the adapter", told)?;
    if let Some(unknown) = raw.functions.iter().find(|name| !FUNCTIONS.contains(&name.as_str())) {
        let known = FUNCTIONS.join(", ");
        return Err(Error::other(format!("the adapter has no use for a function `{unknown}`; there are {known}")));
    }
    let has = |name: &str| raw.functions.iter().any(|function| function == name);
    if !has("transform_response") && !has("transform_stream_chunk") {
        return Err(Error::other("the adapter needs `transform_stream_chunk` or `transform_response` to read answers"));
    }
    let mut features: Features = raw.features.iter().fold(Features::empty(), |all, one| all | (*one).into());
    for (function, feature) in [
        ("transform_stream_chunk", Features::STREAMING),
        ("transform_models", Features::MODEL_LISTING),
        ("transform_embeddings", Features::EMBEDDINGS),
    ] {
        if has(function) {
            features |= feature;
        }
    }
    Ok(Descriptor {
        default_base_url: raw.base_url,
        default_model: raw.model,
        key: match raw.key {
            RawKey::None => KeyPlacement::None,
            RawKey::Bearer => KeyPlacement::Bearer,
            RawKey::Header(name) => KeyPlacement::Header(name),
            RawKey::Query(name) => KeyPlacement::Query(name),
        },
        framing: match raw.framing {
            RawFraming::Sse => Framing::Sse,
            RawFraming::Ndjson => Framing::Ndjson,
        },
        features,
        ..Descriptor::new(&program.plugin, &program.version).summary(&raw.summary)
    })
}

impl From<RawFeature> for Features {
    fn from(raw: RawFeature) -> Self {
        match raw {
            RawFeature::Tools => Features::TOOLS,
            RawFeature::Images => Features::IMAGES,
            RawFeature::Audio => Features::AUDIO,
            RawFeature::Streaming => Features::STREAMING,
            RawFeature::Reasoning => Features::REASONING,
            RawFeature::Embeddings => Features::EMBEDDINGS,
            RawFeature::ModelListing => Features::MODEL_LISTING,
        }
    }
}

/// `path`, and `body` (a text) or `json` (any value) where there is one; `method` and `headers` (by name).
pub(super) fn http_request(function: &str, returned: Value) -> Result<HttpRequest, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Raw {
        method: Option<String>,
        path: String,
        #[serde(default)]
        headers: BTreeMap<String, String>,
        body: Option<String>,
        json: Option<Value>,
    }
    let raw: Raw = from_json(&format!("what {function} returned"), returned)?;
    let has_body = raw.body.is_some() || raw.json.is_some();
    let mut headers: Vec<_> = raw.headers.into_iter().collect();
    if raw.json.is_some() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    let body = raw.json.map(|json| json.to_string()).or(raw.body).unwrap_or_default();
    let method = raw.method.unwrap_or_else(|| if has_body { "POST" } else { "GET" }.to_owned());
    Ok(HttpRequest { method, path: raw.path, headers, body: body.into_bytes() })
}

/// A request as a script may return it.
pub(super) fn request_form(request: HttpRequest) -> Value {
    let headers: Map<String, Value> =
        request.headers.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
    let json: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    json!({ "method": request.method, "path": request.path, "headers": headers, "json": json })
}

/// `status`, `headers` (by name, in lower case), `body`, and `json` where the body is JSON.
pub(super) fn response(response: &HttpResponse) -> Value {
    let mut headers = BTreeMap::<&str, String>::new();
    for (name, value) in &response.headers {
        let known = headers.entry(name).or_default();
        *known = if known.is_empty() { value.clone() } else { format!("{known}, {value}") };
    }
    let mut told = json!({ "status": response.status, "headers": headers, "body": response.text() });
    if let Ok(json) = serde_json::from_slice(&response.body) {
        told["json"] = json;
    }
    told
}

/// The answer that a script was handed.
pub(super) fn response_back(told: Value) -> Result<HttpResponse, Error> {
    #[derive(Deserialize)]
    struct Raw {
        status: u16,
        #[serde(default)]
        headers: BTreeMap<String, String>,
        body: String,
    }
    let raw: Raw = from_json("the answer", told)?;
    Ok(HttpResponse { status: raw.status, headers: raw.headers.into_iter().collect(), body: raw.body.into_bytes() })
}

/// `data`, `event` where it has a name, and `json` where the data is JSON.
pub(super) fn event(event: &StreamEvent, json: Option<Value>) -> Value {
    let mut told = json!({ "data": event.data });
    if !event.event.is_empty() {
        told["event"] = event.event.as_str().into();
    }
    if let Some(json) = json {
        told["json"] = json;
    }
    told
}

/// The event that a script was handed.
pub(super) fn event_back(told: Value) -> Result<StreamEvent, Error> {
    #[derive(Deserialize)]
    struct Raw {
        #[serde(default)]
        event: String,
        data: String,
    }
    let Raw { event, data } = from_json("the event", told)?;
    Ok(StreamEvent { event, data })
}

/// A list of names, or of `id`, `display_name`, `context_window` and `max_output`.
pub(super) fn models(returned: Value) -> Result<Vec<ModelInfo>, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Raw {
        id: String,
        display_name: Option<String>,
        context_window: Option<u32>,
        max_output: Option<u32>,
    }
    #[derive(Deserialize)]
    struct All(#[serde(deserialize_with = "list")] Vec<Value>);
    let All(all) = from_json("the models", returned)?;
    let one = |told: Value| match told {
        Value::String(id) => {
            Ok(ModelInfo { id, display_name: None, context_window: None, max_output: None, meta: Vec::new() })
        }
        told => from_json("a model", told).map(|Raw { id, display_name, context_window, max_output }| ModelInfo {
            id,
            display_name,
            context_window,
            max_output,
            meta: Vec::new(),
        }),
    };
    all.into_iter().map(one).collect()
}

/// `model`, `texts`, `purpose` (`document` or `query`), `dimensions` and `options`.
pub(super) fn embedding_request(request: &EmbeddingRequest) -> Value {
    let purpose = match request.purpose {
        EmbeddingPurpose::Document => "document",
        EmbeddingPurpose::Query => "query",
    };
    let options: Map<String, Value> =
        request.options.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    let mut told = json!({ "model": request.model, "texts": request.texts, "purpose": purpose, "options": options });
    if let Some(dimensions) = request.dimensions {
        told["dimensions"] = dimensions.into();
    }
    told
}

/// `vectors`, one for each text in their order, and `usage`.
pub(super) fn embeddings(returned: Value) -> Result<Embeddings, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Raw {
        #[serde(deserialize_with = "list")]
        vectors: Vec<Vec<f32>>,
        usage: Option<RawUsage>,
    }
    let Raw { vectors, usage } = from_json("the embeddings", returned)?;
    Ok(Embeddings { vectors, usage: usage.map(Into::into) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        Program { plugin: "x".into(), version: "1".into(), files: Vec::new() }
    }

    #[test]
    fn a_description_says_what_the_functions_can_do() {
        let told = json!({ "key": { "header": "x-key" }, "framing": "ndjson", "features": ["tools"],
            "functions": ["transform_request", "transform_stream_chunk", "transform_models"] });
        let descriptor = descriptor(&program(), told).expect("it is right");
        assert_eq!(descriptor.features, Features::TOOLS | Features::STREAMING | Features::MODEL_LISTING);
        assert!(matches!(descriptor.key, KeyPlacement::Header(name) if name == "x-key"));
        assert_eq!((descriptor.name.as_str(), descriptor.framing), ("x", Framing::Ndjson));
    }

    #[test]
    fn a_description_that_is_wrong_is_told_where() {
        for (told, word) in [
            (json!({ "functions": ["transform_request", "transform_respnse"] }), "transform_respnse"),
            (json!({ "functions": ["transform_request"] }), "transform_stream_chunk"),
            (json!({ "base_ulr": "x", "functions": ["transform_response"] }), "base_ulr"),
            (json!({ "key": "baerer", "functions": ["transform_response"] }), "baerer"),
        ] {
            let error = descriptor(&program(), told).expect_err("it is wrong").message();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_request_is_posted_where_it_has_a_body() {
        let get = http_request("f", json!({ "path": "/models" })).expect("it is right");
        assert_eq!((get.method.as_str(), get.headers.len()), ("GET", 0));
        let post = http_request("f", json!({ "path": "/chat", "json": { "a": 1 } })).expect("it is right");
        assert_eq!((post.method.as_str(), post.body.as_slice()), ("POST", br#"{"a":1}"#.as_slice()));
        assert_eq!(post.headers, [("content-type".to_owned(), "application/json".to_owned())]);
    }

    #[test]
    fn models_are_names_or_say_more() {
        let told = models(json!(["a", { "id": "b", "context_window": 4096 }])).expect("they are right");
        let told: Vec<_> = told.into_iter().map(|model| (model.id, model.context_window)).collect();
        assert_eq!(told, [("a".to_owned(), None), ("b".to_owned(), Some(4096))]);
        assert!(models(json!({})).expect("an empty list").is_empty());
    }
}
