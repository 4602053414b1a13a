"""Evidence of coded values: people read the words, programs the codes."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import evenhand as eh
from evenhand.results.result import Result
from evenhand.runtime.errors import ConfigError, UsageError

SEXES = {0: "female", 1: "male"}
DECISIONS = {0: "denied", 1: "approved"}


def lend(people: pd.DataFrame) -> pd.Series:
    return ((people["sex"] == 1) & (people["age"] > 40)).astype(int)


def space(labels: dict[int, str] | None) -> eh.Space:
    sex = eh.category("sex", [0, 1], labels=labels)
    return eh.Space([sex, eh.integer("age", 18, 90)], ["sex"])


def lender(labels: dict[int, str] | None = None) -> eh.Subject:
    return eh.Subject(lend, space(SEXES), positive=1, labels=labels or DECISIONS)


def test_cases_groups_and_claims_have_the_words() -> None:
    causal = eh.measure(lender(), limit=0.05)
    assert str(causal.worst.cases[0]) == (
        "sex female → male: denied → approved (with age 41)"
    )
    group = eh.measure(lender(), kind="group", limit=0.05)
    assert "sex male" in group.worst.claim
    assert "approved" in group.worst.claim
    assert {str(one) for one in group.worst.groups} == {"sex female", "sex male"}
    assert "sex 0" not in causal.to_text() + group.to_text()


def test_json_has_the_codes_and_brings_the_words_back(tmp_path) -> None:
    found = eh.measure(lender(), limit=0.05)
    document = json.loads(found.to_json())
    (case, *_) = document["findings"][0]["cases"]
    assert case == {
        "individual": {"sex": 0, "age": 41},
        "twin": {"sex": 1, "age": 41},
        "outcomes": [0, 1],
    }
    assert document["outcome_labels"] == {"": {"0": "denied", "1": "approved"}}
    file = tmp_path / "found.json"
    found.to_json(file)
    again = Result.from_json(file)
    assert again.findings == found.findings
    assert again.to_text() == found.to_text()


def test_labels_change_no_number_and_no_key() -> None:
    named = eh.measure(lender(), limit=0.05, kind="group")
    bare = eh.measure(eh.Subject(lend, space(None), positive=1), limit=0.05, kind="group")
    assert [one.key for one in named.findings] == [one.key for one in bare.findings]
    assert [one.estimate for one in named.findings] == [
        one.estimate for one in bare.findings
    ]
    document = json.loads(bare.to_json())
    assert "outcome_labels" not in document
    assert "labels" not in json.dumps(document)


def test_the_only_answer_is_named() -> None:
    never = eh.Subject(
        lambda people: people["age"] * 0, space(SEXES), positive=1, labels=DECISIONS
    )
    found = eh.measure(never, limit=0.05)
    assert "every outcome was denied" in found.to_text()
    assert found.worst.only_answer == 0


def test_labels_of_outputs_are_tables_by_output() -> None:
    def loan(people: pd.DataFrame) -> dict[str, pd.Series]:
        return {"grant": lend(people), "tier": (people["age"] > 50).astype(int)}

    subject = eh.Subject(
        loan, space(SEXES), outputs=["grant", "tier"], labels={"grant": DECISIONS}
    )
    found = eh.measure(subject, limit=0.05)
    assert "denied → approved" in str(found.worst.cases[0])


def test_labels_of_outcomes_are_checked() -> None:
    with pytest.raises(UsageError, match="two values would be called 'x'"):
        lender({0: "x", 1: "x"})
    with pytest.raises(UsageError, match="the label of 1 is ''"):
        lender({1: ""})


def log() -> pd.DataFrame:
    rows = []
    for sex in (0, 1):
        for school in (0, 1):
            granted = 40 + 50 * sex
            for number in range(100):
                rows.append((sex, school, int(number < granted)))
    return pd.DataFrame(rows, columns=["sex", "school", "granted"])


LABELS = {"sex": SEXES, "granted": DECISIONS}


@pytest.mark.parametrize("verb", [eh.measure_log, eh.impact, eh.mine_log])
def test_recorded_decisions_have_labels_by_column(verb) -> None:
    found = verb(log(), outcome="granted", over=["sex"], labels=LABELS)
    text = found.to_text()
    assert "female" in text
    assert "sex 0" not in text
    assert found.to_dict()["outcome_labels"] == {"": {"0": "denied", "1": "approved"}}
    bare = verb(log(), outcome="granted", over=["sex"])
    assert [one.key for one in found.findings] == [one.key for one in bare.findings]


def test_an_audit_of_a_log_says_which_outcome_is_favourable_in_words() -> None:
    found = eh.audit_log(log(), outcome="granted", over=["sex"], labels=LABELS)
    assert "of which approved is favourable" in found.to_text()
    with pytest.raises(
        UsageError, match="labels of column 'sex' name '7', which no row has"
    ):
        eh.audit_log(log(), outcome="granted", over=["sex"], labels={"sex": {7: "x"}})
    with pytest.raises(UsageError, match="labels names 'sec', which is not a column"):
        eh.audit_log(log(), outcome="granted", over=["sex"], labels={"sec": SEXES})


def test_a_log_of_a_configuration_has_labels(tmp_path) -> None:
    log().to_csv(tmp_path / "loans.csv", index=False)
    text = '[log]\nfrom = "loans.csv"\noutcome = "granted"\nover = ["sex"]\n'
    file = tmp_path / "evenhand.toml"
    file.write_text(text + 'labels = { sex = { 0 = "female", 1 = "male" } }\n')
    assert "sex female" in eh.audit(file).to_text()
    file.write_text(text + 'labels = { sex = { 2 = "female" } }\n')
    with pytest.raises(ConfigError, match="which no row has"):
        eh.audit(file)
