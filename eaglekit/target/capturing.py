"""From a target's folder and a prompt file to a `Capture`, and the report about it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from eaglekit.checkpoint import LocalFolder, Source
from eaglekit.drafter.aux_layers import default_boundaries, default_is_usable
from eaglekit.report import Fact, Finding, Measurement, Refusal, Report, Table
from eaglekit.target.activations import refuse_unrounded
from eaglekit.target.captured import Capture
from eaglekit.target.generation import generate
from eaglekit.target.memory import MemoryPlan, plan_memory
from eaglekit.target.model import TargetModel, open_model
from eaglekit.target.prompts import Prompts, load_tokenizer, read_prompts
from eaglekit.target.reading import ReadBytes
from eaglekit.target.settings import Settings
from eaglekit.target.streaming import run
from eaglekit.target.text_checks import refuse_impossible
from eaglekit.target.texts import Text

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json")
"""A folder with one of these has a tokenizer."""


@dataclass(frozen=True)
class Ready:
    """A capture that was found possible, and not made yet."""

    model: TargetModel
    prompts: Prompts
    boundaries: tuple[int, ...]
    settings: Settings
    new_tokens: int | None
    """How many tokens the target answers to each prompt; None when the responses are given."""
    memory: MemoryPlan

    @property
    def asked(self) -> list[Text]:
        """The texts as they are run, or the prompts that are answered first."""
        if self.new_tokens is None:
            return list(self.prompts.texts)
        return [
            Text(text.identity, text.category, text.tokens[: text.prompt_length], text.prompt_length)
            for text in self.prompts.texts
        ]


def prepare(
    source: Source,
    prompts: Path,
    layers: Sequence[int] | str,
    settings: Settings,
    *,
    new_tokens: int | None = None,
    limit: int | None = None,
) -> Ready:
    """Everything opened and checked. Raises `Refusal` for whatever would stop a run later.

    `layers` are boundary indices, or `default` for those that producers fall back to.
    """
    settings.torch_device()
    model = open_model(source)
    boundaries = _boundaries(layers, model)
    tokenizer = None
    if isinstance(source, LocalFolder) and any(name in source.files() for name in TOKENIZERS):
        tokenizer = load_tokenizer(source.root)
    read = read_prompts(prompts, tokenizer=tokenizer, vocab_size=model.vocab_size, limit=limit)
    refuse_unrounded(model, settings)
    ready = Ready(model, read, boundaries, settings, new_tokens, MemoryPlan(0, 0, 0, 0))
    refuse_impossible(model, ready.asked, boundaries, room=new_tokens or 0)
    count = sum(len(text.tokens) + (new_tokens or 0) for text in ready.asked)
    memory = plan_memory(model, count, boundaries, settings)
    return Ready(model, read, boundaries, settings, new_tokens, memory)


def capture(ready: Ready, *, progress: ReadBytes | None = None) -> Capture:
    """The capture; responses are generated first where that was asked for."""
    texts = ready.asked
    if ready.new_tokens is not None:
        texts = generate(ready.model, texts, max_new_tokens=ready.new_tokens, settings=ready.settings)
    return run(ready.model, texts, boundaries=ready.boundaries, settings=ready.settings, progress=progress)


def report(ready: Ready, made: Capture | None = None, *, seconds: float = 0.0, size_bytes: int = 0) -> Report:
    """What will be captured, or what was, as a report."""
    model, memory = ready.model, ready.memory
    left = Counter(model.left.values())
    return Report(
        command="capture",
        subject=model.source.label,
        facts=tuple(_facts(ready)),
        findings=(*ready.prompts.findings, *(made.findings if made is not None else ())),
        tables=(Table("left-behind", "tensors left behind", ("why", "tensors"), tuple(sorted(left.items()))),),
        measurements=(
            Measurement("bytes to read", model.size_bytes, "bytes", "blocks and head; experts without tokens are not"),
            Measurement("memory planned", memory.total_bytes, "bytes", "weights and states, without the program"),
            *(_measured(made, seconds, size_bytes) if made is not None else ()),
        ),
        result={"size_bytes": size_bytes, "target": dict(made.target)} if made is not None else {},
    )


def _facts(ready: Ready) -> Iterator[Fact]:
    model, settings, memory = ready.model, ready.settings, ready.memory
    yield Fact("target", model.name, "given: TARGET")
    yield Fact("model_type", model.model_type, "read: config.json")
    yield Fact("blocks", model.num_layers, "read: config.json")
    yield Fact("formats", dict(model.formats), "read: tensors")
    yield Fact("target digest", model.digest, "derived: config and headers")
    yield Fact("boundaries", list(ready.boundaries), "given: --aux-layers or --drafter")
    yield Fact("texts", len(ready.prompts.texts), f"read: prompts, {ready.prompts.schema}")
    yield Fact("tokens", sum(len(text.tokens) for text in ready.asked), "read: prompts")
    quantised = model.formats.keys() - {"plain"}
    arithmetic = (settings.dtype_name, *([settings.activations] if quantised else []), str(settings.device))
    yield Fact("arithmetic", ", ".join(arithmetic), "given: options")
    if memory.experts_at_once:
        yield Fact("experts at a time", memory.experts_at_once, "derived: memory limit")


def _measured(made: Capture, seconds: float, size_bytes: int) -> Iterator[Measurement]:
    agreeing, count = agreement(made)
    yield Measurement("time", seconds, "s", "reading and computing, texts generated included")
    yield Measurement("file", size_bytes, "bytes")
    if count:
        note = "response tokens; equal to the target's argmax; below 1 the responses are not its own greedy ones"
        yield Measurement("agreement", agreeing / count, "share", note, count=count)


def agreement(made: Capture) -> tuple[int, int]:
    """How many response tokens are the target's argmax after what stands before them, and how many there are."""
    agreeing = count = 0
    for captured in made.texts:
        first = captured.text.prompt_length
        response = captured.text.tokens[first:]
        told = captured.argmax[first - 1 : -1].tolist()
        agreeing += sum(token == best for token, best in zip(response, told, strict=True))
        count += len(response)
    return agreeing, count


def _boundaries(layers: Sequence[int] | str, model: TargetModel) -> tuple[int, ...]:
    if not isinstance(layers, str):
        return tuple(layers)
    if not default_is_usable(model.num_layers):
        raise Refusal(
            Finding(
                "aux-layers-range",
                f"the default layers are no three layers of a target with {model.num_layers} blocks",
                place="--aux-layers",
                got=", ".join(map(str, default_boundaries(model.num_layers))),
                expected=f"ascending boundary indices 0..{model.num_layers}",
                hint="state them: --aux-layers K,K,K",
            )
        )
    return default_boundaries(model.num_layers)
