"""All variants of texts from counts: equal to writing each one and asking the whole pipeline."""

from __future__ import annotations

import itertools
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import TruncatedSVD
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from evenhand.runtime.errors import UsageError
from evenhand.texts import linear
from evenhand.texts.lexicon import Lexicon, Term
from evenhand.texts.linear import LinearPath, linear_path
from evenhand.texts.matching import Matches, find
from evenhand.texts.text_subject import TextSubject
from tests.support.helpers import examples, refused
from tests.support.paths import BESIDE

LEXICON = Lexicon.from_dict(
    {
        "gender": {
            "terms": [{"term": "gay", "plural": "gays"}, "lgbt", "he", "non-binary"]
        },
        "race": ["african american", "white", "É"],
        "age": ["old", "18 year old"],
    }
)
WORDS = [
    *(
        "gay",
        "Gays",
        "GAY",
        "lgbt",
        "he",
        "He",
        "non-binary",
        "a gay",
        "an lgbt",
        "A",
        "white",
        "African-American",
        "é",
    ),
    *(
        "an african  american",
        "old",
        "an 18 year old",
        "the",
        "of",
        "man",
        "men",
        "naïve",
        "x",
        "ΣΑΣ",
        "film",
        "film",
    ),
    *(
        "(gay)",
        "gay/white",
        "white,gay",
        "gay-old",
        "it's",
        "old.he",
        "...",
        "don't",
        "\u2028",
        "I\u0307",
    ),
]
GAPS = [
    " ",
    " ",
    " ",
    " ",
    ", ",
    "\n",
    "\t",
    "  ",
    "-",
    "/",
    ".",
    "\u2028",
    "\xa0",
    " a ",
    " the ",
    " the of ",
]
TEXTS = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GAPS)), max_size=9).map(
    lambda pairs: "".join(map("".join, pairs))
)
SETTINGS: dict[str, Any] = {
    "ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (3, 3)]),
    "stop_words": st.sampled_from([None, ["the", "of"], ["the", "he", "white", "a"]]),
    "lowercase": st.booleans(),
    "strip_accents": st.sampled_from([None, "ascii", "unicode"]),
    "binary": st.booleans(),
    "max_features": st.sampled_from([None, 8]),
    "token_pattern": st.sampled_from(
        [r"(?u)\b\w\w+\b", r"\w+", r"\S+", r"(?u)\b[\w'-]+\b", "[a-zA-Z]{2,}"]
    ),
}
WEIGHTS: dict[str, Any] = {
    "sublinear_tf": st.booleans(),
    "norm": st.sampled_from(["l2", "l1", None]),
    "use_idf": st.booleans(),
    "smooth_idf": st.booleans(),
}


def every_combination(lexicon: Lexicon, categories: Any) -> list[tuple[Term, ...]]:
    return list(itertools.product(*(lexicon.of(category) for category in categories)))


def one_by_one(
    subject: TextSubject, matches: Matches, rows: Any, categories: Any, terms: Any
) -> Any:
    return np.array(
        [
            subject.decide(matches.write(rows, categories, combination))
            for combination in terms
        ]
    ).T


class Telling(DummyClassifier):  # type: ignore[misc]
    """A classifier that keeps what it was asked, so that the matrix itself can be compared."""

    def predict(self, counts: Any) -> Any:
        self.seen_ = counts.copy()
        return np.zeros(counts.shape[0], dtype=int)


@settings(deadline=None, max_examples=examples(150))
@given(st.lists(TEXTS, min_size=1, max_size=4), st.fixed_dictionaries(SETTINGS), st.data())
def test_the_counts_are_those_of_the_written_texts(texts, options, data):
    sizes = data.draw(
        st.sampled_from(
            [("gender",), ("race",), ("race", "gender"), ("gender", "race", "age")]
        )
    )
    weights = data.draw(st.none() | st.fixed_dictionaries(WEIGHTS))
    first = (
        CountVectorizer(**options)
        if weights is None
        else TfidfVectorizer(**options, **weights)
    )
    learnt = [
        *texts,
        "gay white old film man men",
        "lgbt he non-binary african american é an 18 year old the of a x",
    ]
    model = make_pipeline(first, Telling()).fit(learnt, [0] * len(learnt))
    matches, rows = find(texts, LEXICON), np.arange(len(texts))[::-1]
    terms = every_combination(LEXICON, sizes)[:: data.draw(st.integers(1, 3))]
    path = linear_path(model)
    assert path is not None
    path.decide(matches, rows, sizes, terms)
    found = model[-1].seen_
    assert found.has_sorted_indices
    written = []
    for row in rows:
        for each in terms:
            written += matches.write(np.array([row]), sizes, each)
    wanted = model[0].transform(written)
    assert type(found) is type(wanted)
    assert found.dtype == wanted.dtype
    for part in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(found, part), getattr(wanted, part))


