"""The types of arrays and tuples that a search of the lattice works on."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Names: TypeAlias = tuple[str, ...]
"""The features of a set."""
Rows: TypeAlias = NDArray[np.intp]
"""Numbers of rows: of draws, of groups."""
Flags: TypeAlias = NDArray[np.bool_]
"""Whether something holds, for each of many."""
Known: TypeAlias = NDArray[np.int8]
"""What is known of each of many, as a code."""
