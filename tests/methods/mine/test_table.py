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
        "n",
        "level",
        "method",
    ],
    *["population", "limit", "verdict", "output", "score", "over", "claim"],
]


def people(rows: int = 800) -> pd.DataFrame:
    """Return decisions that treat women over 40 worse, and never the other way round in small
    groups.
    """
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"sex": rng.choice(["F", "M"], rows), "age": rng.integers(18, 68, rows)}
    )
    frame["due"] = rng.integers(0, 2, rows)
    frame["granted"] = (
        ~((frame["sex"] == "F") & (frame["age"] >= 43)) & (rng.random(rows) < 0.8)
    ).astype(int)
    return frame


def toxic(texts: list[str]) -> list[bool]:
    return ["gay" in text or "muslim" in text for text in texts]


@cache
def mined(kind: str) -> eh.Result:
    frame, over = people(), ["sex", "age"]
    if kind == "log":
        return eh.mine_log(frame, outcome="granted", over=over, limit=0.1)
    if kind == "scores":
        return eh.mine_log(
            frame,
            outcome="granted",
            truth="due",
            score=["rate", "tpr", "fpr"],
            over=over,
            top=3,
        )
    if kind == "sets":
        return eh.mine_log(frame, outcome="granted", over=[("sex",), ("sex", "age")])
    if kind == "whole":
        space = eh.Space.from_frame(frame[over], protected=over)
        return eh.mine(
            lambda x: (x["sex"] == "M") | (x["age"] < 43),
            space,
            eh.rows(frame[over]),
            treatment="rows",
        )
    options: dict[str, Any] = {
        "causal": {"kind": "causal"},
        "rest": {"against": "rest"},
    }.get(kind, {})
    return eh.mine_text(toxic, COMMENTS * 20, lexicon=TERMS, positive=False, **options)


@pytest.mark.parametrize(
    "kind", ["log", "scores", "sets", "whole", "texts", "rest", "causal"]
)
def test_a_result_from_a_file_gives_the_same_table(kind, tmp_path):
    result = mined(kind)
    result.to_json(tmp_path / "mined.json")
    table = result.to_frame()
    pd.testing.assert_frame_equal(
        table, eh.Result.from_json(tmp_path / "mined.json").to_frame()
    )
    assert len(table) == len(result.findings)
    assert sorted(table["claim"]) == sorted(finding.claim for finding in result.findings)


def test_each_row_is_true_to_the_data_it_is_about():
    frame, result = people(), mined("log")
    table = result.to_frame()
    assert list(table.columns) == COLUMNS
    rules = {str(finding.about): finding.about for finding in result.findings}
    space = eh.Space.from_frame(frame[["sex", "age"]])
    points, granted = space.encode(frame[["sex", "age"]]), frame["granted"].to_numpy()
    stories = table[table["rule"] != OTHERS]
    assert len(stories) == len(table) - 1 > 1
    for row in stories.to_dict("records"):
        inside = rules[row["rule"]].mask(points, space)
        rate, other = granted[inside].mean(), granted[~inside].mean()
        assert row["rate"] == pytest.approx(rate)
        assert row["other"] == pytest.approx(other)
        assert row["difference"] == pytest.approx(rate - other)
        assert row["value"] == pytest.approx(abs(rate - other))
        assert row["ratio"] == pytest.approx(rate / other)
        assert row["rows"] == inside.sum()
        assert row["support"] == pytest.approx(inside.mean())
        for name in ("value", "rate", "other", "ratio"):
            low, high = (
                row[f"{name}_{end}" if name != "value" else end] for end in ("low", "high")
            )
            assert low <= row[name] <= high
    assert table["difference"][0] < -0.5
    assert (table["verdict"][0], table["limit"][0], table["n"][0], table["level"][0]) == (
        "fail",
        0.1,
        800,
        0.95,
    )


def test_all_others_are_the_last_row_and_claim_nothing_of_a_group():
    table = mined("log").to_frame()
    last = table.iloc[-1]
    assert last["rule"] == OTHERS == "all other rule sets"
    assert last["rules"] == entries_of(mined("log"))[0]["rest"]["rules"]
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


def test_scores_and_sets_that_share_a_rule_set_are_distinguished():
    scores = mined("scores").to_frame()
    assert set(scores["score"]) == {"rate", "tpr", "fpr"}
    assert list(scores["rule"][-3:]) == [OTHERS] * 3
    frame = people()
    for score, taken in {
        "rate": frame["due"] >= 0,
        "tpr": frame["due"] == 1,
        "fpr": frame["due"] == 0,
    }.items():
        mine = scores[scores["score"] == score]
        assert (mine["n"] == taken.sum()).all()
        assert mine["population"].nunique() == 1
    sets = mined("sets")
    shared = [line for line in mined_findings(sets) if line.about == "sex F"]
    assert {tuple(line.entry["over"]) for line in shared} <= {("sex",), ("sex", "age")}
    table = sets.to_frame()
    assert set(table["over"]) == {"sex", "sex, age"}
    assert set(table.loc[table["rule"] == OTHERS, "over"]) == {"sex", "sex, age"}


def test_two_findings_of_the_same_rule_set_come_from_two_minings():
    frame = people()
    frame["granted"] = (frame["sex"] == "M").astype(int)
    result = eh.mine_log(frame, outcome="granted", over=[("sex",), ("sex", "age")], top=1)
    table = result.to_frame()
    assert table.loc[table["rule"] == "sex F", "over"].tolist() == ["sex", "sex, age"]


def test_a_ratio_to_nothing_is_missing():
    frame = pd.DataFrame({"sex": ["F"] * 40 + ["M"] * 60, "granted": [1] * 40 + [0] * 60})
    row = eh.mine_log(frame, outcome="granted", over="sex").to_frame().iloc[0]
    assert (row["rule"], row["rate"], row["other"]) == ("sex F", 1.0, 0.0)
    assert np.isnan(row["ratio"])
    assert row["ratio_low"] > 1
    assert np.isnan(row["ratio_high"])


def test_texts_have_texts_in_place_of_rows():
    table = mined("texts").to_frame()
    assert [name for name in table.columns if name not in COLUMNS] == ["texts", "against"]
    assert set(table["against"]) == {"terms"}
    assert set(mined("rest").to_frame()["against"]) == {"rest"}
    first = table.iloc[0]
    assert first["rule"] == "gender gay"
    assert (first["difference"], first["rate"], first["other"], first["texts"]) == (
        -1.0,
        0.0,
        1.0,
        100,
    )


def test_changes_of_terms_have_a_table_of_their_own():
    result = mined("causal")
    table = result.to_frame()
    assert list(table.columns) == [
        *[
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
        ],
        *["population", "limit", "verdict", "output", "claim"],
    ]
    assert set(table["about"]) >= {"gender", "religion"}
    np.testing.assert_allclose(
        table["value"], table["changed"] / table["texts"].astype(float)
    )
    gender = table[table["about"] == "gender"].iloc[0]
    assert (
        gender["value"] == 1.0
    )  # every text has a term that changes it: to gay, or from it
    assert gender["most"] == "gender gay"


def test_a_result_whose_details_are_of_another_is_refused():
    result = replace(mined("log"), details=mined("whole").details)
    refused(UsageError, result.to_frame, "damaged", "its details do not tell of")
