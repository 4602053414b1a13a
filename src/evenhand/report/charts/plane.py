"""Charts with two axes: curves over an axis, and points in a plane."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenhand.report.charts import messages
from evenhand.report.charts.keys import Key, NumbersTable, series_look
from evenhand.report.charts.scale import STEPS, AxisScale, spread_text
from evenhand.runtime import number_text
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from evenhand.report.charts.scale import Tick

    Place = tuple[float, float]
    Ends = tuple[float, float]
    Box = tuple[float, float, float, float]
    """The left, lower, right and upper end of a part of the plane."""

MOST_MARKS = 24
"""The most points of a curve that have a mark of their own; more are taken evenly."""
_LABEL_WIDTH = 0.0115
_LABEL_HEIGHT = 0.055
"""Shares of the plane that a letter of a label is wide and a label is high."""


@dataclass(frozen=True, slots=True)
class PlanePoint:
    """A point: its place, its intervals where it has any, and its look.

    `name` is what it is called; `look` is that of its series where it is left out.
    """

    x: float
    y: float
    x_ends: Ends | None = None
    y_ends: Ends | None = None
    name: str = ""
    look: str = ""


@dataclass(frozen=True, slots=True)
class PointSeries:
    """Points that belong together, in the order of a curve where they make one.

    Parameters
    ----------
    joined
        Whether a curve goes through the points.
    dashed
        Whether that curve is dashed.
    cloud
        Whether the points are one mark together, since none has a number of its own.
    labelled
        Whether points have their names beside them.
    """

    name: str
    points: tuple[PlanePoint, ...]
    look: str = ""
    joined: bool = False
    dashed: bool = False
    cloud: bool = False
    labelled: bool = False


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A line to compare with, through some places; a legend names it where it has a name."""

    name: str
    places: tuple[Place, ...]
    look: str = "reference"


@dataclass(frozen=True, slots=True)
class PlaneRegion:
    """A region of the plane between a lower and an upper border, as a polygon."""

    name: str
    corners: tuple[Place, ...]
    look: str


@dataclass(frozen=True, slots=True)
class PlacedMark:
    """A point as it is drawn."""

    x: str
    y: str
    look: str
    full_text: str
    across: Sequence[str]
    upright: Sequence[str]
    label: PlacedLabel | None = None


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """A text beside a point, and a number that stands for it where there is no room.

    `dx` and `dy` are pixels from the middle of the point to where the text is anchored.
    """

    text: str
    short: str
    dx: int
    dy: int
    anchor: str


@dataclass(frozen=True, slots=True)
class PlacedSeries:
    """A series as it is drawn: a curve or a cloud as a path, and marks."""

    number: int
    look: str
    path: str
    full_text: str
    dashed: bool
    quiet: bool
    cloud: bool
    crosses: tuple[tuple[str, str], ...]
    marks: tuple[PlacedMark, ...]


@dataclass(frozen=True, slots=True)
class PlacedPath:
    """A path with its look and name."""

    path: str
    look: str
    name: str


@dataclass(frozen=True, slots=True)
class PlacedPlane:
    """A plane as it is drawn."""

    title: str
    x_axis: str
    y_axis: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    regions: tuple[PlacedPath, ...]
    lines: tuple[PlacedPath, ...]
    series: tuple[PlacedSeries, ...]
    names: tuple[str, ...]
    numbered: bool
    steps: int = STEPS


