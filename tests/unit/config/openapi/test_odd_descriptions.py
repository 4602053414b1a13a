"""Descriptions that no service has, refused in a sentence."""

from __future__ import annotations

import json

import pytest

from evenhand.config.openapi.description import Description
from evenhand.runtime.errors import ConfigError
from tests.support.helpers import refused


def test_a_schema_that_refers_to_itself_is_refused(tmp_path):
    loop = {"anyOf": [{"$ref": "#/components/schemas/loop"}]}
    file = tmp_path / "openapi.json"
    file.write_text(
        json.dumps(
            {"openapi": "3.1.0", "paths": {}, "components": {"schemas": {"loop": loop}}}
        )
    )
    description = Description.read(str(file))
    refused(ConfigError, lambda: description.schema(loop), "refers to itself")


def test_a_date_that_is_none_is_refused(tmp_path):
    pytest.importorskip("yaml")
    file = tmp_path / "openapi.yaml"
    file.write_text("openapi: 2020-02-30\n")
    refused(ConfigError, lambda: Description.read(str(file)), "neither JSON nor YAML")
