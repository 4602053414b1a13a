"""measure on the core: exact scores recovered, same bytes however it is run, budgets kept, errors
in one sentence.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import runpy
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.runtime.errors import SpaceError, SubjectCrashed, UsageError
from evenhand.runtime.progress import Progress
from tests.support.helpers import examples, refused
from tests.support.sharing import share_everything

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b", "c"]),
        eh.integer("age", 18, 90),
        eh.real("rate", 0, 1, step=0.01),
    ],
    protected=["sex", "race"],
)


def biased(people):
    """Men need five years less: 5 of 73 ages flip."""
    bonus = 5 * (people["sex"] == "M")
    is_old_enough = people["age"] + bonus > 50
    return np.where(is_old_enough, "approve", "deny")


def truth(space: eh.Space, model, over: list[str]) -> float:
    """The causal score by brute force (Def. 3.7), without the code under test."""
    frame = space.decode(space.enumerate())
    rest = [name for name in space.names if name not in over]
    frame["outcome"] = np.asarray(model(frame))
    outcomes = frame.groupby(rest)["outcome"]
    is_flipped = outcomes.transform("nunique") > 1
    return float(is_flipped.mean())


@pytest.mark.parametrize("over", [["sex"], ["race"], ["sex", "race"]])
def test_the_interval_holds_the_brute_force_score(over):
    exact = truth(SPACE, biased, over)
    result = eh.measure(biased, SPACE, over=over, margin=0.01, level=0.999)
    found = result.worst.estimate
    assert found.low <= exact <= found.high
    assert found.high - found.value <= 0.01
    assert found.value - found.low <= 0.01


def test_constraints_bound_both_inputs_and_twins():
    space = eh.Space(
        SPACE.features,
        ["sex"],
        ["not (sex == 'M' and age < 60)", "not (sex == 'F' and age > 80)"],
    )

    def any_man(people):
        is_man = people["sex"] == "M"
        ages_of_men = people["age"][is_man]
        ages_of_women = people["age"][~is_man]
        assert (ages_of_men >= 60).all()
        assert (ages_of_women <= 80).all()
        return is_man

    # Only those of 60 to 80 have a twin: 21 ages × 2 of 63 + 31 valid ones.
    result = eh.measure(any_man, space, margin=0.02, level=0.999)
    found = result.worst.estimate
    assert found.low <= 42 / 94 <= found.high


@pytest.mark.parametrize(
    "model", [biased, lambda people: (people["age"] > 40) & (people["race"] == "a")]
)
def test_same_seed_same_bytes(model, tmp_path, monkeypatch):
    share_everything(monkeypatch)

    def run(seed=3, n_jobs=1, **options):
        result = eh.measure(
            eh.Subject(model, SPACE, **options),
            over=[("sex",), ("race",)],
            margin=0.01,
            seed=seed,
            n_jobs=n_jobs,
        )
        table = json.loads(result.to_json())
        table["spent"].pop("seconds")
        table["spent"].pop("executed")
        return json.dumps(table)

    first = run()
    assert run() == first
    assert run(n_jobs=2) == first
    assert run(n_jobs=2, memo=True) == first
    assert run(memo=True) == first
    assert run(memo=False) == first
    assert run(ledger=tmp_path / "a.ledger") == first  # cold
    assert run(ledger=tmp_path / "a.ledger") == first  # warm
    assert run(seed=4) != first


def test_work_is_shared_with_other_processes_and_counted(tmp_path, monkeypatch):
    share_everything(monkeypatch)

    def signed(people):
        (tmp_path / str(os.getpid())).touch()
        return biased(people)

    subject = eh.Subject(signed, SPACE, positive="approve")
    result = eh.measure(subject, over="sex", margin=0.02, n_jobs=2)
    processes = list(tmp_path.iterdir())
    assert len(processes) >= 2
    assert result.spent.executed == subject.executed
    assert result.spent.executed >= result.spent.queries


def test_an_error_in_another_process_is_the_same_error(monkeypatch):
    share_everything(monkeypatch)
    here = os.getpid()

    def elsewhere(people):
        if os.getpid() != here:
            raise KeyError("income")
        return biased(people)

    with pytest.raises(SubjectCrashed, match="elsewhere raised KeyError"):
        eh.measure(elsewhere, SPACE, over="sex", margin=0.02, n_jobs=2)


def test_a_warm_ledger_executes_nothing(tmp_path):
    def run():
        subject = eh.Subject(biased, SPACE, ledger=tmp_path / "a.ledger")
        eh.measure(subject, over="sex", margin=0.05)
        return subject.executed

    assert run() > 0
    assert run() == 0


@given(
    st.integers(1, 400), st.sampled_from([["sex"], ["sex", "race"], [("sex",), ("race",)]])
)
@settings(max_examples=examples(40), deadline=None)
def test_the_query_budget_is_never_exceeded(queries, over):
    asked = 0

    def counted(people):
        nonlocal asked
        asked += len(people)
        return biased(people)

    try:
        result = eh.measure(
            counted, SPACE, over=over, margin=0.01, budget=eh.Budget(queries=queries)
        )
    except UsageError as error:
        assert "budget" in str(error)
    else:
        assert result.spent.queries <= queries
        assert result.stop is eh.StopReason.QUERIES
    assert asked <= queries


def test_a_spent_budget_is_undecided_not_a_pass():
    result = eh.measure(
        lambda people: people["age"] > 40,
        SPACE,
        over="sex",
        limit=0.01,
        budget=eh.Budget(queries=80),
    )
    assert result.verdict == "undecided"
    assert result.exit_code == 3
    with pytest.raises(AssertionError, match="undecided"):
        result.check()


def test_deciding_stops_early():
    def is_man(people):
        return people["sex"] == "M"

    easy = eh.measure(is_man, SPACE, over="sex", limit=0.05)
    hard = eh.measure(biased, SPACE, over="sex", limit=0.05)
    assert easy.verdict == "fail"
    assert hard.verdict == "fail"
    assert easy.stop is eh.StopReason.DECIDED
    assert easy.spent.queries < hard.spent.queries / 3


def test_the_reason_given_is_the_one_that_leaves_most_open():
    def at_the_limit(people):
        return (people["rate"] < 0.505) & (people["sex"] == "M")  # 51 of 101 rates

    sampled = partial(eh.measure, at_the_limit, SPACE, limit=0.5, exact=False)
    result = sampled(over=[("race",), ("sex",)], budget=eh.Budget(queries=20_000))
    verdicts = {finding.about: finding.verdict for finding in result.findings}
    assert verdicts == {("race",): "pass", ("sex",): "undecided"}
    assert result.stop is eh.StopReason.QUERIES


def test_cheap_software_is_asked_until_it_is_decided():
    def over_the_limit(people):
        return (people["rate"] < 0.505) & (people["sex"] == "M")  # 51 of 101 rates

    result = eh.measure(over_the_limit, SPACE, over="sex", limit=0.5)
    assert result.verdict == "fail"
    assert result.stop in (eh.StopReason.DECIDED, eh.StopReason.ENUMERATED)
    assert result.worst.estimate.value == pytest.approx(51 / 101, abs=0.01)


def test_cases_replay_and_change_only_what_is_at_issue():
    result = eh.measure(biased, SPACE, over=["sex", "race"], margin=0.05)
    assert 1 <= len(result.worst.cases) <= 3
    subject = eh.Subject(biased, SPACE)
    for case in result.worst.cases:
        own, twin = case.outcomes
        answers = subject.decide([case.individual, case.twin])
        assert answers.tolist() == [own, twin]
        assert own != twin
        # Race never matters, so a minimal case leaves it alone.
        assert case.changed == ("sex",)


def tenths_apart(a, b):
    return np.minimum(np.abs(a - b) / 10, 1)


@pytest.mark.parametrize(
    ("differs", "expected"),
    [
        (None, 1.0),
        (4.0, 1.0),
        (5.0, 0.0),
        (tenths_apart, 0.5),
    ],
)
def test_numeric_outcomes_differ_by_gamma_or_by_a_distance(differs, expected):
    def pays(people):
        return people["age"] + 5.0 * (people["sex"] == "M")

    subject = eh.Subject(pays, SPACE, differs=differs)
    found = eh.measure(subject, over="sex", margin=0.05).worst.estimate
    method = "anytime" if callable(differs) else "exact"
    assert found.value == pytest.approx(expected)
    assert found.method.startswith(method)


def test_a_feature_that_is_not_passed_scores_zero_and_says_what_that_means():
    space = eh.Space(
        [eh.category("sex", ["F", "M"], passed=False), eh.integer("age", 18, 90)],
        protected=["sex"],
    )
    result = eh.measure(lambda people: people["age"] > 40, space, limit=0.05)
    assert result.worst.estimate.value == 0
    assert "no evidence of fairness" in result.notes[0]


def test_a_binned_continuous_feature_can_be_varied():
    def heavy(people):
        return people["weight"] > 50

    weight = eh.real("weight", 0, 100, bins=4)
    space = eh.Space([weight, eh.integer("age", 18, 90)], protected=["weight"])
    found = eh.measure(heavy, space, margin=0.05)
    estimate = found.worst.estimate
    assert estimate.value == 1
    # Each draw is asked itself and in each of the four bins. All flip: each is asked again with its
    # twin, and about one in 16 once more.
    again = found.spent.queries - 64 - (5 + 2) * estimate.n
    assert again in (estimate.n // 16, estimate.n // 16 + 1)


def test_wald_reproduces_the_paper_and_its_failure():
    rare = eh.Space(
        [eh.category("sex", ["F", "M"]), eh.integer("id", 1, 1000)], protected=["sex"]
    )

    def one_in_fifty(people):
        return (people["id"] <= 20) & (people["sex"] == "M")

    search = partial(eh.measure, one_in_fifty, rare, margin=0.01, level=0.99)
    values = []
    for seed in range(20):
        found = search(interval="wald", seed=seed)
        values.append(found.worst.estimate.value)
    # Zero hits in 31 draws: width zero, so it stops and says 0.
    assert values.count(0) >= 5
    sound = search().worst.estimate
    assert sound.low <= 0.02 <= sound.high


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_wald_is_first_looked_at_above_the_sampling_threshold(kind):
    fair = partial(eh.measure, lambda people: people["age"] >= 0, SPACE, over="sex")
    for threshold in (0, 10, 200):
        found = fair(kind=kind, interval="wald", sampling_threshold=threshold).worst
        groups = 2 if kind == "group" else 1
        assert found.estimate.n == groups * (threshold + 1)
        assert found.estimate.value == 0
    usual = fair(kind=kind, interval="wald")
    named = fair(kind=kind, interval="wald", sampling_threshold=30)
    assert usual.digest == named.digest


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"limt": 0.1}, "did you mean 'limit'"),
        ({"over": "sexx"}, "did you mean 'sex'"),
        ({"over": []}, "over is empty"),
        ({"over": ["sex", "sex"]}, "'sex' twice"),
        ({"margin": 0}, "margin"),
        ({"margin": 1.5}, "margin"),
        ({"limit": 1.2}, "limit"),
        ({"level": 1.0}, "level"),
        ({"interval": "walt"}, "did you mean 'wald'"),
        ({"sampling_threshold": 9}, "add interval='wald'"),
        ({"kind": "causl"}, "did you mean 'causal'"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"budget": None, "space": None}, "no space"),
    ],
)
def test_wrong_settings_give_one_sentence(options, words):
    arguments = {"space": SPACE, "over": "sex", **options}
    with pytest.raises(UsageError) as caught:
        eh.measure(biased, arguments.pop("space"), **arguments)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_protected_features_and_continuous_ones():
    with pytest.raises(UsageError, match="no protected features"):
        eh.measure(biased, eh.Space(SPACE.features))
    with pytest.raises(SpaceError, match="continuous"):
        eh.measure(
            lambda people: people["w"] > 0, eh.Space([eh.real("w", 0, 1)], protected=["w"])
        )


def test_an_interrupt_keeps_what_is_known():
    calls = 0

    def interrupted(people):
        nonlocal calls
        calls += 1
        # Two calls see whether it is deterministic, and a wave takes up to four.
        if calls == 9:
            raise KeyboardInterrupt
        return biased(people)

    result = eh.measure(
        interrupted, SPACE, over=[("sex",), ("race",)], margin=0.001, limit=0.07
    )
    assert result.stop is eh.StopReason.INTERRUPTED
    known = {finding.about: finding for finding in result.findings}
    of_sex = known["sex",]
    of_race = known["race",]
    assert of_sex.estimate.n >= 16
    assert of_race.claim == "race was not measured"
    assert of_race.verdict == "undecided"
    assert result.verdict == "undecided"
    document = json.loads(result.to_json())
    assert eh.Result.from_dict(document).digest == result.digest


def test_what_an_interrupted_run_did_not_come_to_has_the_key_that_it_would_have():
    calls = 0

    def interrupted(people):
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return graded(people)

    def graded(people):
        return np.where(people["age"] < 30, "low", biased(people))

    def search(decide):
        subject = eh.Subject(decide, SPACE, labels=["low", "deny", "approve"])
        return eh.measure(subject, kind="group", over="sex", margin=0.01)

    whole = search(graded)
    result = search(interrupted)
    assert result.stop is eh.StopReason.INTERRUPTED
    assert keys_of(result) == keys_of(whole)
    missed = [finding for finding in result.findings if not finding.estimate.n]
    assert missed
    for finding in missed:
        assert finding.claim == f"sex was not measured for {finding.output}"


def keys_of(result):
    return sorted(finding.key for finding in result.findings)


def test_findings_have_keys_of_their_own_that_stay_the_same():
    sets: Any = [("sex",), ("race",), ("race", "sex")]
    backwards = sets[::-1]
    for seed, over in ((0, sets), (7, backwards)):
        result = eh.measure(biased, SPACE, over=over, margin=0.05, seed=seed)
        assert keys_of(result) == ["causal of race", "causal of race, sex", "causal of sex"]
        scores = {finding.score for finding in result.findings}
        assert scores == {"causal"}
    subject = eh.Subject(biased, SPACE, positive="approve")
    group = eh.measure(subject, over="sex", kind="group", margin=0.05)
    assert keys_of(group) == ["group of sex"]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_the_tests_behind_a_score_are_written_to_a_suite(tmp_path, suffix):
    pytest.importorskip("pyarrow")
    search = partial(eh.measure, biased, SPACE, over=[("sex",), ("race",)], margin=0.05)
    plain = search()
    kept = search(keep_tests=True)
    assert kept.findings == plain.findings
    file = tmp_path / f"tests{suffix}"
    kept.to_suite(file)
    again = eh.replay(file, biased, SPACE)
    assert again.details["changed"] == 0
    before = {finding.about: finding.estimate.value for finding in kept.findings}
    after = {finding.about: finding.estimate.value for finding in again.findings}
    assert after == pytest.approx(before)
    words = ("this measure kept no tests", "keep_tests=True")
    refused(UsageError, lambda: plain.to_suite(file), *words)
    unknown_suffix = tmp_path / "tests.xls"
    refused(
        UsageError, lambda: kept.to_suite(unknown_suffix), "'.xls'", "did you mean '.csv'"
    )
    no_folder = tmp_path / "none" / "tests.csv"
    refused(UsageError, lambda: kept.to_suite(no_folder), "no folder")
    document = json.loads(kept.to_json())
    read_back = eh.Result.from_dict(document)
    refused(UsageError, lambda: read_back.to_suite(file), "this measure kept no tests")


def test_the_time_budget_ends_a_run():
    def slow(people):
        time.sleep(0.02)
        return biased(people)

    result = eh.measure(
        slow, SPACE, over="sex", margin=0.0005, budget=eh.Budget(seconds=0.2)
    )
    assert result.stop is eh.StopReason.SECONDS
    assert result.worst.estimate.n > 0


WATCHED = """
    import time
    import evenhand as eh
    from evenhand.runtime import progress
    progress.PATIENCE = 0.0
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90)], protected=["sex"])
    def slow(people):
        time.sleep(0.05)
        return people["age"] > 40
    print(eh.measure(slow, space, margin=0.05).verdict)
