"""Shapes in the signatures of the formats' modules are checked while their tests run."""

from __future__ import annotations

from jaxtyping import install_import_hook

# Before anything imports them: a module that is already loaded stays unchecked.
install_import_hook(["eaglekit.target.formats"], "beartype.beartype")
