"""Conversion against `cp`, each beside the other in one run: time as a ratio, and peak memory.

The subject is a synthetic drafter with the shapes of an 8B Llama's (1.9 GB, BF16). Every round runs each command once,
in turn; the figures are medians of the rounds. Usage: python benchmarks/convert.py [--rounds 5] [--folder DIR] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HIDDEN, INTERMEDIATE, HEADS, KV_HEADS, HEAD_DIM, VOCABULARY, DRAFTED = 4096, 14336, 32, 8, 128, 128256, 32000
SHAPES = {
    "embed_tokens.weight": (VOCABULARY, HIDDEN),
    "fc.weight": (HIDDEN, 3 * HIDDEN),
    "lm_head.weight": (DRAFTED, HIDDEN),
    "midlayer.hidden_norm.weight": (HIDDEN,),
    "midlayer.input_layernorm.weight": (HIDDEN,),
    "midlayer.mlp.down_proj.weight": (HIDDEN, INTERMEDIATE),
    "midlayer.mlp.gate_proj.weight": (INTERMEDIATE, HIDDEN),
    "midlayer.mlp.up_proj.weight": (INTERMEDIATE, HIDDEN),
    "midlayer.post_attention_layernorm.weight": (HIDDEN,),
    "midlayer.self_attn.k_proj.weight": (KV_HEADS * HEAD_DIM, 2 * HIDDEN),
    "midlayer.self_attn.o_proj.weight": (HIDDEN, HEADS * HEAD_DIM),
    "midlayer.self_attn.q_proj.weight": (HEADS * HEAD_DIM, 2 * HIDDEN),
    "midlayer.self_attn.v_proj.weight": (KV_HEADS * HEAD_DIM, 2 * HIDDEN),
    "norm.weight": (HIDDEN,),
}
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "num_hidden_layers": 1,
    "intermediate_size": INTERMEDIATE, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS,
    "vocab_size": VOCABULARY, "draft_vocab_size": DRAFTED, "rms_norm_eps": 1e-05, "rope_theta": 500000.0,
    "max_position_embeddings": 8192, "hidden_act": "silu", "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
LAYERS = ["--aux-layers", "2,16,29", "--target-family", "llama", "--set", "target_layers=32"]
EAGLEKIT = [str(Path(sys.executable).with_name("eaglekit"))]


def make_subject(folder: Path) -> None:
    """Write the drafter, its vocabulary in frequency order so that sorting has work to do."""
    import numpy

    from eaglekit.checkpoint.layout import Entry, file_order, safetensors_header

    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    generator = numpy.random.default_rng(0)
    targets = generator.permutation(VOCABULARY)[:DRAFTED]
    mask = numpy.zeros(VOCABULARY, dtype=bool)
    mask[targets] = True
    made = {"d2t": (targets - numpy.arange(DRAFTED)).astype("<i8").tobytes(), "t2d": mask.tobytes()}
    entries = [Entry(name, "BF16", shape) for name, shape in SHAPES.items()]
    entries += [Entry("d2t", "I64", (DRAFTED,)), Entry("t2d", "BOOL", (VOCABULARY,))]
    noise = (generator.standard_normal(1 << 22).astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    file = folder / "model.safetensors"
    with file.open("wb") as stream:
        stream.write(safetensors_header(entries, {"format": "pt"}))
        for entry in file_order(entries):
            if entry.name in made:
                stream.write(made[entry.name])
                continue
            left = entry.size_bytes
            while left:
                left -= stream.write(noise[:left])
    os.sync()


def run(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak resident megabytes of one command. Raises when it fails."""
    start = time.perf_counter()
    # As after any install: compiled modules are cached.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{errors}")
    return seconds, usage.ru_maxrss / 1024


