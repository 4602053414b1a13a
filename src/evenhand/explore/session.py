"""One visit to the what-if page: its cases, its questions, and the file of saved pairs."""

from __future__ import annotations

import json
import sys
import threading
import time
import webbrowser
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.explore.curves import curve
from evenhand.explore.given_cases import cases_of, key_of_inputs, shown_of
from evenhand.explore.server import PageServer
from evenhand.explore.tabular import TabularExplorer
from evenhand.explore.texts import TextExplorer
from evenhand.methods.audit.audit_result import Audit, gathered
from evenhand.report.lines import printable
from evenhand.report.page.explore_link import EXPLORE_PORT
from evenhand.results.case_id import case_id, whole_id
from evenhand.results.evidence import Case, Finding
from evenhand.results.result import Result
from evenhand.runtime import number_text
from evenhand.runtime.budget import Spent
from evenhand.runtime.column_file import replacing
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.statistics.estimate import StopReason, Witnesses

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence
    from typing import TextIO

    from evenhand.config.file import Config
    from evenhand.explore.given_cases import ClaimedCase
    from evenhand.explore.tabular import Pair

SAVE = "explored.json"
AT_ONCE = 100
"""How many cases one request gets."""
CONFIGS = (".toml", ".xml")
KNOWN_SUFFIXES = (*CONFIGS, ".json")
NOTHING_SPENT = Spent(0, 0, 0.0)

ADVICE = "name another file with --save"

LOST_CASES = "{lost:,} cases of the result are no inputs of this space and are left out"
CASE_WITHOUT_RESULT = (
    "--case {case} names a case of a result; name the result too, such as audit.json"
)
PORT_TAKEN = (
    "port {port}, to which the links of a report lead, is taken by another program; port {other} is"
    " used instead"
)
LINK_OF_ANOTHER_SPACE = (
    "the case of the link is no input of {title}; start evenhand explore with the result that the"
    " link is of"
)
OUTCOME_CHANGES = "{pairs} saved by hand in which the outcome changes with {features}"
OUTPUT_CHANGES = (
    "{pairs} saved by hand in which the output {output} changes with {features}"
)


def explore(options: Namespace) -> int:
    """Open the page on a configuration or on the cases of a result, until Ctrl-C."""
    from evenhand.config.file import Config
    from evenhand.config.trust import config_for

    file = options.file
    case = getattr(options, "case", None)
    found = None
    suffix = CONFIGS[0] if file is None else Path(file).suffix.lower()
    if suffix not in KNOWN_SUFFIXES:
        choices = nearest(suffix, KNOWN_SUFFIXES)
        raise UsageError(f"{file}: a result or a configuration was expected; {choices}")
    if suffix == ".json":
        found = gathered([file])
        config = config_for(
            found, file, options.config, trust=options.trust, command="explore"
        )
    elif file is None:
        config = Config.load(options.config)
    elif options.config is None:
        config = Config.load(file)
    else:
        raise UsageError(
            f"{file} and {options.config} are both configurations; name one of them"
        )
    if case is not None and found is None:
        raise UsageError(CASE_WITHOUT_RESULT.format(case=clip(case, 60)))
    serve(
        config,
        found,
        port=options.port,
        save=Path(options.save or SAVE),
        case=case,
        open_browser=not options.no_browser,
    )
    return 0


def serve(
    config: Config,
    found: Audit | Result | None = None,
    *,
    port: int | None = 0,
    save: Path | None = None,
    case: str | None = None,
    open_browser: bool = True,
    out: TextIO | None = None,
) -> None:
    """Serve the page of a configuration's software, with the cases of a result, until Ctrl-C.

    Without a port it is the one that links of reports lead to, or a free one where that is taken.
    """
    out = sys.stdout if out is None else out
    with config.software() as subject:
        explorer = _explorer(config, subject)
        file = Path(SAVE) if save is None else save
        saved = SavedPairs(file, explorer.job, explorer.table)
        session = Session(explorer, saved, cases_of(found), title=config.file.name)
        if case is not None:
            session.begin_with(case)
        server = server_on(session, port, out)
        try:
            with server.listening():
                title = printable(session.title)
                print(
                    f"Exploring {title} at {server.url} (Ctrl-C ends it)",
                    file=out,
                    flush=True,
                )
                if open_browser:
                    _open_browser(server.url)
                server.work()
        except KeyboardInterrupt:
            pass
    if saved.added:
        cases = number_text.many(saved.added, "case")
        print(f"saved {cases} to {printable(str(saved.file))}", file=out, flush=True)


def server_on(session: Session, port: int | None, out: TextIO) -> PageServer:
    """Return a server on a port, or on the usual one if that is free."""
    if port is not None:
        return session.server(port)
    try:
        return session.server(EXPLORE_PORT)
    except UsageError:
        server = session.server(0)
    taken = PORT_TAKEN.format(port=EXPLORE_PORT, other=server.server_port)
    print(taken, file=out, flush=True)
    return server


