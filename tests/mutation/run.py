"""Runs tests against mutants: all tests are collected once, and each mutant gets a fork.

A fork has every module loaded and every test at hand, so that a mutant costs no more than the tests
that run it. It ends at the first test that fails.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.mutation.mutants import NotApplicable, live_functions, put
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.mutation.mutants import Mutant
    from tests.mutation.reach import Reach

KILLED = "killed"
TIMEOUT = "timeout"
SURVIVED = "survived"
UNREACHED = "unreached"
SKIPPED = "not applicable"

_MORE_MEMORY = 6 << 30
_CODES = {0: SURVIVED, 1: KILLED, 3: SKIPPED}


@dataclass(frozen=True)
class Fate:
    """What became of a mutant."""

    mutant: Mutant
    outcome: str
    test: str = ""
    """The test that failed."""
    tests: int = 0
    """How many tests ran it."""
    seconds: float = 0.0


class Forks:
    """A plugin of pytest that runs the collected tests against mutants instead of once."""

    def __init__(
        self,
        mutants: Sequence[Mutant],
        reach: Reach,
        *,
        most: float,
        also: Sequence[str],
        report: Any,
    ) -> None:
        self.fates: list[Fate] = []
        self._sound: dict[str, bool] = {}
        self._mutants = mutants
        self._reach = reach
        self._most = most
        self._also = tuple(also)
        self._report: Callable[[Fate], None] = report

    def pytest_sessionstart(self) -> None:
        """Let properties end at the first example that fails: nobody reads the smallest one."""
        from hypothesis import Phase, settings

        settings.register_profile(
            "few",
            settings.get_profile("few"),
            phases=(Phase.explicit, Phase.generate),
            database=None,
            derandomize=True,
        )
        settings.load_profile("few")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run every mutant; pytest's own loop is left out."""
        items = {item.nodeid: item for item in session.items}
        load_all()
        live_functions()
        for mutant in self._mutants:
            newer = [name for name in items if name.startswith(self._also)]
            known = self._reach.of(mutant, self._most)
            wanted = dict.fromkeys([*newer, *known])
            tests = [items[name] for name in wanted if name in items]
            fate = self._fate(mutant, tests)
            self.fates.append(fate)
            self._report(fate)
        return True

    def _fate(self, mutant: Mutant, tests: list[pytest.Item]) -> Fate:
        if not tests:
            return Fate(mutant, UNREACHED)
        started = time.perf_counter()
        outcome, name = self._outcome(mutant, tests)
        if outcome == KILLED and name and not self._passes(name, tests):
            rest = [test for test in tests if test.nodeid != name]
            return self._fate(mutant, rest)
        spent = time.perf_counter() - started
        return Fate(mutant, outcome, name, len(tests), spent)

    def _passes(self, name: str, tests: list[pytest.Item]) -> bool:
        """Return whether a test passes without any mutant: else it says nothing of one."""
        if name not in self._sound:
            alone = [test for test in tests if test.nodeid == name]
            outcome, _ = self._outcome(None, alone)
            self._sound[name] = outcome == SURVIVED
        return self._sound[name]

    def _outcome(self, mutant: Mutant | None, tests: list[pytest.Item]) -> tuple[str, str]:
        """Return what became of a mutant, or of the original, and the test that failed."""
        expected = self._reach.time_of(test.nodeid for test in tests)
        with tempfile.TemporaryFile("w+") as note:
            outcome = self._forked(mutant, tests, note, 20 + 8 * expected)
            note.seek(0)
            return outcome, note.read()

    def _forked(
        self, mutant: Mutant | None, tests: list[pytest.Item], note: Any, patience: float
    ) -> str:
        pid = os.fork()
        if pid == 0:
            _child(mutant, tests, note)
        deadline = time.monotonic() + patience
        status = None
        while status is None and time.monotonic() < deadline:
            done, code = os.waitpid(pid, os.WNOHANG)
            if done:
                status = code
            else:
                time.sleep(0.01)
        # What the tests have started goes with them.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        if status is None:
            os.waitpid(pid, 0)
            return TIMEOUT
        return _CODES.get(os.waitstatus_to_exitcode(status), KILLED)


def _child(mutant: Mutant | None, tests: list[pytest.Item], note: Any) -> None:
    """Run the tests against a mutant or the original, and leave with what came of it."""
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    resource.setrlimit(resource.RLIMIT_AS, (_MORE_MEMORY, resource.RLIM_INFINITY))
    code = 1
    try:
        if mutant is not None:
            put(mutant)
        failed = first_failed(tests)
        note.write(failed)
        note.flush()
        code = 1 if failed else 0
    except NotApplicable:
        code = 3
    finally:
        os._exit(code)


def first_failed(tests: list[pytest.Item]) -> str:
    """Run tests until one fails, and return its name; "" where all pass."""
    from _pytest.runner import runtestprotocol

    for test, following in zip(tests, [*tests[1:], None], strict=True):
        for report in runtestprotocol(test, nextitem=following, log=False):
            if report.failed:
                return test.nodeid
    return ""


def load_all() -> None:
    """Load every module that is mutated: a module that is loaded later would be the original."""
    import importlib

    from tests.mutation.targets import PARTS, SOURCE, modules

    for part in PARTS:
        for path in modules(part):
            dotted = path.relative_to(SOURCE.parent).with_suffix("").as_posix()
            with contextlib.suppress(ImportError):
                importlib.import_module(dotted.replace("/", ".").removesuffix(".__init__"))


def run(
    mutants: Sequence[Mutant],
    reach: Reach,
    *,
    most: float,
    also: Sequence[str] = (),
    report: Callable[[Fate], None],
) -> list[Fate]:
    """Run the tests against mutants and return what became of each.

    The tests of `also`, which `reach` does not know yet, are run against every mutant.
    """
    files: set[str] = set(also)
    for mutant in mutants:
        for test in reach.of(mutant, most):
            files.add(test.partition("::")[0])
    if not files:
        return [Fate(mutant, UNREACHED) for mutant in mutants]
    forks = Forks(mutants, reach, most=most, also=also, report=report)
    with tempfile.TemporaryDirectory() as folder:
        options = [
            "-q",
            "-s",
            "--no-header",
            "--no-summary",
            *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:pytest_cov"),
            *("-m", "not heavy and not slow and not minutes"),
            *("-o", "tmp_path_retention_policy=none"),
            *("--basetemp", str(Path(folder) / "tests")),
            *("--rootdir", str(ROOT)),
        ]
        paths = [str(ROOT / file) for file in sorted(files) if (ROOT / file).exists()]
        code = pytest.main([*options, *paths], plugins=[forks])
    if len(forks.fates) < len(mutants):
        sys.exit(f"the tests could not be collected: pytest ended with {code}")
    return forks.fates
