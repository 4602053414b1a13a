"""One process that reads lines of JSON: what it is sent, what it answers, and how it dies."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import pytest

from evenhand.runtime.errors import BadOutcome, SubjectCrashed
from evenhand.subject.adapters.line_process import Child, _reply, end, readable, wait
from evenhand.subject.adapters.process import Program
from tests.support.helpers import alive, gone, refused

ECHO = "while read line; do echo yes; done"
SOON = 20.0
"""Seconds that are not waited for unless something is wrong."""


@pytest.fixture
def started():
    """Start programs of the shell, and kill them in the end."""
    made: list[Child] = []

    def make(body: str, *, todo: int = 0, outputs: tuple[str, ...] = ()) -> Child:
        program = Program.of(("sh", "-c", body), None, None)
        child = Child(program, outputs)
        child.todo = deque((row, b'{"age": %d}\n' % row) for row in range(todo))
        made.append(child)
        return child

    yield make
    for child in made:
        child.kill()


def heard(child: Child, answers: list[Any]) -> bool:
    """Wait for a process to say something, and read it."""
    ((_, ready),) = wait([child], time.monotonic() + SOON)
    assert ready
    return child.read(answers)


def rows(tasks: deque[Any]) -> list[int]:
    return [row for row, _ in tasks]


def test_as_much_is_sent_as_the_window_allows(started):
    child = started(ECHO, todo=5)
    assert child.busy is True
    child.send(3)
    assert rows(child.sent) == [0, 1, 2]
    assert rows(child.todo) == [3, 4]
    child.send(3)
    assert rows(child.sent) == [0, 1, 2]
    answers: list[Any] = []
    while len(answers) < 3:
        assert heard(child, answers) is True
    assert answers == [(0, "yes"), (1, "yes"), (2, "yes")]
    assert child.busy is True
    child.send(3)
    assert rows(child.sent) == [3, 4]
    while len(answers) < 5:
        heard(child, answers)
    assert child.busy is False
    assert child.blocked == -1


def test_what_the_pipe_does_not_take_is_kept(started):
    child = started("sleep 60")
    line = b'{"name": "' + b"x" * 1_000_000 + b'"}\n'
    child.todo = deque([(0, line)])
    child.send(1)
    assert child.blocked >= 0
    assert rows(child.sent) == [0]
    child.end_input()
    assert child.blocked == -1


def test_time_counts_from_when_it_owes_an_answer(started):
    child = started(ECHO, todo=2)
    child.since = 0.0
    child.send(1)
    begun = child.since
    assert begun > 0.0
    child.since = 1.0
    child.send(1)
    assert child.since == 1.0
    heard(child, [])
    assert child.since >= begun


def test_part_of_a_line_is_no_answer_yet(started):
    child = started("read line; printf ye; read line; echo s", todo=2)
    answers: list[Any] = []
    child.send(1)
    assert heard(child, answers) is True
    assert answers == []
    child.since = 1.0
    child.todo.popleft()
    child.process.stdin.write(b"\n")
    while not answers:
        heard(child, answers)
    assert answers == [(0, "yes")]
    assert child.since > 1.0


def test_only_an_answer_is_progress(started):
    child = started("read line; printf ye; sleep 60", todo=1)
    child.send(1)
    child.since = 1.0
    heard(child, [])
    assert child.since == 1.0


def test_nothing_printed_is_nothing_read(started):
    child = started("sleep 60", todo=1)
    assert child.take() is None
    answers: list[Any] = []
    assert child.read(answers) is True
    assert answers == []
    assert wait([child], time.monotonic()) == [(child, False)]


def test_a_line_too_many_is_refused(started):
    child = started("echo hello; sleep 60")
    words = "printed more lines than it was given inputs, such as 'hello'"
    refused(BadOutcome, lambda: heard(child, []), words)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("read line; echo", "with an empty line instead of an outcome"),
        (r"read line; printf '\377\n'", "with text that is not UTF-8: '\\xff'"),
    ],
)
def test_a_line_that_is_no_answer_names_the_input(started, body, words):
    child = started(body, todo=2)
    child.send(1)
    refused(BadOutcome, lambda: heard(child, []), 'answered {"age": 0}', words)
    assert rows(child.sent) == [0]


def test_a_line_without_end_is_refused(started):
    child = started("read line; head -c 1048577 /dev/zero; sleep 60", todo=1)
    child.send(1)

    def listen() -> None:
        while True:
            heard(child, [])

    refused(BadOutcome, listen, 'answered {"age": 0} with over 1048576 bytes')


def test_several_outputs_are_read_from_one_line(started):
    body = """read line; echo '{"a": 1, "b": "x"}'"""
    child = started(body, todo=1, outputs=("b", "a"))
    child.send(1)
    answers: list[Any] = []
    heard(child, answers)
    assert answers == [(0, ("x", 1))]


# Its death


def test_a_dead_process_gives_back_what_it_did_not_answer(started):
    child = started("read line; echo yes; read line; echo no more >&2; exit 3", todo=4)
    child.send(3)
    answers: list[Any] = []
    while heard(child, answers):
        pass
    assert answers == [(0, "yes")]
    child.bury(1)
    assert child.alive is False
    assert rows(child.sent) == []
    assert rows(child.todo) == [1, 2, 3]
    # From then on inputs go one by one.
    child.send(3)
    assert child.alive is True
    assert rows(child.sent) == [1]


def test_deaths_without_an_answer_are_counted(started):
    child = started("read line; echo no more >&2; exit 3", todo=2)
    for _ in range(2):
        child.send(3)
        while heard(child, []):
            pass
        child.bury(2)
    child.send(3)
    while heard(child, []):
        pass
    refused(
        SubjectCrashed,
        lambda: child.bury(2),
        'exited with code 3 without an answer to {"age": 0} (3 in a row)',
        "standard error: no more",
    )


def test_an_answer_between_deaths_starts_the_count_anew(started):
    child = started("read line; echo yes; exit 0", todo=4)
    answers: list[Any] = []
    while child.busy:
        child.send(2)
        while heard(child, answers):
            pass
        child.bury(1)
    assert answers == [(row, "yes") for row in range(4)]


def test_a_death_without_work_is_no_death(started):
    child = started("exit 3")
    while heard(child, []):
        pass
    child.bury(0)
    assert child.alive is False


def test_a_question_is_the_first_without_an_answer(started):
    child = started("sleep 60", todo=3)
    assert child.question() == '{"age": 0}'
    child.send(1)
    child.todo.popleft()
    assert child.question() == '{"age": 0}'


# Its silence


def test_a_silent_process_has_nothing_to_say(started):
    child = started("sleep 60")
    assert child.silent() is True
    assert child.alive is True
    child.kill()
    assert child.silent() is False


def test_a_process_that_has_ended_is_not_silent(started):
    child = started("exit 0")
    assert readable(child.out, SOON) is True
    assert child.silent() is False
    assert child.alive is False


@pytest.mark.parametrize("word", ["hello\\n", "hel"])
def test_a_process_that_says_more_is_killed(started, word):
    child = started(f"printf '{word}'; sleep 60")
    assert readable(child.out, SOON) is True
    refused(BadOutcome, child.silent, "printed more lines", "'hel")
    assert child.alive is False


def test_what_was_left_of_a_line_is_one_too_many(started):
    child = started("read line; printf 'yes\\nmore'; sleep 60", todo=1)
    child.send(1)
    answers: list[Any] = []
    heard(child, answers)
    assert answers == [(0, "yes")]
    assert child.last_output(0.0) == b"more"
    refused(BadOutcome, child.silent, "such as 'more'")


def test_the_last_output_is_what_comes_when_the_input_ends(started):
    assert started("cat; echo bye").last_output(SOON) == b"bye\n"
    assert started("cat").last_output(SOON) == b""
    assert started("cat; echo well >&2; sleep 0.05; echo bye").last_output(SOON) == b"bye\n"
    assert started("sleep 60").last_output(0.05) == b""


def test_the_end_of_what_it_prints_as_errors_is_kept(started):
    child = started(
        "head -c 300000 /dev/zero | tr '\\0' x >&2; printf end >&2; echo; sleep 60"
    )
    until = time.monotonic() + SOON
    while not child.last_errors().endswith(b"end"):
        assert time.monotonic() < until
        wait([child], until)
    assert child.last_errors() == b"x" * (8192 - 3) + b"end"
    assert child.errors >= 0
    closed = started("exec 2>&-; sleep 60")
    while closed.errors >= 0:
        wait([closed], until)
        closed.last_errors()
    assert closed.last_errors() == b""
    assert wait([closed], time.monotonic()) == [(closed, False)]


def test_processes_are_ended_by_the_end_of_their_input(started, tmp_path):
    child = started(f"cat; touch {tmp_path / 'ended'}")
    number = child.process.pid
    children = [child]
    end(children)
    assert children == []
    assert (tmp_path / "ended").exists()
    assert child.process.returncode == 0
    assert gone(number)


def test_killing_ends_the_process_and_its_pipes(started):
    child = started("sleep 60 & wait")
    assert alive(child.process.pid)
    child.kill()
    assert not alive(child.process.pid)
    assert (child.alive, child.errors, child.blocked) == (False, -1, -1)
    for pipe in (child.process.stdin, child.process.stdout, child.process.stderr):
        assert pipe.closed
    child.kill()


def test_nothing_readable_is_not_waited_for(started):
    child = started("sleep 60")
    assert readable(child.out, -1.0) is False
    assert readable(child.out, 0.01) is False


@pytest.mark.parametrize(
    ("line", "answer"),
    [(b" yes \r", "yes"), (b"1", 1), (b"0.5", 0.5), (b"true", True), (b"x" * 64, "x" * 64)],
)
def test_what_a_line_says(line, answer):
    assert _reply(line, ()) == answer
    assert type(_reply(line, ())) is type(answer)
