"""Sentences for people stand in one catalogue for each verb, whole, with named fields."""

from __future__ import annotations

import ast
import importlib
import string
from pathlib import Path
from typing import Any

import pytest

METHODS = Path(__file__).parents[2] / "src" / "evenhand" / "methods"
VERBS = sorted(path.parent.name for path in METHODS.glob("*/__init__.py"))
MANY_WORDS = 4
"""From how many words on a text counts as a sentence."""

MARKUP = ("<", "{%", "M ", "var(")
"""What HTML, templates, SVG paths and CSS begin with."""


def catalogue(verb: str) -> dict[str, Any]:
    """Return the sentences of a verb by name; a large catalogue may have a part in a folder."""
    sentences: dict[str, Any] = {}
    for path in sorted((METHODS / verb).rglob("messages.py")):
        place = ".".join(path.relative_to(METHODS).with_suffix("").parts)
        module = importlib.import_module(f"evenhand.methods.{place}")
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, str | dict):
                assert name not in sentences, f"{name} stands in two parts"
                sentences[name] = value
    return sentences


def fields(template: str) -> set[str]:
    """Return the names of the fields of a template."""
    names = set()
    for _, name, _, _ in string.Formatter().parse(template):
        if name is not None:
            names.add(name)
    return names


def sources(verb: str) -> dict[Path, ast.Module]:
    """Return the modules of a verb as syntax trees, without its catalogue."""
    trees = {}
    for path in sorted((METHODS / verb).rglob("*.py")):
        if path.name != "messages.py":
            trees[path] = ast.parse(path.read_text(encoding="utf-8"))
    return trees


def is_message(node: ast.AST) -> bool:
    """Return whether a node is a name of the catalogue: `messages.NAME`."""
    if not isinstance(node, ast.Attribute):
        return False
    return isinstance(node.value, ast.Name) and node.value.id in (
        "messages",
        "tree_messages",
    )


def used_names(verb: str) -> set[str]:
    """Return the names of the catalogue that the modules of a verb use."""
    names = set()
    for tree in sources(verb).values():
        for node in ast.walk(tree):
            if is_message(node):
                assert isinstance(node, ast.Attribute)
                names.add(node.attr)
    return names


def template_of(node: ast.AST) -> ast.Attribute | None:
    """Return the template that a call fills: `messages.NAME.format(...)`, `say(messages.NAME)`."""
    if not isinstance(node, ast.Call):
        return None
    template: ast.AST | None = None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        template = node.func.value
    elif isinstance(node.func, ast.Name) and node.func.id == "say" and node.args:
        template = node.args[0]
    if isinstance(template, ast.Attribute) and is_message(template):
        return template
    return None


def fillings(verb: str) -> list[tuple[str, str, set[str]]]:
    """Return where a template is filled: the place, its name, and the keywords given."""
    found = []
    for path, tree in sources(verb).items():
        for node in ast.walk(tree):
            template = template_of(node)
            if template is None:
                continue
            assert isinstance(node, ast.Call)
            keywords = {keyword.arg or "**" for keyword in node.keywords}
            found.append((f"{path.name}:{node.lineno}", template.attr, keywords))
    return found


def texts(tree: ast.Module) -> list[tuple[int, str]]:
    """Return the texts of a module by line, docstrings left out."""
    passed_over: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            passed_over.add(node.value)
        if isinstance(node, ast.JoinedStr):
            passed_over.update(node.values)
    found = []
    for node in ast.walk(tree):
        if node in passed_over:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append((node.lineno, node.value))
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value for part in node.values if isinstance(part, ast.Constant)]
            found.append((node.lineno, " ".join(str(part) for part in parts)))
    return found


def is_sentence(text: str) -> bool:
    """Return whether a text has as many words as a sentence, and is no markup."""
    words = [word for word in text.split() if word.isalpha()]
    return len(words) >= MANY_WORDS and not text.lstrip().startswith(MARKUP)


@pytest.mark.parametrize("verb", VERBS)
def test_every_template_is_filled_with_the_fields_it_has(verb: str) -> None:
    sentences = catalogue(verb)
    wrong = []
    for place, name, keywords in fillings(verb):
        if fields(sentences[name]) != keywords:
            wrong.append((place, name, fields(sentences[name]) ^ keywords))
    assert not wrong


@pytest.mark.parametrize("verb", VERBS)
def test_a_catalogue_has_what_is_used_and_nothing_else(verb: str) -> None:
    assert used_names(verb) == set(catalogue(verb))


@pytest.mark.parametrize("verb", VERBS)
def test_fields_have_names(verb: str) -> None:
    for name, entry in catalogue(verb).items():
        sentences = [entry] if isinstance(entry, str) else entry.values()
        for sentence in sentences:
            assert all(field.isidentifier() for field in fields(sentence)), name


@pytest.mark.parametrize("verb", VERBS)
def test_sentences_stand_in_the_catalogue_alone(verb: str) -> None:
    strays = []
    for path, tree in sources(verb).items():
        # A verb's record declares its options, with what each says of itself.
        if path.name == "__init__.py":
            continue
        for line, text in texts(tree):
            if is_sentence(text):
                strays.append(f"{path.relative_to(METHODS)}:{line}: {text}")
    assert not strays
