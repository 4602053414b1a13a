"""mine_text: rates, budgets, cases and errors, for functions and pipelines, against one by one."""

from __future__ import annotations

import itertools
import json
import os
import re
import zlib
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import evenhand as eh
from evenhand.methods.mine.texts.mine_text import mine_text
from evenhand.results.result import Result, schema
from evenhand.runtime.errors import (
    BadOutcome,
    ConfigError,
    DataError,
    NotDeterministic,
    SubjectCrashed,
    UsageError,
)
from evenhand.space.rule import Condition, Rule
from evenhand.space.space import Space
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.intervals import clopper_pearson
from evenhand.texts.lexicon import Lexicon
from evenhand.texts.linear import linear_path
from evenhand.texts.matching import find, unmarked
from tests.support.helpers import refused
from tests.support.paths import BESIDE

TERMS = {
    "gender": ["gay", "straight", "trans"],
    "faith": ["sikh", "muslim", "taoist"],
    "time": ["young", "middle aged"],
}
NOUNS = ["teacher", "driver", "person", "friend", "nurse", "judge", "winner", "loser"]


def written(size: int, seed: int = 0) -> list[str]:
    """Texts of which each names some categories, several times at that."""
    rng = np.random.default_rng(seed)
    texts = []
    for at in range(size):
        parts = [str(rng.choice(NOUNS)) for _ in range(4)]
        for terms in TERMS.values():
            times = rng.integers(0, 3)
            parts += [str(term) for term in rng.choice(terms, times)]
        rng.shuffle(parts)
        words = " ".join(parts)
        texts.append(f"{words} {at}")
    return texts


TEXTS = written(60)


def checksum(text: str) -> int:
    return zlib.crc32(text.encode())


def odd(texts: list[str]) -> list[bool]:
    """An arbitrary decision that any change of a text can change."""
    return [checksum(text) % 3 > 0 for text in texts]


def is_odd(text: str) -> bool:
    """Return the same decision of a single text."""
    return odd([text])[0]


def graded(texts: list[str]) -> list[float]:
    return [checksum(text) % 101 / 100 for text in texts]


def grade(text: str) -> float:
    return graded([text])[0]


def worded(texts: list[str]) -> list[str]:
    return ["keep" if yes else "drop" for yes in odd(texts)]


def not_gay(texts: list[str]) -> list[bool]:
    return [re.search(r"\bgay\b", text, re.I) is None for text in texts]


def pipeline(first: Any = None, *, seed: int = 0) -> Any:
    """A linear model whose outcomes rest on terms, and on which words they stand next to."""
    texts = written(300, seed + 100)
    right = []
    for text in texts:
        without_numbers = re.sub(r"\d+", "", text)
        chance = checksum(without_numbers) % 2
        amount = chance + ("gay" in text) - ("winner" in text)
        right.append(amount > 0)
    vectorizer = first or CountVectorizer(ngram_range=(1, 2))
    model = make_pipeline(vectorizer, LogisticRegression(C=100))
    return model.fit(texts, right)


PIPELINE = pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True))


@cache
def predicted(text: str) -> float:
    return float(PIPELINE.predict([text])[0])


@cache
def likely(text: str) -> float:
    return float(PIPELINE.predict_proba([text])[0, 1])


def pattern(category: str) -> str:
    return rf"\b(?:{'|'.join(TERMS[category])})\b"


def replaced(text: str, categories: Any, terms: Any) -> str:
    for category, term in zip(categories, terms, strict=True):
        text = re.sub(pattern(category), term, text)
    return text


def texts_with(categories: Any, texts: list[str]) -> list[str]:
    found = texts
    for category in categories:
        found = [text for text in found if re.search(pattern(category), text)]
    return found


def combinations_of(categories: Any) -> list[tuple[str, ...]]:
    """Return all combinations of the terms of some categories."""
    terms = [TERMS[name] for name in categories]
    return list(itertools.product(*terms))


def variants_of(categories: Any, texts: list[str]) -> list[tuple[Any, list[str]]]:
    """Return the texts that name categories, with each combination of their terms."""
    named = texts_with(categories, texts)
    variants = []
    for terms in combinations_of(categories):
        written_with = [replaced(text, categories, terms) for text in named]
        variants.append((terms, written_with))
    return variants


def entry_of(result: Result) -> dict[str, Any]:
    (entry,) = result.details["mine_text"]
    return dict(entry)


def rule_of(categories: Any, terms: Any) -> Rule:
    conditions = []
    for category, term in zip(categories, terms, strict=True):
        conditions.append(Condition(category, levels=(term,)))
    return Rule(tuple(conditions))


@pytest.mark.parametrize("against", ["terms", "rest"])
@pytest.mark.parametrize(
    ("model", "one", "options"),
    [
        pytest.param(odd, is_odd, {}, id="function"),
        pytest.param(graded, grade, {"output": "score"}, id="scores"),
        pytest.param(PIPELINE, predicted, {"positive": True}, id="pipeline"),
        pytest.param(
            PIPELINE,
            likely,
            {"positive": True, "output": "score"},
            marks=pytest.mark.slow,
            id="pipeline scores",
        ),
    ],
)
def test_every_number_is_that_of_replacing_one_by_one(model, one, options, against):
    result = mine_text(
        model,
        TEXTS,
        lexicon=TERMS,
        support=0.2,
        against=against,
        top=1000,
        **options,
    )
    entry = entry_of(result)
    expected = frequent_families()
    check_families(entry, expected)
    rates = rates_of(one, expected)
    scores = scores_against(one, rates, against)
    for story in entry["stories"]:
        check_story(story, expected, scores)
    for matrix in entry["matrix"]:
        check_matrix(matrix, rates)
    queries = sum(family["texts"] * family["rules"] for family in entry["families"])
    if against == "rest":
        queries += len(TEXTS)
    assert result.spent.queries == queries
    assert result.stop is StopReason.ENUMERATED


