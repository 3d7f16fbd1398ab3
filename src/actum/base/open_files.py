"""What a database file is before it is opened, and which of them this process has open.

SQLite's locks on a file belong to the process, and SQLite remembers which it holds. Two things deceive that memory:

- Whoever closes a file gives back all locks that the process has on it, those of SQLite's connections too. Then another
  process takes the log away, and with it what is committed later. A product may have connections of its own, so no file
  is opened past SQLite, which alone knows how long it must keep a file open.
- A forked child inherits the memory without the locks. So no connection of a child may be used, closed or newly opened
  on a file that the parent had open.
"""

import os
import sqlite3
import stat
import threading
from collections import Counter
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import quote

from actum.base.errors import NotAStore, StoreUnavailable

# "Actm": tells our files from those of other applications. It stands in the header of each of them.
APPLICATION_ID: Final = 0x4163746D
# A database is whole pages, and none is smaller. SQLite would take a file of one byte for an empty one.
_SMALLEST_PAGE_BYTES: Final = 512

# Device and number: the same file by whichever name.
Inode: TypeAlias = tuple[int, int]

_guard: Final = threading.Lock()
_opened: Final[Counter[Inode]] = Counter()
_inherited: Final[set[Inode]] = set()


def _forked() -> None:
    _inherited.update(_opened)
    _opened.clear()
    _guard.release()


os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_forked)


def inode_of(path: str | Path) -> Inode:
    """Which file the path leads to now. Raises OSError, such as FileNotFoundError."""
    status = os.stat(path)  # noqa: PTH116 - asked before each commit, and a Path takes twice as long
    return status.st_dev, status.st_ino


def note_open(path: str | Path) -> Inode:
    """Notes a connection to this file, after it was made and before it is used. Raises OSError.

    Gives the file's inode for `note_closed`.
    """
    with _guard:
        inode = inode_of(path)
        _opened[inode] += 1
        return inode


def note_closed(inode: Inode) -> None:
    """A connection that was noted has been closed."""
    with _guard:
        _opened[inode] -= 1
        if not _opened[inode]:
            del _opened[inode]


def judge(path: Path) -> int:
    """The application's mark in the header of the file: APPLICATION_ID, or 0.

    It is 0 where there is no file or an empty one, and for a young file whose mark stands in its log alone. Nothing is
    made beside the file. Raises NotAStore for what is no database or another application's, StoreUnavailable for a file
    with several names and in a forked child whose parent had it open, OSError and sqlite3.Error.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0
    # Before anything is opened: whoever opens a pipe waits for its other end.
    if stat.S_ISDIR(status.st_mode):
        raise NotAStore(location=str(path), reason="it is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise NotAStore(location=str(path), reason="it is no regular file")
    if (status.st_dev, status.st_ino) in _inherited:
        raise StoreUnavailable(
            reason="this process was forked while its parent had the file open; start it anew (spawn) instead"
        )
    if status.st_nlink > 1:
        # The log and the lock are named after the file: by another name it would have others.
        raise StoreUnavailable(
            reason=f"{path.name}: the file has {status.st_nlink} names (hard links), and a log under each of them "
            "would lose commits; keep one name, and make symbolic links or copies instead"
        )
    if not status.st_size:
        return 0
    mark = _mark(path) if status.st_size >= _SMALLEST_PAGE_BYTES else None
    if mark is None:
        raise NotAStore(location=str(path), reason="it is no SQLite database")
    if mark not in (0, APPLICATION_ID):
        raise NotAStore(location=str(path), reason="it belongs to another application")
    return mark


def _mark(path: Path) -> int | None:
    """The mark in the header; None for what is no database."""
    # Immutable: no lock is taken and no log looked for. SQLite closes the file when that harms no other connection.
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True, isolation_level=None)
    try:
        # While the log is folded in, the file may be shorter than its header says; without this that were damage.
        connection.execute("PRAGMA writable_schema = ON")
        mark: int = connection.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            return None
        raise
    finally:
        connection.close()
    return mark
