"""Published configs at real size, over sparse files: recognised, sized and planned without reading weights."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.checkpoint.opening import open_source
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.drafter import Feedback
from eaglekit.drafter.parts import Part, Role
from eaglekit.plan.build import build
from eaglekit.plan.options import Options

SAFEAILAB = {
    "architectures": ["LlamaForCausalLM"], "bos_token_id": 128000, "eos_token_id": 128001, "hidden_act": "silu",
    "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 2048,
    "model_type": "llama", "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 1,
    "pad_token_id": 0, "rms_norm_eps": 1e-05, "tie_word_embeddings": False, "torch_dtype": "float16",
    "transformers_version": "4.28.1", "use_cache": True, "vocab_size": 128256, "draft_vocab_size": 32000,
}  # fmt: skip
"""SafeAILab/EAGLE eagle/traineagle3/config.json."""

SPECFORGE = {
    "architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "attention_bias": False, "head_dim": 128,
    "hidden_size": 2048, "intermediate_size": 12288, "num_hidden_layers": 1, "num_attention_heads": 32,
    "num_key_value_heads": 4, "max_position_embeddings": 2048, "rms_norm_eps": 1e-06, "rope_scaling": None,
    "rope_theta": 1000000.0, "fc_norm": True, "norm_output": True, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16", "vocab_size": 151936, "draft_vocab_size": 32000,
}  # fmt: skip
"""sgl-project/SpecForge configs/qwen3-30B-A3B-eagle3.1.json, the keys with a meaning."""

KIMI = {
    "architectures": ["Eagle3DeepseekV2ForCausalLM"], "model_type": "kimi_k2", "hidden_size": 7168,
    "intermediate_size": 18432, "num_hidden_layers": 1, "num_attention_heads": 64, "num_key_value_heads": 64,
    "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "hidden_act": "silu", "rms_norm_eps": 1e-05, "vocab_size": 163840, "draft_vocab_size": 163840,
    "torch_dtype": "bfloat16", "rope_theta": 50000.0,
    "rope_scaling": {"beta_fast": 1.0, "beta_slow": 1.0, "factor": 64.0, "mscale": 1.0, "mscale_all_dim": 1.0,
                     "original_max_position_embeddings": 4096, "type": "yarn"},
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 29, 57], "use_aux_hidden_state": True,
                     "use_input_layernorm_in_first_layer": True, "use_last_layernorm": True,
                     "use_mtp_layernorm": False},
    "bos_token_id": 163584, "eos_token_id": 163585, "pad_token_id": 0,
}  # fmt: skip
"""TorchSpec configs/draft_models/kimi_k25_eagle3_mla.json."""

SPECULATORS = {
    "architectures": ["Eagle3Speculator"], "auto_map": {"": "config.Eagle3SpeculatorConfig"},
    "draft_vocab_size": 256, "dtype": "float32", "eagle_aux_hidden_state_layer_ids": None,
    "embed_requires_grad": False, "fc_norm": False, "norm_before_fc": False, "norm_before_residual": False,
    "norm_output": False,
    "speculators_config": {
        "algorithm": "eagle3", "default_proposal_method": "greedy",
        "proposal_methods": [{"accept_tolerance": 0.0, "proposal_type": "greedy", "speculative_tokens": 3,
                              "verifier_accept_k": 1}],
        "verifier": {"architectures": ["LlamaForCausalLM"], "name_or_path": "tgt"},
    },
    "speculators_model_type": "eagle3", "speculators_version": "0.9.0", "target_hidden_size": None,
    "tie_word_embeddings": False,
    "transformer_layer_config": {
        "attention_bias": False, "head_dim": 32, "hidden_act": "silu", "hidden_size": 128, "intermediate_size": 256,
        "max_position_embeddings": 512, "mlp_bias": False, "model_type": "llama", "num_attention_heads": 4,
        "num_hidden_layers": 1, "num_key_value_heads": 2, "rms_norm_eps": 1e-05,
        "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}, "tie_word_embeddings": False,
        "vocab_size": 512,
    },
    "transformers_version": "5.19.0",
}  # fmt: skip
"""What the converter of speculators 0.9.0 writes for a small Llama drafter."""


def grouped(config: Mapping[str, Any], layer: str, head_dim: int, norms: int = 0) -> dict[str, list[int]]:
    """Shapes of a GQA drafter without an embedding, in the order its producer lists them."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    query, key = config["num_attention_heads"] * head_dim, config["num_key_value_heads"] * head_dim
    return {
        "fc.weight": [hidden, 3 * hidden],
        **{f"fc_norm.{state}.weight": [hidden] for state in range(norms)},
        f"{layer}hidden_norm.weight": [hidden],
        f"{layer}input_layernorm.weight": [hidden],
        f"{layer}post_attention_layernorm.weight": [hidden],
        f"{layer}self_attn.q_proj.weight": [query, 2 * hidden],
        f"{layer}self_attn.k_proj.weight": [key, 2 * hidden],
        f"{layer}self_attn.v_proj.weight": [key, 2 * hidden],
        f"{layer}self_attn.o_proj.weight": [hidden, query],
        f"{layer}mlp.gate_proj.weight": [inner, hidden],
        f"{layer}mlp.up_proj.weight": [inner, hidden],
        f"{layer}mlp.down_proj.weight": [hidden, inner],
        "norm.weight": [hidden],
    }


