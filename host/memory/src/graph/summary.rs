//! What the graph knows of, in a few lines for the prompt: names, kinds and counts, no facts.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use homeagent_types::Viewer;
use rusqlite::{Row, params};
use serde::Serialize;

use super::error::Stop;
use super::model::{EntityKind, FOREIGN_LABEL};
use super::seen::Seen;
use super::show::Showing;
use super::{Graph, GraphError};

/// Names that are listed.
const NAMES: usize = 40;

/// Rows of names that count in each audience, the most spoken of first.
const LOOKED_AT: usize = 120;

/// Rows of names that are looked at for those.
const WALKED: u32 = 2000;

/// The longest text, in characters.
const LONGEST: usize = 1200;

/// A graph of no more relations than this is counted anew whenever something has changed.
const EXACT: u64 = 4096;

/// A larger one when this part of it has: rows that were written, of which a relation that is told takes several.
const INEXACT: u64 = 8;

/// Readers whose summaries are kept.
const KEPT: usize = 64;

/// What a reader may know that the graph knows of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// How many entities of each kind.
    pub kinds: Vec<(EntityKind, i64)>,
    /// How many different relations that were not taken back.
    pub relations: i64,
    /// The most spoken of: name, kind and mentions.
    pub names: Vec<(String, EntityKind, i64)>,
}

impl Summary {
    /// Lines for a prompt, at most some hundred words; empty where nothing is known.
    #[must_use]
    pub fn text(&self) -> String {
        if self.kinds.is_empty() {
            return String::new();
        }
        let counts: Vec<String> = self.kinds.iter().map(|(kind, count)| format!("{count} {}", kind.as_str())).collect();
        let mut text = format!("{} relations over: {}.", self.relations, counts.join(", "));
        let mut length = text.chars().count();
        for (at, (name, kind, _)) in self.names.iter().enumerate() {
            let entry = format!("{}{name} ({})", if at == 0 { "\nMost spoken of: " } else { ", " }, kind.as_str());
            length += entry.chars().count();
            if length > LONGEST {
                break;
            }
            text.push_str(&entry);
        }
        let _ = writeln!(text);
        text
    }
}

/// Summaries by reader.
pub(super) type Kept = Mutex<HashMap<Seen, KeptSummary>>;

/// A summary, and of what state of the graph it is.
pub(super) struct KeptSummary {
    generation: u64,
    summary: Arc<Summary>,
    /// How many rows had ever been changed when it was counted.
    counted_at: u64,
}

impl KeptSummary {
    /// Whether so little was changed since it was counted that its counts do still. Small ones never do: they are counted in
    /// no time.
    fn counts_still(&self, changes: u64) -> bool {
        let relations = u64::try_from(self.summary.relations).unwrap_or(0);
        relations > EXACT && changes.saturating_sub(self.counted_at) < relations / INEXACT
    }
}

impl Graph {
    /// What the viewer may know that the graph knows of. Kept until something changes. Which names are spoken of most is then
    /// looked up anew; how much there is, in a graph of more than some thousand relations, when enough has changed.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn index_summary(&self, viewer: &Viewer) -> Result<Arc<Summary>, GraphError> {
        let seen = self.seen(viewer);
        let generation = self.shared.generation.load(Ordering::Acquire);
        let changes = self.shared.changes.load(Ordering::Acquire);
        let lock = || self.shared.summaries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counted = None;
        if let Some(kept) = lock().get(&seen) {
            if kept.generation == generation {
                return Ok(kept.summary.clone());
            }
            counted = kept.counts_still(changes).then(|| (kept.summary.clone(), kept.counted_at));
        }
        let (summary, counted_at) = self.show("counting what is known", viewer, |showing| {
            let names = showing.most_spoken_of()?;
            Ok(match counted {
                Some((older, at)) => (Summary { names, ..Summary::clone(&older) }, at),
                None => (Summary { names, ..showing.counts()? }, changes),
            })
        })?;
        let summary = Arc::new(summary);
        let mut kept = lock();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(seen, KeptSummary { generation, summary: summary.clone(), counted_at });
        Ok(summary)
    }
}

