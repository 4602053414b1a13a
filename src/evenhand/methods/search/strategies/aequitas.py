"""The three strategies of Aequitas (Udeshi, Arora and Chattopadhyay, ASE 2018).

A global phase draws inputs (Algorithm 1); a local phase walks from each discriminatory one in steps
of -1 or +1 (Algorithm 2), whose chances are updated by Algorithm 3 or 4. The walk is one step at a
time by nature: what comes of a step moves the chances of the next. But its random numbers can be
drawn before, so steps are laid out ahead on guessed outcomes, asked together, and followed again
with the true outcomes up to the first step that would have gone elsewhere. What is accepted is the
walk of the paper, however much was laid out.
"""

from __future__ import annotations

import operator
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from evenhand.methods.search import messages
from evenhand.methods.search.strategies.aequitas_walk import Chances, Walkway
from evenhand.methods.search.strategies.base import Proposal, Strategy
from evenhand.population.samplers import Draws, Uniform
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.options import checked_keywords
from evenhand.runtime.random_streams import stream
from evenhand.space.row_keys import Seen

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Numbers
    from evenhand.methods.search.probe import Tried
    from evenhand.methods.search.strategies.base import Setting
    from evenhand.space.feature import Points

Update = Literal["random", "semi-directed", "fully-directed"]
UPDATES: tuple[Update, ...] = get_args(Update)

_BLOCK = 1024
"""Inputs of the global phase drawn at once."""
_FIRST_REACH = 32.0
"""Steps expected to be accepted at first."""
_STRETCH = 1.5
"""How many steps are laid out for each that is expected to be accepted."""
_MEMORY = 0.8
"""How slowly it is learnt how many steps are accepted."""


class Aequitas(Strategy):
    """Aequitas random, semi-directed or fully-directed.

    Parameters
    ----------
    update
        What is learnt from a step: nothing, the direction (Algorithm 3), or the feature too
        (Algorithm 4).
    dv, dpr
        The paper's Δv and Δpr: how much one step moves the chance of a direction, and one hit that
        of a feature.
    global_trials, local_trials
        The paper's N, inputs drawn in a global phase and steps from each discriminatory one; phases
        follow each other until the budget is spent.
    ahead
        Whether to lay out steps ahead of what is known; without, a directed local phase proposes
        one step at a time. That asks more than is used, so by default it is done where asking is
        cheap.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.search.probe import Probe
    >>> from evenhand.space.space import Space
    >>> from evenhand.methods.search.strategies.base import Setting
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> loan = Subject(lambda people: (people["age"] > 80) & (people["sex"] == "M"), space)
    >>> probe = Probe(View(loan), ("sex",))
    >>> strategy = Aequitas(global_trials=50).started(Setting(probe, seed=0))
    >>> tried = probe.ask(strategy.propose(64).points)
    >>> strategy.observe(tried), int(tried.hits.sum())
    (50, 12)
    >>> ages = strategy.propose(4).points[:, 1]  # the first steps from the first of those
    >>> bool((abs(np.diff([tried.points[tried.hits][0, 1], *ages])) <= 1).all())
    True
    """

    def __init__(
        self,
        update: str = "fully-directed",
        *,
        dv: float = 0.001,
        dpr: float = 0.001,
        global_trials: int = 1000,
        local_trials: int = 1000,
        ahead: bool | None = None,
    ) -> None:
        if update not in UPDATES:
            choices = nearest(update, UPDATES)
            unknown = messages.UNKNOWN_UPDATE.format(
                update=clip(repr(update)), choices=choices
            )
            raise UsageError(unknown)
        self.update = update
        self.name = update
        self._global_trials = _positive_whole("global_trials", global_trials)
        self._local_trials = _positive_whole("local_trials", local_trials)
        self._dv = _share("dv", dv)
        # Only Algorithm 4 updates the chances of features.
        self._dpr = _share("dpr", dpr) if update == "fully-directed" else 0.0
        self._wanted_ahead = ahead

    def begin(self, setting: Setting) -> None:
        """Begin with a global phase, and with equal chances."""
        self.ahead = self._wanted_ahead
        if self.ahead is None:
            self.ahead = not setting.probe.view.subject.adapter.expensive
        self._walkway = Walkway(setting.probe)
        self.chances = Chances(len(self._walkway), self._dv, self._dpr)
        self._start = np.empty((0, 0)) if setting.start is None else setting.start
        self._order = stream(setting.seed, "aequitas", "start").permutation(
            len(self._start)
        )
        space = setting.probe.space
        self._draws = Draws(
            Uniform(), space, setting.seed, "aequitas", "global", block=_BLOCK
        )
        self._drawn = 0
        """How many inputs of all global phases were drawn."""
        self._left = self._global_trials
        """How many inputs the global phase has left; none in a local phase."""
        self._rng = stream(setting.seed, "aequitas", "local")
        self._numbers: Numbers = np.empty((0, 2))
        self._reach = _FIRST_REACH
        self._clear()

    def _clear(self) -> None:
        """Forget the discriminatory inputs to walk from."""
        self._seeds: list[Numbers] = []
        self._known = Seen()
        self._step = 0
        self._at: Numbers = np.empty(0)
        self._laid: list[int] = []
        self._guesses: list[bool] = []
        self._hit = True

    def propose(self, n: int) -> Proposal:
        """Return inputs of the global phase, or steps of the local phase on guessed outcomes."""
        # There is only one class, and it was tried.
        if not len(self._walkway) and self._drawn:
            return Proposal(self._draws.take(0, 1)[:0])
        if self._left:
            return Proposal(self._next(min(n, self._left)))
        numbers = self._ahead(self._steps_to_lay_out(n))
        if self.update == "random":
            self._laid = self.chances.still(numbers)
        else:
            # Beyond the guesses, the outcome is guessed to stay what it was last.
            guesses = chain(self._guesses, repeat(self._hit))
            self._laid = self.chances.copy().course(numbers.tolist(), guesses)
        return Proposal(self._walked())

    def _steps_to_lay_out(self, n: int) -> int:
        """Return how many steps to propose at once."""
        left = len(self._seeds) * self._local_trials - self._step
        n = min(n, left)
        if self.update == "random":
            # Nothing is learnt from a step, so that all can be laid out.
            return n
        if not self.ahead:
            return 1
        return min(n, max(1, round(_STRETCH * self._reach)))

    def observe(self, tried: Tried) -> int:
        """Learn from what was tried, and return how many inputs the paper's walk comes to."""
        if self._left:
            self._gather(tried)
            return len(tried)
        hits = tried.hits.tolist()
        accepted = len(hits)
        if self.update != "random":
            numbers = self._numbers[:accepted].tolist()
            accepted = len(self.chances.course(numbers, hits, self._laid))
            self._reach = _MEMORY * self._reach + (1 - _MEMORY) * accepted
        if accepted:
            self._hit = hits[accepted - 1]
            # The rest of the walk lies a step or two beside what was laid out, so its outcomes are
            # good guesses.
            self._guesses = hits[accepted:]
            self._at = tried.points[accepted - 1].copy()
            self._numbers = self._numbers[accepted:]
            self._step += accepted
        if self._step == len(self._seeds) * self._local_trials:
            self._left = self._global_trials
            self._clear()
        return accepted

    def _next(self, n: int) -> Points:
        """Return the next inputs of the global phase: real rows, each once, and then any.

        The paper selects all at random (Algorithm 1, line 5).
        """
        rows = self._order[self._drawn : self._drawn + n]
        if len(rows):
            return np.asfortranarray(self._start[rows])
        begin = self._drawn - len(self._order)
        return self._draws.take(begin, begin + n)

    def _gather(self, tried: Tried) -> None:
        """Keep the discriminatory inputs of the global phase (Algorithm 1, line 9).

        Each class is kept once.
        """
        rows = np.flatnonzero(tried.hits)
        new = self._known.add(tried.keys[rows])
        self._seeds.extend(tried.points[rows[new]])
        self._drawn += len(tried)
        self._left -= len(tried)
        if not self._left and not self._seeds:
            # There is nothing to walk from, so another global phase follows.
            self._left = self._global_trials

    def _ahead(self, n: int) -> Numbers:
        """Return the random numbers of the next steps, two each.

        They are the same however many are asked at once.
        """
        short = n - len(self._numbers)
        if short > 0:
            more = self._rng.random((short, 2))
            self._numbers = np.concatenate([self._numbers, more])
        return self._numbers[:n]

    def _walked(self) -> Points:
        """Return where the steps that are laid out lead.

        Each discriminatory input of the global phase starts a walk of its own (Algorithm 2, line
        6).
        """
        parts: list[Points] = []
        here = self._at
        done = 0
        while done < len(self._laid):
            seed, taken = divmod(self._step + done, self._local_trials)
            choices = self._laid[done : done + self._local_trials - taken]
            start = here if taken else self._seeds[seed]
            path = self._walkway.walked(start, choices)
            parts.append(path)
            here = path[-1]
            done += len(choices)
        if len(parts) == 1:
            return parts[0]
        return np.asfortranarray(np.concatenate(parts))


