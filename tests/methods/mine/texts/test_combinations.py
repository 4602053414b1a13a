"""Mining texts: families, budgets, asking and scores, against replacing terms one by one."""

from __future__ import annotations

import itertools
import re
import zlib
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine.texts.combinations import (
    LEAST,
    MOST_NOTES,
    Decided,
    affordable,
    ask,
    families,
)
from evenhand.methods.mine.texts.findings import (
    TextFindingWriter,
    matrices,
    score_rest,
    score_terms,
)
from evenhand.methods.mine.texts.ranking import ALIKE, MIRRORED
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import DataError, UsageError
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.simultaneous import SimultaneousIntervals
from evenhand.texts.lexicon import Lexicon, lexicon_of
from evenhand.texts.matching import find
from evenhand.texts.text_subject import TextSubject
from tests.support.helpers import examples, refused

TERMS = {
    "gender": ["gay", "straight", "trans"],
    "faith": ["sikh", "muslim"],
    "time": ["young", "middle aged"],
}
LEXICON = lexicon_of(TERMS)
ALL_TERMS = list(itertools.chain(*TERMS.values()))
TERM_WORDS = {term.split()[0] for term in ALL_TERMS}
"""The word that each term is known by."""
WORDS = ["and", "this", "person", "says", "so", "gayest", "sikhs", "old"]

words = st.lists(st.sampled_from([*ALL_TERMS, *WORDS]), max_size=8)
sentences = st.lists(words.map(" ".join), min_size=1, max_size=14)


def pattern(category: str) -> str:
    return rf"\b(?:{'|'.join(TERMS[category])})\b"


def names(text: str, category: str) -> bool:
    return re.search(pattern(category), text) is not None


def names_all(text: str, categories: Any) -> bool:
    return all(names(text, category) for category in categories)


def replaced(text: str, terms: dict[str, str]) -> str:
    for category, term in terms.items():
        text = re.sub(pattern(category), term, text)
    return text


def one_by_one(
    texts: list[str], support: float, depth: int = 3
) -> dict[tuple[str, ...], list[str]]:
    """The texts of each family that is frequent."""
    found = {}
    for size in range(1, depth + 1):
        for chosen in itertools.combinations(TERMS, size):
            some = [text for text in texts if names_all(text, chosen)]
            if len(some) / len(texts) >= support - 1e-9:
                found[chosen] = some
    return found


def odd(texts: list[str]) -> list[bool]:
    """An arbitrary decision that any change of a text can change."""
    return [zlib.crc32(text.encode()) % 3 == 0 for text in texts]


def graded(texts: list[str]) -> list[float]:
    return [zlib.crc32(text.encode()) % 101 / 100 for text in texts]


def decided_by(
    function: Any, texts: list[str], support: float = 0.01, **options: Any
) -> list[Decided]:
    matches = find(texts, LEXICON)
    subject = TextSubject(function, **options)
    return ask(subject, matches, families(matches, support, None, 0), Meter()).decided


@settings(deadline=None)
@given(
    sentences,
    st.sampled_from([0.05, 0.2, 0.5]),
    st.sampled_from([None, 1, 2, 3, 9]),
    st.integers(0, 3),
)
def test_families_are_the_categories_that_enough_texts_name_together(
    texts, support, depth, seed
):
    expected = one_by_one(texts, support, min(depth or 3, 3))
    matches = find(texts, LEXICON)
    if not expected:
        refused(
            DataError,
            lambda: families(matches, support, depth, seed),
            "gender",
            f"{100 * support:g} %",
        )
        return
    found = families(matches, support, depth, seed)
    assert [family.categories for family in found] == list(expected)
    for family in found:
        named = [texts[row] for row in family.rows]
        assert sorted(named) == sorted(expected[family.categories])
        assert len(set(family.rows.tolist())) == len(family.rows) == family.texts
        assert len(family.terms) == family.rules == len(set(family.terms))
        for terms in family.terms:
            assert tuple(term.category for term in terms) == family.categories


def test_rows_are_shuffled_by_the_seed_alone():
    matches = find(["gay"] * 40, LEXICON)

    def rows(seed: int) -> list[int]:
        first = families(matches, 0.1, None, seed)[0]
        return [int(row) for row in first.rows]

    assert rows(1) == rows(1) != rows(2)
    assert rows(1) != sorted(rows(1))


