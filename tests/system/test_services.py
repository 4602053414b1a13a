"""Services as they are, in FastAPI: their forms are found or described, and a bias is."""

from __future__ import annotations

import json
import sys
import threading
import time
import tomllib
from typing import Any

import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.main import main

pytest.importorskip("fastapi", reason="services are written with FastAPI")
uvicorn: Any = pytest.importorskip("uvicorn", reason="services are run with uvicorn")


@pytest.fixture(scope="module")
def address():
    """Run the services on loopback, and return their address."""
    from tests.support.services import app

    config = uvicorn.Config(app, port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 30
    while not server.started and time.monotonic() < end:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command line in an empty folder, and return what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def call(*words: str, expect: int) -> str:
        code = main(list(words))
        printed = capsys.readouterr()
        assert code == expect, printed.err
        return str(printed.out + printed.err)

    return call


def rows(tmp_path):
    """Write people whose column of incomes has gaps."""
    people = {
        "age": [20, 45, 60, 48] * 5,
        "sex": ["F", "M"] * 10,
    }
    incomes = [1.5, None, 3.5, 4.5] * 5
    pd.DataFrame({**people, "income": incomes, "id": range(20)}).to_csv(
        tmp_path / "people.csv", index=False
    )


def limited(tmp_path, limit=0.05):
    """Leave one check in the configuration, which fails for a biased service."""
    file = tmp_path / "evenhand.toml"
    text, _, _ = file.read_text().partition("[[checks]]")
    check = (
        f'[[checks]]\njob = "measure"\nover = ["sex"]\nlimit = {limit}\nqueries = 2000\n'
    )
    file.write_text(text + check)


@pytest.mark.parametrize(("path", "code"), [("score", 1), ("fair", 0)])
def test_a_description_becomes_a_configuration_that_finds_the_bias(
    address,
    run,
    tmp_path,
    path,
    code,
):
    source = f"{address}/openapi.json"
    words = ("init", "--openapi", source, f"/v1/{path}", "--values", "income=0:9", "--yes")
    printed = run(*words, "--protected", "sex", expect=0)
    for word in ("results[].decision", "'approve'", "one input:", "left out: model"):
        assert word in printed
    table = tomllib.loads((tmp_path / "evenhand.toml").read_text())
    assert table["subject"]["request"] == {"body": {"applicants": "{inputs}"}}
    assert table["subject"]["positive"] == "approve"
    assert table["space"]["features"]["income"]["missing"] is True
    limited(tmp_path)
    run("audit", expect=code)


def test_a_description_with_data_takes_ranges_and_rows_from_them(address, run, tmp_path):
    rows(tmp_path)
    words = ("init", "--openapi", f"{address}/openapi.json", "/v1/score", "people.csv")
    run(*words, "--protected", "sex", "--yes", expect=0)
    table = tomllib.loads((tmp_path / "evenhand.toml").read_text())
    assert table["space"]["from"] == "people.csv"
    assert table["space"]["drop"] == ["id"]
    income = table["space"]["features"]["income"]
    assert income["low"] == 1.5
    assert income["high"] == 4.5
    limited(tmp_path)
    assert "50.0 % (n = 20" in run("audit", "--full", expect=1)


def test_a_description_that_leaves_a_range_open(address, run):
    words = ("init", "--openapi", f"{address}/openapi.json", "/v1/query", "--yes")
    printed = run(*words, expect=2)
    assert "'age' of GET /v1/query has no range" in printed
    assert "--values age=LOW:HIGH" in printed
    printed = run(*words[:3], "/v1/scor", expect=2)
    assert "did you mean '/v1/score'" in printed


def test_init_finds_the_form_of_a_service(address, run, tmp_path):
    rows(tmp_path)
    frame = pd.read_csv(tmp_path / "people.csv")
    frame[["age", "sex"]].to_csv(tmp_path / "people.csv", index=False)
    run("init", "people.csv", f"{address}/v1/score", "--protected", "sex", expect=0)
    table = tomllib.loads((tmp_path / "evenhand.toml").read_text())
    assert table["subject"]["request"] == {"body": {"applicants": "{inputs}"}}
    assert table["subject"]["response"] == {"outcome": "results[].decision"}


def test_a_form_by_hand_with_a_token_from_the_environment(
    address,
    run,
    tmp_path,
    monkeypatch,
):
    file = tmp_path / "evenhand.toml"
    file.write_text(f"""
[subject]
http = "{address}/v1/nested"
positive = "approve"
ledger = "tests.db"
[subject.request]
body = {{ person = {{ years = "{{age}}", sex = "{{sex}}" }} }}
headers = {{ Authorization = "Bearer ${{SCORE_TOKEN}}" }}
[subject.response]
outcome = "data.decision"
[space]
protected = ["sex"]
[space.features]
sex = {{ levels = ["F", "M"] }}
age = {{ low = 18, high = 90 }}
[[checks]]
job = "measure"
over = ["sex"]
limit = 0.05
""")
    monkeypatch.delenv("SCORE_TOKEN", raising=False)
    printed = run("audit", expect=2)
    assert "SCORE_TOKEN, which is not set" in printed
    monkeypatch.setenv("SCORE_TOKEN", "close sesame")
    printed = run("audit", "--full", expect=4)
    assert "status 401" in printed
    assert "sesame" not in printed
    monkeypatch.setenv("SCORE_TOKEN", "open sesame")
    printed = run("audit", "--json", "a.json", "-o", "report.html", expect=1)
    assert "sesame" not in printed
    for file in tmp_path.iterdir():
        assert b"sesame" not in file.read_bytes(), file


def test_python_asks_with_a_query(address):
    space = eh.Space(
        [
            eh.category("sex", ["F", "M"]),
            eh.integer("age", 18, 90),
        ],
        ["sex"],
    )
    subject = eh.Subject.http(
        f"{address}/v1/query",
        space,
        positive="approve",
        request={"method": "GET"},
        response={"outcome": "decision"},
    )
    with subject:
        found = eh.measure(subject, limit=0.05)
    assert found.verdict == "fail"
    assert found.worst.estimate.value == pytest.approx(20 / 146)
    assert json.loads(found.to_json())["verdict"] == "fail"


def test_headers_are_sent_and_written_down_without_their_secrets(
    address,
    run,
    tmp_path,
    monkeypatch,
):
    monkeypatch.setenv("SCORE_TOKEN", "open sesame")
    rows(tmp_path)
    words = ("init", "people.csv", f"{address}/v1/score", "--protected", "sex")
    header = ("--header", "Authorization: Bearer ${SCORE_TOKEN}")
    run(*words, *header, expect=0)
    text = (tmp_path / "evenhand.toml").read_text()
    assert tomllib.loads(text)["subject"]["headers"] == {
        "Authorization": "Bearer ${SCORE_TOKEN}"
    }
    source = f"{address}/openapi.json"
    described = (
        "init",
        "--openapi",
        source,
        "/v1/score",
        "--values",
        "income=0:9",
        "--force",
    )
    run(*described, *header, expect=0)
    assert "Bearer ${SCORE_TOKEN}" in (tmp_path / "evenhand.toml").read_text()
    printed = run(*described, "--header", "open sesame", expect=2)
    assert "'NAME: VALUE'" in printed
    assert "sesame" not in printed


def test_options_that_belong_to_something_else(run, tmp_path):
    rows(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"")
    printed = run("init", "people.csv", "--values", "age=1:2", expect=2)
    assert "--openapi" in printed
    words = ("init", "people.csv", "model.onnx", "--header", "A: b")
    assert "http address" in run(*words, expect=2)
