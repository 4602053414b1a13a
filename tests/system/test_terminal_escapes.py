"""What others wrote is text wherever it is shown: it neither moves a cursor nor renames a window.

The same payload stands in names of columns, levels, checks, files and options, and is what programs
print, services answer and functions raise.
"""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import textwrap
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.formats import FORMATS
from evenhand.runtime.budget import Budget
from evenhand.runtime.errors import EvenhandError, EvenhandWarning
from tests.support.formats import QUICK, content_text
from tests.support.helpers import SPACE, collect, people
from tests.unit.subject.adapters.service import LoopbackService, serving

WINDOW = "\x1b]0;owned\x07"
PAYLOAD = f"{WINDOW}\x1b[2Jx\x9b31m\u202e\u200b[red]::error::%0A<b>"
WITH_LINES = f"{PAYLOAD}\r\n::error title=owned::y\r\n"
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
OUR_STYLES = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[0-9]*[AK]|\r")
"""What rich itself sends to a terminal: colours, and the lines of a progress bar."""


def assert_text(shown: str) -> None:
    """Check that there is no control character but the end of a line."""
    found = HIDDEN.search(shown)
    around = "" if found is None else shown[max(0, found.start() - 80) : found.end() + 40]
    assert found is None, repr(around)


def level_space() -> eh.Space:
    features = [
        eh.category(f"sex{PAYLOAD}", [f"F{PAYLOAD}", f"M{WITH_LINES}"]),
        eh.integer("age", 18, 60),
    ]
    return eh.Space(features, protected=[f"sex{PAYLOAD}"])


def lend(frame):
    is_woman = frame[f"sex{PAYLOAD}"].astype(str).str.startswith("F").to_numpy()
    accepted = frame["age"].to_numpy() + 10 * is_woman > 40
    return np.where(accepted, f"yes{PAYLOAD}", f"no{WITH_LINES}")


# Errors and warnings


@pytest.mark.parametrize("kind", [EvenhandError, *EvenhandError.__subclasses__()])
def test_every_error_says_it_as_text(kind):
    error = kind(f"the file '{PAYLOAD}' is none")
    assert_text(str(error))
    assert r"\x1b]0;owned\x07" in str(error)


def test_every_warning_says_it_as_text():
    assert_text(str(EvenhandWarning(PAYLOAD)))


PROGRAM = """
import sys
text = {text!r}
mode = sys.argv[1]
if mode == "dies":
    sys.stderr.write(text)
    sys.exit(3)
if mode == "bytes":
    sys.stdout.buffer.write(b"\\xff\\x1b[2J\\n")
elif mode == "lines":
    print(text + "\\n" + text)
elif mode == "long":
    print(text * 100_000)
elif mode == "hangs":
    sys.stderr.write(text)
    sys.stderr.flush()
    import time
    time.sleep(60)
sys.stdout.flush()
"""


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(text=WITH_LINES))
    return str(file)


@pytest.mark.parametrize("mode", ["dies", "bytes", "lines", "long", "hangs"])
@pytest.mark.parametrize("kind", ["command", "stream"])
def test_what_a_program_prints(program, kind, mode):
    argv = [sys.executable, program, mode]
    options = {"timeout": 1.5}
    if kind == "command":
        argv += ["{*}"]
    else:
        options["restarts"] = 0
    with eh.Subject.of(kind, argv, SPACE, **options) as subject:
        _, error = collect(subject.adapter, people(1))
    assert error is not None
    assert_text(str(error))
    assert "owned" in str(error) or "ff" in str(error) or kind == "stream"


@pytest.mark.parametrize("status", [200, 302, 400, 503])
def test_what_a_service_answers(status):
    server = LoopbackService()
    # As it is on the wire, where names and reasons are Latin-1.
    latin = WINDOW + "\x9b31m"
    server.answer = lambda handler, *_: handler.wfile.write(
        f"HTTP/1.1 {status} {latin}\r\nLocation: {latin}\r\nContent-Length: 60\r\n\r\n".encode(
            "latin-1"
        )
        + f"{PAYLOAD}{'.' * 60}".encode()[:60]
    )
    with serving(server):
        subject = eh.Subject.http(server.url, SPACE, retries=0)
        _, error = collect(subject.adapter, people(1))
        subject.close()
    assert_text(str(error))
    assert "owned" in str(error)