COMMENTS = [
    "He is a gay man of the old school.",
    "An African American man and a white man are at the end.",
    "What an awful film, gays and lgbt people say.",
    "An 18 year old wrote this; he is gay, white and OLD",
    "Nothing at all.",
    "An lgbt african-american film",
]
LABELS = ["bad", "good", "bad", "good", "good", "bad"]


@pytest.mark.parametrize(
    "steps",
    [
        (TfidfVectorizer(), LogisticRegression()),
        (
            TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
            SGDClassifier(loss="log_loss", random_state=0),
        ),
        (CountVectorizer(ngram_range=(1, 3)), TfidfTransformer(), MultinomialNB()),
        (CountVectorizer(binary=True), DecisionTreeClassifier(random_state=0)),
        (CountVectorizer(), SelectKBest(k=5), TfidfTransformer(), LogisticRegression()),
        (
            TfidfVectorizer(dtype=np.float32),
            TruncatedSVD(3, random_state=0),
            LogisticRegression(),
        ),
    ],
)
@pytest.mark.parametrize(
    "options",
    [{}, {"output": "score"}, {"output": "score", "positive": "bad"}, {"threshold": 0.4}],
)
def test_outcomes_are_those_of_the_whole_pipeline(steps, options):
    subject = TextSubject(make_pipeline(*steps).fit(COMMENTS, LABELS), **options)
    path, matches = linear_path(subject), find(COMMENTS, LEXICON)
    assert path is not None
    rows = np.array([5, 0, 3, 4, 0])
    for categories in (["gender"], ["race"], ["race", "gender"], ["gender", "race", "age"]):
        terms = every_combination(LEXICON, categories)
        before = (subject.asked, subject.executed)
        found = path.decide(matches, rows, categories, terms)
        assert (subject.asked, subject.executed) == (
            before[0] + found.size,
            before[1] + found.size,
        )
        wanted = one_by_one(subject, matches, rows, categories, terms)
        if options.get("output") == "score":
            assert found == pytest.approx(
                wanted, abs=1e-9 if steps[0].dtype == np.float64 else 1e-6
            )
        else:
            assert np.array_equal(found, wanted)


def test_chunks_change_nothing_and_other_texts_are_counted_anew(monkeypatch):
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression()).fit(
        COMMENTS, LABELS
    )
    path = linear_path(TextSubject(model, output="score"))
    assert path is not None
    terms = every_combination(LEXICON, ["gender", "race"])
    for texts in (COMMENTS, COMMENTS[::-1], ["He"]):
        matches, rows = find(texts, LEXICON), np.arange(len(texts))
        monkeypatch.undo()
        whole = path.decide(matches, rows, ["gender", "race"], terms)
        assert np.array_equal(
            whole, one_by_one(path.subject, matches, rows, ["gender", "race"], terms)
        )
        monkeypatch.setattr(linear, "_BYTES_AT_ONCE", 20_000)
        assert np.array_equal(path.decide(matches, rows, ["gender", "race"], terms), whole)
        assert np.array_equal(
            path.decide(matches, rows[:1], ["gender", "race"], terms), whole[:1]
        )
    assert path.decide(matches, rows[:0], ["gender"], terms).shape == (0, len(terms))
    assert path.decide(matches, rows, ["gender"], []).shape == (1, 0)
    other = [(LEXICON.of("age")[0],)]
    refused(
        UsageError,
        lambda: path.decide(matches, rows, ["gender"], other),
        "category 'gender' has no term 'old'",
    )


