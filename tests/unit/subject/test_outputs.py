"""Several outputs at once, and which outcomes are favourable, on real software of every kind."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.config.file import Config
from evenhand.runtime.errors import (
    BadOutcome,
    ConfigError,
    LedgerError,
    NotDeterministic,
    UsageError,
)
from evenhand.subject.outcome_check import Answers
from evenhand.subject.outcome_meaning import Meaning
from evenhand.subject.outputs import (
    RecalledCheck,
    Recent,
    Records,
    answers_of,
    by_output,
    checked_outputs,
    full_identity,
    joined,
    meanings_of,
    packed,
    parse_reply,
    records_of,
    refuse_masked,
    reply_of,
)
from evenhand.subject.subject import Subject
from evenhand.subject.view import View, views_of
from tests.support.helpers import SPACE, examples, people, refused

BOTH = ["decision", "rate"]
AGES = tuple(range(30))
POINTS = people(*AGES)
EXPECTED = [("yes" if age > 20 else "no", age / 2) for age in AGES]


def loan(frame: Any) -> dict[str, Any]:
    ages = np.asarray(frame["age"])
    return {"decision": np.where(ages > 20, "yes", "no"), "rate": ages / 2}


FORMS: dict[str, Any] = {
    "mapping": loan,
    "pandas": lambda frame: pd.DataFrame({"other": 0, **loan(frame)}),
    "polars": lambda frame: pl.DataFrame(loan(frame)),
    "pyarrow": lambda frame: pl.DataFrame(loan(frame)).to_arrow(),
    "series": lambda frame: {
        name: pd.Series(column) for name, column in loan(frame).items()
    },
    "lists": lambda frame: {name: column.tolist() for name, column in loan(frame).items()},
    "tuples": lambda frame: list(zip(*loan(frame).values(), strict=True)),
    "dictionaries": lambda frame: pd.DataFrame(loan(frame)).to_dict("records"),
    "objects": lambda frame: pd.DataFrame(loan(frame)).to_numpy(dtype=object),
    "records": lambda frame: pd.DataFrame(loan(frame)).to_records(index=False),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("memo", [False, True])
def test_a_function_answers_in_any_form(form, memo):
    subject = Subject(FORMS[form], SPACE, outputs=BOTH, memo=memo)
    found = subject.decide(POINTS)
    assert found.dtype.names == ("decision", "rate")
    assert found.tolist() == EXPECTED
    assert found["rate"].dtype == np.float64
    second_half = found.reshape(2, -1)[1]
    assert second_half[0].item() == EXPECTED[15]
    twice = np.concatenate([found, found])
    assert twice[1].item() == EXPECTED[1]
    assert twice[30].item() == EXPECTED[0]
    assert subject.decide(POINTS[:0]).dtype.names == ("decision", "rate")
    assert (subject.asked, subject.executed) == (30, 30)


def test_large_batches_and_types_that_change_between_them(monkeypatch):
    monkeypatch.setattr("evenhand.subject.subject.ROWS_AT_ONCE", 7)

    def answer(frame: Any) -> Any:
        ages = frame["age"].tolist()
        return {
            "decision": [age > 20 for age in ages],
            "rate": [age if ages[0] else age / 4 for age in ages],
        }

    for memo in (False, True):
        found = Subject(answer, SPACE, outputs=BOTH, memo=memo).decide(POINTS)
        decisions = [age > 20 for age in AGES]
        rates = [age / 4 if age < 7 else age for age in AGES]
        assert found["decision"].tolist() == decisions
        assert found["rate"].tolist() == rates


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda frame: {"decision": frame["age"]}, ["no output 'rate', but 'decision'"]),
        (lambda frame: {}, ["no output 'decision', but nothing"]),
        (
            lambda frame: pd.DataFrame({"decision": frame["age"], "Rate": 1}),
            ["no output 'rate'", "'Rate'"],
        ),
        (lambda frame: pd.DataFrame(np.ones((30, 2))), ["column name 0 is not a text"]),
        (
            lambda frame: np.ones((30, 3)),
            ["shape (30, 3)", "'decision', 'rate'", "one column per output"],
        ),
        (lambda frame: np.ones(30), ["shape (30,)", "'decision', 'rate'"]),
        (lambda frame: 1, ["shape ()"]),
        (
            lambda frame: (np.ones(30), np.ones(30)),
            ["neither by name nor a list of 'decision', 'rate'"],
        ),
        (lambda frame: [("yes", 1, 2)] * 30, ["('yes', 1, 2)", "length 3"]),
        (
            lambda frame: [{"decision": "yes"}] * 30,
            ["{'decision': 'yes'}", "no output 'rate'"],
        ),
        (lambda frame: [("yes", None)] * 30, ["None is not an outcome", "'rate'"]),
        (lambda frame: [("yes", [1])] * 30, ["[1] is not an outcome", "'rate'"]),
        (
            lambda frame: {"decision": frame["age"], "rate": [1, 2]},
            ["(2,)", "'rate'", "30 inputs"],
        ),
        (
            lambda frame: {"decision": frame["age"], "rate": np.ones((30, 2))},
            ["(30, 2)", "'rate'"],
        ),
        (
            lambda frame: {"decision": [[1]] * 30, "rate": frame["age"]},
            ["'decision'", "[1]", "text, a number"],
        ),
        (
            lambda frame: {"decision": frame["age"], "rate": np.full(30, np.nan)},
            ["output 'rate'", "nan", "30 of 30"],
        ),
        (
            lambda frame: {"decision": frame["age"], "rate": [None] + [1] * 29},
            ["output 'rate'", "1 of 30"],
        ),
        (
            lambda frame: {"decision": frame["age"], "rate": ["a"] + [1] * 29},
            ["output 'rate'", "beside numbers"],
        ),
    ],
)
def test_answers_that_do_not_fit(answer, words):
    refused(BadOutcome, lambda: Subject(answer, SPACE, outputs=BOTH).decide(POINTS), *words)


def test_software_with_one_output_says_how_to_name_more():
    refused(
        BadOutcome,
        lambda: Subject(lambda f: np.ones((30, 2)), SPACE).decide(POINTS),
        "(30, 2)",
        "outputs=[",
    )
    refused(
        BadOutcome, lambda: Subject(lambda f: [[1, 2]] * 30, SPACE).decide(POINTS), "[1, 2]"
    )


def test_one_output_may_have_a_name():
    for answer in (
        lambda frame: frame["age"],
        lambda frame: frame["age"].tolist(),
        lambda frame: {"rate": frame["age"]},
        lambda frame: frame[["age"]].to_numpy(),
    ):
        subject = Subject(answer, SPACE, outputs=["rate"])
        assert subject.decide(POINTS)["rate"].tolist() == list(AGES)
    assert views_of(subject)[0].name == "rate"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"outputs": "decision"}, ["outputs = 'decision'", "list of names"]),
        ({"outputs": []}, ["outputs = []"]),
        ({"outputs": ["decision", 1]}, ["outputs = ['decision', 1]"]),
        ({"outputs": ["decision", ""]}, ["outputs ="]),
        ({"outputs": ["rate", "rate"]}, ["'rate' twice"]),
        (
            {"outputs": BOTH, "positive": "yes"},
            ["positive = 'yes'", "which output", "positive={'decision': 'yes'}"],
        ),
        (
            {"outputs": BOTH, "positive": np.isnan},
            ["which output", "positive={'decision': …}"],
        ),
        ({"outputs": BOTH, "differs": 0.5}, ["differs = 0.5", "which output"]),
        ({"outputs": BOTH, "labels": ["yes"]}, ["labels = ['yes']", "which output"]),
        (
            {"outputs": BOTH, "positive": {"decison": "yes"}},
            ["'decison'", "did you mean 'decision'?"],
        ),
        (
            {"outputs": BOTH, "differs": {"rat": 1}},
            ["differs: 'rat'", "did you mean 'rate'?"],
        ),
        ({"outputs": BOTH, "differs": {"rate": -1}}, ["differs['rate'] = -1"]),
        (
            {"outputs": BOTH, "labels": {"decision": "yes"}},
            ["labels['decision'] = 'yes'", "list"],
        ),
        (
            {
                "outputs": BOTH,
                "labels": {"decision": ["yes"]},
                "positive": {"decision": "yess"},
            },
            ["positive['decision'] = 'yess'", "did you mean 'yes'?"],
        ),
        ({"positive": {"decision": "yes"}}, ["by output", "outputs=['decision']"]),
        ({"positive": []}, ["positive = []", "a list of outcomes"]),
        ({"positive": [None]}, ["positive = [None]"]),
        ({"positive": object}, []),
        ({"positive": ["yes", 1]}, ["texts beside numbers"]),
        (
            {"positive": ["yes", "noo"], "labels": ["yes", "no"]},
            ["positive = 'noo'", "did you mean 'no'?"],
        ),
        ({"output": "score"}, ["for estimators"]),
        ({"output_s": BOTH}, ["did you mean 'outputs'?"]),
    ],
)
def test_options_that_do_not_fit(options, words):
    if not words:
        assert Subject(loan, SPACE, **options).positive is options["positive"]
        return
    refused(UsageError, lambda: Subject(loan, SPACE, **options), *words)


def test_views_know_the_options_of_their_output():
    subject = Subject(
        loan,
        SPACE,
        outputs=BOTH,
        positive={"decision": "yes", "rate": lambda rate: rate < 5},
        differs={"rate": 0.9},
        labels={"decision": ["yes", "no"]},
    )
    decision, rate = views_of(subject)
    assert [view.name for view in (decision, rate)] == BOTH
    assert decision.differs is None
    assert rate.differs == 0.9
    assert decision.positive == "yes"
    assert callable(rate.positive)
    assert decision.labels == ("yes", "no")
    assert decision.classes == ("yes", "no")
    assert rate.labels is None
    assert rate.classes is None
    decisions = decision.decide(POINTS)
    rates = rate.decide(POINTS)
    assert decisions.flags.c_contiguous
    assert rates.flags.c_contiguous
    assert rates.dtype == np.float64
    is_yes = np.array(AGES) > 20
    assert decision.favourable(decisions).tolist() == is_yes.tolist()
    assert decision.only("no").favourable(decisions).tolist() == (~is_yes).tolist()
    low_rates = [float(age / 2 < 5) for age in AGES]
    assert rate.amount(rates).tolist() == low_rates
    # Rates are half a year's step apart, and differ where they are more than 0.9 apart.
    assert not rate.distance(rates[:-1], rates[1:]).any()
    assert rate.distance(rates[:-2], rates[2:]).all()
    assert decision.distance(decisions[:-1], decisions[1:]).sum() == 1
    answers = subject.decide(POINTS)
    refused(UsageError, lambda: subject.favourable(answers), "several outputs", "view")


def test_a_distance_makes_an_output_graded():
    def far(a: Any, b: Any) -> Any:
        return np.abs(a - b) / 50

    subject = Subject(loan, SPACE, outputs=BOTH, differs={"rate": far})
    assert View(subject, "rate").graded
    assert not View(subject, "decision").graded


def test_views_of_the_same_points_ask_the_software_once():
    calls = []

    def counted(frame: Any) -> Any:
        calls.append(len(frame))
        return loan(frame)

    subject = Subject(counted, SPACE, outputs=BOTH, memo=False)
    decision, rate = views_of(subject)
    points = POINTS.copy()
    first = decision.decide(points)
    assert rate.decide(points).tolist() == [age / 2 for age in AGES]
    assert (calls, subject.asked, subject.executed) == ([30], 60, 30)
    points[:, 1] += 1
    assert rate.decide(points).tolist() == [(age + 1) / 2 for age in AGES]
    assert decision.decide(POINTS).tolist() == first.tolist()
    assert calls == [30, 30, 30]
    kept = subject.decide(POINTS)
    kept["rate"] = 0
    assert rate.decide(POINTS)[1] == 0.5


@pytest.mark.parametrize("memo", [False, True])
def test_the_second_answer_is_a_fresh_one_and_the_output_that_moved_is_named(memo):
    calls = []

    def moody(frame: Any) -> Any:
        calls.append(1)
        answer = loan(frame)
        answer["rate"] = np.where(frame["age"] == 3, len(calls), frame["age"])
        return answer

    subject = Subject(moody, SPACE, outputs=BOTH, memo=memo)
    subject.decide(POINTS)
    words = "1 of 30", "another 'rate'", "'age': 3"
    refused(NotDeterministic, lambda: subject.need_deterministic(POINTS), *words)
    Subject(loan, SPACE, outputs=BOTH).need_deterministic(POINTS)


@pytest.mark.parametrize("memo", [None, True])
def test_a_ledger_keeps_records_exactly(tmp_path, memo):
    values = [
        True,
        1,
        1.0,
        "1",
        "é\n",
        2**70,
        0.1,
        float("inf"),
        -0.0,
        "\ud800",
        False,
        '["a"]',
    ]

    def answer(frame: Any) -> Any:
        ages = frame["age"].tolist()
        first = ages[0]
        return {
            "decision": [first * 2] * len(ages),
            "rate": [values[first]] * len(ages),
        }

    def ask(subject: Subject) -> list[Any]:
        records = []
        for age in range(len(values)):
            (record,) = subject.decide(POINTS[age : age + 1]).tolist()
            records.append(record)
        return records

    def exactly(records: list[Any]) -> list[Any]:
        """Return records with their types, as 1, 1.0 and True are equal."""
        return [(type(first), type(second), str(second)) for first, second in records]

    with Subject(
        answer, SPACE, outputs=BOTH, ledger=tmp_path / "a.db", memo=memo
    ) as subject:
        first = ask(subject)
        subject.need_deterministic(POINTS[1:2])
        assert first == [(2 * age, values[age]) for age in range(len(values))]
    with Subject(
        answer, SPACE, outputs=BOTH, ledger=tmp_path / "a.db", memo=memo
    ) as subject:
        again = ask(subject)
        assert exactly(again) == exactly(first)
        subject.need_deterministic(POINTS[1:2])
        assert subject.executed == 0


def test_a_ledger_of_other_outputs_is_refused(tmp_path):
    def ask(outputs: list[str] | None) -> None:
        with Subject(
            lambda f: np.ones((30, 2)),
            SPACE,
            outputs=outputs,
            ledger=tmp_path / "a.db",
            identity="x",
        ) as s:
            s.decide(POINTS)

    ask(BOTH)
    ask(BOTH)
    words = ("another subject", "outputs 'decision', 'rate' of x")
    refused(LedgerError, lambda: ask(["rate", "decision"]), *words)
    refused(LedgerError, lambda: ask(None), *words)


def test_a_crash_keeps_the_records_before_it(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.subject.subject.ROWS_AT_ONCE", 10)
    broken = [True]

    def answer(frame: Any) -> Any:
        found = loan(frame)
        if broken[0] and frame["age"].max() > 25:
            del found["rate"]
        return found

    options: dict[str, Any] = {
        "outputs": BOTH,
        "ledger": tmp_path / "a.db",
        "identity": "loan",
    }
    with Subject(answer, SPACE, **options) as subject:
        refused(BadOutcome, lambda: subject.decide(POINTS), "no output 'rate'")
        assert subject.executed == 20
    broken[0] = False
    with Subject(answer, SPACE, **options) as subject:
        assert subject.decide(POINTS).tolist() == EXPECTED
        assert subject.executed == 10


def script(tmp_path: Any, text: str) -> list[str]:
    path = tmp_path / "loan.py"
    path.write_text(text)
    return [sys.executable, str(path)]


PRINTED = """import json, sys
def answer(age):
    return FORM
