"""Evened: outcomes that cannot depend on the protected features, for any model, frame and space."""

from __future__ import annotations

import itertools
import pickle
import zlib
from collections import defaultdict
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

import evenhand as eh
from evenhand.methods.repair.methods import variants
from evenhand.methods.repair.methods.evened import Evened
from evenhand.runtime.errors import BadOutcome, DataError, SpaceError, UsageError
from evenhand.space.constraints import Constraint
from tests.support.helpers import examples, refused
from tests.support.strategies import spaces

SEXES = ["F", "M"]
JOBS = ["cook", "nurse", "smith"]
FEATURES = [eh.category("sex", SEXES), eh.integer("age", 18, 60), eh.category("job", JOBS)]
SPACE = eh.Space(FEATURES, protected=["sex"])


def people(n: int = 400, seed: int = 0) -> pd.DataFrame:
    frame = SPACE.decode(SPACE.draw(n, np.random.default_rng(seed)))
    assert isinstance(frame, pd.DataFrame)
    return frame


def loan(frame: Any) -> Any:
    """Good reasons, noise that a tree learns, and a part that sex plays."""
    noise = np.random.default_rng(1).random(len(frame)) < 0.1
    good = (frame["age"] > 35) ^ noise
    return np.where(good | ((frame["sex"] == "M") & (frame["job"] == "smith")), "yes", "no")


def pipeline(model: Any) -> Any:
    return make_pipeline(
        make_column_transformer(
            (OrdinalEncoder(), ["sex", "job"]), remainder="passthrough"
        ),
        model,
    )


def causal(model: Any, space: eh.Space, **options: Any) -> float:
    return float(eh.measure(model, space, **options).worst.estimate.value)


X = people()
Y = loan(X)
INCOME = X["age"] * 100.0 + np.where(X["sex"] == "M", 333.3, 0.0)
TREE = pipeline(DecisionTreeClassifier(random_state=0)).fit(X, Y)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(10, random_state=0),
        LogisticRegression(C=100),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("how", ["mean", "majority"])
def test_causal_scores_of_classifiers_are_zero(model, how):
    fitted = pipeline(model).fit(X, Y)
    even = Evened(fitted, SPACE, how=how)
    assert causal(fitted, SPACE) > 0
    result = eh.measure(even, SPACE, limit=0)
    assert result.worst.estimate.value == 0
    assert result.verdict == "pass"
    predicted = even.predict(X)
    accuracy = accuracy_score(Y, predicted)
    assert accuracy > 0.8
    assert even.score(X, Y) == accuracy
    assert set(predicted) <= {"yes", "no"}


@pytest.mark.parametrize(
    "model", [DecisionTreeRegressor(random_state=0), LinearRegression()]
)
def test_causal_scores_of_regressors_are_zero_to_the_last_digit(model):
    fitted = pipeline(model).fit(X, INCOME)
    even = Evened(fitted, SPACE)
    assert causal(fitted, SPACE) > 0.5
    assert causal(even, SPACE) == 0
    both = [fitted.predict(X.assign(sex=sex)) for sex in SEXES]
    mean = np.mean(both, axis=0)
    predicted = even.predict(X)
    assert np.allclose(predicted, mean, rtol=1e-8)
    assert even.score(X, INCOME) == r2_score(INCOME, predicted)


def test_rounding_does_not_depend_on_the_batch_or_on_what_cancels():
    rng = np.random.default_rng(0)
    sexes = rng.integers(0, 2, 5000)
    rows = np.column_stack([sexes, rng.normal(size=(5000, 6))])
    numbers = [eh.real(f"x{place}", -9, 9) for place in range(6)]
    space = eh.Space([eh.integer("sex", 0, 1), *numbers], protected=["sex"])
    coefficients = np.array([1.0, *rng.normal(size=6)])
    amounts = rows @ coefficients - 0.5
    model = LinearRegression().fit(rows, amounts)
    even = Evened(model, space)
    whole = even.predict(rows)
    part = even.predict(rows[7:])
    assert (part == whole[7:]).all()
    by_column = even.predict(np.asfortranarray(rows[11:]))
    assert (by_column == whole[11:]).all()
    # With one variant at 10 and one at -10, what is left of the mean is rounding alone.
    opposite = Evened(lambda frame: np.where(frame["sex"] == 1, 10.0 + 2e-15, -10.0), space)
    frame = pd.DataFrame(rows, columns=list(space.names))
    cancelled = opposite.predict(frame.astype({"sex": int}))
    assert cancelled[0] == 0


