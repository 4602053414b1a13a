"""The argument parser, made from the options of commands; errors name the nearest choice."""

from __future__ import annotations

import argparse
import difflib
import math
from typing import TYPE_CHECKING, Any, NoReturn

from evenhand.cli import commands, options_for
from evenhand.cli.overview import CODES, DESCRIPTION, overview
from evenhand.runtime.errors import one_line
from evenhand.runtime.options import (
    CUTS,
    FEATURES,
    FLAG,
    NUMBER,
    STEPS,
    TEXTS,
    WHOLE,
    WORDS_BY_COLUMN,
)
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.runtime.options import Option
    from evenhand.verbs import Command, Verb

_TYPES: dict[str, Any] = {NUMBER.name: float, WHOLE.name: int}
"""The types of values that are not texts, by the name of their kind."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, with the nearest choice."""

    overview: str = ""
    """A help text that replaces the usual one."""
    refusal: str = ""
    """Why a command of another package cannot be run."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, or exit with the reason where the command cannot be run.

        A command refuses unknown options itself and not through its parent, since the nearest
        choice is one of its own options.
        """
        if self.refusal:
            self.exit(2, f"evenhand: {one_line(self.refusal)}\n")
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self._refuse(unknown)
        return options, unknown

    def _refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Exit with the arguments that are unknown, and the nearest option."""
        message = f"unrecognized arguments: {' '.join(unknown)}"
        first = unknown[0].partition("=")[0]
        nearest_flag = self._nearest_flag(first)
        if nearest_flag is not None:
            message += f"; did you mean {nearest_flag}?"
        self.error(message)

    def _nearest_flag(self, word: str) -> str | None:
        if not word.startswith("-"):
            return None
        flag_of = {}
        for action in self._actions:
            for flag in action.option_strings:
                flag_of[flag.lstrip("-")] = flag
        close = difflib.get_close_matches(word.lstrip("-"), flag_of, n=1)
        if close:
            return flag_of[close[0]]
        return None

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, and exit."""
        self.exit(2, f"evenhand: {one_line(message)}; see {self.prog} --help\n")

    def format_help(self) -> str:
        """Return the help."""
        return self.overview or super().format_help()

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        close = difflib.get_close_matches(str(value), choices, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise argparse.ArgumentError(
            None, f"unknown {action.dest} {value!r}; {hint}choose from {', '.join(choices)}"
        )


class _CutsAction(argparse.Action):
    """Gathers where columns are cut: a number of bins for all, or cut points by column."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: Any,
        values: Any,
        *_: Any,
    ) -> None:
        """Read one value, and add it to those before it."""
        column, sign, cuts = str(values).partition("=")
        before = getattr(namespace, self.dest)
        if sign and column.strip() and names_of(cuts):
            merged = dict(before) if isinstance(before, dict) else {}
            merged[column.strip()] = cuts_of(cuts)
            setattr(namespace, self.dest, merged)
        elif self.metavar != "COLUMN=CUTS" and column.strip().isdigit() and not sign:
            setattr(namespace, self.dest, int(column))
        else:
            parser.error(
                f"argument {self.option_strings[0]}: {values!r} cannot be read; write a column and"
                " where it is cut, such as age=25,40,60 or applied=year"
            )


class _LabelsAction(argparse.Action):
    """Gathers what people call the values of columns, column by column."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: Any,
        values: Any,
        *_: Any,
    ) -> None:
        """Read the labels of one column, and add them to those before."""
        column, _sign, pairs = str(values).partition("=")
        labels = {}
        for pair in names_of(pairs):
            value, _colon, label = pair.partition(":")
            labels[value.strip()] = label.strip()
        if not column.strip() or not labels or not all(labels.values()):
            parser.error(
                f"argument {self.option_strings[0]}: {values!r} cannot be read; write a column and"
                " what its values are called, such as sex=0:female,1:male"
            )
        merged = dict(getattr(namespace, self.dest) or {})
        merged[column.strip()] = labels
        setattr(namespace, self.dest, merged)


