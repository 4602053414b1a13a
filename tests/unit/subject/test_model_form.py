"""A model is asked in the form it was trained in, whatever the data were read from."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import evenhand as eh
from evenhand.runtime.errors import DataError, SubjectCrashed, UsageError
from evenhand.subject.adapters.base import Adapter
from evenhand.subject.forms import form_of
from evenhand.subject.model_form import ModelForm, without_missing
from tests.support.boosted import LIBRARIES, as_csv, decided, fitted, people
from tests.support.helpers import refused

FRAME = people()
CSV = as_csv(FRAME)
SPACE = eh.Space.from_frame(CSV, protected=["sex"])
BIASED = decided(FRAME)


def encoded(*transformers, model=None):
    return make_pipeline(
        make_column_transformer(*transformers), model or LogisticRegression()
    )


def one_hot(**options):
    return encoded(
        (OneHotEncoder(**options), ["sex", "race"]), (StandardScaler(), ["hours a week"])
    )


def hidden_in(subject: eh.Subject) -> list[str]:
    return [feature.name for feature in subject.space.features if not feature.passed]


@pytest.mark.parametrize("library", LIBRARIES)
def test_data_read_as_text_are_given_in_the_categories_of_the_model(library):
    model = fitted(library, FRAME, BIASED)
    subject = eh.Subject(model, SPACE, positive=1)
    assert np.array_equal(subject.decide(CSV), model.predict(FRAME))
    found = eh.measure(subject, over="sex", sampler=eh.rows(CSV), limit=0.05)
    assert found.verdict == "fail"
    assert found.worst.estimate.value > 0.2


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_fair_twin_passes(library):
    model = fitted(library, FRAME, decided(FRAME, fair=True))
    subject = eh.Subject(model, SPACE, positive=1)
    found = eh.measure(subject, over="sex", sampler=eh.rows(CSV), limit=0.05)
    assert found.verdict == "pass"


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "sklearn"])
def test_categories_keep_the_order_of_the_model(library):
    # A frame with other codes for the same words: what is passed has those of the training.
    race = pd.Categorical(CSV["race"], categories=["A", "B", "W"])
    other = CSV.assign(race=race)
    space = eh.Space.from_frame(other, protected=["sex"])
    model = fitted(library, FRAME, BIASED)
    subject = eh.Subject(model, space)
    assert np.array_equal(subject.decide(other), model.predict(FRAME))
    form = subject.adapter.form()
    assert form.dtypes["race"] == "category"
    assert set(form.categories["race"]) == {"W", "B", "A"}
    if library != "sklearn":  # which sorts them
        assert form.categories["race"] == ("W", "B", "A")
    frame = subject.space.native(space.encode(other))
    assert tuple(frame["race"].cat.categories) == form.categories["race"]


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_data_of_another_engine_are_given_in_pandas(library):
    model = fitted(library, FRAME, BIASED)
    data = pl.from_pandas(CSV)
    subject = eh.Subject(model, eh.Space.from_frame(data))
    assert np.array_equal(subject.decide(data), model.predict(FRAME))


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "sklearn"])
def test_columns_that_the_model_does_not_take_are_not_passed(library):
    model = fitted(library, FRAME, BIASED)
    wider = CSV.assign(zip=np.arange(len(CSV)) % 7)
    space = eh.Space.from_frame(wider, protected=["sex"])
    subject = eh.Subject(model, space)
    assert hidden_in(subject) == ["zip"]
    assert np.array_equal(subject.decide(wider), model.predict(FRAME))
    # The space as it was given is taken for the subject's own.
    assert eh.measure(subject, subject.declared, over="sex").findings


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "sklearn"])
def test_other_columns_than_those_of_the_training_are_named(library):
    model = fitted(library, FRAME, BIASED)
    other = CSV.drop(columns=["gain", "race"]).assign(zip=1)
    space = eh.Space.from_frame(other)
    refused(
        UsageError,
        lambda: eh.Subject(model, space),
        "'race', 'gain'",
        "does not take 'zip', which the space does",
    )
    hidden = eh.Space.from_frame(CSV, not_passed=["sex"])
    refused(UsageError, lambda: eh.Subject(model, hidden), "'sex'", "passed = false")


def test_a_level_that_the_model_has_never_seen_is_named():
    space = eh.Space.from_frame(CSV, features={"race": {"levels": ["W", "B", "Z"]}})
    refused(
        UsageError,
        lambda: eh.Subject(fitted("xgboost", FRAME, BIASED), space),
        "'race' has the level 'Z'",
        "'W', 'B', 'A'",
        "levels = ['W', 'B']",
    )
    refused(
        UsageError,
        lambda: eh.Subject(one_hot().fit(FRAME, BIASED), space),
        "'Z'",
        "Pipeline",
    )


@pytest.mark.parametrize("library", ["lightgbm", "sklearn"])
def test_a_level_that_the_model_takes_for_missing_is_passed_so(library):
    space = eh.Space.from_frame(CSV, features={"race": {"levels": ["W", "B", "Z"]}})
    model = fitted(library, FRAME, BIASED)
    subject = eh.Subject(model, space)
    unknown = CSV.assign(race="Z")
    no_race = pd.Categorical([None] * len(FRAME), ["W", "B", "A"])
    missing = FRAME.assign(race=no_race)
    assert np.array_equal(subject.decide(unknown), model.predict(missing))
    # Other words for everything would be missing throughout, and no difference would be found.
    sex = CSV["sex"].replace({"M": "male", "F": "female"})
    words = CSV.assign(sex=sex)
    refused(
        UsageError,
        lambda: eh.Subject(model, eh.Space.from_frame(words)),
        "'female', 'male'",
        "it knows 'F', 'M'",
    )


def test_a_dtype_that_contradicts_the_model_is_refused():
    model = fitted("lightgbm", FRAME, BIASED)
    refused(
        UsageError,
        lambda: eh.Subject(model, SPACE.typed({"sex": "string"})),
        "'sex' has dtype = 'string'",
        "dtype = 'category'",
    )
    assert eh.Subject(model, SPACE.typed({"sex": "category", "gain": "float32"}))


def test_texts_where_the_model_takes_numbers_are_refused():
    numbers = FRAME.assign(sex=(FRAME["sex"] == "M").astype(int))
    model = fitted("xgboost", numbers, BIASED)
    refused(
        UsageError,
        lambda: eh.Subject(model, SPACE),
        "'sex' has the level 'F'",
        "numbers",
    )


# scikit-learn


def test_a_pipeline_needs_only_the_columns_that_it_uses():
    model = one_hot().fit(FRAME, BIASED)
    form = form_of(model)
    assert form.columns == ("hours a week", "sex", "race")
    assert form.classes == (0, 1)
    subject = eh.Subject(model, SPACE)
    assert hidden_in(subject) == ["gain"]
    assert np.array_equal(subject.decide(CSV), model.predict(FRAME))


@pytest.mark.parametrize(
    ("encoder", "closed"),
    [
        (OneHotEncoder(), True),
        (OneHotEncoder(handle_unknown="ignore"), False),
        (OrdinalEncoder(), True),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), True),
    ],
)
def test_the_categories_of_encoders(encoder, closed):
    model = encoded((encoder, ["sex", "race"]), (StandardScaler(), ["gain"]))
    frame = CSV.astype({"sex": object, "race": object})
    form = form_of(model.fit(frame, BIASED))
    assert form.categories == {
        "sex": ("F", "M"),
        "race": ("A", "B", "W"),
    }
    assert form.closed == ({"sex", "race"} if closed else frozenset())
    assert form.dtypes == {}  # an encoder does not ask for a dtype


def test_numbers_that_an_encoder_has_never_seen_are_named():
    frame = pd.DataFrame(
        {
            "rooms": [1, 2, 5] * 20,
            "age": range(60),
        }
    )
    model = encoded((OneHotEncoder(), ["rooms"]), (StandardScaler(), ["age"]))
    model.fit(frame, frame["rooms"] > 2)
    refused(
        UsageError,
        lambda: eh.Subject(model, eh.Space.from_frame(frame)),
        "'rooms' has the levels 3, 4",
        "levels = [1, 2, 5]",
    )
    space = eh.Space.from_frame(frame, features={"rooms": {"kind": "category"}})
    assert len(eh.Subject(model, space).decide(frame)) == 60


def test_what_is_wrapped_is_looked_into():
    model = GridSearchCV(one_hot(), {"logisticregression__C": [0.1, 1]}, cv=2)
    form = form_of(model.fit(FRAME, BIASED))
    assert form.columns == ("hours a week", "sex", "race")
    assert form.closed == {"sex", "race"}


def test_an_estimator_says_whether_it_takes_missing_values():
    x = FRAME[["gain"]]
    assert form_of(HistGradientBoostingClassifier().fit(x, BIASED)).takes_missing is True
    assert form_of(LogisticRegression().fit(x, BIASED)).takes_missing is False
    assert form_of(one_hot().fit(FRAME, BIASED)).takes_missing is None


def test_of_other_software_nothing_is_known():
    class Nothing:
        def predict(self, rows):
            return rows

    form = form_of(Nothing())
    assert form.columns is None
    assert form.classes is None
    assert form.takes_missing is None
    assert Adapter.form(object()) == ModelForm()  # type: ignore[arg-type]


# Missing values


ROW = np.arange(len(FRAME))
GAPPY = FRAME.assign(
    gain=FRAME["gain"].mask(ROW % 7 == 0),
    race=FRAME["race"].mask(ROW % 11 == 0),
)
GAPPY_CSV = as_csv(GAPPY)
GAPPY_SPACE = eh.Space.from_frame(GAPPY_CSV, protected=["sex"])
IS_WHOLE = GAPPY_CSV[["gain", "race"]].notna().all(axis=1).to_numpy()
"""Which rows lack nothing."""


def missing_in(subject):
    return [feature.name for feature in subject.space.features if feature.missing]


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "sklearn"])
def test_a_model_that_takes_gaps_is_given_them_and_its_bias_is_found(library):
    model = fitted(library, GAPPY, BIASED)
    subject = eh.Subject(model, GAPPY_SPACE, positive=1)
    assert missing_in(subject) == ["gain", "race"]
    assert subject.notes == []
    assert np.array_equal(subject.decide(GAPPY_CSV), model.predict(GAPPY))
    found = eh.measure(subject, over="sex", limit=0.05)
    assert found.verdict == "fail"
    assert found.worst.estimate.n == len(GAPPY)


def refusing(gaps):
    """A pipeline that refuses gaps in one column or in both."""
    words = (OneHotEncoder(), ["sex", "race"])
    hours = (StandardScaler(), ["hours a week"])
    # A scaler hands gaps on, which the regression refuses.
    scaler = StandardScaler() if "gain" in gaps else SimpleImputer()
    return encoded(words, hours, (scaler, ["gain"]))


@pytest.mark.parametrize("gaps", [["race"], ["gain", "race"]])
def test_a_model_that_refuses_gaps_gets_none_and_rows_with_some_are_left_out(gaps):
    model = refusing(gaps).fit(FRAME, BIASED)
    subject = eh.Subject(model, GAPPY_SPACE, positive=1)
    left = [name for name in ["gain", "race"] if name not in gaps]
    assert missing_in(subject) == left
    expected = int(GAPPY[gaps].notna().all(axis=1).sum())
    found = eh.measure(subject, over="sex", limit=0.05)
    assert found.verdict == "fail"
    assert found.worst.estimate.n == expected
    assert f"Pipeline refuses missing values of {', '.join(gaps)}" in found.notes[0]
    given = eh.measure(subject, over="sex", sampler=eh.rows(GAPPY_CSV))
    assert given.worst.estimate.n == expected
    assert f"the {expected:,} of 1,500 given rows without missing" in str(given)
    uniform = eh.measure(subject, over="sex", sampler=eh.uniform(), limit=0.05)
    assert uniform.verdict == "fail"
    budget = eh.Budget(queries=500)
    found = eh.search(subject, over="sex", start=GAPPY_CSV, budget=budget)
    assert len(found.to_frame())


def test_weights_and_records_are_left_out_with_their_rows():
    model = refusing(["gain", "race"]).fit(FRAME, BIASED)
    subject = eh.Subject(model, GAPPY_SPACE)
    weighted = eh.rows(GAPPY_CSV, weights=ROW)
    kept = weighted.complete(subject.space)
    assert len(kept) == IS_WHOLE.sum()
    assert kept.weights is not None
    weights = ROW[IS_WHOLE]
    shares = kept.weights / kept.weights.sum()
    assert np.allclose(shares, weights / weights.sum())
    records = GAPPY_CSV.head(20).to_dict("records")
    complete = eh.rows(records).complete(subject.space)
    assert len(complete) == IS_WHOLE[:20].sum()


def test_all_rows_left_out_is_an_error():
    model = refusing(["gain", "race"]).fit(FRAME, BIASED)
    subject = eh.Subject(model, GAPPY_SPACE)
    gaps = GAPPY_CSV[GAPPY_CSV["gain"].isna()]
    refused(
        DataError,
        lambda: eh.measure(subject, sampler=eh.rows(gaps)),
        "refuses missing",
    )


def test_a_function_that_refuses_gaps_gets_none():
    def strict(rows):
        if rows.isna().any(axis=None):
            raise ValueError("a gap")
        return rows["gain"] > 0

    assert missing_in(eh.Subject(strict, GAPPY_SPACE)) == []
    lenient = eh.Subject(lambda rows: rows["gain"] > 0, GAPPY_SPACE)
    assert missing_in(lenient) == ["gain", "race"]


def test_what_fails_without_a_gap_fails_when_it_is_asked():
    def broken(rows):
        raise ValueError("it fails")

    subject = eh.Subject(broken, GAPPY_SPACE)
    assert missing_in(subject) == ["gain", "race"]
    refused(SubjectCrashed, lambda: subject.decide(GAPPY_CSV), "it fails")


def test_an_array_has_nan_for_a_gap():
    numbers = GAPPY[["hours a week", "gain"]]
    model = HistGradientBoostingClassifier(max_iter=5).fit(numbers.to_numpy(), BIASED)
    subject = eh.Subject(model, eh.Space.from_frame(numbers))
    assert np.array_equal(subject.decide(numbers), model.predict(numbers.to_numpy()))


def test_a_note_names_levels_that_a_model_takes_for_unknown():
    space = eh.Space.from_frame(CSV, features={"race": {"levels": ["W", "B", "A", "Z"]}})
    found = eh.measure(fitted("lightgbm", FRAME, BIASED), space, over="sex")
    assert any("has never seen the level 'Z' of race" in note for note in found.notes)


def test_columns_are_found_by_the_names_of_the_data():
    form = form_of(fitted("lightgbm", FRAME, BIASED)).renamed(CSV.columns)
    assert form.columns == ("hours a week", "sex", "race", "gain")
    assert form.categories["race"] == ("W", "B", "A")


# What a form that is written by hand makes of a space


WORDS = ("F", "M")
PLAIN = eh.Space(
    [eh.category("sex", WORDS), eh.integer("hours a week", 0, 99), eh.real("gain", 0, 9)]
)
ALL_COLUMNS = ("sex", "hours a week", "gain")


def dtype_words(space):
    return {name: str(dtype) for name, dtype in space.layout.dtypes.items()}


def passed_in(space):
    return [feature.name for feature in space.features if feature.passed]


def test_a_space_that_has_the_form_already_is_kept():
    assert ModelForm().fitted(PLAIN, "m") is PLAIN
    assert ModelForm(columns=ALL_COLUMNS).fitted(PLAIN, "m") is PLAIN
    assert ModelForm(dtypes={"gain": "float64"}).fitted(PLAIN, "m") is PLAIN


def test_only_the_columns_of_the_model_are_passed_in_its_order():
    form = ModelForm(columns=("gain", "sex"))
    assert form.taken(PLAIN, "m") == ["gain", "sex"]
    assert ModelForm().taken(PLAIN, "m") is None
    fitted_space = form.fitted(PLAIN, "m")
    assert passed_in(fitted_space) == ["sex", "gain"]
    assert fitted_space.names == PLAIN.names
    assert passed_in(PLAIN) == list(ALL_COLUMNS)


def test_a_feature_that_is_not_passed_needs_no_form():
    space = eh.Space([eh.category("sex", WORDS, passed=False), eh.real("gain", 0, 9)])
    form = ModelForm(
        dtypes={"sex": "category"}, categories={"sex": ("X",)}, closed=frozenset({"sex"})
    )
    assert form.fitted(space, "m") is space
    assert form.notes(space, "m") == []
    assert ModelForm(columns=("gain",)).fitted(space, "m") is space


def test_a_column_of_categories_has_those_of_the_model_in_its_order():
    form = ModelForm(dtypes={"sex": "category"}, categories={"sex": ("M", "X", "F")})
    found = form.fitted(PLAIN, "m").layout.dtypes["sex"]
    assert found == pd.CategoricalDtype(["M", "X", "F"])
    assert list(found.categories) == ["M", "X", "F"]


def test_a_column_whose_categories_a_model_does_not_say_keeps_its_own():
    own = pd.CategoricalDtype(["M", "F"])
    frame = pd.DataFrame({"sex": pd.Series(["F", "M"], dtype=own)})
    space = eh.Space.from_frame(frame)
    form = ModelForm(dtypes={"sex": "category"})
    assert list(form.fitted(space, "m").layout.dtypes["sex"].categories) == ["M", "F"]
    # Without any, they are the levels of the space.
    levels = form.fitted(PLAIN, "m").layout.dtypes["sex"]
    assert list(levels.categories) == ["F", "M"]


def test_columns_that_a_model_says_nothing_of_keep_their_dtypes():
    space = PLAIN.typed({"gain": "float32"})
    form = ModelForm(dtypes={"sex": "category"})
    assert dtype_words(form.fitted(space, "m")) == {"sex": "category", "gain": "float32"}


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_of_another_engine_only_categories_are_kept_for_a_library_of_pandas(library):
    data = pl.DataFrame({"sex": ["F", "M"], "gain": [0.5, 1.5]})
    space = eh.Space.from_frame(data)
    form = ModelForm(dtypes={"sex": "category"}, library=library)
    layout = form.fitted(space, "m").layout
    assert layout.engine == "pandas"
    assert layout.dtypes == {"sex": pd.CategoricalDtype(["F", "M"])}


def test_another_engine_is_kept_for_other_libraries():
    space = eh.Space.from_frame(pl.DataFrame({"gain": [0.5, 1.5]}))
    form = ModelForm(columns=("gain",), library="sklearn")
    assert form.fitted(space, "m") is space
    assert space.layout.engine == "polars"
    frame = pd.DataFrame({"gain": np.array([0.5, 1.5], dtype=np.float32)})
    same = eh.Space.from_frame(frame)
    # Dtypes of pandas are kept in pandas.
    assert ModelForm(library="xgboost").fitted(same, "m") is same


@pytest.mark.parametrize(
    ("chosen", "trained", "fits"),
    [
        ("category", "category", True),
        ("string", "category", False),
        ("category", "int64", False),
        ("string", "bool", True),
    ],
)
def test_a_chosen_dtype_and_that_of_the_training_are_both_categories_or_neither(
    chosen, trained, fits
):
    space = PLAIN.typed({"sex": chosen})
    form = ModelForm(dtypes={"sex": trained})
    if fits:
        found = form.fitted(space, "m")
        assert dtype_words(found)["sex"] == chosen
        return
    refused(
        UsageError,
        lambda: form.fitted(space, "m"),
        f"feature 'sex' has dtype = {chosen!r}, and m was trained with {trained!r}",
    )


def test_a_dtype_of_the_data_gives_way_to_that_of_the_training():
    frame = pd.DataFrame({"rooms": pd.Categorical([1, 2, 3])})
    space = eh.Space.from_frame(frame)
    assert space.layout.chosen == frozenset()
    assert ModelForm(dtypes={"rooms": "int64"}).fitted(space, "m") is space


@pytest.mark.parametrize(
    ("word", "fits"), [("int64", False), ("float64", False), ("bool", True)]
)
def test_texts_are_refused_where_a_model_takes_numbers(word, fits):
    form = ModelForm(dtypes={"sex": word})
    if fits:
        assert form.fitted(PLAIN, "m") is PLAIN
        return
    refused(
        UsageError,
        lambda: form.fitted(PLAIN, "m"),
        "feature 'sex' has the level 'F', and m was trained with numbers there",
    )


def test_levels_that_are_numbers_are_taken_where_a_model_takes_numbers():
    space = eh.Space([eh.category("grade", [1, 2, 3])])
    assert ModelForm(dtypes={"grade": "int64"}).fitted(space, "m") is space


def test_an_open_model_must_know_one_level_and_a_closed_one_all():
    one_known = {"sex": ("F", "X")}
    none_known = {"sex": ("X",)}
    all_known = {"sex": ("M", "F")}
    closed = frozenset({"sex"})
    assert ModelForm(categories=all_known, closed=closed).fitted(PLAIN, "m") is PLAIN
    assert ModelForm(categories=one_known).fitted(PLAIN, "m") is PLAIN
    refused(
        UsageError,
        lambda: ModelForm(categories=one_known, closed=closed).fitted(PLAIN, "m"),
        "feature 'sex' has the level 'M', which m has never seen; it knows 'F', 'X': write"
        " levels = ['F'], or",
    )
    refused(
        UsageError,
        lambda: ModelForm(categories=none_known).fitted(PLAIN, "m"),
        "has the levels 'F', 'M', which m has never seen; it knows 'X': write levels = ['X'], or",
    )


def test_numbers_are_held_against_categories_up_to_a_thousand_of_them():
    closed = frozenset({"n"})
    form = ModelForm(categories={"n": (0, 1)}, closed=closed)
    thousand = eh.Space([eh.integer("n", 0, 999)])
    refused(
        UsageError,
        lambda: form.fitted(thousand, "m"),
        "has the levels 2, 3, 4, 5, 6, 7, 8, 9, … (998 in all), which",
        "write levels = [0, 1], or",
    )
    more = eh.Space([eh.integer("n", 0, 1000)])
    assert form.fitted(more, "m") is more
    assert form.notes(more, "m") == []
    # Levels are held against them however many there are.
    many = eh.Space([eh.category("n", [str(number) for number in range(1001)])])
    known = ModelForm(categories={"n": ("0",)}, closed=closed)
    refused(UsageError, lambda: known.fitted(many, "m"), "(1000 in all)")


def test_eight_names_are_listed_and_more_are_counted():
    columns = [f"c{number}" for number in range(9)]
    eight = refused(
        UsageError,
        lambda: ModelForm(columns=tuple(columns[:8])).taken(PLAIN, "m"),
        "columns",
    )
    assert "'c6', 'c7', which" in eight
    nine = refused(
        UsageError, lambda: ModelForm(columns=tuple(columns)).taken(PLAIN, "m"), "columns"
    )
    assert "'c6', 'c7', … (9 in all), which" in nine


def test_what_a_space_lacks_is_listed():
    message = refused(
        UsageError, lambda: ModelForm(columns=("sex", "gian")).taken(PLAIN, "m")
    )
    assert message == (
        "m was trained with column 'gian', which the space does not pass, and does not take"
        " 'hours a week', 'gain', which the space does; did you mean 'gain'? Valid choices are"
        " 'sex', 'hours a week', 'gain'"
    )
    two = refused(
        UsageError,
        lambda: ModelForm(columns=(*ALL_COLUMNS, "zip", "race")).taken(PLAIN, "m"),
    )
    assert two.startswith(
        "m was trained with columns 'zip', 'race', which the space does not pass; "
    )


def test_a_lacking_column_that_is_not_passed_is_named_before_those_that_are_not_there():
    space = eh.Space([eh.category("sex", WORDS, passed=False), eh.real("gain", 0, 9)])
    form = ModelForm(columns=("zip", "sex", "gain"))
    message = refused(UsageError, lambda: form.taken(space, "m"))
    assert message == (
        "m was trained with column 'sex', which the space does not pass; leave out passed = false"
        " of 'sex'"
    )
    # What the space does not pass is not offered either.
    other = ModelForm(columns=("zip",))
    message = refused(
        UsageError, lambda: other.taken(space, "m"), "does not take 'gain', which"
    )
    assert "'sex'" not in message


def test_notes_name_each_feature_with_levels_that_are_unknown():
    space = eh.Space([eh.category("sex", WORDS), eh.category("race", ["A", "B", "C"])])
    form = ModelForm(categories={"sex": ("F", "M"), "race": ("A",)})
    assert form.notes(space, "m") == [
        "m has never seen the levels 'B', 'C' of race, and takes such a value for unknown"
    ]
    both = ModelForm(categories={"sex": ("F",), "race": ("A", "B", "C")})
    assert both.notes(space, "m") == [
        "m has never seen the level 'M' of sex, and takes such a value for unknown"
    ]


def test_a_form_is_renamed_with_all_that_it_says():
    form = ModelForm(
        columns=("hours_a_week", "sex", "zip_code"),
        dtypes={"hours_a_week": "float64"},
        categories={"sex": ("F",), "hours_a_week": (1,)},
        closed=frozenset({"hours_a_week"}),
        classes=("no", "yes"),
    )
    found = form.renamed(["sex", "hours a week"])
    assert found == ModelForm(
        columns=("hours a week", "sex", "zip_code"),
        dtypes={"hours a week": "float64"},
        categories={"sex": ("F",), "hours a week": (1,)},
        closed=frozenset({"hours a week"}),
        classes=("no", "yes"),
    )
    nothing = ModelForm(classes=("no", "yes"))
    assert nothing.renamed(["sex"]) is nothing
    # A column of that very name comes before one that is written with spaces.
    exact = ModelForm(columns=("a_b",)).renamed(["a b", "a_b"])
    assert exact.columns == ("a_b",)


def test_features_of_a_space_that_are_never_missing():
    features = [
        eh.category("sex", WORDS, missing=True, twins_missing=True),
        eh.real("gain", 0, 9, missing=True),
    ]
    space = eh.Space(features)
    complete = without_missing(space, ["sex"])
    assert [feature.missing for feature in complete.features] == [False, True]
    assert [feature.twins_missing for feature in complete.features] == [False, False]
    assert complete.layout.complete == {"sex"}
    both = without_missing(complete, ["gain"])
    assert [feature.missing for feature in both.features] == [False, False]
    assert both.layout.complete == {"sex", "gain"}
