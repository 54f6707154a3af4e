//! The memory for whoever looks after it: what the API and the command line show.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use homeagent_journal::{Event, EventFilter, EventKind, Seq};
use homeagent_types::memory::{
    MemoryEntity, MemoryExported, MemoryFile, MemoryForget, MemoryForgotten, MemoryGraph, MemoryHit, MemoryImported,
    MemoryOfRun, MemoryPassage, MemoryPlace, MemoryQuery, MemoryRelation, MemoryScore, MemoryShown, MemoryState,
};
use homeagent_types::ports::MemoryAdmin;
use homeagent_types::{Audience, CallError, Viewer};
use serde_json::Value;

use crate::graph::{Graph, Relation};
use crate::index::{Passage, PassageKind};
use crate::memory::Memory;
use crate::recall::{Hit, Parts};
use crate::said::{Said, Speaker};

/// How far is looked for what was said around a passage, in events of the journal.
const NEAR: Seq = 2_000;

/// Relations that are shown of an entity.
const RELATIONS: u32 = 200;

impl Memory {
    /// What is shown to whoever asks over the API: what the owner may be told, or all there is on this machine.
    fn admin_viewer(&self, everything: bool) -> Viewer {
        if everything { Viewer::Everything } else { self.audiences().owner() }
    }

    /// What was said in a conversation in a stretch of the journal.
    async fn said_between(&self, conversation: &str, after: Seq, until: Seq) -> Result<Vec<Said>, CallError> {
        let filter = EventFilter {
            conversation: Some(conversation.to_owned()),
            kinds: vec![EventKind::UserMessageAdded, EventKind::AssistantMessageAdded],
            ..EventFilter::default()
        };
        let (mut said, mut place) = (Vec::new(), after);
        while place < until {
            let tail = self.journal().events_after(place, filter.clone()).await.map_err(failed)?;
            if tail.reached == place {
                break;
            }
            place = tail.reached;
            said.extend(tail.events.iter().filter(|event| event.seq <= until).filter_map(Said::read));
        }
        Ok(said)
    }

    /// A document as one passage. What is not listed is not looked for in the folder.
    async fn written_down(&self, id: &str, viewer: &Viewer) -> Result<MemoryPassage, CallError> {
        let (documents, id, viewer) = (self.context().documents().clone(), id.to_owned(), viewer.clone());
        let read = move || {
            let listed = documents.listed(&id).map_err(failed)?;
            let seen = listed.filter(|listed| viewer.may_see(&Audience::parse(&listed.audience)));
            let listed = seen.ok_or_else(|| CallError::NotFound(format!("there is no passage document/{id}")))?;
            let document = documents.read(&listed.id).map_err(failed)?;
            Ok(MemoryPassage {
                id: format!("document/{}", document.id),
                kind: PassageKind::Document.as_str().to_owned(),
                conversation: document.conversation.clone(),
                audience: document.audience.clone(),
                speaker: String::new(),
                at_ms: document.to_ms,
                text: document.texts().join("\n"),
            })
        };
        tokio::task::spawn_blocking(read).await.map_err(failed)?
    }

    /// What stayed in the window of a run, and what left it.
    async fn window_of(&self, run: &str) -> Option<Value> {
        let explanation = self.context().explain(run).await.ok().flatten()?;
        serde_json::to_value(explanation).ok()
    }

    /// The words of passages of the journal, as it has them now.
    async fn words(&self, places: Vec<Seq>, viewer: &Viewer) -> Result<HashMap<Seq, String>, CallError> {
        let events = self.journal().events_at(places).await.map_err(failed)?;
        let said = events.iter().filter_map(Said::read).filter(|said| viewer.may_see(&said.audience));
        Ok(said.map(|said| (said.seq, said.text)).collect())
    }
}

#[async_trait]
impl MemoryAdmin for Memory {
    async fn search(&self, query: MemoryQuery) -> Result<Vec<MemoryHit>, CallError> {
        let viewer = self.admin_viewer(query.everything);
        let hits = self.find(&query.text, viewer, query.limit, Vec::new(), None, None).await;
        Ok(hits.map_err(failed)?.into_iter().map(hit).collect())
    }

