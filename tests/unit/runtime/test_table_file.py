"""Files that are refused before they are read."""

from __future__ import annotations

from evenhand.runtime.errors import DataError
from evenhand.runtime.table_file import check_header, read_frame
from tests.support.helpers import refused


def test_very_many_columns_are_refused_at_once(tmp_path):
    """Names that repeat would be numbered one by one, in time that grows with their square."""
    file = tmp_path / "wide.csv"
    file.write_text(",".join(["a"] * 5_001) + "\n1\n")
    refused(DataError, lambda: read_frame(file), "5,001 columns", "at most 5,000")
    file.write_text(",".join(f"a{number}" for number in range(5_000)) + "\n")
    assert check_header(file) == [5_000]


def test_lines_that_are_no_csv_have_no_width(tmp_path):
    file = tmp_path / "long.csv"
    file.write_text('a,b\n"' + "x" * 200_000)
    assert check_header(file) == []
