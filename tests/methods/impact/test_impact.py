from __future__ import annotations

import json
import warnings
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from evenhand.methods.impact.impact import impact
from evenhand.methods.impact.plot import ImpactDisplay
from evenhand.methods.impact.selection_rates import frame, remarks, tables_of
from evenhand.methods.impact.tally import UNKNOWN_LABELS, normalised
from evenhand.methods.impact.text import lines as text_lines
from evenhand.report.definitions import NO_CLAIM
from evenhand.results import result as results
from evenhand.results.result import Result
from evenhand.runtime.errors import DataError, UsageError
from evenhand.statistics import ratios
from tests.support.helpers import examples, refused


def rows(**counts: tuple[int, int]) -> pd.DataFrame:
    """So many hired of so many for each `sex_race`."""
    found = [
        (*name.split("_"), int(row < k)) for name, (k, n) in counts.items() for row in range(n)
    ]
    return pd.DataFrame(found, columns=["sex", "race", "hired"])


HIRED = rows(
    F_green=(60, 300), F_purple=(45, 150), M_green=(150, 300), M_purple=(90, 240), M_teal=(1, 10)
)
BOTH: Any = [("sex",), ("race",)]


def table(result: Result, *over: str) -> Any:
    return next(one for one in tables_of(result) if tuple(one["over"]) == over)


def category(found: Any, **about: Any) -> Any:
    return next(one for one in found["categories"] if one["about"] == about)


@pytest.fixture(scope="module")
def result() -> Result:
    return impact(HIRED, outcome="hired", over=BOTH, least_ratio=0.8)


def test_rates_and_ratios_are_told_by_category_and_by_what_the_columns_make_together(result):
    assert [tuple(one["over"]) for one in tables_of(result)] == [
        ("sex",),
        ("race",),
        ("sex", "race"),
    ]
    women, men = category(table(result, "sex"), sex="F"), category(table(result, "sex"), sex="M")
    assert (women["n"], women["selected"], women["share"]) == (450, 105, 0.45)
    assert women["rate"]["value"] == pytest.approx(105 / 450)
    assert women["ratio"]["value"] == pytest.approx((105 / 450) / (241 / 550))
    assert men["ratio"]["value"] == 1
    assert table(result, "sex")["best"] == {"sex": "M"}
    finding = next(one for one in result.findings if one.about == ("sex",))
    assert finding.claim == "by sex, the lowest selection rate is 53.3 % of the highest"
    assert (finding.limit, finding.least, finding.verdict, result.job) == (
        0.8,
        True,
        "fail",
        "impact",
    )
    assert [str(group) for group in finding.groups] == ["sex F", "sex M"]
    assert finding.estimate.population == "the recorded decisions"
    assert finding.estimate.n == 1000


def test_intervals_share_the_error_over_three_families_of_each_set(result):
    found = category(table(result, "sex"), sex="F")
    low, high = ratios.ratios_to_best([105, 241], [450, 550], 1 - 0.05 / 9)
    assert found["ratio"]["low"] == pytest.approx(low[0], abs=1e-4)
    assert found["ratio"]["high"] == pytest.approx(high[0], abs=1e-4)
    assert found["rate"]["level"] == 0.95
    assert found["ratio"]["method"] == "melded, simultaneous over all rates and ratios of 3 sets"
    alone = category(table(impact(HIRED, outcome="hired", over="sex"), "sex"), sex="F")
    assert alone["ratio"]["low"] > found["ratio"]["low"]


def test_a_small_category_is_shown_with_its_rate_but_has_no_ratio(result):
    teal = category(table(result, "race"), race="teal")
    assert (teal["n"], teal["rate"]["value"], teal["ratio"]) == (10, 0.1, None)
    assert teal["left_out"] == "under 2 % of the rows"
    assert any("teal (10 rows)" in note and "nothing is decided" in note for note in result.notes)
    (finding,) = (one for one in result.findings if one.about == ("race",))
    assert [str(group) for group in finding.groups] == ["race green", "race purple"]
    # With everybody compared it is the lowest.
    every = impact(HIRED, outcome="hired", over="race", support=0)
    assert every.worst.estimate.value == pytest.approx(0.1 / (210 / 600))


def test_a_small_category_is_never_the_best():
    few = rows(F_a=(20, 500), M_a=(50, 500), X_a=(5, 5))
    found = table(impact(few, outcome="hired", over="sex"), "sex")
    assert found["best"] == {"sex": "M"}
    assert category(found, sex="X")["rate"]["value"] == 1


