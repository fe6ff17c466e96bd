"""llama-server with drafters that eaglekit wrote, against the reference's prediction, round by round."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from eaglekit.report import Refusal
from tests.cli.running import eaglekit
from tests.dialects.gguf_files import gguf_of
from tests.dialects.strategies import PLAIN
from tests.llamacpp.server import Answer, refusal, served
from tests.llamacpp.variants import DRAFTER, LAST, TARGET, TRAINED, VARIANTS, varied
from tests.plan.converting import converted

pytestmark = pytest.mark.llamacpp

DRAFTS = 3
TEXTS = [json.loads(line) for line in (TRAINED / "prompts-llama.jsonl").read_text().splitlines()]
VLLM = json.loads((TRAINED / "vllm-0.32.json").read_text())["drafters"]["llama-eagle3"]["requests"]


@dataclass(frozen=True)
class Counted:
    """Rounds, and the accepted drafts per position."""

    rounds: int
    accepted: tuple[int, ...]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny target as GGUF."""
    sys.path.insert(0, str(TRAINED.parent / "llamacpp"))
    import target as script

    file = tmp_path_factory.mktemp("target") / "target.gguf"
    script.write(TARGET, file)
    return file


def answers(target: Path, drafter: Path, log: Path) -> dict[str, Answer]:
    """What the server answers to every prompt, by text."""
    with served(target, drafter, log) as server:
        return {text["id"]: server.completed(text["prompt_token_ids"]) for text in TEXTS}


def complete(length: int, rounds: Sequence[int]) -> list[int]:
    """The accepted drafts of the rounds that end within a text: past its end no text tells what is right."""
    # The prefill makes one token; every round then starts behind what the ones before have made.
    starts = accumulate((accepted + 1 for accepted in rounds), initial=1)
    return [accepted for start, accepted in zip(starts, rounds, strict=False) if start + DRAFTS <= length]


def counted(found: dict[str, Answer]) -> Counted:
    """The complete rounds of all answers."""
    kept = [one for answer in found.values() for one in complete(len(answer.tokens), answer.rounds)]
    return Counted(len(kept), tuple(sum(one > position for one in kept) for position in range(DRAFTS)))


def predicted(drafter: Path) -> Counted:
    """What the reference says of a drafter, from one pass over the texts."""
    done = eaglekit(
        "validate", drafter, "--target", TARGET, "--prompts", TRAINED / "prompts-llama.jsonl",
        "--draft-tokens", DRAFTS, "--json", environment={"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    measured: dict[str, Any] = {one["name"]: one for one in done.document["measurements"]}
    rates = [measured[f"acceptance rate at draft {step + 1}"] for step in range(DRAFTS)]
    rounds = rates[0]["count"]
    return Counted(rounds, tuple(round(rate["value"] * rounds) for rate in rates))


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_kind_of_drafter_is_served_as_the_reference_predicts(variant: str, target: Path, tmp_path: Path) -> None:
    source = varied(tmp_path / "source", VARIANTS[variant])
    written = converted(source, tmp_path / "gguf", to="gguf", target=TARGET)
    found = answers(target, written / "drafter.gguf", tmp_path / "log")
    assert {name: list(answer.tokens) for name, answer in found.items()} == {
        text["id"]: text["response_token_ids"] for text in TEXTS
    }
    expected = predicted(source)
    assert counted(found) == expected
    assert predicted(written) == expected
    print(f"{variant}: {expected.rounds} rounds, {expected.accepted} accepted")  # noqa: T201 - the figures of the docs


def test_the_trained_drafter_as_stored_makes_the_same_rounds_as_in_vllm(target: Path, tmp_path: Path) -> None:
    drafter = converted(DRAFTER, tmp_path / "gguf", to="gguf") / "drafter.gguf"
    found = answers(target, drafter, tmp_path / "log")
    rounds = {name: [made for made, _ in told] for name, told in VLLM.items()}
    # vLLM counts what it made in a round, the token of the target included and nothing past the end.
    made = {
        name: [min(start + accepted + 1, len(answer.tokens)) - start
               for start, accepted in zip(accumulate((a + 1 for a in answer.rounds), initial=1), answer.rounds,
                                          strict=False)]
        for name, answer in found.items()
    }  # fmt: skip
    assert made == rounds


def test_the_counters_of_an_answer_are_the_sums_of_its_rounds(target: Path, tmp_path: Path) -> None:
    drafter = converted(DRAFTER, tmp_path / "gguf", to="gguf") / "drafter.gguf"
    for answer in answers(target, drafter, tmp_path / "log").values():
        assert (answer.drafted, answer.accepted) == (DRAFTS * len(answer.rounds), sum(answer.rounds))


NOT_LOADED = {
    "two layer ids": ({"eagle3.target_layers": [3, 17]}, "exactly 3 entries"),
    "four layer ids": ({"eagle3.target_layers": [3, 8, 17, 30]}, "exactly 3 entries"),
    "no layer ids": ({"eagle3.target_layers": None}, "requires 'extract_layers'"),
    "layer ids under the name that the message gives them": (
        {"eagle3.target_layers": None, "eagle3.extract_layers": [3, 17, 30]}, "requires 'extract_layers'",
    ),
    "no context length": ({"eagle3.context_length": None}, "context_length"),
    "no target width": ({"eagle3.target_hidden_size": None}, "target_hidden_size"),
    "norm_before_fc without its norm": ({"eagle3.norm_before_fc": True}, "enc.output_norm.weight"),
}  # fmt: skip


@pytest.mark.parametrize("what", NOT_LOADED)
def test_what_the_loader_refuses(what: str, target: Path, tmp_path: Path) -> None:
    metadata, says = NOT_LOADED[what]
    drafter = gguf_of(tmp_path / "drafter.gguf", PLAIN, metadata=metadata)
    assert says in refusal(target, drafter, tmp_path / "log")


def test_the_output_of_a_llama_target_s_last_block_is_not_what_a_drafter_gets(target: Path, tmp_path: Path) -> None:
    source = varied(tmp_path / "source", LAST)
    written = converted(source, tmp_path / "gguf", to="gguf", target=TARGET)
    found = counted(answers(target, written / "drafter.gguf", tmp_path / "log"))
    assert found != predicted(source)


def test_tensors_of_eagle_3_1_are_refused_by_the_loader(target: Path, tmp_path: Path) -> None:
    drafter = gguf_of(tmp_path / "plain.gguf", PLAIN)
    reader, more = gguf.GGUFReader(drafter), tmp_path / "more.gguf"
    writer = gguf.GGUFWriter(more, "eagle3")
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            inner = field.types[-1] if len(field.types) > 1 else None
            writer.add_key_value(name, field.contents(), field.types[0], inner)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.add_tensor("fc_norm.0.weight", np.ones(8, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert "wrong number of tensors" in refusal(target, more, tmp_path / "log")


def test_what_the_loader_would_drop_is_refused_before() -> None:
    with pytest.raises(Refusal, match="fc_norm"):
        converted(TRAINED / "llama-eagle3.1", Path("nowhere"), to="gguf")
