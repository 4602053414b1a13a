"""explore: a page where a person edits an individual, sees what the live software says, and saves
pairs that differ.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import webbrowser
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.explore.server import PageServer
from evenhand.explore.tabular import Desk
from evenhand.explore.texts import TextDesk
from evenhand.methods.audit.audit_result import Audit, gathered
from evenhand.report.lines import printable
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
    from evenhand.explore.tabular import Pair
    from evenhand.results.protocol import Evidence

SAVE = "explored.json"
MOST_CASES = 1_000
"""How many found inputs of a search are shown."""
AT_ONCE = 100
"""How many cases one request gets."""
CONFIGS = (".toml", ".xml")


def explore(options: Namespace) -> int:
    """Open the page on a configuration, or on the cases of a result with its configuration, until
    Ctrl-C.
    """
    from evenhand.config.file import Config

    file, found = options.file, None
    suffix = Path(file).suffix.lower() if file is not None else CONFIGS[0]
    if suffix not in (*CONFIGS, ".json"):
        known = (*CONFIGS, ".json")
        raise UsageError(
            f"{file}: a result or a configuration was expected; {nearest(suffix, known)}"
        )
    if suffix == ".json":
        found = gathered([file])
        file = options.config if options.config is not None else found.home
    elif file is not None and options.config is not None:
        raise UsageError(f"{file} and {options.config} are both configurations; name one of them")
    config = Config.load(file if file is not None else options.config)
    save = Path(options.save or SAVE)
    serve(config, found, port=options.port or 0, save=save, open_browser=not options.no_browser)
    return 0


def serve(
    config: Config,
    found: Audit | Result | None = None,
    *,
    port: int = 0,
    save: Path | None = None,
    open_browser: bool = True,
    out: TextIO | None = None,
) -> None:
    """Serve the page of the software that a configuration names, with the cases of a result, until
    Ctrl-C.
    """
    out = sys.stdout if out is None else out
    with config.software() as subject:
        desk: Desk | TextDesk
        if config.of_texts:
            texts = config.texts
            desk = TextDesk(subject, texts.lexicon.without(*texts.without), texts)  # type: ignore[arg-type]
        else:
            desk = Desk(subject)  # type: ignore[arg-type]
        kept = Kept(Path(SAVE) if save is None else save, desk.job, desk.table)
        session = Session(desk, kept, cases_of(found), title=config.file.name)
        server = session.server(port)
        try:
            with server.listening():
                print(
                    f"Exploring {printable(session.title)} at {server.url} (Ctrl-C ends it)",
                    file=out,
                    flush=True,
                )
                if open_browser:
                    # A browser of the terminal would keep this thread for itself.
                    threading.Thread(
                        target=webbrowser.open, args=(server.url,), daemon=True
                    ).start()
                server.work()
        except KeyboardInterrupt:
            pass
    if kept.added:
        cases = number_text.many(kept.added, "case")
        print(f"saved {cases} to {printable(str(kept.file))}", file=out, flush=True)


@dataclass(frozen=True, slots=True)
class Shown:
    """A case of a result, and what it is a case of."""

    case: Case
    claim: str = ""


def cases_of(found: Evidence | None) -> list[Shown]:
    """Return the cases of a result or of all checks of an audit, each once, and the first found
    inputs of a search.
    """
    shown: dict[str, Shown] = {}
    for result in () if found is None else found.parts:
        listed = [
            Shown(case, finding.claim) for finding in result.findings for case in finding.cases
        ]
        if result.job == "search":
            listed += [Shown(case, "found by a search") for case in _searched(result)]
        for one in listed:
            shown.setdefault(_key(one.case), one)
    return list(shown.values())


def _searched(result: Any) -> list[Case]:
    """Return the first inputs that a search found, with their twins."""
    names = [feature["name"] for feature in result.space["features"]]
    frame = result.to_frame().head(MOST_CASES)
    columns = {name: frame[name].tolist() for name in frame.columns}
    found = []
    for at in range(len(frame)):
        individual = {name: columns[name][at] for name in names}
        twin = {name: columns.get(f"twin.{name}", columns[name])[at] for name in names}
        found.append(Case(individual, twin, (columns["outcome"][at], columns["twin.outcome"][at])))
    return found


@dataclass
class Kept:
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
        self._read()

    @property
    def count(self) -> int:
        """How many pairs the file holds."""
        return len({_key(case) for finding in self._read()[0] for case in finding.cases})

    def _read(self) -> tuple[list[Finding], int, Spent]:
        """Return the findings of the file, how many inputs were tried for them, and at what cost."""
        if not self.file.exists():
            return [], 0, Spent(0, 0, 0.0)
        advice = "name another file with --save"
        try:
            held = Result.from_json(self.file)
        except UsageError as error:
            raise UsageError(f"{error}; {advice}") from None
        if "explore" not in held.details:
            raise UsageError(
                f"{self.file}: holds a {clip(held.job, 40)} and not pairs that were saved; {advice}"
            )
        if held.space != json.loads(json.dumps(self.space)):
            raise UsageError(f"{self.file}: holds pairs of another space; {advice}")
        return list(held.findings), int(held.details["explore"]["tried"]), held.spent

    def add(self, pairs: Sequence[Pair], spent: Spent) -> bool:
        """Write pairs down with those that are there, and tell whether there is a new one."""
        before, tried, cost = self._read()
        held: dict[tuple[tuple[str, ...], str], list[Case]] = {}
        for finding in before:
            held[tuple(finding.about), finding.output] = list(finding.cases)
        new = 0
        for pair in pairs:
            cases = held.setdefault((pair.about, pair.output), [])
            same = [at for at, case in enumerate(cases) if _key(case) == _key(pair.case)]
            for at in same:
                cases[at] = pair.case
            if not same:
                cases.append(pair.case)
                new += 1
        total = Spent(
            cost.queries + spent.queries,
            cost.executed + spent.executed,
            cost.seconds + spent.seconds,
        )
        most = max(tried + spent.queries, *(len(cases) for cases in held.values()))
        findings = [_finding(about, output, cases, most) for (about, output), cases in held.items()]
        details = {"explore": {"tried": most}}
        result = Result(
            self.job, findings, 0, total, StopReason.FINDINGS, self.space, details=details
        )
        with replacing(self.file) as part:
            part.write_text(result.to_json(), encoding="utf-8")
        self.added += bool(new)
        return bool(new)


def _key(case: Case) -> str:
    """Return what two cases share that are of the same two inputs."""
    return json.dumps([dict(case.individual), dict(case.twin)], sort_keys=True, default=str)


def _finding(about: tuple[str, ...], output: str, cases: Sequence[Case], tried: int) -> Finding:
    pairs = number_text.many(len(cases), "pair")
    what = f"the output {output}" if output else "the outcome"
    claim = f"{pairs} saved by hand in which {what} changes with {' and '.join(about)}"
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

    desk: Desk | TextDesk
    kept: Kept
    given: Sequence[Shown] = ()
    title: str = ""
    tried: int = 0
    _since: tuple[int, int, float] = (0, 0, 0.0)
    _seconds: float = 0.0
    cases: list[dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        wired = [(self.desk.case(one.case), one.claim) for one in self.given]
        self.cases = [case | {"claim": claim} for case, claim in wired if case is not None]
        self.lost = len(self.given) - len(self.cases)
        if self.given and not self.cases:
            raise UsageError(
                f"the result has {self.lost:,} cases, none of which is an input of"
                f" {self.title or 'this space'}; name the configuration that the result is of"
            )

    def server(self, port: int = 0) -> PageServer:
        """Return a server of this visit's page, which does not listen yet."""
        get = {"space": self.told, "cases": self.some}
        return PageServer(port, get=get, post={"decide": self.decide, "save": self.save})

    def told(self, _query: Mapping[str, list[str]]) -> dict[str, Any]:
        """Return what the page must know to begin."""
        lost = (
            [f"{self.lost:,} cases of the result are no inputs of this space and are left out"]
            if self.lost
            else []
        )
        start = self.cases[0]["individual"] if self.cases else self.desk.start()
        rest = {"title": self.title, "cases": len(self.cases), "start": start, "notes": lost}
        return self.desk.told() | rest | self._saved()

    def some(self, query: Mapping[str, list[str]]) -> dict[str, Any]:
        """Return some of the cases."""
        first, count = _whole(query, "from", 0), min(_whole(query, "count", 20), AT_ONCE)
        return {"total": len(self.cases), "from": first, "cases": self.cases[first : first + count]}

    def decide(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outcome of an individual and of its twins."""
        start = time.perf_counter()
        told = self.desk.decide(asked.get("individual"), asked.get("twin"))
        self._seconds += time.perf_counter() - start
        self.tried += 1
        counts = {"asked": self.desk.subject.asked, "executed": self.desk.subject.executed}
        return told | {"spent": counts}

    def save(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Write a pair down, with the outcomes that the software itself gives it now."""
        pairs = self.desk.pairs(asked.get("individual"), asked.get("twin"))
        now = (self.tried, self.desk.subject.executed, self._seconds)
        then = self._since
        new = self.kept.add(pairs, Spent(now[0] - then[0], now[1] - then[1], now[2] - then[2]))
        self._since = now
        return {"new": new} | self._saved()

    def _saved(self) -> dict[str, Any]:
        return {"saved": self.kept.count, "file": str(self.kept.file)}


def _whole(query: Mapping[str, list[str]], name: str, usual: int) -> int:
    text = query.get(name, [str(usual)])[0]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise UsageError(f"{name} = {clip(repr(text), 60)} must be a whole number of at least 0")
    return int(text)
