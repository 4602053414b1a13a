"""Claims on real processes: what one runs no other runs, and what a dead one claimed is free."""

from __future__ import annotations

import os
import platform
import signal
import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.runtime.errors import SubjectCrashed
from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.subject.ledger.claims import Claims, began, free_dead, has_died, host
from evenhand.subject.subject import Subject
from evenhand.texts.text_subject import TextSubject
from tests.support.ledgers import (
    connection_of,
    finished,
    go,
    program,
    started,
    started_code,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="runs shell scripts")

SPACE = Space([category("sex", ["F", "M"]), integer("age", 0, 199)], ["sex"])


def people(count: int) -> np.ndarray:
    return np.array([[age % 2, age] for age in range(count)], dtype=float)


@pytest.mark.parametrize("order", ["forwards", "backwards", "occasions"])
def test_three_processes_run_every_input_once(tmp_path, order):
    path, log = program(tmp_path)
    orders = ["forwards", order, order] if order != "occasions" else [order] * 3
    processes = [started(path, tmp_path / "a.db", one) for one in orders]
    for process in processes:
        go(process)
    found = [finished(process) for process in processes]
    runs = log.read_text().splitlines()
    assert len(runs) == len(set(runs)) == 150
    assert sum(executed for executed, _ in found) == 150
    assert found[0][1] == found[1][1] == found[2][1]
    with sqlite3.connect(tmp_path / "a.db") as connection:
        assert connection.execute("SELECT count(*) FROM claim").fetchone() == (0,)
    connection.close()


def test_what_a_killed_process_had_claimed_is_run_by_the_next_at_once(tmp_path):
    path, log = program(tmp_path, pause=0.2)
    killed = started(path, tmp_path / "a.db")
    go(killed)
    while not log.exists():
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    with sqlite3.connect(tmp_path / "a.db") as connection:
        (claims,) = connection.execute("SELECT count(*) FROM claim").fetchone()
    connection.close()
    assert claims, "the kill must come while inputs are claimed"
    quick, _ = program(tmp_path, pause=0)
    command = [quick, "{age}", "{sex}"]
    with Subject.command(
        command, SPACE, ledger=tmp_path / "a.db", identity="loan"
    ) as subject:
        waits: list[float] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("evenhand.subject.ledger.sharing.time.sleep", waits.append)
            assert len(subject.decide(people(150))) == 150
    assert waits == []


def test_a_claimant_elsewhere_is_waited_for_until_its_lease_is_over(tmp_path, monkeypatch):
    from evenhand.subject.ledger import claims

    path, _ = program(tmp_path, pause=0)
    with Subject.command(
        [path, "{age}", "{sex}"], SPACE, ledger=tmp_path / "a.db"
    ) as subject:
        keys = subject._keys(people(3))
        assert subject._ledger is not None
        with sqlite3.connect(tmp_path / "a.db") as connection:
            connection.execute("INSERT INTO claimant VALUES (7, 'elsewhere', 1, '1', 1)")
            connection.executemany(
                "INSERT INTO claim VALUES (?, 7)", [(key,) for key in keys]
            )
        connection.close()
        with claims.Claims(subject._ledger) as mine:
            assert mine.take(keys, 9).others == keys
            monkeypatch.setattr(claims, "LEASE", -1.0)
            assert mine.take(keys, 9).mine == keys
        assert subject.decide(people(3)).tolist() == ["deny"] * 3


def test_answers_are_signs_of_life(tmp_path, monkeypatch):
    from evenhand.subject.ledger import claims
    from evenhand.subject.ledger.ledger import Ledger

    def beats(path):
        with sqlite3.connect(path) as connection:
            found = connection.execute("SELECT beat FROM claimant").fetchall()
        connection.close()
        return found

    path = tmp_path / "a.db"
    with (
        Ledger(path, space="s", subject="m") as ledger,
        claims.Claims(ledger) as mine,
    ):
        mine.take([b"a", b"b"], 2)
        mine.beat()
        assert beats(path) == [(1,)], "there was a sign a moment ago"
        monkeypatch.setattr(claims, "LEASE", 0.0)
        mine.beat()
        assert beats(path) == [(2,)]


