"""One visit: `evenhand init`, then `evenhand audit`, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.front_door.kinds import Kind

REPORT = "audit.json"


@dataclass(frozen=True)
class Visit:
    """What both commands printed and how they ended, and the audit."""

    init: subprocess.CompletedProcess[str]
    audit: subprocess.CompletedProcess[str] | None
    report: dict[str, Any]

    @property
    def codes(self) -> tuple[int, int | None]:
        """The exit codes of both commands."""
        return self.init.returncode, self.audit.returncode if self.audit else None

    @property
    def cases(self) -> list[dict[str, Any]]:
        """All people that the audit shows."""
        found: list[dict[str, Any]] = []
        for check in self.report.get("checks", []):
            result = check.get("result") or check.get("found") or {}
            for finding in result.get("findings", []):
                found.extend(finding.get("cases", []))
        return found

    @property
    def realistic(self) -> int:
        """How many of these people could exist, and their twins too."""
        count = 0
        for case in self.cases:
            count += bool(case.get("realistic") and case.get("realistic_twin"))
        return count

    @property
    def story(self) -> str:
        """All that was printed, for a test that fails."""
        parts = [self.init.stdout, self.init.stderr]
        if self.audit is not None:
            parts += [self.audit.stdout, self.audit.stderr]
        return "\n".join(parts)


def visit(kind: Kind, folder: Path, *, biased: bool) -> Visit:
    """Bring software of a kind to the front door."""
    with kind.made(folder, biased=biased) as words:
        first = _evenhand(folder, "init", *words)
        if first.returncode:
            return Visit(first, None, {})
        second = _evenhand(folder, "audit", "--json", REPORT)
    report = folder / REPORT
    if report.exists():
        text = report.read_text(encoding="utf-8")
    else:
        text = "{}"
    return Visit(first, second, json.loads(text))


def _evenhand(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evenhand", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
