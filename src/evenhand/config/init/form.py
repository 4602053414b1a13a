"""What a model tells of its inputs: the columns it takes, their dtypes and levels, and gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.config.file import Config
from evenhand.runtime.errors import ConfigError, DataError, SubjectError
from evenhand.runtime.number_text import many
from evenhand.space.frames.dtypes import word_of
from evenhand.subject.adapters import ADAPTERS
from evenhand.subject.adapters.isolated.recipe import build
from evenhand.subject.options import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from evenhand.config.init.draft import Draft
    from evenhand.config.init.questions import Dialogue
    from evenhand.space.space import Space
    from evenhand.subject.model_form import ModelForm

    T = TypeVar("T")

MODEL = "the model"
NOT_TAKEN = "no input of the model"
"""Why a column is left out that could be a feature."""
SHOWN = 6
"""How many names a line shows."""


def form_of(draft: Draft) -> ModelForm:
    """Return what the software says of its inputs and answers, before it is asked anything."""
    config = Config(draft.file, draft.table)
    kind, value, options = config.declared(SHARED)
    own_names = [option.name for option in ADAPTERS[kind].options]
    own = {name: value for name, value in options.items() if name in own_names}
    isolate = options.get("isolate")
    software = config.resolved(kind, value, isolate=isolate)
    adapter = build(kind, software, own, isolate=isolate)
    try:
        return adapter.form().renamed(draft.data.columns)
    finally:
        adapter.close()


def fit_form(draft: Draft, form: ModelForm, talk: Dialogue) -> None:
    """Declare the inputs as the model takes them, and say what is not as the data have it."""
    _keep_columns(draft, form, talk)
    space = Config(draft.file, draft.table).space
    taken = form.taken(space, MODEL)
    if taken is not None:
        _hide(draft, [name for name in space.names if name not in taken], talk)
    passed = space.names if taken is None else taken
    _fit_levels(draft, form, space, talk)
    _fit_dtypes(draft, form, space, talk)
    gaps = [name for name in passed if space.feature(name).missing]
    if gaps and form.takes_missing is False:
        leave_out_gaps(draft, gaps, talk)


def _keep_columns(draft: Draft, form: ModelForm, talk: Dialogue) -> None:
    """Keep columns that look like no inputs, where the model takes them."""
    for name in form.columns or ():
        if name == draft.data.target:
            raise ConfigError(
                f"{draft.data.file}: --target {name!r} is a column that the model takes as an"
                " input; name the column of outcomes"
            )
        if name in draft.dropped:
            reason = draft.dropped.pop(name)
            talk.say(f"kept: {name} ({reason}), since the model takes it")


def _hide(draft: Draft, names: Sequence[str], talk: Dialogue) -> None:
    """Do not pass columns that the model does not take; keep those whose groups are compared."""
    hidden = [name for name in names if name in draft.data.protected]
    for name in hidden:
        draft.override(name, NOT_TAKEN, passed=False)
    if hidden:
        talk.say(
            f"not passed: {_listed(hidden)}, no input of the model, by which groups are still"
            " compared (passed = false)"
        )
    for name in names:
        if name not in hidden:
            draft.dropped[name] = NOT_TAKEN


def _fit_levels(draft: Draft, form: ModelForm, space: Space, talk: Dialogue) -> None:
    """Leave out levels that the model has never seen and would refuse."""
    for name in form.closed:
        known = form.categories.get(name, ())
        if name not in space.names or space.feature(name).kind != "category":
            continue
        levels = space.feature(name).levels
        kept = [level for level in levels if level in known]
        unknown = [level for level in levels if level not in known]
        if kept and unknown:
            if name in draft.data.protected and len(kept) < 2:
                _refuse_words(draft, name, unknown, known)
            draft.override(name, "the model knows no others", levels=kept)
            shown = _listed([str(level) for level in unknown])
            talk.say(f"levels: {name} without {shown}, which the model has never seen")


def _refuse_words(
    draft: Draft, name: str, unknown: Sequence[object], known: Sequence[object]
) -> None:
    """Refuse data with other words for protected groups: nobody would be left to compare with."""
    missing = _listed([repr(level) for level in unknown])
    words = _listed([repr(level) for level in known])
    raise DataError(
        f"{draft.data.file}: {name} has {missing}, which the model has never seen; it knows"
        f" {words}: write the values of the column in the model's words"
    )


def _fit_dtypes(draft: Draft, form: ModelForm, space: Space, talk: Dialogue) -> None:
    """Write down which columns the model takes as categories, where the file has other dtypes."""
    changed = []
    for feature in space.features:
        word = form.dtypes.get(feature.name)
        own = space.layout.dtypes.get(feature.name)
        if word == "category" and word_of(own) != "category":
            draft.override(feature.name, "as the model takes it", dtype=word)
            changed.append(feature.name)
    if changed:
        talk.say(f"dtype: {_listed(changed)} as categories, as the model takes them")


def leave_out_gaps(draft: Draft, names: Sequence[str], talk: Dialogue) -> None:
    """Declare that features are never missing, since the software does not take it."""
    for name in names:
        draft.override(name, "missing values are not taken", missing=False)
    rows = int(draft.data.frame[list(names)].isna().any(axis=1).sum())
    talk.say(
        f"missing: the software takes no missing values, so {many(rows, 'row')} with gaps in"
        f" {_listed(names)} are left out (missing = false)"
    )


def without_gaps(ask: Callable[[], T], draft: Draft, talk: Dialogue) -> T:
    """Ask the software, and where it fails at gaps in the data, again without them."""
    try:
        return ask()
    except SubjectError as error:
        space = Config(draft.file, draft.table).space
        passed = [feature for feature in space.features if feature.passed]
        gaps = [feature.name for feature in passed if feature.missing]
        if not gaps:
            raise
        before = {name: dict(table) for name, table in draft.features.items()}
        notes = dict(draft.notes)
        for name in gaps:
            draft.override(name, "missing values are not taken", missing=False)
        try:
            found = ask()
        except SubjectError:
            draft.features, draft.notes = before, notes
            raise error from None
        draft.features, draft.notes = before, notes
        leave_out_gaps(draft, gaps, talk)
        return found


def say_dropped(draft: Draft, talk: Dialogue) -> None:
    """Say which columns are left out, in a line for each reason."""
    for reason in dict.fromkeys(draft.dropped.values()):
        names = []
        for name, why in draft.dropped.items():
            if why == reason:
                names.append(name)
        talk.say(f"left out: {_listed(names)}: {reason} (drop)")


def _listed(names: Sequence[str]) -> str:
    """Return names for a line, the first of them where they are many."""
    if len(names) <= SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"
