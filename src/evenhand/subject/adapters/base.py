"""The base of all adapters: what a Subject asks of the software under test."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import contextmanager
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from evenhand.runtime.errors import EvenhandError, SubjectCrashed, UsageError, clip, nearest
from evenhand.runtime.interruption import exits_reported
from evenhand.runtime.options import Options, refuse_unknown
from evenhand.runtime.values import Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from evenhand.runtime.options import Option
    from evenhand.space.space import Space
    from evenhand.subject.adapters.model_file import ModelFile
    from evenhand.subject.model_form import ModelForm

Reply = Scalar | tuple[Scalar, ...]
"""What one input is answered with: an outcome, or one for each of several outputs."""
Output = Literal["label", "score"]
"""What of a model's answer is the outcome."""


class Adapter(ABC):
    """One kind of software, and how it is asked.

    A subclass says how the software is named (`kind`, `value`, `options`), tells it from other
    software (`identity`), and answers inputs (`run`). All else has a default. See
    docs/how-to/subjects.md. This one scores applicants by points:

    >>> import numpy as np
    >>> from evenhand.runtime.options import NUMBER, TABLE, Option, Options
    >>> class Scorecard(Adapter):
    ...     kind = "scorecard"
    ...     value = Option("scorecard", TABLE, "the points of each feature")
    ...     options = Options.of(Option("pass_mark", NUMBER, "the least sum that is accepted"))
    ...
    ...     def __init__(self, points, *, pass_mark=100):
    ...         self.points = points
    ...         self.pass_mark = pass_mark
    ...
    ...     @classmethod
    ...     def accepts(cls, model):
    ...         return isinstance(model, dict)
    ...
    ...     @property
    ...     def identity(self):
    ...         return f"scorecard:{sorted(self.points.items())}:{self.pass_mark}"
    ...
    ...     def run(self, points, space):
    ...         people = space.native(points)
    ...         total = sum(people[name] * worth for name, worth in self.points.items())
    ...         yield np.arange(len(points)), (total >= self.pass_mark).to_numpy()

    An object of it is software under test:

    >>> import evenhand as eh
    >>> space = eh.Space([eh.integer("age", 18, 90), eh.integer("income", 0, 99)])
    >>> people = [{"age": 30, "income": 10}, {"age": 60, "income": 20}]
    >>> eh.Subject(Scorecard({"age": 1, "income": 2}), space).decide(people).tolist()
    [False, True]

    Registered, it is also found by its kind, in Python and as `scorecard = { age = 1 }` under
    [subject] in a configuration, and by what it accepts. A package registers it with an entry point
    of the group `evenhand.adapters`.

    >>> from evenhand.subject.adapters import ADAPTERS
    >>> ADAPTERS.register("scorecard", Scorecard)
    >>> eh.Subject.of("scorecard", {"age": 1}, space, pass_mark=40).decide(people).tolist()
    [False, True]
    >>> eh.Subject({"income": 10}, space).decide(people).tolist()
    [True, True]
    >>> ADAPTERS.unregister("scorecard")

    Where the software names several outputs, the Subject sets `outputs`, and outcomes are then
    records with one field for each of them; an adapter is therefore the adapter of one Subject. An
    adapter that knows more may tell it: `classes` (all labels, in order), `output` ("score" where
    outcomes are scores), `numbers` (True where they are numbers on a scale, as of a regressor),
    and, for a search to follow, `scorers`, `margins` and `gradients` as the adapters of estimators
    and torch modules have them.
    """

    kind: ClassVar[str]
    """The key that names the software under [subject], and the name in the registry."""
    value: ClassVar[Option | None] = None
    """What the key holds; None where only Python can give it."""
    options: ClassVar[Options] = Options()
    """What else can be said of it, in TOML and in Python: keywords of the constructor, or of `of`.

    What `options.given` names are keywords that nobody says: with "positive" among them the
    constructor is also given the favourable outcome, of which it may need the score.
    """
    takes_texts: ClassVar[bool] = False
    """Whether it can also be asked about texts: `space.native(points)` is then a list of them."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Model files that `evenhand init` takes for this kind."""
    printed: ClassVar[bool] = False
    """Whether outcomes are printed text, in which 1 and "1" are the same."""
    own_process: ClassVar[bool] = False
    """Whether the software runs elsewhere, so that nothing it does can end this process."""
    sent_once: ClassVar[bool] = True
    """Whether workers are sent it once for all that they are asked, since it holds a model."""
    expensive: bool = False
    """Whether an answer costs a process or a request, and so is worth remembering."""
    own_threads_from: float = math.inf
    """From how many inputs at once the software uses threads of its own, and needs no workers."""
    outputs: tuple[str, ...] = ()
    """The names of several outputs; the Subject sets them."""
    file: ModelFile | None = None
    """The file that the software was loaded from, None where there is none."""

    @classmethod
    def accepts(cls, model: Any) -> bool:
        """Return whether a Python object is software of this kind.

        Parameters
        ----------
        model
            Any object; evenhand's own adapters are asked first.

        Returns
        -------
        bool
            Whether `of` can build an adapter from it.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        return False

    @classmethod
    def of(cls, value: Any, /, *, positive: Any = None, **options: Any) -> Adapter:
        """Return an adapter of a bare model that it accepts, or of the value of a configuration.

        Parameters
        ----------
        value
            The model or value. A path is absolute or seen from the working directory, and
            "package.module:name" is the object itself.
        positive
            The favourable outcome, of which an adapter may need the score.
        options
            Options that the adapter declares.

        Returns
        -------
        Adapter
            The software, ready to be asked.

        Raises
        ------
        UsageError
            Where an option is unknown or has a value that it cannot have.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        refuse_unknown(f"adapter {cls.kind!r}", options, cls.options.python)
        if "positive" in cls.options.given:
            options["positive"] = positive
        build: Callable[..., Adapter] = cls
        return build(value, **options)

    @property
    @abstractmethod
    def identity(self) -> str:
        """The name of the software in a ledger, so that a ledger of another one can be refused."""

    @property
    def name(self) -> str:
        """The software in a few words, for messages."""
        return self.identity

    def form(self) -> ModelForm:
        """Return what the software says of its inputs: columns, dtypes, categories, classes.

        The Subject puts the frames of its space into this form.

        Returns
        -------
        ModelForm
            What is known; by default nothing is.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        from evenhand.subject.model_form import ModelForm

        return ModelForm()

    def unread(self, space: Space) -> frozenset[str]:
        """Return the features that the software is proven not to read, by its structure.

        Parameters
        ----------
        space
            What an input can be.

        Returns
        -------
        frozenset of str
            Names of features; by default none, since nothing is known.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        return frozenset()

    def check(self, space: Space) -> None:  # noqa: B027
        """Refuse a space that does not fit the software, before anything is run.

        Parameters
        ----------
        space
            What an input can be.

        Raises
        ------
        UsageError
            Where the software cannot take such inputs; by default it takes any.

        Notes
        -----
        See docs/how-to/subjects.md.
        """

    def refuses_missing(self, space: Space) -> tuple[str, ...]:
        """Return the features that the software does not take where their value is missing.

        The Subject draws none of these, and leaves out rows that have some.

        Parameters
        ----------
        space
            What an input can be, in the form of the software.

        Returns
        -------
        tuple of str
            Names of features that may be missing; by default all of them where the software says
            that it takes none, and none where it does not say.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        if self.form().takes_missing is not False:
            return ()
        return tuple(space.names[position] for position in gaps_of(space))

    @abstractmethod
    def run(
        self, points: NDArray[np.float64], space: Space
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Yield (rows of `points`, their outcomes) until every point is answered once.

        Answers may come in any order. They are yielded as they are known, so that the Subject can
        write them down before the next one fails.

        Parameters
        ----------
        points
            Encoded inputs, one row each; `space.native` turns them into a frame.
        space
            What an input can be.

        Returns
        -------
        iterator of (rows, outcomes)
            Rows of the points, and the outcome of each.

        Raises
        ------
        SubjectError
            Where an input fails: after everything that has been answered was yielded, and with the
            name of the input.

        Notes
        -----
        See docs/how-to/subjects.md.
        """

    def close(self) -> None:  # noqa: B027
        """Release processes and connections; the adapter may be used and closed again afterwards.

        Notes
        -----
        See docs/how-to/subjects.md.
        """


