"""A space: what it refuses, how it is counted, drawn, listed and varied, against brute force."""

# mypy: disable-error-code="arg-type,list-item"
# Wrong arguments are what these tests are about.

from __future__ import annotations

import itertools
import math
import pickle
import subprocess
import sys
import time
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import NoInputs, RareInputs, SpaceError, UsageError
from evenhand.space import blocks
from evenhand.space.feature import Feature, category, integer, real
from evenhand.space.space import Space
from tests.support.helpers import examples, refused
from tests.support.strategies import every, spaces

SEX, AGE, OWNS = (
    category("sex", ["F", "M"]),
    integer("age", 18, 25),
    category("owns", ["yes", "no"]),
)
LOAN = Space([SEX, AGE, OWNS], ["sex"], ["not (age < 21 and owns == 'yes')"])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Space([]), ["at least one feature"]),
        (lambda: Space(None), ["features = None", "list"]),
        (lambda: Space("sex"), ["features = 'sex'", "list"]),
        (lambda: Space(SEX), ["must be a list"]),
        (lambda: Space(["sex"]), ["'sex' is not a feature", "category()"]),
        (lambda: Space([SEX, SEX]), ["'sex'", "twice"]),
        (
            lambda: Space([SEX], ["sexx"]),
            ["'sexx'", "not in the space", "did you mean 'sex'?"],
        ),
        (lambda: Space([SEX], ["sex", "sex"]), ["'sex'", "twice"]),
        (lambda: Space([SEX], [3]), ["3", "not in the space"]),
        (lambda: Space([SEX], constraints=[3]), ["constraint 3", "neither"]),
        (lambda: Space([SEX], constraints=3), ["constraint 3", "neither"]),
        (lambda: Space([SEX], constraints=["agee > 3"]), ["'agee'"]),
    ],
)
def test_a_wrong_space_is_named(make, words):
    refused(SpaceError, make, *words)


def test_one_name_or_constraint_may_stand_alone():
    space = Space([SEX, AGE], "sex", "age > 20")
    assert (
        space.protected == ("sex",)
        and space.constraints == ("age > 20",)
        and space.size == 10
    )


def test_unknown_features_offer_the_nearest():
    refused(UsageError, lambda: LOAN.feature("agee"), "'agee'", "did you mean 'age'?")
    refused(
        UsageError,
        lambda: LOAN.assignments(["sex", "owms"]),
        "'owms'",
        "did you mean 'owns'?",
    )
    refused(UsageError, lambda: LOAN.assignments([]), "over is empty", "sex")
    refused(UsageError, lambda: LOAN.assignments(["sex", "sex"]), "'sex'", "twice")
    refused(UsageError, lambda: LOAN.decode(np.zeros((1, 2))), "(1, 2)", "3 features")
    refused(
        UsageError, lambda: LOAN.variants(np.zeros((1, 2)), "sex"), "(1, 2)", "3 features"
    )


@given(spaces(constrained=True))
@settings(max_examples=examples(60), deadline=None)
def test_listing_and_counting_agree_with_brute_force(space):
    expected = every(space)
    found = [tuple(row) for row in space.enumerate().tolist()]
    assert space.size == len(expected) == len(found)
    assert sorted(found) == sorted(expected)
    if len(space.constraints) == 0:
        assert found == expected


@given(spaces(constrained=True, continuous=True), st.integers(0, 9))
@settings(max_examples=examples(60), deadline=None)
def test_draws_are_valid_inputs(space, seed):
    points = space.draw(100, rng(seed))
    assert points.shape == (100, len(space.features))
    assert space.valid(points).all()
    for position, feature in enumerate(space.features):
        assert feature.inside(points[:, position]).all()
    assert np.array_equal(space.draw(100, rng(seed)), points)
    assert space.draw(0, rng(seed)).shape == (0, len(space.features))


@given(spaces(continuous=True))
@settings(max_examples=examples(60), deadline=None)
def test_decoding_and_encoding_draws_is_the_identity(space):
    points = space.draw(30, rng())
    assert np.array_equal(space.encode(space.decode(points)), points)
    assert np.array_equal(space.encode(space.records(points)), points)


@given(spaces(constrained=True, continuous=True))
@settings(max_examples=examples(60), deadline=None)
def test_a_space_survives_its_dictionary_and_a_pickle(space):
    read_back = Space.from_dict(space.to_dict())
    unpickled = pickle.loads(pickle.dumps(space))
    drawn = space.draw(10, rng())
    for again in (read_back, unpickled):
        assert again == space
        assert hash(again) == hash(space)
        assert again.digest == space.digest
        assert np.array_equal(again.draw(10, rng()), drawn)


