"""Where things are that tests read: the repository, what is kept beside the tests, and data beside
the clone.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data"
BESIDE = ROOT.parent / "shared" / "data"
"""Data sets, where `EVENHAND_DATA` names no other folder."""
