"""impact: selection rates and impact ratios, as audits ask for them."""

from __future__ import annotations

from evenhand.runtime.options import (
    FEATURES,
    FILE,
    FLAG,
    NUMBER,
    TEXT,
    TEXTS,
    Option,
    Options,
)
from evenhand.runtime.registry import Deferred
from evenhand.verbs import BINS, LABELS, TRUTH, Command, Verb

IMPACT = Verb(
    "impact",
    question="How often is each category selected, beside the one that is selected most often?",
    definition=(
        "The selection rate of a category is the share of its people who get the favourable"
        " outcome; for scores, the share above the median. The impact ratio is that rate divided by"
        " the highest one. Categories under 2 % of the rows are shown and not compared, unless said"
        " otherwise, and unknown ones are counted and left out."
    ),
    function=Deferred("evenhand.methods.impact.impact:impact"),
    options=Options.of(
        Option(
            "over",
            FEATURES,
            "columns that form categories; repeat for more sets",
            repeat=True,
        ),
        Option(
            "data",
            FILE,
            "the rows of real people",
            metavar="FILE",
            python=False,
            command=False,
        ),
        Option(
            "least_ratio", NUMBER, "the engineering threshold for the lowest impact ratio"
        ),
        Option("level", NUMBER, "the confidence level (default: 0.95)"),
        Option(
            "support",
            NUMBER,
            "leave out smaller categories than this share (default: 0.02)",
        ),
        Option(
            "unknown",
            TEXTS,
            "a label of unknown categories; repeatable",
            metavar="LABEL",
            repeat=True,
        ),
        Option(
            "intersections", FLAG, "add what single columns make together (default: yes)"
        ),
        *TRUTH,
        BINS,
        LABELS,
        Option(
            "scored",
            FLAG,
            "outcomes are scores: rates over the median",
            toml=False,  # where software decides, it says itself whether it gives scores
        ),
        Option(
            "population",
            TEXT,
            "whom the rates describe, in words",
            toml=False,
            command=False,
        ),
        given=("frame", "outcome", "positive", "seed"),
    ),
    run=Deferred("evenhand.methods.impact.check:impact"),
    forecast=Deferred("evenhand.methods.impact.forecast:forecast"),
    text=Deferred("evenhand.methods.impact.text:lines"),
    plot=Deferred("evenhand.methods.impact.plot:display_of"),
    section=Deferred("evenhand.methods.impact.section:section"),
    plain=Deferred("evenhand.methods.impact.section:plain"),
    frame=Deferred("evenhand.methods.impact.selection_rates:frame"),
    group_tables=Deferred("evenhand.methods.impact.group_tables:group_tables"),
    card_notes=Deferred("evenhand.methods.impact.selection_rates:card_notes"),
    rule=(
        "Groups are selected at different rates",
        (
            "Among real people, the rates at which groups are selected lie further apart than the"
            " engineering threshold allows."
        ),
    ),
    command=Command(
        "impact",
        help="selection rates and impact ratios of recorded decisions, as audits ask",
        example="evenhand impact loans.csv --outcome approved --over sex --over race",
        purpose="Test recorded decisions",
        source="records",
    ),
    bounds=(),
    says="selection rates and impact ratios of the people in the data",
)
