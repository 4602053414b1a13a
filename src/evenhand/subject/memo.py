"""Memo: answers kept in memory, where looking one up is cheaper than asking again."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import filterfalse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenhand.subject.adapters.base import Reply
    from evenhand.subject.ledger import Ledger

WORTH_REMEMBERING = 2e-5
"""Seconds per answer from which looking an answer up is clearly cheaper than asking again."""
SECONDS_TO_TELL = 0.1
INPUTS_TO_TELL = 4096
"""Seconds or inputs from which a call tells what an answer costs, and not what a call costs."""
MOST_REMEMBERED = 4_000_000
"""Answers kept in memory; beyond that only the ledger remembers."""


AGAIN = b"again:"
"""Marks the second answer to an input."""


class Occasions:
    """Tells apart the answers to the same input, where each asking is to be answered anew.

    They are numbered from the third, since the first two belong to the look at whether the software
    answers alike. A ledger keeps every one of them under its number.

    >>> occasions = Occasions()
    >>> occasions.keys([b"a", b"b", b"a"]), occasions.keys([b"a"])
    ([b'again:3:a', b'again:3:b', b'again:4:a'], [b'again:5:a'])
    """

    def __init__(self) -> None:
        self._next: dict[bytes, int] = {}

    def keys(self, keys: Sequence[bytes]) -> list[bytes]:
        """Return what each asking of these inputs is kept under."""
        numbered = []
        for key in keys:
            number = self._next.get(key, 3)
            self._next[key] = number + 1
            numbered.append(b"%s%d:%s" % (AGAIN, number, key))
        return numbered


class Memo:
    """Answers by what was asked; `wanted` is yes, no, or None to see what answers cost.

    >>> memo = Memo(wanted=None, expensive=False)
    >>> memo.observe(0.5, 64), memo.on  # a first call also pays for imports, and tells nothing
    (None, False)
    >>> memo.observe(0.5, 64), memo.on
    (None, True)
    """

    def __init__(self, *, wanted: bool | None, expensive: bool) -> None:
        self.wanted = wanted
        self.on = expensive if wanted is None else wanted
        self.answers: dict[bytes, Reply] = {}
        self._undecided = wanted is None and not expensive
        self._warm = False

    def observe(self, seconds: float, asked: int) -> None:
        """Learn what a call cost, and switch on where answers turn out to be expensive."""
        # The first call also pays for imports and caches, so it tells nothing.
        if not self._warm:
            self._warm = True
            return
        enough = seconds >= SECONDS_TO_TELL or asked >= INPUTS_TO_TELL
        if self._undecided and enough:
            self._undecided = False
            seconds_per_answer = seconds / asked
            self.on = seconds_per_answer > WORTH_REMEMBERING

    def add(self, fresh: Mapping[bytes, Reply]) -> None:
        """Remember answers, as long as there is room."""
        has_room = len(self.answers) + len(fresh) <= MOST_REMEMBERED
        if self.on and has_room:
            self.answers.update(fresh)

    def recall(
        self,
        keys: Sequence[bytes],
        ledger: Ledger | None,
        check: Callable[[Mapping[bytes, Reply]], object] | None = None,
    ) -> Recalled:
        """Return what memory and ledger know of some keys.

        What neither knows is to be asked, each key once. `check` refuses what the ledger has and
        the software could not have answered.

        >>> memo = Memo(wanted=True, expensive=False)
        >>> recalled = memo.recall([b"a", b"b", b"a"], None)
        >>> recalled.unknown
        [b'a', b'b']
        >>> recalled.add({b"a": 1, b"b": 2})
        >>> recalled.answers, memo.recall([b"b"], None).unknown
        ([1, 2, 1], [])
        """
        # In their order, so that the software is asked in it.
        distinct = dict.fromkeys(keys)
        unknown = list(filterfalse(self.answers.__contains__, distinct))
        fresh: dict[bytes, Reply] = {}
        if unknown and ledger is not None:
            fresh.update(ledger.known(unknown))
            if check is not None and fresh:
                check(fresh)
            self.add(fresh)
            unknown = list(filterfalse(fresh.__contains__, unknown))
        return Recalled(self, keys, unknown, fresh)

    def __getstate__(self) -> dict[str, Any]:
        # Workers ask afresh: memory is not worth shipping, and outcomes are the same.
        state = vars(self).copy()
        state["answers"] = {}
        return state


@dataclass(frozen=True, slots=True)
class Recalled:
    """What is known of some keys, and what has to be asked."""

    memo: Memo
    keys: Sequence[bytes]
    unknown: list[bytes]
    fresh: dict[bytes, Reply]
    """Answers that memory did not have before; it may have no room for them."""

    def add(self, answers: Mapping[bytes, Reply]) -> None:
        """Take answers to what was unknown."""
        self.fresh.update(answers)
        self.memo.add(answers)

    @property
    def answers(self) -> list[Reply]:
        """The answer to each key, once all are known."""
        known = self.memo.answers
        fresh = self.fresh
        return [known[key] if key in known else fresh[key] for key in self.keys]
