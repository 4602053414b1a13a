"""repair on the command line: what a configuration declares, what may be wrong in it, and real
models up to a file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.cli.main import main
from evenhand.config.file import Config
from evenhand.config.repair import RepairFile, read_repair
from evenhand.methods.repair.paired import paired
from evenhand.methods.repair.repair_result import Repair
from evenhand.methods.repair.steps import NO_HELP, NOTHING, REPAIRED, RepairCheck
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import ConfigError, DataError, MissingExtra
from evenhand.space.rule import Condition, Rule
from tests.support.helpers import refused

SUBJECT = '[subject]\nestimator = "model.joblib"\nallow_pickle = true\npositive = "yes"\n'
SPACE = """
[space]
from = "people.csv"
target = "granted"
protected = ["sex"]
"""
TEXTS = '[texts]\nfrom = "comments.csv"\ncolumn = "comment"\n'
MODULE = """
from sklearn.tree import DecisionTreeClassifier
from sklearn.linear_model import LogisticRegression

tree = DecisionTreeClassifier(max_depth=4, random_state=0)
number = 3

def make():
    return LogisticRegression()

def train(X, y):
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)

def fails():
    raise RuntimeError("out of order")

def label(frame):
    return ["yes"] * len(frame)
"""
PLAIN = """
import numpy as np

def same(X, y):
    return lambda frame: np.where(frame["income"] + 8 * frame["sex"] > 18, "yes", "no")

def broken(X, y):
    raise RuntimeError("out of order")
