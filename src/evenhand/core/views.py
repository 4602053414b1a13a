"""One output of the software under test at a time: what measures ask and compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.core.outcomes import distance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evenhand.core.outcomes import Differs
    from evenhand.core.subject import Subject


@dataclass(frozen=True)
class View:
    """One output of a subject; its name is empty where the software has only one."""

    subject: Subject
    name: str = ""

    @property
    def differs(self) -> Differs:
        """When two outcomes of this output differ."""
        return self.subject.differs

    @property
    def graded(self) -> bool:
        """Whether the distance of two outcomes is a number in [0, 1] rather than yes or no."""
        return callable(self.differs)

    def decide(self, inputs: Any) -> NDArray[Any]:
        """Return this output's outcome of each input."""
        return self.subject.decide(inputs)

    def distance(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return how far apart outcomes are."""
        return distance(self.differs, a, b)

    def favourable(self, outcomes: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell which outcomes are the favourable one."""
        return self.subject.favourable(outcomes)


def views_of(subject: Subject) -> tuple[View, ...]:
    """Return a view of each output of the software."""
    return (View(subject),)
