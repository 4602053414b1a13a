"""How the work is divided: how much is claimed, asked and waited for at a time."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from evenhand.runtime.errors import BadOutcome
from evenhand.subject.ledger.claims import Claims
from evenhand.subject.ledger.ledger import Ledger
from evenhand.subject.ledger.sharing import Sharing, asked_at_once

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "a.db", space="s", subject="m") as opened:
        yield opened


class CountedSoftware:
    """Answers 1 to everything, and keeps what it was asked."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = ledger
        self.asked: list[list[bytes]] = []

    def __call__(self, keys: list[bytes]) -> Iterator[dict[bytes, Any]]:
        self.asked.append(keys)
        if self.ledger is not None:
            self.ledger.record(keys, [1] * len(keys))
        yield dict.fromkeys(keys, 1)


def keys_of(count: int) -> list[bytes]:
    return [b"%04d" % number for number in range(count)]


def answered(
    sharing: Sharing, keys: list[bytes], software: CountedSoftware
) -> dict[bytes, Any]:
    found: dict[bytes, Any] = {}
    for part in sharing.answers(keys, software):
        assert not found.keys() & part.keys()
        found.update(part)
    return found


def test_without_a_ledger_so_many_are_asked_at_once():
    software = CountedSoftware()
    sharing = Sharing(None, expensive=True, most=2)
    assert answered(sharing, keys_of(5), software) == dict.fromkeys(keys_of(5), 1)
    keys = keys_of(5)
    assert software.asked == [keys[:2], keys[2:4], keys[4:]]
    assert not sharing.claims
    assert answered(sharing, [], software) == {}
    assert len(software.asked) == 3


def test_expensive_software_claims_sixty_four_as_long_as_nobody_knows_what_they_cost(
    ledger,
):
    software = CountedSoftware(ledger)
    sharing = Sharing(ledger, expensive=True)
    assert sharing.claims
    assert answered(sharing, keys_of(100), software) == dict.fromkeys(keys_of(100), 1)
    assert len(software.asked[0]) == 64
    assert sum(map(len, software.asked)) == 100


@pytest.mark.parametrize(
    ("least", "most", "first"), [(1, 10, 10), (70, 1000, 70), (1, 64, 64)]
)
def test_what_is_claimed_lies_between_what_keeps_software_busy_and_what_it_takes(
    ledger, least, most, first
):
    software = CountedSoftware(ledger)
    sharing = Sharing(ledger, expensive=True, least=least, most=most)
    answered(sharing, keys_of(100), software)
    assert len(software.asked[0]) == first


@pytest.mark.parametrize(
    ("seconds", "asked", "size"),
    [
        (1.0, 1, 2),
        (0.5, 1, 4),
        (0.1, 100, 2000),
        (0.2, 1000, 10_000),
        (0.0, 1000, 10_000),
        (10.0, 1, 1),
    ],
)
def test_two_seconds_of_work_are_claimed_at_a_time(ledger, seconds, asked, size):
    sharing = Sharing(ledger, expensive=True)
    sharing._observe(seconds, asked)
    assert sharing._size == size


def test_answers_are_worth_claiming_from_a_fifth_of_a_millisecond(ledger):
    sharing = Sharing(ledger, expensive=True)
    sharing._observe(0.2, 1000)
    assert sharing.claims
    sharing._observe(0.1999, 1000)
    assert not sharing.claims
    alone = Sharing(None, expensive=True)
    alone._observe(1.0, 1)
    assert not alone.claims


def test_a_first_call_and_a_short_one_tell_nothing_of_software_in_this_process(ledger):
    sharing = Sharing(ledger, expensive=False)
    assert sharing.claims, "as long as nobody knows"
    sharing._observe(0.0, 10_000)  # the first one pays for imports
    assert sharing.claims
    sharing._observe(0.00004, 10)
    assert sharing.claims
    sharing._observe(0.1, 4086)
    assert not sharing.claims
    sharing._observe(0.0999, 10)
    assert not sharing.claims
    sharing._observe(0.0001, 10)
    assert sharing.claims, "short calls tell together"
    sharing._observe(0.0999, 4096)
    assert not sharing.claims, "so many inputs tell as well"


def test_a_short_call_tells_of_expensive_software_at_once(ledger):
    sharing = Sharing(ledger, expensive=True)
    sharing._observe(0.0, 10)
    assert not sharing.claims


def test_more_is_claimed_each_time_until_software_turns_out_to_be_cheap(ledger):
    software = CountedSoftware(ledger)
    sharing = Sharing(ledger, expensive=False, most=9000)
    keys = [b"%06d" % number for number in range(30_000)]
    assert answered(sharing, keys, software) == dict.fromkeys(keys, 1)
    sizes = [len(asked) for asked in software.asked]
    # The first tells nothing, and after 4,096 more it is known.
    assert sizes == [64, 256, 1280, 6400, 9000, 9000, 4000]
    assert not sharing.claims


