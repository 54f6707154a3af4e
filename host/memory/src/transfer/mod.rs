//! Exporting and importing what the memory knows, and forgetting for good: out of the journal, the index, the documents,
//! the contexts, the graph, the list that is kept by hand and the text log, and out of the bytes of their files.
//!
//! What goes is found out first, and written down. Each step may be done again, so a forgetting that a death cut is done
//! from its beginning at the next start. Then the plan goes, too, and both databases are rewritten.

mod account;
mod blank;
mod carry;
mod file;
mod left;
mod media;
mod plan;
mod plugins;
mod words;

use std::collections::HashSet;
use std::sync::Arc;

use homeagent_journal::{Blank, Seq};
use homeagent_settings::{Database, DatabaseError};
use homeagent_types::memory::{MemoryForget, MemoryForgotten, MemorySample};
use homeagent_types::ports::Renamed;
use homeagent_types::{CallError, Viewer, now};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Entry;
use crate::documents::{Document, Fate, Kind};
use crate::follower::passage;
use crate::index::{Index, Passage, PassageKind};
use crate::memory::Memory;
use crate::said::Said;
use crate::zone::zone;
use plan::Plan;
use words::Words;

const MIGRATIONS: &[&str] = &["
-- What is being forgotten. The plan is emptied once it is carried out; the row goes when the files are rewritten.
CREATE TABLE forgettings (
    id INTEGER PRIMARY KEY,
    plan TEXT NOT NULL
) STRICT;
"];

/// How many of what goes are shown, of each kind.
const SAMPLES: usize = 10;

/// How much of each, in characters.
const SAMPLE: usize = 120;

pub(crate) fn prepare(database: &Database) -> Result<(), DatabaseError> {
    database.migrate("forgetting", MIGRATIONS)
}

impl Memory {
    /// Forgets for good, or says what would go. When this returns, nothing of it is in the files of the memory and the
    /// journal; a turn that goes on meanwhile may still have it in mind.
    ///
    /// # Errors
    ///
    /// [`CallError::Invalid`] and [`CallError::NotFound`] for what can't be forgotten; what the database and the file system
    /// answer, and then it is gone on with at the next start, or when it is asked for again.
    pub async fn forget(&self, wish: MemoryForget) -> Result<MemoryForgotten, CallError> {
        let _one_at_a_time = self.forgetting.lock().await;
        self.caught_up().await;
        self.context().flush().await;
        self.text_log().flush().await;
        let mut plan = self.plan(&wish.what).await?;
        plan.plugins = wish.plugins;
        let mut forgotten = self.preview(&plan).await?;
        forgotten.plugin_values = self.held_by_plugins(&plan).await?;
        forgotten.plugins = plan.plugins;
        if wish.dry_run {
            return Ok(forgotten);
        }
        let row = self.note_plan(&plan).await?;
        self.carry_out(&plan).await?;
        self.end(row).await?;
        forgotten.dry_run = false;
        forgotten.left = self.left(&plan).await?;
        Ok(forgotten)
    }

    /// Goes on with what a death cut.
    pub(crate) async fn go_on_forgetting(&self) {
        let _one_at_a_time = self.forgetting.lock().await;
        let read = self.database().read("reading what is to be forgotten", |connection| {
            let mut statement = connection.prepare("SELECT id, plan FROM forgettings ORDER BY id")?;
            let rows = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
            rows.collect::<Result<Vec<_>, _>>()
        });
        let rows = read.unwrap_or_else(|error| {
            tracing::error!(%error, "it is not known what was being forgotten");
            Vec::new()
        });
        for (row, text) in rows {
            let done = async {
                if !text.is_empty() {
                    let plan = serde_json::from_str::<Plan>(&text).map_err(failed)?;
                    self.caught_up().await;
                    self.carry_out(&plan).await?;
                }
                self.end(row).await
            };
            match done.await {
                Ok(()) => tracing::info!("what was being forgotten when the daemon ended is forgotten"),
                Err(error) => tracing::error!(%error, "forgetting is not done; it is gone on with at the next start"),
            }
        }
    }

    async fn note_plan(&self, plan: &Plan) -> Result<i64, CallError> {
        let text = serde_json::to_string(plan).map_err(failed)?;
        let database = self.database().clone();
        blocking(move || {
            database.write("noting what is to be forgotten", |transaction| {
                transaction.execute("INSERT INTO forgettings (plan) VALUES (?1)", [text])?;
                Ok(transaction.last_insert_rowid())
            })
        })
        .await
    }

    async fn carry_out(&self, plan: &Plan) -> Result<(), CallError> {
        let blank: Blank = Arc::new(|_, payload: &mut Value| blank::payload(payload));
        let (touched, whole) = (plan.touched.clone(), plan.whole.clone());
        self.journal().forget(touched, &plan.spelt, whole, &blank).await.map_err(failed)?;
        let renamed = self.rename(plan).await?;
        self.remove_media(plan).await?;
        self.text_log().rewrite(line_of(plan), false).await.map_err(failed)?;
        self.forget_in_plugins(plan).await?;
        self.forget_passages(plan, &renamed).await?;
        {
            let words = plan.words();
            self.context().strike(&|name| is_gone(name, plan), &|entry| strike(entry, plan, &words));
        }
        // What was on its way to the disk is in the files now.
        self.context().flush().await;
        let (memory, plan) = (self.parts(), plan.clone());
        tokio::task::spawn_blocking(move || memory.forget(&plan)).await.map_err(failed)?
    }

    /// Removes media that nothing mentions any more: something may have been said since the plan was made.
    async fn remove_media(&self, plan: &Plan) -> Result<(), CallError> {
        let Some(elsewhere) = &self.elsewhere else { return Ok(()) };
        for address in &plan.media {
            let still = self.journal().events_holding(std::slice::from_ref(address)).await.map_err(failed)?;
            if still.is_empty() {
                elsewhere.remove_media(vec![address.clone()]).await?;
            }
        }
        Ok(())
    }

    /// Gives a person's account another name in what others said, and wherever else it is kept. Returns the events that are
    /// others now.
    async fn rename(&self, plan: &Plan) -> Result<Vec<Seq>, CallError> {
        let Some(account) = plan.account.as_ref().map(|account| Arc::new(account.anew())) else {
            return Ok(Vec::new());
        };
        let [of_names, of_texts, of_payload] = [(); 3].map(|()| Arc::clone(&account));
        let names: Renamed = Arc::new(move |name| of_names.named(name));
        let texts: Renamed = Arc::new(move |text| of_texts.renamed(text));
        let in_payload = Arc::new(move |payload: &mut Value| {
            of_payload.rename_in(payload);
        });
        let changed = self.journal().rename(&account.fragments(), Arc::clone(&names), texts, in_payload).await;
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.rename(names).await?;
        }
        changed.map_err(failed)
    }

    /// Takes out the passages of events that lost all words, and puts those of events that lost some in as they are now.
    async fn forget_passages(&self, plan: &Plan, renamed: &[Seq]) -> Result<(), CallError> {
        let (index, words, account) = (self.index().clone(), plan.words(), plan.account.clone());
        let is_in = move |text: &str| account.as_ref().is_some_and(|account| account.renamed(text).is_some());
        let touched: HashSet<String> = origins(&plan.touched).into_iter().chain(origins(renamed)).collect();
        let whole = origins(&plan.whole);
        // Also those whose events lost their words before a death.
        let again = blocking(move || {
            let mut again: Vec<String> = Vec::new();
            for kind in [PassageKind::Said, PassageKind::Answered] {
                index.forget(kind, &whole)?;
            }
            for (kind, origin) in index.holding(&|text| words.are_in(text))? {
                match kind {
                    PassageKind::Said | PassageKind::Answered => {
                        index.remove(kind, std::slice::from_ref(&origin))?;
                        again.push(origin);
                    }
                    // Its document goes, or comes back without the words.
                    PassageKind::Document => drop(index.remove(kind, std::slice::from_ref(&origin))?),
                    PassageKind::Sentence => drop(index.forget(kind, std::slice::from_ref(&origin))?),
                }
            }
            again.retain(|origin| touched.contains(origin));
            for (kind, origin) in index.holding(&is_in)? {
                index.remove(kind, std::slice::from_ref(&origin))?;
                again.extend(matches!(kind, PassageKind::Said | PassageKind::Answered).then_some(origin));
            }
            Ok::<_, DatabaseError>(again)
        })
        .await?;
        let places: Vec<Seq> = again.iter().filter_map(|origin| origin.parse().ok()).collect();
        let events = self.journal().events_at(places).await.map_err(failed)?;
        let zone = zone(self.settings());
        let passages: Vec<Passage> = events.iter().filter_map(Said::read).map(|said| passage(&said, &zone)).collect();
        let index = self.index().clone();
        blocking(move || index.put(&passages).and_then(|()| index.settle())).await
    }

    /// The plan goes, and the files are rewritten.
    async fn end(&self, row: i64) -> Result<(), CallError> {
        let database = self.database().clone();
        blocking(move || {
            database.write("forgetting what was forgotten", |transaction| {
                transaction.execute("UPDATE forgettings SET plan = '' WHERE id = ?1", [row])
            })?;
            shred(&database)
        })
        .await?;
        self.journal().shred().await.map_err(failed)?;
        let database = self.database().clone();
        blocking(move || {
            database.write("noting that it is forgotten", |transaction| {
                transaction.execute("DELETE FROM forgettings WHERE id = ?1", [row])
            })
        })
        .await
        .map(drop)
    }

    fn parts(&self) -> Rest {
        Rest {
            graph: self.graph().clone(),
            curated: self.curated().clone(),
            context: self.context().clone(),
            audiences: self.audiences().clone(),
            known: self.known().clone(),
        }
    }

    async fn preview(&self, plan: &Plan) -> Result<MemoryForgotten, CallError> {
        let log_lines = self.text_log().rewrite(line_of(plan), true).await.map_err(failed)?;
        let places: Vec<Seq> = plan.whole.iter().chain(&plan.touched).copied().collect();
        let first = places.iter().copied().take(SAMPLES * 20).collect();
        let events = self.journal().events_at(first).await.map_err(failed)?;
        let said = events.iter().filter_map(Said::read).take(SAMPLES);
        let samples: Vec<MemorySample> =
            said.map(|said| sample("event", format!("said/{}", said.seq), &said.text)).collect();
        let mut forgotten =
            MemoryForgotten { dry_run: true, events: places.len(), log_lines, samples, ..MemoryForgotten::default() };
        let (index, rest, of) = (self.index().clone(), self.parts(), plan.clone());
        let left = self.left(plan).await?;
        tokio::task::spawn_blocking(move || {
            forgotten.passages = passages(&index, &origins(&places)).map_err(failed)?.len();
            forgotten.left = left;
            rest.preview(&of, forgotten)
        })
        .await
        .map_err(failed)?
    }
}

