-- How often the vectors of a scope have changed, whoever changed them: as long as it is the same, a copy of them is too.
-- `version` cannot tell it, for it stands still when an entry is erased or gets its vector later.
ALTER TABLE memory_scopes ADD COLUMN vector_changes INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER memory_vectors_added AFTER INSERT ON memory_vectors BEGIN
    UPDATE memory_scopes SET vector_changes = vector_changes + 1 WHERE scope = new.scope;
END;
CREATE TRIGGER memory_vectors_erased AFTER DELETE ON memory_vectors BEGIN
    UPDATE memory_scopes SET vector_changes = vector_changes + 1 WHERE scope = old.scope;
END;
CREATE TRIGGER memory_vectors_changed AFTER UPDATE ON memory_vectors BEGIN
    UPDATE memory_scopes SET vector_changes = vector_changes + 1 WHERE scope IN (old.scope, new.scope);
END;
