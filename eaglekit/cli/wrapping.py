"""Long lines of speech, broken between words where somebody reads them on a terminal."""

from __future__ import annotations

import os
import shutil
import textwrap
from typing import Any


def wrapped(text: str, stream: Any, first: str = "", others: str = "  ") -> str:
    """`first` and a text of one line; on a terminal as several lines that fit, each after the first behind `others`.

    What is piped stays one line, unless COLUMNS says how wide lines may be. No word is broken.
    """
    if not stream.isatty() and "COLUMNS" not in os.environ:
        return f"{first}{text}"
    width = shutil.get_terminal_size().columns
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )
