"""What drafters are measured on: captured texts, and the tables of the target that they share.

V vocabulary, G target hidden, R rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import linear

from eaglekit.checkpoint import Tensor as Stored
from eaglekit.checkpoint.lookup import Library
from eaglekit.dialects.target import Target
from eaglekit.drafter import Fusion, Part, Spec
from eaglekit.report import Finding, Refusal
from eaglekit.target.capture_file import read_capture
from eaglekit.target.captured import Capture
from eaglekit.target.capturing import prepare
from eaglekit.target.generation import generate
from eaglekit.target.model import TargetModel, open_model
from eaglekit.target.settings import DTYPES, Settings
from eaglekit.target.streaming import run
from eaglekit.target.texts import Text
from eaglekit.validate.belonging import belonging
from eaglekit.validate.binding import file_digest, texts_digest
from eaglekit.validate.sampling import TargetLogits
from eaglekit.validate.task import Task

FLOATS: Mapping[str, torch.dtype] = MappingProxyType({
    "F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64,
})  # fmt: skip


@dataclass(frozen=True)
class Material:
    """Texts and tables, ready to be measured with."""

    settings: Settings
    capture: Capture | None
    """None when there is nothing to measure behaviour on."""
    shared: Mapping[Part, Tensor]
    """The target's embedding and head, as far as some drafter shares them."""
    target_logits: TargetLogits | None
    """None when the target's head is not at hand."""
    origin: Mapping[str, Any]
    """What the report is bound to: capture, prompts, arithmetic."""
    findings: tuple[Finding, ...] = ()


def settings_of(task: Task) -> Settings:
    """Device and arithmetic of a task. Raises `Refusal` for a device that is not there."""
    settings = Settings(
        device=task.device,
        dtype=DTYPES[task.dtype] if task.dtype is not None else None,
        activations=task.activations,
        memory_limit_bytes=task.memory_limit_bytes,
    )
    settings.torch_device()
    return settings


def gather(task: Task, specs: Sequence[Spec], boundaries: Sequence[int]) -> Material:
    """Everything that drafters of `specs` are measured on, captured at `boundaries`. Raises `Refusal`."""
    settings = settings_of(task)
    if task.capture is not None:
        material = _from_file(task, settings)
    elif task.prompts is not None and task.target is not None:
        material = _from_target(task, task.target, settings, boundaries)
    else:
        material = Material(settings, None, {}, None, {"arithmetic": arithmetic(settings)})
    if material.capture is not None:
        _refuse_misfits(material.capture, specs)
    wanted = {part for spec in specs for part in _borrowed(spec)}
    if task.target is None:
        return material
    head = material.capture is not None or Part.HEAD in wanted
    tables = _tables(task.target, {*wanted, *([Part.HEAD] if head else [])}, settings)
    shared = {part: table for part, table in tables.items() if part in wanted}
    logits = _logits(tables[Part.HEAD]) if material.capture is not None and Part.HEAD in tables else None
    findings = material.findings
    if task.capture is not None and material.capture is not None and logits is not None:
        findings += belonging(material.capture, task.target, logits)
    return replace(material, shared=shared, target_logits=logits, findings=findings)


def arithmetic(settings: Settings) -> dict[str, str]:
    """How it is computed here, for the report."""
    return {"device": settings.torch_device().type, "dtype": settings.dtype_name, "activations": settings.activations}


def _from_file(task: Task, settings: Settings) -> Material:
    assert task.capture is not None  # noqa: S101 - the caller looked
    capture = read_capture(task.capture)
    texts = capture.texts[: task.limit]
    origin = {
        "arithmetic": {"device": settings.torch_device().type, "dtype": settings.dtype_name},
        "capture": {"sha256": file_digest(task.capture), "boundaries": list(capture.boundaries),
                    "target": dict(capture.target)},
        "texts": texts_digest([text.text for text in texts]),
    }  # fmt: skip
    _refuse_silent([text.text for text in texts])
    return Material(settings, replace(capture, texts=texts), {}, None, origin)


