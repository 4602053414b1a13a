"""mine_log beside its rivals: what is compared, and what is reported where one cannot be had."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.support.benchmarks import benchmark
from tests.support.paths import ROOT

if TYPE_CHECKING:
    import pandas as pd

    Counts = dict[frozenset[tuple[str, tuple[str, ...]]], tuple[float, float]]

OVER = ["a", "b", "c"]
JOB = {"over": OVER, "outcome": "income", "support": 0.1, "levels": 1, "timed": False}


@pytest.fixture(scope="module")
def rivals():
    """The module, whose siblings are found as they are when it is run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield benchmark("mine_rivals")


@pytest.fixture(scope="module")
def table(rivals):
    planted = rivals.mine_tables.planted(0)
    return planted.head(400).drop(columns=["d", "e"])


@pytest.fixture(scope="module")
def measured(rivals, table, tmp_path_factory):
    path = tmp_path_factory.mktemp("rivals") / "table.csv"
    table.to_csv(path, index=False)
    return rivals.measured_ours({**JOB, "table": str(path), "support": 0.01})


@pytest.fixture
def ours(rivals, measured, monkeypatch):
    """What was measured, of a table all of whose itemsets are known."""
    monkeypatch.setitem(
        rivals.KNOWN,
        0.01,
        len(measured.counts),
    )
    return measured


def brute_force(table: pd.DataFrame, least: int) -> Counts:
    """Return the counts of every itemset that enough rows meet."""
    counts: Counts = {}
    for depth in range(1, len(OVER) + 1):
        for names in itertools.combinations(OVER, depth):
            groups = table.groupby(list(names))["income"].agg(["size", "sum"])
            for values, (size, hits) in zip(
                groups.index,
                groups.to_numpy(),
                strict=True,
            ):
                levels = [values] if depth == 1 else values
                pairs = zip(
                    names,
                    levels,
                    strict=True,
                )
                key = frozenset((name, (level,)) for name, level in pairs)
                if size >= least:
                    counts[key] = (float(size), float(hits))
    return counts


def test_our_rule_sets_are_all_frequent_itemsets(ours, table):
    expected = brute_force(table, least=4)
    assert len(expected) > 50
    assert ours.counts == expected
    assert ours.row["numbers"]["examined"] == len(expected)
    assert ours.sums.total == table["income"].sum()


def contest(rivals, **others):
    job = {**JOB, "support": 0.05}
    quality = rivals.Sums.divergence
    return rivals.Contest(
        "DivExplorer",
        "all",
        "0.05",
        job,
        quality,
        **others,
    )


def lines(ours):
    listed = []
    scores = ours.sums.divergence()
    pairs = zip(
        ours.counts.items(),
        scores,
        strict=True,
    )
    for (key, (size, hits)), score in pairs:
        conditions = {name: list(levels) for name, levels in key}
        listed.append((conditions, size, hits, float(score)))
    return sorted(listed, key=lambda line: -line[3])


def answer(listed, seconds=1.0):
    return {
        "version": "1",
        "cpu": [seconds],
        "peak": 0.1,
        "found": len(listed),
        "lines": listed,
    }


def test_equal_counts_and_tops_are_reported_so(rivals, ours):
    theirs = answer(lines(ours), seconds=10 * ours.cpu)
    row = rivals.contest_row(
        contest(rivals, whole=True),
        theirs,
        ours,
    )
    assert row["all equal"]
    assert row["equal"] == len(ours.counts)
    assert row["as extreme"]
    assert row["ratio"] == pytest.approx(10)
    [bar] = rivals.bar_rows([row], {})
    assert bar["met"]


def test_a_bar_is_not_met_by_fewer_rule_sets_or_other_counts(rivals, ours, capsys):
    listed = lines(ours)
    conditions, size, hits, score = listed[-1]
    wrong = [*listed[:-1], (conditions, size, hits + 1, score)]
    fewer = [*listed, ({"a": ["a1"], "b": ["b9"]}, 99.0, 1.0, 0.0)]
    for changed in (wrong, fewer):
        theirs = answer(changed, seconds=10 * ours.cpu)
        row = rivals.contest_row(
            contest(rivals, whole=True),
            theirs,
            ours,
        )
        assert not row["all equal"]
        [bar] = rivals.bar_rows([row], {})
        assert not bar["met"]
        assert "NOT met" in capsys.readouterr().out


