"""Recalled answers pass the checks of fresh ones, and a full disk keeps what was executed."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from evenhand.runtime.errors import BadOutcome, SubjectError, UsageError
from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.texts.text_subject import TextSubject
from tests.support.paths import ROOT

SPACE = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], ["sex"])
POINTS = np.array([[0.0, 30.0], [1.0, 60.0]])


def prepared(path, outcomes, **options):
    """Return a subject whose ledger has these answers already, each with its checksum."""
    subject = Subject(
        lambda frame: ["approve"] * len(frame),
        SPACE,
        ledger=path,
        identity="loan",
        **options,
    )
    assert subject._ledger is not None
    subject._ledger.record(subject._keys(POINTS), outcomes)
    return subject


@pytest.mark.parametrize(
    ("outcomes", "options", "words"),
    [
        (["approve", "maybe"], {"labels": ["approve", "deny"]}, "'maybe'"),
        ([0.5, float("nan")], {}, "nan"),
        (["approve", 1], {}, "beside numbers"),
        ([1, 0], {"positive": "approve"}, "cannot be compared"),
        ([("approve", 1), ("deny", 0)], {}, "not one outcome"),
        (["approve", "deny"], {"outputs": ["decision", "rate"]}, "not one outcome"),
        (
            [("approve", 1), ("maybe", 0)],
            {"outputs": ["decision", "rate"], "labels": {"decision": ["approve", "deny"]}},
            "'maybe'",
        ),
    ],
)
def test_recalled_answers_pass_the_checks_of_fresh_ones(tmp_path, outcomes, options, words):
    with prepared(tmp_path / "a.db", outcomes, **options) as subject:
        with pytest.raises((SubjectError, UsageError), match=words) as caught:
            subject.decide(POINTS)
        assert "\n" not in str(caught.value)
        assert subject.executed == 0


def test_a_recalled_answer_must_be_a_class_of_the_classifier(tmp_path):
    from sklearn.tree import DecisionTreeClassifier

    rows = np.array([[0, 20], [1, 80], [0, 70], [1, 30]], dtype=float)
    model = DecisionTreeClassifier(random_state=0).fit(rows, ["no", "yes", "yes", "no"])
    space = Space([integer("sex", 0, 1), integer("age", 18, 90)], ["sex"])
    with Subject(model, space, ledger=tmp_path / "a.db") as subject:
        assert subject._ledger is not None
        subject._ledger.record(subject._keys(POINTS), ["no", "perhaps"])
        with pytest.raises(BadOutcome, match="'perhaps'"):
            subject.decide(POINTS)


def test_recalled_answers_to_texts_are_checked(tmp_path):
    options = {"ledger": tmp_path / "a.db", "identity": "film"}
    with TextSubject(lambda texts: ["good"] * len(texts), **options) as subject:
        subject.decide(["a fine film"])
    with (
        TextSubject(
            lambda texts: ["bad"] * len(texts), labels=["bad", "fine"], **options
        ) as subject,
        pytest.raises(BadOutcome, match="'good'"),
    ):
        subject.decide(["a fine film"])


FULL = """
import resource, signal, sys
from evenhand.cli.main import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
if sys.argv[2] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
sys.exit(main(["measure", sys.argv[1], "--queries", "2000"]))
"""

CONFIG = """
[subject]
function = "loan:decide"
ledger = "loan.ledger"
positive = true

[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features.age]
low = 18
high = 90
[space.features.income]
low = 0
high = 999
"""


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits")
def test_a_full_disk_is_exit_2_and_what_was_executed_stays(tmp_path):
    (tmp_path / "loan.py").write_text(
        "def decide(frame):\n    return frame['income'] > 500\n"
    )
    (tmp_path / "evenhand.toml").write_text(CONFIG)

    def run(disk):
        return subprocess.run(
            [sys.executable, "-c", FULL, "evenhand.toml", disk],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{tmp_path}"},
            capture_output=True,
            text=True,
            check=False,
        )

    full = run("full")
    assert full.returncode == 2, full.stderr
    assert full.stderr.count("\n") == 1
    assert "the ledger 'loan.ledger' cannot be" in full.stderr
    assert run("empty").returncode in (0, 1, 3)
    assert run("empty").stdout
    from evenhand.cli.main import main

    assert main(["ledger", "check", str(tmp_path / "loan.ledger")]) == 0


def test_a_ledger_in_use_is_not_silently_lost(tmp_path):
    path = tmp_path / "a.db"
    with prepared(path, ["approve", "deny"]) as subject:
        path.unlink()
        with pytest.raises(UsageError, match="removed or replaced"):
            subject.decide(POINTS)
