"""Margins: labels and distances from the boundary, where they agree with the model's answers."""

# mypy: disable-error-code="misc"
# Models here inherit from scikit-learn, which has no types.

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from evenhand.methods.search.margins import Margins
from evenhand.methods.search.probe import Probe
from evenhand.methods.search.strategies.start_points import boundary_points
from evenhand.runtime.errors import SubjectCrashed
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.subject.shared_asking import ROWS_AT_ONCE
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.helpers import refused

SPACE = Space(
    [
        category("sex", [0, 1]),
        integer("age", 18, 90),
        real("rate", 0, 1, step=0.05),
        integer("rooms", 0, 9),
    ],
    protected=["sex"],
)
POINTS = SPACE.draw(600, np.random.default_rng(3))
SAMPLE = POINTS[:200]
OTHERS = POINTS[200:]
SEX, AGE, RATE, ROOMS = POINTS.T
YES = AGE + 12 * SEX + 40 * RATE - 3 * ROOMS > 65
LOGISTIC = LogisticRegression(max_iter=5000)
VOTERS = [
    ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
    ("bayes", GaussianNB()),
    ("line", LOGISTIC),
]


def small_network() -> Any:
    network = MLPClassifier((8,), solver="lbfgs", random_state=0)
    return make_pipeline(StandardScaler(), network)


def one_hot(*names: str) -> Any:
    """Return a step that encodes the named columns and passes the others on."""
    encoder = (OneHotEncoder(), list(names))
    return make_column_transformer(encoder, remainder="passthrough")


def wrong_on_the_edge() -> Any:
    """A model whose labels do not follow from its probabilities, as with SVC(probability=True)."""

    class Own(LogisticRegression):
        def predict(self, inputs: Any) -> Any:
            is_positive = self.decision_function(inputs) > 1.5
            return self.classes_[is_positive.astype(int)]

    return Own(max_iter=5000)


def margins_of(
    model: Any,
    labels: Any = YES,
    sample: Any = SAMPLE,
    **options: Any,
) -> tuple[Subject, Margins | None]:
    subject = Subject(model.fit(POINTS, labels), SPACE, **options)
    return subject, Margins.of(View(subject), sample)


@pytest.mark.parametrize(
    ("model", "scorer"),
    [
        (DecisionTreeClassifier(max_depth=4, random_state=0), "predict_proba"),
        (RandomForestClassifier(10, random_state=0), "predict_proba"),
        (small_network(), "predict_proba"),
        (LOGISTIC, "predict_proba"),
        (SVC(), "decision_function"),
        (VotingClassifier(VOTERS, voting="soft"), "predict_proba"),
    ],
)
@pytest.mark.parametrize("labels", [YES, np.where(YES, "approve", "deny")])
def test_labels_are_those_of_the_model_and_margins_tell_their_side(model, scorer, labels):
    subject, margins = margins_of(model, labels)
    assert margins is not None
    assert margins.scorer == scorer
    assert margins.bounded
    assert not margins.sloped
    assert subject.asked == 2 * len(SAMPLE)
    assert subject.executed == subject.asked
    outcomes, above = margins.decide(OTHERS)
    assert subject.asked == 2 * len(SAMPLE) + len(OTHERS)
    assert subject.executed == subject.asked
    own = subject.decide(OTHERS)
    assert outcomes.dtype == own.dtype
    assert outcomes.tolist() == own.tolist()
    assert above.shape == (len(OTHERS),)
    assert (above > 0).any()
    assert (above < 0).any()
    last = np.unique(labels)[-1]
    agrees = (above > 0) == (own == last)
    assert agrees[above != 0].all()


def test_a_margin_is_the_distance_of_the_probability_from_a_half():
    subject, margins = margins_of(LOGISTIC)
    assert margins is not None
    _, above = margins.decide(OTHERS)
    probabilities = subject.adapter.model.predict_proba(OTHERS)  # type: ignore[attr-defined]
    np.testing.assert_allclose(above, probabilities[:, 1] - 0.5, atol=1e-12)


@pytest.mark.parametrize("positive", ["approve", "deny"])
def test_a_threshold_moves_the_boundary_of_the_positive_class(positive):
    labels = np.where(YES, "approve", "deny")
    subject, margins = margins_of(LOGISTIC, labels, positive=positive, threshold=0.8)
    assert margins is not None
    outcomes, above = margins.decide(OTHERS)
    assert outcomes.tolist() == subject.decide(OTHERS).tolist()
    assert (outcomes == positive).tolist() == (above >= 0).tolist()
    column = list(LOGISTIC.classes_).index(positive)
    probabilities = LOGISTIC.predict_proba(OTHERS)[:, column]
    np.testing.assert_allclose(above, probabilities - 0.8)