def unlikely(counts: np.ndarray, expected: float) -> float:
    """Return how many standard deviations a chi-square statistic lies over its mean."""
    statistic = float(((counts - expected) ** 2 / expected).sum())
    freedom = len(counts) - 1
    return (statistic - freedom) / math.sqrt(2 * max(freedom, 1))


UNIFORM = [
    Space([SEX, AGE, OWNS]),
    LOAN,
    Space([integer("a", -3, 3), integer("b", -3, 3)], constraints=["a <= b"]),
    Space(
        [integer("a", 0, 9, step=3), real("b", 0, 1, step=0.25), SEX],
        constraints=["a * b < 3", "sex == 'F' or a > 0"],
    ),
    Space(
        [integer("a", 0, 5), integer("b", 0, 5), integer("c", 0, 2)],
        constraints=["a == b", "b != c"],
    ),
    Space(
        [SEX, AGE],
        constraints=[lambda frame: (frame["age"] % 3 == 0) | (frame["sex"] == "F")],
    ),
]


@pytest.mark.parametrize("space", UNIFORM, ids=range(len(UNIFORM)))
@pytest.mark.parametrize("method", ["table", "rejection"])
def test_draws_are_uniform_over_the_valid_inputs(space, method, monkeypatch):
    if method == "rejection":
        monkeypatch.setattr(blocks, "LARGEST_TABLE", 0)
        space = Space(space.features, space.protected, space.constraints)
    listed = every(space)
    for seed in range(3):
        points = space.draw(200 * len(listed), rng(seed))
        rows, counts = np.unique(points, axis=0, return_counts=True)
        assert sorted(map(tuple, rows.tolist())) == sorted(listed)
        assert unlikely(counts, 200) < 4.5


def test_continuous_draws_are_uniform_under_a_constraint():
    space = Space([real("a", 0, 1), real("b", 0, 1)], constraints=["a + b < 1"])
    points = space.draw(20_000, rng())
    cells = np.floor(points * 5)
    under_diagonal = cells.sum(axis=1) <= 3  # cells that lie wholly under the diagonal
    _, counts = np.unique(cells[under_diagonal], axis=0, return_counts=True)
    assert len(counts) == 10
    assert unlikely(counts, counts.sum() / 10) < 4.5


def test_independent_features_are_drawn_independently():
    points = LOAN.draw(20_000, rng())
    table = pd.crosstab(points[:, 0], points[:, 1]).to_numpy()
    by_sex = table.sum(axis=1)
    by_age = table.sum(axis=0)
    expected = np.outer(by_sex, by_age) / table.sum()
    statistic = ((table - expected) ** 2 / expected).sum()
    assert statistic < 40


