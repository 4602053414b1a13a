"""A process that fuzzes one target: guided by atheris where it is installed, else at random.

python -m tests.fuzz.worker TARGET RUNS SEED FOLDER [--plain]
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

EVERY = 200
"""After how many inputs the report is written, so that a process that dies leaves one."""


def main(name: str, runs: int, seed: int, folder: Path, *, plain: bool) -> None:
    """Run so many inputs of a target, and write a report into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if plain or not _has_atheris():
        _at_random(name, runs, seed, folder)
    else:
        _guided(name, runs, seed, folder)


def _has_atheris() -> bool:
    from importlib.util import find_spec

    return find_spec("atheris") is not None


def _at_random(name: str, runs: int, seed: int, folder: Path) -> None:
    from tests.fuzz.mutations import changed
    from tests.fuzz.once import Bench, limit_memory
    from tests.fuzz.targets import targets

    target = targets()[name]
    bench = Bench(target, folder)
    valid = target.seeds()
    rng = random.Random(f"{name} {seed}")
    limit_memory()
    for data in valid:
        bench.run(data)
    while bench.runs < runs:
        bench.run(changed(valid, rng, target.form))
        if bench.runs % EVERY == 0:
            bench.write()
    bench.write()


def _guided(name: str, runs: int, seed: int, folder: Path) -> None:
    """Let atheris choose what is changed, by the branches of evenhand that an input reaches."""
    import atheris

    with atheris.instrument_imports(include=["evenhand"], enable_loader_override=False):
        from tests.fuzz.mutations import changed, mutated
        from tests.fuzz.once import Bench, limit_memory
        from tests.fuzz.targets import targets

        target = targets()[name]
        valid = target.seeds()
        bench = Bench(target, folder)
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, data in enumerate(valid):
        (corpus / f"seed-{number}").write_bytes(data)
    limit_memory()

    def one_input(data: bytes) -> None:
        bench.run(data)
        if bench.runs % EVERY == 0 or bench.runs >= runs:
            bench.write()

    def mutator(data: bytes, most: int, number: int) -> bytes:
        rng = random.Random(number)
        kind = rng.random()
        if kind < 0.15:
            return bytes(atheris.Mutate(data, most))
        if kind < 0.3:
            return changed(valid, rng, target.form)[:most]
        return mutated(data, valid, rng, target.form)[:most]

    options = [
        f"-runs={runs}",
        f"-seed={seed + 1}",
        "-max_len=262144",
        "-timeout=30",
        "-rss_limit_mb=0",
        "-verbosity=0",
        "-print_final_stats=0",
        "-detect_leaks=0",
        # An input that is slow or fatal is kept with the others.
        f"-artifact_prefix={folder}/",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one_input, custom_mutator=mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    main(
        words[0],
        int(words[1]),
        int(words[2]),
        Path(words[3]),
        plain="--plain" in sys.argv,
    )
