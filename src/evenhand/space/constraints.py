"""Constraints: which combinations of values are real inputs, as expressions that are parsed and
never `eval`ed.

The grammar is a small part of Python: feature names, constants, `and or not`, comparisons (also
chained), `in` and `not in` with lists, and `+ - * / %` between numbers. A name that is no
identifier stands in backquotes: `` `capital-gain` > 0 ``. Comparing a category with a constant
looks up a table over its levels, so the cost does not depend on how long the labels are.
"""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand.runtime.errors import SpaceError, clip, nearest
from evenhand.runtime.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Points
    from evenhand.space.space import Space

Mask = np.ndarray[Any, np.dtype[np.bool_]]
DEEPEST = 100
"""How deep an expression may nest; evaluation recurses, and must not depend on how deep its caller
is.
"""
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|`([^`]+)`""")
_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True, slots=True)
class Constraint:
    """A parsed expression over features.

    >>> from evenhand.space.feature import integer
    >>> only = Constraint.parse("age >= 21", [integer("age", 18, 90)])
    >>> only.mask(np.array([[20.0], [30.0]])).tolist()
    [False, True]
    """

    text: str
    touches: tuple[str, ...]
    _tree: ast.expr
    _features: Mapping[str, tuple[int, Feature]]

    @classmethod
    def parse(cls, text: str, features: Any) -> Constraint:
        """Parse an expression over the given features, or say what is wrong with it."""
        index = {
            feature.name: (position, feature) for position, feature in enumerate(features)
        }
        names: dict[str, str] = {}
        longest = max(
            map(len, index)
        )  # an alias longer than every name is no feature's own

        def hide(match: re.Match[str]) -> str:
            if match.group(1) is not None:
                return match.group(1)
            alias = f"quoted{'_' * longest}{len(names)}"
            names[alias] = match.group(2)
            return alias

        said = f"constraint {clip(repr(text))}"
        try:
            tree = ast.parse(_QUOTED.sub(hide, text).strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise SpaceError(
                f'{said} is not an expression; write for example "age >= 18"'
            ) from None
        if _depth(tree) > DEEPEST:
            raise SpaceError(
                f"{said} is nested more than {DEEPEST} levels deep; split it into several"
                " constraints"
            )
        touched: dict[str, None] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = names.get(node.id, node.id)
                if node.id not in index:
                    raise SpaceError(
                        f"{said}: unknown feature {node.id!r}; {nearest(node.id, index)}"
                    )
                touched[node.id] = None
        constraint = cls(text, tuple(touched), tree, index)
        constraint._truth(tree, np.zeros((0, len(index))))
        return constraint

    def mask(self, points: Points) -> Mask:
        """Tell which encoded points satisfy the constraint."""
        return np.broadcast_to(self._truth(self._tree, points), len(points))

    def _fail(self, why: str) -> SpaceError:
        return SpaceError(f"constraint {clip(repr(self.text))}: {why}")

    def _truth(self, node: ast.expr, points: Points) -> Mask:
        match node:
            case ast.BoolOp(op=op, values=values):
                masks = [self._truth(value, points) for value in values]
                join = np.logical_and if isinstance(op, ast.And) else np.logical_or
                return np.asarray(join.reduce(np.broadcast_arrays(*masks)))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ~self._truth(operand, points)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                sides = [left, *comparators]
                masks = [
                    self._compare(op, a, b, points)
                    for op, a, b in zip(ops, sides, sides[1:], strict=False)
                ]
                return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*masks)))
            case ast.Constant(value=bool(value)):
                return np.asarray(value)
            case ast.Name(id=name) if set(self._features[name][1].levels) <= {False, True}:
                if self._features[name][1].kind == "category":
                    return self._lookup(name, lambda level: bool(level), points)
        raise self._fail(
            f"{ast.unparse(node)!r} is not a condition; compare it with something"
        )

    def _compare(
        self, op: ast.cmpop, left: ast.expr, right: ast.expr, points: Points
    ) -> Mask:
        if isinstance(op, ast.In | ast.NotIn):
            return self._member(left, right, points, negate=isinstance(op, ast.NotIn))
        compare = _ORDER.get(type(op))
        if compare is None:
            raise self._fail(
                f"the operator {type(op).__name__} is not allowed; use == != < <= > >= in"
            )
        for one, other, flipped in ((left, right, False), (right, left, True)):
            if self._is_category(one) and isinstance(other, ast.Constant):
                return self._compare_level(
                    one, other.value, compare, flipped=flipped, points=points
                )
        if self._is_category(left) and self._is_category(right):
            if compare not in (operator.eq, operator.ne):
                self._need_order(left, right)
            return np.asarray(
                compare(self._levels(left, points), self._levels(right, points)),
                dtype=np.bool_,
            )
        return np.asarray(
            compare(self._number(left, points), self._number(right, points)), dtype=np.bool_
        )

    def _compare_level(
        self,
        node: ast.expr,
        value: object,
        compare: Callable[[Any, Any], Any],
        *,
        flipped: bool,
        points: Points,
    ) -> Mask:
        assert isinstance(node, ast.Name)
        feature = self._features[node.id][1]
        if compare in (operator.eq, operator.ne):
            self._known(feature, value)
        else:
            self._need_order(node)
            if not isinstance(value, int | float):
                raise self._fail(f"{value!r} is compared with a number")
        return self._lookup(
            node.id,
            lambda level: bool(compare(value, level) if flipped else compare(level, value)),
            points,
        )

    def _need_order(self, *nodes: ast.expr) -> None:
        for feature in (
            self._features[node.id][1] for node in nodes if isinstance(node, ast.Name)
        ):
            if any(isinstance(level, str) for level in feature.levels):
                raise self._fail(
                    f"{feature.name!r} is a category of texts, which have no order; use == or in"
                )

    def _member(
        self, left: ast.expr, right: ast.expr, points: Points, *, negate: bool
    ) -> Mask:
        if not isinstance(right, ast.List | ast.Tuple | ast.Set):
            raise self._fail("what follows 'in' must be a list of constants")
        values = [self._constant(item) for item in right.elts]
        if self._is_category(left):
            assert isinstance(left, ast.Name)
            for value in values:
                self._known(self._features[left.id][1], value)
            return self._lookup(left.id, lambda level: (level in values) != negate, points)
        if any(isinstance(value, str) for value in values):
            raise self._fail(f"{ast.unparse(left)!r} is a number; list numbers after 'in'")
        return np.isin(
            self._number(left, points),
            [self._float(value) for value in values],
            invert=negate,
        )

    def _known(self, feature: Feature, value: object) -> None:
        if value not in feature.levels:
            raise self._fail(
                f"{feature.name!r} has no level {value!r}; {nearest(value, feature.levels)}"
            )

    def _is_category(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and self._features[node.id][1].kind == "category"

    def _lookup(self, name: str, test: Callable[[Any], bool], points: Points) -> Mask:
        position, feature = self._features[name]
        table = np.array([test(level) for level in feature.levels], dtype=np.bool_)
        return table[points[:, position].astype(np.intp)]

    def _levels(self, node: ast.expr, points: Points) -> NDArray[Any]:
        assert isinstance(node, ast.Name)
        position, feature = self._features[node.id]
        table = np.empty(len(feature.levels), dtype=object)
        table[:] = feature.levels
        return np.asarray(table[points[:, position].astype(np.intp)])

    def _constant(self, node: ast.expr) -> object:
        if (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and isinstance(node.operand, ast.Constant)
        ):
            value = node.operand.value
            if isinstance(value, int | float):
                return -value
        if isinstance(node, ast.Constant) and isinstance(
            node.value, str | int | float | bool
        ):
            return node.value
        raise self._fail(f"{ast.unparse(node)!r} is not a constant")

    def _float(self, value: Any) -> float:
        try:
            return float(value)
        except OverflowError:
            raise self._fail("it holds a number that is too large") from None

    def _number(self, node: ast.expr, points: Points) -> NDArray[np.float64] | float:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return self._float(value)
            case ast.Constant(value=value):
                raise self._fail(f"{value!r} is compared with a number")
            case ast.Name(id=name):
                position, feature = self._features[name]
                if feature.kind != "category":
                    return points[:, position]
                if any(isinstance(level, str) for level in feature.levels):
                    raise self._fail(
                        f"{name!r} is a category of texts; compare it with one of its levels"
                    )
                return np.asarray(feature.levels, dtype=np.float64)[
                    points[:, position].astype(np.intp)
                ]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._number(operand, points)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                with np.errstate(all="ignore"):
                    return np.asarray(
                        _ARITHMETIC[type(op)](
                            np.asarray(self._number(left, points)),
                            self._number(right, points),
                        )
                    )
        raise self._fail(
            f"{ast.unparse(node)!r} is not allowed; use names, constants, comparisons and + - * / %"
        )


def _depth(tree: ast.expr) -> int:
    depth, level = 0, [cast("ast.AST", tree)]
    while level and depth <= DEEPEST:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1
    return depth


@dataclass(frozen=True)
class FunctionConstraint:
    """A constraint given as a function of a frame."""

    space: Space
    function: Callable[[Any], Any]

    def mask(self, points: Points) -> NDArray[np.bool_]:
        """Tell which encoded points satisfy the constraint."""
        try:
            answer = np.asarray(self.function(self.space.decode(points)))
        except Exception as error:
            raise SpaceError(
                f"constraint {named(self.function)} raised {type(error).__name__}:"
                f" {clip(str(error))}"
            ) from error
        if answer.dtype == object and set(map(type, answer.ravel().tolist())) <= {bool}:
            answer = answer.astype(np.bool_)  # pandas' nullable truth values
        if answer.shape != (len(points),) or answer.dtype != np.bool_:
            raise SpaceError(
                f"constraint {named(self.function)} returned {answer.dtype} of shape {answer.shape}"
                f" for {len(points):,} inputs; it must return one truth value per input"
            )
        return answer


def named(constraint: str | Callable[[Any], Any]) -> str:
    """Return a constraint as it is written down; functions by name and content."""
    if isinstance(constraint, str):
        return constraint
    name = getattr(constraint, "__qualname__", type(constraint).__qualname__)
    return f"{getattr(constraint, '__module__', '?')}:{name}#{fingerprint(constraint)}"
