"""What every report format keeps, whatever evidence it is given."""

from __future__ import annotations

import json
from functools import cache
from typing import Any
from xml.etree import ElementTree

import pytest

import evenhand as eh
from evenhand.cli import options_for
from evenhand.formats import FORMATS, Format
from evenhand.methods.audit.audit import audit
from evenhand.methods.audit.audit_result import Audit
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import UsageError
from evenhand.verbs import VERBS
from tests.support.evidence import MAKERS, made
from tests.support.helpers import refused

every = pytest.mark.parametrize("form", FORMATS.values(), ids=lambda form: form.name)
HOSTILE = [
    "<script>alert(1)</script>",
    "]]><![CDATA[ & 'quoted' \"twice\"",
    "| a | table |\n```\n# heading\n![x](http://x/y.png)",
    "\x1b[31mred\x07\u202eoverride\ud800",
]
PARSERS: dict[str, Any] = {
    "json": json.loads,
    "sarif": json.loads,
    "junit": ElementTree.fromstring,
}
"""How some formats are read, where a program can."""


@cache
def hostile() -> Audit:
    """Return an audit of features, levels and outcomes that look like code."""
    space = eh.Space(
        [eh.category(HOSTILE[0], HOSTILE), eh.integer("<b>age", 18, 40)],
        protected=[HOSTILE[0]],
    )

    def decide(people: Any) -> list[str]:
        old = (people["<b>age"] > 30) & (people[HOSTILE[0]] != HOSTILE[2])
        return [HOSTILE[1] if yes else HOSTILE[3] for yes in old]

    subject = eh.Subject(decide, space, positive=HOSTILE[1], identity=HOSTILE[0])
    checks = [
        {"job": "measure", "limit": 0.05},
        {"job": "measure", "kind": "group", "limit": 0.1},
    ]
    return audit(
        subject,
        checks=[*checks, {"job": "search", "limit": 0}, {"job": "subsets", "limit": 0.1}],
    )


@cache
def given(name: str) -> Any:
    """Return evidence by its name."""
    if name == "an empty audit":
        return Audit((), 0, Spent(0, 0, 0.0))
    return hostile() if name == "hostile" else made(name)


@every
def test_a_format_says_what_it_is(form):
    assert isinstance(form, Format)
    assert FORMATS[form.name] is form
    assert form.help and not form.help.endswith(".")
    assert all(
        suffix.startswith(".") and suffix == suffix.lower() for suffix in form.suffixes
    )
    command = VERBS["audit"].command
    assert command is not None
    flags = [option.flag for option in options_for(command, VERBS["audit"])]
    assert flags.count(form.flag) == (1 if form.flag else 0)


@every
@pytest.mark.parametrize("name", [*MAKERS, "an empty audit", "hostile"])
def test_a_format_renders_all_evidence_and_always_the_same(form, name, undrawn):
    found = given(name)
    text = form.render(found)
    assert isinstance(text, str)
    assert text.strip()
    assert text == form.render(found)
    text.encode("utf-8")
    PARSERS.get(form.name, str)(text)


@every
def test_nothing_of_a_label_is_taken_for_code(form, undrawn):
    text = form.render(hostile())
    if form.name not in ("json", "sarif"):
        assert "<script>alert(1)" not in text
    assert "\x1b" not in text and "\x07" not in text
    for line in text.splitlines():
        assert not line.startswith(("# heading", "![x]"))


@every
def test_evidence_that_was_read_again_is_rendered_alike(form, tmp_path, undrawn):
    file = tmp_path / "audit.json"
    found = made("audit")
    found.to_json(file)
    assert form.render(Audit.from_json(file)) == form.render(found)


def test_a_wrong_name_names_the_nearest():
    refused(
        UsageError,
        lambda: FORMATS["sariff"],
        "unknown format 'sariff'",
        "did you mean 'sarif'?",
    )
    wrong: Any = print
    refused(
        UsageError,
        lambda: FORMATS.register("words", wrong),
        "format 'words' is",
        "an evenhand.formats.Format",
    )
