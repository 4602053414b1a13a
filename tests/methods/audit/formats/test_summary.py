"""One page in Markdown: short, with the scores, the worst, and what was not tested."""

from __future__ import annotations

import pytest

from evenhand.methods.audit.formats.summary import to_summary
from evenhand.methods.audit.text import counted
from tests.methods.audit.diff.test_changes import SPACE, audit, check, found
from tests.support.evidence import MAKERS, audited, lend_alike, made


@pytest.mark.parametrize("name", MAKERS)
def test_it_is_short(name):
    assert len(to_summary(made(name)).splitlines()) <= 60


def test_it_is_short_whatever_was_found():
    findings = [found(0.1, 0.2, (f"f{number}",)) for number in range(200)]
    broken = [check(f"c{number}") for number in range(50)]
    broken = [type(one)(one.name, "measure", {}, error="it crashed") for one in broken]
    text = to_summary(audit(check("one", *findings), *broken))
    assert len(text.splitlines()) <= 60
    assert "186 more statements are in the report." in text


def test_it_says_how_much_the_worst_and_how_sure():
    text = to_summary(made("audit"), since=audited(lend_alike), since_name="old.json")
    assert text.startswith("# Fairness audit of lend: fail\n")
    assert "| sex | causal | 14.4 % | enumerated | 5 % | fail | measure sex |" in text
    assert "1. **fail**: changing only sex" in text
    assert "For example sex M → F" in text
    assert "3 got worse" in text
    assert "holds together with at least 97.5 % confidence" in text


def test_it_says_what_was_not_tested():
    text = to_summary(
        audit(check("one", found(0.0, 0.01, ("age",))), space=SPACE.to_dict())
    )
    assert "No check is about the protected feature sex by itself." in text
    crashed = to_summary(made("audit, crashed"))
    assert "measure sex could not be run" in crashed
    assert "not every check could be run" in crashed


def test_it_counts_what_the_terminal_counts_and_tells_each_question_once():
    twice = audit(check("one", found(0.1, 0.2)), check("again", found(0.1, 0.2)))
    text = to_summary(twice)
    assert counted(twice) in text
    assert text.count("**fail**") == 1
