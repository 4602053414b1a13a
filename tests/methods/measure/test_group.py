"""Group scores by sampling: intervals against plain rates, constraints, bins, all outcomes."""

from __future__ import annotations

import itertools
import json
import os
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import evenhand as eh
from evenhand.population.samplers import Draws, Uniform, Within
from evenhand.runtime.errors import EvenhandError, RareInputs, SpaceError, UsageError
from evenhand.scores.groups import Groups
from evenhand.statistics.intervals import z_score
from tests.support.helpers import refused
from tests.support.sharing import share_everything

SEX = eh.category("sex", ["F", "M"])
RACE = eh.category("race", ["a", "b", "c"])
AGE = eh.integer("age", 18, 90)
INCOME = eh.integer("income", 0, 99)
SPACE = eh.Space([SEX, RACE, AGE, INCOME], protected=["sex"])
TIED = eh.Space(
    SPACE.features,
    ["sex"],
    [
        "not (sex == 'M' and age < 60)",
        "not (race == 'b' and income >= 50)",
        "not (sex == 'F' and race == 'c')",
    ],
)


def people_of(space: eh.Space) -> Any:
    """Return every valid input, by pandas."""
    columns: list[Any] = []
    for feature in space.features:
        if feature.kind == "category":
            columns.append(feature.levels)
        else:
            low = int(feature.low)
            high = int(feature.high)
            columns.append(range(low, high + 1))
    rows = list(itertools.product(*columns))
    everyone = pd.DataFrame(rows, columns=list(space.names))
    for text in space.constraints:
        everyone = everyone[everyone.eval(text)]
    return everyone


def loan(people):
    """Older men of race b fare better, and wealth counts."""
    is_man = people["sex"] == "M"
    is_b = people["race"] == "b"
    wealth = people["income"] + people["age"] / 2
    points = wealth + (20 * is_man + 15 * is_b)
    return np.where(points > 90, "yes", "no")


EVERYONE = {"free": people_of(SPACE), "tied": people_of(TIED)}


@pytest.mark.parametrize("limit", [None, 0.1])
@pytest.mark.parametrize("over", [["sex"], ["race"], ["race", "sex"]])
@pytest.mark.parametrize("population", ["free", "tied"])
def test_the_intervals_hold_the_plain_rates(population, over, limit):
    everyone = EVERYONE[population]
    is_granted = pd.Series(loan(everyone) == "yes", index=everyone.index)
    rates = is_granted.groupby([everyone[name] for name in over]).mean()
    truth = rates.max() - rates.min()
    space = TIED if population == "tied" else SPACE
    subject = eh.Subject(loan, space, positive="yes")
    found = eh.measure(
        subject,
        over=over,
        kind="group",
        limit=limit,
        margin=0.08,
        level=0.999,
    )
    estimate = found.worst.estimate
    assert estimate.low <= truth <= estimate.high
    if limit is None:
        assert found.stop is eh.StopReason.MARGIN
        assert estimate.high - estimate.value <= 0.08
        assert estimate.value - estimate.low <= 0.08
    else:
        allowed = {"fail" if truth >= limit else "pass"}
        if abs(truth - limit) <= 0.08:
            allowed.add("undecided")
        assert found.verdict in allowed
    groups = found.worst.groups
    # Nobody is F and c where constraints say so.
    assert len(groups) == len(rates)
    for group in groups:
        key = tuple(group.about[name] for name in over)
        rate = rates[key if len(key) > 1 else key[0]]
        assert group.estimate.low <= rate <= group.estimate.high
    sizes = [group.estimate.n for group in groups]
    assert estimate.n == sum(sizes)


def test_a_group_that_constraints_leave_empty_is_named():
    subject = eh.Subject(loan, TIED, positive="yes")
    found = eh.measure(subject, over=["sex", "race"], kind="group", margin=0.2)
    assert [str(group) for group in found.worst.groups] == [
        "sex F, race a",
        "sex F, race b",
        "sex M, race a",
        "sex M, race b",
        "sex M, race c",
    ]
    words = "1 of 6 groups of sex and race are empty, such as sex F, race c"
    assert words in found.notes[0]
    none_empty = eh.measure(subject, over="race", kind="group", margin=0.2)
    assert none_empty.notes == ()


