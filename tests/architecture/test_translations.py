"""Catalogues of other languages fit the English sentences that are shown."""

from __future__ import annotations

import pytest

from evenhand.runtime.language import LANGUAGES
from tests.architecture import translations
from tests.architecture.translations import sentences_of, sentences_of_page

IMPORTS = (
    "from evenhand.runtime import language, number_text\n"
    "from evenhand.runtime.language import messages, say, say_many, term\n"
)
OTHERS = LANGUAGES[1:]
FILLED_WITH_ANY = (
    "evenhand.runtime.language:",
    "evenhand.runtime.number_text:",
    "evenhand.report.templates:",
    "evenhand.report.page.plain:",
    "evenhand.methods.audit.diff.",
    "evenhand.methods.audit.page.",
    "evenhand.methods.compare.plot.chart:",
    "evenhand.methods.compare.section:",
    "evenhand.methods.mine.plot.",
    "evenhand.methods.mine.subgroups.tree:",
    "evenhand.methods.search.section:",
    "evenhand.space.values.condition:",
    "method.html.jinja:",
)
"""Modules that fill a sentence which is given to them, or one of `translations.TABLES`."""


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_fields_of_its_sentence(language):
    assert translations.wrong_fields(language) == []


def test_every_sentence_can_be_found():
    strays = []
    for place in translations.every_sentence().unknown:
        if not place.startswith(FILLED_WITH_ANY):
            strays.append(place)
    assert strays == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_has_every_sentence_that_is_shown_and_no_other(language):
    assert translations.missing(language) == []
    assert translations.unused(language) == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('say("in {place}", place=1)', {"in {place}"}),
        ('language.say("a")', {"a"}),
        ('say_many(2, "{number} row", "{number} rows")', {"{number} row", "{number} rows"}),
        ('number_text.many(2, "row")', {"{number} row", "{number} rows"}),
        ('say("a" if large else "b")', {"a", "b"}),
        ('text = "a"\nif large:\n    text = "b"\nsay(text)', {"a", "b"}),
        ('other.say("a")\nmany(2, "row")', set()),
        ("say(messages.PERCENT, number=1)", {"{number} %"}),
        ("for sentence in messages.NONE:\n    say(sentence)", set()),
        ("term(word)", set()),
    ],
)
def test_sentences_of_code_are_found(code, found):
    assert sentences_of(f"{IMPORTS}{code}").found == found


def test_a_table_of_sentences_is_read_as_a_whole():
    code = f"{IMPORTS}for sentence in LIMITS:\n    say(sentence)"
    assert len(sentences_of(code, "evenhand.report.definitions").found) > 5


def test_a_sentence_that_cannot_be_found_is_reported():
    assert sentences_of(f"{IMPORTS}say(made())").unknown == [":3"]


def test_sentences_of_a_page_are_found():
    page = '{{ say("a") }}{% if say("b" if x else "c") %}{{ term(word or "d") }}{% endif %}'
    assert sentences_of_page(page).found == {"a", "b", "c", "d"}
