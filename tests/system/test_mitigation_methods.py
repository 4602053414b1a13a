"""Every method of the catalogue on whole data sets, timed: `make test-mitigation`.

What was measured is printed for each: seconds, accuracy and the statistical parity difference,
before and after.
"""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from evenhand.config.study import read_study
from evenhand.mitigation.catalogue import METHODS, method, needs
from evenhand.study.models import model
from tests.support.paths import BESIDE as SHARED

pytestmark = [pytest.mark.heavy, pytest.mark.minutes]

STUDY = """
[study]
splits = 2
[[data]]
name = "{name}"
protected = {protected}
[[models]]
name = "LR"
[[methods]]
name = "reweighing"
"""
DATA = {
    "german": '{ sex = "male" }',
    "compas": '{ race = "Caucasian" }',
    "adult": '{ sex = "Male" }',
}


@pytest.fixture(scope="module", params=DATA)
def task(request, tmp_path_factory):
    if (
        not (SHARED / f"{request.param}.csv.gz").exists()
        and "EVENHAND_DATA" not in os.environ
    ):
        pytest.skip(f"needs {request.param}.csv.gz in ../shared/data or EVENHAND_DATA")
    with pytest.MonkeyPatch.context() as patch:
        if "EVENHAND_DATA" not in os.environ:
            patch.setenv("EVENHAND_DATA", str(SHARED))
        file = tmp_path_factory.mktemp("study") / "study.toml"
        file.write_text(
            STUDY.format(name=request.param, protected=DATA[request.param]),
            encoding="utf-8",
        )
        return read_study(file).study.tasks[0]


@pytest.fixture(scope="module")
def original(task):
    train, test, _ = task.split(0, 0.3, 0)
    fitted = model("LR").fit(task.frame.take(train), task.labels[train])
    return scored(task, test, fitted.predict(task.frame.take(test)))


def scored(task, rows, predicted):
    """Return accuracy, and the favourable rate of the others less that of the privileged."""
    ((column, (privileged, _)),) = task.ground.protected.items()
    side = task.frame[column].to_numpy()[rows] == privileged
    favoured = predicted == task.ground.positive
    is_right = predicted == task.labels[rows]
    gap = favoured[~side].mean() - favoured[side].mean()
    return float(is_right.mean()), float(gap)


@pytest.mark.parametrize("key", METHODS)
def test_it_runs_on_the_whole_data_set(key, task, original):
    if (missing := needs(key)) is not None:
        pytest.skip(str(missing))
    train, test, seed = task.split(0, 0.3, 0)
    ((column, (privileged, _)),) = task.ground.protected.items()
    made = method(
        key,
        model("LR"),
        over=column,
        positive=task.ground.positive,
        privileged=privileged,
        random_state=seed,
    )
    began = time.perf_counter()
    fitted = made.fit(task.frame.take(train), task.labels[train])
    predicted = fitted.predict(task.frame.take(test))
    taken = time.perf_counter() - began
    right, gap = scored(task, test, predicted)
    print(
        f"{task.name} {column}, {len(train):,} training rows, {key}: {taken:.1f} s, accuracy"
        f" {right:.3f} (original {original[0]:.3f}), spd {gap:+.3f} (original {original[1]:+.3f})"
    )
    assert len(predicted) == len(test)
    assert set(np.unique(predicted)) <= set(task.ground.labels)
    assert right > 0.5, "worse than tossing a coin"
