"""search: how many of the inputs it finds are people who could exist, and how many it finds.

`python benchmarks/realism.py [--data compas,german,adult] [--models forest,logistic,boosting]
[--strategies adaptive,random] [--queries 20000]` prints a table and writes
benchmarks/results/realism.json. Each search is run twice: for "many" inputs, from anywhere, and for
"realistic" ones, from real rows, which is the default. An input counts as plausible by
`evenhand.population.realism`, a pair by its input and its twin.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import evenhand as eh
from evenhand.datasets import load

SHARED = Path(__file__).parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results" / "realism.json"
OVER = {"compas": "race", "german": "personal_status_sex", "adult": "sex"}
MODELS = {
    "forest": RandomForestClassifier(50, max_depth=12, random_state=0),
    "logistic": LogisticRegression(max_iter=2000),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}
WANTED_SHARE, WANTED_HITS = 0.5, 0.5
"""The least share of plausible inputs, and the least share of what a search for many finds."""


def rows_of(name: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the inputs and labels of a data set; of Adult those that models are trained with."""
    found = load(name)
    if found.split is None:
        return found.features, found.labels
    training = found.split == "train"
    inputs = found.features[training].reset_index(drop=True)
    return inputs, found.labels[training].reset_index(drop=True)


def fitted(name: str, inputs: pd.DataFrame, labels: pd.Series[Any]) -> Any:
    """Return a pipeline with a model of this name."""
    numbers = [column for column in inputs if pd.api.types.is_numeric_dtype(inputs[column])]
    levels = [column for column in inputs if column not in numbers]
    if name == "logistic":
        encode = make_column_transformer(
            (OneHotEncoder(), levels), (StandardScaler(), numbers)
        )
    else:
        encode = make_column_transformer(
            (OrdinalEncoder(), levels), remainder="passthrough"
        )
    return make_pipeline(encode, MODELS[name]).fit(inputs, labels)


def searched(model: Any, space: eh.Space, strategy: str, prefer: str, queries: int) -> Any:
    """Return what one search found, as a row of the table."""
    begun = time.process_time()
    found = eh.search(
        model, space, strategy=strategy, prefer=prefer, budget=eh.Budget(queries=queries)
    )
    seconds = time.process_time() - begun
    entry = found.details["search"][0]
    return {
        "prefer": prefer,
        "hits": entry["found"],
        "plausible": entry["plausible"]["individuals"],
        "both": entry["plausible"]["both"],
        "seconds": round(seconds, 1),
    }


def compared(data: str, model: str, strategy: str, queries: int) -> dict[str, Any]:
    """Return what a search for many and one for realistic inputs found."""
    inputs, labels = rows_of(data)
    space = eh.Space.from_frame(inputs, protected=[OVER[data]])
    subject = fitted(model, inputs, labels)
    row = {"data": data, "model": model, "strategy": strategy, "queries": queries}
    for prefer in ("many", "realistic"):
        row[prefer] = searched(subject, space, strategy, prefer, queries)
    return row


def share(found: dict[str, Any]) -> float:
    """Return which part of what was found is plausible."""
    return float(found["plausible"] / max(found["hits"], 1))


def line(row: dict[str, Any]) -> str:
    """Return a row as text, with what is not as wanted marked."""
    many, real = row["many"], row["realistic"]
    kept = real["hits"] / max(many["hits"], 1)
    reached = share(real) >= WANTED_SHARE and kept >= WANTED_HITS
    return (
        f"{row['data']:8}{row['model']:10}{row['strategy']:10}"
        f"{many['hits']:8,}{100 * share(many):8.1f} %{real['hits']:8,}{100 * share(real):8.1f} %"
        f"{100 * real['both'] / max(real['hits'], 1):8.1f} %{kept:7.2f}"
        f"{'' if reached else '  below'}"
    )


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=",".join(OVER))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--strategies", default="adaptive,random")
    parser.add_argument("--queries", type=int, default=20_000)
    asked = parser.parse_args()
    if SHARED.is_dir():
        os.environ.setdefault("EVENHAND_DATA", str(SHARED))
    print("data    model     strategy     many plausible realistic plausible  both  kept")
    rows = []
    for data in asked.data.split(","):
        for model in asked.models.split(","):
            for strategy in asked.strategies.split(","):
                row = compared(data, model, strategy, asked.queries)
                rows.append(row)
                print(line(row), flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
