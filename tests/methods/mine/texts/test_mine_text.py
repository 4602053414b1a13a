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
            parts += [str(term) for term in rng.choice(terms, rng.integers(0, 3))]
        rng.shuffle(parts)
        texts.append(" ".join(parts) + f" {at}")
    return texts


TEXTS = written(60)


def odd(texts: list[str]) -> list[bool]:
    """An arbitrary decision that any change of a text can change."""
    return [zlib.crc32(text.encode()) % 3 > 0 for text in texts]


def graded(texts: list[str]) -> list[float]:
    return [zlib.crc32(text.encode()) % 101 / 100 for text in texts]


def not_gay(texts: list[str]) -> list[bool]:
    return [re.search(r"\bgay\b", text, re.I) is None for text in texts]


def pipeline(first: Any = None, *, seed: int = 0) -> Any:
    """A linear model whose outcomes rest on terms, and on which words they stand next to."""
    texts = written(300, seed + 100)
    right = []
    for text in texts:
        without_numbers = re.sub(r"\d+", "", text)
        chance = zlib.crc32(without_numbers.encode()) % 2
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
    pairs = zip(categories, terms, strict=True)
    return Rule(tuple(Condition(category, levels=(term,)) for category, term in pairs))


@pytest.mark.parametrize("against", ["terms", "rest"])
@pytest.mark.parametrize(
    ("model", "one", "options"),
    [
        (odd, lambda text: odd([text])[0], {}),
        (graded, lambda text: graded([text])[0], {"output": "score"}),
        (PIPELINE, predicted, {"positive": True}),
        pytest.param(
            PIPELINE, likely, {"positive": True, "output": "score"}, marks=pytest.mark.slow
        ),
    ],
    ids=["function", "scores", "pipeline", "pipeline scores"],
)
def test_every_number_is_that_of_replacing_one_by_one(model, one, options, against):
    result = mine_text(
        model, TEXTS, lexicon=TERMS, support=0.2, against=against, top=1000, **options
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
    families = entry["families"]
    assert len(expected) == 7
    assert max(map(len, expected)) == entry["depth"] == 3
    assert [tuple(family["categories"]) for family in families] == list(expected)
    assert [family["texts"] for family in families] == list(map(len, expected.values()))
    assert entry["candidates"] == 4 * 4 * 3 - 1
    assert entry["examined"] == sum(len(combinations_of(chosen)) for chosen in expected)


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
        others = []
        if against == "terms":
            for (categories, other_terms), rate in rates.items():
                if categories == chosen and other_terms != terms:
                    others.append(rate)
        else:
            for text, value in standing.items():
                if not all(re.search(rf"\b{term}\b", text) for term in terms):
                    others.append(value)
        scores[rule_of(chosen, terms).text] = chosen, inside, fmean(others)
    return scores


def check_story(story: Any, expected: Any, scores: Any) -> None:
    chosen, inside, other = scores[story["text"]]
    assert Rule.from_dict(story["rule"]).text == story["text"]
    assert story["texts"] == len(expected[chosen])
    assert story["support"] == len(expected[chosen]) / len(TEXTS)
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
        (odd, lambda text: odd([text])[0], {}),
        (
            lambda texts: ["yes" if yes else "no" for yes in odd(texts)],
            lambda text: odd([text])[0],
            {},
        ),
        (graded, lambda text: graded([text])[0], {"output": "score", "differs": 0.5}),
        (PIPELINE, predicted, {}),
        (PIPELINE, likely, {"output": "score", "differs": 0.05}),
    ],
    ids=["function", "labels", "scores", "pipeline", "pipeline scores"],
)
def test_texts_change_outcome_as_often_as_one_by_one(model, one, options):
    result = mine_text(model, TEXTS, lexicon=TERMS, support=0.2, kind="causal", **options)
    entry = entry_of(result)
    far = options.get("differs", 0)
    among = len(entry["families"])
    assert among == len(entry["changes"]) == len(result.findings) == 7
    for change, finding in zip(entry["changes"], result.findings, strict=True):
        chosen = tuple(change["categories"])
        before = amounts_of(one, texts_with(chosen, TEXTS))
        columns = []
        for _, variants in variants_of(chosen, TEXTS):
            after = amounts_of(one, variants)
            columns.append(np.abs(after - before) > far)
        moved = np.column_stack(columns)
        n = len(before)
        changed = int(moved.any(axis=1).sum())
        assert (change["texts"], change["changed"]) == (n, changed)
        shares = [term["changed"] for term in change["terms"]]
        assert shares == pytest.approx(moved.mean(axis=0).tolist())
        assert finding.about == chosen
        estimate = finding.estimate
        assert estimate.value == pytest.approx(changed / n)
        low, high = clopper_pearson(changed, n, 1 - 0.05 / among)
        assert estimate.low == pytest.approx(float(low))
        assert estimate.high == pytest.approx(float(high))
        assert (estimate.n, estimate.level) == (n, 0.95)
    assert result.spent.queries == 32 + sum(
        each["texts"] * (len(each["terms"]) + 1) for each in entry["changes"]
    )


