from __future__ import annotations

import builtins
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from evenhand.methods.measure.measure import measure
from evenhand.runtime.errors import MissingExtra, SubjectCrashed, UsageError
from evenhand.space.feature import category, date, integer, real
from evenhand.space.space import Space
from evenhand.subject.adapters.onnx import OnnxAdapter, _feed
from evenhand.subject.subject import Subject

pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")

from onnx import TensorProto, helper  # noqa: E402
from skl2onnx.common.data_types import (  # noqa: E402
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import Pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

NUMERIC = Space(
    [
        category("sex", [0, 1]),
        integer("age", 18, 90),
        real("rate", 0, 1, step=0.25),
    ],
    protected=["sex"],
)
NAMED = Space(
    [
        category("sex", ["F", "M"]),
        integer("age", 18, 90),
        real("rate", 0, 1, step=0.25),
    ],
    protected=["sex"],
)
NAMED_TYPES = [
    ("sex", StringTensorType([None, 1])),
    ("age", Int64TensorType([None, 1])),
    ("rate", FloatTensorType([None, 1])),
]


def drawn(space: Space, n: int = 500) -> Any:
    return space.draw(n, np.random.default_rng(7))


def frame(space: Space, points: Any) -> pd.DataFrame:
    return pd.DataFrame(space.labels(points))


def truth(points: Any) -> Any:
    return (points[:, 1] + 30 * points[:, 0] + 40 * points[:, 2] > 75).astype(int)


def save(model: Any, path: Path, types: Any, **options: Any) -> Path:
    exported = skl2onnx.convert_sklearn(model, initial_types=types, **options)
    path.write_bytes(exported.SerializeToString())
    return path


def answers(adapter: OnnxAdapter, points: Any, space: Space) -> Any:
    parts = list(adapter.run(points, space))
    rows = np.concatenate([rows for rows, _ in parts])
    outcomes = np.concatenate([outcomes for _, outcomes in parts])
    assert sorted(rows) == list(range(len(points)))
    return outcomes[np.argsort(rows)]


@pytest.fixture(scope="module")
def tree():
    points = drawn(NUMERIC)
    model = DecisionTreeClassifier(random_state=0, max_depth=4)
    return model.fit(points, truth(points))


@pytest.fixture(scope="module")
def tree_file(tree, tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "tree.onnx"
    return save(tree, path, [("X", FloatTensorType([None, 3]))])


@pytest.fixture(scope="module")
def pipeline():
    points = drawn(NAMED)
    encode = ColumnTransformer(
        [("cat", OneHotEncoder(), ["sex"]), ("num", StandardScaler(), ["age", "rate"])]
    )
    labels = np.where(truth(points) == 1, "approve", "deny")
    model = Pipeline([("encode", encode), ("model", LogisticRegression())])
    return model.fit(frame(NAMED, points), labels)


@pytest.fixture(scope="module")
def pipeline_file(pipeline, tmp_path_factory):
    return save(pipeline, tmp_path_factory.mktemp("onnx") / "pipeline.onnx", NAMED_TYPES)


def test_a_float_matrix_gives_the_labels_of_the_model(tree, tree_file):
    points = drawn(NUMERIC, 2000)
    adapter = OnnxAdapter(tree_file)
    outcomes = answers(adapter, points, NUMERIC)
    assert outcomes.dtype == np.int64
    assert (outcomes == tree.predict(points)).all()
    assert set(outcomes) == {0, 1}
    assert adapter.identity.startswith("onnx:")
    assert not adapter.expensive


def test_named_columns_give_the_labels_of_the_pipeline(pipeline, pipeline_file):
    points = drawn(NAMED, 2000)
    outcomes = answers(OnnxAdapter(pipeline_file), points, NAMED)
    expected = pipeline.predict(frame(NAMED, points))
    assert (outcomes == expected).all()
    assert set(outcomes) == {"approve", "deny"}


def test_order_of_the_features_does_not_matter_for_named_columns(pipeline, pipeline_file):
    space = Space(NAMED.features[::-1])
    points = drawn(NAMED)
    outcomes = answers(OnnxAdapter(pipeline_file), points[:, ::-1], space)
    expected = pipeline.predict(frame(NAMED, points))
    assert (outcomes == expected).all()


def test_features_that_are_not_passed_are_not_sent(tree, tree_file):
    space = Space([category("race", ["a", "b"], passed=False), *NUMERIC.features])
    points = drawn(space)
    outcomes = answers(OnnxAdapter(tree_file), points, space)
    assert (outcomes == tree.predict(points[:, 1:])).all()


def test_numeric_levels_are_sent_as_their_numbers(tmp_path):
    space = Space(
        [
            category("grade", [10, 30, 20]),
            integer("age", 18, 90),
        ]
    )
    points = drawn(space)
    native = frame(space, points).to_numpy(float)
    labels = native[:, 0] + native[:, 1] > 70
    model = DecisionTreeClassifier(random_state=0).fit(native, labels)
    path = save(model, tmp_path / "m.onnx", [("X", FloatTensorType([None, 2]))])
    outcomes = answers(OnnxAdapter(path), points, space)
    assert (outcomes.astype(bool) == model.predict(native)).all()


def test_scores_by_name_of_the_class(pipeline, pipeline_file):
    points = drawn(NAMED)
    shares = pipeline.predict_proba(frame(NAMED, points))
    for place, name in enumerate(pipeline.classes_):
        adapter = OnnxAdapter(pipeline_file, output="score", positive=name)
        outcomes = answers(adapter, points, NAMED)
        assert outcomes == pytest.approx(shares[:, place], abs=1e-5)
    misspelt = OnnxAdapter(pipeline_file, output="score", positive="aprove")
    message = r"positive = 'aprove' is not a class.*did you mean 'approve'"
    with pytest.raises(UsageError, match=message):
        answers(misspelt, points, NAMED)


@pytest.mark.parametrize("positive", ["approve", "deny", None])
def test_scores_in_a_tensor_are_matched_to_the_labels(pipeline, tmp_path, positive):
    path = save(pipeline, tmp_path / "m.onnx", NAMED_TYPES, options={"zipmap": False})
    points = drawn(NAMED)
    place = 0 if positive == "approve" else 1
    people = frame(NAMED, points)
    expected = pipeline.predict_proba(people)[:, place]
    adapter = OnnxAdapter(path, output="score", positive=positive)
    assert answers(adapter, points, NAMED) == pytest.approx(expected, abs=1e-5)
    approved = pipeline.predict(people) == "approve"
    for batch in (~approved, approved):  # in which only one class is predicted
        outcomes = answers(adapter, points[batch], NAMED)
        assert outcomes == pytest.approx(expected[batch], abs=1e-5)


def test_an_unknown_class_of_a_tensor_is_refused(pipeline, tmp_path):
    path = save(pipeline, tmp_path / "m.onnx", NAMED_TYPES, options={"zipmap": False})
    adapter = OnnxAdapter(path, output="score", positive="granted")
    message = "does not say which of its 2 probability columns is class 'granted'"
    with pytest.raises(UsageError, match=message):
        answers(adapter, drawn(NAMED), NAMED)


def test_a_regressor_gives_its_number(tmp_path):
    points = drawn(NUMERIC)
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(points, points[:, 1] / 7)
    path = save(model, tmp_path / "m.onnx", [("X", FloatTensorType([None, 3]))])
    expected = model.predict(points)
    for output in ("label", "score"):
        outcomes = answers(OnnxAdapter(path, output=output), points, NUMERIC)
        assert outcomes == pytest.approx(expected)


def test_a_fixed_batch_size_is_kept(tree, tmp_path):
    path = save(tree, tmp_path / "m.onnx", [("X", FloatTensorType([4, 3]))])
    points = drawn(NUMERIC, 11)
    outcomes = answers(OnnxAdapter(path), points, NUMERIC)
    assert (outcomes == tree.predict(points)).all()


def test_no_inputs_give_no_outcomes(tree_file):
    nobody = np.empty((0, 3))
    assert list(OnnxAdapter(tree_file).run(nobody, NUMERIC)) == []


def test_it_can_be_pickled_and_used_after_closing(tree, tree_file):
    points = drawn(NUMERIC)
    adapter = OnnxAdapter(tree_file)
    copy = pickle.loads(pickle.dumps(adapter))
    assert copy.identity == adapter.identity
    adapter.close()
    outcomes = answers(adapter, points, NUMERIC)
    outcomes_of_copy = answers(copy, points, NUMERIC)
    assert (outcomes == outcomes_of_copy).all()


def test_the_identity_tells_models_and_outputs_apart(tree_file, pipeline_file):
    adapters = [
        OnnxAdapter(tree_file),
        OnnxAdapter(pipeline_file),
        OnnxAdapter(tree_file, output="score"),
        OnnxAdapter(tree_file, output="score", positive=0),
        OnnxAdapter(tree_file, output="score", positive=1),
    ]
    assert len({adapter.identity for adapter in adapters}) == 5


def test_a_model_that_changed_is_refused(tree_file, pipeline_file, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(tree_file.read_bytes())
    adapter = OnnxAdapter(path)
    adapter.close()
    path.write_bytes(pipeline_file.read_bytes())
    with pytest.raises(UsageError, match="has changed"):
        answers(adapter, drawn(NUMERIC), NUMERIC)


def refusal(path: Path, space: Space, **options: Any) -> str:
    with pytest.raises(UsageError) as caught:
        answers(OnnxAdapter(path, **options), drawn(space, 5), space)
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message


def test_missing_and_damaged_files_are_one_sentence(tmp_path):
    assert "No such file" in refusal(tmp_path / "no.onnx", NUMERIC)
    assert "Is a directory" in refusal(tmp_path, NUMERIC)
    damaged = tmp_path / "bad.onnx"
    for content in (b"", b"age,sex\n" * 50):
        damaged.write_bytes(content)
        assert "cannot be read as an ONNX model" in refusal(damaged, NUMERIC)


def test_text_levels_do_not_fit_a_numeric_matrix(tree_file):
    message = refusal(tree_file, NAMED)
    assert "takes numbers, and feature 'sex' has the level 'F'" in message


def test_numbers_do_not_fit_a_text_input(pipeline_file):
    assert "takes text, and feature 'sex' has numbers" in refusal(pipeline_file, NUMERIC)


def test_fractions_do_not_fit_an_integer_input(pipeline_file):
    space = Space([NAMED.features[0], real("age", 18.5, 90, step=0.5), NAMED.features[2]])
    assert "takes whole numbers, and feature 'age'" in refusal(pipeline_file, space)


def test_inputs_and_features_must_match(tree_file, pipeline_file):
    wider = Space([*NUMERIC.features, integer("more", 0, 1)])
    assert "takes 3 columns and the space passes 4 features" in refusal(tree_file, wider)
    renamed = Space([category("sexx", ["F", "M"]), *NAMED.features[1:]])
    assert "input 'sex' " in refusal(pipeline_file, renamed)
    assert "did you mean 'sexx'?" in refusal(pipeline_file, renamed)
    more = Space([*NAMED.features, integer("aged", 0, 1)])
    assert "feature 'aged' has no input" in refusal(pipeline_file, more)
    assert "did you mean 'age'?" in refusal(pipeline_file, more)


def test_an_unknown_output_is_refused(tree_file):
    with pytest.raises(UsageError, match="did you mean 'score'"):
        OnnxAdapter(tree_file, output="scores")  # type: ignore[arg-type]


def test_a_model_that_gives_no_label_says_so(tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Identity", ["X"], ["Y"])],
        "logits",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 3])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [None, 3])],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    path = tmp_path / "logits.onnx"
    path.write_bytes(model.SerializeToString())
    assert "3 numbers for each input, not a label" in refusal(path, NUMERIC)
    assert "knows 3 classes" in refusal(path, NUMERIC, output="score")


