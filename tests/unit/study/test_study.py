"""Studies: what is fitted, what is counted, what is kept, and that a killed study goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.methods.compare.compare import compare
from evenhand.mitigation import catalogue
from evenhand.mitigation.base import Mitigation
from evenhand.results.document import versions
from evenhand.runtime.errors import DataError, LedgerError, MissingExtra, UsageError
from evenhand.study import study as studies
from evenhand.study.fits import NothingToCompare
from evenhand.study.models import MODELS, model
from evenhand.study.study import Model, Study, StudyMethod, Task, load, run
from evenhand.study.units import Remembering, Work
from evenhand.subject.ledger import Ledger
from tests.support.helpers import refused
from tests.support.paths import BESIDE, ROOT


def people(rows: int = 240, seed: int = 0) -> tuple[pd.DataFrame, list[str]]:
    """Draw people whose skill counts, and whose sex and region should not."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    region = rng.choice(["east", "north", "west"], rows, p=[0.3, 0.2, 0.5])
    skill = rng.normal(size=rows) + 0.8 * (sex == "m") + 0.4 * (region == "west")
    luck = rng.normal(scale=0.4, size=rows)
    labels = np.where(skill + luck > 0.4, "yes", "no")
    frame = pd.DataFrame(
        {
            "sex": sex,
            "region": region,
            "skill": skill,
            "noise": rng.normal(size=rows),
        }
    )
    return frame, labels.tolist()


def task(name: str = "people", rows: int = 240, **changes: object) -> Task:
    frame, labels = people(rows)
    privileged = {"sex": "m", "region": "west"} | changes
    return Task(name, frame, labels, "yes", privileged)


FITS: Counter[str] = Counter()


class Tree(DecisionTreeClassifier):  # type: ignore[misc]
    """A tree on the numbers of a frame, which counts how often it is fitted and asked."""

    def fit(self, X, y, sample_weight=None):  # noqa: N803
        FITS["fit"] += 1
        return super().fit(X.select_dtypes("number"), y, sample_weight=sample_weight)

    def predict_proba(self, X, check_input=True):  # noqa: N803
        FITS["proba"] += 1
        return super().predict_proba(X.select_dtypes("number"))

    def predict(self, X, check_input=True):  # noqa: N803
        FITS["predict"] += 1
        return self.classes_[
            super().predict_proba(X.select_dtypes("number")).argmax(axis=1)
        ]


class Same(Mitigation):
    """Trains the estimator and changes nothing."""

    kind: ClassVar[str] = "pre"
    code: ClassVar[str] = "SM"

    def __init__(
        self,
        estimator=None,
        *,
        over=None,
        positive=None,
        privileged=None,
        aware=True,
        random_state=0,
    ):
        self.estimator, self.over, self.positive, self.privileged = (
            estimator,
            over,
            positive,
            privileged,
        )
        self.aware, self.random_state = aware, random_state

    def _fit(self, frame, truth):
        self.model_ = self._model(self.estimator, frame, truth)

    def _decide(self, frame):
        return self.roles_.truth(self.model_.predict(self._inputs(frame)))


class Lift(Same):
    """Lowers the bar for the unprivileged."""

    kind: ClassVar[str] = "post"
    code: ClassVar[str] = "LI"

    def __init__(
        self,
        estimator=None,
        *,
        over=None,
        positive=None,
        privileged=None,
        aware=True,
        by=0.2,
        prefit=False,
        random_state=0,
    ):
        super().__init__(
            estimator,
            over=over,
            positive=positive,
            privileged=privileged,
            aware=aware,
        )
        self.by = by
        self.prefit = prefit
        self.random_state = random_state

    def _fit(self, frame, truth):
        if self.prefit:
            FITS["shared"] += 1
            self.model_ = self.estimator
        else:
            FITS["alone"] += 1
            self.model_ = self._model(self.estimator, frame, truth)
        self._chances(self.model_, frame)

    def _decide(self, frame):
        unprivileged = ~self.roles_.are_privileged(frame)
        bar = 0.5 - self.by * unprivileged
        return self._chances(self.model_, frame) > bar


