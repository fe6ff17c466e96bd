"""`save`: a report as JSON or as a page, and a plan for later, each a new file that is whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

from eaglekit.api.converting import Plan
from eaglekit.api.files import refuse_taken, write_new
from eaglekit.api.misuse import Misuse
from eaglekit.report import Report
from eaglekit.report.json_text import dumps
from eaglekit.report.progress import Bar, silent


def save(made: Report | Plan, file: str | os.PathLike[str], *, progress: Bar = silent) -> None:
    """Write a report to a new `.json` or `.html` file, or a plan to a new `.json` file. Raises `Refusal`."""
    path = Path(file)
    refuse_taken([path])
    if isinstance(made, Plan):
        made.save(path, progress=progress)
    elif path.suffix == ".json":
        write_new(path, dumps(made.as_json()))
    elif path.suffix == ".html":
        from eaglekit.report.html import render

        write_new(path, render(made))
    else:
        raise Misuse(f"{path.name!r} does not say whether it is to be a .json or a .html file.")