def _explorer(config: Config, subject: Any) -> TabularExplorer | TextExplorer:
    """Return the questions that fit what the software takes: texts, or inputs of a space."""
    if config.of_texts:
        texts = config.texts
        lexicon = texts.lexicon.without(*texts.without)
        return TextExplorer(subject, lexicon, texts)
    return TabularExplorer(subject)


def _open_browser(url: str) -> None:
    """Open a page in a thread: a browser of the terminal would keep this one for itself."""
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


@dataclass(frozen=True)
class SavedFile:
    """What the file of saved pairs holds."""

    findings: Sequence[Finding]
    tried: int
    """How many individuals were looked at for the findings."""
    spent: Spent


@dataclass
class SavedPairs:
    """The file of saved pairs: a result that `replay` can ask again, complete after every pair."""

    file: Path
    job: str
    space: Mapping[str, Any]
    added: int = 0

    def __post_init__(self) -> None:
        if not self.file.parent.is_dir():
            raise UsageError(
                f"{self.file}: there is no folder '{self.file.parent}' to save in; make it first"
            )
        # A file that cannot be added to is refused before anybody has edited anything.
        self._read()

    @property
    def count(self) -> int:
        """How many pairs the file holds."""
        keys: set[str] = set()
        for finding in self._read().findings:
            keys.update(key_of_inputs(case) for case in finding.cases)
        return len(keys)

    def _read(self) -> SavedFile:
        """Return what the file holds now; another program may have changed it."""
        if not self.file.exists():
            return SavedFile([], 0, NOTHING_SPENT)
        try:
            result = Result.from_json(self.file)
        except UsageError as error:
            raise UsageError(f"{error}; {ADVICE}") from None
        if "explore" not in result.details:
            job = clip(result.job, 40)
            raise UsageError(f"{self.file}: holds a {job} and not saved pairs; {ADVICE}")
        # Through JSON, because the file holds lists where the space has tuples.
        if result.space != json.loads(json.dumps(self.space)):
            raise UsageError(f"{self.file}: holds pairs of another space; {ADVICE}")
        tried = int(result.details["explore"]["tried"])
        return SavedFile(result.findings, tried, result.spent)

    def add(self, pairs: Sequence[Pair], spent: Spent) -> bool:
        """Write pairs to the file with those that are there; return whether any of them is new."""
        before = self._read()
        groups: dict[tuple[tuple[str, ...], str], list[Case]] = {}
        for finding in before.findings:
            groups[tuple(finding.about), finding.output] = list(finding.cases)
        any_new = False
        for pair in pairs:
            cases = groups.setdefault((pair.about, pair.output), [])
            any_new |= _put(cases, pair.case)
        total = Spent(
            before.spent.queries + spent.queries,
            before.spent.executed + spent.executed,
            before.spent.seconds + spent.seconds,
        )
        # A pair may be saved without having been looked at, and no count exceeds its tries.
        tried = max(before.tried + spent.queries, *map(len, groups.values()))
        findings = []
        for (about, output), cases in groups.items():
            findings.append(_finding(about, output, cases, tried))
        result = Result(
            self.job,
            findings,
            0,
            total,
            StopReason.FINDINGS,
            self.space,
            details={"explore": {"tried": tried}},
        )
        with replacing(self.file) as part:
            part.write_text(result.to_json(), encoding="utf-8")
        self.added += any_new
        return any_new


def _put(cases: list[Case], case: Case) -> bool:
    """Replace the cases of the same two inputs, or append; return whether the case is new."""
    is_new = True
    for at, other in enumerate(cases):
        if key_of_inputs(other) == key_of_inputs(case):
            cases[at] = case
            is_new = False
    if is_new:
        cases.append(case)
    return is_new


def _finding(
    about: tuple[str, ...], output: str, cases: Sequence[Case], tried: int
) -> Finding:
    pairs = number_text.many(len(cases), "pair")
    features = " and ".join(about)
    if output:
        claim = OUTPUT_CHANGES.format(pairs=pairs, output=output, features=features)
    else:
        claim = OUTCOME_CHANGES.format(pairs=pairs, features=features)
    return Finding(
        claim,
        about,
        Witnesses.of(len(cases), tried, "by hand"),
        None,
        tuple(cases),
        output=output,
        score="witnesses",
    )


