"""Evidence: what every verb returns, with the same attributes, the same methods and the same gate.

Result, Comparison, Repair, Audit, Tuning and StudyResult are subclasses. A subclass defines its
findings and the body of its JSON; everything that follows from these is defined here once.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from evenhand.results.document import EXIT_CODES, FORMAT, worst_of
from evenhand.results.layout import EvidenceFields, check_fields
from evenhand.runtime import json_file
from evenhand.runtime.errors import (
    INTERRUPTED,
    EvenhandError,
    UsageError,
    clip,
    place_of,
    printable,
)
from evenhand.runtime.language import speaking
from evenhand.statistics.estimate import StopReason, Verdict
from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from evenhand.results.evidence import Finding
    from evenhand.runtime.budget import Spent

MEASURED_COSTS: Mapping[str, frozenset[str]] = {
    "plan": frozenset({"shared_seconds", "memory", "base", "queries"})
}
"""Fields that follow the clock, by job: they are no part of what was found."""


def _without(value: Any, names: frozenset[str]) -> Any:
    """Return JSON without the fields of some names.

    >>> _without({"parts": [{"inputs": 2, "memory": 3}]}, frozenset({"memory"}))
    {'parts': [{'inputs': 2}]}
    """
    if isinstance(value, dict):
        kept = {}
        for name, part in value.items():
            if name not in names:
                kept[name] = _without(part, names)
        return kept
    if isinstance(value, list | tuple):
        return [_without(part, names) for part in value]
    return value


class Evidence(ABC):
    """What a verb found, with everything needed to gate on it, show it, keep it and repeat it.

    Notes
    -----
    See docs/how-to/audit.md
    """

    document: ClassVar[str] = "result"
    """What messages call a file of this kind."""
    json_fields: ClassVar[Any] = EvidenceFields
    """The fields of its JSON with their types, which a document is checked against."""

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
            """The level at which all its estimates hold together."""

        @property
        def spent(self) -> Spent:
            """Inputs that were asked, inputs that were executed, and seconds."""

        @property
        def stop(self) -> StopReason:
            """Why the run ended."""

        @property
        def notes(self) -> Sequence[str]:
            """What else a reader should know."""

        @property
        def versions(self) -> Mapping[str, str]:
            """The versions of Python and of the packages that it depends on."""

        @property
        def findings(self) -> Sequence[Finding]:
            """The evidence, best first."""

    @property
    def parts(self) -> tuple[Evidence, ...]:
        """The evidence of single verbs that this is made of: for most evidence, itself."""
        return (self,)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on all findings, or None where no limit was given.

        Fail if any finding fails, undecided if any is undecided, pass if all pass.
        """
        return worst_of(finding.verdict for finding in self.findings)

    @property
    def interrupted(self) -> bool:
        """Whether someone stopped the run before it was through."""
        return bool(self.stop is StopReason.INTERRUPTED)

    @property
    def exit_code(self) -> int:
        """The exit code: 0 pass, 1 discrimination found, 3 undecided, 130 interrupted."""
        if self.interrupted:
            return INTERRUPTED
        return EXIT_CODES[self.verdict]

    def check(self) -> Self:
        """Return the evidence if it passes, and raise an AssertionError otherwise.

        Returns
        -------
        Evidence
            This evidence itself, so that calls can be chained.

        Raises
        ------
        AssertionError
            The evidence does not pass; the message is its `story()`.

        Notes
        -----
        See docs/how-to/pytest.md
        """
        __tracebackhide__ = True  # pytest shows the test, not this
        if self.exit_code:
            raise AssertionError(self.story())
        return self

    def story(self) -> str:
        """Return the findings that do not pass, each with its simplest case, as text.

        Returns
        -------
        str
            The verdict on the first line, then two lines for each finding.
        """
        lines = [f"{self.job}: {self.verdict}", *self.story_lines()]
        return "\n".join(printable(line) for line in lines)

    def story_lines(self) -> list[str]:
        """Return the story line by line, without the first line, which has the verdict."""
        lines = []
        for finding in self.findings:
            if finding.verdict is not Verdict.PASS:
                lines.append(f"  {finding}")
                lines.extend(f"    {case}" for case in finding.cases[:1])
        return lines

    def to_frame(self) -> Any:
        """Return the evidence as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            Usually one row for each finding; verbs may have a layout of their own.
        """
        return verb_of(self.job).frame(self)

    def to_text(self, *, cases: int = 1, width: int | None = None) -> str:
        """Return the evidence as plain text, as the command line prints it.

        Parameters
        ----------
        cases
            How many cases of each finding are shown.
        width
            The greatest width of tables, in characters.

        Returns
        -------
        str
            Lines of text, without a newline at the end.
        """
        lines = verb_of(self.job).text(self, cases=cases, width=width)
        return "\n".join(str(line) for line in lines)

    def to_html(
        self, path: str | PathLike[str] | None = None, *, language: str = "en"
    ) -> str:
        """Return the evidence as one self-contained HTML page, and write it to `path` if given.

        Parameters
        ----------
        path
            The file to write.
        language
            The language of the page: "en", "de" or "fr".

        Returns
        -------
        str
            The text of the page.

        Raises
        ------
        UsageError
            The file cannot be written, or there is no such language.

        Notes
        -----
        See docs/how-to/audit.md
        """
        from evenhand.formats import FORMATS

        page = verb_of(self.job).page or FORMATS["html"].render
        with speaking(language):
            text = page(self)
        return json_file.write(path, text, "report")

    def _repr_html_(self) -> str:
        from evenhand.formats import FORMATS

        return str(FORMATS["notebook"].render(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw the evidence with matplotlib and return the display.

        Returns
        -------
        display
            An object with the attributes `ax_` and `figure_`.
        """
        return verb_of(self.job).plot(self).plot(ax=ax)

    @abstractmethod
    def body(self) -> dict[str, Any]:
        """Return what only this kind of evidence holds, as JSON; the digest covers it."""

    def extra(self) -> dict[str, Any]:
        """Return further fields of the JSON, which the digest does not cover."""
        return {}

    def with_log(self, source: Mapping[str, Any]) -> Self:
        """Return the same evidence, of a log that was opened at this source, where it says so."""
        return self

    def content(self) -> dict[str, Any]:
        """Return all that depends on seed, subject and settings alone; the digest is of this."""
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
        content = self.content()
        if self.job in MEASURED_COSTS:
            content = _without(content, MEASURED_COSTS[self.job])
        return hashlib.sha256(json_file.dump(content).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as JSON-ready values.

        Returns
        -------
        dict
            What `to_json` writes and `from_dict` reads.
        """
        table = self.content()
        del table["queries"]  # they are in "spent" as well
        return {
            **table,
            **self.extra(),
            "spent": self.spent.to_dict(),
            "digest": self.digest,
        }

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the evidence as JSON, and write it to `path` if given.

        Returns
        -------
        str
            The text of the file: the same bytes for the same evidence.

        Raises
        ------
        UsageError
            The file cannot be written.
        """
        return json_file.write(path, json_file.dump(self.to_dict()), self.document)

    @classmethod
    def from_json(cls, path: str | PathLike[str]) -> Self:
        """Read what `to_json` wrote.

        Returns
        -------
        Evidence
            Evidence of this class; its digest is that of the evidence that was written.

        Raises
        ------
        UsageError
            The file cannot be read, is damaged, or holds another kind of evidence.

        Notes
        -----
        See docs/how-to/replay.md
        """
        table = json_file.read(path, cls.document)
        return cls.from_dict(table, where=str(path))

    @classmethod
    def from_dict(cls, table: Any, *, where: str | None = None) -> Self:
        """Rebuild the evidence from the parsed JSON, of this format or of format 1.

        Parameters
        ----------
        table
            The parsed JSON.
        where
            The beginning of error messages, such as the name of the file.

        Returns
        -------
        Evidence
            Evidence of this class.

        Raises
        ------
        UsageError
            The document is damaged, of another kind, or of an unknown format.
        """
        place = where or cls.document
        if not isinstance(table, Mapping) or "format" not in table or not cls.owns(table):
            raise UsageError(f"{place}: this is not an evenhand {cls.document}")
        written_format = table["format"]
        if written_format not in (1, FORMAT):
            raise UsageError(
                f"{place}: {cls.document} format {written_format} is not {FORMAT}; use the evenhand"
                " that wrote it"
            )
        with damage_reported(f"{place}: this evenhand {cls.document}"):
            current = _of_this_format(table)
            check_fields(current, cls.json_fields, place)
            found = cls.read(current, place)
            found.check_digest(table, place)
            # Whatever fits no sentence is refused here, and not wherever it is first shown.
            found.to_text()
            found.to_dict()
        return found

    def check_digest(self, table: Mapping[str, Any], where: str) -> None:
        """Refuse a document whose content is not what its digest was made of.

        Format 1 had other fields, and a document without a digest promises nothing.
        """
        # It is computed in any case: content that has no digest is damaged.
        actual = self.digest
        written = table.get("digest", actual)
        if table["format"] == FORMAT and written != actual:
            raise UsageError(
                f"{where}: this evenhand {self.document} was changed after it was written: its"
                f" digest is {clip(str(written), 20)!r}, and its content has {actual[:12]!r}"
            )

    @classmethod
    @abstractmethod
    def owns(cls, table: Mapping[str, Any]) -> bool:
        """Return whether parsed JSON is of this kind."""

    @classmethod
    @abstractmethod
    def read(cls, table: Mapping[str, Any], where: str) -> Self:
        """Rebuild the evidence from JSON of the present format; `where` begins error messages."""


@contextmanager
def damage_reported(what: str) -> Iterator[None]:
    """Turn whatever goes wrong with a document from a file into an error of one sentence.

    Types are checked before; what is left are values that fit no object, such as an interval whose
    ends are swapped, and tables that do not fit together.
    """
    try:
        yield
    except EvenhandError:
        raise
    except Exception as error:
        reason = clip(f"{type(error).__name__}: {error}")
        raise UsageError(
            f"{what} is damaged ({reason}), as seen at {place_of(error)}; if nobody changed it"
            " since it was written, please report this"
        ) from error


def _of_this_format(table: Mapping[str, Any]) -> Mapping[str, Any]:
    if table["format"] == FORMAT:
        return table
    from evenhand.results.format_1 import upgraded

    return upgraded(table)