def test_a_scorer_that_gives_other_labels_is_passed_over_and_its_questions_count():
    class Skewed(LogisticRegression):
        def predict_proba(self, inputs: Any) -> Any:
            shares = super().predict_proba(inputs)
            return shares[:, ::-1]

    subject, margins = margins_of(Skewed(max_iter=5000))
    assert margins is not None
    assert margins.scorer == "decision_function"
    assert subject.asked == 3 * len(SAMPLE)
    assert subject.executed == subject.asked


def test_where_all_scorers_give_other_labels_there_are_no_margins():
    subject, margins = margins_of(wrong_on_the_edge())
    assert margins is None
    assert subject.asked == 3 * len(SAMPLE)
    assert subject.executed == subject.asked


def test_a_scorer_that_crashes_is_passed_over_and_later_crashes_are_reported():
    class Moody(LogisticRegression):
        moody = True

        def predict_proba(self, inputs: Any) -> Any:
            raise RuntimeError("no scores today")

        def decision_function(self, inputs: Any) -> Any:
            if len(inputs) == len(OTHERS) and self.moody:
                raise RuntimeError("not now")
            return super().decision_function(inputs)

    subject, margins = margins_of(Moody(max_iter=5000))
    assert margins is not None
    assert margins.scorer == "decision_function"
    assert subject.asked == 3 * len(SAMPLE)
    assert subject.executed == 2 * len(SAMPLE)
    refused(
        SubjectCrashed,
        lambda: margins.decide(OTHERS),
        "Moody raised RuntimeError on 400 inputs",
        "not now",
    )
    assert subject.asked == 3 * len(SAMPLE) + len(OTHERS)
    assert subject.executed == 2 * len(SAMPLE)


def distance(one: Any, other: Any) -> Any:
    return abs(one - other)


THREE_LABELS = POINTS[:, 3].astype(int) % 3


@pytest.mark.parametrize(
    ("model", "labels", "options"),
    [
        (VotingClassifier(VOTERS), YES, {}),
        (DecisionTreeClassifier(max_depth=4), THREE_LABELS, {}),
        (LinearRegression(), POINTS[:, 1] * 2.5, {}),
        (LOGISTIC, YES, {"memo": True}),
        (LOGISTIC, YES, {"output": "score"}),
        (LOGISTIC, YES, {"output": "score", "differs": distance}),
        (LOGISTIC, YES, {"outputs": ["grant"]}),
    ],
)
def test_without_two_labels_and_their_scores_there_are_no_margins(model, labels, options):
    subject = Subject(model.fit(POINTS, labels), SPACE, **options)
    first_output = next(iter(subject.meanings))
    view = View(subject, first_output)
    assert Margins.of(view, SAMPLE) is None
    assert subject.asked == 0


def test_a_ledger_has_no_margins(tmp_path):
    model = LOGISTIC.fit(POINTS, YES)
    with Subject(model, SPACE, ledger=tmp_path / "ledger") as kept:
        assert Margins.of(View(kept), SAMPLE) is None


def over_30(people: Any) -> Any:
    return people["age"] > 30


@pytest.mark.parametrize(
    "subject",
    [
        Subject(over_30, SPACE),
        Subject(lambda people: over_30(people).astype(int), SPACE, differs=0.5),
    ],
)
def test_a_function_has_no_margins(subject):
    assert Margins.of(View(subject), SAMPLE) is None


def test_without_a_sample_there_are_no_margins():
    _, margins = margins_of(LOGISTIC, sample=SAMPLE[:0])
    assert margins is None


def test_a_memo_that_switched_itself_on_changes_nothing():
    subject = Subject(LOGISTIC.fit(POINTS, YES), SPACE)
    for _ in range(2):
        subject._memo.observe(10.0, 10)
    assert subject.remembers
    assert Margins.of(View(subject), SAMPLE) is not None


