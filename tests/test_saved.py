from __future__ import annotations

import builtins
import hashlib
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from evenhand.core.adapters.saved import identity_of, load_model
from evenhand.core.errors import MissingExtra, UsageError

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
    sio.dump(make_pipeline(FunctionTransformer(halved), DecisionTreeClassifier(random_state=0)).fit(X, Y), path)
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
    for content in (b"", b"hello", pickle.dumps(model)[:50], b"cno_such_module\nThing\n."):
        path.write_bytes(content)
        assert "cannot be unpickled" in refusal(path, allow_pickle=True)


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
    assert identity_of(path) == "file:" + hashlib.sha256(b"one").hexdigest()
    path.write_bytes(b"two")
    assert identity_of(path) == "file:" + hashlib.sha256(b"two").hexdigest()
    with pytest.raises(UsageError, match="does not exist"):
        identity_of(tmp_path / "no.skops")


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
    subject = Subject.saved(file, Space([integer("x", 0, 1)]), allow_pickle=True, ledger=tmp_path / "a.ledger")
    assert subject.adapter.identity.startswith(identity_of(file))
    assert subject.decide([{"x": 0}, {"x": 1}]).tolist() == [0, 1]
    subject.close()
