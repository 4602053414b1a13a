"""repair_texts: gaps of terms, texts that are added, and what came of it on held-out texts."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from evenhand.methods.mine.texts.mine_text import mine_text
from evenhand.methods.repair.claims.handover import Handover
from evenhand.methods.repair.methods.text_additions import (
    opposite,
    pool,
    split_texts,
    twins,
)
from evenhand.methods.repair.methods.text_gap import (
    TermGap,
    gap_of,
    term_change,
    terms_of,
)
from evenhand.methods.repair.methods.texts import repair_texts
from evenhand.methods.repair.repair_result import Repair
from evenhand.methods.repair.steps import NO_HELP, NOTHING, REPAIRED
from evenhand.runtime.errors import BadOutcome, DataError, NotDeterministic, UsageError
from evenhand.space.rule import Condition, Rule
from evenhand.statistics.estimate import Verdict
from evenhand.texts.lexicon import Lexicon
from evenhand.texts.text_subject import TextSubject
from tests.support.helpers import examples, refused

TERMS = {"gender": ["gay", "straight", "trans"], "faith": ["sikh", "taoist"]}
LEXICON = Lexicon.from_dict(TERMS)
GAY = {"gender": LEXICON.of("gender")[0]}
ANY = re.compile(r"\b(gay|straight|trans)\b")


def corpus(
    size: int = 800, seed: int = 0, bias: float = 0.85
) -> tuple[list[str], list[str]]:
    """Texts of which one rare word tells the truth; "gay" stands mostly in rude ones, which
    misleads a model.
    """
    rng = np.random.default_rng(seed)
    rude = rng.random(size) < 0.5
    term = np.where(
        rng.random(size) < np.where(rude, bias, 1 - bias),
        "gay",
        rng.choice(["straight", "trans"], size),
    )
    words = rng.integers(0, 40, size) + 40 * rude
    fill = rng.integers(0, 30, (size, 2))
    texts = [
        f"the {one} one, w{at}, f{a} f{b}"
        for one, at, (a, b) in zip(term, words, fill.tolist(), strict=True)
    ]
    return texts, np.where(rude, "rude", "fine").tolist()


TEXTS, LABELS = corpus()


def pipeline(last: Any = None) -> Any:
    return make_pipeline(
        CountVectorizer(), last or LogisticRegression(C=0.3, solver="liblinear")
    )


def mended(
    estimator: Any = None, texts: Any = TEXTS, y: Any = LABELS, **options: Any
) -> Repair:
    given: dict[str, Any] = {
        "lexicon": TERMS,
        "positive": "fine",
        "most": 0.5,
        "steps": 3,
        "progress": False,
    }
    return repair_texts(
        pipeline() if estimator is None else estimator, texts, y, **given | options
    )


@pytest.fixture(scope="module")
def repaired() -> Repair:
    return mended()


def by_hand(model: Any, texts: list[str]) -> float:
    """The gap of "gay" in texts that all name a gender."""
    rates = []
    for term in TERMS["gender"]:
        written = [ANY.sub(term, text) for text in texts]
        fine = model.predict(written) == "fine"
        rates.append(np.mean(fine))
    gay, *others = rates
    return abs(float(gay - np.mean(others)))


def test_the_gap_halves_on_texts_that_no_step_has_seen(repaired):
    assert repaired.outcome == REPAIRED
    assert repaired.about == Rule((Condition("gender", levels=("gay",)),))
    assert repaired.over == ("gender",)
    assert repaired.change.verdict == "fell"
    assert repaired.fewer.value > 0.5
    assert repaired.accuracy_after > repaired.accuracy_before - 0.01
    assert repaired.region in ("win-win", "good trade-off")
    assert repaired.check() is repaired
    assert repaired.sizes == {"training": 480, "validation": 120, "test": 200}


def test_the_claim_is_that_of_replacing_one_by_one():
    repaired = mended(refit=False)
    _, _, held = split_texts(TEXTS, LABELS, 0.25, 0.2, 0)
    assert repaired.before.value == pytest.approx(by_hand(repaired.original, held.texts))
    assert repaired.after.value == pytest.approx(by_hand(repaired.model, held.texts))
    assert repaired.before.n == len(held)
    assert "gender" in repaired.before.population
    right = [
        np.mean(model.predict(held.texts) == held.labels)
        for model in (repaired.original, repaired.model)
    ]
    assert [repaired.accuracy_before, repaired.accuracy_after] == pytest.approx(right)


def test_the_model_handed_over_is_the_same_recipe_on_all_texts(repaired):
    measured = mended(refit=False)
    assert measured.change == repaired.change
    assert measured.checks == repaired.checks
    assert measured.handover is not None
    assert measured.handover.why == "switched off"
    handover = repaired.handover
    assert handover is not None
    assert (handover.refitted, handover.rows, handover.measured) == (True, 800, 480)
    everyone = "the model handed over is the same recipe fitted on all 800"
    assert everyone in handover.sentence
    # Words of held-out texts are known to the one and not to the other.
    assert len(repaired.model[0].vocabulary_) >= len(measured.model[0].vocabulary_)
    before = by_hand(repaired.original, TEXTS)
    assert by_hand(repaired.model, TEXTS) < before / 2
    assert Repair.from_dict(repaired.to_dict()).handover == handover


def test_the_step_with_the_smallest_gap_within_the_tolerance_is_kept(repaired):
    sizes = [step.added for step in repaired.history]
    assert sizes == [50, 110, 240]
    (kept,) = [step for step in repaired.history if step.kept]
    assert kept.change.after.value == min(
        step.change.after.value for step in repaired.history
    )
    assert kept.why == "twins"
    assert [step.percent for step in repaired.history] == pytest.approx(
        [100 * size / 480 for size in sizes]
    )


def test_what_else_was_checked(repaired):
    kinds = [check.kind for check in repaired.checks]
    assert kinds == ["aim", "subgroup", "performance", "performance"]
    assert "gender gay" in repaired.checks[1].detail
    assert repaired.checks[0].change.value == pytest.approx(
        repaired.after.value - repaired.before.value
    )
    assert list(repaired.comparisons) == ["aim"]


def test_same_seed_same_bytes_and_json_comes_back(repaired, tmp_path):
    again = mended()
    assert again.digest == repaired.digest
    repaired.to_json(tmp_path / "repair.json")
    assert Repair.from_json(tmp_path / "repair.json").digest == repaired.digest


@pytest.mark.parametrize("add", ["paper", "both"])
def test_the_papers_additions_lower_the_gap_too(add):
    found = mended(add=add, steps=2)
    assert found.outcome == REPAIRED
    assert found.after.value < found.before.value
    assert any("labelled so" in note for note in found.notes)


def test_a_given_rule_against_all_other_texts_and_given_held_out_texts():
    held = corpus(300, seed=5)
    found = mended(
        rule={"gender": "Gay"}, against="rest", test=held, y=pd.Series(LABELS), steps=1
    )
    assert found.sizes["test"] == 300
    inside = np.mean(
        found.original.predict([ANY.sub("gay", text) for text in held[0]]) == "fine"
    )
    rest = np.mean(
        found.original.predict([text for text in held[0] if "gay" not in text]) == "fine"
    )
    assert found.before.value == pytest.approx(abs(inside - rest))


def test_a_rule_may_come_from_a_result():
    result = mine_text(pipeline().fit(TEXTS, LABELS), TEXTS, lexicon=TERMS, positive="fine")
    assert mended(rule=result, steps=1).about == result.worst.about


def test_a_function_that_trains_and_returns_a_function():
    trained = []

    def fit(texts: list[str], labels: Any) -> Any:
        trained.append(len(texts))
        model = pipeline().fit(texts, labels)
        return lambda some: model.predict(some)

    found = mended(fit, steps=2)
    assert trained == [480, 530, 720, 1200]  # the last on all 800, with half as many added
    assert found.handover == Handover(refitted=True, rows=800, measured=480)
    assert found.after.value < found.before.value / 2


def test_labels_of_any_kind_and_models_without_probabilities():
    zeros = [int(label == "rude") for label in LABELS]
    found = mended(
        pipeline(LinearSVC(C=0.02)), y=np.array(zeros), positive=0, add="both", steps=2
    )
    assert found.outcome == REPAIRED
    assert found.model.predict(TEXTS[:5]).dtype.kind == "i"
    assert (
        mended(y=[label == "fine" for label in LABELS], positive=None, steps=1).after.value
        < 0.9
    )


def test_three_labels():
    labels = [
        "odd" if text.endswith("7") else label
        for text, label in zip(TEXTS, LABELS, strict=True)
    ]
    found = mended(
        pipeline(LogisticRegression(C=0.3)),
        y=labels,
        positive=["fine", "odd"],
        add="both",
        steps=1,
    )
    assert found.after.value < found.before.value
    assert [check.name for check in found.checks if check.kind == "performance"] == [
        "accuracy"
    ]


def test_a_fair_model_is_left_as_it_is():
    fair = make_pipeline(
        CountVectorizer(stop_words=["gay", "straight", "trans"]), LogisticRegression()
    )
    found = mended(fair)
    assert found.outcome == NOTHING
    assert found.model is found.original
    assert found.history == ()
    assert found.region is None
    assert (found.before.value, found.verdict) == (0.0, Verdict.PASS)
    assert "nothing to repair; no difference was found" in found.claim
    assert any("clearly stand out" in note for note in found.notes)
    assert found.accuracy_before == found.accuracy_after
    assert mended(fair, limit=0.001).verdict is Verdict.UNDECIDED
    named = mended(fair, rule={"gender": "gay"})
    assert (named.outcome, named.before.value) == (NOTHING, 0.0)
    assert any("makes no difference" in note for note in named.notes)


def test_texts_without_terms_have_nothing_to_repair():
    plain = [
        text.replace("straight", "other").replace("trans", "other").replace("gay", "other")
        for text in TEXTS
    ]
    found = mended(texts=plain)
    assert found.outcome == NOTHING
    assert found.verdict is Verdict.UNDECIDED
    assert np.isnan(found.before.value)
    assert any("no category of the lexicon is named" in note for note in found.notes)
    refused(
        DataError,
        lambda: mended(texts=plain, rule={"gender": "gay"}),
        "training texts names gender",
    )


def test_no_step_helps_where_accuracy_would_fall():
    """Where the labels themselves follow the term, what is gained for the term is lost for
    accuracy.
    """
    texts = [f"{'gay' if at % 2 else 'straight'} man f{at % 7}" for at in range(400)]
    labels = ["rude" if "gay" in text else "fine" for text in texts]
    found = mended(texts=texts, y=labels, most=2.0)
    assert found.outcome == NO_HELP
    assert found.model is found.original
    assert not any(step.kept for step in found.history)
    assert {step.why for step in found.history} >= {"the gap did not fall"}
    assert found.verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rule": {"gender": "gya"}}, ["rule", "'gya'", "did you mean 'gay'"]),
        ({"rule": {"gendre": "gay"}}, ["'gendre'", "did you mean 'gender'"]),
        ({"rule": "gay"}, ["rule = 'gay'", "{'gender': 'gay'}"]),
        ({"rule": {}}, ["rule names no term"]),
        (
            {"rule": Rule((Condition("gender", levels=("gay", "trans")),))},
            ["2 terms", "'gender'"],
        ),
        ({"add": "twin"}, ["add = 'twin'", "did you mean 'twins'"]),
        ({"against": "others"}, ["against = 'others'"]),
        ({"steps": 0}, ["steps = 0"]),
        ({"most": -1}, ["most = -1"]),
        ({"tolerance": "low"}, ["tolerance = 'low'"]),
        ({"validate": 1}, ["validate = 1"]),
        ({"test": 2}, ["test = 2"]),
        ({"test": (TEXTS,)}, ["test", "(texts, y)"]),
        ({"without": 3}, ["without = 3"]),
        ({"positive": "fin"}, ["positive = 'fin'", "did you mean 'fine'"]),
        ({"positive": None}, ["positive=…"]),
        ({"y": None}, ["y is missing"]),
        (
            {"estimator": pipeline(LinearRegression()), "y": [0, 1] * 400, "positive": 1},
            ["predicts numbers"],
        ),
        ({"stepps": 1}, ["'stepps'", "did you mean 'steps'"]),
    ],
)
def test_mistakes_are_refused_in_one_sentence(options, words):
    refused(UsageError, lambda: mended(**options), *words)


def test_wrong_data_and_models_are_refused_in_one_sentence():
    refused(DataError, lambda: mended(y=LABELS[:-1]), "800 texts", "(799,)")
    refused(DataError, lambda: mended(y=[None, *LABELS[1:]]), "None", "not a label")
    refused(DataError, lambda: mended(y=np.linspace(0, 1, 800)), "not a label")
    refused(
        BadOutcome,
        lambda: mended(lambda texts, labels: lambda some: ["bad"] * len(some)),
        "'bad'",
    )
    rng = np.random.default_rng(0)
    refused(
        NotDeterministic,
        lambda: mended(
            lambda texts, labels: lambda some: rng.choice(["fine", "rude"], len(some))
        ),
        "asked again",
    )


def test_twins_are_other_texts_with_their_own_label():
    texts = ["a gay man", "Straight and trans", "no term", "a trans sikh"]
    truth = np.array([0, 1, 2, 3])
    gap = TermGap.of(texts, GAY, LEXICON)
    found, labels = twins(gap, truth, 100, np.random.default_rng(0))
    made = sorted(zip(found, labels.tolist(), strict=True))
    assert made == [
        ("Gay and gay", 1),
        ("Straight and straight", 1),
        ("Trans and trans", 1),
        ("a gay sikh", 3),
        ("a straight man", 0),
        ("a straight sikh", 3),
        ("a trans man", 0),
    ]
    some, _ = twins(gap, truth, 3, np.random.default_rng(1))
    assert len(some) == len(set(some)) == 3


def test_texts_with_the_opposite_outcome_come_first_then_the_nearest():
    model = pipeline(LogisticRegression(C=1)).fit(TEXTS, LABELS)
    subject = TextSubject(model, positive="fine")
    truth = np.array(LABELS)
    gap = TermGap.of(TEXTS, GAY, LEXICON)
    (found, labels), own = opposite(gap, subject, truth, 600, up=True)
    chances = model.predict_proba(found)[:, 0]
    assert 0 < own < 600
    assert (chances[:own] > 0.5).all()
    assert (chances[own:] <= 0.5).all()
    assert (np.diff(chances[own:]) <= 0).all()
    assert all("gay" in text for text in found)
    assert set(labels) == {"fine"}
    both, given, _ = pool(
        gap, subject, truth, "both", 40, np.random.default_rng(0), up=True
    )
    assert both[1::2] == found[:20]
    assert given[1::2].tolist() == ["fine"] * 20


def test_categories_come_in_the_order_of_the_lexicon():
    found = terms_of({"faith": "Sikh", "gender": "gay"}, LEXICON)
    assert list(found) == ["gender", "faith"]
    gap = TermGap.of(["a gay sikh", "a straight taoist", "gay"], found, LEXICON)
    assert gap.rule.text == "gender gay, faith sikh"
    assert sorted(gap.written()) == ["a gay sikh", "a gay sikh"]


COLUMNS = st.integers(0, 2**31).map(lambda seed: np.random.default_rng(seed))


@given(COLUMNS, st.integers(1, 60), st.integers(1, 2))
@settings(max_examples=examples(20), deadline=None)
def test_limits_of_a_change_hold_their_values_and_agree(rng, n, parts):
    low = -1.0 if parts == 1 else 0.0
    columns = [rng.uniform(low, 1, n) ** rng.choice([1, 3]) for _ in range(2 * parts)]
    before = tuple(columns[:parts])
    after = tuple(columns[parts:])
    change = term_change(before, after, level=0.95, population="texts")
    assert change.before.value == pytest.approx(abs(gap_of(before)))
    assert change.fall.value == pytest.approx(change.before.value - change.after.value)
    for one in (change.before, change.after, change.fall, change.fewer):
        assert one.low <= one.value <= one.high
    if parts == 1:
        turned = term_change((-before[0],), (-after[0],), level=0.95, population="texts")
        assert turned.fall.value == pytest.approx(change.fall.value)
        assert turned.fall.low == pytest.approx(change.fall.low, abs=1e-6)


def test_limits_of_a_change_hold_their_level():
    """Gaps whose sign turns are the hard case: all four limits together miss no more often than
    they may.
    """
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(40):
        before = rng.choice([-1.0, 0.0, 1.0], 400, p=[0.05, 0.7, 0.25])
        after = np.where(
            rng.random(400) < 0.6, before, rng.choice([-1.0, 0.0], 400, p=[0.5, 0.5])
        )
        truth = 0.2, abs(0.6 * 0.2 - 0.4 * 0.5)
        change = term_change((before,), (after,), level=0.8, population="texts")
        true = (*truth, truth[0] - truth[1], 1 - truth[1] / truth[0])
        ends = (change.before, change.after, change.fall, change.fewer)
        missed += any(
            not one.low - 1e-9 <= value <= one.high + 1e-9
            for one, value in zip(ends, true, strict=True)
        )
    assert missed <= 8
