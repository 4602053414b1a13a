"""Fairlearn's methods: effects on planted bias, any frame and label, seeds and refusals."""

from __future__ import annotations

import copy
import pickle
import sys
import warnings
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from evenhand.mitigation.fairlearn_adversarial import AdversarialClassifier
from evenhand.mitigation.fairlearn_reductions import ExponentiatedGradient, GridSearch
from evenhand.mitigation.fairlearn_thresholds import CorrelationRemover, ThresholdOptimiser
from evenhand.runtime.errors import DataError, MissingExtra, UsageError
from tests.support.helpers import refused

pytest.importorskip("fairlearn", reason="needs fairlearn, of the extra of that name")

CLASSES = (ThresholdOptimiser, ExponentiatedGradient, GridSearch, CorrelationRemover)
GROUPS = {"f": 0.0, "m": 1.5, "x": -1.0}
"""What belonging to a group adds to a person's chances."""


def planted(n: int, groups: str = "fm", seed: int = 0) -> tuple[Any, Any]:
    """Return people and labels that depend on age, job and, as they should not, on the group."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": draw.choice(list(groups), n),
            "job": draw.choice(["clerk", "cook", "smith"], n),
            "age": draw.integers(20, 60, n),
        }
    )
    favour = frame["sex"].map(GROUPS).to_numpy(dtype=float)
    merit = (
        (frame["age"].to_numpy() - 40) / 10
        + (frame["job"] == "smith")
        + favour
        + draw.logistic(0, 0.5, n)
    )
    return frame, np.where(merit > 0.7, "yes", "no")


def pipeline(*, aware: bool = True, last: Any = None) -> Any:
    worded = ["sex", "job"] if aware else ["job"]
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), worded), (StandardScaler(), ["age"])
    )
    return make_pipeline(columns, last or LogisticRegression(solver="newton-cholesky"))


def numbers(frame: Any) -> Any:
    """Return the same people for a model that takes no words, and trains in no time."""
    sex = (frame["sex"] == "m").astype(int)
    smith = (frame["job"] == "smith").astype(int)
    age = (frame["age"] - 40) / 10
    return pd.DataFrame({"sex": sex, "smith": smith, "age": age})


def made(kind: Any, **settings: Any) -> Any:
    """Return a method that is quick to train."""
    given: dict[str, Any] = {"over": "sex", "positive": "yes"} | settings
    if kind.code == "ADF":
        return kind(**{"epochs": 3, "hidden": (8,), **given})
    if kind is ExponentiatedGradient:
        given = {"max_iter": 3} | given
    return kind(
        given.pop("estimator", LogisticRegression(solver="newton-cholesky")), **given
    )


def numpy_state() -> Any:
    return np.random.get_state(legacy=False)["state"]["key"].tolist()


def gap(answers: Any, frame: Any, truth: Any = None) -> float:
    """Return by how much the groups' shares of "yes" differ, among some rows if they are given."""
    rows = np.ones(len(answers), dtype=bool) if truth is None else truth
    rates = []
    for sex in sorted(set(frame["sex"])):
        of_group = answers[rows & (frame["sex"] == sex)]
        rates.append(np.mean(of_group == "yes"))
    return float(max(rates) - min(rates))


WORDED, LABELS = planted(600)
UNSEEN, TRUTH = planted(2000, seed=1)
PEOPLE, OTHERS = numbers(WORDED), numbers(UNSEEN)
PLAIN = made(ThresholdOptimiser).estimator.fit(PEOPLE, LABELS).predict(OTHERS)


@cache
def trained(kind: Any) -> Any:
    return made(kind, aware=True).fit(PEOPLE, LABELS)


@cache
def expected(kind: Any) -> Any:
    return trained(kind).predict(OTHERS)


@pytest.mark.parametrize("kind", CLASSES)
def test_bias_goes_down_on_rows_it_has_not_seen(kind):
    settings = {"max_iter": 6} if kind is ExponentiatedGradient else {}
    answers = (
        made(kind, estimator=pipeline(), **settings).fit(WORDED, LABELS).predict(UNSEEN)
    )
    assert gap(PLAIN, OTHERS) > 0.3
    assert gap(answers, OTHERS) < gap(PLAIN, OTHERS) / 2
    assert np.mean(answers == TRUTH) > 0.7


