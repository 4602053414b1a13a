"""Scores beyond rates: whom each compares, what it counts, and how it is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

import evenhand as eh
from evenhand.methods.mine import MINE, MINE_LOG
from evenhand.methods.mine.claims.scores import SCORES
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError
from tests.support.helpers import refused

RNG = np.random.default_rng(3)
ROWS = 4000
PEOPLE = pd.DataFrame(
    {
        "woman": RNG.integers(0, 2, ROWS),
        "age": RNG.integers(18, 68, ROWS),
        "income": RNG.integers(0, 100, ROWS),
    }
)
CHANCE = 0.2 + 0.006 * PEOPLE["income"]
PAID = (RNG.random(ROWS) < CHANCE).astype(int).to_numpy()
OLD = (PEOPLE["age"] >= 43).to_numpy()
NOISE = RNG.random(ROWS) < np.where(OLD, 0.35, 0.1)
DECIDED = np.where(NOISE, 1 - PAID, PAID)
LOG = PEOPLE.assign(decided=DECIDED, paid=PAID)
FEATURES = [
    eh.category("woman", [0, 1]),
    eh.integer("age", 18, 67),
    eh.integer("income", 0, 99),
]
SPACE = eh.Space(FEATURES, protected=["woman", "age"])
OF_LABELS = ("rate", "error", "tpr", "fpr", "fnr", "tnr", "precision", "fdr", "for")
WHOLE: dict[str, Any] = {"bins": {"age": [43]}, "depth": 1, "over": "age", "support": 0.01}


def mined_log(score: Any, frame: pd.DataFrame = LOG, **options: Any) -> eh.Result:
    settings: dict[str, Any] = {"outcome": "decided", "truth": "paid", **WHOLE, **options}
    return eh.mine_log(frame, score=score, **settings)


def decide(people: pd.DataFrame) -> Any:
    return (people["income"] + people["age"] > 90).astype(int)


def chance(people: pd.DataFrame) -> Any:
    """Give older people 15 points less than they should have, and all others 10 points more."""
    return 0.3 + 0.006 * people["income"] - 0.25 * (people["age"] >= 43)


def misjudged(truth: Any, rng: Any) -> Any:
    """Return decisions that are wrong more often of older people, above all where they are due."""
    of_due = np.where(OLD, 0.45, 0.1)
    of_others = np.where(OLD, 0.2, 0.05)
    wrong = rng.random(ROWS) < np.where(truth == 1, of_due, of_others)
    return np.where(wrong, 1 - truth, truth)


def sides(result: eh.Result, score: str) -> list[float]:
    """Return both sides of the only story of a score, the lower first."""
    entries = {entry["score"]: entry for entry in result.details["mine"]}
    (story,) = entries[score]["stories"]
    return sorted([story["rate"]["value"], story["other"]["value"]])


def by_age(values: Any) -> Any:
    """Return the means of older people and of everyone else, the lower first."""
    return pytest.approx(sorted([values[OLD].mean(), values[~OLD].mean()]))


def by_scikit_learn(truth: Any, decided: Any) -> dict[str, float]:
    return {
        "rate": decided.mean(),
        "error": 1 - metrics.accuracy_score(truth, decided),
        "tpr": metrics.recall_score(truth, decided),
        "fpr": 1 - metrics.recall_score(truth, decided, pos_label=0),
        "fnr": 1 - metrics.recall_score(truth, decided),
        "tnr": metrics.recall_score(truth, decided, pos_label=0),
        "precision": metrics.precision_score(truth, decided),
        "fdr": 1 - metrics.precision_score(truth, decided),
        "for": 1 - metrics.precision_score(truth, decided, pos_label=0),
    }


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, ROWS)
    decided = misjudged(truth, rng)
    frame = PEOPLE.assign(decided=decided, paid=truth)
    found = mined_log(list(OF_LABELS), frame)
    older = by_scikit_learn(truth[OLD], decided[OLD])
    younger = by_scikit_learn(truth[~OLD], decided[~OLD])
    for name in OF_LABELS:
        rates = sides(found, name)
        assert rates == pytest.approx(sorted([older[name], younger[name]])), name


def test_differences_are_those_of_fairlearn():
    fairlearn = pytest.importorskip("fairlearn.metrics")
    names = {
        "rate": fairlearn.selection_rate,
        "tpr": fairlearn.true_positive_rate,
        "fpr": fairlearn.false_positive_rate,
        "fnr": fairlearn.false_negative_rate,
        "tnr": fairlearn.true_negative_rate,
    }
    decided = misjudged(PAID, np.random.default_rng(0))
    frame = fairlearn.MetricFrame(
        metrics=names, y_true=PAID, y_pred=decided, sensitive_features=OLD
    )
    differences = frame.difference()
    found = mined_log(list(names), PEOPLE.assign(decided=decided, paid=PAID))
    for name in names:
        low, high = sides(found, name)
        assert high - low == pytest.approx(differences[name]), name


def test_calibration_is_the_mean_of_truth_minus_score():
    scores = chance(PEOPLE)
    found = mined_log("calibration", PEOPLE.assign(decided=scores, paid=PAID), support=0.1)
    assert sides(found, "calibration") == by_age(PAID - scores)
    low, high = sides(found, "calibration")
    estimate = found.worst.estimate
    assert estimate.value == pytest.approx(high - low)
    assert estimate.unit == "rate"
    assert estimate.method.startswith("empirical Bernstein")
    assert found.details["mine"][0]["unit"] == "points"
    assert found.details["mine"][0]["stories"][0]["ratio"] is None
    assert "points too high on average, everyone else" in found.worst.claim
    assert "points too low (difference" in found.worst.claim


def test_a_gap_of_everybody_both_ways_is_100_points():
    truth = OLD.astype(int)
    scores = np.where(OLD, 0.01, 0.99) + 0.005 * RNG.random(ROWS)
    found = mined_log("calibration", PEOPLE.assign(decided=scores, paid=truth))
    assert found.worst.estimate.value == 1.0
    assert found.worst.estimate.high == 1.0


def test_a_limit_of_gaps_is_in_points():
    far_off = chance(PEOPLE) * np.where(OLD, 0.5, 1.0)
    frame = PEOPLE.assign(decided=far_off, paid=PAID)
    found = mined_log("calibration", frame, limit=0.05, control="fdr")
    assert found.worst.limit == 0.05
    assert found.worst.verdict == "fail"
    assert found.worst.p_value is not None
    assert found.worst.p_value < 0.05
    assert not [note for note in found.notes if "spread" in note or "lowest" in note]


def test_support_is_of_those_whom_a_score_is_about():
    found = mined_log(["error", "precision", "for"])
    rows = {entry["score"]: entry["rows"] for entry in found.details["mine"]}
    favoured = int(DECIDED.sum())
    assert rows == {"error": ROWS, "precision": favoured, "for": ROWS - favoured}
    precision = found.details["mine"][1]
    covered = OLD[DECIDED == 1].mean()
    assert precision["stories"][0]["support"] in (
        pytest.approx(covered),
        pytest.approx(1 - covered),
    )
    assert precision["population"].endswith("who get the favourable outcome")


CLAIMS = {
    "error": "people with {rule} are decided wrongly ",
    "tpr": (
        "of those whose true outcome is favourable, {rate} of people with {rule} get the outcome 1,"
        " and "
    ),
    "fnr": (
        "of those whose true outcome is favourable, {rate} of people with {rule} are denied the"
        " outcome 1, and "
    ),
    "tnr": (
        "of those whose true outcome is not favourable, {rate} of people with {rule} are denied the"
        " outcome 1, and "
    ),
    "precision": "of those who get the outcome 1, people with {rule} get it rightly ",
    "fdr": "of those who get the outcome 1, people with {rule} get it wrongly ",
    "for": "of those who are denied the outcome 1, people with {rule} are denied it wrongly ",
}


@pytest.mark.parametrize("score", CLAIMS)
def test_claims_say_what_is_compared(score):
    found = mined_log(score)
    worst = found.worst
    group, _ = worst.groups
    rate = number_text.percent(group.estimate.value)
    assert worst.claim.startswith(CLAIMS[score].format(rule=worst.about, rate=rate))
    assert worst.score == score
    assert worst.key.startswith(score)


@pytest.mark.parametrize("score", ["error", "precision", "fdr", "for", "calibration"])
def test_nothing_says_that_the_outcome_is_got_where_that_is_not_compared(score, tmp_path):
    frame = LOG
    if score == "calibration":
        frame = LOG.assign(decided=chance(PEOPLE))
    options = {**WHOLE, "over": ["age", "woman"], "depth": 2, "limit": 0.01}
    found = mined_log(score, frame, **options)
    shown = [finding.claim for finding in found.findings]
    shown.append(found.to_text())
    shown += [heat_title(found)]
    audit = eh.audit_log(
        frame,
        outcome="decided",
        over=["age"],
        truth="paid",
        checks=[{"job": "mine_log", "score": score, "limit": 0.01, "over": ["age"]}],
        progress=False,
    )
    audit.to_html(tmp_path / "page.html")
    from evenhand.methods.audit.formats import junit, markdown

    shown += [markdown.to_markdown(audit), junit.to_junit(audit)]
    for text in shown:
        assert "how often people get the outcome" not in text
        assert "people get the favourable outcome" not in text
        assert " get the outcome 1 " not in text.replace("those who get the outcome 1,", "")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "how often each gets" not in page


def heat_title(found: eh.Result) -> str:
    from evenhand.methods.mine.plot.display import HeatDisplay

    heat = HeatDisplay.from_result(found).heats[0]
    assert heat.percent
    return heat.title


def test_wrong_decisions_have_words_everywhere(plotted):
    found = mined_log("error", over=["age", "woman"], depth=2)
    assert "how often people are decided wrongly, as recorded" in found.to_text()
    assert heat_title(found).startswith("how often people are decided wrongly, by ")
    display = plotted(found)
    assert display.bars[0].sides == ("← less often", "more often →")


def test_gaps_have_words_everywhere(plotted):
    frame = LOG.assign(decided=chance(PEOPLE))
    found = mined_log("calibration", frame, over=["age", "woman"], depth=2)
    text = found.to_text()
    assert "how much people score too low on average, as recorded" in text
    assert "too low" in text
    assert heat_title(found).startswith("how much people score too low on average, by ")
    display = plotted(found)
    assert display.bars[0].sides == ("← scored too high", "scored too low →")
    table = found.to_frame()
    assert table["difference"].abs().iloc[0] == found.worst.estimate.value
    again = eh.Result.from_dict(found.to_dict())
    assert again.to_text() == text


def test_the_software_is_asked_once_for_all_scores():
    asked = []

    def counting(people: pd.DataFrame) -> Any:
        asked.append(len(people))
        return decide(people)

    subject = eh.Subject(counting, SPACE, positive=1, memo=False)
    scores = ["error", "precision", "fdr", "for"]
    found = eh.mine(subject, data=PEOPLE, truth=PAID, score=scores, progress=False)
    assert found.spent.queries == ROWS
    assert sum(asked) <= ROWS + 64
    assert [entry["score"] for entry in found.details["mine"]] == scores


def test_mine_and_mine_log_agree():
    decided = decide(PEOPLE)
    frame = PEOPLE.assign(decided=decided, paid=PAID)
    names = list(OF_LABELS)
    options: dict[str, Any] = {
        "over": ["age", "income"],
        "depth": 2,
        "score": names,
        "top": 3,
    }
    recorded = eh.mine_log(frame, outcome="decided", truth="paid", **options)
    asked = eh.mine(decide, SPACE, PEOPLE, truth=PAID, **options, progress=False)
    for left, right in zip(recorded.details["mine"], asked.details["mine"], strict=True):
        differences = [story["difference"] for story in left["stories"]]
        assert differences == [story["difference"] for story in right["stories"]]


def test_a_function_that_returns_probabilities_is_calibrated_or_not():
    found = eh.mine(
        chance,
        SPACE,
        PEOPLE,
        truth=PAID,
        score=["mean", "calibration"],
        **WHOLE,
        progress=False,
    )
    assert [entry["score"] for entry in found.details["mine"]] == ["mean", "calibration"]
    assert sides(found, "calibration") == by_age(PAID - chance(PEOPLE))
    assert found.details["mine"][0]["unit"] == "amount"


@pytest.mark.parametrize("kind", ["words", "numbers", "truth values"])
@pytest.mark.parametrize("positive", ["yes", "no"])
def test_scores_of_a_model_against_any_kind_of_truth(kind, positive):
    labels = np.where(PAID == 1, "yes", "no")
    # It learns that older people never pay.
    taught = np.where(OLD, "no", labels)
    model = LogisticRegression(max_iter=1000).fit(PEOPLE, taught)
    subject = eh.Subject(model, SPACE, positive=positive, output="score")
    column = int(positive == "yes")
    good = labels == positive
    truth = {"words": labels, "numbers": good.astype(int), "truth values": good}[kind]
    found = eh.mine(
        subject,
        data=PEOPLE,
        truth=truth,
        score="calibration",
        **WHOLE,
        progress=False,
    )
    gaps = good - model.predict_proba(PEOPLE)[:, column]
    assert sides(found, "calibration") == by_age(gaps)
    assert not found.worst.cases


def labelled(people: pd.DataFrame) -> Any:
    return np.array(["A", "B", "C"])[(people["income"] % 3).to_numpy()]


def test_an_error_of_many_labels_is_of_all_of_them():
    labels = ["A", "B", "C"]
    given = labelled(PEOPLE)
    truth = np.where(OLD & (RNG.random(ROWS) < 0.3), "A", given)
    subject = eh.Subject(labelled, SPACE, labels=labels)
    found = eh.mine(
        subject,
        data=PEOPLE,
        truth=truth,
        score=["error", "precision"],
        **WHOLE,
        progress=False,
    )
    entries = [(entry["output"], entry["score"]) for entry in found.details["mine"]]
    assert entries == [
        ("", "error"),
        ("A", "precision"),
        ("B", "precision"),
        ("C", "precision"),
    ]
    assert sides(found, "error") == by_age(given != truth)
    # Nobody need have a label that is never right.
    never = eh.mine(subject, data=PEOPLE, truth=["A", "B"] * (ROWS // 2), score="error")
    assert len(never.details["mine"]) == 1


def test_cases_show_what_a_score_says_or_there_are_none():
    scores = ["rate", "fnr", "tnr", "error", "precision", "fdr", "for"]
    found = eh.mine(
        decide, SPACE, PEOPLE, truth=PAID, score=scores, over="age", progress=False
    )
    seen = set()
    for finding in found.findings:
        if not finding.cases:
            continue
        seen.add(finding.score)
        inside, outside = (group.estimate.value for group in finding.groups)
        favoured_less = inside < outside if finding.score == "rate" else inside > outside
        for case in finding.cases:
            assert case.outcomes == ((0, 1) if favoured_less else (1, 0))
    assert {"rate", "fnr", "tnr"} <= seen
    assert not seen & {"error", "precision", "fdr", "for"}


def test_weights_count_in_every_score():
    weights = np.where(OLD, 2.0, 1.0) + PEOPLE["woman"]
    found = eh.mine(
        decide,
        SPACE,
        eh.rows(PEOPLE, weights=weights),
        over="woman",
        truth=PAID,
        score=["error", "precision"],
        progress=False,
    )
    wrong = decide(PEOPLE) != PAID
    is_woman = PEOPLE["woman"] == 1
    by_sex = [np.average(wrong[sex], weights=weights[sex]) for sex in (is_woman, ~is_woman)]
    assert sides(found, "error") == pytest.approx(sorted(by_sex))
    assert found.worst.estimate.level == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score": "calibration"}, ["'calibration'", "probabilities", "favourable or not"]),
        ({"score": "mean"}, ["'mean'", "score='rate'"]),
        ({"score": "error", "truth": None}, ["'error'", "needs true outcomes"]),
        ({"score": "precison"}, ["did you mean 'precision'"]),
        ({"score": ["error", "error"]}, ["each once"]),
        ({"score": 5}, ["score = 5"]),
    ],
)
def test_what_cannot_be_combined_is_refused(options, words):
    refused(UsageError, lambda: mined_log(**options), *words)
    given = {"truth": PAID, **options}
    refused(UsageError, lambda: eh.mine(decide, SPACE, PEOPLE, **given), *words)


@pytest.mark.parametrize("score", ["precision", "fdr"])
def test_nobody_favoured_is_refused(score):
    refused(
        DataError,
        lambda: mined_log(score, LOG.assign(decided=0), positive=1),
        f"score = '{score}': nobody gets the favourable outcome",
    )
    refused(
        DataError,
        lambda: mined_log("for", LOG.assign(decided=1)),
        "score = 'for': everybody gets the favourable outcome",
    )


def test_numbers_that_are_no_probabilities_are_refused():
    far = LOG.assign(decided=3 * chance(PEOPLE))
    refused(UsageError, lambda: mined_log("calibration", far), "not from 0 to 1")
    refused(UsageError, lambda: mined_log("error", far), "'error'", "numbers")
    refused(
        UsageError,
        lambda: eh.mine(
            lambda people: 3 * chance(people),
            SPACE,
            PEOPLE,
            truth=PAID,
            score="calibration",
        ),
        "not from 0 to 1",
    )
    model = LogisticRegression(max_iter=1000).fit(PEOPLE, PAID)
    subject = eh.Subject(model, SPACE, output="score")
    refused(
        UsageError,
        lambda: eh.mine(subject, data=PEOPLE, truth=PAID, score="error"),
        "score = 'error'",
        "the outcomes are scores",
    )


@pytest.mark.parametrize("verb", [MINE, MINE_LOG])
def test_the_help_names_every_score(verb):
    option = verb.options["score"]
    for name in SCORES:
        assert f" {name}" in option.help
