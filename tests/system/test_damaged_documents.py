"""Results whose parts do not fit together are shown, or refused in a sentence."""

from __future__ import annotations

import json

import numpy as np
import pytest

import evenhand as eh
from evenhand.explore.given_cases import cases_of
from evenhand.methods.audit.audit_result import Audit, gathered
from evenhand.methods.search.hits_table import _read
from tests.support.evidence import made


def test_a_twin_that_lacks_a_feature_is_shown_without_it():
    assert eh.Case({"sex": "F"}, {}, (1, 0)).change_text == "sex F → unknown: 1 → 0"


def test_numbers_that_no_array_holds_are_a_bad_value():
    with pytest.raises(ValueError, match="too large"):
        _read("9" * 30, 1, np.intp)


@pytest.mark.parametrize("feature", [5.5, {"kind": "category"}])
def test_a_search_whose_space_is_damaged_is_refused(feature, tmp_path):
    document = json.loads(made("search").to_json())
    document["space"]["features"][0] = feature
    document.pop("digest", None)
    file = tmp_path / "search.json"
    file.write_text(json.dumps(document))
    found = gathered([file])
    with pytest.raises(eh.UsageError, match="space or its table is damaged"):
        cases_of(found)


def test_halves_of_characters_are_in_the_table():
    document = made("audit").to_dict()
    document.pop("digest", None)
    document["checks"][0]["name"] = "half \ud800"
    frame = Audit.from_dict(document).to_frame()
    assert frame.isin(["half \ud800"]).any().any()
