"""What a published model.sig is about, read without trust and without `model_signing`; no key is needed for it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from eaglekit.hub.model import CARD, SIGNATURE, LocalFile

NOT_SIGNED = frozenset({CARD, SIGNATURE})
"""A card is prose that people edit on the Hub; a signature does not sign itself."""


class Way(str, Enum):
    """How a signature is held against whoever made it."""

    KEY = "key"
    """By the publisher's public key."""
    SIGSTORE = "sigstore"
    """By an identity that sigstore vouches for."""


# sigstore bundle v0.3, verificationMaterial: a hint at a key, or a certificate.
MATERIAL: Mapping[str, Way] = {"publicKey": Way.KEY, "certificate": Way.SIGSTORE}


def way_of(signature: bytes | None) -> Way | None:
    """How the signature is verified; None for no signature, and for what cannot be read as one."""
    if signature is None:
        return None
    material = _mapping(_document(signature), "verificationMaterial")
    return next((way for key, way in MATERIAL.items() if isinstance(material.get(key), dict)), None)


def is_about(signature: bytes, files: Iterable[LocalFile]) -> bool:
    """Whether it names exactly these files by their digests. Whether it holds is for a verifier to say."""
    return _signed_digests(signature) == {file.name: file.sha256 for file in files if file.name not in NOT_SIGNED}


def _signed_digests(signature: bytes) -> dict[Any, Any] | None:
    payload = _mapping(_document(signature), "dsseEnvelope").get("payload")
    if not isinstance(payload, str):
        return None
    try:
        statement = _document(base64.b64decode(payload, validate=True))
    except ValueError:
        return None
    listed = _mapping(statement, "predicate").get("resources")
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        return None
    found = {str(item.get("name")): str(item.get("digest")) for item in listed if item.get("algorithm") == "sha256"}
    return found if len(found) == len(listed) else None


def _document(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _mapping(document: Any, key: str) -> Mapping[str, Any]:
    found = document.get(key) if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}
