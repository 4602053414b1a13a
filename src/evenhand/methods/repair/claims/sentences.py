"""The claim of a repair, as a sentence: of people first, then of all inputs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evenhand.methods.repair import messages
from evenhand.methods.repair.steps import NO_HELP, NOTHING
from evenhand.runtime import number_text
from evenhand.space.rule import Rule

if TYPE_CHECKING:
    from evenhand.methods.repair.repair_result import Repair


def claim_of(repair: Repair) -> str:
    """Return what came of a repair, in a sentence."""
    if repair.outcome == NOTHING:
        return _claim_of_nothing(repair)
    before = number_text.percent_figures(repair.before.value)
    if repair.outcome == NO_HELP:
        return messages.CLAIM_NO_HELP.format(about=_about_text(repair), before=before)
    return messages.CLAIM.format(
        about=_about_text(repair),
        what=_score_text(repair),
        moved=_moved_text(repair),
        before=before,
        after=number_text.percent_figures(repair.after.value),
        part=_part_text(repair),
        beside=_inputs_text(repair),
        performance=_performance_text(repair),
        region=repair.region or messages.NOT_COMPARED_IN_CLAIM,
    )


def _about_text(repair: Repair) -> str:
    if isinstance(repair.about, Rule):
        return str(repair.about)
    return " and ".join(repair.about)


def _score_text(repair: Repair) -> str:
    """What the score is of: a gap, held-out people or inputs."""
    if isinstance(repair.about, Rule):
        return messages.THE_GAP
    return messages.THE_SHARE if repair.inputs is None else messages.THE_PEOPLE


def _inputs_text(repair: Repair) -> str:
    """The score over all inputs, where it stands beside that of people."""
    if repair.inputs is None:
        return ""
    return messages.BESIDE_OF_INPUTS.format(
        before=number_text.percent_figures(repair.inputs.before.value),
        after=number_text.percent_figures(repair.inputs.after.value),
    )


def _claim_of_nothing(repair: Repair) -> str:
    """The claim where there was nothing to repair."""
    about = _about_text(repair)
    if math.isnan(repair.before.value):
        return messages.CLAIM_NOT_MEASURED.format(about=about)
    if repair.none_before:
        return messages.CLAIM_NO_DIFFERENCE.format(about=about)
    before = number_text.percent_figures(repair.before.value)
    return messages.CLAIM_NOT_SURE.format(about=about, before=before)


def _moved_text(repair: Repair) -> str:
    """Which way the score moved, as far as that is sure."""
    if repair.change.verdict != "unsure":
        return repair.change.verdict
    if repair.fewer.value < 0:
        return messages.MAY_HAVE_RISEN
    return messages.MAY_HAVE_FALLEN


def _part_text(repair: Repair) -> str:
    """Which part of the score is gone; without a number where there was none before."""
    fewer = repair.fewer.value
    if math.isinf(fewer):
        return "fewer" if fewer > 0 else "more"
    percent = number_text.percent(abs(fewer), 0)
    if fewer >= 0:
        return messages.PART_FEWER.format(percent=percent)
    return messages.PART_MORE.format(percent=percent)


def _performance_text(repair: Repair) -> str:
    before = repair.accuracy_before
    after = repair.accuracy_after
    if repair.performance.name == "r2":
        return messages.R2_FROM_TO.format(
            before=number_text.decimal(before),
            after=number_text.decimal(after),
        )
    return messages.ACCURACY_FROM_TO.format(
        before=number_text.percent(before),
        after=number_text.percent(after),
    )
