"""JSON as eaglekit writes it: sorted keys, two spaces, a final newline; same value, same bytes."""

from __future__ import annotations

import json
from typing import Any


def dumps(value: Any) -> str:
    """`value` as canonical JSON text. Raises ValueError for NaN and infinities, which JSON does not have."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
