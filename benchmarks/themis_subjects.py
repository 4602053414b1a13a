"""The subjects of the Themis benchmark: twenty models on Adult and German credit, as in section 5.1
of the paper.

Adult has 13 characteristics (all but fnlwgt, a census weight) and 15,500 training rows, half of
each class; German has 20 characteristics and 600 rows. The paper takes characteristics to be
categorical, so numbers are drawn from a few representative values each. Paper's E to H are naive
Bayes, a decision tree, logistic regression and a linear SVM. For its discrimination-aware A to D,
whose code is not public, stand the nearest methods of today:

A  logistic regression under a demographic-parity constraint (Fairlearn, exponentiated gradient)
B  decision tree under the same constraint (Fairlearn, grid search)
C  naive Bayes on reweighed rows (Kamiran and Calders)
D  decision tree on reweighed rows

Race is reduced to white or not, and German personal_status_sex to its sex, for training alone; both
are varied in full. `python benchmarks/themis_subjects.py` trains them and prints their accuracy.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

import evenhand as eh

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Feature

RESULTS = Path(__file__).parent / "results"
BESIDE = Path(__file__).parents[2] / "shared" / "data"
ROWS = {"adult": 15_500, "german": 600}
LEFT_OUT = {"adult": ["fnlwgt"], "german": []}
PROTECTED = {"adult": ["sex", "race"], "german": ["personal_status_sex"]}
SENSITIVE = {
    "adult": ["age", "marital-status", "relationship", "race", "sex", "native-country"],
    "german": ["personal_status_sex", "age", "foreign_worker"],
}
"""What the paper's Figure 2 calls sensitive, where the data set has it."""
NUMBERS: dict[str, Feature] = {
    "age": eh.integer("age", 20, 80, step=10),
    "education-num": eh.integer("education-num", 1, 16, step=3),
    "capital-gain": eh.category("capital-gain", [0, 2000, 5000, 10_000, 50_000]),
    "capital-loss": eh.category("capital-loss", [0, 1000, 1500, 2000, 3000]),
    "hours-per-week": eh.integer("hours-per-week", 10, 80, step=10),
    "duration": eh.integer("duration", 6, 60, step=9),
    "credit_amount": eh.category("credit_amount", [500, 1000, 2000, 4000, 8000, 16_000]),
    "installment_rate": eh.integer("installment_rate", 1, 4),
    "residence_since": eh.integer("residence_since", 1, 4),
    "existing_credits": eh.integer("existing_credits", 1, 4),
    "people_liable": eh.integer("people_liable", 1, 2),
}


@dataclass(frozen=True)
class Instance:
    """A trained system; `aware` is the characteristic it was trained to be fair on, `kin` the
    paper's letter.
    """

    name: str
    kin: str
    data: str
    aware: str
    model: Any
    space: eh.Space
    accuracy: float