def test_draws_within_a_group_are_those_of_the_population_given_the_group():
    """Of all valid inputs those of a group are as likely as before, whatever constraints tie."""
    groups = Groups(TIED, ("sex", "race"))
    for group in (0, 1, 3, 5):
        about = groups.label(group)
        rng = np.random.default_rng(1)
        points = Uniform().within(20_000, rng, groups, group)
        drawn = TIED.decode(points)
        members = EVERYONE["tied"]
        for name, value in about.items():
            assert set(drawn[name]) == {value}
            members = members[members[name] == value]
        for column in ("age", "income"):
            expected = members[column].value_counts() / len(members)
            seen = drawn[column].value_counts() / len(drawn)
            assert set(seen.index) == set(expected.index)
            errors = np.abs(seen - expected)
            assert errors.max() < 0.01


BINS = [
    # The rate of over 38 in 18..37, 38..57, 58..77, 78..90 is 0, 19/20, 1, 1.
    (
        eh.integer("age", 18, 90, bins=(18, 38, 58, 78, 90)),
        lambda p: p["age"] > 38,
        1.0,
        "18 to under 38",
    ),
    # 8 of each 25, but for the last, which has only 99.
    (
        eh.integer("age", 0, 99, bins=4),
        lambda p: p["age"] % 33 < 8,
        7 / 25,
        "24.75 to under 49.5",
    ),
    (
        eh.real("age", 0, 100, bins=(0, 25, 50, 100)),
        lambda p: p["age"] > 37.5,
        1.0,
        "0 to under 25",
    ),
    (
        eh.real("age", 0, 100, bins=(0, 50, 100)),
        lambda p: (p["age"] > 40) & (p["age"] < 60),
        0.0,
        "50 to 100",
    ),
    (
        eh.real("age", 0, 1, step=0.125, bins=(0, 0.5, 1)),
        lambda p: p["age"] >= 0.375,
        1 - 1 / 4,
        "0 to under 0.5",
    ),
]


OTHER = eh.integer("other", 0, 10_000)


def number_of_bins(bins: Any) -> int:
    """Return how many bins there are, given their number or their edges."""
    if isinstance(bins, int):
        return bins
    return len(bins) - 1


@pytest.mark.parametrize(("feature", "model", "spread", "label"), BINS)
def test_bins_form_groups_of_numbers(feature, model, spread, label):
    space = eh.Space([feature, OTHER], protected=["age"])
    result = eh.measure(
        model,
        space,
        kind="group",
        margin=0.05,
        level=0.999,
        exact=False,
    )
    found = result.worst
    assert found.estimate.low <= spread <= found.estimate.high
    assert len(found.groups) == number_of_bins(feature.bins)
    labels = [group.about["age"] for group in found.groups]
    assert label in labels


def test_a_bin_without_any_value_is_left_out():
    def is_3(people):
        return people["age"] == 3

    age = eh.integer("age", 0, 3, bins=8)
    space = eh.Space([age, OTHER], protected=["age"])
    found = eh.measure(is_3, space, kind="group", exact=False)
    rates = [rate_of(group) for group in found.worst.groups]
    assert rates == [0, 0, 0, 1]
    assert "4 of 8 groups" in found.notes[0]


def test_constraints_reach_into_bins_of_continuous_features():
    space = eh.Space(
        [SEX, eh.real("weight", 0, 100, bins=2)],
        ["sex"],
        ["not (sex == 'M' and weight < 50)"],
    )

    def heavy(people):
        # A quarter of all weights, half of those over 50.
        return people["weight"] > 75

    result = eh.measure(heavy, space, kind="group", margin=0.03, level=0.999)
    found = result.worst.estimate
    assert found.low <= 0.25 <= found.high
    # Continuous values cannot be listed to see whether a group is empty, so none is left out.
    refused(
        RareInputs,
        lambda: eh.measure(heavy, space, over=["sex", "weight"], kind="group"),
        "accept only 0 of",
    )


def rate_of(group):
    return group.estimate.value


