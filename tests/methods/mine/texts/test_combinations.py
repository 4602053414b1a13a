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

from evenhand.methods.mine.texts.asking import ask
from evenhand.methods.mine.texts.combinations import (
    LEAST,
    MOST_NOTES,
    Decided,
    affordable,
    families,
)
from evenhand.methods.mine.texts.findings import (
    TextFindingWriter,
    matrices,
    score_rest,
    score_terms,
)
from evenhand.methods.mine.texts.places import TextPlaces
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

any_word = st.sampled_from([*ALL_TERMS, *WORDS])
words = st.lists(any_word, max_size=8)
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
            share = len(some) / len(texts)
            if share >= support - 1e-9:
                found[chosen] = some
    return found


def checksum(text: str) -> int:
    return zlib.crc32(text.encode())


def odd(texts: list[str]) -> list[bool]:
    """An arbitrary decision that any change of a text can change."""
    return [checksum(text) % 3 == 0 for text in texts]


def graded(texts: list[str]) -> list[float]:
    return [checksum(text) % 101 / 100 for text in texts]


def frequent(matches: Any, support: float = 0.1) -> Any:
    """Return the families of any depth that enough texts name."""
    return families(matches, support, None, 0)


def decided_by(function: Any, texts: list[str], **options: Any) -> list[Decided]:
    subject = TextSubject(function, **options)
    matches = find(texts, LEXICON)
    found = frequent(matches, 0.01)
    return ask(subject, matches, found, Meter()).decided


def rules_of(decided: list[Decided]) -> int:
    return sum(one.family.rules for one in decided)


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
        rows = family.rows.tolist()
        assert len(rows) == family.texts
        assert len(set(rows)) == len(rows)
        assert len(family.terms) == family.rules
        assert len(set(family.terms)) == family.rules
        for terms in family.terms:
            assert tuple(term.category for term in terms) == family.categories


def test_rows_are_shuffled_by_the_seed_alone():
    matches = find(["gay"] * 40, LEXICON)

    def rows(seed: int) -> list[int]:
        first = families(matches, 0.1, None, seed)[0]
        return [int(row) for row in first.rows]

    assert rows(1) == rows(1)
    assert rows(1) != rows(2)
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
    found = frequent(matches, 0.02)
    assert len(found) == 80
    assert {len(family.categories) for family in found} == {1, 2}
    message = refused(DataError, lambda: frequent(matches, 0.3), "c0 5 %", "30 %")
    assert message.count("%") == MOST_NOTES + 1


def test_combinations_that_nobody_could_ask_about_are_not_listed():
    """Twelve categories of ten terms have 10**12 combinations."""
    terms = {}
    for at in range(12):
        terms[f"c{at}"] = [f"{word}{at}" for word in "abcdefghij"]
    text = " ".join(f"a{at}" for at in range(12))
    matches = find([text] * 100, Lexicon.from_dict(terms))
    found = frequent(matches, 0.05)
    kept, notes = affordable(found, 100_000)
    # Fifty texts of each: 6,000 for the single categories, and 5,000 for each pair.
    numbers = [len(family.categories) for family in kept]
    assert numbers == [1] * 12 + [2] * 18
    assert "100,000,000,000,000 texts are beyond the budget" in notes[0]
    not_named = 2**12 - 1 - 30 - MOST_NOTES
    assert notes[MOST_NOTES] == f"nor were {not_named:,} other sets of categories"
    assert len(notes) == MOST_NOTES + 2


def categories_of(found: Any) -> list[tuple[str, ...]]:
    return [family.categories for family in found]


def rows_of(found: Any) -> list[int]:
    """Return how many texts each family has."""
    return [len(family.rows) for family in found]


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
    found = frequent(find(texts, LEXICON), 0.01)
    single = [family for family in found if len(family.categories) == 1]
    least_cost = sum(family.rules + standing for family in single)
    if least_cost > most:
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
    assert categories_of(kept)[: len(single)] == categories_of(single)
    whole = cost_of(found, standing)
    assert (whole <= most) == (not notes)
    if whole <= most:
        assert cost == whole
        return
    rows = max(rows_of(kept))
    before = {family.categories: family for family in found}
    one_more = []
    for family in kept:
        whole_family = before[family.categories]
        one_more.append(whole_family.only(rows + 1))
        assert family.rows.tolist() == whole_family.rows[:rows].tolist()
        assert family.texts == len(whole_family.rows)
    all_are_asked = rows == max(rows_of(single))
    assert all_are_asked or cost_of(one_more, standing) > most


