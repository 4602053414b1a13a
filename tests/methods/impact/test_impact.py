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

import evenhand as eh
from evenhand.methods.impact.impact import impact
from evenhand.methods.impact.messages import UNKNOWN_LABELS
from evenhand.methods.impact.plot import ImpactDisplay
from evenhand.methods.impact.selection_rates import frame, remarks, tables_of
from evenhand.methods.impact.tally import normalised
from evenhand.methods.impact.text import lines as text_lines
from evenhand.report.definitions import NO_CLAIM
from evenhand.results import result as results
from evenhand.results.result import Result
from evenhand.runtime.errors import DataError, UsageError
from evenhand.statistics import ratios
from tests.support.helpers import examples, refused


def rows(**counts: tuple[int, int]) -> pd.DataFrame:
    """Return people of each `sex_race`: so many hired of so many."""
    people = []
    for name, (hired, number) in counts.items():
        sex, race = name.split("_")
        people += [(sex, race, 1)] * hired
        people += [(sex, race, 0)] * (number - hired)
    return pd.DataFrame(people, columns=["sex", "race", "hired"])


HIRED = rows(
    F_green=(60, 300),
    F_purple=(45, 150),
    M_green=(150, 300),
    M_purple=(90, 240),
    M_teal=(1, 10),
)
BOTH: Any = [("sex",), ("race",)]


def hired_by(over: Any, frame: Any = HIRED, **options: Any) -> Result:
    return impact(frame, outcome="hired", over=over, **options)


def with_sexes(number: int) -> pd.DataFrame:
    """Return the same people with so many labels of their sex."""
    labels = [f"s{row % number}" for row in range(len(HIRED))]
    return HIRED.assign(sex=labels)


def table(result: Result, *over: str) -> Any:
    tables = {tuple(table["over"]): table for table in tables_of(result)}
    return tables[over]


def category(result: Result, **about: Any) -> Any:
    """Return what the table over these columns says of one category."""
    categories = table(result, *about)["categories"]
    (found,) = [category for category in categories if category["about"] == about]
    return found


def finding_about(result: Result, *about: str) -> Any:
    (found,) = [finding for finding in result.findings if finding.about == about]
    return found


def is_noted(result: Result, words: str) -> bool:
    return any(words in note for note in result.notes)


def sets_of(result: Result) -> list[tuple[str, ...]]:
    return [tuple(table["over"]) for table in tables_of(result)]


@pytest.fixture(scope="module")
def result() -> Result:
    return hired_by(BOTH, least_ratio=0.8)


def test_sets_are_single_columns_and_what_they_make_together(result):
    assert sets_of(result) == [("sex",), ("race",), ("sex", "race")]


def test_rates_and_ratios_are_listed_by_category(result):
    women = category(result, sex="F")
    men = category(result, sex="M")
    rate_of_women = 105 / 450
    rate_of_men = 241 / 550
    assert women["n"] == 450
    assert women["selected"] == 105
    assert women["share"] == 0.45
    assert women["rate"]["value"] == pytest.approx(rate_of_women)
    assert women["ratio"]["value"] == pytest.approx(rate_of_women / rate_of_men)
    assert men["ratio"]["value"] == 1
    assert table(result, "sex")["best"] == {"sex": "M"}


def test_a_finding_is_the_lowest_ratio_of_a_set(result):
    finding = finding_about(result, "sex")
    assert finding.claim == "by sex, the lowest selection rate is 53.3 % of the highest"
    assert finding.limit == 0.8
    assert finding.least is True
    assert finding.verdict == "fail"
    assert result.job == "impact"
    assert [str(group) for group in finding.groups] == ["sex F", "sex M"]
    assert finding.estimate.population == "the recorded decisions"
    assert finding.estimate.n == 1000


def test_the_error_goes_to_the_lowest_ratio_of_each_set(result):
    lowest = finding_about(result, "sex").estimate
    expected = ratios.impact_ratio([105, 241], [450, 550], 1 - 0.05 / 3)
    assert (lowest.low, lowest.high) == pytest.approx(expected)
    assert lowest.method == "melded, simultaneous over 2 groups and 3 findings"
    assert not lowest.descriptive
    alone = hired_by("sex", least_ratio=0.8).worst.estimate
    expected = ratios.impact_ratio([105, 241], [450, 550], 0.95)
    assert (alone.low, alone.high) == pytest.approx(expected)


