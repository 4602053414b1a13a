"""Training again: copies of estimators, rows as the user gave them, and rows that are set apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.methods.repair.rows import LabelledRows, check_share, parted, split
from evenhand.methods.repair.training import Trainer
from evenhand.runtime.errors import DataError, EvenhandError, SubjectCrashed, UsageError
from evenhand.subject.forms.estimators import weight_keyword
from tests.support.helpers import examples, refused
from tests.support.strategies import spaces

ROWS = pd.DataFrame(
    {
        "sex": ["F", "M"] * 20,
        "age": np.arange(20, 60),
        "member": [True, False, False, True] * 10,
    }
)
SPACE = eh.Space.from_frame(ROWS, protected=["sex"])
TRUTH = np.array(["no", "yes"] * 20)
GRID = [[0.0], [1.0], [2.0], [3.0]]


class Changing(BaseEstimator):  # type: ignore[misc]
    """Does not keep its parameters as they are given, so that it cannot be cloned."""

    def __init__(self, sizes: Any = (1, 2)) -> None:
        self.sizes = list(sizes)

    def fit(self, X: Any, y: Any) -> Changing:  # noqa: N803
        return self


class Bare:
    """Has fit and predict and nothing else."""

    def fit(self, X: Any, y: Any) -> Bare:  # noqa: N803
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        return np.zeros(len(X))


class Plain(Bare):
    """Can be cloned, and knows nothing of scikit-learn."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {}

    def set_params(self, **_: Any) -> Plain:
        return self


class TestTrainer:
    def test_an_estimator_is_copied_and_never_trained_in_place(self):
        estimator = LogisticRegression()
        trainer = Trainer.of(estimator, 0)
        one, other = (trainer.fit(GRID, [0, 0, 1, 1]) for _ in range(2))
        assert one is not other
        assert not hasattr(estimator, "coef_")

    def test_a_fitted_estimator_keeps_what_it_learnt(self):
        fitted = DecisionTreeClassifier().fit(GRID, [0, 0, 0, 1])
        again = Trainer.of(fitted, 0).fit(GRID, [1, 1, 1, 0])
        assert fitted.predict(GRID).tolist() == [0, 0, 0, 1]
        assert again.predict(GRID).tolist() == [1, 1, 1, 0]

    def test_every_random_state_that_is_not_set_follows_the_seed(self):
        forest = Pipeline(
            [
                ("scale", StandardScaler()),
                ("forest", RandomForestClassifier(n_estimators=2)),
            ]
        )
        states = [
            Trainer.of(forest, seed).fit(GRID * 5, [0, 0, 1, 1] * 5)["forest"].random_state
            for seed in (0, 0, 1)
        ]
        assert states[0] == states[1] != states[2]
        assert forest["forest"].random_state is None

    def test_a_random_state_that_is_set_stays_so(self):
        assert (
            Trainer.of(DecisionTreeClassifier(random_state=7), 0)
            .fit(GRID, [0, 0, 1, 1])
            .random_state
            == 7
        )

    def test_a_generator_starts_where_it_was_for_each_training(self):
        state = np.random.RandomState(3)
        trainer = Trainer.of(RandomForestClassifier(n_estimators=3, random_state=state), 0)
        rows, truth = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
        one, other = (trainer.fit(rows, truth).predict_proba(rows) for _ in range(2))
        assert np.array_equal(one, other)
        assert state.randint(1000) == np.random.RandomState(3).randint(1000)

    @pytest.mark.parametrize(
        "estimator", [Changing(), Bare()], ids=lambda one: type(one).__name__
    )
    def test_what_cannot_be_cloned_is_refused_with_a_way_out(self, estimator):
        name = type(estimator).__name__
        refused(
            UsageError,
            lambda: Trainer.of(estimator, 0),
            name,
            "cannot be cloned",
            "pass a function fit(X, y)",
        )

    def test_a_class_of_the_users_own_that_can_be_cloned_will_do(self):
        trainer = Trainer.of(Plain(), 0)
        assert trainer.fit(GRID, [0, 0, 1, 1]).predict(GRID).tolist() == [0, 0, 0, 0]
        assert not trainer.regression
        assert trainer.weighted is None

    @pytest.mark.parametrize("estimator", [None, 5, "tree"])
    def test_what_cannot_be_trained_is_refused(self, estimator):
        refused(UsageError, lambda: Trainer.of(estimator, 0), repr(estimator), "fit(X, y)")

    def test_a_class_is_no_estimator(self):
        refused(
            UsageError,
            lambda: Trainer.of(LogisticRegression, 0),
            "LogisticRegression is a class",
            "Regression()",
        )

    @pytest.mark.parametrize("seed", ["x", -1, 1.5, None, True])
    def test_a_wrong_seed_is_not_blamed_on_the_estimator(self, seed):
        message = refused(
            UsageError,
            lambda: Trainer.of(DecisionTreeClassifier(), seed),
            f"seed = {seed!r}",
        )
        assert "cloned" not in message

    def test_a_regressor_is_known(self):
        assert Trainer.of(LinearRegression(), 0).regression
        assert Trainer.of(make_pipeline(StandardScaler(), LinearRegression()), 0).regression
        assert not Trainer.of(
            make_pipeline(StandardScaler(), LogisticRegression()), 0
        ).regression

    def test_a_training_that_crashes_is_reported_in_a_sentence(self):
        def train(rows, truth):
            raise ValueError("no\nmemory")

        message = refused(
            SubjectCrashed,
            lambda: Trainer.of(train, 0).fit(GRID, [0, 0, 1, 1]),
            "train",
            "ValueError",
        )
        assert "4 rows" in message
        # An estimator's own complaint, too: one class is too few.
        trainer = Trainer.of(LogisticRegression(), 0)
        refused(
            SubjectCrashed,
            lambda: trainer.fit(GRID, [0] * 4),
            "LogisticRegression raised ValueError",
        )

    def test_an_error_that_is_a_sentence_already_stays_as_it_is(self):
        def train(rows, truth):
            raise DataError("too few people")

        refused(
            DataError,
            lambda: Trainer.of(train, 0).fit(GRID, [0, 1, 0, 1]),
            "too few people",
        )

    @pytest.mark.parametrize("model", [None, 3, {"weights": [1]}])
    def test_a_function_must_return_a_model(self, model):
        refused(
            UsageError,
            lambda: Trainer.of(lambda X, y: model, 0).fit(GRID, [0] * 4),  # noqa: N803
            "cannot predict",
        )


