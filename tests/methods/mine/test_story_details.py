"""What the details of a result hold of stories: of counts, weights and numbers, in a file, and of
results that were written without it.
"""

from __future__ import annotations

import itertools
import json
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.methods.mine.plot.display import MineDisplay
from evenhand.methods.mine.table import mined_findings, worst_of
from evenhand.report.terminal import lines

KINDS = ("log", "weights", "numbers")
ADDED_LATER = ("added", "shares", "refinements", "parent")
"""What stories of format 2 did not always have."""


@cache
def people() -> pd.DataFrame:
    """Return people of whom women get less, those over 42 much less, and one plan gets more."""
    rng = np.random.default_rng(11)
    rows = 3000
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], rows),
            "plan": rng.choice(
                ["x", "y", "z"],
                rows,
                p=[0.6, 0.3, 0.1],
            ),
            "age": rng.integers(
                18,
                68,
                rows,
            ),
        }
    )
    rate = 0.75 - 0.25 * (frame["sex"] == "F")
    rate -= 0.3 * ((frame["sex"] == "F") & (frame["age"] >= 43))
    frame["granted"] = (rng.random(rows) < rate).astype(int)
    frame["pay"] = 3000 + 4000 * rate + 300 * rng.standard_normal(rows)
    frame["weight"] = rng.random(rows).round(3)
    return frame


def granted(asked: Any) -> Any:
    """Return the recorded decisions, by the place of a person."""
    return people()["granted"].to_numpy()[asked["number"]] == 1


OVER = ["sex", "plan", "age"]
COLUMN_OF = {"log": "granted", "weights": "granted", "numbers": "pay"}


@cache
def mined(kind: str) -> eh.Result:
    frame = people()
    if kind != "weights":
        return eh.mine_log(
            frame,
            outcome=COLUMN_OF[kind],
            over=OVER,
            bins=5,
        )
    numbered = frame[OVER].assign(number=np.arange(len(frame)))
    space = eh.Space.from_frame(numbered, protected=OVER)
    rows = eh.rows(numbered, weights=frame["weight"].to_numpy())
    return eh.mine(
        eh.Subject(
            granted,
            space,
            positive=True,
        ),
        data=rows,
        treatment="rows",
        bins=5,
        support=0.1,
    )


def entry_of(result: eh.Result) -> Any:
    (entry,) = result.details["mine"]
    return entry


def inside_of(story: Any) -> Any:
    """Return which of the people meet the conditions of a story."""
    frame = people()
    inside = np.ones(len(frame), dtype=bool)
    for condition in story["rule"]["conditions"]:
        column = frame[condition["feature"]]
        if "levels" in condition:
            inside &= column.isin(condition["levels"]).to_numpy()
        inside &= column.ge(condition["low"]).to_numpy() if "low" in condition else True
        inside &= column.lt(condition["below"]).to_numpy() if "below" in condition else True
    return inside


def gap(kind: str, inside: Any, within: Any) -> float:
    """Return how far some people are from the others within some."""
    frame = people()
    weights = frame["weight"] if kind == "weights" else np.ones(len(frame))
    values = frame[COLUMN_OF[kind]]
    means = []
    for side in (inside & within, ~inside & within):
        means.append(
            np.average(
                values[side],
                weights=weights[side],
            )
        )
    inside_mean, other_mean = means
    return float(inside_mean - other_mean)


@pytest.mark.parametrize("kind", KINDS)
def test_stories_shares_and_refinements_are_true_to_the_data(kind):
    stories = entry_of(mined(kind))["stories"]
    everybody = np.ones(len(people()), dtype=bool)
    assert len(stories) > 1
    for story in stories:
        inside = inside_of(story)
        difference = gap(
            kind,
            inside,
            everybody,
        )
        assert story["difference"] == pytest.approx(difference)
        assert story["rows"] == inside.sum()
        shares = [part["share"] for part in story["shares"]]
        assert sum(shares) == pytest.approx(difference)
        texts = [part["text"] for part in story["shares"]]
        assert ", ".join(texts) == story["text"]
        for part in story["refinements"]:
            check_refinement(
                kind,
                part,
                inside,
            )


