"""The checks, in the order in which their effects are told."""

from __future__ import annotations

from collections.abc import Callable

from eaglekit.engines.case import Case, Found
from eaglekit.engines.checks import layers, limits, names, sizes, switches

CHECKS: tuple[Callable[[Case], Found], ...] = (
    limits.targets,
    limits.latent_attention,
    names.attention,
    names.outer_prefix,
    names.layer_names,
    names.strangers,
    names.missing,
    names.depth,
    names.later_norm,
    layers.layers,
    sizes.captured_or_final,
    sizes.states,
    sizes.target_width,
    sizes.fc_by_width,
    sizes.head_dim,
    switches.optional_parts,
    switches.flags,
    limits.parallel_drafting,
    sizes.draft_vocabulary,
    sizes.vocabulary,
    sizes.vocabulary_map,
    sizes.map_values,
    sizes.head,
    sizes.embedding,
    sizes.activation,
    sizes.rope,
)
"""Every check; each looks at one thing and says what this engine makes of it."""
