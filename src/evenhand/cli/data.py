"""evenhand data: list the data sets of the field, or fetch one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand import datasets
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, nearest, printable

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """List what there is, or fetch one data set and print where it lies."""
    if options.action == "fetch":
        if options.name is None:
            names = [info.name for info in datasets.available()]
            raise UsageError(
                f"data fetch needs the name of a data set; {nearest('', names)}"
            )
        print(printable(str(datasets.fetch(options.name))))
        return 0
    if options.name is not None:
        raise UsageError(
            f"data list takes no name; to get {options.name!r}, run: evenhand data fetch"
            f" {options.name}"
        )
    for info in datasets.available():
        rows = number_text.count(info.rows)
        place = "here" if info.local else "-"
        print(f"{info.name:16} {rows:>7} rows  {place:5} {info.source}")
    return 0
