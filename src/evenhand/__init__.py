"""evenhand: fairness testing for decision software.

>>> import evenhand as eh
>>> space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90)], protected=["sex"])
>>> def approve(people):
...     return (people["age"] > 40) & (people["sex"] == "M")
>>> result = eh.measure(approve, space, limit=0.05)
>>> print(result.verdict)
fail

PYTEST_DONT_REWRITE: pytest would rewrite the assertions of the package, since it has a plugin.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand import datasets as datasets
    from evenhand.bundle.verify import Verification as Verification
    from evenhand.bundle.verify import verify as verify
    from evenhand.methods.audit.audit import audit as audit
    from evenhand.methods.audit.audit_result import Audit as Audit
    from evenhand.methods.audit.log import audit_log as audit_log
    from evenhand.methods.compare.compare import compare as compare
    from evenhand.methods.compare.comparison import Comparison as Comparison
    from evenhand.methods.compare.metrics import Metric as Metric
    from evenhand.methods.impact.impact import impact as impact
    from evenhand.methods.measure.measure import measure as measure
    from evenhand.methods.measure.measure import prevalence as prevalence
    from evenhand.methods.measure.recorded import measure_log as measure_log
    from evenhand.methods.mine.mine import mine as mine
    from evenhand.methods.mine.recorded import mine_log as mine_log
    from evenhand.methods.mine.texts.mine_text import mine_text as mine_text
    from evenhand.methods.plan.plan import plan as plan
    from evenhand.methods.repair.methods.evened import Evened as Evened
    from evenhand.methods.repair.repair import repair as repair
    from evenhand.methods.repair.repair_result import Repair as Repair
    from evenhand.methods.replay.replay import replay as replay
    from evenhand.methods.search.search import search as search
    from evenhand.methods.search.strategies.aequitas import aequitas as aequitas
    from evenhand.methods.search.strategies.base import Proposal as Proposal
    from evenhand.methods.search.strategies.base import Strategy as Strategy
    from evenhand.methods.subsets.subsets import subsets as subsets
    from evenhand.population.logs.source import open_log as open_log
    from evenhand.population.profile import profile as profile
    from evenhand.population.rows import rows as rows
    from evenhand.population.samplers import uniform as uniform
    from evenhand.results.evidence import Case as Case
    from evenhand.results.evidence import Finding as Finding
    from evenhand.results.evidence import Group as Group
    from evenhand.results.result import Result as Result
    from evenhand.runtime.budget import Budget as Budget
    from evenhand.runtime.errors import EvenhandError as EvenhandError
    from evenhand.runtime.errors import SubjectError as SubjectError
    from evenhand.runtime.errors import UsageError as UsageError
    from evenhand.scores.planning.needed import needed as needed
    from evenhand.space.feature import Feature as Feature
    from evenhand.space.feature import category as category
    from evenhand.space.feature import date as date
    from evenhand.space.feature import integer as integer
    from evenhand.space.feature import real as real
    from evenhand.space.rule import Rule as Rule
    from evenhand.space.space import Space as Space
    from evenhand.statistics.estimate import Estimate as Estimate
    from evenhand.statistics.estimate import StopReason as StopReason
    from evenhand.statistics.estimate import Verdict as Verdict
    from evenhand.statistics.estimate import Witnesses as Witnesses
    from evenhand.subject.adapters.base import Adapter as Adapter
    from evenhand.subject.subject import Subject as Subject
    from evenhand.texts.lexicon import Lexicon as Lexicon
    from evenhand.texts.text_subject import TextSubject as TextSubject

# Names are imported when they are first used: `evenhand --help` and `import evenhand` stay light.
_HOMES = {
    "Adapter": "subject.adapters.base",
    "Audit": "methods.audit.audit_result",
    "Budget": "runtime.budget",
    "Case": "results.evidence",
    "Comparison": "methods.compare.comparison",
    "Estimate": "statistics.estimate",
    "Evened": "methods.repair.methods.evened",
    "EvenhandError": "runtime.errors",
    "Feature": "space.feature",
    "Finding": "results.evidence",
    "Group": "results.evidence",
    "Lexicon": "texts.lexicon",
    "Metric": "methods.compare.metrics",
    "Proposal": "methods.search.strategies.base",
    "Repair": "methods.repair.repair_result",
    "Result": "results.result",
    "Rule": "space.rule",
    "Space": "space.space",
    "StopReason": "statistics.estimate",
    "Strategy": "methods.search.strategies.base",
    "Subject": "subject.subject",
    "SubjectError": "runtime.errors",
    "TextSubject": "texts.text_subject",
    "UsageError": "runtime.errors",
    "Verdict": "statistics.estimate",
    "Verification": "bundle.verify",
    "Witnesses": "statistics.estimate",
    "aequitas": "methods.search.strategies.aequitas",
    "audit": "methods.audit.audit",
    "audit_log": "methods.audit.log",
    "category": "space.feature",
    "compare": "methods.compare.compare",
    "datasets": "",
    "date": "space.feature",
    "impact": "methods.impact.impact",
    "integer": "space.feature",
    "measure": "methods.measure.measure",
    "measure_log": "methods.measure.recorded",
    "mine": "methods.mine.mine",
    "mine_log": "methods.mine.recorded",
    "mine_text": "methods.mine.texts.mine_text",
    "needed": "scores.planning.needed",
    "open_log": "population.logs.source",
    "plan": "methods.plan.plan",
    "prevalence": "methods.measure.measure",
    "profile": "population.profile",
    "real": "space.feature",
    "repair": "methods.repair.repair",
    "replay": "methods.replay.replay",
    "rows": "population.rows",
    "search": "methods.search.search",
    "subsets": "methods.subsets.subsets",
    "uniform": "population.samplers",
    "verify": "bundle.verify",
}

__all__ = [
    "Adapter",
    "Audit",
    "Budget",
    "Case",
    "Comparison",
    "Estimate",
    "Evened",
    "EvenhandError",
    "Feature",
    "Finding",
    "Group",
    "Lexicon",
    "Metric",
    "Proposal",
    "Repair",
    "Result",
    "Rule",
    "Space",
    "StopReason",
    "Strategy",
    "Subject",
    "SubjectError",
    "TextSubject",
    "UsageError",
    "Verdict",
    "Verification",
    "Witnesses",
    "aequitas",
    "audit",
    "audit_log",
    "category",
    "compare",
    "datasets",
    "date",
    "impact",
    "integer",
    "measure",
    "measure_log",
    "mine",
    "mine_log",
    "mine_text",
    "needed",
    "open_log",
    "plan",
    "prevalence",
    "profile",
    "real",
    "repair",
    "replay",
    "rows",
    "search",
    "subsets",
    "uniform",
    "verify",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("evenhand")
    if name not in _HOMES:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    home = _HOMES[name]
    if not home:
        return import_module(f"evenhand.{name}")
    found = getattr(import_module(f"evenhand.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
