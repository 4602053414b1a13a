"""What a cell of the study is: one way to call a verb, many times, where the truth is known."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy.stats import binom

from tests.support.simulation import covers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

SLACK = 1e-6
"""Limits are found to a few parts in a million."""
SIGNIFICANT = 1e-4
"""How rarely a cell that holds its level may look as if it did not."""


class Trial(NamedTuple):
    """What one run found: whether all of its intervals hold the truth, and its verdict."""

    held: bool
    verdict: str | None = None


@dataclass(frozen=True)
class StudyCell:
    """One way to call a verb.

    Parameters
    ----------
    verb, what
        The verb, and how it is called, in a few words.
    run
        Calls it with a seed.
    truth
        What is true, in a few words.
    wrong
        The verdict that would be wrong; None where there is no limit.
    level
        The level that is stated.
    """

    verb: str
    what: str
    run: Callable[[int], Trial]
    truth: str
    wrong: str | None = None
    level: float = 0.95

    @property
    def key(self) -> str:
        """What tells it from other cells."""
        return f"{self.verb}, {self.what}, {self.truth}"

    def simulate(
        self, runs: int, seconds: float = math.inf, earlier: Mapping[str, Any] | None = None
    ) -> Row:
        """Trial it until there are so many runs, and for so many seconds of computing at most.

        Earlier runs, as a document has them, are counted and not run again.
        """
        row = Row(self)
        if earlier is not None:
            row.runs = earlier["runs"]
            row.held = earlier["held"]
            row.verdicts.update(earlier["verdicts"])
        until = time.process_time() + seconds
        for seed in range(row.runs, runs):
            row.add(self.run(seed))
            if time.process_time() > until:
                break
        return row


@dataclass
class Row:
    """What the runs of a cell found."""

    cell: StudyCell
    runs: int = 0
    held: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)

    def add(self, run: Trial) -> None:
        """Count one run."""
        self.runs += 1
        self.held += run.held
        if run.verdict is not None:
            self.verdicts[run.verdict] += 1

    @property
    def coverage(self) -> float:
        """The share of runs whose intervals all hold."""
        return self.held / self.runs

    @property
    def wrong(self) -> int:
        """How many verdicts were wrong."""
        return self.verdicts[self.cell.wrong] if self.cell.wrong else 0

    @property
    def is_below(self) -> bool:
        """Whether the level is held by neither intervals nor verdicts, beyond chance."""
        error = 1 - self.cell.level
        misses = self.runs - self.held
        chance = min(
            binom.sf(
                misses - 1,
                self.runs,
                error,
            ),
            binom.sf(
                self.wrong - 1,
                self.runs,
                error,
            ),
        )
        return bool(chance < SIGNIFICANT)

    def document(self) -> dict[str, Any]:
        """Return the row as JSON holds it."""
        cell = self.cell
        return {
            "key": cell.key,
            "verb": cell.verb,
            "what": cell.what,
            "truth": cell.truth,
            "level": cell.level,
            "runs": self.runs,
            "held": self.held,
            "coverage": self.coverage,
            "standard_error": standard_error(self.coverage, self.runs),
            "wrong_verdict": cell.wrong,
            "wrong": self.wrong / self.runs if cell.wrong else None,
            "wrong_error": standard_error(
                self.wrong / self.runs,
                self.runs,
            ),
            "verdicts": dict(sorted(self.verdicts.items())),
            "below": self.is_below,
        }


def standard_error(share: float, runs: int) -> float:
    """Return the Monte-Carlo error of a share; near 0 and 1 that of one run more."""
    smoothed = (share * runs + 0.5) / (runs + 1)
    return math.sqrt(smoothed * (1 - smoothed) / runs)


def judged(found: Any, truths: Iterable[tuple[Any, float]]) -> Trial:
    """Return the run of a result, with pairs of estimates and what is true of them."""
    pairs = list(truths)
    assert pairs, "nothing was judged"
    held = all(covers(estimate, truth, SLACK) for estimate, truth in pairs)
    verdict = found.verdict
    return Trial(
        held,
        None if verdict is None else str(verdict),
    )
