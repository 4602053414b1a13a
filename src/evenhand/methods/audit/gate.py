"""Gate: what an audit is held against, and which answers it keeps for the next one."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.audit import messages
from evenhand.methods.audit.audit_result import Audit
from evenhand.population.rows import Rows
from evenhand.population.source import as_pandas
from evenhand.results.protocol import damage_reported
from evenhand.results.result import Result
from evenhand.results.score_change import check_tolerance
from evenhand.runtime.errors import EvenhandError, UsageError, clip, one_line
from evenhand.scores.kept_answers import Keeping
from evenhand.statistics.estimate import StopReason
from evenhand.subject.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.population.source import Source
    from evenhand.scores.kept_answers import KeptAnswers


@dataclass(frozen=True)
class Gate:
    """An older audit, how much worse a score may be than in it, and whether answers are kept.

    Parameters
    ----------
    old, name
        The older audit, None where there is none, and what reports call it.
    tolerance
        How much worse a rate may be; by default a fifth of the limit of each finding.
    keep_answers
        Whether answers are kept; by default those of software that is cheap to ask, and of any that
        is held against an older audit.
    """

    old: Audit | None = None
    name: str = ""
    tolerance: float | None = None
    keep_answers: bool | None = None

    @classmethod
    def of(
        cls,
        baseline: Any,
        *,
        tolerance: float | None,
        keep_answers: bool | None = None,
    ) -> Gate:
        """Return the gate of these options; the older audit may be given by its JSON file.

        >>> Gate.of(None, tolerance=2)
        Traceback (most recent call last):
        evenhand.runtime.errors.UsageError: tolerance is 2; it must lie between 0 and 1, for ...
        """
        if tolerance is not None:
            check_tolerance(tolerance)
        if isinstance(baseline, str | PathLike):
            old = Audit.from_json(baseline)
            return cls(old, Path(baseline).name, tolerance, keep_answers)
        if baseline is not None and not isinstance(baseline, Audit):
            shown = clip(repr(baseline))
            raise UsageError(messages.BASELINE_IS_NOT_AN_AUDIT.format(baseline=shown))
        return cls(baseline, "", tolerance, keep_answers)

    def held(self, found: Audit) -> Audit:
        """Return an audit held against the older one, as it is where there is none."""
        if self.old is None:
            return found
        with damage_reported(self.name or messages.OLDER_AUDIT):
            return found.against(self.old, name=self.name, tolerance=self.tolerance)

    def keeping(
        self, check: CheckResult, subject: Any, source: Source | None, seed: int
    ) -> CheckResult:
        """Return a check with the answers that are kept of it, or the digest of the rows it asked.

        Software that fails while it is asked for them has been asked in vain: what the check found
        stands.
        """
        found = check.found
        if not isinstance(found, Result) or not isinstance(subject, Subject):
            return check
        if found.stop is StopReason.ENUMERATED and found.level < 1:
            return replace(check, rows=_rows_digest(check, source))
        before = self._before(check.name)
        if check.interrupted or not self._keeps(check, subject, before):
            return check
        queries = check.settings.get("queries")
        left = math.inf if queries is None else queries - found.spent.queries
        keeping = Keeping(
            subject,
            None if source is None else source.population(),
            seed,
            tolerance=self.tolerance,
            left=left,
            before=before,
        )
        try:
            return replace(check, kept=keeping.all(found.findings))
        except EvenhandError as error:
            return replace(check, not_kept=one_line(error))
        except KeyboardInterrupt:
            interrupted = replace(found, stop=StopReason.INTERRUPTED)
            return replace(check, found=interrupted)

    def _before(self, name: str) -> Mapping[str, KeptAnswers]:
        """Return what the older audit kept of a check, by key."""
        if self.old is None:
            return {}
        for check in self.old.checks:
            if check.name == name:
                return check.kept_by_key
        return {}

    def _keeps(
        self, check: CheckResult, subject: Subject, before: Mapping[str, KeptAnswers]
    ) -> bool:
        if self.keep_answers is not None:
            return self.keep_answers
        # What was kept is there to be asked again. Where nothing was, runs that stopped early do
        # not tell how a score changed.
        if before or self.old is not None:
            return True
        # Otherwise nothing expensive is asked unasked.
        return not subject.adapter.expensive and check.settings.get("seconds") is None


def _rows_digest(check: CheckResult, source: Source | None) -> str:
    """Return a digest of the real rows of a check, in whatever order; empty where it has none."""
    path = check.settings.get("data")
    if source is None or not isinstance(path, str | None):
        return ""
    rows = source.real(path).rows
    if isinstance(rows, Rows):
        rows = rows.frame
    if rows is None:
        return ""
    import pandas as pd

    frame = as_pandas(rows)
    by_name = frame[sorted(frame.columns, key=str)].astype(str)
    row_hashes = pd.util.hash_pandas_object(by_name, index=False).to_numpy()
    return hashlib.sha256(np.sort(row_hashes).tobytes()).hexdigest()[:16]
