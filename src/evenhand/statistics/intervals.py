"""Confidence intervals for one proportion, a difference of two, and the spread of several.

All functions are pure and vectorised over their counts, and return `(low, high)`.
`clopper_pearson`, `difference` and `spread` hold their level for a sample whose size does not
depend on what was seen; those of `anytime` hold it at all sizes at once. `wilson` and `wald` are
approximations: Wald's formula is the papers', has width zero at 0 and 1, and does not hold its
level.
"""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from evenhand.runtime.errors import UsageError
from evenhand.statistics.numerics import MOST_PROBIT, NODES, WEIGHTS, Bracket
from evenhand.statistics.pairs.extremes import Melding, extreme_of_all, grid_of_extremes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Limits: TypeAlias = "tuple[Floats, Floats]"

TINY = 1e-300
"""Stands for 0 where a parameter of the beta distribution must be positive."""
SAMPLING_THRESHOLD = 30
"""Themis has no stated value; Wald's formula is looked at above it, after every draw."""
_STEPS = 16
_FIRST_HALVINGS = 4
"""A chord is of no use before the bracket is within the nearly linear part."""
_SURE_SCORE = 9.0
"""The probit of all that a floating-point number below 1 can be."""


def check_level(level: float) -> float:
    """Return the level if it lies strictly between 0 and 1.

    >>> check_level(0.95)
    0.95
    """
    if not isinstance(level, Real) or not 0 < level < 1:
        raise UsageError(
            f"level is {level!r}; it must lie between 0 and 1, for example 0.95"
        )
    return float(level)


def check_margin(margin: float) -> None:
    """Refuse a margin that no interval can have."""
    if isinstance(margin, Real) and 0 < margin < 1:
        return
    raise UsageError(
        f"margin is {margin!r}; it must lie between 0 and 1, for example 0.05, or be"
        " None to sample until the limit is excluded or the budget is spent"
    )


def checked_threshold(threshold: int | None, interval: str | None) -> int:
    """Return the number of draws above which Wald's formula is looked at; None for the usual one.

    Themis calls it sampling_threshold (Algorithms 1 and 2). No other interval has one.

    >>> checked_threshold(None, None), checked_threshold(10, "wald")
    (30, 10)
    """
    if threshold is None:
        return SAMPLING_THRESHOLD
    if interval != "wald":
        raise UsageError(
            f"sampling_threshold = {threshold!r} is for the paper's own rule; add"
            " interval='wald', or leave it out"
        )
    is_whole = isinstance(threshold, int) and not isinstance(threshold, bool)
    if not is_whole or threshold < 0:
        raise UsageError(
            f"sampling_threshold = {threshold!r} must be a whole number of 0 or more, for"
            f" example {SAMPLING_THRESHOLD}"
        )
    return threshold


def checked(k: ArrayLike, n: ArrayLike) -> Limits:
    """Return hits and sizes as arrays of one shape; raise UsageError if they cannot be counts."""
    hits, size = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(n, dtype=float))
    are_counts = (hits >= 0) & (hits <= size) & np.isfinite(size)
    if not bool(np.all(are_counts)):
        raise UsageError(
            "counts must satisfy 0 <= hits <= n; check the number of hits and of inputs"
        )
    return hits, size


def share_of(hits: Floats, size: Floats, empty: float) -> Floats:
    """Return hits over sizes, with a given value where nothing was seen."""
    return np.where(size > 0, hits / np.maximum(size, 1), empty)


def z_score(level: float) -> float:
    """Return the two-sided normal quantile.

    >>> f"{z_score(0.95):.4f}"
    '1.9600'
    """
    from scipy.special import ndtri

    tail = (1 - check_level(level)) / 2
    return float(-ndtri(tail))


def clopper_pearson(k: ArrayLike, n: ArrayLike, level: float) -> Limits:
    """Return the exact interval of Clopper and Pearson.

    Each side misses with a probability of at most half of 1 - level.

    >>> low, high = clopper_pearson(3, 40, 0.95)
    >>> f"{low:.4f} {high:.4f}"
    '0.0157 0.2039'
    """
    hits, size = checked(k, n)
    tail = (1 - check_level(level)) / 2
    low = lower_limit(hits, size, tail)
    high = upper_limit(hits, size, tail)
    return low[()], high[()]


def lower_limit(hits: Floats, size: Floats, tail: float) -> Floats:
    """Return the one-sided exact lower limit that misses with probability at most `tail`.

    >>> f"{lower_limit(np.array(1.0), np.array(10.0), 0.025):.4f}"
    '0.0025'
    """
    from scipy.special import betaincinv

    quantile = betaincinv(np.maximum(hits, TINY), size - hits + 1, tail)
    return np.where(hits > 0, quantile, 0.0)