def benchmark(base: Path, rounds: int) -> dict[str, object]:
    """All figures of one run."""
    source, out = base / "drafter", base / "out"
    # In a process of its own: a child's peak memory counts what its parent had when it was started.
    subprocess.run([sys.executable, __file__, "--make", str(source)], check=True)
    size = (source / "model.safetensors").stat().st_size
    convert = [*EAGLEKIT, "convert", str(source), str(out), *LAYERS]
    commands: dict[str, tuple[list[str], str]] = {
        "cp -r": (["cp", "-r", str(source), str(out)], ""),
        "convert, no manifest, no fsync": ([*convert, "--no-manifest", "--no-fsync"], "cp -r"),
        "convert, manifest, no fsync": ([*convert, "--no-fsync"], "cp -r"),
        "cp -r and sync": (["sh", "-c", f"cp -r {source} {out} && sync -f {out}"], ""),
        "convert, no manifest": ([*convert, "--no-manifest"], "cp -r and sync"),
        "convert (the default)": (convert, "cp -r and sync"),
        "convert --sort-vocabulary": ([*convert, "--sort-vocabulary", "--no-fsync"], "cp -r"),
        "convert --dtype float16": ([*convert, "--dtype", "float16", "--no-fsync", "--force-overflow"], "cp -r"),
        "convert --max-shard-size 500MB": ([*convert, "--max-shard-size", "500MB", "--no-fsync"], "cp -r"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    peak: dict[str, float] = {}
    for number in range(rounds + 1):
        for name, (command, _) in commands.items():
            shutil.rmtree(out, ignore_errors=True)
            os.sync()
            taken, memory = run(command)
            # Round 0 warms the page cache and is not counted.
            if number:
                seconds[name].append(taken)
                peak[name] = max(peak.get(name, 0.0), memory)
    shutil.rmtree(out, ignore_errors=True)
    medians = {name: statistics.median(taken) for name, taken in seconds.items()}
    rows = [
        {
            "command": name,
            "median_s": round(medians[name], 3),
            "min_s": round(min(seconds[name]), 3),
            "max_s": round(max(seconds[name]), 3),
            "ratio": round(medians[name] / medians[against], 2) if against else None,
            "against": against or None,
            "peak_mb": round(peak[name], 1),
        }
        for name, (_, against) in commands.items()
    ]
    quick = {
        "eaglekit --help": [*EAGLEKIT, "--help"],
        "eaglekit inspect (1.9 GB)": [*EAGLEKIT, "inspect", str(source), *LAYERS],
        "eaglekit inspect --json (1.9 GB)": [*EAGLEKIT, "inspect", str(source), *LAYERS, "--json"],
    }
    starts = []
    for name, command in quick.items():
        runs = [run(command) for _ in range(max(rounds, 5))]
        starts.append({
            "command": name,
            "median_s": round(statistics.median(taken for taken, _ in runs), 3),
            "peak_mb": round(max(memory for _, memory in runs), 1),
        })  # fmt: skip
    return {
        "weights_bytes": size,
        "rounds": rounds,
        "conversions": rows,
        "starts": starts,
        "limits": limits(rows, starts),
    }


def limits(rows: list[dict[str, object]], starts: list[dict[str, object]]) -> list[dict[str, object]]:
    """What is promised, and whether this run kept it."""
    by_name = {str(row["command"]): row for row in (*rows, *starts)}
    promises: list[tuple[str, str, float]] = [
        ("convert, no manifest, no fsync", "ratio", 1.4),
        ("convert, manifest, no fsync", "ratio", 2.5),
        ("eaglekit --help", "median_s", 0.35),
        ("eaglekit inspect (1.9 GB)", "median_s", 0.6),
        *((str(row["command"]), "peak_mb", 120.0) for row in rows if str(row["command"]).startswith("convert")),
    ]
    found: Callable[[str, str], float] = lambda name, figure: float(str(by_name[name][figure]))  # noqa: E731
    return [
        {"command": name, "figure": figure, "limit": limit, "measured": found(name, figure),
         "kept": found(name, figure) <= limit}
        for name, figure, limit in promises
    ]  # fmt: skip


def main() -> None:
    """Run and print a Markdown table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=None, help="where 6 GB may be written for a while")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--make", type=Path, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make is not None:
        make_subject(options.make)
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="eaglekit-bench-") as base:
        result = benchmark(Path(base), options.rounds)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{result['weights_bytes'] / 1e9:.2f} GB of weights, medians of {result['rounds']} rounds\n")  # type: ignore[operator]
    for title in ("conversions", "starts", "limits"):
        rows = result[title]
        assert isinstance(rows, list)
        columns = list(rows[0])
        print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
        for row in rows:
            print("| " + " | ".join("-" if row[c] is None else str(row[c]) for c in columns) + " |")
        print()


if __name__ == "__main__":
    main()
