"""Which sentences a translation needs, and which it lacks.

    python -m tests.architecture.translations                 # how far each language is
    python -m tests.architecture.translations --missing de    # lines to be translated
    python -m tests.architecture.translations --unused de     # translations that nothing shows

A sentence is what `say`, `say_many`, `term` or `number_text.many` takes: a text that stands there,
a constant such as `messages.NAME`, or a variable that one of these is assigned to. Templates of
pages are read as well, and `terms.TERMS` has the words that are data.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import string
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import EnumType
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import nodes

from evenhand.methods.mine.claims.scores import Sentences as MiningSentences
from evenhand.report.templates import environment
from evenhand.runtime.language import LANGUAGES
from evenhand.runtime.language.catalogue import ENGLISH, catalogue
from evenhand.runtime.language.terms import TERMS
from evenhand.runtime.registry import Registry
from evenhand.verbs import Verb

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parents[2] / "src"
SENTENCES_AT = {"say": (0,), "say_many": (1, 2), "term": (0,), "many": (1,)}
"""At which places a function takes sentences."""
HOMES = (
    "evenhand.runtime.language",
    "evenhand.runtime.number_text",
    "evenhand.report.templates",
)
"""Where these functions come from."""
TABLES = {
    "evenhand.report.definitions": ("GLOSSARY", "NO_CLAIM"),
    "evenhand.report.finding_text": ("STATES",),
    "evenhand.report.page.parts": ("ReaderQuestion",),
    "evenhand.report.page.plain": ("_OF_GROUPS",),
    "evenhand.report.page.messages": (
        *("CAUSAL", "CAUSAL_GAP", "CAUSAL_NOT_SEEN"),
        *("CAUSAL_PEOPLE", "CAUSAL_GAP_PEOPLE", "CAUSAL_NOT_SEEN_PEOPLE"),
    ),
    "evenhand.report.rates_display": ("RATE_AXIS", "RATIO_AXIS"),
    "evenhand.report.charts.keys": ("LOOKS",),
    "evenhand.methods.audit.page.messages": (
        *("KINDS", "TESTED", "ON_WHOM", "WHEN", "HOW_SURE", "MADE_WITH"),
        *("SAME_PERSON", "GROUPS_COMPARED", "RATIOS", "AMOUNTS_COMPARED"),
        *(
            "VERDICT",
            "FACT_EXIT_CODE",
            "FACT_SEED",
            "INPUTS",
            "LEDGER",
            "VERSIONS",
            "DIGEST",
        ),
    ),
    "evenhand.methods.audit.diff.changes": ("_COUNTED",),
    "evenhand.methods.compare.messages": ("ANY_REGION", "PLAIN_REGIONS"),
    "evenhand.space.values.condition": ("JOINED",),
    "evenhand.methods.compare.plot.chart": ("_NAMES",),
    "evenhand.methods.compare.regions": ("REGIONS",),
    "evenhand.methods.impact.chart": ("_NAMES",),
    "evenhand.methods.impact.messages": ("PLAIN_RATES", "NO_ROWS"),
    "evenhand.methods.mine.claims.words": ("OTHERS", "OTHER_TEXTS"),
    "evenhand.methods.mine.claims.scores": ("OF_OUTCOMES",),
    "evenhand.methods.mine.messages": ("ALL_OTHER_RULE_SETS",),
    "evenhand.methods.mine.section": ("HEADINGS", "HEADINGS_OF_TEXTS"),
    "evenhand.methods.mine.subgroups.messages": (
        *("PLAIN_SUBGROUP", "PLAIN_SUBGROUP_AND_NEIGHBOURS", "PLAIN_TERM"),
        *("PLAIN_CHANGES", "PLAIN_NO_CHANGES", "PICTURE_OF_CHANGES", "TABLE_OF_CHANGES"),
    ),
    "evenhand.methods.search.messages": (
        *("PLAIN_NOT_A_RATE", "PLAIN_NO_PROOF", "EVERY_INPUT_TRIED"),
    ),
    "evenhand.methods.subsets.plot.chart": ("_NAMES",),
    "evenhand.methods.subsets.lattice": ("WHY", "TESTED"),
    "evenhand.methods.subsets.messages": ("KNOWN",),
    "evenhand.verbs": ("VERBS",),
}
"""Tables of sentences that are looked up by what is data, each with its module."""
OF_DATA = ("term", "many")
"""Functions that also take words of the data, which no catalogue can have."""


@dataclass
class Sentences:
    """The English sentences of some code, and where some are that cannot be found."""

    found: set[str] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)

    def add(self, function: str, texts: set[str], place: str) -> None:
        """Add what one place of a call may be."""
        if not texts and function not in OF_DATA:
            self.unknown.append(place)
        for text in texts - {""}:
            if function == "many":
                self.found |= {f"{{number}} {text}", f"{{number}} {text}s"}
            else:
                self.found.add(text)


def fields(template: str) -> set[str]:
    """Return the names of the fields of a template."""
    named = set()
    for _, name, _, _ in string.Formatter().parse(template):
        if name is not None:
            named.add(name)
    return named


def sentences_of(code: str, module: str = "") -> Sentences:
    """Return the sentences of Python code; its constants are those of a module."""
    tree = ast.parse(code)
    scope = _Scope(vars(importlib.import_module(module)) if module else {})
    scope.read(tree)
    sentences = Sentences()
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        function = scope.function(call.func)
        for place in SENTENCES_AT.get(function, ()):
            if place < len(call.args):
                texts = scope.texts(call.args[place])
                sentences.add(function, texts, f"{module}:{call.lineno}")
    return sentences


class _Scope:
    """What names stand for: the constants of a module, and what variables are assigned."""

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self.constants = dict(constants)
        self.homes: dict[str, str] = {}
        self.assigned: dict[str, list[ast.expr]] = {}

    def read(self, tree: ast.AST) -> None:
        """Remember what is assigned to variables, and what they go through."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._remember(target, node.value)
            elif isinstance(node, ast.For | ast.comprehension):
                self._remember(node.target, node.iter)
            elif isinstance(node, ast.ImportFrom) and node.module:
                self._import(node.module, node.names)

    def _remember(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.assigned.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, its_value in zip(target.elts, value.elts, strict=False):
                self._remember(one, its_value)

    def _import(self, module: str, names: list[ast.alias]) -> None:
        """Remember where names come from, and what stands in catalogues of sentences."""
        for alias in names:
            name = alias.asname or alias.name
            self.homes[name] = f"{module}.{alias.name}"
            if alias.name.endswith("messages"):
                self.constants[name] = importlib.import_module(self.homes[name])

    def function(self, called: ast.expr) -> str:
        """Return the name of a function that takes sentences, empty for any other."""
        home = ""
        if isinstance(called, ast.Name):
            home = self.homes.get(called.id, "")
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            owner = self.homes.get(called.value.id, "")
            home = f"{owner}.{called.attr}"
        module, _, name = home.rpartition(".")
        return name if module in HOMES else ""

    def texts(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> set[str]:
        """Return the texts that an expression may be."""
        if isinstance(node, ast.Constant):
            return _texts_in(node.value)
        if isinstance(node, ast.IfExp):
            return self.texts(node.body, seen) | self.texts(node.orelse, seen)
        if isinstance(node, ast.Subscript):
            return self.texts(node.value, seen)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = self.constants.get(node.value.id)
            return _texts_in(getattr(owner, node.attr, None))
        if not isinstance(node, ast.Name) or node.id in seen:
            return set()
        texts = _texts_in(self.constants.get(node.id))
        for value in self.assigned.get(node.id, ()):
            texts |= self.texts(value, seen | {node.id})
        return texts


def _texts_in(value: object) -> set[str]:
    """Return a text, or the texts of a table of texts."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return {text for text in value if isinstance(text, str)}
    return set()


def _texts_of_tables() -> set[str]:
    """Return the texts of `TABLES`."""
    texts = set()
    for name, tables in TABLES.items():
        module = importlib.import_module(name)
        for table in tables:
            texts |= _texts_within(getattr(module, table))
            if table == "GLOSSARY":
                texts |= set(getattr(module, table))
    return texts - {""}


def _texts_within(value: Any) -> set[str]:
    """Return all texts of a value: of a table those of its values, of a verb what pages show."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, Verb):
        return {value.question, value.definition}
    if isinstance(value, MiningSentences):
        in_line = value.column.replace("\n", " ")
        return {value.map, in_line, value.axis, *value.ends}
    if isinstance(value, EnumType):
        members: list[Any] = list(value)
        return {member.value for member in members}
    if isinstance(value, Registry):
        value = [value[name] for name in value]
    if isinstance(value, Mapping):
        value = value.values()
    texts = set()
    for item in value:
        texts |= _texts_within(item)
    return texts


def sentences_of_page(source: str, name: str = "") -> Sentences:
    """Return the sentences of a template of a page."""
    sentences = Sentences()
    for call in environment().parse(source).find_all(nodes.Call):
        function = getattr(call.node, "name", "")
        for place in SENTENCES_AT.get(function, ()):
            if place < len(call.args):
                texts = _texts_in_expression(call.args[place])
                sentences.add(function, texts, f"{name}:{call.lineno}")
    return sentences


def _texts_in_expression(node: nodes.Expr) -> set[str]:
    constants = [node] if isinstance(node, nodes.Const) else node.find_all(nodes.Const)
    return {constant.value for constant in constants if isinstance(constant.value, str)}


@cache
def every_sentence() -> Sentences:
    """Return the sentences of all that evenhand shows in the language of its reader."""
    every = Sentences({*TERMS, *_texts_of_tables()})
    for sentences in (*_of_modules(), *_of_pages()):
        every.found |= sentences.found
        every.unknown += sentences.unknown
    return every


def _of_modules() -> Iterator[Sentences]:
    for path in sorted((SOURCE / "evenhand").rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        if not any(f"{function}(" in code for function in SENTENCES_AT):
            continue
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield sentences_of(code, ".".join(parts).removesuffix(".__init__"))


def _of_pages() -> Iterator[Sentences]:
    for path in sorted((SOURCE / "evenhand").rglob("*.html.jinja")):
        yield sentences_of_page(path.read_text(encoding="utf-8"), path.name)


def missing(language: str) -> list[str]:
    """Return the sentences that a language has no translation of."""
    translated = {english for english, own in catalogue(language).sentences.items() if own}
    return sorted(every_sentence().found - translated)


def unused(language: str) -> list[str]:
    """Return the translations of sentences that nothing shows any more."""
    return sorted(set(catalogue(language).sentences) - every_sentence().found)


def wrong_fields(language: str) -> list[str]:
    """Return the sentences whose translation has other fields than they have."""
    wrong = []
    for english, own in catalogue(language).sentences.items():
        if own and fields(own) != fields(english):
            wrong.append(english)
    return wrong


def quoted(text: str) -> str:
    """Return a text as TOML has it."""
    return json.dumps(text, ensure_ascii=False)


def main(arguments: list[str] | None = None) -> None:
    """Print how far translations are, or the lines that they lack."""
    others = [language for language in LANGUAGES if language != ENGLISH]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--missing", choices=others, help="print lines to be translated")
    parser.add_argument("--unused", choices=others, help="print what nothing shows")
    options = parser.parse_args(arguments)
    if options.missing:
        for english in missing(options.missing):
            print(f'{quoted(english)} = ""')
    elif options.unused:
        for english in unused(options.unused):
            print(quoted(english))
    else:
        number = len(every_sentence().found)
        for language in others:
            print(f"{language}: {len(missing(language))} of {number} sentences are missing")


if __name__ == "__main__":
    main(sys.argv[1:])
