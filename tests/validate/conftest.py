"""Shapes in the signatures of the torch rooms are checked while these tests run; property tests are not timed."""

from __future__ import annotations

from hypothesis import settings
from jaxtyping import install_import_hook

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
# Before anything imports the modules: one that is already loaded stays unchecked.
install_import_hook(
    ["eaglekit.reference", "eaglekit.validate.observing", "eaglekit.validate.sampling", "eaglekit.validate.numbers"],
    "beartype.beartype",
)
