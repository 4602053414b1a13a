"""The pytest plugin: the fixture `fairness`, its options, its marker, and its part of a report.

It is loaded into every run of pytest where evenhand is installed: nothing slow is imported until a
test asks for it.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import operator
import os
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
    VerdictTally,
    failure_report,
    job_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

LEAST = {"seed": 0, "queries": 1}
"""The settings that are options, keys of the ini-file and keywords of the marker.

Each with the least that it may be.
"""
_NUMBER: Any = "int" if pytest.version_tuple >= (8, 4) else "string"


@dataclass(eq=False, repr=False)
class Fairness:
    """The verbs of evenhand, with the seed and the budget of this run.

    Every result is remembered in `results`.
    """

    settings: Settings
    results: list[Any] = field(default_factory=list, init=False)
    reported: dict[int, str] = field(default_factory=dict, init=False)
    """The number of each result that a failure report has shown, and the file that holds it."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a verb of evenhand by its name."""
        __tracebackhide__ = True
        verb = None if name.startswith("_") else _verb(name)
        if verb is None:
            raise AttributeError(_no_verb(name))
        parameters = inspect.signature(verb).parameters

        @wraps(verb)
        def call(*args: Any, **options: Any) -> Any:
            __tracebackhide__ = True
            keywords: dict[str, Any] = {}
            for key, value in self._defaults().items():
                if key in parameters:
                    keywords[key] = value
            keywords.update(options)
            found = verb(*args, **keywords)
            if hasattr(found, "exit_code"):
                self.results.append(found)
                if _was_interrupted(found):
                    # A verb returns what it has, but whoever interrupted it wants the run to end.
                    raise KeyboardInterrupt
            return found

        return call

    def check(self, *results: Any) -> None:
        """Check these results, or all that the test has so far.

        Raises one AssertionError for all that do not pass.
        """
        __tracebackhide__ = True
        chosen = results or tuple(self.results)
        if not chosen:
            raise evenhand.UsageError(
                "there is nothing to check yet; call a verb first, for example fairness.measure"
            )
        failures = []
        for found in chosen:
            if not hasattr(found, "exit_code"):
                raise evenhand.UsageError(
                    f"fairness.check takes results of verbs, not a {type(found).__name__}; "
                    "write fairness.measure(model, space, limit=0.05).check(), for example"
                )
            try:
                found.check()
            except AssertionError as error:
                failures.append(str(error))
        if failures:
            raise AssertionError("\n".join(failures))

    def _defaults(self) -> dict[str, Any]:
        """Return the keywords that a verb gets where the test does not give its own."""
        defaults: dict[str, Any] = {"seed": self.settings.seed, "progress": False}
        if self.settings.n_jobs is not None:
            defaults["n_jobs"] = share_of_cores(self.settings.n_jobs)
        if self.settings.queries is not None:
            defaults["budget"] = evenhand.Budget(queries=self.settings.queries)
        return defaults

    def __repr__(self) -> str:
        return f"Fairness({self.settings}; results: {len(self.results)})"

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *_verbs()])


