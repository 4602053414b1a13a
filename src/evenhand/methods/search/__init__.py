"""search: which concrete inputs does the software discriminate against (Aequitas)?"""

from __future__ import annotations

from evenhand.runtime.options import FEATURES, FILE, FLAG, TEXT, WHOLE, Option, Options
from evenhand.runtime.registry import Deferred
from evenhand.verbs import ASK, RAW_CSV, Command, FileOption, Verb

SEARCH = Verb(
    "search",
    question="Which concrete inputs does the software discriminate against?",
    definition=(
        "A discriminatory input is one whose outcome changes with nothing but the named features"
        " (Udeshi, Arora, Chattopadhyay: Aequitas, Definition 1). A search goes where it finds: its"
        " number of inputs is no rate, and not to find any is no proof that there are none."
    ),
    function=Deferred("evenhand.methods.search.search:search"),
    options=Options.of(
        Option(
            "over",
            FEATURES,
            "features to vary together, separated by commas; repeat for more sets",
            repeat=True,
        ),
        Option(
            "strategy",
            TEXT,
            "adaptive, surrogate, random, semi-directed, fully-directed, or one that a package"
            " registers",
            metavar="NAME",
        ),
        Option(
            "prefer",
            TEXT,
            "which inputs are wanted: realistic (default with real rows), many or diverse",
            metavar="NAME",
        ),
        Option(
            "limit", WHOLE, "the most discriminatory inputs that are tolerated, usually 0"
        ),
        Option(
            "start", FILE, "real rows to start from, as .csv or .parquet", metavar="FILE"
        ),
        Option("explain", FLAG, "ask where the inputs lie and why (default: yes)"),
        given=ASK,
    ),
    run=Deferred("evenhand.methods.search.check:search"),
    forecast=Deferred("evenhand.methods.search.forecast:forecast"),
    text=Deferred("evenhand.methods.search.text:lines"),
    plot=Deferred("evenhand.methods.search.plot:display_of"),
    section=Deferred("evenhand.methods.search.section:section"),
    plain=Deferred("evenhand.methods.search.section:plain"),
    sheets=1,
    frame=Deferred("evenhand.methods.search.hits_table:frame_of"),
    rule=(
        "Inputs were found that are treated differently",
        (
            "Concrete inputs whose outcome changes with the named features alone, more of them than"
            " are tolerated. This is a number of witnesses, and never a rate."
        ),
    ),
    command=Command(
        "search",
        help="which concrete inputs does the software discriminate against?",
        example="evenhand search --over sex --findings 100",
        purpose="Test software",
        source="config",
        options=Options.of(RAW_CSV),
        files=(
            FileOption(
                Option(
                    "found",
                    TEXT,
                    "write every input found here, as .csv or .parquet",
                    metavar="FILE",
                ),
                check=Deferred("evenhand.methods.search.check:check_found"),
                write=Deferred("evenhand.methods.search.check:write_found"),
            ),
        ),
    ),
    bounds=("queries", "seconds", "findings"),
    says="concrete people; with limit = 0, any that is found fails",
)
