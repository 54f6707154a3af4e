//! Joining the rows of another memory's graph with those that are here: what both know is one row, all else gets numbers
//! of its own, and what was deleted here stays so.
//!
//! Which row here a row of the file became is remembered (`graph_imports`), by the salt of the memory that it came from, so
//! that taking the same file in again changes nothing, and a later one of the same memory adds what is new in it.

mod changes;
mod entities;
mod fields;
mod relations;

use std::collections::{BTreeSet, HashMap, HashSet};

use homeagent_types::Audience;
use rusqlite::{OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use super::error::{GraphError, Stop};
use super::rows::{TABLES, TableRow, hex};
use super::tombstones::Hash;
use super::writing::Writing;
use super::{Graph, seen};
use changes::{TheirChange, TheirClosing, TheirStep};
use entities::TheirEntity;
use fields::{Fields, invalid};

/// What came of joining.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    /// Rows that are here now and were not before.
    pub(crate) rows: usize,
    /// What was not taken: a sentence each.
    pub(crate) left: Vec<String>,
}

/// Says whether there is something at a place of this home's journal, and from that very moment: sequence number,
/// milliseconds since 1970.
pub(crate) type IsHere<'a> = dyn Fn(&str, i64) -> bool + 'a;

/// An audience of the file.
struct Circle {
    /// Its number here.
    id: i64,
    text: String,
    /// The audiences here in which a name means the same.
    scope: Vec<i64>,
}

/// The row here that a row of the file is now.
#[derive(Clone, Copy)]
struct Place {
    id: i64,
    /// It is here because it was imported.
    made: bool,
}

/// An import under way.
struct Joining<'a, 'w> {
    writing: &'a mut Writing<'w>,
    is_here: &'a IsHere<'a>,
    /// Stands for the memory that the file came from.
    home: String,
    /// The file came from this memory or from one that began with the same rows.
    is_kin: bool,
    circles: HashMap<i64, Circle>,
    /// Entities, until all that is told of who they are is read.
    people: Vec<TheirEntity>,
    /// By the file's numbers, as all below; none: refused.
    entities: HashMap<i64, Option<i64>>,
    labels: HashMap<i64, Vec<String>>,
    /// What the file's entities were merged into.
    merges: HashMap<i64, i64>,
    names: HashMap<i64, Place>,
    /// Names that are new here, and what the file says of how they are preferred.
    preferred: Vec<(i64, i64)>,
    relations: HashMap<i64, Option<Place>>,
    sentences: HashMap<i64, Option<i64>>,
    closings: Vec<TheirClosing>,
    changes: Vec<TheirChange>,
    steps: HashMap<i64, Vec<TheirStep>>,
    tombstones: Vec<(Hash, i64)>,
    /// By the numbers here: what this import made.
    made_entities: BTreeSet<i64>,
    made_sentences: BTreeSet<i64>,
    /// Rows here that a row of the file is already.
    claimed: HashSet<i64>,
    /// Relations that this import made and of which no evidence was taken yet.
    unproven: BTreeSet<i64>,
    /// By the file's numbers: when relations that are here already were taken back there.
    retracted: HashMap<i64, i64>,
    /// What new things were told of entities that were here: subject, predicate, whether it is a trait.
    touched: BTreeSet<(i64, String, bool)>,
    joined: Joined,
}

impl Graph {
    /// Takes the rows of another memory's graph in beside those that are here: all of them or none.
    ///
    /// # Errors
    ///
    /// [`GraphError::Invalid`] for a row that is none, with its line; what the database answers.
    pub(crate) fn join_rows(
        &self,
        next: &mut dyn FnMut() -> Result<Option<TableRow>, String>,
        is_here: &IsHere<'_>,
    ) -> Result<Joined, GraphError> {
        let result = self.write("importing into the graph", |writing| {
            let mut joining = Joining::new(writing, is_here);
            // The header is the first line.
            let (mut line, mut last) = (1, 0);
            while let Some((table, row)) = next().map_err(invalid)? {
                line += 1;
                let at = TABLES.iter().position(|(name, _)| *name == table);
                let at = at.ok_or_else(|| invalid(format!("line {line}: there is no table {table}")))?;
                if at < last {
                    return Err(invalid(format!(
                        "line {line}: rows of {table} stand before those of {}",
                        TABLES[last].0
                    )));
                }
                last = at;
                joining.take(&Fields { table: &table, row: &row }).map_err(|stop| placed(stop, line))?;
            }
            joining.end()
        });
        self.shared.shown.clear();
        result
    }
}

fn placed(stop: Stop, line: usize) -> Stop {
    match stop {
        Stop::Graph(GraphError::Invalid(why)) => invalid(format!("line {line}: {why}")),
        other => other,
    }
}

