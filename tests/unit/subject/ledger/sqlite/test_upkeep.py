"""evenhand ledger check, repair and compact, on real files that are damaged in real ways."""

from __future__ import annotations

import random
import shutil
import sqlite3
from typing import TYPE_CHECKING

import pytest

from evenhand.cli.main import main
from evenhand.runtime.errors import LedgerError
from evenhand.subject.ledger import Ledger
from evenhand.subject.ledger.sqlite.upkeep import _kept_beside
from tests.support.ledger_damage import (
    SPACE,
    SUBJECT,
    answers,
    edit_answer,
    edit_head,
    flip_bits,
    recalled,
    written,
    zero_page,
)

if TYPE_CHECKING:
    from pathlib import Path

OLD = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE test (key BLOB PRIMARY KEY, outcome NOT NULL) WITHOUT ROWID",
)


def sql(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def known(path: Path, keys: list[bytes]) -> dict[bytes, object]:
    with Ledger(path, space=SPACE, subject=SUBJECT) as ledger:
        return dict(ledger.known(keys))


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "loan.ledger"
    written(path, answers(600))
    return path


def test_check_counts_what_is_there(ledger, capsys):
    assert main(["ledger", "check", str(ledger)]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["format"] == "2"
    assert lines["subject"] == SUBJECT
    assert lines["first"] == "answers    480"
    assert lines["further"] == "answers  120"
    assert lines["damaged"] == "rows     0"


def test_check_does_not_change_the_file(ledger):
    before = ledger.read_bytes()
    main(["ledger", "check", str(ledger)])
    assert ledger.read_bytes() == before


def test_damage_is_exit_2_and_one_sentence(ledger, capsys):
    edit_answer(ledger, random.Random(1))
    for action in ("check", "compact"):
        assert main(["ledger", action, str(ledger)]) == 2
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1
        assert "1 of 600 rows do not match their checksum" in captured.err
        assert f"evenhand ledger repair {ledger}" in captured.err


def test_repair_keeps_every_sound_row_and_the_damaged_file(ledger, capsys):
    expected = answers(600)
    edit_answer(ledger, random.Random(1))
    damaged_bytes = ledger.read_bytes()
    assert main(["ledger", "repair", str(ledger)]) == 0
    printed = capsys.readouterr().out
    assert "keeps 599 rows" in printed
    assert "dropped: 1 row" in printed
    assert ledger.with_name("loan.ledger.damaged-1").read_bytes() == damaged_bytes
    assert main(["ledger", "check", str(ledger)]) == 0
    assert recalled(ledger, expected) == ("right", "")
    assert len(known(ledger, list(expected))) == 599
    # A second repair finds nothing to do, and a second damage does not overwrite the first copy.
    assert main(["ledger", "repair", str(ledger)]) == 0
    assert "nothing was changed" in capsys.readouterr().out
    edit_answer(ledger, random.Random(2))
    assert main(["ledger", "repair", str(ledger)]) == 0
    assert ledger.with_name("loan.ledger.damaged-1").read_bytes() == damaged_bytes
    assert ledger.with_name("loan.ledger.damaged-2").exists()


@pytest.mark.parametrize("case", range(12))
def test_rows_are_salvaged_from_what_sqlite_cannot_read(ledger, case, capsys):
    expected = answers(600)
    if case < 4:
        zero_page(ledger, random.Random(case))
    elif case < 8:
        for _ in range(10):
            flip_bits(ledger, random.Random(case))
    elif case < 10:
        edit_head(ledger, random.Random(case))
    else:
        content = bytearray(ledger.read_bytes())
        content[:4096] = bytes(4096)  # the schema is gone, and SQLite reads nothing at all
        ledger.write_bytes(content)
    assert main(["ledger", "repair", str(ledger)]) == 0
    capsys.readouterr()
    assert main(["ledger", "check", str(ledger)]) == 0
    assert recalled(ledger, expected) == ("right", "")
    # A page holds some 60 rows.
    assert len(known(ledger, list(expected))) > 400


def test_rows_of_the_log_and_long_rows_are_salvaged(tmp_path):
    path = tmp_path / "a.db"
    expected = {b"%d" % number: "long " * (500 * number) for number in range(20)}
    ledger = Ledger(path, space=SPACE, subject=SUBJECT)
    ledger.record(list(expected), list(expected.values()))
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    shutil.copy(f"{path}-wal", f"{copy}-wal")
    ledger.close()
    content = bytearray(path.read_bytes())
    content[:4096] = bytes(4096)
    path.write_bytes(content)
    assert main(["ledger", "repair", str(path)]) == 0
    assert known(path, list(expected)) == expected
    short = {key: value for key, value in expected.items() if len(value) < 900}
    content = bytearray(copy.read_bytes())
    content[:16] = bytes(16)
    copy.write_bytes(content)
    assert main(["ledger", "repair", str(copy)]) == 0
    assert known(copy, list(short)) == short


def test_repair_to_another_file_leaves_the_damaged_one_alone(ledger, tmp_path, capsys):
    edit_answer(ledger, random.Random(1))
    before = ledger.read_bytes()
    output = tmp_path / "sound.ledger"
    assert main(["ledger", "repair", str(ledger), "-o", str(output)]) == 0
    assert ledger.read_bytes() == before
    assert recalled(output, answers(600)) == ("right", "")
    assert main(["ledger", "repair", str(ledger), "-o", str(output)]) == 2
    assert "this file exists" in capsys.readouterr().err


def test_a_ledger_without_checksums_is_adopted_only_when_asked(tmp_path, capsys):
    path = tmp_path / "old.ledger"
    sql(
        path,
        *OLD,
        f"INSERT INTO meta VALUES ('format', '1'), ('space', '{SPACE}'), ('subject', '{SUBJECT}')",
        "INSERT INTO test VALUES (x'61', 'yes'), (x'62', 1.5), (x'63', CAST('true' AS BLOB))",
    )
    outcome, sentence = recalled(path, {})
    assert outcome == "refused"
    assert "format 1, whose rows have no checksums" in sentence
    assert f"evenhand ledger repair {path} --adopt" in sentence
    for arguments in (["check"], ["repair"]):
        assert main(["ledger", *arguments, str(path)]) == 2
        assert "--adopt" in capsys.readouterr().err
    assert main(["ledger", "repair", str(path), "--adopt"]) == 0
    assert known(path, [b"a", b"b", b"c"]) == {b"a": "yes", b"b": 1.5, b"c": True}


def test_a_sound_ledger_cannot_pose_as_one_without_checksums(ledger, capsys):
    edit_answer(ledger, random.Random(1))
    sql(ledger, "UPDATE meta SET value = '1' WHERE name = 'format'")
    assert recalled(ledger, answers(600))[0] == "refused"
    assert main(["ledger", "repair", str(ledger), "--adopt"]) == 0
    assert "keeps 599 rows" in capsys.readouterr().out


@pytest.mark.parametrize("action", ["check", "repair", "compact"])
def test_a_newer_format_is_not_touched(ledger, action, capsys):
    sql(ledger, "UPDATE meta SET value = '99' WHERE name IN ('format', 'checksum')")
    assert main(["ledger", action, str(ledger)]) == 2
    assert "has format 99" in capsys.readouterr().err
    assert not list(ledger.parent.glob("*damaged*"))


def test_a_format_that_was_only_damaged_is_repaired(ledger):
    sql(ledger, "UPDATE meta SET value = '3' WHERE name = 'format'")
    assert recalled(ledger, {})[0] == "refused"
    assert main(["ledger", "repair", str(ledger)]) == 0
    assert known(ledger, list(answers(600))) == answers(600)


def test_compact_shrinks_the_file_and_frees_dead_claims(ledger, capsys):
    sql(
        ledger,
        "DELETE FROM test WHERE key > x'40'",
        "INSERT INTO claim VALUES (x'00', 5)",
    )
    main(["ledger", "check", str(ledger)])
    assert "dead claims      1" in capsys.readouterr().out
    before = ledger.stat().st_size
    assert main(["ledger", "compact", str(ledger)]) == 0
    assert ledger.stat().st_size < before
    main(["ledger", "check", str(ledger)])
    assert "dead claims      0" in capsys.readouterr().out


@pytest.mark.parametrize("action", ["check", "repair", "compact"])
def test_what_is_no_ledger_is_left_alone(tmp_path, action, capsys):
    table = tmp_path / "loans.csv"
    table.write_text("age,sex\n" * 1000)
    database = tmp_path / "customers.db"
    sql(database, "CREATE TABLE customers (name TEXT)")
    for file in (table, database, tmp_path, tmp_path / "missing.db"):
        before = file.read_bytes() if file.is_file() else None
        assert main(["ledger", action, str(file)]) == 2
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1
        assert str(file) in captured.err
        assert (file.read_bytes() if file.is_file() else None) == before
    assert not list(tmp_path.glob("*damaged*"))


def test_options_of_repair_are_for_repair(ledger, capsys):
    assert main(["ledger", "check", str(ledger), "--adopt"]) == 2
    assert "--adopt is for evenhand ledger repair alone" in capsys.readouterr().err


def test_a_name_that_is_too_long_for_a_copy_is_one_sentence(tmp_path):
    path = tmp_path / ("a" * 247)
    with Ledger(path, space="s", subject="t") as ledger:
        ledger.record([b"key"], [True])
    with pytest.raises(LedgerError, match="name another file with --output"):
        _kept_beside(path)
