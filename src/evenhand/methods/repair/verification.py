"""What a repair changed, on rows and inputs that no step has used.

That is the claim itself, and everything else that the repair did.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare.compare import compare
from evenhand.methods.mine.mine import mine
from evenhand.methods.mine.table import worst_rule
from evenhand.methods.repair import messages
from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.paired import hits, paired
from evenhand.methods.repair.steps import AIM, ALL, INPUTS, RepairCheck
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
    from evenhand.methods.repair.rows import LabelledRows
    from evenhand.results.evidence import Finding
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.subject import Subject

    Predictions = Sequence[NDArray[Any]]
    """Of the original and of the repaired model, for the same rows."""
    Checked = tuple[tuple[RepairCheck, ...], dict[str, Comparison]]
    """All scores before and after, and where the repair stands by each bias."""

OTHERS = 20_000
"""The most inputs by which other protected features are checked."""
FEW = 12
"""Up to how many values a number may have for groups to be formed by each of them."""
GROUP_BIASES = ("spd", "aod", "eod")
SMALLEST = 0.02
"""Groups with a smaller share of the held-out rows are not compared: their rates are chance, or
undefined.
"""
ORIGINAL = "original"
MENDED = "repaired"
PEOPLE = messages.POPULATION_HELD_OUT


def claimed(
    before: Subject,
    after: Subject,
    names: tuple[str, ...],
    n: int,
    *,
    level: float,
    seed: int,
) -> PairedChange:
    """Return how the share of discriminatory inputs changed.

    Where there are few inputs, it is that among all of them, and else among n that are drawn.
    """
    space = before.space
    exact = space.size <= SMALL and space.even
    if exact:
        points = space.enumerate()
    else:
        draws = Draws(Uniform(), space, seed, "repair", "claim", *names)
        points = draws.take(0, n)
    old = hits(View(before), names, points)
    unchanged = after is before
    new = old if unchanged else hits(View(after), names, points)
    population = Uniform().population(space)
    change = paired(old, new, level=level, population=population, exact=exact)
    if unchanged:
        return PairedChange.none(change.before)
    return change


def changed_for_people(
    before: Subject, after: Subject, names: tuple[str, ...], people: Points, *, level: float
) -> PairedChange | None:
    """Return how the share of people whose outcome depends on some features changed.

    None where the models are passed none of these features, so that nobody's outcome can.
    """
    space = before.space
    if not any(space.feature(name).passed for name in names):
        return None
    old = hits(View(before), names, people)
    unchanged = after is before
    new = old if unchanged else hits(View(after), names, people)
    change = paired(old, new, level=level, population=PEOPLE)
    if unchanged:
        return PairedChange.none(change.before)
    return change


@dataclass(frozen=True, eq=False)
class Claim:
    """What a repair claims: a change among held-out people, and that over all inputs beside it."""

    change: PairedChange
    inputs: PairedChange | None = None
    """Over all inputs, where the claim itself is of people."""

    @classmethod
    def of(
        cls,
        before: Subject,
        after: Subject,
        names: tuple[str, ...],
        people: Points,
        n: int,
        *,
        level: float,
        seed: int,
    ) -> Claim:
        """Return how outcomes that depend on some features changed, among people and all inputs.

        Parameters
        ----------
        n
            How many inputs are drawn, where there are too many to ask about all.
        """
        inputs = claimed(before, after, names, n, level=level, seed=seed)
        change = changed_for_people(before, after, names, people, level=level)
        if change is None:
            return cls(inputs)
        everything_known = inputs.after.level == 1 and before.space.valid(people).all()
        if everything_known and inputs.after.value == 0:
            # People are among the inputs, and it is known that none of these is left.
            change = _all_gone(change)
        return cls(change, inputs)

    def checks(self, aim: str, names: tuple[str, ...]) -> list[RepairCheck]:
        """Return the claim as checks; `aim` is its name where it is not of people."""
        if self.inputs is None:
            return [RepairCheck.of(aim, AIM, self.change)]
        features = " and ".join(names)
        people = messages.CHECK_OF_PEOPLE.format(features=features)
        return [
            RepairCheck.of(people, AIM, self.change),
            RepairCheck.of(features + ALL, INPUTS, self.inputs),
        ]


def _all_gone(change: PairedChange) -> PairedChange:
    """Return a change after which nothing can be left: it fell by all that there was."""
    before = change.before
    after = Estimate.exact(0, before.n, population=before.population)
    if before.value == 0:
        # Nothing was seen before either, so that no part of it is known to be gone.
        return replace(change, after=after)
    fall = Amount(
        before.value, before.low, before.high, before.n, before.level, before.method
    )
    fewer = Amount(1.0, 1.0, 1.0, before.n, 1.0, "enumerated")
    return PairedChange(before, after, fall, fewer)


@dataclass(frozen=True, eq=False)
class HeldOutChecks:
    """Checks a repaired model against its original on held-out rows."""

    before: Subject
    after: Subject
    names: tuple[str, ...]
    """The features that the repair is about."""
    test: LabelledRows
    claim: Claim
    level: float
    seed: int
    regression: bool
    notes: list[str] = field(default_factory=list)

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.before.space

    def of_repaired(self, aim: str) -> Checked:
        """Return all that was checked, and where the repair stands by each bias.

        Parameters
        ----------
        aim
            The name of what the repair is about.
        """
        points = self.test.points
        predictions = [self.before.decide(points), self.after.decide(points)]
        comparisons: dict[str, Comparison] = {}
        checks = self.claim.checks(aim, self.names)
        if self.regression:
            self._compare_numbers(predictions, comparisons)
            performance = [self._r2(predictions, comparisons.get(AIM))]
            checks += self._people()
            checks += self._others()
        else:
            self._compare(AIM, predictions, comparisons, bias=self._aimed)
            performance = [self._accuracy(predictions)]
            checks += self._people()
            checks += self._others()
            checks += self._worst(predictions, comparisons)
            checks += self._groups(predictions, comparisons)
            performance += self._f1(predictions)
        return (*checks, *performance), comparisons

    def of_unchanged(self, aim: str) -> Checked:
        """Return what there is to check of a model that was left as it is."""
        predictions = [self.before.decide(self.test.points)] * 2
        if self.regression:
            performance = self._r2(predictions, None)
        else:
            performance = self._accuracy(predictions)
        return (*self.claim.checks(aim, self.names), performance), {}

    @property
    def _aimed(self) -> dict[str, Estimate]:
        """The score that the repair is about, of either model."""
        return {ORIGINAL: self.claim.change.before, MENDED: self.claim.change.after}

    def _accuracy(self, predictions: Predictions) -> RepairCheck:
        return RepairCheck.right(
            predictions, self.test.truth, level=self.level, population=PEOPLE
        )

    def _r2(self, predictions: Predictions, compared: Comparison | None) -> RepairCheck:
        """Check R², with limits where the models could be compared."""
        from evenhand.methods.compare.regression import r2_change

        truth = self.test.truth
        change = r2_change(truth, *predictions, level=self.level, seed=self.seed)
        if compared is not None:
            return replace(performance_check("r2", compared), change=change)
        from sklearn.metrics import r2_score

        estimates = []
        for predicted in predictions:
            r2 = float(r2_score(truth, predicted))
            estimate = Amount(r2, r2, r2, len(truth), 1.0, messages.OF_HELD_OUT_ROWS)
            estimates.append(estimate)
        before, after = estimates
        return RepairCheck("r2", "performance", before, after, change)

    def _compare_numbers(
        self, predictions: Predictions, into: dict[str, Comparison]
    ) -> None:
        from evenhand.methods.compare.regression import compare_numbers

        predicted = dict(zip((ORIGINAL, MENDED), predictions, strict=True))
        try:
            into[AIM] = compare_numbers(
                self.test.truth,
                predicted,
                self._aimed,
                level=self.level,
                seed=self.seed,
            )
        except UsageError as error:
            self.notes.append(messages.NOT_COMPARED_WITH_OVERWRITING.format(error=error))

    def _compare(
        self,
        axis: str,
        predictions: Predictions,
        into: dict[str, Comparison],
        **options: Any,
    ) -> None:
        predicted = dict(zip((ORIGINAL, MENDED), predictions, strict=True))
        try:
            into[axis] = compare(
                predicted,
                self.test.truth,
                level=self.level,
                seed=self.seed,
                **options,
            )
        except UsageError as error:
            note = messages.NOT_COMPARED_BY_AXIS.format(axis=axis, error=error)
            self.notes.append(note)

    def _people(self) -> list[RepairCheck]:
        """Check single people where the claim is of a subgroup of them."""
        if self.claim.inputs is not None:
            return []
        change = changed_for_people(
            self.before, self.after, self.names, self.test.points, level=self.level
        )
        if change is None:
            return []
        features = " and ".join(self.names)
        name = messages.CHECK_OF_PEOPLE.format(features=features)
        return [RepairCheck.of(name, "people", change)]

    def _others(self) -> list[RepairCheck]:
        """Check whether discrimination has moved to another protected feature.

        The intervals of all these checks hold together.
        """
        others = []
        for name in self.space.protected:
            if name not in self.names and self.space.feature(name).passed:
                others.append(name)
        level = 1 - (1 - self.level) / max(len(others), 1)
        n = OTHERS
        claim = self.claim.inputs or self.claim.change
        if claim.before.level < 1:
            n = min(OTHERS, claim.before.n)
        checks = []
        for name in others:
            change = claimed(
                self.before,
                self.after,
                (name,),
                n,
                level=level,
                seed=self.seed,
            )
            checks.append(RepairCheck.of(name + ALL, "other", change, (name,)))
        return checks

    @property
    def _sided(self) -> bool:
        """Whether it is known which label is favourable."""
        return View(self.before).positive is not None

    def _worst(
        self, predictions: Predictions, into: dict[str, Comparison]
    ) -> list[RepairCheck]:
        """Check the worst subgroup of held-out people, whichever that is before and after."""
        if not self._sided:
            self.notes.append(messages.NO_FAVOURABLE_LABEL)
            return []
        try:
            old = self._mined(self.before)
            new = self._mined(self.after)
        except UsageError as error:
            self.notes.append(messages.NO_SUBGROUPS.format(error=error))
            return []
        bias = {ORIGINAL: old.estimate, MENDED: new.estimate}
        self._compare("worst subgroup", predictions, into, bias=bias)
        detail = messages.BEFORE_AND_AFTER.format(before=old.about, after=new.about)
        check = RepairCheck(
            name="worst subgroup",
            kind="subgroup",
            before=old.estimate,
            after=new.estimate,
            detail=detail,
        )
        return [check]

    def _mined(self, subject: Subject) -> Finding:
        """Return the worst subgroup of held-out people."""
        over = dict.fromkeys([*self.space.protected, *self.names])
        # Both models are mined, and the intervals of both worst subgroups are to hold together.
        level = 1 - (1 - self.level) / 2
        result = mine(
            subject,
            data=self.space.decode(self.test.points),
            over=list(over),
            treatment="rows",
            level=level,
            seed=self.seed,
            progress=False,
        )
        return replace(result.worst, about=worst_rule(result))

    def _groups(
        self, predictions: Predictions, into: dict[str, Comparison]
    ) -> list[RepairCheck]:
        """Check group metrics over the features of the repair."""
        columns = self._group_columns()
        if not columns or not self._sided:
            return []
        if _rarest(columns) < SMALLEST:
            note = messages.SMALL_GROUPS_LEFT_OUT.format(
                share=number_text.percent_plain(SMALLEST),
                biases=", ".join(GROUP_BIASES),
            )
            self.notes.append(note)
        checks = []
        for bias in GROUP_BIASES:
            self._compare(
                bias,
                predictions,
                into,
                protected=columns,
                bias=bias,
                positive=self._label,
                support=SMALLEST,
            )
            if bias in into:
                before = into[bias].start[1]
                after = into[bias].standings[0].bias
                checks.append(RepairCheck(bias, "group", before, after))
        return checks

    def _group_columns(self) -> dict[str, Any]:
        """Return the features by whose values groups are formed, with their labels."""
        labels = self.space.labels(self.test.points)
        columns = {}
        for name in self.names:
            is_category = self.space.feature(name).kind == "category"
            if is_category or len(set(labels[name])) <= FEW:
                columns[name] = labels[name]
            else:
                self.notes.append(messages.TOO_MANY_VALUES.format(name=name))
        return columns

    @property
    def _label(self) -> Any:
        """The favourable label, where it is one."""
        if not self._sided:
            return None
        known = np.unique(self.test.truth)
        favourable = View(self.before).favourable(known)
        good = known[favourable].tolist()
        return good[0] if len(good) == 1 else None

    def _f1(self, predictions: Predictions) -> list[RepairCheck]:
        if self._label is None:
            return []
        compared: dict[str, Comparison] = {}
        self._compare(
            "f1",
            predictions,
            compared,
            bias=self._aimed,
            performance="f1",
            positive=self._label,
        )
        if "f1" not in compared:
            return []
        return [performance_check("f1", compared["f1"])]


def performance_check(name: str, comparison: Comparison) -> RepairCheck:
    """Return the check of a performance that was found by a comparison."""
    before = comparison.start[0]
    after = comparison.standings[0].performance
    return RepairCheck(name, "performance", before, after)


def _rarest(columns: dict[str, Any]) -> float:
    """Return the share of rows in the smallest group."""
    import pandas as pd

    shares = pd.DataFrame(columns).value_counts(normalize=True)
    return float(shares.min())
