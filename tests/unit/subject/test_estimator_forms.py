"""Estimators: what they say of their inputs, and how they take the weights of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from evenhand.subject.forms import form_of
from evenhand.subject.forms.catboost import catboost_form
from evenhand.subject.forms.estimators import (
    _innermost,
    _known,
    _steps,
    _taken,
    estimator_form,
    weight_keyword,
)
from evenhand.subject.forms.lightgbm import lightgbm_form
from evenhand.subject.forms.xgboost import xgboost_form
from evenhand.subject.model_form import ModelForm


class AnyKeyword:
    """An estimator that takes any keyword."""

    def fit(self, x: Any, y: Any, **more: Any) -> AnyKeyword:
        return self


@pytest.mark.parametrize(
    ("model", "keyword"),
    [
        (LogisticRegression(), "sample_weight"),
        (KNeighborsClassifier(), None),
        (AnyKeyword(), "sample_weight"),
        (GridSearchCV(LogisticRegression(), {}), "sample_weight"),
        (GridSearchCV(KNeighborsClassifier(), {}), None),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            "logisticregression__sample_weight",
        ),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), None),
        (
            GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {}),
            "logisticregression__sample_weight",
        ),
    ],
)
def test_the_keyword_is_that_of_the_last_estimator(model, keyword):
    assert weight_keyword(model) == keyword


def test_steps_that_do_nothing_are_left_out():
    scale, model = StandardScaler(), LogisticRegression()
    assert _steps(make_pipeline(scale, "passthrough", None, model)) == [scale, model]
    assert _steps(model) == [model]


# What estimators say of their inputs


TABLE = pd.DataFrame(
    {
        "sex": ["F", "M", "F", "M"] * 5,
        "town": ["a", "b", "c", "a"] * 5,
        "age": np.arange(20.0),
        "gain": np.arange(20.0)[::-1],
    }
)
GRANTED = np.arange(20) % 2


def test_a_model_trained_on_an_array_says_no_columns():
    model = LogisticRegression().fit(TABLE[["age", "gain"]].to_numpy(), GRANTED)
    assert estimator_form(model) == ModelForm(
        classes=(0, 1), takes_missing=False, library="sklearn"
    )


def test_a_model_trained_on_a_frame_says_its_columns():
    model = LogisticRegression().fit(TABLE[["gain", "age"]], GRANTED)
    assert estimator_form(model) == ModelForm(
        columns=("gain", "age"), classes=(0, 1), takes_missing=False, library="sklearn"
    )


def test_a_regressor_and_several_outputs_have_no_one_list_of_classes():
    numbers = TABLE[["age", "gain"]]
    regressor = LinearRegression().fit(numbers, GRANTED)
    assert estimator_form(regressor).classes is None
    tree = DecisionTreeClassifier().fit(numbers, np.column_stack([GRANTED, GRANTED]))
    assert isinstance(tree.classes_, list)
    assert estimator_form(tree).classes is None


def columns_of(transformers: list[Any], **options: Any) -> tuple[str, ...] | None:
    chosen = ColumnTransformer(transformers, **options)
    model = make_pipeline(chosen, LogisticRegression()).fit(TABLE, GRANTED)
    return estimator_form(model).columns


def test_columns_that_are_dropped_are_not_taken_and_those_that_pass_through_are():
    scaled = ("scaled", StandardScaler(), ["gain"])
    passed = ("passed", "passthrough", ["age"])
    dropped = ("dropped", "drop", ["sex"])
    assert columns_of([scaled]) == ("gain",)
    assert columns_of([scaled, passed, dropped]) == ("age", "gain")
    encoded = ("encoded", OneHotEncoder(), ["sex", "town"])
    assert columns_of([scaled, encoded], remainder="passthrough") == tuple(TABLE.columns)
    # What is used twice is one column.
    again = ("again", MinMaxScaler(), ["gain"])
    assert columns_of([scaled, again]) == ("gain",)


class OlderTransformer:
    """A ColumnTransformer of a version that keeps the words for steps that do nothing."""

    transformers_ = (("kept", "passthrough", ["b"]), ("gone", "drop", ["a"]))
    _transformer_to_input_indices: Any = {"kept": [1], "gone": [0]}  # noqa: RUF012


def test_columns_that_an_older_version_passes_through_are_taken():
    assert _taken(OlderTransformer(), ["a", "b", "c"]) == ["b"]


def test_only_the_first_step_chooses_among_the_columns_of_the_data():
    numbers = TABLE[["age", "gain"]]
    second = ColumnTransformer([("one", "passthrough", [0])])
    model = make_pipeline(StandardScaler(), second, LogisticRegression())
    assert estimator_form(model.fit(numbers, GRANTED)).columns == ("age", "gain")


def form_with(encoder: Any, columns: list[str], table: pd.DataFrame = TABLE) -> ModelForm:
    """Return the form of a pipeline that begins with an encoder."""
    model = make_pipeline(encoder, LogisticRegression())
    return estimator_form(model.fit(table[columns], GRANTED))


def test_an_encoder_that_comes_first_has_all_columns():
    form = form_with(OneHotEncoder(), ["town", "sex"])
    assert form.categories == {"town": ("a", "b", "c"), "sex": ("F", "M")}
    assert form.closed == {"town", "sex"}
    lenient = form_with(OneHotEncoder(handle_unknown="ignore"), ["town", "sex"])
    assert lenient.categories == form.categories
    assert lenient.closed == frozenset()


def test_an_encoder_has_columns_of_the_data_behind_what_fills_gaps_and_nothing_else():
    model = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(), LogisticRegression()
    )
    form = estimator_form(model.fit(TABLE[["sex"]], GRANTED))
    assert form.categories == {"sex": ("F", "M")}
    scaled = make_pipeline(
        StandardScaler(), OneHotEncoder(handle_unknown="ignore"), LogisticRegression()
    )
    assert estimator_form(scaled.fit(TABLE[["age"]], GRANTED)).categories == {}


def test_encoders_of_several_branches_are_all_found():
    chosen = ColumnTransformer(
        [
            ("gone", "drop", ["gain"]),
            ("first", OneHotEncoder(), ["sex"]),
            ("left", "passthrough", ["age"]),
            ("second", OneHotEncoder(handle_unknown="ignore"), ["town"]),
        ]
    )
    model = make_pipeline(chosen, LogisticRegression()).fit(TABLE, GRANTED)
    form = estimator_form(model)
    assert form.categories == {"sex": ("F", "M"), "town": ("a", "b", "c")}
    assert form.closed == {"sex"}


def test_a_missing_value_is_no_category():
    sex: list[Any] = ["F", None, "M", None] * 5
    form = form_with(OneHotEncoder(), ["sex"], TABLE.assign(sex=sex))
    assert form.categories == {"sex": ("F", "M")}


def test_an_encoder_of_other_columns_says_nothing_of_these():
    encoder = OneHotEncoder().fit(TABLE[["sex", "town"]])
    assert _known(encoder, ["sex"]) == {}
    assert _known(encoder, ["a", "b"]) == {"a": ("F", "M"), "b": ("a", "b", "c")}


def test_boosting_by_dtype_says_which_columns_were_categories():
    typed = TABLE[["age", "town"]].astype({"town": "category"})
    model = HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=2)
    form = estimator_form(model.fit(typed, GRANTED))
    assert form.dtypes == {"town": "category"}
    assert form.categories == {"town": ("a", "b", "c")}
    assert form.takes_missing is True
    numbers = model.fit(TABLE[["age", "gain"]], GRANTED)
    assert numbers.is_categorical_ is None
    assert estimator_form(numbers).dtypes == {}
    # Columns that were named as categories may have any dtype.
    coded = TABLE[["age"]].assign(town=[0, 1, 2, 0] * 5)
    named = HistGradientBoostingClassifier(max_iter=1, categorical_features=["town"])
    assert estimator_form(named.fit(coded, GRANTED)).dtypes == {}


def test_an_estimator_that_fails_to_describe_itself_says_nothing_of_gaps():
    class Failing:
        def __sklearn_tags__(self) -> Any:
            raise AttributeError("another version")

        def predict(self, rows: Any) -> Any:
            return rows

    assert estimator_form(Failing()).takes_missing is None


def test_what_is_wrapped_says_whether_it_takes_gaps():
    boosted = HistGradientBoostingClassifier(max_iter=1)
    search = GridSearchCV(boosted, {"max_iter": [1]}, cv=2)
    form = estimator_form(search.fit(TABLE[["age"]], GRANTED))
    assert form.takes_missing is True
    assert form.columns == ("age",)
    assert form.classes == (0, 1)


class Wrapper:
    """Keeps something inside that is no estimator."""

    estimator_: Any = "a text"

    def predict(self, rows: Any) -> Any:
        return rows


def test_only_an_estimator_inside_is_looked_into():
    wrapper = Wrapper()
    assert _innermost(wrapper) is wrapper
    model = LogisticRegression()
    wrapper.estimator_ = GridSearchCV(model, {})
    assert _innermost(wrapper) is wrapper.estimator_
    outer = Wrapper()
    outer.estimator_ = wrapper
    assert _innermost(outer) is wrapper.estimator_


# Boosters, in the words of their libraries


class XgboostModel:
    """What XGBoost's boosters say of themselves."""

    def __init__(self, names: Any, types: Any = None, kept: Any = None) -> None:
        self.feature_names = names
        self.feature_types = types
        self._kept = kept

    def get_categories(self, *, export_to_arrow: bool) -> Any:
        assert export_to_arrow
        return self

    def to_arrow(self) -> Any:
        if isinstance(self._kept, Exception):
            raise self._kept
        return self._kept