@pytest.mark.parametrize("exact", [None, False])
def test_cases_are_favourable_outcomes_lost_by_moving_to_the_worst_group(exact):
    space = eh.Space(
        [SEX, RACE, eh.integer("age", 58, 70), eh.integer("income", 40, 60)],
        ["sex"],
        TIED.constraints,
    )
    subject = eh.Subject(loan, space, positive="yes")
    over = ["sex", "race"]
    result = eh.measure(subject, over=over, kind="group", exact=exact, margin=0.1)
    found = result.worst
    best = max(found.groups, key=rate_of).about
    worst = min(found.groups, key=rate_of).about
    assert 1 <= len(found.cases) <= 3
    for case in found.cases:
        pair = [case.individual, case.twin]
        assert case.outcomes == ("yes", "no")
        assert subject.decide(pair).tolist() == ["yes", "no"]
        assert space.valid(space.encode(pair)).all()
        assert set(case.changed) <= set(over)
        for name in over:
            assert case.individual[name] == best[name]
            assert case.twin[name] == worst[name]


def test_equal_groups_have_no_cases():
    def older(people):
        return people["age"] > 40

    sampled = eh.measure(older, SPACE, kind="group", margin=0.2, exact=False)
    assert sampled.worst.cases == ()
    same = eh.Space([SEX, AGE], protected=["sex"])
    enumerated = eh.measure(older, same, kind="group")
    assert enumerated.worst.cases == ()


def test_the_query_budget_is_never_exceeded():
    asked = 0

    def counted(people):
        nonlocal asked
        asked += len(people)
        return people["age"] + 5 * (people["sex"] == "M") > 50

    sets: list[Any] = [["sex"], [("sex",), ("race",)]]
    for interval, over, queries in itertools.product(
        (None, "wald"), sets, (1, 5, 7, 40, 333)
    ):
        asked = 0
        try:
            found = eh.measure(
                counted,
                SPACE,
                kind="group",
                over=over,
                interval=interval,
                margin=0.01,
                budget=eh.Budget(queries=queries),
            )
        except UsageError as error:
            assert queries <= 7
            assert "budget" in str(error)
        else:
            assert asked <= found.spent.queries <= queries
            # Wald's formula has width zero as soon as all outcomes are alike.
            assert found.stop is eh.StopReason.QUERIES or interval == "wald"
        assert asked <= queries


def test_a_spent_budget_is_undecided():
    budget = eh.Budget(queries=200)
    found = eh.measure(loan_of("yes"), kind="group", limit=0.15, budget=budget)
    assert found.verdict == "undecided"
    sizes = [group.estimate.n for group in found.worst.groups]
    assert found.worst.estimate.n == sum(sizes)


def loan_of(positive: Any, **options: Any) -> eh.Subject:
    return eh.Subject(loan, SPACE, positive=positive, **options)


def test_same_seed_same_result_for_any_number_of_workers(monkeypatch, tmp_path):
    # So all waves but the first are shared.
    share_everything(monkeypatch)

    def signed(people):
        (tmp_path / str(os.getpid())).touch()
        return loan(people)

    def run(seed=3, n_jobs=1, **options):
        subject = eh.Subject(signed, SPACE, positive="yes", **options)
        return eh.measure(
            subject,
            over=["sex", "race"],
            kind="group",
            margin=0.08,
            seed=seed,
            n_jobs=n_jobs,
        ).digest

    first = run()
    assert run(memo=True) == run(memo=False) == first
    assert run(n_jobs=2) == first
    assert len(list(tmp_path.iterdir())) >= 2
    assert run(seed=4) != first


GRADES = ("good", "fair", "poor")


def grade(people):
    """Women get a fair grade where men get a good one."""
    is_poor = people["income"] < 30
    is_good = (people["income"] > 60) & (people["sex"] == "M")
    return np.select([is_poor, is_good], ["poor", "good"], "fair")


@pytest.mark.parametrize("exact", [None, False])
def test_several_labels_without_a_favourable_one_have_a_finding_each(exact):
    space = eh.Space([SEX, INCOME], protected=["sex"])
    found = eh.measure(
        eh.Subject(grade, space, labels=GRADES),
        kind="group",
        margin=0.05,
        exact=exact,
        limit=0.2,
    )
    assert len(found.findings) == 3
    finding_of = {finding.output: finding for finding in found.findings}
    truths = {"good": 0.39, "fair": 0.39, "poor": 0.0}
    for label, truth in truths.items():
        finding = finding_of[label]
        assert finding.verdict == ("fail" if truth > 0.2 else "pass")
        assert finding.estimate.low <= truth <= finding.estimate.high
        if exact is False:
            assert finding.estimate.level == 0.95
            assert finding.estimate.method.endswith("simultaneous over 3")
    if exact is False:
        # The same draws, at the level that makes all three hold together.
        single = eh.measure(
            eh.Subject(grade, space, positive="fair"),
            kind="group",
            margin=0.05,
            exact=False,
            level=1 - 0.05 / 3,
            limit=0.2,
        )
        alone = single.worst.estimate
        together = finding_of["fair"].estimate
        assert alone.value == together.value
        assert alone.low == together.low
        assert alone.high == together.high


