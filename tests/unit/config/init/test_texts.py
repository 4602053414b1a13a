"""init for software that takes texts: the table, and checks that have texts to ask about."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenhand.cli.main import main
from evenhand.config.init.questions import Dialogue
from evenhand.config.init.start import Request, start

FUNCTION = """
def rate(texts):
    return ["bad" if "awful" in text else "good" for text in texts]
"""


@pytest.fixture
def reviews(tmp_path, monkeypatch):
    """Return a function that writes reviews, every so many of which name a woman."""
    monkeypatch.chdir(tmp_path)
    Path("rating_of_reviews.py").write_text(FUNCTION)

    def write(every: int) -> None:
        texts = []
        for row in range(200):
            who = "transgender person" if row % every == 0 else "waiter"
            how = "awful" if row % 3 else "fine"
            texts.append(f"In visit {row} the {who} was really {how} to all of us")
        labels = ["neg" if row % 3 else "pos" for row in range(200)]
        pd.DataFrame({"review": texts, "label": labels}).to_csv("r.csv", index=False)

    return write


def written(target: str) -> dict[str, Any]:
    file = Path("evenhand.toml")
    request = Request(Path("r.csv"), file, "rating_of_reviews:rate", target)
    started = start(request, Dialogue())
    assert started.problem is None
    return tomllib.loads(file.read_text(encoding="utf-8"))


def test_prose_without_protected_columns_is_for_software_that_takes_texts(reviews, capsys):
    reviews(every=4)
    table = written("label")
    assert table["texts"] == {"from": "r.csv", "column": "review"}
    subject = {"function": "rating_of_reviews:rate", "positive": "good"}
    assert table["subject"] == subject
    assert (
        "one text: 'In visit 0 the transgender person was really fine to all of us' gets 'good'"
        in (capsys.readouterr().out)
    )
    assert "space" not in table
    assert main(["audit"]) in (0, 3)


def test_where_few_texts_name_anybody_terms_go_before_person_nouns(reviews, capsys):
    reviews(every=40)
    table = written("label")
    assert table["checks"] == [
        {"job": "mine", "limit": 0.1},
        {"job": "mine", "kind": "causal", "limit": 0.05},
    ]
    assert main(["audit", "--full"]) in (0, 3)
    assert "or a person" in capsys.readouterr().out
