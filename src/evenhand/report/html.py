"""The report of an audit as one page that needs nothing from elsewhere, and that tells the same without scripts."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections import Counter
from string import Template
from typing import TYPE_CHECKING

from evenhand.core import jsonfile
from evenhand.core.estimate import Verdict
from evenhand.report.notes import DEFINITIONS, LIMITS, TOGETHER
from evenhand.report.page import STYLE, asset, boxed, facts, listed, text
from evenhand.report.sections import badge, section
from evenhand.report.sheets import Cell, short_sheet
from evenhand.report.statements import all_statements, statements

if TYPE_CHECKING:
    from os import PathLike

    from evenhand.core.audited import Audit
    from evenhand.report.statements import Statement

WORDS = {
    Verdict.FAIL: "Discrimination found",
    Verdict.UNDECIDED: "Undecided",
    Verdict.PASS: "All checks pass",
    None: "No limit was given",
}
MEANS = {
    Verdict.FAIL: "At least one check is surely over its engineering threshold.",
    Verdict.UNDECIDED: "No check is surely over its engineering threshold, but not every one is surely below it. "
    "That is not a pass.",
    Verdict.PASS: "Every check that has an engineering threshold is surely on the right side of it.",
    None: "The checks tell scores without holding them against a limit.",
}
HELD = "Held against a baseline: {}. Only what surely got worse, or is new, fails."


def write_report(audit: Audit, path: str | PathLike[str] | None = None) -> str:
    """Return the report as one page, the same bytes for the same audit, and write it where a path is given."""
    return jsonfile.write(path, page(audit), "report")


def page(audit: Audit) -> str:
    """Return the report as one page."""
    names = [f"check{number}" for number in range(1, len(audit.checks) + 1)]
    titles = {check.name: name for check, name in zip(audit.checks, names, strict=True)}
    parts = [_summary(audit, titles)]
    parts += [section(check, name) for check, name in zip(audit.checks, names, strict=True)]
    parts += [_notes(audit), _again(audit)]
    heading = f"Fairness audit of {audit.subject}" if audit.subject else "Fairness audit"
    links = [("summary", "Summary"), *((name, title) for title, name in titles.items())]
    links += [("method", "Method"), ("again", "Reproduce")]
    contents = "\n".join(f'<li><a href="#{name}">{text(title)}</a></li>' for name, title in links)
    script = asset("report.js")
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(asset("report.html") + "\n").substitute(
        title=text(f"{WORDS[audit.verdict]}: {heading}"[:300]),
        hash=f"sha256-{digest}",
        style=STYLE,
        heading=boxed(heading),
        contents=contents,
        main="\n".join(parts),
        version=text(audit.versions.get("evenhand", "")),
        script=script,
    )


def _summary(audit: Audit, names: dict[str, str]) -> str:
    verdicts = Counter(one.verdict for one in all_statements(audit))
    counted = [f"{verdicts[one]:,} {word}" for one, word in _COUNTED.items() if verdicts[one]]
    checks = f"{len(audit.checks):,} check{'s' * (len(audit.checks) != 1)}"
    said = f"{checks} made {sum(verdicts.values()):,} statements: {', '.join(counted)}."
    level = "certainty" if audit.level == 1 else f"{100 * audit.level:.4g} % confidence"
    spent = audit.spent
    asked = f"The software was asked {spent.queries:,} inputs, of which {spent.executed:,} were run this time."
    tone = audit.verdict or "none"
    lines = [
        '<section id="summary" aria-labelledby="summary-heading">',
        '<h2 id="summary-heading">Summary</h2>',
        f'<div class="banner {tone}"><p class="word">{WORDS[audit.verdict]}</p><p>{MEANS[audit.verdict]}</p></div>',
        f"<p>{text(said)} {text(asked)}</p>",
        f"<p>How sure: {text(TOGETHER.format(level=level))}</p>",
        _populations(audit),
        _worst(audit),
        f"<p>Held against a baseline: {text(audit.baseline)}. Only what surely got worse fails.</p>"
        if audit.baseline
        else "",
        _verdicts(audit, names),
        "</section>",
    ]
    return "\n".join(line for line in lines if line)


_COUNTED = {
    Verdict.FAIL: "fail",
    Verdict.UNDECIDED: "undecided",
    Verdict.PASS: "pass",
    None: "without a limit",
}


def _populations(audit: Audit) -> str:
    found = [one.estimate.population for one in all_statements(audit) if one.estimate is not None]
    known = list(dict.fromkeys(name for name in found if name))
    if not known:
        return ""
    return f"<p>They speak of: {text('; '.join(known[:6]))}{' and others' if len(known) > 6 else ''}.</p>"


def _worst(audit: Audit) -> str:
    """Return the statements that do not pass in a sentence each, the worst of each check first."""
    told = []
    for check in audit.checks:
        bad = [one for one in statements(check) if one.verdict in (Verdict.FAIL, Verdict.UNDECIDED)]
        told += [f"<li>{badge(one.verdict)} {_told(one)}</li>" for one in bad[:3]]
        if len(bad) > 3:
            told.append(f"<li>{len(bad) - 3:,} more of {text(check.name)}</li>")
    return "<ul>\n" + "\n".join(told) + "\n</ul>" if told else ""


def _told(one: Statement) -> str:
    if one.case is None:
        return boxed(one.claim)
    changes = str(one.case).partition(" (with ")[0]
    return f'{boxed(one.claim)}<br><span class="soft">For example {boxed(changes)}, all else equal</span>'


def _verdicts(audit: Audit, names: dict[str, str]) -> str:
    rows = []
    for one in all_statements(audit):
        score, found = one.estimate, one.estimate is not None and bool(one.estimate.n)
        said = str(score).partition(" (")[0].partition(" by trying")[0] if found else ""
        between = ""
        if score is not None and found and score.level < 1:
            between = str(score).partition(" (")[2].partition(",")[0]
        row = [
            Cell(badge(one.verdict)),
            Cell(f'<a href="#{names[one.check.name]}">{boxed(one.check.name)}</a>'),
            Cell(boxed(one.claim)),
            Cell(text(said), score.value if score is not None else None, number=True),
            Cell(text(between), score.low if score is not None and between else None, number=True),
            Cell(f"{score.n:,}" if score is not None else "", score.n if score is not None else None, number=True),
            Cell(
                "" if one.limit is None else f"{'at least ' if one.least else ''}{one.limit:g}", one.limit, number=True
            ),
        ]
        rows.append(row + ([Cell(text(one.held.state if one.held else ""))] if audit.baseline else []))
    headings = ["verdict", "check", "statement", "score", "interval", "n", "limit"]
    headings += ["against the baseline"] if audit.baseline else []
    says = "Every statement of every check, those that pass too. Limits are engineering thresholds."
    return "<h3>Verdicts</h3>\n" + short_sheet("verdicts", says, headings, rows)


def _notes(audit: Audit) -> str:
    jobs = [getattr(one.found, "job", one.job) for one in audit.checks]
    known = {job: DEFINITIONS[job] for job in dict.fromkeys(jobs) if job in DEFINITIONS}
    meanings = "\n".join(f"<dt><strong>{text(job)}</strong></dt><dd>{text(said)}</dd>" for job, said in known.items())
    return "\n".join(
        [
            '<section id="method" aria-labelledby="method-heading">',
            '<h2 id="method-heading">Method and limits</h2>',
            "<h3>What the words mean</h3>",
            f"<dl>\n{meanings}\n</dl>",
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
        parts.append(f"<h3>Command</h3><pre><code>{text(audit.command)}</code></pre>")
    digests = {check.name: check.found.digest for check in audit.checks if check.found is not None}
    parts += ["<h3>Digests of the checks</h3>", facts(digests)]
    if audit.config.get("text"):
        lines = "\n".join(text(line) for line in audit.config["text"].splitlines())
        told_file = text(audit.config.get("file", ""))
        parts.append(f"<h3>Configuration</h3><p>{told_file}</p><pre><code>{lines}</code></pre>")
    if audit.notes:
        parts += ["<h3>Notes</h3>", listed(audit.notes)]
    parts.append("</section>")
    return "\n".join(parts)
