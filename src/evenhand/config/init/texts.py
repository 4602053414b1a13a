"""Software that takes texts: what it answers to them, and how often they name anybody."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from evenhand.config.file import Config
from evenhand.config.init.model import MOST_ROWS, TryOut, truths_of
from evenhand.config.init.outcomes import SeenAnswers
from evenhand.config.init.sampling import sample
from evenhand.methods.audit.checks import usual
from evenhand.runtime.errors import clip
from evenhand.space.feature import plain
from evenhand.texts.matching import find

if TYPE_CHECKING:
    from evenhand.config.init.draft import Draft
    from evenhand.config.init.questions import Dialogue

SUPPORT = 0.05
"""The share of texts that must name a category, where nothing else is said."""


def tried_texts(draft: Draft, classes: tuple[Any, ...] | None) -> TryOut:
    """Ask software that takes texts about some of them."""
    config = Config(draft.file, draft.table)
    config.texts.read()  # refuses what are no texts
    asked = sample(draft.data.frame, draft.data.target, MOST_ROWS)
    with config.text_subject() as subject:
        start = time.perf_counter()
        given = subject.decide(asked[draft.data.text].tolist())
        seconds = (time.perf_counter() - start) / max(len(asked), 1)
    answers = SeenAnswers(given, truths_of(asked, draft), classes)
    return TryOut(answers, seconds, expensive=False)


def usual_of_texts(draft: Draft) -> list[dict[str, Any]]:
    """Return the checks of texts, with a support that some category of terms has."""
    texts = Config(draft.file, draft.table).texts
    matches = find(texts.read(), texts.lexicon)
    most_named = float(matches.has.mean(axis=0).max(initial=0.0))
    checks = usual(None, real=True)
    if 0 < most_named < SUPPORT:
        # Rounded down to one figure.
        step = 10.0 ** math.floor(math.log10(most_named))
        support = round(math.floor(most_named / step) * step, 6)
        checks = [{**check, "support": support} for check in checks]
    return checks


def run_text(config: Config, talk: Dialogue) -> None:
    """Run one text through."""
    text = config.texts.read()[0]
    with config.text_subject() as subject:
        outcome = subject.decide([text])[0]
    talk.say(f"one text: {clip(text, 100)!r} gets {clip(repr(plain(outcome)), 40)}")
