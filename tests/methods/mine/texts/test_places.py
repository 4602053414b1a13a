"""Where terms are written: named, before person nouns and in templates, and what is said of it."""

from __future__ import annotations

import itertools
import json
import os
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import evenhand as eh
from evenhand.cli.main import main
from evenhand.results.result import Result
from evenhand.runtime.errors import DataError, UsageError
from evenhand.texts.lexicon import Lexicon
from evenhand.texts.linear import linear_path
from evenhand.texts.matching import unmarked
from evenhand.texts.persons import find_hosts, persons_of
from evenhand.texts.templates import find_templates, templates_of
from tests.support.helpers import examples, refused
from tests.support.paths import BESIDE

LEXICON = Lexicon.default()
NAMED = ["I am a gay man", "a straight answer", "she is a lesbian", "nothing"] * 20
PERSONS = []
for number in range(30):
    PERSONS += [f"Visitor {number} met a man here", f"Visitor {number} met a nurse here"]
NOBODY = [f"It rained on day {at}" for at in range(40)]


def not_gay(texts: list[str]) -> list[bool]:
    return [
        re.search(
            r"\bgay\b",
            text,
            re.I,
        )
        is None
        for text in texts
    ]


def entry_of(result: Result) -> dict[str, Any]:
    (entry,) = result.details["mine_text"]
    return dict(entry)


def test_by_default_named_texts_are_enough_where_there_are_enough_of_them():
    found = eh.mine_text(not_gay, [*NAMED, *PERSONS])
    named = eh.mine_text(
        not_gay,
        [*NAMED, *PERSONS],
        places="named",
    )
    assert found.digest == named.digest
    assert "places" not in entry_of(found)
    assert found.worst.estimate.population == "texts like the 140 given that name gender"


def test_where_few_texts_name_anybody_person_nouns_take_terms():
    found = eh.mine_text(
        not_gay,
        [*PERSONS, *NOBODY],
        limit=0.2,
    )
    assert (found.verdict, found.worst.about.text) == ("fail", "gender gay")
    entry = entry_of(found)
    assert entry["places"] == "persons"
    assert entry["candidates"] == entry["examined"] == 48
    populations = {finding.estimate.population for finding in found.findings}
    assert populations == {
        "texts like the 100 given that name gender or a person, with the term in that place or"
        " before the person noun",
        "texts like the 100 given that name a category or a person, with the term in that place"
        " or before the person noun",
    }
    assert "so terms were also written before person nouns" in found.notes[-1]
    assert found.worst.estimate.n == 60
    by_name = {category["name"]: category["texts"] for category in entry["categories"]}
    assert set(by_name.values()) == {60}


def test_where_no_text_has_a_place_there_are_templates():
    found = eh.mine_text(
        not_gay,
        NOBODY,
        limit=0.2,
    )
    assert entry_of(found)["places"] == "templates"
    assert "not about these texts" in found.notes[-1]
    alone = eh.mine_text(not_gay, limit=0.2)
    assert alone.notes == ()
    assert alone.findings == found.findings
    worst = alone.worst
    assert (alone.verdict, worst.about.text) == ("fail", "gender gay")
    population = "the 480 sentences made of 24 templates, and no other texts"
    assert worst.estimate == eh.Estimate.exact(
        480,
        480,
        population=population,
    )


def test_one_planted_term_is_one_story():
    for texts in (None, PERSONS, NAMED):
        found = eh.mine_text(
            not_gay,
            texts,
            limit=0.2,
        )
        planted, rest = found.findings
        assert planted.about.text == "gender gay"
        assert planted.estimate.low > 0
        assert not rest.about.conditions


@pytest.mark.parametrize("texts", [None, PERSONS, NAMED])
def test_where_no_term_is_shown_to_differ_one_finding_bounds_all(texts):
    found = eh.mine_text(
        lambda some: [True] * len(some),
        texts,
        limit=0.5,
    )
    (finding,) = found.findings
    assert finding.claim.startswith("none of the ")
    assert "is shown to differ" in finding.claim
    entry = entry_of(found)
    assert entry["stories"] == []
    assert entry["rest"]["rules"] == entry["examined"]


