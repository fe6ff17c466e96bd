"""What is asked for speed: the load that prompts make, and the commands of the two servers, as the recipe has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eaglekit.checkpoint.hub_id import is_local, parse_hub_id
from eaglekit.engines.model import Artefact
from eaglekit.engines.recipes import drafter_options, recipes
from eaglekit.report import Finding, Refusal
from eaglekit.serving.benching import PLAIN, SPECULATING, Load
from eaglekit.serving.benching_server import Command
from eaglekit.serving.job import Prompt
from eaglekit.target.texts import Text

MOST_USERS = 4096
"""More connections than that one program does not hold open."""


def parse_concurrency(text: str) -> tuple[int, ...]:
    """The concurrencies of a list such as 1,4,16, in its order. Raises `Refusal`."""
    parts = [part.strip() for part in text.split(",")]
    fits = all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts)
    found = tuple(int(part) for part in parts) if fits else ()
    if not found or not all(0 < one <= MOST_USERS for one in found) or len(set(found)) < len(found):
        raise Refusal(
            Finding(
                "bench-concurrency",
                f"--concurrency cannot be {text[:80]!r}",
                place="--concurrency",
                got=text[:80],
                expected=f"different whole numbers from 1 to {MOST_USERS}, with commas between them",
                hint="--concurrency 1,4,16",
            )
        )
    return found


def load_of(
    texts: Sequence[Text], concurrencies: Sequence[int], *, repeats: int, output_tokens: int, ignore_end: bool
) -> Load:
    """The load that the prompts of `texts` make."""
    groups: dict[str, list[Prompt]] = {}
    for text in texts:
        prompt = Prompt(text.identity, text.tokens[: text.prompt_length], output_tokens)
        groups.setdefault(text.category, []).append(prompt)
    prompts = {category: tuple(group) for category, group in groups.items()}
    return Load(prompts, tuple(concurrencies), repeats, ignore_end)


def commands(
    artefact: Artefact,
    *,
    drafter: str,
    target: str,
    draft_tokens: int,
    arguments: Mapping[str, Any],
    target_context: int | None,
    embedding_is_copy: bool | None,
) -> tuple[dict[str, Command], tuple[Finding, ...]]:
    """The commands by side, alike but for the drafter, and the finding of a file that vLLM does not read as trained."""
    [recipe] = recipes(
        artefact, drafter=drafter, target=target, draft_tokens=draft_tokens, engines=("vllm",),
        target_context=target_context, embedding_is_copy=embedding_is_copy,
    )  # fmt: skip
    told = drafter_options(artefact.spec, engine="vllm", drafter=drafter, target=target, draft_tokens=draft_tokens)
    name, revision = (target, None) if is_local(target) else _named(target)
    alone = Command(f"./{name}" if name.startswith("-") else name, dict(arguments), target_revision=revision)
    made = {
        SPECULATING: Command(alone.target, alone.arguments, told, target_revision=revision),
        PLAIN: alone,
    }
    if recipe.text:
        return made, ()
    return made, (
        Finding(
            "bench-misread",
            f"vLLM does not read this file as it was trained: {recipe.notes[0]}",
            place="vllm",
            got=recipe.verdict.value,
            expected="reads",
            hint=recipe.notes[-1],
        ),
    )


def _named(target: str) -> tuple[str, str | None]:
    known = parse_hub_id(target)
    return known.repo, known.revision
