"""The rows and trained networks of the authors of TestSGD, where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenhand.scores.neighbours import Neighbours
from evenhand.space.feature import integer
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.paths import ROOT

BESIDE = ROOT.parent / "shared" / "testsgd"


def published(name: str) -> Path:
    """Return a file of theirs, or skip the test with the reason."""
    path = Path(os.environ.get("EVENHAND_TESTSGD") or BESIDE) / name
    if not path.exists():
        pytest.skip(f"needs {name} in EVENHAND_TESTSGD or ../shared/testsgd")
    return path


class Authors:
    """One of the networks of the authors of TestSGD, with their rows."""

    def __init__(self, name: str, sensitive: list[int]) -> None:
        frame = pd.read_csv(published(f"{name}.csv.gz")).iloc[:, :-1]
        self.rows = np.asfortranarray(frame.to_numpy(dtype=np.float64))
        ends = zip(
            frame.columns,
            self.rows.min(axis=0).tolist(),
            self.rows.max(axis=0).tolist(),
            strict=True,
        )
        space = Space([integer(column, int(low), int(high)) for column, low, high in ends])
        with np.load(published(f"{name}_model.npz")) as layers:
            self.layers = [
                (layers[f"linear{end}_kernel"], layers[f"linear{end}_bias"])
                for end in ("", "_1", "_2", "_3", "_4", "_5")
            ]
        over = [space.names[position] for position in sensitive]
        self.neighbours = Neighbours.of(
            View(Subject(self.decide, space, positive=True)), over
        )

    def decide(self, frame: Any) -> Any:
        hidden = frame.to_numpy().astype(np.float32)
        for number, (kernel, bias) in enumerate(self.layers):
            hidden = (np.maximum(hidden, 0) if number else hidden) @ kernel + bias
        return hidden[:, 1] > hidden[:, 0]

    def rates(self, *masks: Any) -> list[tuple[float, float]]:
        means = self.neighbours.means(self.rows)
        return [(float(means[mask].mean()), float(means[~mask].mean())) for mask in masks]
