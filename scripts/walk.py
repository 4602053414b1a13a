"""Walk through evenhand at work: how many files a verb uses, and which files call each other.

Six things are run, each in a fresh process under a profiler: `eh.measure`, `eh.search`, `eh.mine`,
`eh.compare` and `eh.repair` on one small generated problem, and `evenhand audit -o report.html` on
a configuration with six checks. The problem and its space are made before the profiler starts.

    python scripts/walk.py                               # figures of the code in src
    python scripts/walk.py --pairs                       # and every pair, with the functions
    python scripts/walk.py --tree old/src --tree src     # two versions of the code, side by side
    python scripts/walk.py --start --tree old/src --tree src     # what it takes to start them

What is counted
---------------
called
    Files of the package with at least one function that was called. A function is what `def` or
    `lambda` makes: methods and properties count. Module code, class bodies, comprehensions, and
    what dataclasses generate do not, nor does anything that runs while a module is imported.
entered
    Files of the package in which anything ran but the module code: the files of `called`, and
    those of which a class was defined or a function was called when the run imported them. The
    first figures of this project (measure 45, search 62, mine 52, compare 19, repair 110, audit
    161) seem to have been counted so, since this gives 45, 62, 53, 19, 110 and 160 for the same
    code. Files that a run imports without using them are among these.
pairs
    Two files A and B, where a function of A calls a function of B, and a function of B one of A.
    A call is two Python frames, one right above the other, both of `called` functions. What lies
    between them in C does not matter (`sorted(..., key=f)` calls f); a frame of another library
    between them, or of a dataclass's `__init__`, means that there is no call. The one exception is
    `functools.cached_property`, which is a property like any other. A comprehension is part of the
    function around it. A generator is called where it is first asked for a value; that it goes on
    is no call, and neither is a generator expression that another file goes through.

    Neither a decorator that checks keywords and then calls what it decorates, nor a place that is
    imported when it is first called, is a caller: the call is that of whoever called these.

The look-up of public names in `evenhand/__init__.py` is left out of all three.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import CodeType, FrameType

HERE = Path(__file__).resolve()
SOURCE = HERE.parent.parent / "src"
"""The code of this repository, which is walked through where no tree is named."""
ROUNDS = 15
"""How many processes are started for each median."""

COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
PUBLIC_NAMES = "__init__.py"
TRANSPARENT = (
    "cached_property.__get__",
    "checked_keywords.<locals>.call",
    "_checked.<locals>.call",
    "Deferred.__call__",
)
"""Functions that only pass a call on: cached properties, decorators that check keywords, places."""

CONFIG = """
[subject]
estimator = "model.skops"
positive = 1

[space]
from = "people.csv"
target = "paid"
protected = ["sex", "race"]

[[checks]]
job = "measure"
over = ["sex"]
limit = 0.05

[[checks]]
job = "subsets"
among = ["sex", "race", "age"]
limit = 0.05

[[checks]]
job = "search"
over = ["sex"]
queries = 4000

[[checks]]
job = "mine"
limit = 0.1

[[checks]]
job = "impact"
over = ["sex"]

[[checks]]
job = "compare"
over = ["sex"]
truth = "paid"
models = { other = "other.skops" }
"""
"""What is audited: every job that an audit of a table can have, but for `prevalence`."""


# The runs. Each function prepares one and returns what is to be profiled.


@dataclass(frozen=True)
class Problem:
    """Generated people, whether they paid, and a model that learnt from them."""

    people: Any
    paid: Any
    model: Any
    space: Any


def public_names() -> Any:
    """Return the package, untyped: from a warm cache, mypy takes `eh.measure` for the module."""
    return import_module("evenhand")


def make_problem() -> Problem:
    """Make a small problem in which men are favoured."""
    import pandas as pd

    eh = public_names()
    rows = 2000
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], rows),
            "race": rng.choice(["green", "purple", "white"], rows),
            "age": rng.integers(18, 80, rows),
            "income": rng.integers(10, 120, rows),
            "debt": rng.integers(0, 60, rows),
        }
    )
    wealth = people["income"] - people["debt"] + 15 * (people["sex"] == "M")
    paid = (wealth + rng.normal(0, 6, rows) > 40).astype(int)
    model = untrained().fit(people, paid)
    space = eh.Space.from_frame(people, protected=["sex", "race"])
    return Problem(people, paid, model, space)


def untrained(strength: float = 1.0) -> Any:
    """Return a model that was not fitted; the smaller the strength, the less it will learn."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoder = make_column_transformer(
        (OneHotEncoder(), ["sex", "race"]), remainder="passthrough"
    )
    return make_pipeline(encoder, LogisticRegression(C=strength, max_iter=1000))


