"""The methods by name: every record fits its class, and mistakes name the nearest name."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import evenhand.mitigation as package
from evenhand.mitigation import METHODS, Mitigation, method, method_names, needs
from evenhand.runtime.errors import MissingExtra, UsageError
from evenhand.runtime.options import options_of
from tests.support.helpers import refused

COMMON = ["over", "positive", "privileged", "aware"]


@pytest.mark.parametrize("key", METHODS)
def test_an_entry_is_what_its_class_says(key):
    entry, made = METHODS[key], method(key, LogisticRegression(), over="sex")
    assert isinstance(made, Mitigation)
    assert type(made) is entry.factory
    assert (entry.key, entry.code, entry.kind) == (key, made.code, made.kind)
    assert (entry.extra, entry.knob) == (made.extra, made.knob)
    assert entry.knob is None or entry.knob in made.get_params(deep=False)
    assert set(made.off) <= set(made.get_params(deep=False))
    assert not (entry.modules and not entry.extra)


@pytest.mark.parametrize("key", METHODS)
def test_parameters_stand_in_the_same_order_and_are_stored_untouched(key):
    entry = METHODS[key]
    names = options_of(entry.factory.__init__)
    assert names[0] == ("over" if entry.own_model else "estimator")
    assert names[not entry.own_model :][: len(COMMON)] == COMMON
    assert names[-1] == "random_state"
    parameters = list(inspect.signature(entry.factory).parameters.values())[
        not entry.own_model :
    ]
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters)
    marks = {name: object() for name in names}
    made = entry.factory(**marks)
    assert all(getattr(made, name) is mark for name, mark in marks.items())


@pytest.mark.parametrize("key", METHODS)
def test_a_clone_has_the_same_settings(key):
    knob = METHODS[key].knob
    settings = {
        "over": ["sex", "race"],
        "positive": "yes",
        "aware": False,
        "random_state": 3,
    }
    made = method(
        key, LogisticRegression(C=0.3), **settings, **({knob: 0.25} if knob else {})
    )
    twin = clone(made)
    assert twin is not made
    assert repr(twin.get_params()) == repr(made.get_params())
    assert all(
        twin.get_params()[name] == value for name, value in METHODS[key].settings.items()
    )
    assert METHODS[key].own_model or twin.get_params()["estimator__C"] == 0.3


def test_names_and_codes_are_those_of_the_paper_and_of_fairlearn():
    assert method_names() == list(METHODS)
    assert len({entry.code for entry in METHODS.values()}) == len(METHODS) == 17
    paper = [entry.code for entry in METHODS.values() if entry.paper]
    assert sorted(paper) == sorted(
        [
            "RW",
            "OP",
            "LFR",
            "PR",
            "AD",
            "EO",
            "ROC_SPD",
            "ROC_AOD",
            "ROC_EOD",
            "CO_fnr",
            "CO_fpr",
            "CO_weighted",
        ]
    )


def test_settings_of_a_name_cannot_be_another():
    assert method("reject-option-aod", over="sex").get_params()["metric"] == "aod"
    refused(
        UsageError,
        lambda: method("reject-option-aod", metric="spd"),
        "'reject-option-aod'",
        "'metric'",
    )


def test_mistakes_are_refused_with_the_nearest_name():
    refused(
        UsageError, lambda: method("rewighing"), "'rewighing'", "did you mean 'reweighing'"
    )
    refused(UsageError, lambda: method(["reweighing"]), "unknown method")  # type: ignore[arg-type]
    refused(
        UsageError,
        lambda: needs("treshold-optimizer"),
        "did you mean 'threshold-optimiser'",
    )
    refused(
        UsageError,
        lambda: method("prejudice-remover", etta=1),
        "'prejudice-remover'",
        "did you mean 'eta'",
    )
    refused(
        UsageError,
        lambda: method("correlation-remover", estimators=1, over="sex"),
        "'estimators'",
    )


@pytest.mark.parametrize("key", METHODS)
def test_what_a_method_needs_is_named_where_it_is_missing(key, monkeypatch):
    for module in {"aif360", "cvxpy", "fairlearn", "tensorflow", "torch"}:
        monkeypatch.setitem(sys.modules, module, None)
    missing = needs(key)
    if not METHODS[key].modules:
        assert missing is None
        return
    assert type(missing) is MissingExtra
    assert f"{key!r}" in str(missing)
    assert f"evenhand[{METHODS[key].extra}]" in str(missing)


def test_a_solver_may_need_more(monkeypatch):
    monkeypatch.setitem(sys.modules, "aif360", None)
    for key in ("lfr", "prejudice-remover"):
        assert needs(key) is None
        assert "evenhand[aif360]" in str(needs(key, solver="aif360"))


def test_what_is_installed_is_found_without_importing_it():
    code = (
        "import sys; from evenhand.mitigation import METHODS, needs; found = [needs(key) for key in"
        " METHODS]; print(sorted({'sklearn', 'pandas', 'fairlearn', 'torch', 'aif360',"
        " 'tensorflow'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_all_names_of_the_package_are_there():
    assert dir(package) == sorted(package.__all__) == sorted(package._HOMES)
    assert all(getattr(package, name) is not None for name in package.__all__)
    classes = {known.home.partition(":")[2] for known in METHODS.values()}
    assert classes <= set(package.__all__)
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    imported: set[str | None] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            imported.update(alias.asname for alias in node.names)
    assert imported - {None} == set(package.__all__)
    assert not hasattr(package, "Rewighing")
