"""The language of constraints: a small, safe part of Python that means what Python means."""

from __future__ import annotations

import ast
import pickle
import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import SpaceError
from evenhand.space.constraints import Constraint
from evenhand.space.feature import category, integer, product, real
from tests.support.helpers import examples, refused

FEATURES = [
    category("sex", ["F", "M", 'it\'s "x"']),
    integer("age", 18, 25),
    real("rate", 0, 1, step=0.25),
    category("owns", [True, False]),
    category("grade", [3, 1, 2]),
    integer("capital-gain", -2, 2),
    category("other", ["M", "X"]),
    integer("class", 0, 1),
]
NAMES = [feature.name for feature in FEATURES]
EVERY = product([feature.values() for feature in FEATURES])
ROWS = EVERY[np.random.default_rng(0).permutation(len(EVERY))[:300]]
COLUMNS = [feature.labels(ROWS[:, position]) for position, feature in enumerate(FEATURES)]
LABELS = [dict(zip(NAMES, row, strict=True)) for row in zip(*COLUMNS, strict=True)]


def mask(text: str) -> Any:
    return Constraint.parse(text, FEATURES).mask(ROWS).tolist()


def by_python(text: str) -> list[bool]:
    """Evaluate the expression with Python itself, names in backquotes replaced."""
    for name in NAMES:
        text = text.replace(f"`{name}`", f"row[{name!r}]")
    code = compile(ast.parse(text.strip(), mode="eval"), "constraint", "eval")
    return [bool(eval(code, {"__builtins__": {}}, {**row, "row": row})) for row in LABELS]


@pytest.mark.parametrize(
    "text",
    [
        "age == 20",
        "age != 20",
        "age < 20",
        "20 > age",
        "age <= 20.5",
        "age > 20 and age < 24 and sex == 'F'",
        "20 <= age < 24",
        "18 < age <= 24 != `class` < 2",
        "sex == 'F' or not (age >= 21)",
        "sex in ['F', 'M']",
        "sex not in ('F',)",
        "age in {18, 20, 25}",
        "age not in [18, 20]",
        "age in []",
        "sex == 'it\\'s \"x\"'",
        'sex != "F"',
        "'F' == sex",
        "`capital-gain` > 0",
        "`capital-gain` in [-1, -2]",
        "`capital-gain` == -1",
        "`class` == 1",
        "age + 1 > 2 * grade + 15",
        "age % 2 == 0",
        "age / 2 - rate >= 9.5",
        "-age < -20",
        "rate == 0.25",
        "rate * 4 == 1",
        "owns",
        "not owns",
        "owns == True",
        "owns and age > 20 or sex == 'M'",
        "grade >= 2",
        "grade == 3",
        "2 < grade",
        "grade in [1, 3]",
        "sex == other",
        "sex != other",
        "True",
        "not False",
        "1 < 2",
        "5 in [4, 5]",
        "owns in [True]",
        "((((age > 20))))",
        "  age > 20  ",
        "age > 20 and \\\n age < 22",
        "1 < 2 and age > 20",
    ],
)
def test_means_what_python_means(text):
    assert mask(text) == by_python(text)


NUMBERS: st.SearchStrategy[str] = st.deferred(
    lambda: (
        st.sampled_from(["age", "rate", "grade", "`capital-gain`", "owns", "`class`"])
        | st.integers(-30, 30).map(str)
        | st.sampled_from(["0.25", "0.5", "-1.75"])
        | st.tuples(NUMBERS, st.sampled_from("+-*"), NUMBERS).map(
            "({0[0]} {0[1]} {0[2]})".format
        )
        | st.tuples(NUMBERS, st.sampled_from("/%"), st.integers(1, 9)).map(
            "({0[0]} {0[1]} {0[2]})".format
        )
        | NUMBERS.map("(-{})".format)
    )
)
TRUTHS: st.SearchStrategy[str] = st.deferred(
    lambda: (
        st.sampled_from(
            [
                "owns",
                "True",
                "sex == 'F'",
                "sex != other",
                'sex in [\'M\', "it\'s \\"x\\""]',
                "other not in ['X']",
            ]
        )
        | st.lists(
            st.tuples(st.sampled_from(["<", "<=", ">", ">="]), NUMBERS),
            min_size=1,
            max_size=3,
        ).flatmap(
            lambda tail: NUMBERS.map(
                lambda head: head + "".join(f" {op} {side}" for op, side in tail)
            )
        )
        | st.tuples(
            NUMBERS,
            st.sampled_from(["in", "not in"]),
            st.lists(st.integers(-3, 25), max_size=3),
        ).map("{0[0]} {0[1]} {0[2]}".format)
        | st.tuples(TRUTHS, st.sampled_from(["and", "or"]), TRUTHS).map(
            "({0[0]} {0[1]} {0[2]})".format
        )
        | TRUTHS.map("not ({})".format)
    )
)


