"""Every relative link and picture of the documentation leads to a file and to a heading in it."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from tests.support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

INDEX = ROOT / "docs" / "index.md"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / "tests").glob("README.md"),
]

FENCE = re.compile(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# A span of code may go over the end of a line, never over the end of a paragraph.
CODE = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n[ \t]*\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$", re.MULTILINE)
HTML_ANCHOR = re.compile(r"""<\w+[^>]*?\s(?:id|name)=["']([^"']+)["']""")
INLINE = re.compile(r"\]\(\s*(?:<([^>\n]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))")
DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:[ \t]*(?:<([^>\n]*)>|(\S+))", re.MULTILINE)
ATTRIBUTE = re.compile(r"""<\w+[^>]*?\s(?:src|srcset|href)=["']([^"']*)["']""")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def links(text: str) -> list[str]:
    """Return the targets of a page's links and pictures on this site; examples have none."""
    without_examples = FENCE.sub("", text)
    without_comments = COMMENT.sub("", without_examples)
    prose = CODE.sub("code", without_comments)
    targets = []
    for pattern in (INLINE, DEFINITION):
        for in_brackets, plain in pattern.findall(prose):
            targets.append(in_brackets or plain)
    targets += ATTRIBUTE.findall(prose)
    return [target for target in targets if not ELSEWHERE.match(target)]


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading, when it is the first of its name."""
    words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # a link is its text
    # What is emphasised is its text, too.
    words = re.sub(r"(?<!\w)([*_]{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2", words)
    return re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Return all anchors of a page; a heading that comes again has a number after it."""
    prose = COMMENT.sub("", FENCE.sub("", text))
    found: set[str] = set(HTML_ANCHOR.findall(prose))
    seen: Counter[str] = Counter()
    for heading in HEADING.findall(prose):
        name = slug(heading)
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


def broken(page: Path) -> list[str]:
    """Return the links of a page that lead nowhere."""
    return [
        target
        for target in links(page.read_text(encoding="utf-8"))
        if not leads_somewhere(page, target)
    ]


def leads_somewhere(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = page.parent / unquote(path) if path else page
    if path.startswith("/") or not target or not file.exists():
        return False
    return not anchor or (
        file.suffix == ".md"
        and unquote(anchor) in anchors(file.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    assert broken(page) == []


def test_the_index_names_every_page():
    named = {
        (INDEX.parent / target).resolve()
        for target in links(INDEX.read_text(encoding="utf-8"))
    }
    assert [
        page
        for page in PAGES
        if INDEX.parent in page.parents and page != INDEX and page not in named
    ] == []


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Return where to write a page that has a folder, a picture and another page beside it."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "picture.png").touch()
    (tmp_path / "folder" / "other page.md").touch()
    (tmp_path / "folder" / "other.md").write_text(
        "# Other\n\n## What `a.b` is, and why?\n\n## Twice\n\n## Twice\n\n## *So* [linked](x.md)"
        ' some_name\n\n<a id="by-hand"></a>\n\n```sh\n# no heading\n```\n'
    )
    return tmp_path / "page.md"


WRONG = {
    "a file": ("[text](folder/none.md)", "folder/none.md"),
    "a file with an anchor": ("[text](none.md#other)", "none.md#other"),
    "over two lines": ("[text\nmore](none.md)", "none.md"),
    "code as text": ("[`text`](none.md)", "none.md"),
    "a title": ('[text](none.md "title")', "none.md"),
    "the second of a line": ("[text](folder/other.md) and [text](none.md)", "none.md"),
    "from the wrong folder": ("[text](other.md)", "other.md"),
    "from the root": ("[text](/folder/other.md)", "/folder/other.md"),
    "nothing": ("[text]()", ""),
    "a picture": ("![text](none.png)", "none.png"),
    "a picture in a link": ("[![text](none.png)](folder/other.md)", "none.png"),
    "a definition": ("[text][name]\n\n[name]: none.md", "none.md"),
    "a picture in HTML": ('<img alt="x"\n src="none.png">', "none.png"),
    "an anchor": ("[text](folder/other.md#none)", "folder/other.md#none"),
    "an anchor in capitals": ("[text](folder/other.md#Twice)", "folder/other.md#Twice"),
    "one too many": ("[text](folder/other.md#twice-2)", "folder/other.md#twice-2"),
    "a comment in code": (
        "[text](folder/other.md#no-heading)",
        "folder/other.md#no-heading",
    ),
    "an anchor of this page": ("# Here\n\n[text](#there)", "#there"),
    "an anchor of a picture": ("[text](picture.png#here)", "picture.png#here"),
}
RIGHT = {
    "a file": "[text](folder/other.md)",
    "a folder": "[text](folder)",
    "spaces": "[text](folder/other%20page.md) [text](<folder/other page.md>)",
    "pictures": (
        '![text](picture.png) <img src="picture.png"> [![text](picture.png)](folder/other.md)'
    ),
    "code and marks": "[text](folder/other.md#what-ab-is-and-why)",
    "twice": "[text](folder/other.md#twice) [text](folder/other.md#twice-1)",
    "markup": "[text](folder/other.md#so-linked-some_name)",
    "HTML": "[text](folder/other.md#by-hand)",
    "this page": "# Here\n\n[text](#here)",
    "other sites": "[text](https://a.example/none.md#none) [text](mailto:a@b.example)",
    "code": (
        "`a[0](none.md)`,"
        " `two\nlines[0](none.md)`\n\n```python\nx[0](none.md)\n```\n\n~~~\n[text](none.md)\n~~~\n"
    ),
    "a comment": "<!-- [text](none.md) -->",
}


@pytest.mark.parametrize(("text", "target"), WRONG.values(), ids=WRONG)
def test_a_wrong_link_is_found(text, target, page):
    page.write_text(f"Before.\n\n{text}\n\nAfter.\n")
    assert broken(page) == [target]


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_a_right_link_is_not(text, page):
    page.write_text(f"Before.\n\n{text}\n\nAfter.\n")
    assert broken(page) == []


def test_a_wrong_link_in_the_readme_is_found(tmp_path):
    """Away from the repository every link of the README is wrong, and none is passed over."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    copy = tmp_path / "README.md"
    copy.write_text(text, encoding="utf-8")
    assert broken(copy) == links(text)
    assert text.count("](docs/") > 30
    assert sum(target.startswith("docs/") for target in links(text)) == text.count(
        "](docs/"
    ) + text.count('="docs/')
