"""What the details of a mining of texts hold of the lexicon, and of its terms in texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.space.feature import category
from evenhand.space.space import Space

if TYPE_CHECKING:
    from evenhand.texts.lexicon import Lexicon
    from evenhand.texts.matching import Matches


def lexicon_space(terms: Lexicon) -> Space:
    """Return the categories of a lexicon as protected features, with terms for levels."""
    names = terms.categories
    features = []
    for name in names:
        levels = [term.text for term in terms.of(name)]
        features.append(category(name, levels))
    return Space(features, names)


def candidate_count(terms: Lexicon, depth: int | None) -> int:
    """Return how many rule sets there are, whether texts name their categories or not."""
    # The coefficients of the product of (1 + terms · x) over categories, lowest power first.
    counts = [1]
    for name in terms.categories:
        size = len(terms.of(name))
        without_category = [*counts, 0]
        with_category = [0, *counts]
        pairs = zip(without_category, with_category, strict=True)
        counts = [without + size * smaller for without, smaller in pairs]
    deepest = None if depth is None else depth + 1
    return sum(counts[1:deepest])


def category_entries(matches: Matches) -> list[dict[str, Any]]:
    """Return how many texts take each category, and how often each of its terms is found."""
    counts = matches.counts()
    entries = []
    for name in matches.lexicon.categories:
        named = matches.takes(name).any(axis=1)
        terms = [term.text for term in matches.lexicon.of(name)]
        entry = {
            "name": name,
            "texts": int(named.sum()),
            "support": float(named.mean()),
            "terms": terms,
            "matches": {term: counts[term] for term in terms},
        }
        entries.append(entry)
    return entries


def polysemous_entries(matches: Matches) -> list[dict[str, Any]]:
    """Return the terms with other meanings that are found in texts."""
    counts = matches.counts()
    entries = []
    for term in matches.lexicon.terms:
        if term.other_meanings and counts[term.text]:
            entry = {
                "term": term.text,
                "category": term.category,
                "matches": counts[term.text],
            }
            entries.append(entry)
    return entries
