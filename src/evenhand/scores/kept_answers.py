"""KeptAnswers: how software answered numbered draws, so that its next version is asked the same.

The inputs need not be kept: draw i of a named stream is the same input in every run, so that their
number, the seed and a digest are enough. What is kept is one bit for each draw (and group): 10,000
draws take 1,668 characters of JSON.

How many draws there are is fixed before any answer is known, and their stream is one that no score
is measured on.
"""

from __future__ import annotations

import base64
import hashlib
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.samplers import Draws, Uniform, Within, is_rows
from evenhand.results.baseline import tolerance_of
from evenhand.results.score_change import apart, independent, paired, sampled
from evenhand.scores.groups import Groups
from evenhand.scores.twins import hits
from evenhand.subject.view import views_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.population.samplers import Sampler
    from evenhand.results.evidence import Finding
    from evenhand.results.score_change import ScoreChange
    from evenhand.space.feature import Points
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

KINDS = ("causal", "group")
"""The scores whose answers can be kept."""
DRAWS, DRAWS_EXPENSIVE = 2_000, 100
"""The fewest draws whose answers are kept; fewer where an answer is expensive."""
MOST_DRAWS = 20_000
TOLERANCES, TOLERANCES_EXPENSIVE = 100, 5
"""So many draws, divided by the tolerance, are kept.

Software that did not change is known not to be worse by more than the tolerance after
log(2 / error) / tolerance draws, 3.7 / tolerance at a level of 95 %. Where other inputs are
discriminated against than before, it takes more.
"""
FEWEST_DRAWS = 100
"""With fewer draws nothing is kept, as they could not tell anything."""
MOST_ASKED = 400_000
"""The most inputs that are asked for one score in order to keep the answers."""
MOST_GROUPS = 64
"""The most groups of a score whose answers are kept."""
_BLOCK = 2_000
"""Draws of one group that are made at once."""
MOST_SCORES = 32
"""The most scores of a check whose answers are kept."""


