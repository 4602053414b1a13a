"""The types of the columns of CSV text: the same rule for every engine, over all rows.

A column holds numbers where every value is one, or a mark such as NA; truth values where every
value is one; and texts otherwise, among which NA is a value like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.runtime.table_file import GAPS

if TYPE_CHECKING:
    from collections.abc import Sequence

_PATTERNS = {
    "whole": r"^\s*[+-]?[0-9]{1,18}\s*$",
    "number": r"^\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$",
    "truth": r"^(?:True|TRUE|true|False|FALSE|false)$",
}


def with_types(table: Any, names: Sequence[str]) -> Any:
    """Return a narwhals frame of texts with the types that its columns have; one pass finds them.

    >>> import narwhals as nw
    >>> import pandas as pd
    >>> texts = pd.DataFrame({"age": ["30", "NA"], "sex": ["F", "NA"]})
    >>> list(with_types(nw.from_native(texts), ["age", "sex"]).schema.values())
    [Float64, String]
    """
    import narwhals as nw

    counts = [nw.len().alias("rows")]
    for place, name in enumerate(names):
        text = nw.col(name)
        is_known = ~text.is_null() & (text != "")
        is_value = is_known & ~text.is_in(GAPS)
        counts.append(is_known.cast(nw.Int64).sum().alias(f"known {place}"))
        counts.append(is_value.cast(nw.Int64).sum().alias(f"value {place}"))
        for kind, pattern in _PATTERNS.items():
            fits = is_value & text.str.contains(pattern)
            counts.append(fits.cast(nw.Int64).sum().alias(f"{kind} {place}"))
    found = table.select(*counts).lazy().collect()
    columns = []
    rows = int(found["rows"].to_list()[0])
    for place, name in enumerate(names):
        number_of = {"rows": rows}
        for what in ("known", "value", *_PATTERNS):
            number_of[what] = int(found[f"{what} {place}"].to_list()[0] or 0)
        columns.append(_typed(name, number_of))
    return table.select(*columns)


def _typed(name: str, number_of: dict[str, int]) -> Any:
    """Return a column with its type, given how many values are what."""
    import narwhals as nw

    text = nw.col(name)
    known, values = number_of["known"], number_of["value"]
    if values and number_of["truth"] == known:
        return nw.when(text != "").then(text.str.to_lowercase() == "true").alias(name)
    if values and number_of["number"] == values:
        is_value = ~text.is_in(GAPS) & (text != "")
        # Not every engine reads a number that begins with a plus, and no number needs one.
        digits = text.str.strip_chars().str.replace_all("+", "", literal=True)
        # As pandas has it: whole numbers beside missing ones are floats.
        whole = number_of["whole"] == number_of["rows"]
        number = nw.when(is_value).then(digits).cast(nw.Int64 if whole else nw.Float64)
        return number.alias(name)
    return nw.when(text != "").then(text).alias(name)
