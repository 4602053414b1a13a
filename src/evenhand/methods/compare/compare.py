"""compare: is a mitigation better than blindly giving up accuracy? (Fairea, Hort et al., FSE 2021)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare import COMPARE
from evenhand.methods.compare import regions as blind
from evenhand.methods.compare.axes import Axes, as_bias, as_performance, favourable, measured
from evenhand.methods.compare.contingency import Trials
from evenhand.methods.compare.metrics.scores import Bias, check_defined, check_scores
from evenhand.methods.compare.standings import Scores, Sureness, check_original, judge, resampled
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.random_streams import stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenhand.methods.compare.comparison import Comparison
    from evenhand.methods.compare.metrics import Metric
    from evenhand.space.feature import Label

LINES = ("exact", "monte-carlo")
_USUAL = {"level": 0.95, "test_size": 0.3}
RESAMPLES, CALLED = 2_000, 200
"""Resamples by default: where scores are known by name, and where functions of the user must be
called.
"""


@COMPARE.options.checked
def compare(
    outcomes: Mapping[str, Any],
    y_true: Any,
    protected: Any = None,
    *,
    baseline: str = "original",
    bias: str | Metric | Callable[..., float] | Mapping[str, Any] = "spd",
    performance: str | Metric | Callable[..., float] = "accuracy",
    positive: Label | None = None,
    over: Sequence[str | Sequence[str]] | str | None = None,
    support: float = 0.0,
    overwrite: str = "tightest",
    label: Label | None = None,
    degrees: Sequence[float] = blind.DEGREES,
    line: str = "exact",
    repetitions: int = 50,
    level: float = 0.95,
    resamples: int | None = None,
    test_size: float = 0.3,
    seed: int = 0,
) -> Comparison:
    """Compare mitigations with the line from an original to the blind overwriting of all its
    predictions.

    Parameters
    ----------
    outcomes
        Predicted labels by name, one of which is the original; for several runs a list of them for
        each name.
    y_true
        The true labels: one column where all runs have the same test set, or a list with one column
        for each run.
    protected
        A protected column, a frame or mapping of several, or a list of those where each run has its
        own test set.
    baseline
        The name of the original.
    bias
        "spd", "aod", "aod-abs", "eod", "odds", "fpr", "di" or "error"; a function of true labels,
        predicted labels and protected values that is larger the more biased they are (a difference
        of Fairlearn, say, not a ratio); or measured scores by name: numbers, estimates, or results
        of `measure` and `mine`, whose worst finding counts. Such scores go down in proportion along
        the line. A `Metric` is a function of counts, which is faster.
    performance
        "accuracy", "balanced accuracy", "f1" or "mcc"; the name of a scorer of scikit-learn; a
        function like those for `bias`, or a `Metric`. Larger is better.
    positive
        The favourable label, needed by eod, fpr, di and f1 where labels are not 0 and 1. Of more
        than two labels, the worst of each against the rest counts where none is given.
    over
        Sets of protected columns whose groups are compared; by default each column alone and all
        together. The worst counts.
    support
        Groups with a smaller share of the rows are left out.
    overwrite, label
        What predictions are overwritten with: the label that makes the "tightest" line, that of the
        "majority", a "label" given, or any label at "random".
    degrees
        The shares of predictions that are overwritten.
    line, repetitions
        "exact" for the mean over all ways of overwriting, or "monte-carlo" for the paper's mean
        over some repetitions.
    level, resamples
        The level of all intervals of a kind together (scores, differences to the original and to
        the line, areas), and how often rows are resampled where there is one test set.
    test_size
        The share of rows in each test set where runs split the same data again, since such runs
        overlap; 0 where runs are independent.

    >>> sex = ["f", "f", "f", "f", "f", "f", "m", "m", "m", "m"] * 30
    >>> truth = [0, 1, 0, 1, 0, 1, 1, 1, 0, 0] * 30
    >>> original = [0, 1, 0, 1, 0, 0, 1, 1, 1, 0] * 30
    >>> less = [0, 1, 0, 1, 0, 0, 1, 1, 0, 0] * 15 + original[:150]
    >>> found = compare({"original": original, "less": less}, truth, sex, bias="fpr")
    >>> found.region, found.baseline.label
    ({'less': 'win-win'}, 0)
    """
    _check(outcomes, baseline, level, test_size, line, repetitions, resamples)
    names = [baseline, *(name for name in outcomes if name != baseline)]
    told = {name: outcomes[name] for name in names}
    trials = Trials.of(told, y_true, protected, over=over, support=support)
    return compare_trials(
        trials,
        bias=bias,
        performance=performance,
        positive=positive,
        overwrite=overwrite,
        label=label,
        degrees=degrees,
        repetitions=None if line == "exact" else repetitions,
        level=level,
        resamples=resamples,
        test_size=test_size,
        seed=seed,
    )


def compare_trials(
    trials: Trials,
    *,
    bias: Any = "spd",
    performance: Any = "accuracy",
    positive: Label | None = None,
    overwrite: str = "tightest",
    label: Label | None = None,
    degrees: Sequence[float] = blind.DEGREES,
    repetitions: int | None = None,
    level: float = 0.95,
    resamples: int | None = None,
    test_size: float = 0.3,
    seed: int = 0,
) -> Comparison:
    """Compare what was counted already; `repetitions` None stands for the mean over all ways of
    overwriting.
    """
    frame, names = trials.frame, trials.names
    liked = favourable(frame.labels, positive, bias, performance)
    scores = as_bias(bias, frame, liked), as_performance(performance, frame, liked)
    trials.check_original()
    for who, table in trials.of_original():
        check_defined(scores[0], table, who)
    check_scores(scores, names, trials.tables)
    elsewhere = measured(bias, names, trials.runs) if isinstance(bias, Mapping) else None
    way = blind.choose(
        overwrite, label, frame.labels, trials.tables[0].sum(axis=0), scores, degrees
    )
    axes = Axes(*scores, way, repetitions, seed)
    runs = axes.score(trials.tables)
    if elsewhere is not None:
        runs = elsewhere.into(runs)
    point = runs.mean()
    baseline = axes.baseline(point, frame.labels, overwrite)
    check_original(names[0], point, baseline)
    rows = trials.rows
    if rows is None:
        sureness = Sureness(
            level,
            trials.runs,
            "new splits of this data" if test_size else "runs like these",
            test_size,
        )
        replicates = runs
    else:
        sureness = Sureness(level, len(rows.truth), "people like those of the test set")
        replicates = _resampled(
            axes, trials, resamples or (CALLED if axes.called else RESAMPLES), seed
        )
        replicates = elsewhere.into(replicates) if elsewhere is not None else replicates
    found = judge(
        names,
        point,
        replicates,
        sureness,
        baseline,
        bounds=(
            (scores[1].low, scores[1].high),
            (0.0, np.inf) if scores[0] is None else (scores[0].low, scores[0].high),
        ),
        given=elsewhere.limits if elsewhere is not None else None,
        bias=(
            scores[0].name
            if scores[0] is not None
            else elsewhere.name
            if elsewhere is not None
            else ""
        ),
        performance=scores[1].name,
        seed=seed,
        runs=trials.runs,
    )
    notes = trials.notes_on_groups() if isinstance(scores[0], Bias) else []
    notes += axes.notes(runs)
    if elsewhere is not None:
        notes += elsewhere.notes
    if found.start[1].low <= 0:
        notes.append(
            f"the original may have no bias at all ({found.start[1]}): then there is nothing to"
            " mitigate"
        )
    return replace(found, notes=notes)


def _resampled(axes: Axes, trials: Trials, resamples: int, seed: int) -> Scores:
    """Return the mean scores over runs in each resample of the rows, and of the runs where there
    are several.
    """
    rows = trials.rows
    assert rows is not None
    rng = stream(seed, "compare", "rows")
    parts = [
        axes.score(tables, ends=True).mean(weights)
        for tables, weights in resampled(
            trials.frame, rows.combination, rows.truth, rows.predicted, resamples, rng
        )
    ]
    performance, bias = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    line = tuple(np.concatenate([part.line[at] for part in parts]) for at in (0, 1))
    return Scores(performance, bias, (line[0], line[1]))


def _check(
    outcomes: Any,
    baseline: str,
    level: float,
    test_size: float,
    line: str,
    repetitions: int,
    resamples: int | None,
) -> None:
    if not isinstance(outcomes, Mapping) or len(outcomes) < 2:
        raise UsageError(
            "outcomes must hold the predictions of the original and of a mitigation by name, at"
            " least two"
        )
    if baseline not in outcomes:
        raise UsageError(
            f"baseline = {clip(repr(baseline))} is not among the outcomes;"
            f" {nearest(baseline, outcomes)}"
        )
    if line not in LINES:
        raise UsageError(f"unknown line {clip(repr(line))}; {nearest(line, LINES)}")
    for name, share in (("level", level), ("test_size", test_size)):
        if not isinstance(share, int | float) or not (
            0 < share < 1 or (share == 0 and name == "test_size")
        ):
            raise UsageError(
                f"{name} = {clip(repr(share))} must lie between 0 and 1, for example {_USUAL[name]}"
            )
    for name, number, least in (("repetitions", repetitions, 1), ("resamples", resamples, 100)):
        if number is not None and (
            isinstance(number, bool) or not isinstance(number, int) or number < least
        ):
            raise UsageError(
                f"{name} = {clip(repr(number))} must be a whole number of {least} or more"
            )
