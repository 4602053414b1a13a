"""The tables that mine and its rivals are measured on: Adult in items, planted groups, and a log of
many rows.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

import evenhand as eh

if TYPE_CHECKING:
    from numpy.typing import NDArray

BESIDE = Path(__file__).parents[2] / "shared" / "data"
QUARTERS = ("age", "education-num", "hours-per-week")
"""Numbers that are cut into four parts of about as many people each."""
RARE = ("capital-gain", "capital-loss")
"""Numbers that are 0 for most: there is some, or there is none."""
OUTCOME, ERROR = "income", "error"
PLANTED = {"a": ["a1"], "b": ["b2"]}
PLANTED_ROWS = 5_000
PLANTED_RATES = (0.2, 0.5)
"""How often the outcome comes about for everyone else, and for the planted group."""
LOGGED = ("age", "workclass", "education", "race", "sex")
"""The features of the log of many rows; age is a number there."""
CHUNK = 1_000_000


def adult() -> pd.DataFrame:
    """Return Adult as it is: from EVENHAND_DATA, beside the clone, or the package index."""
    beside = "EVENHAND_DATA" not in os.environ and (BESIDE / "adult.csv.gz").exists()
    return eh.datasets.load("adult", path=BESIDE if beside else None).frame


def items(people: pd.DataFrame) -> pd.DataFrame:
    """Return Adult in items, 117 of 13 columns; the outcome; and where a linear model errs.

    The weight of a row in the census (fnlwgt) is no feature of a person, and left out.
    """
    table = people.drop(columns=["fnlwgt", OUTCOME]).astype(object)
    for name in QUARTERS:
        parts = pd.qcut(people[name], 4, duplicates="drop")
        table[name] = parts.astype(str).astype(object)
    for name in RARE:
        table[name] = np.where(people[name] > 0, "some", "none")
    features = list(table)
    outcome = (people[OUTCOME] == ">50K").astype(int)
    encoded = OneHotEncoder().fit_transform(table[features])
    model = LogisticRegression(max_iter=1000).fit(encoded, outcome)
    table[OUTCOME] = outcome
    table[ERROR] = (model.predict(encoded) != outcome).astype(int)
    return table


def planted(seed: int) -> pd.DataFrame:
    """Return people with five features of four levels, and one group with another rate."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame()
    for name in "abcde":
        levels = [f"{name}{number}" for number in range(1, 5)]
        table[name] = rng.choice(levels, PLANTED_ROWS)
    inside = np.ones(PLANTED_ROWS, dtype=np.bool_)
    for name, values in PLANTED.items():
        inside &= table[name].isin(values).to_numpy()
    rates = np.where(inside, PLANTED_RATES[1], PLANTED_RATES[0])
    table[OUTCOME] = (rng.random(PLANTED_ROWS) < rates).astype(int)
    return table


def write_log(people: pd.DataFrame, path: Path, rows: int, seed: int = 0) -> None:
    """Write a log of many rows, drawn from Adult with replacement, as a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(seed)
    log = people[list(LOGGED)].assign(**{OUTCOME: (people[OUTCOME] == ">50K").astype(int)})
    whole = pa.Table.from_pandas(log, preserve_index=False)
    writer: Any
    with parquet.ParquetWriter(path, whole.schema) as writer:
        for start in range(0, rows, CHUNK):
            number = min(CHUNK, rows - start)
            drawn: NDArray[np.int64] = rng.integers(0, len(log), number)
            writer.write_table(whole.take(pa.array(drawn)))
