"""Populations for apparent discrimination (Themis Def. 3.8): given rows, and the table that
declares a population.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand.population.encoded_frame import Source
from evenhand.runtime.errors import (
    ConfigError,
    DataError,
    EvenhandError,
    SpaceError,
    UsageError,
    clip,
    nearest,
)
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
from evenhand.space.dataframes import check_missing, eager
from evenhand.space.distribution import checked_weights, choose, running
from evenhand.space.row_keys import classes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from evenhand.population.profile import Profile
    from evenhand.scores.groups import Groups
    from evenhand.space.feature import Points
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
"""What can be said in a [population] table of given rows."""
_ROWS = Kind("rows", (list,), "a list of rows", {"type": "array"})
JOINT = Options.of(
    Option("features", LIST, "the features that go together", required=True),
    Option("rows", _ROWS, "their values, and a weight", required=True),
)
"""What can be said in a [[population.joint_weights]] table."""
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
"""What can be said in a [population] table of weights."""


@dataclass(frozen=True, eq=False)
class _Members:
    """Rows in the order of their groups, and where each group begins."""

    order: NDArray[np.intp]
    bounds: NDArray[np.intp]

    @classmethod
    def of(
        cls, groups: Groups, points: Points, weights: NDArray[np.float64] | None
    ) -> _Members:
        place = (
            groups.of(points)
            if weights is None
            else np.where(weights > 0, groups.of(points), -1)
        )
        order = np.argsort(place, kind="stable")
        return cls(order, np.searchsorted(place[order], np.arange(len(groups) + 1)))

    def rows(self, group: int) -> NDArray[np.intp]:
        return self.order[self.bounds[group] : self.bounds[group + 1]]


@dataclass(frozen=True, eq=False)
class Rows:
    """Given rows as a population, or as a sample of one; build it with `rows`."""

    listed: ClassVar[bool] = True
    """That it is a list of rows, all of which can be asked; other populations have no such mark."""
    twins: str
    sample_of: str | None
    weights: NDArray[np.float64] | None
    weighted_by: str
    _source: Source[Points] = field(repr=False)
    _members: dict[tuple[str, tuple[str, ...]], _Members] = field(
        default_factory=dict, repr=False
    )

    def __len__(self) -> int:
        return self._source.rows

    def points(self, space: Space) -> Points:
        """Return the rows as encoded inputs of a space; other columns are left out."""
        if self._source.lacks(space):
            return self._source.keep(
                space, _checked(space, space.encode(self._source.frame))
            )
        return self._source.made(space)

    def population(self, space: Space) -> str:
        """Name the population in words."""
        self.points(
            space
        )  # so that a row that does not fit is reported before anything is drawn
        if self.sample_of is not None:
            return self.sample_of
        return f"the {len(self):,} given row{'s' * (len(self) != 1)}{self.weighted_by}"

    def draw(self, n: int, rng: np.random.Generator, space: Space) -> Points:
        """Draw `n` of the rows, with replacement."""
        every = self.points(space)
        return _taken(
            every,
            (
                rng.integers(0, len(every), n)
                if self.weights is None
                else choose(running(self.weights), n, rng)
            ),
        )

    def within(
        self, n: int, rng: np.random.Generator, groups: Groups, group: int
    ) -> Points:
        """Draw `n` of the rows of one group, with replacement."""
        mine = self._grouped(groups).rows(group)
        if not len(mine):
            raise SpaceError(f"no row is in the group {groups.label(group)}")
        chosen = (
            rng.integers(0, len(mine), n)
            if self.weights is None
            else choose(running(self.weights[mine]), n, rng)
        )
        return _taken(self.points(groups.space), mine[chosen])

    def empty(self, groups: Groups) -> NDArray[np.bool_]:
        """Tell which groups have no row, or none with any weight."""
        return np.asarray(np.diff(self._grouped(groups).bounds) == 0)

    def separate(self, space: Space, names: Sequence[str]) -> bool:
        """Return False: nothing is known about which features of given rows are independent."""
        space.sets(names)
        return False

    def counterparts(self, space: Space, names: Sequence[str]) -> NDArray[np.intp]:
        """Return a number for each row, shared by those that are equal in all features but the
        named ones.

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