@checked_keywords
def aequitas(
    update: str = "fully-directed",
    *,
    dv: float = 0.001,
    dpr: float = 0.001,
    global_trials: int = 1000,
    local_trials: int = 1000,
) -> Aequitas:
    """Return a strategy of Aequitas with other parameters than the paper's.

    It is meant for ``search(strategy=…)``.

    Parameters
    ----------
    update
        ``"random"``, ``"semi-directed"`` (Algorithm 3) or ``"fully-directed"`` (Algorithm 4).
    dv, dpr
        The paper's Δv and Δpr.
    global_trials, local_trials
        Inputs drawn in a global phase, and steps from each discriminatory one.

    Returns
    -------
    Strategy
        The strategy.

    Raises
    ------
    UsageError
        If `update` is unknown, `dv` or `dpr` is not a number from 0 to 1, or a number of trials is
        not a whole number of 1 or more.

    See Also
    --------
    evenhand.search : Runs it.

    Notes
    -----
    See docs/how-to/search.md

    Examples
    --------
    >>> aequitas("semi-directed", dv=0.01).name
    'semi-directed'
    """
    return Aequitas(
        update, dv=dv, dpr=dpr, global_trials=global_trials, local_trials=local_trials
    )


def _positive_whole(name: str, value: Any) -> int:
    """Return a whole number of 1 or more, or raise."""
    try:
        # True and False count for Python as 1 and 0.
        number = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        shown = clip(repr(value))
        raise UsageError(
            messages.NOT_A_POSITIVE_WHOLE_NUMBER.format(name=name, value=shown)
        )
    return number


def _share(name: str, value: Any) -> float:
    """Return a number from 0 to 1, or raise."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise UsageError(messages.NOT_A_SHARE.format(name=name, value=clip(repr(value))))
    return float(value)


RANDOM = Aequitas("random")
SEMI_DIRECTED = Aequitas("semi-directed")
FULLY_DIRECTED = Aequitas("fully-directed")
