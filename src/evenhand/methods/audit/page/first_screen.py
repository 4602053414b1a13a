"""The first screen of a page: the verdict, what was tested, on whom, and what came of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.methods.audit.page import messages
from evenhand.methods.audit.page.tested_facts import tested_facts
from evenhand.methods.audit.page.topics import SEVERITY
from evenhand.report.page.cards import score_name, score_text, sentence
from evenhand.report.page.cases import case_sentence
from evenhand.report.page.facts import fact_key
from evenhand.report.page.parts import ReaderQuestion
from evenhand.report.page.plain import say_list
from evenhand.report.statement import NOT_RUN
from evenhand.results.about import is_of_the_rest
from evenhand.runtime import number_text
from evenhand.runtime.language import say
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.page.placed import Placed
    from evenhand.report.page.parts import PagePart
    from evenhand.report.statement import Statement

MOST_SENTENCES = 3
_TELLING = {Verdict.FAIL: 0, Verdict.UNDECIDED: 1, Verdict.PASS: 2, None: 3}
"""What a reader wants to know first: a pass before what has no limit."""
_WORDS = {
    Verdict.FAIL: messages.FAILED,
    Verdict.UNDECIDED: messages.UNDECIDED,
    Verdict.PASS: messages.PASSED,
    None: messages.NO_LIMIT,
}


@dataclass(frozen=True)
class PlainFinding:
    """A finding in plain words, with a case where it has one.

    Its score is empty where the picture shows it.
    """

    verdict: Verdict | None
    text: str
    fact: str
    score_name: str
    score: str
    confidence: str
    example: str


@dataclass(frozen=True)
class FirstScreen:
    """What a reader sees first; what is empty is left out."""

    verdict: Verdict | None
    word: str
    meaning: str
    facts: Mapping[str, str]
    sentences: Sequence[PlainFinding]
    not_tested: Sequence[str]
    baseline: str


def first_screen(
    audit: Audit,
    placed: Sequence[Placed],
    parts: Sequence[PagePart],
    drawn: Collection[str],
) -> FirstScreen:
    """Return what a reader sees first; facts that are `drawn` have their numbers in the picture."""
    baseline = ""
    if audit.baseline:
        baseline = say(messages.EXCUSED, baseline=audit.held_against)
    return FirstScreen(
        verdict=audit.verdict,
        word=verdict_word(audit),
        meaning=_meaning(audit, placed),
        facts=tested_facts(audit),
        sentences=[_sentence(item.statement, drawn) for item in _most_telling(placed)],
        not_tested=_not_tested(audit, placed, parts),
        baseline=baseline,
    )


def verdict_word(audit: Audit) -> str:
    """Return the verdict in a few words."""
    if not audit.checks:
        return say(messages.NO_CHECKS)
    missing = any(check.found is None for check in audit.checks)
    if missing and audit.verdict is not Verdict.FAIL:
        return say(messages.NOT_ALL_RUN)
    return say(_WORDS[audit.verdict])


def _meaning(audit: Audit, placed: Sequence[Placed]) -> str:
    """Return the verdict in a sentence, with how many scores it rests on."""
    if not audit.checks:
        return say(messages.NOTHING_TO_TELL)
    counts = Counter(item.statement.word for item in placed)
    failed, undecided, passed = (
        counts[str(verdict)] for verdict in (Verdict.FAIL, Verdict.UNDECIDED, Verdict.PASS)
    )
    judged = number_text.count(failed + undecided + passed)
    sentences = []
    if failed or undecided or passed:
        template = messages.NONE_IS_OVER
        if failed and undecided:
            template = messages.SOME_FAIL_OTHERS_OPEN
        elif failed:
            template = messages.SOME_FAIL
        elif undecided:
            template = messages.SOME_UNDECIDED
        sentences.append(
            say(
                template,
                failed=number_text.count(failed),
                undecided=number_text.count(undecided),
                judged=judged,
            )
        )
    elif not counts[NOT_RUN]:
        sentences.append(say(messages.WITHOUT_LIMIT))
    if counts[NOT_RUN]:
        count = number_text.count(counts[NOT_RUN])
        checks = number_text.count(len(audit.checks))
        sentences.append(say(messages.NOT_RUN, count=count, checks=checks))
    return " ".join(sentences)


def _most_telling(placed: Sequence[Placed]) -> list[Placed]:
    """Return the three findings that say most: the worst twins, the worst groups, and another."""
    known = [item for item in placed if _says_something(item.statement)]
    known.sort(key=lambda item: _TELLING[item.statement.verdict])
    chosen: list[Placed] = []
    for wanted in (_compares_twins, _compares_groups):
        first = next((item for item in known if wanted(item.statement)), None)
        if first is not None:
            chosen.append(first)
    for item in known:
        is_news = not any(_alike(item, other) for other in chosen)
        if is_news and len(chosen) < MOST_SENTENCES:
            chosen.append(item)
    chosen.sort(key=lambda item: SEVERITY[item.statement.verdict])
    return chosen[:MOST_SENTENCES]


def _alike(item: Placed, other: Placed) -> bool:
    """Return whether a reader learns little from one that the other does not say.

    Of features that are known to be treated differently, only what fails as well is news.
    """
    if item.features != other.features:
        return False
    first, second = item.statement, other.statement
    assert first.finding is not None and second.finding is not None
    fails = first.verdict is Verdict.FAIL
    return not fails or first.finding.score == second.finding.score


def _says_something(statement: Statement) -> bool:
    finding = statement.finding
    if finding is None or not finding.estimate.n:
        return False
    # What is said of all other subgroups names nobody.
    return not is_of_the_rest(finding.about)


def _compares_twins(statement: Statement) -> bool:
    return statement.finding is not None and statement.finding.score == "causal"


def _compares_groups(statement: Statement) -> bool:
    return statement.finding is not None and len(statement.finding.groups) > 1


def _sentence(statement: Statement, drawn: Collection[str]) -> PlainFinding:
    finding = statement.finding
    assert finding is not None
    fact = fact_key(finding)
    score = "" if fact in drawn or finding.unit == "count" else score_text(statement)
    name = score_name(statement) if score else ""
    confidence = ""
    if score and finding.estimate.level < 1:
        level = number_text.percent_level(finding.estimate.level)
        confidence = say(messages.WITH_CONFIDENCE, level=level)
    example = ""
    if statement.case is not None and statement.verdict is not Verdict.PASS:
        example = say(messages.PAIR_FOR_EXAMPLE, case=case_sentence(statement.case))
    return PlainFinding(
        statement.verdict,
        sentence(statement.sentence),
        fact,
        name,
        score,
        confidence,
        example,
    )


def _not_tested(
    audit: Audit, placed: Sequence[Placed], parts: Sequence[PagePart]
) -> list[str]:
    """Return what nobody has looked at, though a reader may think so."""
    missing = []
    for check in audit.checks:
        if check.found is None:
            reason = check.error.rstrip(".")
            missing.append(say(messages.CHECK_AND_REASON, check=check.name, reason=reason))
    protected = protected_features(audit)
    looked_at: set[str] = set()
    for item in placed:
        looked_at.update(item.features)
    unseen = [name for name in protected if name not in looked_at]
    if unseen:
        missing.append(say(messages.FEATURES_NOT_TESTED, features=say_list(unseen)))
    combined = any(len(part.features) > 1 for part in parts)
    if len(protected) > 1 and not combined:
        missing.append(say(messages.NO_COMBINATIONS, features=say_list(protected)))
    answered = {part.question for part in parts}
    if ReaderQuestion.HARDEST_HIT not in answered:
        missing.append(say(messages.NO_SUBGROUPS))
    if ReaderQuestion.ERRORS not in answered:
        missing.append(say(messages.NO_ERRORS))
    return missing


def protected_features(audit: Audit) -> list[str]:
    """Return the protected features of the software's inputs; a log has declared none."""
    return [str(name) for name in audit.space.get("protected", ())]
