"""What mining of texts is going to take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.mine.planning.forecast import LEVEL, SUPPORT, TOP
from evenhand.methods.mine.texts.combinations import affordable, full_cost
from evenhand.methods.mine.texts.mine_text import TextScoring
from evenhand.methods.mine.texts.places import PlacesWanted, places_of
from evenhand.scores.planning.forecast import Forecast, Ground, Way

if TYPE_CHECKING:
    from collections.abc import Sequence


def forecast(
    ground: Ground,
    *,
    without: Sequence[str] = (),
    support: float = SUPPORT,
    depth: int | None = None,
    kind: str = "group",
    against: str = "terms",
    limit: float | None = None,
    places: str = "auto",
    **_others: Any,
) -> list[Forecast]:
    """Return how many texts are asked about: those with a place for terms, with each of these."""
    assert ground.source is not None
    declared = ground.source.texts
    terms = declared.lexicon.without(*declared.without, *without)
    wanted = PlacesWanted(places, declared.templates, declared.persons, against)
    written_in = places_of(declared.given(), terms, wanted, support, depth, ground.seed)
    scoring = TextScoring(ground.subject, written_in, kind, against, limit, LEVEL, TOP)
    first = scoring.first_texts()
    left = scoring.queries_left(ground.budget, first)
    kept, _ = affordable(written_in.found, left, standing=scoring.standing)
    inputs = 2 * len(first) + full_cost(kept, standing=scoring.standing)
    if scoring.needs_rest:
        inputs += len(written_in.matches.texts)
    return [Forecast(", ".join(terms.categories), Way.TEXTS, inputs, inputs)]
