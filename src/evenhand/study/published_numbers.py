"""The numbers of the Fairea paper's Tables 4 to 7 (Hort et al., FSE 2021), to be shown beside ours.

They are the paper's, errors included. Its released code puts two kinds of points in a wrong region,
which misplaces 463 of its 14,000 published cases; LFR's printed 13 % win-win are 0 %. RW and OP
were run on fewer features than the original they are held against. "AOD" is the absolute value of
an average in the paper's text, and the average of absolute differences in its code
(`bias="aod-abs"` here). DT on German, and PR on COMPAS and German, are missing since their
originals are no more right than blind overwriting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.regions import REGIONS, SHORT
from evenhand.runtime.errors import UsageError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TASKS = (
    ("adult", "sex"),
    ("adult", "race"),
    ("compas", "sex"),
    ("compas", "race"),
    ("german", "sex"),
)
"""Data sets and protected features, as the paper orders them."""
MODELS = ("LR", "DT", "SVM")
METHODS = {
    "LFR": "lfr",
    "OP": "optimised-preprocessing",
    "RW": "reweighing",
    "PR": "prejudice-remover",
    "AD": "adversarial-debiasing",
    "CO_fnr": "calibrated-fnr",
    "CO_fpr": "calibrated-fpr",
    "CO_weighted": "calibrated-weighted",
    "ROC_SPD": "reject-option-spd",
    "ROC_AOD": "reject-option-aod",
    "ROC_EOD": "reject-option-eod",
    "EO": "equalised-odds",
}
"""The paper's short name of each method, and its name here."""

# Table 4, in per cent: lose-lose, poor, inverted, good, win-win.
_BY_METHOD = {
    "spd": {
        "LFR": (19, 48, 0, 20, 13),
        "OP": (11, 16, 14, 40, 18),
        "RW": (5, 14, 4, 54, 23),
        "PR": (1, 6, 0, 85, 8),
        "AD": (29, 5, 12, 44, 10),
        "CO_fnr": (52, 2, 15, 30, 2),
        "CO_fpr": (58, 20, 7, 7, 8),
        "CO_weighted": (64, 3, 21, 6, 7),
        "ROC_SPD": (19, 26, 0, 45, 9),
        "ROC_AOD": (45, 16, 4, 26, 9),
        "ROC_EOD": (47, 15, 4, 26, 9),
        "EO": (11, 6, 6, 69, 8),
        "Mean": (33, 16, 7, 33, 10),
    },
    "aod": {
        "LFR": (33, 38, 0, 17, 13),
        "OP": (20, 11, 13, 36, 20),
        "RW": (12, 12, 3, 49, 24),
        "PR": (11, 0, 1, 81, 7),
        "AD": (55, 5, 15, 17, 8),
        "CO_fnr": (52, 5, 14, 26, 2),
        "CO_fpr": (66, 13, 7, 6, 8),
        "CO_weighted": (64, 2, 20, 6, 8),
        "ROC_SPD": (28, 25, 0, 37, 9),
        "ROC_AOD": (26, 28, 3, 34, 9),
        "ROC_EOD": (43, 14, 3, 31, 9),
        "EO": (14, 4, 7, 67, 8),
        "Mean": (36, 15, 7, 31, 11),
    },
}

# Table 5, in per cent: three models, then the five tasks.
_BY_MODEL_AND_TASK = (
    (30, 20, 3, 41, 6),
    (43, 8, 12, 24, 12),
    (28, 18, 6, 36, 13),
    (49, 17, 1, 32, 1),
    (43, 15, 3, 37, 2),
    (18, 13, 10, 35, 23),
    (26, 8, 15, 34, 16),
    (34, 27, 9, 19, 12),
)

