"""A log in Spark: the same bytes as in memory, and only cells come back."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

import evenhand as eh
from tests.methods.mine.logs.frames import log

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.heavy
LOG = log(600)[["sex", "age", "income", "day", "year", "ok", "paid"]]


@pytest.fixture(scope="module")
def spark_log() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = sql.SparkSession.builder.master("local[1]")
        quiet = builder.config("spark.ui.enabled", "false")
        session = quiet.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        yield session.createDataFrame(LOG)
        session.stop()


@pytest.mark.parametrize(
    "how",
    [
        {"over": ["sex", "age"], "truth": "paid", "score": ["rate", "tpr"]},
        {"over": ["sex", "income"], "bins": 4},
        {"over": ["day", "year"], "bins": {"day": "year"}},
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_spark_gives_the_same_bytes(spark_log, how):
    columns = [*how["over"], "ok", *([how["truth"]] if "truth" in how else [])]
    in_memory = eh.mine_log(LOG[columns], outcome="ok", **how)
    found = eh.mine_log(spark_log.select(*columns), outcome="ok", **how)
    assert found.digest == in_memory.digest
