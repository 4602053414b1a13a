"""How a report leads to a case: the address that opens it, and the command that asks it again."""

from __future__ import annotations

import base64
import shlex
from typing import TYPE_CHECKING

from evenhand.results.case_id import canonical, case_id

if TYPE_CHECKING:
    from evenhand.results.evidence import Case

EXPLORE_PORT = 8750
"""Where `evenhand explore` listens, unless another port is named or this one is taken."""
EXPLORE_ADDRESS = f"http://127.0.0.1:{EXPLORE_PORT}/"
MOST_LETTERS = 64 * 1024
"""The longest case that an address holds; the page reads no longer one either."""


def explore_link(case: Case) -> str:
    """Return the address that opens a case in `evenhand explore`; empty where it is too long.

    The case stands behind the `#`, so that no browser sends it to anybody.

    >>> from evenhand.results.evidence import Case
    >>> explore_link(Case({"sex": "F"}, {"sex": "M"}, ("no", "yes")))
    'http://127.0.0.1:8750/#case=eyJpbmRpdmlkdWFsIjp7InNleCI6IkYifSwidHdpbiI6eyJzZXgiOiJNIn19'
    """
    written = base64.urlsafe_b64encode(canonical(case).encode("ascii"))
    letters = written.decode("ascii").rstrip("=")
    if len(letters) > MOST_LETTERS:
        return ""
    return f"{EXPLORE_ADDRESS}#case={letters}"


def replay_command(case: Case, file: str) -> str:
    """Return the command that asks a case of a result or an audit again.

    >>> from evenhand.results.evidence import Case
    >>> replay_command(Case({"sex": "F"}, {"sex": "M"}, ("no", "yes")), "my audit.json")
    "evenhand replay 'my audit.json' --case 3c59d908"
    """
    return f"evenhand replay {shlex.quote(file)} --case {case_id(case)}"


def explore_command(case: Case, file: str) -> str:
    """Return the command that opens a case of a result or an audit in `evenhand explore`.

    >>> from evenhand.results.evidence import Case
    >>> explore_command(Case({"sex": "F"}, {"sex": "M"}, ("no", "yes")), "audit.json")
    'evenhand explore audit.json --case 3c59d908'
    """
    return f"evenhand explore {shlex.quote(file)} --case {case_id(case)}"
