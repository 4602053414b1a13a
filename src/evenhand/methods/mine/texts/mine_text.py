"""mine_text: which sensitive terms change how a text is treated? (TestSGD, Zhang et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import MINE_TEXT, messages
from evenhand.methods.mine.rule_sets import (
    check_depth,
    check_support,
    check_terms,
    unknown_option,
)
from evenhand.methods.mine.texts.asking import TextAnswers, ask
from evenhand.methods.mine.texts.changes import TextCausal
from evenhand.methods.mine.texts.combinations import (
    MOST,
    MOST_EXPENSIVE,
    MOST_LINEAR,
    MOST_NOTES,
    affordable,
)
from evenhand.methods.mine.texts.details import (
    candidate_count,
    category_entries,
    lexicon_space,
    polysemous_entries,
)
from evenhand.methods.mine.texts.findings import (
    AGAINST,
    TextFindingWriter,
    score_rest,
    score_terms,
)
from evenhand.methods.mine.texts.places import PlacesWanted, TextPlaces, places_of
from evenhand.results.result import Result
from evenhand.runtime import number_text
from evenhand.runtime.budget import Meter, Spent, checked_budget
from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.progress import progress_bar
from evenhand.scores.kinds import KINDS
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.simultaneous import SimultaneousIntervals
from evenhand.texts.lexicon import lexicon_of
from evenhand.texts.linear import linear_path
from evenhand.texts.text_subject import text_subject_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from evenhand.methods.mine.texts.combinations import Decided, Family
    from evenhand.methods.mine.texts.ranking import ScoredFamily
    from evenhand.results.evidence import Finding
    from evenhand.runtime.budget import Budget
    from evenhand.statistics.intervals import Floats
    from evenhand.subject.adapters.base import Output
    from evenhand.subject.outcome_meaning import Differs
    from evenhand.texts.lexicon import Lexicon
    from evenhand.texts.matching import Matches
    from evenhand.texts.text_subject import TextSubject

CHECKED = 16
"""Texts that are asked twice to see whether the software is deterministic."""


@MINE_TEXT.options.checked
def mine_text(
    function: Any,
    texts: Any = None,
    *,
    places: str = "auto",
    templates: Sequence[str] | None = None,
    persons: Sequence[str | Mapping[str, Any]] | None = None,
    lexicon: Lexicon | Mapping[str, Any] | str | PathLike[str] | None = None,
    without: Sequence[str] | str = (),
    support: float = 0.05,
    depth: int | None = None,
    kind: str = "group",
    against: str = "terms",
    limit: float | None = None,
    level: float = 0.95,
    positive: Any = None,
    output: Output | None = None,
    threshold: float | None = None,
    differs: Differs = None,
    ledger: str | PathLike[str] | None = None,
    top: int = 10,
    budget: Budget | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Result:
    """Find sensitive terms with which texts are treated differently.

    Implements sections 4.1 and 4.3 of TestSGD (Zhang et al. 2022) for texts.

    Texts that name a category, such as a religion, are written with each of its terms, and those
    that name several with each combination. A rule set of terms is scored by how much more, or
    less, often texts get the favourable outcome with it than with others (Definition 4.1).

    Parameters
    ----------
    function
        A function that takes a list of texts and returns one outcome each, a fitted scikit-learn
        text pipeline, or a TextSubject.
    texts
        A list, array or column of texts: a sample of those that the software decides about.
        Without any, sentences are made of templates.
    places
        Where terms are written: in the place of those that texts name (``"named"``), also before
        person nouns (``"persons"``), or in ``"templates"``. By default ``"auto"``: the first of
        these that enough texts have a place for.
    templates, persons
        Sentences such as ``"I am a {term} {person}"``, and nouns for people; by default those that
        are shipped.
    lexicon, without
        Sensitive terms by category: a Lexicon, a dictionary, or a TOML file; by default the 48 of
        the paper. Terms to leave out, such as those that mean something else in these texts.
    support, depth
        The least share of texts that must name all categories of a rule set (Equation 3), and the
        most categories.
    kind
        ``"group"`` as above, or ``"causal"``: how many texts change outcome when nothing but the
        term changes.
    against
        What a rule set is compared with: the same texts with other ``"terms"``, or, as in the
        paper, the ``"rest"``: all texts that do not have its terms, as they stand.
    positive, output, threshold, differs, ledger
        As for `Subject`.
    limit, level
        The engineering threshold for the difference of rates, which gives each finding a verdict,
        and the confidence level of all intervals together.
    top
        The most rule sets to report.
    budget, seed, progress
        How much may be asked, the seed of all draws, and whether a progress bar is shown.

    Returns
    -------
    Result
        A finding for each reported rule set of terms, worst first; of the kind ``"causal"``, one
        for each set of categories.

    Raises
    ------
    UsageError
        If an option is not valid, or if the budget is too small for one text of each category.
    DataError
        If too few texts name a category of the lexicon, or if there is no rest to compare with.

    See Also
    --------
    mine : The same for people and their sensitive features.

    Notes
    -----
    See docs/how-to/mine.md.

    Examples
    --------
    >>> texts = ["I am a gay man", "a straight answer", "she is a lesbian", "nothing"] * 20
    >>> found = mine_text(lambda texts: ["gay" in text for text in texts], texts, positive=False)
    >>> print(found.worst.about)
    gender gay
    """
    how_asked = {"positive": positive, "output": output, "threshold": threshold}
    how_asked |= {"differs": differs, "ledger": ledger}
    subject = text_subject_of(function, **_without_none(how_asked))
    check_support(support)
    check_terms(level, limit, top)
    _check_comparison(kind, against)
    check_depth(depth)
    terms = lexicon_of(lexicon).without(*_listed(without))
    wanted = PlacesWanted(places, templates, persons, against)
    written_in = places_of(texts, terms, wanted, support, depth, seed)
    scoring = TextScoring(subject, written_in, kind, against, limit, level, top)
    before = subject.executed
    subject.begin()
    with progress_bar(show=progress) as hook:
        meter = Meter(checked_budget(budget), hook)
        first = scoring.first_texts()
        left = scoring.queries_left(meter.budget, first)
        kept, notes = affordable(written_in.found, left, standing=scoring.standing)
        scored = scoring.run(kept, first, meter)
    answers = scored.answers
    stop = answers.stop or (StopReason.QUERIES if notes else StopReason.ENUMERATED)
    notes += [*scored.notes, *_other_meanings_note(written_in.matches)]
    notes += [*_missed_note(kept, answers), *written_in.notes]
    deepest = 1 if written_in.vacant else depth
    candidates = candidate_count(terms, deepest)
    entry = scoring.entry(answers.decided, meter.queries, support, candidates)
    entry |= scored.details
    spent = Spent(meter.queries, subject.executed - before, meter.seconds)
    space = lexicon_space(terms).to_dict()
    details = {"mine_text": [entry]}
    findings = scoring.with_only_answer(scored.findings)
    return Result("mine_text", findings, seed, spent, stop, space, notes, details=details)


def _check_comparison(kind: str, against: str) -> None:
    """Refuse kinds of scores, and things to compare with, that there are not."""
    if kind not in KINDS:
        raise unknown_option("kind", kind, KINDS)
    if against not in AGAINST:
        raise unknown_option("against", against, AGAINST)


def _without_none(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are given."""
    return {name: value for name, value in options.items() if value is not None}


