//! Plugins that ask what the agent remembers, each as far as those may know it who read what comes of it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use homeagent_types::ports::{Haste, PluginAdmin, PluginMemory, Plugins};
use homeagent_types::recollection::{KnowledgeBase, KnowledgePassage, KnownPerson, Remembered};
use homeagent_types::{CallError, Cause};
use serde_json::{Value, json};

use crate::house::{self, House};

/// Writes down for whom it was asked, by the cause's audience.
#[derive(Default)]
struct FakeMemory {
    asked: Mutex<Vec<(String, Option<String>)>>,
}

impl FakeMemory {
    fn note_down(&self, what: &str, cause: Option<&Cause>) {
        let whom = cause.map(|cause| cause.audience.to_string());
        self.asked.lock().expect("no panic").push((what.to_owned(), whom));
    }

    fn asked(&self) -> Vec<(String, Option<String>)> {
        self.asked.lock().expect("no panic").clone()
    }
}

#[async_trait]
impl PluginMemory for FakeMemory {
    async fn recall(&self, text: String, _: usize, cause: Option<&Cause>) -> Result<Vec<Remembered>, CallError> {
        self.note_down(&text, cause);
        Ok(vec![Remembered {
            id: "said-7".into(),
            kind: "said".into(),
            text: "我对花生过敏".into(),
            speaker: Some("qq:1".into()),
            conversation: None,
            at: 1,
            score: 0.5,
        }])
    }

    async fn note(&self, plugin: &str, text: String, cause: Option<&Cause>) -> Result<String, CallError> {
        self.note_down(&format!("{plugin}: {text}"), cause);
        Ok("note-1".to_owned())
    }

    async fn search_knowledge(
        &self,
        text: String,
        base: Option<String>,
        _: usize,
        cause: Option<&Cause>,
    ) -> Result<Vec<KnowledgePassage>, CallError> {
        self.note_down(&text, cause);
        let base = base.unwrap_or_else(|| "garden".to_owned());
        Ok(vec![KnowledgePassage { base, headings: vec![], text: "Water it.".into(), line: 3, score: 1.0 }])
    }

    async fn bases(&self, cause: Option<&Cause>) -> Result<Vec<KnowledgeBase>, CallError> {
        self.note_down("bases", cause);
        Ok(vec![KnowledgeBase { name: "garden".into(), size: 9 }])
    }

    async fn append_knowledge(&self, base: &str, text: String) -> Result<(), CallError> {
        self.note_down(&format!("{base}: {text}"), None);
        Ok(())
    }

    async fn people(&self, name: &str, cause: Option<&Cause>) -> Result<Vec<KnownPerson>, CallError> {
        self.note_down(name, cause);
        let traits = vec![("allergy".to_owned(), "nuts".to_owned())];
        Ok(vec![KnownPerson { name: "Li".into(), accounts: vec!["qq:1".into()], traits, ..KnownPerson::default() }])
    }
}

async fn with_memory() -> (House, Arc<FakeMemory>) {
    let house = house::with(&["rememberer"]).await;
    let memory = Arc::new(FakeMemory::default());
    let shared: Arc<dyn PluginMemory> = Arc::clone(&memory) as _;
    house.runtime.bind_memory(Arc::downgrade(&shared));
    (house, memory)
}

async fn remember(house: &House, wish: Value) -> Result<Value, CallError> {
    let said = house.call("rememberer", "remember", &wish.to_string()).await?;
    Ok(serde_json::from_str(&said).unwrap_or(Value::String(said)))
}

#[tokio::test]
async fn a_plugin_is_told_what_is_remembered_for_those_who_read_its_answer() {
    let (house, memory) = with_memory().await;
    house.secrets.set("source.x.key", "sk-marked-0123456789".into()).expect("a secret");
    let whom = Some(house::cause(1).audience.to_string());
    let wishes = [
        (json!({ "what": "recall", "text": "nuts?" }), "nuts?"),
        (json!({ "what": "note", "text": "sk-marked-0123456789" }), "rememberer: [secret source.x.key]"),
        (json!({ "what": "search", "text": "roses", "base": "plants" }), "roses"),
        (json!({ "what": "list" }), "bases"),
        (json!({ "what": "people", "text": "Li" }), "Li"),
    ];
    let mut answers = Vec::new();
    for (wish, _) in &wishes {
        answers.push(remember(&house, wish.clone()).await.expect("it may"));
    }
    assert_eq!(
        answers,
        [
            json!([{ "id": "said-7", "text": "我对花生过敏", "speaker": "qq:1" }]),
            json!("note-1"),
            json!([{ "base": "plants", "text": "Water it.", "line": 3 }]),
            json!(["garden"]),
            json!([{ "name": "Li", "accounts": ["qq:1"], "traits": [["allergy", "nuts"]] }]),
        ]
    );
    assert_eq!(memory.asked(), wishes.map(|(_, what)| (what.to_owned(), whom.clone())));
}

