//! Passages in the tables.

use std::collections::{BTreeMap, HashSet};

use homeagent_language::text::LEXICON;
use homeagent_types::Audience;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};
use sha2::{Digest as _, Sha256};

use super::columns::Entry;
use super::fed::Fed;
use super::names::intern;
use super::pieces::pieces;
use super::{Columns, Passage, PassageKind};
use crate::vectors::{self, Kind};

/// What a transaction did, for what is kept in memory.
#[derive(Default)]
pub(super) struct Change {
    /// New passages, their ids ascending, each with its terms.
    pub(super) added: Vec<(Entry, Vec<(String, bool)>)>,
    pub(super) removed: Vec<i64>,
    /// Those whose vectors were removed, because they were made with what stood before them.
    pub(super) stale: Vec<i64>,
    pub(super) names: BTreeMap<u32, String>,
}

/// Reads a passage by its id.
pub(super) const WHOLE_PASSAGE: &str =
    "SELECT p.kind, p.origin, p.part, c.name, s.name, p.position, w.name, a.name, p.at_ms, t.text
    FROM passages p JOIN passage_texts t ON t.id = p.id
    JOIN passage_names c ON c.id = p.conversation JOIN passage_names s ON s.id = p.session
    JOIN passage_names w ON w.id = p.speaker JOIN passage_names a ON a.id = p.audience
    WHERE p.id = ?1";

pub(super) fn passage(row: &Row<'_>) -> rusqlite::Result<Passage> {
    let (conversation, session, audience): (String, String, String) = (row.get(3)?, row.get(4)?, row.get(7)?);
    let session = session.strip_prefix(&conversation).and_then(|rest| rest.strip_prefix('\n')).unwrap_or(&session);
    Ok(Passage {
        kind: PassageKind::from_code(row.get(0)?).unwrap_or(PassageKind::Document),
        origin: row.get(1)?,
        part: row.get(2)?,
        session: session.to_owned(),
        conversation,
        position: row.get(5)?,
        speaker: row.get(6)?,
        audience: Audience::parse(&audience),
        at_ms: row.get(8)?,
        text: row.get(9)?,
    })
}

/// A passage as it goes into the tables. Cutting text takes longer than writing it, and is done before others have to wait
/// for the database.
pub(super) struct Prepared<'a> {
    passage: &'a Passage,
    pieces: Vec<(String, Fed)>,
}

/// Of several under one origin the last one counts.
pub(super) fn prepare(passages: &[Passage]) -> Vec<Prepared<'_>> {
    let mut seen = HashSet::new();
    let mut last: Vec<&Passage> = passages.iter().rev().filter(|new| seen.insert((new.kind, &new.origin))).collect();
    last.reverse();
    let prepared = |passage: &Passage, piece: String| {
        let fed = Fed::of(&passage.speaker, &piece);
        (piece, fed)
    };
    last.into_iter()
        .map(|passage| Prepared {
            passage,
            pieces: pieces(&passage.text).into_iter().map(|piece| prepared(passage, piece)).collect(),
        })
        .collect()
}

pub(super) fn put(transaction: &Transaction<'_>, prepared: Vec<Prepared<'_>>) -> rusqlite::Result<(Change, ())> {
    let mut change = Change::default();
    let mut buried = transaction.prepare_cached("SELECT 1 FROM forgotten_passages WHERE hash = ?1")?;
    for Prepared { passage: new, pieces } in prepared {
        if buried.exists([grave(new.kind, &new.origin)])? {
            continue;
        }
        let old = stored(transaction, new.kind, &new.origin)?;
        if old.len() == pieces.len() && old.iter().zip(&pieces).all(|((_, old), (text, _))| same(old, new, text)) {
            continue;
        }
        for (id, old) in old {
            delete(transaction, id, &old, &mut change)?;
        }
        for (part, (text, fed)) in (0..).zip(pieces) {
            insert(transaction, new, part, &text, fed, &mut change)?;
        }
    }
    Ok((change, ()))
}

