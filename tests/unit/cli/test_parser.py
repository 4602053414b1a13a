"""The parser made from the options of commands: help texts, examples, and the nearest option."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

import pytest

from evenhand.cli import PURPOSES, commands, options_for
from evenhand.cli.main import main
from evenhand.cli.parser import Parser, build
from evenhand.verbs import VERBS

NAMES = [command.name for command, _ in commands()]


def parsers() -> dict[str, Any]:
    """Return the parser of each command."""
    for action in build()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError("the parser has no commands")


def error_of(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one sentence that a wrong call prints."""
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("evenhand: ")
    assert printed.err.count("\n") == 1
    return printed.err


def test_the_help_groups_commands_by_what_a_person_wants_and_has_an_example_of_each(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    places = [text.index(f"\n{purpose}:\n") for purpose in PURPOSES]
    assert places == sorted(places)
    ends = [*places[1:], text.index("\noptions:\n")]
    for command, _ in commands():
        at = PURPOSES.index(command.purpose)
        lines = text[places[at] : ends[at]].splitlines()
        first_words = [line.split()[:1] for line in lines]
        assert first_words.count([command.name]) == 1, command.name
        number = first_words.index([command.name])
        assert lines[number].endswith(command.help)
        assert lines[number + 1].strip() == command.example
    assert "Exit codes: 0 pass, 1 discrimination found" in text
    assert max(map(len, text.splitlines())) <= 120


def test_every_verb_with_a_command_is_there_and_no_command_twice():
    assert len(NAMES) == len(set(NAMES))
    assert set(parsers()) == set(NAMES)
    of_verbs = {verb.command.name for verb in VERBS.values() if verb.command is not None}
    assert of_verbs <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_everything_that_a_command_takes_has_a_help_text(name, capsys):
    parser = parsers()[name]
    for action in parser._actions:
        assert action.help, f"{name}: {action.dest} has no help text"
        if action.dest != "help":
            assert not action.help.endswith("."), f"{name}: {action.dest}"
            first_letter = action.help[0]
            first_word = action.help.split()[0]
            assert first_letter == first_letter.lower() or first_word.isupper(), action.help
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    for action in parser._actions:
        for flag in action.option_strings:
            assert flag in text


@pytest.mark.parametrize("name", NAMES)
def test_a_command_has_each_option_once_and_all_that_its_verb_declares(name):
    command, verb = commands()[NAMES.index(name)]
    names = [option.name for option in options_for(command, verb)]
    assert len(names) == len(set(names))
    if verb is not None:
        declared = {option.name for option in verb.options if option.command}
        assert declared <= set(names)
        if command.source == "config":
            assert set(verb.bounds) <= set(names)
    parsed = {action.dest for action in parsers()[name]._actions}
    assert parsed == {*names, "help"}


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_command_parses(name):
    command, _ = commands()[NAMES.index(name)]
    program, *arguments = shlex.split(command.example)
    assert program == "evenhand"
    assert build().parse_args(arguments).command == name


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        ("measure --limt 0.1", "--limit"),
        ("measure --limt=0.1", "--limit"),
        ("measure evenhand.toml --n-job-s 2", "--n-jobs"),
        ("measure --no-exat", "--no-exact"),
        ("mine --treatmnt rows", "--treatment"),
        ("search --foud found.csv", "--found"),
        ("impact data.csv --outcome y --over sex --leest-ratio 0.8", "--least-ratio"),
        ("compare guesses.csv --overwite random", "--overwrite"),
        ("audit --basline old.json", "--baseline"),
        ("repair --labeling vote", "--labelling"),
        ("study --stoer study.db", "--store"),
        ("--vresion", "--version"),
    ],
)
def test_a_wrong_option_names_the_nearest_of_its_command(arguments, nearest, capsys):
    words = arguments.split()
    line = error_of(*words, capsys=capsys)
    first = words[0]
    program = "evenhand" if first.startswith("-") else f"evenhand {first}"
    options = [word for word in words if word.startswith("--")]
    wrong = options[-1]
    assert f"unrecognized arguments: {wrong}" in line
    assert f"; did you mean {nearest}?; see {program} --help" in line


@pytest.mark.parametrize(
    "arguments", ["audit --limt 0.1", "data list --limit 3", "replay a.json --over sex"]
)
def test_an_option_of_another_command_is_not_offered(arguments, capsys):
    line = error_of(*arguments.split(), capsys=capsys)
    assert "did you mean" not in line
    assert f"see evenhand {arguments.split()[0]} --help" in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("mesure", "unknown command 'mesure'; did you mean 'measure'?"),
        ("measure --kind casual", "unknown kind 'casual'; did you mean 'causal'?"),
        ("repair --method evend", "did you mean 'evened'?"),
        ("data fetsh adult", "did you mean 'fetch'?"),
        ("data", "required: ACTION"),
        ("data fetch", "data fetch needs the name of a data set"),
        ("data list adult", "run: evenhand data fetch adult"),
        (
            "measure one.toml two.toml",
            "unrecognized arguments: two.toml; see evenhand measure --help",
        ),
        ("measure-log", "required: DATA, --outcome, --over"),
        ("report", "required: RESULT.json"),
        ("measure --limit", "--limit: expected one argument"),
        ("measure --seed x", "--seed: invalid int value: 'x'"),
    ],
)
def test_other_wrong_calls_are_one_sentence_too(arguments, words, capsys):
    assert words in error_of(*arguments.split(), capsys=capsys)


def test_a_parser_of_a_package_that_is_not_here_keeps_its_own_words(capsys):
    parser = Parser(prog="evenhand")
    with pytest.raises(SystemExit) as stop:
        parser.parse_args(["--bogus"])
    assert stop.value.code == 2
    errors = capsys.readouterr().err
    assert errors == "evenhand: unrecognized arguments: --bogus; see evenhand --help\n"
