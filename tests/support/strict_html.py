"""A strict reader of HTML: every element that is opened is closed, in order."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "img", "link", "input", "hr"}
"""Elements that are never closed."""


class StrictPage(HTMLParser):
    """The elements, the rows of tables and the text of a page, without its scripts and styles."""

    def __init__(self, html: object) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(str(html))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        assert len(attributes) == len(attrs)  # no attribute is given twice
        self.elements.append((tag, attributes))
        if tag == "script":
            self.scripts.append("")
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.text += data
            if {"th", "td"} & set(self.open):
                self.rows[-1][-1] += data

    def all(self, tag: str) -> list[dict[str, str]]:
        """Return the attributes of all elements with a tag."""
        return [attributes for name, attributes in self.elements if name == tag]

    def with_attribute(self, name: str) -> list[dict[str, str]]:
        """Return the attributes of all elements that have one of this name."""
        return [attributes for _, attributes in self.elements if name in attributes]
