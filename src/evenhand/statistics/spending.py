"""Spending: where the error 1 - level goes, and which intervals are descriptive."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spending:
    """The error goes to the findings with a limit; without any limit, to all families alike.

    Findings with a limit give verdicts: they share the whole error, and hold together. Beside them
    all else is descriptive: each family of intervals holds by itself at the level, outside of what
    holds together, and gives no verdict.

    Parameters
    ----------
    limits
        How many findings have a limit.
    families
        How many families of intervals share the error where no finding has one.

    Examples
    --------
    >>> asked = Spending(limits=2, families=12)
    >>> asked.among(limited=True), asked.among(limited=False)
    (2, 1)
    >>> asked.describes(limited=False), Spending(0, 12).describes(limited=False)
    (True, False)
    """

    limits: int
    families: int

    @property
    def asked(self) -> bool:
        """Whether anything has a limit."""
        return self.limits > 0

    def among(self, *, limited: bool) -> int:
        """Return how many share the error with a family of intervals, itself included."""
        if not self.asked:
            return self.families
        return self.limits if limited else 1

    def describes(self, *, limited: bool) -> bool:
        """Return whether a family of intervals is descriptive."""
        return self.asked and not limited


ALONE = Spending(limits=0, families=1)
"""One family of intervals, which has all of the error."""
