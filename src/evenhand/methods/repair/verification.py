"""What a repair changed, on rows and inputs that no step has used: the claim itself, and what else
it did.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare.compare import compare
from evenhand.methods.mine.mine import mine
from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.paired import hits, paired
from evenhand.methods.repair.steps import AIM, ALL, RepairCheck
from evenhand.population.samplers import Draws, Uniform
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError
from evenhand.scores.enumeration import SMALL
from evenhand.statistics.estimate import Amount, Estimate
from evenhand.subject.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.compare.comparison import Comparison
    from evenhand.methods.repair.training import LabelledRows
    from evenhand.space.space import Space
    from evenhand.subject.subject import Subject

OTHERS = 20_000
"""The most inputs by which other protected features are checked."""
FEW = 12
"""Up to how many values a number may have for groups to be formed by each of them."""
GROUP_BIASES = ("spd", "aod", "eod")
SMALLEST = 0.02
"""Groups with a smaller share of the held-out rows are not compared: their rates are chance, or
undefined.
"""
ORIGINAL, MENDED = "original", "repaired"
PEOPLE = "people like the held-out rows"


def claimed(
    before: Subject, after: Subject, names: tuple[str, ...], n: int, *, level: float, seed: int
) -> PairedChange:
    """Return how the share of discriminatory inputs changed: among all there are if these are few,
    else among n.
    """
    space, exact = before.space, before.space.size <= SMALL
    points = (
        space.enumerate()
        if exact
        else Draws(Uniform(), space, seed, "repair", "claim", *names).take(0, n)
    )
    old = hits(View(before), names, points)
    new = old if after is before else hits(View(after), names, points)
    change = paired(old, new, level=level, population=Uniform().population(space), exact=exact)
    return PairedChange.none(change.before) if after is before else change


@dataclass(frozen=True, eq=False)
class HeldOutChecks:
    """Checks a repaired model against its original on held-out rows."""

    before: Subject
    after: Subject
    names: tuple[str, ...]
    """The features that the repair is about."""
    test: LabelledRows
    change: PairedChange
    """The claim."""
    level: float
    seed: int
    regression: bool
    notes: list[str] = field(default_factory=list)

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.before.space

    def told(self, aim: str) -> tuple[tuple[RepairCheck, ...], dict[str, Comparison]]:
        """Return all that was checked, and where the repair stands by each bias; `aim` is what it
        is about.
        """
        told = [one.decide(self.test.points) for one in (self.before, self.after)]
        comparisons: dict[str, Comparison] = {}
        aimed = {ORIGINAL: self.change.before, MENDED: self.change.after}
        if self.regression:
            self._numbers(told, aimed, comparisons)
            performance = [_score("r2", self.test.truth, told, comparisons.get(AIM))]
        else:
            self._compared(AIM, told, comparisons, bias=aimed)
            performance = [self._accuracy(told)]
        checks = [RepairCheck.of(aim, AIM, self.change), *self._people(), *self._others()]
        if not self.regression:
            checks += [*self._worst(told, comparisons), *self._groups(told, comparisons)]
            performance += self._f1(told)
        return (*checks, *performance), comparisons

    def plain(self, aim: str) -> tuple[tuple[RepairCheck, ...], dict[str, Comparison]]:
        """Return what there is to tell of a model that was left as it is."""
        told = [self.before.decide(self.test.points)] * 2
        last = (
            _score("r2", self.test.truth, told, None) if self.regression else self._accuracy(told)
        )
        return (RepairCheck.of(aim, AIM, self.change), last), {}

    def _accuracy(self, told: Sequence[NDArray[Any]]) -> RepairCheck:
        return RepairCheck.right(told, self.test.truth, level=self.level, population=PEOPLE)

    def _numbers(
        self, told: Sequence[NDArray[Any]], aimed: dict[str, Estimate], into: dict[str, Comparison]
    ) -> None:
        from evenhand.methods.compare.regression import compare_numbers

        predicted = dict(zip((ORIGINAL, MENDED), told, strict=True))
        try:
            into[AIM] = compare_numbers(
                self.test.truth, predicted, aimed, level=self.level, seed=self.seed
            )
        except UsageError as error:
            self.notes.append(f"not compared with giving up accuracy: {error}")

    def _compared(
        self, axis: str, told: Sequence[NDArray[Any]], into: dict[str, Comparison], **options: Any
    ) -> None:
        predicted = dict(zip((ORIGINAL, MENDED), told, strict=True))
        try:
            into[axis] = compare(
                predicted, self.test.truth, level=self.level, seed=self.seed, **options
            )
        except UsageError as error:
            self.notes.append(f"not compared with giving up accuracy by {axis}: {error}")

    def _people(self) -> list[RepairCheck]:
        if not any(self.space.feature(name).passed for name in self.names):
            return []
        found = [hits(View(one), self.names, self.test.points) for one in (self.before, self.after)]
        change = paired(*found, level=self.level, population=PEOPLE)
        return [RepairCheck.of(f"{' and '.join(self.names)}, held-out people", "people", change)]

    def _others(self) -> list[RepairCheck]:
        """Check whether discrimination has moved to another protected feature; all of these hold
        together.
        """
        others = [
            name
            for name in self.space.protected
            if name not in self.names and self.space.feature(name).passed
        ]
        level = 1 - (1 - self.level) / max(len(others), 1)
        n = min(OTHERS, self.change.before.n) if self.change.before.level < 1 else OTHERS
        return [
            RepairCheck.of(
                f"{name}{ALL}",
                "other",
                claimed(self.before, self.after, (name,), n, level=level, seed=self.seed),
                (name,),
            )
            for name in others
        ]

    @property
    def _sided(self) -> bool:
        """Whether it is known which label is favourable."""
        return View(self.before).positive is not None

    def _worst(self, told: Sequence[NDArray[Any]], into: dict[str, Comparison]) -> list[RepairCheck]:
        """Check the worst subgroup of held-out people, whichever that is before and after."""
        if not self._sided:
            self.notes.append(
                "which label is favourable is not known, so that no groups are compared; pass"
                " positive=…"
            )
            return []
        people = self.space.decode(self.test.points)
        over = list(dict.fromkeys([*self.space.protected, *self.names]))
        level = 1 - (1 - self.level) / 2
        try:
            found = [
                mine(
                    one,
                    data=people,
                    over=over,
                    treatment="rows",
                    level=level,
                    seed=self.seed,
                    progress=False,
                ).worst
                for one in (self.before, self.after)
            ]
        except UsageError as error:
            self.notes.append(f"no subgroups were compared: {error}")
            return []
        self._compared(
            "worst subgroup",
            told,
            into,
            bias={ORIGINAL: found[0].estimate, MENDED: found[1].estimate},
        )
        detail = f"before: {found[0].about}; after: {found[1].about}"
        return [
            RepairCheck("worst subgroup", "subgroup", found[0].estimate, found[1].estimate, None, detail)
        ]

    def _groups(self, told: Sequence[NDArray[Any]], into: dict[str, Comparison]) -> list[RepairCheck]:
        labels = self.space.labels(self.test.points)
        columns = {}
        for name in self.names:
            if self.space.feature(name).kind != "category" and len(set(labels[name])) > FEW:
                self.notes.append(f"{name} has too many values to compare the groups of each")
            else:
                columns[name] = labels[name]
        if not columns or not self._sided:
            return []
        if _rarest(columns) < SMALLEST:
            under = number_text.percent_plain(SMALLEST)
            self.notes.append(
                f"groups of under {under} of the held-out rows are left out of"
                f" {', '.join(GROUP_BIASES)}"
            )
        checks = []
        for bias in GROUP_BIASES:
            self._compared(
                bias,
                told,
                into,
                protected=columns,
                bias=bias,
                positive=self._label,
                support=SMALLEST,
            )
            if bias in into:
                checks.append(
                    RepairCheck(bias, "group", into[bias].start[1], into[bias].standings[0].bias)
                )
        return checks

    @property
    def _label(self) -> Any:
        """The favourable label, where it is one."""
        known = np.unique(self.test.truth)
        good = known[View(self.before).favourable(known)].tolist() if self._sided else []
        return good[0] if len(good) == 1 else None

    def _f1(self, told: Sequence[NDArray[Any]]) -> list[RepairCheck]:
        if self._label is None:
            return []
        found: dict[str, Comparison] = {}
        aimed = {ORIGINAL: self.change.before, MENDED: self.change.after}
        self._compared("f1", told, found, bias=aimed, performance="f1", positive=self._label)
        if "f1" not in found:
            return []
        return [
            RepairCheck("f1", "performance", found["f1"].start[0], found["f1"].standings[0].performance)
        ]


def _rarest(columns: dict[str, Any]) -> float:
    """Return the share of rows in the smallest group."""
    import pandas as pd

    return float(pd.DataFrame(columns).value_counts(normalize=True).min())


def _score(
    name: str, truth: NDArray[Any], told: Sequence[NDArray[Any]], found: Comparison | None
) -> RepairCheck:
    """Check R², with limits where the models could be compared."""
    if found is not None:
        return RepairCheck(name, "performance", found.start[0], found.standings[0].performance)
    from sklearn.metrics import r2_score

    plain = [float(r2_score(truth, one)) for one in told]
    before, after = (
        Amount(value, value, value, len(truth), 1.0, "of the held-out rows") for value in plain
    )
    return RepairCheck(name, "performance", before, after)
