"""What is remembered, and from when on."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from evenhand.subject import memo as module
from evenhand.subject.ledger import Ledger
from evenhand.subject.memo import (
    INPUTS_TO_TELL,
    SECONDS_TO_TELL,
    WORTH_REMEMBERING,
    Memo,
    Occasions,
)


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


def test_every_asking_has_a_number_of_its_own_from_the_third():
    occasions = Occasions()
    assert occasions.keys([b"a", b"a"]) == [b"again:3:a", b"again:4:a"]
    assert occasions.keys([b"b", b"a"]) == [b"again:3:b", b"again:5:a"]
    assert Occasions().keys([b"a"]) == [b"again:3:a"]


def test_what_a_call_tells_begins_at_a_tenth_of_a_second_or_some_thousand_inputs():
    assert (SECONDS_TO_TELL, INPUTS_TO_TELL, WORTH_REMEMBERING) == (0.1, 4096, 2e-5)
    for seconds, asked, is_on in (
        (0.1, 1, True),
        (0.099, 4095, False),
        (0.099, 4096, True),
    ):
        memo = Memo(wanted=None, expensive=False)
        memo.observe(0.0, 1)
        memo.observe(seconds, asked)
        assert memo.on is is_on


def test_four_million_answers_are_remembered():
    assert module.MOST_REMEMBERED == 4_000_000


def test_what_a_ledger_knows_is_checked_and_remembered(tmp_path):
    checked: list[Any] = []
    with Ledger(tmp_path / "a.db", space="s", subject="m") as ledger:
        ledger.record([b"a", b"b"], [1, 2])
        memo = Memo(wanted=True, expensive=False)
        memo.add({b"c": 3})
        recalled = memo.recall([b"d", b"a", b"c", b"d"], ledger, checked.append)
        assert recalled.unknown == [b"d"]
        assert recalled.fresh == {b"a": 1}
        assert checked == [{b"a": 1}]
        assert memo.answers == {b"a": 1, b"c": 3}
        recalled.add({b"d": 4})
        assert recalled.answers == [4, 1, 3, 4]
        assert memo.answers[b"d"] == 4
        # What memory knows is looked up nowhere, and nothing is nothing to check.
        assert memo.recall([b"a"], ledger, checked.append).unknown == []
        assert memo.recall([b"e"], ledger, checked.append).unknown == [b"e"]
        assert len(checked) == 1
        assert memo.recall([b"b"], ledger).answers == [2]


def test_without_a_memory_a_ledger_still_answers(tmp_path):
    with Ledger(tmp_path / "a.db", space="s", subject="m") as ledger:
        ledger.record([b"a"], [1])
        memo = Memo(wanted=False, expensive=False)
        recalled = memo.recall([b"a", b"b"], ledger)
        assert recalled.unknown == [b"b"]
        recalled.add({b"b": 2})
        assert recalled.answers == [1, 2]
        assert memo.answers == {}
