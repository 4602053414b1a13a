"""What the what-if page asks of tabular software: an individual and its twins, in one question."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explore.browser_values import (
    EXACT,
    for_browser,
    outcome_entries,
    outcomes_of,
    output_entries,
    record_for_browser,
)
from evenhand.results.evidence import Case
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.space.constraints import Constraint, named
from evenhand.space.feature import combinations, plain, product
from evenhand.space.space import Space
from evenhand.space.values.dates import day_of
from evenhand.subject.view import views_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Points
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

MOST_TWINS = 200
"""Up to how many combinations of protected values all of them are asked.

A feature that is changed by itself has no more values either.
"""
MOST_NUMBERS = 20
"""How many values of a protected number are asked where not all combinations are."""
MOST_TRIED = 10_000
"""How many values of a feature are searched for the nearest one that keeps the constraints."""

NO_TWINS = "no feature of the space is protected, so the individual has no twins"
NOT_PASSED = (
    "{feature} is not passed to the software, so changing it alone changes nothing, which is no"
    " evidence of fairness"
)
EACH_ALONE = (
    "there are too many combinations of protected values, so each feature is changed by"
    " itself"
)
SOME_VALUES = "of {feature} {asked} values of {every} are asked"
ONE_INVALID_TWIN = "1 twin that breaks a constraint is left out"
INVALID_TWINS = "{count:,} twins that break a constraint are left out"


class InvalidIndividual(UsageError):
    """An individual that is not an input of the space, and the features that are wrong in it."""

    def __init__(self, message: str, *names: str) -> None:
        super().__init__(message)
        self.names = names


@dataclass(frozen=True, slots=True)
class Pair:
    """An individual and a twin with another outcome.

    `about` holds the names of what was changed, and `output` is the output that differs.
    """

    about: tuple[str, ...]
    output: str
    case: Case


@dataclass(frozen=True, eq=False)
class TabularExplorer:
    """Software that takes the inputs of a space, and the questions that a person may put to it.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.subject.subject import Subject
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> lender = Subject(lambda people: (people["age"] > 30) | (people["sex"] == "M"), space)
    >>> answer = TabularExplorer(lender).decide({"sex": "F", "age": 20})
    >>> answer["outcomes"][0]["value"]
    False
    >>> answer["twins"][0]["individual"], answer["twins"][0]["differs"]
    ({'sex': 'M', 'age': 20}, True)
    """

    subject: Subject

    job = "explore"

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.subject.space

    @cached_property
    def views(self) -> tuple[View, ...]:
        """One view of each output."""
        return views_of(self.subject)

    @property
    def table(self) -> dict[str, Any]:
        """The space as a result holds it."""
        return self.space.to_dict()

    def form(self) -> dict[str, Any]:
        """Return what a page must know to draw the form."""
        return {
            "kind": "inputs",
            "software": self.subject.name,
            "features": [self._form_field(feature) for feature in self.space.features],
            "constraints": [named(constraint) for constraint in self.space.constraints],
            "outputs": output_entries(self.views),
        }

    def _form_field(self, feature: Feature) -> dict[str, Any]:
        """Return what a page must know to draw the field of a feature."""
        entry = feature.to_dict()
        entry["protected"] = feature.name in self.space.protected
        entry["passed"] = feature.passed
        if feature.kind == "category":
            entry["levels"] = [for_browser(level) for level in feature.levels]
            if feature.missing:
                entry["levels"].append(for_browser(None))
        else:
            entry["step"] = feature.step
            entry["domain"] = feature.domain
            if _is_named_throughout(feature):
                entry["levels"] = [
                    for_browser(value) for value in feature.labels(feature.values())
                ]
        entry.pop("bins", None)
        return entry

    def start(self) -> dict[str, Any]:
        """Return an individual to begin with, which is the same every time."""
        return self._record(self.space.draw(1, stream(0, "explore")))

    def case(self, case: Case) -> dict[str, Any] | None:
        """Return a case as the page takes it, None where it is of another space."""
        try:
            individual = self._encoded(case.individual)
            twin = self._encoded(case.twin)
        except UsageError:
            return None
        return {
            "individual": self._record(individual),
            "twin": self._record(twin),
            "outcomes": [for_browser(outcome) for outcome in case.outcomes],
        }

    def decide(self, individual: Any, twin: Any = None) -> dict[str, Any]:
        """Return the outcome of an individual and of its twins, all asked at once.

        `twin` is one more of them, which may differ in any feature: that of a case.
        """
        own = self.checked(individual)
        twins, notes = self._twins(own)
        if twin is not None:
            case_twin = self.checked(twin)
            twins = np.concatenate([case_twin, twins])
        twins = _distinct(own, twins)
        inputs = np.concatenate([own, twins])
        outcomes = self.subject.decide(np.asfortranarray(inputs))
        entries, differs = outcome_entries(self.views, outcomes)
        return {
            "individual": self._record(own),
            "outcomes": entries[0],
            "twins": self._twin_entries(own, twins, entries[1:], differs[1:]),
            "notes": notes,
        }

    def _twin_entries(
        self,
        own: Points,
        twins: Points,
        outcomes: Sequence[list[dict[str, Any]]],
        differs: NDArray[np.bool_],
    ) -> list[dict[str, Any]]:
        """Return what the page shows of each twin: those that differ, and few changes, first."""
        entries: list[dict[str, Any]] = []
        for at, record in enumerate(self.space.records(twins)):
            entry = {
                "individual": record_for_browser(record),
                "changed": self._changed(own[0], twins[at]),
                "outcomes": outcomes[at],
                "differs": bool(differs[at]),
            }
            entries.append(entry)
        entries.sort(key=lambda entry: (not entry["differs"], len(entry["changed"])))
        return entries

    def pairs(self, individual: Any, twin: Any) -> list[Pair]:
        """Ask about two inputs, each twice, and return one case for each output that differs."""
        own_point = self.checked(individual)
        twin_point = self.checked(twin)
        points = np.concatenate([own_point, twin_point])
        inputs = np.asfortranarray(points)
        changed = tuple(self._changed(inputs[0], inputs[1]))
        if not changed:
            raise UsageError(
                "the individual and its twin are the same, so there is no pair to save"
            )
        # A pair of software that answers differently every time would be no evidence.
        self.subject.need_deterministic(inputs)
        outcomes = self.subject.decide(inputs)
        own_record, twin_record = self.space.records(inputs)
        pairs = []
        for view in self.views:
            both_outcomes = outcomes_of(view, outcomes)
            (distance,) = view.distance(both_outcomes[:1], both_outcomes[1:])
            if distance > 0:
                plain_outcomes = (plain(both_outcomes[0]), plain(both_outcomes[1]))
                case = Case(own_record, twin_record, plain_outcomes)
                pairs.append(Pair(changed, view.name, case))
        if not pairs:
            raise UsageError(
                "the outcomes of these two do not differ, so there is no pair to save"
            )
        return pairs

    def _changed(self, point: Points, other: Points) -> list[str]:
        """Return the names of the features in which two points differ."""
        names = self.space.names
        places = np.flatnonzero(point != other)
        return [names[at] for at in places.tolist()]

    def _record(self, point: Points) -> dict[str, Any]:
        """Return a point as the page takes it."""
        return record_for_browser(self.space.records(point)[0])

    def _encoded(self, individual: Any) -> Points:
        """Return an individual as a point; raise an error that names what it cannot be."""
        if not isinstance(individual, Mapping):
            raise UsageError(
                f"the individual is {clip(repr(individual))}; values by feature name are expected"
            )
        for name in individual:
            if name not in self.space.names:
                raise UsageError(
                    f"unknown feature {_quoted(name)}; {nearest(name, self.space.names)}"
                )
        for name in self.space.names:
            if name not in individual:
                raise InvalidIndividual(
                    f"the individual has no value for {_quoted(name)}; give it one", name
                )
        codes = []
        for feature in self.space.features:
            codes.append(_code(feature, individual[feature.name]))
        return np.array([codes])

    def checked(self, individual: Any) -> Points:
        """Return an individual as a point that keeps every constraint."""
        point = self._encoded(individual)
        if not self.space.valid(point)[0]:
            self._refuse(point)
        return point

    def _refuse(self, point: Points) -> NoReturn:
        """Raise an error with the broken constraints and the nearest change that keeps them all."""
        constraints = []
        touched: dict[str, None] = {}
        for constraint in self.space.constraints:
            if not self._keeps(point, constraint):
                constraints.append(f"'{clip(named(constraint), 200)}'")
                touched |= dict.fromkeys(self._features_in(constraint))
        names = list(touched)
        hint = self._hint(point, names)
        broken = " and ".join(constraints)
        raise InvalidIndividual(f"this breaks the constraint {broken}; {hint}", *names)

    def _hint(self, point: Points, names: Sequence[str]) -> str:
        """Return which change of one feature is the smallest that keeps all constraints."""
        moves = []
        for name in names:
            move = self._nearest_move(point, name)
            if move is not None:
                moves.append(move)
        if not moves:
            return "no change of one feature alone makes it valid"
        _, name, value = min(moves, key=lambda move: move[0])
        return f"the nearest valid choice is {_quoted(name)} = {_quoted(value)}"

    def _keeps(self, point: Points, constraint: Any) -> bool:
        """Return whether a point keeps a constraint."""
        space = self.space
        constrained = Space(space.features, (), [constraint], space.layout)
        (is_valid,) = constrained.valid(point)
        return bool(is_valid)

    def _features_in(self, constraint: Any) -> Sequence[str]:
        """Return the features that a constraint names; all of them where it is a function."""
        if isinstance(constraint, str):
            return Constraint.parse(constraint, self.space.features).touches
        return self.space.names

    def _nearest_move(self, point: Points, name: str) -> tuple[float, str, Any] | None:
        """Return the nearest change of a feature that keeps all constraints, None without one.

        It is the distance as a share of the range, the feature's name, and its new value. Any
        other level of a category is a whole range away.
        """
        space = self.space
        feature = space.feature(name)
        values = spread(feature, MOST_TRIED)
        candidates = space.under(point, name, values[:, None])
        valid_values = values[space.valid(candidates)]
        if not len(valid_values):
            return None
        own_value = point[0, space.index(name)]
        distances = np.abs(valid_values - own_value)
        best = int(np.argmin(distances))
        (label,) = feature.labels(valid_values[best : best + 1])
        if feature.kind == "category":
            return 1.0, name, label
        width = feature.high - feature.low
        share = float(distances[best]) / width
        return share, name, label

    def _twins(self, own: Points) -> tuple[Points, list[str]]:
        """Return the individual's twins that keep the constraints, and notes about them."""
        space = self.space
        if not space.protected:
            return own[:0], [NO_TWINS]
        features = [space.feature(name) for name in space.protected]
        notes = []
        for feature in features:
            if not feature.passed:
                notes.append(NOT_PASSED.format(feature=_quoted(feature.name)))
        sizes = [feature.size for feature in features]
        if combinations(sizes) <= MOST_TWINS:
            values = product([feature.twin_values() for feature in features])
            twins = space.under(own, list(space.protected), values)
        else:
            notes.append(EACH_ALONE)
            changed_alone = []
            for feature in features:
                changed_alone.append(self._changed_alone(own, feature, notes))
            twins = np.concatenate(changed_alone)
        valid = space.valid(twins)
        invalid = int((~valid).sum())
        if invalid == 1:
            notes.append(ONE_INVALID_TWIN)
        elif invalid > 1:
            notes.append(INVALID_TWINS.format(count=invalid))
        return twins[valid], notes

    def _changed_alone(self, own: Points, feature: Feature, notes: list[str]) -> Points:
        """Return the individual with other values of one feature; note where not all are asked."""
        most = MOST_TWINS if feature.kind == "category" else MOST_NUMBERS
        values = spread(feature, most)
        if len(values) < feature.size:
            if math.isinf(feature.size):
                every = "all numbers"
            else:
                every = f"{int(feature.size):,}"
            note = SOME_VALUES.format(
                feature=_quoted(feature.name),
                asked=len(values),
                every=every,
            )
            notes.append(note)
        return self.space.under(own, feature.name, values[:, None])


