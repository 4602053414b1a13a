"""Mining a table: the rule sets that people form, and how each is treated against everyone else.

Algorithm 1 of TestSGD (Zhang et al. 2022), over the cells of a cube instead of the rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.bins import is_whole
from evenhand.methods.mine.conditions import Choices
from evenhand.methods.mine.counting.frequent import frequent_rules
from evenhand.methods.mine.counting.rule_table import most_memory
from evenhand.methods.mine.cube import Cube
from evenhand.methods.mine.ranking import Ranking
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, SpaceError, UsageError, clip, nearest
from evenhand.scores.numbers.unit_scale import UnitLimit
from evenhand.space.feature import count, plain
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import check_limit
from evenhand.statistics.intervals import check_level

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evenhand.methods.mine.ranking import RuleSet
    from evenhand.scores.numbers.unit_scale import UnitScale
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.statistics.intervals import Floats

    Bins = int | Sequence[float] | Mapping[str, int | Sequence[float]]
    Flags = NDArray[np.bool_]
    Report = Callable[[float], None]

CONTROLS = ("family", "fdr")
"""What a level is of: all intervals together, or the share of false discoveries."""
BINS = 10
"""The paper's number of bins (section 4.1)."""
DEEP_RULES = 10_000_000
"""Rule sets take as many features as this many candidates allow, where no depth is given."""
MOST_RULES = 60_000_000
"""The most candidates that are ever looked at, for memory: pairs of features take 3.4 GB."""
MOST_MAPS = 15
"""The most pairs of features whose rates are kept for heat maps."""


@dataclass(frozen=True, slots=True)
class RuleSetOptions:
    """Which choices each feature has, and how many people a rule set must cover and leave."""

    support: float = 0.05
    complement: float | None = None
    bins: Any = BINS
    binning: str = "width"
    levels: int | None = None
    depth: int | None = None

    def __post_init__(self) -> None:
        check_support(self.support)
        check_depth(self.depth)
        if self.complement is not None and not _is_share(self.complement, least=0.0):
            shown = clip(repr(self.complement))
            raise UsageError(messages.COMPLEMENT_NOT_SHARE.format(complement=shown))

    @property
    def other(self) -> float:
        """The share of people that a rule set must leave outside.

        By default it is as large as the support, and half of what a large support leaves at most:
        nothing could cover 60 % of the people and leave 60 %.
        """
        if self.complement is None:
            return min(self.support, (1 - self.support) / 2)
        return self.complement

    def choices(self, space: Space, names: Sequence[str], points: Points) -> list[Choices]:
        """Return the choices of each feature."""
        bins_of: Mapping[str, Any] = {}
        default: Any = self.bins
        if isinstance(self.bins, Mapping):
            bins_of = dict(self.bins)
            default = BINS
        _check_binned(bins_of, names)
        choices = []
        for name in names:
            column = points[:, space.index(name)]
            choices_of_feature = Choices.of(
                space.feature(name),
                column,
                bins=bins_of.get(name, default),
                binning=self.binning,
                levels=self.levels,
            )
            choices.append(choices_of_feature)
        return choices


