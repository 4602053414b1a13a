"""The store of a study: every finished unit in one SQLite file, so that a killed study goes on
where it was.
"""

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


class Store:
    """Finished units of one study, kept in the file `path` under what is known of the study.

    A file that holds another study is refused: `facts` says what a study is, and all of it must be
    the same.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Store(f"{folder}/a.sqlite", {"seed": 0}) as store:
    ...         store.keep(("german", "LR", 0), [1, 2])
    ...         store.finished([("german", "LR", 0), ("german", "LR", 1)])
    ...     with Store(f"{folder}/a.sqlite", {"seed": 1}) as store:
    ...         pass
    Traceback (most recent call last):
    evenhand.runtime.errors.LedgerError: ... holds another study: its seed is 0, not 1; name another store, ...
    """

    def __init__(self, path: str | PathLike[str], facts: Mapping[str, Any] | None = None) -> None:
        self.path = Path(path)
        if facts is None and not self.path.is_file():
            raise LedgerError(
                f"the store '{path}' does not exist; {beside(self.path, (self.path.suffix,))}"
            )
        self._ledger = Ledger(path, space=_OF_STUDIES, subject=_OF_STUDIES)
        known = self._ledger.known([_FACTS])
        if facts is not None and not known:
            self._ledger.record([_FACTS], [_text(facts)])
            known = self._ledger.known([_FACTS])
        if not known:
            raise LedgerError(
                f"the store '{path}' holds no study yet; run one with this store first"
            )
        self.facts: dict[str, Any] = json.loads(str(known[_FACTS]))
        if facts is not None and (differ := _differences(self.facts, json.loads(_text(facts)))):
            more = f" and {len(differ) - 3} more" if len(differ) > 3 else ""
            raise LedgerError(
                f"the store '{path}' holds another study: {', '.join(differ[:3])}{more}; name"
                " another store, or delete this one to start over"
            )

    def __len__(self) -> int:
        """Return how many units are finished."""
        return len(self._ledger) - 1

    def __bool__(self) -> bool:
        return True

    def finished(self, units: Sequence[Key]) -> dict[Key, Any]:
        """Return what was kept of those units that are finished."""
        keys = {_text(unit).encode(): unit for unit in units}
        return {
            keys[key]: json.loads(str(kept)) for key, kept in self._ledger.known(list(keys)).items()
        }

    def keep(self, unit: Key, found: Any) -> None:
        """Write down what a unit found, at once."""
        self._ledger.record([_text(unit).encode()], [_text(found)])

    def close(self) -> None:
        """Close the file."""
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what differs between two studies, in words: parts by name have a digest, all else is a
    value.
    """
    found = []
    for field in sorted(before.keys() | now.keys()):
        old, new = before.get(field), now.get(field)
        if not isinstance(old, dict) or not isinstance(new, dict):
            if old != new:
                found.append(f"its {field} is {clip(repr(old), 40)}, not {clip(repr(new), 40)}")
            continue
        one = field.removesuffix("s")
        found += [f"it has no {one} {name!r}" for name in _without(new, old)]
        found += [f"it has the {one} {name!r}, too" for name in _without(old, new)]
        for name in (name for name in old if name in new and old[name] != new[name]):
            said = isinstance(old[name], str)
            found.append(
                f"its {one} {name!r} is {f'{old[name]}, not {new[name]}' if said else 'another'}"
            )
    return found


def _without(these: Iterable[str], those: Mapping[str, Any]) -> list[str]:
    return [name for name in these if name not in those]