def test_rates_and_ratios_beside_a_limit_are_descriptive(result):
    women = category(result, sex="F")
    low, high = ratios.ratios_to_best([105, 241], [450, 550], 0.95)
    assert women["ratio"]["low"] == pytest.approx(low[0])
    assert women["ratio"]["high"] == pytest.approx(high[0])
    assert women["ratio"]["descriptive"] is True
    assert women["rate"]["descriptive"] is True
    assert is_noted(result, "the 3 findings with a limit hold together at 95 %")
    assert "descriptive" in text(result)
    assert "descriptive" not in text(hired_by("sex"))


def test_without_a_limit_three_families_of_each_set_share_the_error():
    result = hired_by(BOTH)
    women = category(result, sex="F")
    ratio = women["ratio"]
    shared_level = 1 - 0.05 / 9
    low, high = ratios.ratios_to_best([105, 241], [450, 550], shared_level)
    low_of_women, _ = low
    high_of_women, _ = high
    assert ratio["low"] == pytest.approx(low_of_women, abs=1e-4)
    assert ratio["high"] == pytest.approx(high_of_women, abs=1e-4)
    assert women["rate"]["level"] == 0.95
    assert ratio["method"] == "melded, simultaneous over all rates and ratios of 3 sets"
    alone = category(hired_by("sex"), sex="F")
    assert alone["ratio"]["low"] > ratio["low"]


def test_a_small_category_is_shown_with_its_rate_but_has_no_ratio(result):
    teal = category(result, race="teal")
    assert teal["n"] == 10
    assert teal["rate"]["value"] == 0.1
    assert teal["ratio"] is None
    assert teal["left_out"] == "under 2 % of the rows"
    notes = [note for note in result.notes if "teal (10 rows)" in note]
    assert any("nothing is decided" in note for note in notes)
    groups = [str(group) for group in finding_about(result, "race").groups]
    assert groups == ["race green", "race purple"]


def test_with_everybody_compared_a_small_category_has_the_lowest_ratio():
    every = hired_by("race", support=0)
    rate_of_teal = 1 / 10
    rate_of_green = 210 / 600
    assert every.worst.estimate.value == pytest.approx(rate_of_teal / rate_of_green)


def test_a_small_category_is_never_the_best():
    few = rows(F_a=(20, 500), M_a=(50, 500), X_a=(5, 5))
    found = hired_by("sex", few)
    assert table(found, "sex")["best"] == {"sex": "M"}
    assert category(found, sex="X")["rate"]["value"] == 1


def test_a_category_of_exactly_the_smallest_share_is_compared():
    some = rows(F_a=(3, 7), M_a=(50, 93))
    at_the_limit = hired_by("sex", some, support=0.07)
    assert category(at_the_limit, sex="F")["ratio"]
    below = hired_by("sex", some, support=0.0701)
    assert not category(below, sex="F")["ratio"]


@pytest.mark.parametrize(
    "label",
    [None, np.nan, "", "  ", "Unknown", "PREFER NOT TO SAY", "prefer-not-to-say", "?"],
)
def test_unknown_people_are_counted_and_left_out(label):
    green = HIRED[HIRED.race == "green"]
    extra = green.head(30).assign(sex=label)
    frame = pd.concat([HIRED, extra], ignore_index=True)
    found = hired_by(BOTH, frame)
    by_sex = table(found, "sex")
    assert by_sex["rows"] == 1030
    assert by_sex["unknown"] == 30
    abouts = [category["about"] for category in by_sex["categories"]]
    assert abouts == [{"sex": "F"}, {"sex": "M"}]
    assert table(found, "sex", "race")["unknown"] == 30
    assert table(found, "race")["unknown"] == 0
    assert category(found, race="green")["n"] == 630
    notes = " ".join(found.notes)
    assert "30 of 1,030 rows have an unknown sex" in notes
    assert "unknown sex or race" in notes