@pytest.mark.parametrize(
    "positive",
    [["good", "fair"], ("fair", "good"), {"good", "fair"}, lambda y: y != "poor"],
)
def test_the_favourable_outcome_may_be_several_or_a_function(positive):
    space = eh.Space([SEX, INCOME], protected=["sex"])

    def stricter(people):
        is_refused = (people["sex"] == "F") & (people["income"] < 40)
        return np.where(is_refused, "poor", grade(people))

    subject = eh.Subject(stricter, space, positive=positive)
    found = eh.measure(subject, kind="group").worst
    assert found.estimate.value == 0.1
    name = "the favourable outcome" if callable(positive) else "good"
    assert name in found.claim


def test_what_is_favourable_must_be_declared():
    refused(
        UsageError, lambda: eh.measure(loan, SPACE, kind="group"), "favourable", "positive="
    )
    subject = eh.Subject(lambda people: people["age"] * 2, SPACE)
    refused(
        UsageError,
        lambda: eh.measure(subject, kind="group"),
        "favourable",
        "a function such as",
    )


@pytest.mark.parametrize("exact", [None, False])
def test_scores_are_averaged_by_group(exact):
    space = eh.Space(
        [eh.category("sex", [0, 1]), eh.integer("income", 0, 99)], protected=["sex"]
    )
    people = space.decode(space.enumerate())
    is_granted = people["income"] + 20 * people["sex"] > 60
    model = LogisticRegression().fit(people, is_granted)
    scores = model.predict_proba(people)[:, 1]
    means = pd.Series(scores).groupby(people["sex"]).mean()
    subject = eh.Subject(model, space, output="score")
    result = eh.measure(subject, kind="group", exact=exact, margin=0.05, level=0.999)
    found = result.worst
    difference = means[1] - means[0]
    method = "enumerated" if exact is None else "anytime"
    assert found.estimate.low - 1e-12 <= difference
    assert difference <= found.estimate.high + 1e-12
    assert found.estimate.method == method
    assert found.claim.startswith("the score is ")
    assert found.cases == ()
    if exact is None:
        rates = [group.estimate.value for group in found.groups]
        assert rates == pytest.approx(means.tolist())


def test_a_score_that_is_no_share_is_refused():
    class Scorer:
        classes_ = np.array([0, 1])

        def predict_proba(self, frame):
            return np.tile([-3.0, 4.0], (len(frame), 1))

        def predict(self, frame):
            return np.ones(len(frame))

    subject = eh.Subject(Scorer(), SPACE, output="score")
    refused(
        UsageError,
        lambda: eh.measure(subject, kind="group"),
        "the score 4",
        "positive=lambda",
    )


def both_outputs(people):
    is_rich = people["income"] > 50
    is_man = people["sex"] == "M"
    rate = 9 - is_rich - 2 * is_man
    return {"grant": loan(people), "rate": rate}


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_several_outputs_are_measured_on_the_same_draws(kind):
    positive: Any = {"grant": "yes", "rate": lambda rate: rate < 8}
    subject = eh.Subject(
        both_outputs,
        SPACE,
        outputs=["grant", "rate"],
        positive=positive,
        differs={"rate": 1.0},
    )
    found = eh.measure(subject, kind=kind, margin=0.1)
    assert {finding.output for finding in found.findings} == {"grant", "rate"}
    for finding in found.findings:
        method = "exact" if kind == "causal" else "anytime"
        assert finding.estimate.method == f"{method}, simultaneous over 2"
        assert finding.estimate.level == 0.95
        alone = eh.Subject(
            lambda people, name=finding.output: both_outputs(people)[name],
            SPACE,
            positive=positive[finding.output],
            differs={"rate": 1.0}.get(finding.output),
        )
        single = eh.measure(alone, kind=kind, margin=0.1, level=0.975).worst.estimate
        assert single.value == finding.estimate.value
        assert single.low == finding.estimate.low
        assert single.high == finding.estimate.high
        assert single.n == finding.estimate.n


