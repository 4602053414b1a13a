"""evenhand: fairness testing for decision software.

>>> import evenhand as eh
>>> space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90)], protected=["sex"])
>>> result = eh.measure(lambda people: (people["age"] > 40) & (people["sex"] == "M"), space, limit=0.05)
>>> print(result.verdict)
fail

PYTEST_DONT_REWRITE, which would rewrite the assertions of the package since it brings a plugin.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand import datasets as datasets
    from evenhand.core.audited import Audit as Audit
    from evenhand.core.budget import Budget as Budget
    from evenhand.core.comparison import Comparison as Comparison
    from evenhand.core.errors import EvenhandError as EvenhandError
    from evenhand.core.errors import SubjectError as SubjectError
    from evenhand.core.errors import UsageError as UsageError
    from evenhand.core.estimate import Estimate as Estimate
    from evenhand.core.estimate import StopReason as StopReason
    from evenhand.core.estimate import Verdict as Verdict
    from evenhand.core.estimate import Witnesses as Witnesses
    from evenhand.core.evened import Evened as Evened
    from evenhand.core.feature import Feature as Feature
    from evenhand.core.feature import category as category
    from evenhand.core.feature import integer as integer
    from evenhand.core.feature import real as real
    from evenhand.core.lexicon import Lexicon as Lexicon
    from evenhand.core.populations import profile as profile
    from evenhand.core.populations import rows as rows
    from evenhand.core.repaired import Repair as Repair
    from evenhand.core.results import Case as Case
    from evenhand.core.results import Finding as Finding
    from evenhand.core.results import Group as Group
    from evenhand.core.results import Result as Result
    from evenhand.core.rules import Rule as Rule
    from evenhand.core.samplers import uniform as uniform
    from evenhand.core.sequential import needed as needed
    from evenhand.core.space import Space as Space
    from evenhand.core.strategies.choose import aequitas as aequitas
    from evenhand.core.subject import Subject as Subject
    from evenhand.core.textsubject import TextSubject as TextSubject
    from evenhand.methods.audit import audit as audit
    from evenhand.methods.compare import compare as compare
    from evenhand.methods.impact import impact as impact
    from evenhand.methods.measure import measure as measure
    from evenhand.methods.measure import prevalence as prevalence
    from evenhand.methods.measure_log import measure_log as measure_log
    from evenhand.methods.mine import mine as mine
    from evenhand.methods.mine_log import mine_log as mine_log
    from evenhand.methods.mine_text import mine_text as mine_text
    from evenhand.methods.repair import repair as repair
    from evenhand.methods.replay import replay as replay
    from evenhand.methods.search import search as search
    from evenhand.methods.subsets import subsets as subsets

# Names are imported when they are first used: `evenhand --help` and `import evenhand` stay light.
_HOMES = {
    "Audit": "core.audited",
    "Budget": "core.budget",
    "Case": "core.results",
    "Comparison": "core.comparison",
    "Estimate": "core.estimate",
    "Evened": "core.evened",
    "EvenhandError": "core.errors",
    "Feature": "core.feature",
    "Finding": "core.results",
    "Group": "core.results",
    "Lexicon": "core.lexicon",
    "Repair": "core.repaired",
    "Result": "core.results",
    "Rule": "core.rules",
    "Space": "core.space",
    "StopReason": "core.estimate",
    "Subject": "core.subject",
    "SubjectError": "core.errors",
    "TextSubject": "core.textsubject",
    "UsageError": "core.errors",
    "Verdict": "core.estimate",
    "Witnesses": "core.estimate",
    "aequitas": "core.strategies.choose",
    "audit": "methods.audit",
    "category": "core.feature",
    "compare": "methods.compare",
    "datasets": "",
    "impact": "methods.impact",
    "integer": "core.feature",
    "measure": "methods.measure",
    "measure_log": "methods.measure_log",
    "mine": "methods.mine",
    "mine_log": "methods.mine_log",
    "mine_text": "methods.mine_text",
    "needed": "core.sequential",
    "prevalence": "methods.measure",
    "profile": "core.populations",
    "real": "core.feature",
    "repair": "methods.repair",
    "replay": "methods.replay",
    "rows": "core.populations",
    "search": "methods.search",
    "subsets": "methods.subsets",
    "uniform": "core.samplers",
}

__all__ = [
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
    "Repair",
    "Result",
    "Rule",
    "Space",
    "StopReason",
    "Subject",
    "SubjectError",
    "TextSubject",
    "UsageError",
    "Verdict",
    "Witnesses",
    "aequitas",
    "audit",
    "category",
    "compare",
    "datasets",
    "impact",
    "integer",
    "measure",
    "measure_log",
    "mine",
    "mine_log",
    "mine_text",
    "needed",
    "prevalence",
    "profile",
    "real",
    "repair",
    "replay",
    "rows",
    "search",
    "subsets",
    "uniform",
]


def __getattr__(name: str) -> object:
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
