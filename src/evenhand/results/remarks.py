"""What stands beside the verdict of a finding, as sentences, and long texts cut to what matters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.results import remarks_text
from evenhand.runtime.label_text import shown
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from evenhand.results.evidence import Finding

NEAR = 60
"""How much of a long text is shown on both sides of its first mark."""


def remarks_of(finding: Finding) -> tuple[str, ...]:
    """Return what must be told beside the verdict of a finding; mostly nothing."""
    remarks = []
    if finding.by_construction:
        features = _features_text(finding.about)
        remarks.append(say(remarks_text.BY_CONSTRUCTION, features=features))
    if finding.only_answer is not None:
        remark = remarks_text.UNFAVOURED if finding.unfavoured else remarks_text.ONE_ANSWER
        answer = shown(finding.only_answer, finding.outcome_words)
        remarks.append(say(remark, answer=around(answer)))
    elif finding.unfavoured:
        remarks.append(say(remarks_text.NEVER_FAVOURED))
    if finding.uniform is not None:
        remarks.append(say(remarks_text.UNIFORM, estimate=finding.uniform))
    if finding.noise is not None:
        remarks.append(say(remarks_text.NOISE, estimate=finding.noise))
    if finding.lost_in_chance:
        remarks.append(say(remarks_text.LOST_IN_CHANCE))
    return tuple(remarks)


def _features_text(about: Any) -> str:
    if isinstance(about, tuple):
        text = ""
        for name in about:
            text = say("{before} and {last}", before=text, last=name) if text else name
        return text
    return str(about)


def around(value: Any) -> Any:
    """Return a long text cut to the part around its first mark, and other values unchanged.

    >>> around("word " * 40 + "⟦gay⟧" + " word" * 40).count("word")
    23
    """
    if not isinstance(value, str) or len(value) <= 2 * NEAR:
        return shown(value)
    text = " ".join(value.split())
    mark = max(text.find("⟦"), 0)
    start = max(mark - NEAR, 0)
    stop = mark + NEAR
    before = "…" if start else ""
    after = "…" if stop < len(text) else ""
    return before + text[start:stop] + after
