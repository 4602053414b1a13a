"""The argument parser, made of the options that commands declare; errors name the nearest choice."""

from __future__ import annotations

import argparse
import difflib
import textwrap
from typing import TYPE_CHECKING, Any, NoReturn

from evenhand.cli import PURPOSES, commands, options_for
from evenhand.runtime.options import FEATURES, FLAG, NUMBER, TEXTS, WHOLE

if TYPE_CHECKING:
    from evenhand.runtime.options import Option
    from evenhand.verbs import Command

DESCRIPTION = "Fairness testing for decision software."
CODES = "Exit codes: 0 pass, 1 discrimination found, 2 bad usage, 3 undecided, 4 the software failed."
_TYPES: dict[str, Any] = {NUMBER.name: float, WHOLE.name: int, "bins": int}
"""How the command line reads kinds of values that are not texts."""


class Parser(argparse.ArgumentParser):
    """An argument parser that says in one line what is wrong, and which choice is nearest."""

    overview: str = ""
    """What stands in place of the usual help, where there is something better."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and exit."""
        wrong = message.removeprefix("unrecognized arguments: ").split()[0]
        if wrong.startswith("-") and not message.startswith(wrong):
            close = difflib.get_close_matches(wrong, _flags(self), n=1)
            message += f"; did you mean {close[0]}?" if close else ""
        self.exit(2, f"evenhand: {message}; see {self.prog} --help\n")

    def format_help(self) -> str:
        """Return the help."""
        return self.overview or super().format_help()

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            close = difflib.get_close_matches(str(value), choices, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise argparse.ArgumentError(
                None, f"unknown {action.dest} {value!r}; {hint}choose from {', '.join(choices)}"
            )


def _flags(parser: argparse.ArgumentParser) -> list[str]:
    """Return the options of a parser, and of the commands that it knows."""
    found: list[str] = []
    for action in parser._actions:
        found += action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                found += _flags(below)
    return found


def build() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(prog="evenhand", description=DESCRIPTION, epilog=CODES)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    below = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    known = commands()
    for command, verb in known:
        one = below.add_parser(
            command.name,
            help=command.help,
            description=f"{command.help[:1].upper()}{command.help[1:]}",
            epilog=f"For example: {command.example}",
        )
        for option in options_for(command, verb):
            add(one, option)
    parser.overview = overview([command for command, _ in known])
    return parser


def add(parser: argparse.ArgumentParser, option: Option) -> None:
    """Add an option to a parser."""
    if option.positional:
        _add_positional(parser, option)
        return
    names = [option.short, option.flag] if option.short else [option.flag]
    how: dict[str, Any] = {"dest": option.name, "help": option.help, "default": option.default}
    if option.required:
        how["required"] = True
    if option.kind is FLAG:
        how["action"] = argparse.BooleanOptionalAction if option.default is None else "store_true"
        parser.add_argument(*names, **how)
        return
    if option.metavar:
        how["metavar"] = option.metavar
    if option.choices:
        how["choices"] = option.choices
    if option.repeat:
        how["action"] = "append"
    if option.kind is FEATURES or (option.kind is TEXTS and not option.repeat):
        how["type"] = names_of
    elif option.kind.name in _TYPES:
        how["type"] = _TYPES[option.kind.name]
    parser.add_argument(*names, **how)


def _add_positional(parser: argparse.ArgumentParser, option: Option) -> None:
    how: dict[str, Any] = {"help": option.help}
    if option.metavar:
        how["metavar"] = option.metavar
    if option.choices:
        how["choices"] = option.choices
    if option.repeat:
        how["nargs"] = "+"
    elif not option.required:
        how["nargs"] = "?"
    parser.add_argument(option.name, **how)


def names_of(text: str) -> list[str]:
    """Return the names in a text that commas separate.

    >>> names_of("sex, race")
    ['sex', 'race']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def overview(known: list[Command]) -> str:
    """Return the help of the whole program: its commands by what a person wants to do, with an example each."""
    lines = ["usage: evenhand [-h] [--version] COMMAND ...", "", DESCRIPTION, ""]
    purposes = [*PURPOSES, *dict.fromkeys(command.purpose for command in known if command.purpose not in PURPOSES)]
    for purpose in purposes:
        mine = [command for command in known if command.purpose == purpose]
        if not mine:
            continue
        lines.append(f"{purpose}:")
        for command in mine:
            lines.append(f"  {command.name:<12} {command.help}")
            lines.append(f"  {'':<12}   {command.example}")
        lines.append("")
    lines += ["options:", "  -h, --help   show this help message and exit", "  --version    print the version and exit"]
    lines += ["", "See `evenhand COMMAND --help` for the options of a command.", *textwrap.wrap(CODES, 100)]
    return "\n".join(lines) + "\n"