def prepare_measure() -> Callable[[], object]:
    """Prepare `eh.measure`."""
    eh = public_names()
    problem = make_problem()
    return lambda: eh.measure(problem.model, problem.space, over=["sex"], limit=0.05)


def prepare_search() -> Callable[[], object]:
    """Prepare `eh.search`."""
    eh = public_names()
    problem = make_problem()
    budget = eh.Budget(queries=20_000)
    return lambda: eh.search(problem.model, problem.space, over=["sex"], budget=budget)


def prepare_mine() -> Callable[[], object]:
    """Prepare `eh.mine`."""
    eh = public_names()
    problem = make_problem()
    return lambda: eh.mine(problem.model, problem.space, problem.people, limit=0.1)


def prepare_compare() -> Callable[[], object]:
    """Prepare `eh.compare`: a model, one that learnt less, and one that is overruled."""
    eh = public_names()
    problem = make_problem()
    original = problem.model.predict(problem.people)
    weaker = (
        untrained(strength=1e-4).fit(problem.people, problem.paid).predict(problem.people)
    )
    by_lot = np.random.default_rng(1).random(len(original)) < 0.5
    overruled = np.where(by_lot, 1, original)
    outcomes = {"original": original, "weaker": weaker, "overruled": overruled}
    return lambda: eh.compare(outcomes, problem.paid, problem.people["sex"])


def prepare_repair() -> Callable[[], object]:
    """Prepare `eh.repair`."""
    eh = public_names()
    problem = make_problem()
    model = untrained()
    return lambda: eh.repair(
        model, problem.people, problem.paid, space=problem.space, over=["sex"]
    )


def prepare_audit() -> Callable[[], object]:
    """Prepare `evenhand audit` in the working folder: write the data, two models and the file."""
    from skops import io

    problem = make_problem()
    other = untrained(strength=1e-4).fit(problem.people, problem.paid)
    io.dump(problem.model, "model.skops")
    io.dump(other, "other.skops")
    problem.people.assign(paid=problem.paid).to_csv("people.csv", index=False)
    Path("evenhand.toml").write_text(CONFIG, encoding="utf-8")
    tree = Path(public_names().__file__).parent.parent
    main = import_module(command_module(tree)).main

    def audit() -> None:
        code = main(["audit", "-o", "report.html"])
        # 0, 1 and 3 are verdicts; all others say that something went wrong.
        if code not in (0, 1, 3) or not Path("report.html").is_file():
            raise RuntimeError(f"the audit ended with exit code {code}")

    return audit


RUNS: dict[str, Callable[[], Callable[[], object]]] = {
    "measure": prepare_measure,
    "search": prepare_search,
    "mine": prepare_mine,
    "compare": prepare_compare,
    "repair": prepare_repair,
    "audit": prepare_audit,
}


def command_module(tree: Path) -> str:
    """Return the module with the `main` of the command line, which is a folder in newer code."""
    if (tree / "evenhand" / "cli" / "main.py").is_file():
        return "evenhand.cli.main"
    return "evenhand.cli"


# The profiler.


class Call(NamedTuple):
    """A function that calls one of another file."""

    caller_file: str
    caller: str
    callee_file: str
    callee: str


