"""JSON of format 1 as format 2 has it: findings get an identity, and words become data.

In format 1 only the claim of a finding named its score. Nothing is read from claims here: the
details of a mining name its score, and what they say of each rule set identifies its finding.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

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
"""The sentences in which format 1 wrote why a run ended."""
UNITS = {"inputs found": "count", "the score's own": "amount"}
"""What format 1 called the units of scores."""
COMPLETED = "completed"
MININGS = ("mine", "mine_text")
"""The details that hold a list of minings, one for each score and output."""
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
"""Options of `repair` that have another name now; reports show the call with its options."""


Place = dict[str, Any]
"""Where the details of a mining hold what belongs to a finding: which mining, part and number."""


class PlaceKey(NamedTuple):
    """What identifies a rule set both in the findings and in the details."""

    output: str
    subject: Any
    """The conditions of a rule as JSON, or the categories of a change."""
    population: str
    value: float


class DetailPart(NamedTuple):
    """A part of the details of a mining that has a finding."""

    name: str
    number: int
    key: PlaceKey


def upgraded(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of format 1 as format 2 has it."""
    new = {**table, "format": 2}
    new.pop("digest", None)  # it is of the fields that format 1 had
    new["stop"] = STOPS[table["stop"]] if "stop" in table else COMPLETED
    job = table.get("job")
    if job == "audit":
        new["checks"] = [_audit_check(check) for check in table["checks"]]
        name = table["baseline"]
        new["baseline"] = {"name": name} if name else {}
        return new
    if "findings" in table:
        new["findings"] = _findings(table)
    if "details" in table:
        new["details"] = _details(table)
    if job == "compare":
        first_method = table["start"][0]["method"]
        new["resampled"] = first_method.startswith("bootstrap")
    if job == "repair":
        new |= _repair_fields(table)
    return new


def _audit_check(check: Mapping[str, Any]) -> dict[str, Any]:
    new = dict(check)
    if "found" in check:
        new["found"] = upgraded(check["found"])
    return new


