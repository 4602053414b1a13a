"""Benchmark data sets of the fairness literature, and frames from the user's own files."""

from __future__ import annotations

from evenhand.datasets.loaders import Dataset as Dataset
from evenhand.datasets.loaders import DatasetInfo as DatasetInfo
from evenhand.datasets.loaders import available as available
from evenhand.datasets.loaders import fetch as fetch
from evenhand.datasets.loaders import load as load
from evenhand.datasets.loaders import read_frame as read_frame

__all__ = ["Dataset", "DatasetInfo", "available", "fetch", "load", "read_frame"]