def test_the_most_expensive_combinations_go_first_and_are_noted():
    texts = ["gay sikh young"] * 100 + ["gay sikh"] * 50
    found = frequent(find(texts, LEXICON), 0.01)
    sizes = {}
    for family in found:
        sizes[family.categories] = len(family.rows) * family.rules
    least_cost = sum(LEAST * family.rules for family in found)
    kept, notes = affordable(found, least_cost - 1)
    several = [categories for categories in sizes if len(categories) > 1]
    most_expensive = max(several, key=lambda categories: sizes[categories])
    assert most_expensive == ("gender", "faith", "time")
    others = [categories for categories in sizes if categories != most_expensive]
    assert categories_of(kept) == others
    texts_of_each = len(kept[0].rows)
    assert notes == [
        (
            "gender and faith and time together were not asked about: 1,200 texts are beyond the"
            " budget"
        ),
        f"no more than {texts_of_each} texts of each category were asked about, chosen at random",
    ]
    enough, _ = affordable(found, least_cost)
    assert enough[-1].categories == most_expensive


@settings(max_examples=examples(60), deadline=None)
@given(sentences, st.booleans())
def test_outcomes_are_those_of_each_text_with_each_combination(texts, standing):
    texts = [*texts, "gay sikh gay trans"]
    matches = find(texts, LEXICON)
    found = frequent(matches, 0.01)
    meter = Meter()
    # A batch of 5 texts cuts families into parts.
    subject = TextSubject(odd, batch=5)
    asked = ask(subject, matches, found, meter, standing=standing)
    assert asked.stop is None
    assert meter.queries == cost_of(found, standing)
    assert len(asked.decided) == len(found)
    for decided in asked.decided:
        family = decided.family
        rows = family.rows.tolist()
        for row, outcomes in zip(rows, decided.outcomes, strict=True):
            for terms, outcome in zip(family.terms, outcomes, strict=True):
                by_category = terms_by_category(family, terms)
                variant = replaced(texts[row], by_category)
                assert odd([variant]) == [bool(outcome)]
        assert decided.standing.shape == (len(rows), standing)
        if standing:
            as_they_stand = [texts[row] for row in rows]
            assert odd(as_they_stand) == decided.standing[:, 0].tolist()


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
    options: dict[str, Any] = {}
    if function is graded:
        options["output"] = "score"
    decided = decided_by(function, texts, **options)
    matches = find(texts, LEXICON)
    base = np.array(function(texts), dtype=float)
    rules = rules_of(decided)
    intervals = SimultaneousIntervals(0.95, rules, graded=True)
    expected = one_by_one(texts, 0.01)
    for outcomes in decided:
        family = outcomes.family
        against_terms = score_terms(outcomes, intervals)
        against_rest = score_rest(outcomes, intervals, matches.names, base, matches)
        chosen = [terms_by_category(family, terms) for terms in family.terms]
        rates = []
        for terms in chosen:
            variants = [replaced(text, terms) for text in expected[family.categories]]
            rates.append(mean_of(function, variants))
        for at, terms in enumerate(chosen):
            rate = rates[at]
            other_rates = rates[:at] + rates[at + 1 :]
            others = fmean(other_rates)
            without = [text for text in texts if not has_all(text, terms.values())]
            rest = mean_of(function, without)
            assert against_terms.inside[at] == pytest.approx(rate)
            assert against_terms.outside[at] == pytest.approx(others)
            assert against_terms.difference[at] == pytest.approx(rate - others)
            assert against_rest.difference[at] == pytest.approx(rate - rest)
            assert against_rest.other[at][1] == len(without)
            check_limits(against_terms, at)
            check_limits(against_rest, at)


