//! What was deleted: hashes and times, so that rebuilding and distilling do not bring it back.

use std::collections::HashMap;

use rusqlite::{Connection, params};
use sha2::{Digest as _, Sha256};

pub(super) type Hash = [u8; 16];

/// The hashes of what was deleted. They are few, so they are kept in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Tombstones {
    salt: String,
    at: HashMap<Hash, i64>,
}

/// What a tombstone is of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Grave<'a> {
    /// A name in an audience.
    Name { folded: &'a str, audience: &'a str },
    /// A person's account.
    Account(&'a str),
    /// A relation in an audience, by the names of its ends, folded.
    Relation { subject: &'a str, predicate: &'a str, object: &'a str, audience: &'a str },
    /// A sentence, whoever heard it, folded.
    Sentence(&'a str),
    /// Everything from a place in the journal or a document.
    Origin(&'a str),
}

impl Tombstones {
    pub(super) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let salt = connection.query_row("SELECT value FROM graph_meta WHERE key = 'salt'", [], |row| row.get(0))?;
        let mut statement = connection.prepare("SELECT hash, at FROM graph_tombstones")?;
        let at = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        Ok(Self { salt, at })
    }

    /// The hash under which it is known that this was deleted. Without the salt nobody can try names.
    pub(super) fn hash(&self, grave: Grave<'_>) -> Hash {
        let parts: Vec<&str> = match grave {
            Grave::Name { folded, audience } => vec!["name", folded, audience],
            Grave::Account(account) => vec!["account", account],
            Grave::Relation { subject, predicate, object, audience } => {
                vec!["relation", subject, predicate, object, audience]
            }
            Grave::Sentence(folded) => vec!["sentence", folded],
            Grave::Origin(origin) => vec!["origin", origin],
        };
        let mut digest = Sha256::new();
        for part in std::iter::once(self.salt.as_str()).chain(parts) {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        let mut hash = Hash::default();
        hash.iter_mut().zip(digest.finalize()).for_each(|(to, from)| *to = from);
        hash
    }

    /// Whether this was deleted after what was said at this time.
    pub(super) fn forbid(&self, grave: Grave<'_>, at_ms: i64) -> bool {
        !self.at.is_empty() && self.at.get(&self.hash(grave)).is_some_and(|deleted| at_ms <= *deleted)
    }

    /// When what has this hash was deleted.
    pub(super) fn at(&self, hash: &Hash) -> Option<i64> {
        self.at.get(hash).copied()
    }

    /// Whether hashes made with this salt say something here.
    pub(super) fn has_salt(&self, salt: &str) -> bool {
        self.salt == salt
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    pub(super) fn extend(&mut self, fresh: Vec<(Hash, i64)>) {
        self.at.extend(fresh);
    }
}

/// Writes a tombstone.
pub(super) fn put(connection: &Connection, hash: Hash, at_ms: i64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO graph_tombstones (hash, at) VALUES (?1, ?2)
               ON CONFLICT (hash) DO UPDATE SET at = max(at, excluded.at)";
    connection.prepare_cached(sql)?.execute(params![hash, at_ms]).map(drop)
}
