"""Bring all kinds of software to the front door, and print what came of it."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[3]
EXTRAS = "onnx,skops,arrow,xgboost,lightgbm,catboost"
MORE = ("fastapi", "uvicorn", "skl2onnx")
"""What the software under test needs, and evenhand does not."""


def main() -> int:
    """Run all kinds, or those that are named; return how many did not end as they should."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.front_door")
    parser.add_argument("kinds", nargs="*", help="some kinds only")
    parser.add_argument("--fresh", action="store_true", help="in a new environment")
    parser.add_argument("--verbose", action="store_true", help="print what was printed")
    options = parser.parse_args()
    if options.fresh:
        return fresh(options.kinds)
    return everything(options.kinds, verbose=options.verbose)


def fresh(names: list[str]) -> int:
    """Do the same in a new environment, with evenhand installed in it."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder, "bin", "python"))
        install = [python, "-m", "pip", "install", "--quiet", f"{ROOT}[{EXTRAS}]", *MORE]
        subprocess.run(install, check=True)
        command = [python, "-m", "tests.support.front_door", *names]
        return subprocess.run(command, cwd=ROOT, check=False).returncode


def everything(names: list[str], *, verbose: bool = False) -> int:
    """Bring each kind with its bias and without, and print a line for each."""
    from tests.support.front_door.kinds import BY_NAME, KINDS
    from tests.support.front_door.visit import visit

    wrong = 0
    for kind in [BY_NAME[name] for name in names] or KINDS:
        if kind.lacking:
            print(f"{kind.name:30} skipped: {kind.lacking} is not here")
            continue
        for biased in (True, False):
            start = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                found = visit(kind, Path(folder), biased=biased)
            is_right = found.codes == (0, int(biased))
            wrong += not is_right
            words = "planted bias" if biased else "fair twin"
            verdict = "as it should" if is_right else "WRONG"
            seconds = time.monotonic() - start
            print(
                f"{kind.name:30} {words:13} init {found.codes[0]}, audit {found.codes[1]}"
                f" {verdict:13} {seconds:5.1f} s, {len(found.cases)} cases,"
                f" {found.realistic} realistic",
                flush=True,
            )
            if verbose or not is_right:
                print(found.story)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
