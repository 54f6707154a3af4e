//! The vectors as others use them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use homeagent_language::embed::ModelIdentity;
use homeagent_language::embed::int8::{Quantised, quantise_direction};
use homeagent_settings::{Database, DatabaseError};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::packed::Packed;

/// The model stands with every vector: those of another model than the one that asks are not there for it.
const MIGRATIONS: &[&str] = &["
CREATE TABLE vector_models (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    identity TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE vectors (
    kind INTEGER NOT NULL,            -- 1 passage, 2 entity, 3 document
    id INTEGER NOT NULL,
    model INTEGER NOT NULL,           -- vector_models.id
    scale REAL NOT NULL,              -- component i is data[i] * scale
    data BLOB NOT NULL,               -- one signed byte a dimension
    PRIMARY KEY (kind, id)
) STRICT;
"];

/// What a vector stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A passage of the index.
    Passage,
    /// An entity of the graph.
    Entity,
    /// A document.
    Document,
}

impl Kind {
    /// The number it is stored under.
    fn code(self) -> u8 {
        match self {
            Self::Passage => 1,
            Self::Entity => 2,
            Self::Document => 3,
        }
    }
}

/// What was found near a vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nearest {
    /// Ids and cosines, nearest first.
    pub best: Vec<(i64, f32)>,
    /// The mean cosine of an even sample of all that might have been found: what means nothing.
    pub mean: f32,
}

/// Vectors by kind and id, each of the model it says. Clones share them. Its functions block.
#[derive(Clone)]
pub struct Vectors {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    writer: Mutex<Connection>,
    /// Those of the model that was last asked for, of each kind.
    packed: RwLock<HashMap<Kind, OfModel>>,
}

struct OfModel {
    identity: String,
    packed: Packed,
}

impl Vectors {
    /// Opens the tables; nothing is read yet.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(database: &Database) -> Result<Self, DatabaseError> {
        database.migrate("vectors", MIGRATIONS)?;
        let writer = Mutex::new(database.writer()?);
        Ok(Self { shared: Arc::new(Shared { database: database.clone(), writer, packed: RwLock::default() }) })
    }

    /// Keeps vectors, each in the place of the one under its id, in one transaction.
    ///
    /// # Errors
    ///
    /// What the database answers; then none was kept.
    pub fn put(&self, kind: Kind, vectors: &[(i64, Vec<f32>)], model: &ModelIdentity) -> Result<(), DatabaseError> {
        let identity = model.to_string();
        let quantised: Vec<(i64, Quantised)> =
            vectors.iter().map(|(id, vector)| (*id, quantise_direction(vector))).collect();
        // Held until the cache has them too, so that it takes changes in the order of their commits.
        let mut writer = self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut run = || {
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            insert(&transaction, kind, &identity, &quantised)?;
            transaction.commit()
        };
        run().map_err(|error| self.shared.database.error("keeping vectors", error))?;
        let mut caches = self.packed_mut();
        if let Some(cache) = caches.get_mut(&kind) {
            for (id, vector) in &quantised {
                if cache.identity == identity { cache.packed.put(*id, vector) } else { cache.packed.remove(*id) }
            }
        }
        Ok(())
    }

    /// Removes the vectors under ids.
    ///
    /// # Errors
    ///
    /// What the database answers; then none was removed.
    pub fn remove(&self, kind: Kind, ids: &[i64]) -> Result<(), DatabaseError> {
        let mut writer = self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut run = || {
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            ids.iter().try_for_each(|id| delete(&transaction, kind, *id))?;
            transaction.commit()
        };
        run().map_err(|error| self.shared.database.error("removing vectors", error))?;
        self.drop_from_cache(kind, ids);
        Ok(())
    }

    /// The `k` nearest to `query` of those that `allow` lets through, nearest first, with their cosines. A vector of
    /// another model than the query's is not there.
    ///
    /// # Errors
    ///
    /// What the database answers, when the vectors have to be read first.
    pub fn nearest(
        &self,
        kind: Kind,
        query: &[f32],
        model: &ModelIdentity,
        k: usize,
        allow: &dyn Fn(i64) -> bool,
    ) -> Result<Nearest, DatabaseError> {
        self.load(kind, model)?;
        let caches = self.packed();
        let Some(cache) = caches.get(&kind).filter(|cache| cache.identity == model.to_string()) else {
            return Ok(Nearest::default());
        };
        let (best, mean) = cache.packed.nearest(&quantise_direction(query), k, allow);
        Ok(Nearest { best, mean })
    }

    /// The same for what is kept under an id, which is nearest to itself; none where it has no vector of this model.
    ///
    /// # Errors
    ///
    /// What the database answers, when the vectors have to be read first.
    pub fn nearest_to(
        &self,
        kind: Kind,
        id: i64,
        model: &ModelIdentity,
        k: usize,
        allow: &dyn Fn(i64) -> bool,
    ) -> Result<Option<Nearest>, DatabaseError> {
        self.load(kind, model)?;
        let caches = self.packed();
        let cache = caches.get(&kind).filter(|cache| cache.identity == model.to_string());
        let near = cache.and_then(|cache| Some(cache.packed.nearest(&cache.packed.of(id)?, k, allow)));
        Ok(near.map(|(best, mean)| Nearest { best, mean }))
    }

    /// Those of `ids` that have no vector of this model.
    ///
    /// # Errors
    ///
    /// What the database answers, when the vectors have to be read first.
    pub fn missing(&self, kind: Kind, ids: &[i64], model: &ModelIdentity) -> Result<Vec<i64>, DatabaseError> {
        self.load(kind, model)?;
        let caches = self.packed();
        let cache = caches.get(&kind).filter(|cache| cache.identity == model.to_string());
        Ok(ids.iter().copied().filter(|id| cache.is_none_or(|cache| !cache.packed.contains(*id))).collect())
    }

    /// How many vectors of this model there are.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn count(&self, kind: Kind, model: &ModelIdentity) -> Result<u64, DatabaseError> {
        self.shared.database.read("counting vectors", |connection| {
            connection.query_row(
                "SELECT count(*) FROM vectors v JOIN vector_models m ON m.id = v.model WHERE v.kind = ?1 AND m.identity = ?2",
                params![kind.code(), model.to_string()],
                |row| row.get(0),
            )
        })
        .map(i64::unsigned_abs)
    }

    /// Reads the vectors of a model into memory, if those that are there are not its.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn load(&self, kind: Kind, model: &ModelIdentity) -> Result<(), DatabaseError> {
        let identity = model.to_string();
        let loaded =
            |caches: &HashMap<Kind, OfModel>| caches.get(&kind).is_some_and(|cache| cache.identity == identity);
        if loaded(&self.packed()) {
            return Ok(());
        }
        // What is being kept meanwhile waits, and so is either in the table or added to what was read.
        let _writer = self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded(&self.packed()) {
            return Ok(());
        }
        let reader = self.shared.database.reader()?;
        let packed = read(&reader, kind, &identity, model.dimensions)
            .map_err(|error| self.shared.database.error("reading the vectors", error))?;
        tracing::debug!(?kind, model = identity, vectors = packed.len(), "vectors read");
        self.packed_mut().insert(kind, OfModel { identity, packed });
        Ok(())
    }

    /// Whether the vectors of a model are in memory, so that [`Self::nearest`] need not read them first.
    pub(crate) fn is_loaded(&self, kind: Kind, model: &ModelIdentity) -> bool {
        self.packed().get(&kind).is_some_and(|cache| cache.identity == model.to_string())
    }

    /// Takes vectors whose rows are gone out of memory.
    pub(crate) fn drop_from_cache(&self, kind: Kind, ids: &[i64]) {
        if ids.is_empty() {
            return;
        }
        if let Some(cache) = self.packed_mut().get_mut(&kind) {
            ids.iter().for_each(|id| cache.packed.remove(*id));
        }
    }

    fn packed(&self) -> RwLockReadGuard<'_, HashMap<Kind, OfModel>> {
        self.shared.packed.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn packed_mut(&self) -> RwLockWriteGuard<'_, HashMap<Kind, OfModel>> {
        self.shared.packed.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a vector in the transaction of whoever removes what it stands for.
