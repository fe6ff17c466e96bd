"""A hook of mkdocs: an entry of the navigation that ends in a slash becomes the pages of that folder, index first."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """The configuration with the generated folders written out."""
    config["nav"] = _written_out(config["nav"], Path(config["docs_dir"]))
    return config


def _written_out(entry: Any, docs: Path) -> Any:
    if isinstance(entry, list):
        return [_written_out(one, docs) for one in entry]
    if isinstance(entry, dict):
        return {title: _written_out(below, docs) for title, below in entry.items()}
    if not entry.endswith("/"):
        return entry
    names = sorted((docs / entry).glob("*.md"), key=lambda page: (page.stem != "index", page.stem))
    return [f"{entry}{page.name}" if page.stem == "index" else {page.stem: f"{entry}{page.name}"} for page in names]