def frequent_families() -> dict[Any, list[str]]:
    """Return the texts of each set of categories that a fifth of the texts name."""
    expected = {}
    for size in (1, 2, 3):
        for chosen in itertools.combinations(TERMS, size):
            some = texts_with(chosen, TEXTS)
            if len(some) >= 0.2 * len(TEXTS):
                expected[chosen] = some
    return expected


def check_families(entry: Any, expected: Any) -> None:
    assert len(expected) == 7
    assert max(map(len, expected)) == 3
    assert entry["depth"] == 3
    families = entry["families"]
    categories = [tuple(family["categories"]) for family in families]
    assert categories == list(expected)
    texts = [family["texts"] for family in families]
    assert texts == [len(some) for some in expected.values()]
    assert entry["candidates"] == 4 * 4 * 3 - 1
    rules = [len(combinations_of(chosen)) for chosen in expected]
    assert entry["examined"] == sum(rules)


def rates_of(one: Any, expected: Any) -> dict[Any, float]:
    """Return the mean outcome with each combination of terms, asked one by one."""
    rates = {}
    for chosen in expected:
        for terms, variants in variants_of(chosen, TEXTS):
            rates[chosen, terms] = fmean(float(one(text)) for text in variants)
    return rates


def scores_against(one: Any, rates: Any, against: str) -> dict[str, Any]:
    """Return the categories of each rule set, its rate, and that of what it is compared with."""
    standing = {text: float(one(text)) for text in TEXTS}
    scores = {}
    for (chosen, terms), inside in rates.items():
        if against == "terms":
            others = rates_of_other_terms(rates, chosen, terms)
        else:
            others = values_without(standing, terms)
        text = rule_of(chosen, terms).text
        scores[text] = chosen, inside, fmean(others)
    return scores


def rates_of_other_terms(rates: Any, chosen: Any, terms: Any) -> list[float]:
    others = []
    for (categories, other_terms), rate in rates.items():
        if categories == chosen and other_terms != terms:
            others.append(rate)
    return others


def values_without(standing: dict[str, float], terms: Any) -> list[float]:
    """Return the outcomes of the texts that lack one of the terms."""
    others = []
    for text, value in standing.items():
        if not all(re.search(rf"\b{term}\b", text) for term in terms):
            others.append(value)
    return others


def check_story(story: Any, expected: Any, scores: Any) -> None:
    chosen, inside, other = scores[story["text"]]
    texts = len(expected[chosen])
    assert Rule.from_dict(story["rule"]).text == story["text"]
    assert story["texts"] == texts
    assert story["support"] == texts / len(TEXTS)
    assert story["rate"]["value"] == pytest.approx(inside)
    assert story["other"]["value"] == pytest.approx(other)
    assert story["difference"] == pytest.approx(inside - other)
    ratio = story["ratio"]
    assert ratio["value"] == pytest.approx(inside / other)
    assert ratio["low"] <= inside / other <= (ratio["high"] or np.inf)
    for like in story["like"]:
        categories, near, far = scores[like["text"]]
        assert like["difference"] == pytest.approx(near - far)
        assert like["support"] == len(expected[categories]) / len(TEXTS)


def check_matrix(matrix: Any, rates: Any) -> None:
    categories = tuple(matrix["axes"])
    found = np.array(matrix["rates"]).ravel()
    expected = []
    for terms in itertools.product(*matrix["labels"]):
        expected.append(rates[categories, terms])
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("model", "one", "options"),
    [
        pytest.param(odd, is_odd, {}, id="function"),
        pytest.param(worded, is_odd, {}, id="labels"),
        pytest.param(graded, grade, {"output": "score", "differs": 0.5}, id="scores"),
        pytest.param(PIPELINE, predicted, {}, id="pipeline"),
        pytest.param(
            PIPELINE,
            likely,
            {"output": "score", "differs": 0.05},
            id="pipeline scores",
        ),
    ],
)
def test_texts_change_outcome_as_often_as_one_by_one(model, one, options):
    result = mine_text(
        model,
        TEXTS,
        lexicon=TERMS,
        support=0.2,
        kind="causal",
        **options,
    )
    entry = entry_of(result)
    changes = entry["changes"]
    far = options.get("differs", 0)
    assert len(entry["families"]) == 7
    assert len(changes) == 7
    for change, finding in zip(changes, result.findings, strict=True):
        chosen = tuple(change["categories"])
        moved = changes_of(one, chosen, far)
        n = len(moved)
        changed = int(moved.any(axis=1).sum())
        assert change["texts"] == n
        assert change["changed"] == changed
        shares = [term["changed"] for term in change["terms"]]
        assert shares == pytest.approx(moved.mean(axis=0).tolist())
        assert finding.about == chosen
        estimate = finding.estimate
        assert estimate.value == pytest.approx(changed / n)
        low, high = clopper_pearson(changed, n, 1 - 0.05 / 7)
        assert estimate.low == pytest.approx(float(low))
        assert estimate.high == pytest.approx(float(high))
        assert estimate.n == n
        assert estimate.level == 0.95
    queries = 32
    for change in changes:
        queries += change["texts"] * (len(change["terms"]) + 1)
    assert result.spent.queries == queries


