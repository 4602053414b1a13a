"""Damage anywhere in a bundle is found and named, and so is a lie with all its sums in order."""

from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile

import pytest

import evenhand as eh
from evenhand.bundle import messages
from evenhand.bundle.archive import read, written
from evenhand.bundle.manifest import MANIFEST, sealed
from evenhand.runtime import json_file
from evenhand.subject.recording.columns import unpacked
from tests.support import bundles

TINY = {"CONTENTS.md": b"what was tested", "answers.bin": bytes(range(40))}


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The bundle of a real audit, as bytes, with the folder that it was made in."""
    folder = tmp_path_factory.mktemp("real")
    bundles.function_audit(folder)
    with pytest.MonkeyPatch.context() as monkeypatch:
        bundle = bundles.bundle_of(folder, monkeypatch)
    return bundle.read_bytes()


def checked(content, tmp_path):
    file = tmp_path / "evidence.zip"
    file.write_bytes(content)
    return eh.verify(file)


def members_of(content):
    archive = zipfile.ZipFile(io.BytesIO(content))
    return {name: archive.read(name) for name in archive.namelist() if name != MANIFEST}


def bent(content, name, change):
    """Return a bundle with another member, whose sums an attacker has put in order."""
    members = members_of(content)
    members[name] = change(members[name])
    if name == "answers.bin":
        about = json.loads(members["run.json"])
        about["answers"] = hashlib.sha256(members[name]).hexdigest()
        members["run.json"] = json_file.dump(about).encode()
    return written(sealed(members))


def flipped(content, at, bit):
    changed = bytearray(content)
    changed[at] ^= 1 << bit
    return bytes(changed)


def place_of(content, at):
    """Return what may be named for a byte: its member, or for a header also the structure."""
    for info in zipfile.ZipFile(io.BytesIO(content)).infolist():
        start = info.header_offset + 30 + len(info.filename.encode())
        if start <= at < start + info.file_size:
            return (info.filename,)
        if info.header_offset <= at < start:
            return info.filename, messages.ARCHIVE
    return (messages.ARCHIVE,)


def test_500_flipped_bits_are_found_and_named(real, tmp_path):
    chance = random.Random(5)
    for _ in range(500):
        at, bit = chance.randrange(len(real)), chance.randrange(8)
        found = checked(flipped(real, at, bit), tmp_path)
        assert found.exit_code == 2, (at, bit)
        named = [point.what for point in found.points if point.state == "damaged"]
        assert len(named) == 1
        assert named[0] in place_of(real, at), (at, bit, str(found))


def test_every_byte_of_a_tiny_bundle(tmp_path):
    content = written(sealed(TINY))
    for at in range(len(content)):
        found = checked(flipped(content, at, at % 8), tmp_path)
        assert found.exit_code == 2, at
        assert found.points[0].what in place_of(content, at), at


@pytest.mark.slow
def test_every_bit_outside_the_report_of_a_real_bundle(real, tmp_path):
    for at in range(len(real)):
        if place_of(real, at)[0] in ("report.html", "results.json"):
            continue
        found = checked(flipped(real, at, at % 8), tmp_path)
        assert found.exit_code == 2, at
        assert found.points[0].state == "damaged", at


def again(members):
    return written({**members})


STRUCTURES = {
    "a byte after the end": lambda content: content + b"\0",
    "a byte before the beginning": lambda content: b"\0" + content,
    "another archive after it": lambda content: content + content,
    "another archive before it": lambda content: content + written({"a": b"b"}),
    "cut short": lambda content: content[:-1],
    "half of it": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "a comment": lambda content: content[:-2] + b"\x05\0hello",
    "a byte left out": lambda content: content[:500] + content[501:],
    "a byte put in": lambda content: content[:500] + b"x" + content[500:],
}


@pytest.mark.parametrize("change", STRUCTURES.values(), ids=STRUCTURES)
def test_another_structure_is_found(change, tmp_path):
    found = checked(change(written(sealed(TINY))), tmp_path)
    assert found.exit_code == 2
    assert found.points[0].state == "damaged"


def test_members_that_come_and_go(tmp_path):
    whole = sealed(TINY)
    extra = checked(again({**whole, "more.txt": b"more"}), tmp_path)
    assert "more.txt: DAMAGED: it was added" in str(extra)
    fewer = {name: body for name, body in whole.items() if name != "answers.bin"}
    assert "answers.bin: DAMAGED: it is missing" in str(checked(again(fewer), tmp_path))
    turned = dict(reversed(whole.items()))
    assert "not in the order" in str(checked(again(turned), tmp_path))
    one, two = written({"a": b"1"}), written({"a": b"2"})
    twice = one[: one.index(b"PK\x01\x02")] + two
    assert read(twice).damage == "the member 'a' is in it twice"
    assert "no MANIFEST.json" in str(checked(again(TINY), tmp_path))


def test_a_zip_file_that_others_packed_anew_is_not_the_bundle(real, tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in {**members_of(real)}.items():
            archive.writestr(name, body)
    assert checked(file.getvalue(), tmp_path).exit_code == 2


def test_a_verdict_that_was_bent_is_found(real, tmp_path):
    def pass_instead(results):
        return results.replace(b'"verdict": "fail"', b'"verdict": "pass"')

    found = checked(bent(real, "results.json", pass_instead), tmp_path)
    assert found.exit_code == 2
    assert "results.json: DIFFERS" in str(found)


def rewritten(content, change):
    """Return a bundle whose results an attacker has changed throughout, pages and digests too."""
    from evenhand.bundle.contents import contents_of
    from evenhand.methods.audit.audit_result import Audit

    members = members_of(content)
    table = json.loads(members["results.json"])
    change(table)
    # Without the digests of what it said before; new ones are written with it.
    del table["digest"]
    for check in table["checks"]:
        del check["found"]["digest"]
    audit = Audit.from_dict(table)
    members["results.json"] = audit.to_json().encode()
    members["report.html"] = audit.to_html().encode()
    about = json.loads(members["run.json"])
    members["CONTENTS.md"] = contents_of(audit, about).encode()
    return written(sealed(members))


def test_numbers_that_were_bent_throughout_are_derived_otherwise(real, tmp_path):
    def lower(table):
        for finding in table["checks"][0]["found"]["findings"]:
            finding["estimate"] |= {"value": 0.01, "low": 0.01, "high": 0.01}

    found = checked(rewritten(real, lower), tmp_path)
    assert found.exit_code == 2
    states = {point.what: point.state for point in found.points}
    assert states["measure sex"] == "differs"
    assert states["group measure race"] == "re-derived"
    assert 'verdict is "pass" in the bundle, and "fail" when derived again' in str(found)


def test_a_looser_limit_is_derived_otherwise(real, tmp_path):
    def loosen(table):
        for check in table["checks"][:1]:
            check["settings"]["limit"] = 0.5
            for finding in check["found"]["findings"]:
                finding["limit"] = 0.5

    found = checked(rewritten(real, loosen), tmp_path)
    assert found.exit_code == 2
    assert "measure sex: DIFFERS" in str(found)


@pytest.mark.parametrize(
    ("field", "value"),
    [("notes", ["all is well"]), ("command", "true"), ("ledger", "a.db")],
)
def test_what_the_audit_says_of_itself_is_derived_too(field, value, real, tmp_path):
    found = checked(rewritten(real, lambda table: table.update({field: value})), tmp_path)
    assert found.exit_code == 2
    assert f"the audit as a whole: DIFFERS: {field}" in str(found)


def test_a_bent_answer_is_derived_otherwise(real, tmp_path):
    members = members_of(real)
    index = json.loads(members["answers.json"])["checks"][0]
    calls = 12 * index["calls"]
    column = index["columns"][0]
    answers = members["answers.bin"][calls : calls + column["bytes"]]
    assert len(set(unpacked(column, answers).tolist())) == 2

    def turned(content):
        # Each bit is an answer: the last whole byte of the first check is turned over.
        at = calls + column["bytes"] - 2
        return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]

    found = checked(bent(real, "answers.bin", turned), tmp_path)
    assert found.exit_code == 2
    assert "measure sex: DIFFERS" in str(found)


def test_another_seed_is_derived_otherwise(tmp_path, monkeypatch):
    bundles.function_audit(tmp_path, high=99_999)
    real = bundles.bundle_of(tmp_path, monkeypatch).read_bytes()
    found = checked(
        bent(real, "run.json", lambda run: run.replace(b'"seed": 0', b'"seed": 1')),
        tmp_path,
    )
    assert found.exit_code == 2
    assert "other inputs than those recorded" in str(found)


@pytest.mark.parametrize("name", ["report.html", "CONTENTS.md", "config/evenhand.toml"])
def test_pages_and_configuration_say_what_the_results_say(name, real, tmp_path):
    found = checked(bent(real, name, lambda body: body.replace(b"sex", b"six")), tmp_path)
    assert found.exit_code == 2
    assert f"{name}: DIFFERS" in str(found)


def test_other_versions_leave_it_open(real, tmp_path):
    def older(table):
        table["versions"]["numpy"] = "1.0"
        for check in table["checks"]:
            check["found"]["versions"]["numpy"] = "1.0"

    content = rewritten(real, older)
    members = members_of(content)
    about = json.loads(members["run.json"])
    about["versions"]["numpy"] = "1.0"
    answers = bytearray(members["answers.bin"])
    answers[4 * json.loads(members["answers.json"])["checks"][0]["calls"]] ^= 1
    members["answers.bin"] = bytes(answers)
    found = checked(
        bent(
            bent(
                written(sealed(members)),
                "run.json",
                lambda _: json_file.dump(about).encode(),
            ),
            "answers.bin",
            bytes,
        ),
        tmp_path,
    )
    assert "the versions differ (numpy 1.0, here" in str(found)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("results.json", b"[]"),
        ("run.json", b"{}"),
        ("run.json", b"\xff"),
        ("answers.json", b'{"checks": [{"check": "a", "calls": 9}]}'),
        ("answers.json", b"[" * 100_000),
        ("answers.bin", b""),
    ],
)
def test_members_that_cannot_be_read_are_named(name, content, real, tmp_path):
    found = checked(written(sealed({**members_of(real), name: content})), tmp_path)
    assert found.exit_code == 2
    kind = name.partition(".")[0]
    assert any(point.what.startswith(kind) for point in found.points), str(found)


def test_paths_that_lead_out_of_the_folder_are_refused(real, tmp_path):
    about = json.loads(members_of(real)["run.json"])
    victim = tmp_path / "victim"
    about["files"] = [
        {
            "written": "a",
            "role": "data",
            "path": f"../{victim.name}",
            "sha256": "",
            "bytes": 0,
        }
    ]
    found = checked(
        bent(real, "run.json", lambda _: json_file.dump(about).encode()), tmp_path
    )
    assert found.exit_code == 2
    assert "run.json" in str(found)
    assert not victim.exists()


@pytest.mark.parametrize(
    "software", [[], [{}], [{"gradients": False}], [None], [{"expensive": []}], "none", {}]
)
def test_a_record_of_the_software_that_was_bent(software, real, tmp_path):
    about = json.loads(members_of(real)["run.json"])
    about["software"] = software
    found = checked(
        bent(real, "run.json", lambda _: json_file.dump(about).encode()), tmp_path
    )
    assert found.exit_code == 2


def test_random_changes_of_json_are_found_or_change_nothing(real, tmp_path):
    chance = random.Random(3)
    members = members_of(real)
    for name in ("run.json", "results.json", "answers.json"):
        for _ in range(3):
            table = json.loads(members[name])
            _spoil(table, chance)
            changed = written(sealed({**members, name: json_file.dump(table).encode()}))
            found = checked(changed, tmp_path)
            assert found.exit_code in (0, 2, 3), str(found)
            if name == "results.json":
                assert found.exit_code, str(found)


def _spoil(table, chance):
    """Put something else in the place of one value of nested tables."""
    while True:
        keys = list(table) if isinstance(table, dict) else list(range(len(table)))
        if not keys:
            return
        key = chance.choice(keys)
        inner = table[key]
        if not isinstance(inner, dict | list) or not inner or chance.random() < 0.1:
            table[key] = chance.choice([None, -1, "x", [], {}, 1e300, True])
            return
        table = inner
