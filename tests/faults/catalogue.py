"""Every fault of the campaign, one entry each."""

from __future__ import annotations

from tests.faults.adapters import PLANTERS
from tests.faults.fault import Expected, Fault

PROGRAMS = ("command", "stream")

NO_FAULT = Fault(
    "none",
    "does as it should, and discriminates",
    adapters=tuple(PLANTERS),
    expected=Expected.DISCRIMINATES,
)
FAULTS = (
    NO_FAULT,
    Fault(
        "crash",
        "fails at every input: an exception, exit code 1, status 500",
        python="crash",
        wire="crash",
        graph="crash",
    ),
    Fault(
        "crash at some",
        "fails at one input in eighty",
        python="crash",
        graph="crash at some",
        some=True,
    ),
    Fault(
        "hang",
        "never answers",
        python="hang",
        wire="hang",
        graph="hang",
        ends_process=True,
        timeout=2.0,
    ),
    Fault(
        "hang at some",
        "never answers one input in eighty",
        python="hang",
        ends_process=True,
        some=True,
        timeout=2.0,
    ),
    Fault(
        "slow",
        "takes its time",
        python="slow",
        wire="slow",
        graph="slow",
        expected=Expected.RIGHT,
    ),
    Fault(
        "exit 0",
        "calls sys.exit(0)",
        python="leave",
    ),
    Fault("exit 0 at some", "calls sys.exit(0) at one input", python="leave", some=True),
    Fault("hard exit 0", "calls os._exit(0)", python="vanish", ends_process=True),
    Fault(
        "hard exit 0 at some",
        "calls os._exit(0) at one input",
        python="vanish",
        ends_process=True,
        some=True,
    ),
    Fault("interrupt", "raises KeyboardInterrupt", python="interrupt"),
    Fault("abort", "calls abort()", python="abort", ends_process=True, some=True),
    Fault(
        "segfault", "reads from address 0", python="segfault", ends_process=True, some=True
    ),
    Fault("memory", "takes memory until it fails", python="hog", graph="hog", some=True),
    Fault(
        "error text",
        "answers “database connection lost” to everything; outcomes are declared",
        python="error text",
        wire="error text",
        graph="error text",
    ),
    Fault(
        "error text, undeclared",
        "answers that to everything, and no outcomes are declared",
        python="error text",
        wire="error text",
        graph="error text",
        labels=False,
        expected=Expected.NO_VERDICT,
    ),
    Fault(
        "random text",
        "answers something else each time",
        python="random text",
        wire="random text",
        labels=False,
        expected=Expected.NO_VERDICT,
    ),
    Fault("NaN", "answers NaN", python="nan", wire="nan", graph="nan"),
    Fault(
        "infinity", "answers infinity", python="infinity", wire="infinity", graph="infinity"
    ),
    Fault("nothing", "answers None, null or an empty line", python="none", wire="none"),
    Fault("huge number", "answers 10**400", python="huge number", wire="huge number"),
    Fault(
        "terminal escapes",
        "answers with escapes that clear the terminal",
        python="escapes",
        wire="escapes",
        graph="escapes",
    ),
    Fault(
        "flaky",
        "answers one in 1,000 inputs otherwise",
        python="flaky",
        expected=Expected.NOT_FOUND,
    ),
    Fault(
        "too few answers",
        "leaves an answer out",
        python="too few",
        wire="too few",
        graph="too few",
        timeout=3.0,
    ),
    Fault(
        "too many answers",
        "answers once too often",
        python="too many",
        wire="too many",
        graph="too many",
    ),
    Fault(
        "stderr flood",
        "writes 100 MB to standard error at some inputs, and answers",
        python="complain",
        some=True,
        expected=Expected.RIGHT,
    ),
    Fault("stdout flood", "prints a line of 64 MB", python="flood", adapters=PROGRAMS),
    Fault(
        "damaged file",
        "the file of the model is cut off",
        file="cut",
        expected=Expected.REFUSED,
    ),
    Fault(
        "empty file",
        "the file of the model is empty",
        file="empty",
        expected=Expected.REFUSED,
    ),
    Fault(
        "foreign file",
        "the file of the model is something else",
        file="foreign",
        expected=Expected.REFUSED,
    ),
    Fault("no service", "nobody listens at the address", wire="nobody"),
    Fault("404", "answers with status 404", wire="refuses"),
    Fault("reset", "resets every connection", wire="reset"),
    Fault(
        "reset once",
        "resets the first connection of each request",
        wire="reset once",
        expected=Expected.RIGHT,
    ),
    Fault("429", "answers 429 with Retry-After: 1, always", wire="429"),
    Fault(
        "429 once",
        "answers 429 with Retry-After: 1 at first",
        wire="429 once",
        expected=Expected.RIGHT,
    ),
    Fault(
        "503",
        "answers 503 with Retry-After: 86400, always",
        wire="503",
        timeout=2.0,
    ),
    Fault(
        "503 once",
        "answers 503 with Retry-After: 1 at first",
        wire="503 once",
        expected=Expected.RIGHT,
    ),
    Fault(
        "slow headers",
        "sends two bytes of a header a second",
        wire="slow headers",
        timeout=2.0,
    ),
    Fault(
        "slow chunks",
        "sends two bytes of a chunk size a second",
        wire="slow chunks",
        timeout=2.0,
    ),
    Fault("many headers", "sends headers without end", wire="many headers", timeout=2.0),
    Fault(
        "100 Continue", "sends 100 Continue without end", wire="100 Continue", timeout=2.0
    ),
    Fault("redirect loop", "redirects to itself", wire="redirect loop"),
    Fault("redirect away", "redirects to another host", wire="redirect away"),
    Fault("compression bomb", "sends 200 KB that unpack to 200 MB", wire="bomb"),
    Fault(
        "surplus response",
        "sends a second, wrong response",
        wire="surplus",
        expected=Expected.RIGHT_OR_FAILS,
    ),
    Fault("half a body", "closes in the middle of a body", wire="half"),
    Fault("body flood", "sends a body of 80 MB", wire="flood"),
    Fault("long answer", "sends one answer of 40 MB", wire="long answer"),
    Fault("deep JSON", "sends 100,000 lists in each other", wire="deep"),
    Fault("empty body", "sends nothing with status 200", wire="empty"),
    Fault("page", "sends a page of HTML with status 200", wire="page"),
    Fault("escapes in status", "sends escapes with status 500", wire="status escapes"),
)
"""What software may do to us; a new fault is one more entry."""
