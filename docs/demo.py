"""What `make demo` runs: drafters measured beside an NVFP4 target, those of four producers converted, one published."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS = Path("fixtures/checkpoints")
OUTPUT = Path("demo-output")
TARGET = CHECKPOINTS / "target-llama"
TRAINED = Path("fixtures/trained")
NVFP4 = TRAINED / "llama-nvfp4-modelopt"
PROMPTS = TRAINED / "prompts-llama-nvfp4-modelopt.jsonl"
REPOSITORY = "your-name/llama-eagle3.1"
REHEARSAL = OUTPUT / "rehearsal"
CARD = REHEARSAL / REPOSITORY / "README.md"
BASE_MODEL = f"your-name/llama-nvfp4@{'0' * 40}"
"""The target of this demo lies in a folder; a real one has a repository and a commit."""

FIRST: tuple[list[str], ...] = tuple(
    ["convert", str(TRAINED / name), str(OUTPUT / name), "--target", str(NVFP4)]
    for name in ("llama-eagle3", "llama-eagle3.1")
)
"""Conversions whose outputs the steps begin with; their own words come later, with other drafters."""

STEPS: tuple[tuple[str, list[str], int], ...] = (
    (
        "A trained EAGLE 3.1 drafter, converted, beside its target in NVFP4: what is accepted, and how far it drifts.",
        ["validate", str(OUTPUT / "llama-eagle3.1"), "--target", str(NVFP4), "--prompts", str(PROMPTS),
         "-o", str(OUTPUT / "eagle3.1.json"), "--html", str(OUTPUT / "eagle3.1.html")],
        0,
    ),
    (
        "The same for an EAGLE-3 drafter, with a gate: its state doubles over eight depths, and less is accepted.",
        ["validate", str(OUTPUT / "llama-eagle3"), "--target", str(NVFP4), "--prompts", str(PROMPTS),
         "--html", str(OUTPUT / "eagle3.html"), "--min-acceptance-length", "2.0"],
        0,
    ),
    (
        "A drafter of SafeAILab's trainer. The file does not say which layers of its target it reads: eaglekit asks.",
        ["inspect", str(CHECKPOINTS / "safeailab-llama")],
        1,
    ),
    (
        "Its trainer always captures the default layers: that is said, and the target given. An EAGLE 3.1 folder.",
        ["convert", str(CHECKPOINTS / "safeailab-llama"), str(OUTPUT / "from-safeailab"), "--target", str(TARGET),
         "--aux-layers", "default"],
        0,
    ),
    (
        "Same bytes under other names, the same function: compared by role and by meaning.",
        ["diff", str(CHECKPOINTS / "safeailab-llama"), str(OUTPUT / "from-safeailab"), "--target", str(TARGET),
         "--aux-layers", "default"],
        0,
    ),
    (
        "What speculators 0.9 itself saved, an EAGLE 3.1 drafter: its norms are kept. First only the plan.",
        ["convert", str(CHECKPOINTS / "producer-speculators-0.9-saved-eagle3.1"), "--target", str(TARGET), "--dry-run"],
        0,
    ),
    (
        "What NVIDIA Model-Optimizer 0.47 itself exported, with its vocabulary in frequency order.",
        ["convert", str(CHECKPOINTS / "producer-modelopt-0.47-hf"), str(OUTPUT / "from-modelopt"), "--target",
         str(TARGET), "--sort-vocabulary"],
        0,
    ),
    (
        "A Kimi K2.6 EAGLE 3.1 drafter with latent attention, exported by TorchSpec, for SGLang 0.5.13 and vLLM 0.24.",
        ["convert", str(CHECKPOINTS / "torchspec-kimi-k26-eagle3.1-mla-vllm"), str(OUTPUT / "from-torchspec"),
         "--set", "target_layers=61", "--for", "vllm@0.24", "--for", "sglang@0.5.13"],
        0,
    ),
    (
        "A file whose norms were lost by another converter while its flags stayed. Nothing is filled in: refused.",
        ["convert", str(CHECKPOINTS / "producer-speculators-0.9-converted-lost-norms"), str(OUTPUT / "never"),
         "--target", str(TARGET), "--aux-layers", "default"],
        1,
    ),
    ("The story behind a finding.", ["explain", "flag-against-tensors"], 0),
    (
        "The line that serves the first drafter.",
        ["recipe", str(OUTPUT / "llama-eagle3.1"), "--engine", "vllm", "--target", str(NVFP4)],
        0,
    ),
    (
        "The first drafter published with its report, on a Hub inside the command: without an account; nothing leaves.",
        ["push", str(OUTPUT / "llama-eagle3.1"), REPOSITORY, "--report", str(OUTPUT / "eagle3.1.json"), "--license",
         "apache-2.0", "--base-model", BASE_MODEL, "--with-prompts", str(PROMPTS), "--tag", "v1.0", "--rehearse",
         str(REHEARSAL)],
        0,
    ),
)  # fmt: skip
"""What is said, the command, and the exit code it must have."""


def main() -> int:
    """Run every step and stop at the first surprise."""
    os.chdir(ROOT)
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir()
    program = Path(sys.executable).with_name("eaglekit")
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # tiny matrices: threads only wait for each other on a busy machine
    for command in FIRST:
        print(f"$ eaglekit {' '.join(command)}", flush=True)
        subprocess.run([str(program), *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for number, (words, command, code) in enumerate(STEPS, 1):
        print(f"\n{'─' * 100}\n{number}. {words}\n$ eaglekit {' '.join(command)}\n", flush=True)
        finished = subprocess.run([str(program), *command], check=False)
        if finished.returncode != code:
            print(f"\nexpected exit code {code}, got {finished.returncode}", file=sys.stderr)
            return 1
    print(
        f"\n{'─' * 100}\nThe converted folders are in {OUTPUT}/, and two pages to look at: eagle3.1.html, eagle3.html."
        f"\nThe card of the published drafter: {CARD}"
    )
    print("Next: eaglekit inspect YOUR_DRAFTER")
    return 0


if __name__ == "__main__":
    sys.exit(main())
