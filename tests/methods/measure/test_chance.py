"""measure of software that does not always answer the same input the same way."""

from __future__ import annotations

import json
import random
import sys
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import numpy as np
import pytest

import evenhand as eh
from evenhand.runtime.errors import NotDeterministic, UsageError
from tests.support.helpers import refused
from tests.support.simulation import covers

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b", "c", "d", "e"]),
        eh.integer("age", 18, 90),
        eh.integer("income", 0, 99_999),
    ],
    protected=["sex"],
)


def noise_of(finding: Any) -> Any:
    """Return how often answers differ, of a finding that says so."""
    assert finding.noise is not None
    return finding.noise


class Fickle:
    """Approves every other income; of a share of women the others; and now and then the reverse."""

    def __init__(self, noise: float, flips: float = 0.0, seed: int = 0) -> None:
        self.noise = noise
        self.flips = flips
        self.random = np.random.default_rng(seed)

    def __call__(self, people: Any) -> Any:
        income = people["income"].to_numpy()
        women = (people["sex"] == "F").to_numpy()
        flipped = women & (income // 2 % 100 < 100 * self.flips)
        wrong = self.random.random(len(people)) < self.noise
        return (income % 2 == 0) ^ flipped ^ wrong


def excess(noise: float, flips: float) -> float:
    """Return how much more often twins differ than the same person does."""
    return flips * (1 - 2 * noise) ** 2


@pytest.mark.parametrize("noise", [0.05, 0.2])
@pytest.mark.parametrize("flips", [0.0, 0.3])
def test_the_score_is_what_twins_differ_beyond_chance(noise, flips):
    found = eh.measure(Fickle(noise, flips), SPACE, level=0.999)
    finding = found.worst
    assert covers(finding.estimate, excess(noise, flips))
    assert finding.estimate.method == "betting"
    assert finding.estimate.level == 0.999
    assert covers(finding.noise, 2 * noise * (1 - noise))
    assert found.details["chance"]["noticed"] == "at first"
    assert found.details["chance"]["repeats"] >= 2
    assert "beyond chance" in finding.claim
    assert finding.key == "causal of sex"


def test_chance_alone_is_no_discrimination():
    """One answer in a hundred is wrong, which was reported as 2 % discrimination."""
    for seed in range(20):
        found = eh.measure(Fickle(0.01, seed=seed), SPACE, seed=seed)
        if found.details:
            assert found.details["chance"]["repeats"] == 2
            assert found.worst.estimate.low <= 0
        else:
            # No wrong answer made a hit, as each of them is asked again.
            assert found.worst.estimate.value == 0


@pytest.mark.parametrize("over", ["race", "age", ["sex", "race"]])
def test_many_twins_are_no_reason_to_differ(over):
    found = eh.measure(Fickle(0.05), SPACE, over=over, level=0.999)
    estimate = found.worst.estimate
    assert covers(estimate, 0.0)
    assert estimate.high < 0.06
    assert found.worst.cases == ()


def test_many_twins_hide_nothing():
    """All change with age, and 73 answers, one in twenty wrong, are never all alike."""
    rng = np.random.default_rng(0)

    def by_age(people):
        wrong = rng.random(len(people)) < 0.05
        return (people["age"] > 54).to_numpy() ^ wrong

    found = eh.measure(by_age, SPACE, over="age", limit=0.5)
    assert found.verdict == "fail"
    # Now and then chance hides which twin it is that differs.
    most = excess(0.05, 1.0)
    assert 0.9 * most < found.worst.estimate.value < most


def test_software_that_answers_alike_has_its_usual_score():
    plain = eh.measure(Fickle(0.0, 0.3), SPACE, level=0.999)
    assert plain.details == {}
    assert plain.worst.noise is None
    repeated = eh.measure(Fickle(0.0, 0.3), SPACE, level=0.999, repeats=2)
    assert covers(repeated.worst.estimate, 0.3)
    assert noise_of(repeated.worst).value == 0
    assert repeated.details["chance"] == {"repeats": 2, "noticed": ""}
    one = eh.measure(Fickle(0.0, 0.3), SPACE, level=0.999, repeats=1)
    assert one.worst == plain.worst


def test_one_answer_each_refuses_chance():
    words = "when asked again", "causal test needs one answer", "measure it"
    refused(NotDeterministic, lambda: eh.measure(Fickle(0.2), SPACE, repeats=1), *words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"repeats": 0}, "repeats = 0"),
        ({"repeats": True}, "repeats = True"),
        ({"repeats": 2.5}, "repeats = 2.5"),
        ({"repeats": 99}, "from 1 to 16"),
        ({"repeats": 2, "kind": "group"}, "which chance does not harm"),
        ({"repeats": 2, "exact": True}, "leave out exact"),
        ({"repeats": 2, "interval": "wald"}, "interval = 'wald'"),
        ({"repeats": 2, "keep_tests": True}, "leave out keep_tests"),
    ],
)
def test_what_cannot_be_repeated_is_refused(options, words):
    refused(UsageError, lambda: eh.measure(Fickle(0.0), SPACE, **options), words)