def changes_of(one: Any, categories: Any, far: float) -> Any:
    """Return whether each text changes its outcome with each combination of terms."""
    before = amounts_of(one, texts_with(categories, TEXTS))
    columns = []
    for _, variants in variants_of(categories, TEXTS):
        after = amounts_of(one, variants)
        columns.append(np.abs(after - before) > far)
    return np.column_stack(columns)


def amounts_of(one: Any, texts: list[str]) -> Any:
    """Return the outcomes of texts as numbers, asked one by one."""
    return np.array([float(one(text)) for text in texts])


def distance(a: Any, b: Any) -> Any:
    return np.abs(a - b)


def test_graded_distances_are_means_of_the_farthest_variants():
    result = mine_text(
        graded,
        TEXTS,
        lexicon=TERMS,
        kind="causal",
        depth=1,
        differs=distance,
    )
    for finding in result.findings:
        (name,) = finding.about
        before = np.array(graded(texts_with([name], TEXTS)))
        farthest = np.zeros(len(before))
        for _, variants in variants_of([name], TEXTS):
            after = np.array(graded(variants))
            farthest = np.maximum(farthest, distance(after, before))
        far = farthest.tolist()
        estimate = finding.estimate
        assert estimate.value == pytest.approx(fmean(far))
        assert estimate.low < fmean(far) < estimate.high
        assert estimate.method.startswith("betting")
        before_first, after_first = finding.cases[0].outcomes
        assert abs(before_first - after_first) == pytest.approx(max(far))


def test_a_distance_that_is_0_by_chance_is_no_count():
    """Its interval is still that of bets."""
    same = mine_text(
        lambda texts: [0.5] * len(texts),
        TEXTS,
        lexicon=TERMS,
        kind="causal",
        depth=1,
        differs=distance,
    )
    assert same.worst.estimate.value == 0
    assert same.worst.estimate.method.startswith("betting")


def texts_of_any_writing() -> list[str]:
    """Return texts with capitals, punctuation and marks around their terms."""
    texts = written(40, 1)
    for at in range(40):
        if at % 3:
            texts[at] = texts[at].title()
    return [
        *texts,
        "A Gay, gay GAY man; an elderly (gay) one",
        "young\tgay\nsikh person",
        "gay-sikh",
        "⟦gay⟧",
    ]


BIGRAMS = TfidfVectorizer(ngram_range=(2, 2), lowercase=False, stop_words=["person"])


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(CountVectorizer(), marks=pytest.mark.slow, id="words"),
        pytest.param(CountVectorizer(ngram_range=(1, 3), binary=True), id="binary"),
        pytest.param(BIGRAMS, marks=pytest.mark.slow, id="bigrams"),
        pytest.param(TfidfVectorizer(max_features=30, token_pattern=r"\S+"), id="few"),
    ],
)
def test_the_fast_path_of_a_pipeline_says_what_the_texts_say(first):
    model = pipeline(first)
    assert linear_path(model) is not None
    texts = texts_of_any_writing()
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"positive": True}, {}),
        ({"positive": True}, {"against": "rest"}),
        ({}, {"kind": "causal"}),
        ({"output": "score", "positive": True}, {"kind": "causal"}),
        ({"threshold": 0.4, "positive": True}, {}),
    ]
    for of_subject, options in cases:
        options |= {"lexicon": TERMS, "support": 0.1}
        fast = mine_text(model, texts, **of_subject, **options)
        slow = mine_text(as_function(model, of_subject), texts, **options)
        assert written_result(fast) == written_result(slow)


def as_function(model: Any, options: dict[str, Any]) -> eh.TextSubject:
    """The same software as a function, whose texts are all written."""

    def shares(texts: list[str]) -> Any:
        return model.predict_proba(texts)[:, 1]

    def over_threshold(texts: list[str]) -> Any:
        return shares(texts) >= options["threshold"]

    def labels(texts: list[str]) -> Any:
        return model.predict(texts)

    if options.get("output") == "score":
        return eh.TextSubject(shares, output="score")
    if "threshold" in options:
        return eh.TextSubject(over_threshold, positive=True)
    return eh.TextSubject(labels, **options)


def written_result(result: Result) -> Any:
    document = json.loads(result.to_json())
    return document["findings"], result.details, result.notes


def wrapped(function: Any, calls: list[list[str]]) -> Any:
    """A function that keeps what it is asked."""

    def kept(texts: list[str]) -> Any:
        calls.append(list(texts))
        return function(texts)

    return kept


