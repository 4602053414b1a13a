"""The driver of mutation testing itself: what is changed, and whether a change is noticed."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from evenhand.statistics import intervals
from tests.mutation import mutants, report
from tests.mutation.operators import Finder
from tests.mutation.reach import Reach
from tests.mutation.run import KILLED, SURVIVED, Fate
from tests.mutation.targets import PARTS, modules, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def mutated(source: str) -> list[str]:
    """Return the source after each of its changes."""
    found = []
    number = sum(1 for _ in Finder().places(ast.parse(source)))
    for wanted in range(number):
        tree = ast.parse(source)
        for at, place in enumerate(Finder().places(tree)):
            if at == wanted:
                place.make()
                break
        found.append(ast.unparse(tree))
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a < b", ["return a <= b", "return a >= b"]),
        ("return a and b", ["return a or b"]),
        ("return max(a, b)", ["return min(a, b)"]),
        ("return np.where(a, b, c)", ["return np.where(a, c, b)"]),
        ("return -a", ["return a"]),
        ("a += b", ["a -= b", "pass"]),
        ("raise ValueError('a' + b)", ["pass"]),
    ],
)
def test_each_change_is_one_small_change(body, expected):
    changes = [text.splitlines()[1].strip() for text in mutated(f"def f():\n    {body}")]
    assert [change for change in changes if change != "return None"] == expected


def test_words_annotations_and_assertions_are_left_alone():
    source = (
        'def f(a: "x" = None) -> int:\n'
        '    """Say 1 + 1."""\n'
        "    assert a > 1\n"
        "    b: Optional[1] = a\n"
        '    raise ValueError(f"{a + 1} is {b > 2}")\n'
    )
    assert len(mutated(source)) == 1


def test_every_change_of_a_module_can_be_compiled_and_differs():
    path = next(path for path in modules("statistics") if path.stem == "spending")
    source = path.read_text(encoding="utf-8")
    plain = ast.unparse(ast.parse(source))
    for text in mutated(source):
        assert text != plain
        compile(text, "mutant", "exec")


@pytest.mark.parametrize("part", PARTS)
def test_mutants_have_keys_of_their_own_and_samples_repeat(part):
    every = mutants.all_of(part)
    keys = Counter(mutant.key for mutant in every)
    assert keys.most_common(1)[0][1] == 1
    some = mutants.sample(part, 20, seed=1)
    assert some == mutants.sample(part, 20, seed=1)
    assert some != mutants.sample(part, 20, seed=2)
    assert {mutant.key for mutant in some} <= set(keys)


@pytest.fixture
def share() -> Iterator[Any]:
    """A function of the package, with its own code again afterwards."""
    function = intervals.share_of
    code = function.__code__
    yield function
    function.__code__ = code


def test_a_mutant_takes_the_place_of_the_original(share):
    import numpy as np

    wanted = "statistics/intervals.py share_of: hits / np.maximum(size, 1)"
    found = [mutant for mutant in mutants.all_of("statistics") if wanted in mutant.key]
    (mutant,) = [mutant for mutant in found if "*" in mutant.after]
    assert share(np.array(6.0), np.array(3.0), 0.0) == 2
    mutants.put(mutant)
    assert share(np.array(6.0), np.array(3.0), 0.0) == 18


def test_quick_tests_come_first_and_those_of_the_module_up_to_the_time_there_is():
    mutant = mutants.sample("statistics", 1, seed=0)[0]
    own = f"tests/unit/test_{mutant.path.stem}.py::test_a"
    tests = {mutant.lines.start: frozenset([own, "b", "c", "d"])}
    seconds = {own: 4.0, "b": 2.0, "c": 1.0, "d": 50.0}
    reach = Reach({mutant.module: tests}, seconds)
    assert reach.of(mutant, 10) == [own, "c", "b"]


def document(outcomes: dict[str, str]) -> dict[str, Any]:
    """Return a document of some mutants of one part."""
    every = mutants.sample("statistics", len(outcomes), seed=3)
    fates = []
    for mutant, outcome in zip(every, outcomes.values(), strict=True):
        fates.append(Fate(mutant, outcome))
    return {"possible": {"statistics": 100}, "mutants": report.records(fates)}


def test_equivalent_mutants_are_not_counted_against_the_tests(monkeypatch):
    found = document({"a": KILLED, "b": KILLED, "c": SURVIVED, "d": SURVIVED})
    key = report.survivors(found)[0]["key"]
    monkeypatch.setattr(report, "reasons", lambda: {key: (report.EQUIVALENT, "the same")})
    tally = report.tallies(found)[0]
    assert (tally.killed, tally.equivalent, tally.survived) == (2, 1, 1)
    assert tally.rate.startswith("66.7%")
    assert "the same" in report.survivor_table(found)


def test_every_survivor_with_a_reason_is_a_mutant_that_there_is():
    every: set[str] = set()
    for part in PARTS:
        every |= {mutant.key for mutant in mutants.all_of(part)}
    assert set(report.reasons()) <= every


def test_names_of_modules_are_inside_the_package():
    assert name_of(modules("scores")[0]).startswith("scores/")
