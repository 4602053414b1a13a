"""Ask which packages of requirements.lock have known vulnerabilities.

    python scripts/check_supply.py [--report REPORT.json …]

pip-audit asks PyPI, then OSV for what PyPI does not know. The exit code is 0 where every package
was looked up and nothing is known that explained_vulnerabilities.toml does not explain, 1 where
something is, and 3 where a package could not be looked up: that is not the same as clean, although
pip-audit itself ends with 0 then. With `--report`, reports that `pip-audit --format json` wrote
elsewhere are judged instead.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
EXPLAINED = ROOT / "scripts" / "explained_vulnerabilities.toml"
SERVICES = ("pypi", "osv")
CLEAN, VULNERABLE, NOT_ASKED = 0, 1, 3
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


@dataclass
class Answers:
    """What is known of packages, by their names and versions."""

    known: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    """The vulnerabilities of each package that was looked up."""
    unknown: dict[str, str] = field(default_factory=dict)
    """Why each other package was not."""

    def add(self, report: Mapping[str, Any]) -> None:
        """Take over what a report of pip-audit says."""
        for one in report["dependencies"]:
            name = one["name"]
            if "skip_reason" in one:
                self.unknown.setdefault(name, one["skip_reason"])
            else:
                package = f"{name}=={one['version']}"
                self.known[package] = one["vulns"]

    def missing(self, pins: Sequence[str]) -> list[str]:
        """Return the packages that nobody has looked up."""
        return [pin for pin in pins if pin not in self.known]


def pinned(text: str) -> list[str]:
    """Return the packages of a lock, with their versions.

    >>> pinned("attrs==26.1.0 \\\\\\n    --hash=sha256:00\\nnumpy==2.4.6 ; python_version < '3.12'")
    ['attrs==26.1.0', 'numpy==2.4.6']
    """
    return [f"{name.lower()}=={version}" for name, version in PIN.findall(text)]


def rounds(pins: Sequence[str]) -> list[list[str]]:
    """Return packages in lists that each name a package once; a lock may hold two versions."""
    lists: list[dict[str, str]] = []
    for pin in pins:
        name = pin.partition("==")[0]
        for known in lists:
            if name not in known:
                known[name] = pin
                break
        else:
            lists.append({name: pin})
    return [list(known.values()) for known in lists]


def ask(pins: Sequence[str]) -> Answers:
    """Ask all services about packages, each only about those that are still unknown."""
    answers = Answers()
    for service in SERVICES:
        for some in rounds(answers.missing(pins)):
            answers.add(asked(some, service))
    return answers


def asked(pins: Sequence[str], service: str) -> Mapping[str, Any]:
    """Return the report of pip-audit about packages, each at most once."""
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder) / "requirements.txt"
        requirements.write_text("\n".join(pins) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(requirements)]
        command += ["--no-deps", "--disable-pip", "--format", "json"]
        command += ["--progress-spinner", "off", "--vulnerability-service", service]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        report: Mapping[str, Any] = json.loads(done.stdout)
    except ValueError:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        reason = f"{service} could not be asked: {lines[-1]}"
        skipped = [{"name": pin.partition("==")[0], "skip_reason": reason} for pin in pins]
        return {"dependencies": skipped}
    return report


def unexplained(answers: Answers, explained: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Return a line for each vulnerability that nothing explains."""
    reasons = {(one["package"].lower(), one["id"]): one["reason"] for one in explained}
    for package, vulnerabilities in answers.known.items():
        name = package.partition("==")[0]
        for one in vulnerabilities:
            names = [one["id"], *one.get("aliases", [])]
            if not any((name, known) in reasons for known in names):
                fixed = ", ".join(one.get("fix_versions", [])) or "no version"
                yield f"{package}: {', '.join(names)} (fixed in {fixed})"


def judge(answers: Answers, pins: Sequence[str]) -> int:
    """Print what is known, and return the exit code."""
    explained = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))["explained"]
    open_lines = list(unexplained(answers, explained))
    for line in open_lines:
        print(f"VULNERABLE {line}")
    missing = answers.missing(pins)
    looked_up = len(pins) - len(missing)
    print(f"{looked_up} of {len(pins)} packages of {LOCK.name} were looked up")
    if missing:
        name = missing[0].partition("==")[0]
        reason = answers.unknown.get(name, "no report names it")
        print(f"NOT ASKED {len(missing)} packages, such as {missing[0]}: {reason}")
    if open_lines:
        return VULNERABLE
    if missing:
        print("this is not clean: run it where a vulnerability service can be reached")
        return NOT_ASKED
    print(f"no vulnerability is known that {EXPLAINED.name} does not explain")
    return CLEAN


def main() -> int:
    """Read the command line and do what it asks."""
    parser = argparse.ArgumentParser(
        description="Known vulnerabilities in requirements.lock."
    )
    parser.add_argument("--report", nargs="+", type=Path, help="reports of pip-audit")
    options = parser.parse_args()
    pins = pinned(LOCK.read_text(encoding="utf-8"))
    if options.report is None:
        return judge(ask(pins), pins)
    answers = Answers()
    for path in options.report:
        answers.add(json.loads(path.read_text(encoding="utf-8")))
    return judge(answers, pins)


if __name__ == "__main__":
    sys.exit(main())
