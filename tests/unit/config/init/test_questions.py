"""Questions on a terminal, with defaults; elsewhere decisions."""

from __future__ import annotations

import builtins
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from evenhand.config.init.questions import Dialogue
from evenhand.config.init.start import Request, start

PROGRAM = "#!/bin/sh\n[ $2 -gt 40 ] && echo approve || echo deny\n"


@pytest.fixture
def answered(monkeypatch):
    """Return a function that answers questions, and the list of those that were asked."""
    asked: list[str] = []

    def answers(*lines: str) -> list[str]:
        waiting = list(lines)

        def line(prompt: str) -> str:
            asked.append(prompt)
            if not waiting:
                raise EOFError
            return waiting.pop(0)

        monkeypatch.setattr(builtins, "input", line)
        return asked

    return answers


def test_nobody_is_asked_without_a_terminal_or_where_all_is_decided():
    assert not Dialogue.here(decided=True).asks
    assert not Dialogue.here(decided=False).asks  # since tests have no terminal
    assert Dialogue().ask("Which?", "a") == "a"
    assert not Dialogue().confirm("Really?")


def test_an_answer_is_one_of_the_choices_and_nothing_is_the_default(answered, capsys):
    asked = answered("c", "b")
    assert Dialogue(asks=True).ask("Which?", "a", ["a", "b"]) == "b"
    assert asked == ["Which? [a] ", "Which? [a] "]
    assert "'c' is none of them" in capsys.readouterr().out
    answered("")
    assert Dialogue(asks=True).ask("Which?", "a") == "a"
    answered()
    assert Dialogue(asks=True).ask("Which?", "a") == "a"


def test_only_yes_is_yes(answered):
    answered("y", "Yes", "n", "")
    found = [Dialogue(asks=True).confirm("Really?") for _ in range(4)]
    assert found == [True, True, False, False]


def test_protected_columns_and_the_favourable_answer_are_asked_for(
    answered, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    rows = range(100)
    frame = pd.DataFrame(
        {
            "sex": ["F", "M"] * 50,
            "wage": [37 * row % 100 for row in rows],
            "town": [f"t{row % 4}" for row in rows],
        }
    )
    frame.to_csv("people.csv", index=False)
    Path("decide").write_text(PROGRAM)
    Path("decide").chmod(0o755)
    asked = answered("sex, town", "perhaps", "deny")
    request = Request(Path("people.csv"), Path("evenhand.toml"), "decide")
    started = start(request, Dialogue(asks=True))
    assert started.problem is None
    assert asked == [
        "Protected columns, separated by commas: [sex] ",
        "Which answer is favourable, of 'approve', 'deny'? [approve] ",
        "Which answer is favourable, of 'approve', 'deny'? [approve] ",
    ]
    table = tomllib.loads(Path("evenhand.toml").read_text(encoding="utf-8"))
    assert table["space"]["protected"] == ["sex", "town"]
    assert table["subject"]["positive"] == "deny"