def _check_binned(bins_of: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse bins of features that rules are not formed of."""
    for name in bins_of:
        if name not in names:
            shown = clip(repr(name))
            choices = nearest(name, names)
            raise UsageError(
                messages.BINS_OF_OTHER_FEATURE.format(name=shown, choices=choices)
            )


def check_support(support: Any) -> None:
    """Refuse a support that is not a share over 0 and under 1.

    >>> check_support(0.05)
    """
    if not _is_share(support, least=1e-12):
        shown = clip(repr(support))
        raise UsageError(messages.SUPPORT_NOT_SHARE.format(support=shown))


def check_depth(depth: Any) -> None:
    """Refuse a depth that is not a whole number of 1 or more; None stands for any depth.

    >>> check_depth(2)
    """
    if depth is not None and not is_whole(plain(depth), least=1):
        shown = clip(repr(depth))
        raise UsageError(messages.DEPTH_NOT_WHOLE.format(depth=shown))


def levels_taken(levels: int | None, *, every: bool) -> tuple[int | None, list[str]]:
    """Return how many levels a condition names at most, and a note where that was not said.

    Where rules are formed of every feature, it is one: sets of levels of many features explode.

    >>> levels_taken(None, every=False), levels_taken(2, every=True)
    ((None, []), (2, []))
    """
    if every and levels is None:
        return 1, [messages.ONE_LEVEL_OF_ALL]
    return levels, []


def unknown_option(option: str, value: Any, valid: Sequence[str]) -> UsageError:
    """Return the error for the value of an option that is none of the valid ones.

    >>> print(unknown_option("kind", "groups", ["group", "causal"]))
    kind = 'groups' is unknown; did you mean 'group'? Valid choices are 'group', 'causal'
    """
    return UsageError(
        messages.UNKNOWN_OPTION.format(
            option=option,
            value=clip(repr(value)),
            choices=nearest(value, valid),
        )
    )


def check_terms(level: float, limit: float | UnitLimit | None, top: int) -> None:
    """Refuse a level, a limit or a number of rule sets to report that cannot be."""
    check_level(level)
    if isinstance(limit, UnitLimit):
        limit.check()
    elif limit is not None:
        check_limit(limit)
    if not is_whole(top, least=1):
        raise UsageError(messages.TOP_NOT_WHOLE.format(top=clip(repr(top))))


def check_control(control: Any) -> None:
    """Refuse an unknown kind of error that the level is to control.

    >>> check_control("fdr")
    """
    if control not in CONTROLS:
        raise unknown_option("control", control, CONTROLS)


def _is_share(value: Any, *, least: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return False
    return bool(least <= value < 1)


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
    scale: UnitScale | None = None
    """The range that values are shares of, where outcomes are numbers."""
    steps: Mapping[str, float] = field(default_factory=dict)
    """By how much features were moved to make neighbours, where that is not their own step."""
    counted: bool = False
    """Whether each point stands for as many rows as its weight is."""
    squares: Floats | None = None
    """The mean squared value of the rows of each point, where values are means of rows."""

    @property
    def counts(self) -> Floats | None:
        """How many rows each point stands for; None where that is one."""
        return self.weights if self.counted else None

    def rows(self, taken: Flags | None = None) -> int:
        """Return how many rows there are, or how many of them are taken."""
        counts = self.counts
        if counts is None:
            return len(self.points) if taken is None else int(taken.sum())
        return int(counts.sum() if taken is None else counts[taken].sum())

    @property
    def graded(self) -> bool:
        """Whether anybody is treated neither favourably nor unfavourably."""
        partly = (self.values > 0) & (self.values < 1)
        return bool(partly.any())

    def squared(self) -> Floats:
        """Return the sum of squared values of each point, by its weight."""
        weights = 1.0 if self.weights is None else self.weights
        if self.squares is not None:
            return self.squares * weights
        return self.values * weights * self.values

    def only(self, taken: Flags, population: str) -> Treated:
        """Return some of the people, as a population of their own."""
        weights = None if self.weights is None else self.weights[taken]
        return Treated(
            self.points[taken],
            self.values[taken],
            population,
            self.method,
            weights,
            self.queries,
            self.scale,
            self.steps,
            self.counted,
            None if self.squares is None else self.squares[taken],
        )


@dataclass(frozen=True, eq=False)
class Mining:
    """All rule sets over some features, ranked on some people."""

    space: Space
    names: tuple[str, ...]
    treated: Treated
    options: RuleSetOptions
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
        options: RuleSetOptions,
        report: Report | None = None,
    ) -> Mining:
        """Form all rule sets over features, and sum up how the people of each are treated."""
        cube, size, pruned = _formed(space, names, treated.points, treated.weights, options)
        values = treated.values
        if treated.weights is not None:
            values = values * treated.weights
        hits = cube.totals(values)
        squares = None if treated.scale is None else cube.totals(treated.squared())
        ranking = _ranked(pruned, size, hits, options, report=report, squares=squares)
        depth, notes = _depth_reached(ranking, options.depth, names)
        frequent = frequent_rules(ranking.found, cube, size, depth)
        return cls(
            space,
            tuple(names),
            treated,
            options,
            pruned,
            ranking,
            depth,
            candidates=cube.candidates(depth),
            frequent=frequent,
            notes=notes,
        )

    def need_rules(self) -> None:
        """Refuse where no rule set is frequent, with the support that would do."""
        if not self.ranking.examined:
            rows = self.treated.rows()
            raise _none_frequent(self.names, rows, self.options)

    def rule(self, rule_set: RuleSet) -> Rule:
        """Return a rule set as a rule in its one form."""
        conditions = self.cube.conditions(rule_set.family, rule_set.place)
        return Rule.of(self.space, conditions)

    def inside(self, rule_set: RuleSet) -> Flags:
        """Return which of the people a rule set covers."""
        return self.cube.covers(rule_set.family, rule_set.place)

    def maps(self, stories: Sequence[Sequence[str]] = ()) -> list[dict[str, Any]]:
        """Return the people and rates of the cells of each pair of features, or of the only one.

        Of very many pairs, those of features that stories name together come first.
        """
        positions = range(len(self.names))
        pairs: list[tuple[int, ...]] = list(itertools.combinations(positions, 2))
        if not pairs:
            pairs = [(0,)]
        if len(pairs) > MOST_MAPS:
            first: list[tuple[int, ...]] = []
            for features in stories:
                named = sorted(map(self.names.index, features))
                first += itertools.combinations(named, 2)
            pairs = list(dict.fromkeys(first + pairs))
        rows = self.cube.totals(self.treated.counts)
        totals = (rows, self.ranking.size, self.ranking.hits)
        return [self._map(pair, totals) for pair in pairs[:MOST_MAPS]]

    def _map(self, pair: tuple[int, ...], totals: Sequence[Floats]) -> dict[str, Any]:
        """Return the people and rates of the cells of some features; a rate is None of no one."""
        choices = [self.cube.choices[position] for position in pair]
        labels = [feature.labels() for feature in choices]
        shape = tuple(map(len, labels))
        codes = tuple(self.cube.codes[:, position] for position in pair)
        place = np.ravel_multi_index(codes, shape)
        cells = int(np.prod(shape))
        sums = []
        for total in totals:
            by_cell = np.bincount(place, weights=total, minlength=cells)
            sums.append(by_cell.reshape(shape))
        rows, size, hits = sums
        unknown = np.full(size.shape, np.nan)
        rates = np.divide(hits, size, out=unknown, where=size > 0)
        shown = np.round(rates, 6)
        scale = self.treated.scale
        if scale is not None:
            figures = [f"{scale.number(rate):.6g}" for rate in rates.ravel()]
            shown = np.array(figures, dtype=float).reshape(rates.shape)
        known_rates = shown.astype(object)
        known_rates[np.isnan(rates)] = None
        return {
            "axes": [self.names[position] for position in pair],
            "labels": labels,
            "values": [feature.values() for feature in choices],
            "rows": np.asarray(rows, dtype=int).tolist(),
            "rates": known_rates.tolist(),
        }


def check_rules(
    space: Space,
    names: Sequence[str],
    points: Points,
    weights: Floats | None,
    options: RuleSetOptions,
) -> None:
    """Refuse what no rule set can be formed of, before anybody is asked how they are treated.

    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"])])
    >>> check_rules(space, ["sex"], np.array([[0.0], [1.0]]), None, RuleSetOptions())
    """
    _, size, pruned = _formed(space, names, points, weights, options)
    nobody_hit = np.zeros(len(size))
    # Where single features have a rule set, which is nearly always, there is no need to look at the
    # others, unless there may be too many of them for the depth that is asked for.
    depths = (None,) if _may_be_too_deep(pruned, options.depth) else (1, None)
    for depth in depths:
        ranking = _ranked(pruned, size, nobody_hit, options, depth)
        _depth_reached(ranking, depth or options.depth, names)
        if ranking.examined:
            return
    raise _none_frequent(names, len(points), options)


def _may_be_too_deep(cube: Cube, depth: int | None) -> bool:
    """Return whether a depth that is asked for has too many rule sets, if none is left out."""
    if depth is None:
        return False
    return sum(cube.rule_sets()[:depth]) > MOST_RULES


def _none_frequent(names: Sequence[str], rows: int, options: RuleSetOptions) -> DataError:
    """Return the error where no rule set is frequent, with a support that may do."""
    least = min(options.support, options.complement or options.support)
    return DataError(
        messages.NO_FREQUENT_RULE_SET.format(
            features=clip(", ".join(names), 300),
            support=number_text.percent_plain(options.support),
            rows=number_text.count(rows),
            complement=number_text.percent_plain(options.other),
            smaller=number_text.figures(least / 5, 2),
        )
    )


def _ranked(
    cube: Cube,
    size: Floats,
    hits: Floats,
    options: RuleSetOptions,
    depth: int | None = None,
    report: Report | None = None,
    squares: Floats | None = None,
) -> Ranking:
    """Return all rule sets that cover and leave enough people, of as many features as can be."""
    total = float(size.sum())
    wanted = depth or options.depth
    return Ranking.of(
        cube,
        size,
        hits,
        least=options.support * total,
        least_other=options.other * total,
        most=DEEP_RULES if wanted is None else MOST_RULES,
        depth=_within(wanted, len(cube.choices)),
        report=report,
        squares=squares,
    )


def _within(wanted: int | None, features: int) -> int:
    """Return how many features a rule set takes at most."""
    return features if wanted is None else min(wanted, features)


def _formed(
    space: Space,
    names: Sequence[str],
    points: Points,
    weights: Floats | None,
    options: RuleSetOptions,
) -> tuple[Cube, Floats, Cube]:
    """Return the cube of all rules, the people in its cells, and the cube of frequent rules."""
    choices = options.choices(space, names, points)
    columns = [points[:, space.index(name)] for name in names]
    cube = Cube.of(choices, columns)
    size = cube.totals(weights)
    least = options.support * float(size.sum())
    return cube, size, cube.pruned(size, least)


def _depth_reached(
    ranking: Ranking, wanted: int | None, names: Sequence[str]
) -> tuple[int, list[str]]:
    """Return how many features rule sets take at most, and a note where it could be more."""
    features = len(names)
    too_many = ranking.found.too_many
    if too_many is None:
        return _within(wanted, features), []
    depth = ranking.found.depth
    deeper_rule_sets = count(too_many.candidates)
    if wanted is not None:
        raise SpaceError(
            messages.TOO_DEEP.format(
                deeper=depth + 1,
                features=features,
                rule_sets=deeper_rule_sets,
                memory=number_text.memory(most_memory(too_many.candidates, depth + 1)),
                most=number_text.count(MOST_RULES),
                depth=depth,
            )
        )
    note = messages.DEPTH_REDUCED.format(
        depth=depth,
        features=features,
        deeper=depth + 1,
        rule_sets=deeper_rule_sets,
    )
    return depth, [note]
