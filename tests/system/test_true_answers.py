"""No first answer is false: what is so by construction, what was not run, and what cases show."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from functools import partial
from html import unescape

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.methods.audit.checks import usual
from evenhand.report.rates_display import RATE_AXIS, RATIO_AXIS
from evenhand.results.baseline import hold
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Estimate

HIDDEN = eh.Space(
    [
        eh.category("sex", ["F", "M"], passed=False),
        eh.category("race", ["a", "b"]),
        eh.integer("age", 18, 90),
    ],
    protected=["sex", "race"],
)
BY_CONSTRUCTION = "so by construction, and no evidence: the software does not see sex"


def old_enough(people: pd.DataFrame) -> pd.Series:
    return people["age"] >= 21


# What the software does not see


@pytest.mark.parametrize("verb", [eh.measure, eh.search])
def test_that_a_hidden_feature_changes_nothing_is_no_pass(verb):
    limit = {eh.measure: 0.05, eh.search: 0}[verb]
    found = verb(old_enough, HIDDEN, over="sex", limit=limit)
    assert found.worst.by_construction
    assert found.verdict == "undecided"
    assert found.exit_code == 3
    assert BY_CONSTRUCTION in str(found)
    assert BY_CONSTRUCTION in found.to_text()
    assert BY_CONSTRUCTION.capitalize() in found.to_html()
    written = json.loads(found.to_json())
    assert written["verdict"] == "undecided"
    assert written["findings"][0]["by_construction"] is True
    assert type(found).from_dict(written).findings == found.findings


def test_sets_of_hidden_features_are_no_pass_and_those_with_others_are_judged():
    found = eh.subsets(old_enough, HIDDEN, among=["sex"], limit=0.05)
    assert found.worst.by_construction is True
    assert found.verdict == "undecided"
    assert f"UNDECIDED sex: {found.worst.estimate}" in found.to_text()
    assert BY_CONSTRUCTION in found.to_text()
    both = eh.subsets(old_enough, HIDDEN, among=["sex", "race"], limit=0.05)
    assert both.worst.by_construction is False
    assert both.verdict == "pass"
    together = eh.measure(old_enough, HIDDEN, over=["sex", "race"], limit=0.05)
    assert together.worst.by_construction is False
    assert together.verdict == "pass"


def test_every_format_of_an_audit_tells_what_is_so_by_construction():
    check = {"job": "measure", "over": ["sex"], "limit": 0.05}
    audit = eh.audit(old_enough, HIDDEN, checks=[check])
    assert audit.verdict == "undecided"
    assert audit.exit_code == 3
    for name in ("junit", "sarif", "markdown", "notebook", "html", "card"):
        assert BY_CONSTRUCTION.casefold() in _rendered(name, audit).casefold(), name
    sarif = json.loads(_rendered("sarif", audit))
    (run,) = sarif["runs"]
    (result,) = run["results"]
    assert result["level"] == "warning"
    assert result["properties"]["by_construction"] is True


def _rendered(name, audit):
    from evenhand.formats import FORMATS

    return FORMATS[name].render(audit)


def test_usual_checks_ask_of_a_hidden_feature_only_what_can_be_known():
    checks = usual(HIDDEN, real=True)
    named = []
    for check in checks:
        named.append((check["job"], check.get("kind"), check.get("over")))
    assert named == [
        ("measure", None, ["race"]),
        ("search", None, ["race"]),
        ("measure", "group", ["sex"]),
        ("impact", None, None),
        ("mine", None, None),
    ]
    only_hidden = eh.Space(HIDDEN.features, protected=["sex"])
    with pytest.raises(eh.UsageError, match=r"does not see sex.*real rows"):
        usual(only_hidden, real=False)


def test_rates_of_hidden_groups_tell_something_only_among_real_rows():
    uniform = eh.measure(
        old_enough,
        HIDDEN,
        over="sex",
        kind="group",
        limit=0.1,
    )
    assert uniform.worst.by_construction is True
    assert uniform.verdict == "undecided"
    rows = pd.DataFrame(
        {
            "sex": ["F", "M"] * 20,
            "race": "a",
            "age": [19, 40] * 20,
        }
    )
    real = eh.measure(
        old_enough,
        HIDDEN,
        over="sex",
        kind="group",
        limit=0.1,
        sampler=eh.rows(rows),
    )
    assert real.worst.by_construction is False
    assert real.verdict == "fail"
    for kind in ("causal", "group"):
        found = eh.subsets(
            old_enough,
            HIDDEN,
            among=["sex"],
            kind=kind,
            limit=0.1,
        )
        assert found.worst.by_construction


# What was not run


def test_a_check_that_could_not_run_has_a_heading_of_its_own():
    def crashes(people):
        raise RuntimeError("gone")

    passes = {"job": "measure", "over": ["race"], "limit": 0.05}
    audit = eh.audit(crashes, HIDDEN, checks=[passes])
    assert audit.exit_code == 4
    text = audit.to_text()
    assert "UNDECIDED" not in text
    first, *others = text.splitlines()
    assert first.startswith("NOT RUN   measure race: ")
    assert "NOT RUN   1 check: 1 not run" in others
    page = audit.to_html()
    assert "Not every check could be run" in page
    assert page.count(">not run<") >= 2
    assert ">undecided<" not in page
    assert _rendered("markdown", audit).startswith("## evenhand: not run")
    assert "not run" in _rendered("notebook", audit)
    (error,) = ET.fromstring(_rendered("junit", audit)).iter("error")
    assert error.get("type") == "the software failed"


# Digits beside a limit


@pytest.mark.parametrize(
    ("low", "high", "limit", "least", "shown"),
    [
        (0.0504, 0.139, 0.05, False, "5.04 % to 13.9 %"),
        (0.01, 0.04998, 0.05, False, "1.0 % to 4.998 %"),
        (0.0496, 0.139, 0.05, False, "4.96 % to 13.9 %"),
        (0.05, 0.139, 0.05, False, "5.0 % to 13.9 %"),
        (0.5, 0.79998, 0.8, True, "50.0 % to 79.998 %"),
        (0.052, 0.139, 0.05, False, "5.2 % to 13.9 %"),
    ],
)
def test_an_interval_beside_its_limit_shows_the_verdict(low, high, limit, least, shown):
    estimate = Estimate((low + high) / 2, low, high, 247, 0.95, "exact")
    finding = eh.Finding("a claim", ("sex",), estimate, limit, least=least)
    assert finding.estimate.interval_text == shown
    assert shown in str(finding)
    assert finding.estimate == estimate
    first, last = shown.replace(" %", "").split(" to ")
    shown_low = float(first) / 100
    shown_high = float(last) / 100
    as_shown = Estimate(shown_low, shown_low, shown_high, 247, 0.95, "exact")
    assert as_shown.verdict(limit, least=least) == finding.verdict


def test_an_end_that_no_digits_tell_from_the_limit_is_written_as_ever():
    estimate = Estimate(0.1, 0.05 + 1e-15, 0.139, 247, 0.95, "exact", beside=0.05)
    assert estimate.interval_text == "5.0 % to 13.9 %"


# Rates and ratios of recorded decisions


def _decisions():
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"sex": rng.choice(["F", "M"], 2000)})
    rate = np.where(people["sex"] == "F", 0.4, 0.8)
    granted = rng.random(2000) < rate
    return people.assign(granted=granted.astype(int))


def _rows_of(page):
    rows = []
    for row in re.findall("<tr>(.*?)</tr>", page, re.DOTALL):
        texts = []
        for cell in re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL):
            without_tags = re.sub("<[^>]*>", "", cell)
            texts.append(unescape(without_tags).strip())
        rows.append(texts)
    return rows


def test_what_a_column_of_the_page_is_headed_is_what_it_shows():
    people = _decisions()
    found = eh.measure_log(people, outcome="granted", over="sex", least_ratio=0.8)
    shares = people.groupby("sex")["granted"].mean()
    rows = _rows_of(found.to_html())
    shown = {}
    for at, row in enumerate(rows):
        if row[:1] == ["group"]:
            groups = rows[at + 1 : at + 3]
            shown[row[1]] = {name: number for name, number, *_ in groups}
    assert shown["rate"] == {
        "sex F": number_text.percent(shares["F"]),
        "sex M": number_text.percent(shares["M"]),
    }
    assert shown["ratio"] == {
        "sex F": number_text.percent(shares["F"] / shares["M"]),
        "sex M": "100.0 %",
    }
    panels = found.plot().groups
    axes = {panel.axis.partition(", intervals")[0] for panel in panels}
    assert axes == {RATE_AXIS, RATIO_AXIS}


# Cases


WHOLE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b"]),
        eh.integer("age", 18, 90),
    ],
    protected=["sex", "race"],
)
PEOPLE = WHOLE.decode(WHOLE.draw(1500, np.random.default_rng(0)))


def _biased(people):
    is_old = people["age"] > 70
    is_man_over_40 = (people["age"] > 40) & (people["sex"] == "M")
    return is_man_over_40 | is_old


def test_a_case_of_a_subgroup_changes_what_its_rule_names_and_nothing_else():
    found = eh.mine(_biased, WHOLE, PEOPLE)
    with_cases = [finding for finding in found.findings if finding.cases]
    assert with_cases
    for finding in with_cases:
        named = {condition.feature for condition in finding.about.conditions}
        for case in finding.cases:
            assert set(case.changed) <= named
    assert any(len(finding.about.conditions) == 1 for finding in with_cases)


def _people_in(frame):
    return set(frame.itertuples(index=False, name=None))


def test_twins_among_rows_ask_nothing_but_the_rows():
    space = eh.Space(
        [
            eh.category("sex", ["F", "M"]),
            eh.integer("age", 18, 30),
        ],
        protected=["sex"],
    )
    people = space.decode(space.draw(60, np.random.default_rng(0)))
    # A man whom no woman equals, so that a moved one would be seen.
    people = people[(people["sex"] == "M") | (people["age"] != 25)]
    asked = []

    def recorded(frame):
        asked.append(frame[["sex", "age"]].copy())
        return (frame["age"] > 20) & (frame["sex"] == "M")

    rows = eh.rows(people, twins="rows")
    given = _people_in(people[["sex", "age"]])
    for kind in ("group", "causal"):
        found = eh.measure(recorded, space, kind=kind, sampler=rows)
        assert _people_in(pd.concat(asked)) <= given
        assert found.worst.cases
        for case in found.worst.cases:
            assert case.changed == ("sex",)
            assert tuple(case.twin.values()) in given


def test_a_measure_on_the_command_line_says_what_is_so_by_construction(tmp_path, capsys):
    config = tmp_path / "evenhand.toml"
    (tmp_path / "loan.py").write_text(
        "def decide(people):\n    return people['age'] > 40\n"
    )
    config.write_text(
        '[subject]\nfunction = "loan:decide"\n[space]\nprotected = ["sex"]\n'
        '[space.features.sex]\nkind = "category"\nlevels = ["F", "M"]\npassed = false\n'
        '[space.features.age]\nkind = "integer"\nlow = 18\nhigh = 90\n'
    )
    assert main(["measure", str(config), "--over", "sex", "--limit", "0.05"]) == 3
    printed = capsys.readouterr().out
    assert printed.startswith("UNDECIDED changing only sex")
    assert BY_CONSTRUCTION in printed


# The favourable outcome, and the answers of the software

SEEN = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("age", 18, 90),
    ],
    protected=["sex"],
)
ROWS = SEEN.decode(SEEN.draw(300, np.random.default_rng(0)))


def approve(people: pd.DataFrame) -> np.ndarray:
    return np.where(people["age"] > 40, "approve", "deny")


def audit_of(**check):
    """Return an audit of one check, which is given a subject alone."""
    return partial(eh.audit, data=ROWS, checks=[check])


GROUP = partial(eh.measure, kind="group")
VERBS = {
    "group measure": partial(GROUP, limit=0.1),
    "sampled group measure": partial(GROUP, exact=False),
    "group measure of rows": partial(GROUP, sampler=eh.rows(ROWS)),
    "paper's group measure": partial(GROUP, interval="wald"),
    "causal measure": partial(eh.measure, limit=0.1),
    "prevalence": partial(eh.prevalence, limit=0.1),
    "group subsets": partial(eh.subsets, kind="group", among=["sex"]),
    "subsets": partial(eh.subsets, among=["sex"]),
    "search": partial(eh.search, limit=0),
    "mine": partial(eh.mine, data=ROWS, limit=0.1),
    "mine of rows": partial(eh.mine, data=ROWS, treatment="rows"),
    "paper's mine": partial(eh.mine, data=ROWS, treatment="paper"),
    "impact": audit_of(job="impact"),
    "audit": audit_of(job="measure", kind="group", limit=0.1),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_favourable_outcome_that_is_never_given_is_refused(verb):
    wrong = eh.Subject(approve, SEEN, positive="aproved")
    with pytest.raises(eh.UsageError) as refused:
        VERBS[verb](wrong)
    assert refused.value.exit_code == 2
    for words in ("positive = 'aproved'", "did you mean 'approve'?", "'deny'"):
        assert words in str(refused.value)
    assert VERBS[verb](eh.Subject(approve, SEEN, positive="approve")).findings


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_outcome_that_is_declared_may_be_missing_from_a_run(n_jobs):
    known = eh.Subject(approve, SEEN, positive="refer", labels=["approve", "deny", "refer"])
    found = eh.measure(known, kind="group", limit=0.1, n_jobs=n_jobs)
    assert found.verdict == "pass"
    assert found.worst.only_answer is None
    never = eh.Subject(lambda people: people["age"] > 200, SEEN, positive=True)
    alone = eh.measure(never, kind="group", limit=0.1, n_jobs=n_jobs)
    assert alone.verdict == "undecided"
    assert alone.worst.only_answer is False
    zeros = eh.Subject(lambda people: np.zeros(len(people), int), SEEN, positive=1)
    with pytest.raises(eh.UsageError, match="never answered positive = 1"):
        eh.measure(zeros, kind="group", n_jobs=n_jobs)
    # A causal score does not rest on what is favourable: one answer tells nothing of it.
    assert eh.measure(zeros, limit=0.1, n_jobs=n_jobs).worst.only_answer == 0


def test_a_classifier_that_never_gives_its_favourable_class_gave_one_answer_only():
    from sklearn.dummy import DummyClassifier

    points = pd.DataFrame(
        {
            "sex": ["F", "M"] * 50,
            "age": range(100),
        }
    )
    model = DummyClassifier(strategy="most_frequent").fit(points, [0] * 90 + [1] * 10)
    found = eh.measure(eh.Subject(model, SEEN, positive=1), kind="group", limit=0.1)
    assert found.verdict == "undecided"
    assert found.worst.only_answer == 0
    with pytest.raises(eh.UsageError, match=r"positive = 'yes' is not a class"):
        eh.Subject(model, SEEN, positive="yes")


ONE_ANSWER = "one answer only: every outcome was approve"


@pytest.mark.parametrize("verb", VERBS)
def test_software_that_gave_one_answer_only_is_seen_beside_the_verdict(verb):
    def generous(people):
        return np.full(len(people), "approve")

    found = VERBS[verb](eh.Subject(generous, SEEN, positive="approve"))
    assert {finding.only_answer for finding in found.findings} == {"approve"}
    for part in (found, *found.parts):
        assert ONE_ANSWER in part.to_text()
        assert ONE_ANSWER.casefold() in part.to_html().casefold()
    assert '"only_answer": "approve"' in found.to_json()


def test_several_outputs_have_their_own_answers():
    def both(people):
        return {
            "grant": np.full(len(people), "yes"),
            "rate": people["age"] % 3,
        }

    subject = eh.Subject(
        both,
        SEEN,
        outputs=["grant", "rate"],
        positive={"grant": "yes", "rate": 0},
    )
    found = eh.measure(subject, kind="group")
    by_output = {finding.output: finding.only_answer for finding in found.findings}
    assert by_output == {"grant": "yes", "rate": None}
    wrong = eh.Subject(
        both,
        SEEN,
        outputs=["grant", "rate"],
        positive={"grant": "yes", "rate": 7},
    )
    with pytest.raises(eh.UsageError, match=r"output 'rate'.*positive\['rate'\] = 7"):
        eh.measure(wrong, kind="group")


def test_texts_where_the_favourable_outcome_is_a_number_are_a_mistake_of_the_user():
    with pytest.raises(eh.UsageError, match="one is a text") as refused:
        eh.measure(eh.Subject(approve, SEEN, positive=1), kind="group")
    assert refused.value.exit_code == 2


def test_recorded_decisions_of_one_kind_are_marked_and_a_wrong_outcome_is_refused():
    people = ROWS.assign(granted="no")
    for verb in (eh.measure_log, eh.mine_log):
        found = verb(
            people,
            outcome="granted",
            over=["sex"],
            positive="no",
            limit=0.1,
        )
        assert {finding.only_answer for finding in found.findings} == {"no"}
        assert "one answer only: every outcome was no" in found.to_text()
        with pytest.raises(eh.UsageError, match=r"positive = 'yes'.*'no'"):
            verb(people, outcome="granted", over=["sex"], positive="yes")
    with pytest.raises(eh.UsageError, match=r"positive = 'yes'.*'no'"):
        eh.impact(people, outcome="granted", over=["sex"], positive="yes")


def test_a_wrong_favourable_outcome_of_a_command_ends_with_code_two(tmp_path, capsys):
    (tmp_path / "loan.py").write_text(
        "import sys\nprint('approve' if int(sys.argv[1]) > 40 else 'deny')\n"
    )
    ROWS[:40].to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "evenhand.toml").write_text(
        f'[subject]\ncommand = ["{sys.executable}", "{tmp_path}/loan.py", "{{age}}", "{{sex}}"]\n'
        'positive = "yes"\n[space]\nfrom = "people.csv"\nprotected = ["sex"]\n'
    )
    config = str(tmp_path / "evenhand.toml")
    for command in (["measure", config, "--kind", "group"], ["mine", config]):
        code = main([*command, "--limit", "0.1", "--queries", "120"])
        assert code == 2
        printed = capsys.readouterr()
        assert "positive = 'yes'" in printed.err
        assert "'approve'" in printed.err
        assert "'deny'" in printed.err
        assert "PASS" not in printed.out


# What else a run tells


def test_a_prevalence_says_what_it_is():
    found = eh.prevalence(old_enough, SEEN)
    assert found.job == "prevalence"
    assert eh.Result.from_dict(found.to_dict()).job == "prevalence"
    check = {"job": "prevalence", "over": ["sex"], "limit": 0.1}
    (part,) = eh.audit(old_enough, SEEN, checks=[check]).parts
    assert part.job == "prevalence"


def test_minings_over_several_sets_have_keys_of_their_own():
    found = eh.mine(_biased, WHOLE, PEOPLE, over=[("sex",), ("sex", "race")])
    keys = [finding.key for finding in found.findings]
    assert len(keys) == len(set(keys))
    assert all(" among " in key for key in keys)
    held = hold(found, found)
    assert {comparison.state for comparison in held} <= {"not worse", "unsure"}
    alone = eh.mine(_biased, WHOLE, PEOPLE, over=["sex", "race"])
    assert not any(" among " in finding.key for finding in alone.findings)


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_a_measure_that_is_interrupted_at_once_says_so(kind):
    asked = []

    def interrupted(people):
        asked.append(len(people))
        if sum(asked) > 64:
            raise KeyboardInterrupt
        return people["age"] > 40

    found = eh.measure(
        interrupted,
        SEEN,
        kind=kind,
        exact=False,
        limit=0.05,
    )
    assert found.stop == eh.StopReason.INTERRUPTED
    assert found.exit_code == 130
    assert found.worst.estimate.n == 0
    assert found.verdict == "undecided"
