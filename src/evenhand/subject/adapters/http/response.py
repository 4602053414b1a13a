"""The responses of a service: what of an answer are the outcomes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.subject.adapters.http.options import RESPONSE
from evenhand.subject.adapters.http.paths import OutcomePath, outcome_paths, seen


class ResponseReader:
    """Takes the outcomes out of answers, each of them about one input or a batch.

    >>> reader = ResponseReader({"outcome": "results[].decision"}, per_record=False)
    >>> reader.outcomes({"results": [{"decision": "yes"}, {"decision": "no"}]}, 2, ())
    ['yes', 'no']
    """

    def __init__(
        self, response: Mapping[str, Any] | None = None, *, per_record: bool
    ) -> None:
        response = {} if response is None else response
        if not isinstance(response, Mapping):
            raise UsageError(
                f"response = {clip(repr(response))} must be a table, such as {{'outcome':"
                " 'results[].decision'}"
            )
        RESPONSE.check(response, "response")
        self._per_record = per_record
        self._path: OutcomePath | None = None
        self._paths: dict[str, OutcomePath] = {}
        where = "response outcome"
        outcome = response.get("outcome")
        if isinstance(outcome, Mapping):
            for name, text in outcome.items():
                self._paths[name] = OutcomePath.of(text, f"{where} {name}")
        elif outcome is not None:
            self._path = OutcomePath.of(outcome, where)

    def check(self, outputs: tuple[str, ...]) -> None:
        """Refuse paths by output that are not those of the outputs."""
        if not self._paths:
            return
        names = list(self._paths)
        if not outputs:
            raise UsageError(
                f"response has a path for each of several outputs; say their names with outputs ="
                f" {names}"
            )
        for name in outputs:
            if name not in self._paths:
                raise UsageError(
                    f"response has no path for the output {name!r}; {nearest(name, names)}"
                )

    def written(self) -> str:
        """Return the paths as text, to tell responses apart."""
        if self._path is not None:
            return self._path.text
        return ", ".join(f"{name}: {path.text}" for name, path in self._paths.items())

    def outcomes(self, answer: Any, count: int, outputs: tuple[str, ...]) -> list[Any]:
        """Return what stands for each of `count` inputs.

        Raises a ValueError that says what there is instead.
        """
        if self._paths:
            columns = []
            for name in outputs:
                columns.append(self._at(self._paths[name], answer, count))
            return [list(row) for row in zip(*columns, strict=True)]
        if self._path is not None:
            return self._at(self._path, answer, count)
        return _counted(self._usual(answer, count, outputs), count)

    def _at(self, path: OutcomePath, answer: Any, count: int) -> list[Any]:
        try:
            value = path.found(answer)
        except ValueError as error:
            raise ValueError(f"{error}{self._hint(answer, count)}") from None
        if self._per_record and not path.goes_through:
            return [value]
        if not isinstance(value, list):
            raise ValueError(
                f"{seen(value)} in {path.text!r} instead of a list of outcomes"
            )
        return _counted(value, count)

    def _usual(self, answer: Any, count: int, outputs: tuple[str, ...]) -> list[Any]:
        """Return what an object holds as `outcome` or `outcomes`, and anything else as it is."""
        if isinstance(answer, dict):
            key = "outcome" if self._per_record else "outcomes"
            # With several outputs, the object of a single input may be the record itself.
            may_be_record = self._per_record and bool(outputs)
            is_record = may_be_record and not isinstance(answer.get(key), dict | list)
            if not is_record:
                if key not in answer:
                    hint = self._hint(answer, count)
                    raise ValueError(f"an object without {key!r}: {seen(answer)}{hint}")
                answer = answer[key]
        if self._per_record:
            return [answer]
        if not isinstance(answer, list):
            raise ValueError(f"{seen(answer)} instead of a list of outcomes")
        return answer

    def _hint(self, answer: Any, count: int) -> str:
        """Return the end of a sentence: which path may be meant."""
        paths = outcome_paths(answer, None if self._per_record else count)
        if not paths:
            return ""
        path = json.dumps(paths[0], ensure_ascii=False)
        return f"; if the outcome is there, write response = {{ outcome = {path} }}"


def _counted(values: list[Any], count: int) -> list[Any]:
    if len(values) != count:
        raise ValueError(f"{len(values)} outcomes instead of {count}")
    return values
