"""The inside of a section of the report: findings as cards, with their intervals, groups and cases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evenhand.report.finding_text import NO_DATA, shown_groups
from evenhand.report.html_bars import bar, drawable, top_of
from evenhand.report.html_page import boxed, people, table, text
from evenhand.report.lines import printable
from evenhand.report.statement import NO_LIMIT
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.statistics.estimate import Estimate, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Finding, Group
    from evenhand.results.protocol import Evidence

MOST_CARDS = 12
"""The most statements of a check that get a card; all of them are in the table of the summary."""
MOST_CASES = 5
"""The most cases of a finding that are shown as people side by side."""
MOST_GROUPS = 30


def section_of_findings(
    found: Evidence, told: Sequence[Statement], name: str, room: int
) -> Iterator[str]:
    """Return the findings of a check as cards, which is all that there is to show of most verbs."""
    yield from cards(told, name)


def badge(verdict: Verdict | None) -> str:
    """Return a verdict as a word in its colour."""
    return f'<span class="badge {verdict or "none"}">{verdict or NO_LIMIT}</span>'


def limit_text(one: Statement) -> str:
    """Return a limit as the score beside it is written, empty where there is none."""
    if one.limit is None:
        return ""
    rate = one.estimate is not None and one.estimate.unit == Estimate.unit
    limit = number_text.percent_plain(one.limit) if rate else number_text.plain(one.limit)
    return f"at least {limit}" if one.least else limit


def cards(
    told: Sequence[Statement], name: str, most: int = MOST_CARDS, *, groups: bool = True
) -> Iterator[str]:
    """Return statements as cards, whose bars share an axis; what is too much is in the table of the
    summary.
    """
    known = [one for one in told[:most] if drawable(one.estimate)]
    top = top_of([one.estimate for one in known if one.estimate], [one.limit for one in known])
    for number, one in enumerate(told[:most]):
        yield _card(one, f"{name}-finding{number}", top, groups=groups)
    if len(told) > most:
        yield (
            f'<p>{len(told) - most:,} more are in <a href="#verdicts">the table of the'
            " summary</a>.</p>"
        )


def _card(one: Statement, name: str, top: float, *, groups: bool) -> str:
    parts = []
    if one.estimate is not None:
        parts.append(f"<p>{text(sure(one.estimate))}</p>")
    if one.estimate is not None and drawable(one.estimate):
        parts.append(bar(one.estimate, one.limit, top=top))
    if one.limit is not None:
        parts.append(f'<p class="soft">Engineering threshold: {text(limit_text(one))}.</p>')
    parts.append(held_text(one))
    if groups and one.finding is not None and one.finding.groups:
        parts.append(_groups(one.finding.groups, name))
    told = "\n".join(part for part in parts if part)
    cases = _cases(one.finding) if one.finding is not None and one.finding.cases else ""
    head = f'<h4 id="{name}">{badge(one.verdict)} {boxed(sentence(one.claim))}</h4>'
    tone = f"finding {one.verdict or 'none'}{' split' if cases else ''}"
    return (
        f'<article class="{tone}"'
        f' aria-labelledby="{name}">\n{head}\n<div>{told}</div>\n{cases}</article>'
    )


def held_text(one: Statement) -> str:
    """Return how a statement stands to a baseline, empty where there is none."""
    if one.held is None:
        return ""
    before = f" It was: {one.held.before}." if one.held.before else ""
    return f'<p class="soft">Against the baseline: {text(one.held.state)}.{text(before)}</p>'


def sentence(claim: str) -> str:
    """Return a claim with a capital letter."""
    return claim[:1].upper() + claim[1:]


def sure(estimate: Estimate) -> str:
    """Return a score in plain words: the value, how sure it is, from how much, and of whom it
    speaks.

    >>> sure(Estimate(0.117, 0.052, 0.215, 247, 0.95, "anytime", "all inputs"))
    '11.7 %; with 95 % confidence between 5.2 % and 21.5 %, from 247 inputs (anytime). It speaks of: all inputs.'
    """
    if estimate.unit == "count":
        return f"{sentence(str(estimate))}. A search finds witnesses, and never a rate."
    if not estimate.n or math.isnan(estimate.value):
        return f"{NO_DATA}."
    value = estimate.value_text
    whom = f" It speaks of: {estimate.population}." if estimate.population else ""
    if estimate.level == 1:
        rests = f"from all {number_text.count(estimate.n)} ({estimate.method})"
        return f"{value}, {rests}: there is no uncertainty of sampling.{whom}"
    low, high = estimate.ends_text
    how = f"with {number_text.percent_level(estimate.level)} confidence between {low} and {high}"
    return f"{value}; {how}, from {number_text.count(estimate.n)} inputs ({estimate.method}).{whom}"


def _cases(finding: Finding) -> str:
    first, *others = [people(case, _changed(case)) for case in finding.cases[:MOST_CASES]]
    more = "\n".join(others)
    rest = f"<details><summary>{len(others)} more</summary>\n{more}\n</details>" if others else ""
    return (
        "<div><details open><summary>The simplest"
        f" case</summary>\n{first}\n</details>\n{rest}</div>"
    )


def _changed(case: Any) -> str:
    if not case.changed:
        return "Two inputs, and their outcomes"
    *others, last = [printable(name) for name in case.changed]
    names = f"{', '.join(others)} and {last}" if others else last
    return f"Two inputs that differ in {clip(names, 120)} alone, and their outcomes"


def _groups(groups: Sequence[Group], name: str) -> str:
    rows = []
    for group in shown_groups(groups, MOST_GROUPS):
        if isinstance(group, str):
            rows.append([text(group), "", "", ""])
            continue
        one = group.estimate
        value = NO_DATA if not one.n or math.isnan(one.value) else number_text.percent(one.value)
        between = "" if not one.n else number_text.between(one.low, one.high)
        label = group.about["rule"] if list(group.about) == ["rule"] else group
        rows.append([boxed(str(label)), value, between, f"{one.n:,}"])
    headings = ("group", "rate", "interval", "n")
    return table(
        f"{name}-groups",
        "The groups that are compared, and how often each gets the favourable outcome.",
        headings,
        [("", rows)],
    )
