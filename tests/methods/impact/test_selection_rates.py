"""Selection rates: which notes tables show is a field, and not found by comparing sentences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from evenhand.formats import FORMATS
from evenhand.methods.impact.impact import impact
from evenhand.methods.impact.selection_rates import (
    CategoryRates,
    other_notes,
    remarks,
    tables_of,
    with_notes_before,
)
from evenhand.methods.impact.tally import MOST_LISTED, CategoryTally
from evenhand.runtime.errors import UsageError
from evenhand.scores.rates.metric_table import RateLimits
from tests.support.evidence import made, recorded

NAMES = ["impact", "impact, scored"]


def reworded(result):
    return replace(result, notes=["Übersetzung" for _ in result.notes])


def all_remarks(result):
    found = []
    for table in tables_of(result):
        found.extend(remarks(table))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_notes_that_tables_show_are_shown_once(name):
    found = made(name)
    table_notes = all_remarks(found)
    assert table_notes
    notes_after_tables = found.notes[len(table_notes) :]
    assert list(other_notes(found)) == list(notes_after_tables)
    lines = found.to_text().splitlines()
    for note in table_notes:
        assert lines.count(note) == 1
        assert f"note: {note}" not in lines


@pytest.mark.parametrize("name", NAMES)
def test_notes_in_other_words_are_still_those_of_tables(name):
    found = made(name)
    before = found.to_text().splitlines()
    after = reworded(found).to_text().splitlines()
    for old, new in zip(before, after, strict=True):
        if old.startswith("note: "):
            assert new.startswith("note: ")
        else:
            assert new == old
    card = FORMATS["card"].render(reworded(found))
    has_other_notes = len(other_notes(found)) > 1
    assert card.count("Übersetzung") == int(has_other_notes)


def test_more_notes_come_first_and_are_shown_as_notes():
    notes = ("3 rows were dropped", "age has too many values")
    found = with_notes_before(made("impact"), notes)
    assert other_notes(found) == (*notes, *other_notes(made("impact")))
    assert "note: 3 rows were dropped" in found.to_text().splitlines()
    assert "- 3 rows were dropped" in FORMATS["card"].render(found).splitlines()


def test_the_method_of_an_interval_names_what_it_holds_together_with():
    (scored,) = impact(recorded(), outcome="income", over="sex", scored=True).findings
    assert scored.estimate.method == "melded, simultaneous over all rates and ratios"
    found = impact(recorded(), outcome="granted", over=[("sex",), ("race",)])
    for finding in found.findings:
        method = finding.estimate.method
        assert method == "melded, simultaneous over all rates and ratios of 3 sets"
        assert {group.estimate.method for group in finding.groups} == {method}
    for table in tables_of(found):
        for category in table["categories"]:
            method = category["rate"]["method"]
            assert method == "exact, simultaneous over all rates and ratios of 3 sets"


def test_beside_a_limit_it_names_the_groups_and_the_findings_with_one():
    found = impact(
        recorded(), outcome="granted", over=[("sex",), ("race",)], least_ratio=0.8
    )
    for finding in found.findings:
        groups = len(finding.groups)
        own = f"melded, simultaneous over {groups} groups and 3 findings"
        assert finding.estimate.method == own
        methods = {group.estimate.method for group in finding.groups}
        assert methods == {f"melded, simultaneous over {groups} groups"}


COUNTS = np.array([[[30.0, 10.0], [5.0, 55.0]], [[20.0, 5.0], [10.0, 15.0]]])
"""Rows by category, truth and decision."""


def rates_of(*, counts=COUNTS, unlisted=0, support=0.0, sets=1, **options):
    size = COUNTS.sum(axis=(1, 2))
    hits = COUNTS[:, :, 1].sum(axis=1)
    tally = CategoryTally(
        over=("sex",),
        levels={"sex": ("F", "M")},
        categories=(("F",), ("M",)),
        hits=hits,
        size=size,
        rows=150,
        unknown_as=(),
        unlisted=unlisted,
        counts=counts,
    )
    return CategoryRates(tally, support, level=0.95, sets=sets, **options)


def test_every_rate_of_every_set_has_three_families_of_intervals():
    alone = rates_of(counts=None)
    assert alone.metrics == ("selection_rate",)
    assert alone.spending.families == 3
    assert rates_of(counts=None, sets=4).spending.families == 12
    with_truth = rates_of(sets=2)
    assert len(with_truth.metrics) > 1
    assert with_truth.spending.families == 3 * 2 * len(with_truth.metrics)
    assert with_truth.spending.limits == 0


def test_limits_of_all_sets_share_the_error():
    limits = RateLimits(("selection_rate",), ratio=0.8)
    assert rates_of(sets=3, limits=limits).spending.limits == 3 * limits.number


def test_categories_that_are_too_many_to_list_count_unless_some_are_left_out():
    assert rates_of(unlisted=7).error_rates.unlisted == 7
    assert rates_of(unlisted=7, support=0.1).error_rates.unlisted == 0
    assert rates_of(unlisted=7).contrast.size.tolist() == [100, 50, 0]
    assert rates_of(unlisted=7, support=0.1).contrast.size.tolist() == [100, 50]
    assert rates_of().contrast.size.tolist() == [100, 50]
    assert rates_of(counts=None).error_rates is None


def test_a_category_with_just_the_support_is_compared():
    third = 50 / 150
    assert rates_of(support=third).compared.tolist() == [True, True]
    assert rates_of(support=0.34).compared.tolist() == [True, False]
    ratios = rates_of(support=0.34).ratios
    assert ratios[1] is None
    assert ratios[0] is not None


def test_the_lowest_ratio_is_no_higher_than_any_other():
    found = rates_of(counts=None)
    assert found.lowest.value == pytest.approx(0.4 / 0.65)
    assert found.lowest.high <= min(ratio.high for ratio in found.ratios)


def test_a_thousand_categories_are_compared_and_no_more_are_listed():
    names = [f"zip {place}" for place in range(MOST_LISTED)]
    people = pd.DataFrame({"zip": np.repeat(names, 20), "hired": [0, 1] * 10 * MOST_LISTED})
    people.loc[people["zip"] == "zip 7", "hired"] = [1] + [0] * 19
    found = impact(people, outcome="hired", over="zip", support=0)
    (table,) = found.details["impact"]
    assert len(table["categories"]) == MOST_LISTED == 1000
    lowest = found.findings[0]
    assert lowest.estimate.value == pytest.approx(0.1)
    assert lowest.estimate.low > 0
    one_more = pd.concat([people, pd.DataFrame({"zip": ["other"], "hired": [1]})])
    with pytest.raises(UsageError, match="1,001"):
        impact(one_more, outcome="hired", over="zip", support=0)


def test_a_declared_population_is_the_one_that_is_described():
    assert rates_of().population == "the recorded decisions"
    assert rates_of(kind="scoring").population == "the recorded scores"
    declared = rates_of(declared_population="applicants of 2020")
    assert declared.population == "applicants of 2020"
    assert declared.lowest.population == "applicants of 2020"


def test_intervals_of_two_sets_hold_together():
    assert rates_of(counts=None).lowest.method.endswith("over all rates and ratios")
    of_two = rates_of(counts=None, sets=2).lowest.method
    assert of_two.endswith("over all rates and ratios of 2 sets")


def test_every_rate_that_is_listed_has_a_finding():
    found = rates_of()
    scores = [finding.score for finding in found.findings()]
    assert len(scores) == len(set(scores)) == len(found.metrics) > 1
    assert len(rates_of(counts=None).findings()) == 1
