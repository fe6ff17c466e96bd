"""`--for ENGINE[@VERSION]`: what somebody wants to serve with."""

from __future__ import annotations

from difflib import get_close_matches

from eaglekit.engines.model import Request, Version
from eaglekit.engines.rules import Engine
from eaglekit.engines.tables import ENGINES
from eaglekit.report import Finding, Refusal


def parse_request(text: str) -> Request:
    """The engine, and the version when one is named, that `text` asks for: `vllm`, `vllm@0.24`, `sglang@0.5.12`.

    A release line means its newest known release. Raises `Refusal` for engines and versions nobody knows.
    """
    name, at, asked = text.strip().partition("@")
    engine = known_engine(name)
    if not at:
        return Request(engine.name, None)
    try:
        version = Version.parse(asked)
    except ValueError:
        raise Refusal(_unknown_version(engine, asked)) from None
    return Request(engine.name, known_version(engine, version))


def known_engine(name: str, place: str = "--for") -> Engine:
    """The engine called `name`, as `place` says it. Raises `Refusal` that names the known ones."""
    found = ENGINES.get(name.lower())
    if found is not None:
        return found
    near = get_close_matches(name.lower(), ENGINES, n=1, cutoff=0.5)
    raise Refusal(
        Finding(
            "engine-unknown",
            f"no engine is called {name!r}",
            place=place,
            got=name,
            expected=", ".join(ENGINES),
            hint=f"did you mean {near[0]}?" if near else "`eaglekit engines` lists the engines that are known",
        )
    )


def known_version(engine: Engine, version: Version) -> Version:
    """The newest known release that `version` names. Raises `Refusal` that names the known ones."""
    named = [known for known in engine.versions if known.starts_with(version)]
    if not named:
        raise Refusal(_unknown_version(engine, str(version)))
    return named[-1]


def _unknown_version(engine: Engine, asked: str) -> Finding:
    shown = ", ".join(map(str, engine.versions))
    return Finding(
        "engine-version-unknown",
        f"what {engine.title} {asked} does has not been read",
        place="--for",
        got=f"{engine.name}@{asked}",
        expected=shown,
        hint=f"nearest: --for {engine.name}@{_nearest(engine, asked)}",
    )


def _nearest(engine: Engine, asked: str) -> Version:
    """The newest known version that is not newer than `asked`; the oldest when all are."""
    try:
        version = Version.parse(asked)
    except ValueError:
        return engine.versions[-1]
    in_line = [known for known in engine.versions if known.starts_with(version.line())]
    older = [known for known in engine.versions if known <= version]
    return (in_line or older or [engine.versions[0]])[-1]