def test_terms_that_change_nothing_are_never_apart():
    def by_mark(texts: list[str]) -> list[bool]:
        return [text.endswith("!") for text in texts]

    texts = ["gay !", "sikh", "trans !"] * 30
    intervals = SimultaneousIntervals(0.95, 10)
    for decided in decided_by(by_mark, texts):
        scored = score_terms(decided, intervals)
        assert np.abs(scored.difference).max() < 1e-12
        assert scored.low.max() == 0
        assert 0 < scored.high.max() < 0.5


def test_matrices_hold_every_single_category_and_pair():
    def not_gay_sikhs(texts: list[str]) -> list[bool]:
        return ["gay sikh" not in text for text in texts]

    decided = decided_by(not_gay_sikhs, ["gay sikh young"] * 5)
    intervals = SimultaneousIntervals(0.95, 1)
    found = matrices([score_terms(one, intervals) for one in decided])
    assert [entry["axes"] for entry in found] == [
        ["gender"],
        ["faith"],
        ["time"],
        ["gender", "faith"],
        ["gender", "time"],
        ["faith", "time"],
    ]
    gender = found[0]
    gender_and_faith = found[3]
    assert gender["rates"] == [0.0, 1.0, 1.0]
    assert gender_and_faith["labels"] == [TERMS["gender"], TERMS["faith"]]
    assert gender_and_faith["rates"] == [[0.0, 1.0], [1.0, 1.0], [1.0, 1.0]]


@settings(max_examples=examples(40), deadline=None)
@given(sentences, st.integers(1, 30))
def test_every_rule_set_is_in_one_story_or_in_the_rest(texts, most):
    texts = [*texts, "gay sikh young"]
    decided = decided_by(odd, texts)
    rules = rules_of(decided)
    matches = find(texts, LEXICON)
    intervals = SimultaneousIntervals(0.95, rules, graded=True)
    scored = [score_terms(one, intervals) for one in decided]
    places = TextPlaces("named", matches, [])
    writer = TextFindingWriter(TextSubject(odd), places, intervals, "terms")
    findings, details = writer.write(scored, most)
    stories = details["stories"]
    rest = details["rest"]
    leads = []
    for story in stories:
        text = story["text"].replace(",", "")
        leads.append(words_of(text))
    assert len(leads) <= most
    for lead, other in itertools.combinations(leads, 2):
        shared = len(lead & other)
        assert shared < ALIKE * len(lead | other)
    values = [abs(story["difference"]) for story in stories]
    highs = [story["high"] for story in stories]
    if rest is None:
        assert len(findings) == len(leads)
        assert len(leads) == rules
    else:
        assert len(findings) == len(leads) + 1
        assert len(leads) + rest["rules"] == rules
        values.append(rest["value"])
        highs.append(rest["high"])
    differences = np.concatenate([one.difference for one in scored])
    upper_limits = np.concatenate([one.high for one in scored])
    largest = np.abs(differences).max()
    assert max(values) == pytest.approx(largest)
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
    least = MIRRORED * abs(one.difference[at])
    return bool(left < least - 1e-9)


SOME_TEXTS = ["a gay person", "this trans person", "so straight", "nothing"] * 30


def test_a_term_that_stands_out_is_one_story_and_the_others_mirror_it():
    def not_gay(texts: list[str]) -> list[bool]:
        return ["gay" not in text.split() for text in texts]

    found, details = mined(TextSubject(not_gay))
    story = details["stories"][0]
    assert story["text"] == "gender gay"
    assert story["rules"] == 3
    worst, rest = found
    assert worst.estimate.value == pytest.approx(1.0)
    assert rest.estimate.value == pytest.approx(0.5)
    assert details["rest"]["rules"] == 2


def test_two_terms_that_stand_out_are_two_stories_and_the_third_mirrors_both():
    amounts = {"gay": 0.0, "straight": 0.5, "trans": 1.0}

    def amount(text: str) -> float:
        return min(amounts.get(word, 1.0) for word in text.split())

    def amounts_of(texts: list[str]) -> list[float]:
        return [amount(text) for text in texts]

    _, details = mined(TextSubject(amounts_of, output="score"))
    stories = [entry["text"] for entry in details["stories"]]
    assert stories == ["gender gay", "gender trans"]


