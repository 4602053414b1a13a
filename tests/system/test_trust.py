"""Files of others are data: nothing that they name is run, imported or unpickled unasked."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.config.file import Config
from evenhand.methods.audit.audit_result import as_audit
from tests.support import bundles

SPACE = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90)], ["sex"])
DECLARED = """
[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features.age]
low = 18
high = 90
"""


def _touching(marker: Path) -> str:
    return f"open({str(marker)!r}, 'w').close()"


def by_command(folder: Path, marker: Path) -> str:
    """Return a [subject] whose program touches the marker."""
    script = f"{_touching(marker)}; print(1)"
    return f"[subject]\ncommand = {json.dumps([sys.executable, '-c', script, '{sex}', '{age}'])}\n"


def by_import(folder: Path, marker: Path) -> str:
    """Return a [subject] whose module touches the marker when it is imported."""
    (folder / "hostile_module.py").write_text(
        f"{_touching(marker)}\ndef decide(people):\n    return people['age'] > 40\n"
    )
    return '[subject]\nfunction = "hostile_module:decide"\n'


def by_pickle(folder: Path, marker: Path) -> str:
    """Return a [subject] whose estimator is a pickle that touches the marker."""
    source = f"import builtins; exec({_touching(marker)!r})"

    class Opens:
        def __reduce__(self):
            return exec, (source,)

    (folder / "model.pkl").write_bytes(pickle.dumps(Opens()))
    return '[subject]\nestimator = "model.pkl"\nallow_pickle = true\n'


WAYS = {"command": by_command, "import": by_import, "pickle": by_pickle}


@pytest.fixture(params=WAYS)
def hostile(request, tmp_path, monkeypatch):
    """A folder with the result of somebody else, whose configuration touches a marker."""
    theirs = tmp_path / "theirs"
    mine = tmp_path / "mine"
    theirs.mkdir()
    mine.mkdir()
    marker = tmp_path / "touched"
    config = theirs / "their.toml"
    config.write_text(WAYS[request.param](theirs, marker) + DECLARED)
    found = eh.measure(
        lambda people: (people["age"] > 40) & (people["sex"] == "M"), SPACE, limit=0.05
    )
    described = {"file": config.as_posix(), "text": config.read_text()}
    audit = replace(as_audit(found, "measure sex"), config=described)
    audit.to_json(mine / "result.json")
    monkeypatch.chdir(mine)
    yield marker
    for name in ("hostile_module", "own_rule"):
        sys.modules.pop(name, None)
    for folder in (theirs, mine):
        if str(folder) in sys.path:
            sys.path.remove(str(folder))


READERS = {
    "replay": ["replay", "result.json"],
    "explore": ["explore", "result.json", "--no-browser"],
    "report": ["report", "result.json", "-o", "report.html"],
    "baseline": ["audit", "own.toml", "--baseline", "result.json", "--quiet"],
}


@pytest.mark.parametrize("words", READERS.values(), ids=READERS)
def test_what_a_result_names_is_not_run(words, hostile, capsys):
    Path("own_rule.py").write_text("def decide(people):\n    return people['age'] > 40\n")
    own = '[subject]\nfunction = "own_rule:decide"\n'
    Path("own.toml").write_text(own + DECLARED)
    code = main(words)
    assert not hostile.exists()
    if words[0] in ("replay", "explore"):
        assert code == 2
        sentence = capsys.readouterr().err
        assert "their.toml" in sentence
        assert "--trust" in sentence
    else:
        assert code in (0, 1, 3)


def test_it_is_run_where_the_person_says_so(hostile):
    main(["replay", "result.json", "--trust"])
    assert hostile.exists()


def test_it_is_run_where_the_person_names_it(hostile):
    config = json.loads(Path("result.json").read_text())["config"]["file"]
    main(["replay", "result.json", config])
    assert hostile.exists()


def test_a_page_of_a_result_of_others_runs_no_script(hostile):
    assert main(["report", "result.json", "-o", "report.html"]) == 0
    page = Path("report.html").read_text()
    assert "Content-Security-Policy" in page
    assert "default-src 'none'" in page


def test_verify_runs_nothing_that_a_bundle_names(hostile, tmp_path, monkeypatch):
    from evenhand.bundle.archive import written
    from evenhand.bundle.manifest import sealed
    from tests.unit.bundle.test_tampering import members_of

    home = tmp_path / "audited"
    home.mkdir()
    bundles.function_audit(home)
    members = members_of(bundles.bundle_of(home, monkeypatch).read_bytes())
    theirs = json.loads((tmp_path / "mine" / "result.json").read_text())["config"]
    config = members["config/evenhand.toml"].decode()
    _, _, rest = config.partition("[space]")
    members["config/evenhand.toml"] = (
        theirs["text"].partition("[space]")[0] + "[space]" + rest
    ).encode()
    (home / "bent.zip").write_bytes(written(sealed(members)))
    assert main(["verify", "bent.zip"]) == 2
    assert not hostile.exists()


def test_ones_own_result_needs_no_flag(tmp_path, monkeypatch, capsys):
    bundles.function_audit(tmp_path)
    monkeypatch.chdir(tmp_path)
    with bundles.modules_of(tmp_path):
        assert main(["audit", "--json", "audit.json", "--quiet"]) == 1
        assert main(["replay", "audit.json"]) == 1
    assert "still differ" in capsys.readouterr().out


def test_a_configuration_beside_the_own_one_needs_a_word(tmp_path, monkeypatch, capsys):
    bundles.function_audit(tmp_path).rename(tmp_path / "loan.toml")
    monkeypatch.chdir(tmp_path)
    with bundles.modules_of(tmp_path):
        assert main(["audit", "loan.toml", "--json", "audit.json", "--quiet"]) == 1
        assert main(["replay", "audit.json"]) == 2
        assert "'loan.toml'" in capsys.readouterr().err
        assert main(["replay", "audit.json", "--trust"]) == 1
        assert main(["replay", "audit.json", "loan.toml"]) == 1


def test_a_pickle_needs_more_than_its_name(tmp_path):
    marker = tmp_path / "touched"
    text = by_pickle(tmp_path, marker).replace("allow_pickle = true\n", "")
    config = tmp_path / "evenhand.toml"
    config.write_text(text + DECLARED)
    with pytest.raises(eh.UsageError, match="allow_pickle"):
        Config.load(config).software()
    assert not marker.exists()


def test_explore_as_a_process_refuses_at_once(hostile):
    words = [sys.executable, "-m", "evenhand", "explore", "result.json", "--no-browser"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert not hostile.exists()
