//! Finding relations: from the entities that a question names, along what relates them, two steps far.

use std::collections::{HashMap, HashSet};

use homeagent_types::Viewer;
use rusqlite::{Row, params};
use serde::Serialize;

use super::error::{GraphError, Stop};
use super::model::{Relation, Sentence};
use super::show::Showing;
use super::{Graph, predicate};

/// How far from a seed, in relations.
const DEPTH: u32 = 2;

/// Entities from which a step is made, the best first.
const WIDTH: usize = 24;

/// Relations that are looked at from one entity, at each end, the last told first.
const FAN: u32 = 48;

/// What is left of an entity's score a step further.
const DECAY: f32 = 0.5;

/// What a relation is worth more whose predicate was asked for.
const ASKED: f32 = 1.8;

/// What one is worth that no longer holds.
const PAST: f32 = 0.5;

/// Sentences given as a relation's source.
const SOURCES: u32 = 3;

/// What is asked of the graph.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The words.
    pub text: &'a str,
    /// Rows of names whose vectors are near the question's, with their likeness from 0 to 1; see [`Graph::name_texts`].
    pub alike: &'a [(i64, f32)],
    /// The account that asks, which "I" and 我 mean.
    pub asker: Option<&'a str>,
    /// Who reads what comes of it.
    pub viewer: &'a Viewer,
    /// How many relations at most.
    pub limit: usize,
    /// The run or conversation whose relations that were shown before are left out.
    pub unless_shown_in: Option<&'a str>,
}

/// A relation that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// The relation.
    #[serde(flatten)]
    pub relation: Relation,
    /// How well it fits; comparable within one answer.
    pub score: f32,
    /// Where it was said, the last time first.
    pub sources: Vec<Sentence>,
}

/// A relation as a way to go.
#[derive(Clone)]
struct Edge {
    id: i64,
    subject: i64,
    predicate: String,
    object: Option<i64>,
    object_key: String,
    confidence: f64,
    last_at: i64,
    is_past: bool,
}

impl Edge {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            subject: row.get(1)?,
            predicate: row.get(2)?,
            object: row.get(3)?,
            object_key: row.get(4)?,
            confidence: row.get(5)?,
            last_at: row.get(6)?,
            is_past: row.get(7)?,
        })
    }
}

/// A search under way.
#[derive(Default)]
struct Search {
    /// Relations and their scores.
    found: HashMap<i64, (Edge, f32)>,
    visited: HashSet<i64>,
}

impl Graph {
    /// The relations that answer a question best, at most as many as asked for.
    ///
    /// Entities are found by their names in the question, by words of their names and values, and by vectors; from them
    /// relations are followed two steps far with falling scores. A relation counts more when its predicate was asked for,
    /// less when it no longer holds.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn recall(&self, question: &Question<'_>) -> Result<Vec<Found>, GraphError> {
        let shown = question.unless_shown_in.map(|run| self.shared.shown.relations(run)).unwrap_or_default();
        self.show("recalling from the graph", question.viewer, |showing| {
            let mut seeds = showing.seeds(question.text, question.alike)?;
            if let Some(asker) = question.asker.filter(|_| speaks_of_oneself(question.text)) {
                showing.person(asker)?.into_iter().for_each(|person| {
                    seeds.entities.insert(person, 1.0);
                });
            }
            let asked = predicate::asked_for(question.text);
            let mut search = Search::default();
            for (id, score) in &seeds.relations {
                showing.edge(*id)?.into_iter().for_each(|edge| search.rate(edge, *score));
            }
            showing.walk(&mut search, &seeds.entities, &asked)?;
            let mut found: Vec<Found> = Vec::new();
            for (id, score) in search.best(showing, &shown, question.limit)? {
                if !found.iter().any(|other| other.relation.ids().any(|known| known == id)) {
                    found.extend(showing.found(id, score)?);
                }
            }
            Ok(found)
        })
    }

    /// The entities that a text is about, by score; those which are one count as one.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn mentioned(&self, text: &str, viewer: &Viewer) -> Result<Vec<(i64, f32)>, GraphError> {
        self.show("looking for names", viewer, |showing| {
            let seeds = showing.seeds(text, &[])?;
            let mut found: Vec<(i64, f32)> = seeds.entities.into_iter().collect();
            found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            Ok(found)
        })
    }
}

impl Search {
    /// Keeps the best score a relation is found with.
    fn rate(&mut self, edge: Edge, score: f32) {
        let score = score * (0.5 + 0.5 * edge.confidence as f32) * if edge.is_past { PAST } else { 1.0 };
        let known = self.found.entry(edge.id).or_insert((edge, 0.0));
        known.1 = known.1.max(score);
    }

    /// The ids of the best relations, each once that says the same.
    fn best(self, showing: &mut Showing<'_>, shown: &HashSet<i64>, limit: usize) -> rusqlite::Result<Vec<(i64, f32)>> {
        let mut found: Vec<(Edge, f32)> = self.found.into_values().collect();
        found.sort_by(|(a, scored), (b, other)| {
            other.total_cmp(scored).then(b.last_at.cmp(&a.last_at)).then(a.id.cmp(&b.id))
        });
        let mut key = |edge: &Edge| showing.statement(edge.subject, &edge.predicate, edge.object, &edge.object_key);
        // The same, told in another audience, has another id.
        let mut said_before = HashSet::new();
        for (edge, _) in found.iter().filter(|(edge, _)| shown.contains(&edge.id)) {
            said_before.insert(key(edge)?);
        }
        let (mut said, mut best) = (HashSet::new(), Vec::new());
        for (edge, score) in &found {
            if best.len() >= limit {
                break;
            }
            let statement = key(edge)?;
            if !said_before.contains(&statement) && said.insert((statement, edge.is_past)) {
                best.push((edge.id, *score));
            }
        }
        Ok(best)
    }
}

