"""Every frequent rule set, counted as bits or summed in the cube: those of a loop over masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine.conditions import Choices
from evenhand.methods.mine.counting import enumeration as module
from evenhand.methods.mine.counting.enumeration import Enumeration
from evenhand.methods.mine.cube import Cube
from evenhand.methods.mine.rule_sets import Mining, RuleSetOptions, Treated, check_rules
from evenhand.runtime.errors import SpaceError
from evenhand.space.feature import category
from evenhand.space.space import Space
from tests.support.helpers import examples, refused
from tests.support.mined_cases import KINDS, SPACE, Case, all_masks, cases, mined

if TYPE_CHECKING:
    from evenhand.methods.mine.ranking import Ranking

WAYS = ("bits", "cube")
"""Candidates are counted one by one, or whole families are summed."""


def forced(way: str, patch: Any) -> None:
    """Let all rule sets of three and more features be counted in one way."""
    cost = {"bits": 1e12, "cube": 0.0}[way]
    patch.setattr(
        module,
        "_READ_CELL",
        cost,
    )
    patch.setattr(
        module,
        "_READ_ENTRY",
        cost,
    )


def in_way(way: str, case: Case) -> Ranking:
    """Return the ranking of a case, counted anew in one way."""
    with pytest.MonkeyPatch.context() as patch:
        forced(way, patch)
        return Mining.of(
            SPACE,
            case.names,
            case.treated,
            case.options,
        ).ranking


@st.composite
def deep_cases(draw: Any) -> Case:
    """People with four features, so that there are candidates to prune."""
    return mined(
        draw(st.integers(5, 120)),
        draw(st.integers(0, 9999)),
        draw(st.permutations(SPACE.names)),
        how=draw(st.sampled_from(KINDS)),
        support=draw(st.sampled_from([0.02, 0.1, 0.3])),
        complement=draw(st.sampled_from([None, 0.0, 0.4])),
        bins=draw(st.sampled_from([2, 3])),
    )


def sums_of_mask(case: Case, mask: Any) -> list[float]:
    """Return the people, hits and of numbers the squares of those in a mask."""
    weights = case.size[mask]
    values = case.treated.values[mask]
    sums = [weights.sum(), (weights * values).sum()]
    if case.treated.scale is not None:
        sums.append((weights * values**2).sum())
    return sums


def wanted_rule_sets(case: Case) -> list[Any]:
    """Return the rule sets on both sides of which are enough people, by a loop over all masks."""
    total = case.size.sum()
    least = case.options.support * total * (1 - 1e-9)
    least_other = case.options.other * total * (1 - 1e-9)
    there = case.size > 0
    wanted = []
    for family, mask in all_masks(case, merged=True):
        inside = case.size[mask].sum()
        outside = case.size[~mask].sum()
        if inside >= least and outside >= least_other and outside > 0:
            wanted.append(
                (
                    family,
                    mask[there].tobytes(),
                    sums_of_mask(
                        case,
                        mask,
                    ),
                )
            )
    return sorted(wanted, key=family_and_mask)


def family_and_mask(rule_set: Any) -> Any:
    """Return what rule sets are sorted by; those of the same have the same sums."""
    return rule_set[:2]


def found_rule_sets(case: Case, ranking: Ranking) -> list[Any]:
    """Return the rule sets that an enumeration found, as families and masks."""
    there = case.size > 0
    found = []
    for number in range(ranking.examined):
        rule_set = ranking.rule_set(number)
        mask = ranking.cube.covers(rule_set.family, rule_set.place)
        sums = ranking.table.sums[:, number].tolist()
        found.append((rule_set.family, mask[there].tobytes(), sums))
    return sorted(found, key=family_and_mask)


@settings(max_examples=examples(20), deadline=None)
@given(st.one_of(deep_cases(), cases(how=KINDS)), st.sampled_from(WAYS))
def test_rule_sets_are_those_of_a_loop_over_all_masks_with_their_sums(case, way):
    wanted = wanted_rule_sets(case)
    found = found_rule_sets(case, in_way(way, case))
    assert list(map(family_and_mask, found)) == list(
        map(
            family_and_mask,
            wanted,
        )
    )
    sums = np.array([sums for _, _, sums in found])
    wanted_sums = np.array([sums for _, _, sums in wanted])
    assert np.allclose(
        sums,
        wanted_sums,
        rtol=1e-12,
        atol=1e-9,
    )


@settings(max_examples=examples(20), deadline=None)
@given(deep_cases())
def test_both_ways_find_the_same_rule_sets_in_the_same_order(case):
    bits = in_way("bits", case)
    summed = in_way("cube", case)
    assert len(bits.table.levels) == len(summed.table.levels)
    for one, other in zip(
        bits.table.levels,
        summed.table.levels,
        strict=True,
    ):
        assert one.rules.tolist() == other.rules.tolist()
        assert one.rules.dtype == other.rules.dtype
    counts_are_whole = case.treated.weights is None and not case.treated.graded
    if counts_are_whole:
        assert bits.table.sums.tobytes() == summed.table.sums.tobytes()
        assert bits.inside.tobytes() == summed.inside.tobytes()
        assert bits.outside.tobytes() == summed.outside.tobytes()
    else:
        assert np.allclose(bits.table.sums, summed.table.sums)


@pytest.mark.parametrize("way", WAYS)
def test_the_way_that_is_forced_is_taken(way, monkeypatch):
    case = mined(
        100,
        0,
        SPACE.names,
        bins=2,
    )
    counted = []
    real = Enumeration._counted

    def seen(self: Any, previous: Any) -> Any:
        counted.append(len(previous))
        return real(self, previous)

    monkeypatch.setattr(
        Enumeration,
        "_counted",
        seen,
    )
    in_way(way, case)
    assert len(counted) == (2 if way == "bits" else 0)


@pytest.mark.parametrize("at_once", [1, 7])
@pytest.mark.parametrize("how", ["counts", "numbers"])
def test_parts_that_are_held_at_once_do_not_matter(at_once, how, monkeypatch):
    case = mined(
        150,
        4,
        SPACE.names,
        how=how,
        bins=2,
    )
    whole = in_way("bits", case)
    monkeypatch.setattr(
        module,
        "JOINED",
        at_once,
    )
    monkeypatch.setattr(
        module,
        "COUNTED",
        at_once,
    )
    monkeypatch.setattr("evenhand.methods.mine.counting.covers.AT_ONCE", at_once)
    parts = in_way("bits", case)
    assert parts.examined == whole.examined
    assert parts.table.sums == pytest.approx(whole.table.sums)
    last = len(whole.table.levels) - 1
    assert (
        parts.table.levels[last].rules.tolist() == whole.table.levels[last].rules.tolist()
    )


def flags_cube(rows: Any) -> Cube:
    """Return the cube of rows of flags."""
    columns = [
        np.array(
            column,
            dtype=float,
        )
        for column in np.transpose(rows)
    ]
    choices = []
    for place, column in enumerate(columns):
        feature = category(f"f{place}", [0, 1])
        choices.append(Choices.of(feature, column))
    return Cube.of(choices, columns)


@pytest.mark.parametrize("way", WAYS)
def test_a_rule_set_that_leaves_too_few_may_be_part_of_one_that_does_not(way, monkeypatch):
    """Each flag is off for 5 of 100 people, two are for 10, and three for 15."""
    forced(way, monkeypatch)
    rows = np.ones((100, 3))
    for place in range(3):
        rows[5 * place : 5 * place + 5, place] = 0
    cube = flags_cube(rows)
    totals = np.stack(
        [
            cube.totals(),
            cube.totals(rows[:, 0]),
        ]
    )
    found = Enumeration(
        cube,
        totals,
        50,
        12,
        1000,
    ).run(3)
    assert [len(level) for level in found.levels] == [
        3,
        3,
        1,
    ]
    table = found.table()
    assert len(table) == 1
    assert table.family(0) == (0, 1, 2)
    assert table.place(0) == (1, 1, 1)
    assert table.sums.tolist() == [[85], [85]]


def test_of_pairs_that_are_too_rare_nothing_is_looked_at():
    """Two flags are each on for half of the people, and never together."""
    rows = np.zeros((100, 4))
    rows[:50, 0] = 1
    rows[50:, 1] = 1
    rows[::2, 2] = 1
    rows[::3, 3] = 1
    cube = flags_cube(rows)
    totals = np.stack(
        [
            cube.totals(),
            cube.totals(rows[:, 3]),
        ]
    )
    search = Enumeration(
        cube,
        totals,
        1,
        1,
        10_000,
    )
    found = search.run(3)
    pairs = found.levels[1].rules.tolist()
    # The choices of the first feature are 0 and 1, those of the second 2 and 3.
    assert [0, 2] not in pairs
    assert [1, 3] not in pairs
    # Of the first two features 2 of 4 pairs are left, of each other two all 4.
    assert len(pairs) == 2 + 5 * 4
    # Two families have both features, and 2 of the 4 pairs; two have one, and all 8 triples.
    assert search._candidates(found.levels[1]) == 2 * 4 + 2 * 8


@pytest.mark.parametrize("way", WAYS)
def test_the_search_ends_where_nothing_is_frequent(way, monkeypatch):
    forced(way, monkeypatch)
    rng = np.random.default_rng(0)
    cube = flags_cube(
        rng.integers(
            0,
            2,
            (200, 6),
        )
    )
    totals = np.stack(
        [
            cube.totals(),
            np.zeros(len(cube.codes)),
        ]
    )
    done: list[float] = []
    found = Enumeration(
        cube,
        totals,
        40,
        40,
        10_000,
    ).run(6, done.append)
    assert len(found.levels[-1]) == 0
    assert len(found.levels) < 6
    assert found.too_many is None
    assert done == [
        number / 6
        for number in range(
            1,
            len(found.levels) + 1,
        )
    ]
    assert found.table().conditions().max() == len(found.levels) - 1


def test_candidates_of_all_levels_count_towards_the_most():
    rows = np.random.default_rng(1).integers(
        0,
        2,
        (400, 4),
    )
    cube = flags_cube(rows)
    totals = np.stack(
        [
            cube.totals(),
            np.zeros(len(cube.codes)),
        ]
    )

    def depth_of(most: int) -> tuple[int, Any]:
        found = Enumeration(
            cube,
            totals,
            1,
            1,
            most,
        ).run(4)
        return found.depth, found.too_many

    # 8 choices, 24 pairs, 32 triples and 16 of all four.
    every = 8 + 24 + 32 + 16
    assert depth_of(every) == (4, None)
    depth, too_many = depth_of(every - 1)
    assert depth == 3
    assert (too_many.features, too_many.candidates) == (4, 16)
    depth, too_many = depth_of(8 + 24)
    assert depth == 2
    assert (too_many.features, too_many.candidates) == (3, 32)
    depth, too_many = depth_of(0)
    assert depth == 1
    assert (too_many.features, too_many.candidates) == (2, 24)


def test_with_very_many_choices_only_pairs_are_looked_at(monkeypatch):
    monkeypatch.setattr(
        module,
        "MOST_PAIRED",
        7,
    )
    rows = np.random.default_rng(1).integers(
        0,
        2,
        (400, 4),
    )
    cube = flags_cube(rows)
    totals = np.stack(
        [
            cube.totals(),
            np.zeros(len(cube.codes)),
        ]
    )
    found = Enumeration(
        cube,
        totals,
        1,
        1,
        10_000,
    ).run(4)
    assert found.depth == 2
    assert found.too_many is not None
    assert found.too_many.candidates == 32


def test_without_a_depth_rule_sets_are_as_deep_as_candidates_allow(monkeypatch):
    def mining_of(**options: Any) -> Mining:
        return mined(
            200,
            1,
            ["race", "age", "sex"],
            **options,
        ).mining

    deep = mining_of()
    assert deep.depth == 3
    assert deep.notes == []
    monkeypatch.setattr("evenhand.methods.mine.rule_sets.DEEP_RULES", 100)
    shallow = mining_of()
    assert shallow.depth == 2
    (note,) = shallow.notes
    assert "up to 2 of the 3 features" in note
    assert "depth=3" in note
    assert shallow.ranking.table.conditions().max() == 2
    wanted = mining_of(depth=3)
    assert wanted.depth == 3
    monkeypatch.setattr("evenhand.methods.mine.rule_sets.MOST_RULES", 100)
    refused(
        SpaceError,
        lambda: mining_of(depth=3),
        "depth = 3",
        "which may take",
        "MB",
        "take depth=2",
    )


def test_a_depth_of_too_many_rule_sets_is_refused_before_anybody_is_asked(monkeypatch):
    points = SPACE.draw(200, np.random.default_rng(0))
    names = ["race", "age", "sex"]
    options = RuleSetOptions(depth=3)
    check_rules(
        SPACE,
        names,
        points,
        None,
        options,
    )
    check_rules(
        SPACE,
        names,
        points,
        None,
        RuleSetOptions(),
    )
    monkeypatch.setattr("evenhand.methods.mine.rule_sets.MOST_RULES", 100)
    refused(
        SpaceError,
        lambda: check_rules(
            SPACE,
            names,
            points,
            None,
            options,
        ),
        "depth = ",
        "take depth=",
    )


def test_many_features_are_searched_as_deep_as_they_go():
    """Twelve flags, of which one in eight people has all and the others have one at random."""
    rng = np.random.default_rng(3)
    rows = np.zeros((800, 12))
    rows[:100] = 1
    rows[
        np.arange(100, 800),
        rng.integers(
            0,
            12,
            700,
        ),
    ] = 1
    features = [category(f"f{place}", [0, 1]) for place in range(12)]
    space = Space(features, protected=[feature.name for feature in features])
    values = (np.arange(800) >= 100).astype(float)
    treated = Treated(
        rows,
        values,
        "people",
        "rows",
    )
    options = RuleSetOptions(support=0.12)
    mining = Mining.of(
        space,
        space.names,
        treated,
        options,
    )
    assert mining.depth == 12
    assert mining.notes == []
    table = mining.ranking.table
    assert table.family(len(table) - 1) == tuple(range(12))
    assert table.sums[:, -1].tolist() == [
        100,
        0,
    ]
