"""The model handed over: what was measured, fitted again by the same recipe on all rows.

A model can only be checked on rows that it was not fitted on, so that figures are of one that knows
a part of the rows alone. Whoever uses the model wants it to know them all.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.repair import messages
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, SubjectCrashed, UsageError, clip
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sized

    Recipe = Callable[[Any], Any]
    """Trains a model on rows, with what was chosen to be added to so many."""

# Why the model that was measured is the one handed over.
OFF = "switched off"
NONE_HELD_BACK = "all rows"
FAILED = "training failed"
NO_HELP = "did not help"
STOPPED = "interrupted"


@dataclass(frozen=True)
class Handover:
    """Which model is handed over, and how many of the given rows it was fitted on.

    >>> print(Handover(refitted=True, rows=1000, measured=600).sentence)
    figures are of the model fitted on 600 rows; the model handed over is the same recipe fitted on\
 all 1,000
    """

    refitted: bool
    rows: int
    """Given rows that the model handed over was fitted on, without what was added."""
    measured: int
    """Given rows that the measured model was fitted on."""
    why: str = ""
    """Why it was not fitted again."""
    inputs: Estimate | None = None
    """The share of all inputs that the model fitted on all rows discriminates against, if known."""

    @property
    def sentence(self) -> str:
        """What a reader must know of the model and its figures."""
        if not self.refitted:
            why = _REASONS[self.why].format(share=self._share)
            return messages.NOT_REFITTED.format(
                measured=number_text.count(self.measured), why=why
            )
        sentence = messages.REFITTED.format(
            measured=number_text.count(self.measured), rows=number_text.count(self.rows)
        )
        if self.inputs is None:
            return sentence
        return messages.REFITTED_WITH_SHARE.format(sentence=sentence, share=self._share)

    @property
    def _share(self) -> str:
        return "" if self.inputs is None else number_text.percent_figures(self.inputs.value)

    def taken_back(self, inputs: Estimate) -> Handover:
        """Return what is said where the model fitted on all rows did not help."""
        return Handover(
            refitted=False,
            rows=self.measured,
            measured=self.measured,
            why=NO_HELP,
            inputs=inputs,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        table = asdict(self)
        table["inputs"] = None if self.inputs is None else self.inputs.to_dict()
        return table

    @classmethod
    def read(cls, table: Mapping[str, Any] | None) -> Handover | None:
        """Return what `to_dict` wrote; None where a file tells nothing of it."""
        if table is None:
            return None
        inputs = table["inputs"]
        values = {**table, "inputs": None if inputs is None else Estimate.from_dict(inputs)}
        return cls(**values)


_REASONS = {
    OFF: messages.REFIT_OFF,
    NONE_HELD_BACK: messages.REFIT_NOT_NEEDED,
    FAILED: messages.REFIT_FAILED,
    NO_HELP: messages.REFIT_NO_HELP,
    STOPPED: messages.REFIT_STOPPED,
}


def handed_over(
    model: Any,
    recipe: Recipe,
    everything: Sized,
    training: Sized,
    *,
    refit: bool,
    notes: list[str],
) -> tuple[Any, Handover]:
    """Return the model to hand over, and what is to be said of it.

    Parameters
    ----------
    model
        The repaired model that was measured.
    recipe
        Trains it on other rows.
    everything, training
        All rows that were given, and those that `model` was fitted on.
    notes
        Gets the error of a training that fails.
    """
    measured = len(training)
    why = ""
    if not refit:
        why = OFF
    elif measured == len(everything):
        why = NONE_HELD_BACK
    else:
        try:
            new = recipe(everything)
            return new, Handover(refitted=True, rows=len(everything), measured=measured)
        except KeyboardInterrupt:
            why = STOPPED
        except (SubjectCrashed, UsageError, DataError) as error:
            why = FAILED
            notes.append(messages.REFIT_ERROR.format(error=clip(str(error))))
    return model, Handover(refitted=False, rows=measured, measured=measured, why=why)
