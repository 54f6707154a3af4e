//! Forgetting by words and by accounts, whoever heard them.

use std::sync::PoisonError;

use homeagent_types::{Audience, Viewer};
use rusqlite::{Connection, params};

use super::Graph;
use super::change::Author;
use super::delete::Deleted;
use super::error::{GraphError, Stop};
use super::seen;

/// What of the graph holds words.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Names, with their entities.
    pub names: Vec<(i64, String)>,
    /// Relations to a literal.
    pub literals: Vec<(i64, String)>,
    /// Sentences, with their origins.
    pub sentences: Vec<(String, String)>,
}

impl Graph {
    /// What of the graph holds words. Reads the whole of it.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn holding(&self, is_to_go: &dyn Fn(&str) -> bool) -> Result<Held, GraphError> {
        self.read("looking for words in the graph", |connection| {
            let names = numbered(connection, "SELECT entity, text FROM names", is_to_go)?;
            let sql = "SELECT id, literal FROM relations WHERE literal IS NOT NULL";
            let literals = numbered(connection, sql, is_to_go)?;
            let mut statement = connection.prepare("SELECT origin, text FROM sentences WHERE text <> ''")?;
            let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
            let mut sentences = Vec::new();
            for row in rows {
                let (origin, text) = row?;
                if is_to_go(&text) {
                    sentences.push((origin, text));
                }
            }
            Ok(Held { names, literals, sentences })
        })
    }

    /// Deletes what holds words: sentences with all that was drawn from where they were said, relations, and entities that
    /// are called so.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn forget_words(&self, is_to_go: &dyn Fn(&str) -> bool, at_ms: i64) -> Result<Deleted, GraphError> {
        let held = self.holding(is_to_go)?;
        let origins: Vec<String> = held.sentences.into_iter().map(|(origin, _)| origin).collect();
        let mut deleted = self.forget_origins(&origins)?;
        for (entity, _) in held.names {
            deleted.add(self.forget_entity(entity, at_ms)?);
        }
        for (relation, _) in held.literals {
            let author = author(at_ms);
            match self.delete_relations(&[relation], author) {
                Ok(more) => deleted.add(more),
                // It went with an entity.
                Err(GraphError::NoRelation(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(deleted)
    }

    /// Gives a name another spelling where it says who told something, before whom, and who changed something: `renamed`
    /// says what a text becomes in which it stands. What is told before an audience of that name is of another one from then on.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub(crate) fn rename(&self, renamed: &dyn Fn(&str) -> Option<String>) -> Result<(), GraphError> {
        self.write("renaming in the graph", |writing| rename(writing.connection, renamed).map_err(Stop::from))?;
        let known = self.read("reading the audiences", |connection| Ok(seen::load(connection)?))?;
        *self.shared.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }

    /// Deletes an entity and those that are one with it, whoever heard of them. One that is not there is deleted.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn forget_entity(&self, entity: i64, at_ms: i64) -> Result<Deleted, GraphError> {
        match self.delete_entity(entity, author(at_ms)) {
            Err(GraphError::NoEntity(_)) => Ok(Deleted::default()),
            other => other,
        }
    }

    /// The entities of a person's account, whoever heard of it.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn entities_of(&self, account: &str) -> Result<Vec<i64>, GraphError> {
        self.read("looking up an account", |connection| {
            let sql = "SELECT DISTINCT entity FROM entity_accounts WHERE account = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_map([account], |row| row.get(0))?.collect::<Result<_, _>>()?)
        })
    }
}

/// Whoever deletes here is the owner, and sees all.
fn author(at_ms: i64) -> Author<'static> {
    Author { actor: "owner", audience: &Audience::Agent, viewer: &Viewer::Everything, at_ms }
}

fn numbered(
    connection: &Connection,
    sql: &str,
    is_to_go: &dyn Fn(&str) -> bool,
) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    let mut found = Vec::new();
    for row in rows {
        let (id, text) = row?;
        if is_to_go(&text) {
            found.push((id, text));
        }
    }
    Ok(found)
}

/// Columns of the graph that hold accounts and audiences.
const NAMED: [(&str, &str); 3] = [("graph_audiences", "text"), ("sentences", "speaker"), ("graph_changes", "actor")];

/// Gives names other spellings in these columns.
fn rename(connection: &Connection, renamed: &dyn Fn(&str) -> Option<String>) -> rusqlite::Result<()> {
    for (table, column) in NAMED {
        let sql = format!("SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL");
        let texts: Vec<String> =
            connection.prepare(&sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for (text, other) in texts.iter().filter_map(|text| renamed(text).map(|other| (text, other))) {
            connection
                .execute(&format!("UPDATE {table} SET {column} = ?2 WHERE {column} = ?1"), params![text, other])?;
        }
    }
    Ok(())
}

impl Deleted {
    /// Counts more.
    pub fn add(&mut self, more: Self) {
        self.entities += more.entities;
        self.names += more.names;
        self.relations += more.relations;
        self.sentences += more.sentences;
    }
}
