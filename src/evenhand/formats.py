"""The registry of report formats: the texts in which any evidence can be written.

To add one, write a module with a `Format` and add a line here; another package adds an entry point
of the group `evenhand.formats`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import clip
from evenhand.runtime.registry import Registry

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
