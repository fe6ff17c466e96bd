"""What people state about a checkpoint, as text or as plain Python values, and the engines they name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from eaglekit.checkpoint.hub_id import is_local
from eaglekit.dialects.given import Given, parse_aux_layers, parse_family, parse_settings
from eaglekit.dialects.target import Target
from eaglekit.dialects.target_checks import given_with
from eaglekit.report import Finding, Refusal

if TYPE_CHECKING:
    from eaglekit.engines.model import Request

PathOrId: TypeAlias = "str | os.PathLike[str]"
"""A folder, or as text also a Hub id with an optional revision."""
Layers: TypeAlias = "str | Sequence[int]"
"""Boundary indices, or the word `default`."""
Settings: TypeAlias = "Mapping[str, Any] | Sequence[str]"
"""Facts by name, or texts `KEY=VALUE`."""


@dataclass(frozen=True)
class Stated:
    """What is said about a checkpoint beyond its files."""

    aux_layers: Layers | None = None
    aux_convention: str | None = None
    settings: Settings = ()
    target_family: str | None = None
    dialect: str | None = None
    drops: Sequence[str] = ()

    def given(self, target: Target | None) -> Given:
        """The same, parsed, with what the target's config says. Raises `Refusal` with all that cannot be."""
        return given_from(
            aux_layers=layers_text(self.aux_layers),
            aux_convention=self.aux_convention,
            settings=settings_texts(self.settings),
            target_family=self.target_family,
            dialect=self.dialect,
            drops=texts(self.drops),
            target=target,
        )


def path_text(path: PathOrId) -> str:
    """The text that means `path`. What is given as a path is never taken for a Hub id."""
    if isinstance(path, str):
        return path
    text = os.fspath(path)
    return text if is_local(text) else f"./{text}"


def path_or_none(path: PathOrId | None) -> str | None:
    """The text that means `path`, if there is one."""
    return None if path is None else path_text(path)


def texts(words: str | Sequence[str]) -> tuple[str, ...]:
    """Several texts; one alone needs no list around it."""
    return (words,) if isinstance(words, str) else tuple(words)


def layers_text(layers: Layers | None) -> str | None:
    """Layers as they are typed: `2,18,33` or `default`."""
    return layers if layers is None or isinstance(layers, str) else ",".join(map(str, layers))


def settings_texts(settings: Settings) -> tuple[str, ...]:
    """Facts as they are typed: `norm_output=false`."""
    if not isinstance(settings, Mapping):
        return texts(settings)
    return tuple(f"{name}={_typed(value)}" for name, value in settings.items())


def _typed(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_requests(words: Sequence[str]) -> tuple[Request, ...]:
    """The engines named with `--for`. Raises `Refusal`. The engines are imported only when one is named."""
    if not words:
        return ()
    from eaglekit.engines.requests import parse_request

    return tuple(parse_request(word) for word in texts(words))


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
