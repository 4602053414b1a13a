"""The schema of configurations: it allows what the loader takes, and nothing else."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from evenhand.config import schema
from evenhand.config.checks import checks_of
from evenhand.config.file import TABLES, Config
from evenhand.config.init.questions import Dialogue
from evenhand.config.init.start import Request, start
from evenhand.config.repair import OF_TEXTS, read_repair
from evenhand.methods.audit.checks import jobs, log_jobs
from evenhand.runtime.errors import ConfigError, UsageError
from evenhand.space.declaration import FIELDS
from evenhand.space.space_file import FEATURE
from evenhand.subject.adapters import ADAPTERS
from evenhand.subject.adapters.resolve import kinds_in_files
from evenhand.subject.options import SHARED
from evenhand.texts.text_subject import text_options
from evenhand.verbs import VERBS
from tests.support.paths import ROOT
from tests.support.values import VALUES, TomlValidator

if TYPE_CHECKING:
    from evenhand.runtime.options import Option

SCHEMA = schema.config_schema()
VALIDATOR = TomlValidator(SCHEMA)
FENCE = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
FEATURES = (
    '[space.features.sex]\nlevels = ["F", "M"]\n[space.features.age]\nlow = 18\nhigh = 90\n'
)
TEXTS = '[texts]\nfrom = "comments.csv"\ncolumn = "comment"\n'


def allows(table: Any) -> bool:
    """Return whether the schema allows a configuration."""
    return bool(VALIDATOR.is_valid(table))


# The file


def test_the_schema_that_is_shipped_is_up_to_date():
    file = Path(schema.__file__).parent / "schema" / schema.FILE
    made = schema.written(schema.config_schema(own=True))
    assert file.read_text(encoding="utf-8") == made, (
        "write it again: python -m evenhand.config.schema"
    )
    assert schema.shipped() == schema.config_schema(own=True)
    Draft202012Validator.check_schema(SCHEMA)


def test_it_can_be_written_elsewhere(tmp_path, capsys):
    schema.main([str(tmp_path / "mine.json")])
    assert (tmp_path / "mine.json").read_text(encoding="utf-8") == schema.written(SCHEMA)
    assert "wrote" in capsys.readouterr().out


def test_it_has_every_table_job_and_kind():
    assert set(SCHEMA["properties"]) == set(TABLES)
    # The dtype belongs to the form of the frames, not to the feature.
    assert set(FEATURE.toml) - {"dtype"} == set(FIELDS) - {"name"}
    tables = SCHEMA["else"]["else"]["properties"]
    of_log = SCHEMA["else"]["then"]["properties"]
    assert of_log["checks"]["items"]["properties"]["job"]["enum"] == log_jobs()
    texts = SCHEMA["then"]["properties"]
    check = tables["checks"]["items"]
    assert check["properties"]["job"]["enum"] == jobs()
    kinds = [software["title"] for software in tables["subject"]["oneOf"]]
    assert kinds == kinds_in_files()
    kinds_of_texts = [software["title"] for software in texts["subject"]["oneOf"]]
    assert kinds_of_texts == kinds_in_files(texts=True)
    assert set(texts["repair"]["properties"]) == set(OF_TEXTS)


# What is written somewhere


def examples() -> list[Any]:
    """Return every configuration of the docs."""
    found = []
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        blocks = FENCE.findall(page.read_text(encoding="utf-8"))
        for number, text in enumerate(blocks, start=1):
            if "[study]" not in text:
                found.append(pytest.param(text, id=f"{name} {number}"))
    return found


@pytest.mark.parametrize("text", examples())
def test_examples_are_allowed(text):
    table = tomllib.loads(text)
    VALIDATOR.validate(table.get("tool", {}).get("evenhand", table))


def test_the_demonstration_and_what_init_writes_are_allowed(tmp_path, monkeypatch):
    demo = ROOT / "src" / "evenhand" / "demo"
    VALIDATOR.validate(tomllib.loads((demo / "evenhand.toml").read_text(encoding="utf-8")))
    file = tmp_path / "evenhand.toml"
    protected = ("race", "sex")
    request = Request(
        demo / "loans.csv", file, "model.joblib", "deserved", protected=protected
    )
    monkeypatch.chdir(tmp_path)
    Path("model.joblib").touch()
    start(request, Dialogue())
    text = file.read_text(encoding="utf-8")
    VALIDATOR.validate(tomllib.loads(text))
    # Lines that are to be switched on by taking away the mark are right, too.
    extra = (
        text.replace("# [repair]", "[repair]")
        .replace("# over", "over")
        .replace('# output = "', 'output = "')
    )
    VALIDATOR.validate(tomllib.loads(extra))


# Checks: for every job and option, all kinds of values


def checks(texts: bool) -> list[Any]:
    found = []
    for job in jobs():
        verb = VERBS[job]
        if texts and verb.for_texts:
            verb = VERBS[verb.for_texts]
        elif texts:
            continue
        for option in verb.checks:
            found.append(pytest.param(job, option, texts, id=f"{verb.name} {option.name}"))
    return found


@pytest.mark.parametrize(
    ("job", "option", "texts"), [*checks(texts=False), *checks(texts=True)]
)
def test_a_check_takes_what_the_schema_allows_and_nothing_else(
    job: str, option: Option, texts: bool
):
    rest = {"texts": {"from": "x.csv", "column": "x"}} if texts else {}
    taken = 0
    for value in (*option.choices, *VALUES):
        table = {**rest, "checks": [{"job": job, option.name: value}]}
        takes = accepted(
            lambda table=table: checks_of(Config(Path("evenhand.toml"), table))
        )
        assert allows(table) == takes, value
        taken += takes
    assert (taken > 0) == option.toml


@pytest.mark.parametrize("job", [*jobs(), "audit", "measure_log", "mine_text", "msure", 3])
def test_a_check_of_an_unknown_job_or_key_is_refused(job):
    table = {"checks": [{"job": job, "limits": 3}]}
    assert not allows(table)
    assert not accepted(lambda: checks_of(Config(Path("evenhand.toml"), table)))
    assert not allows({"checks": [{}]})


# Software: for every kind and option, all kinds of values


def software(texts: bool) -> list[Any]:
    found = []
    for kind in kinds_in_files(texts=texts):
        adapter = ADAPTERS[kind]
        if texts:
            options = SHARED.without("outputs") + text_options(adapter)
        else:
            options = SHARED + adapter.options
        for option in [adapter.value, *options]:
            assert option is not None
            name = f"{kind} {option.name}"
            if texts:
                name += " of texts"
            found.append(pytest.param(kind, option, texts, id=name))
    return found


@pytest.mark.parametrize(
    ("kind", "option", "texts"), [*software(texts=False), *software(texts=True)]
)
def test_software_takes_what_the_schema_allows_and_nothing_else(
    kind: str, option: Option, texts: bool
):
    value = ADAPTERS[kind].value
    assert value is not None
    usual = "x" if value.kind.fits("x") else ["x"]
    rest = {"texts": {"from": "x.csv", "column": "x"}} if texts else {}
    for given in (*option.choices, *VALUES):
        table = {**rest, "subject": {kind: usual, option.name: given}}
        assert allows(table) == accepted(lambda table=table: declared(table)), given
    assert not allows({**rest, "subject": {kind: usual, f"{option.name}x": 1}})
    assert not allows({**rest, "subject": {option.name: usual}}) or option is value


def declared(table: dict[str, Any]) -> None:
    """Read what a configuration says of software, up to where it would be started."""
    config = Config(Path("evenhand.toml"), table)
    kind, value, _ = config.declared(
        SHARED.without("outputs") if config.of_texts else SHARED
    )
    option = ADAPTERS[kind].value
    assert option is not None
    if not option.kind.fits(value):
        raise ConfigError("of another kind")


def test_exactly_one_kind_of_software_is_allowed():
    assert allows({"subject": {"http": "http://127.0.0.1/"}})
    assert not allows({"subject": {"http": "http://127.0.0.1/", "onnx": "model.onnx"}})
    assert not allows({"subject": {"positive": 1}})
    assert not allows({"subject": {"torch": "x"}})
    assert not allows(
        {
            "subject": {"http": "http://127.0.0.1/"},
            "texts": {"from": "x.csv", "column": "x"},
        }
    )


# A repair: for every option, all kinds of values


@pytest.mark.parametrize(
    "option",
    list(VERBS["repair"].options.without("target")),
    ids=lambda option: option.name,
)
def test_a_repair_takes_what_the_schema_allows_and_nothing_else(option):
    for value in (*option.choices, *VALUES):
        table = {"repair": {option.name: value}}
        config = Config(Path("evenhand.toml"), table)
        message = refusal(lambda config=config: read_repair(config, {}))
        assert allows(table) == ("[repair] has " not in message), (value, message)


def accepted(call: Any) -> bool:
    return not refusal(call)


def refusal(call: Any) -> str:
    """Return why a call is refused, nothing where it is not."""
    try:
        call()
    except UsageError as error:
        return str(error)
    return ""


# Spaces, populations, texts


@pytest.fixture
def load(tmp_path):
    """Load all that a configuration declares besides software and checks."""
    people = pd.DataFrame(
        {"sex": ["F", "M"] * 20, "age": range(20, 60), "y": [0, 1] * 20, "w": [1.0] * 40}
    )
    people.to_csv(tmp_path / "loans.csv", index=False)
    pd.DataFrame({"comment": ["a gay man"], "bad": [1]}).to_csv(
        tmp_path / "comments.csv", index=False
    )
    (tmp_path / "terms.toml").write_text(
        '[gender]\nterms = ["gay", "straight", "lesbian"]\n'
    )

    def call(text: str) -> None:
        file = tmp_path / "evenhand.toml"
        file.write_text(text)
        config = Config.load(file)
        if "texts" in config.table:
            config.texts.read()
        else:
            config.space  # noqa: B018
            config.population()

    return call


INFERRED = '[space]\nfrom = "loans.csv"\n'


@pytest.mark.parametrize(
    "text",
    [
        FEATURES,
        f'[space]\nprotected = ["sex"]\nconstraints = ["age < 80"]\n{FEATURES}',
        INFERRED,
        f'{INFERRED}target = "y"\n[space.features.age]\nhigh = 99\nbins = 3\n',
        (
            f"{INFERRED}[space.features.age]\npassed = false\n[space.features.x]\nkind ="
            ' "category"\nlevels = [1, "b"]\n'
        ),
        f"{INFERRED}[space.features.age]\nbins = [20, 40, 59]\n",
        '[space.features.rate]\nkind = "real"\nlow = 0\nhigh = 1\nstep = 0.5\n',
        f'{INFERRED}[population]\nrows = "loans.csv"\nweights = "w"\ntwins = "rows"\n',
        f'{INFERRED}[population]\nrows = "loans.csv"\nsample_of = "applicants"\n',
        f'{INFERRED}[population]\nprofile = "loans.csv"\njoint = [["sex", "age"]]\n',
        (
            f"{FEATURES}[population.weights]\nsex = {{ F = 1, M = 2 }}\nage = [[18, 29, 0.4], [30,"
            " 90, 0.6]]\n"
        ),
        (
            f'{FEATURES}[[population.joint_weights]]\nfeatures = ["sex", "age"]\nrows = [["F", 20,'
            ' 1], ["M", 30, 2]]\n'
        ),
        TEXTS,
        f'{TEXTS}lexicon = "terms.toml"\nwithout = ["gay"]\n',
    ],
)
def test_what_is_allowed_is_taken(load, text):
    VALIDATOR.validate(tomllib.loads(text))
    load(text)


@pytest.mark.parametrize(
    "text",
    [
        "[spaces]\n",
        "checks = 3\n",
        "[checks]\n",
        "[[space]]\n",
        "[space]\n",
        "[space]\nfeatures = 3\n",
        '[space]\nprotected = "sex"\n' + FEATURES,
        f"[space]\nprotect = []\n{FEATURES}",
        "[space.features]\nsex = 3\n",
        '[space.features.sex]\nlevels = "F"\n',
        "[space.features.sex]\nlevels = []\n",
        "[space.features.sex]\nlevels = [[1]]\n",
        '[space.features.sex]\nlevel = ["F"]\n',
        '[space.features.sex]\nname = "sex"\nlevels = ["F"]\n',
        '[space.features.sex]\nlevels = ["F"]\nlow = 1\n',
        '[space.features.sex]\nkind = "integer"\nlevels = ["F"]\n',
        '[space.features.sex]\nkind = "categories"\nlevels = ["F"]\n',
        "[space.features.age]\nlow = 1\n",
        '[space.features.age]\nlow = "1"\nhigh = 2\n',
        "[space.features.age]\nlow = true\nhigh = 2\n",
        "[space.features.age]\nlow = 1\nhigh = 2\npassed = 1\n",
        "[space.features.age]\nlow = 1\nhigh = 2\nbins = 0\n",
        '[space.features.age]\nlow = 1\nhigh = 2\nbins = "few"\n',
        f"{INFERRED}target = 3\n",
        f"{FEATURES}[population]\n",
        f"{FEATURES}[population]\nrows = 3\n",
        f'{INFERRED}[population]\nrows = "loans.csv"\ntwins = "row"\n',
        f'{INFERRED}[population]\nrows = "loans.csv"\nprofile = "loans.csv"\n',
        f'{INFERRED}[population]\nprofile = "loans.csv"\ntwins = "rows"\n',
        f'{INFERRED}[population]\nprofile = "loans.csv"\nweights = "w"\n',
        f'{INFERRED}[population]\nprofile = "loans.csv"\njoint = ["age"]\n',
        f"{FEATURES}[population]\njoint_weights = [3]\n",
        f'{FEATURES}[[population.joint_weights]]\nfeatures = ["sex"]\n',
        f'{FEATURES}[[population.joint_weights]]\nfeature = ["sex"]\nrows = [["F", 1]]\n',
        '[texts]\nfrom = "comments.csv"\n',
        '[texts]\ncolumn = "comment"\n',
        f"{TEXTS}lexicon = 3\n",
        f'{TEXTS}without = "gay"\n',
        f"{TEXTS}words = []\n",
        f"{TEXTS}{FEATURES}",
        f'{TEXTS}[population]\nrows = "loans.csv"\n',
    ],
)
def test_what_is_not_allowed_is_refused(load, text):
    assert not allows(tomllib.loads(text))
    with pytest.raises(UsageError):
        load(text)


@pytest.mark.parametrize(
    "text",
    [
        'estimator = "a:b"\nfit = "a:b"\n',
        'target = "y"\n',
        'method = "augmented"\n',
        'over = "sex"\nmetod = "augment"\n',
    ],
)
def test_a_repair_of_tables_that_is_not_allowed_is_refused(tmp_path, text):
    file = tmp_path / "evenhand.toml"
    file.write_text(f"{INFERRED}[repair]\n{text}")
    assert not allows(tomllib.loads(file.read_text()))
    with pytest.raises(UsageError):
        read_repair(Config.load(file), {})


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ('fit = "a:b"\ntarget = "bad"\nrule = { gender = "gay" }\n', True),
        ('fit = "a:b"\n', False),
        ('target = "bad"\nover = "sex"\n', False),
        ('target = "bad"\nrule = [{ feature = "age" }]\n', False),
    ],
)
def test_a_repair_of_texts_has_its_own_keys(text, fits):
    assert allows(tomllib.loads(f"{TEXTS}[repair]\n{text}")) is fits