def gaps_of(space: Space) -> list[int]:
    """Return the positions of the features that are passed and may be missing."""
    return [position for position in space.passed if space.features[position].missing]


def tried_missing(adapter: Adapter, space: Space) -> tuple[str, ...]:
    """Return the features that software in this process fails on where their value is missing.

    It is asked about one person, with all gaps at once, and if that fails, with each of them.
    """
    import numpy as np

    positions = gaps_of(space)
    if not positions:
        return ()
    person = space.draw(1, np.random.default_rng(0))
    for position in positions:
        feature = space.features[position]
        if feature.is_missing(person[:, position]).any():
            person[:, position] = feature.first_value
    # What fails without a gap fails for another reason, which is told when it is asked.
    if not _answers(adapter, person, space):
        return ()
    if _answers(adapter, _gapped(person, positions, space), space):
        return ()
    refused = []
    for position in positions:
        if not _answers(adapter, _gapped(person, [position], space), space):
            refused.append(space.names[position])
    return tuple(refused)


def _gapped(
    person: NDArray[np.float64], positions: list[int], space: Space
) -> NDArray[np.float64]:
    """Return an encoded person of whom some values are missing."""
    gapped = person.copy(order="K")
    for position in positions:
        gapped[:, position] = space.features[position].missing_code
    return gapped


