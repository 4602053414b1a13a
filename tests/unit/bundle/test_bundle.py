"""Bundles of real audits: what is in them, the same bytes again, and verdicts derived again."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile

import pytest

import evenhand as eh
from evenhand.cli.main import main
from tests.support import bundles
from tests.support.helpers import refused

AUDITS = {
    "function": bundles.function_audit,
    "command": bundles.command_audit,
    "estimator": bundles.estimator_audit,
    "log": bundles.log_audit,
    "texts": bundles.text_audit,
}


def states(found):
    return {point.what: point.state for point in found.points}


@pytest.mark.parametrize("kind", AUDITS)
def test_every_verdict_is_derived_again_without_the_software(kind, tmp_path, monkeypatch):
    AUDITS[kind](tmp_path)
    bundle = bundles.bundle_of(tmp_path, monkeypatch, "--bundle-data")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = bundle.rename(elsewhere / "moved.zip")
    monkeypatch.chdir(elsewhere)
    found = eh.verify(moved)
    names = [check["name"] for check in _json(moved, "results.json")["checks"]]
    assert names
    assert [states(found)[name] for name in names] == ["re-derived"] * len(names), str(
        found
    )
    assert found.exit_code == 0


def _json(bundle, name):
    return json.loads(zipfile.ZipFile(bundle).read(name))


@pytest.mark.parametrize("kind", ["function", "command", "estimator", "log"])
def test_the_same_audit_is_the_same_bytes(kind, tmp_path, monkeypatch):
    # The program keeps a ledger, which the first run fills and the second finds.
    AUDITS[kind](tmp_path)
    first = bundles.bundle_of(tmp_path, monkeypatch, name="first.zip")
    second = bundles.bundle_of(tmp_path, monkeypatch, "--n-jobs", "2", name="second.zip")
    assert first.read_bytes() == second.read_bytes()


def test_only_the_manifest_has_the_date(tmp_path, monkeypatch):
    bundles.log_audit(tmp_path)
    first = zipfile.ZipFile(bundles.bundle_of(tmp_path, monkeypatch))
    members = {name: first.read(name) for name in first.namelist()}
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    assert main(["audit", "--bundle", "later.zip", "--quiet"]) in (0, 1, 3)
    later = zipfile.ZipFile(tmp_path / "later.zip")
    changed = [name for name in later.namelist() if later.read(name) != members[name]]
    assert changed == ["MANIFEST.json"]
    assert json.loads(later.read("MANIFEST.json"))["created"] == "2027-01-15T08:00:00Z"


def test_the_audit_is_the_one_without_a_bundle(tmp_path, monkeypatch):
    bundles.estimator_audit(tmp_path)
    bundle = bundles.bundle_of(tmp_path, monkeypatch, "--json", "with.json")
    assert main(["audit", "--quiet", "--json", "without.json"]) in (0, 1, 3)
    digests = []
    for file in ("with.json", "without.json"):
        digests.append(json.loads((tmp_path / file).read_text())["digest"])
    assert digests[0] == digests[1] == _json(bundle, "results.json")["digest"]


def test_data_are_sums_unless_they_are_asked_for(tmp_path, monkeypatch):
    bundles.estimator_audit(tmp_path)
    bundle = bundles.bundle_of(tmp_path, monkeypatch)
    names = zipfile.ZipFile(bundle).namelist()
    assert not [name for name in names if name.startswith("data/")]
    files = {file["written"]: file for file in _json(bundle, "run.json")["files"]}
    assert files["people.csv"]["rows"] == 300
    assert files["people.csv"]["columns"] == ["sex", "race", "income", "approved"]
    assert files["model.skops"]["role"] == "software"
    found = eh.verify(bundle)
    assert found.exit_code == 3
    assert states(found)["impact"] == "digest only"
    assert "people.csv is not in the bundle" in str(found)
    assert eh.verify(bundle, data=tmp_path).exit_code == 0
    bundles.people(301).to_csv(tmp_path / "people.csv", index=False)
    assert "not the file that was audited" in str(eh.verify(bundle, data=tmp_path))


def test_a_lexicon_is_included(tmp_path, monkeypatch):
    file = bundles.text_audit(tmp_path)
    (tmp_path / "terms.toml").write_text('who = ["gay", "man"]\n')
    text = file.read_text().replace(
        'column = "text"', 'column = "text"\nlexicon = "terms.toml"'
    )
    file.write_text(text)
    bundle = bundles.bundle_of(tmp_path, monkeypatch, "--bundle-data")
    assert "config/terms.toml" in zipfile.ZipFile(bundle).namelist()
    assert eh.verify(bundle).exit_code == 0


def test_a_file_of_decisions_without_a_configuration(tmp_path, monkeypatch):
    bundles.people().to_csv(tmp_path / "decisions.csv", index=False)
    words = ["decisions.csv", "--outcome", "approved", "--over", "sex", "--bundle-data"]
    bundle = bundles.bundle_of(tmp_path, monkeypatch, *words)
    found = eh.verify(bundle)
    assert found.exit_code == 0, str(found)


def test_an_audit_against_a_baseline(tmp_path, monkeypatch):
    bundles.function_audit(tmp_path, high=99_999)
    bundles.bundle_of(tmp_path, monkeypatch, "--json", "old.json")
    source = tmp_path / "loan.py"
    source.write_text(source.read_text().replace("> 60", "> 70.0"))
    bundle = bundles.bundle_of(
        tmp_path, monkeypatch, "--baseline", "old.json", name="new.zip"
    )
    results = _json(bundle, "results.json")
    assert results["baseline"]["name"] == "old.json"
    found = eh.verify(bundle)
    assert found.exit_code == 0, str(found)


def test_software_that_fails_fails_again(tmp_path, monkeypatch):
    bundles.function_audit(tmp_path)
    with (tmp_path / "loan.py").open("a") as file:
        file.write("\n_whole = decide\ncalls = 0\n")
        file.write("def decide(people):\n    global calls\n    calls += 1\n")
        file.write("    if calls > 8:\n        raise OSError('the disk is gone')\n")
        file.write("    return _whole(people)\n")
    monkeypatch.chdir(tmp_path)
    with bundles.modules_of(tmp_path):
        assert main(["audit", "--bundle", "evidence.zip", "--quiet"]) in (1, 4)
    checks = _json(tmp_path / "evidence.zip", "results.json")["checks"]
    assert any("the disk is gone" in check.get("error", "") for check in checks)
    found = eh.verify(tmp_path / "evidence.zip")
    assert found.exit_code == 0, str(found)


def test_a_check_that_the_clock_ended_is_not_derived(tmp_path, monkeypatch):
    file = bundles.function_audit(tmp_path, high=99_999)
    text = file.read_text().split("[[checks]]")[0]
    file.write_text(
        text + '[[checks]]\njob = "measure"\nover = ["sex"]\nmargin = 1e-5\nseconds = 0.2\n'
    )
    bundle = bundles.bundle_of(tmp_path, monkeypatch)
    found = eh.verify(bundle)
    assert states(found)["measure sex"] == "digest only"
    assert "the clock ended the check" in str(found)
    assert found.exit_code == 3


def test_more_answers_than_are_kept_are_named(tmp_path, monkeypatch):
    from evenhand.subject.recording import tape

    bundles.function_audit(tmp_path)
    monkeypatch.setattr(tape, "MOST_ANSWERS", 100)
    found = eh.verify(bundles.bundle_of(tmp_path, monkeypatch))
    assert states(found)["measure sex"] == "digest only"
    assert "more answers than are recorded" in str(found)


def test_the_contents_are_for_auditors(tmp_path, monkeypatch):
    bundles.estimator_audit(tmp_path)
    bundle = bundles.bundle_of(tmp_path, monkeypatch)
    page = zipfile.ZipFile(bundle).read("CONTENTS.md").decode()
    for heading in ("What was tested", "On whom", "How sure", "What was not tested"):
        assert f"## {heading}" in page
    assert "300 rows, 4 columns, SHA-256" in page
    assert "evenhand audit evenhand.toml --seed 0" in page


def test_other_programs_read_the_archive(tmp_path, monkeypatch):
    bundles.log_audit(tmp_path)
    bundle = bundles.bundle_of(tmp_path, monkeypatch)
    assert zipfile.ZipFile(bundle).testzip() is None
    assert {info.compress_type for info in zipfile.ZipFile(bundle).infolist()} == {0}


def test_from_python(tmp_path, monkeypatch):
    config = bundles.function_audit(tmp_path)
    monkeypatch.chdir(tmp_path)
    with bundles.modules_of(tmp_path):
        found = eh.audit(config, bundle=tmp_path / "python.zip", progress=False)
    assert found.verdict == "fail"
    assert eh.verify(tmp_path / "python.zip").ok
    space = eh.Space([eh.integer("a", 0, 9)])
    refused(
        eh.UsageError,
        lambda: eh.audit(lambda people: people["a"] > 0, space, bundle="a.zip"),
        "needs a configuration file",
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--bundle", "a.tar"], "a bundle is a .zip file; did you mean a.zip?"),
        (["--bundle-data"], "--bundle-data is for a bundle"),
        (["--bundle", "no/a.zip"], "there is no folder 'no'"),
        (["--bundle", "a.zip", "--sign", "no.pem"], "no.pem: cannot read the key"),
    ],
)
def test_what_cannot_work_is_refused_before_the_run(
    words, sentence, tmp_path, monkeypatch, capsys
):
    bundles.log_audit(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["audit", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_the_software_is_asked_again(tmp_path, monkeypatch, capsys):
    config = bundles.function_audit(tmp_path)
    bundle = bundles.bundle_of(tmp_path, monkeypatch)
    with bundles.modules_of(tmp_path):
        found = eh.verify(bundle, config=config, sample=10**9)
    assert found.exit_code == 0
    assert "and all are the same" in str(found)
    source = tmp_path / "loan.py"
    # Of another length: Python takes a source of the same second and length for the compiled one.
    source.write_text(source.read_text().replace("> 60", "> 61.0"))
    with bundles.modules_of(tmp_path):
        assert (
            main(["verify", str(bundle), "--config", str(config), "--sample", "3000"]) == 3
        )
    printed = capsys.readouterr().out
    assert "recorded answers are others now, such as 'approve' and now 'deny'" in printed
    assert "'income': 61" in printed


def test_software_that_fails_when_asked_again_is_not_the_fault_of_the_bundle(
    tmp_path, monkeypatch
):
    config = bundles.function_audit(tmp_path)
    bundle = bundles.bundle_of(tmp_path, monkeypatch)
    (tmp_path / "loan.py").write_text("def decide(people):\n    raise OSError('gone')\n")
    with bundles.modules_of(tmp_path):
        found = eh.verify(bundle, config=config)
    assert found.exit_code == 4
    assert "the software: FAILED: decide raised OSError" in str(found)
    assert states(found)["measure sex"] == "re-derived"
    config.write_text(config.read_text().replace("high = 99", "high = 98"))
    with bundles.modules_of(tmp_path):
        refused(eh.UsageError, lambda: eh.verify(bundle, config=config), "another space")


def test_recorded_decisions_cannot_be_asked_again(tmp_path, monkeypatch):
    config = bundles.log_audit(tmp_path)
    bundle = bundles.bundle_of(tmp_path, monkeypatch)
    refused(eh.UsageError, lambda: eh.verify(bundle, config=config), "recorded decisions")


def test_the_configuration_of_a_bundle_runs_only_with_trust(tmp_path, monkeypatch):
    bundles.command_audit(tmp_path)
    program = tmp_path / "loan_program.py"
    program.write_text(program.read_text() + "\nopen('asked', 'a').close()\n")
    bundle = bundles.bundle_of(tmp_path, monkeypatch)
    (tmp_path / "asked").unlink()
    (tmp_path / "loan.ledger").unlink()
    assert eh.verify(bundle).ok
    assert not (tmp_path / "asked").exists()
    assert eh.verify(bundle, trust=True).ok
    assert (tmp_path / "asked").exists()


def test_the_command_line_as_a_process(tmp_path, monkeypatch):
    bundles.log_audit(tmp_path)
    bundle = bundles.bundle_of(tmp_path, monkeypatch, "--bundle-data")
    words = [sys.executable, "-m", "evenhand", "verify", str(bundle), "--json", "out.json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out.json").read_text())["exit_code"] == 0
    assert "verified; the audit in it says" in done.stdout


def test_other_models_of_a_comparison_are_recorded_too(tmp_path, monkeypatch):
    config = bundles.estimator_audit(tmp_path)
    (tmp_path / "other.skops").write_bytes((tmp_path / "model.skops").read_bytes())
    text = config.read_text().split("[[checks]]")[0]
    check = '[[checks]]\njob = "compare"\ntruth = "approved"\nover = ["sex"]\n'
    config.write_text(f'{text}{check}models = {{ other = "other.skops" }}\n')
    bundle = bundles.bundle_of(tmp_path, monkeypatch, "--bundle-data")
    assert len(_json(bundle, "run.json")["software"]) == 2
    (tmp_path / "other.skops").unlink()
    found = eh.verify(bundle)
    assert found.exit_code == 0, str(found)


def test_data_that_lie_elsewhere_are_found_again(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    config = bundles.estimator_audit(home)
    (home / "people.csv").rename(tmp_path / "all people.csv")
    elsewhere = (tmp_path / "all people.csv").as_posix()
    config.write_text(
        config.read_text().replace('from = "people.csv"', f'from = "{elsewhere}"')
    )
    bundle = bundles.bundle_of(home, monkeypatch, "--bundle-data")
    (tmp_path / "all people.csv").unlink()
    (file,) = [
        file for file in _json(bundle, "run.json")["files"] if file["role"] == "data"
    ]
    assert file["written"] == elsewhere
    assert file["path"] == "outside/0/all people.csv"
    found = eh.verify(bundle)
    assert found.exit_code == 0, str(found)


def test_a_linear_text_model_needs_the_software(tmp_path, monkeypatch):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from evenhand.subject.adapters.saved import save_model

    config = bundles.text_audit(tmp_path)
    texts = ["a gay house", "a man", "the house", "a gay man"]
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [1, 0, 0, 1])
    trusted = save_model(model, tmp_path / "model.skops")
    subject = f'estimator = "model.skops"\ntrusted = {trusted}'
    text = config.read_text().replace('function = "rude:rude"', subject)
    config.write_text(text.replace("positive = false", "positive = 0"))
    bundle = bundles.bundle_of(tmp_path, monkeypatch, "--bundle-data")
    found = eh.verify(bundle)
    assert found.exit_code == 3
    assert "the structure of a linear text model" in str(found)
