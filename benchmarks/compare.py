"""compare against the procedure of the Fairea paper: the baseline, and what a study costs beyond
its fits.

`python benchmarks/compare.py [--only baseline|study] [--splits 20] [--quick]` prints tables and
writes benchmarks/results/compare.json.

Wanted: the baseline of Adult-sex (14,653 test rows, 10 degrees, 50 repetitions) at least 1,000
times as fast as the paper's loop; a study of three data sets, two cheap methods, logistic
regression and 20 splits in at most 1.1 times the sum of its bare fits, for each worker.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import evenhand as eh
from evenhand.methods.compare.axes import as_bias, as_performance
from evenhand.methods.compare.contingency import Frame
from evenhand.methods.compare.regions import DEGREES, Overwriting, curve

if TYPE_CHECKING:
    from collections.abc import Callable

    Row = dict[str, Any]

RESULTS = Path(__file__).parent / "results"
SHARED = Path(__file__).parents[2] / "shared" / "data"
REPETITIONS = 50
STUDY = """
[study]
splits = {splits}
seed = 0
[[data]]
name = "adult"
protected = {{ sex = "Male" }}
[[data]]
name = "compas"
protected = {{ sex = "Female" }}
[[data]]
name = "german"
protected = {{ sex = "male" }}
[[models]]
name = "LR"
[[methods]]
name = "threshold-optimiser"
[[methods]]
name = "correlation-remover"
"""


def timed(work: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Return the median time of some repetitions, and what comes out."""
    taken = []
    for _ in range(repeat):
        began = time.perf_counter()
        found = work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken), found


def adult_sex() -> tuple[Any, Any, Any]:
    """Return true labels, predictions of logistic regression and sex, for the test rows of one 7:3
    split.
    """
    data = eh.datasets.load("adult")
    features, truth = data.features, (data.labels == data.positive).to_numpy().astype(int)
    train, test, y_train, y_test = train_test_split(
        features, truth, test_size=0.3, random_state=0
    )
    numbers = make_column_selector(dtype_include="number")
    words = make_column_selector(dtype_exclude="number")
    encode = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), words)
    )
    model = make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(train, y_train)
    return y_test, model.predict(test), test["sex"].to_numpy()


def paper_loop(truth: Any, predicted: Any, male: Any, label: int, seed: int = 0) -> Any:
    """Return mean accuracy, statistical parity and average odds difference at each degree, as
    section 4.1 says.

    A random part of the predictions is overwritten, 50 times for each degree, and the copy is
    scored. Group rates are taken by numpy, which favours the loop: the released code builds a
    metric object of AIF360 for each copy.
    """
    rng = np.random.default_rng(seed)
    total = len(predicted)
    groups = [male, ~male]
    true, false = ([group & (truth == value) for group in groups] for value in (1, 0))
    lines = []
    for degree in DEGREES[1:]:
        scores = []
        for _ in range(REPETITIONS):
            copy = predicted.copy()
            copy[rng.choice(total, size=int(total * degree), replace=False)] = label
            rate = [copy[group].mean() for group in groups]
            hits = [copy[group].mean() for group in true]
            alarms = [copy[group].mean() for group in false]
            odds = (hits[1] - hits[0] + alarms[1] - alarms[0]) / 2
            scores.append((accuracy_score(truth, copy), abs(rate[1] - rate[0]), abs(odds)))
        lines.append(np.mean(scores, axis=0))
    return np.array(lines)


def section_baseline(options: argparse.Namespace) -> list[Row]:
    """The line of Adult-sex: exact, from the rows; and by the loop of the paper."""
    truth, predicted, sex = adult_sex()
    male = sex == "Male"
    frame = Frame.of([0, 1], {"sex": sex})
    place = frame.place({"sex": sex})
    scores = [as_bias(name, frame, 1) for name in ("spd", "aod")]
    accuracy = as_performance("accuracy", frame, 1)
    majority = int(truth.mean() > 0.5)
    way = Overwriting(DEGREES[1:], majority)

    def exact() -> Any:
        table = frame.table(frame.cells(place, truth, predicted))
        expected = way.expected(table)
        return np.column_stack(
            [
                accuracy(expected),
                *(score(expected) for score in scores if score is not None),
            ]
        )

    assert np.allclose(
        curve(
            way, frame.table(frame.cells(place, truth, predicted)), (scores[0], accuracy)
        )[1],
        exact()[:, 0],
    )
    fast, line = timed(exact, 200)
    repeats = 1 if options.quick else 3
    slow, mean = timed(lambda: paper_loop(truth, predicted, male, majority), repeats)
    both = {"original": predicted, "same": predicted}
    whole, _ = timed(lambda: eh.compare(both, truth, {"sex": sex}, resamples=100), 3)
    return [
        {
            "rows": len(truth),
            "exact ms": 1000 * fast,
            "loop s": slow,
            "times as fast": slow / fast,
            "largest difference": float(np.abs(line - mean).max()),
            "compare() from raw labels, 100 resamples, ms": 1000 * whole,
        }
    ]


def section_study(options: argparse.Namespace) -> list[Row]:
    """A study of three data sets beside the sum of its bare fits: one worker, two that must start,
    and the same two.
    """
    from evenhand.config.study import read_study
    from evenhand.study.study import run

    rows = []
    for n_jobs, started in ((1, True), (2, False), (2, True)):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "study.toml"
            file.write_text(
                STUDY.format(splits=4 if options.quick else options.splits),
                encoding="utf-8",
            )
            planned = read_study(file)
            began = time.perf_counter()
            cases = run(planned.study, Path(folder) / "study.sqlite", n_jobs=n_jobs)
            taken = time.perf_counter() - began
        rows.append(
            {
                "workers": n_jobs,
                "started before": started,
                "study s": taken,
                "bare fits s": cases.seconds,
                "study / bare, per worker": n_jobs * taken / cases.seconds,
            }
        )
    return rows


SECTIONS = {"baseline": section_baseline, "study": section_study}


def main() -> None:
    """Run the sections, print them and write them down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=SECTIONS, action="append")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if SHARED.is_dir():
        os.environ.setdefault("EVENHAND_DATA", str(SHARED))
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / "compare.json"
    found = (
        json.loads(file.read_text(encoding="utf-8"))
        if options.only and file.exists()
        else {}
    )
    for name in options.only or SECTIONS:
        found[name] = SECTIONS[name](options)
        print(f"\n{name}: {SECTIONS[name].__doc__}")
        for row in found[name]:
            print("  " + ", ".join(f"{key} {value:,.5g}" for key, value in row.items()))
    file.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