    async fn show(&self, id: &str, around: usize, everything: bool) -> Result<MemoryPlace, CallError> {
        if let Some(document) = id.strip_prefix("document/") {
            let passage = self.written_down(document, &self.admin_viewer(everything)).await?;
            return Ok(MemoryPlace { before: Vec::new(), passage, after: Vec::new() });
        }
        let seq = id.split_once('/').filter(|(kind, _)| matches!(*kind, "said" | "answered"));
        let seq: Seq = seq.and_then(|(_, seq)| seq.parse().ok()).ok_or_else(|| {
            CallError::Invalid(format!("\"{id}\" is no passage; `waiter memory search` shows their ids"))
        })?;
        let viewer = self.admin_viewer(everything);
        let events = self.journal().events_at(vec![seq]).await.map_err(failed)?;
        let said = events.first().and_then(Said::read).filter(|said| viewer.may_see(&said.audience));
        let said = said.ok_or_else(|| CallError::NotFound(format!("there is no passage {id}")))?;
        let near = self.said_between(&said.conversation, seq.saturating_sub(NEAR), seq.saturating_add(NEAR)).await?;
        let seen = || near.iter().filter(|near| viewer.may_see(&near.audience));
        let mut before: Vec<MemoryPassage> =
            seen().rev().filter(|near| near.seq < seq).take(around).map(of_journal).collect();
        before.reverse();
        let after = seen().filter(|near| near.seq > seq).take(around).map(of_journal).collect();
        Ok(MemoryPlace { before, passage: of_journal(&said), after })
    }

    async fn graph(&self, name: Option<&str>, everything: bool) -> Result<MemoryGraph, CallError> {
        let (graph, viewer, name) = (self.graph().clone(), self.admin_viewer(everything), name.map(str::to_owned));
        tokio::task::spawn_blocking(move || known(&graph, name.as_deref(), &viewer)).await.map_err(failed)?
    }

