"""The real engine that is asked for beside the reference."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eaglekit.api.misuse import Misuse
from eaglekit.api.stating import texts
from eaglekit.report import Finding, Refusal

if TYPE_CHECKING:
    from eaglekit.serving.wish import Wish

ARGUMENT = re.compile(r"[a-z][a-z0-9_]*")
ABOUT_STARTING = ("engine_python", "engine_arguments", "tensor_parallel_size", "pipeline_parallel_size")
ABOUT_ENGINES = (*ABOUT_STARTING, "endpoint")
"""What is only said of an engine."""


def refuse_engine_combinations(wishes: Mapping[str, Any]) -> None:
    """Raise `Misuse` for engine options that contradict each other or lack what they need."""
    given = options_given(ABOUT_ENGINES, wishes)
    if wishes["engine"] is None:
        if given:
            raise Misuse(f"{given[0]} needs --engine vllm.")
        return
    if wishes["endpoint"] and len(given) > 1:
        raise Misuse(f"{given[0]} is about an engine that is started here: --endpoint names one that runs.")
    if wishes["prompts"] is None and not (wishes["endpoint"] and wishes["capture"] is not None):
        raise Misuse("--engine needs --prompts: an engine answers prompts. With --endpoint a --capture does.")


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

    arguments = parse_arguments(argument_texts(wishes["engine_arguments"]), ours)
    return Wish(
        find_engine(wishes["engine_python"]),
        tensor_parallel_size=wishes["tensor_parallel_size"] or 1,
        pipeline_parallel_size=wishes["pipeline_parallel_size"] or 1,
        dtype=wishes["dtype"],
        arguments=arguments,
    )


def argument_texts(arguments: Mapping[str, Any] | Sequence[str]) -> tuple[str, ...]:
    """Engine arguments as they are typed: `gpu_memory_utilization=0.8`."""
    if not isinstance(arguments, Mapping):
        return texts(arguments)
    return tuple(f"{name}={json.dumps(value)}" for name, value in arguments.items())


def parse_arguments(words: tuple[str, ...], ours: Collection[str]) -> dict[str, Any]:
    """Engine arguments by name. Raises `Refusal` with every one that cannot be given, as those in `ours`."""
    found: dict[str, Any] = {}
    findings = []
    for text in words:
        name, sign, value = text.partition("=")
        name = name.strip().removeprefix("--").replace("-", "_")
        if not sign or not ARGUMENT.fullmatch(name):
            findings.append(_bad(f"{text!r} is no NAME=VALUE", text, "NAME=VALUE"))
        elif name in ours:
            findings.append(_bad(f"{name} is stated by eaglekit itself", name, "another argument", LEFT_OUT))
        elif name in found:
            findings.append(_bad(f"{name} is given twice", name, "each argument once"))
        elif not _is_json(read := _value(value)):
            findings.append(_bad(f"{name} has a value that no JSON can hold", value[:80], "a finite number, or text"))
        else:
            found[name] = read
    if findings:
        raise Refusal(*findings)
    return found


def _value(text: str) -> Any:
    """JSON, or else the text as it stands."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _is_json(value: Any) -> bool:
    """Whether a report can repeat it: Python reads NaN and halves of characters, which nothing else does."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return True


KNOWN_BY_VLLM = "vLLM lists its engine arguments with: vllm serve --help=all"
LEFT_OUT = "leave it out: it follows from the drafter, the texts and the other options"


def _bad(message: str, got: str, expected: str, hint: str = KNOWN_BY_VLLM) -> Finding:
    return Finding("engine-argument", message, place="--engine-arg", got=got, expected=expected, hint=hint)
