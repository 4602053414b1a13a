"""The benchmark's Themis: the counter that asks in batches executes the very tests of the published
procedure.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys

import numpy as np
import pytest

from tests.support.paths import ROOT

SOURCE = ROOT / "benchmarks" / "themis_original.py"
SIZES = (3, 2, 4, 2, 3)


@pytest.fixture(scope="module")
def themis():
    spec = importlib.util.spec_from_file_location("benchmarks_themis_original", SOURCE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def table(seed, share=0.4):
    return np.random.default_rng(seed).random(SIZES) < share


def both(themis, answers, rules, seed=0):
    one = themis.Sequential(lambda k: bool(answers[k]), SIZES, rules, seed)
    many = themis.Counter(lambda codes: answers[tuple(codes.T)], SIZES, rules, seed)
    return one, many


def exact(answers, chosen):
    """Return the causal score by listing everything (Definition 3.7)."""
    flips = [
        len({bool(answers[tuple(v)]) for v in itertools.product(*(range(s) if i in chosen else [k[i]]
                                                                  for i, s in enumerate(SIZES)))}) > 1
        for k in itertools.product(*map(range, SIZES))
    ]  # fmt: skip
    return sum(flips) / len(flips)


@pytest.mark.parametrize("order", ["product", "scrambled"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prune", [True, False])
def test_the_counter_executes_the_same_tests(themis, order, seed, prune):
    rules = themis.Rules(0.9, 0.1, order=order)
    one, many = both(themis, table(seed, 0.15), rules, seed)
    for chosen in [(2,), (0, 4), (1, 2, 3)]:
        assert one.causal(chosen) == many.causal(chosen)
        assert one.tests == many.tests
    found = [themis.search(each.causal, range(5), 0.6, prune=prune) for each in (one, many)]
    assert found[0] == found[1]
    assert one.tests == many.tests
    assert not many.capped


@pytest.mark.parametrize("order", ["product", "scrambled"])
def test_a_cap_cuts_both_at_the_same_variant(themis, order):
    one, many = both(themis, table(5, 0.03), themis.Rules(0.9, 0.1, cap=7, order=order))
    assert one.causal((0, 2, 4)) == many.causal((0, 2, 4))
    assert one.tests == many.tests
    assert one.capped and many.capped


def test_scrambled_variants_are_all_variants(themis):
    rules = themis.Rules(order="scrambled")
    one = themis.Sequential(lambda k: True, SIZES, rules)
    rng = np.random.default_rng(0)
    for _ in range(20):
        codes, numbers = themis.draw(rng, one.sizes, 1)
        k0 = tuple(codes[0].tolist())
        listed = list(one.variants(k0, numbers, (0, 2, 4)))
        assert len(listed) == len(set(listed)) == 3 * 4 * 3 - 1
        assert all(k != k0 and (k[1], k[3]) == (k0[1], k0[3]) for k in listed)


@pytest.mark.parametrize("chosen", [(0,), (2, 3), (0, 1, 2)])
def test_scores_are_near_the_truth_where_the_margin_means_something(themis, chosen):
    answers = table(1, 0.1)
    one, many = both(themis, answers, themis.Rules(0.99, 0.02))
    truth = exact(answers, chosen)
    assert 0.1 < truth < 0.9
    assert abs(many.causal(chosen) - truth) < 0.03
    assert abs(one.causal(chosen) - truth) < 0.03


def test_group_scores_are_near_the_truth(themis):
    answers = table(2)
    answers[0] = True
    one, _ = both(themis, answers, themis.Rules(0.99, 0.02))
    shares = answers.mean(axis=(1, 2, 3, 4))
    assert abs(one.group((0,)) - np.ptp(shares)) < 0.05


def test_the_margin_is_zero_at_zero_hits_so_sampling_ends_at_once(themis):
    """The flaw that makes the published rule report small scores as zero."""
    rules = themis.Rules()
    one, many = both(themis, np.zeros(SIZES, dtype=bool), rules)
    assert one.causal((1,)) == many.causal((1,)) == 0
    assert rules.enough(0, rules.least + 1)
    assert not rules.enough(1, rules.least + 1)


def test_pruning_leaves_out_supersets_and_finds_the_same(themis):
    sets = []

    def score(chosen):
        sets.append(chosen)
        return 1.0 if {0, 2} <= set(chosen) or 3 in chosen else 0.0

    assert themis.search(score, range(4), 0.75) == [(3,), (0, 2)]
    pruned = len(sets)
    assert themis.search(score, range(4), 0.75, prune=False) == [(3,), (0, 2)]
    assert len(sets) - pruned == 15 > pruned


def test_a_thinned_count_of_distinct_keys_is_near_the_exact_one(themis):
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 200_000, (300, 1000))
    exact, thinned = themis.Distinct(), themis.Distinct(16)
    for some in keys:
        exact.add(some)
        thinned.add(some)
    assert exact.count == len(np.unique(keys))
    assert abs(thinned.count / exact.count - 1) < 0.03
