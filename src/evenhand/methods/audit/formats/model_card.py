"""A fragment of a model card: what an audit found, under the headings of Mitchell et al. (2019).

The headings follow the paper and the cards of Hugging Face: factors, metrics, evaluation data,
results, unitary and intersectional results, caveats. A person who reads the card alone must not
take it for more than it says.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit import messages
from evenhand.methods.audit.audit_result import as_audit
from evenhand.methods.audit.formats.markdown_escape import block, code, table, text
from evenhand.methods.audit.statements import all_statements
from evenhand.report.definitions import LIMITS
from evenhand.report.finding_text import NO_DATA, shown_groups, subject_of
from evenhand.runtime import number_text
from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.report.finding_table import GroupTable
    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Finding
    from evenhand.results.protocol import Evidence
    from evenhand.statistics.estimate import Estimate

MOST_ROWS = 60
MOST_GROUPS = 40
MOST_NOTES = 20
"""The most statements, categories of a table, and notes that a card lists; the JSON of the audit
has all.
"""
_HEADINGS = (
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
_NUMBERS = (3, 4, 5, 6, 7)
"""The places of the headings of numbers."""


def to_card(found: Evidence) -> str:
    """Return a fragment of a model card in Markdown, in which all that others wrote is text.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.runtime.budget import Spent
    >>> audit = Audit((), 0, Spent(0, 0, 0.0), subject="a loan program")
    >>> print(*to_card(audit).splitlines()[:3], sep="\\n")
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
        messages.CARD_RESULTS_BY_GROUP,
        *_groups(audit),
        messages.CARD_CAVEATS,
        _list(_caveats(audit)),
        messages.CARD_REPRODUCE,
        *_again(audit),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(audit: Audit) -> Iterator[str]:
    yield "## Fairness evaluation"
    verdict = text(audit.verdict or messages.NO_LIMIT_IN_STORY)
    sentence = messages.CARD_VERDICT.format(verdict=verdict)
    if audit.subject:
        subject = text(audit.subject)
        sentence = messages.CARD_VERDICT_OF.format(subject=subject, verdict=verdict)
    if audit.baseline:
        baseline = text(audit.held_against)
        sentence = messages.CARD_BASELINE.format(verdict=sentence, baseline=baseline)
    yield sentence


