"""Texts in a picture, each where it covers least of what is there already."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evenhand.report.canvas import GREY

if TYPE_CHECKING:
    from collections.abc import Mapping

_POINTS_PER_INCH = 72
_NEXT_TO = 5.0
"""Points between a marker and a text that needs no line to be seen as its name."""
_DISTANCES = (14.0, 28.0, 46.0, 70.0)
"""Points between a marker and a text that is joined to it by a line, nearest first."""
_MARKER_WEIGHT = 8.0
_INTERVAL_WEIGHT = 6.0
_TEXT_WEIGHT = 12.0
"""How much it matters to keep these free: a text over a text cannot be read at all."""
_OUTSIDE_WEIGHT = 20.0
"""How much it matters that a text stays in the axes, or in the region that it names."""
_GRID = 31
"""How many places on each side are tried for the name of a region."""
_GOOD_ENOUGH = 0.3
"""The cost up to which the name of a region is written into it."""
_TESTED_POINTS = np.array(
    [
        (0, 0),  # the middle
        (-1, -1),  # the corners
        (-1, 1),
        (1, -1),
        (1, 1),
        (0, -1),  # the middles of the lower and the upper side
        (0, 1),
    ]
)
"""The points of a text that must lie in the region that it names, from -1 to 1 on either axis."""
_REGION_LOOK = {"fontsize": 9, "style": "italic", "color": GREY}


class MarkedPoint(Protocol):
    """A point with two intervals: for each axis its value, and the ends of the interval."""

    @property
    def bias(self) -> tuple[float, float, float]:
        """The value on the horizontal axis, and its interval."""

    @property
    def performance(self) -> tuple[float, float, float]:
        """The value on the vertical axis, and its interval."""


@dataclass(frozen=True)
class _MeasuredText:
    """A text, how it looks, and half of the width and height that it takes then."""

    text: str
    look: Mapping[str, Any]
    half: Any


class Labels:
    """Texts in axes, each where it covers least of what is there already.

    All places but those of the data are in pixels.
    """

    def __init__(self, ax: Any) -> None:
        self._ax = ax
        self._to_pixels = ax.transData.transform
        self._pixels_per_point = ax.figure.dpi / _POINTS_PER_INCH
        box = ax.get_window_extent()
        self._low = np.array([box.x0, box.y0])
        self._high = np.array([box.x1, box.y1])
        self._taken = _TakenBoxes()

    def keep(
        self, mark: MarkedPoint, reach: float = 5, weight: float = _MARKER_WEIGHT
    ) -> None:
        """Keep a marker of this reach free, and as far as possible its intervals."""
        x, left, right = mark.bias
        y, bottom, top = mark.performance
        middle = (x, y)
        self._keep_between(middle, middle, reach, weight)
        left_end = (left, y)
        right_end = (right, y)
        self._keep_between(left_end, right_end, 1, _INTERVAL_WEIGHT)
        lower_end = (x, bottom)
        upper_end = (x, top)
        self._keep_between(lower_end, upper_end, 1, _INTERVAL_WEIGHT)

    def _keep_between(self, first: Any, last: Any, reach: float, weight: float) -> None:
        """Keep the box between two points of the data free, and so many points around it."""
        low, high = self._to_pixels([first, last])
        margin = reach * self._pixels_per_point
        lower = low - margin
        upper = high + margin
        self._taken.add(lower, upper, weight)

    def beside(self, text: str, place: Any, *, joined: bool = False, **look: Any) -> None:
        """Write a text near a point.

        A thin line joins it to the point if asked to, or if it does not stand next to it.
        """
        measured = self._measured(text, look)
        distances = _DISTANCES if joined else (_NEXT_TO, *_DISTANCES)
        directions = _directions()
        # Every direction at the smallest distance, then every direction at the next one.
        distance = np.repeat(distances, len(directions))
        direction = np.tile(directions, (len(distances), 1))
        distance_in_pixels = distance[:, None] * self._pixels_per_point
        away = distance_in_pixels + measured.half
        point = self._to_pixels(place)
        centres = point + direction * away
        # Of places that cover as little, the nearest is best.
        cost = self._cost(centres, measured.half)
        cost += 0.01 * distance
        best = int(np.argmin(cost))
        line = None
        if distance[best] > _NEXT_TO:
            line = _joining_line(joined=joined)
        self._annotate(measured, place, centres[best], line)

    def inside(
        self, name: str, region: Any, code: int, corner: tuple[float, float]
    ) -> None:
        """Write the name of a region in it, or beside it where it is too small.

        Of a region that is out of sight, nothing is written. `region` returns the codes of the
        regions that points of the data lie in; `corner` is where the name stands best, as shares
        of the width and height.
        """
        shares = _grid_of_shares()
        from_corner = _lengths(shares - corner)
        to_data = self._ax.transData.inverted()
        on_several_lines = name.replace(" ", "\n")
        for text in (name, on_several_lines):
            measured = self._measured(text, _REGION_LOOK)
            low = self._low + measured.half + 4
            high = self._high - measured.half - 4
            centres = low + shares * (high - low)
            offsets = _TESTED_POINTS * (measured.half + 2)
            points = centres[:, None] + offsets
            codes = _codes_at(points, region, to_data)
            share_outside = (codes != code).mean(axis=1)
            cost = self._cost(centres, measured.half)
            cost += _OUTSIDE_WEIGHT * share_outside
            # Of places that are as free, the one nearest to the corner is best.
            preference = cost + 0.5 * from_corner
            best = int(np.argmin(preference))
            if cost[best] < _GOOD_ENOUGH:
                centre = centres[best]
                place = to_data.transform(centre)
                self._annotate(measured, place, centre)
                return
        self._join_to_region(name, region, code, to_data)

    def _join_to_region(self, name: str, region: Any, code: int, to_data: Any) -> None:
        """Write the name of a region beside it, joined to the point nearest to its middle."""
        sides = self._high - self._low
        places = self._low + _grid_of_shares() * sides
        codes = _codes_at(places, region, to_data)
        visible = places[codes == code]
        if not len(visible):
            return
        # The mean itself may lie outside of a region that is not convex.
        from_mean = _lengths(visible - visible.mean(axis=0))
        middle = visible[np.argmin(from_mean)]
        place = to_data.transform(middle)
        self.beside(name, place, joined=True, **_REGION_LOOK)

    def _measured(self, text: str, look: Mapping[str, Any]) -> _MeasuredText:
        """Return a text with its size, which only drawing it tells."""
        shown = self._ax.text(0, 0, text, **look)
        box = shown.get_window_extent()
        shown.remove()
        size = np.array([box.width, box.height])
        return _MeasuredText(text, look, size / 2)

    def _cost(self, centres: Any, half: Any) -> Any:
        """Return how much a text at each centre covers of what is taken, or leaves the axes."""
        low = centres - half
        high = centres + half
        area = (2 * half).prod()
        taken = self._taken
        # One row for each centre, one column for each box that is taken.
        lows = low[:, None]
        highs = high[:, None]
        shared = _shared_areas(lows, highs, taken.low, taken.high)
        weighted = shared / area * taken.weights
        covered = weighted.sum(axis=1)
        in_axes = _shared_areas(low, high, self._low, self._high)
        return covered + _OUTSIDE_WEIGHT * (1 - in_axes / area)

    def _annotate(
        self, measured: _MeasuredText, place: Any, centre: Any, line: Any = None
    ) -> None:
        """Write a text around a centre, which is kept as an offset from a place of the data."""
        from_place = centre - self._to_pixels(place)
        offset = from_place / self._pixels_per_point
        shown = self._ax.annotate(
            measured.text,
            place,
            offset,
            arrowprops=line,
            textcoords="offset points",
            ha="center",
            va="center",
            annotation_clip=False,
            zorder=4,
            **measured.look,
        )
        # A text at the edge must not press the axes, which would move it again.
        shown.set_in_layout(False)
        low = centre - measured.half
        high = centre + measured.half
        self._taken.add(low, high, _TEXT_WEIGHT)


class _TakenBoxes:
    """The corners of boxes that are taken, and how much it matters to keep each free."""

    def __init__(self) -> None:
        self.low = np.empty((0, 2))
        self.high = np.empty((0, 2))
        self.weights = np.empty(0)

    def add(self, low: Any, high: Any, weight: float) -> None:
        self.low = np.vstack([self.low, low])
        self.high = np.vstack([self.high, high])
        self.weights = np.append(self.weights, weight)


def _shared_areas(low: Any, high: Any, other_low: Any, other_high: Any) -> Any:
    """Return the areas that boxes share with other boxes, nought where they do not meet."""
    lower = np.maximum(low, other_low)
    upper = np.minimum(high, other_high)
    sides = np.maximum(upper - lower, 0)
    return sides.prod(axis=-1)


def _lengths(vectors: Any) -> Any:
    x, y = vectors.T
    return np.hypot(x, y)


def _directions() -> Any:
    """Return the directions from a point to the edge of a square around it, sixteen in all."""
    steps = (1, 0.5, 0, -0.5, -1)
    pairs = itertools.product(steps, steps)
    directions = np.array(list(pairs))
    farthest = np.abs(directions).max(axis=1)
    return directions[farthest == 1]


def _joining_line(*, joined: bool) -> dict[str, Any]:
    """Return how the line from a text to its point looks; it ends before a marker."""
    before_point = 0 if joined else 4
    return {
        "arrowstyle": "-",
        "color": GREY,
        "linewidth": 0.7,
        "shrinkA": 0,
        "shrinkB": before_point,
    }


def _grid_of_shares() -> Any:
    """Return the points of a grid over the axes, as shares of their width and height."""
    steps = np.linspace(0, 1, _GRID)
    across, up = np.meshgrid(steps, steps)
    points = np.stack([across, up], axis=-1)
    return points.reshape(-1, 2)


def _codes_at(points: Any, region: Any, to_data: Any) -> Any:
    """Return the codes of the regions in which points of the picture lie."""
    *shape, _ = points.shape
    data = to_data.transform(points.reshape(-1, 2))
    return region(data).reshape(shape)