class Coin(Mitigation):
    """Has a model of its own: the skill, with some noise from numpy's global generator."""

    kind: ClassVar[str] = "in"
    code: ClassVar[str] = "CO"
    off: ClassVar[dict[str, float]] = {"strength": 0.0}

    def __init__(
        self,
        *,
        over=None,
        positive=None,
        privileged=None,
        aware=True,
        strength=0.5,
        random_state=0,
    ):
        self.over, self.positive, self.privileged, self.aware = (
            over,
            positive,
            privileged,
            aware,
        )
        self.strength, self.random_state = strength, random_state

    def _fit(self, frame, truth):
        FITS[f"coin {self.over} {self.strength}"] += 1
        self.noise_ = np.random.normal(scale=self.strength)

    def _decide(self, frame):
        bar = 0.4 + self.noise_ * 0.01 - self.strength * ~self.roles_.are_privileged(frame)
        return frame["skill"].to_numpy() > bar


class FailingMethod(Same):
    """Fails on the splits in which the seed is divisible by `every`."""

    def __init__(
        self,
        estimator=None,
        *,
        every=1,
        over=None,
        positive=None,
        privileged=None,
        random_state=0,
    ):
        super().__init__(
            estimator,
            over=over,
            positive=positive,
            privileged=privileged,
            random_state=random_state,
        )
        self.every = every

    def _fit(self, frame, truth):
        if self.random_state % self.every == 0:
            raise RuntimeError("no\nluck with this split")
        super()._fit(frame, truth)


def tree(depth: int = 3) -> Tree:
    return Tree(max_depth=depth, random_state=0)


def small(**changes: Any) -> Study:
    methods = [
        StudyMethod("same", factory=Same),
        StudyMethod("lift", factory=Lift),
        StudyMethod("coin", factory=Coin),
    ]
    parts: dict[str, Any] = {
        "tasks": [task()],
        "models": [Model("tree", tree())],
        "methods": methods,
        "splits": 4,
    } | changes
    return Study(**parts)


def contents(cases: studies.Cases) -> list[tuple[object, ...]]:
    """Return all of the cases but for the seconds."""
    return [
        (
            case.task,
            case.protected,
            case.model,
            case.method,
            case.split,
            case.error,
            str(case.counts),
        )
        for case in cases.cases
    ]


def test_tables_count_the_test_rows_of_each_split_by_hand():
    study = small(splits=2)
    cases = run(study)
    assert not cases.failed
    one = study.tasks[0]
    for split in range(2):
        train, test, seed = one.split(split, 0.3, 0)
        fitted = tree().fit(one.frame.take(train), one.labels[train])
        lift = Lift(
            tree(), over="region", positive="yes", privileged="west", random_state=seed
        )
        lift.fit(one.frame.take(train), one.labels[train])
        for column, name, by_hand in ((None, "original", fitted), ("region", "lift", lift)):
            case = next(
                case
                for case in cases.cases
                if (case.protected, case.model, case.method, case.split)
                == (column, "tree", name, split)
            )
            expected: Counter[Any] = Counter(
                zip(
                    one.frame["sex"].to_numpy()[test],
                    one.frame["region"].to_numpy()[test],
                    one.labels[test],
                    by_hand.predict(one.frame.take(test)),
                    strict=True,
                )
            )
            assert case.counts is not None
            for at, combination in enumerate(one.info.combinations):
                for row, true in enumerate(one.info.labels):
                    for place, label in enumerate(one.info.labels):
                        assert (
                            case.counts[at, row, place]
                            == expected[(*combination, true, label)]
                        )


def test_a_comparison_is_that_of_the_predictions_themselves():
    study = small(splits=5)
    cases = run(study)
    outcomes: dict[str, list[object]] = {"original": [], "same": [], "lift": []}
    truths, groups = [], []
    one = study.tasks[0]
    for split in range(5):
        train, test, seed = one.split(split, 0.3, 0)
        known: dict[str, Any] = {
            "over": "sex",
            "positive": "yes",
            "privileged": "m",
            "random_state": seed,
        }
        for name, made in (
            ("original", tree()),
            ("same", Same(tree(), **known)),
            ("lift", Lift(tree(), **known)),
        ):
            outcomes[name].append(
                made.fit(one.frame.take(train), one.labels[train]).predict(
                    one.frame.take(test)
                )
            )
        truths.append(one.labels[test])
        groups.append(one.frame.take(test)[["sex"]])
    for bias in ("spd", "aod", "eod"):
        by_hand = compare(outcomes, truths, groups, bias=bias, positive="yes")
        found = cases.comparison("people", "sex", "tree", bias=bias)
        assert found.region == by_hand.region
        assert [str(standing) for standing in found.standings] == [
            str(standing) for standing in by_hand.standings
        ]
        assert found.baseline.performance == pytest.approx(by_hand.baseline.performance)
        assert found.baseline.bias == pytest.approx(by_hand.baseline.bias)
        assert found.baseline.label == by_hand.baseline.label
    assert (
        cases.comparison("people", "sex", "tree", "spd", "f1", ["lift"]).performance == "f1"
    )


