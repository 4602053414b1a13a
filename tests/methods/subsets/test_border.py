"""Which set is tested next: predictions and their worth against loops over all sets."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand.methods.subsets.border import (
    ALMOST_CERTAIN,
    AT_ONCE,
    NEXT_TO_NOTHING,
    RECENT,
    Border,
)
from evenhand.methods.subsets.lattice import Lattice, State

NAMES = tuple("abcdefgh")


def border_of(features=3, *, limit=0.4, margin=0.05, varieties=None, most=math.inf):
    lattice = Lattice(NAMES[:features])
    return Border(lattice, limit, margin, varieties or [2.0] * features, most)


def weight(score):
    return -math.log(1 - score)


def test_before_anything_is_seen_features_score_half_the_limit():
    border = border_of(2, limit=0.4)
    both = 1 - 0.8 * 0.8
    assert border.predicted() == pytest.approx([0.0, 0.2, 0.2, both])


def test_the_scores_of_features_add_up_as_if_they_were_independent():
    border = border_of(3)
    for mask, score in ((1, 0.1), (2, 0.3), (4, 0.5)):
        border.learn(mask, score)
    expected = [0, 0.1, 0.3, 1 - 0.9 * 0.7, 0.5, 1 - 0.9 * 0.5, 1 - 0.7 * 0.5, 0.685]
    assert border.predicted() == pytest.approx(expected)


def test_a_score_bounds_those_of_supersets_from_below_and_of_subsets_from_above():
    border = border_of(3)
    border.learn(1, 0.3)
    border.learn(0b011, 0.32)
    border.learn(0b111, 0.33)
    predicted = border.predicted()
    # Without these bounds every one of these would be higher, or lower.
    assert predicted[0b001] == pytest.approx(0.3)
    assert predicted[0b011] == pytest.approx(0.32)
    assert predicted[0b111] == pytest.approx(0.33)
    assert predicted[0b101] == pytest.approx(0.33)
    assert predicted[0b110] <= 0.33
    assert predicted[0b010] <= 0.32
    assert predicted[0b000] == 0


def test_a_low_score_of_a_large_set_caps_all_sets_within_it_and_no_other():
    border = border_of(3, limit=0.8)
    border.learn(0b011, 0.05)
    predicted = border.predicted()
    assert predicted[0b001] == predicted[0b010] == pytest.approx(0.05)
    assert predicted[0b100] == pytest.approx(0.4)
    assert predicted[0b101] > 0.4


def test_a_later_score_only_tightens_the_bounds():
    border = border_of(2, limit=0.9)
    border.learn(0b11, 0.2)
    border.learn(0b11, 0.6)
    assert border.predicted()[0b01] == pytest.approx(0.2)
    # The floor wins where scores contradict each other.
    assert border.predicted()[0b11] == pytest.approx(0.6)


def test_the_strength_of_features_together_is_the_median_of_what_was_seen():
    border = border_of(3)
    for mask in (1, 2, 4):
        border.learn(mask, 0.2)
    ratios = []
    for mask, score in ((0b011, 0.5), (0b101, 0.4), (0b110, 0.6)):
        border.learn(mask, score)
        ratios.append(weight(score) / (2 * weight(0.2)))
    strength = float(np.median(ratios))
    assert border.predicted()[0b111] == pytest.approx(1 - 0.8 ** (3 * strength))


def test_scores_of_0_and_1_and_of_features_say_nothing_of_the_strength():
    border = border_of(2)
    border.learn(1, 0.2)
    border.learn(2, 0.2)
    unchanged = border.predicted()
    border.learn(0b11, 1.0)
    assert border.predicted()[0b11] == 1.0
    fresh = border_of(2)
    fresh.learn(0b11, 0.0)
    fresh.learn(1, 0.2)
    fresh.learn(2, 0.2)
    assert fresh.predicted()[0b11] == pytest.approx(0.2)
    assert unchanged[0b11] == pytest.approx(0.36)


def test_a_set_of_features_without_effect_has_no_strength():
    border = border_of(3)
    for mask, score in ((1, 0.0), (2, 0.0), (4, 0.25)):
        border.learn(mask, score)
    border.learn(0b011, 0.3)
    assert border.predicted()[0b100] == pytest.approx(0.25)


def test_the_latest_scores_count():
    border = border_of(2, limit=0.99)
    border.learn(1, 0.1)
    border.learn(2, 0.1)
    for _ in range(RECENT):
        border.learn(0b11, 0.2)
    for _ in range(RECENT):
        border.learn(0b11, 0.9)
    ratio = weight(0.9) / (2 * weight(0.1))
    assert border._strength() == pytest.approx(ratio)
    border.learn(0b11, 0.2)
    assert border._strength() == pytest.approx(ratio)


def test_a_feature_that_flips_everybody_has_a_finite_weight():
    border = border_of(2)
    border.learn(1, 1.0)
    border.learn(2, 0.0)
    assert border._weight(0b11) == pytest.approx(weight(ALMOST_CERTAIN))
    assert border.predicted()[1] == 1.0


def test_a_glance_replaces_the_prediction_of_one_set_within_its_bounds():
    border = border_of(2)
    border.learn(1, 0.3)
    border.guess({0b11: 0.7, 0b10: 0.1})
    assert border.predicted() == pytest.approx([0, 0.3, 0.1, 0.7])
    border.guess({0b11: 0.2})
    assert border.predicted()[0b11] == pytest.approx(0.3)


def test_a_set_has_as_many_variants_as_the_product_of_its_features_values():
    border = border_of(3, varieties=[2.0, 3.0, 5.0])
    assert border.costs.tolist() == [1, 2, 3, 6, 5, 10, 15, 30]


def test_single_features_come_first_unless_they_are_settled():
    border = border_of(3)
    assert border.batch() == [1, 2, 4]
    border.learn(2, 0.1)
    border.lattice.mark(4, State.ABOVE)
    assert border.batch() == [1]


def test_nothing_is_left_once_every_set_is_settled():
    border = border_of(2)
    border.lattice.mark(0b11, State.BELOW)
    assert border.batch() == []


def worth_by_loops(border):
    """Return what each open set is worth, from the formulas and one set at a time."""
    scores = border.predicted()
    is_open = border.lattice.open
    worth = {}
    for mask in np.flatnonzero(is_open).tolist():
        score = float(scores[mask])
        settled = 0.0
        for other in np.flatnonzero(is_open).tolist():
            is_over = other & mask == mask
            is_under = other & mask == other
            settled += is_over if score >= border.limit else is_under
        if score < border.limit and border.costs[mask] > border.most:
            settled = NEXT_TO_NOTHING
        if border.margin:
            distance = abs(score - border.limit)
            chance = min(max(distance / (2 * border.margin), 0.01), 1) ** 2
            spread = max(distance, border.margin) ** 2
            draws = 16 + 16 * 2 * score * (1 - score) / spread
            variants = (1 - score) * min(border.costs[mask], border.most) + 8 * score
            settled = settled * chance / (draws * variants)
        worth[mask] = settled
    return worth


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("most", [math.inf, 20.0])
@pytest.mark.parametrize("limit", [0.15, 0.4, 0.6])
def test_those_that_settle_most_for_what_they_take_come_first(margin, most, limit):
    varieties = [2.0, 3.0, 5.0, 2.0, 4.0]
    border = border_of(5, limit=limit, margin=margin, varieties=varieties, most=most)
    for bit, score in enumerate((0.02, 0.1, 0.05, 0.13, 0.08)):
        border.lattice.mark(1 << bit, State.BELOW)
        border.learn(1 << bit, score)
    border.learn(0b00111, 0.14)
    worth = worth_by_loops(border)
    found = border.batch()
    by_worth = sorted(worth, key=lambda mask: (-round(worth[mask], 12), mask))
    rounded = [round(worth[mask], 12) for mask in found]
    assert rounded == [round(worth[mask], 12) for mask in by_worth]
    assert set(found) == set(worth)


def test_a_batch_is_bounded():
    border = border_of(8, margin=0.0)
    for bit in range(8):
        border.lattice.mark(1 << bit, State.BELOW)
        border.learn(1 << bit, 0.05)
    batch = border.batch()
    assert len(batch) == AT_ONCE == 64


def test_of_sets_worth_the_same_the_first_come_first():
    border = border_of(4, margin=0.0, limit=0.9)
    for bit in range(4):
        border.lattice.mark(1 << bit, State.BELOW)
        border.learn(1 << bit, 0.1)
    # All are below: the whole settles all, then sets of three, then pairs.
    assert border.batch() == [15, 7, 11, 13, 14, 3, 5, 6, 9, 10, 12]
