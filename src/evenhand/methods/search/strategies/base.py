"""The protocol of a strategy: it proposes inputs and learns from what came of them.

Since what it proposes follows what it has found, the share of hits among its inputs is not a rate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

    from evenhand.methods.search.arrays import Generator, Indices
    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.population.realism import Realism
    from evenhand.space.feature import Points
    from evenhand.space.space import Space


@dataclass(frozen=True, slots=True)
class Proposal:
    """Inputs to try, one row each; no row at all means that there is nothing left to try.

    What stands in the columns of the features at issue does not matter, since these are varied. An
    input of which constraints leave no two members to compare is passed over.

    See Also
    --------
    evenhand.Strategy : What proposes.

    Notes
    -----
    See docs/how-to/search.md
    """

    points: Points
    pairs: Indices | None = None
    """The two assignments to compare for each input, as rows of `setting.probe.table`.

    None compares all of them.
    """
    asked: int = 0
    """Inputs that had to be asked to propose these."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a strategy has to work with."""

    probe: Probe
    """Knows the features at issue (`over`, `table`), and asks the software where a strategy must.

    What a strategy asks itself is to be counted in the field `asked` of its proposal.
    """
    seed: int
    start: Points | None = None
    """Real rows, encoded, where there are any."""
    queries: float = float("inf")
    """How many inputs the whole search may ask."""
    prefer: str = "many"
    """What to find: as many inputs as possible, diverse ones, or realistic ones."""
    realism: Realism | None = None
    """Tells which inputs are people who could exist, where real rows are known."""

    @property
    def space(self) -> Space:
        """What an input can be; `space.draw(n, rng)` draws some of them."""
        return self.probe.space

    @property
    def free(self) -> tuple[int, ...]:
        """The columns that a strategy may change.

        These are the features that the software takes and that are not at issue.
        """
        return self.probe.free

    def random(self, *name: str) -> Generator:
        """Return random numbers that are the same for the same seed and name."""
        from evenhand.runtime.random_streams import stream

        return stream(self.seed, "strategy", *name)


class Strategy(ABC):
    """How a search looks for discriminatory inputs; derive from it for a way of your own.

    A search is given an object, made with whatever parameters its class has. For each set of
    features at issue, and for each output of the software, it takes a copy of the object and calls

    1. `begin` once, with the space, the seed and the budget: what a run remembers is made here;
    2. `propose`, for inputs to try next;
    3. `observe`, with what came of them; then `propose` again, until the budget is spent or nothing
       is proposed.

    So a single object can be used for any number of searches, and each of them begins anew. Inputs
    are rows of numbers as the space encodes them: the place of a level for a category, else the
    number itself; `space.encode` and `space.decode` translate. Take random numbers from
    `setting.random` alone, and the same seed finds the same inputs.

    What a strategy finds is not a rate, since what it proposes depends on what it has observed.

    Attributes
    ----------
    name
        What results and reports call it; by default the name of the class.
    enumerates
        Whether every input is tried instead, where the budget suffices for that: then nothing is
        left open.
    wants_margins
        Whether to ask models how near to another outcome an input is (``tried.near``), where they
        can tell.

    Examples
    --------
    A random walk: change one feature of inputs that were found last, and go on from there.

    >>> import numpy as np
    >>> import evenhand as eh
    >>> class Walk(eh.Strategy):
    ...     name = "walk"
    ...
    ...     def __init__(self, jumps=0.1):
    ...         self.jumps = jumps  # the share of inputs from anywhere
    ...
    ...     def begin(self, setting):
    ...         self.space = setting.space
    ...         self.free = setting.free
    ...         self.rng = setting.random("walk")
    ...         self.here = self.space.draw(10, self.rng)
    ...
    ...     def propose(self, n):
    ...         rows = np.arange(n)
    ...         anywhere = self.space.draw(n, self.rng)
    ...         column = self.rng.choice(self.free, n)
    ...         points = self.rng.choice(self.here, n)
    ...         points[rows, column] = anywhere[rows, column]
    ...         jump = self.rng.random(n) < self.jumps
    ...         points[jump] = anywhere[jump]
    ...         return eh.Proposal(points)
    ...
    ...     def observe(self, tried):
    ...         if tried.hits.any():
    ...             self.here = tried.points[tried.hits]

    >>> sex = eh.category("sex", ["F", "M"])
    >>> numbers = [eh.integer("age", 18, 90), eh.integer("income", 0, 999)]
    >>> space = eh.Space([sex, *numbers], protected=["sex"])
    >>> def loan(people):
    ...     return people["income"] > 500 + 10 * (people["sex"] == "F")
    >>> budget = eh.Budget(queries=2000)
    >>> result = eh.search(loan, space, strategy=Walk(jumps=0.2), budget=budget)
    >>> found = result.worst.estimate
    >>> found.method, found.value > 100
    ('walk', True)

    Under a name of its own it can be chosen in a configuration and on the command line: a package
    adds an entry point of the group ``evenhand.strategies``, and a program calls `register`.

    >>> from evenhand.methods.search.strategies import STRATEGIES
    >>> STRATEGIES.register("walk", Walk)
    >>> eh.search(loan, space, strategy="walk", budget=eh.Budget(queries=200)).worst.estimate.method
    'walk'
    >>> STRATEGIES.unregister("walk")

    See Also
    --------
    evenhand.search : Runs a strategy.
    evenhand.aequitas : The strategies of the paper.

    Notes
    -----
    See docs/how-to/search.md
    """

    name: str = ""
    enumerates: bool = False
    wants_margins: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Name a class after itself where it has no name of its own."""
        super().__init_subclass__(**options)
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def started(self, setting: Setting) -> Self:
        """Return a copy that has begun, so that what it learns stays apart from this object.

        Parameters
        ----------
        setting
            What the copy has to work with.

        Returns
        -------
        Strategy
            The copy, after `begin`.
        """
        run = copy(self)
        run.begin(setting)
        return run

    def begin(self, setting: Setting) -> None:  # noqa: B027
        """Make ready for a search, and forget all searches before.

        Parameters
        ----------
        setting
            What there is to work with; keep what is needed of it.
        """

    @abstractmethod
    def propose(self, n: int) -> Proposal:
        """Return up to about `n` inputs to try next.

        Parameters
        ----------
        n
            How many inputs the search would try at once.

        Returns
        -------
        Proposal
            The inputs; no row at all means that there is nothing left to try.
        """

    def observe(self, tried: Tried) -> int | None:
        """Learn from what was tried.

        What was tried is what was proposed, or its beginning where the budget ends. A strategy that
        proposes ahead of what it should have known takes back what it would not have proposed.

        Parameters
        ----------
        tried
            The inputs, and what came of them.

        Returns
        -------
        int or None
            How many of the inputs, from the first, count; None for all of them.
        """
        return len(tried)
