"""Values on their way into a page: escaped, and whole at the end of a line."""

from __future__ import annotations

from evenhand.report.html_page import PIECES
from evenhand.report.templates import piece


def test_no_line_of_a_paragraph_ends_before_a_per_cent_sign():
    for macro in ("paragraph", "soft_paragraph"):
        shown = str(piece(PIECES, macro, "50 % of <all>, 9 % of some"))
        assert "50&nbsp;% of &lt;all&gt;, 9&nbsp;% of some" in shown
