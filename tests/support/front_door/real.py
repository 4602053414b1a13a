"""People of published data, where these lie beside the clone."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

from tests.support.paths import BESIDE

ROWS = 12_000


def adult_file() -> Path:
    """Return the file of Adult, which may not be there."""
    folder = Path(os.environ.get("EVENHAND_DATA") or BESIDE)
    return folder / "adult.csv.gz"


def adult_people() -> pd.DataFrame:
    """Return people of Adult with their gaps, and sex and race drawn anew."""
    frame = pd.read_csv(adult_file(), skipinitialspace=True, na_values=["?"])
    frame = frame.drop(columns=["income", "fnlwgt"], errors="ignore").head(ROWS)
    rng = np.random.default_rng(0)
    for name in ("sex", "race"):
        frame[name] = rng.permutation(frame[name].to_numpy())
    # Groups of a few hundred are too small to pass.
    frame["race"] = frame["race"].where(frame["race"].isin(["White", "Black"]), "Other")
    return frame