def spread(feature: Feature, most: int) -> NDArray[np.float64]:
    """Return all values of a feature, or at most `most` of them.

    Where there are more, these are the first levels of a category, or numbers over a range.

    >>> from evenhand.space.feature import integer
    >>> spread(integer("age", 0, 100), 5).tolist()
    [0.0, 25.0, 50.0, 75.0, 100.0]
    """
    if feature.size <= most:
        return feature.values()
    if feature.kind == "category":
        return np.arange(most, dtype=np.float64)
    evenly_spaced = np.linspace(feature.low, feature.high, most)
    values = np.unique(feature.snap(evenly_spaced))
    # Snapping may leave a range that does not end on a step.
    return values[feature.inside(values)]


def _distinct(own: Points, twins: Points) -> Points:
    """Return twins that are not the individual itself, each once, in their order."""
    _, first_places = np.unique(twins, axis=0, return_index=True)
    # `unique` sorts the twins, and their order is that in which they are shown.
    first_places = np.sort(first_places)
    distinct: Points = twins[first_places]
    is_other = np.any(distinct != own, axis=1)
    return distinct[is_other]


def _is_named_throughout(feature: Feature) -> bool:
    """Return whether each value of a number has a label, so that a list is easier to read."""
    return (
        bool(feature.words) and not feature.missing and feature.size == len(feature.words)
    )