def amounts_of(one: Any, texts: list[str]) -> Any:
    """Return the outcomes of texts as numbers, asked one by one."""
    return np.array([float(one(text)) for text in texts])


def test_graded_distances_are_means_of_the_farthest_variants():
    def apart(a: Any, b: Any) -> Any:
        return np.abs(a - b)

    result = mine_text(graded, TEXTS, lexicon=TERMS, kind="causal", depth=1, differs=apart)
    for finding in result.findings:
        (name,) = finding.about
        before = np.array(graded(texts_with([name], TEXTS)))
        farthest = np.zeros(len(before))
        for _, variants in variants_of([name], TEXTS):
            after = np.array(graded(variants))
            farthest = np.maximum(farthest, np.abs(after - before))
        far = farthest.tolist()
        assert finding.estimate.value == pytest.approx(fmean(far))
        assert finding.estimate.low < fmean(far) < finding.estimate.high
        assert finding.estimate.method.startswith("betting")
        before_first, after_first = finding.cases[0].outcomes
        assert abs(before_first - after_first) == pytest.approx(max(far))
    # A distance that is 0 or 1 by chance is no count: its interval is still that of bets.
    same = mine_text(
        lambda texts: [0.5] * len(texts),
        TEXTS,
        lexicon=TERMS,
        kind="causal",
        depth=1,
        differs=apart,
    )
    assert same.worst.estimate.value == 0
    assert same.worst.estimate.method.startswith("betting")


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(CountVectorizer(), marks=pytest.mark.slow),
        CountVectorizer(ngram_range=(1, 3), binary=True),
        pytest.param(
            TfidfVectorizer(ngram_range=(2, 2), lowercase=False, stop_words=["person"]),
            marks=pytest.mark.slow,
        ),
        TfidfVectorizer(max_features=30, token_pattern=r"\S+"),
    ],
    ids=["words", "binary", "bigrams", "few"],
)
def test_the_fast_path_of_a_pipeline_says_what_the_texts_say(first):
    model = pipeline(first)
    assert linear_path(model) is not None
    texts = written(40, 1)
    for at in range(40):
        if at % 3:
            texts[at] = texts[at].title()
    texts += [
        "A Gay, gay GAY man; an elderly (gay) one",
        "young\tgay\nsikh person",
        "gay-sikh",
        "⟦gay⟧",
    ]
    asked: list[dict[str, Any]] = [
        {"positive": True},
        {"positive": True, "against": "rest"},
        {"kind": "causal"},
        {"kind": "causal", "output": "score", "positive": True},
        {"threshold": 0.4, "positive": True},
    ]
    for options in asked:
        made: dict[str, Any] = {
            name: options[name]
            for name in ("output", "threshold", "positive")
            if name in options
        }
        rest = {name: value for name, value in options.items() if name not in made}
        fast = mine_text(model, texts, lexicon=TERMS, support=0.1, **options)
        slow = mine_text(
            as_function(model, made), texts, lexicon=TERMS, support=0.1, **rest
        )
        assert written_result(fast) == written_result(slow)


