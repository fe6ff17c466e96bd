"""Every finding code with its story; one module per room that raises it. `eaglekit explain CODE` prints them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from eaglekit.report.codes import (
    bench,
    card,
    checkpoint,
    command,
    dialects,
    drafter,
    engines,
    hub,
    plan,
    prompts,
    publish,
    publish_folder,
    pull,
    quantisation,
    recipe,
    reference,
    serving,
    signing,
    target,
    validate,
)
from eaglekit.report.model import Code


def _collect(*groups: tuple[Code, ...]) -> Mapping[str, Code]:
    codes: dict[str, Code] = {}
    for code in (code for group in groups for code in group):
        if code.name in codes:
            raise ValueError(f"finding code {code.name!r} is defined twice")
        codes[code.name] = code
    return MappingProxyType(codes)


CODES: Mapping[str, Code] = _collect(
    checkpoint.CODES,
    hub.CODES,
    drafter.CODES,
    dialects.CODES,
    engines.CODES,
    plan.CODES,
    reference.CODES,
    serving.CODES,
    bench.CODES,
    target.CODES,
    prompts.CODES,
    quantisation.CODES,
    validate.CODES,
    publish_folder.CODES,
    card.CODES,
    publish.CODES,
    recipe.CODES,
    signing.CODES,
    pull.CODES,
    command.CODES,
)
"""Finding code -> its story."""
