"""Subgroups as they are read: the tree of the page, stories under others on a terminal, and
`result.refine`.
"""

from __future__ import annotations

import json
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.formats import FORMATS
from evenhand.methods.mine.plot.display import HeatDisplay, MineDisplay
from evenhand.methods.mine.subgroups import messages as tree_messages
from evenhand.methods.mine.subgroups import tree
from evenhand.results.evidence import Finding
from evenhand.runtime.errors import UsageError
from evenhand.space.rule import Condition, Rule
from tests.support.evidence import made
from tests.support.formats import QUICK
from tests.support.helpers import refused

OVER = ["race", "sex", "age"]
PURPLE = "race purple"
OLD_AND_PURPLE = "race purple, age at least 55"
COLUMNS = [
    "rule",
    "rate",
    "other",
    "difference",
    "low",
    "high",
    "support",
    "shown",
    "level",
]


@cache
def people(rows: int = 6000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "race": rng.choice(
                ["green", "blue", "purple"],
                rows,
                p=[0.4, 0.35, 0.25],
            ),
            "sex": rng.choice(["female", "male"], rows),
            "age": rng.integers(
                18,
                80,
                rows,
            ),
        }
    )


@cache
def nested(**options: Any) -> eh.Result:
    """Return a mining of people who are granted less if they are purple, and then less if old."""
    frame = people()
    rng = np.random.default_rng(1)
    is_purple = frame["race"] == "purple"
    is_old = frame["age"] >= 55
    rate = 0.6 - 0.25 * is_purple - 0.25 * (is_purple & is_old)
    granted = (rng.random(len(frame)) < rate).astype(int)
    return eh.mine_log(
        frame.assign(granted=granted), outcome="granted", over=OVER, **options
    )


@cache
def numbers() -> eh.Result:
    frame = people()
    rng = np.random.default_rng(2)
    is_purple = frame["race"] == "purple"
    is_old = frame["age"] >= 55
    price = 30 - 5.0 * is_purple - 5.0 * (is_purple & is_old)
    frame = frame.assign(
        price=price
        + rng.normal(
            0,
            2,
            len(frame),
        )
    )
    return eh.mine_log(
        frame,
        outcome="price",
        over=OVER,
    )


@cache
def nothing(**options: Any) -> eh.Result:
    """Return a mining of people of whom none is treated differently."""
    frame = people(1000)
    rng = np.random.default_rng(3)
    granted = rng.integers(
        0,
        2,
        len(frame),
    )
    return eh.mine_log(
        frame.assign(granted=granted), outcome="granted", over=OVER, **options
    )


def before(result: eh.Result) -> eh.Result:
    """Return a result as it was written before stories had parts."""
    table = json.loads(result.to_json())
    for entry in table["details"]["mine"]:
        for story in entry["stories"]:
            for key in ("parent", "added", "shares", "refinements"):
                del story[key]
    del table["digest"]
    return eh.Result.from_dict(table)


