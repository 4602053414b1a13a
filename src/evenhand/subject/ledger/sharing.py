"""How processes that share a ledger share the work: each runs what no other is running."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from evenhand.subject.memo import INPUTS_TO_TELL, SECONDS_TO_TELL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from evenhand.subject.adapters.base import Adapter, Reply
    from evenhand.subject.ledger.claims import Claims
    from evenhand.subject.ledger.ledger import Ledger

    Answered = Iterator[Mapping[bytes, Reply]]
    Ask = Callable[[list[bytes]], Answered]
    Check = Callable[[Mapping[bytes, Reply]], object]

WORTH_CLAIMING = 2e-4
"""Seconds for each answer from which it is cheaper to claim inputs than to run some twice."""
CLAIMED_SECONDS = 2.0
"""Seconds of work that are claimed at a time: others wait for no more than that."""
FIRST_CLAIM = 64
"""Inputs that are claimed at a time as long as nobody knows what they cost."""
LEAST_WAIT, MOST_WAIT = 0.01, 0.2
"""Seconds between two looks at what others are running."""


class Sharing:
    """Has inputs answered that nobody has answered yet, here or by another process.

    Inputs are claimed where an answer costs a process or a request, and where it turned out to take
    long; cheap software in this process is asked without. `least` inputs keep the software busy,
    and `most` are what it is asked at once; `check` refuses answers of other processes that are
    none.

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
    ) -> None:
        self._ledger = ledger
        self._expensive = expensive
        self._least = least
        self._most = most
        self._check = check
        self._pace: float | None = None
        self._warm = False

    @classmethod
    def of(
        cls, adapter: Adapter, ledger: Ledger | None, *, most: int, check: Check
    ) -> Sharing:
        """Return how the work of an adapter is shared."""
        least = asked_at_once(adapter)
        return cls(ledger, expensive=adapter.expensive, least=least, most=most, check=check)

    @property
    def claims(self) -> bool:
        """Whether inputs are worth claiming, by what the last ones took."""
        if self._ledger is None:
            return False
        if self._pace is None:
            return self._expensive
        return self._pace >= WORTH_CLAIMING

    def answers(self, keys: Sequence[bytes], ask: Ask) -> Answered:
        """Yield the answers to some keys as they come, each key once.

        `ask` runs the software and writes down its answers. What another process is running is
        waited for at the end, and run here if that process ends without an answer.
        """
        start = 0
        while start < len(keys) and not self.claims:
            part = list(keys[start : start + self._most])
            start += len(part)
            yield from self._asked(ask, part)
        if start < len(keys) and self._ledger is not None:
            from evenhand.subject.ledger.claims import Claims

            with Claims(self._ledger) as claims:
                yield from self._claimed(claims, keys[start:], ask)

    def _claimed(self, claims: Claims, keys: Sequence[bytes], ask: Ask) -> Answered:
        waited = LEAST_WAIT
        while keys:
            others: list[bytes] = []
            yield from self._one_pass(claims, keys, others, ask)
            if len(others) < len(keys):
                waited = LEAST_WAIT
            elif others:
                time.sleep(waited)
                waited = min(2 * waited, MOST_WAIT)
            keys = others

    def _one_pass(
        self, claims: Claims, keys: Sequence[bytes], others: list[bytes], ask: Ask
    ) -> Answered:
        """Run what is free, and gather what others are running."""
        start = 0
        while start < len(keys):
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

    @property
    def _size(self) -> int:
        """How many inputs to claim at a time."""
        wanted = FIRST_CLAIM
        if self._pace is not None:
            wanted = int(CLAIMED_SECONDS / max(self._pace, WORTH_CLAIMING))
        return min(max(wanted, self._least), self._most)

    def _asked(self, ask: Ask, keys: list[bytes], claims: Claims | None = None) -> Answered:
        begin = time.perf_counter()
        for answers in ask(keys):
            yield answers
            if claims is not None:
                claims.beat()
        self._observe(time.perf_counter() - begin, len(keys))

    def _observe(self, seconds: float, asked: int) -> None:
        """Learn what an answer costs."""
        # In this process the first call also pays for imports, and a short one for the call itself.
        tells = seconds >= SECONDS_TO_TELL or asked >= INPUTS_TO_TELL
        if self._expensive or (self._warm and tells):
            self._pace = seconds / asked
        self._warm = True


def asked_at_once(adapter: Adapter) -> int:
    """Return how many inputs keep software busy: several for each of its workers."""
    workers = getattr(adapter, "workers", getattr(adapter, "concurrency", 1))
    return 4 * int(workers)
