"""Shapes in the signatures of the target room are checked while its tests run."""

from __future__ import annotations

from jaxtyping import install_import_hook

# Before anything imports them: a module that is already loaded stays unchecked.
install_import_hook(
    [
        "eaglekit.target.activations",
        "eaglekit.target.captured",
        "eaglekit.target.experts",
        "eaglekit.target.formats",
        "eaglekit.target.generation",
        "eaglekit.target.loading",
        "eaglekit.target.streaming",
    ],
    "beartype.beartype",
)