class Outline(HTMLParser):
    """The parts of the trees of a page that open, as deep as they stand, and all their words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened: list[tuple[int, str]] = []
        self.words = ""
        self._divisions = 0
        self._details = 0
        self._in_summary = False
        self.feed(page)
        self.opened = [(depth, " ".join(line.split())) for depth, line in self.opened]

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "div" and dict(attrs).get("class") == "tree":
            self._divisions += 1
        if not self._divisions:
            return
        assert tag not in ("script", "iframe")
        self._details += tag == "details"
        if tag == "summary":
            self._in_summary = True
            self.opened.append((self._details, ""))

    def handle_endtag(self, tag: str) -> None:
        if not self._divisions:
            return
        self._divisions -= tag == "div"
        self._details -= tag == "details"
        if tag == "summary":
            self._in_summary = False

    def handle_data(self, data: str) -> None:
        if not self._divisions:
            return
        self.words += data
        if self._in_summary:
            depth, line = self.opened[-1]
            self.opened[-1] = depth, line + data


def test_the_page_has_a_tree_of_stories_within_stories():
    outline = Outline(nested(limit=0.1).to_html())
    opened = outline.opened
    assert opened[0][0] == 1
    assert opened[0][1].startswith("everybody: 6,000 rows")
    assert opened[1][0] == 2
    assert opened[1][1].startswith("fail race purple")
    below = [line for depth, line in opened if depth == 3 and "… and age at least" in line]
    assert below[0].startswith("fail … and age at least 55")
    assert "points less (" in below[0]


def test_a_story_unfolds_to_what_carries_it_and_what_is_within_it():
    words = Outline(nested().to_html()).words
    assert tree_messages.WHAT_CARRIES in words
    assert tree_messages.STORIES_WITHIN in words
    assert tree_messages.REFINEMENTS_WITHIN in words
    assert "Variations that the story explains: " in words
    assert "points less still (" in words
    assert tree_messages.IS_SHOWN in words
    assert tree_messages.MAY_BE_CHANCE in words


def test_numbers_are_in_their_unit_there():
    words = Outline(numbers().to_html()).words
    assert "less still (" in words
    assert "points" not in words


def test_a_page_without_stories_has_no_tree():
    page = nothing(limit=0.1).to_html()
    assert not Outline(page).opened
    assert tree_messages.TREE_HEADING not in page
    assert "no rule set is shown to be treated differently" in page.lower()


def test_results_from_before_are_shown_without_what_they_lack():
    old = before(nested(limit=0.1))
    outline = Outline(old.to_html())
    assert PURPLE in outline.words
    assert "… and" not in outline.words
    assert tree_messages.REFINEMENTS_WITHIN not in outline.words
    text = old.to_text()
    assert OLD_AND_PURPLE in text
    assert "… and" not in text
    assert not {"parent", "added"} & set(old.to_frame().columns)
    assert len(old.refine()) == len(nested(limit=0.1).refine())
    refused(
        UsageError,
        lambda: old.refine(PURPLE),
        "holds no refinements",
        PURPLE,
    )


def test_what_the_data_say_is_escaped():
    frame = people().assign(race="<script>alert(1)</script>")
    frame.loc[::3, "race"] = '"><img src=x>'
    granted = (frame["race"] != '"><img src=x>') & (frame["age"] < 60)
    found = eh.mine_log(
        frame.assign(granted=granted.astype(int)), outcome="granted", over=OVER
    )
    page = found.to_html()
    assert "<img src=x>" not in page
    assert "<script>alert" not in page
    assert Outline(page).opened


def test_only_so_many_stories_and_trees_are_drawn(monkeypatch):
    monkeypatch.setattr(
        tree,
        "MOST_STORIES",
        1,
    )
    words = Outline(nested().to_html()).words
    assert "… and age at least 55" not in words.split(tree_messages.REFINEMENTS_WITHIN)[0]
    assert "more are in the table below." in words
    frame = people().assign(granted=(people()["race"] != "purple").astype(int))
    several = eh.mine_log(
        frame,
        outcome="granted",
        over=[("race", "sex"), ("race", "age")],
    )
    monkeypatch.setattr(
        tree,
        "MOST_TREES",
        1,
    )
    assert several.to_html().count('<div class="tree">') == 1


def test_a_baseline_that_excuses_a_story_is_held_in_the_tree():
    frame = people().assign(granted=(people()["race"] != "purple").astype(int))
    checks = [{"job": "mine_log", "limit": 0.1}]
    audits = [
        eh.audit_log(
            frame,
            outcome="granted",
            over=["race", "sex"],
            checks=checks,
        )
        for _ in range(2)
    ]
    held = audits[0].against(audits[1])
    assert Outline(audits[0].to_html()).opened[1][1].startswith("fail race")
    assert Outline(held.to_html()).opened[1][1].startswith("pass race")


def test_on_a_terminal_a_story_stands_under_the_one_it_adds_to():
    lines = nested(limit=0.1).to_text().splitlines()
    (first,) = [
        place for place, line in enumerate(lines) if line.startswith("FAIL      race")
    ]
    assert lines[first + 1].startswith("FAIL        … and age at least 55 ")
    assert " points less still (" in lines[first + 2]
    worst = lines.index(next(line for line in lines if line.startswith("the worst:")))
    carried = lines[worst + 1].strip()
    assert carried.startswith("of which ")
    assert " points by race purple, " in carried
    assert carried.endswith(" points by age at least 55")


def test_in_little_width_the_rule_stands_above_its_numbers_and_is_still_indented():
    lines = nested(limit=0.1).to_text(width=60).splitlines()
    assert "FAIL        … and age at least 55" in lines


def test_one_condition_carries_all_of_it_without_a_word():
    frame = people().assign(granted=(people()["race"] != "purple").astype(int))
    found = eh.mine_log(
        frame,
        outcome="granted",
        over=["race", "sex"],
    )
    assert found.worst.about.text == PURPLE
    assert "of which" not in found.to_text()


def test_where_nothing_is_shown_one_sentence_stands_alone():
    text = nothing().to_text()
    assert "no rule set is shown to be treated differently" in text
    assert "everyone\nelse" not in text
    assert "the worst:" not in text


def test_what_is_known_exactly_has_no_interval():
    frame = people()
    space = eh.Space.from_frame(frame, protected=["race", "age"])

    def lend(given: Any) -> Any:
        is_purple = given["race"] == "purple"
        is_old = given["age"] >= 55
        luck = given["sex"] == "female"
        return ~is_purple & (~is_old | luck)

    whole = eh.mine(
        lend,
        space,
        eh.rows(frame),
        treatment="rows",
    )
    assert whole.worst.estimate.level == 1
    assert "(" not in Outline(whole.to_html()).words
    assert "in brackets" in Outline(nested().to_html()).words
    stories = whole.refine()
    assert (stories["low"] == stories["difference"]).all()
    assert (stories["level"] == 1).all()


def test_the_frame_has_the_story_above_and_what_is_added():
    frame = nested().to_frame().set_index("rule")
    row = frame.loc[OLD_AND_PURPLE]
    assert row["parent"] == PURPLE
    assert row["added_low"] < row["added"] < row["added_high"] < 0
    assert frame.loc[PURPLE, "parent"] == ""
    assert np.isnan(frame.loc[PURPLE, "added"])


def test_the_refinements_of_everybody_are_the_stories():
    stories = nested().refine()
    assert list(stories.columns) == COLUMNS
    assert stories["rule"].tolist()[:2] == [PURPLE, OLD_AND_PURPLE]
    assert stories["shown"].all()
    assert (stories["low"] <= stories["difference"]).all()
    assert (stories["difference"] <= stories["high"]).all()
    purple = people()["race"] == "purple"
    assert stories["support"][0] == pytest.approx(purple.mean())
    pd.testing.assert_frame_equal(nested().refine("everybody"), stories)
    pd.testing.assert_frame_equal(nested().refine(Rule(())), stories)


def test_a_rule_its_text_and_its_finding_have_the_same_refinements(tmp_path):
    result = nested()
    path = tmp_path / "mine.json"
    result.to_json(path)
    by_text = result.refine(PURPLE)
    rule = Rule((Condition("race", levels=("purple",)),))
    (finding,) = [found for found in result.findings if str(found.about) == PURPLE]
    pd.testing.assert_frame_equal(result.refine(rule), by_text)
    pd.testing.assert_frame_equal(result.refine(finding), by_text)
    pd.testing.assert_frame_equal(eh.Result.from_json(path).refine(PURPLE), by_text)
    assert list(by_text.columns) == COLUMNS
    old = by_text.set_index("rule").loc[OLD_AND_PURPLE]
    assert old["shown"]
    assert old["difference"] == pytest.approx(old["rate"] - old["other"])
    assert old["low"] < old["difference"] < old["high"] < 0


def test_refinements_are_refined_too_and_may_have_none():
    result = nested()
    within = result.refine("race purple, age < 55")
    assert len(within)
    assert not within["shown"].any()
    deepest = result.refine(within["rule"][0])
    assert list(deepest.columns) == COLUMNS
    assert deepest.empty
    assert deepest.dtypes.equals(within.dtypes)
    assert nothing().refine().empty


def test_of_several_minings_each_row_says_which():
    frame = people()
    granted = (frame["race"] != "purple").astype(int)
    over = [("race", "sex"), ("race", "age")]
    found = eh.mine_log(
        frame.assign(granted=granted),
        outcome="granted",
        over=over,
    )
    stories = found.refine()
    assert list(stories.columns) == [*COLUMNS, "over", "score", "output"]
    assert set(stories["over"]) == {"race, sex", "race, age"}
    both = found.refine(PURPLE)
    assert set(both["over"]) == {"race, sex", "race, age"}
    purple = [finding for finding in found.findings if str(finding.about) == PURPLE]
    places: list[Any] = [finding.detail for finding in purple]
    minings = [place.mining for place in places]
    first = purple[minings.index(0)]
    assert set(found.refine(first)["over"]) == {"race, sex"}


def test_an_unknown_rule_is_refused_with_the_nearest():
    result = nested()
    refused(
        UsageError,
        lambda: result.refine("race purpel"),
        "'race purpel'",
        f"did you mean {PURPLE!r}?",
    )
    of_others: Any = 5
    refused(
        UsageError,
        lambda: result.refine(of_others),
        "'5'",
        "valid choices",
    )
    foreign = Finding(
        "no finding of it",
        Rule(()),
        result.worst.estimate,
    )
    assert result.refine(foreign).empty


@pytest.mark.parametrize("name", ["measure_log", "mine_text, group"])
def test_other_verbs_name_those_that_can_be_refined(name):
    found = made(name)
    refused(
        UsageError,
        found.refine,
        f"this {found.job}",
        "mine and mine_log",
    )
    refused(
        UsageError,
        lambda: found.refine("sex F"),
        "mine and mine_log",
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("parent", 0),
        ("added", {"value": "much"}),
        ("shares", [{"text": "race purple"}]),
        ("like", [5]),
        ("refinements", [{"rate": None}]),
        ("rate", {"value": 0.5}),
    ],
)
def test_damaged_parts_of_a_story_are_refused_where_they_are_read(key, value):
    table = json.loads(nested().to_json())
    table["details"]["mine"][0]["stories"][0][key] = value
    del table["digest"]
    refused(
        UsageError,
        lambda: eh.Result.from_dict(table),
        "damaged",
        OLD_AND_PURPLE,
    )


def test_bars_mark_the_stories_that_stand_below_another():
    (bars,) = MineDisplay.from_result(nested()).bars
    assert bars.labels[:2] == [PURPLE, "… and age at least 55"]
    assert OLD_AND_PURPLE in bars.title
    assert bars.headers


def test_a_picture_of_nothing_says_that_nothing_is_shown(plotted):
    display = MineDisplay.from_result(nothing())
    (bars,) = display.bars
    assert bars.bars == ()
    assert bars.headers == ()
    assert bars.title.startswith("no rule set is shown to be treated differently")
    (label,) = bars.labels
    assert label.startswith("all ")
    assert plotted(nothing()).axes_


def test_white_is_the_rate_of_everybody_also_where_no_story_is_shown():
    (heat,) = HeatDisplay.from_result(nothing()).heats
    rates = np.array(heat.rates, dtype=float)
    rows = np.array(heat.rows, dtype=float)
    everybody = (rates * rows).sum() / rows.sum()
    assert heat.centre == pytest.approx(everybody)


@pytest.mark.parametrize("name", QUICK)
def test_every_format_shows_a_mining_without_stories(name):
    frame = people(1000)
    granted = np.random.default_rng(3).integers(
        0,
        2,
        len(frame),
    )
    frame = frame.assign(granted=granted)
    checks = [{"job": "mine_log", "limit": 0.5}]
    audits = [
        eh.audit_log(
            frame,
            outcome="granted",
            over=OVER,
            checks=checks,
        )
        for _ in range(2)
    ]
    held = audits[0].against(audits[1])
    assert str(held.verdict) == "pass"
    (check,) = held.checks
    assert isinstance(check.found, eh.Result)
    assert check.found.refine().empty
    assert FORMATS[name].render(held)