def as_function(model: Any, options: dict[str, Any]) -> eh.TextSubject:
    """The same software as a function, whose texts are all written."""
    if options.get("output") == "score":
        return eh.TextSubject(
            lambda texts: model.predict_proba(texts)[:, 1], output="score"
        )
    if "threshold" in options:
        return eh.TextSubject(
            lambda texts: model.predict_proba(texts)[:, 1] >= options["threshold"],
            positive=True,
        )
    return eh.TextSubject(lambda texts: model.predict(texts), **options)


def written_result(result: Result) -> Any:
    return json.loads(result.to_json())["findings"], result.details, result.notes


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
    assert result.spent.executed == len(asked) == 6
    assert result.spent.queries == 80 * 3 + 40 * 3


@pytest.mark.parametrize(
    "options",
    [{}, {"against": "rest"}, {"kind": "causal"}],
    ids=["terms", "rest", "causal"],
)
@pytest.mark.parametrize("queries", [150, 400, 1000, 100_000])
def test_budgets_are_kept(options, queries):
    calls: list[list[str]] = []
    tested = wrapped(odd, calls)
    results = [
        mine_text(
            tested,
            TEXTS,
            lexicon=TERMS,
            support=0.2,
            budget=eh.Budget(queries=queries),
            seed=seed,
            **options,
        )
        for seed in (3, 3, 4)
    ]
    for result in results:
        entry = entry_of(result)
        spent = sum(
            each["texts"] * (each["rules"] + (entry["kind"] == "causal"))
            for each in entry["families"]
        )
        if entry["against"] == "rest":
            spent += 60
        if entry["kind"] == "causal":
            spent += 32
        assert result.spent.queries == spent <= queries
        assert result.spent.executed <= spent
        single = entry["families"][:3]
        assert [family["categories"] for family in single] == [[name] for name in TERMS]
        for each in entry["families"]:
            assert each["texts"] <= len(texts_with(each["categories"], TEXTS))
    assert results[0].digest == results[1].digest
    assert results[0].findings == results[1].findings
    whole = queries == 100_000
    assert [result.stop for result in results] == [
        StopReason.ENUMERATED if whole else StopReason.QUERIES
    ] * 3
    assert (not results[0].notes) == whole
    if not whole:
        some = "chosen at random" in results[0].notes[-1]
        assert some or "beyond the budget" in results[0].notes[-1]
        assert results[2].findings != results[0].findings or not some


def test_a_budget_for_less_than_one_text_is_refused_before_anything_is_asked():
    calls: list[list[str]] = []
    tested = wrapped(odd, calls)
    cases: list[tuple[dict[str, Any], int]] = [
        ({}, 8),
        ({"against": "rest"}, 68),
        ({"kind": "causal"}, 11 + 32),
    ]
    for options, least in cases:
        asking = partial(mine_text, tested, TEXTS, lexicon=TERMS, **options)
        refused(
            UsageError,
            partial(asking, budget=eh.Budget(queries=least - 1)),
            "budget",
            "raise queries",
        )
        assert calls == []
        result = asking(budget=eh.Budget(queries=least))
        assert {each["texts"] for each in entry_of(result)["families"]} == {1}
        calls.clear()
    wrong: Any = 100
    refused(
        UsageError,
        lambda: mine_text(odd, TEXTS, budget=wrong),
        "budget",
        "Budget(queries=1000)",
    )


def test_time_that_is_up_ends_asking_after_the_first_batch():
    subject = eh.TextSubject(odd, batch=30)
    result = mine_text(
        subject, TEXTS, lexicon=TERMS, support=0.2, budget=eh.Budget(seconds=1e-9)
    )
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

    result = mine_text(
        eh.TextSubject(interrupted, batch=60), TEXTS, lexicon=TERMS, support=0.2, kind=kind
    )
    assert result.stop is StopReason.INTERRUPTED
    assert 1 <= len(entry_of(result)["families"]) < 7
    assert "the run was interrupted" in result.notes[-1]
    assert result.findings
    with pytest.raises(KeyboardInterrupt):
        mine_text(wrapped(raising(KeyboardInterrupt), []), TEXTS, lexicon=TERMS, kind=kind)