def _answers(adapter: Adapter, person: NDArray[np.float64], space: Space) -> bool:
    """Return whether the software answers a person, and with a number if with a number."""
    import warnings

    import numpy as np

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _, outcomes in replies_of(adapter, person, space):
                answer = np.asarray(outcomes)
                if answer.dtype.kind == "f" and np.isnan(answer).any():
                    return False
    except Exception:
        # Whatever the software raises.
        return False
    return True


def check_output(output: str) -> None:
    """Refuse an output that is neither label nor score."""
    if output not in get_args(Output):
        raise UsageError(f"output = {output!r}; {nearest(output, get_args(Output))}")


def check_threshold(threshold: float | None) -> None:
    """Refuse a threshold that no probability can be on both sides of."""
    if threshold is not None and not (isinstance(threshold, Real) and 0 < threshold < 1):
        raise UsageError(f"threshold = {threshold!r} must lie between 0 and 1")


def scored_class(positive: Any) -> Any:
    """Return the class that is scored.

    A function says which scores are favourable, and leaves the class to the model.
    """
    if isinstance(positive, list | tuple | set | frozenset):
        raise UsageError(
            f"positive = {clip(repr(positive))} must be one class where its score is asked for"
        )
    if callable(positive) or isinstance(positive, Mapping):
        return None
    return positive


def is_torch_module(model: Any) -> bool:
    """Return whether a model is a torch module, without importing torch: whoever made one has.

    >>> is_torch_module(len)
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def is_fitted(model: Any) -> bool:
    """Return whether a model is fitted; one that is not of scikit-learn is taken to be."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except (TypeError, AttributeError):  # by the version of scikit-learn
        return True
    return True


@contextmanager
def crashes_reported(name: str, inputs: int) -> Iterator[None]:
    """Turn whatever the software raises on so many inputs into an error of one sentence."""
    task = f" on {inputs:,} inputs"
    with exits_reported(name, task):
        try:
            yield
        except EvenhandError:
            raise
        except Exception as error:
            raise SubjectCrashed(
                f"{name} raised {type(error).__name__}{task}: {clip(str(error))}"
            ) from error


def replies_of(
    adapter: Adapter, points: NDArray[np.float64], space: Space
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
    """Yield the answers of an adapter, which may be one of another package."""
    task = f" on {len(points):,} inputs"
    replies = iter(adapter.run(points, space))
    while True:
        # Around each answer, and not around the loop: its end is a GeneratorExit of our own.
        with exits_reported(adapter.name, task):
            reply = next(replies, None)
        if reply is None:
            return
        yield reply
