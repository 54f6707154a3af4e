//! Sources that are found: keys in the environment, and servers of models on this machine.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Redirect};
use axum::routing::get;
use serde_json::{Value, json};

use crate::daemon::{Daemon, Home, KEY};
use crate::secrets::no_file_holds_the_key;
use crate::vendor::{Reply, Vendor};

/// A server on a free port; ends with the test. Returns its address, without a scheme.
async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it has an address").to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

fn tells(document: Value) -> axum::routing::MethodRouter {
    get(move || async move { axum::Json(document) })
}

fn ollama() -> Router {
    let model = |name: &str, family: &str| json!({ "name": name, "model": name, "details": { "family": family } });
    let models = [
        model("all-minilm:33m", "bert"),
        model("qwen3-embedding:0.6b", "qwen3"),
        model("qwen3:8b", "qwen3"),
        model("llama3.2:3b", "llama"),
    ];
    Router::new().route("/api/tags", tells(json!({ "models": models })))
}

fn llama_cpp() -> Router {
    let models =
        json!({ "object": "list", "data": [{ "id": "gemma-3-4b.gguf", "object": "model", "owned_by": "llamacpp" }] });
    Router::new().route("/health", tells(json!({ "status": "ok" }))).route("/v1/models", tells(models))
}

async fn offers(daemon: &Daemon) -> Value {
    let (status, found) = daemon.get("/api/v1/sources/offers").await;
    assert_eq!(status, 200, "{found}");
    found
}

async fn refused(daemon: &Daemon, path: &str) -> (u16, String) {
    let (status, problem) = daemon.post(path, &json!({})).await;
    (status, problem["detail"].as_str().unwrap_or_else(|| panic!("no detail in {problem}")).to_owned())
}

#[tokio::test]
async fn a_key_in_the_environment_is_offered_and_serves_once_it_is_accepted_and_is_nowhere_in_clear() {
    let vendor = Vendor::start().await;
    let home = Arc::new(Home::new());
    let other = ("OPENAI_API_KEY", "sk-other");
    let environment = [("DEEPSEEK_API_KEY", KEY), ("DEEPSEEK_BASE_URL", &*vendor.base_url), other];
    let mut daemon = home.start_with(&environment).await;
    let found = offers(&daemon).await;
    let offer = &found["offers"][0];
    assert_eq!(
        (&offer["name"], &offer["model"], &offer["base_url"], &offer["found_in"], &offer["needs_key"]),
        (
            &json!("deepseek"),
            &json!("deepseek-v4-flash"),
            &json!(vendor.base_url),
            &json!("environment variable DEEPSEEK_API_KEY"),
            &json!(true)
        )
    );
    assert!(!found.to_string().contains(KEY), "{found}");
    let listed = daemon.waiter(&["source", "list"]).await.ok();
    assert!(listed.contains("`waiter source accept deepseek`"), "{listed}");
    let odd = daemon.waiter(&["source", "accept", "deepseek", "--model", "two words"]).await;
    assert!(odd.stderr.contains("its model is empty or has spaces"), "{}", odd.stderr);
    let accepted = daemon.waiter(&["source", "accept", "deepseek"]).await.ok();
    assert!(accepted.contains("its key is set") && !accepted.contains(KEY), "{accepted}");

    vendor.script([Reply::text("hello")]);
    assert_eq!(daemon.reply("hello").await, "hello");
    let asked = &vendor.asked(1).await[0];
    assert_eq!(asked.authorization, format!("Bearer {KEY}"));
    let body = &asked.body;
    assert_eq!((&body["thinking"], &body["max_tokens"]), (&json!({ "type": "disabled" }), &json!(4096)));
    assert_eq!(body["temperature"], json!(0.7));
    assert_eq!(body["model"], "deepseek-v4-flash");

    let left = offers(&daemon).await;
    assert_eq!((left["offers"].as_array().map(Vec::len), &left["offers"][0]["name"]), (Some(1), &json!("openai")));
    let (status, detail) = refused(&daemon, "/api/v1/sources/offers/deepseek/accept").await;
    assert!(status == 409 && detail.contains("already"), "{status} {detail}");
    daemon.signal(rustix::process::Signal::TERM);
    daemon.child.wait().await.expect("it ends");
    no_file_holds_the_key(home.path());
}

