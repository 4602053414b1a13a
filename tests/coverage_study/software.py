"""Cells of verbs that ask software: its decisions are planted, so that every score is known."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import evenhand as eh
from tests.coverage_study.cells import StudyCell, Trial, judged
from tests.quality.test_audit_level import misses_of_software
from tests.quality.test_baseline import alarm
from tests.quality.test_mine_text_planted import GENDERS, TEMPLATES, Planted, all_hold
from tests.quality.test_subsets_error import either, limit_next_to, scores, software
from tests.support.benchmarks import benchmark
from tests.support.simulation import covers

if TYPE_CHECKING:
    from collections.abc import Iterator

LUCK = eh.real("luck", 0, 1)
SEX = eh.category("sex", ["F", "M"])
RACE = eh.category("race", ["a", "b", "c"])
ENDLESS = eh.Space(
    [SEX, LUCK],
    protected=["sex"],
)
"""Too many inputs to enumerate: draws are with replacement."""
FINITE = eh.Space(
    [SEX, eh.integer("luck", 0, 5999)],
    protected=["sex"],
)
"""12,000 inputs: draws are without replacement."""
RACES = eh.Space(
    [RACE, LUCK],
    protected=["race"],
)
LIMIT = 0.1
UNDER = 0.09
"""A score that is under the limit by little."""
FEW = eh.Budget(queries=1200)
"""What a run may ask where the limit is the score itself, which no sample can decide."""


def planted(people: Any, *, score: float, top: float = 1.0) -> Any:
    """Favour all men, and all women but a share of them."""
    luck = people["luck"].to_numpy() / top
    is_woman = (people["sex"] == "F").to_numpy()
    return ~(is_woman & (luck < score))


class Costly(eh.Adapter):
    """The same as software whose answers are expensive, so that few are asked for."""

    kind = "costly"
    expensive = True

    def __init__(self, score: float) -> None:
        self.score = score

    @property
    def identity(self) -> str:
        """What names it."""
        return f"costly {self.score}"

    def run(self, points: Any, space: Any) -> Iterator[tuple[Any, Any]]:
        """Answer all points at once."""
        people = space.native(points)
        yield np.arange(len(points)), planted(people, score=self.score)


def measured(subject: Any, space: Any, truth: float, seed: int, **settings: Any) -> Trial:
    """Measure one score."""
    found = eh.measure(
        subject,
        space,
        seed=seed,
        progress=False,
        **settings,
    )
    return judged(
        found,
        [(found.worst.estimate, truth)],
    )


def measure_cell(
    what: str,
    score: float,
    *,
    space: eh.Space = ENDLESS,
    costly: bool = False,
    **settings: Any,
) -> StudyCell:
    """Return a cell of one score, with a verdict that would be wrong where there is a limit."""
    wrong = None
    if "limit" in settings:
        wrong = "pass" if score >= settings["limit"] else "fail"
        settings.setdefault("budget", FEW)
    subject: Any = partial(planted, score=score)
    if space is FINITE:
        subject = partial(planted, score=score, top=6000)
    if costly:
        subject = eh.Subject(Costly(score), space)

    def run(seed: int) -> Trial:
        return measured(
            subject,
            space,
            score,
            seed,
            **settings,
        )

    return StudyCell(
        "measure",
        what,
        run,
        f"score {score:g}",
        wrong,
    )


def measure_cells() -> list[StudyCell]:
    """Return the cells of causal and group scores of yes and no."""
    cells = []
    for kind in ("causal", "group"):
        common: dict[str, Any] = {"kind": kind}
        cells.append(measure_cell(f"{kind}, no limit", LIMIT, **common))
        for score in (LIMIT, UNDER):
            cells.append(
                measure_cell(
                    f"{kind}, limit 0.1, cheap",
                    score,
                    limit=LIMIT,
                    **common,
                )
            )
            cells.append(
                measure_cell(
                    f"{kind}, limit 0.1, expensive",
                    score,
                    limit=LIMIT,
                    costly=True,
                    **common,
                )
            )
    anytime: dict[str, Any] = {"interval": "anytime"}
    cells.append(measure_cell("causal, anytime, no limit", LIMIT, **anytime))
    cells.append(measure_cell("causal, anytime, limit 0.1", LIMIT, limit=LIMIT, **anytime))
    finite: dict[str, Any] = {"space": FINITE, "exact": False}
    cells.append(measure_cell("causal, 12,000 inputs, no limit", LIMIT, **finite))
    for score in (LIMIT, UNDER):
        cells.append(
            measure_cell("causal, 12,000 inputs, limit 0.1", score, limit=LIMIT, **finite)
        )
    return cells


RATES = {"a": 0.5, "b": 0.5, "c": 0.4}


def by_race(people: Any) -> Any:
    """Favour a share of each race."""
    rates = people["race"].map(RATES).astype(float)
    return people["luck"] < rates


def of_three(seed: int) -> Trial:
    """Measure the largest difference of three groups."""
    settings: dict[str, Any] = {"kind": "group", "limit": LIMIT, "budget": FEW}
    return measured(by_race, RACES, 0.1, seed, **settings)


def rows_of(seed: int, n: int = 300) -> pd.DataFrame:
    """Return people of unequal groups."""
    rng = np.random.default_rng(seed)
    races = rng.choice(
        ["a", "b", "c"],
        n,
        p=[0.6, 0.3, 0.1],
    )
    return pd.DataFrame({"race": races, "luck": rng.random(n)})


def apparent(seed: int, *, kind: str) -> Trial:
    """Measure a score of rows that are a sample of all people."""
    sampler = eh.rows(rows_of(seed), sample_of="all")
    settings: dict[str, Any] = {"kind": kind, "limit": LIMIT, "sampler": sampler}
    return measured(by_race, RACES, 0.1, seed, **settings)


def pay(people: Any) -> Any:
    """A skewed amount: its mean is 1 for men, and 1.2 for women."""
    women = 1 + 0.2 * (people["sex"] == "F")
    return women * -np.log1p(-people["luck"] * (1 - 1e-12))


def of_numbers(seed: int) -> Trial:
    """Measure the difference of means and medians of a skewed amount."""
    found = eh.measure(
        pay,
        ENDLESS,
        kind="group",
        limit=0.2,
        units="outcome",
        margin=0.2,
        budget=FEW,
        seed=seed,
        progress=False,
    )
    mean, median = found.findings
    return judged(
        found,
        [(mean.estimate, 0.2), (median.estimate, 0.2 * np.log(2))],
    )


def error_truth(seed: int) -> pd.DataFrame:
    """Return rows with what decisions should have been: a third of those who get it should not."""
    rng = np.random.default_rng(seed)
    frame = rows_of(seed, 400)
    return frame.assign(due=rng.random(len(frame)) < 0.5)


def of_errors(seed: int) -> Trial:
    """Measure true and false positive rates; what is due does not depend on luck."""
    frame = error_truth(seed)
    found = eh.measure(
        by_race,
        RACES,
        kind="group",
        sampler=eh.rows(
            frame[["race", "luck"]],
            sample_of="all",
        ),
        truth=frame["due"].to_numpy(),
        metric=["tpr", "fpr"],
        limit=LIMIT,
        seed=seed,
        progress=False,
    )
    pairs = []
    for finding in found.findings:
        if finding.limit is not None:
            pairs.append((finding.estimate, 0.1))
    return judged(found, pairs)


def of_chance(seed: int, *, noise: float, excess: float, limit: float | None) -> Trial:
    """Measure software that gives a wrong answer now and then."""
    truth = CHANCE.Truth(noise, excess)
    settings: dict[str, Any] = {}
    if limit is not None:
        settings = {"limit": limit, "budget": eh.Budget(queries=6000)}
    return measured(
        CHANCE.Software(truth, seed), CHANCE_SPACE, excess, seed, repeats=4, **settings
    )


CHANCE = benchmark("chance")
CHANCE_SPACE = eh.Space(
    [eh.category("race", ["a", "b"]), eh.integer("income", 0, 99_999)], protected=["race"]
)


def of_subsets(seed: int, *, kind: str) -> Trial:
    """Search random software with a limit next to a score; any claim of any set may be wrong."""
    rng = np.random.default_rng([seed, len(kind)])
    table = either(rng)
    truth = scores(table, kind)
    limit = limit_next_to(truth, rng)
    found = eh.subsets(
        software(table),
        kind=kind,
        limit=limit,
        margin=0.25,
        exact=False,
        seed=seed,
        progress=False,
    )
    for entry in found.details["lattice"]["sets"]:
        is_over = truth[frozenset(entry["about"])] >= limit
        if entry["state"] == ("cleared" if is_over else "discriminating"):
            return Trial(False)
    return Trial(True)


def text_software() -> Planted:
    """Return software for texts whose outcomes depend on a term."""
    drawn = np.random.default_rng(1).random((TEMPLATES, 4))
    return Planted(
        drawn < np.array([0.5, 0.9, 0.4, 0.6]),
        ["gender"],
    )


TEXTS = text_software()


def of_texts(seed: int) -> Trial:
    """Mine the terms of texts."""
    texts = TEXTS.texts(
        60,
        np.random.default_rng(1000 + seed),
    )
    found = eh.mine_text(
        TEXTS,
        texts,
        lexicon=GENDERS,
        seed=seed,
        progress=False,
    )
    return Trial(all_hold(TEXTS, found))


def baseline_of(seed: int, score: float) -> Any:
    """Measure one version of software."""
    return eh.measure(
        partial(planted, score=score),
        ENDLESS,
        limit=0.12,
        margin=0.08,
        budget=FEW,
        seed=seed,
        progress=False,
    )


def of_baseline(seed: int) -> Trial:
    """Hold software that did not change against its baseline: an alarm is wrong."""
    new = baseline_of(2 * seed, LIMIT)
    old = baseline_of(2 * seed + 1, LIMIT)
    raised = alarm(new, old)
    return Trial(not raised, "worse" if raised else "as before")


def of_prevalence(seed: int) -> Trial:
    """Measure the share of discriminatory inputs."""
    subject = partial(planted, score=0.03)
    found = eh.prevalence(
        subject,
        ENDLESS,
        margin=0.03,
        seed=seed,
        progress=False,
    )
    return judged(
        found,
        [(found.worst.estimate, 0.03)],
    )


class Straight:
    """A model that favours whoever earns more than a bar, which may depend on the sex."""

    def __init__(self, bars: dict[str, float]) -> None:
        self.bars = bars
        self.feature_names_in_ = np.array(ENDLESS.names, dtype=object)

    def predict(self, people: Any) -> Any:
        """Return decisions."""
        bars = people["sex"].map(self.bars).astype(float)
        return (people["luck"] > bars).astype(int).to_numpy()

    @property
    def score(self) -> float:
        """The share of people whose decision changes with their sex."""
        return abs(self.bars["F"] - self.bars["M"])


def trained(people: Any, labels: Any) -> Straight:
    """Train a model: the bar of each sex lies where its favoured people begin."""
    bars = {}
    for sex in ("F", "M"):
        is_of = (people["sex"] == sex).to_numpy()
        share = float(np.asarray(labels)[is_of].mean()) if is_of.any() else 0.5
        bars[sex] = 1 - share
    return Straight(bars)


def of_repair(seed: int) -> Trial:
    """Repair a model by training it again; the scores of both models are known."""
    rng = np.random.default_rng(seed)
    people = ENDLESS.decode(ENDLESS.draw(400, rng))
    bars = np.where(
        people["sex"] == "F",
        0.6,
        0.4,
    )
    labels = (people["luck"] > bars).astype(int).to_numpy()
    models: list[Straight] = []

    def fit(rows: Any, targets: Any) -> Straight:
        model = trained(rows, targets)
        models.append(model)
        return model

    found = eh.repair(
        fit, people, labels, space=ENDLESS, steps=1, draws=1000, seed=seed, progress=False
    )
    before = covers(
        found.before,
        models[0].score,
        1e-6,
    )
    after = covers(
        found.after,
        found.model.score,
        1e-6,
    )
    return Trial(before and after)


def of_audit(seed: int) -> Trial:
    """Audit random software with checks that share one level."""
    return Trial(misses_of_software(0.95, seed) == 0)


def cells() -> list[StudyCell]:
    """Return all cells of verbs that ask software."""
    level_together = "all intervals and claims together"
    return [
        *measure_cells(),
        StudyCell(
            "measure", "group, three groups, limit 0.1", of_three, "score 0.1", "pass"
        ),
        StudyCell(
            "measure",
            "group, 300 given rows, limit 0.1",
            partial(apparent, kind="group"),
            "score 0.1",
            "pass",
        ),
        StudyCell(
            "measure", "means and medians, limit 0.2", of_numbers, "0.2 apart", "pass"
        ),
        StudyCell(
            "measure",
            "true and false positive rates, limit 0.1",
            of_errors,
            "both 0.1 apart",
            "pass",
        ),
        StudyCell(
            "measure",
            "software with chance in it",
            partial(of_chance, noise=0.05, excess=0.1, limit=None),
            "excess 0.1",
        ),
        StudyCell(
            "measure",
            "software with chance in it, limit 0.1",
            partial(of_chance, noise=0.05, excess=0.1, limit=0.1),
            "excess 0.1",
            "pass",
        ),
        StudyCell("prevalence", "margin 0.03", of_prevalence, "share 0.03"),
        StudyCell(
            "subsets",
            "causal",
            partial(of_subsets, kind="causal"),
            level_together,
        ),
        StudyCell(
            "subsets",
            "group",
            partial(of_subsets, kind="group"),
            level_together,
        ),
        StudyCell("mine_text", "terms of one category", of_texts, level_together),
        StudyCell("repair", "one step, 1,000 inputs", of_repair, "both scores"),
        StudyCell("baseline", "unchanged software", of_baseline, "no change", "worse"),
        StudyCell("audit", "five checks", of_audit, level_together),
    ]
