from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pickle
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import BadOutcome, LedgerError
from evenhand.subject.ledger import Ledger
from tests.support.helpers import examples
from tests.support.ledgers import connection_of
from tests.support.paths import ROOT

SOURCE = ROOT / "src"

needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX processes")


def opened(
    path: str | Path,
    *,
    space: str = "space-1",
    subject: str = "model-1",
    timeout: float = 30.0,
) -> Ledger:
    return Ledger(path, space=space, subject=subject, timeout=timeout)


def script(code: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start a real Python process that has the package on its path."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(LedgerError) as caught:
        opened(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    assert caught.value.exit_code == 2
    return message


def integrity(path: Path) -> str:
    with sqlite3.connect(path) as connection:
        verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
    connection.close()
    return str(verdict)


def test_what_is_recorded_is_known_after_reopening(tmp_path):
    with opened(tmp_path / "a.db") as ledger:
        ledger.record([b"a", b"b", b"\x00\xff"], ["yes", 1, 2.5])
        assert ledger.known([b"a", b"zzz", b"a"]) == {b"a": "yes"}
    with opened(tmp_path / "a.db") as ledger:
        assert ledger.known([b"\x00\xff", b"b", b"a"]) == {
            b"a": "yes",
            b"b": 1,
            b"\x00\xff": 2.5,
        }
        assert len(ledger) == 3
        assert ledger.known([]) == {}
        ledger.record([], [])


def test_an_empty_ledger_is_true(tmp_path):
    with opened(tmp_path / "a.db") as ledger:
        assert len(ledger) == 0
        assert ledger


def test_first_answer_wins(tmp_path):
    with opened(tmp_path / "a.db") as ledger:
        ledger.record([b"a"], [1])
        ledger.record([b"a", b"b"], [2, 3])
        assert ledger.known([b"a", b"b"]) == {b"a": 1, b"b": 3}


scalars = st.one_of(
    st.booleans(),
    st.integers(),
    st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**40]),
    st.floats(),
    st.text(),
    st.sampled_from(["1", "1.0", "true", "\ud800", "a\x00b", "NaN", -0.0, 1.0, 1, True]),
)


