"""Torch modules as subjects: labels, scores, thresholds, several classes, margins, gradients, and
workers.
"""

# mypy: disable-error-code="misc,name-defined"
# Torch is not there when types are checked, so its classes have none.

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.methods.repair.methods.evened import Evened
from evenhand.methods.repair.repair import repair
from evenhand.methods.search.margins import Margins
from evenhand.methods.search.probe import Probe
from evenhand.methods.search.strategies.start_points import boundary_points
from evenhand.runtime.errors import BadOutcome, SubjectCrashed, UsageError
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.subject.adapters.torch import TorchAdapter
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.helpers import refused

pytestmark = pytest.mark.heavy
torch = pytest.importorskip("torch")

SPACE = Space(
    [
        category("sex", ["F", "M"]),
        category("rooms", [1, 2, 4]),
        integer("age", 18, 90),
        real("rate", 0, 1, step=0.1),
        integer("group", 0, 3, passed=False),
    ],
    protected=["sex"],
)
POINTS = SPACE.draw(300, np.random.default_rng(5))
ROOMS = np.array([1.0, 2.0, 4.0])
ROOM_CODES = POINTS[:, 1].astype(int)
SEEN = POINTS[:, :4].copy()
SEEN[:, 1] = ROOMS[ROOM_CODES]


def network(outputs: int = 1, inputs: int = 4) -> Any:
    torch.manual_seed(2)
    scale = torch.nn.BatchNorm1d(inputs)
    scale.running_mean = torch.tensor([0.5, 2.3, 54.0, 0.5][:inputs])
    scale.running_var = torch.tensor([0.25, 1.5, 440.0, 0.1][:inputs])
    layers = [
        torch.nn.Linear(inputs, 16),
        torch.nn.Tanh(),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(16, outputs),
    ]
    return torch.nn.Sequential(scale, *layers)


def logits(module: Any) -> Any:
    module.eval()
    inputs = torch.tensor(SEEN, dtype=torch.float32)
    with torch.no_grad():
        answer = module(inputs)
    return answer.double().numpy()


def labels_of(values: Any) -> list[int]:
    """Return the labels of margins: 1 above zero."""
    labels: list[int] = (values > 0).astype(int).tolist()
    return labels


def margins_of(module: Any, **options: Any) -> Any:
    subject = Subject(module, SPACE, **options)
    return Margins.of(View(subject), POINTS)


class Flat(torch.nn.Module):
    """One logit without a second dimension, in training mode and in double precision."""

    def __init__(
        self, weights: tuple[float, ...] = (20.0, 1.0, -1.0, 10.0), shift: float = 40.0
    ) -> None:
        super().__init__()
        self.weights = torch.nn.Parameter(torch.tensor(weights, dtype=torch.float64))
        self.shift = shift

    def forward(self, inputs: Any) -> Any:
        return inputs @ self.weights + self.shift


