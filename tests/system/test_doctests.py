"""Every example in a docstring is run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import evenhand

MODULES = [
    "evenhand",
    *(found.name for found in pkgutil.walk_packages(evenhand.__path__, "evenhand.")),
]


@pytest.mark.parametrize(
    "name", [name for name in MODULES if not name.endswith("__main__")]
)
def test_the_examples_of_a_module(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(
        module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert failed == 0
