"""Software of every kind, with a bias and without: what `evenhand init` is given."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.front_door import models, programs, real

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Kind:
    """One kind of software: what it needs, and how it is made in a folder."""

    name: str
    build: Callable[[Path, bool], list[str]]
    """Make it, with a bias or without, and return the words after `evenhand init`."""
    needs: tuple[str, ...] = ()
    """Packages that it cannot do without."""
    programs: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    """Data that it is made from."""
    serves: Callable[[Path], contextlib.AbstractContextManager[str]] | None = None
    """Run the service in the folder, and return its address."""

    @property
    def lacking(self) -> str:
        """What is not installed here, empty where nothing lacks."""
        lacking = []
        for name in self.needs:
            if importlib.util.find_spec(name) is None:
                lacking.append(name)
        lacking += [name for name in self.programs if shutil.which(name) is None]
        lacking += [file.name for file in self.files if not file.exists()]
        return ", ".join(lacking)

    @contextlib.contextmanager
    def made(self, folder: Path, *, biased: bool) -> Iterator[list[str]]:
        """Make the software, and yield the words after `evenhand init`."""
        words = self.build(folder, biased)
        if self.serves is None:
            yield words
            return
        with self.serves(folder) as address:
            yield [address if word == "ADDRESS" else word for word in words]


KINDS = (
    Kind("pipeline in joblib", models.joblib_pipeline),
    Kind("pipeline in skops", models.skops_pipeline, needs=("skops",)),
    Kind("histogram boosting with gaps", models.histogram_boosting),
    Kind("XGBoost with categories", models.xgboost_json, needs=("xgboost",)),
    Kind("LightGBM with categories", models.lightgbm_text, needs=("lightgbm",)),
    Kind("CatBoost", models.catboost_file, needs=("catboost",)),
    Kind("ONNX", models.onnx_file, needs=("onnxruntime", "skl2onnx")),
    Kind("regression", models.regression),
    Kind("several classes", models.several_classes),
    Kind("C program", programs.c_program, programs=("cc",)),
    Kind(
        "FastAPI service",
        programs.service,
        needs=("fastapi", "uvicorn"),
        serves=programs.served,
    ),
    Kind("decision log", programs.decision_log),
    Kind("Adult with gaps", models.adult, files=(real.adult_file(),)),
)
"""Every kind of software that the front door must let in."""
BY_NAME = {kind.name: kind for kind in KINDS}