class Answering(torch.nn.Module):
    """Answers whatever a function makes of the inputs."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, inputs: Any) -> Any:
        return self.answer(inputs)


def test_one_logit_is_two_labels():
    of_network = logits(network())[:, 0]
    of_flat = SEEN @ [20, 1, -1, 10] + 40
    for module, wanted in ((network(), of_network), (Flat(), of_flat)):
        subject = Subject(module, SPACE, positive=1)
        assert isinstance(subject.adapter, TorchAdapter)
        assert not subject.adapter.expensive
        outcomes = subject.decide(POINTS)
        assert outcomes.tolist() == labels_of(wanted)
        assert 0 < outcomes.mean() < 1
        assert subject.asked == subject.executed == len(POINTS)
        assert len(subject.decide(POINTS[:0])) == 0


def test_several_logits_are_several_labels():
    for classes in (2, 3):
        subject = Subject(network(classes), SPACE, positive=classes - 1)
        outcomes = subject.decide(POINTS)
        expected = logits(network(classes)).argmax(axis=1)
        assert outcomes.tolist() == expected.tolist()
        assert set(outcomes.tolist()) == set(range(classes))


@pytest.mark.parametrize("classes", [1, 2])
@pytest.mark.parametrize("positive", [None, 0, 1])
def test_scores_and_thresholds_are_of_the_positive_class(classes, positive):
    found = logits(network(classes))
    logit_of_1 = found[:, -1]
    if classes == 2:
        logit_of_1 = logit_of_1 - found[:, 0]
    logit = -logit_of_1 if positive == 0 else logit_of_1
    probability = 1 / (1 + np.exp(-logit))
    scored = Subject(network(classes), SPACE, positive=positive, output="score")
    scores = scored.decide(POINTS)
    np.testing.assert_allclose(scores, probability, rtol=1e-5)
    threshold = float(np.quantile(scores, 0.4))
    subject = Subject(network(classes), SPACE, positive=positive, threshold=threshold)
    outcomes = subject.decide(POINTS)
    favoured = 1 if positive is None else positive
    reached = scores >= threshold
    assert ((outcomes == favoured) == reached).all()
    assert len(set(outcomes.tolist())) == 2
    margins = Margins.of(View(subject), POINTS)
    assert margins is not None
    labels, above = margins.decide(POINTS)
    assert labels.tolist() == outcomes.tolist()
    assert ((above >= 0) == reached).all()
    _, above_with_gradients, _ = margins.gradients(POINTS)
    assert (above_with_gradients == above).all()


def test_margins_are_logits_and_gradients_are_finite_differences():
    for classes in (1, 2):
        subject = Subject(network(classes).double(), SPACE)
        margins = Margins.of(View(subject), POINTS)
        assert margins is not None
        assert margins.bounded
        assert margins.sloped
        asked = subject.asked
        executed = subject.executed
        labels, above, slopes = margins.gradients(POINTS)
        assert subject.asked - asked == len(POINTS)
        assert subject.executed - executed == len(POINTS)
        assert labels.tolist() == labels_of(above)
        assert labels.tolist() == subject.decide(POINTS).tolist()
        assert slopes.shape == (len(POINTS), 4)
        for position in (0, 2, 3):
            step = np.zeros(POINTS.shape[1])
            step[position] = 1e-4
            _, low = margins.decide(POINTS - step)
            _, high = margins.decide(POINTS + step)
            difference = (high - low) / 2e-4
            np.testing.assert_allclose(
                slopes[:, position], difference, rtol=1e-4, atol=1e-7
            )
    # In steps of the code: the levels 1, 2 and 4 are one, one and a half, and two apart.
    flat = Subject(Flat(), SPACE)
    _, _, slopes = flat.adapter.gradients(POINTS, SPACE)  # type: ignore[attr-defined]
    steps = np.array([1.0, 1.5, 2.0])
    np.testing.assert_allclose(slopes[:, 1], steps[ROOM_CODES])


def test_what_has_no_slope_has_gradients_of_zero():
    for answer in (
        lambda inputs: (inputs[:, 2] > 50).double() - 0.5,
        lambda inputs: torch.round(inputs[:, 2]) - 50,
    ):
        margins = margins_of(Answering(answer))
        assert margins is not None
        labels, _, slopes = margins.gradients(POINTS)
        assert labels.tolist() == labels_of(POINTS[:, 2] - 50)
        assert not slopes.any()
        probe = Probe(margins.view, ("sex",))
        proposal, _ = boundary_points(margins, probe, POINTS)
        assert len(proposal.points) == len(POINTS)


def test_infinite_margins_lead_to_inputs_all_the_same():
    for answer in (
        lambda x: (x[:, 2] - 50.5) * 1e38 * 1e38,
        lambda x: (x[:, 2] - 50.5) / (x[:, 0] - 0.0),
    ):
        margins = margins_of(Answering(answer))
        assert margins is not None
        _, above = margins.decide(POINTS)
        assert np.isinf(above).any()
        probe = Probe(margins.view, ("sex",))
        proposal, _ = boundary_points(margins, probe, POINTS)
        for feature, column in zip(SPACE.features, proposal.points.T, strict=True):
            assert feature.inside(column).all()


def test_the_module_stays_as_it_was():
    module = network()
    module.train()
    module[0].eval()
    weights = {name: value.clone() for name, value in module.state_dict().items()}
    subject = Subject(module, SPACE)
    first = subject.decide(POINTS)
    assert first.tolist() == subject.decide(POINTS).tolist()  # dropout is off
    subject.adapter.gradients(POINTS, SPACE)  # type: ignore[attr-defined]
    training = [part.training for part in module.modules()]
    assert training == [True, False, True, True, True, True]
    for name, value in module.state_dict().items():
        assert torch.equal(value, weights[name])
    for number in module.parameters():
        assert number.grad is None


def test_points_move_to_where_members_of_their_class_differ():
    subject = Subject(network(), SPACE)
    probe = Probe(View(subject), ("sex",))
    margins = Margins.of(probe.view, POINTS)
    assert margins is not None
    blind = probe.ask(POINTS).hits.mean()
    before = subject.asked
    proposal, queries = boundary_points(margins, probe, POINTS)
    assert queries == subject.asked - before == 6 * len(POINTS)
    for feature, column in zip(SPACE.features, proposal.points.T, strict=True):
        assert feature.inside(column).all()
    fixed = [position for position in range(5) if position not in probe.free]
    assert np.array_equal(proposal.points[:, fixed], POINTS[:, fixed])
    followed = probe.ask(proposal.points, proposal.pairs)
    assert followed.hits.mean() > max(0.75, 5 * blind)


def test_measure_asks_a_module_here_and_in_workers():
    tight = Space([category("sex", ["F", "M"]), real("income", 0, 1)], protected=["sex"])
    module = Flat((0.25, 1.0), -0.5)
    estimates = []
    for jobs in (1, 2):
        subject = Subject(module, tight, positive=1)
        result = eh.measure(subject, over=["sex"], seed=1, margin=0.05, n_jobs=jobs)
        (finding,) = result.findings
        estimates.append(finding.estimate)
    here, in_workers = estimates
    assert here == in_workers
    assert here.low <= 0.25 <= here.high
    sent = pickle.dumps(Subject(network(), SPACE).adapter)
    adapter = pickle.loads(sent)
    _, margins = adapter.margins(POINTS, SPACE, "logit")
    expected = logits(network())[:, 0]
    assert margins.tolist() == pytest.approx(expected.tolist(), 1e-5)


def test_an_identity_is_that_of_weights_settings_code_and_question():
    def identity(module: Any, **options: Any) -> str:
        return Subject(module, SPACE, **options).adapter.identity

    assert identity(network()) == identity(network())
    assert identity(Flat()) == identity(Flat())
    other_layers = torch.nn.Sequential(*network()[:2], torch.nn.ReLU(), network()[4])
    modules = [
        network(),
        network(2),
        network().half().float(),
        other_layers,
        Flat(),
        Flat((20.0, 1.0, -1.0, 11.0)),
        Flat(shift=41.0),
    ]
    names = [identity(module) for module in modules]
    at_half = identity(Flat(), threshold=0.5)
    names.append(at_half)
    names.append(identity(Flat(), output="score"))
    names.append(identity(Flat(), identity="loan 2"))
    names.append(identity(Flat(), positive=0, threshold=0.5))
    assert len(set(names)) == len(names)
    assert at_half == identity(Flat(), positive=1, threshold=0.5)


@pytest.mark.parametrize(
    ("module", "options", "kind", "words"),
    [
        (
            lambda: network(inputs=3),
            {},
            UsageError,
            ["first layer of Sequential takes", "3 columns", "passes 4"],
        ),
        (lambda: network(3), {"threshold": 0.5}, UsageError, ["3 classes", "needs two"]),
        (lambda: network(3), {"output": "score"}, UsageError, ["3 classes", "needs two"]),
        (
            network,
            {"output": "sore"},
            UsageError,
            ["output = 'sore'", "did you mean 'score'"],
        ),
        (network, {"threshold": 1.5}, UsageError, ["threshold = 1.5", "between 0 and 1"]),
        (
            network,
            {"positive": 2},
            UsageError,
            ["positive = 2 is not a class of Sequential"],
        ),
        (network, {"outputs": ["grant"]}, UsageError, ["outputs = ['grant']", "function"]),
        (
            lambda: network().append(torch.nn.Sigmoid()),
            {},
            UsageError,
            ["probabilities", "sigmoid"],
        ),
        (
            lambda: network(2).append(torch.nn.Softmax(1)),
            {"output": "score"},
            UsageError,
            ["probabilities", "softmax"],
        ),
        (
            lambda: Answering(lambda x: x / 0.0 * 0.0),
            {},
            BadOutcome,
            ["Answering answered nan to"],
        ),
        (
            lambda: Answering(lambda x: x[:1, 0]),
            {},
            BadOutcome,
            ["shape (1,)", "one logit for each of 64 inputs"],
        ),
        (lambda: Answering(lambda x: x[:, :, None]), {}, BadOutcome, ["shape (64, 4, 1)"]),
        (lambda: Answering(lambda x: x[:, 0] > 0), {}, BadOutcome, ["torch.bool values"]),
        (lambda: Answering(lambda x: [1.0]), {}, BadOutcome, ["returned a list"]),
        (
            lambda: Answering(lambda x: x.no_such_thing),
            {},
            SubjectCrashed,
            ["Answering raised AttributeError on 64"],
        ),
        (lambda: torch.nn.Linear, {}, UsageError, ["Linear is a class"]),
    ],
)
def test_wrong_modules_are_refused_with_a_sentence(module, options, kind, words):
    refused(kind, lambda: Subject(module(), SPACE, **options), *words)


def test_the_largest_probability_of_several_is_a_label_all_the_same():
    subject = Subject(network(3).append(torch.nn.Softmax(1)), SPACE)
    expected = logits(network(3)).argmax(axis=1)
    assert subject.decide(POINTS).tolist() == expected.tolist()


def test_three_classes_and_scores_have_no_label_margins():
    assert margins_of(network(3)) is None
    assert margins_of(network(), output="score") is None
    scored = margins_of(network(), output="score", differs=0.1)
    assert scored is not None
    assert not scored.bounded
    assert not scored.sloped


def test_other_subjects_do_not_import_torch():
    code = (
        "import sys, evenhand as eh; space = eh.Space([eh.integer('age', 0, 9)]);eh.Subject(lambda"
        " people: people['age'] > 3, space).decide([{'age': 2}]); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class Narrow(torch.nn.Module):
    """A linear score of many features of which sex weighs least.

    Hits are a thin shell at the boundary.
    """

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(12, 1)
        others = np.arange(1, 12) * 0.61 % 1 - 0.5
        with torch.no_grad():
            self.linear.weight[:] = torch.tensor([[0.02, *others.tolist()]])
            self.linear.bias[:] = 60.0  # most inputs are far on one side

    def forward(self, people: torch.Tensor) -> torch.Tensor:
        return self.linear(people)


def test_a_search_follows_the_gradients_of_a_module_to_its_boundary(monkeypatch):
    numbers = [integer(f"x{i}", 0, 100) for i in range(11)]
    wide = Space([category("sex", ["F", "M"]), *numbers], protected=["sex"])
    followed: list[int] = []
    asked = TorchAdapter.gradients

    def counted(self: Any, points: Any, space: Any) -> Any:
        followed.append(len(points))
        return asked(self, points, space)

    monkeypatch.setattr(TorchAdapter, "gradients", counted)
    module = Narrow()
    budget = eh.Budget(queries=3000)
    result = eh.search(module, wide, budget=budget, seed=1)
    assert sum(followed) > 0
    frame = result.to_frame()
    assert len(frame) > 100
    sex = (frame["sex"] == "M").astype(float)
    people = frame[list(wide.names)].assign(sex=sex)
    twins = people.assign(sex=1 - sex)
    assert (accepted(module, people) != accepted(module, twins)).all()
    again = eh.search(module, wide, budget=budget, seed=1)
    assert again.digest == result.digest


def accepted(module: Any, rows: Any) -> Any:
    inputs = torch.tensor(rows.to_numpy(np.float32))
    with torch.no_grad():
        logit = module(inputs)[:, 0]
    return logit.numpy() > 0


LOANS = Space(
    [
        integer("sex", 0, 1),
        integer("age", 18, 80),
        integer("income", 10, 120),
    ],
    protected=["sex"],
)


def loans():
    rng = np.random.default_rng(0)
    people = LOANS.decode(LOANS.draw(1500, rng))
    score = people["income"] + 25 * people["sex"] + rng.normal(0, 15, 1500)
    granted = score > 70
    return people, granted.to_numpy().astype(int)


def fit(rows, labels):
    torch.manual_seed(0)
    inputs = torch.tensor(rows.to_numpy(), dtype=torch.float32)
    truth = torch.tensor(labels, dtype=torch.float32)
    module = torch.nn.Sequential(
        torch.nn.BatchNorm1d(3),
        torch.nn.Linear(3, 8),
        torch.nn.ReLU(),
        torch.nn.Linear(8, 1),
    )
    optimiser = torch.optim.Adam(module.parameters(), 0.03)
    for _ in range(60):
        optimiser.zero_grad()
        logit = module(inputs)[:, 0]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logit, truth)
        loss.backward()
        optimiser.step()
    return module.eval()


@pytest.mark.parametrize("method", ["augment", "evened", "subgroup"])
def test_a_function_that_trains_a_module_is_repaired(method, tmp_path):
    people, granted = loans()
    given = {"space": LOANS, "method": method, "tolerance": 0.1, "progress": False}
    given |= {"add": "twins", "draws": 4000} if method == "augment" else {}
    found = repair(fit, people, granted, **given)
    assert found.changed
    assert found.after.value < 0.5 * found.before.value
    if method != "subgroup":
        assert found.verdict == "pass"
    assert found.digest == repair(fit, people, granted, **given).digest
    kind = Evened if method == "evened" else torch.nn.Sequential
    assert isinstance(found.model, kind)
    words = ["save it as 'net.joblib'"] if method == "evened" else ["torch.save"]
    refused(UsageError, lambda: found.save(tmp_path / "net.skops"), *words)


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_an_evened_module_decides_by_the_mean_chances_over_the_variants(classes):
    even = Evened(network(classes), SPACE, "sex")
    people = SPACE.decode(POINTS)
    logit = logits(network(classes))
    if classes == 1:
        logit = np.column_stack([np.zeros(len(logit)), logit])
    chances = even.predict_proba(people)
    assert chances.shape == logit.shape
    decisions = even.predict(people)
    chances_by_sex = []
    for label in SPACE.feature("sex").levels:
        variants = people.assign(sex=label)
        assert even.predict(variants).tolist() == decisions.tolist()
        chances_by_sex.append(even.predict_proba(variants))
    of_women, of_men = chances_by_sex
    np.testing.assert_array_equal(of_women, of_men)
    assert Subject(even, SPACE).decide(POINTS).tolist() == decisions.tolist()
    original = Subject(network(classes), SPACE)
    women = SPACE.under(POINTS, ("sex",), np.array([[0]]))
    men = SPACE.under(POINTS, ("sex",), np.array([[1]]))
    as_women = original.decide(women)
    as_men = original.decide(men)
    same = as_women == as_men
    assert decisions[same].tolist() == as_women[same].tolist()
