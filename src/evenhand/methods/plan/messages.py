"""The sentences of plan."""

from __future__ import annotations

NOTHING_TO_RUN = "there is no check to foresee; add [[checks]] to the configuration"
NOT_FORESEEN = "{check} is not foreseen: {reason}"
NO_FORECAST = "its verb has no forecast"

UNBOUNDED = "no bound"
UNKNOWN = "?"
NO_TIME = "under 0.1 s"
BY_SCORE = "{about}: {inputs} inputs where the score is {scores}"
SEEN = (
    "{about}: sees with {power} probability that {group} ({n} of {rows} rows) gets {rate} instead"
    " of {base}"
)
SEEN_AGAINST = (
    "{about}: fails with {power} probability against {limit} where {group} ({n} of {rows} rows)"
    " gets {rate} instead of {base}"
)
NEVER_SEEN = (
    "{about}: {group} ({n} of {rows} rows) is too small to be seen apart from {base}"
)
TOTAL = "in all about {inputs} inputs, {time}"
TOTAL_OF_KNOWN = "what is foreseen takes about {inputs} inputs, {time}"
ASKED = "{asked} inputs were asked to measure the speed: {speed} inputs a second"
NOTHING_ASKED = "nothing was asked"
