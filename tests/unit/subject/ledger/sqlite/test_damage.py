"""Damaged ledgers: no wrong answer is ever recalled as if nothing had happened."""

from __future__ import annotations

import random
import sqlite3

import pytest

from evenhand.runtime.errors import LedgerError
from evenhand.subject.ledger import Ledger
from tests.support import ledger_damage
from tests.support.ledger_damage import SPACE, SUBJECT, campaign, recalled, tally, written


def check_no_silent_damage(found):
    bad = [damage for damage in found if damage.outcome not in ("refused", "right")]
    assert bad == []
    for damage in found:
        assert "\n" not in damage.sentence
    counts = tally(found)
    # Damage that nothing notices would be no test: each of these kinds must be seen.
    for kind in ("edit_answer", "swap_answers", "edit_key", "copy_rows"):
        assert set(counts[kind]) == {"refused"}, kind
    assert set(counts["delete_rows"]) == {"right"}


def test_no_damaged_ledger_gives_a_wrong_answer(tmp_path):
    check_no_silent_damage(campaign(tmp_path, 104))


@pytest.mark.slow
def test_no_damaged_ledger_of_many_gives_a_wrong_answer(tmp_path):
    check_no_silent_damage(campaign(tmp_path, 650, seed=1))


def test_a_damaged_row_is_counted_and_the_repair_is_named(tmp_path):
    path = tmp_path / "my loans.db"
    expected = {b"%d" % number: "deny" for number in range(10)}
    written(path, expected)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE test SET outcome = 'approve' WHERE key IN ('1', '2')")
        connection.execute(
            "UPDATE test SET outcome = 'approve' WHERE key IN (?, ?)", (b"1", b"2")
        )
    connection.close()
    outcome, sentence = recalled(path, expected)
    assert outcome == "refused"
    assert "2 of 10 rows read so far do not match their checksum" in sentence
    assert f"run 'evenhand ledger repair '{path}'" in sentence
    # Nothing was repaired or overwritten on the way.
    assert recalled(path, expected) == (outcome, sentence)


def test_an_answer_of_another_type_is_damage(tmp_path):
    path = tmp_path / "a.db"
    written(path, {b"a": 1})
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE test SET outcome = 1.0")
    connection.close()
    assert recalled(path, {b"a": 1})[0] == "refused"


@pytest.mark.parametrize("name", ["space", "subject"])
def test_a_changed_head_does_not_let_a_ledger_serve_another(tmp_path, name):
    path = tmp_path / "a.db"
    written(path, {b"a": "deny"})
    others = {"space": SPACE, "subject": SUBJECT} | {name: "another"}
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = 'another' WHERE name = ?", [name])
    connection.close()
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(path, **others)
    # Not even where somebody has made the head fit.
    from evenhand.subject.ledger.checksum import Checksum

    head = Checksum(**others).head
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'checksum'", [head])
    connection.close()
    with Ledger(path, **others) as ledger, pytest.raises(LedgerError, match="1 of 1 rows"):
        ledger.known([b"a"])


def test_a_file_whose_tables_are_gone_is_not_begun_anew(tmp_path):
    path = tmp_path / "a.db"
    written(path, {b"%d" % number: "deny" for number in range(100)})
    content = bytearray(path.read_bytes())
    content[103:105] = bytes(2)  # the number of rows in the list of tables
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="damaged: it has no tables any more"):
        Ledger(path, space=SPACE, subject=SUBJECT)


def test_every_kind_of_damage_changes_the_file(tmp_path):
    expected = ledger_damage.answers(200)
    for hurt in ledger_damage.KINDS:
        path = tmp_path / f"{hurt.__name__}.db"
        written(path, expected)
        before = path.read_bytes()
        hurt(path, random.Random(3))
        assert path.read_bytes() != before or (tmp_path / f"{path.name}-wal").exists()


def test_a_ledger_that_was_replaced_during_a_run_is_noticed(tmp_path):
    path = tmp_path / "a.db"
    with Ledger(path, space=SPACE, subject=SUBJECT) as ledger:
        ledger.record([b"a"], [1])
        path.rename(tmp_path / "moved.db")
        with pytest.raises(LedgerError, match="removed or replaced during the run"):
            ledger.record([b"b"], [2])
        written(path, {b"c": 3})
        with pytest.raises(LedgerError, match="removed or replaced during the run"):
            ledger.known([b"a"])
    assert recalled(path, {b"c": 3}) == ("right", "")