@given(TRUTHS)
@settings(max_examples=examples(150), deadline=None)
def test_random_expressions_agree_with_python(text):
    try:
        found = mask(text)
    except SpaceError as error:
        assert "no level" in str(error) or "nested" in str(error), str(error)
        return
    assert found == by_python(text), text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agee > 1", ["unknown feature 'agee'", "did you mean 'age'?"]),
        ("`capital gain` > 1", ["unknown feature 'capital gain'", "'capital-gain'"]),
        ("sex == 'f'", ["'sex' has no level 'f'", "'F'"]),
        ("sex in ['F', 'W']", ["no level 'W'"]),
        ("grade == 7", ["'grade' has no level 7", "3, 1, 2"]),
        ("grade == '3'", ["no level '3'", "did you mean 3?"]),
        ("sex < 'M'", ["'sex'", "no order", "=="]),
        ("'M' >= sex", ["'sex'", "no order"]),
        ("sex < other", ["no order"]),
        ("sex > 3", ["no order"]),
        ("sex == 3", ["no level 3"]),
        ("sex == -1", ["'sex'", "category of texts"]),
        ("sex == age", ["'sex'", "category of texts"]),
        ("sex + 1 == 2", ["'sex'", "category of texts"]),
        ("age == 'old'", ["'old' is compared with a number"]),
        ("age in ['old']", ["'age' is a number", "list numbers"]),
        ("grade < 'x'", ["'x' is compared with a number"]),
        ("age", ["'age' is not a condition"]),
        ("sex", ["'sex' is not a condition"]),
        ("not age", ["'age' is not a condition"]),
        ("1", ["'1' is not a condition"]),
        ("'x'", ["not a condition"]),
        ("age > 1 and 5", ["'5' is not a condition"]),
        ("age is 3", ["Is", "not allowed"]),
        ("age in sex", ["'in'", "list of constants"]),
        ("age in [age]", ["'age' is not a constant"]),
        ("age in 3", ["'in'", "list of constants"]),
        ("age ** 2 > 4", ["not allowed"]),
        ("age // 2 > 4", ["not allowed"]),
        ("age & 1 == 1", ["not allowed"]),
        ("~age > 1", ["not allowed"]),
        ("age.real > 1", ["not allowed"]),
        ("age[0] > 1", ["not allowed"]),
        ("(lambda: 1)() > 0", ["not allowed"]),
        ("[x for x in [1]] == 1", ["unknown feature 'x'"]),
        ("[age for age in [1]]", ["not a condition"]),
        ("f'{age}' == sex", ["not allowed"]),
        ("__import__('os').system('true') == 0", ["unknown feature '__import__'"]),
        ("age.__class__.__bases__ == 0", ["not allowed"]),
        ("(age := 3) > 1", ["not allowed"]),
        ("age if owns else 3", ["not a condition"]),
        ("age > 10j", ["is compared with a number"]),
        ("sex == b'F'", ["no level b'F'"]),
        ("sex == None", ["no level None"]),
        ("age == ...", ["Ellipsis"]),
        ("age >", ["is not an expression"]),
        ("", ["is not an expression"]),
        ("   ", ["is not an expression"]),
        ("age = 3", ["is not an expression"]),
        ("import os", ["is not an expression"]),
        ("age > 1; age < 2", ["is not an expression"]),
        ("age > 1\nage < 2", ["is not an expression"]),
        ("capital-gain > 0", ["unknown feature 'capital'", "did you mean 'capital-gain'?"]),
        ("`capital-gain > 0", ["is not an expression"]),
        ("\x00", ["is not an expression"]),
        ("age < 1" + "0" * 400, ["too large"]),
        ("age in [1" + "0" * 400 + "]", ["too large"]),
        ("*age", ["is not an expression"]),
        ("age, sex", ["not a condition"]),
    ],
)
def test_everything_else_is_refused(text, words):
    refused(SpaceError, lambda: Constraint.parse(text, FEATURES), "constraint", *words)


