"""Detached signatures, which openssl makes and checks as well."""

from __future__ import annotations

import builtins
import shutil
import subprocess

import pytest

import evenhand as eh
from evenhand.bundle import signature
from evenhand.cli.main import main
from tests.support import bundles
from tests.support.helpers import refused

pytest.importorskip("cryptography", reason="needs the extra sign")


def keys_in(folder, name="key"):
    """Write a private and a public key."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    )
    public = key.public_key().public_bytes(
        form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo
    )
    files = folder / f"{name}.pem", folder / f"{name}.pub.pem"
    for file, content in zip(files, (private, public), strict=True):
        file.write_bytes(content)
    return files


@pytest.fixture
def signed(tmp_path, monkeypatch):
    bundles.log_audit(tmp_path)
    private, public = keys_in(tmp_path)
    bundle = bundles.bundle_of(
        tmp_path, monkeypatch, "--bundle-data", "--sign", str(private)
    )
    return bundle, public


def test_a_signature_is_made_and_checked(signed, tmp_path, capsys):
    bundle, public = signed
    assert (tmp_path / "evidence.zip.sig").stat().st_size == 64
    assert main(["verify", str(bundle), "--key", str(public)]) == 0
    assert "the signature: verified, signed by the owner of" in capsys.readouterr().out


def test_another_key_or_another_bundle_fails(signed, tmp_path):
    bundle, public = signed
    _, stranger = keys_in(tmp_path, "stranger")
    found = eh.verify(bundle, key=stranger)
    assert found.exit_code == 2
    assert "is not the signature of this file by the owner of" in str(found)
    sound = bundle.read_bytes()
    from evenhand.bundle.archive import written
    from evenhand.bundle.manifest import sealed
    from tests.unit.bundle.test_tampering import members_of

    monkey = pytest.MonkeyPatch()
    monkey.setenv("SOURCE_DATE_EPOCH", "5")
    bundle.write_bytes(written(sealed(members_of(sound))))
    monkey.undo()
    assert eh.verify(bundle).ok
    assert eh.verify(bundle, key=public).exit_code == 2


def test_openssl_agrees(signed, tmp_path):
    bundle, public = signed
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed here")
    words = ["pkeyutl", "-verify", "-pubin", "-rawin", "-inkey", str(public)]
    words += ["-in", str(bundle), "-sigfile", f"{bundle}.sig"]
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_no_key_is_refused(signed, tmp_path):
    bundle, public = signed
    text = tmp_path / "text.pem"
    text.write_text("not a key")
    refused(eh.UsageError, lambda: signature.private_key(text), "openssl genpkey")
    refused(eh.UsageError, lambda: signature.private_key(public), "openssl genpkey")
    refused(eh.UsageError, lambda: eh.verify(bundle, key=text), "-pubout")
    refused(eh.UsageError, lambda: eh.verify(bundle, signature=text), "--key")
    refused(
        eh.UsageError,
        lambda: eh.verify(bundle, key=public, signature=tmp_path / "no.sig"),
        "no.sig: cannot read the signature",
    )


def test_without_the_library_the_extra_is_named(tmp_path, monkeypatch):
    private, _ = keys_in(tmp_path)
    original = builtins.__import__

    def without(name, *args, **options):
        if name.startswith("cryptography"):
            raise ImportError(name)
        return original(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(eh.UsageError, match=r"pip install 'evenhand\[sign\]'"):
        signature.private_key(private)
