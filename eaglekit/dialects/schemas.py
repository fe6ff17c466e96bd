"""The JSON Schema of the config that a dialect writes, made from its table."""

from __future__ import annotations

from typing import Any

from eaglekit.dialects.dialect import Dialect

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def config_schema(dialect: Dialect) -> dict[str, Any]:
    """The schema of every config that `write` makes in this dialect: typed keys, and no others."""
    root = _object()
    for key in dialect.keys:
        if key.write:
            _put(root, key.path, dict(key.codec.schema))
    for row in dialect.fixed:
        if row.write:
            _put(root, row.path, {"const": row.allowed[0]})
    architectures = sorted({architecture for architecture, _ in dialect.classes.values() if architecture})
    model_types = sorted({model_type for _, model_type in dialect.classes.values() if model_type})
    if architectures:
        one = {"type": "array", "items": {"enum": architectures}, "minItems": 1, "maxItems": 1}
        root["properties"]["architectures"] = one
        root["required"] = ["architectures"]
    if model_types:
        root["properties"]["model_type"] = {"enum": model_types}
        root["required"] = ["architectures", "model_type"]
    _put(root, "eaglekit.dialect", {"const": dialect.name})
    return {"$schema": DRAFT, "title": f"{dialect.config_place} of dialect {dialect.name}: {dialect.title}", **root}


def _object() -> dict[str, Any]:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _put(schema: dict[str, Any], path: str, value: dict[str, Any]) -> None:
    *parents, last = path.split(".")
    for name in parents:
        schema = schema["properties"].setdefault(name, _object())
    schema["properties"][last] = value
