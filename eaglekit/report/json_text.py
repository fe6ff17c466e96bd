"""JSON as eaglekit writes it: sorted keys, two spaces, a final newline; same value, same bytes."""

from __future__ import annotations

import json
from typing import Any


def compact(value: Any) -> str:
    """`value` as canonical JSON on one line, for digests: same value, same text, and quick for long lists."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False)


def dumps(value: Any) -> str:
    """`value` as canonical JSON text. Raises ValueError for NaN and infinities, which JSON does not have."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
