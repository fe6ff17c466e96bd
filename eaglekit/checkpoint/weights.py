"""Which files hold the tensors, and one table over all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from eaglekit.checkpoint.gguf_header import parse_gguf
from eaglekit.checkpoint.header import Header, parse_header, shortened
from eaglekit.checkpoint.index import INDEX_LIMIT, bind, parse_index
from eaglekit.checkpoint.json_document import read_object, too_large
from eaglekit.checkpoint.model import Source, Tensor
from eaglekit.report import Finding, Refusal

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLES = ("pytorch_model.bin", "adapter_model.bin")
PICKLE_INDEX = "pytorch_model.bin.index.json"
OTHER_FORMATS = (".gguf", ".pt", ".pth", ".ckpt", ".npz", ".h5", ".msgpack", ".onnx", ".bin", ".distcp")


@dataclass(frozen=True, slots=True)
class Weights:
    """The tensors of a folder, and the files they lie in."""

    layout: str
    """`single`, `sharded`, `pickle` or `gguf`."""
    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]
    files: tuple[str, ...]
    digests: Mapping[str, str]
    """Weight file -> SHA-256 of its header, index file -> SHA-256 of its bytes."""
    index_files: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    config: Mapping[str, Any] | None = None
    """Of a GGUF file its metadata, which stand in for config.json."""


def holds_gguf_only(files: Mapping[str, int]) -> bool:
    """Whether GGUF files are the only weights at the top of a folder: their header then is the config."""
    names = [name for name in files if "/" not in name]
    rivals = (*PICKLES, PICKLE_INDEX, INDEX)
    return any(name.endswith(".gguf") for name in names) and not any(
        name.endswith(".safetensors") or name in rivals for name in names
    )


Reader = Callable[[Source, str], Header]


def read_weights(source: Source) -> Weights:
    """The weights of `source`: by index, else the only safetensors file, else the pickle, else the only GGUF file.

    Raises `Refusal` when there are none, or more than one answer to which files count.
    """
    files = source.files()
    safetensors = tuple(sorted(name for name in files if name.endswith(".safetensors") and "/" not in name))
    pickles = tuple(name for name in (PICKLE_INDEX, *PICKLES) if name in files)
    if INDEX in files:
        return _beside(_indexed(source, safetensors), pickles)
    if len(safetensors) == 1:
        return _beside(_single(source, safetensors[0], "single", read_header), pickles)
    if safetensors:
        raise Refusal(_several(safetensors))
    if PICKLE_INDEX in files:
        return read_indexed(source, PICKLE_INDEX, "pickle", read_table)
    if pickles:
        return _single(source, pickles[0], "pickle", read_table)
    ggufs = tuple(sorted(name for name in files if name.endswith(".gguf") and "/" not in name))
    if len(ggufs) == 1:
        return _gguf(source, ggufs[0])
    if ggufs:
        raise Refusal(_several_gguf(ggufs))
    raise Refusal(_no_weights(source))


def read_table(source: Source, file: str) -> Header:
    """The table of one pickle; its reader, with zipfile and a child process, is imported only for these."""
    from eaglekit.checkpoint import pickle_table

    return pickle_table.read_table(source, file)


def read_header(source: Source, file: str) -> Header:
    """The header of one safetensors file of `source`."""
    return parse_header(lambda start, end: source.read(file, start, end), source.files()[file], file)


def _single(source: Source, file: str, layout: str, reader: Reader) -> Weights:
    header = reader(source, file)
    if not header.tensors:
        raise Refusal(_empty(file))
    return Weights(layout, header.tensors, header.metadata, (file,), {file: header.digest})


def _gguf(source: Source, file: str) -> Weights:
    header = parse_gguf(lambda start, end: source.read(file, start, end), source.files()[file], file)
    if not header.tensors:
        raise Refusal(_empty(file))
    return Weights("gguf", header.tensors, {}, (file,), {file: header.digest}, config=header.config)


def _beside(weights: Weights, pickles: tuple[str, ...]) -> Weights:
    if not pickles:
        return weights
    finding = Finding(
        "two-weight-formats",
        f"{pickles[0]} lies beside {weights.files[0]}, and only the safetensors are read",
        place=pickles[0],
        got=f"{pickles[0]} and {weights.files[0]}",
        expected="one of the two",
        hint=f"delete {pickles[0]}: SafeAILab's EAGLE would load it instead of the safetensors",
    )
    return replace(weights, findings=(*weights.findings, finding))


def _indexed(source: Source, safetensors: tuple[str, ...]) -> Weights:
    weights = read_indexed(source, INDEX, "sharded", read_header)
    unlisted = [name for name in safetensors if name not in weights.files]
    if SINGLE in unlisted:
        raise Refusal(
            Finding(
                "index-and-single-file",
                f"{SINGLE} lies beside {INDEX}, which does not name it",
                place=SINGLE,
                got=f"{SINGLE} and an index of {', '.join(weights.files[:3])}",
                expected="one of the two",
                hint="delete the one that is left over from an earlier export: engines differ in which they load",
            )
        )
    findings = [
        Finding(
            "weights-file-unlisted",
            f"{name} is not named in {INDEX}, and none of its tensors is read",
            place=name,
            hint="remove the file, or write the index again over all files if its tensors are meant",
        )
        for name in unlisted
    ]
    return replace(weights, findings=(*weights.findings, *findings))


def read_indexed(source: Source, index_file: str, layout: str, reader: Reader) -> Weights:
    """The weights that `index_file` lists, each shard read by `reader`. Raises `Refusal` with every disagreement."""
    files = source.files()
    if files[index_file] > INDEX_LIMIT:
        raise too_large(index_file, files[index_file], INDEX_LIMIT)
    data = source.read(index_file, 0, files[index_file])
    index = parse_index(read_object(data, index_file, limit_bytes=INDEX_LIMIT), index_file, files)
    headers: dict[str, Header] = {}
    findings: list[Finding] = []
    for shard in index.shards:
        try:
            headers[shard] = reader(source, shard)
        except Refusal as refusal:
            findings.extend(refusal.findings)
    if findings:
        raise Refusal(*shortened(findings))
    tensors, findings = bind(index, {shard: header.tensors for shard, header in headers.items()})
    metadata = _merged(headers, findings)
    digests = {shard: header.digest for shard, header in headers.items()}
    digests[index_file] = hashlib.sha256(data).hexdigest()
    return Weights(layout, tensors, metadata, index.shards, digests, (index_file,), tuple(findings))


def _merged(headers: Mapping[str, Header], findings: list[Finding]) -> Mapping[str, str]:
    metadata: dict[str, str] = {}
    for shard, header in headers.items():
        for key, value in header.metadata.items():
            if metadata.setdefault(key, value) != value:
                findings.append(
                    Finding(
                        "metadata-conflict",
                        f"the __metadata__ key {key!r} has one value in {shard} and another in an earlier shard",
                        place=f"{shard}: __metadata__.{key}",
                        got=value[:80],
                        expected=metadata[key][:80],
                    )
                )
    return metadata


def _several(names: tuple[str, ...]) -> Finding:
    return Finding(
        "several-weight-files",
        f"there are {len(names)} safetensors files and no {INDEX}",
        place=", ".join(names[:8]),
        got=f"{len(names)} files",
        expected=f"one file, or an index named {INDEX}",
        hint="remove the files that are not meant, or add the index: engines load every file they find",
    )


def _several_gguf(names: tuple[str, ...]) -> Finding:
    return Finding(
        "several-weight-files",
        f"there are {len(names)} GGUF files",
        place=", ".join(names[:8]),
        got=f"{len(names)} files",
        expected="one file",
        hint="give the drafter's file itself, or put it into a folder of its own",
    )


def _empty(file: str) -> Finding:
    return Finding(
        "weights-missing",
        f"{file} holds no tensor",
        place=file,
        got="0 tensors",
        hint="export the model again: the file has a header and nothing else",
    )


def _no_weights(source: Source) -> Finding:
    others = sorted(name for name in source.files() if name.endswith(OTHER_FORMATS))
    return Finding(
        "weights-missing",
        f"{source.label} has no weights that can be read",
        place=source.label,
        got=", ".join(others[:5]) or "no weight files",
        expected=f"{SINGLE}, {INDEX} with its shards, pytorch_model.bin, or one GGUF file",
        hint="export the trainer's state as a Hugging Face folder first"
        if others
        else "download the weights too: `hf download` fetches the whole folder",
    )
