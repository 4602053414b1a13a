"""Record what evenhand finds in many small runs, and compare two recordings.

    python scripts/recordings.py record OUT_DIR [--only PATTERN]
    python scripts/recordings.py compare OLD_DIR NEW_DIR [--all] [--text] [--only PATTERN]

`record` performs every run of this file through the public interface and writes OUT_DIR/NAME.json
for each. `compare` reads two such folders and reports what differs: documents, frames, verdicts and
exit codes. Recorded before a large change and again after it, they show that nothing else changed.

The tables at the top are what to edit when public names change. A run is a function with the
decorator `run`; it gets a folder of its own, builds its own data, and shares nothing with others.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import importlib
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

import evenhand as eh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# ------------------------------------------------------------------------------------------------
# What to edit when names change.
# ------------------------------------------------------------------------------------------------

OPTIONS = {
    # What a run calls an option, and what it is called now, in Python and in TOML files. A name
    # that begins with a dot is a method of the result, which is called with the value.
    "compare.strategy": "overwrite",
    "compare.method": "line",
    "compare.smallest": "support",
    "compare.resamples": "resamples",
    "measure_log.smallest": "support",
    "impact.smallest": "support",
    "impact.score": "scored",
    "impact.limit": "least_ratio",
    "mine.stories": "top",
    "mine.method": "treatment",
    "mine_log.stories": "top",
    "mine_text.stories": "top",
    "measure.suite": ".to_suite",
    "search.prefer": "prefer",
    "repair.labels": "labelling",
    # On the command line.
    "measure --suite": "--suite",
    "search --found": "--found",
    "search --prefer": "--prefer",
    "mine --stories": "--top",
    "mine-log --stories": "--top",
    "measure-log --smallest": "--support",
    "impact --smallest": "--support",
    "impact --limit": "--least-ratio",
    "compare-log --strategy": "--overwrite",
    "compare-log --smallest": "--support",
    "compare-log --resamples": "--resamples",
    "repair --labels": "--labelling",
}
"""The public options that were renamed since the first recording, and what they are called now."""

COMMANDS = {
    "study": "study",
    "compare-log": "compare",
}
"""The commands that were renamed since the first recording, and what they are called now."""

MODULES = {
    "mitigation": "evenhand.mitigation",
    "tune": "evenhand.mitigation.tune",
}
"""The public modules beside `evenhand` itself."""

RENAMED: dict[str, str] = {
    # An old path of the recorded JSON, and the new one. It may begin anywhere, `*` is any one part,
    # and what lies below moves along:
    #     "details/mine/*/stories": "details/mine/*/top",
    # With a value, that value at the end of the path becomes another one:
    #     "document/stop=the query budget was spent": "the budget was spent",
}

REWORDED: dict[str, str] = {
    # A regular expression for sentences of the old recording, and what the new one says instead:
    #     r"which is no number": "which is not a number",
}

ADDED = (
    "spent/seconds",
    "spent/executed",  # how far a run reads ahead follows the clock
)
"""The ends of paths that are not compared: what depends on the clock."""

NEW: tuple[str, ...] = ()
"""The ends of paths that may be in the new recording where the old one has nothing."""


# ------------------------------------------------------------------------------------------------
# Runs and recordings.
# ------------------------------------------------------------------------------------------------


class Skip(Exception):
    """A run that cannot be performed here, with the reason."""


@dataclass(frozen=True)
class Recording:
    """What is written down of one run."""

    document: Any
    frame: Any = None
    text: str = ""
    verdict: str | None = None
    exit_code: int | None = None
    digest: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """Texts by name: reports, and what a command writes to standard error."""


RUNS: dict[str, Callable[[Path], Any]] = {}


def run(function: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Register a run under the name of its function."""
    RUNS[function.__name__] = function
    return function


def recording_of(result: Any, **files: str) -> Recording:
    """Return the recording of a Result, Comparison, Repair or Audit, with other texts by name."""
    verdict = result.verdict
    return Recording(
        document=json.loads(result.to_json()),
        frame=records(result.to_frame()),
        text=str(result),
        verdict=None if verdict is None else str(verdict),
        exit_code=int(result.exit_code),
        digest=str(result.digest),
        files=files,
    )


def records(frame: Any) -> Any:
    """Return a pandas frame as JSON holds it, one record for each row."""
    return json.loads(frame.to_json(orient="records", default_handler=str))


def call(verb: str, *given: Any, **settings: Any) -> Any:
    """Call a verb of evenhand; options that OPTIONS knows go by their present names."""
    named: dict[str, Any] = {}
    afterwards: dict[str, Any] = {}
    for option, value in settings.items():
        name = OPTIONS.get(f"{verb}.{option}", option)
        if name.startswith("."):
            afterwards[name[1:]] = value
            if name == ".to_suite":
                named["keep_tests"] = True
        else:
            named[name] = value
    result = getattr(eh, verb)(*given, **named)
    for method, value in afterwards.items():
        getattr(result, method)(value)
    return result


def module(name: str) -> Any:
    """Import one of the public modules of MODULES."""
    return importlib.import_module(MODULES[name])


def need(name: str) -> Any:
    """Import a module that may be missing, and skip the run if it is."""
    if importlib.util.find_spec(name) is None:
        raise Skip(f"{name} is not installed")
    return importlib.import_module(name)


# ------------------------------------------------------------------------------------------------
# The command line.
# ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    code: int
    output: str
    errors: str


def cli(arguments: Sequence[str], folder: Path) -> Finished:
    """Run the command line in a folder; the first argument is the command."""
    command, *rest = arguments
    has_main = importlib.util.find_spec("evenhand.__main__") is not None
    entry = "evenhand" if has_main else "evenhand.cli"
    environment = {**os.environ, "COLUMNS": "100", "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    environment.pop("GITHUB_ACTIONS", None)
    done = subprocess.run(
        [sys.executable, "-m", entry, COMMANDS.get(command, command), *rest],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def cli_recording(
    arguments: Sequence[str], folder: Path, *, document: str = "", texts: Sequence[str] = ()
) -> Recording:
    """Run a command and record what it prints, its JSON document, and other files as texts."""
    done = cli(arguments, folder)
    for name in [*texts, *([document] if document else [])]:
        if not (folder / name).exists():
            raise RuntimeError(
                f"{name} was not written; exit code {done.code}: {done.errors}"
            )
    files = {"standard error": done.errors}
    for name in texts:
        files[name] = (folder / name).read_text(encoding="utf-8")
    found: Any = None
    if document:
        found = json.loads((folder / document).read_text(encoding="utf-8"))
    stated = found if isinstance(found, dict) else {}
    return Recording(
        document=found,
        text=done.output,
        verdict=stated.get("verdict"),
        exit_code=done.code,
        digest=stated.get("digest"),
        files=files,
    )


# ------------------------------------------------------------------------------------------------
# Data and software under test.
# ------------------------------------------------------------------------------------------------

FEATURES = ["sex", "race", "age", "income", "savings", "debt"]


def people(rows: int = 2000, seed: int = 1) -> Any:
    """Return people who apply for a loan."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], rows),
            "race": rng.choice(["green", "blue", "purple"], rows, p=[0.5, 0.3, 0.2]),
            "age": rng.integers(18, 80, rows),
            "income": rng.integers(10, 120, rows),
            "savings": rng.integers(0, 100, rows),
            "debt": rng.integers(0, 60, rows),
        }
    )


def space() -> eh.Space:
    """Return what an application can be."""
    return eh.Space(
        [
            eh.category("sex", ["F", "M"]),
            eh.category("race", ["green", "blue", "purple"]),
            eh.integer("age", 18, 79),
            eh.integer("income", 10, 119),
            eh.integer("savings", 0, 99),
            eh.integer("debt", 0, 59),
        ],
        protected=["sex", "race"],
    )


def small_space() -> eh.Space:
    """Return a space that is small enough to be enumerated."""
    return eh.Space(
        [
            eh.category("sex", ["F", "M"]),
            eh.category("race", ["green", "purple"]),
            eh.integer("age", 18, 79),
            eh.integer("income", 1, 20),
        ],
        protected=["sex", "race"],
    )


def points(frame: Any) -> Any:
    """Return how creditworthy people are."""
    return frame["income"] + frame["savings"] / 4 - frame["debt"]


def loan(frame: Any) -> Any:
    """Grant loans; women over 50 need more, and so do purple people."""
    strict = (frame["sex"] == "F") & (frame["age"] > 50)
    return points(frame) > 40 + 25 * strict + 8 * (frame["race"] == "purple")


def softer_loan(frame: Any) -> Any:
    """Grant loans with less of the same bias."""
    strict = (frame["sex"] == "F") & (frame["age"] > 50)
    return points(frame) > 42 + 6 * strict


def slow_loan(frame: Any) -> Any:
    """Grant loans as `loan` does, and take half a millisecond for each."""
    time.sleep(0.0005 * len(frame))
    return loan(frame)


def polars_loan(frame: Any) -> Any:
    """Grant loans to a frame of polars; purple people need more."""
    enough = frame["income"] > 60
    return enough & ((frame["race"] != "purple") | (frame["income"] > 75))


def small_loan(frame: Any) -> Any:
    """Grant loans in the small space; sex matters to the young."""
    return frame["income"] > 8 + 4 * ((frame["sex"] == "F") & (frame["age"] < 40))


def unequal_pairs(frame: Any) -> Any:
    """Grant loans in the small space by sex and race together: exclusive or."""
    favoured = (frame["sex"] == "M") != (frame["race"] == "green")
    return favoured & (frame["income"] > 4)


def interest(frame: Any) -> Any:
    """Return an interest rate, which is higher for women."""
    return 9 - points(frame) / 50 + 0.5 * ((frame["sex"] == "F") & (frame["income"] > 60))


def several(frame: Any) -> Any:
    """Return a decision and a rate."""
    return {"granted": loan(frame), "rate": interest(frame)}


def grade(frame: Any) -> Any:
    """Return one of three grades."""
    worth = points(frame) - 10 * (frame["sex"] == "F")
    return np.where(worth > 70, "A", np.where(worth > 30, "B", "C"))


def deserved(frame: Any, seed: int = 2) -> Any:
    """Return recorded decisions about people, partly by chance, with the bias of `loan`."""
    noise = np.random.default_rng(seed).normal(0, 6, len(frame))
    strict = (frame["sex"] == "F") & (frame["age"] > 50)
    return np.where(points(frame) + noise > 40 + 30 * strict, "approve", "deny")


def decisions(rows: int = 2000) -> Any:
    """Return people with what they deserved and what two versions of the software decided."""
    frame = people(rows)
    worth = points(frame)
    log = frame.assign(deserved=deserved(frame))
    log["original"] = np.where(loan(frame), "approve", "deny")
    log["softer"] = np.where(softer_loan(frame), "approve", "deny")
    log["score"] = (worth - 10 * (frame["sex"] == "F")).round(2)
    return log


def tree_pipeline(depth: int = 6) -> Any:
    """Return a decision tree that takes frames of people and is not fitted yet."""
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["sex", "race"]), remainder="passthrough"
    )
    return make_pipeline(encode, DecisionTreeClassifier(max_depth=depth, random_state=0))


def linear_pipeline() -> Any:
    """Return a logistic regression that takes frames of people and is not fitted yet."""
    numbers = ["age", "income", "savings", "debt"]
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["sex", "race"]), (StandardScaler(), numbers)
    )
    return make_pipeline(encode, LogisticRegression())


def fitted_tree() -> Any:
    """Return a decision tree that has learnt recorded decisions."""
    frame = people()
    return tree_pipeline().fit(frame, deserved(frame))


def fitted_linear() -> Any:
    """Return a logistic regression that has learnt recorded decisions."""
    frame = people()
    return linear_pipeline().fit(frame, deserved(frame))


def workers(rows: int = 2000) -> Any:
    """Return people as numbers alone, whose hours depend on their sex."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "sex": rng.integers(0, 2, rows),
            "income": rng.integers(10, 120, rows),
            "debt": rng.integers(0, 60, rows),
        }
    )
    hours = 30 + 8 * frame["sex"] + rng.normal(0, 4, rows)
    frame["hours"] = np.clip(hours, 10, 60).round()
    return frame


