"""The virtual environment of the other subgroup miners, whose pins are not ours (numpy below 2).

It is made at the first use, in benchmarks/.rivals or the folder that EVENHAND_RIVALS names.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from rival_jobs import foreign_environment, last_line

RIVALS = {
    "pysubgroup": "pysubgroup==0.9.0",  # the first, since it alone wants an old numpy
    "DivExplorer": "divexplorer==0.2.6",
    "bias_scan": "aif360==0.6.1",
    "sliceline": "sliceline[optimized]==0.3.0",
}
"""What each rival is installed by; sliceline as fast as it gets, with numba."""
PIP_SECONDS = 900
_ADDRESS = re.compile(r"\b\w[\w+.-]*://\S+|\bhost='[^']*'(, port=\d+)?")


def folder() -> Path:
    """Return where the environment is."""
    named = os.environ.get("EVENHAND_RIVALS")
    return Path(named) if named else Path(__file__).parent / ".rivals"


def python() -> str:
    """Return the interpreter of the environment."""
    scripts = "Scripts" if sys.platform == "win32" else "bin"
    return str(folder() / scripts / "python")


def prepare() -> dict[str, str]:
    """Install what is not there yet; return for each rival why it cannot be had, or nothing."""
    if not Path(python()).exists():
        trouble = _run([sys.executable, "-m", "venv", str(folder())])
        if trouble:
            return dict.fromkeys(RIVALS, f"no virtual environment: {trouble}")
    noted = folder() / "installed.json"
    installed = json.loads(noted.read_text()) if noted.exists() else []
    missing: dict[str, str] = {}
    for name, requirement in RIVALS.items():
        missing[name] = ""
        if requirement in installed:
            continue
        print(f"installing {requirement} into {folder().name}", flush=True)
        trouble = _run([python(), "-m", "pip", "install", *_PIP_OPTIONS, requirement])
        if trouble:
            missing[name] = f"cannot be installed: {trouble}"
        else:
            installed.append(requirement)
            noted.write_text(json.dumps(installed))
    return missing


_PIP_OPTIONS = ("--quiet", "--disable-pip-version-check", "--no-input", "--retries=2")


def _run(command: list[str]) -> str:
    """Run a command; return why it failed, or nothing."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=foreign_environment(),
            timeout=PIP_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    if not done.returncode:
        return ""
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
    reason = last_line("\n".join(errors)) or last_line(done.stderr) or "no reason given"
    return _ADDRESS.sub("…", reason.removeprefix("ERROR:").strip())
