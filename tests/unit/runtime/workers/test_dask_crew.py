"""A Dask cluster of two processes: the same bytes, sent once, and workers that end are survived."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import joblib
import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.runtime.errors import EvenhandWarning, SubjectCrashed
from evenhand.runtime.workers import Streaming, Workers, dask_crew
from evenhand.runtime.workers.clusters import cluster
from tests.support.helpers import refused
from tests.unit.runtime.workers.distant import (
    SPACE,
    DistantModel,
    ask,
    failing,
    measured,
    where,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

pytestmark = pytest.mark.heavy
distributed = pytest.importorskip("distributed", reason="Dask is not installed")


@pytest.fixture(scope="module")
def local():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as found:
        yield found


@pytest.fixture
def client(local):
    with distributed.Client(local) as client, joblib.parallel_config(backend="dask"):
        client.wait_for_workers(2)
        yield client


def test_bytes_are_the_same_and_a_model_is_sent_and_unpacked_once(client, tmp_path):
    model = DistantModel(tmp_path)
    alone = measured(model, 1)
    assert model.count("packed") == 0
    assert measured(model, -1) == alone
    assert model.count("asked") > 4
    assert model.count("packed") == 1
    assert model.count("unpacked") <= 2
    # Another call finds it where it is.
    assert measured(model, 2) == alone
    assert model.count("unpacked") <= 2
    assert len(dask_crew._KEPT[client]) <= 2


def test_answers_come_in_order_and_errors_as_they_are(client):
    with Workers(-1) as workers:
        assert workers.width == 2
        found = workers.map(where, range(6))
        assert [task for task, _ in found] == list(range(6))
        assert os.getpid() not in {process for _, process in found}
        refused(eh.UsageError, partial(workers.map, failing, [1, 2]), "task 2 is wrong")
        with pytest.raises(KeyError, match="three"):
            workers.map(failing, [1, 3])
        large = [bytes(2_000_000), bytes(1_500_000)]
        assert workers.map(len, large) == [2_000_000, 1_500_000]
    with Streaming(2) as workers:
        assert sorted(task for task, _ in workers.each(where, range(6))) == list(range(6))


def test_a_worker_that_is_killed_during_a_measure_changes_nothing(client, tmp_path):
    model = DistantModel(tmp_path, doom="once")
    alone = measured(model, 1)
    assert measured(model, -1) == alone
    assert (tmp_path / "doomed").exists()


def test_what_all_workers_lost_is_sent_again(client, tmp_path):
    model = DistantModel(tmp_path)
    with Workers(-1) as workers:
        first = workers.map(partial(ask, model), [30, 50])
        assert first == [[False, False], [False, True]]
        client.restart()
        assert workers.map(partial(ask, model), [30, 50]) == first
    assert model.count("packed") == 1


def test_software_that_ends_every_worker_is_one_sentence(
    client, local, tmp_path, monkeypatch
):
    monkeypatch.setattr(local.scheduler, "allowed_failures", 0)
    words = ("Dask cluster ended again and again", "isolate = true")
    question = partial(ask, DistantModel(tmp_path, doom="always"))
    with Workers(-1) as workers:
        refused(SubjectCrashed, lambda: workers.map(question, [20, 30]), *words)


def test_software_that_exits_is_one_sentence(client, tmp_path):
    question = partial(ask, DistantModel(tmp_path, doom="exit"))
    with Workers(-1) as workers:
        refused(SubjectCrashed, lambda: workers.map(question, [20, 30]), "sys.exit(3)")


def test_programs_are_run_by_this_process(client, monkeypatch):
    def replies(*_):
        raise AssertionError("a program was sent to a cluster")

    monkeypatch.setattr(dask_crew.DaskCrew, "replies", replies)
    lines = "import sys; [print(line.count('M'), flush=True) for line in sys.stdin]"
    with eh.Subject.of("stream", [sys.executable, "-c", lines], SPACE) as subject:
        alone = eh.measure(subject, seed=1, margin=0.1, exact=False)
        found = eh.measure(subject, seed=1, margin=0.1, exact=False, n_jobs=-1)
    assert found.digest == alone.digest


def test_threads_of_a_worker_take_turns(tmp_path):
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as local,
        distributed.Client(local),
        joblib.parallel_config(backend="dask"),
    ):
        model = DistantModel(tmp_path)
        alone = measured(model, 1)
        with pytest.warns(EvenhandWarning, match="2 threads, of which one is used"):
            assert measured(model, -1) == alone


def test_a_cluster_is_found_by_its_address(local):
    with cluster(f"dask:{local.scheduler_address}"), Workers(-1) as workers:
        assert os.getpid() not in {process for _, process in workers.map(where, [1, 2])}


def test_a_command_is_run_on_a_cluster(local, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rule.py").write_text("def lend(people):\n    return people['age'] > 40\n")
    (tmp_path / "evenhand.toml").write_text(
        "[subject]\nfunction = 'rule:lend'\n[space]\nprotected = ['sex']\n"
        "[space.features.sex]\nkind = 'category'\nlevels = ['F', 'M']\n"
        "[space.features.age]\nkind = 'integer'\nlow = 18\nhigh = 90\n"
    )
    assert main(["measure"]) == 0
    alone = capsys.readouterr().out
    assert main(["measure", "--cluster", f"dask:{local.scheduler_address}"]) == 0
    assert capsys.readouterr().out == alone


def test_a_cluster_without_workers_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(dask_crew, "CONNECT_SECONDS", 0.3)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as local,
        distributed.Client(local),
        joblib.parallel_config(backend="dask"),
    ):
        refused(
            eh.UsageError, lambda: measured(DistantModel(tmp_path), -1), "has no workers"
        )


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        (("3.1", "0.1"), "runs Python 3.1, and this process runs 3."),
        ((None, None), "has no evenhand; install evenhand"),
        ((None, "0.0.0"), "has evenhand 0.0.0, and this process has"),
    ],
)
def test_workers_with_other_versions_are_named(versions, words):
    own = ".".join(map(str, sys.version_info[:2]))
    found = {"tcp://10.0.0.7:1": (versions[0] or own, versions[1])}
    refused(eh.UsageError, lambda: dask_crew._check_versions(found), "10.0.0.7", words)


def test_an_audit_runs_on_the_cluster_that_its_file_names(local, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("lend.py").write_text("def lend(people):\n    return people['age'] > 40\n")
    table = """
[subject]
function = "lend:lend"
[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features.age]
kind = "integer"
low = 18
high = 90
[[checks]]
job = "measure"
limit = 0.05
[audit]
"""
    Path("evenhand.toml").write_text(table)
    alone = eh.audit("evenhand.toml").digest
    address = f"dask:{local.scheduler_address}"
    Path("evenhand.toml").write_text(table + f'cluster = "{address}"\n')
    named: list[str] = []

    def noted(text: str) -> AbstractContextManager[None]:
        named.append(text)
        return cluster(text)

    monkeypatch.setattr("evenhand.config.checks.cluster", noted)
    assert eh.audit("evenhand.toml").digest == alone
    assert named == [address]
