"""The paper's tables from a small study, against counts by hand, and its printed numbers."""

from __future__ import annotations

import pickle
from collections import Counter
from functools import cache
from typing import Any, ClassVar, NamedTuple

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
    """Gives the favourable label to some of the unprivileged, or takes it from the others."""

    kind: ClassVar[str] = "post"

    def __init__(
        self,
        estimator=None,
        *,
        over=None,
        positive=None,
        privileged=None,
        share=0.2,
        sides=(1,),
        fails=0,
        prefit=False,
        random_state=0,
    ):
        self.estimator = estimator
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.share = share
        self.sides = sides
        self.fails = fails
        self.prefit = prefit
        self.random_state = random_state

    def fit(self, X, y):  # noqa: N803
        if self.fails and self.random_state % self.fails == 0:
            raise ValueError("no luck")
        if self.prefit:
            self.model_ = self.estimator
        else:
            self.model_ = clone(self.estimator).fit(X, y)
        self.other_ = next(label for label in np.unique(y) if label != self.positive)
        return self

    def predict(self, X):  # noqa: N803
        answers = np.array(self.model_.predict(X))
        rng = np.random.default_rng(self.random_state)
        drawn = rng.random(len(answers)) < self.share
        behind = np.asarray(X[self.over] != self.privileged)
        for side in self.sides:
            if side > 0:
                answers[drawn & behind] = self.positive
            else:
                answers[drawn & ~behind] = self.other_
        return answers