def test_bias_may_be_that_of_other_columns_than_the_method_acts_on():
    cases = run(small())
    alone = cases.comparison("people", "sex", "tree")
    both = cases.comparison("people", "sex", "tree", over=["sex", "region"])
    assert both["lift"].bias.value > alone["lift"].bias.value
    assert both["lift"].performance.value == alone["lift"].performance.value


def test_a_model_is_fitted_once_for_each_split_and_asked_once_about_the_same_rows():
    FITS.clear()
    methods = [
        StudyMethod(f"lift {by}", factory=Lift, settings={"by": by})
        for by in (0.1, 0.2, 0.3)
    ]
    run(Study([task()], [Model("tree", tree(2))], methods, splits=2))
    # Training rows and test rows, in two splits.
    assert FITS == {"fit": 2, "predict": 2, "proba": 4, "shared": 12}


def test_a_method_that_keeps_columns_from_the_model_trains_its_own():
    FITS.clear()
    aware = StudyMethod("blind", factory=Lift, settings={"aware": False})
    cases = run(Study([task()], [Model("tree", tree(2))], [aware], splits=1))
    assert FITS["alone"] == 2  # for each protected column
    assert FITS["shared"] == 0
    assert not cases.failed


def test_a_method_with_a_model_of_its_own_is_trained_once_for_each_column_and_split():
    FITS.clear()
    models = [Model("tree", tree()), Model("stump", tree(1))]
    cases = run(small(models=models, splits=3))
    coins = {name: number for name, number in FITS.items() if name.startswith("coin")}
    assert coins == {
        "coin sex 0.0": 3,
        "coin sex 0.5": 3,
        "coin region 0.0": 3,
        "coin region 0.5": 3,
    }
    of_coin = cases.comparison("people", "sex", "coin")
    assert [standing.name for standing in of_coin.standings] == ["coin"]
    of_tree = cases.comparison("people", "sex", "tree")
    assert [standing.name for standing in of_tree.standings] == ["same", "lift"]
    alone = run(small(models=[], methods=[StudyMethod("coin", factory=Coin)]))
    assert {case.model for case in alone.cases} == {"coin"}


def test_cases_are_the_same_for_any_number_of_workers_and_leave_the_generator_alone():
    models = [Model("LR", model("LR")), Model("DT", model("DT"))]
    study = small(models=models, splits=2)
    np.random.seed(5)
    before = numpy_state()
    first = contents(run(study))
    assert numpy_state() == before
    assert contents(run(study, n_jobs=2)) == first
    assert contents(run(study)) == first
    assert contents(run(replace(study, seed=1))) != first


def numpy_state() -> Any:
    return np.random.get_state(legacy=False)["state"]["key"].tolist()


def test_a_seed_that_the_user_gave_stays():
    fixed, free = (
        DecisionTreeClassifier(random_state=7, max_features=1),
        DecisionTreeClassifier(max_features=1),
    )
    frame, labels = people()
    numbers = Task(
        "n",
        frame[["skill", "noise"]].assign(sex=(frame["sex"] == "m") * 1),
        labels,
        "yes",
        {"sex": 1},
    )
    cases = run(
        Study(
            [numbers],
            [Model("fixed", fixed), Model("free", free)],
            [StudyMethod("same", factory=Same)],
            splits=3,
        )
    )
    for split in range(3):
        train, test, seed = numbers.split(split, 0.3, 0)
        for name, state in (("fixed", 7), ("free", seed)):
            own = DecisionTreeClassifier(random_state=state, max_features=1)
            own.fit(numbers.frame.take(train), numbers.labels[train])
            right = own.predict(numbers.frame.take(test)) == numbers.labels[test]
            case = next(
                c
                for c in cases.cases
                if (c.model, c.method, c.split) == (name, "original", split)
            )
            assert case.counts is not None
            assert np.trace(case.counts.sum(axis=0)) == right.sum()
    assert fixed.random_state == 7
    assert free.random_state is None
    assert not hasattr(free, "tree_")


