"""`Protocol`: how the figures of a published report were made, so that somebody else can make them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint.copying import Written
from eaglekit.dialects.given import SETTINGS, Given
from eaglekit.dialects.target import Target
from eaglekit.dialects.target_checks import given_with
from eaglekit.drafter.spec import jsonable
from eaglekit.report import Finding, Refusal
from eaglekit.report.model import refuse_if
from eaglekit.report.progress import Bar, silent
from eaglekit.validate.intervals import RESAMPLES, SEED
from eaglekit.validate.task import PROBE_SEED, Task

NAME = "report.json"


@dataclass(frozen=True, slots=True)
class Place:
    """Which target the figures are about."""

    digest: str
    repo: str | None
    commit: str | None

    @property
    def hub_id(self) -> str | None:
        """ORG/NAME@COMMIT, when the report names one."""
        return f"{self.repo}@{self.commit}" if self.repo and self.commit else None


@dataclass(frozen=True, slots=True)
class Protocol:
    """Everything of a published report that decides its figures."""

    settings: Mapping[str, Any]
    """As `validate` wrote them; every value is in the bounds of the command line."""
    given: Given
    """The options about the drafter, without what a target adds."""
    device: str
    """`cpu` or `cuda`."""
    dtype: str
    activations: str | None
    """None when no target was run."""
    files: Mapping[str, Written]
    """Of the drafter."""
    baseline: Mapping[str, Written] | None
    target: Place | None
    prompts: str | None
    """SHA-256 of the prompt file, in hex."""
    capture: str | None
    texts: str | None
    """Digest of the texts in their tokens, `sha256:...`."""
    tool: Mapping[str, str]

    def task(
        self,
        drafter: Checkpoint,
        *,
        target: Target | None,
        prompts: Path | None,
        capture: Path | None,
        baseline: Checkpoint | None,
        device: str,
        dtype: str | None = None,
        memory_limit_bytes: int | None = None,
        bar: Bar = silent,
    ) -> Task:
        """The same validation again, with what is at hand for it here."""
        settings = self.settings
        return Task(
            drafter=drafter,
            given=self.given if target is None else given_with(self.given, target),
            target=target,
            prompts=prompts,
            capture=capture,
            baseline=baseline,
            keep_embedding=settings["embedding"] == "keep",
            device=device,
            dtype=dtype or self.dtype,
            activations=self.activations or "w4a16",
            memory_limit_bytes=memory_limit_bytes,
            bar=bar,
            **{name: settings[name] for name in TAKEN},
        )

    def elsewhere(self, device: str, dtype: str | None) -> list[str]:
        """In what the arithmetic here is another than the report's: `device cpu instead of cuda`."""
        here = {"device": device.partition(":")[0], "dtype": dtype or self.dtype}
        claimed = {"device": self.device, "dtype": self.dtype}
        return [f"{name} {here[name]} instead of {claimed[name]}" for name in here if here[name] != claimed[name]]


TAKEN = (
    "draft_tokens", "depth", "temperature", "min_acceptance_length", "generate", "limit", "probe_layers",
)  # fmt: skip
"""Settings that are a task's own fields."""


BOUNDS: Mapping[str, tuple[float, float]] = {
    "draft_tokens": (1, 64), "depth": (1, 64), "temperature": (0.01, 100), "min_acceptance_length": (1, 65),
    "generate": (1, 100_000), "limit": (1, 10**9),
}  # fmt: skip
"""Setting -> least and most, as the command line has them: a report must not ask for a year of work."""
WORDS: Mapping[str, tuple[str, ...]] = {
    "arithmetic.device": ("cpu", "cuda"), "arithmetic.dtype": ("float32", "bfloat16"),
    "arithmetic.activations": ("w4a16", "w4a4"), "settings.aux_convention": ("boundary", "output-of"),
}  # fmt: skip
"""Part of the result -> what it may say."""
MOST_LAYERS, MOST_BLOCKS = 64, 10_000