def test_categories_that_are_never_named_together_are_not_combined():
    """Forty categories have 2**40 combinations, which are never listed."""
    terms = {}
    texts = []
    for at in range(40):
        terms[f"c{at}"] = [f"one{at}", f"two{at}"]
        after = (at + 1) % 40
        texts.append(f"one{at} two{after}")
    matches = find(texts * 2, Lexicon.from_dict(terms))
    found = families(matches, 0.02, None, 0)
    assert len(found) == 80
    assert {len(family.categories) for family in found} == {1, 2}
    message = refused(DataError, lambda: families(matches, 0.3, None, 0), "c0 5 %", "30 %")
    assert message.count("%") == MOST_NOTES + 1


def test_combinations_that_nobody_could_ask_about_are_not_listed():
    """Twelve categories of ten terms have 10**12 combinations."""
    terms = {}
    for at in range(12):
        terms[f"c{at}"] = [f"{word}{at}" for word in "abcdefghij"]
    text = " ".join(f"a{at}" for at in range(12))
    matches = find([text] * 100, Lexicon.from_dict(terms))
    kept, notes = affordable(families(matches, 0.05, None, 0), 100_000)
    # Fifty texts of each: 6,000 for the single categories, and 5,000 for each pair.
    assert [len(family.categories) for family in kept] == [1] * 12 + [2] * 18
    assert "100,000,000,000,000 texts are beyond the budget" in notes[0]
    assert (
        notes[MOST_NOTES]
        == f"nor were {2**12 - 1 - 30 - MOST_NOTES:,} other sets of categories"
    )
    assert len(notes) == MOST_NOTES + 2


def cost_of(found: Any, standing: Any) -> int:
    """Return how many texts are asked about with all texts of some families."""
    cost = 0
    for family in found:
        cost += len(family.rows) * (family.rules + standing)
    return cost


@settings(deadline=None)
@given(sentences, st.integers(1, 400), st.booleans())
def test_a_budget_is_kept_and_used(texts, most, standing):
    texts = [*texts, "gay sikh", "young"]
    found = families(find(texts, LEXICON), 0.01, None, 0)
    single = [family for family in found if len(family.categories) == 1]
    if sum(family.rules + standing for family in single) > most:
        refused(
            UsageError,
            lambda: affordable(found, most, standing=standing),
            "budget",
            f"{most:,} queries",
        )
        return
    kept, notes = affordable(found, most, standing=standing)
    cost = cost_of(kept, standing)
    assert cost <= most
    assert [family.categories for family in kept[: len(single)]] == [
        family.categories for family in single
    ]
    whole = cost_of(found, standing)
    assert (whole <= most) == (not notes)
    if whole <= most:
        assert cost == whole
        return
    rows = max(len(family.rows) for family in kept)
    before = {family.categories: family for family in found}
    for family in kept:
        assert family.rows.tolist() == before[family.categories].rows.tolist()[:rows]
        assert family.texts == len(before[family.categories].rows)
    one_more = [before[family.categories].only(rows + 1) for family in kept]
    most_rows = max(len(family.rows) for family in single)
    assert rows == most_rows or cost_of(one_more, standing) > most


def test_the_most_expensive_combinations_go_first_and_are_noted():
    texts = ["gay sikh young"] * 100 + ["gay sikh"] * 50
    found = families(find(texts, LEXICON), 0.01, None, 0)
    sizes = {family.categories: len(family.rows) * family.rules for family in found}
    most = sum(LEAST * family.rules for family in found) - 1
    kept, notes = affordable(found, most)
    several = [categories for categories in sizes if len(categories) > 1]
    most_expensive = max(several, key=lambda categories: sizes[categories])
    assert most_expensive == ("gender", "faith", "time")
    assert [family.categories for family in kept] == [
        each for each in sizes if each != most_expensive
    ]
    assert notes == [
        (
            "gender and faith and time together were not asked about: 1,200 texts are beyond the"
            " budget"
        ),
        (
            f"no more than {len(kept[0].rows)} texts of each category were asked about, chosen at"
            " random"
        ),
    ]
    assert affordable(found, most + 1)[0][-1].categories == most_expensive


