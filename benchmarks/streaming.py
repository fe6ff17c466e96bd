"""Streaming a target: the whole pass against reading its files alone and computing its blocks alone, and peak memory.

The subject is a synthetic dense target with random BF16 weights (2.9 GB). Every figure comes from a process of its own,
with the files dropped from the system's cache before; reading, computing and the pass take turns, round by round.
Peak memory is all that is resident; the part of libraries differs between installations of the same ones.
Usage: python benchmarks/streaming.py [--rounds 3] [--tokens 256,1024] [--folder DIR] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HIDDEN, INTERMEDIATE, HEADS, KV_HEADS, LAYERS, VOCABULARY = 2048, 8192, 16, 8, 20, 64000
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
    "intermediate_size": INTERMEDIATE, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS,
    "head_dim": HIDDEN // HEADS, "vocab_size": VOCABULARY, "rms_norm_eps": 1e-05, "rope_theta": 500000.0,
    "max_position_embeddings": 8192, "hidden_act": "silu", "tie_word_embeddings": False, "pad_token_id": None,
}  # fmt: skip
BLOCK = {
    "input_layernorm": (HIDDEN,),
    "mlp.down_proj": (HIDDEN, INTERMEDIATE),
    "mlp.gate_proj": (INTERMEDIATE, HIDDEN),
    "mlp.up_proj": (INTERMEDIATE, HIDDEN),
    "post_attention_layernorm": (HIDDEN,),
    "self_attn.k_proj": (KV_HEADS * HIDDEN // HEADS, HIDDEN),
    "self_attn.o_proj": (HIDDEN, HIDDEN),
    "self_attn.q_proj": (HIDDEN, HIDDEN),
    "self_attn.v_proj": (KV_HEADS * HIDDEN // HEADS, HIDDEN),
}
LONGEST = 512
"""Tokens of the longest text."""
SLACK_BYTES = 500 << 20
ALLOWED_RATIO = 1.5


def make_subject(folder: Path) -> None:
    """Write the target: small random numbers, the same ones again and again."""
    import numpy

    from eaglekit.checkpoint.layout import Entry, file_order, safetensors_header

    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    entries = [
        Entry(f"model.layers.{layer}.{name}.weight", "BF16", shape)
        for layer in range(LAYERS)
        for name, shape in BLOCK.items()
    ]
    entries += [Entry(name, "BF16", (VOCABULARY, HIDDEN)) for name in ("model.embed_tokens.weight", "lm_head.weight")]
    entries += [Entry("model.norm.weight", "BF16", (HIDDEN,))]
    noise = numpy.random.default_rng(0).standard_normal(1 << 22).astype("<f4") * 0.02
    data = (noise.view("<u4") >> 16).astype("<u2").tobytes()
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(safetensors_header(entries, {"format": "pt"}))
        for entry in file_order(entries):
            left = entry.size_bytes
            while left:
                left -= stream.write(data[:left])
    os.sync()


def forget(folder: Path) -> None:
    """Drop the files from the system's cache."""
    for file in folder.iterdir():
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def texts(count: int) -> list[object]:
    """Texts of `count` tokens together."""
    from eaglekit.target.texts import Text

    lengths = [LONGEST] * (count // LONGEST) + ([count % LONGEST] if count % LONGEST else [])
    return [
        Text(str(number), "", tuple((7919 * (number + 1) * (place + 1)) % VOCABULARY for place in range(length)), 1)
        for number, length in enumerate(lengths)
    ]


def read_alone(folder: Path) -> dict[str, float]:
    """Every byte of the weights once, in large pieces, into one buffer."""
    file, view = folder / "model.safetensors", memoryview(bytearray(4 << 20))
    descriptor = os.open(file, os.O_RDONLY)
    start, place = time.perf_counter(), 0
    while count := os.preadv(descriptor, [view], place):
        place += count
    return {"seconds": time.perf_counter() - start}


def compute_alone(folder: Path, tokens: int) -> dict[str, float]:
    """As many blocks as the target has over all texts, all of them the one block that is in memory; and the head."""
    import torch

    from eaglekit.checkpoint import LocalFolder
    from eaglekit.target.loading import filled, load_rows
    from eaglekit.target.model import open_model
    from eaglekit.target.reading import Reader
    from eaglekit.target.skeleton import record

    model, cpu = open_model(LocalFolder(folder)), torch.device("cpu")
    with torch.no_grad(), Reader(model.source) as reader:
        states = []
        for text in texts(tokens):
            embedded = load_rows(model.embedding_source, text.tokens, reader, torch.float32, cpu)[None]
            recorders, _ = record(model.skeleton, embedded)
            states.append((embedded, recorders[0].calls[0][2]))
        block = model.skeleton.blocks[0]
        with filled(block, model.blocks[0], reader, torch.float32, cpu):
            block(states[0][0], **states[0][1])
            start = time.perf_counter()
            for _ in range(LAYERS):
                for hidden, named in states:
                    block(hidden, **named)
            seconds = time.perf_counter() - start
        head = model.head(cpu, torch.float32)
        start = time.perf_counter()
        for hidden, _ in states:
            torch.nn.functional.linear(hidden[0], head).max(dim=-1)
        return {"seconds": seconds + time.perf_counter() - start}


def whole_pass(folder: Path, tokens: int) -> dict[str, float]:
    """`run`, and what it may take; opening, which imports the family's code, is timed apart."""
    from eaglekit.checkpoint import LocalFolder
    from eaglekit.target.memory import plan_memory
    from eaglekit.target.model import open_model
    from eaglekit.target.settings import Settings
    from eaglekit.target.streaming import run

    start = time.perf_counter()
    model, given, boundaries = open_model(LocalFolder(folder)), texts(tokens), (2, LAYERS // 2, LAYERS - 3)
    opened = time.perf_counter() - start
    start = time.perf_counter()
    run(model, given, boundaries=boundaries)
    seconds = time.perf_counter() - start
    plan = plan_memory(model, tokens, boundaries, Settings())
    mapped = mapped_bytes()
    return {"seconds": seconds, "open_s": opened, "planned_bytes": plan.total_bytes, "mapped_bytes": mapped}


def mapped_bytes() -> int:
    """Resident pages of mapped files: libraries, in pieces as large as the system's cache holds them in."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssFile:")) * 1024


STAGES = {"read": lambda folder, tokens: read_alone(folder), "compute": compute_alone, "pass": whole_pass}


def stage(name: str, folder: Path, tokens: int) -> dict[str, float]:
    """One stage in a process of its own, from a cold cache; with its peak resident memory."""
    forget(folder)
    command = [sys.executable, __file__, "--stage", name, str(folder), str(tokens)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"stage {name} failed")
    return {**json.loads(output), "peak_bytes": usage.ru_maxrss * 1024}


def benchmark(folder: Path, rounds: int, loads: list[int]) -> list[dict[str, object]]:
    """A row per number of tokens."""
    subject = folder / "target"
    subprocess.run([sys.executable, __file__, "--make", str(subject)], check=True)
    rows = []
    for tokens in loads:
        measured: dict[str, list[dict[str, float]]] = {name: [] for name in STAGES}
        for _ in range(rounds):
            for name in STAGES:
                measured[name].append(stage(name, subject, tokens))
        read, compute, whole = (statistics.median(m["seconds"] for m in measured[name]) for name in STAGES)
        peak = max(m["peak_bytes"] for m in measured["pass"])
        allowed = measured["pass"][0]["planned_bytes"] + SLACK_BYTES
        rows.append({
            "tokens": tokens,
            "weights_gb": round((subject / "model.safetensors").stat().st_size / 1e9, 2),
            "read_s": round(read, 2),
            "compute_s": round(compute, 2),
            "open_s": round(statistics.median(m["open_s"] for m in measured["pass"]), 2),
            "pass_s": round(whole, 2),
            "ratio": round(whole / max(read, compute), 2),
            "ratio_allowed": ALLOWED_RATIO,
            "peak_mb": round(peak / 1e6),
            "libraries_mb": round(max(m["mapped_bytes"] for m in measured["pass"]) / 1e6),
            "peak_allowed_mb": round(allowed / 1e6),
            "kept": whole <= ALLOWED_RATIO * max(read, compute) and peak <= allowed,
        })  # fmt: skip
    return rows


def main() -> None:
    """Run and print a Markdown table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", default="256,1024", help="loads, in tokens")
    parser.add_argument("--folder", type=Path, default=None, help="where 3 GB may be written for a while")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--make", type=Path, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--stage", nargs=3, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make is not None:
        make_subject(options.make)
        return
    if options.stage is not None:
        name, folder, tokens = options.stage
        print(json.dumps(STAGES[name](Path(folder), int(tokens))))
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="eaglekit-bench-") as base:
        rows = benchmark(Path(base), options.rounds, [int(text) for text in options.tokens.split(",")])
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print("| " + " | ".join(rows[0]) + " |\n|" + " --- |" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(map(str, row.values())) + " |")


if __name__ == "__main__":
    main()
