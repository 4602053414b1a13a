"""Ledgers damaged in many ways, and what became of the answers that were recalled from them.

`campaign(folder, cases, seed)` is the whole of it: it makes a ledger, damages a copy of it in so
many ways, and recalls every answer from each copy. A `Damage` that is `silent` is a wrong answer
that nobody noticed; there must be none.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.runtime.errors import LedgerError
from evenhand.subject.ledger import Ledger

SPACE = "space of the damage campaign"
SUBJECT = "software of the damage campaign"
PAGE = 4096
Hurt = Callable[[Path, random.Random], None]


@dataclass(frozen=True)
class Damage:
    """What came of one damaged ledger.

    `outcome` is "refused" (a LedgerError), "right" (every recalled answer is the one that was
    recorded; some may be missing, and are then asked again), "wrong", or "crashed" (an error of
    any other kind).
    """

    kind: str
    case: int
    outcome: str
    sentence: str = ""

    @property
    def silent(self) -> bool:
        """Whether a wrong answer was recalled as if nothing had happened."""
        return self.outcome == "wrong"


def answers(count: int, seed: int = 0) -> dict[bytes, Any]:
    """Return inputs and answers of every type that a ledger keeps."""
    rng = random.Random(seed)
    made: dict[bytes, Any] = {}
    for number in range(count):
        choices = [True, False, number, number / 7, f"label {number % 3}", ("yes", number)]
        prefix = b"again:" if number % 5 == 0 else b""
        made[prefix + rng.randbytes(24)] = rng.choice(choices)
    return made


def written(path: Path, expected: dict[bytes, Any], *, subject: str = SUBJECT) -> None:
    """Write a ledger of these answers."""
    with Ledger(path, space=SPACE, subject=subject) as ledger:
        ledger.record(list(expected), list(expected.values()))


def recalled(path: Path, expected: dict[bytes, Any]) -> tuple[str, str]:
    """Recall all answers, and return what came of it with the sentence of the error."""
    try:
        with Ledger(path, space=SPACE, subject=SUBJECT, timeout=2) as ledger:
            known = ledger.known(list(expected))
    except LedgerError as error:
        return "refused", str(error)
    except Exception as error:
        return "crashed", repr(error)
    for key, outcome in known.items():
        if repr(outcome) != repr(expected[key]):
            return "wrong", f"{outcome!r} instead of {expected[key]!r}"
    return "right", ""


def flip_bits(path: Path, rng: random.Random) -> None:
    """Flip one to eight bits anywhere in the file."""
    content = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 8)):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def change_bytes(path: Path, rng: random.Random) -> None:
    """Replace a run of bytes anywhere in the file by others."""
    content = bytearray(path.read_bytes())
    start = rng.randrange(len(content))
    length = rng.choice([1, 4, 16, 64])
    content[start : start + length] = rng.randbytes(len(content[start : start + length]))
    path.write_bytes(content)


def flip_head(path: Path, rng: random.Random) -> None:
    """Flip a bit on the first pages, where the schema and the head are."""
    content = bytearray(path.read_bytes())
    content[rng.randrange(3 * PAGE)] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def flip_log(path: Path, rng: random.Random) -> None:
    """Flip bits in the log of a process that was killed before it could tidy up."""
    _keep_log(path, rng)
    flip_bits(Path(f"{path}-wal"), rng)


def _keep_log(path: Path, rng: random.Random) -> None:
    """Leave a log with rows that are not in the file yet, as a kill does."""
    copy = path.with_name("killed.db")
    shutil.copy(path, copy)
    ledger = Ledger(copy, space=SPACE, subject=SUBJECT)
    ledger.record([rng.randbytes(24) for _ in range(50)], ["late"] * 50)
    shutil.copy(copy, path)
    shutil.copy(f"{copy}-wal", f"{path}-wal")
    ledger.close()
    copy.unlink()


def truncate(path: Path, rng: random.Random) -> None:
    """Cut the file off somewhere."""
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content))])


def zero_page(path: Path, rng: random.Random) -> None:
    """Fill a page with zeros."""
    content = bytearray(path.read_bytes())
    page = rng.randrange(len(content) // PAGE)
    content[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)
    path.write_bytes(content)


def swap_pages(path: Path, rng: random.Random) -> None:
    """Swap two pages."""
    content = bytearray(path.read_bytes())
    one, other = rng.sample(range(len(content) // PAGE), 2)
    first = slice(one * PAGE, (one + 1) * PAGE)
    second = slice(other * PAGE, (other + 1) * PAGE)
    content[first], content[second] = content[second], content[first]
    path.write_bytes(content)


def swap_answers(path: Path, rng: random.Random) -> None:
    """Give two inputs each other's answer, as an SQL statement can."""
    with _opened(path) as connection:
        rows = connection.execute("SELECT key, outcome FROM test").fetchall()
        one, first = rng.choice(rows)
        others = [row for row in rows if repr(row[1]) != repr(first)]
        other, second = rng.choice(others)
        connection.execute("UPDATE test SET outcome = ? WHERE key = ?", (second, one))
        connection.execute("UPDATE test SET outcome = ? WHERE key = ?", (first, other))


