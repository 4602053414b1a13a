"""The pytest plugin: the fixture `fairness`, its options and its marker, and what a run has to tell
of it.

It is loaded into every run of pytest where evenhand is installed: nothing slow is imported until a
test asks for it.
"""

from __future__ import annotations

import argparse
import inspect
import operator
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import evenhand
from evenhand.pytest_plugin.story import (
    EVIDENCE,
    FOLDER,
    VERDICT,
    VERDICTS,
    Settings,
    Tally,
    job_of,
    tell,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

LEAST = {"seed": 0, "queries": 1}
"""The settings that can be given as an option, in the ini-file and by the marker, with the least
that each may be.
"""
_NUMBER = "int" if pytest.version_tuple >= (8, 4) else "string"


@dataclass(eq=False, repr=False)
class Fairness:
    """The verbs of evenhand, with the seed and the budget of this run; every result is remembered
    in `results`.
    """

    settings: Settings
    results: list[Any] = field(default_factory=list, init=False)
    told: dict[int, str] = field(default_factory=dict, init=False)
    """The number of each result that a failure report has told of, and the file that holds it."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a verb of evenhand by its name."""
        __tracebackhide__ = True
        verb = None if name.startswith("_") else _verb(name)
        if verb is None:
            raise AttributeError(_no_verb(name))
        takes = inspect.signature(verb).parameters

        @wraps(verb)
        def call(*args: Any, **options: Any) -> Any:
            __tracebackhide__ = True
            given = {key: value for key, value in self._given().items() if key in takes}
            found = verb(*args, **{**given, **options})
            if hasattr(found, "exit_code"):
                from evenhand.runtime.errors import INTERRUPTED

                self.results.append(found)
                if (
                    found.exit_code == INTERRUPTED
                    or getattr(found, "stop", None) is evenhand.StopReason.INTERRUPTED
                ):
                    raise KeyboardInterrupt  # a verb returns what it has, but whoever asked wants the run to end
            return found

        return call

    def check(self, *results: Any) -> None:
        """Check these results, or all that the test has so far; raise one AssertionError for what
        does not pass.
        """
        __tracebackhide__ = True
        chosen = results or tuple(self.results)
        if not chosen:
            raise evenhand.UsageError(
                "there is nothing to check yet; call a verb first, for example fairness.measure"
            )
        told = []
        for found in chosen:
            if not hasattr(found, "exit_code"):
                raise evenhand.UsageError(
                    f"fairness.check takes results of verbs, not a {type(found).__name__}; "
                    "write fairness.measure(model, space, limit=0.05).check(), for example"
                )
            try:
                found.check()
            except AssertionError as error:
                told.append(str(error))
        if told:
            raise AssertionError("\n".join(told))

    def _given(self) -> dict[str, Any]:
        """Return the keywords that a verb gets where the test does not give its own."""
        budget = (
            {}
            if self.settings.queries is None
            else {"budget": evenhand.Budget(queries=self.settings.queries)}
        )
        return {"seed": self.settings.seed, "progress": False, **budget}

    def __repr__(self) -> str:
        return f"Fairness({self.settings}; results: {len(self.results)})"

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *_verbs()])


