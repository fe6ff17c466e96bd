"""A target, opened: its blocks as transformers defines them and, for each parameter, where its values lie.

Opening reads config, index and headers. Every tensor has a place, is left behind for a reason, or refused.
V vocabulary, G hidden size.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float

from eaglekit.checkpoint import Source, Tensor, open_source
from eaglekit.checkpoint.lookup import Library, open_library
from eaglekit.checkpoint.model import digest_of
from eaglekit.report import Finding, Refusal
from eaglekit.report.json_text import compact
from eaglekit.target.configuration import refuse_large, text_config, transformers_config
from eaglekit.target.experts import Experts
from eaglekit.target.formats.recognise import LinearFormat, by_module, is_dropped
from eaglekit.target.formats.table import Group
from eaglekit.target.gathering import gathered
from eaglekit.target.loading import load, prove
from eaglekit.target.names import sort_names
from eaglekit.target.reading import Reader
from eaglekit.target.skeleton import Skeleton, build
from eaglekit.target.weights import ROUTERS, ModuleWeights, bind, recognised

ROWS_COMPARED = 64
EMBEDDING, HEAD, NORMS = "embed_tokens", "lm_head", ("norm", "final_layernorm")


@dataclass(frozen=True)
class TargetModel:
    """A target whose every tensor has its place; nothing of the weights was read yet."""

    library: Library
    skeleton: Skeleton
    blocks: tuple[ModuleWeights, ...]
    norm: ModuleWeights
    embedding_source: LinearFormat
    head_source: LinearFormat
    """The head's own matrix, or the embedding of a tied model."""
    left: Mapping[str, str]
    """Tensor that is not read -> why."""
    config: Mapping[str, Any]
    """The text part of config.json, as read."""

    @property
    def num_layers(self) -> int:
        """N: blocks."""
        return len(self.blocks)

    @property
    def hidden_size(self) -> int:
        """G."""
        return self.embedding_source.shape[1]

    @property
    def vocab_size(self) -> int:
        """V."""
        return self.embedding_source.shape[0]

    @property
    def model_type(self) -> str:
        """The text model's type as the folder says it."""
        return str(self.config["model_type"])

    @property
    def source(self) -> Source:
        """The folder."""
        return self.library.source

    @property
    def name(self) -> str:
        """What may be published as its name: Hub id and commit, or the last part of the folder's path."""
        identity = self.source.identity()
        if "repo" in identity:
            return f"{identity['repo']}@{identity['commit']}" if "commit" in identity else identity["repo"]
        return self.source.label.rstrip("/").rpartition("/")[2] or self.model_type

    @property
    def size_bytes(self) -> int:
        """Bytes that a whole pass streams: blocks and head."""
        return sum(block.size_bytes + block.experts_bytes for block in self.blocks) + self.head_source.size_bytes

    @cached_property
    def digest(self) -> str:
        """`sha256:...` over the config and every header: the same for a copy of the folder."""
        stamps = {name: text.rpartition(" ")[0] for name, text in self.library.evidence.items()}
        config = hashlib.sha256(compact(self.library.config).encode()).hexdigest()
        return digest_of({"config": config, **stamps})

    @property
    def formats(self) -> dict[str, int]:
        """Weight format -> how many weights have it; norms and biases count as plain."""
        counts: dict[str, int] = {}
        for block in self.blocks:
            sources = [filling.source for filling in block.fillings]
            sources += [source for expert in block.experts for source in expert.sources]
            for source in sources:
                counts[source.format.name] = counts.get(source.format.name, 0) + 1
        return dict(sorted(counts.items()))

    def embedding(self, device: torch.device | str, dtype: torch.dtype) -> Float[torch.Tensor, "V G"]:
        """The whole embedding table, for a drafter that shares it."""
        return self._whole(self.embedding_source, device, dtype)

    def head(self, device: torch.device | str, dtype: torch.dtype) -> Float[torch.Tensor, "V G"]:
        """The whole head, for a drafter that shares it; the embedding where they are tied."""
        return self._whole(self.head_source, device, dtype)

    def _whole(
        self, source: LinearFormat, device: torch.device | str, dtype: torch.dtype
    ) -> Float[torch.Tensor, "V G"]:
        with Reader(self.source) as reader:
            table = load(source, reader, dtype, torch.device(device))
            prove(reader)
        return table


