"""Lexicons: the shipped terms, the users' own, and a sentence for whatever is wrong with them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.runtime.errors import ConfigError, UsageError
from evenhand.texts.lexicon import Lexicon, Term, fold, lexicon_of, words
from tests.support.helpers import refused

TABLE_1 = {
    "gender": (
        "lesbian, gay, bisexual, transgender, trans, queer, lgbt, lgbtq, homosexual, straight,"
        " heterosexual, male, female, nonbinary"
    ),
    "race": (
        "african, african american, black, white, european, hispanic, latino, latina, latinx,"
        " mexican, canadian, american, asian, indian, middle eastern, chinese, japanese"
    ),
    "religion": "christian, muslim, jewish, buddhist, catholic, protestant, sikh, taoist, atheist",
    "age": "old, older, young, younger, teenage, millennial, middle aged, elderly",
}


def test_the_default_terms_are_those_of_the_paper():
    lexicon = Lexicon.default()
    assert {
        name: ", ".join(map(str, lexicon.of(name))) for name in lexicon.categories
    } == TABLE_1
    assert len(lexicon) == 48
    assert [term.text for term in lexicon.terms if term.other_meanings] == [
        "straight",
        "black",
        "white",
        "old",
    ]
    assert lexicon is Lexicon.default()


def test_plurals_are_written_only_for_nouns():
    many = {term.text: term.many for term in Lexicon.default().terms}
    assert many["african american"] == "african americans"
    assert many["jewish"] == "jewish people"
    assert many["chinese"] == "chinese people"
    assert many["lgbtq"] == "lgbtq people"
    assert all(plural in (f"{term}s", f"{term} people") for term, plural in many.items())


def test_a_lexicon_of_ones_own_in_every_form(tmp_path):
    file = tmp_path / "terms.toml"
    file.write_text(
        'origin = ["roma", "sinti"]\n[gender]\nterms = ["lesbian", " gay  woman", "straight", {term'
        ' = "male", plural = "males"}, "queer"]\npolysemous = ["Straight"]\nleave_out = ["queer"]\n'
    )
    lexicon = Lexicon.from_toml(file)
    assert lexicon.categories == ("origin", "gender")
    assert lexicon.of("gender") == (
        Term("lesbian", "gender"),
        Term("gay woman", "gender"),
        Term("straight", "gender", other_meanings=True),
        Term("male", "gender", "males"),
    )
    assert lexicon_of(lexicon) is lexicon
    assert (
        lexicon_of(str(file))
        == lexicon_of(file)
        == lexicon
        == lexicon_of(json.loads(json.dumps(lexicon.to_dict())))
    )
    assert lexicon_of(None) is Lexicon.default()
    assert str(lexicon) == "6 terms: 2 origin, 4 gender"


def test_terms_of_a_category_stand_together_whatever_their_order():
    terms = [
        Term("gay", "gender"),
        Term("old", "age"),
        Term("straight", "gender"),
        Term("young", "age"),
    ]
    lexicon = Lexicon(tuple(terms))
    assert [term.text for term in lexicon.terms] == ["gay", "straight", "old", "young"]
    assert Lexicon.from_dict(lexicon.to_dict()) == lexicon


def test_the_default_survives_its_own_dictionary():
    assert (
        Lexicon.from_dict(json.loads(json.dumps(Lexicon.default().to_dict())))
        == Lexicon.default()
    )


def test_terms_are_left_out_one_by_one():
    lexicon = Lexicon.default().without("straight", "African-American")
    assert len(lexicon) == 46
    assert "straight" not in map(str, lexicon.terms)
    assert lexicon.without() == lexicon
    small = Lexicon.from_dict({"gender": ["gay", "straight"], "age": ["old", "young"]})
    assert small.without("old", "young").categories == ("gender",)
    refused(
        UsageError, lambda: small.without("strait"), "'strait'", "did you mean 'straight'?"
    )
    refused(UsageError, lambda: small.without("old"), "'age'", "only the term 'young'")
    refused(
        UsageError,
        lambda: small.without("old", "young", "gay", "straight"),
        "at least one category",
    )
    refused(UsageError, lambda: small.without(5), "names 5")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, ("at least one category",)),
        ({"gender": []}, ("'gender' has no terms", "at least two")),
        ({"gender": {}}, ("'gender' has no terms",)),
        ({"gender": {"terms": ["gay"], "leave_out": ["gay"]}}, ("'gender' has no terms",)),
        (
            {"gender": ["gay"]},
            ("'gender' has only the term 'gay'", "nothing to replace it with"),
        ),
        ({"gender": ["gay", ""]}, ("'gender' has an empty term ('')",)),
        ({"gender": ["gay", " - "]}, ("'gender' has an empty term (' - ')",)),
        (
            {"gender": ["gay", {"term": "male", "plural": ""}]},
            ("'gender' has an empty plural",),
        ),
        (
            {"gender": ["gay", "male", "Gay"]},
            ("'gender' has 'gay'", "category 'gender' has already"),
        ),
        (
            {
                "race": ["african american", "asian"],
                "origin": ["roma", "African-\nAmerican"],
            },
            ("'origin' has 'african american'", "'race' has already"),
        ),
        (
            {"race": [{"term": "black", "plural": "blacks"}, "blacks"]},
            ("'race' has 'blacks'", "list every term once"),
        ),
        ({"gender": "gay"}, ("'gender'", "terms = 'gay' must be a list")),
        ({"gender": ["gay", 5]}, ("'gender'", "terms has 5, which is not a text")),
        ({"gender": ["gay", None]}, ("'gender'", "terms has None")),
        ({"gender": ["gay", {"term": 5}]}, ("'gender'", "the term 5, which is not a text")),
        ({"gender": ["gay", {"plural": "males"}]}, ("'gender'", "names no term")),
        (
            {"gender": ["gay", {"term": "male", "plurals": "males"}]},
            ("unknown key 'plurals'", "did you mean 'plural'?"),
        ),
        ({"gender": {"term": ["gay"]}}, ("unknown key 'term'", "did you mean 'terms'?")),
        (
            {"gender": {"terms": ["gay", "male"], "polysemous": "gay"}},
            ("polysemous = 'gay' must be a list",),
        ),
        (
            {"gender": {"terms": ["gay", "male"], "polysemous": ["mal"]}},
            ("polysemous names 'mal'", "did you mean 'male'?"),
        ),
        (
            {"gender": {"terms": ["gay", "male"], "leave_out": ["x"]}},
            ("leave_out names 'x'", "'gay', 'male'"),
        ),
        ({"gender": {"terms": ["gay", "male"], "leave_out": [{}]}}, ("leave_out has {}",)),
        ({"": ["gay", "male"]}, ("a category is called ''",)),
        ({5: ["gay", "male"]}, ("a category is called 5",)),
        ({"text": ["gay", "male"]}, ("a category is called 'text'", "rename it")),
        (["gay"], ("a table of categories", "['gay']")),
    ],
)
def test_what_is_wrong_with_a_table_is_one_sentence(table: Any, words: tuple[str, ...]):
    refused(UsageError, lambda: Lexicon.from_dict(table), *words)


def test_what_is_wrong_with_a_file_names_the_file(tmp_path):
    file = tmp_path / "terms.toml"
    refused(
        ConfigError,
        lambda: lexicon_of(file),
        "terms.toml",
        "no such file",
        "check the path",
    )
    (tmp_path / "term.toml").touch()
    refused(
        ConfigError,
        lambda: lexicon_of(str(file)),
        "terms.toml",
        "no such file",
        "did you mean 'term.toml'?",
    )
    refused(ConfigError, lambda: lexicon_of(tmp_path), str(tmp_path), "cannot be read")
    file.write_text("[gender\n")
    refused(ConfigError, lambda: lexicon_of(file), "terms.toml", "is not valid TOML")
    file.write_text("[gender]\nterms = []\n")
    refused(ConfigError, lambda: lexicon_of(file), "terms.toml", "'gender' has no terms")
    file.write_text("")
    refused(ConfigError, lambda: lexicon_of(file), "terms.toml", "at least one category")
    file.write_bytes(b"\xff\xfe")
    refused(ConfigError, lambda: lexicon_of(file), "terms.toml", "not UTF-8")
    refused(ConfigError, lambda: lexicon_of("x" * 300), "cannot be read")


def test_other_things_that_are_no_lexicon():
    refused(UsageError, lambda: lexicon_of(5), "lexicon = 5", "TOML file")  # type: ignore[arg-type]
    refused(UsageError, lambda: Lexicon(("gay", "male")), "'gay'", "from_dict")  # type: ignore[arg-type]
    refused(
        UsageError,
        lambda: Lexicon.default().of("gendr"),
        "'gendr'",
        "did you mean 'gender'?",
    )


def test_folding_keeps_every_letter_in_its_place():
    longer = [code for code in range(sys.maxunicode + 1) if len(fold(chr(code))) != 1]
    assert not longer


@given(st.text(), st.sampled_from([" ", "  ", "\n", "-", " - ", "‑"]))
def test_words_do_not_depend_on_case_or_spacing(text, gap):
    assert len(fold(text)) == len(text)
    assert words(text) == words(fold(text))
    assert words(gap.join(["African", "american"])) == ("african", "american")


def test_the_lexicon_is_part_of_the_package():
    import evenhand

    assert (
        Path(evenhand.__file__).parent / "texts" / "lexicons" / "default.toml"
    ).is_file()
