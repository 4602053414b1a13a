"""Whatever a favourable label is called, it is named as a label: details say what was compared, and
words do not.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.methods.mine.findings import Place
from evenhand.methods.mine.table import entries_of, scores
from evenhand.report.terminal import lines
from evenhand.results.reading import evidence_of
from tests.support.helpers import COMMENTS, TERMS

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("age", 18, 60),
    ],
    protected=["sex"],
)
RNG = np.random.default_rng(4)
PEOPLE = pd.DataFrame({"sex": RNG.choice(["F", "M"], 800)})
PEOPLE["age"] = RNG.integers(18, 61, 800)
LABELS = ["the score", "the best", "the favourable outcome", "score"]
NONE = "none of it"


def favoured(frame: Any) -> Any:
    is_man = frame["sex"] == "M"
    is_young = frame["age"] < 30
    return is_man | is_young


class ScoringBySex:
    """A model that gives men 0.7 and women 0.3."""

    classes_ = np.array(["no", "yes"])
    feature_names_in_ = np.array(["sex", "age"])

    def predict_proba(self, given: pd.DataFrame) -> Any:
        is_man = given["sex"] == "M"
        share = np.where(is_man, 0.7, 0.3)
        return np.column_stack([1 - share, share])

    def predict(self, given: pd.DataFrame) -> Any:
        is_man = given["sex"] == "M"
        return self.classes_[is_man.astype(int)]


def mined(verb: str, label: str) -> eh.Result:
    def decide(frame: Any) -> Any:
        return np.where(favoured(frame), label, NONE)

    def judge(texts: list[str]) -> list[str]:
        return [NONE if "gay" in text else label for text in texts]

    over = ["sex", "age"]
    if verb == "mine_log":
        decided = PEOPLE.assign(got=decide(PEOPLE))
        return eh.mine_log(decided, outcome="got", positive=label, over=over)
    if verb == "mine_text":
        return eh.mine_text(
            judge,
            COMMENTS * 20,
            lexicon=TERMS,
            positive=label,
            progress=False,
        )
    subject = eh.Subject(decide, SPACE, positive=label)
    return eh.mine(subject, data=PEOPLE, over=over, progress=False)


def mined_rows(subject: eh.Subject) -> eh.Result:
    """Mine the outcomes of the rows alone over sex."""
    return eh.mine(
        subject,
        data=PEOPLE,
        over="sex",
        treatment="rows",
        progress=False,
    )


def text_lines(result: eh.Result) -> list[str]:
    """Return what is written without cases, which labels align, and without what it took."""
    return result.to_text(cases=0).splitlines()[:-1]


@pytest.mark.parametrize("verb", ["mine", "mine_log", "mine_text"])
@pytest.mark.parametrize("label", LABELS)
def test_a_label_is_named_as_a_label(verb, label):
    result = mined(verb, label)
    (entry,) = entries_of(result)
    assert entry["favoured"] == label
    assert entry["counts"] is True
    assert entry["named"] is True
    assert not scores(entry)
    assert f" get the outcome {label}, and " in result.worst.claim
    text = lines(result)
    who = "texts" if verb == "mine_text" else "people"
    heading = f"how often {who} get the outcome {label}"
    assert any(line.startswith(heading) for line in text)
    assert "score on average" not in "\n".join(text)
    plain = mined(verb, "granted")
    renamed = [line.replace(label, "granted") for line in text_lines(result)]
    assert renamed == text_lines(plain)
    numbers = result.to_frame().drop(columns="claim")
    plain_numbers = plain.to_frame().drop(columns="claim")
    assert numbers.equals(plain_numbers)


@pytest.mark.parametrize("label", LABELS)
def test_each_of_several_labels_is_named_as_a_label(label):
    """Where no label is the favourable one, each is mined, and names its own mining."""

    def decide(frame: Any) -> Any:
        others = np.where(frame["age"] < 45, "b", "c")
        return np.where(favoured(frame), label, others)

    labels = [label, "b", "c"]
    result = mined_rows(eh.Subject(decide, SPACE, labels=labels))
    entries = entries_of(result)
    assert [entry["output"] for entry in entries] == labels
    assert [entry["favoured"] for entry in entries] == labels
    for entry in entries:
        assert entry["counts"]
        assert entry["named"]
    assert "score on average" not in result.to_text()
    assert f"how often people get the outcome {label}, each row as it is" in lines(result)


def test_a_function_describes_the_favourable_outcome():
    def years(frame: Any) -> Any:
        return frame["age"] * 1.0

    described = mined_rows(eh.Subject(years, SPACE, positive=lambda age: age < 30))
    (entry,) = entries_of(described)
    assert entry["favoured"] == "the favourable outcome"
    assert entry["counts"] is True
    assert entry["named"] is False
    heading = "how often people get the favourable outcome, each row as it is"
    assert heading in lines(described)


def test_scores_have_no_favourable_outcome():
    subject = eh.Subject(ScoringBySex(), SPACE, positive="yes", output="score")
    scored = mined_rows(subject)
    (entry,) = entries_of(scored)
    assert entry["favoured"] == "the score"
    assert entry["counts"] is False
    assert entry["named"] is False
    assert scores(entry)
    assert "how people score on average, each row as it is" in lines(scored)


@pytest.mark.parametrize("verb", ["mine", "mine_log", "mine_text"])
def test_a_finding_names_its_place_in_the_details(verb):
    result = mined(verb, "the score")
    (entry,) = entries_of(result)
    for finding in result.findings:
        place = finding.detail
        assert isinstance(place, Place)
        assert place.mining == 0
        if place.part == "story":
            story = entry["stories"][place.number]
            assert story["text"] == str(finding.about)
        else:
            assert place.part == "rest"
            assert finding.about.conditions == ()
    document = json.loads(result.to_json())
    again = evidence_of(document, where="found.json")
    for finding, read in zip(result.findings, again.findings, strict=True):
        assert read.detail == finding.detail
        assert read.key == finding.key
    assert again.digest == result.digest
    assert again.to_frame().equals(result.to_frame())
