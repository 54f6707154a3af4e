//! Reading a row of a file by the names of its columns.

use serde_json::{Map, Value};

use crate::graph::error::{GraphError, Stop};
use crate::graph::rows::unhex;

/// A row as it stands in the file.
pub(super) struct Fields<'a> {
    pub(super) table: &'a str,
    pub(super) row: &'a Map<String, Value>,
}

impl Fields<'_> {
    pub(super) fn number(&self, column: &str) -> Result<i64, Stop> {
        self.get(column).as_i64().ok_or_else(|| self.wrong(column, "a whole number"))
    }

    pub(super) fn optional_number(&self, column: &str) -> Result<Option<i64>, Stop> {
        if self.get(column).is_null() { Ok(None) } else { self.number(column).map(Some) }
    }

    pub(super) fn real(&self, column: &str) -> Result<f64, Stop> {
        self.get(column).as_f64().ok_or_else(|| self.wrong(column, "a number"))
    }

    pub(super) fn text(&self, column: &str) -> Result<String, Stop> {
        self.get(column).as_str().map(str::to_owned).ok_or_else(|| self.wrong(column, "a text"))
    }

    pub(super) fn optional_text(&self, column: &str) -> Result<Option<String>, Stop> {
        if self.get(column).is_null() { Ok(None) } else { self.text(column).map(Some) }
    }

    /// The bytes of a hash.
    pub(super) fn hash(&self, column: &str) -> Result<[u8; 16], Stop> {
        let bytes = self.get(column).get("hex").and_then(Value::as_str).and_then(unhex);
        bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| self.wrong(column, "a hash of 16 bytes"))
    }

    fn get(&self, column: &str) -> &Value {
        self.row.get(column).unwrap_or(&Value::Null)
    }

    fn wrong(&self, column: &str, wanted: &str) -> Stop {
        invalid(format!("\"{column}\" of {} is {wanted}", self.table))
    }
}

/// What a file says that can't be.
pub(super) fn invalid(why: String) -> Stop {
    GraphError::Invalid(why).into()
}