@given(spaces(), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_variants_are_every_assignment_of_every_point_in_order(space, data):
    over = data.draw(st.lists(st.sampled_from(space.names), min_size=1, unique=True))
    points = space.draw(3, rng())
    table = space.assignments(over)
    listed = [tuple(row) for row in table.tolist()]
    values = [space.feature(name).values().tolist() for name in over]
    assert listed == list(itertools.product(*values))
    found = space.variants(points, over)
    assert found.shape == (len(table) * 3, len(space.features))
    pairs = itertools.product(listed, points.tolist())
    for variant, (assignment, point) in zip(found.tolist(), pairs, strict=True):
        expected = list(point)
        for name, value in zip(over, assignment, strict=True):
            expected[space.index(name)] = value
        assert variant == expected


@given(spaces(), st.data())
@settings(max_examples=examples(40), deadline=None)
def test_every_point_is_its_own_variant(space, data):
    over = data.draw(st.lists(st.sampled_from(space.names), min_size=1, unique=True))
    points = space.draw(5, rng())
    own = space.own(points, over)
    found = space.variants(points, over)
    by_assignment = found.reshape(-1, 5, len(space.features))
    assert np.array_equal(by_assignment[own, range(5)], points)


def test_over_may_be_one_name():
    points = LOAN.draw(4, rng())
    by_name = LOAN.variants(points, "sex")
    by_list = LOAN.variants(points, ["sex"])
    assert np.array_equal(by_name, by_list)


def test_continuous_features_are_varied_by_their_bins():
    space = Space([real("r", 0, 1, bins=4), real("s", 0, 1), SEX])
    point = np.array([[0.3, 0.1, 1.0]])
    # The point's own value comes first: without it, a larger set would have fewer variants than a
    # smaller one.
    rates = space.variants(point, ["r", "sex"])[:, 0]
    assert rates.tolist() == np.repeat([0.3, 0.125, 0.375, 0.625, 0.875], 2).tolist()
    assert space.own(point, ["r", "sex"]).tolist() == [1]
    refused(
        SpaceError, lambda: space.assignments(["s"]), "'s'", "continuous", "step or bins"
    )
    assert space.size == math.inf
    refused(SpaceError, space.enumerate, "infinitely many", "1,000,000")


def hundreds(number: int) -> list[Feature]:
    """Features of a hundred values each."""
    return [category(f"c{i}", list(range(100))) for i in range(number)]


HUNDRED = hundreds(12)
HUNDRED_NAMES = [feature.name for feature in HUNDRED]
FOUR = "c0 + c1 + c2 + c3 > 3"
TEN = "c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9 < 3"
PAIR = [real("a", 0, 1), real("b", 0, 1)]
WIDE = integer("x", 0, 2**52)
MANY_POINTS = np.zeros((99_000, 12))


def drawn(features: list[Feature], constraint: Any, n: int) -> Any:
    return lambda: Space(features, constraints=[constraint]).draw(n, rng())


def enumerated(features: list[Feature], *constraints: Any, most: int = 1_000_000) -> Any:
    return lambda: Space(features, constraints=constraints).enumerate(most)


EVERY = [
    # Explosions
    (SpaceError, enumerated(HUNDRED), ["1e+24", "1,000,000"]),
    (SpaceError, enumerated([*HUNDRED, *PAIR]), ["infinitely many"]),
    (SpaceError, enumerated(hundreds(400)), ["1.0e+800"]),
    (SpaceError, enumerated([WIDE]), ["4.5e+15"]),
    (
        SpaceError,
        lambda: Space(HUNDRED).assignments(HUNDRED_NAMES),
        ["c0 100 × c1 100", "1e+24", "1,000,000"],
    ),
    (
        SpaceError,
        lambda: Space([WIDE]).assignments("x"),
        ["4,503,599,627,370,497", "1,000,000"],
    ),
    (
        SpaceError,
        lambda: Space(HUNDRED).variants(MANY_POINTS, ["c0", "c1"]),
        ["99,000 points", "10,000 ass", "2 GiB"],
    ),
    (SpaceError, enumerated(HUNDRED, FOUR), ["up to 1e+24"]),
    (
        SpaceError,
        enumerated(HUNDRED[:4], FOUR, most=10**9),
        ["c0, c1, c2, c3", "100,000,000"],
    ),
    # No input is valid.
    (NoInputs, drawn([AGE], "age > 99", 1), ["'age > 99'", "all 8 combinations", "age"]),
    (
        NoInputs,
        lambda: Space([AGE], constraints=["False"]).size,
        ["'False'", "no input is valid"],
    ),
    (
        NoInputs,
        enumerated([AGE, SEX], lambda frame: frame["age"] > 99),
        ["all 16 combinations"],
    ),
    # Next to no input is valid.
    (RareInputs, drawn(PAIR, "a > 2 + b", 1), ["'a > 2 + b'", "0 of 1,0", "1 in 1,000"]),
    (RareInputs, drawn(PAIR, "a > 2 + b", 100_000), ["0 of 1,"]),
    (RareInputs, drawn(PAIR, "a == b", 10), ["'a == b'", "0 of 1,"]),
    (RareInputs, drawn(PAIR, "a + b < 0.02", 100_000), ["accept only", "1 in 1,000"]),
    (RareInputs, drawn(HUNDRED, TEN, 9), ["accept only 0"]),
    (
        RareInputs,
        drawn(PAIR, lambda frame: frame["a"] > 2, 9),
        ["accept only 0", "<lambda>"],
    ),
]


@pytest.mark.parametrize(("kind", "explode", "words"), EVERY, ids=range(len(EVERY)))
def test_explosions_are_refused_with_the_numbers_at_once(kind, explode, words):
    start = time.perf_counter()
    refused(kind, explode, *words)
    assert time.perf_counter() - start < 5


def test_spaces_of_any_number_of_features_can_be_counted_and_described():
    large = Space(hundreds(200))
    assert large.size == 100**200
    assert "1.0e+400 inputs" in str(large)
    assert Space([*large.features, real("r", 0, 1)]).size == math.inf
    single = Space(
        [category(f"c{i}", [0]) for i in range(70)] + [AGE],
        constraints=[lambda frame: frame["age"] > 20],
    )
    assert single.size == 5
    assert single.enumerate().shape == (5, 71)


def test_constraints_on_wide_spaces_take_little_memory():
    wide = [*PAIR, *(category(f"c{i}", [0, 1]) for i in range(150))]
    space = Space(wide, constraints=["a + b < 0.5"])
    tracemalloc.start()
    space.draw(20_000, rng())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


def test_a_rare_constraint_is_met_where_it_can_be():
    space = Space(PAIR, constraints=["a + b < 0.1"])
    start = time.perf_counter()
    assert space.valid(space.draw(2_000, rng())).all()
    assert time.perf_counter() - start < 2


def test_variants_may_break_constraints_and_valid_tells_which():
    point = LOAN.encode([{"sex": "F", "age": 18, "owns": "no"}])
    found = LOAN.variants(point, ["age", "owns"])
    assert len(found) == 16
    assert LOAN.valid(found).sum() == 13


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda frame: frame["agee"] > 3, ["KeyError", "agee"]),
        (lambda frame: True, ["bool of shape ()", "one truth value per input"]),
        (lambda frame: frame["age"], ["int64", "truth value"]),
        (lambda frame: [True], ["shape (1,)", "16 inputs"]),
        (lambda frame: None, ["object"]),
    ],
)
def test_a_function_that_is_no_constraint(function, words):
    refused(
        SpaceError,
        lambda: Space([SEX, AGE], constraints=[function]).size,
        "constraint",
        "<lambda>",
        *words,
    )


