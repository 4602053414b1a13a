"""The tables of the benchmarks of mine: Adult in the items that the known figures are of."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.benchmarks import benchmark


@pytest.fixture(scope="module")
def tables():
    return benchmark("mine_tables")


def test_adult_has_117_items_of_13_columns(tables, adult):
    table = tables.items(adult.frame)
    features = table.drop(columns=[tables.OUTCOME, tables.ERROR])
    favoured = table[tables.OUTCOME]
    errors = table[tables.ERROR]
    levels = features.nunique()
    assert len(table) == 48_842
    assert len(levels) == 13
    assert levels.sum() == 117
    assert favoured.sum() == 11_687
    assert 0.1 < errors.mean() < 0.2


def test_a_planted_group_has_another_rate(tables):
    table = tables.planted(3)
    again = tables.planted(3)
    first = table["a"] == "a1"
    second = table["b"] == "b2"
    inside = first & second
    outcome = table[tables.OUTCOME]
    their_rate = outcome[inside].mean()
    other_rate = outcome[~inside].mean()
    usual, planted = tables.PLANTED_RATES
    assert tables.PLANTED == {"a": ["a1"], "b": ["b2"]}
    assert len(table) == tables.PLANTED_ROWS
    assert their_rate == pytest.approx(planted, abs=0.1)
    assert other_rate == pytest.approx(usual, abs=0.05)
    assert again.equals(table)


def test_a_log_is_drawn_in_parts_with_a_seed(tables, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(
        tables,
        "CHUNK",
        400,
    )
    people = tables.planted(0)
    people.columns = [*tables.LOGGED, tables.OUTCOME]
    favoured = people[tables.OUTCOME] == 1
    people[tables.OUTCOME] = np.where(
        favoured,
        ">50K",
        "<=50K",
    )
    for name in ("one", "two"):
        tables.write_log(
            people,
            tmp_path / name,
            1_000,
            seed=7,
        )
    first = parquet.read_table(tmp_path / "one")
    second = parquet.read_table(tmp_path / "two")
    outcomes = first[tables.OUTCOME].to_pylist()
    assert first.num_rows == 1_000
    assert first.equals(second)
    assert set(outcomes) == {0, 1}
