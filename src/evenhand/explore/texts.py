"""What the what-if page asks of text classifiers: a text, and the same text with other terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explore.browser_values import for_browser, outcome_entries, output_entries
from evenhand.explore.tabular import InvalidIndividual, Pair
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

NO_TERM = "the text names no term of {categories}"


@dataclass(frozen=True)
class TextTwins:
    """A text's terms, and its twins with what was replaced in each of them."""

    matches: Matches
    replaced: dict[str, tuple[str, Term]]
    """The category and the new term, for the text of each twin."""
    notes: list[str]


@dataclass(frozen=True, eq=False)
class TextExplorer:
    """Software that takes texts, and the questions that a person may put to it.

    >>> from evenhand.texts.lexicon import Lexicon
    >>> from evenhand.texts.text_subject import TextSubject
    >>> subject = TextSubject(lambda texts: ["gay" in text for text in texts])
    >>> explorer = TextExplorer(subject, Lexicon.from_dict({"gender": ["gay", "straight"]}))
    >>> (twin,) = explorer.decide({"text": "a gay man"})["twins"]
    >>> twin["individual"]["text"], twin["differs"]
    ('a straight man', True)
    """

    subject: TextSubject
    lexicon: Lexicon
    given: Texts | None = None

    job = "mine_text"  # by which replay knows that cases are texts

    @property
    def table(self) -> dict[str, Any]:
        """The categories of terms as a result holds them."""
        features = []
        for name, terms in self._terms_by_category.items():
            features.append(category(name, terms))
        space = Space(features, self.lexicon.categories)
        return space.to_dict()

    @cached_property
    def _terms_by_category(self) -> dict[str, list[str]]:
        """The texts of all terms of each category."""
        terms = {}
        for name in self.lexicon.categories:
            terms[name] = [term.text for term in self.lexicon.of(name)]
        return terms

    def form(self) -> dict[str, Any]:
        """Return what a page must know to draw the form."""
        return {
            "kind": "texts",
            "software": self.subject.name,
            "lexicon": self._terms_by_category,
            "outputs": output_entries((self.subject.view,)),
        }

    def start(self) -> dict[str, Any]:
        """Return the first text that names a term, of those that the configuration names."""
        texts: list[str] = []
        if self.given is not None:
            try:
                texts = self.given.read()[:LOOKED]
            except DataError:
                texts = []  # a person can write a text as well
        if texts:
            names_term = find(texts, self.lexicon).has.any(axis=1)
            if names_term.any():
                return {"text": texts[int(np.argmax(names_term))]}
        return {"text": ""}

    def case(self, case: Case) -> dict[str, Any] | None:
        """Return a case as the page takes it, None where it holds no texts."""
        text = case.individual.get("text")
        twin = case.twin.get("text")
        if not (isinstance(text, str) and isinstance(twin, str)):
            return None
        return {
            "individual": {"text": unmarked(text)},
            "twin": {"text": unmarked(twin)},
            "outcomes": [for_browser(outcome) for outcome in case.outcomes],
        }

    def decide(self, individual: Any, twin: Any = None) -> dict[str, Any]:
        """Return the outcome of a text and of its twins, all asked at once."""
        text = _text(individual)
        twins = self._twins(text)
        inputs = [text]
        if twin is not None and _text(twin) not in (text, *twins.replaced):
            inputs.append(_text(twin))
        inputs += twins.replaced
        outcomes = self.subject.decide(inputs)
        entries, differs = outcome_entries((self.subject.view,), outcomes)
        twin_entries = []
        for at in range(1, len(inputs)):
            entry = self._twin_entry(twins, inputs[at])
            entry["outcomes"] = entries[at]
            entry["differs"] = bool(differs[at])
            twin_entries.append(entry)
        twin_entries.sort(key=lambda entry: not entry["differs"])
        return {
            "individual": {"text": text},
            "outcomes": entries[0],
            "twins": twin_entries,
            "notes": twins.notes,
        }

    def _twin_entry(self, twins: TextTwins, twin: str) -> dict[str, Any]:
        """Return a twin and what was replaced in it, as the page shows them."""
        changed = "text"
        shown = ["text", "", twin]
        if twin in twins.replaced:
            changed, term = twins.replaced[twin]
            own_terms = self._own_terms(twins.matches, changed)
            marked = twins.matches.marked(0, [changed], [term])
            shown = [own_terms, term.text, marked]
        return {
            "individual": {"text": twin},
            "changed": [changed],
            "shown": shown,
        }

    def pairs(self, individual: Any, twin: Any) -> list[Pair]:
        """Ask about a text and one of its twins, each twice, and return them as a case."""
        text = _text(individual)
        other = _text(twin)
        twins = self._twins(text)
        if other not in twins.replaced:
            raise UsageError(
                f"{clip(repr(other), 100)} is not the individual with another term, so there is no"
                " pair to save"
            )
        # A pair of software that answers differently every time would be no evidence.
        self.subject.need_deterministic([text, other])
        outcomes = self.subject.decide([text, other])
        (distance,) = self.subject.view.distance(outcomes[:1], outcomes[1:])
        if not distance > 0:
            raise UsageError(
                "the outcomes of these two do not differ, so there is no pair to save"
            )
        name, term = twins.replaced[other]
        matches = twins.matches
        own_record = {
            name: self._own_terms(matches, name),
            "text": matches.marked(0, [name]),
        }
        twin_record = {
            name: term.text,
            "text": matches.marked(0, [name], [term]),
        }
        plain_outcomes = (plain(outcomes[0]), plain(outcomes[1]))
        case = Case(own_record, twin_record, plain_outcomes)
        return [Pair((name,), "", case)]

    def _twins(self, text: str) -> TextTwins:
        """Return the texts with another term in place of those that a text names."""
        matches = find([text], self.lexicon)
        row = np.array([0], dtype=np.intp)
        replaced = {}
        for name, is_named in zip(self.lexicon.categories, matches.has[0], strict=True):
            if not is_named:
                continue
            for term in self.lexicon.of(name):
                twin = matches.write(row, [name], [term])[0]
                replaced[twin] = (name, term)
        # A term replaced by itself gives the text again.
        replaced.pop(text, None)
        notes = []
        if not matches.has[0].any():
            categories = clip(", ".join(self.lexicon.categories), 200)
            notes.append(NO_TERM.format(categories=categories))
        return TextTwins(matches, replaced, notes)

    def _own_terms(self, matches: Matches, name: str) -> str:
        """Return the terms of a category that a text names, as its lexicon writes them."""
        texts = []
        for at in dict.fromkeys(matches.term.tolist()):
            if at < 0:
                continue
            term = self.lexicon.terms[at]
            if term.category == name:
                texts.append(term.text)
        return ", ".join(texts)


def _text(individual: Any) -> str:
    text = individual.get("text") if isinstance(individual, Mapping) else None
    if not isinstance(text, str):
        raise InvalidIndividual(
            f"the individual is {clip(repr(individual))}, which has no text; send {{'text': …}}",
            "text",
        )
    return text
