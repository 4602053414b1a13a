"""Audits in Python: which checks are run, what each job says, and that nothing found is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.cli.main import main
from evenhand.methods.audit.audit_result import WORST, Audit, gathered
from evenhand.methods.audit.check_result import CheckResult
from evenhand.methods.audit.checks import MOST_TOGETHER, jobs, planned, usual
from evenhand.methods.audit.plot import AuditDisplay
from evenhand.methods.audit.text import audit_lines, counted
from evenhand.population.source import MOST_LEVELS
from evenhand.results.document import FORMAT
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import ConfigError, DataError, UsageError
from evenhand.runtime.progress import Progress, progress_bar
from tests.support.helpers import examples, refused

if TYPE_CHECKING:
    from pathlib import Path

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b"]),
        eh.integer("age", 18, 60),
        eh.integer("income", 0, 50),
    ],
    protected=["sex", "race"],
)
FAIR_CHECK: dict[str, Any] = {"job": "measure", "over": ["race"], "limit": 0.05}
BIASED_CHECK: dict[str, Any] = {"job": "measure", "over": ["sex"], "limit": 0.05}
MODULE = """
from collections import Counter

calls = Counter()


def biased(people):
    calls["asked"] += len(people)
    return (people["income"] + 15 * (people["sex"] == "M") > 25).astype(int)


def fair(people):
    return (people["income"] > 25).astype(int)
"""
CONFIG = """
[subject]
function = "audit_rules:biased"
positive = 1
[space]
from = "people.csv"
target = "good"
protected = ["sex", "race"]
"""
CHECKS = """
[[checks]]
job = "measure"
over = ["sex"]
limit = 0.05
[[checks]]
job = "measure"
over = ["race"]
limit = 0.05
[[checks]]
job = "search"
over = ["sex"]
queries = 400
[[checks]]
job = "measure"
kind = "group"
over = ["sex"]
limit = 0.1
[[checks]]
job = "subsets"
among = ["sex", "race"]
limit = 0.05
[[checks]]
job = "prevalence"
over = ["sex"]
limit = 0.9
[[checks]]
job = "mine"
limit = 0.1
[[checks]]
job = "impact"
least_ratio = 0.5
[[checks]]
job = "compare"
over = ["sex"]
truth = "good"
outcomes = ["other"]
resamples = 100
"""


def biased(people: Any) -> Any:
    return (people["income"] + 15 * (people["sex"] == "M") > 25).astype(int)


def fair(people: Any) -> Any:
    return (people["income"] > 25).astype(int)


def people(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Real rows, with what is good for them and what another model said."""
    rng = np.random.default_rng(seed)
    frame = SPACE.decode(SPACE.draw(n, rng))
    frame["good"] = (frame["income"] + rng.integers(-6, 7, n) > 25).astype(int)
    frame["other"] = fair(frame)
    return frame


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Write a configuration with real rows and its software, and return its path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "audit_rules", raising=False)
    (tmp_path / "audit_rules.py").write_text(MODULE)
    people().to_csv(tmp_path / "people.csv", index=False)

    def write(
        checks: str = CHECKS, config: str = CONFIG, name: str = "evenhand.toml"
    ) -> Path:
        file: Path = tmp_path / name
        file.write_text(config + checks)
        return file

    return write


def names(audit: Audit) -> list[str]:
    return [check.name for check in audit.checks]


def verdicts_by_key(found: Any) -> dict[str, str | None]:
    return {finding.key: finding.verdict for finding in found.findings}


def states(audit: Audit) -> dict[str, str | None]:
    return {check.name: check.verdict for check in audit.checks}


def test_by_default_protected_features_are_measured_and_searched_and_rows_are_mined():
    bare = eh.audit(biased, SPACE, budget=eh.Budget(queries=600))
    assert names(bare) == ["measure sex; race", "subsets sex and race", "search sex; race"]
    assert bare["measure"].found is not None
    assert {
        finding.about: finding.verdict for finding in bare["measure"].found.findings
    } == {
        ("sex",): "fail",
        ("race",): "pass",
    }
    with_rows = eh.audit(
        eh.Subject(biased, SPACE, positive=1),
        data=people(),
        budget=eh.Budget(queries=30_000),
    )
    assert names(with_rows) == [*names(bare), "impact", "mine"]
    assert with_rows.exit_code == 1
    assert with_rows.verdict == "fail"
    assert with_rows["impact"].verdict is None
    assert with_rows["mine"].verdict in ("fail", "undecided")


@pytest.mark.parametrize("number", [1, 2, MOST_TOGETHER, MOST_TOGETHER + 1])
def test_sets_are_looked_at_where_there_are_several_features_and_not_too_many(number):
    space = eh.Space(
        [eh.category(f"f{at}", [0, 1]) for at in range(8)],
        [f"f{at}" for at in range(number)],
    )
    found = [check["job"] for check in usual(space, real=False)]
    assert found.count("measure") == found.count("search") == number
    assert ("subsets" in found) == (1 < number <= MOST_TOGETHER)