def test_a_model_that_fails_is_a_crashed_subject(tmp_path):
    # Gather with the age as an index into a table of 30 rows: ages beyond it fail while running.
    table = helper.make_tensor("table", TensorProto.FLOAT, [30], [0.0] * 30)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "age"], ["Y"])],
        "table",
        [helper.make_tensor_value_info("age", TensorProto.INT64, [None, 1])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [None, 1])],
        [table],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    path = tmp_path / "table.onnx"
    path.write_bytes(model.SerializeToString())
    space = Space([integer("age", 18, 90)])
    adapter = OnnxAdapter(path)
    assert answers(adapter, np.full((3, 1), 20.0), space).tolist() == [0.0] * 3
    with pytest.raises(SubjectCrashed, match=r"failed on a batch of 1 inputs") as caught:
        answers(adapter, np.full((1, 1), 80.0), space)
    assert caught.value.exit_code == 4
    assert "\n" not in str(caught.value)


def test_without_onnxruntime_the_extra_is_named(tree_file, monkeypatch):
    real_import = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "onnxruntime":
            raise ImportError(name)
        return real_import(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"evenhand\[onnx\]"):
        OnnxAdapter(tree_file)


GAPPY = Space(
    [
        category("sex", ["F", "M"], missing=True),
        integer("age", 18, 90, missing=True),
        real("rate", 0, 1, step=0.25, missing=True),
    ],
    protected=["sex"],
)


