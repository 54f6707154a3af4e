//! A memory that knows little.

use std::sync::Arc;

use async_trait::async_trait;
use homeagent_types::CallError;
use homeagent_types::memory::{
    MemoryEntity, MemoryExported, MemoryFile, MemoryForget, MemoryForgotten, MemoryGraph, MemoryHit, MemoryImported,
    MemoryOfRun, MemoryPassage, MemoryPlace, MemoryPluginValue, MemoryQuery, MemoryRebuilding, MemoryRelation,
    MemorySample, MemoryScore, MemoryShown, MemoryState, MemoryWhat,
};
use homeagent_types::ports::MemoryAdmin;
use serde_json::json;

/// A memory of a few things.
pub struct FakeMemory;

fn passage(id: &str, speaker: &str, text: &str) -> MemoryPassage {
    MemoryPassage {
        id: id.to_owned(),
        kind: id.split('/').next().unwrap().to_owned(),
        conversation: "cli:owner".to_owned(),
        audience: "person:cli:owner".to_owned(),
        speaker: speaker.to_owned(),
        // 2026-05-03 in the morning.
        at_ms: 1_777_777_777_777,
        text: text.to_owned(),
    }
}

#[async_trait]
impl MemoryAdmin for FakeMemory {
    async fn export(self: Arc<Self>, file: MemoryFile) -> Result<MemoryExported, CallError> {
        match file.path.as_str() {
            "/tmp/there.jsonl" if !file.replace => Err(CallError::Conflict("/tmp/there.jsonl is there already".into())),
            path => Ok(MemoryExported { path: path.to_owned(), records: 42, bytes: 4_200 }),
        }
    }

    async fn import(self: Arc<Self>, file: MemoryFile) -> Result<MemoryImported, CallError> {
        let conflicts = vec!["memory.md is another\u{1b} and was left as it is".to_owned()];
        match file.path.as_str() {
            "/tmp/broken.jsonl" => Err(CallError::Invalid("line 3: it is no record".to_owned())),
            _ => Ok(MemoryImported { rows: 30, documents: 2, conflicts }),
        }
    }

    async fn reindex(&self) -> Result<MemoryState, CallError> {
        Ok(MemoryState { rebuilding: None, problems: Vec::new(), complete: true, ..self.state().await? })
    }

    async fn forget(&self, wish: MemoryForget) -> Result<MemoryForgotten, CallError> {
        match &wish.what {
            MemoryWhat::Text(text) if text == "团子" => Ok(MemoryForgotten {
                dry_run: wish.dry_run,
                events: 1,
                passages: 1,
                samples: vec![MemorySample {
                    kind: "event".to_owned(),
                    id: "said/7".to_owned(),
                    text: "my cat is\u{1b}[2J团子".to_owned(),
                }],
                plugin_values: vec![MemoryPluginValue { plugin: "diary".to_owned(), key: "may\u{1b}".to_owned() }],
                plugins: wish.plugins,
                left: vec!["backups/may.db".to_owned()],
                ..MemoryForgotten::default()
            }),
            _ => Err(CallError::NotFound("there is no such thing".to_owned())),
        }
    }

    async fn search(&self, query: MemoryQuery) -> Result<Vec<MemoryHit>, CallError> {
        let found = [passage("said/7", "Ann", "my cat is\n\u{1b}[2J团子"), passage("answered/8", "", "a nice name")];
        let whose = if query.everything { 2 } else { 1 };
        let parts = vec![MemoryScore { name: "keyword".to_owned(), score: 0.75 }];
        let hits = found.into_iter().take(whose.min(query.limit));
        Ok(hits.map(|passage| MemoryHit { passage, score: 0.75, parts: parts.clone() }).collect())
    }

    async fn show(&self, id: &str, around: usize, _: bool) -> Result<MemoryPlace, CallError> {
        match id {
            "said/7" => Ok(MemoryPlace {
                before: Vec::new(),
                passage: passage("said/7", "Ann", "my cat is 团子"),
                after: vec![passage("answered/8", "", "a nice name")].into_iter().take(around).collect(),
            }),
            _ => Err(CallError::NotFound(format!("there is no passage {id}"))),
        }
    }

    async fn graph(&self, name: Option<&str>, _: bool) -> Result<MemoryGraph, CallError> {
        let relation = |current: bool, text: &str| MemoryRelation {
            id: 3,
            text: text.to_owned(),
            current,
            confidence: 0.9,
            mentions: 2,
            last_at_ms: 1_777_777_777_777,
            audience: "person:cli:owner".to_owned(),
        };
        let relations = vec![relation(true, "Ann住在杭州"), relation(false, "Ann住在上海")];
        let ann = MemoryEntity {
            name: "Ann".to_owned(),
            kind: "person".to_owned(),
            mentions: 7,
            aliases: vec!["安安".to_owned(), "cli:ann".to_owned()],
            relations: if name.is_some() { relations } else { Vec::new() },
        };
        let entities = if name.is_none_or(|name| name == "Ann") { vec![ann] } else { Vec::new() };
        Ok(MemoryGraph { relations: 2, entities })
    }

    async fn explain(&self, run: &str, everything: bool) -> Result<MemoryOfRun, CallError> {
        let shown = MemoryShown {
            id: "said/7".to_owned(),
            at_ms: 1_777_777_777_777,
            speaker: Some("Ann".to_owned()),
            foreign: true,
            score: 0.75,
            text: if everything { "my cat is 团子".to_owned() } else { String::new() },
        };
        Ok(MemoryOfRun {
            run: run.to_owned(),
            passages: vec![shown],
            curated: true,
            documents: false,
            index: false,
            characters: 120,
            took_ms: 12,
            left_out: vec!["documents".to_owned()],
            window: Some(json!({ "choices": [{ "occasion": "full", "events": 41, "most_events": 30, "exchanges": [
                { "verdict": "relevant" }, { "verdict": "less-relevant" }, { "verdict": "current" }
            ] }], "before": null })),
            tools: Some(json!({ "of": 40, "nearest": ["weather"], "named": [], "always": ["memory_recall"] })),
        })
    }

    async fn state(&self) -> Result<MemoryState, CallError> {
        Ok(MemoryState {
            reached: 90,
            tip: 100,
            passages: 42,
            model: Some("multilingual-e5-small".to_owned()),
            embedded: 20,
            complete: false,
            rebuilding: Some(MemoryRebuilding { part: "journal".to_owned(), done: 30, of: 100 }),
            problems: vec!["the disk is full".to_owned()],
        })
    }
}
