"""How the drafter is built, in words: attention, captured states, norms, vocabulary, whose embedding and head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eaglekit.drafter.spec import Attention, Feedback, FusionNorm, Residual
from eaglekit.hub.card.matter import CardMatter
from eaglekit.hub.card.words import code, listed, table, words

IDS = "eagle_aux_hidden_state_layer_ids"
FLAGS: tuple[tuple[str, str, str, bool, str], ...] = (
    ("fusion_norm", FusionNorm.PER_STATE.value, "fc_norm", True, "each captured state has its own RMSNorm before `fc`"),
    ("fusion_norm", FusionNorm.WHOLE.value, "norm_before_fc", True,
     "one RMSNorm over the captured states side by side, before `fc`"),
    ("fusion_norm", FusionNorm.NONE.value, "fc_norm", False, "the captured states enter `fc` as they are"),
    ("feedback", Feedback.NORMED.value, "norm_output", True, "the next draft step gets the state after the final norm"),
    ("feedback", Feedback.RAW.value, "norm_output", False, "the next draft step gets the state before the final norm"),
    ("residual", Residual.NORMED.value, "norm_before_residual", True, "the residual starts behind `hidden_norm`"),
    ("residual", Residual.RAW.value, "norm_before_residual", False, "the residual starts in front of `hidden_norm`"),
)  # fmt: skip
"""Fact, its value -> the flag in config.json, its value, what that means."""


def architecture(matter: CardMatter) -> Iterator[str]:
    """A list of what the drafter is, and a table of its flags."""
    lines = [line for line in (_attention(matter), _states(matter), _ids(matter), _vocabulary(matter), _own(matter),
                               _context(matter)) if line]  # fmt: skip
    if lines:
        yield "\n".join(f"- {line}" for line in lines)
    rows = [
        (f"`{flag}`", "true" if value else "false", meaning)
        for fact, means, flag, value, meaning in FLAGS
        if matter.fact(fact) == means
    ]
    if matter.fact("qk_norm") is True:
        rows.append(("q/k norms", "stored", "queries and keys have an RMSNorm each head"))
    if rows:
        yield table(("flag", "value", "meaning"), rows)


def _attention(matter: CardMatter) -> str:
    kind = KINDS.get(str(matter.fact("attention")))
    said = [
        f"{_number(matter, name, before)}{after}"
        for name, before, after in SIZES
        if matter.fact(name) is not None and (matter.fact("attention") == Attention.GQA.value or name not in GQA_ONLY)
    ]
    return f"**Attention:** {', '.join([kind, *said])}." if kind is not None else ""


KINDS = {
    Attention.GQA.value: "grouped-query attention (GQA)",
    Attention.MLA.value: "multi-head latent attention (MLA)",
}
SIZES = (
    ("num_heads", "", " heads"),
    ("num_kv_heads", "", " of keys and values"),
    ("head_dim", "", " channels a head"),
    ("kv_lora_rank", "keys and values compressed to ", " channels"),
    ("hidden_size", "hidden size ", ""),
    ("intermediate_size", "MLP ", ""),
    ("dtype", "stored as ", ""),
)
"""Fact, and the words before and after its value."""
GQA_ONLY = ("num_kv_heads", "head_dim")


def _number(matter: CardMatter, name: str, before: str) -> str:
    value = matter.fact(name)
    return f"{before}{words(f'{value:,}' if isinstance(value, int) else value)}"


def _states(matter: CardMatter) -> str:
    layers, blocks = matter.fact("aux_layers"), matter.fact("target_layers")
    if not isinstance(layers, Sequence) or not layers:
        return ""
    of = f" of the target's {words(blocks)} blocks" if isinstance(blocks, int) else ""
    return (
        f"**Target states it reads:** {len(layers)}, at boundaries {words(listed(layers))}{of}. Boundary *k* is the "
        "residual stream after *k* blocks: 0 is the embeddings, and `hidden_states[k]` of transformers."
    )


def _ids(matter: CardMatter) -> str:
    """What the file says in its own count, where engines look for it."""
    nested = matter.config.get("eagle_config")
    top, inner = matter.config.get(IDS), nested.get(IDS) if isinstance(nested, Mapping) else None
    shown = [
        f"under {code(place)} it holds {code(_ids_text(ids))}, {_count(matter, ids)}, for {reader}"
        for place, ids, reader in ((IDS, top, "vLLM"), (f"eagle_config.{IDS}", inner, "SGLang"))
        if isinstance(ids, list)
    ]
    return f"**The same in config.json:** {'; '.join(shown)}." if shown else ""


def _count(matter: CardMatter, ids: Sequence[Any]) -> str:
    """How ids of the file count, by what they mean. SGLang counts by the target's class."""
    layers = list(matter.fact("aux_layers") or ())
    if ids == layers:
        return "boundaries"
    outputs = [index + 1 if isinstance(index, int) else index for index in ids]
    return "outputs of blocks counted from 0" if outputs == layers else "counted as that engine does"


def _ids_text(ids: Sequence[Any]) -> str:
    return f"[{', '.join(map(str, ids))}]"


def _vocabulary(matter: CardMatter) -> str:
    drafts, all_tokens = matter.fact("draft_vocab_size"), matter.fact("vocab_size")
    if drafts is None or all_tokens is None:
        return ""
    if drafts == all_tokens:
        return f"**Draft vocabulary:** all {words(f'{all_tokens:,}')} tokens of the target."
    return (
        f"**Draft vocabulary:** {words(f'{drafts:,}')} of the target's {words(f'{all_tokens:,}')} tokens, mapped by "
        "`d2t`; a token outside it is never proposed."
    )


def _own(matter: CardMatter) -> str:
    parts = []
    for row in matter.rows("shared-parts"):
        told = (
            WHOSE.get(str(row.get(BESIDE)), "stored")
            if row.get("whose") == "own"
            else "not stored: the target's is used"
        )
        parts.append(f"the {words(row.get('part'))} is {told}")
    return f"**Embedding and head:** {'; '.join(parts)}." if parts else ""


BESIDE = "beside the target's"
"""Column of the report's table of shared parts that says how a stored part compares."""
WHOSE = {
    "a copy": "stored, a copy of the target's",
    "a copy, by sampled rows": "stored, by sampled rows a copy of the target's",
    "trained along: similar rows": "stored, the target's trained further",
    "random-looking": "stored, unlike the target's",
}


def _context(matter: CardMatter) -> str:
    trained, table_length = matter.fact("trained_context_length"), matter.fact("max_position_embeddings")
    if isinstance(trained, int):
        return f"**Context:** trained on up to {trained:,} tokens."
    return f"**Context:** positions up to {table_length:,}." if isinstance(table_length, int) else ""
