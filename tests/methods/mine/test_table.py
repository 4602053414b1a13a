"""Mined results as tables: one row per finding, true to the data, the same from a file."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.methods.mine.table import OTHERS, entries_of, mined_findings
from evenhand.runtime.errors import UsageError
from tests.support.helpers import COMMENTS, TERMS, refused

COLUMNS = [
    *[
        "rule",
        "value",
        "difference",
        "low",
        "high",
        "rate",
        "rate_low",
        "rate_high",
        "other",
        "other_low",
    ],
    *[
        "other_high",
        "ratio",
        "ratio_low",
        "ratio_high",
        "rows",
        "support",
        "rules",
        "parent",
        "added",
        "added_low",
        "added_high",
        "n",
        "level",
        "method",
    ],
    *["population", "limit", "verdict", "p_value", "output", "score", "over", "claim"],
]


def people(rows: int = 800) -> pd.DataFrame:
    """Return decisions that refuse women over 42, and treat young men a little worse."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], rows)})
    frame["age"] = rng.integers(18, 68, rows)
    frame["due"] = rng.integers(0, 2, rows)
    is_older_woman = (frame["sex"] == "F") & (frame["age"] >= 43)
    is_young_man = (frame["sex"] == "M") & (frame["age"] < 33)
    is_lucky = rng.random(rows) < np.where(is_young_man, 0.4, 0.8)
    frame["granted"] = (~is_older_woman & is_lucky).astype(int)
    return frame


def toxic(texts: list[str]) -> list[bool]:
    return ["gay" in text or "muslim" in text for text in texts]


def men_or_young(frame: Any) -> Any:
    is_man = frame["sex"] == "M"
    is_young = frame["age"] < 43
    return is_man | is_young


OVER = ["sex", "age"]
OF_TEXTS: dict[str, dict[str, Any]] = {
    "texts": {},
    "causal": {"kind": "causal"},
    "rest": {"against": "rest"},
}


@cache
def mined(kind: str) -> eh.Result:
    if kind in OF_TEXTS:
        return eh.mine_text(
            toxic,
            COMMENTS * 20,
            lexicon=TERMS,
            positive=False,
            **OF_TEXTS[kind],
        )
    frame = people()
    if kind == "log":
        return eh.mine_log(frame, outcome="granted", over=OVER, limit=0.1)
    if kind == "sets":
        return eh.mine_log(frame, outcome="granted", over=[("sex",), ("sex", "age")])
    if kind == "scores":
        return eh.mine_log(
            frame,
            outcome="granted",
            truth="due",
            score=["rate", "tpr", "fpr"],
            over=OVER,
            top=3,
        )
    assert kind == "whole"
    space = eh.Space.from_frame(frame[OVER], protected=OVER)
    rows = eh.rows(frame[OVER])
    return eh.mine(men_or_young, space, rows, treatment="rows")


@pytest.mark.parametrize(
    "kind", ["log", "scores", "sets", "whole", "texts", "rest", "causal"]
)
def test_a_result_from_a_file_gives_the_same_table(kind, tmp_path):
    path = tmp_path / "mined.json"
    result = mined(kind)
    result.to_json(path)
    table = result.to_frame()
    read = eh.Result.from_json(path)
    pd.testing.assert_frame_equal(table, read.to_frame())
    claims = [finding.claim for finding in result.findings]
    assert sorted(table["claim"]) == sorted(claims)


def test_each_row_is_true_to_the_data_it_is_about():
    frame = people()
    result = mined("log")
    table = result.to_frame()
    assert list(table.columns) == COLUMNS
    rules = {str(finding.about): finding.about for finding in result.findings}
    space = eh.Space.from_frame(frame[OVER])
    points = space.encode(frame[OVER])
    granted = frame["granted"].to_numpy()
    stories = table[table["rule"] != OTHERS]
    assert len(stories) > 1
    assert len(stories) == len(table) - 1
    for row in stories.to_dict("records"):
        rule = rules[row["rule"]]
        inside = rule.mask(points, space)
        rate = granted[inside].mean()
        other = granted[~inside].mean()
        assert row["rate"] == pytest.approx(rate)
        assert row["other"] == pytest.approx(other)
        assert row["difference"] == pytest.approx(rate - other)
        assert row["value"] == pytest.approx(abs(rate - other))
        assert row["ratio"] == pytest.approx(rate / other)
        assert row["rows"] == inside.sum()
        assert row["support"] == pytest.approx(inside.mean())
        assert row["low"] <= row["value"] <= row["high"]
        for name in ("rate", "other", "ratio"):
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
    worst = table.iloc[0]
    assert worst["difference"] < -0.5
    assert worst["verdict"] == "fail"
    assert worst["limit"] == 0.1
    assert worst["n"] == 800
    assert worst["level"] == 0.95