def _listed(without: Any) -> list[str]:
    """Return the terms to leave out as a list; one may be given by itself."""
    if isinstance(without, str):
        return [without]
    try:
        return list(without)
    except TypeError:
        shown = clip(repr(without))
        raise UsageError(messages.WITHOUT_NOT_A_LIST.format(without=shown)) from None


@dataclass(frozen=True, eq=False)
class _TextScores:
    """What was found in texts, and what the software decided about them."""

    answers: TextAnswers
    findings: list[Finding]
    details: dict[str, Any]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class TextScoring:
    """How rule sets of terms are scored: which kind of score, against what, and how clearly."""

    subject: TextSubject
    places: TextPlaces
    kind: str
    against: str
    limit: float | None
    level: float
    top: int

    @property
    def matches(self) -> Matches:
        """The texts, and the places of terms in them."""
        return self.places.matches

    @property
    def standing(self) -> bool:
        """Whether texts are asked about as they stand, to see whether a term changes that."""
        return self.causal and not self.places.vacant

    @property
    def causal(self) -> bool:
        """Whether changes of outcomes are counted, rather than rates compared."""
        return self.kind == "causal"

    @property
    def needs_rest(self) -> bool:
        """Whether all texts are asked about as they stand, to compare with."""
        return self.kind == "group" and self.against == "rest"

    def first_texts(self) -> list[str]:
        """Return the texts that are asked twice, where changes of outcomes are counted."""
        if not self.causal:
            return []
        family = self.places.found[0].only(CHECKED)
        if family.fits is None:
            return [self.matches.texts[row] for row in family.rows.tolist()]
        texts = []
        for row, at in zip(family.rows, np.argmax(family.fits, axis=1), strict=True):
            terms = family.terms[at]
            texts += self.matches.write(np.array([row]), family.categories, terms)
        return texts

    def queries_left(self, budget: Budget, first: Sequence[str]) -> int:
        """Return how many texts with other terms may be asked about, beside what is in any case."""
        queries = budget.queries
        if queries is not None:
            left = queries - 2 * len(first)
            if self.needs_rest:
                left -= len(self.matches.texts)
            return left
        if self.subject.adapter.expensive:
            return MOST_EXPENSIVE
        if linear_path(self.subject) is None:
            return MOST
        return MOST_LINEAR

    def run(
        self, kept: Sequence[Family], first: Sequence[str], meter: Meter
    ) -> _TextScores:
        """Ask about the texts of some families, and score all rule sets of their terms."""
        if self.causal:
            # An outcome that changes by itself would be taken for a change by the term.
            self.subject.need_deterministic(first)
            meter.queries += 2 * len(first)
            answers = ask(
                self.subject,
                self.matches,
                kept,
                meter,
                standing=self.standing,
                weighed=False,
            )
            complete = self._complete(answers.decided)
            causal = TextCausal(
                self.subject, self.places, self.level, self.limit, complete=complete
            )
            findings, changes = causal.write(answers.decided)
            return _TextScores(answers, findings, {"changes": changes})
        base = np.empty(0)
        if self.needs_rest:
            base = self.subject.amount(self.subject.decide(self.matches.texts))
        meter.queries += len(base)
        answers = ask(self.subject, self.matches, kept, meter)
        intervals = self._intervals(answers.decided)
        scored = self._scored(answers.decided, intervals, base)
        complete = self._complete(answers.decided)
        writer = TextFindingWriter(
            self.subject,
            self.places,
            intervals,
            self.against,
            self.limit,
            complete=complete,
        )
        findings, details = writer.write(scored, self.top)
        return _TextScores(answers, findings, details, _no_rest_note(scored))

    def _complete(self, decided: Sequence[Decided]) -> bool:
        """Return whether every text of the population was asked about."""
        return self.places.complete([outcomes.family for outcomes in decided])

    def with_only_answer(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return findings that tell the one answer that there was, where there was one alone.

        A favourable outcome that was never given is refused.
        """
        view = self.subject.view
        favoured = None if self.causal else view.any_favoured(view.answers)
        only_answer = view.only_answer(view.answers, favoured=favoured)
        one_answer = view.answer_fields(only_answer, favoured=favoured)
        return [replace(finding, **one_answer) for finding in findings]

    def _intervals(self, decided: Sequence[Decided]) -> SimultaneousIntervals:
        """Return the intervals, which hold for all rule sets together."""
        # The same texts with other terms are graded even where outcomes are not: each is the
        # mean of several.
        graded = not self.needs_rest or not self.subject.counts
        return SimultaneousIntervals(self.level, _rule_count(decided), graded=graded)

    def _scored(
        self, decided: Sequence[Decided], intervals: SimultaneousIntervals, base: Floats
    ) -> list[ScoredFamily]:
        """Return the scores of all combinations of terms (Definition 4.1)."""
        matches = self.matches
        complete = self._complete(decided)
        scored = []
        for family in decided:
            if self.needs_rest:
                scored.append(score_rest(family, intervals, matches.names, base, matches))
            else:
                scored.append(score_terms(family, intervals, complete=complete))
        return scored

    def entry(
        self, decided: Sequence[Decided], queries: int, support: float, candidates: int
    ) -> dict[str, Any]:
        """Return what the details hold of this mining, but for its scores."""
        subject = self.subject
        families_asked = []
        for outcomes in decided:
            family = outcomes.family
            family_entry = {
                "categories": list(family.categories),
                "texts": len(family.rows),
                "rules": family.rules,
            }
            families_asked.append(family_entry)
        return {
            "kind": self.kind,
            "output": "",
            "favoured": subject.favoured,
            "counts": subject.counts,
            "named": subject.names_outcome,
            "against": self.against,
            "texts": len(self.matches.texts),
            "queries": queries,
            "population": self.places.population(),
            "support": support,
            "depth": max(len(outcomes.family.categories) for outcomes in decided),
            "categories": category_entries(self.matches),
            "candidates": candidates,
            "examined": _rule_count(decided),
            "families": families_asked,
            "polysemous": polysemous_entries(self.matches),
            **self.places.entry(),
        }


def _rule_count(decided: Sequence[Decided]) -> int:
    """Return how many rule sets were asked about."""
    return sum(outcomes.family.rules for outcomes in decided)


def _no_rest_note(scored: Sequence[ScoredFamily]) -> list[str]:
    """Return a note about the rule sets that every text has, where there are some."""
    rules = []
    for scored_family in scored:
        for at, (_, size) in enumerate(scored_family.other):
            if not size:
                rules.append(scored_family.decided.family.rule(at).text)
    if not rules:
        return []
    return [messages.NO_REST_OF_SOME.format(rules="; ".join(rules[:MOST_NOTES]))]


def _other_meanings_note(matches: Matches) -> list[str]:
    """Return a note about the terms with other meanings that texts have, where there are some."""
    terms = []
    for entry in polysemous_entries(matches):
        count = number_text.count(entry["matches"])
        terms.append(messages.TERM_MATCHES.format(term=entry["term"], count=count))
    if not terms:
        return []
    return [messages.OTHER_MEANINGS.format(terms=", ".join(terms))]


def _missed_note(kept: Sequence[Family], answers: TextAnswers) -> list[str]:
    """Return a note about the categories that were not asked about, where there are some."""
    missed = kept[len(answers.decided) :]
    if answers.stop is None or not missed:
        return []
    names = [" and ".join(family.categories) for family in missed]
    reason = answers.stop.value
    return [messages.NOT_ASKED.format(reason=reason, categories="; ".join(names))]
