"""The forms of a term: number, letter case and the article before it (TestSGD, section 4.2)."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from evenhand.texts.lexicon import WORD, fold, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.texts.lexicon import Term

    Objects = NDArray[np.object_]

# Which letters of a piece are capital.
AS_LISTED = 0
FIRST = 1
EACH = 2
"""The first letter of each word."""
ALL = 3
CASES = 4

# Added to the case of a piece.
PLURAL = 4
"""It stands in the place of a plural."""
ARTICLE = 8
"""It is the article before the term."""
ADJECTIVE = 16
"""It is vacant, and takes the term as an adjective."""
BEFORE_ADJECTIVE = 20
"""It is the article before such a place."""
SPACE = 24
"""It is the space after such a place, which there is only once a term stands there."""

_SOUNDS_OTHERWISE = re.compile("eu|ewe|uni(?!n|m|dent)|us[eu]|uga|uk|uru|uig|uyg|one|once")
"""Words that begin with the letter of a vowel and the sound of a consonant."""
_SILENT = ("hour", "honest", "heir", "honour", "honor")


@lru_cache(1024)
def written(term: Term) -> Objects:
    """Return the term in each of its forms, and the articles before them, by kind."""
    forms = np.empty(SPACE + 1, dtype=object)
    for number, text in ((0, term.text), (PLURAL, term.many)):
        forms[number : number + CASES] = cases(text)
        start = ARTICLE + number
        forms[start : start + CASES] = cases(article(text))
    # A term that is no adjective is written in no such place.
    adjective = term.described or term.text
    forms[ADJECTIVE : ADJECTIVE + CASES] = cases(adjective)
    forms[BEFORE_ADJECTIVE : BEFORE_ADJECTIVE + CASES] = cases(article(adjective))
    forms[SPACE] = " "
    return forms


def article(text: str) -> str:
    """Return the article that a word or a term takes.

    >>> article("atheist"), article("gay")
    ('an', 'a')
    """
    return "an" if vowel_sound(text) else "a"


def cases(text: str) -> tuple[str, str, str, str]:
    """Return a text in the four cases, in their order."""

    def capital(match: re.Match[str]) -> str:
        word = match[0]
        if acronym(word):
            return word.upper()
        return word[:1].upper() + word[1:]

    first = WORD.sub(capital, text, count=1)
    each = WORD.sub(capital, text)
    return text, first, each, text.upper()


def case_of(found: str, *, spelt: bool = False) -> int:
    """Return which letters of a match are capital; an acronym in capitals is not shouted."""
    letters = sum(map(str.isalpha, found))
    if found.isupper() and letters > 1:
        return AS_LISTED if spelt else ALL
    if not found[:1].isupper():
        return AS_LISTED
    parts = WORD.findall(found)
    if len(parts) > 1 and all(part[0].isupper() for part in parts):
        return EACH
    return FIRST


def article_case(found: str, kind: int) -> int:
    """Return which letters of an article are capital, given the kind of its term."""
    if not found[0].isupper():
        return AS_LISTED
    # Whether a single A is shouted shows in the term that follows.
    is_shouted = found == "AN" or (found == "A" and kind % CASES == ALL)
    return ALL if is_shouted else FIRST


def acronym(word: str) -> bool:
    """Return whether a word can only be spelt out, such as lgbt."""
    if not word.isascii() or not word.isalpha():
        return False
    return set("aeiouy").isdisjoint(fold(word))


def vowel_sound(text: str) -> bool:
    """Return whether a term takes "an": by its sound, as far as its letters tell it.

    >>> [vowel_sound(term) for term in ("atheist", "european", "lgbt", "hispanic", "heir")]
    [True, False, True, False, True]
    >>> [vowel_sound(term) for term in ("uninsured", "18 year old")]
    [True, True]
    """
    word = words(text)[0]
    if acronym(word):
        return word[0] in "fhlmnrsx"  # the names of these letters begin with a vowel
    if word[0] in "18":
        return re.match(r"8|1[18](?!\d)", word) is not None  # eight, eleven, eighteen
    if word.startswith(_SILENT):
        return True
    # Without its accent: é is a vowel too.
    first_letter = unicodedata.normalize("NFD", word)[0]
    return first_letter in "aeiou" and _SOUNDS_OTHERWISE.match(word) is None
