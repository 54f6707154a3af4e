//! The same adapter in several languages, and what becomes of scripts that are adapters and go wrong.

use std::path::{Path, PathBuf};

use homeagent_providers::assembler::{AnswerLimits, Assembler};
use homeagent_providers::framing::{EVENT_LIMIT, Framer};
use homeagent_providers::{CaseAnswer, try_adapter};
use homeagent_types::CallError;
use homeagent_types::model::{
    AssistantAnswer, ContentPart, FailureClass, HttpResponse, KeyPlacement, Message, ModelDelta, ModelRequest, Prompt,
    StreamEvent, ToolChoice, ToolSpec,
};
use homeagent_types::ports::{Adapters, Haste, PluginAdmin as _};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::greeters::{examples, install, interpreters, optional};
use crate::house::{self, House};

/// Recorded answers of the vendor, and what they have to come to.
struct Case {
    name: String,
    bytes: Vec<u8>,
    expected: Value,
}

impl Case {
    fn check(&self, answer: AssistantAnswer, how: &str) {
        let answer = serde_json::to_value(CaseAnswer::from(answer)).expect("JSON");
        for field in ["text", "reasoning", "finish", "error"] {
            assert_eq!(answer[field], self.expected[field], "{}, {how}: {field} of {answer:#}", self.name);
        }
        for field in ["input", "output"] {
            let (got, expected) = (&answer["usage"][field], &self.expected["usage"][field]);
            assert_eq!(got, expected, "{}, {how}: {field}", self.name);
        }
        let calls = |value: &Value| -> Vec<Value> {
            let calls = value["tool_calls"].as_array().expect("a list");
            calls.iter().map(|call| json!([call["name"], call["arguments"]])).collect()
        };
        assert_eq!(calls(&answer), calls(&self.expected), "{}, {how}", self.name);
    }
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpora/lantern");
    let entries = std::fs::read_dir(folder).expect("the corpus is there");
    let streams =
        entries.map(|entry| entry.expect("readable").path()).filter(|path| path.extension() == Some("stream".as_ref()));
    let case = |path: PathBuf| {
        let expected = std::fs::read(path.with_extension("expected.json")).expect("readable");
        let expected = serde_json::from_slice(&expected).expect("JSON");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        Case { name, bytes: std::fs::read(path).expect("readable"), expected }
    };
    let cases: Vec<_> = streams.map(case).collect();
    assert!(cases.len() >= 5, "the corpus is not whole");
    cases
}

fn push(assembler: &mut Assembler, deltas: Vec<ModelDelta>) {
    for delta in deltas {
        assembler.push(delta);
    }
}

/// Puts the answer together from a stream that is cut at these places.
async fn answer(adapters: &dyn Adapters, bytes: &[u8], cuts: &[usize]) -> AssistantAnswer {
    let framing = adapters.descriptor("lantern").expect("it is loaded").framing;
    let mut session = adapters.open("lantern").await.expect("it is loaded");
    let mut assembler = Assembler::new(AnswerLimits::default());
    let mut framer = Framer::new(framing, EVENT_LIMIT);
    let mut start = 0;
    for end in cuts.iter().copied().chain([bytes.len()]) {
        let mut events = Vec::new();
        framer.push(&bytes[start..end], &mut events).expect("small enough");
        push(&mut assembler, session.step(events).await.expect("it works"));
        start = end;
    }
    let mut events = Vec::new();
    framer.finish(&mut events).expect("small enough");
    push(&mut assembler, session.step(events).await.expect("it works"));
    push(&mut assembler, session.end().await.expect("it works"));
    assembler.finish()
}

fn form() -> Value {
    json!({ "type": "object", "properties": { "where": { "type": "string" } }, "required": ["where"] })
}

fn request() -> ModelRequest {
    let tools = vec![ToolSpec { name: "look".into(), description: "Looks.".into(), parameters: form() }];
    let messages = vec![Message::System("Be kind.".into()), Message::User(vec![ContentPart::Text("Tea?".into())])];
    ModelRequest {
        model: "alto".into(),
        prompt: Prompt { messages, tools, tool_choice: ToolChoice::Auto, max_tokens: None },
        temperature: None,
        max_tokens: None,
        thinking: None,
        stream: true,
        options: Vec::new(),
    }
}

fn response(status: u16, body: &str) -> HttpResponse {
    HttpResponse { status, headers: Vec::new(), body: body.into() }
}

