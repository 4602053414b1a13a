"""What is mutated: the modules whose mistakes would be wrong numbers or wrong verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = ROOT / "src" / "evenhand"

PARTS: dict[str, tuple[str, ...]] = {
    "statistics": ("statistics/**/*.py",),
    "scores": ("scores/**/*.py",),
    "subject": ("subject/**/*.py",),
    "decisions": (
        "results/baseline.py",
        "results/score_change.py",
        "methods/audit/gate.py",
        "methods/audit/levels.py",
        "methods/compare/contingency.py",
        "methods/compare/metrics/*.py",
        "methods/compare/regions.py",
        "methods/compare/regression.py",
        "methods/compare/resampling.py",
        "methods/compare/standings.py",
        "methods/impact/check.py",
        "methods/impact/selection_rates.py",
        "methods/impact/tally.py",
        "methods/measure/chance.py",
        "methods/measure/recorded*.py",
        "methods/measure/*truth.py",
        "methods/mine/claims/discovered.py",
        "methods/mine/counting/*.py",
        "methods/mine/ranking.py",
        "methods/mine/stories/*.py",
        "methods/mine/testsgd_score.py",
        "methods/mine/texts/ranking.py",
        "methods/mine/treatment.py",
        "methods/repair/change.py",
        "methods/repair/paired.py",
        "methods/repair/verification.py",
        "methods/subsets/border.py",
        "methods/subsets/decision.py",
        "methods/subsets/evaluators/*.py",
        "methods/subsets/lattice.py",
        "methods/subsets/reach.py",
        "methods/subsets/search.py",
    ),
}
"""The parts that are told apart, and the modules of each."""

HEAVY = ("subject/adapters/torch.py", "subject/adapters/boosters/catboost.py")
"""Modules whose tests need libraries that `make test` does without."""


def modules(part: str) -> list[Path]:
    """Return the modules of a part."""
    found: set[Path] = set()
    for pattern in PARTS[part]:
        found.update(SOURCE.glob(pattern))
    heavy = {SOURCE / name for name in HEAVY}
    return sorted(found - heavy)


def name_of(path: Path) -> str:
    """Return the name of a module inside the package, as reports show it."""
    return path.relative_to(SOURCE).as_posix()