def test_selection_rates_are_checked_by_default_only_where_there_are_some():
    ages = eh.Space(
        [eh.integer("age", 1, MOST_LEVELS + 1), eh.category("sex", ["F", "M"])], ["age"]
    )
    assert [check["job"] for check in usual(ages, real=True)] == [
        "measure",
        "search",
        "mine",
    ]
    assert "impact" in [check["job"] for check in usual(SPACE, real=True)]
    frame = pd.DataFrame(
        {"age": np.arange(200) % (MOST_LEVELS + 1) + 1, "sex": ["F", "M"] * 100}
    )
    found = eh.audit(
        lambda people: people["age"] > 10, ages, data=frame, budget=eh.Budget(queries=3000)
    )
    assert [check.job for check in found.checks] == ["measure", "search", "mine"]
    assert found.exit_code == 1
    taken = eh.audit(
        biased, SPACE, data=eh.rows(people()), budget=eh.Budget(queries=30_000)
    )
    assert [check.job for check in taken.checks] == ["measure", "subsets", "search", "mine"]
    assert all(check.found is not None for check in taken.checks)


def test_several_outputs_have_no_selection_rates_by_default():
    def two(people: Any) -> Any:
        return pd.DataFrame({"loan": people["income"] > 25, "card": people["sex"] == "M"})

    subject = eh.Subject(two, SPACE, outputs=["loan", "card"])
    found = eh.audit(subject, data=people(150), budget=eh.Budget(queries=15_000))
    assert [check.job for check in found.checks] == ["measure", "subsets", "search", "mine"]
    assert all(check.found is not None for check in found.checks), audit_lines(found)


def test_without_protected_features_there_is_nothing_to_check_by_default():
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("income", 0, 50)])
    refused(
        UsageError, lambda: eh.audit(biased, space), "no protected features", "sex, income"
    )
    assert eh.audit(biased, space, checks=[BIASED_CHECK]).verdict == "fail"


def test_every_job_runs_with_its_own_settings():
    checks = [
        BIASED_CHECK,
        {"job": "measure", "kind": "group", "over": "sex", "limit": 0.1},
        {"job": "prevalence", "over": ["sex"], "limit": 0.9},
        {"job": "subsets", "among": ["sex", "race"], "limit": 0.05},
        {"job": "search", "over": ["sex"], "queries": 300, "limit": 0},
        {
            "job": "mine",
            "over": ["sex", "race"],
            "limit": 0.1,
            "truth": "good",
            "score": ["tpr", "fpr"],
        },
        {"job": "impact", "over": ["sex"], "least_ratio": 0.9},
        {
            "job": "compare",
            "over": ["sex"],
            "truth": "good",
            "models": {"fair": fair},
            "resamples": 100,
        },
    ]
    software = eh.Subject(biased, SPACE, positive=1)
    found = eh.audit(software, checks=checks, data=people(), level=0.65)
    assert {check.job for check in found.checks} == set(jobs())
    assert names(found) == [
        "measure sex",
        "group measure sex",
        "prevalence sex",
        "subsets sex and race",
        "search sex",
        "mine sex and race",
        "impact sex",
        "compare sex",
    ]
    assert all(check.found is not None for check in found.checks), audit_lines(found)
    assert {
        name: verdict for name, verdict in states(found).items() if verdict != "fail"
    } == {
        "prevalence sex": "pass",
        "compare sex": "undecided",
    }
    assert found["compare"].found.region == {"fair": "win-win"}  # type: ignore[union-attr]
    assert found["compare"].settings["models"] == {"fair": "function"}
    assert found["impact"].found.spent.queries == 400  # type: ignore[union-attr]
    assert found.spent.queries > 1000
    json.loads(found.to_json())


def test_compare_takes_recorded_outcomes_and_rows_of_a_check_of_its_own():
    subject = eh.Subject(biased, SPACE, positive=1)
    check = {
        "job": "compare",
        "over": "sex",
        "truth": "good",
        "outcomes": ["other"],
        "resamples": 100,
    }
    given = eh.audit(subject, checks=[check], data=people())
    own = eh.audit(subject, checks=[{**check, "data": people(), "positive": None}])
    assert given.checks[0].found.digest == own.checks[0].found.digest  # type: ignore[union-attr]
    recorded = people()
    recorded["now"] = biased(recorded)
    named = eh.audit(
        subject,
        checks=[{**check, "baseline": "now", "outcomes": ["now", "other"]}],
        data=recorded,
    )
    assert named.checks[0].found.region == given.checks[0].found.region  # type: ignore[union-attr]
    refused(ConfigError, lambda: eh.audit(subject, checks=[check]), "data", "true outcomes")
    for wrong, words in (
        ({"truth": "goood"}, "did you mean 'good'"),
        ({"over": "sexx"}, "did you mean 'sex'"),
    ):
        mistaken = {**check, **wrong}
        refused(
            DataError, partial(eh.audit, subject, checks=[mistaken], data=people()), words
        )
    nothing = {key: value for key, value in check.items() if key != "truth"}
    refused(
        ConfigError, lambda: eh.audit(subject, checks=[nothing], data=people()), "no truth"
    )


def test_another_model_that_is_a_subject_stays_open():
    program = (
        "import sys, json\n"
        "for line in sys.stdin:\n"
        "    print(int(json.loads(line)['income'] > 25), flush=True)"
    )
    argv = [sys.executable, "-c", program]
    with eh.Subject.stream(argv, SPACE, positive=1, workers=1) as other:
        check = {
            "job": "compare",
            "over": "sex",
            "truth": "good",
            "models": {"fair": other},
            "resamples": 100,
        }
        found = eh.audit(
            eh.Subject(biased, SPACE, positive=1), checks=[check], data=people(60)
        )
        assert found.checks[0].found is not None
        before = other.executed
        other.decide(SPACE.decode(SPACE.draw(3, np.random.default_rng(99))))
        assert other.executed == before + 3