#[tokio::test]
async fn servers_on_the_machine_are_offered_with_a_model_that_talks() {
    let (ollama, llama_cpp) = (serve(ollama()).await, serve(llama_cpp()).await);
    let (host, port) = llama_cpp.split_once(':').expect("an address");
    let environment = [("OLLAMA_HOST", &*ollama), ("LLAMA_ARG_HOST", host), ("LLAMA_ARG_PORT", port)];
    let daemon = Arc::new(Home::new()).start_with(&environment).await;
    let found = offers(&daemon).await;
    let named = |index: usize| [&found["offers"][index]["name"], &found["offers"][index]["model"]];
    assert_eq!(named(0), ["ollama", "qwen3:8b"]);
    assert_eq!(named(1), ["llamacpp", "gemma-3-4b.gguf"]);
    let offer = &found["offers"][0];
    assert_eq!((&offer["adapter"], &offer["base_url"]), (&json!("ollama"), &json!(format!("http://{ollama}"))));
    assert_eq!(offer["options"], json!({ "num_ctx": "16384" }));
    assert_eq!(found["offers"][1]["options"], json!({ "preset": "llamacpp" }));
    assert_eq!(found["offers"][0]["found_in"], format!("Ollama at http://{ollama}"));
    let (status, detail) = refused(&daemon, "/api/v1/sources/offers/none/accept").await;
    assert!(status == 404 && detail.contains("ollama, llamacpp"), "{status} {detail}");
    let wrong = daemon.waiter(&["source", "accept", "ollama", "--model", "gpt-5"]).await;
    assert!(!wrong.status.success() && wrong.stderr.contains("qwen3:8b"), "{}", wrong.stderr);
    let source = daemon.waiter_json(&["source", "accept", "ollama", "--model", "llama3.2:3b"]).await;
    assert_eq!((&source["model"], &source["key"]), (&json!("llama3.2:3b"), &json!("not set")));
}

#[tokio::test]
async fn whatever_else_answers_there_is_not_offered_and_is_told() {
    let page = get(|| async { ([(header::CONTENT_TYPE, "text/html")], "<html>router</html>") });
    let elsewhere = get(|| async { Redirect::temporary("http://elsewhere.example/api/tags") });
    let large = get(|| async { ([(header::CONTENT_TYPE, "application/json")], Body::from(vec![b' '; 10 << 20])) });
    let wrong = get(|| async { (StatusCode::OK, "{\"models\": 7}").into_response() });
    let empty = tells(json!({ "models": [] }));
    let cases = [
        (page, "web page"),
        (elsewhere, "redirect"),
        (large, "more than 1048576 bytes"),
        (wrong, "another answer"),
        (empty, "no model to talk to"),
        (get(std::future::pending::<()>), "did not begin to answer"),
    ];
    let daemon = Arc::new(Home::new()).start().await;
    for (answer, told) in cases {
        let url = format!("http://{}", serve(Router::new().route("/api/tags", answer)).await);
        daemon.waiter(&["settings", "set", "core.discovery.ollama_url", &url]).await.ok();
        let found = offers(&daemon).await;
        assert_eq!(found["offers"], json!([]), "{told}");
        assert!(found["notes"].to_string().contains(told), "{told}: {found}");
    }
    for (odd, told) in [("", "is empty"), ("ftp://x", "is no address"), ("http://u:pw-1@host", "is no address")] {
        daemon.waiter(&["settings", "set", "core.discovery.ollama_url", odd]).await.ok();
        let notes = offers(&daemon).await["notes"].to_string();
        assert!(notes.contains(told) && notes.contains("core.discovery.ollama_url"), "{odd}: {notes}");
        assert!(!notes.contains("pw-1"), "{notes}");
    }
    daemon.waiter(&["settings", "set", "core.discovery.enabled", "off"]).await.ok();
    let off = daemon.waiter(&["source", "offers"]).await;
    assert!(!off.status.success() && off.stderr.contains("core.discovery.enabled on"), "{}", off.stderr);
}

