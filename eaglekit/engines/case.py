"""`Case`: one checkpoint before one class of one engine at one version, and how a check says what it found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eaglekit.drafter import Spec
from eaglekit.engines.model import Artefact, Effect, Verdict
from eaglekit.engines.rules import Behaviour, Capability, DrafterClass, Feature, Rules
from eaglekit.engines.stored import Stored

SHOWN = 3


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something on which the verdict would depend and that nobody has established."""

    text: str


Found = Iterator[Effect | Unknown]


@dataclass(frozen=True, slots=True)
class View:
    """The config as the engine sees it after its own rewriting."""

    config: Mapping[str, Any]
    flattened: bool = False
    """Whether the engine rebuilt it from a speculators config."""
    residual_assumed: bool = False
    """Whether norm_before_residual is the engine's own assumption."""

    def get(self, path: str) -> Any:
        """The value at a dotted path; None when absent or null."""
        return value_at(self.config, path)

    def first(self, paths: Sequence[str]) -> tuple[str, Any]:
        """The first of `paths` that has a value, and the value; an empty path when none has."""
        for path in paths:
            value = self.get(path)
            if value is not None:
                return path, value
        return "", None


@dataclass(frozen=True, slots=True)
class Case:
    """What a check looks at."""

    rules: Rules
    drafter: DrafterClass
    view: View
    artefact: Artefact
    stored: Stored

    @property
    def spec(self) -> Spec:
        """The true meaning."""
        return self.artefact.spec

    @property
    def title(self) -> str:
        """The engine as messages name it."""
        return self.rules.engine.title

    def rule(self, feature: Feature) -> Capability:
        """The row that holds for `feature`."""
        return self.rules.of(feature)

    def does(self, feature: Feature) -> Behaviour:
        """The behaviour that holds for `feature`."""
        return self.rules.does(feature)

    def effect(self, verdict: Verdict, code: str, predicate: str, source: Capability | str) -> Effect:
        """An effect of this engine; `predicate` is its sentence without the subject."""
        place = source if isinstance(source, str) else source.source
        return Effect(verdict, code, f"{self.title} {predicate}", place)

    def unknown(self, predicate: str) -> Unknown:
        """What is not established about this engine; `predicate` completes "it is not known how TITLE ..."."""
        return Unknown(f"it is not known how {self.title} {predicate}")

    def fate(self, feature: Feature, *, code: str, what: str, why: str, matters: bool) -> Found:
        """What becomes of tensors nobody asked for, under the row `feature`; `what` names them, `why` says why.

        `matters` says whether the function changes when they are dropped.
        """
        row = self.rule(feature)
        dropped = Verdict.MISREADS if matters else Verdict.DEGRADED
        verdicts = {
            Behaviour.REJECTED: (Verdict.REJECTS, f"refuses {what}"),
            Behaviour.DROPPED: (dropped, f"drops {what} silently"),
            Behaviour.WARNED: (dropped, f"drops {what} with a warning"),
        }
        if row.behaviour in verdicts:
            verdict, predicate = verdicts[row.behaviour]
            yield self.effect(verdict, code, f"{predicate}: {why}", row)
        else:
            yield self.unknown(f"treats {what}: {why}")


def value_at(config: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path; None when absent or null."""
    value: Any = config
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def listed(numbers: Sequence[int]) -> str:
    """Numbers with commas between them."""
    return ", ".join(map(str, numbers))


def some(names: Sequence[str]) -> str:
    """The first names of a list, and how many more there are."""
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def place_of(path: str) -> str:
    """Where a config path lies, as messages say it."""
    return "in eagle_config" if path.startswith("eagle_config.") else "at the top level"