#[tokio::test]
async fn what_a_plugin_answers_from_the_memory_counts_as_perhaps_others_words() {
    let (house, _memory) = with_memory().await;
    let answer = async |wish: Value| {
        let cause = house::cause(600_000);
        house.runtime.call_tool("rememberer", "remember", wish.to_string(), cause).await.expect("it may")
    };
    assert!(!answer(json!({ "what": "note", "text": "x" })).await.is_foreign(), "it was told nothing");
    for what in ["recall", "search", "people"] {
        assert!(answer(json!({ "what": what, "text": "x" })).await.is_foreign(), "{what}");
    }
    assert!(answer(json!({ "what": "people", "alone": true })).await.is_foreign(), "of whichever call it was asked");
}

#[tokio::test]
async fn of_its_own_accord_a_plugin_is_told_only_where_the_owner_allowed_that() {
    let (house, memory) = with_memory().await;
    for what in ["recall", "note", "search", "list"] {
        let wish = json!({ "what": what, "text": "x", "alone": true });
        let denied = remember(&house, wish).await.expect_err("it may not");
        assert!(denied.to_string().contains("of the plugin's own accord"), "{what}: {denied}");
    }
    remember(&house, json!({ "what": "people", "alone": true })).await.expect("it may ask this at any time");
    let addition = json!({ "what": "append", "base": "garden", "text": "Roses." });
    remember(&house, addition).await.expect("nothing is shown");
    assert_eq!(memory.asked(), [(String::new(), None), ("garden: Roses.".to_owned(), None)]);
}

#[tokio::test]
async fn a_package_that_only_reads_adds_nothing_and_one_without_a_grant_is_told_nothing() {
    let (house, memory) = with_memory().await;
    let manifest = house.install("rememberer", "rememberer").join("plugin.toml");
    let text = std::fs::read_to_string(&manifest).expect("it is installed");
    std::fs::write(&manifest, text.replace("write = true", "write = false")).expect("the folder takes files");
    house.runtime.reload("rememberer", Haste::default()).await.expect("it loads");
    let denied = async |wish: Value| remember(&house, wish).await.expect_err("it may not").to_string();
    assert_eq!(denied(json!({ "what": "note", "text": "x" })).await, "noting a text in the memory");
    let addition = json!({ "what": "append", "base": "b", "text": "x" });
    assert_eq!(denied(addition).await, "adding to the knowledge base b");
    for capability in ["memory", "knowledge", "social"] {
        house.runtime.revoke("rememberer", capability).await.expect("it had it");
    }
    let attempts = [
        ("recall", "recalling from the memory"),
        ("search", "searching the knowledge base"),
        ("list", "listing the knowledge base"),
        ("people", "asking who somebody is"),
    ];
    for (what, attempt) in attempts {
        assert_eq!(denied(json!({ "what": what, "text": "x" })).await, attempt);
    }
    assert!(memory.asked().is_empty());
}

#[tokio::test]
async fn questions_that_are_empty_or_too_long_are_refused_before_anybody_is_asked() {
    let (house, memory) = with_memory().await;
    let long = "x".repeat(300 << 10);
    let texts =
        [("recall", " "), ("recall", &long), ("note", &long), ("search", ""), ("append", &long), ("people", &long)];
    for (what, text) in texts {
        let wish = json!({ "what": what, "text": text, "base": "b" });
        let refused = remember(&house, wish).await.expect_err("it is too much");
        assert!(matches!(refused, CallError::Invalid(_)), "{what}: {refused}");
    }
    assert!(memory.asked().is_empty());
}
