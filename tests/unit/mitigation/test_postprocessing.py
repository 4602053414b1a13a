"""Reweighing and the methods that change a model's answers, and AIF360 beside them."""

from __future__ import annotations

import pickle
import sys
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from evenhand.mitigation.aif360_compat import PRIVILEGED, UNPRIVILEGED, aif360, dataset
from evenhand.mitigation.postprocessing import CalibratedOdds, EqualisedOdds, RejectOption
from evenhand.mitigation.preprocessing import Reweighing
from evenhand.runtime.errors import DataError, MissingExtra, UsageError
from tests.support.helpers import examples, refused

NAMES = {
    "spd": "Statistical parity difference",
    "aod": "Average odds difference",
    "eod": "Equal opportunity difference",
}
LIGHT = [
    pytest.param(Reweighing, {}, id="RW"),
    *(
        pytest.param(RejectOption, {"metric": metric}, id=f"ROC-{metric}")
        for metric in NAMES
    ),
]
LIBRARY = [
    *(
        pytest.param(
            CalibratedOdds, {"cost": cost}, id=f"CO-{cost}", marks=pytest.mark.heavy
        )
        for cost in ("fnr", "fpr")
    ),
    pytest.param(
        CalibratedOdds, {"cost": "weighted"}, id="CO-weighted", marks=pytest.mark.heavy
    ),
    pytest.param(EqualisedOdds, {}, id="EO", marks=pytest.mark.heavy),
]
METHODS = LIGHT + LIBRARY
MODEL = make_pipeline(
    make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["sex", "job"]), remainder="passthrough"
    ),
    StandardScaler(with_mean=False),
    LogisticRegression(),
)


class ChanceColumn:
    """A fitted classifier that answers with the chances that it finds in a column."""

    classes_ = np.array(["no", "yes"])

    def predict_proba(self, rows):
        chances = np.asarray(rows["chance"])
        return np.column_stack([1 - chances, chances])

    def predict(self, rows):
        return self.classes_[(np.asarray(rows["chance"]) > 0.5).astype(int)]