def test_gaps_are_nan_or_an_empty_text_and_whole_numbers_have_none(pipeline_file):
    subject = Subject.onnx(pipeline_file, GAPPY, positive="approve")
    assert [one.name for one in subject.space.features if one.missing] == ["sex", "rate"]
    assert "refuses missing values of age" in subject.notes[0]
    gaps = np.array([[2.0, 40.0, -0.25], [0.0, 40.0, 0.5]])
    adapter = OnnxAdapter(pipeline_file)
    fed = _feed(adapter._session().get_inputs(), gaps, subject.space, pipeline_file)
    assert fed["sex"].ravel().tolist() == ["", "F"]
    assert np.isnan(fed["rate"][0])
    assert fed["rate"][1] == 0.5
    assert fed["age"].ravel().tolist() == [40, 40]


def test_a_planted_bias_is_found_among_people_with_gaps(tmp_path):
    space = Space(
        [
            category("sex", [0, 1]),
            integer("age", 18, 90, missing=0.2),
        ],
        protected=["sex"],
    )
    points = space.draw(2000, np.random.default_rng(0))
    model = DecisionTreeClassifier(random_state=0, max_depth=5)
    people = space.native(points)
    model.fit(people.to_numpy(), (people["sex"] == 1) & ~(people["age"] < 40))
    path = save(model, tmp_path / "gaps.onnx", [("X", FloatTensorType([None, 2]))])
    subject = Subject.onnx(path, space)
    expected = model.predict(people.to_numpy())
    assert (subject.decide(points).astype(bool) == expected).all()
    assert measure(subject, over="sex", limit=0.05).verdict == "fail"


