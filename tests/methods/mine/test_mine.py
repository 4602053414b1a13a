"""mine end to end: the authors' networks, any software and frame, against a plain loop."""

from __future__ import annotations

import itertools
import json
import sys
from functools import partial
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import evenhand as eh
from evenhand.methods.mine.rule_sets import Mining, RuleSetOptions, Treated
from evenhand.methods.mine.treatment import MOST_EXPENSIVE
from evenhand.results.result import schema
from evenhand.runtime.errors import (
    BadOutcome,
    DataError,
    SpaceError,
    SubjectCrashed,
    UsageError,
)
from evenhand.scores.neighbours import Neighbours
from evenhand.space.rule import Rule
from evenhand.subject.view import View
from tests.support.authors import Authors
from tests.support.helpers import examples, refused
from tests.support.sharing import share_everything
from tests.support.strategies import spaces

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b", "c"]),
        eh.integer("age", 18, 77),
        eh.integer("income", 0, 40),
        eh.real("rate", 0, 1),
        eh.category("job", ["none", "cook", "judge"]),
    ],
    protected=["sex", "race", "age"],
)


def people(n: int = 1500, seed: int = 0, space: eh.Space = SPACE) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return space.decode(space.draw(n, rng))


PEOPLE = people()


def score(frame: Any) -> Any:
    """Women from 48 on get much less, and jobs and rates matter a little."""
    columns = {name: frame[name].to_numpy() for name in SPACE.names}
    is_judge = columns["job"] == "judge"
    is_woman = columns["sex"] == "F"
    is_older = columns["age"] >= 48
    income = columns["income"] / 45
    base = income + 0.05 * is_judge + 0.05 * columns["rate"]
    less = 0.4 * (is_woman & is_older)
    return np.clip(base - less, 0, 1)


def loan(frame: Any) -> Any:
    return score(frame) > 0.4


def subject(**options: Any) -> eh.Subject:
    return eh.Subject(loan, SPACE, positive=True, **options)


def mined(data: Any = PEOPLE, **options: Any) -> eh.Result:
    """Mine the loans of some people."""
    return eh.mine(subject(), data=data, **options)


def close(value: Any) -> Any:
    return pytest.approx(value, abs=1e-9)


def stories(result: eh.Result) -> list[eh.Finding]:
    """The findings without the one about all other rule sets."""
    return [finding for finding in result.findings if finding.about.conditions]


def entry(result: eh.Result) -> Any:
    (found,) = result.details["mine"]
    return found


def gap_of(values: Any, mask: Any) -> float:
    """Return the mean of values inside a group less that outside."""
    inside = values[mask].mean()
    outside = values[~mask].mean()
    return float(inside - outside)


def by_hand(frame: pd.DataFrame, decide: Any = loan, space: eh.Space = SPACE) -> Any:
    """How favourably the neighbours of each row are treated, without evenhand's own neighbours."""
    found = []
    for feature in space.features:
        if feature.name in space.protected:
            continue
        amounts = []
        for values in beside(frame[feature.name], feature):
            other = frame.assign(**{feature.name: values})
            is_valid = space.valid(space.encode(other))
            kept = pd.Series(is_valid, frame.index)
            asked = other.where(kept, frame).astype(frame.dtypes)
            outcomes = decide(asked)
            amounts.append(outcomes.astype(float))
        found.append(np.mean(amounts, axis=0))
    return np.mean(found, axis=0)


def beside(column: Any, feature: Any) -> list[Any]:
    """Return the values one step away from those of a column, in each direction."""
    if feature.kind != "category":
        step = feature.step or 0.01
        lower = (column - step).clip(feature.low, feature.high)
        higher = (column + step).clip(feature.low, feature.high)
        return [lower, higher]
    levels = list(feature.levels)
    columns = []
    for by in range(1, len(levels)):
        turned = [*levels[by:], *levels[:by]]
        to = dict(zip(levels, turned, strict=True))
        columns.append(column.map(to))
    return columns


@pytest.fixture(scope="module")
def means() -> Any:
    return by_hand(PEOPLE)


@pytest.fixture(scope="module")
def result() -> eh.Result:
    return mined(limit=0.1)


def test_every_story_is_what_a_loop_over_neighbours_finds(result, means):
    points = SPACE.encode(PEOPLE)
    findings = stories(result)
    assert result.worst is findings[0]
    assert result.worst.about.text == "sex F, age at least 48"
    for finding, story in zip(findings, entry(result)["stories"], strict=True):
        mask = finding.about.mask(points, SPACE)
        inside = means[mask].mean()
        outside = means[~mask].mean()
        difference = inside - outside
        estimate = finding.estimate
        assert estimate.value == close(abs(difference))
        assert estimate.low <= estimate.value <= estimate.high
        assert story["difference"] == close(difference)
        assert story["rows"] == mask.sum()
        assert story["support"] == pytest.approx(mask.mean())
        ratio = story["ratio"]
        assert ratio["value"] == pytest.approx(inside / outside)
        assert ratio["low"] <= ratio["value"] <= ratio["high"]
        assert Rule.from_dict(story["rule"]) == finding.about
        assert f"{100 * inside:.1f} % of people with " in finding.claim
        assert f"{100 * outside:.1f} %" in finding.claim
        assert story["text"] in finding.claim
        check_groups(finding, mask, means)


def test_every_refinement_is_what_a_loop_over_neighbours_finds(result, means):
    points = SPACE.encode(PEOPLE)
    (story,) = entry(result)["stories"]
    inside = Rule.from_dict(story["rule"]).mask(points, SPACE)
    # Age and sex are taken, and of three races there are six choices.
    assert len(story["refinements"]) == 6
    for refined in story["refinements"]:
        check_refinement(refined, inside, means)
        mask = Rule.from_dict(refined["rule"]).mask(points, SPACE)
        for deeper in refined["refinements"]:
            check_refinement(deeper, mask, means)


def check_refinement(refined, inside, means):
    """Check that a rule set within some people is compared with the others of them."""
    rule = Rule.from_dict(refined["rule"])
    assert rule.text == refined["text"]
    mask = rule.mask(SPACE.encode(PEOPLE), SPACE)
    assert not (mask & ~inside).any()
    rate = means[mask].mean()
    other = means[inside & ~mask].mean()
    assert refined["rate"] == close(rate)
    assert refined["other"] == close(other)
    assert refined["difference"] == close(rate - other)
    assert refined["support"] == close(mask.mean())
    assert refined["low"] <= refined["difference"] <= refined["high"]
    assert refined["shown"] == (refined["low"] > 0 or refined["high"] < 0)


def several_causes(frame: Any) -> Any:
    """Three groups that share few people get less, each for a reason of its own."""
    base = frame["income"] / 40 + 0.2 * frame["rate"]
    of_race = 0.55 * (frame["race"] == "b")
    is_old_man = (frame["sex"] == "M") & (frame["age"] >= 60)
    of_young = 0.35 * (frame["age"] < 30)
    return base - of_race - 0.5 * is_old_man - of_young > 0.3