"""


def test_progress_is_a_bar_on_a_terminal_and_silence_elsewhere(tmp_path):
    script = tmp_path / "watched.py"
    script.write_text(textwrap.dedent(WATCHED))
    quiet = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True
    )
    assert (quiet.stdout, quiet.stderr) == ("None\n", "")

    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("CI", None)  # where nobody looks at a terminal
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=slave, env=environment
    ) as run:
        os.close(slave)
        seen = b""
        with contextlib.suppress(OSError):  # the end of a terminal is an error on Linux
            while chunk := os.read(master, 4096):
                seen += chunk
        assert run.stdout is not None
        assert run.stdout.read() == b"None\n"
    os.close(master)
    assert b"causal sex" in seen
    assert b"inputs" in seen


def test_a_crash_names_the_model_and_keeps_the_cause():
    def broken(people):
        raise KeyError("income")

    with pytest.raises(SubjectCrashed, match="broken raised KeyError") as caught:
        eh.measure(broken, SPACE, over="sex")
    assert isinstance(caught.value.__cause__, KeyError)


WORKERS = 2
CAMPAIGN = """
    import sys
    import evenhand as eh
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90)], protected=["sex"])
    command = ["/bin/sh", sys.argv[1], "{sex}", "{age}"]
    subject = eh.Subject.command(
        command, space, positive="yes", workers=WORKERS, ledger=sys.argv[2]
    )
    result = eh.measure(subject, margin=0.08, seed=5)
    print(result.digest, subject.executed)
    subject.close()
