"""Valid files of every kind that evenhand reads, small enough to be changed thousands of times."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest

import evenhand as eh
from evenhand.subject.ledger import Ledger
from tests.support.bundles import bundle_of, log_audit
from tests.support.evidence import LOANS, MAKERS, lend, made, people
from tests.support.paths import DATA, ROOT

LEDGER_SPACE = "space"
LEDGER_SUBJECT = "software"
LEDGER_ANSWERS: dict[bytes, Any] = {
    b"%08d" % number: ["deny", True, 1, 0.25][number % 4] for number in range(40)
}

LEFT_OUT = ("study",)
"""Evidence whose files are too large to be changed thousands of times."""


def evidence(name: str) -> Any:
    """Return small evidence of a verb, made once."""
    return made(name)


@cache
def documents() -> list[bytes]:
    """Return the JSON of small evidence of every verb, and of the older format."""
    found = []
    for name in MAKERS:
        if name not in LEFT_OUT:
            found.append(made(name).to_json().encode())
    for file in sorted(DATA.glob("format-1*.json")):
        for document in json.loads(file.read_text("utf-8")).values():
            if isinstance(document, dict) and "job" in document:
                found.append(json.dumps(document).encode())
    return [document for document in found if len(document) < 60_000]


@cache
def audits() -> list[bytes]:
    """Return the JSON of audits, with answers that were kept and without."""
    names = ("audit", "audit, crashed", "audit, baseline")
    return [made(name).to_json().encode() for name in names]


@cache
def with_cases() -> list[bytes]:
    """Return results of the loan space that hold cases."""
    names = ("measure, causal", "measure, group", "search", "audit")
    return [made(name).to_json().encode() for name in names]


def questions() -> list[bytes]:
    """Return what the what-if page asks."""
    person = {"sex": "F", "race": "a", "age": 30, "income": 50}
    asked = [
        {"individual": person},
        {"individual": person, "twin": {**person, "sex": "M"}},
    ]
    return [json.dumps(question).encode() for question in asked]


FEATURES = """
[space]
protected = ["sex", "race"]
constraints = ["not (age < 21 and income > 90)"]
[space.features.sex]
levels = ["F", "M"]
[space.features.race]
kind = "category"
levels = ["a", "b", "c"]
[space.features.age]
kind = "integer"
low = 18
high = 60
[space.features.income]
kind = "real"
low = 0
high = 99
step = 1.5
"""
CHECKS = """
[[checks]]
job = "measure"
over = ["sex"]
limit = 0.05
level = 0.9
[[checks]]
job = "measure"
kind = "group"
over = ["race"]
margin = 0.1
[[checks]]
job = "search"
over = ["sex"]
strategy = "random"
[[checks]]
job = "subsets"
limit = 0.3
"""


def configurations() -> list[bytes]:
    """Return configurations of software, of texts, and of recorded decisions."""
    command = '[subject]\ncommand = ["./loan", "{age}", "{sex}"]\npositive = "approve"\n'
    http = '[subject]\nhttp = "http://127.0.0.1:1/decide"\ntimeout = 2\nlabels = [0, 1]\n'
    inferred = '[space]\nfrom = "people.csv"\ntarget = "granted"\nprotected = ["sex"]\n'
    population = '[population]\nrows = "people.csv"\n'
    texts = (
        '[subject]\ncommand = ["./rude"]\n[texts]\nfrom = "texts.csv"\ncolumn = "text"\n'
    )
    log = (
        '[log]\nfrom = "people.csv"\noutcome = "granted"\nover = ["sex", "race"]\n'
        'positive = 1\ntruth = "right"\n[audit]\nlevel = 0.9\n'
    )
    shares = (
        "[population.weights]\nage = [[18, 29, 0.4], [30, 60, 0.6]]\n"
        "sex = { F = 0.7, M = 0.3 }\n"
    )
    mined = '[[checks]]\njob = "mine"\nover = ["sex", "age"]\nlimit = 0.1\nsupport = 0.1\n'
    impact = '[[checks]]\njob = "impact"\nover = ["sex"]\nleast_ratio = 0.8\n'
    written = [
        command + FEATURES + CHECKS,
        http + FEATURES + CHECKS,
        command + FEATURES + shares + CHECKS,
        command + inferred + population + mined,
        command + inferred + impact,
        texts + '[[checks]]\njob = "mine"\nlimit = 0.1\n',
        log,
        log + impact,
    ]
    return [text.encode() for text in written]


def write_data(folder: Path) -> None:
    """Write the files that configurations and studies name."""
    people().head(60).to_csv(folder / "people.csv", index=False)
    (folder / "texts.csv").write_text("text,label\na gay man,1\na straight man,0\n")


def constraints() -> list[bytes]:
    """Return constraints of the loan space, of every kind that there is."""
    written = [
        "not (age < 21 and sex == 'F')",
        "age + income / 2 <= 100 or race in ('a', 'b')",
        "18 <= age < 60 and income != 7",
        "(income - age) * 2 > -30 and not sex != 'M'",
        "race not in ['c'] or -income < 3.5e1",
    ]
    return [text.encode() for text in written]


def themis() -> list[bytes]:
    """Return a settings file of the original Themis."""
    text = """<?xml version="1.0" encoding="UTF-8"?>
