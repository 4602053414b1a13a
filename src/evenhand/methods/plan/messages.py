"""The sentences of plan."""

from __future__ import annotations

NOTHING_TO_RUN = "there is no check to foresee; add [[checks]] to the configuration"
NOT_FORESEEN = "{check} is not foreseen: {reason}"
NO_FORECAST = "its verb has no forecast"

NOT_SHARED = "asked from one process, however many there may be"
TOO_SHORT = "too short, since processes take about {seconds} s to start"
NO_HELP = "more processes do not help {checks}: {reason}"
WORKERS_HOLD = (
    "each of {n_jobs} processes holds the software besides; with them times are the best that there"
    " can be, and less is gained where the software has threads of its own or is very quick"
)
SHARED_TIME = "with {n_jobs} processes"
MEMORY = "memory"

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
TOTAL_SHARED = "{time} ({shared} with {n_jobs} processes)"
ASKED = "{asked} inputs were asked to measure the speed: {speed} inputs a second"
NOTHING_ASKED = "nothing was asked"
