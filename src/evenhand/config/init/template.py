"""The file that `evenhand init` writes: a draft as TOML, with its remarks."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

from evenhand.config.init.software import PICKLES, RISK
from evenhand.runtime import json_file
from evenhand.runtime.errors import clip, one_line
from evenhand.runtime.label_text import text_of
from evenhand.runtime.number_text import percent
from evenhand.space.feature import plain
from evenhand.subject.adapters import ADAPTERS
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evenhand.config.init.draft import Draft
    from evenhand.config.init.software import Named
    from evenhand.space.feature import Feature
    from evenhand.space.space import Space

TEMPLATE = "evenhand.toml.jinja"
"""The text of the file with its comments, beside this module."""
MOST_CODES = 8
"""Whole numbers of so many values at most may be codes, which have labels."""
WIDTH = 100
"""Characters of a line that shows what was inferred; a longer list of levels is cut."""


def write(draft: Draft, space: Space | None) -> None:
    """Write the file of a draft; texts have no space."""
    text = filled(
        TEMPLATE,
        draft=draft,
        space=space,
        other_kinds=_other_kinds(),
        to_allow=_to_allow(draft.software),
        dropped_lines=_dropped_lines(draft),
        remark=_remark,
        verbs=VERBS,
    )
    save(text, draft.file)


def save(text: str, file: Path) -> None:
    """Write the text of a configuration."""
    json_file.write(file, text, "configuration")


def filled(
    template_name: str, *, package: str = "evenhand.config.init", **values: Any
) -> str:
    """Return the text of a template of a package with these values."""
    from jinja2 import Environment, StrictUndefined  # which only `evenhand init` waits for

    environment = Environment(
        autoescape=False,  # noqa: S701 - TOML is written, not HTML, and `toml` quotes its values
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["toml"] = toml
    environment.filters["toml_key"] = _key
    environment.filters["shortly"] = shortly
    environment.filters["domain"] = _domain
    environment.filters["comment"] = _comment
    environment.filters["codes"] = codes
    environment.filters["outcome_codes"] = outcome_codes
    file = resources.files(package).joinpath(template_name)
    template = environment.from_string(file.read_text(encoding="utf-8"))
    return template.render(values)


def outcome_codes(outcome: Mapping[str, Any]) -> dict[str, str]:
    """Return a label to fill in for both outcomes, where these are 0 and 1, else nothing.

    >>> outcome_codes({"positive": 1}), outcome_codes({"positive": "yes"})
    ({'0': '…', '1': '…'}, {})
    """
    positive = outcome.get("positive")
    if isinstance(positive, bool) or positive not in (0, 1):
        return {}
    return {"0": "…", "1": "…"}


def codes(feature: Feature) -> dict[str, str]:
    """Return a label to fill in for each value of a feature of a few whole numbers, else nothing.

    >>> from evenhand.space.feature import category, integer
    >>> codes(integer("sex", 0, 1)), codes(category("sex", ["F", "M"]))
    ({'0': '…', '1': '…'}, {})
    """
    if feature.size > MOST_CODES:
        return {}
    values = feature.labels(feature.values())
    if not all(isinstance(value, int) for value in values):
        return {}
    return {text_of(value): "…" for value in values}


def _comment(text: str) -> str:
    """Return a remark at the end of a line, of nothing none."""
    return f"  # {one_line(text)}" if text else ""


def _remark(key: str) -> str:
    """Return what is said beside an option of the software."""
    remarks = {
        "command": "{*} is all values in order",
        "allow_pickle": f"trusted: {RISK}",
        "trusted": "types that skops does not know to be harmless",
    }
    return _comment(remarks.get(key, ""))


def _to_allow(software: Named | None) -> list[str]:
    """Return the lines that would have the file loaded, where nobody has said yes to it."""
    if software is None or software.path is None:
        return []
    is_pickle = software.path.suffix.lower() in PICKLES
    if not is_pickle or "allow_pickle" in software.options:
        return []
    return [f"allow_pickle = true  # {RISK}: only if you trust the file"]


def _dropped_lines(draft: Draft) -> list[str]:
    """Return the columns that are left out, those of one reason in a line."""
    lines = []
    for reason in dict.fromkeys(draft.dropped.values()):
        names = []
        for name, why in draft.dropped.items():
            if why == reason:
                names.append(name)
        listed = ", ".join(toml(name) for name in names)
        lines.append(f"{listed},{_comment(reason)}")
    return lines


def _other_kinds() -> dict[str, str]:
    """Return the kinds of software that other packages bring, each with its help."""
    help_of = {}
    for kind, adapter in ADAPTERS.items():
        if adapter.value is not None and ADAPTERS.origin(kind) != "evenhand":
            help_of[kind] = adapter.value.help
    return help_of


def shortly(feature: Feature) -> str:
    """Return a feature as one line of a configuration; of many levels, the first of them.

    >>> from evenhand.space.feature import category, integer
    >>> shortly(integer("age", 18, 90))
    '{ kind = "integer", low = 18, high = 90 }'
    >>> shortly(category("town", [f"a town of number {n}" for n in range(50)]))
    '{ kind = "category", levels = ["a town of number 0", "a town of number 1", … 50 in all] }'
    """
    table = {}
    for key, value in feature.to_dict().items():
        if key != "name":
            table[key] = value
    if isinstance(table.get("missing"), float):
        table["missing"] = round(table["missing"], 4)
    whole = toml(table)
    levels = table.get("levels")
    if len(whole) <= WIDTH or not isinstance(levels, list | tuple):
        return whole
    shown = 0
    length = 0
    while shown < len(levels) and length + len(toml(levels[shown])) < WIDTH // 2:
        length += len(toml(levels[shown])) + 2
        shown += 1
    first = [toml(level) for level in levels[: max(shown, 1)]]
    short = ", ".join([*first, f"… {len(levels):,} in all"])
    others = {}
    for key, value in table.items():
        if key not in ("kind", "levels"):
            others[key] = value
    rest = "".join(f", {key} = {toml(value)}" for key, value in others.items())
    return f'{{ kind = "category", levels = [{short}]{rest} }}'


def _domain(feature: Feature) -> str:
    """Return the values of a feature, and how often it is missing, for a remark."""
    domain = clip(str(feature.domain), WIDTH // 2)
    if feature.missing:
        return f"{domain}, {percent(feature.missing_share)} missing"
    return domain


def _key(name: str) -> str:
    """Return a key as TOML has it: bare where that is allowed, and quoted elsewhere."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return toml(name)


def toml(value: Any) -> str:
    """Write a value as TOML.

    >>> toml(["a\\"b", True, 1, 0.5])
    '["a\\\\"b", true, 1, 0.5]'
    >>> toml({"low": 1, "my name": {"a": "b"}})
    '{ low = 1, "my name" = { a = "b" } }'
    """
    if isinstance(value, dict):
        pairs = []
        for key, item in value.items():
            pairs.append(f"{_key(str(key))} = {toml(item)}")
        if pairs:
            return f"{{ {', '.join(pairs)} }}"
        return "{}"
    if isinstance(value, list | tuple):
        items = ", ".join(toml(item) for item in value)
        return f"[{items}]"
    if isinstance(value, str):
        # JSON escapes all that TOML forbids but the delete character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(plain(value))
