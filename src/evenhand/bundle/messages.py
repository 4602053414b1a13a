"""Every sentence that bundles and their verification write for people, in one place."""

# The archive

BEGINNING = "at the beginning"
AFTER_MEMBER = "after the member '{name}'"
NOT_AN_ARCHIVE = "it does not begin as an archive that evenhand wrote"
TWICE = "the member '{name}' is in it twice"
STRUCTURE = "byte {at:,}, {place}, is not what evenhand writes there"
HEADER = (
    "byte {at:,}, in the header of the member '{name}', is not what evenhand writes there"
)
TOO_LARGE = (
    "the bundle would be larger than 4 GB with the member '{name}'; leave out --bundle-data, or"
    " bound the audit with --queries"
)

# The manifest

BAD_EPOCH = "SOURCE_DATE_EPOCH = {epoch!r} must be a whole number of seconds since 1970"
NO_MANIFEST = "it has no MANIFEST.json"
MANIFEST_BENT = "it is not as it was sealed"
MEMBER_MISSING = "it is missing"
MEMBER_CHANGED = "its content is not the one that was written"
MEMBER_EXTRA = "it was added, since the manifest does not list it"
OTHER_ORDER = "the members are not in the order of the manifest"

# Writing

UNREADABLE = "{file}: cannot be read for the bundle: {reason}"
NOT_ONE_FILE = (
    "{file}: a bundle holds the sum of each file that was read, and these decisions are not one"
    " file; export them to one, or leave out --bundle"
)
UNWRITABLE = "{file}: cannot write the bundle: {reason}"
DATA_WITHOUT_BUNDLE = "{flag} is for a bundle; name its file with --bundle evidence.zip"
BUNDLE_SUFFIX = "--bundle {file}: a bundle is a .zip file; did you mean {other}?"

# Signatures

SIGNING = "signing a bundle"
CHECKING_SIGNATURE = "checking a signature"
NO_KEY = "--signature needs the public key of who signed it; name it with --key"
KEY_UNREADABLE = "{file}: cannot read the key: {reason}"
NOT_A_PRIVATE_KEY = (
    "{file}: is no private key of Ed25519 without a password; make one with: openssl genpkey"
    " -algorithm ed25519 -out {file}"
)
NOT_A_PUBLIC_KEY = (
    "{file}: is no public key of Ed25519; take it from the private one with: openssl pkey -in"
    " key.pem -pubout -out {file}"
)
SIGNATURE_UNREADABLE = "{file}: cannot read the signature: {reason}"
SIGNATURE_HOLDS = "signed by the owner of {key}"
SIGNATURE_FAILS = "{signature} is not the signature of this file by the owner of {key}"

# Deriving

NOT_HERE = "{name} is not here, and this was not recorded"
NO_OTHER_MODEL = "another model is asked for that was not recorded"
FACTS_DAMAGED = "the record of the software is damaged ({reason})"
NOT_LISTED = "the configuration names '{file}', which the record of the run does not list"
DATA_MISSING = "{file} is not in the bundle; name its folder with --data"
DATA_OTHER = "{file} is not the file that was audited: its SHA-256 is another"
RUN_DAMAGED = "run.json: the record of the run is damaged ({reason})"
STALE_RESULT = "its digests or verdicts are not those of its numbers"
NOT_THE_PAGE = "it is not the page of results.json"
OTHER_EVENHAND = "evenhand {then} wrote it, and this is evenhand {now}"
ANSWERS_OTHER = "they are not those that run.json names"
OTHER_CONFIGURATION = "it is not the configuration that results.json holds"
INTERRUPTED = "the check was interrupted"
OUT_OF_TIME = "the clock ended the check, so that it may end elsewhere now"
LINEAR_TEXTS = (
    "the check rests on the structure of a linear text model, so it needs the software"
)
TOO_MANY = "it rests on more answers than are recorded"
DIFFERS = "{field} is {there} in the bundle, and {here} when derived again"
GONE = "it comes out no longer"
NEW = "{name}: it comes out, and is not in the bundle"
OTHER_VERSIONS = "{reason}; the versions differ ({versions}), so use those of run.json"
ONE_VERSION = "{name} {then}, here {now}"
CANNOT_RUN = "the audit cannot be run again: {reason}"
UNUSED_CALLS = "{left} recorded calls were not needed again"

# Asking again

BAD_SAMPLE = "sample = {sample!r} must be a whole number of at least 1"
BUNDLE_UNREADABLE = "{file}: cannot read the bundle: {reason}"
XML_CONFIGURATION = "{name} is a file of Themis; name your own copy of it with --config"
PAGE_HOLDS = "it says what results.json says"
NO_VERDICT = "no limit was given"

