"""What every report format keeps, whatever evidence it is given."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
from tests.support.formats import QUICK, content_text
from tests.support.helpers import refused

FORMS = list(FORMATS.values())
every = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
quick = pytest.mark.parametrize(
    "form", [FORMATS[name] for name in QUICK], ids=lambda form: form.name
)
"""Each format but what a browser prints, which tests/methods/audit/exports looks at."""
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


@quick
@pytest.mark.parametrize("name", [*MAKERS, "an empty audit", "hostile"])
def test_a_format_renders_all_evidence_and_always_the_same(form, name, undrawn):
    found = given(name)
    content = form.render(found)
    assert isinstance(content, Mapping) == form.folder
    assert content == form.render(found)
    text = content_text(content)
    assert text.strip()
    text.encode("utf-8")
    PARSERS.get(form.name, str)(text)


@quick
@pytest.mark.parametrize("name", ["audit", "an empty audit", "hostile"])
def test_what_changed_is_shown_where_a_format_can(form, name, undrawn):
    found = given(name)
    alone = form.content(found)
    with_changes = form.content(found, since=given("audit"), since_name="before.json")
    assert (with_changes != alone) == form.compares
    assert with_changes == form.content(
        found, since=given("audit"), since_name="before.json"
    )


@quick
def test_nothing_of_a_label_is_taken_for_code(form, undrawn):
    text = content_text(form.content(hostile(), since=hostile(), since_name=HOSTILE[0]))
    if form.name not in ("json", "sarif", "csv", "xlsx"):
        assert "<script>alert(1)" not in text
    assert "\x1b" not in text and "\x07" not in text
    for line in text.splitlines():
        assert not line.startswith(("# heading", "![x]"))


@quick
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
