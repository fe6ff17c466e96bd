"""Property tests here judge results; how long one example takes depends on who else uses the machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
