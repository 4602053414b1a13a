"""The stream adapter on real long-lived processes."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import BadOutcome, SubjectCrashed, SubjectTimeout, UsageError
from evenhand.space.feature import Feature, category, date, integer
from evenhand.space.space import Space
from evenhand.subject.adapters.stream import StreamAdapter
from evenhand.subject.subject import Subject
from tests.support.helpers import SPACE, alive, collect, examples, gone, people, sentence

BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
LOOP = """
import json, os, sys, time
for number, line in enumerate(sys.stdin):
    person = json.loads(line)
    age = person["age"]
"""


@pytest.fixture
def program(tmp_path):
    """Write a Python program around the loop over inputs, and close the adapters made of it."""
    made: list[StreamAdapter] = []

    def make(body, *, before="", **options):
        path = tmp_path / f"loan{len(made)}.py"
        indented = "".join(f"    {line}\n" for line in body.split("\n"))
        path.write_text(before + LOOP + indented)
        made.append(
            StreamAdapter([sys.executable, str(path)], **{"env": BUFFERED, **options})
        )
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("batch", [1, 7, 1024])
def test_all_inputs_are_answered_by_the_right_line(program, workers, batch):
    adapter = program("print(2 * age, flush=True)", workers=workers, batch=batch)
    found, error = collect(adapter, people(*range(500)))
    assert error is None
    assert found == {row: 2 * row for row in range(500)}


def test_no_points_start_no_process(program, tmp_path):
    adapter = program("print(1)", before=f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    assert collect(adapter, people()) == ({}, None)
    assert not (tmp_path / "ran").exists()


def test_more_input_and_output_than_pipes_hold(program):
    """Both pipes fill up many times over: a caller that wrote all before it read would wait for
    ever.
    """
    space = Space([category("note", ["x" * 5000])])
    adapter = program(
        "", before="import sys\nfor line in sys.stdin: print('y' * 5000, flush=True)\n"
    )
    found, error = collect(adapter, np.zeros((600, 1)), space)
    assert error is None
    assert len(found) == 600
    assert set(found.values()) == {"y" * 5000}


def test_noisy_standard_error_does_not_block(program):
    adapter = program("print('noise ' * 5000, file=sys.stderr)\nprint(age, flush=True)")
    assert collect(adapter, people(*range(50))) == ({row: row for row in range(50)}, None)


def test_processes_are_kept_between_runs_and_ended_by_close(program):
    adapter = program("print(os.getpid(), flush=True)")
    first, again = (collect(adapter, people(1, 2))[0] for _ in range(2))
    pid = first[1]
    assert again == {0: pid, 1: pid}
    assert gone(first[0])
    assert alive(pid)
    adapter.close()
    assert gone(pid)
    assert collect(adapter, people(1))[0][0] != pid


def test_process_that_ignores_the_end_of_its_input_is_killed(program):
    adapter = program(
        "print(os.getpid(), flush=True)\nif age == 2: time.sleep(300)", batch=2
    )
    pid = collect(adapter, people(1, 2))[0][0]
    adapter.close()
    assert gone(pid)


def test_forgotten_adapter_ends_its_processes(tmp_path):
    path = tmp_path / "loan.py"
    path.write_text(LOOP + "    print(os.getpid(), flush=True)")
    adapter = StreamAdapter([sys.executable, str(path)])
    pid = collect(adapter, people(1))[0][0]
    del adapter
    assert gone(pid)


def test_features_that_are_not_passed_are_not_sent(program):
    space = Space(
        [Feature("race", "category", ("a", "b"), passed=False), integer("age", 0, 99)],
        protected=["race"],
    )
    assert collect(program("print(','.join(person), flush=True)"), people(7), space) == (
        {0: "age"},
        None,
    )


def test_shell_program(tmp_path):
    path = tmp_path / "loan"
    path.write_text(
        '#!/bin/sh\nwhile read -r line; do case "$line" in *\'"M"\'*) echo yes;; *) echo no;; esac;'
        " done\n"
    )
    path.chmod(0o755)
    adapter = StreamAdapter(["./loan"], cwd=tmp_path, workers=2)
    found, error = collect(adapter, people(*range(40)))
    adapter.close()
    assert error is None
    assert found == {row: "yes" if row % 2 else "no" for row in range(40)}


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")
def test_compiled_program(tmp_path):
    source = tmp_path / "loan.c"
    source.write_text(
        "#include <stdio.h>\n#include <string.h>\n"
        "int main(void) { char line[4096]; while (fgets(line, sizeof line, stdin))"
        ' { puts(strstr(line, "\\"M\\"") ? "1" : "0"); fflush(stdout); } return 0; }'
    )
    subprocess.run(["cc", "-o", str(tmp_path / "loan"), str(source)], check=True)
    adapter = StreamAdapter([tmp_path / "loan"])
    found, error = collect(adapter, people(*range(5000)))
    adapter.close()
    assert error is None
    assert found == {row: row % 2 for row in range(5000)}


def test_dead_process_is_started_again_and_asked_the_rest(program, tmp_path):
    """It dies before every seventh answer of a life, so the unanswered inputs are sent to its
    successor.
    """
    lives = tmp_path / "lives"
    adapter = program(
        "if number == 7: os._exit(1)\nprint(age, flush=True)",
        before=f"open({str(lives)!r}, 'a').write('x')\n",
    )
    assert collect(adapter, people(*range(50))) == ({row: row for row in range(50)}, None)
    assert len(lives.read_text()) == 8


def test_process_that_exits_after_each_answer_still_serves(program):
    adapter = program("print(age, flush=True)\nbreak", workers=2)
    assert collect(adapter, people(*range(12))) == ({row: row for row in range(12)}, None)
    assert collect(adapter, people(5)) == ({0: 5}, None)


@pytest.mark.parametrize(
    ("death", "words"),
    [
        (
            "raise ValueError('no such customer')",
            ["exited with code 1", "ValueError: no such customer"],
        ),
        (
            "os.kill(os.getpid(), 11)",
            ["was killed by SIGSEGV", "nothing on standard error"],
        ),
        ("sys.exit()", ["exited with code 0"]),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_input_that_kills_it_again_and_again_is_named(program, death, words, workers):
    adapter = program(
        f"if age == 13: {death}\nprint(age, flush=True)", restarts=2, workers=workers
    )
    found, error = collect(adapter, people(*range(40)))
    assert type(error) is SubjectCrashed
    for word in ['"age": 13', '"sex": "M"', "3 in a row", *words]:
        assert word in sentence(error)
    assert found.items() <= {row: row for row in range(40)}.items()
    assert 13 not in found
    if workers == 1:
        assert set(found) == set(range(13))


def test_the_right_input_is_named_although_answers_were_lost_with_the_process(program):
    """Its unflushed answers die with it, so the first unanswered input is not the one that killed
    it.
    """
    adapter = program(
        "if age == 5: os._exit(9)\nprint(age, flush=number == 0 or age > 5)", restarts=1
    )
    found, error = collect(adapter, people(*range(10)))
    assert isinstance(error, SubjectCrashed)
    assert '"age": 5' in sentence(error)
    assert set(found) == set(range(5))


def test_program_that_cannot_start(program):
    adapter = program("print(1)", before="import no_such_module\n", restarts=1)
    found, error = collect(adapter, people(1, 2))
    assert found == {}
    assert isinstance(error, SubjectCrashed)
    assert "No module named 'no_such_module'" in sentence(error)


def test_hang_is_not_slowness(program):
    slow = program("time.sleep(0.4)\nprint(age, flush=True)", timeout=1.5)
    assert collect(slow, people(*range(5))) == ({row: row for row in range(5)}, None)
    hangs = program(
        "if age == 3: print('zzz', file=sys.stderr); time.sleep(300)\nprint(age, flush=True)",
        timeout=1,
    )
    found, error = collect(hangs, people(*range(9)))
    assert type(error) is SubjectTimeout
    for word in ['"age": 3', "within 1 s", "flush", "zzz"]:
        assert word in sentence(error)
    assert set(found) == {0, 1, 2}


def test_chatter_on_standard_error_is_no_progress(program):
    adapter = program(
        "while True: print('thinking', file=sys.stderr, flush=True); time.sleep(0.01)",
        timeout=0.8,
    )
    _, error = collect(adapter, people(1))
    assert isinstance(error, SubjectTimeout)
    assert "thinking" in sentence(error)


def test_time_that_the_caller_takes_is_not_counted(program):
    adapter = program("time.sleep(0.5 if age else 0)\nprint(age, flush=True)", timeout=1)
    seen = []
    for rows, _ in adapter.run(people(0, 1, 2), SPACE):
        seen += rows.tolist()
        time.sleep(1.2)
    assert seen == [0, 1, 2]


def test_program_that_holds_its_answers_back_must_flush(program):
    for body in ("print(age)", "print(age, flush=number < 3)"):
        found, error = collect(program(body, timeout=1), people(4, 5, 6, 7, 8))
        assert type(error) is SubjectTimeout
        assert (
            "only when its input ended; a program must flush its output after every line"
            in sentence(error)
        )
    assert found == {0: 4, 1: 5, 2: 6, 3: 7, 4: 8}


@pytest.mark.parametrize(
    ("body", "words", "answered"),
    [
        ("print(age if age != 3 else '', flush=True)", ["empty line", '"age": 3'], 3),
        (
            r"os.write(1, b'1\n' if age != 3 else b'\xff\xfe\n')",
            ["not UTF-8", r"\xff\xfe", '"age": 3'],
            3,
        ),
        ("os.write(1, b'1\\n' if age != 3 else b'1' * 2_000_000)", ["1048576 bytes"], 3),
        (
            r"os.write(1, b'1\n' if age != 5 else b'1\ndone\n')",
            ["more lines", "'done'", "ledger"],
            6,
        ),
    ],
)
def test_lines_that_are_no_outcomes(program, body, words, answered):
    found, error = collect(program(body), people(*range(6)))
    assert type(error) is BadOutcome
    for word in words:
        assert word in sentence(error)
    assert len(found) == answered


def test_banner_is_refused_before_any_answer_is_believed(program):
    for before in (
        "print('Loan server 1.0 ready', flush=True)\n",
        "print('Loan server 1.0 ready')\n",
    ):
        found, error = collect(
            program("print(age, flush=True)", before=before), people(*range(6))
        )
        assert type(error) is BadOutcome
        assert "more lines than it was given inputs" in sentence(error)
        assert found == {}


@pytest.mark.parametrize("workers", [1, 2])
def test_banner_of_a_program_that_is_slow_to_load_is_refused(program, workers):
    """The line too many comes long after the first one, which looks like an answer."""
    adapter = program(
        "print(1, flush=True)",
        before="import time\nprint(0, flush=True)\ntime.sleep(1)\n",
        workers=workers,
    )
    found, error = collect(adapter, people(*range(6)))
    assert (found, type(error)) == ({}, BadOutcome)
    assert "such as '1" in sentence(error)


def test_line_after_the_last_answer_is_refused(program):
    """It looks just like the last answer of a program with a banner."""
    adapter = program("print(age, flush=True)\nif not sys.stdin.readline(): print('bye')")
    found, error = collect(adapter, people(1, 2))
    assert (found, type(error)) == ({}, BadOutcome)
    assert "'bye" in sentence(error)


def test_program_that_does_not_exit_is_given_the_time_of_an_answer(program):
    adapter = program(
        "",
        before="""
