"""The connections of DuckDB and the sessions of Spark that read logs."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from typing import Any

from evenhand.population.logs.engines import DUCKDB, SPARK
from evenhand.population.logs.guard import first_line
from evenhand.runtime.errors import DataError

JAVA = "Spark could not be started, which needs Java 17 or newer"


def duckdb_connection(owner: object, file: str | None = None) -> Any:
    """Return a connection that uses the cores of this process and half of the memory.

    What is more is spilled to a folder, which is removed with the owner.
    """
    import duckdb

    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    folder = tempfile.mkdtemp(prefix="evenhand-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    settings: dict[str, Any] = {
        "threads": cores,
        # Counts do not depend on the order of rows, and to keep it takes memory.
        "preserve_insertion_order": False,
        "temp_directory": folder,
    }
    if file is None:
        connection = duckdb.connect(":memory:", config=settings)
        # Each file is read once; what is kept of it would only take memory.
        connection.execute("SET enable_external_file_cache = false")
    else:
        connection = duckdb.connect(file, read_only=True, config=settings)
    connection.execute("SET memory_limit = '50%'")
    return connection


def spark_session() -> tuple[Any, bool]:
    """Return the running Spark session, or a new one, and whether it is new."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running, False
    builder: Any = SparkSession.builder
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        session = builder.appName("evenhand").getOrCreate()
    except Exception as error:
        raise DataError(f"{JAVA}: {first_line(error)}") from None
    session.sparkContext.setLogLevel("OFF")
    return session, True


class Sessions:
    """The connection or session that an engine needs, opened when it is first asked for."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self._session: Any = None
        self._is_own = False

    def session(self) -> Any:
        """Return the connection of DuckDB, or the session of Spark; None for other engines."""
        if self._session is None and self.engine == DUCKDB:
            self._session, self._is_own = duckdb_connection(self), True
        elif self._session is None and self.engine == SPARK:
            self._session, self._is_own = spark_session()
        return self._session

    def close(self) -> None:
        """Close what was opened here; a Spark session of the user goes on."""
        if self._is_own and self.engine == DUCKDB:
            self._session.close()
        elif self._is_own:
            self._session.stop()
        self._session = None
