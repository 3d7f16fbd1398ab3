"""The file of an SQLite store: what it must be, how it is opened, and how it comes to its schema."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote

from actum.base import open_files
from actum.base.errors import ActumError, DurableDataError, NotAStore, SchemaTooNew, StoreUnavailable, shortened
from actum.base.locks import FileLock
from actum.base.open_files import APPLICATION_ID
from actum.storage.migrate import Migration, migrations, pending

Connect: TypeAlias = Callable[..., sqlite3.Connection]
# How a file is opened: to read, to read and write, or to be made as well.
Mode: TypeAlias = Literal["ro", "rw", "rwc"]

BUSY_TIMEOUT_S: Final = 10.0
# The low byte of an extended error code is the error; the rest says where it came up.
_PRIMARY: Final = 0xFF
# So begins what Python's binding, not SQLite, says of a text whose bytes are no UTF-8; it has no code.
_NO_TEXT: Final = "Could not decode to UTF-8"
_STATEMENTS_KEPT: Final = 256
# A commit writes whole pages: larger ones make a single record dearer, and save next to nothing in the file.
_PAGE_BYTES: Final = 4096
_MIGRATIONS: Final = (
    "CREATE TABLE IF NOT EXISTS migrations "
    "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL) STRICT"
)
# The log is folded into the file after so many pages: rarer folds cost fewer syncs, and 16 MiB of log are no burden.
LOG_PAGES: Final = 4096


class SQLiteFile:
    """One database file, with the lock file beside it that makes writing processes take turns."""

    def __init__(self, path: Path, connect: Connect = sqlite3.connect) -> None:
        # Whichever links lead to the file: what stands beside it is named after the file itself, for everybody alike.
        self.path = Path(os.path.realpath(path))
        self._location = str(self.path)
        self._connect = connect
        # The file that was prepared: another one that comes to its place is not opened.
        self._inode: open_files.Inode | None = None

    @property
    def lock(self) -> FileLock:
        """The lock whose holder writes. Each holder asks for its own; it is held by one of them."""
        return FileLock(self.beside("-lock"), BUSY_TIMEOUT_S)

    def beside(self, ending: str) -> Path:
        """The path of a file or folder that belongs to this store."""
        return self.path.with_name(self.path.name + ending)

    def prepare(self) -> None:
        """Makes the store when there is none, and brings its schema up to date.

        Whoever holds the lock is waited for only where there is something to do. Raises NotAStore, SchemaTooNew and
        DurableDataError without having changed the file, StoreUnavailable for the machine and for a file with several
        hard links.
        """
        with translated(self.path):
            if not self.path.parent.is_dir():
                raise StoreUnavailable(reason=f"there is no directory {self.path.parent}; make it first")
            # The mark comes with the first step: whoever reads a marked file disturbs nobody who makes one.
            if open_files.judge(self.path) != APPLICATION_ID or not self._is_current():
                self._bring_up_to_date()
            self._inode = self._found()

    @contextmanager
    def connected(self, mode: Mode, *, shared: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection for this thread, closed at the end; `shared` by others in turn.

        Raises sqlite3.Error, and StoreUnavailable when another file stands where the prepared one was.
        """
        self.require_in_place()
        connection = self._connect(
            f"file:{quote(str(self.path))}?mode={mode}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            cached_statements=_STATEMENTS_KEPT,
            check_same_thread=not shared,
        )
        inode = None
        try:
            inode = open_files.note_open(self.path)
            # Again, for it may have been opened after another one had come.
            self.require_in_place()
            _settle(connection, readonly=mode == "ro")
            yield connection
        finally:
            connection.close()
            if inode is not None:
                open_files.note_closed(inode)

    def _found(self) -> open_files.Inode | None:
        """Which file the path leads to now; None when it leads nowhere."""
        try:
            return open_files.inode_of(self._location)
        except FileNotFoundError:
            return None

    def require_in_place(self) -> None:
        """Raises StoreUnavailable when the path leads to another file than the prepared one, or nowhere."""
        if self._inode is not None and self._found() != self._inode:
            raise StoreUnavailable(reason=f"{self.path.name}: the file was moved or deleted while it was open")

    def _is_current(self) -> bool:
        """Whether nothing is to be done to the schema. Raises for one that is not ours or newer."""
        try:
            with self.connected("rw") as connection:
                return _is_current(connection, migrations("sqlite"), str(self.path))
        except sqlite3.OperationalError:
            # A place that cannot be written, among others. Whoever brings it up to date meets it again, and says more.
            return False

    def _bring_up_to_date(self) -> None:
        lock = self.lock
        fresh = not lock.path.exists()
        lock.acquire()
        try:
            self._judge_content()
            with self.connected("rwc") as connection:
                _migrate(connection, migrations("sqlite"), str(self.path))
        except (NotAStore, SchemaTooNew):
            lock.release(remove=fresh)
            raise
        finally:
            lock.close()

    def _judge_content(self) -> None:
        """Refuses another application's database, reading only."""
        if not self.path.exists() or not self.path.stat().st_size:
            return
        with self.connected("ro") as connection:
            mark = connection.execute("PRAGMA application_id").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if mark != APPLICATION_ID and (mark or tables):
            raise NotAStore(location=str(self.path), reason="it belongs to another application")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """What the machine says, as errors of the contract."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise unavailable(error, path) from error


def unavailable(error: sqlite3.Error | OSError, path: Path) -> ActumError:
    """The error of the contract for an error of SQLite or of the operating system."""
    if isinstance(error, OSError):
        return StoreUnavailable(reason=f"{path.name}: {error.strerror or error}")
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_NOTADB:
        return NotAStore(location=str(path), reason="it is no SQLite database")
    if code is not None and code & _PRIMARY == sqlite3.SQLITE_CORRUPT:
        # No retry helps: whoever goes on trying would hide the damage.
        return DurableDataError(path=str(path), rule=f"is a whole database, but: {error}; put back a copy of the file")
    if code is None and str(error).startswith(_NO_TEXT):
        return DurableDataError(path=str(path), rule=f"holds texts in UTF-8, but: {shortened(str(error))}")
    return StoreUnavailable(reason=f"{path.name}: {error}")


def _settle(connection: sqlite3.Connection, *, readonly: bool) -> None:
    """The settings that each connection needs for itself."""
    settings = ["temp_store = MEMORY", "cache_size = -16384"]
    if not readonly:
        # FULL: a commit that was answered is on the disk. secure_delete: what was erased is gone from the file.
        settings += ["synchronous = FULL", "secure_delete = ON", f"wal_autocheckpoint = {LOG_PAGES}"]
    for setting in settings:
        connection.execute(f"PRAGMA {setting}")


def _todo(connection: sqlite3.Connection, steps: tuple[Migration, ...], location: str) -> tuple[Migration, ...]:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    digests: dict[int, str] = {}
    if "migrations" in _schema(connection):
        digests = dict(connection.execute("SELECT number, digest FROM migrations"))
    return pending(steps, version, digests, location)


def _is_current(connection: sqlite3.Connection, steps: tuple[Migration, ...], location: str) -> bool:
    if _todo(connection, steps, location) or connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        return False
    _compare(connection, steps, location)
    return True


def _migrate(connection: sqlite3.Connection, steps: tuple[Migration, ...], location: str) -> None:
    todo = _todo(connection, steps, location)
    if len(todo) == len(steps):
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise StoreUnavailable(reason="this place cannot hold a write-ahead log; use a local disk")
    for step in todo:
        _apply(connection, step)
    _compare(connection, steps, location)


def _apply(connection: sqlite3.Connection, step: Migration) -> None:
    """One step in one transaction, with its stamp."""
    connection.execute("BEGIN EXCLUSIVE")
    try:
        connection.execute(_MIGRATIONS)
        for statement in step.statements():
            connection.execute(statement)
        connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (step.number, step.name, step.digest))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {step.number}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _compare(connection: sqlite3.Connection, steps: tuple[Migration, ...], location: str) -> None:
    """Refuses a store whose tables are not those that its stamp promises. Other tables may stand beside them."""
    found = _schema(connection)
    model = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for step in steps:
            for statement in step.statements():
                model.execute(statement)
        wanted = _schema(model)
    finally:
        model.close()
    for name, text in wanted.items():
        if found.get(name) != text:
            reason = f"its `{name}` is not as version {len(steps)} of the schema makes it"
            raise NotAStore(location=location, reason=reason)


def _schema(connection: sqlite3.Connection) -> dict[str, Any]:
    return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%'"))