def test_an_intersection_counts_who_lacks_either():
    frame = HIRED.copy()
    frame.loc[:9, "sex"] = None
    frame.loc[5:24, "race"] = "declined"
    found = hired_by(BOTH, frame)
    by_both = table(found, "sex", "race")
    assert table(found, "sex")["unknown"] == 10
    assert table(found, "race")["unknown"] == 20
    assert by_both["unknown"] == 25
    assert by_both["unknown_as"] == [
        {"column": "sex", "label": None, "n": 10},
        {"column": "race", "label": "declined", "n": 20},
    ]


def test_which_labels_are_unknown_is_an_option():
    frame = HIRED.replace({"race": {"teal": "Other", "green": "unknown"}})
    kept = table(hired_by("race", frame, unknown=()), "race")
    races = {category["about"]["race"] for category in kept["categories"]}
    assert races == {"Other", "unknown", "purple"}
    assert kept["unknown"] == 0
    other = table(hired_by("race", frame, unknown="OTHER"), "race")
    assert other["unknown"] == 10


def test_codes_may_stand_for_the_unknown():
    sex_codes = HIRED.sex.map({"F": 1, "M": 2})
    sex_codes[HIRED.race == "teal"] = 9
    coded = hired_by("sex", HIRED.assign(sex=sex_codes), unknown=[9])
    assert table(coded, "sex")["unknown"] == 10


def test_a_religion_called_none_is_a_category():
    frame = HIRED.replace({"sex": {"F": "None"}})
    assert table(hired_by("sex", frame), "sex")["unknown"] == 0
    assert all(normalised(label) == label for label in UNKNOWN_LABELS)


@pytest.mark.parametrize(
    ("over", "intersections", "sets"),
    [
        ("sex", True, [("sex",)]),
        (["sex", "race"], True, [("sex", "race")]),
        (BOTH, False, [("sex",), ("race",)]),
        (
            [("race",), ("sex",), ("sex", "race")],
            True,
            [("race",), ("sex",), ("sex", "race")],
        ),
        ([("sex",), ("sex",)], True, [("sex",)]),
        (["sex", ("race",)], True, [("sex",), ("race",), ("sex", "race")]),
    ],
)
def test_the_intersection_of_single_columns_is_added_once(over, intersections, sets):
    found = hired_by(over, intersections=intersections)
    assert sets_of(found) == sets


def scores(n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    sex = rng.choice(["F", "M"], n)
    bonus = 5 * (sex == "M")
    points = rng.normal(50, 9, n) + bonus
    return pd.DataFrame({"sex": sex, "points": np.round(points, 1)})


def test_a_scoring_rate_is_the_share_above_the_median():
    frame = scores()
    found = impact(frame, outcome="points", over="sex", scored=True)
    by_sex = table(found, "sex")
    median = frame.points.median()
    assert by_sex["kind"] == "scoring"
    assert by_sex["median"] == median
    is_above = frame.points > median
    share = is_above.groupby(frame.sex).mean()
    for sex in "FM":
        rate = category(found, sex=sex)["rate"]
        assert rate["value"] == pytest.approx(share[sex])
    ratio = 100 * share.min() / share.max()
    claim = f"by sex, the lowest scoring rate is {ratio:.1f} % of the highest"
    assert found.worst.claim == claim
    start = f"the median of points is {median:g}"
    assert any(note.startswith(start) for note in found.notes)
    assert found.worst.estimate.population == "the recorded scores"


def test_scores_that_are_missing_or_tied_are_noted():
    frame = scores()
    frame["points"] = frame.points.round(-1)
    frame.loc[:4, "points"] = np.nan
    found = impact(frame, outcome="points", over="sex", scored=True)
    assert found.details["missing_outcomes"] == 5
    assert table(found, "sex")["rows"] == 595
    assert is_noted(found, "equal to the median, which counts as not above it")
    assert is_noted(found, "5 of 600 rows have no points")


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
    labels = np.array(["F", "M", None, "declined"])
    sex = rng.choice(labels, n, p=[0.4, 0.5, 0.06, 0.04])
    race = rng.choice(["green", "purple"], n)
    frame = pd.DataFrame({"sex": sex, "race": race})
    gone = rng.uniform(size=n)
    decisions = rng.integers(0, 2, n)
    frame["ok"] = np.where(gone < 0.03, np.nan, decisions)
    points = rng.normal(size=n)
    frame["points"] = np.where(gone > 0.95, np.nan, points)
    return frame


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("outcome", "scored"), [("ok", False), ("points", True)])
def test_every_engine_gives_the_same(engine, outcome, scored):
    options: Any = {
        "outcome": outcome,
        "over": BOTH,
        "scored": scored,
        "least_ratio": 0.8,
    }
    found = impact(ENGINES[engine](people()), **options)
    of_pandas = impact(people(), **options)
    assert found.digest == of_pandas.digest


