"""The registry of report formats: the texts and files in which any evidence can be written.

To add one, write a module with a `Format` and add a line here; another package adds an entry point
of the group `evenhand.formats`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import clip
from evenhand.runtime.language import ENGLISH, speaking
from evenhand.runtime.registry import Deferred, Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    Content: TypeAlias = str | bytes | Mapping[str, str | bytes]
    """A text, the bytes of a file, or what the files of a folder hold, by their names."""


@dataclass(frozen=True)
class Format:
    """A format, and the option of `evenhand audit` that names its file.

    >>> words = Format("words", lambda found: f"{found.job}: {found.verdict}")
    >>> words.flag
    '--words'
    """

    name: str
    render: Callable[..., Any]
    """Returns any evidence as a text, as the bytes of a file, or as files by their names."""
    help: str = ""
    option: str = ""
    """The option that names the file, by default the name of the format; "-" means no option."""
    what: str = ""
    """What messages call the file."""
    suffixes: tuple[str, ...] = ()
    """How the name of a file must end, where it matters."""
    speaks: bool = False
    """Whether it is for readers, in the language that they ask for; others stay as they are."""
    folder: bool = False
    """Whether the option names a folder, for which `render` returns files by their names."""
    compares: bool = False
    """Whether it can show what changed since an older audit: `render` takes it as `since`, and as
    `since_name` what it is called."""
    check: Callable[[], object] | None = None
    """Refuses, before anything is run, where a library or a program that it needs is missing."""

    @property
    def flag(self) -> str:
        """The option of the command line, empty where there is none."""
        if self.option == "-":
            return ""
        return self.option or f"--{self.name}"

    def content(
        self,
        found: Any,
        *,
        language: str = ENGLISH,
        since: Any = None,
        since_name: str = "",
    ) -> Content:
        """Return what a file holds of some evidence, in a language, with what changed since then.

        A format that has no language of its own stays as it is, and one that cannot show what
        changed since an older audit leaves it out.
        """
        with speaking(language if self.speaks else ENGLISH):
            if since is None or not self.compares:
                made: Content = self.render(found)
                return made
            compared: Content = self.render(found, since=since, since_name=since_name)
            return compared

    @property
    def key(self) -> str:
        """The name of the option as a keyword."""
        return self.flag.lstrip("-").replace("-", "_")


def _problem(_name: str, entry: Any) -> str:
    """Return what is wrong with a format of another package, an empty text where nothing is."""
    if isinstance(entry, Format):
        return ""
    return f"is {clip(repr(entry))}; it must be an evenhand.formats.Format"


def notebook_html(kind: str, shown: Any) -> str:
    """Return the form in which a notebook shows an object: a space, a finding, a case, a drawing.

    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> notebook_html("space", Space([category("sex", ["F", "M"])])).startswith("<table>")
    True
    """
    return str(_NOTEBOOK_FORMS[kind](shown))


_NOTEBOOK_FORMS = {
    "space": Deferred("evenhand.report.notebook.forms:space_html"),
    "finding": Deferred("evenhand.report.notebook.forms:finding_html"),
    "case": Deferred("evenhand.report.notebook.forms:case_html"),
    "drawing": Deferred("evenhand.report.notebook.forms:display_html"),
}
"""What notebooks show, by kind; reports are made above the packages whose objects these are."""

FORMATS: Registry[Format] = Registry(
    "format",
    "evenhand.formats",
    {
        "html": "evenhand.methods.audit.formats:HTML",
        "json": "evenhand.methods.audit.formats:JSON",
        "junit": "evenhand.methods.audit.formats:JUNIT",
        "sarif": "evenhand.methods.audit.formats:SARIF",
        "markdown": "evenhand.methods.audit.formats:MARKDOWN",
        "summary": "evenhand.methods.audit.formats:SUMMARY",
        "card": "evenhand.methods.audit.formats:CARD",
        "pdf": "evenhand.methods.audit.formats:PDF",
        "csv": "evenhand.methods.audit.formats:CSV",
        "xlsx": "evenhand.methods.audit.formats:XLSX",
        "notebook": "evenhand.methods.audit.formats:NOTEBOOK",
    },
    problem=_problem,
)
