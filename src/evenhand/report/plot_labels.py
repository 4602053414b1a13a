"""Texts in a picture, each where it covers least of what is there already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.report.canvas import GREY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.compare.plot import Mark


class Labels:
    """Texts in axes, each where it covers least of what is there already; boxes are left, bottom,
    right and top.
    """

    def __init__(self, ax: Any) -> None:
        self._ax = ax
        self._pixels = ax.figure.dpi / 72
        box = ax.get_window_extent()
        self._room = np.array([box.x0, box.y0, box.x1, box.y1])
        self._taken = np.empty((0, 5))
        """Boxes, and how much it matters to keep them free."""

    def keep(self, mark: Mark, reach: float = 5, weight: float = 8.0) -> None:
        """Keep a marker of this reach free, and as far as possible its intervals."""
        (x, *across), (y, *up) = mark.bias, mark.performance
        places = [(x, y), (x, y), (across[0], y), (across[1], y), (x, up[0]), (x, up[1])]
        corners = self._ax.transData.transform(places).reshape(3, 2, 2)
        for ends, far, much in zip(corners, (reach, 1, 1), (weight, 6.0, 6.0), strict=True):
            self._keep([ends[0] - far * self._pixels, ends[1] + far * self._pixels], much)

    def _keep(self, corners: Sequence[Any], weight: float) -> None:
        self._taken = np.vstack([self._taken, [*np.concatenate(corners), weight]])

    def beside(self, text: str, place: Any, *, joined: bool = False, **look: Any) -> None:
        """Write a text near a point, joined to it by a thin line if asked to or if it does not
        stand next to it.
        """
        size, point = self._size(text, look), self._ax.transData.transform(place)
        ways = np.array(
            [
                (x, y)
                for x in (1, 0.5, 0, -0.5, -1)
                for y in (1, 0.5, 0, -0.5, -1)
                if 1 in (abs(x), abs(y))
            ]
        )
        far = np.repeat([*([] if joined else [5.0]), 14.0, 28.0, 46.0, 70.0], len(ways))
        centres = point + np.tile(ways, (len(far) // len(ways), 1)) * (
            far[:, None] * self._pixels + size / 2
        )
        at = int(np.argmin(self._cost(centres, size) + 0.01 * far))
        arrow = {
            "arrowstyle": "-",
            "color": GREY,
            "linewidth": 0.7,
            "shrinkA": 0,
            "shrinkB": 0 if joined else 4,
        }
        self._annotate(text, place, centres[at], size, arrow if far[at] > 5 else None, look)

    def inside(self, name: str, region: Any, code: int, corner: tuple[float, float]) -> None:
        """Write the name of a region in it, or beside it where it is too small; not at all where it
        is out of sight.
        """
        look = {"fontsize": 9, "style": "italic", "color": GREY}
        parts = np.stack(
            np.meshgrid(np.linspace(0, 1, 31), np.linspace(0, 1, 31)), axis=-1
        ).reshape(-1, 2)
        inverse = self._ax.transData.inverted()
        for text in (name, name.replace(" ", "\n")):
            size = self._size(text, look)
            low, high = self._room[:2] + size / 2 + 4, self._room[2:] - size / 2 - 4
            centres = low + parts * (high - low)
            corners = np.array([(0, 0), (-1, -1), (-1, 1), (1, -1), (1, 1), (0, -1), (0, 1)]) * (
                size / 2 + 2
            )
            found = region(inverse.transform((centres[:, None] + corners).reshape(-1, 2))).reshape(
                len(parts), -1
            )
            cost = self._cost(centres, size) + 20 * (found != code).mean(axis=1)
            at = int(np.argmin(cost + 0.5 * np.hypot(*(parts - corner).T)))
            if cost[at] < 0.3:
                return self._annotate(
                    text, inverse.transform(centres[at]), centres[at], size, None, look
                )
        everywhere = self._room[:2] + parts * (self._room[2:] - self._room[:2])
        seen = everywhere[region(inverse.transform(everywhere)) == code]
        if len(seen):
            middle = seen[np.argmin(np.hypot(*(seen - seen.mean(axis=0)).T))]
            self.beside(name, inverse.transform(middle), joined=True, **look)
        return None

    def _size(self, text: str, look: Mapping[str, Any]) -> Any:
        shown = self._ax.text(0, 0, text, **look)
        box = shown.get_window_extent()
        shown.remove()
        return np.array([box.width, box.height])

    def _cost(self, centres: Any, size: Any) -> Any:
        """Return how much a text at each centre covers of what is taken, and how much of it stands
        out of the axes.
        """
        low, high = centres - size / 2, centres + size / 2
        taken = self._taken
        shared = np.minimum(high[:, None], taken[:, 2:4]) - np.maximum(low[:, None], taken[:, :2])
        covers = (np.maximum(shared, 0).prod(axis=-1) / size.prod() * taken[:, 4]).sum(axis=1)
        kept = np.maximum(
            np.minimum(high, self._room[2:]) - np.maximum(low, self._room[:2]), 0
        ).prod(axis=-1)
        return covers + 20 * (1 - kept / size.prod())

    def _annotate(
        self, text: str, place: Any, centre: Any, size: Any, arrow: Any, look: Mapping[str, Any]
    ) -> None:
        offset = (centre - self._ax.transData.transform(place)) / self._pixels
        middle = {
            "textcoords": "offset points",
            "ha": "center",
            "va": "center",
            "annotation_clip": False,
            "zorder": 4,
        }
        shown = self._ax.annotate(text, place, offset, arrowprops=arrow, **middle, **look)
        shown.set_in_layout(
            False
        )  # a text at the edge must not press the axes, which would move it again
        self._keep([centre - size / 2, centre + size / 2], 12.0)
