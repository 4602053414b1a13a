"""compare: is a mitigation better than blindly giving up accuracy (Fairea)?"""

from __future__ import annotations

from evenhand.runtime.options import (
    FEATURES,
    FILE,
    LABEL,
    NUMBER,
    TEXT,
    TEXTS,
    WHOLE,
    Kind,
    Option,
    Options,
)
from evenhand.runtime.registry import Deferred
from evenhand.verbs import Command, Verb

_MODELS = Kind(
    "models",
    (dict,),
    'a table of files by name, such as { repaired = "repaired.skops" }',
    {"type": "object", "additionalProperties": {"type": "string"}},
    items=(str,),
)
_NUMBERS = Kind(
    "numbers",
    (list,),
    "a list of numbers",
    {"type": "array", "items": {"type": "number"}},
    items=(int, float),
)

COMPARE = Verb(
    "compare",
    question="Is a mitigation better than blindly giving up accuracy?",
    definition=(
        "The line is what comes of overwriting more and more predictions of the original blindly:"
        " both bias and performance fall. A mitigation is worth it where it does better than that"
        " (Hort, Zhang, Sarro, Harman: Fairea)."
    ),
    function=Deferred("evenhand.methods.compare.compare:compare"),
    options=Options.of(
        Option(
            "over", FEATURES, "columns that form groups; repeat for more sets", repeat=True
        ),
        Option("truth", TEXT, "the column of true labels", metavar="COLUMN", python=False),
        Option(
            "data",
            FILE,
            "rows with their true outcomes",
            metavar="FILE",
            python=False,
            command=False,
        ),
        Option("models", _MODELS, "other models, by name", python=False, command=False),
        Option(
            "outcomes",
            TEXTS,
            "columns of predictions, separated by commas, the original among them",
            python=False,
        ),
        Option(
            "baseline",
            TEXT,
            "the name of the original (default: original)",
            metavar="COLUMN",
        ),
        Option(
            "points",
            TEXT,
            (
                "points of a published line (columns performance and bias), for a file of published"
                " scores (columns name, performance and bias)"
            ),
            metavar="FILE",
            python=False,
            toml=False,
        ),
        Option(
            "bias",
            TEXT,
            "spd, aod, aod-abs, eod, odds, fpr, di or error (default: spd)",
            metavar="NAME",
        ),
        Option(
            "performance",
            TEXT,
            "accuracy, balanced accuracy, f1, mcc (default: accuracy)",
            metavar="NAME",
        ),
        Option("positive", LABEL, "the favourable label (default: 1 or true)"),
        Option("support", NUMBER, "leave out groups with a smaller share of the rows"),
        Option(
            "overwrite",
            TEXT,
            "tightest, majority, label or random (default: tightest)",
            metavar="NAME",
        ),
        Option(
            "label", LABEL, "with --overwrite label, what predictions are overwritten with"
        ),
        Option(
            "degrees",
            _NUMBERS,
            "which shares of the predictions are overwritten",
            command=False,
        ),
        Option("line", TEXT, "exact or monte-carlo (default: exact)", metavar="NAME"),
        Option("repetitions", WHOLE, "how often a monte-carlo line is drawn (default: 50)"),
        Option("level", NUMBER, "the confidence level (default: 0.95)"),
        Option("resamples", WHOLE, "how often rows are resampled"),
        Option(
            "test_size",
            NUMBER,
            "the share of test rows, where runs are splits of the same rows",
        ),
        given=("outcomes", "y_true", "protected", "seed"),
    ),
    run=Deferred("evenhand.methods.compare.check:compare"),
    forecast=Deferred("evenhand.methods.compare.check:forecast"),
    text=Deferred("evenhand.methods.compare.text:lines"),
    plot=Deferred("evenhand.methods.compare.plot:display_of"),
    section=Deferred("evenhand.methods.compare.section:section"),
    plain=Deferred("evenhand.methods.compare.section:plain"),
    frame=Deferred("evenhand.methods.compare.comparison:frame"),
    document=Deferred("evenhand.methods.compare.comparison:document"),
    rule=(
        "A mitigation is no better than giving up accuracy",
        "A mitigation does not do better than blindly overwriting predictions of the original.",
    ),
    command=Command(
        "compare",
        help="are mitigations better than blindly giving up accuracy?",
        example=(
            "evenhand compare predictions.csv --truth y --outcomes original,repaired --over sex"
        ),
        purpose="Improve a model",
    ),
    bounds=(),
    says="is another model better than blindly giving up accuracy?",
)
