"""The examples in README and docs run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import evenhand as eh

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (f"{page.name}:{text[: match.start()].count(chr(10)) + 1}", match.group(2))
        for page in PAGES
        for text in [page.read_text(encoding="utf-8")]
        for match in FENCE.finditer(text)
        if match.group(1) == language
    ]


@pytest.mark.parametrize(("where", "code"), blocks("python"), ids=lambda value: value if ":" in value[:40] else "")
def test_python_examples_run(where, code, capsys):
    exec(compile(code, where, "exec"), {"__name__": "example"})
    printed = capsys.readouterr().out
    for line in code.splitlines():
        # A comment after print(...) is what it prints.
        if match := re.match(r"print\(.*\)\s+# (.+)", line):
            assert match.group(1) in printed


@pytest.mark.parametrize(("where", "text"), blocks("toml"), ids=lambda value: value if ":" in value[:40] else "")
def test_toml_examples_declare_a_space(where, text, tmp_path):
    file = tmp_path / "evenhand.toml"
    file.write_text(text)
    assert eh.Space.from_toml(file).protected


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