def test_twins_among_rows_cannot_be_repeated():
    person = {"race": "a", "age": 40, "income": 7}
    people = [{"sex": "F", **person}, {"sex": "M", **person}] * 30
    sampler = eh.rows(people, twins="rows")
    refused(
        UsageError,
        lambda: eh.measure(Fickle(0.3), SPACE, sampler=sampler),
        "twins = 'rows'",
    )
    group = eh.measure(Fickle(0.3), SPACE, sampler=sampler, kind="group")
    assert covers(group.worst.estimate, 0.0)
    assert group.worst.estimate.level == 0.95


def test_group_scores_go_on_with_the_noise_beside():
    found = eh.measure(Fickle(0.1, 0.3), SPACE, kind="group", level=0.999)
    finding = found.worst
    assert covers(finding.estimate, 0.0)
    assert covers(finding.noise, 2 * 0.1 * 0.9)
    assert found.details["chance"] == {"repeats": 1, "noticed": "at first"}
    assert any("no harm to rates of groups" in note for note in found.notes)


def test_nothing_random_is_called_exact():
    space = eh.Space(
        [eh.category("sex", ["F", "M"]), eh.integer("income", 0, 99)], protected=["sex"]
    )
    for kind in ("causal", "group"):
        exact = eh.measure(Fickle(0.0, 0.3), space, kind=kind)
        assert exact.worst.estimate.level == 1
        estimated = eh.measure(Fickle(0.2, 0.3), space, kind=kind)
        assert estimated.worst.estimate.level == 0.95
        assert estimated.stop is not eh.StopReason.ENUMERATED


def test_rows_that_are_a_sample_are_asked_repeatedly():
    rng = np.random.default_rng(5)
    points = SPACE.draw(400, rng)
    people = SPACE.native(points)
    sampler = eh.rows(people, sample_of="applicants")
    found = eh.measure(Fickle(0.05, 0.3), SPACE, sampler=sampler, level=0.999)
    estimate = found.worst.estimate
    assert estimate.n == 400
    assert estimate.population == "applicants"
    assert covers(estimate, excess(0.05, 0.3))


def test_flicker_is_noticed_during_the_run():
    found = eh.measure(Fickle(0.001, seed=1), SPACE, margin=0.002)
    assert found.details["chance"]["noticed"] == "during the run"
    assert noise_of(found.worst).high < 0.05
    assert any("noticed during the run" in note for note in found.notes)
    text = found.to_text()
    assert "asked again, the same input gets another outcome" in text


def test_the_noise_is_a_field_that_is_read_back(tmp_path):
    found = eh.measure(Fickle(0.1, 0.3), SPACE, limit=0.05)
    assert found.verdict == "fail"
    file = tmp_path / "found.json"
    found.to_json(file)
    table = json.loads(file.read_text())
    (finding,) = table["findings"]
    assert finding["noise"]["value"] == noise_of(found.worst).value
    assert table["details"]["chance"]["repeats"] == found.details["chance"]["repeats"]
    assert eh.Result.from_json(file).worst == found.worst
    shown = found.worst._repr_html_()
    assert "asked again, the same input gets another outcome" in shown


def test_numbers_are_compared_by_their_threshold():
    rng = np.random.default_rng(3)

    def price(people):
        women = (people["sex"] == "F").to_numpy()
        noise = rng.normal(0, 1, len(people))
        return people["income"].to_numpy() / 10 + 30.0 * women + noise

    subject = eh.Subject(price, SPACE, differs=10.0)
    found = eh.measure(subject, level=0.999)
    assert found.details["chance"]["noticed"] == "at first"
    # A price that moves by a little is no other price.
    assert noise_of(found.worst).value == 0
    assert found.worst.estimate.value == 1
    group = eh.measure(subject, kind="group", level=0.999, limit=0.5)
    assert group.worst.noise is not None


