"""Metrics of a comparison: how biased and how right predictions are, each under its name.

To add one, write a function of tables in `cells` and add a line here; another package adds an entry
point of the group `evenhand.metrics`, and a program calls ``METRICS.register(name, metric)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Literal, get_args

from evenhand.methods.compare import messages
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.registry import Deferred, Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

Kind = Literal["bias", "performance"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Metric:
    """A number for counts of people: a bias, which compares groups, or a performance.

    Parameters
    ----------
    name
        What results and reports call it.
    function
        ``function(cells, favourable)``. The last axes of `cells` are, for a bias, group, true label
        and predicted label, and for a performance true label and predicted label; any number of
        tables come at once, along axes before these, and there must be one number for each.
        `favourable` holds for each label whether it is favourable. A performance gets None for it
        where there are more than two labels and none is named; a bias is then computed for each
        label against the rest, and over several protected features for each of them, and the worst
        counts. NaN stands for an undefined metric.
    linear
        Whether overwriting a share of the predictions blindly moves it by that share of the way:
        then the line that mitigations are held against is straight, and exact. Leave it False where
        you are not sure.
    kind
        "bias", of 0 or more and the more the worse, or "performance", the more the better.
    help
        What it is, in a few words.
    bounds
        The least and the most that it can be.
    needs_positive
        Whether it depends on which of two labels is the favourable one, so that this has to be
        known.
    rests_on
        The true labels that some row of every group must have: "favourable", "unfavourable", or
        both.

    Raises
    ------
    UsageError
        If `name` is not a text, `function` cannot be called, or `kind` or `rests_on` is unknown.

    See Also
    --------
    See docs/how-to/compare.md

    Examples
    --------
    How far groups are apart in how many of their favourable predictions are right:

    >>> import evenhand as eh
    >>> def precision_gap(cells, favourable):
    ...     predicted = cells[..., favourable].sum(axis=(-2, -1))
    ...     right = cells[..., favourable, :][..., favourable].sum(axis=(-2, -1))
    ...     precision = right / predicted
    ...     return precision.max(axis=-1) - precision.min(axis=-1)
    >>> gap = eh.Metric("precision gap", precision_gap, bounds=(0, 1), needs_positive=True)
    >>> sex = ["f", "f", "f", "f", "f", "f", "m", "m", "m", "m"] * 30
    >>> truth = [0, 1, 0, 1, 0, 1, 1, 1, 0, 0] * 30
    >>> original = [0, 1, 0, 1, 0, 0, 1, 1, 1, 0] * 30
    >>> less = [0, 1, 0, 1, 0, 0, 1, 1, 0, 0] * 30
    >>> found = eh.compare({"original": original, "less": less}, truth, sex, bias=gap)
    >>> found.bias, round(found.start[1].value, 3), found["less"].bias.value
    ('precision gap', 0.333, 0.0)
    """

    name: str
    function: Callable[[Any, Any], Any]
    linear: bool = False
    kind: Kind = "bias"
    help: str = ""
    bounds: tuple[float, float] = (-inf, inf)
    needs_positive: bool = False
    rests_on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        name = repr(self.name)
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(messages.METRIC_NAME.format(name=clip(name)))
        if not callable(self.function):
            function = clip(repr(self.function))
            message = messages.METRIC_FUNCTION.format(
                name=name,
                function=function,
            )
            raise UsageError(message)
        if self.kind not in KINDS:
            message = messages.METRIC_KIND.format(
                name=name,
                kind=clip(repr(self.kind)),
                choices=nearest(self.kind, KINDS),
            )
            raise UsageError(message)
        for label in self.rests_on:
            if label not in LABELS:
                message = messages.METRIC_RESTS_ON.format(
                    name=name,
                    label=clip(repr(label)),
                    choices=nearest(label, LABELS),
                )
                raise UsageError(message)


LABELS = ("favourable", "unfavourable")
"""True labels that a metric may rest on."""
_RATE = (0.0, 1.0)


def _cells(function: str) -> Deferred:
    """Return a function that is imported when it is called.

    Names and help texts must cost no import of NumPy.
    """
    return Deferred(f"evenhand.methods.compare.metrics.cells:{function}")


_BIASES = (
    Metric(
        "spd",
        _cells("parity"),
        linear=True,
        bounds=_RATE,
        help="how far shares of favourable predictions are apart",
    ),
    Metric(
        "aod",
        _cells("average_odds"),
        linear=True,
        bounds=_RATE,
        rests_on=LABELS,
        help=(
            "the size of the average difference of true and false positive rates, as the paper"
            " defines it"
        ),
    ),
    Metric(
        "aod-abs",
        _cells("average_odds_sizes"),
        linear=True,
        bounds=_RATE,
        rests_on=LABELS,
        help="the average size of both differences, as the paper's code computes it",
    ),
    Metric(
        "eod",
        _cells("opportunity"),
        linear=True,
        bounds=_RATE,
        needs_positive=True,
        rests_on=("favourable",),
        help="how far true positive rates are apart",
    ),
    Metric(
        "fpr",
        _cells("false_alarms"),
        linear=True,
        bounds=_RATE,
        needs_positive=True,
        rests_on=("unfavourable",),
        help="how far false positive rates are apart",
    ),
    Metric(
        "odds",
        _cells("odds"),
        linear=True,
        bounds=_RATE,
        rests_on=LABELS,
        help="the larger of eod and fpr",
    ),
    Metric(
        "di",
        _cells("impact"),
        bounds=_RATE,
        needs_positive=True,
        help="one less the ratio of the shares of favourable predictions",
    ),
    Metric(
        "error",
        _cells("errors"),
        bounds=_RATE,
        help="how far shares of right predictions are apart",
    ),
)
_PERFORMANCES = (
    Metric(
        "accuracy",
        _cells("accuracy"),
        linear=True,
        kind="performance",
        bounds=_RATE,
        help="the share of right predictions",
    ),
    Metric(
        "balanced accuracy",
        _cells("balanced_accuracy"),
        linear=True,
        kind="performance",
        bounds=_RATE,
        help="the share of right predictions, mean over true labels",
    ),
    Metric(
        "f1",
        _cells("f1"),
        kind="performance",
        bounds=_RATE,
        needs_positive=True,
        help="the harmonic mean of precision and recall of the favourable label",
    ),
    Metric(
        "mcc",
        _cells("mcc"),
        kind="performance",
        bounds=(-1.0, 1.0),
        help="Matthews' correlation of true and predicted labels",
    ),
)


def _problem(_name: str, entry: Any) -> str:
    """Return what is wrong with a metric of another package; empty where nothing is."""
    if isinstance(entry, Metric):
        return ""
    return messages.METRIC_ENTRY.format(entry=clip(repr(entry)))


METRICS: Registry[Metric] = Registry(
    "metric",
    "evenhand.metrics",
    {metric.name: metric for metric in (*_BIASES, *_PERFORMANCES)},
    problem=_problem,
)


def metric_names(kind: Kind) -> list[str]:
    """Return the names of all metrics of a kind.

    A metric of another package that cannot be loaded is passed over.

    >>> metric_names("performance")
    ['accuracy', 'balanced accuracy', 'f1', 'mcc']
    """
    return [name for name, metric in METRICS.items() if metric.kind == kind]


def as_metric(metric: Any, kind: Kind) -> Metric | None:
    """Return the metric that an object is or a name stands for; None if none is of this kind.

    >>> as_metric("spd", "bias").linear, as_metric("spd", "performance")
    (True, None)
    """
    if isinstance(metric, Metric):
        if metric.kind != kind:
            message = messages.METRIC_OF_OTHER_KIND.format(
                option=kind,
                name=clip(repr(metric.name)),
                kind=metric.kind,
                choices=nearest("", metric_names(kind)),
            )
            raise UsageError(message)
        return metric
    if isinstance(metric, str) and metric in METRICS and METRICS[metric].kind == kind:
        return METRICS[metric]
    return None


def needs_positive(metric: Any) -> bool:
    """Return whether a metric, or what a name stands for, depends on the favourable label."""
    if isinstance(metric, str) and metric in METRICS:
        metric = METRICS[metric]
    return isinstance(metric, Metric) and metric.needs_positive
