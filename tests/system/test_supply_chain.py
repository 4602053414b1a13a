"""What evenhand is tested with and declares: pinned by hashes, listed, and looked up."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest

from tests.support.paths import ROOT

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)
PINS = PIN.findall(LOCK)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names_of(requirements: list[Any]) -> set[str]:
    """Return the packages that requirements name, without other groups and evenhand itself."""
    names = set()
    for one in requirements:
        if isinstance(one, str):
            names.add(normal(re.split(r"[\[<>=!~; ]", one)[0]))
    return names - {"evenhand"}


def test_every_package_of_the_lock_is_pinned_by_hashes():
    entries = re.split(r"\n(?=\S)", LOCK.strip())
    packages = [entry for entry in entries if not entry.startswith("#")]
    assert len(packages) == len(PINS)
    for entry in packages:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry.splitlines()[0]


def test_the_lock_names_no_place_that_files_come_from():
    assert "://" not in LOCK
    assert "--index" not in LOCK
    assert "--find-links" not in LOCK


def test_the_lock_has_all_that_the_tests_need():
    groups = PROJECT["dependency-groups"]
    needed = names_of(PROJECT["project"]["dependencies"])
    for group in ("dev", "build", "test", "lint"):
        needed |= names_of(groups[group])
    for extra in ("onnx", "skops", "polars", "arrow", "fairlearn"):
        needed |= names_of(PROJECT["project"]["optional-dependencies"][extra])
    locked = {normal(name) for name, _ in PINS}
    assert needed <= locked


def test_the_bill_of_materials_is_what_is_declared():
    command = [sys.executable, "scripts/sbom.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_bill_of_materials_lists_every_dependency():
    table = json.loads((ROOT / "sboms" / "evenhand.cdx.json").read_text(encoding="utf-8"))
    project = PROJECT["project"]
    required = names_of(project["dependencies"])
    optional = set()
    for requirements in project["optional-dependencies"].values():
        optional |= names_of(requirements)
    scopes = {one["name"]: one["scope"] for one in table["components"]}
    assert set(scopes) == required | optional
    assert {name for name, scope in scopes.items() if scope == "required"} == required
    assert table["metadata"]["component"]["version"] == project["version"]
    assert "timestamp" not in table["metadata"]


def report(*, without: str = "", vulnerable: str = "") -> dict[str, Any]:
    """A report of pip-audit about all packages of the lock."""
    packages = []
    for name, version in PINS:
        if name == without:
            packages.append({"name": name, "skip_reason": "not found"})
            continue
        known = []
        if name == vulnerable:
            known = [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["9.9"]}]
        packages.append({"name": name, "version": version, "vulns": known})
    return {"dependencies": packages, "fixes": []}


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({}, 0, "no vulnerability is known"),
        ({"vulnerable": "rich"}, 1, "PYSEC-1, CVE-1 (fixed in 9.9)"),
        ({"without": "rich"}, 3, "this is not clean"),
        ({"without": "attrs", "vulnerable": "rich"}, 1, "NOT ASKED 1 packages"),
    ],
    ids=["clean", "vulnerable", "not asked", "vulnerable and not asked"],
)
def test_what_was_not_looked_up_is_not_clean(given, code, words, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report(**given)), encoding="utf-8")
    command = [sys.executable, "scripts/check_supply.py", "--report", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stdout