#[tokio::test]
async fn the_only_source_that_is_found_is_used_and_one_that_was_removed_does_not_come_back() {
    let vendor = Vendor::start().await;
    let home = Arc::new(Home::new());
    let environment = [("DEEPSEEK_API_KEY", KEY), ("DEEPSEEK_BASE_URL", &*vendor.base_url)];
    let mut daemon = home.start_with(&environment).await;
    let log = daemon.logged("`waiter source remove deepseek` undoes it").await;
    assert!(log.contains("environment variable DEEPSEEK_API_KEY") && !log.contains(KEY), "{log}");
    let status = daemon.waiter(&["status"]).await.ok();
    assert!(status.contains("deepseek (deepseek-v4-flash)"), "{status}");
    vendor.script([Reply::text("hello")]);
    assert_eq!(daemon.reply("hello").await, "hello");
    daemon.waiter(&["source", "remove", "deepseek"]).await.ok();
    daemon.signal(rustix::process::Signal::TERM);
    daemon.child.wait().await.expect("it ends");

    let daemon = home.start_with(&environment).await;
    daemon.logged("`waiter settings unset core.discovery.adopt` has it taken by itself again").await;
    assert_eq!(daemon.get("/api/v1/sources").await.1, json!([]));
}

#[tokio::test]
async fn of_two_keys_none_is_used_until_the_owner_chooses_in_a_chat() {
    let environment = [("DEEPSEEK_API_KEY", KEY), ("XAI_API_KEY", "xai-1")];
    let daemon = Arc::new(Home::new()).start_with(&environment).await;
    let log = daemon.logged("several are found").await;
    assert!(log.contains("`waiter source accept deepseek` or `waiter source accept xai`"), "{log}");
    assert!(!log.contains(KEY), "{log}");
    assert_eq!(daemon.get("/api/v1/sources").await.1, json!([]));

    let shown = choose(&daemon, "").await;
    assert!(shown.contains("1  deepseek with deepseek-v4-flash (environment variable DEEPSEEK_API_KEY)"), "{shown}");
    assert_eq!(daemon.get("/api/v1/sources").await.1, json!([]), "the end of the input chooses nothing");
    let shown = choose(&daemon, "7\n2\n").await;
    assert!(shown.contains("That is none of them.") && shown.contains("xai is used"), "{shown}");
    assert_eq!(daemon.get("/api/v1/sources").await.1[0]["name"], "xai");
    assert_eq!(choose(&daemon, "\n").await, "", "a daemon with a source asks nothing");
}

#[tokio::test]
async fn whoever_declines_is_not_asked_again_until_the_setting_is_unset() {
    let daemon = Arc::new(Home::new()).start_with(&[("DEEPSEEK_API_KEY", KEY), ("XAI_API_KEY", "xai-1")]).await;
    let shown = choose(&daemon, "none\n").await;
    assert!(shown.contains("`waiter settings unset core.discovery.adopt`"), "{shown}");
    assert_eq!(choose(&daemon, "\n").await, "");
    daemon.waiter(&["settings", "unset", "core.discovery.adopt"]).await.ok();
    assert!(choose(&daemon, "\n").await.contains("deepseek is used"));
}

#[tokio::test]
async fn a_home_where_nothing_is_found_says_how_to_add_a_source() {
    let daemon = Arc::new(Home::new()).start_with(&[("GEMINI_API_KEY", "")]).await;
    let log = daemon.logged("none is found, so the rehearsal answers").await;
    assert!(log.contains("`waiter source add` adds one") && log.contains("GEMINI_API_KEY is set and empty"), "{log}");
}

/// What a chat on a terminal begins with, for somebody who types this.
async fn choose(daemon: &Daemon, typed: &str) -> String {
    let mut shown = Vec::new();
    let chosen = homeagent_waiter::choose_source(daemon.home.path(), &mut typed.as_bytes(), &mut shown).await;
    chosen.unwrap_or_else(|failure| panic!("{}", failure.sentence()));
    String::from_utf8(shown).expect("it shows UTF-8")
}
