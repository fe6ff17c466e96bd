"""One full-size Kimi K2 block (384 experts, hidden 7168, NVFP4, 9.8 GB of random bytes) with 2,048 tokens.

Shows that a block that is larger than memory goes through in groups of experts: peak resident memory stays under 6 GB.
Skips itself, and says so, where the disk is too small. `--gpu` computes on CUDA.
Usage: python benchmarks/kimi_block.py [--tokens 2048] [--memory-limit BYTES] [--gpu] [--folder DIR] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HIDDEN, INNER, EXPERTS, VOCABULARY, TEXT = 7168, 2048, 384, 1024, 512
CONFIG = {
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "kimi_k2", "hidden_size": HIDDEN, "num_hidden_layers": 1,
    "first_k_dense_replace": 0, "n_routed_experts": EXPERTS, "moe_intermediate_size": INNER, "n_shared_experts": 1,
    "num_experts_per_tok": 8, "n_group": 1, "topk_group": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.827,
    "scoring_func": "sigmoid", "topk_method": "noaux_tc", "num_attention_heads": 64, "num_key_value_heads": 64,
    "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "vocab_size": VOCABULARY, "intermediate_size": 18432, "rms_norm_eps": 1e-05, "hidden_act": "silu",
    "max_position_embeddings": 262144, "rope_theta": 50000.0, "tie_word_embeddings": False, "pad_token_id": None,
    "rope_scaling": {"type": "yarn", "factor": 64.0, "original_max_position_embeddings": 4096, "beta_fast": 32.0,
                     "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0},
}  # fmt: skip
PLAIN = {
    "model.embed_tokens.weight": (VOCABULARY, HIDDEN),
    "lm_head.weight": (VOCABULARY, HIDDEN),
    "model.norm.weight": (HIDDEN,),
    "model.layers.0.input_layernorm.weight": (HIDDEN,),
    "model.layers.0.post_attention_layernorm.weight": (HIDDEN,),
    "model.layers.0.self_attn.q_a_proj.weight": (1536, HIDDEN),
    "model.layers.0.self_attn.q_a_layernorm.weight": (1536,),
    "model.layers.0.self_attn.q_b_proj.weight": (64 * 192, 1536),
    "model.layers.0.self_attn.kv_a_proj_with_mqa.weight": (576, HIDDEN),
    "model.layers.0.self_attn.kv_a_layernorm.weight": (512,),
    "model.layers.0.self_attn.kv_b_proj.weight": (64 * 256, 512),
    "model.layers.0.self_attn.o_proj.weight": (HIDDEN, 64 * 128),
    "model.layers.0.mlp.gate.weight": (EXPERTS, HIDDEN),
    "model.layers.0.mlp.shared_experts.gate_proj.weight": (INNER, HIDDEN),
    "model.layers.0.mlp.shared_experts.up_proj.weight": (INNER, HIDDEN),
    "model.layers.0.mlp.shared_experts.down_proj.weight": (HIDDEN, INNER),
}
PROJECTIONS = {"gate_proj": (INNER, HIDDEN), "up_proj": (INNER, HIDDEN), "down_proj": (HIDDEN, INNER)}
SECOND_SCALE = 4e-3
ALLOWED_BYTES = 6_000_000_000
DISK_BYTES = 11_000_000_000


def entries() -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Name, dtype and shape of every tensor."""
    for name, shape in PLAIN.items():
        yield name, "BF16", shape
    yield "model.layers.0.mlp.gate.e_score_correction_bias", "F32", (EXPERTS,)
    for expert in range(EXPERTS):
        for part, (rows, columns) in PROJECTIONS.items():
            name = f"model.layers.0.mlp.experts.{expert}.{part}"
            yield f"{name}.weight", "U8", (rows, columns // 2)
            yield f"{name}.weight_scale", "F8_E4M3", (rows, columns // 16)
            yield f"{name}.weight_scale_2", "F32", ()


def make_subject(folder: Path) -> None:
    """Write the target: random bytes, scales within what a quantiser writes."""
    import numpy

    from eaglekit.checkpoint.layout import Entry, file_order, safetensors_header

    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    generator = numpy.random.default_rng(0)
    noise = generator.standard_normal(1 << 22).astype("<f4") * 0.02
    data = {
        "BF16": (noise.view("<u4") >> 16).astype("<u2").tobytes(),
        "U8": generator.integers(0, 256, 1 << 24, dtype="u1").tobytes(),
        # E4M3 numbers from 1/2 to 2.
        "F8_E4M3": generator.integers(0x30, 0x40, 1 << 22, dtype="u1").tobytes(),
    }
    described = [Entry(*entry) for entry in entries()]
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(safetensors_header(described, {"format": "pt"}))
        for entry in file_order(described):
            if entry.dtype == "F32":
                stream.write(numpy.full(entry.size_bytes // 4, SECOND_SCALE, "<f4").tobytes())
                continue
            left = entry.size_bytes
            while left:
                left -= stream.write(data[entry.dtype][:left])


def run_block(folder: Path, tokens: int, limit: int | None, *, gpu: bool) -> dict[str, object]:
    """The block over texts of 512 tokens; opening counts."""
    from eaglekit.checkpoint import LocalFolder
    from eaglekit.target.memory import plan_memory
    from eaglekit.target.model import open_model
    from eaglekit.target.settings import Settings
    from eaglekit.target.streaming import run
    from eaglekit.target.texts import Text

    start = time.perf_counter()
    model = open_model(LocalFolder(folder))
    opened = time.perf_counter() - start
    texts = [
        Text(str(first), "", tuple(7919 * place % VOCABULARY for place in range(first, min(first + TEXT, tokens))), 1)
        for first in range(0, tokens, TEXT)
    ]
    settings = Settings(device="cuda" if gpu else "cpu", memory_limit_bytes=limit)
    start = time.perf_counter()
    capture = run(model, texts, boundaries=[0, 1], settings=settings)
    seconds = time.perf_counter() - start
    plan = plan_memory(model, tokens, [0, 1], settings)
    states = capture.texts[0].states
    result: dict[str, object] = {
        "tokens": tokens,
        "weights_gb": round(model.size_bytes / 1e9, 2),
        "open_s": round(opened, 2),
        "pass_s": round(seconds, 1),
        "experts_at_once": plan.experts_at_once,
        "planned_mb": round(plan.total_bytes / 1e6),
        "state_norms": [round(float(states[:, column].float().norm(dim=-1).mean()), 2) for column in range(2)],
    }
    if gpu:
        import torch

        result["gpu_peak_mb"] = round(torch.cuda.max_memory_allocated() / 1e6)
    return result


def main() -> None:
    """Run and print one line per figure, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--memory-limit", type=int, default=None, metavar="BYTES")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--make", type=Path, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--run", type=Path, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make is not None:
        make_subject(options.make)
        return
    if options.run is not None:
        print(json.dumps(run_block(options.run, options.tokens, options.memory_limit, gpu=options.gpu)))
        return
    free = shutil.disk_usage(options.folder).free
    if free < DISK_BYTES:
        print(f"skipped: {options.folder} has {free / 1e9:.1f} GB free, and {DISK_BYTES / 1e9:.0f} GB are needed")
        return
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="eaglekit-kimi-") as base:
        subject = Path(base) / "target"
        subprocess.run([sys.executable, __file__, "--make", str(subject)], check=True)
        command = [sys.executable, __file__, "--run", str(subject), "--tokens", str(options.tokens)]
        command += ["--gpu"] if options.gpu else []
        command += ["--memory-limit", str(options.memory_limit)] if options.memory_limit is not None else []
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit("the block failed")
    peak = usage.ru_maxrss * 1024
    result = {**json.loads(output), "peak_mb": round(peak / 1e6), "allowed_mb": ALLOWED_BYTES // 10**6}
    result["kept"] = peak <= ALLOWED_BYTES
    if options.json:
        print(json.dumps(result, indent=2))
        return
    for name, value in result.items():
        print(f"{name:16} {value}")


if __name__ == "__main__":
    main()