<settings>
  <name>Loan software</name>
  <command>python "my software.py"</command>
  <seed>42</seed>
  <inputs>
    <input><name>Sex</name><type>categorical</type>
      <values><value>Male</value><value>Female</value></values></input>
    <input><name>Age</name><type>continuousInt</type>
      <bounds><lowerbound>2</lowerbound><upperbound>6</upperbound></bounds></input>
  </inputs>
  <tests>
    <test><function>group_discrimination</function>
      <i_fields><input_name>Sex</input_name></i_fields>
      <conf>.998</conf><margin>.0002</margin></test>
    <test><function>discrimination_search</function><threshold>.2</threshold>
      <conf>.99</conf><margin>.01</margin><group/><causal/></test>
  </tests>
</settings>
"""
    return [text.encode()]


def lexicons() -> list[bytes]:
    """Return lexicons: the one that is shipped, and a short one."""
    short = (
        '[gender]\nterms = ["gay", { term = "woman", plural = "women" }]\n'
        '[age]\nterms = ["old", "young"]\n'
    )
    shipped = ROOT / "src/evenhand/texts/lexicons/default.toml"
    return [short.encode(), shipped.read_bytes()]


def studies() -> list[bytes]:
    """Return studies of a small file of rows."""
    data = (
        '[[data]]\nname = "people"\nfrom = "people.csv"\ntarget = "granted"\npositive = 1\n'
        'protected = { sex = "M" }\n'
    )
    settings = (
        '[study]\nsplits = 3\nseed = 1\nbias = ["spd", "aod"]\nperformance = "accuracy"\n'
    )
    methods = '[[methods]]\nname = "reweighing"\n[[methods]]\nname = "reject-option-spd"\n'
    return [(settings + data + '[[models]]\nname = "DT"\n' + methods).encode()]


@cache
def rows_csv() -> list[bytes]:
    """Return rows of people, some of them odd, as CSV."""
    plain = people().head(40).to_csv(index=False)
    gaps = "sex,age,joined,ok\nF,,2020-01-31,yes\nM,41,,no\nF,1e3,2021-12-01,yes\n"
    return [plain.encode(), gaps.encode()]


@cache
def rows_parquet() -> list[bytes]:
    """Return rows of people as Parquet."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "rows.parquet")
        people().head(40).to_parquet(file)
        return [file.read_bytes()]


@cache
def suites() -> list[bytes]:
    """Return suites of a causal and of a group score."""
    found = []
    with TemporaryDirectory() as folder:
        file = Path(folder, "suite.csv")
        for kind in ("causal", "group"):
            result = eh.measure(
                lend,
                LOANS,
                over="sex",
                kind=kind,
                exact=False,
                keep_tests=True,
                budget=eh.Budget(queries=60),
                progress=False,
            )
            result.to_suite(file)
            found.append(file.read_bytes())
    return found


@cache
def ledgers() -> list[bytes]:
    """Return a ledger with answers of every type."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "ledger.sqlite")
        with Ledger(file, space=LEDGER_SPACE, subject=LEDGER_SUBJECT) as ledger:
            ledger.record(list(LEDGER_ANSWERS), list(LEDGER_ANSWERS.values()))
        return [file.read_bytes()]


@cache
def bundles() -> list[bytes]:
    """Return the evidence bundle of an audit of recorded decisions, with the data in it."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        log_audit(Path(folder))
        return [bundle_of(Path(folder), patch, "--bundle-data").read_bytes()]


def openapi() -> list[bytes]:
    """Return the description of a service."""
    person = {
        "type": "object",
        "required": ["age", "sex"],
        "properties": {
            "age": {"type": "integer", "minimum": 18, "exclusiveMaximum": 90},
            "sex": {"type": "string", "enum": ["F", "M"]},
            "loan": {"$ref": "#/components/schemas/Loan"},
        },
    }
    loan = {
        "anyOf": [
            {"type": "object", "properties": {"amount": {"type": "number"}}},
            {"type": "null"},
        ]
    }
    answer = {"type": "object", "properties": {"decision": {"type": "string"}}}
    operation = {
        "parameters": [{"name": "k", "in": "query", "schema": {"type": "string"}}],
        "requestBody": {"content": {"application/json": {"schema": person}}},
        "responses": {"200": {"content": {"application/json": {"schema": answer}}}},
    }
    document = {
        "openapi": "3.1.0",
        "paths": {"/decide": {"post": operation}},
        "components": {"schemas": {"Loan": loan}},
    }
    return [json.dumps(document).encode()]


def service_rows() -> Any:
    """Return rows whose columns have the names of what a service takes."""
    return pd.DataFrame({"age": [20, 30], "sex": ["F", "M"], "amount": [1.5, 2.5]})
