"""Conversions without the command line: from a folder to a folder, by the same steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors import deserialize

from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.dialects.target import Target, read_target
from eaglekit.dialects.target_checks import given_with
from eaglekit.plan.apply import Applied, Wishes, apply
from eaglekit.plan.build import build
from eaglekit.plan.model import Plan
from eaglekit.plan.options import Options
from eaglekit.report import Finding, Refusal
from tests.dialects.folders import Stored

FAST = Wishes(durable=False)
"""Tests do not wait for the disk."""


def planned(source: Path, *, given: Given | None = None, target: Path | None = None, **options: Any) -> Plan:
    """The plan for `source`. Raises `Refusal`."""
    beside = target_in(target)
    known = given or Given()
    known = given_with(known, beside) if beside else known
    return build(read(open_folder(source), known), Options(**options), beside)


def converted(
    source: Path, destination: Path, *, given: Given | None = None, target: Path | None = None, **options: Any
) -> Path:
    """The folder that `source` is converted to. Raises `Refusal`."""
    plan = planned(source, given=given, target=target, **options)
    applied(plan, source, destination, target=target)
    return destination


def applied(plan: Plan, source: Path, destination: Path, *, target: Path | None = None) -> Applied:
    """A plan carried out."""
    beside = target_in(target)
    return apply(plan, destination, source=open_folder(source), target=beside.library if beside else None, wishes=FAST)


def target_in(folder: Path | None) -> Target | None:
    """The target in a folder."""
    return read_target(LocalFolder(folder)) if folder else None


def tensors_of(folder: Path) -> dict[str, Stored]:
    """The tensors of a folder by name."""
    return {name: stored for file in sorted(folder.glob("*.safetensors")) for name, stored in tensors_in(file).items()}


def tensors_in(file: Path) -> dict[str, Stored]:
    """The tensors of one file by name, read by the safetensors library."""
    return {
        name: Stored(entry["dtype"], tuple(entry["shape"]), bytes(entry["data"]))
        for name, entry in deserialize(file.read_bytes())
    }


def refused(call: Callable[[], object]) -> dict[str, Finding]:
    """The error findings of the refusal that `call` must end in, by code."""
    with pytest.raises(Refusal) as caught:
        call()
    return {finding.code: finding for finding in caught.value.report.errors}