@dataclass
class Recorder:
    """Notes which files of a package are used, and which of its functions call which."""

    package: Path
    entered: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    calls: set[Call] = field(default_factory=set)
    _files: dict[str, str | None] = field(default_factory=dict)
    _known: set[tuple[CodeType, CodeType]] = field(default_factory=set)

    def record(self, run: Callable[[], object]) -> None:
        """Run something, in whichever threads it starts, and note what it calls."""
        threading.setprofile(self._watch)
        sys.setprofile(self._watch)
        try:
            run()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _watch(self, frame: FrameType, event: str, _argument: object) -> None:
        """Take one event of the profiler."""
        if event != "call":
            return
        code = frame.f_code
        file = self._file(code)
        if file is None or code.co_name == "<module>":
            return
        self.entered.add(file)
        caller = calling_frame(frame)
        if caller is None or not is_function(code) or is_resumed(frame):
            return
        link = (caller.f_code, code)
        if link in self._known or self._is_importing(caller):
            return
        self._known.add(link)
        self.called.add(file)
        self._note(caller.f_code, code, file)

    def _note(self, caller: CodeType, callee: CodeType, file: str) -> None:
        """Keep a call from one file of the package to another."""
        caller_file = self._file(caller)
        if caller_file is None or caller_file == file:
            return
        self.calls.add(Call(caller_file, plain_name(caller), file, plain_name(callee)))

    def _is_importing(self, frame: FrameType | None) -> bool:
        """Tell whether a module of the package is being imported, in this frame or around it."""
        while frame is not None:
            outside = not frame.f_code.co_flags & inspect.CO_OPTIMIZED
            if outside and self._file(frame.f_code) is not None:
                return True
            frame = frame.f_back
        return False

    def _file(self, code: CodeType) -> str | None:
        """Return the file of some code, relative to the package; None where it is not of it."""
        name = code.co_filename
        if name not in self._files:
            self._files[name] = self._relative(Path(name))
        return self._files[name]

    def _relative(self, path: Path) -> str | None:
        """Return a path relative to the package."""
        if not path.is_relative_to(self.package):
            return None
        relative = path.relative_to(self.package).as_posix()
        return None if relative == PUBLIC_NAMES else relative


def is_function(code: CodeType) -> bool:
    """Tell whether code is that of a function, and not of a module, class or comprehension."""
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and code.co_name not in COMPREHENSIONS


def is_resumed(frame: FrameType) -> bool:
    """Tell whether a frame goes on after a `yield` or `await` rather than begins."""
    code = frame.f_code
    if not code.co_flags & GENERATORS:
        return False
    # The profiler is called at a RESUME instruction. The lower bits of its argument say where:
    # 0 at the start of a function, others after `yield`, `yield from` and `await`.
    return code.co_code[frame.f_lasti + 1] & 3 != 0


def calling_frame(frame: FrameType) -> FrameType | None:
    """Return the frame that called another, seeing through what only passes a call on."""
    caller = frame.f_back
    while caller is not None and caller.f_code.co_qualname in TRANSPARENT:
        caller = caller.f_back
    return caller


def plain_name(code: CodeType) -> str:
    """Return the name of a function as people write it; a comprehension has that around it."""
    parts = code.co_qualname.split(".")
    left_out = ("<locals>", *COMPREHENSIONS)
    return ".".join(part for part in parts if part not in left_out)


def record_here(name: str, output: Path) -> None:
    """Do one run in this process and write what was recorded."""
    package = Path(public_names().__file__).parent
    recorder = Recorder(package)
    run = RUNS[name]()
    recorder.record(run)
    recorded = {
        "called": sorted(recorder.called),
        "entered": sorted(recorder.entered),
        "calls": sorted(recorder.calls),
    }
    output.write_text(json.dumps(recorded), encoding="utf-8")


# What came of the runs.


@dataclass(frozen=True)
class Pair:
    """Two files that call each other, with the calls of each direction."""

    first: str
    second: str
    there: tuple[Call, ...]
    back: tuple[Call, ...]


@dataclass(frozen=True)
class Walk:
    """What one run did."""

    called: tuple[str, ...]
    entered: tuple[str, ...]
    calls: tuple[Call, ...]

    @property
    def pairs(self) -> list[Pair]:
        """The files that call each other."""
        return pairs_of(self.calls)

    def to_dict(self) -> dict[str, Any]:
        """Return what is written as JSON."""
        return {
            "called": self.called,
            "entered": self.entered,
            "pairs": [pair_to_dict(pair) for pair in self.pairs],
        }


