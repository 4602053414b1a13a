"""How hard the lines of this project are to read, as numbers.

    python -m tests.architecture.readability [PATH ...]

prints the measures of each path, its densest modules, and what to mend there. The test beside this
module holds the measures of `src` and `tests` below their ceilings.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST_FUNCTION = 60
"""Lines, from `def` to the last one, without the docstring."""

MOST_ARGUMENTS = 7
"""Of a private function: its callers are few, and can pass one object instead."""

VAGUE = re.compile(r"(^|_)(told|said)(_|\d*$)", re.IGNORECASE)
"""Words that name no thing: what a value is called must say what it is."""

SHOWN = 15
"""How many of the densest modules are printed."""

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTIONS)


@dataclass(frozen=True)
class Place:
    """Something in a file that a reader may stop at."""

    path: Path
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.name}"


@dataclass(frozen=True)
class Module:
    """One file, read and parsed."""

    path: Path
    tree: ast.Module
    every_node: tuple[ast.AST, ...]
    """The nodes of the tree, which is walked once for all measures."""
    code_lines: int
    comment_lines: int

    @property
    def nodes(self) -> int:
        """How many nodes the syntax tree has."""
        return len(self.every_node)

    @property
    def density(self) -> float:
        """Nodes of the syntax tree for each line of code."""
        return self.nodes / max(self.code_lines, 1)

    @property
    def nested_comprehensions(self) -> list[Place]:
        """Comprehensions with two loops, or with another comprehension inside."""
        places = []
        for node in self.every_node:
            if isinstance(node, COMPREHENSIONS) and _loops(node) > 1:
                places.append(Place(self.path, node.lineno, "nested comprehension"))
        return places

    @property
    def long_functions(self) -> list[Place]:
        """Functions with more lines than LONGEST_FUNCTION."""
        places = []
        for node in self.every_node:
            if isinstance(node, FUNCTIONS) and _length(node) > LONGEST_FUNCTION:
                places.append(
                    Place(self.path, node.lineno, f"{node.name}: {_length(node)} lines")
                )
        return places

    @property
    def many_arguments(self) -> list[Place]:
        """Private functions with more arguments than MOST_ARGUMENTS."""
        places = []
        for node in self.every_node:
            if not isinstance(node, FUNCTIONS) or not _is_private(node.name):
                continue
            count = _arguments(node)
            if count > MOST_ARGUMENTS:
                places.append(
                    Place(self.path, node.lineno, f"{node.name}: {count} arguments")
                )
        return places

    @property
    def classes(self) -> list[Place]:
        """The classes at the top of the module."""
        places = []
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                places.append(Place(self.path, node.lineno, node.name))
        return places

    @property
    def vague_names(self) -> list[Place]:
        """Names that VAGUE matches, where they are bound."""
        places = []
        for name, line in _bound_names(self.every_node):
            if VAGUE.search(name):
                places.append(Place(self.path, line, name))
        return places


@dataclass(frozen=True)
class Measures:
    """The measures of all modules below some folders."""

    nodes_per_line: float
    nested_per_1000: float
    comments_per_1000: float
    long_functions: tuple[Place, ...]
    many_arguments: tuple[Place, ...]
    repeated_classes: tuple[Place, ...]
    vague_names: tuple[Place, ...]

    def __str__(self) -> str:
        return (
            f"{self.nodes_per_line:.2f} nodes a line, "
            f"{self.nested_per_1000:.2f} nested comprehensions and "
            f"{self.comments_per_1000:.1f} comment lines per 1,000 lines, "
            f"{len(self.long_functions)} long functions, "
            f"{len(self.many_arguments)} private ones with many arguments, "
            f"{len(self.repeated_classes)} classes that share their name, "
            f"{len(self.vague_names)} vague names"
        )


def read(paths: Iterable[Path]) -> list[Module]:
    """Return the modules in some folders or files."""
    modules = []
    for path in paths:
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        for file in files:
            modules.append(_module(file))
    return modules


def measure(modules: list[Module]) -> Measures:
    """Return the measures of modules taken together."""
    lines = max(sum(module.code_lines for module in modules), 1)
    nodes = sum(module.nodes for module in modules)
    nested = sum(len(module.nested_comprehensions) for module in modules)
    comments = sum(module.comment_lines for module in modules)
    return Measures(
        nodes_per_line=nodes / lines,
        nested_per_1000=1000 * nested / lines,
        comments_per_1000=1000 * comments / lines,
        long_functions=_all(module.long_functions for module in modules),
        many_arguments=_all(module.many_arguments for module in modules),
        repeated_classes=_repeated(_all(module.classes for module in modules)),
        vague_names=_all(module.vague_names for module in modules),
    )


def _module(path: Path) -> Module:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    nodes = tuple(ast.walk(tree))
    strings = _docstring_lines(nodes)
    code = 0
    for number, line in enumerate(source.splitlines(), start=1):
        text = line.strip()
        is_comment = text.startswith("#")
        if text and not is_comment and number not in strings:
            code += 1
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = sum(token.type == tokenize.COMMENT for token in tokens)
    return Module(path, tree, nodes, code, comments)


def _docstring_lines(nodes: Iterable[ast.AST]) -> set[int]:
    """Return the lines of docstrings, those below an attribute too."""
    lines: set[int] = set()
    for node in nodes:
        if isinstance(node, DOCUMENTED):
            for statement in node.body:
                if _is_string(statement):
                    lines.update(range(statement.lineno, _end(statement) + 1))
    return lines


def _is_string(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _loops(comprehension: ast.AST) -> int:
    """Return the number of `for` clauses in a comprehension and all inside it."""
    return sum(isinstance(node, ast.comprehension) for node in ast.walk(comprehension))


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    length = _end(function) - function.lineno + 1
    first = function.body[0]
    if _is_string(first):
        length -= _end(first) - first.lineno + 1
    return length


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of arguments of a function, `self` and `cls` not counted."""
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    names = [argument.arg for argument in arguments]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def _bound_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def _all(groups: Iterable[list[Place]]) -> tuple[Place, ...]:
    places: list[Place] = []
    for group in groups:
        places.extend(group)
    return tuple(places)


def _repeated(classes: tuple[Place, ...]) -> tuple[Place, ...]:
    by_name: dict[str, list[Place]] = defaultdict(list)
    for place in classes:
        by_name[place.name.lstrip("_")].append(place)
    return _all(places for places in by_name.values() if len(places) > 1)


def _print(path: Path) -> None:
    modules = read([path])
    measures = measure(modules)
    print(f"{path}: {measures}")
    densest = sorted(modules, key=lambda module: module.density, reverse=True)
    for module in densest[:SHOWN]:
        print(
            f"  {module.density:5.1f} nodes a line, {module.code_lines:4d} lines: {module.path}"
        )
    nested = _all(module.nested_comprehensions for module in modules)
    groups = (
        nested,
        measures.long_functions,
        measures.many_arguments,
        measures.repeated_classes,
        measures.vague_names,
    )
    for places in groups:
        for place in places:
            print(f"  {place}")


def main() -> None:
    """Print the measures of the paths on the command line, of `src` and `tests` without any."""
    for name in sys.argv[1:] or ["src", "tests"]:
        _print(Path(name))


if __name__ == "__main__":
    main()
