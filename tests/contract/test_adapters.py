"""Every registered adapter keeps one contract, and an adapter of somebody else is as good as one of
ours.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import inspect
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.config.file import Config
from evenhand.config.init.software import software_of
from evenhand.runtime.errors import ConfigError, SubjectCrashed, SubjectError, UsageError
from evenhand.runtime.options import FILE, FLAG, NUMBER, TABLE, Option, Options, options_of
from evenhand.subject.adapters import ADAPTERS, boosters
from evenhand.subject.adapters.base import Adapter
from evenhand.subject.adapters.estimator import EstimatorAdapter
from evenhand.subject.adapters.function import FunctionAdapter
from evenhand.subject.adapters.isolated.adapter import IsolatedAdapter
from evenhand.subject.adapters.saved import load_model
from evenhand.subject.options import SHARED
from evenhand.subject.subject import Subject
from evenhand.texts.text_subject import TextSubject
from tests.support import software
from tests.support.helpers import refused, sentence
from tests.support.software import SPACE, Software, rule

NAMES = list(ADAPTERS)
RUN = [
    pytest.param(kind, marks=pytest.mark.heavy) if kind in ("torch", "catboost") else kind
    for kind in ADAPTERS
]
"""The same, where heavy libraries themselves are needed for some of them."""
EVERYBODY = SPACE.enumerate()
TRUTH = rule(SPACE.native(EVERYBODY)).tolist()
SPACE_TABLE = """
[space]
protected = ["sex"]
[space.features.sex]
low = 0
high = 1
kind = "integer"
[space.features.age]
low = 20
high = 29
kind = "integer"
"""


class OwnScorecard(Adapter):
    """An adapter that somebody else wrote: a dictionary of points, and the least sum that is
    accepted.
    """

    kind = "scorecard"
    value = Option("scorecard", TABLE, "the points of each feature")
    options = Options.of(
        Option("pass_mark", NUMBER, "the least sum of points that is accepted"),
        Option("strict", FLAG, "accept only what is above it"),
        Option("notes", FILE, "a file that the adapter reads"),
    )
    takes_texts = True
    suffixes = (".points",)

    def __init__(
        self,
        points: dict[str, Any],
        *,
        pass_mark: float = 26.5,
        strict: bool = False,
        notes: Any = None,
    ):
        self.points = points
        self.pass_mark = pass_mark
        self.strict = strict
        self.notes = notes

    @classmethod
    def accepts(cls, model: Any) -> bool:
        return isinstance(model, dict)

    @property
    def identity(self) -> str:
        return f"scorecard:{self.points}:{self.pass_mark}:{self.strict}"

    def _points_of_text(self, text: str) -> float:
        total = 0.0
        for word, worth in self.points.items():
            total += worth * (word in text)
        return total

    def run(self, points: Any, space: Any) -> Any:
        given = space.native(points)
        if isinstance(given, list):
            total = np.array([self._points_of_text(text) for text in given])
        else:
            total = np.asarray(
                sum(given[name] * worth for name, worth in self.points.items())
            )
        yield (
            np.arange(len(points)),
            (total > self.pass_mark if self.strict else total >= self.pass_mark).astype(
                int
            ),
        )


POINTS: dict[str, Any] = {"age": 1, "sex": 4}


@pytest.fixture
def scorecard():
    ADAPTERS.register("scorecard", OwnScorecard)
    yield OwnScorecard
    ADAPTERS.unregister("scorecard")


@pytest.fixture
def build(tmp_path):
    """Make the software of a kind, which is ended with the test."""
    with ExitStack() as stack:

        def make(kind: str, *, crashing: bool = False) -> Software:
            assert kind in software.SOFTWARE, (
                f"tests/support/software.py has no software of the kind {kind!r}"
            )
            made: Software = stack.enter_context(
                software.SOFTWARE[kind](tmp_path, crashing=crashing)
            )
            return made

        yield make


def declared(tmp_path: Path, *lines: str) -> Config:
    """Write a configuration with these lines under [subject]."""
    file = tmp_path / "evenhand.toml"
    file.write_text("\n".join(["[subject]", *lines, SPACE_TABLE]))
    return Config.load(file)


def declared_subject(tmp_path: Path, *lines: str) -> Subject:
    """Return the software of a configuration with these lines under [subject]."""
    return declared(tmp_path, *lines).subject()


# What every adapter declares


@pytest.mark.parametrize("kind", NAMES)
def test_it_is_registered_under_its_kind(kind):
    adapter = ADAPTERS[kind]
    assert issubclass(adapter, Adapter)
    assert adapter.kind == kind
    assert adapter.value is None or adapter.value.name == kind
    assert inspect.getdoc(adapter)


@pytest.mark.parametrize("kind", NAMES)
def test_its_options_explain_themselves_and_clash_with_nothing(kind):
    adapter = ADAPTERS[kind]
    entries = [*adapter.options, *([adapter.value] if adapter.value else [])]
    for option in entries:
        assert option.help and not option.help.endswith("."), option.name
    names = [option.name for option in entries]
    assert len(names) == len(set(names))
    assert not set(names) & {option.name for option in SHARED}
    assert not {option.name for option in adapter.options} & set(ADAPTERS)
    assert all(
        suffix.startswith(".") and suffix == suffix.lower() for suffix in adapter.suffixes
    )


@pytest.mark.parametrize("kind", NAMES)
def test_its_options_are_its_keywords(kind):
    adapter = ADAPTERS[kind]
    keywords = {
        *keywords_of(adapter.__init__),
        *(set(keywords_of(adapter.of)) - {"positive"}),
    }
    assert set(adapter.options.python) == keywords


@pytest.mark.parametrize("kind", [kind for kind in ADAPTERS if hasattr(Subject, kind)])
def test_the_constructor_of_that_name_has_the_same_options_and_defaults(kind):
    constructor, adapter = getattr(Subject, kind), ADAPTERS[kind]
    shown = [name for name in keywords_of(constructor) if name not in SHARED]
    assert sorted(shown) == sorted(option.name for option in adapter.options)
    for name in shown:
        default = inspect.signature(constructor).parameters[name].default
        assert default == inspect.signature(adapter).parameters[name].default, name


def keywords_of(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters
    return [
        name
        for name in options_of(function)
        if parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    ]


@pytest.mark.parametrize("kind", NAMES)
def test_it_accepts_nothing_odd_and_does_not_raise(kind):
    for odd in (
        None,
        3,
        "x",
        b"x",
        Path("x"),
        dict,
        OwnScorecard,
        [],
        object(),
        np.zeros(3),
    ):
        assert ADAPTERS[kind].accepts(odd) is False, odd


def test_importing_the_registry_is_light():
    code = (
        "import sys, evenhand.subject.adapters\nassert not {'numpy', 'pandas', 'sklearn'} &"
        " set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# What every adapter does


def check_class(adapter, kind, made):
    """Check that software is asked by the adapter of its kind.

    A model file is asked in a process of its own, by the name that it has in this one.
    """
    if isinstance(adapter, IsolatedAdapter):
        in_this_process = ADAPTERS[kind].of(made.value, positive=1, **made.options)
        assert adapter.identity == in_this_process.identity
    else:
        assert type(adapter) is ADAPTERS[kind]


@pytest.mark.parametrize("kind", RUN)
def test_it_answers_as_a_plain_function_does(build, kind):
    made = build(kind)
    with Subject.of(kind, made.value, SPACE, positive=1, **made.options) as subject:
        check_class(subject.adapter, kind, made)
        assert subject.decide(EVERYBODY).tolist() == TRUTH
        assert subject.decide(EVERYBODY[::-1]).tolist() == TRUTH[::-1]
        assert len(subject.decide([])) == 0
        assert subject.asked == 2 * len(TRUTH)


@pytest.mark.parametrize("kind", RUN)
def test_an_object_of_it_is_software_for_a_verb(build, kind):
    made = build(kind)
    adapter = ADAPTERS[kind].of(made.value, **made.options)
    try:
        found = eh.measure(adapter, SPACE, over=["sex"], limit=0.05)
        expected = eh.measure(rule, SPACE, over=["sex"], limit=0.05)
    finally:
        adapter.close()
    assert found.verdict == expected.verdict == "fail"
    assert found.worst.estimate == expected.worst.estimate
    assert found.worst.cases == expected.worst.cases


@pytest.mark.parametrize("kind", RUN)
def test_a_crash_is_one_sentence_about_the_subject(build, kind):
    made = build(kind, crashing=True)
    with pytest.raises(SubjectError) as caught:
        Subject.of(kind, made.value, SPACE, **made.options).decide(EVERYBODY)
    assert sentence(caught.value)


@pytest.mark.parametrize("kind", RUN)
def test_it_may_be_closed_twice_and_used_again(build, kind):
    made = build(kind)
    adapter = ADAPTERS[kind].of(made.value, **made.options)
    subject = Subject(adapter, SPACE, memo=False)
    adapter.close()
    for _ in range(2):
        assert subject.decide(EVERYBODY).tolist() == TRUTH
        subject.close()
        subject.close()


@pytest.mark.parametrize("kind", RUN)
def test_it_travels_and_keeps_its_identity(build, kind):
    made = build(kind)
    first, second = (ADAPTERS[kind].of(made.value, **made.options) for _ in range(2))
    assert first.identity == second.identity != ""
    assert first.name
    assert isinstance(first.expensive, bool)
    copy = cloudpickle.loads(cloudpickle.dumps(first))
    with Subject(copy, SPACE) as subject:
        assert subject.decide(EVERYBODY).tolist() == TRUTH
        assert copy.identity == first.identity


@pytest.mark.parametrize("kind", RUN)
def test_a_ledger_knows_it_again(build, tmp_path, kind):
    made = build(kind)
    for executed in (len(TRUTH), 0):
        with Subject.of(
            kind, made.value, SPACE, ledger=tmp_path / "a.db", **made.options
        ) as subject:
            assert subject.decide(EVERYBODY).tolist() == TRUTH
            assert subject.executed == executed


@pytest.mark.parametrize("kind", NAMES)
def test_a_file_names_it_with_the_same_options(build, tmp_path, kind):
    if ADAPTERS[kind].value is None:
        refused(
            ConfigError,
            lambda: declared(tmp_path, f'{kind} = "x"').subject(),
            "exactly one of estimator, function",
        )
        return
    made = build("saved" if kind == "estimator" else kind)
    lines = [f"{key} = {toml(value)}" for key, value in made.options.items()]
    with declared(
        tmp_path, f"{kind} = {toml(made.written)}", "positive = 1", *lines
    ).subject() as subject:
        check_class(subject.adapter, kind, made)
        assert subject.decide(EVERYBODY).tolist() == TRUTH


@pytest.mark.parametrize(
    "kind", [kind for kind in ADAPTERS if ADAPTERS[kind].value is not None]
)
def test_what_is_wrong_in_a_file_is_reported_in_one_sentence(tmp_path, kind):
    adapter = ADAPTERS[kind]
    where = "evenhand.toml: [subject]"
    refused(
        ConfigError,
        lambda: declared(tmp_path, f"{kind} = 3").subject(),
        f"{where} has {kind} = 3; it must be a",
    )
    name = next(iter(adapter.options)).name
    lines = (f'{kind} = "x"', f"{name}x = 1")
    refused(
        ConfigError,
        lambda: declared(tmp_path, *lines).subject(),
        f"unknown key '{name}x'",
        f"mean '{name}'?",
    )
    for option in adapter.options:
        if (
            option.kind.fits([])
            or option.choices
            or option.kind.wanted in ("a number", "a whole number")
        ):
            continue
        wrong = (f'{kind} = "x"', f"{option.name} = []")
        words = (where, f"has {option.name} = []; it must be {option.kind.wanted}")
        refused(ConfigError, partial(declared_subject, tmp_path, *wrong), *words)


def toml(value: Any) -> str:
    return (
        str(value).lower() if isinstance(value, bool) else repr(value).replace("\\", "\\\\")
    )


def test_a_model_file_is_an_estimator(build):
    made = build("saved")
    expected = Subject.saved(made.value, SPACE, **made.options)
    found = Subject.of("estimator", made.value, SPACE, **made.options)
    assert found.decide(EVERYBODY).tolist() == expected.decide(EVERYBODY).tolist() == TRUTH
    assert found.adapter.identity == expected.adapter.identity
    broken = build("saved", crashing=True)
    subject = Subject.of("estimator", broken.value, SPACE, **broken.options)
    refused(
        SubjectCrashed,
        lambda: subject.decide(EVERYBODY),
        "BrokenModel raised RuntimeError",
        "it crashes",
    )


def test_the_suffixes_of_estimators_are_those_that_can_be_loaded(tmp_path):
    suffixes = [*EstimatorAdapter.suffixes, *boosters.SUFFIXES]
    for suffix in suffixes:
        refused(UsageError, partial(load_model, tmp_path / f"m{suffix}"), "does not exist")
    message = refused(UsageError, lambda: load_model(tmp_path / "m.h5"), "unknown suffix")
    assert message.count("'.") == len(suffixes) + 1


# An adapter that somebody else wrote


def test_an_adapter_object_needs_no_registration():
    subject = Subject(OwnScorecard(POINTS), SPACE, positive=1)
    assert subject.decide(EVERYBODY).tolist() == TRUTH
    assert subject.name.startswith("scorecard:")
    found = eh.search(
        OwnScorecard(POINTS), SPACE, over=["sex"], budget=eh.Budget(queries=200)
    )
    assert len(found.to_frame()) > 0


def test_an_adapter_may_answer_with_any_sequence():
    class Series(OwnScorecard):
        def run(self, points: Any, space: Any) -> Any:
            for rows, outcomes in super().run(points, space):
                yield rows, pd.Series(outcomes, index=rows[::-1])

    outcomes = Subject(Series(POINTS), SPACE, memo=False).decide(EVERYBODY)
    assert isinstance(outcomes, np.ndarray)
    assert outcomes.tolist() == TRUTH


def test_a_registered_adapter_is_found_by_its_kind_and_by_what_it_accepts(scorecard):
    assert list(ADAPTERS)[-1] == "scorecard"
    assert Subject.of("scorecard", POINTS, SPACE).decide(EVERYBODY).tolist() == TRUTH
    assert Subject(POINTS, SPACE).decide(EVERYBODY).tolist() == TRUTH
    assert (
        eh.measure(POINTS, SPACE, over=["sex"]).worst.estimate
        == eh.measure(rule, SPACE).worst.estimate
    )
    low = Subject.of("scorecard", POINTS, SPACE, pass_mark=0, memo=True)
    assert low.decide(EVERYBODY).tolist() == [1] * len(TRUTH)


def test_what_is_not_registered_is_refused_by_name():
    neither = refused(
        UsageError,
        lambda: Subject(POINTS, SPACE),
        "neither a fitted estimator nor a function",
    )
    assert "Subject.command, stream, http, onnx or saved" in neither
    refused(
        UsageError,
        lambda: Subject.of("htpp", "x", SPACE),
        "unknown adapter 'htpp'",
        "did you mean 'http'?",
    )
    refused(
        UsageError,
        lambda: ADAPTERS.register("http", OwnScorecard),
        "'http' is evenhand's own",
    )


def test_options_that_an_adapter_has_not_are_refused_by_name(scorecard):
    wrong = {"pas_mark": 1}
    words = (
        "Subject.of('scorecard') has no option 'pas_mark'",
        "did you mean 'pass_mark'?",
    )
    refused(UsageError, lambda: Subject.of("scorecard", POINTS, SPACE, **wrong), *words)
    refused(
        UsageError,
        lambda: Subject(POINTS, SPACE, threshold=0.5),
        "adapter 'scorecard' has no option 'threshold'",
    )
    given = (OwnScorecard(POINTS), SPACE)
    refused(
        UsageError,
        lambda: Subject(*given, threshold=0.5),
        "threshold = 0.5 is for a bare model",
        "the adapter",
    )
    refused(
        UsageError,
        lambda: Subject(*given, identity="x"),
        "identity = 'x' is for a bare model",
    )
    refused(UsageError, lambda: Subject(OwnScorecard, SPACE), "OwnScorecard is a class")


def test_a_file_names_a_registered_adapter(scorecard, tmp_path):
    here = declared(
        tmp_path, "scorecard = { age = 1, sex = 4 }", 'notes = "notes.txt"', "strict = true"
    ).subject()
    assert here.decide(EVERYBODY).tolist() == TRUTH
    assert isinstance(here.adapter, OwnScorecard)
    assert here.adapter.strict is True
    assert here.adapter.notes == tmp_path / "notes.txt"
    named = (
        "exactly one of estimator, function, command, stream, http, onnx, xgboost, lightgbm,"
        " catboost, scorecard, but has none"
    )
    refused(ConfigError, lambda: declared(tmp_path, "positive = 1").subject(), named)
    two = ("scorecard = { age = 1 }", 'http = "http://127.0.0.1:1/"')
    refused(
        ConfigError, lambda: declared(tmp_path, *two).subject(), "but has http, scorecard"
    )
    refused(
        ConfigError,
        lambda: declared(tmp_path, "scorecard = 3").subject(),
        "has scorecard = 3; it must be a table",
    )
    flag = ("scorecard = { age = 1 }", "strict = 1")
    refused(
        ConfigError,
        lambda: declared(tmp_path, *flag).subject(),
        "has strict = 1; it must be true or false",
    )


def test_init_knows_its_files(scorecard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("card.points").write_text("age 1")
    found = software_of("card.points", Path("evenhand.toml"))
    assert found.table == {"scorecard": "card.points"}
    refused(
        UsageError,
        lambda: software_of("none.skops", Path("evenhand.toml")),
        "card.points",
    )


def test_an_adapter_that_takes_texts(scorecard, tmp_path):
    words: dict[str, Any] = {"good": 20, "fine": 10}
    texts = ["good and fine", "good", "fine"]
    for subject in (
        TextSubject(OwnScorecard(words), positive=1),
        TextSubject.of("scorecard", words, positive=1),
    ):
        assert subject.decide(texts).tolist() == [1, 0, 0]
    (tmp_path / "texts.csv").write_text("comment\ngood and fine\ngood\nfine\n")
    file = tmp_path / "evenhand.toml"
    lines = [
        "[subject]",
        "scorecard = { good = 20, fine = 10 }",
        "pass_mark = 15",
        "batch = 2",
        "positive = 1",
    ]
    file.write_text(
        "\n".join([*lines, "[texts]", 'from = "texts.csv"', 'column = "comment"'])
    )
    subject = Config.load(file).text_subject()
    assert subject.decide(texts).tolist() == [1, 1, 0]
    assert subject.batch == 2
    refused(
        UsageError,
        lambda: TextSubject(ADAPTERS["http"].of("http://127.0.0.1:1/")),
        "takes no texts",
    )
    refused(
        UsageError,
        lambda: TextSubject.of("scorecard", words, treshold=1),
        "has no option 'treshold'",
    )
    assert TextSubject(FunctionAdapter(lambda given: [len(text) for text in given])).decide(
        texts
    ).tolist() == [
        13,
        4,
        4,
    ]


def test_an_installed_package_brings_one_by_an_entry_point(tmp_path, monkeypatch):
    package = tmp_path / "cards-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: cards\nVersion: 1.0\n")
    places = (
        "cards = tests.contract.test_adapters:OwnScorecard",
        "lost = no_such_package:Adapter",
        "http = cards:Other",
    )
    (package / "entry_points.txt").write_text("\n".join(["[evenhand.adapters]", *places]))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(ADAPTERS, "_complete", False)
    try:
        assert list(ADAPTERS)[-2:] == ["cards", "lost"]
        assert Subject.of("cards", POINTS, SPACE).decide(EVERYBODY).tolist() == TRUTH
        assert ADAPTERS["http"].__module__ == "evenhand.subject.adapters.http.adapter"
        words = (
            "adapter 'lost' cannot be loaded from no_such_package:Adapter",
            "No module named",
        )
        refused(UsageError, lambda: Subject.of("lost", POINTS, SPACE), *words)
    finally:
        ADAPTERS.unregister("cards")
        ADAPTERS.unregister("lost")
