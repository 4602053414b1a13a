"""The benchmark's Themis: asking in batches executes the very tests of the published procedure."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.benchmarks import benchmark

SIZES = (3, 2, 4, 2, 3)


@pytest.fixture(scope="module")
def themis():
    return benchmark("themis_original")


def table(seed, share=0.4):
    rng = np.random.default_rng(seed)
    return rng.random(SIZES) < share


def both(themis, answers, rules, seed=0):
    """Return the published procedure, which asks one by one, and the one that asks in batches."""

    def answer(codes):
        return bool(answers[codes])

    def answer_many(codes):
        return answers[tuple(codes.T)]

    sequential = themis.Sequential(answer, SIZES, rules, seed)
    counter = themis.Counter(answer_many, SIZES, rules, seed)
    return sequential, counter


def exact(answers, chosen):
    """Return the causal score by listing everything (Definition 3.7)."""
    changes = answers.any(axis=chosen) & ~answers.all(axis=chosen)
    return changes.mean()


@pytest.mark.parametrize("order", ["product", "scrambled"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prune", [True, False])
def test_the_counter_executes_the_same_tests(themis, order, seed, prune):
    answers = table(seed, 0.15)
    rules = themis.Rules(0.9, 0.1, order=order)
    sequential, counter = both(themis, answers, rules, seed)
    for chosen in [(2,), (0, 4), (1, 2, 3)]:
        assert sequential.causal(chosen) == counter.causal(chosen)
        assert sequential.tests == counter.tests
    sequential_sets = themis.search(sequential.causal, range(5), 0.6, prune=prune)
    counter_sets = themis.search(counter.causal, range(5), 0.6, prune=prune)
    assert sequential_sets == counter_sets
    assert sequential.tests == counter.tests
    assert not counter.capped


@pytest.mark.parametrize("order", ["product", "scrambled"])
def test_a_cap_cuts_both_at_the_same_variant(themis, order):
    answers = table(5, 0.03)
    rules = themis.Rules(0.9, 0.1, cap=7, order=order)
    sequential, counter = both(themis, answers, rules)
    chosen = (0, 2, 4)
    assert sequential.causal(chosen) == counter.causal(chosen)
    assert sequential.tests == counter.tests
    assert sequential.capped
    assert counter.capped


def test_scrambled_variants_are_all_variants(themis):
    rules = themis.Rules(order="scrambled")
    sequential = themis.Sequential(lambda codes: True, SIZES, rules)
    rng = np.random.default_rng(0)
    for _ in range(20):
        codes, numbers = themis.draw(rng, sequential.sizes, 1)
        start = tuple(codes[0].tolist())
        variants = list(sequential.variants(start, numbers, (0, 2, 4)))
        assert len(variants) == 3 * 4 * 3 - 1
        assert len(set(variants)) == len(variants)
        for variant in variants:
            assert variant != start
            assert variant[1] == start[1]
            assert variant[3] == start[3]


@pytest.mark.parametrize("chosen", [(0,), (2, 3), (0, 1, 2)])
def test_scores_are_near_the_truth_where_the_margin_means_something(themis, chosen):
    answers = table(1, 0.1)
    rules = themis.Rules(0.99, 0.02)
    sequential, counter = both(themis, answers, rules)
    truth = exact(answers, chosen)
    assert 0.1 < truth < 0.9
    assert counter.causal(chosen) == pytest.approx(truth, abs=0.03)
    assert sequential.causal(chosen) == pytest.approx(truth, abs=0.03)


def test_group_scores_are_near_the_truth(themis):
    answers = table(2)
    answers[0] = True
    rules = themis.Rules(0.99, 0.02)
    sequential, _ = both(themis, answers, rules)
    shares = answers.mean(axis=(1, 2, 3, 4))
    truth = np.ptp(shares)
    assert sequential.group((0,)) == pytest.approx(truth, abs=0.05)


def test_the_margin_is_zero_at_zero_hits_so_sampling_ends_at_once(themis):
    """The flaw that makes the published rule report small scores as zero."""
    rules = themis.Rules()
    never = np.zeros(SIZES, dtype=bool)
    sequential, counter = both(themis, never, rules)
    assert sequential.causal((1,)) == 0
    assert counter.causal((1,)) == 0
    assert rules.enough(0, rules.least + 1)
    assert not rules.enough(1, rules.least + 1)


def test_pruning_leaves_out_supersets_and_finds_the_same(themis):
    sets = []

    def score(chosen):
        sets.append(chosen)
        is_over = {0, 2} <= set(chosen) or 3 in chosen
        return 1.0 if is_over else 0.0

    assert themis.search(score, range(4), 0.75) == [(3,), (0, 2)]
    pruned = len(sets)
    assert themis.search(score, range(4), 0.75, prune=False) == [(3,), (0, 2)]
    unpruned = len(sets) - pruned
    assert unpruned == 15
    assert pruned < unpruned


def test_a_thinned_count_of_distinct_keys_is_near_the_exact_one(themis):
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 200_000, (300, 1000))
    every_key = themis.Distinct()
    thinned = themis.Distinct(16)
    for some in keys:
        every_key.add(some)
        thinned.add(some)
    assert every_key.count == len(np.unique(keys))
    assert thinned.count / every_key.count == pytest.approx(1, abs=0.03)