def test_what_a_function_raises():
    def fail(_frame):
        raise ValueError(WITH_LINES)

    with pytest.raises(eh.SubjectError) as caught:
        eh.Subject(fail, SPACE).decide([{"sex": "F", "age": 1}])
    assert_text(str(caught.value))


# The command line

CONFIG = """
[subject]
function = "rules:{function}"
positive = {positive}
[space]
protected = [{column}]
[space.features.{column}]
levels = [{women}, {men}]
[space.features.age]
low = 18
high = 60
[[checks]]
job = "measure"
over = [{check}]
limit = 0.05
[[checks]]
job = "search"
queries = 200
[[checks]]
job = "subsets"
limit = 0.5
"""
RULES = """
import warnings
import numpy as np

WORD = {word!r}

def lend(frame):
    is_woman = frame["sex" + WORD].astype(str).str.startswith("F").to_numpy()
    accepted = frame["age"].to_numpy() + 10 * is_woman > 40
    return np.where(accepted, "yes" + WORD, "no" + WORD)

def fail(frame):
    raise ValueError(WORD)

def warn(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(WORD)
    return lend(frame)
"""


def toml(text: str) -> str:
    return json.dumps(text).replace("\x7f", "\\u007f")


@pytest.fixture
def config(tmp_path):
    """Write a configuration whose every text is the payload, and the software that it names."""

    def write(function: str = "lend", **fields: str):
        names = {
            "positive": f"yes{WITH_LINES}",
            "column": f"sex{WITH_LINES}",
            "women": f"F{WITH_LINES}",
            "men": f"M{WITH_LINES}",
            "check": f"sex{WITH_LINES}",
        }
        written = {name: toml(text) for name, text in (names | fields).items()}
        file = tmp_path / "evenhand.toml"
        file.write_text(CONFIG.format(function=function, **written))
        (tmp_path / "rules.py").write_text(RULES.format(word=WITH_LINES))
        return file

    return write


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    """Run the command line in this process; return its exit code and all that it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "rules", raising=False)

    def run(*words: str) -> tuple[int, str]:
        code = main(list(words))
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return run


@pytest.mark.parametrize("verb", ["measure", "search", "subsets", "audit", "plan"])
def test_a_verb_prints_text(config, shell, verb):
    config()
    code, shown = shell(verb)
    assert code in (0, 1, 3)
    assert_text(shown)
    assert "owned" in shown


@pytest.mark.parametrize("function", ["fail", "warn"])
def test_software_that_raises_or_warns(config, shell, function):
    config(function)
    code, shown = shell("measure")
    assert code == (4 if function == "fail" else 1)
    assert_text(shown)
    assert "owned" in shown


@pytest.mark.parametrize(
    "fields", [{"positive": "other"}, {"women": f"M{WITH_LINES}"}, {"check": PAYLOAD}]
)
def test_mistakes_in_a_configuration(config, shell, fields):
    config(**fields)
    _, shown = shell("measure")
    assert_text(shown)


@pytest.mark.parametrize(
    "words",
    [
        [PAYLOAD],
        ["measure", PAYLOAD],
        ["measure", f"--{PAYLOAD}"],
        ["measure", "--over", PAYLOAD],
        ["measure", "--seed", PAYLOAD],
        ["audit", "-o", f"{PAYLOAD}/x.html"],
        ["replay", f"{PAYLOAD}.json"],
        ["report", f"{PAYLOAD}.json", "-o", "x.html"],
        ["data", "fetch", PAYLOAD],
        ["impact", f"{PAYLOAD}.csv", "--outcome", PAYLOAD, "--over", "sex"],
        ["init", f"{PAYLOAD}.csv"],
        ["study", f"{PAYLOAD}.toml"],
    ],
)
def test_words_of_the_command_line(config, shell, words):
    config()
    code, shown = shell(*words)
    assert code == 2
    assert_text(shown)


def test_files_with_such_names(config, shell, tmp_path):
    config()
    shell("audit", "--json", "audit.json")
    code, shown = shell("report", "audit.json", "-o", "\x1b[2Jx.html")
    assert code == 0
    assert_text(shown)
    pd.DataFrame(
        {f"sex{PAYLOAD}": ["F", "M"] * 20, "age": range(40), "y": [0, 1] * 20}
    ).to_csv(tmp_path / "\x1b[2J.csv", index=False)
    code, shown = shell("init", "\x1b[2J.csv", "--target", "y", "-o", "\x1b[2J.toml")
    assert_text(shown)


def test_recorded_decisions(shell, tmp_path):
    rows = {
        f"sex{PAYLOAD}": [f"F{PAYLOAD}", f"M{PAYLOAD}"] * 50,
        "approved": [f"y{PAYLOAD}", f"n{PAYLOAD}", f"n{PAYLOAD}", f"y{PAYLOAD}"] * 25,
    }
    pd.DataFrame(rows).to_csv(tmp_path / "log.csv", index=False)
    over = ["--over", f"sex{PAYLOAD}", "--positive", f"y{PAYLOAD}"]
    for verb in ("impact", "measure-log", "mine-log", "audit"):
        code, shown = shell(verb, "log.csv", "--outcome", "approved", *over)
        assert code in (0, 1, 2, 3)
        assert_text(shown)


def test_annotations_of_github_are_not_forged(config, shell, monkeypatch):
    config()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    _, shown = shell("audit")
    assert_text(shown)
    commands = [line for line in shown.splitlines() if line.startswith("::")]
    assert commands
    for line in commands:
        assert "title=evenhand" in line


@pytest.mark.parametrize("name", QUICK)
def test_every_format_of_an_audit(name):
    checks = [{"job": "measure", "limit": 0.05}, {"job": "search", "limit": 0}]
    found = eh.audit(
        eh.Subject(lend, level_space()), level_space(), checks=checks, budget=Budget(300)
    )
    text = content_text(FORMATS[name].render(found))
    if name == "junit":
        ElementTree.fromstring(text)
    if name == "json":
        # A program reads it: the text is kept, and JSON has its own escapes.
        assert "\x1b" not in text
        return
    assert_text(text.replace("\t", " "))
    assert "owned" in text


def test_a_result_in_python():
    found = eh.measure(eh.Subject(lend, level_space()), limit=0.05)
    with pytest.raises(AssertionError) as caught:
        found.check()
    assert_text(str(caught.value))
    assert "owned" in str(caught.value)


def test_a_failure_under_pytest(tmp_path):
    module = tmp_path / "test_lender.py"
    module.write_text(
        textwrap.dedent("""
        import evenhand as eh
        from tests.system.test_terminal_escapes import lend, level_space

        def test_lender(fairness):
            fairness.measure(eh.Subject(lend, level_space()), limit=0.05).check()
        """)
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*command, str(module)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "owned" in done.stdout
    assert_text(done.stdout + done.stderr)


# A terminal


def on_terminal(code: str, folder: os.PathLike[str], *words: str) -> str:
    """Run Python with a terminal as its standard output and error; return what it showed."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    environment.pop("CI", None)
    command = [sys.executable, "-c", code, *words]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder
    ) as process:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # Linux ends a terminal that nobody holds with an error
                break
            if not part:
                break
            parts.append(part)
        process.wait(60)
    os.close(ours)
    return b"".join(parts).decode("utf-8", "replace")


def test_a_terminal_in_colour(config, tmp_path):
    config("warn")
    code = "import sys; from evenhand.cli.main import main; sys.exit(main(sys.argv[1:]))"
    shown = on_terminal(code, tmp_path, "audit")
    assert "\x1b[" in shown
    assert "owned" in shown
    assert_text(OUR_STYLES.sub("", shown))


def test_a_bar_of_progress(tmp_path):
    code = textwrap.dedent("""
        import time
        from evenhand.runtime.progress import Progress, TerminalScreen
        from tests.system.test_terminal_escapes import PAYLOAD
        screen = TerminalScreen()
        screen.draw({PAYLOAD: Progress(PAYLOAD, 0.5, PAYLOAD + "[/]")})
        time.sleep(0.3)
        screen.close()
    """)
    shown = on_terminal(code, tmp_path)
    assert "owned" in shown
    assert "Error" not in shown
    assert_text(OUR_STYLES.sub("", shown))
