"""Dequantisation against a copy of its result, each beside the other in one run, as a ratio.

The subject is one projection of a Kimi expert, 2048 x 7168, of random bytes. Every round times the copy and then each
format; the figures are medians of the rounds. Usage: python benchmarks/dequantise.py [--rounds 21] [--threads 1]
[--device cpu] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from math import prod

import torch

from eaglekit.checkpoint.model import Tensor
from eaglekit.target.formats.dequantise import DTYPES, dequantise
from eaglekit.target.formats.recognise import recognise_linear

COLUMNS = 7168
ROWS = {"cpu": 2048, "cuda": 65536}
"""On a GPU one projection takes less than starting it: 32 of them in one tensor are timed."""

REPEATS = 8
"""Copies timed as one: they take as long as what they are compared with, and meet the same interruptions."""

LIMIT = 12.0
"""Most copies of the BF16 result that NVFP4 to BF16 may take on a CPU."""

GPU_LIMIT = 0.5
"""Least share of a device copy's bandwidth that NVFP4 to BF16 may reach on a GPU."""

SCALES = {"weight_scale_2": 3e-5, "weight_global_scale": 34560.0, "weight_scale_inv": 2e-4}


Parts = dict[str, tuple[str, tuple[int, ...]]]


def subjects(rows: int) -> dict[str, Parts]:
    """What is timed: name -> suffix -> (dtype, shape)."""
    return {
        "NVFP4 (ModelOpt)": {
            "weight": ("U8", (rows, COLUMNS // 2)),
            "weight_scale": ("F8_E4M3", (rows, COLUMNS // 16)),
            "weight_scale_2": ("F32", ()),
        },
        "NVFP4 (compressed-tensors)": {
            "weight_packed": ("U8", (rows, COLUMNS // 2)),
            "weight_scale": ("F8_E4M3", (rows, COLUMNS // 16)),
            "weight_global_scale": ("F32", (1,)),
        },
        "MXFP4": {"weight": ("U8", (rows, COLUMNS // 2)), "weight_scale": ("U8", (rows, COLUMNS // 32))},
        "FP8, 128 x 128": {
            "weight": ("F8_E4M3", (rows, COLUMNS)),
            "weight_scale_inv": ("F32", (rows // 128, COLUMNS // 128)),
        },
    }


def make(dtype: str, shape: tuple[int, ...], suffix: str, device: str) -> torch.Tensor:
    """Random bytes that are valid codes and scales; the float scales are constants of an ordinary size."""
    if suffix in SCALES:
        return torch.full(shape, SCALES[suffix], device=device)
    high = 0x7F if dtype == "F8_E4M3" else 120 if suffix == "weight_scale" else 256
    generator = torch.Generator().manual_seed(prod(shape))
    raw = torch.randint(high, shape, dtype=torch.uint8, generator=generator)
    return raw.view(DTYPES[dtype]).to(device)


def seconds(work: Callable[[], object], device: str) -> float:
    """Wall time of one call, the device's part included."""
    if device != "cpu":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def main() -> int:
    """Measure, print, and compare NVFP4 to BF16 with what is promised: 1 when it is too slow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--threads", type=int, default=1, help="of torch, for the copy as well")
    parser.add_argument("--device", choices=sorted(ROWS), default="cpu")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device, rows_of_weight = options.device, ROWS[options.device]
    result = torch.empty(rows_of_weight, COLUMNS, dtype=torch.bfloat16, device=device)
    target = torch.empty_like(result)
    copies = {"copy of the BF16 result": lambda: [target.copy_(result) for _ in range(REPEATS)]}
    works: dict[str, Callable[[], object]] = {**copies}
    read = {"copy of the BF16 result": result.nbytes}
    written = {"copy of the BF16 result": result.nbytes}
    for name, parts in subjects(rows_of_weight).items():
        declared = {suffix: Tensor(suffix, dtype, shape, "", 0, 0) for suffix, (dtype, shape) in parts.items()}
        linear = recognise_linear("experts.0.up_proj", declared)
        tensors = {suffix: make(dtype, shape, suffix, device) for suffix, (dtype, shape) in parts.items()}
        for label, dtype in (("BF16", torch.bfloat16), ("float32", torch.float32)):
            memory = torch.empty(linear.shape, dtype=dtype, device=device)
            works[f"{name} to {label}"] = partial(dequantise, linear, tensors, dtype=dtype, device=device, out=memory)
            read[f"{name} to {label}"] = linear.size_bytes
            written[f"{name} to {label}"] = rows_of_weight * COLUMNS * dtype.itemsize
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(options.rounds):
        for name, work in works.items():
            times[name].append(seconds(work, device) / (REPEATS if name in copies else 1))
    medians = {name: statistics.median(values) for name, values in times.items()}
    copy = medians["copy of the BF16 result"]
    bandwidth = {name: (read[name] + written[name]) / median for name, median in medians.items()}
    shares = {name: rate / bandwidth["copy of the BF16 result"] for name, rate in bandwidth.items()}
    judged = "NVFP4 (ModelOpt) to BF16"
    within = medians[judged] <= LIMIT * copy if device == "cpu" else shares[judged] >= GPU_LIMIT
    if options.json:
        rows = {
            name: {
                "milliseconds": round(median * 1e3, 3),
                "copies": round(median / copy, 2),
                "gigavalues_per_second": round(rows_of_weight * COLUMNS / median / 1e9, 3),
                "share_of_copy_bandwidth": round(shares[name], 3),
            }
            for name, median in medians.items()
        }
        print(json.dumps({"device": device, "threads": options.threads, "rows": rows, "within": within}, indent=2))
    else:
        print(f"{'':36} {'ms':>9} {'copies':>8} {'Gvalues/s':>10} {'of copy GB/s':>13}")
        for name, median in medians.items():
            rate = rows_of_weight * COLUMNS / median / 1e9
            print(f"{name:36} {median * 1e3:9.3f} {median / copy:8.2f} {rate:10.3f} {shares[name]:13.3f}")
    if not within:
        print(f"{judged} is slower than promised", file=sys.stderr)
    return 0 if within else 1


if __name__ == "__main__":
    raise SystemExit(main())