def test_a_method_that_fails_is_reported_and_the_study_goes_on():
    methods = [
        StudyMethod("same", factory=Same),
        StudyMethod("broken", factory=FailingMethod),
    ]
    cases = run(small(methods=methods))
    assert {case.method for case in cases.failed} == {"broken"}
    assert {case.error for case in cases.failed} == {
        "RuntimeError: no luck with this split"
    }
    assert cases.failures == (
        "broken failed in 8 of 8 cases on people: RuntimeError: no luck with this split",
    )
    found = cases.comparison("people", "sex", "tree")
    assert found.region.keys() == {"same"}
    assert (
        "broken failed in 4 of 4 splits and is left out: RuntimeError: no luck with this split"
        in found.notes
    )
    refused(
        NothingToCompare,
        lambda: cases.comparison("people", "sex", "tree", methods=["broken"]),
        "4 of 4",
        "no luck",
    )


class Odd(Same):
    """Gives a label that nobody has, or too few of them."""

    def predict(self, X):  # noqa: N803
        return ["maybe"] * len(X) if self.over == "sex" else ["yes"]


def test_unknown_labels_are_reported():
    cases = run(small(methods=[StudyMethod("odd", factory=Odd)], splits=1))
    one, other = (str(case.error) for case in cases.failed)
    assert (
        one
        == "72 predictions for 72 rows, among them ['maybe'], are not one of 'no' and 'yes' for"
        " each row"
    )
    assert other.startswith("1 predictions for 72 rows")


def test_splits_in_which_a_method_failed_are_left_out_for_all():
    seeds = [task().split(split, 0.3, 0)[2] for split in range(8)]

    def failures(every: int) -> int:
        return sum(seed % every == 0 for seed in seeds)

    every = next(number for number in range(2, 50) if 1 <= failures(number) <= 3)
    lost = failures(every)
    methods = [
        StudyMethod("same", factory=Same),
        StudyMethod("broken", factory=FailingMethod, settings={"every": every}),
    ]
    cases = run(small(methods=methods, splits=8))
    found = cases.comparison("people", "sex", "tree")
    assert found.runs == 8 - lost
    assert f"{lost} of 8 splits are left out, since a method failed in them" in found.notes
    assert cases.comparison("people", "sex", "tree", methods=["same"]).runs == 8


def test_an_original_that_fails_takes_its_methods_with_it():
    cases = run(
        small(models=[Model("bare", LogisticRegression()), Model("tree", tree())], splits=2)
    )
    assert {case.model for case in cases.failed} == {"bare"}
    lifted = next(case for case in cases.failed if case.method == "lift")
    assert lifted.error is not None
    assert lifted.error.startswith("the original failed: ValueError: ")
    refused(
        NothingToCompare,
        lambda: cases.comparison("people", "sex", "bare"),
        "original failed in 2 of 2",
        "ValueError",
    )
    assert cases.comparison("people", "sex", "tree").runs == 2


def test_a_missing_library_is_named_before_anything_is_fitted(monkeypatch):
    FITS.clear()
    monkeypatch.setattr(catalogue, "find_spec", lambda name: None)
    study = Study(
        [task()],
        [Model("tree", Tree())],
        [StudyMethod("same", factory=Same), StudyMethod("calibrated-fnr")],
        splits=1,
    )
    refused(MissingExtra, lambda: run(study), "calibrated-fnr", "evenhand[aif360]")
    assert not FITS


