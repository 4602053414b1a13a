"""Sentences are for people: no code takes data out of a claim, a story, an estimate in words or the
text of an error.

What a program needs is a field (`key`, `score`, `unit`, `detail`, `verdict`), or the kind or an
attribute of an error.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = ROOT / "src" / "evenhand"
READS = {
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "partition",
    "rpartition",
    "split",
    "rsplit",
    "splitlines",
    "replace",
    "find",
    "rfind",
    "index",
    "count",
}
"""Methods of a text that tell its parts apart."""
PATTERNS = {"match", "search", "fullmatch", "findall", "finditer", "split", "sub", "subn"}
"""What a regular expression does with a text, as a function of `re` or a method of a pattern."""
SAME = {
    "lower",
    "upper",
    "casefold",
    "strip",
    "lstrip",
    "rstrip",
    "title",
    "capitalize",
    "encode",
    "decode",
}
"""Methods that leave a sentence a sentence."""
SENTENCES = ("claim", "method")
"""Attributes that are words for people: the method of an estimate says how its interval was found.
"""
SPOKEN = ("estimate", "error", "exception", "finding")
"""How the names of what becomes a sentence with `str` end."""
EXEMPT = {
    # The message is not ours but the encoder's, and the level that it names is nowhere else:
    # scikit-learn raises a plain ValueError. What is looked for is a label of the user's data, and
    # all that hangs on it is a hint.
    ("methods/repair/training.py", "unseen_levels_explained"),
    # What a database says of a query goes on for many lines, and the first of them is shown.
    ("population/logs/guard.py", "first_line"),
}
"""Functions that have to look into a sentence, each with the reason."""


def last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name, empty where there is none."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


@dataclass
class Readings:
    """The places in one function, or at the top of a module, that read a sentence."""

    sentences: set[str] = field(default_factory=set)
    """Local names that hold a sentence."""

    def is_sentence(self, node: ast.expr) -> bool:
        """Tell whether an expression is a sentence for people."""
        match node:
            case ast.Name(id=name):
                return name in self.sentences or name == "claim"
            case ast.Attribute(attr=name, value=value):
                return name in SENTENCES and not (
                    isinstance(value, ast.Name) and value.id in ("self", "cls")
                )
            case ast.Subscript(value=value, slice=ast.Constant(value=key)):
                return key == "claim" or self.is_sentence(value) or self._is_argument(value)
            case ast.Subscript(value=value):
                return self.is_sentence(value)
            case ast.Call(func=ast.Attribute(attr="story")):
                return True
            case ast.Call(func=ast.Name(id="str" | "repr" | "format"), args=[value, *_]):
                return self._is_spoken(value)
            case ast.Call(func=ast.Attribute(attr=name, value=value)) if name in SAME:
                return self.is_sentence(value)
            case ast.JoinedStr(values=parts):
                values = [
                    part.value for part in parts if isinstance(part, ast.FormattedValue)
                ]
                return any(self._is_spoken(value) for value in values)
        return False

    def _is_spoken(self, node: ast.expr) -> bool:
        """Tell whether a value becomes a sentence as text."""
        return last_name(node).lower().endswith(SPOKEN) or self.is_sentence(node)

    @staticmethod
    def _is_argument(node: ast.expr) -> bool:
        """Tell whether this is what an error was made of."""
        return (
            isinstance(node, ast.Attribute)
            and node.attr == "args"
            and last_name(node.value).endswith(SPOKEN)
        )

    def learn(self, node: ast.AST) -> None:
        """Note the names that an assignment makes hold a sentence."""
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            pairs = [(node.target, node.value)]
        while pairs:
            target, value = pairs.pop()
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs += zip(target.elts, value.elts, strict=False)
            elif isinstance(target, ast.Name) and self.is_sentence(value):
                self.sentences.add(target.id)

    def reads(self, node: ast.AST) -> bool:
        """Tell whether this takes something out of a sentence."""
        if isinstance(node, ast.Compare):
            pairs = zip(node.ops, node.comparators, strict=True)
            return any(
                isinstance(op, ast.In | ast.NotIn) and self.is_sentence(one)
                for op, one in pairs
            )
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        if node.func.attr in READS and self.is_sentence(node.func.value):
            return True
        return node.func.attr in PATTERNS and any(
            self.is_sentence(value) for value in node.args
        )


def scopes(tree: ast.Module) -> Iterator[tuple[str, list[ast.AST]]]:
    """Return the name and the nodes of each function, those inside of it included, and of the rest
    of the module.
    """
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    inside: set[int] = set()
    for function in functions:
        nodes = list(ast.walk(function))
        inside |= set(map(id, nodes))
        yield function.name, nodes
    yield "", [node for node in ast.walk(tree) if id(node) not in inside]


def violations(code: str, module: str = "") -> list[int]:
    """Return the lines of code that take data out of sentences."""
    found: set[int] = set()
    for name, nodes in scopes(ast.parse(code)):
        if (module, name) in EXEMPT:
            continue
        readings = Readings()
        # A name may be used above the line that says what it holds, as in a loop.
        for _ in range(2):
            for node in nodes:
                readings.learn(node)
        found |= {
            node.lineno
            for node in nodes
            if readings.reads(node) and isinstance(node, ast.expr)
        }
    return sorted(found)


MODULES = [file.relative_to(SOURCE).as_posix() for file in sorted(SOURCE.rglob("*.py"))]


@pytest.mark.parametrize("module", MODULES)
def test_no_module_takes_data_out_of_a_sentence(module):
    lines = violations((SOURCE / module).read_text(encoding="utf-8"), module)
    assert not lines, (
        f"{module}, lines {lines}: read a field, or the kind or an attribute of the error, instead"
    )


@pytest.mark.parametrize(
    "code",
    [
        'finding.claim.startswith("changing only")',
        'one.finding.claim.partition(": ")[2]',
        'finding.claim.lower().endswith("differ")',
        'table["claim"].split(" ")',
        'claim.removeprefix("by ")',
        'check.story().split("\\n")',
        "self.found.story().splitlines()",
        'str(error).startswith("the constraints ")',
        'str(error).removeprefix(f"{task}: ")',
        '" ".join(str(error).split())',
        'str(last_error).replace("positive=…", "--positive")',
        'error.args[0].startswith("no input")',
        'f"{error}".partition(": ")',
        'str(finding.estimate).partition(" (")[0]',
        'str(estimate).split(", ")',
        'f"{finding.estimate}".rpartition("n = ")',
        'repr(error).find("sex")',
        'finding.estimate.method.endswith("lower bound")',
        'comparison.start[0].method.startswith("bootstrap")',
        '"lower bound" in estimate.method',
        '"sex" in finding.claim',
        '"timeout" not in str(error)',
        're.search(r"\\d+ %", str(estimate))',
        're.sub("positive=", "--positive ", str(error))',
        "NUMBER.findall(finding.claim)",
        "_PATTERN.match(check.story())",
        "(text := str(error)) and text.startswith('no')",
    ],
)
def test_a_planted_reading_is_found(code):
    assert violations(f"import re\nfound = {code}\n") == [2]


@pytest.mark.parametrize(
    "body",
    [
        "said = str(error)\n    return said.startswith('no')",
        "claim, now = finding.claim, finding.estimate\n    return claim.split()",
        (
            "for line in lines:\n        if told.endswith('%'):\n            return line\n       "
            " told = str(one.estimate)"
        ),
        "text: str = finding.claim\n    return re.match('by (.*),', text)",
    ],
)
def test_a_sentence_under_another_name_is_found(body):
    assert len(violations(f"def read(error, finding, lines):\n    {body}\n")) == 1


@pytest.mark.parametrize(
    "code",
    [
        'name.startswith("sex")',
        "clip(str(error), 120)",
        'f"{finding.claim}: {finding.estimate}"',
        'raise_from(ConfigError(f"{where}: {error}"))',
        "str(file).lower().endswith(SUFFIXES)",
        'finding.key.startswith("causal")',
        '"changed" in line.story',
        "finding.score in SCORES",
        "error.exit_code",
        'error.reason.startswith("no")',
        'self.method in ("wilson", "wald")',
        "boxed(sentence(one.claim))",
        'text.replace(" %", "&nbsp;%")',
    ],
)
def test_fields_and_sentences_that_are_only_written_are_not(code):
    assert violations(f"found = {code}\n") == []


def test_a_reading_is_found_inside_methods_and_functions_within_functions():
    inner = "        def key(one):\n            return one.claim.split()[0]\n        return key\n"
    assert violations(f"class A:\n    def told(self):\n{inner}") == [4]


def test_what_is_exempt_is_still_there():
    """An exemption that nothing needs any more would hide the next reading."""
    for module, function in EXEMPT:
        code = (SOURCE / module).read_text(encoding="utf-8")
        names = {
            node.name
            for node in ast.walk(ast.parse(code))
            if isinstance(node, ast.FunctionDef)
        }
        assert function in names
        assert violations(code), f"{module}: {function} reads no sentence any more"
