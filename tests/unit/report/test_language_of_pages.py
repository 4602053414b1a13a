"""Pages in the language that was asked for, beside files that are the same in each."""

from __future__ import annotations

import pytest

import evenhand as eh
from evenhand.formats import FORMATS
from evenhand.runtime.errors import UsageError
from evenhand.runtime.language import LANGUAGES, speaking, spoken

SPACE = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 1200)], ["sex"])


def found() -> eh.Result:
    return eh.measure(
        lambda people: (people["age"] > 40) & (people["sex"] == "M"), SPACE, limit=0.05
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_is_written_in_its_language(language):
    measured = found()
    with speaking(language):
        percentage = measured.findings[0].estimate.value_text
    page = measured.to_html(language=language)
    assert ("," in percentage) == (language != "en")
    assert f'<html lang="{language}">' in page
    assert percentage in page
    assert "\\u202f" not in page
    assert spoken() == "en"


def test_a_page_is_english_unless_another_language_is_asked_for():
    with speaking("de"):
        assert found().to_html() == found().to_html(language="en")


def test_an_unknown_language_writes_nothing(tmp_path):
    page = tmp_path / "page.html"
    with pytest.raises(UsageError, match="did you mean 'fr'"):
        found().to_html(page, language="fra")
    assert not page.exists()


@pytest.mark.parametrize("name", ["json", "sarif", "junit"])
def test_what_programs_read_is_the_same_in_every_language(name):
    measured = found()
    texts = {FORMATS[name].content(measured, language=language) for language in LANGUAGES}
    assert len(texts) == 1


def test_a_page_leaves_evidence_as_it_is():
    spoken_first, other = found(), found()
    spoken_first.to_html(language="fr")
    assert spoken_first.digest == other.digest
