"""The HTML forms of objects for notebooks: tables that follow the notebook's theme."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.report.statement import NO_LIMIT, NOT_RUN, Statement
from evenhand.report.templates import piece
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.runtime.label_text import text_of, value_shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.results.evidence import Case, Finding
    from evenhand.space.feature import Feature
    from evenhand.space.space import Space

PAGE = "report/notebook/pages/forms.html.jinja"
MOST_FEATURES = 60
"""Features of a space that are shown."""
MOST_LEVELS = 12
"""Levels of a category that are shown; more are counted."""
MOST_CASES = 1
"""Cases of a finding that are shown; the first is the simplest."""
COLOURS = {
    "fail": "#c2571a",
    "pass": "#0b8a66",
    "undecided": "#a87900",
    NO_LIMIT: "#767676",
    NOT_RUN: "#a87900",
}
"""Colours of verdicts that can be read on white and on black."""


def space_html(space: Space) -> str:
    """Return a space as a table of its features."""
    rows = []
    for feature in space.features[:MOST_FEATURES]:
        roles = _roles(feature, space.protected)
        rows.append([feature.name, feature.kind, _values(feature), roles])
    left_out = len(space.features) - MOST_FEATURES
    return _html(
        "space",
        title=space.title,
        headings=["feature", "kind", "values", ""],
        rows=rows,
        constraints=[str(rule) for rule in space.constraints],
        learnt=[rule.text for rule in space.learnt],
        more=number_text.count(left_out) if left_out > 0 else "",
    )


def _values(feature: Feature) -> str:
    """Return what values a feature has, in a few words."""
    if feature.kind != "category":
        return feature.domain
    shown = []
    words = dict(feature.words)
    for level in feature.levels[:MOST_LEVELS]:
        shown.append(clip(words.get(text_of(level), str(level)), 40))
    left_out = len(feature.levels) - len(shown)
    if left_out > 0:
        shown.append(f"… {number_text.count(left_out)} more")
    return ", ".join(shown)


def _roles(feature: Feature, protected: Sequence[str]) -> str:
    """Return what is special about a feature."""
    roles = []
    if feature.name in protected:
        roles.append("protected")
    if not feature.passed:
        roles.append("not passed")
    if feature.missing:
        roles.append("may be missing")
    return ", ".join(roles)


def finding_html(finding: Finding) -> str:
    """Return a finding as its claim, its verdict and its first cases."""
    statement = Statement.of(None, finding)
    cases = [piece_of_case(case) for case in finding.cases[:MOST_CASES]]
    return _html(
        "finding",
        word=statement.word,
        colour=COLOURS[statement.word],
        claim=finding.claim,
        estimate=finding.estimate,
        threshold=statement.threshold,
        remarks=list(finding.remarks),
        cases=cases,
    )


def case_html(case: Case) -> str:
    """Return a case as a table of the individual and the twin."""
    return str(piece_of_case(case)).strip()


def piece_of_case(case: Case) -> Any:
    """Return the table of a case, in which the features that differ come first."""
    changed = case.changed
    others = [name for name in case.individual if name not in changed]
    rows = []
    for name in changed:
        rows.append([_strong(name), *map(_strong, _pair(case, name))])
    for name in others:
        rows.append([name, *_pair(case, name)])
    outcomes = [_strong(outcome) for outcome in case.outcomes_shown]
    rows.append([_strong("outcome"), *outcomes])
    headings = ["", "individual", "twin"]
    return piece(PAGE, "table", case.change_text, headings, rows)


def _pair(case: Case, name: str) -> tuple[str, str]:
    own = value_shown(case.individual, name)
    return str(own), str(value_shown(case.twin, name))


def _strong(value: object) -> Any:
    return piece(PAGE, "strong", value)


def display_html(display: Any) -> str:
    """Return a drawing as a picture, or its name where the notebook shows its figure by itself."""
    figure = getattr(display, "figure_", None)
    name = type(display).__name__
    if figure is None or _is_shown_inline(figure):
        return _html("drawing", name=name, content="")
    return _html("drawing", name=name, content=_png(figure))


def _is_shown_inline(figure: Any) -> bool:
    """Return whether the notebook draws the open figures of pyplot below the cell."""
    import matplotlib as mpl

    if "inline" not in str(mpl.get_backend()).lower():
        return False
    from matplotlib import pyplot

    return bool(pyplot.fignum_exists(figure.number))


def _png(figure: Any) -> str:
    """Return a figure as a picture in base64; its white background is read on dark pages too."""
    import base64
    import io

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight", facecolor="white")
    return base64.b64encode(buffer.getvalue()).decode()


def _html(macro: str, **values: Any) -> str:
    return str(piece(PAGE, macro, **values)).strip()