def test_every_rate_is_that_of_writing_one_by_one():
    def graded(texts: list[str]) -> list[float]:
        return [zlib.crc32(text.encode()) % 101 / 100 for text in texts]

    texts = [*PERSONS, "a gay woman", "my sister is here", "two lesbians", "a jewish man"]
    nouns = r"\b(man|nurse|woman|sister)\b"
    found = eh.mine_text(
        graded,
        texts,
        places="persons",
        output="score",
        support=0.01,
    )
    matrix = {entry["axes"][0]: entry for entry in entry_of(found)["matrix"]}["age"]
    assert matrix["texts"] == len(texts) - 1
    for term, rate in zip(
        matrix["labels"][0],
        matrix["rates"],
        strict=True,
    ):
        written = []
        for text in texts[:60]:
            article = "an" if term in ("old", "older", "elderly") else "a"
            written.append(
                re.sub(
                    rf"a (?={nouns})",
                    f"{article} {term} ",
                    text,
                )
            )
        written += [f"a gay {term} woman", f"my {term} sister is here"]
        written += [f"a jewish {term} man"]
        assert rate == pytest.approx(np.mean(graded(written)), abs=1e-6)


def test_cases_replay_and_results_keep(tmp_path):
    for texts, kind in itertools.product((None, PERSONS), ("group", "causal")):
        found = eh.mine_text(
            not_gay,
            texts,
            limit=0.2,
            kind=kind,
        )
        file = tmp_path / "found.json"
        found.to_json(file)
        assert Result.from_json(file).digest == found.digest
        case = found.worst.cases[0]
        pair = [unmarked(str(one["text"])) for one in (case.individual, case.twin)]
        assert not_gay(pair) == list(case.outcomes) == [False, True]
        assert eh.replay(file, not_gay).verdict == "fail"
        assert eh.replay(file, lambda some: [True] * len(some)).verdict == "pass"


@pytest.mark.parametrize("texts", [None, PERSONS])
def test_outcomes_that_are_not_the_same_with_all_terms_change(texts):
    found = eh.mine_text(
        not_gay,
        texts,
        kind="causal",
        limit=0.2,
    )
    shares = {finding.about: finding.estimate.value for finding in found.findings}
    assert shares == {("gender",): 1, ("race",): 0, ("religion",): 0, ("age",): 0}
    change = entry_of(found)["changes"][0]
    changed = {term["text"]: term["changed"] for term in change["terms"]}
    assert changed.pop("gender gay") == 1
    assert max(changed.values()) < 0.15
    assert found.spent.queries == 32 + asked_by(entry_of(found), texts)


def asked_by(entry: Any, texts: Any) -> int:
    """Return how many texts are written with terms that fit their nouns."""
    found = find_templates(
        templates_of(None),
        LEXICON,
        (),
    )
    if texts is not None:
        found = find_hosts(
            texts,
            LEXICON,
            persons_of(None),
        )
        return sum(int(found.takes(name).sum()) for name in LEXICON.categories)
    assert entry["texts"] == 480
    return 22_872


def test_scores_of_any_two_terms_are_compared():
    """Two terms on both sides of the first differ by more than each from it."""

    def graded(texts: list[str]) -> list[float]:
        return [0.5 + 0.1 * ("old" in text) - 0.1 * ("young" in text) for text in texts]

    lexicon = {"age": ["teenage", "old", "young"]}
    options: dict[str, Any] = {"kind": "causal", "output": "score", "differs": 0.15}
    found = eh.mine_text(
        graded,
        lexicon=lexicon,
        templates=["the {term} ones"],
        **options,
    )
    assert found.worst.estimate.value == 1
    (case,) = found.worst.cases
    assert {case.individual["age"], case.twin["age"]} == {"old", "young"}


def test_a_budget_takes_some_sentences_at_random():
    budget = eh.Budget(queries=5_000)
    found = eh.mine_text(
        not_gay,
        budget=budget,
        limit=0.2,
        seed=3,
    )
    assert found.spent.queries <= 5_000
    assert (found.verdict, found.worst.about.text) == ("fail", "gender gay")
    assert found.worst.estimate.level == 0.95
    assert found.worst.estimate.low < 1
    assert "chosen at random" in found.notes[0]
    again = eh.mine_text(
        not_gay,
        budget=budget,
        limit=0.2,
        seed=3,
    )
    assert again.digest == found.digest


def test_templates_and_nouns_of_ones_own():
    found = eh.mine_text(
        not_gay,
        templates=["My {person} is {term}."],
        persons=["nurse", "boss"],
        lexicon={"gender": ["gay", "straight"]},
    )
    (case, _) = found.worst.cases
    assert case.individual["text"] == "My boss is ⟦gay⟧."
    assert entry_of(found)["templates"] == ["My {person} is {term}."]
    assert found.worst.estimate.n == 2


