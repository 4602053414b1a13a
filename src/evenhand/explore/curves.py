"""How the outcomes of an individual and a twin change along one feature, asked in one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explore.browser_values import for_browser, outcomes_of
from evenhand.methods.search.margins import Margins
from evenhand.runtime.errors import SubjectError, UsageError, clip, nearest
from evenhand.runtime.label_text import shown
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.explore.tabular import TabularExplorer
    from evenhand.space.feature import Feature, Points
    from evenhand.subject.view import View

MOST_LEVELS = 60
"""How many levels of a category are asked."""
NUMBERS = 41
"""How many values of a number or date are asked, besides those of the two themselves."""
HALF = 0.5
"""The probability above which a classifier without a threshold picks a label."""

SOME_LEVELS = "the first {asked} of {every:,} levels are asked"
ONE_LEFT_OUT = "1 input that breaks a constraint is left out"
LEFT_OUT = "{count:,} inputs that break a constraint are left out"
UNKNOWN_FEATURE = "unknown feature {feature}; {choices}"
UNKNOWN_OUTPUT = "unknown output {output}; {choices}"
FAVOURABLE = "favourable"
NOT_FAVOURABLE = "not favourable"


@dataclass(frozen=True, slots=True)
class CurveScale:
    """What the heights of a curve are: scores, numbers, or outcomes as steps."""

    kind: str
    """One of "probability", "score", "number" and "outcome"."""
    heights: NDArray[np.float64]
    boundary: float | None = None
    ticks: tuple[tuple[float, Any], ...] = ()
    """The outcomes that stand at a height, where there are few, as people call them."""
    of: Any = None
    """The outcome whose probability or score it is, as people call it."""

    def to_dict(self) -> dict[str, Any]:
        """Return all but the heights as the page takes it."""
        return {
            "kind": self.kind,
            "boundary": self.boundary,
            "ticks": [list(tick) for tick in self.ticks],
            "of": for_browser(self.of),
        }


def curve(explorer: TabularExplorer, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcomes of an individual and a twin at each value of a feature.

    >>> from evenhand.explore.tabular import TabularExplorer
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 0, 4)], protected=["sex"])
    >>> lender = Subject(lambda people: people["age"] > 1 + 2 * (people["sex"] == "F"), space)
    >>> ann, bob = {"sex": "F", "age": 2}, {"sex": "M", "age": 2}
    >>> request = {"individual": ann, "twin": bob, "feature": "age"}
    >>> drawn = curve(TabularExplorer(lender), request)
    >>> [line["heights"] for line in drawn["lines"]]
    [[0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0, 1.0]]
    >>> drawn["differs"], drawn["present"]
    ([False, False, True, True, False], [2, 2])
    """
    space = explorer.space
    own = explorer.checked(request.get("individual"))
    twin = explorer.checked(request.get("twin"))
    name = _known(request.get("feature"), space.names, UNKNOWN_FEATURE, "feature")
    feature = space.feature(name)
    view = _view(explorer.views, request.get("output", ""))
    place = list(space.names).index(name)
    both_values = np.array([own[0, place], twin[0, place]])
    values = _values(feature, both_values)
    points = np.concatenate(
        [
            space.under(own, name, values[:, None]),
            space.under(twin, name, values[:, None]),
        ]
    )
    valid = space.valid(points)
    inputs = np.asfortranarray(points[valid])
    outcomes = outcomes_of(view, explorer.subject.decide(inputs))
    scale = _scale(view, inputs, outcomes)
    rows = np.full(len(points), -1)
    rows[valid] = np.arange(len(inputs))
    own_rows, twin_rows = np.split(rows, 2)
    kept = (own_rows >= 0) | (twin_rows >= 0)
    own_rows, twin_rows, values = own_rows[kept], twin_rows[kept], values[kept]
    words = dict(feature.words)
    named_values = [shown(value, words) for value in feature.labels(values)]
    return {
        "feature": name,
        "output": view.name,
        "values": [for_browser(value) for value in named_values],
        "positions": _positions(feature, values),
        "lines": [
            _line(view, scale, outcomes, own_rows),
            _line(view, scale, outcomes, twin_rows),
        ],
        "differs": _differs(view, outcomes, own_rows, twin_rows),
        "present": [_place_of(values, value) for value in both_values.tolist()],
        "scale": scale.to_dict(),
        "notes": _notes(feature, values, int((~valid).sum())),
    }


def _known(name: Any, names: Sequence[str], template: str, field: str) -> str:
    """Return a name that is among others, or raise an error that names the nearest."""
    if isinstance(name, str) and name in names:
        return name
    quoted = clip(repr(name), 60)
    raise UsageError(template.format(**{field: quoted}, choices=nearest(name, names)))


def _view(views: Sequence[View], output: Any) -> View:
    """Return the view of an output; of the first where none is named."""
    if output == "":
        return views[0]
    names = [view.name for view in views]
    name = _known(output, names, UNKNOWN_OUTPUT, "output")
    return views[names.index(name)]


