"""The store of a study: every finished unit in one SQLite file, to resume a killed study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import LedgerError, clip
from evenhand.runtime.table_file import beside
from evenhand.subject.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike
    from typing import Self

Key = tuple[str, str, int]
"""A unit of work: the data set, the model (or the method that has its own) and the split."""

_OF_STUDIES = "evenhand study 1"
_FACTS = b"study"
_SHOWN_DIFFERENCES = 3
"""How many differences between two studies an error names."""


class Store:
    """Finished units of one study, kept in the file `path` under what is known of the study.

    A file that holds another study is an error: `facts` says what a study is, and all of it must be
    the same.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Store(f"{folder}/a.sqlite", {"seed": 0}) as store:
    ...         store.keep(("german", "LR", 0), [1, 2])
    ...         store.finished([("german", "LR", 0), ("german", "LR", 1)])
    ...     with Store(f"{folder}/a.sqlite", {"seed": 1}) as store:
    ...         pass
    Traceback (most recent call last):
    evenhand.runtime.errors.LedgerError: ... holds another study: its seed is 0, not 1; ...
    """

    def __init__(
        self, path: str | PathLike[str], facts: Mapping[str, Any] | None = None
    ) -> None:
        self.path = Path(path)
        if facts is None and not self.path.is_file():
            others = beside(self.path, (self.path.suffix,))
            raise LedgerError(f"the store '{path}' does not exist; {others}")
        self._ledger = Ledger(path, space=_OF_STUDIES, subject=_OF_STUDIES)
        known = self._ledger.known([_FACTS])
        if facts is not None and not known:
            self._ledger.record([_FACTS], [_as_text(facts)])
            known = self._ledger.known([_FACTS])
        if not known:
            raise LedgerError(
                f"the store '{path}' holds no study yet; run one with this store first"
            )
        self.facts: dict[str, Any] = json.loads(str(known[_FACTS]))
        if facts is not None:
            self._check_same_study(facts)

    def _check_same_study(self, facts: Mapping[str, Any]) -> None:
        """Raise an error if the file holds another study than the one with these facts."""
        # Through JSON and back, as the facts in the file: tuples have become lists there.
        facts_as_stored = json.loads(_as_text(facts))
        differences = _differences(self.facts, facts_as_stored)
        if not differences:
            return
        text = ", ".join(differences[:_SHOWN_DIFFERENCES])
        more = len(differences) - _SHOWN_DIFFERENCES
        if more > 0:
            text += f" and {more} more"
        raise LedgerError(
            f"the store '{self.path}' holds another study: {text}; name another store, or delete"
            " this one to start over"
        )

    def __len__(self) -> int:
        """Return how many units are finished."""
        return len(self._ledger) - 1

    def __bool__(self) -> bool:
        return True

    def finished(self, units: Sequence[Key]) -> dict[Key, Any]:
        """Return what was kept of those units that are finished."""
        units_by_key = {_as_key(unit): unit for unit in units}
        known = self._ledger.known(list(units_by_key))
        finished = {}
        for key, text in known.items():
            finished[units_by_key[key]] = json.loads(str(text))
        return finished

    def keep(self, unit: Key, found: Any) -> None:
        """Write down what a unit found, at once."""
        self._ledger.record([_as_key(unit)], [_as_text(found)])

    def close(self) -> None:
        """Close the file."""
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _as_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _as_key(unit: Key) -> bytes:
    return _as_text(unit).encode()


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what differs between two studies, in words."""
    found = []
    fields = before.keys() | now.keys()
    for field in sorted(fields):
        old = before.get(field)
        new = now.get(field)
        if isinstance(old, dict) and isinstance(new, dict):
            found += _differing_parts(field.removesuffix("s"), old, new)
        elif old != new:
            old_text = clip(repr(old), 40)
            new_text = clip(repr(new), 40)
            found.append(f"its {field} is {old_text}, not {new_text}")
    return found


def _differing_parts(
    part: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> list[str]:
    """Return what differs between parts by name, such as data sets, models and versions."""
    found = []
    for name in _without(new, old):
        found.append(f"it has no {part} {name!r}")
    for name in _without(old, new):
        found.append(f"it has the {part} {name!r}, too")
    for name in old:
        if name not in new or old[name] == new[name]:
            continue
        # A version is a text to show; a data set, model or method has a digest that says nothing.
        if isinstance(old[name], str):
            found.append(f"its {part} {name!r} is {old[name]}, not {new[name]}")
        else:
            found.append(f"its {part} {name!r} is another")
    return found


def _without(names: Iterable[str], others: Mapping[str, Any]) -> list[str]:
    return [name for name in names if name not in others]