@pytest.mark.parametrize("kind", CLASSES)
def test_more_than_two_groups(kind):
    people, labels = planted(900, "fmx")
    others, _ = planted(2000, "fmx", seed=1)
    before = gap(pipeline().fit(people, labels).predict(others), others)
    settings = {
        GridSearch: {"grid_size": 25, "grid_limit": 0.6, "constraint_weight": 0.9}
    }.get(kind, {})
    after = gap(
        made(kind, estimator=pipeline(), **settings).fit(people, labels).predict(others),
        others,
    )
    assert before > 0.4
    assert after < 0.75 * before


@pytest.mark.parametrize(
    ("kind", "constraint"),
    [
        *((ThresholdOptimiser, constraint) for constraint in ("eod", "fpr", "odds")),
        *((GridSearch, constraint) for constraint in ("eod", "fpr")),
        (ExponentiatedGradient, "odds"),
    ],
)
def test_each_constraint_makes_alike_what_it_names(kind, constraint):
    labels = {"eod": ["yes"], "fpr": ["no"], "odds": ["yes", "no"]}[constraint]
    settings = {}
    if kind is GridSearch:
        settings = {"grid_size": 20, "constraint_weight": 0.8}
    method = made(kind, constraint=constraint, **settings)
    answers = method.fit(PEOPLE, LABELS).predict(OTHERS)
    before = max(gap(PLAIN, OTHERS, truth=label == TRUTH) for label in labels)
    after = max(gap(answers, OTHERS, truth=label == TRUTH) for label in labels)
    assert after < 0.75 * before


@pytest.mark.parametrize("kind", CLASSES)
def test_the_same_seed_gives_the_same_answers_and_no_generator_is_touched(kind):
    np.random.seed(5)
    before = numpy_state()
    method = made(kind).fit(PEOPLE, LABELS)
    assert (method.predict(OTHERS) == expected(kind)).all()
    assert (method.predict(OTHERS) == expected(kind)).all()
    assert numpy_state() == before
    drawn = kind in (ThresholdOptimiser, ExponentiatedGradient)
    assert (
        method.set_params(random_state=1).predict(OTHERS) != expected(kind)
    ).any() == drawn


@pytest.mark.parametrize(
    "kind",
    [
        ThresholdOptimiser,
        *(
            pytest.param(kind, marks=pytest.mark.slow)
            for kind in (ExponentiatedGradient, GridSearch)
        ),
        CorrelationRemover,
    ],
)
def test_any_frame(kind):
    polars = pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    settings: dict[str, Any] = {"estimator": pipeline()}
    if kind is ExponentiatedGradient:
        settings["max_iter"] = 2
    of_pandas = made(kind, **settings).fit(WORDED, LABELS).predict(UNSEEN)
    for engine in (polars.from_pandas, arrow.Table.from_pandas):
        method = made(kind, **settings)
        answers = method.fit(engine(WORDED), LABELS).predict(engine(UNSEEN))
        assert np.mean(answers == of_pandas) > 0.97
        assert answers.dtype == LABELS.dtype


@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        *((kind, (2, 1)) for kind in CLASSES),
        (ThresholdOptimiser, (False, True)),
        (CorrelationRemover, (False, True)),
    ],
)
def test_any_labels(kind, labels):
    _, positive = labels
    given = np.where(LABELS == "yes", positive, labels[0])
    answers = made(kind, positive=positive).fit(PEOPLE, given).predict(OTHERS)
    assert answers.dtype == given.dtype
    # Training on labels in another order ends at weights that differ by rounding.
    favoured = answers == positive
    expected_favoured = expected(kind) == "yes"
    assert np.mean(favoured == expected_favoured) > 0.97


@pytest.mark.parametrize("kind", CLASSES)
def test_a_method_is_cloned_copied_and_pickled(kind):
    method = made(kind, aware=True)
    twin = clone(method)
    assert twin is not method
    assert repr(twin.get_params()) == repr(method.get_params())
    assert not hasattr(twin, "roles_")
    fitted = trained(kind)
    assert (copy.deepcopy(fitted).predict(OTHERS) == expected(kind)).all()
    assert (pickle.loads(pickle.dumps(fitted)).predict(OTHERS) == expected(kind)).all()


