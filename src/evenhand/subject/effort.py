"""How long work takes in this process, and whether workers would be done with it earlier.

The clock decides where work is done. What comes of it does not depend on where that was.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import EvenhandError, EvenhandWarning, clip

if TYPE_CHECKING:
    from evenhand.runtime.workers import Workers

HANDING_OVER = 0.02
"""Seconds that it takes to hand work over to workers, and to take back what came of it."""
SENDING = 3e-7
"""Seconds that it takes to send one input, and its answer back."""
STARTING = 0.5
"""Seconds of work, done or to be done, from which workers are started beside it."""
SLICE = 0.25
"""Seconds of work that are done here before it is asked again whether workers are there."""
TRIAL = 0.1
"""Seconds of work that tell how long an input takes, and not how long a call does."""
TRIAL_INPUTS = 4096
"""Inputs that tell the same."""
LONG = 2.0
"""Seconds of work for each worker from which it is cut finer, so that none waits for long."""
PIECES = 4
"""How many pieces of long work each worker is given."""
FIRST = 256
"""The least inputs that are tried."""


class Effort:
    """Tells how many of some inputs to ask about here, before the rest is left to workers.

    Workers are started beside other work, so that nobody waits for them.

    >>> from evenhand.runtime.workers import Workers
    >>> effort = Effort()
    >>> effort.here(1000, Workers(1))
    1000
    """

    def __init__(self) -> None:
        self._pace: float | None = None
        self._least: tuple[int, float] | None = None
        """The inputs of the smallest call, and the seconds of the shortest of that size."""
        self._spent = 0.0
        self._calls = 0
        self._is_known = False
        self._stays = False

    def here(self, inputs: int, workers: Workers, function: Any = None) -> int:
        """Return how many inputs to ask about in this process; 0 leaves all of them to workers.

        `function` is what workers will be sent.
        """
        width = workers.width
        if width == 1 or inputs < 2 * width:
            return inputs
        if self._pace is None:
            return min(inputs, FIRST)
        expected = inputs * self._pace
        saved = expected * (1 - 1 / width)
        if saved <= HANDING_OVER + inputs * SENDING:
            return inputs
        if not self._is_known:
            return self._worth(TRIAL, inputs)
        if not workers.ready and self._spent + expected < STARTING:
            return inputs
        if not self._is_sent(workers, function):
            return inputs
        if workers.ready:
            return 0
        return self._worth(SLICE, inputs)

    def _is_sent(self, workers: Workers, function: Any) -> bool:
        """Return whether workers have or get what they are to run."""
        if self._stays:
            return False
        try:
            workers.start(function)
        except EvenhandError:
            raise
        except Exception as error:  # whatever keeps it from being pickled
            self._stays = True
            reason = f"{type(error).__name__}: {clip(str(error))}"
            warnings.warn(
                f"the software under test cannot be sent to workers ({reason}), so that one process"
                " asks it",
                EvenhandWarning,
                stacklevel=2,
            )
        return not self._stays

    def pieces(self, inputs: int, width: int) -> int:
        """Return into how many pieces to cut inputs for so many workers."""
        expected = inputs * (self._pace or 0.0)
        if expected < LONG * width:
            return min(width, inputs)
        return min(PIECES * width, inputs)

    def _worth(self, seconds: float, inputs: int) -> int:
        """Return about how many inputs take so many seconds."""
        affordable = int(seconds / max(self._pace or 0.0, 1e-9))
        # A rest that is not worth a call of its own is asked about as well.
        least = FIRST if not self._is_known else 1
        return min(inputs, max(affordable, least))

    def learn(self, inputs: int, seconds: float) -> None:
        """Note how long some inputs took in this process."""
        if not inputs:
            return
        self._calls += 1
        self._spent += seconds
        # A first call also pays for imports, and a short one mostly for the call itself.
        tells = seconds >= TRIAL / 2 or inputs >= TRIAL_INPUTS
        if tells and self._calls > 1:
            self._is_known = True
        elif self._is_known:
            self._note_least(inputs, seconds)
            return
        self._pace = self._beyond_a_call(inputs, seconds)
        self._note_least(inputs, seconds)

    def _beyond_a_call(self, inputs: int, seconds: float) -> float:
        """Return the seconds for each input, without what every call costs.

        Workers share the inputs, and each of them pays for a call.
        """
        if self._least is None or inputs < 2 * self._least[0]:
            return seconds / inputs
        few, shortest = self._least
        return max(seconds - shortest, 0.0) / (inputs - few)

    def _note_least(self, inputs: int, seconds: float) -> None:
        # The first call of all also pays for imports.
        if self._calls == 1:
            return
        if self._least is None or (inputs, seconds) < self._least:
            self._least = (inputs, seconds)
