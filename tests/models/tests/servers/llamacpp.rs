//! The server of llama.cpp, with a tiny random model that speaks nonsense without an end.

use homeagent_model_tests::Home;
use homeagent_providers::SourceStanding;
use homeagent_providers::discovery::Discovery;
use homeagent_test_adapters::Native;
use homeagent_test_vendors::KEY;
use homeagent_types::model::{EmbeddingPurpose, EmbeddingRequest, FailureClass, FinishReason, HttpResponse};
use homeagent_types::ports::Adapters as _;
use serde_json::json;
use tokio::process::Command;

use crate::process::{Server, folder};
use crate::{hasty, says, says_with_tool, with_result};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/servers/llamacpp.py");

async fn llama_cpp(arguments: &[&str]) -> Option<Server> {
    let folder = folder()?;
    let mut command = Command::new(folder.join("venv/bin/python"));
    Some(Server::start(command.arg(SCRIPT).arg(folder.join("tiny.gguf")).args(arguments)).await)
}

/// A home with the server as its only source.
fn home(server: &Server) -> Home {
    let home = hasty();
    home.add("llamacpp", "openai", &format!("{}/v1", server.url), "tiny.gguf");
    home
}

#[tokio::test]
async fn it_is_found_and_answers_as_the_source_that_was_offered() {
    let Some(server) = llama_cpp(&[]).await else { return };
    let home = hasty();
    home.settings.set("core.discovery.llamacpp_url", json!(server.url)).expect("a setting");
    // Whatever else runs on this machine is not meant.
    home.settings.set("core.discovery.ollama_url", json!("http://127.0.0.1:1")).expect("a setting");
    let discovery = Discovery::new(home.settings.clone(), home.secrets.clone(), home.sources.clone(), |_| None);
    let found = discovery.look().await.expect("it looks");
    assert_eq!(found.offers.len(), 1, "{found:?}");
    let offer = &found.offers[0];
    assert_eq!((offer.name.as_str(), offer.needs_key), ("llamacpp", false));
    assert!(offer.model.ends_with("tiny.gguf"), "it names models after their files: {}", offer.model);
    discovery.accept("llamacpp", None).await.expect("it is taken");
    let completion = home.ask(&says("hello")).await.expect("it answers");
    assert_eq!(completion.source, "llamacpp");
    assert!(!completion.answer.text.is_empty());
    assert_eq!(completion.answer.finish, Some(FinishReason::Length), "the model never ends by itself");
    assert_eq!(home.watcher.text(), completion.answer.text, "it streams what it says");
    let usage = completion.answer.usage.expect("it tells what it took");
    assert!(usage.input > 0 && usage.output == 40, "{usage:?}");
}

#[tokio::test]
async fn a_tool_is_called_and_its_result_is_taken() {
    let Some(server) = llama_cpp(&[]).await else { return };
    let home = home(&server);
    let prompt = says_with_tool("Which cup?");
    let called = home.ask(&prompt).await.expect("it answers").answer;
    assert_eq!(called.finish, Some(FinishReason::ToolCalls), "{called:?}");
    assert_eq!(called.tool_calls.len(), 1, "{called:?}");
    let call = &called.tool_calls[0];
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).expect("JSON");
    assert_eq!((call.name.as_str(), arguments), ("look", json!({"n": 1})));
    let answer = home.ask(&with_result(prompt, &called, "a blue one")).await.expect("it answers").answer;
    assert!(answer.tool_calls.is_empty() && !answer.text.is_empty(), "{answer:?}");
}

#[tokio::test]
async fn the_right_key_is_taken_and_a_wrong_one_said() {
    let Some(server) = llama_cpp(&["--key", KEY]).await else { return };
    let home = home(&server);
    home.ask(&says("hello")).await.expect("the key is right");
    home.secrets.set("key", "sk-wrong".into()).expect("stored");
    let failure = home.ask(&says("hello")).await.expect_err("the key is wrong");
    assert_eq!(failure.tried[0].1.class, FailureClass::Auth);
    assert!(failure.sentence.contains("`llamacpp` has no valid key"), "{}", failure.sentence);
    assert_eq!(home.state("llamacpp").standing, SourceStanding::Disabled);
    home.keeps_its_key(&format!("{failure:?}"));
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_said_to_be() {
    let Some(server) = llama_cpp(&[]).await else { return };
    let home = home(&server);
    let failure = home.ask(&says(&"tea ".repeat(1000))).await.expect_err("it is too long");
    assert_eq!(failure.tried[0].1.class, FailureClass::ContextOverflow, "{failure:?}");
    assert_eq!(home.state("llamacpp").standing, SourceStanding::Ready, "it is the request's fault");
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_at_the_server_too() {
    let Some(server) = llama_cpp(&[]).await else { return };
    let home = home(&server);
    let mut endless = says("hello");
    endless.max_tokens = Some(900);
    tokio::select! {
        answer = home.ask(&endless) => panic!("it has ended already: {answer:?}"),
        () = async {
            while home.watcher.text().is_empty() {
                tokio::task::yield_now().await;
            }
        } => {}
    }
    // The server has one place: the next request is answered because the first has left it.
    home.ask(&says("hello")).await.expect("there is place");
}

#[tokio::test]
async fn its_models_are_listed() {
    let Some(server) = llama_cpp(&[]).await else { return };
    let mut session = Native.open("openai").await.expect("it opens");
    let Ok(request) = session.build_models_request(&Vec::new()).await else {
        println!("skipped: the adapter lists no models");
        return;
    };
    let body = server.administer(&request.method, &format!("/v1{}", request.path), "").await;
    let response = HttpResponse { status: 200, headers: Vec::new(), body: body.into_bytes() };
    let models = session.parse_models(response).await.expect("it reads").expect("a list");
    assert_eq!(models.len(), 1);
    assert!(models[0].id.ends_with("tiny.gguf"), "{:?}", models[0]);
    assert_eq!(models[0].context_window, Some(1024));
}

#[tokio::test]
async fn texts_become_vectors() {
    let Some(server) = llama_cpp(&["--embeddings"]).await else { return };
    let mut session = Native.open("openai").await.expect("it opens");
    let request = EmbeddingRequest {
        model: "tiny.gguf".to_owned(),
        texts: vec!["tea".to_owned(), "a long walk".to_owned()],
        purpose: EmbeddingPurpose::Document,
        dimensions: None,
        options: Vec::new(),
    };
    let Ok(request) = session.build_embedding_request(&request).await else {
        println!("skipped: the adapter makes no vectors");
        return;
    };
    let body = String::from_utf8(request.body).expect("text");
    let body = server.administer(&request.method, &format!("/v1{}", request.path), &body).await;
    let response = HttpResponse { status: 200, headers: Vec::new(), body: body.into_bytes() };
    let embeddings = session.parse_embeddings(response).await.expect("it reads").expect("vectors");
    let lengths: Vec<usize> = embeddings.vectors.iter().map(Vec::len).collect();
    assert_eq!(lengths, [64, 64]);
    assert_ne!(embeddings.vectors[0], embeddings.vectors[1]);
}