def mined(subject: TextSubject) -> tuple[list[Any], Any]:
    """Return the findings and the details of some texts over gender alone."""
    lexicon = lexicon_of({"gender": TERMS["gender"]})
    matches = find(SOME_TEXTS, lexicon)
    found = frequent(matches, 0.05)
    asked = ask(subject, matches, found, Meter(Budget()))
    sure = SimultaneousIntervals(0.95, 3)
    scored = [score_terms(one, sure) for one in asked.decided]
    writer = TextFindingWriter(subject, TextPlaces("named", matches, found), sure, "terms")
    return writer.write(scored, 10)


def test_when_time_is_up_what_was_asked_is_kept():
    looks = itertools.count(1)

    class Short(Meter):
        """A meter whose time is up at the fourth look."""

        @property
        def late(self) -> bool:
            return next(looks) > 3

    texts = [f"gay sikh {at}" for at in range(20)]
    matches = find(texts, LEXICON)
    found = frequent(matches)
    meter = Short()
    asked = ask(TextSubject(odd, batch=6), matches, found, meter)
    assert asked.stop is StopReason.SECONDS
    (decided,) = asked.decided
    assert len(decided.family.rows) == 8
    assert decided.outcomes.shape == (8, 3)
    assert decided.family.texts == 20
    assert meter.queries == 24


def asked_until(call: int) -> Any:
    """Ask about twenty texts, thirty variants at once, and interrupt so many calls later."""
    calls = itertools.count()

    def function(some: list[str]) -> list[bool]:
        if next(calls) == call:
            raise KeyboardInterrupt
        return odd(some)

    texts = [f"gay sikh {at}" for at in range(20)]
    matches = find(texts, LEXICON)
    found = frequent(matches)
    return ask(TextSubject(function, batch=30), matches, found, Meter())


def test_an_interrupt_of_the_first_call_is_passed_on():
    with pytest.raises(KeyboardInterrupt):
        asked_until(0)


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        # Ten texts of three terms at once, then fifteen of two, then five of six.
        (1, [10]),
        (2, [20]),
        (3, [20, 15]),
        (4, [20, 20]),
        (5, [20, 20, 5]),
    ],
)
def test_an_interrupt_keeps_what_was_asked_before_it(call, kept):
    asked = asked_until(call)
    assert asked.stop is StopReason.INTERRUPTED
    assert rows_of(decided.family for decided in asked.decided) == kept
    for decided in asked.decided:
        family = decided.family
        assert decided.outcomes.shape == (len(family.rows), family.rules)


def test_progress_goes_from_nothing_to_all():
    tasks: list[str] = []
    shares: list[float] = []

    def note(progress: Any) -> None:
        tasks.append(progress.task)
        shares.append(progress.share or 0.0)

    matches = find(["gay sikh"] * 20, LEXICON)
    found = frequent(matches)
    subject = TextSubject(odd, batch=8)
    meter = Meter(Budget(), note)
    ask(subject, matches, found, meter, standing=True)
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.2
    assert shares[-1] == 1
    assert tasks[-1] == "texts that name gender and faith"


def test_outcomes_that_cannot_be_weighed_are_refused_at_once():
    calls: list[int] = []

    def words(texts: list[str]) -> list[str]:
        calls.append(len(texts))
        return ["yes" if "gay" in text else "no" for text in texts]

    texts = [f"gay sikh {at}" for at in range(50)]
    matches = find(texts, LEXICON)
    found = frequent(matches)
    subject = TextSubject(words, batch=30)
    refused(UsageError, lambda: ask(subject, matches, found, Meter()), "positive=…")
    assert calls == [30]
    # Whether an outcome changes is known without knowing which of them is favourable.
    asked = ask(TextSubject(words, batch=30), matches, found, Meter(), standing=True)
    assert set(asked.decided[0].standing.ravel()) == {"yes"}
