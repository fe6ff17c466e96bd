"""The command that measures a published drafter again, with every option that its files leave open."""

from __future__ import annotations

import shlex
from pathlib import Path

from eaglekit.hub.card import base_model_of, records_comparison
from eaglekit.hub.card.making import stated_in
from eaglekit.hub.local.report_reading import REPORT_LIMIT, read_validation
from eaglekit.hub.model import CARD, PROMPTS, REPORT
from eaglekit.report import Refusal, Report

CARD_LIMIT = 16 << 20


def verify_command(place: str, report: Report, *, has_prompts: bool, finds_target: bool) -> str:
    """`eaglekit verify` for a repository or folder. `finds_target` tells that the target is known to be on the Hub."""
    result = report.result
    options = (
        ("--prompts FILE", "prompts" in result and not has_prompts),
        ("--capture FILE", "capture" in result),
        ("--target TARGET", "target" in result and not finds_target),
    )
    return " ".join(["eaglekit verify", shlex.quote(place), *(option for option, needed in options if needed)])


def verify_folder(folder: Path) -> str:
    """The same for a folder that was pulled, by what its report and card say; they may be anybody's."""
    try:
        report = read_validation(_head(folder / REPORT, REPORT_LIMIT))
    except (Refusal, OSError):
        return f"eaglekit verify {shlex.quote(str(folder))}"
    has_prompts = (folder / PROMPTS).is_file()
    return verify_command(str(folder), report, has_prompts=has_prompts, finds_target=_finds_target(folder, report))


def _finds_target(folder: Path, report: Report) -> bool:
    """Whether the report names the target by its commit, or the card says that it was found at one."""
    try:
        base_model_of(report, None)
    except Refusal:
        pass
    else:
        return True
    try:
        card = _head(folder / CARD, CARD_LIMIT).decode("utf-8")
        ours = stated_in(card).get("eaglekit")
        place = ours.get("target") if isinstance(ours, dict) else None
        return isinstance(place, dict) and records_comparison(
            card, base_model_of(report, f"{place.get('repo')}@{place.get('commit')}")
        )
    except (Refusal, OSError, UnicodeDecodeError):
        return False


def _head(file: Path, limit: int) -> bytes:
    """The file, and one byte more than is read when it is longer."""
    with file.open("rb") as stream:
        return stream.read(limit + 1)
