"""The language of pages: English sentences are looked up in a catalogue, and filled.

A sentence is known by its English text, which stands where it is used, or in a `messages.py`. The
catalogue of another language is a file beside this one, such as `de.toml`; a sentence that it does
not have stays English. What is spoken is a matter of the context, so that a thread, or a page
within a page, has its own language.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.language.catalogue import ENGLISH as ENGLISH
from evenhand.runtime.language.catalogue import catalogue, codes

if TYPE_CHECKING:
    from collections.abc import Iterator

LANGUAGES = codes()
"""The languages that there are, English first."""

_SPOKEN: ContextVar[str] = ContextVar("evenhand_language", default=ENGLISH)


def spoken() -> str:
    """Return the code of the language that is spoken here.

    >>> spoken()
    'en'
    """
    return _SPOKEN.get()


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Speak a language until the end of a block.

    Parameters
    ----------
    language
        Its code: "en", "de", "fr", or that of another catalogue.

    >>> with speaking("de"):
    ...     say("{low} to {high}", low=1, high=2)
    '1 bis 2'
    """
    before = _SPOKEN.set(known(language))
    try:
        yield
    finally:
        _SPOKEN.reset(before)


def known(language: str) -> str:
    """Return a code if there is a catalogue of that language.

    >>> known("fr")
    'fr'
    """
    if language not in LANGUAGES:
        raise UsageError(
            f"unknown language {clip(repr(language))}; {nearest(language, LANGUAGES)}"
        )
    return language


def say(template: str, /, **fields: object) -> str:
    """Return a sentence in the language that is spoken, its fields filled.

    Parameters
    ----------
    template
        The English sentence, with a name in braces for each field.
    fields
        What is filled in: numbers as texts of `number_text`, names and values as they are.

    >>> say("{part} of {whole}", part="3", whole="1,024")
    '3 of 1,024'
    """
    language = _SPOKEN.get()
    if language == ENGLISH:
        return template.format(**fields)
    return catalogue(language).sentence(template).format(**fields)


def say_many(number: int, one: str, many: str, /, **fields: object) -> str:
    """Return the sentence that fits a number, in the language that is spoken.

    Parameters
    ----------
    number
        What decides; it fills the field `number` of both sentences.
    one, many
        The English sentence for one thing, and that for any other number of things.

    >>> say_many(1, "{number} row", "{number} rows"), say_many(0, "{number} row", "{number} rows")
    ('1 row', '0 rows')
    """
    found = catalogue(_SPOKEN.get())
    single, several = found.sentence(one), found.sentence(many)
    # French takes the singular for none as well, but only of a sentence that says the number.
    says_number = "{number}" in single
    is_single = number == 1 or (number in found.singular and says_number)
    template = single if is_single else several
    return template.format(number=figures_as_written(f"{number:,}"), **fields)


def term(word: str) -> str:
    """Return a word that is also data, such as a verdict, as it is read; others stay as they are.

    Nothing is filled in: the word may be of a user, and have braces.

    >>> term("fail"), term("{anything}")
    ('fail', '{anything}')
    """
    return catalogue(_SPOKEN.get()).sentence(word)


def figures_as_written(number: str) -> str:
    """Return a number that Python has written with the marks of the language that is spoken.

    >>> with speaking("de"):
    ...     figures_as_written("1,234.5")
    '1.234,5'
    """
    language = _SPOKEN.get()
    if language == ENGLISH:
        return number
    return number.translate(catalogue(language).marks)


def own_spaces(text: str) -> frozenset[int]:
    """Return the places of spaces that belong to how the language is written, none in English."""
    return catalogue(_SPOKEN.get()).own_spaces(text)