def pairs_of(calls: Iterable[Call]) -> list[Pair]:
    """Return the pairs of files among some calls, in the order of their names."""
    by_files: dict[tuple[str, str], set[Call]] = {}
    for call in calls:
        files = (call.caller_file, call.callee_file)
        by_files.setdefault(files, set()).add(call)
    pairs = []
    for first, second in sorted(by_files):
        if first < second and (second, first) in by_files:
            there = tuple(sorted(by_files[first, second]))
            back = tuple(sorted(by_files[second, first]))
            pairs.append(Pair(first, second, there, back))
    return pairs


def pair_to_dict(pair: Pair) -> dict[str, Any]:
    """Return a pair as it is written as JSON."""
    return {
        "files": [pair.first, pair.second],
        "there": [[call.caller, call.callee] for call in pair.there],
        "back": [[call.caller, call.callee] for call in pair.back],
    }


def walk(tree: Path, name: str) -> Walk:
    """Do one run of one tree in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "recorded.json"
        run_python([str(HERE), "--child", name, "--json", str(output)], tree, folder)
        recorded = json.loads(output.read_text(encoding="utf-8"))
    calls = tuple(Call(*call) for call in recorded["calls"])
    return Walk(tuple(recorded["called"]), tuple(recorded["entered"]), calls)


def run_python(arguments: Sequence[str], tree: Path, folder: str) -> str:
    """Run Python with the code of a tree, in a folder, and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nfailed with {tree}:\n{done.stderr}")
    return done.stdout


def check_tree(tree: Path) -> None:
    """Refuse a tree whose code is not what Python imports; the install may come before it."""
    with tempfile.TemporaryDirectory() as folder:
        printed = run_python(
            ["-c", "import evenhand; print(evenhand.__file__)"], tree, folder
        )
    imported = Path(printed.strip()).resolve()
    if not imported.is_relative_to(tree):
        raise SystemExit(f"{tree}: Python imports evenhand from {imported}")


def walk_all(trees: Sequence[Path], names: Sequence[str]) -> dict[Path, dict[str, Walk]]:
    """Do all runs of all trees."""
    found: dict[Path, dict[str, Walk]] = {}
    for tree in trees:
        found[tree] = {name: walk(tree, name) for name in names}
    return found


def print_walks(found: Mapping[Path, Mapping[str, Walk]], *, listed: bool) -> None:
    """Print the figures of each tree, and its pairs where they are to be listed."""
    for tree, walks in found.items():
        print(tree)
        print(f"{'run':10}{'called':>8}{'entered':>9}{'pairs':>7}")
        for name, one in walks.items():
            print(f"{name:10}{len(one.called):8}{len(one.entered):9}{len(one.pairs):7}")
        together = pairs_in_any(walks)
        print(f"{'in any':10}{'':17}{len(together):7}\n")
        if listed:
            print("\n".join(pair_lines(walks)))


def pairs_in_any(walks: Mapping[str, Walk]) -> dict[tuple[str, str], list[str]]:
    """Return the files of every pair, with the names of the runs that have it."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, one in walks.items():
        for pair in one.pairs:
            found.setdefault((pair.first, pair.second), []).append(name)
    return dict(sorted(found.items()))


def pair_lines(walks: Mapping[str, Walk]) -> Iterator[str]:
    """Return each pair once, with the calls of all runs that have it."""
    for (first, second), names in pairs_in_any(walks).items():
        calls: set[Call] = set()
        for name in names:
            calls.update(walks[name].calls)
        there = [
            call
            for call in calls
            if (call.caller_file, call.callee_file) == (first, second)
        ]
        back = [
            call
            for call in calls
            if (call.caller_file, call.callee_file) == (second, first)
        ]
        yield f"{first} <-> {second}  ({', '.join(names)})"
        for call in sorted(there):
            yield f"    -> {call.caller} calls {call.callee}"
        for call in sorted(back):
            yield f"    <- {call.caller} calls {call.callee}"
        yield ""


# What it takes to start.


@dataclass
class Times:
    """What processes took, in seconds."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return what is written as JSON."""
        return {
            "cpu": statistics.median(self.cpu),
            "wall": statistics.median(self.wall),
            "all_cpu": self.cpu,
            "all_wall": self.wall,
        }