"""
"""A module of its own, so that a process need not wait for scikit-learn."""


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sex, income = rng.integers(0, 2, 1200), rng.integers(0, 30, 1200)
    granted = np.where(income + 8 * sex > 18, "yes", "no")
    return pd.DataFrame({"sex": sex, "income": income, "granted": granted})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Stand in a folder with data, a model and a module, which is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "training_rules", raising=False)
    (tmp_path / "training_rules.py").write_text(MODULE)
    (tmp_path / "plain_rules.py").write_text(PLAIN)
    frame = people()
    frame.to_csv("people.csv", index=False)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(
        frame[["sex", "income"]], frame["granted"]
    )
    joblib.dump(model, "model.joblib")
    return Path(tmp_path)


def config(*parts: str) -> Config:
    Path("evenhand.toml").write_text("\n".join(parts or (SUBJECT, SPACE)))
    return Config.load("evenhand.toml")


def read(*parts: str, **given: Any) -> RepairFile:
    return read_repair(config(*parts), given)


# What a configuration declares


def test_a_fitted_model_and_the_rows_of_its_space():
    found = read()
    assert isinstance(found.estimator, DecisionTreeClassifier)
    assert found.inputs.equals(people()[["sex", "income"]])
    assert found.truth.tolist() == people()["granted"].tolist()
    assert set(found.settings) == {"space", "positive"}
    assert found.settings["positive"] == "yes"
    assert found.settings["space"].protected == ("sex",)
    assert (found.data, found.output) == (Path("people.csv"), None)
    assert found.notes == ["real rows are those of people.csv"]


def test_a_table_says_how_and_the_command_line_wins():
    table = """
    [repair]
    method = "augment"
    over = ["sex"]
    labelling = "majority"
    add = "twins"
    patience = 2
    steps = 3
    draws = 400
    tolerance = 0.02
    test = 0.3
    validate = 0.1
    limit = 0.2
    level = 0.9
    queries = 500
    output = "repaired.skops"
    differs = 0.5
    """
    found = read(SUBJECT, SPACE, table)
    assert found.output == Path("repaired.skops")
    assert found.settings.pop("budget") == eh.Budget(queries=500)
    found.settings.pop("space")
    expected = {
        "method": "augment",
        "over": ("sex",),
        "labelling": "majority",
        "add": "twins",
        "patience": 2,
        "steps": 3,
        "draws": 400,
        "tolerance": 0.02,
        "test": 0.3,
        "validate": 0.1,
        "limit": 0.2,
        "level": 0.9,
        "differs": 0.5,
        "positive": "yes",
    }
    assert found.settings == expected
    given = {
        "over": ["sex", "income"],
        "limit": 0.1,
        "labelling": "vote",
        "output": "other.joblib",
        "seconds": 5.0,
    }
    other = read(SUBJECT, SPACE, table, **given)
    assert other.output == Path("other.joblib")
    assert other.settings.pop("budget") == eh.Budget(queries=500, seconds=5.0)
    other.settings.pop("space")
    assert other.settings == expected | {
        "over": ("sex", "income"),
        "limit": 0.1,
        "labelling": "vote",
    }


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ('estimator = "training_rules:tree"', DecisionTreeClassifier),
        ('estimator = "training_rules:make"', LogisticRegression),
        ('estimator = "sklearn.linear_model:LogisticRegression"', LogisticRegression),
    ],
)
def test_an_estimator_by_name_needs_no_subject(line, kind):
    found = read(SPACE, f'[repair]\n{line}\npositive = "no"\n')
    assert type(found.estimator) is kind
    assert found.settings["positive"] == "no"


def test_a_function_that_trains_goes_with_any_subject():
    command = '[subject]\ncommand = ["./decide", "{*}"]\npositive = "yes"\n'
    found = read(
        command,
        SPACE,
        '[repair]\nfit = "training_rules:train"\nlabelling = "training_rules:label"\n',
    )
    assert found.estimator([[0], [1]], ["a", "b"]).predict([[1]]).tolist() == ["b"]
    assert found.settings["labelling"]([1, 2]) == ["yes", "yes"]
    assert found.settings["positive"] == "yes"


def test_weights_are_no_part_of_an_input():
    heavy = people().assign(weight=lambda frame: np.arange(len(frame)) % 3 + 0.5)
    heavy.to_csv("people.csv", index=False)
    found = read(SUBJECT, SPACE, '[repair]\nweights = "weight"\n')
    assert found.settings["space"].names == ("sex", "income")
    assert list(found.inputs.columns) == ["sex", "income"]
    assert found.settings["sample_weight"].tolist() == heavy["weight"].tolist()


def test_rows_that_are_no_inputs_are_left_out_and_reported():
    found = read(SUBJECT, SPACE, "[space.features.income]\nlow = 5\nhigh = 29\n")
    kept = people().query("income >= 5").reset_index(drop=True)
    assert found.inputs.equals(kept[["sex", "income"]])
    assert found.truth.tolist() == kept["granted"].tolist()
    assert "but for" in found.notes[0]


def test_other_rows_may_be_held_out():
    people()[:100].to_csv("held.csv", index=False)
    rows, truth = read(SUBJECT, SPACE, '[repair]\ntest = "held.csv"\n').settings["test"]
    assert rows.equals(people()[["sex", "income"]][:100])
    assert truth.tolist() == people()["granted"][:100].tolist()
    people()[:100].assign(income=99).to_csv("held.csv", index=False)
    refused(
        DataError,
        lambda: read(SUBJECT, SPACE, '[repair]\ntest = "held.csv"\n'),
        "held.csv",
        "income",
    )


def test_a_subgroup_may_be_given_as_conditions():
    rule = (
        '[repair]\nmethod = "subgroup"\nrule = [{ feature = "income", high = 9.5 }, { feature ='
        ' "sex", low = 1 }]\n'
    )
    found = read(SUBJECT, SPACE, rule).settings["rule"]
    assert isinstance(found, Rule)
    assert found == Rule((Condition("sex", low=1), Condition("income", high=9)))


def texts(more: str = 'target = "rude"\n') -> RepairFile:
    comments = ["a gay man", "a straight man", "my aunt", "an old friend"] * 10
    frame = pd.DataFrame({"comment": comments, "rude": [1, 0, 0, 1] * 10})
    frame.to_csv("comments.csv", index=False)
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(
        frame["comment"], frame["rude"]
    )
    joblib.dump(model, "model.joblib")
    return read(
        SUBJECT.replace('"yes"', "0"), TEXTS + 'without = ["old"]\n', f"[repair]\n{more}"
    )


def test_texts_have_their_outcomes_in_a_column():
    found = texts()
    assert found.inputs[:2] == ["a gay man", "a straight man"]
    assert found.truth.tolist() == [1, 0, 0, 1] * 10
    assert set(found.settings) == {"method", "lexicon", "positive"}
    assert found.settings["method"] == "subgroup"
    assert texts('target = "rude"\nrule = { gender = "gay" }\n').settings["rule"] == {
        "gender": "gay"
    }
    assert "old" not in [term.text for term in found.settings["lexicon"].of("age")]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("", ["has no target", "comments.csv"]),
        ('target = "rde"', ["comments.csv", "did you mean 'rude'"]),
        ('target = "rude"\nrule = []', ["terms by category"]),
        (
            'target = "rude"\nover = ["gender"]',
            ["over = ['gender'] cannot be combined", "[texts]", "tolerance"],
        ),
    ],
)
def test_texts_are_refused_in_a_sentence(more, words):
    refused(DataError if "rde" in more else ConfigError, lambda: texts(more), *words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('metod = "augment"', "did you mean 'method'"),
        ("method = 1", "method = 1; it must be a text"),
        ("over = [1]", "over = [1]; it must be a list of texts"),
        ("patience = 1.5", "a whole number"),
        ("tolerance = true", "tolerance = True; it must be a number"),
        ("rule = 3", "a list of conditions"),
        ('rule = { sex = "F" }', "a list of conditions"),
        ("test = []", "a share of the rows"),
        ('target = "granted"', "[space] target"),
        ('rule = [{ feature = "incme", low = 3 }]', "did you mean 'income'"),
        ('rule = [{ feature = "income", hgh = 3 }]', "did you mean 'high'"),
        ('rule = [{ feature = "income", low = "a" }]', "[repair]"),
        ('weights = "sex"', "protected feature 'sex'"),
        ('labelling = "training_rules:lable"', "did you mean 'label'"),
        ('output = "repaired.zip"', "unknown suffix '.zip'"),
        ('output = "no/repaired.skops"', "no folder"),
        ('output = "model.joblib"', "would overwrite the model"),
        ('estimator = "training_rules"', "must be written"),
        (
            'estimator = "training_rules:number"',
            "is 3, which neither is an estimator nor makes one",
        ),
        ('estimator = "training_rules:fails"', "raised RuntimeError: out of order"),
        ('estimator = "training_rules:train"', "calling it raised TypeError"),
        ('fit = "training_rules:trian"', "did you mean 'train'"),
        ('fit = "training_rules:tree"', "is not a function of X and y"),
        (
            'fit = "training_rules:train"\nestimator = "training_rules:tree"',
            "both estimator and fit",
        ),
        ("queries = 0", "queries = 0"),
    ],
)
def test_a_wrong_table_is_refused(line, words):
    kind = eh.UsageError if line == "queries = 0" else ConfigError
    refused(kind, lambda: read(SUBJECT, SPACE, f"[repair]\n{line}\n"), words)


def test_an_extra_that_is_missing_is_reported_before_the_training(monkeypatch):
    monkeypatch.setattr("evenhand.config.repair.find_spec", lambda name: None)
    refused(MissingExtra, lambda: read(output="repaired.skops"), "evenhand[skops]")
    assert read(output="repaired.joblib").output == Path("repaired.joblib")


@pytest.mark.parametrize(
    ("line", "words"),
    [('weights = "wght"', "no column 'wght'"), ('test = "hld.csv"', "hld.csv")],
)
def test_data_that_are_not_there_are_refused(line, words):
    refused(DataError, lambda: read(SUBJECT, SPACE, f"[repair]\n{line}\n"), words)


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ('command = ["./decide", "{*}"]', "[subject] command cannot be trained again"),
        ('stream = ["./decide"]', "[subject] stream cannot be trained again"),
        ('http = "http://127.0.0.1:1/"', "[subject] http cannot be trained again"),
        ('onnx = "model.onnx"', "[subject] onnx cannot be trained again"),
        ('function = "training_rules:make"', "[subject] function cannot be trained again"),
        ('estimator = "model.joblib"', "allow_pickle = true"),
        ('estimator = "modl.joblib"\nallow_pickle = true', "model.joblib"),
        ("estimator = 3", "must be a text"),
        (
            'estimator = "model.joblib"\nthreshold = 0.3',
            "threshold = 0.3 cannot be combined with repair",
        ),
        ('estimator = "model.joblib"\ntreshold = 0.3', "did you mean 'threshold'"),
    ],
)
def test_software_that_cannot_be_trained_is_refused_with_what_to_give(subject, words):
    output = refused(
        ConfigError, lambda: read(f"[subject]\n{subject}\n", SPACE), "evenhand.toml", words
    )
    assert ("fit = " in output) == ("trained again" in output)


def test_what_is_missing_is_reported():
    refused(
        ConfigError, lambda: read(SPACE), "nothing to train", "model.skops", "[repair] fit"
    )
    refused(
        ConfigError,
        lambda: read(SUBJECT, SPACE.replace("target", "# target")),
        "no target",
        "COLUMN",
    )
    declared = '[space]\nprotected = ["sex"]\n[space.features.sex]\nlow = 0\nhigh = 1\n'
    refused(ConfigError, lambda: read(SUBJECT, declared), "no from", "DATA.csv")
    refused(
        ConfigError,
        lambda: read(SUBJECT, SPACE, "[space.features.age]\nlow = 0\nhigh = 1\n"),
        "no row of people",
    )
    refused(
        ConfigError, lambda: config(SUBJECT, SPACE, "[repairs]\n"), "did you mean 'repair'"
    )
    refused(ConfigError, lambda: config("repair = 3\n", SUBJECT), "a [repair] table")
    gaps = people()
    gaps.loc[3, "granted"] = None
    gaps.to_csv("people.csv", index=False)
    refused(DataError, read, "people.csv", "'granted' has missing values in 1 of 1,200")


# The command itself


def result(outcome: str = REPAIRED, before: int = 400, after: int = 10) -> Repair:
    hits = np.arange(2000)
    change = paired(hits < before, hits < after, level=0.95, population="all inputs")
    rows = np.arange(1000)
    truth = rows % 2
    right = np.where(rows < 900, truth, 1 - truth)
    accuracy = RepairCheck.right([right, right], truth, level=0.95, population="people")
    comparisons = {}
    if before:
        comparisons["aim"] = eh.compare(
            {"original": right, "repaired": right},
            truth,
            bias={"original": change.before, "repaired": change.after},
        )
    return Repair(
        method="augment",
        over=("sex",),
        about=("sex",),
        outcome=outcome,
        change=change,
        checks=(accuracy,),
        comparisons=comparisons,
        history=(),
        sizes={"training": 900, "test": 300},
        seed=0,
        level=0.95,
        tolerance=0.01,
        limit=None,
        spent=Spent(10, 10, 0.1),
        notes=("said before",),
        model=LogisticRegression().fit([[0], [1]], [0, 1]),
    )


@pytest.fixture
def fake(monkeypatch, capsys):
    """Run the command line with a verb that only notes how it was called."""

    def call(
        *arguments: str, gives: Repair | Exception | None = None, expect: int = 0
    ) -> tuple[dict[str, Any], str]:
        seen: dict[str, Any] = {}

        def noted(estimator: Any, rows: Any, truth: Any, **settings: Any) -> Repair:
            seen.update(settings, given=(estimator, rows, truth))
            if isinstance(gives, Exception):
                raise gives
            return gives or result()

        monkeypatch.setattr("evenhand.methods.repair.repair.repair", noted)
        code = main(["repair", *arguments])
        out, err = (str(text) for text in capsys.readouterr())
        assert code == expect, out + err
        return seen, err if expect in (2, 4) else out

    return call


def test_options_reach_the_function(fake):
    config()
    command = (
        "--over sex,income --method evened --labelling majority --limit .2 --level .9 --queries 9"
        " --seed 7 --n-jobs 2"
    )
    seen, _ = fake(*command.split())
    estimator, rows, truth = seen.pop("given")
    assert isinstance(estimator, DecisionTreeClassifier)
    assert (len(rows), len(truth)) == (1200, 1200)
    assert seen.pop("budget") == eh.Budget(queries=9)
    assert seen.pop("space").names == ("sex", "income")
    assert seen == {
        "over": ("sex", "income"),
        "method": "evened",
        "labelling": "majority",
        "limit": 0.2,
        "level": 0.9,
        "positive": "yes",
        "seed": 7,
        "n_jobs": 2,
    }


def test_what_is_not_given_is_left_to_the_function(fake):
    config()
    assert set(fake()[0]) == {"given", "space", "positive", "seed", "n_jobs"}


def test_the_evidence_and_the_model_are_written(fake):
    config(SUBJECT, SPACE, '[repair]\noutput = "fromtable.joblib"\n')
    _, out = fake("--json", "out.json", "-o", "repaired.joblib")
    assert out.startswith(
        "PASS      sex: the share of discriminatory inputs fell from 20 % to 0.5 %"
    )
    assert "note: said before\nnote: real rows are those of people.csv" in out
    assert "wrote repaired.joblib: the repaired model (LogisticRegression)" in out
    assert joblib.load("repaired.joblib").predict([[1]]).tolist() == [1]
    assert not Path("fromtable.joblib").exists()
    assert json.loads(Path("out.json").read_text())["job"] == "repair"
    assert Repair.from_json("out.json").notes[-1] == "real rows are those of people.csv"
    fake()
    assert Path("fromtable.joblib").exists()


def test_a_report_is_written(fake):
    config()
    fake("--html", "report.html")
    assert "discriminatory inputs fell" in Path("report.html").read_text()


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (result(), 0),
        (result(NOTHING, 0, 0), 0),
        (result(NO_HELP), 1),
        (result(after=500), 1),
        (result(after=398), 3),
    ],
)
def test_the_exit_code_is_that_of_the_verdict(fake, found, code):
    config()
    _, out = fake("-o", "repaired.joblib", gives=found, expect=code)
    assert Path("repaired.joblib").exists() == found.changed
    assert ("repaired.joblib was not written, since" in out) != found.changed


def test_failures_are_one_sentence(fake):
    config()
    assert (
        fake(gives=eh.SubjectError("the model failed"), expect=4)[1]
        == "evenhand: the model failed\n"
    )
    assert (
        fake(gives=DataError("y is odd"), expect=2)[1] == "evenhand: people.csv: y is odd\n"
    )
    assert fake(gives=eh.UsageError("labelling = 'vte' is unknown"), expect=2)[
        1
    ].startswith("evenhand: labelling = 'vte'")
    assert "did you mean 'augment'" in fake("--method", "agment", expect=2)[1]
    for option in ("--json", "--html"):
        output = fake(option, "no/out", expect=2)
        assert "no folder 'no'" in output[1]
        assert not output[0]
    assert (
        "--output repaired.zip has the unknown suffix"
        in fake("-o", "repaired.zip", expect=2)[1]
    )


def test_init_offers_a_table_that_reads_back(capsys):
    assert (
        main(
            [
                "init",
                "people.csv",
                "--target",
                "granted",
                "--protected",
                "sex,income",
                "-o",
                "new.toml",
            ]
        )
        == 0
    )
    written = Path("new.toml").read_text()
    offered = "\n".join(
        line.removeprefix("# ")
        for line in written.partition("# [repair]")[2].splitlines()[1:3]
    )
    assert tomllib.loads(offered) == {"over": ["sex"], "output": "repaired.skops"}
    assert main(["init", "people.csv", "--protected", "sex", "-o", "plain.toml"]) == 0
    assert "[repair]" not in Path("plain.toml").read_text()


# The real thing


TWINS = '[repair]\nadd = "twins"\ntolerance = 0.5\n'


def real(*arguments: str, expect: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evenhand.cli.main", "repair", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == expect, done.stdout + done.stderr
    return done


def test_a_real_model_is_repaired_written_and_tested_again(capsys):
    config(SUBJECT, SPACE, '[repair]\nmethod = "evened"\ntolerance = 1\n')
    done = real("--json", "out.json", "-o", "repaired.joblib", expect=0)
    assert done.stderr == ""
    found = Repair.from_json("out.json")
    assert (found.before.value > 0.1, found.after.value) == (True, 0.0)
    assert found.claim in done.stdout
    output = next(
        line
        for line in done.stdout.splitlines()
        if line.startswith("test it with: [subject] ")
    )
    table = output.removeprefix("test it with: [subject] ").replace(", allow", "\nallow")
    config(f'[subject]\n{table}\npositive = "yes"\n', SPACE)
    assert main(["measure", "--limit", "0.01"]) == 0
    assert "PASS" in capsys.readouterr().out


def test_real_processes_exit_with_1_2_and_4():
    config(SPACE, '[repair]\nfit = "plain_rules:broken"\n')
    output = real(expect=4).stderr
    assert output.startswith("evenhand: broken raised RuntimeError when trained on")
    assert output.count("\n") == 1
    config('[subject]\nhttp = "http://127.0.0.1:1/"\n', SPACE)
    assert real(expect=2).stderr.startswith(
        "evenhand: evenhand.toml: [subject] http cannot be trained again"
    )
    config(
        SPACE,
        '[repair]\nfit = "plain_rules:same"\nadd = "twins"\npositive = "yes"\npatience = 0\n',
    )
    output = real("-o", "repaired.joblib", expect=1).stdout
    assert output.startswith("FAIL      sex: no step helped")
    assert output.endswith("repaired.joblib was not written, since no step helped\n")


def test_the_command_line_and_python_agree(capsys):
    pytest.importorskip("skops")
    config(SUBJECT, SPACE, TWINS)
    code = main(["repair", "--seed", "3", "--json", "out.json", "-o", "repaired.skops"])
    output = capsys.readouterr().out
    frame = people()
    found = eh.repair(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        frame[["sex", "income"]],
        frame["granted"],
        space=eh.Space.from_frame(frame, ["sex"], target="granted"),
        positive="yes",
        add="twins",
        tolerance=0.5,
        seed=3,
    )
    assert code == found.exit_code
    written = Repair.from_json("out.json")
    assert written.change == found.change
    assert written.history == found.history
    assert written.table().equals(found.table())
    assert found.changed
    types = output[output.rindex("trusted = ") :].splitlines()[0]
    loaded = read(f'[subject]\nestimator = "repaired.skops"\n{types}\n', SPACE).estimator
    rows = frame[["sex", "income"]]
    assert loaded.predict(rows).tolist() == found.model.predict(rows).tolist()


def test_help_is_light():
    code = "import sys; from evenhand.cli.main import main; main(['repair', '--help']); "
    code += (
        "print(sorted({'numpy', 'pandas', 'scipy', 'rich', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert "--method" in done.stdout
    assert done.stdout.endswith("[]\n")