def test_a_search_starts_from_the_rows_that_a_check_gives():
    few = {"job": "search", "over": ["sex"], "queries": 200}
    by_data = eh.audit(biased, SPACE, checks=[few], data=people()).checks[0]
    by_check = eh.audit(biased, SPACE, checks=[{**few, "start": people()}]).checks[0]
    assert by_data.found.digest == by_check.found.digest  # type: ignore[union-attr]
    assert by_check.settings["start"] == "DataFrame"


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ({"job": "mesure"}, ["check 2 has job = 'mesure'", "did you mean 'measure'"]),
        ({"over": ["sex"]}, ["check 2 has job = None; valid choices"]),
        ({"job": ["measure"]}, ["check 2 has job = ['measure']"]),
        (
            {"job": "measure", "limt": 0.1},
            ["check 2 (measure) has an unknown key 'limt'", "did you mean 'limit'"],
        ),
        ({"job": "measure", "seed": 3}, ["unknown key 'seed'"]),
        ({"job": "measure", "sampler": None}, ["unknown key 'sampler'"]),
        ({"job": "measure", 3: 4}, ["unknown key 3"]),
        (
            {"job": "subsets", "over": ["sex"]},
            ["check 2 (subsets) has an unknown key 'over'"],
        ),
        ({"job": "impact", "positive": 1}, ["unknown key 'positive'"]),
        ({"job": "impact", "queries": 3}, ["unknown key 'queries'"]),
        ({"job": "compare", "y_true": [1]}, ["unknown key 'y_true'"]),
        ({"job": "measure", "over": 5}, ["check 2 (measure) has over = 5"]),
        ("measure", ["check 2 is 'measure'", '{"job": "measure"}']),
        (None, ["check 2 is None"]),
    ],
)
def test_a_wrong_check_is_refused_before_anything_is_asked(check, words):
    subject = eh.Subject(biased, SPACE)
    refused(UsageError, lambda: eh.audit(subject, checks=[FAIR_CHECK, check]), *words)
    assert subject.asked == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"checks": []}, "checks is empty"),
        ({"checks": BIASED_CHECK}, "is not a list"),
        ({"checks": "measure"}, "is not a list"),
        ({"baseline": 7}, "is not an audit"),
        ({"baseline": "missing.json"}, "missing.json: cannot read the audit"),
        ({"budget": 100}, "is no Budget"),
        ({"chekcs": []}, "did you mean 'checks'"),
        ({"space": None}, "no space"),
    ],
)
def test_wrong_options_are_one_sentence(options, words):
    def run() -> Audit:
        return eh.audit(biased, **{"space": SPACE, **options})

    refused(UsageError, run, words)


def test_a_configuration_declares_its_own_space_and_texts_need_one(project):
    file = project()
    refused(
        UsageError,
        lambda: eh.audit(file, SPACE),
        "space cannot be combined with a configuration file",
    )
    refused(
        UsageError, lambda: eh.audit(file, data=people()), "data cannot be combined with"
    )
    refused(UsageError, lambda: eh.audit(str(file), checks=[]), "checks is empty")
    refused(
        ConfigError,
        lambda: eh.audit(file, checks=[{"job": "mesure"}]),
        "evenhand.toml",
        "did you mean 'measure'",
    )
    refused(ConfigError, lambda: eh.audit(file, checks=["measure"]), "check 1 is 'measure'")  # type: ignore[list-item]
    refused(
        UsageError,
        lambda: eh.audit(eh.TextSubject(lambda texts: [1 for _ in texts])),
        "[texts]",
        "mine_text",
    )


def test_checks_in_place_of_those_of_a_file_have_no_command_that_repeats_them(project):
    file = project()
    assert eh.audit(file, checks=[BIASED_CHECK]).command == ""
    assert eh.audit(file, checks=[BIASED_CHECK], budget=eh.Budget(findings=3)).command == ""
    found = eh.audit(
        project('[[checks]]\njob = "measure"\nover = "race"\n'),
        budget=eh.Budget(queries=1_000_000),
        seed=2,
    )
    assert found.command == f"evenhand audit {file} --queries 1000000 --seed 2"
    assert found["measure"].settings == {"queries": 1_000_000, "over": [["race"]]}


def test_the_bounds_of_the_call_hold_for_each_check():
    found = eh.audit(biased, SPACE, budget=eh.Budget(queries=50))
    assert all(check.settings["queries"] == 50 for check in found.checks)
    assert all(check.found.spent.queries <= 50 for check in found.checks)  # type: ignore[union-attr]
    assert found.exit_code == 1 if found.verdict == "fail" else 3


def test_a_setting_that_json_cannot_hold_is_written_in_words():
    found = eh.audit(
        biased, SPACE, checks=[BIASED_CHECK], budget=eh.Budget(seconds=float("inf"))
    )
    assert found["measure"].settings["seconds"] == "inf"
    assert Audit.from_dict(json.loads(found.to_json())).digest == found.digest


