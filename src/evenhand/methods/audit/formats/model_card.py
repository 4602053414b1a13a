"""A model card's fragment: what an audit found, under the headings that model cards have (Mitchell et al., 2019).

The headings follow the paper and the cards of Hugging Face: factors, metrics, evaluation data, results, unitary and
intersectional results, caveats. A person who reads the card alone must not take it for more than it says.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.formats.markdown_escape import block, code, table, text
from evenhand.methods.audit.statements import all_statements, statements
from evenhand.methods.impact.selection_rates import NO_CLAIM, remarks, tables_of
from evenhand.methods.impact.text import cells, columns, listed
from evenhand.report.definitions import DEFINITIONS, LIMITS
from evenhand.report.finding_text import NO_DATA, shown_groups, subject_of
from evenhand.results.result import Result
from evenhand.statistics.estimate import Amount, Estimate, Witnesses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.methods.audit.audit_result import Audit, Checked
    from evenhand.methods.audit.statements import Statement
    from evenhand.results.result import Finding

MOST_ROWS, MOST_GROUPS, MOST_NOTES = 60, 40, 20
"""The most statements, categories of a table, and notes that a card lists; the JSON of the audit has all."""


def to_card(audit: Audit) -> str:
    """Return a fragment of a model card in Markdown, with everything that data, users or software wrote kept as text.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.runtime.budget import Spent
    >>> print(*to_card(Audit((), 0, Spent(0, 0, 0.0), subject="a loan program")).splitlines()[:3], sep="\\n")
    ## Fairness evaluation
    <BLANKLINE>
    Software under test: a loan program. Verdict: no limit given.
    """
    parts = [
        *_head(audit),
        "### Factors",
        *_factors(audit),
        "### Metrics",
        *_metrics(audit),
        "### Evaluation data",
        *_data(audit),
        "### Results",
        *_results(audit),
        "### Unitary and intersectional results",
        *_groups(audit),
        "### Caveats and limits",
        _list(_caveats(audit)),
        "### How to reproduce",
        *_again(audit),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(audit: Audit) -> Iterator[str]:
    yield "## Fairness evaluation"
    what = f"Software under test: {text(audit.subject)}. " if audit.subject else ""
    held = f" Held against a baseline: {text(audit.baseline)}." if audit.baseline else ""
    yield f"{what}Verdict: {text(audit.verdict or 'no limit given')}.{held}"


def _list(sentences: Any) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _some(sentences: Sequence[str], most: int, what: str) -> list[str]:
    """Return the first sentences, and one that says how many more there are."""
    left = len(sentences) - most
    return [*sentences[:most], f"… {left:,} more {what} in the JSON of the audit"] if left > 0 else list(sentences)


def _factors(audit: Audit) -> Iterator[str]:
    """Tell the protected characteristics and their values, and what else was taken together."""
    tested = dict.fromkeys(one.about for one in all_statements(audit) if one.check.found is not None)
    spaces = [audit.space, *(check.found.space for check in audit.checks if isinstance(check.found, Result))]
    features: dict[str, Mapping[str, Any]] = {}
    for space in spaces:
        protected = space.get("protected", ())
        for feature in space.get("features", ()):
            if feature["name"] in protected:
                features.setdefault(feature["name"], feature)
    if features:
        yield "Protected characteristics and the groups that they make:"
        yield _list(f"{text(name)}: {text(_values(feature))}" for name, feature in features.items())
    if tested:
        yield f"Tested: {'; '.join(text(name) for name in _some(list(tested), MOST_NOTES, 'factors'))}."
    if not features and not tested:
        yield "None were declared."


def _values(feature: Mapping[str, Any]) -> str:
    if feature["kind"] != "category":
        step = f" in steps of {feature['step']:g}" if "step" in feature else ""
        return f"{feature['low']:g} to {feature['high']:g}{step}"
    levels = [str(level) for level in feature["levels"]]
    return ", ".join(levels[:MOST_NOTES]) + (f", … {len(levels) - MOST_NOTES:,} more" if levels[MOST_NOTES:] else "")


def _metrics(audit: Audit) -> Iterator[str]:
    """Define what was measured, and say how the intervals and verdicts are to be read."""
    kinds = dict.fromkeys(_kind(check) for check in audit.checks)
    defined = [f"{kind}: {DEFINITIONS[kind]}" for kind in kinds if kind in DEFINITIONS]
    for check in audit.checks:
        for one in tables_of(check.found) if isinstance(check.found, Result) else []:
            if one["kind"] == "scoring":
                defined.append(f"scoring rate: the share of scores above the median, which is {one['median']:.6g}.")
            else:
                defined.append("selection rate: the share of a category that has the favourable outcome.")
    yield _list(dict.fromkeys(defined)) if defined else "Nothing was measured."
    yield (
        "Each value stands with an interval, the number n that it rests on and the level at which the intervals of its "
        "check hold together. Limits are engineering thresholds, chosen by those who ran the audit."
    )


def _kind(check: Checked) -> str:
    """Return which definition a check needs: that of the verb which was really called."""
    return str(getattr(check.found, "job", check.job))


def _data(audit: Audit) -> Iterator[str]:
    rows: dict[tuple[str, str], int] = {}
    for check in audit.checks:
        for one in statements(check):
            score = one.estimate
            if score is None:
                continue
            asked = f"inputs that a {check.job} chose, which are no population"
            population = asked if isinstance(score, Witnesses) else score.population or "as the check declares it"
            key = check.name, population
            rows[key] = max(rows.get(key, 0), score.n)
    if not rows:
        yield "No data was evaluated."
        return
    yield table(["check", "population", "n"], [(*key, f"{n:,}") for key, n in rows.items()], right=[2])


def _results(audit: Audit) -> Iterator[str]:
    told = all_statements(audit)
    if not told:
        yield "There are no results."
        return
    headings = ("check", "about", "claim", "value", "interval", "level", "n", "engineering threshold", "verdict")
    yield table(headings, (_row(one) for one in told[:MOST_ROWS]), right=(3, 4, 5, 6, 7))
    if len(told) > MOST_ROWS:
        yield f"… {len(told) - MOST_ROWS:,} more statements in the JSON of the audit."


def _row(one: Statement) -> tuple[str, ...]:
    limit = "" if one.limit is None else f"{'at least ' if one.least else ''}{one.limit:g}"
    verdict = one.word if one.held is None else f"{one.word} ({one.held.state})"
    return (one.check.name, one.about, one.claim, *_score(one.estimate), limit, verdict)


def _score(found: Estimate | None) -> tuple[str, str, str, str]:
    """Return the value, the interval, the level and the n of an estimate of any kind."""
    if found is None:
        return "", "", "", ""
    if isinstance(found, Witnesses):
        return f"{found.value:,} found", "", "", f"{found.n:,}"
    level = f"{100 * found.level:.6g} %" if found.level < 1 else found.method
    if isinstance(found, Amount):
        return f"{found.value:.4g}", f"{found.low:.4g} to {found.high:.4g}", level, f"{found.n:,}"
    if math.isnan(found.value):
        return "unknown", "", "", f"{found.n:,}"
    ends = f"{100 * found.low:.1f} % to {100 * found.high:.1f} %" if found.level < 1 else ""
    return f"{100 * found.value:.1f} %", ends, level, f"{found.n:,}"


def _groups(audit: Audit) -> Iterator[str]:
    """Tell the tables of `impact`; of checks that have none, the groups of their findings."""
    empty, seen = True, list[Any]()
    for check in audit.checks:
        if not isinstance(check.found, Result):
            continue
        for one in tables_of(check.found):
            empty = False
            yield from _impact(check, one)
        for finding in [] if tables_of(check.found) else check.found.findings:
            key = check.name, finding.groups
            if finding.groups and key not in seen:
                seen.append(key)
                empty = False
                yield from _rates(check, finding)
    if empty:
        yield "No check compares groups one by one."


def _impact(check: Checked, one: Mapping[str, Any]) -> Iterator[str]:
    what = "Unitary" if len(one["over"]) == 1 else "Intersectional"
    yield f"{what}, {text(check.name)}, by {text(' and '.join(one['over']))}:"
    headings = [heading.replace("\n", " ") for heading in columns(one)]
    shown = listed(one, MOST_GROUPS)
    yield table([*headings[:-1], "note"], (cells(one, each) for each in shown), right=range(1, 7))
    more = len(one["categories"]) - len(shown)
    told = [*remarks(one), *([f"{more:,} more categories are in the JSON of the audit"] if more else [])]
    yield _list(text(sentence) for sentence in told)


def _rates(check: Checked, finding: Finding) -> Iterator[str]:
    what = "Unitary" if isinstance(finding.about, tuple) and len(finding.about) == 1 else "Intersectional"
    score = "ratio to the highest rate" if finding.least else "rate"
    yield f"{what}, {text(check.name)}, by {text(subject_of(finding))}:"
    rows = []
    for group in shown_groups(finding.groups, MOST_GROUPS):
        if isinstance(group, str):
            rows.append((group, "", "", "", ""))
        elif not group.estimate.n:
            rows.append((str(group), NO_DATA, "", "", "0"))
        else:
            rows.append((str(group), *_score(group.estimate)))
    yield table(["group", score, "interval", "level", "n"], rows, right=range(1, 5))


def _caveats(audit: Audit) -> Iterator[str]:
    yield from LIMITS
    if audit.checks:
        yield (
            f"The intervals of a check hold together at its level; those of all checks together at "
            f"{100 * audit.level:.6g} % at least."
        )
    yield from (f"{text(check.name)} could not be run: {text(check.error)}" for check in audit.checks if check.error)
    notes = dict.fromkeys(audit.notes)
    told = {NO_CLAIM}
    for check in audit.checks:
        if check.found is not None:
            notes |= dict.fromkeys(check.found.notes)
        if isinstance(check.found, Result):
            told |= {sentence for one in tables_of(check.found) for sentence in remarks(one)}
    yield from _some([text(note) for note in notes if note not in told], MOST_NOTES, "notes")
    yield "Nothing here is a claim of compliance with any law, rule or standard."


def _again(audit: Audit) -> Iterator[str]:
    if audit.command:
        yield block(audit.command, "sh")
    facts = [f"seed: {code(audit.seed)}", f"digest of what was found: {code(audit.digest)}"]
    if audit.config.get("file"):
        facts.append(f"configuration: {code(audit.config['file'])}")
    facts.append(f"versions: {', '.join(f'{text(name)} {text(one)}' for name, one in sorted(audit.versions.items()))}")
    yield _list(facts)