def check_refinement(kind: str, part: Any, within: Any) -> None:
    inside = inside_of(part)
    assert not (inside & ~within).any()
    difference = gap(
        kind,
        inside,
        within,
    )
    assert part["difference"] == pytest.approx(difference)
    assert part["rate"] - part["other"] == pytest.approx(difference)
    assert part["low"] <= part["difference"] + 1e-9
    assert part["high"] >= part["difference"] - 1e-9
    for deeper in part["refinements"]:
        check_refinement(
            kind,
            deeper,
            inside,
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_story_below_another_says_how_far_it_is_from_the_others_there(kind):
    result = mined(kind)
    stories = entry_of(result)["stories"]
    claims = {str(finding.about): finding.claim for finding in result.findings}
    below = [story for story in stories if story["parent"] is not None]
    assert below
    for story in below:
        above = stories[story["parent"]]
        added = story["added"]
        difference = gap(
            kind,
            inside_of(story),
            inside_of(above),
        )
        assert added["within"]
        assert added["value"] == pytest.approx(difference)
        assert added["level"] == (1.0 if kind == "weights" else 0.95)
        assert added["low"] <= added["value"] <= added["high"]
        claim = claims[story["text"]]
        direction = "less" if difference < 0 else "more"
        assert f" {direction} still than the other people with {above['text']}" in claim
    parents = {story["parent"] for story in stories}
    for number, story in enumerate(stories):
        is_leaf = number not in parents and bool(story["refinements"])
        ends = claims[story["text"]].endswith("; within them nothing more stands out")
        assert ends == is_leaf


@pytest.mark.parametrize(
    ("kind", "bins_within"),
    [
        ("log", ["48"]),
        ("weights", ["38", "48"]),
        ("numbers", ["38", "48"]),
    ],
)
def test_older_women_stand_below_women(kind, bins_within):
    """Nobody is cut at 43: where much is known, the bins around it stand below each other."""
    *stories, _ = mined_findings(mined(kind))
    texts = [line.story["text"] for line in stories]
    assert texts == ["sex F", *(f"sex F, age at least {age}" for age in bins_within)]
    assert [line.depth for line in stories] == list(range(len(texts)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_tree_holds_every_finding_once_and_the_worst_is_the_results(kind):
    result = mined(kind)
    found = mined_findings(result)
    claims = [line.finding.claim for line in found]
    assert sorted(claims) == sorted(finding.claim for finding in result.findings)
    assert worst_of(found).finding.claim == result.worst.claim
    for line, after in itertools.pairwise(found):
        assert after.depth <= line.depth + 1
    assert f"the worst: {result.worst.claim}" in "\n".join(lines(result))
    (bars, *_) = MineDisplay.from_result(result).bars
    assert bars.title == result.worst.claim


@pytest.mark.parametrize("kind", KINDS)
def test_details_are_the_same_from_a_file(kind, tmp_path):
    result = mined(kind)
    path = tmp_path / "mined.json"
    result.to_json(path)
    again = eh.Result.from_json(path)
    assert again.digest == result.digest
    assert entry_of(again) == json.loads(json.dumps(entry_of(result)))
    assert entry_of(again)["stories"] == entry_of(result)["stories"]
    assert lines(again) == lines(result)


def as_written_before(result: eh.Result) -> eh.Result:
    """Return a result as format 2 held it before stories said what they add."""
    document = deepcopy(json.loads(result.to_json()))
    for entry in document["details"]["mine"]:
        for story in entry["stories"]:
            for key in ADDED_LATER:
                story.pop(key, None)
    for finding in document["findings"]:
        finding["claim"] = finding["claim"].split(";")[0]
    document.pop("digest", None)
    return eh.Result.from_dict(document)


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_that_was_written_without_them_is_still_shown(kind):
    result = mined(kind)
    before = as_written_before(result)
    assert not set(ADDED_LATER) & set(entry_of(before)["stories"][0])
    found = mined_findings(before)
    assert [line.depth for line in found] == [0] * len(found)
    assert [line.finding for line in found] == list(before.findings)
    shown = "\n".join(lines(before))
    page = before.to_html()
    for story in entry_of(before)["stories"]:
        assert story["text"] in shown
    assert before.worst.claim in page.replace("&lt;", "<")
    table = before.to_frame()
    rules = [story["text"] for story in entry_of(before)["stories"]]
    assert table["rule"].tolist()[:-1] == rules
    columns = ["rule", "difference", "low", "high", "rows", "rules"]
    by_rule = result.to_frame()[columns].sort_values("rule", ignore_index=True)
    old = table[columns].sort_values("rule", ignore_index=True)
    pd.testing.assert_frame_equal(old, by_rule)
    assert MineDisplay.from_result(before).bars


def test_nothing_shown_is_one_finding():
    frame = people().assign(granted=np.arange(3000) % 2)
    result = eh.mine_log(
        frame,
        outcome="granted",
        over=["sex", "plan"],
        limit=0.1,
    )
    (only,) = result.findings
    entry = entry_of(result)
    assert entry["stories"] == []
    assert result.worst is only
    count = entry["examined"]
    assert only.claim.startswith(
        f"no rule set is shown to be treated differently: none of all {count} is further"
    )
    assert entry["rest"]["rules"] == count
    (line,) = mined_findings(result)
    assert line.others
    assert worst_of([line]) is line
    assert only.claim in "\n".join(lines(result))
    assert only.claim in result.to_html()
    assert len(result.to_frame()) == 1
    (bars,) = MineDisplay.from_result(result).bars
    assert bars.title.endswith(only.claim)