def raising(error: Any) -> Any:
    def function(texts: list[str]) -> Any:
        raise error

    return function


def test_same_seed_same_bytes_and_a_warm_ledger_executes_nothing(tmp_path):
    options: dict[str, Any] = {"lexicon": TERMS, "support": 0.2, "seed": 5}
    kinds: list[dict[str, Any]] = [{}, {"against": "rest"}, {"kind": "causal"}]
    for more in kinds:
        file = tmp_path / f"{len(more)}{more.get('kind')}.db"
        calls: list[list[str]] = []
        plain = mine_text(odd, TEXTS, **options, **more)
        subjects = [
            eh.TextSubject(wrapped(odd, calls), identity="odd", ledger=file)
            for _ in range(2)
        ]
        cold = mine_text(subjects[0], TEXTS, **options, **more)
        warm = mine_text(subjects[1], TEXTS, **options, **more)
        assert plain.digest == cold.digest == warm.digest
        assert (cold.spent.executed > 0, warm.spent.executed) == (True, 0)
        asked = list(itertools.chain(*calls))
        again = 16 if more.get("kind") else 0  # to see whether answers stay the same
        assert len(asked) == len(set(asked)) + again == cold.spent.executed
    # A pipeline with a ledger has its texts written down, and says the same as without.
    fast = mine_text(PIPELINE, TEXTS, positive=True, **options)
    kept = mine_text(PIPELINE, TEXTS, positive=True, ledger=tmp_path / "p.db", **options)
    assert fast.digest == kept.digest
    again = mine_text(PIPELINE, TEXTS, positive=True, ledger=tmp_path / "p.db", **options)
    assert again.spent.executed == 0


def test_scores_labels_and_classes():
    result = mine_text(graded, TEXTS, lexicon=TERMS, output="score", depth=1)
    assert " score 0." in result.worst.claim
    assert entry_of(result)["favoured"] == "the score"

    def words(texts: list[str]) -> list[str]:
        return ["keep" if yes else "drop" for yes in odd(texts)]

    options: dict[str, Any] = {"lexicon": TERMS, "depth": 1}
    kept, dropped = (
        mine_text(words, TEXTS, positive=label, **options) for label in ("keep", "drop")
    )
    plain = mine_text(odd, TEXTS, **options)
    assert [entry["difference"] for entry in entry_of(kept)["stories"]] == [
        entry["difference"] for entry in entry_of(plain)["stories"]
    ]
    kept_differences = differences_of(kept)
    dropped_differences = differences_of(dropped)
    opposite = {text: -difference for text, difference in dropped_differences.items()}
    assert kept_differences == pytest.approx(opposite)
    assert "get the outcome drop " in dropped.worst.claim
    higher = mine_text(graded, TEXTS, positive=lambda scores: scores > 0.5, **options)
    assert "get the favourable outcome " in higher.worst.claim
    (condition,) = higher.worst.about.conditions
    named = texts_with([condition.feature], TEXTS)
    variants = [replaced(text, [condition.feature], condition.levels) for text in named]
    high_scores = np.array(graded(variants)) > 0.5
    worst = entry_of(higher)["stories"][0]
    assert worst["rate"]["value"] == pytest.approx(high_scores.mean())
    both = mine_text(words, TEXTS, positive=["keep", "drop"], **options)
    assert both.worst.estimate.value == 0


def differences_of(result: Result) -> dict[str, float]:
    """Return the difference of each story."""
    return {story["text"]: story["difference"] for story in entry_of(result)["stories"]}