def _code(feature: Feature, value: Any) -> float:
    """Return a value that came from a page as its code or number, or raise an error."""
    is_empty = value is None or (value == "" and feature.kind != "category")
    is_unknown = value == for_browser(None) and value not in feature.levels
    if feature.missing and (is_empty or is_unknown):
        return feature.missing_code
    if feature.kind == "category":
        return _level_code(feature, value)
    if feature.kind == "date":
        return _date_code(feature, value)
    return _number_code(feature, value)


def _date_code(feature: Feature, value: Any) -> float:
    """Return the day of a date, which a browser gives as an ISO text."""
    day = day_of(value)
    number = np.array([np.nan if day is None else float(day)])
    if not feature.inside(number)[0] or feature.is_missing(number)[0]:
        raise InvalidIndividual(
            f"{_assignment(feature, value)} is not a date from {feature.domain}",
            feature.name,
        )
    return float(number[0])


def _level_code(feature: Feature, value: Any) -> float:
    """Return the code of a level, which a browser may have got as text."""
    if isinstance(value, str | int | float):
        if value in feature.levels:
            return float(feature.levels.index(value))
        browser_levels = [for_browser(level) for level in feature.levels]
        if value in browser_levels:
            return float(browser_levels.index(value))
    choices = nearest(value, feature.levels)
    raise InvalidIndividual(
        f"{_assignment(feature, value)} is not one of its levels; {choices}", feature.name
    )


