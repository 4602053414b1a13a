"""search end to end: every input that is reported is really discriminatory."""

from __future__ import annotations

import importlib.util
import itertools
import json
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.methods.search.check import check_found, write_found
from evenhand.methods.search.explain.diversity import Distances
from evenhand.results.result import schema
from evenhand.runtime.errors import DataError, SpaceError, SubjectCrashed, UsageError
from tests.support.helpers import examples, refused
from tests.support.sharing import share_everything
from tests.support.strategies import every, spaces

PUBLISHED = ["random", "semi-directed", "fully-directed"]
HAS_SURROGATE = importlib.util.find_spec("evenhand.methods.search.strategies.surrogate")
SURROGATE = ["surrogate"] if HAS_SURROGATE else []
STRATEGIES = ["adaptive", *SURROGATE, *PUBLISHED]


def slow_but(*quick: str) -> list[Any]:
    """Return all strategies, of which only some are not slow."""
    params = []
    for name in STRATEGIES:
        marks = () if name in quick else pytest.mark.slow
        params.append(pytest.param(name, marks=marks))
    return params


TWO_FIRST = slow_but("adaptive", "fully-directed")
"""The same, for what no strategy does in a way of its own: two of them are not slow."""
RACES = ["a", "b", "c", "d", "e"]
PEOPLE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", RACES),
        eh.integer("age", 18, 90),
        eh.integer("income", 0, 200),
        eh.category("job", ["none", "clerk", "cook", "judge"]),
        eh.real("rate", 0, 1, step=0.05),
        eh.real("height", 1.4, 2.1),
    ],
    protected=["sex", "race"],
)
MOST = 400
FEW = eh.Budget(queries=MOST)


def few(strategy: str) -> eh.Budget:
    """Return a budget that takes no strategy long."""
    return eh.Budget(queries=200) if strategy == "surrogate" else FEW


def score(people: Any) -> Any:
    """Women with a low rate, older people and the last races get less, at some incomes and jobs."""
    columns = [people[name].to_numpy() for name in PEOPLE.names]
    sex, race, age, income, job, rate, height = columns
    is_woman_of_low_rate = (sex == "F") & (rate < 0.4)
    is_of_last_races = (race == "d") | (race == "e")
    value = income / 250 + 0.1 * (job == "judge") + 0.05 * (height > 1.9)
    value = value - 0.25 * is_woman_of_low_rate
    value = value - 0.2 * (is_of_last_races & (income > 80))
    return np.clip(value - 0.002 * (age - 18), 0, 1)


def granted(people: Any) -> Any:
    return score(people) > 0.3


def worded(people: Any) -> Any:
    value = score(people)
    not_granted = np.where(value > 0.15, "asked to call", "refused")
    return np.where(value > 0.3, "granted", not_granted)


def rich(people: Any) -> Any:
    """Software that discriminates against nobody."""
    return people["income"] > 100


def halves(a: Any, b: Any) -> Any:
    distance = np.abs(a - b)
    return np.where(distance > 0.15, distance / 2, 0.0)


@dataclass
class ReportedPairs:
    """People, their twins and the outcomes that a result reports of both."""

    individuals: Any
    twins: Any
    outcomes: Any
    twin_outcomes: Any

    @classmethod
    def of_rows(cls, rows: Any, names: list[str]) -> ReportedPairs:
        twins = rows[names].copy()
        for column in rows.columns:
            name = column.removeprefix("twin.")
            if name != column and column != "twin.outcome":
                twins[name] = rows[column]
        return cls(rows[names], twins, rows["outcome"], rows["twin.outcome"])

    @classmethod
    def of_cases(cls, cases: Any, names: list[str]) -> ReportedPairs:
        individuals = [case.individual for case in cases]
        twins = [case.twin for case in cases]
        return cls(
            pd.DataFrame(individuals, columns=names),
            pd.DataFrame(twins, columns=names),
            [case.outcomes[0] for case in cases],
            [case.outcomes[1] for case in cases],
        )


def rows_of(finding: Any, frame: Any) -> Any:
    """Return the rows of a frame that belong to a finding."""
    rows = frame
    if "over" in frame.columns:
        rows = rows[rows["over"] == ", ".join(finding.about)]
    if "output" in frame.columns:
        rows = rows[rows["output"] == finding.output]
    return rows


def proven(result: Any, ask: Any, apart: Any = np.not_equal) -> int:
    """Ask the software itself about every row and every case, and return how many rows there are.

    What must hold of each is checked.
    """
    frame = result.to_frame()
    space = result.domain
    names = list(space.names)
    assert len(frame) == sum(finding.estimate.value for finding in result.findings)
    for finding in result.findings:
        rows = rows_of(finding, frame)
        assert len(rows) == finding.estimate.value
        assert bool(finding.cases) == bool(len(rows))
        of_rows = ReportedPairs.of_rows(rows, names)
        of_cases = ReportedPairs.of_cases(finding.cases, names)
        check_twins(space, finding, of_rows, ask, apart)
        check_twins(space, finding, of_cases, ask, apart)
        passed = []
        for name in names:
            if name not in finding.about and space.feature(name).passed:
                passed.append(name)
        assert not rows[passed].duplicated().any()
    return len(frame)


def check_twins(
    space: eh.Space,
    finding: Any,
    pairs: ReportedPairs,
    ask: Any,
    apart: Any,
) -> None:
    """Check that people differ from their twins in what is at issue alone, and in the outcomes."""
    one = pairs.individuals
    other = pairs.twins
    if not len(one):
        return

    def answers_of(people: Any) -> Any:
        answers = ask(people)
        if finding.output:
            answers = answers[finding.output]
        return np.asarray(answers)

    for people in (one, other):
        points = space.encode(people)
        assert space.valid(points).all()
        for position, feature in enumerate(space.features):
            assert feature.inside(points[:, position]).all()
    own_answers = answers_of(one)
    twin_answers = answers_of(other)
    check_reported(pairs.outcomes, own_answers)
    check_reported(pairs.twin_outcomes, twin_answers)
    distance = np.asarray(apart(own_answers, twin_answers))
    assert (distance > 0).all()
    same = [name for name in space.names if name not in finding.about]
    assert (one[same] == other[same]).all(axis=None)
    at_issue = list(finding.about)
    changed = one[at_issue] != other[at_issue]
    assert changed.any(axis=1).all()