class Wrapped:
    """An estimator around a booster."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, booster: Any) -> None:
        self.booster_ = booster

    def get_booster(self) -> Any:
        return self.booster_


def test_types_of_xgboost_are_dtypes_of_pandas():
    names = ["a", "b", "c", "d", "e", "f"]
    types = ["c", "int", "i", "float", "q", "unheard of"]
    words = pa.array(["x", "y"])
    model = XgboostModel(names, types, [("a", words), ("b", None)])
    assert xgboost_form(model) == ModelForm(
        columns=("a", "b", "c", "d", "e", "f"),
        dtypes={"a": "category", "b": "int64", "c": "bool", "d": "float64", "e": "float64"},
        categories={"a": ("x", "y")},
        closed=frozenset({"a"}),
        takes_missing=True,
        library="xgboost",
    )


@pytest.mark.parametrize("kept", [None, [], ValueError("no pyarrow")])
def test_a_booster_of_xgboost_may_have_kept_nothing(kept):
    form = xgboost_form(XgboostModel(["a"], None, kept))
    assert form == ModelForm(columns=("a",), takes_missing=True, library="xgboost")


def test_a_booster_of_xgboost_without_names_says_its_classes_alone():
    without: tuple[Any, Any] = (None, [])
    for names in without:
        form = xgboost_form(Wrapped(XgboostModel(names)))
        expected = ModelForm(classes=("no", "yes"), takes_missing=True, library="xgboost")
        assert form == expected
    named = xgboost_form(Wrapped(XgboostModel(["a"])))
    assert named.columns == ("a",)
    assert named.classes == ("no", "yes")


def test_an_old_booster_of_xgboost_keeps_no_categories():
    class Old:
        feature_names = ("a",)
        feature_types = ("c",)

    form = xgboost_form(Old())
    assert form.categories == {}
    assert form.closed == frozenset()
    assert form.dtypes == {"a": "category"}


class LightgbmModel:
    """What LightGBM's boosters say of themselves."""

    def __init__(self, names: list[str], kept: Any, text: str = "") -> None:
        self._names = names
        self.pandas_categorical = kept
        self._text = text

    def feature_name(self) -> list[str]:
        return self._names

    def model_to_string(self, num_iteration: int) -> str:
        assert num_iteration == 1
        return self._text


