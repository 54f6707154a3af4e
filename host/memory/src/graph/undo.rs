//! Taking changes back.

use rusqlite::{OptionalExtension as _, Row, params};

use super::change::Author;
use super::error::{GraphError, Stop};
use super::writing::Writing;
use super::{Graph, predicate, terms};

impl Graph {
    /// Undoes a change; what was as it changed it is as it was before. Changes can be undone in any order.
    ///
    /// # Errors
    ///
    /// [`GraphError::NoChange`], [`GraphError::AlreadyUndone`], [`GraphError::Deleted`] when what it changed is gone.
    pub fn undo(&self, change: i64, author: Author<'_>) -> Result<(), GraphError> {
        let result = self.write("undoing a change", |writing| {
            let seen = self.seen(author.viewer);
            let sql = format!("SELECT undone_at FROM graph_changes WHERE id = ?1 AND {}", seen.change());
            let undone: Option<Option<i64>> =
                writing.connection.query_row(&sql, [change], |row| row.get(0)).optional()?;
            match undone {
                Some(None) => writing.undo(change, author.at_ms),
                Some(Some(_)) => Err(GraphError::AlreadyUndone(change).into()),
                None => Err(GraphError::NoChange(change).into()),
            }
        });
        self.shared.shown.clear();
        result
    }
}

impl Writing<'_> {
    fn undo(&mut self, change: i64, at_ms: i64) -> Result<(), Stop> {
        let sql = "SELECT what, row, before FROM graph_steps WHERE change = ?1 ORDER BY position DESC";
        let steps: Vec<(String, i64, Option<i64>)> = self
            .connection
            .prepare(sql)?
            .query_map([change], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_, _>>()?;
        let kind: String =
            self.connection.query_row("SELECT kind FROM graph_changes WHERE id = ?1", [change], |row| row.get(0))?;
        self.connection.execute("UPDATE graph_changes SET undone_at = ?2 WHERE id = ?1", params![change, at_ms])?;
        // A closing that is undone by itself was wrong and is not made again; one that came of another change goes with it.
        let sql = match kind.as_str() {
            "closing" => "UPDATE closings SET undone = 1 WHERE change = ?1",
            _ => "DELETE FROM closings WHERE change = ?1",
        };
        let closings = self.connection.execute(sql, [change])?;
        if steps.is_empty() && closings == 0 {
            return Err(GraphError::Deleted(change).into());
        }
        for (what, row, before) in steps {
            if !self.undo_step(change, &what, row, before, at_ms)? {
                return Err(GraphError::Deleted(change).into());
            }
        }
        Ok(())
    }

    /// Undoes one step; `false` when the row is gone.
    fn undo_step(&mut self, change: i64, what: &str, row: i64, before: Option<i64>, at_ms: i64) -> Result<bool, Stop> {
        let changed = match what {
            "merged" => {
                let is_there = self.connection.prepare_cached("SELECT 1 FROM entities WHERE id = ?1")?.exists([row])?;
                self.point(row, before)?;
                return Ok(is_there);
            }
            "preferred" => {
                // A later choice stands; an earlier one counts again only if it was not undone itself.
                let sql = "UPDATE names SET preferred = iif(preferred <> ?2 + 1, preferred, iif(EXISTS (
                               SELECT 1 FROM graph_changes WHERE id = ?3 - 1 AND undone_at IS NOT NULL), 0, ?3))
                           WHERE id = ?1";
                self.connection.execute(sql, params![row, change, before.unwrap_or_default()])?
            }
            "named" => {
                let sql = "SELECT text FROM names WHERE id = ?1";
                let text: Option<String> = self.connection.query_row(sql, [row], |row| row.get(0)).optional()?;
                let Some(text) = text else { return Ok(false) };
                self.forget_name(row);
                terms::remove_name(self.connection, row, &text)?;
                self.connection.execute("DELETE FROM names WHERE id = ?1", [row])?
            }
            "made" => {
                let sql = "UPDATE relations SET retracted_at = ?2 WHERE id = ?1 AND retracted_at IS NULL";
                self.connection.execute(sql, params![row, at_ms])?;
                return self.settle_around(row, change);
            }
            _ => {
                let sql = "UPDATE relations SET retracted_at = ?2 WHERE id = ?1";
                self.connection.execute(sql, params![row, before])?
            }
        };
        Ok(changed > 0)
    }

    /// What a relation closed that is gone holds again, or is closed by what else is known. `false` when there is none.
    fn settle_around(&self, relation: i64, change: i64) -> Result<bool, Stop> {
        let sql = "SELECT subject, predicate, kinds LIKE '%trait%' FROM relations WHERE id = ?1";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let found: Option<(i64, String, bool)> = self.connection.query_row(sql, [relation], read).optional()?;
        let Some((subject, key, is_trait)) = found else { return Ok(false) };
        if predicate::is_single_valued(&key) || is_trait {
            self.settle_predicate(subject, &key, is_trait, change)?;
        }
        Ok(true)
    }
}
