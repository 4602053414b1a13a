"""Mining a table: the rule sets that people form, and how each is treated against everyone else
(TestSGD).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.conditions import Choices
from evenhand.methods.mine.cube import Cube
from evenhand.methods.mine.ranking import Ranking
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, SpaceError, UsageError, clip, nearest
from evenhand.space.feature import count, plain
from evenhand.space.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evenhand.methods.mine.ranking import Told
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.statistics.intervals import Floats

    Bins = int | Sequence[float] | Mapping[str, int | Sequence[float]]

BINS = 10
DEEP_RULES = 10_000_000
"""Rule sets take as many features as this many allow, where no depth is given."""
MOST_RULES = 60_000_000
"""The most rule sets that are ever looked at, for memory."""
MOST_MAPS = 15


@dataclass(frozen=True, slots=True)
class Forming:
    """How rule sets are formed: which choices each feature has, and how many people they must cover
    and leave.
    """

    support: float = 0.05
    complement: float | None = None
    bins: Any = BINS
    binning: str = "width"
    levels: int | None = None
    depth: int | None = None

    def __post_init__(self) -> None:
        check_support(self.support)
        if self.complement is not None and not _share(self.complement, least=0.0):
            raise UsageError(
                f"complement is {clip(repr(self.complement))}; it must be from 0 to under 1, as"
                " 0.05"
            )
        depth = plain(self.depth)
        if depth is not None and (
            isinstance(depth, bool) or not isinstance(depth, int) or depth < 1
        ):
            raise UsageError(
                f"depth is {clip(repr(self.depth))}; it must be a whole number of 1 or more"
            )

    @property
    def other(self) -> float:
        """The share of people that a rule set must leave outside."""
        return self.support if self.complement is None else self.complement

    def choices(self, space: Space, names: Sequence[str], points: Points) -> list[Choices]:
        """Return the choices of each feature."""
        given = dict(self.bins) if isinstance(self.bins, Mapping) else {}
        for name in given:
            if name not in names:
                raise UsageError(
                    f"bins names {clip(repr(name))}, which rules are not formed of;"
                    f" {nearest(name, names)}"
                )
        whole = BINS if isinstance(self.bins, Mapping) else self.bins
        return [
            Choices.of(
                space.feature(name),
                points[:, space.index(name)],
                bins=given.get(name, whole),
                binning=self.binning,
                levels=self.levels,
            )
            for name in names
        ]


def check_support(support: Any) -> None:
    """Refuse a support that is no share over 0 and under 1.

    >>> check_support(0.05)
    """
    if not _share(support, least=1e-12):
        raise UsageError(
            f"support is {clip(repr(support))}; it must be over 0 and under 1, for example 0.05"
        )


def _share(value: Any, *, least: float) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return bool(number and least <= value < 1)


@dataclass(frozen=True, eq=False)
class Treated:
    """People, and how favourably each is treated, from 0 to 1."""

    points: Points
    values: Floats
    population: str
    method: str
    weights: Floats | None = None
    queries: int = 0
    """Inputs that were asked to know how they are treated."""

    @property
    def graded(self) -> bool:
        """Whether anybody is treated neither favourably nor unfavourably."""
        return bool(((self.values > 0) & (self.values < 1)).any())

    def only(self, taken: NDArray[np.bool_], population: str) -> Treated:
        """Return some of the people, as a population of their own."""
        weights = None if self.weights is None else self.weights[taken]
        return Treated(
            self.points[taken], self.values[taken], population, self.method, weights, self.queries
        )

    def truly(self, good: NDArray[np.bool_], score: str) -> Treated:
        """Return those whom a score compares: all, or those whose true outcome is good ("tpr"), or
        is not ("fpr").
        """
        if score == "rate":
            return self
        taken, whose = (good, "favourable") if score == "tpr" else (~good, "not favourable")
        if not taken.any():
            raise DataError(
                f"score = {score!r}: no row has a true outcome that is {whose}; there is nobody to"
                " compare"
            )
        return self.only(taken, f"{self.population}, whose true outcome is {whose}")


@dataclass(frozen=True, eq=False)
class Mining:
    """All rule sets over some features, ranked on some people."""

    space: Space
    names: tuple[str, ...]
    treated: Treated
    forming: Forming
    cube: Cube
    ranking: Ranking
    depth: int
    candidates: int
    frequent: int
    """Rule sets that cover enough people, whatever they leave (Algorithm 1)."""
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        space: Space,
        names: Sequence[str],
        treated: Treated,
        forming: Forming,
        told: Callable[[float], None] | None = None,
    ) -> Mining:
        """Form all rule sets over features of the space, and sum up how the people are treated whom
        each covers.
        """
        weights = treated.weights
        cube, size, pruned = _formed(space, names, treated.points, weights, forming)
        hits = cube.totals(treated.values if weights is None else treated.values * weights)
        total = float(size.sum())
        depth, notes = _depth(pruned, forming.depth, names)
        ranking = _ranked(pruned, size, hits, forming, depth, told)
        try:
            frequent = cube.frequent(size, forming.support * total, depth)
        except SpaceError:  # with all that cover the same, they may be too many to count
            frequent = pruned.frequent(size, forming.support * total, depth)
        candidates = cube.candidates(depth)
        return cls(
            space,
            tuple(names),
            treated,
            forming,
            pruned,
            ranking,
            depth,
            candidates,
            frequent,
            notes,
        )

    def need_rules(self) -> None:
        """Refuse where no rule set is frequent, and say what would be."""
        if not self.ranking.examined:
            raise _none(self.names, len(self.treated.points), self.forming)

    def rule(self, told: Told) -> Rule:
        """Return a rule set as a rule in its one form."""
        return Rule.of(self.space, self.cube.conditions(told.family, told.place))

    def inside(self, told: Told) -> NDArray[np.bool_]:
        """Tell which of the people a rule set covers."""
        return self.cube.covers(told.family, told.place)

    def maps(self) -> list[dict[str, Any]]:
        """Return the people and rates of the cells of each pair of features, or of the only one."""
        rows, hits = self.cube.totals(), self.ranking.hits
        size = self.ranking.size
        shapes = [len(choices.labels()) for choices in self.cube.choices]
        pairs: list[tuple[int, ...]] = [*itertools.combinations(range(len(self.names)), 2)] or [
            (0,)
        ]
        return [
            self._map(pair, [shapes[at] for at in pair], (rows, size, hits))
            for pair in pairs[:MOST_MAPS]
        ]

    def _map(
        self, pair: tuple[int, ...], shape: Sequence[int], totals: Sequence[Floats]
    ) -> dict[str, Any]:
        place = np.ravel_multi_index(tuple(self.cube.codes[:, at] for at in pair), tuple(shape))
        cells = int(np.prod(shape))
        rows, size, hits = (
            np.bincount(place, weights=each, minlength=cells).reshape(shape) for each in totals
        )
        rates = np.divide(hits, size, out=np.full(size.shape, np.nan), where=size > 0)
        known = np.round(rates, 6).astype(object)
        known[np.isnan(rates)] = None
        return {
            "axes": [self.names[at] for at in pair],
            "labels": [self.cube.choices[at].labels() for at in pair],
            "values": [self.cube.choices[at].values() for at in pair],
            "rows": np.asarray(rows, dtype=int).tolist(),
            "rates": known.tolist(),
        }


def check_rules(
    space: Space, names: Sequence[str], points: Points, weights: Floats | None, forming: Forming
) -> None:
    """Refuse what no rule set can be formed of, before anybody is asked how they are treated.

    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> check_rules(Space([category("sex", ["F", "M"])]), ["sex"], np.array([[0.0], [1.0]]), None, Forming())
    """
    _, size, pruned = _formed(space, names, points, weights, forming)
    depth, _ = _depth(pruned, forming.depth, names)
    # Where single features have a rule set, which is nearly always, there is no need to look at the
    # others.
    if not any(
        _ranked(pruned, size, np.zeros(len(size)), forming, deep).examined for deep in (1, depth)
    ):
        raise _none(names, len(points), forming)


def _none(names: Sequence[str], rows: int, forming: Forming) -> DataError:
    """Say that no rule set is frequent, and what would be."""
    least = min(forming.support, forming.other or forming.support)
    support, other = (
        number_text.percent_plain(forming.support),
        number_text.percent_plain(forming.other),
    )
    return DataError(
        f"no rule set over {clip(', '.join(names), 300)} covers at least {support} of the {rows:,} "
        f"rows and leaves at least {other}; try a smaller support, as support={least / 5:.2g}"
    )


def _ranked(
    cube: Cube,
    size: Floats,
    hits: Floats,
    forming: Forming,
    depth: int,
    told: Callable[[float], None] | None = None,
) -> Ranking:
    """Return all rule sets of up to `depth` features that cover and leave enough people."""
    total = float(size.sum())
    least, least_other = forming.support * total, forming.other * total
    return Ranking.of(
        cube, size, hits, least=least, least_other=least_other, depth=depth, told=told
    )


def _formed(
    space: Space, names: Sequence[str], points: Points, weights: Floats | None, forming: Forming
) -> tuple[Cube, Floats, Cube]:
    """Return the cube of all rules, the people in its cells, and the cube of the rules that cover
    enough of them.
    """
    every = forming.choices(space, names, points)
    cube = Cube.of(every, [points[:, space.index(name)] for name in names])
    size = cube.totals(weights)
    return cube, size, cube.pruned(size, forming.support * float(size.sum()))


def _depth(cube: Cube, wanted: int | None, names: Sequence[str]) -> tuple[int, list[str]]:
    """Return how many features a rule set takes at most, and a note where that is fewer than there
    are.
    """
    most, wanted_depth = (
        (DEEP_RULES if wanted is None else MOST_RULES),
        min(len(names), wanted or len(names)),
    )
    totals = list(itertools.accumulate(cube.rule_sets()[:wanted_depth]))
    depth = max(sum(total <= most for total in totals), 1)
    if depth == wanted_depth:
        return depth, []
    deeper, said = depth + 1, count(totals[depth])
    if wanted is not None:
        raise SpaceError(
            f"depth = {deeper} over {len(names)} features makes {said} rule sets, over the {most:,}"
            f" that are looked at; take depth={depth}, fewer bins, or more support"
        )
    return depth, [
        f"rule sets take up to {depth} of the {len(names)} features: {deeper} would make {said}"
        f" rule sets; depth={deeper} asks for them"
    ]