def _number_code(feature: Feature, value: Any) -> float:
    """Return a number of a feature's domain, without the error of its decimal text."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or value != value:  # only NaN differs from itself
        raise InvalidIndividual(
            f"{_assignment(feature, value)} is not a number; give one from {feature.domain}",
            feature.name,
        )
    # A whole number of any size may arrive, and not all of them fit a float.
    largest = 2 * EXACT
    bounded = min(max(value, -largest), largest)
    number = np.array([bounded], dtype=np.float64)
    if feature.inside(number)[0] and not feature.is_missing(number)[0]:
        return float(feature.snap(number)[0])
    clipped = np.clip(number, feature.low, feature.high)
    closest = feature.snap(clipped)
    if not feature.inside(closest)[0]:  # the range does not end on a step
        closest = closest - (feature.step or 0.0)
    label = feature.labels(closest)[0]
    raise InvalidIndividual(
        f"{_assignment(feature, value)} is outside its domain, {feature.domain}; the nearest valid"
        f" value is {label}",
        feature.name,
    )


def _assignment(feature: Feature, value: Any) -> str:
    """Return a feature and a value as an error names them."""
    return f"{_quoted(feature.name)} = {_quoted(value)}"


def _quoted(value: Any) -> str:
    """Return a name or value in quotes, cut where it is too long for a sentence."""
    return clip(repr(value), 60)