def check_reported(reported: Any, answers: Any) -> None:
    if answers.dtype.kind == "f":  # how many are asked at once may change the last digit
        assert list(reported) == pytest.approx(answers.tolist(), rel=1e-12)
    else:
        assert list(reported) == answers.tolist()


OUTCOMES = {
    "truth values": (granted, None, np.not_equal),
    "texts": (worded, None, np.not_equal),
    "numbers further apart than 0.2": (score, 0.2, lambda a, b: np.abs(a - b) > 0.2),
    "a function that grades": (score, halves, halves),
}
SETS: list[tuple[str, Any]] = [
    ("truth values", "sex"),
    ("truth values", "age"),
    ("truth values", [("sex",), ("race",)]),
    ("texts", "race"),
    ("numbers further apart than 0.2", ["sex", "race"]),
    ("a function that grades", "race"),
]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("kind", "over"), SETS)
def test_no_false_positives(strategy, kind, over):
    function, differs, apart = OUTCOMES[kind]
    subject = eh.Subject(function, PEOPLE, differs=differs)
    budget = few(strategy)
    if over == "age" and strategy in PUBLISHED:
        budget = eh.Budget(queries=1500)
    result = eh.search(
        subject,
        over=over,
        strategy=strategy,
        budget=budget,
        explain=over == "sex",
    )
    assert proven(result, function, apart) > 1
    assert result.spent.queries <= (budget.queries or 0)
    sets = 2 if isinstance(over[0], tuple) else 1
    assert len(result.findings) == sets


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_false_positives_of_several_outputs(strategy):
    def both(people):
        return {"grant": granted(people), "told": worded(people)}

    subject = eh.Subject(
        both,
        PEOPLE,
        outputs=["grant", "told"],
        positive={"told": "granted"},
    )
    result = eh.search(
        subject,
        over="sex",
        strategy=strategy,
        budget=few(strategy),
        explain=False,
    )
    assert proven(result, both) > 3
    claims = {finding.output: finding.claim for finding in result.findings}
    assert sorted(claims) == ["grant", "told"]
    assert len(result.findings) == 2
    assert "for told" in claims["told"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_constrained_space_yields_and_asks_valid_inputs_only(strategy):
    """The software fails on an input that breaks a constraint, so that none can be asked."""
    space = eh.Space(
        PEOPLE.features,
        ["sex"],
        [
            "not (sex == 'M' and job == 'cook')",
            "age >= 30 or income < 150",
            "not (job == 'judge' and age < 40)",
        ],
    )

    def strict(people):
        assert space.valid(space.encode(people)).all()
        return granted(people)

    result = eh.search(strict, space, strategy=strategy, budget=few(strategy))
    assert proven(result, granted) > 3
    assert "cook" not in set(result.to_frame()["job"])


@pytest.mark.parametrize("strategy", TWO_FIRST)
def test_features_that_are_not_passed_make_no_input_another_one(strategy):
    town = eh.category("town", list("ABCDEFGH"), passed=False)
    space = eh.Space([*PEOPLE.features, town], ["sex", "town"])
    result = eh.search(granted, space, strategy=strategy, budget=few(strategy))
    by_sex, by_town = sorted(result.findings, key=lambda finding: finding.about)
    assert by_sex.about == ("sex",)
    assert by_town.about == ("town",)
    assert by_sex.estimate.value > 0
    assert by_town.estimate.value == 0
    assert proven(result, granted) == by_sex.estimate.value
    assert any("town is not passed" in note for note in result.notes)


def test_features_that_are_not_passed_may_decide_what_is_comparable():
    """Only in town B may a woman be compared with a man."""
    space = eh.Space(
        [
            eh.category("sex", ["F", "M"]),
            eh.integer("age", 0, 9),
            eh.category("town", ["A", "B"], passed=False),
        ],
        ["sex"],
        ["not (sex == 'M' and town == 'A')"],
    )

    def old_men(people):
        is_man = people["sex"] == "M"
        is_old = people["age"] > 6
        return is_man & is_old

    result = eh.search(old_men, space, limit=2)
    estimate = result.worst.estimate
    assert estimate.value == 3
    assert estimate.high == 3
    assert result.verdict == "fail"
    assert set(result.to_frame()["town"]) == {"B"}


# The same through every kind of software.

SMALL = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("age", 18, 90),
        eh.integer("income", 0, 100_000),
    ],
    protected=["sex"],
)
FEW_OF_EXPENSIVE = eh.Budget(queries=120)


def rule(people: Any) -> Any:
    is_man = people["sex"] == "M"
    is_old = people["age"] > 80
    raised = np.where(is_man, 20_000, 0)
    not_granted = np.where(is_old, "no", "later")
    return np.where(people["income"] + raised > 60_000, "yes", not_granted)


PROGRAM = """
import json, sys
def rule(sex, age, income):
    return "yes" if income + (20000 if sex == "M" else 0) > 60000 else "no" if age > 80 else "later"
"""


@pytest.mark.parametrize("strategy", TWO_FIRST)
def test_a_program_that_is_a_process_each(strategy, tmp_path):
    script = tmp_path / "loan"
    script.write_text(
        "#!/bin/sh\nraised=0; [ $1 = M ] && raised=20000\nif [ $(($3 + raised)) -gt 60000 ]; then"
        ' echo "yes"; elif [ $2 -gt 80 ]; then echo "no"; else echo later; fi\n'
    )
    script.chmod(0o755)
    command = [str(script), "{sex}", "{age}", "{income}"]
    with eh.Subject.command(command, SMALL, positive="yes") as subject:
        result = eh.search(subject, strategy=strategy, budget=eh.Budget(queries=60))
    assert proven(result, rule) > 2
    assert subject.executed <= 60
    assert result.spent.queries <= 60
    first = result.to_frame().iloc[0]
    for side, outcome in (
        (first["sex"], first["outcome"]),
        (first["twin.sex"], first["twin.outcome"]),
    ):
        process = subprocess.run(
            [str(script), side, str(first["age"]), str(first["income"])],
            capture_output=True,
            text=True,
        )
        assert process.stdout.strip() == outcome


