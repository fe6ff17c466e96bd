"""Options of the commands that compute: where, and in which arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from eaglekit.cli.options import stacked

computing_options = stacked(
    click.option("--gpu", is_flag=True, help="Compute on CUDA; an error where there is none."),
    click.option("--device", metavar="D", help="cpu, cuda or cuda:N; cpu when nothing is said."),
    click.option(
        "--dtype", type=click.Choice(["float32", "bfloat16"]), help="float32 on the CPU, bfloat16 on CUDA if not said."
    ),
    click.option("--memory-limit", metavar="SIZE", help="Most that running the target may take, e.g. 12GB."),
    click.option(
        "--activations", type=click.Choice(["w4a16", "w4a4"]), default="w4a16", show_default=True,
        help="Of an NVFP4 target: as computed, or rounded to four bits as W4A4 engines do.",
    ),
)  # fmt: skip
"""Where a target and a drafter are computed, and how."""


def device_of(wishes: Mapping[str, Any]) -> str:
    """The device that was asked for. An empty name stays one: there is no falling back to the CPU."""
    if wishes["gpu"]:
        return "cuda"
    return "cpu" if wishes["device"] is None else str(wishes["device"])