def test_wrong_methods_and_studies_are_refused():
    refused(UsageError, lambda: StudyMethod("reweighting"), "reweighing")
    refused(
        UsageError, lambda: StudyMethod("a", key="reweighing", settings={"etta": 1}), "etta"
    )
    refused(
        UsageError,
        lambda: StudyMethod("a", key="reweighing", settings={"over": "sex"}),
        "over",
        "the study sets",
    )
    refused(UsageError, lambda: StudyMethod("a", factory=Lift, settings={"bye": 1}), "bye")
    refused(UsageError, lambda: small(tasks=[]), "data set")
    refused(UsageError, lambda: small(models=[]), "at least one model")
    refused(
        UsageError,
        lambda: small(tasks=[task(), task()]),
        "'people'",
        "more than one data set",
    )
    refused(
        UsageError,
        lambda: small(models=[Model("tree", tree()), Model("tree", tree())]),
        "'tree'",
    )
    refused(UsageError, lambda: small(models=[Model("same", tree())]), "'same'")
    refused(UsageError, lambda: small(models=[Model("original", tree())]), "original")
    refused(UsageError, lambda: small(models=[Model("", tree())]), "is not the name")
    refused(UsageError, lambda: small(splits=0), "splits = 0")
    refused(UsageError, lambda: small(test_size=1.0), "test_size = 1.0")
    refused(UsageError, lambda: small(seed=-1), "seed = -1")
    refused(UsageError, lambda: run("study.toml"), "study.toml")  # type: ignore[arg-type]
    refused(UsageError, lambda: run(small(), n_job=2), "n_jobs")  # type: ignore[call-arg]
    refused(UsageError, lambda: model("LogReg"), "LR", "DT")
    cases = run(small(splits=2))
    refused(UsageError, lambda: cases.comparison("peopel", "sex", "tree"), "'people'")
    refused(UsageError, lambda: cases.comparison("people", "sexe", "tree"), "'sex'")
    refused(
        UsageError, lambda: cases.comparison("people", "sex", "treee"), "'tree'", "'coin'"
    )
    refused(
        UsageError,
        lambda: cases.comparison("people", "sex", "tree", methods=["coin"]),
        "'coin'",
        "'lift'",
    )


def test_wrong_tasks_are_refused():
    frame, labels = people()
    columns = {"sex": "m"}
    refused(DataError, lambda: Task("t", frame, labels[1:], "yes", columns), "t: ", "240")
    refused(DataError, lambda: Task("t", frame, ["yes"] * 240, "yes", columns), "1 labels")
    refused(
        DataError, lambda: Task("t", frame, [None, *labels[1:]], "yes", columns), "row 0"
    )
    refused(UsageError, lambda: Task("t", frame, labels, "yse", columns), "'yse'", "'yes'")
    refused(UsageError, lambda: Task("t", frame, labels, "yes", {}), "protected")
    refused(
        DataError, lambda: Task("t", frame, labels, "yes", {"sxe": "m"}), "'sxe'", "'sex'"
    )
    refused(UsageError, lambda: Task("t", frame, labels, "yes", {"sex": "M"}), "'M'", "'m'")
    refused(
        UsageError, lambda: Task("t", frame, labels, "yes", {"sex": ["f", "m"]}), "one side"
    )
    gaps = frame.assign(sex=frame["sex"].where(frame.index > 2, None))
    refused(DataError, lambda: Task("t", gaps, labels, "yes", columns), "sex", "3")


def test_columns_of_many_values_become_two_for_all():
    binary = task(region=["north", "west"])
    assert binary.info.protected == {
        "sex": ("m", "f"),
        "region": ("north or west", "other"),
    }
    frame, _ = people()
    regions = np.where(frame["region"] == "east", "other", "north or west")
    assert binary.frame["region"].tolist() == regions.tolist()
    assert binary.frame["sex"].tolist() == frame["sex"].tolist()


@pytest.mark.parametrize("engine", ["polars", "pyarrow"])
def test_frames_of_any_engine_give_the_same_cases(engine):
    frame, labels = people()
    library = pytest.importorskip(engine)
    columns = {name: frame[name].tolist() for name in frame.columns}
    if engine == "polars":
        other = library.DataFrame(columns)
    else:
        other = library.table(columns)
    privileged = {"sex": "m", "region": "west"}
    other_task = Task("people", other, labels, "yes", privileged)
    cases = run(small(tasks=[other_task], splits=2))
    assert contents(cases) == contents(run(small(splits=2)))


@given(
    rows=st.integers(2, 40),
    size=st.floats(0.01, 0.99),
    seed=st.integers(0, 5),
    number=st.integers(0, 3),
)
def test_a_split_takes_each_row_once(rows, size, seed, number):
    frame = pd.DataFrame({"sex": [0, 1] * 20}).head(rows)
    labels = [0, 1] * 20
    small_task = Task("t", frame, labels[:rows], 1, {"sex": 1})
    train, test, state = small_task.split(number, size, seed)
    all_rows = [*train.tolist(), *test.tolist()]
    assert sorted(all_rows) == list(range(rows))
    assert len(train) > 0
    assert len(test) > 0
    assert abs(len(test) - size * rows) <= 1
    train_again, _, state_again = small_task.split(number, size, seed)
    assert train_again.tolist() == train.tolist()
    assert state_again == state


