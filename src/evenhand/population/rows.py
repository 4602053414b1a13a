"""Populations for apparent discrimination (Themis Def. 3.8): given rows, and TOML tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand.population.encoded_frame import EncodedFrame
from evenhand.runtime.errors import (
    ConfigError,
    DataError,
    EvenhandError,
    SpaceError,
    UsageError,
    clip,
    nearest,
)
from evenhand.runtime.number_text import many
from evenhand.runtime.options import (
    FILE,
    LIST,
    TABLE,
    TEXT,
    Kind,
    Option,
    Options,
    checked_keywords,
)
from evenhand.runtime.table_file import read_frame
from evenhand.space.distribution import checked_weights, choose, running
from evenhand.space.encoding import missing_values
from evenhand.space.feature import empty_points
from evenhand.space.frames.reading import check_missing, eager, missing_rows
from evenhand.space.row_keys import classes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evenhand.population.profile import Profile
    from evenhand.scores.groups import Groups
    from evenhand.space.distribution import Positions
    from evenhand.space.feature import Flags, Floats, Points
    from evenhand.space.space import Space

TWINS = ("domain", "rows")
"""Where the twin of a row may come from: any input of the space, or another of the rows."""
OF_ROWS = Options.of(
    Option("rows", FILE, "a CSV or Parquet file of given rows", required=True),
    Option("weights", TEXT, "the column of that file that says how often a row counts"),
    Option(
        "twins",
        TEXT,
        "where the twin of a row may come from (default: domain)",
        choices=TWINS,
    ),
    Option("sample_of", TEXT, "the population that the rows are a sample of, in words"),
)
"""The keys of a [population] table of given rows."""
_ROWS = Kind("rows", (list,), "a list of rows", {"type": "array"})
JOINT = Options.of(
    Option("features", LIST, "the features that go together", required=True),
    Option("rows", _ROWS, "their values, and a weight", required=True),
)
"""The keys of a [[population.joint_weights]] table."""
_SETS = Kind(
    "sets",
    (list,),
    "a list of sets of columns, as [['age', 'income']]",
    {"type": "array", "items": LIST.schema},
    items=(list,),
)
_JOINTS = Kind(
    "joints", (list,), "a list of tables", {"type": "array", "items": JOINT.table_schema()}
)
OF_PROFILE = Options.of(
    Option("profile", FILE, "a CSV or Parquet file that weights are taken from"),
    Option("weights", TABLE, "how often each value of a feature occurs, by feature"),
    Option("joint", _SETS, "sets of columns of that file that go together"),
    Option("joint_weights", _JOINTS, "how often values of several features occur together"),
)
"""The keys of a [population] table of weights."""


@dataclass(frozen=True, eq=False)
class _Members:
    """Rows in the order of their groups, and where each group begins."""

    order: Positions
    bounds: Positions

    @classmethod
    def of(cls, groups: Groups, points: Points, weights: Floats | None) -> _Members:
        """Sort rows by their group; rows without weight are in none."""
        group = groups.of(points)
        if weights is not None:
            group = np.where(weights > 0, group, -1)
        order = np.argsort(group, kind="stable")
        every_group = np.arange(len(groups) + 1)
        bounds = np.searchsorted(group[order], every_group)
        return cls(order, bounds)

    def rows(self, group: int) -> Positions:
        """Return the rows of a group."""
        first = self.bounds[group]
        end = self.bounds[group + 1]
        return self.order[first:end]


@dataclass(frozen=True, eq=False)
class Rows:
    """Given rows as a population, or as a sample of one; build it with `rows`."""

    listed: ClassVar[bool] = True
    """That it is a list of rows, all of which can be asked; other populations have no such mark."""
    twins: str
    sample_of: str | None
    weights: Floats | None
    weighted_by: str
    _source: EncodedFrame[Points] = field(repr=False)
    called: str = ""
    """What they are in words, where they are other than given rows."""
    _members: dict[tuple[str, tuple[str, ...]], _Members] = field(
        default_factory=dict, repr=False
    )

    def __len__(self) -> int:
        return self._source.rows

    @property
    def frame(self) -> Any:
        """The rows as they were given, with columns that are no features."""
        return self._source.frame

    def points(self, space: Space) -> Points:
        """Return the rows as encoded inputs of a space; other columns are left out."""
        if self._source.lacks(space):
            points = space.encode(self._source.frame)
            _check_valid(space, points)
            return self._source.keep(space, points)
        return self._source.made(space)

    def complete(self, space: Space) -> Rows:
        """Return the rows without gaps where the software under test takes none."""
        missing = self._gaps(space)
        if not missing.any():
            return self
        if missing.all():
            columns = ", ".join(sorted(space.layout.complete))
            raise DataError(
                f"all {len(missing):,} rows lack a value of {columns}, and the software refuses"
                " missing values; give rows that have them"
            )
        kept = np.flatnonzero(~missing)
        frame = self.frame
        if isinstance(frame, list):
            frame = [frame[row] for row in kept]
        else:
            frame = eager(frame)[kept.tolist()].to_native()
        everybody = self.called or many(len(self), "given row")
        words = f"the {len(kept):,} of {everybody} without missing values{self.weighted_by}"
        sample_of = self.sample_of
        if sample_of is not None:
            sample_of = f"{sample_of} without missing values"
        if self.weights is None:
            weights = None
        else:
            weights = self.weights[kept]
        return Rows(
            self.twins, sample_of, weights, self.weighted_by, EncodedFrame(frame), words
        )

    def _gaps(self, space: Space) -> Flags:
        """Return which rows lack a value that the software needs."""
        frame = self.frame
        missing = np.zeros(len(self), dtype=np.bool_)
        if frame is None or not space.layout.complete:
            return missing
        for name in space.layout.complete:
            if isinstance(frame, list):
                values = [record.get(name) for record in frame]
                missing |= missing_values(np.array(values, dtype=object))
            else:
                table = eager(frame)
                if name in table.columns:
                    missing |= missing_rows(table[name])
        return missing

    def population(self, space: Space) -> str:
        """Name the population in words."""
        # So that a row that does not fit is reported before anything is drawn.
        self.points(space)
        if self.sample_of is not None:
            return self.sample_of
        if self.called:
            return self.called
        number = many(len(self), "given row")
        return f"the {number}{self.weighted_by}"

    def draw(self, n: int, rng: np.random.Generator, space: Space) -> Points:
        """Draw `n` of the rows, with replacement."""
        points = self.points(space)
        if self.weights is None:
            chosen = rng.integers(0, len(points), n)
        else:
            chosen = choose(running(self.weights), n, rng)
        return _taken(points, chosen)

    def within(
        self,
        n: int,
        rng: np.random.Generator,
        groups: Groups,
        group: int,
    ) -> Points:
        """Draw `n` of the rows of one group, with replacement."""
        members = self._grouped(groups).rows(group)
        if not len(members):
            raise SpaceError(f"no row is in the group {groups.label(group)}")
        if self.weights is None:
            chosen = rng.integers(0, len(members), n)
        else:
            chosen = choose(running(self.weights[members]), n, rng)
        return _taken(self.points(groups.space), members[chosen])

    def empty(self, groups: Groups) -> Flags:
        """Return which groups have no row, or none with any weight."""
        sizes = np.diff(self._grouped(groups).bounds)
        return np.asarray(sizes == 0)

    def separate(self, space: Space, names: Sequence[str]) -> bool:
        """Return False: nothing is known about which features of given rows are independent."""
        space.sets(names)
        return False

    def counterparts(self, space: Space, names: Sequence[str]) -> Positions:
        """Return a number for each row, shared by those that differ only in the named features.

        >>> from evenhand.space.feature import category, integer
        >>> from evenhand.space.space import Space
        >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
        >>> people = [{"sex": "F", "age": 40}, {"sex": "F", "age": 50}, {"sex": "M", "age": 40}]
        >>> rows(people, twins="rows").counterparts(space, ["sex"]).tolist()
        [0, 1, 0]
        """
        return classes(self.points(space), space, tuple(names))

    def _grouped(self, groups: Groups) -> _Members:
        key = (groups.space.digest, groups.names)
        found = self._members.get(key)
        if found is None:
            found = _Members.of(groups, self.points(groups.space), self.weights)
            self._members.clear()  # sets of features are asked about one after the other
            self._members[key] = found
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_members": {}}


def _check_valid(space: Space, points: Points) -> None:
    valid = space.valid(points)
    if valid.all():
        return
    row = int(np.argmin(valid))
    record = space.records(points[row : row + 1])[0]
    invalid = int((~valid).sum())
    raise DataError(
        f"{invalid:,} of {len(points):,} rows break the constraints of the space, the first is row"
        f" {row}, {clip(str(record))}; drop these rows or correct the constraints"
    )


def _taken(points: Points, chosen: Positions) -> Points:
    """Return some rows of points, in the memory layout of points."""
    width = points.shape[1]
    out = empty_points(len(chosen), width)
    for column in range(width):
        np.take(points[:, column], chosen, out=out[:, column])
    return out


@checked_keywords
def rows(
    frame: Any,
    *,
    weights: Any = None,
    twins: str = "domain",
    sample_of: str | None = None,
) -> Rows:
    """Sample from given rows: a test suite, or the people decided about (Themis Def. 3.8).

    Parameters
    ----------
    frame
        Any dataframe, or a list of dictionaries; columns that are not features are ignored.
    weights
        How often each row counts: the name of a column, or a sequence.
    twins
        The definition applies the causal score to a subset of the domain, which can be read in two
        ways. ``"domain"``: the rows are whom the score is about, and their twins are any input of
        the space. ``"rows"``: a twin must be one of the rows itself, so that only pairs of people
        who are both there count.
    sample_of
        By default the rows are the whole population. A text names a larger population of which they
        are an independent sample; a score then has an interval that also covers who happened to be
        in the sample.

    Returns
    -------
    Rows
        The population, for `sampler=…`.

    Raises
    ------
    UsageError
        If options cannot be combined, or the weights are not one number for each row.
    DataError
        If the frame has no rows, or lacks the column of weights.

    See Also
    --------
    See docs/how-to/populations.md.

    Examples
    --------
    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> rows([{"sex": "F"}, {"sex": "M"}]).population(Space([category("sex", ["F", "M"])]))
    'the 2 given rows'
    """
    if twins not in TWINS:
        raise UsageError(f"twins = {clip(repr(twins))} is unknown; {nearest(twins, TWINS)}")
    if sample_of is not None:
        _check_sample(sample_of, twins, weights)
    source: EncodedFrame[Any] = EncodedFrame(frame)
    if source.frame is None:
        raise UsageError(
            "frame = None holds no rows; give a dataframe or a list of dictionaries"
        )
    if weights is None:
        return Rows(twins, sample_of, None, "", source)
    weighted_by = ", weighted"
    if isinstance(weights, str):
        weighted_by = f", weighted by {weights}"
        weights = _column(source.frame, weights)
    checked = checked_weights(weights, "the weights of the rows")
    if len(checked) != source.rows:
        raise UsageError(
            f"there are {len(checked):,} weights for {source.rows:,} rows; give one for each row"
        )
    return Rows(twins, sample_of, checked, weighted_by, source)


def _check_sample(sample_of: Any, twins: str, weights: Any) -> None:
    if not isinstance(sample_of, str) or not sample_of.strip():
        raise UsageError(
            f"sample_of = {clip(repr(sample_of))} must be a text that names the population"
        )
    if twins == "rows":
        raise UsageError(
            "twins = 'rows' cannot be combined with sample_of: which rows have a twin in a sample"
            " says nothing about its population; use twins = 'domain'"
        )
    if weights is not None:
        raise UsageError(
            "weights cannot be combined with sample_of: an independent sample counts each row once"
        )


def _column(frame: Any, name: str) -> Any:
    if isinstance(frame, list):
        for row, record in enumerate(frame):
            if not isinstance(record, Mapping):
                raise DataError(
                    f"record {row} is {clip(repr(record))}, not a dictionary of values by feature"
                    " name"
                )
            if name not in record:
                raise DataError(
                    f"record {row} has no weight {name!r}; {nearest(name, record)}"
                )
        return [record[name] for record in frame]
    table = eager(frame)
    if name not in table.columns:
        raise DataError(
            f"column {name!r} of weights is not in the frame; {nearest(name, table.columns)}"
        )
    check_missing(table, name)
    return table[name].to_numpy()


def population_from_table(table: Mapping[str, Any], file: Path) -> Rows | Profile:
    """Build a population from a `[population]` table; paths in it are relative to the file."""
    _check_keys(table, file)
    try:
        if "rows" in table:
            options = {}
            for key, value in table.items():
                if key != "rows":
                    options[key] = value
            frame = read_frame(file.parent / table["rows"])
            return rows(frame, **options)
        return _profile_from_table(table, file)
    except ConfigError:
        raise
    except EvenhandError as error:
        raise ConfigError(f"{file}: [population]: {error}") from error


def _check_keys(table: Mapping[str, Any], file: Path) -> None:
    known = OF_ROWS if "rows" in table else OF_PROFILE
    for key in table:
        if key in known:
            continue
        if key in OF_ROWS or key in OF_PROFILE:
            other = "rows" if "rows" in table else "a profile"
            raise ConfigError(
                f"{file}: [population] {key} cannot be combined with {other}; remove it"
            )
        valid = dict.fromkeys((*OF_ROWS.toml, *OF_PROFILE.toml))
        raise ConfigError(
            f"{file}: [population] has an unknown key {key!r}; {nearest(key, valid)}"
        )
    try:
        known.check(table, f"{file}: [population]")
    except UsageError as error:
        raise ConfigError(str(error)) from None


def _profile_from_table(table: Mapping[str, Any], file: Path) -> Profile:
    from evenhand.population.profile import profile  # imported where it is used

    frame = None
    if "profile" in table:
        frame = read_frame(file.parent / table["profile"])
    weights: dict[Any, Any] = dict(table.get("weights", {}))
    if frame is None and not weights and "joint_weights" not in table:
        raise ConfigError(
            f"{file}: [population] needs rows, profile, weights or joint_weights"
        )
    for number, entry in enumerate(table.get("joint_weights", []), start=1):
        place = f"{file}: [[population.joint_weights]] number {number}"
        names, weighted_rows = _joint_entry(entry, place)
        if names in weights:
            raise ConfigError(f"{place} repeats {', '.join(names)}")
        weights[names] = weighted_rows
    return profile(weights, frame=frame, joint=table.get("joint", ()))


def _joint_entry(entry: Any, place: str) -> tuple[tuple[str, ...], list[Any]]:
    if not isinstance(entry, dict):
        raise ConfigError(
            f"{place} is {clip(repr(entry))}, not a table with features and rows"
        )
    for key in entry:
        if key not in JOINT:
            raise ConfigError(
                f"{place} has an unknown key {key!r}; {nearest(key, JOINT.toml)}"
            )
    for key in JOINT.toml:
        if not isinstance(entry.get(key), list):
            raise ConfigError(f"{place} needs {key} = [...]")
    return tuple(entry["features"]), entry["rows"]