def test_equal_texts_are_asked_once():
    calls: list[list[str]] = []
    texts = ["gay person", "straight person", "sikh person"] * 40
    result = mine_text(wrapped(odd, calls), texts, lexicon=TERMS)
    asked = list(itertools.chain(*calls))
    expected = set()
    for name in TERMS:
        for _, variants in variants_of([name], texts):
            expected.update(variants)
    assert sorted(asked) == sorted(expected)
    assert len(asked) == 6
    assert result.spent.executed == 6
    assert result.spent.queries == 80 * 3 + 40 * 3


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="terms"),
        pytest.param({"against": "rest"}, id="rest"),
        pytest.param({"kind": "causal"}, id="causal"),
    ],
)
@pytest.mark.parametrize("queries", [150, 400, 1000, 100_000])
def test_budgets_are_kept(options, queries):
    def mined(seed: int) -> Result:
        return mine_text(
            odd,
            TEXTS,
            lexicon=TERMS,
            support=0.2,
            budget=eh.Budget(queries=queries),
            seed=seed,
            **options,
        )

    first = mined(seed=3)
    again = mined(seed=3)
    other_seed = mined(seed=4)
    is_whole = queries == 100_000
    for result in (first, again, other_seed):
        check_spent(result, queries)
        assert result.stop is (StopReason.ENUMERATED if is_whole else StopReason.QUERIES)
    assert first.digest == again.digest
    assert first.findings == again.findings
    assert (not first.notes) == is_whole
    if not is_whole:
        last_note = first.notes[-1]
        some = "chosen at random" in last_note
        assert some or "beyond the budget" in last_note
        assert other_seed.findings != first.findings or not some


def check_spent(result: Result, queries: int) -> None:
    """What was spent is what the families take, and within the budget."""
    entry = entry_of(result)
    families = entry["families"]
    is_causal = entry["kind"] == "causal"
    spent = sum(family["texts"] * (family["rules"] + is_causal) for family in families)
    if entry["against"] == "rest":
        spent += 60
    if is_causal:
        spent += 32
    assert result.spent.queries == spent
    assert spent <= queries
    assert result.spent.executed <= spent
    single = [family["categories"] for family in families[:3]]
    assert single == [[name] for name in TERMS]
    for family in families:
        named = texts_with(family["categories"], TEXTS)
        assert family["texts"] <= len(named)


@pytest.mark.parametrize(
    ("options", "least"),
    [
        ({}, 8),
        ({"against": "rest"}, 68),
        ({"kind": "causal"}, 11 + 32),
    ],
)
def test_a_budget_for_less_than_one_text_is_refused_before_anything_is_asked(
    options, least
):
    calls: list[list[str]] = []
    tested = wrapped(odd, calls)

    def mined(queries: int) -> Result:
        budget = eh.Budget(queries=queries)
        return mine_text(tested, TEXTS, lexicon=TERMS, budget=budget, **options)

    refused(UsageError, lambda: mined(least - 1), "budget", "raise queries")
    assert calls == []
    families = entry_of(mined(least))["families"]
    assert {family["texts"] for family in families} == {1}


def test_a_number_is_no_budget():
    wrong: Any = 100
    refused(
        UsageError,
        lambda: mine_text(odd, TEXTS, budget=wrong),
        "budget",
        "Budget(queries=1000)",
    )


def test_time_that_is_up_ends_asking_after_the_first_batch():
    subject = eh.TextSubject(odd, batch=30)
    budget = eh.Budget(seconds=1e-9)
    result = mine_text(subject, TEXTS, lexicon=TERMS, support=0.2, budget=budget)
    entry = entry_of(result)
    assert result.stop is StopReason.SECONDS
    assert entry["families"] == [{"categories": ["gender"], "texts": 10, "rules": 3}]
    assert result.spent.queries == 30
    assert result.findings[0].estimate.n == 10
    assert result.notes[-1].startswith(
        "not asked about, since the time budget was spent: faith; time; gender and faith;"
    )


@pytest.mark.parametrize("kind", ["group", "causal"])
def test_an_interrupt_keeps_what_was_asked(kind):
    calls = itertools.count()

    def interrupted(texts: list[str]) -> list[bool]:
        if next(calls) == 6:
            raise KeyboardInterrupt
        return odd(texts)

    subject = eh.TextSubject(interrupted, batch=60)
    result = mine_text(subject, TEXTS, lexicon=TERMS, support=0.2, kind=kind)
    assert result.stop is StopReason.INTERRUPTED
    assert 1 <= len(entry_of(result)["families"]) < 7
    assert "the run was interrupted" in result.notes[-1]
    assert result.findings


@pytest.mark.parametrize("kind", ["group", "causal"])
def test_an_interrupt_of_the_first_call_is_passed_on(kind):
    with pytest.raises(KeyboardInterrupt):
        mine_text(raising(KeyboardInterrupt), TEXTS, lexicon=TERMS, kind=kind)


def raising(error: Any) -> Any:
    def function(texts: list[str]) -> Any:
        raise error

    return function


@pytest.mark.parametrize(
    ("options", "asked_again"),
    [
        ({}, 0),
        ({"against": "rest"}, 0),
        ({"kind": "causal"}, 16),  # to see whether answers stay the same
    ],
)
def test_same_seed_same_bytes_and_a_warm_ledger_executes_nothing(
    tmp_path, options, asked_again
):
    calls: list[list[str]] = []

    def mined(model: Any) -> Result:
        return mine_text(model, TEXTS, lexicon=TERMS, support=0.2, seed=5, **options)

    def with_ledger() -> eh.TextSubject:
        kept = wrapped(odd, calls)
        return eh.TextSubject(kept, identity="odd", ledger=tmp_path / "odd.db")

    plain = mined(odd)
    cold = mined(with_ledger())
    warm = mined(with_ledger())
    assert cold.digest == plain.digest
    assert warm.digest == plain.digest
    assert cold.spent.executed > 0
    assert warm.spent.executed == 0
    asked = list(itertools.chain(*calls))
    assert len(asked) == len(set(asked)) + asked_again
    assert len(asked) == cold.spent.executed


