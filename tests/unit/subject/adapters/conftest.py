"""Fixtures for the adapters: a service on loopback, and adapters that ask it."""

from __future__ import annotations

import pytest

from evenhand.subject.adapters.http.adapter import HttpAdapter
from tests.unit.subject.adapters.service import LoopbackService, serving


@pytest.fixture
def service():
    with serving(LoopbackService()) as server:
        yield server


@pytest.fixture
def adapt(service):
    """Build adapters that ask the service, with short pauses."""
    adapters = []

    def make(**options):
        settings = {"backoff": 0.01, "timeout": 5, **options}
        adapter = HttpAdapter(service.url, **settings)
        adapters.append(adapter)
        return adapter

    yield make
    for adapter in adapters:
        adapter.close()