@dataclass(frozen=True, slots=True)
class PlaneChart:
    """Curves or points over two axes.

    Parameters
    ----------
    ticks
        Whether the axes have numbers; directions of a map have none.
    numbered
        Whether labels are numbers everywhere, and not on narrow pages alone.
    marks
        What a legend calls the looks of points, where they have looks of their own.

    >>> points = (PlanePoint(0, 0), PlanePoint(10, 5))
    >>> series = PointSeries("found", points, joined=True)
    >>> x = AxisScale(0.0, 10.0, "count")
    >>> chart = PlaneChart((series,), x, AxisScale(0.0, 10.0, "count"), "queries", "inputs")
    >>> [mark.full_text for mark in chart.placed().series[0].marks]
    ['found: queries 0, inputs 0', 'found: queries 10, inputs 5']
    >>> chart.placed().series[0].path
    'M0 10000L10000 5000'
    """

    series: tuple[PointSeries, ...]
    x_scale: AxisScale
    y_scale: AxisScale
    x_axis: str
    y_axis: str
    title: str = ""
    notes: tuple[str, ...] = ()
    lines: tuple[ReferenceLine, ...] = ()
    regions: tuple[PlaneRegion, ...] = ()
    ticks: bool = True
    numbered: bool = False
    marks: Mapping[str, str] = field(default_factory=dict)
    wide: bool = False
    kind: str = "plane"

    def entries(self) -> list[Key]:
        """Return the series, lines and regions; several series can be switched."""
        keys = []
        switched = len(self.series) > 1
        for number, series in enumerate(self.series):
            look = _look(series, number)
            if series.cloud:
                look = f"dots {look}"
            elif series.joined:
                dash = " dashed" if series.dashed else ""
                look = f"line {look}{dash}"
            if series.name:
                keys.append(Key(look, series.name, number if switched else -1))
        every: list[PlanePoint] = []
        for series in self.series:
            every += series.points
        looks = {point.look for point in every}
        keys += [Key(look, name) for look, name in self.marks.items() if look in looks]
        named = {line.name: line.look for line in self.lines if line.name}
        keys += [Key(f"line {look}", name) for name, look in named.items()]
        keys += [Key(f"fill {region.look}", region.name) for region in self.regions]
        return keys

    def numbers(self) -> NumbersTable | None:
        """Return the numbers of all marks."""
        rows = []
        for number, series in enumerate(self.series):
            if series.cloud:
                count = number_text.count(len(series.points))
                rows.append((series.name, count, ""))
                continue
            for point in _marked(_known(series.points)):
                names = [series.name, point.name]
                name = ", ".join(part for part in names if part) or str(number + 1)
                rows.append((name, self._x_text(point), self._y_text(point)))
        headings = (say(messages.COLUMN_LABEL), self.x_axis, self.y_axis)
        return NumbersTable(headings, tuple(rows))

    def placed(self) -> PlacedPlane:
        """Return everything with its place."""
        labels = self._labels()
        placed = []
        for number, series in enumerate(self.series):
            placed.append(self._placed_series(series, number, labels))
        return PlacedPlane(
            title=self.title,
            x_axis=self.x_axis,
            y_axis=self.y_axis,
            x_ticks=self.x_scale.ticks if self.ticks else (),
            y_ticks=self.y_scale.upright_ticks if self.ticks else (),
            regions=tuple(self._region_path(region) for region in self.regions),
            lines=tuple(self._line_path(line) for line in self.lines),
            series=tuple(placed),
            names=tuple(label.text for label in labels.values()),
            numbered=self.numbered,
        )

    def _placed_series(
        self, series: PointSeries, number: int, labels: dict[int, PlacedLabel]
    ) -> PlacedSeries:
        known = _known(series.points)
        path = ""
        crosses: tuple[tuple[str, str], ...] = ()
        if series.cloud and series.look == "found":
            crosses = tuple(self._at(point) for point in known)
        elif series.cloud:
            path = "".join(f"M{x} {y}h0" for x, y in map(self._steps, known))
        elif series.joined:
            path = _through(self._steps(point) for point in known)
        marks = []
        if not series.cloud:
            look = _look(series, number)
            for point in _marked(known):
                label = labels.get(id(point))
                marks.append(self._placed_mark(point, series.name, look, label))
        count = number_text.count(len(known))
        return PlacedSeries(
            number=number,
            look=_look(series, number),
            path=path,
            full_text=say(messages.SERIES_OF_POINTS, series=series.name, points=count),
            dashed=series.dashed,
            quiet=series.joined and len(known) > MOST_MARKS,
            cloud=series.cloud,
            crosses=crosses,
            marks=tuple(marks),
        )

    def _placed_mark(
        self, point: PlanePoint, series: str, look: str, label: PlacedLabel | None
    ) -> PlacedMark:
        across: tuple[str, ...] = ()
        upright: tuple[str, ...] = ()
        if point.x_ends is not None:
            across = tuple(self.x_scale.at(end) for end in point.x_ends)
        if point.y_ends is not None:
            upright = tuple(self.y_scale.up(end) for end in point.y_ends)
        x_text = say(messages.CELL, heading=self.x_axis, text=self._x_text(point))
        y_text = say(messages.CELL, heading=self.y_axis, text=self._y_text(point))
        names = [part for part in (point.name, series) if part]
        text = f"{x_text}, {y_text}"
        if names:
            text = say(messages.MARK, label=", ".join(names), numbers=text)
        return PlacedMark(
            x=self.x_scale.at(point.x),
            y=self.y_scale.up(point.y),
            look=point.look or look,
            full_text=text,
            across=across,
            upright=upright,
            label=label,
        )

    def _x_text(self, point: PlanePoint) -> str:
        low, high = point.x_ends or (point.x, point.x)
        return spread_text(point.x, low, high, self.x_scale.unit)

    def _y_text(self, point: PlanePoint) -> str:
        low, high = point.y_ends or (point.y, point.y)
        return spread_text(point.y, low, high, self.y_scale.unit)

    def _at(self, point: PlanePoint) -> tuple[str, str]:
        return self.x_scale.at(point.x), self.y_scale.up(point.y)

    def _steps(self, point: PlanePoint) -> tuple[int, int]:
        return self._steps_of((point.x, point.y))

    def _steps_of(self, place: Place) -> tuple[int, int]:
        x, y = place
        return self.x_scale.step(x), STEPS - self.y_scale.step(y)

    def _region_path(self, region: PlaneRegion) -> PlacedPath:
        path = _through(self._steps_of(corner) for corner in region.corners)
        return PlacedPath(f"{path}z", region.look, region.name)

    def _line_path(self, line: ReferenceLine) -> PlacedPath:
        path = _through(self._steps_of(place) for place in line.places)
        return PlacedPath(path, line.look, line.name)

    def _labels(self) -> dict[int, PlacedLabel]:
        """Return a label for each point that has a name, where it covers least."""
        points = []
        for series in self.series:
            if series.labelled:
                points += [point for point in _known(series.points) if point.name]
        places = [self._share_of(point) for point in points]
        # What is taken: around each point first, then what labels before have taken.
        taken: list[Box] = [(x - 0.02, y - 0.03, x + 0.02, y + 0.03) for x, y in places]
        for point, place in zip(points, places, strict=True):
            taken += self._whisker_boxes(point, place)
        labels = {}
        for number, (point, place) in enumerate(zip(points, places, strict=True), 1):
            label, box = _best_label(point.name, number_text.count(number), place, taken)
            taken.append(box)
            labels[id(point)] = label
        return labels

    def _whisker_boxes(self, point: PlanePoint, place: Place) -> Iterator[Box]:
        """Yield the narrow parts of the plane that the intervals of a point take."""
        x, y = place
        if point.x_ends is not None:
            left, right = map(self.x_scale.place, point.x_ends)
            yield left, y - 0.012, right, y + 0.012
        if point.y_ends is not None:
            low, high = map(self.y_scale.place, point.y_ends)
            yield x - 0.003, low, x + 0.003, high

    def _share_of(self, point: PlanePoint) -> Place:
        return self.x_scale.place(point.x), self.y_scale.place(point.y)