/// The parts that block.
struct Rest {
    graph: crate::graph::Graph,
    curated: crate::curated::Curated,
    context: crate::context::RelevanceContext,
    audiences: crate::Audiences,
    known: crate::known::KnownDocuments,
}

impl Rest {
    fn forget(&self, plan: &Plan) -> Result<(), CallError> {
        let words = plan.words();
        let is_to_go = |text: &str| words.are_in(text);
        let documents = self.context.documents();
        // They are written again of what is left; until all of it is gone, of nothing.
        let held = self.known.hold();
        self.known.clear(&held).map_err(failed)?;
        let decided = documents.decide(&|document| fate(document, plan, &words), &is_to_go, false).map_err(failed)?;
        let is_named = |text: &str| plan.account.as_ref().is_some_and(|account| account.renamed(text).is_some());
        let change = |entry: &mut Entry| strike(entry, plan, &words);
        let holds = |text: &str| is_to_go(text) || is_named(text);
        self.context.change(&|name| is_gone(name, plan), &change, &holds, false).map_err(failed)?;
        let of_journal = plan.whole.iter().chain(&plan.touched).map(|seq| format!("journal:{seq}"));
        let of_documents = decided.iter().chain(&plan.documents).map(|id| format!("document:{id}"));
        let origins: Vec<String> = of_journal.chain(of_documents).collect();
        self.graph.forget_origins(&origins)?;
        let at_ms = i64::try_from(now()).unwrap_or(i64::MAX);
        for entity in &plan.entities {
            self.graph.forget_entity(*entity, at_ms)?;
        }
        self.graph.forget_words(&holds, at_ms)?;
        if let Some(account) = &plan.account {
            self.graph.rename(&|name| account.named(name))?;
            self.audiences.forget(&account.name()).map_err(failed)?;
            self.curated.rewrite(|text| account.renamed(text)).map_err(failed)?;
        }
        self.curated.forget(is_to_go).map_err(failed)?;
        self.curated.rewrite(|text| words.strike(text)).map_err(failed)
    }

