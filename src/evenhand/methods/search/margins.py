"""Margins: how far inputs are from another outcome, for a search to follow; they say nothing about
a rate.

A margin comes from the same call as the outcome. Its sign tells the label, its unit is the
software's own: a probability above a half or a threshold, a decision value, or a logit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from evenhand.runtime.errors import SubjectError
from evenhand.subject.parallel_view import SharedView
from evenhand.subject.subject import ROWS_AT_ONCE
from evenhand.subject.view import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Points
    from evenhand.space.space import Space

    Numbers = NDArray[np.float64]


class Scorer(Protocol):
    """What an adapter may offer beyond answers; one without `gradients` has none."""

    @property
    def scorers(self) -> tuple[str, ...]:
        """The ways to ask for margins, the likeliest to agree with the labels first; none without
        two labels.
        """
        ...

    def margins(self, points: Points, space: Space, scorer: str) -> tuple[NDArray[Any], Numbers]:
        """Return labels and margins from one call."""
        ...

    def gradients(self, points: Points, space: Space) -> tuple[NDArray[Any], Numbers, Numbers]:
        """Return labels, margins, and how each margin changes with each passed feature, in encoded
        units.
        """
        ...


@dataclass(frozen=True)
class Margins:
    """Asks one output of the software for outcomes and margins at once.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from evenhand.space.feature import integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> ages = np.arange(100.0).reshape(-1, 1)
    >>> model = LogisticRegression().fit(ages, ages[:, 0] > 40)
    >>> view = View(Subject(model, Space([integer("age", 0, 99)])))
    >>> outcomes, margins = Margins.of(view, ages).decide(np.array([[20.0], [39.0], [80.0]]))
    >>> outcomes.tolist(), np.round(margins, 1).tolist()
    ([False, False, True], [-0.5, -0.4, 0.5])
    """

    view: View
    scorer: str
    """The adapter's way to ask for margins; empty where the outcome itself is the score."""

    @classmethod
    def of(cls, view: View, points: Points) -> Margins | None:
        """Return the margins of a view where it has them and they agree with its outcomes of these
        points, else None.

        There are margins where software in this process picks one of two labels, and where outcomes
        are numbers that differ by more than γ. A model whose labels do not follow from its scores
        has none: each way is tried. Answers that are to be kept have none either, since a margin
        would have to be asked again each time.
        """
        subject = view.subject
        scorers = getattr(subject.adapter, "scorers", ())
        if not len(points) or not (scorers or isinstance(view.differs, float)):
            return None
        # Whether a memo has switched itself on follows the clock, and what a search proposes must
        # not.
        kept = subject.adapter.expensive or subject._memo.wanted or subject._ledger is not None
        if scorers and kept:
            return None
        own = view.decide(points)
        if not scorers:
            # Two numbers are labels, whatever they are called.
            return cls(view, "") if own.dtype.kind in "iuf" and len(np.unique(own)) > 2 else None
        return next(
            (found for scorer in scorers if (found := cls(view, scorer))._agrees(points, own)), None
        )

    def _agrees(self, points: Points, own: NDArray[Any]) -> bool:
        try:
            outcomes, margins = self.decide(points)
        except SubjectError:  # a model that cannot score can still be asked for labels
            return False
        return np.array_equal(outcomes, own) and not np.isnan(margins).any()

    @property
    def bounded(self) -> bool:
        """Whether outcomes change where the margin is zero.

        Where it is not so, the margin is the outcome itself, and only the difference of two margins
        has a meaning: the outcomes differ where it is more than γ.
        """
        return bool(self.scorer)

    @property
    def sloped(self) -> bool:
        """Whether the software tells gradients."""
        return self.bounded and hasattr(self.view.subject.adapter, "gradients")

    def decide(self, points: Points) -> tuple[NDArray[Any], Numbers]:
        """Return the outcome and the margin of each point, for one question each."""
        if not self.bounded or not len(points):
            outcomes = self.view.decide(points)
            return outcomes, outcomes.astype(np.float64)
        if isinstance(self.view, SharedView):
            if self.view.worth(points):
                parts = self.view.shared(self._part, points)
                return np.concatenate([part[0] for part in parts]), np.concatenate(
                    [part[1] for part in parts]
                )
            outcomes, margins = self.view.timed(self._scored, points)
        else:
            outcomes, margins = self._scored(points)
        return outcomes, margins

    def _scored(self, points: Points) -> list[Any]:
        adapter = cast("Scorer", self.view.subject.adapter)
        space = self.view.subject.space
        return self._asked(points, lambda batch: adapter.margins(batch, space, self.scorer))

    @cached_property
    def _part(self) -> _Part:
        return _Part(replace(self, view=View(self.view.subject, self.view.name, self.view.target)))

    def gradients(self, points: Points) -> tuple[NDArray[Any], Numbers, Numbers]:
        """Return outcomes, margins, and how margins change with each passed feature, for one
        question each.
        """
        adapter = cast("Scorer", self.view.subject.adapter)
        space = self.view.subject.space
        outcomes, margins, slopes = self._asked(
            points, lambda batch: adapter.gradients(batch, space)
        )
        return outcomes, margins, slopes

    def _asked(self, points: Points, ask: Any) -> list[Any]:
        """Ask in batches that fit in memory, and count what is asked as the subject does."""
        subject = self.view.subject
        subject.asked += len(points)
        parts = []
        for start in range(0, len(points), ROWS_AT_ONCE):
            batch = points[start : start + ROWS_AT_ONCE]
            outcomes, *numbers = ask(batch)
            parts.append((subject._answers.check(outcomes, len(batch)), *numbers))
            subject.executed += len(batch)
        return (
            list(parts[0])
            if len(parts) == 1
            else [np.concatenate(column) for column in zip(*parts, strict=True)]
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """Asks for margins in another process, and tells how many inputs were really run."""

    margins: Margins

    def __call__(self, points: Points) -> tuple[tuple[NDArray[Any], Numbers], int]:
        return self.margins.decide(points), len(points)
