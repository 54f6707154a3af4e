//! The index's tables.

/// Ids are never given twice: what is kept in memory under one may outlive it.
pub(super) const MIGRATIONS: &[&str] = &["
-- Conversations, sessions, speakers and audiences, each spelt once.
CREATE TABLE passage_names (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind INTEGER NOT NULL,            -- 1 said, 2 answered, 3 document, 4 sentence
    origin TEXT NOT NULL,
    part INTEGER NOT NULL,
    conversation INTEGER NOT NULL,    -- these four: passage_names.id
    session INTEGER NOT NULL,
    speaker INTEGER NOT NULL,
    audience INTEGER NOT NULL,
    position INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    length INTEGER NOT NULL,          -- how many terms it has
    UNIQUE (kind, origin, part)
) STRICT;
CREATE INDEX passages_by_position ON passages (conversation, position);
-- Apart, so that reading what ranking needs at the start does not read the texts.
CREATE TABLE passage_texts (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;
-- Each passage's terms, without their places: that a term stands there more than once, which is seldom, is a term of its
-- own. The tokenizer only parts the terms at spaces.
CREATE VIRTUAL TABLE passage_terms USING fts5(
    terms, content='', columnsize=0, detail=none, tokenize=\"ascii tokenchars '!#$%&()*+,-./:;<=>?@[]^_`{|}~'\"
);
-- What is deleted is taken out of the index at once, not when its segments are merged.
INSERT INTO passage_terms (passage_terms, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE passage_vocabulary USING fts5vocab(passage_terms, instance);
-- SHA-256 of the kind and origin of what was forgotten and is not to come back.
CREATE TABLE forgotten_passages (
    hash BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE TABLE index_state (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"];