impl<'a, 'w> Joining<'a, 'w> {
    fn new(writing: &'a mut Writing<'w>, is_here: &'a IsHere<'a>) -> Self {
        Self {
            writing,
            is_here,
            home: String::new(),
            is_kin: false,
            circles: HashMap::new(),
            people: Vec::new(),
            entities: HashMap::new(),
            labels: HashMap::new(),
            merges: HashMap::new(),
            names: HashMap::new(),
            preferred: Vec::new(),
            relations: HashMap::new(),
            sentences: HashMap::new(),
            closings: Vec::new(),
            changes: Vec::new(),
            steps: HashMap::new(),
            tombstones: Vec::new(),
            made_entities: BTreeSet::new(),
            made_sentences: BTreeSet::new(),
            claimed: HashSet::new(),
            unproven: BTreeSet::new(),
            retracted: HashMap::new(),
            touched: BTreeSet::new(),
            joined: Joined::default(),
        }
    }

    fn take(&mut self, row: &Fields<'_>) -> Result<(), Stop> {
        match row.table {
            "graph_meta" => self.read_salt(row),
            "graph_audiences" => self.read_circle(row),
            "entities" => self.read_entity(row),
            "names" => self.read_name(row),
            "entity_accounts" => self.read_account(row),
            "relations" => {
                self.meet()?;
                self.take_relation(row)
            }
            "sentences" => self.take_sentence(row),
            "evidence" => self.take_evidence(row),
            "closings" => self.read_closing(row),
            "graph_changes" => self.read_change(row),
            "graph_steps" => self.read_step(row),
            _ => {
                self.tombstones.push((row.hash("hash")?, row.number("at")?));
                Ok(())
            }
        }
    }

    fn read_salt(&mut self, row: &Fields<'_>) -> Result<(), Stop> {
        let salt = row.text("value")?;
        self.is_kin = self.writing.tombstones.has_salt(&salt);
        let digest = Sha256::new().chain_update("home").chain_update(&salt).finalize();
        self.home = hex(digest.get(..8).unwrap_or_default());
        Ok(())
    }

    fn read_circle(&mut self, row: &Fields<'_>) -> Result<(), Stop> {
        if self.home.is_empty() {
            return Err(invalid("the salt of the graph does not stand before its rows".to_owned()));
        }
        let text = row.text("text")?;
        let audience = Audience::parse(&text);
        let viewer = self.writing.shared.audiences.viewer(&audience);
        let id = self.writing.audience(&audience)?;
        let same = seen::context(&audience, &viewer);
        let scope = same.iter().filter_map(|audience| self.writing.known_audience(&audience.to_string())).collect();
        self.circles.insert(row.number("id")?, Circle { id, text: audience.to_string(), scope });
        Ok(())
    }

    fn circle(&self, row: &Fields<'_>) -> Result<&Circle, Stop> {
        let id = row.number("audience")?;
        self.circles.get(&id).ok_or_else(|| invalid(format!("there is no audience {id} in the file")))
    }

    /// The row here that a row of the file became when a file of its memory was taken in before; it may be gone.
    fn known(&self, what: &str, theirs: i64, at: i64) -> rusqlite::Result<Option<Place>> {
        let sql = "SELECT ours, made FROM graph_imports WHERE home = ?1 AND what = ?2 AND theirs = ?3 AND at = ?4";
        let mut statement = self.writing.connection.prepare_cached(sql)?;
        let read = |row: &rusqlite::Row<'_>| Ok(Place { id: row.get(0)?, made: row.get(1)? });
        statement.query_row(params![self.home, what, theirs, at], read).optional()
    }

    fn remember(&self, what: &str, theirs: i64, at: i64, place: Place) -> rusqlite::Result<()> {
        if self.is_kin && theirs == place.id {
            return Ok(());
        }
        let sql = "INSERT INTO graph_imports (home, what, theirs, at, ours, made) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                   ON CONFLICT (home, what, theirs, at) DO UPDATE SET ours = excluded.ours, made = excluded.made
                   WHERE ours <> excluded.ours";
        let row = params![self.home, what, theirs, at, place.id, place.made];
        self.writing.connection.prepare_cached(sql)?.execute(row).map(drop)
    }

    fn end(mut self) -> Result<Joined, Stop> {
        self.meet()?;
        self.drop_unproven()?;
        for (theirs, place) in &self.relations {
            if let Some(place) = place {
                self.remember("relation", *theirs, 0, *place)?;
            }
        }
        self.take_changes()?;
        self.settle_touched()?;
        self.drop_empty()?;
        self.take_tombstones()?;
        self.writing.reload_merged()?;
        Ok(self.joined)
    }

    /// Hashes say something here only under the same salt.
    fn take_tombstones(&mut self) -> Result<(), Stop> {
        let tombstones = std::mem::take(&mut self.tombstones);
        if !self.is_kin {
            if !tombstones.is_empty() {
                self.joined.left.push(format!(
                    "what was deleted from the other graph ({} hashes) can't be known here; delete it here too where it is known",
                    tombstones.len()
                ));
            }
            return Ok(());
        }
        for (hash, at) in tombstones {
            let before = self.writing.tombstones.at(&hash);
            if before.is_none_or(|before| before < at) {
                self.writing.bury_hash(hash, at)?;
                self.joined.rows += 1;
            }
        }
        Ok(())
    }
}