def test_slow_software_claims_from_the_first_input_on(ledger):
    software = CountedSoftware(ledger)
    sharing = Sharing(ledger, expensive=False)

    def slowly(keys: list[bytes]) -> Any:
        yield from software(keys)
        time.sleep(0.0005 * len(keys))

    with Claims(ledger) as other:
        keys = [b"%06d" % number for number in range(700)]
        assert other.take(keys[:10], 10).mine == keys[:10]
        ledger.record(keys[:10], ["theirs"] * 10)
        found: dict[bytes, Any] = {}
        for part in sharing.answers(keys, slowly):
            found.update(part)
    assert sharing.claims
    assert found == dict.fromkeys(keys, 1) | dict.fromkeys(keys[:10], "theirs")
    assert [len(asked) for asked in software.asked] == [64, 256, 370]


def test_software_that_turns_out_to_be_slow_is_claimed_again(ledger):
    software = CountedSoftware(ledger)
    sharing = Sharing(ledger, expensive=False, most=4)
    sharing._pace = 0.0
    paces = iter([0.0, 1.0])

    def slowly(keys: list[bytes]) -> Any:
        yield from software(keys)
        sharing._pace = next(paces, 1.0)

    found: dict[bytes, Any] = {}
    for part in sharing.answers(keys_of(12), slowly):
        found.update(part)
    assert found == dict.fromkeys(keys_of(12), 1)
    # Four and four without a claim, and then two seconds' worth at a second each.
    assert [len(asked) for asked in software.asked] == [4, 4, 2, 2]


def test_what_is_known_is_checked_and_not_asked(ledger):
    keys = keys_of(6)
    ledger.record(keys[1:3], ["a", "b"])
    seen: list[Any] = []
    software = CountedSoftware(ledger)
    sharing = Sharing(ledger, expensive=True, check=seen.append)
    found = answered(sharing, keys, software)
    assert found == {keys[1]: "a", keys[2]: "b"} | dict.fromkeys([keys[0], *keys[3:]], 1)
    assert seen == [{keys[1]: "a", keys[2]: "b"}]
    assert software.asked == [[keys[0], *keys[3:]]]

    def refuse(_: Any) -> None:
        raise BadOutcome("no answer")

    strict = Sharing(ledger, expensive=True, check=refuse)
    with pytest.raises(BadOutcome):
        answered(strict, keys, software)


def test_others_are_waited_for_ever_longer_and_then_as_often(ledger, monkeypatch):
    keys = keys_of(3)
    waits: list[float] = []
    software = CountedSoftware(ledger)
    with Claims(ledger) as other:
        assert other.take(keys, 3).mine == keys

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 7:
                ledger.record(keys[:1], ["theirs"])
            if len(waits) == 9:
                ledger.record(keys[1:], ["theirs", "theirs"])

        monkeypatch.setattr("evenhand.subject.ledger.sharing.time.sleep", wait)
        found = answered(Sharing(ledger, expensive=True), keys, software)
    assert found == dict.fromkeys(keys, "theirs")
    assert software.asked == []
    # After some progress it is looked at again at once, and soon.
    assert waits == [0.01, 0.02, 0.04, 0.08, 0.16, 0.2, 0.2, 0.01, 0.02]


def test_what_others_leave_is_run_here(ledger, monkeypatch):
    keys = keys_of(4)
    software = CountedSoftware(ledger)
    other = Claims(ledger)
    assert other.take(keys[:2], 2).mine == keys[:2]
    monkeypatch.setattr(
        "evenhand.subject.ledger.sharing.time.sleep", lambda _: other.__exit__()
    )
    found = answered(Sharing(ledger, expensive=True), keys, software)
    assert found == dict.fromkeys(keys, 1)
    assert software.asked == [keys[2:], keys[:2]]


def test_answers_that_come_one_by_one_are_signs_of_life(ledger, monkeypatch):
    beats: list[int] = []
    monkeypatch.setattr(Claims, "beat", lambda self: beats.append(1))

    def one_by_one(keys: list[bytes]) -> Any:
        for key in keys:
            ledger.record([key], [1])
            yield {key: 1}

    sharing = Sharing(ledger, expensive=True)
    assert len(list(sharing.answers(keys_of(3), one_by_one))) == 3
    assert len(beats) == 3


def test_only_software_that_is_stopped_where_it_hangs_gives_signs_of_life_meanwhile(
    ledger, monkeypatch
):
    beating: list[int] = []

    def note(self: Claims) -> Any:
        beating.append(1)
        return nullcontext()

    monkeypatch.setattr(Claims, "beating", note)
    workers: Any = Workers()
    answered(
        Sharing.of(workers, ledger, most=9, check=print), keys_of(3), CountedSoftware()
    )
    assert beating == [1]
    concurrent: Any = Concurrent()
    sharing = Sharing.of(concurrent, ledger, most=9, check=print)
    answered(sharing, keys_of(3), CountedSoftware())
    assert beating == [1]


class Workers:
    timeout = 30.0
    workers = 3
    concurrency = 7
    expensive = True


class Concurrent:
    concurrency = 5
    expensive = False


def test_software_is_kept_busy_by_four_inputs_for_each_worker(ledger):
    workers: Any = Workers()
    concurrent: Any = Concurrent()
    alone: Any = object()
    assert asked_at_once(workers) == 12
    assert asked_at_once(concurrent) == 20
    assert asked_at_once(alone) == 4
    sharing = Sharing.of(workers, ledger, most=1000, check=print)
    sharing._observe(10.0, 1)
    assert sharing._size == 12
    assert Sharing.of(workers, ledger, most=1000, check=print).claims