def test_dates_are_texts(tmp_path):
    inputs = []
    for name in ("day", "sex"):
        inputs.append(helper.make_tensor_value_info(name, 8, [None, 1]))
    same = helper.make_node("Identity", ["day"], ["label"])
    unused = helper.make_node("Identity", ["sex"], ["other"])
    outputs = []
    for name in ("label", "other"):
        outputs.append(helper.make_tensor_value_info(name, 8, [None, 1]))
    graph = helper.make_graph([same, unused], "same", inputs, outputs)
    opset = [helper.make_opsetid("", 17)]
    path = tmp_path / "same.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    )
    space = Space(
        [
            date("day", "2020-01-01", "2020-12-31"),
            category("sex", ["F", "M"]),
        ],
        protected=["sex"],
    )
    subject = Subject.onnx(path, space)
    answered = subject.decide([{"day": "2020-02-29", "sex": "F"}])
    assert answered.tolist() == ["2020-02-29"]


def test_features_without_an_input_are_not_passed(pipeline, pipeline_file):
    wider = Space([*NAMED.features, category("zip", ["1", "2"])])
    subject = Subject.onnx(pipeline_file, wider)
    assert [one.name for one in subject.space.features if not one.passed] == ["zip"]
    points = drawn(wider)
    people = wider.decode(points).drop(columns="zip")
    assert (subject.decide(points) == pipeline.predict(people)).all()


def test_the_score_is_the_first_tensor_after_the_label(tmp_path):
    """A model may give more than a label and a score."""
    names = ["label", "score", "other"]
    nodes = [
        helper.make_node("Identity", ["X"], ["label"]),
        helper.make_node("Add", ["X", "X"], ["score"]),
        helper.make_node("Neg", ["X"], ["other"]),
    ]
    outputs = []
    for name in names:
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]))
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 1])]
    graph = helper.make_graph(nodes, "three", inputs, outputs)
    opset = [helper.make_opsetid("", 17)]
    path = tmp_path / "three.onnx"
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    path.write_bytes(model.SerializeToString())
    space = Space([integer("age", 0, 9)])
    points = np.array([[3.0], [4.0]])
    assert answers(OnnxAdapter(path), points, space).tolist() == [3.0, 4.0]
    scored = OnnxAdapter(path, output="score")
    assert answers(scored, points, space).tolist() == [6.0, 8.0]
