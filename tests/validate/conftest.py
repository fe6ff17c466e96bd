"""Shapes in the signatures of the torch rooms are checked while these tests run; property tests are not timed."""

from __future__ import annotations

import os

from hypothesis import settings
from jaxtyping import install_import_hook

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
# Matrices here are tiny: threads would only wait for each other, ten times as long on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Before anything imports the modules: one that is already loaded stays unchecked.
install_import_hook(
    ["eaglekit.reference", "eaglekit.validate.observing", "eaglekit.validate.sampling", "eaglekit.validate.numbers"],
    "beartype.beartype",
)
