"""What every verb returns is of one kind: the same attributes, the same methods, the same beginning
of its JSON.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping

import pytest

from evenhand.results.document import EXIT_CODES, FORMAT, worst_of
from evenhand.results.evidence import Finding
from evenhand.results.protocol import Evidence
from evenhand.runtime.budget import Spent
from evenhand.statistics.estimate import StopReason
from evenhand.verbs import VERBS
from tests.support.evidence import MAKERS, made

METHODS = (
    "story",
    "to_frame",
    "to_text",
    "to_html",
    "to_dict",
    "to_json",
    "content",
    "from_dict",
    "from_json",
)
KINDS = list(dict.fromkeys(verb.document() for verb in VERBS.values()))
evidence = pytest.mark.parametrize("name", MAKERS)


@evidence
def test_it_has_the_attributes_of_all_evidence(name):
    found = made(name)
    assert isinstance(found, Evidence)
    assert type(found) in KINDS
    assert found.job in VERBS
    assert isinstance(found.seed, int)
    assert 0 < found.level <= 1
    assert isinstance(found.spent, Spent)
    assert isinstance(found.stop, StopReason)
    assert all(isinstance(note, str) for note in found.notes)
    assert isinstance(found.versions, Mapping)
    assert "evenhand" in found.versions
    assert all(isinstance(finding, Finding) for finding in found.findings)
    assert all(isinstance(part, Evidence) for part in found.parts)
    assert found.interrupted is (found.stop is StopReason.INTERRUPTED)
    assert len(found.digest) == 64


@evidence
def test_its_json_begins_alike(name):
    found = made(name)
    table = json.loads(found.to_json())
    assert list(table)[:6] == ["format", "job", "verdict", "seed", "level", "stop"]
    assert list(table)[-1] == "digest"
    assert {"versions", "notes", "spent"} <= set(table)
    assert (table["format"], table["job"], table["digest"]) == (
        FORMAT,
        found.job,
        found.digest,
    )
    assert StopReason[table["stop"].upper()] is found.stop
    for finding in table.get("findings", ()):
        assert list(finding)[:3] == ["key", "score", "unit"]
        assert finding["unit"] in ("rate", "count", "amount")


@evidence
def test_the_worst_finding_decides(name):
    found = made(name)
    # These know of checks that failed, and of side effects.
    if found.job not in ("audit", "repair"):
        assert found.verdict == worst_of(finding.verdict for finding in found.findings)
    if found.job != "audit":
        assert found.exit_code == EXIT_CODES[found.verdict]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_its_methods_are_called_alike(kind):
    assert issubclass(kind, Evidence)
    for name in METHODS:
        mine, usual = (inspect.signature(getattr(one, name)) for one in (kind, Evidence))
        assert list(mine.parameters.values()) == list(usual.parameters.values()), name
    for name in ("check", "plot"):  # some take what is to be checked or drawn, too
        parameters = inspect.signature(getattr(kind, name)).parameters.values()
        assert all(one.default is not one.empty for one in list(parameters)[1:]), name