def test_a_category_of_exactly_the_smallest_share_is_compared():
    some = rows(F_a=(3, 7), M_a=(50, 93))
    assert category(table(impact(some, outcome="hired", over="sex", support=0.07), "sex"), sex="F")[
        "ratio"
    ]
    assert not category(
        table(impact(some, outcome="hired", over="sex", support=0.0701), "sex"), sex="F"
    )["ratio"]


@pytest.mark.parametrize(
    "label", [None, np.nan, "", "  ", "Unknown", "PREFER NOT TO SAY", "prefer-not-to-say", "?"]
)
def test_unknown_people_are_counted_and_left_out(label):
    extra = pd.DataFrame({"sex": [label] * 30, "race": ["green"] * 30, "hired": [1] * 30})
    found = impact(pd.concat([HIRED, extra], ignore_index=True), outcome="hired", over=BOTH)
    by_sex = table(found, "sex")
    assert (by_sex["rows"], by_sex["unknown"]) == (1030, 30)
    assert [one["about"] for one in by_sex["categories"]] == [{"sex": "F"}, {"sex": "M"}]
    assert table(found, "sex", "race")["unknown"] == 30
    assert table(found, "race")["unknown"] == 0
    assert category(table(found, "race"), race="green")["n"] == 630
    told = " ".join(found.notes)
    assert "30 of 1,030 rows have an unknown sex" in told
    assert "unknown sex or race" in told


def test_an_intersection_counts_who_lacks_either():
    frame = HIRED.copy()
    frame.loc[:9, "sex"] = None
    frame.loc[5:24, "race"] = "declined"
    found = impact(frame, outcome="hired", over=BOTH)
    assert [one["unknown"] for one in tables_of(found)] == [10, 20, 25]
    assert table(found, "sex", "race")["unknown_as"] == [
        {"column": "sex", "label": None, "n": 10},
        {"column": "race", "label": "declined", "n": 20},
    ]


def test_which_labels_are_unknown_can_be_said():
    frame = HIRED.replace({"race": {"teal": "Other", "green": "unknown"}})
    kept = table(impact(frame, outcome="hired", over="race", unknown=()), "race")
    assert {one["about"]["race"] for one in kept["categories"]} == {"Other", "unknown", "purple"}
    assert kept["unknown"] == 0
    assert (
        table(impact(frame, outcome="hired", over="race", unknown="OTHER"), "race")["unknown"] == 10
    )
    codes = HIRED.assign(sex=HIRED.sex.map({"F": 1, "M": 2}).where(HIRED.race != "teal", 9))
    assert table(impact(codes, outcome="hired", over="sex", unknown=[9]), "sex")["unknown"] == 10


def test_a_religion_called_none_is_a_category():
    frame = HIRED.replace({"sex": {"F": "None"}})
    assert table(impact(frame, outcome="hired", over="sex"), "sex")["unknown"] == 0
    assert all(normalised(label) == label for label in UNKNOWN_LABELS)


@pytest.mark.parametrize(
    ("over", "intersections", "sets"),
    [
        ("sex", True, [("sex",)]),
        (["sex", "race"], True, [("sex", "race")]),
        (BOTH, False, [("sex",), ("race",)]),
        ([("race",), ("sex",), ("sex", "race")], True, [("race",), ("sex",), ("sex", "race")]),
        ([("sex",), ("sex",)], True, [("sex",)]),
        (["sex", ("race",)], True, [("sex",), ("race",), ("sex", "race")]),
    ],
)
def test_the_intersection_of_single_columns_is_added_once(over, intersections, sets):
    found = impact(HIRED, outcome="hired", over=over, intersections=intersections)
    assert [tuple(one["over"]) for one in tables_of(found)] == sets


