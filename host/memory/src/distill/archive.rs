//! The archive loop: new messages give facts and triples, documents that nobody reads any more give triples.

use homeagent_journal::{EventFilter, EventKind};
use homeagent_language::facts::{Subject, personal_facts};
use homeagent_language::parse::Parser;
use homeagent_language::triples::{Fused, triples};
use homeagent_types::now;

use super::claims::{of_fact, of_triple};
use super::{ColdDocument, DistillError, Distiller};
use crate::graph::{Claim, Graph, Source};
use crate::said::{Said, Speaker};

/// How far the journal was read.
pub(super) const CURSOR: &str = "journal";

/// The longest message that is read whole; of a longer one its beginning is.
const LONGEST: usize = 64 * 1024;

/// So many pieces of what the graph learnt are written down before others get their turn.
const WRITTEN: usize = 10;

/// What one piece of work brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Archived {
    /// How many messages and documents were read.
    pub read: usize,
    /// How many statements were new to the graph.
    pub learnt: usize,
    /// Whether there is more to be read at once.
    pub more: bool,
}

impl Distiller {
    /// Reads what is new, as much as `core.memory.archive_messages` says at most.
    ///
    /// # Errors
    ///
    /// What stops it; what was read before is kept.
    pub async fn archive_once(&self) -> Result<Archived, DistillError> {
        let most = self.limit("core.memory.archive_messages")?.max(1);
        let mut done = Archived::default();
        while done.read < most {
            let Some((read, learnt)) = self.read_on().await? else { break };
            done.read += read;
            done.learnt += learnt;
        }
        done.more = done.read >= most;
        let documents = self.read_documents(most.saturating_sub(done.read).min(20)).await?;
        done.read += documents.read;
        done.learnt += documents.learnt;
        if !done.more {
            // What was taken back or put right may leave sentences from which nothing is drawn any more.
            let (graph, known) = (self.graph.clone(), self.known.clone());
            let write_down = move || -> Result<bool, DistillError> {
                graph.clean()?;
                let Some(known) = known else { return Ok(false) };
                for _ in 0..WRITTEN {
                    if !known.write_on()? {
                        return Ok(false);
                    }
                }
                Ok(true)
            };
            done.more = tokio::task::spawn_blocking(write_down).await??;
        }
        Ok(done)
    }

    /// Reads the next stretch of the journal: how many messages it had and what was new in them; none at the end. The graph
    /// has it before the place is noted: what is read again after a kill changes nothing.
    async fn read_on(&self) -> Result<Option<(usize, usize)>, DistillError> {
        let progress = self.progress.clone();
        let after = tokio::task::spawn_blocking(move || progress.cursor(CURSOR)).await??;
        let filter = EventFilter { kinds: vec![EventKind::UserMessageAdded], ..EventFilter::default() };
        let tail = self.journal.events_after(after, filter).await?;
        if tail.reached == after {
            return Ok(None);
        }
        let said: Vec<Said> = tail.events.iter().filter_map(Said::read).collect();
        let (graph, parser, progress) = (self.graph.clone(), self.parser.clone(), self.progress.clone());
        let learnt = tokio::task::spawn_blocking(move || -> Result<_, DistillError> {
            let told: Vec<(Source, Vec<Claim>)> =
                said.iter().filter_map(|said| told(said, &graph, parser.as_ref())).collect();
            let committed = graph.commit_all(&told)?;
            let learnt = committed.iter().map(|committed| committed.fresh).sum();
            progress.advance(CURSOR, tail.reached, &[("read", said.len()), ("learnt", learnt)])?;
            Ok((said.len(), learnt))
        });
        Ok(Some(learnt.await??))
    }

    async fn read_documents(&self, most: usize) -> Result<Archived, DistillError> {
        let Some(documents) = self.documents.clone().filter(|_| most > 0) else { return Ok(Archived::default()) };
        let (graph, parser) = (self.graph.clone(), self.parser.clone());
        let now_ms = i64::try_from(now()).unwrap_or(i64::MAX);
        let work = tokio::task::spawn_blocking(move || -> Result<_, DistillError> {
            let mut done = Archived::default();
            for document in documents.cold(now_ms, most).map_err(DistillError::Documents)? {
                let (source, claims) = told_by(&document, parser.as_ref());
                done.learnt += graph.commit(&source, &claims)?.fresh;
                documents.distilled(&document.id, now_ms).map_err(DistillError::Documents)?;
                done.read += 1;
            }
            Ok(done)
        });
        work.await?
    }
}

/// What a message tells, if it is somebody's own words: not those of others that went through them, and nothing of others
/// that only says again what the memory had shown. Of themselves people know best: what they say again they confirm.
fn told(said: &Said, graph: &Graph, parser: &dyn Parser) -> Option<(Source, Vec<Claim>)> {
    let Speaker::Person(speaker) = &said.speaker else { return None };
    if said.foreign {
        return None;
    }
    let text = beginning(&said.text);
    let shown = |sentence: &str| said.run.as_deref().is_some_and(|run| graph.was_shown(run, sentence));
    let mut claims = Vec::new();
    let mut spoken = Vec::new();
    for fact in personal_facts(text) {
        let sentence = text.get(fact.span.clone()).unwrap_or_default();
        spoken.push(fact.span.clone());
        if fact.subject == Subject::Speaker || !shown(sentence) {
            claims.extend(of_fact(&fact, speaker, sentence));
        }
    }
    for Fused { triple, spans } in triples(text, parser) {
        for span in spans.iter().filter(|span| !spoken.contains(span)) {
            let sentence = text.get(span.clone()).unwrap_or_default();
            if !shown(sentence) {
                claims.extend(of_triple(&triple, sentence, true));
            }
        }
    }
    let source = Source {
        audience: said.audience.clone(),
        speaker: Some(speaker.clone()),
        origin: format!("journal:{}", said.seq),
        at_ms: said.at_ms,
        undoable: false,
    };
    (!claims.is_empty()).then_some((source, claims))
}

/// What a document tells: nothing of whoever says "I" in it.
fn told_by(document: &ColdDocument, parser: &dyn Parser) -> (Source, Vec<Claim>) {
    let text = beginning(&document.text);
    let mut claims = Vec::new();
    for Fused { triple, spans } in triples(text, parser) {
        let sentences = spans.into_iter().filter_map(|span| text.get(span));
        claims.extend(sentences.filter_map(|sentence| of_triple(&triple, sentence, false)));
    }
    let source = Source {
        audience: document.audience.clone(),
        speaker: None,
        origin: format!("document:{}", document.id),
        at_ms: document.at_ms,
        undoable: false,
    };
    (source, claims)
}

fn beginning(text: &str) -> &str {
    if text.len() <= LONGEST {
        return text;
    }
    let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}
