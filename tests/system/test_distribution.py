"""What is built of evenhand: the same bytes each time, complete, at work in a fresh environment."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

BUILT_FROM = ("src", "scripts", "sboms", "docs/index.md", "pyproject.toml", ".gitignore")
"""What a copy to build from holds; a source distribution takes more of the same kind."""
FILES = ("README.md", "CHANGELOG.md", "LICENSE")
BUILD = (
    "import sys, hatchling.build as backend\n"
    "print(backend.build_sdist(sys.argv[1]))\n"
    "print(backend.build_wheel(sys.argv[1]))\n"
)
ASKED = (
    "import importlib.metadata as metadata, json, evenhand\n"
    "found = metadata.distribution('evenhand')\n"
    "sboms = [str(one) for one in found.files if '/sboms/' in str(one)]\n"
    "print(json.dumps({'file': evenhand.__file__, 'version': found.version,"
    " 'requires': found.requires, 'sboms': sboms}))\n"
)


def run(*command: Any, **settings: Any) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        **settings,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def copy_to(folder: Path, *, mode: int, time: int) -> Path:
    """Copy what is built from, with other modes and times of files."""
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in (*BUILT_FROM, *FILES):
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=ignored)
        else:
            shutil.copyfile(source, target)
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(mode)
        os.utime(path, (time, time))
    return folder


def built(folder: Path, umask: int) -> dict[str, Path]:
    """Build in a process of its own, and return what was built by its ending."""
    target = folder / "dist"
    names = run(sys.executable, "-c", BUILD, target, cwd=folder, umask=umask).split()
    return {Path(name).suffix: target / name for name in names}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """The same source, built in two folders, by two people, at two times."""
    one = copy_to(tmp_path_factory.mktemp("one"), mode=0o644, time=1_000_000_000)
    other_folder = tmp_path_factory.mktemp("other") / "deeper"
    other = copy_to(other_folder, mode=0o600, time=1_700_000_000)
    return built(one, 0o022), built(other, 0o077)


@pytest.fixture(scope="module")
def wheel(twice):
    return twice[0][".whl"]


@pytest.mark.parametrize("ending", [".whl", ".gz"])
def test_two_builds_are_the_same_bytes(twice, ending):
    first, second = twice
    assert first[ending].name == second[ending].name
    assert digest(first[ending]) == digest(second[ending])


def test_a_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    folders = {name.partition("/")[0] for name in names}
    (info,) = folders - {"evenhand"}
    assert info.endswith(".dist-info")
    packaged = {name for name in names if name.startswith("evenhand/")}
    source = ROOT / "src"
    wanted = set()
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            wanted.add(path.relative_to(source).as_posix())
    assert packaged == wanted


def test_a_wheel_holds_its_bill_of_materials(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if "/sboms/" in one]
        held = archive.read(name)
    assert name.endswith(".dist-info/sboms/evenhand.cdx.json")
    assert held == (ROOT / "sboms" / "evenhand.cdx.json").read_bytes()


def test_a_source_distribution_can_be_built_again_to_the_same_wheel(twice, tmp_path):
    with tarfile.open(twice[0][".gz"]) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    again = built(folder, 0o022)
    assert digest(again[".whl"]) == digest(twice[0][".whl"])


def environment(folder: Path, *, borrowed: bool) -> Path:
    """Make an environment, with the libraries of this one where they are borrowed."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    if borrowed:
        places = [path for path in sys.path if Path(path).name == "site-packages"]
        show = "import sysconfig; print(sysconfig.get_path('purelib'))"
        own = Path(run(python, "-c", show).strip())
        (own / "borrowed.pth").write_text("\n".join(places) + "\n")
    return python


def install(python: Path, *what: Any) -> None:
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--quiet", "--disable-pip-version-check", *what)


def smoke(python: Path, folder: Path) -> None:
    """Use what was installed, from a folder that has nothing of the source."""
    program = python.parent / "evenhand"
    cleared = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    facts = json.loads(run(python, "-c", ASKED, cwd=folder, env=cleared))
    assert Path(facts["file"]).is_relative_to(python.parents[1])
    assert facts["version"] in run(program, "--version", cwd=folder, env=cleared)
    assert any(one.startswith("numpy") for one in facts["requires"])
    assert len(facts["sboms"]) == 1
    run(program, "demo", "-o", "report.html", cwd=folder, env=cleared)
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_wheel_works_in_a_fresh_environment(wheel, tmp_path):
    python = environment(tmp_path / "fresh", borrowed=True)
    install(python, "--no-deps", "--no-index", wheel)
    (tmp_path / "work").mkdir()
    smoke(python, tmp_path / "work")


@pytest.mark.slow
def test_the_wheel_installs_with_all_that_it_needs(wheel, tmp_path):
    python = environment(tmp_path / "fresh", borrowed=False)
    install(python, wheel)
    (tmp_path / "work").mkdir()
    smoke(python, tmp_path / "work")