class Spy(LogisticRegression):  # type: ignore[misc]
    seen: set[str] = set()  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):  # noqa: N803
        Spy.seen |= set(X.columns)
        return super().fit(X[["age"]], y, sample_weight)

    def predict(self, X):  # noqa: N803
        Spy.seen |= set(X.columns)
        return super().predict(X[["age"]])

    def predict_proba(self, X):  # noqa: N803
        Spy.seen |= set(X.columns)
        return super().predict_proba(X[["age"]])


@pytest.mark.parametrize("kind", [ThresholdOptimiser, ExponentiatedGradient, GridSearch])
@pytest.mark.parametrize("aware", [True, False])
def test_an_unaware_model_sees_no_protected_column(kind, aware):
    Spy.seen = set()
    settings = {"max_iter": 2} if kind is ExponentiatedGradient else {}
    method = made(kind, estimator=Spy(), aware=aware, **settings)
    method.fit(PEOPLE[:150], LABELS[:150])
    method.predict(OTHERS[:50])
    expected_columns = {"smith", "age"}
    if aware:
        expected_columns.add("sex")
    assert Spy.seen == expected_columns


@pytest.mark.parametrize("kind", CLASSES)
def test_unaware_pipelines_that_do_not_name_the_protected_column(kind):
    method = made(kind, estimator=pipeline(aware=False), aware=False)
    answers = method.fit(WORDED, LABELS).predict(UNSEEN)
    assert set(answers) == {"yes", "no"}


def test_thresholds_are_those_of_fairlearn():
    from fairlearn.postprocessing import ThresholdOptimizer

    theirs = ThresholdOptimizer(estimator=pipeline(), predict_method="predict_proba")
    theirs.fit(WORDED, (LABELS == "yes").astype(int), sensitive_features=PEOPLE["sex"])
    answers = theirs.predict(UNSEEN, sensitive_features=OTHERS["sex"], random_state=7)
    ours = (
        made(ThresholdOptimiser, estimator=pipeline(), random_state=7)
        .fit(WORDED, LABELS)
        .predict(UNSEEN)
    )
    assert ((ours == "yes") == answers).all()


def test_reductions_are_those_of_fairlearn():
    from fairlearn import reductions

    name = {"sample_weight_name": "logisticregression__sample_weight"}
    mixture = reductions.ExponentiatedGradient(
        pipeline(),
        reductions.DemographicParity(difference_bound=0.05),
        eps=0.05,
        max_iter=3,
        **name,
    )
    grid = reductions.GridSearch(
        pipeline(), reductions.EqualizedOdds(), grid_size=8, **name
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for theirs in (mixture, grid):
            theirs.fit(
                WORDED, (LABELS == "yes").astype(int), sensitive_features=PEOPLE["sex"]
            )
    method = made(
        ExponentiatedGradient, estimator=pipeline(), eps=0.05, max_iter=3, random_state=7
    )
    assert (
        (method.fit(WORDED, LABELS).predict(UNSEEN) == "yes")
        == mixture.predict(UNSEEN, random_state=7)
    ).all()
    method = made(GridSearch, estimator=pipeline(), constraint="odds", grid_size=8)
    assert (
        (method.fit(WORDED, LABELS).predict(UNSEEN) == "yes") == grid.predict(UNSEEN)
    ).all()


def test_constant_models_of_fairlearn_take_the_weights_meant_for_a_pipeline():
    # Weighed a little towards parity all rows get the label 1, and Fairlearn makes a constant model
    # of them.
    frame = pd.DataFrame({"sex": [0] * 10 + [1] * 30, "age": [*range(10), *range(30)]})
    method = made(
        GridSearch,
        estimator=make_pipeline(LogisticRegression()),
        positive=1,
        grid_limit=1.0,
    )
    assert method.fit(frame, [0] + [1] * 39).predict(frame).mean() > 0.8


def test_eps_is_a_trade_off():
    gaps = [
        gap(
            made(ExponentiatedGradient, eps=eps).fit(PEOPLE, LABELS).predict(OTHERS), OTHERS
        )
        for eps in (0.005, 0.3)
    ]
    assert gaps[0] < gaps[1] / 2


def test_constraint_weight_is_a_trade_off():
    gaps = [
        gap(
            made(GridSearch, constraint_weight=weight).fit(PEOPLE, LABELS).predict(OTHERS),
            OTHERS,
        )
        for weight in (1.0, 0.0)
    ]
    assert gaps[0] < gaps[1] / 2


def test_alpha_of_the_correlation_remover_is_a_trade_off():
    frame, labels = planted(2000, seed=3)
    frame["height"] = (
        165 + 10 * (frame["sex"] == "m") + np.random.default_rng(0).normal(0, 5, len(frame))
    )
    rest = ["job", "height", "age"]
    plain = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(sparse_output=False), ["job"]),
            (StandardScaler(), ["height", "age"]),
        ),
        LogisticRegression(),
    )
    answers = {
        alpha: (
            CorrelationRemover(plain, over="sex", positive="yes", aware=False, alpha=alpha)
            .fit(frame, labels)
            .predict(frame)
        )
        for alpha in (0.0, 0.5, 1.0)
    }
    gaps = [gap(answer, frame) for answer in answers.values()]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[2] < 0.1 < gaps[0]
    assert (
        answers[0.0] == plain.fit(frame[rest], labels).predict(frame[rest])
    ).mean() > 0.999


