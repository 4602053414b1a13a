"""The methods by name: what each is, what it needs, and how to make one.

A class is imported when it is made.
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
    """A method of the catalogue: a class under a name, with the settings that the name stands for.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
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
        found: type[Mitigation] = getattr(
            import_module(f"evenhand.mitigation.{module}"), name
        )
        return found


_AIF360: dict[str, Any] = {"extra": "aif360", "paper": True}
"""Methods of the paper that may use AIF360, but run without it."""
_NEEDS_AIF360: dict[str, Any] = {"modules": ("aif360",), **_AIF360}
_FAIRLEARN: dict[str, Any] = {"extra": "fairlearn", "modules": ("fairlearn",)}


def _pre_processing() -> list[Method]:
    """Return the methods of the paper that act on the training rows."""
    return [
        Method("reweighing", "preprocessing:Reweighing", "RW", "pre", paper=True),
        Method(
            "optimised-preprocessing",
            "optimised:OptimisedPreprocessing",
            "OP",
            "pre",
            knob="epsilon",
            modules=("aif360", "cvxpy"),
            **_AIF360,
        ),
        Method(
            "lfr",
            "representations:FairRepresentations",
            "LFR",
            "pre",
            knob="az",
            **_AIF360,
        ),
    ]


def _in_processing() -> list[Method]:
    """Return the methods of the paper that act in the training, with a model of their own."""
    return [
        Method(
            "prejudice-remover",
            "inprocessing:PrejudiceRemover",
            "PR",
            "in",
            knob="eta",
            own_model=True,
            **_AIF360,
        ),
        Method(
            "adversarial-debiasing",
            "inprocessing:AdversarialDebiasing",
            "AD",
            "in",
            knob="adversary_weight",
            own_model=True,
            extra="aif360,tensorflow",
            modules=("aif360", "tensorflow"),
            paper=True,
        ),
    ]


def _post_processing() -> list[Method]:
    """Return the methods of the paper that act on the answers of a model."""
    methods = []
    for metric in ("spd", "aod", "eod"):
        reject_option = Method(
            f"reject-option-{metric}",
            "postprocessing:RejectOption",
            f"ROC_{metric.upper()}",
            "post",
            {"metric": metric},
            knob="bound",
            paper=True,
        )
        methods.append(reject_option)
    for cost in ("fnr", "fpr", "weighted"):
        calibrated_odds = Method(
            f"calibrated-{cost}",
            "postprocessing:CalibratedOdds",
            f"CO_{cost}",
            "post",
            {"cost": cost},
            **_NEEDS_AIF360,
        )
        methods.append(calibrated_odds)
    equalised_odds = Method(
        "equalised-odds",
        "postprocessing:EqualisedOdds",
        "EO",
        "post",
        **_NEEDS_AIF360,
    )
    methods.append(equalised_odds)
    return methods


def _of_fairlearn() -> list[Method]:
    """Return the methods of Fairlearn."""
    return [
        Method(
            "threshold-optimiser",
            "fairlearn_thresholds:ThresholdOptimiser",
            "TO",
            "post",
            **_FAIRLEARN,
        ),
        Method(
            "exponentiated-gradient",
            "fairlearn_reductions:ExponentiatedGradient",
            "EG",
            "in",
            knob="eps",
            **_FAIRLEARN,
        ),
        Method(
            "grid-search",
            "fairlearn_reductions:GridSearch",
            "GS",
            "in",
            knob="constraint_weight",
            **_FAIRLEARN,
        ),
        Method(
            "correlation-remover",
            "fairlearn_thresholds:CorrelationRemover",
            "CR",
            "pre",
            knob="alpha",
            **_FAIRLEARN,
        ),
        Method(
            "fairlearn_adversarial",
            "fairlearn_adversarial:AdversarialClassifier",
            "ADF",
            "in",
            own_model=True,
            knob="alpha",
            extra="fairlearn,torch",
            modules=("fairlearn", "torch"),
        ),
    ]


def _all_methods() -> list[Method]:
    """Return all methods, those of the paper in its order and then those of Fairlearn."""
    return [*_pre_processing(), *_in_processing(), *_post_processing(), *_of_fairlearn()]


METHODS: dict[str, Method] = {known.key: known for known in _all_methods()}
"""All methods by the name that study files use."""


def method_names() -> list[str]:
    """Return the names of all methods.

    Returns
    -------
    list of str
        The names, which are the keys of METHODS.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
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

    Returns
    -------
    Mitigation
        The method, which is not fitted.

    Raises
    ------
    UsageError
        If there is no method of this name, or it has no such parameter.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
    >>> method("prejudice-remover", over="sex", eta=5.0)
    PrejudiceRemover(eta=5.0, over='sex')
    >>> method("reweighting", over="sex")
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: unknown method 'reweighting'; did you mean 'reweighing'? ...
    """
    known = _known_method(key)
    factory = known.factory
    options = []
    for name in options_of(factory.__init__):
        # What the name of the method stands for is not for the user to set.
        if name != "estimator" and name not in known.settings:
            options.append(name)
    refuse_unknown(f"the method {key!r}", settings, options)
    if known.own_model:
        return factory(**known.settings, **settings)
    return factory(estimator=estimator, **known.settings, **settings)


def needs(key: str, **settings: Any) -> MissingExtra | None:
    """Return the error to raise if a method cannot run here, None if it can.

    Nothing is imported to find out.

    Parameters
    ----------
    key
        The name of the method.
    settings
        Its parameters: another solver may need another library.

    Returns
    -------
    MissingExtra or None
        The error, which names the extra to install.

    Raises
    ------
    UsageError
        If there is no method of this name.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
    >>> needs("reweighing")
    """
    known = _known_method(key)
    modules = list(known.modules)
    if settings.get("solver") == "aif360":
        modules.append("aif360")
    if all(find_spec(module) is not None for module in modules):
        return None
    return MissingExtra(f"the method {key!r}", known.extra)


def _known_method(key: str) -> Method:
    if not isinstance(key, str) or key not in METHODS:
        raise UsageError(f"unknown method {clip(repr(key))}; {nearest(key, METHODS)}")
    return METHODS[key]
