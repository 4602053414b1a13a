"""Check: the feature that it is about is a field, whatever the check is called."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenhand.methods.repair.repair_result import Repair
from evenhand.methods.repair.steps import RepairCheck
from evenhand.statistics.estimate import Amount
from tests.support.evidence import made


def risen(repair: Repair, name: str | None = None) -> Repair:
    """Return a repair after which discrimination over another feature has clearly risen, in a check
    called so.
    """
    checks = []
    for check in repair.checks:
        if check.kind == "other":
            rise = Amount(0.1, 0.05, 0.2, 800, 0.95, "paired")
            checks.append(replace(check, change=rise, name=name or check.name))
        else:
            checks.append(check)
    return replace(repair, checks=tuple(checks))


@pytest.mark.parametrize("name", [None, "Übersetzung", "race, all inputs, all inputs"])
def test_where_discrimination_has_moved_is_named_by_the_feature(name):
    found = risen(made("repair"), name)
    assert found.moved == ("race",)
    (sentence,) = found.side_effects
    assert sentence.startswith("discrimination over race has clearly risen")
    assert sentence.endswith("repair sex, race together")
    again = Repair.from_dict(found.to_dict())
    assert (again.moved, again.side_effects) == (found.moved, found.side_effects)


def test_the_feature_survives_json():
    (check,) = [check for check in made("repair").checks if check.kind == "other"]
    assert check.about == ("race",)
    assert RepairCheck.from_dict(check.to_dict()) == check
