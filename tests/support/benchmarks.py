"""The programs under benchmarks/, which are no package, as modules."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

from tests.support.paths import ROOT

if TYPE_CHECKING:
    from types import ModuleType


def benchmark(name: str) -> ModuleType:
    """Load a program under benchmarks/ by its name."""
    path = ROOT / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Data classes look their own module up while they are made.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
