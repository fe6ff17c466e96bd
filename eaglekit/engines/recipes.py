"""The command that serves a drafter with its target, per engine: only where the engine reads this very file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from eaglekit.checkpoint.hub_id import is_local, parse_hub_id
from eaglekit.dialects.families import OUTPUT_OF, Inexpressible
from eaglekit.drafter import Spec
from eaglekit.engines.evaluate import readings
from eaglekit.engines.gguf import is_gguf
from eaglekit.engines.model import Artefact, Reading, Verdict, Version, worst
from eaglekit.engines.requests import known_engine
from eaglekit.engines.rules import Engine
from eaglekit.engines.tables.recipes import PROGRAMS, REMARKS, WAYS, Place, Program, Setting, Way, When
from eaglekit.report import Finding, Refusal
from eaglekit.report.model import printable

Language = Literal["bash", "yaml"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one engine is started with a drafter, or why it should not be."""

    engine: str
    title: str
    minimum: Version | None
    """The oldest known version from which on, up to the newest known, this command is right; None without a command."""
    verdict: Verdict
    """What the newest known version makes of the file."""
    language: Language
    text: str
    """What can be pasted; empty when the engine misreads or rejects the file, or when nobody knows."""
    notes: tuple[str, ...]
    """One sentence each: what the engine does besides, what it needs, or why there is no command. Code in backticks."""
    brought_by: str = ""
    """The public thread without which the minimum would be older, where one is known."""

    @property
    def since(self) -> str:
        """The minimum in words; empty without a command."""
        if self.minimum is None:
            return ""
        thread = f" (with {self.brought_by})" if self.brought_by and self.minimum.is_date else ""
        return f"{self.minimum.or_later()}{thread}"

    def as_json(self) -> dict[str, Any]:
        """A flat JSON object."""
        return {
            "engine": self.engine,
            "title": self.title,
            "minimum": str(self.minimum) if self.minimum is not None else None,
            "since": self.since,
            "verdict": self.verdict.value,
            "language": self.language,
            "text": self.text,
            "notes": list(self.notes),
        }


def recipes(
    artefact: Artefact,
    *,
    drafter: str,
    target: str,
    draft_tokens: int,
    engines: Iterable[str] | None = None,
    target_context: int | None = None,
    embedding_is_copy: bool | None = None,
) -> tuple[Recipe, ...]:
    """A recipe for each of `engines`, or for every server that is known, in that order.

    `drafter` and `target` are folders or Hub ids, ORG/NAME or ORG/NAME@REVISION, as they will stand in the command.
    `target_context` is how many positions the target has, where that is known. `embedding_is_copy` says whether the
    drafter's embedding is the target's, None when that is not known: an engine that takes the target's changes nothing
    then, or runs another function.
    Raises `Refusal` for an engine without a known command and for a name that cannot stand in one.
    """
    names = tuple(PROGRAMS) if engines is None else tuple(dict.fromkeys(known_engine(name).name for name in engines))
    findings = [_no_command(name) for name in names if name not in PROGRAMS]
    findings += [_unprintable(what, name) for what, name in (("drafter", drafter), ("target", target))
                 if not name.isprintable()]  # fmt: skip
    if findings:
        raise Refusal(*findings)
    wanted = _wanted(artefact.spec, drafter, target, draft_tokens)
    true = _circumstances(artefact.spec, target_context)
    found = readings(artefact, names)
    if embedding_is_copy is not None:
        found = [_knowing_embedding(reading, is_copy=embedding_is_copy) for reading in found]
    return tuple(
        _to_convert(known_engine(name), found)
        if PROGRAMS[name].gguf_only and not is_gguf(artefact)
        else _recipe(known_engine(name), [reading for reading in found if reading.engine == name], wanted, true)
        for name in names
    )


def _knowing_embedding(reading: Reading, *, is_copy: bool) -> Reading:
    """The reading where it is known what the target's embedding in place of the drafter's own does."""
    lost = "engine-embedding-replaced"
    misread = [
        replace(
            effect, verdict=Verdict.MISREADS, text=f"{effect.text.partition(':')[0]}, and this drafter trained its own"
        )
        for effect in reading.effects
        if effect.code == lost and not is_copy
    ]
    effects = (*(effect for effect in reading.effects if effect.code != lost), *misread)
    return replace(reading, effects=effects, verdict=worst(tuple(effect.verdict for effect in effects)))


