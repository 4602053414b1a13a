"""Which tests run which lines, and how long each takes: read from one run of all tests.

`make coverage` writes both files: the contexts of coverage.py, and the times as JUnit XML.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from tests.mutation.targets import SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.mutation.mutants import Mutant

MARK = "src/evenhand/"
OWN_SHARE = 0.2
"""A test of the module itself is tried before others that are up to five times as quick."""
FOLDER_SHARE = 0.5
"""A test of the module's folder is tried before others that are up to twice as quick."""


@dataclass(frozen=True)
class Reach:
    """The tests that passed, and what each of them runs.

    Parameters
    ----------
    tests
        The node ids of the tests that run a line, by module and line.
    seconds
        How long each test takes, by its node id; only tests that passed are here.
    """

    tests: dict[str, dict[int, frozenset[str]]]
    seconds: dict[str, float]

    def of(self, mutant: Mutant, most: float) -> list[str]:
        """Return the tests that run a mutant, the quick ones and those of its own module first.

        Tests are taken while they take no more than `most` seconds together.
        """
        by_line = self.tests.get(mutant.module, {})
        # A constant is read wherever its module is at work.
        lines = mutant.lines if mutant.function else by_line
        found: set[str] = set()
        for line in lines:
            found |= by_line.get(line, frozenset())
        own = "test_" + mutant.path.stem
        folder = folder_of(mutant.module)

        def cost(test: str) -> tuple[float, str]:
            """Return what a test is ordered by: its time, and less for those of the module."""
            share = 1.0
            if own in test:
                share = OWN_SHARE
            elif folder in test:
                share = FOLDER_SHARE
            return share * self.seconds[test], test

        ordered = sorted(found, key=cost)
        taken: list[str] = []
        total = 0.0
        for test in ordered:
            if taken and total + self.seconds[test] > most:
                continue
            total += self.seconds[test]
            taken.append(test)
        return taken

    def time_of(self, tests: Iterable[str]) -> float:
        """Return how long some tests take; one that is not known yet takes a second."""
        return sum(self.seconds.get(test, 1.0) for test in tests)


def folder_of(module: str) -> str:
    """Return the folder that the tests of a module are in.

    >>> folder_of("methods/subsets/evaluators/exact.py"), folder_of("results/baseline.py")
    ('/methods/subsets/', '/results/')
    """
    package, *rest = module.split("/")
    verb = f"{rest[0]}/" if package == "methods" else ""
    return f"/{package}/{verb}"


def read(contexts: Iterable[Path], times: Iterable[Path]) -> Reach:
    """Read what runs of the tests wrote."""
    seconds: dict[str, float] = {}
    for file in times:
        seconds.update(_seconds(file))
    tests: dict[str, dict[int, frozenset[str]]] = {}
    ids: dict[str, str] = {}
    for file in contexts:
        _add_contexts(file, tests, ids, seconds)
    by_id = {ids[name]: spent for name, spent in seconds.items() if name in ids}
    return Reach(tests, by_id)


def _seconds(file: Path) -> dict[str, float]:
    """Return the time of each test that passed, by the name that JUnit gives it."""
    found = {}
    for case in ElementTree.parse(file).iter("testcase"):
        if not list(case.iterfind("failure")) and not list(case.iterfind("error")):
            name = f"{case.get('classname')}::{case.get('name')}"
            found[name] = float(case.get("time", 0.0))
    return found


def junit_name(test: str) -> str:
    """Return the name that JUnit gives a node id.

    >>> junit_name("tests/unit/test_a.py::TestB::test_c[d]")
    'tests.unit.test_a.TestB::test_c[d]'
    """
    bare, bracket, case = test.partition("[")
    *places, name = bare.split("::")
    file, *classes = places
    dotted = file.removesuffix(".py").replace("/", ".")
    return ".".join([dotted, *classes]) + f"::{name}{bracket}{case}"


def _add_contexts(
    file: Path,
    tests: dict[str, dict[int, frozenset[str]]],
    ids: dict[str, str],
    seconds: dict[str, float],
) -> None:
    from coverage.sqldata import CoverageData

    data = CoverageData(str(file))
    data.read()
    for path in data.measured_files():
        _, found, module = path.partition(MARK)
        if not found or not (SOURCE / module).exists():
            continue
        by_line = tests.setdefault(module, {})
        for line, contexts in data.contexts_by_lineno(path).items():
            names = set()
            for context in contexts:
                test = context.rpartition("|")[0]
                name = junit_name(test) if test else ""
                if name in seconds:
                    ids[name] = test
                    names.add(test)
            by_line[line] = by_line.get(line, frozenset()) | names
