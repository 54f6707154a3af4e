//! The words by which names and values are found.

use std::collections::BTreeSet;

use homeagent_language::text;
use rusqlite::{Connection, params};

use super::store;

/// The longest value whose words are looked up, in characters.
const LONGEST: usize = 400;

/// The words of a name or a value. A single Han character is one only where it is all there is: it would find a tenth of
/// all names.
pub(super) fn of(name: &str) -> BTreeSet<String> {
    let name: String = name.chars().take(LONGEST).collect();
    let terms: BTreeSet<String> = text::index_terms(&name).into_iter().collect();
    let longer: BTreeSet<String> = terms.iter().filter(|term| !is_slight(term)).cloned().collect();
    if longer.is_empty() { terms } else { longer }
}

/// Whether a term says too little to be looked up beside others.
pub(super) fn is_slight(term: &str) -> bool {
    term.chars().nth(1).is_none()
}

pub(super) fn put_name(connection: &Connection, name: i64, text: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("INSERT OR IGNORE INTO name_terms (term, name) VALUES (?1, ?2)")?;
    of(text).iter().try_for_each(|term| statement.execute(params![term, name]).map(drop))
}

pub(super) fn remove_name(connection: &Connection, name: i64, text: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("DELETE FROM name_terms WHERE term = ?1 AND name = ?2")?;
    of(text).iter().try_for_each(|term| statement.execute(params![term, name]).map(drop))
}

pub(super) fn put_literal(connection: &Connection, relation: i64, literal: &str) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO literal_terms (term, relation) VALUES (?1, ?2)";
    let mut statement = connection.prepare_cached(sql)?;
    of(literal).iter().try_for_each(|term| statement.execute(params![term, relation]).map(drop))
}

pub(super) fn remove_literal(connection: &Connection, relation: i64, literal: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("DELETE FROM literal_terms WHERE term = ?1 AND relation = ?2")?;
    of(literal).iter().try_for_each(|term| statement.execute(params![term, relation]).map(drop))
}

/// Makes all terms anew where the language part cuts text in another way than when they were made.
pub(super) fn renew(connection: &Connection) -> rusqlite::Result<()> {
    let lexicon = text::LEXICON.to_string();
    if store::noted(connection, "lexicon")?.as_ref() == Some(&lexicon) {
        return Ok(());
    }
    make_anew(connection)?;
    store::note(connection, "lexicon", &lexicon)
}

/// Makes all terms anew.
pub(super) fn make_anew(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("DELETE FROM name_terms; DELETE FROM literal_terms")?;
    each(connection, "SELECT id, text FROM names", put_name)?;
    each(connection, "SELECT id, literal FROM relations WHERE literal IS NOT NULL", put_literal)
}

fn each(
    connection: &Connection,
    sql: &str,
    put: fn(&Connection, i64, &str) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        put(connection, row.get(0)?, row.get_ref(1)?.as_str()?)?;
    }
    Ok(())
}