def test_several_features_taken_together_and_each_of_them():
    space = eh.Space(FEATURES, protected=["sex", "job"])
    even = Evened(TREE, space)
    assert even.cost == 6
    result = eh.measure(even, space, over=[("sex",), ("job",)])
    assert [finding.estimate.value for finding in result.findings] == [0, 0]
    assert causal(even, space, over=["sex", "job"]) == 0
    assert causal(Evened(TREE, space, over="sex"), space, over="job") > 0


def test_what_a_row_has_itself_is_never_looked_at():
    even = Evened(TREE, SPACE)
    predicted = even.predict(X)
    chances_of_rows = even.predict_proba(X)
    for sex in ("F", "M", "unknown", None):
        column = pd.Series([sex] * len(X), dtype=object)
        others = X.assign(sex=column)
        assert (even.predict(others) == predicted).all()
        assert (even.predict_proba(others) == chances_of_rows).all()


def test_rows_may_have_more_columns_and_values_than_the_space():
    wider = X.assign(age=X["age"] + 100, town="Y", job="pilot")
    even = Evened(
        lambda frame: np.where(frame["sex"] == "M", frame["job"] + frame["town"], "none"),
        SPACE,
    )
    assert set(even.predict(wider)) == {"none"}
    assert set(Evened(even.model, SPACE, weights={"M": 1}).predict(wider)) == {"pilotY"}


def test_where_all_variants_agree_the_label_of_the_model_stands():
    model = pipeline(LogisticRegression())
    cautious = FixedThresholdClassifier(model, threshold=0.9, pos_label="yes")
    cautious.fit(X, Y)
    of_women, of_men = (cautious.predict(X.assign(sex=sex)) for sex in SEXES)
    agree = of_women == of_men
    assert 0 < agree.sum() < len(X)
    even = Evened(cautious, SPACE)
    predicted = even.predict(X)
    assert (predicted[agree] == of_women[agree]).all()
    likeliest = even.predict_proba(X).argmax(axis=1)
    assert (even.classes_[likeliest] != predicted).any()


