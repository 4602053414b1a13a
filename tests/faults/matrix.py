"""Adapters × verbs × faults: what each cell runs, and what is wrong with what came of it."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import re
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.faults.adapters import AGES, LIBRARIES, PLANTERS, Site, every_person
from tests.faults.catalogue import FAULTS, NO_FAULT
from tests.faults.process import OUT_OF_TIME, Observed, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.faults.adapters import PlantedSoftware
    from tests.faults.fault import Expected, Fault

VERBS = {
    "causal": ["measure", "--kind", "causal"],
    "group": ["measure", "--kind", "group"],
    "search": ["search"],
    "subsets": ["subsets"],
    "mine": ["mine"],
    "audit": ["audit"],
    "replay": ["replay", "cases.json", "evenhand.toml"],
}
"""The words that each verb is started with; `causal` and `group` are two scores of `measure`."""
LIMIT = 120.0
"""Seconds that a cell may take."""
MOST_MEGABYTES = 1000
CHECKS = """
[space]
protected = ["sex"]
from = "people.csv"

[[checks]]
job = "measure"
over = ["sex"]
limit = 0.1
queries = 2000

[[checks]]
job = "measure"
kind = "group"
over = ["sex"]
limit = 0.1
queries = 2000

[[checks]]
job = "search"
over = ["sex"]
limit = 0
queries = 2000

[[checks]]
job = "subsets"
among = ["sex", "owns"]
limit = 0.1
queries = 2000

[[checks]]
job = "mine"
limit = 0.05
queries = 2000
"""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal may take for a command."""
ALL_VERBS_OF = ("exit 0",)
"""Faults that even the quick campaign tries with every verb: a gate must never open by them."""


@dataclass(frozen=True)
class Cell:
    """One fault of one kind of software, under one verb."""

    adapter: str
    fault: Fault
    verb: str

    @property
    def name(self) -> str:
        """Its name, to choose it by."""
        return f"{self.adapter}/{self.fault.name}/{self.verb}"


@dataclass(frozen=True)
class Outcome:
    """What came of a cell, and all that is wrong with it."""

    cell: Cell
    observed: Observed
    complaints: list[str]


def cells(*, long: bool) -> list[Cell]:
    """Return the cells of the campaign: all of them, or one verb for each fault and adapter."""
    chosen: list[Cell] = []
    number = 0
    for fault in FAULTS:
        for adapter in available():
            if not fault.strikes(adapter):
                continue
            verbs = list(VERBS)
            if fault.some:
                # The cases of a result need not hold an input that the fault strikes at.
                verbs.remove("replay")
            if not long and fault.name not in ALL_VERBS_OF:
                verbs = [verbs[number % len(verbs)]]
                number += 1
            chosen.extend(Cell(adapter, fault, verb) for verb in verbs)
    return chosen


@functools.cache
def available() -> tuple[str, ...]:
    """Return the kinds of software whose libraries are installed."""
    found = []
    for adapter in PLANTERS:
        library = LIBRARIES.get(adapter)
        if library is None or importlib.util.find_spec(library) is not None:
            found.append(adapter)
    return tuple(found)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        entries = [f"{key} = {_toml(inner)}" for key, inner in value.items()]
        return "{ " + ", ".join(entries) + " }"
    # All else that is written here reads alike in JSON and in TOML.
    return json.dumps(value)