KIMI_SHAPES = {
    "embed_tokens.weight": [163840, 7168],
    "fc.weight": [7168, 3 * 7168],
    "midlayer.input_layernorm.weight": [7168],
    "midlayer.hidden_norm.weight": [7168],
    "midlayer.post_attention_layernorm.weight": [7168],
    "midlayer.self_attn.q_a_proj.weight": [1536, 2 * 7168],
    "midlayer.self_attn.q_a_layernorm.weight": [1536],
    "midlayer.self_attn.q_b_proj.weight": [64 * 192, 1536],
    "midlayer.self_attn.kv_a_proj_with_mqa.weight": [576, 2 * 7168],
    "midlayer.self_attn.kv_a_layernorm.weight": [512],
    "midlayer.self_attn.kv_b_proj.weight": [64 * 256, 512],
    "midlayer.self_attn.o_proj.weight": [7168, 64 * 128],
    "midlayer.mlp.gate_proj.weight": [18432, 7168],
    "midlayer.mlp.up_proj.weight": [18432, 7168],
    "midlayer.mlp.down_proj.weight": [7168, 18432],
    "norm.weight": [7168],
    "lm_head.weight": [163840, 7168],
}


@dataclass(frozen=True)
class Published:
    """A published config, the tensors that go with it, and what is expected of the pair."""

    config: Mapping[str, Any]
    dtype: str
    shapes: Mapping[str, list[int]]
    draft: int
    vocabulary: int
    dialect: str
    given: Given = field(default_factory=Given)
    layers: tuple[int, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


PUBLISHED: Mapping[str, Published] = {
    "safeailab": Published(
        SAFEAILAB, "F16", {**grouped(SAFEAILAB, "midlayer.", 128), "lm_head.weight": [32000, 4096]}, 32000, 128256,
        "safeailab", Given(aux_layers="default", target_family="llama", facts={"target_layers": 32}), (2, 16, 29),
        {"head_dim": 128, "num_aux_states": 3, "target_hidden_size": 4096},
    ),
    "specforge": Published(
        SPECFORGE, "BF16", {**grouped(SPECFORGE, "midlayer.", 128, norms=3), "lm_head.weight": [32000, 2048]}, 32000,
        151936, "specforge",
        Given(aux_layers="default", target_family="qwen3_moe",
              facts={"target_layers": 48, "feedback": Feedback.NORMED}), (2, 24, 45),
        {"num_heads": 32, "num_kv_heads": 4, "head_dim": 128},
    ),
    "torchspec-kimi": Published(
        KIMI, "BF16", KIMI_SHAPES, 163840, 163840, "torchspec", Given(facts={"target_layers": 61}), (2, 30, 58),
        {"qk_nope_head_dim": 128, "v_head_dim": 128, "target_ids": None, "target_family": "kimi_k2"},
    ),
    "speculators": Published(
        SPECULATORS, "F32",
        {**grouped(SPECULATORS["transformer_layer_config"], "layers.0.", 32), "lm_head.weight": [256, 128]}, 256, 512,
        "speculators", Given(aux_layers=(2, 16, 29)), (2, 16, 29), {"target_name": "tgt", "speculative_tokens": 3},
    ),
}  # fmt: skip


def every_nth(draft: int, vocabulary: int) -> tuple[bytes, bytes]:
    """d2t offsets and t2d mask of a vocabulary that takes every n-th token."""
    step = vocabulary // draft
    mask = bytearray(vocabulary)
    mask[: step * draft : step] = b"\1" * draft
    return struct.pack(f"<{draft}q", *(row * (step - 1) for row in range(draft))), bytes(mask)


def sparse_folder(folder: Path, published: Published) -> Path:
    """The folder at its real size: a header, the maps, and holes where the weights would be."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(published.config))
    width = 4 if published.dtype == "F32" else 2
    header: dict[str, Any] = {}
    maps: dict[str, bytes] = {}
    start = 0
    if published.draft != published.vocabulary:
        offsets, mask = every_nth(published.draft, published.vocabulary)
        maps = {"d2t": offsets, "t2d": mask}
        header["d2t"] = {"dtype": "I64", "shape": [published.draft], "data_offsets": [0, len(offsets)]}
        start = len(offsets) + len(mask)
        header["t2d"] = {"dtype": "BOOL", "shape": [published.vocabulary], "data_offsets": [len(offsets), start]}
    for name, shape in published.shapes.items():
        size = width * shape[0] * (shape[1] if len(shape) == 2 else 1)
        header[name] = {"dtype": published.dtype, "shape": shape, "data_offsets": [start, start + size]}
        start += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(maps.values()))
        file.truncate(8 + len(text) + start)
    return folder


class CountingFolder(LocalFolder):
    """A local folder that adds up what is read of its weights."""

    __slots__ = ("read_bytes",)

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.read_bytes = 0

    def read(self, file: str, start: int, end: int) -> bytes:
        self.read_bytes += end - start if file.endswith(".safetensors") else 0
        return super().read(file, start, end)


@pytest.fixture(params=PUBLISHED)
def published(request, tmp_path):
    """A published drafter and its folder at real size."""
    return PUBLISHED[request.param], sparse_folder(tmp_path / "drafter", PUBLISHED[request.param])


def allocated(folder: Path) -> int:
    """Bytes of disk behind the weights."""
    return (folder / "model.safetensors").stat().st_blocks * 512


def small_part(drafter: Published) -> int:
    """Bytes of the maps, and room for a header."""
    return (128 << 10) + (0 if drafter.draft == drafter.vocabulary else 8 * drafter.draft + drafter.vocabulary)


def test_a_published_drafter_is_recognised(published):
    drafter, folder = published
    assert read(open_source(LocalFolder(folder)), drafter.given).dialect.name == drafter.dialect


def test_a_published_drafter_is_sized_by_its_tensors(published):
    drafter, folder = published
    spec = read(open_source(LocalFolder(folder)), drafter.given).drafter_or_refuse().spec
    assert {name: getattr(spec, name) for name in drafter.facts} == drafter.facts
    assert spec.aux_layers == drafter.layers


def test_a_published_drafter_is_planned_from_headers_and_maps_alone(published):
    drafter, folder = published
    source = CountingFolder(folder)
    plan = build(read(open_source(source), drafter.given), Options(to="vllm"))
    assert plan.size_bytes >= sum(plan_bytes(drafter).values())
    assert source.read_bytes < small_part(drafter)


def plan_bytes(drafter: Published) -> dict[str, int]:
    width = 4 if drafter.dtype == "F32" else 2
    return {name: width * shape[0] * (shape[1] if len(shape) == 2 else 1) for name, shape in drafter.shapes.items()}


def test_every_tensor_of_a_published_drafter_has_a_role(published):
    drafter, folder = published
    outcome = read(open_source(LocalFolder(folder)), drafter.given)
    named = {tensor.name for tensor in outcome.drafter.tensors.values()}
    assert named == outcome.checkpoint.tensors.keys()
    assert outcome.drafter.tensors[Role(Part.FUSION)].name == "fc.weight"


# VmHWM starts anew with a program; ru_maxrss also counts what the parent had when it started the child.
MEASURED = """
import re, sys
from pathlib import Path
from eaglekit.cli.main import main
sys.argv = ["eaglekit", *sys.argv[1:]]
try:
    main()
finally:
    print("peak", re.search(r"VmHWM:\\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1], file=sys.stderr)
"""
PEAK_KB = 120_000
"""A Python with this command line loaded takes about 60 MB; the smallest file that is planned here has 366 MB."""

DRY_RUNS: Mapping[str, list[str]] = {
    "safeailab": ["--aux-layers", "default", "--target-family", "llama", "--set", "target_layers=32"],
    "specforge": ["--aux-layers", "default", "--target-family", "qwen3_moe", "--set", "target_layers=48",
                  "--set", "norm_output=true"],
    "torchspec-kimi": ["--set", "target_layers=61"],
}  # fmt: skip


@pytest.mark.parametrize("name", DRY_RUNS)
def test_a_dry_run_holds_no_weights_in_memory_and_fills_no_holes(name, tmp_path):
    drafter = PUBLISHED[name]
    folder = sparse_folder(tmp_path / "drafter", drafter)
    before = allocated(folder)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "convert", str(folder), "--dry-run", "--json", *DRY_RUNS[name]],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert json.loads(done.stdout)["ok"] is True
    assert int(done.stderr.split()[-1]) < PEAK_KB
    assert allocated(folder) == before < small_part(drafter) + (1 << 20)
    assert (folder / "model.safetensors").stat().st_size > PEAK_KB * 1024
