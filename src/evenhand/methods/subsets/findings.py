"""What a search of the lattice found, as findings: its border, which settles every other set."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evenhand.methods.subsets import messages
from evenhand.methods.subsets.lattice import State, TestedSet
from evenhand.results.evidence import Finding
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.subsets.decision import Judge
    from evenhand.methods.subsets.lattice import Lattice
    from evenhand.subject.view import View


def add_known(
    known: Sequence[Finding], lattice: Lattice, view: View, kind: str, judge: Judge
) -> None:
    """Note sets that another verb has found to be on a side of the limit."""
    bit_of = {name: 1 << bit for bit, name in enumerate(lattice.names)}
    for finding in known:
        estimate = finding.estimate
        same = finding.score == kind and finding.output == view.title
        if not same or estimate.population != judge.population:
            continue
        if not set(finding.about) <= set(bit_of):
            continue
        mask = sum(bit_of[name] for name in finding.about)
        state = judge.state_of(estimate)
        if state is None or not lattice.open[mask]:
            continue
        shown = (finding.groups, finding.cases) if kind == "group" else finding.cases
        lattice.add(mask, TestedSet(state, estimate, messages.KNOWN, shown))


def border_of(lattice: Lattice) -> dict[State, list[int]]:
    """Return the sets that settle all others: the minimal discriminating ones first."""
    return {
        State.ABOVE: lattice.minimal(),
        State.UNDECIDED: lattice.maximal(State.UNDECIDED),
        State.NOT_SHOWN: lattice.maximal(State.NOT_SHOWN),
        State.BELOW: lattice.maximal(State.BELOW),
    }


def findings_of(lattice: Lattice, view: View, kind: str, judge: Judge) -> list[Finding]:
    """Return the minimal discriminating sets, the largest cleared ones, and the open between."""
    findings = []
    for state, masks in border_of(lattice).items():
        findings += [_finding(lattice, mask, view, kind, judge, state) for mask in masks]
    untested = int(lattice.open.sum())
    if untested:
        estimate = Estimate(
            math.nan, 0.0, 1.0, 0, judge.level, "not tested", judge.population
        )
        claim = messages.NOT_TESTED.format(
            open=number_text.count(untested), total=number_text.count(lattice.total)
        )
        findings.append(
            Finding(claim, (), estimate, judge.limit, output=view.title, score=kind)
        )
    return findings


def _finding(
    lattice: Lattice, mask: int, view: View, kind: str, judge: Judge, state: State
) -> Finding:
    tested = lattice.tested[mask]
    groups: tuple[Any, ...] = ()
    cases: tuple[Any, ...] = ()
    if tested.shown and kind == "group":
        groups, cases = tested.shown
    elif tested.shown:
        cases = tested.shown
    against = None
    if kind == "causal" and tested.estimate.method != "wald":
        against = judge.against(tested)
    return Finding(
        _claim(lattice, mask, view, kind, state),
        lattice.members(mask),
        tested.estimate,
        judge.limit,
        tuple(cases),
        tuple(groups),
        output=view.title,
        score=kind,
        p_value=None if against is None else against.p_value,
        e_value=None if against is None else against.e_value,
        gap=view.gap if kind == "causal" else None,
        graded=view.graded and kind == "causal",
    )


def _claim(lattice: Lattice, mask: int, view: View, kind: str, state: State) -> str:
    features = " and ".join(lattice.members(mask))
    score = _score_text(lattice.tested[mask])
    outcome = view.name or messages.OUTCOME
    if state is State.NOT_SHOWN:
        return messages.NOT_SHOWN.format(features=features, score=score)
    if kind == "group":
        claim = messages.GROUPS_DIFFER.format(
            features=features, score=score, favoured=view.favoured
        )
    elif view.graded:
        claim = messages.OUTCOME_MOVES.format(
            features=features, outcome=outcome, score=score
        )
    else:
        claim = messages.OUTCOME_CHANGES.format(
            features=features, outcome=outcome, score=score
        )
    if state is not State.ABOVE or mask.bit_count() == 1:
        return claim
    if _smaller_are_cleared(lattice, mask):
        return messages.NO_SMALLER_SET.format(claim=claim)
    return messages.NO_SMALLER_SET_KNOWN.format(claim=claim)


def _score_text(tested: TestedSet) -> str:
    value = tested.estimate.value
    share = messages.UNKNOWN_SHARE if math.isnan(value) else number_text.percent(value)
    if tested.lower_bound:
        return messages.AT_LEAST.format(share=share)
    return share


def _smaller_are_cleared(lattice: Lattice, mask: int) -> bool:
    """Return whether no set within this one discriminates, or it is only not known of some."""
    # It is enough to look at the sets with one feature less: all smaller ones lie within these.
    for bit in range(len(lattice.names)):
        if mask >> bit & 1:
            without = mask ^ (1 << bit)
            if lattice.states[without] not in (State.BELOW, State.IMPLIED_BELOW):
                return False
    return True


def table_of(lattice: Lattice, kind: str, judge: Judge) -> dict[str, Any]:
    """Return the lattice as JSON holds it."""
    return {
        "among": list(lattice.names),
        "kind": kind,
        "limit": judge.limit,
        "tests": len(lattice.tested),
        "sets": lattice.to_dict(),
        "levels": lattice.levels(),
    }


def notes_of(lattice: Lattice, view: View) -> list[str]:
    """Return a note on scores that are only a lower bound, where there are any."""
    not_shown = lattice.count(State.NOT_SHOWN)
    if not not_shown:
        return []
    sets = number_text.count(not_shown)
    if view.title:
        return [messages.ONLY_A_LOWER_BOUND_OF_OUTPUT.format(output=view.title, sets=sets)]
    return [messages.ONLY_A_LOWER_BOUND.format(sets=sets)]
