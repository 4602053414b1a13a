"""compare: is a mitigation better than blindly giving up accuracy (Fairea, FSE 2021)?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare import COMPARE, messages
from evenhand.methods.compare import regions as blind
from evenhand.methods.compare.axes import (
    Axes,
    as_bias,
    as_performance,
    favourable,
    measured,
)
from evenhand.methods.compare.metrics.scores import Bias, check_defined, check_scores
from evenhand.methods.compare.resampling import resampled
from evenhand.methods.compare.standings import IntervalMethod, Scores, check_original, judge
from evenhand.methods.compare.trials import Trials
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.random_streams import stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenhand.methods.compare.axes import MeasuredBias
    from evenhand.methods.compare.comparison import Comparison
    from evenhand.methods.compare.metrics import Metric
    from evenhand.methods.compare.metrics.scores import TableScore
    from evenhand.space.feature import Label

LINES = ("exact", "monte-carlo")
_USUAL = {"level": 0.95, "test_size": 0.3}
RESAMPLES = 2_000
"""Resamples by default."""
RESAMPLES_OF_FUNCTIONS = 200
"""Resamples by default where functions of the user must be called for each."""
LEAST_RESAMPLES = 100


@COMPARE.options.checked
def compare(
    outcomes: Mapping[str, Any] | None = None,
    y_true: Any = None,
    protected: Any = None,
    *,
    baseline: str | Sequence[tuple[float, float]] = "original",
    bias: str | Metric | Callable[..., float] | Mapping[str, Any] = "spd",
    performance: str | Metric | Callable[..., float] | Mapping[str, float] = "accuracy",
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
    """Compare mitigations with blindly overwriting predictions of an original (Fairea).

    The line goes from the original to the blind overwriting of all its predictions. A mitigation
    is better than that where it lies above.

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
        The name of the original; for published scores the points of the line, as (performance,
        bias).
    bias
        "spd", "aod", "aod-abs", "eod", "odds", "fpr", "di" or "error"; a function of true labels,
        predicted labels and protected values that is larger the more biased they are (a difference
        of Fairlearn, say, not a ratio); or measured scores by name: numbers, estimates, or results
        of `measure` and `mine`, whose worst finding counts. Such scores go down in proportion along
        the line. A `Metric` is a function of counts, which is faster.
    performance
        "accuracy", "balanced accuracy", "f1" or "mcc"; the name of a scorer of scikit-learn; a
        function like those for `bias`, or a `Metric`. Larger is better. Published scores by name
        are compared without predictions: then `outcomes`, `y_true` and `protected` are left out,
        `bias` has a number for each name, the original is called "original" or comes first, and
        nothing has an interval.
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
        The level at which the regions of all mitigations hold together, and how often rows are
        resampled where there is one test set. Intervals of scores and areas are descriptive: those
        of a kind hold together at the level, but not with the regions.
    test_size
        The share of rows in each test set where runs split the same data again, since such runs
        overlap; 0 where runs are independent.
    seed
        The seed of resamples and of a monte-carlo line.

    Returns
    -------
    Comparison
        The region of each mitigation with all that are plausible, its scores and gain with their
        intervals, and the line.

    Raises
    ------
    UsageError
        If an option is unknown, out of range, or cannot be combined with another, or if the
        original has no bias or no performance to give up.
    DataError
        If columns differ in length, have missing values or unknown labels, or if a score is
        undefined for them.

    See Also
    --------
    See docs/how-to/compare.md

    Examples
    --------
    >>> sex = ["f", "f", "f", "f", "f", "f", "m", "m", "m", "m"] * 30
    >>> truth = [0, 1, 0, 1, 0, 1, 1, 1, 0, 0] * 30
    >>> original = [0, 1, 0, 1, 0, 0, 1, 1, 1, 0] * 30
    >>> less = [0, 1, 0, 1, 0, 0, 1, 1, 0, 0] * 15 + original[:150]
    >>> found = compare({"original": original, "less": less}, truth, sex, bias="fpr")
    >>> found.region, found.baseline.label
    ({'less': 'win-win'}, 0)
    """
    if isinstance(performance, Mapping):
        given = {"outcomes": outcomes, "y_true": y_true, "protected": protected}
        return _published(given, performance, bias, baseline, seed)
    _check(outcomes, baseline, level, test_size, line, repetitions, resamples)
    assert isinstance(outcomes, Mapping)
    assert isinstance(baseline, str)
    predictions = {baseline: outcomes[baseline], **outcomes}
    trials = Trials.of(predictions, y_true, protected, over=over, support=support)
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


def _published(
    given: Mapping[str, Any],
    performance: Mapping[str, float],
    bias: Any,
    baseline: Any,
    seed: int,
) -> Comparison:
    """Compare published scores, where nothing was given that they cannot be combined with."""
    from evenhand.methods.compare.given.published import compare_published

    for option, value in given.items():
        empty = isinstance(value, Mapping) and not value
        if value is not None and not empty:
            raise UsageError(messages.PUBLISHED_WITH_OUTCOMES.format(option=option))
    return compare_published(performance, bias, baseline, seed=seed)


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
    """Compare what was counted already.

    `repetitions` None stands for the mean over all ways of overwriting.
    """
    labels = trials.frame.labels
    scores = _checked_scores(trials, bias, performance, positive)
    elsewhere = (
        measured(bias, trials.names, trials.runs) if isinstance(bias, Mapping) else None
    )
    original = trials.tables[0].sum(axis=0)
    way = blind.choose(overwrite, label, labels, original, scores, degrees)
    axes = Axes(*scores, way, repetitions, seed)
    runs = axes.score(trials.tables)
    if elsewhere is not None:
        runs = elsewhere.into(runs)
    point = runs.mean()
    baseline = axes.baseline(point, labels, overwrite)
    check_original(trials.names[0], point, baseline)
    if trials.rows is None:
        replicates = runs
    else:
        replicates = _resampled(axes, trials, resamples, seed)
        if elsewhere is not None:
            replicates = elsewhere.into(replicates)
    found = judge(
        trials.names,
        point,
        replicates,
        _interval_method(trials, level, test_size),
        baseline,
        bounds=_bounds(scores),
        bias_limits=None if elsewhere is None else elsewhere.limits,
        bias=_bias_name(scores[0], elsewhere),
        performance=axes.performance.name,
        seed=seed,
        runs=trials.runs,
    )
    notes = trials.notes_on_groups() if isinstance(axes.bias, Bias) else []
    notes += axes.notes(runs)
    if elsewhere is not None:
        notes += elsewhere.notes
    notes += notes_on_original(found)
    return replace(found, notes=notes)


def notes_on_original(found: Comparison) -> list[str]:
    """Return a note where the original may have no bias at all."""
    _, bias = found.start
    if bias.low > 0:
        return []
    return [messages.ORIGINAL_MAY_HAVE_NO_BIAS.format(bias=bias)]


def _checked_scores(
    trials: Trials,
    bias: Any,
    performance: Any,
    positive: Label | None,
) -> tuple[TableScore | None, TableScore]:
    """Return both scores, which are defined for all predictions."""
    frame = trials.frame
    label = favourable(frame.labels, positive, bias, performance)
    scores = as_bias(bias, frame, label), as_performance(performance, frame, label)
    trials.check_original()
    for test_set, table in trials.of_original():
        check_defined(scores[0], table, test_set)
    check_scores(scores, trials.names, trials.tables)
    return scores


def _interval_method(
    trials: Trials,
    level: float,
    test_size: float,
) -> IntervalMethod:
    """Return how limits come about: by resampling one test set, or from runs with one each."""
    if trials.rows is not None:
        return IntervalMethod(
            level, len(trials.rows.truth), messages.PEOPLE_OF_THE_TEST_SET
        )
    population = messages.NEW_SPLITS if test_size else messages.RUNS_LIKE_THESE
    return IntervalMethod(level, trials.runs, population, test_size)


def _bounds(
    scores: tuple[TableScore | None, TableScore],
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the least and the most that performance and bias can be."""
    bias, performance = scores
    bias_bounds = (0.0, np.inf) if bias is None else (bias.low, bias.high)
    return (performance.low, performance.high), bias_bounds