def edit_answer(path: Path, rng: random.Random) -> None:
    """Write another answer to an input, as an SQL statement can."""
    with _opened(path) as connection:
        rows = connection.execute("SELECT key, outcome FROM test").fetchall()
        key, answer = rng.choice(rows)
        values = ["approved", 1, 0, 0.5, b"true", b"false", b"not JSON"]
        others = [value for value in values if repr(value) != repr(answer)]
        statement = "UPDATE test SET outcome = ? WHERE key = ?"
        connection.execute(statement, (rng.choice(others), key))


def edit_key(path: Path, rng: random.Random) -> None:
    """Let an answer belong to another input."""
    with _opened(path) as connection:
        keys = connection.execute("SELECT key FROM test").fetchall()
        one, other = rng.sample(keys, 2)
        connection.execute("DELETE FROM test WHERE key = ?", other)
        connection.execute("UPDATE test SET key = ? WHERE key = ?", (*other, *one))


def edit_head(path: Path, rng: random.Random) -> None:
    """Let the file say something else of its format, space or subject."""
    with _opened(path) as connection:
        rows = connection.execute("SELECT name, value FROM meta").fetchall()
        name, before = rng.choice([row for row in rows if row[0] != "openings"])
        values = {"1", "3", "", "another", SPACE, SUBJECT} - {before}
        value = rng.choice(sorted(values))
        connection.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name))


def delete_rows(path: Path, rng: random.Random) -> None:
    """Delete some rows, which is harmless: they are asked again."""
    with _opened(path) as connection:
        keys = connection.execute("SELECT key FROM test").fetchall()
        connection.executemany("DELETE FROM test WHERE key = ?", rng.sample(keys, 5))


def copy_rows(path: Path, rng: random.Random) -> None:
    """Copy rows from the ledger of other software, with their checksums."""
    with _opened(path) as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM test").fetchall()]
    foreign = path.with_name("foreign.db")
    written(
        foreign, dict.fromkeys(rng.sample(keys, 5), "foreign"), subject="other software"
    )
    with _opened(foreign) as connection:
        rows = connection.execute("SELECT * FROM test").fetchall()
    foreign.unlink()
    with _opened(path) as connection:
        marks = ",".join("?" * len(rows[0]))
        connection.executemany(f"INSERT OR REPLACE INTO test VALUES ({marks})", rows)


@contextlib.contextmanager
def _opened(path: Path) -> Any:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        yield connection


KINDS: tuple[Hurt, ...] = (
    flip_bits,
    change_bytes,
    flip_head,
    flip_log,
    truncate,
    zero_page,
    swap_pages,
    swap_answers,
    edit_answer,
    edit_key,
    edit_head,
    delete_rows,
    copy_rows,
)
"""All ways to damage a ledger, in turn."""


def campaign(folder: Path, cases: int, seed: int = 0, rows: int = 400) -> list[Damage]:
    """Damage a ledger in so many ways, and return what came of each.

    Parameters: a folder to work in; how many damaged copies to make, of each kind in turn; the seed
    of where they are damaged; and the answers in the ledger. The same seed damages the same bytes.
    """
    expected = answers(rows, seed)
    sound = folder / "sound.db"
    written(sound, expected)
    found = []
    for case in range(cases):
        hurt = KINDS[case % len(KINDS)]
        path = folder / f"damaged-{case}.db"
        shutil.copy(sound, path)
        hurt(path, random.Random(f"{seed} {case}"))
        outcome, sentence = recalled(path, expected)
        found.append(Damage(hurt.__name__, case, outcome, sentence))
        for file in folder.glob(f"{path.name}*"):
            file.unlink()
    return found


def tally(found: list[Damage]) -> dict[str, Counter[str]]:
    """Return how many of each kind were refused, right, wrong and crashed."""
    counts: dict[str, Counter[str]] = {}
    for damage in found:
        counts.setdefault(damage.kind, Counter())[damage.outcome] += 1
    return counts