# Table 6: the five tasks with LR, the first four with DT, the five with SVM. P, L, I and W stand
# for regions.
_AREAS = {
    "spd": {
        "LFR": "P P P P P  P P P P  P P P P P",
        "OP": "P .002 .076 .011 L  .008 .111 W I  .000 .002 W I L",
        "RW": ".001 .007 .195 .138 P  .029 .176 W W  .001 .029 W W L",
        "CO_fnr": ".014 .019 L L L  L L L L  .011 .012 L L L",
        "CO_fpr": "L L P L .115  L L .000 L  L L P L .063",
        "CO_weighted": "L L L L L  L L L L  L L L L L",
        "ROC_SPD": ".006 P .274 .273 P  L L .112 .043  P P .264 .258 P",
        "ROC_AOD": "L L .185 .185 P  L L L L  L P .172 .180 P",
        "ROC_EOD": "L L .149 .093 P  L L L L  L P .126 .108 P",
        "EO": ".024 .067 .104 .159 .038  P L .002 .000  .021 .054 .118 .166 .018",
    },
    "aod": {
        "LFR": "L L P P P  L L P P  P P P P P",
        "OP": "P .028 .108 .027 L  P L W I  .028 .041 W I L",
        "RW": ".041 .039 .213 .153 P  .016 L W W  .009 .026 W W L",
        "CO_fnr": ".000 .066 L L L  L L L L  .037 .087 L L L",
        "CO_fpr": "L L P L .054  L L .000 L  L L L L .038",
        "CO_weighted": "L L L L L  L L L L  L L L L L",
        "ROC_SPD": "L P .281 .201 P  L L .140 .040  P P .240 .215 L",
        "ROC_AOD": "P P .229 .187 P  L L L L  P .001 .204 .201 L",
        "ROC_EOD": "L L .197 .112 P  L L L L  L .003 .154 .141 L",
        "EO": ".169 .198 .111 .159 .029  L L .003 .000  .158 .087 .120 .160 .010",
    },
}

# Table 7: the five tasks.
_OWN_AREAS = {
    "spd": {"PR": ".042 .003 NA NA NA", "AD": ".176 .042 L L L"},
    "aod": {"PR": ".090 .011 NA NA NA", "AD": "L L L L L"},
}
_LETTERS = {region[0].upper(): short for region, short in SHORT.items()}


def regions_by_method(bias: str) -> Any:
    """Return Table 4: the share of cases in each region, by method; "Mean" is over all cases.

    >>> float(regions_by_method("spd").loc["reweighing", "good trade-off"])
    0.54
    """
    table = _table_of_bias(_BY_METHOD, bias)
    names = [METHODS.get(code, code) for code in table]
    return _shares(table.values(), names, "method")


def regions_by_model_and_task() -> Any:
    """Return Table 5: the share of cases in each region, for each model and for each task.

    The paper does not say by which bias. Rows of tasks fit the mean of both in Table 4; those of
    models fit neither.

    >>> float(regions_by_model_and_task().loc["german sex", "poor trade-off"])
    0.27
    """
    tasks = [f"{data_set} {protected}" for data_set, protected in TASKS]
    return _shares(_BY_MODEL_AND_TASK, [*MODELS, *tasks], "model or task")


def areas(bias: str) -> Any:
    """Return Table 6: the area of each good trade-off, or else the region.

    Rows are methods; columns are combinations of model, task and feature. The paper's text says
    that 102 of 120 pairs of cells for sex and race share a region; in the table they are 100.

    >>> areas("spd").loc["equalised-odds", ("LR", "adult", "sex")]
    '0.024'
    >>> areas("aod").loc["reweighing", ("DT", "compas", "race")]
    'win-win'
    """
    columns = []
    for model in MODELS:
        for data_set, protected in TASKS:
            if (model, data_set) != ("DT", "german"):
                columns.append((model, data_set, protected))
    table = _table_of_bias(_AREAS, bias)
    return _cells(table, columns, ["model", "task", "protected"])


def areas_own_model(bias: str) -> Any:
    """Return Table 7: as Table 6, for methods with a model of their own; "NA" without a line.

    >>> areas_own_model("spd").loc["prejudice-remover", ("adult", "sex")]
    '0.042'
    """
    table = _table_of_bias(_OWN_AREAS, bias)
    return _cells(table, TASKS, ["task", "protected"])


def _table_of_bias(tables: Mapping[str, Any], bias: str) -> Any:
    if bias not in tables:
        raise UsageError(
            f"the paper has no tables for bias = {clip(repr(bias))}; {nearest(bias, tables)}"
        )
    return tables[bias]


def _shares(rows: Any, names: list[str], what: str) -> Any:
    import pandas as pd

    frame = pd.DataFrame(
        list(rows), index=pd.Index(names, name=what), columns=list(REGIONS), dtype=float
    )
    return frame / 100


def _cells(
    table: Mapping[str, str], columns: Sequence[tuple[str, ...]], names: list[str]
) -> Any:
    import pandas as pd

    rows = []
    for row in table.values():
        rows.append([_cell(text) for text in row.split()])
    return pd.DataFrame(
        rows,
        index=pd.Index([METHODS[code] for code in table], name="method"),
        columns=pd.MultiIndex.from_tuples(columns, names=names),
        dtype=object,
    )


def _cell(text: str) -> str:
    if text.startswith("."):
        return f"0{text}"
    return _LETTERS.get(text, text)