pub(super) fn remove(
    transaction: &Transaction<'_>,
    kind: PassageKind,
    origins: &[String],
) -> rusqlite::Result<(Change, usize)> {
    let mut change = Change::default();
    for origin in origins {
        for (id, old) in stored(transaction, kind, origin)? {
            delete(transaction, id, &old, &mut change)?;
        }
    }
    let removed = change.removed.len();
    Ok((change, removed))
}

/// Removes the names that no passage has: they tell of those that had them.
pub(super) fn remove_unused_names(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute(
        "DELETE FROM passage_names WHERE id NOT IN (SELECT conversation FROM passages UNION SELECT session FROM passages
         UNION SELECT speaker FROM passages UNION SELECT audience FROM passages)",
        [],
    )?;
    Ok(())
}

/// Notes that what has these origins was forgotten.
pub(super) fn bury(transaction: &Transaction<'_>, kind: PassageKind, origins: &[String]) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO forgotten_passages (hash) VALUES (?1)")?;
    for origin in origins {
        insert.execute([grave(kind, origin)])?;
    }
    Ok(())
}

fn grave(kind: PassageKind, origin: &str) -> [u8; 32] {
    Sha256::new().chain_update([kind.code()]).chain_update(origin).finalize().into()
}

fn stored(transaction: &Transaction<'_>, kind: PassageKind, origin: &str) -> rusqlite::Result<Vec<(i64, Passage)>> {
    let mut ids =
        transaction.prepare_cached("SELECT id FROM passages WHERE kind = ?1 AND origin = ?2 ORDER BY part")?;
    let ids: Vec<i64> =
        ids.query_map(params![kind.code(), origin], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut whole = transaction.prepare_cached(WHOLE_PASSAGE)?;
    ids.into_iter().map(|id| Ok((id, whole.query_row([id], passage)?))).collect()
}

/// Whether a stored piece is what `new` would become there.
fn same(old: &Passage, new: &Passage, text: &str) -> bool {
    old.text == text
        && Passage { text: String::new(), part: 0, ..old.clone() }
            == Passage { text: String::new(), part: 0, ..new.clone() }
}

fn insert(
    transaction: &Transaction<'_>,
    new: &Passage,
    part: u32,
    text: &str,
    fed: Fed,
    change: &mut Change,
) -> rusqlite::Result<()> {
    let audience = new.audience.to_string();
    let mut number = |name: &str| {
        let id = intern(transaction, name)?;
        change.names.entry(id).or_insert_with(|| name.to_owned());
        Ok::<_, rusqlite::Error>(id)
    };
    let [conversation, session] = [&new.conversation, &session_name(new)].map(|name| number(name));
    let [speaker, audience] = [&new.speaker, &audience].map(|name| number(name));
    let (conversation, session, speaker, audience) = (conversation?, session?, speaker?, audience?);
    let length = fed.length;
    let mut insert = transaction.prepare_cached(
        "INSERT INTO passages (kind, origin, part, conversation, session, speaker, audience, position, at_ms, length)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    insert.execute(params![
        new.kind.code(),
        new.origin,
        part,
        conversation,
        session,
        speaker,
        audience,
        new.position,
        new.at_ms,
        length
    ])?;
    let id = transaction.last_insert_rowid();
    transaction.prepare_cached("INSERT INTO passage_texts (id, text) VALUES (?1, ?2)")?.execute(params![id, text])?;
    transaction
        .prepare_cached("INSERT INTO passage_terms (rowid, terms) VALUES (?1, ?2)")?
        .execute(params![id, fed.text()])?;
    let entry = Entry {
        id,
        kind: new.kind.code(),
        conversation,
        session,
        speaker,
        audience,
        position: new.position,
        at_ms: new.at_ms,
        length,
    };
    change.added.push((entry, fed.terms));
    Ok(())
}

fn session_name(passage: &Passage) -> String {
    format!("{}\n{}", passage.conversation, passage.session)
}

