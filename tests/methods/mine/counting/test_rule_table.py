"""The table of rule sets: held once, and looked at in parts."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.methods.mine.conditions import Choices
from evenhand.methods.mine.counting import rule_table
from evenhand.methods.mine.cube import Cube
from evenhand.methods.mine.ranking import Ranking
from evenhand.space.feature import category


def log():
    rng = np.random.default_rng(1)
    columns = {f"c{number}": rng.choice(list("abcd"), 2_000) for number in range(6)}
    columns["n"] = rng.integers(0, 40, 2_000)
    frame = pd.DataFrame(columns)
    chance = 0.4 + 0.2 * (frame["c0"] == "a") + 0.1 * (frame["n"] > 20)
    frame["truth"] = rng.random(2_000) < 0.5
    frame["pay"] = np.round(rng.normal(100, 20, 2_000) + 10 * (frame["c1"] == "b"), 1)
    return frame.assign(ok=rng.random(2_000) < chance)


def mined_log(**options):
    frame = log()
    over = [name for name in frame if name not in ("ok", "truth", "pay")]
    given = {"outcome": "ok", "over": over, "depth": 2, "bins": 4, **options}
    table = json.loads(eh.mine_log(frame, **given).to_json())
    del table["spent"]
    return table


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"control": "fdr"},
        {"outcome": "pay"},
        {"score": ["rate", "tpr"], "truth": "truth"},
    ],
    ids=lambda options: ",".join(options) or "plain",
)
def test_rule_sets_in_parts_are_reported_as_all_at_once(options, monkeypatch):
    whole = mined_log(**options)
    monkeypatch.setattr(rule_table, "AT_ONCE", 37)
    assert mined_log(**options) == whole


def ranking():
    features = [category("sex", ["F", "M"]), category("race", ["a", "b", "c"])]
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, 300).astype(float), rng.integers(0, 3, 300).astype(float)]
    choices = [Choices.of(*pair) for pair in zip(features, columns, strict=True)]
    cube = Cube.of(choices, columns)
    hits = cube.totals(columns[0])
    return Ranking.of(cube, cube.totals(), hits, least=1, least_other=1, most=1_000)


def test_sums_are_held_once():
    found = ranking()
    assert found.examined > 10
    for level in found.table.levels:
        assert np.shares_memory(level.sums, found.table.sums)
    assert not any(level.sums.size for level in found.found.levels)


def test_rates_of_some_rule_sets_are_those_of_all():
    found = ranking()
    some = np.array([1, 5, 3])
    inside, outside = found.shares(some)
    assert "inside" not in vars(found)
    assert inside.tolist() == found.inside[some].tolist()
    assert outside.tolist() == found.outside[some].tolist()


def test_families_are_counted_across_parts(monkeypatch):
    found = ranking()
    families = [found.found.search.families_of(level) for level in found.table.levels]
    assert families == [2, 1]
    monkeypatch.setattr(rule_table, "AT_ONCE", 2)
    assert [
        found.found.search.families_of(level) for level in found.table.levels
    ] == families


def test_some_rule_sets_know_how_many_conditions_they_have():
    table = ranking().table
    some = np.array([len(table) - 1, 0, 2])
    assert table.conditions_of(some).tolist() == table.conditions()[some].tolist()
