"""evenhand verify: check a bundle, print what was checked, and return the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.bundle.verify import verify
from evenhand.runtime import json_file

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Check a bundle."""
    found = verify(
        options.bundle,
        data=options.data,
        config=options.config,
        trust=options.trust,
        sample=options.sample,
        signature=options.signature,
        key=options.key,
    )
    print(found.to_text())
    if options.json is not None:
        json_file.write(options.json, json_file.dump(found.to_dict()), "verification")
    return found.exit_code