def paper(
    space: eh.Space,
    decide,
    names: tuple[str, ...],
    margin: float,
    level: float,
    seed: int,
):
    """Follow Algorithm 1 of Themis, line by line: the same random inputs, one at a time."""
    groups = Groups(space, names)
    z = z_score(level)
    sizes = []
    rates = []
    for group in range(len(groups)):
        draws = Draws(
            Within(Uniform(), groups, group),
            space,
            seed,
            "measure",
            "group",
            *names,
            group,
        )
        people = space.decode(draws.take(0, 3000))
        count = 0
        for r, outcome in enumerate(decide(people).tolist(), start=1):
            if outcome:
                count += 1
            if r > 30:
                p = count / r
                variance = p * (1 - p) / r
                if z * variance**0.5 < margin:
                    break
        sizes.append(r)
        rates.append(p)
    return sizes, max(rates) - min(rates)


@pytest.mark.parametrize("seed", range(3))
def test_wald_is_algorithm_one_of_the_paper(seed):
    def decide(people):
        is_b = people["race"] == "b"
        is_man = people["sex"] == "M"
        bar = 4 + 40 * is_b + 5 * is_man
        return np.asarray(people["income"] < bar)

    found = eh.measure(
        decide,
        SPACE,
        over=["sex", "race"],
        kind="group",
        interval="wald",
        margin=0.05,
        level=0.95,
        seed=seed,
    ).worst
    sizes, spread = paper(SPACE, decide, ("sex", "race"), 0.05, 0.95, seed)
    sizes_of_groups = [group.estimate.n for group in found.groups]
    assert sizes_of_groups == sizes
    assert len(set(sizes)) > 2  # each group stops by itself
    assert found.estimate.value == spread
    assert found.estimate.n == sum(sizes)
    assert found.estimate.method == "wald"


def test_wald_misses_a_rare_difference_that_the_default_finds():
    """Nobody of 31 means width zero, so the paper's rule stops and finds no difference at all."""
    identity = eh.integer("id", 1, 20_000)
    rare = eh.Space([SEX, identity], protected=["sex"])

    def one_in_fifty(people):
        return (people["id"] % 50 == 0) & (people["sex"] == "M")

    search = partial(eh.measure, one_in_fifty, rare, kind="group")
    misses = 0
    for seed in range(20):
        found = search(interval="wald", margin=0.01, seed=seed)
        misses += found.worst.estimate.high == 0.0
    assert misses >= 5
    for seed in range(3):
        sound = search(margin=0.02, level=0.99, seed=seed).worst.estimate
        assert sound.low <= 0.02 <= sound.high


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("exact", [None, False])
def test_a_group_suite_is_replayed_on_another_version(tmp_path, suffix, exact):
    file = tmp_path / f"group{suffix}"
    space = eh.Space([SEX, RACE, INCOME], protected=["sex"])

    def old(people):
        bar = 50 - 20 * (people["sex"] == "M")
        return np.where(people["income"] > bar, "yes", "no")

    def new(people):
        return np.where(people["income"] > 50, "yes", "no")

    old_subject = eh.Subject(old, space, positive="yes")
    new_subject = eh.Subject(new, space, positive="yes")
    before = eh.measure(
        old_subject,
        kind="group",
        over=[("sex",), ("race",)],
        margin=0.05,
        keep_tests=True,
        exact=exact,
    )
    before.to_suite(file)
    estimates = {finding.about: finding.estimate for finding in before.findings}
    again = eh.replay(file, old_subject)
    assert again.details["changed"] == 0
    for finding in again.findings:
        value = estimates[finding.about].value
        assert finding.estimate.value == pytest.approx(value, abs=1e-12)
    after = eh.replay(file, new_subject, limit=0.15)
    assert after.verdict == "pass"
    was = after.details["was"]
    assert was["group sex"] == pytest.approx(estimates["sex",].value)
    assert after.details["changed"] > 0
    by_set = {finding.about: finding.estimate for finding in after.findings}
    of_sex = by_set["sex",]
    if exact is None:
        assert of_sex.value == 0
        assert of_sex.method == "enumerated"
    else:
        assert of_sex.method == "anytime, simultaneous over 2"
        assert of_sex.low == 0


