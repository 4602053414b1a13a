"""Person nouns: where a term goes before them, and how the sentence reads then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import UsageError
from evenhand.texts.lexicon import Lexicon, Term
from evenhand.texts.matching import unmarked
from evenhand.texts.persons import find_hosts, persons_of, persons_of_templates
from tests.support.helpers import examples, refused

LEXICON = Lexicon.default()
TERMS = {term.text: term for term in LEXICON.terms}


def hosts(*texts: str, persons: Any = None) -> Any:
    return find_hosts(
        texts,
        LEXICON,
        persons_of(persons),
    )


def with_term(text: str, term: str) -> str:
    """Return a text with a term of the default lexicon."""
    chosen = TERMS[term]
    (found,) = hosts(text).write(
        np.array([0]),
        [chosen.category],
        [chosen],
    )
    return str(found)


@pytest.mark.parametrize(
    ("text", "term", "written"),
    [
        ("She met a man.", "gay", "She met a gay man."),
        ("She met a man.", "atheist", "She met an atheist man."),
        ("an author, she said", "gay", "a gay author, she said"),
        ("my neighbour's dog", "gay", "my gay neighbour's dog"),
        ("the teacher is here", "black", "the black teacher is here"),
        ("A woman came", "christian", "A christian woman came"),
        ("A man came", "atheist", "An atheist man came"),
        ("A MAN CAME", "elderly", "AN ELDERLY MAN CAME"),
        ("Men are here", "muslim", "Muslim men are here"),
        ("That is it. People talk", "gay", "That is it. Gay people talk"),
        ("The Man of Steel", "gay", "The Gay Man of Steel"),
        ("two women and a man", "old", "two old women and a man"),
        ("PEOPLE TALK", "lgbt", "LGBT PEOPLE TALK"),
        ("a good man", "old", "a good old man"),
        # What stands there already is no place for a term of its own category.
        ("an old man", "young", "a young man"),
        ("an old man", "gay", "an old gay man"),
        ("gay pride, said a man", "straight", "straight pride, said a man"),
        ("gay pride, said a man", "muslim", "gay pride, said a muslim man"),
    ],
)
def test_a_term_stands_before_the_first_person_noun(text, term, written):
    assert with_term(text, term) == written


@pytest.mark.parametrize(
    "text",
    [
        "a truck driver came",
        "the user page",
        "man-made lakes",
        "Superman and manners",
        "police officers",
        "he manned it",
        "see /users or @people",
        "Nothing at all.",
    ],
)
def test_compounds_and_other_words_are_no_place(text):
    assert not hosts(text).takes("gender").any()


def test_terms_go_only_before_nouns_that_they_fit():
    found = hosts(
        "a man",
        "a woman",
        "a person",
        "a lesbian",
        "nothing",
    )
    takes = found.takes("gender")
    names = [term.text for term in LEXICON.of("gender")]
    fits = {name: takes[:, at].tolist() for at, name in enumerate(names)}
    assert fits["gay"] == [True, True, True, True, False]
    assert fits["lesbian"] == [False, True, True, True, False]
    assert fits["male"] == [False, False, True, True, False]
    race = found.takes("race").sum(axis=0).tolist()
    by_term = dict(
        zip(
            [term.text for term in LEXICON.of("race")],
            race,
            strict=True,
        )
    )
    assert (by_term["black"], by_term["latino"], by_term["latina"]) == (3, 2, 2)


def test_a_term_has_an_adjective_of_its_own_or_none():
    jew = {"term": "jew", "plural": "jews", "adjective": False}
    convert = {"term": "buddhist", "adjective": "zen buddhist"}
    lexicon = Lexicon.from_dict({"religion": ["muslim", jew, convert]})
    assert Lexicon.from_dict(lexicon.to_dict()) == lexicon
    found = find_hosts(
        ["a man", "a jew"],
        lexicon,
        persons_of(None),
    )
    assert found.takes("religion").tolist() == [[True, False, True], [True] * 3]
    zen = lexicon.of("religion")[2]
    rows = np.arange(2)
    assert found.write(
        rows,
        ["religion"],
        [zen],
    ) == ["a zen buddhist man", "a buddhist"]


@settings(deadline=None, max_examples=examples(100))
@given(
    st.lists(
        st.sampled_from(
            ["a", "an", "The", "man", "People", "WOMEN", "gay", "Old", "author", ".", "⟦"]
        ),
        max_size=9,
    )
)
def test_texts_stand_as_they_are_but_for_a_capital(parts):
    text = " ".join(parts)
    found = hosts(text)
    rows = np.array([0])
    (standing,) = found.write(
        rows,
        (),
        (),
    )
    assert standing.lower() == text.lower()
    for category in LEXICON.categories:
        for at, fits in enumerate(found.takes(category)[0].tolist()):
            term = LEXICON.of(category)[at]
            if not fits:
                continue
            (written,) = found.write(
                rows,
                [category],
                [term],
            )
            assert term.text in written.lower()
            marked = found.marked(
                0,
                [category],
                [term],
            )
            assert unmarked(marked) == written
            assert "  " not in written


def test_nouns_of_ones_own():
    found = hosts(
        "a robot speaks",
        "a man",
        persons=["robot"],
    )
    assert found.takes("age").any(axis=1).tolist() == [False, False]
    found = hosts(
        "the robot is here",
        "two robots",
        persons=["robot"],
    )
    assert found.takes("age").all(axis=1).tolist() == [True, True]
    plurals = [person.plural for person in persons_of(["lady", "boss", "coach", "fireman"])]
    assert plurals == ["ladies", "bosses", "coaches", "firemen"]
    assert persons_of_templates(["nurse"]) == persons_of(["nurse"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("teacher", "must be a list"),
        ([], "empty"),
        ([3], "no noun"),
        ([{"persn": "x"}], "did you mean 'person'"),
        ([{"person": "x", "sex": "woman"}], "did you mean 'women'"),
        ([{"sex": "men"}], "names no noun"),
        ([" "], "no noun"),
    ],
)
def test_wrong_nouns_are_refused(given, words):
    refused(
        UsageError,
        lambda: persons_of(given),
        "persons",
        words,
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"before": "woman"}, "did you mean 'women'"),
        ({"adjective": 3}, "give a text, or false"),
    ],
)
def test_wrong_places_of_terms_are_refused(options, words):
    refused(
        UsageError,
        lambda: Term(
            "gay",
            "gender",
            **options,
        ),
        "gender",
        words,
    )
