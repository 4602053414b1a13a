"""Names for the arrays that a search works with."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Outcomes: TypeAlias = NDArray[Any]
"""What the software answered: labels, truth values or numbers."""
Numbers: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
"""Numbers in single precision, where memory is what takes the time."""
Counts: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.intp]
Flags: TypeAlias = NDArray[np.bool_]
Keys: TypeAlias = NDArray[np.uint64]
"""Hashes of inputs, and the numbers of cells."""
Generator: TypeAlias = np.random.Generator
