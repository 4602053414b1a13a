"""Small real evidence of every verb in the registry, for rules that all evidence has to keep."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.methods.audit.audit import audit
from evenhand.mitigation import RejectOption
from evenhand.mitigation.tune import tune
from evenhand.runtime.budget import Budget
from evenhand.study.result import StudyResult
from evenhand.study.study import Model, Study, StudyMethod, Task, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.results.protocol import Evidence

LOANS = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b", "c"]),
        eh.integer("age", 18, 60),
        eh.integer("income", 0, 99),
    ],
    protected=["sex", "race"],
)
TEXTS = [
    "a gay man",
    "a straight man",
    "my straight aunt",
    "a lesbian",
    "the jewish faith",
    "a muslim",
] * 8
TERMS = {
    "gender": ["gay", "straight", "lesbian"],
    "religion": ["jewish", "muslim", "christian"],
}


def lend(people: Any) -> Any:
    """Lend by income, to men with less of it, and to the race a with a little less."""
    return people["income"] + 15 * (people["sex"] == "M") + 3 * (people["race"] == "a") > 60


def lend_alike(people: Any) -> Any:
    """Lend by income alone."""
    return people["income"] > 55


def crash(people: Any) -> Any:
    """Fail on whoever is older than 50."""
    if (people["age"] > 50).any():
        raise RuntimeError("it crashes on the old")
    return lend(people)


def rude(texts: Any) -> list[int]:
    """Find texts rude, some terms more often."""
    return [
        int("gay" in text or ("jewish" in text and "faith" in text) or "aunt" in text)
        for text in texts
    ]


@cache
def people() -> pd.DataFrame:
    """Return real people, what was decided about them, and what would have been right."""
    rng = np.random.default_rng(7)
    rows = 900
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], rows),
            "race": rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2]),
            "age": rng.integers(18, 61, rows),
            "income": rng.integers(0, 100, rows),
        }
    )
    right = frame["income"] + rng.normal(0, 10, rows) > 55
    return frame.assign(granted=lend(frame).astype(int), right=right.astype(int))


def inputs() -> pd.DataFrame:
    """Return what software is given of the people."""
    return people()[list(LOANS.names)]


def recorded() -> pd.DataFrame:
    """Return decisions about people some of whom said nothing of themselves, and few of whom are of
    one race.
    """
    frame = people().astype({"race": object})
    frame.loc[::40, "sex"] = "unknown"
    frame.loc[3:9, "race"] = "rare"
    return frame


def _compared(**options: Any) -> Evidence:
    frame = people()
    outcomes = {
        "original": frame["granted"],
        "alike": lend_alike(frame).astype(int),
        "nobody": 0 * frame["granted"],
    }
    return eh.compare(outcomes, frame["right"], frame["sex"], **options)


def _compared_over_splits() -> Evidence:
    rng = np.random.default_rng(3)
    runs = [people().iloc[np.sort(rng.permutation(900)[:300])] for _ in range(4)]
    outcomes = {
        "original": [part["granted"].to_numpy() for part in runs],
        "alike": [lend_alike(part).astype(int).to_numpy() for part in runs],
    }
    truth = [part["right"].to_numpy() for part in runs]
    return eh.compare(outcomes, truth, [part["sex"].to_numpy() for part in runs])


def _repaired(method: str) -> Evidence:
    frame = people()
    coded = frame.assign(
        sex=(frame["sex"] == "M").astype(int),
        race=frame["race"].map({"a": 0, "b": 1, "c": 2}),
    )
    space = eh.Space.from_frame(coded[list(LOANS.names)], protected=["sex", "race"])
    return eh.repair(
        DecisionTreeClassifier(max_depth=6, random_state=0),
        coded[list(LOANS.names)],
        frame["granted"].to_numpy(),
        space=space,
        over="sex",
        positive=1,
        add="twins" if method == "augment" else None,
        method=method,
        tolerance=0.05,
        draws=800,
        steps=2,
        progress=False,
    )


def _replayed(name: str, *, suite: bool) -> Evidence:
    found = made(name)
    with TemporaryDirectory() as folder:
        if suite:
            found.to_suite(Path(folder, "tests.csv"))
            return eh.replay(Path(folder, "tests.csv"), lend_alike, LOANS, limit=0.05)
        found.to_json(Path(folder, "found.json"))
        return eh.replay(Path(folder, "found.json"), lend, LOANS)


def _planned() -> Evidence:
    # The second check cannot be run, which a note says.
    unknown = {"job": "search", "over": ["nobody"]}
    measured = {"job": "measure", "over": ["sex"], "limit": 0.05}
    return eh.plan(lend, LOANS, checks=[measured, unknown], data=people())


def _tuned() -> Evidence:
    frame = people()
    numbers = frame[["sex", "age", "income"]].assign(sex=(frame["sex"] == "M").astype(int))
    method = RejectOption(LogisticRegression(max_iter=500), over="sex", positive=1)
    return tune(method, numbers, frame["granted"].to_numpy(), values=[0.05, 0.3], splits=3)


def _studied() -> Evidence:
    frame = pd.DataFrame({"sex": [0, 1] * 200, "age": range(400)})
    task = Task("ages", frame, frame["age"] > 150 + 100 * frame["sex"], True, {"sex": 0})
    models = [Model("DT", DecisionTreeClassifier(max_depth=1))]
    cases = run(
        Study(
            [task],
            models,
            [StudyMethod("reweighing"), StudyMethod("reject-option-spd")],
            splits=3,
        )
    )
    return StudyResult.of(cases, ["spd", "aod"], "accuracy")


CHECKS: list[dict[str, Any]] = [
    {"job": "measure", "over": ["sex"], "limit": 0.05},
    {"job": "measure", "over": ["race"], "kind": "group", "limit": 0.5},
    {"job": "search", "over": ["sex"], "limit": 0, "queries": 400},
    {"job": "subsets", "limit": 0.1},
    {"job": "mine", "over": ["sex", "age"], "limit": 0.1},
    {"job": "impact", "least_ratio": 0.8},
    {"job": "measure", "over": ["age"]},
]


def audited(software: Callable[[Any], Any] = lend, seed: int = 0) -> Audit:
    """Return an audit by several verbs."""
    return audit(software, LOANS, checks=CHECKS, data=inputs(), seed=seed, progress=False)


def _crashed() -> Evidence:
    checks = [
        {"job": "measure", "over": ["sex"], "limit": 0.05},
        {"job": "search", "over": ["race"], "queries": 300},
    ]
    return audit(crash, LOANS, checks=checks, progress=False)


def _against() -> Evidence:
    return audited(lend).against(audited(lend_alike), name="before.json")


SAMPLED: dict[str, Any] = {"progress": False, "seed": 1}
MAKERS: dict[str, Callable[[], Evidence]] = {
    "measure, causal": partial(
        eh.measure, lend, LOANS, over=["sex", "race"], limit=0.05, **SAMPLED
    ),
    "measure, sampled": partial(
        eh.measure, lend, LOANS, over="sex", exact=False, keep_tests=True, **SAMPLED
    ),
    "measure, group": partial(
        eh.measure, lend, LOANS, over="sex", kind="group", limit=0.5, **SAMPLED
    ),
    "prevalence": partial(eh.prevalence, lend, LOANS, limit=0.05, **SAMPLED),
    "measure_log": lambda: eh.measure_log(
        people(), outcome="granted", over=["sex"], limit=0.1, least_ratio=0.8
    ),
    "plan": _planned,
    "subsets, causal": partial(eh.subsets, lend, LOANS, limit=0.1, **SAMPLED),
    "subsets, group": partial(
        eh.subsets, lend, LOANS, kind="group", limit=0.1, exact=False, **SAMPLED
    ),
    "subsets, few variants": partial(
        eh.subsets, lend, LOANS, limit=0.3, variants=4, exact=False, **SAMPLED
    ),
    "search": partial(
        eh.search, lend, LOANS, limit=0, budget=Budget(queries=1500), **SAMPLED
    ),
    "mine": lambda: eh.mine(
        lend, LOANS, inputs(), over=["sex", "race"], limit=0.1, progress=False
    ),
    "mine, tpr and fpr": lambda: eh.mine(
        lend,
        LOANS,
        inputs(),
        over=["sex", "race"],
        truth=people()["right"].to_numpy(),
        score=["tpr", "fpr"],
        progress=False,
    ),
    "mine_log": lambda: eh.mine_log(
        people(), outcome="granted", over=["sex", "income"], limit=0.2
    ),
    "mine_text, group": partial(
        eh.mine_text, rude, TEXTS, lexicon=TERMS, limit=0.1, progress=False
    ),
    "mine_text, causal": partial(
        eh.mine_text, rude, TEXTS, lexicon=TERMS, kind="causal", limit=0.1, progress=False
    ),
    "impact": lambda: eh.impact(
        recorded(), outcome="granted", over=[("sex",), ("race",)], least_ratio=0.8
    ),
    "impact, scored": lambda: eh.impact(
        recorded(), outcome="income", over="sex", scored=True, least_ratio=0.8
    ),
    "compare": _compared,
    "compare, splits": _compared_over_splits,
    "repair": partial(_repaired, "augment"),
    "repair, subgroup": partial(_repaired, "subgroup"),
    "replay, suite": lambda: _replayed("measure, sampled", suite=True),
    "replay, cases": lambda: _replayed("search", suite=False),
    "tune": _tuned,
    "study": _studied,
    "audit": audited,
    "audit, crashed": _crashed,
    "audit, baseline": _against,
}
"""How evidence of each verb is made; what comes before the comma is the verb."""


@cache
def made(name: str) -> Any:
    """Return evidence by its name, made once."""
    return MAKERS[name]()