def configure(
    folder: Path,
    planted: PlantedSoftware,
    ages: range = AGES,
    *,
    labels: bool = True,
    **options: Any,
) -> None:
    """Write a configuration with all checks for software, and the people that it is about.

    Parameters
    ----------
    folder: where to.
    planted: the software, and its answers.
    ages: of the people.
    labels: whether the configuration says which answers there are.
    options: further options of the software, such as a ledger.
    """
    subject = {**planted.subject, "positive": planted.labels[0], **options}
    if labels:
        subject["labels"] = list(planted.labels)
    lines = ["[subject]"]
    for key, value in subject.items():
        lines.append(f"{key} = {_toml(value)}")
    text = "\n".join(lines) + CHECKS
    (folder / "evenhand.toml").write_text(text, encoding="utf-8")
    rows = ["sex,age,owns"]
    for person in every_person(ages):
        rows.append("{sex},{age},{owns}".format(**person))
    (folder / "people.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


@contextlib.contextmanager
def prepared(adapter: str, fault: Fault) -> Iterator[tuple[Path, PlantedSoftware]]:
    """Yield a folder with software and its configuration, and what was planted there."""
    with tempfile.TemporaryDirectory(prefix="evenhand-fault-") as name:
        folder = Path(name)
        site = Site(folder, fault.biased)
        with PLANTERS[adapter](fault, site) as planted:
            configure(folder, planted, labels=fault.labels)
            yield folder, planted


def observe(cell: Cell) -> Observed:
    """Run a cell."""
    with prepared(cell.adapter, cell.fault) as (folder, planted):
        if cell.verb == "replay":
            found = REFERENCES.of(cell.adapter, "causal").document
            cases = json.dumps(found)
            (folder / "cases.json").write_text(cases, encoding="utf-8")
        document = folder / "result.json"
        arguments = [*VERBS[cell.verb], "--json", document.name]
        observed = run(
            arguments, folder, planted.environment, limit=LIMIT, document=document
        )
        return replace(observed, struck=planted.has_struck())


class References:
    """What software of each kind comes to without a fault, found once for each verb."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str], Observed] = {}
        self._locks: dict[tuple[str, str], threading.Lock] = {}

    def of(self, adapter: str, verb: str) -> Observed:
        """Return the run without a fault."""
        key = (adapter, verb)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._found:
                self._found[key] = observe(Cell(adapter, NO_FAULT, verb))
            return self._found[key]


REFERENCES = References()


def judged(cell: Cell) -> Outcome:
    """Run a cell, and say what is wrong with what came of it."""
    if cell.fault is NO_FAULT:
        observed = REFERENCES.of(cell.adapter, cell.verb)
    else:
        observed = observe(cell)
    expected = cell.fault.expects(cell.adapter, cell.verb)
    complaints = conduct(observed)
    if not observed.struck:
        complaints.append("ended before the fault could strike")
    complaints += verdict(cell, observed, expected)
    return Outcome(cell, observed, complaints)


def conduct(observed: Observed) -> list[str]:
    """Return what is wrong with how a run went, whatever its verdict."""
    complaints = []
    if observed.code == OUT_OF_TIME:
        complaints.append(f"did not end within {LIMIT:g} s")
    output = observed.stdout + observed.stderr
    if re.search(r"^Traceback \(most recent call last\)", output, re.MULTILINE):
        complaints.append("shows a traceback")
    if CONTROL.search(output):
        complaints.append("shows control characters as they are")
    if observed.megabytes > MOST_MEGABYTES:
        complaints.append(f"took {observed.megabytes:.0f} MB")
    if observed.orphans:
        complaints.append(f"left {len(observed.orphans)} processes behind")
    return complaints


def verdict(cell: Cell, observed: Observed, expected: Expected) -> list[str]:
    """Return what is wrong with the exit code, the sentence and the findings."""
    if observed.code == OUT_OF_TIME:
        return []
    if expected.right:
        reference = REFERENCES.of(cell.adapter, cell.verb)
        if reference.code != 1:
            return [f"exit code {reference.code} even without the fault, and not 1"]
        if observed.code == reference.code:
            return _compared(observed, reference)
    if observed.code not in expected.codes:
        return [f"exit code {observed.code}, and not {expected.value}"]
    if observed.code in (2, 4) and not _explained(cell, observed):
        return ["gives no sentence that says what failed"]
    return []


def _compared(observed: Observed, reference: Observed) -> list[str]:
    if findings(observed.document) != findings(reference.document):
        return ["found something else than without the fault"]
    return []


def findings(document: dict[str, Any] | None) -> Any:
    """Return what a run found: the findings of a result, or those of all checks of an audit."""
    if document is None:
        return None
    if "checks" in document:
        return [findings(check.get("found")) for check in document["checks"]]
    return document.get("findings")


def _explained(cell: Cell, observed: Observed) -> bool:
    """Return whether one sentence says what failed."""
    if cell.verb == "audit" and "NOT RUN" in observed.stdout:
        return True
    last = observed.stderr.strip().rpartition("\n")[2]
    return last.startswith("evenhand: ")
