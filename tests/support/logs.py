"""One log of decisions in every place that a log may lie in."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import evenhand as eh

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

ROWS = 1200


def decisions(rows: int = ROWS) -> pd.DataFrame:
    """Decisions with missing values, a text "NA", and a column of fractions."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], rows),
            "age": rng.integers(18, 91, rows),
            "race": rng.choice(np.array(["a", "b", "NA", None], dtype=object), rows),
            "paid": rng.integers(0, 2, rows).astype(float),
            "score": np.round(rng.random(rows), 3),
        }
    )
    chance = 0.4 + 0.25 * (frame["sex"] == "M")
    frame["ok"] = np.where(rng.random(rows) < chance, "yes", "no")
    frame.loc[rng.random(rows) < 0.03, "paid"] = np.nan
    frame["year"] = rng.choice([2025, 2026], rows)
    return frame


def write_everywhere(folder: Path) -> None:
    """Write the same decisions as files of all kinds, as partitions, and into databases."""
    import duckdb
    import pyarrow as pa

    frame = decisions()
    frame.to_csv(folder / "log.csv", index=False)
    frame.to_csv(folder / "log.csv.gz", index=False)
    frame.to_parquet(folder / "log.parquet", index=False)
    frame.to_feather(folder / "log.feather")
    frame.to_json(folder / "log.jsonl", orient="records", lines=True)
    for number, start in enumerate(range(0, len(frame), 500)):
        part = frame[start : start + 500]
        part.to_csv(folder / f"part-{number}.csv", index=False)
    for year, rows in frame.groupby("year"):
        below = folder / "partitions" / f"year={year}"
        below.mkdir(parents=True)
        own = rows.drop(columns="year")
        own[:200].to_parquet(below / "a.parquet", index=False)
        own[200:].to_parquet(below / "b.parquet", index=False)
        (below / "_SUCCESS").touch()
    with closing(sqlite3.connect(folder / "log.db")) as database:
        frame.to_sql("decisions", database, index=False)
    with duckdb.connect(str(folder / "log.duckdb")) as own_file:
        own_file.register("given", pa.Table.from_pandas(frame, preserve_index=False))
        own_file.execute("CREATE TABLE decisions AS FROM given")


def digest_of(log: Any) -> str:
    """Return the digest of what is found in a log."""
    terms: dict[str, Any] = {"outcome": "ok", "positive": "yes"}
    rates = eh.measure_log(
        log,
        over=[("sex",), ("age", "race"), ("year",)],
        bins={"age": [30, 50]},
        truth="paid",
        truth_positive=1,
        limit=0.1,
        **terms,
    )
    return rates.digest


class _Ranges(SimpleHTTPRequestHandler):
    """Files over HTTP, parts of them too, as engines ask for."""

    def log_message(self, *_: Any) -> None:
        """Write nothing."""

    def do_GET(self) -> None:
        """Send the bytes that are asked for."""
        with open(self.translate_path(self.path.partition("?")[0]), "rb") as file:  # noqa: PTH123
            content = file.read()
        asked = self.headers.get("Range", "")
        if not asked:
            self._send(200, content, "")
            return
        first, _, last = asked.removeprefix("bytes=").partition("-")
        start = int(first) if first else max(0, len(content) - int(last))
        end = int(last) + 1 if first and last else len(content)
        part = content[start:end]
        self._send(206, part, f"bytes {start}-{start + len(part) - 1}/{len(content)}")

    def _send(self, code: int, content: bytes, place: str) -> None:
        self.send_response(code)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(content)))
        if place:
            self.send_header("Content-Range", place)
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine, and yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Ranges, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