@cache
def people(rows: int = 3000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return people of whom men are hired more often: by job, points and for no reason at all."""
    rng = np.random.default_rng(seed)
    man = rng.random(rows) < 0.6
    in_crafts = rng.random(rows) < 0.3 + 0.4 * man
    frame = pd.DataFrame(
        {
            "sex": np.where(man, "m", "f"),
            "job": np.where(in_crafts, "crafts", "care"),
            "points": rng.normal(0.5 * man, 1),
        }
    )
    margin = 1.2 * frame.points + 1.5 * man + 0.5 * (frame.job == "crafts") - 1
    chance = 1 / (1 + np.exp(-margin))
    hired = rng.random(rows) < chance
    return frame, np.where(hired, "yes", "no")


def people_with_chances(
    seed: int, rows: int, decimals: int
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return people with the chances that a model gives them; few decimals make many ties."""
    rng = np.random.default_rng(seed)
    man = rng.random(rows) < 0.6
    hired = rng.random(rows) < 0.3 + 0.2 * man
    chance = 0.35 * hired + 0.5 * rng.random(rows) + 0.1 * man
    rounded = np.round(np.clip(chance, 0, 1), decimals)
    frame = pd.DataFrame({"sex": np.where(man, "m", "f"), "chance": rounded})
    return frame, np.where(hired, "yes", "no")


def calibrated(rows: int = 4000) -> tuple[pd.DataFrame, np.ndarray]:
    """Return people with their true chances, of which those of women say more."""
    rng = np.random.default_rng(0)
    man = rng.random(rows) < 0.6
    chances_of_men = rng.beta(2.2, 2, rows)
    chances_of_women = rng.beta(0.7, 0.7, rows)
    chance = np.where(man, chances_of_men, chances_of_women)
    labels = np.where(rng.random(rows) < chance, "yes", "no")
    frame = pd.DataFrame({"sex": np.where(man, "m", "f"), "chance": chance})
    return frame, labels


def needs_library(method) -> None:
    if method.extra:
        pytest.importorskip("aif360", reason="needs AIF360")


def fitted(method, options, **more):
    needs_library(method)
    frame, labels = people()
    parameters = {"over": "sex", "positive": "yes"} | options | more
    return method(MODEL, **parameters).fit(frame, labels)


def bias(frame, labels, answers) -> dict[str, float]:
    """Return how far apart both sexes are, by metric."""
    man = np.asarray(frame["sex"]) == "m"
    true = np.asarray(labels) == "yes"
    yes = np.asarray(answers) == "yes"

    def apart(where):
        rate_of_women = yes[~man & where].mean()
        rate_of_men = yes[man & where].mean()
        return float(rate_of_women - rate_of_men)

    everyone = np.ones(len(yes), dtype=bool)
    eod = apart(true)
    false_positives = apart(~true)
    return {
        "spd": abs(apart(everyone)),
        "eod": abs(eod),
        "aod": abs(eod + false_positives) / 2,
        "odds": abs(eod) + abs(false_positives),
    }


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_a_method_is_a_classifier_of_frames_and_texts(method, options):
    frame, labels = people()
    made = fitted(method, options)
    answers = made.predict(frame)
    assert answers.shape == labels.shape
    assert answers.dtype == labels.dtype
    assert set(answers) == {"no", "yes"}
    assert made.classes_.tolist() == ["no", "yes"]
    assert made.score(frame, labels) > 0.6
    copy = pickle.loads(pickle.dumps(made))
    assert copy.predict(frame).tolist() == answers.tolist()


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_the_same_seed_gives_the_same_answers_and_leaves_numpys_generator_alone(
    method, options
):
    frame, _ = people()
    np.random.seed(4)
    expected = np.random.random()
    np.random.seed(4)
    first = fitted(method, options, random_state=1)
    second = fitted(method, options, random_state=1)
    answers = first.predict(frame).tolist()
    assert second.predict(frame).tolist() == answers
    assert first.predict(frame).tolist() == answers
    assert np.random.random() == expected


@pytest.mark.parametrize(("method", "options"), LIBRARY)
def test_another_seed_changes_other_answers(method, options):
    needs_library(method)
    frame, labels = calibrated()
    answers = []
    for seed in (1, 2):
        made = method(
            ChanceColumn(),
            over="sex",
            positive="yes",
            prefit=True,
            random_state=seed,
            **options,
        )
        answers.append(made.fit(frame, labels).predict(frame))
    differ = answers[0] != answers[1]
    assert 0 < differ.mean() < 0.4


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_a_clone_has_the_same_parameters_and_is_not_fitted(method, options):
    frame, _ = people()
    made = fitted(method, options)
    copy = clone(made)
    parameters = {name: repr(value) for name, value in made.get_params().items()}
    copied = {name: repr(value) for name, value in copy.get_params().items()}
    assert copied == parameters
    refused(UsageError, lambda: copy.predict(frame), "not fitted")


@pytest.mark.parametrize(("method", "options"), METHODS)
@pytest.mark.parametrize("engine", ["polars", "pyarrow"])
def test_frames_of_other_engines_are_answered_alike(method, options, engine):
    library = pytest.importorskip(engine)
    needs_library(method)
    frame, labels = people()
    columns = {name: frame[name].tolist() for name in frame}
    if engine == "polars":
        other = library.DataFrame(columns)
    else:
        other = library.table(columns)
    made = method(Points(), over="sex", positive="yes", **options)
    of_pandas = clone(made).fit(frame, labels).predict(frame)
    of_other = clone(made).fit(other, labels).predict(other)
    assert of_other.tolist() == of_pandas.tolist()


class Points(LogisticRegression):  # type: ignore[misc]
    """A model of the points alone, of any engine's frame, which remembers the columns it saw."""

    def fit(self, rows, y, sample_weight=None):
        self.seen_ = list(getattr(rows, "column_names", None) or rows.columns)
        return super().fit(self._points(rows), y, sample_weight)

    def decision_function(self, rows):
        return super().decision_function(self._points(rows))

    def _points(self, rows):
        return np.asarray(rows["points"]).reshape(-1, 1)


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_a_model_that_is_not_aware_never_sees_the_protected_column(method, options):
    needs_library(method)
    frame, labels = people()
    aware = method(Points(), over="sex", positive="yes", aware=True, **options)
    aware.fit(frame, labels)
    assert aware.model_.seen_ == ["sex", "job", "points"]
    unaware = method(Points(), over="sex", positive="yes", aware=False, **options)
    unaware.fit(frame, labels)
    assert unaware.model_.seen_ == ["job", "points"]
    refused(DataError, lambda: unaware.fit(frame[["sex"]], labels), "aware=False")


@pytest.mark.parametrize(
    ("method", "options", "aims"),
    [
        pytest.param(Reweighing, {}, "spd", id="RW"),
        *(
            pytest.param(RejectOption, {"metric": metric}, metric, id=metric)
            for metric in NAMES
        ),
        pytest.param(EqualisedOdds, {}, "odds", id="EO", marks=pytest.mark.heavy),
    ],
)
def test_the_metric_that_a_method_aims_at_falls_on_fresh_rows(method, options, aims):
    frame, labels = people(20_000, seed=1)
    original = MODEL.fit(*people()).predict(frame)
    answers = fitted(method, options).predict(frame)
    before = bias(frame, labels, original)[aims]
    after = bias(frame, labels, answers)[aims]
    assert before > 0.25
    share_left = 0.6 if method is Reweighing else 0.4
    assert after < share_left * before


@given(rows=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=4, max_size=40))
@settings(deadline=None, max_examples=examples(50))
def test_weights_make_group_and_label_independent(rows):
    side, label = np.array(rows).T
    if len(set(side.tolist())) < 2 or len(set(label.tolist())) < 2:
        return
    frame = pd.DataFrame({"side": side})
    made = Reweighing(DecisionTreeClassifier(), over="side", privileged=True)
    weights = made.fit(frame, label).weights_
    for side_value in (False, True):
        for label_value in (False, True):
            on_side = side == side_value
            with_label = label == label_value
            cell = on_side & with_label
            expected = 0
            if cell.any():
                expected = on_side.mean() * with_label.mean() * len(rows)
            assert weights[cell].sum() == pytest.approx(expected)