class TestRowWeights:
    @pytest.mark.parametrize(
        ("model", "keyword"),
        [
            (LogisticRegression(), "sample_weight"),
            (KNeighborsClassifier(), None),
            (
                make_pipeline(StandardScaler(), LogisticRegression()),
                "logisticregression__sample_weight",
            ),
            (make_pipeline(StandardScaler(), KNeighborsClassifier()), None),
            (
                Pipeline([("a", Pipeline([("b", DecisionTreeClassifier())]))]),
                "a__b__sample_weight",
            ),
            (GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1]}), None),
            (
                GridSearchCV(make_pipeline(DecisionTreeClassifier()), {}),
                "decisiontreeclassifier__sample_weight",
            ),
        ],
        ids=str,
    )
    def test_weights_reach_the_step_that_takes_them(self, model, keyword):
        assert weight_keyword(model) == keyword
        trainer = Trainer.of(model, 0)
        if keyword is None:
            refused(
                UsageError,
                trainer.need_weights,
                trainer.name,
                "takes no sample_weight",
                "LogisticRegression()",
            )
            return
        trainer.need_weights()
        # Rows of no weight are as if they were not there.
        rows, truth = np.array(GRID * 6), np.array([0, 1] * 12)
        truth[12:] = (rows[12:, 0] > 1).astype(int)
        heavy = np.repeat([0.0, 1.0], 12)
        assert trainer.fit(rows, truth, heavy).predict(GRID).tolist() == [0, 0, 1, 1]

    def test_a_function_takes_weights_by_name(self):
        def train(rows, truth, sample_weight=None):
            got.append(sample_weight)
            return lambda frame: frame

        got: list[Any] = []
        trainer = Trainer.of(train, 0)
        trainer.fit(GRID, [0] * 4, np.arange(4.0))
        trainer.fit(GRID, [0] * 4)
        assert got[0].tolist() == [0, 1, 2, 3]
        assert got[1] is None
        refused(UsageError, Trainer.of(lambda X, y: None, 0).need_weights, "sample_weight")  # noqa: N803

    @pytest.mark.parametrize(
        "weights",
        ["heavy", [1], -np.ones(40), np.zeros(40), np.full(40, np.nan), ["a"] * 40, 3],
    )
    def test_weights_that_are_none_are_refused(self, weights):
        refused(
            DataError,
            lambda: LabelledRows.of(ROWS, TRUTH, SPACE, weights),
            "sample_weight",
            "40 rows",
        )

    def test_generated_rows_weigh_as_much_as_the_mean_or_as_given(self):
        data = LabelledRows.of(ROWS, TRUTH, SPACE, np.arange(1.0, 41.0))
        for given_, weights in ((None, [20.5, 20.5]), (np.array([3.0, 4.0]), [3, 4])):
            joined = data.joined(data.points[:2], TRUTH[:2], given_)
            assert np.array_equal(joined.weights, [*range(1, 41), *weights])  # type: ignore[arg-type]
        assert (
            LabelledRows.of(ROWS, TRUTH, SPACE).joined(data.points[:2], TRUTH[:2]).weights
            is None
        )


