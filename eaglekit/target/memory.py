"""How much memory a pass takes, and how many experts fit at a time."""

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import torch

from eaglekit.report import Finding, Refusal
from eaglekit.target.model import TargetModel
from eaglekit.target.settings import Settings
from eaglekit.target.weights import Expert, ModuleWeights

GROUP_BYTES = 1 << 30
"""Experts held at a time without a limit, in bytes as computed."""
MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD of glibc's malloc.h."""
RETURNED_BYTES = 1 << 20
"""Buffers from this size on are given back when they are freed: keys and values of a few hundred tokens have it."""
EXTRA_STATES = 3
"""States per text that a block with experts holds besides the residual: what its attention gave, what goes into the
experts and what comes out."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """What a pass holds at its peak, besides the program itself; bytes."""

    block_bytes: int
    """The largest block without its experts."""
    expert_bytes: int
    """The largest expert; 0 in a dense model."""
    experts_at_once: int
    states_bytes: int
    """States of all texts on their way and captured."""

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.block_bytes + self.experts_at_once * self.expert_bytes + self.states_bytes


def plan_memory(model: TargetModel, num_tokens: int, boundaries: Sequence[int], settings: Settings) -> MemoryPlan:
    """What a pass of `num_tokens` tokens holds. Raises `Refusal` when that is above the memory limit."""
    size = settings.compute_dtype.itemsize
    block = max(_in_memory(block, size) for block in model.blocks)
    expert = max((_expert(block.experts[0], size) for block in model.blocks if block.experts), default=0)
    states = 2 + len(boundaries) + (EXTRA_STATES if expert else 0)
    states_bytes = states * num_tokens * model.hidden_size * size
    most = max((len(block.experts) for block in model.blocks), default=0)
    limit = settings.memory_limit_bytes
    room = GROUP_BYTES if limit is None else limit - block - states_bytes
    at_once = min(most, max(1, room // expert)) if expert else 0
    plan = MemoryPlan(block, expert, at_once, states_bytes)
    if limit is not None and plan.total_bytes > limit:
        raise Refusal(
            Finding(
                "memory-limit-too-low",
                f"a pass needs {plan.total_bytes:,} bytes at the least: {block:,} for a block, "
                f"{expert:,} for an expert, {states_bytes:,} for states",
                place="--memory-limit",
                got=f"{limit:,} bytes",
                expected=f"at least {plan.total_bytes:,} bytes",
                hint="raise the limit, give fewer texts at a time (--limit), or compute in bfloat16",
            )
        )
    return plan


def _in_memory(block: ModuleWeights, size: int) -> int:
    return sum(prod(filling.source.shape) * (4 if filling.float32 else size) for filling in block.fillings)


def _expert(expert: Expert, size: int) -> int:
    return sum(prod(source.shape) * size for source in expert.sources)


def whole_bytes(model: TargetModel, dtype: torch.dtype) -> int:
    """Bytes of the whole model in memory, dequantised."""
    size = dtype.itemsize
    blocks = sum(
        _in_memory(block, size) + sum(_expert(expert, size) for expert in block.experts) for block in model.blocks
    )
    tables = {id(model.embedding_source), id(model.head_source)}
    return blocks + len(tables) * model.vocab_size * model.hidden_size * size


def return_freed_memory() -> None:
    """Make the C library give large buffers back as soon as they are freed.

    By itself it learns to keep those of up to 32 MiB, and activations of changing sizes leave holes between them.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(MMAP_THRESHOLD, RETURNED_BYTES)


def available_bytes(device: torch.device) -> int:
    """Bytes that can still be had on `device`."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