def test_outcomes_that_do_not_fit():
    options: dict[str, Any] = {"lexicon": TERMS}
    words = lambda texts: ["yes"] * len(texts)  # noqa: E731
    refused(
        UsageError, lambda: mine_text(words, TEXTS, **options), "favourable", "positive=…"
    )
    refused(
        UsageError,
        lambda: mine_text(graded, TEXTS, **options),
        "favourable",
        "positive=…",
        "lambda y: y > 0.5",
    )
    over = lambda texts: [2.5] * len(texts)  # noqa: E731
    refused(
        UsageError,
        lambda: mine_text(over, TEXTS, output="score", **options),
        "2.5",
        "0 to 1",
    )
    few = refused(
        BadOutcome,
        lambda: mine_text(lambda texts: [True], TEXTS, **options),
        "returned 1 outcomes",
    )
    assert "one per input" in few
    for wrong in (None, float("nan"), [1, 2]):
        refused(
            BadOutcome,
            lambda wrong=wrong: mine_text(
                lambda texts: [wrong] * len(texts), TEXTS, **options
            ),
        )  # type: ignore[misc]
    failed = refused(
        SubjectCrashed,
        lambda: mine_text(raising(KeyError("x")), TEXTS, **options),
        "KeyError",
    )
    assert "function" in failed
    assert (SubjectCrashed.exit_code, BadOutcome.exit_code, UsageError.exit_code) == (
        4,
        4,
        2,
    )
    refused(
        UsageError,
        lambda: mine_text(words, TEXTS, kind="causal", differs=0.1, **options),
        "differs = 0.1",
        "leave it out for labels",
    )
    rng = np.random.default_rng(0)
    refused(
        NotDeterministic,
        lambda: mine_text(
            lambda texts: rng.random(len(texts)) < 0.5, TEXTS, kind="causal", **options
        ),
        "asked again",
    )


def test_wrong_arguments():
    def call(**options: Any) -> Any:
        return lambda: mine_text(odd, **{"texts": TEXTS, "lexicon": TERMS, **options})

    for support in (0, 1, 1.5, -0.1, None, "x", float("nan"), True):
        refused(UsageError, call(support=support), "support", "0.05")
    for depth in (0, -1, 1.5, "two", True):
        refused(UsageError, call(depth=depth), "depth", "1 or more")
    refused(UsageError, call(kind="grup"), "kind = 'grup'", "did you mean 'group'?")
    refused(UsageError, call(against="term"), "against = 'term'", "did you mean 'terms'?")
    refused(UsageError, call(level=1), "level")
    refused(UsageError, call(limit=2), "limit")
    refused(UsageError, call(top=0), "top = 0")
    refused(UsageError, call(seed=-1), "seed")
    refused(UsageError, call(suport=0.1), "did you mean 'support'?")
    refused(UsageError, call(without="gays"), "without", "did you mean 'gay'?")
    refused(UsageError, call(without=5), "without = 5")
    refused(
        UsageError, call(without=["sikh", "muslim"]), "'faith' has only the term 'taoist'"
    )
    refused(UsageError, call(lexicon={"gender": []}), "'gender' has no terms")
    refused(UsageError, call(lexicon={"gender": ["gay"]}), "only the term 'gay'")
    refused(UsageError, call(lexicon=5), "lexicon = 5")
    refused(ConfigError, call(lexicon="nowhere.toml"), "nowhere.toml", "no such file")
    refused(DataError, call(texts=["gay", None]), "text 1 is None")
    refused(DataError, call(texts=pd.Series(["gay", np.nan])), "text 1 is nan")
    refused(DataError, call(texts=[]), "no texts")
    refused(DataError, call(texts=pd.DataFrame({"text": TEXTS})), "DataFrame", "one column")
    refused(DataError, call(texts="gay"), "str")
    message = refused(
        DataError, call(support=0.95), "gender 75 %", "time 72 %", "95 %", "smaller support"
    )
    assert "60 texts" in message
    refused(UsageError, lambda: mine_text(None, TEXTS), "None")
    refused(
        UsageError,
        lambda: mine_text(eh.TextSubject(odd), TEXTS, positive=True),
        "TextSubject",
    )


def test_texts_of_any_column():
    lists = mine_text(odd, TEXTS, lexicon=TERMS)
    for column in (
        pd.Series(TEXTS),
        np.array(TEXTS),
        tuple(TEXTS),
        pd.Series(TEXTS, dtype="category"),
    ):
        assert mine_text(odd, column, lexicon=TERMS).digest == lists.digest