@pytest.mark.parametrize("strategy", TWO_FIRST)
def test_a_program_that_stays(strategy, tmp_path):
    script = tmp_path / "loan.py"
    loop = "for line in sys.stdin: print(rule(**json.loads(line)), flush=True)\n"
    script.write_text(PROGRAM + loop)
    command = [sys.executable, str(script)]

    def ask(people):
        lines = [json.dumps(person) for person in people.to_dict("records")]
        process = subprocess.run(
            command,
            input="\n".join([*lines, ""]),
            capture_output=True,
            text=True,
            check=True,
        )
        return np.array(process.stdout.split())

    with eh.Subject.stream(command, SMALL) as subject:
        result = eh.search(subject, strategy=strategy, budget=FEW_OF_EXPENSIVE)
    assert proven(result, ask) > 3
    assert result.spent.queries <= 120


@pytest.fixture(scope="module")
def service():
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            length = int(self.headers["Content-Length"])
            body = json.loads(self.rfile.read(length))
            people = pd.DataFrame(body["inputs"])
            content = json.dumps(rule(people).tolist()).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    serve = partial(server.serve_forever, poll_interval=0.05)
    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/decide"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("strategy", TWO_FIRST)
def test_a_service(strategy, service):
    def ask(people):
        body = json.dumps({"inputs": people.to_dict("records")})
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(service, body.encode(), headers)
        with urllib.request.urlopen(request) as answer:
            return np.array(json.load(answer))

    with eh.Subject.http(service, SMALL) as subject:
        result = eh.search(subject, strategy=strategy, budget=FEW_OF_EXPENSIVE)
    assert proven(result, ask) > 3
    assert result.spent.queries <= 120


@pytest.fixture(scope="module")
def fitted():
    points = PEOPLE.draw(4000, np.random.default_rng(1))
    people = pd.DataFrame(PEOPLE.labels(points))
    encode = ColumnTransformer(
        [("levels", OneHotEncoder(), ["sex", "race", "job"])],
        remainder=StandardScaler(),
        verbose_feature_names_out=False,
    )
    encode.set_output(transform="default")
    truth = granted(people)
    labels = np.where(truth, "granted", "refused")
    tree = make_pipeline(encode, DecisionTreeClassifier(max_depth=8, random_state=0))
    linear = make_pipeline(encode, LogisticRegression())
    forest = make_pipeline(
        encode,
        RandomForestClassifier(8, max_depth=6, random_state=0),
    )
    return {
        "tree": tree.fit(people, labels),
        "linear": linear.fit(people, labels),
        "forest": forest.fit(people, truth),
    }


@pytest.mark.parametrize("strategy", TWO_FIRST)
@pytest.mark.parametrize("name", ["tree", pytest.param("linear", marks=pytest.mark.slow)])
def test_fitted_models(fitted, name, strategy):
    result = eh.search(
        fitted[name],
        PEOPLE,
        over="sex",
        strategy=strategy,
        budget=few(strategy),
        explain=False,
    )
    assert proven(result, fitted[name].predict) > 3
    assert result.spent.queries <= MOST


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_scores_of_a_fitted_model(fitted, strategy):
    model = fitted["linear"]
    subject = eh.Subject(
        model,
        PEOPLE,
        output="score",
        positive="granted",
        differs=0.1,
    )
    result = eh.search(subject, over="race", strategy=strategy, budget=few(strategy))

    def share_granted(people):
        return model.predict_proba(people)[:, 0]

    def is_apart(a, b):
        return np.abs(a - b) > 0.1

    assert proven(result, share_granted, is_apart) > 3


NUMBERS = eh.Space(
    [
        eh.category("sex", [0, 1]),
        eh.integer("age", 18, 90),
        eh.real("rate", 0, 1, step=0.01),
    ],
    protected=["sex"],
)


@pytest.fixture(scope="module")
def onnx_file(tmp_path_factory):
    pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import FloatTensorType

    points = NUMBERS.draw(2000, np.random.default_rng(0))
    sex, age, rate = points.T
    model = LogisticRegression().fit(points, age + 30 * sex + 40 * rate > 85)
    types = [("X", FloatTensorType([None, 3]))]
    converted = skl2onnx.convert_sklearn(model, initial_types=types)
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    path.write_bytes(converted.SerializeToString())
    return path


@pytest.mark.parametrize("strategy", TWO_FIRST)
def test_onnx_models(strategy, onnx_file):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(onnx_file), providers=["CPUExecutionProvider"])

    def ask(people):
        return session.run(None, {"X": people.to_numpy(np.float32)})[0]

    subject = eh.Subject.onnx(onnx_file, NUMBERS)
    result = eh.search(subject, strategy=strategy, budget=few(strategy))
    assert proven(result, ask) > 3


