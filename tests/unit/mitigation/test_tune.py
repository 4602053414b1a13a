"""tune: the value with the best area is found, and judged on rows that took no part."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import evenhand as eh
from evenhand.mitigation import PrejudiceRemover, RejectOption, Reweighing
from evenhand.mitigation.tune import Tuning, tune
from evenhand.results.reading import evidence_of
from evenhand.runtime.errors import DataError, UsageError
from tests.support.helpers import refused

ETAS = (1.0, 10.0, 100.0)


@pytest.fixture(scope="module")
def people() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    n = 3000
    sex = rng.choice(["f", "m"], n)
    skill = rng.normal(size=n) + 0.6 * (sex == "m")
    other = rng.normal(size=n)
    hired = skill + other + 0.5 * (sex == "m") + rng.normal(size=n) > 0.8
    frame = pd.DataFrame(
        {"sex": sex, "skill": skill + rng.normal(size=n) * 0.3, "other": other}
    )
    return frame, np.where(hired, "yes", "no")


@pytest.fixture(scope="module")
def swept(people):
    return tune(
        PrejudiceRemover(over="sex", positive="yes"), *people, values=ETAS, splits=5
    )


def model() -> object:
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    return make_pipeline(encode, LogisticRegression())


def test_the_curve_has_each_value_and_the_best_is_the_one_with_most_area(swept):
    assert swept.parameter == "eta"
    assert swept.curve["eta"].tolist() == list(ETAS)
    gains = [standing.gain.value for standing in swept.comparison.standings]
    assert swept.best == ETAS[int(np.argmax(gains))]
    assert swept.comparison.runs == 5
    biases = swept.curve["bias"].to_numpy()
    assert (np.diff(biases) < 0).all(), f"more weight on fairness, less bias: {biases}"


def test_a_tuning_has_one_line_for_each_sentence_even_with_a_line_break_in_a_name(swept):
    assert swept.sentences() == str(swept).splitlines()
    standings = [
        replace(one, name=f"{one.name}\nbest: eta = 0")
        for one in swept.comparison.standings
    ]
    broken = replace(swept, comparison=replace(swept.comparison, standings=standings))
    assert len(broken.to_text().splitlines()) == len(swept.to_text().splitlines())


def test_the_best_is_judged_alone_on_rows_that_took_no_part(people, swept):
    (standing,) = swept.chosen.standings
    assert standing.name == f"eta = {swept.best}"
    assert standing.performance.n == round(0.3 * len(people[0]))
    assert swept.chosen.runs == 1
    assert "bootstrap" in standing.performance.method


def test_rows_kept_are_in_no_split(people, monkeypatch):
    """What a row kept for the end holds changes nothing in the sweep."""
    frame, labels = people
    first = tune(
        PrejudiceRemover(over="sex", positive="yes"), frame, labels, values=[10.0], splits=2
    )
    from evenhand.runtime.random_streams import stream

    kept = stream(0, "tune", "kept").permutation(len(labels))[: round(0.3 * len(labels))]
    changed = frame.copy()
    changed.loc[kept, "skill"] = 0.0
    second = tune(
        PrejudiceRemover(over="sex", positive="yes"),
        changed,
        labels,
        values=[10.0],
        splits=2,
    )
    assert first.comparison.digest == second.comparison.digest
    assert first.chosen is not None
    assert second.chosen is not None
    assert first.chosen.digest != second.chosen.digest


def test_the_same_for_any_number_of_workers(people, swept):
    other = tune(
        PrejudiceRemover(over="sex", positive="yes"),
        *people,
        values=ETAS,
        splits=5,
        n_jobs=2,
    )
    assert other.comparison.digest == swept.comparison.digest
    assert other.chosen is not None
    assert other.chosen.digest == swept.chosen.digest


def test_a_method_with_an_estimator_is_compared_with_the_estimator_alone(people):
    method = RejectOption(model(), over="sex", positive="yes")
    found = tune(
        method,
        *people,
        values=[0.01, 0.2],
        splits=3,
        bias="aod",
        performance="balanced accuracy",
    )
    assert found.parameter == "bound"
    assert found.comparison.bias == "aod"
    from sklearn.base import clone

    from evenhand.runtime.random_streams import stream

    frame, labels = people
    rest = np.sort(
        stream(0, "tune", "kept").permutation(len(labels))[round(0.3 * len(labels)) :]
    )
    right = []
    for split in range(3):
        order = stream(0, "tune", "split", split).permutation(rest)
        cut = round(0.3 * len(order))
        test = np.sort(order[:cut])
        train = np.sort(order[cut:])
        original = clone(model()).fit(frame.iloc[train], labels[train])
        answers = original.predict(frame.iloc[test])
        truth = labels[test]
        recalls = [(answers[truth == label] == label).mean() for label in ("no", "yes")]
        right.append(np.mean(recalls))
    assert found.comparison.start[0].value == pytest.approx(np.mean(right))


def test_polars_frames_are_taken(people, swept):
    polars = pytest.importorskip("polars", reason="needs polars")
    frame = polars.DataFrame(people[0].to_dict("list"))
    found = tune(
        PrejudiceRemover(over="sex", positive="yes"),
        frame,
        people[1],
        values=ETAS,
        splits=5,
    )
    assert found.best == swept.best


def test_where_no_value_helps_none_is_chosen(people):
    """A method that only makes people's outcomes worse has no best value."""

    class Worse(PrejudiceRemover):
        def _decide(self, frame):
            answers = np.asarray(super()._decide(frame)).copy()
            if self.eta > 0:
                answers[::3] = False
                answers[(frame["sex"] == "m").to_numpy()] = True
            return answers

    found = tune(Worse(over="sex", positive="yes"), *people, values=[1.0], splits=3)
    assert found.best is None
    assert found.chosen is None
    assert "no value beats blind overwriting" in str(found)


