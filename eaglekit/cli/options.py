"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class FiniteRange(click.FloatRange):
    """A range of numbers; unlike click's own it does not take NaN, which no comparison finds outside."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Fails as click does for text, NaN and what is outside."""
        number: float = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


def stacked(*decorators: Decorator) -> Decorator:
    """Several options as one decorator, shown in the order given."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(decorators):
            function = option(function)
        return function

    return decorate


all_engines_option = click.option(
    "--all-engines", is_flag=True, help="Show every engine, not only vLLM, SGLang and those named with --for."
)

FACTS = (
    "norm_output norm_before_residual tie_word_embeddings attention_bias mlp_bias rope_theta rms_norm_eps hidden_act "
    "num_attention_heads num_key_value_heads head_dim vocab_size target_hidden_size max_position_embeddings "
    "mask_token_id target_layers target_name target_architecture speculative_tokens map"
)
"""The names that `--set` knows, for help that imports nothing; a test holds them against `SETTINGS`."""

TARGET = "The target model, a folder or Hub id"

_given_options = stacked(
    click.option("--target-family", metavar="NAME", help="The target's model_type, when no --target is at hand."),
    click.option("--aux-layers", metavar="K,K,K", help="Captured layers as boundary indices, or the word 'default'."),
    click.option(
        "--aux-convention",
        type=click.Choice(["boundary", "output-of"]),
        help="How the file's layer ids are meant: input of block k, or output of block k.",
    ),
    click.option("--from", "dialect", metavar="DIALECT", help="Which dialect to read, when recognition asks."),
    click.option(
        "--set", "settings", metavar="KEY=VALUE", multiple=True, help=f"A fact that the source does not say: {FACTS}."
    ),
    click.option("--drop", "drops", metavar="NAME", multiple=True, help="A config key or tensor to leave behind."),
)


def _meaning(target_help: str) -> Decorator:
    return stacked(click.option("--target", metavar="PATH", help=f"{TARGET}: {target_help}"), _given_options)


meaning_options = _meaning("only its config, index and two headers are read.")
"""What a checkpoint means, where the file does not say it."""
measured_meaning_options = _meaning("run over --prompts; its config, headers, embedding and head otherwise.")
"""The same for a command that also computes with the target."""
served_meaning_options = _meaning("served with the drafter and alone; a Hub id is downloaded.")
"""The same for a command that serves the target."""
