"""refusals: how far the shares of a group that is refused are apart."""

from __future__ import annotations

from typing import Any

import evenhand as eh


def refused(cells: Any, favourable: Any) -> Any:
    """Return the largest difference of the shares that are told an unfavourable label."""
    share = cells[..., ~favourable].sum(axis=(-2, -1)) / cells.sum(axis=(-2, -1))
    return share.max(axis=-1) - share.min(axis=-1)


REFUSALS = eh.Metric(
    "refusals",
    refused,
    linear=True,
    bounds=(0, 1),
    needs_positive=True,
    help="how far shares of refusals are apart",
)
