from __future__ import annotations

import builtins
import hashlib
import os
import pickle
import re
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from evenhand.runtime.errors import EvenhandWarning, MissingExtra, UsageError
from evenhand.subject.adapters.model_file import ModelFile
from evenhand.subject.adapters.saved import load_model, save_model
from tests.support.helpers import refused

X = np.array([[0.0], [1.0], [2.0], [3.0]])
Y = np.array(["no", "no", "yes", "yes"])


def halved(values: Any) -> Any:
    return values / 2


@pytest.fixture
def model():
    return DecisionTreeClassifier(random_state=0).fit(X, Y)


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(UsageError) as caught:
        load_model(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message


def test_skops_round_trip(tmp_path):
    sio = pytest.importorskip("skops.io")
    sio.dump(LogisticRegression(C=1000).fit(X, Y), tmp_path / "m.skops")
    assert (load_model(tmp_path / "m.skops").predict(X) == Y).all()


def test_skops_types_must_be_trusted_by_name(tmp_path):
    sio = pytest.importorskip("skops.io")
    path = tmp_path / "m.skops"
    sio.dump(
        make_pipeline(
            FunctionTransformer(halved), DecisionTreeClassifier(random_state=0)
        ).fit(X, Y),
        path,
    )
    message = refusal(path)
    assert "halved" in message
    assert "trusted = [" in message
    wanted = message[message.index("[") + 2 : message.index("]") - 1].split("', '")
    assert (load_model(path, trusted=wanted).predict(X) == Y).all()


def test_damaged_skops_is_one_sentence(model, tmp_path):
    sio = pytest.importorskip("skops.io")
    path = tmp_path / "m.skops"
    sio.dump(model, path)
    content = path.read_bytes()
    for damaged in (b"", b"hello", content[: len(content) // 2]):
        path.write_bytes(damaged)
        assert "cannot be loaded by skops" in refusal(path)


class Bomb:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib", ".PKL"])
def test_pickles_are_not_opened_unless_allowed(tmp_path, suffix):
    path, mark = tmp_path / f"m{suffix}", tmp_path / "exploded"
    path.write_bytes(pickle.dumps(Bomb(mark)))
    message = refusal(path)
    assert "runs any code" in message
    assert "allow_pickle = true" in message
    assert not mark.exists()
    refusal(path, allow_pickle=True)
    assert mark.exists()


def test_pickle_and_joblib_round_trip(model, tmp_path):
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    joblib.dump(model, tmp_path / "m.joblib", compress=3)
    for name in ("m.pkl", "m.joblib"):
        assert (load_model(tmp_path / name, allow_pickle=True).predict(X) == Y).all()


def test_damaged_pickle_is_one_sentence(model, tmp_path):
    path = tmp_path / "m.pkl"
    for content in (b"", b"hello", pickle.dumps(model)[:50], b"cos\nno_such_thing\n."):
        path.write_bytes(content)
        assert "cannot be unpickled" in refusal(path, allow_pickle=True)
    path.write_bytes(b"cno_such_module\nThing\n.")
    assert "needs the module 'no_such_module'" in refusal(path, allow_pickle=True)


def test_a_library_that_is_not_installed_is_named_with_its_extra(tmp_path, monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")
    path = tmp_path / "m.pkl"
    fitted = lightgbm.LGBMClassifier(n_estimators=1, verbose=-1).fit(X, Y)
    path.write_bytes(pickle.dumps(fitted))
    fitted.booster_.save_model(tmp_path / "m.txt")
    for name in [name for name in sys.modules if name.partition(".")[0] == "lightgbm"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert "pip install 'evenhand[lightgbm]'" in refusal(path, allow_pickle=True)
    assert "pip install 'evenhand[lightgbm]'" in refusal(tmp_path / "m.txt")


def test_both_versions_of_a_pickle_are_named(tmp_path):
    current = sklearn.__version__
    other = "0" + current[1:]  # as long, so that the pickle stays one
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    pickled = pickle.dumps(pipeline)
    assert current.encode() in pickled
    path = tmp_path / "m.pkl"
    path.write_bytes(pickled.replace(current.encode(), other.encode()))
    with pytest.warns(EvenhandWarning) as given:
        load_model(path, allow_pickle=True)
    assert len(given) == 1  # and not one for each part
    sentence = str(given[0].message)
    assert other in sentence
    assert current in sentence
    assert "m.pkl" in sentence
    broken = pickled.replace(b"sklearn.pipeline", b"sklearn.pipelino")
    path.write_bytes(broken.replace(current.encode(), other.encode()))
    message = refusal(path, allow_pickle=True)
    assert "needs the module 'sklearn.pipelino'" in message
    broken = pickled.replace(b"StandardScaler", b"StandardScaled")
    path.write_bytes(broken.replace(current.encode(), other.encode()))
    message = refusal(path, allow_pickle=True)
    assert f"saved by scikit-learn {other}, loaded by {current}" in message


def test_both_versions_of_a_skops_file_are_named(tmp_path):
    current = sklearn.__version__
    path = tmp_path / "m.skops"
    save_model(LogisticRegression().fit(X, Y), path)
    with zipfile.ZipFile(path) as archive:
        schema = archive.read("schema.json").decode()
    changed = tmp_path / "other.skops"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                content = schema.replace(current, "0.9.9").encode()
            new.writestr(name, content)
    with pytest.warns(EvenhandWarning, match=rf"0\.9\.9 .* {re.escape(current)}"):
        load_model(changed)


def test_what_is_no_fitted_model_is_refused(tmp_path):
    path = tmp_path / "m.pkl"
    path.write_bytes(pickle.dumps({"model": 1}))
    assert "holds a dict, which cannot predict" in refusal(path, allow_pickle=True)
    path.write_bytes(pickle.dumps(DecisionTreeClassifier()))
    assert "DecisionTreeClassifier" in refusal(path, allow_pickle=True)
    assert "is not fitted" in refusal(path, allow_pickle=True)


def test_suffixes(tmp_path):
    assert "Subject.onnx" in refusal(tmp_path / "m.onnx")
    assert "did you mean '.skops'?" in refusal(tmp_path / "m.skop")
    assert "unknown suffix ''" in refusal(tmp_path / "model")


def test_a_missing_file_offers_the_nearest(model, tmp_path):
    (tmp_path / "credit.skops").touch()
    assert "did you mean 'credit.skops'?" in refusal(tmp_path / "credits.skops")
    assert "check the path" in refusal(tmp_path / "nowhere" / "credit.skops")
    (tmp_path / "folder.skops").mkdir()
    assert "Is a directory" in refusal(tmp_path / "folder.skops")


def test_identity_is_of_the_content(tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(b"one")
    one = ModelFile.of(path)
    assert one == ("m.skops", hashlib.sha256(b"one").hexdigest())
    assert one.identity == f"file:{one.digest}"
    path.write_bytes(b"two")
    assert ModelFile.of(path).digest == hashlib.sha256(b"two").hexdigest()


def test_without_skops_the_extra_is_named(tmp_path, monkeypatch):
    (tmp_path / "m.skops").touch()
    real_import = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("skops"):
            raise ImportError(name)
        return real_import(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"evenhand\[skops\]"):
        load_model(tmp_path / "m.skops")


def test_a_saved_model_is_known_to_a_ledger_by_its_file(tmp_path):
    from evenhand import Space, Subject, integer

    file = tmp_path / "model.pkl"
    joblib.dump(LogisticRegression().fit([[0], [1]], [0, 1]), file)
    subject = Subject.saved(
        file,
        Space([integer("x", 0, 1)]),
        allow_pickle=True,
        ledger=tmp_path / "a.ledger",
    )
    assert subject.adapter.identity.startswith(ModelFile.of(file).identity)
    assert subject.decide([{"x": 0}, {"x": 1}]).tolist() == [0, 1]
    subject.close()


def evened(model: Any, **options: Any) -> Any:
    from evenhand.methods.repair.methods.evened import Evened
    from evenhand.space.feature import category, integer
    from evenhand.space.space import Space

    space = Space(
        [
            category("sex", [False, True]),
            integer("age", 0, 9),
        ],
        ["sex"],
        ["age < 9 or not sex"],
    )
    return Evened(model, space, **options)


PEOPLE = np.array([[age % 2, age] for age in range(10)])
DECIDED = np.array(["no", "no", "yes", "no", "yes", "no", "yes", "yes", "yes", "yes"])


@pytest.mark.parametrize("suffix", [".skops", ".joblib", ".pkl", ".pickle", ".SKOPS"])
@pytest.mark.parametrize(
    "options",
    [{}, {"how": "majority", "weights": {False: 2, True: 1.5}}, {"weights": "rows"}],
)
def test_evened_models_come_back_as_they_were(tmp_path, suffix, options):
    if suffix.lower() == ".skops":
        pytest.importorskip("skops")
    even = evened(LogisticRegression(C=100), **options).fit(PEOPLE, DECIDED)
    assert save_model(even, tmp_path / f"m{suffix}") == []
    again = load_model(tmp_path / f"m{suffix}", allow_pickle=True)
    assert (again.predict(PEOPLE) == even.predict(PEOPLE)).all()
    assert (again.predict_proba(PEOPLE) == even.predict_proba(PEOPLE)).all()
    assert again.space == even.space
    assert again.cost == even.cost
    assert again.get_params()["how"] == even.how
    assert [file.name for file in tmp_path.iterdir()] == [f"m{suffix}"]


def test_saving_says_what_must_be_trusted_to_load(model, tmp_path):
    pytest.importorskip("skops")
    for saved in (model, evened(DecisionTreeClassifier().fit(PEOPLE, DECIDED))):
        trusted = save_model(saved, tmp_path / "m.skops")
        assert not any(name.startswith("evenhand") for name in trusted)
        assert type(load_model(tmp_path / "m.skops", trusted=trusted)) is type(saved)
        if trusted:
            assert "trusted = " in refusal(tmp_path / "m.skops")


def test_what_skops_cannot_keep_is_offered_as_joblib(tmp_path):
    pytest.importorskip("skops")
    model = make_pipeline(
        FunctionTransformer(lambda values: values), LogisticRegression()
    ).fit(X, Y)
    refused(
        UsageError,
        lambda: save_model(model, tmp_path / "m.skops"),
        "cannot keep this Pipeline",
        "'m.joblib'",
    )
    named = make_pipeline(FunctionTransformer(halved), LogisticRegression(C=1000)).fit(X, Y)
    assert any("halved" in name for name in save_model(named, tmp_path / "n.skops"))
    even = evened(LogisticRegression()).fit(PEOPLE, DECIDED)
    even.space = type(even.space)(even.space.features, ["sex"], [halved])
    refused(
        UsageError,
        lambda: save_model(even, tmp_path / "m.skops"),
        "halved",
        "is a function",
        "'m.joblib'",
    )
    save_model(even, tmp_path / "m.joblib")
    assert load_model(tmp_path / "m.joblib", allow_pickle=True).space == even.space
    message = refused(
        UsageError,
        lambda: save_model(model, tmp_path / "m.pkl"),
        "cannot be pickled",
    )
    assert "m.pkl" in message
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.joblib", "n.skops"]


def test_what_cannot_be_saved_is_refused_in_one_sentence(model, tmp_path):
    refused(
        UsageError,
        lambda: save_model(model, tmp_path / "m.skop"),
        "suffix '.skop'",
        "did you mean '.skops'?",
    )
    refused(
        UsageError,
        lambda: save_model(model, tmp_path / "m.onnx"),
        "unknown suffix '.onnx'",
    )
    refused(
        UsageError,
        lambda: save_model(model, tmp_path / "no" / "m.pkl"),
        "there is no folder",
    )
    refused(UsageError, lambda: save_model({}, tmp_path / "m.pkl"), "{} cannot predict")
    refused(
        UsageError,
        lambda: save_model(DecisionTreeClassifier(), tmp_path / "m.pkl"),
        "is not fitted",
    )
    (tmp_path / "folder.pkl").mkdir()
    refused(
        UsageError,
        lambda: save_model(model, tmp_path / "folder.pkl"),
        "Is a directory",
    )


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
@pytest.mark.parametrize(
    "case", ["read-only file", "read-only folder", "unreachable folder"]
)
def test_what_is_not_to_be_written_is_left_alone(model, case):
    # Not tmp_path: pytest keeps that for its owner alone, and who has no privileges must reach the
    # file.
    with tempfile.TemporaryDirectory() as outer:
        Path(outer).chmod(0o755)
        folder = Path(outer) / "models"
        folder.mkdir()
        file = folder / "m.pkl"
        if case == "read-only file":
            file.write_bytes(b"kept")
            file.chmod(0o444)
        folder.chmod(
            {"read-only folder": 0o555, "unreachable folder": 0o000}.get(case, 0o777)
        )
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            refused(
                UsageError,
                lambda: save_model(model, file),
                "m.pkl' cannot be written: Permission denied",
            )
        finally:
            os.seteuid(user)
            folder.chmod(0o777)
        assert [found.read_bytes() for found in folder.iterdir()] == [b"kept"] * (
            case == "read-only file"
        )


def test_saving_without_skops_names_the_extra(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(MissingExtra, match=r"evenhand\[skops\]"):
        save_model(model, tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


def test_a_pickle_is_plain_and_a_joblib_file_is_not(tmp_path):
    model = LogisticRegression().fit(X, Y)
    for name in ("m.pkl", "m.pickle", "m.PKL"):
        assert save_model(model, tmp_path / name) == []
        content = (tmp_path / name).read_bytes()
        assert pickle.loads(content).predict(X).tolist() == model.predict(X).tolist()
        assert b"joblib" not in content
    for name in ("m.joblib", "m.JOBLIB"):
        save_model(model, tmp_path / name)
        assert b"joblib" in (tmp_path / name).read_bytes()
        loaded = load_model(tmp_path / name, allow_pickle=True)
        assert loaded.predict(X).tolist() == model.predict(X).tolist()