def test_what_is_left_is_uncorrelated_and_holds_no_trace_of_the_group():
    # The pipeline makes columns of sex itself; were their rounding errors left, the tree would
    # split on them.
    frame, labels = planted(1000, "fmx")
    tree = pipeline(last=DecisionTreeClassifier(random_state=0))
    method = made(CorrelationRemover, estimator=tree).fit(frame, labels)
    rest = method._remover.transform(
        method._columns(method.roles_.codes(frame), method._numbers(frame))
    )
    assert rest.shape[1] == 4
    for sex in GROUPS:
        side = (frame["sex"] == sex).to_numpy(dtype=float)
        assert np.abs(np.corrcoef(rest.T, side)[-1, :-1]).max() < 1e-9


@pytest.mark.parametrize("estimator", [GaussianNB(), make_pipeline(GaussianNB())])
def test_the_correlation_remover_encodes_by_itself_for_a_bare_estimator(estimator):
    answers = (
        made(CorrelationRemover, estimator=estimator).fit(WORDED, LABELS).predict(UNSEEN)
    )
    assert gap(answers, OTHERS) < gap(PLAIN, OTHERS) / 2
    assert np.mean(answers == TRUTH) > 0.7


def test_the_correlation_remover_takes_sparse_columns():
    sparse = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), ["sex", "job", "age"]), sparse_threshold=1.0
        ),
        LogisticRegression(),
    )
    assert set(
        made(CorrelationRemover, estimator=sparse).fit(WORDED, LABELS).predict(UNSEEN)
    ) == {
        "yes",
        "no",
    }


def test_a_fitted_model_is_shared_and_not_trained_again():
    shared = made(ThresholdOptimiser).estimator.fit(PEOPLE, LABELS)
    weights = shared.coef_.copy()
    method = made(ThresholdOptimiser, estimator=shared, prefit=True)
    answers = clone(method).fit(PEOPLE, LABELS).predict(OTHERS)
    assert method.estimator is shared
    assert (shared.coef_ == weights).all()
    assert (answers == expected(ThresholdOptimiser)).all()


def test_thresholds_for_a_model_that_has_margins_only():
    answers = (
        made(ThresholdOptimiser, estimator=LinearSVC()).fit(PEOPLE, LABELS).predict(OTHERS)
    )
    assert gap(answers, OTHERS) < gap(PLAIN, OTHERS) / 2


def test_several_protected_columns_are_one_group_each_combination():
    method = made(ThresholdOptimiser, over=["sex", "smith"]).fit(PEOPLE, LABELS)
    assert len(method.roles_.groups) == 4
    favoured = method.predict(OTHERS) == "yes"
    rates = []
    for sex in (0, 1):
        for smith in (0, 1):
            in_group = (OTHERS["sex"] == sex) & (OTHERS["smith"] == smith)
            rates.append(favoured[in_group].mean())
    assert max(rates) - min(rates) < 0.15


