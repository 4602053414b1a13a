"""Dtypes that a person names: what they mean in each engine, and which are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand.runtime.errors import ConfigError, SpaceError
from evenhand.space.frames.dtypes import WORDS
from tests.support.helpers import refused

SPACE = eh.Space(
    [
        eh.category("sex", ["M", "F"]),
        eh.integer("age", 18, 90),
        eh.real("rate", 0, 1, step=0.1),
        eh.category("owns", [False, True]),
    ]
)
POINTS = SPACE.draw(50, np.random.default_rng(0))
NAMED = {"sex": "category", "age": "Int8", "rate": "float32", "owns": "boolean"}


def test_frames_have_the_dtypes_that_are_named():
    space = SPACE.typed(NAMED)
    frame = space.decode(POINTS)
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == NAMED
    assert list(frame["sex"].cat.categories) == ["M", "F"]  # in the order of the levels
    assert frame["age"].tolist() == SPACE.decode(POINTS)["age"].tolist()
    assert np.array_equal(space.encode(frame), POINTS)
    assert space == SPACE  # what an input can be is the same


def test_other_engines_have_dtypes_of_their_own():
    frame = SPACE.decode(POINTS)
    declared = {name: {"dtype": word} for name, word in NAMED.items()}
    of_polars = eh.Space.from_frame(pl.from_pandas(frame), features=declared)
    decoded = of_polars.decode(of_polars.encode(frame))
    assert decoded.schema["sex"] == pl.Enum(["F", "M"])
    assert decoded.schema["age"] == pl.Int8
    assert decoded["sex"].to_list() == frame["sex"].tolist()
    of_arrow = eh.Space.from_frame(pa.Table.from_pandas(frame), features=declared)
    table = of_arrow.decode(of_arrow.encode(frame))
    assert pa.types.is_dictionary(table.schema.field("sex").type)
    assert table.schema.field("rate").type == pa.float32()
    assert table.column("sex").to_pylist() == frame["sex"].tolist()


@pytest.mark.parametrize("word", WORDS)
def test_every_word_is_known_to_every_engine(word):
    from evenhand.space.frames.dtypes import dtype_of

    for engine in ("pandas", "polars", "pyarrow"):
        assert dtype_of(word, SPACE.features[0], engine) is not None


@pytest.mark.parametrize(
    ("dtypes", "words"),
    [
        ({"sx": "category"}, ["'sx'", "did you mean 'sex'"]),
        ({"sex": "categry"}, ["'sex'", "'categry'", "did you mean 'category'"]),
        ({"sex": "int64"}, ["'sex'", "'int64'", "'M', 'F'"]),
        ({"age": "bool"}, ["'age'", "'bool'", "18 to 90"]),
        ({"rate": "int8"}, ["'rate'", "'int8'", "0 to 1"]),
    ],
)
def test_dtypes_that_cannot_be_are_refused(dtypes, words):
    refused(SpaceError, lambda: SPACE.typed(dtypes), *words)


def test_a_number_of_too_many_values_has_no_categories():
    space = eh.Space([eh.real("rate", 0, 1)])
    refused(SpaceError, lambda: space.typed({"rate": "category"}), "levels = [...]")


def test_dtypes_in_a_configuration(tmp_path):
    data = pd.DataFrame(
        {
            "sex": ["F", "M"],
            "age": [20, 30],
        }
    )
    data.to_csv(tmp_path / "people.csv", index=False)
    file = tmp_path / "evenhand.toml"
    file.write_text(
        '[space]\nfrom = "people.csv"\n[space.features.sex]\ndtype = "category"\n'
        '[space.features.zip]\nlevels = ["1", "2"]\ndtype = "object"\n'
    )
    space = eh.Space.from_toml(file)
    frame = space.decode(space.draw(3, np.random.default_rng(0)))
    assert str(frame["sex"].dtype) == "category"
    assert frame["zip"].dtype == object
    file.write_text(
        '[space.features.sex]\nlevels = ["F", "M"]\ndtype = "int8"\n',
    )
    refused(ConfigError, lambda: eh.Space.from_toml(file), "evenhand.toml", "'int8'")
