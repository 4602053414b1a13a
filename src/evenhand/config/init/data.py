"""What a data file tells: its outcomes, its protected columns, and those that are no inputs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import DataError, UsageError, nearest
from evenhand.runtime.table_file import read_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

USUAL = (
    "sex",
    "gender",
    "race",
    "ethnicity",
    "ethnic",
    "age",
    "religion",
    "disability",
    "nationality",
    "marital",
)
"""Words in column names that suggest a protected feature."""
IDENTIFIER = re.compile(
    r"(^|[\s_.-])(id|idx|index|uuid|guid|key)$|^unnamed: ?\d*$|\wId$|ID$"
)
"""Names of columns that number rows."""
FEWEST_ROWS = 20
"""Rows that it takes for values that never repeat to be no coincidence."""
NEARLY_ALL = 0.9
"""The share of rows with a value of their own from which texts name rows."""
LONG_TEXT = 4
"""Words of a text that is prose, on the average."""


@dataclass(frozen=True)
class Data:
    """The columns of a data file, and what each of them is."""

    file: Path
    frame: pd.DataFrame
    target: str | None
    protected: tuple[str, ...]
    no_inputs: Mapping[str, str] = field(default_factory=dict)
    """Columns that cannot be features, each with the reason."""
    text: str | None = None
    """The column of texts, where the software takes these and nothing else."""

    @classmethod
    def read(
        cls,
        file: Path,
        target: str | None,
        protected: Sequence[str] | None,
        *,
        flag: str = "--target",
        text: str | None = None,
        read: Callable[[Path], pd.DataFrame] = read_frame,
    ) -> Data:
        """Read a file; without protected columns they are guessed by their names.

        A file with prose and no protected column is a file of texts. `read` reads another kind.
        """
        frame = read(file)
        columns = [str(name) for name in frame.columns]
        _need_columns(file, columns, flag, [] if target is None else [target])
        chosen = guess_protected(columns, target) if protected is None else protected
        _need_columns(file, columns, "--protected", chosen)
        if target in chosen:
            raise UsageError(
                f"{file}: --protected names {target!r}, which is the target; an outcome is not a"
                " protected feature"
            )
        found = cls(file, frame, target, tuple(chosen))
        found = replace(found, no_inputs=found._columns_without_use())
        _need_columns(file, columns, "--text", [] if text is None else [text])
        if protected is None and not chosen and len(found.texts) == 1:
            text = text or found.texts[0]
        if text is not None:
            return replace(found, text=text, protected=())
        if not chosen:
            raise UsageError(
                f"{file}: no column has a name that suggests a protected feature; name them with"
                f" --protected a,b. The columns are {', '.join(columns)}"
            )
        return found

    @property
    def columns(self) -> list[str]:
        """All columns but the target."""
        return [str(name) for name in self.frame.columns if name != self.target]

    @property
    def targets(self) -> list[Any]:
        """The different values of the target."""
        if self.target is None:
            return []
        values: list[Any] = self.frame[self.target].dropna().unique().tolist()
        return values

    @property
    def texts(self) -> list[str]:
        """Columns of prose."""
        return [name for name, reason in self.no_inputs.items() if reason == PROSE]

    def with_target(self, target: str) -> Data:
        """Return the data with another target, which is no feature then."""
        others = {}
        for name, why in self.no_inputs.items():
            if name != target:
                others[name] = why
        return replace(self, target=target, no_inputs=others)

    def _columns_without_use(self) -> dict[str, str]:
        reasons = {}
        for name in self.columns:
            reason = _why_no_input(name, self.frame[name])
            if reason and name not in self.protected:
                reasons[name] = reason
        return reasons


PROSE = "prose"
NUMBERING = "numbers of rows"
"""Reasons for which a column is no input."""


def _why_no_input(name: str, column: pd.Series[Any]) -> str:
    """Return why a column cannot be a feature, nothing where it can."""
    known = column.dropna()
    if not len(known):
        return "no values"
    is_text = known.dtype.kind not in "biufM" and isinstance(known.iloc[0], str)
    different = known.nunique()
    repeats = different < NEARLY_ALL * len(known)
    if is_text:
        words = known.astype(str).str.split().str.len().mean()
        if words >= LONG_TEXT and different > FEWEST_ROWS:
            return PROSE
    if len(known) < FEWEST_ROWS or repeats:
        return ""
    if is_text and known.astype(str).str.fullmatch(r"\d{1,4}[-/.]\d.*").all():
        return ""  # dates, of which many days are seen only once
    if is_text:
        return "a value of its own in nearly every row"
    is_whole = known.dtype.kind in "iu"
    if is_whole and different == len(column) and IDENTIFIER.search(name):
        return NUMBERING
    steps = known.diff().iloc[1:]
    if is_whole and len(known) == len(column) and bool((steps == 1).all()):
        return NUMBERING
    return ""


def _need_columns(
    file: Path,
    columns: Sequence[str],
    flag: str,
    names: Sequence[str],
) -> None:
    """Refuse names that no column has."""
    for name in names:
        if name not in columns:
            raise DataError(
                f"{file}: {flag} {name!r} is not a column; {nearest(name, columns)}"
            )


def guess_protected(columns: Sequence[str], target: str | None) -> list[str]:
    """Return the columns whose names suggest a protected feature.

    >>> guess_protected(["Sex", "wage", "age_group", "income"], "income")
    ['Sex', 'age_group']
    """
    return [name for name in columns if name != target and _is_usual(name)]


def _is_usual(column: str) -> bool:
    """Return whether a word in the name of a column suggests a protected feature."""
    parts = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", column).lower())
    return any(word in parts or f"{word}s" in parts for word in USUAL)