def drafter_options(spec: Spec, *, engine: str, drafter: str, target: str, draft_tokens: int) -> dict[str, Any]:
    """What the newest known version of an engine is told about a drafter, as its recipe writes it in JSON or YAML."""
    wanted = _wanted(spec, drafter, target, draft_tokens)
    ways = _ways(known_engine(engine), known_engine(engine).versions[-1], wanted)
    told = [way for way in ways if way.place is Place.OPTIONS]
    return {way.spelling: way.value if way.value is not None else wanted[way.setting] for way in told}


Wanted = Mapping[Setting, Any]
"""What a server is to be told; a setting that does not come up is left out."""


def _wanted(spec: Spec, drafter: str, target: str, draft_tokens: int) -> Wanted:
    settings: dict[Setting, Any] = {Setting.STEPS: draft_tokens, Setting.STEPS_AND_ONE: draft_tokens + 1}
    settings |= _named(target, Setting.TARGET, Setting.TARGET_REVISION)
    settings |= _named(drafter, Setting.DRAFTER, Setting.DRAFTER_REVISION)
    settings[Setting.TARGET_FILE] = _file_of(settings[Setting.TARGET], "model.gguf")
    settings[Setting.DRAFTER_FILE] = _file_of(settings[Setting.DRAFTER], GGUF_DRAFTER)
    if spec.parallel_drafting:
        settings[Setting.PARALLEL] = True
    layers = _layers(spec)
    if layers is not None:
        settings[Setting.LAYERS] = layers
    return MappingProxyType(settings)


def _named(name: str, place: Setting, revision: Setting) -> dict[Setting, Any]:
    if is_local(name):
        # A name that begins with a dash would be taken for an option.
        return {place: f"./{name}" if name.startswith("-") else name}
    known = parse_hub_id(name)
    return {place: known.repo} | ({revision: known.revision} if known.revision is not None else {})


GGUF_DRAFTER = "drafter.gguf"
"""What `convert --to gguf` calls the file it writes."""


def _file_of(folder: str, name: str) -> str:
    """The GGUF file of a folder, or the file itself."""
    return folder if folder.endswith(".gguf") else f"{folder}/{name}"


def _layers(spec: Spec) -> list[int] | None:
    """The captured layers for engines that are told them; None when there are none or no way to name them."""
    if not spec.aux_layers:
        return None
    try:
        return list(OUTPUT_OF.encode(spec.aux_layers, spec.target_layers))
    except Inexpressible:
        return None


def _circumstances(spec: Spec, target_context: int | None) -> frozenset[When]:
    """The circumstances that some remark is about and that are true here."""
    own = spec.max_position_embeddings
    short = own is not None and target_context is not None and own < target_context
    true = {When.ALWAYS: True, When.PARALLEL: spec.parallel_drafting, When.SHORT: short}
    return frozenset(when for when, holds in true.items() if holds)


def _to_convert(engine: Engine, found: Sequence[Reading]) -> Recipe:
    """No command yet: this server opens GGUF files, and the drafter is a folder."""
    newest = next(reading for reading in reversed(found) if reading.engine == engine.name)
    reasons = tuple(effect.text for effect in newest.effects)
    note = f"{engine.title} opens GGUF files only: eaglekit convert SRC DST --to gguf writes one, or says why it cannot"
    return Recipe(engine.name, engine.title, None, newest.verdict, "bash", "", (*reasons, note))


def _recipe(engine: Engine, found: Sequence[Reading], wanted: Wanted, true: frozenset[When]) -> Recipe:
    newest = found[-1]
    blank = Recipe(engine.name, engine.title, None, newest.verdict, "bash", "", ())
    if not _fits(newest):
        return replace(blank, notes=tuple(_reasons(engine, found)))
    ways = _ways(engine, engine.versions[-1], wanted)
    minimum = _minimum(engine, found, ways, wanted)
    kept = [reading for reading in found if reading.span.until is None or minimum < reading.span.until]
    effects = dict.fromkeys(effect.text for reading in reversed(kept) for effect in reading.effects)
    notes = (*effects, *_remarks(engine, wanted, true, ways), *_paths(wanted))
    thread = _brought_by(engine, found, minimum)
    text = _written(PROGRAMS[engine.name], ways, wanted)
    return replace(blank, minimum=minimum, text=text, notes=notes, brought_by=thread)


def _fits(reading: Reading) -> bool:
    """Whether a version may be served with: nothing is wrong, and nothing is open."""
    return reading.verdict in (Verdict.READS, Verdict.DEGRADED) and not reading.unknown


def _ways(engine: Engine, version: Version, wanted: Wanted) -> tuple[Way, ...]:
    """The settings that this version is told, in the order in which they are written."""
    return tuple(
        way
        for way in WAYS
        if way.engine == engine.name and version in way.span and (way.setting in wanted or _always(way))
    )


