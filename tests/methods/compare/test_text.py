"""A comparison as text: what intervals rest on is a field, whatever the method is called."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenhand.methods.compare.comparison import Comparison
from evenhand.methods.compare.plot import SharesDisplay
from evenhand.methods.compare.regions import REGIONS, SHORT
from evenhand.methods.compare.text import sampled
from tests.support.evidence import made


@pytest.mark.parametrize(
    ("name", "sample", "axis"),
    [
        ("compare", "900 rows", "share of resamples of 900 rows"),
        ("compare, splits", "4 runs, each with a test set of its own", "share of 4 runs"),
    ],
)
@pytest.mark.parametrize("method", ["bootstrap", "corrected t over splits", "Übersetzung"])
def test_resamples_and_splits_differ_whatever_the_method_is_called(
    name, sample, axis, method
):
    found: Comparison = made(name)
    performance, bias = (replace(score, method=method) for score in found.start)
    again = Comparison.from_dict(replace(found, start=(performance, bias)).to_dict())
    assert again.resampled is (name == "compare")
    assert sampled(again) == sample
    assert SharesDisplay.from_comparison(again).axis == axis


def test_every_region_has_a_short_name():
    assert list(SHORT) == list(REGIONS)
    assert list(SHORT.values()) == ["lose-lose", "poor", "inverted", "good", "win-win"]
