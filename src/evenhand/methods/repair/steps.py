"""The parts of a repair: one step, and one score before and after."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.paired import fall_alone, paired
from evenhand.statistics.estimate import Amount, Estimate, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REPAIRED, NOTHING, NO_HELP = "repaired", "nothing to repair", "no step helped"
OUTCOMES = (REPAIRED, NOTHING, NO_HELP)
"""How a repair may end."""
AIM = "aim"
"""The axis that a repair is about; the other axes of its comparisons are named after their scores.
"""
ALL = ", all inputs"
"""Ends the name of a check over features of inputs drawn from all there are."""
INPUTS = "inputs"
"""The kind of the check over all inputs, where the claim is of people."""
KINDS = ("aim", "inputs", "people", "other", "subgroup", "group", "performance")
"""What a check is about: the claim itself, the same over all inputs, single people where the claim
is of a subgroup, other protected features, subgroups, groups, performance.
"""

# How a score has changed: clearly for better or for worse, not at all, perhaps, or with no interval
# of the change.
BETTER = "better"
WORSE = "worse"
SAME = "no change"
UNSURE = "not sure"
OPEN = "not judged"


@dataclass(frozen=True)
class Step:
    """One retraining: how much was added, what that changed, and whether it was kept."""

    number: int
    percent: float
    """How many percent of the training rows were added, or had their twins added."""
    added: int
    change: PairedChange
    """From the model that was the best so far to this one, on inputs that nothing else has used."""
    accuracy: float
    """On validation rows; for numbers, R²."""
    kept: bool
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return the step as JSON-ready values."""
        table: dict[str, Any] = {}
        for key in ("number", "percent", "added", "accuracy", "kept", "why"):
            table[key] = getattr(self, key)
        table["change"] = self.change.to_dict()
        return table

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Step:
        """Return the step that `to_dict` wrote."""
        values = dict(table)
        values["change"] = PairedChange.from_dict(table["change"])
        return cls(**values)


@dataclass(frozen=True)
class RepairCheck:
    """A score before and after, on what no step has used.

    `change` is after minus before, where it has an interval.
    """

    name: str
    kind: str
    before: Estimate
    after: Estimate
    change: Estimate | None = None
    detail: str = ""
    about: tuple[str, ...] = ()
    """The other protected features that the check is about, where it is about any."""

    @classmethod
    def of(
        cls, name: str, kind: str, change: PairedChange, about: tuple[str, ...] = ()
    ) -> RepairCheck:
        """Return the check of a score that was found on the same inputs before and after."""
        fall = change.fall
        # A rise is a fall with its sign turned, and so are its limits; 0.0 - x is never -0.0.
        rise = Amount(
            value=0.0 - fall.value,
            low=0.0 - fall.high,
            high=0.0 - fall.low,
            n=fall.n,
            level=fall.level,
            method=fall.method,
        )
        return cls(name, kind, change.before, change.after, rise, about=about)

    @classmethod
    def right(
        cls, predictions: Sequence[Any], truth: Any, *, level: float, population: str
    ) -> RepairCheck:
        """Return the accuracy before and after, from both models' predictions of the same rows.

        >>> import numpy as np
        >>> truth = np.array(["no", "yes"] * 50)
        >>> predictions = [np.array(["no"] * 100), truth]
        >>> found = RepairCheck.right(predictions, truth, level=0.95, population="people")
        >>> found.before.value, found.after.value, found.change.low > 0
        (0.5, 1.0, True)
        """
        # The paired limits are of shares that are to fall, so errors are counted instead.
        wrong_before = predictions[0] != truth
        wrong_after = predictions[1] != truth
        error = paired(wrong_before, wrong_after, level=level, population=population)
        before = _complement(error.before)
        after = _complement(error.after)
        # A verdict rests on the change, so it has the whole error to itself.
        change = fall_alone(wrong_before, wrong_after, level=level)
        return cls("accuracy", "performance", before, after, change)

    @property
    def rose(self) -> bool:
        """Whether the score has clearly become larger."""
        return self.change is not None and self.change.low > 0

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON-ready values."""
        change = None
        if self.change is not None:
            change = self.change.to_dict()
        table: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "change": change,
            "detail": self.detail,
        }
        if self.about:
            table["about"] = list(self.about)
        return table

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> RepairCheck:
        """Return the check that `to_dict` wrote."""
        change = None
        if table["change"] is not None:
            change = Estimate.from_dict(table["change"])
        return cls(
            name=table["name"],
            kind=table["kind"],
            before=Estimate.from_dict(table["before"]),
            after=Estimate.from_dict(table["after"]),
            change=change,
            detail=table["detail"],
            about=tuple(table.get("about", ())),
        )


def tolerated(change: Estimate | None, tolerance: float) -> Verdict:
    """Return whether performance fell by no more than is tolerated: the whole interval counts.

    >>> from evenhand.statistics.estimate import Amount
    >>> change = Amount(0.0, -0.02, 0.02, 900, 0.95, "paired melded")
    >>> tolerated(change, 0.03).value, tolerated(change, 0.01).value, tolerated(None, 0.01).value
    ('pass', 'undecided', 'undecided')
    """
    if change is None or math.isnan(change.value):
        return Verdict.UNDECIDED
    if change.low >= -tolerance:
        return Verdict.PASS
    if change.high < -tolerance:
        return Verdict.FAIL
    return Verdict.UNDECIDED


def judged(check: RepairCheck) -> str:
    """Return how a score has changed, as far as the interval of its change can tell.

    >>> from evenhand.statistics.estimate import Amount, Estimate
    >>> before = Estimate(0.2, 0.1, 0.3, 99, 0.95, "exact")
    >>> after = Estimate(0.1, 0.0, 0.2, 99, 0.95, "exact")
    >>> less = Amount(-0.1, -0.15, -0.05, 99, 0.95, "paired")
    >>> judged(RepairCheck("sex", "aim", before, after, less))
    'better'
    >>> judged(RepairCheck("f1", "performance", before, after, less))
    'worse'
    """
    change = check.change
    if math.isnan(check.before.value) or math.isnan(check.after.value):
        return OPEN
    if change is None:
        return SAME if check.before == check.after else OPEN
    if change.low == change.high == 0:
        return SAME
    if change.low <= 0 <= change.high:
        return UNSURE
    return BETTER if check.rose == (check.kind == "performance") else WORSE


def _complement(share: Estimate) -> Estimate:
    """Return the estimate of one minus a share."""
    return Estimate(
        value=1 - share.value,
        low=1 - share.high,
        high=1 - share.low,
        n=share.n,
        level=share.level,
        method=share.method,
        population=share.population,
    )
