"""Answers of one ledger added to another."""

from __future__ import annotations

import sqlite3

import pytest

from evenhand.cli.main import main
from evenhand.runtime.errors import LedgerError, UsageError
from evenhand.subject.ledger import Ledger
from evenhand.subject.ledger.copying import Copied, copied
from evenhand.subject.ledger.sqlite.store import SqliteStore
from evenhand.subject.ledger.store import store_at
from tests.support.helpers import refused
from tests.support.ledger_damage import SPACE, SUBJECT, answers, written


def rows_of(path):
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT * FROM test ORDER BY key").fetchall()
    connection.close()
    return rows


def test_a_copy_has_the_same_rows_and_leaves_what_is_there(tmp_path, capsys):
    first = tmp_path / "a.ledger"
    second = tmp_path / "b.ledger"
    written(first, answers(300))
    assert copied(store_at(first), second) == Copied(str(second), 0, 300)
    assert rows_of(second) == rows_of(first)
    with Ledger(second, space=SPACE, subject=SUBJECT) as ledger:
        ledger.record([b"new"], ["theirs"])
    with Ledger(first, space=SPACE, subject=SUBJECT) as ledger:
        ledger.record([b"new", b"newer"], ["ours", "ours"])
    assert main(["ledger", "copy", str(first), str(second)]) == 0
    printed = f"'{second}' took 1 answer of '{first}'; it had 301 answers before\n"
    assert capsys.readouterr().out == printed
    with Ledger(second, space=SPACE, subject=SUBJECT) as ledger:
        assert ledger.known([b"new", b"newer"]) == {b"new": "theirs", b"newer": "ours"}


def test_only_a_sound_ledger_of_the_same_software_is_copied(tmp_path):
    first = tmp_path / "a.ledger"
    other = tmp_path / "b.ledger"
    written(first, answers(30))
    written(other, answers(30), subject="other software")
    words = "belongs to another subject"
    refused(LedgerError, lambda: copied(store_at(first), other), words)
    with sqlite3.connect(first) as connection:
        connection.execute("UPDATE test SET outcome = 'edited'")
    connection.close()
    new = tmp_path / "c.ledger"
    refused(LedgerError, lambda: copied(store_at(first), new), "is damaged")
    assert not new.exists()


@pytest.mark.parametrize("words", [["copy", "a.ledger"], ["check", "a.ledger", "b.ledger"]])
def test_two_ledgers_are_for_a_copy_alone(words, capsys):
    assert main(["ledger", *words]) == 2
    assert "evenhand ledger copy needs two ledgers, FROM and TO" in capsys.readouterr().err


def test_where_a_ledger_is_tells_its_kind(tmp_path):
    assert isinstance(store_at(tmp_path / "a.ledger"), SqliteStore)
    words = "begins with 'postgresq'; did you mean 'postgresql'?"
    message = refused(UsageError, lambda: store_at("postgresq://me:sesame@host/a"), words)
    assert "sesame" not in message
    mangled = type(tmp_path)("postgresql://me:sesame@host/a")
    message = refused(UsageError, lambda: store_at(mangled), "as a text, not as a path")
    assert "sesame" not in message
