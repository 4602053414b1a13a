"""The formats that an audit, or what any verb found, is written in."""

from __future__ import annotations

from evenhand.formats import Format
from evenhand.runtime.registry import Deferred

HTML = Format(
    "html",
    Deferred("evenhand.methods.audit.formats.html:page"),
    help="write the report here, one .html file",
    option="--output",
    what="report",
    suffixes=(".html", ".htm"),
)
JSON = Format(
    "json",
    Deferred("evenhand.methods.audit.formats.document:to_json"),
    help="write everything here: for report, replay, explore, --baseline",
    what="audit",
)
JUNIT = Format(
    "junit",
    Deferred("evenhand.methods.audit.formats.junit:to_junit"),
    help="write JUnit XML here",
    what="JUnit file",
)
SARIF = Format(
    "sarif",
    Deferred("evenhand.methods.audit.formats.sarif:sarif_here"),
    help="write SARIF 2.1.0 here",
    what="SARIF file",
)
MARKDOWN = Format(
    "markdown",
    Deferred("evenhand.methods.audit.formats.markdown:to_markdown"),
    help="write a summary here, as for a pull request",
    what="summary",
)
CARD = Format(
    "card",
    Deferred("evenhand.methods.audit.formats.model_card:to_card"),
    help="write a fragment of a model card here, in Markdown",
    what="model card",
)
NOTEBOOK = Format(
    "notebook",
    Deferred("evenhand.methods.audit.formats.notebook:table_of"),
    help="a table for a notebook",
    option="-",
)