def test_undecided_exits_with_3_and_is_no_pass():
    found = eh.audit(
        biased, SPACE, checks=[FAIR_CHECK | {"limit": 0.01}], budget=eh.Budget(queries=80)
    )
    assert (found.verdict, found.exit_code) == ("undecided", 3)
    with pytest.raises(AssertionError, match="audit: undecided"):
        found.check()


def test_without_limits_there_is_no_verdict_and_nothing_fails():
    found = eh.audit(
        biased,
        SPACE,
        checks=[{"job": "search", "over": "sex", "queries": 300}, {"job": "measure"}],
    )
    assert (found.verdict, found.exit_code) == (None, 0)
    assert found.check() is found
    assert str(found) == "search sex: no limit given\nmeasure: no limit given"
    assert found.story() == "audit: no limit given"


def test_a_failing_audit_tells_its_story_with_a_case():
    found = eh.audit(biased, SPACE, checks=[FAIR_CHECK, BIASED_CHECK | {"level": 0.96}])
    with pytest.raises(AssertionError) as caught:
        found.check()
    story = str(caught.value)
    assert story.startswith("audit: fail\nmeasure sex: fail\n  changing only sex")
    assert "sex F → M: 0 → 1" in story or "sex M → F: 1 → 0" in story
    assert "race" not in story.replace("race a", "").replace("race b", "")


def test_a_later_check_that_cannot_run_stands_in_its_place_and_nothing_is_lost():
    wrong: list[dict[str, Any]] = [{"job": "measure", "over": ["sexx"]}, {"job": "impact"}]
    found = eh.audit(
        biased, SPACE, checks=[BIASED_CHECK, *wrong, FAIR_CHECK | {"level": 0.96}]
    )
    assert states(found) == {
        "measure sex": "fail",
        "measure sexx": "undecided",
        "impact": "undecided",
        "measure race": "pass",
    }
    assert [check.exit_code for check in found.checks] == [1, 2, 2, 0]
    assert found.exit_code == 2
    assert "did you mean 'sex'" in found["measure sexx"].error
    assert "name their file with data" in found["impact"].error
    assert "measure sexx: 'sexx'" in found.story() or "sexx" in found.story()
    assert Audit.from_dict(json.loads(found.to_json())).to_json() == found.to_json()
    refused(
        UsageError,
        lambda: eh.audit(biased, SPACE, checks=[wrong[0], BIASED_CHECK]),
        "did you mean 'sex'",
    )


def test_a_program_that_crashes_on_some_inputs_is_shown_and_the_other_checks_stay(tmp_path):
    program = tmp_path / "loan"
    program.write_text(
        '#!/bin/sh\nif [ "$1" = M ] && [ "$2" -gt 3 ]; then echo no funds >&2; exit 7; fi; echo'
        " yes\n"
    )
    program.chmod(0o755)
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 1, 6)], ["sex"])
    with eh.Subject.command(
        [str(program), "{sex}", "{age}"], space, positive="yes"
    ) as subject:
        safe = eh.profile({"sex": {"F": 1}})
        first = eh.audit(subject, checks=[{"job": "measure", "over": "sex", "limit": 0.5}])
        kept = eh.audit(
            subject,
            checks=[{"job": "measure", "over": "age", "limit": 0.5, "exact": False}],
            sampler=safe,
        )
    assert first.exit_code == 4
    assert first.verdict == "undecided"
    assert "exited with code 7" in first.checks[0].error
    assert "\n" not in first.checks[0].error
    assert kept.exit_code == 0, audit_lines(kept)
    found = eh.audit(
        lambda people: 1 / 0 if (people["age"] == 60).any() else biased(people),
        SPACE,
        checks=[
            {"job": "search", "over": "sex", "queries": 40, "strategy": "random"},
            {"job": "measure", "over": "age", "limit": 0.5},
            BIASED_CHECK | {"queries": 8},
        ],
    )
    assert found.exit_code in (1, 4)
    assert found["measure age"].exit_code == 4
    assert "ZeroDivisionError" in found["measure age"].error


