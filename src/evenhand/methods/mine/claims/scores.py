"""The scores of a mining: of whom each is, what it counts of them, and how it is told.

A new score is one record here: `mine`, `mine_log`, their texts, drawings and pages read it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.claims import messages
from evenhand.methods.mine.rule_sets import unknown_option
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError, clip
from evenhand.scores.numbers.unit_scale import UnitScale

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.rule_sets import Treated
    from evenhand.statistics.intervals import Floats

    Flags = NDArray[np.bool_]

LABELS, PROBABILITIES, NUMBERS = "labels", "scores", "numbers"
"""What outcomes are: favourable or not, scores from 0 to 1, or numbers in a unit of their own."""
GAPS = UnitScale(-1.0, 2.0, 1.0, gaps=True)
"""The scale of true outcomes minus scores."""
_ROUNDING = 1e-9
"""By how much a probability may lie outside of 0 to 1 for having been a share of a range."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """How a score is told: in claims, above tables, heat maps and bars."""

    claim: str
    compared: str
    map: str
    column: str = messages.HEADING_THEIR_RATE
    apart: str = messages.HEADING_POINTS_APART
    axis: str = messages.BARS_IN_POINTS
    ends: tuple[str, str] = (messages.LESS_OFTEN, messages.MORE_OFTEN)
    """What stands at both ends of the axis of bars."""


OF_OUTCOMES = {
    LABELS: Sentences(
        messages.PEOPLE_RATES, messages.PEOPLE_RATES_COMPARED, messages.MAP_OF_RATES
    ),
    PROBABILITIES: Sentences(
        messages.PEOPLE_MEANS,
        messages.PEOPLE_MEANS_COMPARED,
        messages.MAP_OF_MEANS,
        column=messages.HEADING_THEIR_SCORE,
        axis=messages.BARS_OF_MEANS,
        ends=(messages.LOWER, messages.HIGHER),
    ),
    NUMBERS: Sentences(
        messages.PEOPLE_NUMBERS,
        messages.PEOPLE_NUMBERS_COMPARED,
        messages.MAP_OF_MEANS,
        column=messages.HEADING_THEIR_MEAN,
        apart=messages.HEADING_APART,
        axis=messages.BARS_OF_MEANS,
        ends=(messages.LOWER, messages.HIGHER),
    ),
}
"""How outcomes themselves are told: as rates, or as means."""


@dataclass(frozen=True, slots=True)
class Whom:
    """Whom a score is about, by their true outcome and by what was decided; None is either."""

    truth: bool | None = None
    decided: bool | None = None
    among: str = "{sentence}"
    population: str = "{population}"
    nobody: str = ""
    """What is wrong where there is no such person."""

    @property
    def everybody(self) -> bool:
        """Whether it is about all people."""
        return self.truth is None and self.decided is None

    def mask(self, values: Floats, good: Flags) -> Flags:
        """Return who is meant, by how favourably each is decided and whose true outcome is good."""
        taken = np.ones(len(good), dtype=np.bool_)
        if self.truth is not None:
            taken &= good == self.truth
        if self.decided is not None:
            taken &= (values > 0) == self.decided
        return taken


EVERYBODY = Whom()
SHOULD = Whom(
    truth=True,
    among=messages.AMONG_FAVOURABLE,
    population=messages.TRULY_FAVOURABLE,
    nobody=messages.NO_TRUE_FAVOURABLE,
)
SHOULD_NOT = Whom(
    truth=False,
    among=messages.AMONG_UNFAVOURABLE,
    population=messages.TRULY_UNFAVOURABLE,
    nobody=messages.NO_TRUE_UNFAVOURABLE,
)
FAVOURED = Whom(
    decided=True,
    among=messages.AMONG_FAVOURED,
    population=messages.WHO_GET_IT,
    nobody=messages.NOBODY_FAVOURED,
)
DENIED = Whom(
    decided=False,
    among=messages.AMONG_DENIED,
    population=messages.WHO_ARE_DENIED,
    nobody=messages.NOBODY_DENIED,
)


def _as_decided(values: Floats, good: Flags) -> Floats:
    return values


def _denied(values: Floats, good: Flags) -> Floats:
    return 1 - values


def _wrong(values: Floats, good: Flags) -> Floats:
    return np.asarray((values > 0) != good, dtype=np.float64)


def _should(values: Floats, good: Flags) -> Floats:
    return good.astype(np.float64)


def _should_not(values: Floats, good: Flags) -> Floats:
    return (~good).astype(np.float64)


def _gap(values: Floats, good: Flags) -> Floats:
    """Return how much true outcomes are over scores, from -1 to 1, as a share of that range."""
    return (good - values + 1) / 2


def _probabilities(scale: UnitScale, shares: Floats) -> Floats:
    """Return numbers that are shares of a range as probabilities, or refuse what are none."""
    numbers = scale.low + shares * scale.width
    outside = (numbers < -_ROUNDING) | (numbers > 1 + _ROUNDING)
    if outside.any():
        first = number_text.amount(float(numbers[outside][0]))
        raise UsageError(messages.CALIBRATION_OUTSIDE.format(number=first))
    return np.clip(numbers, 0.0, 1.0)


def too_low(gap: float) -> str:
    """Return by how much people score too low, or too high, in words.

    >>> too_low(0.0412), too_low(-0.003)
    ('4.1 points too low', '0.3 points too high')
    """
    size = number_text.points(abs(gap))
    if gap < 0:
        return messages.TOO_HIGH.format(points=size)
    return messages.TOO_LOW.format(points=size)


_OF_LABELS = {
    PROBABILITIES: messages.SCORE_OF_SCORES,
    NUMBERS: messages.SCORE_OF_NUMBERS,
}
"""Why a score of decisions is not one of scores or numbers."""


@dataclass(frozen=True, slots=True)
class MinedScore:
    """A score: of whom it is, what it counts of them, and how it is told.

    >>> values, good = np.array([1.0, 1.0, 0.0]), np.array([True, False, False])
    >>> SCORES["error"].counted(values, good).tolist()
    [0.0, 1.0, 0.0]
    >>> SCORES["precision"].whom.mask(values, good).tolist()
    [True, True, False]
    """

    name: str
    whom: Whom = EVERYBODY
    counted: Callable[[Floats, Flags], Floats] = _as_decided
    """From how favourably each is decided, and whose true outcome is good, what is averaged."""
    sentences: Sentences | None = None
    """How it is told; None where it is told as outcomes are."""
    shown: Callable[[float], str] = number_text.percent
    """How one side of a comparison is written, where it is told in sentences of its own."""
    needs_truth: bool = True
    refused: Mapping[str, str] = field(default_factory=dict)
    """Why it is not one of some kinds of outcomes."""
    scale: UnitScale | None = None
    """The range of what is averaged, where that is not from 0 to 1."""
    gain: int = 0
    """Whether more of it is better (1) or worse (-1) for people, or neither: then no change of
    outcome shows it, and it has no cases.
    """
    of_output: bool = False
    """Whether it is one of an output with many labels, rather than of each label by itself."""

    def check(self, outcomes: str) -> None:
        """Refuse outcomes that it is not one of."""
        if outcomes in self.refused:
            reason = self.refused[outcomes]
            raise UsageError(reason.format(score=repr(self.name)))

    def check_truth(self, good: Flags) -> None:
        """Refuse true outcomes that leave nobody to compare, before anybody is asked."""
        if self.whom.truth is not None and not (good == self.whom.truth).any():
            raise self._nobody()

    def _nobody(self) -> DataError:
        return DataError(self.whom.nobody.format(score=repr(self.name)))

    def people(self, treated: Treated, good: Flags) -> Treated:
        """Return whom it compares, and what it counts of each.

        Parameters
        ----------
        treated
            All people, and how favourably each is decided.
        good
            Whose true outcome is favourable.
        """
        people = replace(
            treated,
            values=self._counted(treated, treated.values, good),
            scale=self.scale or treated.scale,
            squares=self._squares(treated, good),
        )
        if self.whom.everybody:
            return people
        taken = self.whom.mask(treated.values, good)
        if not taken.any():
            raise self._nobody()
        population = self.whom.population.format(population=treated.population)
        return people.only(taken, population)

    def _counted(self, treated: Treated, values: Floats, good: Flags) -> Floats:
        """Return what it counts of people who are decided like this."""
        if self.scale is not None and treated.scale is not None:
            values = _probabilities(treated.scale, values)
        return self.counted(values, good)

    def _squares(self, treated: Treated, good: Flags) -> Floats | None:
        """Return the mean squares of what it counts, where people stand for several rows.

        What is counted of numbers grows with them by as much everywhere.
        """
        squares = treated.squares
        if squares is None:
            return None
        nothing = np.zeros(len(good))
        least = self._counted(treated, nothing, good)
        slope = self._counted(treated, nothing + 1.0, good) - least
        return least**2 + 2 * least * slope * treated.values + slope**2 * squares


_ALL = (
    MinedScore("rate", needs_truth=False, gain=1),
    MinedScore(
        "mean", needs_truth=False, gain=1, refused={LABELS: messages.MEAN_OF_LABELS}
    ),
    MinedScore(
        "error",
        counted=_wrong,
        sentences=Sentences(
            messages.PEOPLE_WRONG, messages.PEOPLE_WRONG_COMPARED, messages.MAP_OF_WRONG
        ),
        refused=_OF_LABELS,
        of_output=True,
    ),
    MinedScore("tpr", SHOULD, refused={NUMBERS: messages.SCORE_OF_NUMBERS}, gain=1),
    MinedScore("fpr", SHOULD_NOT, refused={NUMBERS: messages.SCORE_OF_NUMBERS}, gain=1),
    MinedScore(
        "fnr",
        SHOULD,
        _denied,
        Sentences(
            messages.PEOPLE_DENIED, messages.PEOPLE_DENIED_COMPARED, messages.MAP_OF_DENIED
        ),
        refused=_OF_LABELS,
        gain=-1,
    ),
    MinedScore(
        "tnr",
        SHOULD_NOT,
        _denied,
        Sentences(
            messages.PEOPLE_DENIED, messages.PEOPLE_DENIED_COMPARED, messages.MAP_OF_DENIED
        ),
        refused=_OF_LABELS,
        gain=-1,
    ),
    MinedScore(
        "precision",
        FAVOURED,
        _should,
        Sentences(
            messages.GET_RIGHTLY, messages.GET_RIGHTLY_COMPARED, messages.MAP_OF_GET_RIGHTLY
        ),
        refused=_OF_LABELS,
    ),
    MinedScore(
        "fdr",
        FAVOURED,
        _should_not,
        Sentences(
            messages.GET_WRONGLY, messages.GET_WRONGLY_COMPARED, messages.MAP_OF_GET_WRONGLY
        ),
        refused=_OF_LABELS,
    ),
    MinedScore(
        "for",
        DENIED,
        _should,
        Sentences(
            messages.DENIED_WRONGLY,
            messages.DENIED_WRONGLY_COMPARED,
            messages.MAP_OF_DENIED_WRONGLY,
        ),
        refused=_OF_LABELS,
    ),
    MinedScore(
        "calibration",
        counted=_gap,
        sentences=Sentences(
            messages.PEOPLE_GAPS,
            messages.PEOPLE_GAPS_COMPARED,
            messages.MAP_OF_GAPS,
            column=messages.HEADING_TOO_LOW,
            ends=(messages.SCORED_TOO_HIGH, messages.SCORED_TOO_LOW),
        ),
        shown=too_low,
        refused={LABELS: messages.CALIBRATION_OF_LABELS},
        scale=GAPS,
    ),
)
SCORES = {score.name: score for score in _ALL}
"""All scores by their names."""


def scores_of(score: Any, truth: Any) -> tuple[str, ...]:
    """Return the scores that are asked for, checked.

    >>> scores_of(["error", "tpr"], truth="paid")
    ('error', 'tpr')
    """
    names = tuple(score) if isinstance(score, list | tuple) else (score,)
    for name in names:
        if not isinstance(name, str) or name not in SCORES:
            raise unknown_option("score", name, tuple(SCORES))
    shown = clip(repr(score))
    if not names or len(set(names)) < len(names):
        valid = ", ".join(SCORES)
        raise UsageError(messages.SCORES_NOT_DISTINCT.format(score=shown, scores=valid))
    if need_truth(names) and truth is None:
        raise UsageError(messages.SCORE_NEEDS_TRUTH.format(score=shown))
    return names


def need_truth(names: Sequence[str]) -> bool:
    """Return whether any of some scores takes true outcomes.

    >>> need_truth(["rate", "mean"]), need_truth(["rate", "error"])
    (False, True)
    """
    return any(SCORES[name].needs_truth for name in names)


def sentences_of(score: str, outcomes: str) -> Sentences:
    """Return how a score of some kind of outcomes is told.

    >>> sentences_of("tpr", LABELS) is OF_OUTCOMES[LABELS]
    True
    """
    known = SCORES.get(score)
    if known is None or known.sentences is None:
        return OF_OUTCOMES[outcomes]
    return known.sentences


def among(score: str, sentence: str, outcome: str = "") -> str:
    """Return a sentence with the people that a score is about: all, or some of them.

    >>> among("tpr", "people are treated alike")
    'of those whose true outcome is favourable, people are treated alike'
    >>> among("precision", "people get it rightly", "the outcome 1")
    'of those who get the outcome 1, people get it rightly'
    """
    known = SCORES.get(score)
    whom = EVERYBODY if known is None else known.whom
    return whom.among.format(sentence=sentence, outcome=outcome)