def test_categories_of_lightgbm_are_in_the_order_of_the_columns():
    text = "tree\n[categorical_feature: 2,0]\nend"
    model = LightgbmModel(["a", "b", "c"], [["x", "y"], ["z"]], text)
    assert lightgbm_form(Wrapped(model)) == ModelForm(
        columns=("a", "b", "c"),
        dtypes={"a": "category", "c": "category"},
        categories={"a": ("x", "y"), "c": ("z",)},
        classes=("no", "yes"),
        takes_missing=True,
        library="lightgbm",
    )


@pytest.mark.parametrize(
    ("kept", "text"),
    [
        (None, "[categorical_feature: 0]"),
        ([], "[categorical_feature: 0]"),
        ([["x"]], "no such line"),
        ([["x"]], "[categorical_feature: 0,1]"),
    ],
)
def test_categories_of_lightgbm_that_are_not_certain_are_left_out(kept, text):
    form = lightgbm_form(LightgbmModel(["a", "b"], kept, text))
    assert form == ModelForm(columns=("a", "b"), takes_missing=True, library="lightgbm")


def test_names_of_lightgbm_s_own_are_no_names():
    own = LightgbmModel(["Column_0", "Column_1"], None)
    assert lightgbm_form(own) == ModelForm(takes_missing=True, library="lightgbm")
    mixed = LightgbmModel(["Column_0", "age"], None)
    assert lightgbm_form(mixed).columns == ("Column_0", "age")


