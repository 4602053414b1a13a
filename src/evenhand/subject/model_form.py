"""The form in which a model takes its inputs: columns and their order, dtypes, categories.

A model that was trained on a data frame knows how that looked; data read from a CSV do not. A space
is given the model's form before the model is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.space.frames.dtypes import category_dtype, word_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from evenhand.space.feature import Feature
    from evenhand.space.frames.layout import Layout
    from evenhand.space.space import Space

_MOST_VALUES = 1000
"""A number with more values than this is not held against a model's categories."""
_MOST_SHOWN = 8


@dataclass(frozen=True)
class ModelForm:
    """What a model says of its inputs; what it does not say is None or empty.

    Parameters
    ----------
    columns
        The names of the columns that it takes, in order.
    dtypes
        For some columns a dtype by pandas' name, such as "category", that it insists on.
    categories
        For some columns the categories that it knows, in its order.
    closed
        Columns of which it refuses a category that it does not know; elsewhere it takes one for
        missing, or ignores it.
    classes
        The labels that it gives, in its order.
    takes_missing
        Whether it takes missing values.
    library
        The library that it is of.

    Notes
    -----
    See docs/how-to/subjects.md.
    """

    columns: tuple[str, ...] | None = None
    dtypes: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    classes: tuple[Any, ...] | None = None
    takes_missing: bool | None = None
    library: str = ""

    def fitted(self, space: Space, name: str) -> Space:
        """Return a space whose frames have this form.

        Features that the model does not take are not passed to it, and dtypes are the model's own
        where a person has not said others.

        Parameters
        ----------
        space
            What an input can be.
        name
            The model in a few words, for messages.

        Returns
        -------
        Space
            A space of the same inputs.

        Raises
        ------
        UsageError
            Where the space lacks a column of the model, has a level that the model refuses, or
            says a dtype that contradicts the model's.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        taken = self.taken(space, name)
        if taken is not None:
            space = _passing(space, taken)
        for column, feature in self._passed(space, self.categories):
            known = self.categories[column]
            is_closed = column in self.closed
            _check_levels(feature, known, name, closed=is_closed)
        layout = self._layout(space, name)
        if layout is space.layout:
            return space
        return replace(space, layout=layout)

    def notes(self, space: Space, name: str) -> list[str]:
        """Return sentences on levels that the model does not know, and yet takes.

        Parameters
        ----------
        space
            What an input can be, in the form of the model.
        name
            The model in a few words.

        Returns
        -------
        list of str
            A sentence for each feature with such levels.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        sentences = []
        for column, feature in self._passed(space, self.categories):
            known = self.categories[column]
            unseen = _unseen(feature, known)
            if unseen:
                sentences.append(
                    f"{name} has never seen the {_levels_text(unseen)} of {feature.name}, and takes"
                    " such a value for unknown"
                )
        return sentences

    def renamed(self, names: Sequence[str]) -> ModelForm:
        """Return the form with the columns as the data name them.

        LightGBM writes spaces in names as underscores.

        Parameters
        ----------
        names
            The columns of the data.

        Returns
        -------
        ModelForm
            The same form; columns that the data lack keep the model's names.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        if self.columns is None:
            return self
        new_names = {}
        for column in self.columns:
            new_names[column] = _name_in(names, column) or column
        closed = [new_names[column] for column in self.closed]
        return replace(
            self,
            columns=tuple(new_names.values()),
            dtypes=_with_keys(self.dtypes, new_names),
            categories=_with_keys(self.categories, new_names),
            closed=frozenset(closed),
        )

    def taken(self, space: Space, name: str) -> list[str] | None:
        """Return the features that the model takes, in its order; None where it does not say.

        Parameters
        ----------
        space
            What an input can be.
        name
            The model in a few words, for messages.

        Returns
        -------
        list of str or None
            Names of features.

        Raises
        ------
        UsageError
            Where the space lacks a column of the model, or does not pass it.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        if self.columns is None:
            return None
        found = dict(self._passed(space, self.columns))
        lacking = [column for column in self.columns if column not in found]
        if lacking:
            raise UsageError(_lacks(lacking, self.columns, space, name))
        return [feature.name for feature in found.values()]

    @staticmethod
    def _passed(space: Space, columns: Iterable[str]) -> Iterator[tuple[str, Feature]]:
        """Yield those of some columns that the space passes, and the feature of each."""
        for column in columns:
            feature = _named(space, column)
            if feature is not None and feature.passed:
                yield column, feature

    def _layout(self, space: Space, name: str) -> Layout:
        """Return the layout of a space with the model's own dtypes."""
        layout = space.layout
        dtypes = dict(layout.dtypes)
        for column, feature in self._passed(space, self.dtypes):
            word = self.dtypes[column]
            own = layout.dtypes.get(feature.name)
            if feature.name in layout.chosen:
                _check_dtype(feature, word_of(own), word, name)
            if word == "category":
                dtypes[feature.name] = self._category(column, feature, own)
            else:
                _check_kind(feature, word, name)
        if self.library in _PANDAS_ONLY and layout.engine != "pandas":
            # Dtypes of another engine say nothing in pandas; those of the model are pandas'.
            kept = {}
            for key, dtype in dtypes.items():
                if word_of(dtype) == "category":
                    kept[key] = dtype
            return replace(layout, engine="pandas", dtypes=kept)
        if dtypes == layout.dtypes:
            return layout
        return replace(layout, dtypes=dtypes)

    def _category(self, column: str, feature: Feature, own: Any) -> Any:
        """Return the categorical dtype of a column: the model's categories in the model's order."""
        known = self.categories.get(column)
        if known is not None:
            return category_dtype(list(known))
        if word_of(own) == "category":
            return own
        levels = feature.labels(feature.values())
        return category_dtype(levels)


