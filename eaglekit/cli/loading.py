"""From what the user typed to opened checkpoints and targets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eaglekit.checkpoint import Checkpoint, Source
from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.checkpoint.hub_id import is_local
from eaglekit.checkpoint.lookup import Library, open_library
from eaglekit.checkpoint.opening import open_source
from eaglekit.cli.output import progress_bar
from eaglekit.dialects.given import Given, parse_aux_layers, parse_family, parse_settings
from eaglekit.dialects.target import Target, read_target
from eaglekit.dialects.target_checks import given_with
from eaglekit.plan.model import Plan
from eaglekit.plan.side_files import sort_files
from eaglekit.report import Finding, Refusal

if TYPE_CHECKING:
    from eaglekit.checkpoint.remote import HubFolder
    from eaglekit.engines.model import Request


def find_source(text: str) -> Source:
    """The folder or Hub repository that the user means; the Hub's machinery is imported only when it is needed."""
    if is_local(text):
        return LocalFolder(Path(os.path.expanduser(text)), text)  # noqa: PTH111 - Path.expanduser raises for an unknown user
    from eaglekit.checkpoint import remote

    return remote.find_source(text)


def on_hub(source: Source) -> HubFolder | None:
    """The source as a Hub folder, or None when it lies on this machine."""
    if isinstance(source, LocalFolder):
        return None
    from eaglekit.checkpoint.remote import HubFolder

    return source if isinstance(source, HubFolder) else None


def open_input(text: str) -> Checkpoint:
    """The checkpoint in a folder or on the Hub; of a Hub id only headers are fetched."""
    return open_source(find_source(text))


def open_local(text: str, *, quiet: bool) -> Checkpoint:
    """The checkpoint with its bytes on this machine: weights of a Hub id are downloaded, at the one commit."""
    source = find_source(text)
    # Headers first: a download is not started for something that cannot be converted.
    checkpoint = open_source(source)
    hub = on_hub(source)
    if hub is None:
        return checkpoint
    config = [checkpoint.config_file] if checkpoint.config_file is not None else []
    wanted = [*config, *checkpoint.weight_files, *sort_files(checkpoint)[0]]
    wanted += [name for name in source.files() if name.endswith(".index.json")]
    return open_source(download(hub, wanted, quiet=quiet))


def download(source: HubFolder, files: Sequence[str], *, quiet: bool) -> Source:
    """The named files of a Hub repository on this machine, with a bar."""
    sizes = source.files()
    arrived: dict[str, int] = {}
    with progress_bar(f"download {source.label}", sum(sizes[name] for name in files), quiet=quiet) as tell:

        def hear(file: str, so_far: int, size_bytes: int) -> None:
            tell(so_far - arrived.get(file, 0))
            arrived[file] = so_far

        return source.download(files, progress=hear)


def open_target(text: str | None) -> Target | None:
    """The target's facts, from a folder or the Hub; nothing but its config, index and two headers are read."""
    return None if text is None else read_target(find_source(text))


def local_library(target: Target | None, plan: Plan, *, quiet: bool) -> Library | None:
    """The target's files that a plan copies from, on this machine; None when it copies nothing."""
    if target is None or plan.target is None:
        return None
    source = target.library.source
    hub = on_hub(source)
    if hub is None:
        return target.library
    names = {s.tensor for steps in plan.files.values() for s in steps if s.origin == "target"}
    shards = sorted({target.library.names[name] for name in names})
    index = [name for name in source.files() if name.endswith(".index.json")]
    return open_library(download(hub, ["config.json", *index, *shards], quiet=quiet), partial=True)


def open_plan_target(plan: Plan, *, quiet: bool) -> Library | None:
    """The target a saved plan copies from, on this machine; None when it copies nothing."""
    if plan.target is None:
        return None
    source = find_source(plan.target.label)
    hub = on_hub(source)
    if hub is None:
        return open_library(source, partial=True)
    index = [name for name in source.files() if name.endswith(".index.json")]
    return open_library(download(hub, ["config.json", *index, *plan.target.digests], quiet=quiet), partial=True)


def parse_requests(texts: Sequence[str]) -> tuple[Request, ...]:
    """The engines named with `--for`. Raises `Refusal`. The engines are imported only when one is named."""
    if not texts:
        return ()
    from eaglekit.engines.requests import parse_request

    return tuple(parse_request(text) for text in texts)


def given_from(
    *,
    aux_layers: str | None,
    aux_convention: str | None,
    settings: Sequence[str],
    target_family: str | None,
    dialect: str | None,
    drops: Sequence[str],
    target: Target | None,
) -> Given:
    """What the options state. Raises `Refusal` with every option that cannot be."""
    findings: list[Finding] = []
    layers, facts, family = None, {}, None
    try:
        layers = parse_aux_layers(aux_layers) if aux_layers is not None else None
    except Refusal as refusal:
        findings += refusal.findings
    try:
        facts = parse_settings(settings)
    except Refusal as refusal:
        findings += refusal.findings
    try:
        family = parse_family(target_family) if target_family is not None else None
    except Refusal as refusal:
        findings += refusal.findings
    if findings:
        raise Refusal(*findings)
    given = Given(
        aux_layers=layers,
        aux_convention=aux_convention,
        facts=facts,
        target_family=family,
        dialect=dialect,
        drops=tuple(drops),
    )
    return given_with(given, target) if target is not None else given
