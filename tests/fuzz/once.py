"""One input at a time: what a target made of it, how long it took, and how much memory."""

from __future__ import annotations

import contextlib
import hashlib
import json
import resource
import signal
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from tests.fuzz.targets import Target

SECONDS = 5
"""How long one input may take, of the processor's time: others may use the machine as well."""
MOST_MEMORY = 1 << 30
"""How much memory one input may take, in bytes, beyond what the program has."""
SHOWN_SEPARATELY = 40
"""How many different defects of a target are kept; there are never that many."""


class Hang(BaseException):
    """An input that takes too long; not an Exception, so that no handler on the way takes it."""


@dataclass
class Bench:
    """Runs inputs of a target in a folder, and keeps what went wrong."""

    target: Target
    folder: Path
    runs: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    defects: dict[str, str] = field(default_factory=dict)
    """By the kind and place of a defect, the file that shows it."""

    def __post_init__(self) -> None:
        from tests.fuzz.seeds import write_data

        write_data(self.folder)
        self.file = self.folder / f"input{self.target.suffix}"

    def run(self, data: bytes) -> None:
        """Run one input; the file stays on disk while it runs, in case nothing comes after it."""
        self._clean()
        self.file.write_bytes(data)
        self.runs += 1
        try:
            with time_limit():
                outcome = self.target.outcome(self.file)
        except Hang as hang:
            outcome = "hang"
            self._keep(data, hang)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            outcome = "memory" if isinstance(error, MemoryError) else "defect"
            self._keep(data, error)
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def _clean(self) -> None:
        """Remove what the input before left beside its file, as a ledger does."""
        for left in self.folder.glob("input*-*"):
            left.unlink()
        with contextlib.suppress(FileNotFoundError):
            (self.folder / "saved.json").unlink()

    def _keep(self, data: bytes, error: BaseException) -> None:
        place = _place(error)
        if place in self.defects or len(self.defects) >= SHOWN_SEPARATELY:
            return
        digest = hashlib.sha256(data).hexdigest()[:12]
        stem = f"{self.target.name.replace(' ', '-')}-{digest}"
        (self.folder / f"{stem}{self.target.suffix}.defect").write_bytes(data)
        text = "".join(traceback.format_exception(error))
        (self.folder / f"{stem}.txt").write_text(f"{place}\n\n{text}", "utf-8", "replace")
        self.defects[place] = stem

    def report(self) -> dict[str, object]:
        """Return what was run and what went wrong."""
        return {
            "target": self.target.name,
            "runs": self.runs,
            "outcomes": dict(sorted(self.outcomes.items())),
            "defects": self.defects,
        }

    def write(self) -> None:
        """Write the report beside the inputs."""
        text = json.dumps(self.report())
        part = self.folder / "report.part"
        part.write_text(text, encoding="utf-8")
        part.replace(self.folder / "report.json")


def _place(error: BaseException) -> str:
    """Return the kind of an error and the last place of ours that it passed."""
    import evenhand

    package = Path(evenhand.__file__).parent
    place = "outside"
    for frame in traceback.extract_tb(error.__traceback__):
        file = Path(frame.filename)
        if file.is_relative_to(package):
            place = f"{file.relative_to(package).as_posix()}:{frame.lineno}"
    return f"{type(error).__name__} at {place}"


@contextlib.contextmanager
def time_limit() -> Iterator[None]:
    """Raise a Hang where the block takes longer than allowed."""
    signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _ring(number: int, frame: FrameType | None) -> None:
    raise Hang(f"more than {SECONDS} s")


def limit_memory() -> None:
    """Let this process take so much more memory than it has now, and no more."""
    if sys.platform != "linux":
        return
    status = Path("/proc/self/status").read_text("utf-8")
    lines = [line for line in status.splitlines() if line.startswith("VmData:")]
    now = int(lines[0].split()[1]) * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (now + MOST_MEMORY, hard))