def read_protocol(document: Mapping[str, Any]) -> Protocol:
    """How the figures of a report were made. Raises `Refusal` for every part that cannot be followed here.

    `document` is the whole report, and may come from anybody.
    """
    from eaglekit.report.schemas import problems

    result = document["result"]
    refuse_if([_unusable("result", problem) for problem in problems(result, "validated")])
    if "arithmetic" not in result:
        raise Refusal(_unusable("result.arithmetic", "it says nothing, so nothing was computed"))
    settings = {name: _whole(value) for name, value in result["settings"].items()}
    findings = [*_foreign(settings), *_out_of_bounds(settings, result)]
    facts: dict[str, Any] = {}
    for name, value in settings["set"].items():
        said = _fact(name, value)
        if said is None:
            findings.append(_unusable("settings.set", f"{name} cannot be {value!r}"))
        else:
            facts[name] = said[0]
    if "prompts" in result and "capture" in result:
        findings.append(_unusable("result", "it names both prompts and a capture"))
    refuse_if(findings)
    layers = settings["aux_layers"]
    given = Given(
        aux_layers=tuple(map(int, layers)) if layers else None,
        aux_convention=settings["aux_convention"],
        facts=facts,
        dialect=settings["from"],
        drops=tuple(settings["drop"]),
    )
    target = result.get("target")
    return Protocol(
        settings=settings,
        given=given,
        device=result["arithmetic"]["device"],
        dtype=result["arithmetic"]["dtype"],
        activations=result["arithmetic"].get("activations"),
        files=_files(result["drafter"]),
        baseline=_files(result["baseline"]) if "baseline" in result else None,
        target=Place(target["digest"], target.get("repo"), target.get("commit")) if target is not None else None,
        prompts=result["prompts"]["sha256"] if "prompts" in result else None,
        capture=result["capture"]["sha256"] if "capture" in result else None,
        texts=result["texts"]["digest"] if "texts" in result else None,
        tool=result["tool"],
    )


def _files(document: Mapping[str, Any]) -> dict[str, Written]:
    return {name: Written(int(file["size_bytes"]), file["sha256"]) for name, file in document["files"].items()}


def _whole(value: Any) -> Any:
    """The value with 3.0 as 3: JSON Schema takes both for an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _fact(name: str, value: Any) -> tuple[Any] | None:
    """What `--set` would have made of the text behind a fact of a report; None when no text makes it."""
    texts = ("true", "false", value if isinstance(value, str) else repr(value))
    for setting in (setting for setting in SETTINGS.values() if setting.fact == name):
        for text in texts:
            try:
                made = setting.parse(text)
            except (ValueError, KeyError, OverflowError):
                continue
            if type(jsonable(made)) is type(value) and jsonable(made) == value:
                return (made,)
    return None


def _foreign(settings: Mapping[str, Any]) -> list[Finding]:
    """What another version does otherwise, and what contradicts itself."""
    pairs = (
        ("settings.seeds", settings["seeds"], {"bootstrap": SEED, "probe": PROBE_SEED}),
        ("settings.resamples", settings["resamples"], RESAMPLES),
    )
    findings = [_unusable(place, f"{got}, and this version has {mine}") for place, got, mine in pairs if got != mine]
    least, most = settings["min_acceptance_length"], settings["draft_tokens"] + 1
    if least is not None and least > most:
        findings.append(_unusable("settings.min_acceptance_length", f"{least}, which {most - 1} drafts cannot reach"))
    return findings


def _out_of_bounds(settings: Mapping[str, Any], result: Mapping[str, Any]) -> list[Finding]:
    """Numbers and words that the command line would not take."""
    findings = [
        _unusable(f"settings.{name}", f"{settings[name]}, and {least:g} to {most:g} can be repeated")
        for name, (least, most) in BOUNDS.items()
        if settings[name] is not None and not least <= settings[name] <= most
    ]
    for place, words in WORDS.items():
        part, _, name = place.partition(".")
        said = result[part].get(name)
        if said is not None and said not in words:
            findings.append(_unusable(place, f"{said!r}, and {' or '.join(words)} can be repeated"))
    layers = settings["aux_layers"] or []
    if len(layers) > MOST_LAYERS or any(layer > MOST_BLOCKS for layer in layers):
        findings.append(_unusable("settings.aux_layers", "more or higher layers than any target has"))
    return findings


def _unusable(place: str, problem: str) -> Finding:
    return Finding(
        "verify-report-unusable",
        f"the report cannot be followed: {place}: {problem}",
        place=NAME if place == NAME else f"{NAME}: {place}",
        expected="a report as this version of eaglekit validate writes it",
        hint="nothing was computed; ask the publisher for the version that wrote it (result.tool)",
    )
