//! Adapters of one's own: a vendor that nobody knows, over a real socket, and one that nearly speaks chat completions.

use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::daemon::{self, Daemon, Home};
use crate::vendor::{Reply, Vendor};

/// What Lantern was asked, and the parts of its answers, in order.
#[derive(Default)]
struct Lantern {
    asked: Mutex<Vec<Value>>,
    answers: Mutex<Vec<Vec<Value>>>,
}

async fn talk(State(lantern): State<Arc<Lantern>>, headers: HeaderMap, body: String) -> Response {
    if headers.get("x-lantern-key").is_none_or(|key| key != "the-key-of-lantern") {
        let trouble = json!({ "trouble": { "code": "no-entry", "text": "who are you?" } });
        return (StatusCode::BAD_REQUEST, trouble.to_string()).into_response();
    }
    lantern.asked.lock().expect("no panic").push(serde_json::from_str(&body).expect("it asks in JSON"));
    let parts = lantern.answers.lock().expect("no panic").remove(0);
    let stream: String = parts.iter().map(|part| format!("data: {part}\n\n")).collect();
    ([(header::CONTENT_TYPE, "text/event-stream")], stream).into_response()
}

/// Answers of two rounds: one calls a tool, the other says what came of it.
async fn lantern() -> (Arc<Lantern>, String) {
    let lantern = Arc::new(Lantern::default());
    *lantern.answers.lock().expect("no panic") = vec![
        vec![
            json!({ "muse": "I count." }),
            json!({ "use": { "ref": "u1", "gadget": "add", "with": "{\"numbers\":" } }),
            json!({ "use": { "with": "[\"40\",\"2\"]}" } }),
            json!({ "done": "gadget", "spent": { "heard": 10, "spoken": 5 } }),
        ],
        vec![json!({ "say": "It is " }), json!({ "say": "42. 🏮" }), json!({ "done": "settled" })],
    ];
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("it has an address"));
    let router = Router::new().route("/v1/talk", post(talk)).with_state(Arc::clone(&lantern));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (lantern, base_url)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("the folder can be listed") {
        let entry = entry.expect("an entry");
        if entry.path().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).expect("the folder takes files");
        }
    }
}

/// A whole turn with a call of a tool, and recorded answers through the adapter.
async fn talks_with_lantern(home: Arc<Home>) {
    let (lantern, base_url) = lantern().await;
    let daemon = home.start().await;
    let add = ["source", "add", "far", "--adapter", "lantern", "--base-url", &base_url, "--key-env", "LANTERN_KEY"];
    daemon.waiter_with(&add, &[("LANTERN_KEY", "the-key-of-lantern")]).await.ok();
    daemon.grant_all().await;
    assert!(daemon.reply("What is 40 and 2?").await.contains("It is 42. 🏮"));

    let asked = lantern.asked.lock().expect("no panic").clone();
    let [first, second] = &asked[..] else { panic!("{} rounds", asked.len()) };
    assert_eq!((&first["voice"], &first["live"]), (&json!("alto"), &json!(true)));
    assert!(first["gadgets"].as_array().is_some_and(|all| all.iter().any(|gadget| gadget["name"] == "add")));
    let lines = |round: &Value| round["dialogue"].as_array().cloned().expect("a dialogue");
    assert!(lines(first).iter().any(|line| line["who"] == "guest" && line["says"].to_string().contains("40 and 2")));
    let uses = json!([{ "ref": "u1", "gadget": "add", "with": "{\"numbers\":[\"40\",\"2\"]}" }]);
    assert!(lines(second).iter().any(|line| line["who"] == "me" && line["uses"] == uses), "{second:#}");
    let result = lines(second).into_iter().find(|line| line["who"] == "gadget").expect("what came of it");
    assert!(result["ref"] == "u1" && result["says"].to_string().contains("42"), "{result}");

    let recorded = Path::new("../../tests/corpora/lantern/words.stream").display().to_string();
    for chunk in ["1", "7", "100000"] {
        let got = daemon.waiter_json(&["adapter", "try", "lantern", &recorded, "--chunk", chunk]).await;
        assert_eq!((&got["text"], &got["finish"]), (&json!("Yes, there is té 🍵."), &json!("stop")), "{got:#}");
    }
}

