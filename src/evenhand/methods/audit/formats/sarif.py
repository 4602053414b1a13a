"""An audit as SARIF 2.1.0, the JSON of analysis results that code scanning reads."""

from __future__ import annotations

import hashlib
import math
import os
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from evenhand.methods.audit.audit_result import as_audit
from evenhand.methods.audit.formats.ci import NAME, Places, apart, cut, sentences
from evenhand.methods.audit.formats.github import in_actions
from evenhand.methods.audit.statements import all_statements
from evenhand.report.lines import printable
from evenhand.results.baseline import NEW, SAME
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
_HELP = (
    "An error fails against its engineering threshold; a warning is undecided, which is not a pass."
    " Each result holds the estimate, its interval, its level and how many inputs it rests on. The"
    " report has the simplest case and how to run it again."
)


def to_sarif(found: Evidence, *, every: bool = True) -> str:
    """Return an audit as SARIF: a result for each statement, where the check is declared.

    Parameters
    ----------
    every
        Whether what passes, and what has no limit, is told too. GitHub makes an alert of any
        result, whatever its kind, so that a file for its code scanning is better without.

    >>> import json
    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.methods.audit.check_result import CheckResult
    >>> from evenhand.runtime.budget import Spent
    >>> audit = Audit((CheckResult("search sex", "search", {}, error="it crashed"),), 0, Spent(0, 0, 0.0))
    >>> run = json.loads(to_sarif(audit))["runs"][0]
    >>> run["results"][0]["level"], run["invocations"][0]["executionSuccessful"]
    ('warning', False)
    """
    audit = as_audit(found)
    told = [
        one
        for one in all_statements(audit)
        if every or one.verdict in (Verdict.FAIL, Verdict.UNDECIDED)
    ]
    places, jobs, marks = (
        Places.of(audit),
        list(dict.fromkeys(check.job for check in audit.checks)),
        set[str](),
    )
    run: dict[str, Any] = {
        "tool": {"driver": _driver(audit, jobs)},
        "automationDetails": {
            "id": (
                f"evenhand/{quote(printable(places.file), safe='/')}/"
                if places.file
                else "evenhand/"
            ),
            "guid": _guid(audit.digest),
        },
        "invocations": [_invocation(audit)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, jobs, places, apart(_mark(one), marks)) for one in told],
    }
    if digest := audit.baseline.get("digest"):
        run["baselineGuid"] = _guid(digest)
    return json_file.dump({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _driver(audit: Audit, jobs: list[str]) -> dict[str, Any]:
    version = audit.versions.get("evenhand")
    return {
        "name": "evenhand",
        **({"version": version} if version else {}),
        "rules": [_rule(job) for job in jobs],
    }


def _rule(job: str) -> dict[str, Any]:
    other = (
        f"The {cut(job, NAME)} of the software",
        f"What {cut(job, NAME)} found of the software.",
    )
    rule = verb_of(job).rule
    short, full = rule if any(rule) else other
    return {
        "id": _rule_id(job),
        "shortDescription": {"text": _text(short)},
        "fullDescription": {"text": _text(full)},
        "help": {"text": _text(f"{full} {_HELP}")},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["fairness"]},
    }


def _rule_id(job: str) -> str:
    return f"evenhand/{cut(job, NAME)}"


def _invocation(audit: Audit) -> dict[str, Any]:
    """Return how the run went; what was found has no part in whether it was successful."""
    broken = [f"{check.name}: {check.error}" for check in audit.checks if check.found is None]
    broken += [
        f"{check.name}: {StopReason.INTERRUPTED}" for check in audit.checks if check.interrupted
    ]
    notes = [("error", text) for text in broken] + [("note", text) for text in audit.notes]
    return {
        **({"commandLine": printable(audit.command)} if audit.command else {}),
        "executionSuccessful": not broken,
        "exitCode": audit.exit_code,
        "exitCodeDescription": str(audit.verdict or "no limit was given"),
        "toolExecutionNotifications": [
            {"level": level, "message": {"text": _text(cut(text))}} for level, text in notes
        ],
    }


def _result(one: Statement, jobs: list[str], places: Places, mark: str) -> dict[str, Any]:
    kind, level = NO_VERDICT if one.verdict is None else LEVELS[one.verdict]
    found: dict[str, Any] = {
        "ruleId": _rule_id(one.check.job),
        "ruleIndex": jobs.index(one.check.job),
        "kind": kind,
        "level": level,
        "message": {"text": _text(_message(one))},
    }
    if places.file:
        place = {
            "artifactLocation": {"uri": quote(places.file, safe="/")},
            "region": {"startLine": places.line(one)},
        }
        found["locations"] = [{"physicalLocation": place}]
    # The first is the only one that GitHub reads, and would else be made of the line, which several
    # results share.
    found["partialFingerprints"] = {"primaryLocationLineHash": mark, "evenhand/v1": mark}
    if one.held is not None:
        state = {NEW: "new", SAME: "unchanged"}.get(one.held.state, "updated")
        found["baselineState"] = state
    return {**found, "properties": _properties(one)}


def _message(one: Statement) -> str:
    """Return the claim as a sentence by itself, which is all that a list of results has room for,
    and the rest.
    """
    claim, *rest = sentences(one)
    parts = [claim, "; ".join([*rest, f"verdict: {one.word}"])]
    if one.case is not None:
        parts.append(f"For example {cut(one.case)}")
    return "".join(f"{part}. " for part in parts).rstrip()


def _text(text: str) -> str:
    """Return text with nothing in it that SARIF would take for a placeholder or a link.

    >>> _text("{0} of [sex](1)")
    '{{0}} of \\\\[sex\\\\](1)'
    """
    text = text.replace("{", "{{").replace("}", "}}")
    return text.replace("[", "\\[").replace("]", "\\]") if "](" in text else text


def _mark(one: Statement) -> str:
    """Return a hash of what a statement is about, which stays when values, claims and the verdict
    change.
    """
    key = one.about if one.finding is None else one.finding.key
    parts = (one.check.job, str(one.check.settings.get("kind", "")), key)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _guid(digest: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, digest))


def _properties(one: Statement) -> dict[str, Any]:
    score = {} if one.estimate is None else one.estimate.to_dict()
    known = {
        "check": cut(one.check.name, NAME),
        "about": cut(one.about),
        "verdict": one.word,
        **score,
        "limit": one.limit,
    }
    known |= {"least": True} if one.least else {}
    known |= {"baseline": one.held.state} if one.held is not None else {}
    return {key: _known(value) for key, value in known.items()}


def _known(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return cut(value) if isinstance(value, str) else value


def sarif_here(found: Evidence) -> str:
    """Return SARIF as suits where this runs: code scanning on GitHub makes an alert of whatever the
    file holds.
    """
    return to_sarif(found, every=not in_actions(os.environ))
