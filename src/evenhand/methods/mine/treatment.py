"""Treatment: how favourably the software treats given rows, as far as a budget reaches."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.claims.scores import SCORES
from evenhand.methods.mine.claims.words import OutcomeWords
from evenhand.methods.mine.rule_sets import Treated
from evenhand.population.rows import Rows
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.runtime.values import as_outcomes
from evenhand.scores.neighbours import Neighbours, walk
from evenhand.scores.numbers.unit_scale import UnitScale
from evenhand.space.feature import plain
from evenhand.space.frames.reading import check_missing, eager
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.claims.scores import MinedScore
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

    Flags = NDArray[np.bool_]
    Indices = NDArray[np.intp]

MOST, MOST_EXPENSIVE = 2_000_000, 5_000
"""Inputs that are asked where no budget is given, and where each costs a process or a request."""


@dataclass(frozen=True, eq=False)
class TreatedView:
    """One output of the software, how it treats rows, and which of the rows these are."""

    view: View
    treated: Treated
    rows: Indices


@dataclass(frozen=True, slots=True)
class _QueryPlan:
    """How rows are asked about within a budget."""

    method: str
    draws: int | None
    """How many neighbours are drawn for each row; None for all of them."""
    rows: int
    """How many of the rows are asked about."""


@dataclass(eq=False)
class TreatmentRun:
    """Asks how rows are treated: which rows, in which way, and how far that came."""

    subject: Subject
    given: Rows
    method: str | None
    seed: int
    sensitive: tuple[str, ...]
    kept: int = 0
    """Inputs that are kept for other questions."""
    steps: Mapping[str, float] = field(default_factory=dict)
    """By how much features are moved to make neighbours, where that is not their own step."""

    def __post_init__(self) -> None:
        self.points = self.given.points(self.subject.space)
        self.notes: list[str] = []
        self.stop: StopReason | None = None
        self.whole = self.given.sample_of is None
        self.partial = False
        self.done = 0
        # A prefix of one random order: rows that a budget leaves out are missing at random.
        rng = stream(self.seed, "mine", "order")
        self.order = rng.permutation(len(self.points))

    def level(self, level: float) -> float:
        """Return the confidence level of rates: 1 where all that there is was asked."""
        enumerated = self.whole and not self.partial
        if self.method == "paper" or enumerated:
            return 1.0
        return level

    def treated_views(
        self, views: Sequence[View], meter: Meter, workers: Workers
    ) -> list[TreatedView]:
        """Ask how favourably each row is treated in each view."""
        treated_views = []
        for number, view in enumerate(views):
            views_left = len(views) - number
            share = meter.share(views_left)
            treated_views.append(self._ask(view, share, workers))
            meter.queries += share.queries
        return treated_views

    def neighbours(self, view: View) -> Neighbours:
        """Return the neighbours that are asked: those one step away, or the rows themselves."""
        if self.method == "rows":
            return Neighbours(view, ())
        return Neighbours.of(view, self.sensitive, steps=self.steps)

    def _ask(self, view: View, meter: Meter, workers: Workers) -> TreatedView:
        """Ask how favourably rows are treated in a view, as far as the budget reaches."""
        every = len(self.points)
        if self.method == "paper":
            # Algorithm 2 draws its own inputs later, for each rule set by itself.
            self._check_weights(full=False)
            return self._treated(view, np.zeros(every), np.arange(every), "paper")
        neighbours = self.neighbours(view)
        plan = self._plan(neighbours.cost, meter)
        asks_all = plan.draws is None and plan.rows == every
        self._check_weights(full=asks_all)
        most = plan.rows
        if self.stop is StopReason.INTERRUPTED:
            # Of the other outputs, no more is asked than is known of the first.
            most = min(most, self.done)
        done, values, stop = walk(
            neighbours,
            self.points,
            draws=plan.draws,
            seed=self.seed,
            order=self.order[:most],
            meter=meter,
            workers=workers,
            task=_task(plan.method, view),
        )
        self._note_progress(len(done), most, plan, stop)
        self._check_weights(full=not self.partial)
        # Back into the order of the rows, which were asked about in a random one.
        place = np.argsort(done)
        rows = done[place]
        queries = len(rows) * neighbours.asks(plan.draws)
        return self._treated(view, values[place], rows, plan.method, queries)

    def _note_progress(
        self, done: int, most: int, plan: _QueryPlan, stop: StopReason | None
    ) -> None:
        """Note how many rows were asked about, and why no more."""
        every = len(self.points)
        self.done = done
        drawn = plan.draws is not None
        if self.stop is None:
            self.stop = stop
        if self.stop is None and (drawn or most < every):
            self.stop = StopReason.QUERIES
        self.partial |= drawn or done < every
        if done < every:
            asked = number_text.count(done)
            rows = number_text.count(every)
            self.notes.append(messages.ROWS_CHOSEN_AT_RANDOM.format(asked=asked, rows=rows))

    def _plan(self, cost: int, meter: Meter) -> _QueryPlan:
        """Return how rows are asked about: with all their neighbours, or some that are drawn."""
        rows = len(self.points)
        if meter.left != float("inf"):
            left = int(meter.left)
        elif self.subject.adapter.expensive:
            left = MOST_EXPENSIVE
        else:
            left = MOST
        kept = min(left // 10, self.kept)
        left = max(left - kept, 1)
        if self.method in ("neighbours", "rows"):
            return _QueryPlan(self.method, None, rows)
        if self.method is None and cost * rows <= left:
            return _QueryPlan("neighbours", None, rows)
        draws = max(1, min(left // rows, cost))
        return _QueryPlan("drawn", draws, min(rows, left))

    def _check_weights(self, *, full: bool) -> None:
        if self.given.weights is not None and not full:
            raise UsageError(messages.WEIGHTS_NEED_EVERY_ROW)

    def _treated(
        self,
        view: View,
        values: NDArray[np.float64],
        done: Indices,
        method: str,
        queries: int = 0,
    ) -> TreatedView:
        weights = None
        if self.given.weights is not None:
            weights = self.given.weights[done]
        population = self.given.population(self.subject.space)
        if method != "rows":
            population = messages.WITH_NEIGHBOURS.format(population=population)
            population = with_steps(population, self.steps)
        points = np.asfortranarray(self.points[done])
        scale = None
        if view.meaning.measured:
            scale, values = UnitScale.of(values)
        treated = Treated(
            points, values, population, method, weights, queries, scale, self.steps
        )
        return TreatedView(view, treated, done)


def with_steps(words: str, steps: Mapping[str, float]) -> str:
    """Return words on neighbours, with the steps that make them where these are a user's own.

    >>> with_steps("their neighbours", {"income": 5.0})
    'their neighbours (a step: income 5)'
    """
    if not steps:
        return words
    listed = ", ".join(f"{name} {step:g}" for name, step in steps.items())
    return messages.WITH_STEPS.format(words=words, steps=clip(listed, 200))


def _task(method: str, view: View) -> str:
    """Return what a progress bar calls the asking about rows."""
    if method == "rows":
        if view.name:
            return messages.PROGRESS_ROWS_OF_OUTPUT.format(output=view.name)
        return messages.PROGRESS_ROWS
    if view.name:
        return messages.PROGRESS_NEIGHBOURS_OF_OUTPUT.format(output=view.name)
    return messages.PROGRESS_NEIGHBOURS


@dataclass(frozen=True, eq=False)
class ComparedPeople:
    """Whom one score of one output compares, and the words for it."""

    view: View
    words: OutcomeWords
    people: Treated
    favoured: bool
    """Whether anybody of all rows gets the favourable outcome."""


def compared(
    parts: Sequence[TreatedView], good: Sequence[Flags], scores: Sequence[str]
) -> list[ComparedPeople]:
    """Return who is compared in each score of each output.

    `good` is whose true outcome is favourable, of each output.
    """
    people = []
    truths = list(zip(parts, good, strict=True))
    for part, good_rows in truths:
        for name in scores:
            if not _is_of_output(SCORES[name], part.view):
                people.append(_compared(part, good_rows[part.rows], name))
            elif part.view is _views_of_output(truths, part.view)[0][0].view:
                whole = _whole_output(_views_of_output(truths, part.view))
                everybody_good = np.ones(len(whole.rows), dtype=np.bool_)
                people.append(_compared(whole, everybody_good, name))
    return people


def _is_of_output(score: MinedScore, view: View) -> bool:
    """Return whether a score is of an output as a whole, and a view of one of its labels alone."""
    return score.of_output and view.target is not None


def _views_of_output(
    truths: Sequence[tuple[TreatedView, Flags]], view: View
) -> list[tuple[TreatedView, Flags]]:
    """Return the views of the labels of an output."""
    return [pair for pair in truths if pair[0].view.name == view.name]


def _whole_output(truths: Sequence[tuple[TreatedView, Flags]]) -> TreatedView:
    """Return an output with many labels as one whose decisions are right (1) or wrong (0).

    A decision is right where the label that is given is the true one.
    """
    first = truths[0][0]
    rows = first.rows
    for part, _ in truths[1:]:
        rows = np.intersect1d(rows, part.rows)
    right = np.zeros(len(rows))
    for part, good in truths:
        given = part.treated.values[np.searchsorted(part.rows, rows)]
        right += given * good[rows]
    kept = first.treated.only(np.isin(first.rows, rows), first.treated.population)
    return TreatedView(replace(first.view, target=None), replace(kept, values=right), rows)


def _compared(part: TreatedView, good: Flags, score: str) -> ComparedPeople:
    """Return whom a score compares of one output; `good` is of its rows."""
    view = part.view
    words = OutcomeWords(
        view.favoured,
        output=view.title,
        score=score,
        counts=view.counts,
        named=view.names_outcome,
        numbers=view.meaning.measured,
    )
    people = SCORES[score].people(part.treated, good)
    favoured = bool(part.treated.values.any())
    return ComparedPeople(view, words, people, favoured)


def true_outcomes(truth: Any, data: Any, rows: int) -> NDArray[Any]:
    """Return the true outcome of each row: a column of data, or the sequence that is given.

    >>> true_outcomes([1.0, 0.0], None, 2).tolist()
    [1, 0]
    """
    if isinstance(truth, str):
        truth = _truth_column(truth, data)
    # As objects, since a text beside a missing number would be two texts.
    kind = object if isinstance(truth, list | tuple) else None
    labels = np.asarray(truth, dtype=kind)
    _check_truth(labels, rows)
    if labels.dtype == object:
        labels = as_outcomes([plain(label) for label in labels.tolist()])
    if labels.dtype.kind != "f":
        return labels
    # Whole numbers often come as floats.
    whole = labels == np.floor(labels)
    if whole.all():
        return labels.astype(np.int64)
    return labels


def _truth_column(truth: str, data: Any) -> list[Any]:
    """Return a column of data that holds true outcomes."""
    if isinstance(data, Rows | list):
        raise UsageError(messages.TRUTH_NEEDS_DATAFRAME.format(truth=repr(truth)))
    table = eager(data)
    if truth not in table.columns:
        choices = nearest(truth, table.columns)
        raise DataError(
            messages.TRUTH_NOT_A_COLUMN.format(truth=repr(truth), choices=choices)
        )
    check_missing(table, truth)
    return list(table[truth].to_list())


def _check_truth(labels: NDArray[Any], rows: int) -> None:
    """Refuse true outcomes that are not one for each row."""
    import pandas as pd

    if labels.ndim != 1:
        raise UsageError(messages.TRUTH_NOT_FLAT.format(shape=labels.shape))
    if len(labels) != rows:
        outcomes = number_text.count(len(labels))
        given = number_text.count(rows)
        raise UsageError(
            messages.TRUTH_OF_OTHER_LENGTH.format(outcomes=outcomes, rows=given)
        )
    missing = pd.isna(labels)
    if missing.any():
        row = int(missing.argmax())
        raise DataError(messages.TRUTH_MISSING_IN_ROW.format(row=row))


def truly_favourable(view: View, labels: NDArray[Any], scores: Sequence[str]) -> Flags:
    """Return whose true outcome is favourable.

    Truth values are taken as they are where the outcomes of the software are not truth values.
    """
    truth_values = {False, True}.intersection(view.meaning.values)
    other_outcomes = view.target is None and not truth_values
    if not view.counts:
        good = _scored_class(view, labels)
    elif labels.dtype == np.bool_ and other_outcomes:
        good = labels
    else:
        good = view.favourable(labels)
    asked = [SCORES[name] for name in scores if not _is_of_output(SCORES[name], view)]
    if asked and not good.any():
        choices = nearest(view.favoured, labels[:1000].tolist())
        raise DataError(
            messages.TRUTH_NEVER_FAVOURABLE.format(favoured=view.favoured, choices=choices)
        )
    for score in asked:
        score.check_truth(good)
    return good


def _scored_class(view: View, labels: NDArray[Any]) -> Flags:
    """Return whose true outcome is the class that is scored: that of `positive`, or the second."""
    meaning = view.meaning
    scored = meaning.values
    if not scored and meaning.known is not None:
        scored = meaning.known[1:]
    matches = [labels == value for value in scored]
    good = np.any(matches, axis=0) if matches else np.zeros(len(labels))
    if good.any():
        return np.asarray(good, dtype=np.bool_)
    # The truth may have another name for it, as 1.
    return np.asarray(labels == 1, dtype=np.bool_)
