"""What every verb keeps: its record, its options in Python, TOML and on the command line, and its
evidence.
"""

from __future__ import annotations

import argparse
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import PURPOSES, options_for
from evenhand.cli.main import main
from evenhand.cli.parser import build
from evenhand.config.file import Config
from evenhand.config.repair import read_repair
from evenhand.methods.audit.checks import jobs, parsed
from evenhand.results.protocol import Evidence
from evenhand.results.reading import evidence_of
from evenhand.runtime.errors import ConfigError, UsageError
from evenhand.runtime.options import Kind, Option, options_of
from evenhand.runtime.registry import Deferred, resolve
from evenhand.verbs import VERBS, Verb
from tests.support.evidence import MAKERS, made
from tests.support.helpers import refused
from tests.support.values import fitting, misfitting

every = pytest.mark.parametrize("verb", VERBS.values(), ids=lambda verb: verb.name)
with_command = pytest.mark.parametrize(
    "verb",
    [verb for verb in VERBS.values() if verb.command is not None],
    ids=lambda verb: verb.name,
)
with_check = pytest.mark.parametrize(
    "verb",
    [verb for verb in VERBS.values() if verb.run is not None],
    ids=lambda verb: verb.name,
)
evidence = pytest.mark.parametrize("name", list(MAKERS))
FIRST = list({name.partition(",")[0]: name for name in reversed(MAKERS)}.values())
"""One piece of evidence of each verb."""


def function_of(verb: Verb) -> Any:
    """Return the public function itself."""
    return (
        resolve(verb.function.place)
        if isinstance(verb.function, Deferred)
        else verb.function
    )


def job_of(verb: Verb) -> tuple[str, bool]:
    """Return the job that a check names for a verb, and whether it is of texts."""
    for one in VERBS.values():
        if one.for_texts == verb.name:
            return one.name, True
    return verb.name, False


def command_parser(name: str) -> argparse.ArgumentParser:
    """Return the parser of a command."""
    for action in build()._actions:
        if isinstance(action, argparse._SubParsersAction):
            found: argparse.ArgumentParser = action.choices[name]
            return found
    raise AssertionError(f"there is no command {name}")


# The record


@every
def test_a_verb_says_what_it_is(verb):
    assert VERBS[verb.name] is verb
    assert verb.question.endswith("?") and verb.question[0].isupper()
    assert verb.definition.endswith(".")
    assert bool(verb.rule[0]) == bool(verb.rule[1])
    assert not verb.rule[0].endswith(".")
    if verb.rule[1]:
        assert verb.rule[1].endswith(".")
    if verb.name in jobs():
        assert verb.says and not verb.says.endswith(".")


@every
def test_every_option_says_what_it_is(verb):
    names = [option.name for option in verb.checks]
    assert len(names) == len(set(names))
    for option in verb.checks:
        assert isinstance(option.kind, Kind)
        assert option.name.isidentifier()
        assert (
            option.help
            and option.help == option.help.strip()
            and not option.help.endswith(".")
        ), option.name
        assert option.help[0].islower(), option.name
        assert option.python or option.toml or option.command, (
            f"nobody can say {option.name}"
        )


@every
def test_all_that_a_record_names_is_there(verb):
    named = [value for value in vars(verb).values() if isinstance(value, Deferred)]
    if verb.command is not None:
        named += [
            value for value in vars(verb.command).values() if isinstance(value, Deferred)
        ]
        for file in verb.command.files:
            named += [
                value for value in (file.check, file.write) if isinstance(value, Deferred)
            ]
    for place in named:
        assert callable(resolve(place.place)), place
    assert issubclass(verb.document(), Evidence)
    assert not verb.for_texts or verb.for_texts in VERBS


# Its options in Python


@every
def test_its_options_are_the_parameters_of_its_function(verb):
    names = options_of(function_of(verb))
    assert sorted(verb.options.python) == sorted(names)


@every
def test_a_wrong_keyword_names_the_nearest(verb):
    for name in verb.options.python:
        words = (f"{verb.name} has no option '{name}x'", f"did you mean '{name}'?")
        if verb.name == "study":
            words = ("run has no option", words[1])
        refused(UsageError, lambda: function_of(verb)(**{f"{name}x": 1}), *words)  # noqa: B023


# Its options in a configuration


@with_check
def test_a_check_takes_its_options_of_toml_and_no_others(verb):
    job, texts = job_of(verb)
    assert set(verb.checks.toml) == {option.name for option in verb.checks if option.toml}
    for option in verb.checks:
        for value in fitting(option)[:3] if option.toml else [1]:
            check = {"job": job, option.name: value}
            if option.toml:
                assert parsed(1, check, texts=texts, written=True).job == job
            else:
                parse = partial(parsed, 1, check, texts=texts, written=True)
                refused(UsageError, parse, "unknown key")


@with_check
def test_a_value_of_another_kind_is_refused(verb):
    job, texts = job_of(verb)
    for option in verb.checks:
        for value in misfitting(option)[:3] if option.toml else ():
            check = {"job": job, option.name: value}
            words = (f"check 1 ({job}) has {option.name} = ",)
            refused(UsageError, lambda: parsed(1, check, texts=texts, written=True), *words)  # noqa: B023


