"""What a search of the lattice found, as findings: its border, which settles every other set."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evenhand.methods.subsets.lattice import State
from evenhand.results.evidence import Finding
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from evenhand.methods.subsets.decision import Judge
    from evenhand.methods.subsets.lattice import Lattice
    from evenhand.subject.view import View


def findings_of(lattice: Lattice, view: View, kind: str, judge: Judge) -> list[Finding]:
    """Return the minimal discriminating sets, the largest cleared ones, and all that is open
    between them.
    """
    found = [
        _finding(lattice, mask, view, kind, judge, state)
        for state, masks in (
            (State.ABOVE, lattice.minimal()),
            (State.UNDECIDED, lattice.maximal(State.UNDECIDED)),
            (State.NOT_SHOWN, lattice.maximal(State.NOT_SHOWN)),
            (State.BELOW, lattice.maximal(State.BELOW)),
        )
        for mask in masks
    ]
    if left := int(lattice.open.sum()):
        estimate = Estimate(math.nan, 0.0, 1.0, 0, judge.level, "not tested", judge.population)
        claim = f"{left:,} of {lattice.total:,} sets were not tested"
        found.append(Finding(claim, (), estimate, judge.limit, output=view.title, score=kind))
    return found


def _finding(
    lattice: Lattice, mask: int, view: View, kind: str, judge: Judge, state: State
) -> Finding:
    tested = lattice.tested[mask]
    groups, cases = tested.shown or ((), ()) if kind == "group" else ((), tested.shown or ())
    claim = _claim(lattice, mask, view, kind, state)
    return Finding(
        claim,
        lattice.members(mask),
        tested.estimate,
        judge.limit,
        tuple(cases),
        tuple(groups),
        output=view.title,
        score=kind,
    )


def _claim(lattice: Lattice, mask: int, view: View, kind: str, state: State) -> str:
    tested = lattice.tested[mask]
    names, estimate = " and ".join(lattice.members(mask)), tested.estimate
    what = view.name or "the outcome"
    score = (
        "an unknown share" if math.isnan(estimate.value) else number_text.percent(estimate.value)
    )
    score = f"at least {score}" if tested.lower_bound else score
    if state is State.NOT_SHOWN:
        return (
            f"{names}: not shown to discriminate, {score} found so far, with too many variants to"
            " try them all"
        )
    if kind == "group":
        said = f"groups of {names} differ by {score} in how often they get {view.favoured}"
    elif view.graded:
        said = f"changing only {names} moves {what} by up to {score} on average"
    else:
        said = f"changing only {names} changes {what} of {score} of inputs"
    if state is State.ABOVE and mask.bit_count() > 1:
        said += f"; {_smaller(lattice, mask)}"
    return said


def _smaller(lattice: Lattice, mask: int) -> str:
    """Say what is known of the sets within a minimal one."""
    known = {
        int(lattice.states[mask ^ (1 << bit)])
        for bit in range(len(lattice.names))
        if mask >> bit & 1
    }
    if known <= {State.BELOW, State.IMPLIED_BELOW}:
        return "no smaller set of them does"
    return "no smaller set of them is known to"


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
    """Say what is only a lower bound."""
    hidden = lattice.count(State.NOT_SHOWN)
    if not hidden:
        return []
    where = f" of {view.title}" if view.title else ""
    return [
        f"sets{where} with more variants than were tried, not shown to discriminate: {hidden:,};"
        " that is a lower bound and not a pass; raise variants=… to try more"
    ]