_PANDAS_ONLY = ("xgboost", "lightgbm", "catboost")
"""Libraries whose frames are pandas', whatever the data come in."""
_NUMBERS = ("int64", "float64")


def _named(space: Space, column: str) -> Feature | None:
    """Return the feature of a column of the model."""
    name = _name_in(space.names, column)
    if name is None:
        return None
    return space.feature(name)


def _with_keys(table: Mapping[str, Any], new_keys: Mapping[str, str]) -> dict[str, Any]:
    """Return a table with other keys."""
    return {new_keys[key]: value for key, value in table.items()}


def _name_in(names: Sequence[str], column: str) -> str | None:
    """Return the name that the data have for a column of the model, None where they lack it.

    >>> _name_in(["sex", "hours a week"], "hours_a_week")
    'hours a week'
    """
    if column in names:
        return column
    for name in names:
        if name.replace(" ", "_") == column:
            return name
    return None


def _passing(space: Space, taken: Sequence[str]) -> Space:
    """Return a space that passes these features only."""
    features = []
    for feature in space.features:
        is_taken = feature.name in taken
        if feature.passed and not is_taken:
            feature = replace(feature, passed=False)
        features.append(feature)
    if tuple(features) == tuple(space.features):
        return space
    return replace(space, features=features)


def _lacks(
    lacking: Sequence[str],
    columns: Sequence[str],
    space: Space,
    name: str,
) -> str:
    """Return what to say of columns that the space does not give the model."""
    for column in lacking:
        if column in space.names:
            return (
                f"{name} was trained with column {column!r}, which the space does not pass; leave"
                f" out passed = false of {column!r}"
            )
    offered = [space.names[position] for position in space.passed]
    known = [_name_in(space.names, column) for column in columns]
    extra = [feature for feature in offered if feature not in known]
    noun = "column" if len(lacking) == 1 else "columns"
    sentence = (
        f"{name} was trained with {noun} {_listed(lacking)}, which the space does not pass"
    )
    if extra:
        sentence += f", and does not take {_listed(extra)}, which the space does"
    return f"{sentence}; {nearest(lacking[0], offered)}"


def _listed(names: Iterable[Any]) -> str:
    """Return names for a sentence, the first few of them.

    >>> _listed(["a", "b"])
    "'a', 'b'"
    """
    shown = [clip(repr(name), 40) for name in names]
    if len(shown) > _MOST_SHOWN:
        shown = [*shown[:_MOST_SHOWN], f"… ({len(shown)} in all)"]
    return ", ".join(shown)


def _levels_text(levels: Sequence[Any]) -> str:
    """Return levels for a sentence.

    >>> _levels_text(["a", "b"])
    "levels 'a', 'b'"
    """
    noun = "level" if len(levels) == 1 else "levels"
    return f"{noun} {_listed(levels)}"


def _check_levels(
    feature: Feature,
    known: Sequence[Any],
    name: str,
    *,
    closed: bool,
) -> None:
    """Refuse a level that the model has never seen and would refuse.

    A model that takes unknown levels may meet some, but must know one: where it knows none, it was
    trained with other words for the same things.
    """
    unseen = _unseen(feature, known)
    if not unseen:
        return
    knows_some = len(unseen) < feature.size
    if knows_some and not closed:
        return
    values = feature.labels(feature.values())
    kept = [value for value in values if value in known]
    advice = clip(str(kept or list(known)))
    raise UsageError(
        f"feature {feature.name!r} has the {_levels_text(unseen)}, which {name} has never seen; it"
        f" knows {_listed(known)}: write levels = {advice}, or train it with all levels"
    )


def _unseen(feature: Feature, known: Sequence[Any]) -> list[Any]:
    """Return the values of a feature that are none of a model's categories."""
    is_listed = feature.kind == "category" or feature.size <= _MOST_VALUES
    if not is_listed:
        return []
    values = feature.labels(feature.values())
    return [value for value in values if value not in known]


def without_missing(space: Space, names: Sequence[str]) -> Space:
    """Return a space in which some features are never missing; rows with gaps are no inputs."""
    features = []
    for feature in space.features:
        if feature.name in names:
            feature = replace(feature, missing=False, twins_missing=False)
        features.append(feature)
    complete = space.layout.complete | set(names)
    layout = replace(space.layout, complete=complete)
    return replace(space, features=features, layout=layout)


def gaps_note(names: Sequence[str], name: str) -> str:
    """Return what to say of features whose gaps the software refuses.

    >>> gaps_note(["age"], "LogisticRegression")
    'LogisticRegression refuses missing values of age, so that it is asked about none'
    """
    features = ", ".join(names)
    return f"{name} refuses missing values of {features}, so that it is asked about none"


def _check_dtype(feature: Feature, chosen: str, word: str, name: str) -> None:
    """Refuse a dtype that contradicts what the model was trained on."""
    chosen_category = chosen == "category"
    trained_category = word == "category"
    if chosen_category != trained_category:
        raise UsageError(
            f"feature {feature.name!r} has dtype = {chosen!r}, and {name} was trained with"
            f" {word!r}; write dtype = {word!r}, or leave it out"
        )


def _check_kind(feature: Feature, word: str, name: str) -> None:
    """Refuse texts where the model takes numbers."""
    texts = [level for level in feature.levels if isinstance(level, str)]
    if texts and word in _NUMBERS:
        raise UsageError(
            f"feature {feature.name!r} has the level {texts[0]!r}, and {name} was trained with"
            " numbers there; give it the numbers that the model was trained on, or test the whole"
            " pipeline that makes them"
        )