@pytest.mark.heavy
def test_weights_are_those_of_the_library():
    pytest.importorskip("aif360", reason="needs AIF360")
    frame, labels = people()
    library = aif360("algorithms.preprocessing", "a test").Reweighing(
        UNPRIVILEGED, PRIVILEGED
    )
    rows = dataset(np.empty((len(frame), 0)), labels == "yes", frame.sex == "m")
    assert np.array_equal(
        library.fit_transform(rows).instance_weights, fitted(Reweighing, {}).weights_
    )


def grid(frame, labels, metric, bound, thresholds, margins):
    """Return threshold and margin by trying one pair after the other, as in the pseudo-code."""
    man = (frame.sex == "m").to_numpy()
    true = labels == "yes"
    chance = frame.chance.to_numpy()
    tried = []
    for threshold in np.linspace(0.01, 0.99, thresholds):
        widest = min(threshold, 1 - threshold)
        for margin in np.linspace(0, widest, margins):
            is_over_low = chance > threshold - margin
            is_over_high = chance > threshold + margin
            # Within the critical region, men get the unfavourable label, women the other.
            yes = np.where(man, is_over_high, is_over_low)
            false_of_women, hits_of_women = rates_by_truth(yes, true, ~man)
            false_of_men, hits_of_men = rates_by_truth(yes, true, man)
            eod = hits_of_women - hits_of_men
            rates = {
                "spd": yes[~man].mean() - yes[man].mean(),
                "eod": eod,
                "aod": 0.5 * (false_of_women - false_of_men + eod),
            }
            hits = yes[true].mean()
            rejections = (~yes)[~true].mean()
            accuracy = 0.5 * (hits + rejections)
            tried.append((threshold, margin, rates[metric], accuracy))
    kept = [point for point in tried if abs(point[2]) <= bound]
    if kept:
        threshold, margin, _, _ = max(kept, key=lambda point: point[3])
    else:
        threshold, margin, _, _ = min(tried, key=lambda point: point[2])
    return threshold, margin, bool(kept)


