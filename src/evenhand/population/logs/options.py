"""What is said of where a log lies, besides its address, in configurations and commands alike."""

from __future__ import annotations

from evenhand.population.logs.engines import ENGINES
from evenhand.runtime.options import FILE, TEXT, Option, Options

PLACES = (
    "a CSV, Parquet, JSON-lines or Feather file, a folder of Parquet files, a pattern such as"
    " 'logs/2026-*.parquet', an address (s3://, gs://, https://), a DuckDB file or a database"
    " (sqlite:///, postgresql://)"
)
"""What a log may be."""
DATA = Option(
    "data",
    FILE,
    f"the decisions: {PLACES}",
    metavar="DATA",
    positional=True,
    required=True,
)
WHERE = Options.of(
    Option(
        "table",
        TEXT,
        "the table of a DuckDB file or a database (default: the only one)",
        metavar="NAME",
        python=False,
    ),
    Option(
        "query",
        TEXT,
        "a query of a DuckDB file or a database, whose rows are the decisions",
        metavar="SQL",
        python=False,
    ),
    Option(
        "engine",
        TEXT,
        f"what reads the log: {', '.join(ENGINES)} (default: the first that is installed, pandas"
        " for one small file)",
        choices=ENGINES,
        metavar="NAME",
        python=False,
    ),
)
"""The options of a log, which are those of `open_log`."""
