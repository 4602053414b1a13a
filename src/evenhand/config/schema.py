"""The JSON Schema of evenhand.toml, made from the options of verbs, adapters and tables.

Editors complete and check a configuration with it. The file that is shipped holds what evenhand
itself takes, and ``python -m evenhand.config.schema`` writes it again. With the name of a file, it
writes one there that also has the verbs and adapters of other packages that are installed.
"""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.config.repair import OF_TEXTS
from evenhand.methods.audit import AUDIT, LOG
from evenhand.methods.audit.checks import jobs, log_jobs, log_options
from evenhand.population.rows import OF_PROFILE, OF_ROWS
from evenhand.runtime import json_file
from evenhand.space.space_file import FEATURE, SPACE
from evenhand.subject.adapters import ADAPTERS
from evenhand.subject.options import SHARED
from evenhand.texts.real_texts import TEXTS, TOGETHER
from evenhand.texts.text_subject import text_options
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.runtime.options import Options
    from evenhand.subject.adapters.base import Adapter

FILE = "evenhand.schema.json"
Schema = dict[str, Any]


def config_schema(*, own: bool = False) -> Schema:
    """Return the schema of a configuration; `own` leaves out what other packages bring.

    >>> sorted(config_schema(own=True)["properties"])
    ['audit', 'checks', 'log', 'population', 'repair', 'space', 'subject', 'texts']
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "evenhand.toml",
        "description": (
            "Which software evenhand tests, what an input can be, and which checks are run."
        ),
        "type": "object",
        "properties": {
            "subject": {
                "type": "object",
                "description": "the software to test: exactly one kind of it",
            },
            "space": {"description": "what an input can be", **_space()},
            "population": {
                "description": "whom scores are about; without it, all inputs",
                **_population(),
            },
            "texts": {
                "description": "texts to test with, in place of a space",
                **TEXTS.table_schema(),
                "dependentRequired": TOGETHER,
            },
            "log": {
                "description": "recorded decisions to audit, in place of software",
                **LOG.table_schema(),
            },
            "audit": {
                "description": "how all checks of an audit are run together",
                **AUDIT.options.table_schema(),
            },
            "checks": {
                "type": "array",
                "description": "what an audit runs; without any, the usual checks",
            },
            "repair": {"type": "object", "description": "how a model is trained again"},
        },
        "additionalProperties": False,
        # Software takes tables or texts, and the options of other tables depend on which.
        "if": _has("texts"),
        "then": {
            "properties": {
                **_about(texts=True, own=own),
                "space": False,
                "population": False,
                "log": False,
            }
        },
        "else": {
            "if": _has("log"),
            "then": {"properties": _about_log(own=own)},
            "else": {"properties": _about(texts=False, own=own)},
        },
    }


def shipped() -> Schema:
    """Return the schema that comes with evenhand.

    >>> shipped()["title"]
    'evenhand.toml'
    """
    file = resources.files("evenhand.config").joinpath("schema", FILE)
    return dict(json.loads(file.read_text(encoding="utf-8")))


def _about(*, texts: bool, own: bool) -> Schema:
    """Return what depends on whether the software takes tables or texts."""
    return {
        "subject": _subject(texts=texts, own=own),
        "checks": _checks(texts=texts, own=own),
        "repair": _repair(texts=texts),
    }


def _about_log(*, own: bool) -> Schema:
    """Return what a configuration of recorded decisions may have besides its [log]."""
    names = []
    for job in log_jobs():
        if VERBS.origin(job) == "evenhand" or not own:
            names.append(job)
    cases = [_check(job, log_options(job)) for job in names]
    absent = dict.fromkeys(("subject", "space", "population", "repair"), False)
    return {**absent, "checks": _items(names, cases)}


def _subject(*, texts: bool, own: bool) -> Schema:
    """Return software of exactly one kind, with the options of that kind."""
    return {
        "oneOf": [
            _software(kind, adapter, texts=texts)
            for kind, adapter in _adapters(texts=texts, own=own)
        ]
    }


def _adapters(*, texts: bool, own: bool) -> Iterator[tuple[str, type[Adapter]]]:
    for kind, adapter in ADAPTERS.items():
        named = adapter.value is not None and (adapter.takes_texts or not texts)
        if named and (ADAPTERS.origin(kind) == "evenhand" or not own):
            yield kind, adapter


def _software(kind: str, adapter: type[Adapter], *, texts: bool) -> Schema:
    assert adapter.value is not None
    if texts:
        options = SHARED.without("outputs") + text_options(adapter)
    else:
        options = SHARED + adapter.options
    return {
        "title": kind,
        "type": "object",
        "properties": {kind: adapter.value.json_schema(), **options.json_schema()},
        "required": [kind],
        "additionalProperties": False,
    }


def _space() -> Schema:
    """Return a space, which is inferred from data or declared feature by feature."""
    table = SPACE.table_schema()
    table["properties"]["features"]["additionalProperties"] = _feature()
    whole = {"anyOf": [_has("levels"), _has("low", "high")]}
    declared = {
        "required": ["features"],
        "properties": {"features": {"additionalProperties": whole}},
    }
    return {**table, "if": {"not": _has("from")}, "then": declared}


def _feature() -> Schema:
    """Return a feature: a category has levels, and a number a range."""
    category = {
        "anyOf": [
            _has("levels"),
            {"properties": {"kind": {"const": "category"}}, **_has("kind")},
        ]
    }
    no_range = dict.fromkeys(("low", "high", "step", "bins"), False)
    return {
        **FEATURE.table_schema(),
        "if": category,
        "then": {"properties": {"kind": {"const": "category"}, **no_range}},
        "else": {"properties": {"levels": False}},
    }


def _population() -> Schema:
    """Return a population: given rows, or a profile of weights."""
    profile = OF_PROFILE.table_schema()
    profile["anyOf"] = [_has("profile"), _has("weights"), _has("joint_weights")]
    return {"if": _has("rows"), "then": OF_ROWS.table_schema(), "else": profile}


def _checks(*, texts: bool, own: bool) -> Schema:
    """Return checks, each with the options of its job."""
    names = [job for job in jobs() if VERBS.origin(job) == "evenhand" or not own]
    if texts:
        names = [job for job in names if VERBS[job].for_texts]
    cases = []
    for job in names:
        verb = VERBS[job]
        if texts:
            verb = VERBS[verb.for_texts]
        cases.append(_check(job, verb.checks))
    return _items(names, cases)


def _items(names: Sequence[str], cases: Sequence[Schema]) -> Schema:
    """Return a list of checks of some jobs."""
    return {
        "items": {
            "type": "object",
            "properties": {"job": {"enum": list(names), "description": "the verb to run"}},
            "required": ["job"],
            "allOf": list(cases),
        }
    }


def _check(job: str, options: Options) -> Schema:
    table = {"description": VERBS[job].question, **options.table_schema()}
    table["properties"] = {"job": True, **table["properties"]}
    return {
        "if": {"properties": {"job": {"const": job}}, "required": ["job"]},
        "then": table,
    }


def _repair(*, texts: bool) -> Schema:
    """Return how a model is repaired; for tables, [space] names the column of true outcomes."""
    options = VERBS["repair"].options
    if texts:
        names = [name for name in options.toml if name in OF_TEXTS]
        options = options.only(*names)
    else:
        options = options.without("target")
    table = {**options.table_schema(), "not": _has("estimator", "fit")}
    if texts:
        table["required"] = ["target"]
        table["properties"]["rule"] = {**table["properties"]["rule"], "type": "object"}
    return table


def _has(*keys: str) -> Schema:
    return {"required": list(keys)}


def written(schema: Schema) -> str:
    """Return a schema as the text of its file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main(words: Sequence[str]) -> None:
    """Write the schema that is shipped, or to a file one with what other packages bring."""
    if words:
        file = Path(words[0])
    else:
        file = Path(__file__).parent / "schema" / FILE
    schema = config_schema(own=not words)
    json_file.write(file, written(schema), "schema")
    print(f"wrote {file}")


if __name__ == "__main__":
    main(sys.argv[1:])
