"""`model.safetensors.index.json` and its .bin twin: an allow-list, checked in both directions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eaglekit.checkpoint.file_names import one_on_some_disk, unsafe_reason
from eaglekit.checkpoint.header import shortened
from eaglekit.checkpoint.model import Tensor
from eaglekit.report import Finding, Refusal

INDEX_LIMIT = 100 << 20
"""Largest index read, in bytes: 200,000 expert tensors need about 25 MB."""


@dataclass(frozen=True, slots=True)
class Index:
    """Which shard holds which tensor, as written; every shard name is safe to look up in the folder."""

    file: str
    weight_map: Mapping[str, str]
    total_size: int | None

    @property
    def shards(self) -> tuple[str, ...]:
        """The shard files it names, sorted."""
        return tuple(sorted(set(self.weight_map.values())))


def parse_index(document: Mapping[str, Any], file: str, files: Mapping[str, int]) -> Index:
    """The index in `document`. Raises `Refusal` for shards that are unsafely named or absent from `files`."""
    weight_map = document.get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise Refusal(
            Finding(
                "index-invalid",
                f"{file} has no weight_map",
                place=f"{file}: weight_map",
                got=type(weight_map).__name__ if weight_map is not None else "absent",
                expected="an object: tensor name -> shard file",
                hint="delete the index if the weights are one file, or write it again from the shards",
            )
        )
    findings = [_not_a_name(file, name, shard) for name, shard in weight_map.items() if not isinstance(shard, str)]
    if not findings:
        findings.extend(_shard_problems(file, sorted(set(weight_map.values())), files))
    metadata = document.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if findings:
        raise Refusal(*shortened(findings))
    # Some producers write the sum as a float.
    return Index(file, weight_map, int(total) if isinstance(total, (int, float)) else None)


def _not_a_name(file: str, tensor: str, shard: Any) -> Finding:
    return Finding(
        "index-invalid",
        f"{file} maps {tensor!r} to something that is not a file name",
        place=f"{file}: weight_map.{tensor}",
        got=type(shard).__name__,
        expected="the name of a shard",
    )


def _shard_problems(file: str, shards: list[str], files: Mapping[str, int]) -> Iterator[Finding]:
    for shard in shards:
        reason = unsafe_reason(shard)
        if reason:
            yield Finding(
                "index-path-unsafe",
                f"{file} names the shard {shard!r}, which {reason}",
                place=f"{file}: weight_map",
                got=shard,
                expected="a plain file name inside the folder",
                hint="do not use this checkpoint unless you know why its index points elsewhere",
            )
        elif shard not in files:
            yield Finding(
                "shard-missing",
                f"{file} names the shard {shard}, and the folder has no such file",
                place=shard,
                got="absent",
                expected="a file of the folder",
                hint="download the rest of the checkpoint; engines that skip the file serve uninitialised weights",
            )
    for first, second in one_on_some_disk(shards):
        yield Finding(
            "index-path-unsafe",
            f"{file} names {first!r} and {second!r}, which are one file on macOS or Windows",
            place=f"{file}: weight_map",
            got=f"{first} and {second}",
            expected="names that differ on every disk",
            hint="rename one of them, in the index too",
        )


def bind(index: Index, shards: Mapping[str, Mapping[str, Tensor]]) -> tuple[dict[str, Tensor], list[Finding]]:
    """One table over all shards, and the warnings about it.

    `shards` is shard file -> what its own header says. Raises `Refusal` when index and headers disagree.
    """
    findings = [*_absent(index, shards), *_unlisted(index, shards), *_twice(shards)]
    if findings:
        raise Refusal(*shortened(findings))
    tensors = {name: shards[shard][name] for name, shard in index.weight_map.items()}
    size_bytes = sum(tensor.size_bytes for tensor in tensors.values())
    if index.total_size is None or index.total_size == size_bytes:
        return tensors, []
    return tensors, [
        Finding(
            "index-total-size",
            f"{index.file} says the tensors have {index.total_size} bytes; they have {size_bytes}",
            place=f"{index.file}: metadata.total_size",
            got=str(index.total_size),
            expected=str(size_bytes),
        )
    ]


def _absent(index: Index, shards: Mapping[str, Mapping[str, Tensor]]) -> Iterator[Finding]:
    for name, shard in index.weight_map.items():
        if name in shards[shard]:
            continue
        elsewhere = sorted(other for other, tensors in shards.items() if name in tensors)
        yield Finding(
            "index-tensor-missing",
            f"{index.file} places {name!r} in {shard}, which does not hold it",
            place=f"{shard}: {name}",
            got=f"found in {', '.join(elsewhere)}" if elsewhere else "in no shard",
            expected=f"in {shard}",
            hint="write the index again from the headers of the shards"
            if elsewhere
            else "the checkpoint is incomplete: get it again, or write the index again if the tensor is not meant",
        )


def _unlisted(index: Index, shards: Mapping[str, Mapping[str, Tensor]]) -> Iterator[Finding]:
    for shard, tensors in shards.items():
        for name in tensors:
            if name not in index.weight_map:
                yield Finding(
                    "index-tensor-unlisted",
                    f"{shard} holds {name!r}, which {index.file} does not list",
                    place=f"{shard}: {name}",
                    got="absent from weight_map",
                    expected="every tensor of a listed shard",
                    hint="list the tensor or remove it: some engines load whole shards, others only what is listed",
                )


def _twice(shards: Mapping[str, Mapping[str, Tensor]]) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for shard, tensors in sorted(shards.items()):
        for name in tensors:
            if first.setdefault(name, shard) != shard:
                yield Finding(
                    "tensor-in-two-shards",
                    f"{name!r} lies in {first[name]} and in {shard}",
                    place=f"{shard}: {name}",
                    got=f"{first[name]} and {shard}",
                    expected="one shard",
                    hint="keep the one that is meant: which of the two an engine loads depends on its file order",
                )