class Until:
    """Software that someone interrupts at a certain call, or once other software is asked."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self, people: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return biased(people)


def test_an_interrupt_keeps_what_was_found_and_says_what_was_not_come_to():
    checks = [
        BIASED_CHECK,
        {"job": "search", "over": "sex", "queries": 3000},
        FAIR_CHECK | {"level": 0.96},
    ]
    whole = Until(10**9)
    eh.audit(whole, SPACE, checks=checks[:1])
    first = 10**9 - whole.left
    found = eh.audit(Until(first + 12), SPACE, checks=checks)
    assert names(found) == ["measure sex", "search sex"]
    assert [check.interrupted for check in found.checks] == [False, True]
    assert found.exit_code == 130
    assert found.verdict == "fail"
    assert found.notes == ("interrupted before: measure race",)
    assert found["search"].found is not None
    assert Audit.from_dict(json.loads(found.to_json())).exit_code == 130
    assert "exit code 130: interrupted" in audit_lines(found)


@pytest.mark.parametrize("job", ["impact", "compare"])
def test_an_interrupt_of_a_check_that_has_nothing_to_keep_loses_nothing_else(job):
    checks = [
        BIASED_CHECK,
        {"job": job}
        | ({"truth": "good", "models": {"fair": fair}} if job == "compare" else {}),
        FAIR_CHECK | {"level": 0.96},
    ]
    whole = Until(10**9)
    tested = eh.Subject(whole, SPACE, positive=1)
    eh.audit(tested, checks=checks[:1], data=people(200))
    last = 10**9 - whole.left + 1
    found = eh.audit(
        eh.Subject(Until(last), SPACE, positive=1), checks=checks, data=people(200)
    )
    assert names(found) == ["measure sex", job]
    assert found["measure"].verdict == "fail"
    assert found[job].error == "the run was interrupted"
    assert (found[job].interrupted, found.exit_code) == (True, 130)
    assert found.notes == ("interrupted before: measure race",)
    assert Audit.from_dict(json.loads(found.to_json())).to_json() == found.to_json()
    with pytest.raises(KeyboardInterrupt):
        eh.audit(
            eh.Subject(Until(1), SPACE, positive=1), checks=checks[1:], data=people(200)
        )


def test_an_audit_reads_back_from_its_file_as_it_was(tmp_path):
    found = eh.audit(biased, SPACE, budget=eh.Budget(queries=600), seed=4)
    assert found.to_json(tmp_path / "a.json") == (tmp_path / "a.json").read_text(
        encoding="utf-8"
    )
    again = Audit.from_json(tmp_path / "a.json")
    assert again.digest == found.digest
    assert again.to_json() == found.to_json()
    assert (again.seed, again.verdict, again.exit_code, again.level) == (
        4,
        found.verdict,
        1,
        found.level,
    )
    assert names(again) == names(found)
    assert again.to_frame().to_csv() == found.to_frame().to_csv()
    assert again.space == SPACE.to_dict()


def test_the_digest_is_the_same_for_any_number_of_workers_and_for_a_warm_ledger(tmp_path):
    def run(
        *, ledger: Path | None = tmp_path / "answers.ledger", seed: int = 1, n_jobs: int = 1
    ) -> Audit:
        with eh.Subject(
            biased, SPACE, positive=1, ledger=ledger, identity="loan"
        ) as subject:
            return eh.audit(
                subject,
                data=people(100),
                budget=eh.Budget(queries=6000),
                seed=seed,
                n_jobs=n_jobs,
            )

    cold, warm, parallel = run(), run(), run(ledger=None, n_jobs=2)
    assert cold.spent.executed > 0
    assert (warm.spent.executed, warm.spent.queries) == (0, cold.spent.queries)
    assert cold.digest == warm.digest == parallel.digest
    assert run(seed=2).digest != cold.digest


def test_the_level_of_all_checks_is_what_they_hold_together():
    sampled: dict[str, Any] = {"exact": False, "margin": 0.2}
    checks: list[dict[str, Any]] = [
        BIASED_CHECK | sampled,
        FAIR_CHECK | sampled | {"level": 0.98},
        {"job": "search", "over": "sex"},
    ]
    bounds = eh.Budget(queries=400)
    found = eh.audit(biased, SPACE, checks=checks, budget=bounds)
    assert [check.level for check in found.checks] == [0.97, 0.98, 1.0]
    assert found.level == 0.95
    assert "holds together with at least 95 % confidence" in counted(found)
    again = eh.audit(biased, SPACE, checks=checks, budget=bounds, level=0.9)
    assert [check.level for check in again.checks] == [0.92, 0.98, 1.0]
    assert again.level == 0.9
    assert Audit((), 0, Spent(0, 0, 0.0)).level == 1
    many = Audit(tuple(found.checks[:2]) * 20, 0, Spent(0, 0, 0.0))
    assert many.level == 0
    assert "of all together nothing can be said" in counted(many)


def test_checks_are_found_by_name_or_by_a_job_that_only_one_has():
    found = eh.audit(
        biased,
        SPACE,
        checks=[
            BIASED_CHECK,
            FAIR_CHECK | {"level": 0.96},
            {"job": "search", "queries": 99},
        ],
    )
    assert found["measure sex"].verdict == "fail"
    assert found["search"].job == "search"
    refused(
        UsageError,
        lambda: found["measure"],
        "this audit has no check 'measure'",
        "'measure sex'",
    )
    refused(UsageError, lambda: found["mesure sex"], "did you mean 'measure sex'")


def test_names_of_checks_are_unlike_and_the_same_in_every_run():
    checks = [
        {"job": "measure", "over": "sex", "level": level, "queries": 50}
        for level in (0.98, 0.985, 0.99)
    ]
    one = eh.audit(biased, SPACE, checks=checks)
    assert names(one) == ["measure sex", "measure sex (2)", "measure sex (3)"]
    assert names(eh.audit(fair, SPACE, checks=checks, seed=9)) == names(one)
    together = planned(
        SPACE, [BIASED_CHECK, FAIR_CHECK, BIASED_CHECK], eh.Budget(), real=False
    )
    assert [plan.name for plan in together] == ["measure sex; race"]
    assert together[0].settings["over"] == [("sex",), ("race",)]
    # Frames are the same only where they are the very same object.
    searches = [
        {"job": "search", "start": people(5)},
        {"job": "search", "start": people(5)},
    ]
    apart = planned(SPACE, searches, eh.Budget(), real=False)
    assert len(apart) == 2


def test_a_frame_has_a_row_for_each_statement():
    found = eh.audit(
        biased,
        SPACE,
        checks=[BIASED_CHECK, FAIR_CHECK, {"job": "measure", "over": ["sexx"]}],
    )
    frame = found.to_frame()
    assert frame["check"].tolist() == [
        "measure sex; race",
        "measure sex; race",
        "measure sexx",
    ]
    assert frame["about"].tolist() == ["sex", "race", "measure"]
    assert frame["verdict"].tolist() == ["fail", "pass", "undecided"]
    assert frame["value"].isna().tolist() == [False, False, True]
    held = found.against(found).to_frame()
    assert held["baseline"].tolist()[:2] == ["not worse"] * 2
    assert held["change_value"].tolist()[:2] == [0, 0]
    assert held["tolerance"].tolist()[:2] == [0.01, 0.01]


def test_a_notebook_shows_statements_with_their_limits_and_escapes_what_is_data():
    space = eh.Space(
        [eh.category("<b>sex</b>", ["F", "M"]), eh.integer("income", 0, 50)], ["<b>sex</b>"]
    )
    shown = eh.audit(lambda people: people["<b>sex</b>"] == "M", space)._repr_html_()
    assert "<b>" not in shown
    assert ">fail</strong>" in shown
    rates = eh.audit(
        eh.Subject(biased, SPACE, positive=1),
        checks=[{"job": "impact", "least_ratio": 0.8}],
        data=people(),
    )
    assert "at least 80 %" in rates._repr_html_()


def test_the_scores_of_all_checks_are_drawn_beside_each_other():
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    checks = [
        BIASED_CHECK,
        FAIR_CHECK,
        {"job": "search", "queries": 99},
        {"job": "impact", "least_ratio": 0.8},
    ]
    found = eh.audit(eh.Subject(biased, SPACE, positive=1), checks=checks, data=people())
    display = found.plot()
    assert isinstance(display, AuditDisplay)
    labels = " ".join(str(score) for score in display.rates.scores)
    assert "measure sex" in labels
    assert "search" not in labels
    pyplot.close(display.figure_)


def test_progress_of_a_run_within_a_run_is_drawn_on_one_bar(capsys):
    found = eh.audit(biased, SPACE, budget=eh.Budget(queries=600), progress=True)
    assert found.exit_code == 1
    with (
        progress_bar(show=True) as outer,
        progress_bar(show=True) as inner,
        progress_bar(show=False) as none,
    ):
        assert outer is not None
        assert inner is not None
        assert none is None
        outer(Progress("audit", 0.5, "check 1 of 2"))
        inner(Progress("measure", None, "40 inputs"))
    with (
        pytest.raises(ValueError, match="stop"),
        progress_bar(show=True),
        progress_bar(show=True),
    ):
        raise ValueError("stop")
    with progress_bar(show=True) as again:
        assert again is not None
    assert capsys.readouterr().out == ""


def test_a_terminal_shows_checks_verdicts_and_the_exit_code():
    found = eh.audit(biased, SPACE, checks=[BIASED_CHECK, FAIR_CHECK, {"job": "impact"}])
    lines = audit_lines(found, ["a.json", "b.html"])
    assert lines[0].split()[:3] == ["about", "score", "value"]
    assert lines[1].startswith("FAIL      sex")
    assert any(line.startswith("NOT RUN   impact") for line in lines)
    assert any(line.startswith("FAIL      changing only sex") for line in lines)
    assert any(line.strip().startswith("for example sex") for line in lines)
    assert lines[-3:] == [
        "exit code 2: a check could not be run",
        "wrote a.json, b.html",
        "the rest is in b.html",
    ]
    assert max(map(len, audit_lines(found, width=80))) <= 80
    in_full = audit_lines(found, ["a.json"], full=True)
    assert in_full[0] == "measure sex; race"
    assert in_full[1].startswith("FAIL      changing only sex")
    crashed = Audit(
        (CheckResult("measure sex", "measure", {}, error="gone"),), 0, Spent(0, 0, 0.0)
    )
    assert audit_lines(crashed)[0] == "NOT RUN   measure sex: gone"
    assert audit_lines(crashed, full=True) == [
        "measure sex",
        "NOT RUN   gone",
        "NOT RUN   1 check: 1 not run",
        "exit code 4: the software failed",
    ]


def test_what_counts_most_of_several_exit_codes():
    def audit(*codes: int) -> Audit:
        found = eh.measure(fair, SPACE, over="sex", limit=0.05)
        failed = eh.measure(biased, SPACE, over="sex", limit=0.05)
        made = {0: found, 1: failed}
        checks = [
            (
                CheckResult(str(at), "measure", {}, made[code])
                if code in made
                else CheckResult(str(at), "x", {}, None, "no", code)
            )
            for at, code in enumerate(codes)
        ]
        return Audit(tuple(checks), 0, Spent(0, 0, 0.0))

    for place, code in enumerate(WORST):
        assert audit(*reversed(WORST[place:])).exit_code == code


def test_the_same_verdict_and_digest_from_command_line_python_and_pytest(
    project, tmp_path, capsys
):
    project()
    assert main(["audit", "evenhand.toml", "--json", "cli.json", "--seed", "3"]) == 1
    cli = Audit.from_json("cli.json")
    here = eh.audit("evenhand.toml", seed=3)
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n\n@pytest.mark.fairness(seed=3)\ndef test_it(fairness):\n    found ="
        " fairness.audit('evenhand.toml')\n    found.to_json('pytest.json')\n    found.check()\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "test_it.py",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1, done.stdout
    asked = Audit.from_json("pytest.json")
    assert cli.digest == here.digest == asked.digest
    assert cli.verdict == here.verdict == asked.verdict == "fail"
    assert cli.exit_code == here.exit_code == asked.exit_code == 1

    capsys.readouterr()
    for verb in ("measure", "subsets", "search", "mine", "prevalence"):
        checks = [check for check in cli.checks if check.job == verb]
        levels = [str(check.level) for check in checks if check.level < 1]
        at_level = ["--level", levels[0]] if levels else []
        main([verb, "evenhand.toml", "--seed", "3", "--json", f"{verb}.json", *at_level])
        results = [check.found for check in checks]
        for number, found in enumerate(results, start=1):
            written = f"{verb}.json" if number == 1 else f"{verb}-{number}.json"
            alone = eh.Result.from_json(written)
            assert verdicts_by_key(alone) == verdicts_by_key(found), verb
            # Scores that several checks of an audit ask for are asked once.
            if verb in ("mine", "prevalence"):
                assert alone.digest == found.digest, verb  # type: ignore[union-attr]


def test_a_configuration_without_checks_has_the_usual_ones(project):
    found = eh.audit(project(""), budget=eh.Budget(queries=12_000))
    assert [check.job for check in found.checks] == [
        "measure",
        "subsets",
        "search",
        "impact",
        "mine",
    ]
    assert all(check.found is not None for check in found.checks), audit_lines(found)
    assert found.config["text"].startswith("\n[subject]")


def test_settings_hold_paths_as_the_file_has_them(project, tmp_path):
    (tmp_path / "rows").mkdir()
    for name in ("more", "other"):
        people(200).to_csv(tmp_path / "rows" / f"{name}.csv", index=False)
    absolute = (tmp_path / "rows" / "other.csv").as_posix()
    checks = f"""
