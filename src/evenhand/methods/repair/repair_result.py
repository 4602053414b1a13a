"""Repair: a model that was trained again, what came of each step, and whether it helped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.methods.compare.comparison import BETTER, Comparison
from evenhand.methods.repair import messages
from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.claims.handover import Handover
from evenhand.methods.repair.claims.sentences import claim_of
from evenhand.methods.repair.steps import (
    AIM,
    INPUTS,
    NO_HELP,
    OUTCOMES,
    REPAIRED,
    RepairCheck,
    Step,
    tolerated,
)
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

AS_WRITTEN = (
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
"""Fields that JSON holds as they are."""


@dataclass(frozen=True, eq=False)
class Repair(Evidence):
    """A repaired model with the evidence: the claim, what else changed, and where it stands.

    Scores are of the model that was fitted on the training part of the rows, since the others are
    what it is checked on. `model` is fitted by the same recipe on all rows, as `handover` says; or
    it is the original one where nothing was changed. Models are left out of the JSON. Where the
    repair stands is told against giving up accuracy by blind overwriting.

    See Also
    --------
    See docs/how-to/repair.md.
    """

    document: ClassVar[str] = "repair"
    job: ClassVar[str] = "repair"

    method: str
    over: tuple[str, ...]
    about: tuple[str, ...] | Rule
    """The features, or the subgroup, that the repair is about."""
    outcome: str
    change: PairedChange
    """From the original to the repaired model, among held-out people; among all inputs where the
    model is passed none of the features.
    """
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
    handover: Handover | None = None
    """Which rows the model handed over was fitted on; None where it was left as it is."""
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
    def inputs(self) -> RepairCheck | None:
        """The same score over all inputs, uniformly; None where the claim is not of people."""
        return next((check for check in self.checks if check.kind == INPUTS), None)

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
    def region(self) -> str | None:
        """Where the repair stands against blind overwriting; None where it was not compared."""
        return self.regions.get(AIM)

    @property
    def regions(self) -> dict[str, str]:
        """The region by each bias that was compared: "aim" is what the repair is about."""
        return {axis: found.standings[0].region for axis, found in self.comparisons.items()}

    @property
    def plausible(self) -> tuple[str, ...]:
        """Every region that the intervals allow."""
        if AIM not in self.comparisons:
            return ()
        return self.comparisons[AIM].standings[0].plausible

    @property
    def moved(self) -> tuple[str, ...]:
        """Other protected features over which discrimination has clearly risen."""
        found: list[str] = []
        for check in self._risen:
            if check.kind == "other":
                found += check.about
        return tuple(found)

    @property
    def side_effects(self) -> tuple[str, ...]:
        """Sentences on where discrimination has clearly risen: elsewhere, or beside the claim."""
        together = dict.fromkeys([*self.over, *self.moved])
        sentences = []
        for check in self._risen:
            before = number_text.percent_figures(check.before.value)
            after = number_text.percent_figures(check.after.value)
            if check.kind == "other":
                sentence = messages.DISCRIMINATION_ROSE.format(
                    features=" and ".join(check.about),
                    before=before,
                    after=after,
                    together=", ".join(together),
                )
            else:
                whom = messages.ABOUT_PEOPLE
                if check.kind == INPUTS:
                    whom = messages.ABOUT_INPUTS
                sentence = messages.DISCRIMINATION_BESIDE_ROSE.format(
                    whom=whom,
                    features=" and ".join(self.over),
                    before=before,
                    after=after,
                )
            sentences.append(sentence)
        return tuple(sentences)

    @property
    def _risen(self) -> list[RepairCheck]:
        kinds = ("other", "people", INPUTS)
        elsewhere = [check for check in self.checks if check.kind in kinds]
        return [check for check in elsewhere if check.rose]

    @property
    def _undone(self) -> bool:
        """Whether discrimination clearly rose elsewhere by as much as it fell here."""
        for check in self._risen:
            fall = self.change.fall.value
            if check.kind == "other" and self.inputs is not None:
                # Other features are looked at over all inputs, and so is what fell.
                fall = self.inputs.before.value - self.inputs.after.value
            if check.change is not None and check.change.value >= fall:
                return True
        return False

    @property
    def verdict(self) -> Verdict:
        """Pass if it clearly got fairer and beats giving up accuracy, or nothing was to repair.

        It fails if the score did not fall, if the repair is no better than giving up accuracy, if
        accuracy clearly fell by more than is tolerated, or if discrimination rose as much over
        another protected feature, among people or over all inputs. What was not compared, and an
        interval of the accuracy's change that holds the tolerance, leave it undecided.
        """
        return worst_of(self._verdicts()) or Verdict.PASS

    def _verdicts(self) -> list[Verdict]:
        """Return the verdict on each thing that a repair must do."""
        verdicts = []
        if self.limit is not None:
            verdicts.append(self.after.verdict(self.limit))
        if self.outcome == NO_HELP:
            verdicts.append(Verdict.FAIL)
        elif self.changed:
            verdicts.append(self._verdict_on_change)
            verdicts.append(Verdict.FAIL if self._undone else Verdict.PASS)
            verdicts.append(self._verdict_on_region)
            verdicts.append(self.loss)
        elif self.none_before:
            verdicts.append(Verdict.PASS)
        else:
            verdicts.append(Verdict.UNDECIDED)
        return verdicts

    @property
    def none_before(self) -> bool:
        """Whether no discrimination was found in the original, of people or of inputs."""
        if self.inputs is not None and self.inputs.before.value > 0:
            return False
        return self.before.value == 0

    @property
    def _verdict_on_change(self) -> Verdict:
        if self.change.verdict == "fell":
            return Verdict.PASS
        if self.change.verdict == "rose":
            return Verdict.FAIL
        return Verdict.UNDECIDED

    @property
    def _verdict_on_region(self) -> Verdict:
        """Whether it clearly beats giving up accuracy; undecided where it was not compared."""
        better = [region in BETTER for region in self.plausible]
        if better and all(better):
            return Verdict.PASS
        if better and not any(better):
            return Verdict.FAIL
        return Verdict.UNDECIDED

    @property
    def loss(self) -> Verdict:
        """Whether performance fell by no more than is tolerated, by the interval of its change."""
        return tolerated(self.performance.change, self.tolerance)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The claim as a finding: the score after, judged by all that a repair must do."""
        score = "gap" if isinstance(self.about, Rule) else "causal"
        finding = Finding(
            self.claim,
            self.about,
            self.after,
            self.limit,
            score=score,
            judged=self.verdict,
            uniform=None if self.inputs is None else self.inputs.after,
        )
        return (finding,)

    @property
    def claim(self) -> str:
        """What came of it, in a sentence."""
        return claim_of(self)

    def story_lines(self) -> list[str]:
        """Return the claim, where discrimination has risen, and the notes, line by line."""
        return [f"  {line}" for line in (self.claim, *self.side_effects, *self.notes)]

    def table(self) -> Any:
        """Return one row for each score that was checked before and after.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        rows = []
        for check in self.checks:
            row: dict[str, Any] = {"name": check.name, "kind": check.kind}
            for when in ("before", "after", "change"):
                estimate = getattr(check, when)
                for end, key in (("", "value"), (".low", "low"), (".high", "high")):
                    row[f"{when}{end}"] = getattr(estimate, key, math.nan)
            row["n"] = check.after.n
            row["detail"] = check.detail
            rows.append(row)
        return pd.DataFrame(rows)

    def plot(self, kind: str = "change", ax: Any = None) -> Any:  # type: ignore[override]
        """Draw the scores before and after, the steps, or the trade-off.

        Parameters
        ----------
        kind
            "change" for the scores, "history" for the steps, or "trade-off".
        ax
            Axes of matplotlib to draw on; by default those of a new figure.

        Returns
        -------
        Display
            What was drawn, with `figure_` and `ax_`.

        Raises
        ------
        UsageError
            Where `kind` is unknown.
        """
        return VERBS[self.job].plot(self, kind=kind).plot(ax=ax)

    def save(self, path: str | PathLike[str]) -> list[str]:
        """Write the repaired model to a skops file, or to a joblib or pickle file by its suffix.

        Parameters
        ----------
        path
            Where to; a skops file needs the extra "skops".

        Returns
        -------
        list of str
            The types that whoever loads a skops file has to trust.

        Raises
        ------
        UsageError
            Where the repair was read from JSON, which holds no model.
        """
        from evenhand.subject.adapters.saved import save_model

        if self.model is None:
            raise UsageError(messages.NO_MODEL_TO_SAVE)
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
            "comparisons": {
                axis: found.content() for axis, found in self.comparisons.items()
            },
            "history": [step.to_dict() for step in self.history],
            "sizes": dict(self.sizes),
            "tolerance": self.tolerance,
            "limit": self.limit,
            "options": dict(self.options),
            "handover": None if self.handover is None else self.handover.to_dict(),
            "space": None if self.space is None else dict(self.space),
        }

    @classmethod
    def owns(cls, table: Mapping[str, Any]) -> bool:
        """Return whether parsed JSON is a repair."""
        return table.get("job") == "repair" and "checks" in table

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str) -> Repair:
        """Rebuild a repair from JSON of the present format; it holds no model."""
        outcome = table.get("outcome")
        if outcome not in OUTCOMES:
            message = messages.OUTCOME_UNKNOWN.format(
                where=where,
                outcome=clip(repr(outcome)),
                choices=nearest(outcome, OUTCOMES),
            )
            raise UsageError(message)
        about = table["about"]
        comparisons = {}
        for axis, comparison in table["comparisons"].items():
            place = f"{where}, comparison {axis!r}"
            comparisons[axis] = Comparison.from_dict(comparison, where=place)
        return cls(
            about=Rule.from_dict(about) if isinstance(about, Mapping) else tuple(about),
            over=tuple(table["over"]),
            change=PairedChange.from_dict(table["change"]),
            checks=tuple(RepairCheck.from_dict(check) for check in table["checks"]),
            comparisons=comparisons,
            history=tuple(Step.from_dict(step) for step in table["history"]),
            spent=spent_of(table),
            notes=tuple(table["notes"]),
            stop=read_stop(table["stop"]),
            handover=Handover.read(table.get("handover")),
            **{key: table[key] for key in AS_WRITTEN},
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
    columns = list(own)
    for when in ("before", "after", "fall"):
        columns += [when, f"{when}.low", f"{when}.high"]
    rows = []
    for step in repair.history:
        row = {key: getattr(step, key) for key in own}
        for when in ("before", "after", "fall"):
            estimate = getattr(step.change, when)
            row[when] = estimate.value
            row[f"{when}.low"] = estimate.low
            row[f"{when}.high"] = estimate.high
        rows.append(row)
    return pd.DataFrame(rows, columns=columns)
