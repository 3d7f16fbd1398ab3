-- The rows of both memories. They may stand in a file of their own or beside the rows of an Actum store.
-- Instants are whole milliseconds since 1970 in UTC. Identities are SHA-256 digests of the exact ids: no collation, case
-- rule or pattern can make two of them one. Names stand beside them for people, and go with what they name.

-- One number and one secret for each tenant, whose events are searched together.
CREATE TABLE memory_tenants (
    tenant INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    name TEXT,
    secret TEXT NOT NULL
) STRICT;

-- What is forgotten together: a session, or a one-shot tree. A forgotten one keeps its digest alone.
CREATE TABLE memory_groups (
    "group" INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    session_id TEXT,
    root_run_id TEXT,
    forgotten INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE memory_runs (
    run INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    tenant INTEGER NOT NULL REFERENCES memory_tenants,
    "group" INTEGER NOT NULL REFERENCES memory_groups,
    run_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    history_run_id TEXT
) STRICT;
CREATE INDEX memory_runs_by_group ON memory_runs ("group");

-- A message once, however many events tell of it.
CREATE TABLE memory_messages (
    message INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES memory_runs,
    message_id TEXT NOT NULL,
    bytes BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX memory_messages_by_id ON memory_messages (run, message_id);

-- The order of `event` is the order of a run's events. `digest` is that of the whole event with its message.
CREATE TABLE memory_events (
    event INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES memory_runs,
    event_id TEXT NOT NULL,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    message INTEGER REFERENCES memory_messages,
    digest BLOB NOT NULL,
    fields BLOB NOT NULL        -- what stands in no column, as JSON
) STRICT;
CREATE UNIQUE INDEX memory_events_by_id ON memory_events (run, event_id);
CREATE INDEX memory_events_by_run ON memory_events (run, event);

-- The words of user and assistant messages; the row is that of the event. The index holds digests of words under the
-- tenant's secret, so a search reaches no other tenant.
CREATE VIRTUAL TABLE memory_event_words USING fts5 (words, content = '', tokenize = 'ascii');

-- `version` is the last one that was given in the scope; it outlives the entries.
CREATE TABLE memory_scopes (
    scope INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    tenant BLOB NOT NULL,
    kind TEXT NOT NULL,
    name TEXT,                  -- JSON of tenant and scope id
    version INTEGER NOT NULL DEFAULT 0,
    secret TEXT,
    forgotten INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE memory_entries (
    entry INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES memory_scopes,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    present INTEGER NOT NULL,   -- 1: the newest version of its key
    stored INTEGER NOT NULL,
    expires INTEGER,
    source_run TEXT,
    source_record TEXT,
    value BLOB NOT NULL
) STRICT;
-- An entry stands in one of these two, so that a new one costs one place in one index.
CREATE UNIQUE INDEX memory_entries_present ON memory_entries (scope, key) WHERE present = 1;
CREATE UNIQUE INDEX memory_entries_older ON memory_entries (scope, key, version) WHERE present = 0;
CREATE INDEX memory_entries_by_source ON memory_entries (source_run, source_record) WHERE source_run IS NOT NULL;
CREATE INDEX memory_entries_by_expiry ON memory_entries (expires) WHERE expires IS NOT NULL;

-- The words of present versions; the row is that of the entry. Digests of words under the scope's secret: a search
-- reaches no other scope, and what an erased scope leaves in the index says nothing.
CREATE VIRTUAL TABLE memory_entry_words USING fts5 (words, content = '', tokenize = 'ascii');

-- Vectors of present versions, of length 1, as 32-bit floats. A table with row numbers: in one without them a vector of
-- 384 numbers would take a whole page.
CREATE TABLE memory_vectors (
    vector INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES memory_scopes,
    embedder TEXT NOT NULL,
    entry INTEGER NOT NULL REFERENCES memory_entries,
    floats BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX memory_vectors_by_entry ON memory_vectors (entry, embedder);
CREATE INDEX memory_vectors_by_scope ON memory_vectors (scope, embedder);
