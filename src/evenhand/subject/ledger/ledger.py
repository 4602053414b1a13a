"""Ledger: executed tests and their outcomes, each verified when it is read."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime import number_text
from evenhand.runtime.errors import LedgerError
from evenhand.subject.ledger.admission import Admission
from evenhand.subject.ledger.checksum import Checksum
from evenhand.subject.ledger.store import Unreachable, store_at
from evenhand.subject.ledger.stored_outcome import restored, stored

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

    from evenhand.subject.adapters.base import Reply
    from evenhand.subject.ledger.store import LedgerRows, Row


class Ledger:
    """Executed tests of one subject on one space, kept in the file or database `place`.

    Parameters: the file, created if missing, or the address of a PostgreSQL database; the digest of
    the space; the identity of the subject; and the seconds to wait for another process that is
    writing. It may be shared by threads and processes, pickled, and used again after `close`: each
    process opens its own connection when it first needs one. Every row has a checksum, and one that
    does not fit is a LedgerError.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Ledger(f"{folder}/a.db", space="s", subject="m") as ledger:
    ...         ledger.record([b"1", b"2"], [True, "approve"])
    ...         ledger.known([b"2", b"3"]), len(ledger)
    ({b'2': 'approve'}, 2)
    """

    def __init__(
        self,
        place: str | PathLike[str],
        *,
        space: str,
        subject: str,
        timeout: float = 30.0,
    ) -> None:
        self.space = space
        self.subject = subject
        self.store = store_at(place, timeout, Admission(space, subject))
        """Where the rows are."""
        self._start()
        self.store.look(lambda rows: rows)

    def _start(self) -> None:
        self._checksum = Checksum(self.space, self.subject)
        self._read = 0
        self._bad = 0

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """Return the recorded outcomes of those keys that have one.

        Raises a LedgerError where a row does not fit its checksum.
        """
        return self.store.look(lambda rows: self.read(rows, keys))

    def read(self, rows: LedgerRows, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """Return recorded outcomes as one connection sees them, in a transaction for example."""
        outcomes: dict[bytes, Reply] = {}
        for found in rows.answers(keys):
            sound = self._checksum.sound(found)
            self._read += len(found)
            self._bad += len(found) - len(sound)
            for key, value in sound:
                outcomes[key] = restored(value)
        if self._bad:
            number = number_text.count(self._bad)
            seen = number_text.count(self._read)
            raise self.store.damaged(
                f"{number} of {seen} rows read so far do not match their checksum"
            )
        return outcomes

    def record(
        self, keys: Sequence[bytes], outcomes: Sequence[object] | NDArray[np.generic]
    ) -> None:
        """Write outcomes down, all or none; where a key has an outcome already, that one stays."""
        listed = outcomes.tolist() if isinstance(outcomes, np.ndarray) else outcomes
        rows = self._checksum.rows(keys, map(stored, listed))
        # Neighbours share pages, and two writers take their rows in the same order.
        rows.sort(key=lambda row: row[0])
        try:
            self.add(rows)
        except Unreachable as error:
            raise self._kept_aside(rows, error) from error

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows with checksums, such as those of another ledger."""
        self.store.change(lambda open_rows: open_rows.add(rows), alone=False)

    def _kept_aside(self, rows: Sequence[Row], error: LedgerError) -> LedgerError:
        """Keep answers in a file, and return the error that says so."""
        file = f"evenhand-unsent-{self._checksum.head[:8]}.ledger"
        with Ledger(file, space=self.space, subject=self.subject) as aside:
            aside.add(rows)
        answers = number_text.many(len(rows), "answer")
        copying = f"evenhand ledger copy {file} {shlex.quote(self.store.name)}"
        return LedgerError(
            f"{error}; what was not written yet, {answers}, is in '{file}': run '{copying}', then"
            " run again to resume"
        )

    def __len__(self) -> int:
        return self.store.look(lambda rows: rows.count())

    def __bool__(self) -> bool:
        # An empty ledger is still a ledger: `if ledger:` must not ask how long it is.
        return True

    def close(self) -> None:
        """Close the file; the ledger may be used again afterwards."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        state = vars(self).copy()
        state.pop("_checksum", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start()
