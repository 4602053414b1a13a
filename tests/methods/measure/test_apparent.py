"""Apparent scores (Def. 3.8): given rows as a population or a sample of one, and profiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.runtime.errors import UsageError
from evenhand.statistics import intervals
from tests.support.helpers import refused

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("age", 18, 90),
        eh.integer("income", 0, 99),
    ],
    protected=["sex"],
)


def loan(people):
    """Women need more, from 40 on."""
    needs_more = (people["sex"] == "F") & (people["age"] >= 40)
    needed = np.where(needs_more, 60, 50)
    return people["income"] >= needed


PEOPLE = pd.DataFrame(
    [
        ("F", 30, 55),  # granted, and either sex would be
        ("F", 50, 55),  # refused, and a man would not be
        ("M", 50, 55),  # granted, and a woman would not be: the twin of the one above
        ("M", 60, 52),  # granted, and a woman would not be, but there is none
        ("M", 60, 20),  # refused either way
    ],
    columns=["sex", "age", "income"],
)


def score(
    kind: str = "causal",
    rows: Any = None,
    decide=loan,
    space: eh.Space = SPACE,
    **options: Any,
) -> Any:
    return eh.measure(decide, space, kind=kind, sampler=rows, **options)


def has_limits(estimate: Any, limits: Any) -> None:
    """Check the interval of an estimate."""
    low, high = limits
    assert estimate.low == float(low)
    assert estimate.high == float(high)


def is_exactly(estimate: Any, value: float) -> None:
    """Check that an estimate is known without error."""
    assert estimate.value == value
    has_limits(estimate, (value, value))


@pytest.mark.parametrize(("twins", "value"), [("domain", 3 / 5), ("rows", 2 / 5)])
def test_twins_come_from_the_domain_or_from_the_rows(twins, value):
    rows = eh.rows(PEOPLE, twins=twins)
    found = score(rows=rows, limit=value)
    estimate = found.worst.estimate
    is_exactly(estimate, value)
    assert estimate.n == 5
    assert estimate.method == "enumerated"
    assert found.verdict == "fail"
    assert found.stop is eh.StopReason.ENUMERATED
    population = "the 5 given rows"
    # The three that differ from their twins are asked again, each with a twin.
    asked = 10 + 2 * 3
    if twins == "rows":
        population = "the 5 given rows, with twins among them"
        # The two that differ are each other's twins.
        asked = 5 + 2
    assert estimate.population == population
    assert found.spent.queries == 64 + asked
    for case in found.worst.cases:
        assert case.changed == ("sex",)
        if twins == "rows":
            assert dict(case.twin) in PEOPLE.to_dict("records")


def test_the_group_score_of_rows_is_that_of_a_table():
    found = score("group", eh.rows(PEOPLE)).worst
    assert found.estimate.value == 1 / 6
    women, men = found.groups
    assert str(women) == "sex F"
    assert women.estimate.value == 1 / 2
    assert women.estimate.n == 2
    assert str(men) == "sex M"
    assert men.estimate.value == 2 / 3
    assert men.estimate.n == 3
    assert found.estimate.n == 5
    assert found.estimate.method == "enumerated"


@pytest.mark.parametrize("kind", ["causal", "group"])
@pytest.mark.parametrize("twins", ["domain", "rows"])
def test_weights_count_as_copies(kind, twins):
    copies = np.array([3, 1, 0, 2, 4])
    copied = PEOPLE.loc[PEOPLE.index.repeat(copies)]
    weighted_rows = eh.rows(PEOPLE, weights=copies / 10, twins=twins)
    weighted = score(kind, weighted_rows).worst
    repeated_rows = eh.rows(copied, twins=twins)
    repeated = score(kind, repeated_rows).worst
    estimate = weighted.estimate
    if twins == "domain" or kind == "group":
        assert estimate.value == pytest.approx(repeated.estimate.value)
    else:
        # A row without weight is nobody, but still a twin: it is one of the rows.
        assert estimate.value == pytest.approx(1 / 10)
        assert repeated.estimate.value == 0
    is_exactly(estimate, estimate.value)
    assert "weighted" in estimate.population
    sizes = [group.estimate.n for group in weighted.groups]
    expected_sizes = [2, 2] if kind == "group" else []
    assert sizes == expected_sizes


def over_20(people):
    return people["age"] > 20


def over_40(people):
    return people["age"] > 40


def earns_50(people):
    return people["income"] >= 50


def many(n: int = 4000, seed: int = 0) -> pd.DataFrame:
    """Rows in which men are older and earn more."""
    rng = np.random.default_rng(seed)
    man = rng.random(n) < 0.4
    ages = rng.normal(45 + 10 * man, 12, n)
    age = np.clip(ages, 18, 90).astype(int)
    incomes = rng.normal(age, 15, n)
    income = np.clip(incomes, 0, 99).astype(int)
    sex = np.where(man, "M", "F")
    return pd.DataFrame({"sex": sex, "age": age, "income": income})


MANY = many()


def truth(frame: pd.DataFrame, kind: str) -> float:
    if kind == "group":
        rates = loan(frame).groupby(frame["sex"]).mean()
        return float(rates.max() - rates.min())
    as_woman = loan(frame.assign(sex="F"))
    as_man = loan(frame.assign(sex="M"))
    return float((as_woman != as_man).mean())


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_all_rows_are_asked_where_the_budget_allows_it_and_sampled_where_not(kind):
    rows = eh.rows(MANY)
    expected = truth(MANY, kind)
    each = 2 if kind == "causal" else 1
    enough = eh.Budget(queries=64 + each * 4000 + 64)
    whole = score(kind, rows, budget=enough)
    estimate = whole.worst.estimate
    assert estimate.value == pytest.approx(expected, abs=1e-12)
    assert estimate.n == 4000
    assert whole.stop is eh.StopReason.ENUMERATED
    without_budget = score(kind, rows)
    assert without_budget.worst.estimate == estimate

    too_little = eh.Budget(queries=3000)
    part = score(kind, rows, budget=too_little, level=0.999, margin=0.01)
    estimate = part.worst.estimate
    assert part.stop is eh.StopReason.QUERIES
    assert estimate.population == "the 4,000 given rows"
    assert estimate.low < expected < estimate.high

    drawn = score(kind, rows, exact=False, level=0.999)
    estimate = drawn.worst.estimate
    assert drawn.stop is eh.StopReason.MARGIN
    assert estimate.low < expected < estimate.high


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_weighted_rows_are_drawn_as_often_as_they_weigh(kind):
    earns_50_to_59 = MANY["income"].between(50, 59)
    is_heavy = earns_50_to_59 & (MANY["age"] >= 40)
    weights = 1 + 5 * is_heavy.to_numpy()
    rows = eh.rows(MANY, weights=weights)
    whole = score(kind, rows)
    value = whole.worst.estimate.value
    # So that drawing without weights would be seen.
    assert abs(value - truth(MANY, kind)) > 0.06
    drawn = score(kind, rows, exact=False, level=0.999, margin=0.03)
    estimate = drawn.worst.estimate
    assert estimate.low <= value <= estimate.high


def test_too_many_expensive_rows_are_sampled(monkeypatch):
    subject = eh.Subject(loan, SPACE)
    monkeypatch.setattr(subject.adapter, "expensive", True)
    # 24,000 inputs with their twins, over the 10,000 that are asked of expensive software.
    people = eh.rows(pd.concat([MANY] * 3))
    for kind in ("causal", "group"):
        found = eh.measure(subject, sampler=people, kind=kind, margin=0.2)
        assert found.stop is eh.StopReason.MARGIN
    fewer = eh.measure(subject, sampler=eh.rows(MANY))
    assert fewer.stop is eh.StopReason.ENUMERATED
    wanted = eh.measure(subject, sampler=people, exact=True)
    assert wanted.stop is eh.StopReason.ENUMERATED


def test_a_sample_has_an_interval_that_covers_who_is_in_it():
    sample = eh.rows(MANY, sample_of="our applicants")
    found = score(rows=sample).worst.estimate
    hits = round(4000 * truth(MANY, "causal"))
    assert found.value == hits / 4000
    has_limits(found, intervals.clopper_pearson(hits, 4000, 0.95))
    assert found.n == 4000
    assert found.method == "exact"
    assert found.population == "our applicants"


def test_a_sample_has_an_interval_that_covers_who_is_in_its_groups():
    sample = eh.rows(MANY, sample_of="our applicants")
    found = score("group", sample).worst
    granted_by_sex = loan(MANY).groupby(MANY["sex"])
    hits = granted_by_sex.sum().tolist()
    sizes = granted_by_sex.count().tolist()
    has_limits(found.estimate, intervals.spread(hits, sizes, 0.95))
    spread = truth(MANY, "group")
    assert found.estimate.value == pytest.approx(spread, abs=1e-12)
    assert [group.estimate.n for group in found.groups] == sizes


def test_sets_of_a_sample_share_the_level():
    sample = eh.rows(MANY, sample_of="applicants")
    found = score(rows=sample, over=[("sex",), ("income",)])
    for finding in found.findings:
        estimate = finding.estimate
        hits = round(estimate.value * 4000)
        has_limits(estimate, intervals.clopper_pearson(hits, 4000, 0.975))
        assert estimate.level == 0.95
        assert estimate.method == "exact, simultaneous over 2"


def test_a_budget_takes_a_random_part_of_a_sample():
    """The file is sorted, so that its first rows would say something else."""
    people = MANY.sort_values(["age", "income"])
    for kind, n in (("causal", 468), ("group", 936)):
        applicants = eh.rows(people, sample_of="applicants")
        budget = eh.Budget(queries=1000)
        found = score(kind, applicants, budget=budget, level=0.999)
        estimate = found.worst.estimate
        assert found.stop is eh.StopReason.QUERIES
        assert estimate.n == n
        assert estimate.low < truth(MANY, kind) < estimate.high
        assert found.spent.queries <= 1000


def test_a_budget_for_less_than_a_row_is_refused():
    sample = eh.rows(MANY, sample_of="applicants")
    one = eh.Budget(queries=1)
    refused(UsageError, lambda: score(rows=sample, budget=one), "8,000 inputs")
    among_themselves = eh.rows(PEOPLE, twins="rows")
    four = eh.Budget(queries=4)
    refused(
        UsageError,
        lambda: score(rows=among_themselves, budget=four),
        "5 inputs",
        "4 queries",
    )


RACES = eh.Space(
    [eh.category("race", ["a", "b", "c"]), eh.integer("age", 18, 90)],
    protected=["race"],
)


def test_a_group_that_nobody_was_seen_of_is_undecided_in_a_sample_and_noted_in_a_population():
    races = ["a", "b"] * 500
    ages = [30, 50] * 500
    frame = pd.DataFrame({"race": races, "age": ages})
    applicants = eh.rows(frame, sample_of="applicants")
    sample = score("group", applicants, over_20, RACES, limit=0.1)
    assert sample.verdict == "undecided"
    assert sample.worst.estimate.value == 0
    has_limits(sample.worst.estimate, (0, 1))
    empty = "1 of 3 groups of race are empty, such as race c; "
    assert empty + "may be treated in any way" in sample.notes[0]
    population = score("group", eh.rows(frame), over_20, RACES, limit=0.1)
    assert population.verdict == "pass"
    assert empty + "the score says nothing of them" in population.notes[0]
    # Evidence of the others is enough for a fail.
    clear = score("group", applicants, over_40, RACES, limit=0.1)
    assert clear.verdict == "fail"


@pytest.mark.parametrize(("size", "verdict"), [(3, "undecided"), (100, "pass")])
def test_a_tiny_group_of_a_sample_is_undecided(size, verdict):
    races = np.repeat(["a", "b", "c"], [500, 500, size])
    frame = pd.DataFrame({"race": races, "age": 30})
    applicants = eh.rows(frame, sample_of="applicants")
    found = score("group", applicants, over_20, RACES, limit=0.1)
    assert found.verdict == verdict
    sizes = [group.estimate.n for group in found.worst.groups]
    assert sizes == [500, 500, size]


def test_a_group_that_cannot_exist_does_not_leave_a_sample_undecided():
    space = eh.Space(
        [
            eh.category("sex", ["F", "M"]),
            eh.category("pregnant", ["no", "yes"]),
            eh.integer("age", 18, 90),
        ],
        ["sex"],
        ["not (sex == 'M' and pregnant == 'yes')"],
    )
    points = space.draw(3000, np.random.default_rng(0))
    frame = space.decode(points)
    applicants = eh.rows(frame, sample_of="applicants")
    found = score(
        "group",
        applicants,
        over_20,
        space,
        over=["sex", "pregnant"],
        limit=0.2,
    )
    assert len(found.worst.groups) == 3
    assert found.verdict == "pass"
    assert found.notes == ()


def test_one_group_is_nothing_to_compare():
    women = PEOPLE[PEOPLE["sex"] == "F"]
    words = "this population has 1 group", "nothing to compare"
    population = eh.rows(women)
    refused(UsageError, lambda: score("group", population), *words)
    sample = eh.rows(women, sample_of="applicants")
    refused(UsageError, lambda: score("group", sample), *words)
    profile = eh.profile({"sex": {"F": 1.0}})
    refused(UsageError, lambda: score("group", profile), "nothing to compare")


def test_rows_outside_the_bins_are_in_no_group():
    space = eh.Space(
        [eh.integer("age", 0, 99, bins=(20, 40, 60)), eh.integer("income", 0, 99)],
        protected=["age"],
    )
    ages = [5, 20, 39, 40, 60, 61]
    incomes = [99, 10, 90, 90, 90, 0]
    frame = pd.DataFrame({"age": ages, "income": incomes})
    found = score("group", eh.rows(frame), earns_50, space).worst
    rates = {str(group): group.estimate.value for group in found.groups}
    assert rates == {"age 20 to under 40": 0.5, "age 40 to 60": 1.0}


PROFILE: dict[Any, Any] = {
    ("sex", "age"): [("F", 30, 4), ("F", 50, 2), ("M", 50, 3), ("M", 70, 1)],
    "income": [(0, 49, 0.4), (50, 59, 0.1), (60, 99, 0.5)],
}


def test_a_profile_is_sampled_as_it_says():
    """P(flip) = P(40 or older) · P(50 to 59).

    Women under 40 need 50, over that 60; men always need 50.
    """
    sampler = eh.profile(PROFILE)
    flips = score(rows=sampler, margin=0.02, level=0.999).worst.estimate
    assert flips.low <= 0.6 * 0.1 <= flips.high
    assert flips.population == "a profile with weights for sex+age, income"
    groups = score("group", sampler, margin=0.03, level=0.999).worst
    women = (4 / 6) * 0.6 + (2 / 6) * 0.5
    men = 0.6
    spread = groups.estimate
    assert spread.low <= men - women <= spread.high
    for group, rate in zip(groups.groups, (women, men), strict=True):
        assert group.estimate.low <= rate <= group.estimate.high


def test_a_profile_keeps_the_constraints():
    space = eh.Space(SPACE.features, ["sex"], ["not (sex == 'M' and income < 50)"])
    sampler = eh.profile({"income": [(0, 49, 0.5), (50, 99, 0.5)]})
    found = score("group", sampler, earns_50, space, margin=0.03, level=0.999).worst
    assert found.estimate.low <= 0.5 <= found.estimate.high
    assert found.groups[1].estimate.value == 1


def test_the_population_has_a_say():
    """The same software, the same features: who is asked decides the score."""
    young = MANY[MANY["age"] < 40]
    assert score(rows=eh.rows(young), limit=0).verdict == "pass"
    assert score(rows=eh.rows(MANY), limit=0.05).verdict == "fail"
    assert score(exact=False, limit=0.05).verdict == "fail"


@pytest.mark.parametrize("kind", ["causal", "group"])
@pytest.mark.parametrize("options", [{}, {"sample_of": "applicants"}, {"twins": "rows"}])
def test_the_suite_of_given_rows_is_replayed(tmp_path, kind, options):
    file = tmp_path / "rows.csv"
    first = MANY.head(200)
    frame = pd.concat([first, first.assign(sex="F")])
    before = score(kind, eh.rows(frame, **options), keep_tests=True)
    before.to_suite(file)
    again = eh.replay(file, loan, SPACE)
    assert again.details["changed"] == 0
    value = before.worst.estimate.value
    assert again.worst.estimate.value == pytest.approx(value, abs=1e-12)
    fixed = eh.replay(file, earns_50, SPACE)
    if kind == "causal":
        assert fixed.worst.estimate.value == 0
    assert fixed.details["changed"] > 0


def test_what_staged_search_saves_on_rows_is_not_counted_as_spent():
    """73 ages: a row whose outcome flips early is not asked about all of them."""

    def over_54(people):
        return people["age"] > 54

    first_rows = eh.rows(MANY.head(100))
    found = score(rows=first_rows, decide=over_54, over="age")
    assert found.worst.estimate.value == 1
    # All flip: each is asked again with its twin, and one in 16 once more.
    assert found.spent.queries == 64 + 100 * (17 + 2) + 100 // 16
