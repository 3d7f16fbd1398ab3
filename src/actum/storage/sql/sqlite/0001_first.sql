-- The rows of an Actum store. Instants are whole milliseconds since 1970 in UTC; ids and text are exact (BINARY).
-- Runs and scopes have integers inside the database, so that the long tables carry no names twice.

-- Where records are numbered: a session, or the root run of a one-shot tree.
CREATE TABLE scopes (
    scope INTEGER PRIMARY KEY,
    session_id TEXT,
    root_run_id TEXT
) STRICT;
CREATE UNIQUE INDEX scopes_by_session ON scopes (session_id) WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX scopes_by_root ON scopes (root_run_id) WHERE root_run_id IS NOT NULL;

CREATE TABLE sessions (
    scope INTEGER PRIMARY KEY REFERENCES scopes,
    session_id TEXT NOT NULL,
    tenant TEXT,
    status TEXT NOT NULL,
    created INTEGER NOT NULL,
    ended INTEGER,
    metadata TEXT,
    head_run_id TEXT,
    created_digest TEXT NOT NULL
) STRICT;
-- A list is ordered by time, then id; each index ends in that order.
CREATE INDEX sessions_by_time ON sessions (created, session_id);
CREATE INDEX sessions_by_status ON sessions (status, created, session_id);
CREATE INDEX sessions_by_tenant ON sessions (tenant, created, session_id) WHERE tenant IS NOT NULL;

CREATE TABLE session_metadata (
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    created INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    scope INTEGER NOT NULL,
    PRIMARY KEY (key, value, created, session_id)
) STRICT, WITHOUT ROWID;
-- What is erased is found by whose it is, whatever the row says of it.
CREATE INDEX session_metadata_by_scope ON session_metadata (scope);

CREATE TABLE runs (
    run INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes,
    run_id TEXT NOT NULL UNIQUE,
    agent_id TEXT NOT NULL,
    tenant TEXT,
    parent_run_id TEXT,
    tool_call_id TEXT,
    predecessor_run_id TEXT,
    successor_run_id TEXT,
    chain_id TEXT,              -- NULL: the run's own id
    history_run_id TEXT,
    history_through TEXT,
    status TEXT NOT NULL,
    start_outcome TEXT NOT NULL,
    started INTEGER NOT NULL,
    ended INTEGER,
    first_position INTEGER NOT NULL, -- none of its records, within the scope, stands before it
    end_position INTEGER,       -- of its end record, which is its last
    updated INTEGER NOT NULL,
    labels TEXT,                -- JSON; NULL: none
    cancellation_reason TEXT,
    owner TEXT,
    start_key TEXT NOT NULL,    -- the keys of the records that proved the run's facts
    link_key TEXT,
    cancel_key TEXT,
    end_key TEXT,
    awaiting TEXT               -- JSON list; NULL: nothing
) STRICT;
CREATE INDEX runs_by_time ON runs (started, run_id);
CREATE INDEX runs_by_scope ON runs (scope, started, run_id);
CREATE INDEX runs_by_status ON runs (status, started, run_id);
CREATE INDEX runs_by_agent ON runs (agent_id, started, run_id);
CREATE INDEX runs_by_tenant ON runs (tenant, started, run_id) WHERE tenant IS NOT NULL;

CREATE TABLE run_labels (
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    started INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    run INTEGER NOT NULL,
    PRIMARY KEY (key, value, started, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_labels_by_run ON run_labels (run);

CREATE TABLE run_awaiting (
    kind TEXT NOT NULL,
    started INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    run INTEGER NOT NULL,
    PRIMARY KEY (kind, started, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_awaiting_by_run ON run_awaiting (run);

-- Agent and session of a record are those of its run. The payload stands last: whoever filters need not read over it.
CREATE TABLE records (
    scope INTEGER NOT NULL REFERENCES scopes,
    position INTEGER NOT NULL,
    run INTEGER NOT NULL REFERENCES runs,
    type ANY NOT NULL,          -- a number for each type of Actum, the text of any other
    timestamp INTEGER NOT NULL,
    event_key TEXT NOT NULL,
    turn_id TEXT,
    payload BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX records_by_key ON records (run, event_key);
-- Run and type stand in this index, so that a transcript is read without touching what else was stored meanwhile. Its
-- end is the scope's last position. A counter, or an index of runs, would be one page more in every commit.
CREATE INDEX records_by_position ON records (scope, position, run, type);
CREATE TRIGGER records_in_order BEFORE INSERT ON records
WHEN EXISTS (SELECT 1 FROM records WHERE scope = new.scope AND position >= new.position)
BEGIN SELECT RAISE(ABORT, 'a record is stored behind all others of its scope'); END;

CREATE TABLE checkpoints (
    run INTEGER PRIMARY KEY REFERENCES runs,
    suspension_id TEXT NOT NULL,
    data BLOB NOT NULL
) STRICT;

-- What was purged: the digest of its id, and of its tenant.
CREATE TABLE tombstones (
    kind TEXT NOT NULL,
    digest BLOB NOT NULL,
    tenant_digest BLOB,
    PRIMARY KEY (kind, digest)
) STRICT, WITHOUT ROWID;

-- How far each projection has handled each scope.
CREATE TABLE consumers (
    consumer TEXT NOT NULL,
    scope INTEGER NOT NULL REFERENCES scopes,
    position INTEGER NOT NULL,
    PRIMARY KEY (consumer, scope)
) STRICT, WITHOUT ROWID;
CREATE INDEX consumers_by_scope ON consumers (scope);