@dataclass
class Session:
    """One visit: what the page may ask, and what is counted while it does."""

    explorer: TabularExplorer | TextExplorer
    saved: SavedPairs
    given: Sequence[ClaimedCase] = ()
    title: str = ""
    tried: int = 0
    cases: list[dict[str, Any]] = field(init=False)
    begin: int = 0
    """The place of the case that is shown first."""
    _places: dict[str, int] = field(default_factory=dict)
    """Where each case is, by its id."""
    _seconds: float = 0.0
    _reported: Spent = NOTHING_SPENT
    """What of the effort the file of saved pairs counts already."""

    def __post_init__(self) -> None:
        self.cases = []
        for claimed in self.given:
            case = self.explorer.case(claimed.case)
            if case is not None:
                self._places.setdefault(case_id(claimed.case), len(self.cases))
                self.cases.append(case | shown_of(claimed))
        self.lost = len(self.given) - len(self.cases)
        if self.given and not self.cases:
            raise UsageError(
                f"the result has {self.lost:,} cases, none of which is an input of"
                f" {self.title or 'this space'}; name the configuration that the result is of"
            )

    def begin_with(self, beginning: str) -> None:
        """Show a case first: the one whose id begins like this."""
        known = [claimed.case for claimed in self.given]
        wanted = whole_id(beginning, known)
        if wanted not in self._places:
            title = self.title or "this space"
            raise UsageError(LINK_OF_ANOTHER_SPACE.format(title=title))
        self.begin = self._places[wanted]

    def server(self, port: int = 0) -> PageServer:
        """Return a server of this visit's page, which does not listen yet."""
        get = {
            "space": self.page_data,
            "cases": self.some_cases,
        }
        post = {
            "decide": self.decide,
            "curve": self.curve,
            "link": self.link,
            "save": self.save,
        }
        return PageServer(port, get=get, post=post)

    def page_data(self, _query: Mapping[str, list[str]]) -> dict[str, Any]:
        """Return what the page must know to begin."""
        if self.cases:
            start = self.cases[self.begin]["individual"]
        else:
            start = self.explorer.start()
        notes = []
        if self.lost:
            notes.append(LOST_CASES.format(lost=self.lost))
        visit = {
            "title": self.title,
            "cases": len(self.cases),
            "begin": self.begin,
            "start": start,
            "notes": notes,
        }
        return self.explorer.form() | visit | self._file_state()

    def some_cases(self, query: Mapping[str, list[str]]) -> dict[str, Any]:
        """Return some of the cases."""
        first = _whole_number(query, "from", 0)
        count = min(_whole_number(query, "count", 20), AT_ONCE)
        cases = self.cases[first : first + count]
        return {
            "total": len(self.cases),
            "from": first,
            "cases": cases,
        }

    def link(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the case of a link as the page takes it, and its place; nothing is asked.

        The place is None where it is no case of the result: anybody may have made the link.
        """
        linked = None
        individual = request.get("individual")
        twin = request.get("twin")
        if isinstance(individual, dict) and isinstance(twin, dict):
            linked = Case(individual, twin, (None, None))
        case = None if linked is None else self.explorer.case(linked)
        if linked is None or case is None:
            title = self.title or "this space"
            raise UsageError(LINK_OF_ANOTHER_SPACE.format(title=title))
        place = self._places.get(case_id(linked))
        return {
            "individual": case["individual"],
            "twin": case["twin"],
            "place": place,
        }

    def curve(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return how the outcomes of an individual and a twin change with one feature."""
        explorer = self.explorer
        if not isinstance(explorer, TabularExplorer):
            raise UsageError("a text has no feature to draw a curve of")
        start = time.perf_counter()
        answer = curve(explorer, request)
        self._seconds += time.perf_counter() - start
        return answer | self._spent()

    def _spent(self) -> dict[str, Any]:
        subject = self.explorer.subject
        return {"spent": {"asked": subject.asked, "executed": subject.executed}}

    def decide(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outcome of an individual and of its twins."""
        individual = request.get("individual")
        twin = request.get("twin")
        start = time.perf_counter()
        answer = self.explorer.decide(individual, twin)
        self._seconds += time.perf_counter() - start
        self.tried += 1
        return answer | self._spent()

    def save(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Save a pair, with the outcomes that the software itself gives it now."""
        individual = request.get("individual")
        twin = request.get("twin")
        pairs = self.explorer.pairs(individual, twin)
        total = Spent(self.tried, self.explorer.subject.executed, self._seconds)
        since_last = Spent(
            total.queries - self._reported.queries,
            total.executed - self._reported.executed,
            total.seconds - self._reported.seconds,
        )
        is_new = self.saved.add(pairs, since_last)
        self._reported = total
        return {"new": is_new} | self._file_state()

    def _file_state(self) -> dict[str, Any]:
        return {"saved": self.saved.count, "file": str(self.saved.file)}


def _whole_number(query: Mapping[str, list[str]], name: str, default: int) -> int:
    """Return a number of a query, which anybody may have written."""
    if name not in query:
        return default
    text = query[name][0]
    is_small = len(text) < 10
    if not (text.isascii() and text.isdigit() and is_small):
        quoted = clip(repr(text), 60)
        raise UsageError(f"{name} = {quoted} must be a whole number of at least 0")
    return int(text)
