"""The JSON Schemas of `schemas/`, used by the program itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGED = Path(__file__).resolve().parent.parent / "schemas"
_CHECKOUT = Path(__file__).resolve().parent.parent.parent / "schemas"


def folder() -> Path:
    """Where the schemas lie: inside the installed package, or at the top of a checkout."""
    return _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT


@cache
def schema(name: str) -> Mapping[str, Any]:
    """The schema of that name, for example `plan` or `config.portable`."""
    loaded: Mapping[str, Any] = json.loads((folder() / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def problems(document: Any, name: str) -> list[str]:
    """What is wrong with a document under a schema, a line each: path and reason. Empty when it is valid."""
    from jsonschema_rs import validator_for

    found = validator_for(dict(schema(name))).iter_errors(document)
    return [f"{'.'.join(map(str, error.instance_path)) or 'document'}: {_short(error.message)}" for error in found]


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:197] + "..."
