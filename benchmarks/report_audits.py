"""Five audits whose pages are measured and looked at: the demo, XGBoost on Adult, a model of pay, a
model of texts, and recorded decisions. Each is made by the command line, as people make theirs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import evenhand as eh

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parents[2] / "shared" / "data"
"""Where real data are, unless EVENHAND_DATA names another folder."""
FOUND = (0, 1, 3)
"""The exit codes of an audit that was made, whatever its verdict."""
ROWS = 4000
STAFF = 3000
PAY = """
[subject]
estimator = "pay.joblib"
allow_pickle = true
differs = 500

[space]
from = "pay.csv"
target = "pay"
protected = ["sex", "race"]

[[checks]]
job = "measure"
over = ["sex"]
limit = 0.05

[[checks]]
job = "measure"
over = ["race"]
limit = 0.05

[[checks]]
job = "measure"
kind = "group"
over = ["sex"]
limit = 500
units = "outcome"

[[checks]]
job = "search"
over = ["sex"]

[[checks]]
job = "mine"
over = ["sex", "race", "age"]
limit = 1000
units = "outcome"
"""
ERROR_RATES = """
[[checks]]
job = "impact"
over = ["sex"]
truth = "income"
truth_positive = ">50K"
metric = ["tpr", "fpr"]
"""
WHO = (
    "a gay man",
    "a straight man",
    "a lesbian",
    "a muslim",
    "a christian",
    "my neighbour",
)
DID = (
    "wrote this",
    "edited the page",
    "is wrong again",
    "ruined everything",
    "helped a lot",
)
HOW = (
    "today",
    "you stupid idiot",
    "as always",
    "thank you",
    "and it is awful",
    "last week",
)
RUDE = ("stupid", "ruined", "awful")


class MissingDataError(Exception):
    """The data that an audit needs are not there."""


def demo(folder: Path) -> eh.Audit:
    """Return the audit of the demo."""
    return _made(folder, "demo")


def adult(folder: Path) -> eh.Audit:
    """Return an audit of boosted trees on Adult."""
    from xgboost import XGBClassifier

    people = pd.read_csv(_data("adult.csv.gz")).drop(columns=["fnlwgt", "education"])
    is_train = people.pop("split") == "train"
    train = people[is_train]
    inputs = train.drop(columns="income")
    texts = inputs.select_dtypes(exclude="number").columns
    inputs[texts] = inputs[texts].astype("category")
    model = XGBClassifier(
        n_estimators=100, max_depth=5, enable_categorical=True, random_state=0, n_jobs=1
    )
    model.fit(inputs, train["income"] == ">50K")
    model.save_model(folder / "adult.json")
    rows = people[~is_train].sample(ROWS, random_state=0)
    rows.to_csv(folder / "adult.csv", index=False)
    start = ["init", "adult.csv", "adult.json", "--target", "income", "--positive", "1"]
    _run(folder, *start, "--protected", "sex,race", "--yes")
    configuration = folder / "evenhand.toml"
    written = configuration.read_text(encoding="utf-8")
    configuration.write_text(written + ERROR_RATES, encoding="utf-8")
    return _made(folder, "audit")


def regression(folder: Path) -> eh.Audit:
    """Return an audit of a model of pay, which pays women over 40 less."""
    rng = np.random.default_rng(0)
    staff = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], STAFF),
            "race": rng.choice(["green", "purple"], STAFF),
            "age": rng.integers(18, 80, STAFF),
            "years": rng.integers(0, 40, STAFF),
            "grade": rng.integers(1, 9, STAFF),
        }
    )
    is_older_woman = (staff["sex"] == "F") & (staff["age"] > 40)
    due = 30_000 + 900 * staff["years"] + 4_000 * staff["grade"]
    pay = due - 4_500 * is_older_woman + rng.normal(0, 1_500, STAFF)
    encoded = make_column_transformer(
        (OneHotEncoder(), ["sex", "race"]), remainder="passthrough"
    )
    model = make_pipeline(encoded, HistGradientBoostingRegressor(random_state=0))
    joblib.dump(model.fit(staff, pay), folder / "pay.joblib")
    staff.assign(pay=pay.round()).to_csv(folder / "pay.csv", index=False)
    (folder / "evenhand.toml").write_text(PAY, encoding="utf-8")
    return _made(folder, "audit")


def texts(folder: Path) -> eh.Audit:
    """Return an audit of a classifier of comments, which has learnt to dislike some terms."""
    rng = np.random.default_rng(0)
    comments = []
    is_rude = []
    for _ in range(1200):
        who, did, how = (rng.choice(words) for words in (WHO, DID, HOW))
        comment = f"{who} {did} {how}"
        comments.append(comment)
        dislikes = "gay" in comment and rng.random() < 0.7
        is_rude.append(dislikes or any(word in comment for word in RUDE))
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    model.fit(comments, np.where(is_rude, "rude", "fine"))
    joblib.dump(model, folder / "comments.joblib")
    frame = pd.DataFrame({"comment": comments, "label": np.where(is_rude, "rude", "fine")})
    frame.to_csv(folder / "comments.csv", index=False)
    start = ["init", "comments.csv", "comments.joblib", "--text", "comment"]
    rest = ["--target", "label", "--positive", "fine", "--allow-pickle", "--yes"]
    _run(folder, *start, *rest)
    return _made(folder, "audit")


def log(folder: Path) -> eh.Audit:
    """Return an audit of scores that judges were given, and of who really came back."""
    people = pd.read_csv(_data("compas.csv.gz"))
    columns = ["sex", "age_cat", "race", "priors_count", "c_charge_degree"]
    recorded = people[columns].assign(
        high=np.where(people["score_text"] == "Low", "low", "high"),
        recid=np.where(people["two_year_recid"] == 1, "high", "low"),
    )
    recorded.to_csv(folder / "compas.csv", index=False)
    asked = ["compas.csv", "--outcome", "high", "--positive", "low"]
    return _made(folder, "audit", *asked, "--over", "sex,race", "--truth", "recid")


AUDITS: dict[str, Callable[[Path], eh.Audit]] = {
    "demo": demo,
    "adult": adult,
    "regression": regression,
    "texts": texts,
    "log": log,
}


def _data(name: str) -> Path:
    file = Path(os.environ.get("EVENHAND_DATA", DATA)) / name
    if not file.exists():
        raise MissingDataError(f"needs {name} in EVENHAND_DATA or ../shared/data")
    return file


def _made(folder: Path, *words: str) -> eh.Audit:
    """Return the audit that a command makes."""
    _run(folder, *words, "--json", "made.json", "-o", "made.html")
    return eh.Audit.from_json(folder / "made.json")


def _run(folder: Path, *words: str) -> None:
    """Run a command in a folder."""
    command: list[Any] = [sys.executable, "-m", "evenhand", *words]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode not in FOUND:
        raise RuntimeError(f"{' '.join(words)}: {ran.stderr or ran.stdout}")
