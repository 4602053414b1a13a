"""Detached signatures of bundles: Ed25519, as openssl writes and reads them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.bundle import messages
from evenhand.runtime.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from os import PathLike

SUFFIX = ".sig"


def private_key(file: str | PathLike[str]) -> Any:
    """Return the private key in a PEM file, which has no password."""
    serialization, ed25519 = _library(messages.SIGNING)
    content = _read(file, messages.KEY_UNREADABLE)
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (TypeError, ValueError):
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UsageError(messages.NOT_A_PRIVATE_KEY.format(file=file))
    return key


def signed(content: bytes, key: Any) -> bytes:
    """Return the 64 bytes that only the owner of a private key can make of a bundle."""
    signature: bytes = key.sign(content)
    return signature


def is_signed(
    content: bytes, signature: str | PathLike[str], key: str | PathLike[str]
) -> bool:
    """Return whether a file holds the signature of a bundle by the owner of a public key."""
    serialization, ed25519 = _library(messages.CHECKING_SIGNATURE)
    pem = _read(key, messages.KEY_UNREADABLE)
    try:
        public = serialization.load_pem_public_key(pem)
    except ValueError:
        public = None
    if not isinstance(public, ed25519.Ed25519PublicKey):
        raise UsageError(messages.NOT_A_PUBLIC_KEY.format(file=key))
    from cryptography.exceptions import InvalidSignature

    try:
        public.verify(_read(signature, messages.SIGNATURE_UNREADABLE), content)
    except InvalidSignature:
        return False
    return True


def _library(what: str) -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise MissingExtra(what, "sign") from error
    return serialization, ed25519


def _read(file: str | PathLike[str], problem: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(problem.format(file=file, reason=error.strerror)) from None