@settings(max_examples=examples(40), deadline=None)
@given(rows=st.dictionaries(st.binary(max_size=20), scalars))
def test_types_round_trip_exactly(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("ledger") / "a.db"
    with opened(path) as ledger:
        ledger.record(list(rows), list(rows.values()))
        back = ledger.known(list(rows))
    assert back.keys() == rows.keys()
    for key, outcome in rows.items():
        assert type(back[key]) is type(outcome)
        assert repr(back[key]) == repr(outcome)  # tells -0.0 from 0.0, and knows NaN


@pytest.mark.parametrize(
    "outcomes",
    [
        np.array([True, False]),
        np.array([1, 0], dtype=np.uint8),
        np.array([0.1, np.inf], dtype=np.float32),
        np.array(["yes", "no"]),
        [np.bool_(True), np.int64(7)],
        [np.float64(0.5), np.str_("x")],
        np.array([np.int64(3), "mixed"], dtype=object),
    ],
)
def test_numpy_outcomes_come_back_as_plain_ones(tmp_path, outcomes):
    with opened(tmp_path / "a.db") as ledger:
        ledger.record([b"a", b"b"], outcomes)
        back = ledger.known([b"a", b"b"])
    plain = [value.item() if isinstance(value, np.generic) else value for value in outcomes]
    assert list(back.values()) == plain
    assert [type(value) for value in back.values()] == [type(value) for value in plain]


def test_what_is_no_outcome_is_refused_and_nothing_of_the_batch_is_kept(tmp_path):
    with opened(tmp_path / "a.db") as ledger:
        with pytest.raises(BadOutcome, match="None is a NoneType"):
            ledger.record([b"a", b"b"], [1, None])
        with pytest.raises(ValueError, match="zip"):
            ledger.record([b"a", b"b"], [1])
        assert len(ledger) == 0


def test_large_batches_are_recorded_and_known_at_once(tmp_path):
    keys = [random.randbytes(16) for _ in range(10_000)]
    statements: list[str] = []
    with opened(tmp_path / "a.db") as ledger:
        len(ledger)  # opens the file
        connection_of(ledger).set_trace_callback(statements.append)
        ledger.record(keys, np.arange(10_000) % 2 == 0)
        # One transaction: a commit for each key would take many seconds.
        assert statements.count("COMMIT") == 1
        statements.clear()
        assert len(ledger.known(keys)) == 10_000
    # Keys are looked up hundreds at a time.
    assert len(statements) < 100


def test_another_space_or_subject_is_refused_and_named(tmp_path):
    path = tmp_path / "a.db"
    opened(path).close()
    space = refusal(path, space="space-2")
    assert "another space (space-1, not space-2)" in space
    assert "another subject" not in space
    subject = refusal(path, subject="model-2")
    assert "another subject (model-1, not model-2)" in subject
    assert "another space" not in subject
    both = refusal(path, space="space-2", subject="model-2")
    assert "another space" in both
    assert "another subject" in both
    assert "delete this one" in both


def test_a_newer_format_is_refused(tmp_path):
    path = tmp_path / "a.db"
    opened(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'format'")
    connection.close()
    assert "format 99" in refusal(path)


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path):
    for name, table in {"a.db": "customers", "b.db": "meta"}.items():
        with sqlite3.connect(tmp_path / name) as connection:
            connection.execute(f"CREATE TABLE {table} (name TEXT, value TEXT)")
        connection.close()
        assert "another program" in refusal(tmp_path / name)
        with sqlite3.connect(tmp_path / name) as connection:
            assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (
                1,
            )
        connection.close()


def test_a_text_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "loans.csv"
    path.write_text("age,sex\n" * 1000)
    assert "not an SQLite file" in refusal(path)
    assert path.read_text() == "age,sex\n" * 1000


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "a.db"
    with opened(path) as ledger:
        ledger.record([b"%d" % i for i in range(10_000)], [1] * 10_000)
    content = bytearray(path.read_bytes())
    content[100:4096] = random.randbytes(3996)
    path.write_bytes(content)
    assert "damaged" in refusal(path)


def test_damage_found_later_is_one_sentence_too(tmp_path):
    path = tmp_path / "a.db"
    keys = [b"%05d" % i for i in range(10_000)]
    with opened(path) as ledger:
        ledger.record(keys, [1] * 10_000)
    content = bytearray(path.read_bytes())
    content[5 * 4096 :] = b"\xff" * (len(content) - 5 * 4096)
    path.write_bytes(content)
    with opened(path) as ledger, pytest.raises(LedgerError, match="damaged"):
        ledger.known(keys)


def test_a_folder_and_a_missing_folder_are_refused(tmp_path):
    assert "is a folder" in refusal(tmp_path)
    assert "does not exist" in refusal(tmp_path / "missing" / "a.db")
    assert not (tmp_path / "missing").exists()


def test_a_lock_held_too_long_is_refused(tmp_path):
    path = tmp_path / "a.db"
    opened(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert "locked by another process for 0.2 s" in refusal(path, timeout=0.2)
    other.execute("ROLLBACK")
    with opened(path, timeout=0.2) as ledger:
        other.execute("BEGIN IMMEDIATE")
        assert ledger.known([b"a"]) == {}
        with pytest.raises(LedgerError, match="locked"):
            ledger.record([b"a"], [1])
        other.execute("ROLLBACK")
        ledger.record([b"a"], [1])
    other.close()


OPEN_UNPRIVILEGED = """
import os, sys
sys.dont_write_bytecode = True
import evenhand.subject.ledger.sqlite.store
from evenhand.subject.ledger import Ledger
from evenhand.runtime.errors import LedgerError
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    Ledger(sys.argv[1], space="space-1", subject="model-1")
except LedgerError as error:
    print(error)
"""


@needs_posix
@pytest.mark.parametrize(
    "case", ["read-only file", "read-only folder", "new file", "unreachable folder"]
)
def test_what_cannot_be_written_is_refused_at_opening(case):
    # Not tmp_path: pytest keeps that for its owner alone, and the process without privileges must
    # reach the file.
    with tempfile.TemporaryDirectory() as outer:
        Path(outer).chmod(0o755)
        folder = Path(outer) / "runs"
        folder.mkdir()
        path = folder / "a.db"
        if case != "new file":
            opened(path).close()
            path.chmod(0o444 if case == "read-only file" else 0o666)
        modes = {"read-only file": 0o777, "unreachable folder": 0o000}
        folder.chmod(modes.get(case, 0o555))
        message, trouble = script(OPEN_UNPRIVILEGED, path).communicate(timeout=60)
        folder.chmod(0o777)
    assert trouble == ""
    assert message.count("\n") == 1
    assert str(path) in message
    assert "cannot be written: check the permissions" in message


FILL = """
import resource, signal, sys
from evenhand.subject.ledger import Ledger
from evenhand.runtime.errors import LedgerError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Ledger(sys.argv[1], space="space-1", subject="model-1") as ledger:
    ledger.record([b"first"], [1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    try:
        for batch in range(100):
            ledger.record([b"%d-%d" % (batch, i) for i in range(1000)], range(1000))
            print(batch, flush=True)
    except LedgerError as error:
        print("refused:", error)
"""


@needs_posix
def test_a_write_that_fails_midway_is_one_sentence_and_loses_nothing(tmp_path):
    path = tmp_path / "a.db"
    output, trouble = script(FILL, path).communicate(timeout=60)
    assert trouble == ""
    *batches, last = output.splitlines()
    assert batches
    assert last.startswith(f"refused: the ledger '{path}' cannot be ")
    assert integrity(path) == "ok"
    with opened(path) as ledger:
        assert len(ledger) == 1 + 1000 * len(batches)


RECORD_FOREVER = """
import sys
from evenhand.subject.ledger import Ledger
ledger = Ledger(sys.argv[1], space="space-1", subject="model-1")
batch = 0
while True:
    ledger.record([b"%d-%d" % (batch, i) for i in range(200)], [batch] * 200)
    print(batch, flush=True)
    batch += 1
"""


@needs_posix
@pytest.mark.parametrize("pause", [0.0, 0.05, 0.23])
def test_kill_9_loses_nothing_that_was_committed(tmp_path, pause):
    path = tmp_path / "a.db"
    process = script(RECORD_FOREVER, path)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(pause)
    process.send_signal(signal.SIGKILL)
    printed = [0, *map(int, process.stdout.read().splitlines())]
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    with opened(path) as ledger:
        keys: list[bytes] = []
        for batch in printed:
            keys.extend(b"%d-%d" % (batch, i) for i in range(200))
        assert len(ledger.known(keys)) == len(keys)
        # The batch in flight is there as a whole or not at all.
        assert len(ledger) in {len(keys), len(keys) + 200}
    assert integrity(path) == "ok"


SHARE = """
import sys
from evenhand.subject.ledger import Ledger
path, me = sys.argv[1], sys.argv[2]
sys.stdin.readline()
with Ledger(path, space="space-1", subject="model-1") as ledger:
    for batch in range(40):
        keys = [b"%d" % (batch * 50 + i) for i in range(100)]
        ledger.record(keys, [me] * 100)
        assert len(ledger.known(keys)) == 100
"""


def test_two_processes_share_a_file_from_the_first_opening(tmp_path):
    path = tmp_path / "a.db"
    processes = [
        script(SHARE, path, name, stdin=subprocess.PIPE) for name in ("one", "two", "three")
    ]
    time.sleep(0.3)
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _, trouble = process.communicate(timeout=60)
        assert (process.returncode, trouble) == (0, "")
    assert integrity(path) == "ok"
    with opened(path) as ledger:
        assert len(ledger) == 40 * 50 + 50
        assert set(ledger.known([b"%d" % i for i in range(2050)]).values()) <= {
            "one",
            "two",
            "three",
        }


def test_threads_share_one_ledger(tmp_path):
    with (
        opened(tmp_path / "a.db") as ledger,
        concurrent.futures.ThreadPoolExecutor(8) as pool,
    ):

        def work(number):
            keys = [b"%d" % (number * 10 + i) for i in range(20)]
            ledger.record(keys, [number] * 20)
            return len(ledger.known(keys))

        assert set(pool.map(work, range(100))) == {20}
        assert len(ledger) == 1010


def test_a_pickled_ledger_opens_the_same_file_from_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with opened("a.db") as ledger:
        ledger.record([b"a"], [1])
        copy = pickle.loads(pickle.dumps(ledger))
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.chdir(elsewhere)
        with copy:
            assert copy.known([b"a"]) == {b"a": 1}
            copy.record([b"b"], [2])
        assert ledger.known([b"b"]) == {b"b": 2}


def test_a_closed_ledger_may_be_used_again(tmp_path):
    ledger = opened(tmp_path / "a.db")
    ledger.record([b"a"], [1])
    ledger.close()
    ledger.close()
    assert ledger.known([b"a"]) == {b"a": 1}
    ledger.close()


def test_a_ledger_that_nobody_needs_any_more_closes_its_file(tmp_path):
    ledger = opened(tmp_path / "a.db")
    connection = connection_of(ledger)
    del ledger
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


@needs_posix
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_no_connection_is_carried_over_a_fork(tmp_path):
    with opened(tmp_path / "a.db") as ledger:
        ledger.record([b"parent"], [0])
        stop = threading.Event()

        def write():
            count = 0
            while not stop.is_set():
                ledger.record([b"thread-%d" % count], [count])
                count += 1

        writer = threading.Thread(target=write)
        writer.start()

        def child(number):
            assert ledger.store.rows is None
            ledger.record([b"child-%d" % number], [number])
            assert ledger.known([b"parent"]) == {b"parent": 0}

        context = multiprocessing.get_context("fork")
        children = [context.Process(target=child, args=(number,)) for number in range(4)]
        for process in children:
            process.start()
        for process in children:
            process.join(60)
        stop.set()
        writer.join(60)
        assert [process.exitcode for process in children] == [0] * 4
        assert len(ledger.known([b"child-%d" % number for number in range(4)])) == 4
    assert integrity(tmp_path / "a.db") == "ok"


def changed(path: Path, *statements: str) -> Path:
    """Change the head of a ledger by hand."""
    opened(path).close()
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (["UPDATE meta SET value = 'two' WHERE name = 'format'"], "is damaged: its head"),
        (["DELETE FROM meta WHERE name = 'format'"], "is damaged: its head"),
        (["DELETE FROM meta WHERE name = 'space'"], "is damaged: its head"),
        (["DELETE FROM meta WHERE name = 'subject'"], "is damaged: its head"),
        (["DELETE FROM meta WHERE name IN ('space', 'checksum')"], "of another program"),
        (["DELETE FROM meta"], "of another program"),
        (["UPDATE meta SET value = '3' WHERE name = 'format'"], "has format 3 of evenhand"),
        (
            ["UPDATE meta SET value = '1' WHERE name = 'format'"],
            "space and subject does not",
        ),
        (["DELETE FROM meta WHERE name = 'checksum'"], "space and subject does not match"),
        (["UPDATE meta SET value = 'x' WHERE name = 'checksum'"], "does not match"),
        (
            [
                "DELETE FROM meta WHERE name = 'checksum'",
                "UPDATE meta SET value = '1' WHERE name = 'format'",
            ],
            "has format 1, whose rows have no checksums",
        ),
        (["DROP TABLE meta"], "of another program"),
    ],
)
def test_a_head_that_does_not_fit_is_refused(tmp_path, statements, words):
    assert words in refusal(changed(tmp_path / "a.db", *statements))


