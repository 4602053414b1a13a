"""The files that a path names, and the refusal of those with other columns."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.population.logs.files import NULL_PARTITION, log_files
from evenhand.runtime.errors import DataError
from tests.support.helpers import refused

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
ROWS = pd.DataFrame({"sex": ["F", "M"], "age": [30, 40]})


def write(folder, name, frame=ROWS):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".csv":
        frame.to_csv(file, index=False)
    else:
        frame.to_parquet(file, index=False)
    return str(file)


def test_folders_name_columns_of_one_kind(tmp_path):
    write(tmp_path, "year=2026/month=01/region=a%20b/x.parquet")
    write(tmp_path, f"year={NULL_PARTITION}/month=02/region=7/x.parquet")
    files = log_files(str(tmp_path))
    assert files.columns == ("sex", "age")
    assert files.partitions == {"year": "whole", "month": "whole", "region": "text"}


def test_folders_above_a_pattern_are_no_columns(tmp_path):
    write(tmp_path, "year=2026/month=01/x.parquet")
    pattern = str(tmp_path / "year=2026" / "month=*" / "x.parquet")
    assert log_files(pattern).partitions == {"month": "whole"}


def test_notes_of_engines_are_no_data(tmp_path):
    kept = write(tmp_path, "x.parquet")
    write(tmp_path, "_temporary/x.parquet")
    write(tmp_path, ".hidden.parquet")
    assert log_files(str(tmp_path)).paths == (kept,)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_that_lacks_a_column_is_named(tmp_path, suffix):
    write(tmp_path, f"a.{suffix}")
    write(tmp_path, f"b.{suffix}", ROWS.drop(columns="age"))
    pattern = str(tmp_path / f"*.{suffix}")
    refused(DataError, lambda: log_files(pattern), f"b.{suffix}' lacks the column 'age'")


def test_a_file_with_a_further_column_or_another_type_is_named(tmp_path):
    write(tmp_path, "a.parquet")
    write(tmp_path, "b.parquet", ROWS.assign(more=1))
    refused(DataError, lambda: log_files(str(tmp_path)), "b.parquet' has the column 'more'")
    write(tmp_path, "b.parquet", ROWS.astype({"age": str}))
    refused(DataError, lambda: log_files(str(tmp_path)), "b.parquet' holds string", "'age'")


def test_folders_that_name_other_columns_are_refused(tmp_path):
    write(tmp_path, "year=2026/x.parquet")
    write(tmp_path, "month=1/x.parquet")
    refused(DataError, lambda: log_files(str(tmp_path)), "'year'", "'month'")


def test_files_of_two_kinds_are_refused(tmp_path):
    write(tmp_path, "a.csv")
    write(tmp_path, "a.parquet")
    refused(DataError, lambda: log_files(str(tmp_path / "a.*")), "several kinds")


def test_a_folder_of_other_files_gets_a_hint(tmp_path):
    write(tmp_path, "a.csv")
    refused(DataError, lambda: log_files(str(tmp_path)), "without Parquet files", "*.csv'")
