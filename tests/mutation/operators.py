"""The changes that mutants are made of: one small change at one place of a syntax tree."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Change: TypeAlias = "tuple[str, ast.AST]"
"""What kind of change it is, and what stands there instead."""

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
"""The boundary first, then the opposite."""

ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}

SWAPPED = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
    "betainc": "betaincc",
    "betaincc": "betainc",
    "cumsum": "cumprod",
    "mean": "sum",
    "zeros": "ones",
    "ones": "zeros",
    "zeros_like": "ones_like",
    "ones_like": "zeros_like",
    "nanmin": "nanmax",
    "nanmax": "nanmin",
}
"""Functions and methods that take the same arguments and mean something else."""


@dataclass
class MutationSite:
    """One change, and where in a tree it can be made.

    Parameters
    ----------
    kind
        What kind of change it is.
    owner, field, index
        The node that holds what is replaced, in which of its fields, and where in a list.
    new
        What stands there instead.
    function
        The qualified name of the outermost function around it; "" at the top of a module.
    statement
        The first line of the statement around it, which is the line that coverage knows.
    """

    kind: str
    owner: ast.AST
    field: str
    index: int | None
    new: ast.AST
    function: str
    statement: int

    @property
    def old(self) -> ast.AST:
        """What is replaced."""
        held = getattr(self.owner, self.field)
        node: ast.AST = held if self.index is None else held[self.index]
        return node

    @property
    def lines(self) -> range:
        """The lines of the statement up to the end of what is replaced."""
        end: int = getattr(self.old, "end_lineno", None) or self.statement
        # A default stands above the body that reads it.
        return range(self.statement, max(end, self.statement) + 1)

    def make(self) -> None:
        """Change the tree."""
        new = ast.fix_missing_locations(ast.copy_location(self.new, self.old))
        if self.index is None:
            setattr(self.owner, self.field, new)
        else:
            getattr(self.owner, self.field)[self.index] = new


def changes(node: ast.AST) -> Iterator[Change]:
    """Yield what could stand in the place of a node.

    >>> tree = ast.parse("a < 3", mode="eval").body
    >>> [ast.unparse(new) for _, new in changes(tree)]
    ['a <= 3', 'a >= 3']
    """
    for kind, of_kind in _BY_KIND.items():
        if isinstance(node, kind):
            yield from of_kind(node)


def _of_comparison(node: ast.Compare) -> Iterator[Change]:
    for place, operator in enumerate(node.ops):
        for other in COMPARISONS[type(operator)]:
            new = copy.deepcopy(node)
            new.ops[place] = other()
            yield "comparison", new


def _of_arithmetic(node: ast.BinOp) -> Iterator[Change]:
    is_text = isinstance(node.left, ast.JoinedStr) or isinstance(node.right, ast.JoinedStr)
    other = ARITHMETIC.get(type(node.op))
    if is_text or _is_string(node.left) or _is_string(node.right) or other is None:
        return
    yield "arithmetic", ast.BinOp(node.left, other(), node.right)


def _of_steps(node: ast.AugAssign) -> Iterator[Change]:
    other = ARITHMETIC.get(type(node.op))
    if other is not None:
        yield "arithmetic", ast.AugAssign(node.target, other(), node.value)
    yield "statement removed", ast.Pass()


def _of_boolean(node: ast.BoolOp) -> Iterator[Change]:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "boolean", ast.BoolOp(other, node.values)


def _of_sign(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield "sign", node.operand


def _of_constant(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int):
        yield "constant", ast.Constant(value + 1)
        yield "constant", ast.Constant(value - 1)
    elif isinstance(value, float):
        yield "constant", ast.Constant(value + 1)
        if value:
            yield "constant", ast.Constant(value * 1.25)


def _of_branch(node: ast.If | ast.IfExp) -> Iterator[Change]:
    for outcome in (True, False):
        new = copy.copy(node)
        new.test = ast.Constant(outcome)
        yield "branch", new


def _of_return(node: ast.Return) -> Iterator[Change]:
    is_none = isinstance(node.value, ast.Constant) and node.value.value is None
    if node.value is not None and not is_none:
        yield "return", ast.Return(ast.Constant(None))


def _of_expression(node: ast.Expr) -> Iterator[Change]:
    if isinstance(node.value, ast.Call):
        yield "statement removed", ast.Pass()


def _of_raise(node: ast.Raise) -> Iterator[Change]:
    yield "statement removed", ast.Pass()


def _of_jump(node: ast.Break | ast.Continue) -> Iterator[Change]:
    yield "jump", ast.Continue() if isinstance(node, ast.Break) else ast.Break()


def _of_call(node: ast.Call) -> Iterator[Change]:
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else None
    if isinstance(called, ast.Name):
        name = called.id
    if name == "where" and len(node.args) == 3:
        condition, chosen, other = node.args
        yield "arms", ast.Call(called, [condition, other, chosen], node.keywords)
    if name not in SWAPPED:
        return
    new = copy.deepcopy(called)
    if isinstance(new, ast.Attribute):
        new.attr = SWAPPED[name]
    elif isinstance(new, ast.Name) and name in ("min", "max", "any", "all"):
        new.id = SWAPPED[name]
    else:
        return
    yield "function", ast.Call(new, node.args, node.keywords)


_BY_KIND: dict[type[ast.AST], Callable[[Any], Iterator[Change]]] = {
    ast.Compare: _of_comparison,
    ast.BinOp: _of_arithmetic,
    ast.AugAssign: _of_steps,
    ast.BoolOp: _of_boolean,
    ast.UnaryOp: _of_sign,
    ast.Constant: _of_constant,
    ast.If: _of_branch,
    ast.IfExp: _of_branch,
    ast.Return: _of_return,
    ast.Expr: _of_expression,
    ast.Raise: _of_raise,
    ast.Break: _of_jump,
    ast.Continue: _of_jump,
    ast.Call: _of_call,
}


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


class Finder:
    """Goes through a module and yields every place where a change can be made.

    Left out are annotations, decorators, docstrings, assertions, formatted text and the words of
    errors: no number and no verdict comes from them. So is the body of a class, whose values were
    taken over when the class was made.

    >>> tree = ast.parse("def f(a):\\n    return a + 1")
    >>> [ast.unparse(place.new) for place in Finder().places(tree)]
    ['return None', 'a - 1', '2', '0']
    """

    def __init__(self) -> None:
        self._statement = 0

    def places(self, tree: ast.Module) -> Iterator[MutationSite]:
        """Yield all places of a module, in the order of its source."""
        for node in tree.body:
            yield from self._at_top(node, "")

    def _at_top(self, node: ast.stmt, prefix: str) -> Iterator[MutationSite]:
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if not isinstance(inner, ast.Assign | ast.AnnAssign):
                    yield from self._at_top(inner, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from self._inside(node, f"{prefix}{node.name}")
        elif isinstance(node, ast.Assign) and _is_constant(node):
            self._statement = node.lineno
            yield from self._of(node, "value", None, "")
            yield from self._below(node.value, "")

    def _inside(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, function: str
    ) -> Iterator[MutationSite]:
        arguments = node.args
        self._statement = node.body[-1].lineno
        for field in ("defaults", "kw_defaults"):
            for index, default in enumerate(getattr(arguments, field)):
                if isinstance(default, ast.Constant):
                    yield from self._of(arguments, field, index, function)
        for index, _ in enumerate(node.body):
            yield from self._at(node, "body", index, function)

    def _at(
        self, owner: ast.AST, field: str, index: int | None, function: str
    ) -> Iterator[MutationSite]:
        held = getattr(owner, field)
        node = held if index is None else held[index]
        is_statement = isinstance(node, ast.stmt)
        if is_statement:
            self._statement = node.lineno
        if isinstance(node, ast.Assert | ast.JoinedStr) or _is_docstring(node):
            return
        yield from self._of(owner, field, index, function)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from self._inside(node, function)
        elif not isinstance(node, ast.Raise):
            yield from self._below(node, function)

    def _below(self, node: ast.AST, function: str) -> Iterator[MutationSite]:
        statement = self._statement
        for field, held in ast.iter_fields(node):
            if field in ("annotation", "op", "ops", "func", "ctx"):
                if field == "func" and isinstance(held, ast.Attribute):
                    yield from self._below(held, function)
                continue
            if isinstance(held, ast.AST):
                yield from self._at(node, field, None, function)
            elif isinstance(held, list):
                for index, entry in enumerate(held):
                    if isinstance(entry, ast.AST):
                        yield from self._at(node, field, index, function)
            self._statement = statement

    def _of(
        self, owner: ast.AST, field: str, index: int | None, function: str
    ) -> Iterator[MutationSite]:
        held = getattr(owner, field)
        node = held if index is None else held[index]
        for kind, new in changes(node):
            yield MutationSite(kind, owner, field, index, new, function, self._statement)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and _is_string(node.value)


def _is_constant(node: ast.Assign) -> bool:
    """Return whether a statement gives one name a number."""
    target = node.targets[0]
    return isinstance(target, ast.Name) and isinstance(node.value, ast.Constant)
