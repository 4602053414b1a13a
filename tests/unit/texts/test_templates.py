"""Templates: what they take, and the sentences that persons and terms make of them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from evenhand.runtime.errors import UsageError
from evenhand.texts.lexicon import Lexicon
from evenhand.texts.persons import persons_of, persons_of_templates
from evenhand.texts.templates import find_templates, templates_of
from tests.support.helpers import refused

LEXICON = Lexicon.default()
NOUNS = persons_of(["author", {"person": "man", "plural": "men", "sex": "men"}])


def written(template: str, category: str, at: int) -> list[str]:
    found = find_templates(
        templates_of([template]),
        LEXICON,
        NOUNS,
    )
    rows = np.flatnonzero(found.takes(category)[:, at])
    return found.write(
        rows,
        [category],
        [LEXICON.of(category)[at]],
    )


@pytest.mark.parametrize(
    ("template", "sentences"),
    [
        ("I am a {term} {person}", ["I am an atheist author", "I am an atheist man"]),
        ("{term} {people} talk", ["Atheist authors talk", "Atheist men talk"]),
        ("Yes. {people}: {term}!", ["Yes. Authors: atheist!", "Yes. Men: atheist!"]),
        ("A {person} is {term}", ["An author is atheist", "A man is atheist"]),
        ("Is it {term} {{here}}", ["Is it atheist {here}"]),
        ("AN {term} one", ["AN atheist one"]),
    ],
)
def test_sentences_read_well(template, sentences):
    assert (
        written(
            template,
            "religion",
            8,
        )
        == sentences
    )


def test_a_sentence_takes_the_terms_that_fit_its_noun():
    assert written(
        "a {term} {person}",
        "gender",
        0,
    ) == ["a lesbian author"]
    assert written(
        "a {term} {person}",
        "gender",
        11,
    ) == ["a male author"]
    assert written(
        "a {term} {person}",
        "gender",
        1,
    ) == ["a gay author", "a gay man"]


def test_sentences_are_made_once():
    templates = templates_of(["a {term} {person}", "a {term} {person}", "a {term} man"])
    found = find_templates(
        templates,
        LEXICON,
        NOUNS,
    )
    assert list(found.texts) == ["a {term} author", "a {term} man"]


def test_what_is_shipped_reads_well():
    found = find_templates(
        templates_of(None),
        LEXICON,
        persons_of_templates(None),
    )
    assert len(found.texts) == 480
    for category in LEXICON.categories:
        takes = found.takes(category)
        for at, term in enumerate(LEXICON.of(category)):
            rows = np.flatnonzero(takes[:, at])
            assert len(rows) >= 400
            for text in found.write(
                rows,
                [category],
                [term],
            ):
                assert re.fullmatch(r"[A-Z][\w ,'-]+[.!?]", text)
                assert not re.search(r"\b[aA] (?!eu)[aeio]|\b[aA]n [bcdgjkptw]", text), text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("I am {term}", "must be a list"),
        ([], "empty"),
        (["I am a {person}"], "{term} once"),
        (["{term} and {term}"], "{term} once"),
        (["{term} {persn}"], "did you mean 'person'"),
        (["{term} {person} {people}"], "several places for a noun"),
        (["{term"], "not valid"),
        (["{term!r}"], "unknown place"),
        ([3], "not a text"),
    ],
)
def test_wrong_templates_are_refused(given, words):
    refused(
        UsageError,
        lambda: templates_of(given),
        "templates",
        words,
    )
