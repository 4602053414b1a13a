"""Evidence bundles: an audit in one file that others can check without the software."""

from __future__ import annotations

from evenhand.runtime.options import FILE, FLAG, TEXT, WHOLE, Option, Options
from evenhand.runtime.registry import Deferred
from evenhand.verbs import Command

WRITTEN = Options.of(
    Option(
        "bundle",
        TEXT,
        "write an evidence bundle here, a .zip file that evenhand verify checks",
        metavar="FILE",
    ),
    Option(
        "bundle_data",
        FLAG,
        "with --bundle, put the data files into it, and not their sums alone",
        default=False,
    ),
    Option(
        "sign",
        FILE,
        "with --bundle, sign it with this private key (Ed25519, PEM) into FILE.sig",
        metavar="KEY",
    ),
)
"""What `evenhand audit` takes to write a bundle."""

VERIFY = Command(
    "verify",
    help="check an evidence bundle, and derive its verdicts again without the software",
    example="evenhand verify evidence.zip",
    purpose="Look closer",
    options=Options.of(
        Option(
            "bundle",
            FILE,
            "what evenhand audit --bundle wrote",
            metavar="BUNDLE",
            positional=True,
            required=True,
        ),
        Option(
            "data",
            FILE,
            "the folder of the data files, where the bundle has only their sums",
            metavar="FOLDER",
        ),
        Option(
            "config",
            FILE,
            "your own configuration: ask the software that it names again",
            metavar="CONFIG",
        ),
        Option(
            "trust",
            FLAG,
            "ask the software again that the configuration in the bundle names, which runs it",
            default=False,
        ),
        Option("sample", WHOLE, "how many answers are asked again (default: 1000)"),
        Option(
            "signature",
            FILE,
            "the signature (default: the bundle's name and .sig, where --key is given)",
            metavar="FILE",
        ),
        Option("key", FILE, "the public key of who signed it, as PEM", metavar="FILE"),
        Option("json", TEXT, "write what was checked here", metavar="FILE"),
    ),
    run=Deferred("evenhand.bundle.command:run"),
)
