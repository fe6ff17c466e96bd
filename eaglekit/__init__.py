"""eaglekit makes EAGLE-3 and EAGLE 3.1 draft models right, provably, for every serving engine.

`inspect`, `plan`, `convert`, `apply`, `diff`, `validate`, `recipe`, `push`, `pull` and `verify` do what the commands of
these names do and return the same `Report`s; what they refuse raises `Refusal`, which carries one. They print nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"

_PLACES = {
    "Bar": "eaglekit.report.progress",
    "Fact": "eaglekit.report",
    "Finding": "eaglekit.report",
    "Measurement": "eaglekit.report",
    "Plan": "eaglekit.api.converting",
    "Refusal": "eaglekit.report",
    "Report": "eaglekit.report",
    "Severity": "eaglekit.report",
    "Table": "eaglekit.report",
    "apply": "eaglekit.api.converting",
    "convert": "eaglekit.api.converting",
    "diff": "eaglekit.api.looking",
    "inspect": "eaglekit.api.looking",
    "plan": "eaglekit.api.converting",
    "pull": "eaglekit.api.pulling",
    "push": "eaglekit.api.pushing",
    "recipe": "eaglekit.api.recipes",
    "save": "eaglekit.api.saving",
    "validate": "eaglekit.api.validating",
    "verify": "eaglekit.api.validating",
}
"""Name -> the module that has it, imported when the name is used: `import eaglekit` alone imports nothing.

Type checkers and editors read `__init__.pyi`.
"""

_ON_WINDOWS = "eaglekit runs on Linux and macOS. On Windows, install it inside WSL (the Windows Subsystem for Linux)."

__all__ = [
    "Bar",
    "Fact",
    "Finding",
    "Measurement",
    "Plan",
    "Refusal",
    "Report",
    "Severity",
    "Table",
    "__version__",
    "apply",
    "convert",
    "diff",
    "inspect",
    "plan",
    "pull",
    "push",
    "recipe",
    "save",
    "validate",
    "verify",
]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if sys.platform == "win32":
        raise ImportError(_ON_WINDOWS)
    found: object = getattr(import_module(_PLACES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Two functions have the name of a room, which Python would put into their place once it is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _PLACES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
