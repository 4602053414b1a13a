"""Constraints: which combinations of values are inputs. Expressions are parsed, never `eval`ed.

The grammar is a small part of Python: feature names, constants, `and or not`, comparisons (also
chained), `in` and `not in` with lists, and `+ - * / %` between numbers. A name that is not an
identifier stands in backquotes: `` `capital-gain` > 0 ``. Comparing a category with a constant
looks up a table over its levels, so the cost does not depend on how long the labels are. Dates are
compared with ISO texts, `` applied < '2020-05-01' ``.
"""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import SpaceError, SubjectCrashed, clip, nearest
from evenhand.runtime.fingerprint import fingerprint
from evenhand.runtime.interruption import exits_reported
from evenhand.space.values import dates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from evenhand.space.blocks import Predicate
    from evenhand.space.feature import Feature, Floats, Points
    from evenhand.space.space import Space

Mask = np.ndarray[Any, np.dtype[np.bool_]]
DEEPEST = 100
"""How deep an expression may nest, whatever its caller: evaluation recurses."""
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|`([^`]+)`""")
_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FLIPPED: dict[Callable[[Any, Any], Any], Callable[[Any, Any], Any]] = {
    operator.eq: operator.eq,
    operator.ne: operator.ne,
    operator.lt: operator.gt,
    operator.le: operator.ge,
    operator.gt: operator.lt,
    operator.ge: operator.le,
}
"""What a comparison becomes when its sides change places."""
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
        """Parse an expression over the given features, or raise a SpaceError."""
        index = {}
        for position, feature in enumerate(features):
            index[feature.name] = (position, feature)
        expression, quoted = _without_quotes(text, index)
        constraint = f"constraint {clip(repr(text))}"
        try:
            tree = ast.parse(expression.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise SpaceError(
                f'{constraint} is not an expression; write for example "age >= 18"'
            ) from None
        if _depth(tree) > DEEPEST:
            raise SpaceError(
                f"{constraint} is nested more than {DEEPEST} levels deep; split it into several"
                " constraints"
            )
        touched: dict[str, None] = {}  # keys only, in order
        for node in ast.walk(tree):
            if not isinstance(node, ast.Name):
                continue
            node.id = quoted.get(node.id, node.id)
            if node.id not in index:
                raise SpaceError(
                    f"{constraint}: unknown feature {node.id!r}; {nearest(node.id, index)}"
                )
            touched[node.id] = None
        parsed = cls(text, tuple(touched), tree, index)
        # Evaluated once without points, so that what is wrong with it is found now.
        parsed._truth(tree, np.zeros((0, len(index))))
        return parsed

    def mask(self, points: Points) -> Mask:
        """Return which encoded points satisfy the constraint.

        It says nothing of points that lack a value it reads, so these satisfy it.
        """
        read = [self._features[name] for name in self.touches]
        with_gaps = [(position, feature) for position, feature in read if feature.missing]
        if not with_gaps:
            truth = self._truth(self._tree, points)
            return np.broadcast_to(truth, len(points))
        gaps = np.zeros(len(points), dtype=np.bool_)
        filled = points.copy(order="F")
        for position, feature in with_gaps:
            missing = feature.is_missing(points[:, position])
            # A value that there is, so that it can be looked up.
            filled[missing, position] = feature.first_value
            gaps |= missing
        return np.asarray(self._truth(self._tree, filled) | gaps)

    def _fail(self, why: str) -> SpaceError:
        return SpaceError(f"constraint {clip(repr(self.text))}: {why}")

    def _truth(self, node: ast.expr, points: Points) -> Mask:
        """Return where a condition holds; a condition without features is a single value."""
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                masks = [self._truth(value, points) for value in values]
                return _all(masks)
            case ast.BoolOp(op=ast.Or(), values=values):
                masks = [self._truth(value, points) for value in values]
                return _any(masks)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ~self._truth(operand, points)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                # As in Python, a < b < c is a < b and b < c.
                sides = [left, *comparators]
                masks = []
                for op, one_side, other_side in zip(
                    ops, sides[:-1], comparators, strict=True
                ):
                    masks.append(self._compare(op, one_side, other_side, points))
                return _all(masks)
            case ast.Constant(value=bool(value)):
                return np.asarray(value)
            case ast.Name(id=name):
                feature = self._features[name][1]
                is_truth_value = set(feature.levels) <= {False, True}
                if feature.kind == "category" and is_truth_value:
                    return self._lookup(name, bool, points)
        raise self._fail(
            f"{ast.unparse(node)!r} is not a condition; compare it with something"
        )

    def _compare(
        self,
        op: ast.cmpop,
        left: ast.expr,
        right: ast.expr,
        points: Points,
    ) -> Mask:
        if isinstance(op, ast.In | ast.NotIn):
            negate = isinstance(op, ast.NotIn)
            return self._member(left, right, points, negate=negate)
        compare = _ORDER.get(type(op))
        if compare is None:
            raise self._fail(
                f"the operator {type(op).__name__} is not allowed; use == != < <= > >= in"
            )
        if self._is_category(left) and isinstance(right, ast.Constant):
            return self._compare_level(left, right.value, compare, points)
        if self._is_category(right) and isinstance(left, ast.Constant):
            return self._compare_level(right, left.value, _FLIPPED[compare], points)
        if self._is_category(left) and self._is_category(right):
            if compare not in (operator.eq, operator.ne):
                self._need_order(left, right)
            left_levels = self._levels(left, points)
            right_levels = self._levels(right, points)
            return np.asarray(compare(left_levels, right_levels), dtype=np.bool_)
        left_number = self._number(left, points)
        right_number = self._number(right, points)
        return np.asarray(compare(left_number, right_number), dtype=np.bool_)

    def _compare_level(
        self,
        node: ast.expr,
        value: Any,
        compare: Callable[[Any, Any], Any],
        points: Points,
    ) -> Mask:
        assert isinstance(node, ast.Name)
        if compare in (operator.eq, operator.ne):
            self._check_level(self._features[node.id][1], value)
        else:
            self._need_order(node)
            if not isinstance(value, int | float):
                raise self._fail(f"{value!r} is compared with a number")
        return self._lookup(node.id, lambda level: bool(compare(level, value)), points)

    def _need_order(self, *nodes: ast.expr) -> None:
        for node in nodes:
            assert isinstance(node, ast.Name)
            feature = self._features[node.id][1]
            if any(isinstance(level, str) for level in feature.levels):
                raise self._fail(
                    f"{feature.name!r} is a category of texts, which have no order; use == or in"
                )

    def _member(
        self,
        left: ast.expr,
        right: ast.expr,
        points: Points,
        *,
        negate: bool,
    ) -> Mask:
        if not isinstance(right, ast.List | ast.Tuple | ast.Set):
            raise self._fail("what follows 'in' must be a list of constants")
        values = [self._constant(item) for item in right.elts]
        if self._is_category(left):
            assert isinstance(left, ast.Name)
            feature = self._features[left.id][1]
            for value in values:
                self._check_level(feature, value)
            return self._lookup(left.id, lambda level: (level in values) != negate, points)
        is_date = isinstance(left, ast.Name) and self._features[left.id][1].kind == "date"
        if not is_date and any(isinstance(value, str) for value in values):
            raise self._fail(f"{ast.unparse(left)!r} is a number; list numbers after 'in'")
        number = self._number(left, points)
        to_number = self._day if is_date else self._float
        numbers = [to_number(value) for value in values]
        return np.isin(number, numbers, invert=negate)

    def _check_level(self, feature: Feature, value: object) -> None:
        if value not in feature.levels:
            raise self._fail(
                f"{feature.name!r} has no level {value!r}; {nearest(value, feature.levels)}"
            )

    def _is_category(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Name):
            return False
        feature = self._features[node.id][1]
        return feature.kind == "category"

    def _lookup(self, name: str, test: Callable[[Any], bool], points: Points) -> Mask:
        position, feature = self._features[name]
        table = np.array([test(level) for level in feature.levels], dtype=np.bool_)
        codes = points[:, position].astype(np.intp)
        return table[codes]

    def _levels(self, node: ast.expr, points: Points) -> NDArray[Any]:
        assert isinstance(node, ast.Name)
        position, feature = self._features[node.id]
        table = np.empty(len(feature.levels), dtype=object)
        table[:] = feature.levels
        codes = points[:, position].astype(np.intp)
        return np.asarray(table[codes])

    def _constant(self, node: ast.expr) -> object:
        match node:
            case ast.UnaryOp(
                op=ast.USub(), operand=ast.Constant(value=int() | float() as value)
            ):
                return -value
            case ast.Constant(value=str() | int() | float() as value):
                return value
        raise self._fail(f"{ast.unparse(node)!r} is not a constant")

    def _float(self, value: Any) -> float:
        try:
            return float(value)
        except OverflowError:
            raise self._fail("it holds a number that is too large") from None

    def _number(self, node: ast.expr, points: Points) -> Floats | float:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return self._float(value)
            case ast.Constant(value=value):
                return self._day(value)
            case ast.Name(id=name):
                return self._feature_number(name, points)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._number(operand, points)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                operate = _ARITHMETIC[type(op)]
                # An array, so that a division of two constants by zero is no Python error.
                first = np.asarray(self._number(left, points))
                second = self._number(right, points)
                with np.errstate(all="ignore"):
                    return np.asarray(operate(first, second))
        raise self._fail(
            f"{ast.unparse(node)!r} is not allowed; use names, constants, comparisons and + - * / %"
        )

    def _day(self, value: object) -> float:
        """Return a text as the date it stands for, where the constraint reads dates."""
        day = dates.day_of(value)
        reads_dates = any(self._features[name][1].kind == "date" for name in self.touches)
        if day is None and reads_dates:
            raise self._fail(f"{value!r} is not a date; write it as '2020-01-31'")
        if day is None or not reads_dates:
            raise self._fail(f"{value!r} is compared with a number")
        return float(day)

    def _feature_number(self, name: str, points: Points) -> Floats:
        position, feature = self._features[name]
        column = points[:, position]
        if feature.kind != "category":
            return column
        if any(isinstance(level, str) for level in feature.levels):
            raise self._fail(
                f"{name!r} is a category of texts; compare it with one of its levels"
            )
        levels = np.asarray(feature.levels, dtype=np.float64)
        return levels[column.astype(np.intp)]


def _without_quotes(text: str, names: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return an expression with identifiers for names in backquotes, and what they stand for."""
    # An alias that is longer than every name cannot be that of a feature.
    longest = max(map(len, names))
    quoted: dict[str, str] = {}

    def alias_of(match: re.Match[str]) -> str:
        string, name = match.groups()
        if string is not None:
            return str(string)
        alias = f"quoted{'_' * longest}{len(quoted)}"
        quoted[alias] = name
        return alias

    return _QUOTED.sub(alias_of, text), quoted


def _all(masks: list[Mask]) -> Mask:
    same_shape = np.broadcast_arrays(*masks)
    return np.asarray(np.logical_and.reduce(same_shape))


def _any(masks: list[Mask]) -> Mask:
    same_shape = np.broadcast_arrays(*masks)
    return np.asarray(np.logical_or.reduce(same_shape))


def _depth(tree: ast.expr) -> int:
    """Return how deep an expression nests, or DEEPEST + 1 where it is deeper."""
    depth = 0
    level: list[ast.AST] = [tree]
    while level and depth <= DEEPEST:
        below: list[ast.AST] = []
        for node in level:
            below.extend(ast.iter_child_nodes(node))
        level = below
        depth += 1
    return depth


@dataclass(frozen=True)
class FunctionConstraint:
    """A constraint given as a function of a frame."""

    space: Space
    function: Callable[[Any], Any]

    def mask(self, points: Points) -> Mask:
        """Return which encoded points satisfy the constraint."""
        name = f"constraint {named(self.function)}"
        try:
            frame = self.space.decode(points)
            with exits_reported(name):
                answer = np.asarray(self.function(frame))
        except SubjectCrashed:
            raise
        except Exception as error:
            raise SpaceError(
                f"{name} raised {type(error).__name__}: {clip(str(error))}"
            ) from error
        if answer.dtype == object:
            # Pandas' nullable truth values come as objects.
            types = set(map(type, answer.ravel().tolist()))
            if types <= {bool}:
                answer = answer.astype(np.bool_)
        if answer.shape != (len(points),) or answer.dtype != np.bool_:
            raise SpaceError(
                f"{name} returned {answer.dtype} of shape {answer.shape}"
                f" for {len(points):,} inputs; it must return one truth value per input"
            )
        return answer


def named(constraint: str | Callable[[Any], Any]) -> str:
    """Return a constraint as it is written down; functions by name and content."""
    if isinstance(constraint, str):
        return constraint
    module = getattr(constraint, "__module__", "?")
    name = getattr(constraint, "__qualname__", type(constraint).__qualname__)
    return f"{module}:{name}#{fingerprint(constraint)}"


def predicates_of(space: Space) -> tuple[Predicate, ...]:
    """Return what makes points inputs of a space: its constraints, and what features follow from.

    Each is a check, with the positions of the features that it reads.
    """
    predicates: list[Predicate] = []
    for constraint in space.constraints:
        if isinstance(constraint, str):
            parsed = Constraint.parse(constraint, space.features)
            touched = tuple(space.index(name) for name in parsed.touches)
            predicates.append((touched, parsed.mask))
        elif callable(constraint):
            # What a function reads cannot be known, so it ties all features together.
            touched = tuple(range(len(space.features)))
            predicates.append((touched, FunctionConstraint(space, constraint).mask))
        else:
            raise SpaceError(
                f"constraint {constraint!r} is neither an expression nor a function"
            )
    for derivation in space.derivations.all:
        touched = (*derivation.sources, derivation.target)
        predicates.append((touched, derivation.holds))
    return tuple(predicates)
