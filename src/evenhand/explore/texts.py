"""What the what-if page asks of software that takes texts: a text, and the same text with other
sensitive terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explore.tabular import Misfit, Pair, answers, favoured, wired
from evenhand.results.evidence import Case
from evenhand.runtime.errors import DataError, UsageError, clip
from evenhand.space.feature import category, plain
from evenhand.space.space import Space
from evenhand.texts.matching import find, unmarked

if TYPE_CHECKING:
    from evenhand.texts.lexicon import Lexicon, Term
    from evenhand.texts.matching import Matches
    from evenhand.texts.real_texts import Texts
    from evenhand.texts.text_subject import TextSubject

LOOKED = 1_000
"""In how many of the given texts one that names a term is looked for, to begin with."""


@dataclass(frozen=True, eq=False)
class TextDesk:
    """Software that takes texts, and the questions that a person may put to it.

    >>> from evenhand.texts.lexicon import Lexicon
    >>> from evenhand.texts.text_subject import TextSubject
    >>> subject = TextSubject(lambda texts: ["gay" in text for text in texts])
    >>> desk = TextDesk(subject, Lexicon.from_dict({"gender": ["gay", "straight"]}))
    >>> [(twin["individual"]["text"], twin["differs"]) for twin in desk.decide({"text": "a gay man"})["twins"]]
    [('a straight man', True)]
    """

    subject: TextSubject
    lexicon: Lexicon
    given: Texts | None = None

    job = "mine_text"  # by which replay knows that cases are texts

    @property
    def table(self) -> dict[str, Any]:
        """The categories of terms as a result holds them."""
        names = self.lexicon.categories
        terms = [category(name, [term.text for term in self.lexicon.of(name)]) for name in names]
        return Space(terms, names).to_dict()

    def told(self) -> dict[str, Any]:
        """Return what a page must know to draw the form."""
        lexicon = {
            name: [term.text for term in self.lexicon.of(name)] for name in self.lexicon.categories
        }
        views = (self.subject.view,)
        return {
            "kind": "texts",
            "software": self.subject.name,
            "lexicon": lexicon,
            "outputs": favoured(views),
        }

    def start(self) -> dict[str, Any]:
        """Return the first text that names a term, of those that the configuration names."""
        try:
            texts = [] if self.given is None else self.given.read()[:LOOKED]
        except DataError:
            texts = []
        named = find(texts, self.lexicon).has.any(axis=1) if texts else np.zeros(0, dtype=np.bool_)
        return {"text": texts[int(np.argmax(named))] if named.any() else ""}

    def case(self, case: Case) -> dict[str, Any] | None:
        """Return a case as the page takes it, None where it holds no texts."""
        both = [case.individual.get("text"), case.twin.get("text")]
        if not all(isinstance(text, str) for text in both):
            return None
        one, other = ({"text": unmarked(str(text))} for text in both)
        return {
            "individual": one,
            "twin": other,
            "outcomes": [wired(outcome) for outcome in case.outcomes],
        }

    @cached_property
    def _terms(self) -> list[tuple[str, Term]]:
        return [(name, term) for name in self.lexicon.categories for term in self.lexicon.of(name)]

    def decide(self, individual: Any, twin: Any = None) -> dict[str, Any]:
        """Return the outcome of a text and of its twins, all asked at once."""
        text = _text(individual)
        matches, twins, notes = self._twins(text)
        extra = [] if twin is None or _text(twin) in (text, *twins) else [_text(twin)]
        asked = [text, *extra, *twins]
        told, different = answers((self.subject.view,), self.subject.decide(asked))
        people: list[dict[str, Any]] = [
            {
                "individual": {"text": asked[at]},
                "changed": [twins[asked[at]][0]] if asked[at] in twins else ["text"],
                "shown": (
                    self._shown(matches, *twins[asked[at]])
                    if asked[at] in twins
                    else ["text", "", asked[at]]
                ),
                "outcomes": told[at],
                "differs": bool(different[at]),
            }
            for at in range(1, len(asked))
        ]
        people.sort(key=lambda one: not one["differs"])
        return {"individual": {"text": text}, "outcomes": told[0], "twins": people, "notes": notes}

    def pairs(self, individual: Any, twin: Any) -> list[Pair]:
        """Ask about a text and one of its twins, each twice, and return them as a case."""
        text, other = _text(individual), _text(twin)
        matches, twins, _ = self._twins(text)
        if other not in twins:
            raise UsageError(
                f"{clip(repr(other), 100)} is not the individual with another term, so there is no"
                " pair to save"
            )
        self.subject.need_deterministic([text, other])
        outcomes = self.subject.decide([text, other])
        if not self.subject.view.distance(outcomes[:1], outcomes[1:])[0] > 0:
            raise UsageError("the outcomes of these two do not differ, so there is no pair to save")
        name, term = twins[other]
        one = {name: self._own(matches, name), "text": matches.marked(0, [name])}
        two = {name: term.text, "text": matches.marked(0, [name], [term])}
        return [Pair((name,), "", Case(one, two, (plain(outcomes[0]), plain(outcomes[1]))))]

    def _twins(self, text: str) -> tuple[Matches, dict[str, tuple[str, Term]], list[str]]:
        """Return what is found in a text, the other texts with what was replaced in them, and what
        to say.
        """
        matches, row = find([text], self.lexicon), np.array([0], dtype=np.intp)
        named = dict(zip(self.lexicon.categories, matches.has[0].tolist(), strict=True))
        made = {
            matches.write(row, [name], [term])[0]: (name, term)
            for name, term in self._terms
            if named[name]
        }
        made.pop(text, None)
        names = ", ".join(self.lexicon.categories)
        return (
            matches,
            made,
            [] if any(named.values()) else [f"the text names no term of {clip(names, 200)}"],
        )

    def _own(self, matches: Matches, name: str) -> str:
        """Return the terms of a category that a text names, as its lexicon writes them."""
        known = [self.lexicon.terms[at] for at in dict.fromkeys(matches.term.tolist()) if at >= 0]
        return ", ".join(term.text for term in known if term.category == name)

    def _shown(self, matches: Matches, name: str, term: Term) -> list[str]:
        """Return the terms of a text, that of its twin, and the twin with its terms marked."""
        return [self._own(matches, name), term.text, matches.marked(0, [name], [term])]


def _text(individual: Any) -> str:
    text = individual.get("text") if isinstance(individual, Mapping) else None
    if not isinstance(text, str):
        raise Misfit(
            f"the individual is {clip(repr(individual))}, which has no text; send {{'text': …}}",
            "text",
        )
    return text