def test_all_others_are_the_last_row_and_claim_nothing_of_a_group():
    result = mined("log")
    table = result.to_frame()
    (entry,) = entries_of(result)
    last = table.iloc[-1]
    assert OTHERS == "all other rule sets"
    assert last["rule"] == OTHERS
    assert last["rules"] == entry["rest"]["rules"]
    missing = [
        "difference",
        "rate",
        "rate_low",
        "other_high",
        "ratio",
        "ratio_high",
        "rows",
        "support",
    ]
    assert last[missing].isna().all()
    assert 0 <= last["low"] <= last["value"] <= last["high"]
    assert table["rows"].dtype == "Int64"
    assert (table["rule"] == OTHERS).sum() == 1


def test_scores_are_distinguished():
    scores = mined("scores").to_frame()
    assert set(scores["score"]) == {"rate", "tpr", "fpr"}
    assert list(scores["rule"][-3:]) == [OTHERS] * 3
    due = people()["due"]
    compared = {
        "rate": len(due),
        "tpr": (due == 1).sum(),
        "fpr": (due == 0).sum(),
    }
    for score, rows in compared.items():
        of_score = scores[scores["score"] == score]
        assert set(of_score["n"]) == {rows}
        assert of_score["population"].nunique() == 1


def test_sets_that_share_a_rule_set_are_distinguished():
    sets = mined("sets")
    shared = [line for line in mined_findings(sets) if line.about == "sex F"]
    for line in shared:
        assert line.entry["over"] in (["sex"], ["sex", "age"])
    table = sets.to_frame()
    last = table[table["rule"] == OTHERS]
    assert set(table["over"]) == {"sex", "sex, age"}
    assert set(last["over"]) == {"sex", "sex, age"}


def test_two_findings_of_the_same_rule_set_come_from_two_minings():
    frame = people()
    frame["granted"] = (frame["sex"] == "M").astype(int)
    over = [("sex",), ("sex", "age")]
    result = eh.mine_log(frame, outcome="granted", over=over, top=1)
    table = result.to_frame()
    women = table[table["rule"] == "sex F"]
    assert women["over"].tolist() == ["sex", "sex, age"]


def test_a_ratio_to_nothing_is_missing():
    frame = pd.DataFrame({"sex": ["F"] * 40 + ["M"] * 60})
    frame["granted"] = (frame["sex"] == "F").astype(int)
    result = eh.mine_log(frame, outcome="granted", over="sex")
    row = result.to_frame().iloc[0]
    assert row["rule"] == "sex F"
    assert row["rate"] == 1.0
    assert row["other"] == 0.0
    assert np.isnan(row["ratio"])
    assert row["ratio_low"] > 1
    assert np.isnan(row["ratio_high"])


def test_texts_have_texts_in_place_of_rows():
    table = mined("texts").to_frame()
    added = [name for name in table.columns if name not in COLUMNS]
    assert added == ["texts", "against"]
    assert set(table["against"]) == {"terms"}
    against_rest = mined("rest").to_frame()
    assert set(against_rest["against"]) == {"rest"}
    first = table.iloc[0]
    assert first["rule"] == "gender gay"
    assert first["difference"] == -1.0
    assert first["rate"] == 0.0
    assert first["other"] == 1.0
    assert first["texts"] == 100


def test_changes_of_terms_have_a_table_of_their_own():
    result = mined("causal")
    table = result.to_frame()
    assert list(table.columns) == [
        "about",
        "value",
        "low",
        "high",
        "texts",
        "changed",
        "most",
        "most_changed",
        "n",
        "level",
        "method",
        "population",
        "limit",
        "verdict",
        "output",
        "claim",
    ]
    assert set(table["about"]) >= {"gender", "religion"}
    shares = table["changed"] / table["texts"].astype(float)
    np.testing.assert_allclose(table["value"], shares)
    gender = table[table["about"] == "gender"].iloc[0]
    # Every text has a term that changes it: to gay, or from it.
    assert gender["value"] == 1.0
    assert gender["most"] == "gender gay"


def test_a_result_whose_details_are_of_another_is_refused():
    result = replace(mined("log"), details=mined("whole").details)
    refused(UsageError, result.to_frame, "damaged", "its details have no entry for")
