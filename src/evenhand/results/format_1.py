"""JSON of format 1 as format 2 has it: findings get their identity, and words that stood for data
become data.

Format 1 told which score a finding is about in its claim alone. Nothing is read from claims here:
the details of a mining name its score, and what they say of each rule set finds the finding that it
belongs to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from evenhand.results.evidence import key_of
from evenhand.space.rule import Rule

STOPS = {
    "the limit was excluded": "decided",
    "the margin was reached": "margin",
    "the query budget was spent": "queries",
    "the time budget was spent": "seconds",
    "enough findings were collected": "findings",
    "every input was enumerated": "enumerated",
    "there was nothing left to try": "exhausted",
    "the run was interrupted": "interrupted",
}
"""What format 1 wrote of why a run ended."""
UNITS = {"inputs found": "count", "the score's own": "amount"}
"""What format 1 called the units of scores."""
COMPLETED = "completed"
SCORES = {
    "search": "witnesses",
    "prevalence": "prevalence",
    "impact": "impact ratio",
    "replay": "replayed",
    "compare": "gain",
    "repair": "discrimination",
}
"""The score of a job that has only one."""
OPTIONS = {"labels": "labelling"}
"""Options of `repair` that have another name now: a page tells how to call it again."""


def upgraded(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of format 1 as format 2 has it."""
    found = {**table, "format": 2}
    found["stop"] = STOPS[table["stop"]] if "stop" in table else COMPLETED
    if table.get("job") == "audit":
        found["checks"] = [_check(check) for check in table["checks"]]
        found["baseline"] = {"name": table["baseline"]} if table["baseline"] else {}
        return found
    if "findings" in table:
        found["findings"] = _findings(table)
    if "details" in table:
        found["details"] = _details(table)
    if table.get("job") == "compare":
        found["resampled"] = table["start"][0]["method"].startswith("bootstrap")
    if table.get("job") == "repair":
        found["comparisons"] = {axis: upgraded(one) for axis, one in table["comparisons"].items()}
        found["checks"] = [{**check, "about": _checked(check)} for check in table["checks"]]
        found["options"] = {
            OPTIONS.get(name, name): value for name, value in table["options"].items()
        }
    return found


def _checked(check: Mapping[str, Any]) -> list[str]:
    """Return the feature of a check over another protected one, which format 1 has in its name
    alone.
    """
    return [check["name"].removesuffix(", all inputs")] if check["kind"] == "other" else []


