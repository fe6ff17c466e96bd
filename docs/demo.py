"""What `make demo` runs: shipped checkpoints of four producers, inspected and converted, each with its plan."""

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

STEPS: tuple[tuple[str, list[str], int], ...] = (
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
)  # fmt: skip
"""What is said, the command, and the exit code it must have."""


def main() -> int:
    """Run every step and stop at the first surprise."""
    os.chdir(ROOT)
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir()
    program = Path(sys.executable).with_name("eaglekit")
    for number, (words, command, code) in enumerate(STEPS, 1):
        print(f"\n{'─' * 100}\n{number}. {words}\n$ eaglekit {' '.join(command)}\n", flush=True)
        finished = subprocess.run([str(program), *command], check=False)
        if finished.returncode != code:
            print(f"\nexpected exit code {code}, got {finished.returncode}", file=sys.stderr)
            return 1
    print(f"\n{'─' * 100}\nThe converted folders are in {OUTPUT}/. Next: eaglekit inspect YOUR_DRAFTER")
    return 0


if __name__ == "__main__":
    sys.exit(main())