class CatboostModel:
    """What CatBoost's models say of themselves."""

    def __init__(self, names: Any, classes: Any = ()) -> None:
        self.feature_names_ = names
        self.classes_ = classes

    def get_cat_feature_indices(self) -> list[int]:
        return [0]

    def get_text_feature_indices(self) -> list[int]:
        return [2]


def test_columns_of_catboost_that_are_neither_categories_nor_texts_are_numbers():
    model = CatboostModel(["a", "b", "c", "d"], np.array(["no", "yes"]))
    assert catboost_form(model) == ModelForm(
        columns=("a", "b", "c", "d"),
        dtypes={"b": "float64", "d": "float64"},
        classes=("no", "yes"),
        library="catboost",
    )
    assert catboost_form(CatboostModel(["a"])).classes is None


@pytest.mark.parametrize("names", [None, [], ["0", "1", "2"]])
def test_numbered_columns_of_catboost_have_no_names(names):
    model = CatboostModel(names, [0, 1])
    assert catboost_form(model) == ModelForm(classes=(0, 1), library="catboost")


def test_columns_of_catboost_that_begin_with_another_number_have_names():
    assert catboost_form(CatboostModel(["1", "2"])).columns == ("1", "2")


def test_a_model_is_read_by_the_library_of_its_class_or_of_what_that_is_derived_from():
    named = LightgbmModel(["age"], None)
    # Whatever keeps a booster of LightGBM is read as its estimators are.
    assert form_of(Wrapped(named)).library == "lightgbm"
    family = type("XGBModel", (XgboostModel,), {"__module__": "xgboost.sklearn"})
    derived = type("Mine", (family,), {"__module__": "mine"})
    assert form_of(derived(["a"])).library == "xgboost"
    cats = type("CatBoost", (CatboostModel,), {"__module__": "catboost.core"})
    assert form_of(cats(["a", "b"])) == catboost_form(CatboostModel(["a", "b"]))
    leaves = type("Booster", (LightgbmModel,), {"__module__": "lightgbm.basic"})
    assert form_of(leaves(["a"], None)).library == "lightgbm"
    assert form_of(LogisticRegression()).library == "sklearn"
