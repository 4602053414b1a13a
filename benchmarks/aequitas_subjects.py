"""The subjects of the search benchmark: Aequitas's six classifiers in today's scikit-learn.

They are those of Table 2 of the paper:

tree      DecisionTreeClassifier, as it comes
forest    RandomForestClassifier of 100 trees
mlp       MLPClassifier of one hidden layer with 100 units, on standardised columns
svm       SVC with an RBF kernel, on standardised columns; fitted on at most 8,000 rows, so that it
          takes seconds
ensemble  VotingClassifier over a forest and a tree, soft: the mean of their probabilities (a hard
          vote of two ties)
fair      logistic regression whose signed distance has no covariance with the protected column
          (Zafar et al. 2017, "Fairness Constraints"), for the paper's Fair SVM; the protected
          column is among its inputs, as in the paper

and two more, which have about the shares of discriminatory inputs that the paper's Table 5 reports
(8.84 %, 0.33 %):

forest-10  a forest of 10 trees, what scikit-learn made by default in 2018
svm-raw    the SVM on columns as they are

Data: the TestSGD authors' coding of Adult (over sex), German credit and Bank (over age). For Adult
the space is the one that Aequitas declares; the 7 % of rows outside it, nearly all with a missing
value coded 100, are left out. `python benchmarks/aequitas_subjects.py` trains them and prints their
accuracy and how many of 10,000 uniform classes are discriminatory.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

import evenhand as eh

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

RESULTS = Path(__file__).parent / "results"
BESIDE = Path(__file__).parents[2] / "shared" / "testsgd"
FILES = {"adult": "census.csv.gz", "german": "credit.csv.gz", "bank": "bank.csv.gz"}
NAMES = ("tree", "forest", "mlp", "svm", "ensemble", "fair")
MORE = ("forest-10", "svm-raw")
PAPER = {
    "fair": "Fair SVM",
    "svm": "SVM",
    "mlp": "MLPC",
    "forest": "Random Forest",
    "tree": "Decision Tree",
    "ensemble": "Ensemble",
    "forest-10": "Random Forest",
    "svm-raw": "SVM",
}
"""What the paper calls each."""
OVER = {"adult": "sex", "german": "age", "bank": "age"}
SVM_ROWS = 8000
# fmt: off
COLUMNS = {
    "adult": ["age", "workclass", "fnlwgt", "education", "marital-status", "occupation",
              "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
              "native-country"],
    "german": ["checking", "duration", "history", "purpose", "amount", "savings", "employment",
               "rate", "sex", "debtors", "residence", "property", "age", "plans", "housing",
               "credits", "job", "liable", "telephone", "foreign"],
    "bank": ["age", "job", "marital", "education", "default", "balance", "housing", "loan",
             "contact", "day", "month", "duration", "campaign", "pdays", "previous", "poutcome"],
}
ADULT = ([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [9, 7, 39, 15, 6, 13, 5, 4, 1, 99, 39, 99, 39])
"""The bounds that Aequitas declares; those of the others are the least and the largest value in the
data.
"""
# fmt: on


@dataclass(frozen=True)
class Classifier:
    """A trained classifier; `rows` are the real rows that are points of its space, `over` what is
    protected.
    """

    name: str
    data: str
    model: Any
    space: eh.Space
    over: str
    rows: Matrix
    accuracy: float


class FairLogistic(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression under cov(column, signed distance) = 0, on standardised columns (Zafar et
    al. 2017).

    The strictest of their bounds on the covariance.
    """

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, rows: Matrix, labels: Any) -> FairLogistic:
        from scipy.optimize import minimize
        from scipy.special import expit

        rows = np.asarray(rows, dtype=np.float64)
        self.classes_ = np.unique(labels)
        self.mean_, self.scale_ = rows.mean(axis=0), rows.std(axis=0)
        self.scale_[self.scale_ == 0] = 1.0
        scaled = np.column_stack([(rows - self.mean_) / self.scale_, np.ones(len(rows))])
        signs = np.where(np.asarray(labels) == self.classes_[1], 1.0, -1.0)
        covariance = (scaled[:, self.column] @ scaled) / len(rows)
        covariance[-1] = (
            0.0  # the column is centred; this leaves no rounding in the constraint
        )

        def loss(weights: Matrix) -> tuple[float, Matrix]:
            margins = signs * (scaled @ weights)
            slope = -(signs * expit(-margins)) @ scaled / len(rows)
            return float(np.logaddexp(0.0, -margins).mean()), slope

        none = {
            "type": "eq",
            "fun": lambda weights: covariance @ weights,
            "jac": lambda _: covariance,
        }
        start = np.zeros(scaled.shape[1])
        found = minimize(
            loss,
            start,
            jac=True,
            method="SLSQP",
            constraints=[none],
            options={"maxiter": 500},
        )
        if not found.success:
            raise RuntimeError(f"the constrained model did not converge: {found.message}")
        self.coef_, self.intercept_ = found.x[None, :-1], found.x[-1:]
        return self

    def decision_function(self, rows: Matrix) -> Matrix:
        scaled = (np.asarray(rows, dtype=np.float64) - self.mean_) / self.scale_
        return np.asarray(scaled @ self.coef_[0] + self.intercept_[0])

    def predict(self, rows: Matrix) -> NDArray[Any]:
        return np.asarray(self.classes_[(self.decision_function(rows) > 0).astype(np.intp)])