@settings(max_examples=examples(60), deadline=None)
@given(sentences, st.booleans())
def test_outcomes_are_those_of_each_text_with_each_combination(texts, standing):
    texts = [*texts, "gay sikh gay trans"]
    matches = find(texts, LEXICON)
    found = families(matches, 0.01, None, 0)
    meter = Meter()
    # A batch of 5 texts cuts families into parts.
    asked = ask(TextSubject(odd, batch=5), matches, found, meter, standing=standing)
    assert asked.stop is None
    assert meter.queries == cost_of(found, standing)
    assert len(asked.decided) == len(found)
    for decided in asked.decided:
        family = decided.family
        for place, row in enumerate(family.rows.tolist()):
            for at, terms in enumerate(family.terms):
                variant = replaced(texts[row], terms_by_category(family, terms))
                (outcome,) = odd([variant])
                assert bool(decided.outcomes[place, at]) == outcome
            if standing:
                (outcome,) = odd([texts[row]])
                assert bool(decided.standing[place, 0]) == outcome
        assert decided.standing.shape == (len(family.rows), standing)


def terms_by_category(family: Any, terms: Any) -> dict[str, str]:
    """Return a combination of terms by category."""
    return dict(zip(family.categories, map(str, terms), strict=True))


def has_all(text: str, terms: Any) -> bool:
    return all(re.search(rf"\b{term}\b", text) for term in terms)


def mean_of(function: Any, texts: list[str]) -> float:
    """Return the mean outcome of texts that are asked one by one; 0 of none."""
    if not texts:
        return 0.0
    return fmean(function([text])[0] for text in texts)


def check_limits(scored: Any, at: int) -> None:
    """Check that the limits of a score hold its value, where there is something to compare with."""
    _, others = scored.other[at]
    if others:
        apart = abs(scored.difference[at])
        assert 0 <= scored.low[at] <= apart + 1e-9
        assert apart - 1e-9 <= scored.high[at] <= 1 + 1e-9


@settings(max_examples=examples(60), deadline=None)
@given(sentences, st.sampled_from([odd, graded]))
def test_scores_are_those_of_replacing_one_by_one(texts, function):
    texts = [*texts, "gay sikh", "young straight person"]
    options: dict[str, Any] = {"output": "score"} if function is graded else {}
    decided = decided_by(function, texts, **options)
    matches = find(texts, LEXICON)
    base = np.array(function(texts), dtype=float)
    rules = sum(one.family.rules for one in decided)
    intervals = SimultaneousIntervals(0.95, rules, graded=True)
    expected = one_by_one(texts, 0.01)
    for outcomes in decided:
        family = outcomes.family
        some = expected[family.categories]
        against_terms = score_terms(outcomes, intervals)
        against_rest = score_rest(outcomes, intervals, matches.names, base, matches)
        chosen = [terms_by_category(family, terms) for terms in family.terms]
        rates = []
        for terms in chosen:
            variants = [replaced(text, terms) for text in some]
            rates.append(mean_of(function, variants))
        for at, terms in enumerate(chosen):
            others = fmean(rates[:at] + rates[at + 1 :])
            without = [text for text in texts if not has_all(text, terms.values())]
            rest = mean_of(function, without)
            assert against_terms.inside[at] == pytest.approx(rates[at])
            assert against_terms.outside[at] == pytest.approx(others)
            assert against_terms.difference[at] == pytest.approx(rates[at] - others)
            assert against_rest.difference[at] == pytest.approx(rates[at] - rest)
            assert against_rest.other[at][1] == len(without)
            check_limits(against_terms, at)
            check_limits(against_rest, at)


def test_terms_that_change_nothing_are_never_apart():
    decided = decided_by(
        lambda texts: [text.endswith("!") for text in texts],
        ["gay !", "sikh", "trans !"] * 30,
    )
    for one in decided:
        scored = score_terms(one, SimultaneousIntervals(0.95, 10))
        assert np.abs(scored.difference).max() < 1e-12
        assert scored.low.max() == 0
        assert 0 < scored.high.max() < 0.5


