//! Asking what is known.

use homeagent_types::{Audience, CallError, Cause, ToolOutput};
use serde_json::{Value, json};

use super::arguments::{needed, number, text};
use super::{Asked, GraphTools, Inner};
use crate::graph::{FOREIGN_LABEL, Found, Question, Relation, Sentence};
use crate::recollection::Recalled;

/// How many facts and passages are given where it is not said.
const LIMIT: usize = 8;

/// How many at most.
const MOST: i64 = 30;

/// Relations that are shown of an entity.
const RELATIONS: u32 = 60;

/// Changes that are shown.
const CHANGES: u32 = 10;

impl GraphTools {
    /// Facts from the graph and passages from the recall that everything uses.
    pub(super) async fn recall(&self, arguments: &Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        let query = needed(arguments, "query")?.to_owned();
        let limit =
            number(arguments, "limit").map_or(LIMIT, |limit| usize::try_from(limit.clamp(1, MOST)).unwrap_or(LIMIT));
        let viewer = self.inner.audiences.viewer_of(cause);
        let alike = match self.names.get() {
            Some(names) => names.alike(&query, &viewer).await,
            None => Vec::new(),
        };
        let passages = match self.recaller.get() {
            Some(recaller) => recaller.passages(&query, limit, cause).await?,
            None => Vec::new(),
        };
        let (inner, cause) = (self.inner.clone(), cause.clone());
        let work = move || inner.recalled(&query, limit, &alike, &passages, &cause);
        tokio::task::spawn_blocking(work).await.map_err(|_| CallError::Retryable)?
    }
}

impl Inner {
    fn recalled(
        &self,
        query: &str,
        limit: usize,
        alike: &[(i64, f32)],
        passages: &[Recalled],
        cause: &Cause,
    ) -> Result<ToolOutput, CallError> {
        let asked = self.asked(cause);
        let question = Question {
            text: query,
            alike,
            asker: Some(&asked.account),
            viewer: &asked.viewer,
            limit,
            unless_shown_in: cause.run.as_deref(),
        };
        let found = self.graph.recall(&question)?;
        if let Some(run) = &cause.run {
            let ids: Vec<i64> = found.iter().map(|found| found.relation.id).collect();
            self.graph.mark_recalled(run, &ids, &asked.viewer)?;
            self.graph.note_shown(run, passages.iter().map(|passage| passage.text.as_str()));
        }
        let facts: Vec<Value> = found.iter().map(fact).collect();
        let said: Vec<Value> = passages.iter().map(passage).collect();
        let mut output = if facts.is_empty() && said.is_empty() {
            ToolOutput::text("Nothing that is not known here already was found.")
        } else {
            ToolOutput::json(&json!({ "facts": facts, "passages": said }))
        };
        let is_foreign =
            passages.iter().any(|passage| passage.foreign) || found.iter().any(|found| is_foreign(&found.relation));
        if is_foreign {
            output.mark_foreign();
        }
        Ok(output)
    }

    pub(super) fn introspect(&self, arguments: &Value, asked: &Asked<'_>) -> Result<ToolOutput, CallError> {
        let viewer = &asked.viewer;
        let changes = self.graph.changes(CHANGES, viewer)?;
        let Some(name) = text(arguments, "entity") else {
            let summary = self.graph.index_summary(viewer)?;
            return Ok(marked(&json!({ "known": *summary, "changes": changes }), true));
        };
        let id = self.entity(name, asked)?;
        let relations = self.graph.relations_of(id, RELATIONS, viewer)?;
        let is_foreign = relations.iter().any(is_foreign);
        let mut listed = Vec::new();
        for relation in &relations {
            let mut shown = short(relation);
            shown["said"] = said(&self.graph.sentences_of(relation.id, 2, viewer)?);
            listed.push(shown);
        }
        let entity = self.graph.entity(id, viewer)?;
        Ok(marked(&json!({ "entity": entity, "relations": listed, "changes": changes }), is_foreign))
    }
}

/// A result, marked where others may have written what stands in it.
pub(super) fn marked(value: &Value, is_foreign: bool) -> ToolOutput {
    let mut output = ToolOutput::json(value);
    if is_foreign {
        output.mark_foreign();
    }
    output
}

/// Whether others than the reader may have written it: it was said in a group, or written by others in somebody's name.
pub(super) fn is_foreign(relation: &Relation) -> bool {
    !relation.audiences().all(|audience| matches!(Audience::parse(audience), Audience::Person(_)))
        || relation.kinds.iter().any(|kind| kind == FOREIGN_LABEL)
}

fn fact(found: &Found) -> Value {
    let mut shown = short(&found.relation);
    shown["said"] = said(&found.sources);
    shown
}

/// A relation in short: what may be left out is.
pub(super) fn short(relation: &Relation) -> Value {
    let mut shown = json!({ "relation": relation.id, "text": relation.text, "last_said": when(relation.last_at) });
    let mut add = |name: &str, value: Value| shown[name] = value;
    relation.valid_from.into_iter().for_each(|from| add("since", when(from)));
    relation.valid_to.into_iter().for_each(|to| add("until", when(to)));
    if relation.retracted_at.is_some() {
        add("taken_back", json!(true));
    }
    if relation.confidence < 0.6 {
        add("sure", json!(false));
    }
    shown
}

fn said(sentences: &[Sentence]) -> Value {
    let shown = sentences.iter().filter(|sentence| !sentence.text.is_empty()).map(|sentence| {
        json!({
            "text": sentence.text, "where": sentence.origin, "by": sentence.speaker, "at": when(sentence.at),
        })
    });
    shown.collect()
}

fn passage(passage: &Recalled) -> Value {
    json!({
        "text": passage.text,
        "by": passage.speaker.as_deref().unwrap_or("you"),
        "at": when(passage.at_ms),
        "where": format!("{}:{}", passage.kind, passage.origin),
    })
}

/// A moment for people and models to read.
fn when(ms: i64) -> Value {
    let moment = jiff::Timestamp::from_millisecond(ms).ok();
    moment.map_or(Value::Null, |moment| json!(moment.strftime("%Y-%m-%d %H:%MZ").to_string()))
}
