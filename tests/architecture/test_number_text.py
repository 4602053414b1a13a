"""Percentages are written in one module, so that no two places show one number differently."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "evenhand"
HOME = "runtime/number_text.py"
UNIT = re.compile(r"[ \N{NO-BREAK SPACE}]?%")
"""What a literal after a number starts with where both are a percentage."""
MODULO = re.compile(r"%(\(\w+\))?[-+ #0]*[\d*]*(\.[\d*]+)?[a-zA-Z] ?%%")
"""A number and its percent sign in a text that the operator % fills."""
FIELD = re.compile(r"\{[^{}]*%\}|\{[^{}]*\}[ \N{NO-BREAK SPACE}]?%")
"""A number and its percent sign in a text that `format` fills."""


def percentages(code: str) -> list[int]:
    """Return the lines on which code makes a percentage of a number."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.JoinedStr) and in_f_string(node):
            found.append(node.lineno)
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mod)
            and MODULO.search(literal(node.left))
        ):
            found.append(node.lineno)
        if isinstance(node, ast.Call) and in_format(node):
            found.append(node.lineno)
    return sorted(set(found))


def in_f_string(node: ast.JoinedStr) -> bool:
    after = [*node.values[1:], None]
    for part, following in zip(node.values, after, strict=True):
        if not isinstance(part, ast.FormattedValue):
            continue
        if part.format_spec is not None and "%" in ast.unparse(part.format_spec):
            return True
        if following is not None and UNIT.match(literal(following)):
            return True
    return False


def in_format(node: ast.Call) -> bool:
    if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return bool(FIELD.search(literal(node.func.value)))
    if isinstance(node.func, ast.Name) and node.func.id == "format":
        return any("%" in literal(spec) for spec in node.args[1:])
    return False


def literal(node: ast.AST) -> str:
    """Return a text that stands in the code, empty where there is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ""


def modules() -> list[str]:
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        if name != HOME:
            found.append(name)
    return found


@pytest.mark.parametrize("module", modules())
def test_no_other_module_writes_percentages(module):
    lines = percentages((SOURCE / module).read_text(encoding="utf-8"))
    assert not lines, (
        f"{module}, lines {lines}: write percentages with evenhand.runtime.number_text"
    )


@pytest.mark.parametrize(
    "code",
    [
        'f"{100 * share:.1f} %"',
        'f"{100 * share:g}%"',
        'f"{100 * low:.1f} % to all"',
        'f"{share:.1%}"',
        'f"{share:.{digits}%}"',
        "f\"at {f'{100 * level:.6g} %'}\"",
        'f"{100 * share:.0f}\N{NO-BREAK SPACE}%"',
        '"%.1f %%" % share',
        '"%(share)d%%" % {"share": 1}',
        '"{:.1%}".format(share)',
        '"{share:.1f} % of all".format(share=share)',
        'format(share, ".1%")',
    ],
)
def test_a_percentage_is_seen(code):
    assert percentages(f"share = 0.5\ntext = {code}\n") == [2]


@pytest.mark.parametrize(
    "code",
    [
        'f"{number_text.percent(share)} of all"',
        'f"{share:.1f} points"',
        'f"{name}: 50 % of all"',
        "rows % 7",
        '"%d rows" % rows',
        '"{} rows".format(rows)',
        '"50 %"',
        'f"{rows % 7}"',
    ],
)
def test_other_text_is_not(code):
    assert percentages(f"text = {code}\n") == []


def test_the_module_that_writes_them_is_one_of_those_seen():
    assert percentages((SOURCE / HOME).read_text(encoding="utf-8"))


def test_a_planted_percentage_is_found(tmp_path, monkeypatch):
    planted = tmp_path / "scores" / "planted.py"
    planted.parent.mkdir()
    planted.write_text(
        'def told(share):\n    return f"{100 * share:.1f} %"\n', encoding="utf-8"
    )
    monkeypatch.setattr(f"{__name__}.SOURCE", tmp_path)
    assert modules() == ["scores/planted.py"]
    with pytest.raises(AssertionError, match=r"scores/planted.py, lines \[2\]"):
        test_no_other_module_writes_percentages("scores/planted.py")