SETTINGS = pytest.StashKey[Settings]()
ASKED = pytest.StashKey[Fairness]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options, and the ini-file's defaults for them."""
    group = parser.getgroup("fairness", "fairness (evenhand)")
    help_of = {
        "seed": "the seed of every verb of the fixture `fairness`; default 0",
        "queries": "the most inputs that each verb of the fixture `fairness` may ask",
    }
    for name, help_text in help_of.items():
        group.addoption(
            f"--fairness-{name}",
            type=partial(_option, name),
            metavar="N",
            help=help_text,
        )
        default_of = f"default of --fairness-{name}"
        parser.addini(f"fairness_{name}", default_of, type=_NUMBER, default=None)
    group.addoption(
        "--fairness-n-jobs",
        type=_jobs_option,
        metavar="N",
        help="how many processes share the work of each verb; -1 takes every core; default 1",
    )
    jobs = "default of --fairness-n-jobs"
    parser.addini("fairness_n_jobs", jobs, type=_NUMBER, default=None)
    where = f"where failing tests leave their evidence; default {FOLDER} in the root folder"
    group.addoption("--fairness-dir", metavar="FOLDER", help=where)
    parser.addini(
        "fairness_dir", "default of --fairness-dir, from the root folder", default=None
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and read the settings of the run, before any test is collected."""
    config.addinivalue_line(
        "markers",
        "fairness(seed, queries): what the fixture `fairness` gives its verbs here",
    )
    seed = _setting(config, "seed")
    queries = _setting(config, "queries")
    # An option is seen from where pytest was started, the ini-file from its own folder.
    option = config.getoption("fairness_dir")
    ini = config.getini("fairness_dir")
    if option:
        folder = Path(config.invocation_params.dir, option)
    else:
        folder = Path(config.rootpath, ini or FOLDER)
    config.stash[SETTINGS] = Settings(seed or 0, queries, folder, _jobs_setting(config))
    config.pluginmanager.register(VerdictTally(config, folder), "evenhand-tally")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Return the settings of the verbs, where some are set or the report is to be long."""
    settings = [_setting(config, name) for name in LEAST]
    are_set = any(setting is not None for setting in settings)
    if not are_set and config.get_verbosity() <= 0:
        return None
    return f"evenhand: {config.stash[SETTINGS]}"


@pytest.fixture
def fairness(request: pytest.FixtureRequest) -> Fairness:
    """The verbs of evenhand (measure, search, mine, …), with the seed and budget of this run."""
    problem = ""
    try:
        settings = marked(request.node, request.config.stash[SETTINGS])
    except ValueError as error:
        problem = str(error)
    if problem:  # outside of the handler, or pytest would print the sentence twice
        pytest.fail(problem, pytrace=False)
    verbs = Fairness(settings)
    request.node.stash[ASKED] = verbs
    return verbs


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what did not pass to the report of a test that fails; count its results at its end."""
    report = yield
    verbs = item.stash.get(ASKED, None)
    if verbs is None:
        return report
    failed: dict[int, Any] = {}
    for number, found in enumerate(verbs.results, start=1):
        if found.exit_code and number not in verbs.reported:
            failed[number] = found
    if report.failed and failed:
        text, files = failure_report(item, failed, verbs.settings)
        verbs.reported |= files
        # pytest may be told not to show captured output, and then leaves out the sections of a
        # report, but not those of a traceback.
        add_section = getattr(report.longrepr, "addsection", None)
        if add_section:
            add_section("fairness", text)
        else:
            report.sections.append(("fairness", text))
    if report.when == "teardown":
        verdicts = [str(found.verdict) for found in verbs.results]
        setattr(report, VERDICTS, verdicts)
        for found in verbs.results:
            verdict = f"{job_of(found)}: {found.verdict}"
            report.user_properties.append((VERDICT, verdict))
        for file in verbs.reported.values():
            if file:
                report.user_properties.append((EVIDENCE, file))
        del item.stash[ASKED]  # results hold on to data
    return report


def _was_interrupted(found: Any) -> bool:
    from evenhand.runtime.errors import INTERRUPTED

    stop = getattr(found, "stop", None)
    return found.exit_code == INTERRUPTED or stop is evenhand.StopReason.INTERRUPTED


def marked(item: Any, settings: Settings) -> Settings:
    """Return the settings of a test: those of the run, but for what its markers say.

    The nearest marker has the last word.
    """
    from evenhand.runtime.options import refuse_unknown

    for mark in reversed(list(item.iter_markers("fairness"))):
        if mark.args:
            raise evenhand.UsageError(
                f"the marker fairness takes its options by name, {_example(mark.args[0])}"
            )
        refuse_unknown("the marker fairness", mark.kwargs, list(LEAST))
        for name, value in mark.kwargs.items():
            without_limit = name == "queries" and value is None
            try:
                number = None if without_limit else whole(name, value)
            except ValueError as error:
                raise evenhand.UsageError(f"the marker fairness: {error}") from None
            changed: dict[str, Any] = {name: number}
            settings = replace(settings, **changed)
    return settings


def whole(name: str, value: Any) -> int:
    """Return a setting as a number, or raise a ValueError that says what it must be.

    >>> whole("seed", "7")
    7
    >>> whole("queries", 0)
    Traceback (most recent call last):
    ValueError: queries = 0 must be a whole number of 1 or more
    """
    least = LEAST[name]
    number = None
    if not isinstance(value, bool):
        with contextlib.suppress(TypeError, ValueError):
            # Texts come from the command line; other values must be whole numbers already.
            given = int(value) if type(value) is str else value
            number = operator.index(given)
    if number is None or number < least:
        from evenhand.runtime.errors import clip

        text = clip(repr(value))
        raise ValueError(f"{name} = {text} must be a whole number of {least} or more")
    return number


def _option(name: str, text: str) -> int:
    try:
        return whole(name, text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def jobs(value: Any) -> int:
    """Return a number of processes, or raise a ValueError that says what it must be.

    >>> jobs("-1")
    -1
    """
    number = None
    if not isinstance(value, bool):
        with contextlib.suppress(TypeError, ValueError):
            number = int(value)
    if not number:
        raise ValueError(f"n_jobs = {value!r} must be a whole number other than 0")
    return number


def _jobs_option(text: str) -> int:
    try:
        return jobs(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _jobs_setting(config: pytest.Config) -> int | None:
    """Return how many processes share the work; None where neither option nor ini-file says it."""
    option: int | None = config.getoption("fairness_n_jobs")
    if option is not None:
        return option
    try:
        value = config.getini("fairness_n_jobs")
        return None if value is None else jobs(value)
    except (pytest.UsageError, TypeError, ValueError) as error:
        must = "fairness_n_jobs must be a whole number other than 0"
        raise pytest.UsageError(f"{config.inipath}: {must} ({error})") from None


def share_of_cores(n_jobs: int) -> int:
    """Return how many processes a verb may use: of all cores, the part of this one of xdist's.

    >>> share_of_cores(2)
    2
    """
    beside = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if n_jobs > 0 or beside == 1:
        return n_jobs
    import joblib

    return max(1, int(joblib.effective_n_jobs(n_jobs)) // beside)


def _setting(config: pytest.Config, name: str) -> int | None:
    """Return a setting of the command line, or else of the ini-file; None where it is not set."""
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
    if not inspect.isfunction(found) or name == "aequitas":
        return None
    return found if found.__module__.startswith("evenhand.methods.") else None


def _verbs() -> list[str]:
    return [name for name in evenhand.__all__ if _verb(name)]


def _no_verb(name: str) -> str:
    if name.startswith("_"):
        return f"fairness has no attribute {name!r}"
    if name in evenhand.__all__:
        return f"fairness has no verb {name!r}; the package has it: evenhand.{name}"
    from evenhand.runtime.errors import clip, nearest

    choices = [*_verbs(), "check"]
    return f"fairness has no verb {clip(repr(name))}; {nearest(name, choices)}"


def _example(value: object) -> str:
    from evenhand.runtime.errors import clip

    return (
        f"not {clip(repr(value))} alone; write @pytest.mark.fairness(seed=0, queries=1000), for"
        " example"
    )