def test_several_causes_are_several_stories():
    tested = eh.Subject(several_causes, SPACE, positive=True)
    result = eh.mine(tested, data=PEOPLE, treatment="rows", limit=0.1)
    got = several_causes(PEOPLE).to_numpy().astype(float)
    points = SPACE.encode(PEOPLE)
    chosen = entry(result)["stories"]
    assert len(chosen) >= 3
    for finding, story in zip(stories(result), chosen, strict=True):
        mask = finding.about.mask(points, SPACE)
        assert story["difference"] == close(gap_of(got, mask))
        shares = sum(part["share"] for part in story["shares"])
        assert shares == close(story["difference"])
    lows = [story["low"] for story in chosen]
    assert min(lows) > 0
    assert lows == sorted(lows, reverse=True)
    firsts = [story for story in chosen if story["added"] is None]
    assert len(firsts) == 1
    leads = len(chosen)
    folded = sum(story["rules"] - 1 for story in chosen)
    assert leads + folded <= entry(result)["examined"]
    assert entry(result)["rest"]["rules"] == entry(result)["examined"] - leads


def test_what_is_known_of_a_story_does_not_depend_on_how_many_there_are():
    tested = eh.Subject(several_causes, SPACE, positive=True)
    listing = partial(eh.mine, tested, data=PEOPLE, treatment="rows")
    (alone,) = entry(listing(top=1))["stories"]
    chosen = entry(listing())["stories"]
    same = {story["text"]: story for story in chosen}[alone["text"]]
    assert len(chosen) > 2
    for key in ("difference", "low", "high", "rate", "other", "ratio", "shares"):
        assert alone[key] == same[key], key
    # Another story may be about more of the people of a variation.
    assert alone["rules"] >= same["rules"] > 1


def check_groups(finding, mask, means):
    """Check that the groups of a finding are those inside and outside of its rule."""
    group, others = finding.groups
    inside = means[mask]
    outside = means[~mask]
    assert group.estimate.value == close(inside.mean())
    assert others.estimate.value == close(outside.mean())
    assert group.estimate.n == len(inside)
    assert others.estimate.n == len(outside)
    assert str(group) == f"rule {finding.about}"
    assert str(others) == "rule everyone else"


def test_the_result_says_how_it_was_found(result):
    mining = entry(result)
    assert mining["over"] == ["sex", "race", "age"]
    assert mining["output"] == ""
    assert mining["favoured"] == "True"
    assert mining["score"] == "rate"
    assert mining["method"] == "neighbours"
    assert mining["rows"] == 1500
    assert mining["queries"] == 1500 * 6
    assert result.spent.queries > mining["queries"]
    assert mining["support"] == 0.05
    assert mining["complement"] == 0.05
    assert mining["depth"] == 3
    assert mining["candidates"] == (2 + 1) * (6 + 1) * (54 + 1) - 1
    assert mining["examined"] <= mining["frequent"]
    assert mining["frequent"] <= mining["candidates"]
    population = "people like the given rows, and their one-step neighbours"
    assert mining["population"] == population
    method = f"max-t, simultaneous over {mining['examined']:,} rule sets"
    for finding in result.findings:
        estimate = finding.estimate
        assert estimate.n == 1500
        assert estimate.level == 0.95
        assert estimate.population == population
        assert estimate.method == method
    findings = stories(result)
    lows = [finding.estimate.low for finding in findings]
    assert lows == sorted(lows, reverse=True)
    texts_of_stories = [story["text"] for story in mining["stories"]]
    assert texts_of_stories == [str(finding.about) for finding in findings]
    assert result.stop is eh.StopReason.ENUMERATED
    assert result.notes == ()
    assert result.verdict == "fail"


def test_the_last_finding_bounds_all_other_rule_sets(result):
    mining = entry(result)
    rest = mining["rest"]
    last = result.findings[-1]
    assert str(last.about) == "everybody"
    assert last.groups == ()
    assert last.cases == ()
    leads = len(mining["stories"])
    assert rest["rules"] == mining["examined"] - leads
    assert f"none of the {rest['rules']:,} other rule sets" in last.claim
    assert last.estimate.value == rest["value"]
    assert last.estimate.low == rest["low"]
    assert last.estimate.high == rest["high"]


def test_maps_are_the_rates_of_all_pairs_of_cells(result, means):
    maps = entry(result)["maps"]
    axes = [each["axes"] for each in maps]
    assert axes == [["sex", "race"], ["sex", "age"], ["race", "age"]]
    by_sex_and_age = maps[1]
    sexes, ages = by_sex_and_age["labels"]
    assert sexes == ["F", "M"]
    assert ages[:2] == ["18 to 23", "24 to 29"]
    is_woman = PEOPLE["sex"] == "F"
    mask = is_woman & PEOPLE["age"].between(24, 29)
    rows = np.array(by_sex_and_age["rows"])
    rates = np.array(by_sex_and_age["rates"])
    expected = means[mask].mean()
    assert rows[0, 1] == mask.sum()
    assert rates[0, 1] == pytest.approx(expected, abs=1e-6)
    assert rows.sum() == 1500


def map_over_ages(data: Any, bins: list[int]) -> Any:
    """Return the only map of a mining over ages."""
    result = mined(data, over="age", bins=bins, treatment="rows")
    (only,) = entry(result)["maps"]
    return only


def test_a_single_feature_has_a_map_of_its_own():
    single = map_over_ages(PEOPLE, [30, 31, 60])
    rows, _ = np.histogram(PEOPLE["age"], [18, 30, 31, 60, 99])
    assert single["axes"] == ["age"]
    assert single["rows"] == rows.tolist()


def test_a_cell_with_nobody_has_no_rate():
    without_30 = PEOPLE[PEOPLE["age"] != 30]
    single = map_over_ages(without_30, [30, 31])
    assert single["rows"][1] == 0
    assert single["rates"][1] is None


def tuples(names: Any) -> set[tuple[Any, ...]]:
    """Return the rows of some columns of all people."""
    rows = PEOPLE[list(names)].itertuples(index=False, name=None)
    return set(rows)


def test_cases_really_differ_and_only_in_sensitive_features(result):
    worst = result.worst
    assert len(worst.cases) == 3
    assert worst.cases[0].outcomes == (False, True)
    sensitive = tuples(SPACE.protected)
    rows = tuples(SPACE.names)
    for finding in stories(result):
        for case in finding.cases:
            pair = [case.individual, case.twin]
            own_outcome, twin_outcome = loan(pd.DataFrame(pair))
            assert case.outcomes == (own_outcome, twin_outcome)
            assert own_outcome != twin_outcome
            assert case.changed
            assert set(case.changed) <= set(SPACE.protected)
            inside = finding.about.mask(SPACE.encode(pair), SPACE)
            assert inside.tolist() == [True, False]
            assert tuple(case.individual.values()) in rows
            # The sensitive features of the twin are those of somebody who is there.
            twin_sensitive = tuple(case.twin[name] for name in SPACE.protected)
            assert twin_sensitive in sensitive


