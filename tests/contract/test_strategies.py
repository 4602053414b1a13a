"""What every strategy keeps, those of evenhand, those of installed packages, and one that a user
wrote.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.methods.search.probe import Probe
from evenhand.methods.search.strategies import (
    STRATEGIES,
    Proposal,
    Setting,
    Strategy,
    Tried,
    as_strategy,
)
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import StopReason
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.helpers import refused

PEOPLE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b", "c"]),
        eh.integer("age", 18, 90),
        eh.integer("income", 0, 1000, step=10),
        eh.real("rate", 0, 1, step=0.05),
        eh.real("height", 1.4, 2.1),
    ],
    protected=["sex"],
    constraints=["not (age < 21 and income > 500)"],
)
SMALL = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("age", 18, 60)], protected=["sex"]
)
QUERIES = 600
BUDGET = eh.Budget(queries=QUERIES)


def fair(people: Any) -> Any:
    return people["age"] > 40


def biased(people: Any) -> Any:
    """Women need a larger income."""
    return people["income"] > 400 + 100 * (people["sex"] == "F")


class OwnWalk(eh.Strategy):
    """A user's own: changes one feature of what was found last."""

    name = "walk"

    def __init__(self, jumps: float = 0.2) -> None:
        self.jumps = jumps

    def begin(self, setting: Setting) -> None:
        self.space, self.free = setting.space, setting.free
        self.rng = setting.random("walk")
        self.here = self.space.draw(10, self.rng)

    def propose(self, n: int) -> Proposal:
        anywhere = self.space.draw(n, self.rng)
        points = np.asarray(self.rng.choice(self.here, n))
        if self.free:
            rows, column = np.arange(n), self.rng.choice(self.free, n)
            points[rows, column] = anywhere[rows, column]
        jump = self.rng.random(n) < self.jumps
        points[jump] = anywhere[jump]
        return eh.Proposal(points)

    def observe(self, tried: Tried) -> None:
        if tried.hits.any():
            self.here = tried.points[tried.hits]


class Draws(eh.Strategy):
    """The least that a strategy can be; it has no name, and counts how often it began."""

    begun = 0

    def begin(self, setting: Setting) -> None:
        type(self).begun += 1
        self.setting, self.rng = setting, setting.random()

    def propose(self, n: int) -> Proposal:
        return eh.Proposal(self.setting.space.draw(n, self.rng))


EVERY = [*STRATEGIES, OwnWalk(), Draws()]
every = pytest.mark.parametrize("strategy", EVERY, ids=lambda one: as_strategy(one).name)


def searched(
    strategy: Any, decide: Any = biased, space: eh.Space = PEOPLE, **options: Any
) -> eh.Result:
    given = {"budget": BUDGET, "explain": False, **options}
    return eh.search(decide, space, strategy=strategy, **given)


def bytes_of(result: eh.Result) -> str:
    """Return a result as text, but for what the clock decides."""
    document = json.loads(result.to_json())
    document["spent"] = document["spent"]["queries"]
    return json.dumps(document)


# Every strategy.


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_a_strategy_is_called_as_it_is_registered(name):
    assert as_strategy(name).name == name


@every
@pytest.mark.parametrize("start", [False, True])
def test_what_is_proposed_lies_inside_the_space(strategy, start):
    probe = Probe(View(Subject(biased, PEOPLE)), ("sex",))
    rows = PEOPLE.draw(20, np.random.default_rng(1)) if start else None
    run = as_strategy(strategy).started(Setting(probe, 3, rows, 2000))
    for wanted in (64, 1, 100, 100, 100):
        proposal = run.propose(wanted)
        assert 0 < len(proposal.points) <= wanted
        for position, feature in enumerate(PEOPLE.features):
            assert feature.inside(proposal.points[:, position]).all()
        if proposal.pairs is not None:
            assert proposal.pairs.shape == (len(proposal.points), 2)
            assert (proposal.pairs[:, 0] != proposal.pairs[:, 1]).all()
        tried = probe.ask(proposal.points, proposal.pairs)
        counted = run.observe(tried)
        assert counted is None or 0 <= counted <= len(tried)


@every
@pytest.mark.parametrize("queries", [1, 2, 17, 300])
def test_a_search_never_asks_more_than_its_budget(strategy, queries):
    result = searched(strategy, budget=eh.Budget(queries=queries), explain=True)
    assert result.spent.queries <= queries
    assert result.stop is StopReason.QUERIES


@every
def test_it_ends_with_as_many_findings_as_are_wanted(strategy):
    result = searched(strategy, budget=eh.Budget(queries=5000, findings=3))
    assert (result.worst.estimate.value, result.stop) == (3, StopReason.FINDINGS)


