"""What the what-if page asks: an individual and all of its protected twins, in one question to the
live software.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.results.evidence import Case
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.space.constraints import Constraint, named
from evenhand.space.feature import combinations, plain, product
from evenhand.space.space import Space
from evenhand.subject.view import views_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Points
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

MOST_TWINS = 200
"""Up to how many combinations of protected values all of them are asked; a feature by itself has no
more either.
"""
MOST_NUMBERS = 20
"""How many values of a protected number are asked where not all combinations are."""
MOST_TRIED = 10_000
"""How many values of a feature are looked through for the nearest one that keeps the constraints.
"""
EXACT = 2**53
"""Beyond this a browser cannot tell whole numbers apart."""


class Misfit(UsageError):
    """An individual that is no input of the space, and the features in which it is not."""

    def __init__(self, message: str, *names: str) -> None:
        super().__init__(message)
        self.names = names


@dataclass(frozen=True, slots=True)
class Pair:
    """An individual and a twin with another outcome, what was changed, and of which output the
    outcome is.
    """

    about: tuple[str, ...]
    output: str
    case: Case


def wired(value: Any) -> Any:
    """Return a label or outcome as a browser can hold it; numbers that it cannot hold become text.

    >>> wired(2**60), wired(np.float64(0.5)), wired(float("inf"))
    ('1152921504606846976', 0.5, 'inf')
    """
    found = plain(value)
    if isinstance(found, bool | str):
        return found
    if isinstance(found, int):
        return found if abs(found) <= EXACT else str(found)
    return found if isinstance(found, float) and math.isfinite(found) else str(found)


def answers(
    views: Sequence[View], outcomes: NDArray[Any]
) -> tuple[list[list[dict[str, Any]]], NDArray[np.bool_]]:
    """Return what each input got, output by output, and which of them got something else than the
    first input.
    """
    told: list[list[dict[str, Any]]] = [[] for _ in outcomes]
    different = np.zeros(len(outcomes), dtype=np.bool_)
    for view in views:
        mine = np.ascontiguousarray(outcomes[view.name]) if view.name else outcomes
        differs = view.distance(np.repeat(mine[:1], len(mine)), mine) > 0
        good = view.favourable(mine) if view.counts and view.positive is not None else None
        different |= differs
        for at, each in enumerate(told):
            favourable = None if good is None else bool(good[at])
            value = wired(mine[at])
            each.append(
                {
                    "output": view.name,
                    "value": value,
                    "favourable": favourable,
                    "differs": bool(differs[at]),
                }
            )
    return told, different


@dataclass(frozen=True, eq=False)
class Desk:
    """Software that takes the inputs of a space, and the questions that a person may put to it.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.subject.subject import Subject
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> desk = Desk(Subject(lambda people: (people["age"] > 30) | (people["sex"] == "M"), space))
    >>> told = desk.decide({"sex": "F", "age": 20})
    >>> told["outcomes"][0]["value"], told["twins"][0]["individual"], told["twins"][0]["differs"]
    (False, {'sex': 'M', 'age': 20}, True)
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

    def told(self) -> dict[str, Any]:
        """Return what a page must know to draw the form."""
        features = []
        for feature in self.space.features:
            entry = feature.to_dict() | {
                "protected": feature.name in self.space.protected,
                "passed": feature.passed,
            }
            if feature.kind == "category":
                entry["levels"] = [wired(level) for level in feature.levels]
            else:
                entry |= {"step": feature.step, "domain": feature.domain}
            entry.pop("bins", None)
            features.append(entry)
        return {
            "kind": "inputs",
            "software": self.subject.name,
            "features": features,
            "constraints": [named(constraint) for constraint in self.space.constraints],
            "outputs": favoured(self.views),
        }

    def start(self) -> dict[str, Any]:
        """Return an individual to begin with, which is the same every time."""
        return self._record(self.space.draw(1, stream(0, "explore")))

    def case(self, case: Case) -> dict[str, Any] | None:
        """Return a case as the page takes it, None where it is of another space."""
        try:
            points = [self._point(person) for person in (case.individual, case.twin)]
        except UsageError:
            return None
        individual, twin = map(self._record, points)
        return {
            "individual": individual,
            "twin": twin,
            "outcomes": [wired(outcome) for outcome in case.outcomes],
        }

    def decide(self, individual: Any, twin: Any = None) -> dict[str, Any]:
        """Return the outcome of an individual and of its twins, all asked at once.

        `twin` is one more of them, which may differ in any feature: that of a case.
        """
        own = self._checked(individual)
        twins, notes = self._twins(own)
        if twin is not None:
            twins = np.concatenate([self._checked(twin), twins])
        twins = _distinct(own, twins)
        outcomes = self.subject.decide(np.asfortranarray(np.concatenate([own, twins])))
        told, different = answers(self.views, outcomes)
        records = self.space.records(twins)
        people: list[dict[str, Any]] = [
            {
                "individual": {name: wired(value) for name, value in record.items()},
                "changed": self._changed(own[0], row),
                "outcomes": told[place],
                "differs": bool(different[place]),
            }
            for place, (row, record) in enumerate(zip(twins, records, strict=True), start=1)
        ]
        people.sort(key=lambda one: (not one["differs"], len(one["changed"])))
        return {
            "individual": self._record(own),
            "outcomes": told[0],
            "twins": people,
            "notes": notes,
        }

    def pairs(self, individual: Any, twin: Any) -> list[Pair]:
        """Ask about two inputs, each twice, and return them as a case of each output in which they
        differ.
        """
        both = np.asfortranarray(np.concatenate([self._checked(individual), self._checked(twin)]))
        changed = tuple(self._changed(*both))
        if not changed:
            raise UsageError(
                "the individual and its twin are the same, so there is no pair to save"
            )
        self.subject.need_deterministic(both)
        outcomes = self.subject.decide(both)
        one, other = self.space.records(both)
        found = []
        for view in self.views:
            mine = np.ascontiguousarray(outcomes[view.name]) if view.name else outcomes
            if view.distance(mine[:1], mine[1:])[0] > 0:
                found.append(
                    Pair(changed, view.name, Case(one, other, (plain(mine[0]), plain(mine[1]))))
                )
        if not found:
            raise UsageError("the outcomes of these two do not differ, so there is no pair to save")
        return found

    def _changed(self, one: Points, other: Points) -> list[str]:
        return [self.space.names[at] for at in np.flatnonzero(one != other).tolist()]

    def _record(self, point: Points) -> dict[str, Any]:
        return {name: wired(value) for name, value in self.space.records(point)[0].items()}

    def _point(self, individual: Any) -> Points:
        """Encode an individual, or say which value it cannot have."""
        if not isinstance(individual, Mapping):
            raise UsageError(
                f"the individual is {clip(repr(individual))}, not values by feature name"
            )
        for name in individual:
            if name not in self.space.names:
                raise UsageError(
                    f"{clip(repr(name), 60)} is no feature; {nearest(name, self.space.names)}"
                )
        for name in self.space.names:
            if name not in individual:
                raise Misfit(
                    f"the individual has no value for {clip(repr(name), 60)}; give it one", name
                )
        return np.array(
            [[_coded(feature, individual[feature.name]) for feature in self.space.features]]
        )

    def _checked(self, individual: Any) -> Points:
        """Encode an individual that keeps every constraint."""
        point = self._point(individual)
        if not self.space.valid(point)[0]:
            self._refuse(point)
        return point

    def _refuse(self, point: Points) -> None:
        """Say which constraint is broken, and the nearest change of one feature that keeps them
        all.
        """
        space, told = self.space, []
        touched: dict[str, None] = {}
        for constraint in space.constraints:
            if not Space(space.features, (), [constraint], space.layout).valid(point)[0]:
                told.append(f"'{clip(named(constraint), 200)}'")
                parsed = (
                    Constraint.parse(constraint, space.features)
                    if isinstance(constraint, str)
                    else None
                )
                touched |= dict.fromkeys(space.names if parsed is None else parsed.touches)
        names = list(touched)
        moves = [move for move in (self._moved(point, name) for name in names) if move is not None]
        hint = "no change of one feature alone makes it valid"
        if moves:
            _, name, value = min(moves, key=lambda move: move[0])
            hint = f"the nearest valid choice is {clip(repr(name), 60)} = {clip(repr(value), 60)}"
        raise Misfit(f"this breaks the constraint {' and '.join(told)}; {hint}", *names)

    def _moved(self, point: Points, name: str) -> tuple[float, str, Any] | None:
        """Return how far a feature must go to keep all constraints, and where to; None where it
        cannot.
        """
        at, feature = self.space.index(name), self.space.feature(name)
        values = spread(feature, MOST_TRIED)
        values = values[self.space.valid(self.space.under(point, name, values[:, None]))]
        if not len(values):
            return None
        away = np.abs(values - point[0, at])
        best = int(np.argmin(away))
        far = (
            1.0 if feature.kind == "category" else float(away[best]) / (feature.high - feature.low)
        )
        return far, name, feature.labels(values[best : best + 1])[0]

    def _twins(self, own: Points) -> tuple[Points, list[str]]:
        """Return the other members of the individual's class that keep the constraints, and what to
        say of them.
        """
        space, notes = self.space, []
        names = list(space.protected)
        if not names:
            return own[:0], ["no feature of the space is protected, so the individual has no twins"]
        features = [space.feature(name) for name in names]
        notes += [
            f"{clip(repr(each.name), 60)} is not passed to the software, so changing it alone"
            " changes nothing, which is no evidence of fairness"
            for each in features
            if not each.passed
        ]
        if combinations(each.size for each in features) <= MOST_TWINS:
            found = space.under(own, names, product([each.values() for each in features]))
        else:
            notes.append(
                "there are too many combinations of protected values, so each feature is changed by"
                " itself"
            )
            found = np.concatenate([self._alone(own, each, notes) for each in features])
        valid = space.valid(found)
        if not valid.all():
            out = int((~valid).sum())
            told = (
                "twin that breaks a constraint is"
                if out == 1
                else "twins that break a constraint are"
            )
            notes.append(f"{out:,} {told} left out")
        return found[valid], notes

    def _alone(self, own: Points, feature: Feature, notes: list[str]) -> Points:
        values = spread(feature, MOST_TWINS if feature.kind == "category" else MOST_NUMBERS)
        if len(values) < feature.size:
            every = "all numbers" if math.isinf(feature.size) else f"{int(feature.size):,}"
            notes.append(
                f"of {clip(repr(feature.name), 60)} {len(values)} values of {every} are asked"
            )
        return self.space.under(own, feature.name, values[:, None])


