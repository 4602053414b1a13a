"""Signals at random moments: what is resumed ends as if nothing had happened."""

from __future__ import annotations

import contextlib
import math
import random
import signal
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults.adapters import PLANTERS, PlantedSoftware, Site
from tests.faults.catalogue import NO_FAULT
from tests.faults.matrix import VERBS, conduct, configure
from tests.faults.process import Observed, Started
from tests.faults.services import PlantedService

if TYPE_CHECKING:
    from collections.abc import Iterator

AGES = range(20, 70)
"""The ages of the people of these runs; the software takes its time with each."""
PAUSE = 0.01
"""Seconds that the software takes for one person."""
LIMIT = 120.0
CODES = {
    signal.SIGINT: 130,
    signal.SIGTERM: 143,
    signal.SIGHUP: 129,
    signal.SIGKILL: -signal.SIGKILL,
}
"""Signals, and what a run ends with that gets one."""


@dataclass(frozen=True)
class Runner:
    """Software whose runs are killed, and how many inputs it has in flight at most."""

    name: str
    adapter: str
    in_flight: int
    arguments: tuple[str, ...] = ()


RUNNERS = (
    Runner("command", "command", in_flight=4),
    Runner("stream", "stream", in_flight=len(AGES) * 4),
    Runner("http", "http", in_flight=16),
    Runner("function", "function", in_flight=len(AGES) * 4),
    Runner("function, 2 jobs", "function", len(AGES) * 4, ("--n-jobs", "2")),
)
"""Of a program or a service, twice what runs at a time: while some inputs run, answers to others
are written down. A program that is sent lines, and a function, are given all inputs at a time.
"""


@dataclass(frozen=True)
class Life:
    """Runs of one piece of software that are killed one after the other, and then resumed."""

    runner: Runner
    verb: str
    signals: tuple[signal.Signals, ...]
    seed: int

    @property
    def name(self) -> str:
        """Its name, to choose it by."""
        return f"{self.runner.name}/{self.verb}/{self.seed}"


@dataclass(frozen=True)
class LifeOutcome:
    """What came of a life."""

    life: Life
    kills: int
    again: int
    """Inputs that were executed again since a kill struck them in flight."""
    codes: tuple[int, ...]
    complaints: list[str]


def lives(*, long: bool) -> list[Life]:
    """Return the lives of the campaign: 4 kills each, of each signal once."""
    verbs = ("causal", "search", "audit") if long else ("causal",)
    rounds = 2 if long else 1
    chosen: list[Life] = []
    for runner in RUNNERS:
        for verb in verbs:
            for _ in range(rounds):
                seed = len(chosen)
                signals = list(CODES)
                random.Random(seed).shuffle(signals)
                chosen.append(Life(runner, verb, tuple(signals), seed))
    return chosen


@contextlib.contextmanager
def _housed(runner: Runner) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield a folder with slow software and a ledger, and the environment to run it in."""
    with tempfile.TemporaryDirectory(prefix="evenhand-signal-") as name:
        folder = Path(name)
        site = Site(folder, biased=True)
        with contextlib.ExitStack() as stack:
            if runner.adapter == "http":
                planted = _service(stack, site)
            else:
                planted = stack.enter_context(PLANTERS[runner.adapter](NO_FAULT, site))
            configure(
                folder, planted, AGES, ledger="answers.ledger", identity="what is killed"
            )
            yield folder, {**planted.environment, "FAULT_PAUSE": str(PAUSE)}


def _service(stack: contextlib.ExitStack, site: Site) -> PlantedSoftware:
    """Start a service that outlives the runs that ask it."""
    service = PlantedService(biased=True, log=site.log)
    service.pause = PAUSE
    stack.enter_context(service)
    return PlantedSoftware({"http": service.url, "batch": 4, "concurrency": 2})


class Undisturbed:
    """What each piece of software comes to if nothing happens to it."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[Observed, Counter[str]]] = {}

    def of(self, runner: Runner, verb: str) -> tuple[Observed, Counter[str]]:
        """Return the run, and how often each input was executed."""
        key = (runner.name, verb)
        if key not in self._found:
            with _housed(runner) as (folder, environment):
                observed = _started(runner, verb, folder, environment).finished(
                    LIMIT, folder / "result.json"
                )
                self._found[key] = observed, executions(folder)
        return self._found[key]