def test_a_process_that_fails_leaves_its_inputs_to_others(tmp_path):
    path = tmp_path / "loan"
    path.write_text('#!/bin/sh\nif [ "$1" = 7 ]; then exit 3; fi\necho deny\n')
    path.chmod(0o755)
    command = [str(path), "{age}", "{sex}"]
    with Subject.command(command, SPACE, ledger=tmp_path / "a.db") as subject:
        for _ in range(2):
            with pytest.raises(SubjectCrashed, match="loan"):
                subject.decide(people(20))
        with sqlite3.connect(tmp_path / "a.db") as connection:
            assert connection.execute("SELECT count(*) FROM claim").fetchone() == (0,)
            assert connection.execute("SELECT count(*) FROM claimant").fetchone() == (0,)
        connection.close()


def test_an_interrupt_ends_the_wait_for_others(tmp_path):
    path, log = program(tmp_path, pause=5)
    slow = started(path, tmp_path / "a.db", count=20)
    go(slow)
    while not log.exists():
        time.sleep(0.01)
    # The first has claimed all 20 inputs, so that this one has nothing to run.
    waiting = started(path, tmp_path / "a.db", count=20)
    go(waiting)
    time.sleep(0.5)
    waiting.send_signal(signal.SIGINT)
    _, trouble = waiting.communicate(timeout=30)
    assert "in _claimed" in trouble
    assert "KeyboardInterrupt" in trouble
    slow.kill()
    slow.communicate(timeout=30)
    assert len(log.read_text().splitlines()) == 2


def test_threads_of_one_subject_share_the_work(tmp_path):
    path, log = program(tmp_path)
    command = [path, "{age}", "{sex}"]
    with (
        Subject.command(command, SPACE, ledger=tmp_path / "a.db", memo=False) as subject,
        ThreadPoolExecutor(3) as pool,
    ):
        found = list(pool.map(lambda _: subject.decide(people(40)).tolist(), range(3)))
    runs = log.read_text().splitlines()
    assert len(runs) == len(set(runs)) == 40
    assert found[0] == found[1] == found[2]


def test_cheap_software_in_this_process_claims_nothing_once_that_is_known(tmp_path):
    subject = Subject(
        lambda frame: frame["age"] > 40, SPACE, ledger=tmp_path / "a.db", identity="cheap"
    )
    with subject:
        subject._sharing._pace = 1e-6
        statements: list[str] = []
        connection_of(subject._ledger).set_trace_callback(statements.append)
        subject.decide(people(100))
        subject.decide(people(200))
    assert statements
    assert not any("claim" in statement for statement in statements)


SLOW = """
import json, sys, time
import numpy as np
from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
ledger, log = sys.argv[1:3]
def slow(people):
    with open(log, "a") as file:
        file.writelines(f"{age}\\n" for age in people["age"])
    time.sleep(0.002 * len(people))
    return people["age"] > 40
space = Space([category("sex", ["F", "M"]), integer("age", 0, 999)], ["sex"])
points = np.array([[age % 2, age] for age in range(600)], dtype=float)
with Subject(slow, space, ledger=ledger, identity="slow") as subject:
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps([subject.executed, subject.decide(points).tolist(), subject.executed]))
"""


def test_two_processes_ask_a_slow_function_once_from_the_first_input_on(tmp_path):
    log = tmp_path / "asked"
    processes = [started_code(SLOW, tmp_path / "a.db", log) for _ in range(2)]
    for process in processes:
        go(process)
    found = [finished(process) for process in processes]
    asked = log.read_text().splitlines()
    assert len(asked) == len(set(asked)) == 600
    assert [executed for *_, executed in found] == [600 - found[1][2], found[1][2]]
    assert all(executed for *_, executed in found)
    assert found[0][1] == found[1][1]


def test_texts_are_claimed_as_well(tmp_path):
    asked: list[str] = []
    lock = threading.Lock()

    def slow(texts):
        with lock:
            asked.extend(texts)
        time.sleep(0.005 * len(texts))
        return [len(text) % 2 == 0 for text in texts]

    texts = ["x" * length for length in range(1, 80)]
    options: dict[str, Any] = {
        "ledger": tmp_path / "a.db",
        "identity": "slow",
        "memo": False,
    }
    with TextSubject(slow, **options) as one, TextSubject(slow, **options) as other:
        for subject in (one, other):  # each learns that an answer takes long
            subject.decide([f"first of {id(subject)}"])
            subject.decide([f"{number} of {id(subject)}" for number in range(30)])
        asked.clear()
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda s: s.decide(texts).tolist(), (one, other)))
    assert found[0] == found[1]
    assert sorted(asked) == sorted(texts)