def _always(way: Way) -> bool:
    return way.value is not None and way.setting is not Setting.PARALLEL


def _minimum(engine: Engine, found: Sequence[Reading], ways: tuple[Way, ...], wanted: Wanted) -> Version:
    """The oldest version of the run up to the newest that reads the file and knows every option of the command."""
    minimum = engine.versions[-1]
    for version in reversed(engine.versions):
        reading = next(reading for reading in found if version in reading.span)
        if not _fits(reading) or _ways(engine, version, wanted) != ways:
            break
        minimum = version
    return minimum


def _brought_by(engine: Engine, found: Sequence[Reading], minimum: Version) -> str:
    """The threads that ended what the version before `minimum` does with the file."""
    older = [reading for reading in found if reading.span.until is not None and reading.span.until <= minimum]
    if not older:
        return ""
    here = next(reading for reading in found if minimum in reading.span)
    ended = [effect.source for effect in older[-1].effects if effect not in here.effects]
    return " and ".join(dict.fromkeys(source for source in ended if "#" in source))


def _reasons(engine: Engine, found: Sequence[Reading]) -> Iterable[str]:
    newest = found[-1]
    yield from (effect.text for effect in newest.effects)
    yield from (f"open: {sentence}" for sentence in newest.unknown)
    older = [reading.span.in_words() for reading in found if _fits(reading)]
    if older:
        yield f"{engine.title} {' and '.join(older)} reads the file"
    if newest.verdict in (Verdict.READS, Verdict.DEGRADED):
        yield "where the target decides, say more of it: `--target PATH_OR_ID` or `--set target_layers=N`"
    yield f"`eaglekit convert SRC DST --for {engine.name}` writes what it reads, or says why it cannot"


def _remarks(engine: Engine, wanted: Wanted, true: frozenset[When], ways: tuple[Way, ...]) -> Iterable[str]:
    told = {way.setting for way in ways}
    yield from (remark.text for remark in REMARKS if remark.engine == engine.name and remark.when in true)
    for place, revision in _PINS.items():
        if revision in wanted and revision not in told:
            yield (
                f"{engine.title} has no option for the revision of {wanted[place]} and takes the newest; to serve "
                f"{wanted[revision]}, download it (`hf download --revision`) and give the folder"
            )


_PINS = MappingProxyType({Setting.TARGET: Setting.TARGET_REVISION, Setting.DRAFTER: Setting.DRAFTER_REVISION})


def _paths(wanted: Wanted) -> Iterable[str]:
    local = [wanted[place] for place in (Setting.TARGET, Setting.DRAFTER) if is_local(wanted[place])]
    if local:
        yield f"the server must see {' and '.join(local)} under this path, from where it is started"


def _written(program: Program, ways: tuple[Way, ...], wanted: Wanted) -> str:
    """The command, one option a line; every name quoted for the shell."""
    options: dict[str, Any] = {}
    first, lines = [shlex.join(program.words)], []
    for way in ways:
        value = way.value if way.value is not None else wanted[way.setting]
        if way.place is Place.OPTIONS:
            options[way.spelling] = value
        elif way.place is Place.ARGUMENT:
            first.append(shlex.quote(str(value)))
        else:
            lines.append(f"{way.spelling} {shlex.quote(str(value))}")
    before = ""
    if options and program.options_file:
        before = _file(program, options)
        lines.append(f"{program.options} {shlex.quote(program.options_file)}")
    elif options:
        lines.append(f"{program.options} {shlex.quote(json.dumps(options, ensure_ascii=False))}")
    return before + " \\\n  ".join([" ".join(first), *lines])


def _file(program: Program, options: Mapping[str, Any]) -> str:
    """The lines that write the YAML file. JSON values are YAML values too, and none holds a line break."""
    body = [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in options.items()]
    return "\n".join([f"cat > {program.options_file} <<'EOF'", f"{program.options_key}:", *body, "EOF", ""])


def _no_command(name: str) -> Finding:
    return Finding(
        "recipe-engine-unknown",
        f"no command is known that serves with {known_engine(name).title}",
        place="--engine",
        got=name,
        expected=", ".join(PROGRAMS),
        hint="`eaglekit inspect` tells what it makes of the file",
    )


def _unprintable(what: str, name: str) -> Finding:
    return Finding(
        "recipe-name-unprintable",
        f"the name of the {what} holds characters that do not print, which no command should",
        place=what,
        got=printable(name).replace("\n", "\\n"),
        hint="rename the folder, or give the id it will have: --as ORG/NAME",
    )
