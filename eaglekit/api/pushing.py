"""`push`: a validated drafter to the Hub, only when that is said; else what a push would do, or a rehearsal of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eaglekit.api.misuse import Misuse, refusing
from eaglekit.api.placing import place_of, refuse_swapped
from eaglekit.api.publishing import asked_of, prepared, published, signer
from eaglekit.api.rehearsing import rehearse_apart
from eaglekit.api.stating import path_text
from eaglekit.report import Report
from eaglekit.report.json_text import dumps
from eaglekit.report.progress import Bar, silent

File = str | os.PathLike[str]


def push(
    path: File,
    repo: str,
    *,
    publish: bool = False,
    rehearse: File | None = None,
    report: Report | File | None = None,
    license: str | None = None,
    license_name: str | None = None,
    license_link: str | None = None,
    base_model: str | None = None,
    prompts: File | None = None,
    figure: bool = True,
    sign: File | None = None,
    password: str | None = None,
    revision: str = "main",
    create_pr: bool = False,
    public: bool = False,
    tag: str | None = None,
    collection: str | None = None,
    overwrite: bool = False,
    message: str | None = None,
    progress: Bar = silent,
) -> Report:
    """What a push of the folder `path` to `repo` would do, and with `publish=True` what has come of it.

    `report` is that of `validate`, as an object or a file; without it the folder holds `report.json`. `rehearse` names
    a folder: the push is made there, to a Hub of its own on this machine, and nothing leaves it. `password` opens an
    encrypted key of `sign`. As `eaglekit push`, which asks; nobody is asked here. Raises `Refusal` as long as nothing
    was published; afterwards what is wrong is in the report.
    """
    if publish and rehearse is not None:
        raise Misuse("--publish publishes and --rehearse does not: give one of them.")
    text = path_text(path)
    refuse_swapped(text, repo)
    wishes: dict[str, Any] = {
        "licence": license,
        "licence_name": license_name,
        "licence_link": license_link,
        "base_model": base_model,
        "prompts": None if prompts is None else Path(prompts),
        "no_figure": not figure,
        "sign": None if sign is None else os.fspath(sign),
        "revision": revision,
        "create_pr": create_pr,
        "public": public,
        "tag": tag,
        "collection": collection,
        "overwrite": overwrite,
        "message": message,
        "rehearse": None if rehearse is None else os.fspath(rehearse),
    }
    with refusing("push", repo), _report_file(report) as file:
        if rehearse is not None:
            return rehearse_apart(text, repo, file, wishes, password)
        place = place_of(repo, wishes)
        asked = asked_of(place.repo, wishes, sign=signer(wishes["sign"], password))
        ready = prepared(text, file, asked, place, bar=progress)
        return published(ready, bar=progress) if publish else ready.report


@contextmanager
def _report_file(report: Report | File | None) -> Iterator[Path | None]:
    """The report as a file, as long as the block runs."""
    if report is None or not isinstance(report, Report):
        yield None if report is None else Path(report)
        return
    with TemporaryDirectory(prefix="eaglekit-") as folder:
        file = Path(folder) / "report.json"
        file.write_text(dumps(report.as_json()), encoding="utf-8")
        yield file
