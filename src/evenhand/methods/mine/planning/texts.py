"""What mining of texts is going to take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.mine.planning.forecast import LEVEL, SUPPORT, TOP
from evenhand.methods.mine.texts.combinations import affordable, families, full_cost
from evenhand.methods.mine.texts.mine_text import TextScoring
from evenhand.scores.planning.forecast import Forecast, Ground, Way
from evenhand.texts.matching import find

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
    **_others: Any,
) -> list[Forecast]:
    """Return how many texts are asked about: those that name a category, with each of its terms."""
    assert ground.source is not None
    declared = ground.source.texts
    terms = declared.lexicon.without(*declared.without, *without)
    matches = find(declared.read(), terms)
    found = families(matches, support, depth, ground.seed)
    scoring = TextScoring(ground.subject, matches, kind, against, limit, LEVEL, TOP)
    first = scoring.first_texts(found)
    left = scoring.queries_left(ground.budget, first)
    kept, _ = affordable(found, left, standing=scoring.causal)
    inputs = 2 * len(first) + full_cost(kept, standing=scoring.causal)
    if scoring.needs_rest:
        inputs += len(matches.texts)
    return [Forecast(", ".join(terms.categories), Way.TEXTS, inputs, inputs)]
