"""What can be said of a service's requests and responses, in TOML and in Python."""

from __future__ import annotations

from evenhand.runtime.options import ANY, TABLE, TEXT, Kind, Option, Options

METHODS = ("POST", "GET", "PUT", "PATCH")
PER = ("batch", "record")
PATHS = Kind(
    "paths",
    types=(str, dict),
    wanted="a path such as 'results[].decision', or a table of paths by output",
    schema={
        "anyOf": [
            {"type": "string"},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ]
    },
    items=(str,),
)

REQUEST = Options.of(
    Option("method", TEXT, "the method of HTTP", choices=METHODS),
    Option(
        "body",
        ANY,
        "the JSON body: {inputs} stands for a list of inputs, {input} for one, {age} for one value",
    ),
    Option("query", TABLE, "parameters of the address, with {age} for a value"),
    Option("headers", TABLE, "further headers; ${NAME} is an environment variable"),
    Option("per", TEXT, "whether a request holds many inputs or one", choices=PER),
)
"""What [subject.request] and `request=` hold."""

RESPONSE = Options.of(
    Option(
        "outcome",
        PATHS,
        "the path of the outcome, such as results[].decision, or a table of paths by output",
    ),
)
"""What [subject.response] and `response=` hold."""
