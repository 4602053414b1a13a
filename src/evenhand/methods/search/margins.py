"""Margins: how far inputs are from another outcome, for a search to follow.

A margin comes from the same call as the outcome. Its sign gives the label, its unit is the
software's own: a probability above a half or a threshold, a decision value, or a logit. Margins say
nothing about a rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evenhand.runtime.errors import SubjectError
from evenhand.subject.shared_asking import ROWS_AT_ONCE, Wanted

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Numbers, Outcomes
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View


class Scorer(Protocol):
    """What an adapter may offer beyond answers; one without `gradients` has none."""

    @property
    def scorers(self) -> tuple[str, ...]:
        """The ways to ask for margins, the likeliest to agree with the labels first.

        There is none where there are not two labels.
        """
        ...

    def margins(
        self, points: Points, space: Space, scorer: str
    ) -> tuple[Outcomes, Numbers]:
        """Return labels and margins from one call."""
        ...

    def gradients(self, points: Points, space: Space) -> tuple[Outcomes, Numbers, Numbers]:
        """Return labels, margins, and how each margin changes with each passed feature.

        The features are in encoded units.
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
        """Return the margins of a view, or None where it has none that agree with its outcomes.

        There are margins where software in this process picks one of two labels, and where outcomes
        are numbers that differ by more than γ. A model whose labels do not follow from its scores
        has none: each way is tried. Answers that are to be kept have none either, since a margin
        would have to be asked again each time.
        """
        subject = view.subject
        scorers = getattr(subject.adapter, "scorers", ())
        has_threshold = isinstance(view.differs, float)
        if not len(points) or not (scorers or has_threshold):
            return None
        # Whether a memo has switched itself on follows the clock, and what a search proposes must
        # not.
        wants_memo = subject.adapter.expensive or subject._memo.wanted
        if scorers and (wants_memo or subject._ledger is not None):
            return None
        outcomes = view.decide(points)
        if not scorers:
            are_numbers = outcomes.dtype.kind in "iuf"
            # Two numbers are labels, whatever they are called.
            if are_numbers and len(np.unique(outcomes)) > 2:
                return cls(view, "")
            return None
        for scorer in scorers:
            margins = cls(view, scorer)
            if margins._agrees(points, outcomes):
                return margins
        return None

    def _agrees(self, points: Points, own: Outcomes) -> bool:
        """Return whether the outcomes that come with margins are those without them."""
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
        """Whether the software gives gradients."""
        return self.bounded and hasattr(self.view.subject.adapter, "gradients")

    def decide(self, points: Points) -> tuple[Outcomes, Numbers]:
        """Return the outcome and the margin of each point, for one question each."""
        if not self.bounded or not len(points):
            outcomes = self.view.decide(points)
            return outcomes, outcomes.astype(np.float64)
        outcomes, margins = self._asked(points, Wanted("margins", (self.scorer,)))
        return outcomes, margins

    def gradients(self, points: Points) -> tuple[Outcomes, Numbers, Numbers]:
        """Return outcomes, margins, and how margins change with each passed feature.

        Each point is one question.
        """
        outcomes, margins, slopes = self._asked(points, Wanted("gradients"))
        return outcomes, margins, slopes

    def _asked(self, points: Points, wanted: Wanted) -> list[Any]:
        """Ask in batches that fit in memory, and count what is asked as the subject does."""
        subject = self.view.subject
        ask = partial(subject.asking.columns, wanted=wanted)
        subject.asked += len(points)
        parts = []
        for start in range(0, len(points), ROWS_AT_ONCE):
            batch = points[start : start + ROWS_AT_ONCE]
            answered = (
                ask(batch) if subject.tape is None else subject.tape.arrays(batch, ask)
            )
            outcomes, *numbers = answered
            checked = subject._answers.check(outcomes, len(batch))
            subject.note(checked)
            parts.append((checked, *numbers))
            subject.executed += len(batch)
        if len(parts) == 1:
            return list(parts[0])
        return [np.concatenate(column) for column in zip(*parts, strict=True)]
