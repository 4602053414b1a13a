"""Bias mitigation methods of AIF360 and Fairlearn as classifiers, and the verb that tunes them.

>>> from evenhand.mitigation import method
>>> method("reject-option-spd", over="sex").kind
'post'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from evenhand.runtime.options import Options
from evenhand.runtime.registry import Deferred
from evenhand.verbs import Verb

if TYPE_CHECKING:
    from evenhand.mitigation.base import Mitigation as Mitigation
    from evenhand.mitigation.catalogue import METHODS as METHODS
    from evenhand.mitigation.catalogue import Method as Method
    from evenhand.mitigation.catalogue import method as method
    from evenhand.mitigation.catalogue import method_names as method_names
    from evenhand.mitigation.catalogue import needs as needs
    from evenhand.mitigation.fairlearn_adversarial import (
        AdversarialClassifier as AdversarialClassifier,
    )
    from evenhand.mitigation.fairlearn_reductions import (
        ExponentiatedGradient as ExponentiatedGradient,
    )
    from evenhand.mitigation.fairlearn_reductions import GridSearch as GridSearch
    from evenhand.mitigation.fairlearn_thresholds import (
        CorrelationRemover as CorrelationRemover,
    )
    from evenhand.mitigation.fairlearn_thresholds import (
        ThresholdOptimiser as ThresholdOptimiser,
    )
    from evenhand.mitigation.inprocessing import (
        AdversarialDebiasing as AdversarialDebiasing,
    )
    from evenhand.mitigation.inprocessing import PrejudiceRemover as PrejudiceRemover
    from evenhand.mitigation.optimised import (
        OptimisedPreprocessing as OptimisedPreprocessing,
    )
    from evenhand.mitigation.postprocessing import CalibratedOdds as CalibratedOdds
    from evenhand.mitigation.postprocessing import EqualisedOdds as EqualisedOdds
    from evenhand.mitigation.postprocessing import RejectOption as RejectOption
    from evenhand.mitigation.preprocessing import Reweighing as Reweighing
    from evenhand.mitigation.representations import (
        FairRepresentations as FairRepresentations,
    )

TUNE = Verb(
    "tune",
    question=(
        "Which value of a mitigation's parameter is best, and is it better than blindly giving up"
        " accuracy?"
    ),
    definition=(
        "Each value was tried on splits of the rows; the best was judged on rows that were kept"
        " for it."
    ),
    function=Deferred("evenhand.mitigation.tune:tune"),
    options=Options.of(
        given=(
            *("method", "X", "y", "values", "parameter", "bias", "performance", "splits"),
            *("test_size", "level", "seed", "n_jobs"),
        )
    ),
    text=Deferred("evenhand.mitigation.tune:lines"),
    plot=Deferred("evenhand.mitigation.tune_plot:display_of"),
    frame=Deferred("evenhand.mitigation.tune:frame"),
    document=Deferred("evenhand.mitigation.tune:document"),
    bounds=(),
)

# Names are imported when they are first used: no method imports what another needs.
_HOMES = {
    "AdversarialClassifier": "fairlearn_adversarial",
    "AdversarialDebiasing": "inprocessing",
    "CalibratedOdds": "postprocessing",
    "CorrelationRemover": "fairlearn_thresholds",
    "EqualisedOdds": "postprocessing",
    "ExponentiatedGradient": "fairlearn_reductions",
    "FairRepresentations": "representations",
    "GridSearch": "fairlearn_reductions",
    "METHODS": "catalogue",
    "Method": "catalogue",
    "Mitigation": "base",
    "OptimisedPreprocessing": "optimised",
    "PrejudiceRemover": "inprocessing",
    "RejectOption": "postprocessing",
    "Reweighing": "preprocessing",
    "ThresholdOptimiser": "fairlearn_thresholds",
    "method": "catalogue",
    "method_names": "catalogue",
    "needs": "catalogue",
}

__all__ = [
    "METHODS",
    "AdversarialClassifier",
    "AdversarialDebiasing",
    "CalibratedOdds",
    "CorrelationRemover",
    "EqualisedOdds",
    "ExponentiatedGradient",
    "FairRepresentations",
    "GridSearch",
    "Method",
    "Mitigation",
    "OptimisedPreprocessing",
    "PrejudiceRemover",
    "RejectOption",
    "Reweighing",
    "ThresholdOptimiser",
    "method",
    "method_names",
    "needs",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'evenhand.mitigation' has no attribute {name!r}")
    found = getattr(import_module(f"evenhand.mitigation.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