def test_a_result_survives_json(result, tmp_path):
    path = tmp_path / "mine.json"
    text = result.to_json(path)
    jsonschema.Draft202012Validator(schema()).validate(json.loads(text))
    back = eh.Result.from_json(path)
    assert back.digest == result.digest
    assert isinstance(back.worst.about, Rule)
    assert back.worst == result.worst
    assert back.to_json() == text


def test_cases_are_asked_again(result, tmp_path):
    path = tmp_path / "mine.json"
    result.to_json(path)
    again = eh.replay(path, subject())
    assert again.verdict == "fail"
    assert again.details["changed"] == 0
    fair = eh.Subject(lambda frame: frame["income"] > 20, SPACE, positive=True)
    fixed = eh.replay(path, fair)
    assert fixed.verdict == "pass"


# The networks of the paper's authors


def levels_of(feature: Any) -> Any:
    """Return a whole number as a category of all its values."""
    low = int(feature.low)
    high = int(feature.high)
    levels = range(low, high + 1)
    return eh.category(feature.name, list(levels))


def network(name: str, over: dict[int, bool], **options: Any) -> tuple[eh.Result, Authors]:
    """Mine a network over some columns, of which some are categories."""
    authors = Authors(name, list(over))
    given = authors.neighbours.view.subject.space
    features = list(given.features)
    for at, is_category in over.items():
        if is_category:
            features[at] = levels_of(features[at])
    protected = [given.names[at] for at in over]
    space = eh.Space(features, protected=protected)
    rows = authors.rows.astype(int)
    frame = pd.DataFrame(rows, columns=list(given.names))
    tested = eh.Subject(authors.decide, space, positive=True)
    result = eh.mine(tested, data=eh.rows(frame), **options)
    return result, authors


def test_census_as_published():
    result, authors = network("census", {0: False, 7: True, 8: True})
    mining = entry(result)
    assert mining["candidates"] == 4184
    assert mining["frequent"] == 2045
    assert mining["examined"] == 2020
    worst = result.worst
    estimate = worst.estimate
    assert str(worst.about) == "4 <= a < 6, h 0 or 1, i 1"
    assert estimate.value == pytest.approx(0.273, abs=5e-4)
    rates = [group.estimate.value for group in worst.groups]
    assert rates == pytest.approx([0.3817, 0.1087], abs=5e-5)
    assert estimate.level == 1
    assert estimate.method == "enumerated"
    assert estimate.n == 32561
    assert mining["queries"] == 20 * 32561
    space = eh.Space.from_dict(result.space)
    mask = worst.about.mask(authors.rows, space)
    assert mask.sum() == mining["stories"][0]["rows"]


def test_credit_as_published():
    result, _ = network("credit", {8: True, 12: False})
    assert str(result.worst.about) == "i 1, 4 <= m < 6"
    assert result.worst.estimate.value == pytest.approx(0.178, abs=5e-4)


@pytest.mark.slow
def test_bank_as_published():
    result, _ = network("bank", {0: False}, complement=0.0)
    worst_two = entry(result)["stories"][:2]
    differences = [abs(story["difference"]) for story in worst_two]
    left_out = [45211 - story["rows"] for story in worst_two]
    assert differences == pytest.approx([0.630, 0.288], abs=5e-4)
    assert left_out == [9, 130]
    assert result.worst.estimate.value == pytest.approx(0.630, abs=5e-4)


@pytest.mark.slow
def test_compas_with_race_as_one_feature():
    authors = Authors("compas", list(range(8)))
    given = authors.neighbours.view.subject.space
    flags = list(given.names[2:8])
    features = [
        *given.features[:1],
        eh.category("male", [0, 1]),
        eh.category("race", flags),
        *given.features[8:],
    ]
    space = eh.Space(features, protected=["age_degree", "male", "race"])
    rows = authors.rows.astype(int)
    frame = pd.DataFrame(rows, columns=list(given.names))
    race_numbers = frame[flags].to_numpy().argmax(axis=1)
    frame["race"] = np.array(flags)[race_numbers]

    def decide(rows: Any) -> Any:
        races = rows["race"]
        made = pd.DataFrame()
        for flag in flags:
            made[flag] = (races == flag).astype(int)
        before = rows.iloc[:, :2]
        after = rows.iloc[:, 3:]
        return authors.decide(pd.concat([before, made, after], axis=1))

    tested = eh.Subject(decide, space, positive=True)
    # The authors take one, two or five races, and always the sex.
    points = space.encode(frame)
    neighbours = Neighbours.of(View(tested), space.protected)
    treated = Treated(points, neighbours.means(points), "", "neighbours")
    mining = Mining.of(space, space.protected, treated, RuleSetOptions())
    scores: dict[str, float] = {}
    for number in range(mining.ranking.examined):
        rule_set = mining.ranking.rule_set(number)
        if not {1, 2} <= set(rule_set.family):
            continue
        rule = mining.rule(rule_set)
        races = rule.conditions[-1].levels
        if len(races) in (1, 2, 5):
            scores[rule.text] = abs(rule_set.difference)
    worst = max(scores, key=lambda text: scores[text])
    assert worst == "age_degree at least 8, male 1, race not African-American"
    assert scores[worst] == pytest.approx(0.4105, abs=5e-5)


def test_algorithm_2_is_close_to_what_is_exact():
    exact, _ = network("credit", {12: False}, top=100)
    paper, _ = network("credit", {12: False}, top=100, treatment="paper")
    mining = entry(paper)
    assert mining["method"] == "paper"
    assert mining["maps"] == []
    assert mining["examined"] == entry(exact)["examined"]
    queries = mining["queries"]
    most_cases = 64 * len(mining["stories"])
    assert queries < paper.spent.queries <= queries + most_cases
    draws = queries / (2 * mining["examined"])
    assert 1001 <= draws <= 1537
    worst = paper.worst.estimate
    assert worst.level == pytest.approx(0.9025)
    assert worst.method == "wald"
    exact_differences = differences_of(entry(exact))
    errors = []
    for text, difference in differences_of(mining).items():
        if text in exact_differences:
            errors.append(abs(difference - exact_differences[text]))
    assert errors
    assert max(errors) < 0.08
    rest = mining["rest"]
    lowest = max(rest["value"] - 0.05, 0)
    assert rest["low"] == pytest.approx(lowest)
    assert paper.findings[-1].estimate.low < worst.low


def differences_of(mining: Any) -> dict[str, float]:
    return {story["text"]: story["difference"] for story in mining["stories"]}


# Whatever the software


@pytest.fixture(scope="module")
def pipeline(adult):
    texts = []
    for name, dtype in adult.features.dtypes.items():
        if dtype in ("str", object):
            texts.append(name)
    one_hot = (OneHotEncoder(), texts)
    encode = make_column_transformer(one_hot, remainder=StandardScaler())
    model = make_pipeline(encode, LogisticRegression())
    return model.fit(adult.features, adult.labels)


@pytest.fixture(scope="module")
def adult_space(adult):
    return eh.Space.from_frame(adult.features, adult.protected)