def _details(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return details that say what minings compare, what their cells hold, and which notes tables
    tell as well.
    """
    details = table["details"]
    found = dict(details)
    for job in ("mine", "mine_text"):
        if job in details:
            found[job] = [
                {**entry, **_outcome(entry), **_maps(entry, table["space"])}
                for entry in details[job]
            ]
    if "impact" in details:
        found["table_notes"] = _table_notes(details, len(table.get("notes", ())))
    return found


def _maps(entry: Mapping[str, Any], space: Mapping[str, Any]) -> dict[str, Any]:
    """Return the maps of a mining with the level of each cell, or the number that its bin starts
    with.
    """
    if "maps" not in entry:
        return {}
    levels = {feature["name"]: feature.get("levels") for feature in space["features"]}
    found = []
    for one in entry["maps"]:
        pairs = zip(one["axes"], one["labels"], strict=True)
        values = [levels[name] or [_start(label) for label in labels] for name, labels in pairs]
        found.append({**one, "values": values})
    return {"maps": found}


def _start(label: str) -> float:
    """Return where a bin starts, which format 1 has in its label alone.

    >>> _start("1,200 to 1,399"), _start("-0.5")
    (1200.0, -0.5)
    """
    return float(label.partition(" to ")[0].replace(",", ""))


def _table_notes(details: Mapping[str, Any], notes: int) -> list[int]:
    """Return from where to where the notes of selection rates are those that the tables tell as
    well.
    """
    told = 0
    for table in details["impact"]:
        left_out = {
            one["left_out"] for one in table["categories"] if one["left_out"] or not one["n"]
        }
        told += (table["unknown"] > 0) + len(left_out) + (table["unlisted"] > 0)
    if any(
        table["kind"] == "scoring" for table in details["impact"]
    ):  # and nobody knows how many notes follow
        return [0, told]
    last = notes - 1 - (details.get("missing_outcomes", 0) > 0)
    return [last - told, last]


def _outcome(entry: Mapping[str, Any]) -> dict[str, bool]:
    """Tell scores, phrases and labels apart by what format 1 called the favourable outcome: it says
    nothing else.

    >>> _outcome({"favoured": "the score", "output": ""}), _outcome({"favoured": "yes", "output": ""})
    ({'counts': False, 'named': False}, {'counts': True, 'named': True})
    """
    favoured, output = entry["favoured"], entry["output"]
    counts = favoured != (output or "the score")
    return {
        "counts": counts,
        "named": counts and favoured != f"the favourable {output or 'outcome'}",
    }


def _check(check: Mapping[str, Any]) -> dict[str, Any]:
    return {**check, "found": upgraded(check["found"])} if "found" in check else dict(check)


def _findings(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    places = _places(table)
    found = []
    for finding in table["findings"]:
        estimate = dict(finding["estimate"])
        if "unit" in estimate:
            estimate["unit"] = UNITS.get(estimate["unit"], estimate["unit"])
        about = finding["about"]
        detail = None
        if table["job"] in ("mine", "mine_log", "mine_text"):
            detail = _taken(places, finding)
        score = _score(table, finding, detail)
        one = {
            **finding,
            "estimate": estimate,
            "score": score,
            "unit": estimate.get("unit", "rate"),
            "key": key_of(score, _about(about), finding.get("output", "")),
        }
        if detail is not None:
            one["detail"] = detail
        found.append(one)
    return found


def _about(about: Any) -> Any:
    if isinstance(about, Mapping):
        return Rule.from_dict(about)
    return tuple(about) if isinstance(about, list) else about


def _score(
    table: Mapping[str, Any], finding: Mapping[str, Any], detail: Mapping[str, Any] | None
) -> str:
    """Return what a finding of format 1 measures, from the job, the details and the kind of its
    groups.
    """
    job, details = table["job"], table.get("details", {})
    if job in SCORES:
        return SCORES[job]
    if job == "measure_log":
        return "rate ratio" if finding.get("least") else "rate difference"
    if job == "subsets":
        return str(_lattice_kind(details))
    if detail is not None:
        entry = (details.get("mine") or details.get("mine_text"))[detail["mining"]]
        return str(entry.get("score", "changes" if "changes" in entry else "rate"))
    return "group" if finding.get("groups") else "causal"


def _lattice_kind(details: Mapping[str, Any]) -> str:
    lattice = details.get("lattice") or {}
    if "outputs" in lattice:
        lattice = next(iter(lattice["outputs"].values()), {})
    return str(lattice.get("kind", "causal"))


Place = dict[str, Any]


def _places(table: Mapping[str, Any]) -> dict[tuple[Any, ...], list[Place]]:
    """Return where the details of a mining tell of which rule set, by what tells it apart from the
    others.
    """
    details = table.get("details", {})
    found: dict[tuple[Any, ...], list[Place]] = {}
    for number, entry in enumerate(details.get("mine") or details.get("mine_text") or ()):
        output = entry.get("output", "")
        for at, story in enumerate(entry.get("stories", ())):
            key: tuple[Any, ...] = (
                output,
                _rule_key(story["rule"]),
                story["rate"].get("population", ""),
                abs(story["difference"]),
            )
            found.setdefault(key, []).append({"mining": number, "part": "story", "number": at})
        if rest := entry.get("rest"):
            key = (
                output,
                _rule_key({"conditions": []}),
                entry.get("population", ""),
                rest["value"],
            )
            found.setdefault(key, []).append({"mining": number, "part": "rest", "number": 0})
        for at, change in enumerate(entry.get("changes", ())):
            estimate = change["estimate"]
            key = (
                output,
                tuple(change["categories"]),
                estimate.get("population", ""),
                estimate["value"],
            )
            found.setdefault(key, []).append({"mining": number, "part": "change", "number": at})
    return found


def _taken(places: dict[tuple[Any, ...], list[Place]], finding: Mapping[str, Any]) -> Place | None:
    """Return the place of a finding in the details; two sets of features may share a rule set, each
    once.
    """
    about, estimate = finding["about"], finding["estimate"]
    what = _rule_key(about) if isinstance(about, Mapping) else tuple(about)
    found = places.get(
        (finding.get("output", ""), what, estimate.get("population", ""), estimate["value"]), []
    )
    return found.pop(0) if len(found) > 1 else (found[0] if found else None)


def _rule_key(rule: Mapping[str, Any]) -> str:
    return json.dumps(rule.get("conditions", []), sort_keys=True)
