"""Claims: inputs that one process is about to run, so that no other runs them too."""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import threading
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from evenhand.subject.adapters.base import Reply
    from evenhand.subject.ledger.ledger import Ledger
    from evenhand.subject.ledger.store import LedgerRows

LEASE = 120.0
"""Seconds without a sign of life after which a claimant is taken for dead.

The process of a claimant on this machine is looked up, and is known to be dead at once. The lease
is for those in another container, and for processes that hang.
"""
LEAST_PAUSE = 1.0
"""Seconds between two signs of life at least."""
_PROCESSES = Path("/proc")


@dataclass(slots=True)
class Taken:
    """What became of some keys: those with answers, those to run here, and those of others."""

    known: dict[bytes, Reply]
    mine: list[bytes]
    others: list[bytes]
    looked_at: int = 0
    """How many keys were looked at, from the first; where enough were taken, not all."""


class Claims:
    """The claims of one caller on inputs of a ledger; they end with the context.

    A caller holds claims only on what it runs next and waits for others only when it holds none, so
    that no two wait for each other.

    >>> import tempfile
    >>> from evenhand.subject.ledger import Ledger
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/a.db", space="s", subject="m")
    >>> with Claims(ledger) as first, Claims(ledger) as second:
    ...     mine = first.take([b"a", b"b", b"c"], 2).mine
    ...     second.take([b"a", b"b", b"c"], 2).mine, second.take([b"a"], 1).others
    ([b'c'], [b'a'])
    >>> mine
    [b'a', b'b']
    >>> ledger.close(), folder.cleanup()
    (None, None)
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._id = secrets.randbits(62)
        self._pid = os.getpid()
        self._beat = 0
        self._signed = 0.0
        self._seen: dict[int, tuple[object, float]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # A child that was forked off has no part in the claims of its parent.
        if not self._beat or os.getpid() != self._pid:
            return
        # What cannot be freed now is free when this process ends.
        with contextlib.suppress(LedgerError):
            self._ledger.store.change(lambda rows: rows.free(self._id))

    def take(self, keys: Sequence[bytes], most: int) -> Taken:
        """Claim keys that nobody has answered or claimed, in their order and so many at most.

        What was claimed before is free again: it has been run by now.
        """
        return self._ledger.store.change(lambda rows: self._taken(rows, keys, most))

    def _taken(self, rows: LedgerRows, keys: Sequence[bytes], most: int) -> Taken:
        self._sign(rows)
        living = self._living(rows)
        known = self._ledger.read(rows, keys)
        claimed = rows.claimed([key for key in keys if key not in known])
        taken = Taken(known, [], [])
        for key in keys:
            if len(taken.mine) == most:
                break
            taken.looked_at += 1
            if key in known:
                continue
            if claimed.get(key) in living:
                taken.others.append(key)
            else:
                taken.mine.append(key)
        rows.claim(taken.mine, self._id)
        return taken

    def beat(self) -> None:
        """Give a sign of life, unless there was one a moment ago."""
        if time.monotonic() - self._signed < LEASE / 8:
            return
        self._beat += 1
        self._signed = time.monotonic()
        self._ledger.store.change(lambda rows: rows.beat(self._id, self._beat))

    @contextlib.contextmanager
    def beating(self) -> Iterator[None]:
        """Give signs of life from a thread as long as this lasts, however late an answer comes.

        Only for software that is stopped where it hangs: its claims would never end otherwise.
        """
        done = threading.Event()

        def beat() -> None:
            while not done.wait(max(LEASE / 8, LEAST_PAUSE)):
                # An error of the ledger is one of the run when it writes an answer.
                with contextlib.suppress(LedgerError):
                    self.beat()

        thread = threading.Thread(target=beat, name="evenhand beats", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            # It may be waiting for a server that is away.
            thread.join(LEAST_PAUSE)

    def _sign(self, rows: LedgerRows) -> None:
        """Show that this claimant is alive, with no claims yet."""
        rows.free(self._id)
        self._beat += 1
        self._signed = time.monotonic()
        rows.sign((self._id, host(), self._pid, began(self._pid) or "", self._beat))

    def _living(self, rows: LedgerRows) -> set[Any]:
        """Return the other claimants that are alive, and free what the dead had claimed."""
        living: set[Any] = set()
        for claimant, *process, beat in rows.claimants():
            if claimant == self._id:
                continue
            if has_died(*process) or self._is_silent(claimant, beat):
                rows.free(claimant)
            else:
                living.add(claimant)
        return living

    def _is_silent(self, claimant: int, beat: object) -> bool:
        """Return whether a claimant has given no sign of life for longer than its lease."""
        # By the clock of this process alone: those of two machines may differ.
        now = time.monotonic()
        last_beat, since = self._seen.get(claimant, (None, now))
        if last_beat != beat:
            since = now
        self._seen[claimant] = (beat, since)
        return now - since > LEASE


def free_dead(rows: LedgerRows) -> None:
    """Free what claimants had claimed that are known to be dead."""
    for claimant, *process, _ in rows.claimants():
        if has_died(*process):
            rows.free(claimant)
    rows.free_strays()


def has_died(claimed_host: object, pid: object, claimed_began: object) -> bool:
    """Return whether a process is known to have ended.

    >>> has_died(host(), os.getpid(), began(os.getpid()) or ""), has_died("elsewhere", 1, "")
    (False, False)
    """
    if claimed_host != host() or not isinstance(pid, int) or os.name != "posix":
        return False
    if (_PROCESSES / "self" / "stat").exists():
        # A process of the same number that began at another time is another one.
        return began(pid) != claimed_began
    try:
        os.kill(pid, 0)
    except PermissionError:
        return False
    except (OSError, OverflowError):
        return True
    return False


def began(pid: int) -> str | None:
    """Return when a process began, by the clock of the system; None where it is not running."""
    try:
        status = (_PROCESSES / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name of the program, in brackets, may hold anything.
    state, *fields = status.rpartition(")")[2].split()
    if state in ("Z", "X"):  # it has ended, and its parent has not looked yet
        return None
    return fields[18]


@cache
def host() -> str:
    """Return what tells this machine, and this container, from others that number processes."""
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts.append((_PROCESSES / "sys/kernel/random/boot_id").read_text().strip())
    with contextlib.suppress(OSError):
        parts.append(str((_PROCESSES / "self/ns/pid").readlink()))
    return " ".join(parts)