"""
PROGRAM = """\
echo "$1 $2" >> {log}
sleep 0.01
if [ "$1" = M ] && [ "$2" -gt 60 ]; then echo yes; else echo no; fi
"""


def test_sigkill_loses_nothing_that_was_executed(tmp_path, monkeypatch, capsys):
    """Kill -9 a campaign that runs a process per input; the second run executes only what the first
    did not.
    """
    log, program, script = (
        tmp_path / "log",
        tmp_path / "decide.sh",
        tmp_path / "campaign.py",
    )
    program.write_text(PROGRAM.format(log=log))
    script.write_text(textwrap.dedent(CAMPAIGN).replace("WORKERS", str(WORKERS)))
    ledger = tmp_path / "run.ledger"
    command = [sys.executable, str(script), str(program), str(ledger)]
    campaign = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (
        not log.exists() or len(log.read_text().splitlines()) < 60
    ):
        time.sleep(0.005)
    os.killpg(campaign.pid, signal.SIGKILL)
    campaign.wait()
    time.sleep(0.2)  # processes that were already running may still write their line
    before = log.read_text().splitlines()
    assert len(before) >= 60
    with contextlib.closing(sqlite3.connect(ledger)) as connection:
        ((recorded,),) = connection.execute("SELECT count(*) FROM test")

    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    digest, executed = done.stdout.split()
    after = log.read_text().splitlines()[len(before) :]
    assert len(after) == int(executed)
    log.unlink()

    def here(ledger: Path) -> list[str]:
        monkeypatch.setattr(sys, "argv", [str(script), str(program), str(ledger)])
        runpy.run_path(str(script))
        return str(capsys.readouterr().out).split()

    clean = here(tmp_path / "clean.ledger")
    assert clean[0] == digest
    # What the ledger held at the kill was not executed again; it held all but what was in flight.
    whole = len(log.read_text().splitlines())
    assert whole == int(clean[1])
    assert len(after) == whole - recorded
    assert len(before) - recorded <= 8 * WORKERS
    assert here(ledger) == [digest, "0"]


def test_progress_events_are_typed():
    event = Progress("task", 0.5, "note")
    assert event.task == "task"
    assert event.share == 0.5
    assert event.note == "note"


def test_results_are_written_by_path_objects_too(tmp_path):
    file = Path(tmp_path) / "r.json"
    eh.measure(biased, SPACE, over="sex").to_json(file)
    assert eh.Result.from_json(file).job == "measure"