def _values(feature: Feature, both: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of a feature that are asked, those of the two among them."""
    if feature.kind == "category":
        asked = np.arange(min(len(feature.levels), MOST_LEVELS), dtype=np.float64)
        if feature.missing:
            asked = np.append(asked, feature.missing_code)
    elif feature.size <= NUMBERS:
        asked = feature.values()
    else:
        spread = feature.snap(np.linspace(feature.low, feature.high, NUMBERS))
        # Snapping may leave a range that does not end on a step.
        asked = spread[feature.inside(spread)]
    if feature.kind != "category":
        both = both[~feature.is_missing(both)]
    found: NDArray[np.float64] = np.unique(np.concatenate([asked, both]))
    return found


def _positions(feature: Feature, values: NDArray[np.float64]) -> list[float]:
    """Return where values stand along the curve: levels side by side, numbers to scale."""
    if feature.kind == "category":
        return [float(at) for at in range(len(values))]
    positions: list[float] = values.tolist()
    return positions


def _place_of(values: NDArray[np.float64], value: float) -> int | None:
    """Return where a value is among others, None where it is not, as an unknown number."""
    places = np.flatnonzero(values == value).tolist()
    return places[0] if places else None


def _line(
    view: View, scale: CurveScale, outcomes: NDArray[Any], rows: NDArray[np.intp]
) -> dict[str, Any]:
    """Return the heights and outcomes of one of the two; None at inputs that cannot be."""
    heights: list[float | None] = []
    answers: list[Any] = []
    for row in rows.tolist():
        height = scale.heights[row] if row >= 0 else np.nan
        heights.append(float(height) if np.isfinite(height) else None)
        answers.append(_in_words(view, outcomes[row]) if row >= 0 else None)
    return {"heights": heights, "outcomes": answers}


def _in_words(view: View, outcome: Any) -> Any:
    """Return an outcome as people call it."""
    return for_browser(view.meaning.shown(plain(outcome)))


def _differs(
    view: View,
    outcomes: NDArray[Any],
    own_rows: NDArray[np.intp],
    twin_rows: NDArray[np.intp],
) -> list[bool | None]:
    """Return at which values the two outcomes differ; None where not both can be asked."""
    differs: list[bool | None] = [None] * len(own_rows)
    both = np.flatnonzero((own_rows >= 0) & (twin_rows >= 0))
    distance = view.distance(outcomes[own_rows[both]], outcomes[twin_rows[both]])
    for at, apart in zip(both.tolist(), distance.tolist(), strict=True):
        differs[at] = apart > 0
    return differs


def _scale(view: View, inputs: Points, outcomes: NDArray[Any]) -> CurveScale:
    """Return the best scale that there is for outcomes."""
    scores = _scores(view, inputs, outcomes)
    if scores is not None:
        return scores
    has_favourable = view.counts and view.positive is not None
    if has_favourable:
        heights = view.favourable(outcomes).astype(np.float64)
        ticks = ((0.0, NOT_FAVOURABLE), (1.0, FAVOURABLE))
        return CurveScale("outcome", heights, ticks=ticks)
    if outcomes.dtype.kind in "iuf":
        return CurveScale("number", outcomes.astype(np.float64))
    return _steps(view, outcomes)


def _steps(view: View, outcomes: NDArray[Any]) -> CurveScale:
    """Return a step for each outcome, in the order in which they come."""
    step_of: dict[Any, float] = {}
    if all(isinstance(outcome, bool) for outcome in outcomes.tolist()):
        step_of = {False: 0.0, True: 1.0}
    heights = []
    for outcome in outcomes.tolist():
        heights.append(step_of.setdefault(outcome, float(len(step_of))))
    ticks = [(height, _in_words(view, outcome)) for outcome, height in step_of.items()]
    return CurveScale("outcome", np.array(heights), ticks=tuple(ticks))


def _scores(view: View, inputs: Points, outcomes: NDArray[Any]) -> CurveScale | None:
    """Return the scores of a classifier in this process, None where labels do not follow them."""
    adapter = view.subject.adapter
    for scorer in getattr(adapter, "scorers", ()):
        try:
            labels, margins = Margins(view, scorer).decide(inputs)
        except SubjectError:
            continue  # a model that cannot score can still be asked for labels
        if np.array_equal(labels, outcomes) and np.isfinite(margins).all():
            threshold = getattr(adapter, "threshold", None)
            return _score_scale(view, scorer, margins, outcomes, threshold)
    return None


def _score_scale(
    view: View,
    scorer: str,
    margins: NDArray[np.float64],
    outcomes: NDArray[Any],
    threshold: float | None,
) -> CurveScale:
    """Return margins as probabilities where that is what they are, else as scores around zero."""
    boundary = HALF if threshold is None else threshold
    heights = margins + boundary
    kind = "probability"
    if scorer != "predict_proba" or heights.min() < 0 or heights.max() > 1:
        kind, heights, boundary = "score", margins, 0.0
    above = margins > 0
    if _counts_down(view, outcomes, above):
        # What people look for goes up: the favourable outcome.
        top = 1.0 if kind == "probability" else 0.0
        heights, boundary, above = top - heights, top - boundary, ~above
    of = _in_words(view, _label_above(view, outcomes, above))
    return CurveScale(kind, heights, boundary, of=of)


def _counts_down(view: View, outcomes: NDArray[Any], above: NDArray[np.bool_]) -> bool:
    """Return whether a higher score is known to be less favourable."""
    if not view.counts or view.positive is None:
        return False
    return bool(np.all(view.favourable(outcomes) != above))


def _label_above(view: View, outcomes: NDArray[Any], above: NDArray[np.bool_]) -> Any:
    """Return the outcome of a score above the boundary, None where nothing tells."""
    if above.any():
        return outcomes[above][0]
    labels = view.labels or view.classes or ()
    seen = set(outcomes.tolist())
    others = [label for label in labels if label not in seen]
    return others[0] if len(others) == 1 else None


def _notes(feature: Feature, values: NDArray[np.float64], invalid: int) -> list[str]:
    """Return what was not asked."""
    notes = []
    if feature.kind == "category" and len(feature.levels) > MOST_LEVELS:
        every = len(feature.levels)
        notes.append(SOME_LEVELS.format(asked=len(values), every=every))
    if invalid == 1:
        notes.append(ONE_LEFT_OUT)
    elif invalid > 1:
        notes.append(LEFT_OUT.format(count=invalid))
    return notes