@every
def test_the_same_seed_finds_the_same_bytes(strategy):
    assert bytes_of(searched(strategy)) == bytes_of(searched(strategy))
    assert bytes_of(searched(strategy)) != bytes_of(searched(strategy, seed=1))


@every
def test_what_is_found_is_discriminatory_and_found_once(strategy):
    found = searched(strategy).to_frame()
    assert len(found) > 0
    assert (found["outcome"] != found["twin.outcome"]).all()
    assert ((found["income"] > 400) & (found["income"] <= 500)).all()
    assert (
        not found.drop(columns=["sex", "outcome", "twin.sex", "twin.outcome"])
        .duplicated()
        .any()
    )


@every
def test_it_survives_software_that_does_not_discriminate(strategy):
    result = searched(strategy, fair, limit=0)
    assert result.worst.estimate.value == 0
    assert result.verdict == "undecided"
    assert len(result.to_frame()) == 0


@every
def test_it_survives_a_space_of_one_class(strategy):
    space = eh.Space([eh.category("sex", ["F", "M"])], protected=["sex"])
    result = searched(strategy, lambda people: people["sex"] == "M", space)
    assert result.worst.estimate.value == 1


@every
def test_it_survives_constraints_that_leave_nothing_to_compare(strategy):
    space = eh.Space(SMALL.features, protected=["sex"], constraints=["sex == 'F'"])
    result = searched(strategy, lambda people: people["age"] > 30, space)
    assert result.worst.estimate.value == 0
    assert result.spent.queries <= QUERIES


@every
def test_its_name_is_shown(strategy):
    result = searched(strategy)
    name = as_strategy(strategy).name
    assert result.worst.estimate.method == name
    assert result.details["search"][0]["strategy"] == name
    assert f"({name})" in str(result.worst.estimate)


@every
def test_every_input_is_tried_where_it_says_so(strategy):
    result = searched(
        strategy, lambda people: people["age"] > 40 + 5 * (people["sex"] == "F"), SMALL
    )
    tries_all = as_strategy(strategy).enumerates
    assert (result.stop is StopReason.ENUMERATED) == tries_all
    assert result.details["search"][0]["complete"] == tries_all
    assert result.worst.estimate.value == 5


@every
def test_a_run_leaves_the_object_as_it_was(strategy):
    made = as_strategy(strategy)
    before = dict(vars(made))
    first = bytes_of(searched(made))
    assert vars(made) == before
    assert bytes_of(searched(made)) == first


# A user's own.


def test_each_set_of_features_begins_anew():
    Draws.begun = 0
    searched(Draws(), over=[("sex",), ("race",)])
    assert Draws.begun == 2


def test_a_class_without_a_name_is_called_by_its_own():
    assert Draws.name == "Draws"
    assert type("Other", (OwnWalk,), {}).name == "Other"  # type: ignore[attr-defined]


def test_parameters_are_those_of_the_object():
    assert bytes_of(searched(OwnWalk(jumps=0.9))) != bytes_of(searched(OwnWalk(jumps=0.1)))


def test_a_strategy_can_be_registered_under_a_name():
    STRATEGIES.register("walk", OwnWalk)
    try:
        assert bytes_of(searched("walk")) == bytes_of(searched(OwnWalk()))
        assert bytes_of(searched(OwnWalk)) == bytes_of(searched(OwnWalk()))
        STRATEGIES.register("walk", OwnWalk(jumps=0.9))
        assert bytes_of(searched("walk")) == bytes_of(searched(OwnWalk(jumps=0.9)))
        STRATEGIES.register("walk", lambda: OwnWalk(jumps=0.9))
        assert bytes_of(searched("walk")) == bytes_of(searched(OwnWalk(jumps=0.9)))
        STRATEGIES.register("walk", lambda: 5)  # type: ignore[arg-type, return-value]
        refused(
            UsageError,
            lambda: searched("walk"),
            "strategy 'walk' is 5",
            "evenhand.Strategy",
        )
    finally:
        STRATEGIES.unregister("walk")
    refused(UsageError, lambda: searched("walk"), "strategy = 'walk' is unknown")
    refused(UsageError, lambda: STRATEGIES.register("adaptive", OwnWalk), "evenhand's own")


def test_a_strategy_may_want_every_input_tried():
    class Thorough(Draws):
        enumerates = True

    Thorough.begun = 0
    assert searched(Thorough(), fair, SMALL).stop is StopReason.ENUMERATED
    assert Thorough.begun == 0
    assert searched(Thorough(), budget=eh.Budget(queries=100)).stop is StopReason.QUERIES
    assert Thorough.begun == 1