/// Removes a passage, and the vector of the one after it, which tells of it too.
fn delete(transaction: &Transaction<'_>, id: i64, old: &Passage, change: &mut Change) -> rusqlite::Result<()> {
    change.removed.push(id);
    let mut next = transaction.prepare_cached(
        "SELECT id FROM passages WHERE conversation = (SELECT conversation FROM passages WHERE id = ?1)
         AND (position, id) > (SELECT position, id FROM passages WHERE id = ?1) ORDER BY position, id LIMIT 1",
    )?;
    if let Some(next) = next.query_row([id], |row| row.get(0)).optional()? {
        vectors::delete(transaction, Kind::Passage, next)?;
        change.stale.push(next);
    }
    // A table without contents has to be told what it was given.
    let terms = Fed::of(&old.speaker, &old.text).text();
    transaction
        .prepare_cached("INSERT INTO passage_terms (passage_terms, rowid, terms) VALUES ('delete', ?1, ?2)")?
        .execute(params![id, terms])?;
    transaction.prepare_cached("DELETE FROM passages WHERE id = ?1")?.execute([id])?;
    transaction.prepare_cached("DELETE FROM passage_texts WHERE id = ?1")?.execute([id])?;
    vectors::delete(transaction, Kind::Passage, id)
}

/// Feeds the index anew when it was fed with terms of another version.
pub(super) fn feed_anew(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let fed: Option<u32> = transaction
        .query_row("SELECT value FROM index_state WHERE name = 'lexicon'", [], |row| row.get(0))
        .optional()?;
    if fed == Some(LEXICON) {
        return Ok(());
    }
    transaction.execute("INSERT INTO passage_terms (passage_terms) VALUES ('delete-all')", [])?;
    {
        let mut passages = transaction.prepare(
            "SELECT p.id, n.name, t.text FROM passages p JOIN passage_texts t ON t.id = p.id
             JOIN passage_names n ON n.id = p.speaker ORDER BY p.id",
        )?;
        let mut insert = transaction.prepare("INSERT INTO passage_terms (rowid, terms) VALUES (?1, ?2)")?;
        let mut measure = transaction.prepare("UPDATE passages SET length = ?2 WHERE id = ?1")?;
        let mut rows = passages.query([])?;
        while let Some(row) = rows.next()? {
            let (id, speaker, text): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let fed = Fed::of(&speaker, &text);
            insert.execute(params![id, fed.text()])?;
            measure.execute(params![id, fed.length])?;
        }
    }
    transaction.execute("INSERT OR REPLACE INTO index_state (name, value) VALUES ('lexicon', ?1)", [LEXICON])?;
    transaction.commit()
}

/// How much of the passage before goes into a passage's vector, in characters: a model reads no more than so many, and
/// the passage itself comes last.
const BEFORE: usize = 300;

pub(super) fn texts_after(
    id: i64,
    limit: usize,
    columns: &Columns,
    connection: &Connection,
) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut ids = connection.prepare_cached("SELECT id FROM passages WHERE id > ?1 ORDER BY id LIMIT ?2")?;
    let ids = ids.query_map(params![id, i64::try_from(limit).unwrap_or(i64::MAX)], |row| row.get::<_, i64>(0))?;
    let mut text = connection.prepare_cached(
        "SELECT n.name, t.text FROM passages p JOIN passage_texts t ON t.id = p.id
         JOIN passage_names n ON n.id = p.speaker WHERE p.id = ?1",
    )?;
    let mut searched = |id: i64| {
        text.query_row([id], |row| Ok(Passage::searched(&row.get::<_, String>(0)?, &row.get::<_, String>(1)?)))
            .optional()
    };
    let mut texts = Vec::new();
    for id in ids {
        let id = id?;
        let Some(own) = searched(id)? else { continue };
        let before = columns.slot(id).and_then(|slot| columns.before(slot)).map(&mut searched).transpose()?.flatten();
        let before = before.map(|before| {
            let skipped = before.chars().count().saturating_sub(BEFORE);
            before.chars().skip(skipped).chain(['\n']).collect::<String>()
        });
        texts.push((id, before.unwrap_or_default() + &own));
    }
    Ok(texts)
}
