"""Where terms are written: in the place of terms, before person nouns, or in templates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.rule_sets import unknown_option
from evenhand.methods.mine.texts.combinations import (
    Family,
    families,
    frequent_families,
    least_texts,
    named_shares,
    order_of,
)
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError, clip
from evenhand.texts.matching import find, texts_of
from evenhand.texts.persons import find_hosts, persons_of, persons_of_templates
from evenhand.texts.templates import find_templates, templates_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.texts.lexicon import Lexicon
    from evenhand.texts.matching import Matches

PLACES = ("auto", "named", "persons", "templates")
_ONE_TEXT = 1


@dataclass(frozen=True, eq=False)
class TextPlaces:
    """Texts with places for terms, the families that enough of them take, and what they are."""

    kind: str
    matches: Matches
    found: list[Family]
    templates: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def vacant(self) -> bool:
        """Whether places are vacant, so that texts as they stand have no term to compare with."""
        return self.kind != "named"

    def complete(self, asked: Sequence[Family]) -> bool:
        """Return whether every text of the population was asked about, so that rates are exact."""
        if self.kind != "templates":
            return False
        return all(len(family.rows) == family.texts for family in asked)

    def population(self, categories: Sequence[str] = ()) -> str:
        """Return which texts scores are about."""
        count = number_text.count(len(self.matches.texts))
        names = " and ".join(categories)
        if self.kind == "templates":
            return self._sentences(count)
        if self.kind == "persons":
            if not categories:
                return messages.TEXTS_WITH_PERSONS.format(count=count)
            return messages.TEXTS_THAT_NAME_OR_PERSONS.format(count=count, categories=names)
        if not categories:
            return messages.TEXTS_LIKE_GIVEN.format(count=count)
        return messages.TEXTS_THAT_NAME.format(count=count, categories=names)

    def _sentences(self, count: str) -> str:
        """Return how many sentences there are, and of how many templates."""
        if len(self.matches.texts) == 1:
            return messages.SENTENCE_OF_TEMPLATE
        if len(self.templates) == 1:
            return messages.SENTENCES_OF_TEMPLATE.format(count=count)
        templates = number_text.count(len(self.templates))
        return messages.SENTENCES_OF_TEMPLATES.format(count=count, templates=templates)

    def entry(self) -> dict[str, Any]:
        """Return what the details hold of places, where they are not those of terms."""
        if not self.vacant:
            return {}
        if self.kind == "persons":
            return {"places": self.kind}
        return {"places": self.kind, "templates": list(self.templates)}


@dataclass(frozen=True)
class PlacesWanted:
    """What a user said about the places of terms."""

    kind: str = "auto"
    templates: Sequence[str] | None = None
    persons: Sequence[str | Mapping[str, Any]] | None = None
    against: str = "terms"

    def check(self, *, given: bool) -> None:
        """Refuse places that there are not, and what cannot be compared in them."""
        if self.kind not in PLACES:
            raise unknown_option("places", self.kind, PLACES)
        shown = repr(self.kind)
        if not given and self.kind in ("named", "persons"):
            raise UsageError(messages.PLACES_NEED_TEXTS.format(places=shown))
        if self.templates is not None and self.kind in ("named", "persons"):
            templates = clip(repr(self.templates))
            raise UsageError(
                messages.TEMPLATES_OF_OTHER_PLACES.format(templates=templates, places=shown)
            )
        if self.against == "rest" and not given:
            raise UsageError(messages.REST_NEEDS_TEXTS)
        if self.against == "rest" and self.kind in ("persons", "templates"):
            raise UsageError(messages.REST_OF_VACANT_PLACES.format(places=shown))


def places_of(
    texts: Any,
    lexicon: Lexicon,
    wanted: PlacesWanted,
    support: float,
    depth: int | None,
    seed: int,
) -> TextPlaces:
    """Return the texts that are written with terms.

    By default these are the given ones that name a category, as in the paper, where there are
    enough of them; otherwise also those with a person noun; otherwise sentences of templates.
    """
    wanted.check(given=texts is not None)
    if texts is None or wanted.kind == "templates":
        return _of_templates(lexicon, wanted, seed)
    given = texts_of(texts)
    if wanted.kind == "persons":
        places = _of_persons(given, lexicon, wanted, support, seed)
        if not places.found:
            raise _too_few_persons(given, support)
        return places
    matches = find(given, lexicon)
    if wanted.kind == "named" or wanted.against == "rest":
        return TextPlaces("named", matches, families(matches, support, depth, seed))
    found = frequent_families(matches, support, depth, seed)
    if found:
        return TextPlaces("named", matches, found)
    share = number_text.percent_plain(support)
    count = number_text.count(len(given))
    shares = named_shares(matches)
    note = messages.PERSONS_SINCE_NOT_NAMED.format(
        support=share, texts=count, shares=shares
    )
    places = _of_persons(given, lexicon, wanted, support, seed, note)
    if places.found:
        return places
    note = messages.TEMPLATES_SINCE_NOT_NAMED.format(
        support=share, texts=count, shares=shares
    )
    return _of_templates(lexicon, wanted, seed, note)


def _of_persons(
    texts: Sequence[str],
    lexicon: Lexicon,
    wanted: PlacesWanted,
    support: float,
    seed: int,
    *notes: str,
) -> TextPlaces:
    """Return the texts that name a category or have a person noun."""
    matches = find_hosts(texts, lexicon, persons_of(wanted.persons))
    found = _vacant_families(matches, least_texts(support, texts), seed)
    return TextPlaces("persons", matches, found, notes=notes)


def _of_templates(
    lexicon: Lexicon, wanted: PlacesWanted, seed: int, *notes: str
) -> TextPlaces:
    """Return all sentences of templates."""
    templates = templates_of(wanted.templates)
    persons = persons_of_templates(wanted.persons)
    matches = find_templates(templates, lexicon, persons)
    if not matches.texts:
        raise UsageError(messages.NO_SENTENCES)
    found = _vacant_families(matches, _ONE_TEXT, seed)
    if not found:
        raise UsageError(messages.NO_ADJECTIVES)
    texts = tuple(template.text for template in templates)
    return TextPlaces("templates", matches, found, texts, notes)


def _vacant_families(matches: Matches, least: float, seed: int) -> list[Family]:
    """Return a family for each category that enough texts take, with the terms that they take."""
    order = order_of(matches, seed)
    found = []
    for name in matches.lexicon.categories:
        fits = matches.takes(name)[order]
        is_taken = fits.sum(axis=0) >= max(least, _ONE_TEXT)
        fits = fits[:, is_taken]
        # A text that takes one term alone has nothing to compare it with.
        is_compared = fits.sum(axis=1) > 1
        rows = order[is_compared]
        if len(rows) < max(least, _ONE_TEXT):
            continue
        terms = matches.lexicon.of(name)
        choice = tuple(terms[place] for place in np.flatnonzero(is_taken).tolist())
        found.append(Family((name,), rows, (choice,), len(rows), fits[is_compared]))
    return found


def _too_few_persons(texts: Sequence[str], support: float) -> DataError:
    """Return the error where too few texts name a category or have a person noun."""
    share = number_text.percent_plain(support)
    count = number_text.count(len(texts))
    return DataError(messages.TOO_FEW_PERSONS.format(support=share, texts=count))
