"""Maps of inputs found: the same for many columns as for few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand.methods.search.explain import projection
from evenhand.methods.search.probe import Probe
from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.subject.view import View


def test_a_map_of_many_columns_is_that_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    homes = [f"h{level}" for level in range(40)]
    numbers = [integer("age", 18, 90, missing=True), integer("pay", 0, 999)]
    space = Space([category("sex", ["F", "M"]), category("home", homes), *numbers])

    def decide(people: Any) -> Any:
        kept = people["pay"] > 300
        return kept | (people["home"].isin(homes[:9]) & (people["sex"] == "M"))

    probe = Probe(View(Subject(decide, space)), ("sex",))
    rng = np.random.default_rng(0)
    tried = probe.ask(space.draw(200, rng))
    found = tried.points[tried.hits][:30]
    few = projection.project(probe, found, [tried])
    # More columns than this are taken without those of levels that no input has.
    monkeypatch.setattr(projection, "MOST_COLUMNS", 3)
    many = projection.project(probe, found, [tried])
    assert few is not None
    assert many is not None
    assert many["axes"] == few["axes"]
    np.testing.assert_allclose(many["found"], few["found"], atol=2e-4)
    for place, other in zip(many["others"], few["others"], strict=True):
        assert place == pytest.approx(other, abs=2e-4)
