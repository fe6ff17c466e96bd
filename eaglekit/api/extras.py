"""The packages that computing needs and looking does not: which are missing, and a clear word about it."""

from __future__ import annotations

from importlib.util import find_spec

from eaglekit.report import Finding, Refusal

EXTRAS = ("torch", "transformers", "jaxtyping")
"""What the reference drafter and the target import; names of packages and modules alike."""
INSTALL = "pip install 'eaglekit[validate]'"


def missing_extras() -> tuple[str, ...]:
    """The packages of `eaglekit[validate]` that are not installed. Imports none of them."""
    return tuple(name for name in EXTRAS if find_spec(name) is None)


def require_extras(what: str) -> None:
    """Raise `Refusal` when something is missing that `what` (an option or a command) needs."""
    missing = missing_extras()
    if missing:
        raise Refusal(
            Finding(
                "extras-missing",
                f"{what} computes with a model, and {', '.join(missing)} is not installed"
                if len(missing) == 1
                else f"{what} computes with a model, and {', '.join(missing)} are not installed",
                place="environment",
                got=f"no {', no '.join(missing)}",
                expected="the packages of eaglekit[validate]",
                hint=INSTALL,
            )
        )
