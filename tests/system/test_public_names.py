"""The public names are a contract."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import metadata
from pathlib import Path

import pytest

import evenhand as eh
from evenhand import mitigation

DOCS = Path(__file__).parents[2] / "docs"

PUBLIC = [
    "Adapter",
    "Audit",
    "Budget",
    "Case",
    "Comparison",
    "Estimate",
    "Evened",
    "EvenhandError",
    "Feature",
    "Finding",
    "Group",
    "Lexicon",
    "Metric",
    "Proposal",
    "Repair",
    "Result",
    "Rule",
    "Space",
    "StopReason",
    "Strategy",
    "Subject",
    "SubjectError",
    "TextSubject",
    "UsageError",
    "Verdict",
    "Verification",
    "Witnesses",
    "aequitas",
    "audit",
    "audit_log",
    "category",
    "compare",
    "datasets",
    "date",
    "impact",
    "integer",
    "measure",
    "measure_log",
    "mine",
    "mine_log",
    "mine_text",
    "needed",
    "open_log",
    "plan",
    "prevalence",
    "profile",
    "real",
    "repair",
    "replay",
    "rows",
    "search",
    "subsets",
    "uniform",
    "verify",
]


def test_all_is_pinned_and_every_name_is_there():
    assert sorted(eh.__all__) == sorted(PUBLIC)
    assert all(getattr(eh, name) is not None for name in PUBLIC)
    assert dir(eh) == sorted(PUBLIC)


def test_the_version_is_that_of_the_installed_package():
    assert eh.__version__ == metadata.version("evenhand")
    assert eh.__version__[0].isdigit()


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(eh, "mesure")


def test_names_for_type_checkers_are_the_names_at_run_time():
    tree = ast.parse(Path(eh.__file__).read_text(encoding="utf-8"))
    imported: set[str | None] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            imported.update(alias.asname for alias in node.names)
    assert imported - {None} == set(PUBLIC)
    assert set(eh._HOMES) == set(PUBLIC)


def documented():
    """Yield each public function and class."""
    for module in (eh, mitigation):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                yield pytest.param(value, id=name)


@pytest.mark.parametrize("value", list(documented()))
def test_docstrings_lead_to_a_page_that_there_is(value):
    pages = re.findall(r"docs/([\w/-]+\.md)", inspect.getdoc(value) or "")
    assert pages
    for page in pages:
        assert (DOCS / page).is_file(), page


@pytest.mark.parametrize("value", list(documented()))
def test_docstrings_of_functions_say_what_they_return(value):
    if inspect.isfunction(value):
        assert "\nReturns\n-------\n" in (inspect.getdoc(value) or "")
