"""Study files: what they declare, the data as the paper prepares it, and errors."""

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
    sex = rng.choice(["f", "m"], 200)
    income = rng.integers(10, 90, 200)
    score = income + 15 * (sex == "m") + rng.normal(0, 8, 200)
    approved = np.where(score > 50, "yes", "no")
    frame = pd.DataFrame(
        {"id": range(200), "sex": sex, "income": income, "approved": approved}
    )
    frame.to_csv(tmp_path / "loans.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def refused_with(
    folder: Path, old: str, new: str, *words: str, kind: type = ConfigError
) -> None:
    """Check that a study file with one change is refused with a sentence that has these words."""
    assert old in STUDY
    file = folder / "wrong.toml"
    file.write_text(STUDY.replace(old, new, 1))
    refused(kind, lambda: read_study(file), *words)


def test_a_file_declares_a_study_that_runs(folder):
    declared = read_study(folder / "study.toml")
    study = declared.study
    assert (study.splits, study.seed, study.test_size) == (2, 3, 0.3)
    assert declared.bias == ("spd",)
    assert declared.performance == "balanced accuracy"
    assert declared.store == folder / "study.sqlite"
    task = study.tasks[0]
    assert task.name == "loans"
    assert list(task.frame.columns) == ["sex", "income"]
    cases = run(study, declared.store)
    assert not cases.failed
    assert cases.methods["tight"].key == "reject-option-spd"
    comparison = cases.comparison(
        "loans", "sex", "DT", declared.bias[0], declared.performance
    )
    assert comparison.runs == 2


def test_options_of_a_command_line_replace_those_of_the_file(folder):
    declared = read_study(folder / "study.toml")
    other = declared.changed(
        store="b.sqlite",
        splits=7,
        seed=1,
        bias=["aod", "eod"],
        performance="f1",
    )
    assert (other.study.splits, other.study.seed, other.store.name) == (7, 1, "b.sqlite")
    assert (other.bias, other.performance) == (("aod", "eod"), "f1")
    assert other.study.tasks[0] is declared.study.tasks[0]
    same = declared.changed()
    assert (same.study.splits, same.bias) == (2, ("spd",))
    refused(
        ConfigError, lambda: declared.changed(bias=["spdd"]), "study.toml", "spdd", "'spd'"
    )


def test_estimators_of_the_users_own(folder):
    (folder / "mine_here.py").write_text(
        "from sklearn.dummy import DummyClassifier\n"
        "def make():\n    return DummyClassifier(strategy='stratified')\n"
        "def fail():\n    raise OSError('no\\nmodel')\n"
        "def odd():\n    return 3\n"
    )
    file = folder / "own.toml"
    file.write_text(
        STUDY.replace('name = "DT"', 'name = "guess"\nestimator = "mine_here:make"')
    )
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
        refused_with(
            folder,
            'name = "DT"',
            f'estimator = "{estimator}"',
            "wrong.toml",
            "[[models]] 1",
            *words,
        )


