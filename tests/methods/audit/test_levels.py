"""One level for one audit: how its error is shared out, and what it leaves out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.methods.audit.audit_result import Audit
from evenhand.methods.audit.checks import CheckPlan
from evenhand.methods.audit.levels import with_levels
from evenhand.runtime.errors import ConfigError, UsageError
from tests.support.evidence import LOANS, inputs, lend
from tests.support.helpers import refused

if TYPE_CHECKING:
    from evenhand.results.protocol import Evidence

SAMPLED: dict[str, Any] = {"exact": False, "margin": 0.2}
MEASURE = {"job": "measure", "over": ["sex"], **SAMPLED}
GROUP = {"job": "measure", "kind": "group", "over": ["sex"], **SAMPLED}
CONFIG = """
[subject]
function = "levels_rules:lend"
[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features.age]
low = 18
high = 60
"""
CHECKS = """
[[checks]]
job = "measure"
over = ["sex"]
exact = false
margin = 0.2
[[checks]]
job = "measure"
kind = "group"
over = ["sex"]
exact = false
margin = 0.2
"""


def levels(*settings: dict[str, Any], level: float = 0.95) -> list[float | None]:
    plans = [CheckPlan("measure", setting) for setting in settings]
    return [plan.level for plan in with_levels(plans, level)]


def checked(*checks: dict[str, Any], **options: Any) -> Audit:
    bounds = eh.Budget(queries=3_000)
    return eh.audit(
        lend, LOANS, checks=list(checks), budget=bounds, progress=False, **options
    )


def all_estimates(found: Evidence) -> list[dict[str, Any]]:
    """Return everything in the JSON of evidence that has an interval of its own."""
    estimates = []
    waiting = [json.loads(found.to_json())]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict) and {"low", "high", "level", "method"} <= set(part):
            estimates.append(part)
        elif isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return estimates


# How the error is shared out


def test_checks_share_the_error_equally_or_by_their_weights():
    assert levels({}, {}, {}, {}) == [0.9875] * 4
    assert levels({"weight": 3}, {}, level=0.8) == [0.85, 0.95]
    assert levels({"weight": 0.5}, {"weight": 0.5}) == [0.975, 0.975]
    assert levels({}) == [0.95]


def test_a_level_of_a_check_stays_and_is_taken_from_what_is_shared():
    assert levels({"level": 0.98}, {}, {}) == [None, 0.985, 0.985]
    assert levels({"level": 0.95}) == [None]
    assert levels({"level": 0.975}, {"level": 0.975}) == [None, None]


def test_a_search_takes_no_share():
    plans = [CheckPlan("search", {}), CheckPlan("measure", {})]
    assert [plan.level for plan in with_levels(plans)] == [None, 0.95]


def test_levels_that_exceed_that_of_the_audit_are_refused_in_a_sentence():
    too_much = (UsageError, lambda: levels({"level": 0.9}))
    refused(*too_much, "measure", "an error of 10 %", "more than the 5 %", "level 0.95")
    nothing_left = (UsageError, lambda: levels({"level": 0.95}, {}))
    refused(*nothing_left, "use up the error of 5 %", "leaves nothing for measure")
    refused(UsageError, lambda: levels({}, level=1), "level is 1", "between 0 and 1")


@pytest.mark.parametrize("weight", [0, -1, "much", True, float("inf"), float("nan")])
def test_a_weight_is_a_number_over_0(weight):
    refused(UsageError, lambda: levels({"weight": weight}), "weight", "over 0")


# What the checks of an audit then say


def test_every_check_runs_at_its_share_and_all_hold_together_at_the_level():
    found = checked(MEASURE, GROUP, {"job": "search", "over": ["sex"]})
    assert [check.level for check in found.checks] == [0.975, 0.975, 1.0]
    assert [finding.estimate.level for finding in found.findings[:2]] == [0.975, 0.975]
    assert found.level == 0.95
    wider = checked(MEASURE | {"weight": 4}, GROUP, level=0.9)
    assert [check.level for check in wider.checks] == [0.92, 0.98]
    assert wider.level == 0.9
    assert wider.checks[0].settings["weight"] == 4


def test_a_check_that_asks_everybody_leaves_its_share_unused():
    everybody = {"job": "measure", "over": ["sex"], "exact": True}
    found = eh.audit(lend, LOANS, checks=[everybody, GROUP], progress=False)
    assert [check.level for check in found.checks] == [1.0, 0.975]
    assert found.level == 0.975


def test_the_levels_are_in_the_json_and_come_back_from_it():
    found = checked(MEASURE, GROUP)
    table = json.loads(found.to_json())
    assert table["level"] == 0.95
    assert [check["level"] for check in table["checks"]] == [0.975, 0.975]
    again = Audit.read(table, "audit.json")
    assert again.level == 0.95
    assert again.digest == found.digest


def test_a_comparison_with_a_baseline_counts_once_more():
    found = checked(MEASURE, GROUP)
    held = found.against(checked(MEASURE, GROUP, seed=1))
    assert held.level == 0.9


def test_whatever_has_an_interval_is_in_a_check_or_is_descriptive():
    rows = inputs()
    space = eh.Space.from_frame(rows, protected=["sex", "race"])
    checks: list[dict[str, Any]] = [
        {"job": "measure", "over": ["race"]},
        {"job": "subsets", "kind": "group", "among": ["sex"], "limit": 0.1},
        {"job": "search", "over": ["sex"]},
    ]
    with_rows = eh.audit(lend, space, checks=checks, progress=False)
    without = checked(GROUP, {"job": "search", "over": ["sex"]})
    for found in (with_rows, without):
        uncertain = [table for table in all_estimates(found) if table["level"] < 1]
        claimed = [table for table in uncertain if "descriptive" not in table]
        of_findings = [finding.estimate.level for finding in found.findings]
        assert len(claimed) == sum(level < 1 for level in of_findings)
        assert len(claimed) < len(uncertain)
        assert found.level >= 0.95


def test_a_false_discovery_rate_is_outside_of_what_holds_together():
    discoveries = {"job": "mine", "limit": 0.1, "control": "fdr"}
    found = eh.audit(
        lend, LOANS, checks=[GROUP, discoveries], data=inputs(), progress=False
    )
    by_job = {check.job: check.level for check in found.checks}
    assert by_job["mine"] == 0.95
    assert found.level == by_job["measure"]
    assert any("mine bounds a false discovery rate" in note for note in found.notes)


# Where the level is given


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "levels_rules.py").write_text(
        "def lend(people):\n    return (people['sex'] == 'M') & (people['age'] > 30)\n"
    )

    def write(more: str) -> str:
        (tmp_path / "evenhand.toml").write_text(CONFIG + more)
        return "evenhand.toml"

    return write


def levels_of(file: str, *options: str) -> tuple[list[float], float, str]:
    main(["audit", file, "--json", "audit.json", "--quiet", *options])
    found = Audit.from_json("audit.json")
    return [check.level for check in found.checks], found.level, found.command


def test_a_configuration_and_the_command_line_say_the_level(project):
    file = project(CHECKS)
    assert levels_of(file)[:2] == ([0.975, 0.975], 0.95)
    file = project("[audit]\nlevel = 0.8\n" + CHECKS + "weight = 3\n")
    assert levels_of(file)[:2] == ([0.95, 0.85], 0.8)
    found, level, command = levels_of(file, "--level", "0.9")
    assert (found, level) == ([0.975, 0.925], 0.9)
    assert "--level 0.9 --seed 0" in command
    assert eh.audit(file, progress=False).level == 0.8
    assert eh.audit(file, level=0.6, progress=False).level == 0.6


def test_what_is_wrong_with_a_level_names_the_file(project):
    wrong = {
        "[audit]\nlevel = 'high'\n": "[audit] has level = 'high'; it must be a number",
        "[audit]\nlevle = 0.9\n": "did you mean 'level'",
        "[audit]\nlevel = 1.5\n": "level is 1.5",
        CHECKS + "level = 0.9\n": "an error of 10 %",
        CHECKS + "weight = 0\n": "it must be a number over 0",
    }
    for more, words in wrong.items():
        file = project(more)
        refused(ConfigError, lambda: eh.audit(file), "evenhand.toml: ", words)  # noqa: B023


def test_recorded_decisions_share_a_level_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = inputs().assign(approved=lend(inputs()))
    decisions: dict[str, Any] = {"outcome": "approved", "over": ["sex"]}
    found = eh.audit_log(rows, **decisions, level=0.85, progress=False)
    assert [check.level for check in found.checks] == [0.95] * 3
    assert found.level == 0.85
    rows.to_csv("rows.csv", index=False)
    words = ("--outcome", "approved", "--over", "sex", "--positive", "True")
    assert levels_of("rows.csv", *words, "--level", "0.85")[:2] == ([0.95] * 3, 0.85)
    (tmp_path / "log.toml").write_text(
        '[audit]\nlevel = 0.7\n[log]\nfrom = "rows.csv"\noutcome = "approved"\npositive = true\n'
        'over = ["sex"]\n'
    )
    assert levels_of("log.toml")[:2] == ([0.9] * 3, 0.7)