def test_several_outputs_each_have_their_noise():
    rng = np.random.default_rng(3)

    def loan(people):
        wrong = rng.random(len(people)) < 0.2
        steady = (people["income"] % 2 == 0).to_numpy()
        return {"steady": steady, "fickle": steady ^ wrong}

    subject = eh.Subject(loan, SPACE, outputs=["steady", "fickle"])
    found = eh.measure(subject)
    noise = {finding.output: noise_of(finding).value for finding in found.findings}
    assert noise["steady"] == 0
    assert noise["fickle"] > 0.2


def test_a_budget_is_kept():
    asked = 0
    software = Fickle(0.02, 0.3)

    def counted(people):
        nonlocal asked
        asked += len(people)
        return software(people)

    for queries in (40, 200, 1_000, 5_000):
        for kind in ("causal", "group"):
            asked = 0
            budget = eh.Budget(queries=queries)
            found = eh.measure(
                counted, SPACE, kind=kind, margin=0.001, budget=budget, seed=queries
            )
            assert found.spent.queries <= queries
            assert asked <= queries


def test_the_same_bytes_for_software_that_answers_alike(tmp_path):
    def known(**options: Any) -> Any:
        subject = eh.Subject(
            decides, SPACE, ledger=options.pop("ledger", None), identity="decides"
        )
        with subject:
            found = eh.measure(subject, margin=0.02, **options)
        table = json.loads(found.to_json())
        del table["spent"]["executed"], table["spent"]["seconds"]
        return table

    for repeats in (None, 3):
        plain = known(repeats=repeats)
        assert known(repeats=repeats, n_jobs=2) == plain
        ledger = tmp_path / f"ledger-{repeats}.db"
        assert known(repeats=repeats, ledger=ledger) == plain
        assert known(repeats=repeats, ledger=ledger) == plain


def decides(people: Any) -> Any:
    """Decide by income, of one woman in ten in another way."""
    return Fickle(0.0, 0.1)(people)


PROGRAM = """\
import random, sys
sex, income = sys.argv[1], int(sys.argv[2])
answer = (income % 2 == 0) ^ (sex == "F" and income % 5 == 0)
if random.random() < 0.2:
    answer = not answer
print("yes" if answer else "no")
"""


def test_a_program_that_flickers_and_its_ledger(tmp_path):
    program = tmp_path / "loan.py"
    program.write_text(textwrap.dedent(PROGRAM))
    space = eh.Space(
        [eh.category("sex", ["F", "M"]), eh.integer("income", 0, 999)], protected=["sex"]
    )
    command = [sys.executable, str(program), "{sex}", "{income}"]

    def measured() -> Any:
        subject = eh.Subject.command(
            command, space, positive="yes", ledger=tmp_path / "ledger.db", workers=4
        )
        with subject:
            return eh.measure(subject, level=0.999, budget=eh.Budget(queries=300))

    cold = measured()
    assert cold.spent.executed <= cold.spent.queries <= 300
    assert cold.details["chance"]["noticed"] == "at first"
    assert covers(cold.worst.estimate, excess(0.2, 0.2))
    assert covers(cold.worst.noise, 0.32)
    # Every one of its answers is kept, the fifth as well as the first.
    warm = measured()
    assert warm.spent.executed == 0
    assert warm.findings == cold.findings


class FickleService(BaseHTTPRequestHandler):
    """Answers one request in five with the reverse."""

    random: ClassVar[random.Random] = random.Random(4)

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        people = json.loads(self.rfile.read(length))["inputs"]
        answers = []
        for person in people:
            approved = person["income"] % 2 == 0
            wrong = self.random.random() < 0.2
            answers.append(approved != wrong)
        body = json.dumps({"outcomes": answers}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), FickleService)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/decide"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_service_that_flickers(address):
    with eh.Subject.http(address, SPACE, positive=True) as subject:
        found = eh.measure(subject, limit=0.3, budget=eh.Budget(queries=4_000))
        assert found.verdict == "pass"
        assert covers(found.worst.noise, 0.32)
        group = eh.measure(subject, kind="group", budget=eh.Budget(queries=4_000))
        assert covers(group.worst.estimate, 0.0)
        # Answers are remembered, but never taken for new ones.
        assert subject.remembers
        assert noise_of(group.worst).value > 0.2