def test_an_estimator_on_real_people(adult, pipeline, adult_space):
    some = adult.frame.sample(2500, random_state=0)
    result = eh.mine(
        eh.Subject(pipeline, adult_space, positive=adult.positive),
        data=some,
        treatment="rows",
        truth=adult.target,
        score=["rate", "tpr", "fpr"],
        top=2,
    )
    minings = result.details["mine"]
    assert [mining["score"] for mining in minings] == ["rate", "tpr", "fpr"]
    inputs = some[list(adult_space.names)]
    got = pipeline.predict(inputs) == adult.positive
    targets = some[adult.target].to_numpy()
    true = targets == adult.positive
    points = adult_space.encode(some)
    everybody = np.ones(len(some), dtype=bool)
    compared = [everybody, true, ~true]
    for mining, kept in zip(minings, compared, strict=True):
        assert mining["rows"] == kept.sum()
        for story in mining["stories"]:
            rule = Rule.from_dict(story["rule"])
            mask = rule.mask(points, adult_space)
            expected = gap_of(got[kept], mask[kept])
            assert story["difference"] == close(expected)
            assert story["rows"] == (mask & kept).sum()
    # Of fewer people, those who should get it and those who should not, less is shown.
    assert minings[0]["stories"]


def test_neighbours_of_real_people_are_drawn_within_the_budget(
    adult, pipeline, adult_space
):
    some = adult.frame.sample(1500, random_state=0)
    subject = eh.Subject(pipeline, adult_space, positive=adult.positive)
    budget = eh.Budget(queries=5000)
    around = eh.mine(subject, data=some[:300], budget=budget, over="sex")
    assert entry(around)["method"] == "drawn"
    assert around.spent.queries <= 5000


PROGRAM = """\
import sys
sex, age, income = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
print("yes" if income > 4 and not (sex == "F" and age > 40) else "no")
"""
SMALL = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("age", 20, 59),
        eh.integer("income", 0, 9),
    ],
    protected=["sex", "age"],
)


def command_for(script: Any) -> list[str]:
    """Return the command that asks a script about one person."""
    return [sys.executable, "-S", "-E", str(script), "{sex}", "{age}", "{income}"]


def command(tmp_path: Any, **options: Any) -> eh.Subject:
    script = tmp_path / "loan.py"
    script.write_text(PROGRAM)
    return eh.Subject.command(command_for(script), SMALL, positive="yes", **options)


def test_a_program_is_asked_within_its_budget_and_never_twice(tmp_path):
    ledger = tmp_path / "ledger"
    options: dict[str, Any] = {
        "data": people(60, space=SMALL),
        "support": 0.2,
        "bins": 2,
        "top": 1,
    }
    most = eh.Budget(queries=90)
    with command(tmp_path, ledger=ledger) as cold:
        first = eh.mine(cold, budget=most, **options)
        assert 0 < cold.executed <= first.spent.queries <= 90
    assert entry(first)["method"] == "drawn"
    assert first.stop is eh.StopReason.QUERIES
    with command(tmp_path, ledger=ledger) as warm:
        again = eh.mine(warm, budget=most, **options)
        assert warm.executed == 0
        assert again.digest == first.digest
        rows = eh.mine(warm, budget=eh.Budget(queries=20), **options)
    asked = entry(rows)["rows"]
    assert asked < 60
    assert rows.spent.queries <= 20
    assert f"{asked} of 60 rows were asked about, chosen at random" in rows.notes
    assert MOST_EXPENSIVE == 5000


def test_a_program_that_fails_is_reported(tmp_path):
    script = tmp_path / "bad.py"
    script.write_text("import sys; sys.exit('no such table')")
    frame = people(5, space=SMALL)
    with eh.Subject.command(command_for(script), SMALL, positive="yes") as broken:
        message = refused(
            SubjectCrashed,
            lambda: eh.mine(broken, data=frame),
            "no such table",
        )
    assert SubjectCrashed.exit_code == 4
    assert "Traceback" not in message


def test_a_function_that_fails_is_reported():
    def raises(frame: Any) -> Any:
        raise RuntimeError("out of order")

    def too_few(frame: Any) -> Any:
        return [1]

    nine = people(9, space=SMALL)
    refused(SubjectCrashed, lambda: eh.mine(raises, SMALL, nine), "out of order")
    refused(BadOutcome, lambda: eh.mine(too_few, SMALL, nine))


@pytest.mark.parametrize("treatment", ["neighbours", "drawn", "rows"])
def test_same_seed_same_bytes(treatment, monkeypatch):
    share_everything(monkeypatch)
    listing = partial(
        eh.mine,
        data=PEOPLE,
        treatment=treatment,
        over=["sex", "age"],
        top=3,
    )
    jobs = 2 if treatment == "neighbours" else 1
    alone = listing(subject(memo=False), n_jobs=1, seed=3)
    shared = listing(subject(memo=False), n_jobs=jobs, seed=3)
    remembered = listing(subject(memo=True), n_jobs=1, seed=3)
    assert shared.digest == alone.digest
    assert remembered.digest == alone.digest
    other_seed = listing(subject(), seed=4)
    assert other_seed.digest != alone.digest


FEW_BINS: dict[str, Any] = {"top": 2, "bins": 5}


def test_frames_of_other_engines_give_the_same():
    expected = mined(**FEW_BINS)
    other = pl.from_pandas(PEOPLE)
    records = PEOPLE.to_dict("records")
    for data in (other, other.lazy(), records):
        found = mined(data, **FEW_BINS)
        assert found.digest == expected.digest


def test_software_is_asked_with_frames_of_the_users_engine():
    frame = pl.from_pandas(PEOPLE)
    space = eh.Space.from_frame(frame, SPACE.protected)

    def decide(rows: Any) -> Any:
        assert isinstance(rows, pl.DataFrame)
        return loan(rows)

    tested = eh.Subject(decide, space, positive=True)
    result = eh.mine(tested, data=frame, treatment="rows", **FEW_BINS)
    assert str(result.worst.about).startswith("sex F, age at least")


def test_given_rows_are_everybody_and_a_frame_is_a_sample():
    customers = eh.rows(PEOPLE, sample_of="all customers")
    sample = mined(PEOPLE)
    whole = mined(eh.rows(PEOPLE))
    named = mined(customers)
    assert str(sample.worst.about) == str(whole.worst.about)
    estimated = sample.worst.estimate
    known = whole.worst.estimate
    assert known.value == pytest.approx(estimated.value)
    assert known.low == known.value
    assert known.level == 1
    assert known.method == "enumerated"
    assert "1,500 given rows" in known.population
    assert named.worst.estimate.population.startswith("all customers")
    assert named.worst.estimate.low == estimated.low
    _, _, how_known = whole.worst.claim.rpartition("(")
    assert "to" not in how_known
    for result in (sample, whole, named):
        last = result.findings[-1]
        assert last.about == Rule(())
        assert last.estimate.low <= result.worst.estimate.low


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e4])
def test_weights_count_rows_as_often_as_they_say(scale, means):
    rng = np.random.default_rng(1)
    weights = rng.choice([0.0, 1.0, 3.0], len(PEOPLE))
    result = mined(eh.rows(PEOPLE, weights=scale * weights))
    points = SPACE.encode(PEOPLE)
    rows = entry(result)["rows"]
    findings = stories(result)
    for finding, story in zip(findings, entry(result)["stories"], strict=True):
        mask = finding.about.mask(points, SPACE)
        inside = np.average(means[mask], weights=weights[mask])
        outside = np.average(means[~mask], weights=weights[~mask])
        difference = inside - outside
        assert story["difference"] == pytest.approx(difference)
        apart = abs(difference)
        assert story["low"] == pytest.approx(apart)
        assert story["high"] == pytest.approx(apart)
        support = weights[mask].sum() / weights.sum()
        assert story["support"] == pytest.approx(support)
        group, others = finding.groups
        assert group.estimate.n == mask.sum()
        assert others.estimate.n == rows - mask.sum()
    assert "weighted" in result.worst.estimate.population


