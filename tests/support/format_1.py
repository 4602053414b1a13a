"""Documents of format 1 of single verbs, as evenhand wrote them, and their texts of that time."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evenhand.results.reading import evidence_of

if TYPE_CHECKING:
    from evenhand.results.protocol import Evidence

OLD: dict[str, Any] = json.loads(
    (Path(__file__).parent / "data" / "format-1-methods.json").read_text(encoding="utf-8")
)
"""Documents by the run that made them; the frames hold ten decimals."""


def runs_of(verb: str) -> list[str]:
    """Return the names of the runs of a verb."""
    return [name for name in OLD if name.startswith(verb)]


def read_old(name: str) -> Evidence:
    """Read a document of format 1, and check that it says, gates and is kept as it should."""
    old = OLD[name]
    document = old["document"]
    assert document["format"] == 1
    found = evidence_of(document, where=name)
    assert str(found) == old["text"]
    assert (found.job, found.verdict, found.seed) == (
        document["job"],
        document["verdict"],
        document["seed"],
    )
    assert list(found.notes) == document["notes"]
    assert dict(found.versions) == document["versions"]
    _check_frame(found.to_frame(), old["frame"])
    table = json.loads(found.to_json())
    assert table["format"] == 2
    again = evidence_of(table, where=name)
    assert type(again) is type(found)
    assert again.digest == found.digest
    assert again.to_json() == found.to_json()
    assert again.to_text() == found.to_text()
    return found


def _check_frame(frame: Any, rows: list[dict[str, Any]]) -> None:
    assert list(frame.columns) == list(rows[0])
    assert len(frame) == len(rows)
    for found, row in zip(frame.to_dict("records"), rows, strict=True):
        for column, value in row.items():
            if value is None:
                assert found[column] is None or math.isnan(found[column])
            elif isinstance(value, float):
                assert found[column] == pytest.approx(value, abs=1e-9)
            else:
                assert found[column] == value
