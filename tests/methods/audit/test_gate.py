"""The gate of an audit: what is kept for the next one, and one rule for all who ask."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.methods.audit.gate import Gate, _rows_digest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("income", 0, 99_999)], protected=["sex"]
)
CHECK = {"job": "measure", "over": ["sex"], "limit": 0.05}
GROUPS = {**CHECK, "kind": "group"}


def lender(bonus: int) -> Callable[[Any], Any]:
    return lambda people: people["income"] + bonus * (people["sex"] == "M") > 50_000


def audit(bonus: int, *checks: Any, **options: Any) -> eh.Audit:
    return eh.audit(lender(bonus), SPACE, checks=checks or [CHECK], **options)


@pytest.mark.parametrize("check", [CHECK, GROUPS])
def test_versions_are_compared_on_the_same_inputs_whatever_the_seed(check, tmp_path):
    audit(20_000, check).to_json(tmp_path / "old.json")
    same = audit(20_000, check, seed=7, baseline=tmp_path / "old.json")
    (held,) = same.checks[0].held
    assert (held.state, held.verdict) == ("not worse", "pass")
    assert held.change is not None
    assert held.change.paired
    assert held.change.value == 0
    worse = audit(24_000, check, seed=7, baseline=tmp_path / "old.json")
    assert worse.exit_code == 1
    assert worse.checks[0].held[0].state == "worse"
    # The next audit can be held against this one, on the same inputs still.
    again = audit(24_000, check, seed=8, baseline=worse)
    assert again.exit_code == 0


def test_answers_are_in_the_document_and_in_its_digest():
    kept = audit(20_000)
    without = audit(20_000, keep_answers=False)
    assert kept.digest != without.digest
    assert kept.digest == audit(20_000).digest
    assert kept.spent.queries == without.spent.queries + 20_000
    table = json.loads(kept.to_json())
    (answers,) = table["checks"][0]["kept"]
    assert answers["key"] == "causal of sex"
    assert len(answers["answers"]) == 1668
    assert "kept" not in json.loads(without.to_json())["checks"][0]
    again = eh.Audit.from_dict(table)
    assert again.to_json() == kept.to_json()
    assert again.against(kept).exit_code == 0


def test_two_documents_are_held_against_each_other_without_the_software():
    old = audit(20_000, seed=1)
    same_draws = audit(20_100, seed=1).against(old)
    assert same_draws.checks[0].held[0].change.paired  # type: ignore[union-attr]
    other_draws = audit(20_000, seed=2).against(old)
    change = other_draws.checks[0].held[0].change
    assert change is not None
    assert change.method == "independent"


def test_what_a_check_may_spend_bounds_what_is_kept():
    assert audit(20_000, {**CHECK, "queries": 100}).checks[0].kept == ()
    assert audit(20_000, {**CHECK, "seconds": 60.0}).checks[0].kept == ()
    demanded = audit(20_000, {**CHECK, "seconds": 60.0}, keep_answers=True)
    assert demanded.checks[0].kept[0].draws == 10_000


class Dear(eh.Adapter):
    """A lender whose answers are said to be expensive."""

    kind = "dear"
    expensive = True
    identity = "dear"

    def __init__(self, bonus: int) -> None:
        self.decide = lender(bonus)

    def run(self, points: Any, space: Any) -> Any:
        yield np.arange(len(points)), self.decide(space.native(points)).to_numpy()


def dear(bonus: int = 20_000, **options: Any) -> eh.Audit:
    return eh.audit(eh.Subject(Dear(bonus), SPACE), checks=[CHECK], **options)


def test_expensive_software_is_asked_for_them_on_demand():
    assert dear().checks[0].kept == ()
    old = dear(keep_answers=True)
    assert old.checks[0].kept[0].draws == 500
    # What the baseline kept is asked again, unless it is told otherwise.
    again = dear(baseline=old, seed=5)
    assert again.exit_code == 0
    assert dear(baseline=old, seed=5, keep_answers=False).exit_code != 0


def test_expensive_software_with_a_baseline_is_asked_more_though_nothing_was_kept():
    old = dear(8_000)
    assert old.checks[0].kept == ()
    new = dear(30_000, baseline=old, seed=5)
    assert new.checks[0].kept[0].draws == 500
    (comparison,) = new.checks[0].held
    assert comparison.verdict == "fail"
    assert comparison.state == "worse"


def test_a_tolerance_is_given_alike_in_python_and_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for bonus in (20_000, 24_000):
        body = f"people['income'] + {bonus} * (people['sex'] == 'M') > 50_000"
        text = f"def decide(people):\n    return {body}\n"
        (tmp_path / f"lender_{bonus}.py").write_text(text)
        (tmp_path / f"{bonus}.toml").write_text(
            f"[subject]\nfunction = 'lender_{bonus}:decide'\n"
            "[space]\nprotected = ['sex']\n"
            "[space.features.sex]\nkind = 'category'\nlevels = ['F', 'M']\n"
            "[space.features.income]\nkind = 'integer'\nlow = 0\nhigh = 99999\n"
            "[[checks]]\njob = 'measure'\nover = ['sex']\nlimit = 0.05\n"
        )
    assert main(["audit", "20000.toml", "--json", "old.json"]) == 1
    command = ["audit", "24000.toml", "--baseline", "old.json", "--seed", "4"]
    assert main(command) == 1
    capsys.readouterr()
    assert main([*command, "--tolerance", "0.06"]) == 0
    row = capsys.readouterr().out.splitlines()[1]
    assert row.startswith("PASS      sex")
    assert row.endswith("not worse")
    assert main([*command, "--tolerance", "0.06", "--full"]) == 0
    printed = capsys.readouterr().out
    assert "on the same inputs; tolerance 6 points" in printed
    python = eh.audit("24000.toml", baseline="old.json", seed=4, tolerance=0.06)
    assert python.exit_code == 0
    assert eh.audit("24000.toml", baseline="old.json", seed=4).exit_code == 1


def test_software_that_fails_while_it_is_asked_more_has_still_been_measured():
    asked = 0

    def fails_later(people: Any) -> Any:
        nonlocal asked
        asked += len(people)
        if asked > 8000:
            raise RuntimeError("out of memory")
        return lender(40_000)(people)

    found = eh.audit(fails_later, SPACE, checks=[CHECK])
    assert found.verdict == "fail"
    assert found.checks[0].kept == ()
    (note,) = found.notes
    assert note.startswith("measure sex: the answers were not kept for the next audit: ")
    assert "out of memory" in note


def test_the_same_decisions_are_not_worse_and_others_are_held_by_their_intervals():
    people = pd.DataFrame({"sex": ["F", "M"] * 500, "granted": [0, 1, 1, 1] * 250})
    old = eh.audit_log(people, outcome="granted", over="sex")
    again = eh.audit_log(people, outcome="granted", over="sex", baseline=old)
    # They are decisions of the same people, but nothing says so.
    assert again.verdict == "undecided"
    lenient = eh.audit_log(
        people, outcome="granted", over="sex", baseline=old, tolerance=0.5
    )
    assert lenient.verdict == "pass"


def test_without_a_baseline_a_gate_changes_nothing():
    found = audit(20_000)
    assert Gate().held(found) is found


def test_rows_that_are_given_in_python_have_no_digest():
    class Unread:
        """A source of a configuration, whose rows are not those of the check."""

        def real(self, path: Any) -> Any:
            raise AssertionError(f"{path!r} is no file")

    rows = pd.DataFrame({"sex": ["F", "M"], "income": [1, 2]})
    check = audit(20_000).checks[0]
    given = replace(check, settings={**check.settings, "data": rows})
    assert _rows_digest(given, Unread()) == ""  # type: ignore[arg-type]
    assert _rows_digest(given, None) == ""
