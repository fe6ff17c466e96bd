"""What every engine, version by version, makes of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from eaglekit.dialects.families import family_of
from eaglekit.engines.case import Case, Unknown
from eaglekit.engines.checks import CHECKS
from eaglekit.engines.choosing import choose
from eaglekit.engines.gguf import converted_from, is_gguf, unopened
from eaglekit.engines.model import Artefact, Effect, Reading, Request, Span, Version, worst
from eaglekit.engines.requests import known_engine, known_version
from eaglekit.engines.rules import Behaviour, Engine, Feature, compose
from eaglekit.engines.stored import Stored, name_all
from eaglekit.engines.tables import ENGINES

Outcome = tuple[tuple[Effect, ...], tuple[str, ...]]
"""Effects, and sentences about what is not known."""


def readings(artefact: Artefact, engines: Iterable[str] | None = None) -> list[Reading]:
    """What each of `engines`, or every known one, makes of `artefact`; versions with the same effects are one reading.

    Raises `Refusal` for the name of an unknown engine.
    """
    names = tuple(ENGINES) if engines is None else tuple(engines)
    stored = name_all(artefact.tensors, artefact.spec)
    return [reading for name in names for reading in _of(known_engine(name), artefact, stored)]


def reading_for(artefact: Artefact, request: Request) -> Reading:
    """What one version of one engine makes of `artefact`, with the span of versions that agree.

    Raises `Refusal` when the engine or its version is not known.
    """
    return select(readings(artefact, [request.engine]), request)


def select(found: Iterable[Reading], request: Request) -> Reading:
    """The reading among `found` that is about the requested engine and version.

    Raises `Refusal` when the engine or its version is not known.
    """
    engine = known_engine(request.engine)
    version = engine.versions[-1] if request.version is None else known_version(engine, request.version)
    return next(reading for reading in found if reading.engine == engine.name and version in reading.span)


def _of(engine: Engine, artefact: Artefact, stored: Stored) -> list[Reading]:
    versions = engine.versions
    turns = engine.turns()
    outcomes: list[tuple[Version, Outcome]] = []
    for version in versions:
        # Between two turns every row holds or does not hold as before, and so does every effect.
        same = outcomes and version not in turns
        outcomes.append((version, outcomes[-1][1] if same else outcome(engine, version, artefact, stored)))
    runs = [[version for version, _ in run] for _, run in groupby(outcomes, key=lambda pair: pair[1])]
    results = [result for result, _ in groupby(found for _, found in outcomes)]
    made = []
    for number, (run, (effects, unknown)) in enumerate(zip(runs, results, strict=True)):
        since = _boundary(run[0], versions) if number else None
        until = _boundary(runs[number + 1][0], versions) if number + 1 < len(runs) else None
        verdict = worst(tuple(effect.verdict for effect in effects))
        made.append(Reading(engine.name, Span(since, until), verdict, effects, unknown))
    return made


def _boundary(version: Version, versions: tuple[Version, ...]) -> Version:
    """Where a run begins: the whole line, 0.29, when `version` is the first known one of it."""
    line = version.line()
    first = next(known for known in versions if known.starts_with(line))
    return line if first == version else version


def outcome(engine: Engine, version: Version, artefact: Artefact, stored: Stored) -> Outcome:
    """The effects of one version of one engine on `artefact`, and what is not known about it."""
    families = _families(artefact.spec.target_family)
    if is_gguf(artefact):
        row = compose(engine, version, drafter="*", families=families).of(Feature.GGUF)
        if row.behaviour is not Behaviour.HONOURED:
            return (unopened(engine),), ()
        artefact = converted_from(artefact)
        stored = name_all(artefact.tensors, artefact.spec)
    choice = choose(engine, version, artefact, families)
    unread = any(effect.code == "engine-format-unread" for effect in choice.effects)
    if choice.drafter is None or choice.unknown or unread:
        # Of a config that is not understood nothing else can be said.
        return choice.effects, choice.unknown
    rules = compose(engine, version, drafter=choice.drafter.name, families=families)
    case = Case(rules, choice.drafter, choice.view, artefact, stored)
    found = [entry for check in CHECKS for entry in check(case)]
    effects = (*choice.effects, *(entry for entry in found if isinstance(entry, Effect)))
    unknown = tuple(entry.text for entry in found if isinstance(entry, Unknown))
    return tuple(dict.fromkeys(effects)), tuple(dict.fromkeys(unknown))


def _families(model_type: str | None) -> tuple[str, ...]:
    if model_type is None:
        return ()
    family = family_of(model_type)
    return (model_type,) if family is None or family.name == model_type else (model_type, family.name)
