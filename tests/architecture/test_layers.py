"""The layers of the package: who may import whom, no cycles, no long modules."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.support.paths import ROOT

SOURCE = ROOT / "src"
FILES = {
    ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): file
    for file in sorted((SOURCE / "evenhand").rglob("*.py"))
}
MOST_LINES = 400
LAYERS: dict[str, int] = {}
"""Everything else stands on top: config, the command line, the pytest plugin, data sets, the package itself."""
TOP = 3
COMPOSE = ("evenhand.methods.repair.repair", "evenhand.methods.audit.audit")
"""Beginnings of the names of methods that are made of others."""


def layer(module: str) -> int:
    parts = module.split(".")
    return LAYERS.get(parts[1], TOP) if len(parts) > 1 else TOP


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


@cache
def imports(module: str, *, lazy: bool) -> frozenset[str]:
    """Return the modules of ours that a module imports at run time; with `lazy`, inside functions too."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if is_type_checking(node):
            return
        if not lazy and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            home = resolve(module, node)
            found.update(f"{home}.{alias.name}" if f"{home}.{alias.name}" in FILES else home for alias in node.names)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(FILES[module].read_text(encoding="utf-8")))
    return frozenset(name for name in found if name.split(".")[0] == "evenhand") - {module}


def resolve(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module if FILES[module].name == "__init__.py" else module.rpartition(".")[0]
    for _ in range(node.level - 1):
        package = package.rpartition(".")[0]
    return f"{package}.{node.module}" if node.module else package


@pytest.mark.parametrize("module", FILES)
def test_a_module_imports_only_from_its_own_layer_or_below(module):
    for imported in imports(module, lazy=True):
        assert layer(imported) <= layer(module), f"{module} imports {imported}"


@pytest.mark.parametrize("module", [module for module in FILES if layer(module) == 1])
def test_methods_import_the_core_and_never_each_other(module):
    if module.startswith(COMPOSE):
        return
    for imported in imports(module, lazy=True):
        assert layer(imported) == 0, f"{module} imports {imported}"


def test_no_import_cycles():
    graph = {module: imports(module, lazy=False) & FILES.keys() for module in FILES}
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path[path.index(module) :], module))
        if module not in done:
            for imported in sorted(graph[module]):
                visit(imported, (*path, module))
            done.add(module)

    for module in FILES:
        visit(module, ())


@pytest.mark.parametrize("module", FILES)
def test_modules_are_short_and_say_what_they_are(module):
    text = FILES[module].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert ast.get_docstring(ast.parse(text)), f"{module} has no docstring"


def test_the_core_is_light_to_import():
    """Optional and slow libraries are imported where they are used."""
    slow = {"sklearn", "pandas", "polars", "pyarrow", "onnxruntime", "skops", "rich", "joblib", "scipy", "narwhals"}
    for module in FILES:
        tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
        top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        names = {
            name.split(".")[0]
            for node in top
            for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names])
        }
        allowed = {"scipy"}
        if module.startswith(("evenhand.mitigation", "evenhand.methods.repair.methods.evened")):
            allowed = {"sklearn"}  # its classes are scikit-learn's; nobody imports them who does not mitigate
        assert not (names & slow) - allowed, f"{module} imports {names & slow} at its top"
