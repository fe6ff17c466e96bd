"""What an engine makes of the config as a whole: its own view of it, and the class it picks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eaglekit.drafter import Attention, Spec
from eaglekit.engines.case import View
from eaglekit.engines.model import Artefact, Effect, Verdict, Version
from eaglekit.engines.rules import Behaviour, Capability, DrafterClass, Engine, Feature, Rules, compose


@dataclass(frozen=True, slots=True)
class Choice:
    """The config an engine sees and the class it runs, or what stopped it."""

    view: View
    drafter: DrafterClass | None
    """The class it picks; when it picks none, the one this drafter would need; None when it has none."""
    effects: tuple[Effect, ...] = ()
    unknown: tuple[str, ...] = ()
    """Why nothing more can be said about this config."""


def choose(engine: Engine, version: Version, artefact: Artefact, families: tuple[str, ...]) -> Choice:
    """What `engine` makes of the config at `version`."""
    rules = compose(engine, version, drafter="*", families=families)
    config = artefact.config
    kind = config.get("speculators_model_type")
    architecture = _architecture(config)
    view, effects = View(config), []
    if kind is None:
        effects += _plain(engine, rules)
    else:
        view, architecture, effects = _speculators(engine, rules, config, str(kind), architecture)
    drafter, refused = _class(engine, version, rules, architecture, artefact.spec, flattened=view.flattened)
    return Choice(view, drafter, (*effects, *([] if effects else refused)), _not_known(engine, rules, kind))


def _not_known(engine: Engine, rules: Rules, kind: Any) -> tuple[str, ...]:
    feature = Feature.PLAIN_FORMAT if kind is None else Feature.SPECULATORS_FORMAT
    # Without a row a plain config is what every engine reads, and a speculators config what hardly any does.
    known = kind is None and feature not in rules.chosen
    if known or rules.does(feature) is not Behaviour.NOT_KNOWN:
        return ()
    return (f"it is not known how {engine.title} treats {feature.value}",)


def _architecture(config: Mapping[str, Any]) -> str | None:
    names = config.get("architectures")
    return names[0] if isinstance(names, list) and names and isinstance(names[0], str) else None


def _effect(engine: Engine, code: str, predicate: str, row: Capability) -> Effect:
    return Effect(Verdict.REJECTS, code, f"{engine.title} {predicate}", row.source)


def _plain(engine: Engine, rules: Rules) -> list[Effect]:
    row = rules.of(Feature.PLAIN_FORMAT)
    if row.behaviour is not Behaviour.REJECTED:
        return []
    return [_effect(engine, "engine-format-unread", "opens speculators configs only, and this is a plain one", row)]


def _speculators(
    engine: Engine, rules: Rules, config: Mapping[str, Any], kind: str, architecture: str | None
) -> tuple[View, str | None, list[Effect]]:
    row = rules.of(Feature.SPECULATORS_FORMAT)
    inner = config.get("transformer_layer_config")
    inner = inner if isinstance(inner, Mapping) else {}
    if row.behaviour is Behaviour.ABSENT:
        text = "knows no speculators config: it finds no hidden_size at the top level"
        return View(config), architecture, [_effect(engine, "engine-format-unread", text, row)]
    if row.behaviour is Behaviour.MERGED:
        return View({**inner, **config}), architecture, []
    if row.behaviour is not Behaviour.FLATTENED:
        return View(config), architecture, []
    return _flattened(engine, rules, config, kind, inner)


def _flattened(
    engine: Engine, rules: Rules, config: Mapping[str, Any], kind: str, inner: Mapping[str, Any]
) -> tuple[View, str | None, list[Effect]]:
    effects = []
    kinds = rules.of(Feature.SPECULATORS_TYPES)
    if kind not in kinds.values:
        text = f"knows no speculators_model_type {kind!r}, only {', '.join(kinds.values)}"
        effects.append(_effect(engine, "engine-format-unread", text, kinds))
    copied = rules.of(Feature.COPIED_KEYS_PARALLEL if kind == "peagle" else Feature.COPIED_KEYS).values
    said = {key: config[key] for key in copied if config.get(key) is not None}
    # What the reader copies it copies from the top level only: there, absent means off or none, whatever stands inside.
    overwritten = set(copied) - set(rules.of(Feature.KEYS_LEFT_INSIDE).values)
    flat = {key: value for key, value in inner.items() if key not in overwritten} | said
    assumed = rules.of(Feature.ASSUMED_RESIDUAL)
    residual_assumed = kind in assumed.values and config.get("norm_before_residual") is None
    if residual_assumed:
        flat["norm_before_residual"] = assumed.behaviour is Behaviour.ASSUMED_TRUE
    row = rules.of(Feature.SPECULATORS_CLASSES)
    classes = dict(entry.split("=") for entry in row.values)
    model_type = inner.get("model_type") or "llama"
    architecture = classes.get(str(model_type), classes.get("*"))
    if architecture is None:
        known = " or ".join(classes)
        text = f"takes a transformer_layer_config of model_type {known} only, and this one says {model_type!r}"
        effects.append(_effect(engine, "engine-format-unread", text, row))
    return View(flat, flattened=True, residual_assumed=residual_assumed), architecture, effects


def _class(
    engine: Engine, version: Version, rules: Rules, architecture: str | None, spec: Spec, *, flattened: bool
) -> tuple[DrafterClass | None, list[Effect]]:
    lookup = rules.of(Feature.LOOKUP)
    if lookup.behaviour in (Behaviour.BY_ATTENTION, Behaviour.NOT_KNOWN):
        fitting = _fitting(engine.classes, spec)
        return fitting, [] if fitting else [_no_class(engine, lookup, spec)]
    registered = {drafter: _registered(engine, version, drafter) for drafter in engine.classes}
    name = architecture
    if name is not None and lookup.behaviour is Behaviour.PREFIXED and not flattened:
        name = name if name.startswith("Eagle3") or name.endswith("Eagle3") else f"Eagle3{name}"
    bare = name == architecture or architecture in lookup.values
    for drafter, names in registered.items():
        if name in names and bare:
            return drafter, []
    fitting = _fitting(tuple(drafter for drafter, names in registered.items() if names), spec)
    known = registered[fitting][:2] if fitting else next(iter(registered.values()))[:2]
    said = repr(architecture) if name == architecture else f"{architecture!r}, looked up as {name!r}"
    text = f"has no class for architectures {said}; names it knows are {', '.join(known)}"
    return fitting, [_effect(engine, "engine-class-unregistered", text, lookup)]


def _registered(engine: Engine, version: Version, drafter: DrafterClass) -> tuple[str, ...]:
    rules = compose(engine, version, drafter=drafter.name, families=())
    return rules.of(Feature.ARCHITECTURES).values


def _fitting(classes: tuple[DrafterClass, ...], spec: Spec) -> DrafterClass | None:
    """The class that this drafter would need: of its attention; with q/k norms the last one, which has them."""
    of_kind = [drafter for drafter in classes if drafter.attention is spec.attention]
    return of_kind[-1 if spec.qk_norm else 0] if of_kind else None


def _no_class(engine: Engine, row: Capability, spec: Spec) -> Effect:
    kind = "MLA" if spec.attention is Attention.MLA else "GQA"
    return _effect(engine, "engine-class-unregistered", f"has no class for {kind} drafters", row)