class Votes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of some function of the row; `shift` is how far labels are off the likeliest."""

    def __init__(self, labels: Any = ("c", "a", "b"), shift: int = 0) -> None:
        self.labels = labels
        self.shift = shift

    @property
    def classes_(self) -> Any:
        return np.array(self.labels)

    def fit(self, rows: Any, y: Any) -> Any:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, rows: Any) -> Any:
        likeliest = chances(rows).argmax(axis=1)
        return self.classes_[(likeliest + self.shift) % 3]


class Chances(Votes):
    """The same, telling the chances."""

    def predict_proba(self, rows: Any) -> Any:
        return chances(rows)


def codes(rows: Any) -> Any:
    """A number for each row, which any change of the row changes."""
    found = []
    for row in rows.to_numpy(dtype=object).tolist():
        text = repr(list(map(str, row)))
        found.append(zlib.crc32(text.encode()))
    return np.array(found)


def chances(rows: Any) -> Any:
    """Chances of three labels for each row."""
    numbers = codes(rows)
    parts = np.column_stack(
        [
            numbers % 8,
            numbers // 8 % 8,
            numbers // 64 % 8 + 1,
        ]
    )
    return parts / parts.sum(axis=1, keepdims=True)


def brute_force(
    model: Any,
    space: eh.Space,
    point: Any,
    weights: dict[Any, int],
    over: list[str],
    how: str,
) -> Any:
    """Return the label of one input, counted variant by variant."""
    own = dict(space.records(point[None])[0])
    records = [own | dict(zip(over, labels, strict=True)) for labels in weights]
    variants = space.encode(records)
    frame = space.decode(variants)
    valid = valid_over(space, variants, over)
    if not valid.any():
        valid[:] = True
    order = list(model.labels)
    votes: dict[Any, int] = defaultdict(int)
    scores = np.zeros(3)
    asked = zip(model.predict(frame), chances(frame), weights.values(), valid, strict=True)
    for label, chance, weight, counts in asked:
        if counts:
            votes[label] += weight
            scores += weight * chance
    best = list(votes)
    if how == "majority":
        most = max(votes.values())
        best = [label for label in votes if votes[label] == most]
    if hasattr(model, "predict_proba"):
        by_label = dict(zip(order, scores.tolist(), strict=True))
        top = max(by_label[label] for label in best)
        best = [label for label in best if by_label[label] > top - 1e-7]
    return min(best, key=order.index)


def valid_over(space: eh.Space, variants: Any, over: list[str]) -> Any:
    """Which variants keep the constraints on the features at issue."""
    constraints = []
    for constraint in space.constraints:
        parsed = Constraint.parse(str(constraint), space.features)
        if not set(over).isdisjoint(parsed.touches):
            constraints.append(constraint)
    return eh.Space(space.features, (), constraints).valid(variants)


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_labels_are_those_of_brute_force(data):
    space = data.draw(spaces(most=3, constrained=True))
    names = st.sampled_from(space.names)
    over = data.draw(st.lists(names, min_size=1, max_size=2, unique=True))
    models = [Chances(), Chances(shift=1), Votes(("b", "c", "a"))]
    model = data.draw(st.sampled_from(models))
    how = "majority"
    if hasattr(model, "predict_proba"):
        how = data.draw(st.sampled_from(["mean", "majority"]))
    features = [space.feature(name) for name in over]
    columns = [feature.labels(feature.values()) for feature in features]
    every = list(itertools.product(*columns))
    weights = dict.fromkeys(every, 1)
    given_weights = None
    if data.draw(st.booleans()):
        weights = {labels: data.draw(st.integers(1, 3)) for labels in every}
        given_weights = weights
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    columns_of_points = [rng.choice(feature.values(), 6) for feature in space.features]
    points = np.column_stack(columns_of_points)
    even = Evened(model, space, over, how=how, weights=given_weights)
    predicted = even.predict(space.decode(points))
    for point, label in zip(points, predicted.tolist(), strict=True):
        assert label == brute_force(model, space, point, weights, over, how)
    moved = points.copy()
    for feature in features:
        moved[:, space.index(feature.name)] = rng.choice(feature.values(), 6)
    assert (even.predict(space.decode(moved)) == predicted).all()


@settings(max_examples=examples(30), deadline=None)
@given(space=spaces(most=3), seed=st.integers(0, 99))
def test_numbers_are_the_mean_over_all_variants(space, seed):
    over = space.names[seed % len(space.names)]
    points = space.draw(5, np.random.default_rng(seed))

    def amount(rows: Any) -> Any:
        return codes(rows) / 7

    even = Evened(amount, space, over)
    predicted = even.predict(space.decode(points))
    variants_of_points = space.decode(space.variants(points, over))
    answers = amount(variants_of_points).reshape(-1, len(points))
    mean = answers.mean(axis=0)
    assert predicted == pytest.approx(mean, rel=1e-8)


def test_small_batches_give_the_same_answers(monkeypatch):
    space = eh.Space(
        FEATURES,
        ["sex", "age"],
        ["not (sex == 'M' and job == 'nurse')", "age > 20 or job == 'cook'"],
    )
    even = Evened(Chances(), space)
    some = X[:12]
    labels = even.predict(some)
    means = even.predict_proba(some)
    # With 86 assignments: several inputs at once, one, and less than one.
    for size in (500, 86, 30):
        monkeypatch.setattr(variants, "ROWS_AT_ONCE", size)
        assert (even.predict(some) == labels).all()
        assert (even.predict_proba(some) == means).all()


def test_variants_that_break_a_constraint_are_left_out():
    asked: list[pd.DataFrame] = []

    def model(frame: Any) -> Any:
        asked.append(frame)
        return np.where(frame["sex"] == "M", "man", "woman")

    space = eh.Space(
        FEATURES,
        ["sex"],
        ["not (sex == 'M' and job == 'nurse')", "not (sex == 'F' and job == 'smith')"],
    )
    frame = pd.DataFrame(
        {"sex": ["M", "F", "F"], "age": 30, "job": ["nurse", "smith", "cook"]}
    )
    assert Evened(model, space).predict(frame).tolist() == ["woman", "man", "man"]
    assert [(row.sex, row.job) for row in asked[0].itertuples()] == [
        ("F", "nurse"),
        ("F", "cook"),
        ("M", "smith"),
        ("M", "cook"),
    ]
    assert causal(Evened(TREE, space), space) == 0
    never = eh.Space(
        FEATURES,
        ["sex"],
        ["not (sex == 'M' and job == 'nurse')", "not (sex == 'F' and job == 'nurse')"],
    )
    assert Evened(model, never).predict(frame[:1]).tolist() == ["man"]
    refused(
        DataError,
        lambda: Evened(model, space).predict(frame.assign(job="pilot")),
        "'job' = 'pilot'",
    )


def test_functions_as_constraints_and_features_that_are_not_passed():
    space = eh.Space(
        FEATURES, ["sex"], [lambda frame: ~((frame["sex"] == "M") & (frame["age"] > 40))]
    )
    even = Evened(lambda frame: np.where(frame["sex"] == "M", 1, 0), space, how="mean")
    assert even.predict(
        pd.DataFrame({"sex": "F", "age": [30, 50], "job": "cook"})
    ).tolist() == [
        0.5,
        0,
    ]
    hidden = eh.Space(
        [*FEATURES, eh.category("race", ["a", "b"], passed=False)],
        ["sex", "race"],
        ["not (sex == 'M' and race == 'a')"],
    )
    assert Evened(TREE, hidden).cost == 2
    assert causal(Evened(TREE, hidden), hidden) == 0
    refused(UsageError, lambda: Evened(TREE, hidden, "race").predict(X), "not passed race")


def test_continuous_features_are_asked_at_the_middles_of_their_bins():
    space = eh.Space(
        [eh.real("age", 0, 90, bins=3), eh.integer("x", 0, 9)], protected=["age"]
    )
    even = Evened(lambda frame: frame["age"] + frame["x"], space)
    assert even.cost == 3
    assert even.predict(pd.DataFrame({"age": [1.5, 88.8], "x": [1, 1]})).tolist() == [
        46,
        46,
    ]
    assert causal(even, space) == 0
    refused(
        SpaceError,
        lambda: Evened(len, eh.Space([eh.real("age", 0, 1)]), "age").cost,
        "'age' is continuous",
    )
    many = eh.Space([eh.integer(name, 0, 1999) for name in "ab"])
    refused(SpaceError, lambda: Evened(len, many, ["a", "b"]).cost, "4,000,000 assignments")


def test_ties_go_to_the_first_label_where_there_are_no_scores():
    def answers(frame: Any) -> Any:
        return np.where(frame["sex"] == "F", "yes", "no")

    assert set(Evened(answers, SPACE).predict(X)) == {"no"}
    assert set(Evened(answers, SPACE, weights={"F": 2, "M": 1}).predict(X)) == {"yes"}
    assert set(Evened(answers, SPACE, weights={"F": 0.1 + 0.2, "M": 0.3}).predict(X)) == {
        "no"
    }
    assert Evened(lambda frame: frame["sex"] == "F", SPACE).predict(X[:2]).tolist() == [
        False,
        False,
    ]


def test_margins_decide_where_there_are_no_chances():
    machine = pipeline(LinearSVC()).fit(X, Y)
    even = Evened(machine, SPACE)
    margins = np.mean(
        [machine.decision_function(X.assign(sex=sex)) for sex in SEXES], axis=0
    )
    assert np.allclose(even.decision_function(X), margins)
    assert (even.predict(X) == np.where(margins > 0, "yes", "no")).all()
    assert not hasattr(even, "predict_proba")
    assert causal(even, SPACE) == 0


def test_chances_are_means_and_scores_are_even_too():
    even = Evened(TREE, SPACE)
    both = [TREE.predict_proba(X.assign(sex=sex)) for sex in SEXES]
    assert np.allclose(even.predict_proba(X), np.mean(both, axis=0))
    subject = eh.Subject(even, SPACE, output="score", positive="yes")
    assert causal(subject, SPACE) == 0


def test_weights_by_rows_count_what_was_trained_on():
    mostly = X[(X["sex"] == "M") | (X["age"] > 50)]
    model = pipeline(DecisionTreeRegressor(random_state=0))
    even = Evened(model, SPACE, weights="rows")
    refused(UsageError, lambda: even.predict(X), "is not fitted")
    men = mostly["sex"] == "M"
    even.fit(mostly, men)
    assert even.weights_.tolist() == [(~men).sum(), men.sum()]
    assert even.predict(X[:3]) == pytest.approx(men.mean(), rel=1e-8)
    model = pipeline(DecisionTreeRegressor())
    only = Evened(model, SPACE, ["sex", "job"], weights="rows")
    some = X[(X["sex"] == "F") | (X["job"] == "smith")]
    only.fit(some, some["age"])
    assert only.cost == 4
    only.set_params(over="sex")
    refused(UsageError, lambda: only.predict(X), "call fit again")
    prefit = Evened(TREE, SPACE, weights="rows")
    refused(UsageError, lambda: prefit.predict(X), "counts the rows of fit")


def test_weights_by_rows_of_a_continuous_feature_count_its_bins():
    space = eh.Space([eh.real("age", 0, 100, bins=[0, 10, 100])], protected=["age"])
    rows = pd.DataFrame({"age": [0.0, 9.9, 10.0, 50.0, 100.0]})
    even = Evened(LinearRegression(), space, weights="rows").fit(rows, rows["age"])
    assert even.weights_.tolist() == [2, 3]
    assert even.predict(rows) == pytest.approx((2 * 5 + 3 * 55) / 5)


def test_a_fitted_model_is_asked_as_it_is_and_fit_trains_a_copy():
    even = Evened(TREE, SPACE)
    check_is_fitted(even)
    before = even.predict(X)
    even.fit(X, np.where(Y == "yes", "no", "yes"))
    assert even.model is TREE
    assert (TREE.predict(X) == Y).mean() > 0.9
    assert (even.predict(X) != before).mean() > 0.8
    fresh = Evened(pipeline(LogisticRegression()), SPACE)
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)
    assert not hasattr(fresh, "classes_")
    refused(
        UsageError, lambda: fresh.predict(X), "Pipeline is not fitted", "call fit first"
    )
    weighted = fresh.fit(
        X, Y, logisticregression__sample_weight=np.where(Y == "yes", 1e-6, 1.0)
    )
    assert set(weighted.predict(X)) == {"no"}
    assert weighted.classes_.tolist() == ["no", "yes"]
    assert weighted.feature_names_in_.tolist() == list(SPACE.names)
    assert weighted.n_features_in_ == 3


def test_it_is_an_estimator_like_the_model_inside():
    classifier, regressor = Evened(TREE, SPACE), Evened(LinearRegression(), SPACE)
    assert (is_classifier(classifier), is_regressor(classifier)) == (True, False)
    assert (is_classifier(regressor), is_regressor(regressor)) == (False, True)
    assert not is_classifier(Evened(len, SPACE))
    assert not hasattr(Evened(len, SPACE), "score")
    copy = clone(Evened(TREE, SPACE, "job", how="majority", weights={"cook": 1}))
    assert (copy.over, copy.how, copy.weights, copy.space) == (
        "job",
        "majority",
        {"cook": 1},
        SPACE,
    )
    copy.set_params(model__decisiontreeclassifier__max_depth=1, weights=None)
    assert copy.fit(X, Y).model_[-1].get_depth() == 1
    assert "DecisionTreeClassifier" in repr(copy)


def test_inside_pipelines_searches_and_validation():
    outer = Pipeline(
        [
            ("as it is", FunctionTransformer()),
            ("even", Evened(pipeline(LogisticRegression()), SPACE)),
        ]
    )
    assert outer.fit(X, Y).score(X, Y) > 0.7
    assert causal(outer, SPACE) == 0
    grid = GridSearchCV(
        Evened(pipeline(DecisionTreeClassifier(random_state=0)), SPACE),
        {"how": ["mean", "majority"], "model__decisiontreeclassifier__max_depth": [1, 3]},
        scoring="roc_auc",
        cv=3,
    ).fit(X, Y)
    assert grid.best_params_["model__decisiontreeclassifier__max_depth"] == 3
    assert causal(grid, SPACE) == 0
    scores = cross_val_score(Evened(TREE, SPACE), X, Y, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.7


def as_polars(frame: pd.DataFrame) -> pl.DataFrame:
    return pl.DataFrame({name: frame[name].to_list() for name in frame})


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame.astype({"sex": "category"}),
        lambda frame: frame.astype({"sex": object}).set_index(
            pd.Index(["same"] * len(frame))
        ),
        as_polars,
        lambda frame: as_polars(frame).with_columns(pl.col("sex").cast(pl.Enum(SEXES))),
        lambda frame: as_polars(frame).lazy(),
    ],
    ids=["category", "index", "polars", "enum", "lazy"],
)
def test_frames_of_all_kinds(convert):
    predicted = Evened(TREE, SPACE).predict(X)
    frame = convert(X)
    seen: list[Any] = []

    def model(rows: Any) -> Any:
        seen.append(rows)
        return rows["age"].to_numpy() / 2 + (rows["sex"] == "M").to_numpy()

    assert Evened(model, SPACE).predict(frame) == pytest.approx(
        X["age"].to_numpy() / 2 + 0.5
    )
    given = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    assert type(seen[0]) is type(given)
    assert list(seen[0].dtypes) == list(given.dtypes)
    model_of = pipeline(DecisionTreeClassifier(random_state=0)).fit(given, Y)
    assert (Evened(model_of, SPACE).predict(frame) == predicted).all()
    space = eh.Space.from_frame(given, protected=["sex"])
    assert causal(Evened(model_of, space), space) == 0


def test_arrow_tables():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"sex": ["F", "M"], "age": [20, 30], "job": ["cook", "cook"]})
    even = Evened(
        lambda rows: [float(sex == "M") for sex in rows["sex"].to_pylist()], SPACE
    )
    assert even.predict(table).tolist() == [0.5, 0.5]


def test_arrays_have_the_columns_of_the_space():
    space = eh.Space(
        [eh.category("sex", [0, 1]), eh.integer("age", 18, 60)], protected=["sex"]
    )
    rows = np.column_stack([X["sex"] == "M", X["age"]]).astype(int)
    model = DecisionTreeClassifier(random_state=0).fit(rows, Y)
    even = Evened(model, space)
    assert even.n_features_in_ == 2
    assert not hasattr(even, "feature_names_in_")
    assert causal(model, space) > 0
    assert causal(even, space) == 0
    assert even.predict(rows.tolist()).tolist() == even.predict(rows).tolist()
    refused(DataError, lambda: even.predict(rows[:, :1]), "shape (400, 1)", "2 features")
    refused(
        DataError,
        lambda: Evened(model, SPACE).predict(np.ones((2, 3))),
        "holds numbers",
        "'F', 'M'",
    )
    refused(
        DataError,
        lambda: Evened(lambda frame: 0, space).predict(rows),
        "function of a frame",
    )


def test_short_texts_and_whole_numbers_in_arrays_are_not_cut():
    class Longest:
        def predict(self, rows: Any) -> Any:
            first = rows[:, 0]
            return (
                np.array([len(text) for text in first])
                if first.dtype.kind == "U"
                else first
            )

    words = eh.Space(
        [eh.category("sex", ["f", "woman"]), eh.category("job", ["a"])], protected=["sex"]
    )
    assert Evened(Longest(), words, how="mean").predict(
        np.array([["f", "a"]])
    ).tolist() == [3]
    halves = eh.Space(
        [eh.real("age", 0, 10, bins=2), eh.integer("x", 0, 1)], protected=["age"]
    )
    assert Evened(Longest(), halves).predict(np.array([[1, 1]])).tolist() == [5]
    constrained = eh.Space(words.features, ["sex"], ["job == 'a' or sex == 'f'"])
    assert Evened(Longest(), constrained, how="mean").predict(
        np.array([["f", "a"]])
    ).tolist() == [3]


def test_what_is_wrong_is_refused_in_one_sentence():
    def refused_with(
        *words: str, model: Any = TREE, space: Any = SPACE, rows: Any = X, **options: Any
    ) -> str:
        return refused(
            UsageError, lambda: Evened(model, space, **options).predict(rows), *words
        )

    refused_with("unknown feature 'sexx'", "did you mean 'sex'?", over="sexx")
    refused_with("no protected features", "over=…", space=eh.Space(FEATURES))
    refused_with("over is empty", over=[])
    refused_with("is not a Space", space={"sex": SEXES})
    refused_with("how = 'mode'", "'mean', 'majority'", how="mode")
    refused_with(
        "'majority' is for labels",
        model=pipeline(LinearRegression()).fit(X, INCOME),
        how="majority",
    )
    refused_with("no predict_proba", "how = 'majority'", model=Votes(), how="mean")
    refused_with("answers with texts", model=lambda frame: frame["sex"], how="mean")
    refused_with("is a class", model=DecisionTreeClassifier)
    refused_with("neither an estimator nor a function", model=3)
    refused_with("must be None, 'rows'", weights=[1, 2])
    refused_with("weights name 'X'", "valid choices are 'F', 'M'", weights={"X": 1})
    refused_with(
        "weights name ('F', 'cok')",
        "did you mean",
        over=["sex", "job"],
        weights={("F", "cok"): 1},
    )
    refused_with("weights are all zero", weights={"F": 0})
    several = DecisionTreeClassifier().fit(np.eye(3), np.eye(3))
    refused_with("several outputs", model=several)
    refused(
        DataError,
        lambda: Evened(TREE, SPACE).predict(X.drop(columns="sex")),
        "column 'sex' is not in the frame",
    )
    refused(DataError, lambda: Evened(TREE, SPACE).predict("rows"), "is not a dataframe")
    refused(
        BadOutcome, lambda: Evened(lambda frame: [1], SPACE).predict(X), "one per input"
    )
    refused(
        BadOutcome,
        lambda: Evened(lambda frame: np.full(len(frame), np.nan), SPACE).predict(X),
        "answered nan",
    )
    refused(UsageError, lambda: Evened(len, SPACE).fit(X, Y), "len has no fit")
    refused(
        UsageError, lambda: Evened(DecisionTreeClassifier, SPACE).fit(X, Y), "is a class"
    )
    refused(
        DataError, lambda: Evened(TREE, SPACE).fit(X.drop(columns="sex"), Y), "column 'sex'"
    )


def test_a_model_that_cannot_be_copied_is_refused_before_training():
    class Bare:
        def fit(self, rows: Any, y: Any) -> Any:
            raise AssertionError

        def predict(self, rows: Any) -> Any:
            return np.zeros(len(rows))

    refused(
        UsageError,
        lambda: Evened(Bare(), SPACE).fit(X, Y),
        "cannot be copied",
        "give Evened the fitted model",
    )


def test_pickles_keep_everything_and_do_not_change_with_use():
    space = eh.Space.from_frame(X.astype({"sex": "category"}), protected=["sex"])
    even = Evened(TREE, space, weights={("F",): 1, "M": 2})
    before = joblib.hash(even)
    predicted = even.predict(X)
    assert causal(even, space) == 0
    assert joblib.hash(even) == before
    again = pickle.loads(pickle.dumps(even))
    assert (again.predict(X) == predicted).all()
    assert again.space.layout == space.layout
    assert again.weights == even.weights


def test_a_ledger_knows_an_evened_model_again(tmp_path):
    even = Evened(TREE, SPACE)
    for executed in (True, False):
        with eh.Subject(even, SPACE, ledger=tmp_path / "even.ledger") as subject:
            assert causal(subject, SPACE) == 0
            assert (subject.executed > 0) is executed


def test_a_search_finds_nothing_in_an_evened_model():
    budget = eh.Budget(queries=2000)
    assert len(eh.search(TREE, SPACE, budget=budget).to_frame()) > 0
    assert len(eh.search(Evened(TREE, SPACE), SPACE, budget=budget).to_frame()) == 0