pub(crate) fn delete(transaction: &Connection, kind: Kind, id: i64) -> rusqlite::Result<()> {
    let mut delete = transaction.prepare_cached("DELETE FROM vectors WHERE kind = ?1 AND id = ?2")?;
    delete.execute(params![kind.code(), id]).map(drop)
}

fn insert(
    transaction: &Transaction<'_>,
    kind: Kind,
    identity: &str,
    vectors: &[(i64, Quantised)],
) -> rusqlite::Result<()> {
    transaction.execute("INSERT OR IGNORE INTO vector_models (identity) VALUES (?1)", [identity])?;
    let model: i64 =
        transaction.query_row("SELECT id FROM vector_models WHERE identity = ?1", [identity], |row| row.get(0))?;
    let mut insert = transaction
        .prepare_cached("INSERT OR REPLACE INTO vectors (kind, id, model, scale, data) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (id, vector) in vectors {
        let data: Vec<u8> = vector.values.iter().map(|x| x.cast_unsigned()).collect();
        insert.execute(params![kind.code(), id, model, f64::from(vector.scale), data])?;
    }
    Ok(())
}

fn read(connection: &Connection, kind: Kind, identity: &str, dimensions: usize) -> rusqlite::Result<Packed> {
    let mut packed = Packed::new(dimensions);
    let model: Option<i64> = connection
        .query_row("SELECT id FROM vector_models WHERE identity = ?1", [identity], |row| row.get(0))
        .optional()?;
    // In the order in which they lie in the file.
    let mut statement =
        connection.prepare("SELECT id, scale, data FROM vectors NOT INDEXED WHERE kind = ?1 AND model = ?2")?;
    let mut rows = statement.query(params![kind.code(), model])?;
    while let Some(row) = rows.next()? {
        packed.put_unsigned(row.get(0)?, row.get::<_, f64>(1)? as f32, row.get_ref(2)?.as_blob()?);
    }
    packed.centre();
    Ok(packed)
}