def test_a_pipeline_with_a_ledger_says_the_same_as_without(tmp_path):
    """With a ledger its texts are written down."""
    search = partial(
        mine_text,
        PIPELINE,
        TEXTS,
        positive=True,
        lexicon=TERMS,
        support=0.2,
        seed=5,
    )
    fast = search()
    kept = search(ledger=tmp_path / "p.db")
    assert fast.digest == kept.digest
    again = search(ledger=tmp_path / "p.db")
    assert again.spent.executed == 0


SINGLE: dict[str, Any] = {"lexicon": TERMS, "depth": 1}


def graded_terms(texts: list[str]) -> list[float]:
    """Grades that one term clearly lowers."""
    return [grade(text) * (0.3 if "gay" in text else 1.0) for text in texts]


def worded_terms(texts: list[str]) -> list[str]:
    """Labels that one term clearly makes rare."""
    outcomes = []
    for text in texts:
        outcomes.append("keep" if is_odd(text) and "gay" not in text else "drop")
    return outcomes


def test_scores_are_compared_by_their_mean():
    result = mine_text(graded_terms, TEXTS, output="score", **SINGLE)
    assert " score 0." in result.worst.claim
    assert entry_of(result)["favoured"] == "the score"


def test_any_label_may_be_the_favourable_one():
    def plain(texts: list[str]) -> list[bool]:
        return [outcome == "keep" for outcome in worded_terms(texts)]

    kept = mine_text(worded_terms, TEXTS, positive="keep", **SINGLE)
    dropped = mine_text(worded_terms, TEXTS, positive="drop", **SINGLE)
    kept_differences = differences_of(kept)
    plain_differences = differences_of(mine_text(plain, TEXTS, **SINGLE))
    assert kept_differences
    assert list(kept_differences.values()) == list(plain_differences.values())
    opposite = {text: -value for text, value in differences_of(dropped).items()}
    assert kept_differences == pytest.approx(opposite)
    assert "get the outcome drop, and " in dropped.worst.claim
    both = mine_text(worded, TEXTS, positive=["keep", "drop"], **SINGLE)
    assert both.worst.estimate.value == 0


def test_a_function_may_say_which_outcomes_are_favourable():
    def is_high(scores: Any) -> Any:
        return scores > 0.25

    higher = mine_text(graded_terms, TEXTS, positive=is_high, **SINGLE)
    assert "get the favourable outcome, and " in higher.worst.claim
    (condition,) = higher.worst.about.conditions
    categories = [condition.feature]
    named = texts_with(categories, TEXTS)
    variants = [replaced(text, categories, condition.levels) for text in named]
    high_scores = is_high(np.array(graded_terms(variants)))
    worst = entry_of(higher)["stories"][0]
    assert worst["rate"]["value"] == pytest.approx(high_scores.mean())


def differences_of(result: Result) -> dict[str, float]:
    """Return the difference of each story."""
    return {story["text"]: story["difference"] for story in entry_of(result)["stories"]}


def always(outcome: Any) -> Any:
    """Return software with one outcome for every text."""
    return lambda texts: [outcome] * len(texts)


def test_outcomes_of_which_none_is_favourable_are_refused():
    refused(
        UsageError,
        lambda: mine_text(always("yes"), TEXTS, lexicon=TERMS),
        "favourable",
        "positive=…",
    )
    refused(
        UsageError,
        lambda: mine_text(graded, TEXTS, lexicon=TERMS),
        "favourable",
        "positive=…",
        "lambda y: y > 0.5",
    )
    refused(
        UsageError,
        lambda: mine_text(always(2.5), TEXTS, output="score", lexicon=TERMS),
        "2.5",
        "0 to 1",
    )
    refused(
        UsageError,
        lambda: mine_text(
            always("yes"),
            TEXTS,
            kind="causal",
            differs=0.1,
            lexicon=TERMS,
        ),
        "differs = 0.1",
        "leave it out for labels",
    )
    assert UsageError.exit_code == 2


@pytest.mark.parametrize("wrong", [None, float("nan"), [1, 2]])
def test_what_is_no_outcome_is_refused(wrong):
    refused(BadOutcome, lambda: mine_text(always(wrong), TEXTS, lexicon=TERMS))
    assert BadOutcome.exit_code == 4


def test_too_few_outcomes_are_refused():
    message = refused(
        BadOutcome,
        lambda: mine_text(lambda texts: [True], TEXTS, lexicon=TERMS),
        "returned 1 outcomes",
    )
    assert "one per input" in message


def test_software_that_fails_is_reported():
    message = refused(
        SubjectCrashed,
        lambda: mine_text(raising(KeyError("x")), TEXTS, lexicon=TERMS),
        "KeyError",
    )
    assert "function" in message
    assert SubjectCrashed.exit_code == 4