def folder() -> Path:
    return Path(os.environ.get("EVENHAND_TESTSGD") or BESIDE)


def table(data: str) -> tuple[Matrix, NDArray[np.int64]]:
    """Return the rows and the labels of a data set."""
    path = folder() / FILES[data]
    if not path.exists():
        # Not a failure: whoever runs this without the data has nothing to measure.
        print(f"skipped: needs {FILES[data]} in EVENHAND_TESTSGD or ../shared/testsgd")
        sys.exit(0)
    whole = np.loadtxt(path, delimiter=",", skiprows=1)
    return whole[:, :-1], whole[:, -1].astype(np.int64)


def space_of(data: str, rows: Matrix) -> eh.Space:
    low, high = ADULT if data == "adult" else (rows.min(axis=0), rows.max(axis=0))
    made = [
        eh.integer(name, int(a), int(b))
        for name, a, b in zip(COLUMNS[data], low, high, strict=True)
    ]
    return eh.Space(made, protected=[OVER[data]])


def unfitted(column: int) -> dict[str, Any]:
    from sklearn.ensemble import RandomForestClassifier, VotingClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    members = [
        ("forest", RandomForestClassifier(random_state=1)),
        ("tree", DecisionTreeClassifier(random_state=1)),
    ]
    return {
        "tree": DecisionTreeClassifier(random_state=0),
        "forest": RandomForestClassifier(random_state=0),
        "mlp": make_pipeline(
            StandardScaler(), MLPClassifier(random_state=0, early_stopping=True)
        ),
        "svm": make_pipeline(StandardScaler(), SVC(random_state=0)),
        "ensemble": VotingClassifier(members, voting="soft"),
        "fair": FairLogistic(column),
        "forest-10": RandomForestClassifier(10, random_state=0),
        "svm-raw": SVC(random_state=0),
    }


def train(data: str) -> dict[str, Classifier]:
    rows, labels = table(data)
    space = space_of(data, rows)
    inside = (rows <= [feature.high for feature in space.features]).all(axis=1)
    rows, labels = np.asfortranarray(rows[inside]), labels[inside]
    some = np.random.default_rng(0).permutation(len(rows))[:SVM_ROWS]
    made = {}
    for name, model in unfitted(space.names.index(OVER[data])).items():
        chosen = some if name.startswith("svm") else slice(None)
        model.fit(rows[chosen], labels[chosen])
        accuracy = float((model.predict(rows) == labels).mean())
        made[name] = Classifier(name, data, model, space, OVER[data], rows, accuracy)
    return made


def subjects(data: str) -> dict[str, Classifier]:
    """Return all on a data set, from the file of the last run where this module has not changed
    since.
    """
    import sklearn

    # Under its own name, so that what is kept can be read by others.
    from aequitas_subjects import train

    text = Path(__file__).read_bytes() + sklearn.__version__.encode()
    kept = RESULTS / f"aequitas-{data}-{hashlib.sha256(text).hexdigest()[:12]}.joblib"
    if kept.exists():
        return dict(joblib.load(kept))
    made = train(data)
    RESULTS.mkdir(parents=True, exist_ok=True)
    for old in RESULTS.glob(f"aequitas-{data}-*.joblib"):
        old.unlink()
    joblib.dump(made, kept)
    return made


def subject(data: str, name: str) -> Classifier:
    """Return one of them."""
    return subjects(data)[name]


def discriminatory(one: Classifier, n: int = 10_000) -> int:
    """Return how many of so many uniform classes have two members with different outcomes."""
    points, column = (
        one.space.draw(n, np.random.default_rng(0)),
        one.space.names.index(one.over),
    )
    outcomes = []
    for value in one.space.features[column].values():
        points[:, column] = value
        outcomes.append(one.model.predict(points))
    return int((np.array(outcomes) != outcomes[0]).any(axis=0).sum())


def main() -> None:
    for data in FILES:
        start = time.perf_counter()
        made = subjects(data)
        one = made["tree"]
        print(
            f"{data}, over {one.over}: {len(one.rows):,} real rows in {one.space}, size"
            f" {one.space.size:.3g}"
        )
        for name, classifier in made.items():
            print(
                f"  {name:10} accuracy {classifier.accuracy:.3f}   {discriminatory(classifier):5}"
                " of 10,000",
                flush=True,
            )
        print(f"  {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