[[checks]]
job = "impact"
data = "rows/more.csv"
[[checks]]
job = "search"
start = "{absolute}"
queries = 100
"""
    found = eh.audit(project(checks))
    assert found["impact"].settings == {"data": "rows/more.csv"}
    assert found["search"].settings["start"] == absolute
    assert eh.audit("evenhand.toml").digest == found.digest


def test_texts_are_mined_by_terms(project, tmp_path):
    (tmp_path / "text_rules.py").write_text(
        "def rude(texts):\n    return ['gay' in text for text in texts]\n"
    )
    comments = [
        "a gay man",
        "a straight man",
        "the gay aunt",
        "a straight aunt",
        "no words",
    ] * 20
    pd.DataFrame({"comment": comments}).to_csv(tmp_path / "texts.csv", index=False)
    config = (
        '[subject]\nfunction = "text_rules:rude"\npositive = true\n[texts]\nfrom ='
        ' "texts.csv"\ncolumn = "comment"\n'
    )
    found = eh.audit(project("", config))
    assert [check.name for check in found.checks] == ["mine", "causal mine"]
    assert found.verdict == "fail"
    assert found.space == {}
    assert {check.found.job for check in found.checks} == {"mine_text"}  # type: ignore[union-attr]
    again = eh.replay(
        _written(found, tmp_path / "texts.json"),
        eh.TextSubject(lambda texts: [0 for _ in texts]),
    )
    assert again.verdict == "pass"
    wrong = project('[[checks]]\njob = "measure"\nover = ["sex"]\n', config)
    refused(ConfigError, lambda: eh.audit(wrong), "evenhand.toml", "[texts]", "[space]")


def _written(audit: Audit, path: Path) -> Path:
    audit.to_json(path)
    return path


def test_the_cases_of_all_checks_are_replayed(tmp_path):
    file = tmp_path / "audit.json"
    found = eh.audit(
        biased,
        SPACE,
        checks=[BIASED_CHECK, {"job": "search", "over": "sex", "queries": 300}],
    )
    found.to_json(file)
    assert eh.replay(file, biased, SPACE).verdict == "fail"
    cured = eh.replay(file, fair, SPACE)
    assert cured.verdict == "pass"
    assert len(cured.findings) == 2
    eh.audit(fair, SPACE, checks=[BIASED_CHECK]).to_json(file)
    refused(
        UsageError,
        lambda: eh.replay(file, fair, SPACE),
        "audit.json",
        "none of its checks has any",
    )


def test_files_of_several_jobs_are_gathered_under_names_of_their_own(tmp_path):
    one = eh.audit(biased, SPACE, checks=[BIASED_CHECK])
    one.to_json(tmp_path / "one.json")
    eh.audit(fair, SPACE, checks=[BIASED_CHECK], seed=1).to_json(tmp_path / "two.json")
    eh.measure(biased, SPACE, limit=0.05).to_json(tmp_path / "three.json")
    frame = people(200)
    guesses = {"original": biased(frame), "other": frame["other"]}
    eh.compare(guesses, frame["good"], frame["sex"], resamples=100).to_json(
        tmp_path / "four.json"
    )
    files = [tmp_path / f"{name}.json" for name in ("one", "two", "three", "four", "one")]
    found = gathered(files)
    first, second, third, fourth, last = names(found)
    assert first == "measure sex"
    assert second == f"measure sex ({files[1]})"
    assert (third, fourth) == (f"measure ({files[2]})", f"compare ({files[3]})")
    assert last == f"measure sex ({files[0]})"
    assert len(set(names(gathered([*files, *files])))) == 10
    assert found[second].verdict == "pass"
    assert "the seeds differ: 0, 1, 0, 0, 0" in found.notes
    assert gathered(files[:1]).digest == one.digest
    page = found.to_html()
    assert all(
        name.replace("<", "&lt;").partition(" (")[0] in page for name in names(found)
    )


def test_of_audits_that_are_gathered_each_baseline_is_named_once(tmp_path):
    plain = eh.audit(biased, SPACE, checks=[BIASED_CHECK])
    other = eh.audit(fair, SPACE, checks=[BIASED_CHECK])
    made = {
        "plain": plain,
        "held": plain.against(plain, name="old.json"),
        "again": plain.against(other, name="b.json"),
    }
    for name, audit in made.items():
        audit.to_json(tmp_path / f"{name}.json")

    def joined(*names: str) -> Audit:
        return gathered([tmp_path / f"{name}.json" for name in names])

    assert joined("plain", "plain").baseline == {}
    assert (
        joined("plain", "held").baseline
        == joined("held", "held").baseline
        == made["held"].baseline
    )
    both = joined("plain", "held", "again", "held")
    assert (
        both.held_against
        == f"old.json, digest {plain.digest}; b.json, digest {other.digest}"
    )
    assert Audit.from_dict(json.loads(both.to_json())).held_against == both.held_against


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a JSON file"),
        ("[]", "not an evenhand result"),
        ('{"job": "audit"}', "not an evenhand audit"),
        ('{"job": "compare"}', "not an evenhand comparison"),
        (
            f'{{"job": "audit", "checks": [], "format": {FORMAT + 1}}}',
            f"format {FORMAT + 1} is not {FORMAT}",
        ),
        (
            f'{{"job": "audit", "checks": [[1]], "format": {FORMAT}}}',
            "the field 'seed' is missing",
        ),
        (
            f'{{"job": "audit", "checks": [7], "format": {FORMAT}}}',
            "the field 'seed' is missing",
        ),
        (
            f'{{"job": "audit", "checks": [{{"name": "x"}}], "format": {FORMAT}}}',
            "the field 'seed' is missing",
        ),
        (
            f'{{"job": "audit", "checks": [], "format": {FORMAT}, "seed": 0}}',
            "the field 'stop' is missing",
        ),
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path, text, words):
    (tmp_path / "bad.json").write_text(text)
    refused(UsageError, lambda: gathered([tmp_path / "bad.json"]), "bad.json", words)


@cache
def saved() -> str:
    """Return the JSON of an audit that is held against another one."""
    found = eh.audit(
        biased,
        SPACE,
        checks=[BIASED_CHECK, {"job": "search", "over": "sex", "queries": 99}],
    )
    return found.against(eh.audit(fair, SPACE, checks=[BIASED_CHECK])).to_json()


@given(data=st.data())
@settings(max_examples=examples(100), deadline=None)
def test_whatever_happens_to_a_file_it_is_read_or_refused_in_a_sentence(data):
    table = json.loads(saved())
    place: Any = table
    for _ in range(data.draw(st.integers(0, 5))):
        inside = list(place.values()) if isinstance(place, dict) else place
        deeper = [one for one in inside if isinstance(one, dict | list) and one]
        if not deeper:
            break
        place = data.draw(st.sampled_from(deeper))
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    key = data.draw(st.sampled_from(keys))
    if data.draw(st.booleans()):
        del place[key]
    else:
        place[key] = data.draw(
            st.sampled_from([None, True, -1, 1e9, "", "x", [], {}, [1], {"a": 1}, [[]]])
        )
    try:
        found = Audit.from_dict(table, where="a.json")
    except UsageError as error:
        assert str(error).startswith("a.json: ")
        assert "\n" not in str(error)
    else:
        assert isinstance(found, Audit)


def test_software_with_chance_in_it_is_measured_and_other_checks_say_why_not():
    rng = np.random.default_rng(0)

    def fickle(people):
        wrong = rng.random(len(people)) < 0.2
        return (people["income"] > 25).to_numpy() ^ wrong

    checks: list[dict[str, Any]] = [
        {"job": "measure", "over": ["sex"], "limit": 0.2},
        {"job": "measure", "over": ["sex"], "limit": 0.2, "kind": "group"},
        {"job": "search", "over": ["sex"]},
        {"job": "subsets", "limit": 0.2},
    ]
    audit = eh.audit(fickle, SPACE, checks=checks)
    causal, group, *others = audit.checks
    for check in (causal, group):
        assert isinstance(check.found, eh.Result)
        assert check.found.verdict == "pass"
        assert check.found.worst.noise is not None
        assert check.found.worst.noise.value > 0.2
    for check in others:
        assert "when asked again" in check.error
        assert "or measure it, which allows for chance" in check.error
        assert "\n" not in check.error
    page = audit.to_html()
    assert "asked again, the same input gets another outcome" in page.lower()