def test_errors_name_file_table_key_and_value(folder):
    refused_with(folder, "[study]", "[stduy]", "wrong.toml", "[stduy]", "'study'")
    refused_with(folder, "splits", "split", "[study]", "'split'", "'splits'")
    refused_with(
        folder, "splits = 2", 'splits = "2"', "[study]", "splits = '2'", "a whole number"
    )
    refused_with(folder, "splits = 2", "splits = true", "splits = True", "a whole number")
    refused_with(folder, "splits = 2", "splits = 0", "wrong.toml", "splits = 0")
    refused_with(folder, "splits = 2", "test_size = 2", "test_size = 2", "between 0 and 1")
    refused_with(folder, 'bias = "spd"', 'bias = ["spd", 3]', "bias = ['spd', 3]", "texts")
    refused_with(folder, 'bias = "spd"', 'bias = "sdp"', "wrong.toml", "'sdp'", "'spd'")
    refused_with(
        folder,
        "balanced accuracy",
        "balanced acuracy",
        "'balanced acuracy'",
        "'balanced accuracy'",
    )
    refused_with(folder, "seed = 3", 'missing = "skipp"', "missing = 'skipp'", "'skip'")
    refused_with(folder, "[[models]]", "[models]", "[[models]]")
    refused_with(folder, '[[models]]\nname = "DT"', "", "no [[models]] table")
    refused_with(folder, '"DT"', '"RF"', "[[models]] 1", "'RF'", "'LR'", "estimator")
    refused_with(
        folder,
        '"reweighing"',
        '"reweighting"',
        "[[methods]] 1",
        "'reweighting'",
        "'reweighing'",
    )
    refused_with(folder, "bound", "bond", "[[methods]] 2", "'bond'", "'bound'")
    refused_with(folder, "bound = 0.01", 'over = "sex"', "[[methods]] 2", "'over'")
    refused_with(
        folder, 'as = "tight"', 'as = "reweighing"', "'reweighing'", "more than one"
    )
    refused_with(folder, "loans.csv", "loan.csv", "loan.csv", "'loans.csv'", kind=DataError)
    refused_with(
        folder,
        'target = "approved"',
        'target = "aproved"',
        "[[data]] 1",
        "'aproved'",
        "'approved'",
    )
    refused_with(folder, 'target = "approved"', "", "[[data]] 1", "no 'target'")
    refused_with(folder, '"yes"', '"Yes"', "[[data]] 1", "'Yes'", "'yes'")
    refused_with(
        folder, '{ sex = "m" }', '{ sex = "male" }', "[[data]] 1", "'male'", "'sex'", "'m'"
    )
    refused_with(folder, '{ sex = "m" }', '{ sexe = "m" }', "'sexe'", "'sex'")
    refused_with(folder, '{ sex = "m" }', '"sex"', "protected = 'sex'", "a table")
    refused_with(folder, '["id"]', '["idd"]', "'idd'", "'id'")
    refused_with(folder, 'from = "loans.csv"', 'name = "germann"', "[[data]] 1", "'german'")
    refused_with(folder, 'from = "loans.csv"', "", "[[data]] 1", "neither")
    refused_with(folder, "[study]", "[study", "not valid TOML")
    refused(
        ConfigError, lambda: read_study(folder / "stdy.toml"), "stdy.toml", "'study.toml'"
    )


def test_missing_numbers_are_refused_before_anything_runs(folder):
    frame = pd.read_csv(folder / "loans.csv")
    frame["income"] = frame["income"].mask(frame["income"] > 80)
    frame.to_csv(folder / "loans.csv", index=False)
    gaps = int(frame["income"].isna().sum())
    refused(
        ConfigError,
        lambda: read_study(folder / "study.toml"),
        "'income'",
        f"{gaps} of 200",
        "DT",
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
    files = [folder / f"{name}.csv.gz" for name in ("adult", "compas", "german")]
    if not all(file.exists() for file in files):
        pytest.skip("needs adult, compas and german in EVENHAND_DATA or ../shared/data")
    monkeypatch.setenv("EVENHAND_DATA", str(folder))
    # What is installed does not matter to a file.
    monkeypatch.setattr(catalogue, "find_spec", lambda name: name)


def test_the_study_of_the_paper_is_that_of_its_table_3(data):
    declared = read_study(STUDIES / "paper.toml")
    study = declared.study
    assert (declared.bias, declared.performance) == (("spd", "aod"), "accuracy")
    assert (study.splits, study.test_size) == (50, 0.3)
    assert [model.name for model in study.models] == ["LR", "DT", "SVM"]
    keys = {entry.key for entry in study.methods}
    assert keys == {key for key, method in catalogue.METHODS.items() if method.paper}
    adult, compas, german = (task.info for task in study.tasks)
    assert adult.protected == {"sex": ("Male", "Female"), "race": ("White", "other")}
    assert compas.protected == {"sex": ("Female", "Male"), "race": ("Caucasian", "other")}
    assert german.protected == {"sex": ("male", "female")}
    assert (adult.positive, compas.positive, german.positive) == (">50K", 0, 1)
    rows = {task.name: (task.rows, task.frame.shape[1]) for task in study.tasks}
    assert rows == {"adult": (48_842, 13), "compas": (6_172, 8), "german": (1_000, 20)}
    shares = {}
    for task in study.tasks:
        shares[task.name] = float(np.mean(task.labels == task.positive))
    assert shares == pytest.approx(
        {"adult": 0.24, "compas": 0.54, "german": 0.70}, abs=0.01
    )
    assert len(study.units) == 50 * 3 * (3 + 2)
    assert (study.tasks[2].frame["sex"] == "female").sum() == 310


def test_the_small_study_has_two_data_sets_and_eight_methods(data):
    declared = read_study(STUDIES / "small.toml")
    study = declared.study
    assert [task.name for task in study.tasks] == ["german", "compas"]
    assert len(study.methods) == 8
    assert len(study.units) == 10 * 2 * 3
    assert declared.store == STUDIES / "small.sqlite"
