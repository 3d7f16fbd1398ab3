"""Connections that fail when they are told to, in the very place where a disk or a lock would."""

import sqlite3
from collections.abc import Callable
from typing import Any, Self


class Faults:
    """Connections whose next statement that begins with `statement` raises, or that hold so many pages at most."""

    def __init__(self) -> None:
        self.statement: str | None = None
        self.times = 0
        self.pages: int | None = None
        self.commits = 0
        self.asked: list[str] = []

    def fail(self, statement: str, times: int = 1) -> None:
        """The next `times` such statements fail as a disk does."""
        self.statement, self.times = statement, times

    def connect(self, *arguments: Any, **options: Any) -> sqlite3.Connection:
        """A connection that asks this object before each statement; it never waits for a lock."""
        faults = self

        class FaultyCursor(sqlite3.Cursor):
            def execute(self, sql: str, *values: Any) -> Self:
                faults.judge(sql, super().execute)
                return super().execute(sql, *values)

        class Faulty(sqlite3.Connection):
            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
                faults.judge(sql, super().execute)
                return super().execute(sql, *values)

            def cursor(self, *_: Any) -> sqlite3.Cursor:  # type: ignore[override]  # nobody here asks for another kind
                return super().cursor(FaultyCursor)

        made: sqlite3.Connection = sqlite3.connect(*arguments, **{**options, "timeout": 0, "factory": Faulty})
        return made

    def judge(self, sql: str, execute: Callable[[str], object]) -> None:
        """Raises if this statement is to fail; notes all, and counts commits."""
        self.asked.append(sql)
        self.commits += sql == "COMMIT"
        if self.statement is not None and sql.startswith(self.statement):
            self.times -= 1
            if not self.times:
                self.statement = None
            raise sqlite3.OperationalError("disk I/O error")
        if self.pages is not None and sql == "BEGIN IMMEDIATE":
            execute(f"PRAGMA max_page_count = {self.pages}")
