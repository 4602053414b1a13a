"""A ledger in one SQLite file, which the processes of one machine share."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.runtime.errors import LedgerError
from evenhand.subject.ledger.sqlite.database import FAILURES, connected, refusal
from evenhand.subject.ledger.sqlite.inspection import inspected
from evenhand.subject.ledger.sqlite.rows import ELSEWHERE, SqliteRows
from evenhand.subject.ledger.sqlite.upkeep import compacted, repaired
from evenhand.subject.ledger.store import LedgerStore

if TYPE_CHECKING:
    from evenhand.subject.ledger.admission import Admission
    from evenhand.subject.ledger.upkeep import Inspection, Repaired


class SqliteStore(LedgerStore):
    """A ledger in one file, created if missing."""

    elsewhere = ELSEWHERE
    failures = FAILURES

    def __init__(
        self,
        place: str | os.PathLike[str],
        timeout: float,
        admission: Admission | None = None,
    ) -> None:
        super().__init__(os.fspath(Path(place)), timeout, admission)
        self.path = Path(place)
        # Absolute, so that a worker with another working folder, or a file called ":memory:", finds
        # the same file.
        self._file = Path(os.path.abspath(place))  # noqa: PTH100
        self._inode: tuple[int, int] | None = None

    def opened(self) -> SqliteRows:
        """Open the file, and refuse a place where there can be none."""
        with contextlib.suppress(PermissionError):  # SQLite then says the same of the file
            if self._file.is_dir():
                raise LedgerError(
                    f"the ledger '{self.path}' is a folder: name a file in it"
                )
            if not self._file.parent.is_dir():
                raise LedgerError(
                    f"the ledger '{self.path}' is in a folder that does not exist: create it first"
                )
        connection = connected(self._file, self.timeout)
        self._inode = _inode(self._file)
        return SqliteRows(connection, self.name)

    def check_place(self) -> None:
        """Raise an error where the file was removed or replaced."""
        if _inode(self._file) != self._inode:
            raise LedgerError(
                f"the ledger '{self.path}' was removed or replaced during the run: name"
                " another file, or run again to go on with the one that is there now"
            )

    def refusal(self, error: Exception) -> LedgerError:
        """Return the error for what SQLite says of the file."""
        return refusal(self.path, error, self.timeout)

    def inspected(self) -> Inspection:
        """Return what SQLite can read of the file."""
        return inspected(self.path)

    def compacted(self) -> tuple[int, int]:
        """Drop dead claims and unused pages."""
        return compacted(self.path)

    def repaired(self, output: Path | None, *, adopt: bool) -> Repaired:
        """Write a sound ledger of all rows that can be verified."""
        return repaired(self.path, output, adopt=adopt)


def _inode(file: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of the same name; None where there is none."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
