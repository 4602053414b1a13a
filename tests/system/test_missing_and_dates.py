"""Every verb on a model that takes missing values and dates: what is planted is found."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh

LATE = pd.Timestamp("2021-06-01")


def _people(rows: int = 2000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    days = pd.to_timedelta(rng.integers(0, 700, rows), unit="D")
    applied = pd.Series(pd.Timestamp("2020-01-01") + days)
    job = pd.Series(rng.choice(["clerk", "nurse", "chef"], rows))
    income = pd.Series(rng.integers(0, 100, rows).astype(float))
    return pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], rows),
            "job": job.mask(rng.random(rows) < 0.1),
            "income": income.mask(rng.random(rows) < 0.2),
            "rate": pd.Series(rng.random(rows)).mask(rng.random(rows) < 0.1),
            "applied": applied.mask(rng.random(rows) < 0.05),
        }
    )


def _harsh(people: pd.DataFrame) -> Any:
    """Refuse women whose income is not known, and nurses who came late."""
    unknown = people["income"].isna()
    enough = people["income"].fillna(50) > 40
    harsh = unknown & (people["sex"] == "F")
    late = (people["applied"] > LATE) & (people["job"] == "nurse")
    return (enough & ~harsh & ~late).astype(int).to_numpy()


PEOPLE = _people()
SPACE = eh.Space.from_frame(PEOPLE, protected=["sex", "job"])


def _subject(decide: Any = _harsh) -> eh.Subject:
    return eh.Subject(decide, SPACE, positive=1)


def _texts(result: Any) -> list[str]:
    return [str(finding.about) for finding in result.findings]


def test_twins_of_rows_with_gaps_are_counted():
    unknown = PEOPLE["income"].isna() & ~(
        (PEOPLE["applied"] > LATE) & (PEOPLE["job"] == "nurse")
    )
    found = eh.measure(_subject(), over="sex").worst.estimate
    assert found.value == pytest.approx(unknown.mean())
    for case in eh.measure(_subject(), over="job").worst.cases:
        assert case.twin["job"] is not None


def test_a_twin_may_be_asked_to_lack_its_value():
    def suspicious(people: pd.DataFrame) -> Any:
        return people["job"].notna().astype(int).to_numpy()

    jobs = {"job": {"twins_missing": True}}
    asked = eh.Space.from_frame(PEOPLE, protected=["job"], features=jobs)
    # Without that, only those who lack the value themselves have twins that differ.
    share = PEOPLE["job"].isna().mean()
    assert eh.measure(_subject(suspicious), over="job").worst.estimate.value == share
    every = eh.measure(eh.Subject(suspicious, asked), over="job").worst
    assert every.estimate.value == 1.0
    assert any(
        "job unknown" in str(case) or "→ unknown" in str(case) for case in every.cases
    )


def test_exact_scores_weigh_what_is_missing_by_its_share():
    features = [
        eh.category("sex", ["F", "M"]),
        eh.integer("income", 0, 9, missing=0.2),
        eh.date("applied", "2020-01-01", "2020-01-10", missing=0.5),
    ]

    def harsh(people: pd.DataFrame) -> Any:
        unknown = people["income"].isna() & people["applied"].isna()
        return (unknown & (people["sex"] == "F")).astype(int).to_numpy()

    for kind in ("causal", "group"):
        small = eh.Subject(harsh, eh.Space(features, ["sex"]), positive=1)
        estimate = eh.measure(small, over="sex", kind=kind).worst.estimate
        assert estimate.method == "enumerated"
        assert estimate.value == pytest.approx(0.2 * 0.5)
        assert estimate.population.endswith("missing as often as in the data")
        small = eh.Subject(harsh, eh.Space(features, ["sex"]), positive=1)
        drawn = eh.measure(
            small,
            over="sex",
            kind=kind,
            exact=False,
            margin=0.02,
        )
        assert drawn.worst.estimate.low <= 0.1 <= drawn.worst.estimate.high
    small = eh.Subject(harsh, eh.Space(features, ["sex"]), positive=1)
    sets = eh.subsets(small, among=["sex"], limit=0.05)
    assert sets.worst.estimate.value == pytest.approx(0.1)


def test_what_is_missing_is_a_group():
    found = eh.measure(_subject(), over="job", kind="group").worst
    rates = {}
    for group in found.groups:
        rates[group.about["job"]] = group.estimate.value
    decided = pd.Series(_harsh(PEOPLE))
    assert rates["unknown"] == pytest.approx(decided[PEOPLE["job"].isna()].mean())


@pytest.mark.parametrize("strategy", ["adaptive", "surrogate", "random", "fully-directed"])
def test_a_search_finds_and_explains_what_is_missing(strategy):
    budget = eh.Budget(queries=3000)
    result = eh.search(_subject(), over="sex", strategy=strategy, budget=budget)
    text = result.to_text()
    assert "income unknown" in text
    assert "None" not in text
    found = result.to_frame()
    assert len(found)
    assert found["income"].isna().all()
    assert result.worst.cases[0].individual["income"] is None


def test_rules_of_dates_and_of_what_is_missing_are_mined_and_read_back(tmp_path: Path):
    result = eh.mine(_subject(), data=PEOPLE, over=["sex", "income"], top=20)
    assert "sex F, income unknown" in _texts(result)
    late = eh.mine(_subject(), data=PEOPLE, over=["job", "applied"], top=20)
    assert any("applied from 2021-0" in text and "nurse" in text for text in _texts(late))
    for mined in (result, late):
        file = tmp_path / "mined.json"
        mined.to_json(file)
        assert _texts(eh.Result.from_json(file)) == _texts(mined)
        masks = [finding.about for finding in mined.findings if finding.about.conditions]
        points = SPACE.encode(PEOPLE)
        for rule in masks:
            again = eh.Rule.from_dict(rule.to_dict())
            assert np.array_equal(again.mask(points, SPACE), rule.mask(points, SPACE))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tests_with_gaps_are_kept_and_asked_again(tmp_path: Path, suffix):
    first = eh.measure(
        _subject(),
        over="job",
        keep_tests=True,
        budget=eh.Budget(queries=3000),
    )
    file = tmp_path / f"tests{suffix}"
    first.to_suite(file)
    again = eh.replay(file, _subject())
    assert "0 of" in again.worst.claim
    found = eh.search(_subject(), over="job", budget=eh.Budget(queries=3000))
    found.to_json(tmp_path / "found.json")
    assert eh.replay(tmp_path / "found.json", _subject()).worst.estimate.value == 1.0


def test_a_model_that_reads_gaps_evenly_passes():
    def fair(people: pd.DataFrame) -> Any:
        return (people["income"].fillna(50) > 40).astype(int).to_numpy()

    audit: Any = eh.audit(
        eh.Subject(fair, SPACE, positive=1),
        checks=[{"job": "measure", "limit": 0.05}, {"job": "search"}, {"job": "mine"}],
    )
    assert audit["measure"].found.verdict == "pass"
    assert "unknown" not in str(audit["search"].found.worst.claim)


def test_repaired_models_are_trained_with_gaps():
    ensemble = pytest.importorskip("sklearn.ensemble")
    people = PEOPLE.drop(columns=["applied"])
    inputs = people.assign(sex=people["sex"] == "M", job=people["job"].astype("category"))
    space = eh.Space.from_frame(inputs, protected=["sex"])
    model = ensemble.HistGradientBoostingClassifier(
        categorical_features="from_dtype",
        max_iter=20,
        random_state=0,
    )
    repaired = eh.repair(
        model,
        inputs,
        _harsh(PEOPLE),
        space=space,
        over=["sex"],
        method="augment",
        budget=eh.Budget(queries=2000),
    )
    assert repaired.after.value <= repaired.before.value