def test_the_order_of_rows_does_not_matter_and_json_brings_it_back(result, tmp_path):
    shuffled = HIRED.sample(frac=1, random_state=0)
    again = hired_by(BOTH, shuffled, least_ratio=0.8)
    assert again.digest == result.digest
    file = tmp_path / "impact.json"
    result.to_json(file)
    document = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.validate(document, results.schema())
    back = Result.from_json(file)
    assert back.digest == result.digest
    assert text(back, 100) == text(result, 100)
    pd.testing.assert_frame_equal(frame(back), frame(result))


def test_the_frame_has_a_row_for_each_category(result):
    found = frame(result)
    number_of_categories = 0
    for table in tables_of(result):
        number_of_categories += len(table["categories"])
    assert len(found) == number_of_categories
    assert len(found) == 11
    assert list(found.columns[:4]) == ["sex", "race", "over", "kind"]
    by_sex = found[found.over == "sex"]
    women = by_sex.set_index("sex").loc["F"]
    assert women.rate_low < women.rate < women.rate_high
    assert women.ratio_low < women.ratio < women.ratio_high
    by_both = found[found.over == "sex, race"]
    assert by_both.best.sum() == 1
    left_out = found[found.left_out != ""]
    assert left_out.ratio.isna().all()


def test_a_column_called_n_is_apart_from_the_number_of_rows():
    renamed = HIRED.rename(columns={"sex": "n"})
    found = frame(hired_by("n", renamed))
    assert list(found["by.n"]) == ["F", "M"]
    assert list(found["n"]) == [450, 550]


def test_categories_that_nobody_is_in_are_listed_and_keep_a_full_comparison_from_passing():
    with_nobody = pd.Categorical(HIRED.sex, ["F", "M", "X"])
    frame = HIRED.assign(sex=with_nobody, hired=1)
    found = hired_by("sex", frame)
    assert category(found, sex="X")["left_out"] == "no rows"
    full = hired_by("sex", frame, support=0, least_ratio=0.5)
    assert full.verdict == "undecided"
    assert is_noted(full, "cannot pass: sex X")
    without = hired_by("sex", frame, least_ratio=0.5)
    assert without.verdict == "pass"


def test_one_category_of_enough_rows_decides_nothing():
    few = rows(F_a=(3, 300), M_a=(0, 4), X_a=(0, 4))
    found = hired_by("sex", few, least_ratio=0.8)
    claim = "by sex, the impact ratio is undefined: fewer than two categories have 2 % of the rows"
    assert found.worst.claim == claim
    assert found.verdict == "undecided"
    assert table(found, "sex")["best"] is None


