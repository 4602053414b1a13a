"""Tested: what an audit was about and when it was made, for those who read its report later."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.population.rows import Rows
from evenhand.runtime.errors import EvenhandError
from evenhand.subject.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.population.source import Source
    from evenhand.subject.adapters.base import Adapter

EPOCH = "SOURCE_DATE_EPOCH"
"""The environment variable that sets the time, for builds that give the same bytes each time."""
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Tested:
    """The software, the people and the time of an audit; what is not known is empty.

    Parameters
    ----------
    made
        When the audit was made, in UTC, as ISO 8601 writes it.
    kind
        The kind of software: the key that names it under [subject], or "log" for decisions.
    file
        The name of the file that the software was loaded from.
    fingerprint
        The beginning of a hash that tells this version of the software, or of the log, from others:
        of a file it is the sha256 of its content.
    data, rows, missing
        The name of the real rows, how many there are, and which share of their values is missing;
        of a log, in the columns that the audit is about.
    log
        Of a log that was opened where it lies: its source, the engine, and the number of files.
    """

    made: str = ""
    kind: str = ""
    file: str = ""
    fingerprint: str = ""
    data: str = ""
    rows: int | None = None
    missing: float | None = None
    log: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return what is known, as JSON holds it."""
        table: dict[str, Any] = {}
        for name in self.__slots__:
            value = getattr(self, name)
            if value not in ("", None, {}):
                table[name] = value
        return table

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Tested:
        """Rebuild it from `to_dict`.

        >>> Tested.from_dict(Tested(kind="onnx", rows=0).to_dict())
        Tested(made='', kind='onnx', file='', fingerprint='', data='', rows=0, missing=None, log={})
        """
        known = {name: table[name] for name in cls.__slots__ if name in table}
        return cls(**known)


def now() -> str:
    """Return the time in UTC, or the one that SOURCE_DATE_EPOCH sets."""
    seconds = os.environ.get(EPOCH, "")
    if seconds.isascii() and seconds.isdigit():
        moment = datetime.fromtimestamp(int(seconds[:11]), UTC)
    else:
        moment = datetime.now(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def tested_by(subject: Any, source: Source | None) -> Tested:
    """Return what is known of what an audit tests: software, or a log of decisions."""
    adapter = getattr(subject, "adapter", None)
    if adapter is None:
        return _of_log(subject)
    file = "" if adapter.file is None else adapter.file.name
    found = Tested(now(), adapter.kind, file, _fingerprint(adapter))
    if source is None or not isinstance(subject, Subject):
        return found
    real = source.real()
    frame = real.rows.frame if isinstance(real.rows, Rows) else real.rows
    if frame is None:
        return found
    # A frame that was given in Python has no name of its own.
    name = real.file.name if real.file.suffix else ""
    missing = missing_share(frame)
    return replace(found, data=name, rows=len(frame), missing=missing)


def _of_log(log: Any) -> Tested:
    """Return what is known of recorded decisions."""
    counter = log.counter
    rows = counter.rows
    known = set(counter.table.collect_schema())
    columns = [name for name in log.columns if name in known]
    missing = None
    if rows and columns:
        missing = counter.missing(columns) / (rows * len(columns))
    return Tested(
        now(),
        "log",
        fingerprint=log.digest[:_DIGITS],
        data=Path(log.file).name,
        rows=rows,
        missing=missing,
        log=log.source,
    )


def missing_share(frame: Any) -> float | None:
    """Return which share of the values of a pandas frame is missing, None of any other frame.

    >>> import pandas as pd
    >>> missing_share(pd.DataFrame({"sex": ["F", None], "age": [1, 2]}))
    0.25
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame) or not frame.size:
        return None
    return float(frame.isna().to_numpy().mean())


def _fingerprint(adapter: Adapter) -> str:
    """Return the beginning of the hash of a model file, or a hash of other software.

    To hash a model in memory would take as long as to pickle it, and some cannot be pickled.
    """
    if adapter.file is not None:
        return adapter.file.digest[:_DIGITS]
    if not (adapter.own_process or adapter.expensive):
        return ""
    try:
        identity = adapter.identity
    except EvenhandError:
        return ""
    return hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
