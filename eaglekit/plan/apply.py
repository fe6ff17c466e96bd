"""Carrying out a plan: the only writer. The destination appears whole, or stays as it was."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglekit.checkpoint import Checkpoint, Source
from eaglekit.checkpoint.copying import BLOCK_BYTES, HashingWriter, Written
from eaglekit.checkpoint.gguf_layout import gap, gguf_header
from eaglekit.checkpoint.layout import Entry, safetensors_header
from eaglekit.checkpoint.lookup import Library, last_change
from eaglekit.checkpoint.model import Tensor
from eaglekit.checkpoint.writing import StagedFolder
from eaglekit.dialects.binding import ordered
from eaglekit.dialects.tables import DIALECTS
from eaglekit.plan.content import Content
from eaglekit.plan.manifest import MANIFEST, manifest_text
from eaglekit.plan.model import Plan, TensorStep
from eaglekit.plan.provenance import PROVENANCE, provenance
from eaglekit.report import Finding, Refusal
from eaglekit.report.json_text import dumps

INDEX = "model.safetensors.index.json"
METADATA = {"format": "pt"}
"""transformers refuses safetensors files that do not say for which library they are laid out."""

Progress = Callable[[int], None]
"""Called with the number of bytes that were written since the last call."""


@dataclass(frozen=True)
class Wishes:
    """How to write, apart from what."""

    durable: bool = True
    """Flush to the disk before the folder gets its name."""
    manifest: bool = True
    """Hash every file on the way and write SHA256SUMS."""


@dataclass(frozen=True)
class Applied:
    """What was written."""

    destination: Path
    files: Mapping[str, Written]


def apply(
    plan: Plan,
    destination: Path,
    *,
    source: Checkpoint,
    target: Library | None = None,
    wishes: Wishes | None = None,
    progress: Progress | None = None,
) -> Applied:
    """Write the folder that `plan` describes. Raises `Refusal`, with the destination as it was.

    `source` must be the checkpoint the plan was made from: its fingerprint is compared before and after.
    """
    wishes = wishes or Wishes()
    _refuse_overlap(source.source, destination)
    content = Content(
        plan,
        {"source": source.source, **({"target": target.source} if target is not None else {})},
        {
            "source": ordered(source, DIALECTS[plan.from_dialect]),
            **({"target": _needed(plan, target)} if target is not None else {}),
        },
    )
    with StagedFolder(destination, durable=wishes.durable, hashing=wishes.manifest) as folder, ExitStack() as opened:
        descriptors = _Descriptors(content.sources, opened)
        for file in plan.files:
            _write_weights(folder, file, plan, content, descriptors, progress)
        if content.overflows and not plan.force_overflow:
            raise Refusal(*(_overflow(name, count) for name, count in sorted(content.overflows.items())))
        if len(plan.files) > 1:
            folder.write_bytes(INDEX, dumps(_index(plan)).encode())
        for file in plan.copied:
            with folder.open_file(file) as writer:
                writer.copy(descriptors.of("source", file), 0, source.extra_files[file])
        _refuse_invalid(plan)
        if not _is_gguf(plan):
            folder.write_bytes("config.json", dumps(plan.config).encode())
        folder.write_bytes(PROVENANCE, dumps(provenance(plan, content.overflows)).encode())
        written = dict(folder.written)
        if wishes.manifest:
            folder.write_bytes(MANIFEST, manifest_text(written).encode())
        _refuse_change(source)
        folder.commit()
    return Applied(destination, written)


def _refuse_invalid(plan: Plan) -> None:
    """Every config is checked against its dialect's schema before it is written."""
    from eaglekit.report.schemas import problems

    found = problems(plan.config, f"config.{plan.to_dialect}")
    if found:
        raise Refusal(*map(_invalid, found))


def _invalid(text: str) -> Finding:
    return Finding(
        "output-invalid",
        f"the config to be written breaks its own schema: {text}",
        place="config.json",
        expected="a config that schemas/ allows",
        hint="this is a mistake in eaglekit's tables: report it with the output of --json",
    )


class _Descriptors:
    """Open files of the sources, each opened once."""

    def __init__(self, sources: Mapping[str, Source], opened: ExitStack) -> None:
        self._sources, self._opened = sources, opened
        self._known: dict[tuple[str, str], int] = {}

    def of(self, origin: str, file: str) -> int:
        """A descriptor of `file`. The source must lie on this machine by now."""
        if (origin, file) not in self._known:
            path = self._sources[origin].local_path(file)
            if path is None:
                raise AssertionError(f"{file} was not downloaded before applying")
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._opened.callback(os.close, descriptor)
            self._known[origin, file] = descriptor
        return self._known[origin, file]