    async fn explain(&self, run: &str, everything: bool) -> Result<MemoryOfRun, CallError> {
        let events = self.journal().run_events(run).await.map_err(failed)?;
        if events.is_empty() {
            return Err(CallError::NotFound(format!(
                "there is no run \"{run}\"; `waiter runs list` shows those there are"
            )));
        }
        let payload = |kind: EventKind| events.iter().find(|event| event.kind == kind).map(|event| &event.payload);
        let noted = payload(EventKind::MemoryRecalled).unwrap_or(&Value::Null);
        let shown = noted["passages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let places = shown.iter().filter_map(|shown| shown["origin"].as_str()?.parse().ok()).collect();
        let words = self.words(places, &self.admin_viewer(everything)).await?;
        Ok(MemoryOfRun {
            run: run.to_owned(),
            passages: shown.iter().map(|noted| shown_passage(noted, &words)).collect(),
            curated: noted["curated"] == true,
            documents: noted["documents"] == true,
            index: noted["index"] == true,
            characters: noted["characters"].as_u64().unwrap_or(0),
            took_ms: noted["took_ms"].as_u64().unwrap_or(0),
            left_out: left_out(noted),
            window: self.window_of(run).await,
            tools: tools(&events),
        })
    }

    async fn state(&self) -> Result<MemoryState, CallError> {
        let status = self.status().await.map_err(failed)?;
        Ok(MemoryState {
            reached: status.following.reached,
            tip: status.following.tip,
            passages: status.passages,
            model: status.model,
            embedded: status.vectors.embedded,
            complete: status.vectors.complete,
            rebuilding: self.rebuilding().borrow().clone(),
            problems: status.following.error.into_iter().chain(status.vectors.error).collect(),
        })
    }

    async fn forget(&self, wish: MemoryForget) -> Result<MemoryForgotten, CallError> {
        Self::forget(self, wish).await
    }

    async fn reindex(&self) -> Result<MemoryState, CallError> {
        Self::reindex(self).await?;
        MemoryAdmin::state(self).await
    }

    async fn export(self: Arc<Self>, file: MemoryFile) -> Result<MemoryExported, CallError> {
        self.export_to(file).await
    }

    async fn import(self: Arc<Self>, file: MemoryFile) -> Result<MemoryImported, CallError> {
        self.import_from(file).await
    }
}

fn failed(error: impl std::fmt::Display) -> CallError {
    CallError::Other(error.to_string())
}

/// What the graph has of a name, or the names that are spoken of most.
fn known(graph: &Graph, name: Option<&str>, viewer: &Viewer) -> Result<MemoryGraph, CallError> {
    let summary = graph.index_summary(viewer)?;
    let mut known = MemoryGraph { relations: summary.relations, entities: Vec::new() };
    let Some(name) = name else {
        let names = summary.names.iter().map(|(name, kind, mentions)| MemoryEntity {
            name: name.clone(),
            kind: kind.as_str().to_owned(),
            mentions: *mentions,
            aliases: Vec::new(),
            relations: Vec::new(),
        });
        known.entities.extend(names);
        return Ok(known);
    };
    for entity in graph.named(name, viewer)? {
        let relations = graph.relations_of(entity.id, RELATIONS, viewer)?;
        known.entities.push(MemoryEntity {
            name: entity.name,
            kind: entity.kind.as_str().to_owned(),
            mentions: entity.mentions,
            aliases: entity.aliases.into_iter().chain(entity.accounts).collect(),
            relations: relations.into_iter().map(relation).collect(),
        });
    }
    Ok(known)
}

fn relation(relation: Relation) -> MemoryRelation {
    MemoryRelation {
        id: relation.id,
        current: relation.is_current(),
        text: relation.text,
        confidence: relation.confidence,
        mentions: relation.mentions,
        last_at_ms: relation.last_at,
        audience: relation.audience,
    }
}

fn of_index(passage: Passage) -> MemoryPassage {
    let kind = passage.kind.as_str();
    MemoryPassage {
        id: format!("{kind}/{}", passage.origin),
        kind: kind.to_owned(),
        conversation: passage.conversation,
        audience: passage.audience.to_string(),
        speaker: passage.speaker,
        at_ms: passage.at_ms,
        text: passage.text,
    }
}

fn of_journal(said: &Said) -> MemoryPassage {
    let kind = if said.speaker == Speaker::Agent { "answered" } else { "said" };
    MemoryPassage {
        id: format!("{kind}/{}", said.seq),
        kind: kind.to_owned(),
        conversation: said.conversation.clone(),
        audience: said.audience.to_string(),
        speaker: said.name().unwrap_or_default(),
        at_ms: said.at_ms,
        text: said.text.clone(),
    }
}

fn hit(hit: Hit) -> MemoryHit {
    let Parts { keyword, vector, neighbours, session, speaker, entity, time } = hit.parts;
    let parts = [
        ("keyword", keyword),
        ("vector", vector),
        ("neighbours", neighbours),
        ("session", session),
        ("speaker", speaker),
        ("entity", entity),
        ("time", time),
    ];
    let parts = parts.into_iter().filter(|(_, score)| *score != 0.0);
    let parts = parts.map(|(name, score)| MemoryScore { name: name.to_owned(), score }).collect();
    MemoryHit { passage: of_index(hit.passage), score: hit.score, parts }
}

fn shown_passage(noted: &Value, words: &HashMap<Seq, String>) -> MemoryShown {
    let text = |name: &str| noted[name].as_str().unwrap_or_default();
    let words = text("origin").parse().ok().and_then(|seq: Seq| words.get(&seq));
    #[expect(clippy::cast_possible_truncation, reason = "it was a number of this size")]
    let score = noted["score"].as_f64().unwrap_or(0.0) as f32;
    MemoryShown {
        id: format!("{}/{}", text("kind"), text("origin")),
        at_ms: noted["at_ms"].as_i64().unwrap_or(0),
        speaker: noted["speaker"].as_str().map(str::to_owned),
        foreign: noted["foreign"] == true,
        score,
        text: words.cloned().unwrap_or_default(),
    }
}

fn left_out(noted: &Value) -> Vec<String> {
    let words = noted["left_out"].as_array().map(Vec::as_slice).unwrap_or_default();
    words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

/// Which tools were chosen, where they were.
fn tools(events: &[Event]) -> Option<Value> {
    let selected = events.iter().filter(|event| event.kind == EventKind::ToolSelectionSnapshotted);
    selected.map(|event| &event.payload["choice"]).find(|choice| !choice.is_null()).cloned()
}
