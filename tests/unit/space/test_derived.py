"""Derived features: inputs that are drawn, varied or listed never contradict themselves."""

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.population.profile import profile
from evenhand.runtime.errors import SpaceError
from evenhand.scores.groups import Groups
from evenhand.space.rule import Condition, Rule
from evenhand.space.values.derived import Derivations
from tests.support.helpers import refused

BORN = eh.date("born", "1950-01-01", "2000-12-31")
APPLIED = eh.date("applied", "2019-01-01", "2022-12-31", missing=0.2)
FEATURES = [
    eh.category("sex", ["F", "M"]),
    BORN,
    APPLIED,
    eh.integer("year", 2019, 2022, missing=True, derived="year(applied)"),
    eh.category("month", list(range(1, 13)), missing=True, derived="month(applied)"),
    eh.integer("age", 18, 80, missing=True, derived="years_between(born, applied)"),
]
SPACE = eh.Space(FEATURES, protected=["sex"])


def consistent(points: np.ndarray) -> bool:
    frame = SPACE.decode(points)
    applied = pd.to_datetime(frame["applied"])
    year = applied.dt.year
    month = applied.dt.month.astype(float)
    pairs = [(frame["year"], year), (frame["month"], month)]
    for derived, expected in pairs:
        both_missing = derived.isna() & expected.isna()
        is_same = (derived == expected) | both_missing
        if not is_same.all():
            return False
    return bool(SPACE.valid(points).all())


@given(st.dates(), st.dates())
def test_parts_of_dates_are_those_of_python(first, second):
    names = ["year", "month", "day", "weekday", "quarter"]
    features = [eh.date("a", "0001-01-01", "9999-12-31")]
    features.append(eh.date("b", "0001-01-01", "9999-12-31"))
    for name in names:
        features.append(eh.integer(name, -(10**5), 10**5, derived=f"{name}(a)"))
    for name in ("days_between", "years_between"):
        features.append(eh.integer(name, -(10**7), 10**7, derived=f"{name}(a, b)"))
    space = eh.Space(features)
    epoch = datetime.date(1970, 1, 1)
    points = np.zeros((1, len(features)))
    points[0, 0] = (first - epoch).days
    points[0, 1] = (second - epoch).days
    (record,) = space.records(space.settle(points))
    assert record["year"] == first.year
    assert record["month"] == first.month
    assert record["day"] == first.day
    assert record["weekday"] == first.weekday()
    assert record["quarter"] == (first.month + 2) // 3
    assert record["days_between"] == (second - first).days
    years = second.year - first.year
    before_birthday = (second.month, second.day) < (first.month, first.day)
    assert record["years_between"] == years - before_birthday


def test_draws_are_consistent_and_keep_their_shares():
    points = SPACE.draw(5000, np.random.default_rng(0))
    assert consistent(points)
    applied = SPACE.decode(points)["applied"]
    assert applied.isna().mean() == pytest.approx(0.2, abs=0.05)


def test_twins_change_what_follows_and_nothing_else():
    point = SPACE.draw(50, np.random.default_rng(0))
    twins = SPACE.variants(point, "applied")
    valid = SPACE.valid(twins)
    assert valid.mean() > 0.5
    assert consistent(twins[valid])
    by_assignment = twins.reshape(-1, 50, len(FEATURES))
    is_same = by_assignment[:, :, :2] == point[:, :2]
    assert is_same.all()
    refused(SpaceError, lambda: SPACE.variants(point, "year"), "'year'", "year(applied)")


def test_groups_and_rules_of_what_follows_draw_consistent_inputs():
    rng = np.random.default_rng(0)
    groups = Groups(SPACE, ("year",))
    labels = [groups.label(group)["year"] for group in range(len(groups))]
    assert labels == [2019, 2020, 2021, 2022, "unknown"]
    for group in range(len(groups)):
        drawn = groups.draw(200, rng, group)
        assert consistent(drawn)
        assert (groups.of(drawn) == group).all()
    late = Rule.of(SPACE, [Condition("year", low=2021), Condition("age", high=30)])
    drawn = late.draw(200, rng, SPACE)
    assert consistent(drawn)
    assert late.mask(drawn, SPACE).all()


def test_profiles_draw_consistent_inputs():
    drawn = profile({"applied": [("2020-03-01", "2020-03-31", 1.0)]}).draw(
        100,
        np.random.default_rng(0),
        SPACE,
    )
    assert consistent(drawn)
    assert set(SPACE.decode(drawn)["month"]) == {3}