def test_terms_of_every_text_have_no_rest():
    texts = [f"gay person {at}" for at in range(40)]
    result = mine_text(odd, texts, lexicon={"gender": ["gay", "trans"]}, against="rest")
    assert [finding.about.text for finding in result.findings] == ["gender trans"]
    assert result.notes == (
        "every text has gender gay, so that there is no rest to compare with",
    )
    both = [f"gay trans {at}" for at in range(40)]
    refused(
        DataError,
        lambda: mine_text(odd, both, lexicon={"gender": ["gay", "trans"]}, against="rest"),
        "against='terms'",
    )
    assert mine_text(odd, both, lexicon={"gender": ["gay", "trans"]}).worst.estimate.n == 40


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
        return re.search(r"\bgays?\b", text, re.I) is None and "a straight" not in text

    def decide(some: list[str]) -> list[bool]:
        return [is_kept(text) for text in some]

    result = mine_text(decide, texts, kind=kind)
    terms = {term.text for term in Lexicon.default().terms}
    cases = []
    for finding in result.findings:
        cases += [(finding, case) for case in finding.cases]
    assert len(cases) > 5
    for finding, case in cases:
        categories = [name for name in case.individual if name != "text"]
        for person, outcome in zip(
            (case.individual, case.twin), case.outcomes, strict=True
        ):
            assert decide([unmarked(str(person["text"]))]) == [outcome]
            for name in categories:
                assert set(str(person[name]).split(", ")) <= terms
        assert case.outcomes[0] != case.outcomes[1]
        # Apart from the marked terms, and articles that fit them, the two are the same text.
        assert without_terms(case.individual) == without_terms(case.twin)
        assert "text" in case.changed
        if kind == "group":
            assert {name: case.individual[name] for name in categories} == {
                condition.feature: condition.levels[0]
                for condition in finding.about.conditions
            }
        else:
            assert unmarked(str(case.individual["text"])) in texts
            assert tuple(categories) == finding.about


def without_terms(person: Any) -> str:
    """Return the text of a case without its marked terms, and with one article before them."""
    text = re.sub(r"(?<!⟦)⟦(?!⟦)[^⟦⟧]*⟧(?!⟧)", "⟦⟧", str(person["text"]), flags=re.I)
    return re.sub(r"\ban?(?= ⟦)", "a", text, flags=re.I)


def test_cases_are_the_shortest_texts_each_once():
    texts = (
        ["the gay old friend of mine"] * 5
        + ["my gay friend", "my trans friend", "gay"] * 9
        + ["one gay two"] * 3
    )
    for kind in ("group", "causal"):
        worst, *_ = mine_text(
            not_gay, texts, lexicon={"gender": ["gay", "trans"]}, kind=kind
        ).findings
        shown = [
            re.sub("⟦[a-z]+⟧", "…", str(case.individual["text"])) for case in worst.cases
        ]
        assert shown == ["…", "one … two", "my … friend"]


@pytest.mark.parametrize(
    "options", [{"limit": 0.1}, {"against": "rest"}, {"kind": "causal", "limit": 0.5}]
)
def test_results_are_written_read_and_fit_the_schema(tmp_path, options):
    result = mine_text(odd, TEXTS, lexicon=TERMS, support=0.2, **options)
    text = result.to_json(tmp_path / "r.json")
    jsonschema.validate(json.loads(text), schema())
    back = Result.from_json(tmp_path / "r.json")
    assert back.digest == result.digest
    assert back.findings == result.findings
    assert back.details == result.details
    space = Space.from_dict(result.space)
    assert {feature.name: list(feature.levels) for feature in space.features} == TERMS
    assert space.protected == tuple(TERMS)
    assert len(result.to_frame()) >= len(result.findings) - 1


