"""Error rates of recorded decisions and of software, in Python and on the command line."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.results import result as results
from evenhand.runtime.errors import DataError, UsageError

ROWS = 4000
RNG = np.random.default_rng(5)
SEX = RNG.choice(["F", "M"], ROWS)
PAID = RNG.choice(["paid", "late"], ROWS, p=[0.6, 0.4])
CHANCE = np.where(PAID == "paid", 0.8, 0.3)
# Women who would pay are refused more often; those who would not are treated alike.
UNFAIR = CHANCE - 0.3 * ((SEX == "F") & (PAID == "paid"))
DRAW = RNG.random(ROWS)
LOG = pd.DataFrame(
    {
        "sex": SEX,
        "age": RNG.integers(18, 90, ROWS),
        "paid": PAID,
        "ok": np.where(DRAW < UNFAIR, "yes", "no"),
        "fair": np.where(DRAW < CHANCE, "yes", "no"),
    }
)
HOW: dict[str, Any] = {
    "outcome": "ok",
    "positive": "yes",
    "over": "sex",
    "truth": "paid",
    "truth_positive": "paid",
}


def finding_of(result: eh.Result, score: str) -> eh.Finding:
    """Return the finding of a score."""
    return next(finding for finding in result.findings if finding.score == score)


def test_only_the_rates_that_are_named_are_judged():
    result = eh.measure_log(LOG, metric="fpr", limit=0.1, **HOW)
    assert result.verdict == "pass"
    judged = [finding.score for finding in result.findings if finding.limit is not None]
    assert judged == ["false positive rate difference"]
    assert finding_of(result, "true positive rate difference").verdict is None
    worse = eh.measure_log(LOG, metric=["tpr", "fpr"], limit=0.1, **HOW)
    assert worse.verdict == "fail"
    assert worse.worst.score == "true positive rate difference"
    fair = eh.measure_log(
        LOG,
        metric=["tpr", "fpr"],
        limit=0.1,
        **{**HOW, "outcome": "fair"},
    )
    assert fair.verdict == "pass"


def test_the_table_has_all_groups_and_rates(tmp_path):
    log = LOG.copy()
    log.loc[:99, "sex"] = None
    log.loc[100:149, "paid"] = None
    result = eh.measure_log(log, **HOW)
    (table,) = result.details["rates"]
    labels = [group["about"]["sex"] for group in table["groups"]]
    assert labels == ["F", "M", "unknown"]
    assert [group["compared"] for group in table["groups"]] == [True, True, False]
    women = log[(log["sex"] == "F") & (log["paid"] == "paid")]
    rate = table["groups"][0]["rates"]["true_positive_rate"]
    assert rate["n"] == len(women)
    assert rate["value"] == pytest.approx((women["ok"] == "yes").mean())
    assert any("50 of 4,000 rows have no paid" in note for note in result.notes)
    assert result.details["missing_truths"] == 50
    text = result.to_json(tmp_path / "found.json")
    jsonschema.validate(json.loads(text), results.schema())
    assert eh.Result.from_json(tmp_path / "found.json").digest == result.digest
    frame = result.to_frame()
    assert list(frame["sex"]) == labels
    assert frame["precision_low"].between(0, 1).all()


def test_keys_tell_the_findings_apart():
    result = eh.measure_log(LOG, **HOW)
    keys = [finding.key for finding in result.findings]
    assert len(set(keys)) == len(keys) == 10
    assert "true positive rate difference of sex" in keys
    assert "rate difference of sex" in keys


def test_the_text_is_one_table_in_any_width():
    result = eh.measure_log(LOG, metric="tpr", limit=0.1, **HOW)
    text = result.to_text()
    assert text.count("difference") == 2
    assert "FAIL" in text
    from evenhand.report.terminal import lines

    narrow = lines(result, width=60)
    rows = [line for line in narrow if line.startswith(("F ", "M ", "difference"))]
    assert len(rows) > 6
    assert max(len(line) for line in rows) <= 70


@pytest.mark.parametrize(
    ("error", "how", "words"),
    [
        (UsageError, {"metric": "tpr", "truth": None, "truth_positive": None}, "truth"),
        (UsageError, {"truth": None}, "name it with truth"),
        (DataError, {"truth": "payd"}, "did you mean 'paid'"),
        (UsageError, {"truth": "ok"}, "the outcome itself"),
        (UsageError, {"truth": "sex"}, "in over too"),
        (UsageError, {"truth_positive": "on time"}, "'late', 'paid'"),
        (UsageError, {"truth_positive": None}, "truth_positive"),
        (UsageError, {"metric": "recal"}, "is unknown"),
    ],
)
def test_what_is_wrong_is_one_sentence(error, how, words):
    with pytest.raises(error, match=words):
        eh.measure_log(LOG, **{**HOW, **how})


def test_one_outcome_alone_is_noted():
    result = eh.measure_log(LOG.assign(ok="yes"), **HOW)
    assert {finding.only_answer for finding in result.findings} == {"yes"}


def test_the_command_judges_error_rates(tmp_path, capsys):
    file = tmp_path / "log.csv"
    LOG.to_csv(file, index=False)
    words = ["--positive", "yes", "--over", "sex", "--over", "age", "--bins", "age=25,40"]
    truth = ["--truth", "paid", "--truth-positive", "paid", "--limit", "0.2"]
    command = ["measure-log", str(file), "--outcome", "ok", *words, *truth]
    assert main([*command, "--metric", "tpr,fpr"]) == 1
    out = capsys.readouterr().out
    assert "25 to 39" in out
    assert "40 and over" in out
    assert main([*command, "--metric", "false_positive_rate"]) == 0
    impact = ["impact", str(file), "--outcome", "ok", *words, *truth[:4]]
    assert main([*impact, "--metric", "tpr", "--least-ratio", "0.8"]) == 1
    assert "by sex, the lowest true positive rate is" in capsys.readouterr().out
    mined = ["mine-log", str(file), "--outcome", "ok", "--positive", "yes"]
    assert main([*mined, "--over", "sex,age", "--bins", "age=25,40"]) == 0


# Impact


def test_impact_tells_error_rates_too():
    result = eh.impact(LOG, metric="tpr", least_ratio=0.8, **HOW)
    assert result.verdict == "fail"
    scores = {finding.score for finding in result.findings}
    assert {"impact ratio", "true positive rate ratio", "accuracy ratio"} <= scores
    assert finding_of(result, "impact ratio").limit is None
    (table,) = result.details["rates"]
    log = eh.measure_log(LOG, **HOW).details["rates"][0]
    for mine, other in zip(table["groups"], log["groups"], strict=True):
        assert mine["counts"] == other["counts"]
    without = {}
    for key, value in HOW.items():
        if "truth" not in key:
            without[key] = value
    plain = eh.impact(LOG, **without)
    beside = finding_of(result, "impact ratio").estimate
    assert beside.descriptive
    assert beside.value == plain.findings[0].estimate.value
    # It holds by itself; where nothing has a limit, three families share the error.
    assert beside.low >= plain.findings[0].estimate.low
    assert "rates" not in plain.details


def test_impact_cuts_numbers():
    result = eh.impact(
        LOG,
        outcome="ok",
        positive="yes",
        over="age",
        bins={"age": [25, 40]},
    )
    (table,) = result.details["impact"]
    labels = [category["about"]["age"] for category in table["categories"]]
    assert labels == ["under 25", "25 to 39", "40 and over"]
    with pytest.raises(UsageError, match="--bins age=25,40"):
        eh.impact(LOG, outcome="ok", positive="yes", over="age")
    scored = LOG.assign(points=DRAW)
    with pytest.raises(UsageError, match="scored"):
        eh.impact(
            scored,
            outcome="points",
            scored=True,
            over="sex",
            truth="paid",
        )


# Software


def lend(people: pd.DataFrame) -> Any:
    """Favour the young, and men."""
    return np.where((people["age"] < 40) | (people["sex"] == "M"), "yes", "no")


SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("age", 18, 90),
    ],
    protected=["sex"],
)
SUBJECT_OPTIONS: dict[str, Any] = {
    "kind": "group",
    "truth": "paid",
    "truth_positive": "paid",
}


def subject() -> eh.Subject:
    """Return the software that lends."""
    return eh.Subject(lend, SPACE, positive="yes")


def test_software_is_asked_about_rows_with_a_truth():
    sample = eh.rows(LOG, sample_of="borrowers")
    how = {**SUBJECT_OPTIONS, "metric": "tpr", "limit": 0.2}
    result = eh.measure(subject(), sampler=sample, **how)
    assert result.verdict == "fail"
    assert result.spent.queries == ROWS
    decided = lend(LOG) == "yes"
    worthy = LOG["paid"] == "paid"
    rates = {}
    for sex in ("F", "M"):
        rates[sex] = decided[worthy & (LOG["sex"] == sex)].mean()
    found = finding_of(result, "true positive rate difference")
    assert found.estimate.value == pytest.approx(rates["M"] - rates["F"])
    assert found.estimate.low < found.estimate.value < found.estimate.high
    recorded = eh.measure_log(LOG.assign(ok=lend(LOG)), metric="tpr", limit=0.2, **HOW)
    same = finding_of(recorded, "true positive rate difference").estimate
    assert found.estimate.low == same.low
    assert found.estimate.high == same.high


def test_given_rows_are_a_whole_population():
    result = eh.measure(subject(), sampler=eh.rows(LOG), **SUBJECT_OPTIONS)
    assert {finding.estimate.level for finding in result.findings} == {1.0}
    values = LOG["paid"].tolist()
    how = {**SUBJECT_OPTIONS, "truth": values}
    again = eh.measure(subject(), sampler=eh.rows(LOG), **how)
    assert again.digest == result.digest


@pytest.mark.parametrize(
    ("error", "how", "words"),
    [
        (UsageError, {"kind": "causal"}, "add kind='group'"),
        (UsageError, {"truth": None}, "leave metric out"),
        (UsageError, {"sampler": eh.uniform()}, "sampler=eh.rows"),
        (DataError, {"truth": "payd"}, "did you mean 'paid'"),
        (UsageError, {"truth": ["paid"]}, "1 values for 4,000 rows"),
        (DataError, {"truth_positive": "on time"}, "truth_positive"),
        (UsageError, {"budget": eh.Budget(queries=10)}, "raise queries"),
    ],
)
def test_a_wrong_truth_of_software_is_one_sentence(error, how, words):
    options = {"sampler": eh.rows(LOG), **SUBJECT_OPTIONS, **how}
    with pytest.raises(error, match=words):
        eh.measure(subject(), **options)


def test_a_check_of_a_configuration_has_a_truth(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    LOG.drop(columns=["ok", "fair"]).to_csv("people.csv", index=False)
    code = "import numpy as np\n\n\ndef lend(people):\n    return np.where((people['age'] < 40)"
    code += " | (people['sex'] == 'M'), 'yes', 'no')\n"
    (tmp_path / "lending_rule.py").write_text(code, encoding="utf-8")
    config = (
        '[subject]\nfunction = "lending_rule:lend"\npositive = "yes"\n'
        '[space]\nfrom = "people.csv"\ntarget = "paid"\nprotected = ["sex"]\n'
        '[[checks]]\njob = "measure"\nkind = "group"\nover = ["sex"]\ntruth = "paid"\n'
        'truth_positive = "paid"\nmetric = ["tpr"]\nlimit = 0.2\n'
    )
    (tmp_path / "evenhand.toml").write_text(config, encoding="utf-8")
    assert main(["audit", "-o", "report.html"]) == 1
    assert "sex M has a true positive rate of 100.0 %" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Error rates by sex" in page
    assert main(["measure", "--kind", "group", "--over", "sex"]) == 1


@pytest.mark.parametrize("number", [1000, 1001])
def test_as_many_groups_of_rows_are_compared_as_there_may_be(number):
    space = eh.Space([eh.integer("zip", 0, number - 1), eh.integer("age", 0, 9)])
    people = pd.DataFrame(
        {
            "zip": np.repeat(np.arange(number), 2),
            "age": np.tile([1, 6], number),
            "paid": np.tile(["late", "paid"], number),
        }
    )
    tested = eh.Subject(lambda rows: rows["age"] > 4, space, positive=True)
    how: dict[str, Any] = {
        "truth": "paid",
        "truth_positive": "paid",
        "kind": "group",
        "over": "zip",
    }
    if number > 1000:
        with pytest.raises(UsageError, match="1,001"):
            eh.measure(tested, sampler=eh.rows(people), **how)
    else:
        found = eh.measure(tested, sampler=eh.rows(people), **how)
        rates = finding_of(found, "true positive rate difference")
        assert rates.estimate.value == 0


def test_rows_with_a_truth_are_not_noted_and_those_without_are():
    complete = eh.measure_log(LOG, metric="fpr", limit=0.1, **HOW)
    assert complete.details["missing_truths"] == 0
    assert not any("paid" in note for note in complete.notes)
    lacking = LOG.assign(paid=LOG["paid"].where(LOG["age"] > 20))
    found = eh.measure_log(lacking, metric="fpr", limit=0.1, **HOW)
    lost = int((LOG["age"] <= 20).sum())
    assert found.details["missing_truths"] == lost
    assert any(f"{lost:,}" in note and "paid" in note for note in found.notes)


def test_without_a_limit_all_families_of_intervals_share_the_error():
    sample = eh.rows(LOG, sample_of="borrowers")
    found = eh.measure(subject(), sampler=sample, **SUBJECT_OPTIONS)
    recorded = eh.measure_log(LOG.assign(ok=lend(LOG)), **HOW)
    for score in ("true positive rate difference", "false positive rate difference"):
        estimate = finding_of(found, score).estimate
        same = finding_of(recorded, score).estimate
        assert (estimate.low, estimate.high) == pytest.approx((same.low, same.high))


def test_rows_may_be_a_list_of_records():
    records = LOG.head(200).to_dict("records")
    found = eh.measure(subject(), sampler=eh.rows(records), **SUBJECT_OPTIONS)
    same = eh.measure(subject(), sampler=eh.rows(LOG.head(200)), **SUBJECT_OPTIONS)
    assert found.findings == same.findings
