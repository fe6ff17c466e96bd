"""The whole `validate --gpu` on the trained fixtures: what it counts on the CPU, it counts on the GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import eaglekit

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).resolve().parents[2]
TRAINED = ROOT / "fixtures" / "trained"
TARGETS = ("llama", "llama-nvfp4-modelopt", "llama-nvfp4-llmcompressor", "deepseek", "deepseek-nvfp4-modelopt")


def report(target: str, *options: str) -> dict[str, Any]:
    """What `validate` says of the EAGLE 3.1 drafter of a target's family."""
    family = target.partition("-")[0]
    done = eaglekit(
        "validate", TRAINED / f"{family}-eagle3.1", "--target", TRAINED / target,
        "--prompts", TRAINED / f"prompts-{target}.jsonl", "--json", *options,
    )  # fmt: skip
    assert done.code == 0, done.err
    return done.document


def measured(document: dict[str, Any], name: str) -> float:
    """The value of one measurement."""
    return float(next(one["value"] for one in document["measurements"] if one["name"] == name))


@pytest.mark.parametrize("target", TARGETS)
def test_in_float32_the_gpu_accepts_what_the_cpu_accepts(target: str) -> None:
    on_gpu = measured(report(target, "--gpu", "--dtype", "float32"), "acceptance length, every slot")
    on_cpu = measured(report(target), "acceptance length, every slot")

    # Sums in another order turn near ties; two slots of some 640 may fall the other way.
    assert on_gpu == pytest.approx(on_cpu, abs=2 * 3 / 600)


@pytest.mark.parametrize("target", TARGETS)
def test_in_bfloat16_the_drafter_is_as_good(target: str) -> None:
    document = report(target, "--gpu")

    assert document["facts"]["arithmetic"]["value"].startswith("bfloat16 on cuda")
    # The interval of the float32 figure is about 0.25 on either side; bfloat16 turns some ties of a tiny target.
    assert measured(document, "acceptance length, every slot") == pytest.approx(
        measured(report(target), "acceptance length, every slot"), abs=0.25
    )


def test_a_full_size_kimi_block_goes_through_the_gpu() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "kimi_block.py", "--gpu", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert not done.stdout.startswith("skipped"), done.stdout
    figures = json.loads(done.stdout)
    # The block in bfloat16 without its experts, one group of experts, the states of 2,048 tokens: far below the file.
    assert figures["gpu_peak_mb"] < 6_000, figures