class Majority(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A randomised classifier made deterministic: the outcome that it gives with the greater
    probability.

    Exponentiated gradient returns a distribution over classifiers and draws one for each input; a
    causal test needs one answer per input.
    """

    def __init__(self, members: list[Any], weights: NDArray[np.float64]) -> None:
        self.members = members
        self.weights = weights
        self.classes_ = np.array([0, 1])

    def fit(self, encoded: Any, labels: Any) -> Majority:
        return self

    def predict(self, encoded: Any) -> NDArray[np.int64]:
        votes = np.stack([member.predict(encoded) for member in self.members], axis=1)
        return np.asarray(votes @ self.weights >= 0.5).astype(np.int64)


class Coded:
    """An instance's decisions on codes (which value of each characteristic), without building
    frames.

    Encoders work column by column, so what each value is encoded as is looked up; the answers are
    the model's own, which is checked on random inputs. Counting tests asks for too many of them to
    go through frames.
    """

    def __init__(self, instance: Instance, checked: int = 2000) -> None:
        self.space = instance.space
        self.values = [feature.values() for feature in self.space.features]
        self.sizes = tuple(len(values) for values in self.values)
        encoder, self.model = instance.model[0], instance.model[-1]
        starts = np.cumsum((0, *self.sizes))
        codes = np.zeros((starts[-1], len(self.sizes)), dtype=np.intp)
        for column, size in enumerate(self.sizes):
            codes[starts[column] : starts[column + 1], column] = np.arange(size)
        encoded = np.asarray(encoder.transform(self.frame(codes)), dtype=np.float64)
        blocks = [encoded[start:stop] for start, stop in itertools.pairwise(starts)]
        self.columns = [np.flatnonzero(np.ptp(block, axis=0)) for block in blocks]
        self.parts = [
            block[:, columns] for block, columns in zip(blocks, self.columns, strict=True)
        ]
        self.base = encoded[0]
        self._linear = self._as_linear()
        codes = np.random.default_rng(0).integers(0, self.sizes, (checked, len(self.sizes)))
        assert (self(codes) == (instance.model.predict(self.frame(codes)) == 1)).all(), (
            "both ways must decide the same"
        )

    def points(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        return np.stack(
            [values[codes[:, i]] for i, values in enumerate(self.values)], axis=1
        )

    def frame(self, codes: NDArray[Any]) -> Any:
        return self.space.native(np.asfortranarray(self.points(codes)))

    def __call__(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which inputs get the favourable outcome."""
        if self._linear is not None:
            tables, scores, weights = self._linear
            for i, table in enumerate(tables):
                scores = scores + table[codes[:, i]]
            return np.asarray((scores > 0) @ weights >= 0.5)
        encoded = np.empty((len(codes), len(self.base)))
        encoded[:] = self.base
        for i, (columns, part) in enumerate(zip(self.columns, self.parts, strict=True)):
            encoded[:, columns] = part[codes[:, i]]
        return np.asarray(self.model.predict(encoded) == 1)

    def _as_linear(self) -> tuple[list[NDArray[Any]], NDArray[Any], NDArray[Any]] | None:
        members = getattr(self.model, "members", [self.model])
        if not all(hasattr(member, "coef_") for member in members):
            return None
        slopes = np.stack([member.coef_[0] for member in members], axis=1)
        start = self.base @ slopes + np.array([member.intercept_[0] for member in members])
        tables = [
            (part - self.base[columns]) @ slopes[columns]
            for columns, part in zip(self.columns, self.parts, strict=True)
        ]
        return tables, start, getattr(self.model, "weights", np.ones(1))


def load(name: str) -> Any:
    folder = Path(os.environ.get("EVENHAND_DATA") or BESIDE)
    if not (folder / f"{name}.csv.gz").exists():
        sys.exit(f"skipped: needs {name}.csv.gz in EVENHAND_DATA or ../shared/data")
    return eh.datasets.load(name, path=folder)


def space_of(data: Any) -> eh.Space:
    features = data.features.drop(columns=LEFT_OUT[data.name])
    made = [
        NUMBERS.get(name) or eh.category(name, sorted(features[name].unique()))
        for name in features
    ]
    return eh.Space(made, protected=PROTECTED[data.name])


def nearest_code(column: Any, values: list[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return which representative value each number is nearest to, as naive Bayes over categories
    needs.
    """
    numbers = np.asarray(column, dtype=np.float64)
    codes = [
        np.abs(numbers[:, i, None] - choices).argmin(axis=1)
        for i, choices in enumerate(values)
    ]
    return np.stack(codes, axis=1).astype(np.int64)


def encoders(space: eh.Space, rows: Any) -> dict[str, Any]:
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import (
        FunctionTransformer,
        OneHotEncoder,
        OrdinalEncoder,
        StandardScaler,
    )

    numbers = [name for name in space.names if name in NUMBERS]
    texts = [name for name in space.names if name not in NUMBERS]
    levels = [list(space.feature(name).levels) for name in texts]
    values = [
        np.array(NUMBERS[name].labels(NUMBERS[name].values()), dtype=np.float64)
        for name in numbers
    ]
    one_hot = OneHotEncoder(categories=levels, handle_unknown="ignore", sparse_output=False)
    ordinal = partial(OrdinalEncoder, categories=levels)
    nearest = FunctionTransformer(nearest_code, kw_args={"values": values})
    made = {
        "one-hot": make_column_transformer((one_hot, texts), (StandardScaler(), numbers)),
        "ordinal": make_column_transformer((ordinal(), texts), ("passthrough", numbers)),
        "cells": make_column_transformer((ordinal(), texts), (nearest, numbers)),
    }
    return {name: encoder.fit(rows) for name, encoder in made.items()}


def tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(min_samples_leaf=10, random_state=0)


def logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=500)


def bayes(space: eh.Space) -> Any:
    from sklearn.naive_bayes import CategoricalNB

    texts = [
        len(feature.levels) for feature in space.features if feature.name not in NUMBERS
    ]
    numbers = [
        len(feature.values()) for feature in space.features if feature.name in NUMBERS
    ]
    return CategoricalNB(min_categories=[*texts, *numbers])


def reweighed(group: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weights under which group and label are independent (Kamiran and Calders 2012)."""
    weights = np.empty(len(labels))
    for one in np.unique(group):
        for label in (0, 1):
            both = (group == one) & (labels == label)
            weights[both] = (group == one).mean() * (labels == label).mean() / both.mean()
    return weights


def constrained(model: Any, group: NDArray[Any], encoded: Any, labels: Any) -> Any:
    """Train a model under demographic parity: a tree by grid search, any other by exponentiated
    gradient.
    """
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient, GridSearch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if type(model).__name__ == "DecisionTreeClassifier":
            grid = GridSearch(model, DemographicParity(), grid_size=15)
            grid.fit(encoded, labels, sensitive_features=group)
            return grid.predictors_[grid.best_idx_]
        gradient = ExponentiatedGradient(model, DemographicParity(), eps=0.01, max_iter=15)
        gradient.fit(encoded, labels, sensitive_features=group)
        kept = gradient.weights_[gradient.weights_ > 1e-6]
        return Majority(
            [gradient.predictors_[i] for i in kept.index],
            np.asarray(kept / kept.sum(), dtype=np.float64),
        )


def reduced(rows: Any, name: str) -> NDArray[Any]:
    """Return a characteristic as the two groups that it is trained to be fair between."""
    if name == "race":
        return np.asarray(rows["race"] == "White")
    if name == "personal_status_sex":
        return np.asarray(rows[name].isin(["A92", "A95"]))
    return np.asarray(rows[name] == "Female")


def train(name: str) -> list[Instance]:
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    data = load(name)
    space = space_of(data)
    favourable = np.asarray(data.labels == data.positive).astype(np.int64)
    rng = np.random.default_rng(0)
    chosen = np.concatenate(
        [
            rng.choice(np.flatnonzero(favourable == label), ROWS[name] // 2, replace=False)
            for label in (0, 1)
        ]
    )
    features = data.features[list(space.names)]
    rows, labels = features.iloc[chosen].reset_index(drop=True), favourable[chosen]
    encode = encoders(space, rows)
    encoded = {form: encoder.transform(rows) for form, encoder in encode.items()}
    made: list[Instance] = []

    def add(kin: str, label: str, aware: str, form: str, model: Any) -> None:
        whole = make_pipeline(encode[form], model)
        # The pipeline's parts are fitted one by one, since fairness methods need the groups as
        # well.
        accuracy = float((whole.predict(features) == favourable).mean())
        made.append(
            Instance(
                f"{label} {name}{' ' + aware if aware else ''}",
                kin,
                name,
                aware,
                whole,
                space,
                accuracy,
            )
        )

    for aware in PROTECTED[name]:
        group = reduced(rows, aware)
        weights = reweighed(group, labels)
        add(
            "A",
            "constrained LR",
            aware,
            "one-hot",
            constrained(logistic(), group, encoded["one-hot"], labels),
        )
        add(
            "B",
            "constrained tree",
            aware,
            "ordinal",
            constrained(tree(), group, encoded["ordinal"], labels),
        )
        fitted = bayes(space).fit(encoded["cells"], labels, sample_weight=weights)
        add("C", "reweighed NB", aware, "cells", fitted)
        add(
            "D",
            "reweighed tree",
            aware,
            "ordinal",
            tree().fit(encoded["ordinal"], labels, sample_weight=weights),
        )
    add("E", "NB", "", "cells", bayes(space).fit(encoded["cells"], labels))
    add("F", "tree", "", "ordinal", tree().fit(encoded["ordinal"], labels))
    add("G", "LR", "", "one-hot", logistic().fit(encoded["one-hot"], labels))
    add(
        "H",
        "linear SVM",
        "",
        "one-hot",
        LinearSVC(dual=False).fit(encoded["one-hot"], labels),
    )
    return made


def instances() -> list[Instance]:
    """Return all twenty, from the file of the last run where this module has not changed since."""
    import sklearn

    text = Path(__file__).read_bytes() + sklearn.__version__.encode()
    kept = RESULTS / f"themis_subjects-{hashlib.sha256(text).hexdigest()[:12]}.joblib"
    if kept.exists():
        return list(joblib.load(kept))
    made = sorted(
        (one for name in ROWS for one in train(name)),
        key=lambda one: (one.kin, one.data, one.aware),
    )
    RESULTS.mkdir(parents=True, exist_ok=True)
    joblib.dump(made, kept)
    return made


def main() -> None:
    # Under its own name, so that what is kept can be read by others.
    from themis_subjects import Coded, instances

    start = time.perf_counter()
    for one in instances():
        Coded(one)
        print(
            f"{one.kin}  {one.name:36} accuracy {one.accuracy:.3f} on all rows   {one.space}"
        )
    print(f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
