"""The constructors of a Subject that are named after a kind of software."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.runtime.options import options_of, refuse_unknown
from evenhand.subject.adapters import ADAPTERS
from evenhand.subject.options import SHARED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from typing import Self

    from evenhand.space.space import Space
    from evenhand.subject.adapters.base import Output


class SubjectConstructors:
    """What `Subject` inherits: one constructor for each kind of software, and `of` for any kind."""

    if TYPE_CHECKING:

        def __init__(self, model: Any, space: Space, **options: Any) -> None: ...

    @classmethod
    def of(cls, kind: str, value: Any, space: Space, /, **options: Any) -> Self:
        """Test software of any registered kind, that of other packages too.

        `value` is what the key of that kind holds in a configuration, and further options are those
        of its adapter: ``Subject.of("http", "http://127.0.0.1:8000/decide", space, batch=64)``.

        Parameters
        ----------
        kind
            The name of a registered adapter.
        value
            The software, as a configuration names it.
        space
            What an input can be.
        options
            Options of the adapter and of every Subject.

        Returns
        -------
        Subject
            The software under test.

        Raises
        ------
        UsageError
            Where no adapter of this kind is registered, or an option is unknown or has a value that
            it cannot have.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        own_names = [option.name for option in ADAPTERS[kind].options]
        refuse_unknown(f"Subject.of({kind!r})", options, [*own_names, *SHARED.python])
        own: dict[str, Any] = {}
        for name in own_names:
            if name in options:
                own[name] = options.pop(name)
        return cls._of(kind, value, space, own, options)

    @classmethod
    def _named(
        cls,
        kind: str,
        value: Any,
        space: Space,
        own: Mapping[str, Any],
        shared: Mapping[str, Any],
    ) -> Self:
        """Return a subject for the constructor that has the name of a kind."""
        constructor = getattr(cls, kind)
        allowed = [*options_of(constructor), *SHARED.python]
        refuse_unknown(f"Subject.{kind}", shared, allowed)
        return cls._of(kind, value, space, own, shared)

    @classmethod
    def _of(
        cls,
        kind: str,
        value: Any,
        space: Space,
        own: Mapping[str, Any],
        shared: Mapping[str, Any],
    ) -> Self:
        from evenhand.subject.adapters.isolated.recipe import build

        options = dict(shared)
        isolate = options.pop("isolate", None)
        positive = shared.get("positive")
        adapter = build(kind, value, own, positive=positive, isolate=isolate)
        return cls(adapter, space, **options)

    @classmethod
    def command(
        cls,
        argv: Sequence[str],
        space: Space,
        *,
        workers: int | None = None,
        timeout: float = 30.0,
        missing: str = "",
        cwd: str | PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        identity: str | None = None,
        **options: Any,
    ) -> Self:
        """Test a program, one process per input: ``["./loan", "{age}", "{sex}"]``.

        Parameters
        ----------
        argv
            The program and its arguments, such as ``["./loan", "{age}", "{sex}"]``; ``{*}`` stands
            for all values in order.
        space
            What an input can be.
        workers
            How many processes run at a time; by default one per processor.
        timeout
            Seconds allowed to one process, after which it is killed.
        missing
            What a missing value is written as; an empty argument by default.
        cwd, env
            Working directory and environment of the program; by default those of the caller.
        identity
            What to call the program in the ledger; by default its command and a digest of the
            files in it.
        options
            The options of every Subject, such as ``positive`` and ``ledger``.

        Returns
        -------
        Subject
            The software under test.

        Raises
        ------
        UsageError
            Where the program cannot be found, or the command does not fit the space.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        own: dict[str, Any] = {
            "workers": workers,
            "timeout": timeout,
            "missing": missing,
            "cwd": cwd,
            "env": env,
            "identity": identity,
        }
        return cls._named("command", argv, space, own, options)

    @classmethod
    def stream(
        cls,
        argv: Sequence[str],
        space: Space,
        *,
        workers: int = 1,
        timeout: float = 30.0,
        restarts: int = 3,
        cwd: str | PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        identity: str | None = None,
        **options: Any,
    ) -> Self:
        """Test a long-lived program: one JSON object per line in, one outcome per line out.

        Parameters
        ----------
        argv
            The program and its arguments, as they are.
        space
            What an input can be.
        workers
            How many processes share the inputs.
        timeout
            Seconds allowed between two answers of a process.
        restarts
            How many times a process is started again without a single answer in between.
        cwd, env, identity
            As for a command.
        options
            The options of every Subject, such as ``positive`` and ``ledger``.

        Returns
        -------
        Subject
            The software under test.

        Raises
        ------
        UsageError
            Where the program cannot be found, or the inputs of the space have no form in JSON.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        own: dict[str, Any] = {
            "workers": workers,
            "timeout": timeout,
            "restarts": restarts,
            "cwd": cwd,
            "env": env,
            "identity": identity,
        }
        return cls._named("stream", argv, space, own, options)

    @classmethod
    def http(
        cls,
        url: str,
        space: Space,
        *,
        request: Mapping[str, Any] | None = None,
        response: Mapping[str, Any] | None = None,
        batch: int = 256,
        concurrency: int = 4,
        timeout: float = 30.0,
        retries: int = 3,
        backoff: float = 0.2,
        headers: Mapping[str, str] | None = None,
        single: bool = False,
        identity: str | None = None,
        **options: Any,
    ) -> Self:
        """Test an HTTP service, in the form that it has.

        Without `request` and `response` it takes batches of inputs as JSON, and returns a list of
        outcomes.

        Parameters
        ----------
        url
            An address that begins with http:// or https://; redirects are not followed.
        space
            What an input can be.
        request
            What a request looks like: ``method``, ``body``, ``query``, ``headers`` and ``per``,
            with places for inputs, as in ``{"body": {"applicants": "{inputs}"}}``.
        response
            What of an answer is the outcome, as in ``{"outcome": "results[].decision"}``.
        batch
            Inputs per request.
        concurrency
            Requests at a time, each on a connection that is kept open.
        timeout
            Seconds allowed to one request.
        retries
            How many times a request is repeated after a lost connection, a timeout, or status 408,
            429, 500, 502, 503 or 504.
        backoff
            Seconds before the first repetition, doubled for each further one; a longer
            ``Retry-After`` is obeyed up to the timeout.
        headers
            Further headers, such as Authorization; ``${NAME}`` is an environment variable.
        single
            Send one input per request.
        identity
            What to call the service in the ledger; by default its address, and a digest of
            `request` and `response`.
        options
            The options of every Subject, such as ``positive`` and ``ledger``.

        Returns
        -------
        Subject
            The software under test.

        Raises
        ------
        UsageError
            Where the address or an option cannot be used, or the inputs of the space have no form
            in JSON.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        own: dict[str, Any] = {
            "request": request,
            "response": response,
            "batch": batch,
            "concurrency": concurrency,
            "timeout": timeout,
            "retries": retries,
            "backoff": backoff,
            "headers": headers,
            "single": single,
            "identity": identity,
        }
        return cls._named("http", url, space, own, options)

    @classmethod
    def onnx(
        cls,
        path: str | PathLike[str],
        space: Space,
        *,
        output: Output = "label",
        threads: int = 1,
        positive: Any = None,
        **options: Any,
    ) -> Self:
        """Test an ONNX model file (extra: onnx).

        Parameters
        ----------
        path
            The file.
        space
            What an input can be.
        output
            "label", the predicted class or number; or "score", the probability of `positive`.
        threads
            Threads that one batch may use.
        positive
            The favourable outcome; of scores, the class whose probability is the score.
        options
            The options of every Subject, such as ``labels`` and ``ledger``.

        Returns
        -------
        Subject
            The software under test.

        Raises
        ------
        MissingExtra
            Where onnxruntime is not installed.
        UsageError
            Where the file is not an ONNX model, or its inputs are not the features of the space.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        own: dict[str, Any] = {"output": output, "threads": threads}
        return cls._named("onnx", path, space, own, {**options, "positive": positive})

    @classmethod
    def saved(
        cls,
        path: str | PathLike[str],
        space: Space,
        *,
        trusted: Sequence[str] | None = None,
        allow_pickle: bool = False,
        identity: str | None = None,
        **options: Any,
    ) -> Self:
        """Test a fitted estimator that was saved with skops, pickle or joblib.

        Parameters
        ----------
        path
            A `.skops` file; or a `.pkl`, `.pickle` or `.joblib` file, with `allow_pickle`.
        space
            What an input can be.
        trusted
            Types that a skops file may hold beyond those that skops knows to be harmless.
        allow_pickle
            Load a pickle or joblib file, which runs any code that its author put into it.
        identity
            What to call the model in the ledger; by default a digest of the file.
        options
            Further options of `Subject`, such as ``positive`` and ``threshold``.

        Returns
        -------
        Subject
            The software under test.

        Raises
        ------
        MissingExtra
            Where skops is not installed.
        UsageError
            Where the file cannot be read, holds types that are not trusted, or no fitted model.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        own: dict[str, Any] = {
            "trusted": trusted,
            "allow_pickle": allow_pickle,
            "identity": identity,
        }
        for name in ("threshold", "output"):
            if name in options:
                own[name] = options.pop(name)
        return cls._of("estimator", path, space, own, options)
