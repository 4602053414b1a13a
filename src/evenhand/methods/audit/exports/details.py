"""Records in the details of a result: each list of mappings is a table, however deep it lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_DEEP = 4
"""How deep lists of records may lie in each other."""
_RATE = frozenset({"value", "low", "high", "n", "level", "method"})
"""The keys of an estimate in JSON."""


@dataclass
class RecordTable:
    """Records of one kind, flat, and which of their keys are shares."""

    name: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    shares: set[str] = field(default_factory=set)


def records_in(details: Mapping[str, Any]) -> list[RecordTable]:
    """Return the records in the details of a result, those of one kind together.

    >>> sets = [{"over": ["sex"], "groups": [{"about": {"sex": "F"}, "n": 3}]}]
    >>> for records in records_in({"tables": sets}):
    ...     print(records.name, records.rows)
    tables [{'over': ['sex']}]
    tables groups [{'tables': 1, 'about.sex': 'F', 'n': 3}]
    """
    found: dict[str, RecordTable] = {}
    for key, value in details.items():
        _gather(found, key, value, {}, MOST_DEEP)
    return list(found.values())


def _gather(
    found: dict[str, RecordTable],
    name: str,
    value: Any,
    place: Mapping[str, int],
    left: int,
) -> None:
    """Add the records in a value; `place` says in which records it lies."""
    if not left:
        return
    if isinstance(value, Mapping):
        if _is_estimate(value):
            return
        for key, inner in value.items():
            _gather(found, f"{name} {key}", inner, place, left - 1)
    elif _are_records(value):
        records = found.setdefault(name, RecordTable(name))
        for number, record in enumerate(value, start=1):
            records.rows.append({**place, **_flat(record, records.shares)})
            inside = {**place, name: number}
            for key, inner in record.items():
                if _are_records(inner):
                    _gather(found, f"{name} {key}", inner, inside, left - 1)


def _are_records(value: Any) -> bool:
    """Return whether a value is a list of mappings."""
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(record, Mapping) for record in value)


def _is_estimate(value: Any) -> bool:
    return isinstance(value, Mapping) and value.keys() >= _RATE


def _flat(record: Mapping[str, Any], shares: set[str]) -> dict[str, Any]:
    """Return a record without mappings in it: their keys follow its own, after a period.

    Tables within it are left out; lists of lists, which are drawings, as well.
    """
    flat = {}
    for name, value in _pairs(record, "", shares):
        flat[name] = value
    return flat


def _pairs(
    record: Mapping[str, Any], before: str, shares: set[str]
) -> Iterator[tuple[str, Any]]:
    if _is_estimate(record) and record.get("unit", Estimate.unit) == Estimate.unit:
        shares.update(f"{before}{key}" for key in ("value", "low", "high"))
    for key, value in record.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            yield from _pairs(value, f"{name}.", shares)
        elif _is_plain(value):
            yield name, value


def _is_plain(value: Any) -> bool:
    """Return whether a value fits into a cell: no list of lists or of mappings."""
    if not isinstance(value, list | tuple):
        return True
    return not any(_is_nested(part) for part in value)


def _is_nested(part: Sequence[Any] | Any) -> bool:
    return isinstance(part, list | tuple | Mapping)
