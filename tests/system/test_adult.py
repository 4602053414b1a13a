"""Real data and real models, end to end: Adult, a pipeline on text columns, pandas and polars."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh


@pytest.fixture(scope="module")
def pipeline(adult):
    features = adult.features
    texts = [name for name in features if features[name].dtype in ("str", object)]
    one_hot = (OneHotEncoder(), texts)
    encode = make_column_transformer(one_hot, remainder="passthrough")
    tree = DecisionTreeClassifier(max_depth=12, random_state=0)
    model = make_pipeline(encode, tree)
    return model.fit(features, adult.labels)


def test_the_space_holds_every_row_and_gives_it_back(adult):
    space = eh.Space.from_frame(adult.frame, adult.protected, target=adult.target)
    back = space.decode(space.encode(adult.frame))
    assert back.equals(adult.features)
    assert back.dtypes.tolist() == adult.features.dtypes.tolist()


def test_rows_are_decided_as_the_model_itself_decides_them(adult, pipeline):
    space = eh.Space.from_frame(adult.features, adult.protected)
    subject = eh.Subject(pipeline, space, positive=adult.positive)
    rows = adult.features.sample(2000, random_state=0)
    decided = subject.decide(rows)
    predicted = pipeline.predict(rows)
    assert decided.tolist() == predicted.tolist()


@pytest.mark.parametrize(
    "over", ["sex", pytest.param("race", marks=pytest.mark.slow), ["sex", "race"]]
)
def test_the_score_is_that_of_a_plain_experiment(adult, pipeline, over):
    """Flip the features by hand on a frame of the same population, without evenhand's variants."""
    space = eh.Space.from_frame(adult.features, adult.protected)
    result = eh.measure(
        pipeline,
        space,
        over=over,
        margin=0.01,
        level=0.999,
        sampler=eh.uniform(),
        seed=1,
    )
    estimate = result.worst.estimate

    points = space.draw(20_000, np.random.default_rng(7))
    people = space.decode(points)
    base = pipeline.predict(people)
    flipped = np.zeros(len(people), dtype=bool)
    sexes = ["Female", "Male"] if "sex" in over else [None]
    races = sorted(adult.features["race"].unique()) if "race" in over else [None]
    for sex, race in itertools.product(sexes, races):
        twin = people.copy()
        if sex is not None:
            twin["sex"] = sex
        if race is not None:
            twin["race"] = race
        flipped |= pipeline.predict(twin) != base
    share = flipped.mean()
    error = 4 * np.sqrt(share * (1 - share) / len(flipped))
    assert estimate.low - error <= share <= estimate.high + error


def test_polars_people_give_the_same_result(adult, pipeline):
    import polars as pl

    frame = pl.from_pandas(adult.features)
    pandas_space = eh.Space.from_frame(adult.features, adult.protected)
    polars_space = eh.Space.from_frame(frame, adult.protected)
    assert polars_space == pandas_space

    def asked(people):
        assert isinstance(people, pl.DataFrame)
        return pipeline.predict(people.to_pandas())

    of_polars = eh.measure(asked, polars_space, over="sex", margin=0.02)
    of_pandas = eh.measure(pipeline, pandas_space, over="sex", margin=0.02)
    assert of_polars.worst.estimate == of_pandas.worst.estimate
