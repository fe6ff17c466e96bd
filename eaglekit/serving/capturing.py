"""A capture by a real vLLM: its states and next tokens, written as they come into eaglekit's own file.

n tokens of one text, B captured boundaries, G the target's hidden size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from eaglekit.report import Finding, Refusal
from eaglekit.report.json_text import compact
from eaglekit.serving.environment import Environment
from eaglekit.serving.extraction import Extraction, StatesFile, extracted
from eaglekit.serving.job import Prompt
from eaglekit.serving.outcome import Answer, Loaded
from eaglekit.serving.rotation import has_latent_attention, plain_rotation
from eaglekit.serving.states_file import read_states, unusable
from eaglekit.serving.wish import Wish
from eaglekit.target.capture_file import Outline, growing
from eaglekit.target.captured import CapturedText
from eaglekit.target.capturing import Ready
from eaglekit.target.finishing import final_norm, head_says
from eaglekit.target.generation import end_tokens
from eaglekit.target.settings import DTYPES
from eaglekit.target.streaming import describe
from eaglekit.target.text_checks import refuse_impossible
from eaglekit.target.texts import Text

CONTEXT_STEP = 128
"""The engine's context is rounded up to a multiple."""
LOOKED_AT = 16
"""Texts, and positions of each, at which the target's head is asked as well; up to twice as many, to be spread."""
ALIKE = 0.5
"""Share of them at which it must say what vLLM says. Rounding turns a few near ties in a hundred; states of another
layer, or without the final norm, agree by chance."""


@dataclass
class Made:
    """What was captured, in numbers."""

    loaded: Loaded
    outline: Outline
    agreeing: int = 0
    """Response tokens that are the target's own."""
    responses: int = 0
    looked: list[tuple[Float[Tensor, "r G"], list[int]]] = field(default_factory=list)
    """Of some texts some final states, and what vLLM says there."""
    alike: int = 0
    """How often the head says the same."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is worth a note."""
        return (plain_rotation("the same states as on a GPU"),) if self.loaded.plain_rotation else ()


