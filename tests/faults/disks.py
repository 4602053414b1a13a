"""Disks that are full, folders that cannot be written, and a ledger that is locked."""

from __future__ import annotations

import contextlib
import os
import resource
import sqlite3
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.faults.adapters import PLANTERS, Site
from tests.faults.catalogue import NO_FAULT
from tests.faults.matrix import conduct, configure
from tests.faults.process import Observed, Started

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT = 120.0
"""Seconds that a run may take; one waits for half a minute for a ledger that is locked."""
SMALL = 128 << 10
"""Bytes of a disk that is soon full."""


SMALL_FILE = 1024
"""Bytes that are enough for what is printed, and not for a result."""


class CannotMount(Exception):
    """There is no disk to fill here, since only an administrator may mount one."""


@dataclass(frozen=True)
class Files:
    """Where a run writes: its result, a report, its ledger, and what it prints."""

    result: Path | None = None
    report: Path | None = None
    ledger: Path | None = None
    stdout: Path | None = None
    clean: tuple[Path, ...] = ()
    """Folders in which nothing may be left behind."""
    largest: int = resource.RLIM_INFINITY
    """Bytes of the largest file that may be written."""


@dataclass(frozen=True)
class DiskFault:
    """One thing that is wrong with the disk, and what must come of it.

    Parameters
    ----------
    name, text: what the table calls it, and what is wrong.
    files: makes the place to write to inside a folder.
    codes: the exit codes that are right, for software that discriminates and for software that
        does not.
    verdict: whether the verdict is printed all the same.
    """

    name: str
    text: str
    files: Callable[[Path], contextlib.AbstractContextManager[Files]]
    codes: tuple[int, int] = (1, 2)
    verdict: bool = True


@dataclass(frozen=True)
class DiskOutcome:
    """What came of a run on such a disk."""

    fault: DiskFault
    biased: bool
    observed: Observed | None
    complaints: list[str] = field(default_factory=list)
    skipped: str = ""


@contextlib.contextmanager
def _mounted(folder: Path) -> Iterator[Path]:
    """Yield a small disk in memory."""
    disk = folder / "disk"
    disk.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", os.fspath(disk)]
    _administer("mount", *options)
    try:
        yield disk
    finally:
        _administer("umount", "-l", os.fspath(disk))


