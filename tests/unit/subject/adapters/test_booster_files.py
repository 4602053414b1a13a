"""Files of boosted trees: who wrote them, who loads them, and what is said of those that fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.runtime.errors import EvenhandWarning, UsageError
from evenhand.subject.adapters.boosters import SUFFIXES, loader_of
from evenhand.subject.adapters.boosters.booster_file import check_readable, not_a_model
from evenhand.subject.adapters.boosters.catboost import CatboostAdapter, load_catboost
from evenhand.subject.adapters.boosters.lightgbm import (
    LightgbmAdapter,
    LightgbmClassifier,
    LightgbmRegressor,
    lightgbm_model,
    load_lightgbm,
)
from evenhand.subject.adapters.boosters.xgboost import (
    XgboostAdapter,
    _release,
    load_xgboost,
    written_by,
)
from tests.support.helpers import refused

TABLE = np.array([[0.0, 5], [1, 5], [2, 5], [7, 5], [8, 5], [9, 5]] * 5)
TWO = np.array([0, 0, 0, 1, 1, 1] * 5)
THREE = np.array([0, 0, 1, 1, 2, 2] * 5)


def test_suffixes_have_their_loaders():
    assert SUFFIXES == (".json", ".ubj", ".txt", ".cbm")
    assert loader_of(".json") is load_xgboost
    assert loader_of(".ubj") is load_xgboost
    assert loader_of(".txt") is load_lightgbm
    assert loader_of(".cbm") is load_catboost
    assert loader_of(".skops") is None
    assert loader_of("") is None


def test_a_file_that_cannot_be_read_offers_the_nearest(tmp_path):
    file = tmp_path / "credit.json"
    file.touch()
    check_readable(file, (".json",))
    missing = tmp_path / "credits.json"
    refused(
        UsageError,
        lambda: check_readable(missing, (".json",)),
        f"the model file '{missing}' cannot be read: No such file or directory; did you mean"
        " 'credit.json'",
    )
    refused(UsageError, lambda: check_readable(missing, (".txt",)), "check the path")


def test_what_is_no_model_names_both_versions_where_they_are_known():
    file = Path("a.json")
    plain = "the file 'a.json' cannot be read as a model of X: no trees"
    assert str(not_a_model(file, "X", ValueError("no trees"))) == plain
    named = not_a_model(file, "X", KeyError(), "written by 1, read by 2")
    assert str(named) == (
        "the file 'a.json' cannot be read as a model of X (written by 1, read by 2): KeyError"
    )


# Who wrote a file of XGBoost

VERSION = b'"version":[3,14,159]'


@pytest.mark.parametrize(
    ("content", "version"),
    [
        (b"", ""),
        (b"{}", ""),
        (VERSION, "3.14.159"),
        (b'{"version": [1, 2, 3]}', "1.2.3"),
        (b'"version":[1,2]', ""),
        (b"version[#L" + bytes(7) + b"\x03i\x02i\x01i\x00", "2.1.0"),
        (b"version[#L" + bytes(7) + b"\x03i\x0ai\x0ai\x0a}", "10.10.10"),
        (b"version[#L" + bytes(6) + b"\x03i\x02i\x01i\x00", ""),
    ],
)
def test_the_version_that_wrote_a_file(tmp_path, content, version):
    file = tmp_path / "m.json"
    file.write_bytes(content)
    assert written_by(file) == version


@pytest.mark.parametrize(("after", "version"), [(0, "3.14.159"), (1, "")])
def test_the_version_stands_in_the_last_bytes(tmp_path, after, version):
    file = tmp_path / "m.json"
    rest = b" " * (4096 - len(VERSION) + after)
    file.write_bytes(b" " * 9000 + VERSION + rest)
    assert written_by(file) == version


def test_of_a_short_file_all_is_read(tmp_path):
    file = tmp_path / "m.json"
    file.write_bytes(VERSION + b" " * (4096 - len(VERSION)))
    assert written_by(file) == "3.14.159"


@pytest.mark.parametrize(
    ("version", "release"),
    [("3.2.0", (3, 2)), ("3.2.0-dev", (3, 2)), ("10.0", (10, 0)), ("7", (7,)), ("", ())],
)
def test_a_release_is_the_first_two_numbers(version, release):
    assert _release(version) == release


def xgboost_model(kind: str, labels: Any, **options: Any) -> Any:
    xgboost = pytest.importorskip("xgboost")
    return getattr(xgboost, kind)(n_estimators=2, max_depth=2, **options).fit(TABLE, labels)


@pytest.mark.parametrize("number", [0, 1])
def test_only_a_later_release_is_warned_of(tmp_path, number, recwarn):
    model = xgboost_model("XGBClassifier", TWO)
    import xgboost

    first, second, _ = (int(part) for part in xgboost.__version__.split("."))
    file = tmp_path / "m.json"
    model.save_model(file)
    text = file.read_text()
    current = str([int(part) for part in xgboost.__version__.split(".")]).replace(" ", "")
    later = f"[{first},{second + number},999]"
    file.write_text(text.replace(f'"version":{current}', f'"version":{later}'))
    if number:
        with pytest.warns(
            EvenhandWarning, match=f"written by XGBoost {first}.{second + 1}.999"
        ):
            load_xgboost(file)
    else:
        load_xgboost(file)
        assert [
            str(one.message) for one in recwarn if one.category is EvenhandWarning
        ] == []


def test_files_of_xgboost_are_what_they_were_saved_as(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    file = tmp_path / "m.ubj"
    xgboost_model("XGBClassifier", TWO).save_model(file)
    assert type(load_xgboost(file)) is xgboost.XGBClassifier
    xgboost_model("XGBRegressor", TWO, objective="binary:logistic").save_model(file)
    assert type(load_xgboost(file)) is xgboost.XGBRegressor
    ranker = xgboost.XGBRanker(n_estimators=2)
    ranker.fit(TABLE, TWO, qid=np.repeat(np.arange(5), 6)).save_model(file)
    assert type(load_xgboost(file)) is xgboost.XGBRanker


@pytest.mark.parametrize(
    ("objective", "labels", "kind"),
    [
        ("binary:logistic", TWO, "XGBClassifier"),
        ("reg:squarederror", TWO, "XGBRegressor"),
    ],
)
def test_a_bare_booster_is_what_its_objective_says(objective, labels, kind):
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(TABLE, label=labels)
    booster = xgboost.train({"objective": objective, "max_depth": 2}, data, 2)
    assert XgboostAdapter.accepts(booster) is True
    model = XgboostAdapter.wrap(booster)
    assert type(model) is getattr(xgboost, kind)
    assert XgboostAdapter.accepts(model) is False
    assert XgboostAdapter.wrap(model) is model


# LightGBM


def booster(objective: str, labels: Any, **options: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    data = lightgbm.Dataset(TABLE, labels, params={"verbose": -1, "min_data_in_bin": 1})
    settings = {"objective": objective, "verbose": -1, "min_data_in_leaf": 1, **options}
    return lightgbm.train(settings, data, 2)


def test_two_classes_have_the_chance_of_the_second():
    made = booster("binary", TWO)
    assert LightgbmAdapter.accepts(made) is True
    model: Any = LightgbmAdapter.wrap(made)
    assert type(model) is LightgbmClassifier
    assert model.classes_.tolist() == [0, 1]
    assert model.n_features_in_ == 2
    chances = made.predict(TABLE)
    assert model.predict_proba(TABLE)[:, 1].tolist() == chances.tolist()
    assert model.predict_proba(TABLE)[:, 0].tolist() == (1 - chances).tolist()
    assert model.predict(TABLE).tolist() == (chances > 0.5).astype(int).tolist()
    assert LightgbmAdapter.wrap(model) is model
    assert LightgbmAdapter.accepts(model) is False


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_three_classes_have_a_chance_each(objective):
    made = booster(objective, THREE, num_class=3)
    model: Any = lightgbm_model(made)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(TABLE).tolist() == made.predict(TABLE).tolist()
    assert model.predict(TABLE).tolist() == THREE.tolist()


def test_a_regression_gives_numbers():
    made = booster("regression", TABLE[:, 0])
    model: Any = lightgbm_model(made)
    assert type(model) is LightgbmRegressor
    assert model.predict(TABLE).tolist() == made.predict(TABLE).tolist()


class ThreadCounting:
    """A booster that keeps how many threads it was given."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def predict(self, inputs: Any, num_threads: int) -> Any:
        self.threads.append(num_threads)
        return np.zeros(len(inputs))