def test_matrices_hold_every_single_category_and_pair():
    texts = ["gay sikh young"] * 5
    decided = decided_by(lambda some: ["gay sikh" not in text for text in some], texts)
    found = matrices([score_terms(one, SimultaneousIntervals(0.95, 1)) for one in decided])
    assert [entry["axes"] for entry in found] == [
        ["gender"],
        ["faith"],
        ["time"],
        ["gender", "faith"],
        ["gender", "time"],
        ["faith", "time"],
    ]
    assert found[3]["labels"] == [TERMS["gender"], TERMS["faith"]]
    assert found[3]["rates"] == [[0.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    assert found[0]["rates"] == [0.0, 1.0, 1.0]


@settings(max_examples=examples(40), deadline=None)
@given(sentences, st.integers(1, 30))
def test_every_rule_set_is_in_one_story_or_in_the_rest(texts, most):
    texts = [*texts, "gay sikh young"]
    decided = decided_by(odd, texts)
    rules = sum(one.family.rules for one in decided)
    matches = find(texts, LEXICON)
    intervals = SimultaneousIntervals(0.95, rules, graded=True)
    scored = [score_terms(one, intervals) for one in decided]
    writer = TextFindingWriter(TextSubject(odd), matches, intervals, "terms")
    findings, details = writer.write(scored, most)
    stories = details["stories"]
    rest = details["rest"]
    leads = [words_of(story["text"].replace(",", "")) for story in stories]
    assert len(leads) <= most
    for lead, other in itertools.combinations(leads, 2):
        assert len(lead & other) < ALIKE * len(lead | other)
    assert len(findings) == len(leads) + (rest is not None)
    values = [abs(story["difference"]) for story in stories]
    highs = [story["high"] for story in stories]
    left = 0
    if rest is not None:
        left = rest["rules"]
        values.append(rest["value"])
        highs.append(rest["high"])
    assert len(leads) + left == rules
    differences = np.concatenate([one.difference for one in scored])
    upper_limits = np.concatenate([one.high for one in scored])
    assert max(values) == pytest.approx(np.abs(differences).max())
    assert max(highs) == pytest.approx(upper_limits.max())
    lows = [story["low"] for story in stories]
    assert lows == sorted(lows, reverse=True)
    for number, lead in enumerate(leads[1:], start=1):
        assert not mirrored(scored, lead, leads[:number])


def words_of(text: str) -> set[str]:
    """Return the words of a text that terms are known by."""
    return set(text.split()) & TERM_WORDS


def mirrored(scored: list[Any], lead: set[str], before: list[set[str]]) -> bool:
    """Whether a rule set differs from its family mostly because of those that led stories."""
    for one in scored:
        terms = []
        for combination in one.decided.family.terms:
            text = " ".join(term.text for term in combination)
            terms.append(words_of(text))
        if lead in terms:
            return mirrors_family(one, terms, lead, before)
    raise AssertionError(lead)


def mirrors_family(one: Any, terms: Any, lead: set[str], before: list[set[str]]) -> bool:
    """Whether little of a difference is left without the combinations that led stories."""
    at = terms.index(lead)
    led = []
    others = []
    for rate, words_of_terms in zip(one.inside, terms, strict=True):
        has_led = any(first <= words_of_terms for first in before)
        led.append(has_led)
        if not has_led and words_of_terms != lead:
            others.append(rate)
    if not any(led) or led[at]:
        return False
    if not others:
        return True
    left = abs(one.inside[at] - fmean(others))
    return left < MIRRORED * abs(one.difference[at]) - 1e-9


def test_a_term_that_stands_out_is_one_story_and_the_others_mirror_it():
    texts = ["a gay person", "this trans person", "so straight", "nothing"] * 30
    found, details = mined(
        lambda texts: ["gay" not in text.split() for text in texts], texts
    )
    assert [entry["text"] for entry in details["stories"]][:1] == ["gender gay"]
    assert details["stories"][0]["rules"] == 3
    assert [finding.estimate.value for finding in found] == pytest.approx([1.0, 0.5])
    assert details["rest"]["rules"] == 2
    # Two terms that stand out by themselves are two stories, and the third mirrors both.
    amounts = {"gay": 0.0, "straight": 0.5, "trans": 1.0}

    def amount(text: str) -> float:
        return min(amounts.get(word, 1.0) for word in text.split())

    _, details = mined(lambda texts: [amount(text) for text in texts], texts)
    assert [entry["text"] for entry in details["stories"]] == ["gender gay", "gender trans"]


def mined(function: Any, texts: list[str]) -> tuple[list[Any], Any]:
    subject = (
        TextSubject(function, output="score")
        if isinstance(function(["gay"])[0], float)
        else TextSubject(function)
    )
    matches = find(texts, lexicon_of({"gender": TERMS["gender"]}))
    asked = ask(subject, matches, families(matches, 0.05, None, 0), Meter(Budget()))
    sure = SimultaneousIntervals(0.95, 3)
    return TextFindingWriter(subject, matches, sure, "terms").write(
        [score_terms(one, sure) for one in asked.decided], 10
    )


def test_when_time_is_up_what_was_asked_is_kept():
    looks = itertools.count(1)

    class Short(Meter):
        """A meter whose time is up at the fourth look."""

        @property
        def late(self) -> bool:
            return next(looks) > 3

    texts = [f"gay sikh {at}" for at in range(20)]
    matches = find(texts, LEXICON)
    meter = Short()
    asked = ask(TextSubject(odd, batch=6), matches, families(matches, 0.1, None, 0), meter)
    assert asked.stop is StopReason.SECONDS
    assert [len(one.family.rows) for one in asked.decided] == [8]
    assert asked.decided[0].outcomes.shape == (8, 3)
    assert asked.decided[0].family.texts == 20
    assert meter.queries == 24


def test_an_interrupt_keeps_what_was_asked_before_it():
    texts = [f"gay sikh {at}" for at in range(20)]
    matches = find(texts, LEXICON)

    def tested(after: int) -> Any:
        calls = itertools.count()

        def function(some: list[str]) -> list[bool]:
            if next(calls) == after:
                raise KeyboardInterrupt
            return odd(some)

        return ask(
            TextSubject(function, batch=30),
            matches,
            families(matches, 0.1, None, 0),
            Meter(),
        )

    with pytest.raises(KeyboardInterrupt):
        tested(0)
    # Ten texts of three terms at once, then fifteen of two, then five of six.
    kept_after = {1: [10], 2: [20], 3: [20, 15], 4: [20, 20], 5: [20, 20, 5]}
    for after, kept in kept_after.items():
        asked = tested(after)
        assert asked.stop is StopReason.INTERRUPTED
        assert [len(one.family.rows) for one in asked.decided] == kept
        for one in asked.decided:
            assert one.outcomes.shape == (len(one.family.rows), one.family.rules)


def test_progress_goes_from_nothing_to_all():
    shares: list[tuple[str, float | None]] = []
    meter = Meter(Budget(), lambda progress: shares.append((progress.task, progress.share)))
    matches = find(["gay sikh"] * 20, LEXICON)
    ask(
        TextSubject(odd, batch=8),
        matches,
        families(matches, 0.1, None, 0),
        meter,
        standing=True,
    )
    reported = [share or 0.0 for _, share in shares]
    assert reported == sorted(reported)
    assert 0 < reported[0] < 0.2
    assert reported[-1] == 1
    assert shares[-1][0] == "texts that name gender and faith"


def test_outcomes_that_cannot_be_weighed_are_refused_at_once():
    calls: list[int] = []

    def words(texts: list[str]) -> list[str]:
        calls.append(len(texts))
        return ["yes" if "gay" in text else "no" for text in texts]

    matches = find([f"gay sikh {at}" for at in range(50)], LEXICON)
    found = families(matches, 0.1, None, 0)
    refused(
        UsageError,
        lambda: ask(TextSubject(words, batch=30), matches, found, Meter()),
        "positive=…",
    )
    assert calls == [30]
    # Whether an outcome changes is details without knowing which of them is favourable.
    asked = ask(TextSubject(words, batch=30), matches, found, Meter(), standing=True)
    assert set(asked.decided[0].standing.ravel()) == {"yes"}
