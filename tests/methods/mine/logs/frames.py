"""Logs of many kinds of columns, and how each engine holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand.methods.mine import recorded
from evenhand.methods.mine.logs.counted import CountedLog

if TYPE_CHECKING:
    from collections.abc import Callable


def log(n: int = 1200, seed: int = 0) -> pd.DataFrame:
    """Decisions with columns of every kind, in which women from 45 on lose 30 points."""
    rng = np.random.default_rng(seed)
    days = rng.integers(
        0,
        2000,
        n,
    )
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], n),
            "age": rng.integers(
                18,
                91,
                n,
            ),
            "veteran": rng.random(n) < 0.3,
            "income": np.round(
                rng.lognormal(
                    10,
                    0.7,
                    n,
                ),
                2,
            ),
            "score": rng.random(n),
            "narrow": np.round(
                rng.uniform(
                    0,
                    5,
                    n,
                ),
                1,
            ).astype(np.float32),
            "day": pd.Timestamp("2015-03-04") + pd.to_timedelta(days, "D"),
            "paid": rng.integers(
                0,
                2,
                n,
            ),
        }
    )
    frame["iso"] = frame["day"].dt.strftime("%Y-%m-%d")
    frame["year"] = frame["day"].dt.year
    older_women = (frame["sex"] == "F") & (frame["age"] >= 45)
    frame["ok"] = (rng.random(n) < 0.6 - 0.3 * older_women).astype(int)
    frame["pay"] = 20_000.5 + 3_000 * frame["ok"] + 1_000 * rng.random(n)
    return frame


def holes(frame: pd.DataFrame) -> pd.DataFrame:
    """The same decisions, in which something is missing here and there."""
    rng = np.random.default_rng(1)
    found = frame.astype({"age": float, "ok": float, "paid": float, "veteran": object})
    for name in ("sex", "age", "veteran", "income", "narrow", "day", "iso", "ok", "paid"):
        found.loc[rng.random(len(found)) < 0.05, name] = None
    return found


def _duckdb(frame: pd.DataFrame) -> Any:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    return duckdb.connect().from_arrow(arrow)


def _dask(frame: pd.DataFrame) -> Any:
    dask = pytest.importorskip("dask", reason="dask is not installed")
    frames = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    # Objects stay what they are, so that truth values with gaps do not become texts.
    with dask.config.set({"dataframe.convert-string": False}):
        return frames.from_pandas(frame, npartitions=3)


ENGINES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "polars lazy with NaN": lambda frame: pl.from_pandas(frame, nan_to_null=False).lazy(),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "duckdb": _duckdb,
    "dask": _dask,
}


class RowByRow(CountedLog):
    """A log of which each row is read for itself, as if nothing were counted."""

    @classmethod
    def of(cls, *given: Any, **options: Any) -> CountedLog:
        """Read all rows."""
        return CountedLog.of(*given, **{**options, "whole": True, "sums": None})


def row_by_row(monkeypatch: pytest.MonkeyPatch, frame: Any, **how: Any) -> eh.Result:
    """Mine a log of which each row is read for itself."""
    with monkeypatch.context() as patched:
        patched.setattr(
            recorded,
            "CountedLog",
            RowByRow,
        )
        return eh.mine_log(frame, **how)