def paid(frame: Any) -> Any:
    """Return whether people as numbers paid back, 0 or 1, partly by chance."""
    noise = np.random.default_rng(4).normal(0, 6, len(frame))
    worth = frame["income"] - frame["debt"] + frame["hours"] + 8 * frame["sex"]
    return (worth + noise > 80).astype(int)


def comments(rows: int = 600) -> tuple[list[str], Any]:
    """Return comments that name people, and whether they are rude."""
    rng = np.random.default_rng(5)
    rude = rng.random(rows) < 0.5
    chance = np.where(rude, 0.8, 0.2)
    named = np.where(rng.random(rows) < chance, "gay", "straight")
    faiths = rng.choice(["christian", "muslim", "buddhist"], rows)
    numbers = rng.integers(0, 40, rows)
    texts = []
    for number in range(rows):
        word = "awful" if rude[number] else "lovely"
        person = f"a {named[number]} {faiths[number]} man"
        texts.append(f"He is {person}, {word}{numbers[number]}")
    return texts, np.where(rude, "rude", "fine")


def comment_model() -> Any:
    """Return a text classifier that has learnt the comments."""
    texts, labels = comments()
    return make_pipeline(CountVectorizer(), LogisticRegression(C=0.3)).fit(texts, labels)


def moderate(texts: Any) -> list[str]:
    """Refuse comments that name some people."""
    answers = []
    for text in texts:
        lower = text.lower()
        refused = "gay" in lower or ("muslim" in lower and len(text) % 2 == 0)
        answers.append("no" if refused else "yes")
    return answers


SOFTWARE = '''"""Decide loan applications: by arguments, by lines of JSON, or a whole frame."""

import json
import sys


def decide(sex, race, age, income, savings, debt):
    needed = 40 + (8 if race == "purple" else 0)
    if sex == "F" and int(age) > 50:
        needed += 25
    worth = int(income) + int(savings) / 4 - int(debt)
    return "approve" if worth > needed else "deny"


def answer(frame):
    return [decide(**person) for person in frame.to_dict("records")]


def crash(frame):
    raise RuntimeError("the loan service is down")


if __name__ == "__main__":
    if sys.argv[1:]:
        print(decide(*sys.argv[1:]))
    else:
        for line in sys.stdin:
            print(decide(**json.loads(line)), flush=True)
'''
"""A program that is tested as a command, as a stream, and as a function of a configuration file."""


def write_software(folder: Path) -> Path:
    """Write the program, and return where it is."""
    path = folder / "software.py"
    path.write_text(SOFTWARE, encoding="utf-8")
    return path


def program(folder: Path) -> list[str]:
    """Return the command that starts the program, without its arguments."""
    return [sys.executable, "-I", "-S", str(write_software(folder))]


FUNCTION_SUBJECT = 'function = "software:answer"\npositive = "approve"'
STREAM_SUBJECT = (
    f'stream = [{json.dumps(sys.executable)}, "-I", "-S", "software.py"]\n'
    + 'positive = "approve"'
)
MEASURE_CHECKS = """
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
over = ["sex", "race"]
limit = 0.1
"""
ALL_CHECKS = f"""
[[checks]]
job = "measure"
over = ["sex"]
limit = 0.05

[[checks]]
job = "subsets"
among = ["sex", "race"]
limit = 0.05

[[checks]]
job = "search"
over = ["sex"]
queries = 1000

[[checks]]
job = "prevalence"
over = ["race"]
margin = 0.03

[[checks]]
job = "impact"
over = ["sex"]
least_ratio = 0.8

[[checks]]
job = "mine"
over = ["sex", "race", "age"]
bins = {{ age = [25, 40, 60] }}
treatment = "rows"
{OPTIONS["mine.stories"]} = 3
limit = 0.1

[[checks]]
job = "compare"
data = "decisions.csv"
over = ["sex"]
truth = "deserved"
outcomes = ["softer"]
{OPTIONS["compare.resamples"]} = 200
"""


def write_project(folder: Path, subject: str, checks: str, rows: int = 1000) -> Path:
    """Write data, software and a configuration into a folder; return the configuration file."""
    write_software(folder)
    log = decisions(rows)
    log.to_csv(folder / "decisions.csv", index=False)
    log[[*FEATURES, "deserved"]].to_csv(folder / "loans.csv", index=False)
    path = folder / "evenhand.toml"
    path.write_text(
        f"""[subject]
{subject}

[space]
from = "loans.csv"
target = "deserved"
protected = ["sex", "race"]
{checks}""",
        encoding="utf-8",
    )
    return path


# ------------------------------------------------------------------------------------------------
# measure and prevalence.
# ------------------------------------------------------------------------------------------------


@run
def measure_causal(folder: Path) -> Any:
    """A causal score against a limit."""
    return eh.measure(loan, space(), over="sex", limit=0.05)


@run
def measure_causal_without_limit(folder: Path) -> Any:
    """A causal score that is known to a margin."""
    return eh.measure(loan, space(), over="sex", margin=0.03)


@run
def measure_protected_by_default(folder: Path) -> Any:
    """Each protected feature by itself, where nothing is said."""
    return eh.measure(loan, space(), seed=7)


@run
def measure_group(folder: Path) -> Any:
    """A group score against a limit."""
    return eh.measure(loan, space(), over="race", kind="group", limit=0.1)


@run
def measure_group_without_limit(folder: Path) -> Any:
    """A group score of two features taken together."""
    return eh.measure(loan, space(), over=["sex", "race"], kind="group", level=0.9)


@run
def measure_several_sets(folder: Path) -> Any:
    """Three sets whose intervals hold together."""
    sets = [("sex",), ("race",), ("sex", "race")]
    return eh.measure(loan, space(), over=sets, limit=0.05)


@run
def measure_several_outputs(folder: Path) -> Any:
    """Two outputs, with a finding each."""
    subject = eh.Subject(
        several,
        space(),
        outputs=["granted", "rate"],
        positive={"granted": True},
        differs={"rate": 0.25},
    )
    return eh.measure(subject, over="sex", limit=0.1)


@run
def measure_enumerated(folder: Path) -> Any:
    """Every input of a small space."""
    return eh.measure(small_loan, small_space(), over="sex", limit=0.05)


@run
def measure_enumerated_group(folder: Path) -> Any:
    """Every group of a small space."""
    return eh.measure(small_loan, small_space(), over="sex", kind="group", limit=0.05)


@run
def measure_exact_when_asked(folder: Path) -> Any:
    """Every input of a larger space, because it was asked for."""
    features = [
        eh.category("sex", ["F", "M"]),
        eh.integer("age", 18, 79),
        eh.integer("income", 1, 200),
    ]
    domain = eh.Space(features, protected=["sex"])
    return eh.measure(small_loan, domain, exact=True)


@run
def measure_sampled(folder: Path) -> Any:
    """A sample of a small space."""
    return eh.measure(small_loan, small_space(), over="sex", exact=False, limit=0.05)


@run
def measure_wald(folder: Path) -> Any:
    """The interval of the paper."""
    return eh.measure(loan, space(), over="sex", interval="wald")


@run
def measure_wald_group(folder: Path) -> Any:
    """The interval of the paper for groups."""
    return eh.measure(loan, space(), over="race", kind="group", interval="wald", limit=0.2)


@run
def measure_wilson(folder: Path) -> Any:
    """Wilson's interval."""
    return eh.measure(loan, space(), over="sex", interval="wilson", limit=0.05)


@run
def measure_anytime(folder: Path) -> Any:
    """An interval that holds at any time."""
    return eh.measure(loan, space(), over="race", interval="anytime", limit=0.3)


@run
def measure_scores_further_apart(folder: Path) -> Any:
    """Numbers that differ by more than gamma."""
    return eh.measure(eh.Subject(interest, space(), differs=0.25), over="sex", limit=0.2)


@run
def measure_scores_by_function(folder: Path) -> Any:
    """Numbers whose distance a function grades."""

    def distance(one: Any, other: Any) -> Any:
        return abs(one - other).clip(0, 1)

    return eh.measure(
        eh.Subject(interest, space(), differs=distance), over="sex", limit=0.2
    )


@run
def measure_mean_scores(folder: Path) -> Any:
    """Groups by the mean score of a model."""
    subject = eh.Subject(fitted_linear(), space(), positive="approve", output="score")
    return eh.measure(subject, over="sex", kind="group", limit=0.1)


@run
def measure_model_scores(folder: Path) -> Any:
    """Scores of a model that differ by more than gamma."""
    subject = eh.Subject(
        fitted_linear(), space(), output="score", differs=0.1, positive="approve"
    )
    return eh.measure(subject, over="sex", limit=0.1)


@run
def measure_each_label(folder: Path) -> Any:
    """Three labels, of which none is named as favourable."""
    subject = eh.Subject(grade, space(), labels=["A", "B", "C"])
    return eh.measure(subject, over="sex", kind="group", limit=0.05)


@run
def measure_favourable_function(folder: Path) -> Any:
    """Favourable outcomes that a function tells."""

    def cheap(rates: Any) -> Any:
        return rates < 8

    subject = eh.Subject(interest, space(), positive=cheap)
    return eh.measure(subject, over="sex", kind="group")


@run
def measure_rows(folder: Path) -> Any:
    """The apparent score of given people."""
    return eh.measure(loan, space(), over="sex", sampler=eh.rows(people()), limit=0.05)


@run
def measure_rows_group(folder: Path) -> Any:
    """The apparent group score of given people."""
    sampler = eh.rows(people())
    return eh.measure(loan, space(), over="race", kind="group", sampler=sampler, limit=0.05)


@run
def measure_rows_twins(folder: Path) -> Any:
    """The apparent score with twins among the given people alone."""
    small = people().assign(race="green", savings=10, debt=0)
    small["age"] = small["age"] // 20 * 20
    small["age"] = small["age"].clip(18, 79)
    sampler = eh.rows(small, twins="rows")
    return eh.measure(loan, space(), over="sex", sampler=sampler)


@run
def measure_rows_sample(folder: Path) -> Any:
    """Given people as a sample of others."""
    sampler = eh.rows(people(), sample_of="applicants of a year")
    return eh.measure(loan, space(), over="sex", sampler=sampler, limit=0.05)


@run
def measure_rows_weighted(folder: Path) -> Any:
    """Given people who count by a weight."""
    frame = people()
    frame["weight"] = 1 + frame["age"] % 3
    sampler = eh.rows(frame, weights="weight")
    return eh.measure(loan, space(), over="sex", sampler=sampler)


@run
def measure_profile(folder: Path) -> Any:
    """A profile by weights."""
    sampler = eh.profile(
        {
            "age": [(18, 49, 0.4), (50, 79, 0.6)],
            ("sex", "race"): [("F", "green", 0.5), ("M", "green", 0.2), ("M", "blue", 0.3)],
        }
    )
    return eh.measure(loan, space(), over="sex", sampler=sampler, limit=0.05)