def test_a_suite_of_several_sets_and_outputs_is_replayed(tmp_path):
    file = tmp_path / "tests.csv"
    positive: Any = {"grant": "yes", "rate": lambda rate: rate < 8}
    subject = eh.Subject(both_outputs, SPACE, outputs=["grant", "rate"], positive=positive)
    for kind in ("causal", "group"):
        found = eh.measure(
            subject,
            kind=kind,
            over=[("sex",), ("race",)],
            margin=0.1,
            keep_tests=True,
        )
        found.to_suite(file)
        assert len(found.findings) == 4
        held = pd.read_csv(file)
        sets = held["test.over"].map(json.loads).map(tuple)
        assert set(sets) == {("sex",), ("race",)}
        assert set(held["test.kind"]) == {kind}
        again = both_outputs(held)
        assert (held["outcome.grant"] == again["grant"]).all()
        assert (held["outcome.rate"] == again["rate"]).all()
        replayed = eh.replay(file, subject)
        assert replayed.details["changed"] == 0
        estimates = {}
        for finding in found.findings:
            estimates[finding.output, finding.about] = finding.estimate
        for finding in replayed.findings:
            estimate = estimates[finding.output, finding.about]
            # The suite holds the draws of the output that took the most.
            assert finding.estimate.n >= estimate.n
            assert finding.estimate.value == pytest.approx(estimate.value, abs=0.1)


def test_each_label_of_a_suite_is_replayed_by_itself(tmp_path):
    space = eh.Space([SEX, INCOME], protected=["sex"])
    subject = eh.Subject(grade, space, labels=GRADES)
    found = eh.measure(subject, kind="group", margin=0.05, keep_tests=True)
    file = tmp_path / "grades.csv"
    found.to_suite(file)
    again = eh.replay(file, subject)
    before = {finding.output: finding.estimate.value for finding in found.findings}
    after = {finding.output: finding.estimate.value for finding in again.findings}
    assert after == pytest.approx(before)
    keys = {finding.key for finding in again.findings}
    assert keys == {f"replayed group of sex for {label}" for label in GRADES}


WRONG: list[tuple[type[EvenhandError], dict[str, Any], tuple[str, ...]]] = [
    (UsageError, {"over": "sexx"}, ("did you mean 'sex'",)),
    (UsageError, {"over": ["sex", "sex"]}, ("'sex' twice",)),
    (UsageError, {"over": []}, ("over is empty",)),
    (UsageError, {"over": 5}, ("over = 5", "the name of a feature")),
    (UsageError, {"over": [1]}, ("over = [1]", "the name of a feature")),
    (UsageError, {"over": None}, ("no protected features",)),
    (UsageError, {"over": "only"}, ("only", "nothing to compare", "two values")),
    (UsageError, {"over": "only", "exact": True}, ("only", "nothing to compare")),
    (SpaceError, {"over": "weight"}, ("'weight' is continuous", "a step or bins")),
    (UsageError, {"kind": "gruop"}, ("did you mean 'group'",)),
    (UsageError, {"limit": 1.5}, ("limit is 1.5", "between 0 and 1")),
    (UsageError, {"limit": -0.1}, ("limit is -0.1",)),
    (UsageError, {"limit": "0.1"}, ("limit is '0.1'",)),
    (UsageError, {"margin": 0}, ("margin is 0",)),
    (UsageError, {"margin": 1}, ("margin is 1",)),
    (UsageError, {"margin": "wide"}, ("margin is 'wide'",)),
    (UsageError, {"level": 1}, ("level is 1",)),
    (UsageError, {"level": "high"}, ("level is 'high'",)),
    (UsageError, {"interval": "walt"}, ("did you mean 'wald'",)),
    (UsageError, {"interval": "wilson"}, ("'wilson' has no form for a spread",)),
    (UsageError, {"sampler": pd.DataFrame({"sex": ["F"]})}, ("sampler", "rows(...)")),
    (UsageError, {"budget": 1000}, ("budget = 1000", "Budget(queries=1000)")),
    (UsageError, {"exakt": True}, ("did you mean 'exact'",)),
]


@pytest.mark.parametrize(
    ("error", "options", "words"), WRONG, ids=[str(options) for _, options, _ in WRONG]
)
def test_wrong_settings_give_one_sentence(error, options, words):
    only = eh.category("only", ["one"])
    weight = eh.real("weight", 0, 1, passed=False)
    space = eh.Space([SEX, AGE, only, weight])
    arguments: dict[str, Any] = {"kind": "group", "over": "sex", **options}

    def older(people):
        return people["age"] > 40

    refused(error, lambda: eh.measure(older, space, **arguments), *words)
