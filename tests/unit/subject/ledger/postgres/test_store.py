"""A ledger on a real server, with writers that are killed and a server that stops."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.config.file import Config
from evenhand.runtime.errors import ConfigError, LedgerError, UsageError
from evenhand.subject.ledger import Ledger
from evenhand.subject.ledger.claims import Claims
from evenhand.subject.ledger.copying import copied
from evenhand.subject.ledger.store import Unreachable, store_at
from evenhand.subject.ledger.stored_outcome import stored
from evenhand.subject.subject import Subject
from tests.support.helpers import refused
from tests.support.ledger_damage import answers
from tests.support.ledgers import finished, go, program, started
from tests.support.postgres import Server, running

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(os.name != "posix", reason="runs PostgreSQL and shell scripts"),
]

SPACE = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 0, 199)], ["sex"])


@pytest.fixture(scope="module")
def server():
    with running() as started_server:
        yield started_server


@pytest.fixture
def place(server, request):
    """The address of a ledger that no other test uses."""
    number = zlib.crc32(request.node.name.encode())
    return str(server.address(f"t{number}"))


def sql(server: Server, statement: str, *values: object) -> list[Any]:
    import psycopg

    with psycopg.connect(server.address(), autocommit=True) as connection:
        cursor = connection.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []


def schema_of(place: str) -> str:
    return place.partition("schema=")[2]


def opened(place: str, **options: Any) -> Ledger:
    return Ledger(place, **({"space": "s", "subject": "m"} | options))


def test_every_type_comes_back_as_it_was_and_the_first_answer_stays(place):
    expected = answers(500) | {b"x" * 9000: "é\0", b"nan": 2**80, b"zero": -0.0, b"": ""}
    with opened(place) as ledger:
        ledger.record(list(expected), list(expected.values()))
        ledger.record([b"zero", b"one"], [1, 1])
        ledger.record([], [])
    with opened(place) as ledger:
        back = ledger.known([*expected, b"unknown"])
        assert ledger.known([b"one"]) == {b"one": 1}
        assert len(ledger) == len(expected) + 1
    assert {key: repr(value) for key, value in back.items()} == {
        key: repr(value) for key, value in expected.items()
    }


def test_many_writers_may_be_the_first(place):
    def write(number: int) -> int:
        with opened(place) as ledger:
            keys = [b"%d" % key for key in range(500)]
            ledger.record(keys, [number] * 500)
            return len(set(ledger.known(keys).values()))

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(write, range(6))) == {1}, "one of them wrote all rows"


def test_a_ledger_of_other_software_or_another_program_is_refused(server, place):
    opened(place).close()
    words = "belongs to another space (s, not other)"
    message = refused(LedgerError, lambda: opened(place, space="other"), words)
    assert "name another schema, such as '?schema=loan_2'" in message
    refused(LedgerError, lambda: opened(place, subject="other"), "another subject (m, not")
    sql(server, f"UPDATE {schema_of(place)}.meta SET value = 'x' WHERE name = 'checksum'")
    refused(LedgerError, lambda: opened(place), "space and subject does not match")
    sql(server, f"DROP TABLE {schema_of(place)}.claim")
    refused(LedgerError, lambda: opened(place), "is a database of another program")


def test_a_damaged_row_is_found_and_the_sound_ones_are_saved(
    server, place, tmp_path, capsys
):
    with opened(place) as ledger:
        ledger.record([b"a", b"b", b"c"], ["yes", "no", 3])
    table = f"{schema_of(place)}.test"
    sql(server, f"UPDATE {table} SET outcome = 'tmaybe' WHERE key = 'b'")
    with opened(place) as ledger:
        assert ledger.known([b"a"]) == {b"a": "yes"}
        refused(LedgerError, lambda: ledger.known([b"b"]), "1 of 2 rows read so far")
    assert main(["ledger", "check", place]) == 2
    output, trouble = capsys.readouterr()
    assert "damaged rows     1\n" in output
    assert "1 of 3 rows do not match their checksum" in trouble
    assert main(["ledger", "repair", place]) == 2
    assert "name a file" in capsys.readouterr().err
    saved = tmp_path / "sound.ledger"
    assert main(["ledger", "repair", place, "-o", str(saved)]) == 0
    with opened(str(saved)) as ledger:
        assert ledger.known([b"a", b"b", b"c"]) == {b"a": "yes", b"c": 3}


def test_a_ledger_is_copied_to_a_server_and_back(place, tmp_path, capsys):
    first = tmp_path / "a.ledger"
    expected = answers(700)
    with opened(str(first)) as ledger:
        ledger.record(list(expected), list(expected.values()))
    assert main(["ledger", "copy", str(first), place]) == 0
    assert main(["ledger", "check", place]) == 0
    assert main(["ledger", "compact", place]) == 0
    back = tmp_path / "b.ledger"
    assert copied(store_at(place), back).added == 700
    assert store_at(back).inspected().rows == store_at(first).inspected().rows
    assert store_at(back).inspected().rows == {
        key: stored(value) for key, value in expected.items()
    }
    assert "sesame" not in "".join(capsys.readouterr())


def test_a_result_is_the_same_with_a_ledger_on_a_server(place, tmp_path):
    def loan(people):
        return people["age"] > 40 + 3 * (people["sex"] == "F")

    def digest(ledger: str | None) -> tuple[str, int]:
        with Subject(loan, SPACE, ledger=ledger, identity="loan") as subject:
            found = eh.measure(subject, limit=0.05, seed=3)
        table = found.to_dict()
        spent = table.pop("spent")
        return json.dumps(table, default=str), spent["executed"]

    alone, _ = digest(None)
    in_file, executed = digest(str(tmp_path / "a.ledger"))
    cold, cold_executed = digest(place)
    warm, warm_executed = digest(place)
    assert alone == in_file == cold == warm
    assert executed == cold_executed
    assert warm_executed == 0
    assert "sesame" not in alone + cold


def test_two_writers_run_every_input_once(server, place, tmp_path):
    path, log = program(tmp_path)
    writers = [started(path, place, order) for order in ("forwards", "backwards")]
    for writer in writers:
        go(writer)
    found = [finished(writer) for writer in writers]
    runs = log.read_text().splitlines()
    assert len(runs) == len(set(runs)) == 150
    assert sum(executed for executed, _ in found) == 150
    assert all(executed for executed, _ in found)
    assert found[0][1] == found[1][1]
    assert sql(server, f"SELECT count(*) FROM {schema_of(place)}.claim") == [(0,)]
    assert sql(server, f"SELECT count(*) FROM {schema_of(place)}.claimant") == [(0,)]


def test_the_work_of_a_killed_writer_is_taken_over_and_its_answers_stay(
    server, place, tmp_path
):
    path, log = program(tmp_path, pause=0.01)
    killed = started(path, place)
    go(killed)
    while not log.exists() or len(log.read_text().splitlines()) < 20:
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    (kept,) = sql(server, f"SELECT count(*) FROM {schema_of(place)}.test")[0]
    (claims,) = sql(server, f"SELECT count(*) FROM {schema_of(place)}.claim")[0]
    assert kept
    assert claims, "the kill must come while inputs are claimed"
    before = len(log.read_text().splitlines())
    next_writer = started(path, place)
    go(next_writer)
    executed, answered = finished(next_writer)
    assert executed == 150 - kept
    assert len(answered) == 150
    # Only what was on its way when the kill came has run twice.
    assert before - kept <= 8


def test_a_writer_on_another_machine_is_waited_for_until_its_lease_is_over(
    server, place, monkeypatch
):
    from evenhand.subject.ledger import claims

    with opened(place) as ledger, Claims(ledger) as mine:
        schema = schema_of(place)
        sql(server, f"INSERT INTO {schema}.claimant VALUES (7, 'elsewhere', 1, '1', 1)")
        sql(server, f"INSERT INTO {schema}.claim VALUES ('a', 7), ('b', 7)")
        taken = mine.take([b"a", b"b", b"c"], 9)
        assert (taken.mine, taken.others) == ([b"c"], [b"a", b"b"])
        monkeypatch.setattr(claims, "LEASE", -1.0)
        assert mine.take([b"a", b"b"], 9).mine == [b"a", b"b"]
        mine.beat()
    assert sql(server, f"SELECT * FROM {schema}.claim") == []


def test_threads_and_copies_of_a_ledger_have_connections_of_their_own(place):
    with opened(place) as ledger:
        ledger.record([b"a"], [1])
        copy = pickle.loads(pickle.dumps(ledger))
        with copy:
            assert copy.known([b"a"]) == {b"a": 1}
        assert "sesame" not in repr(vars(ledger)) + repr(vars(ledger.store))
        child = os.fork()
        if not child:
            done = 1
            with contextlib.suppress(BaseException):
                ledger.record([b"child"], [2])
                done = 0
            os._exit(done)
        assert os.waitpid(child, 0)[1] == 0
        assert ledger.known([b"a", b"child"]) == {b"a": 1, b"child": 2}


def test_without_a_right_to_write_or_a_server_a_ledger_is_refused_at_once(server, place):
    sql(server, "CREATE ROLE reader LOGIN PASSWORD 'look only'")
    other = place.replace("tester:open%20sesame", "reader:look%20only")
    message = refused(LedgerError, lambda: opened(other), "cannot be written (permission")
    wrong = place.replace("sesame", "sesamo")
    message = refused(LedgerError, lambda: opened(wrong), "password authentication failed")
    assert "PGPASSWORD" in message
    nowhere = place.replace(str(server.folder), "/nowhere")
    refused(LedgerError, lambda: opened(nowhere), "cannot be reached (", "No such file")
    unknown = place.replace("/postgres?", "/unknown?")
    refused(LedgerError, lambda: opened(unknown), 'database "unknown" does not exist')
    refused(LedgerError, lambda: opened(place + "&colour=red"), 'parameter: "colour"')
    gone = lambda: store_at(server.address("never")).inspected()  # noqa: E731
    refused(LedgerError, gone, "the schema 'never' has no tables")


def test_a_file_of_settings_holds_no_password(server, place, tmp_path, monkeypatch):
    (tmp_path / "loan.py").write_text("def loan(people):\n    return people['age'] > 40\n")
    file = tmp_path / "evenhand.toml"

    def write(address: str) -> None:
        file.write_text(
            f'[subject]\nfunction = "loan:loan"\nidentity = "loan"\nledger = "{address}"\n'
            '[space]\nprotected = ["sex"]\n[space.features]\n'
            'sex = { levels = ["F", "M"] }\n'
            "age = { low = 0, high = 199 }\n"
        )

    write(place)
    words = "[subject] ledger holds a password"
    message = refused(ConfigError, lambda: Config.load(file).software(), words)
    assert "sesame" not in message
    monkeypatch.setenv("PGPASSWORD", server.password)
    write(place.replace(":open%20sesame", ""))
    found = eh.audit(file, checks=[{"job": "measure"}])
    assert found.ledger == place.replace(":open%20sesame", "")
    assert "sesame" not in found.to_json()
    assert sql(server, f"SELECT count(*) > 100 FROM {schema_of(place)}.test") == [(True,)]


def test_a_server_that_restarts_is_waited_for(tmp_path):
    with running() as server, opened(server.address("loan")) as ledger:
        ledger.record([b"a"], [1])
        server.stop(signal.SIGQUIT)  # as if it had crashed
        server.start()
        ledger.record([b"b"], [2])
        assert ledger.known([b"a", b"b"]) == {b"a": 1, b"b": 2}
        with Claims(ledger) as mine:
            assert mine.take([b"c"], 1).mine == [b"c"]
            server.stop()
            server.start()
            mine.beat()
            assert mine.take([b"a", b"d"], 2).mine == [b"d"]


def test_a_server_that_stops_ends_the_run_and_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, log = program(tmp_path, pause=0)
    points = [{"sex": "FM"[age % 2], "age": age} for age in range(120)]
    with running() as server:
        place = server.address("loan", password=False)
        monkeypatch.setenv("PGPASSWORD", server.password)

        def subject() -> Subject:
            command = [path, "{age}", "{sex}"]
            return Subject.command(
                command, SPACE, ledger=place, identity="loan", memo=False
            )

        with subject() as asked:
            asked.decide(points[:40])
            assert asked._ledger is not None
            asked._ledger.store.timeout = 0.3
            server.stop()
            began = time.monotonic()
            message = refused(
                Unreachable,
                lambda: asked.decide(points[40:]),
                "has not been reached for 0.3 s",
            )
            assert time.monotonic() - began < 20
            assert "sesame" not in message
        assert len(log.read_text().splitlines()) == 40, (
            "nothing is asked that is not claimed"
        )
        # Answers that came meanwhile are kept in a file, and copied when the server is back.
        server.start()
        with subject() as asked:
            ledger = asked._ledger
            assert ledger is not None
            ledger.store.timeout = 0.3
            server.stop()
            keys = asked._keys(asked.space.encode(points[40:42]))
            message = refused(
                LedgerError,
                lambda: ledger.record(keys, ["deny", "deny"]),
                "2 answers, is in 'evenhand-unsent-",
                "then run again to resume",
            )
            again = refused(
                LedgerError, lambda: ledger.record(keys[:1], ["deny"]), "1 answer"
            )
        server.start()
        (unsent,) = tmp_path.glob("evenhand-unsent-*.ledger")
        assert unsent.name in again
        assert f"evenhand ledger copy {unsent.name} '{place}'" in message
        assert main(["ledger", "copy", unsent.name, place]) == 0
        log.unlink()
        with subject() as asked:
            asked.decide(points[:45])
        assert len(log.read_text().splitlines()) == 3


def test_a_password_for_the_library_alone(server, place):
    with pytest.raises(UsageError, match="write %40"):
        opened(place.replace("open%20sesame", "open@sesame"))
