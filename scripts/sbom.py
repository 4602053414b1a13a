"""Write the software bill of materials of evenhand, from the dependencies that it declares.

    python scripts/sbom.py [--check]

It is a CycloneDX document with every package that pyproject.toml names for users, and the versions
that it allows. The same pyproject.toml gives the same bytes: there is no date in it, and its serial
number follows from the rest. With `--check` nothing is written, and the exit code is 1 where the
file differs.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SBOM = ROOT / "sboms" / "evenhand.cdx.json"
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "pkg:pypi/evenhand")
REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)(\[(?P<extras>[^]]*)\])?\s*(?P<versions>[^;]*)"
)


def document(project: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a project, whose table is that of its pyproject.toml."""
    components: dict[str, dict[str, Any]] = {}
    for requirement in project["dependencies"]:
        add(components, requirement, extra=None)
    for extra, requirements in project["optional-dependencies"].items():
        for requirement in requirements:
            add(components, requirement, extra=extra)
    # An extra may be made of other extras of the same package.
    components.pop(reference(project["name"]), None)
    listed = [components[key] for key in sorted(components)]
    own = component(project)
    edges: list[dict[str, Any]] = [
        {"ref": own["bom-ref"], "dependsOn": [one["bom-ref"] for one in listed]}
    ]
    edges += [{"ref": one["bom-ref"]} for one in listed]
    table = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": listed,
        "dependencies": edges,
    }
    serial = uuid.uuid5(NAMESPACE, json.dumps(table, sort_keys=True))
    return {**table, "serialNumber": serial.urn}


def component(project: dict[str, Any]) -> dict[str, Any]:
    """Return the project itself."""
    name, version = project["name"], project["version"]
    return {
        "type": "library",
        "bom-ref": f"{reference(name)}@{version}",
        "name": name,
        "version": version,
        "description": project["description"],
        "licenses": [{"license": {"id": project["license"]}}],
        "purl": f"{reference(name)}@{version}",
    }


def add(components: dict[str, dict[str, Any]], requirement: str, extra: str | None) -> None:
    """Add what a requirement names, or what an extra needs of a package that is there."""
    parts = REQUIREMENT.match(requirement)
    if parts is None:
        raise ValueError(f"{requirement!r} is no requirement")
    name = parts["name"].lower()
    new = {
        "type": "library",
        "bom-ref": reference(name),
        "name": name,
        "scope": "required" if extra is None else "optional",
        "purl": reference(name),
        "properties": [],
    }
    known = components.setdefault(reference(name), new)
    key = "evenhand:versions" if extra is None else f"evenhand:versions:{extra}"
    known["properties"].append({"name": key, "value": parts["versions"].strip()})


def reference(name: str) -> str:
    """Return the package URL of a package of any version.

    >>> reference("scikit-learn")
    'pkg:pypi/scikit-learn'
    """
    return f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}"


def text() -> str:
    """Return the file as it must be."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    table = document(project["project"])
    return json.dumps(table, indent=2, sort_keys=True) + "\n"


def main() -> int:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser(description="Write the bill of materials.")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    if not options.check:
        SBOM.write_text(text(), encoding="utf-8")
        return 0
    if SBOM.read_text(encoding="utf-8") == text():
        return 0
    print(f"{SBOM.name} is not what pyproject.toml declares; `make sbom` writes it anew")
    return 1


if __name__ == "__main__":
    sys.exit(main())
