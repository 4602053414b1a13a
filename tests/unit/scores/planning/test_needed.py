"""needed: how many inputs a question takes."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.runtime.errors import UsageError
from evenhand.scores.planning.needed import needed
from tests.support.helpers import refused


def test_the_rate_of_one_half_takes_most():
    most = needed(0.95, 0.05)
    assert most > needed(0.95, 0.05, 0.1) > needed(0.95, 0.05, 0.0)
    assert needed(0.95, 0.01) == pytest.approx(25 * most, rel=0.1)


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_the_nearer_to_the_limit_the_more(kind):
    scores = [0.0, 0.02, 0.04, 0.08, 0.3]
    taken = [needed(p=p, limit=0.06, kind=kind, expensive=True) for p in scores]
    assert taken[0] < taken[1] < taken[2]
    assert taken[3] > taken[4]


def test_expensive_software_is_asked_until_decided_and_no_further():
    assert needed(p=0.5, limit=0.1, expensive=True) < 30
    assert needed(p=0.5, limit=0.1) > 100


def test_a_finer_margin_takes_more_and_a_limit_alone_sets_one():
    assert needed(margin=0.02, p=0.3) > 4 * needed(margin=0.05, p=0.3)
    # Expensive software next to a limit is asked until a fifth of it is known.
    assert needed(p=0.05, limit=0.05, expensive=True) > needed(p=0.05, expensive=True)


def test_groups_are_all_counted():
    of_two = needed(p=0.0, limit=0.1, kind="group")
    assert needed(p=0.0, limit=0.1, kind="group", groups=6) == 3 * of_two


def test_the_base_rate_matters_where_groups_have_people_of_their_own():
    even = needed(
        p=0.02,
        margin=0.1,
        kind="group",
        groups=130,
        base=0.5,
    )
    rare = needed(
        p=0.02,
        margin=0.1,
        kind="group",
        groups=130,
        base=0.02,
    )
    assert rare < even


def test_the_same_arguments_give_the_same_number():
    assert needed(p=0.03, limit=0.05) == needed(p=0.03, limit=0.05)
    group: dict[str, Any] = {"p": 0.03, "limit": 0.05, "kind": "group", "groups": 3}
    assert needed(**group) == needed(**group)


def test_what_cannot_be_is_refused():
    refused(UsageError, lambda: needed(p=1.5), "p is 1.5", "between 0 and 1")
    refused(UsageError, lambda: needed(base=-1), "base is -1")
    refused(UsageError, lambda: needed(margin=0), "margin is 0")
    refused(UsageError, lambda: needed(limit=2), "limit")
    refused(UsageError, lambda: needed(groups=1), "groups is 1")
    refused(UsageError, lambda: needed(kind="grop"), "kind is 'grop'", "'group'")


def test_two_groups_and_a_causal_score_are_meant_by_default():
    of_two = needed(
        p=0.0,
        limit=0.4,
        kind="group",
        groups=2,
        expensive=True,
    )
    assert needed(p=0.0, limit=0.4, kind="group", expensive=True) == of_two
    assert (
        needed(
            p=0.0,
            limit=0.4,
            kind="group",
            groups=3,
            expensive=True,
        )
        != of_two
    )
    causal = needed(p=0.0, limit=0.05, kind="causal", expensive=True)
    assert needed(p=0.0, limit=0.05, expensive=True) == causal == 87
    assert needed(margin=0.2, expensive=True) == needed(0.95, 0.2, 0.5, expensive=True)


def test_rates_from_nothing_to_all_are_taken():
    assert needed(p=1.0, limit=0.4, expensive=True) > 0
    for base in (0.0, 1.0):
        assert (
            needed(
                p=0.0,
                limit=0.4,
                kind="group",
                base=base,
                expensive=True,
            )
            > 0
        )
    refused(UsageError, lambda: needed(p=-0.1), "p is -0.1")
    refused(UsageError, lambda: needed(base=1.1), "base is 1.1")


def test_cheap_software_is_not_asked_for_ever(monkeypatch):
    """Next to the limit, drawing ends where no more is worth it."""
    monkeypatch.setattr("evenhand.scores.planning.needed.ENOUGH", 300)
    assert needed(p=0.1, limit=0.1, groups=2) <= 150
    assert needed(p=0.1, limit=0.1, groups=3) <= 100
    assert needed(p=0.1, limit=0.1, groups=3, kind="group") <= 300
    assert needed(p=0.1, limit=0.1, groups=2, expensive=True) > 150
    assert needed(p=0.5, margin=0.02, groups=2) > 150