@pytest.mark.parametrize("kind", CLASSES)
def test_bad_use_is_refused_in_a_sentence(kind):
    name = kind.__name__
    refused(
        UsageError,
        lambda: made(kind, estimator=None).fit(PEOPLE, LABELS),
        name,
        "estimator",
    )
    refused(UsageError, lambda: made(kind, over=None).fit(PEOPLE, LABELS), name, "over")
    # These must know the group to decide.
    if kind in (ThresholdOptimiser, CorrelationRemover):
        fitted = made(kind).fit(PEOPLE, LABELS)
        refused(DataError, lambda: fitted.predict(OTHERS.assign(sex=7)), "sex 7")
    refused(UsageError, lambda: made(kind).predict(OTHERS), "not fitted")


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        (ThresholdOptimiser, {"constraint": "spdd"}, ("'spdd'", "did you mean 'spd'")),
        (ThresholdOptimiser, {"prefit": True}, ("prefit", "fitted")),
        (ThresholdOptimiser, {"random_state": "a"}, ("random_state", "'a'")),
        (ExponentiatedGradient, {"constraint": "aod"}, ("'aod'", "ExponentiatedGradient")),
        (ExponentiatedGradient, {"eps": 0}, ("eps = 0", "over 0")),
        (ExponentiatedGradient, {"eps": True}, ("eps = True",)),
        (
            ExponentiatedGradient,
            {"max_iter": 2.5},
            ("max_iter = 2.5", "whole number of 1 or more"),
        ),
        (ExponentiatedGradient, {"random_state": -1}, ("random_state = -1",)),
        (
            ExponentiatedGradient,
            {"estimator": make_pipeline(KNeighborsClassifier())},
            ("sample_weight",),
        ),
        (GridSearch, {"constraint": None}, ("unknown constraint None",)),
        (GridSearch, {"grid_size": 1}, ("grid_size = 1", "2 or more")),
        (
            GridSearch,
            {"constraint_weight": 1.5},
            ("constraint_weight = 1.5", "from 0 to 1"),
        ),
        (GridSearch, {"estimator": KNeighborsClassifier()}, ("sample_weight",)),
        (CorrelationRemover, {"alpha": -0.1}, ("alpha = -0.1", "from 0 to 1")),
        (CorrelationRemover, {"alpha": float("nan")}, ("alpha = nan",)),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(kind, settings, words):
    refused(UsageError, lambda: made(kind, **settings).fit(PEOPLE, LABELS), *words)


def test_a_group_without_the_labels_to_compare_is_refused():
    labels = np.where(PEOPLE["sex"] == 0, "no", LABELS)
    for kind in (ExponentiatedGradient, GridSearch):
        for constraint in ("eod", "odds"):
            fit = partial(made(kind, constraint=constraint).fit, PEOPLE, labels)
            refused(DataError, fit, "sex 0", "'yes'")
    made(GridSearch, constraint="fpr").fit(PEOPLE, labels)
    refused(
        DataError, lambda: made(ThresholdOptimiser).fit(PEOPLE, labels), "sex 0", "'yes'"
    )


def test_columns_that_the_group_decides_are_not_enough():
    frame = WORDED[["sex"]].assign(title=WORDED["sex"].map({"f": "Ms", "m": "Mr"}))
    method = CorrelationRemover(LogisticRegression(), over="sex", positive="yes")
    refused(DataError, lambda: method.fit(frame, LABELS), "sex decides every column")


@pytest.mark.parametrize("kind", [*CLASSES, AdversarialClassifier])
def test_without_fairlearn_the_extra_is_named(kind, monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "fairlearn"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "fairlearn", None)
    message = refused(
        MissingExtra, lambda: made(kind).fit(PEOPLE, LABELS), kind.__name__, "pip install"
    )
    assert f"evenhand[{kind.extra}]" in message


@pytest.mark.parametrize("kind", CLASSES)
def test_kinds_and_knobs(kind):
    assert (kind.knob is None) or kind.knob in kind().get_params()
    assert set(kind.off) <= set(kind().get_params())