def test_few_rows_are_asked_by_one_thread():
    counting = ThreadCounting()
    model = LightgbmRegressor(counting)
    for size in (1, 4095, 4096):
        model.predict(np.zeros((size, 1)))
    assert counting.threads == [1, 1, 0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"hello\n", "it begins with 'hello' instead of 'tree'"),
        (b"x" * 41, f"it begins with '{'x' * 39}…' instead of 'tree'"),
        (b"\xff\n", "it begins with '\\\\xff' instead of 'tree'"),
    ],
)
def test_a_text_that_is_no_model_says_how_it_begins(tmp_path, content, words):
    pytest.importorskip("lightgbm")
    file = tmp_path / "m.txt"
    file.write_bytes(content)
    refused(UsageError, lambda: load_lightgbm(file), "a model of LightGBM: ", words)


def test_a_file_of_lightgbm_is_loaded(tmp_path):
    made = booster("binary", TWO)
    file = tmp_path / "m.txt"
    made.save_model(file)
    assert type(load_lightgbm(file)) is LightgbmClassifier


# Adapters of files and boosters


def test_an_adapter_of_a_file_is_named_by_its_content(tmp_path):
    file = tmp_path / "m.json"
    xgboost_model("XGBClassifier", TWO).save_model(file)
    adapter = XgboostAdapter.of(file, positive=1, threshold=0.5)
    assert adapter.identity.startswith("file:")
    assert adapter.identity.endswith(":label:1:0.5")
    assert XgboostAdapter.of(str(file), identity="mine").identity == "mine:label:"
    assert XgboostAdapter.of(
        xgboost_model("XGBClassifier", TWO), identity="x"
    ).identity == ("x:label:")


def test_options_and_files_that_do_not_exist_are_refused(tmp_path):
    refused(
        UsageError,
        lambda: XgboostAdapter.of(tmp_path / "m.json", treshold=0.5),
        "adapter 'xgboost' has no option 'treshold'",
    )
    for kind in (XgboostAdapter, LightgbmAdapter, CatboostAdapter):
        file = tmp_path / f"m{kind.suffixes[0]}"
        words = f"the model file '{file}' cannot be read: No such file or directory"
        refused(UsageError, lambda: kind.of(file), words)  # noqa: B023
    assert CatboostAdapter.accepts(object()) is False