def scores(n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    sex = rng.choice(["F", "M"], n)
    return pd.DataFrame(
        {"sex": sex, "points": np.round(rng.normal(50, 9, n) + 5 * (sex == "M"), 1)}
    )


def test_a_scoring_rate_is_the_share_above_the_median():
    frame = scores()
    found = impact(frame, outcome="points", over="sex", scored=True)
    median, by_sex = frame.points.median(), table(found, "sex")
    assert (by_sex["kind"], by_sex["median"]) == ("scoring", median)
    share = (frame.points > median).groupby(frame.sex).mean()
    for sex in "FM":
        assert category(by_sex, sex=sex)["rate"]["value"] == pytest.approx(share[sex])
    assert (
        found.worst.claim
        == f"by sex, the lowest scoring rate is {100 * share.min() / share.max():.1f} % of the"
        " highest"
    )
    assert any(note.startswith(f"the median of points is {median:g}") for note in found.notes)
    assert found.worst.estimate.population == "the recorded scores"


def test_scores_that_are_missing_or_tied_are_told():
    frame = scores().assign(points=lambda frame: frame.points.round(-1))
    frame.loc[:4, "points"] = np.nan
    found = impact(frame, outcome="points", over="sex", scored=True)
    assert found.details["missing_outcomes"] == 5
    assert table(found, "sex")["rows"] == 595
    assert any("equal to the median, which counts as not above it" in note for note in found.notes)
    assert any("5 of 600 rows have no points" in note for note in found.notes)


ENGINES = {
    "nullable": lambda frame: frame.convert_dtypes(),
    "polars": pl.from_pandas,
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "polars with NaN": lambda frame: pl.from_pandas(frame, nan_to_null=False),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 900
    sex = rng.choice(np.array(["F", "M", None, "declined"]), n, p=[0.4, 0.5, 0.06, 0.04])
    frame = pd.DataFrame({"sex": sex, "race": rng.choice(["green", "purple"], n)})
    gone = rng.uniform(size=n)
    frame["ok"] = np.where(gone < 0.03, np.nan, rng.integers(0, 2, n))
    return frame.assign(points=np.where(gone > 0.95, np.nan, rng.normal(size=n)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("outcome", "scored"), [("ok", False), ("points", True)])
def test_every_engine_gives_the_same(engine, outcome, scored):
    how: Any = {"outcome": outcome, "over": BOTH, "scored": scored, "least_ratio": 0.8}
    assert impact(ENGINES[engine](people()), **how).digest == impact(people(), **how).digest


def test_the_order_of_rows_does_not_matter_and_json_brings_it_back(result, tmp_path):
    again = impact(
        HIRED.sample(frac=1, random_state=0), outcome="hired", over=BOTH, least_ratio=0.8
    )
    assert again.digest == result.digest
    file = tmp_path / "impact.json"
    result.to_json(file)
    jsonschema.validate(json.loads(file.read_text(encoding="utf-8")), results.schema())
    back = Result.from_json(file)
    assert back.digest == result.digest
    assert list(text_lines(back, width=100)) == list(text_lines(result, width=100))
    pd.testing.assert_frame_equal(frame(back), frame(result))


def test_the_frame_has_a_row_for_each_category(result):
    found = frame(result)
    assert len(found) == sum(len(one["categories"]) for one in tables_of(result)) == 11
    assert list(found.columns[:4]) == ["sex", "race", "over", "kind"]
    women = found[(found.over == "sex") & (found.sex == "F")].iloc[0]
    assert women.rate_low < women.rate < women.rate_high
    assert women.ratio_low < women.ratio < women.ratio_high
    assert found[found.over == "sex, race"].best.sum() == 1
    assert found[found.left_out != ""].ratio.isna().all()
    renamed = frame(impact(HIRED.rename(columns={"sex": "n"}), outcome="hired", over="n"))
    assert list(renamed["by.n"]) == ["F", "M"]
    assert list(renamed["n"]) == [450, 550]


def test_categories_that_nobody_is_in_are_listed_and_keep_a_full_comparison_from_passing():
    frame = HIRED.assign(sex=pd.Categorical(HIRED.sex, ["F", "M", "X"]), hired=1)
    found = table(impact(frame, outcome="hired", over="sex"), "sex")
    assert category(found, sex="X")["left_out"] == "no rows"
    full = impact(frame, outcome="hired", over="sex", support=0, least_ratio=0.5)
    assert full.verdict == "undecided"
    assert any("cannot pass: sex X" in note for note in full.notes)
    without = impact(frame, outcome="hired", over="sex", least_ratio=0.5)
    assert without.verdict == "pass"


def test_where_no_ratio_is_defined_nothing_is_decided():
    few = rows(F_a=(3, 300), M_a=(0, 4), X_a=(0, 4))
    one = impact(few, outcome="hired", over="sex", least_ratio=0.8)
    assert (
        one.worst.claim
        == "by sex, the impact ratio is undefined: fewer than two categories have 2 % of the rows"
    )
    assert (one.verdict, table(one, "sex")["best"]) == ("undecided", None)
    none = impact(
        rows(F_a=(0, 300), M_a=(0, 300), X_a=(4, 4)), outcome="hired", over="sex", least_ratio=0.8
    )
    assert "nobody in the categories compared has the favourable outcome" in none.worst.claim
    assert none.verdict == "undecided"
    assert list(text_lines(none, width=80))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"outcome": "hird"}, ("'hird'", "did you mean 'hired'")),
        ({"over": "sexx"}, ("'sexx'", "did you mean 'sex'")),
        ({"over": [("sex",), (3,)]}, ("over names 3",)),
        ({"frame": HIRED.iloc[:0]}, ("no rows",)),
        ({"frame": HIRED.assign(hired=0)}, ("no hired is the favourable 1",)),
        ({"frame": HIRED.assign(hired=None)}, ("missing in all 1,000 rows",)),
        ({"frame": HIRED.assign(sex="F")}, ("one category, sex F",)),
        ({"frame": HIRED.assign(sex="unknown")}, ("no row has a known sex",)),
        (
            {"frame": HIRED.assign(hired=HIRED.sex), "over": "race", "scored": True},
            ("scored=True needs", "'hired'"),
        ),
        (
            {"frame": HIRED.iloc[:0].astype({"hired": float}), "scored": True},
            ("the frame has no rows",),
        ),
        ({"frame": HIRED.assign(hired=np.nan), "scored": True}, ("median of 'hired' is nan",)),
        ({"frame": HIRED.assign(hired=1.5), "scored": True}, ("no hired is above the median 1.5",)),
    ],
)
def test_bad_data_gets_one_sentence(call, words):
    how: Any = {"frame": HIRED, "outcome": "hired", "over": "sex"} | call
    refused(DataError, lambda: impact(how.pop("frame"), **how), *words)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"over": "hired"}, ("the outcome itself",)),
        ({"over": None}, ("over = None names no columns",)),
        ({"over": ()}, ("names no columns",)),
        ({"over": [("sex", "sex")]}, ("each once",)),
        ({"positive": "yes"}, ("positive = 'yes'", "did you mean")),
        ({"positive": 1, "scored": True}, ("cannot be combined with scored=True",)),
        ({"least_ratio": 80}, ("least_ratio is 80", "0.8")),
        ({"level": 1}, ("level is 1",)),
        ({"support": -0.1}, ("support is -0.1",)),
        ({"unknown": 3}, ("unknown = 3", "list of labels")),
        ({"suport": 0.1}, ("'suport'", "did you mean 'support'")),
        ({"frame": HIRED.assign(sex=range(1000))}, ("1,000 different numbers", "categories first")),
        (
            {"frame": HIRED.assign(hired=np.arange(1000) / 7)},
            ("1,000 different numbers", "scored=True"),
        ),
        ({"frame": HIRED.assign(hired=HIRED.race)}, ("not 0 and 1", "the option positive")),
        (
            {"frame": pd.concat([HIRED.assign(sex=[f"s{i}" for i in range(1000)])] * 2 + [HIRED])},
            ("1,002 categories",),
        ),
        (
            {"frame": HIRED.assign(sex=[f"s{i % 300}" for i in range(1000)]), "support": 0},
            ("300", "support=0.02"),
        ),
    ],
)
def test_wrong_arguments_get_one_sentence(call, words):
    how: Any = {"frame": HIRED, "outcome": "hired", "over": "sex"} | call
    refused(
        UsageError,
        lambda: impact(how.pop("frame"), **how),
        *[word.replace("did you mean", "") for word in words],
    )


