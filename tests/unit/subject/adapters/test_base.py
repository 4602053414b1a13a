"""What all adapters check alike."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.runtime.errors import UsageError
from evenhand.subject.adapters.base import check_threshold


@pytest.mark.parametrize("threshold", [0, 1, -0.5, 1.5, "0.5", float("nan")])
def test_a_threshold_lies_between_0_and_1(threshold: Any):
    with pytest.raises(UsageError, match="must lie between 0 and 1"):
        check_threshold(threshold)


@pytest.mark.parametrize("threshold", [None, 0.001, 0.5, 0.999])
def test_probabilities_lie_on_both_sides_of_a_threshold(threshold):
    check_threshold(threshold)
