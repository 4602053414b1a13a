"""What changed, as people see it: on a page, on a terminal and in Markdown."""

from __future__ import annotations

import pytest

from evenhand.methods.audit.diff.changes import changes_between
from evenhand.methods.audit.diff.section import MOST_ROWS, changes_section
from evenhand.methods.audit.diff.text import changes_lines, changes_markdown
from tests.methods.audit.diff.test_changes import audit, check, found

TAG = "<img src=x onerror=alert(1)>"
OLD = audit(
    check("one", found(0.1, 0.2, ("a",)), found(0.3, 0.4, ("b",)), found(0.1, 0.2, ("c",)))
)
NEW = audit(
    check("one", found(0.3, 0.4, ("a",)), found(0.1, 0.2, ("b",)), found(0.1, 0.2, ("c",)))
)


def test_the_section_has_both_verdicts_both_intervals_and_the_change():
    page = changes_section(changes_between(OLD, NEW, name="old.json"))
    assert "What changed since old.json" in page
    assert "1 got worse, 1 got better, 1 is unchanged." in page
    assert page.count('class="bar both"') == 3
    assert "before: 15.0 % (10.0 % to 20.0 %); now: 35.0 % (30.0 % to 40.0 %)" in page
    assert "+20.0 points (+10.0 to +30.0)" in page
    assert page.index("Worse") < page.index("Better") < page.index("Unchanged")


def test_the_terminal_and_markdown_say_the_same():
    changes = changes_between(OLD, NEW, name="old.json")
    lines = [str(line) for line in changes_lines(changes)]
    assert lines[0] == "Worse:"
    assert lines[-1] == changes.sentence
    text = changes_markdown(changes)
    for shown in ("\n".join(lines), text):
        assert "fail 15.0 % (10.0 % to 20.0 %)" in shown
        assert "+20.0 points (+10.0 to +30.0), what both intervals allow" in shown
    # What is unchanged is counted alone.
    assert "('c',)" not in text


def test_labels_of_others_stay_text():
    old = audit(check(TAG, found(0.1, 0.2, (TAG,))), subject=TAG)
    new = audit(check(TAG, found(0.3, 0.4, (TAG,))), subject=f"{TAG}|2")
    changes = changes_between(old, new, name=TAG)
    assert "<img" not in changes_section(changes)
    assert "<img" not in changes_markdown(changes)
    rows = [line for line in changes_markdown(changes).splitlines() if "Worse" in line]
    assert rows[0].count("|") == 7


def test_nothing_to_compare_is_a_sentence():
    empty = audit()
    changes = changes_between(empty, empty)
    assert "Neither audit" in changes_section(changes)
    assert [str(line) for line in changes_lines(changes)] == [changes.sentence]


@pytest.mark.parametrize("number", [MOST_ROWS, MOST_ROWS + 2])
def test_a_page_shows_so_many_of_a_kind_and_counts_the_rest(number):
    findings = [found(0.1, 0.2, (f"f{place}",)) for place in range(number)]
    page = changes_section(
        changes_between(audit(check("one")), audit(check("one", *findings)))
    )
    assert page.count('class="bar both"') == MOST_ROWS
    assert ("2 more of this kind" in page) == (number > MOST_ROWS)
