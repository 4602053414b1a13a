"""Topics: what a page tells, by protected feature, and within one by question.

Each verb yields parts that answer a question about some features. A topic is one feature, all
combinations of several, or what is about no feature in particular.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenhand.methods.audit.page import messages
from evenhand.report.page.cases import case_grid
from evenhand.report.page.parts import PagePart, ReaderQuestion, parts_of
from evenhand.report.page.plain import say_list
from evenhand.results.document import worst_of
from evenhand.runtime.errors import clip, printable
from evenhand.runtime.language import say
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenhand.results.evidence import Case

SEVERITY = {Verdict.FAIL: 0, Verdict.UNDECIDED: 1, None: 2, Verdict.PASS: 3}
"""In which order topics stand: what fails comes first."""
Key = tuple[str, ...]
"""What distinguishes a topic: the name of its feature."""
COMBINATIONS: Key = ("", "")
"""The key of all combinations; no two features have these names."""
GENERAL: Key = ()
"""The key of what is about no feature in particular."""
_LETTERS = 80


@dataclass(frozen=True)
class AnsweredQuestion:
    """What answers one question about a topic."""

    question: str
    parts: Sequence[PagePart]


@dataclass
class Topic:
    """What is told of one feature, of combinations, or of none in particular."""

    title: str
    parts: list[PagePart] = field(default_factory=list)
    verdict: Verdict | None = None
    id: str = ""

    @property
    def answers(self) -> list[AnsweredQuestion]:
        """What answers each question that has an answer, in the order of the questions."""
        found = []
        for question in ReaderQuestion:
            parts = with_one_grid(parts_of(question, self.parts))
            if parts:
                found.append(AnsweredQuestion(say(question.value), parts))
        return found


def with_one_grid(parts: Sequence[PagePart]) -> list[PagePart]:
    """Return parts of which those that hold cases are one, which shows each pair of people once."""
    cases: dict[str, Case] = {}
    others = []
    for part in parts:
        for case in part.cases:
            pair = [sorted(case.individual.items()), sorted(case.twin.items())]
            cases.setdefault(repr(pair), case)
        if not part.cases:
            others.append(part)
    if not cases:
        return others
    opened = [part for part in others if not part.folded]
    folded = [part for part in others if part.folded]
    grid = case_grid(list(cases.values()))
    return [*opened, PagePart(ReaderQuestion.PEOPLE, (), grid), *folded]


def topic_key(features: tuple[str, ...]) -> Key:
    """Return what distinguishes the topic of some features from the others.

    >>> topic_key(("sex",)), topic_key(("sex", "race")), topic_key(())
    (('sex',), ('', ''), ())
    """
    return features if len(features) < 2 else COMBINATIONS


def topics_of(
    parts: Iterable[PagePart],
    protected: Sequence[str],
    verdicts: Iterable[tuple[tuple[str, ...], Verdict | None]],
) -> list[Topic]:
    """Return the topics that have parts: protected features, others, combinations, the rest.

    `verdicts` are those on the statements about some features.
    """
    by_key: dict[Key, list[PagePart]] = {(name,): [] for name in protected}
    combined: dict[str, None] = {}
    for part in parts:
        by_key.setdefault(topic_key(part.features), []).append(part)
        if len(part.features) > 1:
            combined |= dict.fromkeys(part.features)
    of_topic: dict[Key, list[Verdict | None]] = {}
    for features, verdict in verdicts:
        of_topic.setdefault(topic_key(features), []).append(verdict)
    together = by_key.pop(COMBINATIONS, [])
    general = by_key.pop(GENERAL, [])

    def topic(key: Key, title: str, parts: list[PagePart]) -> Topic:
        return Topic(title, parts, worst_of(of_topic.get(key, ())))

    topics = []
    for key, parts_of_feature in by_key.items():
        title = clip(printable(key[0]), _LETTERS)
        topics.append(topic(key, title, parts_of_feature))
    # The sort is stable: features of the same verdict stay in their order.
    topics.sort(key=lambda topic: SEVERITY[topic.verdict])
    title = say(messages.COMBINATIONS, features=say_list(combined) if combined else "")
    topics.append(topic(COMBINATIONS, title, together))
    topics.append(topic(GENERAL, say(messages.EVERYTHING_ELSE), general))
    with_parts = [topic for topic in topics if topic.parts]
    # Names of features are no ids.
    for number, each in enumerate(with_parts, start=1):
        each.id = f"topic{number}"
    return with_parts
