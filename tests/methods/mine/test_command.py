"""mine and mine-log on the command line: settings, real rows, texts, and real software up to
replay.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import evenhand as eh
from evenhand.cli.main import main
from evenhand.config.checks import plans_of_job
from evenhand.config.file import Config
from evenhand.methods.mine.table import mined_findings
from evenhand.report.terminal import lines, render
from evenhand.results.evidence import Case, Finding
from evenhand.results.result import Result
from evenhand.runtime.errors import ConfigError, DataError
from evenhand.statistics.estimate import Estimate
from tests.support.helpers import refused

SUBJECT = '[subject]\nfunction = "mine_rules:decide"\npositive = 1\n'
SPACE = """
[space]
from = "people.csv"
target = "y"
protected = ["sex", "age"]
[space.features.age]
low = 18
high = 57
"""
RULES = """
def decide(people):
    return ((people["income"] >= 5) & ~((people["sex"] == "F") & (people["age"] >= 38))).astype(int)

def broken(people):
    raise RuntimeError("out of order")

def rude(texts):
    return [int("gay" in text.lower()) for text in texts]

def failing(texts):
    raise RuntimeError("out of order")
"""
EVERYBODY = itertools.product("FM", range(18, 58), range(10))
PEOPLE = pd.DataFrame(EVERYBODY, columns=["sex", "age", "income"])
PEOPLE["y"] = (PEOPLE["income"] > 4).astype(int)
TEXTS = '[texts]\nfrom = "comments.csv"\ncolumn = "comment"\n'
COMMENTS = [
    "I am a gay man.",
    "She is straight, I know.",
    "An old friend of mine",
    "nothing at all",
    "young and old",
] * 8


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Stand in a folder with data and a module, which is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mine_rules", raising=False)
    (tmp_path / "mine_rules.py").write_text(RULES)
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    pd.DataFrame({"comment": COMMENTS, "n": range(len(COMMENTS))}).to_csv(
        tmp_path / "comments.csv", index=False
    )
    return Path(tmp_path)


@pytest.fixture
def run(capsys):
    """Run the command line in this process; a new one would take a second to start."""

    def call(*arguments: str, expect: int) -> str:
        code = main(arguments)
        out, err = capsys.readouterr()
        assert code == expect, out + err
        if expect in (2, 4):
            assert err.startswith("evenhand: ")
            assert err.count("\n") == 1
        return str(err if expect in (2, 4) else out)

    return call


def config(*parts: str) -> Config:
    text = "\n".join(parts or (SUBJECT, SPACE))
    Path("evenhand.toml").write_text(text)
    return Config.load("evenhand.toml")


def texts(more: str = "", subject: str = "rude", checks: str = "") -> Config:
    return config(
        f'[subject]\nfunction = "mine_rules:{subject}"\npositive = 0\n',
        TEXTS + more,
        checks,
    )


HOMES = {
    "mine": "mine.mine",
    "mine_log": "mine.recorded",
    "mine_text": "mine.texts.mine_text",
}


@pytest.fixture
def fake(monkeypatch, run):
    """Run the command line with a verb that only notes how it was called."""

    def call(*arguments: str, verb: str = "mine") -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def noted(subject: Any, *given: Any, **settings: Any) -> Result:
            calls.append({**settings, "given": (subject, *given)})
            return RECORDED

        monkeypatch.setattr(f"evenhand.methods.{HOMES[verb]}.{verb}", noted)
        run(*arguments, expect=0)
        return calls

    return call


RECORDED = eh.mine_log(PEOPLE, outcome="y", over="sex")


def test_mine_passes_its_options_on(fake):
    config()
    command = (
        "mine --over sex --over sex,age --support .1 --complement .2 --bins 4 --binning quantiles"
        " --levels 2"
    )
    command += (
        " --depth 1 --limit .3 --level .9 --treatment rows --truth y --score tpr,fpr --top 3 --data"
        " people.csv"
    )
    command += " --queries 900 --seconds 9 --seed 7 --n-jobs 2"
    (call,) = fake(*command.split())
    assert call.pop("budget") == eh.Budget(queries=900, seconds=9.0)
    assert call.pop("data").equals(PEOPLE)
    assert isinstance(call.pop("given")[0], eh.Subject)
    assert call == {
        "over": [("sex",), ("sex", "age")],
        "support": 0.1,
        "complement": 0.2,
        "bins": 4,
        "binning": "quantiles",
        "levels": 2,
        "depth": 1,
        "limit": 0.3,
        "level": 0.9,
        "treatment": "rows",
        "truth": "y",
        "score": ["tpr", "fpr"],
        "top": 3,
        "seed": 7,
        "n_jobs": 2,
        "progress": None,
    }


@pytest.mark.parametrize(
    ("words", "move"),
    [
        ("--move 5", 5.0),
        ("--move income=5", {"income": 5.0}),
        ("--move income=5 --move rate=.1", {"income": 5.0, "rate": 0.1}),
        ("--move a=b=2", {"a=b": 2.0}),
    ],
)
def test_steps_are_read_for_all_numbers_or_by_feature(fake, words, move):
    config()
    (call,) = fake("mine", *words.split())
    assert call["move"] == move


def test_thresholds_of_algorithm_2_are_passed_on(fake):
    config()
    command = "mine --treatment paper --sample-thr 50 --error-thr .2"
    (call,) = fake(*command.split())
    assert (call["sample_thr"], call["error_thr"]) == (50, 0.2)


def test_mine_log_passes_its_options_on(fake):
    command = (
        "mine-log people.csv --outcome y --over sex --over sex,age --positive 1 --truth y --score"
        " rate,tpr"
    )
    command += (
        " --support .1 --complement .2 --bins 4 --binning quantiles --levels 2 --depth 1 --limit .3"
        " --level .9"
    )
    (call,) = fake(*command.split(), "--top", "3", verb="mine_log")
    assert call.pop("given")[0].equals(PEOPLE)
    assert call == {
        "outcome": "y",
        "over": [("sex",), ("sex", "age")],
        "positive": 1,
        "truth": "y",
        "score": ["rate", "tpr"],
        "support": 0.1,
        "complement": 0.2,
        "bins": 4,
        "binning": "quantiles",
        "levels": 2,
        "depth": 1,
        "limit": 0.3,
        "level": 0.9,
        "top": 3,
    }


def test_texts_pass_their_options_on(fake):
    texts('without = ["old"]\npersons = ["nurse"]\ntemplates = ["{term} nurses"]\n')
    command = (
        "mine --support .02 --depth 1 --kind causal --against rest --places templates"
        " --limit .3 --level .9 --top 3"
    )
    (call,) = fake(
        *command.split(),
        "--without",
        "young,old",
        "--queries",
        "99",
        "--seed",
        "7",
        verb="mine_text",
    )
    subject, given = call.pop("given")
    assert isinstance(subject, eh.TextSubject)
    assert given == COMMENTS
    assert call.pop("budget") == eh.Budget(queries=99)
    assert call.pop("lexicon") is eh.Lexicon.default()
    assert call == {
        "support": 0.02,
        "depth": 1,
        "kind": "causal",
        "against": "rest",
        "limit": 0.3,
        "level": 0.9,
        "top": 3,
        "without": ["old", "young"],
        "places": "templates",
        "templates": ("{term} nurses",),
        "persons": ("nurse",),
        "seed": 7,
        "progress": None,
    }


def test_what_is_not_given_is_left_to_the_function(fake):
    config()
    assert set(fake("mine")[0]) == {
        "given",
        "data",
        "truth",
        "budget",
        "seed",
        "n_jobs",
        "progress",
    }
    texts()
    assert set(fake("mine", verb="mine_text")[0]) == {
        "given",
        "lexicon",
        "without",
        "templates",
        "persons",
        "budget",
        "seed",
        "progress",
    }
    (call,) = fake(
        "mine-log", "people.csv", "--outcome", "y", "--over", "sex", verb="mine_log"
    )
    assert set(call) == {"given", "outcome", "over"}


CHECKS = """
[[checks]]
job = "mine"
over = ["sex"]
bins = {age = [30, 40], income = 3}
score = "tpr"
truth = "y"
data = "data/more.csv"
queries = 50
[[checks]]
job = "mine"
over = "age"
bins = [30, 40]
score = ["rate"]
support = 0.2
"""


def test_checks_of_the_config(folder, fake):
    config(SUBJECT, SPACE, CHECKS)
    (folder / "data").mkdir()
    PEOPLE[:99].to_csv(folder / "data" / "more.csv", index=False)
    first, second = fake("mine", "--support", "0.1")
    assert first["bins"] == {"age": [30, 40], "income": 3}
    assert first["over"] == [("sex",)]
    assert first["score"] == "tpr"
    assert first["truth"] == "y"
    assert first["budget"] == eh.Budget(queries=50)
    assert len(first["data"]) == 99
    assert (second["bins"], second["score"], second["support"], len(second["data"])) == (
        [30, 40],
        ["rate"],
        0.1,
        800,
    )


def test_kind_chooses_among_checks_of_texts():
    checks = (
        '[[checks]]\njob = "mine"\nlimit = 0.1\n[[checks]]\njob = "mine"\nkind = "causal"\nlimit ='
        " 0.2\n"
    )
    both = texts(checks=checks)
    (causal,), (group,) = (
        plans_of_job(both, "mine", {"kind": kind}) for kind in ("causal", "group")
    )
    assert causal.settings == {"kind": "causal", "limit": 0.2}
    assert group.settings == {"kind": "group", "limit": 0.1}


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("suport = 0.1", "did you mean 'support'"),
        ("margin = 0.1", "unknown key 'margin'"),
        ("bins = 2.5", "a table of either by feature"),
        ("bins = true", "bins = True"),
        ("score = [1]", "a list of texts"),
        ("truth = 1", "truth = 1; it must be a text"),
        ("top = 1.5", "a whole number"),
        ("support = 'x'", "a number"),
        ("data = []", "data = []; it must be a text"),
        (
            "kind = 'causal'",
            "kind = 'causal' cannot be used here, since there is no [texts] table",
        ),
        ("without = ['old']", "without = ['old'] cannot be used here"),
    ],
)
def test_a_wrong_check_is_refused(check, words):
    wrong = config(SUBJECT, SPACE, f'[[checks]]\njob = "mine"\n{check}\n')
    refused(ConfigError, lambda: plans_of_job(wrong, "mine", {}), "evenhand.toml", words)


@pytest.mark.parametrize(
    "check",
    [
        "over = ['sex']",
        "bins = 3",
        "complement = 0.1",
        "treatment = 'rows'",
        "truth = 'y'",
        "data = 'people.csv'",
    ],
)
def test_a_check_of_texts_takes_nothing_of_tables(check):
    wrong = texts(checks=f'[[checks]]\njob = "mine"\n{check}\n')
    refused(
        ConfigError,
        lambda: plans_of_job(wrong, "mine", {}),
        check.split()[0],
        "[texts]",
        "support, depth",
    )


# Real rows


def test_rows_of_the_space_are_a_sample_and_those_left_out_are_counted(run):
    PEOPLE.assign(age=PEOPLE["age"] + 5).to_csv("people.csv", index=False)
    config()
    output = run("mine", "--json", "out.json", expect=0)
    entry = Result.from_json("out.json").details["mine"][0]
    population = "people like the given rows, and their one-step neighbours"
    assert entry["rows"] == 700
    assert entry["population"] == population
    assert (
        "note: real rows are those of people.csv but for 100 of 800 that are no inputs of the space"
        in output
    )
    config(SUBJECT, SPACE.replace("low = 18", "low = 90").replace("57", "99"))
    assert "no row of people.csv is an input of the space" in run("mine", expect=2)


@pytest.mark.parametrize(
    ("more", "level"), [("", 1.0), ('sample_of = "applicants"\n', 0.95)]
)
def test_rows_of_the_population_are_what_it_says(run, more, level):
    config(SUBJECT, SPACE, f'[population]\nrows = "people.csv"\n{more}')
    run("mine", "--json", "out.json", "--truth", "y", "--score", "tpr", expect=0)
    found = Result.from_json("out.json").worst.estimate
    people = "applicants" if more else "the 800 given rows"
    assert found.level == level
    assert found.population.startswith(people)
    # No woman of 38 or more is favoured, everyone else who should be is.
    assert found.value == 1.0
    assert "did you mean 'y'" in run("mine", "--truth", "yy", "--score", "tpr", expect=2)


def test_rows_of_a_file_must_all_be_inputs(run, folder):
    config()
    PEOPLE.assign(age=PEOPLE["age"] + 1).to_csv("later.csv", index=False)
    output = run("mine", "--data", "later.csv", expect=2)
    assert all(word in output for word in ("later.csv", "'age' = 58", "row"))
    PEOPLE.rename(columns={"income": "incme"}).to_csv("later.csv", index=False)
    assert "did you mean 'incme'" in run("mine", "--data", "later.csv", expect=2)
    assert "did you mean 'later.csv'" in run("mine", "--data", "latr.csv", expect=2)


def test_without_rows_there_is_nothing_to_mine(run):
    space = '[space]\nprotected = ["sex"]\n[space.features.sex]\nlevels = ["F", "M"]\n'
    config(SUBJECT, space)
    output = run("mine", expect=2)
    assert "evenhand.toml" in output
    assert "--data" in output


def test_true_outcomes_are_a_column_that_the_space_left_out(run):
    config()
    run("mine", "--truth", "y", "--score", "tpr,fpr", "--json", "out.json", expect=0)
    found = Result.from_json("out.json")
    assert [entry["score"] for entry in found.details["mine"]] == ["tpr", "fpr"]
    assert str(found.worst.about) == "sex F, age at least 38"
    assert found.worst.estimate.value == 1.0
    for column, words in (("z", "people.csv"), ("sexx", "did you mean 'sex'")):
        assert words in run("mine", "--truth", column, "--score", "tpr", expect=2)
    without_7 = PEOPLE["y"].where(PEOPLE.index != 7)
    PEOPLE.assign(y=without_7).to_csv("gaps.csv", index=False)
    output = run(
        "mine",
        "--truth",
        "y",
        "--score",
        "tpr",
        "--data",
        "gaps.csv",
        expect=2,
    )
    assert "row 7" in output


# From end to end


def test_the_command_line_and_python_agree(run):
    config()
    run(
        "mine",
        "--data",
        "people.csv",
        "--seed",
        "3",
        "--json",
        "out.json",
        "--limit",
        "0.2",
        expect=1,
    )
    space = eh.Space.from_toml("evenhand.toml")
    rules: dict[str, Any] = {}
    exec(RULES, rules)
    here = eh.mine(
        eh.Subject(rules["decide"], space, positive=1), data=PEOPLE, seed=3, limit=0.2
    )
    assert Result.from_json("out.json").digest == here.digest


@pytest.mark.parametrize(("limit", "code"), [("0.2", 1), ("0.5", 3), ("0.9", 0)])
def test_a_limit_gives_a_verdict(run, limit, code):
    config()
    output = run("mine", "--limit", limit, "--json", "out.json", expect=code)
    assert {0: "PASS", 1: "FAIL", 3: "UNDECIDED"}[code] in output
    assert f"limit {100 * float(limit):g} %" in output
    assert Result.from_json("out.json").exit_code == code


def test_a_process_of_its_own_mines_and_this_one_replays(folder, run):
    config()
    command = [sys.executable, "-m", "evenhand.cli.main"]
    done = subprocess.run(
        [*command, "mine", "--json", "out.json"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        "the worst: 0.0 % of people with sex F, age at least 38 get the outcome 1, and "
        in done.stdout
    )
    assert "cases of sex F, age at least 38 still differ" in run(
        "replay", "out.json", expect=1
    )


def test_recorded_decisions(run):
    output = run(
        "mine-log",
        "people.csv",
        "--outcome",
        "y",
        "--over",
        "sex,income",
        "--limit",
        "0.5",
        expect=1,
    )
    assert "as recorded" in output
    assert output.endswith(" s\n")
    assert "no software was asked" in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("mine --over sexx", "did you mean 'sex'"),
        ("mine --support 0", "support"),
        ("mine --support 0.95", "no rule set over sex, age covers"),
        ("mine --complement 1", "complement"),
        ("mine --move much", "'much' cannot be read"),
        ("mine --move =5", "'=5' cannot be read"),
        ("mine --move incme=5", "did you mean 'income'"),
        ("mine --sample-thr 5", "treatment='paper'"),
        ("mine --bins 1", "bins"),
        ("mine --binning quantile", "did you mean 'quantiles'"),
        ("mine --levels 0", "levels"),
        ("mine --depth 0", "depth"),
        ("mine --limit 2", "limit"),
        ("mine --level 1", "level"),
        ("mine --treatment row", "did you mean 'rows'"),
        ("mine --score tpr", "truth"),
        ("mine --score odds --truth y", "'odds'"),
        ("mine --top 0", "top"),
        ("mine --queries 0", "queries"),
        ("mine --seed -1", "seed"),
        ("mine --kind causal", "kind = 'causal' cannot be used here"),
        ("mine --margin 0.1", "--margin"),
        ("mine missing.toml", "missing.toml"),
        ("min", "did you mean 'mine'"),
        ("mine-log people.csv --outcome yy --over sex", "people.csv: outcome = 'yy'"),
        ("mine-log people.csv --outcome y --over sexx", "did you mean 'sex'"),
        ("mine-log people.csv --outcome y", "--over"),
        ("mine-log peeple.csv --outcome y --over sex", "did you mean 'people.csv'"),
        (
            "mine-log people.csv --outcome y --over sex --support 0.7",
            "people.csv: no rule set over sex",
        ),
        ("mine-log people.csv --outcome y --over sex --score tpr", "truth"),
    ],
)
def test_wrong_calls_exit_with_2_and_one_sentence(run, arguments, words):
    config()
    assert words in run(*arguments.split(), expect=2)


def test_software_that_crashes_exits_with_4(run):
    config(SUBJECT.replace("decide", "broken"), SPACE)
    assert "out of order" in run("mine", expect=4)
    texts(subject="failing")
    assert "out of order" in run("mine", expect=4)


# Texts


def test_texts_from_mining_to_replay(run, folder):
    texts()
    output = run("mine", "--limit", "0.05", "--json", "out.json", expect=1)
    assert "FAIL      gender gay" in output
    assert "1: I am a ⟦gay⟧ man." in output
    assert (
        Result.from_json("out.json").digest
        == eh.mine_text(_rude, COMMENTS, positive=0, limit=0.05).digest
    )
    again = run("replay", "out.json", expect=1)
    count = len(Result.from_json("out.json").worst.cases)
    assert f"{count} of {count} cases of gender gay still differ" in again
    assert "⟦gay⟧" in again
    (folder / "mine_rules.py").write_text(RULES.replace('int("gay" in text.lower())', "0"))
    sys.modules.pop("mine_rules")
    assert f"0 of {count} cases of gender gay still differ" in run(
        "replay", "out.json", expect=0
    )


def _rude(given: list[str]) -> list[int]:
    return [int("gay" in text.lower()) for text in given]


@pytest.mark.parametrize(
    "suffix", [".joblib", pytest.param(".skops", marks=pytest.mark.slow)]
)
def test_a_pipeline_in_a_file(run, folder, suffix):
    seen = [
        "gay",
        "gay she",
        "I am a man",
        "she is straight, I know",
        "an old friend",
        "young",
    ] * 20
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(seen, _rude(seen))
    if suffix == ".skops":
        import skops.io

        skops.io.dump(model, folder / "model.skops")
        unknown = skops.io.get_untrusted_types(file=folder / "model.skops")
        how = f"trusted = {unknown}\n" if unknown else ""
    else:
        import joblib

        joblib.dump(model, folder / "model.joblib")
        how = "allow_pickle = true\n"
    subject = (
        f'[subject]\nestimator = "model{suffix}"\npositive = 0\nledger = "texts.ledger"\n'
    )
    config(subject + how, TEXTS)
    run("mine", "--limit", "0.05", "--json", "out.json", expect=1)
    found = Result.from_json("out.json")
    assert str(found.worst.about) == "gender gay"
    assert (folder / "texts.ledger").exists()
    config(
        subject.replace("texts.ledger", "scores.ledger") + how + 'output = "score"\n', TEXTS
    )
    assert "how texts score on average" in run("mine", expect=0)
    if suffix == ".joblib":
        config(subject, TEXTS)
        assert "allow_pickle" in run("mine", expect=2)


def test_causal_texts_and_another_lexicon(run, folder):
    (folder / "terms.toml").write_text(
        '[orientation]\nterms = ["gay", "straight"]\n[years]\nterms = ["old", "young"]\n'
    )
    texts('lexicon = "terms.toml"\n')
    output = run(
        "mine", "--kind", "causal", "--limit", "0.1", "--json", "out.json", expect=1
    )
    assert "changing only the term for orientation changes the outcome of 100.0 %" in output
    assert "most often with" in output
    entry = Result.from_json("out.json").details["mine_text"][0]
    assert [category["name"] for category in entry["categories"]] == [
        "orientation",
        "years",
    ]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('colum = "comment"\n', "did you mean 'column'"),
        ('lexicon = "trms.toml"\n', "did you mean 'terms.toml'"),
        ('lexicon = "terms.toml"\n', "terms.toml: category 'years' has no terms"),
        ("lexicon = 3\n", "[texts] has lexicon = 3; it must be a text"),
        ('without = ["odl"]\n', "did you mean 'old'"),
        ('without = "old"\n', "must be a list of texts"),
    ],
)
def test_a_wrong_table_of_texts_exits_with_2(run, folder, more, words):
    (folder / "terms.toml").write_text("[years]\nterms = []\n")
    texts(more)
    assert words in run("mine", expect=2)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('from = "coments.csv"\ncolumn = "comment"', "did you mean 'comments.csv'"),
        ('from = "comments.csv"\ncolumn = "coment"', "did you mean 'comment'"),
        ('from = "comments.csv"\ncolumn = "n"', "text 0 is 0"),
        (
            'from = "gaps.csv"\ncolumn = "comment"',
            "column 'comment' has missing values in 1 of 3 rows",
        ),
        ('from = "comments.csv"', "[texts] has no 'column'"),
        ('column = "comment"', "[texts] has no 'from'"),
    ],
)
def test_texts_that_are_not_there_exit_with_2(run, folder, table, words):
    (folder / "gaps.csv").write_text("comment,n\nI am old,1\n,2\nyoung,3\n")
    config('[subject]\nfunction = "mine_rules:rude"\n', f"[texts]\n{table}\n")
    assert words in run("mine", expect=2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("mine --bins 3", "bins = 3 cannot be used here, since [texts] declares texts"),
        ("mine --data people.csv", "cannot be used here"),
        ("mine --n-jobs 2", "--n-jobs 2"),
        ("mine --support 0.9 --places named", "comments.csv: no category of the lexicon"),
        ("mine --places name", "did you mean 'named'"),
        ("mine --against term", "did you mean 'terms'"),
        ("mine --without odl", "did you mean 'old'"),
        ("measure", "declares [texts]"),
        ("search", "declares [texts]"),
    ],
)
def test_what_does_not_go_with_texts_exits_with_2(run, arguments, words):
    texts()
    assert words in run(*arguments.split(), expect=2)


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ('command = ["./decide"]', "command cannot be combined with [texts]"),
        ('function = "mine_rules:rde"', "did you mean 'rude'"),
        ('function = "mine_rules:rude"\noutputs = ["a"]', "unknown key 'outputs'"),
        ('function = "mine_rules:rude"\npostive = 0', "did you mean 'positive'"),
        ("function = 3", "must be a text"),
        ('estimator = "model.joblib"', "model.joblib"),
        ("positive = 0", "exactly one of estimator, function"),
    ],
)
def test_a_wrong_subject_of_texts_exits_with_2(run, subject, words):
    config(f"[subject]\n{subject}\n", TEXTS)
    output = run("mine", expect=2)
    assert words in output
    assert "evenhand.toml" in output


def test_texts_do_not_go_with_a_space():
    Path("evenhand.toml").write_text(SUBJECT + SPACE + TEXTS)
    refused(ConfigError, lambda: Config.load("evenhand.toml"), "[space]", "[texts]")


def test_a_result_of_texts_is_not_replayed_on_tables(run):
    texts()
    run("mine", "--json", "out.json", expect=0)
    config()
    assert "texts" in run("replay", "out.json", expect=2)


# What is printed


def terminal(result: Result, width: int) -> list[str]:
    console = Console(
        file=io.StringIO(), force_terminal=True, width=width, color_system=None
    )
    render(result, console=console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.fixture(scope="module")
def mined() -> dict[str, Result]:
    rng = np.random.default_rng(0)
    races = np.array(
        ["White", "Black", "Asian-Pacific-Islander", "American-Indian-Eskimo"]
    )[rng.integers(0, 4, 2000)]
    people = pd.DataFrame(
        {
            "race": races,
            "sex": rng.choice(["Female", "Male"], 2000),
            "age": rng.integers(18, 80, 2000),
        }
    )
    people["granted"] = np.where(
        (people["sex"] == "Male") | (people["age"] < 40), "yes", "no"
    )
    people["due"] = rng.choice(["yes", "no"], 2000)
    long = [
        "word " * 60 + "she is a gay woman " + "more " * 60,
        "old people",
        "nothing",
    ] * 20
    settings: dict[str, Any] = {
        "outcome": "granted",
        "positive": "yes",
        "over": ["race", "sex", "age"],
    }
    return {
        "log": eh.mine_log(people, **settings, limit=0.3),
        "no limit": eh.mine_log(people, **settings, top=2),
        "odds": eh.mine_log(
            people, **settings, truth="due", score=["tpr", "fpr"], limit=0.3
        ),
        "texts": eh.mine_text(_rude, long, positive=0, limit=0.05),
        "causal": eh.mine_text(_rude, long, kind="causal", positive=0, limit=0.05),
    }


@pytest.mark.parametrize("name", ["log", "no limit", "odds", "texts", "causal"])
@pytest.mark.parametrize("width", [70, 80, 120, 200])
def test_lines_fit_and_rules_are_never_cut(mined, name, width):
    shown = terminal(mined[name], width)
    assert max(map(len, shown)) <= width
    words = " ".join(" ".join(shown).split())
    for finding in mined[name].findings:
        about = finding.about
        if isinstance(about, tuple):
            assert " and ".join(about) in words
        elif about.conditions:
            assert str(about) in words


def test_the_same_numbers_stand_in_a_line_or_under_their_rule(mined):
    wide = terminal(mined["log"], 160)
    narrow = terminal(mined["log"], 80)
    # A story that stands below no other, whose rule is told whole.
    first, *_ = mined_findings(mined["log"])
    about = str(first.finding.about)
    row = next(line for line in wide if f"  {about}  " in line)
    _, _, numbers = row.partition(about)
    at = narrow.index(f"FAIL      {about}")
    assert narrow[at + 1].split() == numbers.split()


def test_a_table_of_stories_as_a_golden_text(mined):
    shown = lines(mined["no limit"])
    assert shown[0].startswith("rule sets over race, sex, age: 2,")
    assert "cover 5 % of 2,000 rows" in shown[0]
    assert shown[1] == "how often people get the outcome yes, as recorded"
    assert shown[2].startswith(
        "population: decisions like the recorded ones; 95 % level, max-t, simultaneous over "
    )
    assert shown[3].split() == [
        "their",
        "everyone",
        "points",
        "95",
        "%",
        "share",
        "of",
        "rules",
    ]
    first, *others, rest = mined_findings(mined["no limit"])
    story = first.story
    points = 100 * abs(story["difference"])
    low = 100 * story["low"]
    high = 100 * story["high"]
    assert shown[5].startswith(story["text"])
    assert f"▼ {points:.1f}" in shown[5]
    assert f"{low:.1f} to {high:.1f}" in shown[5]
    (below,) = others
    assert below.above is not None
    assert below.above.finding is first.finding
    # Below another story stands only what it adds to that, indented.
    assert (first.about, below.about) == (
        "sex Female, age at least 37",
        "sex Female, age at least 43",
    )
    assert shown[6].startswith("  … and age at least 43  ")
    added = below.story["added"]
    less = 100 * abs(added["value"])
    ends = sorted([100 * abs(added["low"]), 100 * abs(added["high"])])
    expected = f"{less:.1f} points less still ({ends[0]:.1f} to {ends[1]:.1f})"
    assert shown[7].strip() == expected
    after = 8
    assert shown[after].startswith("none of the ")
    assert shown[after] == rest.finding.claim
    assert shown[after + 1] == f"the worst: {mined['no limit'].worst.claim}"


def test_every_score_has_its_own_table(mined):
    shown = lines(mined["odds"])
    assert sum(line.startswith("of those whose true outcome is") for line in shown) == 2
    assert shown.count("") == 1


def test_long_texts_are_cut_around_the_term(mined):
    for width in (80, 120, None):
        shown = lines(mined["texts"], width=width)
        pair = [line for line in shown if "⟦" in line]
        assert len(pair) == 2
        assert "a ⟦gay⟧ woman" in pair[0]
        for line in pair:
            assert "…word" in line
            assert line.endswith("…")
            assert len(line) <= (width or 175)


def test_marks_that_a_text_has_of_its_own_are_shown_once():
    case = Case(
        {"text": "⟦⟦x⟧⟧ a ⟦gay⟧ man"},
        {"text": "⟦⟦x⟧⟧ a ⟦straight⟧ man"},
        (0.25, 0.5),
    )
    certain = Estimate.exact(1, 1)
    found = Finding("a claim", ("gender",), certain, cases=(case, case))
    replayed = Result("replay", [found], 0, RECORDED.spent, RECORDED.stop, {})
    shown = [line.strip() for line in lines(replayed, cases=2)]
    assert shown.count("0.250: ⟦x⟧ a ⟦gay⟧ man") == 2


def test_a_damaged_result_is_refused(mined):
    text = mined["log"].to_json().replace('"text": "', '"text": "un', 1)
    Path("out.json").write_text(text)
    refused(eh.UsageError, lambda: Result.from_json("out.json"), "was changed")
    table = json.loads(text)
    del table["digest"]
    Path("out.json").write_text(json.dumps(table))
    refused(eh.UsageError, lambda: Result.from_json("out.json"), "damaged")


def test_rows_without_their_column_of_outcomes_are_refused():
    config(SUBJECT, SPACE, '[population]\nrows = "people.csv"\n')
    real = Config.load("evenhand.toml").real()
    assert real.truth(None) is None
    refused(DataError, lambda: real.truth("yy"), "truth = 'yy'", "did you mean 'y'")


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from evenhand.cli.main import main; main(['mine', '--help']);"
        " main(['mine-log', '--help']); "
    )
    code += "print(sorted({'numpy', 'pandas', 'scipy', 'rich'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=os.environ,
    )
    assert "--support" in done.stdout
    assert done.stdout.endswith("[]\n")
