//! Schema versions, one per component, in the table `schema_versions`.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::{Database, DatabaseError};

pub(super) fn prepare(database: &Database) -> Result<(), DatabaseError> {
    database.read("reading the schema versions", |connection| {
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS schema_versions (
                component TEXT PRIMARY KEY,
                version INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID",
        )
    })
}

pub(super) fn run(database: &Database, component: &str, migrations: &[&str]) -> Result<(), DatabaseError> {
    let known = u32::try_from(migrations.len()).unwrap_or(u32::MAX);
    let mut connection = database.lock();
    let (mut before, mut reached) = (0, 0);
    let mut outcome = || -> rusqlite::Result<u32> {
        // The version is read inside the transaction: two programs that start at once do not both migrate.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = version(&transaction, component)?;
        (before, reached) = (found, found);
        if found >= known {
            return Ok(found);
        }
        for script in migrations.iter().skip(found as usize) {
            transaction.execute_batch(script)?;
            reached += 1;
        }
        transaction.execute(
            "INSERT INTO schema_versions (component, version) VALUES (?1, ?2)
             ON CONFLICT (component) DO UPDATE SET version = excluded.version",
            params![component, known],
        )?;
        transaction.commit()?;
        tracing::info!(component, from = found, to = known, "schema migrated");
        Ok(known)
    };
    match outcome() {
        Ok(found) if found > known => Err(DatabaseError::Newer {
            path: database.path().to_path_buf(),
            component: component.to_owned(),
            found,
            known,
        }),
        Ok(_) => Ok(()),
        // Only what is wrong with a script is the migration's fault; a full disk is a full disk.
        Err(source) => Err(match database.error("bringing the tables up to date", source) {
            DatabaseError::Statement { path, source, .. } => DatabaseError::Migration {
                path,
                component: component.to_owned(),
                from: before,
                to: (reached + 1).min(known),
                source,
            },
            other => other,
        }),
    }
}

fn version(connection: &Connection, component: &str) -> rusqlite::Result<u32> {
    let found = connection
        .query_row("SELECT version FROM schema_versions WHERE component = ?1", [component], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(0))
}
