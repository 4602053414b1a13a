"""Ask the software again: a sample of the recorded answers, or all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import EvenhandError, one_line
from evenhand.space.feature import plain
from evenhand.texts.text_subject import TextSubject

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evenhand.subject.recording.tape import Playback
    from evenhand.subject.subject import Subject

SAMPLE = 1000
"""How many recorded answers are asked again where nothing else is said."""


@dataclass
class AskAgain:
    """Answers from what was recorded, and asks the software some of it too."""

    played: Playback
    subject: Subject | TextSubject
    share: float
    """The part of the recorded answers that is asked again."""
    random: np.random.Generator = field(default_factory=np.random.default_rng)
    asked: int = 0
    changed: int = 0
    example: tuple[Any, Any, Any] | None = None
    """The first input whose answer changed, with the answer before and now."""
    failure: str = ""
    """Why the software could not be asked, after which it is asked no more."""

    def outcomes(self, inputs: Any, ask: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """Return what was recorded, and note where the software now answers otherwise."""
        before = self.played.outcomes(inputs, ask)
        chosen = np.flatnonzero(self.random.random(len(before)) < self.share)
        if len(chosen) and not self.failure:
            try:
                self._hold_against(inputs, before, chosen)
            except EvenhandError as error:
                # What fails here is the software of today, and not the recorded run.
                self.failure = one_line(error)
        return before

    def arrays(self, inputs: Any, ask: Callable[[Any], Any]) -> list[NDArray[Any]]:
        """Return what was recorded; margins are not asked again."""
        return self.played.arrays(inputs, ask)

    def _hold_against(
        self, inputs: Any, before: NDArray[Any], chosen: NDArray[np.intp]
    ) -> None:
        if isinstance(self.subject, TextSubject):
            some: Any = [inputs[row] for row in chosen.tolist()]
        else:
            some = np.asfortranarray(inputs[chosen])
        now = self.subject.decide(some)
        differs = np.asarray(before[chosen] != now, dtype=np.bool_)
        self.asked += len(chosen)
        self.changed += int(differs.sum())
        if differs.any() and self.example is None:
            row = int(differs.argmax())
            both = plain(before[chosen][row]), plain(now[row])
            self.example = (self._shown(some, row), *both)

    def _shown(self, inputs: Any, row: int) -> Any:
        if isinstance(self.subject, TextSubject):
            return inputs[row]
        return self.subject.space.records(inputs[row : row + 1])[0]