def job_of(ready: Ready, wish: Wish) -> Extraction:
    """What vLLM is asked. Raises `Refusal` for texts that leave no room for the one token that it must answer."""
    new = ready.new_tokens or 0
    refuse_impossible(ready.model, ready.asked, ready.boundaries, room=new + 1)
    config = ready.model.source.local_path("config.json")
    assert config is not None  # noqa: S101 - the command line has its files here
    needed = max(len(text.tokens) for text in ready.asked) + new + 1
    room, known = -(-needed // CONTEXT_STEP) * CONTEXT_STEP, ready.model.config.get("max_position_embeddings")
    return Extraction(
        target=str(config.parent),
        # The state behind the last block becomes the final one here.
        boundaries=tuple(sorted({*ready.boundaries, ready.model.num_layers})),
        texts=tuple(Prompt(text.identity, text.tokens, new) for text in ready.asked),
        stop_token_ids=tuple(end_tokens(ready.model)),
        max_model_len=min(room, known) if isinstance(known, int) else room,
        dtype=wish.dtype,
        tensor_parallel_size=wish.tensor_parallel_size,
        pipeline_parallel_size=wish.pipeline_parallel_size,
        plain_rotation_on_cpu=has_latent_attention(ready.model.config),
        arguments=wish.arguments,
    )


def capture_with(
    ready: Ready, wish: Wish, path: Path, *, overwrite: bool = False, heard: Callable[[int], None] = lambda count: None
) -> Made:
    """The capture file at `path`, by vLLM. `heard` is told 1 for each text that is done.

    Texts go through one by one and are written as they come, so that memory and temporary files hold a few of them.
    Raises `Refusal` for what vLLM says, for states that do not fit and for what the system says; then there is no file.
    """
    assert isinstance(wish.engine, Environment)  # noqa: S101 - a server has no states to give
    job, texts = job_of(ready, wish), ready.asked
    with closing(extracted(job, wish.engine)) as pieces:
        loaded = _next(pieces, Loaded)
        _refuse_other(job, loaded)
        if ready.new_tokens is not None:
            texts = [_answered(text, _next(pieces, Answer)) for text in texts]
        made = Made(loaded, _outline(ready, wish, texts, loaded))
        with final_norm(ready.model) as normed, growing(made.outline, path, overwrite=overwrite) as add:
            for number, text in enumerate(texts):
                captured = _captured(_next(pieces, StatesFile), text, job, made.outline, normed)
                _count(made, captured)
                if number % max(1, len(texts) // LOOKED_AT) == 0:
                    made.looked.append(_some(captured))
                add(captured)
                heard(1)
            if (more := next(pieces, None)) is not None:
                raise Refusal(unusable("it goes on behind the last text", type(more).__name__, "its end"))
            # Inside: a file of the wrong states gets no name.
            _ask_the_head(ready, made)
    return made


Piece = TypeVar("Piece", Loaded, Answer, StatesFile)


def _next(pieces: Iterator[Loaded | Answer | StatesFile], kind: type[Piece]) -> Piece:
    """What the engine tells next. Raises `Refusal` when that is something else, or nothing."""
    piece = next(pieces, None)
    if not isinstance(piece, kind):
        raise Refusal(unusable("it tells things in another order", type(piece).__name__, kind.__name__))
    return piece


def _answered(text: Text, answer: Answer) -> Text:
    """A prompt with its answer. Raises `Refusal` for the answer to another one."""
    if answer.identity != text.identity:
        raise Refusal(unusable("an answer came to another text", answer.identity, text.identity))
    return replace(text, tokens=(*text.tokens, *answer.tokens))


def _refuse_other(job: Extraction, loaded: Loaded) -> None:
    """Raise `Refusal` for layers or a dtype that are not those of a capture: before hours of work, not after."""
    if loaded.boundaries is not None and loaded.boundaries != job.boundaries:
        raise Refusal(unusable("vLLM hands out other layers", list(loaded.boundaries), list(job.boundaries)))
    if loaded.dtype not in DTYPES:
        raise Refusal(unusable("vLLM computes in a dtype that captures are not kept in", loaded.dtype, list(DTYPES)))


def _outline(ready: Ready, wish: Wish, texts: Sequence[Text], loaded: Loaded) -> Outline:
    """What the file says of itself."""
    model = ready.model
    target = {
        **describe(model, ready.settings),
        "activations": "w4a16" if loaded.quantization is None else "as vLLM computes them",
        "dtype": loaded.dtype,
        "device": loaded.device,
        "engine": wish.title,
        "engine_torch": loaded.torch,
        "engine_arguments": compact(_without_folders(loaded.arguments)),
        "final": "the target's final norm in float32, over the engine's state behind the last block",
        "argmax": "the engine's log-probabilities",
    }
    return Outline(
        ready.boundaries, model.num_layers, model.hidden_size, model.vocab_size, target, texts, DTYPES[loaded.dtype]
    )


def _without_folders(arguments: Mapping[str, object]) -> dict[str, object]:
    """Arguments with every folder of this machine called by its last name: captures are passed on."""
    return {
        name: Path(value).name if isinstance(value, str) and value.startswith(("/", "~")) else value
        for name, value in arguments.items()
    }


def _captured(
    piece: StatesFile,
    text: Text,
    job: Extraction,
    outline: Outline,
    normed: Callable[[Float[Tensor, "n G"]], Float[Tensor, "n G"]],
) -> CapturedText:
    """One text with everything that is kept of it. Raises `Refusal` for states or tokens that are not its."""
    if piece.identity != text.identity:
        raise Refusal(unusable("states came for another text", piece.identity, text.identity))
    states, tokens = read_states(piece, outline.dtype, (len(text.tokens), len(job.boundaries), outline.hidden_size))
    if tokens != list(text.tokens) or len(piece.argmax) != len(text.tokens):
        raise Refusal(unusable("the states are of other tokens", f"{len(tokens)} tokens", f"those of {text.identity}"))
    if not all(0 <= token < outline.vocab_size for token in piece.argmax):
        raise Refusal(unusable("a next token is outside", max(piece.argmax), f"0 to {outline.vocab_size - 1}"))
    columns = [job.boundaries.index(boundary) for boundary in outline.boundaries]
    last = states[:, job.boundaries.index(outline.num_layers)]
    return CapturedText(text, states[:, columns], normed(last), torch.tensor(piece.argmax, dtype=torch.int64))


def _count(made: Made, captured: CapturedText) -> None:
    """Count the response tokens that are the target's own."""
    tokens, first = captured.text.tokens, captured.text.prompt_length
    told = captured.argmax[first - 1 : -1].tolist()
    made.agreeing += sum(token == best for token, best in zip(tokens[first:], told, strict=True))
    made.responses += len(tokens) - first


def _some(captured: CapturedText) -> tuple[Float[Tensor, "r G"], list[int]]:
    """Final states at some positions, and what vLLM says there."""
    count = len(captured.text.tokens)
    places = list(range(0, count, max(1, count // LOOKED_AT)))
    return captured.final[places], captured.argmax[places].tolist()


def _ask_the_head(ready: Ready, made: Made) -> None:
    """Raise `Refusal` unless the target's head says of the final states what vLLM said: then all of it fits."""
    said = head_says(ready.model, torch.cat([finals for finals, _ in made.looked])).tolist()
    told = [token for _, tokens in made.looked for token in tokens]
    made.alike = sum(a == b for a, b in zip(said, told, strict=True))
    if made.alike < ALIKE * len(told):
        raise Refusal(
            unusable(
                "the target's head does not say what vLLM says",
                f"the same next token at {made.alike} of {len(told)} positions",
                "the same next token, up to near ties",
            )
        )