@pytest.mark.parametrize(
    "text",
    [
        "not " * 300 + "owns",
        "not " * 5_000 + "owns",
        "(" * 20_000 + "owns" + ")" * 20_000,
        "-" * 50_000 + "age > 1",
        "age" + " + age" * 5_000 + " > 1",
        "[" * 10_000,
        "age > 1 and (" * 3_000 + "owns" + ")" * 3_000,
    ],
    ids=lambda text: text[:12] + str(len(text)),
)
def test_deep_nesting_is_refused_and_never_crashes(text):
    refused(SpaceError, lambda: Constraint.parse(text, FEATURES))


def test_long_but_flat_expressions_work():
    assert mask(" and ".join(["age > 20"] * 500)) == mask("age > 20")
    assert mask("age" + " + 0" * 80 + " > 20") == mask("age > 20")


def test_what_parses_also_evaluates_deep_in_a_stack():
    constraint = Constraint.parse("not " * 90 + "owns", FEATURES)
    found = []

    def descend(depth: int) -> None:
        if depth:
            descend(depth - 1)
        else:
            found.append(constraint.mask(ROWS).sum())

    thread = threading.Thread(target=descend, args=(sys.getrecursionlimit() - 400,))
    thread.start()
    thread.join()
    assert len(found) == 1


def test_backquotes_cannot_be_confused_with_a_feature_of_our_own_making():
    features = [integer("_quoted_0", 0, 5), integer("quoted_0", 0, 5), integer("a b", 0, 1)]
    found = Constraint.parse("`a b` == 1 and _quoted_0 > 3 and quoted_0 < 2", features)
    assert set(found.touches) == {"a b", "_quoted_0", "quoted_0"}
    assert found.mask(
        np.array([[4.0, 1.0, 1.0], [4.0, 1.0, 0.0], [3.0, 1.0, 1.0]])
    ).tolist() == [
        True,
        False,
        False,
    ]


def test_a_backquote_inside_a_text_is_a_character():
    features = [category("x", ["`a`", "b"]), category("a", ["`"])]
    assert Constraint.parse("x == '`a`' and a == \"`\"", features).mask(
        np.zeros((1, 2))
    ).tolist() == [True]


@pytest.mark.parametrize(
    "name", ["it's", 'a"b', "a\nb", "is", "None", "é", "日本", "x+y", "<b>", " ", "\\"]
)
def test_any_name_works_in_backquotes(name):
    feature = integer(name, 0, 3)
    assert Constraint.parse(f"`{name}` > 1", [feature]).mask(
        np.array([[1.0], [2.0]])
    ).tolist() == [
        False,
        True,
    ]


def test_touches_says_which_features_matter():
    assert Constraint.parse("age > 1 or sex == 'F' and age < 3", FEATURES).touches == (
        "age",
        "sex",
    )
    assert Constraint.parse("1 < 2", FEATURES).touches == ()


def test_division_by_zero_is_false_and_silent():
    assert not any(mask("1 / (age - age) < 0"))
    assert not any(mask("age % 0 == 0"))


def test_a_parsed_constraint_survives_a_pickle():
    parsed = Constraint.parse("age > 20 and sex == 'F'", FEATURES)
    assert (
        pickle.loads(pickle.dumps(parsed)).mask(ROWS).tolist() == parsed.mask(ROWS).tolist()
    )
