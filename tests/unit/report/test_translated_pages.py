"""Pages in other languages: none of evenhand's own sentences is left in English."""

from __future__ import annotations

import itertools
import re
from html import unescape
from typing import Any

import pandas as pd
import pytest

import evenhand as eh
from evenhand.runtime.language import LANGUAGES
from tests.architecture.translations import every_sentence, fields

OTHERS = LANGUAGES[1:]
SEXES = ["F", "M"]
HOMES = ["own", "rent"]
SPACE = eh.Space(
    [eh.category("sex", SEXES), eh.category("home", HOMES), eh.integer("age", 18, 80)],
    ["sex", "home"],
)
CHECKS: list[dict[str, Any]] = [
    {"job": "measure", "over": ["sex"], "limit": 0.05},
    {"job": "subsets", "among": ["sex", "home"], "limit": 0.05},
    {"job": "search", "over": ["sex"], "queries": 400},
    {"job": "impact", "over": ["sex", "home"]},
    {"job": "mine", "over": ["sex", "home"], "limit": 0.1},
]


def decide(people: pd.DataFrame) -> pd.Series:
    return (people["age"] > 40) & ((people["sex"] == "M") | (people["home"] == "own"))


@pytest.fixture(scope="module")
def audited() -> eh.Audit:
    people = list(itertools.product(SEXES, HOMES, range(18, 78)))
    rows = pd.DataFrame(people, columns=["sex", "home", "age"])
    return eh.audit(decide, SPACE, checks=CHECKS, data=rows, seed=0)


def text_of(page: str) -> str:
    """Return what a page shows, its tags left out."""
    without_code = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", "\n", without_code)).split())


def own_sentences() -> list[str]:
    """Return the English sentences that have no fields and more than three words."""
    sentences = []
    for sentence in every_sentence().found:
        if not fields(sentence) and len(sentence.split()) > 3:
            sentences.append(" ".join(sentence.split()))
    return sorted(sentences)


@pytest.mark.parametrize("language", OTHERS)
def test_no_sentence_of_the_page_is_english(audited, language):
    page = audited.to_html(language=language)
    shown = text_of(page)
    assert f'<html lang="{language}">' in page
    assert [sentence for sentence in own_sentences() if sentence in shown] == []


def test_the_same_sentences_are_on_the_english_page(audited):
    shown = text_of(audited.to_html())
    found = [sentence for sentence in own_sentences() if sentence in shown]
    assert len(found) > 40


def test_titles_of_pictures_have_no_words_of_two_languages(audited):
    shown = text_of(audited.to_html(language="de"))
    assert re.search(
        "wie oft Personen das günstige Ergebnis erhalten, nach sex und home", shown
    )
    assert "Personen the favourable" not in shown


def test_a_search_that_finds_nothing_says_so_in_the_language():
    checks = [{"job": "search", "over": ["sex"], "queries": 400}]
    fair = eh.audit(lambda people: people["age"] > 40, SPACE, checks=checks, seed=0)
    shown = text_of(fair.to_html(language="de"))
    assert "Es wurde keine Eingabe gefunden, die ein anderes Ergebnis erhält" in shown


def test_regions_and_missing_values_speak_the_language():
    incomes = eh.real("income", 0, 90_000, step=0.5, missing=0.2)
    space = eh.Space([eh.category("sex", SEXES), incomes], ["sex"])

    def lend(people: pd.DataFrame) -> pd.Series:
        is_poor = people["income"].isna() | (people["income"] < 30_000)
        return (people["sex"] == "M") | ~is_poor

    checks = [{"job": "search", "over": ["sex"], "queries": 4_000}]
    audit = eh.audit(lend, space, checks=checks, seed=0)
    assert re.search("income at most [23][0-9],[0-9]{3}", text_of(audit.to_html()))
    shown = text_of(audit.to_html(language="de"))
    assert re.search("income höchstens [23][0-9][.][0-9]{3}", shown)
    assert "F unbekannt False M True F" in shown
    assert "unknown" not in shown
    assert not re.search("F [0-9]+[.]0 False", shown)


def test_numbers_have_decimal_commas(audited):
    text = text_of(audited.to_html(language="de"))
    assert re.search(r"\d,\d %", text)
    # What was claimed, and is kept, stands as it was written.
    assert "Von je 100 Eingaben" in text


@pytest.mark.parametrize("language", OTHERS)
def test_a_page_in_another_language_leaves_the_english_one_as_it_was(audited, language):
    before = audited.to_html()
    audited.to_html(language=language)
    assert audited.to_html() == before
