"""Planted terms, end to end: what was planted in texts is found and first, and intervals hold as
often as they say.
"""

from __future__ import annotations

import itertools
import re
import zlib
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.statistics.intervals import clopper_pearson
from evenhand.texts.lexicon import Lexicon

TERMS = {"gender": ["gay", "straight", "trans", "queer"], "faith": ["sikh", "muslim", "taoist"]}
TEMPLATES = 30
DEFAULT = {name: list(map(str, Lexicon.default().of(name))) for name in ("gender", "religion")}


class Planted:
    """Texts from templates, and software whose outcome of each template and combination of terms is
    known.
    """

    def __init__(self, table: Any, categories: list[str]) -> None:
        self.table, self.categories = table, categories
        self.combinations = list(itertools.product(*(TERMS[name] for name in categories)))

    def texts(self, size: int, rng: np.random.Generator) -> list[str]:
        return [
            f"case {rng.integers(len(self.table))} of the "
            f"{' '.join(rng.choice(TERMS[name]) for name in self.categories)} person"
            for _ in range(size)
        ]

    def __call__(self, texts: list[str]) -> Any:
        found = [re.fullmatch(r"case (\d+) of the ([\w ]+) person", text) for text in texts]
        places = {" ".join(terms): at for at, terms in enumerate(self.combinations)}
        return np.array([self.table[int(each[1]), places[each[2]]] for each in found if each])

    @property
    def apart(self) -> dict[tuple[str, ...], float]:
        """By terms of all its categories, the rate and the distance from that with all other
        combinations.
        """
        return dict(
            zip(self.combinations, self._apart(self.table.astype(float)).tolist(), strict=True)
        )

    def single(self, place: int) -> dict[tuple[str, ...], float]:
        """The same for the terms of one category, where the other categories are as they come."""
        shape = [len(TERMS[name]) for name in self.categories]
        table = self.table.astype(float).reshape(-1, *shape)
        means = table.mean(axis=tuple(at + 1 for at in range(len(shape)) if at != place))
        return {
            (term,): apart
            for term, apart in zip(TERMS[self.categories[place]], self._apart(means), strict=True)
        }

    @staticmethod
    def _apart(table: Any) -> Any:
        means = table.mean(axis=0)
        return means - (means.sum() - means) / (len(means) - 1)


def often_enough(held: int, runs: int, level: float) -> bool:
    """Whether a rule that holds its level exactly would do worse no more than once in 10,000 times."""
    return bool(clopper_pearson(held, runs, 1 - 2e-4)[1] >= level)


@pytest.mark.parametrize(
    ("graded", "against"),
    [
        pytest.param(False, "terms", id="labels-terms", marks=pytest.mark.slow),
        pytest.param(False, "rest", id="labels-rest"),
        pytest.param(True, "terms", id="scores-terms"),
        pytest.param(True, "rest", id="scores-rest", marks=pytest.mark.slow),
    ],
)
def test_intervals_hold_together_for_all_terms(graded, against):
    rng = np.random.default_rng(1)
    lean = np.array([0.5, 0.9, 0.4, 0.6])
    drawn = rng.random((TEMPLATES, 4))
    planted = Planted(drawn**2 * lean if graded else drawn < lean, ["gender"])
    truth, rates = (
        planted.apart,
        dict(zip(planted.combinations, planted.table.mean(axis=0), strict=True)),
    )
    runs, held, found = 50, 0, 0
    options: dict[str, Any] = {"output": "score"} if graded else {}
    for seed in range(runs):
        texts = planted.texts(60, np.random.default_rng(1000 + seed))
        result = eh.mine_text(
            planted,
            texts,
            lexicon={"gender": TERMS["gender"]},
            against=against,
            level=0.8,
            seed=seed,
            **options,
        )
        good, left = True, dict(truth)
        for finding in result.findings:
            terms = tuple(condition.levels[0] for condition in finding.about.conditions)
            if not terms:  # those that lead no story come last
                good &= (
                    finding.estimate.low <= max(map(abs, left.values())) <= finding.estimate.high
                )
                continue
            del left[terms]
            inside, other = (group.estimate for group in finding.groups)
            good &= finding.estimate.low <= abs(truth[terms]) <= finding.estimate.high
            good &= inside.low <= rates[terms] <= inside.high
            good &= other.low <= rates[terms] - truth[terms] <= other.high
        held += good
        found += result.findings[0].estimate.low > 0
    assert often_enough(held, runs, 0.8)
    # The limits of scores against the rest rest on no control and on no variance, and need more
    # texts than these.
    assert found > 0.5 * runs or (graded and against == "rest")


