//! What the memory has for a turn: passages, documents and the names that the graph knows.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use homeagent_journal::Seq;
use homeagent_settings::DatabaseError;
use homeagent_types::{Cause, Viewer};
use tokio::time::timeout;

use crate::curated::CuratedError;
use crate::documents;
use crate::graph::GraphError;
use crate::index::PassageKind;
use crate::memory::Memory;
use crate::recall::{Hit, RecallError};
use crate::recollection::{Occasion, Recalled, Recollection, Remembers};
use crate::said::Said;

/// So many times as many passages are looked for as are wanted: some stand in the window, or are gone from the journal.
const SPARE: usize = 4;

/// How long all that a tool tells may be together, in characters.
const TOLD: usize = 20_000;

/// How long a tool's question waits for what it asks.
const TOOL_PATIENCE: Duration = Duration::from_secs(4);

impl Memory {
    /// What was said earlier, for a turn, in the order of time.
    async fn passages(&self, occasion: &Occasion, viewer: Viewer) -> Result<Vec<Recalled>, RecallError> {
        let kinds = vec![PassageKind::Said, PassageKind::Answered];
        let wanted = occasion.passages.saturating_mul(SPARE);
        let (called, patience) = (Some(occasion.called.clone()), Some(occasion.patience));
        let hits = self.find(&occasion.text, viewer.clone(), wanted, kinds, called, patience).await?;
        let places: Vec<Seq> = hits.iter().filter_map(|hit| hit.passage.origin.parse().ok()).collect();
        // The journal has the last word: what is gone from it is not told any more, whoever still knows of it.
        let events = self.journal().events_at(places).await.unwrap_or_default();
        let said: HashMap<Seq, Said> = events.iter().filter_map(Said::read).map(|said| (said.seq, said)).collect();
        let mut left = occasion.characters;
        let mut passages: Vec<Recalled> = Vec::new();
        for hit in hits {
            let Some(said) = hit.passage.origin.parse().ok().and_then(|seq: Seq| said.get(&seq)) else { continue };
            let length = hit.passage.text.chars().count();
            let is_shown = occasion.window.contains(&said.trace) || said.run.as_ref() == Some(&occasion.run);
            if is_shown || !viewer.may_see(&said.audience) || length > left {
                continue;
            }
            left -= length;
            passages.push(recalled(hit, said, &occasion.conversation));
            if passages.len() >= occasion.passages {
                break;
            }
        }
        passages.sort_by_key(|passage| passage.at_ms);
        Ok(passages)
    }

    /// The same for a call of a tool: nothing is left out because it stands in a window.
    pub(crate) async fn passages_for(
        &self,
        text: &str,
        limit: usize,
        cause: &Cause,
    ) -> Result<Vec<Recalled>, RecallError> {
        let who = &cause.principal;
        let occasion = Occasion {
            run: cause.run.clone().unwrap_or_default(),
            conversation: cause.conversation.as_ref().map(ToString::to_string).unwrap_or_default(),
            audience: cause.audience.clone(),
            speaker: who.to_string(),
            called: who.display_name.clone().unwrap_or_else(|| who.user.clone()),
            text: text.to_owned(),
            window: HashSet::new(),
            passages: limit,
            characters: TOLD,
            patience: TOOL_PATIENCE,
        };
        self.passages(&occasion, self.audiences().viewer_of(cause)).await
    }

    /// What the list has that is kept by hand. By itself, so that it comes however late the rest is.
    async fn kept(&self, run: String, viewer: Viewer) -> Option<Result<String, CuratedError>> {
        let curated = self.curated().clone();
        let look = move || curated.frozen(&run, &viewer).map(|lines| lines.to_string());
        tokio::task::spawn_blocking(look).await.ok()
    }

    /// What the documents have.
    async fn archived(&self, text: String, viewer: Viewer) -> Option<Result<documents::Summary, DatabaseError>> {
        let documents = self.context().documents().clone();
        tokio::task::spawn_blocking(move || documents.summary(&text, None, &viewer)).await.ok()
    }

    /// What the graph knows of. By itself: in a large graph it takes long the first time, and is kept then.
    async fn index_of(&self, viewer: Viewer) -> Option<Result<String, GraphError>> {
        let graph = self.graph().clone();
        tokio::task::spawn_blocking(move || graph.index_summary(&viewer).map(|summary| summary.text())).await.ok()
    }
}

/// Takes what was read; what was not is named among what is left out.
fn take<T: Default, E: std::fmt::Display>(
    read: Result<T, E>,
    what: &'static str,
    left_out: &mut Vec<&'static str>,
) -> T {
    read.unwrap_or_else(|error| {
        tracing::warn!(%error, what, "a part of the memory can't be read and is left out");
        left_out.push(what);
        T::default()
    })
}

/// What a text of several lines says, without what stands around it: dashes, and times in brackets.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '(', ')', '/']).map(|part| part.trim_start_matches(['-', ' '])).filter(|part| !part.is_empty())
}

fn recalled(hit: Hit, said: &Said, here: &str) -> Recalled {
    let kind = if said.name().is_none() { "answered" } else { "said" };
    Recalled {
        kind: kind.to_owned(),
        origin: hit.passage.origin,
        at_ms: said.at_ms,
        speaker: said.name(),
        here: said.conversation == here,
        foreign: said.foreign,
        score: hit.score,
        text: hit.passage.text,
    }
}

#[async_trait]
impl Remembers for Memory {
    async fn recollect(&self, occasion: Occasion) -> Recollection {
        let viewer = self.audiences().viewer(&occasion.audience);
        // The rest is for putting it together, before the turn goes on without any of it.
        let most = occasion.patience * 9 / 10;
        let (passages, kept, archived, known) = tokio::join!(
            timeout(most, self.passages(&occasion, viewer.clone())),
            timeout(most, self.kept(occasion.run.clone(), viewer.clone())),
            timeout(most, self.archived(occasion.text.clone(), viewer.clone())),
            timeout(most, self.index_of(viewer))
        );
        let mut left_out = Vec::new();
        let mut found = Recollection::default();
        match passages {
            Ok(passages) => found.passages = take(passages, "passages", &mut left_out),
            Err(_) => left_out.push("passages"),
        }
        match kept {
            Ok(Some(kept)) => found.curated = take(kept, "curated", &mut left_out),
            _ => left_out.push("curated"),
        }
        if let Ok(Some(documents)) = archived {
            let documents = take(documents, "documents", &mut left_out);
            found.foreign = documents.foreign;
            found.documents = documents.text;
        } else {
            left_out.push("documents");
        }
        match known {
            Ok(Some(index)) => found.index = take(index, "index", &mut left_out),
            _ => left_out.push("index"),
        }
        found.foreign |= found.passages.iter().any(|passage| passage.foreign);
        found.left_out = left_out;
        found
    }

    fn shown(&self, run: &str, shown: &Recollection) {
        let passages = shown.passages.iter().map(|passage| passage.text.as_str());
        self.graph().note_shown(
            run,
            passages.chain([&shown.curated, &shown.documents].into_iter().flat_map(|text| parts(text))),
        );
    }

    async fn nearness(&self, query: &str, texts: Arc<[String]>) -> Vec<f32> {
        self.near(query, texts).await
    }
}