def rates_by_truth(yes, true, side):
    """Return the rates of false and of true positives of one side."""
    false_positive_rate = yes[side & ~true].mean()
    true_positive_rate = yes[side & true].mean()
    return false_positive_rate, true_positive_rate


@pytest.mark.parametrize("metric", NAMES)
@pytest.mark.parametrize("decimals", [0, pytest.param(1, marks=pytest.mark.slow), 6])
def test_threshold_and_margin_are_those_of_trying_them_all(metric, decimals):
    for seed in range(3):
        frame, labels = people_with_chances(seed, 150, decimals)
        made = RejectOption(
            ChanceColumn(),
            over="sex",
            positive="yes",
            privileged="m",
            metric=metric,
            thresholds=11,
            margins=5,
            prefit=True,
        ).fit(frame, labels)
        assert (made.threshold_, made.margin_, made.satisfied_) == grid(
            frame, labels, metric, 0.05, 11, 5
        )


@pytest.mark.heavy
@pytest.mark.parametrize("metric", NAMES)
@pytest.mark.parametrize("decimals", [0, 1, 2, 9])
def test_threshold_and_margin_are_those_of_the_library(metric, decimals):
    pytest.importorskip("aif360", reason="needs AIF360")
    frame, labels = people_with_chances(decimals, 400, decimals)
    made = RejectOption(
        ChanceColumn(),
        over="sex",
        positive="yes",
        metric=metric,
        thresholds=16,
        margins=7,
        bound=0.04,
        prefit=True,
    ).fit(frame, labels)
    truth, man = (
        dataset(np.empty((400, 0)), labels == "yes", frame.sex == "m"),
        frame.sex == "m",
    )
    answers = dataset(np.empty((400, 0)), frame.chance > 0.5, man, scores=frame.chance)
    library = aif360("algorithms.postprocessing", "a test").RejectOptionClassification(
        UNPRIVILEGED,
        PRIVILEGED,
        num_class_thresh=16,
        num_ROC_margin=7,
        metric_name=NAMES[metric],
        metric_ub=0.04,
        metric_lb=-0.04,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Unable to satis")
        library.fit(truth, answers)
    assert (made.threshold_, made.margin_) == (
        library.classification_threshold,
        library.ROC_margin,
    )
    assert np.array_equal(
        made.predict(frame) == "yes", library.predict(answers).labels.ravel() == 1
    )


def test_a_tighter_bound_costs_accuracy():
    frame, labels = people()
    scores = []
    for bound in (1.0, 0.2, 0.0001):
        made = fitted(RejectOption, {}, bound=bound)
        scores.append(made.score(frame, labels))
    loose, tight, tightest = scores
    assert loose > tight > tightest


@pytest.mark.heavy
@pytest.mark.parametrize("cost", ["fnr", "fpr", "weighted"])
def test_replaced_chances_make_the_cost_equal(cost):
    """The equation of Pleiss and others: the mean cost of the better side rises to the other's."""
    pytest.importorskip("aif360", reason="needs AIF360")
    frame, labels = calibrated()
    made = CalibratedOdds(
        ChanceColumn(), over="sex", positive="yes", cost=cost, prefit=True
    )
    made.fit(frame, labels)
    man = (frame.sex == "m").to_numpy()
    true = labels == "yes"
    own_chances = frame.chance.to_numpy()

    def mean_cost(side, chance):
        misses = (1 - chance)[side & true].mean()
        alarms = chance[side & ~true].mean()
        base = true[side].mean()
        costs = {
            "fnr": misses,
            "fpr": alarms,
            "weighted": 0.5 * (alarms * (1 - base) + misses * base),
        }
        return costs[cost]

    expected = []
    for side, share in zip((~man, man), made.replaced_, strict=True):
        base_rate = np.full(4000, true[side].mean())
        cost_of_own = mean_cost(side, own_chances)
        cost_of_replaced = mean_cost(side, base_rate)
        expected.append((1 - share) * cost_of_own + share * cost_of_replaced)
    assert min(made.replaced_) == 0 < max(made.replaced_) < 1
    assert expected[0] == pytest.approx(expected[1])
    changed = made.predict(frame) != np.where(frame.chance >= 0.5, "yes", "no")
    untouched_side = man if made.replaced_[1] == 0 else ~man
    assert not changed[untouched_side].any()
    assert changed.any()


@pytest.mark.heavy
def test_where_no_share_makes_the_cost_equal_all_are_replaced():
    pytest.importorskip("aif360", reason="needs AIF360")
    frame, labels = people_with_chances(3, 4000, 6)
    made = CalibratedOdds(
        ChanceColumn(), over="sex", positive="yes", cost="fpr", prefit=True
    )
    made.fit(frame, labels)
    assert made.replaced_.tolist() == [1, 0]
    answers_for_women = made.predict(frame)[frame.sex == "f"]
    assert set(answers_for_women) == {"no"}
    same_chances = np.tile([0.2, 0.2, 0.8, 0.8], 50)
    twins = pd.DataFrame({"sex": ["f", "m"] * 100, "chance": same_chances})
    right = np.where(same_chances > 0.5, "yes", "no")
    equal = clone(made).fit(twins, right)
    assert equal.replaced_.tolist() == [0, 0]
    assert equal.predict(twins).tolist() == right.tolist()


@pytest.mark.heavy
def test_flips_equalise_the_odds_and_no_other_flips_cost_less():
    pytest.importorskip("aif360", reason="needs AIF360")
    frame, labels = people_with_chances(3, 4000, 6)
    made = EqualisedOdds(ChanceColumn(), over="sex", positive="yes", prefit=True)
    made.fit(frame, labels)
    man = (frame.sex == "m").to_numpy()
    true = labels == "yes"
    yes = frame.chance.to_numpy() > 0.5
    rates_of_women = rates_by_truth(yes, true, ~man)
    rates_of_men = rates_by_truth(yes, true, man)
    rates = np.array([rates_of_women, rates_of_men])
    after_yes = made.chances_[:, :1]
    after_no = made.chances_[:, 1:]
    after = after_yes * rates + after_no * (1 - rates)
    assert after[0] == pytest.approx(after[1])
    # Both sides can reach the same pair of rates only within both of their parallelograms; try many
    # pairs.
    steps = np.linspace(0, 1, 201)
    kept, granted = np.meshgrid(steps, steps)
    kept_rates = np.outer(kept.ravel(), rates[0])
    granted_rates = np.outer(granted.ravel(), 1 - rates[0])
    reached = kept_rates + granted_rates
    false_positives, true_positives = reached.T
    flips_of_men = np.column_stack([rates[1], 1 - rates[1]])
    solutions = np.linalg.solve(flips_of_men, reached.T)
    is_share = (solutions >= 0) & (solutions <= 1)
    possible = is_share.all(axis=0)
    best_possible = (true_positives - false_positives)[possible].max()
    assert best_possible <= after[0, 1] - after[0, 0] + 1e-9
    before = bias(frame, labels, np.where(yes, "yes", "no"))
    found = bias(frame, labels, made.predict(frame))
    assert found["odds"] < 0.03 < before["odds"]


@pytest.mark.parametrize(("method", "options"), METHODS[1:])
def test_a_fitted_model_is_shared_and_not_trained_again(method, options):
    needs_library(method)
    frame, labels = people()
    model = clone(MODEL).fit(frame, labels)
    made = method(model, over="sex", positive="yes", prefit=True, **options).fit(
        frame, labels
    )
    assert made.model_ is model
    assert made.predict(frame).tolist() == fitted(method, options).predict(frame).tolist()
    copy = clone(made)
    assert copy.estimator is model
    assert copy.fit(frame, labels).predict(frame).tolist() == made.predict(frame).tolist()
    refused(
        UsageError,
        lambda: clone(made).set_params(validation=0.5).fit(frame, labels),
        "prefit=True",
        "validation",
    )
    refused(
        UsageError,
        lambda: made.set_params(estimator=clone(model)).fit(frame, labels),
        "not fitted",
    )
    refused(
        UsageError, lambda: made.set_params(estimator=None).fit(frame, labels), "estimator"
    )


def test_rows_kept_for_validation_are_kept_from_the_model():
    seen = []

    class Spy(DecisionTreeClassifier):  # type: ignore[misc]
        def fit(self, rows, y):
            seen.append(rows.index)
            return super().fit(rows[["points"]], y)

        def predict_proba(self, rows):
            seen.append(rows.index)
            return super().predict_proba(rows[["points"]])

    frame, labels = people()
    made = RejectOption(Spy(max_depth=3), over="sex", positive="yes", validation=0.3)
    made.fit(frame, labels)
    trained, learned = seen
    all_rows = [*trained, *learned]
    assert sorted(all_rows) == list(range(len(frame)))
    assert len(learned) == 900
    for sex in ("f", "m"):
        for label in ("no", "yes"):
            cell = (frame.sex == sex) & (labels == label)
            kept = cell[learned].sum()
            assert abs(kept - 0.3 * cell.sum()) <= 1
    made.fit(frame, labels)
    trained_again = seen[2]
    assert trained_again.equals(trained)
    made.set_params(random_state=1)
    made.fit(frame, labels)
    trained_with_other_seed = seen[4]
    assert not trained_with_other_seed.equals(trained)


@pytest.mark.parametrize("estimator", [LinearSVC(), RidgeClassifier()])
def test_a_model_with_margins_only_is_enough(estimator):
    frame, labels = people()
    rows = frame.drop(columns="job")
    made = RejectOption(estimator, over="sex", positive="no", aware=False).fit(rows, labels)
    plain = made.model_.predict(frame[["points"]])
    before = bias(frame, labels, plain)["spd"]
    after = bias(frame, labels, made.predict(rows))["spd"]
    assert after < before / 2


def test_several_columns_and_privileged_groups():
    frame, _ = people()
    privileged = {"sex": "m", "job": ["crafts", "care"]}
    several = fitted(RejectOption, {}, over=["sex", "job"], privileged=privileged)
    assert several.roles_.privileged == (("m", "care"), ("m", "crafts"))
    by_sex = fitted(RejectOption, {})
    assert several.predict(frame).tolist() == by_sex.predict(frame).tolist()


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_what_cannot_be_used_is_named(method, options):
    needs_library(method)
    frame, labels = people(200)

    def fit(estimator=MODEL, rows=frame, true=labels, **more):
        return method(
            estimator, **({"over": "sex", "positive": "yes"} | options | more)
        ).fit(rows, true)

    refused(UsageError, lambda: fit(over=None), "over=")
    refused(DataError, lambda: fit(over="sexx"), "did you mean 'sex'")
    refused(UsageError, lambda: fit(estimator=None), "needs an estimator")
    refused(DataError, lambda: fit(true=labels[:-1]), "200 rows and 199 labels")
    refused(DataError, lambda: fit(rows=frame.assign(sex="m")), "second group")
    if method is Reweighing:
        return
    refused(DataError, lambda: fit().predict(frame.assign(sex="x")), "sex 'x'")
    refused(UsageError, lambda: fit(validation=1.0), "validation = 1.0")
    refused(UsageError, lambda: fit(random_state=-1), "random_state = -1")
    refused(
        DataError,
        lambda: fit(true=np.array(["no"] * 199 + ["yes"]), validation=0.999),
        "one label",
    )
    if options.get("metric") != "spd":
        true = np.where(frame.sex == "f", "no", labels)
        refused(DataError, lambda: fit(true=true), "unprivileged", "'yes'")


def test_parameters_are_checked():
    refused(
        UsageError,
        lambda: fitted(RejectOption, {"metric": "spdd"}),
        "'spdd'",
        "did you mean 'spd'",
    )
    refused(UsageError, lambda: fitted(RejectOption, {"bound": -1}), "bound = -1")
    refused(UsageError, lambda: fitted(RejectOption, {"margins": 0}), "margins = 0")
    frame, labels = people(200)
    odds = CalibratedOdds(MODEL, over="sex", positive="yes", cost="fnrr")
    refused(UsageError, lambda: odds.fit(frame, labels), "'fnrr'", "did you mean 'fnr'")
    mute = DecisionTreeClassifier().fit(frame[["points"]], labels == "yes")
    made = RejectOption(mute, over="sex", positive="yes", prefit=True)
    refused(
        UsageError,
        lambda: made.fit(frame, labels),
        "has the labels False, True",
        "'no', 'yes'",
    )


def test_a_model_that_is_never_in_doubt_is_refused():
    class NoChances:
        classes_ = ChanceColumn.classes_
        predict = ChanceColumn.predict

    frame, labels = people_with_chances(0, 100, 2)
    made = RejectOption(NoChances(), over="sex", positive="yes", prefit=True)
    refused(
        UsageError, lambda: made.fit(frame, labels), "predict_proba", "decision_function"
    )


@pytest.mark.parametrize("method", [CalibratedOdds, EqualisedOdds])
def test_without_the_library_the_extra_is_named(method, monkeypatch):
    loaded = [name for name in sys.modules if name.startswith("aif360.")]
    for name in ["aif360", *loaded]:
        monkeypatch.setitem(sys.modules, name, None)
    frame, labels = people(200)
    made = method(MODEL, over="sex", positive="yes")
    refused(
        MissingExtra,
        lambda: made.fit(frame, labels),
        method.__name__,
        "evenhand[aif360]",
    )


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_adult(method, options, adult):
    needs_library(method)
    chosen = np.random.default_rng(0).permutation(len(adult.features))[:4000]
    frame = adult.features.iloc[chosen]
    labels = np.asarray(adult.labels)[chosen]
    train, train_labels = frame[:3000], labels[:3000]
    test, test_labels = frame[3000:], labels[3000:]
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", min_frequency=20), texts),
        remainder=StandardScaler(),
    )
    model = make_pipeline(encoder, LogisticRegression(max_iter=200))
    made = method(model, over="sex", positive=adult.positive, **options)
    made.fit(train, train_labels)
    assert made.score(test, test_labels) > 0.6
    if options.get("metric") != "spd" and method is not Reweighing:
        return
    if method is Reweighing:
        original = clone(model).fit(train, train_labels).predict(test)
    else:
        original = made.model_.predict(test)
    man = test.sex.astype(str).str.strip() == "Male"

    def apart(answers):
        favoured = answers == adult.positive
        return abs(favoured[man].mean() - favoured[~man].mean())

    assert apart(made.predict(test)) < apart(original) - 0.03
