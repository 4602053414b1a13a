"""A log on a real PostgreSQL server: counted there, with the findings of the same rows at hand."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.runtime.errors import DataError
from tests.support.helpers import refused
from tests.support.postgres import Server, running

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(os.name != "posix", reason="runs PostgreSQL"),
]
psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")


@pytest.fixture(scope="module")
def server():
    with running() as found:
        yield found


def decisions() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sex = rng.choice(["F", "M"], 3000)
    age = rng.integers(18, 80, 3000)
    granted = rng.random(3000) < 0.5 + 0.1 * (sex == "M")
    return pd.DataFrame({"sex": sex, "age": age, "granted": granted.astype(int)})


@pytest.fixture(scope="module")
def log(server: Server) -> pd.DataFrame:
    frame = decisions()
    with psycopg.connect(server.address()) as connection:
        connection.execute("CREATE TABLE decisions (sex text, age bigint, granted bigint)")
        with connection.cursor().copy("COPY decisions FROM STDIN") as rows:
            for row in frame.itertuples(index=False):
                rows.write_row(row)
    return frame


@pytest.mark.parametrize("verb", [eh.measure_log, eh.impact, eh.mine_log])
def test_findings_are_those_of_the_rows(server, log, verb):
    wanted = {"outcome": "granted", "over": ["sex", "age"], "bins": {"age": [30, 50]}}
    expected = verb(log, **wanted)
    with eh.open_log(server.address(), table="decisions") as opened:
        found = verb(opened, **wanted)
    assert found.digest == expected.digest
    assert found.log["counted_by"] == "psycopg"
    assert server.password not in found.to_json()
    assert "open%20sesame" not in found.to_json()


def test_a_query_is_counted_by_the_server(server, log):
    query = "SELECT * FROM decisions WHERE age < 40"
    with eh.open_log(server.address(), query=query) as opened:
        found = eh.measure_log(opened, outcome="granted", over="sex")
    expected = eh.measure_log(log[log["age"] < 40], outcome="granted", over="sex")
    assert found.digest == expected.digest


def test_a_table_that_is_not_there_is_one_sentence(server, log):
    message = refused(
        DataError,
        lambda: eh.open_log(server.address(), table="decision"),
        "did you mean 'decisions'",
    )
    assert "sesame" not in message
