//! The chunks of a base: what changed is written, and nothing else.

use std::collections::{HashMap, VecDeque};

use homeagent_language::text::index_terms;
use homeagent_settings::DatabaseError;
use rusqlite::{OptionalExtension as _, Transaction, params};
use sha2::{Digest as _, Sha256};

use super::{Index, NewBase, signed};
use crate::Name;
use crate::chunk::Chunk;

/// After how many chunks the progress is told.
const STEP: usize = 100;

/// A chunk with its text.
pub(crate) struct NewChunk<'a> {
    pub(crate) chunk: Chunk,
    pub(crate) text: &'a str,
    pub(crate) lead: Option<&'a str>,
}

/// What became of the chunks of a base.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The ids of those that are gone.
    pub(crate) gone: Vec<i64>,
    /// How many there are that were not there before.
    pub(crate) added: usize,
    /// How many there are.
    pub(crate) all: usize,
}

impl NewChunk<'_> {
    /// What tells chunks apart: also what is above them is in their vectors.
    fn digest(&self) -> [u8; 16] {
        let mut hash = Sha256::new();
        for part in self.chunk.headings.iter().map(String::as_str).chain([self.lead.unwrap_or_default(), self.text]) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let whole: [u8; 32] = hash.finalize().into();
        let mut digest = [0; 16];
        digest.copy_from_slice(&whole[..16]);
        digest
    }
}

impl Index {
    /// Puts the chunks of a base in the place of those it had, all at once. Those that are as they were keep their ids and
    /// vectors. `told` is told how many are done.
    pub(crate) fn put(
        &self,
        base: &NewBase<'_>,
        chunks: &[NewChunk<'_>],
        told: &dyn Fn(usize),
    ) -> Result<Changes, DatabaseError> {
        let digests: Vec<[u8; 16]> = chunks.iter().map(NewChunk::digest).collect();
        let changes = self.database().write("indexing a text", |transaction| {
            let id = put_base(transaction, base)?;
            let mut known = known(transaction, id)?;
            let mut changes = Changes { all: chunks.len(), ..Changes::default() };
            for (position, (chunk, digest)) in chunks.iter().zip(&digests).enumerate() {
                match known.get_mut(digest).and_then(VecDeque::pop_front) {
                    Some(chunk_id) => place(transaction, chunk_id, position, chunk)?,
                    None => {
                        insert(transaction, (id, base.name), position, chunk, digest)?;
                        changes.added += 1;
                    }
                }
                if position % STEP == STEP - 1 {
                    told(position + 1);
                }
            }
            changes.gone = known.into_values().flatten().collect();
            remove(transaction, &changes.gone)?;
            Ok(changes)
        })?;
        if !changes.gone.is_empty() {
            self.sweep()?;
        }
        Ok(changes)
    }
}

fn put_base(transaction: &Transaction<'_>, base: &NewBase<'_>) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO bases (name, circle, title, description, source, bytes, modified, digest, problem)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
               ON CONFLICT (name) DO UPDATE SET circle = excluded.circle, title = excluded.title,
                   description = excluded.description, source = excluded.source, bytes = excluded.bytes,
                   modified = excluded.modified, digest = excluded.digest, problem = excluded.problem
               RETURNING id";
    let front = base.front;
    let row = params![
        base.name.as_str(),
        front.circle.as_str(),
        front.title,
        front.description,
        front.source,
        signed(base.stamp.bytes),
        base.stamp.modified,
        base.digest.as_slice(),
        base.problem,
    ];
    transaction.query_row(sql, row, |row| row.get(0))
}

/// The chunks that a base has, by what they hold, in the order of the file.
fn known(transaction: &Transaction<'_>, base: i64) -> rusqlite::Result<HashMap<[u8; 16], VecDeque<i64>>> {
    let mut statement =
        transaction.prepare_cached("SELECT id, digest FROM chunks WHERE base = ?1 ORDER BY position")?;
    let mut known: HashMap<[u8; 16], VecDeque<i64>> = HashMap::new();
    for row in statement.query_map([base], |row| Ok((row.get(0)?, row.get(1)?)))? {
        let (id, digest) = row?;
        known.entry(digest).or_default().push_back(id);
    }
    Ok(known)
}

fn place(transaction: &Transaction<'_>, id: i64, position: usize, new: &NewChunk<'_>) -> rusqlite::Result<()> {
    let sql = "UPDATE chunks SET position = ?2, first_line = ?3, last_line = ?4, start = ?5 WHERE id = ?1";
    let (first, last) = new.chunk.lines;
    let row = params![id, signed(position as u64), first, last, signed(new.chunk.range.start as u64)];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

fn insert(
    transaction: &Transaction<'_>,
    (base, name): (i64, &Name),
    position: usize,
    new: &NewChunk<'_>,
    digest: &[u8; 16],
) -> rusqlite::Result<()> {
    let headings = serde_json::to_string(&*new.chunk.headings).unwrap_or_default();
    let sql = "INSERT INTO chunks (base, position, first_line, last_line, start, headings, lead, text, digest)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let (first, last) = new.chunk.lines;
    let start = signed(new.chunk.range.start as u64);
    let row = params![base, signed(position as u64), first, last, start, headings, new.lead, new.text, digest];
    transaction.prepare_cached(sql)?.execute(row)?;
    let id = transaction.last_insert_rowid();
    // What a base is called says what it is about.
    let above = index_terms(&format!("{name} {}", new.chunk.headings.join(" "))).join(" ");
    let body = index_terms(&format!("{} {}", new.lead.unwrap_or_default(), new.text)).join(" ");
    let sql = "INSERT INTO chunk_terms (rowid, headings, body) VALUES (?1, ?2, ?3)";
    transaction.prepare_cached(sql)?.execute(params![id, above, body]).map(drop)
}

fn remove(transaction: &Transaction<'_>, ids: &[i64]) -> rusqlite::Result<()> {
    for id in ids {
        transaction.prepare_cached("DELETE FROM chunk_terms WHERE rowid = ?1")?.execute([id])?;
        transaction.prepare_cached("DELETE FROM chunks WHERE id = ?1")?.execute([id])?;
    }
    Ok(())
}

/// Removes all chunks of a base.
pub(super) fn remove_all(transaction: &Transaction<'_>, name: &Name) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT id FROM bases WHERE name = ?1";
    let Some(base) = transaction.query_row(sql, [name.as_str()], |row| row.get::<_, i64>(0)).optional()? else {
        return Ok(Vec::new());
    };
    let ids: Vec<i64> = known(transaction, base)?.into_values().flatten().collect();
    remove(transaction, &ids)?;
    Ok(ids)
}
