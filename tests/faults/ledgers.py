"""Ledgers that are damaged in every way: no answer that is recalled may be a wrong one."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.adapters import PLANTERS, Site
from tests.faults.catalogue import NO_FAULT
from tests.faults.matrix import conduct, configure
from tests.faults.process import Observed, run
from tests.support.ledger_damage import KINDS, Hurt, campaign

LIMIT = 60.0
ARGUMENTS = ("measure", "--kind", "causal", "--json", "result.json")
CASES = {False: 130, True: 650}
"""Damaged files whose answers are recalled, in the quick campaign and in the long one."""
RUNS = {False: 13, True: 52}
"""Damaged files that the command line resumes from."""


@dataclass(frozen=True)
class DamageOutcome:
    """What came of one way to damage a ledger."""

    kind: str
    outcomes: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)


def recalled(*, long: bool, seed: int = 0) -> list[DamageOutcome]:
    """Damage copies of a ledger, recall every answer from them, and return what came of it."""
    found: dict[str, DamageOutcome] = {}
    with tempfile.TemporaryDirectory(prefix="evenhand-ledger-") as folder:
        damages = campaign(Path(folder), CASES[long], seed)
    for damage in damages:
        outcome = found.setdefault(damage.kind, DamageOutcome(damage.kind))
        outcome.outcomes[damage.outcome] += 1
        if damage.outcome in ("wrong", "crashed"):
            outcome.complaints.append(f"case {damage.case}: {damage.sentence}")
    return list(found.values())


def resumed(*, long: bool) -> list[DamageOutcome]:
    """Let the command line resume from damaged ledgers, and return what came of it."""
    with tempfile.TemporaryDirectory(prefix="evenhand-ledger-") as name:
        folder = Path(name)
        with PLANTERS["stream"](NO_FAULT, Site(folder, biased=True)) as planted:
            configure(folder, planted, ledger="answers.ledger")
            reference = _measured(folder, planted.environment)
            sound = folder / "sound.ledger"
            shutil.copy(folder / "answers.ledger", sound)
            outcomes = []
            for number in range(RUNS[long]):
                hurt = KINDS[number % len(KINDS)]
                _restore(folder, sound)
                if not _damage(folder / "answers.ledger", hurt, number):
                    continue
                observed = _measured(folder, planted.environment)
                outcomes.append(_judged(hurt.__name__, observed, reference))
    return outcomes


def _measured(folder: Path, environment: dict[str, str]) -> Observed:
    return run(ARGUMENTS, folder, environment, limit=LIMIT, document=folder / "result.json")


def _restore(folder: Path, sound: Path) -> None:
    for file in folder.glob("answers.ledger*"):
        file.unlink()
    (folder / "result.json").unlink(missing_ok=True)
    shutil.copy(sound, folder / "answers.ledger")


def _damage(path: Path, hurt: Hurt, number: int) -> bool:
    """Damage a ledger, and return whether this way to damage it is one of real ledgers too."""
    if hurt.__name__ in ("flip_log", "copy_rows"):
        return False  # they write ledgers of their own, of another space
    hurt(path, random.Random(number))
    return True


def _judged(kind: str, observed: Observed, reference: Observed) -> DamageOutcome:
    """Return whether a run refused a damaged ledger, or came to the right result."""
    outcome = DamageOutcome(kind)
    outcome.complaints.extend(conduct(observed))
    if observed.code == 2:
        outcome.outcomes["refused"] += 1
    elif observed.code == reference.code:
        assert observed.document is not None
        assert reference.document is not None
        right = observed.document["digest"] == reference.document["digest"]
        outcome.outcomes["right" if right else "wrong"] += 1
        if not right:
            outcome.complaints.append("has another digest than with the sound ledger")
    else:
        outcome.outcomes["crashed"] += 1
        outcome.complaints.append(f"exit code {observed.code}")
    return outcome
