"""Terms in texts: what is found, and what is written in its place, against plain regular
expressions.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evenhand.runtime.errors import DataError, UsageError
from evenhand.texts.lexicon import Lexicon, Term
from evenhand.texts.matching import find, texts_of, unmarked
from tests.support.helpers import refused
from tests.support.paths import BESIDE

DEFAULT = Lexicon.default()
TERMS = {term.text: term for term in DEFAULT.terms}
TAKE_AN = {
    "african",
    "african american",
    "american",
    "asian",
    "indian",
    "atheist",
    "old",
    "older",
    "elderly",
    "lgbt",
    "lgbtq",
}
GAP = "[\\s\\-‐‑]+"
FORMS = {}
for each in DEFAULT.terms:
    FORMS[each.text] = (each, each.text == each.plural)
    if each.plural is not None:
        FORMS[each.plural] = (each, True)

spellings = st.builds(
    lambda form, case, gap: gap.join(case(form).split(" ")),
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(
        [
            str,
            str.upper,
            str.capitalize,
            str.title,
            str.swapcase,
            lambda form: form[0] + form[1:].upper(),
        ]
    ),
    st.sampled_from([" ", "  ", "\n", "-", "‑", " - ", "\u00a0"]),
)
chunks = st.one_of(
    spellings,
    spellings,
    st.sampled_from(
        [
            "a",
            "an",
            "A",
            "An",
            "AN",
            "aN",
            "the",
            "Blackburn",
            "style",
            "'s",
            "_",
            "-",
            "⟦",
            "⟧",
            "é",
            "ı",
            "İ",
            "\ud800",
        ]
    ),
    st.text(max_size=4),
)
texts = st.builds(
    lambda parts, gaps: "".join(part + gap for part, gap in zip(parts, gaps, strict=False)),
    st.lists(chunks, max_size=8),
    st.lists(
        st.sampled_from([" ", " ", " ", "", "-", "\n", ". ", " ⟧"]), min_size=8, max_size=8
    ),
)
replacements = st.lists(
    st.sampled_from(DEFAULT.categories), min_size=1, unique=True
).flatmap(lambda names: st.tuples(*(st.sampled_from(DEFAULT.of(name)) for name in names)))


def written(text: str, *terms: str, lexicon: Lexicon = DEFAULT) -> str:
    """One text with these terms, each in the place of the terms of its category."""
    chosen = [term for term in lexicon.terms if term.text in terms]
    assert len(chosen) == len(terms)
    return find([text], lexicon).write(
        np.array([0]), [term.category for term in chosen], chosen
    )[0]


def found(text: str, lexicon: Lexicon = DEFAULT) -> dict[str, int]:
    return {term: count for term, count in find([text], lexicon).counts().items() if count}


def slowly(text: str, terms: tuple[Term, ...]) -> str:
    """The same by one pattern a text, written apart."""
    by_category = {term.category: term for term in terms}
    longest = sorted(FORMS, key=len, reverse=True)
    either = "|".join(GAP.join(form.split()) for form in longest)

    def put(match: re.Match[str]) -> str:
        article, space, old = match[1] or "", match[2] or "", match[3]
        term, plural = FORMS[" ".join(re.split(GAP, old.lower()))]
        new = by_category.get(term.category)
        if new is None or new == term:
            return match[0]
        word = (new.plural or f"{new.text} people") if plural else new.text
        shouted = old == old.upper() and term.text not in ("lgbt", "lgbtq")
        if shouted:
            word = word.upper()
        elif old != old.upper() and old[0] == old[0].upper():
            parts = re.split(GAP, old)
            head, *rest = word.split(" ")
            every = len(parts) > 1 and all(part[0].isupper() for part in parts)
            head = head.upper() if head in ("lgbt", "lgbtq") else head.capitalize()
            word = " ".join(
                [head, *(part.capitalize() if every else part for part in rest)]
            )
        if article and (article.lower() == "an") == (term.text in TAKE_AN):
            fitting = "an" if new.text in TAKE_AN else "a"
            if article == "AN" or (article == "A" and shouted):
                fitting = fitting.upper()
            elif article[0] == "A":
                fitting = fitting.capitalize()
            article = fitting
        return article + space + word

    return re.sub(
        rf"(?<!\w)(?:(an?)(\s+))?({either})(?!\w)", put, text, flags=re.IGNORECASE
    )


@given(texts.filter(lambda text: not set(text) & set("ıİſK")), replacements)
@example(
    "A GAY, a Gay and an AFRICAN\n-  American; AN African American",
    (TERMS["lgbt"], TERMS["middle eastern"]),
)
@example(
    "LGBT and Lgbtq and African-Americans",
    (TERMS["gay"], TERMS["jewish"], TERMS["chinese"]),
)
@example("an old, older, a young a elderly", (TERMS["middle aged"],))
def test_writing_is_what_a_pattern_over_each_text_would_write(text, terms):
    assert find([text], DEFAULT).write(
        np.array([0]), [term.category for term in terms], terms
    ) == [slowly(text, terms)]


@given(st.lists(texts, min_size=1, max_size=5), st.data())
def test_a_term_in_its_own_place_changes_no_byte(several, data):
    matches = find(several, DEFAULT)
    for category in DEFAULT.categories:
        own = matches.own(category)
        for row in np.flatnonzero(own >= 0):
            assert matches.write(
                np.array([row]), [category], [DEFAULT.of(category)[own[row]]]
            ) == [several[row]]
        none = np.flatnonzero(own == -1)
        term = data.draw(st.sampled_from(DEFAULT.of(category)))
        assert matches.write(none, [category], [term]) == [several[row] for row in none]
    assert matches.write(np.arange(len(several)), [], []) == several


@given(st.lists(texts, min_size=1, max_size=5), replacements, st.data())
def test_any_rows_in_any_order_are_each_written_as_if_alone(several, terms, data):
    rows = data.draw(st.lists(st.integers(0, len(several) - 1)))
    names = [term.category for term in terms]
    alone = [
        find([several[row]], DEFAULT).write(np.array([0]), names, terms)[0] for row in rows
    ]
    assert (
        find(several, DEFAULT).write(np.array(rows, dtype=np.intp), names, terms) == alone
    )


@given(texts, replacements)
def test_marks_come_off_again(text, terms):
    matches = find([text], DEFAULT)
    names = [term.category for term in terms]
    assert unmarked(matches.marked(0, names)) == text
    assert (
        unmarked(matches.marked(0, names, terms))
        == matches.write(np.array([0]), names, terms)[0]
    )
    assert unmarked(matches.marked(0, [])) == text


@given(texts.filter(lambda text: not set(text) & set("ıİſK")))
def test_what_is_found_is_what_a_pattern_finds(text):
    either = "|".join(
        GAP.join(form.split()) for form in sorted(FORMS, key=len, reverse=True)
    )
    seen = [
        FORMS[" ".join(re.split(GAP, old.lower()))][0]
        for old in re.findall(rf"(?i)(?<!\w)(?:{either})(?!\w)", text)
    ]
    matches = find([text, ""], DEFAULT)
    assert matches.counts() == {name: seen.count(term) for name, term in TERMS.items()}
    for column, category in enumerate(DEFAULT.categories):
        mine = {
            DEFAULT.of(category).index(term) for term in seen if term.category == category
        }
        assert matches.has[:, column].tolist() == [bool(mine), False]
        assert matches.own(category).tolist() == [
            mine.pop() if len(mine) == 1 else -2 if mine else -1,
            -1,
        ]


def test_terms_are_whole_words_and_the_longest_first():
    assert (
        found("Blackburn, oldish, transport, whiteboard, gay_man, Eurasian, Indiana") == {}
    )
    assert found("a European-style house, non-white") == {"european": 1, "white": 1}
    assert found("African American") == {"african american": 1}
    assert found("african\n-american, AFRICAN americans") == {"african american": 2}
    assert found("african, american, african  asian") == {
        "african": 2,
        "american": 1,
        "asian": 1,
    }
    assert found("transgender trans lgbtq lgbt older old") == dict.fromkeys(
        ["transgender", "trans", "lgbtq", "lgbt", "older", "old"], 1
    )
    assert found("middleaged") == {}


def test_only_plurals_of_the_lexicon_are_found():
    assert found("gays and jews, straights and blacks") == {"gay": 1, "black": 1}


@pytest.mark.parametrize(
    ("text", "term", "expected"),
    [
        ("gay Gay GAY gAY", "straight", "straight Straight STRAIGHT straight"),
        (
            "Black, BLACK, black",
            "african american",
            "African american, AFRICAN AMERICAN, african american",
        ),
        (
            "African American, AFRICAN-AMERICAN, African-american",
            "middle eastern",
            "Middle Eastern, MIDDLE EASTERN, Middle eastern",
        ),
        ("Gays, GAYS' and gays", "muslim", "Gays, GAYS' and gays"),
        ("Gays, GAYS' and gays", "lesbian", "Lesbians, LESBIANS' and lesbians"),
        ("Christians hate muslims", "jewish", "Jewish people hate jewish people"),
        ("the gay's and the gay/lesbian", "queer", "the queer's and the queer/queer"),
        ("LGBT people, Lgbt", "gay", "gay people, Gay"),
        ("Gay people, GAY, gay", "lgbt", "LGBT people, LGBT, lgbt"),
        ("Gays", "lgbtq", "LGBTQ people"),
    ],
)
def test_case_and_number_are_kept(text, term, expected):
    assert written(text, term) == expected


@pytest.mark.parametrize(
    ("text", "term", "expected"),
    [
        ("I am a muslim.", "atheist", "I am an atheist."),
        ("I am an atheist.", "muslim", "I am a muslim."),
        ("A muslim, An atheist", "atheist", "An atheist, An atheist"),
        ("A MUSLIM", "atheist", "AN ATHEIST"),
        ("A Muslim", "atheist", "An Atheist"),
        ("AN ATHEIST", "muslim", "A MUSLIM"),
        ("a\n muslim", "atheist", "an\n atheist"),
        ("a atheist", "atheist", "a atheist"),
        ("a atheist, an muslim", "sikh", "a sikh, an sikh"),
        ("a very muslim man", "atheist", "a very atheist man"),
        (
            "vitamin-a muslim, banana muslim, a, muslim",
            "atheist",
            "vitamin-an atheist, banana atheist, a, atheist",
        ),
        ("a gay man", "lgbt", "an lgbt man"),
        ("an asian", "european", "a european"),
        ("a black", "hispanic", "a hispanic"),
        ("a gay", "homosexual", "a homosexual"),
        ("a young man", "old", "an old man"),
    ],
)
def test_the_article_fits_the_term_where_it_did_before(text, term, expected):
    assert written(text, term) == expected


@pytest.mark.parametrize(
    ("term", "article"),
    [
        ("heir", "an"),
        ("honest", "an"),
        ("honourable", "an"),
        ("hourly", "an"),
        ("heterosexual", "a"),
        ("eurasian", "a"),
        ("unitarian", "a"),
        ("uninsured", "an"),
        ("unidentified", "an"),
        ("undocumented", "an"),
        ("user", "a"),
        ("ukrainian", "a"),
        ("urban", "an"),
        ("usual", "a"),
        ("ugandan", "a"),
        ("one-legged", "a"),
        ("older", "an"),
        ("élite", "an"),
        ("óscar", "an"),
        ("18 year old", "an"),
        ("80 year old", "an"),
        ("11", "an"),
        ("180", "a"),
        ("20 year old", "a"),
        ("lgb", "an"),
        ("tv", "a"),
        ("日本", "a"),
        ("ΐ", "a"),
    ],
)
def test_the_article_goes_by_sound(term, article):
    lexicon = Lexicon.from_dict({"kind": ["person", "inuit", term]})
    assert written("a person", term, lexicon=lexicon) == f"{article} {term}"
    assert written("an inuit", term, lexicon=lexicon) == f"{article} {term}"
    assert written(f"{article} {term}", "inuit", lexicon=lexicon) == "an inuit"


def test_every_match_of_a_category_is_replaced_and_no_other():
    text = "A gay Asian and a lesbian, old or young; gay!"
    assert written(text, "queer") == "A queer Asian and a queer, old or young; queer!"
    assert (
        written(text, "lgbt", "black") == "An lgbt Black and an lgbt, old or young; lgbt!"
    )
    assert (
        written(text, "elderly", "gay") == "A gay Asian and a gay, elderly or elderly; gay!"
    )


def test_terms_of_any_letters_and_signs():
    lexicon = Lexicon.from_dict(
        {"kind": ["c", "c++", "Straße", "日本 人", "İzmir", "HIV", "a", "non-binary", "Δ"]}
    )
    assert found("C++ and c, STRASSE, STRAßE, 日本-人, İZMIR izmir, (δ)", lexicon) == {
        "c": 1,
        "c++": 1,
        "Straße": 1,
        "日本 人": 1,
        "İzmir": 2,
        "Δ": 1,
    }
    assert found("a c", lexicon) == {"a": 1, "c": 1}
    assert written("Non  Binary, HIV", "c++", lexicon=lexicon) == "C++, c++"
    assert written("c, C++", "non-binary", lexicon=lexicon) == "non-binary, Non-binary"
    assert (
        written("İ gives İzmir, but İ stays", "c", lexicon=lexicon)
        == "İ gives C, but İ stays"
    )


def test_a_noun_may_have_the_same_plural():
    lexicon = Lexicon.from_dict(
        {
            "race": [
                {"term": "chinese", "plural": "chinese"},
                {"term": "asian", "plural": "asians"},
            ]
        }
    )
    assert (
        written("asians and chinese", "chinese", lexicon=lexicon) == "chinese and chinese"
    )
    assert written("chinese", "asian", lexicon=lexicon) == "asian"


def test_the_terms_at_issue_are_marked():
    matches = find(["I, a gay man, ⟦met⟧ an old Gay"], DEFAULT)
    assert matches.marked(0, ["gender"]) == "I, a ⟦gay⟧ man, ⟦⟦met⟧⟧ an old ⟦Gay⟧"
    both = matches.marked(0, ["age", "gender"], [TERMS["young"], TERMS["lgbt"]])
    assert both == "I, an ⟦lgbt⟧ man, ⟦⟦met⟧⟧ a ⟦young⟧ ⟦LGBT⟧"
    assert unmarked(both) == "I, an lgbt man, ⟦met⟧ a young LGBT"


def test_a_wrong_category_or_term_is_named():
    matches = find(["gay"], DEFAULT)
    row = np.array([0])
    refused(
        UsageError,
        lambda: matches.write(row, ["gendr"], [TERMS["gay"]]),
        "'gendr'",
        "did you mean 'gender'?",
    )
    refused(
        UsageError,
        lambda: matches.write(row, ["gender"], [TERMS["old"]]),
        "'gender' has no term 'old'",
    )
    refused(UsageError, lambda: matches.own("gendr"), "'gendr'", "did you mean 'gender'?")
    refused(
        UsageError,
        lambda: matches.marked(0, ["gendr"]),
        "'gendr'",
        "did you mean 'gender'?",
    )


def columns() -> list[Any]:
    import pandas as pd

    given = ["one", "zwei", ""]
    made: list[Any] = [
        given,
        tuple(given),
        iter(given),
        np.array(given),
        np.array(given, dtype=object),
    ]
    return [
        *made,
        pd.Series(given, index=[5, 6, 7]),
        pd.Series(given, dtype="category"),
        pd.Index(given),
    ]


@pytest.mark.parametrize("given", columns(), ids=lambda given: type(given).__name__)
def test_texts_come_in_any_list_or_column(given):
    texts = texts_of(given)
    assert texts == ["one", "zwei", ""]
    assert {type(text) for text in texts} == {str}


@pytest.mark.parametrize("module", ["polars", "pyarrow"])
def test_texts_come_in_columns_of_other_engines(module):
    engine = pytest.importorskip(module)
    made = (
        engine.Series(["one", "zwei"])
        if module == "polars"
        else engine.chunked_array([["one"], ["zwei"]])
    )
    assert texts_of(made) == ["one", "zwei"]
    gap = (
        engine.Series(["one", None]) if module == "polars" else engine.array(["one", None])
    )
    refused(DataError, lambda: texts_of(gap), "text 1 is None")


def test_what_is_no_text_is_named_with_its_row():
    import pandas as pd

    refused(
        DataError,
        lambda: texts_of(["a"] * 17 + [None, 5]),
        "texts: text 17 is None; leave it out",
    )
    refused(
        DataError,
        lambda: texts_of(["a", 5], where="comments.csv"),
        "comments.csv: text 1 is 5",
    )
    refused(
        DataError,
        lambda: texts_of(pd.Series(["a", float("nan")], dtype=object)),
        "text 1 is nan",
    )
    refused(
        DataError,
        lambda: texts_of(pd.Series(["a", None], dtype="string")),
        "text 1 is <NA>",
    )
    refused(DataError, lambda: texts_of(np.array([["a", "b"]])), "text 0 is ['a', 'b']")
    refused(DataError, lambda: texts_of([b"a"]), "text 0 is b'a'")
    refused(DataError, lambda: texts_of([]), "there are no texts")
    refused(DataError, lambda: texts_of("one text"), "a str is not a list of texts")
    refused(DataError, lambda: texts_of({"a"}), "a set is not a list of texts")
    refused(
        DataError,
        lambda: texts_of(pd.DataFrame({"text": ["a"]})),
        "a DataFrame is not a list of texts",
        "one column",
    )
    refused(DataError, lambda: texts_of(5), "5 is not a list of texts")
    refused(DataError, lambda: texts_of(None), "None is not a list of texts")
    refused(DataError, lambda: texts_of(np.array(5)), "5", "is not a list of texts")


def test_writing_swaps_terms_as_the_authors_of_the_fuzzed_comments_did():
    import pandas as pd

    folder = Path(os.environ.get("EVENHAND_DATA", BESIDE))
    file = folder / "wiki_toxicity_fuzzed_pairs.csv.gz"
    if not file.exists():
        pytest.skip(f"needs {file.name} in EVENHAND_DATA or ../shared/data")
    frame = pd.read_csv(file, keep_default_na=False)
    in_order = frame.sort_values("rev_id")
    original = in_order.loc[in_order["set"] == "nonfuzzed", "comment"].tolist()
    fuzzed = in_order.loc[in_order["set"] == "fuzzed", "comment"].tolist()
    terms = [*DEFAULT.of("gender"), *DEFAULT.of("religion")]
    lexicon = Lexicon.from_dict({"identity": ["jew", *(term.text for term in terms)]})
    before = find(original, lexicon)
    own_before = before.own("identity")
    own_after = find(fuzzed, lexicon).own("identity")
    swapped = 0
    for position, term in enumerate(lexicon.terms):
        is_swapped = (own_before >= 0) & (own_after == position) & (own_before != own_after)
        rows = np.flatnonzero(is_swapped)
        swapped += len(rows)
        # They did not keep the case.
        made = [text.lower() for text in before.write(rows, ["identity"], [term])]
        assert made == [fuzzed[row].lower() for row in rows]
    assert swapped == 578
