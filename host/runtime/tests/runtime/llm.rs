//! Plugins that ask the model, each from a budget of its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use homeagent_types::CallError;
use homeagent_types::model::{AssistantAnswer, Completion, ContentPart, FinishReason, Message, Prompt, Usage};
use homeagent_types::ports::{LineRequest, Models, ModelsFailure, PluginAdmin, Progress};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::house::{self, House};

/// A model that says how much it was, or does not.
struct FakeModels {
    asked: Mutex<Vec<Prompt>>,
    usage: Mutex<Option<Usage>>,
    /// Each permit lets one answer go out.
    gate: Semaphore,
    fails: Mutex<bool>,
}

#[async_trait]
impl Models for FakeModels {
    async fn complete(&self, request: LineRequest<'_>, _: &dyn Progress) -> Result<Completion, ModelsFailure> {
        self.asked.lock().expect("no panic").push(request.prompt.clone());
        self.gate.acquire().await.expect("it is never closed").forget();
        if *self.fails.lock().expect("no panic") {
            return Err(ModelsFailure { sentence: "no source answers".into(), tried: Vec::new(), partial: None });
        }
        let answer = AssistantAnswer {
            text: "certainly".into(),
            reasoning: String::new(),
            tool_calls: Vec::new(),
            opaque: Vec::new(),
            finish: Some(FinishReason::Stop),
            usage: *self.usage.lock().expect("no panic"),
            error: None,
        };
        Ok(Completion { source: "fake".into(), adapter: "fake".into(), model: "fake-1".into(), answer })
    }
}

async fn with_model() -> (House, Arc<FakeModels>) {
    let house = house::with(&["asker"]).await;
    let models = Arc::new(FakeModels {
        asked: Mutex::default(),
        usage: Mutex::new(Some(Usage { input: 30, output: 10, cached: None, cache_written: None })),
        gate: Semaphore::new(100),
        fails: Mutex::default(),
    });
    let shared: Arc<dyn Models> = Arc::clone(&models) as _;
    house.runtime.bind_models(Arc::downgrade(&shared));
    (house, models)
}

async fn ask(house: &House, text: &str, tokens: u32) -> Result<Value, CallError> {
    let answer = house.call("asker", "ask_model", &json!({ "text": text, "tokens": tokens }).to_string()).await?;
    Ok(serde_json::from_str(&answer).expect("it says JSON"))
}

#[tokio::test]
async fn a_plugin_gets_an_answer_and_pays_what_the_vendor_counted() {
    let (house, models) = with_model().await;
    house.secrets.set("source.x.key", "sk-marked-0123456789".into()).expect("a secret");
    let answer = ask(&house, "Is sk-marked-0123456789 a key?", 500).await.expect("there is budget");
    assert_eq!(answer, json!({ "text": "certainly", "used": 40, "estimated": false, "left": 960 }));
    let asked = models.asked.lock().expect("no panic").clone();
    assert_eq!(asked[0].max_tokens, Some(500));
    let text = ContentPart::Text("Is [secret source.x.key] a key?".into());
    assert_eq!(asked[0].messages, [Message::System("Be brief.".into()), Message::User(vec![text])]);
    assert!(asked[0].tools.is_empty());
}

#[tokio::test]
async fn beyond_its_budget_a_plugin_is_denied_in_words_and_the_model_is_not_asked() {
    let (house, models) = with_model().await;
    *models.usage.lock().expect("no panic") =
        Some(Usage { input: 500, output: 400, cached: None, cache_written: None });
    assert_eq!(ask(&house, "Why?", 500).await.expect("there is budget")["left"], 100);
    let denied = ask(&house, "And why that?", 500).await.expect_err("too little is left").to_string();
    for word in ["100 of the 1000 tokens", "asker"] {
        assert!(denied.contains(word), "{denied}");
    }
    assert_eq!(models.asked.lock().expect("no panic").len(), 1);
    // A short question still fits.
    ask(&house, "Why?", 10).await.expect("there is so much");
}

#[tokio::test]
async fn where_the_vendor_does_not_count_the_host_does_and_what_nobody_answered_costs_nothing() {
    let (house, models) = with_model().await;
    *models.usage.lock().expect("no panic") = None;
    let answer = ask(&house, &"x".repeat(300), 100).await.expect("there is budget");
    assert!(answer["estimated"] == true && answer["used"].as_u64().is_some_and(|used| used >= 100), "{answer}");
    let left = answer["left"].clone();
    *models.fails.lock().expect("no panic") = true;
    let failed = ask(&house, "Why?", 100).await.expect_err("no source answers").to_string();
    assert!(failed.contains("no source answers"), "{failed}");
    *models.fails.lock().expect("no panic") = false;
    *models.usage.lock().expect("no panic") = Some(Usage { input: 1, output: 1, cached: None, cache_written: None });
    let after = ask(&house, "Why?", 100).await.expect("there is budget");
    assert_eq!(after["left"].as_u64(), left.as_u64().map(|left| left - 2));
}

#[tokio::test]
async fn requests_at_one_time_are_few_and_take_from_one_budget() {
    let (house, models) = with_model().await;
    let begun = models.gate.forget_permits(100);
    assert_eq!(begun, 100);
    let refused = AtomicUsize::new(0);
    let one = async || {
        let answer = ask(&house, "Why?", 200).await;
        if answer == Err(CallError::Busy) {
            refused.fetch_add(1, Ordering::Relaxed);
        }
        answer
    };
    let asks = futures::future::join_all((0..6).map(|_| one()));
    let opens = async {
        house::until(|| refused.load(Ordering::Relaxed) == 2).await;
        models.gate.add_permits(100);
    };
    let (answers, ()) = tokio::join!(asks, opens);
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 4, "{answers:?}");
    assert_eq!(models.asked.lock().expect("no panic").len(), 4);
}

#[tokio::test]
async fn without_the_grant_nothing_is_asked() {
    let (house, models) = with_model().await;
    house.runtime.revoke("asker", "llm").await.expect("it had it");
    let denied = ask(&house, "Why?", 10).await.expect_err("it may not").to_string();
    assert_eq!(denied, "asking the model");
    assert!(models.asked.lock().expect("no panic").is_empty());
}

#[tokio::test]
async fn a_package_says_how_much_it_wants_or_is_refused() {
    let house = house::empty();
    let manifest = house.install("asker", "asker").join("plugin.toml");
    let good = std::fs::read_to_string(&manifest).expect("it is installed");
    let faults = [
        ("", "tokens_per_day"),
        ("tokens_per_day = 0", "has to be 1 to"),
        ("tokens_per_day = \"many\"", "[wants.llm]"),
        ("tokens_per_day = 10\ntokens = 10", "tokens"),
    ];
    for (line, words) in faults {
        std::fs::write(&manifest, good.replace("tokens_per_day = 1000", line)).expect("the folder takes files");
        let refused = house.runtime.load("asker").await.expect_err("it is wrong").to_string();
        assert!(refused.contains(words), "{refused}");
    }
}
