"""The outcome of each cell, as a page of the docs and as JSON."""

from __future__ import annotations

import json
import platform
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.faults.catalogue import FAULTS
from tests.faults.matrix import available
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.faults.disks import DiskOutcome
    from tests.faults.ledgers import DamageOutcome
    from tests.faults.matrix import Outcome
    from tests.faults.signals import LifeOutcome

PAGE = ROOT / "docs" / "reference" / "faults.md"
RESULTS = ROOT / "benchmarks" / "results" / "faults.json"
BEGIN = "<!-- begin: written by python -m tests.faults -->"
END = "<!-- end -->"
GOOD = "✓"
BAD = "✗"
NO_CELL = "·"


@dataclass
class Campaign:
    """All that came of a campaign."""

    command: str
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    cells: list[Outcome] = field(default_factory=list)
    lives: list[LifeOutcome] = field(default_factory=list)
    recalled: list[DamageOutcome] = field(default_factory=list)
    resumed: list[DamageOutcome] = field(default_factory=list)
    disks: list[DiskOutcome] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failures(self) -> list[str]:
        """Everything that was not as expected, one line each."""
        lines = []
        for outcome in self.cells:
            lines += [f"{outcome.cell.name}: {text}" for text in outcome.complaints]
        for life in self.lives:
            lines += [f"{life.life.name}: {text}" for text in life.complaints]
        for damage in (*self.recalled, *self.resumed):
            lines += [f"ledger/{damage.kind}: {text}" for text in damage.complaints]
        for disk in self.disks:
            lines += [f"disk/{disk.fault.name}: {text}" for text in disk.complaints]
        return lines


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_row(head), _row(["---"] * len(head))]
    lines += [_row(row) for row in rows]
    return "\n".join(lines) + "\n"


def _row(words: Sequence[str]) -> str:
    return "| " + " | ".join(words) + " |"


def _cell(outcomes: list[Outcome]) -> str:
    """Return the exit codes of one fault of one kind of software, over all verbs."""
    if not outcomes:
        return NO_CELL
    codes = sorted({outcome.observed.code for outcome in outcomes})
    good = not any(outcome.complaints for outcome in outcomes)
    mark = GOOD if good else BAD
    return " ".join([mark, *map(str, codes)])


def matrix(cells: list[Outcome]) -> str:
    """Return adapters × faults, with exit codes."""
    by_place: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in cells:
        place = (outcome.cell.fault.name, outcome.cell.adapter)
        by_place.setdefault(place, []).append(outcome)
    rows = []
    for fault in FAULTS:
        row = [fault.name, fault.text]
        for adapter in available():
            row.append(_cell(by_place.get((fault.name, adapter), [])))
        rows.append(row)
    return _markdown(["fault", "what the software does", *available()], rows)


def lives(outcomes: list[LifeOutcome]) -> str:
    """Return what came of kills, by software."""
    by_runner: dict[str, list[LifeOutcome]] = {}
    for outcome in outcomes:
        by_runner.setdefault(outcome.life.runner.name, []).append(outcome)
    rows = []
    for name, group in by_runner.items():
        codes: Counter[int] = Counter()
        for outcome in group:
            codes.update(outcome.codes)
        good = not any(outcome.complaints for outcome in group)
        rows.append(
            [
                f"{GOOD if good else BAD} {name}",
                str(sum(outcome.kills for outcome in group)),
                ", ".join(f"{code}: {count}" for code, count in sorted(codes.items())),
                str(sum(outcome.again for outcome in group)),
            ]
        )
    return _markdown(["software", "kills", "exit codes", "executed again"], rows)


def damages(outcomes: list[DamageOutcome]) -> str:
    """Return what came of damaged ledgers, by the way that they were damaged."""
    totals: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        totals.setdefault(outcome.kind, Counter()).update(outcome.outcomes)
    words = ("refused", "right", "wrong", "crashed")
    rows = []
    for kind, counts in totals.items():
        rows.append([kind.replace("_", " "), *(str(counts[word]) for word in words)])
    return _markdown(["damage", *words], rows)


def disks(outcomes: list[DiskOutcome]) -> str:
    """Return what came of disks on which nothing could be written."""
    rows = []
    for outcome in outcomes:
        software = "discriminates" if outcome.biased else "does not"
        if outcome.observed is None:
            result = f"not run: {outcome.skipped}"
        else:
            mark = BAD if outcome.complaints else GOOD
            result = f"{mark} {outcome.observed.code}"
        rows.append([outcome.fault.name, outcome.fault.text, software, result])
    return _markdown(["fault", "what is wrong", "software", "exit code"], rows)


def summary(campaign: Campaign) -> str:
    """Return the numbers of a campaign in one sentence."""
    kills = sum(life.kills for life in campaign.lives)
    damaged = sum(damage.outcomes.total() for damage in campaign.recalled)
    resumed = sum(damage.outcomes.total() for damage in campaign.resumed)
    disks_tried = sum(disk.observed is not None for disk in campaign.disks)
    everything = (*campaign.recalled, *campaign.resumed)
    wrong = sum(damage.outcomes["wrong"] for damage in everything)
    return (
        f"{len(campaign.cells):,} cells, {kills:,} kills, {damaged + resumed:,} damaged ledgers"
        f" with {wrong:,} wrong answers, {disks_tried:,} runs on disks that cannot be written,"
        f" {len(campaign.failures):,} not as expected"
    )


def text(campaign: Campaign) -> str:
    """Return the part of the page that a campaign writes."""
    date = campaign.began.strftime("%Y-%m-%d")
    parts = [
        BEGIN,
        f"`{campaign.command}`, {date}, Python {platform.python_version()}:"
        f" {summary(campaign)}.\n",
        "## Software that fails\n",
        matrix(campaign.cells),
        "## Signals\n",
        lives(campaign.lives),
        "## Damaged ledgers\n",
        "Every answer recalled from a damaged copy:\n",
        damages(campaign.recalled),
        "The command line, resumed from a damaged copy:\n",
        damages(campaign.resumed),
        "## Disks\n",
        disks(campaign.disks),
        END,
    ]
    return "\n".join(parts)


def write_page(campaign: Campaign) -> None:
    """Write the tables into the page of the docs, between its marks."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + text(campaign) + after, encoding="utf-8")


def write_json(campaign: Campaign) -> None:
    """Write everything that came of a campaign."""
    cells: list[dict[str, Any]] = []
    for outcome in campaign.cells:
        cells.append(
            {
                "adapter": outcome.cell.adapter,
                "fault": outcome.cell.fault.name,
                "verb": outcome.cell.verb,
                "code": outcome.observed.code,
                "seconds": round(outcome.observed.seconds, 2),
                "megabytes": round(outcome.observed.megabytes),
                "complaints": outcome.complaints,
            }
        )
    document = {
        "command": campaign.command,
        "date": campaign.began.isoformat(timespec="seconds"),
        "seconds": round(campaign.seconds),
        "summary": summary(campaign),
        "failures": campaign.failures,
        "cells": cells,
        "kills": [
            {
                "name": life.life.name,
                "kills": life.kills,
                "codes": life.codes,
                "executed again": life.again,
                "complaints": life.complaints,
            }
            for life in campaign.lives
        ],
        "ledgers": _counts(campaign.recalled),
        "resumed": _counts(campaign.resumed),
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _counts(outcomes: list[DamageOutcome]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        counts.setdefault(outcome.kind, Counter()).update(outcome.outcomes)
    return {kind: dict(count) for kind, count in counts.items()}
