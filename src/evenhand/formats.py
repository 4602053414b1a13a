"""The registry of report formats: the texts in which any evidence can be written.

To add one, write a module with a `Format` and add a line here; another package adds an entry point
of the group `evenhand.formats`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import clip
from evenhand.runtime.registry import Deferred, Registry

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Format:
    """A format, and the option of `evenhand audit` that names its file.

    >>> words = Format("words", lambda found: f"{found.job}: {found.verdict}")
    >>> words.flag
    '--words'
    """

    name: str
    render: Callable[[Any], str]
    """Returns the text of any evidence."""
    help: str = ""
    option: str = ""
    """The option that names the file, by default the name of the format; "-" means no option."""
    what: str = ""
    """What messages call the file."""
    suffixes: tuple[str, ...] = ()
    """How the name of a file must end, where it matters."""

    @property
    def flag(self) -> str:
        """The option of the command line, empty where there is none."""
        if self.option == "-":
            return ""
        return self.option or f"--{self.name}"

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
        "card": "evenhand.methods.audit.formats:CARD",
        "notebook": "evenhand.methods.audit.formats:NOTEBOOK",
    },
    problem=_problem,
)