def _checked(space: Space, points: Points) -> Points:
    valid = space.valid(points)
    if not valid.all():
        row = int(np.argmin(valid))
        raise DataError(
            f"{int((~valid).sum()):,} of {len(points):,} rows break the constraints of the space,"
            f" the first is row {row}, {clip(str(space.records(points[row : row + 1])[0]))}; drop"
            " these rows or correct the constraints"
        )
    return points


def _taken(points: Points, chosen: NDArray[np.intp]) -> Points:
    out: Points = np.empty((len(chosen), points.shape[1]), dtype=np.float64, order="F")
    for column in range(points.shape[1]):
        np.take(points[:, column], chosen, out=out[:, column])
    return out


@checked_keywords
def rows(
    frame: Any, *, weights: Any = None, twins: str = "domain", sample_of: str | None = None
) -> Rows:
    """Sample from given rows: a test suite, or the people that the software decides about (Themis
    Def. 3.8).

    Parameters
    ----------
    frame
        Any dataframe, or a list of dictionaries; columns that are no features are ignored.
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
        if not isinstance(sample_of, str) or not sample_of.strip():
            raise UsageError(
                f"sample_of = {clip(repr(sample_of))} must be a text that names the population"
            )
        if twins == "rows":
            raise UsageError(
                "twins = 'rows' does not go with sample_of: which rows have a twin in a sample says"
                " nothing about its population; use twins = 'domain'"
            )
        if weights is not None:
            raise UsageError(
                "weights do not go with sample_of: an independent sample counts each row once"
            )
    source: Source[Any] = Source(frame)
    if source.frame is None:
        raise UsageError(
            "frame = None holds no rows; give a dataframe or a list of dictionaries"
        )
    if weights is None:
        return Rows(twins, sample_of, None, "", source)
    named = isinstance(weights, str)
    found = checked_weights(
        _column(source.frame, weights) if named else weights, "the weights of the rows"
    )
    if len(found) != source.rows:
        raise UsageError(
            f"there are {len(found):,} weights for {source.rows:,} rows; give one for each row"
        )
    return Rows(
        twins,
        sample_of,
        found,
        f", weighted by {weights}" if named else ", weighted",
        source,
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
    known = OF_ROWS if "rows" in table else OF_PROFILE
    for key in table:
        if key in known:
            continue
        if key in OF_ROWS or key in OF_PROFILE:
            other = "rows" if "rows" in table else "a profile"
            raise ConfigError(
                f"{file}: [population] {key} does not go with {other}; remove it"
            )
        valid = dict.fromkeys((*OF_ROWS.toml, *OF_PROFILE.toml))
        raise ConfigError(
            f"{file}: [population] has an unknown key {key!r}; {nearest(key, valid)}"
        )
    try:
        known.check(table, f"{file}: [population]")
    except UsageError as error:
        raise ConfigError(str(error)) from None
    try:
        if "rows" in table:
            options = {key: value for key, value in table.items() if key != "rows"}
            return rows(read_frame(file.parent / table["rows"]), **options)
        from evenhand.population.profile import profile  # imported where it is used

        frame = read_frame(file.parent / table["profile"]) if "profile" in table else None
        weights: dict[Any, Any] = dict(table.get("weights", {}))
        if frame is None and not weights and "joint_weights" not in table:
            raise ConfigError(
                f"{file}: [population] needs rows, profile, weights or joint_weights"
            )
        for number, entry in enumerate(table.get("joint_weights", []), start=1):
            names, given = _joint_entry(
                entry, f"{file}: [[population.joint_weights]] number {number}"
            )
            if names in weights:
                raise ConfigError(
                    f"{file}: [[population.joint_weights]] number {number} repeats"
                    f" {', '.join(names)}"
                )
            weights[names] = given
        return profile(weights, frame=frame, joint=table.get("joint", ()))
    except ConfigError:
        raise
    except EvenhandError as error:
        raise ConfigError(f"{file}: [population]: {error}") from error


def _joint_entry(entry: Any, said: str) -> tuple[tuple[str, ...], list[Any]]:
    if not isinstance(entry, dict):
        raise ConfigError(
            f"{said} is {clip(repr(entry))}, not a table with features and rows"
        )
    for key in entry:
        if key not in JOINT:
            raise ConfigError(
                f"{said} has an unknown key {key!r}; {nearest(key, JOINT.toml)}"
            )
    for key in JOINT.toml:
        if not isinstance(entry.get(key), list):
            raise ConfigError(f"{said} needs {key} = [...]")
    return tuple(entry["features"]), entry["rows"]