def test_enumeration_lists_each_input_once():
    space = eh.Space(
        [
            eh.date("applied", "2020-01-30", "2020-02-02"),
            eh.integer("month", 1, 12, derived="month(applied)"),
            eh.category("sex", ["F", "M"]),
        ],
        protected=["sex"],
    )
    assert space.size == 8
    assert sorted(set(map(tuple, space.enumerate()[:, 1:].tolist()))) == [
        (1.0, 0.0),
        (1.0, 1.0),
        (2.0, 0.0),
        (2.0, 1.0),
    ]

    def winter(people: pd.DataFrame) -> Any:
        return ((people["month"] == 2) & (people["sex"] == "F")).to_numpy()

    by_sex = eh.measure(eh.Subject(winter, space), over="sex").worst
    assert by_sex.estimate.method == "enumerated"
    assert by_sex.estimate.value == 0.5
    by_date = eh.measure(eh.Subject(winter, space), over="applied").worst
    assert by_date.estimate.value == 0.5
    for case in by_date.cases:
        for person in (case.individual, case.twin):
            applied = datetime.date.fromisoformat(str(person["applied"]))
            assert person["month"] == applied.month


@pytest.mark.parametrize("strategy", ["adaptive", "surrogate", "fully-directed"])
def test_searches_ask_consistent_inputs_only(strategy):
    seen = []

    def late(people: pd.DataFrame) -> Any:
        seen.append(people)
        return ((people["year"] == 2021) & (people["sex"] == "F")).to_numpy()

    found = eh.search(
        eh.Subject(late, SPACE),
        strategy=strategy,
        budget=eh.Budget(queries=2000),
    )
    assert len(found.to_frame())
    for frame in seen:
        assert consistent(SPACE.encode(frame))


def test_what_follows_is_inferred_from_data():
    days = pd.date_range("2019-11-01", periods=200, freq="3D")
    frame = pd.DataFrame(
        {
            "applied": days,
            "year": days.year,
            "month": days.month,
            "weekday": days.day_of_week,
            "waiting": 5,
            "other": np.arange(200) % 12 + 1,
        }
    )
    frame["decided"] = frame["applied"] + pd.Timedelta(days=1) * (np.arange(200) % 9)
    frame["took"] = np.arange(200) % 9
    frame.loc[3, ["applied", "year", "month", "weekday", "took"]] = None
    space = eh.Space.from_frame(frame)
    found = {feature.name: feature.derived for feature in space.features}
    assert found["year"] == "year(applied)"
    assert found["month"] == "month(applied)"
    assert found["weekday"] == "weekday(applied)"
    assert found["took"] == "days_between(applied, decided)"
    assert found["waiting"] is None
    assert found["other"] is None
    assert space.valid(space.encode(frame)).all()
    free = eh.Space.from_frame(frame, features={"year": {"derived": ""}})
    assert free.feature("year").derived is None
    assert eh.Space.from_dict(space.to_dict()) == space


def test_a_declaration_in_toml_is_read(tmp_path):
    file = tmp_path / "evenhand.toml"
    file.write_text(
        "[space.features.applied]\nlow = 2020-01-01\nhigh = 2021-12-31\nmissing = 0.1\n"
        "[space.features.year]\nlow = 2020\nhigh = 2021\nmissing = true\n"
        'derived = "year(applied)"\n'
    )
    space = eh.Space.from_toml(file)
    assert space.feature("applied").kind == "date"
    assert Derivations.of(space.features).targets == {1}


@pytest.mark.parametrize(
    ("derived", "words"),
    [
        ("applied", ["'year(applied)'"]),
        ("years(applied)", ["'years'", "did you mean 'year'?"]),
        ("year(aplied)", ["'aplied'", "did you mean 'applied'?"]),
        ("year(sex)", ["'sex'", "no date"]),
        ("days_between(applied)", ["takes 2 dates, not 1"]),
        ("year(applied)", ["may be missing", "missing = true"]),
    ],
)
def test_wrong_declarations_are_named(derived, words):
    feature = eh.integer("x", 0, 3000, derived=derived)
    refused(SpaceError, lambda: eh.Space([FEATURES[0], APPLIED, feature]), "'x'", *words)