ENGINES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda f: pl.from_pandas(f).to_arrow(),
}


class TestRows:
    @settings(max_examples=examples(40))
    @given(spaces(constrained=True), st.integers(0, 99))
    def test_generated_rows_look_like_the_users_and_mean_the_points_they_were_made_of(
        self, space, seed
    ):
        rng = np.random.default_rng(seed)
        points, more = space.draw(8, rng), space.draw(5, rng)
        frame = space.decode(points)
        data = LabelledRows.of(frame, np.arange(8) % 2, space)
        assert data.native.equals(frame)
        joined = data.joined(more, np.zeros(5, dtype=int))
        assert joined.native.dtypes.equals(frame.dtypes)
        assert np.array_equal(space.encode(joined.native), np.concatenate([points, more]))
        assert np.array_equal(joined.points, np.concatenate([points, more]))
        assert joined.truth.tolist() == [0, 1] * 4 + [0] * 5
        assert len(joined.native) == len(joined) == 13

    @pytest.mark.parametrize("engine", ENGINES)
    def test_any_dataframe_comes_out_as_it_came_in(self, engine):
        frame = ENGINES[engine](ROWS)
        data = LabelledRows.of(frame, TRUTH, SPACE)
        assert type(data.native) is type(frame)
        joined = data.take(np.arange(3)).joined(data.points[3:5], TRUTH[3:5])
        expected = ENGINES[engine](ROWS.iloc[:5])
        assert type(joined.native) is type(frame)
        assert joined.native.equals(expected)

    @pytest.mark.parametrize("dtype", ["category", "string", object])
    def test_dtypes_of_texts_are_kept(self, dtype):
        frame = ROWS.assign(sex=ROWS["sex"].astype(dtype), age=ROWS["age"].astype("int16"))
        space = eh.Space.from_frame(frame, protected=["sex"])
        joined = LabelledRows.of(frame, TRUTH, space).joined(
            space.encode(frame)[:4], TRUTH[:4]
        )
        assert joined.native.dtypes.equals(frame.dtypes)
        assert joined.native["sex"].tolist()[-4:] == ["F", "M", "F", "M"]

    def test_arrays_stay_arrays_of_their_type(self):
        for array in (
            ROWS[["age"]].assign(sex=[0, 1] * 20).to_numpy(),
            ROWS[["age", "sex"]].to_numpy(dtype=object),
        ):
            sex = (
                eh.category("sex", ["F", "M"])
                if array.dtype == object
                else eh.integer("sex", 0, 1)
            )
            space = eh.Space([eh.integer("age", 20, 59), sex], protected=["sex"])
            data = LabelledRows.of(array, TRUTH, space)
            joined = data.joined(data.points[:3], TRUTH[:3])
            assert joined.native.dtype == array.dtype
            assert np.array_equal(joined.native, np.concatenate([array, array[:3]]))

    def test_an_array_needs_a_column_for_each_feature(self):
        refused(
            DataError,
            lambda: LabelledRows.of(np.ones((4, 2)), [0] * 4, SPACE),
            "(4, 2)",
            "3 features",
        )
        refused(
            DataError,
            lambda: LabelledRows.of(np.ones(4), [0] * 4, SPACE),
            "(4,)",
            "3 features",
        )

    def test_columns_may_stand_in_any_order_and_are_asked_for_in_that(self):
        """A function that goes by the places of columns must see the same ones when it is trained
        and when asked.
        """
        turned = ROWS[["member", "age", "sex"]]
        data = LabelledRows.of(turned, TRUTH, SPACE)
        assert data.native.equals(turned)
        seen: list[Any] = []

        def model(frame: Any) -> Any:
            seen.append(frame)
            return [True] * len(frame)

        eh.Subject(model, data.space).decide(data.points)
        assert seen[0].equals(turned)
        assert data.alike(ROWS, TRUTH).native.equals(turned)
        assert np.array_equal(data.alike(ROWS, TRUTH).points, data.points)

    def test_features_that_the_model_is_not_passed_are_left_out(self):
        space = eh.Space.from_frame(ROWS, protected=["sex"], not_passed=["sex"])
        data = LabelledRows.of(ROWS, TRUTH, space)
        assert list(data.native.columns) == ["age", "member"]
        assert data.points.shape == (40, 3)
        assert list(data.joined(data.points[:2], TRUTH[:2]).native.columns) == [
            "age",
            "member",
        ]
        array = LabelledRows.of(ROWS.to_numpy(), TRUTH, space)
        assert array.native.shape == (40, 2)

    def test_outcomes_may_be_a_column_of_the_rows(self):
        for frame in (ROWS.assign(ok=TRUTH), pl.from_pandas(ROWS.assign(ok=TRUTH))):
            data = LabelledRows.of(frame, "ok", SPACE)
            assert data.truth.tolist() == TRUTH.tolist()
            assert "ok" not in data.native.columns
        message = refused(
            DataError,
            lambda: LabelledRows.of(ROWS.assign(okay=TRUTH), "ok", SPACE),
            "y = 'ok'",
        )
        assert "did you mean 'okay'?" in message

    def test_a_frame_must_have_the_features_and_nothing_else(self):
        refused(
            DataError,
            lambda: LabelledRows.of(ROWS.assign(height=1), TRUTH, SPACE),
            "'height'",
            "not a feature",
        )
        refused(
            DataError,
            lambda: LabelledRows.of(ROWS.drop(columns="age"), TRUTH, SPACE),
            "'age'",
        )
        refused(
            DataError,
            lambda: LabelledRows.of(ROWS.assign(age=999), TRUTH, SPACE),
            "999",
            "20 to 59",
        )

    @pytest.mark.parametrize("space", ["sex", 5, {"sex": ["F", "M"]}])
    def test_a_space_must_be_one(self, space):
        refused(
            UsageError,
            lambda: LabelledRows.of(ROWS, TRUTH, space),
            repr(space),
            "not a Space",
        )

    def test_without_a_space_it_is_reported_how_to_make_one(self):
        refused(
            UsageError,
            lambda: LabelledRows.of(ROWS, TRUTH, None),
            "space is None",
            "Space.from_frame",
        )

    @pytest.mark.parametrize("dtype", [int, float, bool, str, object])
    def test_labels_are_the_users_own(self, dtype):
        given_ = np.array([0, 1] * 20).astype(dtype)
        for labels in (given_, pd.Series(given_), given_.tolist(), given_[:, None]):
            data = LabelledRows.of(ROWS, labels, SPACE)
            assert data.truth.tolist() == given_.tolist()
            assert type(data.truth.tolist()[0]) is type(given_.tolist()[0])
            assert (
                data.joined(data.points[:2], data.truth[:2]).truth.dtype == data.truth.dtype
            )

    @pytest.mark.parametrize(
        "labels",
        [
            pd.Series(["yes", None] * 20),
            pd.Series(["yes", np.nan] * 20, dtype=object),
            ["yes", float("nan")] * 20,
            [1.0, float("nan")] * 20,
            np.array([1.0, np.nan] * 20),
            np.array(["yes", None] * 20, dtype=object),
            pd.Series([1, None] * 20, dtype="Int64"),
            pl.Series([1, None] * 20),
        ],
        ids=lambda labels: f"{type(labels).__module__}-{type(labels[0]).__name__}",
    )
    def test_a_missing_outcome_never_becomes_a_label(self, labels):
        refused(
            DataError,
            lambda: LabelledRows.of(ROWS, labels, SPACE),
            "y has 20 missing values",
        )

    def test_outcomes_of_two_kinds_are_refused(self):
        refused(
            DataError,
            lambda: LabelledRows.of(ROWS, ["yes", 0] * 20, SPACE),
            "both texts and other values",
        )

    @pytest.mark.parametrize("labels", [None, {"ok": 1}])
    def test_outcomes_are_needed(self, labels):
        refused(UsageError, lambda: LabelledRows.of(ROWS, labels, SPACE), "y is missing")

    @pytest.mark.parametrize("labels", [5, [1, 0], np.ones((40, 2)), [[1, 0]] * 40])
    def test_each_row_has_one_outcome(self, labels):
        refused(
            DataError,
            lambda: LabelledRows.of(ROWS, labels, SPACE),
            "40 rows",
            "one outcome for each row",
        )


