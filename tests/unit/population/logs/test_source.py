"""A log is the same wherever it lies and whatever reads it, and the result says where and what."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pandas as pd
import pytest

import evenhand as eh
from evenhand.population.logs.sessions import spark_session
from evenhand.runtime.errors import DataError, MissingExtra, UsageError
from tests.support.helpers import refused
from tests.support.logs import decisions, digest_of, served

EAGER = ("pyarrow", "pandas")
LAZY = ("duckdb", "polars")


def found_in(source: Any, **how: Any) -> tuple[str, dict[str, Any]]:
    """Return the digest of a log that is opened, and what results say of it."""
    with eh.open_log(source, **how) as log:
        return digest_of(log), log.fields


# The same findings from everywhere


@pytest.mark.parametrize("engine", [None, *LAZY, *EAGER])
@pytest.mark.parametrize("name", ["log.csv", "log.parquet", "partitions", "part-*.csv"])
def test_files_have_the_same_findings_for_every_engine(places, known, name, engine):
    found, fields = found_in(places / name, engine=engine)
    assert found == known
    small = name.startswith("log")
    assert fields["engine"] == (engine or ("pandas" if small else "duckdb"))
    assert fields["files"] == {"partitions": 4, "part-*.csv": 3}.get(name, 1)


def test_rules_are_mined_from_a_folder(places):
    terms: Any = {"outcome": "ok", "positive": "yes", "over": ["sex", "year"], "limit": 0.1}
    found = eh.mine_log(places / "partitions", **terms)
    assert found.digest == eh.mine_log(decisions(), **terms).digest
    assert found.log["files"] == 4


@pytest.mark.parametrize("engine", LAZY)
@pytest.mark.parametrize("name", ["log.jsonl", "log.feather", "log.csv.gz"])
def test_other_forms_of_files_are_read_too(places, known, name, engine):
    found, fields = found_in(places / name, engine=engine)
    assert found == known
    assert fields == {"source": str(places / name), "engine": engine, "files": 1}


@pytest.mark.parametrize("engine", EAGER)
def test_json_lines_without_a_lazy_engine(places, known, engine):
    assert found_in(places / "log.jsonl", engine=engine)[0] == known


@pytest.mark.parametrize("engine", [*LAZY, *EAGER])
def test_a_table_of_sqlite(places, known, engine):
    found, fields = found_in(f"sqlite:///{places}/log.db", engine=engine)
    assert found == known
    assert fields["query"] == 'SELECT * FROM "decisions"'
    assert (fields["engine"], fields["counted_by"]) == (engine, "sqlite3")


def test_a_query_of_sqlite(places):
    query = "WITH old AS (SELECT * FROM decisions) SELECT * FROM old WHERE age >= 40 -- old"
    with eh.open_log(f"sqlite:///{places}/log.db", query=query) as log:
        found = eh.measure_log(log, outcome="ok", positive="yes", over="sex")
    frame = decisions()
    old = frame[frame["age"] >= 40]
    expected = eh.measure_log(old, outcome="ok", positive="yes", over="sex")
    assert found.digest == expected.digest
    assert found.log["query"] == query


@pytest.mark.heavy
def test_a_table_of_sqlite_through_adbc(places, known):
    pytest.importorskip("adbc_driver_sqlite", reason="the ADBC driver is not installed")
    found, fields = found_in(f"sqlite+adbc:///{places}/log.db", table="decisions")
    assert found == known
    assert fields["counted_by"] == "adbc_driver_sqlite"


def test_a_connection_of_the_user_stays_open(places, known):
    with closing(sqlite3.connect(places / "log.db")) as database:
        assert found_in(database, table="decisions")[0] == known
        assert database.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("how", [{}, {"table": "decisions"}, {"query": "FROM decisions;"}])
def test_a_duckdb_file(places, known, how):
    found, fields = found_in(places / "log.duckdb", **how)
    assert found == known
    assert fields["engine"] == "duckdb"
    named = {"query": "FROM decisions;"} if "query" in how else {"table": "decisions"}
    assert named.items() <= fields.items()


@pytest.mark.parametrize("engine", [*LAZY, "pyarrow"])
def test_a_dataset_of_pyarrow(places, known, engine):
    import pyarrow as pa
    from pyarrow import dataset

    hive = dataset.partitioning(pa.schema([("year", pa.int64())]), flavor="hive")
    rows = dataset.dataset(str(places / "partitions"), partitioning=hive)
    found, fields = found_in(rows, engine=engine)
    assert found == known
    assert (fields["engine"], fields["files"]) == (engine, 4)
    assert digest_of(rows) == known


@pytest.mark.heavy
def test_spark_reads_files_in_the_session_that_runs(places):
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    session, is_own = spark_session()
    columns = ["sex", "year", "ok"]
    expected = decisions()[columns].value_counts().to_dict()
    for name in ("partitions", "part-*.csv", "log.jsonl"):
        with eh.open_log(places / name, engine="spark") as log:
            rows = log.frame_for(columns).groupBy(*columns).count().collect()
        assert {(row[0], row[1], row[2]): row[3] for row in rows} == expected
    assert session.range(3).count() == 3  # a session of the user's goes on
    if is_own:
        session.stop()


@pytest.mark.parametrize("engine", ["polars", "pandas"])
def test_an_address(places, engine):
    with served(places) as address:
        with eh.open_log(f"{address}/log.parquet?sign=s3cret", engine=engine) as log:
            found = eh.impact(log, outcome="ok", positive="yes", over="sex")
        assert found.log == {"source": f"{address}/log.parquet", "engine": engine}
    expected = eh.impact(decisions(), outcome="ok", positive="yes", over="sex")
    assert found.digest == expected.digest


def test_an_audit_takes_a_path_and_names_it(places):
    terms: Any = {"outcome": "ok", "positive": "yes", "over": ["sex"]}
    found = eh.audit_log(str(places / "partitions"), **terms)
    assert found.digest == eh.audit_log(decisions(), **terms).digest
    assert found.tested.log["engine"] == "duckdb"
    assert eh.Audit.from_dict(found.to_dict()).tested == found.tested


def test_a_result_keeps_the_source_in_its_json(places):
    found = eh.impact(places / "log.csv", outcome="ok", positive="yes", over="sex")
    assert found.to_dict()["log"]["engine"] == "pandas"
    assert eh.Result.from_dict(found.to_dict()).log == found.log


# Rows stay where they are


def test_frames_are_lazy(places):
    import duckdb
    import polars as pl

    with eh.open_log(places / "partitions", engine="polars") as log:
        assert isinstance(log.frame, pl.LazyFrame)
    with eh.open_log(places / "partitions", engine="duckdb") as log:
        assert isinstance(log.frame, duckdb.DuckDBPyRelation)


def test_a_database_counts_and_sends_kinds_of_rows_alone(places):
    asked: list[str] = []
    with closing(sqlite3.connect(places / "log.db")) as database:
        database.set_trace_callback(asked.append)
        eh.measure_log(
            eh.open_log(database), outcome="ok", positive="yes", over="sex", limit=0.1
        )
    counts = [query for query in asked if "COUNT(*)" in query]
    assert len(counts) == 1
    assert counts[0].endswith('GROUP BY "ok", "sex"')
    assert '"score"' not in counts[0]


# What is refused


def test_what_cannot_be_read_is_one_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    refused(DataError, lambda: eh.open_log(tmp_path / "empty"), "without Parquet files")
    refused(DataError, lambda: eh.open_log(tmp_path / "x-*.csv"), "names no file")
    refused(
        UsageError, lambda: eh.open_log("s4://bucket/x.csv"), "'s4://'", "did you mean 's3'"
    )
    refused(DataError, lambda: eh.open_log("s3://me:s3cret@bucket/x"), "'s3://bucket/x'")
    refused(UsageError, lambda: eh.open_log(3), "a int is not a log")


def test_options_that_do_not_fit_are_refused(places):
    file = places / "log.parquet"
    refused(UsageError, lambda: eh.open_log(file, query="SELECT 1"), "is no database")
    refused(
        UsageError, lambda: eh.open_log(file, engine="duckbd"), "did you mean 'duckdb'?"
    )
    database = places / "log.duckdb"
    refused(UsageError, lambda: eh.open_log(database, engine="polars"), "'duckdb'")
    both: Any = {"table": "decisions", "query": "SELECT 1"}
    refused(UsageError, lambda: eh.open_log(database, **both), "cannot be combined")


def test_an_engine_that_is_not_installed_is_named_with_its_extra(places, monkeypatch):
    from evenhand.population.logs import engines

    monkeypatch.setattr(
        engines, "find_spec", lambda name: None if name == "duckdb" else name
    )
    folder = places / "partitions"
    refused(MissingExtra, lambda: eh.open_log(folder, engine="duckdb"), "evenhand[duckdb]")
    with eh.open_log(folder) as log:
        assert log.fields["engine"] == "polars"


@pytest.mark.parametrize("engine", [*LAZY, *EAGER])
def test_a_damaged_file_is_one_sentence(tmp_path, engine):
    decisions().to_parquet(tmp_path / "a.parquet", index=False)
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(bytes(2000) + content[2000:])
    with eh.open_log(tmp_path, engine=engine) as log:
        refused(
            DataError,
            lambda: eh.impact(log, outcome="ok", positive="yes", over="sex"),
            "cannot be",
        )


def test_a_wrong_column_is_looked_for_among_all(places):
    with eh.open_log(places / "log.duckdb") as log:
        refused(
            DataError,
            lambda: eh.measure_log(log, outcome="okay", over="sex"),
            "did you mean 'ok'",
            "'score'",
        )


def test_nothing_is_left_open(places, recwarn):
    with eh.open_log(places / "log.duckdb") as log:
        eh.impact(log, outcome="ok", positive="yes", over="sex")
    # A file that is open for reading could not be opened for writing.
    import duckdb

    duckdb.connect(str(places / "log.duckdb")).close()
    assert not recwarn.list


def test_pandas_frames_are_taken_as_before():
    frame = pd.DataFrame({"sex": ["F", "M"] * 100, "ok": [0, 1] * 100})
    assert eh.measure_log(frame, outcome="ok", over="sex").log == {}


def test_the_nearest_folder_of_parquet_files_is_named(tmp_path):
    (tmp_path / "logs").mkdir()
    decisions().to_parquet(tmp_path / "logs" / "a.parquet", index=False)
    (tmp_path / "empty").mkdir()
    wanted = "did you mean 'logs'? Valid choices are 'logs'"
    refused(DataError, lambda: eh.open_log(tmp_path / "logz"), wanted)
