//! The OpenAPI document, and whether real answers are as it says.

use std::collections::{BTreeMap, BTreeSet};

use homeagent_journal::RunStatus;
use hyper::Method;
use serde_json::{Value, json};

use crate::house::{Answer, House};

/// Those operations that do not stand below `/api/v1`.
const METRICS: &str = "/metrics";
const FILE: &str = "/media/{address}";

/// The bytes and the address of a medium.
const NOTE: &str = "a note";
const ADDRESS: &str = "f63e34a034f19a24438f2d74b242bc96682abd843ecc4ea63fefed4006d860a3";

const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

struct Document(Value);

impl Document {
    async fn of(house: &House) -> Self {
        Self(house.local(Method::GET, "/api/v1/openapi.json", "").await.ok())
    }

    /// Every operation, by method and path.
    fn operations(&self) -> BTreeMap<(String, String), &Value> {
        let paths = self.0["paths"].as_object().unwrap();
        let all = paths.iter().flat_map(|(path, item)| {
            METHODS.iter().filter_map(|method| Some(((path.clone(), method.to_uppercase()), item.get(method)?)))
        });
        all.collect()
    }

    /// Fails where the operation may not give this answer.
    #[track_caller]
    fn check(&self, path: &str, method: &Method, answer: &Answer) {
        let operation = self.operations()[&(path.to_owned(), method.to_string())].clone();
        let status = answer.status.as_u16();
        let response = &operation["responses"][status.to_string()];
        assert!(response.is_object(), "{method} {path} does not say that it answers {status}: {}", answer.body);
        let kind = answer.header("content-type");
        let content = &response["content"];
        let content = if content["*/*"].is_object() && status == 200 { &content["*/*"] } else { &content[kind] };
        assert!(content.is_object(), "{method} {path} does not say that {status} is {kind}");
        for header in response["headers"].as_object().into_iter().flat_map(|headers| headers.keys()) {
            assert!(!answer.header(header).is_empty(), "{method} {path} answers {status} without {header}");
        }
        if !kind.ends_with("json") {
            return;
        }
        let mut schema = content["schema"].clone();
        // References in it begin at the root of the document.
        schema["components"] = self.0["components"].clone();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let answer = answer.json();
        let faults: Vec<String> =
            validator.iter_errors(&answer).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(faults.is_empty(), "{method} {path} {status}: {faults:#?}\n{answer:#}");
    }
}

