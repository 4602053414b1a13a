"""Commands on logs: any source, one sentence for what is wrong, and no password anywhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from evenhand.cli.main import main
from tests.support.logs import write_everywhere

if TYPE_CHECKING:
    from pathlib import Path

TERMS = ["--outcome", "ok", "--positive", "yes", "--over", "sex"]
SECRET = "s3cret"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("duckdb", "polars", "pyarrow"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    folder = tmp_path_factory.mktemp("places")
    write_everywhere(folder)
    return folder


@pytest.fixture
def run(places, monkeypatch, capsys):
    """Run a command in the folder of the logs; return its exit code and what it prints."""
    monkeypatch.chdir(places)

    def call(*words: str) -> tuple[int, str]:
        code = main(list(words))
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return code, printed.out + printed.err

    return call


def test_any_source_gives_the_same_findings(run, places):
    digests = set()
    sources = {
        "log.csv": [],
        "partitions": ["--engine", "polars"],
        "part-*.csv": [],
        "log.duckdb": ["--table", "decisions"],
        "sqlite:///log.db": ["--query", "SELECT * FROM decisions"],
    }
    for source, how in sources.items():
        code, _ = run(
            "measure-log", source, *TERMS, *how, "--limit", "0.1", "--json", "x.json"
        )
        assert code == 1
        found = json.loads((places / "x.json").read_text(encoding="utf-8"))
        assert found["log"]["source"] == source
        digests.add(found["digest"])
    assert len(digests) == 1


def test_an_audit_of_a_folder_names_it_in_what_repeats_it(run, places):
    code, printed = run(
        "audit", "partitions", *TERMS, "--engine", "duckdb", "--json", "a.json"
    )
    assert code == 1
    assert "evenhand audit partitions --engine duckdb --outcome ok" in printed
    found = json.loads((places / "a.json").read_text(encoding="utf-8"))
    assert found["tested"]["data"] == "partitions"
    assert found["tested"]["log"] == {
        "source": "partitions",
        "engine": "duckdb",
        "files": 4,
    }


def test_a_table_of_a_configuration_names_a_query(run, places):
    (places / "audit.toml").write_text(
        '[log]\nfrom = "sqlite:///log.db"\nquery = "SELECT sex, race, ok FROM decisions"\n'
        'outcome = "ok"\npositive = "yes"\nover = ["sex"]\n'
        '[[checks]]\njob = "measure_log"\nover = ["race"]\nlimit = 0.9\n',
        encoding="utf-8",
    )
    code, printed = run("audit", "audit.toml")
    assert code == 0, printed
    assert "1,200 recorded decisions" in printed


def test_init_looks_at_a_folder(run, places):
    code, printed = run("init", "partitions", "--outcome", "ok", "-o", "new.toml", "--yes")
    assert code == 0, printed
    assert 'from = "partitions"' in (places / "new.toml").read_text(encoding="utf-8")
    assert "looked at the first 1,200 rows" in printed


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["measure-log", "nothing", *TERMS], "'nothing' cannot be read (No such file"),
        (["measure-log", "log.duckdb", "--table", "decision", *TERMS], "mean 'decisions'?"),
        (["measure-log", "log.duckdb", "--query", "SELEC 1", *TERMS], "syntax error"),
        (
            ["impact", "partitions", "--outcome", "okay", "--over", "sex"],
            "did you mean 'ok'?",
        ),
        (
            ["audit", "partitions"],
            "partitions holds recorded decisions: --outcome is missing",
        ),
        (["audit", "partitions", *TERMS, "--bundle", "x.zip"], "not one file"),
        (["mine-log", f"s3://me:{SECRET}@bucket/log", *TERMS], "'s3://bucket/log'"),
        (["impact", f"mysql://me:{SECRET}@host/db", *TERMS], "'mysql://host/db'"),
        (["audit", f"snowflake://me:{SECRET}@host/db", *TERMS], "'snowflake://host/db'"),
        (
            ["init", f"postgresql://me:{SECRET}@host/db", "--outcome", "ok"],
            "init looks at files",
        ),
    ],
)
def test_a_mistake_is_one_sentence_without_secrets(run, words, reason):
    code, printed = run(*words)
    assert code == 2
    assert reason in printed
    assert SECRET not in printed
    assert printed.count("\n") == 1
