"""What is fuzzed: each kind of file that evenhand reads, from valid seeds, as its commands read it.

A target reads one file and may refuse it with an EvenhandError. Anything else that comes out of it
is a defect: another exception, more than five seconds, more than a gigabyte. No target starts a
program or imports a module that a file names.
"""

from __future__ import annotations

import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

import evenhand as eh
from evenhand.cli.main import main
from evenhand.config.audit import FileSource, plans_of
from evenhand.config.file import Config
from evenhand.config.log import audit_of_log
from evenhand.config.openapi.form import read_form
from evenhand.config.study import read_study
from evenhand.explore.given_cases import cases_of
from evenhand.explore.session import SavedPairs, Session
from evenhand.explore.tabular import TabularExplorer
from evenhand.methods.audit.audit import run_all
from evenhand.methods.audit.audit_result import gathered
from evenhand.methods.audit.gate import Gate
from evenhand.results.reading import evidence_of
from evenhand.runtime import json_file
from evenhand.runtime.errors import EvenhandError, UsageError
from evenhand.runtime.table_file import read_frame
from evenhand.scores.test_suite import read_suite
from evenhand.space.constraints import Constraint
from evenhand.subject.ledger import Ledger
from evenhand.texts.lexicon import Lexicon
from evenhand.texts.matching import find
from tests.fuzz import seeds
from tests.support.evidence import LOANS, lend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Target:
    """A kind of file: how it is read, and valid files to begin with."""

    name: str
    suffix: str
    read: Callable[[Path], Any]
    seeds: Callable[[], Sequence[bytes]]
    form: str = "text"
    """"json" where values of tables are changed as well as bytes."""
    share: int = 1
    """How many inputs it gets of a campaign, in parts; slow targets get few."""

    def outcome(self, file: Path) -> str:
        """Read a file, and return "read" or "refused"; whatever else happens is raised."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.read(file)
            except EvenhandError as error:
                _check_sentence(str(error))
                return "refused"
        return "read"


class BadSentence(Exception):
    """A refusal that does not say anything."""


def _check_sentence(sentence: str) -> None:
    if not sentence.strip():
        raise BadSentence("the refusal is empty")


def read_config(file: Path) -> None:
    """Read a configuration, and run its checks on other software than it names."""
    config = Config.load(file)
    if config.of_log:
        audit_of_log(config)
        return
    if config.of_texts:
        plans_of(config, {})
        config.texts.lexicon.to_dict()
        return
    space = config.space
    if "subject" in config.table:
        from evenhand.subject.options import SHARED

        config.declared(SHARED)
    plans = plans_of(config, {"queries": 40})
    config.population()
    if set(space.names) != set(LOANS.names):
        return
    with eh.Subject(_lend_anybody, space) as subject:
        run_all(subject, FileSource(config), plans[:2], seed=0, each=None)


def _lend_anybody(people: Any) -> Any:
    """Answer whatever the types of the columns are."""
    return people["income"].astype(str).str.len() % 2 == 0


def read_constraint(file: Path) -> None:
    """Parse a constraint, and apply it to people."""
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    constraint = Constraint.parse(text, LOANS.features)
    constraint.mask(_people())


def read_rule_space(file: Path) -> None:
    """Build a space with a constraint, and draw from it."""
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    space = eh.Space(list(LOANS.features), LOANS.protected, [text])
    space.draw(4, np.random.default_rng(0))


def _people() -> Any:
    return LOANS.draw(16, np.random.default_rng(0))


def read_themis(file: Path) -> None:
    """Read the settings of the original Themis."""
    config = Config.load(file)
    plans_of(config, {})
    config.space.to_dict()


def read_result(file: Path) -> None:
    """Read a result of any verb as an audit, as the commands do, and tell it."""
    found = gathered([file])
    found.story()
    found.to_frame()
    _ = found.digest, found.exit_code


def read_document(file: Path) -> None:
    """Read a result of any verb, and write it again."""
    found = evidence_of(json_file.read(file, "result"), where=str(file))
    _ = found.exit_code, found.digest
    again = evidence_of(found.to_dict(), where="again")
    again.to_text()


def read_page(file: Path) -> None:
    """Make the page of a result on the command line."""
    page = file.with_name("page.html")
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as errors:
        code = main(["report", str(file), "-o", str(page)])
    if code == 2:
        raise UsageError(errors.getvalue())
    if code != 0:
        raise AssertionError(f"evenhand report ended with {code}: {errors.getvalue()}")


def read_baseline(file: Path) -> None:
    """Compare an audit with a baseline."""
    Gate.of(file, tolerance=None).held(seeds.evidence("audit")).to_text()


def read_replayed(file: Path) -> None:
    """Ask software the cases of a result again."""
    eh.replay(file, lend, LOANS).to_text()


def read_explored(file: Path) -> None:
    """Open the cases of a result on the what-if page, and answer what the page asks."""
    found = gathered([file])
    with eh.Subject(lend, LOANS) as subject:
        explorer = TabularExplorer(subject)
        saved = SavedPairs(file.with_name("saved.json"), explorer.job, explorer.table)
        session = Session(explorer, saved, cases_of(found), title="x")
        session.page_data({})
        session.some_cases({"start": ["0"]})


def read_question(file: Path) -> None:
    """Answer a question of the what-if page, and save its pair."""
    request = json_file.read(file, "question")
    if not isinstance(request, dict):
        return
    with eh.Subject(lend, LOANS) as subject:
        explorer = TabularExplorer(subject)
        saved = SavedPairs(file.with_name("saved.json"), explorer.job, explorer.table)
        session = Session(explorer, saved, [], title="x")
        session.decide(request)


def read_lexicon(file: Path) -> None:
    """Read a lexicon, and match it in a text."""
    lexicon = Lexicon.from_toml(file)
    lexicon.to_dict()
    matches = find(["A gay man and two jewish women."], lexicon)
    matches.counts()


def read_csv(file: Path) -> None:
    """Read rows, infer a space from them, and count decisions."""
    frame = read_frame(file)
    space = eh.Space.from_frame(frame)
    space.encode(frame)
    names = [str(name) for name in frame.columns]
    if len(names) > 1:
        favourable = frame.iloc[0, -1]
        eh.measure_log(frame, outcome=names[-1], over=names[:1], positive=favourable)


def read_suite_file(file: Path) -> None:
    """Read a suite and score another version on it."""
    read_suite(file, LOANS)
    eh.replay(file, lend, LOANS)


def read_ledger(file: Path) -> None:
    """Open a ledger and look answers up in it."""
    with Ledger(file, space=seeds.LEDGER_SPACE, subject=seeds.LEDGER_SUBJECT) as ledger:
        kept = ledger.known(list(seeds.LEDGER_ANSWERS))
        for key, answer in kept.items():
            if answer != seeds.LEDGER_ANSWERS[key]:
                raise AssertionError(f"the ledger gave {answer!r} for {key!r}")
        ledger.record([b"new"], [True])


def read_bundle(file: Path) -> None:
    """Verify a bundle: whatever is not the very bytes that were written must be noticed."""
    code = eh.verify(file).exit_code
    is_whole = file.read_bytes() in seeds.bundles()
    if (code == 0) != is_whole:
        raise AssertionError(f"the bundle ended with {code}")


def read_openapi(file: Path) -> None:
    """Read the description of a service."""
    form = read_form(str(file), "/decide", server="http://127.0.0.1:1")
    tables = form.declared({}, seeds.service_rows())
    form.space(tables, [])
    form.without(list(form.lacking))


def targets() -> dict[str, Target]:
    """Return all targets by their names."""
    listed = [
        Target("configuration", ".toml", read_config, seeds.configurations, share=24),
        Target("constraint", ".txt", read_constraint, seeds.constraints, share=40),
        Target("constrained space", ".txt", read_rule_space, seeds.constraints, share=12),
        Target("themis", ".xml", read_themis, seeds.themis, share=24),
        Target("document", ".json", read_document, seeds.documents, "json", share=8),
        Target("result", ".json", read_result, seeds.documents, "json", share=6),
        Target("page", ".json", read_page, seeds.documents, "json", share=1),
        Target("baseline", ".json", read_baseline, seeds.audits, "json", share=1),
        Target("replay", ".json", read_replayed, seeds.with_cases, "json", share=3),
        Target("explore", ".json", read_explored, seeds.with_cases, "json", share=2),
        Target("question", ".json", read_question, seeds.questions, "json", share=16),
        Target("lexicon", ".toml", read_lexicon, seeds.lexicons, share=20),
        Target("study", ".toml", read_study, seeds.studies, share=16),
        Target("rows", ".csv", read_csv, seeds.rows_csv, share=2),
        Target("parquet", ".parquet", read_csv, seeds.rows_parquet, share=8),
        Target("suite", ".csv", read_suite_file, seeds.suites, share=5),
        Target("ledger", ".sqlite", read_ledger, seeds.ledgers, share=8),
        Target("bundle", ".zip", read_bundle, seeds.bundles, share=8),
        Target("openapi", ".json", read_openapi, seeds.openapi, "json", share=24),
    ]
    return {target.name: target for target in listed}