def _administer(*words: str) -> None:
    try:
        subprocess.run(words, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotMount(f"{words[0]} is not allowed here") from error


def _fill(disk: Path) -> None:
    """Leave no room on a disk."""
    with contextlib.suppress(OSError), (disk / "filler").open("wb") as file:
        while True:
            file.write(b"x" * 4096)
            file.flush()


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[Files]:
    with _mounted(folder) as disk:
        _fill(disk)
        yield Files(result=disk / "result.json", clean=(disk,))


@contextlib.contextmanager
def full_disk_report(folder: Path) -> Iterator[Files]:
    with _mounted(folder) as disk:
        _fill(disk)
        yield Files(report=disk / "report.html", clean=(disk,))


@contextlib.contextmanager
def full_disk_ledger(folder: Path) -> Iterator[Files]:
    with _mounted(folder) as disk:
        _fill(disk)
        yield Files(ledger=disk / "answers.ledger")


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[Files]:
    with _mounted(folder) as disk:
        _administer("mount", "-o", "remount,ro", os.fspath(disk))
        yield Files(result=disk / "result.json", clean=(disk,))


@contextlib.contextmanager
def read_only_ledger(folder: Path) -> Iterator[Files]:
    with _mounted(folder) as disk:
        _administer("mount", "-o", "remount,ro", os.fspath(disk))
        yield Files(ledger=disk / "answers.ledger")


@contextlib.contextmanager
def device(folder: Path) -> Iterator[Files]:
    yield Files(result=Path("/dev/full"))


@contextlib.contextmanager
def output(folder: Path) -> Iterator[Files]:
    yield Files(stdout=Path("/dev/full"))


@contextlib.contextmanager
def small_files(folder: Path) -> Iterator[Files]:
    """Allow no file of the size of a result, as a full disk or a quota does."""
    place = folder / "place"
    place.mkdir()
    yield Files(result=place / "result.json", clean=(place,), largest=SMALL_FILE)


@contextlib.contextmanager
def below_file(folder: Path) -> Iterator[Files]:
    yield Files(result=folder / "people.csv" / "result.json")


@contextlib.contextmanager
def ledger_below_file(folder: Path) -> Iterator[Files]:
    yield Files(ledger=folder / "people.csv" / "answers.ledger")


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[Files]:
    """Lock a ledger as another process would that writes to it."""
    file = folder / "answers.ledger"
    connection = sqlite3.connect(file, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        yield Files(ledger=file)
    finally:
        connection.close()


USAGE = (2, 2)
DISKS = (
    DiskFault("disk full", "no room for the result", full_disk),
    DiskFault(
        "disk full, report", "no room for the report of an audit", full_disk_report, (1, 3)
    ),
    DiskFault(
        "disk full, ledger",
        "no room for the ledger",
        full_disk_ledger,
        USAGE,
        verdict=False,
    ),
    DiskFault("file too large", "a quota or limit on the size of files", small_files),
    DiskFault("read-only", "the folder of the result cannot be written", read_only),
    DiskFault(
        "read-only, ledger",
        "the folder of the ledger cannot be written",
        read_only_ledger,
        USAGE,
        verdict=False,
    ),
    DiskFault("/dev/full", "the result goes to /dev/full", device),
    DiskFault("output full", "standard output is /dev/full", output, verdict=False),
    DiskFault("below a file", "the folder of the result is a file", below_file),
    DiskFault(
        "below a file, ledger",
        "the folder of the ledger is a file",
        ledger_below_file,
        USAGE,
        verdict=False,
    ),
    DiskFault(
        "locked ledger", "another process holds the ledger", locked, USAGE, verdict=False
    ),
)
"""What may be wrong with where we write; a new fault is one more entry."""


def disk_cells() -> list[tuple[DiskFault, bool]]:
    """Return every fault, with software that discriminates and with software that does not."""
    chosen = []
    for fault in DISKS:
        chosen.append((fault, True))
        if fault.codes[0] != fault.codes[1]:
            chosen.append((fault, False))
    return chosen


def tried(cell: tuple[DiskFault, bool]) -> DiskOutcome:
    """Run the command line on such a disk, and say what is wrong with what came of it."""
    fault, biased = cell
    with tempfile.TemporaryDirectory(prefix="evenhand-disk-") as name:
        folder = Path(name)
        with PLANTERS["stream"](NO_FAULT, Site(folder, biased)) as planted:
            try:
                with fault.files(folder) as files:
                    options: dict[str, Any] = {}
                    if files.ledger is not None:
                        options["ledger"] = os.fspath(files.ledger)
                    configure(folder, planted, **options)
                    # What it was asked is not of interest here, and would need a disk as well.
                    environment = {**planted.environment, "FAULT_LOG": ""}
                    observed = _run(files, folder, environment)
                    complaints = _complaints(fault, biased, observed, files)
            except CannotMount as error:
                return DiskOutcome(fault, biased, None, skipped=str(error))
    return DiskOutcome(fault, biased, observed, complaints)


def _run(files: Files, folder: Path, environment: dict[str, str]) -> Observed:
    if files.report is not None:
        arguments = ["audit", "-o", os.fspath(files.report)]
    else:
        arguments = ["measure", "--kind", "causal"]
    if files.result is not None:
        arguments += ["--json", os.fspath(files.result)]
    started = Started(
        arguments, folder, environment, stdout=files.stdout, largest_file=files.largest
    )
    return started.finished(LIMIT)


def _complaints(
    fault: DiskFault, biased: bool, observed: Observed, files: Files
) -> list[str]:
    complaints = conduct(observed)
    code = fault.codes[0 if biased else 1]
    if observed.code != code:
        complaints.append(f"exit code {observed.code}, and not {code}")
    word = "FAIL" if biased else "PASS"
    if fault.verdict and word not in observed.stdout:
        complaints.append("prints no verdict")
    sentences = observed.stderr.strip().splitlines()
    if not sentences or not sentences[-1].startswith("evenhand: "):
        complaints.append("gives no sentence that says what failed")
    for clean in files.clean:
        left = [file.name for file in clean.iterdir() if file.name != "filler"]
        if left:
            complaints.append(f"left {', '.join(left)} behind")
    return complaints
