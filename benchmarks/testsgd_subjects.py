"""The TestSGD authors' own networks (four of their eight) as subjects, with spaces over their
encoded data.

`NAME.csv.gz` holds the encoded rows, `NAME_model.npz` the six dense layers. The race flags of
compas are one feature of six levels here, which the subject turns into the flags that the network
takes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import evenhand as eh

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

BESIDE = Path(__file__).parents[2] / "shared" / "testsgd"
RACES = (
    "other_race",
    "Native American",
    "Asian",
    "African-American",
    "Caucasian",
    "Hispanic",
)
SENSITIVE: dict[str, dict[str, tuple[str, list[Any] | None]]] = {
    "census": {"a": ("age", None), "h": ("race", [0, 1, 2, 3, 4]), "i": ("sex", [0, 1])},
    "bank": {"a": ("age", None)},
    "credit": {"i": ("sex", [0, 1]), "m": ("age", None)},
    "compas": {
        "age_degree": ("age", None),
        "male": ("male", [0, 1]),
        "race": ("race", list(RACES)),
    },
}
"""Of each data set, the sensitive columns: what they are called here, and their levels where they
are categories.
"""


@dataclass(frozen=True)
class Network:
    """A dense network with ReLU between its layers; label 1 where the second of two logits is the
    larger.
    """

    layers: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]

    @classmethod
    def load(cls, name: str) -> Network:
        held = np.load(folder() / f"{name}_model.npz")
        names = ["linear", *(f"linear_{number}" for number in range(1, 6))]
        return cls(
            tuple((held[f"{layer}_kernel"], held[f"{layer}_bias"]) for layer in names)
        )

    def __call__(self, inputs: Any) -> NDArray[np.int64]:
        values = np.asarray(inputs, dtype=np.float32)
        for number, (kernel, bias) in enumerate(self.layers):
            values = values @ kernel + bias
            if number < len(self.layers) - 1:
                np.maximum(values, 0, out=values)
        return (values[:, 1] > values[:, 0]).astype(np.int64)


@dataclass(frozen=True)
class Data:
    """Rows, the space they lie in, and the network as a subject."""

    name: str
    rows: pd.DataFrame
    labels: NDArray[np.int64]
    space: eh.Space
    network: Network

    @property
    def subject(self) -> eh.Subject:
        return eh.Subject(self.decide, self.space, positive=1)

    def decide(self, people: pd.DataFrame) -> NDArray[np.int64]:
        return self.network(self.encoded(people))

    def encoded(self, people: pd.DataFrame) -> Matrix:
        """Return people as the matrix that the network takes."""
        if self.name != "compas":
            return np.asarray(people, dtype=np.float64)
        flags = (people["race"].to_numpy()[:, None] == np.array(RACES)).astype(float)
        others = people.drop(columns=["age", "male", "race"]).to_numpy(dtype=np.float64)
        return np.column_stack(
            [people[["age", "male"]].to_numpy(dtype=np.float64), flags, others]
        )


def folder() -> Path:
    """Return where the authors' files are; EVENHAND_TESTSGD may name another folder."""
    return Path(os.environ.get("EVENHAND_TESTSGD", BESIDE))


def load(name: str) -> Data:
    """Return one of the four data sets."""
    table = pd.read_csv(folder() / f"{name}.csv.gz")
    rows, labels = table.iloc[:, :-1], table.iloc[:, -1].to_numpy()
    if name == "compas":
        race = np.array(RACES)[rows[list(RACES)].to_numpy().argmax(axis=1)]
        rows = rows.drop(columns=list(RACES))
        rows.insert(2, "race", race)
    sensitive = SENSITIVE[name]
    rows = rows.rename(
        columns={column: called for column, (called, _) in sensitive.items()}
    )
    levels = dict(sensitive.values())
    features = [
        (
            eh.category(column, levels[column] or [])
            if levels.get(column)
            else eh.integer(column, int(rows[column].min()), int(rows[column].max()))
        )
        for column in rows.columns
    ]
    return Data(
        name, rows, labels, eh.Space(features, protected=list(levels)), Network.load(name)
    )