@pytest.mark.parametrize("name", MODELS)
def test_models_take_texts_numbers_gaps_and_levels_that_are_new(name):
    frame, labels = people()
    # A missing text is a level like any other.
    frame["region"] = frame["region"].mask(frame["region"] == "north")
    fitted = model(name).fit(frame, labels)
    later = frame.head(3).assign(region=["south", "west", None])
    assert set(fitted.predict(later)) <= {"yes", "no"}
    assert (fitted.predict(frame) == labels).mean() > 0.7


def test_answers_that_are_remembered_cannot_be_spoilt():
    frame, labels = people()
    shared = Remembering(model("LR").fit(frame, labels))
    first = shared.predict_proba(frame)
    kept = first.copy()
    first[:] = 0.0
    assert (shared.predict_proba(frame) == kept).all()
    assert (shared.predict_proba(frame.head(5)) == kept[:5]).all()
    assert not hasattr(shared, "transform")
    assert repr(shared).startswith("Pipeline(")


# ------------------------------------------------------------------------------------------------
# the store


def test_a_store_gives_back_what_was_run_and_runs_nothing_twice(tmp_path):
    store = tmp_path / "a.sqlite"
    study = small()
    first = run(study, store)
    assert contents(first) == contents(run(study))
    FITS.clear()
    again = run(study, store)
    assert not FITS
    assert contents(again) == contents(first)
    assert again.seconds == first.seconds > 0
    more = run(replace(study, splits=6), store)
    assert FITS["coin sex 0.5"] == 2
    assert contents(more) == contents(run(replace(study, splits=6)))
    assert contents(run(study, store)) == contents(first)  # fewer splits than it holds
    loaded = load(store)
    assert sorted(map(repr, contents(loaded))) == sorted(map(repr, contents(more)))
    assert loaded.splits == 6
    assert loaded.tasks == more.tasks
    assert loaded.methods == more.methods
    assert loaded.models == more.models
    assert (
        loaded.comparison("people", "region", "coin").digest
        == more.comparison("people", "region", "coin").digest
    )


def test_a_store_of_another_study_is_refused_by_what_differs(tmp_path, monkeypatch):
    store, study = tmp_path / "a.sqlite", small(splits=1)
    run(study, store)

    def of(*words: str, **changes: object) -> None:
        other = small(**({"splits": 1} | changes))
        refused(
            LedgerError,
            lambda: run(other, store),
            "a.sqlite",
            "another study",
            "name another store",
            *words,
        )

    of("its seed is 0, not 3", seed=3)
    of("its test_size is 0.3, not 0.4", test_size=0.4)
    of("its data set 'people' is another", tasks=[task(rows=241)])
    of("its data set 'people' is another", tasks=[task(region=["west", "north"])])
    of("it has no data set 'more'", tasks=[task(), task("more")])
    of(
        "it has the model 'tree', too",
        "it has no model 'stump'",
        models=[Model("stump", tree())],
    )
    of("its model 'tree' is another", models=[Model("tree", tree(2))])
    methods = [
        *study.methods[:2],
        StudyMethod("coin", factory=Coin, settings={"strength": 0.1}),
    ]
    of("its method 'coin' is another", methods=methods)
    of("it has the method 'coin', too", methods=methods[:2])
    here = versions()
    monkeypatch.setattr(studies, "versions", lambda: here | {"numpy": "1.0"})
    of("its version 'numpy' is ", "not 1.0")


def test_files_that_are_no_store_are_refused(tmp_path):
    missing, text, ledger = (
        tmp_path / "b.sqlite",
        tmp_path / "c.sqlite",
        tmp_path / "d.sqlite",
    )
    refused(LedgerError, lambda: load(missing), "b.sqlite", "does not exist")
    assert not missing.exists()
    text.write_text("sex,age\n" * 200)
    refused(LedgerError, lambda: run(small(), text), "c.sqlite", "not an SQLite file")
    with Ledger(ledger, space="s", subject="m"):
        pass
    refused(LedgerError, lambda: run(small(), ledger), "d.sqlite", "name another file")


class Slow(DecisionTreeClassifier):  # type: ignore[misc]
    """A tree that takes its time, where the environment says so."""

    def fit(self, X, y, sample_weight=None):  # noqa: N803
        time.sleep(float(os.environ.get("PAUSE", "0")))
        return super().fit(X, y, sample_weight=sample_weight)


