"""Hooks of mkdocs: folders in the navigation become their pages, and links to files of the repository become text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"\[([^\]\[]+)\]\((?!\w+:)([^)#]+)[^)]*\)")


def on_config(config: Any) -> Any:
    """The configuration in which an entry that ends in a slash is the pages of that folder, index first."""
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


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """The page without links that lead out of the docs: the tests and fixtures that they name are not on the site."""
    docs, here = Path(config["docs_dir"]).resolve(), Path(page.file.abs_src_path).parent

    def link(found: re.Match[str]) -> str:
        inside = (here / found[2]).resolve().is_relative_to(docs)
        return found[0] if inside else found[1]

    return LINK.sub(link, markdown)