impl Showing<'_> {
    fn walk(&self, search: &mut Search, seeds: &HashMap<i64, f32>, asked: &[&str]) -> Result<(), Stop> {
        let mut frontier = ranked(seeds.clone());
        for _ in 0..DEPTH {
            let mut next: HashMap<i64, f32> = HashMap::new();
            for (entity, score) in frontier.iter().take(WIDTH) {
                if !search.visited.insert(*entity) {
                    continue;
                }
                for edge in self.edges(*entity, asked)? {
                    let other =
                        if self.merged.root(edge.subject) == *entity { edge.object } else { Some(edge.subject) };
                    let other = other.map(|other| self.merged.root(other)).filter(|other| other != entity);
                    // What lies between two that were asked for answers more than what hangs on one.
                    let both = other.and_then(|other| seeds.get(&other)).copied().unwrap_or_default();
                    let wanted = if asked.contains(&edge.predicate.as_str()) { ASKED } else { 1.0 };
                    let worth = score * DECAY * wanted + both * DECAY;
                    if let Some(other) = other {
                        let reached = next.entry(other).or_default();
                        *reached = reached.max(score * DECAY);
                    }
                    search.rate(edge, worth);
                }
            }
            frontier = ranked(next);
        }
        Ok(())
    }

    /// Relations of an entity and of those that are one with it: the last told at each end, and those that were asked for.
    fn edges(&self, entity: i64, asked: &[&str]) -> rusqlite::Result<Vec<Edge>> {
        let condition = self.seen.condition("audience");
        let last_told = |which: &str| {
            format!(
                "SELECT id, last_at FROM relations WHERE {which} AND {condition} ORDER BY last_at DESC, id DESC LIMIT ?2"
            )
        };
        // Which are the last is known before it is looked up what closed them: a hub has thousands.
        let columns = self.edge_columns();
        let select = |ids: &str| format!("SELECT {columns} FROM relations WHERE id IN (SELECT id FROM ({ids}))");
        // Each of these has an index in the order of time.
        let of_predicate = [
            "superseded_at IS NULL AND valid_to IS NULL AND retracted_at IS NULL",
            "superseded_at IS NOT NULL",
            "valid_to IS NOT NULL AND retracted_at IS NULL",
        ]
        .map(|which| format!("SELECT * FROM ({})", last_told(&format!("subject = ?1 AND predicate = ?3 AND {which}"))))
        .join(" UNION ALL ");
        let of_predicate = select(&format!("{of_predicate} ORDER BY last_at DESC, id DESC LIMIT ?2"));
        let mut edges: Vec<Edge> = Vec::new();
        for entity in self.merged.cluster(entity) {
            for end in ["subject = ?1", "object = ?1"] {
                let sql = select(&last_told(&format!("{end} AND retracted_at IS NULL")));
                let mut statement = self.connection.prepare_cached(&sql)?;
                for edge in statement.query_map([entity, FAN.into()], Edge::read)? {
                    edges.push(edge?);
                }
            }
            for predicate in asked {
                let mut statement = self.connection.prepare_cached(&of_predicate)?;
                for edge in statement.query_map(params![entity, FAN, predicate], Edge::read)? {
                    edges.push(edge?);
                }
            }
        }
        Ok(edges)
    }

    fn edge(&self, id: i64) -> rusqlite::Result<Option<Edge>> {
        let condition = self.seen.condition("relations.audience");
        let sql = format!("SELECT {} FROM relations WHERE id = ?1 AND {condition}", self.edge_columns());
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query_map([id], Edge::read)?;
        rows.next().transpose()
    }

    fn edge_columns(&self) -> String {
        let (closer, ender) = (self.seen.closer("relations"), self.seen.ender("relations"));
        format!(
            "relations.id, subject, predicate, object, object_key, confidence, last_at,
             valid_to IS NOT NULL OR superseded_at IS NOT NULL OR EXISTS (SELECT 1 FROM {closer}) OR EXISTS (SELECT 1 FROM {ender})"
        )
    }

    fn found(&mut self, id: i64, score: f32) -> Result<Option<Found>, Stop> {
        let Some(relation) = self.relation(id)? else { return Ok(None) };
        let rows: Vec<i64> = relation.ids().collect();
        Ok(Some(Found { relation, score, sources: self.sentences_of(&rows, SOURCES)? }))
    }

    /// The entity of an account.
    fn person(&self, account: &str) -> rusqlite::Result<Option<i64>> {
        let condition = self.seen.condition("audience");
        let sql =
            format!("SELECT entity FROM entity_accounts WHERE account = ?1 AND {condition} ORDER BY entity LIMIT 1");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query_map([account], |row| row.get::<_, i64>(0))?;
        Ok(rows.next().transpose()?.map(|id| self.merged.root(id)))
    }
}

fn ranked(scores: HashMap<i64, f32>) -> Vec<(i64, f32)> {
    let mut ranked: Vec<(i64, f32)> = scores.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked
}

/// Whether whoever asks asks about himself.
fn speaks_of_oneself(asked: &str) -> bool {
    let words = homeagent_language::text::words(asked);
    words.iter().any(|word| matches!(word.as_str(), "i" | "me" | "my" | "mine" | "myself" | "i'm"))
        || asked.contains(['我', '咱', '俺'])
}
