"""What a check costs besides inputs: memory, and whether more processes make it shorter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.plan import messages
from evenhand.scores.planning.forecast import Way
from evenhand.subject.memo import WORTH_REMEMBERING
from evenhand.subject.shared_asking import ROWS_AT_ONCE
from evenhand.subject.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.scores.planning.forecast import Forecast

START = 2.0
"""Seconds that processes take to start, about; a check that takes less is not shared."""
_KEPT = {Way.SEARCHED: (3, 300), Way.ROWS: (1, 60), Way.TEXTS: (1, 100)}
"""How often the values of an input are held until the end, and bytes besides, as measured."""
_ANSWER = 80
"""Bytes of an answer in memory, besides the values that it belongs to."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What the inputs of checks cost, as a few of them showed.

    Parameters
    ----------
    seconds
        Seconds for each input, of one process.
    values, native
        Bytes of one input, as numbers and as the software takes it.
    remembers
        Whether answers are kept in memory.
    one_process
        Why the software is asked by one process, however many there are; nothing where it is not.
    n_jobs
        How many processes there are to be.
    """

    seconds: float = 0.0
    values: int = 0
    native: int = 0
    remembers: bool = False
    one_process: str = ""
    n_jobs: int = 1

    @classmethod
    def of(cls, subject: Any, inputs: Any, seconds: float, n_jobs: int) -> Costs:
        """Return what a few inputs of software cost."""
        if not isinstance(subject, Subject):
            longest = max((len(text) for text in inputs), default=0)
            return cls(seconds, longest, longest, remembers=True, n_jobs=n_jobs)
        frame = subject.space.native(inputs)
        native = int(frame.memory_usage(index=False, deep=False).sum()) // max(
            len(frame), 1
        )
        return cls(
            seconds,
            8 * len(subject.space.features),
            native,
            subject.remembers or seconds >= WORTH_REMEMBERING,
            subject.asking.one_process(n_jobs),
            n_jobs,
        )

    def memory(self, part: Forecast) -> int | None:
        """Return about how many bytes a question takes besides the software and its data.

        >>> from evenhand.scores.planning.forecast import Forecast
        >>> Costs(values=80, native=80).memory(Forecast("", Way.DRAWN, 1_000, 2_000))
        240000
        """
        if part.inputs is None or not self.values:
            return None
        at_once = min(part.inputs, ROWS_AT_ONCE) * (2 * self.values + self.native)
        kept = 0
        if part.way in _KEPT:
            copies, besides = _KEPT[part.way]
            kept += part.inputs * (copies * self.values + besides)
        if self.remembers:
            kept += part.inputs * (self.values + _ANSWER)
        return at_once + kept

    def priced(
        self, parts: Sequence[Forecast], *, shares: bool
    ) -> tuple[list[dict[str, Any]], str]:
        """Return questions with what they cost, and why more processes do not help, if they do not.

        `shares` is whether processes share the inputs of this check at all.
        """
        inputs = sum(part.inputs or 0 for part in parts)
        alone = self.alone(inputs, shares=shares) if inputs else ""
        entries = []
        for part in parts:
            shared = None
            if part.inputs is not None:
                shared = part.inputs * self.seconds if alone else self.shared(part.inputs)
                shared = round(shared, 3)
            more = {"shared_seconds": shared, "memory": self.memory(part)}
            entries.append(part.to_dict() | more)
        return entries, alone

    def alone(self, inputs: int, *, shares: bool) -> str:
        """Return why more processes do not help a check; nothing where they do."""
        if self.n_jobs == 1:
            return ""
        if not shares:
            return messages.NOT_SHARED
        if self.one_process:
            return self.one_process
        if self.shared(inputs) >= inputs * self.seconds:
            return messages.TOO_SHORT.format(seconds=f"{START:.0f}")
        return ""

    def shared(self, inputs: int) -> float:
        """Return how many seconds it takes at best where all processes share it."""
        if self.n_jobs == 1 or not inputs:
            return inputs * self.seconds
        return START + inputs * self.seconds / self.n_jobs