def test_where_nobody_is_selected_nothing_is_decided():
    nobody = rows(F_a=(0, 300), M_a=(0, 300), X_a=(4, 4))
    found = hired_by("sex", nobody, least_ratio=0.8)
    claim = found.worst.claim
    assert "nobody in the categories compared has the favourable outcome" in claim
    assert found.verdict == "undecided"
    assert list(text_lines(found, width=80))


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
        (
            {"frame": HIRED.assign(hired=np.nan), "scored": True},
            ("median of 'hired' is nan",),
        ),
        (
            {"frame": HIRED.assign(hired=1.5), "scored": True},
            ("no hired is above the median 1.5",),
        ),
    ],
)
def test_bad_data_gets_one_sentence(call, words):
    options: Any = {"frame": HIRED, "outcome": "hired", "over": "sex"} | call
    refused(DataError, lambda: impact(**options), *words)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"over": "hired"}, ("the outcome itself",)),
        ({"over": None}, ("over = None names no columns",)),
        ({"over": ()}, ("names no columns",)),
        ({"over": [("sex", "sex")]}, ("each once",)),
        ({"positive": "yes"}, ("positive = 'yes'",)),
        ({"positive": 1, "scored": True}, ("cannot be combined with scored=True",)),
        ({"least_ratio": 80}, ("least_ratio is 80", "0.8")),
        ({"level": 1}, ("level is 1",)),
        ({"support": -0.1}, ("support is -0.1",)),
        ({"unknown": 3}, ("unknown = 3", "list of labels")),
        ({"suport": 0.1}, ("'suport'", "did you mean 'support'")),
        (
            {"frame": HIRED.assign(sex=range(1000))},
            ("1,000 different numbers", "--bins sex=25,40"),
        ),
        (
            {"frame": HIRED.assign(hired=np.arange(1000) / 7), "positive": 1},
            ("1,000 different numbers", "scored=True"),
        ),
        ({"frame": HIRED.assign(hired=HIRED.race)}, ("not 0 and 1", "the option positive")),
        (
            {"frame": pd.concat([with_sexes(1000), with_sexes(1000), HIRED])},
            ("1,002 categories",),
        ),
    ],
)
def test_wrong_arguments_get_one_sentence(call, words):
    options: Any = {"frame": HIRED, "outcome": "hired", "over": "sex"} | call
    refused(UsageError, lambda: impact(**options), *words)


def test_a_seed_is_kept_and_changes_nothing_else(result):
    other = hired_by(BOTH, least_ratio=0.8, seed=7)
    assert result.seed == 0
    assert other.seed == 7
    assert other.findings == result.findings


def test_findings_are_known_by_their_columns(result):
    keys = sorted(finding.key for finding in result.findings)
    assert keys == [
        "impact ratio of race",
        "impact ratio of race, sex",
        "impact ratio of sex",
    ]


def test_an_intersection_without_anybody_says_how_to_leave_it_out():
    even = np.arange(1000) % 2 == 0
    sex = HIRED.sex.mask(even, None)
    race = HIRED.race.mask(~even, None)
    apart = HIRED.assign(sex=sex, race=race)
    words = ("sex and race", "intersections=False")
    refused(DataError, lambda: hired_by(BOTH, apart), *words)
    without = hired_by(BOTH, apart, intersections=False)
    assert sets_of(without) == [("sex",), ("race",)]


def counted_people(counts: list[tuple[int, int]], lost: int) -> pd.DataFrame:
    """Return people of each group, so many with and without a favourable outcome."""
    people = [("unknown", 1)] * lost
    for name, (favourable, unfavourable) in zip("ABCDE", counts, strict=False):
        people += [(name, 1)] * favourable
        people += [(name, 0)] * unfavourable
    return pd.DataFrame(people, columns=["g", "ok"])


PEOPLE = st.integers(0, 40)


@given(
    counts=st.lists(st.tuples(PEOPLE, PEOPLE), min_size=2, max_size=5),
    lost=st.integers(0, 9),
    support=st.sampled_from([0.0, 0.02, 0.2]),
)
@settings(max_examples=examples(20), deadline=None)
def test_nobody_is_lost_and_every_interval_holds_its_value(counts, lost, support):
    people = counted_people(counts, lost)
    groups = set(people.g) - {"unknown"}
    if len(groups) < 2 or not people.ok.any():
        return
    found = impact(people, outcome="ok", over="g", support=support, least_ratio=0.8)
    by_group = table(found, "g")
    known = sum(category["n"] for category in by_group["categories"])
    assert by_group["rows"] == len(people)
    assert known + by_group["unknown"] == len(people)
    assert by_group["unknown"] == lost
    values = []
    for category in by_group["categories"]:
        ratio = category["ratio"]
        assert (ratio is None) == bool(category["left_out"])
        assert_in_interval(category["rate"])
        if ratio is not None:
            assert_in_interval(ratio)
            values.append(ratio["value"])
    if by_group["best"] is not None:
        defined = [value for value in values if value is not None]
        lowest = found.worst.estimate.value
        assert max(defined) == 1
        assert min(defined) == pytest.approx(lowest)
    document = json.loads(found.to_json())
    jsonschema.validate(document, results.schema())