def open_model(source: Source) -> TargetModel:
    """The target in `source`. Raises `Refusal` with all that is wrong: family, config, missing or odd tensors."""
    library = open_library(source)
    if not library.names:
        open_source(source)  # says what is wrong with the files, where something is
        raise Refusal(_no_safetensors(source.label))
    refuse_large(library.config, source.label)
    text = text_config(library.config, source.label)
    config = transformers_config(text, source.label)
    names = sort_names(library.names, str(text["model_type"]), config.num_hidden_layers)
    findings = [_twice(*pair) for pair in names.twice]
    # Before anything of that many blocks is built.
    absent = config.num_hidden_layers - len(names.blocks)
    if absent:
        shown = [number for number in range(min(config.num_hidden_layers, 1000)) if number not in names.blocks][:8]
        findings.append(_no_block(shown, absent, source.label))
    if findings:
        raise Refusal(*findings)
    skeleton = build(config, source.label)
    left = dict(names.left)
    blocks = []
    for number, block in enumerate(skeleton.blocks):
        tensors = {name: library.tensor(on_disk) for name, on_disk in names.blocks[number].items()}
        experts = skeleton.experts.get(number, "")
        blocks.append(bind(f"layers.{number}", block, tensors, experts_path=experts, findings=findings))
        left |= blocks[-1].left or {}
    outside = {name: library.tensor(on_disk) for name, on_disk in names.outside.items()}
    norm, embedding, head = _bind_outside(skeleton, outside, left, findings)
    if findings or norm is None or embedding is None or head is None:
        raise Refusal(*gathered(findings))
    if config.tie_word_embeddings:
        _refuse_other_head(source, embedding, head)
    _place_experts(skeleton)
    return TargetModel(library, skeleton, tuple(blocks), norm, embedding, head, left, text)


def _bind_outside(
    skeleton: Skeleton, tensors: Mapping[str, Tensor], left: dict[str, str], findings: list[Finding]
) -> tuple[ModuleWeights | None, LinearFormat | None, LinearFormat | None]:
    """Final norm, embedding and head: what stands outside of the blocks."""
    config = skeleton.config
    modules = by_module(tensors)
    table = (config.vocab_size, config.hidden_size)
    norms = {name: modules.pop(name) for name in NORMS if name in modules}
    stored = norms.pop(skeleton.norm_name, {})
    strangers = [tensor for parts in norms.values() for tensor in parts.values()]
    norm = bind(skeleton.norm_name, skeleton.norm, stored, experts_path="", findings=findings)
    embedding = _table(EMBEDDING, modules.pop(EMBEDDING, {}), table, findings)
    own = modules.pop(HEAD, {})
    head = _table(HEAD, own, table, findings) if own or not config.tie_word_embeddings else embedding
    for parts in modules.values():
        if is_dropped(parts):
            left |= {tensor.name: "a scale that nothing here needs" for tensor in parts.values()}
        else:
            strangers += list(parts.values())
    findings += [_stranger(tensor) for tensor in strangers]
    return norm, embedding, head


