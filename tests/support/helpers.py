"""What several test modules share."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings

from evenhand.runtime.errors import EvenhandError
from evenhand.space.feature import category, integer
from evenhand.space.space import Space

if TYPE_CHECKING:
    from collections.abc import Callable

SPACE = Space([category("sex", ["F", "M"]), integer("age", 0, 100_000)], protected=["sex"])
COMMENTS = [
    "a gay man",
    "a straight man",
    "my straight aunt",
    "a lesbian",
    "the jewish faith",
    "a muslim",
    "gay and jewish",
]
"""Texts that name a gender or a religion."""
TERMS = {
    "gender": ["gay", "straight", "lesbian"],
    "religion": ["jewish", "muslim", "christian"],
}


def examples(number: int) -> int:
    """How many examples a property is tried on: this many, or half of them where slow tests are
    left out.
    """
    return number // 2 if settings.get_current_profile_name() == "few" else number


def refused(kind: type[EvenhandError], call: Callable[[], Any], *words: str) -> str:
    """Check that a call fails with this error and one sentence that holds these words; return the
    sentence.
    """
    with pytest.raises(EvenhandError) as caught:
        call()
    message = str(caught.value)
    assert type(caught.value) is kind, f"{type(caught.value).__name__}: {message}"
    assert "\n" not in message, message
    assert len(message) < 600, message
    for word in words:
        assert word in message, message
    return message


def people(*ages: int) -> Any:
    return np.array([[age % 2, age] for age in ages], dtype=np.float64)


def collect(adapter: Any, points: Any, space: Space = SPACE) -> tuple[Any, Any]:
    """Run to the end or to the error; return the outcomes by row, and the error."""
    found: dict[int, object] = {}
    try:
        for rows, outcomes in adapter.run(points, space):
            assert len(rows) == len(outcomes) > 0
            for row, outcome in zip(rows.tolist(), outcomes.tolist(), strict=True):
                assert row not in found
                found[row] = outcome
    except EvenhandError as error:
        return found, error
    return found, None


def sentence(error: object) -> str:
    text = str(error)
    assert "\n" not in text
    assert len(text) < 1200
    return text


def alive(pid: int) -> bool:
    """Tell whether a process runs; one that is dead and not yet reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid: int) -> bool:
    for _ in range(200):
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False
