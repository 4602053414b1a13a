"""The command line on the real thing: processes, files, services; the right exit code, one sentence
of complaint.

Each exit code is seen once from a process of its own; what is said for which mistake is asked in
this process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

import evenhand as eh
from evenhand.cli.main import main

SPACE = """
[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features.age]
low = 18
high = 90
"""


@pytest.fixture
def process(tmp_path):
    """Run the command line as a process of its own in an empty folder, and return it finished."""

    def call(*arguments: str, expect: int) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "evenhand.cli.main", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == expect, done.stderr
        return done

    return call


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command line in this process, which saves the second that another takes to start."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "rules", raising=False)

    def call(*arguments: str, expect: int) -> subprocess.CompletedProcess[str]:
        code = main(arguments)
        out, err = (str(text) for text in capsys.readouterr())
        assert code == expect, out + err
        return subprocess.CompletedProcess(arguments, code, out, err)

    return call


@pytest.fixture
def config(tmp_path):
    """Write evenhand.toml with a subject, and return its path."""

    def write(subject: str, space: str = SPACE, name: str = "evenhand.toml") -> str:
        (tmp_path / name).write_text(textwrap.dedent(subject) + space)
        return name

    return write


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    assert done.stderr.startswith("evenhand: "), done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def script(tmp_path, body: str, name: str = "decide.sh") -> None:
    file = tmp_path / name
    file.write_text("#!/bin/sh\n" + body)
    file.chmod(0o755)


COMMAND = (
    '[subject]\ncommand = ["./decide.sh", "{sex}", "{age}"]\npositive = "yes"\nledger ='
    ' "run.ledger"\n'
)


@pytest.mark.parametrize(
    ("body", "code", "verdict"),
    [
        ('if [ "$1" = M ]; then echo yes; else echo no; fi', 1, "fail"),
        ('if [ "$2" -gt 40 ]; then echo yes; else echo no; fi', 0, "pass"),
    ],
)
def test_measure_a_program_and_exit_with_the_verdict(
    process, config, tmp_path, body, code, verdict
):
    script(tmp_path, body)
    config(COMMAND)
    done = process("measure", "--limit", "0.2", "--json", "out.json", expect=code)
    assert done.stderr == ""
    assert verdict.upper() in done.stdout
    result = eh.Result.from_json(tmp_path / "out.json")
    assert result.verdict == verdict
    assert result.exit_code == code


def test_undecided_exits_with_3(process, config, tmp_path):
    script(tmp_path, 'if [ "$2" -gt 40 ]; then echo yes; else echo no; fi')
    config(COMMAND)
    done = process("measure", "--limit", "0.01", "--queries", "60", expect=3)
    assert "UNDECIDED" in done.stdout
    assert "the query budget was spent" in done.stdout


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo gone >&2; exit 7", "exited with code 7"),
        ("kill -SEGV $$", "SIGSEGV"),
        ("true", "printed nothing"),
        ("echo yes; echo no", "2 lines"),
        ("echo NaN", "NaN"),
        ("sleep 30; echo yes", "within 1 s"),
        ("printf '\\377\\n'", "UTF-8"),
    ],
)
def test_a_failing_program_exits_with_4(run, config, tmp_path, body, words):
    script(tmp_path, body)
    config(COMMAND + "timeout = 1\n")
    assert words in complaint(run("measure", expect=4)).replace("nan", "NaN")


@pytest.mark.parametrize("answer", ["0.5", "maybe"])
def test_an_answer_that_cannot_be_the_favourable_one_is_a_mistake_of_the_file(
    run, config, tmp_path, answer
):
    script(tmp_path, f"echo {answer}")
    config(COMMAND)
    complained = complaint(run("measure", "--kind", "group", expect=2))
    assert "positive = 'yes'" in complained
    assert answer in complained


def test_what_was_executed_before_the_crash_is_kept(process, config, tmp_path):
    script(tmp_path, 'if [ "$2" = 77 ]; then exit 9; fi; echo no')
    config(COMMAND)
    assert "77" in complaint(process("measure", "--margin", "0.01", expect=4))
    space = eh.Space.from_toml(tmp_path / "evenhand.toml")
    subject = eh.Subject.command(
        ["./decide.sh", "{sex}", "{age}"],
        space,
        cwd=tmp_path,
        ledger=tmp_path / "run.ledger",
        positive="yes",
    )
    answered = subject._ledger.known(subject._keys(space.enumerate()))  # type: ignore[union-attr]
    assert len(answered) > 10
    assert set(answered.values()) == {"no"}


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ('[subject]\ncommand = ["./missing", "{*}"]\n', "does not exist"),
        ('[subject]\ncommand = ["no-such-program-here", "{*}"]\n', "not on the PATH"),
        ('[subject]\ncommand = ["/bin/echo", "{agee}", "{sex}"]\n', "did you mean 'age'"),
        (
            '[subject]\ncommand = ["/bin/echo", "{age}"]\n',
            "never receives the feature 'sex'",
        ),
        ('[subject]\ncommand = "echo"\n', "must be a list"),
        ('[subject]\ncomand = ["echo"]\n', "exactly one of"),
        (
            '[subject]\ncommand = ["echo", "{*}"]\nhttp = "http://127.0.0.1:1/"\n',
            "command, http",
        ),
        ('[subject]\ncommand = ["echo", "{*}"]\ntimout = 3\n', "did you mean 'timeout'"),
        ('[subject]\ncommand = ["echo", "{*}"]\ntimeout = "x"\n', "timeout"),
        ('[subject]\nestimator = "model.skops"\n', "model.skops"),
        ('[subject]\nestimator = "model.pkl"\n', "model.pkl"),
        ('[subject]\nonnx = "model.onnx"\n', "model.onnx"),
        ('[subject]\nfunction = "nowhere"\n', "package.module:function"),
        ('[subject]\nfunction = "no_such_module:f"\n', "no_such_module"),
        ('[subject]\nfunction = "json:lods"\n', "did you mean 'loads'"),
        ('[subject]\nhttp = "ftp://127.0.0.1/"\n', "http://"),
        (
            '[subject]\ncommand = ["echo", "{*}"]\nledger = "no/such/folder.ledger"\n',
            "folder that does not exist",
        ),
        ("[subjects]\n", "did you mean 'subject'"),
        ("", "no [subject] table"),
        ("[subject\n", "not valid TOML"),
    ],
)
def test_a_wrong_subject_exits_with_2(run, config, subject, words):
    config(subject)
    message = complaint(run("measure", expect=2))
    assert words in message
    assert "evenhand.toml" in message


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ("", "[space]"),
        (
            '[space]\nprotected = ["sexx"]\n[space.features.sex]\nlevels = ["F"]\n',
            "did you mean 'sex'",
        ),
        ("[space]\n[space.features.sex]\nlevels = []\n", "empty"),
        (
            "[space]\n[space.features.age]\nlow = 90\nhigh = 18\n",
            "low = 90 is over high = 18",
        ),
        ("[space]\n[space.features.age]\nlow = 1\nhihg = 2\n", "did you mean 'high'"),
        ('[space]\nfrom = "loans.csv"\n', "loans.csv"),
        (
            '[space]\nconstraints = ["agee > 3"]\n[space.features.age]\nlow = 1\nhigh = 2\n',
            "did you mean 'age'",
        ),
    ],
)
def test_a_wrong_space_exits_with_2(run, config, space, words):
    config('[subject]\ncommand = ["/bin/echo", "{*}"]\n', space=space)
    message = complaint(run("measure", expect=2))
    assert words in message
    assert "evenhand.toml" in message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["measure"], "no such file here"),
        (["measure", "evnhand.toml"], "did you mean 'evenhand.toml'"),
        (["measur"], "did you mean 'measure'"),
        (["measure", "--limit", "lots"], "--limit"),
        (["measure", "--bogus"], "--bogus"),
        (["data"], "ACTION"),
        (["data", "fetch", "adlt"], "did you mean 'adult'"),
        (["init", "missing.csv"], "missing.csv"),
    ],
)
def test_a_wrong_call_exits_with_2(run, config, tmp_path, arguments, words):
    if arguments[-1] == "evnhand.toml":
        config("")
    assert words in complaint(run(*arguments, expect=2))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--over", "agee"], "did you mean 'age'"),
        (["--limit", "2"], "limit"),
        (["--margin", "0"], "margin"),
        (["--level", "1"], "level"),
        (["--queries", "0"], "queries"),
        (["--seed", "-1"], "seed"),
        (["--n-jobs", "0"], "n_jobs"),
    ],
)
def test_wrong_settings_exit_with_2(run, config, tmp_path, arguments, words):
    script(tmp_path, "echo no")
    config(COMMAND)
    assert words in complaint(run("measure", *arguments, expect=2))


def test_an_interrupt_prints_what_is_known_and_exits_with_130(config, tmp_path):
    script(
        tmp_path, 'echo "$2" >> log; if [ "$2" -gt 40 ]; then echo yes; else echo no; fi'
    )
    config(COMMAND, space=SPACE.replace("high = 90", "high = 100000"))
    command = [
        sys.executable,
        "-m",
        "evenhand.cli.main",
        "measure",
        "--margin",
        "0.005",
        "--over",
        "sex",
    ]
    # Jobs in the background ignore it, and so do their children.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        started = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with started as run:
        while run.poll() is None and (
            not (tmp_path / "log").exists() or len((tmp_path / "log").read_text()) < 900
        ):
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    assert "the run was interrupted" in out
    assert "changing only sex" in out
    assert err == ""


def test_a_ledger_of_another_program_is_refused(run, config, tmp_path):
    script(tmp_path, "echo no")
    config(COMMAND)
    run("measure", "--margin", "0.3", expect=0)
    script(tmp_path, "echo yes")
    assert "another subject" in complaint(run("measure", "--margin", "0.3", expect=2))


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (500, b"[]", "500"),
        (200, b"{oops", "not JSON"),
        (200, b"[1]", "outcomes instead of"),
        (404, b"gone", "404"),
    ],
)
def test_a_failing_service_exits_with_4(run, config, status, body, words):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        config(
            f'[subject]\nhttp = "http://127.0.0.1:{server.server_port}/decide"\nbackoff ='
            " 0.01\nretries = 1\n"
        )
        message = complaint(run("measure", expect=4))
        server.shutdown()
        thread.join()
    assert words in message


def test_a_function_from_a_module_beside_the_config(process, config, tmp_path):
    (tmp_path / "rules.py").write_text(
        "def decide(people):\n    return (people['sex'] == 'M').astype(int)\n"
    )
    config('[subject]\nfunction = "rules:decide"\npositive = 1\n')
    assert "FAIL" in process("measure", "--limit", "0.1", "--n-jobs", "2", expect=1).stdout


def test_checks_of_the_config_are_run_and_the_command_line_overrides_them(
    run, config, tmp_path
):
    script(tmp_path, 'if [ "$1" = M ]; then echo yes; else echo no; fi')
    checks = "".join(
        f'\n[[checks]]\njob = "measure"\nover = ["{name}"]\nlimit = 0.3\n'
        for name in ("sex", "age")
    )
    config(COMMAND, space=SPACE + checks)
    done = run("measure", "--json", "out.json", expect=1)
    assert "changing only sex" in done.stdout
    assert "changing only age" in done.stdout
    only = run("measure", "--over", "age", expect=0)
    assert "changing only sex" not in only.stdout
    config(COMMAND, space=SPACE + checks.replace("0.3", "0.2", 1))
    run("measure", "--json", "out.json", expect=1)
    first, second = (
        eh.Result.from_json(tmp_path / name).findings for name in ("out.json", "out-2.json")
    )
    assert [(finding.about, finding.limit) for finding in (*first, *second)] == [
        (("sex",), 0.2),
        (("age",), 0.3),
    ]


def test_cli_and_python_agree(run, config, tmp_path):
    (tmp_path / "rules.py").write_text(
        "def decide(people):\n    return (people['age'] > 40) & (people['sex'] == 'M')\n"
    )
    config('[subject]\nfunction = "rules:decide"\n')
    run("measure", "--margin", "0.02", "--seed", "3", "--json", "out.json", expect=0)
    space = eh.Space.from_toml(tmp_path / "evenhand.toml")
    here = eh.measure(
        lambda people: (people["age"] > 40) & (people["sex"] == "M"),
        space,
        margin=0.02,
        seed=3,
    )
    assert eh.Result.from_json(tmp_path / "out.json").digest == here.digest


def test_themis_settings_run_as_they_are(run, tmp_path):
    script(
        tmp_path,
        'if [ "$1" = Male ] && [ "$2" -gt 3 ]; then echo 1; else echo 0; fi',
        "software.sh",
    )
    (tmp_path / "settings.xml").write_text(
        "<settings><name>S</name><command>./software.sh</command><seed>42</seed><inputs>"
        "<input><name>Sex</name><type>categorical</type><values><value>Male</value><value>Female</value></values></input>"
        "<input><name>Age</name><type>continuousInt</type><bounds><lowerbound>2</lowerbound><upperbound>6</upperbound>"
        "</bounds></input></inputs><tests><test><function>causal_discrimination</function><i_fields>"
        "<input_name>Sex</input_name></i_fields><conf>0.9</conf><margin>0.2</margin></test></tests></settings>"
    )
    done = run("measure", "settings.xml", "--no-exact", "--json", "out.json", expect=0)
    estimate = json.loads((tmp_path / "out.json").read_text())["findings"][0]["estimate"]
    assert estimate["low"] <= 0.6 <= estimate["high"]  # ages 4, 5 and 6 of 2 to 6
    assert estimate["level"] == 0.9
    assert "changing only Sex" in done.stdout


def test_init_writes_a_config_that_reads_back(run, tmp_path):
    (tmp_path / "loans.csv").write_text(
        'sex,"odd ""name"" [x]",age,rate,approved\n'
        + "".join(
            f'{"FM"[i % 2]},"a\nb{i % 3}",{18 + i},{i / 100},{i % 2}\n' for i in range(50)
        )
    )
    done = run(
        "init", "loans.csv", "--target", "approved", "--protected", "sex,age", expect=0
    )
    assert "wrote evenhand.toml" in done.stdout
    space = eh.Space.from_toml(tmp_path / "evenhand.toml")
    assert space.protected == ("sex", "age")
    assert space.names == ("sex", 'odd "name" [x]', "age", "rate")
    assert space.feature("age").high == 67
    written = (tmp_path / "evenhand.toml").read_text()
    assert tomllib.loads(written)["subject"]["positive"] == 1
    jobs = [check["job"] for check in tomllib.loads(written)["checks"]]
    assert jobs == ["measure", "measure", "subsets", "search", "search", "impact", "mine"]
    offered = "\n".join(
        line.removeprefix("# ") for line in written.rpartition("\n\n")[2].splitlines()
    )
    assert tomllib.loads(offered)["checks"][0]["models"] == {"repaired": "repaired.skops"}
    assert "exists already" in complaint(run("init", "loans.csv", expect=2))
    guessed = run("init", "loans.csv", "--target", "approved", "--force", expect=0)
    assert "protected: sex, age" in guessed.stdout
    assert "did you mean 'approved'" in complaint(
        run("init", "loans.csv", "--target", "aproved", "--force", expect=2)
    )
    assert "exactly one of" in complaint(run("measure", expect=2))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("empty.csv", "", "empty"),
        ("plain.csv", "a,b\n1,2\n", "--protected"),
        ("table.xls", "x", ".xls"),
    ],
)
def test_init_refuses_what_it_cannot_read(run, tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    message = complaint(run("init", name, expect=2))
    assert words in message
    assert name in message


def test_data_list_and_a_local_fetch(run, tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "cache"))
    (tmp_path / "bank.csv").write_text("age,marital,y\n30,single,no\n")
    listed = run("data", "list", expect=0).stdout
    assert all(
        name in listed for name in ("adult", "german", "compas", "communities", "bank")
    )
    assert run("data", "fetch", "bank", expect=0).stdout.strip() == str(
        tmp_path / "bank.csv"
    )
    assert "EVENHAND_DATA" in complaint(run("data", "fetch", "imdb", expect=2))


@pytest.mark.slow
def test_the_demo_finds_the_planted_bias_and_nothing_else(process, tmp_path):
    done = process("demo", "--json", "demo.json", expect=0)
    result = eh.Audit.from_json(tmp_path / "demo.json")["measure"].found
    assert isinstance(result, eh.Result)
    assert {finding.about: finding.verdict for finding in result.findings} == {
        ("race",): "fail",
        ("sex",): "pass",
    }
    assert "exit code 1: discrimination found" in done.stdout
    assert "A gate would stop here" in done.stdout
    for case in result.worst.cases:
        assert case.changed == ("race",)


def test_processes_exit_with_2_and_0_too(process, config):
    assert "no such file here" in complaint(process("measure", expect=2))
    config('[subject]\ncommand = ["./missing", "{*}"]\n')
    assert "does not exist" in complaint(process("measure", expect=2))
    assert process("--version", expect=0).stdout.startswith("evenhand ")


def test_help_version_and_nothing(run):
    assert "measure" in run("--help", expect=0).stdout
    assert run("--version", expect=0).stdout.startswith("evenhand ")
    assert "usage" in run(expect=2).stdout
    verbs = (
        "audit report explore init measure subsets search mine prevalence replay measure-log impact"
        " mine-log compare"
    )
    for verb in (*verbs.split(), "study", "repair", "data", "demo"):
        assert "usage" in run(verb, "--help", expect=0).stdout


def test_the_package_runs_as_a_module(tmp_path):
    command = [sys.executable, "-m", "evenhand"]
    done = subprocess.run(
        [*command, "--version"], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, f"evenhand {eh.__version__}\n")
    wrong = subprocess.run(
        [*command, "mesure"], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert wrong.returncode == 2
    assert "did you mean 'measure'" in complaint(wrong)


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from evenhand.cli.main import main; main(['--help']);"
        " print(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(eval(done.stderr))
    assert not loaded & {
        "numpy",
        "pandas",
        "scipy",
        "sklearn",
        "rich",
        "joblib",
        "narwhals",
        "sqlite3",
        "asyncio",
    }
    code = "import sys, evenhand; print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not set(eval(done.stderr)) & {"numpy", "pandas", "scipy", "sklearn"}


def test_a_reader_that_leaves_early_is_no_error(config, tmp_path):
    code = f"{sys.executable} -m evenhand.cli.main data list | head -1"
    done = subprocess.run(
        ["/bin/sh", "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ,
    )
    assert done.stderr == ""


def test_an_interrupt_before_anything_is_known(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("evenhand.cli.parser.build", interrupted)
    assert main(["data", "list"]) == 130
    assert capsys.readouterr().err.startswith("evenhand: interrupted")


def test_main_returns_a_code_to_python(capsys):
    assert main(["--version"]) == 0
    assert main(["nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err