    fn preview(&self, plan: &Plan, mut forgotten: MemoryForgotten) -> Result<MemoryForgotten, CallError> {
        let words = plan.words();
        let is_to_go = |text: &str| words.are_in(text);
        let documents = self.context.documents();
        let shown = |document: Document| match document.kind {
            // That follows the graph, and is no loss.
            Kind::Known => Fate::Stays,
            _ => fate(document, plan, &words),
        };
        let decided = documents.decide(&shown, &is_to_go, true).map_err(failed)?;
        forgotten.documents = decided.len();
        forgotten.samples.extend(plan.media.iter().take(SAMPLES).map(|address| sample("medium", address.clone(), "")));
        for id in decided.iter().take(SAMPLES) {
            let texts = documents.read(id).map(|document| document.texts()).unwrap_or_default();
            forgotten.samples.push(sample("document", id.clone(), &texts.join(" ")));
        }
        let change = |entry: &mut Entry| strike(entry, plan, &words);
        forgotten.contexts =
            self.context.change(&|name| is_gone(name, plan), &change, &is_to_go, true).map_err(failed)?;
        let held = self.graph.holding(&is_to_go)?;
        forgotten.names = held.names.len();
        forgotten.sentences = held.sentences.len() + held.literals.len();
        let names = held.names.iter().map(|(entity, name)| sample("name", entity.to_string(), name));
        let sentences = held.sentences.iter().map(|(origin, text)| sample("sentence", origin.clone(), text));
        forgotten.samples.extend(names.take(SAMPLES).chain(sentences.take(SAMPLES)));
        let lines = self.curated.lines(&Viewer::Everything).map_err(failed)?;
        let lines: Vec<&String> = lines.iter().filter(|line| is_to_go(line)).collect();
        forgotten.curated = lines.len();
        forgotten.samples.extend(lines.iter().take(SAMPLES).map(|line| sample("curated", String::new(), line)));
        Ok(forgotten)
    }
}

