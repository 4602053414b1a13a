"""The report of an audit as one page that needs nothing from elsewhere, and that tells the same
without scripts.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections import Counter
from string import Template
from typing import TYPE_CHECKING

from evenhand.methods.audit.audit_result import as_audit
from evenhand.methods.audit.formats.html_sections import section, sheets_in, verb_of_check
from evenhand.methods.audit.statements import all_statements, statements
from evenhand.report.definitions import LIMITS, TOGETHER
from evenhand.report.finding_text import NO_DATA
from evenhand.report.html_page import STYLE, asset, boxed, facts, listed, quoted, text
from evenhand.report.html_section import badge, limit_text
from evenhand.report.html_tables import ALL_BYTES, MOST_BYTES, Cell, short_sheet
from evenhand.report.lines import printable
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.statistics.estimate import Estimate, Verdict

if TYPE_CHECKING:
    from evenhand.methods.audit.audit_result import Audit
    from evenhand.report.statement import Statement
    from evenhand.results.protocol import Evidence

WORDS = {
    Verdict.FAIL: "Discrimination found",
    Verdict.UNDECIDED: "Undecided",
    Verdict.PASS: "All checks pass",
    None: "No limit was given",
}
MEANS = {
    Verdict.FAIL: "At least one check fails. Below: which, by how much, and how sure that is.",
    Verdict.UNDECIDED: (
        "No check fails, but not every one passes: the evidence does not decide. That is not a"
        " pass."
    ),
    Verdict.PASS: (
        "Every check that has an engineering threshold is surely on the right side of it."
    ),
    None: "The checks tell scores without holding them against a limit.",
}
HELD = "Held against a baseline: {}. Only what surely got worse, or is new, fails."
NO_CHECKS = "No check was made"


def page(found: Evidence) -> str:
    """Return any evidence as one page, the same bytes for the same evidence."""
    audit = as_audit(found)
    parts = [_summary(audit)]
    room = min(MOST_BYTES, ALL_BYTES // (1 + sum(map(sheets_in, audit.checks))))
    parts += [section(check, _id(number), room=room) for number, check in enumerate(audit.checks)]
    parts += [_notes(audit), _again(audit)]
    heading = f"Fairness audit of {audit.subject}" if audit.subject else "Fairness audit"
    links = [
        '<a href="#summary">Summary</a>',
        *(_link(audit, number) for number in range(len(audit.checks))),
    ]
    links += ['<a href="#method">Method</a>', '<a href="#again">Reproduce</a>']
    contents = "\n".join(f"<li>{link}</li>" for link in links)
    script = asset("report.js")
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(asset("report.html") + "\n").substitute(
        title=text(clip(printable(f"{_word(audit)}: {heading}"), 150)),
        hash=f"sha256-{digest}",
        style=STYLE,
        heading=boxed(heading),
        contents=contents,
        main="\n".join(parts),
        version=text(audit.versions.get("evenhand", "")),
        script=script,
    )


def _id(number: int) -> str:
    return f"check{number + 1}"


def _link(audit: Audit, number: int) -> str:
    said = text(clip(printable(audit.checks[number].name), 80))
    return f'<a href="#{_id(number)}"><bdi>{said}</bdi></a>'


def _word(audit: Audit) -> str:
    return WORDS[audit.verdict] if audit.checks else NO_CHECKS


def _summary(audit: Audit) -> str:
    means = MEANS[audit.verdict] if audit.checks else "There is nothing to tell."
    tone = audit.verdict or "none"
    lines = [
        '<section id="summary" aria-labelledby="summary-heading">',
        '<h2 id="summary-heading">Summary</h2>',
        f'<div class="banner {tone}"><p class="word">{_word(audit)}</p><p>{means}</p></div>',
        *([_counted(audit), _sure(audit), _populations(audit)] if audit.checks else []),
        f"<p>{text(HELD.format(audit.held_against))}</p>" if audit.baseline else "",
        _worst(audit),
        _verdicts(audit) if audit.checks else "",
        "</section>",
    ]
    return "\n".join(line for line in lines if line)


def _counted(audit: Audit) -> str:
    """Return how many statements have which verdict, and what they cost."""
    verdicts = Counter(one.verdict for one in all_statements(audit))
    counted = [f"{verdicts[one]:,} {word}" for one, word in _COUNTED.items() if verdicts[one]]
    checks, told = _many(len(audit.checks), "check"), _many(sum(verdicts.values()), "statement")
    said = f"{checks} made {told}{': ' if counted else ''}{', '.join(counted)}."
    spent = audit.spent
    asked = (
        f"The software was asked {_many(spent.queries, 'input')}, of which {spent.executed:,} were"
        " run this time."
    )
    return f"<p>{text(said)} {text(asked) if spent.queries else ''}</p>"


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _sure(audit: Audit) -> str:
    """Return how sure all statements are together."""
    said = TOGETHER.format(
        level=f"at least {number_text.percent_figures(audit.level, 4)} confidence"
    )
    if audit.level == 1:
        said = "Nothing here depends on which inputs happened to be drawn."
    elif audit.level == 0:
        said = (
            "Each check holds at its own level; they are too many to say that all of them hold"
            " together."
        )
    return f"<p>How sure: {text(said).replace(' %', '&nbsp;%')}</p>"


_COUNTED = {
    Verdict.FAIL: "fail",
    Verdict.UNDECIDED: "undecided",
    Verdict.PASS: "pass",
    None: "without a limit",
}


_BAD = (Verdict.FAIL, Verdict.UNDECIDED)


def _populations(audit: Audit) -> str:
    found = [one.estimate.population for one in all_statements(audit) if one.estimate is not None]
    known = list(dict.fromkeys(name for name in found if name))
    if not known:
        return ""
    return (
        "<p>They speak of:"
        f" {text('; '.join(known[:6]))}{' and others' if len(known) > 6 else ''}.</p>"
    )


def _worst(audit: Audit) -> str:
    """Return the worst statements of each check that do not pass in a sentence each, those that
    fail first.
    """
    told, more = [], []
    for number, check in enumerate(audit.checks):
        bad = [one for one in statements(check) if one.verdict in _BAD]
        told += bad[:3]
        if len(bad) > 3:
            more.append(f"<li>{len(bad) - 3:,} more of {_link(audit, number)}</li>")
    lines = [
        f"<li>{badge(one.verdict)} {_told(one)}</li>"
        for word in _BAD
        for one in told
        if one.verdict is word
    ]
    return "<ul>\n" + "\n".join(lines + more) + "\n</ul>" if told else ""


def _told(one: Statement) -> str:
    if one.case is None:
        return boxed(one.claim)
    changes = one.case.change_text
    return (
        f'{boxed(one.claim)}<br><span class="soft">For example {boxed(changes)}, all else'
        " equal</span>"
    )


def _verdicts(audit: Audit) -> str:
    rows = []
    for number, check in enumerate(audit.checks):
        for one in statements(check):
            row = [
                Cell(badge(one.verdict)),
                Cell(_link(audit, number)),
                Cell(boxed(one.claim)),
                *_score(one),
            ]
            rows.append(
                row + ([Cell(text(one.held.state if one.held else ""))] if audit.baseline else [])
            )
    headings = ["verdict", "check", "statement", "score", "interval", "n", "limit"]
    headings += ["against the baseline"] if audit.baseline else []
    says = "Every statement of every check, those that pass too. Limits are engineering thresholds."
    return "<h3>Verdicts</h3>\n" + short_sheet("verdicts", says, headings, rows)


def _score(one: Statement) -> list[Cell]:
    """Return the score of a statement, its interval, what it rests on and its limit, which sort as
    they read.
    """
    score = one.estimate
    scale = 100 if score is None or score.unit == Estimate.unit else 1
    limit = Cell(
        text(limit_text(one)), None if one.limit is None else scale * one.limit, number=True
    )
    if score is None or not score.n:
        none = Cell("" if score is None else text(NO_DATA), number=True)
        return [none, Cell("", number=True), Cell("" if score is None else "0", number=True), limit]
    between = score.interval_text
    return [
        Cell(text(score.value_text), scale * score.value, number=True),
        Cell(text(between), scale * score.low if between else None, number=True),
        Cell(f"{score.n:,}", score.n, number=True),
        limit,
    ]


def _notes(audit: Audit) -> str:
    verbs = [verb_of_check(check) for check in audit.checks]
    known = {verb.name: verb.definition for verb in verbs if verb.definition}
    meanings = "\n".join(
        f"<dt><strong>{text(job)}</strong></dt><dd>{text(said)}</dd>" for job, said in known.items()
    )
    return "\n".join(
        [
            '<section id="method" aria-labelledby="method-heading">',
            '<h2 id="method-heading">Method and limits</h2>',
            *(["<h3>What the words mean</h3>", f"<dl>\n{meanings}\n</dl>"] if known else []),
            "<h3>What is not claimed</h3>",
            listed(LIMITS),
            "</section>",
        ]
    )


def _again(audit: Audit) -> str:
    told = {
        "verdict": audit.verdict or "none",
        "exit code": audit.exit_code,
        "seed": audit.seed,
        "software": audit.subject or "not named",
        "inputs": f"{audit.spent.queries:,} asked, {audit.spent.executed:,} executed",
        "ledger": audit.ledger or "none",
        "versions": ", ".join(f"{name} {version}" for name, version in audit.versions.items()),
        "digest": audit.digest,
    }
    parts = [
        '<section id="again" aria-labelledby="again-heading">',
        '<h2 id="again-heading">Reproduce</h2>',
        "<p>The same command with the same software, seed and versions gives the same digests.</p>",
        facts(told),
    ]
    if audit.command:
        parts += ["<h3>Command</h3>", quoted([audit.command], "Command")]
    digests = [
        (check.name, check.found.digest) for check in audit.checks if check.found is not None
    ]
    parts += ["<h3>Digests of the checks</h3>", facts(digests)] if digests else []
    if audit.config.get("text"):
        parts += ["<h3>Configuration</h3>", f"<p>{text(audit.config.get('file', ''))}</p>"]
        parts.append(quoted(audit.config["text"].splitlines(), "Configuration"))
    if audit.notes:
        parts += ["<h3>Notes</h3>", listed(audit.notes)]
    parts.append("</section>")
    return "\n".join(parts)