def test_outcomes_that_change_by_themselves_are_refused():
    rng = np.random.default_rng(0)

    def at_random(texts: list[str]) -> Any:
        return rng.random(len(texts)) < 0.5

    refused(
        NotDeterministic,
        lambda: mine_text(at_random, TEXTS, kind="causal", lexicon=TERMS),
        "asked again",
    )


def no(error: Any, *words: str, **options: Any) -> str:
    """Check that options are refused in a sentence with these words, and return it."""
    given = {"texts": TEXTS, "lexicon": TERMS, **options}
    return refused(error, lambda: mine_text(odd, **given), *words)


@pytest.mark.parametrize("support", [0, 1, 1.5, -0.1, None, "x", float("nan"), True])
def test_a_wrong_support_is_refused(support):
    no(UsageError, "support", "0.05", support=support)


@pytest.mark.parametrize("depth", [0, -1, 1.5, "two", True])
def test_a_wrong_depth_is_refused(depth):
    no(UsageError, "depth", "1 or more", depth=depth)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "grup"}, ["kind = 'grup'", "did you mean 'group'?"]),
        ({"against": "term"}, ["against = 'term'", "did you mean 'terms'?"]),
        ({"level": 1}, ["level"]),
        ({"limit": 2}, ["limit"]),
        ({"top": 0}, ["top = 0"]),
        ({"seed": -1}, ["seed"]),
        ({"suport": 0.1}, ["did you mean 'support'?"]),
        ({"without": "gays"}, ["without", "did you mean 'gay'?"]),
        ({"without": 5}, ["without = 5"]),
        ({"without": ["sikh", "muslim"]}, ["'faith' has only the term 'taoist'"]),
        ({"lexicon": {"gender": []}}, ["'gender' has no terms"]),
        ({"lexicon": {"gender": ["gay"]}}, ["only the term 'gay'"]),
        ({"lexicon": 5}, ["lexicon = 5"]),
    ],
)
def test_wrong_options_are_refused(options, words):
    no(UsageError, *words, **options)


def test_a_lexicon_that_is_not_there_is_refused():
    no(ConfigError, "nowhere.toml", "no such file", lexicon="nowhere.toml")


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["gay", None], ["text 1 is None"]),
        (pd.Series(["gay", np.nan]), ["text 1 is nan"]),
        ([], ["no texts"]),
        (pd.DataFrame({"text": TEXTS}), ["DataFrame", "one column"]),
        ("gay", ["str"]),
    ],
)
def test_what_is_no_list_of_texts_is_refused(texts, words):
    no(DataError, *words, texts=texts)


def test_where_too_few_texts_name_a_category_a_smaller_support_is_asked_for():
    words = ["gender 75 %", "time 72 %", "95 %", "smaller support"]
    message = no(DataError, *words, support=0.95, places="named")
    assert "60 texts" in message


def test_what_is_no_software_is_refused():
    subject = eh.TextSubject(odd)
    refused(UsageError, lambda: mine_text(None, TEXTS), "None")
    refused(UsageError, lambda: mine_text(subject, TEXTS, positive=True), "TextSubject")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(TEXTS),
        np.array(TEXTS),
        tuple(TEXTS),
        pd.Series(TEXTS, dtype="category"),
    ],
)
def test_texts_of_any_column(column):
    of_list = mine_text(odd, TEXTS, lexicon=TERMS)
    of_column = mine_text(odd, column, lexicon=TERMS)
    assert of_column.digest == of_list.digest


TWO_TERMS = {"gender": ["gay", "trans"]}


def test_terms_of_every_text_have_no_rest():
    texts = [f"gay person {at}" for at in range(40)]
    result = mine_text(odd, texts, lexicon=TWO_TERMS, against="rest")
    (finding,) = result.findings
    assert finding.estimate.low == 0
    assert entry_of(result)["rest"]["rules"] == 1
    assert result.notes == (
        "every text has gender gay, so that there is no rest to compare with",
    )


def test_texts_that_all_have_all_terms_can_be_compared_with_other_terms_only():
    texts = [f"gay trans {at}" for at in range(40)]
    refused(
        DataError,
        lambda: mine_text(odd, texts, lexicon=TWO_TERMS, against="rest"),
        "against='terms'",
    )
    against_terms = mine_text(odd, texts, lexicon=TWO_TERMS)
    assert against_terms.worst.estimate.n == 40


MARKED = [
    "I am a GAY man",
    "two gays and a gay",
    "the ⟦gay⟧ one",
    "gay ⟧⟦⟦ text",
    "A gay\nAtheist, an atheist",
    "nobody",
]


@pytest.mark.parametrize("kind", ["group", "causal"])
def test_cases_ask_again_as_they_are_recorded(kind):
    texts = [f"{text} {at}" for at, text in itertools.product(range(10), MARKED)]

    def is_kept(text: str) -> bool:
        names_gays = re.search(r"\bgays?\b", text, re.I) is not None
        return not names_gays and "a straight" not in text

    def decide(some: list[str]) -> list[bool]:
        return [is_kept(text) for text in some]

    result = mine_text(decide, texts, kind=kind)
    terms = {term.text for term in Lexicon.default().terms}
    cases = []
    for finding in result.findings:
        cases += [(finding, case) for case in finding.cases]
    assert len(cases) > 2
    for finding, case in cases:
        check_case(case, decide)
        categories = [name for name in case.individual if name != "text"]
        for person in (case.individual, case.twin):
            for name in categories:
                assert set(str(person[name]).split(", ")) <= terms
        if kind == "group":
            named = {name: case.individual[name] for name in categories}
            assert named == terms_of(finding.about)
        else:
            assert plain_text(case.individual) in texts
            assert tuple(categories) == finding.about