class TestSettingApart:
    @settings(max_examples=examples(200))
    @given(
        st.lists(st.sampled_from("abc"), min_size=2, max_size=60),
        st.floats(0.05, 0.95),
        st.integers(0, 50),
        st.booleans(),
    )
    def test_rows_are_parted_with_none_lost_and_each_outcome_alike(
        self, labels, share, seed, stratify
    ):
        truth = np.array(labels)
        if not 0 < np.floor(len(truth) * share) < len(truth):
            refused(
                DataError,
                lambda: parted(truth, share, seed, "test", stratify=stratify),
                "too few",
                f"{share:g}",
            )
            return
        kept, apart = parted(truth, share, seed, "test", stratify=stratify)
        assert sorted([*kept.tolist(), *apart.tolist()]) == list(range(len(truth)))
        assert abs(len(apart) - share * len(truth)) <= 1
        if stratify:
            for label in np.unique(truth):
                assert (
                    abs(np.sum(truth[apart] == label) - share * np.sum(truth == label))
                    <= 1 + 1e-9
                )
        again = parted(truth, share, seed, "test", stratify=stratify)
        assert np.array_equal(kept, again[0])
        assert np.array_equal(apart, again[1])

    def test_who_is_set_apart_is_chance_and_follows_seed_and_name(self):
        truth = np.array(["a", "b"] * 100)
        found = set()
        for seed in range(2):
            for name in ("test", "validation"):
                _, apart = parted(truth, 0.3, seed, name, stratify=True)
                found.add(tuple(apart.tolist()))
        assert len(found) == 4
        # Every row is as likely as any other to be set apart.
        often = np.zeros(200)
        for seed in range(300):
            often[parted(truth, 0.3, seed, "test", stratify=True)[1]] += 1
        assert often.sum() == 300 * 60
        assert abs(often - 90).max() < 5 * np.sqrt(300 * 0.3 * 0.7)

    def test_rows_are_in_one_part_each(self):
        data = LabelledRows.of(ROWS, TRUTH, SPACE, np.arange(40.0))
        parts = split(data, 0.25, 0.2, 0, stratify=True)
        ages = [set(part.native["age"]) for part in parts]
        assert [len(part) for part in parts] == [24, 6, 10]
        assert set.union(*ages) == set(ROWS["age"])
        for part in parts:
            assert (part.native["age"] - 20 == part.weights).all()
            assert (part.truth == TRUTH[part.native["age"] - 20]).all()

    def test_rows_held_out_by_the_user_are_left_alone(self):
        data = LabelledRows.of(ROWS[["age", "sex", "member"]], TRUTH, SPACE)
        train, valid, held = split(
            data, (ROWS.iloc[:7].assign(ok=TRUTH[:7]), "ok"), 0.2, 0, stratify=True
        )
        assert [len(part) for part in (train, valid, held)] == [32, 8, 7]
        assert held.native.equals(ROWS.iloc[:7][["age", "sex", "member"]])
        assert np.array_equal(held.points, data.points[:7])

    def test_outcomes_of_held_out_rows_must_be_those_of_the_others(self):
        data = LabelledRows.of(ROWS, [0, 1] * 20, SPACE)
        message = refused(
            DataError,
            lambda: split(data, (ROWS, ["0", "1"] * 20), 0.2, 0, stratify=True),
            "test",
            "'0' is not an outcome",
        )
        assert "did you mean 0?" in message

    @pytest.mark.parametrize("test", [(), (ROWS,), (ROWS, TRUTH, TRUTH)])
    def test_held_out_rows_are_two_things(self, test):
        data = LabelledRows.of(ROWS, TRUTH, SPACE)
        refused(
            UsageError, lambda: split(data, test, 0.2, 0, stratify=True), "test", "(X, y)"
        )

    @pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, True, "half", None, float("nan")])
    def test_a_share_lies_between_0_and_1(self, share):
        refused(
            UsageError,
            lambda: check_share("validate", share),
            f"validate = {share!r}",
            "0.2",
        )


class Named(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Goes by the names of columns, and does not note them."""

    def fit(self, X: Any, y: Any) -> Named:  # noqa: N803
        self.classes_ = np.unique(y)
        self.middle_ = X["age"].mean()
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        return self.classes_[(X["age"] > self.middle_).to_numpy().astype(int)]


@pytest.mark.parametrize("engine", ["pandas", "polars"])
def test_an_estimator_that_was_trained_on_a_frame_is_asked_with_one(engine):
    data = LabelledRows.of(ENGINES[engine](ROWS), TRUTH, SPACE)
    model = data.fitted(Trainer.of(Named(), 0))
    assert list(model.feature_names_in_) == ["sex", "age", "member"]
    assert (
        eh.Subject(model, data.space).decide(data.points).tolist()
        == ["no"] * 20 + ["yes"] * 20
    )


def test_errors_are_those_of_the_package():
    with pytest.raises(EvenhandError):
        LabelledRows.of("rows", TRUTH, SPACE)