#[tokio::test]
async fn the_document_says_what_every_operation_can_answer() {
    let house = House::open().await;
    let document = Document::of(&house).await;
    let lines = document.operations().into_iter().map(|((path, method), operation)| {
        let statuses: Vec<&str> = operation["responses"].as_object().unwrap().keys().map(String::as_str).collect();
        format!("{method} {path} {}: {}", operation["operationId"].as_str().unwrap(), statuses.join(" "))
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[tokio::test]
async fn every_operation_is_described() {
    let house = House::open().await;
    let document = Document::of(&house).await;
    let tags: Vec<&Value> = document.0["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    let mut ids = BTreeSet::new();
    for (place, operation) in document.operations() {
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{place:?}: its id is taken");
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{place:?}");
        assert!(operation["tags"].as_array().unwrap().iter().all(|tag| tags.contains(&tag)), "{place:?}");
        let open = operation["security"].is_array();
        assert_eq!(open, operation["responses"]["401"].is_null(), "{place:?}");
        assert_eq!(open, place.0 == "/api/v1/ping");
    }
    assert_eq!(document.0["openapi"], "3.1.0");
    assert_eq!(document.0["components"]["securitySchemes"]["token"]["scheme"], "bearer");
}

#[tokio::test]
async fn descriptions_are_for_readers_of_the_api() {
    let house = House::open().await;
    let mut descriptions = Vec::new();
    collect_descriptions(&Document::of(&house).await.0, &mut descriptions);
    assert!(!descriptions.is_empty());
    let linking: Vec<_> = descriptions.iter().filter(|text| text.contains("[`") || text.contains("crate::")).collect();
    assert!(linking.is_empty(), "links into the sources: {linking:#?}");
}

/// All texts that stand under `description` or `summary`, however deep.
fn collect_descriptions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let ("description" | "summary", Value::String(text)) = (name.as_str(), value) {
                    found.push(text.clone());
                }
                collect_descriptions(value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect_descriptions(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn the_document_is_the_same_over_both_transports_and_needs_the_token() {
    let house = House::open().await;
    let path = "/api/v1/openapi.json";
    let (local, remote) = (house.local(Method::GET, path, "").await, house.remote(Method::GET, path, "").await);
    assert_eq!(local.body, remote.body);
    let host = house.gateway.addr().to_string();
    house.bare(Method::GET, path, &[("host", &host)], "").await.problem(401);
}

#[tokio::test]
async fn real_answers_are_as_the_document_says() {
    let house = House::open().await;
    // No server of this machine is asked what it offers.
    for server in ["core.discovery.ollama_url", "core.discovery.llamacpp_url"] {
        house.settings.set(server, "http://127.0.0.1:1").unwrap();
    }
    let document = Document::of(&house).await;
    let run = house.journal.start_run("cli:owner", "cli:owner", &[]).await.unwrap().run;
    house.journal.finish_run(&run, Vec::new(), RunStatus::Completed, Some("stop"), None, json!({})).await.unwrap();
    let mut answered = BTreeSet::new();
    for (method, template, names, body, status) in requests(&run) {
        let whole = if template == METRICS || (template == FILE && method == Method::GET) {
            template.to_owned()
        } else {
            format!("/api/v1{template}")
        };
        let path = names.iter().fold(whole.clone(), |path, (name, value)| path.replace(&format!("{{{name}}}"), value));
        let template = whole.split('?').next().unwrap().to_owned();
        let answer = house.remote(method.clone(), &path, body).await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path}: {}", answer.body);
        document.check(&template, &method, &answer);
        if status == 200 {
            answered.insert((template, method.to_string()));
        }
    }
    let missing: Vec<_> = document.operations().into_keys().filter(|place| !answered.contains(place)).collect();
    // A stream, one that needs a run at work, and those that need a server of models: they have tests of their own.
    let expected = [
        ("/api/v1/events", "GET"),
        ("/api/v1/runs/{id}/cancel", "POST"),
        ("/api/v1/sources/offers/{name}/accept", "POST"),
        ("/api/v1/sources/{name}/models", "GET"),
    ];
    assert_eq!(missing, expected.map(|(path, method)| (path.to_owned(), method.to_owned())));
}

#[tokio::test]
async fn the_models_of_a_vendor_are_as_the_document_says_and_its_refusal_is_told() {
    let house = House::open().await;
    let document = Document::of(&house).await;
    let listed = r#"[{"id":"b","display_name":"Bee","context_window":8192,"max_output":null,"meta":[]},
        {"id":"a","display_name":null,"context_window":null,"max_output":512,"meta":[["kind","embedding"]]}]"#;
    let url = crate::fakes::vendor(vec![(200, listed), (401, "no such key")]).await;
    let source = json!({"adapter": "vendor", "base_url": url, "model": "b"}).to_string();
    house.remote(Method::PUT, "/api/v1/sources/main", source).await.ok();
    for status in [200, 502] {
        let answer = house.remote(Method::GET, "/api/v1/sources/main/models", "").await;
        assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
        document.check("/api/v1/sources/{name}/models", &Method::GET, &answer);
        let answer = answer.json();
        if status == 200 {
            assert_eq!((&answer["current"], &answer["models"][0]["id"]), (&json!("b"), &json!("a")));
        } else {
            assert!(answer["detail"].as_str().unwrap().contains("no such key"), "{answer}");
        }
    }
}

type Asked = (Method, &'static str, Vec<(&'static str, String)>, &'static str, u16);

/// A text that can be imported.
const HOUSE: &str = "# House\n\nThe boiler stands in the cellar.\n";

/// A price that can be set.
const PRICE: &str = r#"{"model":"*","valid_from":"2026-11-01","currency":"EUR","rates":{"input":"1","output":"2"},
    "bands":[{"since":"22:00","until":"06:00","weekdays":[1],"above":1000,"rates":{"input":"1","output":"2"}}]}"#;

/// Requests whose answers are looked at: method, path, what its names stand for, body, and the status of the answer.
fn requests(run: &str) -> Vec<Asked> {
    let (get, put, post, delete) = (Method::GET, Method::PUT, Method::POST, Method::DELETE);
    let name = |name: &str| vec![("name", name.to_owned())];
    let key = |key: &str| vec![("key", key.to_owned())];
    let id = |id: &str| vec![("id", id.to_owned())];
    let grant = |plugin: &str| vec![("name", plugin.to_owned()), ("capability", "http".to_owned())];
    let account = |user: &str| vec![("channel", "qq".to_owned()), ("user", user.to_owned())];
    let address = |address: &str| vec![("address", address.to_owned())];
    let passage = |place: &str| vec![("kind", "said".to_owned()), ("place", place.to_owned())];
    let none = Vec::new;
    let mut all = vec![
        (get.clone(), "/ping", none(), "", 200),
        (get.clone(), "/openapi.json", none(), "", 200),
        (get.clone(), "/status", none(), "", 200),
        (get.clone(), METRICS, none(), "", 200),
        (post.clone(), "/chat", none(), r#"{"text":"hi"}"#, 200),
        (post.clone(), "/chat", none(), r#"{"text":""}"#, 422),
        (post.clone(), "/chat", none(), r#"{"text":"busy"}"#, 429),
        (post.clone(), "/chat", none(), "{", 400),
        (post.clone(), "/stop", none(), "", 200),
        (post.clone(), "/stop", none(), r#"{"run":"none"}"#, 404),
        (get.clone(), "/runs", none(), "", 200),
        (get.clone(), "/runs?limit=none", none(), "", 400),
        (get.clone(), "/runs?limit=0", none(), "", 422),
        (get.clone(), "/runs/{id}", id(run), "", 200),
        (get.clone(), "/runs/{id}", id("none"), "", 404),
        (post.clone(), "/runs/{id}/cancel", id(run), "", 409),
        (get.clone(), "/tools", none(), "", 200),
        (post.clone(), "/tools/{name}", name("echo"), r#"{"a":[1,null]}"#, 200),
        (post.clone(), "/tools/{name}", name("shy"), "", 403),
        (post.clone(), "/tools/{name}", name("slow"), "", 504),
        (post.clone(), "/tools/{name}", name("none"), "", 404),
        (get.clone(), "/costs", none(), "", 200),
        (get.clone(), "/costs?by=plugin&since=2026-11-01", none(), "", 200),
        (get.clone(), "/costs?by=weather", none(), "", 400),
        (get.clone(), "/prices", none(), "", 200),
        (put.clone(), "/prices", none(), PRICE, 200),
        (put.clone(), "/prices", none(), "{}", 422),
        (delete.clone(), "/prices?model=*", none(), "", 200),
        (delete.clone(), "/prices?model=*", none(), "", 404),
        (get.clone(), "/models", none(), "", 200),
        (post.clone(), "/models", none(), r#"{"from":"/tmp/e5"}"#, 200),
        (post.clone(), "/models", none(), r#"{"from":"bert"}"#, 404),
        (put.clone(), "/models/used", none(), r#"{"name":"e5"}"#, 200),
        (put.clone(), "/models/used", none(), r#"{"name":null}"#, 200),
        (put.clone(), "/models/used", none(), r#"{"name":"bert"}"#, 404),
        (post.clone(), "/models/test", none(), r#"{"text":"a","other":"b"}"#, 200),
        (post.clone(), "/models/test", none(), "{}", 422),
        (get.clone(), "/timers", none(), "", 200),
        (get.clone(), "/timers?limit=7&after=tea", none(), "", 200),
        (get.clone(), "/timers?limit=0", none(), "", 422),
        (post.clone(), "/timers/{name}/pause", name("tea"), "", 200),
        (post.clone(), "/timers/{name}/resume?of=cli:ann", name("tea"), "", 200),
        (post.clone(), "/timers/{name}/resume", name("none"), "", 404),
        (delete.clone(), "/timers/{name}", name("tea"), "", 200),
        (delete.clone(), "/timers/{name}", name("none"), "", 404),
        (get.clone(), "/plugins", none(), "", 200),
        (get.clone(), "/plugin-folders", none(), "", 200),
        (post.clone(), "/plugins", none(), r#"{"folder":"/tmp/qq"}"#, 200),
        (post.clone(), "/plugins", none(), r#"{"archive":"/tmp/qq"}"#, 200),
        (post.clone(), "/plugins", none(), r#"{"folder":"/tmp/broken"}"#, 422),
        (post.clone(), "/plugins", none(), "{}", 422),
        (delete.clone(), "/plugins/{name}", name("qq"), "", 200),
        (delete.clone(), "/plugins/{name}", name("none"), "", 404),
        (post.clone(), "/plugins/{name}/grant/{capability}", grant("calc"), "", 200),
        (post.clone(), "/plugins/{name}/revoke/{capability}", grant("calc"), "", 200),
        (post.clone(), "/plugins/{name}/revoke/{capability}", grant("none"), "", 404),
        (get.clone(), "/settings", none(), "", 200),
        (get.clone(), "/settings/export?all=true", none(), "", 200),
        (post.clone(), "/settings/import", none(), "[core.agent]\nrounds = 6\n", 200),
        (post.clone(), "/settings/import", none(), "[core.agent]\nrounds = 0\n", 422),
        (get.clone(), "/settings/{key}", key("core.gateway.listen"), "", 200),
        (get.clone(), "/settings/{key}", key("none"), "", 404),
        (put.clone(), "/settings/{key}", key("core.agent.rounds"), r#"{"value":5}"#, 200),
        (put.clone(), "/settings/{key}", key("core.agent.rounds"), r#"{"value":"many"}"#, 422),
        (delete.clone(), "/settings/{key}", key("core.agent.rounds"), "", 200),
        (put.clone(), "/sources/{name}", name("main"), r#"{"adapter":"parrot","key":"k"}"#, 200),
        (put, "/sources/{name}", name("main"), r#"{"adapter":"none"}"#, 422),
        (Method::PATCH, "/sources/{name}", name("main"), r#"{"model":"m"}"#, 200),
        (Method::PATCH, "/sources/{name}", name("none"), "{}", 404),
        (Method::PATCH, "/sources/{name}", name("main"), r#"{"model":"a b"}"#, 422),
        (get.clone(), "/sources", none(), "", 200),
        (post.clone(), "/sources/{name}/use", name("main"), "", 200),
        (post.clone(), "/sources/{name}/test", name("main"), "", 200),
        (post.clone(), "/sources/{name}/test", name("none"), "", 404),
        (get.clone(), "/sources/{name}/models", name("main"), "", 422),
        (get.clone(), "/sources/{name}/models", name("none"), "", 404),
        (get.clone(), "/sources/offers", none(), "", 200),
        (post.clone(), "/sources/offers/{name}/accept", name("none"), "", 404),
        (delete.clone(), "/sources/{name}", name("main"), "", 200),
        (delete.clone(), "/sources/{name}", name("main"), "", 404),
        (post.clone(), "/adapters/{name}/try", name("parrot"), "data: one\n\n", 200),
        (post.clone(), "/adapters/{name}/try", name("none"), "", 404),
        (post.clone(), "/owner/pair", none(), "", 200),
        (get.clone(), "/owner/pair?wait=1", none(), "", 200),
        (get.clone(), "/owner/pair?wait=11", none(), "", 422),
        (post.clone(), "/bindings", none(), r#"{"channel":"qq","user":"1","role":"member"}"#, 200),
        (post.clone(), "/bindings", none(), r#"{"channel":"qq","user":"1","role":"king"}"#, 422),
        (get.clone(), "/bindings", none(), "", 200),
        (post.clone(), "/media", none(), NOTE, 200),
        (post.clone(), "/media", none(), "", 422),
        (get.clone(), "/media", none(), "", 200),
        (get.clone(), "/memory", none(), "", 200),
        (Method::POST, "/memory/forget", none(), r#"{"what":{"text":"团子"},"dry_run":true}"#, 200),
        (Method::POST, "/memory/forget", none(), r#"{"what":{"document":"none"}}"#, 404),
        (Method::POST, "/memory/forget", none(), r#"{"what":{"all":true}}"#, 422),
        (post.clone(), "/memory/reindex", none(), "", 200),
        (post.clone(), "/memory/export", none(), r#"{"path":"/tmp/new.jsonl"}"#, 200),
        (post.clone(), "/memory/export", none(), r#"{"path":"/tmp/there.jsonl"}"#, 409),
        (post.clone(), "/memory/import", none(), r#"{"path":"/tmp/new.jsonl"}"#, 200),
        (post.clone(), "/memory/import", none(), r#"{"path":"/tmp/broken.jsonl"}"#, 422),
        (get.clone(), "/memory/search?text=cat", none(), "", 200),
        (get.clone(), "/memory/search", none(), "", 400),
        (get.clone(), "/memory/search?text=cat&limit=0", none(), "", 422),
        (get.clone(), "/memory/passages/{kind}/{place}", passage("7"), "", 200),
        (get.clone(), "/memory/passages/{kind}/{place}", passage("9"), "", 404),
        (get.clone(), "/memory/graph", none(), "", 200),
        (get.clone(), "/memory/runs/{run}", vec![("run", run.to_owned())], "", 200),
        (get.clone(), FILE, address(ADDRESS), "", 200),
        (get.clone(), FILE, address("0000000000000000"), "", 404),
        (delete.clone(), FILE, address(ADDRESS), "", 200),
        (delete.clone(), FILE, address(ADDRESS), "", 404),
        (post.clone(), "/knowledge/import?file=house.md", none(), HOUSE, 200),
        (post.clone(), "/knowledge/import?file=house.md", none(), "another text", 409),
        (post.clone(), "/knowledge/import?file=house.md&how=replace", none(), HOUSE, 200),
        (post.clone(), "/knowledge/import?file=house.pdf", none(), HOUSE, 422),
        (post.clone(), "/knowledge/import?file=house.md&how=well", none(), HOUSE, 400),
        (get.clone(), "/knowledge", none(), "", 200),
        (get.clone(), "/knowledge/search?text=boiler&limit=3&base=house", none(), "", 200),
        (get.clone(), "/knowledge/search?text=boiler&limit=0", none(), "", 422),
        (get.clone(), "/knowledge/search?text=boiler&audience=cats", none(), "", 422),
        (get.clone(), "/knowledge/bases/{name}", name("house"), "", 200),
        (get.clone(), "/knowledge/bases/{name}", name("none"), "", 404),
        (get.clone(), "/knowledge/bases/{name}/section?heading=house", name("house"), "", 200),
        (get.clone(), "/knowledge/bases/{name}/section?heading=roof", name("house"), "", 404),
        (post.clone(), "/knowledge/reindex", none(), "", 200),
        (post.clone(), "/knowledge/reindex?base=none", none(), "", 404),
        (delete.clone(), "/knowledge/bases/{name}", name("house"), "", 200),
        (delete.clone(), "/knowledge/bases/{name}", name("house"), "", 404),
        (get, "/questions", none(), "", 200),
        (post.clone(), "/questions/{id}", id("3"), r#"{"allow":true}"#, 200),
        (post.clone(), "/questions/{id}", id("4"), r#"{"allow":false}"#, 404),
        (post.clone(), "/questions/{id}", id("three"), r#"{"allow":false}"#, 400),
        (delete.clone(), "/bindings/{channel}/{user}", account("1"), "", 200),
        (delete, "/bindings/{channel}/{user}", account("1"), "", 404),
        (post.clone(), "/channels/{name}/try", name("qq"), r#"[{"name":"a","frame":{},"want":{}}]"#, 200),
        (post.clone(), "/channels/{name}/try", name("none"), "{}", 404),
        (post.clone(), "/channels/{name}/try", name("qq"), "7", 422),
    ];
    for path in ["/plugins/{name}/reload", "/plugins/{name}/load", "/plugins/{name}/unload"] {
        all.push((post.clone(), path, name("calc"), "", 200));
        all.push((post.clone(), path, name("none"), "", 404));
    }
    all.push((post.clone(), "/plugins/{name}/reload?wait=5&force=true", name("calc"), "", 200));
    all.push((post.clone(), "/plugins/{name}/reload?wait=0", name("calc"), "", 409));
    all.push((post.clone(), "/plugins/{name}/reload?wait=soon", name("calc"), "", 400));
    all.push((post.clone(), "/plugins/{name}/reload?wait=601", name("calc"), "", 422));
    all.push((post.clone(), "/agent/stop", none(), "", 200));
    all.push((post.clone(), "/chat", none(), r#"{"text":"hi"}"#, 503));
    all.push((post, "/agent/start", none(), "", 200));
    all
}
