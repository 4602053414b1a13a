"""How processes that share a ledger share the work: each runs what no other is running."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from evenhand.subject.memo import INPUTS_TO_TELL, SECONDS_TO_TELL

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from evenhand.subject.adapters.base import Adapter, Reply
    from evenhand.subject.ledger.claims import Claims
    from evenhand.subject.ledger.ledger import Ledger

    Answered = Iterator[Mapping[bytes, Reply]]
    Rest = Generator[Mapping[bytes, Reply], None, list[bytes]]
    Passed = Generator[Mapping[bytes, Reply], None, int]
    Ask = Callable[[list[bytes]], Answered]
    Check = Callable[[Mapping[bytes, Reply]], object]

WORTH_CLAIMING = 2e-4
"""Seconds for each answer from which it is cheaper to claim inputs than to run some twice."""
CLAIMED_SECONDS = 2.0
"""Seconds of work that are claimed at a time: others wait for no more than that."""
FIRST_CLAIM = 64
"""Inputs that are claimed first, as long as nobody knows what they cost."""
GROWTH = 4
"""By how much more is claimed than was asked so far, as long as that is not known."""
LEAST_WAIT, MOST_WAIT = 0.01, 0.2
"""Seconds between two looks at what others are running."""


class Sharing:
    """Has inputs answered that nobody has answered yet, here or by another process.

    Inputs are claimed until it is known what an answer costs, and then where it takes long; cheap
    software is asked without. `least` inputs keep the software busy,
    and `most` are what it is asked at once; `check` refuses answers of other processes that are
    none; `ends` says that software which hangs is stopped.

    >>> sharing = Sharing(None, expensive=False)
    >>> list(sharing.answers([b"a", b"b"], lambda keys: iter([dict.fromkeys(keys, 1)])))
    [{b'a': 1, b'b': 1}]
    """

    def __init__(
        self,
        ledger: Ledger | None,
        *,
        expensive: bool,
        least: int = 1,
        most: int = 131_072,
        check: Check | None = None,
        ends: bool = False,
    ) -> None:
        self._ledger = ledger
        self._expensive = expensive
        self._least = least
        self._most = most
        self._check = check
        self._ends = ends
        self._pace: float | None = None
        self._warm = False
        self._untold = 0
        self._seconds = 0.0
        self._asked_since = 0

    @classmethod
    def of(
        cls, adapter: Adapter, ledger: Ledger | None, *, most: int, check: Check
    ) -> Sharing:
        """Return how the work of an adapter is shared."""
        least = asked_at_once(adapter)
        ends = getattr(adapter, "timeout", None) is not None
        return cls(
            ledger,
            expensive=adapter.expensive,
            least=least,
            most=most,
            check=check,
            ends=ends,
        )

    @property
    def claims(self) -> bool:
        """Whether inputs are worth claiming, by what the last ones took."""
        if self._ledger is None:
            return False
        return self._pace is None or self._pace >= WORTH_CLAIMING

    def answers(self, keys: Sequence[bytes], ask: Ask) -> Answered:
        """Yield the answers to some keys as they come, each key once.

        `ask` runs the software and writes down its answers. What another process is running is
        waited for at the end, and run here if that process ends without an answer.
        """
        left = list(keys)
        while left:
            if self._ledger is not None and self.claims:
                from evenhand.subject.ledger.claims import Claims

                with Claims(self._ledger) as claims:
                    left = yield from self._claimed(claims, left, ask)
            else:
                part = left[: self._most]
                left = left[self._most :]
                yield from self._asked(ask, part)

    def _claimed(self, claims: Claims, keys: list[bytes], ask: Ask) -> Rest:
        """Have keys answered by whoever claims them; return the rest once they turn out cheap."""
        waited = LEAST_WAIT
        while keys and self.claims:
            others: list[bytes] = []
            start = yield from self._one_pass(claims, keys, others, ask)
            left = others + keys[start:]
            if len(left) < len(keys):
                waited = LEAST_WAIT
            elif left:
                time.sleep(waited)
                waited = min(2 * waited, MOST_WAIT)
            keys = left
        return keys

    def _one_pass(
        self, claims: Claims, keys: list[bytes], others: list[bytes], ask: Ask
    ) -> Passed:
        """Run what is free, gather what others are running, and return how many were looked at."""
        start = 0
        while start < len(keys) and self.claims:
            size = self._size
            # Some are known or claimed: of twice as many, enough are likely to be free.
            taken = claims.take(keys[start : start + 2 * size], size)
            start += taken.looked_at
            others += taken.others
            if taken.known:
                if self._check is not None:
                    self._check(taken.known)
                yield taken.known
            if taken.mine:
                yield from self._asked(ask, taken.mine, claims)
        return start

    @property
    def _size(self) -> int:
        """How many inputs to claim at a time."""
        wanted = max(FIRST_CLAIM, GROWTH * self._untold)
        if self._pace is not None:
            wanted = int(CLAIMED_SECONDS / max(self._pace, WORTH_CLAIMING))
        return min(max(wanted, self._least), self._most)

    def _asked(self, ask: Ask, keys: list[bytes], claims: Claims | None = None) -> Answered:
        begin = time.perf_counter()
        beating = claims.beating() if claims is not None and self._ends else nullcontext()
        with beating:
            for answers in ask(keys):
                yield answers
                if claims is not None:
                    claims.beat()
        self._observe(time.perf_counter() - begin, len(keys))

    def _observe(self, seconds: float, asked: int) -> None:
        """Learn what an answer costs."""
        if self._expensive:
            self._pace = seconds / asked
        elif self._warm:
            self._seconds += seconds
            self._asked_since += asked
            self._tell()
        # In this process the first call also pays for imports, and tells nothing.
        self._warm = True
        self._untold += asked

    def _tell(self) -> None:
        """Conclude what an answer costs, once there were enough; a short call pays for itself."""
        if self._seconds >= SECONDS_TO_TELL or self._asked_since >= INPUTS_TO_TELL:
            self._pace = self._seconds / self._asked_since
            self._seconds = 0.0
            self._asked_since = 0


def asked_at_once(adapter: Adapter) -> int:
    """Return how many inputs keep software busy: several for each of its workers."""
    workers = getattr(adapter, "workers", getattr(adapter, "concurrency", 1))
    return 4 * int(workers)
