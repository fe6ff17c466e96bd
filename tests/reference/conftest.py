"""Shapes in the signatures of the reference room are checked while its tests run."""

from __future__ import annotations

from jaxtyping import install_import_hook

# Before anything imports the room: a module that is already loaded stays unchecked.
install_import_hook(["eaglekit.reference"], "beartype.beartype")
