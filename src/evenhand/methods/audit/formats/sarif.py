"""An audit as SARIF 2.1.0, the JSON of analysis results that code scanning reads."""

from __future__ import annotations

import hashlib
import math
import os
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from evenhand.methods.audit import messages
from evenhand.methods.audit.audit_result import as_audit
from evenhand.methods.audit.formats.ci import NAME, Places, apart, cut, sentences
from evenhand.methods.audit.formats.github import in_actions
from evenhand.methods.audit.statements import all_statements
from evenhand.report.lines import printable
from evenhand.results.baseline import NEW, SAME, UNSURE
from evenhand.runtime import json_file
from evenhand.statistics.estimate import StopReason, Verdict
from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from evenhand.methods.audit.audit_result import Audit
    from evenhand.report.statement import Statement
    from evenhand.results.protocol import Evidence

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {
    Verdict.FAIL: ("fail", "error"),
    Verdict.UNDECIDED: ("fail", "warning"),
    Verdict.PASS: ("pass", "none"),
}
"""The kind and level of a result by its verdict.

SARIF calls what is undecided "open", but wants the level "none" with it, so that nobody would be
shown what is no pass.
"""
NO_VERDICT = ("informational", "none")


def to_sarif(found: Evidence, *, every: bool = True) -> str:
    """Return an audit as SARIF: a result for each statement, where the check is declared.

    Parameters
    ----------
    every
        Whether what passes, and what has no limit, is included. GitHub makes an alert of any
        result, whatever its kind, so that a file for its code scanning is better without.

    >>> import json
    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.methods.audit.check_result import CheckResult
    >>> from evenhand.runtime.budget import Spent
    >>> check = CheckResult("search sex", "search", {}, error="it crashed")
    >>> run = json.loads(to_sarif(Audit((check,), 0, Spent(0, 0, 0.0))))["runs"][0]
    >>> run["results"][0]["level"], run["invocations"][0]["executionSuccessful"]
    ('warning', False)
    """
    audit = as_audit(found)
    places = Places.of(audit)
    jobs = list(dict.fromkeys(check.job for check in audit.checks))
    run: dict[str, Any] = {
        "tool": {"driver": _driver(audit, jobs)},
        "automationDetails": {"id": _run_id(places), "guid": _guid(audit.digest)},
        "invocations": [_invocation(audit)],
        "columnKind": "unicodeCodePoints",
        "results": _results(audit, jobs, places, every=every),
    }
    digest = audit.baseline.get("digest")
    if digest:
        run["baselineGuid"] = _guid(digest)
    return json_file.dump({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _run_id(places: Places) -> str:
    """Return what runs of the same configuration share."""
    if not places.file:
        return "evenhand/"
    path = quote(printable(places.file), safe="/")
    return f"evenhand/{path}/"


def _results(
    audit: Audit, jobs: list[str], places: Places, *, every: bool
) -> list[dict[str, Any]]:
    results = []
    marks: set[str] = set()
    for statement in all_statements(audit):
        if every or statement.verdict in (Verdict.FAIL, Verdict.UNDECIDED):
            mark = apart(_mark(statement), marks)
            results.append(_result(statement, jobs, places, mark))
    return results


def _driver(audit: Audit, jobs: list[str]) -> dict[str, Any]:
    driver: dict[str, Any] = {"name": "evenhand"}
    version = audit.versions.get("evenhand")
    if version:
        driver["version"] = version
    driver["rules"] = [_rule(job) for job in jobs]
    return driver


def _rule(job: str) -> dict[str, Any]:
    short, full = verb_of(job).rule
    if not short and not full:
        name = cut(job, NAME)
        short = messages.RULE_OF_OTHER_JOB.format(job=name)
        full = messages.RULE_OF_OTHER_JOB_IN_FULL.format(job=name)
    help_text = messages.RULE_HELP.format(rule=full, help=messages.SARIF_HELP)
    return {
        "id": _rule_id(job),
        "shortDescription": {"text": _text(short)},
        "fullDescription": {"text": _text(full)},
        "help": {"text": _text(help_text)},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["fairness"]},
    }


def _rule_id(job: str) -> str:
    return f"evenhand/{cut(job, NAME)}"


def _invocation(audit: Audit) -> dict[str, Any]:
    """Return how the run went; what was found has no part in whether it was successful."""
    broken = [
        f"{check.name}: {check.error}" for check in audit.checks if check.found is None
    ]
    for check in audit.checks:
        if check.interrupted:
            broken.append(f"{check.name}: {StopReason.INTERRUPTED}")
    notifications = [_notification("error", sentence) for sentence in broken]
    notifications += [_notification("note", note) for note in audit.notes]
    invocation: dict[str, Any] = {}
    if audit.command:
        invocation["commandLine"] = printable(audit.command)
    return {
        **invocation,
        "executionSuccessful": not broken,
        "exitCode": audit.exit_code,
        "exitCodeDescription": str(audit.verdict or messages.NO_LIMIT_WAS_GIVEN),
        "toolExecutionNotifications": notifications,
    }


def _notification(level: str, sentence: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": _text(cut(sentence))}}


def _result(
    statement: Statement, jobs: list[str], places: Places, mark: str
) -> dict[str, Any]:
    job = statement.check.job
    kind, level = NO_VERDICT
    if statement.verdict is not None:
        kind, level = LEVELS[statement.verdict]
    result: dict[str, Any] = {
        "ruleId": _rule_id(job),
        "ruleIndex": jobs.index(job),
        "kind": kind,
        "level": level,
        "message": {"text": _text(_message(statement))},
    }
    if places.file:
        place = {
            "artifactLocation": {"uri": quote(places.file, safe="/")},
            "region": {"startLine": places.line(statement)},
        }
        result["locations"] = [{"physicalLocation": place}]
    # The first is the only one that GitHub reads, and would else be made of the line, which several
    # results share.
    result["partialFingerprints"] = {"primaryLocationLineHash": mark, "evenhand/v1": mark}
    if statement.held is not None:
        states = {NEW: "new", SAME: "unchanged", UNSURE: "unchanged"}
        result["baselineState"] = states.get(statement.held.state, "updated")
    result["properties"] = _properties(statement)
    return result


def _message(statement: Statement) -> str:
    """Return the claim as a sentence by itself, and then the rest.

    A list of results has room for the first sentence alone.
    """
    claim, *others = sentences(statement)
    verdict = f"verdict: {statement.word}"
    parts = [claim, "; ".join([*others, verdict])]
    if statement.case is not None:
        parts.append(f"For example {cut(statement.case)}")
    return " ".join(f"{part}." for part in parts)


def _text(text: str) -> str:
    """Return text with nothing in it that SARIF would take for a placeholder or a link.

    >>> _text("{0} of [sex](1)")
    '{{0}} of \\\\[sex\\\\](1)'
    """
    text = text.replace("{", "{{").replace("}", "}}")
    if "](" not in text:
        return text
    return text.replace("[", "\\[").replace("]", "\\]")


def _mark(statement: Statement) -> str:
    """Return a hash of what a statement is about, whatever its values, claim and verdict are."""
    check = statement.check
    key = statement.about if statement.finding is None else statement.finding.key
    kind = str(check.settings.get("kind", ""))
    identity = "\0".join((check.job, kind, key))
    digest = hashlib.sha256(identity.encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:32]


def _guid(digest: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, digest))


def _properties(statement: Statement) -> dict[str, Any]:
    score = {} if statement.estimate is None else statement.estimate.to_dict()
    properties = {
        "check": cut(statement.check.name, NAME),
        "about": cut(statement.about),
        "verdict": statement.word,
        **score,
        "limit": statement.limit,
    }
    if statement.least:
        properties["least"] = True
    if statement.finding is not None and statement.finding.by_construction:
        properties["by_construction"] = True
    if statement.finding is not None and statement.finding.unfavoured:
        properties["unfavoured"] = True
    if statement.held is not None:
        properties["baseline"] = statement.held.state
        if statement.held.change is not None:
            properties["change"] = statement.held.change.to_dict()
            properties["tolerance"] = statement.held.tolerance
    return {key: _known(value) for key, value in properties.items()}


def _known(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return cut(value) if isinstance(value, str) else value


def sarif_here(found: Evidence) -> str:
    """Return SARIF as suits where this runs.

    Code scanning on GitHub makes an alert of whatever the file holds, so that there it has only
    what does not pass.
    """
    return to_sarif(found, every=not in_actions(os.environ))
