//! The tables. A migration that has been released is never edited: a later one changes what it made.

/// The migrations of the component `journal`, version 1 first. Times are milliseconds since 1970, in UTC.
pub(crate) const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,      -- in the order in which they began, whatever the clock said
    id TEXT NOT NULL UNIQUE,
    conversation TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;
CREATE UNIQUE INDEX sessions_current ON sessions (conversation) WHERE ended_at IS NULL;

CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL REFERENCES sessions (id),
    conversation TEXT NOT NULL,
    principal TEXT NOT NULL,
    audience TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    status TEXT NOT NULL CHECK (status IN ('open', 'completed', 'failed', 'cancelled')),
    finish_reason TEXT,
    error TEXT
) STRICT;
CREATE INDEX runs_open ON runs (number) WHERE status = 'open';

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    session TEXT NOT NULL REFERENCES sessions (id),
    run TEXT REFERENCES runs (id),
    conversation TEXT NOT NULL,
    kind TEXT NOT NULL,
    hidden INTEGER NOT NULL,
    audience TEXT NOT NULL,
    payload TEXT NOT NULL
) STRICT;
CREATE INDEX events_of_session ON events (session, seq);
CREATE INDEX events_of_run ON events (run, seq) WHERE run IS NOT NULL;

-- What became of each accepted input: derived from the events, kept for the question after a crash.
CREATE TABLE inputs (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL REFERENCES events (seq),
    state TEXT NOT NULL CHECK (state IN ('waiting', 'taken', 'flushed', 'refused')),
    run TEXT REFERENCES runs (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX inputs_waiting ON inputs (seq) WHERE state = 'waiting';

-- What a platform called an input, so that a redelivered one is known. Old rows are dropped.
CREATE TABLE input_keys (
    channel TEXT NOT NULL,
    platform_id TEXT NOT NULL,
    input TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (channel, platform_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX input_keys_by_age ON input_keys (at_ms);

-- Outputs that were queued and of which nobody has said what became of them.
CREATE TABLE open_outputs (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL REFERENCES events (seq)
) STRICT, WITHOUT ROWID;
",
    "
-- How often a run that a crash cut has given the input back.
ALTER TABLE inputs ADD COLUMN returned INTEGER NOT NULL DEFAULT 0;
-- The run has given its inputs back: others say what it had begun to say, so no window shows it.
ALTER TABLE runs ADD COLUMN returned INTEGER NOT NULL DEFAULT 0;
",
];
