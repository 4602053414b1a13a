"""The registry of report formats: what an audit, or what any verb found, can be written as.

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
    """One format: its name, the option of `evenhand audit` that names its file, and the function
    that writes it.

    >>> Format("words", lambda found: f"{found.job}: {found.verdict}", help="write a few words here").flag
    '--words'
    """

    name: str
    render: Callable[[Any], str]
    """Makes the text of any evidence."""
    help: str = ""
    option: str = ""
    """The option that names the file; by default the name of the format. "-" says that no command
    writes it.
    """
    what: str = ""
    """What messages call the file."""
    suffixes: tuple[str, ...] = ()
    """How the name of a file must end, where it matters."""

    @property
    def flag(self) -> str:
        """The option of the command line, empty where there is none."""
        return "" if self.option == "-" else self.option or f"--{self.name}"

    @property
    def key(self) -> str:
        """The name of the option as a keyword."""
        return self.flag.lstrip("-").replace("-", "_")


def _problem(_name: str, entry: Any) -> str:
    """Return what is wrong with a format of somebody else."""
    return (
        ""
        if isinstance(entry, Format)
        else f"is {clip(repr(entry))}; it must be an evenhand.formats.Format"
    )


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