def _table(
    name: str, parts: Mapping[str, Tensor], shape: tuple[int, int], findings: list[Finding]
) -> LinearFormat | None:
    """The format of embedding or head; rows of it are read one by one."""
    if not parts:
        findings.append(
            Finding(
                "target-tensor-absent",
                f"the target has no tensor for {name}.weight",
                place=f"{name}.weight",
                got="absent",
                expected=f"{list(shape)}, plain or quantised",
                hint="the target is incomplete: fetch the missing shard",
            )
        )
        return None
    source = recognised(name, parts, shape, findings)
    if source is not None and source.group is Group.SQUARE:
        findings.append(
            Finding(
                "target-table-format",
                f"{name} is quantised in squares, and single rows of it cannot be read",
                place=next(iter(source.parts.values())).name,
                got=source.format.name,
                expected="plain, or scales per row",
                hint="export the target with a plain embedding and head",
            )
        )
        return None
    return source


def _refuse_other_head(source: Source, embedding: LinearFormat, head: LinearFormat) -> None:
    """Raise `Refusal` when a tied target holds a head of its own that differs; a few rows show it."""
    first, second = (list(table.parts.values()) for table in (embedding, head))
    rows = range(0, embedding.shape[0], max(1, embedding.shape[0] // ROWS_COMPARED))
    same = [tensor.dtype for tensor in first] == [tensor.dtype for tensor in second]
    if same and embedding is not head:
        same = all(_row(source, first[0], row) == _row(source, second[0], row) for row in rows)
    if not same:
        raise Refusal(
            Finding(
                "target-head-differs",
                f"the target ties head and embedding, but {second[0].name} differs from {first[0].name}",
                place=second[0].name,
                got="different content",
                expected="equal tensors, or tie_word_embeddings false",
                hint="correct the flag in config.json, or remove the head that is not meant",
            )
        )


def _row(source: Source, tensor: Tensor, row: int) -> bytes:
    width = tensor.size_bytes // tensor.shape[0]
    return source.read(tensor.file, tensor.start + row * width, tensor.start + (row + 1) * width)


def _place_experts(skeleton: Skeleton) -> None:
    """Put our experts where those of transformers stand, and feed routers float32."""
    for number, path in skeleton.experts.items():
        owner_path, _, name = path.rpartition(".")
        owner = skeleton.blocks[number].get_submodule(owner_path)
        setattr(owner, name, Experts(getattr(owner, name)))
        for router in ROUTERS:
            if isinstance(getattr(owner, router, None), torch.nn.Module):
                getattr(owner, router).register_forward_pre_hook(_in_float32, with_kwargs=True)


def _in_float32(module: torch.nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The same call with floating tensors in float32: near ties must not depend on the dtype of the rest."""

    def wide(value: Any) -> Any:
        return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    return tuple(map(wide, args)), {name: wide(value) for name, value in named.items()}


def _no_safetensors(label: str) -> Finding:
    return Finding(
        "target-not-safetensors",
        f"the weights of target {label} are not in safetensors files with an index",
        place=label,
        expected="model.safetensors, or model.safetensors.index.json with its shards",
        hint="save the target again with transformers: save_pretrained writes safetensors",
    )


def _twice(first: str, second: str) -> Finding:
    return Finding(
        "target-tensor-twice",
        f"{first} and {second} are the same tensor under two prefixes",
        place=second,
        got=f"{first}, {second}",
        expected="one of the two",
        hint="two exports were mixed in one folder: keep one",
    )


def _no_block(numbers: list[int], count: int, label: str) -> Finding:
    shown = ", ".join(map(str, numbers))
    return Finding(
        "target-block-absent",
        f"the target has no tensors for {count} of its blocks: {shown}{' and more' if count > len(numbers) else ''}",
        place=f"{label} config.json num_hidden_layers",
        got="absent",
        expected="a tensor for every parameter of every block",
        hint="the target is incomplete, or its config is another model's",
    )


def _stranger(tensor: Tensor) -> Finding:
    return Finding(
        "target-tensor-unknown",
        f"{tensor.name} is {tensor.dtype} {list(tensor.shape)}, and no part of the model has a place for it",
        place=tensor.name,
        got=f"{tensor.dtype} {list(tensor.shape)}",
        expected="blocks, an embedding, a final norm and a head",
        hint="a tensor that is passed over could change the function: check that config and weights belong together",
    )