def start_programs(tree: Path) -> dict[str, str]:
    """Return the programs whose start is timed; that of Python alone is in all of them."""
    main = f"from {command_module(tree)} import main"
    return {
        "python": "pass",
        "import evenhand": "import evenhand",
        "evenhand --help": f"{main}; raise SystemExit(main(['--help']))",
    }


def time_starts(trees: Sequence[Path], rounds: int) -> dict[Path, dict[str, Times]]:
    """Time the programs of all trees, which take turns so that a busy machine meets all alike."""
    programs = {tree: start_programs(tree) for tree in trees}
    found = {tree: {name: Times() for name in programs[tree]} for tree in trees}
    with tempfile.TemporaryDirectory() as folder:
        # The first start compiles, and is not counted.
        for tree in trees:
            for program in programs[tree].values():
                run_python(["-c", program], tree, folder)
        for turn in range(rounds):
            ordered = trees if turn % 2 == 0 else trees[::-1]
            for name in programs[trees[0]]:
                for tree in ordered:
                    add_start(found[tree][name], programs[tree][name], tree, folder)
    return found


def add_start(times: Times, program: str, tree: Path, folder: str) -> None:
    """Start a process once more and add what it took."""
    before = cpu_of_children()
    begun = time.perf_counter()
    run_python(["-c", program], tree, folder)
    times.wall.append(time.perf_counter() - begun)
    times.cpu.append(cpu_of_children() - before)


def cpu_of_children() -> float:
    """Return the seconds that the processors spent on processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def print_starts(found: Mapping[Path, Mapping[str, Times]], rounds: int) -> None:
    """Print the medians of each tree, and their ratios to those of the first."""
    print(f"medians of {rounds} processes in milliseconds, and ratios to the first tree")
    first = next(iter(found.values()))
    for tree, starts in found.items():
        print(tree)
        print(f"{'':18}{'cpu':>8}{'ratio':>7}{'wall':>9}{'ratio':>7}")
        for name, times in starts.items():
            cpu = statistics.median(times.cpu)
            wall = statistics.median(times.wall)
            cpu_ratio = cpu / statistics.median(first[name].cpu)
            wall_ratio = wall / statistics.median(first[name].wall)
            print(
                f"{name:18}{1000 * cpu:8.1f}{cpu_ratio:7.2f}{1000 * wall:9.1f}{wall_ratio:7.2f}"
            )


# The command line.


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n\n")[0],
        epilog="What is counted, and how, is told at the top of this file.",
    )
    parser.add_argument(
        "--tree",
        metavar="PATH",
        type=Path,
        action="append",
        help="a folder with the package evenhand; repeat for more (default: src)",
    )
    parser.add_argument(
        "--run",
        metavar="NAME",
        choices=tuple(RUNS),
        action="append",
        help=f"only this run; repeat for more ({', '.join(RUNS)})",
    )
    parser.add_argument(
        "--pairs", action="store_true", help="list the pairs with their functions"
    )
    parser.add_argument(
        "--start", action="store_true", help="time `import evenhand` and --help"
    )
    parser.add_argument(
        "--rounds",
        metavar="N",
        type=int,
        default=ROUNDS,
        help=f"with --start, how many processes a median is of (default: {ROUNDS})",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all of it here")
    parser.add_argument("--child", choices=tuple(RUNS), help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Walk, or time, and print what came of it."""
    options = parse(arguments)
    if options.child is not None:
        record_here(options.child, options.json)
        return
    trees = [tree.resolve() for tree in options.tree or [SOURCE]]
    for tree in trees:
        check_tree(tree)
    written: dict[str, Any]
    if options.start:
        starts = time_starts(trees, options.rounds)
        print_starts(starts, options.rounds)
        written = as_json(starts)
    else:
        walks = walk_all(trees, options.run or list(RUNS))
        print_walks(walks, listed=options.pairs)
        written = as_json(walks)
    if options.json is not None:
        options.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


def as_json(
    found: Mapping[Path, Mapping[str, Walk] | Mapping[str, Times]],
) -> dict[str, Any]:
    """Return what was found by tree and by name, as it is written."""
    written: dict[str, Any] = {}
    for tree, by_name in found.items():
        written[str(tree)] = {name: one.to_dict() for name, one in by_name.items()}
    return written


if __name__ == "__main__":
    main()