def test_a_tuned_pipeline_has_the_path_of_its_best():
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    tuned = GridSearchCV(model, {"logisticregression__C": [1, 10]}, cv=2).fit(
        COMMENTS, LABELS
    )
    path, matches = linear_path(tuned), find(COMMENTS, LEXICON)
    assert path is not None
    terms = every_combination(LEXICON, ["gender"])
    found = path.decide(matches, np.arange(6), ["gender"], terms)
    assert np.array_equal(
        found, one_by_one(path.subject, matches, np.arange(6), ["gender"], terms)
    )


class Louder(CountVectorizer):  # type: ignore[misc]
    """A vectoriser of the user's own, which may do anything."""


@pytest.mark.parametrize(
    "first",
    [
        HashingVectorizer(),
        Louder(),
        CountVectorizer(analyzer="char"),
        CountVectorizer(analyzer="char_wb", ngram_range=(2, 3)),
        CountVectorizer(analyzer=str.split),
        CountVectorizer(tokenizer=str.split, token_pattern=None),
        CountVectorizer(preprocessor=str.upper),
        CountVectorizer(strip_accents=str.strip),
        CountVectorizer(token_pattern=r"\w+ \w+"),
        CountVectorizer(token_pattern=r"[^,]+"),
        CountVectorizer(token_pattern=r"\b(\w+)\b"),
        CountVectorizer(token_pattern=r"(?<=a )\w+"),
        CountVectorizer(token_pattern=r"[\w\s]+"),
        CountVectorizer(token_pattern=r"\w.+"),
    ],
)
def test_what_does_not_count_words_one_by_one_has_no_path(first):
    model = make_pipeline(first, DummyClassifier()).fit(
        ["a good film, a film", "a bad, bad film"], [1, 0]
    )
    assert linear_path(model) is None


def test_other_software_has_no_path(tmp_path):
    model = make_pipeline(TfidfVectorizer(), LinearSVC()).fit(COMMENTS, LABELS)
    assert linear_path(TextSubject(lambda texts: [True] * len(texts))) is None
    assert linear_path(TextSubject(model, ledger=tmp_path / "a.db")) is None
    assert isinstance(linear_path(model), LinearPath)


@cache
def real_texts(file: str, column: str) -> tuple[pd.DataFrame, Matches]:
    """Return a file of texts, and the terms that are found in them."""
    path = Path(os.environ.get("EVENHAND_DATA", BESIDE)) / file
    if not path.exists():
        pytest.skip(f"needs {file} in EVENHAND_DATA or ../shared/data")
    table = pd.read_csv(path)
    return table, find(table[column].tolist(), Lexicon.default())


@pytest.mark.parametrize(
    ("file", "column", "label"),
    [
        ("imdb_5k.csv.gz", "review", "sentiment"),
        ("wiki_toxicity_jigsaw_balanced.csv.gz", "comment_text", "toxic"),
    ],
)
@pytest.mark.parametrize("ngrams", [pytest.param((1, 1), marks=pytest.mark.slow), (1, 2)])
def test_real_texts_agree_with_one_by_one_replacement(file, column, label, ngrams):
    table, matches = real_texts(file, column)
    lexicon = Lexicon.default()
    chosen = table[:: len(table) // 400]
    model = make_pipeline(
        TfidfVectorizer(ngram_range=ngrams, min_df=2), LogisticRegression()
    )
    model.fit(chosen[column], chosen[label])
    for subject in (TextSubject(model), TextSubject(model, output="score")):
        fast = linear_path(subject)
        assert fast is not None
        for categories in (["gender"], ["gender", "race"]):
            places = [lexicon.categories.index(category) for category in categories]
            rows = np.flatnonzero(matches.has[:, places].all(axis=1))[:40]
            terms = every_combination(lexicon, categories)[
                :: 3 if len(categories) == 1 else 60
            ]
            found = fast.decide(matches, rows, categories, terms)
            wanted = one_by_one(subject, matches, rows, categories, terms)
            assert (
                np.array_equal(found, wanted)
                if subject.counts
                else found == pytest.approx(wanted, abs=1e-9)
            )
