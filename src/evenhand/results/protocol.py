"""Evidence: what every verb returns, with the same attributes, the same methods and the same gate.

Result, Comparison, Repair, Audit, Tuning and the outcome of a study are all of this kind. A class
of its own says what its findings are and what its JSON holds; what follows from that is written
here once.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from evenhand.results.document import EXIT_CODES, FORMAT, worst_of
from evenhand.runtime import json_file
from evenhand.runtime.errors import INTERRUPTED, UsageError, printable
from evenhand.statistics.estimate import StopReason, Verdict
from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from evenhand.results.evidence import Finding
    from evenhand.runtime.budget import Spent


class Evidence(ABC):
    """What a verb found, and all that is needed to gate on it, to show it, to keep it and to repeat
    it.
    """

    document: ClassVar[str] = "result"
    """What messages call a file of this kind."""

    if TYPE_CHECKING:
        # A subclass has these as fields or properties.
        @property
        def job(self) -> str:
            """The verb that made it."""

        @property
        def seed(self) -> int:
            """The seed that gives the same again."""

        @property
        def level(self) -> float:
            """The level at which all that it says holds together."""

        @property
        def spent(self) -> Spent:
            """Inputs asked, inputs executed, seconds."""

        @property
        def stop(self) -> StopReason:
            """Why the run ended."""

        @property
        def notes(self) -> Sequence[str]:
            """What else a reader should know."""

        @property
        def versions(self) -> Mapping[str, str]:
            """What it depends on."""

        @property
        def findings(self) -> Sequence[Finding]:
            """The evidence, best first."""

    @property
    def parts(self) -> tuple[Evidence, ...]:
        """What single verbs found, of which this is made: of most evidence, itself."""
        return (self,)

    @property
    def verdict(self) -> Verdict | None:
        """Fail if any finding fails, undecided if any is undecided, pass if all pass; None where no
        limit was given.
        """
        return worst_of(finding.verdict for finding in self.findings)

    @property
    def interrupted(self) -> bool:
        """Whether someone stopped the run before it was through."""
        return bool(self.stop is StopReason.INTERRUPTED)

    @property
    def exit_code(self) -> int:
        """The exit code: 0 pass, 1 discrimination found, 3 undecided, 130 where the run was
        interrupted.
        """
        return INTERRUPTED if self.interrupted else EXIT_CODES[self.verdict]

    def check(self) -> Self:
        """Return the evidence if it passes; else raise an AssertionError that tells the story."""
        __tracebackhide__ = True  # pytest shows the test, not this
        if self.exit_code:
            raise AssertionError(self.story())
        return self

    def story(self) -> str:
        """Return the findings that do not pass, each with its simplest case, as text."""
        lines = [f"{self.job}: {self.verdict}", *self.story_lines()]
        return "\n".join(printable(line) for line in lines)

    def story_lines(self) -> list[str]:
        """Return the story line by line, without the first line, which has the verdict."""
        lines = []
        for finding in self.findings:
            if finding.verdict is not Verdict.PASS:
                lines.append(f"  {finding}")
                lines += [f"    {case}" for case in finding.cases[:1]]
        return lines

    def to_frame(self) -> Any:
        """Return the evidence as a pandas frame, as its verb lays it out."""
        return verb_of(self.job).frame(self)

    def to_text(self, *, cases: int = 1, width: int | None = None) -> str:
        """Return the evidence as plain text, as the command line prints it.

        `cases` is how many cases of a finding are shown, and tables are no wider than `width`.
        """
        lines = verb_of(self.job).text(self, cases=cases, width=width)
        return "\n".join(str(line) for line in lines)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return the evidence as one page that needs nothing from elsewhere, and write it where a
        path is given.
        """
        from evenhand.formats import FORMATS

        page = verb_of(self.job).page or FORMATS["html"].render
        return json_file.write(path, page(self), "report")

    def _repr_html_(self) -> str:
        from evenhand.formats import FORMATS

        return str(FORMATS["notebook"].render(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw the evidence with matplotlib and return the display, with its `ax_` and `figure_`."""
        return verb_of(self.job).plot(self).plot(ax=ax)

    @abstractmethod
    def body(self) -> dict[str, Any]:
        """Return what only this kind of evidence holds, of that which the digest is of, as JSON
        holds it.
        """

    def extra(self) -> dict[str, Any]:
        """Return what JSON holds besides, and the digest is not of."""
        return {}

    def content(self) -> dict[str, Any]:
        """Return all that depends on seed, subject and settings alone, as JSON holds it; the digest
        is of this.
        """
        return {
            "format": FORMAT,
            "job": self.job,
            "verdict": self.verdict,
            "seed": self.seed,
            "level": self.level,
            "stop": self.stop.name.lower(),
            "queries": self.spent.queries,
            **self.body(),
            "versions": dict(self.versions),
            "notes": list(self.notes),
        }

    @cached_property
    def digest(self) -> str:
        """A hash that two runs share exactly when they found the same, whatever they cost."""
        return hashlib.sha256(json_file.dump(self.content()).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as JSON-ready values."""
        table = self.content()
        del table["queries"]  # which stand among what was spent
        return {**table, **self.extra(), "spent": self.spent.to_dict(), "digest": self.digest}

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the evidence as JSON, and write it to `path` where one is given."""
        return json_file.write(path, json_file.dump(self.to_dict()), self.document)

    @classmethod
    def from_json(cls, path: str | PathLike[str]) -> Self:
        """Read what `to_json` wrote."""
        return cls.from_dict(json_file.read(path, cls.document), where=str(path))

    @classmethod
    def from_dict(cls, table: Any, *, where: str | None = None) -> Self:
        """Rebuild the evidence from the parsed JSON, of this format or of format 1."""
        place = where or cls.document
        if not isinstance(table, Mapping) or "format" not in table or not cls.owns(table):
            raise UsageError(f"{place}: this is no evenhand {cls.document}")
        known = table["format"]
        if known not in (1, FORMAT):
            raise UsageError(
                f"{place}: {cls.document} format {known} is not {FORMAT}; use the evenhand that"
                " wrote it"
            )
        try:
            return cls.read(_of_this_format(table), place)
        except UsageError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise UsageError(
                f"{place}: this evenhand {cls.document} is damaged ({reason})"
            ) from None

    @classmethod
    @abstractmethod
    def owns(cls, table: Mapping[str, Any]) -> bool:
        """Tell whether parsed JSON is of this kind."""

    @classmethod
    @abstractmethod
    def read(cls, table: Mapping[str, Any], where: str) -> Self:
        """Rebuild the evidence from JSON of the present format; `where` begins error sentences."""


def _of_this_format(table: Mapping[str, Any]) -> Mapping[str, Any]:
    if table["format"] == FORMAT:
        return table
    from evenhand.results.format_1 import upgraded

    return upgraded(table)