@run
def measure_profile_of_frame(folder: Path) -> Any:
    """A profile of given people, with weights for sex."""
    weights = {"sex": {"F": 2, "M": 1}}
    sampler = eh.profile(weights, frame=people(), joint=[("age", "income")])
    return eh.measure(loan, space(), over="race", sampler=sampler, limit=0.05)


@run
def measure_two_jobs(folder: Path) -> Any:
    """Two workers, and software that is slow enough for both to be used."""
    return eh.measure(slow_loan, space(), over="sex", margin=0.03, n_jobs=2)


@run
def measure_small_budget(folder: Path) -> Any:
    """A budget that decides nothing."""
    budget = eh.Budget(queries=60)
    return eh.measure(loan, space(), over="sex", limit=0.08, budget=budget)


@run
def measure_constraints(folder: Path) -> Any:
    """A space with constraints, steps and bins."""
    domain = eh.Space(
        [
            eh.category("sex", ["F", "M"]),
            eh.integer("age", 18, 90),
            eh.real("rate", 0, 1, step=0.01),
            eh.real("wealth", 0, 1000, bins=[0, 10, 100, 1000]),
            eh.category("owner", ["no", "yes"], passed=False),
        ],
        protected=["sex", "wealth"],
        constraints=["not (age < 21 and owner == 'yes')"],
    )

    def decide(frame: Any) -> Any:
        younger = frame["age"] + 10 * (frame["sex"] == "M")
        return (younger > 40) & (frame["rate"] < 0.5) | (frame["wealth"] > 600)

    return eh.measure(decide, domain, over=[("sex",), ("wealth",)], limit=0.05)


@run
def measure_with_ledger(folder: Path) -> Any:
    """A second run that finds all of its answers in a ledger."""
    ledger = folder / "loan.ledger"
    with eh.Subject(loan, space(), ledger=ledger, identity="loan 1") as subject:
        eh.measure(subject, over="sex", limit=0.05)
    with eh.Subject(loan, space(), ledger=ledger, identity="loan 1") as subject:
        result = eh.measure(subject, over="sex", limit=0.05)
        executed = subject.executed
    recording = recording_of(result)
    document = {"result": recording.document, "executed by the second run": executed}
    return replace(recording, document=document)


@run
def measure_inferred_space(folder: Path) -> Any:
    """A space that is inferred from polars."""
    polars = need("polars")
    frame = polars.from_pandas(people())
    domain = eh.Space.from_frame(frame, protected=["sex", "race"], remember=False)
    return eh.measure(polars_loan, domain, over="race", limit=0.05)


@run
def prevalence(folder: Path) -> Any:
    """The share of discriminatory inputs."""
    return eh.prevalence(loan, space(), over="sex", margin=0.02)


@run
def prevalence_with_limit(folder: Path) -> Any:
    """The share of discriminatory inputs, against a limit, for two sets."""
    return eh.prevalence(loan, space(), over=[("sex",), ("race",)], limit=0.03)


# ------------------------------------------------------------------------------------------------
# measure_log and impact.
# ------------------------------------------------------------------------------------------------


@run
def measure_log_pandas(folder: Path) -> Any:
    """Recorded decisions in pandas."""
    return eh.measure_log(
        decisions(), outcome="original", positive="approve", over="sex", limit=0.05
    )


@run
def measure_log_polars(folder: Path) -> Any:
    """Recorded decisions in a lazy frame of polars."""
    polars = need("polars")
    log = polars.from_pandas(decisions()).lazy()
    return eh.measure_log(
        log, outcome="original", positive="approve", over="race", limit=0.2
    )


@run
def measure_log_several_sets(folder: Path) -> Any:
    """Recorded decisions by three sets, also with a least ratio."""
    return eh.measure_log(
        decisions(),
        outcome="original",
        positive="approve",
        over=[("sex",), ("race",), ("sex", "race")],
        limit=0.1,
        least_ratio=0.8,
    )


@run
def measure_log_bins(folder: Path) -> Any:
    """Groups of ages, missing values, and a group that nobody is in."""
    log = decisions()
    log.loc[log.index % 10 == 0, "sex"] = None
    return eh.measure_log(
        log,
        outcome="original",
        positive="approve",
        over=[("sex",), ("age",)],
        bins={"age": [18, 40, 65, 90]},
        groups={"sex": ["F", "M", "X"]},
        least_ratio=0.8,
    )


@run
def measure_log_smallest(folder: Path) -> Any:
    """Small groups are left out."""
    log = decisions()
    log.loc[log.index < 15, "race"] = "grey"
    return call(
        "measure_log",
        log,
        outcome="original",
        positive="approve",
        over="race",
        smallest=0.02,
        limit=0.05,
    )


@run
def impact_of_decisions(folder: Path) -> Any:
    """Selection rates by sex, race and both."""
    sets = [("sex",), ("race",)]
    return call(
        "impact", decisions(), outcome="original", positive="approve", over=sets, limit=0.8
    )


@run
def impact_of_scores(folder: Path) -> Any:
    """Scoring rates."""
    return call("impact", decisions(), outcome="score", over="sex", score=True)


@run
def impact_unknown_and_small(folder: Path) -> Any:
    """Unknown categories, small ones, and each column by itself."""
    log = decisions()
    log.loc[log.index % 20 == 0, "sex"] = "declined"
    log.loc[log.index < 60, "race"] = "grey"
    return call(
        "impact",
        log,
        outcome="original",
        positive="approve",
        over=[("sex",), ("race",)],
        smallest=0.05,
        intersections=False,
        limit=0.7,
    )


# ------------------------------------------------------------------------------------------------
# subsets.
# ------------------------------------------------------------------------------------------------


@run
def subsets_causal(folder: Path) -> Any:
    """All sets of three features, by causal scores."""
    return eh.subsets(loan, space(), among=["sex", "race", "age"], limit=0.15)


@run
def subsets_group(folder: Path) -> Any:
    """Sets that only discriminate together."""
    return eh.subsets(
        unequal_pairs, small_space(), kind="group", among=["sex", "race", "age"], limit=0.5
    )


@run
def subsets_group_sampled(folder: Path) -> Any:
    """Sets by group scores in a large space."""
    among = ["sex", "race"]
    return eh.subsets(loan, space(), kind="group", among=among, limit=0.1, margin=0.1)


@run
def subsets_wald(folder: Path) -> Any:
    """The procedure of the paper."""
    among = ["sex", "race", "age"]
    return eh.subsets(loan, space(), among=among, limit=0.15, interval="wald")


@run
def subsets_enumerated(folder: Path) -> Any:
    """All sets of a small space, exactly."""
    return eh.subsets(small_loan, small_space(), limit=0.2)


@run
def subsets_small_budget(folder: Path) -> Any:
    """Sets that a budget leaves untested."""
    return eh.subsets(loan, space(), limit=0.2, depth=2, budget=eh.Budget(queries=3000))


@run
def subsets_several_outputs(folder: Path) -> Any:
    """A lattice for each of two outputs."""
    subject = eh.Subject(
        several, space(), outputs=["granted", "rate"], differs={"rate": 0.25}
    )
    return eh.subsets(subject, among=["sex", "race"], limit=0.1)


# ------------------------------------------------------------------------------------------------
# search.
# ------------------------------------------------------------------------------------------------


def searched(strategy: Any, queries: int = 3500) -> Any:
    """Search over sex with one strategy."""
    budget = eh.Budget(queries=queries)
    return eh.search(loan, space(), over="sex", strategy=strategy, budget=budget)


@run
def search_random(folder: Path) -> Any:
    """Aequitas, random."""
    return searched("random")


@run
def search_semi_directed(folder: Path) -> Any:
    """Aequitas, semi-directed."""
    return searched("semi-directed")


@run
def search_fully_directed(folder: Path) -> Any:
    """Aequitas, fully directed."""
    return searched("fully-directed")


@run
def search_other_parameters(folder: Path) -> Any:
    """Aequitas with parameters of one's own."""
    strategy = eh.aequitas(
        "fully-directed", dv=0.01, dpr=0.01, global_trials=200, local_trials=50
    )
    return searched(strategy, queries=2000)


@run
def search_adaptive(folder: Path) -> Any:
    """The default strategy."""
    return searched("adaptive", queries=2000)


@run
def search_surrogate(folder: Path) -> Any:
    """The strategy for expensive software."""
    return searched("surrogate", queries=800)


@run
def search_model(folder: Path) -> Any:
    """A model whose scores guide the search."""
    budget = eh.Budget(queries=2000)
    return eh.search(fitted_linear(), space(), over="sex", budget=budget)


@run
def search_two_sets(folder: Path) -> Any:
    """Two sets share the queries."""
    budget = eh.Budget(queries=2000)
    return eh.search(loan, space(), over=[("sex",), ("race",)], budget=budget)


@run
def search_several_outputs(folder: Path) -> Any:
    """Two outputs, with a finding each."""
    subject = eh.Subject(
        several, space(), outputs=["granted", "rate"], differs={"rate": 0.25}
    )
    return eh.search(subject, over="sex", budget=eh.Budget(queries=2000))


@run
def search_start_rows(folder: Path) -> Any:
    """Real people to begin at."""
    budget = eh.Budget(queries=2000)
    return eh.search(loan, space(), over="sex", start=people(500), budget=budget)


@run
def search_realistic(folder: Path) -> Any:
    """Inputs near real people are wanted."""
    return call(
        "search",
        loan,
        space(),
        over="sex",
        start=people(500),
        prefer="realistic",
        budget=eh.Budget(queries=2000),
    )


@run
def search_diverse(folder: Path) -> Any:
    """Inputs unlike each other are wanted."""
    budget = eh.Budget(queries=2000)
    return call("search", loan, space(), over="sex", prefer="diverse", budget=budget)


@run
def search_found_file(folder: Path) -> Any:
    """The inputs found, in a file as well."""
    path = folder / "found.csv"
    budget = eh.Budget(queries=2000, findings=100)
    result = eh.search(loan, space(), over="sex", explain=False, limit=0, budget=budget)
    result.to_frame().to_csv(path, index=False)
    return recording_of(result, found=path.read_text(encoding="utf-8"))


@run
def search_every_input(folder: Path) -> Any:
    """A small space that is searched through, and passes."""

    def by_age(frame: Any) -> Any:
        return frame["age"] >= 21

    return eh.search(by_age, small_space(), limit=0)


@run
def search_nothing_found(folder: Path) -> Any:
    """A search that finds nothing, and is undecided."""

    def by_income(frame: Any) -> Any:
        return frame["income"] > 50

    return eh.search(
        by_income, space(), over="sex", limit=0, budget=eh.Budget(queries=1000)
    )


@run
def search_two_jobs(folder: Path) -> Any:
    """Two workers."""
    budget = eh.Budget(queries=1000)
    return eh.search(fitted_tree(), space(), over="sex", budget=budget, n_jobs=2)


# ------------------------------------------------------------------------------------------------
# mine, mine_log and mine_text.
# ------------------------------------------------------------------------------------------------

AGES = {"age": [25, 40, 60]}


def mined(method: str, **settings: Any) -> Any:
    """Mine sex, race and age with one method."""
    over = ["sex", "race", "age"]
    return call(
        "mine", loan, space(), people(1000), over=over, method=method, bins=AGES, **settings
    )


@run
def mine_neighbours(folder: Path) -> Any:
    """All neighbours of each row."""
    return mined("neighbours", limit=0.1)


