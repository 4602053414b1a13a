"""The formats that an audit, or what any verb found, is written in."""

from __future__ import annotations

from evenhand.formats import Format
from evenhand.runtime.registry import Deferred

HTML = Format(
    "html",
    Deferred("evenhand.methods.audit.page.page:page"),
    help="write the report here, one .html file",
    option="--output",
    what="report",
    suffixes=(".html", ".htm"),
    speaks=True,
    compares=True,
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
    compares=True,
)
SUMMARY = Format(
    "summary",
    Deferred("evenhand.methods.audit.formats.summary:to_summary"),
    help="write one page for people in a hurry here, in Markdown",
    what="summary",
    compares=True,
)
CARD = Format(
    "card",
    Deferred("evenhand.methods.audit.formats.model_card:to_card"),
    help="write a fragment of a model card here, in Markdown",
    what="model card",
)
PDF = Format(
    "pdf",
    Deferred("evenhand.methods.audit.exports.pdf:to_pdf"),
    help="print the report here, one .pdf file; needs Chromium (EVENHAND_CHROMIUM names it)",
    what="PDF",
    suffixes=(".pdf",),
    speaks=True,
    compares=True,
    check=Deferred("evenhand.methods.audit.exports.chromium:chromium"),
)
CSV = Format(
    "csv",
    Deferred("evenhand.methods.audit.exports.csv_files:to_csv"),
    help="write every table of the audit into this folder, one CSV file each",
    what="table",
    folder=True,
)
XLSX = Format(
    "xlsx",
    Deferred("evenhand.methods.audit.exports.workbook:to_xlsx"),
    help="write every table of the audit here, one .xlsx file; needs evenhand[xlsx]",
    what="workbook",
    suffixes=(".xlsx",),
    check=Deferred("evenhand.methods.audit.exports.workbook:need_xlsxwriter"),
)
NOTEBOOK = Format(
    "notebook",
    Deferred("evenhand.methods.audit.formats.notebook:table_of"),
    help="a table for a notebook",
    option="-",
)