def _list(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _some(sentences: Sequence[str], most: int, what: str) -> list[str]:
    """Return the first sentences, and one that says how many more there are."""
    shown = list(sentences[:most])
    left_out = len(sentences) - most
    if left_out > 0:
        shown.append(messages.CARD_MORE.format(count=f"{left_out:,}", what=what))
    return shown


def _factors(audit: Audit) -> Iterator[str]:
    """Yield the protected characteristics and their values, and what else was taken together."""
    protected = protected_features(audit)
    if protected:
        yield messages.CARD_PROTECTED
        lines = []
        for name, feature in protected.items():
            lines.append(f"{text(name)}: {text(_values(feature))}")
        yield _list(lines)
    tested: dict[str, None] = {}  # a set that keeps the order
    for statement in all_statements(audit):
        if statement.check.found is not None:
            tested[statement.about] = None
    if tested:
        names = [text(name) for name in _some(list(tested), MOST_NOTES, "factors")]
        yield messages.CARD_TESTED.format(factors="; ".join(names))
    if not protected and not tested:
        yield messages.CARD_NO_FACTORS


def protected_features(audit: Audit) -> dict[str, Mapping[str, Any]]:
    """Return the protected features of the audit and of all its checks, by name."""
    spaces: list[Mapping[str, Any]] = [audit.space]
    for check in audit.checks:
        spaces.append(getattr(check.found, "space", None) or {})
    features: dict[str, Mapping[str, Any]] = {}
    for space in spaces:
        protected = space.get("protected", ())
        for feature in space.get("features", ()):
            if feature["name"] in protected:
                features.setdefault(feature["name"], feature)
    return features


def _values(feature: Mapping[str, Any]) -> str:
    if feature["kind"] != "category":
        return _range(feature)
    levels = [str(level) for level in feature["levels"]]
    shown = ", ".join(levels[:MOST_NOTES])
    left_out = len(levels) - MOST_NOTES
    if left_out > 0:
        return messages.CARD_MORE_LEVELS.format(levels=shown, count=f"{left_out:,}")
    return shown


def _range(feature: Mapping[str, Any]) -> str:
    low = f"{feature['low']:g}"
    high = f"{feature['high']:g}"
    if "step" not in feature:
        return messages.CARD_RANGE.format(low=low, high=high)
    step = f"{feature['step']:g}"
    return messages.CARD_RANGE_IN_STEPS.format(low=low, high=high, step=step)


def _metrics(audit: Audit) -> Iterator[str]:
    """Yield what was measured, and how the intervals and verdicts are to be read."""
    jobs = [check.job if check.found is None else check.found.job for check in audit.checks]
    definitions = []
    for job in dict.fromkeys(jobs):
        verb = verb_of(job)
        if verb.definition:
            definitions.append(f"{verb.name}: {verb.definition}")
    for check in audit.checks:
        definitions += [group_table.definition for group_table in _tables(check)]
    if definitions:
        yield _list(dict.fromkeys(definitions))
    else:
        yield messages.NOTHING_MEASURED
    yield messages.CARD_READING


def _tables(check: CheckResult) -> list[GroupTable]:
    """Return the tables of groups that the verb of a check makes, of most verbs none."""
    if check.found is None:
        return []
    make = verb_of(check.found.job).group_tables
    return [] if make is None else list(make(check.found, MOST_GROUPS))


def _notes(check: CheckResult) -> Sequence[str]:
    """Return the notes of a check that no other part of the card has."""
    if check.found is None:
        return ()
    own = verb_of(check.found.job).card_notes
    return check.found.notes if own is None else tuple(own(check.found))


def _data(audit: Audit) -> Iterator[str]:
    largest: dict[tuple[str, str], int] = {}
    for statement in all_statements(audit):
        estimate = statement.estimate
        if estimate is not None:
            key = statement.check.name, _population(estimate, statement.check.job)
            largest[key] = max(largest.get(key, 0), estimate.n)
    if not largest:
        yield messages.CARD_NO_DATA
        return
    rows = [(check, population, f"{n:,}") for (check, population), n in largest.items()]
    yield table(["check", "population", "n"], rows, right=[2])


def _population(estimate: Estimate, job: str) -> str:
    if estimate.unit == "count":
        return messages.CARD_CHOSEN_INPUTS.format(job=job)
    return estimate.population or messages.CARD_DECLARED_POPULATION


def _results(audit: Audit) -> Iterator[str]:
    statements = all_statements(audit)
    if not statements:
        yield messages.CARD_NO_RESULTS
        return
    rows = [_row(statement) for statement in statements[:MOST_ROWS]]
    yield table(_HEADINGS, rows, right=_NUMBERS)
    left_out = len(statements) - MOST_ROWS
    if left_out > 0:
        yield messages.CARD_MORE_STATEMENTS.format(count=f"{left_out:,}")


def _row(statement: Statement) -> tuple[str, ...]:
    verdict = statement.word
    if statement.held is not None:
        verdict = f"{verdict} ({statement.held.state})"
    return (
        statement.check.name,
        statement.about,
        "; ".join((statement.claim, *statement.remarks)),
        *_score(statement.estimate),
        statement.threshold,
        verdict,
    )


def _score(estimate: Estimate | None) -> tuple[str, str, str, str]:
    """Return the value, the interval, the level and the n of an estimate of any kind."""
    if estimate is None:
        return "", "", "", ""
    n = number_text.count(estimate.n)
    if estimate.unit == "count":
        return estimate.value_text, "", "", n
    level = estimate.method
    if estimate.level < 1:
        level = number_text.percent_level(estimate.level)
    if estimate.descriptive:
        level = messages.DESCRIPTIVE_LEVEL.format(level=level)
    if math.isnan(estimate.value):
        return "unknown", "", "", n
    return estimate.value_text, estimate.interval_text, level, n


def _groups(audit: Audit) -> Iterator[str]:
    """Yield the tables of groups that verbs make; of checks without any, the groups of findings."""
    empty = True
    for check in audit.checks:
        for part in _groups_of_check(check):
            empty = False
            yield part
    if empty:
        yield messages.CARD_NO_GROUPS


def _groups_of_check(check: CheckResult) -> Iterator[str]:
    if check.found is None:
        return
    tables = _tables(check)
    if tables:
        for group_table in tables:
            yield from _group_table(check, group_table)
        return
    shown: list[Any] = []
    for finding in check.found.findings:
        # A difference and a ratio compare the same groups.
        if finding.groups and finding.groups not in shown:
            shown.append(finding.groups)
            yield from _rates(check, finding)


def _group_heading(check: CheckResult, features: str, *, unitary: bool) -> str:
    name = text(check.name)
    shown = text(features)
    if unitary:
        return messages.CARD_UNITARY.format(check=name, features=shown)
    return messages.CARD_INTERSECTIONAL.format(check=name, features=shown)


def _group_table(check: CheckResult, group_table: GroupTable) -> Iterator[str]:
    over = group_table.over
    yield _group_heading(check, " and ".join(over), unitary=len(over) == 1)
    yield table(group_table.headings, group_table.rows, right=group_table.numbers)
    remarks = list(group_table.remarks)
    if group_table.left_out:
        count = number_text.count(group_table.left_out)
        remarks.append(messages.CARD_MORE_CATEGORIES.format(count=count))
    yield _list(text(remark) for remark in remarks)


def _rates(check: CheckResult, finding: Finding) -> Iterator[str]:
    unitary = isinstance(finding.about, tuple) and len(finding.about) == 1
    yield _group_heading(check, subject_of(finding), unitary=unitary)
    rows = []
    for group in shown_groups(finding.groups, MOST_GROUPS):
        if isinstance(group, str):
            rows.append((group, "", "", "", ""))
        elif not group.estimate.n:
            rows.append((str(group), NO_DATA, "", "", "0"))
        else:
            rows.append((str(group), *_score(group.estimate)))
    score = messages.CARD_RATIO_HEADING if finding.least else "rate"
    yield table(["group", score, "interval", "level", "n"], rows, right=range(1, 5))


def _caveats(audit: Audit) -> Iterator[str]:
    yield from LIMITS
    if audit.checks:
        yield messages.CARD_LEVEL.format(level=number_text.percent_level(audit.level))
    notes = dict.fromkeys(audit.notes)
    for check in audit.checks:
        if check.error:
            error = text(check.error)
            yield messages.CARD_NOT_RUN.format(check=text(check.name), error=error)
        notes |= dict.fromkeys(_notes(check))
    yield from _some([text(note) for note in notes], MOST_NOTES, "notes")
    yield messages.CARD_NO_COMPLIANCE


def _again(audit: Audit) -> Iterator[str]:
    if audit.command:
        yield block(audit.command, "sh")
    facts = [
        f"seed: {code(audit.seed)}",
        messages.CARD_DIGEST.format(digest=code(audit.digest)),
    ]
    if audit.config.get("file"):
        facts.append(f"configuration: {code(audit.config['file'])}")
    versions = []
    for name, version in sorted(audit.versions.items()):
        versions.append(f"{text(name)} {text(version)}")
    facts.append(f"versions: {', '.join(versions)}")
    yield _list(facts)
