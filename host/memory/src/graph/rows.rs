//! The graph's tables row by row, for exporting and importing.

use std::sync::{Arc, PoisonError};

use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value, json};

use super::Graph;
use super::error::{GraphError, Stop};
use super::merged::Merged;
use super::tombstones::{Grave, Tombstones};
use super::{seen, terms};

/// What is exported, each table in the order of its key. Terms are made again from what they are of.
pub(super) const TABLES: &[(&str, &str)] = &[
    ("graph_meta", "WHERE key = 'salt' ORDER BY key"),
    ("graph_audiences", "ORDER BY id"),
    ("entities", "ORDER BY id"),
    ("names", "ORDER BY id"),
    ("entity_accounts", "ORDER BY account, audience"),
    ("relations", "ORDER BY id"),
    ("sentences", "ORDER BY id"),
    ("evidence", "ORDER BY relation, sentence"),
    ("closings", "ORDER BY relation, by_relation"),
    ("graph_changes", "ORDER BY id"),
    ("graph_steps", "ORDER BY change, position"),
    ("graph_tombstones", "ORDER BY hash"),
];

/// A column that follows from others: triggers keep it, and it is neither exported nor imported.
const DERIVED: &str = "superseded_at";

/// What a row is of, and its columns by name; blobs are `{"hex": "…"}`.
pub(crate) type TableRow = (String, Map<String, Value>);

/// Takes a row, by its table.
pub(crate) type EachRow<'a> = dyn FnMut(&str, Map<String, Value>) -> Result<(), String> + 'a;

impl Graph {
    /// Hands on all rows, from one moment.
    ///
    /// # Errors
    ///
    /// What the database answers, and what `each` says.
    pub(crate) fn export_rows(&self, each: &mut EachRow<'_>) -> Result<(), GraphError> {
        self.read("exporting the graph", |connection| {
            for (table, order) in TABLES {
                let mut statement = connection.prepare(&format!("SELECT * FROM {table} {order}"))?;
                let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    let mut fields = Map::new();
                    for (at, column) in columns.iter().enumerate().filter(|(_, column)| *column != DERIVED) {
                        fields.insert(column.clone(), written(row.get_ref(at)?));
                    }
                    each(table, fields).map_err(|why| Stop::from(GraphError::Invalid(why)))?;
                }
            }
            Ok(())
        })
    }

    /// Whether nothing was ever learnt or deleted here, so that rows can be imported under their numbers.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub(crate) fn is_empty(&self) -> Result<bool, GraphError> {
        self.read("looking whether the graph is empty", |connection| {
            let sql = "SELECT NOT EXISTS (SELECT 1 FROM entities) AND NOT EXISTS (SELECT 1 FROM graph_tombstones)
                       AND NOT EXISTS (SELECT 1 FROM graph_changes)";
            Ok(connection.query_row(sql, [], |row| row.get(0))?)
        })
    }

    /// Says of places (`journal:<seq>`, `document:<id>`) whether what comes from them was forgotten here for good, up to now.
    pub(crate) fn forgotten_places(&self) -> impl Fn(&str) -> bool + use<> {
        let tombstones = self.shared.tombstones.read().unwrap_or_else(PoisonError::into_inner).clone();
        move |origin| tombstones.forbid(Grave::Origin(origin), i64::MAX)
    }

    /// Puts rows into an empty graph: all of them, or none where one is wrong.
    ///
    /// # Errors
    ///
    /// [`GraphError::Invalid`] for a row that is none, with what `next` says of where it stands; what the database answers.
    pub(crate) fn import_rows(
        &self,
        next: &mut dyn FnMut() -> Result<Option<TableRow>, String>,
    ) -> Result<usize, GraphError> {
        let count = self.write("importing the graph", |writing| {
            let connection = writing.connection;
            connection.execute_batch("PRAGMA defer_foreign_keys = ON; DELETE FROM graph_audiences;")?;
            let mut count = 0;
            while let Some((table, fields)) = next().map_err(|why| Stop::from(GraphError::Invalid(why)))? {
                insert(connection, &table, &fields)
                    .map_err(|why| GraphError::Invalid(format!("line {}: {why}", count + 2)))?;
                count += 1;
            }
            terms::renew(connection)?;
            // A closing may have stood before the relations of which it is.
            connection.execute_batch(
                "UPDATE relations SET superseded_at = (SELECT at FROM superseded WHERE relation = relations.id)
                 WHERE id IN (SELECT relation FROM closings)",
            )?;
            Ok(count)
        })?;
        let (known, merged, tombstones) = self.read("reading the graph", |connection| {
            Ok((seen::load(connection)?, Merged::load(connection)?, Tombstones::load(connection)?))
        })?;
        self.clear_heard();
        let shared = &self.shared;
        *shared.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        *shared.merged.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(merged);
        *shared.tombstones.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tombstones);
        Ok(count)
    }
}

fn insert(connection: &Connection, table: &str, fields: &Map<String, Value>) -> Result<(), String> {
    let (table, _) =
        TABLES.iter().find(|(name, _)| *name == table).ok_or_else(|| format!("there is no table {table}"))?;
    let failed = |error: rusqlite::Error| error.to_string();
    let columns: Vec<String> = {
        let statement = connection.prepare_cached(&format!("SELECT * FROM {table}")).map_err(failed)?;
        statement.column_names().filter(|column| *column != DERIVED).map(str::to_owned).collect()
    };
    if fields.len() != columns.len() || columns.iter().any(|column| !fields.contains_key(column)) {
        return Err(format!("{table} has the columns {}", columns.join(", ")));
    }
    let cells = columns.iter().map(|column| cell(fields.get(column).unwrap_or(&Value::Null)));
    let cells = cells.collect::<Result<Vec<Cell>, _>>()?;
    let places = vec!["?"; columns.len()].join(", ");
    let sql = format!("INSERT OR REPLACE INTO {table} ({}) VALUES ({places})", columns.join(", "));
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    statement.execute(params_from_iter(cells)).map(drop).map_err(failed)
}

fn written(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(number) => json!(number),
        ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => json!({ "hex": hex(bytes) }),
    }
}

fn cell(value: &Value) -> Result<Cell, String> {
    match value {
        Value::Null => Ok(Cell::Null),
        Value::String(text) => Ok(Cell::Text(text.clone())),
        Value::Number(number) => number
            .as_i64()
            .map(Cell::Integer)
            .or_else(|| number.as_f64().map(Cell::Real))
            .ok_or_else(|| format!("{number} is no number that fits")),
        Value::Object(fields) => {
            let bytes = fields.get("hex").and_then(Value::as_str).and_then(unhex);
            bytes.map(Cell::Blob).ok_or_else(|| "a blob is {\"hex\": \"…\"}".to_owned())
        }
        Value::Bool(_) | Value::Array(_) => Err(format!("{value} fits no column")),
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that hexadecimal digits stand for; none where these are none.
pub(crate) fn unhex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?, 16).ok())
        .collect()
}