def slow() -> Study:
    frame, labels = people()
    numbers = frame[["skill", "noise"]].assign(sex=(frame["sex"] == "m") * 1)
    methods = [StudyMethod("same", factory=Same), StudyMethod("lift", factory=Lift)]
    return Study(
        [Task("people", numbers, labels, "yes", {"sex": 1})],
        [Model("slow", Slow())],
        methods,
        splits=8,
    )


def test_a_killed_study_goes_on_where_it_was(tmp_path, monkeypatch):
    store, log = tmp_path / "k.sqlite", tmp_path / "begun"
    program = f"""
        from pathlib import Path
        from evenhand.study.units import Work
        from tests.unit.study.test_study import run, slow
        done = Work._kept_cases
        def noted(self, unit):
            with Path({str(log)!r}).open("a") as file:
                file.write(f"{{unit}}\\n")
            return done(self, unit)
        Work._kept_cases = noted
        run(slow(), {str(store)!r})
    """
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}",
        "PAUSE": "0.2",
    }
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, env=environment) as process:
        for _ in range(1200):
            if log.exists() and len(log.read_text().splitlines()) >= 4:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    begun = log.read_text().splitlines()
    finished = {str((case.task, case.model, case.split)) for case in load(store).cases}
    assert 3 <= len(finished) < 8
    assert finished <= set(begun)
    second, done = [], Work._kept_cases

    def noted(self, unit):
        second.append(str(unit))
        return done(self, unit)

    monkeypatch.setattr(Work, "_kept_cases", noted)
    monkeypatch.setenv("PAUSE", "0")
    study = slow()
    run(study, store)
    assert len(second) == len(set(second)) == 8 - len(finished)
    assert not finished & set(second)
    assert contents(load(store)) == contents(run(study)) == contents(run(study, store))


def test_progress_tells_the_share_by_time_and_what_is_left():
    units = [("a", "LR", 0), ("a", "SVM", 0), ("a", "LR", 1), ("a", "SVM", 1)]
    case = [None, "original", [1], 0.5, 0.5, None]
    slow = [None, "original", [1], 250.0, 50.0, None]
    assert studies._progress({}, units, 2) == (0.0, "0 of 4 fits of a model")
    share, note = studies._progress({units[0]: [case]}, units, 1)
    assert share == 0.25
    assert note == "1 of 4 fits of a model, about 3 s left"
    share, note = studies._progress({units[0]: [case], units[1]: [slow]}, units, 2)
    assert share == 0.5
    assert note.endswith("about 3 min left")
    assert studies._progress({unit: [case] for unit in units}, units, 2) == (
        1.0,
        "4 of 4 fits of a model",
    )


# ------------------------------------------------------------------------------------------------
# the real thing


def test_the_german_credit_data_with_real_methods(tmp_path):
    folder = Path(os.environ.get("EVENHAND_DATA", BESIDE))
    if not (folder / "german.csv.gz").exists():
        pytest.skip("needs german.csv.gz in EVENHAND_DATA or ../shared/data")
    data = eh.datasets.load("german", path=folder)
    women = data.features["personal_status_sex"].isin(["A92", "A95"])
    frame = data.features.drop(columns="personal_status_sex").assign(
        sex=np.where(women, "female", "male")
    )
    german = Task("german", frame, data.labels, 1, {"sex": "male"})
    names = ["reweighing", "reject-option-spd", "prejudice-remover"]
    study = Study(
        [german],
        [Model("LR", model("LR")), Model("DT", model("DT"))],
        [StudyMethod(name) for name in names],
        splits=2,
    )
    cases = run(study, tmp_path / "german.sqlite")
    assert not cases.failed
    assert len(cases.cases) == 2 * (2 * 3 + 2)
    assert {int(case.counts.sum()) for case in cases.cases if case.counts is not None} == {
        300
    }
    found = cases.comparison("german", "sex", "LR")
    assert found.runs == 2
    assert found.start[0].value == pytest.approx(0.75, abs=0.05)
    assert cases.methods["reject-option-spd"].code == "ROC_SPD"
    assert cases.to_frame().groupby("method").size().to_dict() == {
        "original": 6,
        "prejudice-remover": 2,
        "reject-option-spd": 4,
        "reweighing": 4,
    }