import json, sys, time
while True:
    line = sys.stdin.readline()
    if line:
        print(json.loads(line)["age"], flush=True)
    time.sleep(0.01)
""",
        timeout=1,
    )
    assert collect(adapter, people(1, 2, 3)) == ({0: 1, 1: 2, 2: 3}, None)


def test_flood_of_errors_at_the_end_does_not_block(program):
    adapter = program(
        "print(age, flush=True)",
        before="import atexit, sys\natexit.register(lambda: sys.stderr.write('x' * 500_000))\n",
    )
    assert collect(adapter, people(1, 2, 3)) == ({0: 1, 1: 2, 2: 3}, None)


def test_line_too_many_is_seen_by_the_next_run(program):
    adapter = program(
        "print(age, flush=True)\nif age == 5:\n    time.sleep(0.3); print('done', flush=True)"
    )
    assert collect(adapter, people(4, 5)) == ({0: 4, 1: 5}, None)
    time.sleep(1)
    found, error = collect(adapter, people(6))
    assert (found, type(error)) == ({}, BadOutcome)
    assert "'done'" in sentence(error)
    assert collect(adapter, people(6)) == ({0: 6}, None)


def test_failure_of_one_process_keeps_the_answers_of_the_others(program):
    adapter = program(
        "if age == 0: time.sleep(300)\nprint(age, flush=True)",
        workers=2,
        timeout=1,
        batch=4,
    )
    found, error = collect(adapter, people(*range(200)))
    assert type(error) is SubjectTimeout
    assert {row: row for row in range(50, 60)}.items() <= found.items()


def test_caller_that_stops_early_leaves_no_process(program):
    adapter = program("print(os.getpid(), flush=True)\ntime.sleep(0.2)")
    answers = adapter.run(people(*range(50)), SPACE)
    _, outcomes = next(answers)
    answers.close()
    assert gone(int(outcomes[0]))


def test_programs_that_cannot_be_run(tmp_path):
    with pytest.raises(UsageError, match="not on the PATH"):
        StreamAdapter(["no-such-loan-program"])
    with pytest.raises(UsageError, match="does not exist"):
        StreamAdapter(["./no-such-loan"])
    path = tmp_path / "loan"
    path.write_bytes(b"\x00\x01 no program")
    path.chmod(0o755)
    _, error = collect(StreamAdapter([path]), people(1))
    assert isinstance(error, UsageError)
    assert "#!/bin/sh" in sentence(error)


def test_inputs_that_are_no_json():
    with pytest.raises(UsageError, match=r"'rate'.*inf"):
        StreamAdapter(["/bin/cat"]).check(Space([category("rate", [1.0, float("inf")])]))
    with pytest.raises(UsageError, match="passed=True"):
        StreamAdapter(["/bin/cat"]).check(
            Space([Feature("race", "category", ("a", "b"), passed=False)])
        )


@pytest.mark.parametrize(
    "options", [{"workers": 0}, {"batch": 0}, {"restarts": -1}, {"timeout": -1}]
)
def test_bad_options(options):
    with pytest.raises(UsageError, match=next(iter(options))):
        StreamAdapter(["/bin/cat"], **options)


def test_pickled_while_processes_run(program):
    adapter = program("print(age, flush=True)", workers=2)
    collect(adapter, people(1, 2))
    twin = pickle.loads(pickle.dumps(adapter))
    assert (twin.identity, twin.workers, twin.expensive) == (adapter.identity, 2, True)
    assert twin.identity.startswith("stream:[")
    assert collect(twin, people(3)) == ({0: 3}, None)
    twin.close()


def _answer_in_fork(adapter, queue):
    queue.put(collect(adapter, people(3))[0])
    adapter.close()


def test_fork_uses_processes_of_its_own(program):
    adapter = program("print(os.getpid(), flush=True)")
    ours = collect(adapter, people(1, 2))[0][1]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_answer_in_fork, args=(adapter, queue))
    child.start()
    assert queue.get(timeout=30)[0] != ours
    child.join()
    assert collect(adapter, people(2))[0][0] == ours


def test_processes_end_with_a_killed_parent(tmp_path):
    loan, parent = tmp_path / "loan.py", tmp_path / "parent.py"
    loan.write_text(LOOP + "    print(os.getpid(), flush=True)")
    parent.write_text(
        "import os, sys, numpy as np\nfrom evenhand.subject.adapters.stream import"
        " StreamAdapter\nfrom evenhand.space.feature import integer\nfrom evenhand.space.space"
        f" import Space\nadapter = StreamAdapter([sys.executable, {str(loan)!r}])\nfor _, pids in"
        " adapter.run(np.array([[1.0]]), Space([integer('age', 0, 9)])): print(pids[0],"
        " flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, str(parent)], capture_output=True, check=False)
    assert ended.returncode == -9, ended.stderr
    assert gone(int(ended.stdout))


@pytest.fixture(scope="module")
def mirror(tmp_path_factory):
    """A program that answers with the bytes of the name it was given, as hexadecimal digits."""
    path = tmp_path_factory.mktemp("mirror") / "mirror.py"
    path.write_text(
        "import json, sys\nfor line in sys.stdin:\n    (item,) = json.loads(line).items()\n   "
        " print('x' + '-'.join(text.encode('utf-8', 'surrogatepass').hex() for text in item),"
        " flush=True)"
    )
    adapter = StreamAdapter([sys.executable, str(path)])
    yield adapter
    adapter.close()


@settings(max_examples=examples(60), deadline=None)
@given(
    name=st.text(min_size=1, max_size=8),
    levels=st.lists(st.text(max_size=12), min_size=1, max_size=6, unique=True),
)
def test_any_text_arrives_byte_for_byte(mirror, name, levels):
    space = Space([category(name, levels)])
    found, error = collect(mirror, np.arange(len(levels), dtype=np.float64)[:, None], space)
    assert error is None
    for row, level in enumerate(levels):
        assert found[row] == "x" + "-".join(
            text.encode("utf-8", "surrogatepass").hex() for text in (name, level)
        )


def test_environment_is_given(program):
    adapter = program(
        "print(os.environ['SCORE'], flush=True)", env={**os.environ, "SCORE": "7"}
    )
    assert collect(adapter, people(1)) == ({0: 7}, None)


def test_missing_values_and_dates_are_json(tmp_path):
    program = tmp_path / "same.py"
    program.write_text(
        "import json, sys\nfor line in sys.stdin:\n    one = json.loads(line)\n"
        "    print(json.dumps(f\"{one['sex']} {one['day']}\"), flush=True)\n"
    )
    space = Space(
        [
            category("sex", ["F", "M"], missing=True),
            date("day", "2020-01-01", "2020-12-31", missing=True),
        ]
    )
    records = [{"sex": None, "day": "2020-02-29"}, {"sex": "M", "day": None}]
    with Subject.stream([sys.executable, str(program)], space) as subject:
        assert subject.decide(records).tolist() == ["None 2020-02-29", "M None"]
