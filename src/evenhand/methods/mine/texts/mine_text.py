"""mine_text: which sensitive terms change how a text is treated? (TestSGD for texts, Zhang et al.
2022).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import MINE_TEXT
from evenhand.methods.mine.findings import check_terms
from evenhand.methods.mine.rule_sets import check_support
from evenhand.methods.mine.texts.combinations import (
    MOST,
    MOST_EXPENSIVE,
    MOST_LINEAR,
    MOST_NOTES,
    affordable,
    ask,
    families,
)
from evenhand.methods.mine.texts.findings import (
    AGAINST,
    TextCausal,
    TextTelling,
    population,
    score_rest,
    score_terms,
)
from evenhand.results.result import Result
from evenhand.runtime.budget import Meter, Spent, checked_budget, progress_bar
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.scores.kinds import KINDS
from evenhand.space.feature import category
from evenhand.space.space import Space
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.simultaneous import Sure
from evenhand.texts.lexicon import lexicon_of
from evenhand.texts.linear import linear_path
from evenhand.texts.matching import find, texts_of
from evenhand.texts.text_subject import text_subject_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from evenhand.runtime.budget import Budget
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
    texts: Any,
    *,
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
    """Find sensitive terms with which texts are treated differently (TestSGD, sections 4.1 and
    4.3).

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

    Examples
    --------
    >>> texts = ["I am a gay man", "a straight answer", "she is a lesbian", "nothing"] * 20
    >>> found = mine_text(lambda texts: ["gay" in text for text in texts], texts, positive=False)
    >>> print(found.worst.about)
    gender gay
    """
    options = {
        "positive": positive,
        "output": output,
        "threshold": threshold,
        "differs": differs,
        "ledger": ledger,
    }
    subject = text_subject_of(
        function, **{name: value for name, value in options.items() if value is not None}
    )
    check_support(support)
    check_terms(level, limit, top)
    for option, value, valid in (("kind", kind, KINDS), ("against", against, AGAINST)):
        if value not in valid:
            raise UsageError(f"{option} = {clip(repr(value))} is unknown; {nearest(value, valid)}")
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 1):
        raise UsageError(f"depth is {clip(repr(depth))}; it must be a whole number of 1 or more")
    terms = lexicon_of(lexicon).without(*_listed(without))
    matches = find(texts_of(texts), terms)
    found = families(matches, support, depth, seed)
    causal, rest = kind == "causal", kind == "group" and against == "rest"
    first = [matches.texts[row] for row in found[0].rows[:CHECKED].tolist()] if causal else []
    before = subject.executed
    with progress_bar(show=progress) as hook:
        meter = Meter(checked_budget(budget), hook)
        kept, notes = affordable(
            found, _left(subject, meter, matches, first, rest=rest), standing=causal
        )
        cut = bool(notes)
        if causal:
            subject.need_deterministic(first)
            meter.queries += 2 * len(first)
        base = subject.amount(subject.decide(matches.texts)) if rest else np.empty(0)
        meter.queries += len(base)
        asked = ask(subject, matches, kept, meter, standing=causal)
        if causal:
            findings, changes = TextCausal(subject, matches, level, limit).told(asked.decided)
            told: dict[str, Any] = {"changes": changes}
        else:
            # The same texts with other terms are graded even where outcomes are not: each is the
            # mean of several.
            among = sum(one.family.rules for one in asked.decided)
            sure = Sure(level, among, graded=not rest or not subject.counts)
            scored = [
                (
                    score_rest(one, sure, matches.names, base, matches)
                    if rest
                    else score_terms(one, sure)
                )
                for one in asked.decided
            ]
            findings, told = TextTelling(subject, matches, sure, against, limit).told(scored, top)
            alone = [
                one.decided.family.rule(at).text
                for one in scored
                for at, (_, size) in enumerate(one.other)
                if not size
            ]
            if alone:
                notes.append(
                    f"every text has {'; '.join(alone[:MOST_NOTES])}, so that there is no rest to"
                    " compare with"
                )
    polysemous = _polysemous(matches)
    if polysemous:
        said = ", ".join(f"{entry['term']} ({entry['matches']:,} matches)" for entry in polysemous)
        notes.append(
            f"these terms have other meanings: {said}; leave them out with without=[…] where they"
            " do here"
        )
    if asked.stop is not None and len(asked.decided) < len(kept):
        missed = "; ".join(" and ".join(family.categories) for family in kept[len(asked.decided) :])
        notes.append(f"not asked about, since {asked.stop.value}: {missed}")
    entry = {
        "kind": kind,
        "output": "",
        "favoured": subject.favoured,
        "counts": subject.counts,
        "named": subject.names_outcome,
        "against": against,
        "texts": len(matches.texts),
        "queries": meter.queries,
        "population": population(matches),
        "support": support,
        "depth": max(len(one.family.categories) for one in asked.decided),
        "categories": _categories(matches),
        "candidates": _candidates(terms, depth),
        "examined": sum(one.family.rules for one in asked.decided),
        "families": [
            {
                "categories": list(one.family.categories),
                "texts": len(one.family.rows),
                "rules": one.family.rules,
            }
            for one in asked.decided
        ],
        "polysemous": polysemous,
        **told,
    }
    names = terms.categories
    return Result(
        "mine_text",
        findings,
        seed,
        Spent(meter.queries, subject.executed - before, meter.seconds),
        asked.stop or (StopReason.QUERIES if cut else StopReason.ENUMERATED),
        Space(
            [category(name, [term.text for term in terms.of(name)]) for name in names], names
        ).to_dict(),
        notes,
        details={"mine_text": [entry]},
    )


def _listed(without: Any) -> list[str]:
    try:
        return [without] if isinstance(without, str) else list(without)
    except TypeError:
        raise UsageError(
            f"without = {clip(repr(without))} must be a list of terms, such as ['black']"
        ) from None


def _left(
    subject: TextSubject, meter: Meter, matches: Matches, first: Sequence[str], *, rest: bool
) -> int:
    """Return how many texts with other terms may be asked about, beside what is asked in any case."""
    if meter.budget.queries is None:
        if subject.adapter.expensive:
            return MOST_EXPENSIVE
        return MOST if linear_path(subject) is None else MOST_LINEAR
    return meter.budget.queries - 2 * len(first) - (len(matches.texts) if rest else 0)


def _candidates(terms: Lexicon, depth: int | None) -> int:
    """Return how many rule sets there are, whether texts name their categories or not."""
    sizes = [1]
    for name in terms.categories:
        more = len(terms.of(name))
        sizes = [one + more * less for one, less in zip([*sizes, 0], [0, *sizes], strict=True)]
    return sum(sizes[1 : None if depth is None else depth + 1])


def _categories(matches: Matches) -> list[dict[str, Any]]:
    has, counts = matches.has, matches.counts()
    return [
        {
            "name": name,
            "texts": int(has[:, at].sum()),
            "support": float(has[:, at].mean()),
            "terms": [term.text for term in matches.lexicon.of(name)],
            "matches": {term.text: counts[term.text] for term in matches.lexicon.of(name)},
        }
        for at, name in enumerate(matches.lexicon.categories)
    ]


def _polysemous(matches: Matches) -> list[dict[str, Any]]:
    counts = matches.counts()
    return [
        {"term": term.text, "category": term.category, "matches": counts[term.text]}
        for term in matches.lexicon.terms
        if term.other_meanings and counts[term.text]
    ]