@pytest.mark.parametrize(
    "how",
    [
        {"budget": eh.Budget(queries=100)},
        {"treatment": "drawn"},
        {"treatment": "paper"},
    ],
)
@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e4])
def test_weights_need_every_row(how, scale):
    rng = np.random.default_rng(1)
    weights = scale * rng.choice([0.0, 1.0, 3.0], len(PEOPLE))
    given = eh.rows(PEOPLE, weights=weights)
    tested = subject()
    refused(UsageError, lambda: eh.mine(tested, data=given, **how), "weights need")
    assert tested.asked == 0


def test_several_outputs_have_a_view_each(tmp_path):
    def several(frame: Any) -> Any:
        grant = np.where(loan(frame), "yes", "no")
        percent = np.round(100 * score(frame))
        return {"grant": grant, "score": percent}

    tested = eh.Subject(
        several,
        SPACE,
        outputs=["grant", "score"],
        positive={"grant": "yes", "score": lambda value: value > 50},
    )
    both = eh.mine(tested, data=PEOPLE, limit=0.1, top=2)
    first, second = both.details["mine"]
    assert first["output"] == "grant"
    assert first["favoured"] == "grant yes"
    assert second["output"] == "score"
    outputs = {finding.output for finding in both.findings}
    assert outputs == {"grant", "score"}
    worst = first["stories"][0]
    worst_alone = entry(mined())["stories"][0]
    assert worst["text"] == worst_alone["text"]
    assert worst["difference"] == pytest.approx(worst_alone["difference"])
    assert worst["low"] < worst_alone["low"]  # the level is shared
    path = tmp_path / "both.json"
    both.to_json(path)
    assert eh.replay(path, tested).verdict == "fail"


def classes(frame: Any) -> Any:
    value = score(frame)
    not_gold = np.where(value > 0.3, "silver", "none")
    return np.where(value > 0.6, "gold", not_gold)


def subject_of_classes() -> eh.Subject:
    return eh.Subject(classes, SPACE, labels=["gold", "none", "silver"])


def test_classes_have_a_view_each(tmp_path):
    three = eh.mine(subject_of_classes(), data=PEOPLE, top=2)
    favoured = [mining["favoured"] for mining in three.details["mine"]]
    assert favoured == ["gold", "none", "silver"]
    outputs = {finding.output for finding in three.findings}
    assert outputs == set(favoured)
    path = tmp_path / "three.json"
    three.to_json(path)
    assert eh.replay(path, subject_of_classes()).verdict == "fail"


def test_a_view_of_a_class_compares_how_often_it_is_given():
    got = classes(PEOPLE)
    points = SPACE.encode(PEOPLE)
    rows = eh.mine(subject_of_classes(), data=PEOPLE, treatment="rows", top=1)
    chosen = 0
    for mining in rows.details["mine"]:
        has_label = got == mining["favoured"]
        for worst in mining["stories"]:
            rule = Rule.from_dict(worst["rule"])
            mask = rule.mask(points, SPACE)
            assert worst["difference"] == pytest.approx(gap_of(has_label, mask))
            chosen += 1
    assert chosen


def test_scores_are_compared_by_their_mean(adult, pipeline, adult_space):
    some = adult.features.sample(800, random_state=1)
    subject = eh.Subject(
        pipeline,
        adult_space,
        positive=adult.positive,
        output="score",
    )
    column = list(pipeline.classes_).index(adult.positive)
    scores = pipeline.predict_proba(some)[:, column]
    points = adult_space.encode(some)
    result = eh.mine(subject, data=some, treatment="rows")
    worst = result.worst
    mask = worst.about.mask(points, adult_space)
    expected = abs(gap_of(scores, mask))
    assert worst.estimate.value == pytest.approx(expected)
    mean = scores[mask].mean()
    assert f"score {mean:.3f} on average" in worst.claim
    for finding in result.findings:
        assert finding.cases == ()

    targets = adult.frame.loc[some.index, adult.target]
    true = (targets == adult.positive).to_numpy()
    result = eh.mine(subject, data=some, truth=true, score="tpr", over="sex")
    mask = (some["sex"] == "Female").to_numpy()
    expected = abs(gap_of(scores[true], mask[true]))
    # Of few people little is shown, but the difference of the two sexes is known.
    assert result.worst.estimate.value == pytest.approx(expected)


def test_protected_features_that_the_software_does_not_take():
    hidden = eh.Space(
        [
            eh.category("sex", ["F", "M"], passed=False),
            eh.integer("income", 0, 9),
            eh.integer("debt", 0, 9),
        ],
        ["sex"],
    )
    rng = np.random.default_rng(0)
    sexes = rng.choice(["F", "M"], 600)
    base = np.where(sexes == "F", 3, 6)
    frame = pd.DataFrame({"sex": sexes})
    frame["income"] = base + rng.integers(0, 3, 600)
    frame["debt"] = rng.integers(0, 9, 600)
    seen: list[tuple[str, ...]] = []

    def decide(rows: Any) -> Any:
        seen.append(tuple(rows.columns))
        return rows["income"] > 4

    tested = eh.Subject(decide, hidden, positive=True)
    result = eh.mine(tested, data=frame, limit=0.2)
    assert set(seen) == {("income", "debt")}
    assert str(result.worst.about) == "sex F"
    assert result.verdict == "fail"
    for finding in result.findings:
        assert finding.cases == ()


def richer_but_older_women(frame: Any) -> Any:
    is_woman = frame["sex"] == "F"
    is_older = frame["age"] > 40
    is_rich = frame["income"] > 4
    return is_rich & ~(is_woman & is_older)


CONSTRAINED = eh.Space(
    SMALL.features,
    SMALL.protected,
    [
        "not (sex == 'F' and income > 7)",
        "income + age < 66",
    ],
)


def test_constraints_are_kept_in_neighbours_and_cases():
    asked: list[Any] = []

    def decide(frame: Any) -> Any:
        asked.append(frame)
        return richer_but_older_women(frame)

    space = CONSTRAINED
    frame = people(400, space=space)
    tested = eh.Subject(decide, space, positive=True)
    result = eh.mine(tested, data=frame)
    everything_asked = space.encode(pd.concat(asked))
    assert space.valid(everything_asked).all()
    expected = by_hand(frame, decide, space)
    points = space.encode(frame)
    mask = result.worst.about.mask(points, space)
    gap_by_hand = abs(gap_of(expected, mask))
    assert result.worst.estimate.value == pytest.approx(gap_by_hand)
    assert any(finding.cases for finding in result.findings)