def check_case(case: Any, decide: Any) -> None:
    own_outcome, twin_outcome = case.outcomes
    assert decide([plain_text(case.individual)]) == [own_outcome]
    assert decide([plain_text(case.twin)]) == [twin_outcome]
    assert own_outcome != twin_outcome
    # Apart from the marked terms, and articles that fit them, the two are the same text.
    assert without_terms(case.individual) == without_terms(case.twin)
    assert "text" in case.changed


def terms_of(rule: Rule) -> dict[str, Any]:
    """Return the term that a rule asks for of each category."""
    return {condition.feature: condition.levels[0] for condition in rule.conditions}


def plain_text(person: Any) -> str:
    """Return the text of a case without the marks around its terms."""
    return unmarked(str(person["text"]))


def without_terms(person: Any) -> str:
    """Return the text of a case without its marked terms, and with one article before them."""
    text = re.sub(r"(?<!⟦)⟦(?!⟦)[^⟦⟧]*⟧(?!⟧)", "⟦⟧", str(person["text"]), flags=re.I)
    return re.sub(r"\ban?(?= ⟦)", "a", text, flags=re.I)


@pytest.mark.parametrize("kind", ["group", "causal"])
def test_cases_are_the_shortest_texts_each_once(kind):
    texts = [
        *["the gay old friend of mine"] * 5,
        *["my gay friend", "my trans friend", "gay"] * 9,
        *["one gay two"] * 3,
    ]
    result = mine_text(not_gay, texts, lexicon=TWO_TERMS, kind=kind)
    shown = []
    for case in result.findings[0].cases:
        text = str(case.individual["text"])
        shown.append(re.sub("⟦[a-z]+⟧", "…", text))
    assert shown == ["…", "one … two", "my … friend"]


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0.1},
        {"against": "rest"},
        {"kind": "causal", "limit": 0.5},
    ],
)
def test_results_are_written_read_and_fit_the_schema(tmp_path, options):
    path = tmp_path / "r.json"
    result = mine_text(odd, TEXTS, lexicon=TERMS, support=0.2, **options)
    text = result.to_json(path)
    jsonschema.validate(json.loads(text), schema())
    back = Result.from_json(path)
    assert back.digest == result.digest
    assert back.findings == result.findings
    assert back.details == result.details
    space = Space.from_dict(result.space)
    levels = {feature.name: list(feature.levels) for feature in space.features}
    assert levels == TERMS
    assert space.protected == tuple(TERMS)
    assert len(result.to_frame()) >= len(result.findings) - 1


SOME_TEXTS = [
    "I am a gay man",
    "a straight answer",
    "she is a trans woman",
    "nothing",
] * 50
THREE_TERMS = {"gender": ["gay", "straight", "trans"]}


def test_the_worst_finding_reads_well():
    result = mine_text(not_gay, SOME_TEXTS, lexicon=THREE_TERMS, limit=0.2)
    worst = result.worst
    assert worst.claim.startswith(
        "0.0 % of texts that say “gay” get the favourable outcome, and 100.0 % of the same texts"
        " with other terms (difference 100.0 points, "
    )
    assert worst.estimate.population == "texts like the 200 given that name gender"
    assert worst.estimate.method == "betting, simultaneous over 3 rule sets"
    group, others = worst.groups
    assert str(group) == "rule gender gay"
    assert str(others) == "rule the same texts with other terms"
    assert group.estimate.value == 0
    assert others.estimate.value == 1
    assert result.verdict == "fail"
    assert result.exit_code == 1
    with pytest.raises(
        AssertionError,
        match=r"(?s)mine_text: fail.*I am a ⟦gay⟧ man → I am a ⟦straight⟧ man",
    ):
        result.check()


def test_fair_software_passes_without_cases():
    fair = mine_text(
        always(True),
        SOME_TEXTS,
        lexicon={"gender": ["gay", "straight"]},
        limit=0.2,
    )
    assert fair.check() is fair
    assert fair.verdict == "pass"
    for finding in fair.findings:
        assert not finding.cases


def test_what_all_others_are_compared_with_reads_well():
    two = mine_text(not_gay, SOME_TEXTS, lexicon=TWO_TERMS, top=1)
    assert two.findings[1].claim.startswith(
        "not even the other rule set of terms is further from others than this ("
    )
    terms = {"gender": ["gay", "trans", "straight"]}
    three = mine_text(not_gay, SOME_TEXTS, lexicon=terms, top=1)
    assert three.findings[1].claim.startswith(
        "none of the 2 other rule sets of terms is further from others than "
    )
    rest = mine_text(not_gay, SOME_TEXTS, lexicon=TWO_TERMS, against="rest")
    assert ", and 100.0 % of all other texts (" in rest.worst.claim