#[tokio::test]
async fn a_vendor_that_nobody_knows_is_spoken_with_by_an_adapter_in_rust() {
    let home = Arc::new(Home::new());
    home.install("adapter-rust", "lantern");
    talks_with_lantern(home).await;
}

#[tokio::test]
async fn a_vendor_that_nobody_knows_is_spoken_with_by_a_script_in_lua() {
    let home = Arc::new(Home::new());
    copy(Path::new("../../examples/adapter-lua"), &home.path().join("plugins/lantern"));
    talks_with_lantern(home).await;
}

#[tokio::test]
async fn a_vendor_that_nobody_knows_is_spoken_with_by_a_script_in_javascript() {
    let Some(optional) = std::env::var_os("HOMEAGENT_OPTIONAL_PACKAGES") else {
        eprintln!("interpreter-js is not built: run .ci/components, and set HOMEAGENT_OPTIONAL_PACKAGES");
        return;
    };
    let home = Arc::new(Home::new());
    copy(&Path::new(&optional).join("interpreter-js"), &home.path().join("plugins/interpreter-js"));
    copy(Path::new("../../examples/adapter-js"), &home.path().join("plugins/lantern"));
    talks_with_lantern(home).await;
}

/// Makes a project for an adapter in the folder of plugins of a fresh data folder.
pub(crate) async fn project(language: &str) -> Arc<Home> {
    let home = Arc::new(Home::new());
    let plugins = home.path().join("plugins");
    std::fs::create_dir_all(&plugins).expect("a folder");
    let made = Command::new(daemon::waiter())
        .args(["plugin", "new", "my-vendor", "--adapter", "--lang", language, "--source"])
        .arg(std::fs::canonicalize("../..").expect("the source tree"))
        .current_dir(&plugins)
        .output()
        .await
        .expect("waiter can be started");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert_eq!(String::from_utf8_lossy(&made.stdout).split(" in the").next(), Some("my-vendor is an adapter"));
    home
}

/// What every such project does as it was made: it speaks chat completions.
pub(crate) async fn speaks_chat_completions(home: &Arc<Home>) -> Daemon {
    let vendor = Vendor::start().await;
    vendor.script([Reply::text("I am here.")]);
    let daemon = home.start().await;
    let url = &vendor.base_url;
    let add =
        ["source", "add", "mine", "--adapter", "my-vendor", "--base-url", url, "--model", "m", "--key-env", "MY_KEY"];
    daemon.waiter_with(&add, &[("MY_KEY", "my-own-key")]).await.ok();
    assert!(daemon.reply("Are you there?").await.contains("I am here."));
    let asked = vendor.asked(1).await;
    assert_eq!((asked.len(), asked[0].authorization.as_str()), (1, "Bearer my-own-key"));
    assert!(asked[0].says("Are you there?"));
    daemon
}

#[tokio::test]
async fn a_project_for_an_adapter_in_lua_speaks_chat_completions_as_it_is() {
    speaks_chat_completions(&project("lua").await).await;
}

#[tokio::test]
async fn a_project_for_an_adapter_in_javascript_speaks_chat_completions_as_it_is() {
    let Some(optional) = std::env::var_os("HOMEAGENT_OPTIONAL_PACKAGES") else {
        eprintln!("interpreter-js is not built: run .ci/components, and set HOMEAGENT_OPTIONAL_PACKAGES");
        return;
    };
    let home = project("js").await;
    copy(&Path::new(&optional).join("interpreter-js"), &home.path().join("plugins/interpreter-js"));
    speaks_chat_completions(&home).await;
}