def test_rows_that_break_the_constraints_are_refused():
    tested = eh.Subject(richer_but_older_women, CONSTRAINED, positive=True)
    broken = pd.DataFrame([{"sex": "F", "age": 30, "income": 9}])
    refused(DataError, lambda: eh.mine(tested, data=broken), "break the constraints")


SOME_OPTIONS = st.fixed_dictionaries(
    {
        "support": st.sampled_from([0.01, 0.1, 0.3]),
        "complement": st.sampled_from([None, 0, 0.2]),
        "binning": st.sampled_from(["width", "quantiles"]),
        "treatment": st.sampled_from([None, "neighbours", "rows"]),
        "limit": st.sampled_from([None, 0, 0.2]),
    }
)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=list(HealthCheck))
@given(spaces(most=4, constrained=True, continuous=True), st.integers(0, 99), st.data())
def test_any_space_gives_a_sound_result_or_a_sentence(space, seed, data):
    rng = np.random.default_rng(seed)
    rows = data.draw(st.integers(2, 80))
    frame = space.decode(space.draw(rows, rng))
    weights = rng.normal(size=len(space.features))

    def decide(rows: Any) -> Any:
        waves = np.sin(space.encode(rows) @ weights)
        return np.abs(waves) > 0.5

    tested = eh.Subject(decide, space, positive=True)
    some_names = st.lists(st.sampled_from(space.names), min_size=1, unique=True)
    over = data.draw(some_names)
    queries = data.draw(st.sampled_from([None, 40, 500]))
    budget = eh.Budget(queries=queries)
    options = data.draw(SOME_OPTIONS)
    given_rows: Any = frame
    if data.draw(st.booleans()):
        given_rows = eh.rows(frame)
    try:
        result = eh.mine(
            tested,
            data=given_rows,
            over=over,
            budget=budget,
            **options,
        )
    except UsageError as error:
        message = str(error)
        assert "\n" not in message
        assert "no rule set over" in message or "queries are left" in message
        return
    document = json.loads(result.to_json())
    assert eh.Result.from_dict(document).digest == result.digest
    assert tested.asked == result.spent.queries
    assert tested.asked <= (queries or 10**9)
    chosen = [mining["stories"] for mining in result.details["mine"]]
    assert bool(result.worst.about.conditions) == any(chosen)
    for finding in stories(result):
        named = {condition.feature for condition in finding.about.conditions}
        assert named <= set(over)
        check_cases(finding, tested, over)


def check_cases(finding, tested, over):
    """Both inputs of a case are valid, differ in what is mined over, and one meets the rule."""
    space = tested.space
    for case in finding.cases:
        pair = space.encode([case.individual, case.twin])
        assert space.valid(pair).all()
        assert finding.about.mask(pair, space).tolist() == [True, False]
        assert set(case.changed) <= set(over)
        assert tested.decide(pair).tolist() == list(case.outcomes)


# How rules are formed, and what is spent


def texts(result: eh.Result) -> set[str]:
    mining = entry(result)
    found = set()
    for story in mining["stories"]:
        found.add(story["text"])
        found.update(like["text"] for like in story["like"])
    return found


def rows_mined(**options: Any) -> eh.Result:
    """Mine the outcomes of the rows alone, which is quick, and list many stories."""
    return mined(treatment="rows", top=25, **options)


def test_a_depth_bounds_the_conditions():
    single = rows_mined(depth=1)
    assert entry(single)["depth"] == 1
    for finding in single.findings:
        assert len(finding.about.conditions) <= 1


def test_levels_bound_the_levels_of_a_condition():
    few = entry(rows_mined(over="race", levels=1))
    assert few["candidates"] == 3
    assert few["examined"] == 3


def test_bins_are_cut_where_they_are_given():
    result = rows_mined(over=["age", "sex"], bins={"age": [25, 48]})
    assert "sex F, age at least 48" in texts(result)
    (cells,) = entry(result)["maps"]
    ages, _ = cells["labels"]
    assert ages == ["18 to 24", "25 to 47", "48 to 77"]
    assert entry(result)["candidates"] == (5 + 1) * (2 + 1) - 1


def test_quantiles_hold_about_as_many_rows_each():
    result = rows_mined(over="age", bins=4, binning="quantiles")
    first_quartile = np.quantile(PEOPLE["age"], 0.25)
    first_edge = int(np.ceil(first_quartile))
    (cells,) = entry(result)["maps"]
    (ages,) = cells["labels"]
    youngest = min(PEOPLE["age"])
    assert ages[0] == f"{youngest} to {first_edge - 1}"
    rows = cells["rows"]
    assert max(rows) - min(rows) < 60


def test_sets_of_features_share_the_level():
    two = rows_mined(over=[("sex",), ("age", "race")])
    first, second = two.details["mine"]
    assert first["over"] == ["sex"]
    assert second["over"] == ["age", "race"]
    examined = first["examined"] + second["examined"]
    assert two.worst.estimate.method.endswith(f"over {examined} rule sets")


def test_a_support_bounds_both_sides():
    mining = entry(rows_mined(support=0.3))
    supports = [story["support"] for story in mining["stories"]]
    assert min(supports) >= 0.3
    assert max(supports) <= 0.7


def many_reals() -> eh.Space:
    """Return nine protected features without steps, and one more."""
    names = [f"x{number}" for number in range(9)]
    features = [eh.real(name, 0, 1) for name in names]
    features.append(eh.integer("z", 0, 3))
    return eh.Space(features, names)


def test_many_continuous_features_are_taken_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr("evenhand.methods.mine.rule_sets.DEEP_RULES", 1_000_000)
    space = many_reals()
    frame = people(400, space=space)

    def decide(rows: Any) -> Any:
        high = rows["x3"] > 0.7
        return high & (rows["z"] > 0)

    tested = eh.Subject(decide, space, positive=True)
    result = eh.mine(tested, data=frame)
    mining = entry(result)
    assert mining["depth"] == 2
    assert mining["examined"] > 10_000
    assert str(result.worst.about) == "x3 at least 0.7"
    assert len(mining["maps"]) == 15
    (note,) = result.notes
    assert "rule sets take up to 2 of the 9 features" in note


def test_a_depth_that_takes_too_many_rule_sets_is_refused(monkeypatch):
    monkeypatch.setattr("evenhand.methods.mine.rule_sets.MOST_RULES", 1_000_000)
    space = many_reals()
    frame = people(400, space=space)
    tested = eh.Subject(lambda rows: rows["z"] > 0, space, positive=True)
    refused(
        SpaceError,
        lambda: eh.mine(tested, data=frame, depth=5),
        "depth = 3 over 9 features",
        "take depth=2",
    )
    assert tested.asked == 0


