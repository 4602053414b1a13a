"""The argument parser, made of the options that commands declare; errors name the nearest choice."""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING, Any, NoReturn

from evenhand.cli import commands, options_for
from evenhand.cli.overview import CODES, DESCRIPTION, overview
from evenhand.runtime.options import FEATURES, FLAG, NUMBER, TEXTS, WHOLE
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.runtime.options import Option
    from evenhand.verbs import Command, Verb

_TYPES: dict[str, Any] = {NUMBER.name: float, WHOLE.name: int, "bins": int}
"""How the command line reads kinds of values that are not texts."""


class Parser(argparse.ArgumentParser):
    """An argument parser that says in one line what is wrong, and which choice is nearest."""

    overview: str = ""
    """What stands in place of the usual help, where there is something better."""
    refusal: str = ""
    """Why a command cannot be run, where it belongs to a package that cannot be loaded."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments; a command that cannot be run says why, whatever is asked of it.

        What a command does not know, it refuses itself: its own options are those that may have
        been meant.
        """
        if self.refusal:
            self.exit(2, f"evenhand: {self.refusal}\n")
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self._refuse(unknown)
        return options, unknown

    def _refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Say which arguments are not known, and which option is nearest."""
        wrong = unknown[0].partition("=")[0]
        flags = {
            flag.lstrip("-"): flag for action in self._actions for flag in action.option_strings
        }
        close = (
            difflib.get_close_matches(wrong.lstrip("-"), flags, n=1)
            if wrong.startswith("-")
            else []
        )
        hint = f"; did you mean {flags[close[0]]}?" if close else ""
        self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and exit."""
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


def build(chosen: str | None = None) -> Parser:
    """Return the parser of all commands; where one is chosen, evenhand's others have no options,
    which take time.
    """
    parser = Parser(prog="evenhand", description=DESCRIPTION, epilog=CODES)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    below = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    known = []
    broken = VERBS.broken
    for command, verb in commands():
        try:
            own = verb is None or VERBS.origin(verb.name) == "evenhand"
            _add_command(below, command, verb, whole=chosen in (None, command.name) or not own)
        except (
            Exception
        ) as error:  # a verb of somebody else: its mistake is not to take the other commands down
            if verb is None or VERBS.origin(verb.name) == "evenhand":
                raise
            package = VERBS.origin(verb.name)
            broken[command.name] = (
                f"verb {verb.name!r}, of the package {package}, cannot be a command: {error}"
            )
        else:
            known.append(command)
    names = [command.name for command in known]
    for name, why in broken.items():
        if name not in below.choices:
            below.add_parser(name)
        if name not in names:
            below.choices[name].refusal = why
    parser.overview = overview(known, list(broken.values()))
    return parser


def _add_command(below: Any, command: Command, verb: Verb | None, *, whole: bool) -> None:
    parser = below.add_parser(
        command.name,
        help=command.help,
        description=f"{command.help[:1].upper()}{command.help[1:]}",
        epilog=f"For example: {command.example}",
    )
    for option in options_for(command, verb) if whole else ():
        add(parser, option)


def add(parser: argparse.ArgumentParser, option: Option) -> None:
    """Add an option to a parser."""
    if option.positional:
        _add_positional(parser, option)
        return
    names = [option.short, option.flag] if option.short else [option.flag]
    how: dict[str, Any] = {
        "dest": option.name,
        "help": _plain(option.help),
        "default": option.default,
    }
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
    how: dict[str, Any] = {"help": _plain(option.help)}
    if option.metavar:
        how["metavar"] = option.metavar
    if option.choices:
        how["choices"] = option.choices
    if option.repeat:
        how["nargs"] = "+"
    elif not option.required:
        how["nargs"] = "?"
    parser.add_argument(option.name, **how)


def _plain(text: str) -> str:
    """Return a help text as argparse wants it, which takes a percent sign for the beginning of a
    name.
    """
    return text.replace("%", "%%")


def names_of(text: str) -> list[str]:
    """Return the names in a text that commas separate.

    >>> names_of("sex, race")
    ['sex', 'race']
    """
    return [name.strip() for name in text.split(",") if name.strip()]
