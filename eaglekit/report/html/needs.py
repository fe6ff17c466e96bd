"""What the page needs beyond a plain installation."""

from __future__ import annotations

from importlib import import_module

from eaglekit.report.model import Finding, Refusal


def need(*packages: str) -> None:
    """Nothing, when all of `packages` can be imported; else a `Refusal` that says how to get them."""
    missing = []
    for name in packages:
        try:
            import_module(name)
        except ImportError as error:
            missing.append((name, str(error)))
    if missing:
        names = ", ".join(name for name, _ in missing)
        raise Refusal(
            Finding(
                "page-extras-missing",
                f"the HTML report needs {names}, which cannot be imported here",
                place="this Python environment",
                got="; ".join(reason for _, reason in missing),
                expected=names,
                hint="pip install 'eaglekit[validate]'",
            )
        )
