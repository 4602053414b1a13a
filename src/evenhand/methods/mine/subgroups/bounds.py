"""What is said in plain words of all subgroups that are not told one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.mine.subgroups import messages
from evenhand.report.page.plain import out_of
from evenhand.results.about import has_subgroups_beside, is_of_the_rest
from evenhand.runtime.language import say
from evenhand.statistics.estimate import Amount, Estimate
from evenhand.statistics.verdict import Verdict

if TYPE_CHECKING:
    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result

_RATES = {
    "all": messages.PLAIN_ALL,
    "some": messages.PLAIN_SOME,
    "all others": messages.PLAIN_OTHERS,
    "some others": messages.PLAIN_SOME_OTHER,
}
_MEANS = {
    "all": messages.PLAIN_ALL_MEANS,
    "some": messages.PLAIN_SOME_MEAN,
    "all others": messages.PLAIN_OTHER_MEANS,
    "some others": messages.PLAIN_SOME_OTHER_MEAN,
}
_TERMS = {
    "all": messages.PLAIN_ALL_TERMS,
    "some": messages.PLAIN_SOME_TERM,
    "all others": messages.PLAIN_OTHER_TERMS,
    "some others": messages.PLAIN_SOME_OTHER_TERM,
}


def plain_bound(finding: Finding, found: Result) -> str:
    """Return what is said of all subgroups that are not told, empty of a finding about one.

    Where they fail, that is by how much one of them differs at least; otherwise, by how much none
    differs more.
    """
    if not is_of_the_rest(finding.about) or not finding.estimate.n:
        return ""
    which = "some" if finding.verdict is Verdict.FAIL else "all"
    if has_subgroups_beside(finding, found):
        which += " others"
    if finding.unit == Amount.unit and found.job != "mine_text":
        low, high = finding.estimate.ends_text
        return say(_MEANS[which], low=low, high=high)
    if finding.unit != Estimate.unit:
        return ""
    sentences = _TERMS if found.job == "mine_text" else _RATES
    numbers = out_of(finding.estimate)
    return say(sentences[which], low=numbers.low, high=numbers.high, whole=numbers.whole)