# One claimant beside another, with a clock that stands still


class StandingClock:
    """Time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    from evenhand.subject.ledger import claims

    made = StandingClock()
    monkeypatch.setattr(claims, "time", made)
    return made


@pytest.fixture
def shared(tmp_path):
    from evenhand.subject.ledger.ledger import Ledger

    with Ledger(tmp_path / "a.db", space="s", subject="m") as ledger:
        yield ledger


def rows_of(ledger: Any, query: str) -> list[Any]:
    return list(connection_of(ledger).execute(query).fetchall())


def test_what_is_known_is_passed_over_and_what_follows_is_claimed(shared):
    shared.record([b"b", b"d"], ["yes", "no"])
    with Claims(shared) as mine:
        taken = mine.take([b"b", b"a", b"d", b"c"], 9)
        assert taken.known == {b"b": "yes", b"d": "no"}
        assert taken.mine == [b"a", b"c"]
        assert taken.others == []
        assert taken.looked_at == 4
        few = mine.take([b"b", b"a", b"d", b"c"], 1)
        assert few.mine == [b"a"]
        assert few.looked_at == 2
        assert mine.take([b"a"], 0).looked_at == 0


def test_what_others_have_claimed_is_left_to_them(shared):
    with Claims(shared) as first, Claims(shared) as second:
        assert first.take([b"a", b"b"], 2).mine == [b"a", b"b"]
        taken = second.take([b"a", b"c", b"b", b"d"], 2)
        assert taken.others == [b"a", b"b"]
        assert taken.mine == [b"c", b"d"]
        assert taken.looked_at == 4
        # A claim ends with the next one of the same claimant.
        assert first.take([b"e"], 1).mine == [b"e"]
        assert second.take([b"a", b"b"], 2).mine == [b"a", b"b"]
    assert rows_of(shared, "SELECT * FROM claim") == []
    assert rows_of(shared, "SELECT * FROM claimant") == []


def test_more_claims_than_one_statement_takes_are_found(shared):
    keys = [b"%05d" % number for number in range(1850)]
    with Claims(shared) as first, Claims(shared) as second:
        assert first.take(keys, 1850).mine == keys
        taken = second.take(keys, 1850)
        assert taken.mine == []
        assert taken.others == keys


def test_a_claimant_signs_with_its_process(shared):
    with Claims(shared) as mine:
        mine.take([b"a"], 1)
        (row,) = rows_of(shared, "SELECT host, pid, began, beat FROM claimant")
        assert row == (host(), os.getpid(), began(os.getpid()), 1)
        mine.take([b"a"], 1)
        assert rows_of(shared, "SELECT beat FROM claimant") == [(2,)]
        assert len(rows_of(shared, "SELECT * FROM claim")) == 1


def test_claims_of_a_parent_are_not_ended_by_its_child(shared):
    mine = Claims(shared)
    mine.take([b"a"], 1)
    mine._pid += 1  # as if this were another process
    mine.__exit__()
    assert len(rows_of(shared, "SELECT * FROM claim")) == 1
    mine._pid -= 1
    mine.__exit__()
    assert rows_of(shared, "SELECT * FROM claim") == []


def test_nothing_is_written_for_a_claimant_that_took_nothing(shared):
    statements: list[str] = []
    connection_of(shared).set_trace_callback(statements.append)
    with Claims(shared):
        pass
    assert statements == []


def test_a_sign_of_life_is_due_after_an_eighth_of_the_lease(shared, clock):
    with Claims(shared) as mine:
        mine.take([b"a"], 1)
        clock.now += 14.5
        mine.beat()
        assert rows_of(shared, "SELECT beat FROM claimant") == [(1,)]
        clock.now += 0.5
        mine.beat()
        assert rows_of(shared, "SELECT beat FROM claimant") == [(2,)]
        clock.now += 14.5
        mine.beat()
        assert rows_of(shared, "SELECT beat FROM claimant") == [(2,)]


def test_signs_of_life_go_on_while_an_answer_is_late(shared, monkeypatch):
    from evenhand.subject.ledger import claims

    monkeypatch.setattr(claims, "LEASE", 0.4)
    monkeypatch.setattr(claims, "LEAST_PAUSE", 0.05)
    with Claims(shared) as mine:
        mine.take([b"a"], 1)
        with mine.beating():
            time.sleep(0.5)
        ((beats,),) = rows_of(shared, "SELECT beat FROM claimant")
        assert beats >= 3
        time.sleep(0.2)
        assert rows_of(shared, "SELECT beat FROM claimant") == [(beats,)]


def claimed_elsewhere(ledger: Any, beat: int) -> None:
    connection = connection_of(ledger)
    connection.execute(
        "INSERT OR REPLACE INTO claimant VALUES (7, 'elsewhere', 1, '1', ?)", [beat]
    )
    connection.execute("INSERT OR REPLACE INTO claim VALUES (?, 7)", [b"a"])


def test_a_lease_is_over_after_two_minutes_without_a_sign_of_life(shared, clock):
    claimed_elsewhere(shared, 1)
    with Claims(shared) as mine:
        assert mine.take([b"a"], 1).others == [b"a"]
        clock.now += 120
        assert mine.take([b"a"], 1).others == [b"a"]
        clock.now += 1
        assert mine.take([b"a"], 1).mine == [b"a"]
    assert rows_of(shared, "SELECT * FROM claimant") == []


def test_a_sign_of_life_begins_a_lease_anew(shared, clock):
    claimed_elsewhere(shared, 1)
    with Claims(shared) as mine:
        mine.take([b"a"], 1)
        clock.now += 100
        claimed_elsewhere(shared, 2)
        assert mine.take([b"a"], 1).others == [b"a"]
        clock.now += 120
        assert mine.take([b"a"], 1).others == [b"a"]
        clock.now += 1
        assert mine.take([b"a"], 1).mine == [b"a"]


PROCESSES = Path("/proc")
lists_processes = pytest.mark.skipif(
    not (PROCESSES / "self/stat").exists(), reason="the system lists no processes"
)


def gone_process() -> int:
    """Return the number of a process that has ended."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    return ended.pid