@run
def mine_drawn(folder: Path) -> Any:
    """Some neighbours of each row."""
    return mined("drawn", budget=eh.Budget(queries=5000))


@run
def mine_rows(folder: Path) -> Any:
    """The rows themselves."""
    return mined("rows", limit=0.1, stories=3)


@run
def mine_paper(folder: Path) -> Any:
    """Algorithm 2 of the paper."""
    return mined("paper", depth=1, stories=3)


@run
def mine_true_outcomes(folder: Path) -> Any:
    """True and false positive rates."""
    frame = people(1000)
    return call(
        "mine",
        eh.Subject(fitted_tree(), space(), positive="approve"),
        data=frame.assign(deserved=deserved(frame)),
        over=["sex", "age"],
        bins=AGES,
        truth="deserved",
        score=["tpr", "fpr"],
        stories=3,
    )


@run
def mine_scores(folder: Path) -> Any:
    """Mean scores of a model."""
    subject = eh.Subject(fitted_linear(), space(), positive="approve", output="score")
    return call(
        "mine", subject, data=people(1000), over=["sex", "age"], stories=3, limit=0.1
    )


@run
def mine_several_outputs(folder: Path) -> Any:
    """Two outputs, each mined."""

    def offer(frame: Any) -> Any:
        return {"grade": grade(frame), "card": frame["income"] > 30}

    subject = eh.Subject(
        offer,
        space(),
        outputs=["grade", "card"],
        positive={"grade": ["A", "B"], "card": True},
    )
    return call(
        "mine", subject, data=people(1000), over=["sex", "age"], method="rows", stories=3
    )


@run
def mine_several_sets(folder: Path) -> Any:
    """Two sets, bins by quantiles, one level at a time."""
    return call(
        "mine",
        loan,
        space(),
        people(1000),
        over=[("sex", "age"), ("race",)],
        binning="quantiles",
        bins=4,
        levels=1,
        method="rows",
    )


@run
def mine_population(folder: Path) -> Any:
    """Rows that are everybody."""
    sampler = eh.rows(people(1000))
    return call(
        "mine", loan, space(), sampler, over=["sex", "age"], support=0.1, method="rows"
    )


@run
def mine_log_rates(folder: Path) -> Any:
    """Recorded decisions."""
    return call(
        "mine_log",
        decisions(),
        outcome="original",
        positive="approve",
        over=["sex", "race", "age"],
        bins=AGES,
        limit=0.1,
        stories=4,
    )


@run
def mine_log_true_outcomes(folder: Path) -> Any:
    """Recorded decisions beside the truth, in polars."""
    polars = need("polars")
    return eh.mine_log(
        polars.from_pandas(decisions()),
        outcome="original",
        positive="approve",
        truth="deserved",
        score=["tpr", "fpr"],
        over=["sex", "age"],
        bins=5,
    )


@run
def mine_text_group(folder: Path) -> Any:
    """Terms by how their texts are treated."""
    texts, _ = comments()
    return eh.mine_text(moderate, texts, positive="yes", limit=0.2)


@run
def mine_text_causal(folder: Path) -> Any:
    """Texts whose outcome changes with nothing but a term."""
    texts, _ = comments()
    return eh.mine_text(moderate, texts, positive="yes", kind="causal", limit=0.2)


@run
def mine_text_rest(folder: Path) -> Any:
    """Terms against all other texts."""
    texts, _ = comments()
    return call(
        "mine_text",
        moderate,
        texts,
        positive="yes",
        against="rest",
        without=["straight"],
        stories=3,
    )


@run
def mine_text_model(folder: Path) -> Any:
    """A pipeline, a lexicon of one's own, and a budget."""
    texts, _ = comments()
    lexicon = {"gender": ["gay", "straight"], "faith": ["christian", "muslim", "buddhist"]}
    return eh.mine_text(
        comment_model(),
        texts,
        lexicon=lexicon,
        positive="fine",
        budget=eh.Budget(queries=2000),
    )


# ------------------------------------------------------------------------------------------------
# compare.
# ------------------------------------------------------------------------------------------------


def predictions() -> tuple[dict[str, Any], Any, Any]:
    """Return predictions by name, the truth, and people."""
    log = decisions()
    rng = np.random.default_rng(6)
    lots = rng.choice(["approve", "deny"], len(log))
    by_lot = np.where(rng.random(len(log)) < 0.5, lots, log["original"])
    outcomes = {
        "original": log["original"].to_numpy(),
        "softer": log["softer"].to_numpy(),
        "half by lot": by_lot,
    }
    return outcomes, log["deserved"].to_numpy(), log[["sex", "race"]]


def compared(**settings: Any) -> Any:
    """Compare the predictions by sex with these settings."""
    outcomes, truth, groups = predictions()
    asked = {"positive": "approve", "resamples": 300, **settings}
    return call("compare", outcomes, truth, groups["sex"], **asked)


@run
def compare_one_run(folder: Path) -> Any:
    """One test set, all by default."""
    outcomes, truth, groups = predictions()
    return eh.compare(outcomes, truth, groups["sex"], positive="approve")


@run
def compare_majority(folder: Path) -> Any:
    """Overwritten with the commonest label."""
    return compared(strategy="majority")


@run
def compare_label(folder: Path) -> Any:
    """Overwritten with a label of one's choice."""
    return compared(strategy="label", label="deny")


@run
def compare_random(folder: Path) -> Any:
    """Overwritten with any label."""
    return compared(strategy="random")


@run
def compare_tightest(folder: Path) -> Any:
    """Overwritten with the label of the tightest line, by name."""
    return compared(strategy="tightest", bias="di", performance="mcc")


@run
def compare_drawn_line(folder: Path) -> Any:
    """A line by lot, as in the paper."""
    return compared(method="monte-carlo", repetitions=20, degrees=[0.25, 0.5])


@run
def compare_true_positive_rates(folder: Path) -> Any:
    """Equal opportunity and F1."""
    return compared(bias="eod", performance="f1")


@run
def compare_average_odds(folder: Path) -> Any:
    """Average odds and balanced accuracy."""
    return compared(bias="aod", performance="balanced accuracy", level=0.9, seed=3)


@run
def compare_function(folder: Path) -> Any:
    """A function as the bias."""
    outcomes, truth, groups = predictions()

    def apart(true: Any, predicted: Any, sex: Any, sample_weight: Any) -> float:
        women = np.asarray(sex) == "F"
        granted = np.asarray(predicted) == "approve"
        weights = np.asarray(sample_weight)
        one = np.average(granted[women], weights=weights[women])
        other = np.average(granted[~women], weights=weights[~women])
        return float(abs(one - other))

    return call("compare", outcomes, truth, groups["sex"], bias=apart, resamples=100)


@run
def compare_intersections(folder: Path) -> Any:
    """Sex, race and both; small groups are left out."""
    outcomes, truth, groups = predictions()
    groups = groups.copy()
    groups.loc[groups.index < 15, "race"] = "grey"
    return call(
        "compare", outcomes, truth, groups, positive="approve", smallest=0.02, resamples=300
    )


@run
def compare_chosen_intersections(folder: Path) -> Any:
    """Combinations of sex and race alone."""
    outcomes, truth, groups = predictions()
    over = [("sex", "race")]
    return call(
        "compare", outcomes, truth, groups, positive="approve", over=over, resamples=300
    )


@run
def compare_three_labels(folder: Path) -> Any:
    """Three labels, of which none is named as favourable."""
    frame = people()
    rng = np.random.default_rng(7)
    truth = grade(frame.assign(sex="M"))
    lower = np.where(truth == "A", "B", "C")
    unlucky = (frame["sex"] == "F") & (rng.random(len(frame)) < 0.4)
    outcomes = {
        "original": np.where(unlucky, lower, truth),
        "for all": np.where(rng.random(len(frame)) < 0.1, lower, truth),
    }
    return call("compare", outcomes, truth, frame["sex"], resamples=300)


def several_splits() -> tuple[dict[str, list[Any]], list[Any], list[Any]]:
    """Return predictions of two models on five test sets."""
    frame = people()
    truth = deserved(frame)
    outcomes: dict[str, list[Any]] = {"original": [], "blind": []}
    truths: list[Any] = []
    groups: list[Any] = []
    for number in range(5):
        order = np.random.default_rng(number).permutation(len(frame))
        train, test = order[600:], order[:600]
        model = tree_pipeline().fit(frame.iloc[train], truth[train])
        blind = tree_pipeline().fit(frame.iloc[train].assign(sex="M"), truth[train])
        outcomes["original"].append(model.predict(frame.iloc[test]))
        outcomes["blind"].append(blind.predict(frame.iloc[test].assign(sex="M")))
        truths.append(truth[test])
        groups.append(frame["sex"].iloc[test])
    return outcomes, truths, groups


@run
def compare_several_runs(folder: Path) -> Any:
    """Five runs with test sets of their own."""
    outcomes, truths, groups = several_splits()
    return eh.compare(outcomes, truths, groups, positive="approve", test_size=0.3)


@run
def compare_several_runs_of_one_test_set(folder: Path) -> Any:
    """Four runs on one test set."""
    outcomes, truth, groups = predictions()
    rng = np.random.default_rng(8)
    runs: dict[str, list[Any]] = {"original": [], "softer": []}
    for name, some in runs.items():
        for _ in range(4):
            wrong = rng.random(len(truth)) < 0.05
            opposite = np.where(outcomes[name] == "approve", "deny", "approve")
            some.append(np.where(wrong, opposite, outcomes[name]))
    return call("compare", runs, truth, groups["sex"], positive="approve", resamples=300)


@run
def compare_measured_bias(folder: Path) -> Any:
    """The causal score as the bias."""
    frame = people()
    sampler = eh.rows(frame, sample_of="people like these")
    truth = deserved(frame) == "approve"
    outcomes = {"original": loan(frame), "softer": softer_loan(frame)}
    bias = {
        "original": eh.measure(loan, space(), over="sex", sampler=sampler),
        "softer": eh.measure(softer_loan, space(), over="sex", sampler=sampler),
    }
    return call("compare", outcomes, truth, bias=bias, resamples=300)


# ------------------------------------------------------------------------------------------------
# repair.
# ------------------------------------------------------------------------------------------------


def repaired(method: str, **settings: Any) -> Any:
    """Repair a decision tree over sex with one method, and record its table of checks as well."""
    frame = workers()
    domain = eh.Space.from_frame(frame, protected=["sex"])
    model = DecisionTreeClassifier(min_samples_leaf=10, random_state=0)
    usual = {
        "space": domain,
        "over": "sex",
        "steps": 4,
        "tolerance": 0.05,
        "budget": eh.Budget(queries=3000),
    }
    result = call(
        "repair", model, frame, paid(frame), method=method, **{**usual, **settings}
    )
    return recorded_repair(result)


def recorded_repair(result: Any) -> Recording:
    """Return the recording of a repair, whose frame has its steps and its checks."""
    recording = recording_of(result)
    frame = {"steps": recording.frame, "checks": records(result.table())}
    return replace(recording, frame=frame)


@run
def repair_augment(folder: Path) -> Any:
    """Twins and found inputs."""
    return repaired("augment", limit=0.01)


@run
def repair_labels(folder: Path) -> Any:
    """Found inputs with the labels of most variants."""
    return repaired("augment", labels="majority", add="pairs", draws=4000)


@run
def repair_aequitas(folder: Path) -> Any:
    """Algorithm 5 as published."""
    return repaired("aequitas", patience=2)