def assert_in_interval(score: Any) -> None:
    low = score["low"]
    high = score["high"]
    value = score["value"]
    if value is not None:
        assert 0 <= low <= value <= high <= 1


def text(result: Result, width: int | None = None) -> str:
    lines = text_lines(result, width=width)
    return "\n".join(map(str, lines))


def test_the_terminal_shows_a_table_for_each_set_and_ends_without_a_claim(result):
    shown = text(result)
    assert "FAIL      by sex, the lowest selection rate is 53.3 % of the highest" in shown
    assert "limit at least 80 %" in shown
    assert "left out" in shown
    assert shown.splitlines()[-1] == f"note: {NO_CLAIM}"
    assert shown.count("teal (10 rows)") == 2  # by race, and by sex and race
    assert "highest" in text(result, 120)
    narrow = text(result, 80).splitlines()
    starts = ("F, ", "M, ", "sex", "race")
    rows = [line for line in narrow if line.startswith(starts)]
    assert rows
    assert max(map(len, rows)) <= 80
    assert text(hired_by("sex")).startswith("by sex, the lowest")


def test_labels_cannot_move_the_cursor_or_be_cut_out_of_the_table():
    frame = HIRED.replace({"sex": {"F": "\x1b[31mF\n", "M": "M" * 300}})
    shown = text(hired_by("sex", frame), 80)
    assert "\x1b" not in shown
    assert r"\x1b[31mF\n" in shown


def test_of_very_many_categories_the_lowest_ratios_are_shown():
    names = [f"g{i % 63:02}" for i in range(6300)]
    many = pd.DataFrame({"g": names, "ok": 1})
    refused_rows = (many.g == "g62") & (many.index < 3000)
    many.loc[refused_rows, "ok"] = 0
    found = impact(many, outcome="ok", over="g", support=0)
    shown = text(found)
    assert "g62" in shown
    assert "… 3 more categories" in shown


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


def test_the_display_has_ratios_lowest_first_and_what_is_left_out_last(result, ax):
    display = ImpactDisplay.from_result(result)
    race = display.panels[1]
    labels = [bar.label.partition(",")[0] for bar in race.bars]
    assert labels == ["purple", "green", "teal"]
    # Its interval is descriptive beside the limit, which is for the lowest ratio.
    assert race.bars[0].verdict is None
    assert race.axis.startswith(
        "selection rate divided by the highest, intervals at 95 %, desc"
    )
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
    for shown, lines in ((result, 3), (hired_by("sex", frame), 0)):
        display = ImpactDisplay.from_result(shown).plot()
        figure = display.figure_
        figure.canvas.draw()
        texts = [label.get_text() for label in figure.findobj(Text)]
        limits = [label for label in texts if "engineering threshold" in label]
        assert len(limits) == lines
        assert len(display.axes_) == len(tables_of(shown))
        box = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        assert box.x0 > -0.02
        assert box.y0 > -0.02
        assert box.x1 < width + 0.02
        assert box.y1 < height + 0.02
        pyplot.close(figure)


def test_remarks_name_a_few_and_count_the_rest():
    small = []
    for number in range(20):
        about = {"g": f"g{number}"}
        small.append({"about": about, "n": 1, "left_out": "under 2 % of the rows"})
    table = {
        "over": ["g"],
        "unknown": 0,
        "unknown_as": [],
        "rows": 400,
        "categories": small,
        "unlisted": 0,
    }
    (sentence,) = remarks(table)
    assert "… 12 more" in sentence


def test_a_page_has_the_rates_of_a_column_once_however_many_checks_count_them():
    log = HIRED.assign(able=[row % 2 for row in range(len(HIRED))])
    rates = {"job": "impact", "over": [["sex"]]}
    errors = {**rates, "truth": "able", "truth_positive": 1, "metric": ["tpr"]}
    audit = eh.audit_log(
        log, outcome="hired", over=["sex"], positive=1, checks=[rates, errors]
    )
    page = audit.to_html()
    assert page.count("<summary>Selection rates by sex</summary>") == 1
    assert page.count("<summary>Error rates by sex</summary>") == 1