OTHER_SPACE = (
    "{config}: declares another space than the bundle; name the configuration it came from"
)
LOG_HAS_NO_SOFTWARE = (
    "the bundle is of recorded decisions, of which no software can be asked again"
)
NOT_ASKED = "no verdict could be derived again, so that there is no input to ask again"

# What was checked, in words

STATES = {
    "verified": "verified,",
    "re-derived": "verdict re-derived",
    "digest only": "digest checked only, because",
    "damaged": "DAMAGED:",
    "differs": "DIFFERS:",
    "asked again": "verified:",
    "answers changed": "NOT CONFIRMED:",
    "software failed": "FAILED:",
}
ARCHIVE = "the archive's own structure"
SIGNATURE = "the signature"
SOFTWARE = "the software"
THE_AUDIT = "the audit as a whole"
WHOLE = "{members} members, every SHA-256 sum as in the manifest of {date}"
ALL_SAME = "{asked} recorded answers were asked again, and all are the same"
SOME_DIFFER = (
    "{changed} of {asked} recorded answers are others now, such as {before} and now {after} to"
    " {person}"
)
SUMMARY = {
    0: "{file}: verified; the audit in it says {verdict} (exit code {code})",
    2: "{file}: DAMAGED OR CHANGED; do not rely on it",
    3: "{file}: intact, but not all of it could be confirmed",
    4: "{file}: intact, but the software could not be asked again",
}

# The table of contents

TITLE = "# Evidence of an audit: {subject}"
INTRODUCTION = (
    "This bundle holds an audit of decision software for discrimination, and what others need to"
    " check it. The date, in UTC, is in `MANIFEST.json`. Check everything with `evenhand verify"
    " FILE.zip`."
)
WHAT_WAS_TESTED = "## What was tested"
SUBJECT = "- Software: {subject}"
IDENTITY = "- Its identity, as the record of the run has it: {identity}"
COMMAND = "- Run with: {command}"
SEED = "- Seed of all that was drawn: {seed}"
VERSIONS = "- Versions: {versions}; {platform}"
ON_WHOM = "## On whom"
POPULATION = "- {population}"
NO_POPULATION = "- The checks name no population."
DATA_FILE = "- {file}: {rows} rows, {columns} columns, SHA-256 `{digest}`; {held}"
DATA_HELD = "in this bundle"
DATA_NOT_HELD = "not in this bundle, which has only its sum"
WHAT_WAS_FOUND = "## What was found"
OVERALL = "The verdict of the audit is **{verdict}** (exit code {code})."
HEADINGS = ("check", "verdict", "what it says", "engineering threshold")
HOW_SURE = "## How sure"
ALL_TOGETHER = (
    "- All that the checks say holds together at a confidence of at least {level}."
)
NOTHING_DRAWN = (
    "- Nothing was drawn: every input in question was asked, or every decision counted."
)
NO_LEVEL = "- There are too many checks for a level at which all of them hold together."
INPUTS = (
    "- {queries} inputs were asked. Each counts as one, whether a ledger knew it or not."
)
LIMITS = (
    "- A verdict holds for the population that its check names. Engineering thresholds are chosen"
    " by people; no law or rule is implied."
)
NOT_TESTED = "## What was not tested"
NOT_COVERED = "- Protected features without a check: {features}"
NOT_RUN = "- {check} could not be run: {reason}"
UNDECIDED = "- {check} is undecided: the evidence allows neither pass nor fail."
NO_LIMIT = "- {check} has no engineering threshold, so it has no verdict."
NOTHING_OPEN = "- Every check was run, and every one has a verdict."
ONLY_DECLARED = (
    "- Inputs outside the declared space, features that are not declared, and groups that no check"
    " names were not tested. A search that finds nothing does not show that there is nothing."
)
NOT_SHOWN = "## What this bundle does not show"
NOT_SHOWN_LINES = (
    "- That the software which is in use is the one that was tested: compare its identity.",
    "- That the recorded answers came from the software: only asking it again shows that.",
    "- Whether the declared space, data and protected features are the right ones.",
    "- How decisions are used, what people do with them, and whether they are accurate.",
    "- How long the audit took, which differs from run to run (0 seconds in `results.json`).",
)
FILES = "## Files"
FILE_LINES = {
    "MANIFEST.json": "the date, and the SHA-256 sum of every other file",
    "CONTENTS.md": "this page",
    "report.html": "the report, one page for a browser",
    "results.json": "everything that was found, for programs",
    "run.json": "how the audit was run: options, seed, versions, sums of data, the software",
    "config/": "the configuration, and what it includes",
    "data/": "the data files, where they were asked for",
    "answers.json, answers.bin": "what the software answered, call by call, in the order of asking",
    "baseline.json": "the older audit that this one is held against, where there is one",
}
FILE_LINE = "- `{name}`: {what}"