def _write_weights(
    folder: StagedFolder,
    file: str,
    plan: Plan,
    content: Content,
    descriptors: _Descriptors,
    progress: Progress | None,
) -> None:
    steps = plan.files[file]
    entries = [Entry(s.name, s.dtype, s.shape) for s in steps]
    if _is_gguf(plan):
        header, gaps = gguf_header(entries, plan.config), [gap(entry) for entry in entries]
    else:
        header, gaps = safetensors_header(entries, METADATA, data_at=_data_at(steps, content)), [b""] * len(entries)
    size_bytes = sum(entry.size_bytes for entry in entries) + sum(map(len, gaps))
    with folder.open_file(file, len(header) + size_bytes) as writer:
        writer.write(header)
        for step, after in zip(steps, gaps, strict=True):
            _write_tensor(writer, step, content, descriptors, progress)
            if after:
                writer.write(after)


def _write_tensor(
    writer: HashingWriter, step: TensorStep, content: Content, descriptors: _Descriptors, progress: Progress | None
) -> None:
    if not step.is_copy or content.tensor(step).strides is not None:
        for piece in content.pieces(step):
            writer.write(piece)
            _tell(progress, len(piece))
        return
    stored = content.tensor(step)
    start = stored.start
    while start < stored.end:
        end = min(start - start % REPORTED_BYTES + REPORTED_BYTES, stored.end)
        writer.copy(descriptors.of(step.origin, stored.file), start, end)
        _tell(progress, end - start)
        start = end


def _is_gguf(plan: Plan) -> bool:
    return DIALECTS[plan.to_dialect].container == "gguf"


ALIGNED_FROM_BYTES = 64 << 20
"""Below this a copy takes no time worth a longer header."""


def _data_at(steps: tuple[TensorStep, ...], content: Content) -> int | None:
    """Where in a block the data should start, so that most bytes lie as they lie in their source."""
    weights: dict[int, int] = {}
    position = 0
    for step in steps:
        if step.is_copy and content.tensor(step).strides is None:
            offset = (content.tensor(step).start - position) % BLOCK_BYTES
            weights[offset] = weights.get(offset, 0) + step.size_bytes
        position += step.size_bytes
    if sum(weights.values()) < ALIGNED_FROM_BYTES:
        return None
    return max(weights, key=lambda offset: (weights[offset], -offset))


REPORTED_BYTES = 64 << 20
"""Progress is told at least this often while copying."""


def _tell(progress: Progress | None, size_bytes: int) -> None:
    if progress is not None:
        progress(size_bytes)


def _needed(plan: Plan, target: Library) -> Mapping[str, Tensor]:
    """The target's tensors that the plan reads."""
    return {
        step.tensor: target.tensor(step.tensor)
        for steps in plan.files.values()
        for step in steps
        if step.origin == "target"
    }


def _index(plan: Plan) -> dict[str, Any]:
    return {
        "metadata": {"total_size": plan.size_bytes},
        "weight_map": {step.name: file for file, steps in plan.files.items() for step in steps},
    }


def _refuse_overlap(source: Source, destination: Path) -> None:
    known = source.files()
    anchor = source.local_path(
        "config.json" if "config.json" in known else min(name for name in known if "/" not in name)
    )
    if anchor is None:
        return
    folder, wanted = Path(os.path.abspath(anchor)).parent, Path(os.path.abspath(destination))  # noqa: PTH100
    real, aimed = folder.resolve(), wanted.resolve()
    if real == aimed or real in aimed.parents or aimed in real.parents:
        raise Refusal(
            Finding(
                "destination-inside-source",
                f"destination {destination} and source {source.label} overlap",
                place=str(destination),
                got="the same folder" if real == aimed else "one inside the other",
                expected="a new folder beside the source",
                hint="the source is never touched: choose another destination",
            )
        )


def _refuse_change(source: Checkpoint) -> None:
    """The weight files must be as they were when the plan was made: a writer may have come by while copying."""
    for file in source.weight_files:
        path = source.source.local_path(file)
        stamp = source.evidence.get(file, "")
        if path is not None and not stamp.endswith(f" {path.stat().st_size} {last_change(path)}"):
            raise Refusal(changed(file))
    config = source.source.local_path(source.config_file) if source.config_file else None
    if config is not None and hashlib.sha256(config.read_bytes()).hexdigest() != source.evidence.get("config"):
        raise Refusal(changed(str(source.config_file)))


def changed(file: str) -> Finding:
    """The finding for a source that is not what the plan was made from."""
    return Finding(
        "source-changed",
        f"{file} of the source has changed since the plan was made",
        place=file,
        got="other content",
        expected="the file the plan names",
        hint="make a new plan: eaglekit convert SRC DST",
    )


def _overflow(name: str, count: int) -> Finding:
    return Finding(
        "cast-overflow",
        f"{count} value{'s' if count > 1 else ''} of {name} overflow{'s' if count == 1 else ''} in the new dtype",
        place=name,
        got=str(count),
        expected="0",
        hint="cast to bfloat16 or float32, or say --force-overflow to write infinities",
    )
