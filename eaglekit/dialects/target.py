"""A target model as far as a drafter depends on it: sizes, depth, family, embedding and head."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eaglekit.checkpoint import Source, Tensor
from eaglekit.checkpoint.lookup import Library, open_library
from eaglekit.checkpoint.model import FLOATS
from eaglekit.dialects.clues import at
from eaglekit.report import Finding, Refusal

TEXT_CONFIGS = ("text_config", "language_config", "llm_config", "thinker_config.text_config", "")
"""Where the text model's config sits; the first that has a vocabulary counts, the top level last."""

EMBEDDINGS = (
    "model.embed_tokens.weight",
    "model.language_model.embed_tokens.weight",
    "model.language_model.model.embed_tokens.weight",
    "language_model.model.embed_tokens.weight",
    "language_model.embed_tokens.weight",
    "thinker.model.embed_tokens.weight",
    "embed_tokens.weight",
    "backbone.embeddings.weight",
    "model.embeddings.weight",
    "transformer.wte.weight",
    "model.tok_embeddings.weight",
    "tok_embeddings.weight",
)
"""Names of the token embedding, most usual first."""

HEADS = (
    "lm_head.weight",
    "language_model.lm_head.weight",
    "model.language_model.lm_head.weight",
    "model.lm_head.weight",
    "thinker.lm_head.weight",
    "output.weight",
    "head.weight",
)
"""Names of the head, most usual first."""


@dataclass(frozen=True)
class Target:
    """What was learned about a target."""

    label: str
    name: str | None
    """Hub id, when it was given as one."""
    model_type: str | None
    architecture: str | None
    num_layers: int | None
    hidden_size: int
    vocab_size: int
    max_position_embeddings: int | None
    rope_theta: float | None
    tied: bool
    library: Library
    embedding: Tensor | None
    head: Tensor | None
    """The head's own tensor; None when the model is tied, has none, or has one that is quantised."""
    findings: tuple[Finding, ...] = ()

    @property
    def head_source(self) -> Tensor | None:
        """The tensor that acts as the head: its own, or the embedding of a tied model."""
        return self.head if self.head is not None else (self.embedding if self.tied else None)

    @property
    def has_head(self) -> bool:
        """Whether engines find a head to share: a tensor of its own, quantised or not, or a tied embedding."""
        return self.tied or any(name in self.library.names for name in HEADS)


def read_target(source: Source) -> Target:
    """The target in `source`. Only its config, its index and the headers of the shards that hold embedding and head
    are read, and only those shards need to be there. Raises `Refusal` with everything that is wrong."""
    library = open_library(source, partial=True)
    text, path = text_part(library.config, source.label)
    findings: list[Finding] = []
    tied = _tied(library.config, text, path, findings)
    hidden, vocabulary = _size(text, "hidden_size", path, source), _size(text, "vocab_size", path, source)
    embedding = _find(library, EMBEDDINGS, (vocabulary, hidden), "embedding", findings)
    head = _find(library, HEADS, (vocabulary, hidden), "head", findings, optional=True)
    if tied and head is not None and embedding is not None:
        if not _same(library, embedding, head):
            findings.append(_contradiction(head.name, embedding.name))
        head = None
    if findings and any(f.severity and f.severity.value == "error" for f in findings):
        raise Refusal(*findings)
    architectures = at(library.config, "architectures")
    return Target(
        label=source.label,
        name=dict(source.identity()).get("repo"),
        model_type=_optional(text, "model_type", str) or _optional(library.config, "model_type", str),
        architecture=architectures[0] if isinstance(architectures, list) and architectures else None,
        num_layers=_optional(text, "num_hidden_layers", int),
        hidden_size=hidden,
        vocab_size=vocabulary,
        max_position_embeddings=_optional(text, "max_position_embeddings", int),
        rope_theta=_theta(text),
        tied=tied,
        library=library,
        embedding=embedding,
        head=head,
        findings=tuple(findings),
    )


def text_part(config: Mapping[str, Any], label: str) -> tuple[Mapping[str, Any], str]:
    """The part of a config that describes the text model, and where it stands. Raises `Refusal` when there is none."""
    for path in TEXT_CONFIGS:
        part = at(config, path) if path else config
        if isinstance(part, Mapping) and "vocab_size" in part and "hidden_size" in part:
            return part, path
    raise Refusal(
        Finding(
            "target-unreadable",
            f"the config of target {label} has no text model with vocab_size and hidden_size",
            place=f"{label} config.json",
            got=", ".join(sorted(config)[:8]) or "no config",
            expected="a language model's config, or one with " + ", ".join(path for path in TEXT_CONFIGS if path),
            hint="give the folder or Hub id of the target model itself",
        )
    )