class _StepsAction(argparse.Action):
    """Gathers by how much features are moved: a number for all, or a number by feature."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: Any,
        values: Any,
        *_: Any,
    ) -> None:
        """Read one value, and add it to those before it."""
        feature, sign, step = str(values).rpartition("=")
        before = getattr(namespace, self.dest)
        try:
            number = float(step)
        except ValueError:
            number = math.nan
        if math.isnan(number) or (sign and not feature.strip()):
            parser.error(
                f"argument {self.option_strings[0]}: {values!r} cannot be read; write a step for"
                " all numbers, such as 5, or for one feature, such as income=5"
            )
        if not sign:
            setattr(namespace, self.dest, number)
            return
        merged = dict(before) if isinstance(before, dict) else {}
        merged[feature.strip()] = number
        setattr(namespace, self.dest, merged)


def cuts_of(text: str) -> str | list[Any]:
    """Return where a column is cut: a word, or cut points.

    >>> cuts_of("25,40.5"), cuts_of("year"), cuts_of("2020-01-01,2021-01-01"), cuts_of("40")
    ([25, 40.5], 'year', ['2020-01-01', '2021-01-01'], [40])
    """
    # Imported where it is used: numpy would make the help slow.
    from evenhand.runtime.values import parse_outcome

    words = names_of(text)
    if len(words) == 1 and words[0].isalpha():
        return words[0]
    cuts: list[Any] = []
    for word in words:
        number = parse_outcome(word)
        cuts.append(number if isinstance(number, int | float) else word)
    return cuts


def build(chosen: str | None = None) -> Parser:
    """Return the parser of all commands.

    Adding options takes time. Where a command is chosen, the other commands of evenhand have none.
    """
    parser = Parser(prog="evenhand", description=DESCRIPTION, epilog=CODES)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    subparsers = parser.add_subparsers(
        dest="command", metavar="COMMAND", parser_class=Parser
    )
    known = []
    broken = VERBS.broken
    for command, verb in commands():
        is_own = verb is None or VERBS.origin(verb.name) == "evenhand"
        try:
            is_chosen = chosen is None or chosen == command.name
            _add_command(subparsers, command, verb, with_options=is_chosen or not is_own)
        # A mistake in the verb of another package must not take the other commands down.
        except Exception as error:
            if is_own or verb is None:
                raise
            package = VERBS.origin(verb.name)
            broken[command.name] = (
                f"verb {verb.name!r}, of the package {package}, cannot be a command: {error}"
            )
        else:
            known.append(command)
    _add_broken(subparsers, broken, known)
    parser.overview = overview(known, list(broken.values()))
    return parser


def _add_broken(
    subparsers: Any, broken: Mapping[str, str], known: Sequence[Command]
) -> None:
    """Add commands that cannot be run, which exit with the reason."""
    names = [command.name for command in known]
    for name, reason in broken.items():
        if name not in subparsers.choices:
            subparsers.add_parser(name)
        if name not in names:
            subparsers.choices[name].refusal = reason


def _add_command(
    subparsers: Any,
    command: Command,
    verb: Verb | None,
    *,
    with_options: bool,
) -> None:
    parser = subparsers.add_parser(
        command.name,
        help=command.help,
        description=f"{command.help[:1].upper()}{command.help[1:]}",
        epilog=f"For example: {command.example}",
    )
    if with_options:
        for option in options_for(command, verb):
            add(parser, option)


def add(parser: argparse.ArgumentParser, option: Option) -> None:
    """Add an option to a parser."""
    if option.positional:
        _add_positional(parser, option)
        return
    if option.short:
        flags = [option.short, option.flag]
    else:
        flags = [option.flag]
    settings: dict[str, Any] = {
        "dest": option.name,
        "help": _plain(option.help),
        "default": option.default,
    }
    if option.required:
        settings["required"] = True
    if option.kind is FLAG and option.default is None:
        # --no-flag is the only way to say false where the function has a default of its own.
        settings["action"] = argparse.BooleanOptionalAction
    elif option.kind is FLAG:
        settings["action"] = "store_true"
    else:
        settings |= _value_settings(option)
    parser.add_argument(*flags, **settings)


def _value_settings(option: Option) -> dict[str, Any]:
    """Return how the value of an option is read."""
    settings = _shown_value(option)
    if option.kind.name in (CUTS.name, "bins"):
        return {**settings, "action": _CutsAction}
    if option.kind is WORDS_BY_COLUMN:
        return {**settings, "action": _LabelsAction}
    if option.kind is STEPS:
        return {**settings, "action": _StepsAction}
    if option.repeat:
        settings["action"] = "append"
    if option.kind is FEATURES or (option.kind is TEXTS and not option.repeat):
        settings["type"] = names_of
    elif option.kind.name in _TYPES:
        settings["type"] = _TYPES[option.kind.name]
    return settings


def _add_positional(parser: argparse.ArgumentParser, option: Option) -> None:
    settings = _shown_value(option)
    settings["help"] = _plain(option.help)
    if option.repeat:
        settings["nargs"] = "+"
    elif not option.required:
        settings["nargs"] = "?"
    parser.add_argument(option.name, **settings)


def _shown_value(option: Option) -> dict[str, Any]:
    """Return how the help shows the value of an option."""
    settings: dict[str, Any] = {}
    if option.metavar:
        settings["metavar"] = option.metavar
    if option.choices:
        settings["choices"] = option.choices
    return settings


def _plain(text: str) -> str:
    """Return a help text for argparse, which would replace names after a percent sign."""
    return text.replace("%", "%%")


def names_of(text: str) -> list[str]:
    """Return the names in a text that commas separate.

    >>> names_of("sex, race")
    ['sex', 'race']
    """
    names = [name.strip() for name in text.split(",")]
    return [name for name in names if name]
