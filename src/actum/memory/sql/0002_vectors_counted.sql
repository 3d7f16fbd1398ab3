-- What changes the vectors of a scope besides a new version in it: an erasure, and a vector that comes later. As long as
-- this count and `version` are the same, so are the vectors, whoever wrote to the file.
ALTER TABLE memory_scopes ADD COLUMN vector_changes INTEGER NOT NULL DEFAULT 0;

-- The vector of a new version is written before the scope counts that version, which tells of it; to count it twice would
-- cost every write a second change of the scope's row.
CREATE TRIGGER memory_vectors_added AFTER INSERT ON memory_vectors
WHEN (SELECT version FROM memory_entries WHERE entry = new.entry)
    <= (SELECT version FROM memory_scopes WHERE scope = new.scope)
BEGIN
    UPDATE memory_scopes SET vector_changes = vector_changes + 1 WHERE scope = new.scope;
END;
CREATE TRIGGER memory_vectors_erased AFTER DELETE ON memory_vectors BEGIN
    UPDATE memory_scopes SET vector_changes = vector_changes + 1 WHERE scope = old.scope;
END;
CREATE TRIGGER memory_vectors_changed AFTER UPDATE ON memory_vectors BEGIN
    UPDATE memory_scopes SET vector_changes = vector_changes + 1 WHERE scope IN (old.scope, new.scope);
END;
