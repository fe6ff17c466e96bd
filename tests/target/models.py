"""Tiny targets: made by transformers with a fixed seed, and the ones that quantisers wrote."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file

from eaglekit.checkpoint import LocalFolder
from eaglekit.target.model import TargetModel, open_model
from eaglekit.target.texts import Text

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "targets"
RECORDED = FIXTURES.parent / "expected"
VOCABULARY = 160

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 256,
    "initializer_range": 0.08,
    "pad_token_id": None,
    "bos_token_id": 0,
    "eos_token_id": 1,
}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
LATENT = {
    "num_key_value_heads": 4,
    "moe_intermediate_size": 32,
    "first_k_dense_replace": 1,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_group": 2,
    "topk_group": 1,
    "n_shared_experts": 1,
    "q_lora_rank": 48,
    "kv_lora_rank": 32,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
}
YARN = {
    "rope_type": "yarn", "rope_theta": 50000.0, "factor": 4.0, "original_max_position_embeddings": 64,
    "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
}  # fmt: skip

FAMILIES: dict[str, Callable[[], Any]] = {
    "llama": lambda: transformers.LlamaConfig(**SIZES),
    "llama, tied": lambda: transformers.LlamaConfig(**SIZES, tie_word_embeddings=True),
    "qwen2 with biases": lambda: transformers.Qwen2Config(**SIZES),
    "qwen3": lambda: transformers.Qwen3Config(**SIZES, head_dim=32),
    "mistral, sliding window": lambda: transformers.MistralConfig(**SIZES, sliding_window=8),
    "qwen3-moe": lambda: transformers.Qwen3MoeConfig(**SIZES, head_dim=16, **EXPERTS),
    "qwen2-moe": lambda: transformers.Qwen2MoeConfig(**SIZES, **EXPERTS, shared_expert_intermediate_size=48),
    "mixtral": lambda: transformers.MixtralConfig(**SIZES, num_local_experts=4),
    "deepseek-v3": lambda: transformers.DeepseekV3Config(**{**SIZES, **LATENT, "rope_parameters": YARN}),
}
MOE = ("qwen3-moe", "qwen2-moe", "mixtral", "deepseek-v3")


def make(folder: Path, family: str = "llama", *, dtype: torch.dtype = torch.bfloat16, shard: str = "5GB") -> Any:
    """Save a target of that family; transformers' own model of it, loaded again in float32."""
    torch.manual_seed(20261129)
    config = FAMILIES[family]()
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            # Norms of ones would hide a norm that is left out or applied twice.
            if parameter.ndim == 1:
                parameter += 0.2 * torch.randn(parameter.shape).to(dtype)
    for name, buffer in model.named_buffers():
        if name.endswith("e_score_correction_bias"):
            buffer.copy_(0.1 * torch.randn(buffer.shape))
    model.save_pretrained(folder, max_shard_size=shard)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return loaded.eval()


def opened(folder: Path) -> TargetModel:
    """The target in a folder."""
    return open_model(LocalFolder(folder))


def text(length: int, seed: int = 0, *, identity: str = "", prompt: int = 1) -> Text:
    """A text of random ids."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(2, VOCABULARY, (length,), generator=generator).tolist()
    return Text(identity or f"text {length} {seed}", "", tuple(tokens), prompt)


def whole(model: Any, text: Text) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
    """Every boundary's states, the final states and the logits, by transformers; boundary N by a hook."""
    raw: list[torch.Tensor] = []
    handle = model.model.layers[-1].register_forward_hook(lambda module, inputs, output: raw.append(output))
    with torch.no_grad():
        out = model(torch.tensor([text.tokens]), output_hidden_states=True, use_cache=False)
    handle.remove()
    states = [*out.hidden_states[:-1], raw[0]]
    return [state[0] for state in states], out.hidden_states[-1][0], out.logits[0]


def fixture(name: str, folder: Path) -> Path:
    """A copy of a quantiser's target."""
    shutil.copytree(FIXTURES / name, folder, dirs_exist_ok=True)
    return folder


def expected(name: str) -> dict[str, torch.Tensor]:
    """What the script of a fixture recorded."""
    recorded: dict[str, torch.Tensor] = load_file(RECORDED / f"{name}.safetensors")
    return recorded


def edit_config(folder: Path, **changes: Any) -> None:
    """Change keys of config.json; None removes one."""
    file = folder / "config.json"
    config = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps({key: value for key, value in config.items() if value is not None}))


def edit_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """Change the tensors of model.safetensors."""
    file = folder / "model.safetensors"
    tensors = load_file(file)
    change(tensors)
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, file, {"format": "pt"})


def renamed(folder: Path, rename: Callable[[str], str]) -> None:
    """Rename every tensor."""

    def change(tensors: dict[str, torch.Tensor]) -> None:
        for name in list(tensors):
            tensors[rename(name)] = tensors.pop(name)

    edit_weights(folder, change)


def codes(findings: Iterable[Any]) -> set[str]:
    """The codes of findings."""
    return {finding.code for finding in findings}