def test_a_seed_is_kept_and_changes_nothing_else(result):
    other = impact(HIRED, outcome="hired", over=BOTH, least_ratio=0.8, seed=7)
    assert (result.seed, other.seed) == (0, 7)
    assert other.findings == result.findings


def test_findings_are_known_by_their_columns(result):
    keys = sorted(finding.key for finding in result.findings)
    assert keys == ["impact ratio of race", "impact ratio of race, sex", "impact ratio of sex"]


def test_an_intersection_without_anybody_says_how_to_leave_it_out():
    apart = HIRED.assign(sex=np.where(np.arange(1000) % 2, HIRED.sex, None))
    apart["race"] = np.where(np.arange(1000) % 2, None, apart.race)
    refused(
        DataError,
        lambda: impact(apart, outcome="hired", over=BOTH),
        "sex and race",
        "intersections=False",
    )
    assert len(tables_of(impact(apart, outcome="hired", over=BOTH, intersections=False))) == 2


@given(
    counts=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=2, max_size=5),
    lost=st.integers(0, 9),
    support=st.sampled_from([0.0, 0.02, 0.2]),
)
@settings(max_examples=examples(20), deadline=None)
def test_nobody_is_lost_and_every_interval_holds_its_value(counts, lost, support):
    names = "ABCDE"[: len(counts)]
    data = [(name, 1) for name, (k, _) in zip(names, counts, strict=True) for _ in range(k)]
    data += [(name, 0) for name, (_, m) in zip(names, counts, strict=True) for _ in range(m)]
    data += [("unknown", 1)] * lost
    if len({name for name, _ in data} - {"unknown"}) < 2 or not any(good for _, good in data):
        return
    found = impact(
        pd.DataFrame(data, columns=["g", "ok"]),
        outcome="ok",
        over="g",
        support=support,
        least_ratio=0.8,
    )
    one = table(found, "g")
    assert sum(each["n"] for each in one["categories"]) + one["unknown"] == one["rows"] == len(data)
    assert one["unknown"] == lost
    for each in one["categories"]:
        assert (each["ratio"] is None) == bool(each["left_out"])
        for score in (each["rate"], each["ratio"]):
            if score is not None and score["value"] is not None:
                assert 0 <= score["low"] <= score["value"] <= score["high"] <= 1
    told = [
        each["ratio"]["value"]
        for each in one["categories"]
        if each["ratio"] and each["ratio"]["value"] is not None
    ]
    if one["best"] is not None:
        assert max(told) == 1
        assert min(told) == pytest.approx(found.worst.estimate.value)
    jsonschema.validate(json.loads(found.to_json()), results.schema())


