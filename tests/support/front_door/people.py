"""People whose sex and race say nothing of all else, and decisions on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

PROTECTED = "sex,race"
PENALTY = 25
"""How much more income women need, where the decision has a bias."""


def people(base: int = 1000, *, missing: bool = False, seed: int = 0) -> pd.DataFrame:
    """Return four times `base` people: everybody once with each sex and each race.

    A decision that heeds neither therefore has the same rates in all groups.
    """
    rng = np.random.default_rng(seed)
    income = rng.integers(10, 110, base).astype(float)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, base),
            "education": rng.choice(["school", "college", "master"], base),
            "income": income,
            "debt": np.round(rng.uniform(0, 40, base), 1),
        }
    )
    if missing:
        unknown = rng.random(base) < 0.1
        frame["income"] = frame["income"].mask(unknown)
        frame["education"] = frame["education"].mask(rng.random(base) < 0.05)
    else:
        frame["income"] = frame["income"].astype(int)
    groups = []
    for sex in ("female", "male"):
        for race in ("green", "purple"):
            groups.append(frame.assign(sex=sex, race=race))
    every = pd.concat(groups, ignore_index=True)
    return every.sample(frac=1.0, random_state=seed).reset_index(drop=True)


def worth(frame: pd.DataFrame, *, biased: bool) -> Any:
    """Return how much each person is worth to the lender; with a bias, women are worth less."""
    income = frame["income"].fillna(50)
    school = np.where(frame["education"] == "school", 10, 0)
    worth = income - school
    if biased:
        worth -= np.where(frame["sex"] == "female", PENALTY, 0)
    return np.asarray(worth, dtype=float)


def approved(frame: pd.DataFrame, *, biased: bool) -> Any:
    """Return whether each person gets the loan."""
    return worth(frame, biased=biased) > 45