UNDISTURBED = Undisturbed()


def _started(
    runner: Runner, verb: str, folder: Path, environment: dict[str, str]
) -> Started:
    arguments = [*VERBS[verb], *runner.arguments, "--json", "result.json"]
    return Started(arguments, folder, environment)


def executions(folder: Path) -> Counter[str]:
    """Return how often the software was asked for each input."""
    log = folder / "asked.log"
    if not log.exists():
        return Counter()
    return Counter(log.read_text(encoding="utf-8").splitlines())


def lived(life: Life) -> LifeOutcome:
    """Kill runs at random moments, resume to the end, and say what is wrong with it."""
    reference, usual = UNDISTURBED.of(life.runner, life.verb)
    clock = random.Random(life.seed)
    complaints: list[str] = []
    codes = []
    kills = 0
    with _housed(life.runner) as (folder, environment):
        for number in life.signals:
            started = _started(life.runner, life.verb, folder, environment)
            left = usual.total() - executions(folder).total()
            moment = _Moment(left, clock, folder)
            observed, struck = _killed(started, number, moment)
            kills += struck
            codes.append(observed.code)
            allowed = {reference.code}
            if struck:
                allowed.add(CODES[number])
            if not moment.executed():
                # Python itself had not started yet, and dies of a signal as programs do.
                allowed.add(-number)
            for complaint in _faults_of(observed, allowed):
                complaints.append(f"{number.name}: {complaint}")
        (folder / "result.json").unlink(missing_ok=True)
        started = _started(life.runner, life.verb, folder, environment)
        last = started.finished(LIMIT, folder / "result.json")
        complaints += _faults_of(last, {reference.code})
        again = _again(executions(folder), usual)
    complaints += _compared(last, reference)
    if again > life.runner.in_flight * kills:
        complaints.append(f"{again} inputs were executed again after {kills} kills")
    return LifeOutcome(life, kills, again, tuple(codes), complaints)


class _Moment:
    """A random moment of a run: some executions after its start, or some time."""

    def __init__(self, left: int, clock: random.Random, folder: Path) -> None:
        self._folder = folder
        self._before = executions(folder).total()
        # Runs are killed while they start and end, too: one in five whatever was executed.
        anywhere = left <= 0 or clock.random() < 0.2
        self._executions = math.inf if anywhere else clock.randrange(left)
        self._seconds = clock.uniform(0.0, 3.0) if anywhere else math.inf

    def executed(self) -> int:
        """Return how many inputs were executed since the start."""
        return executions(self._folder).total() - self._before

    def is_due(self, started: Started) -> bool:
        """Return whether it has come."""
        return self.executed() > self._executions or started.seconds > self._seconds


def _killed(
    started: Started, number: signal.Signals, moment: _Moment
) -> tuple[Observed, bool]:
    """Send a signal at a moment, and return what the run did and whether it was struck."""
    while started.running() and not moment.is_due(started):
        time.sleep(0.005)
    struck = started.running()
    if struck:
        started.send(number)
    return started.finished(LIMIT), struck


def _faults_of(observed: Observed, allowed: set[int]) -> list[str]:
    complaints = conduct(observed)
    if observed.code not in allowed:
        complaints.append(f"exit code {observed.code}, and not {sorted(allowed)}")
    return complaints


def _again(executed: Counter[str], usual: Counter[str]) -> int:
    """Return how many executions there were beyond those of an undisturbed run."""
    return (executed - usual).total()


def _compared(last: Observed, reference: Observed) -> list[str]:
    if last.document is None or reference.document is None:
        return ["wrote no result"]
    if last.document["digest"] != reference.document["digest"]:
        return ["has another digest than an undisturbed run"]
    return []
