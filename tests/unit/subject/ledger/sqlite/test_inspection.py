"""What can be read of a file, fact by fact, and what is said of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from evenhand.cli.main import main
from evenhand.runtime.errors import LedgerError, UsageError
from evenhand.subject.ledger.checksum import Checksum
from evenhand.subject.ledger.claims import Claims
from evenhand.subject.ledger.command import table
from evenhand.subject.ledger.ledger import Ledger
from evenhand.subject.ledger.sqlite.inspection import _attempt, inspected, salvaged
from evenhand.subject.ledger.sqlite.upkeep import compacted, repaired
from evenhand.subject.ledger.upkeep import Inspection, damage
from tests.support.helpers import refused
from tests.support.ledgers import connection_of

if TYPE_CHECKING:
    from pathlib import Path

ANSWERS: dict[bytes, Any] = {b"a": "yes", b"b": 1, b"again:a": 2.5, b"again:3:b": "no"}
SEAL = Checksum("s", "m")


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "loan.ledger"
    with Ledger(file, space="s", subject="m") as ledger:
        ledger.record(list(ANSWERS), list(ANSWERS.values()))
    return file


def sql(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def old_format(path: Path, *statements: str) -> Path:
    """Write a ledger of the first format, whose rows have no checksums."""
    sql(
        path,
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE test (key BLOB PRIMARY KEY, outcome NOT NULL) WITHOUT ROWID",
        "INSERT INTO meta VALUES ('format', '1'), ('space', 's'), ('subject', 'm')",
        "INSERT INTO test VALUES (x'61', 'yes'), (x'62', 1)",
        *statements,
    )
    return path


def test_a_sound_ledger_is_read_whole(path):
    found = inspected(path)
    assert found == Inspection(path, 2, "s", "m", dict(ANSWERS))
    assert found.sound
    assert found.verifies
    assert found.again == 2
    assert salvaged(path) == found


def test_an_inspection_is_sound_only_without_any_damage(path):
    assert not Inspection(path).sound
    assert not Inspection(path).verifies
    assert not Inspection(path, space="s").verifies
    assert not Inspection(path, subject="m").verifies
    assert not Inspection(path, 1, "s", "m").sound
    assert not Inspection(path, 2, "s", "m", damaged=1).sound
    assert not Inspection(path, 2, "s", "m", problems=["one"]).sound
    assert Inspection(path, 2, "s", "m").sound


def test_rows_that_do_not_fit_are_counted_and_left_out(path):
    sql(path, "UPDATE test SET outcome = 'no' WHERE key IN (x'61', x'62')")
    found = inspected(path)
    assert found.damaged == 2
    assert found.rows == {key: ANSWERS[key] for key in (b"again:a", b"again:3:b")}
    assert found.problems == []
    assert not found.sound
    message = str(damage(found))
    assert f"'{path}' is damaged: 2 of 4 rows do not match their checksum; run" in message


def test_a_damaged_head_is_taken_from_the_spare_one(path):
    sql(path, "UPDATE meta SET value = 'x' WHERE name = 'space'")
    found = inspected(path)
    assert (found.format, found.space, found.subject) == (2, "s", "m")
    assert found.problems == ["its head does not match its checksum"]
    assert found.rows == ANSWERS
    assert "is damaged: its head does not match its checksum; run" in str(damage(found))


@pytest.mark.parametrize("written", ["1", "3", "two"])
def test_a_format_that_contradicts_a_head_that_fits_is_damage(path, written):
    sql(path, f"UPDATE meta SET value = '{written}' WHERE name = 'format'")
    found = inspected(path)
    assert (found.format, found.space, found.subject) == (2, "s", "m")
    assert found.problems == ["its head does not match its checksum"]
    assert found.rows == ANSWERS


def test_a_newer_format_has_another_head(path):
    sql(path, "UPDATE meta SET value = '3' WHERE name IN ('format', 'checksum')")
    found = inspected(path)
    assert found.format == 3
    assert found.space is None
    assert found.problems == ["its format is 3"]
    assert found.rows == {}
    assert salvaged(path).rows == {}
    words = "has format 3, and this evenhand reads format 2: upgrade evenhand"
    assert words in str(damage(found))
    refused(LedgerError, lambda: repaired(path), words)
    refused(LedgerError, lambda: compacted(path), words)


def test_a_head_that_is_lost_twice_verifies_no_row(path):
    for name in ("meta", "spare"):
        sql(path, f"UPDATE {name} SET name = 'spacf' WHERE name = 'space'")
    for found in (inspected(path), salvaged(path)):
        assert found.format is None
        assert not found.verifies
        assert found.rows == {}
    refused(LedgerError, lambda: repaired(path), "has no head of a ledger")


def test_a_head_is_put_together_from_pages_that_sqlite_does_not_read(path):
    content = bytearray(path.read_bytes())
    content[:4096] = bytes(4096)
    path.write_bytes(content)
    assert not inspected(path).verifies
    found = salvaged(path)
    assert (found.format, found.space, found.subject) == (2, "s", "m")
    assert found.rows == ANSWERS


def test_a_first_format_is_known_by_its_head_and_its_columns(tmp_path):
    found = inspected(old_format(tmp_path / "a.db"))
    assert (found.format, found.space, found.subject) == (1, "s", "m")
    assert found.rows == {b"a": "yes", b"b": 1}
    assert found.problems == []
    assert not found.sound
    assert "format 1, whose rows have no checksums: run" in str(damage(found))
    assert salvaged(tmp_path / "a.db").format == 1
    sealed = old_format(tmp_path / "b.db", "INSERT INTO meta VALUES ('checksum', 'x')")
    assert inspected(sealed).format is None
    wider = old_format(tmp_path / "c.db", "ALTER TABLE test ADD COLUMN checksum")
    assert inspected(wider).format is None
    second = old_format(
        tmp_path / "d.db", "UPDATE meta SET value = '2' WHERE name = 'format'"
    )
    assert inspected(second).format is None


def test_a_first_format_is_adopted_where_nothing_else_is_wrong(tmp_path):
    path = old_format(tmp_path / "a.db")
    refused(LedgerError, lambda: repaired(path), "--adopt")
    done = repaired(path, adopt=True)
    assert done.path == path
    assert done.kept == tmp_path / "a.db.damaged-1"
    assert inspected(path) == Inspection(path, 2, "s", "m", {b"a": "yes", b"b": 1})


def test_rows_of_a_damaged_first_format_are_not_trusted(tmp_path):
    path = old_format(tmp_path / "a.db")
    content = bytearray(path.read_bytes())
    content[2 * 4096 + 3 : 2 * 4096 + 5] = b"\xff\xff"  # the number of rows of the table
    path.write_bytes(content)
    found = inspected(path)
    assert found.format == 1
    assert found.problems
    words = "is damaged and has format 1, whose rows have no checksums"
    refused(LedgerError, lambda: repaired(path, adopt=True), words)
    refused(LedgerError, lambda: repaired(path), "--adopt")
    assert path.read_bytes() == bytes(content)


def test_claims_of_the_living_and_of_the_dead_are_counted(path):
    with Ledger(path, space="s", subject="m") as ledger, Claims(ledger) as mine:
        mine.take([b"x", b"y"], 2)
        connection_of(ledger).execute("INSERT INTO claim VALUES (x'00', 5)")
        found = inspected(path)
    assert (found.claims, found.dead_claims) == (2, 1)
    assert found.sound


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("loan.ledgers", "does not exist; check the path"),
        ("loans.ledger", "does not exist; did you mean 'loan.ledger'?"),
        ("loan", "does not exist; check the path"),
        ("", "is a folder: name a file in it"),
    ],
)
def test_a_file_that_is_not_there_is_named(path, name, words):
    refused(LedgerError, lambda: inspected(path.parent / name), words)


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="has no sockets that are files")
def test_a_file_that_cannot_be_opened_is_named(tmp_path, monkeypatch):
    # Nobody can open a socket as a file, whatever the permissions are.
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as bound:
        bound.bind("a.ledger")
        path = tmp_path / "a.ledger"
        message = refused(LedgerError, lambda: inspected(path), "cannot be read (")
        assert message.endswith("): check its permissions")


def test_what_sqlite_cannot_do_is_noted_once(path):
    found = Inspection(path)

    def fail(error: Exception) -> Any:
        def act() -> None:
            raise error

        return act

    _attempt(found, fail(sqlite3.DatabaseError("malformed")))
    _attempt(found, fail(sqlite3.DatabaseError("malformed")))
    _attempt(found, fail(MemoryError()))
    _attempt(found, lambda: 3)
    assert found.problems == ["malformed", "SQLite cannot read it"]
    with pytest.raises(KeyError):
        _attempt(found, fail(KeyError("a mistake")))


def test_three_problems_of_the_pages_are_shown(tmp_path):
    path = tmp_path / "a.db"
    with Ledger(path, space="s", subject="m") as ledger:
        keys = [b"%05d" % number for number in range(2000)]
        ledger.record(keys, ["x" * 50] * 2000)
    content = bytearray(path.read_bytes())
    for start in range(8 * 4096, 20 * 4096, 4096):
        content[start : start + 4096] = bytes(4096)
    path.write_bytes(content)
    found = inspected(path)
    problems = " ".join(found.problems)
    # Twelve pages are gone.
    assert problems.count("btreeInitPage() returns error") == 3
    assert "***" not in problems
    assert "\n" not in "".join(found.problems)
    sound = salvaged(path).rows
    assert len(found.rows) < len(sound) < 2000
    assert set(sound.values()) == {"x" * 50}


def test_rows_of_the_log_are_salvaged_too(path, tmp_path):
    ledger = Ledger(path, space="s", subject="m")
    ledger.record([b"late"], ["later"])
    copy = tmp_path / "copy.ledger"
    shutil.copy(path, copy)
    shutil.copy(f"{path}-wal", f"{copy}-wal")
    ledger.close()
    content = bytearray(copy.read_bytes())
    content[:16] = bytes(16)
    copy.write_bytes(content)
    found = salvaged(copy)
    assert found.rows[b"late"] == "later"
    done = repaired(copy)
    assert done.kept is not None
    assert done.kept.with_name(f"{done.kept.name}-wal").exists()
    assert not copy.with_name(f"{copy.name}-wal").exists()
    with Ledger(copy, space="s", subject="m") as sound:
        assert sound.known([b"late", b"a"]) == {b"late": "later", b"a": "yes"}


def test_a_repair_writes_every_row_with_its_checksum(path, tmp_path):
    sql(path, "UPDATE test SET outcome = 'no' WHERE key = x'61'")
    output = tmp_path / "sound.ledger"
    done = repaired(path, output)
    assert (done.path, done.kept) == (output, None)
    rest = {key: value for key, value in ANSWERS.items() if key != b"a"}
    assert inspected(output) == Inspection(output, 2, "s", "m", rest)
    refused(UsageError, lambda: repaired(path, output), "this file exists")
    assert not list(tmp_path.glob("*repairing*"))


def test_a_sound_ledger_is_repaired_only_to_another_file(path, tmp_path):
    done = repaired(path)
    assert (done.path, done.kept) == (path, None)
    assert done.found.sound
    output = tmp_path / "copy.ledger"
    assert repaired(path, output).path == output
    assert inspected(output).rows == ANSWERS


def test_what_is_left_of_a_repair_that_was_killed_is_in_nobodys_way(path, tmp_path):
    sql(path, "UPDATE test SET outcome = 'no' WHERE key = x'61'")
    left = tmp_path / f"loan.ledger.repairing-{os.getpid()}"
    left.write_text("half a file")
    (tmp_path / "loan.ledger.damaged-1").write_text("the first")
    done = repaired(path)
    assert done.kept == tmp_path / "loan.ledger.damaged-2"
    assert (tmp_path / "loan.ledger.damaged-1").read_text() == "the first"
    assert not left.exists()


def test_a_file_that_cannot_be_written_is_refused_and_not_left_behind(path, tmp_path):
    sql(path, "UPDATE test SET outcome = 'no' WHERE key = x'61'")
    missing = tmp_path / "missing" / "sound.ledger"
    refused(LedgerError, lambda: repaired(path, missing), "cannot be written")


def test_compacting_returns_the_bytes_before_and_after(path):
    with Ledger(path, space="s", subject="m") as ledger:
        keys = [b"%05d" % number for number in range(2000)]
        ledger.record(keys, ["x" * 50] * 2000)
    sql(path, "DELETE FROM test WHERE length(key) = 5")
    size = path.stat().st_size
    before, after = compacted(path)
    assert before == size
    assert after == path.stat().st_size
    assert after < before
    assert inspected(path).rows == ANSWERS
    assert compacted(path) == (after, after)


def test_compacting_counts_the_log(path):
    with Ledger(path, space="s", subject="m") as ledger:
        ledger.record([b"late"], ["later"])
        log = path.with_name(f"{path.name}-wal")
        size = path.stat().st_size + log.stat().st_size
        assert log.stat().st_size > 0
        before, _ = compacted(path)
        assert before == size


def test_damaged_rows_come_before_the_first_other_problem(path):
    found = Inspection(
        path,
        2,
        "s",
        "m",
        {b"a": 1},
        1,
        ["first", "second"],
    )
    words = "is damaged: 1 of 2 rows do not match their checksum and first; run"
    assert words in str(damage(found))
    found.damaged = 0
    assert "is damaged: first; run" in str(damage(found))


def test_a_ledger_that_others_write_is_not_compacted(path, monkeypatch):
    monkeypatch.setattr("evenhand.subject.ledger.sqlite.upkeep._PATIENCE", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    words = "was locked by another process for 0.05 s"
    refused(LedgerError, lambda: compacted(path), words)
    other.execute("ROLLBACK")
    other.close()
    before, after = compacted(path)
    assert after <= before


def test_facts_are_shown_one_a_line(path):
    found = Inspection(
        path,
        2,
        "s",
        "m",
        dict(ANSWERS),
        1,
        ["first", "second"],
        3,
        1200,
    )
    assert table(found).splitlines() == [
        "format           2",
        "space            s",
        "subject          m",
        "first answers    2",
        "further answers  2",
        "damaged rows     1",
        "open claims      3",
        "dead claims      1,200",
        "problem          first",
        "problem          second",
    ]
    unknown = table(Inspection(path)).splitlines()
    assert unknown[:3] == [
        "format           unknown",
        "space            unknown",
        "subject          unknown",
    ]


def test_a_command_says_what_it_has_done(path, tmp_path, capsys):
    assert main(["ledger", "repair", str(path)]) == 0
    assert capsys.readouterr().out == f"'{path}' is sound; nothing was changed\n"
    output = tmp_path / "b.ledger"
    assert main(["ledger", "repair", str(path), "--output", str(output)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"'{output}' keeps 4 rows, each of which matches its checksum",
        "dropped: 0 rows that could be read but did not match; a run asks for them again",
    ]
    sql(path, "UPDATE test SET outcome = 'no' WHERE key = x'61'")
    assert main(["ledger", "repair", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"'{path}' keeps 3 rows")
    assert lines[1].startswith("dropped: 1 row that")
    assert lines[2:] == [f"'{path}.damaged-1' is the file as it was"]
    assert main(["ledger", "compact", str(path)]) == 0
    size = f"{path.stat().st_size:,}"
    assert capsys.readouterr().out == f"'{path}' has {size} bytes now, of {size} before\n"


@pytest.mark.parametrize("action", ["check", "compact"])
def test_options_of_a_repair_are_refused_elsewhere(path, action, capsys):
    assert main(["ledger", action, str(path), "-o", "b.ledger"]) == 2
    assert "--output is for evenhand ledger repair alone" in capsys.readouterr().err
    assert main(["ledger", action, str(path), "--adopt"]) == 2
    assert "--adopt is for evenhand ledger repair alone" in capsys.readouterr().err
