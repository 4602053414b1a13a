"""Languages: catalogues, the sentences that they fill, and numbers as each language writes them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from markupsafe import Markup

from evenhand.report import templates
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, printable
from evenhand.runtime.language import (
    LANGUAGES,
    say,
    say_many,
    speaking,
    spoken,
    term,
)
from evenhand.runtime.language.catalogue import catalogue, read
from evenhand.statistics.estimate import Amount, Estimate, Witnesses

UNTRANSLATED = "{number} sentences that no catalogue has"


def test_english_is_spoken_unless_another_language_is():
    assert LANGUAGES == ("en", "de", "fr")
    assert spoken() == "en"
    assert say("{low} to {high}", low=1, high=2) == "1 to 2"


@pytest.mark.parametrize(
    ("language", "text"), [("en", "1 to 2"), ("de", "1 bis 2"), ("fr", "1 à 2")]
)
def test_a_sentence_stands_in_the_language_that_is_spoken(language, text):
    with speaking(language):
        assert spoken() == language
        assert say("{low} to {high}", low=1, high=2) == text


def test_a_sentence_may_have_no_fields():
    with speaking("de"):
        assert say("any number") == "jede Zahl"
        assert term("undecided") == "unentschieden"


def test_what_is_not_translated_stays_english():
    with speaking("de"):
        assert say(UNTRANSLATED, number=3) == "3 sentences that no catalogue has"
    assert read('[sentences]\n"limit" = ""\n').sentence("limit") == "limit"


def test_what_fills_a_sentence_is_never_filled_itself():
    with speaking("fr"):
        assert say("under {limit}", limit="{limit}") == "moins de {limit}"
        assert term("{no} field {") == "{no} field {"


def test_languages_nest_and_end():
    with speaking("de"):
        with speaking("fr"):
            assert say("any number") == "n'importe quel nombre"
        assert say("any number") == "jede Zahl"
        with speaking("en"):
            assert say("any number") == "any number"
    assert spoken() == "en"


def test_a_language_ends_with_an_error_too():
    with pytest.raises(RuntimeError), speaking("de"):
        raise RuntimeError
    assert spoken() == "en"


def test_each_thread_speaks_its_own_language():
    both_speak = threading.Barrier(len(LANGUAGES))

    def percent_in(language: str) -> str:
        with speaking(language):
            both_speak.wait(timeout=60)
            return number_text.percent(0.1234)

    with ThreadPoolExecutor(len(LANGUAGES)) as threads:
        assert list(threads.map(percent_in, LANGUAGES)) == ["12.3 %", "12,3 %", "12,3 %"]


def test_an_unknown_language_is_refused_with_the_nearest():
    refused = pytest.raises(UsageError, match="unknown language 'dee'; did you mean 'de'")
    with refused, speaking("dee"):
        pass
    assert spoken() == "en"


@pytest.mark.parametrize(
    ("language", "number", "text"),
    [
        ("en", 0, "0 cases"),
        ("en", 1, "1 case"),
        ("en", 2048, "2,048 cases"),
        ("de", 0, "0 Fälle"),
        ("de", 1, "1 Fall"),
        ("de", 2048, "2.048 Fälle"),
        ("fr", 0, "0 entrée"),
        ("fr", 1, "1 entrée"),
        ("fr", 2048, "2\u202f048 entrées"),
    ],
)
def test_counts_agree_with_what_is_counted(language, number, text):
    thing = "input" if language == "fr" else "case"
    with speaking(language):
        assert number_text.many(number, thing) == text
        assert say_many(number, f"{{number}} {thing}", f"{{number}} {thing}s") == text


def test_none_is_no_singular_of_a_sentence_that_says_one():
    with speaking("fr"):
        assert say_many(0, "one witness", "{number} witnesses") == "0 witnesses"


def test_a_thing_in_the_words_of_a_user_may_have_braces():
    assert number_text.many(2, "{row}") == "2 {row}s"


NUMBERS = {
    "percent": (
        lambda: number_text.percent(0.1171),
        ("11.7 %", "11,7 %", "11,7 %"),
    ),
    "beside a limit": (
        lambda: number_text.percent(0.0504, limit=0.05),
        ("5.04 %", "5,04 %", "5,04 %"),
    ),
    "many percent": (
        lambda: number_text.percent_part(12.5),
        ("1,250 %", "1.250 %", "1\u202f250 %"),
    ),
    "level": (
        lambda: number_text.percent_level(1 - 0.05 / 16),
        ("99.687 %", "99,687 %", "99,687 %"),
    ),
    "levels": (
        lambda: number_text.percent_levels([0.9, 0.95]),
        ("90 % and 95 %", "90 % und 95 %", "90 % et 95 %"),
    ),
    "interval": (
        lambda: number_text.between(0.05, 0.222),
        ("5.0 % to 22.2 %", "5,0 % bis 22,2 %", "5,0 % à 22,2 %"),
    ),
    "interval that says percent once": (
        lambda: number_text.between_once(0.05, 0.222),
        ("5.0 to 22.2 %", "5,0 bis 22,2 %", "5,0 à 22,2 %"),
    ),
    "spread": (
        lambda: number_text.spread(0.02, -0.01, 0.05, "points", sign="+"),
        (
            "+2.0 points (-1.0 to +5.0)",
            "+2,0 Punkte (-1,0 bis +5,0)",
            "+2,0 points (-1,0 à +5,0)",
        ),
    ),
    "point": (
        lambda: number_text.points_plain(0.01),
        ("1 point", "1 Punkt", "1 point"),
    ),
    "amount": (
        lambda: number_text.amount(1_234_567.0),
        ("1,235,000", "1.235.000", "1\u202f235\u202f000"),
    ),
    "amount beside a limit": (
        lambda: number_text.amount(5000.1, limit=5000),
        ("5,000.1", "5.000,1", "5\u202f000,1"),
    ),
    "count": (
        lambda: number_text.count(1234),
        ("1,234", "1.234", "1\u202f234"),
    ),
    "gap": (
        lambda: number_text.apart(40_213.25, 38_100.75)[1],
        (
            "38,101 (2,112 less)",
            "38.101 (2.112 weniger)",
            "38\u202f101 (2\u202f112 de moins)",
        ),
    ),
    "p-value": (
        lambda: number_text.p_value(1e-9),
        ("< 0.0001", "< 0,0001", "< 0,0001"),
    ),
    "limit": (
        lambda: number_text.limit(0.8, least=True),
        ("at least 0.8", "mindestens 0,8", "au moins 0,8"),
    ),
    "duration": (
        lambda: number_text.duration(9000),
        ("about 2.5 h", "etwa 2,5 h", "environ 2,5 h"),
    ),
    "estimate": (
        lambda: str(Estimate(0.123, 0.101, 0.148, 2048, 0.95, "exact", "all")),
        (
            "12.3 % (10.1 % to 14.8 %, 95 % level, n = 2,048, exact, population: all)",
            "12,3 % (10,1 % bis 14,8 %, Niveau 95 %, n = 2.048, exact, Grundgesamtheit: all)",
            "12,3 % (10,1 % à 14,8 %, niveau 95 %, n = 2\u202f048, exact, population\xa0: all)",
        ),
    ),
    "an end just under the limit": (
        lambda: (
            Estimate(
                0.02, 0.01, 0.05 * (1 - 1e-15), 90, 0.95, "test", beside=0.05
            ).interval_text
        ),
        ("1.0 % to under 5.0 %", "1,0 % bis unter 5,0 %", "1,0 % à moins de 5,0 %"),
    ),
    "witnesses": (
        lambda: str(Witnesses.of(12, 4000, "adaptive")),
        (
            "12 found by trying 4,000 inputs (adaptive)",
            "12 gefunden beim Probieren von 4.000 Eingaben (adaptive)",
            "12 trouvés en essayant 4\u202f000 entrées (adaptive)",
        ),
    ),
    "amount without an end": (
        lambda: Amount(12.5, 11.0, float("inf"), 30, 0.95, "rank").interval_text,
        ("11 or more", "11 oder mehr", "11 ou plus"),
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_written_as_the_language_does(name):
    number, texts = NUMBERS[name]
    for language, text in zip(LANGUAGES, texts, strict=True):
        with speaking(language):
            assert number() == text


@pytest.mark.parametrize("language", LANGUAGES)
def test_places_of_a_drawing_follow_no_language(language):
    with speaking(language):
        assert number_text.page_place(0.12345) == "12.35%"


def test_spaces_inside_of_numbers_are_shown_as_they_are_and_no_others():
    hidden = "1\u202f234 a\u202fb\u00a0c\u202e"
    assert printable(hidden) == "1\\u202f234 a\\u202fb\\xa0c\\u202e"
    with speaking("de"):
        assert printable(hidden) == "1\\u202f234 a\\u202fb\\xa0c\\u202e"
    with speaking("fr"):
        assert printable(hidden) == "1\u202f234 a\\u202fb\\xa0c\\u202e"


def test_a_page_escapes_the_fields_of_a_sentence():
    source = '{{ say("under {limit}", limit=limit) }}'
    template = templates.environment().from_string(source)
    with speaking("de"):
        assert template.render(limit="<1>\u202e") == "unter &lt;1&gt;\\u202e"
        assert template.render(limit=Markup("<b>1</b>")) == "unter <b>1</b>"


def test_a_macro_speaks_the_language_of_the_page_it_is_used_in():
    shown = [templates.piece("report/pages/pieces.html.jinja", "badge", "fail")]
    with speaking("fr"):
        shown.append(templates.piece("report/pages/pieces.html.jinja", "badge", "fail"))
    assert ["fail" in shown[0], "échoué" in shown[1]] == [True, True]


def test_a_catalogue_says_how_numbers_are_written():
    german = catalogue("de")
    assert (german.name, german.decimal_mark, german.group_mark) == ("Deutsch", ",", ".")
    assert catalogue("fr").singular == (0, 1)
