"""What people call the values of the columns of recorded decisions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.population.counting.counter import RowCounter
from evenhand.population.recorded import MOST_VALUES, label_of
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.label_text import text_of
from evenhand.space.values.labels import check_unique, read_labels, with_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenhand.runtime.label_text import Words
    from evenhand.space.feature import Feature


def words_of_log(
    table: Any, labels: Any, cut: Iterable[str] = (), *, check: bool = True
) -> dict[str, Words]:
    """Return labels by column as words by the text of a value; refuse what no row has.

    Columns that are cut into groups have labels for those, which are not checked against the rows.
    Where nothing is to be checked yet, `check_words` does it of what was counted.

    >>> import narwhals as nw
    >>> import pandas as pd
    >>> table = nw.from_native(pd.DataFrame({"sex": [0, 1]}))
    >>> words_of_log(table, {"sex": {0: "female", 1: "male"}})
    {'sex': {'0': 'female', '1': 'male'}}
    """
    given = with_labels({}, labels)
    if not given:
        return {}
    columns = list(table.collect_schema())
    words: dict[str, Words] = {}
    for name, table_of_words in given.items():
        if name not in columns:
            raise UsageError(
                f"labels names {clip(repr(name))}, which is not a column; {nearest(name, columns)}"
            )
        where = f"column {name!r}"
        words[name] = dict(read_labels(where, table_of_words["labels"]))
        check_unique(where, words[name].values())
    if check:
        check_words(RowCounter(table), words, cut)
    return words


def check_words(
    counter: RowCounter, words: Mapping[str, Words], cut: Iterable[str] = ()
) -> None:
    """Refuse labels of values that no row has."""
    for name, of_column in words.items():
        if name not in cut:
            _check_values(counter.values(name), name, of_column)


def _check_values(found: Iterable[Any], name: str, words: Words) -> None:
    values = [label_of(value) for value in found if value is not None and value == value]
    texts = [text_of(value) for value in values]
    for text in words:
        if text not in texts:
            shown = sorted(texts)[:MOST_VALUES]
            raise UsageError(
                f"labels of column {name!r} name {clip(repr(text))}, which no row has;"
                f" {nearest(text, shown)}"
            )


def named_features(
    features: Iterable[Feature], words: Mapping[str, Words]
) -> list[Feature]:
    """Return the same features with what people call their values."""
    found = []
    for feature in features:
        own = words.get(feature.name)
        if own:
            feature = replace(feature, words=tuple(own.items()))
        found.append(feature)
    return found


def words_of_outcome(words: Mapping[str, Words], outcome: str) -> dict[str, Words]:
    """Return what people call the outcomes, as results hold it.

    >>> words_of_outcome({"paid": {"0": "no"}}, "paid"), words_of_outcome({}, "paid")
    ({'': {'0': 'no'}}, {})
    """
    own = words.get(outcome)
    return {"": own} if own else {}
