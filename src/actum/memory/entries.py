"""What the product remembers on purpose: entries under a key, in a scope that is matched exactly."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Final, Self

from actum.base.checks import Count, Identifier, Instant, identifier, optional_identifier, refuse
from actum.base.errors import EntryConflict, TooLarge
from actum.base.json_values import json_value
from actum.base.limits import CONTENT_DEPTH, PAYLOAD_BYTES
from actum.base.value import Json, Value, conform, dump_json, load_json, replace

# The scope id of what is shared by all sessions, users and agents (of one tenant), when nobody names another.
SHARED_ID: Final = "shared"


class MemoryScope(StrEnum):
    """To whom an entry belongs; narrowest first, which is the order of `MemoryView.get`."""

    SESSION = "session"
    USER = "user"
    AGENT = "agent"
    SHARED = "shared"


def _bounded_json(path: str, value: object) -> Json:
    size = len(dump_json(json_value(path, value, CONTENT_DEPTH)))
    if size > PAYLOAD_BYTES:
        raise TooLarge(field=path, size=size, limit=PAYLOAD_BYTES)
    return value


class EntrySource(Value):
    """Where an entry comes from: a run, and the record of it that tells the write."""

    run_id: Identifier
    record_id: Identifier | None = None


class MemoryEntry(Value):
    """A JSON `value` under a `key` of one scope. Null, false, 0 and empty values are values.

    `expires_at` is the first instant at which the entry is gone. `tenant` is part of the scope's identity: an entry
    of no tenant is another than that of any tenant.
    """

    scope: MemoryScope
    scope_id: Identifier
    key: Identifier
    value: Annotated[Json, _bounded_json]
    tenant: Identifier | None = None
    source: EntrySource | None = None
    expires_at: Instant | None = None

    @classmethod
    def for_session(
        cls,
        session_id: str,
        *,
        key: str,
        value: Json,
        tenant: str | None = None,
        source: EntrySource | None = None,
        expires_at: datetime | None = None,
    ) -> Self:
        """An entry of one session; it goes with the session's memory."""
        return cls._of(MemoryScope.SESSION, session_id, key, value, tenant, source, expires_at)

    @classmethod
    def for_user(
        cls,
        user_id: str,
        *,
        key: str,
        value: Json,
        tenant: str | None = None,
        source: EntrySource | None = None,
        expires_at: datetime | None = None,
    ) -> Self:
        """An entry of one user, in all their sessions."""
        return cls._of(MemoryScope.USER, user_id, key, value, tenant, source, expires_at)

    @classmethod
    def for_agent(
        cls,
        agent_id: str,
        *,
        key: str,
        value: Json,
        tenant: str | None = None,
        source: EntrySource | None = None,
        expires_at: datetime | None = None,
    ) -> Self:
        """An entry of one agent, whoever talks to it."""
        return cls._of(MemoryScope.AGENT, agent_id, key, value, tenant, source, expires_at)

    @classmethod
    def for_shared(
        cls,
        scope_id: str = SHARED_ID,
        *,
        key: str,
        value: Json,
        tenant: str | None = None,
        source: EntrySource | None = None,
        expires_at: datetime | None = None,
    ) -> Self:
        """An entry that all sessions, users and agents of the tenant share."""
        return cls._of(MemoryScope.SHARED, scope_id, key, value, tenant, source, expires_at)

    @classmethod
    def _of(
        cls,
        scope: MemoryScope,
        scope_id: str,
        key: str,
        value: Json,
        tenant: str | None,
        source: EntrySource | None,
        expires_at: datetime | None,
    ) -> Self:
        return conform(
            cls(
                scope=scope,
                scope_id=scope_id,
                key=key,
                value=value,
                tenant=tenant,
                source=source,
                expires_at=expires_at,
            )
        )


class StoredEntry(MemoryEntry):
    """An entry as the store keeps it.

    `version` grows with every change in the scope and is never used twice in it, not even after a deletion: so a
    compare-and-set cannot take a new entry for an old one.
    """

    version: Count
    stored_at: Instant


class FoundEntry(Value):
    """An entry that a search found. A greater `score` fits better, within one search only."""

    entry: StoredEntry
    score: float


@dataclass(frozen=True)
class ScopeKey:
    """A scope's exact identity, checked: no id is empty, and none is a pattern."""

    tenant: str | None
    scope: MemoryScope
    scope_id: str

    @classmethod
    def checked(cls, scope: MemoryScope | str, scope_id: str, tenant: str | None) -> Self:
        """The scope of these ids. Raises InvalidValue; nothing stands for "every scope"."""
        try:
            kind = MemoryScope(scope)
        except ValueError:
            raise refuse("scope", scope, "is one of " + ", ".join(MemoryScope)) from None
        return cls(optional_identifier("tenant", tenant), kind, identifier("scope_id", scope_id))

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the identity: equal for equal bytes only, whatever a database thinks of case or of Unicode."""
        return identity_digest("entries", self.tenant, str(self.scope), self.scope_id)


def identity_digest(*names: str | None) -> bytes:
    """The digest of an identity made of several names; no two lists of names are joined to one text."""
    return hashlib.sha256(dump_json(list(names))).digest()


def alive(entry: StoredEntry, now: datetime) -> bool:
    """Whether an entry has not expired; it is gone at the very instant `expires_at`."""
    return entry.expires_at is None or entry.expires_at > now


def decide_store(
    current: StoredEntry | None, entry: MemoryEntry, expected: int | None, *, next_version: int, now: datetime
) -> StoredEntry:
    """What a store writes: the new entry; `current` itself, the living one, when it says the same already.

    With `expected` (0: there is none) the write is a compare-and-set. Its exact repeat succeeds: the entry that is
    there is the one that it would have written. Raises EntryConflict, and InvalidValue for an expiry that has passed.
    """
    if expected is not None and (type(expected) is not int or expected < 0):
        raise refuse("expected", expected, "is a version, or 0 for no entry")
    if entry.expires_at is not None and entry.expires_at <= now:
        raise refuse("expires_at", entry.expires_at, "lies in the future")
    there = current.version if current is not None else 0
    if current is not None and _same(current, entry) and (expected is None or expected <= there):
        return current
    if expected is not None and expected != there:
        raise EntryConflict(
            scope=str(entry.scope), scope_id=entry.scope_id, key=entry.key, stored=there or None, given=expected or None
        )
    return StoredEntry(
        scope=entry.scope,
        scope_id=entry.scope_id,
        key=entry.key,
        value=entry.value,
        tenant=entry.tenant,
        source=entry.source,
        expires_at=entry.expires_at,
        version=next_version,
        stored_at=now,
    )


def written_by(entry: StoredEntry, run_id: str, record_id: str | None) -> bool:
    """Whether this run wrote the entry, and with `record_id` whether that record tells so."""
    source = entry.source
    return source is not None and source.run_id == run_id and record_id in (None, source.record_id)


def copied(entry: StoredEntry) -> StoredEntry:
    """The entry with a value of its own: whoever changes a list that it gave or got changes nothing here."""
    shared = isinstance(entry.value, list | dict)
    return replace(entry, value=load_json(dump_json(entry.value))) if shared else entry


def _same(current: StoredEntry, entry: MemoryEntry) -> bool:
    # By bytes: in Python 1, 1.0 and True are equal.
    return (
        dump_json(current.value) == dump_json(entry.value)
        and current.source == entry.source
        and current.expires_at == entry.expires_at
    )
