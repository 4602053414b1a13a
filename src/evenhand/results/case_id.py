"""The id of a case: what names the same two inputs in a report, a command and the next run."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from evenhand.results.json_values import json_values
from evenhand.results.remarks_text import NO_SUCH_CASE, SEVERAL_CASES
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenhand.results.evidence import Case

DIGITS = 8
"""How many hex digits an id has."""


def case_id(case: Case) -> str:
    """Return the id of a case, which is made of its two inputs alone.

    >>> from evenhand.results.evidence import Case
    >>> case_id(Case({"sex": "F", "age": 30}, {"sex": "M", "age": 30}, ("no", "yes")))
    '21dde41a'
    >>> case_id(Case({"age": 30, "sex": "F"}, {"age": 30, "sex": "M"}, ("yes", "yes")))
    '21dde41a'
    """
    text = canonical(case)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:DIGITS]


def whole_id(beginning: str, cases: Iterable[Case]) -> str:
    """Return the id of the only case whose id begins like this; raise an error where none does.

    >>> from evenhand.results.evidence import Case
    >>> whole_id("21D", [Case({"sex": "F", "age": 30}, {"sex": "M", "age": 30}, ("no", "yes"))])
    '21dde41a'
    """
    ids = list(dict.fromkeys(case_id(case) for case in cases))
    wanted = beginning.strip().lower()
    found = [one for one in ids if one.startswith(wanted)]
    if not found:
        text = clip(beginning, 60)
        raise UsageError(NO_SUCH_CASE.format(case=text, choices=nearest(wanted, ids)))
    if len(found) > 1:
        some = clip(", ".join(found), 100)
        raise UsageError(SEVERAL_CASES.format(case=wanted, cases=some))
    return found[0]


def canonical(case: Case) -> str:
    """Return the two inputs of a case as JSON that is the same for equal inputs.

    >>> from evenhand.results.evidence import Case
    >>> canonical(Case({"sex": "F"}, {"sex": "M"}, ("no", "yes")))
    '{"individual":{"sex":"F"},"twin":{"sex":"M"}}'
    """
    inputs = {
        "individual": _as_written(case.individual),
        "twin": _as_written(case.twin),
    }
    return json.dumps(inputs, sort_keys=True, separators=(",", ":"), default=str)


def _as_written(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input with the values that a file of results would hold of it."""
    values = {name: plain(value) for name, value in record.items()}
    return json_values(values)