@pytest.mark.parametrize("memo", [False, True])
@pytest.mark.parametrize(
    ("model", "labels", "options"),
    [
        (LOGISTIC, YES, {"output": "score"}),
        (LinearRegression(), POINTS[:, 1], {}),
    ],
)
def test_of_numbers_that_differ_by_a_gap_the_margin_is_the_outcome(
    memo, model, labels, options
):
    subject, margins = margins_of(model, labels, differs=0.05, memo=memo, **options)
    assert margins is not None
    assert not margins.bounded
    assert not margins.sloped
    assert subject.asked == len(SAMPLE)
    outcomes, above = margins.decide(OTHERS)
    assert outcomes.tolist() == above.tolist()
    assert outcomes.tolist() == subject.decide(OTHERS).tolist()
    probe = Probe(View(subject), ("sex",))
    _, asked = boundary_points(margins, probe, OTHERS)
    assert asked == 0


def test_many_points_are_asked_in_batches_and_none_at_all():
    subject, margins = margins_of(DecisionTreeClassifier(max_depth=3, random_state=0))
    assert margins is not None
    repeated = np.resize(POINTS, (ROWS_AT_ONCE + 5, POINTS.shape[1]))
    many = np.asfortranarray(repeated)
    before = subject.executed
    outcomes, above = margins.decide(many)
    assert len(outcomes) == len(many)
    assert len(above) == len(many)
    assert subject.executed - before == len(many)
    last_outcomes, _ = margins.decide(many[-5:])
    assert outcomes[-5:].tolist() == last_outcomes.tolist()
    no_outcomes, no_margins = margins.decide(many[:0])
    assert len(no_outcomes) == 0
    assert len(no_margins) == 0


def test_a_pipeline_on_a_frame_with_texts():
    features = [category("sex", ["F", "M"]), integer("age", 18, 90)]
    space = Space(features, protected=["sex"])
    points = space.draw(300, np.random.default_rng(0))
    frame = pd.DataFrame(space.labels(points))
    sex, age = points.T
    model = make_pipeline(one_hot("sex"), LogisticRegression(max_iter=5000))
    model.fit(frame, age + 10 * sex > 55)
    subject = Subject(model, space)
    margins = Margins.of(View(subject), points[:100])
    assert margins is not None
    outcomes, _ = margins.decide(points)
    assert outcomes.tolist() == model.predict(frame).tolist()


def smooth() -> tuple[Subject, Margins, Probe]:
    subject, margins = margins_of(small_network())
    assert margins is not None
    probe = Probe(View(subject), ("sex",))
    return subject, margins, probe


def test_points_all_on_one_side_have_nowhere_to_go():
    _, margins, probe = smooth()
    is_far = np.ones(len(OTHERS), dtype=bool)
    for side in (0, 1):
        members = probe.member(OTHERS, np.full(len(OTHERS), side))
        _, above = margins.decide(members)
        is_far &= above > 0
    far = OTHERS[is_far]
    proposal, queries = boundary_points(margins, probe, far)
    assert len(far) > 50
    assert len(proposal.points) == 0
    assert queries == 2 * len(far)


def test_points_between_two_sides_are_near_the_boundary():
    subject, margins, probe = smooth()
    blind = probe.ask(OTHERS).hits.mean()
    before = subject.asked
    proposal, queries = boundary_points(margins, probe, OTHERS)
    assert queries == subject.asked - before
    points = proposal.points
    assert queries == 2 * len(OTHERS) + 3 * 2 * len(points)
    assert proposal.pairs is not None
    assert proposal.pairs.tolist() == [[0, 1]] * len(points)
    for feature, column in zip(SPACE.features, proposal.points.T, strict=True):
        assert feature.inside(column).all()
    hits = probe.ask(proposal.points, proposal.pairs).hits
    assert hits.mean() > max(0.5, 2 * blind)


def test_pairs_of_assignments_stay_with_their_points():
    features = [category("race", ["a", "b", "c", "d"]), real("income", 0, 1)]
    space = Space(features, protected=["race"])
    points = space.draw(200, np.random.default_rng(1))
    frame = pd.DataFrame(space.labels(points))
    race, income = points.T
    labels = income + 0.1 * race > 0.6
    model = make_pipeline(one_hot("race"), LogisticRegression(C=1000, max_iter=5000))
    model.fit(frame, labels)
    view = View(Subject(model, space))
    margins = Margins.of(view, points)
    probe = Probe(view, ("race",))
    assert margins is not None
    some_other = np.arange(200) % 3
    last = np.full(200, 3)
    pairs = np.stack([some_other, last], axis=1)
    proposal, _ = boundary_points(margins, probe, points, pairs)
    assert proposal.pairs is not None
    assert len(proposal.pairs) == len(proposal.points)
    assert len(proposal.points) > 50
    tried = probe.ask(proposal.points, proposal.pairs)
    assert tried.hits.mean() > 0.8
