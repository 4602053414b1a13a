"""Joint constraints that are learnt from the rows of a space."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.population.realism import realism_of
from evenhand.runtime.errors import ConfigError, SpaceError

ROWS = 3000


@pytest.fixture(scope="module")
def households():
    rng = np.random.default_rng(0)
    role = rng.choice(["Husband", "Wife", "Child"], ROWS)
    coin = rng.choice(["F", "M"], ROWS)
    sex = np.where(role == "Husband", "M", np.where(role == "Wife", "F", coin))
    # One error, as real data have.
    sex[np.flatnonzero(role == "Husband")[-1]] = "F"
    school = rng.choice(["none", "some", "high"], ROWS)
    years = pd.Series(school).map({"none": 0, "some": 9, "high": 12})
    colour = rng.choice(["red", "blue"], ROWS)
    columns = {"role": role, "sex": sex, "school": school, "years": years, "colour": colour}
    return pd.DataFrame(columns)


EXPECTED = {
    "years follows school",
    "sex is M where role is Husband",
    "sex is F where role is Wife",
}


def texts(space):
    return {constraint.text for constraint in space.learnt}


def test_what_goes_together_is_learnt(households):
    space = eh.Space.from_frame(households, protected=["sex"])
    assert texts(space) == EXPECTED
    first, *others = str(space).splitlines()
    assert first == space.title
    assert "  years follows school" in others


def test_nothing_is_learnt_by_chance():
    rng = np.random.default_rng(1)
    columns = {name: rng.choice(list("abcde"), 200) for name in "uvwxyz"}
    assert eh.Space.from_frame(pd.DataFrame(columns)).learnt == ()


def test_rows_that_are_numbered_tell_nothing():
    frame = pd.DataFrame({"number": range(150), "sex": ["F", "M", "M"] * 50})
    assert eh.Space.from_frame(frame).learnt == ()


def test_what_is_kept(households):
    space = eh.Space.from_frame(households)
    follows = next(rule for rule in space.learnt if rule.text == "years follows school")
    people = households.head(2).copy()
    people["school"] = ["some", "some"]
    people["years"] = [9, 12]
    assert follows.kept(space.encode(people)).tolist() == [True, False]


def test_they_can_be_left_out(households):
    assert eh.Space.from_frame(households, learn=False).learnt == ()
    assert eh.Space.from_frame(households, remember=False).learnt == ()
    space = eh.Space.from_frame(households)
    fewer = space.dropping("years follows school")
    assert texts(fewer) == EXPECTED - {"years follows school"}
    assert fewer == space
    with pytest.raises(SpaceError, match="'years follow' was not learnt from the rows"):
        space.dropping("years follow")
    with pytest.raises(SpaceError, match="remembers no rows"):
        space.remembering(None).dropping("years follows school")


def test_what_is_dropped_marks_nobody(households):
    space = eh.Space.from_frame(households, protected=["sex"])
    person = households.iloc[[0]].assign(role="Child", school="none", years=9)
    realism = realism_of(space)
    lenient = realism_of(space.dropping("years follows school"))
    assert realism is not None
    assert lenient is not None
    point = space.encode(person)
    assert not realism.together(point).any()
    assert len(lenient.learnt) == len(realism.learnt) - 1
    # It still is a pair of values that should have been seen together.
    assert not lenient.pairs.together(point).any()


def test_a_configuration_can_leave_them_out(households, tmp_path):
    households.to_csv(tmp_path / "people.csv", index=False)
    file = tmp_path / "evenhand.toml"
    file.write_text('[space]\nfrom = "people.csv"\nlearn_constraints = false\n')
    assert eh.Space.from_toml(file).learnt == ()
    dropped = 'drop_constraints = ["years follows school"]\n'
    file.write_text('[space]\nfrom = "people.csv"\n' + dropped)
    assert texts(eh.Space.from_toml(file)) == EXPECTED - {"years follows school"}
    file.write_text('[space]\nfrom = "people.csv"\ndrop_constraints = ["nonsense"]\n')
    with pytest.raises(ConfigError, match="'nonsense' was not learnt from the rows"):
        eh.Space.from_toml(file)


def test_they_do_not_keep_inputs_from_being_drawn(households):
    space = eh.Space.from_frame(households)
    drawn = space.decode(space.draw(500, np.random.default_rng(0)))
    female_husbands = (drawn["role"] == "Husband") & (drawn["sex"] == "F")
    assert female_husbands.any()
    assert space.size == space.remembering(None).size
