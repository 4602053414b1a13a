"""Software that takes texts: what it answers to them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from evenhand.config.file import Config
from evenhand.config.init.model import MOST_ROWS, TryOut, truths_of
from evenhand.config.init.outcomes import SeenAnswers
from evenhand.config.init.sampling import sample
from evenhand.runtime.errors import clip
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from evenhand.config.init.draft import Draft
    from evenhand.config.init.questions import Dialogue


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


def run_text(config: Config, talk: Dialogue) -> None:
    """Run one text through."""
    text = config.texts.read()[0]
    with config.text_subject() as subject:
        outcome = subject.decide([text])[0]
    talk.say(f"one text: {clip(text, 100)!r} gets {clip(repr(plain(outcome)), 40)}")
