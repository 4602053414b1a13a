"""Small real audits of every kind of software, and the bundles that they write."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evenhand.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SPACE = """
[space]
protected = ["sex", "race"]
[space.features.sex]
levels = ["F", "M"]
[space.features.race]
levels = ["a", "b", "c"]
[space.features.income]
low = 0
high = {high}
"""
CHECKS = """
[[checks]]
job = "measure"
over = ["sex"]
limit = 0.05
[[checks]]
job = "measure"
kind = "group"
over = ["race"]
limit = 0.1
[[checks]]
job = "search"
over = ["sex"]
queries = 2000
"""
LOAN = """
import numpy as np

def decide(people):
    favoured = (people["sex"] == "M") | (people["income"] > 60)
    return np.where((people["income"] > 40) & favoured, "approve", "deny")
"""
PROGRAM = """
import sys

sex, race, income = sys.argv[1], sys.argv[2], int(sys.argv[3])
favoured = sex == "M" or income > 60
print("approve" if income > 40 and favoured else "deny")
"""


def function_audit(folder: Path, *, high: int = 99) -> Path:
    """Write an audit of a function; more than a few thousand inputs are sampled."""
    (folder / "loan.py").write_text(LOAN)
    subject = '[subject]\nfunction = "loan:decide"\npositive = "approve"\n'
    return _written(folder, subject + SPACE.format(high=high) + CHECKS)


def command_audit(folder: Path) -> Path:
    """Write an audit of a program that keeps a ledger."""
    (folder / "loan_program.py").write_text(PROGRAM)
    words = [sys.executable, "loan_program.py", "{sex}", "{race}", "{income}"]
    subject = (
        f'[subject]\ncommand = {words}\npositive = "approve"\nledger = "loan.ledger"\n'
    )
    check = '[[checks]]\njob = "measure"\nover = ["sex"]\nlimit = 0.05\nqueries = 60\n'
    return _written(folder, subject + SPACE.format(high=99) + check)


def people(rows: int = 300) -> pd.DataFrame:
    """Return people with a decision that depends on their sex."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "sex": random.choice(["F", "M"], rows),
            "race": random.choice(["a", "b"], rows),
            "income": random.integers(0, 100, rows),
        }
    )
    chance = 0.2 + 0.004 * frame["income"] + 0.3 * (frame["sex"] == "M")
    frame["approved"] = (random.random(rows) < chance).astype(int)
    return frame


def estimator_audit(folder: Path) -> Path:
    """Write an audit of a saved estimator, whose space is inferred from data."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    from evenhand.subject.adapters.saved import save_model

    frame = people()
    frame.to_csv(folder / "people.csv", index=False)
    encoder = make_column_transformer(
        (OneHotEncoder(), ["sex", "race"]), remainder="passthrough"
    )
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000))
    model.fit(frame.drop(columns="approved"), frame["approved"])
    trusted = save_model(model, folder / "model.skops")
    text = f"""
[subject]
estimator = "model.skops"
positive = 1
trusted = {trusted}
[space]
from = "people.csv"
target = "approved"
protected = ["sex"]
[[checks]]
job = "measure"
over = ["sex"]
limit = 0.05
[[checks]]
job = "search"
over = ["sex"]
queries = 2000
[[checks]]
job = "impact"
[[checks]]
job = "mine"
limit = 0.1
queries = 5000
"""
    return _written(folder, text)


def log_audit(folder: Path) -> Path:
    """Write an audit of recorded decisions."""
    people().to_csv(folder / "decisions.csv", index=False)
    text = """
[log]
from = "decisions.csv"
outcome = "approved"
over = ["sex", "race"]
"""
    return _written(folder, text)


def text_audit(folder: Path) -> Path:
    """Write an audit of a function of texts, with a lexicon of its own."""
    lines = ["text"]
    for number in range(40):
        lines += [f"the gay lives in house {number}", f"the man lives in house {number}"]
    (folder / "texts.csv").write_text("\n".join(lines))
    (folder / "rude.py").write_text(
        "def rude(texts):\n    return ['gay' in text and '1' in text for text in texts]\n"
    )
    text = """
[subject]
function = "rude:rude"
positive = false
[texts]
from = "texts.csv"
column = "text"
[[checks]]
job = "mine"
kind = "causal"
limit = 0.05
"""
    return _written(folder, text)


def _written(folder: Path, text: str) -> Path:
    file = folder / "evenhand.toml"
    file.write_text(text)
    return file


@contextmanager
def modules_of(folder: Path) -> Iterator[None]:
    """Import modules of a folder anew, and forget them: other tests have some of the same names."""
    _forget_modules()
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))
        _forget_modules()


def _forget_modules() -> None:
    for name in ("loan", "rude"):
        sys.modules.pop(name, None)


def bundle_of(folder: Path, monkeypatch, *options: str, name: str = "evidence.zip") -> Path:
    """Run the audit of a folder, and return the bundle that it writes."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    with modules_of(folder):
        code = main(["audit", "--bundle", name, "--quiet", *options])
    assert code in (0, 1, 3)
    return folder / name
