"""The file of a ledger: what is written into a new one, and what SQLite's errors mean."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from evenhand.subject.ledger.checksum import Checksum
from evenhand.subject.ledger.sqlite.database import (
    Durability,
    _patiently,
    code_of,
    connected,
    create,
    readable,
    refusal,
    transaction,
)

FILE = Path("a b.db")


def failure(code: int, message: str = "what SQLite says") -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(message)
    error.sqlite_errorcode = code
    return error


def test_the_kind_of_an_error_is_its_low_byte():
    assert code_of(failure(sqlite3.SQLITE_BUSY)) == 5
    assert code_of(failure(0x0A05)) == 5
    assert code_of(failure(0xFFFF)) == 0xFF
    assert code_of(ValueError("no error of SQLite")) == 0


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (sqlite3.SQLITE_CORRUPT, "is damaged: SQLite says 'what SQLite says'; run"),
        (sqlite3.SQLITE_ERROR, "is damaged: SQLite says"),
        (sqlite3.SQLITE_MISMATCH, "is damaged: SQLite says"),
        (sqlite3.SQLITE_NOTADB, "is not an SQLite file, so not a ledger"),
        (sqlite3.SQLITE_FULL, "because the disk is full"),
        (sqlite3.SQLITE_BUSY, "was locked by another process for 2.5 s"),
        (sqlite3.SQLITE_READONLY, "cannot be written: check the permissions"),
        (sqlite3.SQLITE_CANTOPEN, "cannot be written: check the permissions"),
        (sqlite3.SQLITE_PERM, "cannot be written: check the permissions"),
        (sqlite3.SQLITE_IOERR, "cannot be used (what SQLite says): check the disk"),
        (0x0105, "was locked by another process"),
    ],
)
def test_every_error_of_sqlite_is_a_sentence(code, words):
    message = str(refusal(FILE, failure(code), 2.5))
    assert message.startswith("the ledger 'a b.db' ")
    assert words in message


def test_what_is_no_error_of_sqlite_is_damage():
    error = UnicodeDecodeError("utf-8", b"x", 0, 1, "nonsense")
    message = str(refusal(FILE, error, 1))
    assert message == (
        "the ledger 'a b.db' is damaged: SQLite cannot read it; run 'evenhand ledger repair"
        " 'a b.db'' to keep the rows that are sound"
    )


def test_a_lock_is_waited_for_and_another_error_is_not(monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr("evenhand.subject.ledger.sqlite.database.time.sleep", waits.append)
    outcomes = [failure(sqlite3.SQLITE_BUSY), failure(0x0205), None]
    tried: list[Any] = []

    def act() -> None:
        outcome = outcomes[len(tried)]
        tried.append(outcome)
        if outcome is not None:
            raise outcome

    _patiently(act, 60)
    assert len(tried) == 3
    assert waits == [0.02, 0.02]

    def broken() -> None:
        raise failure(sqlite3.SQLITE_CORRUPT)

    with pytest.raises(sqlite3.OperationalError):
        _patiently(broken, 60)
    assert len(waits) == 2

    def locked() -> None:
        raise failure(sqlite3.SQLITE_BUSY)

    with pytest.raises(sqlite3.OperationalError):
        _patiently(locked, -1)
    assert len(waits) == 2


def test_a_transaction_is_written_whole_or_not_at_all(tmp_path):
    connection = connected(tmp_path / "a.db", 1)
    connection.execute("CREATE TABLE t (n)")
    with transaction(connection):
        connection.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(KeyError), transaction(connection):
        connection.execute("INSERT INTO t VALUES (2)")
        raise KeyError
    assert connection.execute("SELECT n FROM t").fetchall() == [(1,)]
    assert not connection.in_transaction
    connection.close()


def test_a_connection_is_made_for_several_writers_and_finds_damage(tmp_path):
    connection = connected(tmp_path / "a.db", 1)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (1,)
    assert connection.execute("PRAGMA wal_autocheckpoint").fetchone() == (8000,)
    assert connection.execute("PRAGMA cell_size_check").fetchone() == (1,)
    assert connection.text_factory is readable
    assert connection.isolation_level is None
    connection.close()
    assert readable(b"a\xff") == "a\udcff"


def test_a_commit_waits_for_the_disk_once_a_second(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(
        "evenhand.subject.ledger.sqlite.database.time.monotonic", lambda: now[0]
    )
    connection = connected(tmp_path / "a.db", 1)
    durability = Durability(connection)
    levels = []
    for seconds in (0.0, 0.5, 0.4, 0.1, 0.1, 3.0, 1.0):
        now[0] += seconds
        durability.choose()
        levels.append(connection.execute("PRAGMA synchronous").fetchone()[0])
    connection.close()
    # 2 is FULL, 1 is NORMAL: the first of all, and then each that comes a second later.
    assert levels == [2, 1, 1, 2, 1, 2, 2]


def test_a_new_ledger_has_its_head_twice(tmp_path):
    connection = connected(tmp_path / "a.db", 1)
    create(connection, "the space", "the subject")
    head = {
        "format": "2",
        "space": "the space",
        "subject": "the subject",
        "checksum": Checksum("the space", "the subject").head,
    }
    spare = dict(connection.execute("SELECT name, value FROM spare"))
    meta = dict(connection.execute("SELECT name, value FROM meta"))
    connection.close()
    assert spare == head
    assert meta.pop("openings") == "0"
    assert meta.pop("evenhand")
    assert meta == head