def upper_limit(hits: Floats, size: Floats, tail: float) -> Floats:
    """Return the one-sided exact upper limit that misses with probability at most `tail`.

    >>> f"{upper_limit(np.array(0.0), np.array(10.0), 0.025):.4f}"
    '0.3085'
    """
    return 1 - lower_limit(size - hits, size, tail)


def wilson(k: ArrayLike, n: ArrayLike, level: float) -> Limits:
    """Return Wilson's score interval.

    It holds its level on average over p rather than for every p.

    >>> low, high = wilson(3, 40, 0.95)
    >>> f"{low:.4f} {high:.4f}"
    '0.0258 0.1986'
    """
    hits, size = checked(k, n)
    z2 = z_score(level) ** 2
    middle = (hits + z2 / 2) / (size + z2)
    variance = hits * (size - hits) / np.maximum(size, 1)
    half = np.sqrt(z2 * (variance + z2 / 4)) / (size + z2)
    # Rounding must not push the limits past the share itself, which they touch at 0 and 1.
    low = np.where(hits > 0, middle - half, 0.0)
    high = np.where(hits < size, middle + half, 1.0)
    seen = size > 0
    return np.where(seen, low, 0.0)[()], np.where(seen, high, 1.0)[()]


def wald(k: ArrayLike, n: ArrayLike, level: float) -> Limits:
    """Return the papers' interval, share ± z·sqrt(share·(1 - share)/n).

    It has width zero at 0 and 1, and does not hold its level.

    >>> wald(0, 40, 0.95) == (0.0, 0.0)
    True
    """
    hits, size = checked(k, n)
    share = share_of(hits, size, 0.5)
    deviation = np.sqrt(share * (1 - share) / np.maximum(size, 1))
    half = np.where(size > 0, z_score(level) * deviation, 0.5)
    low = np.maximum(share - half, 0.0)
    high = np.minimum(share + half, 1.0)
    return low[()], high[()]


def difference(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, level: float
) -> Limits:
    """Return the melded exact interval for p1 - p2 of two independent samples.

    It is that of Fay, Proschan and Brittain (2015). Square-and-add (MOVER, Newcombe) on
    Clopper-Pearson limits was tried and rejected: by enumeration it misses over 1.5 times its
    nominal rate at level 0.95 and over 6 times at 0.99, near |p1 - p2| = 1, where the melded
    interval stays within two thirds of it.

    >>> low, high = difference(30, 40, 12, 40, 0.95)
    >>> f"{low:.3f} {high:.3f}"
    '0.212 0.642'
    """
    first = checked(k1, n1)
    second = checked(k2, n2)
    tail = (1 - check_level(level)) / 2
    low = difference_above(*first, *second, tail)
    # The upper limit of p1 - p2 is minus the lower one of p2 - p1.
    high = -difference_above(*second, *first, tail)
    return low[()], high[()]


def difference_above(k1: Floats, n1: Floats, k2: Floats, n2: Floats, tail: float) -> Floats:
    """Return the one-sided melded lower limit of p1 - p2.

    It misses with a probability of at most `tail`.

    >>> one = np.array(1.0)
    >>> f"{difference_above(30 * one, 40 * one, 12 * one, 40 * one, 0.025):.3f}"
    '0.212'
    """
    from scipy.special import ndtri

    probability = melded(k1, n1, k2, n2)
    shape = np.broadcast_shapes(np.shape(k1), np.shape(n1), np.shape(k2), np.shape(n2))
    target = float(ndtri(tail))
    bracket = Bracket(
        far=np.full(shape, -1.0),
        near=np.ones(shape),
        below=np.full(shape, -MOST_PROBIT),
        above=np.full(shape, _SURE_SCORE),
    )
    for step in range(_STEPS):
        # The probit of the melded probability is nearly linear in d: chords lead there in few
        # steps.
        point = bracket.middle() if step < _FIRST_HALVINGS else bracket.chord()
        score = ndtri(probability(point)) - target
        bracket.narrow(point, np.clip(score, -MOST_PROBIT, MOST_PROBIT))
    return bracket.far


