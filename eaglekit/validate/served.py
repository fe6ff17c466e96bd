"""The stage `served`: the drafter in a real engine, beside the reference on the very texts that the engine made.

n tokens of a text, T = n - 1 slots, S drafted tokens, AG the captured states of one position side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from eaglekit.reference.drafting import draft_everywhere, logits, target_ids
from eaglekit.report import Refusal
from eaglekit.serving.outcome import Answer
from eaglekit.serving.wish import Wish
from eaglekit.target.captured import Capture, CapturedText
from eaglekit.target.generation import end_tokens
from eaglekit.target.model import TargetModel, open_model
from eaglekit.target.streaming import run
from eaglekit.target.texts import Text, agreed
from eaglekit.validate.binding import texts_digest
from eaglekit.validate.found import Found
from eaglekit.validate.material import Material
from eaglekit.validate.measuring import Side
from eaglekit.validate.observing import states_of
from eaglekit.validate.served_asking import Asked, ask
from eaglekit.validate.served_counts import TextServed, compare_text
from eaglekit.validate.served_report import Answered, Served, facts, findings, measurements, tables
from eaglekit.validate.stages import SERVED
from eaglekit.validate.task import Task


def serve(task: Task, wish: Wish, side: Side, material: Material, capture: Capture, found: Found) -> None:
    """Run the stage, and put what it gives into `found`."""
    texts = [text.text for text in capture.texts if task.generate or text.text.prompt_length < len(text.text.tokens)]
    before = len(found.errors)
    try:
        model = open_model(task.target.library.source) if task.target is not None and _is_here(task) else None
        asked = ask(task, wish, side.read.spec, texts, end_tokens(model) if model is not None else ())
        told = compare(task, side, material, capture, asked, model)
    except Refusal as refusal:
        found.findings += refusal.findings
        found.stages.failed(SERVED, f"by {wish.title}: it did not come to an end")
        return
    found.origin = {
        **found.origin,
        "engine": {**asked.origin, "texts": texts_digest([one.text for one in told.answered])},
    }
    found.facts += facts(told)
    found.findings += findings(told)
    found.tables += tables(told)
    found.measurements += measurements(told)
    tokens = sum(len(answer.tokens) for answer in asked.answers)
    about = f"by {asked.title}: {len(asked.answers)} texts, {tokens:,} tokens answered"
    found.stages.ended(SERVED, about, len(found.errors) - before)


def compare(
    task: Task, side: Side, material: Material, capture: Capture, asked: Asked, model: TargetModel | None
) -> Served:
    """What an engine did, beside the reference. Raises `Refusal` when its texts cannot be captured."""
    given = {text.text.identity: text for text in capture.texts}
    answered = [_answered(given[answer.identity], answer, material) for answer in asked.answers]
    captured = _captured(task, material, capture, [one.text for one in answered], model)
    settings = material.settings
    dtypes = (settings.dtype_name, asked.dtype or settings.dtype_name)
    compared: list[TextServed] = []
    with task.bar("compare with the reference", len(answered), "texts") as tell:
        for one in answered:
            text = captured.get(one.text.identity)
            if text is not None and len(text.text.tokens) > 1:
                compared.append(_compared(task, side, captured_in(capture, text), text, one, asked, dtypes))
            tell(1)
    return Served(asked, task.draft_tokens, tuple(side.read.spec.aux_layers), dtypes, tuple(answered), tuple(compared))


def captured_in(capture: Capture, text: CapturedText) -> Capture:
    """The capture's sizes and boundaries, around one text that may come from another pass."""
    return replace(capture, texts=(text,))


def _compared(
    task: Task,
    side: Side,
    capture: Capture,
    text: CapturedText,
    one: Answered,
    asked: Asked,
    dtypes: tuple[str, str],
) -> TextServed:
    drafter, tokens = side.loaded, torch.tensor(text.text.tokens)
    drafts, normed = [], []
    with torch.inference_mode():
        steps = draft_everywhere(
            drafter, tokens, states_of(drafter, capture, text),
            steps=task.draft_tokens, context_length=asked.context_length,
        )  # fmt: skip
        for step in steps:
            drafts.append(step.tokens.cpu())
            normed.append(step.normed)
        rows = {int(token): row for row, token in enumerate(target_ids(drafter).tolist())}

        def score(slot: int, step: int, wanted: Sequence[int]) -> list[float | None]:
            found = logits(drafter, normed[step][slot : slot + 1])[0]
            return [float(found[rows[token]]) if token in rows else None for token in wanted]

        prompt = text.text.tokens[: text.text.prompt_length]
        return compare_text(one.answer, prompt, torch.stack(drafts).numpy(), score, dtypes)


def _answered(given: CapturedText, answer: Answer, material: Material) -> Answered:
    """An answer beside the response that was given, with what the target says where they part."""
    prompt, response = given.text.tokens[: given.text.prompt_length], given.text.tokens[given.text.prompt_length :]
    text = Text(answer.identity, given.text.category, (*prompt, *answer.tokens), given.text.prompt_length)
    parted = agreed(answer.tokens, response)
    if parted == min(len(answer.tokens), len(response)):
        return Answered(answer, text, None)
    position = given.text.prompt_length + parted
    own = None
    if material.target_logits is not None:
        with torch.inference_mode():
            scores = material.target_logits(given.final[position - 1 : position])[0]
        own = (float(scores[answer.tokens[parted]]), float(scores[response[parted]]))
    is_own = int(given.argmax[position - 1]) == response[parted]
    return Answered(answer, text, position, response[parted], is_own, own)


def _captured(
    task: Task, material: Material, capture: Capture, texts: Sequence[Text], model: TargetModel | None
) -> dict[str, CapturedText]:
    """The states of every text, from what is captured already as far as it is the same text."""
    found, missing = {}, []
    for text in texts:
        given = next(one for one in capture.texts if one.text.identity == text.identity)
        length = len(text.tokens)
        if given.text.tokens[:length] == text.tokens:
            found[text.identity] = CapturedText(
                text, given.states[:length], given.final[:length], given.argmax[:length]
            )
        else:
            missing.append(text)
    if missing and model is not None:
        with task.bar("run the target over the answers", model.size_bytes, "bytes") as tell:
            made = run(model, missing, boundaries=capture.boundaries, settings=material.settings, progress=tell)
        found |= {one.text.identity: one for one in made.texts}
    return found


def _is_here(task: Task) -> bool:
    """Whether the target's weights are on this machine: they are when texts were run through it."""
    return task.prompts is not None
