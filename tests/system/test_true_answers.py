"""No first answer is false: what is so by construction, what was not run, and what cases show."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html import unescape

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.methods.audit.checks import usual
from evenhand.report.rates_display import RATE_AXIS, RATIO_AXIS
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Estimate

HIDDEN = eh.Space(
    [
        eh.category("sex", ["F", "M"], passed=False),
        eh.category("race", ["a", "b"]),
        eh.integer("age", 18, 90),
    ],
    protected=["sex", "race"],
)
BY_CONSTRUCTION = "so by construction, and no evidence: the software does not see sex"


def old_enough(people: pd.DataFrame) -> pd.Series:
    return people["age"] >= 21


# What the software does not see


@pytest.mark.parametrize("verb", [eh.measure, eh.search])
def test_that_a_hidden_feature_changes_nothing_is_no_pass(verb):
    limit = {eh.measure: 0.05, eh.search: 0}[verb]
    found = verb(old_enough, HIDDEN, over="sex", limit=limit)
    assert found.worst.by_construction
    assert (found.verdict, found.exit_code) == ("undecided", 3)
    assert BY_CONSTRUCTION in str(found)
    assert BY_CONSTRUCTION in found.to_text()
    assert BY_CONSTRUCTION.capitalize() in found.to_html()
    written = json.loads(found.to_json())
    assert written["verdict"] == "undecided"
    assert written["findings"][0]["by_construction"] is True
    assert type(found).from_dict(written).findings == found.findings


def test_sets_of_hidden_features_are_no_pass_and_those_with_others_are_judged():
    found = eh.subsets(old_enough, HIDDEN, among=["sex"], limit=0.05)
    assert (found.worst.by_construction, found.verdict) == (True, "undecided")
    assert f"UNDECIDED sex: {found.worst.estimate}" in found.to_text()
    assert BY_CONSTRUCTION in found.to_text()
    both = eh.subsets(old_enough, HIDDEN, among=["sex", "race"], limit=0.05)
    assert (both.worst.by_construction, both.verdict) == (False, "pass")
    together = eh.measure(old_enough, HIDDEN, over=["sex", "race"], limit=0.05)
    assert (together.worst.by_construction, together.verdict) == (False, "pass")


def test_every_format_of_an_audit_tells_what_is_so_by_construction():
    check = {"job": "measure", "over": ["sex"], "limit": 0.05}
    audit = eh.audit(old_enough, HIDDEN, checks=[check])
    assert (audit.verdict, audit.exit_code) == ("undecided", 3)
    for name in ("junit", "sarif", "markdown", "notebook", "html", "card"):
        assert BY_CONSTRUCTION.casefold() in _rendered(name, audit).casefold(), name
    (result,) = json.loads(_rendered("sarif", audit))["runs"][0]["results"]
    assert (result["level"], result["properties"]["by_construction"]) == ("warning", True)


def _rendered(name, audit):
    from evenhand.formats import FORMATS

    return FORMATS[name].render(audit)


def test_usual_checks_ask_of_a_hidden_feature_only_what_can_be_known():
    checks = usual(HIDDEN, real=True)
    causal = [check for check in checks if check["job"] in ("measure", "subsets", "search")]
    assert [check["over"] for check in causal] == [["race"], ["race"]]
    assert {"impact", "mine"} < {check["job"] for check in checks}
    only_hidden = eh.Space(HIDDEN.features, protected=["sex"])
    with pytest.raises(eh.UsageError, match=r"does not see sex.*real rows"):
        usual(only_hidden, real=False)


# What was not run


def test_a_check_that_could_not_run_has_a_heading_of_its_own():
    def crashes(people):
        raise RuntimeError("gone")

    passes = {"job": "measure", "over": ["race"], "limit": 0.05}
    audit = eh.audit(crashes, HIDDEN, checks=[passes])
    assert audit.exit_code == 4
    text = audit.to_text()
    assert "UNDECIDED" not in text
    assert [line[:10] for line in text.splitlines()[1:3]] == ["NOT RUN   ", "NOT RUN   "]
    page = audit.to_html()
    assert "Not every check could be run" in page
    assert page.count(">not run<") >= 2
    assert ">undecided<" not in page
    assert _rendered("markdown", audit).startswith("## evenhand: not run")
    assert "not run" in _rendered("notebook", audit)
    (error,) = ET.fromstring(_rendered("junit", audit)).iter("error")
    assert error.get("type") == "the software failed"


# Digits beside a limit


@pytest.mark.parametrize(
    ("low", "high", "limit", "least", "shown"),
    [
        (0.0504, 0.139, 0.05, False, "5.04 % to 13.9 %"),
        (0.01, 0.04998, 0.05, False, "1.0 % to 4.998 %"),
        (0.0496, 0.139, 0.05, False, "4.96 % to 13.9 %"),
        (0.05, 0.139, 0.05, False, "5.0 % to 13.9 %"),
        (0.5, 0.79998, 0.8, True, "50.0 % to 79.998 %"),
        (0.052, 0.139, 0.05, False, "5.2 % to 13.9 %"),
    ],
)
def test_an_interval_beside_its_limit_shows_the_verdict(low, high, limit, least, shown):
    estimate = Estimate((low + high) / 2, low, high, 247, 0.95, "exact")
    finding = eh.Finding("a claim", ("sex",), estimate, limit, least=least)
    assert finding.estimate.interval_text == shown
    assert shown in str(finding)
    assert finding.estimate == estimate
    first, last = shown.replace(" %", "").split(" to ")
    shown_low = float(first) / 100
    shown_high = float(last) / 100
    as_shown = Estimate(shown_low, shown_low, shown_high, 247, 0.95, "exact")
    assert as_shown.verdict(limit, least=least) == finding.verdict


def test_an_end_that_no_digits_tell_from_the_limit_is_written_as_ever():
    estimate = Estimate(0.1, 0.05 + 1e-15, 0.139, 247, 0.95, "exact", beside=0.05)
    assert estimate.interval_text == "5.0 % to 13.9 %"


# Rates and ratios of recorded decisions


def _decisions():
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"sex": rng.choice(["F", "M"], 2000)})
    rate = np.where(people["sex"] == "F", 0.4, 0.8)
    return people.assign(granted=(rng.random(2000) < rate).astype(int))


def _rows_of(page):
    rows = []
    for row in re.findall("<tr>(.*?)</tr>", page, re.DOTALL):
        cells = re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)
        rows.append([unescape(re.sub("<[^>]*>", "", cell)).strip() for cell in cells])
    return rows


def test_what_a_column_of_the_page_is_headed_is_what_it_shows():
    people = _decisions()
    found = eh.measure_log(people, outcome="granted", over="sex", least_ratio=0.8)
    shares = people.groupby("sex")["granted"].mean()
    rows = _rows_of(found.to_html())
    shown = {}
    for at, row in enumerate(rows):
        if row[:1] == ["group"]:
            groups = rows[at + 1 : at + 3]
            shown[row[1]] = {name: number for name, number, *_ in groups}
    assert shown["rate"] == {
        "sex F": number_text.percent(shares["F"]),
        "sex M": number_text.percent(shares["M"]),
    }
    assert shown["ratio"] == {
        "sex F": number_text.percent(shares["F"] / shares["M"]),
        "sex M": "100.0 %",
    }
    panels = found.plot().groups
    axes = {panel.axis.partition(", intervals")[0] for panel in panels}
    assert axes == {RATE_AXIS, RATIO_AXIS}


# Cases


def _biased(people):
    harsh = (people["sex"] == "F") & (people["race"] == "b")
    return (people["age"] > 40) & ~harsh & (people["sex"] == "M") | (people["age"] > 70)


def test_a_case_of_a_subgroup_changes_what_its_rule_names_and_nothing_else():
    space = eh.Space(
        [
            eh.category("sex", ["F", "M"]),
            eh.category("race", ["a", "b"]),
            eh.integer("age", 18, 90),
        ],
        protected=["sex", "race"],
    )
    people = space.decode(space.draw(1500, np.random.default_rng(0)))
    found = eh.mine(_biased, space, people)
    with_cases = [finding for finding in found.findings if finding.cases]
    assert with_cases
    for finding in with_cases:
        named = {condition.feature for condition in finding.about.conditions}
        for case in finding.cases:
            assert set(case.changed) <= named
    assert any(len(finding.about.conditions) == 1 for finding in with_cases)


def test_twins_among_rows_ask_nothing_but_the_rows():
    space = eh.Space(
        [eh.category("sex", ["F", "M"]), eh.integer("age", 18, 30)], protected=["sex"]
    )
    people = space.decode(space.draw(60, np.random.default_rng(0)))
    # A man whom no woman equals, so that a moved one would be seen.
    people = people[(people["sex"] == "M") | (people["age"] != 25)]
    asked = []

    def recorded(frame):
        asked.append(frame[["sex", "age"]].copy())
        return (frame["age"] > 20) & (frame["sex"] == "M")

    rows = eh.rows(people, twins="rows")
    for kind in ("group", "causal"):
        found = eh.measure(recorded, space, kind=kind, sampler=rows)
        given = set(map(tuple, people[["sex", "age"]].to_numpy().tolist()))
        inputs = set(map(tuple, pd.concat(asked).to_numpy().tolist()))
        assert inputs <= given
        assert found.worst.cases
        for case in found.worst.cases:
            assert case.changed == ("sex",)
            assert tuple(case.twin.values()) in given


def test_a_measure_on_the_command_line_says_what_is_so_by_construction(tmp_path, capsys):
    config = tmp_path / "evenhand.toml"
    (tmp_path / "loan.py").write_text(
        "def decide(people):\n    return people['age'] > 40\n"
    )
    config.write_text(
        '[subject]\nfunction = "loan:decide"\n[space]\nprotected = ["sex"]\n'
        '[space.features.sex]\nkind = "category"\nlevels = ["F", "M"]\npassed = false\n'
        '[space.features.age]\nkind = "integer"\nlow = 18\nhigh = 90\n'
    )
    assert main(["measure", str(config), "--over", "sex", "--limit", "0.05"]) == 3
    printed = capsys.readouterr().out
    assert printed.startswith("UNDECIDED changing only sex")
    assert BY_CONSTRUCTION in printed
