"""Which cluster works, and what is said where there is none."""

from __future__ import annotations

import signal
import socket
import sys
from contextlib import nullcontext
from typing import ClassVar

import joblib
import pytest

from evenhand.cli.main import main
from evenhand.runtime.errors import MissingExtra, UsageError
from evenhand.runtime.workers import Workers, dask_crew, ray_crew
from evenhand.runtime.workers.clusters import CLUSTERS, cluster, crew_of, crews
from evenhand.runtime.workers.local import JoblibCrew
from tests.support.helpers import refused


def opened(text: str) -> None:
    with cluster(text):
        raise AssertionError("there is no such cluster")


def nobody() -> str:
    """Return an address at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dask", ["must be a kind and an address", "dask:tcp://host:8786"]),
        ("dask:", ["must be a kind and an address"]),
        ("tcp", ["must be a kind and an address", "ray:host:6379", "spark:spark://"]),
        ("tcp://host:8786", ["unknown kind 'tcp'", "'dask', 'ray', 'spark'"]),
        ("dusk:tcp://host:1", ["unknown kind 'dusk'", "did you mean 'dask'?"]),
        ("", ["must be a kind and an address"]),
    ],
)
def test_a_wrong_cluster_is_one_sentence(text, words):
    refused(UsageError, lambda: opened(text), f"cluster = {text!r}", *words)


@pytest.mark.parametrize(
    ("text", "module", "extra"),
    [
        ("dask:tcp://host:1", "distributed", "dask"),
        ("ray:local", "ray", "ray"),
        ("spark:local", "pyspark.sql", "spark"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    monkeypatch, text, module, extra
):
    monkeypatch.setitem(sys.modules, module, None)
    refused(MissingExtra, lambda: opened(text), f"evenhand[{extra}]")


def test_every_cluster_has_an_example_of_its_kind():
    for kind, crew in crews().items():
        assert crew.kind == kind
        assert crew.example.startswith(f"{kind}:")
    assert list(crews()) == list(CLUSTERS)


def test_without_a_cluster_joblib_does_the_work():
    assert isinstance(crew_of(2), JoblibCrew)
    with joblib.parallel_config(backend="threading"):
        assert isinstance(crew_of(2), JoblibCrew)


class CrewHere(JoblibCrew):
    """A cluster that is this process, and puts a signal handler of its own in place."""

    example = "here:anywhere"
    backend = "NoBackend"
    asked: ClassVar[list[int]] = []

    def __init__(self, connection, n_jobs):
        super().__init__(joblib.parallel.get_active_backend()[0], 1)
        CrewHere.asked.append(n_jobs)

    @classmethod
    def opened(cls, address):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        return nullcontext(address)


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(
        "evenhand.runtime.workers.clusters.crews", lambda: {"here": CrewHere}
    )
    monkeypatch.setattr(CrewHere, "asked", [])


def test_handlers_of_signals_stay_as_they_are(here):
    before = signal.getsignal(signal.SIGTERM)
    with cluster("here:anywhere"):
        assert signal.getsignal(signal.SIGTERM) == before
        assert isinstance(crew_of(2), CrewHere)
    assert not isinstance(crew_of(2), CrewHere)


@pytest.mark.parametrize(("words", "n_jobs"), [([], -1), (["--n-jobs", "3"], 3)])
def test_a_command_is_run_on_its_cluster(here, monkeypatch, words, n_jobs):
    def run(verb, options):
        with Workers(options.n_jobs) as workers:
            return sum(workers.map(abs, [-1, -2]))

    monkeypatch.setattr("evenhand.cli.checks.run_checks", run)
    assert main(["measure", "--cluster", "here:anywhere", *words]) == 3
    assert CrewHere.asked == [n_jobs]


def test_a_wrong_cluster_ends_a_command_with_2(capsys):
    assert main(["measure", "--cluster", "dusk:tcp://host:1"]) == 2
    assert "unknown kind 'dusk'" in capsys.readouterr().err


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["dask", "ray"])
def test_an_address_without_a_cluster_is_one_sentence(monkeypatch, kind):
    pytest.importorskip(
        {"dask": "distributed"}.get(kind, kind), reason=f"{kind} is missing"
    )
    monkeypatch.setattr(dask_crew, "CONNECT_SECONDS", 0.5)
    monkeypatch.setattr(ray_crew, "CONNECT_SECONDS", 0.5)
    address = nobody()
    text = f"dask:tcp://{address}" if kind == "dask" else f"ray:{address}"
    refused(UsageError, lambda: opened(text), text, "no cluster answers")
