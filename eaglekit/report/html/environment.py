"""What templates are filled in with: everything escaped, and nothing invisible left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from eaglekit.report.html.words import interval, number, shown
from eaglekit.report.model import printable

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
FILTERS: dict[str, Callable[..., str]] = {"number": number, "shown": shown, "interval": interval}


def environment() -> Environment:
    """The templates of this room. Needs jinja2."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Control characters and invisible ones become visible escapes before anything is escaped for HTML.
        finalize=lambda value: value if isinstance(value, Markup) else printable(str(value)),
    )
    made.filters.update(FILTERS)
    return made