def melded(k1: Floats, n1: Floats, k2: Floats, n2: Floats) -> Callable[[Floats], Floats]:
    """Return the function d -> P(L - U <= d).

    L and U are the confidence variables of the lower limit of p1 and of the upper limit of p2: beta
    variables whose quantiles are the exact one-sided limits.

    >>> one = np.array(1.0)
    >>> bool(melded(30 * one, 40 * one, 12 * one, 40 * one)(np.array(0.2)) < 0.025)
    True
    """
    from scipy.special import betainc, betaincinv, ndtr

    # L - U is distributed as (1 - U) - (1 - L): the two samples may change places, with misses for
    # hits. The nodes must carry the narrower variable for a smooth integrand.
    swap = _variance(k1, n1 - k1 + 1) < _variance(k2 + 1, n2 - k2)
    outer_hits = np.where(swap, n2 - k2, k1)
    outer_size = np.where(swap, n2, n1)
    inner_hits = np.where(swap, n1 - k1, k2)
    inner_size = np.where(swap, n1, n2)
    # Pairs of groups share their samples, and inverting is by far the most expensive step: it is
    # done once for each distinct sample, which a complex number stands for.
    samples, index = np.unique(inner_hits + 1j * inner_size, return_inverse=True)
    misses = (samples.imag - samples.real)[:, None]
    has_misses = misses > 0
    quantiles = betaincinv(
        (samples.real + 1)[:, None], np.where(has_misses, misses, 1.0), ndtr(NODES)
    )
    # Without misses, the upper limit is 1 for certain.
    inner = np.where(has_misses, quantiles, 1.0)[index.reshape(inner_hits.shape)]
    certain = (inner_hits >= inner_size) & (outer_hits <= 0)
    a = np.maximum(outer_hits, TINY)[..., None]
    b = (outer_size - outer_hits + 1)[..., None]

    def probability(d: Floats) -> Floats:
        bound = np.clip(inner + d[..., None], 0.0, 1.0)
        joint = betainc(a, b, bound) @ WEIGHTS
        return np.where(certain, 1.0 * (d >= -1), joint)

    return probability


def _variance(a: Floats, b: Floats) -> Floats:
    """Return the variance of a beta variable, which is 0 where a parameter is."""
    total = a + b
    return np.asarray(a * b / (total**2 * (total + 1)))


def check_groups(hits: Floats) -> int:
    """Return how many groups are on the last axis; refuse fewer than two."""
    groups = int(hits.shape[-1])
    if groups < 2:
        raise UsageError(f"a spread needs at least two groups, not {groups}")
    return groups


def ordered_pairs(hits: Floats, size: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return k1, n1, k2, n2 of all ordered pairs of the groups on the last axis.

    >>> k1, _, k2, _ = ordered_pairs(np.array([3.0, 5.0]), np.array([9.0, 9.0]))
    >>> k1 - k2
    array([-2.,  2.])
    """
    groups = check_groups(hits)
    i, j = np.nonzero(~np.eye(groups, dtype=bool))
    return hits[..., i], size[..., i], hits[..., j], size[..., j]


def spread_tails(groups: int, alpha: float) -> tuple[float, float]:
    """Return the one-sided errors for each ordered pair's lower limit and for the upper limit.

    The upper limit can miss only through the pair that truly has the largest difference, so it
    needs no correction for having taken a maximum; that pair's reversed lower limit is part of the
    same event, hence m(m - 1) - 1 others.

    >>> spread_tails(2, 0.05)
    (0.025, 0.025)
    """
    others = groups * (groups - 1) - 1
    return alpha / 2 / others, alpha / 2


def spread(k: ArrayLike, n: ArrayLike, level: float, *, among: int | None = None) -> Limits:
    """Return an interval for max p - min p over the groups on the last axis.

    It is simultaneous over which pair is extreme. An empty group could have any rate, so the upper
    limit is then 1. With samples of equal size the two groups with the most and the fewest hits
    decide both limits: they may be given alone, with the number they are taken `among`.

    >>> low, high = spread([30, 20, 12], [40, 40, 40], 0.95)
    >>> f"{low:.3f} {high:.3f}"
    '0.144 0.642'
    """
    hits, size = checked(k, n)
    check_groups(hits)
    groups = among or hits.shape[-1]
    low_tail, high_tail = spread_tails(groups, 1 - check_level(level))
    low = np.maximum(_extreme(hits, size, low_tail, largest=True), 0.0)
    # Over ordered pairs, the largest upper limit of p_i - p_j is minus the smallest lower limit of
    # p_j - p_i.
    high = -_extreme(hits, size, high_tail, largest=False)
    has_empty = (size == 0).any(axis=-1)
    return low[()], np.where(has_empty, 1.0, high)[()]


def _extreme(hits: Floats, size: Floats, tail: float, *, largest: bool) -> Floats:
    """Return the largest melded lower limit over all pairs, or the smallest."""
    grid = grid_of_extremes(hits, size, largest=largest)
    far, near = grid.bounds(lower_limit, upper_limit, np.subtract, tail)
    return extreme_of_all(
        Melding(difference_above, melded),
        grid,
        (far, near),
        tail,
        largest=largest,
        worst=-1.0 if largest else 1.0,
    )


def by_group(k: ArrayLike, n: ArrayLike, level: float) -> Limits:
    """Return exact intervals for the groups on the last axis.

    All of them hold together with probability `level`, by Šidák's correction: the samples of groups
    are independent.

    >>> low, high = by_group([3, 5], [40, 40], 0.95)
    >>> f"{low[0]:.4f} {high[0]:.4f}"
    '0.0121 0.2234'
    """
    hits, size = checked(k, n)
    groups = max(hits.shape[-1], 1)
    level_of_each = check_level(level) ** (1 / groups)
    return clopper_pearson(hits, size, level_of_each)