def _repair_fields(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a repair that differ."""
    comparisons = {}
    for axis, comparison in table["comparisons"].items():
        comparisons[axis] = upgraded(comparison)
    options = {}
    for name, value in table["options"].items():
        new_name = OPTIONS.get(name, name)
        options[new_name] = value
    return {
        "comparisons": comparisons,
        "checks": [_repair_check(check) for check in table["checks"]],
        "options": options,
    }


def _repair_check(check: Mapping[str, Any]) -> dict[str, Any]:
    about = _checked_features(check)
    return {**check, "about": about}


def _checked_features(check: Mapping[str, Any]) -> list[str]:
    """Return the feature of a check on another protected feature; only its name holds it."""
    if check["kind"] != "other":
        return []
    feature = check["name"].removesuffix(", all inputs")
    return [feature]


def _details(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return details with the outcomes of minings, the cells of maps, and the notes of tables."""
    details = table["details"]
    new = dict(details)
    for job in MININGS:
        if job not in details:
            continue
        minings = []
        for mining in details[job]:
            maps = _maps(mining, table["space"])
            minings.append({**mining, **_outcome(mining), **maps})
        new[job] = minings
    if "impact" in details:
        number_of_notes = len(table.get("notes", ()))
        new["table_notes"] = _table_notes(details, number_of_notes)
    return new


def _maps(mining: Mapping[str, Any], space: Mapping[str, Any]) -> dict[str, Any]:
    """Return the maps of a mining with the level of each cell, or where its bin starts."""
    if "maps" not in mining:
        return {}
    levels_of = {}
    for feature in space["features"]:
        levels_of[feature["name"]] = feature.get("levels")
    maps = []
    for cell_map in mining["maps"]:
        values = []
        axes = cell_map["axes"]
        labels_of_axes = cell_map["labels"]
        for name, labels in zip(axes, labels_of_axes, strict=True):
            levels = levels_of[name]
            if not levels:
                levels = [_start(label) for label in labels]
            values.append(levels)
        maps.append({**cell_map, "values": values})
    return {"maps": maps}


def _start(label: str) -> float:
    """Return where a bin starts, which format 1 has in its label alone.

    >>> _start("1,200 to 1,399"), _start("-0.5")
    (1200.0, -0.5)
    """
    first_number = label.partition(" to ")[0]
    return float(first_number.replace(",", ""))


def _table_notes(details: Mapping[str, Any], number_of_notes: int) -> list[int]:
    """Return the range of those notes on selection rates that the tables show as well."""
    in_tables = 0
    for table in details["impact"]:
        reasons = set()
        for category in table["categories"]:
            if category["left_out"] or not category["n"]:
                reasons.add(category["left_out"])
        in_tables += len(reasons)
        in_tables += table["unknown"] > 0
        in_tables += table["unlisted"] > 0
    kinds = [table["kind"] for table in details["impact"]]
    if "scoring" in kinds:
        # The number of notes that follow is unknown here; those of the tables came first.
        return [0, in_tables]
    # One note always follows, and another one where outcomes are missing.
    missing_outcomes = details.get("missing_outcomes", 0) > 0
    last = number_of_notes - 1 - missing_outcomes
    return [last - in_tables, last]


def _outcome(mining: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether a mining counts outcomes, and whether the favourable one has a name.

    Format 1 has only the text for the favourable outcome, which differs for scores, phrases and
    labels.

    >>> _outcome({"favoured": "the score", "output": ""})
    {'counts': False, 'named': False}
    >>> _outcome({"favoured": "yes", "output": ""})
    {'counts': True, 'named': True}
    """
    favoured = mining["favoured"]
    output = mining["output"]
    score = output or "the score"
    phrase = f"the favourable {output or 'outcome'}"
    counts = favoured != score
    return {
        "counts": counts,
        "named": counts and favoured != phrase,
    }


def _findings(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    places = _places(table)
    is_mining = table["job"] in ("mine", "mine_log", "mine_text")
    findings = []
    for finding in table["findings"]:
        estimate = dict(finding["estimate"])
        if "unit" in estimate:
            unit = estimate["unit"]
            estimate["unit"] = UNITS.get(unit, unit)
        place = _taken(places, finding) if is_mining else None
        score = _score(table, finding, place)
        about = _about(finding["about"])
        output = finding.get("output", "")
        new = {
            **finding,
            "estimate": estimate,
            "score": score,
            "unit": estimate.get("unit", "rate"),
            "key": key_of(score, about, output),
        }
        if place is not None:
            new["detail"] = place
        findings.append(new)
    return findings


def _about(about: Any) -> Any:
    if isinstance(about, Mapping):
        return Rule.from_dict(about)
    if isinstance(about, list):
        return tuple(about)
    return about


def _score(
    table: Mapping[str, Any], finding: Mapping[str, Any], place: Place | None
) -> str:
    """Return what a finding measures, from the job, the details and the kind of its groups."""
    job = table["job"]
    details = table.get("details", {})
    if job in SCORES:
        return SCORES[job]
    if job == "measure_log":
        return "rate ratio" if finding.get("least") else "rate difference"
    if job == "subsets":
        return _lattice_kind(details)
    if place is not None:
        mining = _minings(details)[place["mining"]]
        usual = "changes" if "changes" in mining else "rate"
        return str(mining.get("score", usual))
    return "group" if finding.get("groups") else "causal"


def _lattice_kind(details: Mapping[str, Any]) -> str:
    lattice = details.get("lattice") or {}
    if "outputs" in lattice:
        # All outputs share the kind of their score.
        lattice = next(iter(lattice["outputs"].values()), {})
    return str(lattice.get("kind", "causal"))


def _minings(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    for job in MININGS:
        if details.get(job):
            return list(details[job])
    return []


def _places(table: Mapping[str, Any]) -> dict[PlaceKey, list[Place]]:
    """Return where the details of a mining hold each rule set, by what identifies it."""
    places: dict[PlaceKey, list[Place]] = {}
    for number, mining in enumerate(_minings(table.get("details", {}))):
        for part in _parts(mining):
            place = {
                "mining": number,
                "part": part.name,
                "number": part.number,
            }
            places.setdefault(part.key, []).append(place)
    return places


def _parts(mining: Mapping[str, Any]) -> list[DetailPart]:
    """Return the parts of a mining that have findings."""
    output = mining.get("output", "")
    parts = []
    for number, story in enumerate(mining.get("stories", ())):
        key = PlaceKey(
            output=output,
            subject=_rule_key(story["rule"]),
            population=story["rate"].get("population", ""),
            value=abs(story["difference"]),
        )
        parts.append(DetailPart("story", number, key))
    rest = mining.get("rest")
    if rest:
        key = PlaceKey(
            output=output,
            subject=_rule_key({"conditions": []}),
            population=mining.get("population", ""),
            value=rest["value"],
        )
        parts.append(DetailPart("rest", 0, key))
    for number, change in enumerate(mining.get("changes", ())):
        estimate = change["estimate"]
        key = PlaceKey(
            output=output,
            subject=tuple(change["categories"]),
            population=estimate.get("population", ""),
            value=estimate["value"],
        )
        parts.append(DetailPart("change", number, key))
    return parts


def _taken(places: dict[PlaceKey, list[Place]], finding: Mapping[str, Any]) -> Place | None:
    """Return the place of a finding in the details.

    Two sets of features may share a rule set; each place is then taken once, in order.
    """
    about = finding["about"]
    estimate = finding["estimate"]
    if isinstance(about, Mapping):
        subject: Any = _rule_key(about)
    else:
        subject = tuple(about)
    key = PlaceKey(
        output=finding.get("output", ""),
        subject=subject,
        population=estimate.get("population", ""),
        value=estimate["value"],
    )
    candidates = places.get(key, [])
    if not candidates:
        return None
    if len(candidates) > 1:
        return candidates.pop(0)
    return candidates[0]


def _rule_key(rule: Mapping[str, Any]) -> str:
    return json.dumps(rule.get("conditions", []), sort_keys=True)
