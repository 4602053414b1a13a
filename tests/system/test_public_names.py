"""The public names are a contract."""

from __future__ import annotations

import ast
from importlib import metadata
from pathlib import Path

import evenhand as eh

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
    "Witnesses",
    "aequitas",
    "audit",
    "category",
    "compare",
    "datasets",
    "impact",
    "integer",
    "measure",
    "measure_log",
    "mine",
    "mine_log",
    "mine_text",
    "needed",
    "prevalence",
    "profile",
    "real",
    "repair",
    "replay",
    "rows",
    "search",
    "subsets",
    "uniform",
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
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            imported.update(alias.asname for alias in node.names)
    assert imported - {None} == set(PUBLIC)
    assert set(eh._HOMES) == set(PUBLIC)
