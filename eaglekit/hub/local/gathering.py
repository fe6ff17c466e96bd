"""`collected`: refusals put with the findings, so that everything is told at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from eaglekit.report import Finding, Refusal

Made = TypeVar("Made")


def collected(findings: list[Finding], make: Callable[[], Made]) -> Made | None:
    """What `make` makes; None when it refuses, with its findings added to `findings`."""
    try:
        return make()
    except Refusal as refusal:
        findings += refusal.findings
        return None