@pytest.mark.parametrize(
    ("texts", "options", "words"),
    [
        (NAMED, {"places": "name"}, "did you mean 'named'"),
        (None, {"places": "named"}, "needs texts"),
        (None, {"places": "persons"}, "needs texts"),
        (NAMED, {"places": "named", "templates": ["{term}"]}, "cannot be combined"),
        (NAMED, {"places": "persons", "against": "rest"}, "take against='terms'"),
        (NAMED, {"places": "templates", "against": "rest"}, "take against='terms'"),
        (None, {"against": "rest"}, "give texts"),
        (None, {"templates": ["no place"]}, "{term} once"),
        (
            None,
            {"templates": ["{term} {person}"], "persons": [{"plural": "x"}]},
            "no sentence",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(texts, options, words):
    refused(
        UsageError,
        lambda: eh.mine_text(
            not_gay,
            texts,
            **options,
        ),
        words,
    )


def test_terms_that_are_no_adjectives_are_no_category_of_templates():
    nouns = [{"term": "jew", "adjective": False}, {"term": "goy", "adjective": False}]
    lexicon = {"religion": [*nouns, "muslim"]}
    refused(
        UsageError,
        lambda: eh.mine_text(not_gay, lexicon=lexicon),
        "adjective",
    )


def test_too_few_texts_are_refused():
    refused(
        DataError,
        lambda: eh.mine_text(
            not_gay,
            NOBODY,
            places="persons",
        ),
        "templates",
    )

    def compared() -> Result:
        return eh.mine_text(
            not_gay,
            NOBODY,
            against="rest",
        )

    refused(
        DataError,
        compared,
        "no category",
    )


FUNCTION = "def decide(texts):\n    return ['gay' in text.lower() for text in texts]\n"
CONFIG = """
[subject]
function = "places_rule:decide"
positive = false
[texts]
{texts}
[[checks]]
job = "mine"
limit = 0.2
"""


@pytest.mark.parametrize(
    ("texts", "queries"),
    [
        ("", 22_872),
        ('templates = ["a {term} {person}"]\npersons = ["nurse", {plural = "x"}]', 48),
    ],
)
def test_a_configuration_needs_no_texts(tmp_path, monkeypatch, capsys, texts, queries):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("places_rule.py").write_text(FUNCTION)
    Path("evenhand.toml").write_text(CONFIG.replace("{texts}", texts))
    assert main(["mine", "--json", "found.json"]) == 1
    assert "gender gay" in capsys.readouterr().out
    found = json.loads(Path("found.json").read_text())
    assert found["spent"]["queries"] == queries
    foreseen = eh.plan("evenhand.toml")
    (check,) = foreseen.details["plan"]["checks"]
    assert check["parts"][0]["inputs"] == queries
    assert main(["audit"]) == 1
    assert main(["replay", "found.json"]) == 1


def hosted(texts: list[str], ngrams: int) -> tuple[Any, Any]:
    """Return a pipeline that has learnt from texts, and the same as a bare function."""
    vectorizer = TfidfVectorizer(ngram_range=(1, ngrams), lowercase=ngrams > 1)
    labels = [zlib.crc32(text.encode()) % 2 for text in texts]
    labels[:2] = [0, 1]
    model = make_pipeline(vectorizer, LogisticRegression(C=50)).fit(texts, labels)
    assert linear_path(model) is not None
    both: dict[str, Any] = {"positive": 0, "labels": [0, 1]}
    return eh.TextSubject(model, **both), eh.TextSubject(model.predict, **both)


WORDS = [
    "a",
    "An",
    "man",
    "Men",
    "the",
    "people",
    "author",
    "is",
    "gay",
    "old.",
    "x",
    "MEN",
]


@settings(deadline=None, max_examples=examples(40))
@given(
    st.lists(
        st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=3, max_size=8
    ),
    st.integers(1, 3),
    st.sampled_from(["group", "causal"]),
)
def test_the_fast_path_says_what_the_written_texts_say(texts, ngrams, kind):
    model, function = hosted([*texts, "a gay man", "an old author of men"], ngrams)
    own = [*texts, "the man is here"]
    for given_texts in (own, None):
        places = "templates" if given_texts is None else "persons"
        options: dict[str, Any] = {"kind": kind, "support": 0.01}
        if given_texts is None:
            options["templates"] = [*(f"{text} {{term}}" for text in texts[:1])]
        options["lexicon"] = {
            "gender": ["gay", {"term": "lesbian", "before": "women"}, "lgbt"],
            "age": ["old", "young"],
        }
        fast = eh.mine_text(
            model,
            given_texts,
            places=places,
            **options,
        )
        slow = eh.mine_text(
            function,
            given_texts,
            places=places,
            **options,
        )
        assert fast.findings == slow.findings
        assert fast.details == slow.details
        assert fast.spent.queries == slow.spent.queries


def planted_pipeline() -> Any:
    """Return a filter that has learnt from rude texts with one term, and kind ones with others."""
    rng = np.random.default_rng(0)
    texts = []
    labels = []
    nouns = ["man", "woman", "friend", "driver", "teacher", "nurse"]
    for _ in range(3000):
        term = str(rng.choice([term.text for term in LEXICON.of("gender")]))
        rude = rng.random() < (0.9 if term == "gay" else 0.3)
        verb = rng.choice(["hates", "insults"] if rude else ["likes", "thanks"])
        noun = rng.choice(nouns)
        texts.append(f"The {term} {noun} {verb} everyone" if rng.random() < 0.5 else term)
        labels.append(int(rude))
    return make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(texts, labels)


def test_a_planted_pipeline_is_decided_by_templates_alone():
    found = eh.mine_text(
        planted_pipeline(),
        positive=0,
        limit=0.2,
    )
    assert (found.verdict, found.worst.about.text) == ("fail", "gender gay")
    stories = entry_of(found)["stories"]
    assert [story["text"] for story in stories] == ["gender gay"]


def test_a_planted_pipeline_is_decided_by_person_nouns():
    texts = []
    for day in range(100):
        texts += [f"I told a man about it, day {day}", f"I told a nurse, day {day}"]
    found = eh.mine_text(
        planted_pipeline(),
        [*texts, *NOBODY * 20],
        positive=0,
        limit=0.2,
    )
    assert (found.verdict, found.worst.about.text) == ("fail", "gender gay")
    assert entry_of(found)["places"] == "persons"


def comments() -> Any:
    name = "wiki_toxicity_jigsaw_balanced.csv.gz"
    file = Path(os.environ.get("EVENHAND_DATA", BESIDE)) / name
    if not file.exists():
        pytest.skip(f"needs {name} in EVENHAND_DATA or ../shared/data")
    return pd.read_csv(file)["comment_text"]


def test_a_filter_of_profanity_is_decided():
    """Its predict calls “you are a gay man” profane, and “you are a straight man” not."""
    filtering = pytest.importorskip(
        "profanity_check", reason="needs the package alt-profanity-check"
    )
    found = eh.mine_text(
        filtering.predict,
        positive=0,
        limit=0.2,
    )
    assert found.verdict == "fail"
    failing = {}
    for finding in found.findings:
        if finding.verdict == "fail" and finding.about.conditions:
            failing[finding.about.text] = finding.estimate.value
    assert found.worst.about.text in failing
    assert {"gender gay", "gender queer", "gender homosexual"} == set(failing)
    assert failing["gender gay"] > 0.4
    without = ["queer", "homosexual"]
    narrow = eh.mine_text(
        filtering.predict,
        positive=0,
        limit=0.2,
        without=without,
    )
    assert (narrow.verdict, narrow.worst.about.text) == ("fail", "gender gay")


def test_a_filter_of_profanity_is_decided_on_comments_that_seldom_name_anybody():
    filtering = pytest.importorskip(
        "profanity_check", reason="needs the package alt-profanity-check"
    )
    texts = comments()[:6000]
    found = eh.mine_text(
        filtering.predict,
        texts,
        positive=0,
        limit=0.05,
    )
    assert (found.verdict, found.worst.about.text) == ("fail", "gender queer")
    by_rule = {finding.about.text: finding.estimate for finding in found.findings}
    assert by_rule["gender gay"].low > 0.03
    named = eh.mine_text(
        filtering.predict,
        texts,
        positive=0,
        limit=0.05,
        places="named",
        support=0.01,
        depth=1,
    )
    assert {finding.estimate.n for finding in named.findings[:1]} == {84}
    assert "fail" not in {f.verdict for f in named.findings if f.about.text == "gender gay"}


def test_a_filter_of_comments_is_decided_on_those_that_seldom_name_anybody():
    texts = comments()[:3000]
    labels = [zlib.crc32(text.encode()) % 2 for text in texts]
    model = make_pipeline(CountVectorizer(min_df=3), LogisticRegression(max_iter=300))
    model.fit(texts, labels)
    fast = eh.mine_text(
        model,
        texts,
        positive=0,
    )
    slow = eh.mine_text(
        model.predict,
        texts,
        positive=0,
    )
    assert entry_of(fast)["places"] == "persons"
    assert fast.findings == slow.findings
