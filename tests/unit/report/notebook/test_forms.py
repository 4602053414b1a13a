"""Spaces, findings, cases and drawings as notebooks show them."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import matplotlib as mpl
import pytest
from matplotlib import pyplot

import evenhand as eh

EVIL = "<script>alert(1)</script>"
SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category(EVIL, [EVIL, "b"], passed=False),
        eh.integer("age", 18, 90, missing=True),
    ],
    protected=["sex"],
    constraints=["age > 20"],
)
VOID = ("br", "img")


def refuses_men(people):
    return (people["sex"] == "F").astype(int)


class TagReader(HTMLParser):
    """Collects tags and texts, and sees that every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read(shown):
    reader = TagReader()
    reader.feed(shown._repr_html_())
    assert reader.open == []
    assert "script" not in reader.tags
    return reader


@pytest.fixture(scope="module")
def found():
    return eh.measure(eh.Subject(refuses_men, SPACE), over="sex", limit=0.05)


def test_a_space_is_a_table_of_its_features():
    page = read(SPACE)
    words = ("sex", "F, M", "protected", "18 to 90", "may be missing", "not passed")
    for word in (*words, "age > 20", EVIL, str(SPACE)):
        assert word in page.text
    assert page.tags.count("tr") == 1 + len(SPACE.features)


def test_a_large_space_is_cut():
    names = [f"f{number}" for number in range(100)]
    levels = [f"level {number}" for number in range(40)]
    space = eh.Space([eh.category(name, levels) for name in names])
    page = read(space)
    assert "… 40 more features" in page.text
    assert "… 28 more" in page.text
    assert "f99" not in page.text


def test_a_finding_is_its_claim_and_its_simplest_case(found):
    finding = found.worst
    page = read(finding)
    for word in ("fail", finding.claim, str(finding.estimate), "limit 5 %", "individual"):
        assert word in page.text
    assert page.tags.count("table") == 1


def test_a_case_shows_what_differs_first(found):
    case = found.worst.cases[0]
    page = read(case)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", case._repr_html_())
    assert cells[0] == "<strong>sex</strong>"
    assert cells[-3:] == [f"<strong>{word}</strong>" for word in ("outcome", "1", "0")]
    assert EVIL in page.text
    unknown = eh.Case({"age": None, "sex": "F"}, {"age": None, "sex": "M"}, (1, 0))
    assert read(unknown).text.count("unknown") == 2


def test_colours_are_left_to_the_notebook(found):
    for shown in (SPACE, found.worst, found.worst.cases[0]):
        page = shown._repr_html_()
        assert "background" not in page
        assert page.count("color:") <= 1


def test_a_drawing_is_a_picture(found):
    mpl.use("Agg")
    display = found.plot()
    page = display._repr_html_()
    assert page.startswith('<img alt="RatesDisplay" src="data:image/png;base64,iVBOR')
    pyplot.close(display.figure_)


def test_a_drawing_that_the_notebook_shows_itself_is_not_shown_twice(found, monkeypatch):
    mpl.use("Agg")
    display = found.plot()
    monkeypatch.setattr(
        mpl,
        "get_backend",
        lambda: "module://matplotlib_inline.backend_inline",
    )
    assert "<img" not in display._repr_html_()
    pyplot.close(display.figure_)
    assert "<img" in display._repr_html_()