def test_openings_are_counted(tmp_path):
    path = tmp_path / "a.db"
    for _ in range(3):
        opened(path).close()
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT value FROM meta WHERE name = 'openings'").fetchone()
    connection.close()
    assert found == ("3",)


def test_a_ledger_with_a_damaged_row_gives_no_answer_any_more(tmp_path):
    path = tmp_path / "a.db"
    with opened(path) as ledger:
        ledger.record([b"a", b"b", b"c"], [1, 2, 3])
    connection = sqlite3.connect(path)
    connection.execute("UPDATE test SET outcome = 9 WHERE key = ?", [b"b"])
    connection.commit()
    connection.close()
    with opened(path) as ledger:
        assert ledger.known([b"a"]) == {b"a": 1}
        with pytest.raises(LedgerError, match="1 of 3 rows read so far"):
            ledger.known([b"a", b"b"])
        with pytest.raises(LedgerError, match="1 of 4 rows read so far"):
            ledger.known([b"c"])


def test_every_answer_of_many_is_found(tmp_path):
    keys = [b"%05d" % number for number in range(1801)]
    with opened(tmp_path / "a.db") as ledger:
        ledger.record(keys, list(range(1801)))
        assert ledger.known(keys[::-1]) == dict(zip(keys, range(1801), strict=True))
        assert ledger.known([keys[900]]) == {keys[900]: 900}


