"""A model card's fragment: what an audit found, under the headings that model cards have (Mitchell
et al., 2019).

The headings follow the paper and the cards of Hugging Face: factors, metrics, evaluation data,
results, unitary and intersectional results, caveats. A person who reads the card alone must not
take it for more than it says.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.audit_result import as_audit
from evenhand.methods.audit.formats.markdown_escape import block, code, table, text
from evenhand.methods.audit.statements import all_statements, statements
from evenhand.report.definitions import LIMITS
from evenhand.report.finding_text import NO_DATA, shown_groups, subject_of
from evenhand.runtime import number_text
from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.report.finding_table import GroupTable
    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Finding
    from evenhand.results.protocol import Evidence
    from evenhand.statistics.estimate import Estimate

MOST_ROWS, MOST_GROUPS, MOST_NOTES = 60, 40, 20
"""The most statements, categories of a table, and notes that a card lists; the JSON of the audit
has all.
"""


def to_card(found: Evidence) -> str:
    """Return a fragment of a model card in Markdown, with everything that data, users or software
    wrote kept as text.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.runtime.budget import Spent
    >>> print(*to_card(Audit((), 0, Spent(0, 0, 0.0), subject="a loan program")).splitlines()[:3], sep="\\n")
    ## Fairness evaluation
    <BLANKLINE>
    Software under test: a loan program. Verdict: no limit given.
    """
    audit = as_audit(found)
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
    held = f" Held against a baseline: {text(audit.held_against)}." if audit.baseline else ""
    yield f"{what}Verdict: {text(audit.verdict or 'no limit given')}.{held}"


def _list(sentences: Any) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _some(sentences: Sequence[str], most: int, what: str) -> list[str]:
    """Return the first sentences, and one that says how many more there are."""
    left = len(sentences) - most
    return (
        [*sentences[:most], f"… {left:,} more {what} in the JSON of the audit"]
        if left > 0
        else list(sentences)
    )


def _factors(audit: Audit) -> Iterator[str]:
    """Tell the protected characteristics and their values, and what else was taken together."""
    tested = dict.fromkeys(
        one.about for one in all_statements(audit) if one.check.found is not None
    )
    spaces = [audit.space, *(getattr(check.found, "space", None) or {} for check in audit.checks)]
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
        yield (
            "Tested:"
            f" {'; '.join(text(name) for name in _some(list(tested), MOST_NOTES, 'factors'))}."
        )
    if not features and not tested:
        yield "None were declared."


def _values(feature: Mapping[str, Any]) -> str:
    if feature["kind"] != "category":
        step = f" in steps of {feature['step']:g}" if "step" in feature else ""
        return f"{feature['low']:g} to {feature['high']:g}{step}"
    levels = [str(level) for level in feature["levels"]]
    return ", ".join(levels[:MOST_NOTES]) + (
        f", … {len(levels) - MOST_NOTES:,} more" if levels[MOST_NOTES:] else ""
    )


def _metrics(audit: Audit) -> Iterator[str]:
    """Define what was measured, and say how the intervals and verdicts are to be read."""
    jobs = [check.job if check.found is None else check.found.job for check in audit.checks]
    verbs = [verb_of(job) for job in dict.fromkeys(jobs)]
    defined = [f"{verb.name}: {verb.definition}" for verb in verbs if verb.definition]
    for check in audit.checks:
        defined += [one.definition for one in _tables(check)]
    yield _list(dict.fromkeys(defined)) if defined else "Nothing was measured."
    yield (
        "Each value stands with an interval, the number n that it rests on and the level at which"
        " the intervals of its check hold together. Limits are engineering thresholds, chosen by"
        " those who ran the audit."
    )


def _tables(check: CheckResult) -> list[GroupTable]:
    """Return the tables of groups that the verb of a check makes, of most verbs none."""
    if check.found is None:
        return []
    make = verb_of(check.found.job).group_tables
    return [] if make is None else list(make(check.found, MOST_GROUPS))


def _notes(check: CheckResult) -> Sequence[str]:
    """Return the notes of a check that no other part of the card tells."""
    if check.found is None:
        return ()
    own = verb_of(check.found.job).card_notes
    return check.found.notes if own is None else tuple(own(check.found))


def _data(audit: Audit) -> Iterator[str]:
    rows: dict[tuple[str, str], int] = {}
    for check in audit.checks:
        for one in statements(check):
            score = one.estimate
            if score is None:
                continue
            asked = f"inputs that a {check.job} chose, which are no population"
            population = (
                asked if score.unit == "count" else score.population or "as the check declares it"
            )
            key = check.name, population
            rows[key] = max(rows.get(key, 0), score.n)
    if not rows:
        yield "No data was evaluated."
        return
    yield table(
        ["check", "population", "n"], [(*key, f"{n:,}") for key, n in rows.items()], right=[2]
    )


def _results(audit: Audit) -> Iterator[str]:
    told = all_statements(audit)
    if not told:
        yield "There are no results."
        return
    headings = (
        "check",
        "about",
        "claim",
        "value",
        "interval",
        "level",
        "n",
        "engineering threshold",
        "verdict",
    )
    yield table(headings, (_row(one) for one in told[:MOST_ROWS]), right=(3, 4, 5, 6, 7))
    if len(told) > MOST_ROWS:
        yield f"… {len(told) - MOST_ROWS:,} more statements in the JSON of the audit."


def _row(one: Statement) -> tuple[str, ...]:
    verdict = one.word if one.held is None else f"{one.word} ({one.held.state})"
    return (one.check.name, one.about, one.claim, *_score(one.estimate), one.threshold, verdict)


def _score(found: Estimate | None) -> tuple[str, str, str, str]:
    """Return the value, the interval, the level and the n of an estimate of any kind."""
    if found is None:
        return "", "", "", ""
    n = number_text.count(found.n)
    if found.unit == "count":
        return found.value_text, "", "", n
    level = number_text.percent_level(found.level) if found.level < 1 else found.method
    if found.unit == "amount":
        return (
            number_text.amount(found.value),
            number_text.amount_between(found.low, found.high),
            level,
            n,
        )
    if math.isnan(found.value):
        return "unknown", "", "", n
    ends = number_text.between(found.low, found.high) if found.level < 1 else ""
    return number_text.percent(found.value), ends, level, n


def _groups(audit: Audit) -> Iterator[str]:
    """Tell the tables of `impact`; of checks that have none, the groups of their findings."""
    empty, seen = True, list[Any]()
    for check in audit.checks:
        if check.found is None:
            continue
        tables = _tables(check)
        for one in tables:
            empty = False
            yield from _group_table(check, one)
        for finding in () if tables else check.found.findings:
            key = check.name, finding.groups
            if finding.groups and key not in seen:
                seen.append(key)
                empty = False
                yield from _rates(check, finding)
    if empty:
        yield "No check compares groups one by one."


def _group_table(check: CheckResult, one: GroupTable) -> Iterator[str]:
    what = "Unitary" if len(one.over) == 1 else "Intersectional"
    yield f"{what}, {text(check.name)}, by {text(' and '.join(one.over))}:"
    yield table(one.headings, one.rows, right=one.numbers)
    told = list(one.remarks)
    if one.left_out:
        told.append(
            f"{number_text.count(one.left_out)} more categories are in the JSON of the audit"
        )
    yield _list(text(sentence) for sentence in told)


def _rates(check: CheckResult, finding: Finding) -> Iterator[str]:
    what = (
        "Unitary"
        if isinstance(finding.about, tuple) and len(finding.about) == 1
        else "Intersectional"
    )
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
            "The intervals of a check hold together at its level; those of all checks together at "
            f"{number_text.percent_level(audit.level)} at least."
        )
    yield from (
        f"{text(check.name)} could not be run: {text(check.error)}"
        for check in audit.checks
        if check.error
    )
    notes = dict.fromkeys(audit.notes)
    for check in audit.checks:
        notes |= dict.fromkeys(_notes(check))
    yield from _some([text(note) for note in notes], MOST_NOTES, "notes")
    yield "Nothing here is a claim of compliance with any law, rule or standard."


def _again(audit: Audit) -> Iterator[str]:
    if audit.command:
        yield block(audit.command, "sh")
    facts = [f"seed: {code(audit.seed)}", f"digest of what was found: {code(audit.digest)}"]
    if audit.config.get("file"):
        facts.append(f"configuration: {code(audit.config['file'])}")
    facts.append(
        "versions:"
        f" {', '.join(f'{text(name)} {text(one)}' for name, one in sorted(audit.versions.items()))}"
    )
    yield _list(facts)
