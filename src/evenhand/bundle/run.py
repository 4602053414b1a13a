"""How an audit was run: all that it takes to run the same again."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any

from evenhand.config.audit import audit_config
from evenhand.config.log import audit_log_file
from evenhand.results.document import versions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from evenhand.config.file import Config
    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.methods.audit.gate import Gate

_FURTHER = ("scipy", "joblib", "jinja2", "skops", "onnxruntime", "torch", "xgboost")
"""Packages whose versions are recorded besides those that results have."""


@dataclass(frozen=True)
class AuditRun:
    """What an audit was told on its command line.

    `source` is the name of the configuration, or of a file of recorded decisions with what `log`
    says of them.
    """

    source: str
    log: Mapping[str, Any] | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    level: float | None = None
    tolerance: float | None = None
    keep_answers: bool | None = None
    baseline: str = ""

    def found(
        self,
        source: Config | Path,
        gate: Gate,
        each: Callable[[int, CheckResult], None],
        *,
        progress: bool | None = None,
    ) -> Audit:
        """Run the audit of a configuration, or of a file of decisions, in this process alone."""
        common: dict[str, Any] = {
            "seed": self.seed,
            "level": self.level,
            "n_jobs": 1,
            "each": each,
            "gate": gate,
            "progress": progress,
        }
        if self.log is not None:
            return gate.held(audit_log_file(str(source), self.log, **common))
        assert not isinstance(source, str)
        return gate.held(audit_config(source, self.given, **common))  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> AuditRun:
        """Return the run that `to_dict` has written."""
        return cls(**{name: table[name] for name in cls.__dataclass_fields__})


def environment() -> dict[str, Any]:
    """Return the versions and the platform that an audit was run with."""
    found = versions()
    for name in _FURTHER:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "versions": found,
        "platform": {
            "system": platform.system(),
            "machine": platform.machine(),
            "implementation": platform.python_implementation(),
        },
    }
