"""Conversion to the layout of speculators, by eaglekit and by speculators' own converter, in turn: a ratio.

The same drafter as in convert.py, beside a target that holds an embedding and a head (2.1 GB). Both take the source's
tensors over and add the target's embedding where they have it. Usage:
python benchmarks/speculators.py --speculators PATH [--rounds 3] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from convert import EAGLEKIT, HIDDEN, LAYERS, VOCABULARY, run

TARGET = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "num_hidden_layers": 32,
    "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": VOCABULARY,
    "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "max_position_embeddings": 131072, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}  # fmt: skip


def make_target(folder: Path) -> None:
    """A target's embedding and head; a drafter's converters read nothing else of it."""
    import numpy

    from eaglekit.checkpoint.layout import Entry, file_order, safetensors_header

    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(TARGET))
    entries = [Entry(name, "BF16", (VOCABULARY, HIDDEN)) for name in ("lm_head.weight", "model.embed_tokens.weight")]
    generator = numpy.random.default_rng(1)
    noise = (generator.standard_normal(1 << 22).astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(safetensors_header(entries, {"format": "pt"}))
        for entry in file_order(entries):
            left = entry.size_bytes
            while left:
                left -= stream.write(noise[:left])


def benchmark(base: Path, speculators: str, rounds: int) -> list[dict[str, object]]:
    """A row a converter."""
    source, target, out = base / "drafter", base / "target", base / "out"
    script = Path(__file__)
    subprocess.run([sys.executable, script.with_name("convert.py"), "--make", source], check=True)
    subprocess.run([sys.executable, script, "--make", target], check=True)
    commands = {
        "eaglekit convert --to speculators": [
            *EAGLEKIT, "convert", str(source), str(out), *LAYERS[:2], "--target", str(target), "--to", "speculators",
            "--embedding", "keep", "--set", "target_name=org/target", "--set", "speculative_tokens=3",
        ],
        "speculators convert": [
            speculators, "convert", str(source), "--verifier", str(target), "--algorithm", "eagle3", "--output-path",
            str(out), "--algorithm-kwargs", json.dumps({"eagle_aux_hidden_state_layer_ids": [2, 16, 29]}),
        ],
    }  # fmt: skip
    taken: dict[str, list[float]] = {name: [] for name in commands}
    peak = dict.fromkeys(commands, 0.0)
    written = dict.fromkeys(commands, 0)
    for number in range(rounds + 1):
        for name, command in commands.items():
            shutil.rmtree(out, ignore_errors=True)
            os.sync()
            seconds, memory = run(command)
            written[name] = sum(path.stat().st_size for path in out.rglob("*.safetensors"))
            # Round 0 warms the page cache and is not counted.
            if number:
                taken[name].append(seconds)
                peak[name] = max(peak[name], memory)
    medians = {name: statistics.median(times) for name, times in taken.items()}
    ours = medians["eaglekit convert --to speculators"]
    return [
        {"command": name, "median_s": round(medians[name], 2), "min_s": round(min(taken[name]), 2),
         "max_s": round(max(taken[name]), 2), "ratio": round(medians[name] / ours, 1), "peak_mb": round(peak[name]),
         "written_gb": round(written[name] / 1e9, 2)}
        for name in commands
    ]  # fmt: skip


def main() -> None:
    """Run and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speculators", help="the command of an environment with speculators")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=None, help="where 8 GB may be written for a while")
    parser.add_argument("--make", type=Path, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make is not None:
        make_target(options.make)
        return
    if options.speculators is None:
        parser.error("--speculators is missing: the command of an environment with speculators")
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="eaglekit-bench-") as base:
        rows = benchmark(Path(base), options.speculators, options.rounds)
    columns = list(rows[0])
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(row[column]) for column in columns) + " |")


if __name__ == "__main__":
    main()