def test_results_read_well():
    texts = ["I am a gay man", "a straight answer", "she is a trans woman", "nothing"] * 50
    result = mine_text(
        not_gay, texts, lexicon={"gender": ["gay", "straight", "trans"]}, limit=0.2
    )
    assert result.worst.claim.startswith(
        "texts that say “gay” get the favourable outcome 0.0 % of the time, the same texts with"
        " other terms 100.0 % (difference 100.0 points, "
    )
    assert result.worst.estimate.population == "texts like the 200 given that name gender"
    assert result.worst.estimate.method == "betting, simultaneous over 3 rule sets"
    assert [str(group) for group in result.worst.groups] == [
        "rule gender gay",
        "rule the same texts with other terms",
    ]
    assert [group.estimate.value for group in result.worst.groups] == [0, 1]
    assert (result.verdict, result.exit_code) == ("fail", 1)
    with pytest.raises(
        AssertionError,
        match=r"(?s)mine_text: fail.*I am a ⟦gay⟧ man → I am a ⟦straight⟧ man",
    ):
        result.check()
    fair = mine_text(
        lambda some: [True] * len(some),
        texts,
        lexicon={"gender": ["gay", "straight"]},
        limit=0.2,
    )
    assert fair.check() is fair
    assert fair.verdict == "pass"
    assert all(not finding.cases for finding in fair.findings)
    two = mine_text(not_gay, texts, lexicon={"gender": ["gay", "trans"]}, top=1)
    assert two.findings[1].claim.startswith(
        "not even the other rule set of terms is further from others than this ("
    )
    three = mine_text(
        not_gay, texts, lexicon={"gender": ["gay", "trans", "straight"]}, top=1
    )
    assert three.findings[1].claim.startswith(
        "none of the 2 other rule sets of terms is further from others than "
    )
    rest = mine_text(not_gay, texts, lexicon={"gender": ["gay", "trans"]}, against="rest")
    assert ", all other texts 100.0 % (" in rest.worst.claim
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
    assert (
        mine_text(not_gay, texts, lexicon=Lexicon.from_toml(file)).digest == result.digest
    )
    file.write_text("gender = 5\n")
    refused(
        ConfigError, lambda: mine_text(not_gay, texts, lexicon=file), "words.toml", "gender"
    )


def test_the_default_lexicon_without_colours():
    texts = ["a black cat", "a white wall", "an asian man", "a black man"] * 10
    both = mine_text(odd, texts)
    assert "black (20 matches), white (10 matches)" in both.notes[0]
    assert entry_of(both)["candidates"] == 15 * 18 * 10 * 9 - 1
    result = mine_text(odd, texts, without=["black", "white"])
    assert result.notes == ()
    assert entry_of(result)["families"] == [
        {"categories": ["race"], "texts": 10, "rules": 15}
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
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(
        train["comment_text"], train["toxic"]
    )
    texts = pairs["comment"].tolist()
    options: dict[str, Any] = {"support": 0.01, "depth": 1, "seed": 2}
    result = mine_text(model, texts, positive=0, **options)
    slow = mine_text(eh.TextSubject(model.predict, positive=0), texts, **options)
    assert written_result(result) == written_result(slow)
    lexicon = Lexicon.default()
    matches = find(texts, lexicon)
    rng = np.random.default_rng(0)
    for matrix in entry_of(result)["matrix"]:
        (category,) = matrix["axes"]
        rows = np.flatnonzero(matches.has[:, lexicon.categories.index(category)])
        at = int(rng.integers(len(matrix["rates"])))
        term = lexicon.of(category)[at]
        favourable = []
        for row in rows:
            variant = matches.write(np.array([row]), [category], [term])
            (outcome,) = model.predict(variant)
            favourable.append(outcome == 0)
        assert matrix["rates"][at] == pytest.approx(fmean(favourable), abs=1e-6)
    for finding in result.findings:
        for case in finding.cases:
            for person, outcome in zip(
                (case.individual, case.twin), case.outcomes, strict=True
            ):
                assert model.predict([unmarked(str(person["text"]))])[0] == outcome


def test_film_reviews_change_outcome_as_one_by_one():
    frame = shared("imdb_5k.csv.gz").sample(250, random_state=1)
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10)
    ).fit(frame["review"], frame["sentiment"])
    texts = frame["review"].tolist()
    fast = mine_text(
        model, texts, kind="causal", without=["old", "black", "white", "straight"]
    )
    slow = mine_text(
        model.predict, texts, kind="causal", without=["old", "black", "white", "straight"]
    )
    assert written_result(fast) == written_result(slow)
    assert entry_of(fast)["families"]
