"""How many rules are frequent, those that cover the same people counted each (Algorithm 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.mine.counting.rule_table import blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.counting.enumeration import Enumerated
    from evenhand.methods.mine.counting.rule_table import Level
    from evenhand.methods.mine.cube import Cube
    from evenhand.statistics.intervals import Floats


def frequent_rules(found: Enumerated, cube: Cube, sizes: Floats, depth: int) -> int:
    """Return how many rules of at most `depth` features cover enough people.

    Rule sets stand for rules that cover the same people. A condition that covers everybody, such as
    one that leaves out a level that nobody has, is part of no rule set; with each of those every
    rule is one rule more.

    Parameters
    ----------
    cube
        The cube of all rules, before those that cover the same were merged.
    sizes
        The people in each of its cells.
    """
    idle = [cube.covering_all(position, sizes) for position in range(len(cube.choices))]
    if not any(idle):
        copies = _copies(found)
        return sum(_rules(copies, level.rules) for level in found.levels)
    by_family: dict[tuple[int, ...], int] = {(): 1 if sizes.any() else 0}
    for level in found.levels:
        by_family |= _rules_by_family(found, level)
    rules = 0
    for family, number in by_family.items():
        others = [count for position, count in enumerate(idle) if position not in family]
        rules += number * _ways(others, depth - len(family))
    return rules - by_family[()]


def _rules_by_family(found: Enumerated, level: Level) -> dict[tuple[int, ...], int]:
    """Return how many rules the rule sets of each family stand for."""
    copies = _copies(found)
    by_family = {}
    for rules in found.search.by_family(level):
        family = found.search.numbering.family(rules[0])
        by_family[family] = _rules(copies, rules)
    return by_family


def _rules(copies: NDArray[np.int64], rule_sets: NDArray[np.int32]) -> int:
    """Return how many rules rule sets stand for, of which each is a row of choices."""
    rules = 0
    for some in blocks(len(rule_sets)):
        rules += int(copies[rule_sets[some]].prod(axis=1).sum())
    return rules


def _copies(found: Enumerated) -> NDArray[np.int64]:
    """Return how many rules each choice of all features stands for."""
    return np.concatenate([choices.copies for choices in found.search.cube.choices])


def _ways(counts: Sequence[int], most: int) -> int:
    """Return how many ways there are to take one of each of up to `most` counts, or none.

    >>> _ways([2, 3], 1), _ways([2, 3], 2), _ways([], 3)
    (6, 12, 1)
    """
    # The coefficients of the product of (1 + count · x), lowest power first.
    ways = [1] + [0] * most
    for count in counts:
        if count:
            for size in range(most, 0, -1):
                ways[size] += ways[size - 1] * count
    return sum(ways)
