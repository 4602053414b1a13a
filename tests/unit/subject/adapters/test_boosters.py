"""Model files of XGBoost, LightGBM and CatBoost, and their bare boosters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.runtime.errors import EvenhandWarning, UsageError
from evenhand.subject.adapters.boosters.xgboost import written_by
from tests.support.boosted import as_csv, decided, fitted, people
from tests.support.helpers import refused

if TYPE_CHECKING:
    from pathlib import Path

FRAME = people()
CSV = as_csv(FRAME)
SPACE = eh.Space.from_frame(CSV, protected=["sex"])
BIASED = decided(FRAME)
THREE = np.where(FRAME["gain"] > 1, 2, BIASED)
FILES = [
    ("xgboost", "model.json"),
    ("xgboost", "model.ubj"),
    ("lightgbm", "model.txt"),
    pytest.param("catboost", "model.cbm", marks=pytest.mark.heavy),
]


def saved(model: Any, library: str, file: Path) -> Path:
    if library == "lightgbm":
        model.booster_.save_model(file)
    else:
        model.save_model(str(file))
    return file


@pytest.mark.parametrize(("library", "name"), FILES)
def test_a_file_answers_as_the_model_that_it_holds(library, name, tmp_path):
    model = fitted(library, FRAME, BIASED)
    file = saved(model, library, tmp_path / name)
    subject = eh.Subject.of(library, file, SPACE, positive=1)
    assert subject.decide(CSV).tolist() == model.predict(FRAME).tolist()
    assert (
        eh.Subject.saved(file, SPACE).decide(CSV).tolist() == subject.decide(CSV).tolist()
    )
    chances = model.predict_proba(FRAME)[:, 1]
    scores = eh.Subject.of(library, file, SPACE, positive=1, output="score").decide(CSV)
    assert np.allclose(scores, chances)
    strict = eh.Subject.of(library, file, SPACE, positive=1, threshold=0.9).decide(CSV)
    assert strict.tolist() == (chances >= 0.9).astype(int).tolist()
    assert (
        subject.adapter.identity
        != eh.Subject.of(library, file, SPACE, threshold=0.9).adapter.identity
    )
    found = eh.search(subject, over="sex", budget=eh.Budget(queries=2000))
    assert found.worst.cases


@pytest.mark.parametrize(("library", "name"), FILES)
def test_several_classes(library, name, tmp_path):
    model = fitted(library, FRAME, THREE)
    subject = eh.Subject.of(library, saved(model, library, tmp_path / name), SPACE)
    assert subject.decide(CSV).tolist() == model.predict(FRAME).ravel().tolist()
    assert subject.adapter.form().classes in ((0, 1, 2), None)
    assert subject.meanings[""].classes == (0, 1, 2)


def regressor(library: str) -> Any:
    module = pytest.importorskip(library)
    if library == "xgboost":
        return module.XGBRegressor(n_estimators=5, enable_categorical=True)
    if library == "lightgbm":
        return module.LGBMRegressor(n_estimators=5, verbose=-1)
    return module.CatBoostRegressor(
        iterations=5,
        verbose=0,
        allow_writing_files=False,
        cat_features=["sex", "race"],
    )


@pytest.mark.parametrize(("library", "name"), FILES)
def test_a_regression(library, name, tmp_path):
    model = regressor(library).fit(FRAME, FRAME["gain"])
    subject = eh.Subject.of(library, saved(model, library, tmp_path / name), SPACE)
    assert np.allclose(subject.decide(CSV), model.predict(FRAME))
    assert subject.meanings[""].classes is None


def test_a_bare_booster_gives_labels():
    of_xgboost = fitted("xgboost", FRAME, BIASED)
    of_lightgbm = fitted("lightgbm", FRAME, BIASED)
    for booster, model in (
        (of_xgboost.get_booster(), of_xgboost),
        (of_lightgbm.booster_, of_lightgbm),
    ):
        subject = eh.Subject(booster, SPACE, positive=1)
        assert subject.decide(CSV).tolist() == model.predict(FRAME).tolist()


def test_a_model_trained_on_an_array_takes_columns_by_place():
    numbers = FRAME[["hours a week", "gain"]]
    space = eh.Space.from_frame(numbers)
    for library in ("xgboost", "lightgbm"):
        model = fitted(library, numbers.to_numpy(), BIASED)
        subject = eh.Subject(model, space)
        assert subject.adapter.form().columns is None
        assert subject.decide(numbers).tolist() == model.predict(numbers).tolist()
        refused(UsageError, lambda: eh.Subject(model, SPACE), "2 columns")  # noqa: B023


@pytest.mark.parametrize(("library", "name"), FILES)
@pytest.mark.parametrize("content", [b"", b"hello", b"{}", b"tree\nversion=v4\n"])
def test_a_damaged_file_is_one_sentence(library, name, content, tmp_path):
    pytest.importorskip(library)
    file = tmp_path / name
    file.write_bytes(content)
    refused(UsageError, lambda: eh.Subject.of(library, file, SPACE), name, "cannot be read")
    refused(
        UsageError,
        lambda: eh.Subject.of(library, tmp_path / f"x{name}", SPACE),
        f"did you mean '{name}'",
    )


def test_a_file_of_another_version_of_xgboost_says_both(tmp_path):
    import xgboost

    current = xgboost.__version__
    model = fitted("xgboost", FRAME, BIASED)
    assert written_by(saved(model, "xgboost", tmp_path / "m.ubj")) == current
    file = saved(model, "xgboost", tmp_path / "m.json")
    assert written_by(file) == current
    written = str([int(part) for part in current.split(".")]).replace(" ", "")
    later = file.read_text().replace(f'"version":{written}', '"version":[99,1,0]')
    file.write_text(later)
    with pytest.warns(EvenhandWarning, match=f"XGBoost 99.1.0 and is read by {current}"):
        eh.Subject.of("xgboost", file, SPACE)
    file.write_text(later.replace('"learner"', '"scholar"'))
    refused(
        UsageError,
        lambda: eh.Subject.of("xgboost", file, SPACE),
        f"written by version 99.1.0, read by {current}",
    )