def test_a_lock_is_waited_for_half_a_minute(tmp_path):
    with Ledger(tmp_path / "a.db", space="s", subject="m") as ledger:
        (milliseconds,) = connection_of(ledger).execute("PRAGMA busy_timeout").fetchone()
    assert milliseconds == 30_000


def test_an_empty_file_becomes_a_ledger(tmp_path):
    path = tmp_path / "a.db"
    path.touch()
    with opened(path) as ledger:
        ledger.record([b"a"], [1])
    with opened(path) as ledger:
        assert ledger.known([b"a"]) == {b"a": 1}


def test_a_ledger_is_at_hand_by_its_name_and_nothing_else_is():
    import evenhand.subject.ledger as package

    assert package.Ledger is Ledger
    with pytest.raises(AttributeError, match="no attribute 'Leger'"):
        package.Leger  # noqa: B018


def test_a_file_without_tables_is_new_only_as_long_as_it_holds_nothing(tmp_path):
    new = tmp_path / "new.db"
    used = tmp_path / "used.db"
    for path in (new, used):
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version = 1")
        if path == used:
            connection.execute("CREATE TABLE customers (name TEXT)")
            connection.execute("DROP TABLE customers")
        connection.close()
    assert (new.stat().st_size, used.stat().st_size) == (4096, 8192)
    with opened(new) as ledger:
        assert len(ledger) == 0
    assert "is damaged: it has no tables any more" in refusal(used)
