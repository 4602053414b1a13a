"""Software that calls sys.exit(0) never makes the command line report success."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = """\
[subject]
{subject}

[space]
protected = ["sex"]

[space.features.sex]
levels = ["F", "M"]

[space.features.age]
kind = "integer"
low = 18
high = 90

[[checks]]
job = "{job}"
"""
MODULES = {
    "asked": "import sys\ndef lend(people):\n    sys.exit(0)\n",
    "imported": "import sys\nsys.exit(0)\n",
    "at once": "import os\ndef lend(people):\n    os._exit(0)\n",
}


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evenhand", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("module", "verb"),
    [
        ("asked", "measure"),
        ("asked", "search"),
        ("asked", "audit"),
        ("imported", "audit"),
        ("at once", "measure"),
    ],
)
def test_the_exit_code_says_that_the_software_failed(
    module: str, verb: str, tmp_path: Path
) -> None:
    (tmp_path / "loan_rules.py").write_text(MODULES[module])
    job = "search" if verb == "search" else "measure"
    subject = 'function = "loan_rules:lend"'
    (tmp_path / "evenhand.toml").write_text(CONFIG.format(subject=subject, job=job))
    done = run(tmp_path, verb, "--json", "found.json")
    assert done.returncode == 4, done.stderr
    deed = "called os._exit(0)" if module == "at once" else "called sys.exit(0)"
    assert deed in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