impl Showing<'_> {
    /// A summary without names.
    fn counts(&mut self) -> Result<Summary, Stop> {
        let several = self.several_that_are_one()?;
        let relations = self.statements()? - self.repeated(&several)?;
        Ok(Summary { kinds: self.kinds(&several)?, relations, names: Vec::new() })
    }

    /// How many statements there are that were not taken back: all, which one index holds in its order, without those of which
    /// every row was.
    fn statements(&self) -> Result<i64, Stop> {
        if *self.seen == Seen::Only(Vec::new()) {
            // SQLite takes no index for a condition that never holds, not even the one it is told to.
            return Ok(0);
        }
        let condition = self.seen.condition("audience");
        let sql = format!(
            "SELECT count(*) FROM (
                 SELECT DISTINCT subject, predicate, object_key FROM relations INDEXED BY relations_key WHERE {condition})"
        );
        let all: i64 = self.connection.prepare_cached(&sql)?.query_row([], |row| row.get(0))?;
        let sql = format!(
            "SELECT count(*) FROM (
                 SELECT DISTINCT subject, predicate, object_key FROM relations AS gone INDEXED BY relations_retracted
                 WHERE retracted_at IS NOT NULL AND {condition} AND NOT EXISTS (
                     SELECT 1 FROM relations INDEXED BY relations_key
                     WHERE subject = gone.subject AND predicate = gone.predicate AND object_key = gone.object_key
                     AND retracted_at IS NULL AND {condition}))"
        );
        let gone: i64 = self.connection.prepare_cached(&sql)?.query_row([], |row| row.get(0))?;
        Ok(all - gone)
    }

    /// Entities that mean the same to the reader and were told before audiences which do not know of each other.
    fn several_that_are_one(&mut self) -> Result<Vec<Arc<Vec<i64>>>, Stop> {
        let sql = format!(
            "SELECT min(entity) FROM names WHERE {} AND {}
             GROUP BY folded HAVING count(DISTINCT entity) > 1 ORDER BY 1",
            EntityKind::shared_condition("kind"),
            self.seen.condition("audience")
        );
        let firsts: Vec<i64> =
            self.connection.prepare_cached(&sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let (mut several, mut met) = (Vec::new(), HashSet::new());
        for first in firsts {
            let alike = self.alike(first)?;
            if met.insert(alike.first().copied()) {
                several.push(alike);
            }
        }
        Ok(several)
    }

    /// How many relations to such entities say what another of them says.
    fn repeated(&self, several: &[Arc<Vec<i64>>]) -> Result<i64, Stop> {
        let sql = format!(
            "SELECT DISTINCT subject, predicate FROM relations WHERE object = ?1 AND retracted_at IS NULL AND {}",
            self.seen.condition("audience")
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut repeated = 0;
        for alike in several {
            let mut said: HashSet<(i64, String)> = HashSet::new();
            for entity in alike.iter() {
                for row in statement.query_map([entity], |row| Ok((row.get(0)?, row.get(1)?)))? {
                    repeated += i64::from(!said.insert(row?));
                }
            }
        }
        Ok(repeated)
    }

    fn kinds(&self, several: &[Arc<Vec<i64>>]) -> Result<Vec<(EntityKind, i64)>, Stop> {
        let condition = self.seen.condition("audience");
        let one = format!("SELECT min(kind) FROM names WHERE entity = ?1 AND {condition}");
        let all = format!(
            "SELECT kind, count(*) FROM (SELECT entity, min(kind) AS kind FROM names WHERE {condition} GROUP BY entity)
             GROUP BY kind"
        );
        let mut counts: HashMap<EntityKind, i64> = HashMap::new();
        let mut statement = self.connection.prepare_cached(&all)?;
        for row in statement.query_map([], |row| Ok((EntityKind::parse(row.get_ref(0)?.as_str()?), row.get(1)?)))? {
            let (kind, count): (EntityKind, i64) = row?;
            *counts.entry(kind).or_default() += count;
        }
        // Merges are few: what they make one is taken off afterwards, rather than looked up for each name.
        let mut statement = self.connection.prepare_cached(&one)?;
        let apart = self.merged.clusters().into_iter().map(Arc::new);
        let apart = apart.filter(|cluster| !several.iter().any(|alike| cluster.iter().any(|one| alike.contains(one))));
        for cluster in apart.chain(several.iter().cloned()) {
            let mut kinds = Vec::new();
            for entity in cluster.iter() {
                let kind: Option<String> = statement.query_row([entity], |row| row.get(0))?;
                kinds.extend(kind.map(|kind| EntityKind::parse(&kind)));
            }
            for kind in kinds.into_iter().skip(1) {
                *counts.entry(kind).or_default() -= 1;
            }
        }
        let mut counts: Vec<(EntityKind, i64)> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        counts.sort_by_key(|(kind, count)| (-count, *kind));
        Ok(counts)
    }

    /// Whether more is known of an entity than what others may have written: the names of such go into no prompt.
    fn is_known_of_own_words(&self, id: i64) -> Result<bool, Stop> {
        let condition = self.seen.condition("audience");
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM entity_accounts WHERE entity = ?1 AND {condition})
             OR EXISTS (SELECT 1 FROM relations WHERE subject = ?1 AND {condition}
                        AND instr(' ' || kinds || ' ', ' ' || ?2 || ' ') = 0)
             OR EXISTS (SELECT 1 FROM relations WHERE object = ?1 AND {condition}
                        AND instr(' ' || kinds || ' ', ' ' || ?2 || ' ') = 0)"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        for entity in self.merged.cluster(id) {
            if statement.query_row(params![entity, FOREIGN_LABEL], |row| row.get(0))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn most_spoken_of(&mut self) -> Result<Vec<(String, EntityKind, i64)>, Stop> {
        let audiences: Vec<i64> = match self.seen {
            Seen::Only(ids) => ids.clone(),
            Seen::All => {
                let mut statement = self.connection.prepare_cached("SELECT id FROM graph_audiences")?;
                statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?
            }
        };
        let sql = "SELECT entity, mentions, id FROM names WHERE audience = ?1 ORDER BY mentions DESC, id LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        // How often, and the first name by which it was heard: an entity's own number may be older than that.
        let mut heard: HashMap<i64, (i64, i64)> = HashMap::new();
        for audience in audiences {
            let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let mut counted = 0;
            for row in statement.query_map(params![audience, WALKED], read)? {
                let (entity, count, name): (i64, i64, i64) = row?;
                if counted >= LOOKED_AT {
                    break;
                }
                if !self.is_known_of_own_words(entity)? {
                    continue;
                }
                counted += 1;
                let known = heard.entry(self.merged.root(entity)).or_insert((0, name));
                *known = (known.0 + count, known.1.min(name));
            }
        }
        let mut ranked: Vec<(i64, (i64, i64))> = heard.into_iter().collect();
        ranked.sort_by_key(|(_, (count, name))| (-count, *name));
        let mut names: Vec<(String, EntityKind, i64)> = Vec::new();
        let mut listed: HashMap<i64, usize> = HashMap::new();
        for (entity, (count, _)) in ranked {
            let first = self.alike(entity)?.first().copied().unwrap_or(entity);
            if let Some(known) = listed.get(&first).and_then(|at| names.get_mut(*at)) {
                known.2 += count;
            } else if names.len() < NAMES
                && let Some(entity) = self.entity(entity)?
            {
                listed.insert(first, names.len());
                names.push((entity.name, entity.kind, count));
            }
        }
        // Which are first may have changed by what was added to them; those of one count stay in their order.
        names.sort_by_key(|(.., count)| -count);
        Ok(names)
    }
}
