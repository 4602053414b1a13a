"""Databases: what is refused in one sentence, and values of odd kinds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal

import pytest

import evenhand as eh
from evenhand.population.logs.address import LogAddress
from evenhand.population.logs.database import ROWS, _fetched, chosen_table
from evenhand.population.logs.guard import engine_errors
from evenhand.population.logs.kinds import repeated
from evenhand.runtime.errors import DataError, UsageError
from tests.support.helpers import refused

pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.fixture
def database(tmp_path):
    with closing(sqlite3.connect(tmp_path / "x.db")) as made:
        made.execute("CREATE TABLE loans (sex TEXT, ok INTEGER)")
        made.execute("CREATE TABLE people (sex TEXT)")
        made.executemany("INSERT INTO loans VALUES (?, ?)", [("F", 1), ("M", 0)] * 30)
        made.commit()
    return f"sqlite:///{tmp_path}/x.db"


def test_tables_that_are_not_there_are_refused_with_the_nearest(database):
    refused(DataError, lambda: eh.open_log(database, table="loan"), "did you mean 'loans'?")
    refused(UsageError, lambda: eh.open_log(database), "has 2 tables", "'people'")


def test_a_table_with_the_name_of_its_schema_is_one():
    address = LogAddress.of("postgresql://host/db")
    known = {"loans": '"public"."loans"', "public.loans": '"public"."loans"'}
    assert chosen_table(address, None, known) == '"public"."loans"'


def test_the_first_line_of_the_database_is_the_reason(database):
    refused(
        DataError,
        lambda: eh.open_log(database, query="SELECT x FROM loans"),
        "no such column",
    )


def test_a_database_that_is_not_there_is_not_made(tmp_path):
    refused(DataError, lambda: eh.open_log(f"sqlite:///{tmp_path}/y.db"), "cannot be read")
    assert not list(tmp_path.iterdir())


def test_nothing_can_be_written(database):
    query = "DELETE FROM loans"
    refused(DataError, lambda: eh.open_log(database, query=query), "syntax error")


def test_a_driver_that_is_not_installed_is_named():
    address = "exasol"
    pytest.importorskip("adbc_driver_manager", reason="ADBC is not installed")
    refused(
        UsageError,
        lambda: eh.open_log("snowflake://me:s3cret@account/db", query="SELECT 1"),
        "'snowflake://account/db'",
        "adbc-driver-snowflake",
    )
    refused(UsageError, lambda: eh.open_log(f"{address}://host/db"), "'exasol://'")


def test_secrets_are_taken_out_of_what_drivers_say():
    address = LogAddress.of("postgresql://ann:p@ss/w?rd@host:5432/db?sslkey=k3y")
    assert address.shown == "postgresql://host:5432/db"
    text = address.scrubbed(f"bad {address.text}, password p@ss/w?rd, key k3y")
    assert "p@ss" not in text
    assert "k3y" not in text


@pytest.mark.parametrize("kind", [OSError, DataError])
def test_secrets_are_taken_out_of_errors_of_engines_and_of_verbs(kind):
    address = LogAddress.of("https://host/x.parquet?signature=k3ykey")

    def read():
        with engine_errors(address, "duckdb"):
            raise kind(f"cannot be grouped ({address.text})")

    assert "k3ykey" not in refused(DataError, read, "https://host/x.parquet")


class Cursor:
    """Rows in batches, as a DB-API cursor gives them."""

    def __init__(self, *batches):
        self.batches = [*batches, []]

    def fetchmany(self, _):
        return self.batches.pop(0)


def test_batches_of_other_kinds_fit_together():
    cursor = Cursor(
        [(1, Decimal("0.5"), "a", 2)], [(2.5, None, 3, 1)], [(None, Decimal(1), None, 1)]
    )
    table = _fetched(cursor, ["x", "share", "label", ROWS])
    assert table["share"].to_pylist() == [0.5, None, 1.0]
    assert table["label"].to_pylist() == ["a", "3", None]
    assert table[ROWS].to_pylist() == [2, 1, 1]


@pytest.mark.parametrize("engine", ["duckdb", "polars", "pyarrow", "pandas"])
def test_counts_become_rows_again(engine):
    import narwhals as nw
    import pyarrow as pa

    pytest.importorskip(engine, reason=f"{engine} is not installed")
    kinds = pa.table({"sex": ["F", None, "M"], 'a "b"': [1, 2, 3], ROWS: [5000, 0, 2049]})
    connection = None
    if engine == "duckdb":
        import duckdb

        connection = duckdb.connect()
    table = nw.from_native(repeated(kinds, engine, connection))
    counted = table.group_by("sex", 'a "b"').agg(nw.len().alias("n")).lazy().collect()
    assert sorted(counted.rows()) == [("F", 1, 5000), ("M", 3, 2049)]
    if connection is not None:
        connection.close()