def favoured(views: Sequence[View]) -> list[dict[str, Any]]:
    """Return the name of each output, and what counts as favourable where that is known."""
    known = {view.name: view.counts and view.positive is not None for view in views}
    return [
        {"name": view.name, "favoured": view.favoured if known[view.name] else None}
        for view in views
    ]


def spread(feature: Feature, most: int) -> NDArray[np.float64]:
    """Return all values of a feature where there are few: otherwise the first levels, or numbers
    over its range.

    >>> from evenhand.space.feature import integer
    >>> spread(integer("age", 0, 100), 5).tolist()
    [0.0, 25.0, 50.0, 75.0, 100.0]
    """
    if feature.size <= most:
        return feature.values()
    if feature.kind == "category":
        return np.arange(most, dtype=np.float64)
    values = np.unique(feature.snap(np.linspace(feature.low, feature.high, most)))
    return values[feature.inside(values)]


def _distinct(own: Points, twins: Points) -> Points:
    """Return twins that are not the individual itself, each once, in their order."""
    _, first = np.unique(twins, axis=0, return_index=True)
    kept: Points = twins[np.sort(first)]
    return kept[np.any(kept != own, axis=1)]


def _coded(feature: Feature, value: Any) -> float:
    """Return a value that came from a page as its code or number, or say what is nearest."""
    said = f"{clip(repr(feature.name), 60)} = {clip(repr(value), 60)}"
    if feature.kind == "category":
        if isinstance(value, str | int | float):
            if value in feature.levels:
                return float(feature.levels.index(value))
            written = [at for at, level in enumerate(feature.levels) if wired(level) == value]
            if written:
                return float(written[0])
        raise Misfit(
            f"{said} is not one of its levels; {nearest(value, feature.levels)}", feature.name
        )
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise Misfit(f"{said} is not a number; give one from {feature.domain}", feature.name)
    number = np.array([min(max(value, -2 * EXACT), 2 * EXACT)], dtype=np.float64)
    if feature.inside(number)[0]:
        return float(feature.snap(number)[0])
    close = feature.snap(np.clip(number, feature.low, feature.high))
    if not feature.inside(close)[0]:  # the range does not end on a step
        close = close - (feature.step or 0.0)
    best = feature.labels(close)[0]
    raise Misfit(
        f"{said} is outside its domain, {feature.domain}; the nearest valid value is {best}",
        feature.name,
    )
