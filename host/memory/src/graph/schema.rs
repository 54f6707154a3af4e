//! The tables of the graph.
//!
//! Everything that says something has an audience of its own: a name is a row for each audience that heard it, and so is
//! a relation. What a reader sees is then never a matter of what others were told.

/// The scripts, version 1 first.
pub(super) const MIGRATIONS: &[&str] = &["
CREATE TABLE graph_meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE graph_audiences (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE entities (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    merged_into INTEGER REFERENCES entities (id) ON DELETE SET NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX entities_merged ON entities (merged_into) WHERE merged_into IS NOT NULL;
-- What an entity is called, by whom it was heard. `preferred` is chosen by hand.
CREATE TABLE names (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    entity INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    folded TEXT NOT NULL,
    kind TEXT NOT NULL,
    audience INTEGER NOT NULL REFERENCES graph_audiences (id),
    mentions INTEGER NOT NULL DEFAULT 0,
    preferred INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    UNIQUE (entity, folded, audience)
) STRICT;
CREATE INDEX names_folded ON names (folded);
CREATE INDEX names_mentions ON names (audience, mentions);
CREATE TABLE name_terms (
    term TEXT NOT NULL,
    name INTEGER NOT NULL,
    PRIMARY KEY (term, name)
) STRICT, WITHOUT ROWID;
-- `account` is `namespace:user`.
CREATE TABLE entity_accounts (
    account TEXT NOT NULL,
    audience INTEGER NOT NULL REFERENCES graph_audiences (id),
    entity INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    PRIMARY KEY (account, audience)
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_accounts_entity ON entity_accounts (entity);
-- The object is an entity or a literal. A row is a stretch of time in which it held: one that is told again after it was
-- closed is a row of its own.
CREATE TABLE relations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    subject INTEGER NOT NULL REFERENCES entities (id),
    predicate TEXT NOT NULL,
    object INTEGER REFERENCES entities (id),
    literal TEXT,
    object_key TEXT NOT NULL,
    kinds TEXT NOT NULL,
    audience INTEGER NOT NULL REFERENCES graph_audiences (id),
    confidence REAL NOT NULL,
    mentions INTEGER NOT NULL,
    valid_from INTEGER,
    valid_to INTEGER,
    learnt_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    retracted_at INTEGER,
    judged INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX relations_key ON relations (subject, predicate, object_key, audience);
CREATE INDEX relations_subject ON relations (subject, last_at, audience);
CREATE INDEX relations_object ON relations (object, last_at, audience) WHERE object IS NOT NULL;
CREATE TABLE literal_terms (
    term TEXT NOT NULL,
    relation INTEGER NOT NULL,
    PRIMARY KEY (term, relation)
) STRICT, WITHOUT ROWID;
-- Where a relation was said. `text` is empty once it was to be forgotten while a relation that does not was drawn from it.
CREATE TABLE sentences (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL,
    hash BLOB NOT NULL,
    origin TEXT NOT NULL,
    speaker TEXT,
    audience INTEGER NOT NULL REFERENCES graph_audiences (id),
    at INTEGER NOT NULL,
    UNIQUE (origin, hash, audience)
) STRICT;
CREATE TABLE evidence (
    relation INTEGER NOT NULL REFERENCES relations (id) ON DELETE CASCADE,
    sentence INTEGER NOT NULL REFERENCES sentences (id) ON DELETE CASCADE,
    PRIMARY KEY (relation, sentence)
) STRICT, WITHOUT ROWID;
CREATE INDEX evidence_sentence ON evidence (sentence);
-- `relation` no longer holds for whoever may see `by_relation`. An undone pair stays, so that it is not closed again.
CREATE TABLE closings (
    relation INTEGER NOT NULL REFERENCES relations (id) ON DELETE CASCADE,
    by_relation INTEGER NOT NULL REFERENCES relations (id) ON DELETE CASCADE,
    change INTEGER NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (relation, by_relation)
) STRICT, WITHOUT ROWID;
CREATE INDEX closings_by ON closings (by_relation);
CREATE INDEX closings_change ON closings (change);
-- What can be undone. The steps hold ids alone, no text that would outlive what it names.
CREATE TABLE graph_changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT,
    audience INTEGER NOT NULL REFERENCES graph_audiences (id),
    undone_at INTEGER
) STRICT;
CREATE TABLE graph_steps (
    change INTEGER NOT NULL REFERENCES graph_changes (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    what TEXT NOT NULL,
    row INTEGER NOT NULL,
    before INTEGER,
    PRIMARY KEY (change, position)
) STRICT, WITHOUT ROWID;
-- Hashes of what was deleted, keyed with this file's salt, and when: evidence that is not newer is refused.
CREATE TABLE graph_tombstones (
    hash BLOB PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
", "
-- What is said to have ended: few, and looked for with each relation that is shown.
CREATE INDEX relations_ended ON relations (subject, predicate) WHERE valid_to IS NOT NULL AND retracted_at IS NULL;
", "
-- Set where a relation that was not taken back is closed by one of its own audience, and so for all who know of it: when
-- what closes it, whoever heard that, was last said. Follows from the rest and is kept by triggers, so that no way of changing
-- rows can miss it; what is told of a subject that changes often then passes over all that is over.
ALTER TABLE relations ADD COLUMN superseded_at INTEGER;
CREATE VIEW superseded AS SELECT told.id AS relation, (
    SELECT iif(max(closer.audience = told.audience AND closer.last_at >= told.last_at), max(closer.last_at), NULL)
    FROM closings JOIN relations AS closer ON closer.id = by_relation
    WHERE closings.relation = told.id AND undone = 0 AND closer.retracted_at IS NULL AND told.retracted_at IS NULL
) AS at FROM relations AS told;
CREATE TRIGGER closings_made AFTER INSERT ON closings BEGIN
    UPDATE relations SET superseded_at = (SELECT at FROM superseded WHERE relation = NEW.relation) WHERE id = NEW.relation;
END;
CREATE TRIGGER closings_undone AFTER UPDATE OF undone ON closings BEGIN
    UPDATE relations SET superseded_at = (SELECT at FROM superseded WHERE relation = NEW.relation) WHERE id = NEW.relation;
END;
CREATE TRIGGER closings_gone AFTER DELETE ON closings BEGIN
    UPDATE relations SET superseded_at = (SELECT at FROM superseded WHERE relation = OLD.relation) WHERE id = OLD.relation;
END;
CREATE TRIGGER relations_said AFTER UPDATE OF last_at, retracted_at ON relations
WHEN OLD.last_at <> NEW.last_at OR OLD.retracted_at IS NOT NEW.retracted_at BEGIN
    UPDATE relations SET superseded_at = (SELECT at FROM superseded WHERE relation = relations.id)
    WHERE id IN (SELECT relation FROM closings WHERE relation = NEW.id
                 UNION SELECT relation FROM closings WHERE by_relation = NEW.id);
END;
UPDATE relations SET superseded_at = (SELECT at FROM superseded WHERE relation = relations.id)
WHERE id IN (SELECT relation FROM closings);
-- Relations that were not taken back, by whether they stand, are over, or were told as ended: each is in one of three.
DROP INDEX relations_key;
DROP INDEX relations_ended;
CREATE INDEX relations_key ON relations (subject, predicate, object_key, audience, superseded_at);
CREATE INDEX relations_standing ON relations (subject, predicate, last_at, audience)
WHERE superseded_at IS NULL AND valid_to IS NULL AND retracted_at IS NULL;
CREATE INDEX relations_superseded ON relations (subject, predicate, last_at, audience)
WHERE superseded_at IS NOT NULL;
CREATE INDEX relations_ended ON relations (subject, predicate, last_at, audience)
WHERE valid_to IS NOT NULL AND retracted_at IS NULL;
-- With all that is asked of a name which is looked for, so that no row of the table is.
DROP INDEX names_folded;
CREATE INDEX names_folded ON names (folded, kind, audience, entity);
CREATE INDEX relations_retracted ON relations (subject, predicate, object_key, audience) WHERE retracted_at IS NOT NULL;
", "
-- Which rows here those of another memory became when they were imported: `home` stands for that memory, `at` is when the
-- row began there (0: it is known by its number alone). `made`: the row is here because it was imported.
CREATE TABLE graph_imports (
    home TEXT NOT NULL,
    what TEXT NOT NULL,
    theirs INTEGER NOT NULL,
    at INTEGER NOT NULL,
    ours INTEGER NOT NULL,
    made INTEGER NOT NULL,
    PRIMARY KEY (home, what, theirs, at)
) STRICT, WITHOUT ROWID;
"];
