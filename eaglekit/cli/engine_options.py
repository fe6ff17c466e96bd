"""Options about a real engine: which one, where it is, and how it is spread."""

from __future__ import annotations

import click

from eaglekit.cli.options import stacked

ENGINES = ("vllm",)

start_options = stacked(
    click.option(
        "--engine-python", metavar="PATH", help="The Python of an environment with vLLM; else EAGLEKIT_VLLM_PYTHON, "
        "else this one.",
    ),
    click.option(
        "--engine-arg", "engine_arguments", metavar="NAME=VALUE", multiple=True, help="An engine argument of vLLM, "
        "the value as JSON: gpu_memory_utilization=0.8.",
    ),
    click.option("--tensor-parallel-size", type=click.IntRange(1), metavar="N", help="As vLLM's own option."),
    click.option("--pipeline-parallel-size", type=click.IntRange(1), metavar="N", help="As vLLM's own option."),
)  # fmt: skip
"""How a real engine is started."""

engine_options = stacked(
    click.option("--engine", type=click.Choice(ENGINES), help="Serve the texts with a real engine too, and compare."),
    start_options,
    click.option(
        "--endpoint", metavar="URL", help="A vLLM server that runs already, in place of one that is started here; "
        "its key in VLLM_API_KEY.",
    ),
)  # fmt: skip
"""A real engine beside the reference."""
