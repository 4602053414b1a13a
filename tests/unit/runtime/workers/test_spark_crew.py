"""Spark on this machine: the same bytes, and each worker unpacks a model once."""

from __future__ import annotations

import os
from functools import partial

import pytest

import evenhand as eh
from evenhand.runtime.errors import SubjectCrashed
from evenhand.runtime.workers import Streaming, Workers
from evenhand.runtime.workers.clusters import cluster
from tests.support.helpers import refused
from tests.support.paths import ROOT
from tests.unit.runtime.workers.distant import DistantModel, ask, failing, measured, where

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
]
pytest.importorskip("pyspark", reason="Spark is not installed")


@pytest.fixture(scope="module", autouse=True)
def spark():
    from pyspark.sql import SparkSession

    # A session of other tests has the cores that they asked for.
    other = SparkSession.getActiveSession()
    if other is not None:
        other.stop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{ROOT}")
        with cluster("spark:local[2]"):
            yield


def test_bytes_are_the_same_and_a_model_is_sent_once(tmp_path):
    model = DistantModel(tmp_path)
    alone = measured(model, 1)
    assert measured(model, -1) == alone
    assert model.count("asked") > 4
    assert model.count("packed") == 1
    assert model.count("unpacked") <= 2
    assert measured(model, 2) == alone


def test_answers_come_in_order_and_errors_as_they_are():
    with Workers(-1) as workers:
        assert workers.width == 2
        found = workers.map(where, range(6))
        assert [task for task, _ in found] == list(range(6))
        assert os.getpid() not in {process for _, process in found}
        refused(eh.UsageError, partial(workers.map, failing, [1, 2]), "task 2 is wrong")
    with Streaming(2) as workers:
        assert sorted(task for task, _ in workers.each(where, range(6))) == list(range(6))


def test_software_that_ends_every_worker_is_one_sentence(tmp_path):
    words = ("Spark cluster ended again and again", "isolate = true")
    question = partial(ask, DistantModel(tmp_path, doom="always"))
    with Workers(-1) as workers:
        refused(SubjectCrashed, lambda: workers.map(question, [20, 30]), *words)