SETTINGS = pytest.StashKey[Settings]()
ASKED = pytest.StashKey[Fairness]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options, and the ini-file's defaults for them."""
    group = parser.getgroup("fairness", "fairness (evenhand)")
    told = {
        "seed": "the seed of every verb of the fixture `fairness`; default 0",
        "queries": "the most inputs that each verb of the fixture `fairness` may ask",
    }
    for name, help_ in told.items():
        group.addoption(f"--fairness-{name}", type=partial(_option, name), metavar="N", help=help_)
        parser.addini(
            f"fairness_{name}", f"default of --fairness-{name}", type=_NUMBER, default=None
        )  # type: ignore[arg-type]
    where = f"where failing tests leave their evidence; default {FOLDER} in the root folder"
    group.addoption("--fairness-dir", metavar="FOLDER", help=where)
    parser.addini("fairness_dir", "default of --fairness-dir, from the root folder", default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and read the settings of the run, before any test is collected."""
    config.addinivalue_line(
        "markers", "fairness(seed, queries): what the fixture `fairness` gives its verbs here"
    )
    given = {name: _setting(config, name) for name in LEAST}
    option, ini = config.getoption("fairness_dir"), config.getini("fairness_dir")
    folder = (
        Path(config.invocation_params.dir, option)
        if option
        else Path(config.rootpath, ini or FOLDER)
    )
    config.stash[SETTINGS] = Settings(given["seed"] or 0, given["queries"], folder)
    config.pluginmanager.register(Tally(config, folder), "evenhand-tally")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what the verbs are given, where something was said of it."""
    given = [_setting(config, name) for name in LEAST]
    told = config.get_verbosity() > 0 or any(value is not None for value in given)
    return f"evenhand: {config.stash[SETTINGS]}" if told else None


@pytest.fixture
def fairness(request: pytest.FixtureRequest) -> Fairness:
    """The verbs of evenhand (measure, search, mine, …), with the seed and budget of this run."""
    problem = ""
    try:
        settings = marked(request.node, request.config.stash[SETTINGS])
    except ValueError as error:
        problem = str(error)
    if problem:  # outside of the handler, or the sentence would be told twice
        pytest.fail(problem, pytrace=False)
    asked = request.node.stash[ASKED] = Fairness(settings)
    return asked


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell of what did not pass where a test fails; count what it asked at its end."""
    report = yield
    asked = item.stash.get(ASKED, None)
    if asked is None:
        return report
    fresh = {
        at: found
        for at, found in enumerate(asked.results, start=1)
        if found.exit_code and at not in asked.told
    }
    if report.failed and fresh:
        text, files = tell(item, fresh, asked.settings)
        asked.told |= files
        # A section of the traceback is shown, unlike one of the report, where captured output is
        # not.
        add = getattr(report.longrepr, "addsection", None)
        add("fairness", text) if add else report.sections.append(("fairness", text))
    if report.when == "teardown":
        setattr(report, VERDICTS, [str(found.verdict) for found in asked.results])
        report.user_properties += [
            (VERDICT, f"{job_of(found)}: {found.verdict}") for found in asked.results
        ]
        report.user_properties += [(EVIDENCE, file) for file in asked.told.values() if file]
        del item.stash[ASKED]  # results hold on to data
    return report


def marked(item: Any, settings: Settings) -> Settings:
    """Return the settings of a test: those of the run, but for what its markers say, the nearest
    last.
    """
    from evenhand.runtime.options import refuse_unknown

    for mark in reversed(list(item.iter_markers("fairness"))):
        if mark.args:
            raise evenhand.UsageError(
                f"the marker fairness takes its options by name, {_example(mark.args[0])}"
            )
        refuse_unknown("the marker fairness", mark.kwargs, list(LEAST))
        for name, value in mark.kwargs.items():
            try:
                changed: dict[str, Any] = {
                    name: None if (name, value) == ("queries", None) else whole(name, value)
                }
            except ValueError as error:
                raise evenhand.UsageError(f"the marker fairness: {error}") from None
            settings = replace(settings, **changed)
    return settings


def whole(name: str, value: Any) -> int:
    """Return a setting as a number, or say what it must be.

    >>> whole("seed", "7")
    7
    >>> whole("queries", 0)
    Traceback (most recent call last):
    ValueError: queries = 0 must be a whole number of 1 or more
    """
    least = LEAST[name]
    try:
        number = (
            least - 1
            if isinstance(value, bool)
            else operator.index(int(value) if type(value) is str else value)
        )
    except (TypeError, ValueError):
        number = least - 1
    if number < least:
        from evenhand.runtime.errors import clip

        raise ValueError(f"{name} = {clip(repr(value))} must be a whole number of {least} or more")
    return number


def _option(name: str, text: str) -> int:
    try:
        return whole(name, text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _setting(config: pytest.Config, name: str) -> int | None:
    """Return what was said of a setting, on the command line or else in the ini-file; None where
    nothing was.
    """
    option: int | None = config.getoption(f"fairness_{name}")
    if option is not None:
        return option
    try:
        value = config.getini(f"fairness_{name}")
        return None if value is None else whole(name, value)
    except (pytest.UsageError, TypeError, ValueError) as error:
        must = f"fairness_{name} must be a whole number of {LEAST[name]} or more"
        raise pytest.UsageError(f"{config.inipath}: {must} ({error})") from None


def _verb(name: str) -> Callable[..., Any] | None:
    """Return the function of the package that this names, if it is one that tests software."""
    if name not in evenhand.__all__ or not name.islower():
        return None
    found = getattr(evenhand, name)
    mine = inspect.isfunction(found) and found.__module__.startswith("evenhand.methods.")
    return found if mine and name != "aequitas" else None


def _verbs() -> list[str]:
    return [name for name in evenhand.__all__ if _verb(name)]


def _no_verb(name: str) -> str:
    if name.startswith("_"):
        return f"fairness has no attribute {name!r}"
    if name in evenhand.__all__:
        return f"fairness has no verb {name!r}; the package has it: evenhand.{name}"
    from evenhand.runtime.errors import clip, nearest

    return f"fairness has no verb {clip(repr(name))}; {nearest(name, [*_verbs(), 'check'])}"


def _example(value: object) -> str:
    from evenhand.runtime.errors import clip

    return (
        f"not {clip(repr(value))} alone; write @pytest.mark.fairness(seed=0, queries=1000), for"
        " example"
    )
