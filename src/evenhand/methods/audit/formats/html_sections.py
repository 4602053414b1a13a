"""The section of each check of an audit: what was asked, what was found, pictures, cases and tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.statements import NO_LIMIT, statements
from evenhand.methods.compare.comparison import Comparison
from evenhand.methods.compare.plot import TradeoffDisplay
from evenhand.methods.compare.text import about, claim_of, score_text
from evenhand.methods.mine.table import entries_of
from evenhand.methods.repair.html import section as repair_section
from evenhand.methods.repair.repair_result import Repair
from evenhand.methods.search.text import EVERY, NO_PROOF, NOT_A_RATE
from evenhand.report.definitions import QUESTIONS
from evenhand.report.finding_text import NO_DATA, lattices_of, searches_of, shown_groups
from evenhand.report.html_bars import bar, drawable, top_of
from evenhand.report.html_page import boxed, drawn, listed, people, table, text
from evenhand.report.html_tables import MOST_BYTES, Cell, Column, long_sheet, short_sheet
from evenhand.report.lines import printable
from evenhand.report.rates_display import display_of
from evenhand.results.result import Result
from evenhand.runtime.errors import clip
from evenhand.statistics.estimate import Amount, Estimate, Verdict, Witnesses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.methods.audit.audit_result import Checked
    from evenhand.methods.audit.statements import Statement
    from evenhand.results.result import Finding, Group

MOST_CARDS = 12
"""The most statements of a check that get a card; all of them are in the table of the summary."""
MOST_RULES = 4
"""The most rule sets that get a card; all of them are in a table."""
MOST_CASES = 5
"""The most cases of a finding that are shown as people side by side."""
MOST_GROUPS = 30
SHOWN = (
    *("rule", "about", "verdict", "value", "low", "high", "difference", "rate", "other", "ratio", "rows", "texts"),
    *("support", "rules", "changed", "most", "most_changed", "score", "over", "against", "output"),
)
"""The columns of a mining that the report has."""
CALLED = {
    "rule": "rule set",
    "about": "terms of",
    "value": "difference",
    "difference": "signed",
    "rate": "their rate",
    "other": "everyone else",
    "support": "share",
    "rules": "rules in it",
    "most": "most with",
    "most_changed": "changed with it",
}
"""What some of them are called there."""
_SAYS = {
    "subsets": "The sets of features: which of them discriminate, are cleared, or need no test.",
    "search": "How many inputs were found over the queries, where they lie, and what they rest on.",
    "mine": "The subgroups that are treated most differently, with their intervals.",
    "mine_log": "The subgroups that are treated most differently, with their intervals.",
    "mine_text": "The terms with which texts are treated most differently, with their intervals.",
    "impact": "The impact ratio of each category, with its interval.",
}


def section(check: Checked, name: str, *, room: int = MOST_BYTES) -> str:
    """Return one check as a section, whose ids begin with a name; `room` is how many bytes of data a sheet has."""
    told, job = statements(check), job_of(check)
    asked = "; ".join(f"{key} {_said(value)}" for key, value in check.settings.items())
    parts = [
        f'<h2 id="{name}-heading">{boxed(check.name)} {badge(check.verdict)}</h2>',
        f"<p>{text(QUESTIONS[job])}</p>" if job in QUESTIONS else "",
        f'<p class="soft">Asked for: {text(asked)}.</p>' if asked else "",
        *_inside(check, told, name, room),
    ]
    notes = getattr(check.found, "notes", ())
    if notes and not isinstance(check.found, Repair):  # whose section has its own
        parts += ["<h3>Notes</h3>", listed(notes)]
    inside = "\n".join(part for part in parts if part)
    return f'<section id="{name}" aria-labelledby="{name}-heading">\n{inside}\n</section>'


def job_of(check: Checked) -> str:
    """Return the verb that made a check: of texts it is not the one that the check names."""
    found = str(getattr(check.found, "job", check.job))
    return found if check.job == "mine" or check.job not in QUESTIONS else check.job


def sheets_in(check: Checked) -> int:
    """Return how many sheets of data the section of a check has."""
    found = check.found
    return int(isinstance(found, Result) and bool(searches_of(found) or entries_of(found)))


def badge(verdict: Verdict | None) -> str:
    """Return a verdict as a word in its colour."""
    return f'<span class="badge {verdict or "none"}">{verdict or NO_LIMIT}</span>'


def limit_text(one: Statement) -> str:
    """Return a limit as the score beside it is written, empty where there is none."""
    if one.limit is None:
        return ""
    said = f"{one.limit:g}" if isinstance(one.estimate, Witnesses | Amount) else f"{100 * one.limit:g} %"
    return f"at least {said}" if one.least else said


def _said(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(" and ".join(map(str, one)) if isinstance(one, list | tuple) else str(one) for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} = {one}" for key, one in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _inside(check: Checked, told: Sequence[Statement], name: str, room: int) -> Iterator[str]:
    found = check.found
    if found is None:
        yield f'<p class="finding undecided">This check could not be run: {text(check.error.rstrip("."))}.</p>'
    elif isinstance(found, Repair):
        yield repair_section(found, name=f"{name}-repair", within=True)
    elif isinstance(found, Comparison):
        yield from _comparison(found, told, name)
    else:
        yield from _result(found, told, name, room)


def _result(result: Result, told: Sequence[Statement], name: str, room: int) -> Iterator[str]:
    impact = result.details.get("impact")
    yield from _cards(told, name, MOST_RULES if entries_of(result) else MOST_CARDS, groups=not impact)
    if lattices_of(result) or searches_of(result) or entries_of(result) or impact:
        yield "<h3>Picture</h3>"
        yield drawn(lambda: display_of(result), f"{name}-picture", _SAYS.get(result.job, "The result, drawn."))
    if impact:
        yield from _impact(impact, name)
    for number, (finding, entry) in enumerate(searches_of(result)):
        if entry is not None:
            yield from _search(finding, entry, f"{name}-search{number}")
    if searches_of(result):
        yield _found(result, name, room)
    for number, (output, lattice) in enumerate(lattices_of(result)):
        yield _lattice(lattice, output, f"{name}-lattice{number}")
    if entries_of(result):
        yield _mined(result, name, room)


def _cards(told: Sequence[Statement], name: str, most: int, *, groups: bool) -> Iterator[str]:
    known = [one for one in told[:most] if drawable(one.estimate)]
    top = top_of([one.estimate for one in known if one.estimate], [one.limit for one in known])
    for number, one in enumerate(told[:most]):
        yield _card(one, f"{name}-finding{number}", top, groups=groups)
    if len(told) > most:
        yield f'<p>{len(told) - most:,} more are in <a href="#verdicts">the table of the summary</a>.</p>'


def _card(one: Statement, name: str, top: float, *, groups: bool) -> str:
    parts = []
    if one.estimate is not None:
        parts.append(f"<p>{text(sure(one.estimate))}</p>")
    if one.estimate is not None and drawable(one.estimate):
        parts.append(bar(one.estimate, one.limit, top=top))
    if one.limit is not None:
        parts.append(f'<p class="soft">Engineering threshold: {text(limit_text(one))}.</p>')
    parts.append(_held(one))
    if groups and one.finding is not None and one.finding.groups:
        parts.append(_groups(one.finding.groups, name))
    told = "\n".join(part for part in parts if part)
    cases = _cases(one.finding) if one.finding is not None and one.finding.cases else ""
    head = f'<h4 id="{name}">{badge(one.verdict)} {boxed(_sentence(one.claim))}</h4>'
    tone = f"finding {one.verdict or 'none'}{' split' if cases else ''}"
    return f'<article class="{tone}" aria-labelledby="{name}">\n{head}\n<div>{told}</div>\n{cases}</article>'


def _held(one: Statement) -> str:
    if one.held is None:
        return ""
    before = f" It was: {one.held.before}." if one.held.before else ""
    return f'<p class="soft">Against the baseline: {text(one.held.state)}.{text(before)}</p>'


def _sentence(claim: str) -> str:
    return claim[:1].upper() + claim[1:]


def sure(estimate: Estimate) -> str:
    """Return a score in plain words: the value, how sure it is, from how much, and of whom it speaks.

    >>> sure(Estimate(0.117, 0.052, 0.215, 247, 0.95, "anytime", "all inputs"))
    '11.7 %; with 95 % confidence between 5.2 % and 21.5 %, from 247 inputs (anytime). It speaks of: all inputs.'
    """
    if isinstance(estimate, Witnesses):
        return f"{_sentence(str(estimate))}. A search finds witnesses, and never a rate."
    if not estimate.n or math.isnan(estimate.value):
        return f"{NO_DATA}."
    said = str(estimate)
    value = said.partition(" (")[0]
    whom = f" It speaks of: {estimate.population}." if estimate.population else ""
    if estimate.level == 1:
        return f"{value}, from all {estimate.n:,} ({estimate.method}): there is no uncertainty of sampling.{whom}"
    low, high = said.partition(" (")[2].partition(",")[0].split(" to ")
    how = f"with {100 * estimate.level:.6g} % confidence between {low} and {high}"
    return f"{value}; {how}, from {estimate.n:,} inputs ({estimate.method}).{whom}"


def _cases(finding: Finding) -> str:
    first, *others = [people(case, _changed(case)) for case in finding.cases[:MOST_CASES]]
    more = "\n".join(others)
    rest = f"<details><summary>{len(others)} more</summary>\n{more}\n</details>" if others else ""
    return f"<div><details open><summary>The simplest case</summary>\n{first}\n</details>\n{rest}</div>"


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
        value = NO_DATA if not one.n or math.isnan(one.value) else f"{100 * one.value:.1f} %"
        between = "" if not one.n else f"{100 * one.low:.1f} % to {100 * one.high:.1f} %"
        label = group.about["rule"] if list(group.about) == ["rule"] else group
        rows.append([boxed(str(label)), value, between, f"{one.n:,}"])
    headings = ("group", "rate", "interval", "n")
    return table(
        f"{name}-groups",
        "The groups that are compared, and how often each gets the favourable outcome.",
        headings,
        [("", rows)],
    )


def _search(finding: Finding, entry: Mapping[str, Any], name: str) -> Iterator[str]:
    about = ", ".join(finding.about)
    complete = finding.estimate.high == finding.estimate.value
    told = EVERY if complete else NOT_A_RATE if entry["found"] else NO_PROOF
    yield f"<h3>Where inputs over {text(about)} lie, and why</h3><p>{text(_sentence(told))}.</p>"
    if regions := entry.get("regions"):
        rows = []
        for region in regions:
            one = Estimate.from_dict(region["estimate"])
            value, between = f"{100 * one.value:.2f} %", f"{100 * one.low:.2f} % to {100 * one.high:.2f} %"
            rows.append([boxed(region["text"]), value, between, f"{one.n:,}", f"{region['found']:,}"])
        says = "Regions of discriminatory inputs: the share of such inputs among fresh uniform inputs that meet a rule."
        headings = ("region", "share", "interval", "n", "of those found")
        yield table(f"{name}-regions", says, headings, [("", rows)])
    if drivers := entry.get("drivers"):
        rows = []
        for driver in drivers:
            one, change = Estimate.from_dict(driver["estimate"]), driver.get("example")
            example = "" if change is None else f"{change['before']} → {change['after']}"
            between = f"{100 * one.low:.1f} % to {100 * one.high:.1f} %"
            rows.append([boxed(driver["feature"]), f"{100 * one.value:.1f} %", between, f"{one.n:,}", boxed(example)])
        says = "What they rest on: how often another value of one feature ends it, among the inputs found."
        headings = ("feature", "ends it", "interval", "n", "as this did")
        yield table(f"{name}-drivers", says, headings, [("", rows)])


def _found(result: Result, name: str, room: int) -> str:
    """Return every input that was found as a sheet whose rows open as two people."""
    frame = result.to_frame()
    features = [feature["name"] for feature in result.space["features"]]
    columns = [Column(str(one), frame[one].tolist(), feature=one in features) for one in frame.columns]
    if not len(frame):
        return ""
    says = f"Every input that was found, {len(frame):,} in all: an individual, its outcome, what its twin has instead."
    return "<h3>Cases</h3>" + long_sheet(f"{name}-cases", says, columns, cases=True, room=room)


def _lattice(lattice: Mapping[str, Any], output: str, name: str) -> str:
    rows = []
    for entry in lattice["sets"]:
        known = entry["value"] is not None
        between = (
            f"{100 * entry['low']:.1f} % to {100 * entry['high']:.1f} %" if known and entry["high"] is not None else ""
        )
        rows.append(
            [
                Cell(boxed(", ".join(entry["about"]))),
                Cell(str(len(entry["about"])), len(entry["about"]), number=True),
                Cell(text(entry["state"])),
                Cell(f"{100 * entry['value']:.1f} %" if known else "", _hundred(entry["value"]), number=True),
                Cell(between, _hundred(entry["low"]), number=True),
                Cell(f"{entry['n']:,}", entry["n"], number=True),
                Cell(text(entry["because"])),
            ]
        )
    says = f"The sets of features{f' for {output}' if output else ''}: their state, and what it rests on."
    headings = ("set", "size", "state", "score", "interval", "n", "because")
    return "<h3>Sets of features</h3>" + short_sheet(f"{name}-sets", says, headings, rows)


def _mined(result: Result, name: str, room: int) -> str:
    frame = result.to_frame()
    columns = [Column(CALLED.get(one, one), [_rounded(value) for value in frame[one]]) for one in SHOWN if one in frame]
    columns = [one for one in columns if any(value not in (None, "") for value in one.values)]
    said = "; ".join(dict.fromkeys(str(entry["population"]) for entry in entries_of(result)))
    says = f"Rule sets: how much their people's rate differs from that of everyone else. They speak of: {said}."
    return "<h3>Rule sets</h3>" + long_sheet(f"{name}-rules", says, columns, room=room)


def _hundred(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _rounded(value: Any) -> Any:
    """Return a number with as many digits as anybody reads, None where it is missing, and anything else as it is."""
    if value is None or isinstance(value, str):
        return value
    known = str(value) != "<NA>" and value == value  # pandas' NA is no truth value
    return (round(float(value), 4) if isinstance(value, float) else value) if known else None


def _impact(tables: Sequence[Mapping[str, Any]], name: str) -> Iterator[str]:
    for number, one in enumerate(tables):
        word = "scoring" if one["kind"] == "scoring" else "selection"
        rows = []
        for entry in one["categories"]:
            label = ", ".join(f"{value}" for value in entry["about"].values())
            rate = Estimate.from_dict(entry["rate"])
            ratio = Estimate.from_dict(entry["ratio"]) if entry["ratio"] else None
            told = "" if ratio is None else f"{ratio.value:.3f}"
            between = "" if ratio is None else f"{ratio.low:.3f} to {ratio.high:.3f}"
            rows.append(
                [
                    Cell(boxed(label)),
                    Cell(f"{entry['n']:,}", entry["n"], number=True),
                    Cell(f"{100 * entry['share']:.1f} %", 100 * entry["share"], number=True),
                    Cell(f"{100 * rate.value:.1f} %" if rate.n else NO_DATA, 100 * rate.value, number=True),
                    Cell(f"{100 * rate.low:.1f} % to {100 * rate.high:.1f} %", 100 * rate.low, number=True),
                    Cell(told, None if ratio is None else ratio.value, number=True),
                    Cell(between, None if ratio is None else ratio.low, number=True),
                    Cell(text(entry["left_out"])),
                ]
            )
        over = " and ".join(one["over"])
        says = f"By {over}: {word} rates and impact ratios. {one['unknown']:,} rows have an unknown {over}."
        headings = (
            "category",
            "n",
            "share",
            f"{word} rate",
            "interval",
            "impact ratio",
            "interval of the ratio",
            "note",
        )
        yield f"<h3>By {text(over)}</h3>" + short_sheet(f"{name}-impact{number}", says, headings, rows)


def _comparison(found: Comparison, told: Sequence[Statement], name: str) -> Iterator[str]:
    yield f"<p>{text(about(found))}.</p>"
    for number, (one, standing) in enumerate(zip(told[:MOST_CARDS], found.standings, strict=False)):
        scores = f"Performance {score_text([standing.performance])[0]}, bias {score_text([standing.bias])[0]}."
        inside = f'<h4 id="{name}-standing{number}">{badge(one.verdict)} {boxed(one.claim)}</h4><p>{text(scores)}</p>'
        inside += _held(one)
        tone = one.verdict or "none"
        yield f'<article class="finding {tone}" aria-labelledby="{name}-standing{number}">{inside}</article>'
    yield "<h3>Trade-off plane</h3>"
    says = "Each mitigation against the line of blindly overwriting predictions: better is above and to the left."
    yield drawn(lambda: TradeoffDisplay.from_comparison(found), f"{name}-plane", says)
    headings = ("mitigation", "region", "performance", "bias", "gain over the line")
    rows = []
    for standing in found.standings:
        known = [getattr(standing, key) for key in ("performance", "bias", "gain")]
        cells = [Cell(text(score_text([score])[0]), _shown(score), number=True) for score in known]
        rows.append([Cell(boxed(standing.name)), Cell(text(claim_of(standing))), *cells])
    first = [score_text([one])[0] for one in found.start]
    says = f"Where each mitigation stands; the original has a performance of {first[0]} and a bias of {first[1]}."
    yield short_sheet(f"{name}-standings", says, headings, rows)


def _shown(score: Estimate) -> float:
    """Return a score as it reads: shares in per cent."""
    return score.value if isinstance(score, Amount) else 100 * score.value
