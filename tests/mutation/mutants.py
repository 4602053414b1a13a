"""Mutants: all that there are, a sample of them, and one put in the place of the original."""

from __future__ import annotations

import ast
import gc
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.mutation.operators import Finder, MutationSite
from tests.mutation.targets import modules, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class NotApplicable(Exception):
    """The mutant cannot take the place of the original while the program runs."""


@dataclass(frozen=True)
class Mutant:
    """One change of one module.

    Parameters
    ----------
    part, path
        The part of the project, and the file.
    number
        Which of the places of its module it is.
    function
        The function that is changed; "" for a constant of the module.
    kind
        The kind of change.
    before, after
        What stood there, and what stands there instead.
    turn
        Which of several changes alike in one function it is, from 0.
    lines
        The lines that a test has to run to see it.
    """

    part: str
    path: Path
    number: int
    function: str
    kind: str
    before: str
    after: str
    turn: int
    lines: range

    @property
    def module(self) -> str:
        """The module inside the package."""
        return name_of(self.path)

    @property
    def key(self) -> str:
        """What names it for as long as its function says the same."""
        turn = f" #{self.turn + 1}" if self.turn else ""
        return f"{self.module} {self.function}: {self.before} -> {self.after}{turn}"


def all_of(part: str) -> list[Mutant]:
    """Return every mutant of a part."""
    found: list[Mutant] = []
    for path in modules(part):
        found.extend(_of_module(part, path))
    return found


def _of_module(part: str, path: Path) -> Iterator[Mutant]:
    seen: Counter[tuple[str, str, str]] = Counter()
    for number, place in enumerate(Finder().places(_tree(path))):
        before = _first_line(place.old)
        after = _first_line(place.new)
        alike = (place.function, before, after)
        turn = seen[alike]
        seen[alike] += 1
        yield Mutant(
            part,
            path,
            number,
            place.function,
            place.kind,
            before,
            after,
            turn,
            place.lines,
        )


def sample(part: str, size: int, seed: int, only: str = "") -> list[Mutant]:
    """Return some mutants of a part, drawn without replacement, in the order of the source.

    With `only`, they are drawn of those whose keys begin with it, such as "subject/memo.py".
    """
    every = [mutant for mutant in all_of(part) if mutant.key.startswith(only)]
    rng = np.random.default_rng([seed, len(part), sum(map(ord, part))])
    drawn = rng.permutation(len(every))[:size]
    return [every[place] for place in sorted(drawn)]


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _first_line(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0]


def put(mutant: Mutant) -> None:
    """Put a mutant in the place of the original, in the modules that are loaded here.

    A function keeps its identity and gets other code, so that whoever imported it has the mutant.
    """
    tree = _tree(mutant.path)
    place = _place(tree, mutant.number)
    if not mutant.function:
        _put_constant(mutant.path, place)
        return
    is_default = place.field in ("defaults", "kw_defaults")
    place.make()
    code = compile(tree, str(mutant.path), "exec", dont_inherit=True)
    for function in _functions(mutant):
        if is_default:
            _put_default(function, place)
        else:
            _put_code(function, code)


def _place(tree: ast.Module, number: int) -> MutationSite:
    for at, place in enumerate(Finder().places(tree)):
        if at == number:
            return place
    raise NotApplicable(f"there is no place {number}")


def _put_constant(path: Path, place: MutationSite) -> None:
    assert isinstance(place.owner, ast.Assign)
    target = place.owner.targets[0]
    assert isinstance(target, ast.Name)
    assert isinstance(place.old, ast.Constant)
    if not isinstance(place.new, ast.Constant):
        raise NotApplicable(target.id)
    for name, module in list(sys.modules.items()):
        has_it = vars(module).get(target.id) == place.old.value if module else False
        if name.startswith("evenhand") and has_it:
            setattr(module, target.id, place.new.value)


def _functions(mutant: Mutant) -> list[Any]:
    found = live_functions().get((str(mutant.path), mutant.function))
    if not found:
        raise NotApplicable(mutant.function)
    return found


@cache
def live_functions() -> dict[tuple[str, str], list[Any]]:
    """Return all functions of the package that are loaded, by their file and qualified name."""
    found: dict[tuple[str, str], list[Any]] = {}
    for thing in gc.get_objects():
        # Some objects of libraries warn where `isinstance` asks them for their class.
        if type(thing) is FunctionType and "/evenhand/" in thing.__code__.co_filename:
            code = thing.__code__
            found.setdefault((code.co_filename, code.co_qualname), []).append(thing)
    return found


def _put_default(function: Any, place: MutationSite) -> None:
    assert isinstance(place.new, ast.Constant)
    arguments = place.owner
    assert isinstance(arguments, ast.arguments)
    assert place.index is not None
    if place.field == "kw_defaults":
        name = arguments.kwonlyargs[place.index].arg
        function.__kwdefaults__ = {**function.__kwdefaults__, name: place.new.value}
        return
    defaults = list(function.__defaults__)
    defaults[place.index] = place.new.value
    function.__defaults__ = tuple(defaults)


def _put_code(function: Any, module: CodeType) -> None:
    original = function.__code__
    for code in _codes(module):
        same_name = code.co_qualname == original.co_qualname
        if same_name and code.co_firstlineno == original.co_firstlineno:
            try:
                function.__code__ = code
            except ValueError as error:
                raise NotApplicable(str(error)) from error
            return
    raise NotApplicable(original.co_qualname)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def by_keys(keys: Sequence[str]) -> list[Mutant]:
    """Return the mutants of all parts that have these keys."""
    from tests.mutation.targets import PARTS

    wanted = set(keys)
    found: list[Mutant] = []
    for part in PARTS:
        found.extend(mutant for mutant in all_of(part) if mutant.key in wanted)
    return found