class TestAdversarial:
    """The network of torch."""

    pytestmark = pytest.mark.heavy

    @pytest.fixture(autouse=True)
    def _torch(self):
        pytest.importorskip("torch", reason="needs torch, of the extra of that name")

    def test_bias_goes_down_and_alpha_is_a_trade_off(self):
        people, labels = planted(1500)
        found = [
            made(AdversarialClassifier, alpha=alpha, epochs=20)
            .fit(people, labels)
            .predict(UNSEEN)
            for alpha in (0.0, 1.0)
        ]
        gaps = [gap(answers, UNSEEN) for answers in found]
        assert abs(gaps[0] - gap(PLAIN, OTHERS)) < 0.1
        assert gaps[1] < gaps[0] / 2
        assert np.mean(found[1] == TRUTH) > 0.7

    def test_without_weight_the_adversary_has_no_say(self):
        """Fairlearn takes its direction out of the gradient even with alpha 0."""
        shuffled = WORDED.assign(sex=np.random.default_rng(1).permutation(WORDED["sex"]))
        answers = [
            made(AdversarialClassifier, alpha=0.0, aware=False)
            .fit(frame, LABELS)
            .predict(UNSEEN)
            .tolist()
            for frame in (WORDED, shuffled)
        ]
        assert answers[0] == answers[1]
        against = (
            made(AdversarialClassifier, alpha=1.0, aware=False)
            .fit(WORDED, LABELS)
            .predict(UNSEEN)
            .tolist()
        )
        assert against != answers[0]

    def test_the_seed_decides_and_the_users_generators_are_untouched(self):
        import torch

        np.random.seed(5)
        torch.manual_seed(5)
        threads = torch.get_num_threads()
        before = numpy_state(), torch.get_rng_state().tolist()
        chances = [
            made(AdversarialClassifier, random_state=seed)
            .fit(WORDED, LABELS)
            ._network._raw_predict(np.eye(6))
            .tolist()
            for seed in (3, 3, 4)
        ]
        assert chances[0] == chances[1] != chances[2]
        assert (numpy_state(), torch.get_rng_state().tolist()) == before
        assert torch.get_num_threads() == threads

    @pytest.mark.parametrize("constraint", ["spd", "odds"])
    def test_more_than_two_groups(self, constraint):
        people, labels = planted(900, "fmx")
        answers = (
            made(AdversarialClassifier, constraint=constraint)
            .fit(people, labels)
            .predict(people)
        )
        assert set(answers) == {"yes", "no"}

    def test_a_network_that_stops_learning_is_not_spoilt(self):
        """With large steps units die, and Fairlearn divides 0 by 0 in single precision."""
        answers = made(AdversarialClassifier, learning_rate=0.3, alpha=5.0, epochs=20).fit(
            WORDED, LABELS
        )
        assert set(answers.predict(UNSEEN)) <= {"yes", "no"}

    def test_any_frame_any_labels_and_copies(self):
        polars = pytest.importorskip("polars")
        method = made(AdversarialClassifier, positive=1)
        fitted = clone(method).fit(
            polars.from_pandas(WORDED), (LABELS == "yes").astype(int)
        )
        answers = fitted.predict(polars.from_pandas(UNSEEN))
        same = made(AdversarialClassifier).fit(WORDED, LABELS).predict(UNSEEN)
        assert ((answers == 1) == (same == "yes")).all()
        assert answers.dtype == int
        assert (pickle.loads(pickle.dumps(fitted)).predict(UNSEEN) == answers).all()

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"constraint": "eod"}, ("'eod'", "'odds'")),
            ({"alpha": -1}, ("alpha = -1",)),
            ({"epochs": 0}, ("epochs = 0",)),
            ({"batch_size": 1.5}, ("batch_size = 1.5",)),
            ({"learning_rate": 0.0}, ("learning_rate = 0.0",)),
            ({"hidden": 50}, ("hidden = 50", "(50,)")),
            ({"hidden": (50, "a")}, ("hidden = 'a'",)),
            ({"random_state": 1.5}, ("random_state = 1.5",)),
        ],
    )
    def test_bad_settings_are_refused_in_a_sentence(self, settings, words):
        refused(
            UsageError,
            lambda: made(AdversarialClassifier, **settings).fit(WORDED, LABELS),
            *words,
        )

    def test_missing_values_and_unknown_groups_are_refused(self):
        gaps = WORDED.assign(age=WORDED["age"].where(WORDED["age"] > 21))
        refused(
            DataError,
            lambda: made(AdversarialClassifier).fit(gaps, LABELS),
            "'age'",
            "missing",
        )
        fitted = made(AdversarialClassifier).fit(WORDED, LABELS)
        refused(DataError, lambda: fitted.predict(UNSEEN.assign(sex="x")), "'x'")

    def test_without_torch_the_extra_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "torch", None)
        message = refused(
            MissingExtra, lambda: made(AdversarialClassifier).fit(WORDED, LABELS)
        )
        assert "evenhand[fairlearn,torch]" in message
