"""Hypothesis strategies for small random spaces, and plain loops to compare them with."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from evenhand.runtime.errors import EvenhandError
from evenhand.space.feature import Feature, category, integer, real
from evenhand.space.space import Space

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    [
        "",
        " ",
        "a'b",
        'a"b',
        "a\nb",
        "`",
        "<b>&amp;</b>",
        "naïve",
        "日本",
        "1",
        "True",
        "None",
        "nan",
        "\\",
        "\x00",
    ]
)
NAMES = st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5
) | st.sampled_from(["age", "capital-gain", "is", "a b", "_quoted_0", "é", "class", "0"])
LEVELS = st.one_of(
    st.lists(TEXTS, min_size=1, max_size=4, unique=True),
    st.lists(st.integers(-99, 99), min_size=1, max_size=4, unique=True),
    st.lists(st.floats(-9, 9, width=16), min_size=1, max_size=4, unique=True),
    st.permutations([False, True]),
)


@st.composite
def features(draw: Any, name: str, *, most: int = 6, continuous: bool = False) -> Feature:
    """One feature with at most `most` values, or a continuous one where that is asked for."""
    kind = draw(
        st.sampled_from(
            ["category", "integer", "real", *(["continuous"] if continuous else [])]
        )
    )
    if kind == "category":
        return category(name, draw(LEVELS))
    low = draw(st.integers(-1000, 1000))
    if kind == "continuous":
        return real(name, low / 8, low / 8 + draw(st.integers(1, 50)) / 4)
    step = draw(st.integers(1, 7))
    # A last step that does not divide the range is part of the game.
    high = low + step * draw(st.integers(0, most - 1)) + draw(st.integers(0, step - 1))
    if kind == "integer":
        return integer(name, low, high, step=step)
    unit = draw(st.sampled_from([0.1, 0.01, 0.25, 0.125, 1.0]))
    return real(
        name, round(low * unit, 6), round(high * unit, 6), step=round(step * unit, 6)
    )


@st.composite
def spaces(
    draw: Any, *, most: int = 4, constrained: bool = False, continuous: bool = False
) -> Space:
    """A space of at most `most` small features; with constraints that leave at least one input."""
    names = draw(st.lists(NAMES, min_size=1, max_size=most, unique=True))
    made = [draw(features(name, continuous=continuous)) for name in names]
    protected = draw(st.lists(st.sampled_from(names), unique=True))
    if not constrained:
        return Space(made, protected)
    texts = draw(st.lists(constraints(made), min_size=1, max_size=2))
    for count in range(len(texts), 0, -1):
        space = Space(made, protected, texts[:count])
        try:
            space.draw(1, np.random.default_rng(0))
        except EvenhandError:
            continue
        return space
    return Space(made, protected)


@st.composite
def constraints(draw: Any, made: list[Feature]) -> str:
    """Return a constraint over features in the grammar of the package, names in backquotes."""
    usable = [feature for feature in made if "`" not in feature.name]
    text = "True"
    for feature in draw(st.lists(st.sampled_from(usable), max_size=3)) if usable else ():
        join = draw(st.sampled_from(["and", "or", "and not", "or not"]))
        text = f"({text}) {join} ({draw(_comparison(feature))})"
    return text


@st.composite
def _comparison(draw: Any, feature: Feature) -> str:
    name = f"`{feature.name}`"
    if feature.kind == "category":
        level = draw(st.sampled_from(feature.levels))
        return f"{name} {draw(st.sampled_from(['==', '!=']))} {level!r}"
    values = (
        feature.values().tolist()
        if np.isfinite(feature.size)
        else [feature.low, feature.high]
    )
    value = draw(st.sampled_from(values))
    return f"{name} {draw(st.sampled_from(['<', '<=', '>', '>=', '==', '!=']))} {value!r}"


def every(space: Space) -> list[tuple[float, ...]]:
    """Every valid input of a small space, by brute force and one at a time."""
    found = itertools.product(*(feature.values().tolist() for feature in space.features))
    return [point for point in found if space.valid(np.array([point])).all()]