@pytest.mark.parametrize(
    "dtype", ["str", "string[python]", "string[pyarrow]", object, "category"]
)
def test_a_function_sees_the_users_own_frame(dtype):
    sex = pd.Series(["F", "M"], dtype=dtype)
    age = pd.Series([18, 25], dtype="Int8")
    frame = pd.DataFrame({"sex": sex, "age": age})

    def allowed(people: pd.DataFrame) -> pd.Series:
        return (people["sex"] == "F") | (people["age"] > 20)

    space = Space.from_frame(frame, constraints=[allowed])
    assert space.size == 13


def test_a_function_cannot_change_the_points():
    def meddle(frame: pd.DataFrame) -> pd.Series:
        keep = frame["a"] < 0.5
        frame["a"] *= 0
        return keep

    points = Space(PAIR, constraints=[meddle]).draw(50, rng())
    first = points[:, 0]
    assert (first > 0).all()
    assert (first < 0.5).all()


DIGESTS = {
    "base": Space([SEX, AGE]),
    "level": Space([category("sex", ["F", "W"]), AGE]),
    "order of levels": Space([category("sex", ["M", "F"]), AGE]),
    "text level": Space([category("sex", ["1", "2"]), AGE]),
    "number level": Space([category("sex", [1, 2]), AGE]),
    "truth level": Space([category("sex", [True, False]), AGE]),
    "order": Space([AGE, SEX]),
    "name": Space([category("gender", ["F", "M"]), AGE]),
    "range": Space([SEX, integer("age", 18, 26)]),
    "kind": Space([SEX, real("age", 18, 25, step=1)]),
    "step": Space([SEX, integer("age", 18, 25, step=2)]),
    "bins": Space([SEX, integer("age", 18, 25, bins=2)]),
    "passed": Space([SEX, integer("age", 18, 25, passed=False)]),
    "protected": Space([SEX, AGE], ["sex"]),
    "constraint": Space([SEX, AGE], constraints=["age > 20"]),
    "other constraint": Space([SEX, AGE], constraints=["age > 21"]),
    "function": Space([SEX, AGE], constraints=[lambda frame: frame["age"] > 20]),
    "other function": Space([SEX, AGE], constraints=[lambda frame: frame["age"] > 21]),
}


def test_the_digest_changes_with_any_change():
    digests = {space.digest for space in DIGESTS.values()}
    assert len(digests) == len(DIGESTS)
    for first, second in itertools.combinations(DIGESTS.values(), 2):
        assert first != second
    assert DIGESTS["base"] == Space([SEX, AGE])
    assert DIGESTS["base"] != "base"


def test_the_digest_is_the_same_in_another_process():
    code = """
import evenhand as eh
space = eh.Space([eh.category("sex", ["F", "é\\n"]), eh.real("r", 0, 1, step=0.1)], ["sex"],
                 ["r > 0.2", lambda frame: frame["sex"].isin({"F", "M", "X"})])
print(space.digest)
"""
    outputs = set()
    for seed in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert len(outputs.pop()) == 65


def test_a_space_reads_well():
    assert str(LOAN) == "space of 3 features, 26 inputs, protected: sex"
    assert (
        str(Space(PAIR))
        == "space of 2 features, infinitely many inputs, protected: nothing"
    )