/// Whether a conversation is the private one of the person who goes.
fn is_gone(conversation: &str, plan: &Plan) -> bool {
    plan.account.as_ref().is_some_and(|account| account.named(conversation).is_some())
}

/// Renames in what is kept as JSON; false: it stays as it is.
fn rename<T: Serialize + DeserializeOwned>(of: &mut T, plan: &Plan) -> bool {
    let Some((account, Ok(mut value))) = plan.account.as_ref().zip(Some(serde_json::to_value(&*of))) else {
        return false;
    };
    match account.rename_in(&mut value).then(|| serde_json::from_value(value)) {
        Some(Ok(renamed)) => {
            *of = renamed;
            true
        }
        _ => false,
    }
}

/// Takes the words out of a message that stands in a window or a document; false: it stays as it is.
fn strike(entry: &mut Entry, plan: &Plan, words: &Words) -> bool {
    let is_renamed = rename(entry, plan);
    if plan.entries.contains(&entry.id) {
        let blanked = blank::blanked(entry.message.clone());
        let changed = blanked != entry.message;
        entry.message = blanked;
        return changed || is_renamed;
    }
    let Ok(mut message) = serde_json::to_value(&entry.message) else { return is_renamed };
    if !words.strike_in(&mut message) {
        return is_renamed;
    }
    let struck = serde_json::from_value(message).ok();
    entry.message = struck.unwrap_or_else(|| blank::blanked(entry.message.clone()));
    true
}

fn fate(mut document: Document, plan: &Plan, words: &Words) -> Fate {
    // What tells of the graph is written again of what is left of that.
    if plan.takes(&document) || document.kind == Kind::Known {
        return Fate::Goes;
    }
    let mut changed = document.events.iter_mut().fold(false, |any, entry| strike(entry, plan, words) | any);
    changed |= rename(&mut document, plan);
    for text in document.title.iter_mut().chain([&mut document.text]) {
        if let Some(struck) = words.strike(text) {
            *text = struck;
            changed = true;
        }
    }
    if changed { Fate::Becomes(Box::new(document)) } else { Fate::Stays }
}

/// What becomes of a line of the text log.
fn line_of(plan: &Plan) -> crate::textlog::Rewriting {
    let (words, whole) = (plan.words(), plan.whole.iter().copied().collect::<HashSet<Seq>>());
    let account = plan.account.clone();
    Box::new(move |line| {
        let Ok(mut read) = serde_json::from_str::<Value>(line) else {
            return (!words.are_in(line)).then(|| line.to_owned());
        };
        if read["seq"].as_i64().is_some_and(|seq| whole.contains(&seq)) {
            return None;
        }
        let is_renamed = account.as_ref().is_some_and(|account| account.rename_in(&mut read));
        if words.strike_in(&mut read) || is_renamed { Some(read.to_string()) } else { Some(line.to_owned()) }
    })
}

/// Rewrites the file without its free pages, and empties its write-ahead log.
fn shred(database: &Database) -> Result<(), DatabaseError> {
    let connection = database.writer()?;
    let run = || {
        connection.execute_batch("VACUUM")?;
        let busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if busy {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
            return Err(rusqlite::Error::SqliteFailure(code, Some("the write-ahead log is being read".to_owned())));
        }
        Ok(())
    };
    run().map_err(|error| database.error("rewriting the memory's file", error))
}

fn origins(places: &[Seq]) -> Vec<String> {
    places.iter().map(Seq::to_string).collect()
}

fn passages(index: &Index, origins: &[String]) -> Result<Vec<Passage>, DatabaseError> {
    let mut ids = index.ids(PassageKind::Said, origins)?;
    ids.extend(index.ids(PassageKind::Answered, origins)?);
    Ok(index.passages(&ids)?.into_iter().map(|(_, passage)| passage).collect())
}

fn sample(kind: &str, id: String, text: &str) -> MemorySample {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    MemorySample { kind: kind.to_owned(), id, text: line.chars().take(SAMPLE).collect() }
}

pub(crate) async fn blocking<T: Send + 'static, E: std::fmt::Display + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, CallError> {
    tokio::task::spawn_blocking(work).await.map_err(failed)?.map_err(failed)
}

pub(crate) fn failed(error: impl std::fmt::Display) -> CallError {
    CallError::Other(error.to_string())
}