class Alone(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A method that has a model of its own."""

    kind: ClassVar[str] = "in"
    off: ClassVar[dict[str, Any]] = {"strength": 0.0}

    def __init__(
        self,
        *,
        over=None,
        positive=None,
        privileged=None,
        strength=0.3,
        random_state=0,
    ):
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.strength = strength
        self.random_state = random_state

    def fit(self, X, y):  # noqa: N803
        if len(X) > 150:
            inner = LogisticRegression()
        else:
            inner = DummyClassifier(strategy="uniform", random_state=0)
        nudge = Nudge(
            inner,
            over=self.over,
            positive=self.positive,
            privileged=self.privileged,
            share=self.strength,
            random_state=self.random_state,
        )
        self.nudge_ = nudge.fit(X, y)
        return self

    def predict(self, X):  # noqa: N803
        return self.nudge_.predict(X)


def people(name: str, rows: int, seed: int, *columns: str, noise: float = 1.0) -> Task:
    """A data set in which the unprivileged have it harder; much noise hides everything."""
    rng = np.random.default_rng(seed)
    protected = pd.DataFrame({column: rng.integers(0, 2, rows) for column in columns})
    advantage = protected.sum(axis=1).to_numpy() * 0.8
    skill = rng.normal(size=rows)
    luck = noise * rng.normal(size=rows) * 0.7
    is_favourable = skill + advantage - 0.3 + luck > 0
    measured_skill = skill + 0.3 * rng.normal(size=rows)
    frame = protected.assign(
        skill=measured_skill,
        other=rng.normal(size=rows),
    )
    return Task(
        name,
        frame,
        labels=np.where(is_favourable, "yes", "no"),
        positive="yes",
        protected=dict.fromkeys(columns, 1),
    )


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
    models = [
        Model("LR", LogisticRegression()),
        Model("DT", DecisionTreeClassifier(max_depth=6)),
    ]
    return run(Study(tasks, models, METHODS, splits=SPLITS, seed=4))


def right_and_bias(counts: Any, column: int, bias: str) -> tuple[float, float]:
    """Accuracy and bias of one table, with groups by one of the protected columns, the long way."""
    combinations: list[tuple[int, ...]] = [(0,), (1,)]
    if len(counts) == 4:
        combinations = [(0, 0), (0, 1), (1, 0), (1, 1)]
    groups = [np.zeros((2, 2)), np.zeros((2, 2))]
    for place, combination in enumerate(combinations):
        groups[combination[column]] += counts[place]
    right = sum(np.trace(group) for group in groups)
    accuracy = right / counts.sum()
    if bias == "spd":
        rates = [group[:, 1].sum() / group.sum() for group in groups]
    else:
        rates = [_mean_rate_by_truth(group) for group in groups]
    return accuracy, abs(rates[0] - rates[1])


def _mean_rate_by_truth(group: Any) -> float:
    negatives, positives = group
    false_positive_rate = negatives[1] / negatives.sum()
    true_positive_rate = positives[1] / positives.sum()
    return float(np.mean([false_positive_rate, true_positive_rate]))


def region(point: tuple[float, float], start: tuple[float, float], end: float) -> str:
    """The paper's section 4.2, for a straight line from the original to one label for everyone."""
    right, bias = point
    right_of_original, bias_of_original = start
    if right > right_of_original + 1e-9:
        return "win-win" if bias < bias_of_original - 1e-9 else "inverted trade-off"
    if bias > bias_of_original + 1e-9:
        return "lose-lose"
    share = bias / bias_of_original if bias_of_original else 1
    line = end + max(right_of_original - end, 0) * share
    return "good trade-off" if right > line + 1e-9 else "poor trade-off"


class Run(NamedTuple):
    """A run that counts, and its region by hand."""

    model: str
    task: str
    column: str
    method: str
    region: str


Counts = dict[tuple[str, str | None, str, str, int], Any]


def by_hand(cases: Cases, bias: str) -> list[Run]:
    """Every run that counts."""
    counts: Counts = {}
    for case in cases.cases:
        if case.counts is not None:
            key = (case.task, case.protected, case.model, case.method, case.split)
            counts[key] = case.counts
    found = []
    for task, column in cases.pairs:
        place = list(cases.tasks[task].protected).index(column)
        for model in (*cases.models, "alone"):
            original_column = column if model == "alone" else None
            originals = []
            for split in range(SPLITS):
                originals.append(counts[task, original_column, model, ORIGINAL, split])
            starts = [right_and_bias(table, place, bias) for table in originals]
            ends = _rights_of_majority_label(originals)
            if np.mean([right for right, _ in starts]) <= np.mean(ends):
                continue
            for method in cases.methods:
                regions = []
                for split in range(SPLITS):
                    table = counts.get((task, column, model, method, split))
                    if table is not None:
                        point = right_and_bias(table, place, bias)
                        regions.append(region(point, starts[split], ends[split]))
                if 2 * len(regions) > SPLITS:
                    found += [Run(model, task, column, method, name) for name in regions]
    return found


def _rights_of_majority_label(tables_of_splits: list[Any]) -> list[float]:
    """How often the label that is most common over all splits is right, split by split."""
    truths = [table.sum(axis=(0, 2)) for table in tables_of_splits]
    majority = int(np.argmax(np.sum(truths, axis=0)))
    return [truth[majority] / truth.sum() for truth in truths]


def counted(table: Any) -> dict[str, dict[str, int]]:
    """The number of cases in each region, for each row of a table."""
    frame = table.frame
    shares = frame[list(REGIONS)].sum(axis=1)
    assert shares[frame["cases"] > 0].to_numpy() == pytest.approx(1.0)
    found: dict[str, dict[str, int]] = {}
    for name, row in frame.iterrows():
        found[name] = {}
        for region_name in REGIONS:
            number = row[region_name] * row["cases"]
            if number > 1e-6:
                found[name][region_name] = round(number)
    return found


@pytest.mark.parametrize("bias", ["spd", "aod"])
def test_shares_by_method_are_those_counted_by_hand(bias):
    cases = study()
    runs = by_hand(cases, bias)
    table = tables.regions_by_method(cases, bias)
    expected: dict[str, Counter[str]] = {name: Counter() for name in cases.methods}
    expected["Mean"] = Counter()
    for one_run in runs:
        expected[one_run.method][one_run.region] += 1
        expected["Mean"][one_run.region] += 1
    assert counted(table) == expected
    number_of_cases = table.frame["cases"]
    assert number_of_cases["broken"] == 0
    assert np.isnan(table.frame.loc["broken", "win-win"])
    assert 0 < number_of_cases["flaky"] < number_of_cases["EO"]
    assert len(expected["Mean"]) == 5, "the study shows every region"


def test_shares_by_model_and_task_are_those_counted_by_hand_over_both_biases():
    cases = study()
    runs_by_spd = by_hand(cases, "spd")
    runs = runs_by_spd + by_hand(cases, "aod")
    expected: dict[str, Counter[str]] = {model: Counter() for model in cases.models}
    for task, column in cases.pairs:
        expected[f"{task} {column}"] = Counter()
    for one_run in runs:
        expected[f"{one_run.task} {one_run.column}"][one_run.region] += 1
        if one_run.model in cases.models:
            expected[one_run.model][one_run.region] += 1
    assert counted(tables.regions_by_model_and_task(cases)) == expected
    alone = tables.regions_by_model_and_task(cases, "spd").frame
    runs_of_tree = [one_run for one_run in runs_by_spd if one_run.model == "DT"]
    assert alone.loc["DT", "cases"] == len(runs_of_tree)


@pytest.mark.parametrize("bias", ["spd", "aod"])
def test_areas_are_those_of_the_mean_point(bias):
    cases = study()
    found = tables.areas(cases, bias)
    steady = [name for name in found.frame.index if name not in ("flaky", "broken")]
    assert list(found.frame.index) == [name for name in cases.methods if name != "alone"]
    for model, task, column in found.frame.columns:
        place = (task, column, model, bias)
        flaky_failures = [
            case for case in cases.failed if case.task == task and case.method == "flaky"
        ]
        if flaky_failures:
            # Two groups of methods share the level of 0.95.
            together = cases.comparison(*place, methods=steady, level=1 - 0.05 / 2)
            apart = cases.comparison(*place, methods=["flaky"], level=1 - 0.05 / 2)
        else:
            together = cases.comparison(*place, methods=[*steady, "flaky"])
            apart = together
        for name, cell in found.frame[model, task, column].items():
            if name == "broken":
                assert cell == "NA"
                continue
            standing = (apart if name == "flaky" else together)[name]
            mark = "?" if len(standing.plausible) > 1 else ""
            assert cell == f"{cell_text(standing)}{mark}"
        if apart is together:
            best = found.best[model, task, column]
            assert set(best) == set(together.contenders)
            gains = [together[name].gain.value for name in best]
            assert gains == sorted(gains, reverse=True)
    assert {task for _, task, _ in found.frame.columns} == {"adult", "compas", "dice"}
    assert ("LR", "dice", "sex") not in found.frame.columns
    assert ("DT", "dice", "sex") in found.frame.columns


def cell_text(standing: Any) -> str:
    """The area of a good trade-off, or else the short name of the region."""
    if standing.region in SHORT:
        return SHORT[standing.region]
    return f"{standing.area:.3f}"


def test_what_is_left_out_is_listed_once_for_each_combination():
    found = tables.areas(study())
    dice = [line for line in found.left_out if line.startswith("dice sex, LR")]
    assert len(dice) == 1
    assert "nothing to give up" in dice[0]
    broken = [line for line in found.left_out if "broken failed in 8 of 8 splits" in line]
    assert len(broken) == len(found.frame.columns)
    flaky = [line for line in found.notes if line.startswith("compas sex, LR, flaky: ")]
    assert any("splits are left out" in line for line in flaky)
    assert not any("alone" in line for line in (*found.left_out, *found.notes))


def test_a_method_with_its_own_model_stands_against_its_own_original():
    cases = study()
    found = tables.areas_own_model(cases, "aod")
    assert found.frame.shape == (1, 4)
    standing = cases.comparison("adult", "race", "alone", "aod")["alone"]
    cell = found.frame.loc["alone", ("adult", "race")]
    assert cell.removesuffix("?") == cell_text(standing)
    assert found.best == {}


def test_a_table_marks_who_may_be_the_best_and_reads_without_a_frame():
    found = tables.areas(study())
    text = str(found)
    undecided = [names for names in found.best.values() if len(names) > 1]
    in_the_legend = 1
    assert text.count("(*)") == len(undecided) + in_the_legend
    assert "left out: dice sex, LR: " in text
    lines = str(tables.regions_by_method(study())).splitlines()
    assert "NA" in lines[7]


def test_a_study_of_methods_with_their_own_model_alone():
    task = people("adult", 300, 1, "sex")
    methods = [StudyMethod("alone", factory=Alone)]
    cases = run(Study([task], [], methods, splits=2))
    assert tables.areas(cases).frame.empty
    own_models = tables.areas_own_model(cases)
    assert own_models.frame.shape == (1, 1)
    by_method = tables.regions_by_method(cases)
    assert by_method.frame["cases"].tolist() == [2, 2]


def test_a_study_without_any_line():
    dice = people("dice", 120, 3, "sex", noise=9)
    models = [Model("LR", LogisticRegression())]
    methods = [StudyMethod("reweighing")]
    cases = run(Study([dice], models, methods, splits=3))
    areas = tables.areas(cases)
    assert areas.frame.shape == (1, 0)
    by_method = tables.regions_by_method(cases)
    assert by_method.frame["cases"].tolist() == [0, 0]
    by_model_and_task = tables.regions_by_model_and_task(cases)
    assert by_model_and_task.frame["win-win"].isna().all()
    assert len(by_model_and_task.left_out) >= 1


def test_why_a_combination_is_left_out_does_not_depend_on_the_wording_of_the_error(
    monkeypatch,
):
    before = tables.areas(study()).left_out
    monkeypatch.setattr(NothingToCompare, "__str__", lambda error: "Übersetzung")
    assert tables.areas(study()).left_out == before
    error = NothingToCompare("adult", "sex", "LR", "no method succeeded")
    again = pickle.loads(pickle.dumps(error))
    assert (again.args, again.place, again.reason) == (
        error.args,
        error.place,
        error.reason,
    )


def test_an_unknown_score_is_refused_and_not_listed_as_left_out():
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
    both = tables.beside(ours, published_numbers.regions_by_method("spd"))
    assert with_brackets(both["win-win"]) == ["reweighing", "EO", "Mean"]
    assert list(both.index) == list(ours.frame.index)
    assert list(both.columns) == [*REGIONS, "cases"]
    share = round(100 * ours.frame.loc["EO", "good trade-off"])
    assert both.loc["EO", "good trade-off"] == f"{share} % [69 %]"
    assert both.loc["EO", "cases"] == str(ours.frame.loc["EO", "cases"])


def test_areas_and_models_stand_beside_the_papers_too():
    cases = study()
    areas = tables.areas(cases, "aod")
    cells = tables.beside(areas, published_numbers.areas("aod"))
    known = [place for place in areas.frame.columns if place[1] != "dice"]
    assert with_brackets(cells.loc["EO"]) == known
    place = ("LR", "adult", "sex")
    our_cell = areas.marked.loc["EO", place]
    assert cells.loc["EO", place] == f"{our_cell} [0.169]"
    tasks = tables.beside(
        tables.regions_by_model_and_task(cases),
        published_numbers.regions_by_model_and_task(),
    )
    expected = ["LR", "DT", "adult sex", "adult race", "compas sex"]
    assert with_brackets(tasks["win-win"]) == expected
    own = tables.beside(
        tables.areas_own_model(cases),
        published_numbers.areas_own_model("spd"),
    )
    assert not own.empty
    assert not own.map(lambda cell: "[" in cell).any(axis=None)


def with_brackets(cells: Any) -> list[Any]:
    """The names of the cells that show a number of the paper."""
    return [name for name, cell in cells.items() if "[" in cell]


@pytest.mark.parametrize("bias", ["spd", "aod"])
def test_the_papers_shares_add_up_and_their_mean_is_that_of_all_cases(bias):
    frame = published_numbers.regions_by_method(bias)
    assert frame.shape == (13, 5)
    sums = frame.sum(axis=1)
    assert sums.between(0.9899, 1.0101).all()
    # Of each method that takes a model there are 700 cases; PR was run on two tasks, AD on five.
    own_models = {"prejudice-remover": 100, "adversarial-debiasing": 250}
    weights = [own_models.get(name, 700) for name in frame.index[:-1]]
    mean = np.average(frame.iloc[:-1], axis=0, weights=weights)
    assert mean == pytest.approx(frame.loc["Mean"], abs=0.0101)
    spd = published_numbers.regions_by_method("spd").iloc[:-1]
    aod = published_numbers.regions_by_method("aod").iloc[:-1]
    mean_of_both = (spd + aod) / 2
    by_method = np.average(mean_of_both, axis=0, weights=weights)
    tasks = published_numbers.regions_by_model_and_task().iloc[3:]
    cases_of_tasks = [1600, 1600, 1550, 1550, 1050]
    by_task = np.average(tasks, axis=0, weights=cases_of_tasks)
    assert by_method == pytest.approx(by_task, abs=0.0101)


def test_numbers_of_the_paper_that_were_checked_by_eye():
    spd = published_numbers.regions_by_method("spd")
    aod = published_numbers.regions_by_method("aod")
    by_model_and_task = published_numbers.regions_by_model_and_task()
    assert percent(spd.loc["lfr"]) == [19, 48, 0, 20, 13]
    assert percent(aod.loc["adversarial-debiasing"]) == [55, 5, 15, 17, 8]
    assert percent(by_model_and_task.loc["compas race"]) == [26, 8, 15, 34, 16]
    sums = by_model_and_task.sum(axis=1)
    assert sums.between(0.9899, 1.0101).all()
    areas = published_numbers.areas("spd")
    areas_by_aod = published_numbers.areas("aod")
    assert areas.shape == areas_by_aod.shape == (10, 14)
    assert areas.loc["calibrated-fnr", ("LR", "adult", "sex")] == "0.014"
    assert areas.loc["calibrated-fpr", ("SVM", "german", "sex")] == "0.063"
    assert areas.loc["optimised-preprocessing", ("DT", "compas", "race")] == "inverted"
    assert areas_by_aod.loc["reject-option-aod", ("SVM", "adult", "race")] == "0.001"
    is_largest = areas == "0.274"
    assert is_largest.sum().sum() == 1
    own = published_numbers.areas_own_model("aod")
    assert own.loc["prejudice-remover"].tolist() == ["0.090", "0.011", "NA", "NA", "NA"]
    assert set(own.loc["adversarial-debiasing"]) == {"lose-lose"}


def percent(shares: Any) -> list[float]:
    return list((shares * 100).round())


def test_100_of_120_printed_pairs_of_sex_and_race_share_a_region():
    # Section 6.2 of the paper says 102.
    alike = []
    for bias in ("spd", "aod"):
        for _, row in published_numbers.areas(bias).iterrows():
            for model in published_numbers.MODELS:
                for task in ("adult", "compas"):
                    by_sex = region_of_cell(row[model, task, "sex"])
                    by_race = region_of_cell(row[model, task, "race"])
                    alike.append(by_sex == by_race)
    assert (len(alike), sum(alike)) == (120, 100)


def region_of_cell(cell: str) -> str:
    """The region that a cell of a table of areas stands for; an area is a good trade-off."""
    return "good" if cell.startswith("0.") else cell


def test_methods_of_the_paper_are_those_of_the_catalogue():
    keys = published_numbers.METHODS.values()
    by_code = {catalogue.METHODS[key].code: key for key in keys}
    assert by_code == published_numbers.METHODS
    of_the_paper = {method.key for method in catalogue.METHODS.values() if method.paper}
    assert of_the_paper == set(keys)