def test_changes_read_well():
    causal = mine_text(not_gay, ["gay sikh young"] * 30, lexicon=TERMS, kind="causal")
    assert {finding.claim for finding in causal.findings} >= {
        (
            "changing only the term for gender changes the outcome of 100.0 % of the 30 texts that"
            " name one"
        ),
        (
            "changing only the terms for gender and faith changes the outcome of 100.0 % of the 30"
            " texts that name both"
        ),
        (
            "changing only the terms for gender and faith and time changes the outcome of 100.0 %"
            " of the 30 texts that name all"
        ),
    }


def test_lexicons_of_ones_own(tmp_path):
    file = tmp_path / "words.toml"
    file.write_text(
        '["sexual orientation"]\nterms = ["gay", "straight", "trans"]\npolysemous = ["straight"]\n'
    )
    texts = ["a gay man", "a straight line", "two straight lines", "nothing"] * 10
    result = mine_text(not_gay, texts, lexicon=file)
    assert result.worst.about.text == "sexual orientation gay"
    assert entry_of(result)["categories"] == [
        {
            "name": "sexual orientation",
            "texts": 30,
            "support": 0.75,
            "terms": ["gay", "straight", "trans"],
            "matches": {"gay": 10, "straight": 20, "trans": 0},
        }
    ]
    assert result.notes == (
        (
            "these terms have other meanings: straight (20 matches); leave them out with"
            " without=[…] where they do here"
        ),
    )
    assert entry_of(result)["polysemous"] == [
        {"term": "straight", "category": "sexual orientation", "matches": 20}
    ]
    assert result.stop is StopReason.ENUMERATED
    without = mine_text(not_gay, texts, lexicon=str(file), without=["Straight"])
    assert without.notes == ()
    assert entry_of(without)["categories"][0]["texts"] == 10
    read_before = mine_text(not_gay, texts, lexicon=Lexicon.from_toml(file))
    assert read_before.digest == result.digest


def test_a_wrong_lexicon_is_refused_with_its_file(tmp_path):
    file = tmp_path / "words.toml"
    file.write_text("gender = 5\n")
    refused(
        ConfigError,
        lambda: mine_text(not_gay, ["a gay man"], lexicon=file),
        "words.toml",
        "gender",
    )


def test_the_default_lexicon_without_colours():
    texts = ["a black cat", "a white wall", "an asian man", "a black man"] * 10
    both = mine_text(odd, texts)
    assert "black (20 matches), white (10 matches)" in both.notes[0]
    assert entry_of(both)["candidates"] == 15 * 18 * 10 * 9 - 1
    result = mine_text(odd, texts, without=["black", "white"])
    assert result.notes == ()
    assert entry_of(result)["families"] == [
        {
            "categories": ["race"],
            "texts": 10,
            "rules": 15,
        }
    ]
    pairs = itertools.combinations([14, 17, 9, 8], 2)
    pairs_of_terms = sum(first * second for first, second in pairs)
    shallow = entry_of(mine_text(odd, texts, depth=2))
    assert shallow["candidates"] == 48 + pairs_of_terms


def shared(name: str) -> Any:
    file = Path(os.environ.get("EVENHAND_DATA", BESIDE)) / name
    if not file.exists():
        pytest.skip(f"needs {name} in EVENHAND_DATA or ../shared/data")
    return pd.read_csv(file)


def test_wiki_comments_are_decided_as_one_by_one():
    train = shared("wiki_toxicity_jigsaw_balanced.csv.gz").sample(1500, random_state=0)
    pairs = shared("wiki_toxicity_fuzzed_pairs.csv.gz").sample(500, random_state=0)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    model.fit(train["comment_text"], train["toxic"])
    texts = pairs["comment"].tolist()
    options: dict[str, Any] = {"support": 0.01, "depth": 1, "seed": 2}
    result = mine_text(model, texts, positive=0, **options)
    as_written = eh.TextSubject(model.predict, positive=0)
    slow = mine_text(as_written, texts, **options)
    assert written_result(result) == written_result(slow)
    lexicon = Lexicon.default()
    matches = find(texts, lexicon)
    rng = np.random.default_rng(0)
    for matrix in entry_of(result)["matrix"]:
        (category,) = matrix["axes"]
        names_category = matches.has[:, lexicon.categories.index(category)]
        at = int(rng.integers(len(matrix["rates"])))
        term = lexicon.of(category)[at]
        favourable = []
        for row in np.flatnonzero(names_category):
            variant = matches.write(np.array([row]), [category], [term])
            (outcome,) = model.predict(variant)
            favourable.append(outcome == 0)
        assert matrix["rates"][at] == pytest.approx(fmean(favourable), abs=1e-6)
    for finding in result.findings:
        for case in finding.cases:
            pair = [plain_text(case.individual), plain_text(case.twin)]
            assert model.predict(pair).tolist() == list(case.outcomes)


def test_film_reviews_change_outcome_as_one_by_one():
    frame = shared("imdb_5k.csv.gz").sample(250, random_state=1)
    vectorizer = TfidfVectorizer(ngram_range=(1, 2))
    model = make_pipeline(vectorizer, LogisticRegression(C=10))
    model.fit(frame["review"], frame["sentiment"])
    texts = frame["review"].tolist()
    without = ["old", "black", "white", "straight"]
    fast = mine_text(model, texts, kind="causal", without=without)
    slow = mine_text(model.predict, texts, kind="causal", without=without)
    assert written_result(fast) == written_result(slow)
    assert entry_of(fast)["families"]