class Torn(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model whose label does not follow from its score for one person in seven."""

    def fit(self, people, labels):
        self.classes_ = np.array([False, True])
        self.feature_names_in_ = np.array(SMALL.names)
        return self

    def predict_proba(self, people):
        is_woman = people["sex"] == "F"
        is_odd = np.asarray(people["age"] % 7 == 3) & is_woman
        is_rich = np.asarray(people["income"] > 50_000)
        share = np.where(is_rich ^ is_odd, 0.9, 0.1)
        return np.stack([1 - share, share], axis=1)

    def predict(self, people):
        is_woman = people["sex"] == "F"
        is_odd = (people["age"] == 40) & is_woman
        return np.asarray(people["income"] > 50_000) & ~is_odd


@pytest.mark.parametrize("queries", [200, 1000])
def test_what_scores_say_is_never_reported_where_the_label_says_otherwise(
    queries, monkeypatch
):
    """Where the check of scores against labels misses something, asking again does not."""
    from evenhand.methods.search.margins import Margins

    monkeypatch.setattr(Margins, "_agrees", lambda *_: True)
    model = Torn().fit(None, None)
    result = eh.search(model, SMALL, budget=eh.Budget(queries=queries))
    proven(result, model.predict)
    assert set(result.to_frame()["age"]) <= {40}
    assert any("did not hold when they were asked again" in note for note in result.notes)


# What was planted is found and told.


SEX_RACE_AND_AGE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", RACES),
        eh.integer("age", 18, 90),
    ],
    protected=["sex"],
)


def over_60(people: Any) -> Any:
    return people["age"] > 60


def test_every_input_is_tried_where_the_budget_reaches():
    def biased(people):
        is_man = people["sex"] == "M"
        is_old = people["age"] >= 60
        return is_man & is_old & (people["race"] != "a")

    result = eh.search(biased, SEX_RACE_AND_AGE, limit=0)
    assert proven(result, biased) == 31 * 4
    assert result.worst.estimate.high == 124
    assert result.verdict == "fail"
    assert result.stop is eh.StopReason.ENUMERATED
    assert "every one of" in str(result.worst.estimate)


def test_fair_software_passes_where_every_input_was_tried():
    fair = eh.search(over_60, SEX_RACE_AND_AGE, limit=0)
    assert fair.verdict == "pass"
    assert fair.exit_code == 0
    assert fair.stop is eh.StopReason.ENUMERATED
    assert fair.check() is fair
    assert fair.worst.estimate.n == 73 * 5


def test_wherever_the_budget_begins_to_suffice_no_answer_is_wrong():
    for queries in (730, 800, *range(915, 935), 1000):
        budget = eh.Budget(queries=queries)
        found = eh.search(over_60, SEX_RACE_AND_AGE, limit=0, budget=budget)
        tried_all = found.worst.estimate.n == 365
        assert found.verdict == ("pass" if tried_all else "undecided")
        assert found.spent.queries <= queries
    assert found.verdict == "pass"


def discriminated(outcome_of: dict[Any, Any], rest: list[int]) -> set[Any]:
    """Return the classes of points, equal at the places of the rest, whose outcomes differ."""
    found = set()
    for one, other in itertools.combinations(outcome_of, 2):
        class_of_one = tuple(one[at] for at in rest)
        class_of_other = tuple(other[at] for at in rest)
        if outcome_of[one] != outcome_of[other] and class_of_one == class_of_other:
            found.add(class_of_one)
    return found


@settings(max_examples=examples(25), deadline=None)
@given(spaces(constrained=True), st.integers(0, 999), st.data())
def test_enumeration_agrees_with_brute_force(space, salt, data):
    some_names = st.lists(
        st.sampled_from(space.names),
        min_size=1,
        max_size=2,
        unique=True,
    )
    names = data.draw(some_names)
    rest = [at for at, name in enumerate(space.names) if name not in names]
    outcome_of = {point: hash((salt, point)) % 5 == 0 for point in every(space)}
    found = discriminated(outcome_of, rest)

    def software(people):
        points = space.encode(people).tolist()
        return np.array([outcome_of[tuple(point)] for point in points])

    if all(space.feature(name).size == 1 for name in names):
        return
    result = eh.search(software, space, over=names, limit=0)
    estimate = result.worst.estimate
    assert estimate.value == len(found)
    assert estimate.high == len(found)
    assert proven(result, software) == len(found)
    if found:
        expected = "fail"
    elif any(outcome_of.values()):
        expected = "pass"
    else:
        # Nobody got the favourable outcome, which is no evidence.
        expected = "undecided"
    assert result.verdict == expected


SEX = eh.category("sex", ["F", "M"])
BINNED = eh.real("sex", 0, 1, bins=4)
FINELY_BINNED = eh.real("sex", 0, 1, bins=40)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("features", "queries"),
    [
        ([SEX], None),
        ([SEX, eh.category("town", ["A"])], None),
        ([BINNED], None),
        ([FINELY_BINNED], 30),
    ],
)
def test_spaces_with_nothing_but_the_feature_at_issue(features, queries, strategy):
    def is_last(people):
        sex = people["sex"]
        return sex.isin(["M"]) | (sex == sex.max())

    result = eh.search(
        is_last,
        eh.Space(features, ["sex"]),
        strategy=strategy,
        budget=eh.Budget(queries=queries or 400),
    )
    estimate = result.worst.estimate
    assert estimate.value <= 1
    assert result.spent.queries <= (queries or 400)
    if queries is None and strategy == "adaptive":
        assert estimate.high == 1


def test_nothing_found_is_undecided_and_says_so():
    result = eh.search(rich, PEOPLE, over="sex", limit=0, budget=FEW)
    assert result.verdict == "undecided"
    assert result.exit_code == 3
    assert len(result.to_frame()) == 0
    assert result.worst.claim.startswith("no input was found")
    assert result.worst.cases == ()
    assert result.stop is eh.StopReason.QUERIES
    # Nothing is put aside where there is nothing to tell.
    assert MOST - 2 <= result.spent.queries <= MOST
    with pytest.raises(AssertionError, match="undecided"):
        result.check()
    details = result.details["search"][0]
    assert details["regions"] == []
    assert details["drivers"] == []
    assert details["map"] is None
    assert details["found"] == 0


def test_limits_and_exit_codes():
    search = partial(eh.search, granted, PEOPLE, over="sex", budget=FEW)
    free = search()
    assert free.verdict is None
    assert free.exit_code == 0
    number = int(free.worst.estimate.value)
    for limit, verdict, code in (
        (0, "fail", 1),
        (number - 1, "fail", 1),
        (number, "undecided", 3),
        (10**9, "undecided", 3),
    ):
        result = search(limit=limit)
        assert result.verdict == verdict
        assert result.exit_code == code
    with pytest.raises(AssertionError) as caught:
        search(limit=0).check()
    message = str(caught.value)
    assert "sex F → M: False → True (with race" in message
    assert f"{number:,} found by trying" in message


def test_a_search_reports_no_rate():
    result = eh.search(granted, PEOPLE, over="sex", limit=0, budget=FEW)
    estimate = result.worst.estimate
    assert isinstance(estimate, eh.Witnesses)
    assert estimate.value == len(result.to_frame())
    assert estimate.low == estimate.value > 1
    assert estimate.high == np.inf
    assert "%" not in str(result)
    for region in result.details["search"][0]["regions"]:
        assert region["estimate"]["population"]


# Determinism.


def run_of(model: Any, strategy: str, *, seed: int = 5, **options: Any) -> Any:
    return eh.search(
        eh.Subject(model, PEOPLE, **options),
        over="sex",
        strategy=strategy,
        budget=few(strategy),
        seed=seed,
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_seed_gives_the_same_bytes(strategy, tmp_path):
    ledger = tmp_path / "answers.ledger"
    first = run_of(granted, strategy, memo=False)
    another = run_of(granted, strategy, seed=6)
    assert another.digest != first.digest
    cold = run_of(granted, strategy, ledger=ledger)
    warm = run_of(granted, strategy, ledger=ledger)
    assert cold.digest == first.digest
    assert warm.digest == first.digest
    if strategy != "surrogate":
        remembered = run_of(granted, strategy, memo=True)
        assert remembered.digest == first.digest
    assert cold.spent.executed > 0
    assert warm.spent.executed == 0
    assert warm.to_frame().equals(first.to_frame())


def test_the_same_seed_gives_the_same_bytes_where_scores_are_asked(fitted, tmp_path):
    forest = fitted["forest"]
    first = run_of(forest, "adaptive")
    again = run_of(forest, "adaptive")
    assert first.digest == again.digest
    ledger = tmp_path / "answers.ledger"
    cold = run_of(forest, "adaptive", ledger=ledger)
    warm = run_of(forest, "adaptive", ledger=ledger)
    assert cold.digest == warm.digest
    assert warm.spent.executed == 0
    remembered = run_of(forest, "adaptive", memo=True)
    assert remembered.digest == cold.digest


def test_the_number_of_workers_changes_nothing(fitted, monkeypatch):
    share_everything(monkeypatch)
    digests = set()
    for n_jobs in (1, 2):
        result = eh.search(
            fitted["forest"],
            PEOPLE,
            over="sex",
            budget=eh.Budget(queries=1000),
            n_jobs=n_jobs,
        )
        digests.add(result.digest)
    assert len(digests) == 1


def test_sets_are_searched_alike_whatever_else_is_searched():
    """A set that stands first spends its share of the budget as it would alone with that share."""
    both = eh.search(granted, PEOPLE, over=[("sex",), ("race",)], budget=FEW)
    assert {finding.about for finding in both.findings} == {("sex",), ("race",)}
    shares = [entry["queries"] for entry in both.details["search"]]
    assert all(share > 0.4 * MOST for share in shares)


# Interruptions and crashes.


class RaisesAtCall:
    """Decides until it was called so often, then raises, once."""

    def __init__(self, calls: int, error: type[BaseException]) -> None:
        self.left = calls
        self.error = error

    def __call__(self, people: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise self.error("no more")
        return granted(people)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_interrupted_run_returns_what_it_has(strategy):
    result = eh.search(
        RaisesAtCall(6, KeyboardInterrupt),
        PEOPLE,
        over=[("sex",), ("race",)],
        strategy=strategy,
        limit=0,
        budget=eh.Budget(queries=4000),
    )
    assert result.stop is eh.StopReason.INTERRUPTED
    searched, missed = result.findings
    assert proven_first(result) > 0
    assert searched.verdict == "fail"
    assert missed.verdict == "undecided"
    assert missed.about == ("race",)
    assert missed.claim == "race was not searched"


def proven_first(result: Any) -> int:
    """Check the rows of the only set that was searched."""
    frame = result.to_frame()
    finding = result.findings[0]
    name = finding.about[0]
    twins = frame[list(PEOPLE.names)].copy()
    twins[name] = frame[f"twin.{name}"]
    assert (granted(frame) != granted(twins)).all()
    assert len(frame) == finding.estimate.value
    assert finding.cases
    for case in finding.cases:
        pair = pd.DataFrame([case.individual, case.twin])
        assert granted(pair).tolist() == list(case.outcomes)
    return len(frame)


def test_interrupting_at_any_call_loses_nothing_that_was_found():
    whole = RaisesAtCall(10**9, KeyboardInterrupt)
    eh.search(whole, PEOPLE, over="sex", budget=FEW)
    total = 10**9 - whole.left
    stopped = []
    for calls in range(3, total + 1):
        software = RaisesAtCall(calls, KeyboardInterrupt)
        try:
            result = eh.search(software, PEOPLE, over="sex", budget=FEW)
        except KeyboardInterrupt:
            stopped.append(calls)
            continue
        assert result.stop is eh.StopReason.INTERRUPTED
        proven(result, granted)
    # Only while everything is asked again: what is not verified is not reported.
    for calls in stopped:
        assert calls > total - 3


def test_a_crash_is_reported_and_the_ledger_keeps_what_was_answered(tmp_path):
    ledger = tmp_path / "answers.ledger"
    crashing = eh.Subject(
        RaisesAtCall(6, RuntimeError),
        PEOPLE,
        ledger=ledger,
        identity="loan",
    )
    with pytest.raises(SubjectCrashed, match="no more"):
        eh.search(crashing, over="sex", budget=FEW)
    anew = eh.Subject(granted, PEOPLE, ledger=tmp_path / "other.ledger")
    cold = eh.search(anew, over="sex", budget=FEW)
    subject = eh.Subject(granted, PEOPLE, ledger=ledger, identity="loan")
    result = eh.search(subject, over="sex", budget=FEW)
    assert result.digest == cold.digest
    assert 0 < result.spent.executed < cold.spent.executed


def test_software_that_answers_at_random_is_refused():
    rng = np.random.default_rng(0)

    def at_random(people):
        return rng.random(len(people)) > 0.5

    with pytest.raises(eh.SubjectError, match="asked again"):
        eh.search(at_random, PEOPLE, over="sex", budget=FEW)


# Budgets.


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_tiny_budgets_are_kept(strategy, fitted):
    for queries in (1, 2, 3, 5, 19, 20, 21, 50, 100, 200):
        model = granted
        over = "sex"
        if queries % 5 == 0:
            model = fitted["linear"]
            over = "race"
        result = eh.search(
            model,
            PEOPLE,
            over=over,
            strategy=strategy,
            budget=eh.Budget(queries=queries),
        )
        assert result.spent.queries <= queries
        found = result.worst.estimate.value
        assert found <= queries / 2
        assert len(result.to_frame()) == found


@pytest.mark.parametrize("model", ["linear", "forest"])
def test_nothing_is_asked_that_is_not_counted(fitted, model):
    """What is reported as spent is all that is asked, but for what is asked again at the end."""
    subject = eh.Subject(fitted[model], PEOPLE)
    result = eh.search(subject, over="sex", budget=eh.Budget(queries=2000))
    asked_again = 2 * len(result.to_frame())
    assert subject.asked - asked_again <= result.spent.queries <= 2000


def test_a_model_that_nearly_always_says_the_same_is_charged_in_full():
    """Seeds at the boundary ask inputs of their own, also where they come to nothing."""

    class Harsh(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        classes_ = np.array([0, 1])
        feature_names_in_ = np.array(SMALL.names)

        def __sklearn_is_fitted__(self):
            return True

        def predict_proba(self, people):
            is_man = people["sex"] == "M"
            is_granted = people["income"] + 5 * is_man > 99_999
            share = np.where(is_granted, 0.9, 0.1)
            return np.stack([1 - share, share], axis=1)

        def predict(self, people):
            share = self.predict_proba(people)[:, 1]
            return (share > 0.5).astype(int)

    subject = eh.Subject(Harsh(), SMALL)
    result = eh.search(subject, budget=eh.Budget(queries=8000))
    asked_again = 2 * len(result.to_frame())
    assert subject.asked - asked_again <= result.spent.queries <= 8000


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_as_many_findings_as_are_wanted(strategy):
    result = eh.search(
        granted,
        PEOPLE,
        over="sex",
        strategy=strategy,
        budget=eh.Budget(findings=10, queries=2000),
    )
    assert result.worst.estimate.value == 10
    assert proven(result, granted) == 10
    assert result.stop is eh.StopReason.FINDINGS


def test_a_budget_of_findings_alone_ends_where_there_are_none():
    result = eh.search(rich, PEOPLE, over="sex", budget=eh.Budget(findings=10))
    assert result.stop is eh.StopReason.QUERIES
    assert result.spent.queries <= 100_000


@pytest.mark.parametrize("strategy", ["adaptive", "random"])
def test_time_is_a_budget_too(strategy):
    """An input takes half a millisecond, so that about 800 can be asked."""

    def slow(people):
        time.sleep(len(people) / 2000)
        return granted(people)

    result = eh.search(
        slow,
        PEOPLE,
        over="sex",
        strategy=strategy,
        budget=eh.Budget(seconds=0.4),
    )
    assert result.stop is eh.StopReason.SECONDS
    asked_again = 2 * len(result.to_frame())
    assert result.spent.executed - asked_again < 1200
    proven(result, granted)


# What is told, and in which form.


@pytest.mark.parametrize(
    ("function", "differs", "over"),
    [
        (granted, None, "sex"),
        (worded, None, [("sex",), ("race",)]),
        (score, 0.1, "race"),
    ],
)
def test_a_result_survives_its_file(function, differs, over, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    subject = eh.Subject(function, PEOPLE, differs=differs)
    result = eh.search(subject, over=over, limit=0, budget=FEW)
    path = tmp_path / "result.json"
    text = result.to_json(path)
    jsonschema.validate(json.loads(text), schema())
    again = eh.Result.from_json(path)
    assert again.digest == result.digest
    assert result.verdict == "fail"
    assert again.verdict == "fail"
    pd.testing.assert_frame_equal(
        again.to_frame(),
        result.to_frame(),
        check_dtype=False,
        check_categorical=False,
    )
    assert str(again) == str(result)
    assert again.to_json() == text


def plain_rows(frame: Any) -> Any:
    return frame.astype(object).to_numpy().tolist()


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("found.csv", pd.read_csv),
        ("found.parquet", pd.read_parquet),
    ],
)
def test_found_inputs_are_written_as_the_frame_has_them(name, read, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / name
    result = eh.search(worded, PEOPLE, over=["sex", "race"], budget=FEW)
    write_found(result, str(path))
    frame = result.to_frame()
    read_back = read(path)
    added = ["outcome", "twin.sex", "twin.race", "twin.outcome"]
    assert frame.columns.tolist() == [*PEOPLE.names, *added]
    assert read_back.columns.tolist() == frame.columns.tolist()
    assert plain_rows(read_back) == plain_rows(frame)


def test_nothing_found_is_written_too(tmp_path):
    nothing = eh.search(rich, PEOPLE, over="sex", budget=FEW)
    path = tmp_path / "none.csv"
    write_found(nothing, str(path))
    assert len(nothing.to_frame()) == 0
    assert len(pd.read_csv(path)) == 0


def test_found_inputs_keep_the_dtypes_of_the_users_frame():
    points = PEOPLE.draw(500, np.random.default_rng(3))
    people = pd.DataFrame(PEOPLE.labels(points))
    people["job"] = people["job"].astype("category")
    people["income"] = people["income"].astype("int16")
    space = eh.Space.from_frame(people, protected=["sex"])
    result = eh.search(granted, space, start=people, budget=FEW)
    names = list(space.names)
    found_dtypes = result.to_frame()[names].dtypes
    assert found_dtypes.tolist() == people[names].dtypes.tolist()


def test_what_is_reported_adds_up():
    rows = PEOPLE.draw(50, np.random.default_rng(0))
    result = eh.search(
        granted,
        PEOPLE,
        over="sex",
        budget=eh.Budget(queries=5000),
        start=PEOPLE.records(rows),
    )
    entry = result.details["search"][0]
    found = len(result.to_frame())
    assert entry["found"] == found
    assert entry["inputs"]["rows"] == found
    assert entry["tried"] >= found
    assert entry["strategy"] == "adaptive"
    assert entry["prefer"] == "realistic"
    assert entry["about"] == ["sex"]
    check_curve(entry, result.spent.queries)
    assert entry["cells"] > 1
    assert entry["spread"]["cells"] == entry["cells"]
    assert entry["spread"]["real"]["rows"] == 50
    assert {driver["feature"] for driver in entry["drivers"]} == {
        "race",
        "age",
        "income",
        "job",
        "rate",
        "height",
    }
    assert len(entry["map"]["found"]) <= found
    assert len(entry["map"]["axes"]) == 2
    cases = [json.dumps(case.to_dict()) for case in result.worst.cases]
    assert 0 < len(cases) <= 5
    assert len(set(cases)) == len(cases)
    json.dumps(result.details)


def check_curve(entry: Any, spent: int) -> None:
    """What was asked, found and reached of cells never falls, nor ends above the totals."""
    curve = np.array(entry["curve"])
    assert len(curve) <= 200
    assert curve[0].tolist() == [0, 0, 0]
    assert (np.diff(curve, axis=0) >= 0).all()
    queries, found, _ = curve[-1]
    assert queries <= spent
    assert found <= entry["found"]


def test_nothing_is_explained_where_that_is_not_wanted():
    result = eh.search(granted, PEOPLE, over="sex", budget=FEW, explain=False)
    entry = result.details["search"][0]
    assert entry["regions"] == []
    assert entry["drivers"] == []
    assert entry["map"] is None


def test_cases_are_simpler_than_what_was_found():
    result = eh.search(granted, PEOPLE, over="sex", budget=eh.Budget(queries=3000))
    middle = {
        "race": "a",
        "age": 54,
        "income": 100,
        "job": "none",
        "rate": 0.5,
        "height": 1.75,
    }

    def odd(person):
        return sum(person[name] != value for name, value in middle.items())

    found = result.to_frame().to_dict("records")
    rows = [odd(person) for person in found]
    shown = [odd(case.individual) for case in result.worst.cases]
    assert max(shown) < np.mean(rows)
    assert shown[0] == min(shown)


# What is preferred.


PLACES = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("a", 0, 99),
        eh.integer("b", 0, 99),
        eh.integer("c", 0, 99),
        eh.integer("d", 0, 99),
        eh.integer("e", 0, 99),
    ],
    protected=["sex"],
)


PLENTY = eh.Budget(queries=3000)


def patchy(people: Any) -> Any:
    """Women are refused in one broad region that is easy to flood, and in many thin ones."""
    is_woman = people["sex"] == "F"
    in_broad = (people["a"] < 40) & (people["b"] < 40)
    total = people["a"] + people["b"] + people["c"]
    in_thin = total % 25 == 0
    return ~(is_woman & (in_broad | in_thin))


def patchy_run(prefer: str, **options: Any) -> Any:
    return eh.search(
        patchy,
        PLACES,
        prefer=prefer,
        budget=PLENTY,
        explain=False,
        **options,
    )


def test_diverse_inputs_lie_in_more_cells_and_further_apart():
    cells = {"many": 0, "diverse": 0}
    distances = {"many": 0.0, "diverse": 0.0}
    for prefer in ("many", "diverse"):
        for seed in range(3):
            result = patchy_run(prefer, seed=seed)
            spread = result.details["search"][0]["spread"]
            cells[prefer] += spread["cells"]
            distances[prefer] += spread["distance"]
    assert cells["diverse"] > cells["many"]
    assert distances["diverse"] > 0.98 * distances["many"]
    result = eh.search(patchy, PLACES, prefer="diverse", budget=FEW)
    first = result.to_frame()[:50]
    coarse = first[list("abcde")] // 25
    assert len(coarse.drop_duplicates()) > 40


def nearness(result: Any) -> Any:
    """Return how near what was found lies to real rows."""
    return result.details["search"][0]["spread"]["real"]


def test_realistic_inputs_lie_nearer_to_real_rows():
    columns = {name: np.arange(30, 70) for name in "abcde"}
    rows = pd.DataFrame({"sex": ["F", "M"] * 20, **columns})
    many = patchy_run("many", start=rows)
    realistic = patchy_run("realistic", start=rows)
    assert nearness(realistic)["median"] < 0.7 * nearness(many)["median"]
    assert proven(realistic, patchy) > 100
    found = PLACES.encode(realistic.to_frame())
    numbers = Distances(PLACES, (1, 2, 3, 4, 5))
    distances = numbers.nearest(found, PLACES.encode(rows))
    assert (np.diff(distances) >= -1e-6).all()
    without_rows = patchy_run("many")
    assert nearness(without_rows) is None


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_real_rows_are_where_a_search_begins(strategy):
    """Nobody would come upon these two people by chance."""
    columns = {name: [17, 83] for name in "abcde"}
    rows = pd.DataFrame({"sex": ["F", "M"], **columns})

    def rare(people):
        is_man = people["sex"] == "M"
        all_equal = people[list("abcde")].nunique(axis=1) == 1
        return is_man & all_equal & people["a"].isin([17, 83])

    search = partial(
        eh.search,
        rare,
        PLACES,
        strategy=strategy,
        budget=eh.Budget(queries=200),
        explain=False,
    )
    result = search(start=rows)
    assert proven(result, rare) == 2
    from_population = search(start=eh.rows(rows))
    assert from_population.digest == result.digest
    by_chance = search()
    assert by_chance.worst.estimate.value == 0


# Mistakes.


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strategy": "adaptiv"}, ["strategy = 'adaptiv'", "did you mean 'adaptive'"]),
        ({"strategy": None}, ["strategy = None"]),
        ({"strategy": ["random"]}, ["strategy", "random"]),
        ({"prefer": "divers"}, ["prefer = 'divers'", "did you mean 'diverse'"]),
        ({"prefer": "realistic"}, ["prefer = 'realistic'", "start="]),
        ({"over": "sexx"}, ["'sexx'", "did you mean 'sex'"]),
        ({"over": ["sex", "sex"]}, ["'sex' twice"]),
        ({"over": []}, ["over is empty"]),
        ({"over": 3}, ["over = 3"]),
        ({"limit": -1}, ["limit = -1", "whole number of 0 or more"]),
        ({"limit": 0.05}, ["limit = 0.05", "measure"]),
        ({"limit": float("nan")}, ["limit = nan"]),
        ({"limit": float("inf")}, ["limit = inf"]),
        ({"limit": "0"}, ["limit = '0'"]),
        ({"limit": True}, ["limit = True"]),
        ({"found": "x.csv"}, ["no option 'found'"]),
        ({"budget": 100}, ["budget = 100", "Budget(queries=1000)"]),
        ({"n_jobs": 0}, ["n_jobs"]),
        ({"sampler": None}, ["sampler"]),
        ({"start_rows": None}, ["start_rows", "start"]),
    ],
)
def test_mistakes_are_refused_in_one_sentence(options, words):
    refused(UsageError, lambda: eh.search(granted, PEOPLE, **options), *words)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("x.xls", ["x.xls", "did you mean '.csv'"]),
        ("nowhere/x.csv", ["no folder 'nowhere'"]),
        (3, ["found = 3"]),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_asked(path, words):
    refused(UsageError, lambda: check_found(path, None), *words)


def test_rows_that_do_not_fit_are_reported():
    row = PEOPLE.records(PEOPLE.draw(1, np.random.default_rng(0)))[0]
    for start, words in (
        ([{**row, "age": 10}], ["'age' = 10", "18 to 90"]),
        ([{**row, "sex": "X"}], ["'sex'", "'X'"]),
        (pd.DataFrame([row]).drop(columns="age"), ["'age'"]),
        ([], ["no rows"]),
        ("people.csv", ["str"]),
        (5, ["int"]),
    ):
        refused(DataError, partial(eh.search, granted, PEOPLE, start=start), *words)


@pytest.mark.parametrize(
    ("name", "over", "outputs"),
    [
        ("outcome", "sex", None),
        ("twin.sex", "sex", None),
        ("twin.outcome", "sex", None),
        ("over", [("sex",), ("race",)], None),
        ("output", "sex", ["a", "b"]),
    ],
)
def test_features_named_like_columns_of_the_table_are_refused_before_anything_is_asked(
    name, over, outputs
):
    def unasked(people):
        raise AssertionError("asked")

    space = eh.Space(
        [
            eh.category("sex", ["F", "M"]),
            eh.category("race", ["a", "b"]),
            eh.integer(name, 0, 9),
        ],
        ["sex"],
    )
    subject = eh.Subject(unasked, space, outputs=outputs)
    refused(UsageError, lambda: eh.search(subject, over=over), repr(name), "rename")


def test_features_named_like_columns_that_the_table_does_not_need_are_no_mistake():
    space = eh.Space(
        [
            eh.category("sex", ["F", "M"]),
            eh.integer("output", 0, 9),
            eh.integer("over", 0, 9),
        ],
        ["sex"],
    )
    result = eh.search(lambda people: people["sex"] == "M", space)
    assert len(result.to_frame()) == 100


def test_a_feature_with_one_value_has_nothing_to_compare():
    space = eh.Space(
        [
            eh.category("sex", ["F"]),
            eh.integer("age", 0, 9),
        ],
        ["sex"],
    )
    refused(
        SpaceError,
        lambda: eh.search(lambda people: people["age"] > 3, space),
        "sex",
        "one value",
    )


def test_parameters_of_the_paper():
    result = eh.search(
        granted,
        PEOPLE,
        over="sex",
        strategy=eh.aequitas("semi-directed", dv=0.01, global_trials=100),
        budget=FEW,
    )
    assert result.worst.estimate.method == "semi-directed"
    proven(result, granted)
    refused(UsageError, lambda: eh.aequitas("semi-direct"), "did you mean 'semi-directed'")


# prevalence is the causal score of measure.


@pytest.mark.parametrize(
    ("options", "same_options"),
    [
        ({}, {"margin": 0.01}),
        ({"margin": 0.02}, {"margin": 0.02}),
        ({"limit": 0.05}, {"limit": 0.05}),
        ({"level": 0.9, "seed": 3}, {"level": 0.9, "seed": 3, "margin": 0.01}),
    ],
)
def test_prevalence_is_the_causal_score_with_a_finer_margin(options, same_options):
    prevalence = eh.prevalence(granted, PEOPLE, over="sex", **options)
    score = eh.measure(granted, PEOPLE, over="sex", kind="causal", **same_options)
    assert (prevalence.job, score.job) == ("prevalence", "measure")
    assert prevalence.findings == score.findings


def test_a_margin_of_prevalence_is_checked():
    refused(UsageError, lambda: eh.prevalence(granted, PEOPLE, margin=2.0), "margin")


def test_prevalence_holds_the_truth():
    def planted(people):
        is_man = people["sex"] == "M"
        return is_man & (people["a"] < 3)

    holding = 0
    for seed in range(20):
        result = eh.prevalence(planted, PLACES, seed=seed)
        estimate = result.worst.estimate
        assert estimate.high - estimate.low <= 0.021
        holding += estimate.low <= 0.03 <= estimate.high
    assert holding >= 17


def lends_by_number(people):
    return people["number"] > 5


def lends_one_man(people):
    return (people["number"] == 77) & (people["sex"] == "M")


@pytest.mark.parametrize(
    ("decide", "verdict"), [(lends_by_number, "pass"), (lends_one_man, "fail")]
)
def test_every_input_is_tried_where_only_that_can_pass(decide, verdict):
    space = eh.Space(
        [eh.category("sex", ["F", "M"]), eh.integer("number", 1, 60_000)], protected=["sex"]
    )
    options: dict[str, Any] = {"limit": 0, "explain": False}
    found = eh.search(decide, space, **options)
    assert found.verdict == verdict
    assert found.stop is eh.StopReason.ENUMERATED
    # Without a limit nothing is open, and a budget that was given is kept.
    unlimited = eh.search(decide, space, explain=False)
    assert unlimited.spent.queries <= 100_000
    bounded = eh.search(decide, space, budget=eh.Budget(queries=1_000), **options)
    assert bounded.spent.queries <= 1_000
