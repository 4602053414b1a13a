"""What a command is told of its workers."""

from __future__ import annotations

from evenhand.runtime.options import TEXT, WHOLE, Option

N_JOBS = Option(
    "n_jobs",
    WHOLE,
    "how many processes share the work; -1 takes every core (default: what [audit] says, or 1, or"
    " all of the cluster)",
)
CLUSTER = Option(
    "cluster",
    TEXT,
    "the cluster that shares the work: dask:tcp://HOST:8786, ray:HOST:6379, or"
    " spark:spark://HOST:7077",
    metavar="KIND:ADDRESS",
)
WORKERS = (N_JOBS, CLUSTER)
"""How many workers there are, and where."""
