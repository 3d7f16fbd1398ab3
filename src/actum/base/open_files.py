"""Which database files this process has open, told by everybody here who opens one.

SQLite's locks on a file belong to the process, and SQLite remembers which it holds. Two things deceive that memory:

- Whoever closes a file gives back all locks that the process has on it, those of SQLite's connections too. Then another
  process takes the log away, and with it what is committed later. So a file is read here alone, and only while no
  connection to it is open.
- A forked child inherits the memory without the locks. So no connection of a child may be used, closed or newly opened
  on a file that the parent had open.
"""

import os
import threading
from collections import Counter
from pathlib import Path
from typing import Final, TypeAlias

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


def inherited(path: str | Path) -> bool:
    """Whether the parent had this file open when this process was forked. Raises OSError."""
    return inode_of(path) in _inherited


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


def first_bytes(path: Path, size_bytes: int) -> bytes | None:
    """How the file begins; None while this process has a connection to it. Raises OSError."""
    with _guard:
        if inode_of(path) in _opened:
            return None
        with path.open("rb") as file:
            return file.read(size_bytes)
