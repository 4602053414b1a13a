"""The paper's tables from a small study, against counts by hand, and the numbers that the paper
printed.
"""

from __future__ import annotations

import pickle
from collections import Counter
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from evenhand.methods.compare.regions import REGIONS
from evenhand.mitigation import catalogue
from evenhand.runtime.errors import UsageError
from evenhand.study import published_numbers, tables
from evenhand.study.fits import ORIGINAL, Cases, NothingToCompare
from evenhand.study.study import Model, Study, StudyMethod, Task, run
from tests.support.helpers import refused

SPLITS = 8
SHORT = {
    "lose-lose": "lose-lose",
    "poor trade-off": "poor",
    "inverted trade-off": "inverted",
    "win-win": "win-win",
}


class Nudge(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Gives the favourable label to some of those who are not privileged, or takes it away from all
    others.
    """

    kind: ClassVar[str] = "post"

    def __init__(
        self, estimator=None, *, over=None, positive=None, privileged=None, share=0.2, sides=(1,), fails=0,
        prefit=False, random_state=0,
    ):  # fmt: skip
        self.estimator, self.over, self.positive, self.privileged = (
            estimator,
            over,
            positive,
            privileged,
        )
        self.share, self.sides, self.fails, self.prefit = share, sides, fails, prefit
        self.random_state = random_state

    def fit(self, X, y):  # noqa: N803
        if self.fails and self.random_state % self.fails == 0:
            raise ValueError("no luck")
        self.model_ = self.estimator if self.prefit else clone(self.estimator).fit(X, y)
        self.other_ = next(label for label in np.unique(y) if label != self.positive)
        return self

    def predict(self, X):  # noqa: N803
        told = np.array(self.model_.predict(X))
        rng = np.random.default_rng(self.random_state)
        drawn = rng.random(len(told)) < self.share
        behind = np.asarray(X[self.over] != self.privileged)
        for side in self.sides:
            told[drawn & (behind if side > 0 else ~behind)] = (
                self.positive if side > 0 else self.other_
            )
        return told


class Alone(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A method that has a model of its own."""

    kind: ClassVar[str] = "in"
    off: ClassVar[dict[str, Any]] = {"strength": 0.0}

    def __init__(self, *, over=None, positive=None, privileged=None, strength=0.3, random_state=0):
        self.over, self.positive, self.privileged = over, positive, privileged
        self.strength, self.random_state = strength, random_state

    def fit(self, X, y):  # noqa: N803
        how = {"over": self.over, "positive": self.positive, "privileged": self.privileged}
        inner = (
            LogisticRegression()
            if len(X) > 150
            else DummyClassifier(strategy="uniform", random_state=0)
        )
        self.nudge_ = Nudge(inner, **how, share=self.strength, random_state=self.random_state).fit(
            X, y
        )
        return self

    def predict(self, X):  # noqa: N803
        return self.nudge_.predict(X)


def people(name: str, rows: int, seed: int, *columns: str, noise: float = 1.0) -> Task:
    """A data set in which everybody behind has it harder; with much noise nobody can be told apart."""
    rng = np.random.default_rng(seed)
    protected = pd.DataFrame({column: rng.integers(0, 2, rows) for column in columns})
    skill = rng.normal(size=rows)
    score = (
        skill + protected.sum(axis=1).to_numpy() * 0.8 - 0.3 + noise * rng.normal(size=rows) * 0.7
    )
    frame = protected.assign(skill=skill + 0.3 * rng.normal(size=rows), other=rng.normal(size=rows))
    return Task(name, frame, np.where(score > 0, "yes", "no"), "yes", dict.fromkeys(columns, 1))


METHODS = [
    StudyMethod("reweighing"),
    StudyMethod("EO", key="nudge", factory=Nudge),
    StudyMethod("both ways", settings={"sides": (1, -1), "share": 0.1}, factory=Nudge),
    StudyMethod("wrong way", settings={"sides": (-1,), "share": -1.0}, factory=Nudge),
    StudyMethod("flaky", settings={"fails": 3, "share": 0.3}, factory=Nudge),
    StudyMethod("broken", settings={"fails": 1}, factory=Nudge),
    StudyMethod("alone", factory=Alone),
]


@cache
def study() -> Cases:
    tasks = [
        people("adult", 400, 1, "sex", "race"),
        people("compas", 300, 2, "sex"),
        people("dice", 120, 3, "sex", noise=9),
    ]
    models = [Model("LR", LogisticRegression()), Model("DT", DecisionTreeClassifier(max_depth=6))]
    return run(Study(tasks, models, METHODS, splits=SPLITS, seed=4))


def right_and_bias(counts: Any, column: int, bias: str) -> tuple[float, float]:
    """Accuracy and bias of one table, with groups by one of the protected columns, the long way."""
    combinations = [(0, 0), (0, 1), (1, 0), (1, 1)] if len(counts) == 4 else [(0,), (1,)]
    groups = [
        sum(counts[at] for at, one in enumerate(combinations) if one[column] == side)
        for side in (0, 1)
    ]
    accuracy = sum(group[label, label] for group in groups for label in (0, 1)) / counts.sum()
    if bias == "spd":
        return accuracy, abs(np.subtract(*(group[:, 1].sum() / group.sum() for group in groups)))
    odds = [np.mean([group[label, 1] / group[label].sum() for label in (0, 1)]) for group in groups]
    return accuracy, abs(odds[0] - odds[1])


def region(point: tuple[float, float], start: tuple[float, float], end: float) -> str:
    """The paper's section 4.2 for a straight line from the original to the majority label for
    everyone.
    """
    (right, bias), (right0, bias0) = point, start
    if right > right0 + 1e-9:
        return "win-win" if bias < bias0 - 1e-9 else "inverted trade-off"
    if bias > bias0 + 1e-9:
        return "lose-lose"
    line = end + max(right0 - end, 0) * (bias / bias0 if bias0 else 1)
    return "good trade-off" if right > line + 1e-9 else "poor trade-off"


def by_hand(cases: Cases, bias: str) -> list[tuple[str, str, str, str, str]]:
    """Model, task, column, method and region of every run that counts."""
    told = {
        (c.task, c.protected, c.model, c.method, c.split): c.counts
        for c in cases.cases
        if c.counts is not None
    }
    found = []
    for task, column in cases.pairs:
        at = list(cases.tasks[task].protected).index(column)
        for model in (*cases.models, "alone"):
            first = [
                told[task, column if model == "alone" else None, model, ORIGINAL, split]
                for split in range(SPLITS)
            ]
            truth = np.sum([counts.sum(axis=(0, 2)) for counts in first], axis=0)
            most = int(np.argmax(truth))
            ends = [counts.sum(axis=(0, 2))[most] / counts.sum() for counts in first]
            starts = [right_and_bias(counts, at, bias) for counts in first]
            if np.mean([right for right, _ in starts]) <= np.mean(ends):
                continue
            for method in cases.methods:
                splits = [
                    split for split in range(SPLITS) if (task, column, model, method, split) in told
                ]
                if 2 * len(splits) > SPLITS:
                    points = {
                        s: right_and_bias(told[task, column, model, method, s], at, bias)
                        for s in splits
                    }
                    found += [
                        (model, task, column, method, region(points[s], starts[s], ends[s]))
                        for s in splits
                    ]
    return found


def counted(table: tables.Table) -> dict[str, dict[str, int]]:
    frame = table.frame
    assert frame[list(REGIONS)].sum(axis=1)[frame["cases"] > 0].to_numpy() == pytest.approx(1.0)
    return {
        name: {
            one: round(row[one] * row["cases"]) for one in REGIONS if row[one] * row["cases"] > 1e-6
        }
        for name, row in frame.iterrows()
    }


@pytest.mark.parametrize("bias", ["spd", "aod"])
def test_shares_by_method_are_those_counted_by_hand(bias):
    cases, hand = study(), by_hand(study(), bias)
    table = tables.regions_by_method(cases, bias)
    expected = {name: Counter(one[4] for one in hand if one[3] == name) for name in cases.methods}
    assert counted(table) == {**expected, "Mean": Counter(one[4] for one in hand)}
    assert table.frame.loc["broken", "cases"] == 0
    assert np.isnan(table.frame.loc["broken", "win-win"])
    assert 0 < table.frame.loc["flaky", "cases"] < table.frame.loc["EO", "cases"]
    assert len({one[4] for one in hand}) == 5, "the study shows every region"


def test_shares_by_model_and_task_are_those_counted_by_hand_over_both_biases():
    cases = study()
    hand = by_hand(cases, "spd") + by_hand(cases, "aod")
    expected = {model: Counter(one[4] for one in hand if one[0] == model) for model in cases.models}
    expected |= {
        f"{t} {p}": Counter(one[4] for one in hand if one[1:3] == (t, p)) for t, p in cases.pairs
    }
    assert counted(tables.regions_by_model_and_task(cases)) == expected
    alone = tables.regions_by_model_and_task(cases, "spd").frame
    assert alone.loc["DT", "cases"] == sum(one[0] == "DT" for one in by_hand(cases, "spd"))


@pytest.mark.parametrize("bias", ["spd", "aod"])
def test_areas_are_those_of_the_mean_point(bias):
    cases = study()
    found = tables.areas(cases, bias)
    steady = [name for name in found.frame.index if name not in ("flaky", "broken")]
    assert list(found.frame.index) == [name for name in cases.methods if name != "alone"]
    for model, task, column in found.frame.columns:
        together = cases.comparison(task, column, model, bias, methods=steady, level=1 - 0.05 / 2)
        apart = cases.comparison(task, column, model, bias, methods=["flaky"], level=1 - 0.05 / 2)
        if not any(case.method == "flaky" for case in cases.failed if case.task == task):
            together = apart = cases.comparison(
                task, column, model, bias, methods=[*steady, "flaky"]
            )
        for name, cell in found.frame[model, task, column].items():
            if name == "broken":
                assert cell == "NA"
                continue
            one = (apart if name == "flaky" else together)[name]
            said = SHORT.get(one.region) or f"{one.area:.3f}"
            assert cell == said + ("?" if len(one.plausible) > 1 else "")
        if apart is together:
            best = found.best[model, task, column]
            assert set(best) == set(together.contenders)
            gains = [together[name].gain.value for name in best]
            assert gains == sorted(gains, reverse=True)
    assert {task for _, task, _ in found.frame.columns} == {"adult", "compas", "dice"}
    assert ("LR", "dice", "sex") not in found.frame.columns
    assert ("DT", "dice", "sex") in found.frame.columns


def test_what_is_left_out_is_said_once_for_each_combination():
    found = tables.areas(study())
    dice = [line for line in found.left_out if line.startswith("dice sex, LR")]
    assert len(dice) == 1
    assert "nothing to give up" in dice[0]
    assert sum("broken failed in 8 of 8 splits" in line for line in found.left_out) == len(
        found.frame.columns
    )
    assert any(
        line.startswith("compas sex, LR, flaky: ") and "splits are left out" in line
        for line in found.notes
    )
    assert not any("alone" in line for line in (*found.left_out, *found.notes))


def test_a_method_with_its_own_model_stands_against_its_own_original():
    cases = study()
    found = tables.areas_own_model(cases, "aod")
    assert found.frame.shape == (1, 4)
    one = cases.comparison("adult", "race", "alone", "aod")["alone"]
    said = SHORT.get(one.region) or f"{one.area:.3f}"
    assert found.frame.loc["alone", ("adult", "race")].removesuffix("?") == said
    assert found.best == {}


def test_a_table_marks_who_may_be_the_best_and_reads_without_a_frame():
    found = tables.areas(study())
    text = str(found)
    assert text.count("(*)") == sum(len(names) > 1 for names in found.best.values()) + 1
    assert "left out: dice sex, LR: " in text
    assert "NA" in str(tables.regions_by_method(study())).splitlines()[7]


def test_a_study_of_methods_with_their_own_model_alone_or_of_none():
    task = people("adult", 300, 1, "sex")
    only = run(Study([task], [], [StudyMethod("alone", factory=Alone)], splits=2))
    assert tables.areas(only).frame.empty
    assert tables.areas_own_model(only).frame.shape == (1, 1)
    assert tables.regions_by_method(only).frame["cases"].tolist() == [2, 2]
    hopeless = run(Study([people("dice", 120, 3, "sex", noise=9)], [Model("LR", LogisticRegression())],
                         [StudyMethod("reweighing")], splits=3))  # fmt: skip
    assert tables.areas(hopeless).frame.shape == (1, 0)
    assert tables.regions_by_method(hopeless).frame["cases"].tolist() == [0, 0]
    assert tables.regions_by_model_and_task(hopeless).frame["win-win"].isna().all()
    assert len(tables.regions_by_model_and_task(hopeless).left_out) >= 1


def test_why_a_combination_is_left_out_is_told_without_its_place_however_the_error_is_worded(
    monkeypatch,
):
    before = tables.areas(study()).left_out
    monkeypatch.setattr(NothingToCompare, "__str__", lambda error: "Übersetzung")
    assert tables.areas(study()).left_out == before
    error = NothingToCompare("adult", "sex", "LR", "no method succeeded")
    again = pickle.loads(pickle.dumps(error))
    assert (again.args, again.place, again.reason) == (error.args, error.place, error.reason)


def test_a_score_that_is_none_is_refused_and_not_told_as_left_out():
    refused(UsageError, lambda: tables.areas(study(), "sdp"), "sdp", "spd")
    refused(
        UsageError,
        lambda: tables.regions_by_method(study(), performance="acuracy"),
        "acuracy",
        "accuracy",
    )
    refused(UsageError, lambda: published_numbers.areas("eod"), "eod", "spd", "aod")


def test_ours_and_the_papers_stand_beside_each_other_where_both_have_numbers():
    cases = study()
    ours = tables.regions_by_method(cases, "spd")
    shown = tables.beside(ours, published_numbers.regions_by_method("spd"))
    both = [name for name in shown.index if "[" in shown.loc[name, "win-win"]]
    assert both == ["reweighing", "EO", "Mean"]
    assert list(shown.index) == list(ours.frame.index)
    assert list(shown.columns) == [*REGIONS, "cases"]
    share = round(100 * ours.frame.loc["EO", "good trade-off"])
    assert shown.loc["EO", "good trade-off"] == f"{share} % [69 %]"
    assert shown.loc["EO", "cases"] == str(ours.frame.loc["EO", "cases"])
    areas = tables.areas(cases, "aod")
    cells = tables.beside(areas, published_numbers.areas("aod"))
    known = [place for place in cells.columns if "[" in cells.loc["EO", place]]
    assert known == [place for place in areas.frame.columns if place[1] != "dice"]
    assert (
        cells.loc["EO", ("LR", "adult", "sex")]
        == f"{areas.marked.loc['EO', ('LR', 'adult', 'sex')]} [0.169]"
    )
    tasks = tables.beside(
        tables.regions_by_model_and_task(cases), published_numbers.regions_by_model_and_task()
    )
    known = [name for name in tasks.index if "[" in tasks.loc[name, "win-win"]]
    assert known == ["LR", "DT", "adult sex", "adult race", "compas sex"]
    own = tables.beside(tables.areas_own_model(cases), published_numbers.areas_own_model("spd"))
    assert not own.empty
    assert not own.map(lambda cell: "[" in cell).any(axis=None)


@pytest.mark.parametrize("bias", ["spd", "aod"])
def test_the_papers_shares_add_up_and_their_mean_is_that_of_all_cases(bias):
    frame = published_numbers.regions_by_method(bias)
    assert frame.shape == (13, 5)
    assert frame.sum(axis=1).between(0.9899, 1.0101).all()
    # Of each method that takes a model there are 700 cases; PR was run on two tasks, AD on five.
    weights = [
        {"prejudice-remover": 100, "adversarial-debiasing": 250}.get(name, 700)
        for name in frame.index[:-1]
    ]
    mean = np.average(frame.iloc[:-1], axis=0, weights=weights)
    assert mean == pytest.approx(frame.loc["Mean"], abs=0.0101)
    both = sum(published_numbers.regions_by_method(one).iloc[:-1] for one in ("spd", "aod")) / 2
    tasks = published_numbers.regions_by_model_and_task().iloc[3:]
    assert np.average(both, axis=0, weights=weights) == pytest.approx(
        np.average(tasks, axis=0, weights=[1600, 1600, 1550, 1550, 1050]), abs=0.0101
    )


def test_numbers_of_the_paper_that_were_checked_by_eye():
    spd, aod = (published_numbers.regions_by_method(bias) for bias in ("spd", "aod"))
    assert (spd.loc["lfr"] * 100).round().tolist() == [19, 48, 0, 20, 13]
    assert (aod.loc["adversarial-debiasing"] * 100).round().tolist() == [55, 5, 15, 17, 8]
    assert (
        published_numbers.regions_by_model_and_task().loc["compas race"] * 100
    ).round().tolist() == [
        26,
        8,
        15,
        34,
        16,
    ]
    assert published_numbers.regions_by_model_and_task().sum(axis=1).between(0.9899, 1.0101).all()
    areas = published_numbers.areas("spd")
    assert areas.shape == published_numbers.areas("aod").shape == (10, 14)
    assert areas.loc["calibrated-fnr", ("LR", "adult", "sex")] == "0.014"
    assert areas.loc["calibrated-fpr", ("SVM", "german", "sex")] == "0.063"
    assert areas.loc["optimised-preprocessing", ("DT", "compas", "race")] == "inverted"
    assert (
        published_numbers.areas("aod").loc["reject-option-aod", ("SVM", "adult", "race")] == "0.001"
    )
    assert (areas == "0.274").sum().sum() == 1
    # Section 6.2 says that 102 of 120 pairs, alike but for the protected feature, share a region;
    # printed are 100.
    pairs = [
        (row[model, task, "sex"], row[model, task, "race"])
        for bias in ("spd", "aod")
        for _, row in published_numbers.areas(bias).iterrows()
        for model in published_numbers.MODELS
        for task in ("adult", "compas")
    ]
    alike = [
        one.startswith("0.") == other.startswith("0.") and (one.startswith("0.") or one == other)
        for one, other in pairs
    ]
    assert (len(pairs), sum(alike)) == (120, 100)
    own = published_numbers.areas_own_model("aod")
    assert own.loc["prejudice-remover"].tolist() == ["0.090", "0.011", "NA", "NA", "NA"]
    assert set(own.loc["adversarial-debiasing"]) == {"lose-lose"}


def test_methods_of_the_paper_are_those_of_the_catalogue():
    assert {
        catalogue.METHODS[key].code: key for key in published_numbers.METHODS.values()
    } == published_numbers.METHODS
    assert {entry.key for entry in catalogue.METHODS.values() if entry.paper} == set(
        published_numbers.METHODS.values()
    )