@dataclass(frozen=True, eq=False)
class KeptAnswers:
    """What software did with the first draws of a stream.

    Parameters
    ----------
    key
        The finding that they are about.
    seed, digest
        The seed of the stream, and the digest of the inputs that were drawn.
    answers
        For each draw whether it is discriminated against, or how much, from 0 to 1; for a group
        score a column for each group, which says how favourable the outcome is.
    asked
        How many inputs were asked for it.
    """

    key: str
    seed: int
    digest: str
    answers: NDArray[Any] = field(repr=False)
    asked: int = field(default=0, compare=False)

    @property
    def draws(self) -> int:
        """How many draws there are."""
        return len(self.answers)

    def to_dict(self) -> dict[str, Any]:
        """Return this as JSON holds it: bits where every answer is yes or no."""
        if self.answers.dtype == np.bool_:
            data = np.packbits(self.answers, axis=None).tobytes()
        else:
            data = self.answers.astype("<f4").tobytes()
        return {
            "key": self.key,
            "seed": self.seed,
            "digest": self.digest,
            "shape": list(self.answers.shape),
            "graded": self.answers.dtype != np.bool_,
            "answers": base64.b64encode(data).decode("ascii"),
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> KeptAnswers:
        """Rebuild this from `to_dict`.

        >>> kept = KeptAnswers("causal of sex", 0, "", np.array([True, False, False]))
        >>> KeptAnswers.from_dict(kept.to_dict()).answers.tolist()
        [True, False, False]
        """
        data = base64.b64decode(table["answers"])
        shape = tuple(table["shape"])
        if table["graded"]:
            answers: NDArray[Any] = np.frombuffer(data, dtype="<f4")
        else:
            bits = np.frombuffer(data, dtype=np.uint8)
            answers = np.unpackbits(bits, count=math.prod(shape)).astype(np.bool_)
        return cls(table["key"], table["seed"], table["digest"], answers.reshape(shape))

    @property
    def counted(self) -> bool:
        """Whether they are hits, whose share is the score."""
        return self.answers.ndim == 1 and self.answers.dtype == np.bool_

    def same_inputs(self, other: KeptAnswers) -> bool:
        """Return whether both are the answers to the same inputs."""
        return self.digest == other.digest and self.answers.shape == other.answers.shape


def change_of(
    finding: Finding,
    old: Finding,
    kept: KeptAnswers | None,
    old_kept: KeptAnswers | None,
    *,
    level: float,
    among: int,
) -> ScoreChange | None:
    """Return how a score changed, as far as answers that were kept tell it; None where they do not.

    Where both versions answered the same inputs, they are paired. Otherwise each was asked inputs
    of its own: those of another space or seed are another stream. Where the old version kept
    nothing, its estimate stands beside the sample of the new one.
    """
    if kept is None or level == 1 or old.key != finding.key:
        return None
    if old_kept is None:
        return apart(sampled(kept.answers, level=level, among=among), old.estimate)
    if kept.same_inputs(old_kept):
        return paired(kept.answers, old_kept.answers, level=level, among=among)
    if kept.counted and old_kept.counted:
        return independent(kept.answers, old_kept.answers, level=level, among=among)
    new_score = sampled(kept.answers, level=level, among=among)
    return apart(new_score, sampled(old_kept.answers, level=level, among=among))


def draws_for(tolerance: float | None, *, expensive: bool = False) -> int:
    """Return how many draws are asked in order to keep the answers, if that is not too many.

    >>> draws_for(0.01), draws_for(0.01, expensive=True), draws_for(None)
    (10000, 500, 2000)
    """
    fewest, wanted = DRAWS, TOLERANCES
    if expensive:
        fewest, wanted = DRAWS_EXPENSIVE, TOLERANCES_EXPENSIVE
    if not tolerance:
        return fewest
    return min(max(fewest, math.ceil(wanted / tolerance)), MOST_DRAWS)


@dataclass(frozen=True)
class Keeping:
    """Which draws are asked in order to keep the answers.

    Parameters
    ----------
    subject, sampler
        The software, and the population that scores are about; None for all inputs.
    seed
        The seed of the draws, where the baseline has none.
    tolerance
        How much worse a score may get; None for a fifth of the limit of each finding.
    left
        How many inputs may be asked for each check.
    before
        What the baseline kept of the same check, by key: the same inputs are asked again.
    """

    subject: Subject
    sampler: Sampler | None
    seed: int
    tolerance: float | None = None
    left: float = math.inf
    before: Mapping[str, KeptAnswers] = field(default_factory=dict)

    def all(self, findings: Sequence[Finding]) -> tuple[KeptAnswers, ...]:
        """Return the answers for all findings that were sampled, as far as may be asked."""
        kept: list[KeptAnswers] = []
        left = self.left
        for finding in findings:
            if len(kept) == MOST_SCORES:
                break
            answers = self._of(finding, left)
            if answers is not None:
                kept.append(answers)
                left -= answers.asked
        return tuple(kept)

    def _of(self, finding: Finding, left: float) -> KeptAnswers | None:
        question = self._question(finding)
        if question is None:
            return None
        before = self.before.get(finding.key)
        if before is None:
            seed = self.seed
            draws = self._draws(finding, question.cost, left)
        else:
            seed = before.seed
            draws = before.draws
        if draws < FEWEST_DRAWS or draws * question.cost > left:
            return None
        points = question.points(seed, draws)
        return KeptAnswers(
            finding.key,
            seed,
            _digest(question, points),
            question.answers(points),
            asked=draws * question.cost,
        )

    def _question(self, finding: Finding) -> _NumberedDraws | None:
        """Return how to ask what a finding is about; None where no draws can tell it."""
        is_sampled = finding.unit == "rate" and finding.estimate.level < 1
        if not is_sampled or finding.score not in KINDS or not finding.about:
            return None
        sampler = self._population(finding)
        view = self._view(finding)
        if sampler is None or view is None:
            return None
        question = _NumberedDraws(view, sampler, finding.score, tuple(finding.about))
        return question if question.cost else None

    def _population(self, finding: Finding) -> Sampler | None:
        """Return the population that a finding says it is about; None for rows that were given."""
        space = self.subject.space
        for sampler in (self.sampler, Uniform()):
            if sampler is None or is_rows(sampler):
                continue
            if sampler.population(space) == finding.estimate.population:
                return sampler
        return None

    def _view(self, finding: Finding) -> View | None:
        for view in views_for(self.subject, finding.score):
            if view.title == finding.output:
                return view
        return None

    def _draws(self, finding: Finding, cost: int, left: float) -> int:
        """Return how many draws to ask, from the tolerance and the cost alone."""
        tolerance = tolerance_of(finding, self.tolerance)
        draws = draws_for(tolerance, expensive=self.subject.adapter.expensive)
        return int(min(draws, MOST_ASKED // cost, left // cost))


@dataclass(frozen=True)
class _NumberedDraws:
    """What is asked of each draw: twins for a causal score, else somebody of each group."""

    view: View
    sampler: Sampler
    kind: str
    names: tuple[str, ...]

    @property
    def cost(self) -> int:
        """Inputs asked per draw; 0 where they are too many."""
        space = self.view.subject.space
        if self.kind == "causal":
            return len(space.assignments(self.names))
        members = self._members()
        return len(members) if 1 < len(members) <= MOST_GROUPS else 0

    def _members(self) -> list[int]:
        """Return the groups that have somebody."""
        groups = Groups(self.view.subject.space, self.names)
        if len(groups) > MOST_GROUPS:
            return []
        return list(np.flatnonzero(~self.sampler.empty(groups)).tolist())

    def points(self, seed: int, draws: int) -> Points:
        """Return the inputs that are drawn, those of one group after those of another."""
        space = self.view.subject.space
        # Draws from another space are others, and not those of this one in other words.
        name = ("kept", space.digest, self.kind, *self.names)
        if self.kind == "causal":
            return Draws(self.sampler, space, seed, *name).take(0, draws)
        groups = Groups(space, self.names)
        parts = []
        for group in self._members():
            inside = Within(self.sampler, groups, group)
            of_group = Draws(inside, space, seed, *name, group, block=_BLOCK)
            parts.append(of_group.take(0, draws))
        return np.asfortranarray(np.concatenate(parts))

    def answers(self, points: Points) -> NDArray[Any]:
        """Return what the software did with each draw."""
        if self.kind == "causal":
            found = hits(self.view, self.names, points)
            return found if found.dtype == np.bool_ else found.astype(np.float32)
        amounts = self.view.amount(self.view.decide(points))
        by_group = amounts.reshape(len(self._members()), -1).T
        return by_group.astype(np.bool_ if self.view.counts else np.float32)


def _digest(question: _NumberedDraws, points: Points) -> str:
    """Return the digest of inputs: whom they stand for, and not only by which codes."""
    space = question.view.subject.space
    content = hashlib.sha256(space.digest.encode())
    content.update(np.ascontiguousarray(points).tobytes())
    return content.hexdigest()[:16]
