"""Checkpoints that are no EAGLE-3 drafter, recognised by shape so that they can be refused by name."""

from __future__ import annotations

from dataclasses import dataclass

from eaglekit.dialects.dialect import Clue


@dataclass(frozen=True, slots=True)
class Stranger:
    """A kind of model, its signs (all must hold), and where to go with it."""

    code: str
    what: str
    signs: tuple[Clue, ...]
    hint: str


def _tensor(pattern: str) -> Clue:
    return Clue("tensor", pattern)


def _no_tensor(pattern: str) -> Clue:
    return Clue("no tensor", pattern)


_DFLASH = "serve it with its own method; eaglekit converts EAGLE-3 and EAGLE 3.1 drafters only"

STRANGERS: tuple[Stranger, ...] = (
    Stranger("is-other-gguf", "a GGUF file of another of llama.cpp's models",
             (Clue("other value", "general.architecture", ("eagle3",)),),
             "only drafters of architecture eagle3 are read; a target is given in its own format, with --target"),
    Stranger("is-lora", "a LoRA adapter, not a model", (_tensor("*lora_A*"),),
             "merge the adapter into its drafter with the trainer's own tool, then convert the merged folder"),
    Stranger("is-lora", "a LoRA adapter, not a model", (Clue("key", "peft_type"),),
             "merge the adapter into its drafter with the trainer's own tool, then convert the merged folder"),
    Stranger("is-dflash", "a DFlash drafter (block drafting)", (Clue("key", "dflash_config"),), _DFLASH),
    Stranger("is-dflash", "a DFlash or DSpark drafter (block drafting)",
             (Clue("key", "block_size"), _tensor("fc.weight")),
             _DFLASH),
    Stranger("is-dflash", "a DSpark drafter (block drafting, recurrent head)", (_tensor("prefix_gru*"),), _DFLASH),
    Stranger("is-dflash", "a DSpark drafter (block drafting)", (Clue("key", "dspark_config"),), _DFLASH),
    Stranger("is-medusa", "a set of Medusa heads", (Clue("key", "medusa_num_heads"),),
             "Medusa heads have no attention; serve them with the engine's medusa method"),
    Stranger("is-medusa", "a set of Medusa heads", (_tensor("medusa_head*"),),
             "Medusa heads have no attention; serve them with the engine's medusa method"),
    Stranger("is-mtp", "a multi-token-prediction (MTP) block", (_tensor("*eh_proj.weight"), _tensor("*enorm.weight")),
             "MTP blocks are served from the target's own checkpoint with the engine's mtp method"),
    Stranger("is-mtp", "a multi-token-prediction (MTP) block", (_tensor("mtp.*"), _no_tensor("*hidden_norm.weight")),
             "MTP blocks are served from the target's own checkpoint with the engine's mtp method"),
    Stranger("is-low-rank", "a TorchSpec drafter with a low-rank head (lm_head.down, lm_head.up)",
             (_tensor("lm_head.down.weight"),),
             "no engine loads a factored head; export it from TorchSpec with a full lm_head"),
    Stranger("is-moe-drafter", "a TorchSpec drafter with a mixture-of-experts MLP",
             (_tensor("*mlp.experts.*"), _tensor("*hidden_norm.weight")),
             "no engine loads an MoE drafter; train a dense one"),
    Stranger("is-kimi-k3", "a Kimi K3 drafter (NoPE latent attention with an output gate)",
             (_tensor("*self_attn.g_proj*"), _tensor("*hidden_norm.weight")),
             "only engines with a loader of its own serve it; there is nothing portable to convert to"),
    Stranger("is-enorm-eagle", "NVIDIA's older EAGLE variant (eh_proj before attention)",
             (Clue("value", "eagle_config.eh_proj_before_attn", (True,)),),
             "only TensorRT-LLM reads it; serve it there as it is"),
    Stranger("is-eagle-1", "an EAGLE-1/2 drafter: fc reads 2H and no hidden_norm",
             (_tensor("fc.weight"), _no_tensor("*hidden_norm.weight"), _tensor("layers.0.*")),
             "serve it with the engine's `eagle` method beside its target, whose head (and embedding, where none is "
             "stored) it uses; it is never EAGLE-3"),
    Stranger("is-target", "an ordinary language model, a target or a small draft model, not an EAGLE-3 drafter",
             (_tensor("*embed_tokens.weight"), _tensor("*layers.1.*"), _no_tensor("*fc.weight"),
              _no_tensor("*hidden_norm.weight")),
             "to use it as the target, pass it with --target; to draft with it, use the engine's draft-model method"),
    Stranger("is-target", "an ordinary language model, a target or a small draft model, not an EAGLE-3 drafter",
             (_tensor("*embed*.weight"), _tensor("*lm_head.weight"), _no_tensor("*fc.weight"),
              _no_tensor("*hidden_norm.weight")),
             "to use it as the target, pass it with --target; to draft with it, use the engine's draft-model method"),
)  # fmt: skip
"""In the order they are tried: the most particular first."""
