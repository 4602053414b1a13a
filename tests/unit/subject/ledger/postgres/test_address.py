"""What an address says, and that a password in it is never shown."""

from __future__ import annotations

import pytest

from evenhand.runtime.errors import UsageError
from evenhand.subject.ledger.address import has_password, secrets_of, without_password
from evenhand.subject.ledger.postgres.address import DatabaseAddress
from tests.support.helpers import refused

WITH_PASSWORD = [
    "postgresql://me:sesame@host/loans",
    "postgresql://me:sesame@host:5433/loans?schema=a",
    "postgresql://me:se%40same-sesame@h1:1,h2:2/loans",
    "postgres://me@host/loans?password=sesame",
    "postgres://me@host/loans?sslmode=require&password=sesame&schema=a",
    "postgres://me@host/loans?schema=a&sslpassword=sesame",
    "POSTGRESQL://me:sesame@/loans?host=/tmp",
]


@pytest.mark.parametrize("place", WITH_PASSWORD)
def test_a_password_is_connected_with_and_not_shown(place):
    address = DatabaseAddress.of(place)
    assert "sesame" in address.link
    assert has_password(place)
    for text in (address.shown, repr(address), without_password(place)):
        assert "sesame" not in text
        assert "me@" in text
    # What a library says of it has none either.
    assert "sesame" not in address.cleaned(f'bad password "{secrets_of(place)[0]}"')
    assert not has_password(address.shown)
    assert DatabaseAddress.of(address.shown).schema == address.schema


@pytest.mark.parametrize(
    "place",
    [
        "loan.ledger",
        "postgresql://host/loans",
        "postgresql://me@host/loans?schema=a&sslmode=require",
        "postgresql:///loans?host=/tmp",
        "postgresql://me@host:5433",
    ],
)
def test_a_place_without_a_password_is_shown_as_it_is(place):
    assert without_password(place) == place
    assert not has_password(place)


def test_a_schema_is_no_setting_of_the_library():
    address = DatabaseAddress.of("postgres://host/loans?schema=credit&sslmode=require")
    assert address.schema == "credit"
    assert address.link.startswith("postgresql://host/loans?")
    assert "schema=" not in address.link
    assert "sslmode=require" in address.link
    assert "connect_timeout=10" in address.link
    assert DatabaseAddress.of("postgres://host/loans").schema == "evenhand"
    other = DatabaseAddress.of(
        "postgres://host/loans?connect_timeout=3&application_name=x%20y"
    )
    assert "connect_timeout=3" in other.link
    assert "application_name=x%20y" in other.link


@pytest.mark.parametrize("schema", ["Loans", "a-b", 'a"; DROP', "pg_x", "", "1a", "a" * 64])
def test_a_schema_is_a_plain_name(schema):
    words = "a schema is lower-case letters, digits and '_'"
    refused(
        UsageError, lambda: DatabaseAddress.of(f"postgresql://h/a?schema={schema}"), words
    )


def test_an_address_that_would_show_part_of_a_password_is_refused():
    place = "postgresql://me:ses@me@host/loans"
    message = refused(UsageError, lambda: DatabaseAddress.of(place), "write %40 for each")
    assert "ses" not in message
    assert "postgresql://me@host/loans" in message
