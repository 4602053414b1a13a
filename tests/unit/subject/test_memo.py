"""What is remembered, and from when on."""

from __future__ import annotations

import pickle

import pytest

from evenhand.subject import memo as module
from evenhand.subject.memo import INPUTS_TO_TELL, SECONDS_TO_TELL, WORTH_REMEMBERING, Memo


@pytest.mark.parametrize(
    ("wanted", "expensive", "is_on"),
    [
        (None, False, False),
        (None, True, True),
        (True, False, True),
        (False, True, False),
    ],
)
def test_who_asks_for_it_or_pays_much_has_a_memory(wanted, expensive, is_on):
    memo = Memo(wanted=wanted, expensive=expensive)
    assert memo.on == is_on
    memo.add({b"a": 1})
    assert memo.answers == ({b"a": 1} if is_on else {})


def test_the_second_call_that_tells_enough_decides():
    slow = SECONDS_TO_TELL, 1
    quick = SECONDS_TO_TELL / 2, INPUTS_TO_TELL - 1
    memo = Memo(wanted=None, expensive=False)
    memo.observe(*slow)
    assert not memo.on
    memo.observe(*quick)
    assert not memo.on
    memo.observe(*slow)
    assert memo.on
    # It is decided once.
    memo.observe(0.0, 10**6)
    assert memo.on


@pytest.mark.parametrize(("factor", "is_on"), [(1.01, True), (1.0, False), (0.5, False)])
def test_what_costs_more_than_looking_up_is_remembered(factor, is_on):
    memo = Memo(wanted=None, expensive=False)
    memo.observe(0.0, 1)
    memo.observe(factor * WORTH_REMEMBERING * INPUTS_TO_TELL, INPUTS_TO_TELL)
    assert memo.on == is_on


def test_who_decided_beforehand_is_not_overruled():
    memo = Memo(wanted=False, expensive=False)
    for _ in range(3):
        memo.observe(100.0, 1)
    assert not memo.on


def test_there_is_room_for_so_many_answers(monkeypatch):
    monkeypatch.setattr(module, "MOST_REMEMBERED", 3)
    memo = Memo(wanted=True, expensive=False)
    memo.add({b"a": 1, b"b": 2})
    memo.add({b"c": 3, b"d": 4})
    assert sorted(memo.answers) == [b"a", b"b"]
    memo.add({b"c": 3})
    assert sorted(memo.answers) == [b"a", b"b", b"c"]
    recalled = memo.recall([b"d", b"a", b"d"], None)
    assert recalled.unknown == [b"d"]
    recalled.add({b"d": 4})
    assert recalled.answers == [4, 1, 4]


def test_workers_get_no_answers():
    memo = Memo(wanted=True, expensive=False)
    memo.add({b"a": 1})
    copy = pickle.loads(pickle.dumps(memo))
    assert copy.answers == {}
    assert copy.on
    assert memo.answers == {b"a": 1}