def test_little_memory_for_some_of_the_rule_sets_meets_no_bar(
    rivals, ours, monkeypatch, capsys
):
    assert ours.is_whole
    [bar] = rivals.bar_rows([], {"0.01": ours})
    assert bar["met"] is True
    monkeypatch.setitem(
        rivals.KNOWN,
        0.01,
        len(ours.counts) + 1,
    )
    assert not ours.is_whole
    [bar] = rivals.bar_rows([], {"0.01": ours})
    assert bar["met"] is False
    assert "NOT met" in capsys.readouterr().out
    theirs = answer(lines(ours))
    row = rivals.contest_row(
        contest(rivals),
        theirs,
        ours,
    )
    shown = rivals._shown(row)
    assert "ours: only" in shown["note"]


def test_a_higher_top_of_a_rival_is_seen(rivals, ours):
    listed = lines(ours)
    conditions, size, hits, score = listed[0]
    theirs = answer([(conditions, size, hits, score + 0.1)])
    row = rivals.contest_row(
        contest(rivals),
        theirs,
        ours,
    )
    assert not row["as extreme"]
    shown = rivals._shown(row)
    assert "less extreme" in shown["note"]


def test_a_condition_that_everybody_meets_is_none(rivals, ours):
    key = rivals.key_of({"a": ["a1"]})
    size, hits = ours.counts[key]
    wider = {"a": ["a1"], "c": ["c1", "c2", "c3", "c4"]}
    theirs = answer([(wider, size, hits, 0.0)])
    row = rivals.contest_row(
        contest(rivals),
        theirs,
        ours,
    )
    assert row["counts"] == "1 of 1"


def test_a_rival_that_cannot_be_installed_is_reported_with_the_reason(rivals, ours):
    missing = {"DivExplorer": "cannot be installed: no matching distribution"}
    [theirs] = rivals._theirs(
        "DivExplorer",
        [{}],
        missing,
    )
    row = rivals.contest_row(
        contest(rivals),
        theirs,
        ours,
    )
    assert row["error"] == missing["DivExplorer"]
    shown = rivals._shown(row)
    text = rivals.text_table([shown], rivals.COLUMNS)
    assert "no matching distribution" in text
    assert rivals.bar_rows([row], {}) == []


def test_lists_are_summed_up_over_seeds(rivals, table):
    planted = {"a": ["a1"], "b": ["b2"]}
    part = {**planted, "c": ["c1"]}
    other = {"c": ["c3"]}
    numbers = (1.0, 1.0, 1.0)
    first = [(planted, *numbers), (part, *numbers), (other, *numbers)]
    second = [(other, *numbers), (part, *numbers)]
    found = [{"lines": first}, {"lines": second}]
    row = rivals.planted_row(
        "tool",
        found,
        [table, table],
    )
    assert row["lines"] == 2.5
    assert row["variations"] == 1.5
    assert row["first"] == "1 of 2"
    assert row["once"] == "1 of 2"
    gone = rivals.planted_row(
        "tool",
        [{"error": "gone"}],
        [table],
    )
    assert gone["error"] == "gone"


def test_contests_name_calls_of_ours_that_are_measured(rivals):
    for quick in (True, False):
        calls = rivals.our_jobs(OVER, quick=quick)
        asked = rivals.contests(OVER, quick=quick)
        compared = {one.ours for one in asked}
        tools = {one.tool for one in asked}
        assert compared == set(calls)
        assert tools == set(rivals.rivals_environment.RIVALS)


@pytest.mark.slow
def test_without_a_package_index_the_reason_is_given(rivals, monkeypatch, tmp_path):
    environment = rivals.rivals_environment
    monkeypatch.setenv("EVENHAND_RIVALS", str(tmp_path / "rivals"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setattr(
        environment,
        "RIVALS",
        {"one": "no-such-miner==1.0"},
    )
    missing = environment.prepare()
    assert missing["one"].startswith("cannot be installed: No matching distribution")
