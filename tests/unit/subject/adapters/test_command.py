"""The command adapter on real processes: shell scripts, Python scripts and a compiled program."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import BadOutcome, SubjectCrashed, SubjectTimeout, UsageError
from evenhand.space.feature import Feature, category, integer, real
from evenhand.space.space import Space
from evenhand.subject.adapters.command import CommandAdapter, _read, _shown
from evenhand.subject.subject import Subject
from tests.support.helpers import SPACE, collect, examples, gone, people, sentence

BOTH = ["{age}", "{sex}"]


@pytest.fixture
def sh(tmp_path):
    def write(body, name="loan"):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return write


def test_every_input_is_answered_once_by_its_own_process(sh):
    program = sh(
        'if [ "$2" = M ] && [ "$1" -gt 50 ]; then echo approve; else echo deny; fi'
    )
    adapter = CommandAdapter([program, *BOTH])
    points = people(*range(100))
    found, error = collect(adapter, points)
    assert error is None
    assert len(found) == 100
    for row, outcome in found.items():
        is_older_man = row % 2 and row > 50
        assert outcome == ("approve" if is_older_man else "deny")


def test_a_missing_value_is_an_empty_argument_or_the_given_word(sh):
    space = Space([category("sex", ["F", "M"], missing=True), integer("age", 18, 20)])
    points = np.array([[2.0, 18.0], [0.0, 19.0]])
    argv = [sh('echo "<$1>$2"'), "{sex}", "{age}"]
    empty = Subject.command(argv, space)
    assert empty.decide(points).tolist() == ["<>18", "<F>19"]
    named = Subject.command(argv, space, missing="NA")
    assert named.decide(points).tolist() == ["<NA>18", "<F>19"]
    # Another word is another input, which a ledger must not take for the same.
    assert empty.adapter.identity != named.adapter.identity
    with pytest.raises(UsageError, match="missing = 3"):
        CommandAdapter(argv, missing=3)  # type: ignore[arg-type]


def test_no_points_start_no_process(sh, tmp_path):
    program = sh(f"touch {tmp_path}/ran; echo 1")
    adapter = CommandAdapter([program, *BOTH])
    found, error = collect(adapter, people())
    assert (found, error) == ({}, None)
    assert not (tmp_path / "ran").exists()


def test_python_script_and_types_of_outcomes(tmp_path):
    script = tmp_path / "score.py"
    script.write_text(
        "import sys; age = int(sys.argv[1])\nprint([7, 0.5, 'true', 'no', '\"7\"'][age])"
    )
    adapter = CommandAdapter([sys.executable, str(script), "{age}"], workers=1)
    space = Space([integer("age", 0, 9)])
    points = people(0, 1, 2, 3, 4)[:, 1:]
    found, error = collect(adapter, points, space)
    assert error is None
    assert [found[row] for row in range(5)] == [7, 0.5, True, "no", "7"]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")
def test_compiled_program(tmp_path):
    source = tmp_path / "loan.c"
    source.write_text(
        "#include <stdio.h>\n#include <stdlib.h>\nint main(int c, char **v) { if (atoi(v[1]) == 13)"
        ' abort(); puts(v[2][0] == \'M\' ? "1" : "0"); return 0; }'
    )
    program = tmp_path / "loan"
    subprocess.run(["cc", "-o", str(program), str(source)], check=True)
    adapter = CommandAdapter(["./loan", *BOTH], cwd=tmp_path, workers=1)
    assert collect(adapter, people(4, 5, 6)) == ({0: 0, 1: 1, 2: 0}, None)
    found, error = collect(adapter, people(4, 13))
    assert found == {0: 0}
    assert isinstance(error, SubjectCrashed)
    assert "SIGABRT" in sentence(error)
    assert "13 M" in str(error)


def test_template_braces_star_and_numbers(sh):
    script = sh('printf "%s|" "$@"')
    space = Space(
        [
            category("a b", ["x y"]),
            real("rate", 0, 1, step=0.1),
            category("flag", [True]),
        ]
    )
    point = np.array([[0.0, 0.3, 0.0]])
    adapter = CommandAdapter([script, "{*}", "{{{a b}}}", "--rate={rate}"])
    found, _ = collect(adapter, point, space)
    assert found[0] == "x y|0.3|True|{x y}|--rate=0.3|"


def test_features_that_are_not_passed_are_not_sent(sh):
    space = Space(
        [Feature("race", "category", ("a", "b"), passed=False), integer("age", 0, 99)],
        protected=["race"],
    )
    adapter = CommandAdapter([sh("echo $#$1"), "{*}"])
    assert collect(adapter, people(7), space) == ({0: 17}, None)
    with pytest.raises(UsageError, match=r"'\{race\}'.*passed=False"):
        CommandAdapter([sh("echo 1"), "{race}", "{age}"]).check(space)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["{agee}", "{sex}"], ["'{agee}'", "did you mean 'age'?"]),
        (["{age}"], ["never receives the feature 'sex'", "'{sex}'", "passed=False"]),
        (["{}", *BOTH], ["'{}'", "valid choices"]),
    ],
)
def test_template_that_does_not_fit_the_space(sh, argv, words):
    adapter = CommandAdapter([sh("echo 1"), *argv])
    found, error = collect(adapter, people(1, 2))
    assert found == {}
    assert isinstance(error, UsageError)
    for word in words:
        assert word in sentence(error)


@pytest.mark.parametrize("argument", ["{age", "age}", "{a{ge}}", "--all={*}"])
def test_template_that_cannot_be_read(sh, argument):
    with pytest.raises(UsageError, match="argument"):
        CommandAdapter([sh("echo 1"), argument])


def test_program_that_is_not_there(tmp_path, sh):
    for argv, words in [
        (["./no-such-loan", *BOTH], "does not exist"),
        (["no-such-loan-program", *BOTH], "not on the PATH"),
        ([str(tmp_path), *BOTH], "does not exist as a file"),
        ([], "empty"),
        (["loan-{sex}", "{age}"], "placeholder"),
    ]:
        with pytest.raises(UsageError, match=words):
            CommandAdapter(argv)
    plain = tmp_path / "plain.txt"
    plain.write_text("echo 1")
    with pytest.raises(UsageError, match=r"not executable; run: chmod \+x .*plain\.txt"):
        CommandAdapter([str(plain), *BOTH])
    with pytest.raises(UsageError, match="must be a list"):
        CommandAdapter("./loan {age} {sex}")
    with pytest.raises(UsageError, match="working directory"):
        CommandAdapter([sh("echo 1"), *BOTH], cwd=tmp_path / "nowhere")


@pytest.mark.parametrize(
    "options", [{"workers": 0}, {"workers": 1.5}, {"timeout": 0}, {"timeout": float("nan")}]
)
def test_bad_options(sh, options):
    with pytest.raises(UsageError, match=next(iter(options))):
        CommandAdapter([sh("echo 1"), *BOTH], **options)


def test_file_that_is_no_program(tmp_path):
    path = tmp_path / "loan"
    path.write_bytes(b"\x00\x01 no program")
    path.chmod(0o755)
    adapter = CommandAdapter([str(path), *BOTH])
    found, error = collect(adapter, people(1))
    assert isinstance(error, UsageError)
    assert "#!/bin/sh" in sentence(error)
    assert found == {}


@pytest.mark.parametrize(("name", "word"), [("a\0b", "null"), ("a\ud800b", "surrogates")])
def test_argument_that_no_program_can_be_given(sh, name, word):
    space = Space([category("name", ["fine", name])])
    adapter = CommandAdapter([sh("echo $1"), "{name}"], workers=1)
    points = np.array([[0.0], [1.0]])
    found, error = collect(adapter, points, space)
    assert found == {0: "fine"}
    assert isinstance(error, UsageError)
    assert word in sentence(error)
    str(error).encode()


FAILURES = [
    ("exit 3", SubjectCrashed, ["exited with code 3", "nothing on standard error"]),
    (
        "echo no such customer >&2; exit 1",
        SubjectCrashed,
        ["exited with code 1", "no such customer"],
    ),
    ("echo 1; echo late >&2; exit 1", SubjectCrashed, ["exited with code 1", "late"]),
    ("kill -SEGV $$", SubjectCrashed, ["was killed by SIGSEGV"]),
    ("true", BadOutcome, ["printed nothing"]),
    ("echo; echo '  '", BadOutcome, ["printed nothing"]),
    ("echo approve; echo deny", BadOutcome, ["2 lines", "approve deny"]),
    (r"printf '\377\376\n'", BadOutcome, ["not UTF-8", r"\xff\xfe"]),
    ("sleep 60", SubjectTimeout, ["no answer within 1 s", "timeout"]),
    ("exec >&- 2>&-; sleep 60", SubjectTimeout, ["no answer within 1 s"]),
    ("echo waiting for Godot >&2; sleep 60", SubjectTimeout, ["waiting for Godot"]),
    (
        "while :; do echo 0123456789012345678901234567890123456789; done",
        BadOutcome,
        ["1048576 bytes"],
    ),
]


@pytest.mark.parametrize(("body", "kind", "words"), FAILURES)
def test_failures_name_the_input_and_keep_what_was_answered(sh, body, kind, words):
    adapter = CommandAdapter(
        [sh(f'if [ "$1" = 13 ]; then {body}; else echo $1; fi'), *BOTH],
        workers=2,
        timeout=1,
    )
    found, error = collect(
        adapter,
        people(
            0,
            1,
            2,
            3,
            13,
            *range(20, 90),
        ),
    )
    assert type(error) is kind
    assert error.exit_code == 4
    assert "loan 13 M" in sentence(error)
    for word in words:
        assert word in str(error)
    assert {0: 0, 1: 1, 2: 2, 3: 3}.items() <= found.items()
    assert 4 not in found


def test_after_a_failure_nothing_new_is_started(sh, tmp_path):
    log = tmp_path / "log"
    adapter = CommandAdapter(
        [sh(f"echo $1 >> {log}; [ $1 -ne 0 ] && echo $1"), *BOTH], workers=2
    )
    found, error = collect(adapter, people(*range(100)))
    assert isinstance(error, SubjectCrashed)
    ran = {int(line) for line in log.read_text().split()}
    assert len(ran) < 50
    assert set(found) == ran - {0}  # whatever was executed and answered was handed on


def test_noisy_standard_error_does_not_block(sh):
    noise = (
        "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789 >&2;"
        " i=$((i+1)); done"
    )
    adapter = CommandAdapter([sh(f"{noise}; echo 1"), *BOTH])
    assert collect(adapter, people(1)) == ({0: 1}, None)


def test_standard_input_is_empty_and_environment_is_given(sh):
    env = {"SCORE": "7", "PATH": os.environ["PATH"]}
    adapter = CommandAdapter([sh('cat; echo "$SCORE"'), *BOTH], env=env)
    assert collect(adapter, people(1)) == ({0: 7}, None)


def test_timeout_kills_the_children_of_the_program_too(sh, tmp_path):
    adapter = CommandAdapter(
        [sh(f"sleep 300 & echo $! > {tmp_path}/pid; wait"), *BOTH], timeout=1
    )
    _, error = collect(adapter, people(1))
    assert isinstance(error, SubjectTimeout)
    assert gone(int((tmp_path / "pid").read_text()))


def test_interrupt_kills_the_processes(sh, tmp_path):
    marker = tmp_path / "pid"
    program = sh(f"echo $$ > {marker}.new; mv {marker}.new {marker}; sleep 300")
    adapter = CommandAdapter([program, *BOTH], workers=1)

    def interrupt():
        while not marker.exists():
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    # Jobs in the background ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            pytest.fail(f"not interrupted but {collect(adapter, people(1, 2))[1]!r}")
    finally:
        signal.signal(signal.SIGINT, before)
    assert gone(int(marker.read_text()))


@pytest.mark.parametrize("begun", [False, True])
def test_interrupt_while_a_thread_is_being_started(sh, tmp_path, monkeypatch, begun):
    start = threading.Thread.start

    def interrupted(thread):
        monkeypatch.undo()
        if begun:
            start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    body = f"echo $$ > {tmp_path}/$1.new; mv {tmp_path}/$1.new {tmp_path}/$1.pid; sleep 300"
    adapter = CommandAdapter([sh(body), *BOTH], workers=2)
    with pytest.raises(KeyboardInterrupt):
        collect(adapter, people(1, 2))
    for path in tmp_path.glob("*.pid"):
        assert gone(int(path.read_text()))


def test_caller_that_stops_early_leaves_no_process(sh, tmp_path):
    body = f"if [ $1 = 0 ]; then echo 0; else echo $$ > {tmp_path}/$1.pid; sleep 300; fi"
    adapter = CommandAdapter([sh(body), *BOTH], workers=2)
    answers: Any = adapter.run(people(0, 1, 2), SPACE)
    next(answers)
    while not list(tmp_path.glob("*.pid")):
        time.sleep(0.01)
    answers.close()
    for path in tmp_path.glob("*.pid"):
        assert gone(int(path.read_text() or 0))


def test_answers_arrive_while_others_are_under_way(sh, tmp_path):
    """The second process waits for a file that is written after the first answer."""
    gate = tmp_path / "gate"
    body = f"if [ $1 = 1 ]; then while [ ! -e {gate} ]; do sleep 0.05; done; fi; echo $1"
    adapter = CommandAdapter([sh(body), *BOTH], workers=2)
    answers = adapter.run(people(0, 1), SPACE)
    rows, outcomes = next(answers)
    assert (rows.tolist(), outcomes.tolist()) == ([0], [0])
    gate.touch()
    assert [rows.tolist() for rows, _ in answers] == [[1]]


def test_identity_follows_the_files(sh, tmp_path):
    script = tmp_path / "loan.py"
    script.write_text("print(1)")
    argv = [sys.executable, str(script), *BOTH]
    before = CommandAdapter(argv).identity
    assert before.startswith("command:[")
    assert CommandAdapter(argv).identity == before
    script.write_text("print(2)")
    assert CommandAdapter(argv).identity != before
    assert CommandAdapter([*argv, "-v"]).identity != before
    named = CommandAdapter(argv, identity="loan 2.0")
    assert (named.identity, named.name) == ("loan 2.0", "loan 2.0")
    assert CommandAdapter(argv).name == "loan.py"


def test_adapter_can_be_pickled(sh):
    adapter = pickle.loads(
        pickle.dumps(CommandAdapter([sh("echo $1"), *BOTH], workers=3, timeout=5))
    )
    assert (adapter.workers, adapter.timeout, adapter.expensive) == (3, 5.0, True)
    assert collect(adapter, people(8)) == ({0: 8}, None)
    adapter.close()


@pytest.fixture(scope="module")
def mirror(tmp_path_factory):
    """A program that prints its argument as hexadecimal digits."""
    path = tmp_path_factory.mktemp("mirror") / "mirror"
    path.write_text(
        "#!/bin/sh\nprintf x; printf '%s' \"$1\" | od -An -v -tx1 | tr -d ' \\n'\n"
    )
    path.chmod(0o755)
    return str(path)


LEVELS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
    | st.sampled_from(
        [
            "",
            " ",
            "'",
            '"',
            "$(id)",
            "`id`",
            "a\nb",
            "--help",
            "{age}",
            "*",
            "\\",
            "é\u2028😀",
        ]
    ),
    min_size=1,
    max_size=6,
    unique=True,
)


@settings(max_examples=examples(15), deadline=None)
@given(levels=LEVELS)
def test_any_text_arrives_byte_for_byte(mirror, levels):
    space = Space([category("name", levels)])
    points = np.arange(len(levels), dtype=np.float64)[:, None]
    found, error = collect(CommandAdapter([mirror, "{name}"]), points, space)
    assert error is None
    assert [found[row] for row in range(len(levels))] == [
        "x" + level.encode().hex() for level in levels
    ]


# Parts of a template, and what a program printed


def echoing(*argv, **options):
    return CommandAdapter(["echo", *argv], **options)


@pytest.mark.parametrize(
    ("argument", "filled"),
    [
        ("{age}", ["30"]),
        ("{*}", ["F", "30"]),
        ("a{age}b{sex}c", ["a30bFc"]),
        ("{{{age}}}", ["{30}"]),
        ("{{age}}", ["{age}"]),
        ("}}{{", ["}{"]),
        ("", [""]),
        ("plain", ["plain"]),
    ],
)
def test_arguments_of_one_input(argument, filled):
    assert echoing(argument).arguments({"sex": "F", "age": 30}) == ["echo", *filled]


def test_a_value_that_is_missing_is_written_as_the_user_says():
    record: Any = {"sex": None, "age": 0}
    assert echoing("{*}").arguments(record) == ["echo", "", "0"]
    assert echoing("{sex}", missing="NA").arguments(record) == ["echo", "NA"]


def test_the_usual_options_of_a_command():
    adapter = echoing("{*}")
    assert adapter.workers == (os.cpu_count() or 1)
    assert (adapter.timeout, adapter.missing) == (30.0, "")
    assert (adapter.expensive, adapter.printed, adapter.own_process) == (True, True, True)
    assert echoing("{*}", workers=1).workers == 1
    assert echoing("{*}", missing="NA").identity == adapter.identity + ":missing=NA"
    assert echoing("{*}", missing="NA", identity="mine").identity == "mine"


def test_the_name_of_a_program_has_no_place_but_may_have_braces(tmp_path):
    with pytest.raises(UsageError, match="may not contain a placeholder"):
        CommandAdapter(["{age}", "{*}"])
    file = tmp_path / "{a}"
    file.write_text("#!/bin/sh\necho $1\n")
    file.chmod(0o755)
    adapter = CommandAdapter([str(tmp_path / "{{a}}"), "{age}", "{sex}"], workers=1)
    assert collect(adapter, people(3)) == ({0: 3}, None)


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("{age", "has a lone '{'; write '{{' for it"),
        ("age}", "has a lone '}'; write '}}' for it"),
        ("x{*}", "joins '{*}' to text"),
        ("{*}{age}", "joins '{*}' to text"),
    ],
)
def test_arguments_that_cannot_be_read(argument, words):
    with pytest.raises(UsageError) as caught:
        echoing(argument)
    assert words in sentence(caught.value)


@pytest.mark.parametrize("argv", [["{*}"], ["{age}", "{sex}"], ["{age}", "{*}"]])
def test_templates_that_fit_a_space(argv):
    echoing(*argv).check(SPACE)


@pytest.mark.parametrize(
    ("printed", "outcome"),
    [(b"yes\n", "yes"), (b"\n 1 \n\n", 1), (b"0.5", 0.5), ("é\n".encode(), "é")],
)
def test_what_a_program_printed(printed, outcome):
    assert _read(printed, ["echo"], ()) == outcome


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        (b"", "the command echo printed nothing"),
        (b" \n\n", "the command echo printed nothing"),
        (b"a\n\nb\n", "the command echo printed 2 lines instead of one outcome: 'a b'"),
        (b"\xff\n", "the command echo printed text that is not UTF-8: '\\xff'"),
        (b"\xff" * 5000, "…'"),
    ],
)
def test_what_is_no_outcome(printed, words):
    with pytest.raises(BadOutcome) as caught:
        _read(printed, ["echo"], ())
    assert words in sentence(caught.value)


def test_a_command_is_shown_as_a_shell_has_it():
    assert _shown(["a b", "c"]) == "'a b' c"
    assert _shown("a b") == "a b"


def test_errors_are_kept_up_to_their_last_bytes(sh):
    program = sh("head -c 20000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 3")
    _, error = collect(CommandAdapter([program, *BOTH], workers=1), people(1))
    assert str(error).endswith("; standard error: …" + "x" * 236 + "end")


@pytest.mark.parametrize(("size", "kind"), [(1 << 20, None), ((1 << 20) + 1, BadOutcome)])
def test_a_mebibyte_may_be_printed_and_no_more(sh, size, kind):
    program = sh(f"head -c {size} /dev/zero | tr '\\0' x")
    found, error = collect(CommandAdapter([program, *BOTH], workers=1), people(1))
    if kind is None:
        assert (found, error) == ({0: "x" * size}, None)
    else:
        assert type(error) is kind
        assert "printed more than 1048576 bytes instead of one line: 'xxx" in sentence(
            error
        )
