"""Repair: a model that was trained again, what came of each step, and the evidence that it helped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.methods.compare.comparison import BETTER, Comparison
from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.steps import AIM, RepairCheck, Step
from evenhand.results.document import read_stop, spent_of, versions, worst_of
from evenhand.results.evidence import Finding
from evenhand.results.protocol import Evidence
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import Amount, Estimate, StopReason, Verdict
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from os import PathLike

    from evenhand.runtime.budget import Spent

REPAIRED, NOTHING, NO_HELP = "repaired", "nothing to repair", "no step helped"
OUTCOMES = (REPAIRED, NOTHING, NO_HELP)
"""How a repair may end."""


@dataclass(frozen=True, eq=False)
class Repair(Evidence):
    """A repaired model with the evidence: the claim, what else changed, where it stands against
    giving up accuracy.

    `model` is the repaired model, or the original one where nothing was changed; both are left out
    of the JSON.
    """

    document: ClassVar[str] = "repair"
    job: ClassVar[str] = "repair"

    method: str
    over: tuple[str, ...]
    about: tuple[str, ...] | Rule
    """The features, or the subgroup, that the repair is about."""
    outcome: str
    change: PairedChange
    """From the original to the repaired model, on inputs or rows that no step has used."""
    checks: tuple[RepairCheck, ...]
    comparisons: Mapping[str, Comparison]
    """Where it stands against blind overwriting, by bias: "aim", then "spd", "aod", …"""
    history: tuple[Step, ...]
    sizes: Mapping[str, int]
    """Rows for training, validation and test."""
    seed: int
    level: float
    tolerance: float
    limit: float | None
    spent: Spent
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """What else was asked for, to do it again."""
    space: Mapping[str, Any] | None = None
    versions: Mapping[str, str] = field(default_factory=versions)
    model: Any = field(default=None, repr=False)
    original: Any = field(default=None, repr=False)
    stop: StopReason = StopReason.COMPLETED

    @property
    def before(self) -> Estimate:
        """The score that the repair is about, of the original model."""
        return self.change.before

    @property
    def after(self) -> Estimate:
        """The score that the repair is about, of the repaired model."""
        return self.change.after

    @property
    def fewer(self) -> Amount:
        """By which share the score fell: 1 where nothing is left of it, below 0 where it rose."""
        return self.change.fewer

    @property
    def changed(self) -> bool:
        """Whether the model is another one than before."""
        return self.outcome == REPAIRED

    @property
    def performance(self) -> RepairCheck:
        """The accuracy on held-out rows before and after; for numbers, R²."""
        return next(check for check in self.checks if check.kind == "performance")

    @property
    def accuracy_before(self) -> float:
        """The accuracy of the original model on held-out rows; for numbers, R²."""
        return self.performance.before.value

    @property
    def accuracy_after(self) -> float:
        """The accuracy of the repaired model on held-out rows; for numbers, R²."""
        return self.performance.after.value

    @property
    def _accuracies(self) -> tuple[float, float]:
        return self.accuracy_before, self.accuracy_after

    @property
    def region(self) -> str | None:
        """Where the repair stands against blind overwriting; None where nothing was changed or
        could be compared.
        """
        return self.regions.get(AIM)

    @property
    def regions(self) -> dict[str, str]:
        """The region by each bias that was compared: "aim" is what the repair is about."""
        return {axis: found.standings[0].region for axis, found in self.comparisons.items()}

    @property
    def plausible(self) -> tuple[str, ...]:
        """Every region that the intervals allow."""
        return self.comparisons[AIM].standings[0].plausible if AIM in self.comparisons else ()

    @property
    def moved(self) -> tuple[str, ...]:
        """Other protected features over which discrimination has surely risen."""
        found: list[str] = []
        for check in self._risen:
            if check.kind == "other":
                found += check.about
        return tuple(found)

    @property
    def side_effects(self) -> tuple[str, ...]:
        """Where discrimination has surely risen, in sentences: over other features, or among
        held-out people.
        """
        together = ", ".join(dict.fromkeys([*self.over, *self.moved]))
        told = []
        for check in self._risen:
            before, after = (
                number_text.percent_figures(one.value) for one in (check.before, check.after)
            )
            scores = f"from {before} to {after}"
            if check.kind == "other":
                name = " and ".join(check.about)
                told.append(
                    f"discrimination over {name} has surely risen, {scores}; repair {together}"
                    " together"
                )
            else:
                only = " and ".join(self.over)
                told.append(
                    f"of held-out people, more now get another outcome with another {only} alone:"
                    f" {scores}"
                )
        return tuple(told)

    @property
    def _risen(self) -> list[RepairCheck]:
        return [check for check in self.checks if check.kind in ("other", "people") and check.rose]

    @property
    def _undone(self) -> bool:
        """Whether discrimination surely rose elsewhere, by as much as the score that the repair is
        about fell.
        """
        rises = [check.change.value for check in self._risen if check.change]
        return max(rises, default=0.0) > 0 and max(rises) >= self.change.fall.value

    @property
    def verdict(self) -> Verdict:
        """Pass if it surely got fairer and beats giving up accuracy, or if no difference was found
        at all.

        It fails if the score did not fall, if the repair is no better than giving up accuracy, if
        accuracy surely fell by more than is tolerated, or if discrimination rose as much over
        another protected feature or among people.
        """
        return worst_of(self._verdicts()) or Verdict.PASS

    def _verdicts(self) -> list[Verdict]:
        told = [] if self.limit is None else [self.after.verdict(self.limit)]
        if self.outcome == NO_HELP:
            return [*told, Verdict.FAIL]
        if not self.changed:
            return [*told, Verdict.PASS if self.before.value == 0 else Verdict.UNDECIDED]
        fell = {"fell": Verdict.PASS, "rose": Verdict.FAIL}.get(
            self.change.verdict, Verdict.UNDECIDED
        )
        told += [fell, Verdict.FAIL if self._undone else Verdict.PASS]
        if self.plausible:
            better = [region in BETTER for region in self.plausible]
            told.append(
                Verdict.PASS if all(better) else Verdict.UNDECIDED if any(better) else Verdict.FAIL
            )
        lost, (before, after) = self.performance.change, self._accuracies
        if after < before - self.tolerance:
            sure = lost is not None and lost.high < -self.tolerance
            told.append(Verdict.FAIL if sure else Verdict.UNDECIDED)
        return told

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The claim as a finding: the score after the repair, judged by all that a repair must do."""
        score = "gap" if isinstance(self.about, Rule) else "causal"
        return (
            Finding(
                self.claim, self.about, self.after, self.limit, score=score, judged=self.verdict
            ),
        )

    @property
    def claim(self) -> str:
        """What came of it, in a sentence."""
        about = str(self.about) if isinstance(self.about, Rule) else " and ".join(self.about)
        before, after = (
            number_text.percent_figures(one.value) for one in (self.before, self.after)
        )
        if self.outcome == NOTHING:
            found = (
                "no difference was found"
                if self.before.value == 0
                else f"nothing surely stands out ({before})"
            )
            found = "nothing could be measured" if math.isnan(self.before.value) else found
            return f"{about}: nothing to repair; {found}, and the model was left as it is"
        if self.outcome == NO_HELP:
            return f"{about}: no step helped; the model was left as it is ({before})"
        may = "may have risen" if self.fewer.value < 0 else "may have fallen"
        said = {"fell": "fell", "rose": "rose"}.get(self.change.verdict, may)
        part = (
            ""
            if math.isinf(self.fewer.value)
            else f"{number_text.percent(abs(self.fewer.value), 0)} "
        )
        less = f"{part}{'fewer' if self.fewer.value >= 0 else 'more'}"
        what = "the gap" if isinstance(self.about, Rule) else "the share of discriminatory inputs"
        numbers = self.performance.name == "r2"
        score_text = number_text.decimal if numbers else number_text.percent
        scores = [score_text(score) for score in self._accuracies]
        score = f"{'R²' if numbers else 'accuracy'} {scores[0]} to {scores[1]}"
        where = self.region or "not compared with giving up accuracy"
        return f"{about}: {what} {said} from {before} to {after} ({less}); {score}; {where}"

    def story_lines(self) -> list[str]:
        """Return the claim, where discrimination has risen, and the notes, line by line."""
        return [f"  {line}" for line in (self.claim, *self.side_effects, *self.notes)]

    def table(self) -> Any:
        """Return one row for each score that was checked before and after, as a pandas frame."""
        import pandas as pd

        rows = []
        for check in self.checks:
            row: dict[str, Any] = {"name": check.name, "kind": check.kind}
            for when in ("before", "after", "change"):
                found = getattr(check, when)
                for end, key in (("", "value"), (".low", "low"), (".high", "high")):
                    row[f"{when}{end}"] = math.nan if found is None else getattr(found, key)
            rows.append({**row, "n": check.after.n, "detail": check.detail})
        return pd.DataFrame(rows)

    def plot(self, kind: str = "change", ax: Any = None) -> Any:  # type: ignore[override]
        """Draw the scores before and after ("change"), the steps ("history") or the "trade-off"."""
        return VERBS[self.job].plot(self, kind=kind).plot(ax=ax)

    def save(self, path: str | PathLike[str]) -> list[str]:
        """Write the repaired model to a skops file (extra: skops), or a joblib or pickle one by its
        suffix.

        What is returned are the types that whoever loads a skops file has to trust.
        """
        from evenhand.subject.adapters.saved import save_model

        if self.model is None:
            raise UsageError(
                "this repair was read from JSON, which holds no model; save it where it was made"
            )
        return save_model(self.model, path)

    def body(self) -> dict[str, Any]:
        """Return what only this kind of evidence holds, as JSON holds it."""
        about = self.about.to_dict() if isinstance(self.about, Rule) else list(self.about)
        return {
            "method": self.method,
            "over": list(self.over),
            "about": about,
            "outcome": self.outcome,
            "findings": [finding.to_dict() for finding in self.findings],
            "change": self.change.to_dict(),
            "checks": [check.to_dict() for check in self.checks],
            "comparisons": {axis: found.content() for axis, found in self.comparisons.items()},
            "history": [step.to_dict() for step in self.history],
            "sizes": dict(self.sizes),
            "tolerance": self.tolerance,
            "limit": self.limit,
            "options": dict(self.options),
            "space": None if self.space is None else dict(self.space),
        }

    @classmethod
    def owns(cls, table: Mapping[str, Any]) -> bool:
        """Tell whether parsed JSON is a repair."""
        return table.get("job") == "repair" and "checks" in table

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str) -> Repair:
        """Rebuild a repair from JSON of the present format; it holds no model."""
        outcome = table.get("outcome")
        if outcome not in OUTCOMES:
            raise UsageError(
                f"{where}: outcome = {clip(repr(outcome))} is none; {nearest(outcome, OUTCOMES)}"
            )
        about = table["about"]
        comparisons = {}
        for axis, one in table["comparisons"].items():
            comparisons[axis] = Comparison.from_dict(one, where=f"{where}, comparison {axis!r}")
        keys = (
            "method",
            "outcome",
            "sizes",
            "seed",
            "level",
            "tolerance",
            "limit",
            "options",
            "space",
            "versions",
        )
        return cls(
            about=Rule.from_dict(about) if isinstance(about, Mapping) else tuple(about),
            over=tuple(table["over"]),
            change=PairedChange.from_dict(table["change"]),
            checks=tuple(RepairCheck.from_dict(one) for one in table["checks"]),
            comparisons=comparisons,
            history=tuple(Step.from_dict(one) for one in table["history"]),
            spent=spent_of(table),
            notes=tuple(table["notes"]),
            stop=read_stop(table["stop"]),
            **{key: table[key] for key in keys},
        )

    def __str__(self) -> str:
        return self.claim


def document() -> type[Repair]:
    """Return the class that reads the JSON of a repair."""
    return Repair


def frame(repair: Repair) -> Any:
    """Return one row for each step, as a pandas frame."""
    import pandas as pd

    own = ("number", "percent", "added", "accuracy", "kept", "why")
    scores = []
    for when in ("before", "after", "fall"):
        scores += [
            (when, when, "value"),
            (f"{when}.low", when, "low"),
            (f"{when}.high", when, "high"),
        ]
    rows = []
    for step in repair.history:
        row = {key: getattr(step, key) for key in own}
        row |= {name: getattr(getattr(step.change, when), key) for name, when, key in scores}
        rows.append(row)
    return pd.DataFrame(rows, columns=[*own, *(name for name, _, _ in scores)])