def test_intervals_hold_together_for_pairs_and_the_rest():
    rng = np.random.default_rng(2)
    planted = Planted(rng.random((TEMPLATES, 12)) < np.linspace(0.3, 0.9, 12), ["gender", "faith"])
    truth = planted.apart | planted.single(0) | planted.single(1)
    runs, held = 30, 0
    for seed in range(runs):
        texts = planted.texts(80, np.random.default_rng(2000 + seed))
        result = eh.mine_text(planted, texts, lexicon=TERMS, level=0.8, seed=seed, top=3)
        left, good = dict(truth), True
        for finding in result.findings:
            terms = tuple(condition.levels[0] for condition in finding.about.conditions)
            if terms:
                good &= finding.estimate.low <= abs(left.pop(terms)) <= finding.estimate.high
        (rest,) = (finding for finding in result.findings if not finding.about.conditions)
        good &= rest.estimate.low <= max(map(abs, left.values())) <= rest.estimate.high
        assert len(left) == result.details["mine_text"][0]["rest"]["rules"] == 4 + 3 + 12 - 3
        held += good
    assert often_enough(held, runs, 0.8)


def test_causal_intervals_hold_together():
    rng = np.random.default_rng(3)
    table = np.repeat(rng.random((TEMPLATES, 1)) < 0.5, 12, axis=1)
    table[:9, :3] ^= True  # nine of the thirty templates are about the first gender
    planted = Planted(table, ["gender", "faith"])
    truth = {("gender",): 0.3, ("faith",): 0.0, ("gender", "faith"): 0.3}
    runs, held = 50, 0
    for seed in range(runs):
        texts = planted.texts(60, np.random.default_rng(3000 + seed))
        result = eh.mine_text(planted, texts, lexicon=TERMS, kind="causal", seed=seed)
        held += all(
            finding.estimate.low <= truth[finding.about] <= finding.estimate.high
            for finding in result.findings
        )
    assert often_enough(held, runs, 0.95)


def noise(texts: list[str]) -> list[bool]:
    return [zlib.crc32(text.encode()) % 2 == 0 for text in texts]


@pytest.mark.parametrize(
    ("against", "level"),
    [
        pytest.param("terms", 0.95, marks=pytest.mark.slow),
        ("terms", 0.5),
        pytest.param("rest", 0.95, marks=pytest.mark.slow),
    ],
)
def test_outcomes_that_do_not_depend_on_the_term_report_nothing(against, level):
    """Any change of a text may change its outcome, but no term does so more often than another."""
    runs, silent = 40, 0
    for seed in range(runs):
        rng = np.random.default_rng(4000 + seed)
        names = [[rng.choice(DEFAULT[name]) for name in ("gender", "religion")] for _ in range(60)]
        texts = [f"{one} and {two} {at} {seed}" for at, (one, two) in enumerate(names)]
        result = eh.mine_text(
            noise, texts, against=against, level=level, seed=seed, limit=0, depth=1
        )
        silent += result.verdict != "fail"
    assert often_enough(silent, runs, level)


def test_terms_that_change_nothing_are_never_reported():
    planted = Planted(np.repeat(np.arange(TEMPLATES)[:, None] % 2 == 0, 4, axis=1), ["gender"])
    for seed in range(10):
        texts = planted.texts(200, np.random.default_rng(seed))
        group, causal = (
            eh.mine_text(
                planted, texts, lexicon={"gender": TERMS["gender"]}, kind=kind, seed=seed, limit=0.2
            )
            for kind in ("group", "causal")
        )
        for result in (group, causal):
            assert result.verdict == "pass"
            assert {finding.estimate.low for finding in result.findings} == {0.0}
            assert not any(finding.cases for finding in result.findings)


@pytest.mark.parametrize("scores", [False, True], ids=["labels", "scores"])
def test_a_term_that_lowers_one_text_in_five_is_first(scores):
    def decide(texts: list[str]) -> Any:
        hit = np.array([" gay " in text and int(text.split()[-1]) % 5 == 0 for text in texts])
        return 0.8 - 0.4 * hit if scores else ~hit

    for seed in range(4):
        rng = np.random.default_rng(seed)
        terms = rng.choice(DEFAULT["gender"], 400)
        texts = [f"we met the {term} neighbours at {at}" for at, term in enumerate(terms)]
        result = eh.mine_text(
            decide, texts, output="score" if scores else None, seed=seed, limit=0.0
        )
        worst = result.worst
        assert worst.about.text == "gender gay"
        assert worst.estimate.value == pytest.approx(0.08 if scores else 0.2)
        assert worst.verdict == "fail"
        assert worst.groups[0].estimate.value < worst.groups[1].estimate.value
        for case in worst.cases:
            assert "⟦gay⟧" in str(case.individual["text"])
            assert case.outcomes[0] < case.outcomes[1]
        assert len(worst.cases) == 3


def test_terms_that_act_only_together_are_first_together():
    def decide(texts: list[str]) -> Any:
        return ["gay muslim" not in text for text in texts]

    for seed in range(3):
        rng = np.random.default_rng(seed)
        texts = [
            f"the {rng.choice(DEFAULT['gender'])} {rng.choice(DEFAULT['religion'])} at {at}"
            for at in range(90)
        ]
        result = eh.mine_text(decide, texts, seed=seed, limit=0.3)
        assert result.worst.about.text == "gender gay, religion muslim"
        assert result.worst.estimate.value == pytest.approx(1)
        assert [finding.verdict == "fail" for finding in result.findings].count(True) == 1
        case, *_ = result.worst.cases
        # The twin changes one of the two terms, which is enough.
        assert sum(case.individual[name] != case.twin[name] for name in ("gender", "religion")) == 1