def _best_label(
    name: str, number: str, place: Place, taken: Sequence[Box]
) -> tuple[PlacedLabel, Box]:
    """Return a label beside a point, and the part of the plane that it takes."""
    x, y = place
    width = _LABEL_WIDTH * len(name)
    half = _LABEL_HEIGHT / 2
    candidates = []
    for dx, anchor, left in ((11, "start", x + 0.02), (-11, "end", x - 0.02 - width)):
        for dy in (4, 18, -10, 32, -24):
            middle = y - (dy - 4) * 0.004
            box = (left, middle - half, left + width, middle + half)
            label = PlacedLabel(name, number, dx, dy, anchor)
            candidates.append((label, box))

    def cost(candidate: tuple[PlacedLabel, Box]) -> float:
        label, box = candidate
        covered = sum(_shared_area(box, other) for other in taken)
        outside = max(0.0, -box[0]) + max(0.0, box[2] - 1.0)
        return covered + outside + 1e-6 * abs(label.dy)

    return min(candidates, key=cost)


def _shared_area(first: Box, second: Box) -> float:
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    return max(width, 0.0) * max(height, 0.0)


def _look(series: PointSeries, number: int) -> str:
    return series.look or series_look(number)


def _known(points: Iterable[PlanePoint]) -> list[PlanePoint]:
    """Return the points whose places are numbers."""
    return [point for point in points if math.isfinite(point.x) and math.isfinite(point.y)]


def _marked(points: Sequence[PlanePoint]) -> Sequence[PlanePoint]:
    """Return the points that have a mark: of many some, the first and the last among them."""
    if len(points) <= MOST_MARKS:
        return points
    last = len(points) - 1
    steps = range(MOST_MARKS)
    return [points[round(step * last / (MOST_MARKS - 1))] for step in steps]


def _through(steps: Iterable[tuple[int, int]]) -> str:
    """Return a path through some places; one that is like the place before it is left out."""
    distinct: list[tuple[int, int]] = []
    for step in steps:
        if not distinct or step != distinct[-1]:
            distinct.append(step)
    if not distinct:
        return ""
    places = "L".join(f"{x} {y}" for x, y in distinct)
    return f"M{places}"
