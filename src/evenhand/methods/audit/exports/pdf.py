"""The report of an audit as PDF: its page, printed by Chromium."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evenhand.methods.audit.exports.chromium import printed
from evenhand.methods.audit.page.page import page

if TYPE_CHECKING:
    from evenhand.methods.audit.audit_result import Audit
    from evenhand.results.protocol import Evidence

_SCRIPTS = re.compile("script-src '[^']*'")
"""What the policy of a page says of scripts."""


def to_pdf(found: Evidence, *, since: Audit | None = None, since_name: str = "") -> bytes:
    """Return any evidence as PDF, with what changed since an older audit where one is given."""
    html = page(found, since=since, since_name=since_name)
    # A page is complete without scripts. One that changes a table on its way to paper would keep
    # Chromium from repeating the head of the table on each page.
    without_scripts = _SCRIPTS.sub("script-src 'none'", html, count=1)
    return printed(without_scripts)