@pytest.mark.parametrize("queries", [1, 150, 1600, 6000, 9639, 9640, 20_000])
def test_the_budget_is_never_exceeded(queries):
    asked = subject()
    budget = eh.Budget(queries=queries)
    try:
        result = eh.mine(asked, data=PEOPLE, budget=budget, support=0.2)
    except DataError as error:
        assert queries == 1
        assert "no rule set" in str(error)
        return
    assert asked.asked == result.spent.queries
    assert asked.asked <= queries
    mining = entry(result)
    kept_for_cases = min(queries // 10, 640)
    assert mining["rows"] == min(1500, queries - kept_for_cases)
    if queries >= 9640:
        assert mining["method"] == "neighbours"
        assert result.stop is eh.StopReason.ENUMERATED
        return
    assert mining["method"] == "drawn"
    assert result.stop is eh.StopReason.QUERIES
    whole = mined(eh.rows(PEOPLE), budget=budget, support=0.2)
    # Not everything is known, though the rows are all there are.
    assert whole.worst.estimate.level == 0.95


def test_drawn_neighbours_are_about_all_of_them(means):
    drawn = mined(budget=eh.Budget(queries=5000))
    points = SPACE.encode(PEOPLE)
    for finding in stories(drawn):
        mask = finding.about.mask(points, SPACE)
        expected = abs(gap_of(means, mask))
        assert finding.estimate.value == pytest.approx(expected, abs=0.05)


def test_time_that_is_up_keeps_the_rows_that_were_asked():
    budget = eh.Budget(seconds=1e-3)
    result = mined(people(30_000), budget=budget)
    rows = entry(result)["rows"]
    assert 0 < rows < 30_000
    assert result.stop is eh.StopReason.SECONDS
    assert f"{rows:,} of 30,000 rows were asked about, chosen at random" in result.notes


@pytest.mark.parametrize("whole", [False, True])
def test_an_interrupt_keeps_the_rows_that_were_asked(whole):
    calls = itertools.count()

    def interrupted(frame: Any) -> Any:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return {"one": loan(frame), "other": ~loan(frame)}

    tested = eh.Subject(
        interrupted,
        SPACE,
        outputs=["one", "other"],
        positive={"one": True, "other": True},
    )
    data: Any = people(20_000)
    if whole:
        data = eh.rows(data)
    result = eh.mine(tested, data=data, top=2)
    assert result.stop is eh.StopReason.INTERRUPTED
    first, second = result.details["mine"]
    assert 0 < second["rows"] <= first["rows"] < 20_000
    assert result.worst.estimate.level == 0.95
    assert any("rows were asked about, chosen at random" in note for note in result.notes)


def test_an_interrupt_before_anything_was_asked_is_passed_on():
    def at_once(frame: Any) -> Any:
        raise KeyboardInterrupt

    tested = eh.Subject(at_once, SPACE, positive=True)
    with pytest.raises(KeyboardInterrupt):
        eh.mine(tested, data=people(20_000))


def test_algorithm_2_keeps_to_the_budget_or_refuses():
    tested = subject()

    def by_paper(**budget: Any) -> eh.Result:
        return eh.mine(
            tested,
            data=PEOPLE,
            over="sex",
            treatment="paper",
            budget=eh.Budget(**budget),
        )

    message = refused(
        UsageError,
        lambda: by_paper(queries=5000),
        "treatment = 'paper' may take 6,148",
    )
    assert "5,000" in message
    assert tested.asked == 0
    enough = by_paper(queries=6148)
    assert enough.spent.queries <= 6148
    refused(UsageError, lambda: by_paper(seconds=1e-9), "after 0 of 2 rule sets")


# Verdicts, true outcomes, and what is refused


def test_verdicts_and_exit_codes():
    by_sex = partial(mined, over="sex", treatment="rows")
    free = by_sex()
    assert free.verdict is None
    assert free.exit_code == 0
    estimate = free.worst.estimate
    everybody = eh.rows(PEOPLE)
    over_the_interval = (estimate.high + 1) / 2
    for data, limit, verdict, code in (
        (PEOPLE, estimate.low / 2, "fail", 1),
        (PEOPLE, over_the_interval, "pass", 0),
        (PEOPLE, estimate.value, "undecided", 3),
        (everybody, estimate.value * 1.01, "pass", 0),
        (everybody, estimate.value * 0.99, "fail", 1),
    ):
        result = by_sex(data, limit=limit)
        assert result.verdict == verdict
        assert result.exit_code == code


def test_a_check_names_the_people():
    result = mined(over="sex", limit=0.01)
    with pytest.raises(AssertionError, match="people with sex F"):
        result.check()


def test_a_sample_of_equals_is_undecided_and_everybody_passes():
    def decide(frame: Any) -> Any:
        return frame["income"] > 20

    alike = PEOPLE.assign(income=30)
    fair = eh.mine(decide, SPACE, alike, limit=0, treatment="rows")
    assert fair.verdict == "undecided"
    same = eh.mine(decide, SPACE, eh.rows(alike), limit=0)
    assert same.verdict == "pass"


def test_a_limit_passes_only_if_all_rule_sets_do():
    """One story alone would pass; those that lead none are what is left to prove."""
    listing = partial(mined, over=["sex", "age", "race"], support=0.01)
    free = listing(top=1)
    (alone,) = stories(free)
    highest = alone.estimate.high
    highest_other = entry(free)["rest"]["high"]
    assert highest_other > highest
    one = listing(top=1, limit=highest + 1e-6)
    (story,) = stories(one)
    assert story.verdict == "pass"
    assert one.verdict == "undecided"
    last = one.findings[-1]
    assert str(last.about) == "everybody"
    assert last.estimate.high >= highest_other - 1e-9


def gap(finding: eh.Finding, got: Any, kept: Any) -> float:
    points = SPACE.encode(PEOPLE)
    mask = finding.about.mask(points, SPACE)
    return abs(gap_of(got[kept], mask[kept]))


def words_of(truth: Any) -> Any:
    return np.where(truth, "yes", "no")


@pytest.mark.parametrize(
    "form", ["column", "numbers", "floats", "texts", "values", "series", "polars"]
)
def test_true_outcomes_in_any_form(form):
    rng = np.random.default_rng(0)
    true = rng.uniform(size=len(PEOPLE)) < score(PEOPLE)
    words = words_of(true)
    data: Any = PEOPLE.assign(paid=words)
    truth: Any = "paid"

    def decide(frame: Any) -> Any:
        return words_of(loan(frame))

    def decide_by_number(frame: Any) -> Any:
        return loan(frame).astype(int)

    tested = eh.Subject(decide, SPACE, positive="yes")
    if form in ("numbers", "floats"):
        dtype = int if form == "numbers" else float
        data = PEOPLE.assign(paid=true.astype(dtype))
        tested = eh.Subject(decide_by_number, SPACE)
    elif form == "texts":
        truth = words.tolist()
    elif form == "values":
        truth = true
    elif form == "series":
        truth = pd.Series(words)
    elif form == "polars":
        data = pl.from_pandas(data).lazy()
    result = eh.mine(
        tested,
        data=data,
        truth=truth,
        score=["tpr", "fpr"],
        top=1,
    )
    tpr, fpr = result.details["mine"]
    assert tpr["score"] == "tpr"
    assert fpr["score"] == "fpr"
    assert tpr["rows"] == true.sum()
    assert fpr["rows"] == (~true).sum()
    assert tpr["method"] == "rows"
    by_score = {finding.score: finding for finding in stories(result)}
    assert len(stories(result)) == 2
    for score_name, kept in (("tpr", true), ("fpr", ~true)):
        finding = by_score[score_name]
        expected = gap(finding, loan(PEOPLE), kept)
        assert finding.estimate.value == pytest.approx(expected)
        assert finding.claim.startswith("of those whose true outcome is ")
        assert "whose true outcome is " in finding.estimate.population


def test_truth_values_of_outcomes_that_are_truth_values():
    """Where False is the favourable outcome, it is the favourable truth too."""
    rng = np.random.default_rng(0)
    true = rng.uniform(size=len(PEOPLE)) < 0.5
    denied = eh.Subject(lambda frame: ~loan(frame), SPACE, positive=False)
    result = eh.mine(denied, data=PEOPLE, truth=~true, score="tpr")
    assert entry(result)["rows"] == true.sum()
    expected = gap(result.worst, loan(PEOPLE), true)
    assert result.worst.estimate.value == pytest.approx(expected)


def no(kind: Any, *words: str, **options: Any) -> None:
    """Check that options are refused in a sentence with these words before anything is asked."""
    tested = subject()
    given = {"data": PEOPLE, **options}
    refused(kind, lambda: eh.mine(tested, **given), *words)
    assert tested.asked == 0


@pytest.mark.parametrize("support", [0, 1, -1, 1.5, "a", True, None, float("nan"), [0.1]])
def test_a_wrong_support_is_refused(support):
    no(UsageError, "support is", "over 0 and under 1", support=support)


@pytest.mark.parametrize("complement", [1, -0.1, "a", True])
def test_a_wrong_complement_is_refused(complement):
    no(UsageError, "complement is", complement=complement)


@pytest.mark.parametrize("depth", [0, True, 1.5, "a"])
def test_a_wrong_depth_is_refused(depth):
    no(UsageError, "depth is", depth=depth)


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ("sexx", ["unknown feature 'sexx'", "did you mean 'sex'"]),
        (5, ["over"]),
        ([], ["over is empty"]),
        (["sex", "sex"], ["twice"]),
        ([("sex", "age"), ("age", "sex")], ["twice"]),
    ],
)
def test_wrong_features_are_refused(over, words):
    no(UsageError, *words, over=over)


