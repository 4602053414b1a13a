"""The stream adapter with programs of the shell: shares, first answers, failures and ends."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from evenhand.runtime.errors import BadOutcome, SubjectCrashed, SubjectTimeout
from evenhand.subject.adapters.stream import StreamAdapter, _tasks
from tests.support.helpers import SPACE, collect, people, sentence

ECHO = "while read line; do echo yes; done"


@pytest.fixture
def streaming():
    """Make adapters of programs of the shell, and close them."""
    made: list[StreamAdapter] = []

    def make(body: str = ECHO, **options: Any) -> StreamAdapter:
        made.append(StreamAdapter(["sh", "-c", body], **options))
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()


def all_yes(count: int) -> tuple[dict[int, str], None]:
    return dict.fromkeys(range(count), "yes"), None


def test_the_usual_options_of_a_stream(streaming):
    adapter = streaming()
    assert (adapter.workers, adapter.timeout) == (1, 30.0)
    assert (adapter.restarts, adapter.batch) == (3, 1024)
    assert (adapter.expensive, adapter.printed, adapter.own_process) == (True, True, True)
    least = streaming(workers=1, restarts=0, batch=1)
    assert (least.restarts, least.batch) == (0, 1)
    assert streaming(identity="mine").identity == "mine"
    assert adapter.identity.startswith("stream:")


@pytest.mark.parametrize(
    ("workers", "batch", "inputs", "share"),
    [
        (1, 1024, 100, 1024),
        (1, 7, 100, 7),
        (3, 1024, 100, 9),
        (3, 5, 100, 5),
        (2, 1024, 8, 1),
        (2, 1024, 9, 2),
    ],
)
def test_how_many_inputs_a_process_is_dealt(streaming, workers, batch, inputs, share):
    assert streaming(workers=workers, batch=batch)._share(inputs) == share


def test_inputs_are_lines_with_their_rows():
    shares = list(_tasks(people(3, 4, 5), SPACE, 2))
    rows = []
    for share in shares:
        rows.append([row for row, _ in share])
        assert all(line.endswith(b"\n") for _, line in share)
    assert rows == [[0, 1], [2]]
    assert json.loads(shares[1][0][1]) == {"sex": "M", "age": 5}


@pytest.mark.parametrize(("workers", "inputs", "kept"), [(3, 2, 2), (3, 50, 3), (1, 50, 1)])
def test_no_more_processes_run_than_there_are_inputs(streaming, workers, inputs, kept):
    adapter = streaming(workers=workers)
    points = people(*range(inputs))
    # The process of the very first answer is ended.
    assert collect(adapter, points) == all_yes(inputs)
    assert collect(adapter, points) == all_yes(inputs)
    assert len(adapter._idle) == kept
    adapter.close()
    assert adapter._idle == []
    assert collect(adapter, points) == all_yes(inputs)


def test_the_first_process_is_ended_to_see_that_it_says_no_more(streaming):
    adapter = streaming(f"{ECHO}; echo bye")
    found, error = collect(adapter, people(1, 2))
    assert found == {}
    assert type(error) is BadOutcome
    assert "such as 'bye'" in sentence(error)


def test_part_of_a_line_too_many_is_seen_at_the_end_of_a_run(streaming, tmp_path):
    flag = tmp_path / "flag"
    chatty = "while read line; do printf 'yes\\nmore'; done"
    adapter = streaming(f"if [ -e {flag} ]; then {chatty}; else touch {flag}; {ECHO}; fi")
    assert collect(adapter, people(1)) == all_yes(1)
    found, error = collect(adapter, people(1))
    assert found == {0: "yes"}
    assert type(error) is BadOutcome
    assert "such as 'more'" in sentence(error)
    assert adapter._idle == []


def test_answers_that_are_held_back_say_so(streaming):
    adapter = streaming("cat > /dev/null; echo yes", timeout=0.1)
    _, error = collect(adapter, people(1))
    assert type(error) is SubjectTimeout
    message = sentence(error)
    assert 'did not answer {"sex": "M", "age": 1} within 0.1 s' in message
    assert "only when its input ended; a program must flush" in message


def test_a_hang_says_what_was_printed(streaming):
    adapter = streaming("echo well >&2; sleep 60", timeout=0.1)
    found, error = collect(adapter, people(1))
    assert found == {}
    assert type(error) is SubjectTimeout
    message = sentence(error)
    assert 'gave no answer to {"sex": "M", "age": 1} within 0.1 s and was killed' in message
    assert message.endswith("(standard error: well)")


@pytest.mark.parametrize(("restarts", "deaths"), [(0, 1), (2, 3)])
def test_a_program_that_dies_is_started_again_so_many_times(
    streaming, tmp_path, restarts, deaths
):
    log = tmp_path / "log"
    adapter = streaming(f"echo x >> {log}; read line; exit 3", restarts=restarts)
    found, error = collect(adapter, people(1, 2))
    assert found == {}
    assert type(error) is SubjectCrashed
    assert f'without an answer to {{"sex": "M", "age": 1}} ({deaths} in a row)' in sentence(
        error
    )
    assert log.read_text() == "x\n" * deaths


def test_outputs_of_several_names_are_records(streaming):
    adapter = streaming("""while read line; do echo '{"a": 1, "b": "x"}'; done""")
    adapter.outputs = ("b", "a")
    for _ in range(2):
        ((rows, outcomes),) = adapter.run(people(1), SPACE)
        assert rows.tolist() == [0]
        assert outcomes["a"].tolist() == [1]
        assert outcomes["b"].tolist() == ["x"]


def test_a_run_that_is_left_early_keeps_no_busy_process(streaming):
    adapter = streaming(batch=1)
    collect(adapter, people(1))
    runs = adapter.run(people(*range(200)), SPACE)
    rows, _ = next(runs)
    assert isinstance(rows, np.ndarray)
    runs.close()
    assert len(adapter._idle) <= 1
    assert collect(adapter, people(1, 2)) == all_yes(2)