def test_margins_are_given_where_they_are_wanted():
    from sklearn.linear_model import LogisticRegression

    class Leaning(Draws):
        wants_margins = True
        nearest = 0.0

        def observe(self, tried: Tried) -> int:
            type(self).nearest = max(type(self).nearest, float(tried.near.max()))
            return len(tried)

    class Blind(Leaning):
        wants_margins = False

    space = eh.Space(
        [eh.category("sex", [0, 1]), eh.integer("age", 18, 60)], protected=["sex"]
    )
    rows = space.draw(200, np.random.default_rng(0))
    model = LogisticRegression().fit(rows, rows[:, 1] > 40)
    for strategy in (Leaning, Blind):
        strategy.nearest = 0.0
        searched(strategy(), model, space)
    assert Leaning.nearest > 0
    assert Blind.nearest == 0


def test_a_strategy_can_take_back_what_it_proposed():
    class Careful(Draws):
        def observe(self, tried: Tried) -> int:
            return min(5, len(tried))

    result = searched(Careful(), budget=eh.Budget(queries=200))
    assert result.spent.queries <= 200
    assert result.details["search"][0]["curve"][1][0] <= 10


def test_a_strategy_that_takes_back_everything_comes_to_an_end():
    class Never(Draws):
        def observe(self, tried: Tried) -> int:
            return 0

    assert searched(Never()).stop is StopReason.EXHAUSTED


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (np.zeros((3, 2)), ["points of the shape (3, 2)", "6 numbers"]),
        (np.zeros(6), ["points of the shape (6,)"]),
        ([[0.0] * 6], ["points of the shape (1, 6)", "array"]),
        (np.array([[0, 0, 17, 0, 0, 1.5]]), ["17 for age", "18 to 90"]),
        (np.array([[0, 0, np.nan, 0, 0, 1.5]]), ["nan for age"]),
        (np.array([[0, 0, 20, 5, 0, 1.5]]), ["5 for income", "in steps of 10"]),
        (np.array([[0, 3, 20, 0, 0, 1.5]]), ["3 for race", "3 levels"]),
    ],
)
def test_what_is_no_input_is_refused_before_the_software_is_asked(points, words):
    asked: list[int] = []

    def software(people: Any) -> Any:
        asked.append(len(people))
        return biased(people)

    class Wrong(Draws):
        def propose(self, n: int) -> Proposal:
            asked.clear()
            return eh.Proposal(points)

    refused(
        UsageError, lambda: searched(Wrong(), software), "strategy 'Wrong' proposed", *words
    )
    assert not asked


def test_what_stands_in_the_columns_at_issue_does_not_matter():
    class Lazy(Draws):
        def propose(self, n: int) -> Proposal:
            points = super().propose(n).points
            points[:, 0] = np.nan
            return eh.Proposal(points)

    assert searched(Lazy()).worst.estimate.value > 0


def test_what_is_no_strategy_is_refused():
    class Points(Draws):
        def propose(self, n: int) -> Any:
            return super().propose(n).points

    class Pairs(Draws):
        def propose(self, n: int) -> Proposal:
            return Proposal(super().propose(n).points, np.zeros((n, 3), dtype=np.intp))

    class Alike:
        def propose(self, n: int) -> Any: ...

    class Empty(Strategy): ...

    refused(
        UsageError,
        lambda: searched(Points()),
        "strategy 'Points' proposed",
        "evenhand.Proposal",
    )
    refused(
        UsageError,
        lambda: searched(Pairs()),
        "strategy 'Pairs' proposed pairs of the shape (64, 3)",
    )
    refused(UsageError, lambda: searched(Alike()), "is not an evenhand.Strategy", "derive")
    refused(UsageError, lambda: searched(5), "strategy = 5 is unknown", "'adaptive'")
    refused(
        UsageError, lambda: searched(["adaptive"]), "is unknown", "did you mean 'adaptive'"
    )
    with pytest.raises(TypeError, match="abstract"):
        Empty()  # type: ignore[abstract]


def test_an_error_of_the_strategy_is_its_own():
    class Broken(Draws):
        def propose(self, n: int) -> Proposal:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        searched(Broken())


def test_the_names_cost_no_import_of_numpy():
    code = (
        "import sys; from evenhand.methods.search.strategies import STRATEGIES; "
        "print(*STRATEGIES); assert 'numpy' not in sys.modules"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "adaptive surrogate random semi-directed fully-directed" in ran.stdout
