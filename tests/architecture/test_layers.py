"""The layers of the package: who may import whom, no cycles, no crowded folders, no long modules.

Imports are those at the top of a module, those inside functions, and those that are written as
text, such as ``import_module("evenhand.report.lines")`` or
``Deferred("evenhand.report.lines:show")``. Imports for type checkers alone do not count. Registries
are the one place where a lower layer names a higher one.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = ROOT / "src"
MOST_LINES = 500
MOST_MODULES = 15
KERNEL = (
    "runtime",
    "space",
    "statistics",
    "results",
    "population",
    "subject",
    "texts",
    "scores",
)
ALLOWED = {
    "runtime": (),
    "space": ("runtime",),
    "statistics": ("runtime",),
    "results": ("runtime", "space", "statistics"),
    "population": ("runtime", "space"),
    "subject": ("runtime", "space"),
    "texts": ("runtime", "space", "statistics", "results", "population", "subject"),
    "scores": ("runtime", "space", "statistics", "results", "population", "subject"),
    "report": ("runtime", "space", "statistics", "results"),
    "methods.repair": (
        *KERNEL,
        "report",
        "methods.search",
        "methods.mine",
        "methods.compare",
    ),
    "methods.plan": (*KERNEL, "report", "methods.audit"),
    "mitigation": (*KERNEL, "report", "methods.compare"),
    "study": (*KERNEL, "report", "methods.compare", "mitigation"),
    "datasets": ("runtime",),
}
"""What each package may import, besides itself and the registries."""
VERB = (*KERNEL, "report")
"""What a verb may import; another verb only through the registry."""
REGISTRIES = ("verbs", "formats")
"""Modules that everything but `runtime` may import; they import `runtime` alone, and name all else
as text.
"""
TOP = ("", "__main__", "bundle", "config", "cli", "explore", "pytest_plugin", "demo")
"""What stands on top of everything."""


def modules(source: Path = SOURCE) -> dict[str, Path]:
    """Return the file of each module."""
    found = {}
    for file in sorted((source / "evenhand").rglob("*.py")):
        name = ".".join(file.relative_to(source).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = file
    return found


FILES = modules()


def package(module: str) -> str:
    """Return the part of the house that a module is in: a package, or the folder of a verb."""
    parts = module.split(".")[1:]
    if parts[:1] == ["methods"]:
        return ".".join(parts[:2])
    return parts[0] if parts else ""


def allowed(module: str, imported: str) -> bool:
    mine, theirs = package(module), package(imported)
    if mine == theirs or mine in TOP:
        return True
    if theirs in REGISTRIES:
        return mine != "runtime"
    if mine in REGISTRIES:
        return theirs == "runtime"
    if mine == "methods":
        return False
    if mine.startswith("methods."):
        return theirs in ALLOWED.get(mine, VERB)
    return theirs in ALLOWED[mine]


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(text: str, module: str, known: frozenset[str], *, lazy: bool) -> set[str]:
    """Return the modules of ours that a module imports at run time; with `lazy`, inside functions
    and as text too.
    """
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if is_type_checking(node):
            return
        if not lazy and isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        ):
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in known else node.module)
        elif lazy and isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = node.value.partition(":")[0]
            if named in known and named != "evenhand":
                found.add(named)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(text))
    return {name for name in found if name.split(".")[0] == "evenhand"} - {module}


@cache
def imports_of(module: str, *, lazy: bool) -> frozenset[str]:
    text = FILES[module].read_text(encoding="utf-8")
    return frozenset(imports(text, module, frozenset(FILES), lazy=lazy))


def violations(module: str, text: str) -> list[str]:
    """Return the imports of a module that its layer does not allow."""
    if package(module) in REGISTRIES:
        found = imports(text, module, frozenset(FILES), lazy=False)
    else:
        found = imports(text, module, frozenset(FILES), lazy=True)
    return sorted(name for name in found if not allowed(module, name))


@pytest.mark.parametrize("module", FILES)
def test_a_module_imports_only_what_its_layer_allows(module):
    assert violations(module, FILES[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("evenhand.runtime.budget", "from evenhand.space.feature import Feature"),
        ("evenhand.space.rule", "from evenhand.statistics.estimate import Estimate"),
        (
            "evenhand.results.result",
            "def late():\n    from evenhand.report.lines import show",
        ),
        ("evenhand.results.result", 'TABLE = import_module("evenhand.methods.mine.table")'),
        ("evenhand.report.lines", 'SHOW = Deferred("evenhand.methods.search.text:lines")'),
        ("evenhand.methods.mine.mine", "from evenhand.methods.search.search import search"),
        ("evenhand.methods.audit.audit", "from evenhand.methods.mine.mine import mine"),
        ("evenhand.methods.measure.measure", "import evenhand.config.file"),
        (
            "evenhand.mitigation.base",
            "from evenhand.methods.repair.training import Trainer",
        ),
        ("evenhand.verbs", "from evenhand.results.result import Result"),
        ("evenhand.runtime.registry", "from evenhand.verbs import VERBS"),
    ],
)
def test_a_planted_import_is_found(module, line):
    text = FILES[module].read_text(encoding="utf-8")
    assert len(violations(module, f"{text}\n{line}\n")) == 1


def test_imports_for_type_checkers_and_allowed_ones_are_not_violations():
    text = (
        "if TYPE_CHECKING:\n    from evenhand.report.lines import Line\nfrom evenhand.space.rule"
        " import Rule\n"
    )
    assert violations("evenhand.results.result", text) == []


def cycle(graph: dict[str, set[str]]) -> str:
    """Return a cycle of imports, empty where there is none."""
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> str:
        if module in path:
            return " -> ".join((*path[path.index(module) :], module))
        if module in done:
            return ""
        for imported in sorted(graph[module]):
            if found := visit(imported, (*path, module)):
                return found
        done.add(module)
        return ""

    for module in graph:
        if found := visit(module, ()):
            return found
    return ""


def test_no_import_cycles():
    graph = {module: set(imports_of(module, lazy=False)) & FILES.keys() for module in FILES}
    assert cycle(graph) == ""


def test_a_planted_cycle_is_found():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == "a -> b -> c -> a"


def crowded(source: Path) -> dict[str, int]:
    """Return the folders with more modules than a newcomer takes in."""
    found = Counter(
        str(file.parent)
        for file in (source / "evenhand").rglob("*.py")
        if file.name != "__init__.py"
    )
    return {folder: number for folder, number in found.items() if number > MOST_MODULES}


def test_no_folder_is_crowded():
    assert crowded(SOURCE) == {}


def test_a_planted_crowd_is_found(tmp_path):
    folder = tmp_path / "evenhand" / "space"
    folder.mkdir(parents=True)
    for number in range(MOST_MODULES + 1):
        (folder / f"module{number}.py").touch()
    (folder / "__init__.py").touch()
    assert list(crowded(tmp_path).values()) == [MOST_MODULES + 1]


def test_every_part_of_the_house_has_a_place_in_the_table():
    parts = {package(module) for module in FILES} - {"methods"}
    verbs = {part for part in parts if part.startswith("methods.")}
    assert parts - verbs <= {*ALLOWED, *REGISTRIES, *TOP}
    architecture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for part in parts - {"", "__main__"}:
        assert f"`{part.replace('.', '/')}" in architecture or part.startswith(
            "methods."
        ), part


@pytest.mark.parametrize("module", FILES)
def test_modules_are_short_and_say_what_they_are(module):
    text = FILES[module].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert ast.get_docstring(ast.parse(text)), f"{module} has no docstring"


def test_modules_are_light_to_import():
    """Optional and slow libraries are imported where they are used."""
    slow = {
        "sklearn",
        "pandas",
        "polars",
        "pyarrow",
        "onnxruntime",
        "skops",
        "rich",
        "joblib",
        "narwhals",
        "matplotlib",
    }
    for module in FILES:
        tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
        names: set[str] = set()
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                names.add((node.module or "").split(".")[0])
            elif isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
        # Mitigations and evened models are scikit-learn's own classes; nobody imports them who does
        # not use them.
        scikit = module.startswith(
            ("evenhand.mitigation", "evenhand.methods.repair.methods.evened")
        )
        assert not (names & slow) - ({"sklearn"} if scikit else set()), (
            f"{module} imports {names & slow} at its top"
        )