@run
def repair_subgroup(folder: Path) -> Any:
    """The worst subgroup."""
    frame = workers()
    domain = eh.Space.from_frame(frame, protected=["sex", "debt"])
    return repaired("subgroup", space=domain, over=["sex", "debt"])


@run
def repair_evened(folder: Path) -> Any:
    """A wrapper instead of training."""
    return repaired("evened")


@run
def repair_regressor(folder: Path) -> Any:
    """A model of numbers."""
    rng = np.random.default_rng(9)
    frame = pd.DataFrame(
        {"sex": rng.integers(0, 2, 1500), "years": rng.integers(0, 40, 1500)}
    )
    wage = 20 + frame["years"] / 2 + 3 * frame["sex"] + rng.normal(0, 2, 1500)
    domain = eh.Space.from_frame(frame, protected=["sex"])
    model = DecisionTreeRegressor(max_depth=5, random_state=0)
    result = eh.repair(
        model, frame, wage, space=domain, differs=1.5, tolerance=0.1, steps=3
    )
    return recorded_repair(result)


@run
def repair_texts(folder: Path) -> Any:
    """A text classifier."""
    texts, labels = comments(1000)
    model = make_pipeline(CountVectorizer(), LogisticRegression(C=0.3))
    result = eh.repair(
        model, texts, labels, method="subgroup", rule=None, positive="fine", steps=3
    )
    return recorded_repair(result)


@run
def evened_model(folder: Path) -> Any:
    """A model that cannot depend on sex, measured."""
    model = eh.Evened(fitted_linear(), space(), over="sex")
    return eh.measure(model, space(), over=[("sex",), ("race",)], limit=0.05)


# ------------------------------------------------------------------------------------------------
# Mitigations, tuning and studies.
# ------------------------------------------------------------------------------------------------


@run
def mitigation_methods(folder: Path) -> Any:
    """Methods that need no extra, compared with the original."""
    make = module("mitigation").method
    frame = workers()
    truth = paid(frame)
    train, test = frame[:1200], frame[1200:]
    model = LogisticRegression(max_iter=1000)
    outcomes = {"original": model.fit(train, truth[:1200]).predict(test)}
    for name in ("reweighing", "reject-option-spd", "lfr"):
        fitted = make(name, model, over="sex").fit(train, truth[:1200])
        outcomes[name] = fitted.predict(test)
    own_model = make("prejudice-remover", over="sex").fit(train, truth[:1200])
    outcomes["prejudice-remover"] = own_model.predict(test)
    return call("compare", outcomes, truth[1200:], test["sex"], resamples=300)


@run
def mitigation_fairlearn(folder: Path) -> Any:
    """Methods of Fairlearn, compared with the original."""
    need("fairlearn")
    make = module("mitigation").method
    frame = workers()
    truth = paid(frame)
    train, test = frame[:1200], frame[1200:]
    model = LogisticRegression(max_iter=1000)
    outcomes = {"original": model.fit(train, truth[:1200]).predict(test)}
    for name in ("threshold-optimiser", "correlation-remover"):
        fitted = make(name, model, over="sex").fit(train, truth[:1200])
        outcomes[name] = fitted.predict(test)
    return call("compare", outcomes, truth[1200:], test["sex"], resamples=300)


def recorded_tuning(tuned: Any) -> Recording:
    """Return the recording of a sweep."""
    chosen = None if tuned.chosen is None else json.loads(tuned.chosen.to_json())
    return Recording(
        document={
            "parameter": tuned.parameter,
            "values": list(tuned.values),
            "best": tuned.best,
            "comparison": json.loads(tuned.comparison.to_json()),
            "chosen": chosen,
        },
        frame=records(tuned.curve),
        text=str(tuned),
        verdict=str(tuned.comparison.verdict),
        exit_code=int(tuned.comparison.exit_code),
        digest=str(tuned.comparison.digest),
    )


@run
def tune_own_model(folder: Path) -> Any:
    """A sweep over the knob of a method with a model of its own."""
    frame = workers()
    method = module("mitigation").PrejudiceRemover(over="sex")
    tune = module("tune").tune
    return recorded_tuning(tune(method, frame, paid(frame), values=[1, 10, 50], splits=3))


@run
def tune_wrapped_model(folder: Path) -> Any:
    """A sweep over the knob of a method that changes answers, by another bias."""
    frame = workers()
    model = LogisticRegression(max_iter=1000)
    method = module("mitigation").RejectOption(model, over="sex", metric="spd")
    tune = module("tune").tune
    tuned = tune(
        method,
        frame,
        paid(frame),
        values=[0.01, 0.05, 0.1],
        parameter="bound",
        bias="eod",
        performance="balanced accuracy",
        splits=3,
    )
    return recorded_tuning(tuned)


STUDY = """[study]
splits = 3
seed = 3
bias = ["spd", "aod"]

[[data]]
from = "loans.csv"
target = "deserved"
positive = "approve"
protected = { sex = "M" }

[[models]]
name = "LR"

[[models]]
name = "DT"

[[methods]]
name = "reweighing"

[[methods]]
name = "reject-option-spd"
as = "tight"
settings = { bound = 0.01 }

[[methods]]
name = "prejudice-remover"
"""