@pytest.mark.parametrize("chosen", [True, False])
def test_a_tuning_survives_its_file(swept, chosen, tmp_path):
    found = swept if chosen else replace(swept, best=None, chosen=None)
    text = found.to_json(tmp_path / "tuning.json")
    table = json.loads(text)
    assert (table["format"], table["job"], table["verdict"], table["stop"]) == (
        2,
        "tune",
        found.verdict,
        "completed",
    )
    for again in (
        Tuning.from_json(tmp_path / "tuning.json"),
        evidence_of(table, where="tuning.json"),
    ):
        assert isinstance(again, Tuning)
        assert again.to_json() == text
        assert again.digest == found.digest
        assert (again.parameter, again.values, again.best) == ("eta", ETAS, found.best)
        assert str(again) == str(found)
        assert again.findings == found.findings == found.judged.findings
        assert (again.exit_code, again.story()) == (found.exit_code, found.story())
        assert again.to_frame().equals(found.curve)
    assert (found.judged is found.chosen) is chosen
    assert [finding.key for finding in found.findings] == [
        f"gain of {one.name}" for one in found.judged.standings
    ]


def test_files_that_are_no_tuning_are_refused(swept, tmp_path):
    path = tmp_path / "bad.json"
    table = json.loads(swept.to_json())
    for changes, words in (
        ({"job": "compare"}, "this is not an evenhand tuning"),
        ({"format": 3}, "tuning format 3 is not 2"),
        ({"chosen": 3}, "chosen: this is not an evenhand comparison"),
        (
            {"comparison": {**table["comparison"], "start": 3}},
            "comparison: this evenhand comparison is damaged",
        ),
        ({"stop": "bored"}, "bad.json: stop: unknown value 'bored'; valid choices are"),
    ):
        path.write_text(json.dumps({**table, **changes}))
        refused(UsageError, lambda: Tuning.from_json(path), "bad.json", words)


def test_values_that_json_does_not_hold_become_texts(swept):
    def read(*values):
        found = replace(swept, values=values, best=values[1])
        again = evidence_of(json.loads(found.to_json()), where="tuning.json")
        assert isinstance(again, Tuning)
        assert again.digest == found.digest
        assert again.best == again.values[1]
        return again.values

    assert read(np.float32(1), np.int64(10), True) == (1.0, 10, True)
    assert read("l1", float("inf"), None) == ("l1", "inf", None)
    assert read((1, 2), LogisticRegression(C=3), 1.0) == (
        "(1, 2)",
        "LogisticRegression(C=3)",
        1.0,
    )


def test_bad_input_is_one_sentence(people):
    frame, labels = people

    def asked(method=None, X=frame, y=labels, values=(1.0,), **more):  # noqa: N803
        given = method or PrejudiceRemover(over="sex", positive="yes")
        return lambda: tune(given, X, y, values=values, **more)

    refused(UsageError, asked(values=()), "values is empty")
    refused(UsageError, asked(parameter="et"), "did you mean 'eta'")
    refused(
        UsageError, asked(Reweighing(model(), over="sex")), "names no parameter to tune"
    )
    refused(UsageError, asked(splits=1), "splits = 1")
    refused(UsageError, asked(test_size=1.5), "test_size = 1.5")
    refused(DataError, asked(y=labels[1:]), "3,000 rows and 2,999 labels")
    refused(
        DataError,
        asked(PrejudiceRemover(over="sexx", positive="yes")),
        "did you mean 'sex'",
    )
    refused(
        UsageError,
        asked(RejectOption(over="sex", positive="yes")),
        "no estimator to compare with",
    )


def test_it_draws_itself(swept):
    pytest.importorskip("matplotlib", reason="needs matplotlib")
    display = swept.plot()
    assert display.figure_ is not None
    assert isinstance(swept.comparison, eh.Comparison)