def test_claims_of_the_dead_are_freed_and_no_others(shared):
    claimed_elsewhere(shared, 1)
    connection = connection_of(shared)
    dead = (8, host(), gone_process(), "1", 1)
    connection.execute("INSERT INTO claimant VALUES (?, ?, ?, ?, ?)", dead)
    connection.executemany(
        "INSERT INTO claim VALUES (?, ?)", [(b"b", 8), (b"c", 9), (b"d", 8)]
    )
    shared.store.change(free_dead)
    assert rows_of(shared, "SELECT key, claimant FROM claim") == [(b"a", 7)]
    assert rows_of(shared, "SELECT id FROM claimant") == [(7,)]


@lists_processes
def test_a_process_is_known_by_its_number_and_when_it_began():
    own = os.getpid()
    since = began(own)
    assert since is not None
    fields = (PROCESSES / "self/stat").read_text().rpartition(")")[2].split()
    # The 22nd field, of which the first two stand before the bracket.
    assert since == fields[19]
    assert has_died(host(), own, since) is False
    assert has_died(host(), own, str(int(since) + 1)) is True
    assert has_died("elsewhere", own, "0") is False
    assert has_died(host(), "no number", since) is False
    assert has_died(host(), gone_process(), since) is True
    assert began(gone_process()) is None


@lists_processes
def test_a_process_that_nobody_has_looked_after_has_ended():
    ended = subprocess.Popen(["true"])
    for _ in range(500):
        if began(ended.pid) is None:
            break
        time.sleep(0.01)
    assert began(ended.pid) is None
    ended.wait()


def test_without_a_list_of_processes_a_signal_tells_who_lives(monkeypatch, tmp_path):
    from evenhand.subject.ledger import claims

    here = host()
    monkeypatch.setattr(claims, "_PROCESSES", tmp_path)
    assert has_died(here, os.getpid(), "") is False
    assert has_died(here, gone_process(), "") is True
    assert has_died(here, 2**70, "") is True


@lists_processes
def test_a_host_is_known_by_its_name_its_start_and_its_container():
    name, boot, space = host().split(" ")
    assert name == platform.node()
    assert boot == (PROCESSES / "sys/kernel/random/boot_id").read_text().strip()
    assert space == str((PROCESSES / "self/ns/pid").readlink())