def test_without_rows_nothing_is_asked():
    no(UsageError, "data is None", data=None)


SOME_AGES_MISSING = [np.nan] * 9 + [20.0] * 1491


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (PEOPLE[:0], ["no rows"]),
        ([], ["no rows"]),
        (7, ["not a dataframe"]),
        (PEOPLE.drop(columns="job"), ["column 'job' is not in the frame"]),
        (PEOPLE.assign(race="d"), ["'race' = 'd' in row 0"]),
        (PEOPLE.assign(age=SOME_AGES_MISSING), ["'age'", "missing values"]),
    ],
)
def test_wrong_rows_are_refused(data, words):
    no(DataError, *words, data=data)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"treatment": "neighbor"},
            ["treatment = 'neighbor'", "did you mean 'neighbours'"],
        ),
        ({"binning": "quantile"}, ["unknown binning 'quantile'"]),
        ({"bins": {"income": 3}}, ["bins names 'income'", "'age'"]),
        ({"bins": 1}, ["bins", "2 or more"]),
        ({"bins": [40, 30]}, ["bins", "rising"]),
        ({"bins": {"age": [5]}}, ["cut point 5"]),
        ({"levels": 0}, ["levels = 0"]),
        ({"top": 0}, ["top = 0"]),
        ({"limit": 2}, ["limit is 2"]),
        ({"level": 1}, ["level is 1"]),
        ({"suport": 0.1}, ["did you mean 'support'"]),
        ({"seed": -1}, ["seed = -1"]),
        ({"budget": 100}, ["budget = 100 is no Budget"]),
        ({"space": SMALL}, ["space of its own"]),
    ],
)
def test_options_that_are_wrong_are_refused_before_anything_is_asked(options, words):
    no(UsageError, *words, **options)


ONES = np.ones(1500)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score": "recall", "truth": ONES}, ["score = 'recall'", "'tpr'"]),
        ({"score": 3}, ["score = 3"]),
        ({"score": ["tpr", "tpr"], "truth": ONES}, ["each once"]),
        ({"score": []}, ["each once"]),
        ({"score": "tpr"}, ["needs true outcomes"]),
        (
            {"score": "tpr", "truth": ONES, "treatment": "paper"},
            ["treatment = 'paper' cannot be combined with true outcomes"],
        ),
    ],
)
def test_wrong_scores_are_refused_before_anything_is_asked(options, words):
    no(UsageError, *words, **options)


@pytest.mark.parametrize(
    ("truth", "kind", "words"),
    [
        ([1, 0, 1], UsageError, "3 outcomes for 1,500 rows"),
        (np.ones((1500, 2)), UsageError, "shape (1500, 2)"),
        ("paid", DataError, "truth = 'paid' is not a column of data"),
        ([None] * 1500, DataError, "no outcome in row 0"),
        (["yes", float("nan")] * 750, DataError, "no outcome in row 1"),
        (pd.Series([1, 0, None] * 500), DataError, "no outcome in row 2"),
        ([[1], [1, 2]] * 750, DataError, "truth has no outcome that is favourable"),
        (["yes", "no"] * 750, DataError, "truth has no outcome that is favourable (True)"),
        ([True] * 1500, DataError, "nobody to compare"),
    ],
)
def test_wrong_true_outcomes_are_refused_before_anything_is_asked(truth, kind, words):
    no(kind, words, score="fpr", truth=truth)


def test_a_column_of_true_outcomes_needs_a_frame_and_all_values():
    given = eh.rows(PEOPLE)
    no(UsageError, "data is not a dataframe", score="fpr", truth="paid", data=given)
    missing = PEOPLE.assign(paid=[None] * 1500)
    no(DataError, "'paid'", "missing values", score="fpr", truth="paid", data=missing)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"support": 0.6},
            ["no rule set over sex covers at least 60 %", "support=0.12"],
        ),
        ({"support": 0.999, "complement": 0}, ["support=0.2"]),
        ({"data": PEOPLE.assign(sex="F")}, ["no rule set over sex"]),
    ],
)
def test_where_no_rule_set_is_frequent_a_support_is_named(options, words):
    no(DataError, *words, over="sex", **options)


def test_functions_need_a_space_protected_features_and_a_favourable_outcome():
    refused(UsageError, lambda: eh.mine(loan, data=PEOPLE), "has no space")
    plain = eh.Space(SPACE.features)
    refused(
        UsageError,
        lambda: eh.mine(loan, plain, PEOPLE),
        "no protected features",
        "over=",
    )

    def labels(frame: Any) -> Any:
        return words_of(loan(frame))

    refused(UsageError, lambda: eh.mine(labels, SPACE, PEOPLE), "positive=")