def text(result: Result, width: int | None = None) -> str:
    return "\n".join(str(line) for line in text_lines(result, width=width))


def test_the_terminal_shows_a_table_for_each_set_and_ends_without_a_claim(result):
    said = text(result)
    assert "FAIL      by sex, the lowest selection rate is 53.3 % of the highest" in said
    assert "limit at least 0.8" in said
    assert "left out" in said
    assert said.splitlines()[-1] == f"note: {NO_CLAIM}"
    assert said.count("teal (10 rows)") == 2  # by race, and by sex and race
    assert "highest" in text(result, 120)
    rows = [
        line
        for line in text(result, 80).splitlines()
        if line.startswith(("F, ", "M, ", "sex", "race"))
    ]
    assert rows
    assert max(map(len, rows)) <= 80
    plain = text(impact(HIRED, outcome="hired", over="sex"))
    assert plain.startswith("by sex, the lowest")


def test_labels_cannot_move_the_cursor_or_be_cut_out_of_the_table():
    frame = HIRED.replace({"sex": {"F": "\x1b[31mF\n", "M": "M" * 300}})
    said = text(impact(frame, outcome="hired", over="sex"), 80)
    assert "\x1b" not in said
    assert r"\x1b[31mF\n" in said


def test_of_very_many_categories_the_lowest_ratios_are_shown():
    many = pd.DataFrame({"g": [f"g{i % 63:02}" for i in range(6300)], "ok": 1})
    many.loc[(many.g == "g62") & (many.index < 3000), "ok"] = 0
    said = text(impact(many, outcome="ok", over="g", support=0))
    assert "g62" in said
    assert "… 3 more categories" in said


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


def test_the_display_has_ratios_lowest_first_and_what_is_left_out_last(result, ax):
    display = ImpactDisplay.from_result(result)
    race = display.panels[1]
    assert [bar.label.partition(",")[0] for bar in race.bars] == ["purple", "green", "teal"]
    assert race.bars[0].verdict == "undecided"
    assert race.bars[2].instead == "left out: under 2 % of the rows"
    assert race.limit == 0.8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.plot(ax).figure_.canvas.draw()
    assert display.ax_ is ax


def test_a_new_figure_has_all_sets_and_draws_only_a_given_limit(result):
    from matplotlib import pyplot
    from matplotlib.text import Text

    frame = HIRED.replace({"sex": {"F": "$a$_{b"}})
    for shown, lines in ((result, 3), (impact(frame, outcome="hired", over="sex"), 0)):
        display = ImpactDisplay.from_result(shown).plot()
        display.figure_.canvas.draw()
        texts = [each.get_text() for each in display.figure_.findobj(Text)]
        assert sum("engineering threshold" in each for each in texts) == lines
        assert len(display.axes_) == len(tables_of(shown))
        box, (wide, high) = display.figure_.get_tightbbox(), display.figure_.get_size_inches()
        assert box.x0 > -0.02
        assert box.y0 > -0.02
        assert box.x1 < wide + 0.02
        assert box.y1 < high + 0.02
        pyplot.close(display.figure_)


def test_remarks_name_a_few_and_count_the_rest():
    small = [
        {"about": {"g": f"g{i}"}, "n": 1, "left_out": "under 2 % of the rows"} for i in range(20)
    ]
    told = {
        "over": ["g"],
        "unknown": 0,
        "unknown_as": [],
        "rows": 400,
        "categories": small,
        "unlisted": 0,
    }
    (sentence,) = remarks(told)
    assert "… 12 more" in sentence
