"""What outcomes mean, as the configuration says it: the favourable one, or when numbers differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.config.init import outcomes
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.number_text import many
from evenhand.space.feature import plain
from evenhand.subject.outcome_scale import OutcomeScale

if TYPE_CHECKING:
    from evenhand.config.init.draft import Draft, OutcomeDraft
    from evenhand.config.init.outcomes import Favourable, SeenAnswers
    from evenhand.config.init.questions import Dialogue

UNKNOWN = "positive = …  # the favourable answer, or a list of those, of {labels}"
"""What is written where it is not known which answer is favourable."""


def favour(
    draft: OutcomeDraft,
    answers: SeenAnswers,
    wanted: str | None,
    talk: Dialogue,
) -> None:
    """Find out which answer is favourable, and say so."""
    if answers.are_numbers:
        _scale(draft, answers, wanted, talk)
        return
    _say_answers(answers, talk)
    shown = outcomes.listed(answers.labels)
    # A word that the software does not answer must not be written, whatever comes next.
    draft.outcome_note = UNKNOWN.format(labels=shown)
    found = _chosen(answers, wanted, talk)
    if found.value is None:
        talk.say(
            "favourable: not known, so only checks that need none are written; name it with"
            f" --positive, one of {shown}, or several with commas"
        )
        return
    draft.outcome = {"positive": found.value}
    draft.outcome_note = _note(found, answers.labels)
    guess = " (a guess; --positive names another)" if found.guessed else ""
    reason = f", {found.reason}" if found.reason else ""
    talk.say(f"favourable: {clip(repr(found.value), 60)}{reason}{guess}")


def _scale(
    draft: OutcomeDraft,
    answers: SeenAnswers,
    wanted: str | None,
    talk: Dialogue,
) -> None:
    """Say how far apart numbers must be to differ, since none of them is favourable."""
    scale = OutcomeScale.of(answers.given.astype(float), "the rows that were asked")
    draft.outcome_note = scale.sentence()
    if scale.differs:
        draft.outcome = {"differs": scale.differs}
    if wanted is not None:
        raise UsageError(
            f"--positive {wanted!r} is for labels, and the software answers with numbers such as"
            f" {outcomes.listed(answers.given[:3].tolist())}; leave it out"
        )
    asked = many(len(answers.given), "row")
    talk.say(f"asked {asked}: the software answers with numbers; {scale.sentence()}")


def _chosen(answers: SeenAnswers, wanted: str | None, talk: Dialogue) -> Favourable:
    """Return the favourable answer: the one that the user names, or a guess."""
    if wanted is not None:
        return outcomes.named(wanted, answers)
    found = outcomes.guessed(answers)
    if found.value is None:
        default = ""
    else:
        default = str(found.value)
    question = f"Which answer is favourable, of {outcomes.listed(answers.labels)}?"
    while True:
        reply = talk.ask(question, default)
        if reply == default:
            return found
        try:
            return outcomes.named(reply, answers)
        except UsageError:
            talk.say(f"{reply!r} is none of them; {nearest(reply, answers.labels)}")


def _say_answers(answers: SeenAnswers, talk: Dialogue) -> None:
    """Say which answers were given."""
    given = answers.given.tolist()
    seen = [label for label in answers.labels if label in given]
    # No shares: rows are chosen by their true outcome, so that these would be no rates.
    shown = outcomes.listed(seen)
    talk.say(f"asked {many(len(given), 'row')}: the software answers {shown}")
    if len(seen) == 1:
        talk.say(
            f"All {many(len(given), 'row')} got the same answer: look whether model and data"
            " belong together."
        )


def _note(found: Favourable, labels: list[Any]) -> str:
    """Return the remark beside the favourable outcome."""
    note = "the favourable outcome"
    if found.guessed:
        note += f"; this is a guess, of {outcomes.listed(labels)}"
    if found.reason:
        note += f"; {found.reason}"
    return note


def favour_target(draft: Draft, wanted: str | None) -> None:
    """Take the favourable outcome from the data, where no software can be asked.

    Of software that is named but could not be asked it is only a proposal: it may answer in other
    words.
    """
    targets = draft.data.targets
    if wanted is None:
        found = outcomes.guessed_of(targets)
        note = _note(found, [plain(value) for value in targets])
    else:
        known = outcomes.possible(targets or [wanted])
        found = outcomes.Favourable(_named_target(wanted, known, draft))
        note = "the favourable outcome"
    draft.outcome = {"positive": found.value}
    draft.outcome_note = note
    draft.outcome_is_open = draft.software is not None


def _named_target(text: str, known: SeenAnswers, draft: Draft) -> Any:
    found = outcomes.one_named(text, known)
    if found is not None:
        return found.value
    if draft.software is not None:
        return text  # perhaps in the words of the software
    raise UsageError(
        f"--positive {text!r} is not a value of {draft.data.target!r};"
        f" {nearest(text, known.labels)}"
    )