@run
def cli_study(folder: Path) -> Any:
    """A study of three methods, two models and three splits, and other tables from its store."""
    decisions(600)[[*FEATURES, "deserved"]].to_csv(folder / "loans.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    arguments = ["study", "study.toml", "--json", "study.json"]
    recording = cli_recording(arguments, folder, document="study.json")
    others = ["study", "study.toml", "--bias", "eod", "--performance", "f1"]
    again = cli_recording([*others, "--json", "again.json"], folder, document="again.json")
    return replace(
        recording,
        document={"study.json": recording.document, "again.json": again.document},
        text=recording.text + again.text,
    )


# ------------------------------------------------------------------------------------------------
# audit.
# ------------------------------------------------------------------------------------------------

SMALL = 2000
"""How many inputs each check of an audit may ask."""


def recorded_audit(audit: Any) -> Recording:
    """Return the recording of an audit, with its page and its story."""
    return recording_of(audit, html=audit.to_html(), story=audit.story())


@run
def audit_model(folder: Path) -> Any:
    """A model and its space, all by default."""
    audit = eh.audit(fitted_tree(), space(), budget=eh.Budget(queries=SMALL))
    return recorded_audit(audit)


@run
def audit_with_data(folder: Path) -> Any:
    """A function with real rows."""
    budget = eh.Budget(queries=SMALL)
    audit = eh.audit(loan, space(), data=people(1000), budget=budget, seed=5)
    return recorded_audit(audit)


@run
def audit_checks(folder: Path) -> Any:
    """Checks of one's own, with a population."""
    checks: list[dict[str, Any]] = [
        {"job": "measure", "over": "sex", "limit": 0.2},
        {"job": "measure", "over": ["sex", "race"], "kind": "group", "limit": 0.05},
        {"job": "prevalence", "over": "race", "limit": 0.3},
        {"job": "search", "over": "race", "strategy": "random", "explain": False},
    ]
    audit = eh.audit(
        loan,
        space(),
        checks=checks,
        sampler=eh.rows(people(500)),
        budget=eh.Budget(queries=SMALL),
    )
    return recorded_audit(audit)


@run
def audit_failing_software(folder: Path) -> Any:
    """Software that fails in a check."""

    def down(frame: Any) -> Any:
        raise RuntimeError("the loan service is down")

    return recorded_audit(eh.audit(down, space()))


@run
def audit_config_stream(folder: Path) -> Any:
    """A configuration file with a stream and every kind of check."""
    write_project(folder, STREAM_SUBJECT, ALL_CHECKS)
    with contextlib.chdir(folder):
        audit = eh.audit("evenhand.toml", budget=eh.Budget(queries=SMALL))
    return recorded_audit(audit)


@run
def audit_config_estimator(folder: Path) -> Any:
    """A configuration file with a saved model, its usual checks, and a population."""
    joblib.dump(fitted_tree(), folder / "model.joblib")
    subject = 'estimator = "model.joblib"\nallow_pickle = true\npositive = "approve"'
    population = '\n[population]\nrows = "loans.csv"\n'
    write_project(folder, subject, population)
    with contextlib.chdir(folder):
        audit = eh.audit("evenhand.toml", budget=eh.Budget(queries=SMALL))
    return recorded_audit(audit)


@run
def audit_compared_models(folder: Path) -> Any:
    """A configuration file that compares two saved models."""
    joblib.dump(fitted_tree(), folder / "model.joblib")
    frame = people()
    blind = tree_pipeline().fit(frame.assign(sex="M"), deserved(frame))
    joblib.dump(fitted_linear(), folder / "linear.joblib")
    joblib.dump(blind, folder / "blind.joblib")
    subject = 'estimator = "model.joblib"\nallow_pickle = true\npositive = "approve"'
    checks = f"""
[[checks]]
job = "compare"
over = ["sex"]
truth = "deserved"
models = {{ linear = "linear.joblib" }}
{OPTIONS["compare.strategy"]} = "majority"
{OPTIONS["compare.smallest"]} = 0.01
{OPTIONS["compare.resamples"]} = 200
"""
    write_project(folder, subject, checks)
    with contextlib.chdir(folder):
        audit = eh.audit("evenhand.toml")
    return recorded_audit(audit)


@run
def audit_baseline(folder: Path) -> Any:
    """An audit of worse software, held against an older one."""
    checks: list[dict[str, Any]] = [
        {"job": "measure", "over": "sex", "limit": 0.02},
        {"job": "measure", "over": "race", "limit": 0.02},
        {"job": "mine", "over": ["sex", "race"], "treatment": "rows", "limit": 0.1},
        {"job": "impact", "over": "sex", "least_ratio": 0.8},
        {"job": "search", "over": "race"},
    ]
    settings: dict[str, Any] = {
        "checks": checks,
        "data": people(1000),
        "budget": eh.Budget(queries=SMALL),
    }
    old = eh.audit(softer_loan, space(), **settings)
    return recorded_audit(eh.audit(loan, space(), baseline=old, **settings))


@run
def audit_same_baseline(folder: Path) -> Any:
    """An audit of the same software, held against the file of an older one."""
    checks: list[dict[str, Any]] = [
        {"job": "measure", "over": "sex", "limit": 0.02},
        {"job": "search", "over": "sex", "limit": 0},
        {"job": "mine", "over": ["sex", "race"], "treatment": "rows", "limit": 0.1},
    ]
    settings: dict[str, Any] = {
        "checks": checks,
        "data": people(1000),
        "budget": eh.Budget(queries=SMALL),
    }
    path = folder / "old.json"
    eh.audit(loan, space(), **settings).to_json(path)
    return recorded_audit(eh.audit(loan, space(), baseline=path, **settings))


# ------------------------------------------------------------------------------------------------
# replay, and reading back.
# ------------------------------------------------------------------------------------------------


@run
def replay_suite_csv(folder: Path) -> Any:
    """A suite as CSV, asked of the next version."""
    suite = folder / "sex.csv"
    call("measure", loan, space(), over="sex", margin=0.1, suite=suite)
    result = eh.replay(suite, softer_loan, space(), limit=0.05)
    return recording_of(result, suite=suite.read_text(encoding="utf-8"))


@run
def replay_suite_parquet(folder: Path) -> Any:
    """A suite as Parquet with groups, asked of the next version."""
    need("pyarrow")
    suite = folder / "race.parquet"
    call("measure", loan, space(), over="race", kind="group", margin=0.1, suite=suite)
    return eh.replay(suite, softer_loan, space(), limit=0.2)


@run
def replay_result(folder: Path) -> Any:
    """The cases of a result, asked of the next version."""
    path = folder / "result.json"
    eh.measure(loan, space(), over=[("sex",), ("race",)], limit=0.05).to_json(path)
    return eh.replay(path, softer_loan, space())


@run
def replay_search(folder: Path) -> Any:
    """The cases of a search, asked of the same software."""
    path = folder / "search.json"
    searched("adaptive", queries=1000).to_json(path)
    return eh.replay(path, loan, space())


@run
def replay_audit(folder: Path) -> Any:
    """The cases of an audit, asked of the next version."""
    path = folder / "audit.json"
    eh.audit(loan, space(), budget=eh.Budget(queries=SMALL)).to_json(path)
    return eh.replay(path, softer_loan, space())


@run
def replay_texts(folder: Path) -> Any:
    """The cases of texts, asked of other software."""
    path = folder / "texts.json"
    texts, _ = comments()
    eh.mine_text(moderate, texts, positive="yes", kind="causal").to_json(path)
    return eh.replay(path, comment_model())


@run
def read_back_result(folder: Path) -> Any:
    """A result that was written and read again."""
    path = folder / "result.json"
    searched("adaptive", queries=1000).to_json(path)
    return eh.Result.from_json(path)


@run
def read_back_mine(folder: Path) -> Any:
    """A result about rules that was written and read again."""
    path = folder / "result.json"
    mined("rows", limit=0.1).to_json(path)
    return eh.Result.from_json(path)


@run
def read_back_comparison(folder: Path) -> Any:
    """A comparison that was written and read again."""
    path = folder / "comparison.json"
    compared().to_json(path)
    return eh.Comparison.from_json(path)


@run
def read_back_repair(folder: Path) -> Any:
    """A repair that was written and read again."""
    path = folder / "repair.json"
    frame = workers()
    domain = eh.Space.from_frame(frame, protected=["sex"])
    model = DecisionTreeClassifier(min_samples_leaf=10, random_state=0)
    eh.repair(model, frame, paid(frame), space=domain, over="sex", method="evened").to_json(
        path
    )
    return recorded_repair(eh.Repair.from_json(path))


@run
def read_back_audit(folder: Path) -> Any:
    """An audit that was written and read again."""
    path = folder / "audit.json"
    budget = eh.Budget(queries=SMALL)
    eh.audit(loan, space(), data=people(500), budget=budget).to_json(path)
    return recorded_audit(eh.Audit.from_json(path))


# ------------------------------------------------------------------------------------------------
# Adapters: the same questions to software of every kind.
# ------------------------------------------------------------------------------------------------


def asked(subject: eh.Subject, queries: int = 400) -> Any:
    """Measure a subject over sex with few questions."""
    return eh.measure(subject, over="sex", limit=0.05, budget=eh.Budget(queries=queries))


@run
def adapter_function(folder: Path) -> Any:
    """A function of a frame."""
    with eh.Subject(loan, space(), positive=True) as subject:
        return asked(subject)


@run
def adapter_estimator(folder: Path) -> Any:
    """A fitted pipeline."""
    with eh.Subject(fitted_tree(), space(), positive="approve") as subject:
        return asked(subject)


@run
def adapter_estimator_threshold(folder: Path) -> Any:
    """A fitted pipeline with a threshold of one's own."""
    with eh.Subject(fitted_linear(), space(), positive="approve", threshold=0.7) as subject:
        return asked(subject)


@run
def adapter_estimator_of_arrays(folder: Path) -> Any:
    """An estimator that was fitted on an array."""
    frame = workers()
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(
        frame.to_numpy(), paid(frame)
    )
    domain = eh.Space.from_frame(frame, protected=["sex"], remember=False)
    with eh.Subject(model, domain) as subject:
        return asked(subject)


@run
def adapter_estimator_outputs(folder: Path) -> Any:
    """An estimator with two outputs."""
    frame = workers()
    truth = pd.DataFrame({"paid": paid(frame), "rich": (frame["income"] > 80).astype(int)})
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    model = MultiOutputClassifier(tree).fit(frame, truth)
    domain = eh.Space.from_frame(frame, protected=["sex"], remember=False)
    with eh.Subject(model, domain, outputs=["paid", "rich"]) as subject:
        return asked(subject)


@run
def adapter_saved_skops(folder: Path) -> Any:
    """A model in a skops file."""
    need("skops")
    skops = importlib.import_module("skops.io")
    path = folder / "model.skops"
    skops.dump(fitted_tree(), path)
    unknown = skops.get_untrusted_types(file=path)
    with eh.Subject.saved(path, space(), positive="approve", trusted=unknown) as subject:
        return asked(subject)


@run
def adapter_saved_joblib(folder: Path) -> Any:
    """A model in a joblib file."""
    path = folder / "model.joblib"
    joblib.dump(fitted_tree(), path)
    with eh.Subject.saved(path, space(), positive="approve", allow_pickle=True) as subject:
        return asked(subject)


@run
def adapter_command(folder: Path) -> Any:
    """A program that is started for each input."""
    argv = [*program(folder), "{*}"]
    with eh.Subject.command(argv, space(), positive="approve") as subject:
        return asked(subject, queries=80)


@run
def adapter_command_by_name(folder: Path) -> Any:
    """A program whose arguments are named one by one."""
    names = ["{sex}", "{race}", "{age}", "{income}", "{savings}", "{debt}"]
    argv = [*program(folder), *names]
    with eh.Subject.command(argv, space(), positive="approve", workers=2) as subject:
        return eh.search(subject, over="sex", budget=eh.Budget(queries=100))


@run
def adapter_stream(folder: Path) -> Any:
    """A program that keeps running."""
    with eh.Subject.stream(program(folder), space(), positive="approve") as subject:
        return asked(subject)


class LoanService(BaseHTTPRequestHandler):
    """A service that decides about one person, or about many."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a request."""
        length = int(self.headers["Content-Length"])
        asked_for = json.loads(self.rfile.read(length))
        single = "inputs" not in asked_for
        frame = pd.DataFrame([asked_for] if single else asked_for["inputs"])
        granted = np.where(loan(frame), "approve", "deny").tolist()
        answer = json.dumps(granted[0] if single else granted).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def served() -> Iterator[str]:
    """Run the service on loopback, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), LoanService)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/decide"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@run
def adapter_http(folder: Path) -> Any:
    """A service that takes batches."""
    with served() as url, eh.Subject.http(url, space(), positive="approve") as subject:
        return asked(subject)


@run
def adapter_http_single(folder: Path) -> Any:
    """A service that takes one input at a time."""
    with (
        served() as url,
        eh.Subject.http(url, space(), positive="approve", single=True) as subject,
    ):
        return asked(subject, queries=150)


@run
def adapter_onnx(folder: Path) -> Any:
    """A model in an ONNX file."""
    need("onnxruntime")
    skl2onnx = need("skl2onnx")
    types = importlib.import_module("skl2onnx.common.data_types")
    frame = workers()
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(
        frame.to_numpy(), paid(frame)
    )
    inputs = [("X", types.FloatTensorType([None, frame.shape[1]]))]
    path = folder / "model.onnx"
    converted = skl2onnx.convert_sklearn(model, initial_types=inputs)
    path.write_bytes(converted.SerializeToString())
    domain = eh.Space.from_frame(frame, protected=["sex"], remember=False)
    with eh.Subject.onnx(path, domain, positive=1) as subject:
        return asked(subject)


@run
def adapter_torch(folder: Path) -> Any:
    """A torch module with weights of our own."""
    torch = need("torch")
    frame = workers()
    domain = eh.Space.from_frame(frame, protected=["sex"], remember=False)
    network = torch.nn.Linear(4, 1)
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[8.0, 1.0, -1.0, 1.0]]))
        network.bias.fill_(-80.0)
    with eh.Subject(network, domain) as subject:
        return asked(subject)


# ------------------------------------------------------------------------------------------------
# Commands.
# ------------------------------------------------------------------------------------------------


@run
def cli_init(folder: Path) -> Any:
    """A configuration from data alone."""
    write_project(folder, "", "")
    arguments = ["init", "loans.csv", "--target", "deserved", "--protected", "sex,race"]
    done = cli([*arguments, "-o", "new.toml"], folder)
    return recorded_config(done, folder / "new.toml")


@run
def cli_init_model(folder: Path) -> Any:
    """A configuration from data and a function."""
    write_project(folder, "", "")
    arguments = ["init", "loans.csv", "software:answer", "--target", "deserved"]
    done = cli([*arguments, "--positive", "approve", "-o", "new.toml"], folder)
    return recorded_config(done, folder / "new.toml")


def recorded_config(done: Finished, path: Path) -> Recording:
    """Return the recording of a configuration file that a command wrote."""
    written = path.read_text(encoding="utf-8")
    return Recording(
        document=tomllib.loads(written),
        text=done.output,
        exit_code=done.code,
        files={"standard error": done.errors, path.name: written},
    )


@run
def cli_measure(folder: Path) -> Any:
    """All measure checks, in two runs."""
    write_project(folder, FUNCTION_SUBJECT, MEASURE_CHECKS)
    recording = cli_recording(
        ["measure", "--json", "out.json"], folder, document="out.json"
    )
    second = json.loads((folder / "out-2.json").read_text(encoding="utf-8"))
    return replace(
        recording, document={"out.json": recording.document, "out-2.json": second}
    )


@run
def cli_measure_options(folder: Path) -> Any:
    """Options in place of checks, and a suite."""
    write_project(folder, STREAM_SUBJECT, MEASURE_CHECKS)
    suite = OPTIONS["measure --suite"]
    arguments = [
        "measure",
        "--over",
        "sex",
        "--limit",
        "0.2",
        "--seed",
        "7",
        suite,
        "tests.csv",
    ]
    return cli_recording(
        [*arguments, "--json", "out.json"], folder, document="out.json", texts=["tests.csv"]
    )


@run
def cli_subsets(folder: Path) -> Any:
    """Sets of protected features."""
    write_project(folder, FUNCTION_SUBJECT, ALL_CHECKS)
    return cli_recording(["subsets", "--json", "out.json"], folder, document="out.json")


@run
def cli_search(folder: Path) -> Any:
    """A search that writes what it found."""
    write_project(folder, FUNCTION_SUBJECT, ALL_CHECKS)
    arguments = ["search", "--limit", "0", OPTIONS["search --prefer"], "diverse"]
    found = [OPTIONS["search --found"], "found.csv"]
    return cli_recording(
        [*arguments, *found, "--json", "out.json"],
        folder,
        document="out.json",
        texts=["found.csv"],
    )


@run
def cli_prevalence(folder: Path) -> Any:
    """The share of discriminatory inputs."""
    write_project(folder, FUNCTION_SUBJECT, ALL_CHECKS)
    return cli_recording(["prevalence", "--json", "out.json"], folder, document="out.json")


@run
def cli_mine(folder: Path) -> Any:
    """Subgroups of the data."""
    write_project(folder, FUNCTION_SUBJECT, ALL_CHECKS)
    arguments = ["mine", "--limit", "0.2", OPTIONS["mine --stories"], "4"]
    return cli_recording([*arguments, "--json", "out.json"], folder, document="out.json")


@run
def cli_mine_texts(folder: Path) -> Any:
    """Terms in texts."""
    texts, _ = comments(150)
    pd.DataFrame({"comment": texts}).to_csv(folder / "comments.csv", index=False)
    (folder / "moderation.py").write_text(
        'def moderate(texts):\n    return ["no" if "gay" in text else "yes" for text in texts]\n',
        encoding="utf-8",
    )
    (folder / "evenhand.toml").write_text(
        '[subject]\nfunction = "moderation:moderate"\npositive = "yes"\n\n'
        '[texts]\nfrom = "comments.csv"\ncolumn = "comment"\n\n'
        '[[checks]]\njob = "mine"\nlimit = 0.2\n',
        encoding="utf-8",
    )
    return cli_recording(["mine", "--json", "out.json"], folder, document="out.json")


LOG = ["--positive", "approve", "--json", "out.json"]


@run
def cli_impact(folder: Path) -> Any:
    """Selection rates of a file."""
    write_project(folder, FUNCTION_SUBJECT, "")
    arguments = ["impact", "decisions.csv", "--outcome", "original", "--over", "sex"]
    threshold = [OPTIONS["impact --limit"], "0.8"]
    more = ["--over", "race", *threshold, OPTIONS["impact --smallest"], "0.05"]
    return cli_recording([*arguments, *more, *LOG], folder, document="out.json")


@run
def cli_measure_log(folder: Path) -> Any:
    """Recorded decisions of a file."""
    write_project(folder, FUNCTION_SUBJECT, "")
    arguments = ["measure-log", "decisions.csv", "--outcome", "original", "--over", "sex"]
    more = ["--over", "sex,race", "--limit", "0.1", "--least-ratio", "0.8"]
    small = [OPTIONS["measure-log --smallest"], "0.01"]
    return cli_recording([*arguments, *more, *small, *LOG], folder, document="out.json")


@run
def cli_mine_log(folder: Path) -> Any:
    """Subgroups of recorded decisions."""
    write_project(folder, FUNCTION_SUBJECT, "")
    arguments = [
        "mine-log",
        "decisions.csv",
        "--outcome",
        "original",
        "--over",
        "sex,race,age",
    ]
    more = ["--bins", "4", "--limit", "0.2", OPTIONS["mine-log --stories"], "3"]
    return cli_recording([*arguments, *more, *LOG], folder, document="out.json")


@run
def cli_compare_log(folder: Path) -> Any:
    """Recorded predictions of a file."""
    write_project(folder, FUNCTION_SUBJECT, "")
    arguments = ["compare-log", "decisions.csv", "--truth", "deserved", "--over", "sex"]
    more = [
        "--outcomes",
        "original,softer",
        OPTIONS["compare-log --resamples"],
        "300",
        "--gate",
    ]
    line = [OPTIONS["compare-log --strategy"], "majority"]
    small = [OPTIONS["compare-log --smallest"], "0.01"]
    return cli_recording(
        [*arguments, *more, *line, *small, *LOG], folder, document="out.json"
    )


@run
def cli_repair(folder: Path) -> Any:
    """A model that is trained again, with its page."""
    joblib.dump(fitted_tree(), folder / "model.joblib")
    subject = 'estimator = "model.joblib"\nallow_pickle = true\npositive = "approve"'
    repair = '\n[repair]\nover = ["sex"]\nsteps = 2\ndraws = 4000\n'
    write_project(folder, subject, repair, rows=600)
    arguments = ["repair", OPTIONS["repair --labels"], "majority", "--queries", "1000"]
    files = ["-o", "repaired.joblib", "--html", "repair.html", "--json", "repair.json"]
    return cli_recording(
        [*arguments, *files], folder, document="repair.json", texts=["repair.html"]
    )


REPORTS = [
    ("-o", "report.html"),
    ("--junit", "junit.xml"),
    ("--sarif", "audit.sarif"),
    ("--markdown", "summary.md"),
    ("--card", "card.md"),
]


@run
def cli_audit(folder: Path) -> Any:
    """Every check, and every report."""
    write_project(folder, FUNCTION_SUBJECT, ALL_CHECKS)
    arguments = ["audit", "evenhand.toml", "--queries", str(SMALL), "--json", "audit.json"]
    texts = []
    for option, file in REPORTS:
        arguments += [option, file]
        texts.append(file)
    return cli_recording(arguments, folder, document="audit.json", texts=texts)


@run
def cli_audit_baseline(folder: Path) -> Any:
    """The same audit twice, the second held against the first, and quiet."""
    write_project(folder, FUNCTION_SUBJECT, MEASURE_CHECKS)
    cli(["audit", "--json", "old.json"], folder)
    arguments = ["audit", "--baseline", "old.json", "--quiet", "--json", "audit.json"]
    return cli_recording(arguments, folder, document="audit.json")


@run
def cli_report(folder: Path) -> Any:
    """One page of two results."""
    eh.measure(loan, space(), over="sex", limit=0.05).to_json(folder / "measure.json")
    searched("adaptive", queries=1000).to_json(folder / "search.json")
    arguments = ["report", "measure.json", "search.json", "-o", "report.html"]
    return cli_recording(arguments, folder, texts=["report.html"])


@run
def cli_replay(folder: Path) -> Any:
    """The cases of a result, asked again."""
    write_project(folder, FUNCTION_SUBJECT, MEASURE_CHECKS)
    eh.measure(loan, space(), over="sex", limit=0.05).to_json(folder / "measure.json")
    arguments = ["replay", "measure.json", "--json", "out.json"]
    return cli_recording(arguments, folder, document="out.json")


@run
def cli_demo(folder: Path) -> Any:
    """The demonstration."""
    return cli_recording(["demo", "--json", "demo.json"], folder, document="demo.json")


@run
def cli_unknown_option(folder: Path) -> Any:
    """An option that there is not."""
    return cli_recording(["measure", "--limt", "0.1"], folder)


@run
def cli_broken_config(folder: Path) -> Any:
    """A configuration with an unknown key."""
    write_project(folder, FUNCTION_SUBJECT, '\n[[checks]]\njob = "measure"\nlimitt = 0.1\n')
    return cli_recording(["measure"], folder)


@run
def cli_failing_software(folder: Path) -> Any:
    """Software that fails."""
    write_project(folder, 'function = "software:crash"', MEASURE_CHECKS)
    return cli_recording(["measure", "--over", "sex"], folder)


# ------------------------------------------------------------------------------------------------
# Recording.
# ------------------------------------------------------------------------------------------------

PATTERNS = [
    (re.compile(r"\b[0-9a-f]{64}\b"), "DIGEST"),
    (
        re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?"),
        "MOMENT",
    ),
    (re.compile(r'\btime="[\d.]+"'), 'time="TIME"'),
    (re.compile(r"\b\d[\d,]*(\.\d+)? (ms|s|min|h|seconds?|minutes?|hours?)\b"), "TIME"),
    (re.compile(r'("seconds": )[\d.e+-]+'), r"\1TIME"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"[\d,]+ executed\b"), "EXECUTED executed"),
    (
        re.compile(r"of which [\d,]+ were run this time"),
        "of which EXECUTED were run this time",
    ),
    # Matplotlib names what it clips by after addresses in memory.
    (re.compile(r"(?<=[-#\"])[mpC][0-9a-f]{10}\b"), "SHAPE"),
]
"""What differs from run to run in texts, and what is written instead."""


def places(folder: Path) -> list[tuple[str, str]]:
    """Return the paths that differ from run to run, the longest first, and what stands for each."""
    package = Path(str(eh.__file__)).parent
    named = {
        str(folder): "FOLDER",
        str(folder.resolve()): "FOLDER",
        str(package): "PACKAGE",
        str(package.resolve()): "PACKAGE",
        sys.executable: "PYTHON",
    }
    return sorted(named.items(), key=lambda pair: -len(pair[0]))


def plain(text: str, folder: Path) -> str:
    """Return a text without temporary paths, digests and times."""
    for place, name in places(folder):
        text = text.replace(place, name)
    for pattern, instead in PATTERNS:
        text = pattern.sub(instead, text)
    return text


def plain_values(value: Any, folder: Path) -> Any:
    """Return JSON values whose texts are without temporary paths, digests and times."""
    if isinstance(value, str):
        return plain(value, folder)
    if isinstance(value, list):
        return [plain_values(one, folder) for one in value]
    if isinstance(value, dict):
        return {plain(key, folder): plain_values(one, folder) for key, one in value.items()}
    return value


def performed(name: str) -> dict[str, Any]:
    """Perform one run in a folder of its own, and return what is written down of it."""
    with tempfile.TemporaryDirectory(prefix="evenhand-recording-") as place:
        folder = Path(place)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = RUNS[name](folder)
                found = result if isinstance(result, Recording) else recording_of(result)
        except Skip as reason:
            return {"skipped": str(reason)}
        except Exception as error:
            traceback.print_exc()
            return {"error": plain(f"{type(error).__name__}: {error}", folder)}
        return {
            "digest": found.digest,
            "document": plain_values(found.document, folder),
            "frame": plain_values(found.frame, folder),
            "text": plain(found.text, folder),
            "verdict": found.verdict,
            "exit_code": found.exit_code,
            "files": plain_values(dict(found.files), folder),
        }


def wanted(names: Iterable[str], only: str | None) -> list[str]:
    """Return the names that fit a pattern as of files, all of them without one."""
    return [name for name in names if only is None or fnmatch.fnmatch(name, only)]


def record(folder: Path, only: str | None) -> int:
    """Perform the runs, or those that are wanted, and write a file for each."""
    names = wanted(RUNS, only)
    if not names:
        print(f"there is no run {only!r}; there are: {', '.join(RUNS)}", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    print(f"evenhand is {Path(str(eh.__file__)).parent}", file=sys.stderr)
    begun = time.monotonic()
    counts: Counter[str] = Counter()
    for number, name in enumerate(names, start=1):
        start = time.monotonic()
        # Sums of floating-point numbers depend on the number of threads.
        with threadpool_limits(1):
            table = performed(name)
        text = json.dumps(table, indent=1, ensure_ascii=False, sort_keys=False)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        seconds = time.monotonic() - start
        remark = ""
        for state in ("skipped", "error"):
            if state in table:
                counts[state] += 1
                remark = f" {state}: {table[state]}"
        print(f"{number} of {len(names)} {name} {seconds:.1f} s{remark}", file=sys.stderr)
    seconds = time.monotonic() - begun
    print(
        f"{len(names)} runs in {seconds:.0f} s, {counts['skipped']} skipped, "
        f"{counts['error']} with errors; wrote {folder}"
    )
    return 1 if counts["error"] else 0


# ------------------------------------------------------------------------------------------------
# Comparing.
# ------------------------------------------------------------------------------------------------

Parts = tuple[str, ...]
"""A path of recorded JSON: keys, and places in lists."""
COMPARED = ("document", "frame", "verdict", "exit_code")
TEXTS = ("text", "files")
MISSING = object()
BELOW = object()
"""Stands for a list or table with values in it."""
CLOSE = 1e-9
"""Numbers that differ by less, relatively, are told of and not counted: in which order scores are
added up may follow the clock."""


@dataclass(frozen=True)
class Difference:
    """One value that differs."""

    path: Parts
    old: Any
    new: Any

    @property
    def where(self) -> str:
        """The path with `*` for places in lists."""
        return "/".join("*" if part.isdigit() else part for part in self.path)

    def __str__(self) -> str:
        return f"{'/'.join(self.path)}: {shown(self.old)} → {shown(self.new)}"


def shown(value: Any) -> str:
    """Return a value as one short line."""
    if value is MISSING:
        return "nothing"
    if value is BELOW:
        return "…"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:157]}…"


def fits(parts: Parts, pattern: Parts) -> bool:
    """Say whether parts of a path are those of a pattern, in which `*` is any one."""
    if len(parts) != len(pattern):
        return False
    return all(wanted in ("*", part) for part, wanted in zip(parts, pattern, strict=True))


def ends_with(path: Parts, pattern: Parts) -> bool:
    """Say whether a path ends as a pattern says."""
    return fits(path[-len(pattern) :], pattern)


class Reader:
    """Turns recordings into values by path, and remembers which tables were of use."""

    def __init__(self) -> None:
        self.ignored: Counter[str] = Counter()
        self.renamed: Counter[str] = Counter()

    def values(
        self, table: Mapping[str, Any], sections: Sequence[str], *, old: bool
    ) -> Any:
        """Return the values of some sections by path; those of the old recording are renamed."""
        found: dict[Parts, Any] = {}
        for section in sections:
            kept = self._without_added(table.get(section), (section,))
            flatten(kept, (section,), found)
        return self._renamed(found) if old else found

    def _without_added(self, value: Any, path: Parts) -> Any:
        """Return a value without the keys that are not compared."""
        if isinstance(value, list):
            kept_items = []
            for place, one in enumerate(value):
                kept_items.append(self._without_added(one, (*path, str(place))))
            return kept_items
        if not isinstance(value, dict):
            return value
        kept = {}
        for key, one in value.items():
            below = (*path, key)
            pattern = added_pattern(below)
            if pattern is None:
                kept[key] = self._without_added(one, below)
            else:
                self.ignored[pattern] += 1
        return kept

    def _renamed(self, found: Mapping[Parts, Any]) -> dict[Parts, Any]:
        """Return values under their new paths, and in their new words."""
        renamed = {}
        for path, value in found.items():
            new_value = self._new_words(self._new_value(path, value))
            renamed[self._new_path(path)] = new_value
        return renamed

    def _new_path(self, path: Parts) -> Parts:
        for key, new in RENAMED.items():
            if "=" in key:
                continue
            moved = moved_path(path, tuple(key.split("/")), tuple(new.split("/")))
            if moved != path:
                self.renamed[key] += 1
                path = moved
        return path

    def _new_value(self, path: Parts, value: Any) -> Any:
        for key, new in RENAMED.items():
            where, equals, old = key.partition("=")
            if equals and value == old and ends_with(path, tuple(where.split("/"))):
                self.renamed[key] += 1
                return new
        return value

    def _new_words(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        for pattern, new in REWORDED.items():
            value, count = re.subn(pattern, new, value)
            if count:
                self.renamed[pattern] += count
        return value


def added_pattern(path: Parts) -> str | None:
    """Return the entry of ADDED that a path ends with, None where there is none."""
    for pattern in ADDED:
        if ends_with(path, tuple(pattern.split("/"))):
            return pattern
    return None


def is_new(path: Parts) -> bool:
    """Say whether a path may be in the new recording alone."""
    return any(ends_with(path, tuple(pattern.split("/"))) for pattern in NEW)


def moved_path(path: Parts, old: Parts, new: Parts) -> Parts:
    """Return a path in which the first parts that fit a pattern are those of another one.

    >>> moved_path(("mine", "0", "stories", "1"), ("mine", "*", "stories"), ("mine", "*", "top"))
    ('mine', '0', 'top', '1')
    """
    for start in range(len(path) - len(old) + 1):
        end = start + len(old)
        if not fits(path[start:end], old):
            continue
        parts = zip(path[start:end], old, strict=True)
        stars = iter([part for part, wanted in parts if wanted == "*"])
        filled = [next(stars) if part == "*" else part for part in new]
        return (*path[:start], *filled, *path[end:])
    return path


def flatten(value: Any, path: Parts, found: dict[Parts, Any]) -> None:
    """Put the values of nested lists and tables into one table by path."""
    if isinstance(value, dict) and value:
        for key, one in value.items():
            flatten(one, (*path, key), found)
    elif isinstance(value, list) and value:
        for place, one in enumerate(value):
            flatten(one, (*path, str(place)), found)
    else:
        found[path] = value


def same(old: Any, new: Any) -> bool:
    """Say whether two values are the same; 1, 1.0 and true are three values."""
    return type(old) is type(new) and bool(old == new)


def close(old: Any, new: Any) -> bool:
    """Say whether two values are numbers that differ in their last digits alone."""
    if not isinstance(old, float) or not isinstance(new, float):
        return False
    return math.isclose(old, new, rel_tol=CLOSE, abs_tol=CLOSE)


def differences(old: Mapping[Parts, Any], new: Mapping[Parts, Any]) -> list[Difference]:
    """Return where two recordings differ, be it in the last digits of a number.

    What is missing with all that lies below is one difference.
    """
    known_to_old, known_to_new = beginnings(old), beginnings(new)
    found: dict[Parts, Difference] = {}
    for path in dict.fromkeys([*old, *new]):
        if path not in new:
            top = first_unknown(path, known_to_new)
            value = old[path] if top == path else BELOW
            found.setdefault(top, Difference(top, value, MISSING))
        elif path not in old:
            top = first_unknown(path, known_to_old)
            value = new[path] if top == path else BELOW
            if not is_new(top):
                found.setdefault(top, Difference(top, MISSING, value))
        elif not same(old[path], new[path]):
            found[path] = Difference(path, old[path], new[path])
    return list(found.values())


def beginnings(values: Mapping[Parts, Any]) -> set[Parts]:
    """Return all paths that some path begins with, the whole ones included."""
    found: set[Parts] = set()
    for path in values:
        for length in range(1, len(path) + 1):
            found.add(path[:length])
    return found


def first_unknown(path: Parts, known: set[Parts]) -> Parts:
    """Return the shortest beginning of a path that is not known, or else the path."""
    for length in range(1, len(path) + 1):
        if path[:length] not in known:
            return path[:length]
    return path


def not_performed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Return the difference of a run that was not performed in one or both recordings."""
    for state in ("error", "skipped"):
        if state in old or state in new:
            return [Difference((state,), old.get(state, MISSING), new.get(state, MISSING))]
    return []


def read(folder: Path, name: str) -> dict[str, Any]:
    """Read one recording; a run without a file has the error that there is none."""
    path = folder / f"{name}.json"
    if not path.exists():
        return {"error": "it was not recorded"}
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table


def names_in(folder: Path) -> list[str]:
    """Return the names of the runs in a folder."""
    return sorted(path.stem for path in folder.glob("*.json"))


def summarised(found: Sequence[Difference], *, every: bool) -> list[str]:
    """Return lines that tell of differences: each, or the first of each kind of path."""
    if every:
        return [str(one) for one in found]
    kinds: dict[str, list[Difference]] = {}
    for one in found:
        kinds.setdefault(one.where, []).append(one)
    lines = []
    for alike in kinds.values():
        more = f" (and {len(alike) - 1} more like it)" if len(alike) > 1 else ""
        lines.append(f"{alike[0]}{more}")
    return lines


@dataclass
class Tally:
    """What a comparison has seen so far."""

    performed: int = 0
    equal: int = 0
    digests: int = 0
    equal_digests: int = 0
    skipped: list[str] = field(default_factory=list)
    last_digits: list[str] = field(default_factory=list)
    """Runs with numbers that differ in their last digits alone."""
    texts: list[str] = field(default_factory=list)
    """Runs whose texts differ."""
    where: Counter[str] = field(default_factory=Counter)
    """In how many runs each kind of path differs."""


def compare(
    old_folder: Path, new_folder: Path, *, every: bool, texts: bool, only: str | None = None
) -> int:
    """Compare two recordings, report what differs, and return 1 if anything does."""
    for folder in (old_folder, new_folder):
        if not names_in(folder):
            print(f"{folder}: there is no recording in it", file=sys.stderr)
            return 2
    reader = Reader()
    tally = Tally()
    for name in wanted(sorted({*names_in(old_folder), *names_in(new_folder)}), only):
        old, new = read(old_folder, name), read(new_folder, name)
        if "skipped" in old and "skipped" in new:
            tally.skipped.append(f"{name} ({new['skipped']})")
            continue
        tally.performed += 1
        found = not_performed(old, new)
        if not found:
            found = compare_run(name, old, new, reader, tally, texts=texts)
        if not found:
            tally.equal += 1
            continue
        print(f"{name}: {len(found)} differences")
        for line in summarised(found, every=every):
            print(f"  {line}")
        tally.where.update({one.where for one in found})
    report(reader, tally)
    return 0 if tally.equal == tally.performed else 1


def compare_run(
    name: str,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    reader: Reader,
    tally: Tally,
    *,
    texts: bool,
) -> list[Difference]:
    """Return the differences of one run that count, and note the others in the tally."""
    if old["digest"] is not None:
        tally.digests += 1
        tally.equal_digests += old["digest"] == new["digest"]
    before = reader.values(old, COMPARED, old=True)
    after = reader.values(new, COMPARED, old=False)
    everything = differences(before, after)
    found = [one for one in everything if not close(one.old, one.new)]
    if len(found) < len(everything):
        tally.last_digits.append(name)
    before = reader.values(old, TEXTS, old=True)
    after = reader.values(new, TEXTS, old=False)
    words = differences(before, after)
    if words:
        tally.texts.append(name)
    return found + words if texts else found


def report(reader: Reader, tally: Tally) -> None:
    """Print where runs differ, which entries of the tables were of use, and how many are equal."""
    if tally.where:
        print("\nwhere they differ, and in how many runs:")
        for where, count in sorted(
            tally.where.items(), key=lambda pair: (-pair[1], pair[0])
        ):
            print(f"  {count:4} {where}")
        print()
    print(f"ignored keys that were seen: {counted(reader.ignored)}")
    print(f"renamed keys that were seen: {counted(reader.renamed)}")
    print(f"skipped in both: {', '.join(tally.skipped) or 'none'}")
    print("not counted:")
    print(
        f"  numbers that differ by less than {CLOSE:g}, relatively: {listed(tally.last_digits)}"
    )
    print(f"  texts that differ, which --text counts: {listed(tally.texts)}")
    print(f"  digests: {tally.equal_digests} of {tally.digests} are equal")
    print(f"{tally.equal} of {tally.performed} runs equal")


def listed(names: Sequence[str]) -> str:
    """Return how many runs there are, and their names."""
    return f"in {len(names)} runs ({', '.join(names)})" if names else "in no run"


def counted(counts: Mapping[str, int]) -> str:
    """Return names with how often each was seen."""
    return ", ".join(f"{name} ({count})" for name, count in counts.items()) or "none"


def main() -> int:
    """Read the command line and do what it asks."""
    parser = argparse.ArgumentParser(
        description="Record runs of evenhand, or compare recordings."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser(
        "record", help="perform the runs and write what they find"
    )
    recorder.add_argument("folder", type=Path, metavar="OUT_DIR")
    recorder.add_argument(
        "--only", metavar="PATTERN", help="these runs alone, such as 'mine*'"
    )
    comparer = commands.add_parser(
        "compare", help="report what differs between two recordings"
    )
    comparer.add_argument("old", type=Path, metavar="OLD_DIR")
    comparer.add_argument("new", type=Path, metavar="NEW_DIR")
    comparer.add_argument(
        "--all", action="store_true", help="list every difference by itself"
    )
    comparer.add_argument(
        "--text", action="store_true", help="count differences of texts, too"
    )
    comparer.add_argument(
        "--only", metavar="PATTERN", help="these runs alone, such as 'mine*'"
    )
    options = parser.parse_args()
    if options.command == "record":
        return record(options.folder, options.only)
    return compare(
        options.old, options.new, every=options.all, texts=options.text, only=options.only
    )


if __name__ == "__main__":
    sys.exit(main())