def _size(text: Mapping[str, Any], key: str, path: str, source: Source) -> int:
    value = text[key]
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise Refusal(
            Finding(
                "target-unreadable",
                f"the target's {key} cannot be {value!r}",
                place=f"{source.label} config.json {path or 'top level'}",
                got=repr(value)[:80],
                expected="a positive integer",
                hint="give a complete target",
            )
        )
    return value


def _optional(config: Mapping[str, Any], key: str, kind: type) -> Any:
    value = config.get(key)
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _theta(text: Mapping[str, Any]) -> float | None:
    for path in ("rope_theta", "rope_parameters.rope_theta"):
        value = at(text, path)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    return None


def _tied(config: Mapping[str, Any], text: Mapping[str, Any], path: str, findings: list[Finding]) -> bool:
    top, inner = config.get("tie_word_embeddings"), text.get("tie_word_embeddings")
    if path and isinstance(top, bool) and isinstance(inner, bool) and top != inner:
        findings.append(
            Finding(
                "target-tie",
                f"the target says tie_word_embeddings {str(top).lower()} at top level, {str(inner).lower()} in {path}",
                place="target config.json tie_word_embeddings",
                got=str(top).lower(),
                expected=str(inner).lower(),
                hint="the text level counts",
            )
        )
    if isinstance(inner, bool):
        return inner
    return top if isinstance(top, bool) else False


def _find(
    library: Library,
    names: Iterable[str],
    shape: tuple[int, int],
    what: str,
    findings: list[Finding],
    *,
    optional: bool = False,
) -> Tensor | None:
    """The tensor under the first alias that exists, has the right shape and holds numbers that can be copied."""
    seen = []
    for name in names:
        if name not in library.names:
            continue
        if library.names[name] not in library.source.files():
            findings.append(_not_here(library, name, what))
            return None
        tensor = library.tensor(name)
        if tensor.dtype not in FLOATS:
            findings.append(_quantized(tensor, what))
            return None
        if tensor.shape == shape:
            return tensor
        seen.append(f"{name} {list(tensor.shape)}")
    if optional and not seen:
        return None
    words = ("embed", "wte") if what == "embedding" else ("head", "output")
    near = (
        seen or [name for name in library.names if any(word in name for word in words)][:5] or list(library.names)[:5]
    )
    findings.append(
        Finding(
            "target-tensor-missing",
            f"the target's {what} was not found: no tensor of a known name has shape {list(shape)}",
            place=library.source.label,
            got="nearest: " + (", ".join(near) or "no weights in the folder"),
            expected=f"[{shape[0]}, {shape[1]}]",
            hint="give a complete target; its config decides vocabulary and width",
        )
    )
    return None


def _not_here(library: Library, name: str, what: str) -> Finding:
    file = library.names[name]
    return Finding(
        "shard-missing",
        f"the target's {what} {name} is in {file}, and the folder has no such file",
        place=library.source.label,
        got="absent",
        expected=file,
        hint=f"download {file} too; the other shards of a target are not needed",
    )


def _quantized(tensor: Tensor, what: str) -> Finding:
    return Finding(
        "target-table-quantized",
        f"the target's {what} {tensor.name} is {tensor.dtype} {list(tensor.shape)}: it cannot be copied or compared",
        place=tensor.name,
        got=tensor.dtype,
        expected=", ".join(sorted(FLOATS)),
        hint=f"engines can share it; to copy the {what}, give the target before it was quantised",
    )


def _same(library: Library, first: Tensor, second: Tensor, *, piece: int = 8 << 20) -> bool:
    """Whether two tensors of a library hold the same bytes."""
    if (first.dtype, first.shape) != (second.dtype, second.shape):
        return False
    for offset in range(0, first.size_bytes, piece):
        width = min(piece, first.size_bytes - offset)
        left = library.source.read(first.file, first.start + offset, first.start + offset + width)
        right = library.source.read(second.file, second.start + offset, second.start + offset + width)
        if left != right:
            return False
    return True


def _contradiction(head: str, embedding: str) -> Finding:
    return Finding(
        "target-tie-contradiction",
        f"the target ties head and embedding, but {head} differs from {embedding}",
        place=head,
        got="different content",
        expected="equal tensors, or tie_word_embeddings false",
        hint="use a target whose config and weights agree",
    )
