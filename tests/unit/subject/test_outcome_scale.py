"""When outcomes on a scale differ, where nobody says so: a share of their spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import evenhand as eh
from evenhand.runtime.budget import Budget, Meter
from evenhand.scores.numbers.settling import ASKED, ASKED_EXPENSIVE, settle_differs
from evenhand.subject.outcome_meaning import Meaning
from evenhand.subject.outcome_scale import (
    OutcomeScale,
    details_of,
    notes_of,
    on_scale,
    rounded,
    spread_of,
    take_over,
)

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.real("rate", 0, 1),
        eh.integer("age", 18, 90),
    ],
    protected=["sex"],
)


def salary(people: pd.DataFrame) -> Any:
    return 30_000 + 20_000 * people["rate"] + 2000.5 * (people["sex"] == "M")


def settled(function: Any, **options: Any) -> eh.Subject:
    subject = eh.Subject(function, SPACE, **options)
    settle_differs(subject)
    return subject


def scale_of(subject: eh.Subject, output: str = "") -> OutcomeScale:
    scale = subject.meanings[output].scale
    assert scale is not None
    return scale


def test_fractions_differ_by_a_share_of_their_interquartile_range():
    subject = settled(salary)
    scale = scale_of(subject)
    # The middle half of a uniform rate is about a half wide.
    assert scale.spread == pytest.approx(10_000, rel=0.1)
    assert subject.differs == rounded(0.05 * scale.spread)
    assert subject.asked == ASKED + 1
    assert details_of(subject)["differs"][""]["value"] == subject.differs


def test_the_threshold_is_the_same_whatever_was_asked_before():
    fresh = settled(salary)
    used = eh.Subject(salary, SPACE)
    used.decide([{"sex": "F", "rate": 0.5, "age": 30}])
    settle_differs(used)
    assert used.differs == fresh.differs
    assert used.asked == 1 + ASKED


@pytest.mark.parametrize(
    "decide",
    [
        lambda people: people["age"] > 40,
        lambda people: np.where(people["age"] > 40, "yes", "no"),
        lambda people: people["age"],
        lambda people: people["age"].astype(float),
        lambda people: (people["age"] // 10) / 10,
    ],
)
def test_labels_stay_labels(decide):
    subject = settled(decide)
    assert subject.differs is None
    assert subject.meanings[""].scale is None


def test_labels_are_not_asked_about_once_the_software_has_answered():
    subject = eh.Subject(lambda people: people["age"] > 40, SPACE)
    subject.decide([{"sex": "F", "rate": 0.5, "age": 30}])
    settle_differs(subject)
    assert subject.asked == 1


@pytest.mark.parametrize("options", [{"differs": 3.0}, {"differs": 0}, {"labels": [1.5]}])
def test_what_the_user_says_stands(options):
    subject = settled(salary, **options)
    assert subject.differs == options.get("differs")
    assert subject.asked == 0


def people_and_pay() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "sex": rng.integers(0, 2, 500),
            "age": rng.integers(18, 90, 500),
        }
    )
    return people, 100.0 * people["age"]


def test_a_regressor_is_on_a_scale_and_a_classifier_is_not():
    people, pay = people_and_pay()
    space = eh.Space.from_frame(people, protected=["sex"])
    regressor = eh.Subject(LinearRegression().fit(people, pay), space)
    classifier = eh.Subject(LogisticRegression().fit(people, pay > 5000), space)
    settle_differs(regressor)
    settle_differs(classifier)
    assert scale_of(regressor).differs > 0
    assert classifier.differs is None
    assert classifier.asked == 0


def test_scores_are_on_a_scale():
    people, pay = people_and_pay()
    space = eh.Space.from_frame(people, protected=["sex"])
    model = LogisticRegression().fit(people, pay > 5000)
    subject = eh.Subject(model, space, output="score")
    settle_differs(subject)
    assert 0 < scale_of(subject).differs < 0.1


def test_each_output_has_its_own_scale():
    def loan(people):
        return {
            "granted": people["age"] > 30,
            "pay": salary(people),
        }

    subject = eh.Subject(loan, SPACE, outputs=["granted", "pay"])
    notes = settle_differs(subject)
    scale = scale_of(subject, "pay")
    assert subject.differs == {"pay": scale.differs}
    assert notes == [scale.sentence("pay")]


def test_outcomes_of_which_most_are_equal_differ_by_any_change():
    def rare(people):
        return np.where(people["rate"] > 0.9, people["rate"] * 100, 0.0)

    subject = settled(rare)
    assert subject.differs == 0.0
    assert "not equal" in scale_of(subject).sentence()


def test_extreme_outcomes_do_not_widen_the_spread():
    plain = np.linspace(0.0, 1.0, 1000)
    wild = plain.copy()
    wild[-100:] = 1e12
    assert spread_of(wild) == pytest.approx(spread_of(plain))
    assert spread_of(np.array([np.inf, -np.inf])) == 0.0


def test_what_is_asked_counts_and_leaves_a_small_budget_alone():
    subject = eh.Subject(salary, SPACE)
    meter = Meter(Budget(queries=400))
    settle_differs(subject, meter)
    assert meter.queries == subject.asked == 100 + 1
    poor = eh.Subject(salary, SPACE)
    settle_differs(poor, Meter(Budget(queries=20)))
    assert poor.asked == 0
    assert not poor.settled


def test_expensive_software_is_asked_less():
    subject = eh.Subject(salary, SPACE)
    subject.adapter.expensive = True
    settle_differs(subject)
    assert subject.asked == ASKED_EXPENSIVE + 1


def test_the_scale_of_an_earlier_result_is_taken_over():
    before = OutcomeScale.of(np.linspace(0, 100, 101), "all inputs")
    subject = eh.Subject(salary, SPACE)
    take_over(subject, {"differs": {"": before.to_dict()}})
    assert subject.differs == before.differs
    named = eh.Subject(salary, SPACE, differs=7.0)
    take_over(named, {"differs": {"": before.to_dict()}})
    assert named.differs == 7.0


@pytest.mark.parametrize("verb", [eh.measure, eh.search])
def test_verbs_tell_the_threshold_and_use_it(verb):
    near = eh.Subject(lambda people: salary(people) - 1800 * (people["sex"] == "M"), SPACE)
    far = eh.Subject(salary, SPACE)
    small = verb(near)
    large = verb(far)
    assert small.worst.estimate.value == 0
    assert large.worst.estimate.value > 0
    value = large.details["differs"][""]["value"]
    assert any(f"further apart than {value:,.0f}" in note for note in large.notes)
    case = large.worst.cases[0]
    assert abs(case.outcomes[0] - case.outcomes[1]) > value
    assert "2,000" in str(case) or "2,001" in str(case)


def test_a_replay_asks_by_the_threshold_of_the_result(tmp_path):
    file = tmp_path / "found.json"
    found = eh.measure(eh.Subject(salary, SPACE))
    found.to_json(file)

    def narrower(people):
        """Answers in a narrower spread, whose own threshold the old gap would still exceed."""
        return salary(people) / 5

    replayed = eh.replay(file, eh.Subject(narrower, SPACE))
    assert replayed.worst.estimate.value == 0
    assert eh.replay(file, eh.Subject(salary, SPACE)).worst.estimate.value == 1


def test_the_spread_is_that_of_the_rows_which_a_space_remembers():
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], 4000),
            "rate": rng.random(4000),
        }
    )
    # All but a few rows are close together, as uniform inputs are not.
    people.loc[people.index > 20, "rate"] = 0.5 + people["rate"] / 100
    space = eh.Space.from_frame(people, protected=["sex"])
    subject = eh.Subject(lambda frame: 100 * frame["rate"], space)
    settle_differs(subject)
    scale = scale_of(subject)
    assert scale.spread == pytest.approx(0.5, rel=0.2)
    assert "4,000" in scale.population
    forgetful = eh.Subject(lambda frame: 100 * frame["rate"], space.remembering(None))
    settle_differs(forgetful)
    assert scale_of(forgetful).spread == pytest.approx(50, rel=0.2)


# Thresholds and scales, number by number


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (123.4, 120.0),
        (0.01234, 0.012),
        (99.6, 100.0),
        (10.0, 10.0),
        (9.96, 10.0),
        (1.0, 1.0),
        (-123.4, -120.0),
        (0.0, 0.0),
        (np.inf, 0.0),
        (np.nan, 0.0),
    ],
)
def test_a_threshold_has_two_figures(value, expected):
    assert rounded(value) == expected


def test_the_spread_is_from_the_first_quartile_to_the_third():
    assert spread_of(np.arange(101.0)) == 50.0
    assert spread_of(np.array([5.0])) == 0.0
    assert spread_of(np.array([])) == 0.0
    assert spread_of(np.array([0.0, 100.0, np.inf, np.nan, -np.inf])) == 50.0
    assert spread_of(np.array([0, 4], dtype=np.int64)) == 2.0


def test_a_scale_is_a_twentieth_of_the_spread():
    scale = OutcomeScale.of(np.arange(101.0), "all inputs")
    assert scale == OutcomeScale(2.5, 50.0, 101, "all inputs", 0.05)
    assert scale.to_dict() == {
        "value": 2.5,
        "share": 0.05,
        "spread": 50.0,
        "n": 101,
        "population": "all inputs",
    }
    assert OutcomeScale.from_dict(scale.to_dict()) == scale
    other = OutcomeScale(1.0, 10.0, 3, "rows", 0.1)
    assert OutcomeScale.from_dict(other.to_dict()) == other


def test_a_scale_in_words():
    scale = OutcomeScale.of(np.arange(101.0), "all inputs")
    expected = "differ if they are further apart than 2.5 (5 % of their spread, 50)"
    assert scale.sentence() == f"outcomes {expected}"
    assert scale.sentence("rate") == f"outcomes of rate {expected}"
    same = OutcomeScale.of(np.zeros(5), "all inputs")
    words = (
        "differ if they are not equal, since the middle half of them are the same number"
    )
    assert same.sentence("rate") == f"outcomes of rate {words}"


FRACTIONS = np.arange(20) + 0.5


@pytest.mark.parametrize(
    ("numbers", "outcomes", "expected"),
    [
        (False, FRACTIONS, True),
        (False, FRACTIONS[:19], False),
        (False, np.arange(50.0), False),
        (False, np.array([*range(49), 0.5]), True),
        (False, np.arange(50), False),
        (True, np.arange(3), True),
        (True, np.array([1.0]), True),
        (True, np.array([1], dtype=np.uint8), True),
        (True, np.array(["a"]), False),
        (True, np.array([True]), False),
        (False, np.repeat(FRACTIONS[:10], 5), False),
    ],
)
def test_numbers_on_a_scale_are_not_taken_for_labels(numbers, outcomes, expected):
    assert on_scale(Meaning("loan", numbers=numbers), outcomes) is expected


def pair(**options: Any) -> eh.Subject:
    def loan(people: Any) -> Any:
        return {
            "granted": people["age"] > 30,
            "pay": salary(people),
            "limit": salary(people),
        }

    return eh.Subject(loan, SPACE, outputs=["granted", "pay", "limit"], **options)


def test_scales_of_a_subject_are_listed_by_output():
    subject = pair(differs={"limit": 3.0})
    assert notes_of(subject) == []
    assert details_of(subject) == {}
    scale = OutcomeScale.of(np.arange(101.0), "all inputs")
    take_over(subject, {"differs": {"pay": scale.to_dict(), "gone": scale.to_dict()}})
    assert notes_of(subject) == [scale.sentence("pay")]
    assert details_of(subject) == {"differs": {"pay": scale.to_dict()}}
    # What the user says of one output stays beside it.
    assert subject.differs == {"limit": 3.0, "pay": 2.5}
    assert subject.meanings["pay"].differs == 2.5
    assert subject.meanings["granted"].scale is None
    take_over(subject, {"differs": {"limit": scale.to_dict()}})
    assert subject.meanings["limit"].differs == 3.0
    take_over(subject, {})
    assert subject.differs == {"limit": 3.0, "pay": 2.5}


def test_a_scale_of_several_outputs_is_kept_by_name():
    subject = pair()
    subject.put_on_scale("pay", OutcomeScale(2.5, 50.0, 101, "all inputs"))
    assert subject.differs == {"pay": 2.5}
    single = eh.Subject(salary, SPACE)
    single.put_on_scale("", OutcomeScale(2.5, 50.0, 101, "all inputs"))
    assert single.differs == 2.5
