"""What a command is told of its workers."""

from __future__ import annotations

from evenhand.runtime.options import TEXT, Option

CLUSTER = Option(
    "cluster",
    TEXT,
    "the cluster that shares the work, all of it unless --n-jobs says less: dask:tcp://HOST:8786,"
    " ray:HOST:6379 or spark:spark://HOST:7077",
    metavar="KIND:ADDRESS",
)
