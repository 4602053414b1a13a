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
    features = [name for name in table if name not in (tables.OUTCOME, tables.ERROR)]
    levels = [table[name].nunique() for name in features]
    assert len(table) == 48_842
    assert len(features) == 13
    assert sum(levels) == 117
    assert table[tables.OUTCOME].sum() == 11_687
    assert 0.1 < table[tables.ERROR].mean() < 0.2


def test_a_planted_group_has_another_rate(tables):
    table = tables.planted(3)
    inside = np.ones(len(table), dtype=bool)
    for name, values in tables.PLANTED.items():
        inside &= table[name].isin(values).to_numpy()
    outcome = table[tables.OUTCOME]
    assert len(table) == tables.PLANTED_ROWS
    assert outcome[inside].mean() == pytest.approx(tables.PLANTED_RATES[1], abs=0.1)
    assert outcome[~inside].mean() == pytest.approx(tables.PLANTED_RATES[0], abs=0.05)
    assert tables.planted(3).equals(table)


def test_a_log_is_drawn_in_parts_with_a_seed(tables, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(tables, "CHUNK", 400)
    people = tables.planted(0).rename(
        columns=dict(zip("abcde", tables.LOGGED, strict=True))
    )
    people[tables.OUTCOME] = np.where(people[tables.OUTCOME] == 1, ">50K", "<=50K")
    for name in ("one", "two"):
        tables.write_log(people, tmp_path / name, 1_000, seed=7)
    first = parquet.read_table(tmp_path / "one")
    assert first.num_rows == 1_000
    assert first.equals(parquet.read_table(tmp_path / "two"))
    assert set(first[tables.OUTCOME].to_pylist()) == {0, 1}
