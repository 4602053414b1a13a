"""The methods by name: what each is, what it needs, and how to make one; a class is imported when
it is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import MissingExtra, UsageError, clip, nearest
from evenhand.runtime.options import options_of, refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.mitigation.base import Mitigation


@dataclass(frozen=True)
class Method:
    """One entry: a class under a name, with the settings that the name stands for.

    >>> METHODS["reject-option-eod"].code, METHODS["reject-option-eod"].settings
    ('ROC_EOD', {'metric': 'eod'})
    """

    key: str
    home: str
    """The class, as "module:Class"."""
    code: str
    """The short name of the Fairea paper, or one in its style."""
    kind: str
    """When it acts: "pre" on the training rows, "in" the training, "post" on the answers."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    knob: str | None = None
    """The parameter that trades performance for fairness, where there is one."""
    extra: str = ""
    """The extra of evenhand that installs what it may need."""
    modules: tuple[str, ...] = ()
    """What must be installed for it to run as it is by default."""
    own_model: bool = False
    """Whether it has a model of its own and takes no estimator."""
    paper: bool = False
    """Whether it is one of the twelve of the Fairea paper."""

    @property
    def factory(self) -> type[Mitigation]:
        """The class."""
        module, _, name = self.home.partition(":")
        found: type[Mitigation] = getattr(import_module(f"evenhand.mitigation.{module}"), name)
        return found


def _entries() -> list[Method]:
    aif: dict[str, Any] = {"extra": "aif360", "paper": True}
    needed: dict[str, Any] = {"modules": ("aif360",), **aif}
    solved: dict[str, Any] = {"modules": ("aif360", "cvxpy"), **aif}
    fair: dict[str, Any] = {"extra": "fairlearn", "modules": ("fairlearn",)}
    reject, calibrated = "postprocessing:RejectOption", "postprocessing:CalibratedOdds"
    network: dict[str, Any] = {
        "knob": "alpha",
        "extra": "fairlearn,torch",
        "modules": ("fairlearn", "torch"),
    }
    adversary: dict[str, Any] = {
        "extra": "aif360,tensorflow",
        "modules": ("aif360", "tensorflow"),
        "paper": True,
    }
    return [
        Method("reweighing", "preprocessing:Reweighing", "RW", "pre", paper=True),
        Method(
            "optimised-preprocessing",
            "optimised:OptimisedPreprocessing",
            "OP",
            "pre",
            knob="epsilon",
            **solved,
        ),
        Method("lfr", "representations:FairRepresentations", "LFR", "pre", knob="az", **aif),
        Method(
            "prejudice-remover",
            "inprocessing:PrejudiceRemover",
            "PR",
            "in",
            knob="eta",
            own_model=True,
            **aif,
        ),
        Method(
            "adversarial-debiasing",
            "inprocessing:AdversarialDebiasing",
            "AD",
            "in",
            knob="adversary_weight",
            own_model=True,
            **adversary,
        ),
        *(
            Method(
                f"reject-option-{of}",
                reject,
                f"ROC_{of.upper()}",
                "post",
                {"metric": of},
                knob="bound",
                paper=True,
            )
            for of in ("spd", "aod", "eod")
        ),
        *(
            Method(f"calibrated-{of}", calibrated, f"CO_{of}", "post", {"cost": of}, **needed)
            for of in ("fnr", "fpr", "weighted")
        ),
        Method("equalised-odds", "postprocessing:EqualisedOdds", "EO", "post", **needed),
        Method(
            "threshold-optimiser", "fairlearn_thresholds:ThresholdOptimiser", "TO", "post", **fair
        ),
        Method(
            "exponentiated-gradient",
            "fairlearn_reductions:ExponentiatedGradient",
            "EG",
            "in",
            knob="eps",
            **fair,
        ),
        Method(
            "grid-search",
            "fairlearn_reductions:GridSearch",
            "GS",
            "in",
            knob="constraint_weight",
            **fair,
        ),
        Method(
            "correlation-remover",
            "fairlearn_thresholds:CorrelationRemover",
            "CR",
            "pre",
            knob="alpha",
            **fair,
        ),
        Method(
            "fairlearn_adversarial",
            "fairlearn_adversarial:AdversarialClassifier",
            "ADF",
            "in",
            own_model=True,
            **network,
        ),
    ]


METHODS: dict[str, Method] = {entry.key: entry for entry in _entries()}
"""All methods by the name that study files use."""


def method_names() -> list[str]:
    """Return the names of all methods.

    >>> method_names()[:3]
    ['reweighing', 'optimised-preprocessing', 'lfr']
    """
    return list(METHODS)


def method(key: str, estimator: Any = None, **settings: Any) -> Mitigation:
    """Make a method by its name.

    Parameters
    ----------
    estimator
        The classifier for methods that take one; those with a model of their own leave it.
    settings
        Parameters of the method, such as `over`.

    Examples
    --------
    >>> method("prejudice-remover", over="sex", eta=5.0)
    PrejudiceRemover(eta=5.0, over='sex')
    >>> method("reweighting", over="sex")
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: there is no method 'reweighting'; did you mean 'reweighing'? ...
    """
    entry = _entry(key)
    factory = entry.factory
    options = [
        name
        for name in options_of(factory.__init__)
        if name != "estimator" and name not in entry.settings
    ]
    refuse_unknown(f"the method {key!r}", settings, options)
    given = {} if entry.own_model else {"estimator": estimator}
    return factory(**given, **entry.settings, **settings)


def needs(key: str, **settings: Any) -> MissingExtra | None:
    """Return the error to raise where a method with these settings cannot run here, None where it
    can.

    Nothing is imported to find out.

    >>> needs("reweighing")
    """
    entry = _entry(key)
    modules = (*entry.modules, *(("aif360",) if settings.get("solver") == "aif360" else ()))
    if all(find_spec(module) is not None for module in modules):
        return None
    return MissingExtra(f"the method {key!r}", entry.extra)


def _entry(key: str) -> Method:
    if not isinstance(key, str) or key not in METHODS:
        raise UsageError(f"there is no method {clip(repr(key))}; {nearest(key, METHODS)}")
    return METHODS[key]
