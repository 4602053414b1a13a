"""Who of a wave is asked a second time: some people, and both sides of a hit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.runtime.errors import NotDeterministic
from evenhand.scores.chance.again import asked_again
from evenhand.scores.chance.watch import AskedTwice, Watch
from evenhand.subject.view import View

SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("id", 0, 9)], protected=["sex"]
)
WOMEN = np.asfortranarray([[0.0, float(number)] for number in range(4)])
MEN = np.asfortranarray([[1.0, float(number)] for number in range(4)])


class ChangedSex:
    """Software that answers one sex in another way from some moment on."""

    def __init__(self, sex: str) -> None:
        self.sex = sex
        self.has_changed = False

    def __call__(self, people: Any) -> Any:
        of_sex = people["sex"] == self.sex
        return (people["sex"] == "F") ^ (of_sex & self.has_changed)


def asked(decide: Any, hits: list[int], *, start: int = 0, first: int = 15) -> Any:
    """Return how many inputs of each of four women were asked again."""
    subject = eh.Subject(decide, SPACE)
    subject.watch = Watch(subject, AskedTwice(subject), first, 100)
    people = WOMEN, subject.decide(WOMEN)
    # The twin of each woman is the man who stands opposite her in the other direction.
    others = MEN, subject.decide(MEN), np.array([3, 2, 1, 0])
    if isinstance(decide, ChangedSex):
        decide.has_changed = True
    return asked_again(
        View(subject),
        start,
        np.array(hits),
        people,
        others,
    ).tolist()


def women_first(people: Any) -> Any:
    return people["sex"] == "F"


def test_two_inputs_of_each_hit_and_one_of_each_draw_are_asked():
    assert asked(women_first, [0, 1, 0, 1]) == [0, 2, 0, 2]
    assert asked(women_first, [0, 1, 0, 1], first=2) == [0, 2, 1, 2]
    assert asked(women_first, [0, 0, 0, 1], start=16, first=3) == [0, 0, 0, 3]
    assert asked(women_first, [0, 0, 0, 0]) == [0, 0, 0, 0]


@pytest.mark.parametrize("sex", ["F", "M"])
def test_a_hit_is_confirmed_on_both_sides(sex):
    with pytest.raises(NotDeterministic):
        asked(ChangedSex(sex), [0, 1, 0, 0])
    # Nobody is asked again where nobody is a hit.
    assert asked(ChangedSex(sex), [0, 0, 0, 0]) == [0, 0, 0, 0]


def test_the_twin_that_is_confirmed_is_the_one_at_its_place():
    seen = []

    def decide(people: Any) -> Any:
        seen.append(people[["sex", "id"]].to_numpy().tolist())
        return people["sex"] == "F"

    asked(decide, [1, 0, 0, 0])
    assert seen[2:] == [[["F", 0]], [["M", 3]]]


def test_without_a_watch_nothing_is_asked():
    subject = eh.Subject(women_first, SPACE)
    people = WOMEN, subject.decide(WOMEN)
    others = MEN, subject.decide(MEN), np.arange(4)
    found = asked_again(
        View(subject),
        0,
        np.ones(4),
        people,
        others,
    )
    assert found.tolist() == [0, 0, 0, 0]
    assert subject.asked == 8


def test_who_is_not_asked_again_is_not_counted():
    subject = eh.Subject(women_first, SPACE)
    twice = AskedTwice(subject)
    subject.watch = Watch(subject, twice, 15, 100)
    people = WOMEN, subject.decide(WOMEN)
    others = MEN, subject.decide(MEN), np.arange(4)
    asked_again(
        View(subject),
        0,
        np.zeros(4),
        people,
        others,
    )
    assert twice.pairs == {}
    assert subject.asked == 8
    asked_again(
        View(subject),
        12,
        np.zeros(4),
        people,
        others,
    )
    assert twice.pairs == {"": 1}
    # Hits were chosen for their answers, and tell no rate.
    asked_again(
        View(subject),
        0,
        np.ones(4),
        people,
        others,
    )
    assert twice.pairs == {"": 1}
    assert subject.asked == 8 + 1 + 8
