"""Documents from files: one that was changed is refused, and so is one that cannot be shown."""

from __future__ import annotations

import copy
import json

import pytest

from evenhand.cli.main import main
from evenhand.results.reading import evidence_of
from evenhand.runtime.errors import UsageError
from tests.support.evidence import MAKERS, made
from tests.support.helpers import refused

QUICK = [
    name for name in MAKERS if name not in ("study", "repair", "repair, subgroup", "tune")
]


def document(name):
    return json.loads(made(name).to_json())


@pytest.mark.parametrize("name", QUICK)
def test_a_document_is_read_as_it_was_written(name):
    assert evidence_of(document(name), where="f").digest == made(name).digest


@pytest.mark.parametrize("name", QUICK)
def test_a_changed_document_is_refused_by_its_digest(name):
    table = document(name)
    table["notes"] = ["nothing was found"]
    refused(UsageError, lambda: evidence_of(table, where="r.json"), "r.json", "was changed")


def test_a_score_cannot_be_bent():
    table = document("measure, causal")
    estimate = table["findings"][0]["estimate"]
    for name in ("value", "low", "high"):
        estimate[name] = 0.0
    refused(UsageError, lambda: evidence_of(table, where="r.json"), "was changed")


def test_a_check_within_an_audit_cannot_be_bent():
    table = document("audit")
    table["checks"][0]["found"]["findings"][0]["limit"] = 1.0
    refused(UsageError, lambda: evidence_of(table, where="a.json"), "a.json", "was changed")


BENT = [
    ("subsets, causal", ("details", "lattice", "sets"), [[3]]),
    ("subsets, causal", ("details", "lattice"), {"sets": "many"}),
    ("plan", ("details", "plan", "checks"), [{}]),
    ("impact", ("details", "impact"), [{"over": 3}]),
    ("mine", ("details", "mine"), 7),
    ("search", ("details", "search"), [None]),
]


@pytest.mark.parametrize(("name", "path", "value"), BENT)
def test_what_cannot_be_shown_is_refused_when_it_is_read(
    name, path, value, tmp_path, capsys
):
    table = copy.deepcopy(document(name))
    del table["digest"]
    holder = table
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    file = tmp_path / "bent.json"
    file.write_text(json.dumps(table), encoding="utf-8")
    assert main(["report", str(file), "-o", str(tmp_path / "page.html")]) == 2
    sentence = capsys.readouterr().err
    assert "bent.json" in sentence
    assert sentence.count("\n") == 1


def test_halves_of_characters_and_deep_tables_are_no_traceback():
    table = document("measure, causal")
    del table["digest"]
    table["seed"] = "\ud800"
    refused(UsageError, lambda: evidence_of(table, where="r.json"), "seed")