def _bias_name(
    bias: TableScore | None,
    elsewhere: MeasuredBias | None,
) -> str:
    if bias is not None:
        return bias.name
    return "" if elsewhere is None else elsewhere.name


def _resampled(
    axes: Axes,
    trials: Trials,
    resamples: int | None,
    seed: int,
) -> Scores:
    """Return the mean scores over runs in each resample of the rows.

    Where there are several runs, they are resampled too.
    """
    rows = trials.rows
    assert rows is not None
    if not resamples:
        resamples = RESAMPLES_OF_FUNCTIONS if axes.called else RESAMPLES
    rng = stream(seed, "compare", "rows")
    drawn = resampled(
        trials.frame, rows.combination, rows.truth, rows.predicted, resamples, rng
    )
    parts = [axes.score(tables, ends=True).mean(weights) for tables, weights in drawn]
    return Scores(
        performance=np.concatenate([part.performance for part in parts]),
        bias=np.concatenate([part.bias for part in parts]),
        line=(
            np.concatenate([part.line[0] for part in parts]),
            np.concatenate([part.line[1] for part in parts]),
        ),
    )


def _check(
    outcomes: Any,
    baseline: Any,
    level: float,
    test_size: float,
    line: str,
    repetitions: int | None,
    resamples: int | None,
) -> None:
    """Refuse options that are unknown or out of range."""
    if not isinstance(outcomes, Mapping) or len(outcomes) < 2:
        raise UsageError(messages.TOO_FEW_OUTCOMES)
    if not isinstance(baseline, str) or baseline not in outcomes:
        message = messages.BASELINE_NOT_AN_OUTCOME.format(
            baseline=clip(repr(baseline)),
            choices=nearest(baseline, outcomes),
        )
        raise UsageError(message)
    if line not in LINES:
        choices = nearest(line, LINES)
        message = messages.UNKNOWN_LINE.format(
            line=clip(repr(line)),
            choices=choices,
        )
        raise UsageError(message)
    _check_share("level", level, or_none=False)
    _check_share("test_size", test_size, or_none=True)
    if repetitions is not None:
        check_whole("repetitions", repetitions, 1)
    if resamples is not None:
        check_whole("resamples", resamples, LEAST_RESAMPLES)


def _check_share(option: str, share: Any, *, or_none: bool) -> None:
    """Refuse what does not lie between 0 and 1; `or_none` allows 0 itself."""
    is_number = isinstance(share, int | float)
    if is_number and (0 < share < 1 or (share == 0 and or_none)):
        return
    message = messages.NOT_BETWEEN_0_AND_1.format(
        option=option,
        value=clip(repr(share)),
        example=_USUAL[option],
    )
    raise UsageError(message)


def check_whole(option: str, number: Any, least: int) -> None:
    """Refuse what is not a whole number of at least so many."""
    is_whole = isinstance(number, int) and not isinstance(number, bool)
    if not is_whole or number < least:
        message = messages.NOT_A_WHOLE_NUMBER.format(
            option=option,
            value=clip(repr(number)),
            least=least,
        )
        raise UsageError(message)
