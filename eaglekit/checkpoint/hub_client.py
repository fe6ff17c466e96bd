"""What eaglekit uses of huggingface_hub's insides. Import this within functions: it costs a tenth of a second.

`httpx` is the HTTP library of the installed version, httpx or httpx2; huggingface_hub exports it under one name.
"""

from __future__ import annotations

from huggingface_hub.utils import (  # type: ignore[attr-defined]  # exported lazily, which mypy cannot see
    build_hf_headers,
    disable_progress_bars,
    get_session,
    hf_raise_for_status,
    http_backoff,
    http_stream_backoff,
    httpx,
    set_client_factory,
    tqdm,
)
from huggingface_hub.utils._http import default_client_factory

__all__ = [
    "build_hf_headers",
    "default_client_factory",
    "disable_progress_bars",
    "get_session",
    "hf_raise_for_status",
    "http_backoff",
    "http_stream_backoff",
    "httpx",
    "set_client_factory",
    "tqdm",
]
