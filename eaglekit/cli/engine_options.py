"""Options about a real engine: which one, where it is, and how it is spread."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from eaglekit.cli.options import stacked
from eaglekit.report import Finding, Refusal

if TYPE_CHECKING:
    from eaglekit.serving.wish import Wish

ENGINES = ("vllm",)
ARGUMENT = re.compile(r"[a-z][a-z0-9_]*")

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

ABOUT_STARTING = ("engine_python", "engine_arguments", "tensor_parallel_size", "pipeline_parallel_size")
ABOUT_ENGINES = (*ABOUT_STARTING, "endpoint")


def refuse_engine_combinations(wishes: Mapping[str, Any]) -> None:
    """Raise a usage error for engine options that contradict each other or lack what they need."""
    given = options_given(ABOUT_ENGINES, wishes)
    if wishes["engine"] is None:
        if given:
            raise click.UsageError(f"{given[0]} needs --engine vllm.")
        return
    if wishes["endpoint"] and len(given) > 1:
        raise click.UsageError(f"{given[0]} is about an engine that is started here: --endpoint names one that runs.")
    if wishes["prompts"] is None and not (wishes["endpoint"] and wishes["capture"] is not None):
        raise click.UsageError("--engine needs --prompts: an engine answers prompts. With --endpoint a --capture does.")


def options_given(names: Sequence[str], wishes: Mapping[str, Any]) -> list[str]:
    """Those of some options that were used, as they are typed."""
    return [f"--{name.replace('_arguments', '-arg').replace('_', '-')}" for name in names if wishes[name]]


def find_wish(wishes: Mapping[str, Any]) -> Wish | None:
    """The engine that was asked for, looked at. Raises `Refusal` when it is not there, before any other work."""
    if wishes["engine"] is None:
        return None
    from eaglekit.serving.endpoint import for_draft_tokens, look
    from eaglekit.serving.job import OURS
    from eaglekit.serving.wish import Wish

    if wishes["endpoint"]:
        return Wish(for_draft_tokens(look(wishes["endpoint"]), wishes["draft_tokens"]))
    return find_started(wishes, OURS)


def find_started(wishes: Mapping[str, Any], ours: Collection[str]) -> Wish:
    """The engine to start here, looked at; arguments of the names in `ours` cannot be given. Raises `Refusal`."""
    from eaglekit.serving.environment import find_engine
    from eaglekit.serving.wish import Wish

    arguments = parse_arguments(wishes["engine_arguments"], ours)
    return Wish(
        find_engine(wishes["engine_python"]),
        tensor_parallel_size=wishes["tensor_parallel_size"] or 1,
        pipeline_parallel_size=wishes["pipeline_parallel_size"] or 1,
        dtype=wishes["dtype"],
        arguments=arguments,
    )


def parse_arguments(texts: tuple[str, ...], ours: Collection[str]) -> dict[str, Any]:
    """Engine arguments by name. Raises `Refusal` with every one that cannot be given."""
    found: dict[str, Any] = {}
    findings = []
    for text in texts:
        name, sign, value = text.partition("=")
        name = name.strip().removeprefix("--").replace("-", "_")
        if not sign or not ARGUMENT.fullmatch(name):
            findings.append(_bad(f"{text!r} is no NAME=VALUE", text, "NAME=VALUE"))
        elif name in ours:
            findings.append(_bad(f"{name} is stated by eaglekit itself", name, "another argument"))
        elif name in found:
            findings.append(_bad(f"{name} is given twice", name, "each argument once"))
        else:
            found[name] = _value(value)
    if findings:
        raise Refusal(*findings)
    return found


def _value(text: str) -> Any:
    """JSON, or else the text as it stands."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _bad(message: str, got: str, expected: str) -> Finding:
    return Finding(
        "engine-argument", message, place="--engine-arg", got=got, expected=expected,
        hint="vLLM lists its engine arguments with: vllm serve --help=all",
    )  # fmt: skip