@with_check
def test_a_wrong_key_names_the_nearest(verb):
    job, texts = job_of(verb)
    for name in verb.checks.toml:
        check = {"job": job, f"{name}x": 1}
        words = (f"check 1 ({job}) has an unknown key '{name}x'", f"did you mean '{name}'?")
        refused(UsageError, lambda: parsed(1, check, texts=texts, written=True), *words)  # noqa: B023


def test_a_wrong_key_of_a_repair_names_the_nearest():
    for name in VERBS["repair"].options.toml:
        config = Config(Path("evenhand.toml"), {"repair": {f"{name}x": 1}})
        words = ("[repair] has an unknown key", f"did you mean '{name}'?")
        refused(ConfigError, lambda: read_repair(config, {}), *words)  # noqa: B023


# Its options on the command line


@with_command
def test_a_command_says_what_it_is(verb):
    command = verb.command
    assert command.help and not command.help.endswith(".")
    assert command.example.startswith(f"evenhand {command.name}")
    assert command.purpose in PURPOSES
    assert command.source in ("", "config", "records")
    build().parse_args(command.example.split()[1:])


@with_command
def test_a_command_takes_its_options_and_no_others(verb):
    known = options_for(verb.command, verb)
    names = [option.name for option in known]
    for option in verb.options:
        # A command may have an option of its own under that name, such as the columns that records
        # need.
        assert option.name in names if option.command else option not in known
    shown = {
        action.dest: action
        for action in command_parser(verb.command.name)._actions
        if action.dest != "help"
    }
    assert set(shown) == {option.name for option in known}
    for option in known:
        assert option.help and not option.help.endswith("."), option.name
        assert (shown[option.name].help or "").replace("%%", "%").startswith(option.help)
        flags = [] if option.positional else [option.flag]
        assert set(flags) <= set(shown[option.name].option_strings)


@with_command
def test_a_wrong_option_names_the_nearest(verb, capsys):
    known = options_for(verb.command, verb)
    needed = needed_words(known)
    for option in known:
        if option.positional:
            continue
        assert main([verb.command.name, *needed, f"{option.flag}x", "1"]) == 2
        message = capsys.readouterr().err
        assert message.count("\n") == 1
        assert f"did you mean {option.flag}?" in message, message


def needed_words(known: list[Option]) -> list[str]:
    """Return what a command cannot do without."""
    words: list[str] = []
    for option in known:
        if option.required:
            words += ["x.csv"] if option.positional else [option.flag, "x"]
    return words


@with_command
def test_the_help_of_a_command_tells_all_its_options(verb, capsys):
    assert main([verb.command.name, "--help"]) == 0
    help_text = " ".join(capsys.readouterr().out.split())
    for option in options_for(verb.command, verb):
        assert option.positional or option.flag in help_text
    assert verb.command.example in help_text


# Its evidence


def test_there_is_evidence_of_every_verb():
    assert {name.partition(",")[0] for name in MAKERS} == set(VERBS)


def untimed(text: str) -> str:
    """Return a text without its seconds, of which JSON keeps three decimals."""
    return re.sub(r"[\d.,]+ s\b", "s", text)


@evidence
def test_evidence_is_found_again_in_its_json(name):
    found = made(name)
    verb = name.partition(",")[0]
    assert found.job == verb
    read = evidence_of(json.loads(found.to_json()), where="found.json")
    assert type(read) is type(found)
    assert read.digest == found.digest
    assert read.to_json() == found.to_json()
    assert (read.verdict, read.exit_code, read.story()) == (
        found.verdict,
        found.exit_code,
        found.story(),
    )
    assert [finding.to_dict() for finding in read.findings] == [
        finding.to_dict() for finding in found.findings
    ]
    assert untimed(read.to_text()) == untimed(found.to_text())
    assert read.to_frame().astype(str).equals(found.to_frame().astype(str))
    assert read._repr_html_() == found._repr_html_()


@evidence
def test_the_same_run_gives_the_same_digest(name):
    assert MAKERS[name]().digest == made(name).digest


@evidence
def test_evidence_can_be_shown_in_every_way(name, undrawn):
    found = made(name)
    assert found.to_text() and found.to_text(cases=3, width=60)
    assert found.story().startswith(found.job)
    assert "<" in found._repr_html_()
    assert found.to_html().lstrip().lower().startswith("<!doctype html>")
    assert len(found.to_frame().columns) > 0
    for finding in found.findings:
        assert finding.key and finding.claim and finding.unit
    for part in found.parts:
        assert len({finding.key for finding in part.findings}) == len(part.findings)


@pytest.mark.parametrize("name", FIRST)
def test_evidence_can_be_drawn(name, plotted):
    display = plotted(made(name))
    assert display.ax_ is not None
    assert display.figure_ is not None


@evidence
def test_the_gate_follows_the_exit_code(name):
    found = made(name)
    if found.exit_code == 0:
        assert found.check() is found
        return
    with pytest.raises(AssertionError) as caught:
        found.check()
    assert str(caught.value) == found.story()
