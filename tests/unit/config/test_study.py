"""Study files: what they declare, the data as the paper prepares it, and what is said of mistakes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenhand.config.study import read_study
from evenhand.mitigation import catalogue
from evenhand.runtime.errors import ConfigError, DataError, MissingExtra
from evenhand.study.study import run
from tests.support.helpers import refused
from tests.support.paths import BESIDE, ROOT

STUDIES = ROOT / "studies"
STUDY = """
[study]
splits = 2
seed = 3
bias = "spd"
performance = "balanced accuracy"
[[data]]
from = "loans.csv"
target = "approved"
positive = "yes"
protected = { sex = "m" }
drop = ["id"]
[[models]]
name = "DT"
[[methods]]
name = "reweighing"
[[methods]]
name = "reject-option-spd"
as = "tight"
settings = { bound = 0.01 }
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    sex, income = rng.choice(["f", "m"], 200), rng.integers(10, 90, 200)
    approved = np.where(income + 15 * (sex == "m") + rng.normal(0, 8, 200) > 50, "yes", "no")
    frame = pd.DataFrame({"id": range(200), "sex": sex, "income": income, "approved": approved})
    frame.to_csv(tmp_path / "loans.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def said(folder: Path, old: str, new: str, *words: str, kind: type = ConfigError) -> None:
    """Check that a study file with one change is refused in a sentence that names the file and
    these words.
    """
    assert old in STUDY
    file = folder / "wrong.toml"
    file.write_text(STUDY.replace(old, new, 1))
    refused(kind, lambda: read_study(file), *words)


def test_a_file_declares_a_study_that_runs(folder):
    read = read_study(folder / "study.toml")
    assert (read.study.splits, read.study.seed, read.study.test_size) == (2, 3, 0.3)
    assert (read.bias, read.performance, read.store) == (
        ("spd",),
        "balanced accuracy",
        folder / "study.sqlite",
    )
    assert read.study.tasks[0].name == "loans"
    assert list(read.study.tasks[0].frame.columns) == ["sex", "income"]
    cases = run(read.study, read.store)
    assert not cases.failed
    assert cases.methods["tight"].key == "reject-option-spd"
    assert cases.comparison("loans", "sex", "DT", read.bias[0], read.performance).runs == 2


def test_what_a_command_line_says_goes_first(folder):
    read = read_study(folder / "study.toml")
    other = read.changed(store="b.sqlite", splits=7, seed=1, bias=["aod", "eod"], performance="f1")
    assert (other.study.splits, other.study.seed, other.store.name) == (7, 1, "b.sqlite")
    assert (other.bias, other.performance) == (("aod", "eod"), "f1")
    assert other.study.tasks[0] is read.study.tasks[0]
    assert (read.changed().study.splits, read.changed().bias) == (2, ("spd",))
    refused(ConfigError, lambda: read.changed(bias=["spdd"]), "study.toml", "spdd", "'spd'")


def test_estimators_of_the_users_own(folder):
    (folder / "mine_here.py").write_text(
        "from sklearn.dummy import DummyClassifier\n"
        "def make():\n    return DummyClassifier(strategy='stratified')\n"
        "def fail():\n    raise OSError('no\\nmodel')\n"
        "def odd():\n    return 3\n"
    )
    file = folder / "own.toml"
    file.write_text(STUDY.replace('name = "DT"', 'name = "guess"\nestimator = "mine_here:make"'))
    cases = run(read_study(file).study)
    assert not cases.failed
    assert cases.models == ("guess",)
    for estimator, words in (
        ("mine_here.make", ("mine_here.make", "package.module:function")),
        ("mine_here:mke", ("'mke'", "'make'")),
        ("mine_there:make", ("mine_there", "ModuleNotFoundError")),
        ("mine_here:fail", ("OSError: no model",)),
        ("mine_here:odd", ("3", "fit and predict")),
    ):
        said(
            folder,
            'name = "DT"',
            f'estimator = "{estimator}"',
            "wrong.toml",
            "[[models]] 1",
            *words,
        )


def test_mistakes_are_told_with_file_table_key_and_value(folder):
    said(folder, "[study]", "[stduy]", "wrong.toml", "[stduy]", "'study'")
    said(folder, "splits", "split", "[study]", "'split'", "'splits'")
    said(folder, "splits = 2", 'splits = "2"', "[study]", "splits = '2'", "a whole number")
    said(folder, "splits = 2", "splits = true", "splits = True", "a whole number")
    said(folder, "splits = 2", "splits = 0", "wrong.toml", "splits = 0")
    said(folder, "splits = 2", "test_size = 2", "test_size = 2", "between 0 and 1")
    said(folder, 'bias = "spd"', 'bias = ["spd", 3]', "bias = ['spd', 3]", "texts")
    said(folder, 'bias = "spd"', 'bias = "sdp"', "wrong.toml", "'sdp'", "'spd'")
    said(
        folder, "balanced accuracy", "balanced acuracy", "'balanced acuracy'", "'balanced accuracy'"
    )
    said(folder, "seed = 3", 'missing = "skipp"', "missing = 'skipp'", "'skip'")
    said(folder, "[[models]]", "[models]", "[[models]]")
    said(folder, '[[models]]\nname = "DT"', "", "no [[models]] table")
    said(folder, '"DT"', '"RF"', "[[models]] 1", "'RF'", "'LR'", "estimator")
    said(folder, '"reweighing"', '"reweighting"', "[[methods]] 1", "'reweighting'", "'reweighing'")
    said(folder, "bound", "bond", "[[methods]] 2", "'bond'", "'bound'")
    said(folder, "bound = 0.01", 'over = "sex"', "[[methods]] 2", "'over'")
    said(folder, 'as = "tight"', 'as = "reweighing"', "'reweighing'", "more than one")
    said(folder, "loans.csv", "loan.csv", "loan.csv", "'loans.csv'", kind=DataError)
    said(
        folder, 'target = "approved"', 'target = "aproved"', "[[data]] 1", "'aproved'", "'approved'"
    )
    said(folder, 'target = "approved"', "", "[[data]] 1", "no 'target'")
    said(folder, '"yes"', '"Yes"', "[[data]] 1", "'Yes'", "'yes'")
    said(folder, '{ sex = "m" }', '{ sex = "male" }', "[[data]] 1", "'male'", "'sex'", "'m'")
    said(folder, '{ sex = "m" }', '{ sexe = "m" }', "'sexe'", "'sex'")
    said(folder, '{ sex = "m" }', '"sex"', "protected = 'sex'", "a table")
    said(folder, '["id"]', '["idd"]', "'idd'", "'id'")
    said(folder, 'from = "loans.csv"', 'name = "germann"', "[[data]] 1", "'german'")
    said(folder, 'from = "loans.csv"', "", "[[data]] 1", "neither")
    said(folder, "[study]", "[study", "not valid TOML")
    refused(ConfigError, lambda: read_study(folder / "stdy.toml"), "stdy.toml", "'study.toml'")


def test_numbers_that_are_missing_are_told_before_anything_runs(folder):
    frame = pd.read_csv(folder / "loans.csv")
    frame["income"] = frame["income"].mask(frame["income"] > 80)
    frame.to_csv(folder / "loans.csv", index=False)
    gaps = int(frame["income"].isna().sum())
    refused(
        ConfigError, lambda: read_study(folder / "study.toml"), "'income'", f"{gaps} of 200", "DT"
    )


def test_a_missing_library_is_refused_or_skipped(folder, monkeypatch):
    monkeypatch.setattr(catalogue, "find_spec", lambda name: None)
    text = STUDY + '[[methods]]\nname = "equalised-odds"\n'
    (folder / "extra.toml").write_text(text)
    refused(
        MissingExtra,
        lambda: read_study(folder / "extra.toml"),
        "[[methods]] 3",
        "equalised-odds",
        "[aif360]",
    )
    (folder / "extra.toml").write_text(text.replace("[study]", '[study]\nmissing = "skip"'))
    study = read_study(folder / "extra.toml").study
    assert [entry.name for entry in study.methods] == ["reweighing", "tight"]
    assert len(study.notes) == 1
    assert study.notes[0].startswith("equalised-odds was skipped: ")
    assert run(study).notes == study.notes


@pytest.fixture
def data(monkeypatch):
    folder = Path(os.environ.get("EVENHAND_DATA", BESIDE))
    if not all((folder / f"{name}.csv.gz").exists() for name in ("adult", "compas", "german")):
        pytest.skip("needs adult, compas and german in EVENHAND_DATA or ../shared/data")
    monkeypatch.setenv("EVENHAND_DATA", str(folder))
    monkeypatch.setattr(
        catalogue, "find_spec", lambda name: name
    )  # what is installed does not matter to a file


def test_the_study_of_the_paper_is_that_of_its_table_3(data):
    read = read_study(STUDIES / "paper.toml")
    study = read.study
    assert (read.bias, read.performance, study.splits, study.test_size) == (
        ("spd", "aod"),
        "accuracy",
        50,
        0.3,
    )
    assert [model.name for model in study.models] == ["LR", "DT", "SVM"]
    assert {entry.key for entry in study.methods} == {
        key for key, one in catalogue.METHODS.items() if one.paper
    }
    adult, compas, german = (task.ground for task in study.tasks)
    assert adult.protected == {"sex": ("Male", "Female"), "race": ("White", "other")}
    assert compas.protected == {"sex": ("Female", "Male"), "race": ("Caucasian", "other")}
    assert german.protected == {"sex": ("male", "female")}
    assert (adult.positive, compas.positive, german.positive) == (">50K", 0, 1)
    rows = {task.name: (task.rows, task.frame.shape[1]) for task in study.tasks}
    assert rows == {"adult": (48_842, 13), "compas": (6_172, 8), "german": (1_000, 20)}
    shares = {task.name: float(np.mean(task.labels == task.positive)) for task in study.tasks}
    assert shares == pytest.approx({"adult": 0.24, "compas": 0.54, "german": 0.70}, abs=0.01)
    assert len(study.units) == 50 * 3 * (3 + 2)
    assert (study.tasks[2].frame["sex"] == "female").sum() == 310


def test_the_small_study_has_two_data_sets_and_eight_methods(data):
    read = read_study(STUDIES / "small.toml")
    assert [task.name for task in read.study.tasks] == ["german", "compas"]
    assert len(read.study.methods) == 8
    assert len(read.study.units) == 10 * 2 * 3
    assert read.store == STUDIES / "small.sqlite"