def _from_target(task: Task, target: Target, settings: Settings, boundaries: Sequence[int]) -> Material:
    assert task.prompts is not None  # noqa: S101 - the caller looked
    source, layers = target.library.source, sorted(set(boundaries))
    ready = prepare(source, task.prompts, layers, settings, new_tokens=task.generate, limit=task.limit)
    texts: Sequence[Text] = ready.asked
    if task.generate is not None:
        with task.bar("generate", len(texts), "texts") as tell:
            texts = generate(ready.model, texts, max_new_tokens=task.generate, settings=settings, progress=tell)
    _refuse_silent(texts)
    with task.bar("run the target", ready.model.size_bytes, "bytes") as tell:
        capture = run(ready.model, texts, boundaries=layers, settings=settings, progress=tell)
    origin = {
        "arithmetic": {**arithmetic(settings), "target": dict(capture.target)},
        "prompts": {"sha256": ready.prompts.digest, "schema": ready.prompts.schema, "generated": task.generate},
        "texts": texts_digest(texts),
    }
    return Material(settings, capture, {}, None, origin, (*ready.prompts.findings, *capture.findings))


def _refuse_silent(texts: Sequence[Text]) -> None:
    """Raise `Refusal` when no text has a response."""
    silent = [text.identity for text in texts if text.prompt_length == len(text.tokens)]
    if len(silent) == len(texts):
        raise Refusal(
            Finding(
                "responses-missing",
                f"none of the {len(texts)} texts has a response to measure against",
                place=", ".join(silent[:3]),
                got="prompts only",
                expected="prompts with the target's responses",
                hint="--generate N lets the target answer; or give a prompt file with its responses",
            )
        )


def _refuse_misfits(capture: Capture, specs: Sequence[Spec]) -> None:
    """Raise `Refusal` for a capture of another target, or without states that some drafter reads."""
    findings = []
    for spec in specs:
        sizes = [("vocabulary", spec.vocab_size, capture.vocab_size),
                 ("hidden size", spec.target_hidden_size, capture.hidden_size),
                 ("number of blocks", spec.target_layers or capture.num_layers, capture.num_layers)]  # fmt: skip
        findings += [
            Finding(
                "capture-misfit",
                f"the drafter is for a target {what} of {mine}, the captured one has {theirs}",
                place=what,
                got=str(theirs),
                expected=str(mine),
                hint="capture the target that this drafter was trained for",
            )
            for what, mine, theirs in sizes
            if mine != theirs
        ]
        missing = sorted(set(spec.aux_layers) - set(capture.boundaries)) if spec.fusion is Fusion.AUX_STATES else []
        if missing:
            findings.append(
                Finding(
                    "capture-boundaries",
                    f"the drafter reads boundaries {list(spec.aux_layers)}, and the capture has no {missing}",
                    place="aux_layers",
                    got=str(list(capture.boundaries)),
                    expected=str(list(spec.aux_layers)),
                    hint="capture again with --aux-layers " + ",".join(map(str, spec.aux_layers)),
                )
            )
    if findings:
        raise Refusal(*dict.fromkeys(findings))


def _borrowed(spec: Spec) -> set[Part]:
    own = {Part.EMBEDDING: spec.own_embedding, Part.HEAD: spec.own_head}
    return {part for part, has in own.items() if not has}


def _tables(target: Target, parts: set[Part], settings: Settings) -> dict[Part, Tensor]:
    """The target's tables: a plain one straight from its shard, a quantised one through the target's own reader."""
    device, dtype = settings.torch_device(), settings.compute_dtype
    stored = {Part.EMBEDDING: target.embedding, Part.HEAD: target.head_source}
    found: dict[Part, Tensor] = {}
    model: TargetModel | None = None
    for part in sorted(parts):
        plain = stored[part]
        if plain is not None:
            found[part] = _table(target.library, plain, device, dtype)
            continue
        model = model or open_model(target.library.source)
        found[part] = (model.embedding if part is Part.EMBEDDING else model.head)(device, dtype)
    return found


def _table(
    library: Library, stored: Stored, device: torch.device, dtype: torch.dtype, *, rows_at_once: int = 1024
) -> Float[Tensor, "V G"]:
    """A plain table, cast piece by piece: never two whole copies of it."""
    table = torch.empty(stored.shape, dtype=dtype, device=device)
    width = stored.size_bytes // stored.shape[0]
    for first in range(0, stored.shape[0], rows_at_once):
        start = stored.start + first * width
        data = library.source.read(stored.file, start, min(start + rows_at_once * width, stored.end))
        piece = torch.frombuffer(bytearray(data), dtype=FLOATS[stored.dtype]).view(-1, stored.shape[1])
        table[first : first + len(piece)] = piece.to(device)
    return table


def _logits(head: Float[Tensor, "V G"]) -> TargetLogits:
    """The target's logits from its final states: one product, as every target that is run here has it."""

    def of(final: Float[Tensor, "R G"]) -> Float[Tensor, "R V"]:
        return linear(final.to(device=head.device, dtype=head.dtype), head)

    return of