"""
OBJECT = '{"rate": age / 2, "decision": "yes" if age > 20 else "no", "more": None}'
ARRAY = '["yes" if age > 20 else "no", age / 2]'
ONCE = "print(json.dumps(answer(int(sys.argv[1]))))"
LINES = (
    "for line in sys.stdin: print(json.dumps(answer(json.loads(line)['age'])), flush=True)"
)


@pytest.mark.parametrize("form", [OBJECT, ARRAY])
def test_a_command_prints_json(tmp_path, form):
    argv = [*script(tmp_path, PRINTED.replace("FORM", form) + ONCE), "{age}", "{sex}"]
    points = POINTS[[1, 20, 21, 29]]
    with Subject.command(
        argv, SPACE, outputs=BOTH, positive={"decision": "yes"}, ledger=tmp_path / "a.db"
    ) as subject:
        found = subject.decide(points)
        assert found.tolist() == [EXPECTED[age] for age in (1, 20, 21, 29)]
        decision, _ = views_of(subject)
        favourable = decision.favourable(found["decision"])
        assert favourable.tolist() == [False, False, True, True]
    with Subject.command(argv, SPACE, outputs=BOTH, ledger=tmp_path / "a.db") as subject:
        _, rate = views_of(subject)
        assert rate.decide(points).tolist() == [0.5, 10.0, 10.5, 14.5]
        assert subject.executed == 0


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ("approve", ["'approve'", "not a JSON object or array of 'decision', 'rate'"]),
        ('{"decision": "yes", "rat": 1}', ["no output 'rate'", "'rat'"]),
        ('["yes"]', ["length 1", "'decision', 'rate'"]),
        ("7", ["7, which is neither"]),
        ('{"decision": "yes", "rate": null}', ["None is not an outcome", "'rate'"]),
        ('["yes", NaN]', ["nan is not an outcome"]),
        ('["yes", [1]]', ["[1] is not an outcome"]),
    ],
)
def test_programs_that_print_something_else(tmp_path, printed, words):
    shell = tmp_path / "loan"
    shell.write_text(f"#!/bin/sh\necho '{printed}'\n")
    shell.chmod(0o755)
    command = Subject.command([str(shell), "{*}"], SPACE, outputs=BOTH)
    refused(BadOutcome, lambda: command.decide(POINTS[3:4]), "the command", "3", *words)
    shell.write_text(f"#!/bin/sh\nwhile read line; do echo '{printed}'; done\n")
    with Subject.stream([str(shell)], SPACE, outputs=BOTH) as stream:
        refused(
            BadOutcome,
            lambda: stream.decide(POINTS[3:4]),
            "the program",
            '"age": 3',
            *words,
        )


def test_names_of_outcomes_are_json_where_the_program_prints_json(tmp_path):
    argv = script(tmp_path, PRINTED.replace("FORM", '["1", 1]') + LINES)
    with Subject.stream(
        argv, SPACE, outputs=BOTH, positive={"decision": "1", "rate": 1}
    ) as subject:
        for view in views_of(subject):
            outcomes = view.decide(POINTS)
            assert view.favourable(outcomes).all()
    with Subject.stream(argv, SPACE, outputs=BOTH, positive={"decision": 1}) as subject:
        refused(
            UsageError,
            lambda: subject.decide(POINTS),
            "output 'decision'",
            "positive = 1",
        )
    refused(
        UsageError,
        lambda: Subject.stream(argv, SPACE, positive=["1", "b"]),
        "[1, 'b']",
        "texts beside numbers",
    )


@pytest.mark.parametrize("form", [OBJECT, ARRAY])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_stream_prints_json_lines(tmp_path, form, workers):
    argv = script(tmp_path, PRINTED.replace("FORM", form) + LINES)
    with Subject.stream(argv, SPACE, outputs=BOTH, workers=workers) as subject:
        assert subject.decide(POINTS).tolist() == EXPECTED
        copy = pickle.loads(pickle.dumps(subject))
        with copy:
            assert views_of(copy)[1].decide(POINTS).tolist() == [
                rate for _, rate in EXPECTED
            ]


class Handler(BaseHTTPRequestHandler):
    server: Any

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = json.dumps(self.server.answer(body)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def service():
    server: Any = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()

    def make(answer: Any, **options: Any) -> Subject:
        server.answer = answer
        url = f"http://127.0.0.1:{server.server_port}/"
        return Subject.http(url, SPACE, **{"outputs": BOTH, "concurrency": 1, **options})

    yield make
    server.shutdown()
    server.server_close()
    thread.join()


def by_name(person: Any) -> Any:
    return dict(zip(BOTH, EXPECTED[person["age"]], strict=True))


@pytest.mark.parametrize(
    ("answer", "single"),
    [
        (lambda body: [by_name(person) for person in body["inputs"]], False),
        (
            lambda body: {
                "outcomes": [list(EXPECTED[person["age"]]) for person in body["inputs"]]
            },
            False,
        ),
        (by_name, True),
        (lambda person: list(EXPECTED[person["age"]]), True),
        (lambda person: {"outcome": by_name(person)}, True),
    ],
)
def test_a_service_answers_objects_or_arrays(service, answer, single):
    with service(answer, single=single, batch=7) as subject:
        assert subject.decide(POINTS).tolist() == EXPECTED


def test_an_output_may_be_called_outcome(service):
    with service(
        lambda person: {"outcome": "yes", "rate": 1},
        single=True,
        outputs=["outcome", "rate"],
    ) as subject:
        assert subject.decide(POINTS[:1]).tolist() == [("yes", 1)]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda body: [{"decision": "yes"}] * 30, ["no output 'rate'", '"age": 0']),
        (lambda body: ["yes"] * 30, ["neither by name nor a list"]),
        (lambda body: {"decision": ["yes"] * 30, "rate": [1] * 30}, ["without 'outcomes'"]),
        (lambda body: [["yes", 1]] * 3, ["3 outcomes instead of 30"]),
    ],
)
def test_services_that_answer_something_else(service, answer, words):
    with service(answer) as subject:
        refused(BadOutcome, lambda: subject.decide(POINTS), *words)


NUMBERS = eh.Space([eh.integer("age", 18, 90), eh.integer("income", 0, 99)])
X = NUMBERS.draw(200, np.random.default_rng(0))
DECISIONS = np.where(X[:, 0] > 50, "yes", "no")
INCOME_GRADES = np.array(["A", "B", "C"])[(X[:, 1] // 34).astype(int)]
GRADES = np.column_stack([DECISIONS, INCOME_GRADES])


@pytest.mark.parametrize(
    "model",
    [
        MultiOutputClassifier(LogisticRegression(max_iter=5000)),
        DecisionTreeClassifier(random_state=0),
    ],
)
def test_classifiers_with_several_outputs(model):
    model.fit(X, GRADES)
    refused(UsageError, lambda: Subject(model, NUMBERS), "2 outputs", "outputs=[")
    refused(
        UsageError, lambda: Subject(model, NUMBERS, outputs=["a", "b", "c"]), "2 outputs"
    )
    subject = Subject(
        model, NUMBERS, outputs=["decision", "grade"], positive={"grade": ["A", "B"]}
    )
    decision, grade = views_of(subject)
    expected_decisions, expected_grades = model.predict(X).T
    grades = grade.decide(X)
    assert np.array_equal(decision.decide(X), expected_decisions)
    assert np.array_equal(grades, expected_grades)
    assert decision.classes == ("no", "yes")
    assert grade.classes == ("A", "B", "C")
    good = np.isin(expected_grades, ["A", "B"])
    assert np.array_equal(grade.favourable(grades), good)
    refused(
        UsageError,
        lambda: Subject(
            model, NUMBERS, outputs=["decision", "grade"], positive={"grade": "a"}
        ),
        "positive['grade'] = 'a' is not a class",
    )
    scored: dict[str, Any]
    for scored in ({"output": "score"}, {"threshold": 0.5}):
        with pytest.raises(UsageError):
            Subject(model, NUMBERS, outputs=["decision", "grade"], **scored)


def test_a_scored_model_has_one_output():
    model = LogisticRegression().fit(X, GRADES[:, 0])
    refused(
        UsageError,
        lambda: Subject(model, NUMBERS, outputs=["a"], output="score"),
        "leave out",
        "outputs",
    )
    named = Subject(model, NUMBERS, outputs=["decision"])
    assert views_of(named)[0].classes == ("no", "yes")
    assert np.array_equal(named.decide(X)["decision"], model.predict(X))


def test_a_regressor_with_two_targets():
    limits = X[:, 0] * 2
    rates = X.sum(axis=1)
    model = LinearRegression().fit(X, np.column_stack([limits, rates]))
    subject = Subject(model, NUMBERS, outputs=["limit", "rate"], differs={"limit": 10.0})
    limit, rate = views_of(subject)
    assert np.allclose(limit.decide(X), limits)
    assert np.allclose(rate.decide(X), rates)
    assert limit.classes is None
    assert np.allclose(rate.amount(rate.decide(X)), rates)
    refused(
        BadOutcome,
        lambda: Subject(model, NUMBERS, outputs=["a", "b", "c"]).decide(X),
        "shape (200, 2)",
    )
    refused(
        BadOutcome, lambda: Subject(model, NUMBERS).decide(X), "shape (200, 2)", "outputs=["
    )
    refused(
        UsageError,
        lambda: rate.favourable(rate.decide(X)),
        "output 'rate'",
        "positive={'rate': …}",
        "lambda",
    )


def test_an_onnx_model_by_tensor_or_by_column(tmp_path):
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper

    def save(name: str, outputs: list[str], nodes: list[Any], width: int) -> Any:
        shape = [None, width]
        graph = helper.make_graph(
            nodes,
            "loan",
            [helper.make_tensor_value_info("X", TensorProto.DOUBLE, [None, 2])],
            [
                helper.make_tensor_value_info(output, TensorProto.DOUBLE, shape)
                for output in outputs
            ],
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
        )
        (tmp_path / name).write_bytes(model.SerializeToString())
        return tmp_path / name

    halves = helper.make_node("Split", ["X"], ["limit", "rate"], axis=1)
    two = save("two.onnx", ["limit", "rate"], [halves], 1)
    one = save("one.onnx", ["Y"], [helper.make_node("Neg", ["X"], ["Y"])], 2)
    by_tensor = Subject.onnx(two, NUMBERS, outputs=["rate", "limit"]).decide(X)
    assert np.array_equal(by_tensor["rate"], X[:, 1])
    by_column = Subject.onnx(one, NUMBERS, outputs=["a", "b"]).decide(X)
    assert np.array_equal(by_column["b"], -X[:, 1])
    refused(
        UsageError,
        lambda: Subject.onnx(two, NUMBERS, outputs=["rat"]),
        "'rat'",
        "did you mean 'rate'?",
    )
    refused(
        UsageError,
        lambda: Subject.onnx(one, NUMBERS, outputs=["a"], output="score"),
        "outputs",
    )
    refused(
        BadOutcome,
        lambda: Subject.onnx(one, NUMBERS, outputs=["a", "b", "c"]).decide(X),
        "shape (200, 2)",
    )
    refused(
        UsageError,
        lambda: Subject.onnx(two, NUMBERS, output="score", positive=[1, 2]),
        "one class",
    )


WORKER = """import pickle, sys
import numpy as np
view = pickle.load(sys.stdin.buffer)
outcomes = view.decide(np.array([[0.0, 3.0], [1.0, 30.0]]))
print(view.name, outcomes.tolist(), view.amount(outcomes).tolist(), view.subject.executed)
"""


def test_views_are_shipped_to_workers():
    subject = Subject(
        lambda frame: {"decision": frame["age"] > 20, "rate": frame["age"]},
        SPACE,
        outputs=BOTH,
        positive={"rate": lambda rate: rate > 5},
    )
    subject.decide(POINTS)
    for view in views_of(subject):
        copy = pickle.loads(cloudpickle.dumps(view))
        assert copy.decide(POINTS).tolist() == view.decide(POINTS).tolist()
        assert copy.subject.executed == 60, "the last batch stays behind"
    sent = cloudpickle.dumps(views_of(subject)[1])
    command = [sys.executable, "-c", WORKER]
    worker = subprocess.run(command, input=sent, capture_output=True, check=True)
    first_line = worker.stdout.decode().split("\n")[0]
    assert first_line == "rate [3, 30] [0.0, 1.0] 32"


def test_a_configuration_names_outputs(tmp_path):
    (tmp_path / "several_rules.py").write_text(
        "def decide(people):\n    return {'decision': people['age'] > 20, 'rate': people['age']}\n"
    )
    space = (
        '[space]\nprotected = ["sex"]\n[space.features.sex]\nlevels = ["F",'
        ' "M"]\n[space.features.age]\nlow = 0\n'
    )
    file = tmp_path / "evenhand.toml"

    def read(text: str) -> Subject:
        file.write_text(
            f'[subject]\nfunction = "several_rules:decide"\n{text}\n{space}high = 90\nkind ='
            ' "integer"\n'
        )
        return Config.load(file).subject()

    subject = read(
        'outputs = ["decision", "rate"]\npositive = { rate = [3, 5] }\ndiffers = { rate = 0.5 }'
    )
    rate = views_of(subject)[1]
    assert rate.differs == 0.5
    assert rate.favourable(rate.decide(POINTS)).sum() == 2
    refused(
        ConfigError,
        lambda: read('outputs = ["decision"]\npositive = true'),
        "[subject]",
        "positive={'decision'",
    )


# Favourable outcomes


@given(
    st.lists(st.sampled_from(["A", "B", "C"]), min_size=1, max_size=30),
    st.sets(st.sampled_from("ABC"), min_size=1),
)
@settings(max_examples=examples(40))
def test_any_of_several_outcomes_is_favourable(outcomes, wanted):
    expected = [outcome in wanted for outcome in outcomes]
    for positive in (
        wanted,
        sorted(wanted),
        tuple(wanted),
        frozenset(wanted),
        np.array(sorted(wanted)),
    ):
        meaning = Meaning.of(
            "x",
            "",
            positive,
            None,
            None,
            None,
            scores=False,
        )
        for array in (np.array(outcomes), np.array(outcomes, dtype=object)):
            assert meaning.favourable(array).tolist() == expected
            assert meaning.amount(array).tolist() == expected
            assert meaning.favourable(array.reshape(1, -1)).tolist() == [expected]
    assert meaning.counts


def test_favourable_numbers_and_their_types():
    several = Subject(lambda frame: frame["age"], SPACE, positive=[3, np.int64(4)])
    assert np.flatnonzero(several.favourable(several.decide(POINTS))).tolist() == [3, 4]
    texts = Subject(lambda frame: frame["sex"], SPACE, positive=[3, 4])
    refused(UsageError, lambda: texts.decide(POINTS), "positive = 3")
    command = Subject.command(["true", "{*}"], SPACE, positive=["1", "2"])
    are_favourable = command.favourable(np.array([1, 2, 3]))
    assert are_favourable.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("positive", "words"),
    [
        (lambda y: y, ["int64 values of shape (30,)", "one truth value per outcome"]),
        (lambda y: True, ["bool values of shape ()", "shape (30,)"]),
        (lambda y: y[:5] > 1, ["shape (5,)"]),
        (lambda y: y.missing, ["positive raised AttributeError"]),
    ],
)
def test_functions_that_tell_nothing(positive, words):
    subject = Subject(lambda frame: frame["age"], SPACE, positive=positive)
    outcomes = subject.decide(POINTS)
    refused(UsageError, lambda: subject.favourable(outcomes), *words)
    named = View(
        Subject(
            lambda f: {"age": f["age"]}, SPACE, outputs=["age"], positive={"age": positive}
        ),
        "age",
    )
    refused(UsageError, lambda: named.amount(outcomes), "positive['age']")


def test_a_function_tells_favourable_outcomes_and_leaves_the_ledger_alone(tmp_path):
    def salary(frame: Any) -> Any:
        return frame["age"] * 10_000

    with Subject(salary, SPACE, ledger=tmp_path / "a.db") as subject:
        subject.decide(POINTS)
        refused(
            UsageError,
            lambda: subject.favourable(subject.decide(POINTS)),
            "positive=…",
            "lambda",
        )
    with Subject(
        salary, SPACE, ledger=tmp_path / "a.db", positive=lambda pay: pay > 100_000
    ) as subject:
        (view,) = views_of(subject)
        assert view.counts and view.name == ""
        assert view.amount(view.decide(POINTS)).tolist() == [
            float(age > 10) for age in AGES
        ]
        assert subject.executed == 0


def test_scores_are_amounts():
    model = LogisticRegression().fit(X, GRADES[:, 0])
    (scores,) = views_of(Subject(model, NUMBERS, output="score", positive="no"))
    outcomes = scores.decide(X)
    assert not scores.counts and scores.classes is None
    assert np.array_equal(scores.amount(outcomes), model.predict_proba(X)[:, 0])
    refused(UsageError, lambda: scores.favourable(outcomes), "scores", "threshold")
    (likely,) = views_of(
        Subject(model, NUMBERS, output="score", positive=lambda score: score > 0.5)
    )
    assert likely.counts and np.array_equal(
        likely.favourable(likely.decide(X)), model.predict(X) == "yes"
    )
    ridge = RidgeClassifier().fit(X, GRADES[:, 0])
    (margins,) = views_of(Subject(ridge, NUMBERS, output="score"))
    refused(
        UsageError,
        lambda: margins.amount(margins.decide(X) * 9),
        "not from 0 to 1",
        "positive=lambda",
        "threshold=",
    )
    refused(
        UsageError,
        lambda: Subject(model, NUMBERS, output="score", positive=["no", "yes"]),
        "one class",
    )
    refused(
        UsageError,
        lambda: Subject(model, NUMBERS, output="score", positive="noo"),
        "did you mean 'no'?",
    )


def test_classes():
    grades = LogisticRegression(max_iter=5000).fit(X, GRADES[:, 1])
    (view,) = views_of(Subject(grades, NUMBERS))
    assert view.classes == ("A", "B", "C") and view.counts
    outcomes = view.decide(X)
    assert sum(view.only(label).amount(outcomes).sum() for label in view.classes) == len(X)
    assert view.only("A").positive == "A" and view.only("A").subject is view.subject
    assert View(Subject(grades, NUMBERS, labels=["A", "B", "C", "D"])).classes == (
        "A",
        "B",
        "C",
        "D",
    )
    assert View(Subject(LogisticRegression().fit(X, X[:, 0] > 50), NUMBERS)).classes is None
    assert View(Subject(loan, SPACE)).classes is None
    refused(UsageError, lambda: view.favourable(outcomes), "positive=…")


@given(
    st.lists(
        st.tuples(st.booleans() | st.integers(), st.text() | st.floats(allow_nan=False)),
        max_size=6,
    )
)
@example([(2**63 + 1, "")])
@example([(2**70, ""), (2**70 + 1, "")])
def test_packing_keeps_every_outcome(rows):
    found = packed(rows, BOTH)
    assert found.dtype.names == ("decision", "rate")
    assert [(a, b) for a, b in found.tolist()] == rows
    assert all(
        reply_of(dict(zip(BOTH, row, strict=True)), BOTH)
        == reply_of(list(row), BOTH)
        == row
        for row in rows
    )


# Forms of answers and options, one by one


def test_names_of_outputs_come_in_a_list():
    assert checked_outputs(None) == ()
    assert checked_outputs(["b", "a"]) == ("b", "a")
    assert checked_outputs(("a",)) == ("a",)
    for wrong in ("a", [], ["a", ""], ["a", 1], {"a": 1}):
        refused(UsageError, lambda: checked_outputs(wrong), "must be a list of names")  # noqa: B023
    refused(UsageError, lambda: checked_outputs(["a", "b", "a"]), "names 'a' twice")


def test_an_option_by_output():
    assert by_output("differs", 0.5, ()) == {"": 0.5}
    assert by_output("differs", None, ()) == {"": None}
    assert by_output("differs", None, BOTH) == {"decision": None, "rate": None}
    found = by_output("differs", {"rate": 1}, BOTH)
    assert list(found.items()) == [("decision", None), ("rate", 1)]
    words = "is by output, but the outputs have no names; add outputs=['rate']"
    refused(UsageError, lambda: by_output("differs", {"rate": 1}, ()), words)


class Described:
    """Software that says of itself what some adapters do."""

    outputs: tuple[str, ...] = ()
    identity = "loan 1"

    def __init__(self, **facts: Any) -> None:
        vars(self).update(facts)


def meanings(**facts: Any) -> dict[str, Meaning]:
    adapter: Any = Described(**facts)
    return meanings_of(adapter, "loan", positive=None, labels=None, differs=None)


def test_meanings_take_what_an_adapter_says_of_itself():
    assert meanings() == {"": Meaning("loan")}
    assert meanings(classes=["a", "b"]) == {"": Meaning("loan", known=("a", "b"))}
    assert meanings(output="score")[""].scores
    assert not meanings(output="label")[""].scores
    assert meanings(numbers=True)[""].numbers
    assert not meanings()[""].numbers


def test_meanings_of_several_outputs_have_classes_each():
    names = ("decision", "rate")
    found = meanings(outputs=names, classes=[["no", "yes"], ["a", "b"]])
    assert {name: one.known for name, one in found.items()} == {
        "decision": ("no", "yes"),
        "rate": ("a", "b"),
    }
    assert [one.name for one in found.values()] == list(names)
    without = meanings(outputs=names)
    assert [one.known for one in without.values()] == [None, None]


def test_masked_answers_are_counted():
    masked = np.ma.MaskedArray([1, 2, 3], mask=[True, False, True])
    refused(
        BadOutcome,
        lambda: refuse_masked(masked, "loan"),
        "loan answered nothing to 2 of 3 inputs, which are masked",
    )
    refuse_masked(np.ma.MaskedArray([1, 2, 3]), "loan")
    refuse_masked(np.ma.MaskedArray([1, 2], mask=[False, False]), "loan")
    refuse_masked(np.array([1, 2]), "loan")


def test_outputs_are_part_of_the_identity():
    plain: Any = Described()
    named: Any = Described(outputs=("a", "b"))
    assert full_identity(plain) == "loan 1"
    assert full_identity(named) == "outputs 'a', 'b' of loan 1"


def test_records_keep_the_types_of_their_columns():
    columns = {"a": np.array(["x", "yy"]), "b": np.array([1, 2], dtype=np.int8)}
    found = joined(columns)
    assert found.dtype == np.dtype([("a", "<U2"), ("b", "i1")])
    assert found.tolist() == [("x", 1), ("yy", 2)]


def test_replies_without_names_are_packed_as_they_are():
    assert packed([1, 2], ()).tolist() == [1, 2]
    assert packed([], ()).tolist() == []
    none = packed([], BOTH)
    assert none.shape == (0,)
    assert none.dtype.names == ("decision", "rate")


@pytest.mark.parametrize(
    ("value", "names", "expected"),
    [
        ({"b": 1, "a": "x", "c": None}, ["a", "b"], ("x", 1)),
        (["x", 1], ["a", "b"], ("x", 1)),
        (("x", np.float64(1.5)), ["a", "b"], ("x", 1.5)),
        ("x", ["a"], ("x",)),
        (["x"], ["a"], ("x",)),
        ({"a": np.int64(3)}, ["a"], (3,)),
        (np.int64(3), ["a"], (3,)),
        ([True, 0], ["a", "b"], (True, 0)),
    ],
)
def test_one_reply_in_any_form(value, names, expected):
    found = reply_of(value, names)
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))


@pytest.mark.parametrize(
    ("value", "names", "words"),
    [
        ({"a": 1}, ["a", "b"], "{'a': 1}, which has no output 'b'"),
        (
            [1],
            ["a", "b"],
            "[1], which has length 1 and not one outcome for each of 'a', 'b'",
        ),
        ([1, 2], ["a"], "[1, 2], which has length 2 and not one outcome for each of 'a'"),
        (1, ["a", "b"], "1, which is neither by name nor a list of 'a', 'b'"),
        (
            [1, None],
            ["a", "b"],
            "[1, None], in which None is not an outcome for the output 'b'",
        ),
        (float("nan"), ["a"], "nan, in which nan is not an outcome for the output 'a'"),
        ([[1], 2], ["a", "b"], "in which [1] is not an outcome for the output 'a'"),
    ],
)
def test_one_reply_that_does_not_fit(value, names, words):
    with pytest.raises(ValueError) as caught:
        reply_of(value, names)
    assert words in str(caught.value)


def test_a_printed_reply():
    assert parse_reply("approve", ()) == "approve"
    assert parse_reply("3", ()) == 3
    assert parse_reply("3", ["a"]) == (3,)
    assert parse_reply('["x", 1.5]', ["a", "b"]) == ("x", 1.5)
    for text in ("approve", "[" * 100_000):
        with pytest.raises(ValueError, match="not a JSON object or array of 'a', 'b'"):
            parse_reply(text, ["a", "b"])


@pytest.mark.parametrize(
    "answer",
    [
        {"b": [3, 4], "a": ["x", "y"], "c": None},
        [("x", 3), ("y", 4)],
        (["x", 3], ["y", 4]),
        [{"a": "x", "b": 3}, {"b": 4, "a": "y"}],
        np.array([("x", 3), ("y", 4)], dtype=[("a", "<U1"), ("b", "<i8")]),
        np.array([["x", 3], ["y", 4]], dtype=object),
        pd.DataFrame({"b": [3, 4], "a": ["x", "y"]}),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_records_of_any_answer(answer):
    assert records_of(answer, ["a", "b"], 2, "loan").tolist() == [("x", 3), ("y", 4)]


def test_a_column_alone_is_that_of_the_only_output():
    assert records_of(np.array([3, 4]), ["a"], 2, "loan")["a"].tolist() == [3, 4]
    assert records_of(np.array([[3], [4]]), ["a"], 2, "loan")["a"].tolist() == [3, 4]
    # Of two outputs it is neither.
    words = "shape (2,) for 'a', 'b'; it must return a frame or a mapping by name"
    refused(
        BadOutcome,
        lambda: records_of(np.array([3, 4]), ["a", "b"], 2, "loan"),
        words,
    )
    cube = np.zeros((2, 2, 2))
    refused(
        BadOutcome,
        lambda: records_of(cube, ["a", "b"], 2, "loan"),
        "shape (2, 2, 2)",
    )
    refused(
        BadOutcome,
        lambda: records_of(cube, ["a"], 2, "loan"),
        "shape (2, 2, 2)",
    )
    wide = np.zeros((2, 3))
    refused(
        BadOutcome,
        lambda: records_of(wide, ["a", "b"], 2, "loan"),
        "shape (2, 3)",
    )


def test_a_column_of_another_length_is_named():
    answer = {"a": [1, 2], "b": [1, 2, 3]}
    refused(
        BadOutcome,
        lambda: records_of(answer, ["a", "b"], 2, "loan"),
        "loan returned outcomes of shape (3,) as output 'b' for 2 inputs",
    )


def test_a_list_keeps_answers_apart_that_an_array_would_not():
    found = records_of({"a": [True, 1]}, ["a"], 2, "loan")["a"].tolist()
    assert [type(value) for value in found] == [bool, int]


def test_each_output_has_its_own_answers():
    answers = answers_of(
        {"a": Meaning("loan", "a", labels=("x", "y")), "b": Meaning("loan", "b")},
        lambda one: Answers(one.about, labels=one.labels),
    )
    records = joined({"a": np.array(["x", "y"]), "b": np.array([1, 2], dtype=object)})
    found = answers.check(records, 2)
    assert found.tolist() == [("x", 1), ("y", 2)]
    assert found["b"].dtype == np.int64
    other = joined({"a": np.array(["x", "z"]), "b": np.array([1, 2])})
    refused(
        BadOutcome,
        lambda: answers.check(other, 2),
        "output 'a' of loan",
        "'z'",
    )
    alone = answers_of({"": Meaning("loan")}, lambda one: Answers(one.about))
    assert alone == Answers("loan")


def test_recalled_replies_have_one_outcome_for_each_output():
    single = RecalledCheck(Answers("loan"))
    single({b"1": "x", b"2": "y"})
    single({})
    refused(
        BadOutcome,
        lambda: single({b"1": "x", b"2": ("y", 1)}),
        "the ledger has ('y', 1) as an answer, which is not one outcome for each of its inputs",
    )
    named = RecalledCheck(Records({"a": Answers("loan"), "b": Answers("loan")}), ("a", "b"))
    named({b"1": ("x", 1)})
    for wrong in ("x", ("x",), ("x", 1, 2)):
        refused(
            BadOutcome,
            lambda: named({b"1": wrong}),  # noqa: B023
            "which is not one outcome for each of 'a', 'b'",
        )


def test_only_the_last_batch_is_kept_and_nobody_changes_it():
    recent = Recent()
    points = np.ones((2, 1))
    assert recent.get(points) is None
    answers = np.array([7, 8])
    recent.keep(points, answers)
    points[0] = 5
    answers[0] = 0
    found = recent.get(np.ones((2, 1)))
    assert found is not None
    assert found.tolist() == [7, 8]
    found[0] = 1
    again = recent.get(np.ones((2, 1)))
    assert again is not None
    assert again.tolist() == [7, 8]
    assert recent.get(np.ones((3, 1))) is None
    recent.keep(np.zeros((1, 1)), np.array([9]))
    assert recent.get(np.ones((2, 1))) is None
    shipped = pickle.loads(pickle.dumps(recent))
    assert shipped.get(np.zeros((1, 1))) is None


def test_replies_of_another_width_are_not_packed():
    with pytest.raises(ValueError, match="zip"):
        packed([("x", 1)], ["a"])
    with pytest.raises(ValueError, match="zip"):
        packed([("x", 1), ("y",)], BOTH)
