"""Real data and real models, end to end: Adult, a pipeline on named text columns, pandas and polars
alike.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh


@pytest.fixture(scope="module")
def pipeline(adult):
    texts = [
        name for name in adult.features if adult.features[name].dtype in ("str", object)
    ]
    encode = make_column_transformer((OneHotEncoder(), texts), remainder="passthrough")
    model = make_pipeline(encode, DecisionTreeClassifier(max_depth=12, random_state=0))
    return model.fit(adult.features, adult.labels)


def test_the_space_holds_every_row_and_gives_it_back(adult):
    space = eh.Space.from_frame(adult.frame, adult.protected, target=adult.target)
    back = space.decode(space.encode(adult.frame))
    assert back.equals(adult.features)
    assert back.dtypes.tolist() == adult.features.dtypes.tolist()


def test_rows_are_decided_as_the_model_itself_decides_them(adult, pipeline):
    space = eh.Space.from_frame(adult.features, adult.protected)
    subject = eh.Subject(pipeline, space, positive=adult.positive)
    rows = adult.features.sample(2000, random_state=0)
    assert subject.decide(rows).tolist() == pipeline.predict(rows).tolist()


@pytest.mark.parametrize(
    "over", ["sex", pytest.param("race", marks=pytest.mark.slow), ["sex", "race"]]
)
def test_the_score_is_that_of_a_plain_experiment(adult, pipeline, over):
    """Flip the features by hand on a frame of the same population, without evenhand's variants."""
    space = eh.Space.from_frame(adult.features, adult.protected)
    found = eh.measure(
        pipeline, space, over=over, margin=0.01, level=0.999, seed=1
    ).worst.estimate

    people = space.decode(space.draw(20_000, np.random.default_rng(7)))
    base = pipeline.predict(people)
    flipped = np.zeros(len(people), dtype=bool)
    for sex in ["Female", "Male"] if "sex" in over else [None]:
        for race in sorted(adult.features["race"].unique()) if "race" in over else [None]:
            twin = people.assign(
                **{
                    name: value
                    for name, value in (("sex", sex), ("race", race))
                    if value is not None
                }
            )
            flipped |= pipeline.predict(twin) != base
    error = 4 * np.sqrt(flipped.mean() * (1 - flipped.mean()) / len(flipped))
    assert found.low - error <= flipped.mean() <= found.high + error


def test_polars_people_give_the_same_result(adult, pipeline):
    import polars as pl

    pandas_space = eh.Space.from_frame(adult.features, adult.protected)
    polars_space = eh.Space.from_frame(pl.from_pandas(adult.features), adult.protected)
    assert polars_space == pandas_space

    def asked(people):
        assert isinstance(people, pl.DataFrame)
        return pipeline.predict(people.to_pandas())

    same = eh.measure(asked, polars_space, over="sex", margin=0.02)
    assert (
        same.worst.estimate
        == eh.measure(pipeline, pandas_space, over="sex", margin=0.02).worst.estimate
    )