/// What every `examples/adapter-*` does.
async fn speaks_with_lantern(house: &House) {
    let status = house.runtime.list().into_iter().find(|status| status.name == "lantern").expect("it is listed");
    assert_eq!(status.state, "live", "{:?}", status.reason);
    let adapters = house.runtime.adapters();
    let descriptor = adapters.descriptor("lantern").expect("it is loaded");
    assert_eq!(descriptor.key, KeyPlacement::Header("x-lantern-key".into()));
    assert!(["tools", "streaming", "reasoning", "model-listing"].iter().all(|feature| descriptor.has(feature)));
    assert!(!descriptor.has("images") && !descriptor.has("embeddings"));

    let mut session = adapters.open("lantern").await.expect("it is loaded");
    let http = session.build_request(&request()).await.expect("it can be said");
    assert_eq!((http.method.as_str(), http.path.as_str()), ("POST", "/talk"));
    let body: Value = serde_json::from_slice(&http.body).expect("JSON");
    let expected = json!({ "voice": "alto", "live": true,
        "dialogue": [{ "who": "guide", "says": "Be kind." }, { "who": "guest", "says": "Tea?" }],
        "gadgets": [{ "name": "look", "about": "Looks.", "form": form() }] });
    assert_eq!(body, expected);

    let http = session.build_models_request(&Vec::new()).await.expect("it lists them");
    assert_eq!((http.method.as_str(), http.path.as_str()), ("GET", "/voices"));
    let listed = response(200, r#"{"voices":[{"name":"alto","reach":8000},{"name":"bass"}]}"#);
    let models = session.parse_models(listed).await.expect("it works").expect("they are listed");
    let models: Vec<_> = models.into_iter().map(|model| (model.id, model.context_window)).collect();
    assert_eq!(models, [("alto".to_owned(), Some(8000)), ("bass".to_owned(), None)]);

    for (status, body, class) in [
        (400, r#"{"trouble":{"code":"no-entry","text":"who are you?"}}"#, FailureClass::Auth),
        (503, "<html>busy</html>", FailureClass::Overloaded),
    ] {
        assert_eq!(session.classify_error(response(status, body)).await.expect("it works").class, class);
    }

    for case in cases() {
        for chunk in [0, 1, 2, 3, 5, 7, 16, 64] {
            let answer = try_adapter(&*adapters, "lantern", &case.bytes, chunk).await.expect("it works");
            case.check(answer, &format!("{chunk} bytes at a time"));
        }
    }
    let streams: Vec<_> = cases().into_iter().filter(|case| case.name != "whole").collect();
    let places = (0..streams.len(), prop::collection::vec(any::<prop::sample::Index>(), 0..8));
    let mut runner = TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
    let here = tokio::runtime::Handle::current();
    let outcome = tokio::task::block_in_place(|| {
        runner.run(&places, |(case, places)| {
            let case = &streams[case];
            let mut cuts: Vec<usize> = places.iter().map(|place| place.index(case.bytes.len() + 1)).collect();
            cuts.sort_unstable();
            case.check(here.block_on(answer(&*adapters, &case.bytes, &cuts)), &format!("cut at {cuts:?}"));
            Ok(())
        })
    });
    outcome.expect("a cut makes no difference");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_adapter_in_rust_does_what_every_adapter_does() {
    let house = house::empty();
    house.install("adapter-rust", "lantern");
    house.runtime.load_all().await;
    speaks_with_lantern(&house).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_adapter_in_lua_does_what_every_adapter_does() {
    let house = house::with_shared_cache(interpreters());
    install(&house, &examples().join("adapter-lua"));
    house.runtime.load_all().await;
    speaks_with_lantern(&house).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_adapter_in_javascript_does_what_every_adapter_does() {
    let Some(interpreter) = optional("interpreter-js") else { return };
    let house = house::with_shared_cache(interpreters());
    install(&house, &interpreter);
    install(&house, &examples().join("adapter-js"));
    house.runtime.load_all().await;
    speaks_with_lantern(&house).await;
}

const MANIFEST: &str = "[plugin]\nname = \"own\"\nversion = \"1.0.0\"\nscript = \"main.lua\"\nkind = \"adapter\"\n";

fn lay(house: &House, main: &str, limits: &str) {
    let folder = house.plugins().join("own");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("plugin.toml"), format!("{MANIFEST}{limits}")).expect("the folder takes files");
    std::fs::write(folder.join("main.lua"), main).expect("the folder takes files");
}

async fn with_adapter(main: &str) -> House {
    with_limited_adapter(main, "").await
}

async fn with_limited_adapter(main: &str, limits: &str) -> House {
    let house = house::with_shared_cache(interpreters());
    lay(&house, main, limits);
    house.runtime.load_all().await;
    house
}

/// Why the adapter was refused.
async fn refused(main: &str) -> String {
    let house = with_adapter(main).await;
    let status = house.runtime.list().into_iter().find(|status| status.name == "own").expect("it is listed");
    assert_eq!(status.state, "refused");
    status.reason.unwrap_or_default()
}

fn events(data: &[&str]) -> Vec<StreamEvent> {
    data.iter().map(|data| StreamEvent { event: String::new(), data: (*data).to_owned() }).collect()
}

#[tokio::test]
async fn a_fault_in_an_adapters_script_is_a_failure_of_its_source_with_file_and_line() {
    let main = "local homeagent = require('homeagent')\n\
                homeagent.adapter {\n\
                transform_request = function(request) return { path = '/' .. request.options.none.field } end,\n\
                transform_stream_chunk = function(event)\n\
                if event.json.ask then return { text = homeagent.setting('x') } end\n\
                if event.json.wait then homeagent.submit { user = 'x', text = 'y' } end\n\
                return { text = event.json.say, txet = event.json.wrong } end,\n\
                transform_error = function(response) return response.json.none.field end }\n";
    let house = with_adapter(main).await;
    let adapters = house.runtime.adapters();
    let mut session = adapters.open("own").await.expect("it is loaded");
    let error = session.build_request(&request()).await.expect_err("the script is wrong");
    assert!(matches!(&error, CallError::Invalid(words) if words.contains("main.lua:3:")), "{error}");

    // What came before the fault is kept, and what comes after it is not read.
    for (wrong, words) in [
        (r#"{"say":"a","wrong":1}"#, "txet"),
        ("null", "main.lua:5:"),
        (r#"{"ask":1}"#, "main.lua:5:"),
        (r#"{"wait":1}"#, "main.lua:6:"),
        (r#"{"say":"#, "not JSON"),
    ] {
        let mut session = adapters.open("own").await.expect("it is loaded");
        let deltas = session.step(events(&[r#"{"say":"a"}"#, wrong, r#"{"say":"b"}"#])).await.expect("it is an answer");
        assert!(
            matches!(&deltas[..], [ModelDelta::Text(text), ModelDelta::Error(failure)]
                if text == "a" && failure.class == FailureClass::Protocol && failure.message.contains(words)),
            "{wrong}: {deltas:?}"
        );
        assert_eq!(session.end().await.expect("the instance lives"), []);
    }
    let whole = session.parse_response(response(200, "{}")).await.expect("it is an answer");
    assert!(matches!(&whole[..], [ModelDelta::Error(failure)] if failure.message.contains("transform_response")));
    // What the status says is not lost by it.
    let failure = session.classify_error(response(429, r#"{"error":"slow down"}"#)).await.expect("it is a failure");
    assert_eq!(failure.class, FailureClass::RateLimited);
    assert!(failure.message.contains("slow down") && failure.message.contains("main.lua:8:"), "{failure:?}");
    let error = session.build_models_request(&Vec::new()).await.expect_err("it lists none");
    assert!(error.to_string().contains("transform_models_request"), "{error}");
}

#[tokio::test]
async fn a_script_that_is_no_adapter_is_refused_with_what_it_lacks() {
    let begin = "local homeagent = require('homeagent')\n";
    for (main, words) in [
        ("local x = = 1\n", "main.lua:1:"),
        (begin, "homeagent.adapter"),
        (&format!("{begin}homeagent.adapter {{}}\n"), "main.lua:2:"),
        (&format!("{begin}homeagent.adapter {{ transform_request = print }}\n"), "transform_stream_chunk"),
        (&format!("{begin}homeagent.setting('x')\n"), "main.lua:2: an adapter"),
    ] {
        let reason = refused(main).await;
        assert!(reason.contains(words), "{reason}");
    }
}

#[tokio::test]
async fn an_adapters_script_has_the_limits_of_any_guest_and_the_next_call_begins_afresh() {
    let main = "local homeagent = require('homeagent')\n\
                local count = 0\n\
                homeagent.adapter {\n\
                transform_request = function() while true do end end,\n\
                transform_stream_chunk = function(event)\n\
                if event.data == 'hoard' then local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end end\n\
                if event.data == 'recurse' then local function f() return 1 + f() end return f() end\n\
                count = count + 1 return { text = tostring(count) } end }\n";
    let house = with_limited_adapter(main, "[limits]\nmemory_mib = 64\n").await;
    let adapters = house.runtime.adapters();
    let text = |deltas: Vec<ModelDelta>| match &deltas[..] {
        [ModelDelta::Text(text)] => text.clone(),
        other => panic!("{other:?}"),
    };
    for _ in 0..2 {
        let mut session = adapters.open("own").await.expect("it is loaded");
        for count in ["1", "2"] {
            assert_eq!(text(session.step(events(&["on"])).await.expect("it works")), count);
        }
        let deep = session.step(events(&["recurse"])).await.expect("it is the script's error");
        assert!(matches!(&deep[..], [ModelDelta::Error(failure)] if failure.message.contains("stack overflow")));
        let mut session = adapters.open("own").await.expect("it is loaded");
        let error = session.step(events(&["hoard"])).await.expect_err("memory has an end").to_string();
        assert!(error.contains("64 MiB"), "{error}");
        let error = session.step(events(&["on"])).await.expect_err("the instance is gone").to_string();
        assert!(error.contains("failed before"), "{error}");
    }
    let mut session = adapters.open("own").await.expect("it is loaded");
    session.build_request(&request()).await.expect_err("a loop has an end");
}

#[tokio::test]
async fn what_nearly_speaks_chat_completions_is_a_few_lines() {
    let main = "local homeagent = require('homeagent')\n\
                local completions = homeagent.completions\n\
                homeagent.adapter {\n\
                transform_request = function(request)\n\
                local http = completions.request(request, { images = false })\n\
                http.path, http.json.top_k = '/v2/chat', 5\n\
                return http end,\n\
                transform_stream_chunk = completions.chunk,\n\
                transform_response = completions.response }\n";
    let house = with_adapter(main).await;
    let adapters = house.runtime.adapters();
    let mut session = adapters.open("own").await.expect("it is loaded");
    let http = session.build_request(&request()).await.expect("it can be said");
    let body: Value = serde_json::from_slice(&http.body).expect("JSON");
    assert_eq!(
        (http.path.as_str(), &body["top_k"], &body["messages"][1]["content"]),
        ("/v2/chat", &json!(5), &json!("Tea?"))
    );
    assert_eq!(body["tools"][0]["function"]["parameters"]["required"], json!(["where"]));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpora/llm-streams");
    let mut tried = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("readable").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".stream").filter(|name| name.starts_with("openai__")) else { continue };
        let expected = std::fs::read(path.with_file_name(format!("{name}.expected.json"))).expect("readable");
        let expected = serde_json::from_slice(&expected).expect("JSON");
        let case = Case { name: name.to_owned(), bytes: std::fs::read(&path).expect("readable"), expected };
        for chunk in [0, 3] {
            let answer = try_adapter(&*adapters, "own", &case.bytes, chunk).await.expect("it works");
            case.check(answer, &format!("{chunk} bytes at a time"));
        }
        tried += 1;
    }
    assert!(tried >= 5, "only {tried} were tried");
}

#[tokio::test]
async fn a_saved_adapter_speaks_as_it_was_saved_and_a_wrong_one_leaves_what_ran() {
    let main = |word: &str| {
        format!(
            "require('homeagent').adapter {{ transform_request = function() return {{ path = '/' }} end,\n\
             transform_response = function() return {{ text = '{word}' }} end }}\n"
        )
    };
    let house = with_adapter(&main("one")).await;
    let said = async || {
        let adapters = house.runtime.adapters();
        let mut session = adapters.open("own").await.expect("it is loaded");
        session.parse_response(response(200, "{}")).await.expect("it works")
    };
    assert_eq!(said().await, [ModelDelta::Text("one".into())]);
    lay(&house, &main("two"), "");
    house.runtime.reload("own", Haste::default()).await.expect("it is good");
    assert_eq!(said().await, [ModelDelta::Text("two".into())]);
    lay(&house, "error('no')\n", "");
    let error = house.runtime.reload("own", Haste::default()).await.expect_err("it is wrong").to_string();
    assert!(error.contains("main.lua:1:"), "{error}");
    assert_eq!(said().await, [ModelDelta::Text("two".into())]);
}

#[tokio::test]
async fn an_adapter_that_is_a_script_says_which_interpreter_is_missing() {
    let house = house::empty();
    install(&house, &examples().join("adapter-lua"));
    house.runtime.load_all().await;
    let status = house.runtime.list().into_iter().find(|status| status.name == "lantern").expect("it is listed");
    assert!(status.reason.as_deref().is_some_and(|reason| reason.contains("no interpreter of .lua")), "{status:?}");
}
