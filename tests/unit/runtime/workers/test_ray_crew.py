"""A Ray cluster of two machines: the same bytes, sent once, and workers that end are survived."""

from __future__ import annotations

import os
from functools import partial

import joblib
import pytest

import evenhand as eh
from evenhand.runtime.errors import SubjectCrashed
from evenhand.runtime.workers import Streaming, Workers, ray_crew
from evenhand.runtime.workers.clusters import cluster
from tests.support.helpers import refused
from tests.support.paths import ROOT
from tests.unit.runtime.workers.distant import DistantModel, ask, failing, measured, where

pytestmark = pytest.mark.heavy
ray = pytest.importorskip("ray", reason="Ray is not installed")


@pytest.fixture(scope="module")
def address():
    """Two machines, as Ray sees them, with one processor each."""
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    found.add_node(num_cpus=1)
    found.wait_for_nodes()
    yield found.address
    found.shutdown()


@pytest.fixture(scope="module")
def machines(address):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{ROOT}")
        with cluster(f"ray:{address}"):
            yield address


def test_bytes_are_the_same_and_a_model_is_sent_once(machines, tmp_path):
    model = DistantModel(tmp_path)
    alone = measured(model, 1)
    assert model.count("packed") == 0
    assert measured(model, -1) == alone
    assert model.count("asked") > 4
    assert model.count("packed") == 1
    assert model.count("unpacked") <= 2
    assert measured(model, 2) == alone
    assert model.count("unpacked") <= 2
    assert len(ray_crew._KEPT) <= 2


def test_answers_come_in_order_and_errors_as_they_are(machines):
    with Workers(-1) as workers:
        assert workers.width == 2
        found = workers.map(where, range(6))
        assert [task for task, _ in found] == list(range(6))
        assert os.getpid() not in {process for _, process in found}
        refused(eh.UsageError, partial(workers.map, failing, [1, 2]), "task 2 is wrong")
        with pytest.raises(KeyError, match="three"):
            workers.map(failing, [1, 3])
    with Streaming(2) as workers:
        assert sorted(task for task, _ in workers.each(where, range(6))) == list(range(6))


def test_a_worker_that_is_killed_during_a_measure_changes_nothing(machines, tmp_path):
    model = DistantModel(tmp_path, doom="once")
    alone = measured(model, 1)
    assert measured(model, -1) == alone
    assert (tmp_path / "doomed").exists()


def test_software_that_ends_every_worker_is_one_sentence(machines, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_crew, "RETRIES", 1)
    words = ("Ray cluster ended again and again", "isolate = true")
    question = partial(ask, DistantModel(tmp_path, doom="always"))
    with Workers(-1) as workers:
        refused(SubjectCrashed, lambda: workers.map(question, [20, 30]), *words)


def test_ray_can_be_named_to_joblib(machines):
    from ray.util.joblib import register_ray

    register_ray()
    with joblib.parallel_config(backend="ray"), Workers(-1) as workers:
        assert os.getpid() not in {process for _, process in workers.map(where, [1, 2])}
